/* SPDX-License-Identifier: MIT */
/*
 * Frames from a guest: events, and verbs from a front end. What is accepted has no other frame than the
 * one that came.
 */
#include "check_event.h"

static void check_verb(const uint8_t *data, size_t size)
{
	static uint8_t again[WIRE_FRAME_MAX];
	struct verb_msg verb;
	struct err e;

	if (verb_decode(data, size, &verb, &e) < 0)
		return;
	CHECK(verb_encode(&verb, again, sizeof(again)) == (ssize_t) size);
	CHECK(memcmp(again, data, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t again[WIRE_FRAME_MAX];
	struct event *ev = NULL;
	struct err e = { .code = 0 };

	check_verb(data, size);
	if (event_decode(data, size, &ev, &e) < 0) {
		CHECK(!ev && e.code && *e.text);
		return 0;
	}
	CHECK(event_encode(ev, again, sizeof(again)) == (ssize_t) size);
	CHECK(memcmp(again, data, size) == 0);
	check_json(ev);
	check_line(ev, size & 1);
	event_free(ev);
	return 0;
}
