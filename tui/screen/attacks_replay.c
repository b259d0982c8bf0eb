/* SPDX-License-Identifier: MIT */
/*
 * Replaying the suite, or a part of it, and keeping what each cell came to.
 */
#include "tui/screen/attacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/screen/spawned.h"

/* The levels that this version has, weakest first: where every person begins to compare. */
static char **levels(void)
{
	static const char *const ladder[] = { "subprocess", "namespaces", "microvm" };
	char **known = preset_names(), **found = NULL;

	for (size_t i = 0; i < ARRAY_LEN(ladder); i++)
		if (strv_has(known, ladder[i]))
			found = strv_add(found, ladder[i]);
	strv_free(known);
	return found;
}

void attacks_make_cells(struct attacks *s)
{
	size_t count = s->manifest ? s->manifest->attack_count * strv_len(s->presets) : 0;

	free(s->cells);
	free(s->states);
	s->cells = xcalloc(count + 1, sizeof(*s->cells));
	s->states = xcalloc(count + 1, sizeof(*s->states));
	s->column = s->told = 0;
}

struct attacks *attacks_state(struct app *app)
{
	struct attacks *s = app->own[VIEW_ATTACKS];
	struct err e;

	if (s)
		return s;
	app->own[VIEW_ATTACKS] = s = xcalloc(1, sizeof(*s));
	s->presets = levels();
	if (manifest_load(NULL, &s->manifest, &e) < 0)
		s->fault = xstrdup(e.text);
	attacks_make_cells(s);
	return s;
}

void attacks_stop(struct app *app)
{
	struct attacks *s = attacks_state(app);

	if (s->run)
		loop_unwatch_fd(app->loop, suite_fd(s->run));
	s->run = suite_free(s->run);
	size_t count = s->manifest ? s->manifest->attack_count * strv_len(s->presets) : 0;
	for (size_t i = 0; i < count; i++)
		if (s->states[i] == CELL_QUEUED || s->states[i] == CELL_RUNNING)
			s->states[i] = CELL_NEVER;
	s->progress[0] = '\0';
	s->told = 0;
	app_dirty(app);
}

void attacks_done(struct app *app)
{
	struct attacks *s = app->own[VIEW_ATTACKS];

	if (!s)
		return;
	attacks_stop(app);
	spawned_free(s->bench);
	buf_done(&s->bench_text);
	reader_done(&s->text);
	manifest_free(s->manifest);
	strv_free(s->presets);
	free(s->fault);
	free(s->cells);
	free(s->states);
	free(s);
	app->own[VIEW_ATTACKS] = NULL;
}

size_t attacks_cell(const struct attacks *s, size_t attack, size_t preset)
{
	return attack * strv_len(s->presets) + preset;
}

/* Where an attack and a preset of the replay stand in the whole. */
static bool place_of(const struct attacks *s, size_t attack, size_t preset, size_t *ret_cell)
{
	const struct manifest *m = suite_manifest(s->run);
	const char *name = m->attacks[attack].name, *level = suite_presets(s->run)[preset];

	for (size_t a = 0; a < s->manifest->attack_count; a++)
		for (size_t p = 0; p < strv_len(s->presets); p++)
			if (strcmp(s->manifest->attacks[a].name, name) == 0 &&
			    strcmp(s->presets[p], level) == 0) {
				*ret_cell = attacks_cell(s, a, p);
				return true;
			}
	return false;
}

static void take(struct app *app, struct attacks *s, const struct suite_msg *msg)
{
	const char *title = suite_manifest(s->run)->attacks[msg->attack].title;
	size_t at;

	if (msg->step == SUITE_CONTROL) {
		snprintf(s->progress, sizeof(s->progress), "Control of %s: does it work without a sandbox?",
			 title);
	} else if (msg->step == SUITE_CONTROLLED && !msg->control_worked) {
		app_warn(app, "Control of %s: %s", title, msg->text);
	} else if (msg->step == SUITE_CELL && place_of(s, msg->attack, msg->preset, &at)) {
		s->states[at] = CELL_RUNNING;
		snprintf(s->progress, sizeof(s->progress), "%s under %s", title,
			 suite_presets(s->run)[msg->preset]);
	} else if (msg->step == SUITE_WAITS) {
		snprintf(s->progress, sizeof(s->progress), "%s under %s: %.100s", title,
			 suite_presets(s->run)[msg->preset], msg->text);
	} else if (msg->step == SUITE_CELL_DONE && place_of(s, msg->attack, msg->preset, &at)) {
		s->states[at] = CELL_KNOWN;
		s->cells[at] = msg->cell;
		s->done++;
		s->told = 0;
	} else if (msg->step == SUITE_ERROR) {
		app_warn(app, "The suite ended: %s", msg->text);
	}
}

static void on_message(void *arg, uint32_t events)
{
	struct app *app = arg;
	struct attacks *s = attacks_state(app);
	struct suite_msg msg;
	int r;

	(void) events;
	while ((r = suite_next(s->run, &msg)) > 0)
		take(app, s, &msg);
	if (r < 0)
		attacks_stop(app);
	app_dirty(app);
}

void attacks_replay(struct app *app, const char *attack, const char *preset)
{
	struct attacks *s = attacks_state(app);
	const char *const only[] = { attack, NULL }, *const one[] = { preset, NULL };
	struct suite_want want = { .presets = preset      ? one
					      : s->chosen ? (const char *const *) s->presets
							  : NULL,
				   .only = attack ? only : NULL };
	struct err e;

	if (app_refuses(app))
		return;
	int r = suite_start(&want, &s->run, &e);
	if (r == 0 && (r = loop_watch_fd(app->loop, suite_fd(s->run), EPOLLIN, on_message, app, &e)) < 0)
		attacks_stop(app);
	if (r < 0) {
		app_warn(app, "Not run: %s", e.text);
		return;
	}
	s->done = s->wanted = 0;
	for (size_t a = 0; a < suite_manifest(s->run)->attack_count; a++)
		for (size_t p = 0; suite_presets(s->run)[p]; p++) {
			size_t at;
			if (place_of(s, a, p, &at))
				s->states[at] = CELL_QUEUED;
			s->wanted++;
		}
	s->told = 0;
	app_dirty(app);
}
