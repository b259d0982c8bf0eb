/* SPDX-License-Identifier: MIT */
/*
 * The frame reader on hostile bytes: what it gives lies within the frame, once bad it stays bad, and a frame
 * that it accepts to the end is the one that the writer would have made of the same fields.
 *
 * The first byte of the input says how many more say which fields are asked for; the rest is the frame.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

static void check_within(const struct wire_in *r, const void *p, size_t len, size_t max, const uint8_t *frame)
{
	if (!p) {
		CHECK(len == 0);
		return;
	}
	CHECK(!r->bad && len <= max);
	CHECK((const uint8_t *) p >= frame + 2 && (const uint8_t *) p + len == r->p);
}

static void copy_bytes(struct wire_in *r, struct wire_out *w, size_t max, const uint8_t *frame)
{
	size_t len = 1;
	const void *p = wire_get_bytes(r, max, &len);
	check_within(r, p, len, max, frame);
	if (!r->bad)
		wire_put_bytes(w, p, len);
}

static void copy_str(struct wire_in *r, struct wire_out *w, size_t max, const uint8_t *frame)
{
	size_t len = 1;
	bool null = true;
	const char *p = wire_get_str(r, max, &len, &null);
	check_within(r, p, len, max, frame);
	if (r->bad)
		return;
	CHECK(null == !p);
	FREE char *s = p ? xstrndup(p, len) : NULL;
	CHECK(!s || strlen(s) == len);
	wire_put_str(w, s);
}

/* Reads one field and writes it again. */
static void copy_field(struct wire_in *r, struct wire_out *w, uint8_t op, const uint8_t *frame)
{
	bool was_bad = r->bad;
	size_t max = (size_t) op << 2;
	switch (op % 6) {
	case 0:
		wire_put_u8(w, wire_get_u8(r));
		break;
	case 1:
		wire_put_u32(w, wire_get_u32(r));
		break;
	case 2:
		wire_put_u64(w, wire_get_u64(r));
		break;
	case 3:
		copy_bytes(r, w, max, frame);
		break;
	case 4:
		copy_str(r, w, max, frame);
		break;
	default:
		copy_bytes(r, w, SIZE_MAX, frame);
		break;
	}
	CHECK(!was_bad || r->bad);
	CHECK(r->p <= r->end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t space[WIRE_FRAME_MAX];
	struct wire_out w;
	struct wire_in r;
	uint8_t type;

	if (size == 0 || data[0] >= size)
		return 0;
	const uint8_t *ops = data + 1, *frame = ops + data[0];
	size_t len = size - 1 - data[0];
	if (wire_open(&r, frame, len, &type, NULL) < 0) {
		CHECK(wire_get_u64(&r) == 0 && wire_end(&r, NULL) < 0);
		return 0;
	}
	CHECK(type == frame[0]);
	wire_begin(&w, space, sizeof(space), type);
	for (size_t i = 0; i < data[0]; i++)
		copy_field(&r, &w, ops[i], frame);
	if (wire_end(&r, NULL) == 0)
		CHECK(!w.full && w.len == len && memcmp(space, frame, len) == 0);
	return 0;
}
