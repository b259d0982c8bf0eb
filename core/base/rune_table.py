#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes rune_table.h from Python's Unicode data: python3 core/base/rune_table.py > core/base/rune_table.h"""
import sys
import unicodedata

# The order of enum rune_class in rune.h.
CLASSES = ["NARROW", "WIDE", "MARK", "CONTROL", "BIDI", "ZERO_WIDTH", "TAG", "PRIVATE"]

BIDI = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
# Shown as nothing or as a blank although they are letters or marks: fillers, joiners, variation selectors.
INVISIBLE = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0,
             *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}


def rune_class(c):
    category = unicodedata.category(chr(c))
    if category in ("Cc", "Zl", "Zp"):
        return "CONTROL"
    if c in BIDI:
        return "BIDI"
    if 0xE0000 <= c <= 0xE007F:
        return "TAG"
    if c in INVISIBLE or category == "Cf":
        return "ZERO_WIDTH"
    if category in ("Cn", "Co", "Cs"):
        return "PRIVATE"
    # Vowels and finals of conjoining Hangul are drawn into the cell of the initial before them.
    if category in ("Mn", "Me") or 0x1161 <= c <= 0x11FF or 0xD7B0 <= c <= 0xD7FF:
        return "MARK"
    return "WIDE" if unicodedata.east_asian_width(chr(c)) in "WF" else "NARROW"


ranges = []
for c in range(0x110000):
    kind = rune_class(c)
    if ranges and ranges[-1][1] == kind:
        continue
    ranges.append((c, kind))

print("/* SPDX-License-Identifier: MIT */")
print("/* Written by rune_table.py from Unicode %s: where a class begins, the last digit being the class. */"
      % unicodedata.unidata_version)
line = ""
for first, kind in ranges:
    cell = "0x%X," % (first << 4 | CLASSES.index(kind))
    if len(line) + len(cell) > 108:
        print(line)
        line = ""
    line += (" " if line else "") + cell
print(line)
print("%d ranges" % len(ranges), file=sys.stderr)
