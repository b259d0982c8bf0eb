/* SPDX-License-Identifier: MIT */
/*
 * Texts to be read and lists to choose from: wrapping beside a label, scrolling to the end and no further, finding, and
 * a choice that stays in sight.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/base.h"
#include "tui/screen/pick.h"
#include "tui/screen/reader.h"

static const char text[] =
	"#Head\nlabel     words that are longer than the pane is wide\nplain\nbad\033[31mred\n";

static char *drawn(struct reader *r, int rows, int columns, int words)
{
	struct cells grid = { .rows = 0 };
	struct buf out = { 0 };
	cells_resize(&grid, rows, columns);
	struct pane all = pane_all(&grid);
	reader_draw(r, &all, words);
	cells_dump(&grid, &out);
	cells_done(&grid);
	return buf_steal(&out);
}

static void test_words_keep_their_column(void **state)
{
	struct reader r = { 0 };
	(void) state;
	reader_set(&r, text, strlen(text), false);
	FREE char *picture = drawn(&r, 8, 26, 10);
	assert_non_null(
		strstr(picture,
		       " Head\n label     words that are\n           longer than\n           the pane is\n"));
	assert_non_null(strstr(picture, "\n plain\n"));
	assert_null(strchr(picture, '\033'));
	reader_done(&r);
}

static void test_scrolling_ends_at_the_end(void **state)
{
	struct reader r = { 0 };
	(void) state;
	reader_set(&r, text, strlen(text), false);
	FREE char *first = drawn(&r, 2, 26, 10);
	assert_non_null(strstr(first, "Head"));
	for (int i = 0; i < 50; i++)
		reader_move(&r, MOVE_DOWN);
	FREE char *last = drawn(&r, 2, 26, 10);
	assert_null(strstr(last, "Head"));
	assert_non_null(strstr(last, "red"));
	assert_int_equal(r.top, r.length - 2);
	reader_done(&r);
}

static void test_finding_goes_both_ways_and_stops(void **state)
{
	struct reader r = { 0 };
	(void) state;
	reader_set(&r, "one\ntwo\none\n", 12, false);
	assert_true(reader_find(&r, "one", false));
	assert_int_equal(r.found, 1);
	assert_true(reader_find(&r, "one", false));
	assert_int_equal(r.found, 3);
	assert_true(reader_find(&r, "one", true));
	assert_int_equal(r.found, 1);
	assert_false(reader_find(&r, "one", true));
	assert_false(reader_find(&r, "three", false));
	reader_done(&r);
}

static void test_a_choice_stays_in_sight(void **state)
{
	struct pick p = { 0 };
	(void) state;
	pick_fit(&p, 3, 10);
	for (int i = 0; i < 4; i++)
		pick_move(&p, MOVE_DOWN);
	pick_fit(&p, 3, 10);
	assert_int_equal(p.selected, 4);
	assert_in_range(p.selected, p.top, p.top + 2);
	pick_move(&p, MOVE_BOTTOM);
	pick_fit(&p, 3, 10);
	assert_int_equal(p.selected, 9);
	assert_int_equal(p.top, 7);
	pick_fit(&p, 3, 2); /* the list became shorter */
	assert_int_equal(p.selected, 1);
	pick_move(&p, MOVE_PAGE_UP);
	assert_int_equal(p.selected, 0);
	pick_fit(&p, 3, 0);
	pick_move(&p, MOVE_DOWN);
	assert_int_equal(p.selected, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_keep_their_column),
		cmocka_unit_test(test_scrolling_ends_at_the_end),
		cmocka_unit_test(test_finding_goes_both_ways_and_stops),
		cmocka_unit_test(test_a_choice_stays_in_sight),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
