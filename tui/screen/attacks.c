/* SPDX-License-Identifier: MIT */
/*
 * Attacks: the suite against each level, as a matrix. A cell is replayed, a row, or all; each says what stopped it and
 * how that is known, or that it was not run, which is never a pass. What a start costs at each level stands beside, so
 * that stopping power and price are read together.
 */
#include "tui/screen/attacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/screen/spawned.h"

#define WIDE          110
#define CELL_COLUMNS  15
#define EVIDENCE_ROWS 8
#define LABEL_COLUMNS 11 /* of the evidence */

static size_t chosen(const struct attacks *s)
{
	return attacks_cell(s, s->pick.selected, s->column);
}

/* ---- the text beside the matrix ---- */

static void tell_cell(const struct attacks *s, struct buf *out)
{
	const struct attack *a = &s->manifest->attacks[s->pick.selected];
	const struct cell *c = &s->cells[chosen(s)];
	const char *preset = s->presets[s->column];
	enum cell_verdict expected = manifest_expects(a, preset);

	buf_printf(out, "#%s under %s\n%-*s%s\n", a->title, preset, LABEL_COLUMNS, "tries", a->summary);
	if (s->states[chosen(s)] != CELL_KNOWN) {
		buf_printf(out, "%-*sNot run. That is no pass: r runs it.\n", LABEL_COLUMNS, "result");
		return;
	}
	buf_printf(out, "%-*s%s", LABEL_COLUMNS, "result", cell_verdict_name(c->verdict));
	if (c->layer != LAYER_NONE)
		buf_printf(out, " by %s: %s", layer_name(c->layer), layer_words(c->layer));
	buf_str(out, "\n");
	if (*c->reason)
		buf_printf(out, "%-*s%s\n", LABEL_COLUMNS, "why", c->reason);
	if (*c->evidence)
		buf_printf(out, "%-*s%s\n", LABEL_COLUMNS, "evidence", c->evidence);
	buf_printf(out, "%-*s%s\n", LABEL_COLUMNS, "expected",
		   expected == CELL_VERDICT_MAX ? "nothing is said of this preset"
						: cell_verdict_name(expected));
	if (*c->recording)
		buf_printf(out, "%-*so opens %s\n", LABEL_COLUMNS, "recording", c->recording);
	buf_printf(out, "%-*sbelljar attack --only %s -p %s\n", LABEL_COLUMNS, "again", a->name, preset);
}

static void tell(struct app *app)
{
	struct attacks *s = attacks_state(app);
	struct buf out = { 0 };

	if (s->told == chosen(s) + 1)
		return;
	if (s->costs && s->bench_text.len)
		buf_add(&out, s->bench_text.data, s->bench_text.len);
	else if (s->costs)
		buf_str(&out, "Measuring: a few starts at each level, beside a bare one.\n");
	else if (s->manifest && s->manifest->attack_count && strv_len(s->presets))
		tell_cell(s, &out);
	reader_set(&s->text, out.data ? out.data : "", out.len, app->ascii);
	s->told = chosen(s) + 1;
	buf_done(&out);
}

/* ---- drawing ---- */

/* Only what has an effect on the host, or is not known, stands out: a badge on every "stopped" would drown those. */
static void draw_cell(const struct attacks *s, const struct pane *at, size_t attack, size_t preset,
		      bool selected)
{
	static const enum role roles[CELL_VERDICT_MAX] = { [CELL_STOPPED] = ROLE_TEXT,
							   [CELL_SUCCEEDED] = ROLE_EFFECT,
							   [CELL_CONTAINED] = ROLE_TEXT,
							   [CELL_NOT_RUN] = ROLE_UNKNOWN,
							   [CELL_INCONCLUSIVE] = ROLE_UNKNOWN };
	size_t i = attacks_cell(s, attack, preset);
	const struct cell *c = &s->cells[i];
	bool known = s->states[i] == CELL_KNOWN;
	const char *word = known                          ? cell_verdict_name(c->verdict)
			   : s->states[i] == CELL_RUNNING ? "running"
			   : s->states[i] == CELL_QUEUED  ? "queued"
							  : "not run";
	enum role role = known ? roles[c->verdict] : s->states[i] == CELL_NEVER ? ROLE_UNKNOWN : ROLE_NUMBER;
	bool wrong = known && c->expected != CELL_VERDICT_MAX && !cell_as_expected(c);

	pane_put(at, 0, 0, selected ? ROLE_SELECTED : ROLE_TEXT, selected ? ">" : " ");
	pane_put(at, 0, 1, wrong ? ROLE_EFFECT : ROLE_TEXT, wrong ? "!" : "");
	pane_put(at, 0, 2, role, word);
	if (selected)
		pane_cursor(at, 0, 0);
}

static int title_columns(const struct attacks *s, int columns)
{
	int room = columns - 5 - (int) strv_len(s->presets) * CELL_COLUMNS;
	return room > 34 ? 34 : room < 8 ? 8 : room;
}

static void draw_total(const struct attacks *s, const struct pane *row, int at, size_t preset)
{
	size_t stopped = 0, known = 0;

	for (size_t a = 0; a < s->manifest->attack_count; a++) {
		size_t i = attacks_cell(s, a, preset);
		known += s->states[i] == CELL_KNOWN;
		stopped += s->states[i] == CELL_KNOWN &&
			   (s->cells[i].verdict == CELL_STOPPED || s->cells[i].verdict == CELL_CONTAINED);
	}
	struct pane cell = pane_cut(row, 0, at, 1, CELL_COLUMNS);
	if (known == 0)
		pane_put(&cell, 0, 2, ROLE_UNKNOWN, "?");
	else
		pane_printf(&cell, 0, 2, ROLE_STRONG, "%zu of %zu", stopped, known);
}

static void draw_matrix(struct app *app, const struct pane *pane)
{
	struct attacks *s = attacks_state(app);
	int title = title_columns(s, pane->columns), row = 0;

	for (size_t p = 0; p < strv_len(s->presets); p++) {
		struct pane head = pane_cut(pane, 0, 5 + title + (int) p * CELL_COLUMNS, 1, CELL_COLUMNS - 1);
		struct clean name = clean_str(s->presets[p], app->ascii);
		pane_clean(&head, 0, 2, ROLE_TAB, name);
		clean_free(&name);
	}
	pick_fit(&s->pick, pane->rows - 2, s->manifest->attack_count);
	for (size_t a = s->pick.top;
	     a < s->pick.count && (row = 1 + (int) (a - s->pick.top)) < pane->rows - 1; a++) {
		struct pane line = pane_cut(pane, row, 0, 1, pane->columns);
		struct pane words = pane_cut(&line, 0, 4, 1, title);
		struct clean name = clean_str(s->manifest->attacks[a].title, app->ascii);
		bool selected = a == s->pick.selected;
		pane_printf(&line, 0, 0, selected ? ROLE_SELECTED : ROLE_NUMBER, "%3zu", a + 1);
		pane_clean(&words, 0, 0, selected ? ROLE_STRONG : ROLE_TEXT, name);
		for (size_t p = 0; p < strv_len(s->presets); p++) {
			struct pane cell =
				pane_cut(&line, 0, 5 + title + (int) p * CELL_COLUMNS, 1, CELL_COLUMNS);
			draw_cell(s, &cell, a, p, selected && p == s->column);
		}
		clean_free(&name);
	}
	struct pane total = pane_cut(pane, row + 1, 0, 1, pane->columns);
	pane_put(&total, 0, 4, ROLE_STRONG, "stopped");
	for (size_t p = 0; p < strv_len(s->presets); p++)
		draw_total(s, &total, 5 + title + (int) p * CELL_COLUMNS, p);
}

static void draw(struct app *app, const struct pane *body)
{
	struct attacks *s = attacks_state(app);
	bool wide = body->columns >= WIDE, small = body->rows < 14;
	int rows = body->rows - 4 - (int) (s->manifest ? s->manifest->attack_count + 2 : 2);
	struct section matrix = { .title = "Attack x isolation", .rows = -1, .focus = !s->full };
	struct section text = { .title = s->costs ? "What a start costs" : "Evidence",
				.rows = rows > EVIDENCE_ROWS ? rows : EVIDENCE_ROWS,
				.focus = s->full };

	if (!s->manifest) {
		struct pane words = pane_cut(body, 1, 2, body->rows - 2, body->columns - 4);
		struct clean fault = clean_str(s->fault, app->ascii);
		pane_wrapped(&words, 0, ROLE_WARN, fault);
		clean_free(&fault);
		return;
	}
	tell(app);
	if (s->full || s->costs) {
		text.rows = -1;
		box_stack(body, &text, 1, BOX_CLOSED);
		reader_draw(&s->text, &text.in, s->costs ? 0 : LABEL_COLUMNS);
	} else if (small) {
		box_stack(body, &matrix, 1, BOX_CLOSED);
		draw_matrix(app, &matrix.in);
	} else if (wide) {
		struct pane left = pane_cut(body, 0, 0, body->rows, body->columns * 3 / 5);
		struct pane right = pane_cut(body, 0, left.columns, body->rows, body->columns - left.columns);
		text.rows = -1;
		box_stack(&left, &matrix, 1, BOX_CLOSED);
		box_stack(&right, &text, 1, BOX_CLOSED);
		draw_matrix(app, &matrix.in);
		reader_draw(&s->text, &text.in, LABEL_COLUMNS);
	} else {
		struct section both[2] = { matrix, text };
		box_stack(body, both, 2, BOX_CLOSED);
		draw_matrix(app, &both[0].in);
		reader_draw(&s->text, &both[1].in, LABEL_COLUMNS);
	}
}

static void status(struct app *app, const struct pane *row)
{
	struct attacks *s = attacks_state(app);
	size_t known = 0, wrong = 0,
	       count = s->manifest ? s->manifest->attack_count * strv_len(s->presets) : 0;

	for (size_t i = 0; i < count; i++) {
		known += s->states[i] == CELL_KNOWN;
		wrong += s->states[i] == CELL_KNOWN && s->cells[i].expected != CELL_VERDICT_MAX &&
			 !cell_as_expected(&s->cells[i]);
	}
	int column = pane_printf(row, 0, 1, ROLE_STRONG, "SUITE %s", s->manifest ? s->manifest->name : "?");
	if (s->run)
		column = pane_printf(row, 0, column + 2, ROLE_TEXT, "%zu of %zu cells", s->done, s->wanted);
	else
		column = pane_printf(row, 0, column + 2, ROLE_TEXT, "%zu of %zu cells known", known, count);
	if (wrong)
		column = pane_printf(row, 0, column + 2, ROLE_EFFECT, "%zu NOT AS EXPECTED", wrong);
	if (known < count && !s->run)
		pane_printf(row, 0, column + 2, ROLE_UNKNOWN, "%zu not run", count - known);
}

static void sentence(struct app *app, struct buf *out)
{
	struct attacks *s = attacks_state(app);

	if (s->run)
		buf_printf(out, "%s", s->progress);
	else if (s->costs)
		buf_str(out, "c goes back to the evidence.");
	else
		buf_str(out, "Each works without a sandbox first, or says nothing. Not run is not safe. a "
			     "runs all.");
}

static void move(struct app *app, enum move move)
{
	struct attacks *s = attacks_state(app);
	size_t columns = strv_len(s->presets);

	if (s->full || s->costs)
		reader_move(&s->text, move);
	else if (move == MOVE_LEFT)
		s->column -= s->column > 0;
	else if (move == MOVE_RIGHT)
		s->column += s->column + 1 < columns;
	else
		pick_move(&s->pick, move);
}

static bool find(struct app *app, const char *text, bool back)
{
	return reader_find(&attacks_state(app)->text, text, back);
}

static bool back(struct app *app)
{
	struct attacks *s = attacks_state(app);
	bool open = s->full || s->costs;

	s->full = s->costs = false;
	s->told = 0;
	return open;
}

static void tell_one(const struct app *app, const struct attacks *s, size_t attack, size_t preset,
		     struct buf *out)
{
	size_t i = attacks_cell(s, attack, preset);
	const struct cell *c = &s->cells[i];
	bool known = s->states[i] == CELL_KNOWN;
	struct clean level = clean_str(s->presets[preset], app->ascii);
	struct clean evidence = clean_str(known ? c->evidence : "", app->ascii);

	buf_printf(out, "%s under %s: %s%s%s\n", s->manifest->attacks[attack].title, level.text,
		   known ? cell_verdict_name(c->verdict) : "not run", evidence.len ? "; " : "",
		   evidence.text);
	clean_free(&level);
	clean_free(&evidence);
}

/* The matrix as lines, a cell each. */
static void tell_all(struct app *app, struct buf *out)
{
	struct attacks *s = attacks_state(app);

	for (size_t a = 0; s->manifest && a < s->manifest->attack_count; a++)
		for (size_t p = 0; p < strv_len(s->presets); p++)
			tell_one(app, s, a, p, out);
	struct clean fault = clean_str(s->fault, app->ascii);
	buf_printf(out, "%s\n", s->fault ? fault.text : "attack-all runs the suite. Not run is not safe.");
	clean_free(&fault);
}

/* ---- what can be done ---- */

static bool ready(struct app *app)
{
	struct attacks *s = attacks_state(app);

	if (!s->manifest || !s->manifest->attack_count || !strv_len(s->presets))
		app_warn(app, "There is nothing to replay: is belljar installed whole?");
	return s->manifest && s->manifest->attack_count && strv_len(s->presets);
}

static void attack_cell(struct app *app, const char *argument)
{
	struct attacks *s = attacks_state(app);

	(void) argument;
	if (ready(app))
		attacks_replay(app, s->manifest->attacks[s->pick.selected].name, s->presets[s->column]);
}

static void attack_row(struct app *app, const char *argument)
{
	struct attacks *s = attacks_state(app);

	(void) argument;
	if (ready(app))
		attacks_replay(app, s->manifest->attacks[s->pick.selected].name, NULL);
}

static void attack_all(struct app *app, const char *argument)
{
	(void) argument;
	if (ready(app))
		attacks_replay(app, NULL, NULL);
}

static void stop(struct app *app, const char *argument)
{
	struct attacks *s = attacks_state(app);

	(void) argument;
	if (s->bench) {
		s->bench = spawned_free(s->bench);
		s->costs = false;
		s->told = 0;
		app_say(app, "Stopped; nothing was measured.");
	} else if (s->run) {
		attacks_stop(app);
		app_say(app, "Stopped; what had not run is not known.");
	} else {
		app_nothing_runs(app);
	}
}

static void evidence(struct app *app, const char *argument)
{
	struct attacks *s = attacks_state(app);

	(void) argument;
	s->full = !s->full;
	s->costs = false;
	s->told = 0;
}

static void choose(struct app *app, const char *argument)
{
	struct attacks *s = attacks_state(app);
	char **names = strv_split(argument);
	struct err e = { 0 };

	if (strv_len(names) == 0) {
		prompt_open(app, PROMPT_COMMAND, "levels subprocess namespaces ");
	} else if (s->run || strv_len(names) > SUITE_PRESETS_MAX) {
		app_warn(app, s->run ? "A run lives: ^C stops it." : "That is more than fit.");
	} else {
		for (char **n = names; *n && !e.code; n++) {
			struct policy *p = NULL;
			(void) preset_load(*n, &p, &e);
			policy_free(p);
		}
		if (e.code) {
			app_warn(app, "%s", e.text);
		} else {
			strv_free(s->presets);
			s->presets = take_ptr(&names);
			s->chosen = true;
			attacks_make_cells(s);
		}
	}
	strv_free(names);
}

static void open_recording(struct app *app, const char *argument)
{
	struct attacks *s = attacks_state(app);
	struct err e;

	(void) argument;
	if (!ready(app))
		return;
	const struct cell *c = &s->cells[chosen(s)];
	if (s->states[chosen(s)] != CELL_KNOWN || !*c->recording)
		app_say(app, "This cell has no recording: r runs it.");
	else if (app_refuses(app))
		return;
	else if (playback_open(app, c->recording, &e) < 0)
		app_warn(app, "%s", e.text);
	else
		app_show(app, &events_view);
}

static void on_bench(struct app *app, const char *output, size_t len, int status)
{
	struct attacks *s = attacks_state(app);

	s->bench = NULL;
	s->bench_text.len = 0;
	buf_add(&s->bench_text, output, len);
	if (status < 0)
		buf_str(&s->bench_text, "The measurement was broken off.\n");
	s->told = 0;
	app_dirty(app);
}

static void costs(struct app *app, const char *argument)
{
	struct attacks *s = attacks_state(app);
	struct err e;

	(void) argument;
	s->costs = !s->costs;
	s->full = false;
	s->told = 0;
	if (!s->costs || s->bench || s->bench_text.len || !strv_len(s->presets))
		return;
	if (app_refuses(app)) { /* it would be measured too */
		s->costs = false;
		return;
	}
	const char *words[2 * SUITE_PRESETS_MAX + 4] = { "bench", "-n", "5" };
	size_t count = 3;
	for (char **p = s->presets; *p; p++) {
		words[count++] = "-p";
		words[count++] = *p;
	}
	if (spawned_start(app, words, on_bench, &s->bench, &e) < 0)
		app_warn(app, "%s", e.text);
}

static bool busy(const struct app *app)
{
	const struct attacks *s = app->own[VIEW_ATTACKS];
	return s && (s->run || s->bench);
}

/* clang-format off */
static const struct action actions[] = {
	{ "attack-cell", NULL, "replay the chosen attack at the chosen level", attack_cell },
	{ "attack-row", NULL, "replay the chosen attack at each level", attack_row },
	{ "attack-all", NULL, "replay the whole suite", attack_all },
	{ "evidence", NULL, "the evidence of the chosen cell alone", evidence },
	{ "recording", NULL, "the recording of the chosen cell, on the screens", open_recording },
	{ "costs", NULL, "what a start costs at each level", costs },
	{ "levels", "NAME NAME…", "which presets stand in the matrix", choose },
	{ "stop", NULL, "stop the suite", stop },
	{ .name = NULL },
};
/* clang-format on */

const struct view attacks_view = {
	.id = VIEW_ATTACKS,
	.title = "Attacks",
	.means = "Small, harmless programs that try what attackers try. Each is first run without a sandbox: "
		 "only what "
		 "works there can be stopped. Stopped means that it began, did not succeed, and that a fact "
		 "of the "
		 "kernel or an answer of belljar's says why. Not run and inconclusive are no passes. A ! "
		 "marks what "
		 "is not as expected of the level.",
	.actions = actions,
	.draw = draw,
	.status = status,
	.sentence = sentence,
	.move = move,
	.find = find,
	.back = back,
	.busy = busy,
	.tell = tell_all,
	.done = attacks_done,
};
