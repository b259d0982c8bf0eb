/* SPDX-License-Identifier: MIT */
/*
 * Plain mode's session: where commands come from, when the next one is taken, and how lines go out. A person gets a
 * prompt while nothing runs; while something does, its lines come undisturbed and the terminal's own line editing takes
 * commands. What several lines at once bring is no typing: of a paste nothing is done. A script's next command waits
 * until what the last one began is over.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "core/supervise/supervise.h"
#include "tui/screen/app.h"
#include "tui/screen/line.h"
#include "tui/screen/plain.h"
#include "tui/screen/plain_parts.h"

#define PAGE_LINES   100 /* of one telling at a time, on a terminal */
#define PASTE_MS     50  /* what comes so soon after a line was not typed */
#define PATIENCE_NS  (30 * NS_PER_S)
#define TTY_LINE_MAX 4095 /* bytes: what the kernel's line editing keeps of a line */

/* ---- what goes out ---- */

/* A terminal is read as it is written: what stands on the line of the prompt is left there, and shown again below. */
void plain_flush(struct app *app)
{
	struct plain *p = app->plain;
	if (p->out.len == 0)
		return;
	if (p->prompting)
		p->failed = p->failed ? p->failed : write_all(STDOUT_FILENO, "\n", 1);
	int r = p->failed ? 0 : write_all(STDOUT_FILENO, p->out.data, p->out.len);
	p->out.len = 0;
	if (r < 0) {
		p->failed = r;
		app_quit(app, 125);
	}
	if (p->prompting)
		line_again(p->line);
}

void plain_leave_prompt(struct app *app)
{
	if (app->plain->prompting)
		(void) write_all(STDOUT_FILENO, "\n", 1);
	app->plain->prompting = false;
}

void plain_put(struct app *app, const struct buf *text)
{
	struct scrub scrub = { .ascii = app->ascii };
	struct plain *p = app->plain;
	size_t from = p->out.len;
	if (text->len == 0)
		return;
	scrub_add(&scrub, text->data, text->len, &p->out);
	scrub_end(&scrub, &p->out);
	if (p->out.data[p->out.len - 1] != '\n')
		buf_str(&p->out, "\n");
	if (*p->awaited && strstr(p->out.data + from, p->awaited))
		*p->awaited = '\0';
	p->said = true;
	if (p->out.len > 64u << 10)
		plain_flush(app);
}

void plain_say(struct app *app, bool warning)
{
	struct plain *p = app->plain;
	if (!warning) {
		plain_put(app, &app->said);
		return;
	}
	plain_flush(app);
	dprintf(STDERR_FILENO, "%sbelljar: %s\n", p->prompting ? "\n" : "", app->said.data);
	p->said = p->refused = true;
}

/* Up to so many lines of it; what is left can be asked for. */
static void put_page(struct app *app)
{
	struct plain *p = app->plain;
	size_t end = 0, lines = 0, left = 0;
	while (end < p->rest.len && (lines < PAGE_LINES || !p->line))
		lines += p->rest.data[end++] == '\n';
	struct buf page = { .data = p->rest.data, .len = end };
	plain_put(app, &page);
	for (size_t i = end; i < p->rest.len; i++)
		left += p->rest.data[i] == '\n';
	memmove(p->rest.data, p->rest.data + end, p->rest.len - end);
	p->rest.len -= end;
	if (left) {
		struct buf note = { 0 };
		buf_printf(&note, "%zu more line%s: more shows them.\n", left, left == 1 ? "" : "s");
		plain_put(app, &note);
		buf_done(&note);
	}
}

void plain_tell(struct app *app)
{
	struct plain *p = app->plain;
	p->rest.len = 0;
	plain_status(app, &p->rest);
	app->view->tell(app, &p->rest);
	if (p->rest.len)
		put_page(app);
}

void plain_more(struct app *app)
{
	if (app->plain->rest.len)
		put_page(app);
	else
		app_say(app, "That was all.");
}

void plain_find(struct app *app, const char *text)
{
	struct buf all = { 0 }, found = { 0 };
	if (app->view->tell)
		app->view->tell(app, &all);
	for (char *rest = all.data, *line = rest ? strsep(&rest, "\n") : NULL; line;
	     line = strsep(&rest, "\n"))
		if (strstr(line, text))
			buf_printf(&found, "%s\n", line);
	if (found.len)
		plain_put(app, &found);
	else
		app_warn(app, "Not found: %s", text);
	buf_done(&all);
	buf_done(&found);
}

void plain_put_staged(struct app *app)
{
	struct buf words = { 0 };
	compose_summary(app, &words);
	plain_put(app, &words);
	buf_done(&words);
}

/* ---- what comes in ---- */

static bool busy(const struct app *app)
{
	return app_busy(app) || (app->playback && app->playback->timer) || app->intake.reading;
}

void plain_readable(void *arg, uint32_t epoll_events)
{
	struct app *app = arg;
	struct plain *p = app->plain;
	p->ready = true;
	/* Nobody is to spin on what is not read yet; an end would be reported all the same, again and again. */
	if (!(epoll_events & (EPOLLHUP | EPOLLERR))) {
		(void) loop_change_fd(app->loop, p->fd, 0);
		return;
	}
	loop_unwatch_fd(app->loop, p->fd);
	p->watched = false;
}

/* One round of what lives. What it came to goes out at once; what is over is told. */
static void turn(struct app *app)
{
	struct plain *p = app->plain;
	struct err e;
	bool was_busy = busy(app), was_reading = app->intake.reading;
	if (loop_once(app->loop, -1, &e) < 0)
		app_quit(app, 125);
	plain_run_state(app);
	if (was_reading && !app->intake.reading)
		plain_put_staged(app);
	if (was_busy && !busy(app) && app->view != &run_view && app->view != &compose_view)
		plain_tell(app);
	plain_flush(app);
	p->interrupted = p->interrupted || app->quitting;
}

/* Whether there is something to read now. False: something else happened that whoever reads must know. */
static bool await_input(struct app *app)
{
	struct plain *p = app->plain;
	bool was_busy = busy(app);
	while (!p->ready && !p->interrupted && busy(app) == was_busy) {
		if (p->watched)
			(void) loop_change_fd(app->loop, p->fd, EPOLLIN);
		else
			p->ready = true; /* a file: it is there already */
		if (!p->ready)
			turn(app);
	}
	bool ready = p->ready && !p->interrupted;
	p->ready = false;
	return ready;
}

static bool wait_at_prompt(void *arg)
{
	return await_input(arg);
}

static char **complete(void *arg, const char *typed, char **ret_add)
{
	return prompt_complete(arg, typed, ret_add);
}

/* The first line of what was read already. False: none is whole. */
static bool cut_line(struct plain *p, char **ret, size_t *ret_len)
{
	char *newline = p->in.len ? memchr(p->in.data, '\n', p->in.len) : NULL;
	if (!newline && !(p->eof && p->in.len))
		return false;
	size_t len = newline ? (size_t) (newline - p->in.data) : p->in.len, used = len + (newline != NULL);
	*ret = xstrndup(p->in.data, len);
	memcpy(*ret, p->in.data, len); /* NULs too: who takes the line refuses them */
	*ret_len = len;
	memmove(p->in.data, p->in.data + used, p->in.len - used);
	p->in.len -= used;
	return true;
}

static enum line_end read_raw(struct app *app, char **ret, size_t *ret_len)
{
	static char bytes[16 << 10];
	struct plain *p = app->plain;
	while (!cut_line(p, ret, ret_len)) {
		if (p->eof)
			return LINE_EOF;
		if (!await_input(app))
			return LINE_GIVEN_UP;
		ssize_t got = read(p->fd, bytes, sizeof(bytes));
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return p->line ? LINE_GONE : LINE_EOF;
		if (got == 0 && p->line && p->in.len == 0)
			return LINE_EOF; /* ^D; the terminal goes on */
		p->eof = got == 0 && !p->line;
		buf_add(&p->in, bytes, got > 0 ? (size_t) got : 0);
		if (p->in.len > CODE_MAX)
			return LINE_GONE;
	}
	return LINE_DONE;
}

static enum line_end read_line(struct app *app, char **ret, size_t *ret_len)
{
	struct plain *p = app->plain;
	bool asks = app->prompt.kind != PROMPT_NONE;
	if (!p->line || busy(app) || app->compose.inserting || asks || p->in.len)
		return read_raw(app, ret, ret_len);
	p->prompting = true;
	enum line_end end = line_read(p->line, ret);
	p->prompting = false;
	*ret_len = end == LINE_DONE ? strlen(*ret) : 0;
	return end;
}

int plain_prompt(struct app *app, struct err *e)
{
	const struct line_options o = { .fd = app->plain->fd,
					.prompt = "belljar> ",
					.arg = app,
					.wait = wait_at_prompt,
					.complete = complete };
	app->plain->line = line_new(&o, e);
	return app->plain->line ? 0 : -e->code;
}

/* ---- what is done with it ---- */

/* Whether more came with a line than a person types. It is thrown away, all of it. */
static size_t drop_paste(struct plain *p)
{
	static char bytes[16 << 10];
	struct pollfd more = { .fd = p->fd, .events = POLLIN };
	size_t dropped = p->in.len;
	p->in.len = 0;
	for (int ms = 0; poll(&more, 1, ms) == 1; ms = PASTE_MS) {
		ssize_t got = read(p->fd, bytes, sizeof(bytes));
		if (got <= 0)
			break;
		dropped += (size_t) got;
	}
	return dropped;
}

static void end_insert(struct app *app)
{
	size_t dropped = app->plain->line ? drop_paste(app->plain) : 0;
	app->compose.inserting = false;
	plain_put_staged(app);
	if (dropped)
		app_warn(app, "%zu bytes came right behind the end of the code, and were dropped.", dropped);
}

static void take_code(struct app *app, const char *line, size_t len)
{
	struct plain *p = app->plain;
	struct err e;
	if (len == 1 && (*line == '\004' || (!p->line && *line == '.'))) {
		end_insert(app);
		return;
	}
	if (p->line && len >= TTY_LINE_MAX)
		app_warn(app, "A terminal keeps %d bytes of a line: this one may have been cut.",
			 TTY_LINE_MAX);
	if (draft_append(&app->draft, line, len, &e) < 0 || draft_append(&app->draft, "\n", 1, &e) < 0) {
		app_warn(app, "%s", e.text);
		end_insert(app);
	}
}

/* These act on what lives, so they do not wait for its end. */
static bool acts_at_once(const char *line)
{
	static const char *const names[] = { "stop",  "kill", "pause",  "play", "quit now",
					     "wait ", "deny", "allow-", "send" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_starts(line, names[i]))
			return true;
	return false;
}

static void on_patience(void *arg)
{
	struct app *app = arg;
	app_warn(app, "This never came: %s", app->plain->awaited);
	*app->plain->awaited = '\0';
}

/* Until a line with this text has been printed. */
static void wait_for_text(struct app *app, const char *text)
{
	struct plain *p = app->plain;
	struct err e;
	(void) snprintf(p->awaited, sizeof(p->awaited), "%s", text);
	int timer = loop_timer(app->loop, PATIENCE_NS, 0, on_patience, app, &e);
	while (*p->awaited && !p->interrupted)
		turn(app);
	*p->awaited = '\0';
	loop_cancel(app->loop, timer > 0 ? timer : 0);
}

static void take_command(struct app *app, const char *line)
{
	struct plain *p = app->plain;
	line += strspn(line, " \t:");
	if (!*line || (*line == '#' && !p->line))
		return;
	while (!p->line && busy(app) && !p->interrupted && !acts_at_once(line))
		turn(app);
	if (!p->line && str_starts(line, "wait ")) {
		wait_for_text(app, line + strlen("wait "));
		return;
	}
	p->said = false;
	app->said.len = 0;
	app_command(app, line);
	plain_run_state(app);
	bool asks = app->prompt.kind != PROMPT_NONE;
	if (!p->said && !app->quitting && !busy(app) && !asks && !app->compose.inserting)
		plain_tell(app);
}

static void take_line(struct app *app, const char *line, size_t len)
{
	struct plain *p = app->plain;
	if (app->compose.inserting) {
		take_code(app, line, len);
		return;
	}
	size_t dropped = p->line ? drop_paste(p) : 0;
	len -= len && line[len - 1] == '\r';
	FREE char *text = xstrndup(line, len);
	if (dropped)
		app_warn(app,
			 "Several lines at once are a paste: nothing of it was done. insert takes code.");
	else if (strlen(text) != len)
		app_warn(app, "A command has no NUL in it.");
	else if (app->prompt.kind == PROMPT_QUIT)
		prompt_key(app, (unsigned char) *text);
	else
		take_command(app, text);
}

/* The end of what is read: on a terminal ^D, which ends code, and where a command is meant, the session. */
static void take_end(struct app *app)
{
	struct plain *p = app->plain;
	bool inserting = app->compose.inserting;
	if (inserting)
		end_insert(app);
	else if (p->line) {
		buf_str(&p->out, "\n"); /* behind the prompt */
		app_command(app, "quit");
	}
	while (!p->line && busy(app) && !p->interrupted)
		turn(app);
	if (!p->line && !app->quitting)
		app_quit(app, 0);
}

int plain_session(struct app *app, struct err *e)
{
	struct plain *p = app->plain;
	plain_greet(app);
	while (!app->quitting) {
		FREE char *line = NULL;
		size_t len = 0;
		plain_flush(app);
		p->interrupted = false;
		enum line_end end = read_line(app, &line, &len);
		if (end == LINE_DONE)
			take_line(app, line, len);
		else if (end == LINE_EOF)
			take_end(app);
		else if (end == LINE_GONE)
			app_quit(app, p->line ? 128 + SIGHUP : 125);
	}
	plain_flush(app);
	if (app->status == 0 && p->refused && !p->line)
		app->status = 125;
	return p->failed ? err_set(e, -p->failed, "print") : 0;
}
