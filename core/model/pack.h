/* SPDX-License-Identifier: MIT */
/*
 * Private to core/model: fields of a struct put into a message, or taken out of one, by the same calls.
 */
#pragma once

#include "core/base/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

struct pack {
	struct buf *out;   /* packing; else NULL */
	struct wire_in in; /* unpacking; bad: something was missing or cannot be */
};
struct pack pack_begin(struct buf *whole);
struct pack unpack_begin(const struct buf *whole);
void pack_u64(struct pack *p, uint64_t *v);
/* Strings, bytes and lists that are unpacked are the caller's to free, also where it went bad half way. */
void pack_bytes(struct pack *p, char **bytes, size_t *len);
void pack_str(struct pack *p, char **s);
void pack_strv(struct pack *p, char ***v);
size_t pack_count(struct pack *p, size_t count);
#define PACK_NUMBER(p, field)                 \
	do {                                  \
		uint64_t v_ = (field);        \
		pack_u64(p, &v_);             \
		(field) = (typeof(field)) v_; \
	} while (0)

/* pack_frames: a message as frames, appended as wire_stream_put does. */
void pack_frames(const struct buf *whole, struct buf *out);
