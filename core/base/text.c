/* SPDX-License-Identifier: MIT */
/*
 * The scrubber's state machine. Bytes become characters first and sequences are looked for among characters,
 * as a UTF-8 terminal does it: 0x9b inside a letter is no CSI, U+009B is one, and a lone 0x9b is merely
 * invalid. (Taking that for a CSI, or 0x9e for a PM, would eat the text after each ž of a file in an old
 * Windows encoding.)
 *
 * Controls in the middle of an escape or CSI sequence are executed and the sequence goes on; CAN, SUB, ESC
 * and C1 end it: the rules of the VT500 parser. What terminals disagree on cannot hurt, since nothing but
 * printable text ever comes out.
 */
#include "core/base/text.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/rune.h"
#include "core/base/sequence.h"
#include "core/base/util.h"

#define STRING_MAX 4096 /* bytes; a stray "ESC ]" hides no more than this of what follows */
#define MARKS_MAX  2

#define BEL 0x07
#define CAN 0x18
#define SUB 0x1a
#define ESC 0x1b
#define DEL 0x7f
#define ST  0x9c

#define NOT_A_RUNE UINT32_MAX /* bytes that are not UTF-8 */

enum state {
	GROUND,
	ESCAPE, /* after ESC, its intermediates included */
	CSI,
	STRING,     /* OSC, DCS, SOS, PM, APC, title of screen(1) */
	STRING_ESC, /* ESC in one of those: its end, if a backslash follows */
};

/* clang-format off */
static const char *const removed_names[TEXT_REMOVED_MAX] = {
	[TEXT_CLIPBOARD] = "clipboard",
	[TEXT_TITLE] = "title",
	[TEXT_HYPERLINK] = "hyperlink",
	[TEXT_QUERY] = "query",
	[TEXT_SCREEN] = "screen",
	[TEXT_COLOUR] = "colour",
	[TEXT_STRING] = "string",
	[TEXT_ESCAPE] = "escape",
	[TEXT_CONTROL] = "control",
	[TEXT_BIDI] = "bidi",
	[TEXT_ZERO_WIDTH] = "zero-width",
	[TEXT_TAG] = "tag",
	[TEXT_PRIVATE] = "private",
	[TEXT_MARKS] = "marks",
	[TEXT_INVALID] = "invalid",
};
/* clang-format on */

const char *text_removed_name(enum text_removed kind)
{
	return removed_names[kind];
}

static void tell(const struct scrub *s, enum text_removed kind, size_t bytes)
{
	if (s->removed)
		s->removed(s->arg, kind, bytes);
}

static void show(struct scrub *s, struct buf *out, const char *what, size_t len)
{
	buf_str(out, s->ascii ? "<" : "\u27e8");
	buf_add(out, what, len);
	buf_str(out, s->ascii ? ">" : "\u27e9");
	s->in.room = 0; /* a mark that follows must not be drawn over the bracket */
}

static size_t put_hex(char *to, uint32_t value, unsigned digits)
{
	while (digits < 6 && value >> (4 * digits))
		digits++;
	for (unsigned i = 0; i < digits; i++)
		to[i] = "0123456789ABCDEF"[value >> (4 * (digits - 1 - i)) & 0xf];
	return digits;
}

static void show_rune(struct scrub *s, struct buf *out, uint32_t rune)
{
	char name[8] = "U+";
	show(s, out, name, 2 + put_hex(name + 2, rune, 4));
}

static void show_invalid(struct scrub *s, struct buf *out, const uint8_t *raw, size_t len)
{
	char digits[2];
	for (size_t i = 0; i < len; i++)
		show(s, out, digits, put_hex(digits, raw[i], 2));
	tell(s, TEXT_INVALID, len);
}

static void show_sequence(struct scrub *s, struct buf *out)
{
	const struct text_sequence *q = &s->in.sequence;
	char name[4 + sizeof(q->head) + 3] = "ESC";
	size_t len = 3;

	if (q->intro)
		name[len++] = q->intro;
	memcpy(name + len, q->head, q->head_len);
	len += q->head_len;
	if (q->head_len == sizeof(q->head)) {
		memcpy(name + len, "...", 3);
		len += 3;
	}
	show(s, out, name, len);
}

static void sequence_begin(struct scrub *s, size_t bytes, char intro)
{
	s->in.sequence = (struct text_sequence){ .bytes = bytes, .intro = intro };
	s->in.state = intro == 0 ? ESCAPE : intro == '[' ? CSI : STRING;
	s->in.sgr_len = 0;
}

static void set_style(struct scrub *s, const char *sgr, size_t len, struct buf *out)
{
	struct text_style was = s->in.style;
	s->in.style = style_sgr(was, sgr, len);
	if (!style_same(was, s->in.style))
		s->styled(s->arg, s->in.style, out);
}

/* `ended`: as its grammar wants it. What was cut off does nothing in a terminal; its form is its kind. */
static void sequence_end(struct scrub *s, bool ended, struct buf *out)
{
	const struct text_sequence *q = &s->in.sequence;
	bool string = s->in.state == STRING || s->in.state == STRING_ESC;
	enum text_removed kind = ended ? sequence_kind(q) : string ? TEXT_STRING : TEXT_ESCAPE;

	s->in.state = GROUND;
	if (kind == TEXT_COLOUR && s->styled) {
		set_style(s, s->in.sgr, s->in.sgr_len, out);
		return;
	}
	if (kind != TEXT_COLOUR)
		show_sequence(s, out);
	tell(s, kind, q->bytes);
}

static void control(struct scrub *s, uint32_t rune, size_t len, struct buf *out)
{
	if (rune == '\n' || rune == '\t') {
		if (!s->one_line) {
			buf_add(out, rune == '\n' ? "\n" : "\t", 1);
			s->in.room = 0;
			return;
		}
		show(s, out, rune == '\n' ? "LF" : "TAB", rune == '\n' ? 2 : 3);
	} else if (rune == '\r') {
		if (!s->one_line) {
			s->in.cr = true; /* the next character decides */
			return;
		}
		show(s, out, "CR", 2);
	} else {
		show_rune(s, out, rune);
	}
	/* ENQ has the terminal send its answerback, U+009A (DECID) its identity. */
	tell(s, rune == 0x05 || rune == 0x9a ? TEXT_QUERY : TEXT_CONTROL, len);
}

static void print(struct scrub *s, uint32_t rune, const uint8_t *raw, size_t len, struct buf *out)
{
	if (s->ascii && rune >= 0x80)
		show_rune(s, out, rune);
	else
		buf_add(out, raw, len);
}

static void ground_mark(struct scrub *s, uint32_t rune, const uint8_t *raw, size_t len, struct buf *out)
{
	if (s->in.room > 0) {
		uint8_t room = s->in.room - 1;
		print(s, rune, raw, len, out);
		s->in.room = room;
		return;
	}
	show_rune(s, out, rune);
	tell(s, TEXT_MARKS, len);
}

static void ground_zero_width(struct scrub *s, uint32_t rune, size_t len, struct buf *out)
{
	/* Text or emoji look of the character before: common in honest output, and worth no noise in it. */
	bool vanishes = (rune == 0xfe0e || rune == 0xfe0f) && s->in.room > 0 && !s->one_line;
	if (!vanishes)
		show_rune(s, out, rune);
	tell(s, TEXT_ZERO_WIDTH, len);
}

/* The 7-bit introducer that a C1 character stands for, or 0. */
static char c1_introducer(uint32_t rune)
{
	switch (rune) {
	case 0x90:
		return 'P';
	case 0x98:
		return 'X';
	case 0x9b:
		return '[';
	case 0x9d:
		return ']';
	case 0x9e:
		return '^';
	case 0x9f:
		return '_';
	default:
		return 0;
	}
}

static void ground(struct scrub *s, uint32_t rune, const uint8_t *raw, size_t len, struct buf *out)
{
	if (rune == NOT_A_RUNE) {
		show_invalid(s, out, raw, len);
		return;
	}
	switch (rune_class(rune)) {
	case RUNE_NARROW:
	case RUNE_WIDE:
		print(s, rune, raw, len, out);
		s->in.room = MARKS_MAX;
		return;
	case RUNE_MARK:
		ground_mark(s, rune, raw, len, out);
		return;
	case RUNE_CONTROL:
		if (rune == ESC)
			sequence_begin(s, len, 0);
		else if (c1_introducer(rune))
			sequence_begin(s, len, c1_introducer(rune));
		else
			control(s, rune, len, out);
		return;
	case RUNE_ZERO_WIDTH:
		ground_zero_width(s, rune, len, out);
		return;
	case RUNE_BIDI:
		tell(s, TEXT_BIDI, len);
		break;
	case RUNE_TAG:
		tell(s, TEXT_TAG, len);
		break;
	case RUNE_PRIVATE:
		tell(s, TEXT_PRIVATE, len);
		break;
	}
	show_rune(s, out, rune);
}

/* A character in ESCAPE or CSI; ESC, CAN and SUB are dealt with. */
static void in_escape(struct scrub *s, uint32_t rune, const uint8_t *raw, size_t len, struct buf *out)
{
	struct text_sequence *q = &s->in.sequence;

	if (rune > DEL || (rune >= ' ' && q->bytes + len > TEXT_SEQUENCE_MAX)) {
		sequence_end(s, false, out);
		ground(s, rune, raw, len, out);
		return;
	}
	if (rune < ' ') {
		control(s, rune, len, out);
		return;
	}
	q->bytes += len;
	if (rune == DEL) /* terminals pass over it */
		return;
	if (s->in.state == ESCAPE && q->middle == 0 && strchr("[]PX^_k", (int) rune)) {
		sequence_begin(s, q->bytes, (char) rune);
		return;
	}
	sequence_byte(q, (char) rune);
	if (q->final)
		sequence_end(s, true, out);
	else
		s->in.sgr[s->in.sgr_len++] = (char) rune; /* as many as the sequence has bytes, at most */
}

static void in_string(struct scrub *s, uint32_t rune, const uint8_t *raw, size_t len, struct buf *out)
{
	struct text_sequence *q = &s->in.sequence;
	bool c1 = rune >= 0x80 && rune <= 0x9f;

	if (rune == ST || (rune == BEL && q->intro == ']')) {
		q->bytes += len;
		sequence_end(s, true, out);
	} else if (c1 || q->bytes + len > STRING_MAX) {
		sequence_end(s, false, out);
		ground(s, rune, raw, len, out);
	} else {
		q->bytes += len;
		/* What is no printable ASCII ends a number or a header, as a letter would. */
		sequence_byte(q, rune >= ' ' && rune < DEL ? (char) rune : '~');
	}
}

/* One character, or some bytes that are none, in any state. */
static void rune_in(struct scrub *s, uint32_t rune, const uint8_t *raw, size_t len, struct buf *out)
{
	if (s->in.cr) {
		s->in.cr = false;
		if (rune != '\n') {
			show(s, out, "CR", 2);
			tell(s, TEXT_CONTROL, 1);
		}
	}
	if (s->in.state == STRING_ESC) {
		if (rune == '\\') {
			s->in.sequence.bytes += 2;
			sequence_end(s, true, out);
			return;
		}
		sequence_end(s, false, out);
		sequence_begin(s, 1, 0);
	}
	if (s->in.state == GROUND) {
		ground(s, rune, raw, len, out);
	} else if (rune == CAN || rune == SUB) {
		s->in.sequence.bytes += len;
		sequence_end(s, false, out);
	} else if (rune == ESC && s->in.state == STRING) {
		s->in.state = STRING_ESC;
	} else if (rune == ESC) {
		sequence_end(s, false, out);
		sequence_begin(s, len, 0);
	} else if (s->in.state == STRING) {
		in_string(s, rune, raw, len, out);
	} else {
		in_escape(s, rune, raw, len, out);
	}
}

/* Length of the run that needs no thought: printable ASCII, and newlines and tabs where they may stay. */
static size_t ascii_run(const uint8_t *p, size_t len, bool one_line)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = UINT64_C(0x8080808080808080);
	size_t i = 0;

	for (;;) {
		uint64_t w;
		/* Eight at a time: below 0x20 borrows into the top bit, 0x7f carries into it. */
		for (; len - i >= sizeof(w); i += sizeof(w)) {
			memcpy(&w, p + i, sizeof(w));
			if ((((w - 0x20 * ones) & ~w) | (w + ones) | w) & tops)
				break;
		}
		while (i < len && p[i] >= ' ' && p[i] < DEL)
			i++;
		if (i == len || one_line || (p[i] != '\n' && p[i] != '\t'))
			return i;
		i++;
	}
}

/* The same with letters beyond ASCII, but no marks. */
static size_t printable_run(const struct scrub *s, const uint8_t *p, size_t len)
{
	size_t i = 0;
	for (;;) {
		uint32_t rune;
		i += ascii_run(p + i, len - i, s->one_line);
		if (i == len || s->ascii || p[i] < 0x80)
			return i;
		int n = rune_decode(p + i, len - i, &rune);
		if (n <= 0 || rune_class(rune) > RUNE_WIDE)
			return i;
		i += (size_t) n;
	}
}

/* Decodes one character, of which earlier bytes may be waiting. Returns how many of these bytes it took. */
static size_t feed(struct scrub *s, const uint8_t *p, size_t len, struct buf *out)
{
	uint8_t raw[4];
	uint32_t rune = NOT_A_RUNE;
	size_t waiting = s->in.raw_len, more = sizeof(raw) - waiting < len ? sizeof(raw) - waiting : len;

	if (waiting == 0 && p[0] < 0x80) { /* most of any sequence */
		rune_in(s, p[0], p, 1, out);
		return 1;
	}
	memcpy(raw, s->in.raw, waiting);
	memcpy(raw + waiting, p, more);
	int n = rune_decode(raw, waiting + more, &rune);
	if (n == 0) {
		memcpy(s->in.raw, raw, waiting + more);
		s->in.raw_len = (uint8_t) (waiting + more);
		return more;
	}
	size_t used = (size_t) abs(n);
	s->in.raw_len = 0;
	rune_in(s, rune, raw, used, out);
	return used - waiting; /* what waited was the beginning of a character, so at least it was used */
}

/* The commonest sequence of all, when it is whole in these bytes: compilers print thousands. Returns its length, or 0. */
static size_t take_colour(struct scrub *s, const uint8_t *p, size_t len, struct buf *out)
{
	size_t end = 2;
	if (len < 3 || p[0] != ESC || p[1] != '[')
		return 0;
	if (len > TEXT_SEQUENCE_MAX)
		len = TEXT_SEQUENCE_MAX;
	while (end < len && p[end] >= '0' && p[end] <= ';')
		end++;
	if (end == len || p[end] != 'm')
		return 0;
	if (s->styled)
		set_style(s, (const char *) p + 2, end - 2, out);
	else
		tell(s, TEXT_COLOUR, end + 1);
	return end + 1;
}

void scrub_add(struct scrub *s, const void *data, size_t len, struct buf *out)
{
	const uint8_t *p = data, *end = p + len;

	while (p < end) {
		if (s->in.state == GROUND && !s->in.cr && s->in.raw_len == 0) {
			size_t run = printable_run(s, p, (size_t) (end - p));
			if (run > 0) {
				buf_add(out, p, run);
				p += run;
				s->in.room = p[-1] == '\n' || p[-1] == '\t' ? 0 : MARKS_MAX;
			}
			size_t colour = take_colour(s, p, (size_t) (end - p), out);
			p += colour;
			if (run || colour)
				continue;
		}
		p += feed(s, p, (size_t) (end - p), out);
	}
}

void scrub_end(struct scrub *s, struct buf *out)
{
	if (s->in.raw_len > 0)
		rune_in(s, NOT_A_RUNE, s->in.raw, s->in.raw_len, out);
	if (s->in.cr) {
		show(s, out, "CR", 2);
		tell(s, TEXT_CONTROL, 1);
	}
	if (s->in.state == STRING_ESC)
		s->in.sequence.bytes++;
	if (s->in.state != GROUND)
		sequence_end(s, false, out);
	memset(&s->in, 0, sizeof(s->in));
}

char *text_line(const char *untrusted, size_t len, bool ascii)
{
	struct scrub s = { .ascii = ascii, .one_line = true };
	struct buf out = { 0 };
	scrub_add(&s, untrusted, len, &out);
	scrub_end(&s, &out);
	return buf_steal(&out);
}
