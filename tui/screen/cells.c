/* SPDX-License-Identifier: MIT */
/*
 * The grid of cells and drawing into it. Every character passes cell_set, which is the last wall before the
 * terminal: controls, invisible and direction-changing characters never get into a cell, whoever asks.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "core/base/base.h"
#include "tui/screen/cells.h"

/* Lower case: text, upper case: badges and emphasis. In the order of enum role. */
static const char role_letters[ROLE_MAX + 1] = ".s-tkxnpmfWEU";
/* A target's own style: the digit of its foreground as SGR counts them, or emphasis alone. */
static const char style_letters[STYLE_COLORS + 1] = "*01234567";

/* What stands for our own symbols where there is no UTF-8. The eight blocks keep their order of height. */
/* clang-format off */
static const struct {
	uint32_t rune;
	char ascii;
} ascii_forms[] = {
	{ 0x2500, '-' }, { 0x2502, '|' }, { 0x250c, '+' }, { 0x2510, '+' }, { 0x2514, '+' },
	{ 0x2518, '+' }, { 0x251c, '+' }, { 0x2524, '+' }, { 0x2506, '!' }, { 0x2581, '_' },
	{ 0x2582, '.' }, { 0x2583, ':' }, { 0x2584, '-' }, { 0x2585, '=' }, { 0x2586, '+' },
	{ 0x2587, '*' }, { 0x2588, '#' }, { 0x25b6, '>' }, { 0x25a0, '#' }, { 0x25cf, '*' },
	{ 0x25cb, 'o' }, { 0x2026, '~' }, { 0x00b7, '-' }, { 0x2016, '=' },
};
/* clang-format on */

static char ascii_form(uint32_t rune)
{
	for (size_t i = 0; i < ARRAY_LEN(ascii_forms); i++)
		if (ascii_forms[i].rune == rune)
			return ascii_forms[i].ascii;
	return '?';
}

/* Zero-width characters that are no combining marks: they change how a line reads without being seen. */
static bool is_invisible(uint32_t r)
{
	/* clang-format off */
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x00ad, 0x00ad }, { 0x034f, 0x034f }, { 0x061c, 0x061c }, { 0x115f, 0x1160 },
		{ 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x200b, 0x200f }, { 0x2028, 0x202e },
		{ 0x2060, 0x206f }, { 0x3164, 0x3164 }, { 0xe000, 0xf8ff }, { 0xfe00, 0xfe0f },
		{ 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0x10ffff },
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
		if (r >= ranges[i].first && r <= ranges[i].last)
			return true;
	return false;
}

/* One character of UTF-8. Returns its bytes (at least 1, so that a caller moves on); what is not UTF-8
 * gives '?'. */
static size_t decode(const char *text, size_t len, uint32_t *ret_rune)
{
	const unsigned char *s = (const unsigned char *) text;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t need = s[0] < 0x80   ? 1
		      : s[0] < 0xc2 ? 0
		      : s[0] < 0xe0 ? 2
		      : s[0] < 0xf0 ? 3
		      : s[0] < 0xf5 ? 4
				    : 0;
	*ret_rune = '?';
	if (need == 0 || need > len)
		return 1;
	uint32_t rune = need == 1 ? s[0] : s[0] & (0x7fu >> need);
	for (size_t i = 1; i < need; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 1;
		rune = rune << 6 | (s[i] & 0x3f);
	}
	if (rune < least[need] || rune > 0x10ffff || (rune >= 0xd800 && rune < 0xe000))
		return 1;
	*ret_rune = rune;
	return need;
}

/* Columns of a character as we draw it; what may not be drawn has become '?' and 1. */
static int rune_columns(bool ascii, uint32_t *rune)
{
	if (*rune >= 0x20 && *rune < 0x7f)
		return 1;
	if (ascii) {
		*rune = (uint32_t) ascii_form(*rune);
		return 1;
	}
	int width = *rune < 0xa0 || is_invisible(*rune) ? -1 : wcwidth((wchar_t) *rune);
	if (width >= 0 && width <= 2)
		return width;
	*rune = '?';
	return 1;
}

static void cell_blank(struct grid_cell *c, enum role role)
{
	*c = (struct grid_cell){ .rune = ' ', .width = 1, .role = (uint8_t) role };
}

/* Puts a character of `width` columns. Half of a wide one that is written over goes altogether. */
static void cell_set(struct cells *c, int row, int column, const struct grid_cell *cell)
{
	struct grid_cell *line = c->at + (size_t) row * (size_t) c->columns;
	int width = cell->width;
	if (line[column].width == 0 && column > 0)
		cell_blank(&line[column - 1], line[column - 1].role);
	int last = column + width - 1;
	if (line[last].width == 2 && last + 1 < c->columns)
		cell_blank(&line[last + 1], line[last + 1].role);
	line[column] = *cell;
	if (width == 2)
		line[last] = (struct grid_cell){ .rune = ' ', .role = cell->role, .style = cell->style };
}

static void cell_mark(struct grid_cell *c, uint32_t rune)
{
	for (size_t i = 0; i < ARRAY_LEN(c->marks); i++)
		if (c->marks[i] == 0) {
			c->marks[i] = rune;
			return;
		}
}

static int clamp(int value, int least, int most)
{
	return value < least ? least : value > most ? most : value;
}

void cells_resize(struct cells *c, int rows, int columns)
{
	c->rows = clamp(rows, 1, CELLS_ROWS_MAX);
	c->columns = clamp(columns, 1, CELLS_COLUMNS_MAX);
	c->at = xrealloc(c->at, (size_t) c->rows * (size_t) c->columns * sizeof(*c->at));
	cells_clear(c);
}

void cells_clear(struct cells *c)
{
	for (int i = 0; i < c->rows * c->columns; i++)
		cell_blank(&c->at[i], ROLE_TEXT);
	c->cursor_row = -1;
	c->cursor_column = 0;
}

void cells_done(struct cells *c)
{
	free(c->at);
	*c = (struct cells){ 0 };
}

static void add_rune(struct buf *out, uint32_t r)
{
	char bytes[4];
	size_t len = 0;
	if (r < 0x80) {
		bytes[len++] = (char) r;
	} else if (r < 0x800) {
		bytes[len++] = (char) (0xc0 | r >> 6);
		bytes[len++] = (char) (0x80 | (r & 0x3f));
	} else {
		if (r < 0x10000) {
			bytes[len++] = (char) (0xe0 | r >> 12);
		} else {
			bytes[len++] = (char) (0xf0 | r >> 18);
			bytes[len++] = (char) (0x80 | (r >> 12 & 0x3f));
		}
		bytes[len++] = (char) (0x80 | (r >> 6 & 0x3f));
		bytes[len++] = (char) (0x80 | (r & 0x3f));
	}
	buf_add(out, bytes, len);
}

void cells_dump(const struct cells *c, struct buf *out)
{
	for (int row = 0; row < c->rows; row++) {
		const struct grid_cell *line = c->at + (size_t) row * (size_t) c->columns;
		int end = c->columns;
		while (end > 0 && line[end - 1].rune == ' ' && line[end - 1].width == 1)
			end--;
		for (int i = 0; i < end; i++) {
			if (line[i].width == 0)
				continue;
			add_rune(out, line[i].rune);
			for (size_t m = 0; m < ARRAY_LEN(line[i].marks) && line[i].marks[m]; m++)
				add_rune(out, line[i].marks[m]);
		}
		buf_str(out, "\n");
	}
}

void cells_dump_roles(const struct cells *c, struct buf *out)
{
	for (int row = 0; row < c->rows; row++) {
		for (int i = 0; i < c->columns; i++) {
			const struct grid_cell *cell = &c->at[row * c->columns + i];
			buf_add(out,
				style_is_plain(cell->style) ? &role_letters[cell->role]
							    : &style_letters[cell->style.fg],
				1);
		}
		buf_str(out, "\n");
	}
}

struct clean clean_line(const char *untrusted, size_t len, bool ascii)
{
	char *text = text_line(untrusted, len, ascii);
	return (struct clean){ .text = text, .len = strlen(text) };
}

struct clean clean_str(const char *untrusted, bool ascii)
{
	return clean_line(untrusted ? untrusted : "", untrusted ? strlen(untrusted) : 0, ascii);
}

void clean_free(struct clean *c)
{
	free((char *) c->text);
	*c = (struct clean){ 0 };
}

struct clean clean_scrubbed(const char *scrubbed, size_t len)
{
	return (struct clean){ .text = scrubbed, .len = len };
}

int clean_columns(struct clean text)
{
	int columns = 0;
	for (size_t i = 0; i < text.len;) {
		uint32_t rune;
		i += decode(text.text + i, text.len - i, &rune);
		columns += rune_columns(false, &rune);
	}
	return columns;
}

struct pane pane_all(struct cells *c)
{
	return (struct pane){ .on = c, .rows = c->rows, .columns = c->columns };
}

struct pane pane_cut(const struct pane *p, int row, int column, int rows, int columns)
{
	row = clamp(row, 0, p->rows);
	column = clamp(column, 0, p->columns);
	return (struct pane){
		.on = p->on,
		.row = p->row + row,
		.column = p->column + column,
		.rows = clamp(rows, 0, p->rows - row),
		.columns = clamp(columns, 0, p->columns - column),
	};
}

/* A run of text being put: where the pen is, counted from the text's own first column, and what is
 * scrolled away. */
struct pen {
	const struct pane *pane;
	int row, column, start, shift;
	enum role role;
	struct text_style style;
};

static void pen_rune(struct pen *pen, uint32_t rune)
{
	struct cells *c = pen->pane->on;
	int width = rune_columns(c->ascii, &rune);
	int column = pen->start + pen->column - pen->shift;
	bool inside = column >= 0 && column + (width ? width : 1) <= pen->pane->columns && pen->row >= 0 &&
		      pen->row < pen->pane->rows;
	pen->column += width;
	if (width == 0) {
		if (column > pen->start && column <= pen->pane->columns && pen->row >= 0 &&
		    pen->row < pen->pane->rows)
			cell_mark(&c->at[(pen->pane->row + pen->row) * c->columns + pen->pane->column +
					 column - 1],
				  rune);
		return;
	}
	struct grid_cell cell = { .rune = rune, .width = (uint8_t) width, .role = (uint8_t) pen->role };
	if (pen->role == ROLE_TEXT)
		cell.style = pen->style;
	if (inside && column >= pen->start)
		cell_set(c, pen->pane->row + pen->row, pen->pane->column + column, &cell);
}

static void pen_text(struct pen *pen, const char *text, size_t len)
{
	enum role base = pen->role;
	int limit = pen->pane->columns + pen->shift - pen->start;
	for (size_t i = 0; i < len && pen->column <= limit;) {
		uint32_t rune;
		i += decode(text + i, len - i, &rune);
		if (rune == '\t') {
			do
				pen_rune(pen, ' ');
			while (pen->column % 8 != 0);
			continue;
		}
		if (rune == 0x27e8) /* the bracket in which the scrubber shows what it took out */
			pen->role = base == ROLE_SELECTED ? base : ROLE_MARK;
		pen_rune(pen, rune);
		if (rune == 0x27e9)
			pen->role = base;
	}
}

int pane_put(const struct pane *p, int row, int column, enum role role, const char *words)
{
	struct pen pen = { .pane = p, .row = row, .start = column, .role = role };
	pen_text(&pen, words, strlen(words));
	return column + pen.column;
}

int pane_printf(const struct pane *p, int row, int column, enum role role, const char *fmt, ...)
{
	char words[CELLS_COLUMNS_MAX];
	va_list ap;
	va_start(ap, fmt);
	(void) vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	return pane_put(p, row, column, role, words);
}

int pane_clean(const struct pane *p, int row, int column, enum role role, struct clean text)
{
	struct pen pen = { .pane = p, .row = row, .start = column, .role = role };
	pen_text(&pen, text.text, text.len);
	return column + pen.column;
}

int pane_scrolled(const struct pane *p, int row, enum role role, struct clean text, int shift)
{
	struct pen pen = { .pane = p, .row = row, .shift = shift, .role = role };
	pen_text(&pen, text.text, text.len);
	return pen.column - shift;
}

int pane_styled(const struct pane *p, int row, int from, struct text_style style, struct clean piece,
		int shift)
{
	struct pen pen = {
		.pane = p, .row = row, .column = from, .shift = shift, .style = style_legible(style)
	};
	pen_text(&pen, piece.text, piece.len);
	return pen.column;
}

/* Bytes of the first line when `text` is broken at `columns`: up to the last blank that fits, or cut. */
static size_t line_break(struct clean text, int columns)
{
	int used = 0;
	size_t blank = 0;
	for (size_t i = 0; i < text.len;) {
		uint32_t rune;
		size_t bytes = decode(text.text + i, text.len - i, &rune);
		used += rune_columns(false, &rune);
		if (used > columns)
			return text.text[i] == ' ' ? i : blank ? blank : i ? i : bytes;
		if (text.text[i] == ' ')
			blank = i;
		i += bytes;
	}
	return text.len;
}

int pane_wrapped(const struct pane *p, int row, enum role role, struct clean text)
{
	int used = 0;
	while (p->columns > 0 && text.len > 0) {
		size_t len = line_break(text, p->columns);
		pane_clean(p, row + used, 0, role, clean_scrubbed(text.text, len));
		used++;
		while (len < text.len && text.text[len] == ' ')
			len++;
		text = clean_scrubbed(text.text + len, text.len - len);
	}
	return used;
}

void pane_paint(const struct pane *p, int row, int column, int columns, enum role role)
{
	struct pane part = pane_cut(p, row, column, 1, columns);
	for (int i = 0; part.rows > 0 && i < part.columns; i++) {
		struct grid_cell *cell = &part.on->at[part.row * part.on->columns + part.column + i];
		cell->role = (uint8_t) role;
		cell->style = (struct text_style){ 0 };
	}
}

void pane_cursor(const struct pane *p, int row, int column)
{
	if (row < 0 || row >= p->rows || p->columns <= 0)
		return;
	p->on->cursor_row = p->row + row;
	p->on->cursor_column = p->column + clamp(column, 0, p->columns - 1);
}

static void rule(const struct pane *p, int row, const struct section *s, const char *left, const char *right)
{
	for (int i = 1; i < p->columns - 1; i++)
		pane_put(p, row, i, ROLE_BORDER, "─");
	pane_put(p, row, 0, ROLE_BORDER, left);
	pane_put(p, row, p->columns - 1, ROLE_BORDER, right);
	if (!s || !s->title || p->columns < 8)
		return;
	struct pane title = pane_cut(p, row, 2, 1, p->columns - 4);
	int end = pane_printf(&title, 0, 0, s->focus ? ROLE_STRONG : ROLE_TEXT, " %s ", s->title);
	if (end > title.columns && title.columns > 1) /* a cut title ends as one */
		pane_put(&title, 0, title.columns - 2, ROLE_BORDER, "… ");
}

/* How many rows the section without a size of its own gets. */
static int rows_left(const struct pane *p, const struct section *s, int count, enum box_edges edges)
{
	int left = p->rows - count - (edges & BOX_BOTTOM_OPEN ? 0 : 1);
	for (int i = 0; i < count; i++)
		left -= s[i].rows < 0 ? 0 : s[i].rows;
	return left < 0 ? 0 : left;
}

void box_stack(const struct pane *p, struct section *s, int count, enum box_edges edges)
{
	int rest = rows_left(p, s, count, edges), row = 0;
	for (int i = 0; i < count; i++) {
		bool first = i == 0 && !(edges & BOX_TOP_JOINED);
		rule(p, row, &s[i], first ? "┌" : "├", first ? "┐" : "┤");
		int rows = s[i].rows < 0 ? rest : s[i].rows;
		for (int r = row + 1; r <= row + rows; r++) {
			pane_put(p, r, 0, ROLE_BORDER, "│");
			pane_put(p, r, p->columns - 1, ROLE_BORDER, "│");
		}
		/* One blank column between border and text: it is where a mark stands (a warning, the
		 * selected row). */
		s[i].in = pane_cut(p, row + 1, 1, rows, p->columns - 2);
		row += rows + 1;
	}
	if (!(edges & BOX_BOTTOM_OPEN))
		rule(p, row, NULL, "└", "┘");
}
