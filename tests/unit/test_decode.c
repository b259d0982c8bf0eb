/* SPDX-License-Identifier: MIT */
/*
 * Calls in words: memory that is hostile or not there, and whatever the registers hold.
 */
#include "decode_fixture.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ---- memory ---- */

static void test_memory_that_is_not_there(void **state)
{
	char *end = page_end();

	(void) state;
	memcpy(end - 5, "/tmp", 5);
	DECODE(SYS_unlink, P(end - 5));
	expect_text("path", "/tmp");
	assert_string_equal(d.path, "/tmp");
	memcpy(end - 4, "/tmp", 4); /* no NUL before the end */
	DECODE(SYS_unlink, P(end - 4));
	expect_text("path", "?");
	assert_string_equal(d.path, "?");
	DECODE(SYS_unlink, NOWHERE);
	expect_text("path", "?");
	DECODE(SYS_unlink, 0);
	expect_text("path", "NULL");
	assert_string_equal(d.path, "?");
	DECODE(SYS_unlink, UINT64_MAX - 2);
	expect_text("path", "?");
	page_free(end);
}

static void test_string_over_a_page_border(void **state)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void) state;
	memcpy(at + page - 4, "/over/it", 9);
	DECODE(SYS_unlink, P(at + page - 4));
	assert_string_equal(d.path, "/over/it");
	assert_false(d.cut);
	munmap(at, 2 * page);
}

static void test_long_strings_are_cut(void **state)
{
	static char name[3 * PATH_MAX];

	(void) state;
	memset(name, 'a', sizeof(name) - 1);
	name[0] = '/';
	DECODE(SYS_rename, P(name), P(name));
	assert_true(d.cut);
	assert_int_equal(strlen(d.path), PATH_MAX);
	assert_int_equal(strlen(d.to), PATH_MAX);
	name[0] = 'a';
	DECODE(SYS_rename, P(name), P(name));
	assert_true(d.cut);
	assert_true(strlen(d.path) > PATH_MAX);
	assert_true(d.used <= sizeof(d.space));
}

/* ---- programs ---- */

static void test_command_lines(void **state)
{
	const char *const argv[] = { "sh", "-c", "id; \033[31m", NULL };
	const char *many[100];
	char *end = page_end();

	(void) state;
	DECODE(SYS_execve, P("/bin/sh"), P(argv), 0);
	assert_int_equal(d.kind, DECODE_EXEC);
	assert_string_equal(d.path, "/bin/sh");
	assert_int_equal(d.argv_count, 3);
	assert_string_equal(d.argv[2], "id; \033[31m"); /* as it came */
	assert_false(d.cut);
	DECODE(SYS_execve, P("/bin/sh"), 0, 0);
	assert_int_equal(d.argv_count, 0);

	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = "word";
	DECODE(SYS_execve, P("/bin/sh"), P(many), 0);
	assert_int_equal(d.argv_count, DECODE_ARGV_MAX);
	assert_true(d.cut);

	const char **last = (const char **) (void *) end - 2; /* two words and no end */
	last[0] = "one";
	last[1] = (const char *) (uintptr_t) NOWHERE;
	DECODE(SYS_execve, P("/bin/sh"), P(last), 0);
	assert_int_equal(d.argv_count, 3);
	assert_string_equal(d.argv[0], "one");
	assert_string_equal(d.argv[1], "?");
	assert_string_equal(d.argv[2], "?");
	page_free(end);
}

static void test_long_command_line_is_bounded(void **state)
{
	static char word[8192];
	const char *argv[DECODE_ARGV_MAX + 1] = { 0 };

	(void) state;
	memset(word, 'w', sizeof(word) - 1);
	for (size_t i = 0; i < DECODE_ARGV_MAX; i++)
		argv[i] = word;
	DECODE(SYS_execve, P("/bin/sh"), P(argv), 0);
	assert_int_equal(d.argv_count, DECODE_ARGV_MAX);
	assert_true(d.cut);
	assert_int_equal(strlen(d.argv[0]), 1024);
	for (size_t i = 0; i < d.argv_count; i++)
		assert_true(strlen(d.argv[i]) <= 1024);
	assert_true(d.used <= sizeof(d.space));
}

/* Whatever the registers hold, nothing is overrun and every promise of decode.h is kept. */
static void test_any_registers(void **state)
{
	static char memory[8192];
	unsigned seed = 20240229;

	(void) state;
	for (int round = 0; round < 40; round++) {
		for (size_t i = 0; i < sizeof(memory); i++)
			memory[i] = (char) (rand_r(&seed) % 3 ? 'a' : rand_r(&seed));
		for (int nr = 0; nr < 480; nr++) {
			uint64_t arg[6];
			for (size_t i = 0; i < 6; i++)
				arg[i] = rand_r(&seed) % 2 ? P(memory + rand_r(&seed) % sizeof(memory))
							   : (uint64_t) rand_r(&seed);
			decode(nr, AUDIT_ARCH_X86_64, arg);
			assert_non_null(d.name);
			assert_true(d.used <= sizeof(d.space));
			assert_true(d.kind != DECODE_FILE || d.path != NULL);
			assert_true(d.kind != DECODE_NETWORK || d.addr_count >= 1);
			for (size_t i = 0; i < d.argv_count; i++)
				assert_non_null(d.argv[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_that_is_not_there),
		cmocka_unit_test(test_string_over_a_page_border),
		cmocka_unit_test(test_long_strings_are_cut),
		cmocka_unit_test(test_command_lines),
		cmocka_unit_test(test_long_command_line_is_bounded),
		cmocka_unit_test(test_any_registers),
	};

	return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
