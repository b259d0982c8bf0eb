/* SPDX-License-Identifier: MIT */
/*
 * libedit, held on a short lead: it reads through us, so that runs are watched while a person types, and gets no
 * character that would move what stands on the terminal.
 */
#include "tui/screen/line.h"

#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "core/base/base.h"

#define LINE_HISTORY 200
#define LINE_MAX_LEN 4096

struct line {
	struct line_options o;
	FILE *in, *out;
	EditLine *edit;
	History *history;
	enum line_end end;
	size_t typed; /* characters of this line */
};

static struct line *line_of(EditLine *edit)
{
	void *l = NULL;
	(void) el_get(edit, EL_CLIENTDATA, &l);
	return l;
}

static char *prompt_of(EditLine *edit)
{
	return (char *) line_of(edit)->o.prompt;
}

/* One byte. 0: there is no more, l->end says why. */
static int next_byte(struct line *l, char *ret)
{
	for (;;) {
		if (!l->o.wait(l->o.arg)) {
			l->end = LINE_GIVEN_UP;
			return 0;
		}
		ssize_t got = read(l->o.fd, ret, 1);
		if (got == 1)
			return 1;
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		l->end = LINE_GONE;
		return 0;
	}
}

/* Controls of ASCII are its keys. Beyond, what turns or hides text would be echoed as it is. */
static bool may_be_echoed(const char *bytes, size_t len)
{
	FREE char *raw = xprintf("a%.*s", (int) len, bytes); /* something for a mark to stand on */
	FREE char *clean = text_line(raw, strlen(raw), false);
	return (unsigned char) bytes[0] < 0x80 || strcmp(raw, clean) == 0;
}

static int next_char(EditLine *edit, wchar_t *ret)
{
	struct line *l = line_of(edit);
	mbstate_t state = { 0 };
	char bytes[MB_LEN_MAX];
	size_t len = 0;

	while (next_byte(l, &bytes[len])) {
		size_t r = mbrtowc(ret, &bytes[len], 1, &state);
		len++;
		if (r == (size_t) -2 && len < sizeof(bytes))
			continue; /* the beginning of a character */
		bool whole = r <= 1 && may_be_echoed(bytes, len);
		if (whole && (++l->typed <= LINE_MAX_LEN || *ret == L'\r' || *ret == L'\n'))
			return 1;
		state = (mbstate_t){ 0 };
		len = 0;
	}
	return 0;
}

static unsigned char complete(EditLine *edit, int key)
{
	struct line *l = line_of(edit);
	const LineInfo *info = el_line(edit);
	FREE char *add = NULL;

	(void) key;
	if (info->cursor != info->lastchar)
		return CC_ERROR;
	FREE char *typed = xstrndup(info->buffer, (size_t) (info->lastchar - info->buffer));
	char **all = l->o.complete(l->o.arg, typed, &add);
	bool several = strv_len(all) > 1 && !*add;
	if (several) {
		for (char **name = all; *name; name++)
			(void) fprintf(l->out, "%s%s", name == all ? "\n" : "  ", *name);
		(void) fputs("\n", l->out);
	}
	if (*add)
		(void) el_insertstr(edit, add);
	unsigned char answer = several ? CC_REDISPLAY : *add ? CC_REFRESH : CC_ERROR;
	strv_free(all);
	return answer;
}

static FILE *stream(int fd, const char *mode)
{
	CLOSE_FD int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	FILE *f = copy < 0 ? NULL : fdopen(copy, mode);
	if (f)
		(void) take_fd(&copy);
	return f;
}

/* It asks the environment what terminal this is, and complains of one that it does not know. */
static EditLine *start_edit(const struct line *l)
{
	const char *term = getenv("TERM");
	FREE char *before = term ? xstrdup(term) : NULL;
	(void) setenv("TERM", "dumb", 1);
	EditLine *edit = el_init("belljar", l->in, l->out, l->out);
	if (before)
		(void) setenv("TERM", before, 1);
	else
		(void) unsetenv("TERM");
	return edit;
}

static void set_up(struct line *l)
{
	HistEvent ev;
	(void) history(l->history, &ev, H_SETSIZE, LINE_HISTORY);
	(void) history(l->history, &ev, H_SETUNIQUE, 1);
	(void) el_set(l->edit, EL_CLIENTDATA, l);
	(void) el_set(l->edit, EL_EDITOR, "emacs");
	(void) el_set(l->edit, EL_PROMPT, prompt_of);
	(void) el_set(l->edit, EL_HIST, history, l->history);
	(void) el_set(l->edit, EL_GETCFN, next_char);
	/* Of narrow names it would make wide copies, and lose them. */
	(void) el_wset(l->edit, EL_ADDFN, L"belljar-complete", L"complete", complete);
	(void) el_set(l->edit, EL_BIND, "^I", "belljar-complete", NULL);
}

struct line *line_new(const struct line_options *o, struct err *e)
{
	struct line *l = xcalloc(1, sizeof(*l));
	l->o = *o;
	l->in = stream(o->fd, "r");
	l->out = stream(o->fd, "w");
	l->edit = l->in && l->out ? start_edit(l) : NULL;
	l->history = history_init();
	if (!l->edit || !l->history) {
		(void) err_say(e, ENOTTY, "no line can be edited on this terminal");
		return line_free(l);
	}
	set_up(l);
	return l;
}

struct line *line_free(struct line *l)
{
	if (!l)
		return NULL;
	if (l->edit)
		el_end(l->edit);
	if (l->history)
		history_end(l->history);
	if (l->in)
		(void) fclose(l->in);
	if (l->out)
		(void) fclose(l->out);
	free(l);
	return NULL;
}

enum line_end line_read(struct line *l, char **ret)
{
	HistEvent ev;
	int count = 0;

	l->end = LINE_EOF;
	l->typed = 0;
	const char *text = el_gets(l->edit, &count);
	if (!text || count <= 0)
		return l->end;
	*ret = xstrndup(text, strcspn(text, "\r\n"));
	if (**ret)
		(void) history(l->history, &ev, H_ENTER, *ret);
	return LINE_DONE;
}

void line_again(struct line *l)
{
	(void) el_set(l->edit, EL_REFRESH);
}

void line_leave(struct line *l)
{
	(void) el_set(l->edit, EL_PREP_TERM, 0);
}
