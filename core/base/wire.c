/* SPDX-License-Identifier: MIT */
/*
 * Frames: packed by the event and verb code of other rooms, carried between supervisor and front end over
 * unix(7) SOCK_SEQPACKET. The reader's input may come from a guest that is hostile: each get checks what is
 * left.
 */
#include "core/base/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/base/err.h"
#include "core/base/util.h"

#define WIRE_NULL UINT32_MAX /* in place of a length: a NULL string */

static void put(struct wire_out *w, const void *data, size_t len)
{
	if (w->full || len > w->cap - w->len) {
		w->full = true;
		return;
	}
	if (len)
		memcpy(w->data + w->len, data, len);
	w->len += len;
}

void wire_begin(struct wire_out *w, void *space, size_t size, uint8_t type)
{
	*w = (struct wire_out){ .data = space, .cap = size < WIRE_FRAME_MAX ? size : WIRE_FRAME_MAX };
	wire_put_u8(w, type);
	wire_put_u8(w, WIRE_VERSION);
}

void wire_put_u8(struct wire_out *w, uint8_t v)
{
	put(w, &v, sizeof(v));
}

void wire_put_u32(struct wire_out *w, uint32_t v)
{
	put(w, &v, sizeof(v));
}

void wire_put_u64(struct wire_out *w, uint64_t v)
{
	put(w, &v, sizeof(v));
}

void wire_put_bytes(struct wire_out *w, const void *data, size_t len)
{
	if (len > WIRE_FRAME_MAX) { /* also keeps the length within its 32 bits */
		w->full = true;
		return;
	}
	wire_put_u32(w, (uint32_t) len);
	put(w, data, len);
}

void wire_put_str(struct wire_out *w, const char *s)
{
	if (s)
		wire_put_bytes(w, s, strlen(s));
	else
		wire_put_u32(w, WIRE_NULL);
}

int wire_open(struct wire_in *r, const void *frame, size_t len, uint8_t *ret_type, struct err *e)
{
	*r = (struct wire_in){ .bad = true };
	if (len < 2 || len > WIRE_FRAME_MAX)
		return err_say(e, EPROTO, "frame of %zu bytes: must have 2 to %u", len, WIRE_FRAME_MAX);
	const uint8_t *bytes = frame;
	if (bytes[1] != WIRE_VERSION)
		return err_say(e, EPROTO, "frame of version %u: must be %d", bytes[1], WIRE_VERSION);
	*r = (struct wire_in){ .p = bytes + 2, .end = bytes + len };
	*ret_type = bytes[0];
	return 0;
}

static const void *get(struct wire_in *r, size_t len)
{
	if (r->bad || len > (size_t) (r->end - r->p)) {
		r->bad = true;
		return NULL;
	}
	const void *p = r->p;
	r->p += len;
	return p;
}

/* Fields follow each other without padding: copied out, never read in place. */
static void get_copy(struct wire_in *r, void *ret, size_t len)
{
	const void *p = get(r, len);
	if (p)
		memcpy(ret, p, len);
}

uint8_t wire_get_u8(struct wire_in *r)
{
	uint8_t v = 0;
	get_copy(r, &v, sizeof(v));
	return v;
}

uint32_t wire_get_u32(struct wire_in *r)
{
	uint32_t v = 0;
	get_copy(r, &v, sizeof(v));
	return v;
}

uint64_t wire_get_u64(struct wire_in *r)
{
	uint64_t v = 0;
	get_copy(r, &v, sizeof(v));
	return v;
}

static const void *get_counted(struct wire_in *r, size_t len, size_t max, size_t *ret_len)
{
	if (len > max)
		r->bad = true;
	const void *p = get(r, len);
	*ret_len = p ? len : 0;
	return p;
}

const void *wire_get_bytes(struct wire_in *r, size_t max, size_t *ret_len)
{
	return get_counted(r, wire_get_u32(r), max, ret_len);
}

const char *wire_get_str(struct wire_in *r, size_t max, size_t *ret_len, bool *ret_null)
{
	uint32_t len = wire_get_u32(r);
	bool null = !r->bad && len == WIRE_NULL;

	if (ret_null)
		*ret_null = null;
	if (null && ret_null) {
		*ret_len = 0;
		return NULL;
	}
	const char *s = get_counted(r, len, max, ret_len);
	if (s && memchr(s, '\0', *ret_len)) {
		r->bad = true;
		*ret_len = 0;
		return NULL;
	}
	return s;
}

int wire_end(const struct wire_in *r, struct err *e)
{
	if (r->bad)
		return err_say(e, EPROTO, "malformed frame: a field is missing or too long");
	if (r->p != r->end)
		return err_say(e, EPROTO, "malformed frame: %zu bytes too many", (size_t) (r->end - r->p));
	return 0;
}

int wire_send(int fd, const void *frame, size_t len)
{
	if (len == 0)
		return -EINVAL; /* the other side could not tell it from the end */
	ssize_t n;
	do
		n = send(fd, frame, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 0;
	if (errno == ECONNRESET || errno == ENOTCONN)
		return -EPIPE;
	return errno == ENOBUFS ? -EAGAIN : -errno;
}

ssize_t wire_recv(int fd, void *space, size_t size)
{
	ssize_t n;
	/*
	 * When the other side closed without reading all that we had sent, the kernel reports ECONNRESET
	 * once, before the frames that are still queued for us. Those hold the exit event: read on. unix(7)
	 * has no other cause.
	 */
	do
		n = recv(fd, space, size, MSG_DONTWAIT | MSG_TRUNC);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0)
		return -errno;
	return (size_t) n > size ? -EMSGSIZE : n;
}

int wire_pair(int ret_fds[2], struct err *e)
{
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		return err_set(e, errno, "socketpair");
	CLOSE_FD int a = fds[0];
	CLOSE_FD int b = fds[1];
	for (int i = 0; i < 2; i++) {
		/* The kernel caps the wish at net.core.wmem_max without a word, so look at what came of it.
		 * */
		int wish = 4 * (int) WIRE_FRAME_MAX, got = 0;
		socklen_t len = sizeof(got);
		(void) setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &wish, sizeof(wish));
		if (getsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &got, &len) < 0)
			return err_set(e, errno, "size of a socket's send buffer");
		if (got < (int) WIRE_FRAME_MAX + 1024)
			return err_say(e, ENOBUFS, "net.core.wmem_max is below the %u bytes of a frame",
				       WIRE_FRAME_MAX);
	}
	ret_fds[0] = take_fd(&a);
	ret_fds[1] = take_fd(&b);
	return 0;
}

/* ---- over a byte stream ---- */

void wire_stream_put(struct buf *out, const void *frame, size_t len)
{
	uint32_t length = (uint32_t) len;
	buf_add(out, &length, sizeof(length));
	buf_add(out, frame, len);
}

ssize_t wire_stream_read(struct wire_stream *s, int fd)
{
	ssize_t n;
	if (!s->space)
		s->space = xmalloc(WIRE_STREAM_ROOM);
	if (s->start) {
		memmove(s->space, s->space + s->start, s->end - s->start);
		s->end -= s->start;
		s->start = 0;
	}
	if (s->end == WIRE_STREAM_ROOM)
		return -ENOBUFS; /* a whole frame is in it: it has to be taken first */
	do
		n = read(fd, s->space + s->end, WIRE_STREAM_ROOM - s->end);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	s->end += (size_t) n;
	return n;
}

ssize_t wire_stream_next(struct wire_stream *s, const void **ret_frame)
{
	uint32_t length;
	if (s->end - s->start < sizeof(length))
		return -EAGAIN;
	memcpy(&length, s->space + s->start, sizeof(length));
	if (length < 2 || length > WIRE_FRAME_MAX)
		return -EPROTO;
	if (s->end - s->start - sizeof(length) < length)
		return -EAGAIN;
	*ret_frame = s->space + s->start + sizeof(length);
	s->start += sizeof(length) + length;
	return (ssize_t) length;
}

void wire_stream_done(struct wire_stream *s)
{
	free(s->space);
	*s = (struct wire_stream){ 0 };
}
