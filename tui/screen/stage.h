/* SPDX-License-Identifier: MIT */
/*
 * The code that waits to be run: where it came from, what is odd about it, what would run it under which preset.
 * Staging never runs anything.
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

#define STAGE_NOTES 16
#define STAGE_STRIDE 256 /* every so many lines the index has a place */

struct stage_note { /* one thing to know before a run */
	bool warning;
	struct clean text;
};

struct stage {
	bool ascii;
	struct buf code;
	char *title;             /* as it came: file name or "-"; untrusted */
	char *arrival;           /* our own sentence about how it came (a paste that closed itself), or NULL */
	const struct language *chosen; /* by the person, NULL: guessed */
	char **presets;
	size_t preset;           /* index of the chosen one */
	struct policy *policy;   /* of the chosen preset; NULL when it cannot be loaded */

	/* Filled by stage_review. */
	bool reviewed, ready;    /* ready: r would run it */
	struct text_findings found;
	const struct language *language;
	struct clean name, program;
	char sha256[65];
	size_t *index;
	struct stage_note notes[STAGE_NOTES];
	int note_count;
};

void stage_init(struct stage *s, bool ascii);
void stage_done(struct stage *s);
/* stage_set: takes the place of what was staged. `arrival`: our own words, or NULL. -EFBIG beyond CODE_MAX. */
int stage_set(struct stage *s, const char *title, const char *code, size_t len, const char *arrival, struct err *e);
int stage_append(struct stage *s, const char *code, size_t len, struct err *e);
int stage_open(struct stage *s, const char *path, struct err *e);
void stage_cut(struct stage *s); /* takes the last character away */
void stage_clear(struct stage *s);
int stage_preset(struct stage *s, const char *name, struct err *e);
void stage_preset_next(struct stage *s);
int stage_language(struct stage *s, const char *name, struct err *e); /* NULL: the next one */

/* stage_review: looks at the code, once after each change. */
void stage_review(struct stage *s);
/* stage_line: the raw bytes of a line, without its newline. Borrows. NULL beyond the end. */
const char *stage_line(const struct stage *s, size_t number, size_t *ret_len);
/* stage_launch: a request for the staged code. Gives: launch_free. */
int stage_launch(struct stage *s, struct launch **ret, struct err *e);
