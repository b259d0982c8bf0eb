/* SPDX-License-Identifier: MIT */
/*
 * Lines of text for a terminal's width.
 */
#pragma once

#include <stddef.h>

struct buf;

/*
 * lines_wrap: one scrubbed line, broken at blanks; what follows the first break begins behind `indent` blanks. A word that
 * is longer than a line is broken where the line ends. columns 0: as it is. Appended, each line with its newline.
 */
void lines_wrap(const char *line, size_t columns, size_t indent, struct buf *out);
