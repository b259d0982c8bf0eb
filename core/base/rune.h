/* SPDX-License-Identifier: MIT */
/*
 * Characters as the scrubber sees them: strict UTF-8, and the class of each code point. Private to this room.
 */
#pragma once

/* clang-format off */

#include <stddef.h>
#include <stdint.h>

enum rune_class { /* rune_table.py knows this order */
	RUNE_NARROW,     /* printable, one column */
	RUNE_WIDE,       /* printable, two columns */
	RUNE_MARK,       /* drawn into the cell before it */
	RUNE_CONTROL,    /* C0, DEL, C1, line and paragraph separator */
	RUNE_BIDI,       /* turns the direction of what follows */
	RUNE_ZERO_WIDTH, /* format characters, fillers, variation selectors: nothing to be seen */
	RUNE_TAG,        /* U+E0000 to U+E007F: ASCII that nobody sees */
	RUNE_PRIVATE,    /* private use, noncharacters, unassigned: what it looks like is anybody's guess */
};

enum rune_class rune_class(uint32_t rune);

/*
 * rune_decode: the first character of some bytes. Returns its length, 1 to 4; or 0 where they are the
 * beginning of one and end too early; or -n where the first n bytes (the longest beginning of one, or 1) are
 * not UTF-8.
 */
int rune_decode(const uint8_t *p, size_t len, uint32_t *ret_rune);
