/* SPDX-License-Identifier: MIT */
/*
 * A text to be read.
 */
#include "tui/screen/reader.h"

#include <string.h>

#include "core/base/base.h"

void reader_set(struct reader *r, const char *untrusted, size_t len, bool ascii)
{
	const char *end = untrusted + len;

	reader_done(r);
	while (untrusted < end) {
		const char *nl = memchr(untrusted, '\n', (size_t) (end - untrusted));
		const char *stop = nl ? nl : end;
		struct clean line = clean_line(untrusted, (size_t) (stop - untrusted), ascii);
		buf_add(&r->text, line.text, line.len);
		buf_add(&r->text, "\n", 1);
		clean_free(&line);
		untrusted = nl ? nl + 1 : end;
	}
}

void reader_done(struct reader *r)
{
	buf_done(&r->text);
	*r = (struct reader){ 0 };
}

/* The line from *at on; moves *at behind it. False: that was the last. */
static bool next_line(const struct reader *r, size_t *at, const char **ret, size_t *ret_len)
{
	if (*at >= r->text.len)
		return false;
	const char *line = r->text.data + *at, *nl = memchr(line, '\n', r->text.len - *at);
	*ret = line;
	*ret_len = (size_t) (nl - line);
	*at += *ret_len + 1;
	return true;
}

/* One line, wrapped; returns the rows that it takes. */
static int draw_line(const struct pane *pane, int row, int words, const char *line, size_t len,
		     enum role role)
{
	size_t cut = (size_t) words;
	bool labelled =
		words > 0 && len > cut && line[cut - 1] == ' ' && line[0] != ' ' && pane->columns > 2 * words;
	bool heading = len > 0 && line[0] == '#';

	if (heading)
		role = ROLE_STRONG;
	if (!labelled || heading) {
		int used = pane_wrapped(pane, row, role, clean_scrubbed(line + heading, len - heading));
		return used ? used : 1;
	}
	struct pane right = pane_cut(pane, 0, words, pane->rows, pane->columns - words);
	pane_clean(pane, row, 0, role == ROLE_TEXT ? ROLE_STRONG : role, clean_scrubbed(line, cut - 1));
	return pane_wrapped(&right, row, role, clean_scrubbed(line + cut, len - cut));
}

static int draw_from(const struct reader *r, const struct pane *pane, int row, int words)
{
	const char *line;
	size_t len, at = 0, number = 0;

	while (next_line(r, &at, &line, &len))
		row += draw_line(pane, row, words, line, len, ++number == r->found ? ROLE_FOUND : ROLE_TEXT);
	return row;
}

void reader_draw(struct reader *r, const struct pane *pane, int words)
{
	struct pane text = pane_cut(pane, 0, 1, pane->rows, pane->columns - 2);
	struct pane nowhere = pane_cut(&text, 0, 0, 0, text.columns); /* measured first, to stop at the end */

	r->rows = pane->rows > 0 ? pane->rows : 1;
	r->length = draw_from(r, &nowhere, 0, words);
	int last = r->length > r->rows ? r->length - r->rows : 0;
	r->top = r->top > last ? last : r->top;
	(void) draw_from(r, &text, -r->top, words);
	if (r->top < last)
		pane_put(pane, pane->rows - 1, pane->columns - 1, ROLE_MARK, "…");
}

void reader_tell(const struct reader *r, struct buf *out)
{
	const char *line;
	size_t len, at = 0;

	while (next_line(r, &at, &line, &len)) {
		bool heading = len > 0 && line[0] == '#';
		buf_add(out, line + heading, len - heading);
		buf_str(out, "\n");
	}
}

void reader_move(struct reader *r, enum move move)
{
	r->top = (int) scrolled((size_t) r->top, (size_t) r->rows, (size_t) r->length, move);
}

bool reader_find(struct reader *r, const char *text, bool back)
{
	const char *line;
	size_t len, at = 0, number = 0, before = 0, after = 0;

	while (next_line(r, &at, &line, &len)) {
		if (++number == r->found || !memmem(line, len, text, strlen(text)))
			continue;
		if (number < r->found)
			before = number;
		else if (!after)
			after = number;
	}
	r->found = back ? before : after;
	/* Close enough: lines above that were wrapped push it down, but never out of a pane of ten rows or more. */
	if (r->found)
		r->top = (int) r->found > r->rows / 2 ? (int) r->found - r->rows / 2 : 0;
	return r->found != 0;
}
