/* SPDX-License-Identifier: MIT */
/*
 * What the screens show of runs, as lines: words in a fixed order, nothing that has to be seen. Each piece that comes
 * from elsewhere is one line whatever it holds, so that none can pass for a line of ours.
 */
#include <string.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "core/suite/suite.h"
#include "tui/screen/run_parts.h"

static void add_clean(struct buf *out, const char *before, struct clean text)
{
	if (text.len)
		buf_printf(out, "%s%.*s", before, (int) text.len, text.text);
}

void tell_output_line(const struct ring *r, uint64_t number, struct buf *out)
{
	const struct ring_line *line = ring_line(r, number);
	struct clean text = ring_text(r, number);
	buf_printf(out, "%s: %.*s", line->error ? "err" : "out", (int) text.len, text.text);
	if (line->over)
		buf_printf(out, " …+%u KiB", (unsigned) line->over);
	buf_str(out, "\n");
}

void tell_meter(const struct watch *w, enum meter_name m, struct buf *out)
{
	const struct meter *meter = &w->meters[m];
	char text[48];
	bool warn;
	const char *word = meter_word(w, m, &warn);
	if (m == METER_DENIED) {
		buf_printf(out, "%s %s: %llu stopped, %llu of them network, %llu files\n", meter_labels[m],
			   word, (unsigned long long) w->groups.stopped,
			   (unsigned long long) w->groups.stopped_net,
			   (unsigned long long) w->groups.stopped_file);
		return;
	}
	buf_printf(out, "%s %s: %s", meter_labels[m], *word == '?' ? "not known" : word,
		   meter_amount(m, meter->value, text, sizeof(text)));
	if (m == METER_WRITES)
		buf_printf(out, "/s, together %s", short_bytes(meter->sum, text, sizeof(text)));
	else
		buf_printf(out, ", peak %s", meter_amount(m, meter->peak, text, sizeof(text)));
	buf_printf(out, ", max %s",
		   !w->started       ? "?"
		   : meter->most > 0 ? meter_amount(m, meter->most, text, sizeof(text))
				     : "none");
	add_clean(out, w->meters_guest ? ", told by the guest, from " : ", from ", meter->source);
	buf_str(out, "\n");
}

void tell_meters(const struct watch *w, struct buf *out)
{
	for (int m = 0; m < METER_MAX; m++)
		tell_meter(w, (enum meter_name) m, out);
	if (!watch_has_machine(w))
		return;
	buf_str(out, "HOST: ");
	watch_machine_words(w, out);
	buf_str(out, "\n");
}

static void tell_fact(const struct fact *f, struct buf *out)
{
	buf_printf(out, "%.*s: ", (int) f->name.len, f->name.text);
	if (f->badge)
		buf_printf(out, "%s. ", f->badge);
	add_clean(out, "", f->words);
	add_clean(out, ", seen in ", f->proof);
	buf_str(out, "\n");
}

void tell_boundary(const struct watch *w, struct buf *out)
{
	if (w->layer_count == 0)
		buf_str(out,
			w->started ? "The run does not say what isolates it.\n" : "Nothing has run yet.\n");
	for (int i = 0; i < w->layer_count; i++)
		tell_fact(&w->layers[i], out);
	if (w->limit_count)
		buf_str(out, "Limits\n");
	for (int i = 0; i < w->limit_count; i++)
		tell_fact(&w->limits[i], out);
}

void tell_result(const struct watch *w, struct buf *out)
{
	buf_printf(out, "%s. %s", verdict_badge(w->verdict), verdict_words(w->verdict));
	add_clean(out, " ", w->signal);
	if (w->status >= 0)
		buf_printf(out, " Status %lld.", (long long) w->status);
	if (w->processes_left != UNKNOWN_U64 && w->processes_left > 0)
		buf_printf(out, " %llu PROCESSES LEFT.", (unsigned long long) w->processes_left);
	add_clean(out, "\n", result_reason(w));
	buf_str(out, "\n");
	result_numbers(w, out);
	add_clean(out, " · met: ", w->limits_met);
	buf_str(out, "\n");
}

void tell_group(const struct group *g, uint64_t t_ns, struct buf *out)
{
	char clock[32];
	buf_printf(out, "%s %s ", clock_words(t_ns, clock, sizeof(clock)), group_kind(g));
	add_clean(out, "", g->what);
	buf_printf(out, ": %s", group_outcome(g));
	if (g->why.len)
		add_clean(out, ", ", g->why);
	else if (*layer_words(g->layer))
		buf_printf(out, ", %s", layer_words(g->layer));
	if (g->count > 1)
		buf_printf(out, ", %llu times", (unsigned long long) g->count);
	buf_str(out, "\n");
}

void tell_text(const char *untrusted, bool ascii, struct buf *out)
{
	FREE char *line = text_line(untrusted, strlen(untrusted), ascii);
	buf_str(out, line);
}

void tell_comparison(const struct comparison *c, const struct compare_row *row, bool ascii, struct buf *out)
{
	buf_printf(out, "%s%s, ", row->differs ? "DIFFERS: " : "", row->section);
	tell_text(row->label, ascii, out);
	buf_str(out, "\n");
	for (size_t k = 0; k < comparison_columns(c); k++) {
		buf_str(out, "  ");
		tell_text(comparison_preset(c, k), ascii, out);
		buf_str(out, ": ");
		tell_text(row->cell[k] ? row->cell[k] : "-", ascii, out);
		buf_str(out, "\n");
	}
}
