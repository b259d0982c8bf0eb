/* SPDX-License-Identifier: MIT */
/*
 * Structs as messages: one function a struct walks its fields in both directions, so that the two cannot differ. A message
 * travels as VERB_LAUNCH frames, since code may be longer than a frame; each begins with whether it is the last.
 */
#include "core/model/pack.h"
#include "core/model/model.h"

#include "core/base/base.h"
#include "core/base/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_SHAPE   1            /* of the packed form: both ends are of one build, and say so */
#define CHUNK        (100u << 10) /* bytes of one frame */
#define WHOLE_MAX    (CODE_MAX + (4u << 20))
#define LIST_LONGEST 65536

void pack_u64(struct pack *p, uint64_t *v)
{
	if (p->out)
		buf_add(p->out, v, sizeof(*v));
	else
		*v = wire_get_u64(&p->in);
}

void pack_bytes(struct pack *p, char **bytes, size_t *len)
{
	uint64_t n = *bytes ? *len : UINT64_MAX;
	pack_u64(p, &n);
	if (p->out) {
		if (*bytes)
			buf_add(p->out, *bytes, *len);
		return;
	}
	*bytes = NULL;
	*len = 0;
	if (p->in.bad || n == UINT64_MAX)
		return;
	if (n > (size_t) (p->in.end - p->in.p)) {
		p->in.bad = true;
		return;
	}
	*bytes = xstrndup("", 0);
	*bytes = xrealloc(*bytes, n + 1);
	memcpy(*bytes, p->in.p, n);
	(*bytes)[n] = 0;
	*len = n;
	p->in.p += n;
}

void pack_str(struct pack *p, char **s)
{
	size_t len = *s ? strlen(*s) : 0;
	pack_bytes(p, s, &len);
	if (!p->out && *s && strlen(*s) != len)
		p->in.bad = true;
}

size_t pack_count(struct pack *p, size_t count)
{
	uint64_t n = count;
	pack_u64(p, &n);
	if (!p->out && n > LIST_LONGEST)
		p->in.bad = true;
	return p->in.bad ? 0 : n;
}

void pack_strv(struct pack *p, char ***v)
{
	size_t count = pack_count(p, strv_len(*v));
	if (!p->out)
		*v = NULL;
	for (size_t k = 0; k < count && !p->in.bad; k++) {
		char *s = p->out ? (*v)[k] : NULL;
		pack_str(p, &s);
		if (p->out)
			continue;
		if (s)
			*v = strv_add(*v, s);
		else
			p->in.bad = true;
		free(s);
	}
}

/* ---- whole messages ---- */

struct pack pack_begin(struct buf *whole)
{
	struct pack p = { .out = whole };
	uint64_t shape = TYPE_SHAPE;
	pack_u64(&p, &shape);
	return p;
}

void pack_frames(const struct buf *whole, struct buf *out)
{
	FREE uint8_t *space = xmalloc(WIRE_FRAME_MAX);
	FREE char *chunk = xmalloc(CHUNK + 1);
	for (size_t at = 0; at < whole->len;) {
		size_t len = whole->len - at < CHUNK ? whole->len - at : CHUNK;
		chunk[0] = at + len == whole->len;
		memcpy(chunk + 1, whole->data + at, len);
		const struct verb_msg m = { .verb = VERB_LAUNCH, .bytes = chunk, .len = len + 1 };
		ssize_t n = verb_encode(&m, space, WIRE_FRAME_MAX);
		wire_stream_put(out, space, (size_t) n); /* a chunk always fits */
		at += len;
	}
}

int pack_take(struct buf *whole, const char *bytes, size_t len, struct err *e)
{
	if (len < 2 || whole->len + len > WHOLE_MAX)
		return err_say(e, EPROTO, "a launch of %zu bytes", whole->len + len);
	buf_add(whole, bytes + 1, len - 1);
	return bytes[0] != 0;
}

struct pack unpack_begin(const struct buf *whole)
{
	const uint8_t *p = (const uint8_t *) whole->data;
	struct pack pack = { .in = { .p = p, .end = p + whole->len } };
	if (wire_get_u64(&pack.in) != TYPE_SHAPE)
		pack.in.bad = true;
	return pack;
}
