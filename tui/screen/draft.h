/* SPDX-License-Identifier: MIT */
/*
 * The code that waits to be run: where it came from, what is odd about it, what would run it under which
 * preset. Staging never runs anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"
#include "core/base/util.h"
#include "core/model/launch.h"
#include "tui/screen/cells.h"

struct err;
struct policy;

#define DRAFT_NOTES  16
#define DRAFT_STRIDE 256 /* every so many lines the index has a place */

struct draft_note { /* one thing to know before a run */
	bool warning;
	struct clean text;
};

#define DRAFT_PASTS    16
#define DRAFT_PAST_MAX (32u << 20) /* bytes of all of them; the oldest go first */

struct draft_past { /* what was staged before */
	char *code, *title;
	size_t len;
	const struct language *chosen;
};

struct draft {
	bool ascii;
	struct draft_past past[DRAFT_PASTS];
	int past_count;
	struct buf code;
	char *title;   /* as it came: file name or "-"; untrusted */
	char *arrival; /* our own sentence about how it came (a paste that closed itself), or NULL */
	const struct language *chosen; /* by the person, NULL: guessed */
	char **presets;
	size_t preset;         /* index of the chosen one */
	struct policy *policy; /* of the chosen preset; NULL when it cannot be loaded */

	/* Filled by draft_review. */
	bool reviewed, ready; /* ready: r would run it */
	struct text_findings found;
	const struct language *language;
	struct clean name, program;
	char sha256[65];
	size_t *index;
	struct draft_note notes[DRAFT_NOTES];
	int note_count;
};

void draft_init(struct draft *s, bool ascii);
void draft_done(struct draft *s);
/* draft_set: takes the place of what was staged. `arrival`: our own words, or NULL. -EFBIG beyond
 * CODE_MAX. */
int draft_set(struct draft *s, const char *title, const char *code, size_t len, const char *arrival,
	      struct err *e);
int draft_append(struct draft *s, const char *code, size_t len, struct err *e);
int draft_open(struct draft *s, const char *path, struct err *e);
void draft_cut(struct draft *s); /* takes the last character away */
void draft_clear(struct draft *s);
/* draft_remember: before a change that draft_undo is to take back. draft_set and draft_clear do it themselves. */
void draft_remember(struct draft *s);
bool draft_undo(struct draft *s); /* false: there is nothing to go back to */
int draft_preset(struct draft *s, const char *name, struct err *e);
void draft_preset_next(struct draft *s);
void draft_presets_again(
	struct draft *s); /* the files may have changed: names and the chosen policy are read anew */
int draft_language(struct draft *s, const char *name, struct err *e); /* NULL: the next one */

/* draft_review: looks at the code, once after each change. */
void draft_review(struct draft *s);
/* draft_line: the raw bytes of a line, without its newline. Borrows. NULL beyond the end. */
const char *draft_line(const struct draft *s, size_t number, size_t *ret_len);
/* draft_launch: a request for the staged code, under the chosen preset or another. Gives: launch_free. */
int draft_launch(struct draft *s, struct launch **ret, struct err *e);
int draft_launch_under(struct draft *s, const char *preset, struct launch **ret, struct err *e);
