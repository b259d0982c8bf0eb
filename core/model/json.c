/* SPDX-License-Identifier: MIT */
/*
 * Text as JSON and JSON from hostile lines: what event_json.c and the recordings share. Strings are
 * written here, straight into a buffer, since each byte of a target's output passes; parsing is jansson's,
 * behind bounds of our own.
 */
#include "core/model/json.h"

#include <errno.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/event.h"

/*
 * What is written as \uXXXX: what JSON demands, and what would act on a terminal that a recording is shown on
 * by `cat`: C1, bidi, zero-width, separators, byte-order mark, tags.
 */
static bool rune_acts(uint32_t rune)
{
	static const struct {
		uint32_t first, last;
	} acts[] = {
		{ 0x0000, 0x001f }, { 0x007f, 0x009f }, { 0x061c, 0x061c },
		{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
		{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
	};
	if (rune >= 0x20 && rune < 0x7f) /* nearly always */
		return rune == '"' || rune == '\\';
	for (size_t i = 0; i < ARRAY_LEN(acts); i++)
		if (rune >= acts[i].first && rune <= acts[i].last)
			return true;
	return false;
}

/* The character at `s`, in text that is known to be UTF-8. Returns its bytes. */
static size_t rune_read(const char *text, uint32_t *ret_rune)
{
	const unsigned char *s = (const unsigned char *) text;
	size_t len = *s < 0x80 ? 1 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
	uint32_t rune = len == 1 ? *s : *s & (0xffu >> (len + 1));

	for (size_t i = 1; i < len; i++)
		rune = rune << 6 | (s[i] & 0x3f);
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

static void put_utf8(const char *text, size_t len, struct buf *out)
{
	size_t plain = 0; /* start of what was not written yet */
	uint32_t rune;

	buf_add(out, "\"", 1);
	for (size_t i = 0, step; i < len; i += step) {
		step = rune_read(text + i, &rune);
		if (!rune_acts(rune))
			continue;
		buf_add(out, text + plain, i - plain);
		put_escape(rune, out);
		plain = i + step;
	}
	buf_add(out, text + plain, len - plain);
	buf_add(out, "\"", 1);
}

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void json_base64(const char *bytes, size_t len, struct buf *out)
{
	const unsigned char *s = (const unsigned char *) bytes;

	buf_str(out, "{\"base64\":\"");
	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		uint32_t v = (uint32_t) s[i] << 16 | (n > 1 ? (uint32_t) s[i + 1] << 8 : 0) |
			     (n > 2 ? s[i + 2] : 0);
		char quad[4] = {
			base64_digits[v >> 18],
			base64_digits[v >> 12 & 63],
			n > 1 ? base64_digits[v >> 6 & 63] : '=',
			n > 2 ? base64_digits[v & 63] : '=',
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

/* jansson takes some fifty times the memory of what it reads, and its stack grows with the depth: both are
 * bounded by looking at the brackets and commas before it does. */
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
