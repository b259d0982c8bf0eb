/* SPDX-License-Identifier: MIT */
/*
 * Comparison: the same code under several presets, a column each, a row for everything that can be told of all of them:
 * how it ended, what it used, what stood around it, what it printed, what it tried and what became of that. Learned from
 * events alone, so a recording can be a column too.
 */
#pragma once

/* clang-format off */

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct event;
struct comparison;

#define COMPARE_MAX 4

struct compare_row {
	const char *section;     /* "Result": ours; rows of one section stand together */
	char *label;             /* hostile bytes may stand in it, as in the cells: scrub before showing */
	char *cell[COMPARE_MAX]; /* NULL: this run has nothing of the kind (yet) */
	bool differs;            /* the cells are not alike; times and sizes: not within a factor of two */
	bool quiet;              /* files that were simply opened, or are on no machine: seen in every run */
};

struct comparison *comparison_new(const char *const *presets); /* NULL-terminated, at most COMPARE_MAX */
struct comparison *comparison_free(struct comparison *c);      /* accepts NULL, returns NULL */
/* comparison_take: an event of the run in a column. Borrows it. Memory is bounded: what finds no room is counted. */
void comparison_take(struct comparison *c, size_t column, const struct event *ev);
/* comparison_failed: that run did not come to its first event, and why. */
void comparison_failed(struct comparison *c, size_t column, const char *why);
size_t comparison_columns(const struct comparison *c);
const char *comparison_preset(const struct comparison *c, size_t column);
bool comparison_ended(const struct comparison *c, size_t column); /* or failed */
bool comparison_ran(const struct comparison *c, size_t column);   /* and something of the target did */
/* comparison_rows: as things stand. Borrowed until the next call with this comparison. Returns how many. */
size_t comparison_rows(struct comparison *c, const struct compare_row **ret);
/* {"columns":[{"preset":…}…],"rows":[{"section":…,"label":…,"cells":[…],"differs":…}…],"not_kept":n}. Appended. */
void comparison_json(struct comparison *c, struct buf *out);
