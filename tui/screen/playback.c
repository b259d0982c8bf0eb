/* SPDX-License-Identifier: MIT */
/*
 * Playing a recording. Time goes on in steps; at each the events that are due enter. Going back begins anew and runs up
 * to the moment at once: what the screens show can only be learned in order.
 */
#include "tui/screen/playback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/screen/app.h"

#define STEP_NS  (50 * NS_PER_MS)
#define SCRUB_NS (2 * NS_PER_S) /* one press; of a short recording a twentieth */

static const struct {
	unsigned times, parts; /* the pace is times / parts */
	const char *name;
} speeds[] = { { 1, 4, "x1/4" }, { 1, 2, "x1/2" }, { 1, 1, "x1" },  { 2, 1, "x2" },
	       { 4, 1, "x4" },   { 8, 1, "x8" },   { 16, 1, "x16" } };
#define SPEED_ONE 2

bool playback_at_end(const struct playback *p)
{
	return p->next >= p->recording->count;
}

uint64_t playback_length(const struct playback *p)
{
	const struct recording *r = p->recording;
	return r->count ? r->events[r->count - 1]->t_ns : 0;
}

const char *playback_speed(const struct playback *p)
{
	return speeds[p->speed].name;
}

static void stop_timer(struct app *app)
{
	loop_cancel(app->loop, app->playback->timer);
	app->playback->timer = 0;
}

/* How many of the first events tell of what was waited for before the start: their time is no part of the run's. */
static size_t waits_before_start(const struct recording *r)
{
	size_t i = 0;

	while (i < r->count && r->events[i]->type == EVENT_PROGRESS)
		i++;
	return i < r->count && r->events[i]->type == EVENT_START ? i : 0;
}

static bool is_due(const struct playback *p, uint64_t t_ns)
{
	return p->next < p->waits || p->recording->events[p->next]->t_ns <= t_ns;
}

static void show_until(struct app *app, uint64_t t_ns)
{
	struct playback *p = app->playback;

	while (!playback_at_end(p) && is_due(p, t_ns))
		app_event(app, p->recording->events[p->next++]);
	p->t_ns = t_ns;
	if (!app->watch.ended)
		app->watch.t_ns = t_ns; /* the clock goes on between events */
	app_dirty(app);
}

static void begin_anew(struct app *app)
{
	watch_done(&app->watch);
	watch_init(&app->watch, app->ascii);
	app->watch.replayed = true;
	app->playback->next = 0;
}

void playback_seek(struct app *app, uint64_t t_ns)
{
	struct playback *p = app->playback;
	uint64_t length = playback_length(p);

	t_ns = t_ns > length ? length : t_ns;
	if (t_ns < p->t_ns)
		begin_anew(app);
	show_until(app, t_ns);
}

static void on_step(void *arg)
{
	struct app *app = arg;
	struct playback *p = app->playback;

	show_until(app, p->t_ns + STEP_NS * speeds[p->speed].times / speeds[p->speed].parts);
	if (!playback_at_end(p))
		return;
	stop_timer(app);
	p->t_ns = playback_length(p);
	app_say(app, "The end of the recording.");
}

/* ---- opening ---- */

int playback_open(struct app *app, const char *path, struct err *e)
{
	struct recording *r;
	int result = recording_read(path, &r, e);

	if (result < 0)
		return result;
	playback_close(app);
	app->playback = xcalloc(1, sizeof(*app->playback));
	app->playback->recording = r;
	app->playback->waits = waits_before_start(r);
	app->playback->speed = SPEED_ONE;
	begin_anew(app);
	show_until(app, playback_length(app->playback));
	if (r->code &&
	    draft_set(&app->draft, r->title ? r->title : "recorded", r->code, r->code_len, NULL, e) == 0 &&
	    r->language)
		(void) draft_language(&app->draft, r->language, e);
	if (r->damage)
		app_warn(app, "%s", r->damage);
	return 0;
}

void playback_close(struct app *app)
{
	if (!app->playback)
		return;
	stop_timer(app);
	recording_free(app->playback->recording);
	free(take_ptr(&app->playback));
}

/* ---- what can be done ---- */

static bool playing(struct app *app)
{
	if (!app->playback)
		app_say(app, "No recording is open. `belljar replay FILE`, or :replay FILE.");
	return app->playback != NULL;
}

static void say_where(struct app *app)
{
	char at[32], of[32];
	struct playback *p = app->playback;

	app_say(app, "At %s of %s.", clock_words(p->t_ns, at, sizeof(at)),
		clock_words(playback_length(p), of, sizeof(of)));
}

static void play(struct app *app, const char *argument)
{
	struct playback *p = app->playback;
	struct err e;

	(void) argument;
	if (!p) { /* the key is the one that turns pages elsewhere */
		app->view->move(app, MOVE_PAGE_DOWN);
		return;
	}
	if (p->timer) {
		stop_timer(app);
		say_where(app);
		return;
	}
	if (playback_at_end(p))
		playback_seek(app, 0);
	int id = loop_timer(app->loop, STEP_NS, STEP_NS, on_step, app, &e);
	p->timer = id > 0 ? id : 0;
}

static void set_speed(struct app *app, const char *argument)
{
	struct playback *p = app->playback;

	unsigned i = 0;

	if (!playing(app))
		return;
	while (i < ARRAY_LEN(speeds) && strcmp(speeds[i].name + (argument[0] == 'x' ? 0 : 1), argument) != 0)
		i++;
	if (i < ARRAY_LEN(speeds)) {
		p->speed = i;
	} else if (strcmp(argument, "+") == 0) {
		p->speed += p->speed + 1 < ARRAY_LEN(speeds);
	} else if (strcmp(argument, "-") == 0) {
		p->speed -= p->speed > 0;
	} else {
		app_warn(app, "speed takes + or -, or one of x1/4 x1/2 x1 x2 x4 x8 x16.");
		return;
	}
	app_say(app, "Speed %s.", playback_speed(p));
}

static void scrub(struct app *app, const char *argument)
{
	struct playback *p = app->playback;
	uint64_t at_ns;

	if (!playing(app))
		return;
	uint64_t length = playback_length(p), step = length / 20 < SCRUB_NS ? length / 20 : SCRUB_NS;
	if (strcmp(argument, "+") == 0)
		playback_seek(app, p->t_ns + step);
	else if (strcmp(argument, "-") == 0)
		playback_seek(app, p->t_ns > step ? p->t_ns - step : 0);
	else if (strcmp(argument, "begin") == 0)
		playback_seek(app, 0);
	else if (strcmp(argument, "end") == 0)
		playback_seek(app, length);
	else if (limit_parse(LIMIT_WALL, argument, &at_ns, NULL) == 0)
		playback_seek(app, at_ns);
	else {
		app_warn(app, "scrub takes + - begin end, or a time: 1.5s");
		return;
	}
	say_where(app);
}

static bool is_denial(const struct event *ev)
{
	return outcome_stopped(ev->outcome) || ev->type == EVENT_LIMIT || ev->type == EVENT_ALERT;
}

/* The moment of the nearest event after, or before, this one that says that something was refused. */
static void denial(struct app *app, const char *argument)
{
	struct playback *p = app->playback;
	bool back = strcmp(argument, "-") == 0;
	const struct event *found = NULL;

	if (!playing(app))
		return;
	if (!back && strcmp(argument, "+") != 0) {
		app_warn(app, "denial takes + for the next refusal, or - for the one before.");
		return;
	}
	for (size_t i = 0; i < p->recording->count; i++) {
		const struct event *ev = p->recording->events[i];
		if (!is_denial(ev))
			continue;
		if (back && ev->t_ns < p->t_ns)
			found = ev;
		if (!back && ev->t_ns > p->t_ns && !found)
			found = ev;
	}
	if (!found) {
		app_say(app, back ? "Nothing was refused before this." : "Nothing is refused after this.");
		return;
	}
	stop_timer(app);
	struct buf words = { 0 };
	playback_seek(app, found->t_ns);
	event_line(found, app->ascii, &words);
	app_say(app, "%s", words.data);
	buf_done(&words);
}

static void replay(struct app *app, const char *argument)
{
	struct err e;

	if (!*argument)
		prompt_open(app, PROMPT_COMMAND, "replay ");
	else if (app->run)
		app_warn(app, "A run lives: ^C stops it.");
	else if (playback_open(app, argument, &e) < 0)
		app_warn(app, "%s", e.text);
	else
		app_show(app, &run_view);
}

/* clang-format off */
const struct action playback_actions[] = {
	{ "replay", "[FILE]", "open a recording", replay },
	{ "play", NULL, "a recording: play, or pause", play },
	{ "speed", "+|-|x2", "a recording: faster, slower", set_speed },
	{ "scrub", "+|-|begin|end|TIME", "a recording: to another moment", scrub },
	{ "denial", "+|-", "a recording: to the next refusal, or the one before", denial },
	{ .name = NULL },
};
/* clang-format on */
