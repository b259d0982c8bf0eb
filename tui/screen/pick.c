/* SPDX-License-Identifier: MIT */
/*
 * The chosen row of a list.
 */
#include "tui/screen/pick.h"

void pick_fit(struct pick *p, int rows, size_t count)
{
	p->rows = rows > 0 ? (size_t) rows : 1;
	p->count = count;
	if (p->selected >= count)
		p->selected = count ? count - 1 : 0;
	if (p->selected < p->top)
		p->top = p->selected;
	if (p->selected >= p->top + p->rows)
		p->top = p->selected - p->rows + 1;
}

void pick_move(struct pick *p, enum move move)
{
	size_t rows = p->rows ? p->rows : 1;

	if (move == MOVE_LEFT || move == MOVE_RIGHT || p->count == 0)
		return;
	if (move == MOVE_BOTTOM)
		p->selected = p->count - 1;
	else
		p->selected = scrolled(p->selected, move == MOVE_UP || move == MOVE_DOWN ? 1 : rows,
				       p->count + rows - 1, move);
	if (p->selected >= p->count)
		p->selected = p->count - 1;
}

void pick_mark(const struct pane *row)
{
	pane_paint(row, 0, 0, row->columns, ROLE_SELECTED);
	pane_put(row, 0, 0, ROLE_SELECTED, ">");
	pane_cursor(row, 0, 0); /* where a screen reader and a magnifier look */
}
