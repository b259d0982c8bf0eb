/* SPDX-License-Identifier: MIT */
/*
 * Code on its way into a launch: taken whole or refused, and whatever was changed is said.
 */
#include "core/base/base.h"
#include "core/model/launch.h"
#include "core/model/policy.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct launch *launch_in(const char *language)
{
	struct launch *l = launch_new();

	l->language = language != NULL ? language_by_name(language) : NULL;
	return l;
}

/* The code becomes `want`; the note has `note` in it, or there is none. */
static void takes(const char *language, const char *code, size_t len, const char *want, const char *note)
{
	struct launch *l = launch_in(language);
	struct err e = { 0 };
	char *said = NULL, sha[65];

	if (launch_set_code(l, code, len, &said, &e) != 0)
		fail_msg("%s", e.text);
	assert_string_equal(l->code, want);
	assert_int_equal(l->code_len, strlen(want));
	sha256_hex(want, strlen(want), sha);
	assert_string_equal(l->code_sha256, sha);
	if (note == NULL)
		assert_null(said);
	else
		assert_non_null(strstr(said, note));
	free(said);
	launch_free(l);
}

/* Refused, and what the launch held before is still there. */
static void refuses(const char *language, const char *code, size_t len, int error, const char *words)
{
	struct launch *l = launch_in(language);
	struct err e = { 0 };
	char *said = NULL;

	assert_int_equal(launch_set_code(l, "before", 6, NULL, &e), 0);
	assert_int_equal(launch_set_code(l, code, len, &said, &e), -error);
	assert_null(said);
	assert_string_equal(l->code, "before");
	if (strstr(e.text, words) == NULL)
		fail_msg("'%s' is not in '%s'", words, e.text);
	launch_free(l);
}

#define TEXT(s) (s), sizeof(s) - 1

static void test_new(void **state)
{
	struct launch *a = launch_new(), *b = launch_new();

	(void) state;
	assert_int_equal(strlen(a->run_id), 26);
	assert_int_equal(strspn(a->run_id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), 26);
	assert_true(a->run_id[0] <= '7'); /* 48 bits of time in ten digits of five */
	assert_string_not_equal(a->run_id, b->run_id);
	assert_memory_equal(a->run_id, b->run_id, 5); /* made in the same hours: the time comes first */
	assert_int_equal(a->stdin_fd, -1);
	assert_null(launch_free(a));
	assert_null(launch_free(b));
	assert_null(launch_free(NULL));
}

static void test_as_it_is(void **state)
{
	(void) state;
	takes("python", TEXT("print(1)\n"), "print(1)\n", NULL);
	takes("python", TEXT(""), "", NULL);
	takes(NULL, TEXT("a\r\nb"), "a\r\nb", NULL);
	takes("sh", TEXT("echo \xff\n"), "echo \xff\n", NULL); /* a shell passes bytes on */
}

static void test_endings(void **state)
{
	(void) state;
	takes("bash", TEXT("a=1\r\necho $a\r\n"), "a=1\necho $a\n", "2 line endings CR LF became LF");
	takes("sh", TEXT("a\r\n"), "a\n", "1 line ending CR LF became LF");
	takes("sh", TEXT("a\r\r\nb\rc\r"), "a\r\nb\rc\r", "1 line ending"); /* only the pair is an ending */
	/* a CR in a string is the program's own */
	takes("python", TEXT("s = 'a\rb'\r\n"), "s = 'a\rb'\r\n", NULL);
}

static void test_byte_order_mark(void **state)
{
	(void) state;
	takes("python", TEXT("\xef\xbb\xbfprint(1)\n"), "print(1)\n", "byte-order mark was left out");
	takes("sh", TEXT("\xef\xbb\xbf#!/bin/sh\r\n"), "#!/bin/sh\n",
	      "byte-order mark was left out; 1 line ending");
	takes("python", TEXT("\xef\xbb\xbf"), "", "byte-order mark");
	takes("python", TEXT("x\xef\xbb\xbf"), "x\xef\xbb\xbf", NULL);
}

static void test_refused(void **state)
{
	(void) state;
	refuses("sh", TEXT("a\nb\0c\n"), EINVAL, "line 2 has a NUL byte");
	refuses(NULL, TEXT("\0"), EINVAL, "line 1 has a NUL byte");
	refuses("python", TEXT("a\n\nx = '\xe9'\n"), EILSEQ, "line 3 is not UTF-8, which Python 3 needs");
	refuses("python", TEXT("x = 'coding: latin-1 \xe9'\n"), EILSEQ, "line 1 is not UTF-8");
	/* too late there */
	refuses("python", TEXT("\n\n# coding: latin-1\nx = '\xe9'\n"), EILSEQ, "line 4 is not UTF-8");
}

static void test_named_encoding(void **state)
{
	(void) state;
	takes("python", TEXT("# -*- coding: latin-1 -*-\nx = '\xe9'\n"),
	      "# -*- coding: latin-1 -*-\nx = '\xe9'\n", NULL);
	takes("python", TEXT("#!/usr/bin/python3\n# vim: set fileencoding=latin-1 :\n'\xe9'"),
	      "#!/usr/bin/python3\n# vim: set fileencoding=latin-1 :\n'\xe9'", NULL);
}

static void test_size(void **state)
{
	size_t len = CODE_MAX + 1;
	char *code = xmalloc(len);
	struct launch *l = launch_in("python");
	struct err e = { 0 };

	(void) state;
	memset(code, '#', len);
	refuses("python", code, len, EFBIG, "at most 10 MiB");
	assert_int_equal(launch_set_code(l, code, CODE_MAX, NULL, &e), 0);
	assert_int_equal(l->code_len, CODE_MAX);
	launch_free(l);
	free(code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new),     cmocka_unit_test(test_as_it_is),
		cmocka_unit_test(test_endings), cmocka_unit_test(test_byte_order_mark),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_named_encoding),
		cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}
