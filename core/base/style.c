/* SPDX-License-Identifier: MIT */
/*
 * Styles: SGR in, SGR out. The parameters come in two grammars, 38;5;n and 38:5:n, and in the second 4:0 and 4:3 are
 * something else than 4. A reader that knows only one of them would take a colour's number for an attribute.
 */
#include "core/base/style.h"

#include <string.h>

#include "core/base/util.h"

#define PARTS_MAX 6 /* 38:2:SPACE:R:G:B */

/* One parameter and the parts that colons add to it. An empty one is 0, as the standard has it. */
struct parameter {
	unsigned part[PARTS_MAX];
	size_t count;
};

struct reader {
	const char *at, *end;
	bool over;
};

bool style_same(struct text_style a, struct text_style b)
{
	return a.fg == b.fg && a.bg == b.bg && a.bold == b.bold && a.underline == b.underline &&
	       a.reverse == b.reverse;
}

bool style_is_plain(struct text_style s)
{
	return style_same(s, (struct text_style){ 0 });
}

static unsigned read_number(struct reader *r)
{
	unsigned value = 0;
	for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
		value = value > 999 ? 9999 : value * 10 + (unsigned) (*r->at - '0');
	return value;
}

static bool read_parameter(struct reader *r, struct parameter *ret)
{
	if (r->over)
		return false;
	*ret = (struct parameter){ .count = 0 };
	for (;;) {
		unsigned value = read_number(r);
		if (ret->count < PARTS_MAX)
			ret->part[ret->count] = value;
		ret->count++;
		if (r->at == r->end || *r->at != ':')
			break;
		r->at++;
	}
	r->over = r->at == r->end;
	if (!r->over) /* past the semicolon */
		r->at++;
	return true;
}

/* The nearest in hue: a part counts when it is more than half of the strongest. */
static unsigned nearest(unsigned red, unsigned green, unsigned blue)
{
	unsigned most = red > green ? red : green;
	most = blue > most ? blue : most;
	if (most < 64)
		return STYLE_BLACK;
	return STYLE_BLACK + (2 * red > most) + 2 * (2 * green > most) + 4 * (2 * blue > most);
}

/* The cube of 6 x 6 x 6 has uneven steps. */
static unsigned cube_level(unsigned n)
{
	return n ? 55 + 40 * n : 0;
}

static unsigned of_256(unsigned n)
{
	if (n < 16)
		return STYLE_BLACK + n % 8;
	unsigned cube = n - 16;
	if (n < 232)
		return nearest(cube_level(cube / 36), cube_level(cube / 6 % 6), cube_level(cube % 6));
	return n < 244 ? STYLE_BLACK : STYLE_WHITE; /* greys */
}

/* 5 N, or 2 R G B. The old colour stays where that is none. */
static unsigned extended(unsigned old, unsigned kind, const unsigned *v)
{
	if (kind == 5 && v[0] < 256)
		return of_256(v[0]);
	if (kind == 2 && v[0] < 256 && v[1] < 256 && v[2] < 256)
		return nearest(v[0], v[1], v[2]);
	return old;
}

static unsigned colon_color(unsigned old, const struct parameter *p)
{
	if (p->count > PARTS_MAX || p->count < 3 || (p->part[1] == 2 && p->count < 5))
		return old;
	/* With six parts the third names a colour space; xterm and others leave it out. */
	return extended(old, p->part[1], p->part + (p->count == PARTS_MAX ? 3 : 2));
}

/* The parameters that follow belong to it, even where the colour is for something that we do not have. */
static unsigned semicolon_color(unsigned old, struct reader *r)
{
	struct parameter kind, value;
	unsigned v[3] = { 0 };
	if (!read_parameter(r, &kind))
		return old;
	size_t count = kind.part[0] == 5 ? 1 : kind.part[0] == 2 ? 3 : 0;
	for (size_t i = 0; i < count; i++) {
		if (!read_parameter(r, &value))
			return old;
		v[i] = value.part[0];
	}
	return extended(old, kind.part[0], v);
}

static void set_color(struct text_style *s, const struct parameter *p, struct reader *r)
{
	unsigned ground = p->part[0];
	unsigned old = ground == 38 ? s->fg : s->bg;
	unsigned color = p->count > 1 ? colon_color(old, p) : semicolon_color(old, r);
	if (ground == 38)
		s->fg = color & 0xf;
	else if (ground == 48) /* 58, the underline's, is not ours */
		s->bg = color & 0xf;
}

static void set_attribute(struct text_style *s, const struct parameter *p)
{
	unsigned n = p->part[0];
	if (n == 0)
		*s = (struct text_style){ 0 };
	else if (n == 1 || n == 22)
		s->bold = n == 1;
	else if (n == 4 || n == 21)
		s->underline = n == 21 || p->count == 1 || p->part[1] != 0;
	else if (n == 24)
		s->underline = 0;
	else if (n == 7 || n == 27)
		s->reverse = n == 7;
	else if ((n >= 30 && n <= 37) || (n >= 90 && n <= 97))
		s->fg = (STYLE_BLACK + n % 10) & 0xf;
	else if (n == 39)
		s->fg = STYLE_OWN;
	else if ((n >= 40 && n <= 47) || (n >= 100 && n <= 107))
		s->bg = (STYLE_BLACK + n % 10) & 0xf;
	else if (n == 49)
		s->bg = STYLE_OWN;
}

struct text_style style_sgr(struct text_style s, const char *parameters, size_t len)
{
	struct reader r = { .at = parameters, .end = parameters + len };
	struct parameter p;
	while (read_parameter(&r, &p)) {
		if (p.part[0] == 38 || p.part[0] == 48 || p.part[0] == 58)
			set_color(&s, &p, &r);
		else
			set_attribute(&s, &p);
	}
	return s;
}

struct text_style style_legible(struct text_style s)
{
	bool dark = s.bg == STYLE_BLACK || s.bg == STYLE_RED || s.bg == STYLE_BLUE || s.bg == STYLE_MAGENTA;
	if (s.bg == STYLE_OWN && (s.fg == STYLE_BLACK || s.fg == STYLE_WHITE))
		s.fg = STYLE_OWN;
	else if (s.bg != STYLE_OWN && s.fg == STYLE_OWN)
		s.fg = dark ? STYLE_WHITE : STYLE_BLACK;
	else if (s.bg == s.fg)
		s.bg = s.fg = STYLE_OWN;
	return s;
}

static void add_sgr(struct text_style s, struct buf *out)
{
	char sgr[24], *to = sgr;
	const char codes[] = { s.bold ? '1' : 0, s.underline ? '4' : 0, s.reverse ? '7' : 0 };
	const unsigned colors[] = { s.fg, s.bg };

	to = stpcpy(to, "\033[0");
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (codes[i]) {
			*to++ = ';';
			*to++ = codes[i];
		}
	for (size_t i = 0; i < ARRAY_LEN(colors); i++)
		if (colors[i] != STYLE_OWN) {
			*to++ = ';';
			*to++ = i ? '4' : '3';
			*to++ = (char) ('0' + colors[i] - STYLE_BLACK);
		}
	*to++ = 'm';
	buf_add(out, sgr, (size_t) (to - sgr));
}

void style_add(struct text_style s, const char *text, size_t len, struct buf *out)
{
	const char *end = text + len;
	s = style_legible(s);
	if (style_is_plain(s)) {
		buf_add(out, text, len);
		return;
	}
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t) (end - text));
		const char *stop = newline ? newline : end;
		if (stop > text) {
			add_sgr(s, out);
			buf_add(out, text, (size_t) (stop - text));
			buf_str(out, "\033[0m");
		}
		if (newline)
			buf_add(out, "\n", 1);
		text = newline ? newline + 1 : end;
	}
}
