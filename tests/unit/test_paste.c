/* SPDX-License-Identifier: MIT */
/*
 * Pastes: the end mark whole, cut between reads, inside the text; bounds; line ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/base.h"
#include "tui/screen/paste.h"

#define END "\033[201~"

static void feed(struct paste *p, const char *bytes)
{
	paste_feed(p, bytes, strlen(bytes));
}

static void test_plain(void **state)
{
	(void) state;
	struct paste p = { 0 };
	paste_begin(&p, 100);
	feed(&p, "a\rb\r\nc\n");
	assert_true(p.active);
	feed(&p, END);
	assert_true(p.draining && !p.active);
	paste_end(&p);
	assert_string_equal(p.text.data, "a\nb\nc\n");
	assert_int_equal(p.dropped, 0);
	assert_false(p.too_long);
	paste_done(&p);
}

/* However the reads cut it, the text is the same. */
static void test_mark_cut_anywhere(void **state)
{
	(void) state;
	static const char whole[] = "x\033[20\033\033[201~rest";
	for (size_t cut = 1; cut < sizeof(whole) - 1; cut++) {
		struct paste p = { 0 };
		paste_begin(&p, 100);
		paste_feed(&p, whole, cut);
		paste_feed(&p, whole + cut, sizeof(whole) - 1 - cut);
		assert_true(p.draining);
		paste_end(&p);
		assert_string_equal(p.text.data, "x\033[20\033");
		assert_int_equal(p.dropped, 4);
		paste_done(&p);
	}
}

/* What follows an end mark inside the text must never become keys. */
static void test_paste_that_closes_itself(void **state)
{
	(void) state;
	struct paste p = { 0 };
	paste_begin(&p, 100);
	feed(&p, "print(1)\r" END "r\r:quit\r");
	feed(&p, "more" END);
	assert_true(p.draining);
	paste_end(&p);
	assert_string_equal(p.text.data, "print(1)\n");
	assert_int_equal(p.dropped, strlen("r\r:quit\rmore" END));
	paste_done(&p);
}

static void test_bound(void **state)
{
	(void) state;
	struct paste p = { 0 };
	paste_begin(&p, 4);
	feed(&p, "abcd" END);
	paste_end(&p);
	assert_string_equal(p.text.data, "abcd");
	assert_false(p.too_long);
	paste_begin(&p, 4);
	feed(&p, "abcdefghijklmnopq");
	feed(&p, "rstuvwxyz" END "x");
	assert_true(p.draining);
	paste_end(&p);
	assert_string_equal(p.text.data, "abcd");
	assert_true(p.too_long);
	assert_int_equal(p.dropped, 1);
	paste_begin(&p, 4);
	feed(&p, "abcde" END); /* one too many: shorter than the room for the mark */
	paste_end(&p);
	assert_string_equal(p.text.data, "abcd");
	assert_true(p.too_long);
	paste_done(&p);
}

static void test_empty(void **state)
{
	(void) state;
	struct paste p = { 0 };
	paste_begin(&p, 4);
	feed(&p, END);
	paste_end(&p);
	assert_int_equal(p.text.len, 0);
	paste_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_mark_cut_anywhere),
		cmocka_unit_test(test_paste_that_closes_itself),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
