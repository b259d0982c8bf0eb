/* SPDX-License-Identifier: MIT */
/*
 * Passage: one stream of a target on its way to a terminal: scrubbed, then dressed in colours of our own making.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/base.h"

struct passage {
	struct scrub scrub;
	struct text_style style;
	struct buf scrubbed, dressed;
	uint64_t *removed; /* counts by enum text_removed */
};

/* passage_init: `removed` is an array of TEXT_REMOVED_MAX. Borrows it. The passage may not move. */
void passage_init(struct passage *p, bool ascii, bool color, uint64_t *removed);
/* passage_add: bytes, or NULL at their end. Returns what a terminal may have of them; it lasts until the next call. */
const struct buf *passage_add(struct passage *p, const char *bytes, size_t len);
void passage_done(struct passage *p);
