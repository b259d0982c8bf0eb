/* SPDX-License-Identifier: MIT */
/*
 * What is staged, and what was staged before: undo brings it back, step by step, within bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/base.h"
#include "tui/screen/draft.h"

static void stage(struct draft *s, const char *title, const char *code)
{
	struct err e;
	assert_int_equal(draft_set(s, title, code, strlen(code), NULL, &e), 0);
}

static void test_undo_goes_back_step_by_step(void **state)
{
	struct draft s;
	struct err e;
	(void) state;
	draft_init(&s, false);
	stage(&s, "one.py", "print(1)\n");
	assert_int_equal(draft_language(&s, "python", &e), 0);
	stage(&s, "two.sh", "echo 2\n");
	draft_clear(&s);
	assert_int_equal(s.code.len, 0);
	assert_true(draft_undo(&s));
	assert_string_equal(s.title, "two.sh");
	assert_string_equal(s.code.data, "echo 2\n");
	assert_true(draft_undo(&s));
	assert_string_equal(s.title, "one.py");
	assert_string_equal(s.chosen->name, "python");
	assert_true(draft_undo(&s)); /* before the first was nothing */
	assert_int_equal(s.code.len, 0);
	assert_null(s.title);
	assert_false(draft_undo(&s));
	draft_done(&s);
}

static void test_typing_is_taken_back_as_a_whole(void **state)
{
	struct draft s;
	struct err e;
	(void) state;
	draft_init(&s, false);
	stage(&s, "a.py", "a\n");
	draft_remember(&s);
	assert_int_equal(draft_append(&s, "b", 1, &e), 0);
	assert_int_equal(draft_append(&s, "c", 1, &e), 0);
	assert_string_equal(s.code.data, "a\nbc");
	assert_true(draft_undo(&s));
	assert_string_equal(s.code.data, "a\n");
	draft_done(&s);
}

static void test_the_past_is_bounded(void **state)
{
	struct draft s;
	size_t len = 9u << 20, bytes = 0;
	FREE char *big = malloc(len + 1);
	char title[16];
	(void) state;
	assert_non_null(big);
	memset(big, 'x', len);
	big[len] = '\0';
	draft_init(&s, false);
	for (int i = 0; i < 2 * DRAFT_PASTS; i++) {
		snprintf(title, sizeof(title), "%d", i);
		stage(&s, title, i % 2 ? big : "small");
	}
	for (int i = 0; i < s.past_count; i++)
		bytes += s.past[i].len;
	assert_true(bytes <= DRAFT_PAST_MAX);
	assert_true(s.past_count <= DRAFT_PASTS);
	assert_true(draft_undo(&s)); /* the newest is there still */
	assert_string_equal(s.code.data, "small");
	draft_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_undo_goes_back_step_by_step),
		cmocka_unit_test(test_typing_is_taken_back_as_a_whole),
		cmocka_unit_test(test_the_past_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
