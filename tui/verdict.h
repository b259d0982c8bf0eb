/* SPDX-License-Identifier: MIT */
/*
 * The one line in which a run without screens says how it ended.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/base.h"
#include "core/model/model.h"

struct event;

/* What was counted on the way and is not in the exit event. */
struct tally {
	uint64_t denied;    /* calls refused; what was answered "not available" is no refusal */
	bool denied_unseen; /* they were not watched: none counted does not mean none made */
	bool some[LIST_MAX];
	char state[LIST_MAX][80];           /* as the start said it; empty: it did not */
	uint64_t removed[TEXT_REMOVED_MAX]; /* sequences taken out of what went to our terminal */
};

void tally_event(struct tally *t,
		 const struct event *ev); /* any event; removed sequences are counted by who removes */

/* tally_line: of each list that stayed empty, whether anybody looked: "files: watched, none seen; exec: not watched, by
 * exec = off", a line behind `before`, scrubbed; nothing where none is empty. Appended. */
void tally_line(const struct tally *t, const char *before, bool ascii, struct buf *out);

/* verdict_line: "ok in 0.05 s (cpu 0.03 s, memory peak 11 MiB, 0 denied)", without newline, scrubbed. Appended. */
void verdict_line(const struct event *exit, const struct tally *t, bool ascii, struct buf *out);
