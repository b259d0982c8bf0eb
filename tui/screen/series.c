/* SPDX-License-Identifier: MIT */
/*
 * Meter histories and sparklines. Heights are block characters, which every fixed-width font has (braille is
 * missing in many); cells.c turns them into ASCII where there is no UTF-8.
 */
#include "core/base/base.h"
#include "tui/screen/series.h"

#define NOT_YET (-2.0) /* a slot for which no value came so far */

void series_init(struct series *s, bool adds)
{
	s->adds = adds;
	s->count = 0;
}

/* Slots are made up to the time of the value; those skipped stay NOT_YET. A clock that jumps far costs one
 * round. */
static void advance(struct series *s, uint64_t slot)
{
	if (slot >= s->count + SERIES_SLOTS)
		s->count = slot - SERIES_SLOTS + 1;
	while (s->count <= slot)
		s->slot[s->count++ % SERIES_SLOTS] = NOT_YET;
}

void series_add(struct series *s, uint64_t t_ns, double value)
{
	uint64_t slot = t_ns / SERIES_SLOT_NS;
	if (slot + SERIES_SLOTS <= s->count)
		return; /* older than what is kept */
	advance(s, slot);
	double *at = &s->slot[slot % SERIES_SLOTS];
	*at = s->adds && *at > 0 ? *at + value : value;
}

unsigned series_step(uint64_t t_ns, int columns)
{
	uint64_t slots = t_ns / SERIES_SLOT_NS + 1,
		 each = columns > 0 ? (slots - 1) / (uint64_t) columns + 1 : 1;
	return each > SERIES_STEP_MAX ? SERIES_STEP_MAX : (unsigned) each;
}

static double slot_at(const struct series *s, uint64_t slot)
{
	if (slot >= s->count || slot + SERIES_SLOTS < s->count)
		return NOT_YET;
	return s->slot[slot % SERIES_SLOTS];
}

double series_sum(const struct series *s, uint64_t t_ns, unsigned slots)
{
	uint64_t newest = t_ns / SERIES_SLOT_NS;
	double sum = 0;
	for (uint64_t i = 0; i < slots && i <= newest; i++) {
		double v = slot_at(s, newest - i);
		sum += v > 0 ? v : 0;
	}
	return sum;
}

/* One column: the highest of its slots, or their sum. A level that was not sampled holds its last value. */
static double column_value(const struct series *s, uint64_t first, unsigned step, double last)
{
	double value = NOT_YET;
	for (uint64_t slot = first; slot < first + step; slot++) {
		double v = slot_at(s, slot);
		if (v == NOT_YET)
			continue;
		if (value < 0)
			value = v;
		else if (v >= 0)
			value = s->adds ? value + v : v > value ? v : value;
	}
	if (value != NOT_YET)
		return value;
	return s->adds ? 0 : last;
}

static const char *block(double value, double top)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	if (value < 0)
		return "?";
	if (value <= 0 || top <= 0)
		return blocks[0];
	double height = value / top * (double) (ARRAY_LEN(blocks) - 1) + 0.5;
	size_t level = height >= (double) ARRAY_LEN(blocks) ? ARRAY_LEN(blocks) - 1 : (size_t) height;
	return blocks[level == 0 ? 1 : level]; /* a little is told apart from nothing */
}

void series_spark(const struct series *s, uint64_t t_ns, int columns, unsigned step, double top,
		  struct buf *out)
{
	double values[SERIES_SLOTS];
	if (columns <= 0)
		return;
	if ((size_t) columns > ARRAY_LEN(values))
		columns = (int) ARRAY_LEN(values);
	uint64_t newest = t_ns / SERIES_SLOT_NS / step;
	double last = SERIES_UNKNOWN, highest = 0;
	for (int i = 0; i < columns; i++) {
		uint64_t back = (uint64_t) (columns - 1 - i);
		values[i] = back > newest ? NOT_YET : column_value(s, (newest - back) * step, step, last);
		last = values[i] == NOT_YET ? last : values[i];
		highest = values[i] > highest ? values[i] : highest;
	}
	for (int i = 0; i < columns; i++)
		buf_str(out, values[i] == NOT_YET ? " " : block(values[i], top > 0 ? top : highest));
}
