/* SPDX-License-Identifier: MIT */
/*
 * The parts of the Run screen: each draws one pane from what is known of the run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tui/screen/cells.h"
#include "tui/screen/watch.h"

struct compare_row;
struct comparison;

/* with_source: two rows each, the second says where the number comes from. */
void meters_title(const struct watch *w, int columns, bool with_source, char *title, size_t size);
int meters_height(const struct watch *w, bool with_source);
void draw_meters(const struct watch *w, const struct pane *pane, bool with_source);

/* draw_boundary_line: what isolates the run, a word for each part of it. */
void draw_boundary_line(const struct watch *w, const struct pane *row);

void events_title(const struct watch *w, char *title, size_t size);
void draw_ticker(const struct watch *w, const struct pane *pane);
/* draw_talk: the run for an audience: what it came to, and the newest events as sentences. */
void draw_talk(const struct watch *w, const struct pane *pane);
/* draw_group: one row of a list of events. */
void draw_group(const struct group *g, uint64_t t_ns, const struct pane *row, enum role role);

/* draw_layers: the walls, from `row` on (it may be negative: scrolled). Returns the row after them. */
int draw_layers(const struct watch *w, const struct pane *pane, int row, bool with_proof);
/* draw_limits: the same of limits, a line each where the proof may be cut. */
int draw_limits(const struct watch *w, const struct pane *pane, int row, bool with_whole_proof);

int result_height(const struct watch *w, int columns);
void draw_result(const struct watch *w, const struct pane *pane);
struct clean result_reason(const struct watch *w); /* the run's own evidence, or why nothing of it ran */
void result_numbers(const struct watch *w, struct buf *out);

extern const char *const meter_labels[METER_MAX];
const char *meter_amount(enum meter_name m, double value, char *buf, size_t size); /* "97 %", "251 M", "?" */

/* run_tell.c: the same as lines, for plain mode. Each ends with a newline, is scrubbed, and is appended. */
void tell_output_line(const struct ring *r, uint64_t number, struct buf *out);
void tell_meter(const struct watch *w, enum meter_name m, struct buf *out);
void tell_meters(const struct watch *w, struct buf *out);
void tell_boundary(const struct watch *w, struct buf *out);
void tell_result(const struct watch *w, struct buf *out);
void tell_group(const struct group *g, uint64_t t_ns, struct buf *out);
/* A row of a comparison: its label, then a line for each column. */
void tell_comparison(const struct comparison *c, const struct compare_row *row, bool ascii, struct buf *out);
void tell_text(const char *untrusted, bool ascii, struct buf *out); /* one line, without the newline */

/* near_limit_words: a sentence when something comes near its limit. False: nothing does. Appended. */
bool near_limit_words(const struct watch *w, struct buf *out);
