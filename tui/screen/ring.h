/* SPDX-License-Identifier: MIT */
/*
 * The newest output of a run as lines of scrubbed text, in bounded memory whatever comes: a ring of bytes
 * and a ring of lines over it. A line keeps its first 4 KiB; a carriage return starts the same line anew, as
 * progress bars mean.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"
#include "core/base/util.h"
#include "tui/screen/cells.h"

#define RING_BYTES    (8u << 20)
#define RING_LINES    (256u << 10)
#define RING_LINE_MAX (4u << 10)
#define RING_STREAMS  2

struct ring_line {
	uint64_t start; /* byte number since the beginning; its place in the ring is that modulo the size */
	uint64_t t_ns;  /* when it began */
	uint16_t len;
	struct text_style style; /* that it begins with */
	uint32_t over : 31;      /* KiB beyond what is kept, rounded up */
	uint32_t error : 1;      /* came on the second stream */
};

struct ring_change { /* inside a line, from this byte number on */
	uint64_t at;
	struct text_style style;
};

struct ring {
	char *data;
	struct ring_line *lines;
	size_t size, line_slots;
	uint64_t first, next; /* line numbers: first kept, one past the newest */
	uint64_t end;         /* where the next byte goes */
	uint64_t now_ns;      /* the time of what comes; the owner sets it */
	uint64_t bytes;       /* all that came */
	uint64_t removed;     /* escape sequences that the scrubber took out, colours left aside */
	bool open, restart;   /* the newest line has no newline yet; its next text replaces it */
	int open_stream;
	uint64_t open_over;          /* bytes of the open line that are not kept */
	struct ring_change *changes; /* as many slots as lines; the oldest go first */
	uint64_t change_first, change_next;
	uint64_t styles_from;                  /* lines that began before it are drawn plain */
	struct text_style pen;                 /* at the end of the open line */
	struct text_style style[RING_STREAMS]; /* of what comes next */
	int stream;                            /* the one that is being added */
	struct scrub scrub[RING_STREAMS];
	bool carriage[RING_STREAMS]; /* a CR whose LF may still come */
	struct buf text;             /* scratch */
};

void ring_init(struct ring *r, size_t size, size_t line_slots, bool ascii);
void ring_done(struct ring *r);
void ring_add(struct ring *r, int stream, const char *bytes, size_t len);
void ring_end(struct ring *r); /* the streams are over: what was unfinished is shown */
/* ring_text: a kept line; its number is from ring.first to ring.next - 1. Borrows until the next ring_add. */
struct clean ring_text(const struct ring *r, uint64_t number);
const struct ring_line *ring_line(const struct ring *r, uint64_t number);
/* ring_style: how a kept line looks at that byte of it. Returns how many bytes from there on look the same. */
size_t ring_style(const struct ring *r, uint64_t number, size_t at, struct text_style *ret);
/* ring_at: the first kept line that began at that time or later; the newest where all are earlier. */
uint64_t ring_at(const struct ring *r, uint64_t t_ns);
/* ring_find: the nearest line at or after (before: back) `from` that holds the text. UINT64_MAX: none. */
uint64_t ring_find(const struct ring *r, uint64_t from, bool back, const char *text);
