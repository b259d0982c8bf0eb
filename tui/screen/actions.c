/* SPDX-License-Identifier: MIT */
/*
 * What can be done on every screen: one table, used by keys, the `:` line and scripts alike. Whatever acts
 * on the run says in the sentence row what it did.
 */
#include <errno.h>
#include <fcntl.h>
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

#define GRACE_NS (2 * NS_PER_S)

void app_quit(struct app *app, int status)
{
	app->quitting = true;
	app->status = status;
}

static void quit(struct app *app, const char *argument)
{
	if (app_busy(app) && strcmp(argument, "now") != 0)
		prompt_open(app, PROMPT_QUIT, "");
	else
		app_quit(app, 0);
}

static void run_over(struct app *app)
{
	loop_unwatch_fd(app->loop, run_fd(app->run));
	loop_cancel(app->loop, app->tick_timer);
	app->tick_timer = 0;
	app->run = run_free(app->run);
	close_fd(&app->send_fd);
	app->stopping = false;
	if (!app->said_warning) /* "Stopping …", "PAUSED …": what was said of a living run is so no more */
		app->said.len = 0;
	app_dirty(app);
}

static void on_run(void *arg, uint32_t epoll_events)
{
	struct app *app = arg;
	(void) epoll_events;
	for (uint64_t begin_ns = now_ns(); now_ns() - begin_ns < ROUND_NS;) {
		struct event *ev;
		int r = run_next(app->run, &ev);
		if (r == 0)
			return;
		if (r < 0) {
			run_over(app);
			return;
		}
		bool last = ev->type == EVENT_EXIT;
		if (ev->type == EVENT_START) /* its clock begins here, not with what was waited for */
			app->run_began_ns = now_ns() - ev->t_ns;
		app_event(app, ev);
		event_free(ev);
		if (last) {
			run_over(app);
			return;
		}
	}
}

static void on_tick(void *arg)
{
	struct app *app = arg;
	app->watch.t_ns = now_ns() - app->run_began_ns;
	if (!(app->view == &run_view && app->at_run.frozen) || app_asked(app))
		app_dirty(app);
}

static void begin_watching(struct app *app)
{
	struct err e;
	playback_close(app);
	watch_done(&app->watch);
	watch_init(&app->watch, app->ascii);
	app->watch.number = ++app->run_number;
	app->at_run = (struct run_state){ 0 };
	app->at_events.selected = app->at_events.top = 0;
	app->run_began_ns = now_ns();
	int id = loop_timer(app->loop, 100 * NS_PER_MS, 100 * NS_PER_MS, on_tick, app, &e);
	app->tick_timer = id > 0 ? id : 0;
}

bool app_start(struct app *app, struct launch *l)
{
	struct err e;

	if (app_refuses(app)) {
		close_fd(&l->stdin_fd);
		launch_free(l);
		return false;
	}
	l->answers = true;
	int r = send_open(app, l, &e);
	if (r == 0)
		r = run_start(l, &app->run, &e);
	close_fd(&l->stdin_fd);
	launch_free(l);
	if (r < 0)
		close_fd(&app->send_fd);
	if (r == 0) {
		begin_watching(app);
		r = loop_watch_fd(app->loop, run_fd(app->run), EPOLLIN, on_run, app, &e);
		if (r < 0)
			run_over(app);
	}
	if (r < 0)
		app_warn(app, "Not run: %s", e.text);
	return r == 0;
}

static void run(struct app *app, const char *argument)
{
	struct err e;
	struct launch *l = NULL;

	(void) argument;
	if (draft_launch(&app->draft, &l, &e) < 0)
		app_warn(app, "Not run: %s", e.text);
	else if (app_start(app, l))
		app_show(app, &run_view);
}

void app_nothing_runs(struct app *app)
{
	if (app_refuses(app))
		return;
	app->interrupted = true;
	app_say(app,
		app->plain ? "Nothing runs. quit leaves." : "Nothing runs. q leaves; so does a second ^C.");
}

static void stop(struct app *app, const char *argument)
{
	static const char waits[] = "Stopping: it ends as soon as what it waits for is done.";
	(void) argument;
	if (!app->run) {
		app_nothing_runs(app);
	} else if (app->stopping) {
		(void) run_stop(app->run, 0);
		app_say(app, "%s", app->watch.started ? "Killed." : waits);
	} else {
		(void) run_stop(app->run, GRACE_NS);
		app->stopping = true;
		app_say(app, "%s",
			app->watch.started ? "Stopping: SIGTERM now, SIGKILL in 2 s. ^C again kills at once."
					   : waits);
	}
}

static void kill_now(struct app *app, const char *argument)
{
	(void) argument;
	if (app->run)
		(void) run_stop(app->run, 0);
	app_say(app, app->run ? "Killed." : "Nothing runs.");
}

static void pause_run(struct app *app, const char *argument)
{
	(void) argument;
	if (!app->run) {
		app_say(app, "Nothing runs.");
		return;
	}
	if (!app->watch.started) {
		app_warn(app, "Nothing runs yet that could stand still: the run is being made ready");
		return;
	}
	int r = run_pause(app->run, !app->watch.paused);
	if (r < 0) {
		app_warn(app, "The run cannot be paused: %s", strerror(-r));
		return;
	}
	app->watch.paused = !app->watch.paused;
	app_say(app, app->watch.paused ? "The RUN is paused: its processes stand still, its clock goes on. "
					 "The same again lets it "
					 "go on."
				       : "The run goes on.");
}

static void screen(struct app *app, const char *argument)
{
	uint64_t number;
	if (strcmp(argument, "-") == 0) {
		app_show(app, app->last_view);
		return;
	}
	for (int i = 0; i < VIEW_MAX; i++)
		if ((str_to_u64(argument, &number) == 0 && number == (uint64_t) i + 1) ||
		    strcasecmp(argument, views[i]->title) == 0) {
			app_show(app, views[i]);
			return;
		}
	app_warn(app, "screen takes 1 to %d, a name, or -.", VIEW_MAX);
}

/* By name, or by number in the list of presets. */
static int preset_by(struct app *app, const char *argument, struct err *e)
{
	struct draft *s = &app->draft;
	uint64_t number;
	if (!strv_has(s->presets, argument) && str_to_u64(argument, &number) == 0 && number >= 1 &&
	    number <= strv_len(s->presets))
		argument = s->presets[number - 1];
	return draft_preset(s, argument, e);
}

static void preset(struct app *app, const char *argument)
{
	struct err e;
	if (!*argument)
		draft_preset_next(&app->draft);
	else if (preset_by(app, argument, &e) < 0) {
		app_warn(app, "%s", e.text);
		return;
	}
	if (app->draft.policy)
		app_say(app, "The next run takes %s: %s.", app->draft.presets[app->draft.preset],
			app->draft.policy->summary ? app->draft.policy->summary : "no summary");
}

static void language(struct app *app, const char *argument)
{
	struct err e;
	if (app->draft.code.len == 0)
		app_warn(app, "Nothing is staged.");
	else if (draft_language(&app->draft, *argument ? argument : NULL, &e) < 0)
		app_warn(app, "%s", e.text);
	else
		app_say(app, "It will run as %s.", app->draft.chosen->title);
}

static void open_file(struct app *app, const char *argument)
{
	struct err e;
	if (!*argument) {
		prompt_open(app, PROMPT_COMMAND, "open ");
		return;
	}
	intake_stop(app);
	if (draft_open(&app->draft, argument, &e) < 0) {
		app_warn(app, "%s", e.text);
		return;
	}
	app->compose = (struct compose_state){ 0 };
	app_show(app, &compose_view);
	if (app->plain)
		plain_put_staged(app);
}

static void find(struct app *app, const char *argument)
{
	if (!*argument) {
		prompt_open(app, PROMPT_FIND, "");
		return;
	}
	(void) snprintf(app->find, sizeof(app->find), "%s", argument);
	if (app->plain)
		plain_find(app, argument);
	else if (!app->view->find || !app->view->find(app, app->find, false))
		app_warn(app, "Not found: %s", app->find);
}

static void find_again(struct app *app, bool back)
{
	if (!*app->find)
		prompt_open(app, PROMPT_FIND, "");
	else if (!app->view->find || !app->view->find(app, app->find, back))
		app_warn(app, "No more: %s", app->find);
}

static void find_next(struct app *app, const char *argument)
{
	(void) argument;
	find_again(app, false);
}

static void find_back(struct app *app, const char *argument)
{
	(void) argument;
	find_again(app, true);
}

static void command(struct app *app, const char *argument)
{
	prompt_open(app, PROMPT_COMMAND, argument);
}

static void talk(struct app *app, const char *argument)
{
	(void) argument;
	app->talk = !app->talk;
	app_say(app, app->talk ? "TALK: few things, wide apart; the last key stands below. T ends it."
			       : "All panes again.");
}

static void help(struct app *app, const char *argument)
{
	(void) argument;
	if (app->plain) {
		plain_help(app);
		return;
	}
	app->help = !app->help;
	app->help_top = 0;
}

static void back(struct app *app, const char *argument)
{
	(void) argument;
	if (app->help)
		app->help = false;
	else if (!app->view->back || !app->view->back(app))
		app_say(app, "Nothing is open here. q leaves, 1 to %d are the screens.", VIEW_MAX);
}

static void suspend(struct app *app, const char *argument)
{
	(void) argument;
	if (app->plain)
		plain_suspend(app);
	else if (app->term)
		curses_suspend(app->term);
}

static void more(struct app *app, const char *argument)
{
	(void) argument;
	if (app->plain)
		plain_more(app);
	else
		app->view->move(app, MOVE_PAGE_DOWN);
}

static void redraw(struct app *app, const char *argument)
{
	(void) argument;
	if (app->term)
		curses_redraw(app->term);
}

static void move(struct app *app, const char *argument)
{
	static const char *const names[MOVE_MAX] = { "up",        "down",    "left",      "right", "page-up",
						     "page-down", "half-up", "half-down", "top",   "bottom" };
	for (int i = 0; i < MOVE_MAX; i++) {
		if (strcmp(argument, names[i]) != 0)
			continue;
		if (app->help) /* frame.c knows how long it is, and stops at the end */
			app->help_top = (int) scrolled((size_t) app->help_top, (size_t) app->grid.rows / 2,
						       200, (enum move) i);
		else
			app->view->move(app, (enum move) i);
		return;
	}
	app_warn(app,
		 "move takes up, down, left, right, page-up, page-down, half-up, half-down, top or bottom.");
}

static void save_display(struct app *app, const char *argument)
{
	struct buf text = { 0 };
	struct err e;
	CLOSE_FD int fd = open(argument, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	app_draw(app);
	cells_dump(&app->grid, &text);
	int r = fd < 0 ? -errno : write_all(fd, text.data, text.len);
	buf_done(&text);
	if (r < 0) {
		(void) err_set(&e, -r, "save the display to %s", argument);
		app_warn(app, "%s", e.text);
	} else {
		app_say(app, "The display is in %s.", argument);
	}
}

/* clang-format off */
const struct action common_actions[] = {
	{ "run", NULL, "run the staged code", run },
	{ "stop", NULL, "stop the run: SIGTERM, after 2 s SIGKILL", stop },
	{ "kill", NULL, "kill the run now", kill_now },
	{ "pause", NULL, "pause the run, or let it go on", pause_run },
	{ "preset", "[NAME]", "choose the preset of the next run", preset },
	{ "language", "[NAME]", "what the staged code is written in", language },
	{ "open", "[FILE]", "stage a file", open_file },
	{ "screen", "1..7|NAME|-", "go to a screen", screen },
	{ "find", "[TEXT]", "find a text", find },
	{ "find-next", NULL, "the next place where it stands", find_next },
	{ "find-back", NULL, "the place before", find_back },
	{ "more", NULL, "what is below, a page of it", more },
	{ "move", "WHERE", "scroll: up, page-down, top …", move },
	{ "command", "[TEXT]", "open this line", command },
	{ "talk", NULL, "for an audience: less, wider apart, the last key in view", talk },
	{ "help", NULL, "keys and commands", help },
	{ "back", NULL, "close what is open", back },
	{ "suspend", NULL, "back to the shell; the run goes on", suspend },
	{ "redraw", NULL, "paint the whole screen again", redraw },
	{ "save-display", "FILE", "write this picture to a file, as text", save_display },
	{ "quit", "[now]", "leave; asks when a run lives, unless now", quit },
	{ .name = NULL },
};
/* clang-format on */
