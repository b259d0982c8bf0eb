/* SPDX-License-Identifier: MIT */
/*
 * The key table: no two rows claim one key, every row can be reached and explained, names of keys go both
 * ways, and every key does something that the command line knows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/base.h"
#include "tui/screen/app.h"

static void test_no_clash(void **state)
{
	(void) state;
	const struct binding *a, *b;
	char key[16];
	if (binding_clash(&a, &b))
		fail_msg("%s and %s share the key %s", a->command, b->command,
			 key_spell(a->keys[0], key, sizeof(key)));
}

static void test_rows_are_whole(void **state)
{
	(void) state;
	for (const struct binding *b = bindings; b->views; b++) {
		assert_true((b->views & ~(IN_ALL | IN(VIEW_ASK))) == 0);
		assert_int_not_equal(b->keys[0], K_NONE);
		assert_non_null(b->command);
		assert_non_null(b->help);
		assert_true(strlen(b->help) <= 58); /* fits beside the key at 80 columns */
	}
}

/* Tab, Enter and Esc are ^I, ^M and ^[: a row for one of those chords would take the other away. */
static void test_no_twins_of_named_keys(void **state)
{
	(void) state;
	for (const struct binding *b = bindings; b->views; b++)
		for (int i = 0; i < KEYS_MAX && b->keys[i]; i++)
			assert_true(b->keys[i] != K_CTRL('J') && b->keys[i] != K_CTRL('H'));
}

static void test_every_key_is_a_command(void **state)
{
	(void) state;
	struct app app = { 0 };
	for (const struct binding *b = bindings; b->views; b++)
		for (int view = 0; view <= VIEW_ASK; view++) {
			if (!(b->views & IN(view)))
				continue;
			app.view = views[view == VIEW_ASK ? VIEW_RUN : view];
			const struct view *elsewhere;
			size_t len = strcspn(b->command, " ");
			if (!app_action(&app, b->command, len) &&
			    !app_action_elsewhere(b->command, len, &elsewhere))
				fail_msg("%s is no command on %s", b->command, app.view->title);
			assert_ptr_equal(binding_find((enum view_id) view, b->keys[0]), b);
		}
}

static void test_names_go_both_ways(void **state)
{
	(void) state;
	char name[16];
	for (const struct binding *b = bindings; b->views; b++)
		for (int i = 0; i < KEYS_MAX && b->keys[i]; i++)
			assert_int_equal(key_parse(key_spell(b->keys[i], name, sizeof(name))), b->keys[i]);
	assert_int_equal(key_parse("M-b"), 'b' | K_ALT);
	assert_string_equal(key_spell('b' | K_ALT, name, sizeof(name)), "M-b");
	assert_int_equal(key_parse("F12"), K_F1 + 11);
	assert_int_equal(key_parse("F13"), K_NONE);
	assert_int_equal(key_parse(""), K_NONE);
	assert_int_equal(key_parse("nonsense"), K_NONE);
}

/* A key that was meant for what stood there before the question lets nothing through; it has not reached the run, of which
 * there is none here. */
static void test_a_question_wants_to_be_read(void **state)
{
	(void) state;
	struct app app = { .view = &run_view, .asked_id = 7, .asked_ns = now_ns() };
	assert_false(ask_key(&app, 'o')); /* nothing waits */
	app.run = (struct run *) (void *) &app;
	app.watch.asked_count = 1;
	app.watch.asked[0] = (struct asked){ .id = 7, .call = "ptrace", .allowable = true };
	assert_false(ask_key(&app, 'x'));
	static const uint32_t letting[] = { 'o', 'r' };
	for (size_t i = 0; i < ARRAY_LEN(letting); i++) {
		app.asked_ns = UINT64_MAX / 2; /* later than any now: so it always is too early */
		assert_true(ask_key(&app, letting[i]));
		assert_non_null(strstr(app.said.data, "only just come"));
		assert_int_equal(app.watch.asked_count, 1);
	}
	buf_done(&app.said);
}

static void test_scrolling(void **state)
{
	(void) state;
	assert_int_equal(scrolled(0, 10, 100, MOVE_UP), 0);
	assert_int_equal(scrolled(0, 10, 100, MOVE_DOWN), 1);
	assert_int_equal(scrolled(0, 10, 100, MOVE_PAGE_DOWN), 9);
	assert_int_equal(scrolled(88, 10, 100, MOVE_PAGE_DOWN), 90);
	assert_int_equal(scrolled(5, 10, 100, MOVE_BOTTOM), 90);
	assert_int_equal(scrolled(5, 10, 3, MOVE_DOWN), 0); /* it all fits */
	assert_int_equal(scrolled(50, 10, 100, MOVE_HALF_UP), 45);
	assert_int_equal(scrolled(50, 1, 0, MOVE_PAGE_UP), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_clash),
		cmocka_unit_test(test_rows_are_whole),
		cmocka_unit_test(test_no_twins_of_named_keys),
		cmocka_unit_test(test_every_key_is_a_command),
		cmocka_unit_test(test_names_go_both_ways),
		cmocka_unit_test(test_a_question_wants_to_be_read),
		cmocka_unit_test(test_scrolling),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
