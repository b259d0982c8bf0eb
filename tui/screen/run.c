/* SPDX-License-Identifier: MIT */
/*
 * Run: watch it. Meters, output, the newest events, the boundary in words; after the end the verdict and
 * what it rests on. Drawn from `struct watch` alone, so a recording looks like a run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/screen/app.h"
#include "tui/screen/plain.h"
#include "tui/screen/run_parts.h"

#define WIDE_COLUMNS 110
#define WIDE_ROWS    26

static void output_title(const struct app *app, char *title, size_t size)
{
	const struct ring *r = &app->watch.output;
	char lines[32], kept[32], all[32], number[32];
	size_t len = (size_t) snprintf(title, size, "Output  ");
	if (app->at_run.staying)
		len += (size_t) snprintf(title + len, size - len, "○ from line %s  ",
					 count_words(app->at_run.top + 1, number, sizeof(number)));
	else if (app->run)
		len += (size_t) snprintf(title + len, size - len, "● following  ");
	len += (size_t) snprintf(title + len, size - len, "%s line%s",
				 count_words(r->next, lines, sizeof(lines)), r->next == 1 ? "" : "s");
	if (r->removed)
		len += (size_t) snprintf(title + len, size - len, "  %s escape%s removed",
					 count_words(r->removed, number, sizeof(number)),
					 r->removed == 1 ? "" : "s");
	if (r->first > 0)
		(void) snprintf(title + len, size - len, "  kept %s of %s",
				format_bytes(r->size, kept, sizeof(kept)),
				format_bytes(r->bytes, all, sizeof(all)));
}

/* In the target's own colours, where there is colour at all. What a search found looks as found. */
static void draw_text(const struct app *app, const struct pane *text, uint64_t number, enum role role)
{
	const struct ring *r = &app->watch.output;
	struct clean line = ring_text(r, number);
	struct text_style style;
	int column = 0;
	if (!app->color || role != ROLE_TEXT) {
		pane_scrolled(text, 0, role, line, app->at_run.shift);
		return;
	}
	for (size_t at = 0, len; at < line.len && column - app->at_run.shift <= text->columns; at += len) {
		len = ring_style(r, number, at, &style);
		column = pane_styled(text, 0, column, style, clean_scrubbed(line.text + at, len),
				     app->at_run.shift);
	}
}

static void draw_output_line(const struct app *app, const struct pane *row, uint64_t number)
{
	const struct ring_line *line = ring_line(&app->watch.output, number);
	bool found = app->at_run.found == number + 1;
	struct pane text = pane_cut(row, 0, 1, 1, row->columns - 1);
	pane_put(row, 0, 0, found ? ROLE_SELECTED : ROLE_BORDER, line->error ? "┆" : " ");
	draw_text(app, &text, number, found ? ROLE_FOUND : ROLE_TEXT);
	if (line->over)
		pane_printf(&text, 0, text.columns - 12, ROLE_UNKNOWN, "…+%u KiB", (unsigned) line->over);
}

static void draw_no_output(const struct app *app, const struct pane *pane)
{
	const struct watch *w = &app->watch;
	struct buf waits = { 0 };
	watch_waiting_words(w, &waits);
	if (w->ended)
		pane_put(pane, 0, 1, ROLE_TEXT, "It printed nothing.");
	else if (waits.len)
		pane_clean(pane, 0, pane_put(pane, 0, 1, ROLE_TEXT, "Not started yet: "), ROLE_STRONG,
			   clean_scrubbed(waits.data, waits.len));
	else if (app->run)
		pane_put(pane, 0, 1, ROLE_TEXT, "No output yet.");
	buf_done(&waits);
}

static void draw_output(struct app *app, const struct pane *pane)
{
	const struct ring *r = &app->watch.output;
	struct run_state *s = &app->at_run;
	s->rows = pane->rows > 0 ? (uint64_t) pane->rows : 1;
	uint64_t last = r->next - r->first > s->rows ? r->next - s->rows : r->first;
	if (!s->staying || s->top > last)
		s->top = last;
	if (s->top < r->first) /* what was looked at has been overwritten */
		s->top = r->first;
	if (r->next == r->first)
		draw_no_output(app, pane);
	for (int row = 0; row < pane->rows && s->top + (uint64_t) row < r->next; row++) {
		struct pane line = pane_cut(pane, row, 0, 1, pane->columns);
		draw_output_line(app, &line, s->top + (uint64_t) row);
	}
}

static void draw_welcome(const struct pane *body)
{
	pane_put(body, body->rows / 2 - 1, body->columns > 60 ? 14 : 1, ROLE_STRONG, "Nothing has run yet.");
	pane_put(body, body->rows / 2, body->columns > 60 ? 14 : 1, ROLE_TEXT,
		 "1 shows Compose: stage code there, then press r.");
}

#define OUTPUT_ROWS_LEAST 4 /* the output keeps these whatever else wants to be seen … */
#define OUTPUT_ROWS_GOOD  8 /* … and these before the newest events are shown */

/* The panes of 80x24, one above the other. When rows are few, the ticker falls away first, then the
 * meters. */
static void draw_column(struct app *app, const struct pane *body)
{
	char output[160], events[80], meters[160];
	struct watch *w = &app->watch;
	int result_rows = w->ended ? result_height(w, body->columns - 4) : 0;
	int left = body->rows - 2 - OUTPUT_ROWS_LEAST;
	struct section s[4] = { { .title = NULL } };
	struct section *at = s, *meter = NULL, *out, *result = NULL, *ticker = NULL;
	bool show_result = result_rows && left >= result_rows + 1;
	left -= show_result ? result_rows + 1 : 0;
	int meter_rows = meters_height(w, false) + 1;
	if (left >= meter_rows + 1) {
		left -= meter_rows + 1;
		meter = at++;
		meters_title(w, body->columns - 2, false, meters, sizeof(meters));
		*meter = (struct section){ .title = meters, .rows = meter_rows };
	}
	out = at++;
	output_title(app, output, sizeof(output));
	*out = (struct section){ .title = output, .rows = -1, .focus = true };
	if (show_result) {
		result = at++;
		*result = (struct section){ .title = "Result", .rows = result_rows };
	}
	if (left >= 4 + OUTPUT_ROWS_GOOD - OUTPUT_ROWS_LEAST) {
		ticker = at++;
		events_title(w, events, sizeof(events));
		*ticker = (struct section){ .title = events, .rows = left >= 14 ? 5 : 3 };
	}
	box_stack(body, s, (int) (at - s), BOX_CLOSED);
	if (meter) {
		struct pane line = pane_cut(&meter->in, meter_rows - 1, 0, 1, meter->in.columns);
		draw_meters(w, &meter->in, false);
		draw_boundary_line(w, &line);
	}
	draw_output(app, &out->in);
	if (result)
		draw_result(w, &result->in);
	if (ticker)
		draw_ticker(w, &ticker->in);
}

static void draw_wide(struct app *app, const struct pane *body)
{
	char output[160], events[80], meters_words[160];
	struct watch *w = &app->watch;
	int result_rows = w->ended ? result_height(w, body->columns - 4) : 0;
	int bottom_rows = 5 + 2 + (result_rows ? result_rows + 1 : 0);
	int width = body->columns * 53 / 100;
	struct pane left = pane_cut(body, 0, 0, body->rows - bottom_rows, width);
	struct pane right = pane_cut(body, 0, width, body->rows - bottom_rows, body->columns - width);
	struct pane bottom = pane_cut(body, body->rows - bottom_rows, 0, bottom_rows, body->columns);
	output_title(app, output, sizeof(output));
	meters_title(w, left.columns - 2, true, meters_words, sizeof(meters_words));
	events_title(w, events, sizeof(events));
	struct section l[2] = { { .title = meters_words, .rows = meters_height(w, true) },
				{ .title = output, .rows = -1, .focus = true } };
	struct section r[2] = { { .title = "Boundary in force", .rows = -1 },
				{ .title = "Limits",
				  .rows = w->limit_count < left.rows / 2 ? w->limit_count : left.rows / 2 } };
	struct section b[2] = { { .title = "Result", .rows = result_rows }, { .title = events, .rows = 5 } };
	box_stack(&left, l, 2, BOX_BOTTOM_OPEN);
	box_stack(&right, r, 2, BOX_BOTTOM_OPEN);
	box_stack(&bottom, result_rows ? b : b + 1, result_rows ? 2 : 1, BOX_TOP_JOINED);
	draw_meters(w, &l[0].in, true);
	draw_output(app, &l[1].in);
	(void) draw_layers(w, &r[0].in, 0, false);
	(void) draw_limits(w, &r[1].in, 0, false);
	if (result_rows)
		draw_result(w, &b[0].in);
	draw_ticker(w, &b[1].in);
}

static void draw_zoomed(struct app *app, const struct pane *body)
{
	char title[160];
	output_title(app, title, sizeof(title));
	struct section s = { .title = title, .rows = -1, .focus = true };
	box_stack(body, &s, 1, BOX_CLOSED);
	draw_output(app, &s.in);
}

static void draw_boundary(struct app *app, const struct pane *body)
{
	struct section s = { .title = "Boundary in force   b or Esc closes", .rows = -1, .focus = true };
	box_stack(body, &s, 1, BOX_CLOSED);
	struct pane nowhere = pane_cut(&s.in, 0, 0, 0, s.in.columns);
	int length =
		draw_limits(&app->watch, &nowhere, draw_layers(&app->watch, &nowhere, 0, true) + 2, true);
	int last = length > s.in.rows ? length - s.in.rows : 0;
	app->at_run.boundary_top = app->at_run.boundary_top > last ? last : app->at_run.boundary_top;
	int row = -app->at_run.boundary_top;
	row = draw_layers(&app->watch, &s.in, row, true);
	pane_put(&s.in, row + 1, 1, ROLE_STRONG, "Limits");
	(void) draw_limits(&app->watch, &s.in, row + 2, true);
}

static void draw_for_audience(struct app *app, const struct pane *body)
{
	struct section s = { .title = "What it did, newest first", .rows = -1, .focus = true };
	box_stack(body, &s, 1, BOX_CLOSED);
	draw_talk(&app->watch, &s.in);
}

static void run_draw(struct app *app, const struct pane *body)
{
	const struct watch *w = &app->watch;
	if (watch_is_empty(w) && !app->run)
		draw_welcome(body);
	else if (body->rows < 6 || body->columns < 30)
		draw_output(app, body);
	else if (app->at_run.boundary)
		draw_boundary(app, body);
	else if (app->talk)
		draw_for_audience(app, body);
	else if (app->at_run.zoomed)
		draw_zoomed(app, body);
	else if (body->columns >= WIDE_COLUMNS && body->rows >= WIDE_ROWS)
		draw_wide(app, body);
	else
		draw_column(app, body);
}

static void playback_words(const struct app *app, struct buf *out)
{
	char at[32], of[32];
	const struct playback *p = app->playback;
	if (playback_at_end(p))
		buf_str(out, "This is a recording: Space plays it, 3 shows its events, 1 its code.");
	else
		buf_printf(out, "Recording at %s of %s, %s: Space plays, [ ] scrub, , . refusals.",
			   clock_words(p->t_ns, at, sizeof(at)),
			   clock_words(playback_length(p), of, sizeof(of)), playback_speed(p));
}

static void run_sentence(struct app *app, struct buf *out)
{
	const struct watch *w = &app->watch;
	if (app->at_run.frozen)
		buf_str(out,
			"FROZEN: the picture stands still, the run goes on. p or ^S lets it move again.");
	else if (app->playback)
		playback_words(app, out);
	else if (w->ended)
		buf_printf(out, "%s r runs it again, 3 shows its events.",
			   w->processes_left == 0 ? "Nothing of it is left." : "");
	else if (w->paused)
		buf_str(out, "PAUSED: its processes stand still, its clock goes on. z lets it go on.");
	else if (!near_limit_words(w, out) && w->missing_count)
		buf_printf(out, "%d of the walls and limits asked for do not hold here: b shows which.",
			   w->missing_count);
	else if (out->len == 0 && app->run)
		buf_str(out, "^C stops it.");
}

static void run_move(struct app *app, enum move move)
{
	struct run_state *s = &app->at_run;
	const struct ring *r = &app->watch.output;
	if (s->boundary) {
		s->boundary_top = (int) scrolled((size_t) s->boundary_top, s->rows, s->rows + 400, move);
		return;
	}
	if (move == MOVE_LEFT) {
		s->shift = s->shift > 8 ? s->shift - 8 : 0;
	} else if (move == MOVE_RIGHT) {
		s->shift += s->shift < (int) RING_LINE_MAX ? 8 : 0;
	} else {
		uint64_t last = r->next - r->first > s->rows ? r->next - s->rows : r->first;
		s->top = r->first + scrolled(s->top > r->first ? s->top - r->first : 0, s->rows,
					     r->next - r->first, move);
		s->staying = s->top < last;
	}
}

static bool run_find(struct app *app, const char *text, bool back)
{
	struct run_state *s = &app->at_run;
	const struct ring *r = &app->watch.output;
	uint64_t from = s->found ? s->found - 1 + (back ? (uint64_t) -1 : 1) : back ? r->next - 1 : r->first;
	uint64_t at = ring_find(r, from, back, text);
	if (at == UINT64_MAX)
		return false;
	s->found = at + 1;
	s->staying = true;
	s->top = at > r->first + s->rows / 2 ? at - s->rows / 2 : r->first;
	return true;
}

static bool run_back(struct app *app)
{
	struct run_state *s = &app->at_run;
	bool open = s->boundary || s->zoomed || s->found || s->shift;
	if (s->boundary)
		s->boundary = false;
	else if (s->found)
		s->found = 0;
	else if (s->zoomed)
		s->zoomed = false;
	else
		s->shift = 0;
	return open;
}

static void thaw(struct app *app, const char *argument)
{
	(void) argument;
	if (app->at_run.frozen)
		app_say(app, "The picture moves again.");
	app->at_run.frozen = false;
}

static void freeze(struct app *app, const char *argument)
{
	if (app->at_run.frozen)
		thaw(app, argument);
	else
		app->at_run.frozen = true;
}

static void follow(struct app *app, const char *argument)
{
	(void) argument;
	app->at_run.staying = !app->at_run.staying;
	app_say(app,
		app->at_run.staying ? "The output stays where it is." : "Following the end of the output.");
}

static void run_tell(struct app *app, struct buf *out)
{
	const struct watch *w = &app->watch;
	if (watch_is_empty(w) && !app->run) {
		buf_str(out, "Nothing has run yet: run runs what is staged.\n");
		return;
	}
	if (w->ended)
		tell_result(w, out);
	tell_meters(w, out);
	for (uint64_t i = w->output.first; i < w->output.next; i++)
		tell_output_line(&w->output, i, out);
	if (w->ended && w->output.next == w->output.first)
		buf_str(out, "It printed nothing.\n");
}

/* A part of it alone, for plain mode. */
static void tell_part(struct app *app, void (*tell)(const struct watch *w, struct buf *out))
{
	struct buf words = { 0 };
	tell(&app->watch, &words);
	plain_put(app, &words);
	buf_done(&words);
}

static void meters(struct app *app, const char *argument)
{
	(void) argument;
	if (app->plain)
		tell_part(app, tell_meters);
	else
		app->at_run.boundary = app->at_run.zoomed = false;
}

static void boundary(struct app *app, const char *argument)
{
	(void) argument;
	if (app->plain) {
		tell_part(app, tell_boundary);
		return;
	}
	app->at_run.boundary = !app->at_run.boundary;
	app->at_run.boundary_top = 0;
}

static void zoom(struct app *app, const char *argument)
{
	(void) argument;
	app->at_run.zoomed = !app->at_run.zoomed;
}

/* clang-format off */
static const struct action actions[] = {
	{ "freeze", NULL, "freeze the picture; the run goes on", freeze },
	{ "thaw", NULL, "let a frozen picture move again", thaw },
	{ "follow", NULL, "follow the end of the output, or stay", follow },
	{ "boundary", NULL, "what isolates the run, and what was not enforced", boundary },
	{ "meters", NULL, "what the run uses, and what it may use", meters },
	{ "zoom", NULL, "the output alone, or all panes", zoom },
	{ .name = NULL },
};
/* clang-format on */

const struct view run_view = {
	.id = VIEW_RUN,
	.title = "Run",
	.means = "One run, as it happens. Meters compare what it uses with what it may use; a ? means that "
		 "nobody can know. The output is what it prints, with terminal sequences taken out; a bar "
		 "before a line means standard error. Row two says what isolates it, in words; a badge marks "
		 "what does not hold.",
	.actions = actions,
	.draw = run_draw,
	.status = run_status,
	.sentence = run_sentence,
	.move = run_move,
	.find = run_find,
	.back = run_back,
	.tell = run_tell,
};
