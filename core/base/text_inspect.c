/* SPDX-License-Identifier: MIT */
/*
 * Looking at text without changing it: how many columns it takes, whether it is UTF-8, and what in a piece of
 * code is there to deceive its reader.
 */
#include "core/base/text.h"

#include <string.h>

#include "core/base/rune.h"

/* The next character of scrubbed text, with its columns. A byte that cannot be there counts as one. */
static size_t next_width(const uint8_t *p, size_t len, size_t *ret_columns)
{
	uint32_t rune;
	int n = rune_decode(p, len, &rune);
	if (n <= 0) {
		*ret_columns = 1;
		return 1;
	}
	enum rune_class class = rune_class(rune);
	*ret_columns = class == RUNE_WIDE ? 2 : class == RUNE_MARK || rune == '\n' ? 0 : 1;
	return (size_t) n;
}

size_t text_width(const char *scrubbed, size_t len)
{
	const uint8_t *p = (const uint8_t *) scrubbed, *end = p + len;
	size_t width = 0, columns;

	while (p < end) {
		p += next_width(p, (size_t) (end - p), &columns);
		width += columns;
	}
	return width;
}

size_t text_fit(const char *scrubbed, size_t len, size_t columns)
{
	const uint8_t *p = (const uint8_t *) scrubbed;
	size_t fit = 0, width = 0, more;

	while (fit < len) {
		size_t n = next_width(p + fit, len - fit, &more);
		if (width + more > columns)
			break;
		fit += n;
		width += more;
	}
	return fit;
}

bool text_is_utf8(const void *data, size_t len)
{
	const uint8_t *p = data, *end = p + len;
	uint32_t rune;

	while (p < end) {
		int n = rune_decode(p, (size_t) (end - p), &rune);
		if (n <= 0)
			return false;
		p += n;
	}
	return true;
}

struct inspection {
	struct text_findings *found;
	size_t line, length; /* where we are: number of the line, characters so far */
	bool selected;       /* the last character was a variation selector */
	bool lf;             /* some line ends in a bare newline */
};

static void line_ends(struct inspection *in)
{
	if (in->length > in->found->longest_line)
		in->found->longest_line = in->length;
	in->length = 0;
	in->line++;
}

static void count(const struct inspection *in, size_t *counter, size_t *first_line)
{
	if (++*counter == 1 && first_line)
		*first_line = in->line;
}

static void inspect_control(struct inspection *in, uint32_t rune)
{
	struct text_findings *f = in->found;
	if (rune == 0)
		count(in, &f->nuls, &f->first_nul_line);
	else if (rune != '\t')
		count(in, &f->controls, &f->first_control_line);
}

static void inspect_rune(struct inspection *in, uint32_t rune)
{
	struct text_findings *f = in->found;
	bool selector = rune == 0xfe0e || rune == 0xfe0f;

	switch (rune_class(rune)) {
	case RUNE_CONTROL:
		inspect_control(in, rune);
		break;
	case RUNE_BIDI:
		count(in, &f->bidi, &f->first_bidi_line);
		break;
	case RUNE_ZERO_WIDTH:
		/* One after a character chooses its look; rows of them are how data is hidden. */
		if (!selector || in->selected || in->length == 0)
			count(in, &f->zero_width, NULL);
		break;
	case RUNE_TAG:
		count(in, &f->tags, &f->first_tag_line);
		break;
	default:
		break;
	}
	in->selected = selector;
	in->length++;
}

/* Takes one line ending, and says how long it is; 0: there is none here. */
static size_t inspect_ending(struct inspection *in, const uint8_t *p, const uint8_t *end)
{
	size_t n = 1;
	if (*p == '\n') {
		in->lf = true;
	} else if (*p == '\r' && p + 1 < end && p[1] == '\n') {
		in->found->crlf = true;
		n = 2;
	} else if (*p == '\r') {
		in->found->lone_cr = true;
	} else {
		return 0;
	}
	line_ends(in);
	return n;
}

/* Nearly all of any code: printable ASCII, in which there is nothing to find. */
static size_t inspect_plain(struct inspection *in, const uint8_t *p, const uint8_t *end)
{
	const uint8_t *from = p;
	while (p < end && *p >= ' ' && *p < 0x7f)
		p++;
	size_t run = (size_t) (p - from);
	in->length += run;
	in->selected = in->selected && run == 0;
	return run;
}

void text_inspect(const char *code, size_t len, struct text_findings *ret)
{
	const uint8_t *p = (const uint8_t *) code, *end = p + len;
	struct inspection in = { .found = ret, .line = 1 };

	*ret = (struct text_findings){ 0 };
	if (len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
		ret->bom = true;
		p += 3;
	}
	while (p < end) {
		uint32_t rune;
		p += inspect_plain(&in, p, end);
		size_t ending = p < end ? inspect_ending(&in, p, end) : 0;
		p += ending;
		if (p == end || ending > 0)
			continue;
		int n = rune_decode(p, (size_t) (end - p), &rune);
		if (n > 0) {
			inspect_rune(&in, rune);
			p += n;
		} else {
			count(&in, &ret->invalid, &ret->first_invalid_line);
			in.length++;
			p += n < 0 ? -n : end - p;
		}
	}
	ret->lines = in.line - 1;
	if (in.length > 0) {
		line_ends(&in);
		ret->lines++;
	}
	ret->mixed_endings = in.lf + ret->crlf + ret->lone_cr > 1;
}
