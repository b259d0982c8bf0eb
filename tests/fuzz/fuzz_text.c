/* SPDX-License-Identifier: MIT */
/*
 * The scrubber: whatever goes in, what comes out can only be printed, and does not depend on how the input
 * was cut. What is allowed out is written down here a second time, in other words than the scrubber's own
 * tables.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

struct told {
	size_t count[TEXT_REMOVED_MAX], bytes[TEXT_REMOVED_MAX];
};

/* Where the styles change and to what, as one number: it may not depend on how the input was cut. */
struct worn {
	struct told told;
	uint64_t changes;
	struct text_style style;
};

static void note(void *arg, enum text_removed kind, size_t bytes)
{
	struct told *t = &((struct worn *) arg)->told;
	CHECK(kind < TEXT_REMOVED_MAX && bytes > 0);
	t->count[kind]++;
	t->bytes[kind] += bytes;
}

static void check_dressed(struct text_style style, const char *text)
{
	struct buf out = { 0 };
	unsigned sequences = 0;
	style_add(style, text, strlen(text), &out);
	for (const char *p = out.data; (p = strchr(p, '\033')); sequences++) {
		size_t len = 2 + strspn(p + 2, "0123456789;");
		CHECK(p[1] == '[' && p[2] == '0' && len < 20 && p[len] == 'm');
		p += len;
	}
	CHECK(sequences % 2 == 0);
	CHECK(out.data[out.len - 1] == (sequences ? 'm' : text[strlen(text) - 1]));
	buf_done(&out);
}

static void wear(void *arg, struct text_style style, struct buf *out)
{
	struct worn *w = arg;
	struct text_style legible = style_legible(style);
	CHECK(style.fg < STYLE_COLORS && style.bg < STYLE_COLORS && !style_same(style, w->style));
	CHECK(legible.fg != legible.bg || legible.fg == STYLE_OWN);
	check_dressed(style, "one\ntwo");
	w->style = style;
	w->changes = w->changes * 31 + out->len * 1024 + style.fg * 64u + style.bg * 8u + style.bold * 4u +
		     style.underline * 2u + style.reverse;
}

/* Cuts where the data itself says, or not at all. */
static void scrub(struct scrub s, const uint8_t *data, size_t size, bool cut, struct buf *out, struct worn *w)
{
	memset(w, 0, sizeof(*w));
	s.removed = note;
	s.arg = w;
	buf_str(out, "");
	for (size_t at = 0, n; at < size; at += n) {
		n = cut ? 1u + data[at] % 5u : size;
		if (n > size - at)
			n = size - at;
		scrub_add(&s, data + at, n, out);
	}
	scrub_end(&s, out);
}

static bool in(uint32_t c, uint32_t first, uint32_t last)
{
	return c >= first && c <= last;
}

static void check_rune(uint32_t c)
{
	CHECK(!in(c, 0x80, 0x9f)); /* C1 */
	CHECK(!in(c, 0xd800, 0xdfff) && c <= 0x10ffff);
	CHECK(c != 0x61c && !in(c, 0x200e, 0x200f) && !in(c, 0x202a, 0x202e) && !in(c, 0x2066, 0x2069));
	CHECK(!in(c, 0x200b, 0x200d) && !in(c, 0x2060, 0x206f) && c != 0xfeff && c != 0xad);
	CHECK(!in(c, 0xfff0, 0xfffb));
	CHECK(!in(c, 0x2028, 0x2029) && c != 0x3164 && c != 0xffa0 && c != 0x115f && c != 0x1160);
	CHECK(!in(c, 0xe0000, 0xe0fff)); /* tags, variation selectors */
	CHECK(!in(c, 0xfe00, 0xfe0f));
	CHECK(!in(c, 0xe000, 0xf8ff) && c < 0xf0000);            /* private use */
	CHECK(!in(c, 0xfdd0, 0xfdef) && (c & 0xfffe) != 0xfffe); /* noncharacters */
}

/* Encodes again what it decodes, so that overlong forms cannot slip through. Returns the length. */
static size_t check_encoding(const uint8_t *p, size_t left)
{
	size_t n = *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
	uint32_t c = *p & (0xffu >> (n + 1));
	CHECK(*p >= 0xc2 && *p < 0xf5 && n <= left);
	for (size_t i = 1; i < n; i++) {
		CHECK((p[i] & 0xc0) == 0x80);
		c = c << 6 | (p[i] & 0x3f);
	}
	CHECK(n == (c < 0x800 ? 2u : c < 0x10000 ? 3u : 4u));
	check_rune(c);
	return n;
}

static void check_printable(const struct buf *out, const struct scrub *s)
{
	const uint8_t *p = (const uint8_t *) out->data, *end = p + out->len;
	while (p < end) {
		if (*p >= 0x80) {
			CHECK(!s->ascii);
			p += check_encoding(p, (size_t) (end - p));
			continue;
		}
		CHECK(*p >= 0x20 || (!s->one_line && (*p == '\n' || *p == '\t')));
		CHECK(*p != 0x7f);
		p++;
	}
	size_t width = text_width(out->data, out->len);
	CHECK(text_fit(out->data, out->len, width) == out->len);
	CHECK(text_fit(out->data, out->len, width / 2) <= out->len);
	CHECK(text_is_utf8(out->data, out->len));
}

static void check_mode(const uint8_t *data, size_t size, struct scrub s)
{
	struct buf whole = { 0 }, cut = { 0 };
	struct worn whole_worn, cut_worn;
	size_t bytes = 0;

	scrub(s, data, size, false, &whole, &whole_worn);
	scrub(s, data, size, true, &cut, &cut_worn);
	CHECK(whole.len == cut.len && memcmp(whole.data, cut.data, cut.len) == 0);
	CHECK(memcmp(&whole_worn.told, &cut_worn.told, sizeof(cut_worn.told)) == 0);
	CHECK(whole_worn.changes == cut_worn.changes && style_same(whole_worn.style, cut_worn.style));
	CHECK(!s.styled || whole_worn.told.count[TEXT_COLOUR] == 0);
	for (size_t i = 0; i < TEXT_REMOVED_MAX; i++)
		bytes += whole_worn.told.bytes[i];
	CHECK(bytes <= size);
	CHECK(whole.len <= 24 + 16 * size);
	check_printable(&whole, &s);
	buf_done(&whole);
	buf_done(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text_findings found;

	check_mode(data, size, (struct scrub){ 0 });
	check_mode(data, size, (struct scrub){ .ascii = true });
	check_mode(data, size, (struct scrub){ .one_line = true });
	check_mode(data, size, (struct scrub){ .styled = wear });
	text_inspect((const char *) data, size, &found);
	CHECK(found.lines <= size && found.longest_line <= size);
	CHECK(text_is_utf8(data, size) == (found.invalid == 0));
	return 0;
}
