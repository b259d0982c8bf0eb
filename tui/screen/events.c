/* SPDX-License-Identifier: MIT */
/*
 * Events: each refused call, connection, file and removed sequence, grouped, with who did it, which layer
 * answered, how certain that is, and how it could be allowed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/screen/app.h"
#include "tui/screen/plain.h"
#include "tui/screen/run_parts.h"

#define WIDE        110
#define DETAIL_ROWS 8
_Static_assert(RAW_MAX <= GROUPS_MAX, "one order serves both lists");

static int by_count(const void *a, const void *b, void *groups)
{
	const struct group *all = groups;
	const struct group *x = &all[*(const uint32_t *) a], *y = &all[*(const uint32_t *) b];
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->first_ns < y->first_ns ? -1 : x->first_ns > y->first_ns;
}

static const struct group *group_of_row(const struct app *app, size_t row)
{
	const struct groups *g = &app->watch.groups;
	uint32_t at = app->at_events.order[row];
	return app->at_events.raw ? &g->at[g->raw[at].group] : &g->at[at];
}

static bool row_wanted(struct events_state *s, const struct group *g)
{
	if (!group_matches(g, s->filter))
		return false;
	if (g->hidden)
		s->put_away++;
	else if (!s->all && group_quiet(g))
		s->hidden++;
	else
		return true;
	return false;
}

/* One row an event, as they came: the newest of them. */
static void make_raw_order(struct app *app)
{
	struct events_state *s = &app->at_events;
	const struct groups *g = &app->watch.groups;
	uint64_t first = g->raw_next > RAW_MAX ? g->raw_next - RAW_MAX : 0;
	for (uint64_t n = first; n < g->raw_next; n++)
		if (row_wanted(s, &g->at[g->raw[n % RAW_MAX].group]))
			s->order[s->shown++] = (uint32_t) (n % RAW_MAX);
}

/* The list as it is shown now: filtered, and in the chosen order. It is at most a few thousand rows. */
static void make_order(struct app *app)
{
	struct events_state *s = &app->at_events;
	struct groups *g = &app->watch.groups;
	s->shown = s->hidden = s->put_away = 0;
	if (s->raw)
		make_raw_order(app);
	for (size_t i = 0; !s->raw && i < g->count; i++)
		if (row_wanted(s, &g->at[i]))
			s->order[s->shown++] = (uint32_t) i;
	if (s->by_count && !s->raw)
		qsort_r(s->order, s->shown, sizeof(s->order[0]), by_count, g->at);
	if (s->selected >= s->shown)
		s->selected = s->shown ? s->shown - 1 : 0;
}

static const struct group *selected(const struct app *app)
{
	const struct events_state *s = &app->at_events;
	return s->selected < s->shown ? group_of_row(app, s->selected) : NULL;
}

/* When the chosen row happened: of a group, the first time. */
static uint64_t row_ns(const struct app *app, size_t row)
{
	const struct events_state *s = &app->at_events;
	return s->raw ? app->watch.groups.raw[s->order[row]].t_ns : group_of_row(app, row)->first_ns;
}

/* An empty list must not sound like safety: it says whether anybody was watching. */
static void none_words(const struct app *app, struct buf *out)
{
	if (*app->at_events.filter)
		buf_str(out, app->plain ? "No event holds this text. filter-off shows all again."
					: "No event holds this text. Esc shows all again.");
	else if (!app->watch.started)
		buf_str(out, "Nothing has run yet.");
	else
		watch_empty_lists(&app->watch, out);
}

static void draw_none(const struct app *app, const struct pane *pane)
{
	struct pane text = pane_cut(pane, 0, 1, pane->rows, pane->columns - 2);
	struct buf words = { 0 };
	none_words(app, &words);
	if (words.len)
		pane_wrapped(&text, 0, ROLE_TEXT, clean_scrubbed(words.data, words.len));
	buf_done(&words);
}

/* Below what there is: what there cannot be. */
static void draw_blind(const struct app *app, const struct pane *pane, int row)
{
	struct pane text = pane_cut(pane, 0, 1, pane->rows, pane->columns - 2);
	struct buf words = { 0 };
	watch_blind_lists(&app->watch, &words);
	if (words.len)
		pane_wrapped(&text, row, ROLE_UNKNOWN, clean_scrubbed(words.data, words.len));
	buf_done(&words);
}

static void draw_list(struct app *app, const struct pane *pane)
{
	struct events_state *s = &app->at_events;
	s->rows = pane->rows > 0 ? (size_t) pane->rows : 1;
	if (s->selected < s->top)
		s->top = s->selected;
	if (s->selected >= s->top + s->rows)
		s->top = s->selected - s->rows + 1;
	if (s->shown == 0)
		draw_none(app, pane);
	else
		draw_blind(app, pane, (int) (s->shown - s->top));
	for (int i = 0; i < pane->rows && s->top + (size_t) i < s->shown; i++) {
		bool chosen = s->top + (size_t) i == s->selected;
		struct pane row = pane_cut(pane, i, 0, 1, pane->columns);
		if (chosen)
			pane_paint(&row, 0, 0, row.columns, ROLE_SELECTED);
		struct group g = *group_of_row(app, s->top + (size_t) i);
		if (s->raw)
			g.count = app->watch.groups.raw[s->order[s->top + (size_t) i]].count;
		draw_group(&g, row_ns(app, s->top + (size_t) i), &row, chosen ? ROLE_SELECTED : ROLE_TEXT);
		if (chosen) {
			pane_put(&row, 0, 0, ROLE_SELECTED, ">");
			pane_cursor(&row, 0, 0);
		}
	}
}

/* Where the detail of an event goes: a pane, or lines. */
struct facts {
	const struct pane *pane;
	int row;         /* of the next one */
	struct buf *out; /* in place of the pane */
};

static void fact(struct facts *f, const char *label, struct clean text)
{
	if (text.len == 0)
		return;
	if (f->out) {
		buf_printf(f->out, "%s: %.*s\n", label, (int) text.len, text.text);
		return;
	}
	const struct pane *pane = f->pane;
	struct pane words =
		pane_cut(pane, 0, 11, pane->rows, pane->columns - 12); /* measured even where nothing shows */
	pane_put(pane, f->row, 1, ROLE_STRONG, label);
	f->row += pane_wrapped(&words, f->row, ROLE_TEXT, text);
}

static void fact_words(struct facts *f, const char *label, const char *words)
{
	fact(f, label, clean_scrubbed(words, strlen(words)));
}

static void put_detail(const struct app *app, struct facts *f)
{
	const struct group *g = selected(app);
	char words[200], first[32], last[32], count[32];
	if (!g)
		return;
	fact(f, "what", g->what);
	(void) snprintf(words, sizeof(words), "%s%s%s%s%s", group_outcome(g), g->layer ? " by " : "",
			layer_name(g->layer), g->layer ? ": " : "", layer_words(g->layer));
	fact_words(f, "outcome", words);
	fact(f, "why", g->why);
	fact(f, "who", g->who);
	if (g->basis != BASIS_NONE) {
		(void) snprintf(words, sizeof(words), "%s%s",
				g->source == SOURCE_GUEST ? "if the guest is believed: " : "",
				basis_words(g->basis));
		fact_words(f, "certainty", words);
	}
	(void) snprintf(words, sizeof(words), "%s time%s %s%s%s%s",
			count_words(g->count, count, sizeof(count)), g->count > 1 ? "s, from" : ", at",
			clock_words(g->first_ns, first, sizeof(first)), g->count > 1 ? " to " : "",
			g->count > 1 ? clock_words(g->last_ns, last, sizeof(last)) : "",
			g->source == SOURCE_GUEST ? "; told by the guest" : "");
	fact_words(f, "seen", words);
	struct buf allow = { 0 };
	group_allow(g, &allow);
	if (allow.len)
		fact_words(f, "to allow", allow.data);
	buf_done(&allow);
}

static int draw_detail(const struct app *app, const struct pane *pane, int row)
{
	struct facts facts = { .pane = pane, .row = row };
	put_detail(app, &facts);
	return facts.row;
}

static void draw_detail_pane(struct app *app, const struct pane *pane)
{
	struct events_state *s = &app->at_events;
	struct pane nowhere = pane_cut(pane, 0, 0, 0, pane->columns);
	int length = draw_detail(app, &nowhere, 0), last = length > pane->rows ? length - pane->rows : 0;
	s->detail_top = s->detail_top > last ? last : s->detail_top;
	(void) draw_detail(app, pane, -s->detail_top);
}

static void list_title(const struct app *app, char *title, size_t size)
{
	const struct groups *g = &app->watch.groups;
	const struct events_state *s = &app->at_events;
	char kept[32];
	size_t len = (size_t) snprintf(title, size,
				       s->raw ? "Events  %zu, one by one%s%s" : "Events  %zu kind%s, %s",
				       s->shown, s->raw || s->shown == 1 ? "" : "s",
				       s->raw        ? ""
				       : s->by_count ? "most often first"
						     : "in order of time");
	if (s->hidden)
		len += (size_t) snprintf(title + len, size - len, "  %zu quiet ones: a shows", s->hidden);
	if (s->put_away && len < size)
		len += (size_t) snprintf(title + len, size - len, "  %zu hidden: U shows", s->put_away);
	if (s->raw && g->raw_next > RAW_MAX && len < size)
		len += (size_t) snprintf(title + len, size - len, "  the newest %d", RAW_MAX);
	if (g->not_kept && len < size)
		(void) snprintf(title + len, size - len, "  %s more not kept",
				count_words(g->not_kept, kept, sizeof(kept)));
}

static void events_draw(struct app *app, const struct pane *body)
{
	struct events_state *s = &app->at_events;
	char title[200];
	make_order(app);
	list_title(app, title, sizeof(title));
	if (body->rows < 8 || body->columns < 40) {
		draw_list(app, body);
		return;
	}
	struct section sections[2] = {
		{ .title = title, .rows = -1, .focus = !s->on_detail },
		{ .title = "Chosen event",
		  .rows = body->rows >= 17 ? DETAIL_ROWS : 3,
		  .focus = s->on_detail || s->full },
	};
	if (s->full) {
		sections[1].rows = -1;
		box_stack(body, &sections[1], 1, BOX_CLOSED);
		draw_detail_pane(app, &sections[1].in);
	} else if (body->columns >= WIDE) {
		struct pane left = pane_cut(body, 0, 0, body->rows, body->columns * 3 / 5);
		struct pane right = pane_cut(body, 0, left.columns, body->rows, body->columns - left.columns);
		sections[1].rows = -1;
		box_stack(&left, &sections[0], 1, BOX_CLOSED);
		box_stack(&right, &sections[1], 1, BOX_CLOSED);
		draw_list(app, &sections[0].in);
		draw_detail_pane(app, &sections[1].in);
	} else {
		box_stack(body, sections, 2, BOX_CLOSED);
		draw_list(app, &sections[0].in);
		draw_detail_pane(app, &sections[1].in);
	}
}

static void events_sentence(struct app *app, struct buf *out)
{
	const struct groups *g = &app->watch.groups;
	char stopped[32];
	if (*app->at_events.filter) {
		struct clean filter = clean_str(app->at_events.filter, app->ascii);
		buf_printf(out, "Only events that hold \"%s\". Esc shows all again.", filter.text);
		clean_free(&filter);
	} else if (g->count) {
		buf_printf(out, "%s refused, hidden, read-only or unreachable. Enter shows one in full.",
			   count_words(g->stopped, stopped, sizeof(stopped)));
	}
}

static void events_move(struct app *app, enum move move)
{
	struct events_state *s = &app->at_events;
	if (s->full || s->on_detail) {
		s->detail_top = (int) scrolled((size_t) s->detail_top, DETAIL_ROWS, CELLS_ROWS_MAX, move);
		return;
	}
	if (move == MOVE_LEFT || move == MOVE_RIGHT)
		return;
	make_order(app); /* events may have come since the last frame */
	if (move == MOVE_BOTTOM)
		s->selected = s->shown ? s->shown - 1 : 0;
	else
		s->selected = scrolled(s->selected, move == MOVE_UP || move == MOVE_DOWN ? 1 : s->rows,
				       s->shown + s->rows - 1, move);
	if (s->selected >= s->shown)
		s->selected = s->shown ? s->shown - 1 : 0;
	s->detail_top = 0;
}

static bool events_find(struct app *app, const char *text, bool back)
{
	struct events_state *s = &app->at_events;
	make_order(app);
	for (size_t i = 1; i <= s->shown; i++) {
		size_t at = (s->selected + (back ? s->shown - i : i)) % s->shown;
		if (group_matches(group_of_row(app, at), text)) {
			s->selected = at;
			return true;
		}
	}
	return false;
}

static bool events_back(struct app *app)
{
	struct events_state *s = &app->at_events;
	bool open = s->full || s->on_detail || *s->filter;
	if (s->full)
		s->full = false;
	else if (s->on_detail)
		s->on_detail = false;
	else
		*s->filter = '\0';
	return open;
}

const struct group *events_chosen(struct app *app)
{
	make_order(app);
	return selected(app);
}

static void detail(struct app *app, const char *argument)
{
	(void) argument;
	app->at_events.full = !app->at_events.full;
	app->at_events.detail_top = 0;
}

/* ---- for plain mode ---- */

static void tell_empty(const struct app *app, struct buf *out)
{
	struct buf words = { 0 };
	none_words(app, &words);
	if (words.len)
		buf_printf(out, "%s\n", words.data);
	buf_done(&words);
}

static void events_tell(struct app *app, struct buf *out)
{
	char title[200];
	make_order(app);
	list_title(app, title, sizeof(title));
	buf_printf(out, "%s\n", title);
	for (size_t i = 0; i < app->at_events.shown; i++) {
		buf_printf(out, "%zu: ", i + 1);
		tell_group(group_of_row(app, i), row_ns(app, i), out);
	}
	if (app->at_events.shown == 0) {
		tell_empty(app, out);
		return;
	}
	struct buf blind = { 0 };
	watch_blind_lists(&app->watch, &blind);
	buf_printf(out, "%s%sshow NUMBER tells one in full.\n", blind.len ? blind.data : "",
		   blind.len ? "\n" : "");
	buf_done(&blind);
}

/* A row of the list by its number, in full. */
static void show(struct app *app, const char *argument)
{
	struct events_state *s = &app->at_events;
	uint64_t number;
	make_order(app);
	if (str_to_u64(argument, &number) < 0 || number < 1 || number > s->shown) {
		app_warn(app,
			 s->shown ? "show takes the number of an event, 1 to %zu."
				  : "There are no events.%.0zu",
			 s->shown);
		return;
	}
	s->selected = (size_t) number - 1;
	s->full = !app->plain;
	s->detail_top = 0;
	if (!app->plain)
		return;
	struct buf words = { 0 };
	struct facts facts = { .out = &words };
	put_detail(app, &facts);
	plain_put(app, &words);
	buf_done(&words);
}

static void filter(struct app *app, const char *argument)
{
	if (!*argument) {
		prompt_open(app, PROMPT_FILTER, app->at_events.filter);
		return;
	}
	(void) snprintf(app->at_events.filter, sizeof(app->at_events.filter), "%s", argument);
	app->at_events.selected = 0;
}

static void filter_off(struct app *app, const char *argument)
{
	(void) argument;
	*app->at_events.filter = '\0';
}

static void sort(struct app *app, const char *argument)
{
	(void) argument;
	app->at_events.by_count = !app->at_events.by_count;
	app->at_events.selected = 0;
	app_say(app, app->at_events.by_count ? "Sorted: most often first." : "Sorted: in order of time.");
}

static void all(struct app *app, const char *argument)
{
	(void) argument;
	app->at_events.all = !app->at_events.all;
	app->at_events.selected = 0;
	app_say(app, app->at_events.all ? "All events, files that were simply opened or absent too."
					: "Without files that were simply opened or absent.");
}

static void raw(struct app *app, const char *argument)
{
	struct events_state *s = &app->at_events;
	(void) argument;
	s->raw = !s->raw;
	s->selected = s->top = 0;
	app_say(app,
		s->raw ? "Each event by itself, as it came." : "What is alike is one row, with a count.");
}

static void hide(struct app *app, const char *argument)
{
	(void) argument;
	make_order(app); /* what is chosen now, not what was when the last frame was drawn */
	const struct group *g = selected(app);
	if (!g)
		return;
	app->watch.groups.at[g - app->watch.groups.at].hidden = true;
	app_say(app, "Hidden: %.*s. U shows all again.", (int) g->what.len, g->what.text);
}

static void unhide(struct app *app, const char *argument)
{
	struct groups *g = &app->watch.groups;
	(void) argument;
	for (size_t i = 0; i < g->count; i++)
		g->at[i].hidden = false;
}

/* What the program printed when this happened, or next. */
static void at_output(struct app *app, const char *argument)
{
	struct run_state *run = &app->at_run;
	const struct ring *r = &app->watch.output;
	(void) argument;
	make_order(app);
	if (!selected(app) || r->next == r->first) {
		app_say(app, selected(app) ? "It printed nothing." : "No event is chosen.");
		return;
	}
	uint64_t line = ring_at(r, row_ns(app, app->at_events.selected));
	run->found = line + 1;
	run->staying = true;
	run->top = line > r->first + run->rows / 2 ? line - run->rows / 2 : r->first;
	app_show(app, &run_view);
	app_say(app, "The output at that moment. - goes back to the event.");
}

static void pane(struct app *app, const char *argument)
{
	(void) argument;
	app->at_events.on_detail = !app->at_events.on_detail;
}

/* clang-format off */
static const struct action actions[] = {
	{ "detail", NULL, "the chosen event alone", detail },
	{ "show", "NUMBER", "an event of the list by its number, in full", show },
	{ "filter", "[TEXT]", "show only events that hold a text", filter },
	{ "filter-off", NULL, "show all events again", filter_off },
	{ "sort", NULL, "by first time, or by how often", sort },
	{ "all", NULL, "with or without files that were simply opened or absent", all },
	{ "raw", NULL, "each event by itself, or grouped", raw },
	{ "hide", NULL, "put rows like the chosen one away", hide },
	{ "unhide", NULL, "show what was put away", unhide },
	{ "at-output", NULL, "the output at that moment", at_output },
	{ "pane", NULL, "the other pane takes the arrow keys", pane },
	{ .name = NULL },
};
/* clang-format on */

const struct view events_view = {
	.id = VIEW_EVENTS,
	.title = "Events",
	.means = "What the run tried and what became of it. Same things are one row with a count. The detail "
		 "says which layer answered, how certain that is, and what in a preset would allow it.",
	.actions = actions,
	.draw = events_draw,
	.status = run_status,
	.sentence = events_sentence,
	.move = events_move,
	.find = events_find,
	.back = events_back,
	.tell = events_tell,
};
