/* SPDX-License-Identifier: MIT */
/*
 * What must hold of any event, wherever hostile bytes made it: it can be written and read again without a
 * change, and its line for a person is printable.
 */
#pragma once

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/model.h"

static inline void check_printable(const struct buf *line, bool ascii)
{
	CHECK(text_is_utf8(line->data, line->len));
	for (size_t i = 0; i < line->len; i++) {
		unsigned char c = (unsigned char) line->data[i];
		CHECK(c >= 0x20 && c != 0x7f && !(ascii && c >= 0x80));
	}
}

static inline void check_line(const struct event *ev, bool ascii)
{
	struct buf line = { .data = NULL };
	event_line(ev, ascii, &line);
	check_printable(&line, ascii);
	buf_done(&line);
}

static inline void check_json(const struct event *ev)
{
	struct buf first = { .data = NULL }, second = { .data = NULL };
	struct event *again = NULL;
	struct err e;

	event_to_json(ev, &first);
	CHECK(!memchr(first.data, '\n', first.len) && strlen(first.data) == first.len);
	/* Text that is all escapes can become longer than what is read. */
	if (event_from_json(first.data, first.len, &again, &e) == 0) {
		event_to_json(again, &second);
		CHECK(strcmp(first.data, second.data) == 0);
	} else {
		CHECK(first.len > 100000);
	}
	event_free(again);
	buf_done(&first);
	buf_done(&second);
}

static inline void check_frame(const struct event *ev)
{
	static uint8_t frame[WIRE_FRAME_MAX], copy[WIRE_FRAME_MAX];
	struct event *again = NULL;
	struct err e;
	ssize_t len = event_encode(ev, frame, sizeof(frame));

	if (len < 0)
		return;
	CHECK(event_decode(frame, (size_t) len, &again, &e) == 0);
	CHECK(event_encode(again, copy, sizeof(copy)) == len);
	CHECK(memcmp(frame, copy, (size_t) len) == 0);
	event_free(again);
}
