/* SPDX-License-Identifier: MIT */
/*
 * The verdict as a line. Its first word is the verdict's, so that a reader of logs can look for it.
 */
#include "tui/verdict.h"

#include "core/model/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void take_states(struct tally *t, const struct event *start)
{
	for (int k = 0; k < LIST_MAX; k++) {
		const char *state = list_state(start, (enum run_list) k);
		snprintf(t->state[k], sizeof t->state[k], "%s", state ? state : "");
	}
	t->denied_unseen = *t->state[LIST_DENIED] && strcmp(t->state[LIST_DENIED], LIST_WATCHED) != 0;
}

void tally_event(struct tally *t, const struct event *ev)
{
	int list = list_of(ev);

	if (list >= 0)
		t->some[list] = true;
	if (ev->type == EVENT_START)
		take_states(t, ev);
	/* A library that asks for clone3 before each thread and falls back is not being denied anything. */
	if (ev->type == EVENT_DENIED && ev->denied.count != UNKNOWN_U64 && ev->outcome != OUTCOME_ABSENT)
		t->denied += ev->denied.count;
}

void tally_line(const struct tally *t, const char *before, bool ascii, struct buf *out)
{
	struct buf raw = { 0 };

	for (int k = 0; k < LIST_MAX; k++) {
		if (t->some[k])
			continue;
		buf_str(&raw, raw.len ? "; " : "");
		list_empty_words((enum run_list) k, *t->state[k] ? t->state[k] : NULL, &raw);
	}
	if (raw.len) {
		FREE char *line = text_line(raw.data, raw.len, ascii);
		buf_printf(out, "%s%s\n", before, line);
	}
	buf_done(&raw);
}

static void put_seconds(double s, struct buf *out)
{
	buf_printf(out, s < 0.01 ? "%.3f s" : "%.2f s", s);
}

static void put_figures(const struct event *exit, const struct tally *t, struct buf *out)
{
	char size[32];
	uint64_t memory = exit->exit.memory_peak;

	buf_str(out, " in ");
	put_seconds(exit->exit.wall_s < 0 ? 0 : exit->exit.wall_s, out);
	buf_str(out, " (");
	if (exit->exit.cpu_s >= 0) {
		buf_str(out, "cpu ");
		put_seconds(exit->exit.cpu_s, out);
		buf_str(out, ", ");
	}
	if (memory != UNKNOWN_U64)
		buf_printf(out, "memory peak %s, ", format_bytes(memory, size, sizeof size));
	if (t->denied_unseen)
		buf_str(out, "denied calls not watched)");
	else
		buf_printf(out, "%" PRIu64 " denied)", t->denied);
}

/* How it ended. Verdicts of the target's own say what it did, those of belljar on what evidence. */
static void put_end(const struct event *exit, const struct tally *t, struct buf *out)
{
	const char *evidence = exit->exit.evidence;

	buf_str(out, verdict_name(exit->exit.verdict));
	switch (exit->exit.verdict) {
	case VERDICT_OK:
		put_figures(exit, t, out);
		break;
	case VERDICT_FAILED:
		buf_printf(out, " with status %" PRId64, exit->exit.status);
		put_figures(exit, t, out);
		break;
	case VERDICT_SIGNALLED:
		buf_printf(out, " by %s", exit->exit.signal ? exit->exit.signal : "a signal");
		put_figures(exit, t, out);
		break;
	default:
		if (evidence && *evidence)
			buf_printf(out, ": %s", evidence);
		else if (exit->exit.wall_s >= 0)
			buf_printf(out, " after %.2f s", exit->exit.wall_s);
		break;
	}
}

static void put_limits_met(const struct event *exit, struct buf *out)
{
	for (size_t i = 0; i < exit->exit.limits_met_count; i++)
		buf_printf(out, "%s%s", i ? ", " : "; limits met: ", exit->exit.limits_met[i]);
}

static void put_dropped(uint64_t bytes, const char *stream, struct buf *out)
{
	char size[32];

	if (bytes > 0 && bytes != UNKNOWN_U64)
		buf_printf(out, "; %s of %s over the limit dropped", format_bytes(bytes, size, sizeof size),
			   stream);
}

static void put_removed(const struct tally *t, struct buf *out)
{
	const char *before = "; removed from the output: ";

	for (int i = 0; i < TEXT_REMOVED_MAX; i++) {
		if (!t->removed[i])
			continue;
		buf_printf(out, "%s%" PRIu64 " %s", before, t->removed[i],
			   text_removed_name((enum text_removed) i));
		before = ", ";
	}
}

void verdict_line(const struct event *exit, const struct tally *t, bool ascii, struct buf *out)
{
	struct buf raw = { 0 };
	uint64_t left = exit->exit.processes_left;

	put_end(exit, t, &raw);
	put_limits_met(exit, &raw);
	put_dropped(exit->exit.stdout_dropped, "stdout", &raw);
	put_dropped(exit->exit.stderr_dropped, "stderr", &raw);
	if (left > 0 && left != UNKNOWN_U64)
		buf_printf(&raw, "; %" PRIu64 " of its processes could not be ended", left);
	put_removed(t, &raw);

	FREE char *line = text_line(raw.data, raw.len, ascii);
	buf_str(out, line);
	buf_done(&raw);
}
