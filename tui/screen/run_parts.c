/* SPDX-License-Identifier: MIT */
/*
 * Meters, boundary, result and ticker of the Run screen. Words come before colour, numbers name their limit,
 * and only what has an effect on the host or is not known gets a badge.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/screen/run_parts.h"

const char *const meter_labels[METER_MAX] = { "CPU", "MEM", "PIDS", "WRITES", "DENIED" };

#define LABEL_COLUMNS 7
#define SPARK_COLUMNS 24
#define VALUE_COLUMNS 8
#define WORD_COLUMNS  13 /* two blanks, NEAR LIMIT, one blank */

/* What stands beside the spark, at this width: value, limit, peak, word. The word always fits. */
static int spark_columns(int columns, bool with_source)
{
	int bounds = with_source ? 10 : columns >= 70 ? 24 : columns >= 56 ? 12 : 0;
	int room = columns - 1 - LABEL_COLUMNS - VALUE_COLUMNS - bounds - WORD_COLUMNS;
	return room < 0 ? 0 : room > SPARK_COLUMNS ? SPARK_COLUMNS : room;
}

/* Where the numbers come from, and how old they are when they should be younger. */
static void sources_words(const struct watch *w, char *words, size_t size)
{
	struct clean last = { NULL, 0 };
	size_t len = 0;
	words[0] = '\0';
	for (int m = 0; m < METER_MAX && len < size; m++) {
		struct clean source = w->meters[m].source;
		if (source.len == 0 || (last.text && strcmp(last.text, source.text) == 0))
			continue;
		len += (size_t) snprintf(words + len, size - len, "%s%.*s", len ? ", " : "  from ",
					 (int) source.len, source.text);
		last = source;
	}
	uint64_t age_ns = w->meter_ns && w->t_ns > w->meter_ns ? w->t_ns - w->meter_ns : 0;
	if (age_ns >= NS_PER_S && !w->ended && len < size)
		(void) snprintf(words + len, size - len, "  %llu s old",
				(unsigned long long) (age_ns / NS_PER_S));
}

void meters_title(const struct watch *w, int columns, bool with_source, char *title, size_t size)
{
	int sparks = spark_columns(columns, with_source);
	unsigned step = series_step(w->t_ns, sparks);
	char sources[120];
	sources_words(w, sources, sizeof(sources));
	int len = snprintf(title, size, "Meters, last %.*f s%s", step == SERIES_STEP_MAX ? 0 : 1,
			   (double) sparks * step / 10, w->meters_guest ? "  told by the guest" : "");
	if (len + (int) strlen(sources) + 6 < columns)
		(void) snprintf(title + len, size - (size_t) len, "%s", sources);
}

/* One word for each part of the boundary, from the run's own start event: what it does not say is a question mark. What
 * is the host's own stands out; in a machine of its own nothing is. */
/* clang-format off */
static const struct part {
	const char *label, *layer, *on, *off;
	bool of_host; /* so is what stands in `off` */
	bool wide;    /* else the row of the status has it */
} parts[] = {
	{ .label = "files", .layer = "mount-ns", .on = "own view", .off = "HOST'S", .of_host = true },
	{ .label = "processes", .layer = "pid-ns", .on = "own", .off = "HOST'S", .of_host = true },
	{ .label = "network", .layer = "net-ns", .on = "none", .off = "HOST'S", .of_host = true, .wide = true },
	{ .label = "user", .layer = "user-ns", .on = "own", .off = "HOST'S", .of_host = true },
	{ .label = "calls", .layer = "seccomp", .on = "filtered", .off = "ALL" },
	{ .label = "kernel", .layer = "vm", .on = "own", .off = "SHARED", .wide = true },
	{ .label = "tty", .layer = "terminal", .on = "none", .off = "?" },
};
/* clang-format on */

static int draw_part(const struct watch *w, const struct pane *row, int column, const struct part *p)
{
	bool said, vm_said;
	enum fact_state state = watch_layer(w, p->layer, &said);
	bool in_vm = watch_layer(w, "vm", &vm_said) == FACT_HOLDS && vm_said;
	bool holds = said && (state == FACT_HOLDS || state == FACT_PARTLY);
	const char *word = w->layer_count && !(p->of_host && in_vm) ? p->off : "?";
	if (holds)
		word = state == FACT_PARTLY ? "PARTLY" : p->on;
	column = pane_printf(row, 0, column, ROLE_TEXT, "%s ", p->label);
	return pane_put(row, 0, column, holds ? ROLE_STRONG : ROLE_UNKNOWN, word) + 2;
}

static const char *wall_words(const struct watch *w, char *buf, size_t size)
{
	for (int i = 0; i < w->limit_count; i++)
		if (strcmp(w->limits[i].name.text, "wall") == 0) {
			(void) snprintf(buf, size, "%.*s", (int) strcspn(w->limits[i].words.text, ","),
					w->limits[i].words.text);
			return buf;
		}
	return "?";
}

void draw_boundary_line(const struct watch *w, const struct pane *row)
{
	char wall[40];
	int column = 1;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (!parts[i].wide || row->columns >= 100)
			column = draw_part(w, row, column, &parts[i]);
	column = pane_put(row, 0, column, ROLE_TEXT, "time ");
	pane_printf(row, 0, column, ROLE_STRONG, "%s", wall_words(w, wall, sizeof(wall)));
}

const char *meter_amount(enum meter_name m, double value, char *buf, size_t size)
{
	if (value < 0)
		(void) snprintf(buf, size, "?");
	else if (m == METER_CPU)
		(void) snprintf(buf, size, "%.0f %%", value);
	else if (m == METER_MEMORY || m == METER_WRITES)
		(void) short_bytes((uint64_t) value, buf, size);
	else
		(void) snprintf(buf, size, "%.0f", value);
	return buf;
}

static const char *value_words(const struct watch *w, enum meter_name m, char *buf, size_t size)
{
	char number[32];
	if (m == METER_DENIED) {
		(void) snprintf(buf, size, "%.0f/s", series_sum(&w->meters[m].history, w->t_ns, 10));
		return buf;
	}
	(void) meter_amount(m, w->meters[m].value, number, sizeof(number));
	(void) snprintf(buf, size, "%s%s", number, m == METER_WRITES && w->meters[m].value >= 0 ? "/s" : "");
	return buf;
}

/* What stands behind the value: the limit, and the highest or the sum. */
static void bound_words(const struct watch *w, enum meter_name m, char *most, char *peak, size_t size)
{
	const struct meter *meter = &w->meters[m];
	char number[32];
	if (m == METER_DENIED) {
		(void) snprintf(most, size, "total %4s",
				short_bytes(meter->sum == UNKNOWN_U64 ? 0 : meter->sum, number,
					    sizeof(number)));
		(void) snprintf(peak, size, "%llu net", (unsigned long long) w->groups.stopped_net);
		return;
	}
	(void) snprintf(most, size, "max %6s",
			!w->started       ? "?"
			: meter->most > 0 ? meter_amount(m, meter->most, number, sizeof(number))
					  : "none");
	if (m == METER_WRITES)
		(void) snprintf(peak, size, "sum %6s", short_bytes(meter->sum, number, sizeof(number)));
	else
		(void) snprintf(peak, size, "peak %5s", meter_amount(m, meter->peak, number, sizeof(number)));
}

/* Where a second row follows, the limit stands right behind the value, and the rest goes below. */
static int draw_bounds(const struct watch *w, enum meter_name m, const struct pane *row, int column,
		       bool with_source)
{
	char most[48], peak[48], number[32];
	const struct meter *meter = &w->meters[m];
	if (with_source) {
		bool shown = meter->most > 0 && m != METER_WRITES;
		(void) snprintf(most, sizeof(most), "/ %s",
				meter_amount(m, meter->most, number, sizeof(number)));
		return pane_printf(row, 0, column + 1, ROLE_TEXT, "%-9s", shown ? most : "");
	}
	bound_words(w, m, most, peak, sizeof(most));
	if (row->columns >= 56)
		column = pane_printf(row, 0, column + 2, ROLE_TEXT, "%-10s", most);
	if (row->columns >= 70)
		column = pane_printf(row, 0, column + 2, ROLE_TEXT, "%-10s", peak);
	return column;
}

static void draw_meter(const struct watch *w, enum meter_name m, const struct pane *row, bool with_source)
{
	const struct meter *meter = &w->meters[m];
	char value[48];
	struct buf spark = { 0 };
	int sparks = spark_columns(row->columns, with_source), column = 1 + LABEL_COLUMNS;
	bool warn, scaled = m == METER_CPU || m == METER_MEMORY || m == METER_PROCESSES;
	const char *word = meter_word(w, m, &warn);
	pane_put(row, 0, 1, ROLE_STRONG, meter_labels[m]);
	series_spark(&meter->history, w->t_ns, sparks, series_step(w->t_ns, sparks), scaled ? meter->most : 0,
		     &spark);
	pane_put(row, 0, column, ROLE_SPARK, spark.data ? spark.data : "");
	buf_done(&spark);
	column = pane_printf(row, 0, column + sparks, ROLE_STRONG, "%*s", VALUE_COLUMNS,
			     value_words(w, m, value, sizeof(value)));
	column = draw_bounds(w, m, row, column, with_source);
	pane_put(row, 0, column + 2, warn ? ROLE_WARN : *word == '?' ? ROLE_UNKNOWN : ROLE_TEXT, word);
}

static void draw_source(const struct watch *w, enum meter_name m, const struct pane *row)
{
	const struct meter *meter = &w->meters[m];
	const struct groups *g = &w->groups;
	char peak[48], most[48];
	int column = 1 + LABEL_COLUMNS;
	if (m == METER_DENIED) {
		char calls[40] = "calls not watched";
		if (!watch_is_blind(w, LIST_DENIED))
			(void) snprintf(calls, sizeof(calls), "%llu calls",
					(unsigned long long) g->kind[EVENT_DENIED]);
		pane_printf(row, 0, column, ROLE_TEXT, "total %llu: %s  %llu net  %llu file",
			    (unsigned long long) g->stopped, calls, (unsigned long long) g->stopped_net,
			    (unsigned long long) g->stopped_file);
		return;
	}
	bound_words(w, m, most, peak, sizeof(peak));
	column = pane_printf(row, 0, column, ROLE_TEXT, "%s", peak);
	if (m == METER_WRITES)
		column = pane_printf(row, 0, column, ROLE_TEXT, "  %s", most);
	column = pane_put(row, 0, column + 2, ROLE_TEXT, meter->source.len ? "from " : "source not said");
	pane_clean(row, 0, column, ROLE_TEXT, meter->source);
}

int meters_height(const struct watch *w, bool with_source)
{
	return METER_MAX * (with_source ? 2 : 1) + watch_has_machine(w);
}

/* Beside the guest's own figures. */
static void draw_machine(const struct watch *w, const struct pane *row)
{
	struct pane words = pane_cut(row, 0, 1 + LABEL_COLUMNS, 1, row->columns - LABEL_COLUMNS - 2);
	struct buf text = { 0 };
	watch_machine_words(w, &text);
	pane_put(row, 0, 1, ROLE_STRONG, "HOST");
	if (pane_clean(&words, 0, 0, ROLE_TEXT, clean_scrubbed(text.data, text.len)) > words.columns)
		pane_put(&words, 0, words.columns - 1, ROLE_TEXT, "…");
	buf_done(&text);
}

void draw_meters(const struct watch *w, const struct pane *pane, bool with_source)
{
	for (int m = 0; m < METER_MAX; m++) {
		struct pane row = pane_cut(pane, m * (with_source ? 2 : 1), 0, 1, pane->columns);
		struct pane under = pane_cut(pane, m * 2 + 1, 0, 1, pane->columns);
		if (row.rows > 0)
			draw_meter(w, (enum meter_name) m, &row, with_source);
		if (with_source && under.rows > 0)
			draw_source(w, (enum meter_name) m, &under);
	}
	struct pane last = pane_cut(pane, meters_height(w, with_source) - 1, 0, 1, pane->columns);
	if (watch_has_machine(w) && last.rows > 0)
		draw_machine(w, &last);
}

void events_title(const struct watch *w, char *title, size_t size)
{
	char number[32];
	struct buf blind = { 0 };
	watch_blind_lists(w, &blind);
	(void) snprintf(title, size, "Events  %s stopped   3 shows all%s%s",
			count_words(w->groups.stopped, number, sizeof(number)), blind.len ? "   " : "",
			blind.len ? blind.data : "");
	buf_done(&blind);
}

void draw_group(const struct group *g, uint64_t t_ns, const struct pane *row, enum role role)
{
	char clock[32];
	int outcome = row->columns >= 100 ? 52 : row->columns >= 70 ? 46 : row->columns - 12;
	struct pane what = pane_cut(row, 0, 15, 1, outcome - 16);
	pane_put(row, 0, 1, role == ROLE_SELECTED ? role : ROLE_NUMBER,
		 clock_words(t_ns, clock, sizeof(clock)));
	pane_put(row, 0, 9, role == ROLE_SELECTED ? role : ROLE_STRONG, group_kind(g));
	if (pane_clean(&what, 0, 0, role, g->what) > what.columns)
		pane_put(&what, 0, what.columns - 1, role, "…");
	pane_put(row, 0, outcome, role, group_outcome(g));
	char count[24];
	int len = snprintf(count, sizeof(count), "x%llu", (unsigned long long) g->count);
	bool counted = g->count > 1 && row->columns >= 60;
	struct pane why =
		pane_cut(row, 0, outcome + 12, 1, row->columns - outcome - 12 - (counted ? len + 2 : 1));
	int end = g->why.len ? pane_clean(&why, 0, 0, role, g->why)
			     : pane_put(&why, 0, 0, role, layer_words(g->layer));
	if (end > why.columns)
		pane_put(&why, 0, why.columns - 1, role, "…");
	if (counted)
		pane_put(row, 0, row->columns - len - 1, role, count);
}

/* The groups that were touched last, the newest first. Returns how many. */
static int newest_groups(const struct groups *g, const struct group **newest, int most)
{
	int count = 0;
	for (uint64_t below = UINT64_MAX; count < most; below = newest[count++]->touched) {
		newest[count] = NULL;
		for (size_t i = 0; i < g->count; i++)
			if (!group_quiet(&g->at[i]) && g->at[i].touched < below &&
			    (!newest[count] || g->at[i].touched > newest[count]->touched))
				newest[count] = &g->at[i];
		if (!newest[count])
			break;
	}
	return count;
}

void draw_talk(const struct watch *w, const struct pane *pane)
{
	const struct group *newest[12];
	struct pane text = pane_cut(pane, 0, 2, pane->rows, pane->columns - 4);
	int row = 1, count = newest_groups(&w->groups, newest, ARRAY_LEN(newest));
	if (w->ended) {
		struct buf words = { 0 };
		buf_printf(&words, "%s  %s", verdict_badge(w->verdict), verdict_words(w->verdict));
		row += pane_wrapped(&text, row, ROLE_STRONG, clean_scrubbed(words.data, words.len)) + 1;
		buf_done(&words);
	}
	if (count == 0)
		pane_put(&text, row, 0, ROLE_STRONG, "Nothing worth a word has happened yet.");
	for (int i = 0; i < count && row < pane->rows; i++) {
		struct buf words = { 0 };
		group_sentence(newest[i], &words);
		row += pane_wrapped(&text, row, ROLE_STRONG, clean_scrubbed(words.data, words.len)) + 1;
		buf_done(&words);
	}
}

/* The newest at the bottom. */
void draw_ticker(const struct watch *w, const struct pane *pane)
{
	const struct group *newest[16];
	int most = pane->rows < (int) ARRAY_LEN(newest) ? pane->rows : (int) ARRAY_LEN(newest);
	int count = newest_groups(&w->groups, newest, most);
	if (count == 0)
		pane_put(pane, 0, 1, ROLE_TEXT, "None so far.");
	for (int row = 0; row < count; row++) {
		struct pane line = pane_cut(pane, row, 0, 1, pane->columns);
		draw_group(newest[count - 1 - row], newest[count - 1 - row]->last_ns, &line, ROLE_TEXT);
	}
}

static enum role badge_role(enum fact_state state)
{
	return state == FACT_MISSING ? ROLE_EFFECT : ROLE_UNKNOWN;
}

static int draw_fact(const struct fact *f, const struct pane *pane, int row, bool with_proof)
{
	int column = 13;
	struct pane name = pane_cut(pane, row < 0 ? pane->rows : row, 1, 1, column - 2);
	pane_clean(&name, 0, 0, ROLE_STRONG, f->name);
	struct pane words = pane_cut(pane, 0, column, pane->rows, pane->columns - column - 1);
	int used = row;
	if (f->badge && row >= 0)
		pane_put(pane, row, column, badge_role(f->state), f->badge);
	if (f->badge)
		used++;
	used += pane_wrapped(&words, used, ROLE_TEXT, f->words);
	if (with_proof && f->proof.len) {
		FREE char *proof = xprintf("seen in: %.*s", (int) f->proof.len, f->proof.text);
		used += pane_wrapped(&words, used, ROLE_TEXT, clean_scrubbed(proof, strlen(proof)));
	}
	return used > row ? used : row + 1;
}

int draw_layers(const struct watch *w, const struct pane *pane, int row, bool with_proof)
{
	if (w->layer_count == 0)
		pane_put(pane, row++, 1, ROLE_UNKNOWN,
			 w->started ? "The run does not say what isolates it." : "Not started yet.");
	for (int i = 0; i < w->layer_count; i++)
		row = draw_fact(&w->layers[i], pane, row, with_proof);
	return row;
}

int draw_limits(const struct watch *w, const struct pane *pane, int row, bool with_whole_proof)
{
	for (int i = 0; i < w->limit_count; i++) {
		const struct fact *f = &w->limits[i];
		pane_clean(pane, row, 1, ROLE_STRONG, f->name);
		int column = pane_clean(pane, row, 13, ROLE_TEXT, f->words), used = 1;
		if (f->badge)
			column = pane_put(pane, row, column + 1, badge_role(f->state), f->badge);
		column = column > 33 ? column + 2 : 34;
		struct pane proof = pane_cut(pane, 0, column, pane->rows, pane->columns - column - 1);
		if (with_whole_proof)
			used = pane_wrapped(&proof, row, ROLE_TEXT, f->proof);
		else
			pane_clean(pane, row, column, ROLE_TEXT, f->proof);
		row += used > 1 ? used : 1;
	}
	return row;
}

/* The sentence under the verdict: the run's own evidence, or why nothing of it ran. */
struct clean result_reason(const struct watch *w)
{
	return w->verdict == VERDICT_SETUP_ERROR && w->error.len ? w->error : w->evidence;
}

int result_height(const struct watch *w, int columns)
{
	int lines = columns > 0 ? (clean_columns(result_reason(w)) + columns - 1) / columns : 0;
	return 2 + (lines > 4 ? 4 : lines);
}

void result_numbers(const struct watch *w, struct buf *out)
{
	char text[48];
	buf_printf(out, w->wall_s >= 0 ? "wall %.3g s" : "wall ?", w->wall_s);
	buf_printf(out, w->cpu_s >= 0 ? ", cpu %.3g s" : ", cpu ?", w->cpu_s);
	buf_printf(out, " · peak %s", short_bytes(w->memory_peak, text, sizeof(text)));
	if (w->processes_peak != UNKNOWN_U64)
		buf_printf(out, ", %llu proc%s", (unsigned long long) w->processes_peak,
			   w->processes_peak == 1 ? "" : "s");
	buf_printf(out, " · wrote %s", short_bytes(w->written, text, sizeof(text)));
	if (w->output_dropped)
		buf_printf(out, " · %s of output dropped",
			   short_bytes(w->output_dropped, text, sizeof(text)));
}

/* "SIGKILL, status 137." */
static int draw_status(const struct watch *w, const struct pane *text, int column)
{
	if (w->signal.len)
		column = pane_clean(text, 0, column + 1, ROLE_TEXT, w->signal);
	if (w->status >= 0)
		column = pane_printf(text, 0, column, ROLE_TEXT,
				     w->signal.len ? ", status %lld." : " Status %lld.",
				     (long long) w->status);
	return column;
}

void draw_result(const struct watch *w, const struct pane *pane)
{
	struct pane text = pane_cut(pane, 0, 1, pane->rows, pane->columns - 2);
	enum role role = w->verdict == VERDICT_LOST ? ROLE_UNKNOWN : ROLE_STRONG;
	int column = pane_put(&text, 0, 0, role, verdict_badge(w->verdict));
	column = pane_put(&text, 0, column + 2, ROLE_TEXT, verdict_words(w->verdict));
	column = draw_status(w, &text, column);
	if (w->processes_left != UNKNOWN_U64 && w->processes_left > 0)
		pane_printf(&text, 0, column + 1, ROLE_EFFECT, "%llu PROCESSES LEFT",
			    (unsigned long long) w->processes_left);
	int row = 1 + pane_wrapped(&text, 1, ROLE_TEXT, result_reason(w));
	struct buf numbers = { 0 };
	result_numbers(w, &numbers);
	column = pane_put(&text, row < pane->rows ? row : pane->rows - 1, 0, ROLE_TEXT,
			  numbers.data ? numbers.data : "");
	if (w->limits_met.len) {
		column = pane_put(&text, row, column, ROLE_TEXT, " · met: ");
		pane_clean(&text, row, column, ROLE_STRONG, w->limits_met);
	}
	buf_done(&numbers);
}

bool near_limit_words(const struct watch *w, struct buf *out)
{
	static const char *const names[METER_MAX] = { NULL, "Memory", "The number of processes",
						      "What it has written", NULL };
	for (int m = 0; m < METER_MAX; m++) {
		const struct meter *meter = &w->meters[m];
		char most[32];
		double level = m == METER_WRITES ? (meter->sum == UNKNOWN_U64 ? -1 : (double) meter->sum)
						 : meter->value;
		if (!names[m] || meter->most <= 0 || level < 0.9 * meter->most)
			continue;
		buf_printf(out, "%s is at %.0f %% of the limit of %s.", names[m], 100 * level / meter->most,
			   meter_amount((enum meter_name) m, meter->most, most, sizeof(most)));
		return true;
	}
	return false;
}
