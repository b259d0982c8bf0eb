/* SPDX-License-Identifier: MIT */
/*
 * The application's life: it opens, lets keys, pastes and events in, draws at most so many frames a second,
 * ends. What the keys do stands in actions.c, what a frame looks like in frame.c and in the views.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "core/supervise/supervise.h"
#include "tui/screen/app.h"
#include "tui/screen/curses.h"
#include "tui/screen/plain.h"

#define FRAME_NS      (50 * NS_PER_MS) /* 20 frames a second; ssh: 10 */
#define ANSWER_FRAMES 10               /* so many for one, where keys are answered */

const struct view *const views[VIEW_MAX] = {
	[VIEW_COMPOSE] = &compose_view, [VIEW_RUN] = &run_view,         [VIEW_EVENTS] = &events_view,
	[VIEW_ATTACKS] = &attacks_view, [VIEW_COMPARE] = &compare_view, [VIEW_PRESETS] = &presets_view,
	[VIEW_LEARN] = &learn_view,
};

size_t scrolled(size_t top, size_t rows, size_t count, enum move move)
{
	size_t last = count > rows ? count - rows : 0, step = 1;
	if (move == MOVE_PAGE_UP || move == MOVE_PAGE_DOWN)
		step = rows > 1 ? rows - 1 : 1;
	else if (move == MOVE_HALF_UP || move == MOVE_HALF_DOWN)
		step = rows > 1 ? rows / 2 : 1;
	if (move == MOVE_TOP)
		top = 0;
	else if (move == MOVE_BOTTOM)
		top = last;
	else if (move == MOVE_UP || move == MOVE_PAGE_UP || move == MOVE_HALF_UP)
		top = top > step ? top - step : 0;
	else if (move == MOVE_DOWN || move == MOVE_PAGE_DOWN || move == MOVE_HALF_DOWN)
		top += step;
	return top > last ? last : top;
}

static void say(struct app *app, bool warning, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));
static void say(struct app *app, bool warning, const char *fmt, va_list ap)
{
	char *text;
	int len = vasprintf(&text, fmt, ap);
	if (len < 0)
		return;
	struct clean clean = clean_line(text, (size_t) len, app->ascii);
	app->said.len = 0;
	buf_add(&app->said, clean.text, clean.len);
	app->said_warning = warning;
	clean_free(&clean);
	free(text);
	if (app->plain)
		plain_say(app, warning);
	app_dirty(app);
}

void app_say(struct app *app, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say(app, false, fmt, ap);
	va_end(ap);
}

void app_warn(struct app *app, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	say(app, true, fmt, ap);
	va_end(ap);
}

static void on_frame(void *arg);

static void schedule_frame(struct app *app, uint64_t after_ns)
{
	struct err ignored;
	if (app->frame_timer || !app->term)
		return;
	uint64_t now = now_ns(), due = app->last_frame_ns + after_ns;
	int id = loop_timer(app->loop, due > now ? due - now : 0, 0, on_frame, app, &ignored);
	app->frame_timer = id > 0 ? id : 0;
}

/* A key is answered before the next frame is due: of two frames a person waits for the second. */
static void answer_soon(struct app *app)
{
	loop_cancel(app->loop, app->frame_timer);
	app->frame_timer = 0;
	app->dirty = true;
	schedule_frame(app, app->frame_ns / ANSWER_FRAMES);
}

void app_dirty(struct app *app)
{
	app->dirty = true;
	schedule_frame(app, app->frame_ns);
}

void app_draw(struct app *app)
{
	int rows = app->grid.rows, columns = app->grid.columns;
	if (app->term)
		curses_size(app->term, &rows, &columns);
	if (rows != app->grid.rows || columns != app->grid.columns) {
		cells_resize(&app->grid, rows, columns);
		if (app->run)
			(void) run_resize(app->run, (uint32_t) app->grid.rows, (uint32_t) app->grid.columns);
	}
	cells_clear(&app->grid);
	frame_draw(app);
	app->dirty = false;
}

static void on_frame(void *arg)
{
	struct app *app = arg;
	app->frame_timer = 0;
	if (!app->dirty)
		return;
	app_draw(app);
	ready_follow(app);
	app->last_frame_ns = now_ns();
	if (curses_draw(app->term, &app->grid) == -EAGAIN)
		app_dirty(
			app); /* the terminal takes nothing now: this frame is left out, a later one comes */
}

static void on_changed(void *arg)
{
	app_dirty(arg);
}

const struct view *app_busy(const struct app *app)
{
	for (int i = 0; i < VIEW_MAX; i++)
		if (i == VIEW_RUN ? app->run != NULL : views[i]->busy && views[i]->busy(app))
			return views[i];
	return NULL;
}

bool app_refuses(struct app *app)
{
	const struct view *at = app_busy(app);
	if (at == &run_view)
		app_warn(app, "A run lives: ^C stops it.");
	else if (at)
		app_warn(app, "A run of %s lives: ^C on that screen stops it.", at->title);
	return at != NULL;
}

static const char *on_farewell(void *arg)
{
	return app_busy(arg) ? "belljar: the run goes on, within its limits; fg returns to it\r\n" : NULL;
}

static void on_ended(void *arg, int signo)
{
	struct app *app = arg;
	app->signo = signo;
	app_quit(app, 128 + signo);
}

static void on_key(void *arg, uint32_t key)
{
	app_key(arg, key);
}

static void on_paste(void *arg, const char *text, size_t len, size_t dropped, bool whole)
{
	FREE char *arrival = NULL;
	if (dropped)
		arrival = xprintf("The paste held an end-of-paste mark; %zu bytes after it were dropped.",
				  dropped);
	else if (!whole)
		arrival = xprintf("The paste never ended, or was too long: only its beginning is here.");
	app_paste(arg, text, len, arrival);
}

unsigned app_state(const struct app *app)
{
	unsigned state = app->run ? WHEN_LIVE : WHEN_IDLE;
	if (app->draft.code.len > 0)
		state |= WHEN_CODE;
	if (app->watch.started || app->watch.ended)
		state |= WHEN_RAN;
	if (app->playback)
		state |= WHEN_REPLAY;
	return state;
}

void app_show(struct app *app, const struct view *view)
{
	if (view != app->view) {
		app->last_view = app->view;
		app->view = view;
	}
	app->help = false;
	app_dirty(app);
}

const struct action *app_actions(const struct app *app, size_t n)
{
	static const struct action none[] = { { .name = NULL } };
	const struct action *const tables[] = { app->view->actions ? app->view->actions : none,
						common_actions, ask_actions, send_actions, playback_actions };
	return n < ARRAY_LEN(tables) ? tables[n] : NULL;
}

const struct action *app_action(const struct app *app, const char *name, size_t len)
{
	const struct action *table;
	for (size_t n = 0; (table = app_actions(app, n)); n++)
		for (const struct action *a = table; a->name; a++)
			if (strlen(a->name) == len && memcmp(a->name, name, len) == 0)
				return a;
	return NULL;
}

const struct action *app_action_elsewhere(const char *name, size_t len, const struct view **ret)
{
	const struct action *found = NULL;
	for (int i = 0; i < VIEW_MAX; i++)
		for (const struct action *a = views[i]->actions; a && a->name; a++)
			if (strlen(a->name) == len && memcmp(a->name, name, len) == 0) {
				if (found)
					return NULL;
				found = a;
				*ret = views[i];
			}
	return found;
}

/* A screen that is called by its bare name. On the screens what can be done comes first, in plain mode only what needs
 * nothing more said. */
static const struct view *named_view(const struct app *app, const struct action *action, const char *name)
{
	if (action && !(app->plain && action->argument))
		return NULL;
	for (int i = 0; i < VIEW_MAX; i++)
		if (strcasecmp(views[i]->title, name) == 0)
			return views[i];
	return NULL;
}

void app_command(struct app *app, const char *line)
{
	const struct view *other = NULL, *named;
	line += strspn(line, " :");
	size_t len = strcspn(line, " ");
	const char *argument = line + len + strspn(line + len, " ");
	const struct action *action = app_action(app, line, len);
	if (len == 0)
		return;
	if (!action)
		action = app_action_elsewhere(line, len, &other);
	if ((named = named_view(app, action, line))) {
		app_show(app, named);
		return;
	}
	if (action && other)
		app_show(app, other);
	if (app->plain && action && plain_drawn(action->name)) {
		app_warn(app, "%s is about a picture, which plain mode does not draw.", action->name);
		return;
	}
	if (!action)
		app_warn(app, "No command is called \"%.*s\" here. %s lists them.",
			 (int) (len > 40 ? 40 : len), line, app->plain ? "help" : "?");
	else if (!action->argument && *argument)
		app_warn(app, "%s takes nothing after it.", action->name);
	else
		action->act(app, argument);
	app_dirty(app);
}

void app_key(struct app *app, uint32_t key)
{
	bool again = app->interrupted;
	app->last_key = key;
	app->said.len = 0;
	app->interrupted = false;
	answer_soon(app);
	if (app->prompt.kind != PROMPT_NONE) {
		prompt_key(app, key);
		return;
	}
	bool typing = app->view == &compose_view && app->compose.inserting;
	if (!typing && ask_key(app, key))
		return;
	if (!app->help && app->view->key && app->view->key(app, key))
		return;
	if (key == K_CTRL('C') && again && !app->run) {
		app_quit(app, 0);
		return;
	}
	const struct binding *b = binding_find(app->view->id, key);
	if (b)
		app_command(app, b->command);
}

void app_paste(struct app *app, const char *text, size_t len, const char *arrival)
{
	app->said.len = 0;
	app_dirty(app);
	if (app->prompt.kind != PROMPT_NONE)
		prompt_paste(app, text, len);
	else if (app->view->paste && !app->help)
		app->view->paste(app, text, len, arrival);
	else
		app_warn(app, "A paste means nothing here: 1 shows Compose, where code goes.");
}

void app_event(struct app *app, const struct event *ev)
{
	watch_event(&app->watch, ev);
	if (app->plain)
		plain_event(app, ev);
	/* A frozen picture stands still, so that text can be selected in the terminal. */
	if (!(app->view == &run_view && app->at_run.frozen) || ev->type == EVENT_ASK)
		app_dirty(app);
}

static int size_and_loop(struct app *app, const struct app_options *o, struct err *e)
{
	int r = loop_new(&app->loop, e);
	if (r < 0)
		return r;
	app->frame_ns = getenv("SSH_CONNECTION") ? 2 * FRAME_NS : FRAME_NS;
	cells_resize(&app->grid, o->rows ? o->rows : 24, o->columns ? o->columns : 80);
	if (o->rows)
		return 0;
	if (o->plain)
		return plain_open(app, o, e);
	const struct curses_options terminal = { .color = o->color,
						 .guard_fd = o->guard_fd,
						 .paste_max = CODE_MAX,
						 .arg = app,
						 .key = on_key,
						 .paste = on_paste,
						 .farewell = on_farewell,
						 .changed = on_changed,
						 .ended = on_ended };
	r = curses_open(app->loop, &terminal, &app->term, e);
	/* A terminal that cannot be drawn on can still be written to. */
	return r == -ENOTTY && !o->script ? plain_open(app, o, e) : r;
}

static int load(struct app *app, const struct app_options *o, struct err *e)
{
	int r = 0;
	if (o->replay && (r = playback_open(app, o->replay, e)) == 0)
		app_show(app, &run_view);
	else if (o->replay)
		return r;
	else if (o->file && strcmp(o->file, "-") != 0)
		r = draft_open(&app->draft, o->file, e);
	else if ((o->file || (!isatty(STDIN_FILENO) && !o->plain)) && !o->rows)
		intake_start(app);
	if (r == 0 && o->script && !app->plain)
		r = script_open(app, o->script, e);
	if (o->screen > 0 && o->screen <= VIEW_MAX)
		app_show(app, views[o->screen - 1]);
	return r;
}

static int write_file(const char *path, void (*dump)(const struct cells *, struct buf *),
		      const struct cells *grid)
{
	struct buf text = { 0 };
	CLOSE_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	dump(grid, &text);
	int r = fd < 0 ? -errno : write_all(fd, text.data, text.len);
	buf_done(&text);
	return r;
}

static int dump(struct app *app, const struct app_options *o, struct err *e)
{
	app_draw(app);
	int r = o->dump ? write_file(o->dump, cells_dump, &app->grid) : 0;
	if (r == 0 && o->dump_roles)
		r = write_file(o->dump_roles, cells_dump_roles, &app->grid);
	return r < 0 ? err_set(e, -r, "write the picture") : 0;
}

static void app_done(struct app *app)
{
	/* The run first: its limits hold without us, but nothing may outlive us. The terminal is given
	 * back last, so that the shell's prompt means that all is over. */
	run_keep_ready(NULL);
	app->run = run_free(app->run);
	close_fd(&app->send_fd);
	for (int i = 0; i < VIEW_MAX; i++)
		if (views[i]->done)
			views[i]->done(app);
	playback_close(app);
	script_free(app->script);
	intake_stop(app);
	plain_close(app);
	curses_close(app->term);
	watch_done(&app->watch);
	draft_done(&app->draft);
	prompt_done(&app->prompt);
	buf_done(&app->said);
	cells_done(&app->grid);
	loop_free(app->loop);
}

int app_run(const struct app_options *o)
{
	struct err e = { 0 };
	struct app *app = xcalloc(1, sizeof(*app));
	app->ascii = app->grid.ascii = o->ascii;
	app->color = o->color;
	app->send_fd = -1;
	app->view = app->last_view = &compose_view;
	draft_init(&app->draft, o->ascii);
	watch_init(&app->watch, o->ascii);
	int r = size_and_loop(app, o, &e);
	if (r == 0)
		r = load(app, o, &e);
	if (r == 0 && app->plain) {
		r = plain_session(app, &e);
	} else if (r == 0) {
		app_dirty(app);
		/* Without a terminal and a script there is nothing to wait for. */
		while (r == 0 && !app->quitting && (app->term || app->script))
			r = loop_once(app->loop, -1, &e);
		if (r == 0 && !app->term)
			r = dump(app, o, &e);
	}
	int status = app->status;
	app_done(app);
	free(app);
	if (r < 0) {
		FREE char *text = text_line(e.text, strlen(e.text), o->ascii);
		fprintf(stderr, "belljar: %s\n", text);
		return 125;
	}
	return status;
}
