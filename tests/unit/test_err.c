/* SPDX-License-Identifier: MIT */
/* Error values: what they say, what they return, and that they are never overrun. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "core/base/base.h"

static void test_set(void **state)
{
	(void) state;
	struct err e = { 0 };
	assert_int_equal(err_set(&e, EACCES, "open %s", "/x"), -EACCES);
	assert_int_equal(e.code, EACCES);
	assert_string_equal(e.text, "open /x: Permission denied");
	assert_int_equal(err_set(&e, 4095, "odd"), -4095);
	assert_string_equal(e.text, "odd: unknown error");
}

static void test_say(void **state)
{
	(void) state;
	struct err e = { 0 };
	assert_int_equal(err_say(&e, EINVAL, "line %d: %s", 3, "no such key"), -EINVAL);
	assert_int_equal(e.code, EINVAL);
	assert_string_equal(e.text, "line 3: no such key");
}

static void test_in(void **state)
{
	(void) state;
	struct err e = { 0 };
	(void) err_set(&e, ENOENT, "open x");
	assert_int_equal(err_in(&e, "preset %s", "mine"), -ENOENT);
	assert_string_equal(e.text, "preset mine: open x: No such file or directory");
}

static void test_long(void **state)
{
	(void) state;
	struct {
		struct err e;
		char after[8];
	} guarded = { .after = "guard" };
	char name[2000];
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	(void) err_set(&guarded.e, ENOENT, "open %s", name);
	assert_int_equal(strlen(guarded.e.text), sizeof(guarded.e.text) - 1);
	(void) err_in(&guarded.e, "%s", name);
	assert_int_equal(strlen(guarded.e.text), sizeof(guarded.e.text) - 1);
	assert_string_equal(guarded.after, "guard");
	assert_int_equal(guarded.e.code, ENOENT);
}

static void test_nobody_listens(void **state)
{
	(void) state;
	assert_int_equal(err_set(NULL, EIO, "x"), -EIO);
	assert_int_equal(err_say(NULL, EIO, "x"), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_say),
		cmocka_unit_test(test_in),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_nobody_listens),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
