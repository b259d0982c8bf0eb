/* SPDX-License-Identifier: MIT */
/*
 * INI text, read strictly: nothing is cut, joined or dropped without a fault that has its line.
 */
#include "core/base/base.h"
#include "core/model/ini.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int note(void *arg, const struct ini_entry *entry, struct err *e)
{
	struct buf *seen = arg;

	assert_string_equal(entry->file, "x.ini");
	if (entry->key == NULL)
		buf_printf(seen, "%u[%s] ", entry->line, entry->section);
	else
		buf_printf(seen, "%u[%s]%s=<%s> ", entry->line, entry->section, entry->key, entry->value);
	if (entry->value != NULL && strcmp(entry->value, "refuse-me") == 0)
		return err_say(e, EINVAL, "refused");
	return 0;
}

/* Reads `len` bytes; what came and what was wrong are as given. */
static void reads_bytes(const char *text, size_t len, const char *want, const char *want_faults)
{
	struct buf seen = { 0 };
	struct ini_faults faults = { 0 };

	ini_read_text("x.ini", text, len, note, &seen, &faults);
	assert_string_equal(faults.lines.len > 0 ? faults.lines.data : "", want_faults);
	assert_string_equal(seen.len > 0 ? seen.data : "", want);
	buf_done(&seen);
	ini_faults_done(&faults);
}

static void reads(const char *text, const char *want, const char *want_faults)
{
	reads_bytes(text, strlen(text), want, want_faults);
}

static void test_reads(void **state)
{
	(void) state;
	reads("", "", "");
	reads("; only a comment\n# another\n\n", "", "");
	reads("[a]\nx = 1\ny=2\n[b]\nz = 3", "1[a] 2[a]x=<1> 3[a]y=<2> 4[b] 5[b]z=<3> ", "");
	reads("[a]\nx = 1 ; words\ny = ; nothing\nz = a;b\n[b] ; words\n",
	      "1[a] 2[a]x=<1> 3[a]y=<> 4[a]z=<a;b> 5[b] ", "");
	reads("[a]\nx = p=q : r\n", "1[a] 2[a]x=<p=q : r> ", "");
	reads("[a]\n   ; an indented comment\n\t\nx = 1\n", "1[a] 4[a]x=<1> ", "");
}

static void test_endings_and_bom(void **state)
{
	(void) state;
	reads("[a]\r\nx = 1\r\n", "1[a] 2[a]x=<1> ", "");
	reads("\xef\xbb\xbf[a]\nx = 1\n", "1[a] 2[a]x=<1> ", "");
	reads("[a]\nx = 1\ry = 2\n", "1[a] ", "x.ini:2: a control character (or NUL) stands in the line\n");
	/* no mark there: the key is not known then */
	reads("[a]\n\xef\xbb\xbfx = 1\n", "1[a] 2[a]\xef\xbb\xbfx=<1> ", "");
}

static void test_no_continuation(void **state)
{
	(void) state;
	reads("[a]\nx = 1\n  2\n", "1[a] 2[a]x=<1> ",
	      "x.ini:3: the line begins with a blank; a value cannot go on from the line above\n");
	reads("[a]\n\tx = 1\n", "1[a] ",
	      "x.ini:2: the line begins with a blank; a value cannot go on from the line above\n");
	reads(" [a]\n", "",
	      "x.ini:1: the line begins with a blank; a value cannot go on from the line above\n");
}

static void test_forms(void **state)
{
	(void) state;
	reads("x = 1\n", "", "x.ini:1: a key stands before any [section]\n");
	reads("[a]\nx : 1\n", "1[a] ",
	      "x.ini:2: not understood; write KEY = VALUE, [SECTION] or ; COMMENT\n");
	reads("[a]\nx\n", "1[a] ", "x.ini:2: not understood; write KEY = VALUE, [SECTION] or ; COMMENT\n");
	reads("[a]\n= 1\n", "1[a] ", "x.ini:2: not understood; write KEY = VALUE, [SECTION] or ; COMMENT\n");
	reads("[a]\nx y = 1\n", "1[a] ",
	      "x.ini:2: not understood; write KEY = VALUE, [SECTION] or ; COMMENT\n");
	reads("[a\nx = 1\n", "",
	      "x.ini:1: the section has no closing ']'\nx.ini:2: a key stands before any [section]\n");
	reads("[]\n", "", "x.ini:1: not a section's name; write [name]\n");
	reads("[a b]\n", "", "x.ini:1: not a section's name; write [name]\n");
	reads("[a] x = 1\n", "",
	      "x.ini:1: something follows the section's ']'; a key needs a line of its own\n");
	reads("[a]\nx = 1\n[a]\nx = 2\n", "1[a] 2[a]x=<1> 3[a] ",
	      "x.ini:4: 'x' stands twice in [a]; the first is in line 2\n");
	reads("[a]\nx = 1\n[b]\nx = 2\n", "1[a] 2[a]x=<1> 3[b] 4[b]x=<2> ", "");
	reads("[a]\nx = refuse-me\ny = 1\n", "1[a] 2[a]x=<refuse-me> 3[a]y=<1> ", "x.ini:2: refused\n");
}

static void test_bytes(void **state)
{
	static const char nul[] = "[a]\nx = 1\0y = 2\nz = 3\n";

	(void) state;
	reads_bytes(nul, sizeof(nul) - 1, "1[a] 3[a]z=<3> ",
		    "x.ini:2: a control character (or NUL) stands in the line\n");
	reads("[a]\nx = \x1b[31m\n", "1[a] ", "x.ini:2: a control character (or NUL) stands in the line\n");
	reads("[a]\nx = \xff\n", "1[a] ", "x.ini:2: not UTF-8\n");
	reads("[a]\nx = caf\xc3\xa9\n", "1[a] 2[a]x=<caf\xc3\xa9> ", "");
}

/* The longest line that may be comes whole; one byte more is a fault, and the numbers of later lines stay
 * right. */
static void test_long_lines(void **state)
{
	struct buf text = { 0 }, want = { 0 }, value = { 0 };

	(void) state;
	while (value.len < INI_LINE_MAX - 4)
		buf_str(&value, "v");
	buf_printf(&text, "[a]\nx = %s\ny = 1\n", value.data);
	buf_printf(&want, "1[a] 2[a]x=<%s> 3[a]y=<1> ", value.data);
	reads(text.data, want.data, "");
	text.len = 0;
	buf_printf(&text, "[a]\nx = %sw\ny = 1\n", value.data);
	reads(text.data, "1[a] 3[a]y=<1> ", "x.ini:2: the line is longer than 1000 bytes\n");
	buf_done(&text);
	buf_done(&want);
	buf_done(&value);
}

/* The library cuts names at 49 bytes: two long keys would be one. */
static void test_long_names(void **state)
{
	static const char forty[] = "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd";
	FREE char *fits = xprintf("[%s]\n%s = 1\n", forty, forty);
	FREE char *wide = xprintf("[%sx]\n[a]\n%sx = 1\n", forty, forty);
	FREE char *want = xprintf("1[%s] 2[%s]%s=<1> ", forty, forty, forty);

	(void) state;
	reads(fits, want, "");
	reads(wide, "2[a] ",
	      "x.ini:1: not a section's name; write [name]\nx.ini:3: the key's name is too long\n");
}

static void test_bounds(void **state)
{
	struct buf text = { 0 };
	struct ini_faults faults = { 0 };
	struct buf seen = { 0 };

	(void) state;
	buf_str(&text, "[a]\n");
	for (int i = 0; i <= INI_ENTRY_MAX; i++)
		buf_printf(&text, "k%d = 1\n", i);
	ini_read_text("x.ini", text.data, text.len, note, &seen, &faults);
	assert_int_equal(faults.count, 1);
	assert_non_null(strstr(faults.lines.data, "more than 2000 keys"));
	ini_faults_done(&faults);

	text.len = 0;
	for (int i = 0; i < 2 * INI_FAULT_MAX; i++)
		buf_str(&text, "?\n");
	ini_read_text("x.ini", text.data, text.len, note, &seen, &faults);
	assert_int_equal(faults.count, 2 * INI_FAULT_MAX);
	size_t lines = 0;
	for (size_t i = 0; i < faults.lines.len; i++)
		lines += faults.lines.data[i] == '\n';
	assert_int_equal(lines, INI_FAULT_MAX);
	ini_faults_done(&faults);

	while (text.len <= INI_FILE_MAX)
		buf_str(&text, "; a comment\n");
	ini_read_text("x.ini", text.data, text.len, note, &seen, &faults);
	assert_string_equal(faults.lines.data, "x.ini: larger than 256 KiB\n");
	ini_faults_done(&faults);
	buf_done(&seen);
	buf_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads),           cmocka_unit_test(test_endings_and_bom),
		cmocka_unit_test(test_no_continuation), cmocka_unit_test(test_forms),
		cmocka_unit_test(test_bytes),           cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_long_names),      cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests_name("ini", tests, NULL, NULL);
}
