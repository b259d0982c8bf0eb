/* SPDX-License-Identifier: MIT */
/*
 * The scrubber. Every byte that a target, a file, a paste, a recording or a guest brings goes through here before it
 * may reach a terminal, in every mode and after exit too. Out comes UTF-8 that a terminal can only print: strict
 * decoding, escape sequences taken out whole, C0, C1, bidi, zero-width, tag and private-use characters shown as
 * <U+202E> (in angle brackets U+27E8, U+27E9 where UTF-8 may be used), at most two combining marks a character.
 * Whatever is taken out is told to the caller, once a sequence, so that it can become a `terminal` event.
 */
#pragma once

/* clang-format off */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/style.h"

#define TEXT_SEQUENCE_MAX 256 /* bytes of a control sequence; a longer one is none */

struct buf;

enum text_removed { /* the kinds of a `terminal` event, in the words of text_removed_name() */
	TEXT_CLIPBOARD, /* OSC 52 */
	TEXT_TITLE,     /* OSC 0, 1, 2 */
	TEXT_HYPERLINK, /* OSC 8 */
	TEXT_QUERY,     /* DSR, DA, DECRQSS, OSC questions, ENQ, …: the answer would be typed at us */
	TEXT_SCREEN,    /* alternate screen, modes, cursor movement, erasing, scrolling */
	TEXT_COLOUR,    /* SGR: harmless, told only where no `styled` takes it */
	TEXT_STRING,    /* other OSC, DCS, APC, PM, SOS, and ones that never ended */
	TEXT_ESCAPE,    /* any other escape sequence */
	TEXT_CONTROL,   /* C0 (but tab and newline), DEL, C1 */
	TEXT_BIDI,
	TEXT_ZERO_WIDTH,
	TEXT_TAG,       /* U+E0000 to U+E007F */
	TEXT_PRIVATE,   /* private use, noncharacters, unassigned: nobody knows what the terminal makes of them */
	TEXT_MARKS,     /* combining marks beyond the second, or with nothing before them */
	TEXT_INVALID,   /* not UTF-8: overlong forms, surrogates, and single bytes 0x80 to 0x9f too */
	TEXT_REMOVED_MAX,
};

const char *text_removed_name(enum text_removed kind); /* "clipboard", … */

typedef void (*text_removed_fn)(void *arg, enum text_removed kind, size_t bytes);
/* The text that follows has this style. What came before it stands in `out`, which the callee may read, empty, add to. */
typedef void (*text_styled_fn)(void *arg, struct text_style style, struct buf *out);

/* A control sequence while it is being taken out, as far as its kind hangs on it. Private to core/base. */
struct text_sequence {
	size_t bytes;
	uint32_t number; /* first parameter, saturated */
	char intro;      /* [ ] P X ^ _ k after the ESC, or 0 */
	char prefix, middle, final, last;
	bool numbered, counted, question, headed;
	uint8_t head_len;
	char head[16];
};

/* State of one stream, so that a sequence cut between two reads is still one. Zeroed is ready. */
struct scrub {
	bool ascii; /* the terminal has no UTF-8: print nothing beyond ASCII, <U+00E9> for the rest */
	bool one_line; /* newlines and tabs are shown too: for names, paths, argv, errors */
	text_removed_fn removed; /* may be NULL */
	text_styled_fn styled;   /* NULL: colours are dropped */
	void *arg;
	struct { /* private */
		uint8_t state, raw_len, raw[4], room;
		bool cr;
		struct text_sequence sequence;
		struct text_style style;
		uint16_t sgr_len;
		char sgr[TEXT_SEQUENCE_MAX]; /* parameters, while a sequence is read that may be a colour */
	} in;
};

/*
 * scrub_add: appends the printable form of some bytes to `out`. Tabs stay tabs, newlines newlines, CR before LF goes; in
 * place of a sequence stands its beginning, <ESC]52>. Two things vanish and are only told: colours that no `styled` takes, and (but in
 * one_line) U+FE0E and U+FE0F after a character, whose width terminals disagree on. An unterminated string ends after 4 KiB.
 * scrub_end: the stream is over; what was unfinished is shown and told. The state is as new.
 */
void scrub_add(struct scrub *s, const void *data, size_t len, struct buf *out);
void scrub_end(struct scrub *s, struct buf *out);

/* text_line: one whole untrusted string as one printable line. Gives: the caller frees. */
char *text_line(const char *untrusted, size_t len, bool ascii);
/* text_width: columns that scrubbed UTF-8 takes; text_fit: bytes of it that fit in `columns`. A tab counts as one. */
size_t text_width(const char *scrubbed, size_t len);
size_t text_fit(const char *scrubbed, size_t len, size_t columns);

/* What the code on Compose and the run command warn of, found in code before it runs. */
struct text_findings {
	size_t lines, longest_line; /* a last line without a newline counts; the longest in characters */
	size_t bidi, zero_width, tags, controls, nuls, invalid; /* counts of characters */
	size_t first_bidi_line, first_tag_line, first_control_line, first_nul_line, first_invalid_line; /* from 1; 0: none */
	bool bom, crlf, lone_cr, mixed_endings;
};
void text_inspect(const char *code, size_t len, struct text_findings *ret);
bool text_is_utf8(const void *data, size_t len);
