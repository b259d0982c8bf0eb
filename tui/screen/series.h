/* SPDX-License-Identifier: MIT */
/*
 * The history of a meter: one value for each tenth of a second, two minutes of them, and its picture as a
 * sparkline of eight heights. What is not known is shown as '?', never as nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

#define SERIES_SLOTS    1200
#define SERIES_SLOT_NS  UINT64_C(100000000)
#define SERIES_STEP_MAX 10 /* slots a column stands for at most: a second */
#define SERIES_UNKNOWN  (-1.0)

struct series {
	bool adds;      /* a slot is the sum of its values; else the last one, which holds until the next */
	uint64_t count; /* slots begun since the start */
	double slot[SERIES_SLOTS];
};

void series_init(struct series *s, bool adds);
void series_add(struct series *s, uint64_t t_ns, double value);
/* series_step: slots a column must hold for the time until now to fit, from 0.1 s to 1 s a column. */
unsigned series_step(uint64_t t_ns, int columns);
/* series_sum: of the newest slots, up to now. */
double series_sum(const struct series *s, uint64_t t_ns, unsigned slots);
/*
 * series_spark: `columns` characters, the newest at the right, `step` slots each. `top` is the full height
 * (0: the highest value shown). Columns before the start are blank. Appended as UTF-8.
 */
void series_spark(const struct series *s, uint64_t t_ns, int columns, unsigned step, double top,
		  struct buf *out);
