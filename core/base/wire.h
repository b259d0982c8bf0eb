/* SPDX-License-Identifier: MIT */
/*
 * Frames: one type byte, a version, fixed binary fields in native order, then strings with a length before them.
 * Both ends are the same program on the same machine, or a guest whose every byte is refused unless it fits. A writer
 * never overruns: it remembers that it was full. A reader never trusts a length: it remembers that it was bad.
 */
#pragma once

/* clang-format off */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

#define WIRE_VERSION 1
#define WIRE_FRAME_MAX (128u << 10) /* no frame is longer, in either direction */

struct wire_out {
	uint8_t *data;
	size_t len, cap;
	bool full; /* something did not fit: the frame must not be sent */
};

struct wire_in {
	const uint8_t *p, *end;
	bool bad; /* something was missing or too long: nothing read since then may be used */
};

void wire_begin(struct wire_out *w, void *space, size_t size, uint8_t type); /* writes type and version */
void wire_put_u8(struct wire_out *w, uint8_t v);
void wire_put_u32(struct wire_out *w, uint32_t v);
void wire_put_u64(struct wire_out *w, uint64_t v);
void wire_put_bytes(struct wire_out *w, const void *data, size_t len); /* u32 length, then the bytes */
void wire_put_str(struct wire_out *w, const char *s);                  /* NULL is told apart from "" */

/* wire_open: checks version and cap, gives the type. Returns 0, -EPROTO. */
int wire_open(struct wire_in *r, const void *frame, size_t len, uint8_t *ret_type, struct err *e);
uint8_t wire_get_u8(struct wire_in *r);
uint32_t wire_get_u32(struct wire_in *r);
uint64_t wire_get_u64(struct wire_in *r);
/* Borrows from the frame; NULL and 0 when bad. wire_get_str refuses inner NULs and anything over `max`; what it returns
 * is not terminated in the frame, so it gives pointer and length like wire_get_bytes. *ret_null: it was a NULL string;
 * where `ret_null` is NULL there may be none. */
const void *wire_get_bytes(struct wire_in *r, size_t max, size_t *ret_len);
const char *wire_get_str(struct wire_in *r, size_t max, size_t *ret_len, bool *ret_null);
/* wire_end: 0 when all was read and nothing was bad, else -EPROTO. */
int wire_end(const struct wire_in *r, struct err *e);

/*
 * Over a SOCK_SEQPACKET socket, one frame a message.
 * wire_send: 0, -EAGAIN when the socket is full (nothing was sent), -EPIPE when the other side is gone, another -errno.
 * wire_recv: length of the frame, 0 at end of file, -EAGAIN when there is none, -EMSGSIZE for one over `size`.
 */
int wire_send(int fd, const void *frame, size_t len);
ssize_t wire_recv(int fd, void *space, size_t size);
/* wire_pair: a connected pair, both O_CLOEXEC and O_NONBLOCK, with room for at least one WIRE_FRAME_MAX frame. */
int wire_pair(int ret_fds[2], struct err *e);

/*
 * Over a byte stream (a virtual serial port, a plain socket): each frame behind its length, a u32.
 * wire_stream_put: appends one. wire_stream_read: what the descriptor has, up to `room`; more than 0, 0 at its end, or
 * -errno. wire_stream_next: length of the next whole frame, *ret_frame borrowed until the next read; -EAGAIN: none is
 * whole yet; -EPROTO: a length that no frame has, and nothing that follows can be used.
 */
struct wire_stream {
	uint8_t *space;
	size_t start, end;
};
#define WIRE_STREAM_ROOM (2 * (WIRE_FRAME_MAX + sizeof(uint32_t)))
struct buf;
void wire_stream_put(struct buf *out, const void *frame, size_t len);
ssize_t wire_stream_read(struct wire_stream *s, int fd);
ssize_t wire_stream_next(struct wire_stream *s, const void **ret_frame);
void wire_stream_done(struct wire_stream *s);
