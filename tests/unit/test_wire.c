/* SPDX-License-Identifier: MIT */
/* Frames: what goes in comes out; a writer never overruns; a reader believes nothing; what a socket does at
 * its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"

static size_t sample_frame(uint8_t *space, size_t size)
{
	struct wire_out w;
	wire_begin(&w, space, size, 7);
	wire_put_u8(&w, 0xab);
	wire_put_u32(&w, 0xdeadbeef);
	wire_put_u64(&w, UINT64_MAX - 1);
	wire_put_bytes(&w, "a\0b", 3);
	wire_put_str(&w, "text");
	wire_put_str(&w, "");
	wire_put_str(&w, NULL);
	return w.full ? 0 : w.len;
}

static void test_round_trip(void **state)
{
	(void) state;
	uint8_t space[256], type = 0;
	struct err e = { 0 };
	struct wire_in r;
	size_t len, frame_len = sample_frame(space, sizeof(space));
	bool null;

	assert_int_equal(wire_open(&r, space, frame_len, &type, &e), 0);
	assert_int_equal(type, 7);
	assert_int_equal(wire_get_u8(&r), 0xab);
	assert_int_equal(wire_get_u32(&r), 0xdeadbeef);
	assert_true(wire_get_u64(&r) == UINT64_MAX - 1);
	const char *p = wire_get_bytes(&r, 3, &len);
	assert_int_equal(len, 3);
	assert_memory_equal(p, "a\0b", 3);
	p = wire_get_str(&r, 10, &len, &null);
	assert_int_equal(len, 4);
	assert_memory_equal(p, "text", 4);
	assert_false(null);
	p = wire_get_str(&r, 10, &len, &null);
	assert_non_null(p);
	assert_int_equal(len, 0);
	assert_false(null);
	assert_int_equal(wire_end(&r, &e), -EPROTO); /* something is left */
	p = wire_get_str(&r, 10, &len, &null);
	assert_null(p);
	assert_true(null);
	assert_int_equal(wire_end(&r, &e), 0);
}

/* Whatever room there is: either the whole frame, or `full`, and no byte behind the room. */
static void test_writer_never_overruns(void **state)
{
	(void) state;
	uint8_t whole[256], space[256];
	size_t len = sample_frame(whole, sizeof(whole));
	for (size_t size = 0; size < len + 4; size++) {
		memset(space, 0x55, sizeof(space));
		size_t got = sample_frame(space, size);
		assert_int_equal(got, size >= len ? len : 0);
		for (size_t i = size; i < sizeof(space); i++)
			assert_int_equal(space[i], 0x55);
	}
}

static void test_writer_has_a_cap(void **state)
{
	(void) state;
	FREE uint8_t *space = xmalloc(4 * WIRE_FRAME_MAX);
	FREE char *big = xcalloc(1, 2 * WIRE_FRAME_MAX);
	struct wire_out w;
	wire_begin(&w, space, 4 * WIRE_FRAME_MAX, 1);
	wire_put_bytes(&w, big, 2 * WIRE_FRAME_MAX);
	assert_true(w.full);
	wire_begin(&w, space, 4 * WIRE_FRAME_MAX, 1);
	wire_put_bytes(&w, big, WIRE_FRAME_MAX - 6);
	assert_false(w.full);
	assert_int_equal(w.len, WIRE_FRAME_MAX);
	wire_put_u8(&w, 1);
	assert_true(w.full);
}

/* A frame cut anywhere is bad, and nothing is read past the cut (the address sanitizer watches the copy). */
static void test_cut_frames(void **state)
{
	(void) state;
	uint8_t whole[256], type;
	size_t len, whole_len = sample_frame(whole, sizeof(whole));
	for (size_t cut = 0; cut < whole_len; cut++) {
		FREE uint8_t *frame = xmalloc(cut);
		struct wire_in r;
		bool null;
		memcpy(frame, whole, cut);
		int opened = wire_open(&r, frame, cut, &type, NULL);
		assert_int_equal(opened, cut < 2 ? -EPROTO : 0);
		(void) wire_get_u8(&r);
		(void) wire_get_u32(&r);
		(void) wire_get_u64(&r);
		(void) wire_get_bytes(&r, 64, &len);
		for (int i = 0; i < 3; i++)
			(void) wire_get_str(&r, 64, &len, &null);
		assert_int_equal(wire_end(&r, NULL), -EPROTO);
	}
}

static void open_str(struct wire_in *r, uint8_t *space, uint32_t len, const char *bytes, size_t bytes_len)
{
	uint8_t type;
	space[0] = 1;
	space[1] = WIRE_VERSION;
	memcpy(space + 2, &len, sizeof(len));
	memcpy(space + 6, bytes, bytes_len);
	assert_int_equal(wire_open(r, space, 6 + bytes_len, &type, NULL), 0);
}

static void test_lying_lengths(void **state)
{
	(void) state;
	uint8_t space[32];
	struct wire_in r;
	size_t len = 99;
	bool null = true;

	open_str(&r, space, UINT32_MAX - 1, "abc", 3);
	assert_null(wire_get_bytes(&r, SIZE_MAX, &len));
	assert_int_equal(len, 0);
	assert_true(r.bad);
	open_str(&r, space, 4, "abc", 3);
	assert_null(wire_get_bytes(&r, 100, &len));
	open_str(&r, space, 3, "abc", 3);
	assert_null(wire_get_str(&r, 2, &len, &null)); /* over max */
	assert_false(null);
	assert_true(r.bad);
	open_str(&r, space, 3, "a\0c", 3);
	assert_null(wire_get_str(&r, 3, &len, &null)); /* a NUL inside */
	assert_true(r.bad);
	assert_int_equal(wire_get_u8(&r), 0); /* bad for good */
	open_str(&r, space, UINT32_MAX, "", 0);
	assert_null(wire_get_str(&r, 3, &len, NULL)); /* NULL where none may be */
	assert_true(r.bad);
}

static void test_open_refuses(void **state)
{
	(void) state;
	uint8_t frame[2] = { 3, WIRE_VERSION + 1 }, type = 42;
	struct wire_in r;
	struct err e = { 0 };
	assert_int_equal(wire_open(&r, frame, sizeof(frame), &type, &e), -EPROTO);
	assert_int_equal(e.code, EPROTO);
	assert_int_equal(type, 42);
	assert_int_equal(wire_get_u32(&r), 0);
	assert_true(r.bad);
	FREE uint8_t *big = xcalloc(1, WIRE_FRAME_MAX + 1);
	big[1] = WIRE_VERSION;
	assert_int_equal(wire_open(&r, big, WIRE_FRAME_MAX + 1, &type, &e), -EPROTO);
	assert_int_equal(wire_open(&r, big, WIRE_FRAME_MAX, &type, &e), 0);
}

static void test_socket(void **state)
{
	(void) state;
	int fds[2];
	struct err e = { 0 };
	char got[64];
	FREE char *big = xcalloc(1, WIRE_FRAME_MAX);

	assert_int_equal(wire_pair(fds, &e), 0);
	for (int i = 0; i < 2; i++) {
		assert_true(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
		assert_true(fcntl(fds[i], F_GETFL) & O_NONBLOCK);
	}
	assert_int_equal(wire_recv(fds[1], got, sizeof(got)), -EAGAIN);
	assert_int_equal(wire_send(fds[0], "one", 3), 0);
	assert_int_equal(wire_send(fds[0], "three", 5), 0);
	assert_int_equal(wire_send(fds[0], "", 0), -EINVAL);
	assert_int_equal(wire_recv(fds[1], got, sizeof(got)), 3);
	assert_int_equal(wire_recv(fds[1], got, 4), -EMSGSIZE);
	assert_int_equal(wire_recv(fds[1], got, sizeof(got)), -EAGAIN); /* what was too long is gone */

	assert_int_equal(wire_send(fds[0], big, WIRE_FRAME_MAX), 0);
	int sent = 0, r;
	while ((r = wire_send(fds[0], big, WIRE_FRAME_MAX)) == 0)
		sent++;
	assert_int_equal(r, -EAGAIN);
	for (int i = 0; i <= sent; i++)
		assert_int_equal(wire_recv(fds[1], big, WIRE_FRAME_MAX), WIRE_FRAME_MAX);
	assert_int_equal(wire_send(fds[0], "fits again", 10), 0);
	close_fd(&fds[1]);
	assert_int_equal(wire_send(fds[0], "x", 1), -EPIPE);
	assert_int_equal(wire_recv(fds[0], got, sizeof(got)), 0);
	close_fd(&fds[0]);
}

/* The last events are read even when their sender left without reading what we had sent. */
static void test_last_words(void **state)
{
	(void) state;
	int fds[2];
	char got[16];
	assert_int_equal(wire_pair(fds, NULL), 0);
	assert_int_equal(wire_send(fds[0], "verb", 4), 0);
	assert_int_equal(wire_send(fds[1], "exit", 4), 0);
	close_fd(&fds[1]);
	assert_int_equal(wire_recv(fds[0], got, sizeof(got)), 4);
	assert_memory_equal(got, "exit", 4);
	assert_int_equal(wire_recv(fds[0], got, sizeof(got)), 0);
	assert_int_equal(wire_send(fds[0], "x", 1), -EPIPE);
	close_fd(&fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),       cmocka_unit_test(test_writer_never_overruns),
		cmocka_unit_test(test_writer_has_a_cap), cmocka_unit_test(test_cut_frames),
		cmocka_unit_test(test_lying_lengths),    cmocka_unit_test(test_open_refuses),
		cmocka_unit_test(test_socket),           cmocka_unit_test(test_last_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
