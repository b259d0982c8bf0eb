/* SPDX-License-Identifier: MIT */
/*
 * The grid: what can get into a cell, clipping, wide characters, boxes, and the two kinds of dump.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "tui/screen/cells.h"

static char *dumped(const struct cells *c)
{
	struct buf out = { 0 };
	cells_dump(c, &out);
	return buf_steal(&out);
}

static void assert_dump(const struct cells *c, const char *expected)
{
	char *text = dumped(c);
	assert_string_equal(text, expected);
	free(text);
}

static struct clean raw(const char *text)
{
	return clean_scrubbed(text, strlen(text));
}

static void test_put_clips(void **state)
{
	(void) state;
	struct cells c = { 0 };
	cells_resize(&c, 2, 8);
	struct pane all = pane_all(&c), part = pane_cut(&all, 0, 2, 1, 3);
	assert_int_equal(pane_put(&part, 0, 0, ROLE_TEXT, "abcdef"),
			 4); /* it stops one after the edge: cut, and known to be */
	pane_put(&part, 1, 0, ROLE_TEXT, "outside");
	pane_put(&part, -1, 0, ROLE_TEXT, "outside");
	pane_put(&all, 1, -2, ROLE_TEXT, "xyz");
	assert_dump(&c, "  abc\nz\n");
	cells_done(&c);
}

static void test_hostile_bytes_become_question_marks(void **state)
{
	(void) state;
	static const char *const bytes[] = { "\033",         "\x7f",         "\xc2\x9b",
					     "\xe2\x80\xae", "\xe2\x80\x8b", "\xf3\xa0\x81\x81",
					     "\xef\xbf\xb9", "\xee\x80\x80", "\xff",
					     "\xc0\x80",     "\xed\xa0\x80", "\xf4\x90\x80\x80",
					     "\xe2\x80",     "\a",           "\n" };
	struct cells c = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(bytes); i++) {
		cells_resize(&c, 1, 10);
		struct pane all = pane_all(&c);
		pane_clean(&all, 0, 0, ROLE_TEXT, raw(bytes[i]));
		for (int column = 0; column < c.columns; column++)
			assert_true(c.at[column].rune == ' ' || c.at[column].rune == '?');
		assert_int_equal(c.at[0].rune, '?');
	}
	cells_done(&c);
}

static void test_wide_characters(void **state)
{
	(void) state;
	struct cells c = { 0 };
	cells_resize(&c, 3, 5);
	struct pane all = pane_all(&c);
	pane_clean(&all, 0, 0, ROLE_TEXT, raw("漢字漢")); /* the third does not fit */
	pane_clean(&all, 1, 0, ROLE_TEXT, raw("漢字"));
	pane_put(&all, 1, 1, ROLE_TEXT, "x"); /* half of the first is written over */
	pane_clean(&all, 2, 0, ROLE_TEXT, raw("ab"));
	pane_clean(&all, 2, 1, ROLE_TEXT, raw("漢"));
	assert_dump(&c, "漢字\n x字\na漢\n");
	cells_done(&c);
}

static void test_combining_marks(void **state)
{
	(void) state;
	struct cells c = { 0 };
	cells_resize(&c, 1, 5);
	struct pane all = pane_all(&c);
	pane_clean(&all, 0, 0, ROLE_TEXT, raw("e\xcc\x81\xcc\x82\xcc\x83x"));
	assert_dump(&c, "e\xcc\x81\xcc\x82x\n"); /* no more than two */
	cells_done(&c);
}

static void test_ascii(void **state)
{
	(void) state;
	struct cells c = { .ascii = true };
	cells_resize(&c, 3, 12);
	struct pane all = pane_all(&c);
	struct section s = { .title = "T", .rows = -1 };
	box_stack(&all, &s, 1, BOX_CLOSED);
	pane_put(&s.in, 0, 0, ROLE_SPARK, "▁▂▃▄▅▆▇█");
	assert_dump(&c, "+- T ------+\n|_.:-=+*#  |\n+----------+\n");
	cells_done(&c);
}

static void test_tabs_and_scrolling(void **state)
{
	(void) state;
	struct cells c = { 0 };
	cells_resize(&c, 2, 12);
	struct pane all = pane_all(&c);
	pane_scrolled(&all, 0, ROLE_TEXT, raw("a\tb"), 0);
	pane_scrolled(&all, 1, ROLE_TEXT, raw("a\tb"), 6);
	assert_dump(&c, "a       b\n  b\n");
	cells_done(&c);
}

static void test_wrapping(void **state)
{
	(void) state;
	struct cells c = { 0 };
	cells_resize(&c, 3, 6);
	struct pane all = pane_all(&c), nothing = pane_cut(&all, 0, 0, 0, 6);
	assert_int_equal(pane_wrapped(&all, 0, ROLE_TEXT, raw("one two three")), 3);
	assert_dump(&c, "one\ntwo\nthree\n");
	assert_int_equal(pane_wrapped(&nothing, 0, ROLE_TEXT, raw("one two three")), 3);
	cells_clear(&c);
	assert_int_equal(pane_wrapped(&all, -1, ROLE_TEXT, raw("abcdefghij k")), 2);
	assert_dump(&c, "ghij k\n\n\n");
	struct pane narrow = pane_cut(&all, 0, 0, 3, 0);
	assert_int_equal(pane_wrapped(&narrow, 0, ROLE_TEXT, raw("x")), 0);
	cells_done(&c);
}

static void test_boxes(void **state)
{
	(void) state;
	struct cells c = { 0 };
	cells_resize(&c, 7, 10);
	struct pane all = pane_all(&c);
	struct section s[2] = { { .title = "A", .rows = 1 }, { .title = "longer than that", .rows = -1 } };
	box_stack(&all, s, 2, BOX_CLOSED);
	assert_int_equal(s[0].in.rows, 1);
	assert_int_equal(s[1].in.rows, 3);
	assert_int_equal(s[1].in.columns, 8);
	assert_dump(&c,
		    "┌─ A ────┐\n│        │\n├─ lon… ─┤\n│        │\n│        │\n│        │\n└────────┘\n");
	cells_done(&c);
}

/* Whatever the size, drawing stays inside. The sanitizers look. */
static void test_any_size(void **state)
{
	(void) state;
	struct cells c = { 0 };
	for (int rows = 1; rows < 9; rows++) {
		for (int columns = 1; columns < 20; columns++) {
			cells_resize(&c, rows, columns);
			struct pane all = pane_all(&c);
			struct section s[3] = { { .title = "A", .rows = 2 },
						{ .title = "漢字", .rows = -1 },
						{ .rows = 1 } };
			box_stack(&all, s, 3, BOX_CLOSED);
			for (size_t i = 0; i < ARRAY_LEN(s); i++) {
				assert_true(s[i].in.rows >= 0 && s[i].in.columns >= 0);
				pane_clean(&s[i].in, 0, 0, ROLE_TEXT, raw("漢字 e\xcc\x81 text"));
				pane_wrapped(&s[i].in, 0, ROLE_TEXT, raw("a longer text with words"));
				pane_paint(&s[i].in, 0, 0, 99, ROLE_SELECTED);
				pane_cursor(&s[i].in, 0, 99);
			}
			assert_true(c.cursor_row < c.rows && c.cursor_column < c.columns);
		}
	}
	cells_done(&c);
}

static void test_resize_is_clamped(void **state)
{
	(void) state;
	struct cells c = { 0 };
	cells_resize(&c, -3, 0);
	assert_int_equal(c.rows, 1);
	assert_int_equal(c.columns, 1);
	cells_resize(&c, 1 << 20, 1 << 20);
	assert_int_equal(c.rows, CELLS_ROWS_MAX);
	assert_int_equal(c.columns, CELLS_COLUMNS_MAX);
	cells_done(&c);
}

static void test_roles(void **state)
{
	(void) state;
	struct cells c = { 0 };
	struct buf out = { 0 };
	cells_resize(&c, 1, 8);
	struct pane all = pane_all(&c);
	pane_put(&all, 0, 0, ROLE_EFFECT, "E");
	pane_clean(&all, 0, 2, ROLE_TEXT, raw("a⟨B⟩c"));
	cells_dump_roles(&c, &out);
	assert_string_equal(out.data, "E..mmm..\n");
	buf_done(&out);
	cells_done(&c);
}

static void test_clean_line(void **state)
{
	(void) state;
	struct clean c = clean_str("a\033]0;title\ab", false);
	assert_null(strchr(c.text, 033));
	assert_null(strchr(c.text, '\a'));
	clean_free(&c);
	c = clean_str(NULL, false);
	assert_int_equal(c.len, 0);
	clean_free(&c);
}

static void test_styles_stay_in_text(void **state)
{
	(void) state;
	struct cells c = { 0 };
	struct buf roles = { 0 };
	struct text_style red = { .fg = STYLE_RED }, hidden = { .fg = STYLE_BLACK, .bg = STYLE_BLACK },
			  bold = { .bold = 1 };
	cells_resize(&c, 2, 16);
	struct pane all = pane_all(&c);
	int column = pane_styled(&all, 0, 0, red, raw("ab\tc"), 1);
	assert_int_equal(column, 9);
	column = pane_styled(&all, 0, column, hidden, raw("de"), 1); /* two colours alike: plain */
	column = pane_styled(&all, 0, column, bold, raw("f\u27e8FF\u27e9"), 1);
	(void) pane_styled(&all, 0, column, red, raw("cut here"), 1);
	pane_styled(&all, 1, 0, red, raw("painted"), 0);
	pane_paint(&all, 1, 0, 3, ROLE_SELECTED);
	assert_dump(&c, "b      cdef\u27e8FF\u27e9c\npainted\n");
	cells_dump_roles(&c, &roles);
	assert_string_equal(roles.data, "11111111..*mmmm1\nxxx1111.........\n");
	buf_done(&roles);
	cells_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_clips),
		cmocka_unit_test(test_hostile_bytes_become_question_marks),
		cmocka_unit_test(test_wide_characters),
		cmocka_unit_test(test_combining_marks),
		cmocka_unit_test(test_ascii),
		cmocka_unit_test(test_tabs_and_scrolling),
		cmocka_unit_test(test_wrapping),
		cmocka_unit_test(test_boxes),
		cmocka_unit_test(test_any_size),
		cmocka_unit_test(test_resize_is_clamped),
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_clean_line),
		cmocka_unit_test(test_styles_stay_in_text),
	};
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
