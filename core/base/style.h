/* SPDX-License-Identifier: MIT */
/*
 * Colours and emphasis that text may have. A target's SGR sequences come down to this much and no more: eight
 * colours, bold, underline, reverse. Nothing that hides text (conceal, dim, blink, two colours alike) is in it.
 */
#pragma once

/* clang-format off */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum style_color { STYLE_OWN /* the terminal's own */, STYLE_BLACK, STYLE_RED, STYLE_GREEN, STYLE_YELLOW, STYLE_BLUE,
		   STYLE_MAGENTA, STYLE_CYAN, STYLE_WHITE, STYLE_COLORS };

struct text_style { /* zeroed: plain */
	uint16_t fg : 4, bg : 4, bold : 1, underline : 1, reverse : 1;
};

bool style_same(struct text_style a, struct text_style b);
bool style_is_plain(struct text_style s);
/*
 * style_sgr: what the parameters of one SGR sequence, the bytes between CSI and m, make of a style. Brighter shades, 256
 * and true colours become the nearest of the eight; what there is no place for changes nothing.
 */
struct text_style style_sgr(struct text_style s, const char *parameters, size_t len);
/*
 * style_legible: the style that is drawn, in which text can be seen whatever the terminal's own colours are: no pair
 * alike, no black or white on a ground that nobody knows, a ground always with a foreground of ours.
 */
struct text_style style_legible(struct text_style s);
/*
 * style_add: scrubbed text for a terminal, dressed by SGR sequences of our own making. Each line, and the text as a
 * whole, ends plain, so that no line of anybody else's is dressed by it.
 */
void style_add(struct text_style s, const char *text, size_t len, struct buf *out);
