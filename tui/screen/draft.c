/* SPDX-License-Identifier: MIT */
/*
 * Staged code and its review. Everything in it is hostile: it is inspected and scrubbed, never interpreted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/screen/draft.h"

#define DEFAULT_PRESET "namespaces"

void draft_init(struct draft *s, bool ascii)
{
	struct err ignored;
	*s = (struct draft){ .ascii = ascii, .presets = preset_names() };
	if (draft_preset(s, DEFAULT_PRESET, &ignored) < 0 && s->presets && s->presets[0])
		(void) draft_preset(s, s->presets[0], &ignored);
}

static void review_done(struct draft *s)
{
	for (int i = 0; i < s->note_count; i++)
		clean_free(&s->notes[i].text);
	s->note_count = 0;
	clean_free(&s->name);
	clean_free(&s->program);
	free(s->index);
	s->index = NULL;
	s->reviewed = s->ready = false;
}

/* ---- what was staged before ---- */

static void past_drop_oldest(struct draft *s)
{
	free(s->past[0].code);
	free(s->past[0].title);
	memmove(s->past, s->past + 1, (size_t) --s->past_count * sizeof(s->past[0]));
}

static size_t past_bytes(const struct draft *s)
{
	size_t bytes = 0;
	for (int i = 0; i < s->past_count; i++)
		bytes += s->past[i].len;
	return bytes;
}

void draft_remember(struct draft *s)
{
	if (s->past_count == DRAFT_PASTS)
		past_drop_oldest(s);
	struct draft_past *p = &s->past[s->past_count++];
	*p = (struct draft_past){ .len = s->code.len, .chosen = s->chosen };
	p->code = xmalloc(s->code.len + 1);
	if (s->code.len)
		memcpy(p->code, s->code.data, s->code.len);
	p->title = s->title ? xstrdup(s->title) : NULL;
	while (past_bytes(s) > DRAFT_PAST_MAX)
		past_drop_oldest(s);
}

static void forget_code(struct draft *s)
{
	review_done(s);
	buf_done(&s->code);
	free(take_ptr(&s->title));
	free(take_ptr(&s->arrival));
	s->chosen = s->language = NULL;
}

bool draft_undo(struct draft *s)
{
	if (s->past_count == 0)
		return false;
	struct draft_past p = s->past[--s->past_count];
	forget_code(s);
	buf_add(&s->code, p.code, p.len);
	s->title = p.title;
	s->chosen = p.chosen;
	free(p.code);
	return true;
}

void draft_clear(struct draft *s)
{
	if (s->code.len > 0)
		draft_remember(s);
	forget_code(s);
}

void draft_done(struct draft *s)
{
	forget_code(s);
	while (s->past_count > 0)
		past_drop_oldest(s);
	strv_free(s->presets);
	policy_free(s->policy);
	*s = (struct draft){ 0 };
}

static int too_long(struct err *e)
{
	return err_say(e, EFBIG, "the code is longer than %u MiB: refused, never cut", CODE_MAX >> 20);
}

int draft_set(struct draft *s, const char *title, const char *code, size_t len, const char *arrival,
	      struct err *e)
{
	if (len > CODE_MAX)
		return too_long(e);
	draft_remember(s);
	forget_code(s);
	s->title = xstrdup(title);
	s->arrival = arrival ? xstrdup(arrival) : NULL;
	buf_add(&s->code, code, len);
	return 0;
}

int draft_append(struct draft *s, const char *code, size_t len, struct err *e)
{
	if (len > CODE_MAX - s->code.len)
		return too_long(e);
	review_done(s);
	buf_add(&s->code, code, len);
	if (!s->title)
		s->title = xstrdup("typed");
	return 0;
}

void draft_cut(struct draft *s)
{
	review_done(s);
	while (s->code.len > 0 && ((unsigned char) s->code.data[--s->code.len] & 0xc0) == 0x80)
		;
	if (s->code.data)
		s->code.data[s->code.len] = '\0';
}

int draft_open(struct draft *s, const char *path, struct err *e)
{
	FREE char *code = NULL;
	size_t len;
	int r = file_read(AT_FDCWD, path, CODE_MAX, &code, &len, e);
	if (r < 0)
		return r;
	const char *slash = strrchr(path, '/');
	return draft_set(s, slash && slash[1] ? slash + 1 : path, code, len, NULL, e);
}

int draft_preset(struct draft *s, const char *name, struct err *e)
{
	struct policy *policy;
	int r = preset_load(name, &policy, e);
	if (r < 0)
		return r;
	policy_free(s->policy);
	s->policy = policy;
	s->reviewed = false;
	for (size_t i = 0; s->presets && s->presets[i]; i++)
		if (strcmp(s->presets[i], name) == 0) {
			s->preset = i;
			return 0;
		}
	s->presets =
		strv_add(s->presets, name); /* a preset of a file of its own: P comes round to it again */
	s->preset = strv_len(s->presets) - 1;
	return 0;
}

/* A preset that cannot be loaded is passed over here; `belljar preset check` says what is wrong with it. */
void draft_presets_again(struct draft *s)
{
	struct err ignored;
	FREE char *name = s->presets && s->presets[s->preset] ? xstrdup(s->presets[s->preset]) : NULL;
	strv_free(s->presets);
	s->presets = preset_names();
	s->preset = 0;
	if (!name || draft_preset(s, name, &ignored) < 0)
		s->policy = policy_free(s->policy); /* what it was may not be what the file says now */
}

void draft_preset_next(struct draft *s)
{
	struct err ignored;
	size_t count = strv_len(s->presets);
	for (size_t i = 1; i <= count; i++)
		if (draft_preset(s, s->presets[(s->preset + i) % count], &ignored) == 0)
			return;
}

int draft_language(struct draft *s, const char *name, struct err *e)
{
	if (!name) {
		size_t i = 0, count = 0;
		while (languages[count])
			count++;
		while (i < count && languages[i] != s->language)
			i++;
		s->chosen = languages[(i + 1) % count];
	} else {
		const struct language *language = language_by_name(name);
		if (!language)
			return err_say(e, EINVAL, "no language is called \"%s\"", name);
		s->chosen = language;
	}
	s->reviewed = false;
	return 0;
}

static void note(struct draft *s, bool warning, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void note(struct draft *s, bool warning, const char *fmt, ...)
{
	char *text;
	va_list ap;
	if (s->note_count == DRAFT_NOTES)
		return;
	va_start(ap, fmt);
	int len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	s->notes[s->note_count++] =
		(struct draft_note){ .warning = warning, .text = clean_line(text, (size_t) len, s->ascii) };
	free(text);
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

static void note_findings(struct draft *s)
{
	const struct text_findings *f = &s->found;
	if (f->bidi)
		note(s, true,
		     "%zu bidi control%s from line %zu on: the line does not read as it runs. Shown in "
		     "brackets.",
		     f->bidi, plural(f->bidi), f->first_bidi_line);
	if (f->tags)
		note(s, true,
		     "%zu invisible tag character%s from line %zu on: text that only a machine reads.",
		     f->tags, plural(f->tags), f->first_tag_line);
	if (f->zero_width)
		note(s, true, "%zu zero-width character%s: names that look alike may differ.", f->zero_width,
		     plural(f->zero_width));
	if (f->controls)
		note(s, true, "%zu control character%s from line %zu on, shown in brackets.", f->controls,
		     plural(f->controls), f->first_control_line);
	if (f->nuls)
		note(s, true, "%zu NUL byte%s from line %zu on: this is no program text.", f->nuls,
		     plural(f->nuls), f->first_nul_line);
	if (f->invalid)
		note(s, true, "%zu byte%s from line %zu on %s not UTF-8.", f->invalid, plural(f->invalid),
		     f->first_invalid_line, f->invalid == 1 ? "is" : "are");
	if (f->mixed_endings)
		note(s, true, "Line endings are mixed: LF, and CR LF or CR.");
	else if (f->lone_cr)
		note(s, true, "Carriage returns without a newline: a terminal would show another text.");
	else if (f->crlf)
		note(s, false, "Lines end in CR LF.");
	if (f->bom)
		note(s, false, "It begins with a byte-order mark.");
	if (f->longest_line > 2000)
		note(s, false, "The longest line has %zu characters; Right scrolls.", f->longest_line);
}

/* What launching would say about it now: the same refusals and corrections, the same checksum as in the
 * recording. */
static void note_launch(struct draft *s)
{
	struct err e;
	struct launch *l = launch_new();
	FREE char *changed = NULL;
	FREE char *program = NULL;
	l->language = s->language;
	if (launch_set_code(l, s->code.data ? s->code.data : "", s->code.len, &changed, &e) < 0) {
		note(s, true, "It cannot be run: %s", e.text);
		sha256_hex(s->code.data ? s->code.data : "", s->code.len, s->sha256);
	} else {
		memcpy(s->sha256, l->code_sha256, sizeof(s->sha256));
		if (changed)
			note(s, false, "For the run, %s.", changed);
		s->ready = s->language && s->policy;
	}
	if (s->language && language_find_program(s->language, s->policy, &program, &e) < 0)
		note(s, true, "%s", e.text);
	s->program = clean_str(program, s->ascii);
	launch_free(l);
}

static void make_index(struct draft *s)
{
	size_t lines = s->found.lines;
	s->index = xcalloc(lines / DRAFT_STRIDE + 1, sizeof(*s->index));
	const char *p = s->code.data, *end = p + s->code.len;
	for (size_t n = 0; p < end && n < lines; n++) {
		if (n % DRAFT_STRIDE == 0)
			s->index[n / DRAFT_STRIDE] = (size_t) (p - s->code.data);
		const char *newline = memchr(p, '\n', (size_t) (end - p));
		p = newline ? newline + 1 : end;
	}
}

void draft_review(struct draft *s)
{
	struct err e;
	if (s->reviewed)
		return;
	review_done(s);
	s->reviewed = true;
	s->name = clean_str(s->title && strcmp(s->title, "-") == 0 ? "standard input" : s->title, s->ascii);
	if (s->arrival)
		note(s, true, "%s", s->arrival);
	if (s->code.len == 0)
		return;
	text_inspect(s->code.data, s->code.len, &s->found);
	make_index(s);
	s->language = s->chosen ? s->chosen : language_guess(s->title, s->code.data, s->code.len, &e);
	if (!s->language)
		note(s, true, "The language is not clear: press L, or :language NAME. %s", e.text);
	note_findings(s);
	note_launch(s);
	if (!s->policy)
		note(s, true, "No preset could be loaded: belljar preset check says why.");
}

const char *draft_line(const struct draft *s, size_t number, size_t *ret_len)
{
	if (!s->index || number >= s->found.lines)
		return NULL;
	const char *p = s->code.data + s->index[number / DRAFT_STRIDE], *end = s->code.data + s->code.len;
	for (size_t n = number - number % DRAFT_STRIDE; n < number; n++) {
		const char *newline = memchr(p, '\n', (size_t) (end - p));
		if (!newline)
			return NULL;
		p = newline + 1;
	}
	const char *newline = memchr(p, '\n', (size_t) (end - p));
	*ret_len = (size_t) ((newline ? newline : end) - p);
	if (*ret_len > 0 && p[*ret_len - 1] == '\r')
		--*ret_len;
	return p;
}

int draft_launch(struct draft *s, struct launch **ret, struct err *e)
{
	draft_review(s);
	if (s->code.len == 0)
		return err_say(e, EINVAL, "nothing is staged: paste, open (o) or type (i) code first");
	if (!s->language)
		return err_say(e, EINVAL, "the language is not clear: press L, or :language NAME");
	if (!s->policy)
		return err_say(e, EINVAL, "no preset is chosen");
	struct launch *l = launch_new();
	l->language = s->language;
	l->title = xstrdup(s->title);
	int r = preset_load(s->presets[s->preset], &l->policy, e);
	if (r == 0)
		r = launch_set_code(l, s->code.data, s->code.len, NULL, e);
	if (r < 0) {
		launch_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

int draft_launch_under(struct draft *s, const char *preset, struct launch **ret, struct err *e)
{
	struct policy *policy;
	int r = preset_load(preset, &policy, e);
	if (r < 0)
		return r;
	if ((r = draft_launch(s, ret, e)) < 0) {
		policy_free(policy);
		return r;
	}
	policy_free((*ret)->policy);
	(*ret)->policy = policy;
	return 0;
}
