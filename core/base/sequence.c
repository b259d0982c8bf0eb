/* SPDX-License-Identifier: MIT */
/*
 * Kinds of control sequences, by ECMA-48, the VT500 series, and what xterm (ctlseqs), VTE, kitty, tmux and
 * the Linux console make of them. A kind is decided from fields that are kept while the sequence passes by,
 * not from stored text: however many zeros stand before a number, and however long the rest is, it cannot be
 * made to look like another.
 */
#include "core/base/sequence.h"

#include <string.h>

#include "core/base/util.h"

/* strchr() that does not find the NUL */
static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void add_digit(struct text_sequence *q, char c)
{
	uint32_t digit = (uint32_t) (c - '0');
	q->number = q->number > (UINT32_MAX - digit) / 10 ? UINT32_MAX : q->number * 10 + digit;
	q->numbered = true;
}

/* CSI and DCS begin alike: parameters (0x30 to 0x3f), intermediates (0x20 to 0x2f), one final. */
static void header_byte(struct text_sequence *q, char c)
{
	if (c >= 0x40)
		q->final = c;
	else if (c < 0x30)
		q->middle = c;
	else if (is_one_of(c, "<=>?") && q->last == 0)
		q->prefix = c;
	else if (is_digit(c) && !q->counted)
		add_digit(q, c);
	else
		q->counted = true; /* what follows is the second parameter */
	q->headed = q->final != 0;
}

/* OSC: a number, then anything. `final` is the first that is no digit. */
static void osc_byte(struct text_sequence *q, char c)
{
	if (!q->headed && is_digit(c)) {
		add_digit(q, c);
	} else if (!q->headed) {
		q->final = c;
		q->headed = true;
	}
	if (c == '?' && is_one_of(q->last, ";="))
		q->question = true;
}

/* A plain one: intermediates, one final. */
static void escape_byte(struct text_sequence *q, char c)
{
	if (c < 0x30)
		q->middle = c;
	else
		q->final = c;
}

/* What the person is shown stops before the payload. */
static bool is_head(const struct text_sequence *q, char c)
{
	switch (q->intro) {
	case 0:
	case '[':
		return true;
	case 'P':
		return !q->headed;
	case ']':
		return !q->headed && is_digit(c);
	default:
		return false;
	}
}

void sequence_byte(struct text_sequence *q, char c)
{
	if (is_head(q, c) && q->head_len < sizeof(q->head))
		q->head[q->head_len++] = c;
	if (q->intro == 0)
		escape_byte(q, c);
	else if (q->intro == ']')
		osc_byte(q, c);
	else if (q->intro == '[' || (q->intro == 'P' && !q->headed))
		header_byte(q, c);
	q->last = c;
}

/* Window operations: these numbers are answered with the title, size or place of the window. */
static bool is_window_report(uint32_t number)
{
	return number == 11 || (number >= 13 && number <= 16) || (number >= 18 && number <= 21);
}

static bool csi_asks(const struct text_sequence *q)
{
	switch (q->middle) {
	case 0:
		break;
	case '$': /* DECRQM, DECRQPSR, DECRQTSR */
		return is_one_of(q->final, "pwu");
	case '*': /* DECRQCRA: checksums that read the screen back */
		return q->final == 'y';
	case '&': /* DECRQUPSS */
		return q->final == 'u';
	case '\'': /* DECRQLP */
		return q->final == '|';
	case '#': /* XTREPORTSGR */
		return q->final == '|';
	default:
		return false;
	}
	switch (q->final) {
	case 'c': /* DA, primary to tertiary */
		return true;
	case 'n': /* DSR, cursor position; with > it only sets a mode */
		return q->prefix != '>';
	case 'x': /* DECREQTPARM */
		return q->prefix == 0;
	case 't':
		return q->prefix == 0 && is_window_report(q->number);
	case 'q': /* XTVERSION */
		return q->prefix == '>';
	case 'u': /* kitty's keyboard flags */
	case 'm': /* XTQMODKEYS */
	case 'S': /* XTSMGRAPHICS */
		return q->prefix == '?';
	default:
		return false;
	}
}

static const struct {
	char middle;
	const char *finals;
} screen_pairs[] = {
	{ 0, "@ABCDEFGHIJKLMPSTXZ`abdefghlmnqrstu" },
	{ ' ', "q@A" },     /* cursor shape, scrolling sideways */
	{ '!', "p" },       /* soft reset */
	{ '#', "PQRpq{}" }, /* saved colours */
	{ '$', "rtvxz{|" }, /* rectangles, columns */
	{ '*', "x|" },      /* rectangles, lines */
	{ '\'', "}~" },     /* columns inserted and deleted */
};

static enum text_removed csi_kind(const struct text_sequence *q)
{
	if (csi_asks(q))
		return TEXT_QUERY;
	if (q->final == 'm' && !q->prefix && !q->middle)
		return TEXT_COLOUR;
	for (size_t i = 0; i < ARRAY_LEN(screen_pairs); i++)
		if (q->middle == screen_pairs[i].middle && is_one_of(q->final, screen_pairs[i].finals))
			return TEXT_SCREEN;
	return TEXT_ESCAPE;
}

static enum text_removed osc_kind(const struct text_sequence *q)
{
	if (!q->numbered && is_one_of(q->final, "lLI")) /* dtterm's forms of title and icon */
		return TEXT_TITLE;
	if (!q->numbered && q->final != ';') /* an empty number is 0 */
		return TEXT_STRING;
	switch (q->number) {
	case 0:
	case 1:
	case 2:
		return TEXT_TITLE;
	case 8:
		return TEXT_HYPERLINK;
	case 52: /* also when it asks: the answer is the clipboard */
	case 5522:
		return TEXT_CLIPBOARD;
	default:
		return q->question ? TEXT_QUERY : TEXT_STRING;
	}
}

static enum text_removed dcs_kind(const struct text_sequence *q)
{
	/* DECRQSS, XTGETTCAP */
	return is_one_of(q->middle, "$+") && q->final == 'q' ? TEXT_QUERY : TEXT_STRING;
}

static enum text_removed escape_kind(const struct text_sequence *q)
{
	if (q->middle == '#')
		return is_one_of(q->final, "34568") ? TEXT_SCREEN : TEXT_ESCAPE; /* DECALN, line sizes */
	if (q->middle)
		return TEXT_ESCAPE;
	if (q->final == 'Z') /* DECID */
		return TEXT_QUERY;
	/* RIS, IND, NEL, HTS, RI; save and restore the cursor; keypad; back and forward index */
	return is_one_of(q->final, "cDEHM78=>69") ? TEXT_SCREEN : TEXT_ESCAPE;
}

enum text_removed sequence_kind(const struct text_sequence *q)
{
	switch (q->intro) {
	case 0:
		return escape_kind(q);
	case '[':
		return csi_kind(q);
	case ']':
		return osc_kind(q);
	case 'P':
		return dcs_kind(q);
	case 'k': /* the title in screen and tmux */
		return TEXT_TITLE;
	default:
		return TEXT_STRING;
	}
}
