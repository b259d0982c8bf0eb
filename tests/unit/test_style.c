/* SPDX-License-Identifier: MIT */
/*
 * Colours of a target: what each SGR comes down to, that no style hides its text, what a scrubber hands on, and what is
 * sent to a terminal in their place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

/* Words for a style: "b" bold, "u" underline, "r" reverse, fN, gN (ground) with SGR's digit. */
static const char *words(struct text_style s)
{
	static char said[16];
	char *to = said;
	*to = '\0';
	to = stpcpy(to, s.bold ? "b" : "");
	to = stpcpy(to, s.underline ? "u" : "");
	to = stpcpy(to, s.reverse ? "r" : "");
	if (s.fg)
		to = stpcpy(to, (char[]){ 'f', (char) ('0' + s.fg - 1), 0 });
	if (s.bg)
		(void) stpcpy(to, (char[]){ 'g', (char) ('0' + s.bg - 1), 0 });
	return said;
}

/* clang-format off */
static const struct { const char *sgr, *style; } rows[] = {
	{ "", "" }, { "0", "" }, { ";", "" }, { "1", "b" }, { "1;4;7", "bur" }, { "1;", "" }, { "1;0;4", "u" },
	{ "31", "f1" }, { "97", "f7" }, { "90", "f0" }, { "44", "g4" }, { "103", "g3" }, { "31;42", "f1g2" },
	{ "31;39", "" }, { "44;49", "" }, { "1;22", "" }, { "4;24", "" }, { "7;27", "" }, { "21", "u" },
	/* what there is no place for: dim, italic, blink, conceal, fonts, frames */
	{ "2", "" }, { "3", "" }, { "5", "" }, { "6", "" }, { "8", "" }, { "9;10;19;51;53;73", "" }, { "31;8", "f1" },
	{ "38;5;1", "f1" }, { "38;5;9", "f1" }, { "48;5;196", "g1" }, { "38;5;232", "f0" }, { "38;5;255", "f7" },
	{ "38;5;52", "f1" }, { "38;5;256", "" }, { "38;2;255;0;0", "f1" }, { "38;2;255;165;0", "f3" },
	{ "48;2;10;10;10", "g0" }, { "38;2;256;0;0", "" },
	/* a colour's numbers are no attributes, whatever becomes of the colour */
	{ "38;5;1;4", "uf1" }, { "58;5;1;4", "u" }, { "58;2;1;4;7;4", "u" }, { "38;2;1;4", "" }, { "38;5", "" },
	{ "38", "" }, { "38;7;4", "u" }, { "38;5;;1", "bf0" },
	/* colons */
	{ "38:5:1", "f1" }, { "38:2::255:0:0", "f1" }, { "38:2:255:0:0", "f1" }, { "48:2:1:0:0:255", "g4" },
	{ "38:5:1;4", "uf1" }, { "58:5:1;4", "u" }, { "4:3", "u" }, { "4;4:0", "" }, { "38:", "" }, { "38:2:1:2", "" },
	{ "38:5:1:2:3:4:5:6:7:8", "" }, { "1:31", "b" }, { ":::", "" },
	/* numbers that do not fit */
	{ "4294967327", "" }, { "00000000000000000000000031", "f1" }, { "99999999999999999999;1", "b" },
	{ "38;5;4294967297", "" },
};
/* clang-format on */

static void test_sgr(void **state)
{
	(void) state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct text_style s = style_sgr((struct text_style){ 0 }, rows[i].sgr, strlen(rows[i].sgr));
		if (strcmp(words(s), rows[i].style) != 0)
			fail_msg("%s: \"%s\", not \"%s\"", rows[i].sgr, words(s), rows[i].style);
	}
}

static void test_legible_in_every_pair(void **state)
{
	(void) state;
	for (unsigned fg = 0; fg < STYLE_COLORS; fg++)
		for (unsigned bg = 0; bg < STYLE_COLORS; bg++) {
			struct text_style s =
				style_legible((struct text_style){ .fg = fg & 0xf, .bg = bg & 0xf });
			assert_true(s.fg != s.bg || s.fg == STYLE_OWN);
			assert_true(s.bg == STYLE_OWN || s.fg != STYLE_OWN);
			/* on a ground that may be any, neither end of the scale */
			assert_true(s.bg != STYLE_OWN || (s.fg != STYLE_BLACK && s.fg != STYLE_WHITE));
		}
}

static void note_style(void *arg, struct text_style style, struct buf *out)
{
	(void) arg;
	buf_printf(out, "{%s}", words(style));
}

static void note_removed(void *arg, enum text_removed kind, size_t bytes)
{
	struct buf *told = arg;
	buf_printf(told, "%s:%zu ", text_removed_name(kind), bytes);
}

static void check_scrubbed(const char *in, const char *expected, const char *expected_told)
{
	for (size_t chunk = 1; chunk <= strlen(in); chunk++) {
		struct buf out = { 0 }, told = { 0 };
		struct scrub s = { .removed = note_removed, .styled = note_style, .arg = &told };
		buf_str(&told, "");
		for (size_t at = 0; at < strlen(in); at += chunk)
			scrub_add(&s, in + at, chunk < strlen(in) - at ? chunk : strlen(in) - at, &out);
		scrub_end(&s, &out);
		assert_string_equal(out.data, expected);
		assert_string_equal(told.data, expected_told);
		buf_done(&out);
		buf_done(&told);
	}
}

static void test_scrubber_hands_colours_on(void **state)
{
	(void) state;
	check_scrubbed("a\033[31mb\033[31mc\033[0md", "a{f1}bc{}d", "");
	check_scrubbed("\302\233"
		       "1;31mx",
		       "{bf1}x", "");
	check_scrubbed("\033[38;5;4mx\033[8my\033[5mz", "{f4}xyz", "");
	check_scrubbed("\033[3\0331m", "\u27e8ESC[3\u27e9\u27e8ESC1\u27e9m", "escape:3 escape:2 ");
	check_scrubbed("\033[31", "\u27e8ESC[31\u27e9", "escape:4 ");
	check_scrubbed("\033[3\a1mx", "\u27e8U+0007\u27e9{f1}x", "control:1 ");
	check_scrubbed("\033[>31m\033[?31m\033[31 m",
		       "\u27e8ESC[>31m\u27e9\u27e8ESC[?31m\u27e9\u27e8ESC[31 m\u27e9",
		       "screen:6 query:6 escape:6 ");
}

/* A million parameters are no colour but an overlong sequence: shown, told, and the rest is text. */
static void test_million_parameters(void **state)
{
	(void) state;
	struct buf in = { 0 }, out = { 0 }, told = { 0 };
	struct scrub s = { .removed = note_removed, .styled = note_style, .arg = &told };
	buf_str(&in, "\033[");
	for (int i = 0; i < 1000000; i++)
		buf_str(&in, "31;");
	buf_str(&in, "1m!");
	scrub_add(&s, in.data, in.len, &out);
	assert_null(strchr(out.data, '{'));
	assert_string_equal(told.data, "escape:256 ");
	assert_int_equal(out.data[out.len - 1], '!');
	buf_done(&in);
	buf_done(&out);
	buf_done(&told);
}

static void check_added(const char *sgr, const char *text, const char *expected)
{
	struct buf out = { 0 };
	style_add(style_sgr((struct text_style){ 0 }, sgr, strlen(sgr)), text, strlen(text), &out);
	assert_string_equal(out.data, expected);
	buf_done(&out);
}

static void test_every_line_ends_plain(void **state)
{
	(void) state;
	check_added("", "a\nb", "a\nb");
	check_added("31", "a", "\033[0;31ma\033[0m");
	check_added("1;4;7;31;42", "a\n\nb\n",
		    "\033[0;1;4;7;31;42ma\033[0m\n\n\033[0;1;4;7;31;42mb\033[0m\n");
	check_added("30;40", "hidden", "hidden");
	check_added("30", "hidden", "hidden");
	check_added("41", "a", "\033[0;37;41ma\033[0m");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sgr),
		cmocka_unit_test(test_legible_in_every_pair),
		cmocka_unit_test(test_scrubber_hands_colours_on),
		cmocka_unit_test(test_million_parameters),
		cmocka_unit_test(test_every_line_ends_plain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
