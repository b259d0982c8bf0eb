/* SPDX-License-Identifier: MIT */
/*
 * One line of a recording, or of a program that speaks to us in JSON Lines.
 */
#include "check_event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct event *ev = NULL;
	struct err e = { .code = 0 };

	if (event_from_json((const char *) data, size, &ev, &e) < 0) {
		CHECK(!ev && e.code && *e.text);
		struct buf said = { .data = NULL };
		buf_str(&said, e.text);
		check_printable(&said, true); /* nothing of the line is quoted */
		buf_done(&said);
		return 0;
	}
	check_json(ev);
	check_frame(ev);
	check_line(ev, size & 1);
	event_free(ev);
	return 0;
}
