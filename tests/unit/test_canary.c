/* SPDX-License-Identifier: MIT */
/*
 * Planted credentials: each file says which one it is, words of another run are not ours, and what is cut is not found.
 */
#include "core/backend/canary.h"
#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void test_each_file_is_told_apart(void **state)
{
	struct canary c = { 0 };
	const char *path, *text;
	size_t k = 0;
	(void) state;
	canary_make(&c);
	for (; (path = canary_file(&c, k, &text)); k++) {
		const char *at = text;
		size_t len = strlen(text);
		assert_non_null(strstr(text, c.nonce));
		assert_string_equal(canary_find(&c, &at, &len), path);
		assert_int_equal(at + len - text, strlen(text));
		assert_memory_equal(at - CANARY_NONCE, c.nonce, CANARY_NONCE);
		assert_null(canary_find(&c, &at, &len)); /* once in each */
	}
	assert_int_equal(k, CANARY_FILES);
	canary_done(&c);
}

static void test_all_in_one_buffer(void **state)
{
	struct canary c = { 0 };
	struct buf all = { 0 };
	const char *path, *text;
	(void) state;
	canary_make(&c);
	for (size_t k = 0; canary_file(&c, k, &text); k++)
		buf_str(&all, text);
	const char *at = all.data;
	size_t len = all.len, found = 0;
	while ((path = canary_find(&c, &at, &len)))
		assert_string_equal(path, canary_file(&c, found++, &text));
	assert_int_equal(found, CANARY_FILES);
	buf_done(&all);
	canary_done(&c);
}

static void test_others_and_pieces_are_not_found(void **state)
{
	struct canary mine = { 0 }, other = { 0 }, none = { 0 };
	const char *text;
	(void) state;
	canary_make(&mine);
	canary_make(&other);
	assert_string_not_equal(mine.nonce, other.nonce);
	assert_non_null(canary_file(&other, 0, &text));
	const char *at = text;
	size_t len = strlen(text);
	assert_null(canary_find(&mine, &at, &len));
	assert_null(canary_find(&none, &at, &len));
	assert_null(canary_file(&none, 0, &text));
	at = mine.nonce;
	len = CANARY_NONCE - 1;
	assert_null(canary_find(&mine, &at, &len));
	at = mine.nonce; /* whole, but the letter before it, which says the file, was cut off */
	len = CANARY_NONCE;
	assert_string_equal(canary_find(&mine, &at, &len), "credential");
	canary_done(&mine);
	canary_done(&other);
}

static void test_planted_closed_to_others(void **state)
{
	char dir[] = "/tmp/bj-canary-XXXXXX";
	struct canary c = { 0 };
	struct err e;
	const char *path, *text;
	(void) state;
	assert_non_null(mkdtemp(dir));
	CLOSE_FD int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	canary_make(&c);
	assert_int_equal(canary_plant(&c, fd, geteuid(), &e), 0);
	for (size_t k = 0; (path = canary_file(&c, k, &text)); k++) {
		FREE char *got = NULL;
		struct stat st;
		assert_int_equal(fstatat(fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		assert_int_equal(file_read(fd, path, 4096, &got, NULL, &e), 0);
		assert_string_equal(got, text);
	}
	assert_int_equal(canary_plant(&c, fd, geteuid(), &e), -EEXIST); /* never over what is there */
	canary_done(&c);
	assert_int_equal(dir_remove_tree(AT_FDCWD, dir, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_file_is_told_apart),
		cmocka_unit_test(test_all_in_one_buffer),
		cmocka_unit_test(test_others_and_pieces_are_not_found),
		cmocka_unit_test(test_planted_closed_to_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
