/* SPDX-License-Identifier: MIT */
/*
 * The parts of plain mode: its beginning and end, signals, the lines of a run as it happens, the help.
 */
#include "tui/screen/plain_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/screen/app.h"
#include "tui/screen/job.h"
#include "tui/screen/line.h"
#include "tui/screen/run_parts.h"

#define STATUS_COLUMNS 200
#define STATUS_BEGINS  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* The row of a screen that says what it shows, as words. */
static void row_words(struct app *app, void (*draw)(struct app *app, const struct pane *row), struct buf *out)
{
	struct cells grid = { .ascii = app->ascii };
	struct buf text = { 0 };
	cells_resize(&grid, 1, STATUS_COLUMNS);
	struct pane row = pane_all(&grid);
	draw(app, &row);
	cells_dump(&grid, &text);
	/* Without the sign in front, which says what the first word says, and without the gaps. */
	for (const char *c = text.data + strcspn(text.data, STATUS_BEGINS); *c; c++)
		if (*c != ' ' || c[1] != ' ')
			buf_add(out, c, 1);
	cells_done(&grid);
	buf_done(&text);
}

/* ---- a run, as it happens ---- */

/* Whole lines of output; the one that is still being printed waits, unless there is nothing more to come. */
static void put_output(struct app *app, bool all)
{
	struct plain *p = app->plain;
	const struct ring *r = &app->watch.output;
	uint64_t end = r->next - (r->open && !all && r->next > r->first ? 1 : 0);
	struct buf lines = { 0 };
	if (p->lines < r->first) {
		buf_printf(&lines, "%llu lines came too fast to be kept\n",
			   (unsigned long long) (r->first - p->lines));
		p->lines = r->first;
	}
	for (; p->lines < end; p->lines++)
		tell_output_line(r, p->lines, &lines);
	plain_put(app, &lines);
	buf_done(&lines);
}

/* The first of its kind, and then at 10, 100, …: a flood of the same is told by its size. */
static bool worth_a_line(const struct watch *w, const struct event *ev)
{
	const struct groups *g = &w->groups;
	const struct raw *newest = g->raw_next ? &g->raw[(g->raw_next - 1) % RAW_MAX] : NULL;
	if (!group_wanted(ev) || !newest || newest->t_ns != ev->t_ns)
		return false;
	const struct group *group = &g->at[newest->group];
	uint64_t before = group->count - newest->count, step = 1;
	while (step <= before)
		step *= 10;
	return !group_quiet(group) && group->count >= step;
}

static void put_event(struct app *app, const struct event *ev)
{
	const struct groups *g = &app->watch.groups;
	struct buf words = { 0 };
	bool asks = ev->type == EVENT_ASK; /* each is about a call that stands still */
	if (!asks && !worth_a_line(&app->watch, ev))
		return;
	uint64_t count = g->at[g->raw[(g->raw_next - 1) % RAW_MAX].group].count;
	event_line(ev, app->ascii, &words);
	if (asks)
		buf_str(&words, "\nASK: it waits. deny, allow-once or allow-run answers.");
	else if (count > 1)
		buf_printf(&words, "  (%llu times so far)", (unsigned long long) count);
	plain_put(app, &words);
	buf_done(&words);
}

/* Numbers that go on changing are told once they come near their limit, and not again before they left it. */
static void put_meters(struct app *app)
{
	struct plain *p = app->plain;
	for (int m = 0; m < METER_DENIED; m++) {
		struct buf words = { 0 };
		bool near;
		(void) meter_word(&app->watch, (enum meter_name) m, &near);
		if (near && !p->warned[m]) {
			buf_str(&words, "METER ");
			tell_meter(&app->watch, (enum meter_name) m, &words);
			plain_put(app, &words);
		}
		p->warned[m] = near;
		buf_done(&words);
	}
}

static void put_progress(struct app *app, const struct event *ev)
{
	struct buf words = { 0 };
	event_line(ev, app->ascii, &words);
	plain_put(app, &words);
	buf_done(&words);
}

static void put_start(struct app *app)
{
	struct plain *p = app->plain;
	struct buf words = { 0 };
	p->lines = 0;
	p->paused = false;
	memset(p->warned, 0, sizeof(p->warned));
	buf_str(&words, "RUN started: ");
	row_words(app, run_status, &words);
	if (app->watch.missing_count)
		buf_printf(
			&words,
			"RUN: %d of the walls and limits asked for do not hold here; boundary shows which.\n",
			app->watch.missing_count);
	plain_put(app, &words);
	buf_done(&words);
}

static void put_end(struct app *app)
{
	struct buf words = { 0 };
	put_output(app, true);
	buf_str(&words, "RUN ended: ");
	tell_result(&app->watch, &words);
	plain_put(app, &words);
	buf_done(&words);
}

/* A recording that is opened, or gone through by leaps, has happened; it is told when asked for. */
void plain_event(struct app *app, const struct event *ev)
{
	if (!app->run && !(app->playback && app->playback->timer))
		return;
	if (ev->type == EVENT_START)
		put_start(app);
	else if (ev->type == EVENT_OUTPUT)
		put_output(app, false);
	else if (ev->type == EVENT_METER)
		put_meters(app);
	else if (ev->type == EVENT_PROGRESS)
		put_progress(app, ev);
	else if (ev->type == EVENT_EXIT)
		put_end(app);
	else
		put_event(app, ev);
}

static void put_words(struct app *app, const char *words)
{
	struct buf text = { .data = (char *) words, .len = strlen(words) };
	plain_put(app, &text);
}

void plain_run_state(struct app *app)
{
	struct plain *p = app->plain;
	bool lives = app->run != NULL, said = p->said;
	if (lives && p->paused != app->watch.paused)
		put_words(app, app->watch.paused ? "RUN paused" : "RUN goes on");
	if (p->lives && !lives && !app->watch.ended)
		put_words(app, "RUN ended: nobody says how; its supervisor was lost");
	p->paused = lives && app->watch.paused;
	p->lives = lives;
	p->said = said;
}

/* ---- words ---- */

void plain_status(struct app *app, struct buf *out)
{
	row_words(app, app->view->status, out);
}

void plain_greet(struct app *app)
{
	if (app->plain->line)
		put_words(app,
			  "belljar, plain mode. Nothing runs until you say run; help lists the commands.");
	if (app->draft.code.len && !app->playback)
		plain_put_staged(app);
}

/* clang-format off */
const char *const plain_drawn_names[] = {
	"freeze", "thaw", "follow", "zoom", "pane", "other-pane", "move", "back", "talk", "redraw", "save-display",
	"command", "find-next", "find-back", "full-row", "mark", "detail", "at-output", NULL,
};
/* clang-format on */

bool plain_drawn(const char *command)
{
	return strv_has((char *const *) plain_drawn_names, command);
}

static void add_actions(const struct action *actions, struct buf *out)
{
	for (const struct action *a = actions; a && a->name; a++) {
		FREE char *name =
			xprintf("%s%s%s", a->name, a->argument ? " " : "", a->argument ? a->argument : "");
		if (!plain_drawn(a->name))
			buf_printf(out, "  %-22s %s\n", name, a->help);
	}
}

void plain_help(struct app *app)
{
	struct buf out = { 0 };
	buf_str(&out, "The screens, each told by its name: ");
	for (int i = 0; i < VIEW_MAX; i++)
		buf_printf(&out, "%s%s", i ? ", " : "", views[i]->title);
	buf_str(&out, " (screen Run, screen Compare: their names alone run and compare)\n\nEverywhere\n");
	for (size_t n = 1; app_actions(app, n); n++) /* 0 is the front screen's own */
		add_actions(app_actions(app, n), &out);
	for (int i = 0; i < VIEW_MAX; i++) {
		if (!views[i]->actions)
			continue;
		buf_printf(&out, "\n%s\n", views[i]->title);
		add_actions(views[i]->actions, &out);
	}
	plain_put(app, &out);
	buf_done(&out);
}

/* ---- signals ---- */

static void interrupt(struct app *app)
{
	struct plain *p = app->plain;
	p->interrupted = true;
	plain_leave_prompt(app);
	if (app->compose.inserting) {
		app->compose.inserting = false;
		(void) draft_undo(&app->draft);
		app_say(app, "Thrown away: it is as it was.");
		return;
	}
	app->prompt.kind = PROMPT_NONE;
	if (app_busy(app)) {
		app_show(app, app_busy(app));
		app_command(app, "stop");
	} else if (app->intake.reading) {
		intake_stop(app);
	} else if (p->line) {
		app_say(app, "Nothing runs. quit leaves.");
	} else {
		app_quit(app, 128 + SIGINT);
	}
}

static void on_signal(void *arg, int signo)
{
	struct app *app = arg;
	if (signo == SIGINT)
		interrupt(app);
	else if (signo == SIGTSTP)
		plain_suspend(app);
	else if (signo != SIGPIPE) { /* which writing tells too */
		app->signo = signo;
		app_quit(app, 128 + signo);
	}
}

void plain_suspend(struct app *app)
{
	struct plain *p = app->plain;
	if (!p->line) {
		job_stop(-1);
		return;
	}
	plain_leave_prompt(app);
	line_leave(p->line);
	if (app->run)
		put_words(app, "The run goes on, within its limits; fg returns to it.");
	plain_flush(app);
	job_tell_guard(p->guard_fd, '0');
	job_stop(p->fd);
	job_tell_guard(p->guard_fd, 'm');
	p->interrupted = true; /* a new prompt */
}

bool plain_has_terminal(const struct app *app)
{
	return app->plain && app->plain->line;
}

/* ---- opening ---- */

/* Code on standard input leaves the terminal for commands; a script goes before both. */
static int open_commands(struct plain *p, const struct app_options *o, bool code_on_stdin, struct err *e)
{
	if (o->script)
		p->fd = open(o->script, O_RDONLY | O_CLOEXEC);
	else if (code_on_stdin)
		p->fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	else
		p->fd = STDIN_FILENO;
	p->own_fd = p->fd > STDERR_FILENO;
	return p->fd >= 0 ? 0
			  : err_set(e, errno, "open %s, where commands come from",
				    o->script ? o->script : "/dev/tty");
}

static int watch_signals(struct app *app, struct err *e)
{
	static const int signals[] = { SIGINT, SIGTSTP, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sigaddset(&set, signals[i]);
	return loop_watch_signals(app->loop, &set, on_signal, app, e);
}

int plain_open(struct app *app, const struct app_options *o, struct err *e)
{
	struct plain *p = app->plain = xcalloc(1, sizeof(*p));
	struct err ignored;
	p->fd = -1;
	p->guard_fd = o->guard_fd;
	bool code = o->file ? strcmp(o->file, "-") == 0 : !o->plain && !isatty(STDIN_FILENO);
	int r = open_commands(p, o, code, e);
	if (r == 0)
		r = watch_signals(app, e);
	if (r == 0 && isatty(p->fd))
		r = plain_prompt(app, e);
	if (r == 0)
		p->watched = loop_watch_fd(app->loop, p->fd, 0, plain_readable, app, &ignored) == 0;
	job_tell_guard(p->guard_fd, p->line ? 'm' : '0');
	return r;
}

void plain_close(struct app *app)
{
	struct plain *p = app->plain;
	if (!p)
		return;
	if (p->watched)
		loop_unwatch_fd(app->loop, p->fd);
	line_free(p->line);
	job_tell_guard(p->guard_fd, '0');
	if (p->own_fd)
		close_fd(&p->fd);
	buf_done(&p->in);
	buf_done(&p->out);
	buf_done(&p->rest);
	free(take_ptr(&app->plain));
}
