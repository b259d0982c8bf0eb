/* SPDX-License-Identifier: MIT */
/*
 * Events as JSON, in both directions, by the table of fields. Writing is done here, straight into a buffer, since it is
 * on the way of every event; reading is jansson's, and sees hostile lines.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "core/base/base.h"
#include "core/model/event_table.h"

/*
 * Characters that JSON may hold as they are, but which would act on a terminal that a recording is shown on by `cat`:
 * they are written as \uXXXX. Returns how many bytes of the (valid) UTF-8 at `s` are to be escaped, 0 for none.
 */
static size_t rune_acts(const unsigned char *s, size_t left, uint32_t *ret_rune)
{
	if (*s < 0x80) {
		*ret_rune = *s;
		return *s < 0x20 || *s == 0x7f || *s == '"' || *s == '\\';
	}
	uint32_t rune;
	size_t len;
	if (*s == 0xc2 && left >= 2) { /* C1 */
		rune = s[1];
		len = rune < 0xa0 ? 2 : 0;
	} else if ((*s == 0xe2 || *s == 0xef) && left >= 3) { /* bidi, zero-width, separators, byte-order mark */
		rune = (uint32_t) (*s & 0xf) << 12 | (uint32_t) (s[1] & 0x3f) << 6 | (s[2] & 0x3f);
		bool acts = (rune >= 0x200b && rune <= 0x200f) || (rune >= 0x2028 && rune <= 0x202e) ||
			    (rune >= 0x2060 && rune <= 0x206f) || rune == 0xfeff || (rune >= 0xfff9 && rune <= 0xfffb);
		len = acts ? 3 : 0;
	} else if (*s == 0xf3 && left >= 4 && s[1] == 0xa0) { /* tags */
		rune = 0xe0000 | (uint32_t) (s[2] & 0x3f) << 6 | (s[3] & 0x3f);
		len = 4;
	} else {
		return 0;
	}
	*ret_rune = rune;
	return len;
}

static void put_escape(uint32_t rune, struct buf *out)
{
	if (rune == '"' || rune == '\\')
		buf_printf(out, "\\%c", (char) rune);
	else if (rune == '\n')
		buf_str(out, "\\n");
	else if (rune == '\t')
		buf_str(out, "\\t");
	else if (rune == '\r')
		buf_str(out, "\\r");
	else if (rune > 0xffff)
		buf_printf(out, "\\u%04x\\u%04x", 0xd7c0 + (rune >> 10), 0xdc00 + (rune & 0x3ff));
	else
		buf_printf(out, "\\u%04x", rune);
}

static void put_utf8(const char *bytes, size_t len, struct buf *out)
{
	size_t plain = 0; /* start of what was not written yet */

	buf_add(out, "\"", 1);
	for (size_t i = 0; i < len;) {
		uint32_t rune;
		size_t acts = rune_acts((const unsigned char *) bytes + i, len - i, &rune);
		if (!acts) {
			i++;
			continue;
		}
		buf_add(out, bytes + plain, i - plain);
		put_escape(rune, out);
		i += acts;
		plain = i;
	}
	buf_add(out, bytes + plain, len - plain);
	buf_add(out, "\"", 1);
}

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_base64(const unsigned char *s, size_t len, struct buf *out)
{
	buf_str(out, "{\"base64\":\"");
	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		uint32_t v = (uint32_t) s[i] << 16 | (n > 1 ? (uint32_t) s[i + 1] << 8 : 0) | (n > 2 ? s[i + 2] : 0);
		char quad[4] = {
			base64_digits[v >> 18], base64_digits[v >> 12 & 63],
			n > 1 ? base64_digits[v >> 6 & 63] : '=', n > 2 ? base64_digits[v & 63] : '=',
		};
		buf_add(out, quad, sizeof(quad));
	}
	buf_str(out, "\"}");
}

void json_text(const char *bytes, size_t len, struct buf *out)
{
	if (text_is_utf8(bytes, len))
		put_utf8(bytes, len, out);
	else
		put_base64((const unsigned char *) bytes, len, out);
}

/* A key is ours and plain ASCII; a comma goes before all but the first of an object. */
static void put_key(const char *key, struct buf *out)
{
	char last = out->data[out->len - 1];

	if (last != '{')
		buf_add(out, ",", 1);
	put_utf8(key, strlen(key), out);
	buf_add(out, ":", 1);
}

/* Millionths as a decimal with one place at least; printf would follow a locale's comma. */
static void put_micro(uint64_t micro, struct buf *out)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64 ".%06u", micro / 1000000, (unsigned) (micro % 1000000));

	while (digits[len - 1] == '0' && digits[len - 2] != '.')
		len--;
	buf_add(out, digits, (size_t) len);
}

/* Above it, millionths would not fit; nothing that is counted in seconds or per cent comes near. */
#define F64_LIMIT 1e12

static bool f64_known(double v)
{
	return v >= 0 && v <= F64_LIMIT;
}

/* Readers of JSON, jansson among them, know no integer above INT64_MAX. */
static bool u64_known(uint64_t v)
{
	return v <= INT64_MAX;
}

static void put_str(const char *s, struct buf *out)
{
	json_text(s, strlen(s), out);
}

static void put_fields(const void *base, const struct event_field *f, struct buf *out);

static void put_strs(const char *const *strs, size_t count, struct buf *out)
{
	buf_add(out, "[", 1);
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_add(out, ",", 1);
		put_str(strs[i], out);
	}
	buf_add(out, "]", 1);
}

static void put_list(const char *items, size_t count, const struct field_items *kind, struct buf *out)
{
	buf_add(out, "[", 1);
	for (size_t i = 0; i < count; i++) {
		buf_str(out, i ? ",{" : "{");
		put_fields(items + i * kind->size, kind->fields, out);
		buf_add(out, "}", 1);
	}
	buf_add(out, "]", 1);
}

/* Rows 0 and 1 of a MAP's entry are key and text, row 2 the number that stands where the text is NULL. */
static void put_map(const char *items, size_t count, const struct field_items *kind, struct buf *out)
{
	buf_add(out, "{", 1);
	for (size_t i = 0; i < count; i++, items += kind->size) {
		const char *text = *(const char *const *) field_cptr(items, &kind->fields[1]);
		put_key(*(const char *const *) field_cptr(items, &kind->fields[0]), out);
		if (text)
			put_str(text, out);
		else
			buf_printf(out, "%" PRId64, *(const int64_t *) field_cptr(items, &kind->fields[2]));
	}
	buf_add(out, "}", 1);
}

/* Is there something to write? What is not known is left out, or null where a reader should see that it is not. */
static bool field_known(const void *base, const struct event_field *f)
{
	const void *at = field_cptr(base, f);

	switch (f->kind) {
	case FIELD_U64:
		return u64_known(*(const uint64_t *) at);
	case FIELD_I64:
		return *(const int64_t *) at >= 0;
	case FIELD_F64:
		return f64_known(*(const double *) at);
	case FIELD_WORD:
		return *(const unsigned *) at < f->words->count && *f->words->names[*(const unsigned *) at];
	case FIELD_STR:
		return *(const char *const *) at != NULL;
	case FIELD_BYTES:
		return true;
	default:
		return field_count(base, f) > 0;
	}
}

static void put_value(const void *base, const struct event_field *f, struct buf *out)
{
	const void *at = field_cptr(base, f);

	switch (f->kind) {
	case FIELD_U64:
	case FIELD_I64: /* known, so not negative */
		buf_printf(out, "%" PRIu64, *(const uint64_t *) at);
		break;
	case FIELD_F64:
		put_micro((uint64_t) (*(const double *) at * 1e6 + 0.5), out);
		break;
	case FIELD_WORD:
		put_str(f->words->names[*(const unsigned *) at], out);
		break;
	case FIELD_STR:
		put_str(*(const char *const *) at, out);
		break;
	case FIELD_BYTES:
		json_text(*(const char *const *) at, field_count(base, f), out);
		break;
	case FIELD_STRS:
		put_strs(*(const char *const *const *) at, field_count(base, f), out);
		break;
	case FIELD_LIST:
		put_list(*(const char *const *) at, field_count(base, f), f->items, out);
		break;
	case FIELD_MAP:
		put_map(*(const char *const *) at, field_count(base, f), f->items, out);
		break;
	}
}

static void put_fields(const void *base, const struct event_field *f, struct buf *out)
{
	for (; f->name; f++) {
		bool known = field_known(base, f);
		if (!known && !(f->flags & FIELD_ALWAYS))
			continue;
		put_key(f->name, out);
		if (known)
			put_value(base, f, out);
		else
			buf_str(out, "null");
	}
}

void event_to_json(const struct event *ev, struct buf *out)
{
	if (ev->type == EVENT_UNKNOWN) {
		buf_str(out, ev->unknown.json);
		return;
	}
	buf_printf(out, "{\"seq\":%" PRIu64 ",\"t\":", ev->seq);
	put_micro(ev->t_ns / 1000, out);
	put_key("type", out);
	put_str(event_type_name(ev->type), out);
	put_fields(ev, event_common, out);
	put_fields(ev, event_fields(ev->type), out);
	buf_add(out, "}", 1);
}
