/* SPDX-License-Identifier: MIT */
/*
 * Compare: the staged code under two to four presets, one run after the other, side by side. What is alike and what is
 * not is worked out in core/suite; here it is run and shown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "core/suite/suite.h"
#include "core/supervise/supervise.h"
#include "tui/screen/app.h"
#include "tui/screen/pick.h"
#include "tui/screen/run_parts.h"

#define LABEL_LEAST 14
#define LABEL_MOST  30
#define CELL_LEAST  12
#define SPARK_ROWS  2

struct spark { /* of one run */
	struct series cpu, memory;
	uint64_t t_ns;
};
struct compare {
	char **presets;
	struct comparison *c; /* NULL: not run yet */
	struct spark *spark;  /* one a column */
	struct launch *launch
		[COMPARE_MAX]; /* one a column, of what was staged at the beginning; NULL: it has begun */
	char *name;            /* of what is compared; NULL: the columns' names say it */
	size_t at;             /* the column that runs */
	struct run *run;       /* NULL: none */
	bool only, full;       /* only differences; the chosen row alone */
	struct pick pick;
	const struct compare_row *rows; /* borrowed from c; made anew when an event came */
	uint32_t *order;                /* those shown */
	size_t shown, hidden;
	bool stale;
};

static struct compare *mine(struct app *app)
{
	if (!app->own[VIEW_COMPARE]) {
		struct compare *s = xcalloc(1, sizeof(*s));
		s->presets = strv_split("subprocess namespaces");
		app->own[VIEW_COMPARE] = s;
	}
	return app->own[VIEW_COMPARE];
}

/* What stands in the columns: presets to be run or, of recordings, what they were run under. */
static size_t column_count(const struct compare *s)
{
	return s->c ? comparison_columns(s->c) : strv_len(s->presets);
}

static const char *column_name(const struct compare *s, size_t k)
{
	return s->c ? comparison_preset(s->c, k) : s->presets[k];
}

static void forget(struct app *app, struct compare *s)
{
	if (s->run)
		loop_unwatch_fd(app->loop, run_fd(s->run));
	s->run = run_free(s->run);
	s->c = comparison_free(s->c);
	for (size_t k = 0; k < COMPARE_MAX; k++)
		s->launch[k] = launch_free(s->launch[k]);
	free(take_ptr(&s->spark));
	free(take_ptr(&s->name));
	free(take_ptr(&s->order));
	s->rows = NULL;
	s->shown = s->hidden = s->at = 0;
}

static void done(struct app *app)
{
	struct compare *s = app->own[VIEW_COMPARE];

	if (!s)
		return;
	forget(app, s);
	strv_free(s->presets);
	free(s);
	app->own[VIEW_COMPARE] = NULL;
}

/* ---- running ---- */

static void begin_next(struct app *app);

static void take(struct compare *s, size_t column, const struct event *ev)
{
	struct spark *spark = &s->spark[column];

	comparison_take(s->c, column, ev);
	s->stale = true;
	if (ev->t_ns > spark->t_ns || ev->type == EVENT_START) /* what was before had another clock */
		spark->t_ns = ev->t_ns;
	if (ev->type == EVENT_METER) {
		series_add(&spark->cpu, ev->t_ns, ev->meter.cpu_pct < 0 ? SERIES_UNKNOWN : ev->meter.cpu_pct);
		series_add(&spark->memory, ev->t_ns,
			   ev->meter.memory == UNKNOWN_U64 ? SERIES_UNKNOWN : (double) ev->meter.memory);
	}
}

static void begin_columns(struct app *app, struct compare *s, const char *const *names)
{
	forget(app, s);
	s->c = comparison_new(names);
	s->spark = xcalloc(comparison_columns(s->c), sizeof(*s->spark));
	for (size_t k = 0; k < comparison_columns(s->c); k++) {
		series_init(&s->spark[k].cpu, false);
		series_init(&s->spark[k].memory, false);
	}
}

static void run_over(struct app *app, struct compare *s)
{
	loop_unwatch_fd(app->loop, run_fd(s->run));
	s->run = run_free(s->run);
	s->at++;
	begin_next(app);
}

static void on_run(void *arg, uint32_t epoll_events)
{
	struct app *app = arg;
	struct compare *s = mine(app);

	(void) epoll_events;
	for (uint64_t begin_ns = now_ns(); now_ns() - begin_ns < ROUND_NS;) {
		struct event *ev;
		int r = run_next(s->run, &ev);
		if (r == 0)
			return;
		if (r < 0) {
			run_over(app, s);
			return;
		}
		take(s, s->at, ev);
		event_free(ev);
		app_dirty(app);
	}
}

/* The next column that can be run; one that cannot says why, and is passed over. */
static void begin_next(struct app *app)
{
	struct compare *s = mine(app);
	struct err e;

	for (; s->at < strv_len(s->presets); s->at++) {
		if (!s->launch[s->at])
			continue;
		int r = run_start(s->launch[s->at], &s->run, &e);
		s->launch[s->at] = launch_free(s->launch[s->at]);
		if (r == 0 && (r = loop_watch_fd(app->loop, run_fd(s->run), EPOLLIN, on_run, app, &e)) < 0)
			s->run = run_free(s->run);
		if (r == 0)
			break;
		comparison_failed(s->c, s->at, e.text);
	}
	s->stale = true;
	app_dirty(app);
}

/* All at once: what is staged may be another thing by the time that the last column runs. */
static void make_launches(struct app *app, struct compare *s)
{
	struct err e;

	draft_review(&app->draft); /* it may not have been on a screen yet */
	s->name = xstrndup(app->draft.name.text, app->draft.name.len);
	for (size_t k = 0; k < strv_len(s->presets); k++)
		if (draft_launch_under(&app->draft, s->presets[k], &s->launch[k], &e) < 0)
			comparison_failed(s->c, k, e.text);
}

static void compare(struct app *app, const char *argument)
{
	struct compare *s = mine(app);

	(void) argument;
	if (app->draft.code.len == 0)
		app_warn(app, "Nothing is staged: 1 shows Compose, where code goes.");
	else if (!app_refuses(app)) {
		begin_columns(app, s, (const char *const *) s->presets);
		make_launches(app, s);
		begin_next(app);
	}
}

/* ---- drawing ---- */

static void make_rows(struct compare *s)
{
	if (!s->c || (!s->stale && s->rows))
		return;
	size_t count = comparison_rows(s->c, &s->rows);
	s->order = xrealloc(s->order, (count + 1) * sizeof(*s->order));
	s->shown = s->hidden = 0;
	for (size_t i = 0; i < count; i++) {
		bool wanted = s->only ? s->rows[i].differs : !s->rows[i].quiet || s->rows[i].differs;
		if (wanted)
			s->order[s->shown++] = (uint32_t) i;
		else
			s->hidden++;
	}
	s->stale = false;
}

struct columns {
	int label, cell;
};

static struct columns columns_of(const struct compare *s, int width)
{
	int count = (int) column_count(s);
	struct columns c = { .label = width / (count + 1) };
	c.label = c.label < LABEL_LEAST ? LABEL_LEAST : c.label > LABEL_MOST ? LABEL_MOST : c.label;
	c.cell = (width - 2 - c.label) / count;
	return c;
}

static void draw_text(const struct app *app, const struct pane *row, int column, int columns, enum role role,
		      const char *untrusted)
{
	struct pane at = pane_cut(row, 0, column, 1, columns - 1);
	struct clean text = clean_str(untrusted, app->ascii);
	pane_clean(&at, 0, 0, role, text);
	if (clean_columns(text) > at.columns && at.columns > 0)
		pane_put(&at, 0, at.columns - 1, role, "…");
	clean_free(&text);
}

static void draw_row(const struct app *app, const struct compare *s, const struct compare_row *r,
		     const struct pane *row, bool chosen)
{
	struct columns c = columns_of(s, row->columns);
	enum role role = chosen ? ROLE_SELECTED : ROLE_TEXT;

	if (chosen)
		pick_mark(row);
	pane_put(row, 0, 1, chosen ? ROLE_SELECTED : ROLE_WARN, r->differs ? "!" : "");
	draw_text(app, row, 2, c.label, chosen ? ROLE_SELECTED : ROLE_STRONG, r->label);
	for (size_t k = 0; k < column_count(s); k++)
		draw_text(app, row, 2 + c.label + (int) k * c.cell, c.cell, role,
			  r->cell[k]                  ? r->cell[k]
			  : comparison_ended(s->c, k) ? "-"
						      : "…");
}

static void draw_heads(const struct app *app, const struct compare *s, const struct pane *row)
{
	struct columns c = columns_of(s, row->columns);

	for (size_t k = 0; k < column_count(s); k++)
		draw_text(app, row, 2 + c.label + (int) k * c.cell, c.cell, ROLE_TAB, column_name(s, k));
}

/* CPU and memory of all columns on one scale of time and one of height, so that the eye may compare them. */
static void draw_sparks(const struct compare *s, const struct pane *pane)
{
	struct columns c = columns_of(s, pane->columns);
	uint64_t longest = 0;
	double top = 0;

	for (size_t k = 0; k < column_count(s); k++) {
		longest = s->spark[k].t_ns > longest ? s->spark[k].t_ns : longest;
		for (size_t i = 0; i < SERIES_SLOTS && i < s->spark[k].memory.count; i++)
			top = s->spark[k].memory.slot[i] > top ? s->spark[k].memory.slot[i] : top;
	}
	pane_put(pane, 0, 2, ROLE_STRONG, "cpu");
	pane_put(pane, 1, 2, ROLE_STRONG, "memory");
	for (size_t k = 0; k < column_count(s); k++) {
		unsigned step = series_step(longest, c.cell - 2);
		for (int row = 0; row < SPARK_ROWS; row++) {
			struct buf text = { 0 };
			series_spark(row ? &s->spark[k].memory : &s->spark[k].cpu, s->spark[k].t_ns,
				     c.cell - 2, step, row ? top : 100, &text);
			pane_put(pane, row, 2 + c.label + (int) k * c.cell, ROLE_SPARK,
				 text.data ? text.data : "");
			buf_done(&text);
		}
	}
}

static void draw_chosen(const struct app *app, const struct compare *s, const struct pane *pane)
{
	int row = 0;

	if (!s->shown)
		return;
	const struct compare_row *r = &s->rows[s->order[s->pick.selected]];
	struct clean label = clean_str(r->label, app->ascii);
	row += pane_wrapped(pane, row, ROLE_STRONG, label);
	clean_free(&label);
	for (size_t k = 0; k < column_count(s) && row < pane->rows; k++) {
		struct pane words = pane_cut(pane, 0, 16, pane->rows, pane->columns - 17);
		struct pane line = pane_cut(pane, row, 0, 1, pane->columns);
		struct clean cell = clean_str(r->cell[k] ? r->cell[k] : "-", app->ascii);
		draw_text(app, &line, 1, 15, ROLE_TAB, column_name(s, k));
		int used = pane_wrapped(&words, row, ROLE_TEXT, cell);
		row += used ? used : 1;
		clean_free(&cell);
	}
}

static void draw_rows(struct app *app, struct compare *s, const struct pane *pane)
{
	const char *section =
		s->pick.top < s->shown && s->pick.top > 0 ? s->rows[s->order[s->pick.top - 1]].section : "";
	int row = 0;

	pick_fit(&s->pick, pane->rows - 6, s->shown); /* headings take rows too */
	for (size_t i = s->pick.top; i < s->shown && row < pane->rows; i++) {
		const struct compare_row *r = &s->rows[s->order[i]];
		struct pane line;
		if (strcmp(section, r->section) != 0)
			pane_put(pane, row++, 0, ROLE_NUMBER, r->section);
		section = r->section;
		line = pane_cut(pane, row++, 0, 1, pane->columns);
		draw_row(app, s, r, &line, i == s->pick.selected);
	}
}

static void draw_invitation(const struct app *app, const struct pane *body)
{
	static const char *const lines[] = {
		"The staged code, under several presets, side by side.",
		"",
		"r        run it under each, one after the other",
		"P        choose the presets: P subprocess namespaces classroom",
		"d        show only what differs",
		"Enter    the chosen row in full",
	};
	int row = 2, column = body->columns > 64 ? 8 : 1;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		pane_put(body, row++, column, i ? ROLE_TEXT : ROLE_STRONG, lines[i]);
	if (app->draft.code.len == 0)
		pane_put(body, row + 1, column, ROLE_WARN, "Nothing is staged yet: 1 shows Compose.");
}

static void draw(struct app *app, const struct pane *body)
{
	struct compare *s = mine(app);
	char title[80];

	make_rows(s);
	(void) snprintf(title, sizeof(title),
			s->only ? "Only what differs: %zu of %zu rows" : "%zu rows, %zu quiet ones left out",
			s->shown, s->only ? s->shown + s->hidden : s->hidden);
	struct section sections[2] = { { .title = s->c ? title : "Compare", .rows = -1, .focus = true },
				       { .title = "Chosen row", .rows = s->full ? body->rows - 6 : 5 } };
	bool with_row = s->c && body->rows >= 16;
	box_stack(body, sections, with_row ? 2 : 1, BOX_CLOSED);
	struct pane in = sections[0].in;
	if (!s->c) {
		draw_invitation(app, &in);
		return;
	}
	struct pane head = pane_cut(&in, 0, 0, 1, in.columns);
	draw_heads(app, s, &head);
	int above = 1;
	if (body->rows >= 30) {
		struct pane sparks = pane_cut(&in, 1, 0, SPARK_ROWS, in.columns);
		draw_sparks(s, &sparks);
		above += SPARK_ROWS;
	}
	struct pane rows = pane_cut(&in, above, 0, in.rows - above, in.columns);
	draw_rows(app, s, &rows);
	if (with_row)
		draw_chosen(app, s, &sections[1].in);
}

static bool busy(const struct app *app)
{
	const struct compare *s = app->own[VIEW_COMPARE];

	return s && s->run;
}

/* A row is a heading and, below it, a line for each column. */
static void tell(struct app *app, struct buf *out)
{
	struct compare *s = mine(app);

	make_rows(s);
	if (!s->c)
		buf_str(out,
			"compare runs the staged code under each of these; presets NAME NAME chooses.\n");
	for (size_t i = 0; s->c && i < s->shown; i++)
		tell_comparison(s->c, &s->rows[s->order[i]], app->ascii, out);
}

static void status(struct app *app, const struct pane *row)
{
	struct compare *s = mine(app);
	struct buf words = { 0 };

	for (size_t k = 0; k < column_count(s); k++)
		buf_printf(&words, "%s%s", k ? " | " : "", column_name(s, k));
	const char *word = s->run ? "COMPARING" : s->c ? "COMPARED" : "NOT RUN YET";
	int column = pane_put(row, 0, 1, ROLE_STRONG, word);
	if (s->run)
		column = pane_printf(row, 0, column + 1, ROLE_TEXT, "%zu of %zu", s->at + 1, column_count(s));
	struct pane rest = pane_cut(row, 0, column + 2, 1, row->columns - column - 2);
	struct clean clean = clean_line(words.data ? words.data : "", words.len, app->ascii);
	struct clean name = clean_str(s->name, app->ascii);
	column = pane_clean(&rest, 0, 0, ROLE_STRONG, s->c ? name : app->draft.name);
	clean_free(&name);
	pane_clean(&rest, 0, column ? column + 2 : 0, ROLE_TEXT, clean);
	clean_free(&clean);
	buf_done(&words);
}

static void sentence(struct app *app, struct buf *out)
{
	struct compare *s = mine(app);

	if (s->run)
		buf_str(out, "One run after the other, so that their meters can be compared. ^C stops.");
	else if (s->c)
		buf_str(out, "! marks what differs; times and sizes when one is more than twice another.");
	else
		buf_str(out, "Nothing runs until you press r.");
}

static void move(struct app *app, enum move move)
{
	make_rows(mine(app));
	pick_move(&mine(app)->pick, move);
}

static bool find(struct app *app, const char *text, bool back)
{
	struct compare *s = mine(app);

	make_rows(s);
	for (size_t i = 1; i <= s->shown; i++) {
		size_t at = (s->pick.selected + (back ? s->shown - i : i)) % s->shown;
		const struct compare_row *r = &s->rows[s->order[at]];
		bool here = strstr(r->label, text) != NULL;
		for (size_t k = 0; k < COMPARE_MAX; k++)
			here |= r->cell[k] && strstr(r->cell[k], text);
		if (here) {
			s->pick.selected = at;
			return true;
		}
	}
	return false;
}

static bool back(struct app *app)
{
	struct compare *s = mine(app);
	bool open = s->full || s->only;

	if (s->full)
		s->full = false;
	else
		s->only = false;
	s->stale = true;
	return open;
}

/* ---- what can be done ---- */

static void stop(struct app *app, const char *argument)
{
	struct compare *s = mine(app);

	(void) argument;
	if (!s->run) {
		app_nothing_runs(app);
		return;
	}
	(void) run_stop(s->run, 0);
	for (size_t k = s->at + 1; k < strv_len(s->presets); k++)
		comparison_failed(s->c, k, "stopped before its turn");
	s->at = strv_len(s->presets) - 1; /* the run that is ending is the last */
	app_say(app, "Stopped.");
}

static void choose(struct app *app, const char *argument)
{
	struct compare *s = mine(app);
	char **names = strv_split(argument);
	size_t count = strv_len(names);
	struct err e = { 0 };

	if (count == 0) {
		prompt_open(app, PROMPT_COMMAND, "presets subprocess namespaces ");
	} else if (s->run) {
		app_warn(app, "A run lives: ^C stops it.");
	} else if (count < 2 || count > COMPARE_MAX) {
		app_warn(app, "Two to %d presets are compared.", COMPARE_MAX);
	} else {
		for (size_t k = 0; k < count && !e.code; k++) {
			struct policy *p = NULL;
			(void) preset_load(names[k], &p, &e);
			policy_free(p);
		}
		if (e.code) {
			app_warn(app, "%s", e.text);
		} else {
			forget(app, s);
			strv_free(s->presets);
			s->presets = take_ptr(&names);
		}
	}
	strv_free(names);
}

static char *recording_name(const struct recording *r) /* anybody's may lack either word */
{
	return xprintf("%s under %s", *r->title ? r->title : "?", *r->preset ? r->preset : "?");
}

/* Another recording beside the one that is open: nothing is run. */
static void beside(struct app *app, const char *argument)
{
	struct compare *s = mine(app);
	struct recording *other;
	struct err e;

	if (!*argument) {
		prompt_open(app, PROMPT_COMMAND, "beside ");
		return;
	}
	if (s->run && app_refuses(app))
		return;
	if (!app->playback || recording_read(argument, &other, &e) < 0) {
		app_warn(app, "%s", app->playback ? e.text : "First open one recording: :replay FILE.");
		return;
	}
	const struct recording *both[] = { app->playback->recording, other };
	FREE char *a = recording_name(both[0]), *b = recording_name(other);
	begin_columns(app, s, (const char *const[]){ a, b, NULL });
	for (size_t k = 0; k < ARRAY_LEN(both); k++)
		for (size_t i = 0; i < both[k]->count; i++)
			take(s, k, both[k]->events[i]);
	recording_free(other);
	app_show(app, &compare_view);
}

static void differences(struct app *app, const char *argument)
{
	struct compare *s = mine(app);

	(void) argument;
	s->only = !s->only;
	s->stale = true;
	s->pick.selected = 0;
}

static void full_row(struct app *app, const char *argument)
{
	struct compare *s = mine(app);

	(void) argument;
	s->full = !s->full;
}

/* clang-format off */
static const struct action actions[] = {
	{ "compare", NULL, "run the staged code under each preset", compare },
	{ "presets", "NAME NAME…", "which presets are compared, two to four", choose },
	{ "beside", "FILE", "another recording beside the one that is open", beside },
	{ "differences", NULL, "only what differs, or all", differences },
	{ "full-row", NULL, "the chosen row in full", full_row },
	{ "stop", NULL, "stop the comparison", stop },
	{ .name = NULL },
};
/* clang-format on */

const struct view compare_view = {
	.id = VIEW_COMPARE,
	.title = "Compare",
	.means = "The staged code is run under two to four presets, one run after the other. Rows "
		 "with ! differ: in how it ended, what it printed, what it tried and what became of "
		 "that. Times and sizes count as different when one is more than twice another. "
		 "`belljar compare` prints the same.",
	.actions = actions,
	.draw = draw,
	.status = status,
	.sentence = sentence,
	.move = move,
	.find = find,
	.back = back,
	.tell = tell,
	.busy = busy,
	.done = done,
};
