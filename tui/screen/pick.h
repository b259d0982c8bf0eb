/* SPDX-License-Identifier: MIT */
/*
 * A list of which one row is chosen: where it is, and which part of it is in sight.
 */
#pragma once

#include <stddef.h>

#include "tui/screen/app.h"

struct pick {
	size_t selected, top, rows, count;
};
/* pick_fit: before drawing `rows` rows of a list of `count`: the chosen one is in it and in sight. */
void pick_fit(struct pick *p, int rows, size_t count);
void pick_move(struct pick *p, enum move move);
/* pick_mark: the cursor and the bar of the chosen row. */
void pick_mark(const struct pane *row);
