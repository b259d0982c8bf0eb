/* SPDX-License-Identifier: MIT */
/*
 * The scrubber: hostile inputs, what is shown for each, and what is told. Each row is fed whole, byte by
 * byte, and cut in two at every place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

#define BYTES(s) s, sizeof(s) - 1
#define L        "\u27e8" /* the brackets of a mark */
#define R        "\u27e9"

struct row {
	const char *in;
	size_t len;
	const char *out, *told; /* "kind:bytes kind:bytes" */
	bool ascii, one_line;
};

/* Beware of "\x9bc": hex escapes swallow letters. Octal ones end after three digits. */
#define ROW(bytes, shown, told_of, ...)                                                           \
	{                                                                                         \
		.in = bytes, .len = sizeof(bytes) - 1, .out = shown, .told = told_of, __VA_ARGS__ \
	}

static const struct row rows[] = {
	/* what passes */
	ROW("", "", ""),
	ROW("plain text, ~ and all\n\tindented\n", "plain text, ~ and all\n\tindented\n", ""),
	ROW("gr\u00fc\u00df \u4e16\u754c \U0001f600 \u00a0\u2003|",
	    "gr\u00fc\u00df \u4e16\u754c \U0001f600 \u00a0\u2003|", ""),
	ROW("\uac00 \u1100\u1161\u11a8", "\uac00 \u1100\u1161\u11a8", ""),
	ROW("\u27e8ESC]52\u27e9", "\u27e8ESC]52\u27e9", ""),
	ROW("a\u8f9b b\u2713", "a\u8f9b b\u2713", ""), /* 0x9b and 0x9c as continuation bytes */

	/* line endings */
	ROW("a\r\nb", "a\nb", ""),
	ROW("10%\r20%\r\n", "10%" L "CR" R "20%\n", "control:1"),
	ROW("a\r\r\n", "a" L "CR" R "\n", "control:1"),
	ROW("a\r", "a" L "CR" R, "control:1"),
	ROW("\r\033[31m", L "CR" R, "control:1 colour:5"),
	ROW("a\r\u00e9", "a" L "CR" R "\u00e9", "control:1"),
	ROW("a\r\377", "a" L "CR" R L "FF" R, "control:1 invalid:1"),

	/* titles, clipboard, links */
	ROW("a\033]52;c;cm0gLXJmIC8=\007b", "a" L "ESC]52" R "b", "clipboard:20"),
	ROW("\033]52;c;?\033\\", L "ESC]52" R, "clipboard:10"),
	ROW("\033]00052;c;eA==\007", L "ESC]00052" R, "clipboard:15"),
	ROW("\033]000000000000000000052;c;eA==\007", L "ESC]0000000000000000..." R, "clipboard:31"),
	ROW("\302\23552;c;eA==\302\234!", L "ESC]52" R "!", "clipboard:13"),
	ROW("\033]0;t\007\033]1;t\007\033]2;\u2713\033\\", L "ESC]0" R L "ESC]1" R L "ESC]2" R,
	    "title:6 title:6 title:9"),
	ROW("\033];t\007\033]ltitle\033\\\033ktmux\033\\", L "ESC]" R L "ESC]" R L "ESCk" R,
	    "title:5 title:10 title:8"),
	ROW("\033]8;;http://x\033\\here\033]8;;\033\\", L "ESC]8" R "here" L "ESC]8" R,
	    "hyperlink:15 hyperlink:7"),
	ROW("\033]520;x\007\033]9;done\007\033]\007", L "ESC]520" R L "ESC]9" R L "ESC]" R,
	    "string:8 string:9 string:3"),

	/* what the terminal would answer */
	ROW("\033[6n\033[5n\033[?6n", L "ESC[6n" R L "ESC[5n" R L "ESC[?6n" R, "query:4 query:4 query:5"),
	ROW("\033[c\033[0c\033[>c\033[=c", L "ESC[c" R L "ESC[0c" R L "ESC[>c" R L "ESC[=c" R,
	    "query:3 query:4 query:4 query:4"),
	ROW("\033[?2026$p\033[>0q\033[?u\033[x", L "ESC[?2026$p" R L "ESC[>0q" R L "ESC[?u" R L "ESC[x" R,
	    "query:9 query:5 query:4 query:3"),
	ROW("\033[21t\033[0018t\033[8;24;80t\033[22;18t",
	    L "ESC[21t" R L "ESC[0018t" R L "ESC[8;24;80t" R L "ESC[22;18t" R,
	    "query:5 query:7 screen:10 screen:8"),
	ROW("\033]11;?\007\033]4;1;?\033\\\033]11;#000\007", L "ESC]11" R L "ESC]4" R L "ESC]11" R,
	    "query:7 query:9 string:10"),
	ROW("\033P$qm\033\\\033P+q544e\033\\\033P1$r0m\033\\", L "ESCP$q" R L "ESCP+q" R L "ESCP1$r" R,
	    "query:7 query:10 string:9"),
	ROW("\005\302\232\033Z", L "U+0005" R L "U+009A" R L "ESCZ" R, "query:1 query:2 query:2"),
	ROW("\033[1;1;1;1;1;1*y", L "ESC[1;1;1;1;1;1*y" R, "query:15"),

	/* the screen, and colours */
	ROW("\033[?1049h\033[2J\033[H\033[10;20H", L "ESC[?1049h" R L "ESC[2J" R L "ESC[H" R L "ESC[10;20H" R,
	    "screen:8 screen:4 screen:3 screen:8"),
	ROW("\033[?2004h\033[!p\033c\0337\033#8\033[2 q",
	    L "ESC[?2004h" R L "ESC[!p" R L "ESCc" R L "ESC7" R L "ESC#8" R L "ESC[2 q" R,
	    "screen:8 screen:4 screen:2 screen:2 screen:3 screen:5"),
	ROW("\033[31mred\033[0m \033[38;2;1;2;3m\033[m.", "red .", "colour:5 colour:4 colour:13 colour:3"),
	ROW("\033[>4;2m\033[?4m", L "ESC[>4;2m" R L "ESC[?4m" R, "screen:7 query:5"),
	ROW("\302\23331mx", "x", "colour:5"),
	ROW("\033(B\033%G\033N\033[5i", L "ESC(B" R L "ESC%G" R L "ESCN" R L "ESC[5i" R,
	    "escape:3 escape:3 escape:2 escape:4"),

	/* strings of other kinds; only OSC ends with BEL */
	ROW("\033_Gf=100;AAAA\033\\\033^x\033\\\033Xx\302\234", L "ESC_" R L "ESC^" R L "ESCX" R,
	    "string:15 string:5 string:5"),
	ROW("\033_a\007b\033\\c", L "ESC_" R "c", "string:7"),
	ROW("\302\220q\302\234\302\230x\302\234\302\236x\302\234\302\237x\302\234",
	    L "ESCPq" R L "ESCX" R L "ESC^" R L "ESC_" R, "string:5 string:5 string:5 string:5"),
	ROW("\033]9;line\nline\377\u00e9\007", L "ESC]9" R, "string:17"),

	/* cut off, restarted, nested */
	ROW("\033[3\033[31mx", L "ESC[3" R "x", "escape:3 colour:5"),
	ROW("\033]0;a\033]52;c;eA==\007", L "ESC]0" R L "ESC]52" R, "string:5 clipboard:12"),
	ROW("\033Ptmux;\033\033]52;c;eA==\007\033\\", L "ESCPt" R L "ESC" R L "ESC]52" R L "ESC\\" R,
	    "string:7 escape:1 clipboard:12 escape:2"),
	ROW("\033]0;a\030b\033[3\032c\033\030d", L "ESC]0" R "b" L "ESC[3" R "c" L "ESC" R "d",
	    "string:6 escape:4 escape:2"),
	ROW("\033]0;a\302\205b", L "ESC]0" R L "U+0085" R "b", "string:5 control:2"),
	ROW("\033]0;a\302\23331mb", L "ESC]0" R "b", "string:5 colour:5"),
	ROW("\033\u00e9\033[\u00e9\033[\377", L "ESC" R "\u00e9" L "ESC[" R "\u00e9" L "ESC[" R L "FF" R,
	    "escape:1 escape:2 escape:2 invalid:1"),
	ROW("\033]0;never", L "ESC]0" R, "string:9"),
	ROW("\033]0;never\033", L "ESC]0" R, "string:10"),
	ROW("a\033", "a" L "ESC" R, "escape:1"),
	ROW("a\033[12", "a" L "ESC[12" R, "escape:4"),
	ROW("\033]0;\342\234", L "ESC]0" R, "string:6"),
	/* a control is executed in the middle, DEL passed over, as terminals do it */
	ROW("\033[\n6n", "\n" L "ESC[6n" R, "query:4"),
	ROW("\033[\0076\177n", L "U+0007" R L "ESC[6n" R, "control:1 query:5"),
	ROW("\033\177]52;c;eA==\007", L "ESC]52" R, "clipboard:13"),
	ROW("\033[\r\n6n\033[\r6n", "\n" L "ESC[6n" R L "CR" R L "ESC[6n" R, "query:4 control:1 query:4"),

	/* controls */

	ROW("\0a\a\b\v\f\016\177",
	    L "U+0000" R "a" L "U+0007" R L "U+0008" R L "U+000B" R L "U+000C" R L "U+000E" R L "U+007F" R,
	    "control:1 control:1 control:1 control:1 control:1 control:1 control:1"),
	ROW("\302\200\302\205\302\234", L "U+0080" R L "U+0085" R L "U+009C" R,
	    "control:2 control:2 control:2"),
	ROW("a\u2028b\u2029", "a" L "U+2028" R "b" L "U+2029" R, "control:3 control:3"),

	/* characters that deceive */
	ROW("\u202e\u2066\u061c\u200f", L "U+202E" R L "U+2066" R L "U+061C" R L "U+200F" R,
	    "bidi:3 bidi:3 bidi:2 bidi:3"),
	ROW("\u200b\u200d\ufeff\u00ad\ufff9\u3164",
	    L "U+200B" R L "U+200D" R L "U+FEFF" R L "U+00AD" R L "U+FFF9" R L "U+3164" R,
	    "zero-width:3 zero-width:3 zero-width:3 zero-width:2 zero-width:3 zero-width:3"),
	ROW("\U000e0041\U000e0001\U000e007f", L "U+E0041" R L "U+E0001" R L "U+E007F" R, "tag:4 tag:4 tag:4"),
	ROW("\ue000\U0010ffff\ufdd0\u0378", L "U+E000" R L "U+10FFFF" R L "U+FDD0" R L "U+0378" R,
	    "private:3 private:4 private:3 private:2"),
	ROW("e\u0301\u0302\u0303\u0304x", "e\u0301\u0302" L "U+0303" R L "U+0304" R "x", "marks:2 marks:2"),
	ROW("\u0301a\n\u0301\t\u0301", L "U+0301" R "a\n" L "U+0301" R "\t" L "U+0301" R,
	    "marks:2 marks:2 marks:2"),
	ROW("\a\u0301", L "U+0007" R L "U+0301" R, "control:1 marks:2"),
	ROW("\u2714\ufe0f ok\ufe0f\ufe0f\n\ufe0f", "\u2714 ok\n" L "U+FE0F" R,
	    "zero-width:3 zero-width:3 zero-width:3 zero-width:3"),
	ROW("a\ufe00\U000e0100", "a" L "U+FE00" R L "U+E0100" R, "zero-width:3 zero-width:4"),

	/* not UTF-8 */
	ROW("\377\376a\200", L "FF" R L "FE" R "a" L "80" R, "invalid:1 invalid:1 invalid:1"),
	ROW("\300\257\340\200\257\360\200\200\257",
	    L "C0" R L "AF" R L "E0" R L "80" R L "AF" R L "F0" R L "80" R L "80" R L "AF" R,
	    "invalid:1 invalid:1 invalid:1 invalid:1 invalid:1 invalid:1 invalid:1 invalid:1 invalid:1"),
	ROW("\355\240\200\364\220\200\200\365",
	    L "ED" R L "A0" R L "80" R L "F4" R L "90" R L "80" R L "80" R L "F5" R,
	    "invalid:1 invalid:1 invalid:1 invalid:1 invalid:1 invalid:1 invalid:1 invalid:1"),
	ROW("\342\202x\360\237\230\342\202\254", L "E2" R L "82" R "x" L "F0" R L "9F" R L "98" R "\u20ac",
	    "invalid:2 invalid:3"),
	ROW("\342\202", L "E2" R L "82" R, "invalid:2"),
	ROW("\342\202\033[31m", L "E2" R L "82" R, "invalid:2 colour:5"),
	/* single bytes of the C1 range are invalid, and do not open a string: \236 is a letter in
	 * Windows-1250 */
	ROW("\23331m \236", L "9B" R "31m " L "9E" R, "invalid:1 invalid:1"),

	/* a terminal without UTF-8, and names */
	ROW("\u00e9\u4e16 \033]52;c;eA==\007\a\377", "<U+00E9><U+4E16> <ESC]52><U+0007><FF>",
	    "clipboard:12 control:1 invalid:1", .ascii = true),
	ROW("e\u0301\u0302\u0303", "e<U+0301><U+0302><U+0303>", "marks:2", .ascii = true),
	ROW("\u2714\ufe0f\u202e", "<U+2714><U+202E>", "zero-width:3 bidi:3", .ascii = true),
	ROW("a\nb\tc\rd\r\n", "a" L "LF" R "b" L "TAB" R "c" L "CR" R "d" L "CR" R L "LF" R,
	    "control:1 control:1 control:1 control:1 control:1", .one_line = true),
	ROW("a\ufe0f", "a" L "U+FE0F" R, "zero-width:3", .one_line = true),
	ROW("\033[3\n1m", L "LF" R, "control:1 colour:5", .one_line = true),
};

static void note(void *arg, enum text_removed kind, size_t bytes)
{
	struct buf *told = arg;
	buf_printf(told, "%s%s:%zu", told->len ? " " : "", text_removed_name(kind), bytes);
}

/* Feeds `row` in chunks of `chunk` bytes after a first one of `first`. */
static void check(const struct row *row, size_t first, size_t chunk)
{
	struct buf out = { 0 }, told = { 0 };
	struct scrub s = { .ascii = row->ascii, .one_line = row->one_line, .removed = note, .arg = &told };

	buf_str(&out, "");
	buf_str(&told, "");
	scrub_add(&s, row->in, first, &out);
	for (size_t at = first; at < row->len; at += chunk)
		scrub_add(&s, row->in + at, chunk < row->len - at ? chunk : row->len - at, &out);
	scrub_end(&s, &out);
	assert_string_equal(out.data, row->out);
	assert_string_equal(told.data, row->told);
	assert_int_equal(out.len, strlen(row->out));
	buf_done(&out);
	buf_done(&told);
}

static void test_rows(void **state)
{
	(void) state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t first = 0; first <= rows[i].len; first++)
			check(&rows[i], first, rows[i].len);
		check(&rows[i], 0, 1);
		check(&rows[i], 0, 3);
	}
}

/* All that the scrubber promises of its output, tested by other means than its own. */
static void assert_printable(const char *out, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char) out[i];
		assert_true(c >= 0x20 || c == '\n' || c == '\t');
		assert_int_not_equal(c, 0x7f);
		assert_false(c == 0xc2 && (unsigned char) out[i + 1] < 0xa0);
	}
	assert_true(text_is_utf8(out, len));
}

static void test_every_pair(void **state)
{
	(void) state;
	for (unsigned a = 0; a < 256; a++) {
		struct buf out = { 0 };
		struct scrub s = { 0 };
		for (unsigned b = 0; b < 256; b++) {
			unsigned char pair[2] = { (unsigned char) a, (unsigned char) b };
			scrub_add(&s, pair, sizeof(pair), &out);
			scrub_end(&s, &out);
		}
		assert_printable(out.data, out.len);
		buf_done(&out);
	}
}

static void test_every_character(void **state)
{
	(void) state;
	struct buf in = { 0 }, out = { 0 };
	struct scrub s = { 0 };
	for (uint32_t c = 0x800; c < 0x110000; c++) {
		char utf8[4] = { (char) (0xf0 | c >> 18), (char) (0x80 | (c >> 12 & 0x3f)),
				 (char) (0x80 | (c >> 6 & 0x3f)), (char) (0x80 | (c & 0x3f)) };
		if (c < 0x10000)
			utf8[1] = (char) (0xe0 | c >> 12);
		buf_add(&in, utf8 + (c < 0x10000), c < 0x10000 ? 3 : 4);
	}
	scrub_add(&s, in.data, in.len, &out);
	scrub_end(&s, &out);
	assert_printable(out.data, out.len);
	static const char *const never[] = { "\u202e",     "\u2067", "\u200b", "\ufeff", "\u2028",
					     "\U000e0041", "\ue000", "\u00ad", "\ufff9", "\U0010fffd" };
	for (size_t i = 0; i < ARRAY_LEN(never); i++)
		assert_null(memmem(out.data, out.len, never[i], strlen(never[i])));
	assert_non_null(memmem(out.data, out.len, "\u4e16", 3));
	buf_done(&in);
	buf_done(&out);
}

/* A string without an end hides four kibibytes and no more. */
static void check_unterminated(const char *intro, const char *told_want, size_t hidden_max)
{
	struct buf in = { 0 }, out = { 0 }, told = { 0 };
	struct scrub s = { .removed = note, .arg = &told };
	buf_str(&in, intro);
	for (int i = 0; i < 10000; i++)
		buf_str(&in, "0");
	scrub_add(&s, in.data, in.len, &out);
	assert_string_equal(told.data, told_want);
	assert_true(in.len - out.len <= hidden_max);
	assert_true(out.len < in.len + 32);
	scrub_end(&s, &out);
	assert_string_equal(told.data, told_want);
	buf_done(&in);
	buf_done(&out);
	buf_done(&told);
}

static void test_unterminated(void **state)
{
	(void) state;
	check_unterminated("\033]", "string:4096", 4096);
	check_unterminated("\033]52;c;", "string:4096", 4096);
	check_unterminated("\033P", "string:4096", 4096);
	check_unterminated("\033_", "string:4096", 4096);
	check_unterminated("\033[", "escape:256", 256);
}

/* The longest that still counts, and one byte more. */
static void test_string_bound(void **state)
{
	(void) state;
	for (size_t payload = 4080; payload < 4100; payload++) {
		struct buf in = { 0 }, out = { 0 }, told = { 0 };
		struct scrub s = { .removed = note, .arg = &told };
		buf_str(&in, "\033]52;c;");
		for (size_t i = 0; i < payload; i++)
			buf_str(&in, "A");
		bool fits = in.len <= 4096;
		buf_str(&in, "\033\\");
		scrub_add(&s, in.data, in.len, &out);
		assert_int_equal(str_starts(told.data, "clipboard:"), fits);
		assert_int_equal(str_starts(told.data, "string:4096"), !fits);
		buf_done(&in);
		buf_done(&out);
		buf_done(&told);
	}
}

static void test_names(void **state)
{
	(void) state;
	for (int kind = 0; kind < TEXT_REMOVED_MAX; kind++)
		assert_non_null(text_removed_name((enum text_removed) kind));
	assert_string_equal(text_removed_name(TEXT_CLIPBOARD), "clipboard");
}

static void check_line(const char *in, bool ascii, const char *want)
{
	FREE char *line = text_line(in, strlen(in), ascii);
	assert_string_equal(line, want);
}

static void test_line(void **state)
{
	(void) state;
	check_line("", false, "");
	check_line("/tmp/a\nb\033[2J\u202e", false, "/tmp/a" L "LF" R "b" L "ESC[2J" R L "U+202E" R);
	check_line("/tmp/\u00e9\033]0;x", true, "/tmp/<U+00E9><ESC]0>");
}

static void test_width(void **state)
{
	(void) state;
	assert_int_equal(text_width(BYTES("")), 0);
	assert_int_equal(text_width(BYTES("abc")), 3);
	assert_int_equal(text_width(BYTES("\u4e16\u754c")), 4);
	assert_int_equal(text_width(BYTES("e\u0301\u0302x")), 2);
	assert_int_equal(text_width(BYTES("\U0001f600!")), 3);
	assert_int_equal(text_width(BYTES(L "U+202E" R)), 8);
	assert_int_equal(text_width(BYTES("\377\377")), 2);

	assert_int_equal(text_fit(BYTES("abc"), 2), 2);
	assert_int_equal(text_fit(BYTES("abc"), 9), 3);
	assert_int_equal(text_fit(BYTES("\u4e16\u754c"), 3), 3); /* half a wide one does not fit */
	assert_int_equal(text_fit(BYTES("e\u0301x"), 1), 3);     /* its mark comes along */
	assert_int_equal(text_fit(BYTES("abc"), 0), 0);
}

static void test_utf8(void **state)
{
	(void) state;
	assert_true(text_is_utf8(BYTES("")));
	assert_true(text_is_utf8(BYTES("a\u00e9\u4e16\U0010ffff\0b")));
	assert_false(text_is_utf8(BYTES("\300\200")));
	assert_false(text_is_utf8(BYTES("\355\240\200")));
	assert_false(text_is_utf8(BYTES("\364\220\200\200")));
	assert_false(text_is_utf8(BYTES("abc\342\202")));
}

static void test_inspect(void **state)
{
	(void) state;
	struct text_findings f;

	text_inspect(BYTES(""), &f);
	assert_int_equal(f.lines, 0);
	text_inspect(BYTES("a\nbcd"), &f);
	assert_int_equal(f.lines, 2);
	assert_int_equal(f.longest_line, 3);
	assert_false(f.crlf || f.lone_cr || f.mixed_endings || f.bom);

	text_inspect(BYTES("\357\273\277x\r\ny\n\u202e\u2066\n\U000e0041\n\033[\0\n\377\342\202\n"
			   "\u200b\tz\r."),
		     &f);
	assert_true(f.bom && f.crlf && f.lone_cr && f.mixed_endings);
	assert_int_equal(f.lines, 8);
	assert_int_equal(f.bidi, 2);
	assert_int_equal(f.first_bidi_line, 3);
	assert_int_equal(f.tags, 1);
	assert_int_equal(f.first_tag_line, 4);
	assert_int_equal(f.controls, 1);
	assert_int_equal(f.first_control_line, 5);
	assert_int_equal(f.nuls, 1);
	assert_int_equal(f.first_nul_line, 5);
	assert_int_equal(f.invalid, 2);
	assert_int_equal(f.first_invalid_line, 6);
	assert_int_equal(f.zero_width, 1);

	text_inspect(BYTES("a\r\nb\r\n"), &f);
	assert_true(f.crlf);
	assert_false(f.mixed_endings);
	text_inspect(BYTES("print('\u2714\ufe0f')\n"), &f);
	assert_int_equal(f.zero_width, 0);
	text_inspect(BYTES("x\ufe0f\ufe0e\ufe0f\ufe0e\n"), &f);
	assert_int_equal(f.zero_width, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_every_pair),
		cmocka_unit_test(test_every_character),
		cmocka_unit_test(test_unterminated),
		cmocka_unit_test(test_string_bound),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_inspect),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
