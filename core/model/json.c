/* SPDX-License-Identifier: MIT */
/*
 * Text as JSON and JSON from hostile lines: what event_json.c and the recordings share. Strings are written here,
 * straight into a buffer, since each byte of a target's output passes; parsing is jansson's, behind bounds of our own.
 */
#include "core/model/json.h"

#include <errno.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/event.h"

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

void json_base64(const char *bytes, size_t len, struct buf *out)
{
	const unsigned char *s = (const unsigned char *) bytes;

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
		json_base64(bytes, len, out);
}

/* jansson takes some fifty times the memory of what it reads, and its stack grows with the depth: both are bounded by
 * looking at the brackets and commas before it does. */
static bool shape_fits(const char *line, size_t len, size_t max_values)
{
	size_t depth = 0, values = 0;
	bool text = false;

	for (size_t i = 0; i < len; i++) {
		char c = line[i];
		if (text) {
			i += c == '\\';
			text = c != '"';
			continue;
		}
		text = c == '"';
		depth += c == '{' || c == '[';
		depth -= (c == '}' || c == ']') && depth;
		values += c == '{' || c == '[' || c == ',';
		if (depth > JSON_DEPTH_MAX || values > max_values)
			return false;
	}
	return true;
}

json_t *json_line(const char *line, size_t len, size_t max_len, struct err *e)
{
	json_error_t error;

	if (len > max_len) {
		err_say(e, EINVAL, "a line of %zu bytes is too long", len);
		return NULL;
	}
	if (!shape_fits(line, len, JSON_VALUES_MAX)) {
		err_say(e, EINVAL, "too many values, or nested too deep");
		return NULL;
	}
	/* jansson's own text quotes the line, which is hostile: only the place is told. */
	json_t *json = json_loadb(line, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	if (!json)
		err_say(e, EINVAL, "not valid JSON near byte %d of the line", error.position);
	else if (!json_is_object(json))
		err_say(e, EINVAL, "not a JSON object");
	else
		return json;
	json_decref(json);
	return NULL;
}

static int base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* The length that `text` decodes to, or -EINVAL. `out` is NULL to measure. */
static ssize_t base64_decode(const char *text, size_t len, char *out)
{
	size_t pad = len && text[len - 1] == '=' ? 1 + (len > 1 && text[len - 2] == '=') : 0;
	size_t made = 0;
	uint32_t bits = 0;

	if (len % 4)
		return -EINVAL;
	for (size_t i = 0; i < len - pad; i++) {
		int v = base64_value(text[i]);
		if (v < 0)
			return -EINVAL;
		bits = bits << 6 | (uint32_t) v;
		if (i % 4 == 0)
			continue;
		if (out)
			out[made] = (char) (bits >> (6 - 2 * (i % 4)));
		made++;
	}
	return (ssize_t) made;
}

ssize_t json_text_get(const json_t *value, char *out)
{
	if (json_is_string(value)) {
		size_t len = json_string_length(value);
		if (out)
			memcpy(out, json_string_value(value), len);
		return (ssize_t) len;
	}
	const json_t *coded = json_object_get(value, "base64");
	if (!json_is_string(coded) || json_object_size(value) != 1)
		return -EINVAL;
	return base64_decode(json_string_value(coded), json_string_length(coded), out);
}

char *json_text_dup(const json_t *value, size_t *ret_len)
{
	ssize_t len = json_text_get(value, NULL);

	if (len < 0)
		return NULL;
	char *text = xmalloc((size_t) len + 1);
	(void) json_text_get(value, text);
	text[len] = '\0';
	if (ret_len)
		*ret_len = (size_t) len;
	return text;
}
