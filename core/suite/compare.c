/* SPDX-License-Identifier: MIT */
/*
 * Columns of facts, and the rows that are made of them.
 */
#include "core/suite/suite.h"

#include "core/base/base.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HAPPENINGS_MAX 1024
#define OUTPUT_KEPT    (256u << 10) /* of each stream of each run: what is compared */

/* What is compared one by one, in the order of the rows. */
static const enum event_type happening_types[] = { EVENT_DENIED,   EVENT_NETWORK, EVENT_ALERT, EVENT_LIMIT,
						   EVENT_TERMINAL, EVENT_EXEC,    EVENT_FILE };

struct tried { /* one happening in one column */
	uint64_t count;
	enum outcome outcome;
	enum layer layer;
};
struct happening {
	enum event_type type;
	char *what;
	struct tried at[COMPARE_MAX];
};
struct column {
	char *preset, *failed, *waits; /* waits: for what, before its start */
	bool started, ended;
	struct event_limit limits[LIMIT_MAX]; /* names are limit_kinds' own, mechanisms ours */
	struct {
		char *name;
		enum layer_state state;
		char *detail;
	} layers[24];
	size_t limit_count, layer_count;
	struct buf output[STREAM_MAX];
	uint64_t bytes[STREAM_MAX];
	enum verdict verdict;
	int64_t status;
	char *signal, *evidence, *limits_met;
	double wall_s, cpu_s;
	uint64_t memory_peak, processes_peak, written, left;
};
struct comparison {
	struct column column[COMPARE_MAX];
	size_t columns;
	struct happening *happening;
	size_t happenings;
	uint64_t not_kept;
	struct compare_row *rows;
	size_t row_count;
};

struct comparison *comparison_new(const char *const *presets)
{
	struct comparison *c = xcalloc(1, sizeof(*c));

	for (; *presets && c->columns < COMPARE_MAX; presets++)
		c->column[c->columns++].preset = xstrdup(*presets);
	return c;
}

static void rows_clear(struct comparison *c)
{
	for (size_t i = 0; i < c->row_count; i++) {
		free(c->rows[i].label);
		for (size_t k = 0; k < COMPARE_MAX; k++)
			free(c->rows[i].cell[k]);
	}
	free(take_ptr(&c->rows));
	c->row_count = 0;
}

static void column_done(struct column *col)
{
	for (size_t i = 0; i < col->limit_count; i++)
		free((char *) col->limits[i].mechanism);
	for (size_t i = 0; i < col->layer_count; i++) {
		free(col->layers[i].name);
		free(col->layers[i].detail);
	}
	for (int s = 0; s < STREAM_MAX; s++)
		buf_done(&col->output[s]);
	char *const texts[] = { col->preset, col->failed,   col->waits,
				col->signal, col->evidence, col->limits_met };
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		free(texts[i]);
}

struct comparison *comparison_free(struct comparison *c)
{
	if (!c)
		return NULL;
	rows_clear(c);
	for (size_t i = 0; i < c->columns; i++)
		column_done(&c->column[i]);
	for (size_t i = 0; i < c->happenings; i++)
		free(c->happening[i].what);
	free(c->happening);
	free(c);
	return NULL;
}

size_t comparison_columns(const struct comparison *c)
{
	return c->columns;
}

const char *comparison_preset(const struct comparison *c, size_t column)
{
	return c->column[column].preset;
}

bool comparison_ended(const struct comparison *c, size_t column)
{
	return c->column[column].ended || c->column[column].failed;
}

bool comparison_ran(const struct comparison *c, size_t column)
{
	return c->column[column].ended && c->column[column].verdict != VERDICT_SETUP_ERROR;
}

void comparison_failed(struct comparison *c, size_t column, const char *why)
{
	if (!c->column[column].failed)
		c->column[column].failed = xstrdup(why);
}

/* ---- events ---- */

static const char *limit_own_name(const char *name)
{
	for (int i = 0; i < LIMIT_MAX; i++)
		if (name && strcmp(limit_kinds[i].name, name) == 0)
			return limit_kinds[i].name;
	return NULL;
}

static void take_start(struct column *col, const struct event *ev)
{
	if (col->started)
		return;
	col->started = true;
	free(take_ptr(&col->waits));
	for (size_t i = 0; i < ev->start.limit_count && col->limit_count < LIMIT_MAX; i++) {
		struct event_limit l = ev->start.limits[i];
		if (!(l.name = limit_own_name(l.name)))
			continue;
		l.mechanism = xstrdup(l.mechanism ? l.mechanism : "");
		col->limits[col->limit_count++] = l;
	}
	for (size_t i = 0; i < ev->start.layer_count && col->layer_count < ARRAY_LEN(col->layers); i++) {
		const struct event_layer *l = &ev->start.layers[i];
		col->layers[col->layer_count].name = xstrdup(l->name ? l->name : "?");
		col->layers[col->layer_count].state = l->state;
		col->layers[col->layer_count++].detail = xstrdup(l->detail ? l->detail : "");
	}
}

static void take_progress(struct column *col, const struct event *ev)
{
	if (col->started)
		return;
	free(col->waits);
	col->waits = xstrdup(ev->progress.text);
}

static void take_output(struct column *col, const struct event *ev)
{
	struct buf *kept = &col->output[ev->output.stream];
	size_t room = OUTPUT_KEPT - kept->len;

	col->bytes[ev->output.stream] += ev->output.len;
	buf_add(kept, ev->output.bytes, ev->output.len < room ? ev->output.len : room);
}

static void take_exit(struct column *col, const struct event *ev)
{
	struct buf met = { 0 };

	if (col->ended)
		return;
	col->ended = true;
	col->verdict = ev->exit.verdict;
	col->status = ev->exit.status;
	col->signal = ev->exit.signal ? xstrdup(ev->exit.signal) : NULL;
	col->evidence = xstrdup(ev->exit.evidence ? ev->exit.evidence : "");
	col->wall_s = ev->exit.wall_s;
	col->cpu_s = ev->exit.cpu_s;
	col->memory_peak = ev->exit.memory_peak;
	col->processes_peak = ev->exit.processes_peak;
	col->written = ev->exit.written;
	col->left = ev->exit.processes_left;
	for (size_t i = 0; i < ev->exit.limits_met_count; i++)
		buf_printf(&met, "%s%s", i ? ", " : "", ev->exit.limits_met[i]);
	col->limits_met = met.len ? buf_steal(&met) : xstrdup("none");
	buf_done(&met);
}

static struct happening *happening_of(struct comparison *c, enum event_type type, const char *what)
{
	for (size_t i = 0; i < c->happenings; i++)
		if (c->happening[i].type == type && strcmp(c->happening[i].what, what) == 0)
			return &c->happening[i];
	if (c->happenings == HAPPENINGS_MAX)
		return NULL;
	if (!c->happening)
		c->happening = xcalloc(HAPPENINGS_MAX, sizeof(*c->happening));
	c->happening[c->happenings] = (struct happening){ .type = type, .what = xstrdup(what) };
	return &c->happening[c->happenings++];
}

static uint64_t count_of(const struct event *ev)
{
	return ev->type == EVENT_DENIED    ? ev->denied.count
	       : ev->type == EVENT_NETWORK ? ev->network.count
	       : ev->type == EVENT_FILE    ? ev->file.count
					   : 1;
}

#define RUN_ID_LEN 26

/*
 * At a level without a view of its own the run's folders lie in one that is named after it, TMPDIR/belljar-UID/RUN/work:
 * no two runs would ever have touched the same file. They are told by the names that they have in a view.
 */
static char *by_common_name(const char *what)
{
	static const char *const names[][2] = { { "/work", "/workspace" },
						{ "/home", "/home/user" },
						{ "/tmp", "/tmp" } };
	const char *mark = strstr(what, "/belljar-"), *at = mark ? mark + strlen("/belljar-") : what;

	at += strspn(at, "0123456789");
	if (!mark || *at++ != '/' || strspn(at, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != RUN_ID_LEN)
		return xstrdup(what);
	const char *begin = mark;
	while (begin > what && begin[-1] != ' ')
		begin--;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t len = strlen(names[i][0]);
		if (strncmp(at + RUN_ID_LEN, names[i][0], len) == 0 && strchr("/ ", at[RUN_ID_LEN + len]))
			return xprintf("%.*s%s%s", (int) (begin - what), what, names[i][1],
				       at + RUN_ID_LEN + len);
	}
	return xstrdup(what);
}

static void take_happening(struct comparison *c, size_t column, const struct event *ev)
{
	struct buf what = { 0 };

	event_what(ev, &what);
	FREE char *common = by_common_name(what.data ? what.data : "");
	struct happening *h = happening_of(c, ev->type, common);
	if (h) {
		h->at[column].count += count_of(ev);
		h->at[column].outcome = ev->outcome;
		h->at[column].layer = ev->layer;
	} else {
		c->not_kept += count_of(ev);
	}
	buf_done(&what);
}

void comparison_take(struct comparison *c, size_t column, const struct event *ev)
{
	struct column *col = &c->column[column];

	switch (ev->type) {
	case EVENT_START:
		take_start(col, ev);
		break;
	case EVENT_PROGRESS:
		take_progress(col, ev);
		break;
	case EVENT_OUTPUT:
		take_output(col, ev);
		break;
	case EVENT_EXIT:
		take_exit(col, ev);
		break;
	default:
		for (size_t i = 0; i < ARRAY_LEN(happening_types); i++)
			if (happening_types[i] == ev->type)
				take_happening(c, column, ev);
		break;
	}
}

/* ---- rows ---- */

static struct compare_row *row_add(struct comparison *c, const char *section, const char *label)
{
	c->rows = xrealloc(c->rows, (c->row_count + 1) * sizeof(*c->rows));
	c->rows[c->row_count] = (struct compare_row){ .section = section, .label = xstrdup(label) };
	return &c->rows[c->row_count++];
}

/* Alike in the columns that have ended or, with `all`, in every one: a thing that one run never did is a difference. */
static void row_judge(const struct comparison *c, struct compare_row *row)
{
	const char *first = NULL;
	bool any = false;

	for (size_t k = 0; k < c->columns; k++) {
		const char *cell = row->cell[k] ? row->cell[k] : "";
		if (!comparison_ended(c, k))
			continue;
		row->differs |= any && strcmp(first, cell) != 0;
		first = cell;
		any = true;
	}
}

/* Times and sizes are never quite the same: only what is more than twice another is a difference. */
static void row_measured(struct comparison *c, const char *label, double (*value)(const struct column *),
			 void (*words)(double value, struct buf *out))
{
	struct compare_row *row = row_add(c, "Used", label);
	double least = -1, most = -1;

	for (size_t k = 0; k < c->columns; k++) {
		struct buf out = { 0 };
		double v = c->column[k].ended ? value(&c->column[k]) : -1;
		if (!c->column[k].ended)
			continue;
		if (v < 0)
			buf_str(&out, "?");
		else
			words(v, &out);
		row->cell[k] = buf_steal(&out);
		if (v < 0)
			continue;
		least = least < 0 || v < least ? v : least;
		most = v > most ? v : most;
	}
	row->differs = least >= 0 && most > 2 * least;
}

static double known(uint64_t v)
{
	return v == UNKNOWN_U64 ? -1 : (double) v;
}
static double wall_of(const struct column *col)
{
	return col->wall_s;
}
static double cpu_of(const struct column *col)
{
	return col->cpu_s;
}
static double memory_of(const struct column *col)
{
	return known(col->memory_peak);
}
static double processes_of(const struct column *col)
{
	return known(col->processes_peak);
}
static double written_of(const struct column *col)
{
	return known(col->written);
}

static void words_seconds(double v, struct buf *out)
{
	buf_printf(out, "%.2f s", v);
}
static void words_count(double v, struct buf *out)
{
	buf_printf(out, "%.0f", v);
}
static void words_bytes(double v, struct buf *out)
{
	char text[32];
	buf_str(out, format_bytes((uint64_t) v, text, sizeof(text)));
}

static void rows_result(struct comparison *c)
{
	struct compare_row *verdict = row_add(c, "Result", "verdict");

	for (size_t k = 0; k < c->columns; k++) {
		const struct column *col = &c->column[k];
		if (col->failed)
			verdict->cell[k] = xprintf("not run: %s", col->failed);
		else if (col->ended && col->signal)
			verdict->cell[k] = xprintf("%s, %s", verdict_name(col->verdict), col->signal);
		else if (col->ended && col->status > 0)
			verdict->cell[k] =
				xprintf("%s, status %" PRId64, verdict_name(col->verdict), col->status);
		else if (col->ended)
			verdict->cell[k] = xstrdup(verdict_name(col->verdict));
		else if (col->waits)
			verdict->cell[k] = xstrdup(col->waits);
	}
	row_judge(c, verdict);
	struct compare_row *evidence = row_add(c, "Result", "evidence");
	for (size_t k = 0; k < c->columns; k++)
		evidence->cell[k] = c->column[k].ended ? xstrdup(c->column[k].evidence) : NULL;
	evidence->differs = c->rows[c->row_count - 2].differs; /* numbers in it differ always */
	struct compare_row *met = row_add(c, "Result", "limits met");
	for (size_t k = 0; k < c->columns; k++)
		met->cell[k] = c->column[k].ended ? xstrdup(c->column[k].limits_met) : NULL;
	row_judge(c, met);
}

static void rows_used(struct comparison *c)
{
	row_measured(c, "wall", wall_of, words_seconds);
	row_measured(c, "cpu", cpu_of, words_seconds);
	row_measured(c, "memory peak", memory_of, words_bytes);
	row_measured(c, "processes peak", processes_of, words_count);
	row_measured(c, "written", written_of, words_bytes);
}

/* The first line in which a run's output is not as the first run's. */
static void output_words(const struct comparison *c, size_t k, enum stream s, struct buf *out)
{
	const struct buf *a = &c->column[0].output[s], *b = &c->column[k].output[s];
	char size[32];
	size_t line = 1, begin = 0, at = 0;

	buf_str(out, format_bytes(c->column[k].bytes[s], size, sizeof(size)));
	if (k == 0)
		return;
	while (at < a->len && at < b->len && a->data[at] == b->data[at]) {
		if (b->data[at++] == '\n') {
			line++;
			begin = at;
		}
	}
	if (at == a->len && at == b->len && c->column[0].bytes[s] == c->column[k].bytes[s]) {
		buf_str(out, c->column[k].bytes[s] > OUTPUT_KEPT ? ", the same as far as it was kept"
								 : ", the same");
		return;
	}
	size_t len = 0;
	while (begin + len < b->len && b->data[begin + len] != '\n' && len < 120)
		len++;
	buf_printf(out, ", other from line %zu on: %.*s", line, (int) len, b->len ? b->data + begin : "");
}

static void rows_output(struct comparison *c)
{
	for (int s = 0; s < STREAM_MAX; s++) {
		struct compare_row *row = row_add(c, "Output", stream_name((enum stream) s));
		for (size_t k = 0; k < c->columns; k++) {
			struct buf out = { 0 };
			if (!c->column[k].ended)
				continue;
			output_words(c, k, (enum stream) s, &out);
			row->cell[k] = buf_steal(&out);
			row->differs |= k > 0 && strstr(row->cell[k], ", other from line ") != NULL;
		}
	}
}

static void rows_layers(struct comparison *c)
{
	size_t begin = c->row_count;

	for (size_t k = 0; k < c->columns; k++)
		for (size_t i = 0; i < c->column[k].layer_count; i++) {
			struct compare_row *row = NULL;
			for (size_t n = begin; n < c->row_count && !row; n++)
				if (strcmp(c->rows[n].label, c->column[k].layers[i].name) == 0)
					row = &c->rows[n];
			if (!row)
				row = row_add(c, "Boundary", c->column[k].layers[i].name);
			free(row->cell[k]);
			row->cell[k] = xprintf("%s: %s", layer_state_name(c->column[k].layers[i].state),
					       c->column[k].layers[i].detail);
		}
	for (size_t n = begin; n < c->row_count; n++)
		row_judge(c, &c->rows[n]);
}

static char *limit_words(const struct event_limit *l, enum limit_name name)
{
	char value[40];

	if (l->asked == UNLIMITED)
		return xstrdup("unlimited");
	return xprintf("%s, %s", limit_format(name, l->asked, value, sizeof(value)),
		       l->grade == GRADE_NONE ? "NOT ENFORCED" : grade_name(l->grade));
}

static void rows_limits(struct comparison *c)
{
	for (int n = 0; n < LIMIT_MAX; n++) {
		struct compare_row *row = row_add(c, "Limits", limit_kinds[n].name);
		for (size_t k = 0; k < c->columns; k++)
			for (size_t i = 0; i < c->column[k].limit_count; i++)
				if (c->column[k].limits[i].name == limit_kinds[n].name)
					row->cell[k] =
						limit_words(&c->column[k].limits[i], (enum limit_name) n);
		row_judge(c, row);
	}
}

static bool tried_quiet(const struct happening *h, const struct comparison *c)
{
	for (size_t k = 0; k < c->columns; k++)
		if (h->at[k].count && h->at[k].outcome != OUTCOME_OPENED &&
		    h->at[k].outcome != OUTCOME_ABSENT && h->at[k].outcome != OUTCOME_UNKNOWN)
			return false;
	return h->type == EVENT_FILE;
}

/* Counts are told, but only what came of a thing makes a difference: how often a program tries depends on its luck. */
static void rows_tried_of(struct comparison *c, enum event_type type)
{
	for (size_t i = 0; i < c->happenings; i++) {
		const struct happening *h = &c->happening[i];
		if (h->type != type)
			continue;
		FREE char *label = xprintf("%s %s", event_type_name(h->type), h->what);
		struct compare_row *row = row_add(c, "What it tried", label);
		for (size_t k = 0; k < c->columns; k++) {
			const struct tried *t = &h->at[k];
			if (!t->count)
				continue;
			const char *outcome = t->outcome ? outcome_name(t->outcome) : "seen";
			row->cell[k] = t->layer ? xprintf("%s by %s", outcome, layer_name(t->layer))
						: xstrdup(outcome);
		}
		row->quiet = tried_quiet(h, c);
		row_judge(c, row);
		for (size_t k = 0; k < c->columns; k++)
			if (h->at[k].count > 1) {
				char *counted = xprintf("%s x%" PRIu64, row->cell[k], h->at[k].count);
				free(row->cell[k]);
				row->cell[k] = counted;
			}
	}
}

static void rows_tried(struct comparison *c)
{
	for (size_t i = 0; i < ARRAY_LEN(happening_types); i++)
		rows_tried_of(c, happening_types[i]);
}

size_t comparison_rows(struct comparison *c, const struct compare_row **ret)
{
	rows_clear(c);
	rows_result(c);
	rows_used(c);
	rows_output(c);
	rows_tried(c);
	rows_layers(c);
	rows_limits(c);
	*ret = c->rows;
	return c->row_count;
}

/* ---- JSON ---- */

static void json_string(const char *text, struct buf *out)
{
	if (text)
		json_text(text, strlen(text), out);
	else
		buf_str(out, "null");
}

void comparison_json(struct comparison *c, struct buf *out)
{
	const struct compare_row *rows;
	size_t count = comparison_rows(c, &rows);

	buf_str(out, "{\"columns\":[");
	for (size_t k = 0; k < c->columns; k++) {
		buf_str(out, k ? ",{\"preset\":" : "{\"preset\":");
		json_string(c->column[k].preset, out);
		buf_str(out, "}");
	}
	buf_str(out, "],\"rows\":[");
	for (size_t i = 0; i < count; i++) {
		buf_str(out, i ? ",{\"section\":" : "{\"section\":");
		json_string(rows[i].section, out);
		buf_str(out, ",\"label\":");
		json_string(rows[i].label, out);
		buf_str(out, ",\"cells\":[");
		for (size_t k = 0; k < c->columns; k++) {
			buf_str(out, k ? "," : "");
			json_string(rows[i].cell[k], out);
		}
		buf_printf(out, "],\"differs\":%s}", rows[i].differs ? "true" : "false");
	}
	buf_printf(out, "],\"not_kept\":%" PRIu64 "}", c->not_kept);
}
