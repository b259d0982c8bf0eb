/* SPDX-License-Identifier: MIT */
/*
 * Private to core/model: reading hostile JSON, one line at a time. Its counterpart for writing, json_text,
 * is public and declared in event.h.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include <jansson.h>

struct buf;
struct err;

/* json_base64: the second form of json_text, whatever the bytes are. Appended. */
void json_base64(const char *bytes, size_t len, struct buf *out);

#define JSON_DEPTH_MAX  16
#define JSON_VALUES_MAX (64u << 10)

/* json_line: an object with no key twice, within the bounds above. Gives: json_decref; NULL and an error
 * (EINVAL) that quotes nothing of the line. */
json_t *json_line(const char *line, size_t len, size_t max_len, struct err *e);

/* json_text_get: the bytes of a string or {"base64":"…"}, NULs included. Returns their number, or -EINVAL
 * for any other value (NULL too); `out` NULL only measures. json_text_dup: the same with a NUL after it.
 * Gives. */
ssize_t json_text_get(const json_t *value, char *out);
char *json_text_dup(const json_t *value, size_t *ret_len);
