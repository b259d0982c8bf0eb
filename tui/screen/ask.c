/* SPDX-License-Identifier: MIT */
/*
 * Calls of the run that stand still until a person answers: one row above the sentence, on every screen. Refusing takes
 * one key at any time; a key that lets something through counts only once the question could be read. Beside the
 * answers: writing what was refused into a preset of one's own, from here or from the chosen event.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "core/supervise/supervise.h"
#include "tui/screen/app.h"
#include "tui/screen/grant.h"

#define READ_NS     (500 * NS_PER_MS) /* sooner, a key was meant for what stood there before */
#define WORDS_LEAST 24

/* Only a run that lives can be answered: a recording shows its questions as events. */
const struct asked *app_asked(const struct app *app)
{
	return app->run && app->watch.asked_count ? &app->watch.asked[0] : NULL;
}

bool ask_key(struct app *app, uint32_t key)
{
	const struct asked *a = app_asked(app);
	const struct binding *b = a ? binding_find(VIEW_ASK, key) : NULL;
	if (!b)
		return false;
	bool read = app->asked_id == a->id && now_ns() >= app->asked_ns + READ_NS;
	if (!read && str_starts(b->command, "allow"))
		app_say(app, "This question has only just come: read it, then press again.");
	else
		app_command(app, b->command);
	return true;
}

/* Whether a key means something for this call. */
static bool key_wanted(const struct asked *a, const struct binding *b)
{
	return (b->views & IN(VIEW_ASK)) && (a->allowable || !str_starts(b->command, "allow"));
}

/* The keys, as many as there is room for; only measured where the pane has no rows. Returns their columns. */
static int put_keys(const struct asked *a, const struct pane *keys, int room)
{
	char key[16];
	int column = 0;
	for (const struct binding *b = bindings; b->views; b++) {
		if (!key_wanted(a, b)) /* others may have no hint */
			continue;
		const char *name = key_spell(b->keys[0], key, sizeof(key));
		int width = (int) (strlen(name) + strlen(b->hint)) + 3;
		if (column + width > room)
			continue;
		int at = pane_put(keys, 0, column + 2, ROLE_KEY, name);
		pane_put(keys, 0, at + 1, ROLE_TEXT, b->hint);
		column += width;
	}
	return column;
}

void ask_draw(struct app *app, const struct pane *row)
{
	const struct asked *a = app_asked(app);
	const struct watch *w = &app->watch;
	if (app->asked_id != a->id) {
		app->asked_id = a->id;
		app->asked_ns = now_ns();
	}
	uint64_t left = a->until_ns > w->t_ns ? (a->until_ns - w->t_ns + NS_PER_S - 1) / NS_PER_S : 0;
	int column = pane_put(row, 0, 1, ROLE_EFFECT, "ASK");
	if (w->asked_count > 1)
		column = pane_printf(row, 0, column + 1, ROLE_TEXT, "1 of %d", w->asked_count);
	column = pane_printf(row, 0, column + 1, ROLE_WARN, "%llu s", (unsigned long long) left);
	int room = row->columns - 1 - column - WORDS_LEAST;
	struct pane nowhere = pane_cut(row, 0, 0, 0, row->columns);
	int width = put_keys(a, &nowhere, room);
	struct pane words = pane_cut(row, 0, column + 1, 1, row->columns - 2 - column - width);
	struct pane keys = pane_cut(row, 0, row->columns - 1 - width, 1, width);
	pane_clean(&words, 0, 0, ROLE_STRONG, a->words);
	(void) put_keys(a, &keys, room);
}

/* ---- what can be done ---- */

static void answer(struct app *app, enum decision decision, const char *words)
{
	const struct asked *a = app_asked(app);
	if (!a) {
		app_say(app, "Nothing waits for an answer.");
		return;
	}
	if (decision != DECIDE_DENY && !a->allowable) {
		app_warn(app,
			 "%s cannot be let through: what it means lies in memory, which may change "
			 "behind the answer.",
			 a->call);
		return;
	}
	int r = run_answer(app->run, a->id, (int) decision);
	if (r < 0) {
		app_warn(app, "The answer did not arrive: %s. At its deadline the call is refused.",
			 strerror(-r));
		return;
	}
	app_say(app, "%s %s", a->call, words);
	watch_answered(&app->watch, a->id);
}

static void deny(struct app *app, const char *argument)
{
	(void) argument;
	answer(app, DECIDE_DENY, "is refused.");
}

static void allow_once(struct app *app, const char *argument)
{
	(void) argument;
	answer(app, DECIDE_ONCE, "goes on, this once; the kernel may still say no.");
}

static void allow_run(struct app *app, const char *argument)
{
	(void) argument;
	answer(app, DECIDE_RUN,
	       "goes on, and so does each like it in this run; the kernel may still say no.");
}

/* What a preset would have to give for this event; false: it was said why none can. */
static bool grant_of(struct app *app, const struct group *g, struct preset_grant *ret)
{
	if (!outcome_stopped(g->outcome)) {
		app_say(app, "Nothing was refused here: there is nothing to allow.");
		return false;
	}
	*ret = (struct preset_grant){ .kind = GRANT_NETWORK };
	if (g->type == EVENT_DENIED && g->call.len)
		*ret = (struct preset_grant){ GRANT_CALL, g->call.text };
	else if (g->type == EVENT_FILE && g->path)
		*ret = (struct preset_grant){ GRANT_PATH, g->path };
	else if (g->type != EVENT_NETWORK) {
		app_say(app, "No preset can allow this.");
		return false;
	}
	if (ret->kind == GRANT_NETWORK && app->warned_of != g->hash) {
		app->warned_of = g->hash;
		app_warn(app, "This gives a run ALL of this machine's network, its own services too. "
			      "Once more writes it.");
		return false;
	}
	return true;
}

static void write_preset(struct app *app, const char *argument)
{
	const struct asked *a = app_asked(app);
	const struct group *g = !a && app->view == &events_view ? events_chosen(app) : NULL;
	struct preset_grant grant = { GRANT_CALL, a ? a->call : NULL };
	struct granted done;
	struct err e;
	if (!a && !g)
		app_say(app, "No call waits; on Events it is the chosen row that is written.");
	if ((!a && !g) || (g && !grant_of(app, g, &grant)))
		return;
	app->warned_of = 0;
	if (grant_write(&grant, app->watch.preset.len ? app->watch.preset.text : "", argument, &done, &e) <
	    0) {
		app_warn(app, "Not written: %s", e.text);
		return;
	}
	const char *at = getenv("HOME");
	size_t home = at && *at && str_starts(done.path, at) ? strlen(at) : 0;
	draft_presets_again(&app->draft);
	if (draft_preset(&app->draft, done.name, &e) < 0)
		app_warn(app, "%s", e.text);
	else
		app_say(app, "Next run: %s, %s%s.%s", done.name, home ? "~" : "", done.path + home,
			a ? " This call still waits." : "");
	granted_done(&done);
}

/* clang-format off */
const struct action ask_actions[] = {
	{ "deny", NULL, "refuse the call that waits", deny },
	{ "allow-once", NULL, "let this one call through", allow_once },
	{ "allow-run", NULL, "let it and its like through, in this run", allow_run },
	{ "write-preset", "[NAME]", "allow what waits, or the chosen event, in a preset of your own", write_preset },
	{ .name = NULL },
};
/* clang-format on */
