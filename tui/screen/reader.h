/* SPDX-License-Identifier: MIT */
/*
 * A text to be read: lines of any length, broken at blanks, scrolled, searched. A line of the form "label   words" keeps
 * its words in their column.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tui/screen/app.h"

struct reader {
	struct buf text;       /* scrubbed, a newline behind each line */
	int top, rows, length; /* in rows of the pane, as it was drawn last */
	size_t found;          /* line number + 1; 0: none */
};
void reader_set(struct reader *r, const char *untrusted, size_t len,
		bool ascii); /* and goes to its beginning */
void reader_done(struct reader *r);
/* reader_draw: words that begin at column `words` of a line, behind a blank, are wrapped there; 0: whole lines are. Lines
 * that begin with a "#" are headings, and shown without it. */
void reader_draw(struct reader *r, const struct pane *pane, int words);
/* reader_tell: the lines without the mark of a heading. Appended. */
void reader_tell(const struct reader *r, struct buf *out);
void reader_move(struct reader *r, enum move move);
bool reader_find(struct reader *r, const char *text, bool back);
