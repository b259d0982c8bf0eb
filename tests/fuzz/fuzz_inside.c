/* SPDX-License-Identifier: MIT */
/*
 * What the supervisor inside a machine is told, and the count that it tells of what was printed. What is accepted, once
 * packed, comes back the same from its frames. The first byte of the input says which message the rest is.
 */
#include "check_event.h"

typedef int again_fn(const struct buf *whole, struct buf *frames, struct err *e);

static int setup_again(const struct buf *whole, struct buf *frames, struct err *e)
{
	struct inside_setup s;
	int r = inside_setup_unpack(whole, &s, e);
	if (r < 0)
		return r;
	inside_setup_pack(&s, frames);
	inside_setup_done(&s);
	return 0;
}

static int go_again(const struct buf *whole, struct buf *frames, struct err *e)
{
	struct inside_go g;
	int r = inside_go_unpack(whole, &g, e);
	if (r < 0)
		return r;
	inside_go_pack(&g, frames);
	inside_go_done(&g);
	return 0;
}

/* Frames put together, as their reader does it; the last one says that it is. */
static void frames_take(struct buf *frames, struct buf *whole)
{
	struct verb_msg m;
	struct err e;
	for (size_t at = 0; at < frames->len;) {
		uint32_t len;
		CHECK(frames->len - at > sizeof(len));
		memcpy(&len, frames->data + at, sizeof(len));
		CHECK(len <= frames->len - at - sizeof(len));
		CHECK(verb_decode(frames->data + at + sizeof(len), len, &m, &e) == 0);
		CHECK(m.verb == VERB_LAUNCH);
		at += sizeof(len) + len;
		CHECK(pack_take(whole, m.bytes, m.len, &e) == (at == frames->len));
	}
	buf_done(frames);
	*frames = (struct buf){ 0 };
}

static void check_message(again_fn *again, const struct buf *whole)
{
	struct buf frames = { 0 }, first = { 0 }, second = { 0 };
	struct err e = { .code = 0 };
	if (again(whole, &frames, &e) < 0) {
		CHECK(frames.len == 0 && e.code && *e.text);
		return;
	}
	frames_take(&frames, &first);
	CHECK(again(&first, &frames, &e) == 0);
	frames_take(&frames, &second);
	CHECK(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	buf_done(&first);
	buf_done(&second);
}

static void check_streams(const uint8_t *data, size_t size)
{
	struct inside_streams s;
	struct err e = { .code = 0 };
	uint8_t again[64];
	if (inside_streams_decode(data, size, &s, &e) < 0) {
		CHECK(e.code && *e.text);
		return;
	}
	CHECK(inside_streams_encode(&s, again, sizeof(again)) == size && memcmp(again, data, size) == 0);
}

static void check_parts(const uint8_t *data, size_t size)
{
	struct buf whole = { 0 };
	struct err e = { .code = 0 };
	int r = pack_take(&whole, (const char *) data, size, &e);
	CHECK(r < 0 ? size < 2 && whole.len == 0 && *e.text : whole.len == size - 1 && r == (data[0] != 0));
	buf_done(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	/* Not one byte more than there is: the address sanitizer shall see a read past the end. */
	FREE char *exact = xmalloc(size - 1);
	memcpy(exact, data + 1, size - 1);
	const struct buf whole = { .data = exact, .len = size - 1, .cap = size - 1 };
	switch (data[0] % 4) {
	case 0:
		check_message(setup_again, &whole);
		break;
	case 1:
		check_message(go_again, &whole);
		break;
	case 2:
		check_streams((const uint8_t *) exact, size - 1);
		break;
	default:
		check_parts((const uint8_t *) exact, size - 1);
	}
	return 0;
}
