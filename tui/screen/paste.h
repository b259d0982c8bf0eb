/* SPDX-License-Identifier: MIT */
/*
 * A bracketed paste as it arrives: everything between the terminal's start mark and its end mark. A paste
 * can hold the end mark itself, and what follows would then be taken for keys: so after the first end mark
 * everything is thrown away until the terminal has been quiet, and the person is told how much that was.
 * Knows no terminal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/base/util.h"

struct paste {
	bool active, draining; /* inside the marks; after the end mark, still throwing away */
	bool too_long;         /* more than `max` came: the rest was thrown away */
	size_t max, matched, dropped;
	struct buf text;
};

void paste_begin(struct paste *p, size_t max);
void paste_feed(struct paste *p, const char *bytes, size_t len);
/* paste_end: line ends become LF (terminals send CR). The text stays in p->text until paste_done. */
void paste_end(struct paste *p);
void paste_done(struct paste *p);
