/* SPDX-License-Identifier: MIT */
/*
 * Decoding and classes. The table is our own and not wcwidth(3): that one knows only ASCII unless
 * setlocale(3) found a UTF-8 locale, which a guest or a minimal container does not have; its answers change
 * from machine to machine, while a recording must look the same on each; and it does not tell a bidi control
 * from an unassigned character.
 */
#include "core/base/rune.h"

#include "core/base/util.h"

/* U+0378 of class 7 stands as 0x3787. */
static const uint32_t class_starts[] = {
#include "core/base/rune_table.h"
};

enum rune_class rune_class(uint32_t rune)
{
	if (rune - 0x20 < 0x7f - 0x20)
		return RUNE_NARROW;
	if (rune < 0xa0)
		return RUNE_CONTROL;
	size_t low = 0, high = ARRAY_LEN(class_starts); /* the row is in [low, high) */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (class_starts[middle] >> 4 <= rune)
			low = middle;
		else
			high = middle;
	}
	return (enum rune_class)(class_starts[low] & 0xf);
}

/*
 * Table 3-7 of the Unicode standard. The bounds of the second byte are what keeps out overlong forms (E0,
 * F0), surrogates (ED) and all beyond U+10FFFF (F4); C0, C1 and F5 to FF begin nothing.
 */
int rune_decode(const uint8_t *p, size_t len, uint32_t *ret_rune)
{
	uint8_t first = p[0], low = 0x80, high = 0xbf;
	int need;

	if (first < 0x80) {
		*ret_rune = first;
		return 1;
	}
	if (first < 0xc2 || first > 0xf4)
		return -1;
	need = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;

	uint32_t rune = first & (0x7fu >> need);
	for (int i = 1; i < need; i++) {
		if ((size_t) i == len)
			return 0;
		if (p[i] < low || p[i] > high)
			return -i;
		rune = rune << 6 | (p[i] & 0x3f);
		low = 0x80;
		high = 0xbf;
	}
	*ret_rune = rune;
	return need;
}
