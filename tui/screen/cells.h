/* SPDX-License-Identifier: MIT */
/*
 * The grid that the screens draw into: characters with a role, not a colour. Views know only this; curses.c
 * carries the grid to the terminal, tests dump it as text. What a view can put here is of two kinds: words
 * of our own, and `struct clean`, which only the scrubber makes. Should a raw byte get here all the same, it
 * becomes '?'.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/style.h"

struct buf;

enum role {
	ROLE_TEXT,
	ROLE_STRONG, /* headings, values that matter */
	ROLE_BORDER,
	ROLE_TAB, /* the screen in front */
	ROLE_KEY, /* a key's name in the hint bar */
	ROLE_SELECTED,
	ROLE_NUMBER, /* line numbers, times */
	ROLE_SPARK,
	ROLE_MARK,    /* what stands for a removed or invisible character */
	ROLE_FOUND,   /* what a search found */
	ROLE_WARN,    /* NEAR LIMIT, LOOK, a warning before a run */
	ROLE_EFFECT,  /* badge: an effect on the host, a wall that does not stand */
	ROLE_UNKNOWN, /* badge: not known, not run, shared */
	ROLE_MAX,
};

struct grid_cell {
	uint32_t rune;
	uint32_t marks[2]; /* combining marks, 0: none */
	uint8_t width;     /* 1, 2, or 0 for the right half of a wide character */
	uint8_t role;
	struct text_style style; /* a target's own, legible; plain but in ROLE_TEXT */
};

struct cells {
	int rows, columns;
	bool ascii; /* borders, sparks and symbols in ASCII */
	struct grid_cell *at;
	int cursor_row, cursor_column; /* row -1: hidden */
};

#define CELLS_ROWS_MAX    500
#define CELLS_COLUMNS_MAX 1000

void cells_resize(struct cells *c, int rows, int columns); /* clamped to what is sane; clears */
void cells_clear(struct cells *c);
void cells_done(struct cells *c);
void cells_dump(const struct cells *c, struct buf *out);       /* the text, blanks at line ends cut */
void cells_dump_roles(const struct cells *c, struct buf *out); /* a letter a cell: see role_letters */

/* Text that a scrubber made: safe to show. A view of memory that somebody else owns, except from
 * clean_line. */
struct clean {
	const char *text;
	size_t len;
};
/* clean_line: one untrusted string as one line. Gives: clean_free. */
struct clean clean_line(const char *untrusted, size_t len, bool ascii);
struct clean clean_str(const char *untrusted,
		       bool ascii); /* of a C string; NULL is empty. Gives: clean_free */
void clean_free(struct clean *c);
/* clean_scrubbed: marks as clean what a scrubber of core has just made. Borrows. */
struct clean clean_scrubbed(const char *scrubbed, size_t len);

/* A rectangle of the grid. Everything drawn is relative to it and clipped at its edges, which may be
 * empty. */
struct pane {
	struct cells *on;
	int row, column, rows, columns;
};
struct pane pane_all(struct cells *c);
struct pane pane_cut(const struct pane *p, int row, int column, int rows, int columns);

/* Each returns the column after what was put. Words: our own text only. */
int pane_put(const struct pane *p, int row, int column, enum role role, const char *words);
int pane_printf(const struct pane *p, int row, int column, enum role role, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
int pane_clean(const struct pane *p, int row, int column, enum role role, struct clean text);
/* pane_scrolled: as pane_clean, without the first `shift` columns of the text. Tabs go to every eighth
 * column. */
int pane_scrolled(const struct pane *p, int row, enum role role, struct clean text, int shift);
/* pane_styled: as pane_scrolled, for one piece of a line: the text before it took `from` columns. Returns the columns with
 * this piece. */
int pane_styled(const struct pane *p, int row, int from, struct text_style style, struct clean piece,
		int shift);
/* pane_wrapped: breaks at blanks; returns the number of rows that the text takes, those outside the pane
 * included: on a pane without rows it only measures. `row` may be negative. */
int pane_wrapped(const struct pane *p, int row, enum role role, struct clean text);
void pane_paint(const struct pane *p, int row, int column, int columns,
		enum role role); /* changes the role alone */
void pane_cursor(const struct pane *p, int row, int column);
int clean_columns(struct clean text);

/* Boxes: one frame around sections that stand one above the other. rows < 0: this section takes what is
 * left. */
struct section {
	const char *title; /* our own words */
	int rows;
	bool focus;     /* has the keys: the title is strong */
	struct pane in; /* filled: where to draw, without the borders */
};
enum box_edges { BOX_CLOSED = 0, BOX_TOP_JOINED = 1, BOX_BOTTOM_OPEN = 2 };
void box_stack(const struct pane *p, struct section *sections, int count, enum box_edges edges);
