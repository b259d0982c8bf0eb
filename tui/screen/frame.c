/* SPDX-License-Identifier: MIT */
/*
 * The frame around every screen: tabs, what runs and what isolates it, the sentence, the keys; and the help
 * that is made from the same tables as the keys themselves. A terminal is never too small: rows fall away in
 * a fixed order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "tui/screen/app.h"

#define ROWS_FULL    10 /* below: one status row, the pane, the sentence */
#define COLUMNS_FULL 40
#define ROWS_ROOMY   30 /* from here on the keys may take two rows */

static void draw_tabs(const struct app *app, const struct pane *row)
{
	bool roomy = row->columns >= 73;
	int column = pane_put(row, 0, 1, ROLE_STRONG, roomy ? "belljar" : "");
	for (int i = 0; i < VIEW_MAX; i++) {
		bool front = views[i] == app->view;
		const char *title = roomy || front ? views[i]->title : "";
		column = pane_printf(row, 0, column + 1, front ? ROLE_TAB : ROLE_TEXT,
				     front    ? "[%d %s]"
				     : *title ? "%d %s"
					      : "%d%s",
				     i + 1, title);
	}
	if (row->columns - column > 6)
		pane_put(row, 0, row->columns - 6, ROLE_TEXT, "? help");
}

static const char *run_word(const struct app *app)
{
	const struct watch *w = &app->watch;
	if (w->ended)
		return verdict_badge(w->verdict);
	if (app->stopping)
		return "STOPPING";
	if (app->playback && !playback_at_end(app->playback))
		return app->playback->timer ? "PLAYING" : "PAUSED AT";
	if (!app->run)
		return "INCOMPLETE";
	return w->paused ? "PAUSED" : w->started ? "RUNNING" : "STARTING";
}

/* What isolates it, in words. What is not said by the run itself is a question mark, not a comfort. */
static void isolation_words(const struct watch *w, const struct pane *row, int column)
{
	bool said;
	column = pane_put(row, 0, column, ROLE_TEXT, row->columns >= 100 ? "preset: " : "");
	column = pane_clean(row, 0, column, ROLE_STRONG, w->preset);
	if (w->missing_count) {
		column = pane_put(row, 0, column, ROLE_TEXT, " · ");
		column = pane_printf(row, 0, column, ROLE_EFFECT, "%d NOT ENFORCED", w->missing_count);
	}
	column = pane_put(row, 0, column, ROLE_TEXT, " · kernel ");
	enum fact_state vm = watch_layer(w, "vm", &said);
	if (said && vm == FACT_HOLDS)
		column = pane_put(row, 0, column, ROLE_TEXT, "own");
	else
		column = pane_put(row, 0, column, ROLE_UNKNOWN, w->layer_count ? "SHARED" : "?");
	column = pane_put(row, 0, column, ROLE_TEXT, " · net ");
	enum fact_state net = watch_layer(w, "net-ns", &said);
	if (said && net == FACT_HOLDS)
		pane_put(row, 0, column, ROLE_TEXT, "none");
	else
		pane_put(row, 0, column, ROLE_UNKNOWN, !said ? "?" : net == FACT_PARTLY ? "PARTLY" : "HOST");
}

void run_status(struct app *app, const struct pane *row)
{
	char clock[32];
	const struct watch *w = &app->watch;
	if (watch_is_empty(w) && !app->run) {
		pane_put(row, 0, 1, ROLE_TEXT, "NO RUN YET");
		return;
	}
	bool midway = app->playback && !playback_at_end(app->playback);
	const char *sign = w->paused || (midway && !app->playback->timer) ? "‖"
			   : app->run || midway                           ? "▶"
									  : "■";
	bool uncertain = w->ended ? w->verdict == VERDICT_LOST : !app->run && !midway;
	/* Where columns are few and a wall is missing, that is said before what can be seen elsewhere. */
	bool brief = row->columns < 60 || (row->columns < 100 && w->missing_count);
	enum role role = uncertain ? ROLE_UNKNOWN : ROLE_STRONG;
	int column = pane_put(row, 0, 1, ROLE_TEXT, sign);
	column = pane_put(row, 0, column + 1, role, run_word(app));
	if (w->replayed && !brief)
		column = pane_put(row, 0, column + 1, ROLE_TEXT, "recorded");
	else if (!brief)
		column = pane_printf(row, 0, column + 1, ROLE_TEXT, "#%u", w->number);
	/* A name may be long; the clock and the isolation behind it must stay in sight. */
	struct pane name = pane_cut(row, 0, column + 1, 1, row->columns / 5 + 4);
	int end = pane_clean(&name, 0, 0, ROLE_STRONG, w->title);
	column += 1 + (end < name.columns ? end : name.columns);
	uint64_t t_ns = w->ended ? (uint64_t) (w->wall_s > 0 ? w->wall_s * 1e9 : 0) : w->t_ns;
	if (!(brief && w->ended))
		column = pane_printf(row, 0, column + 1, ROLE_TEXT, "%s",
				     clock_words(t_ns, clock, sizeof(clock)));
	if (w->preset.len > 0)
		isolation_words(w, row, column + 3 + (row->columns >= 100 ? 2 : 0));
}

#define QUIT_COLUMNS 8 /* a person must always see how to get out: kept free for it in the last row */

static bool hint_wanted(const struct app *app, const struct binding *b)
{
	return (b->views & IN(app->view->id)) && b->hint && b->keys[0] != 'q' && !(b->when & ~app_state(app));
}

static int hint_columns(const struct binding *b)
{
	char key[16];
	return (int) strlen(key_spell(b->keys[0], key, sizeof(key))) + 1 + (int) strlen(b->hint);
}

static void draw_hint(const struct pane *row, int column, const struct binding *b)
{
	char key[16];
	column = pane_put(row, 0, column, ROLE_KEY, key_spell(b->keys[0], key, sizeof(key)));
	pane_put(row, 0, column + 1, ROLE_TEXT, b->hint);
}

static int hints_total(const struct app *app)
{
	int total = 1;
	for (const struct binding *b = bindings; b->views; b++)
		total += hint_wanted(app, b) ? hint_columns(b) + 2 : 0;
	return total;
}

static void draw_keys(const struct app *app, const struct pane *keys)
{
	int line = 0, column = 1;
	struct pane row = pane_cut(keys, 0, 0, 1, keys->columns);
	for (const struct binding *b = bindings; b->views; b++) {
		if (!hint_wanted(app, b))
			continue;
		bool last = line == keys->rows - 1;
		int end = keys->columns - 1 - (last ? QUIT_COLUMNS : 0);
		if (column + hint_columns(b) > end && last) {
			pane_put(&row, 0, column < end ? column : end, ROLE_TEXT, "…");
			break;
		}
		if (column + hint_columns(b) > end) {
			row = pane_cut(keys, ++line, 0, 1, keys->columns);
			column = 1;
		}
		draw_hint(&row, column, b);
		column += hint_columns(b) + 2;
	}
	struct pane corner =
		pane_cut(keys, keys->rows - 1, keys->columns - QUIT_COLUMNS + 1, 1, QUIT_COLUMNS);
	draw_hint(&corner, 0, binding_find(app->view->id, 'q'));
}

/* Where nobody sees the presenter's hands. */
static void draw_last_key(const struct app *app, const struct pane *row)
{
	char key[16];
	if (!app->talk || !app->last_key || app->prompt.kind != PROMPT_NONE)
		return;
	const char *name = key_spell(app->last_key, key, sizeof(key));
	pane_printf(row, 0, row->columns - (int) strlen(name) - 3, ROLE_TAB, " %s ", name);
}

static void draw_sentence(struct app *app, const struct pane *row)
{
	if (app->prompt.kind != PROMPT_NONE) {
		prompt_draw(app, row);
		return;
	}
	if (app->said.len > 0) {
		pane_clean(row, 0, 1, app->said_warning ? ROLE_WARN : ROLE_TEXT,
			   clean_scrubbed(app->said.data, app->said.len));
		return;
	}
	struct buf sentence = { 0 };
	if (app->help)
		buf_str(&sentence, "? or Esc closes this help, the arrow keys scroll it.");
	else
		app->view->sentence(app, &sentence);
	pane_clean(row, 0, 1, ROLE_TEXT, clean_scrubbed(sentence.data ? sentence.data : "", sentence.len));
	buf_done(&sentence);
}

/* Help is written onto a sheet as long as it needs; the pane shows the part of it from `top` on. */
struct sheet {
	const struct pane *pane;
	int row;
};

static void sheet_head(struct sheet *s, const char *words)
{
	s->row++;
	pane_put(s->pane, s->row++, 1, ROLE_STRONG, words);
}

static void sheet_line(struct sheet *s, const char *left, const char *right)
{
	int column = pane_put(s->pane, s->row, 2, ROLE_KEY, left);
	pane_put(s->pane, s->row++, column > 21 ? column + 1 : 22, ROLE_TEXT, right);
}

static void sheet_keys(struct sheet *s, enum view_id view, bool everywhere)
{
	for (const struct binding *b = bindings; b->views; b++) {
		char names[64] = "", key[16];
		if (!(b->views & IN(view)) || (b->views == IN_ALL) != everywhere)
			continue;
		for (int i = 0; i < KEYS_MAX && b->keys[i] != K_NONE; i++) {
			size_t len = strlen(names);
			(void) snprintf(names + len, sizeof(names) - len, "%s%s", i ? " " : "",
					key_spell(b->keys[i], key, sizeof(key)));
		}
		sheet_line(s, names, b->help);
	}
}

static void sheet_actions(struct sheet *s, const struct action *actions)
{
	for (const struct action *a = actions; a->name; a++) {
		char name[64];
		(void) snprintf(name, sizeof(name), ":%s%s%s", a->name, a->argument ? " " : "",
				a->argument ? a->argument : "");
		sheet_line(s, name, a->help);
	}
}

static int draw_sheet(const struct app *app, const struct pane *pane, int top)
{
	struct sheet s = { .pane = pane, .row = -top };
	struct pane text = pane_cut(pane, 0, 1, pane->rows, pane->columns - 2);
	s.row += pane_wrapped(&text, s.row, ROLE_TEXT,
			      clean_scrubbed(app->view->means, strlen(app->view->means)));
	sheet_head(&s, "On this screen");
	sheet_keys(&s, app->view->id, false);
	sheet_head(&s, "While a call of the run waits for an answer");
	sheet_keys(&s, VIEW_ASK, false);
	sheet_head(&s, "Everywhere");
	sheet_keys(&s, app->view->id, true);
	sheet_head(&s, "Commands, after :");
	for (size_t n = 0; app_actions(app, n); n++)
		sheet_actions(&s, app_actions(app, n));
	return s.row + top;
}

static void draw_help(struct app *app, const struct pane *body)
{
	char title[60];
	(void) snprintf(title, sizeof(title), "Help: %s", app->view->title);
	struct section box = { .title = title, .rows = -1, .focus = true };
	box_stack(body, &box, 1, BOX_CLOSED);
	/* Measured on an empty pane first, so that scrolling stops at the end. */
	struct pane nowhere = pane_cut(&box.in, 0, 0, 0, box.in.columns);
	int length = draw_sheet(app, &nowhere, 0), last = length > box.in.rows ? length - box.in.rows : 0;
	app->help_top = app->help_top > last ? last : app->help_top;
	(void) draw_sheet(app, &box.in, app->help_top);
}

static void draw_body(struct app *app, const struct pane *body)
{
	if (app->help)
		draw_help(app, body);
	else
		app->view->draw(app, body);
}

static void draw_small(struct app *app, const struct pane *all)
{
	struct pane status = pane_cut(all, 0, 0, 1, all->columns);
	struct pane body = pane_cut(all, 1, 0, all->rows - 2, all->columns);
	struct pane last = pane_cut(all, all->rows - 1, 0, 1, all->columns);
	app->view->status(app, &status);
	if (body.rows > 0)
		draw_body(app, &body);
	if (all->rows > 1 && app_asked(app) && app->prompt.kind == PROMPT_NONE)
		ask_draw(app, &last);
	else if (all->rows > 1)
		draw_sentence(app, &last);
}

void frame_draw(struct app *app)
{
	struct pane all = pane_all(&app->grid);
	if (all.rows < ROWS_FULL || all.columns < COLUMNS_FULL) {
		draw_small(app, &all);
		return;
	}
	int keys_rows = all.rows >= ROWS_ROOMY && hints_total(app) > all.columns - QUIT_COLUMNS ? 2 : 1;
	struct pane tabs = pane_cut(&all, 0, 0, 1, all.columns);
	struct pane status = pane_cut(&all, 1, 0, 1, all.columns);
	int ask_rows = app_asked(app) != NULL;
	struct pane body = pane_cut(&all, 2, 0, all.rows - 3 - keys_rows - ask_rows, all.columns);
	struct pane ask = pane_cut(&all, 2 + body.rows, 0, ask_rows, all.columns);
	struct pane sentence = pane_cut(&all, all.rows - 1 - keys_rows, 0, 1, all.columns);
	struct pane keys = pane_cut(&all, all.rows - keys_rows, 0, keys_rows, all.columns);
	draw_tabs(app, &tabs);
	app->view->status(app, &status);
	draw_body(app, &body);
	draw_keys(app, &keys);
	draw_sentence(app, &sentence);
	draw_last_key(app, &sentence);
	if (ask_rows)
		ask_draw(app, &ask);
}
