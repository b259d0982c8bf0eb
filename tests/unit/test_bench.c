/* SPDX-License-Identifier: MIT */
/*
 * Figures of few and many measurements, orders, and what becomes of launchers that do well, ill, or nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/suite/suite.h"

static void assert_figures(size_t count, double median, double p95, double longest)
{
	double values[100];
	struct figures f;

	for (size_t i = 0; i < count; i++) /* 1 to count, the largest first */
		values[i] = (double) (count - i);
	figures_of(values, count, &f);
	assert_int_equal(f.count, count);
	assert_true(fabs(f.median - median) < 1e-9);
	assert_true(fabs(f.p95 - p95) < 1e-9);
	assert_true(fabs(f.longest - longest) < 1e-9);
}

static void test_figures(void **state)
{
	(void) state;
	assert_figures(0, UNKNOWN_F64, UNKNOWN_F64, UNKNOWN_F64);
	assert_figures(1, 1, 1, 1);
	assert_figures(2, 1.5, 2, 2);
	assert_figures(3, 2, 3, 3);
	assert_figures(10, 5.5, 10, 10);
	assert_figures(19, 10, 19, 19);
	assert_figures(20, 10.5, 19, 20);
	assert_figures(21, 11, 20, 21);
	assert_figures(100, 50.5, 95, 100);
}

static void test_shuffle(void **state)
{
	(void) state;
	size_t order[50], moved = 0;
	bool seen[50] = { false };

	bench_shuffle(order, 0);
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		order[i] = i;
	bench_shuffle(order, 1);
	assert_int_equal(order[0], 0);
	bench_shuffle(order, ARRAY_LEN(order));
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		assert_false(seen[order[i]]);
		seen[order[i]] = true;
		moved += order[i] != i;
	}
	assert_true(moved > 0); /* one order in 50! is the old one */
}

/* A launcher is a shell with a script here; the code that it gets as its last word stays unused. */
static char *const empty_env[] = { NULL };
#define SHELL(script) ((char *const[]){ (char *) "sh", (char *) "-c", (char *) (script), NULL })

/* What /bin/sh is called where it lies: dash, bash. */
static const char *shell_name(void)
{
	static char path[PATH_MAX];

	assert_non_null(realpath("/bin/sh", path));
	return strrchr(path, '/') + 1;
}

static void run_script(char *const *argv, size_t rounds, struct bench_row *ret)
{
	const struct bench_launcher l = {
		.name = "it", .program = "/bin/sh", .argv = argv, .env = empty_env
	};
	const struct bench_want w = {
		.launchers = &l, .count = 1, .rounds = rounds, .interpreter = shell_name()
	};
	struct err e;

	assert_int_equal(bench_run(&w, ret, &e), 0);
	ret->launcher = NULL;
}

static void test_well(void **state)
{
	(void) state;
	struct bench_row row;

	run_script(SHELL("echo 1; read -r line; :"), 5, &row);
	assert_true(row.started);
	assert_int_equal(row.failed, 0);
	assert_string_equal(row.reason, "");
	assert_int_equal(row.whole.count, 5);
	assert_int_equal(row.memory_bytes, 0);
	assert_true(row.first_byte.median > 0);
	assert_true(row.whole.median >= row.first_byte.median);
	assert_true(row.whole.longest >= row.whole.p95 && row.whole.p95 >= row.whole.median);
	assert_true(bench_all_well(&row, 1));
}

static void assert_fails(char *const *argv, const char *reason)
{
	struct bench_row row;

	run_script(argv, 3, &row);
	assert_false(row.started);
	assert_int_equal(row.failed, 1); /* the first says it, and no round is made of it */
	assert_string_equal(row.reason, reason);
	assert_int_equal(row.whole.count, 0);
	assert_false(bench_all_well(&row, 1));
}

static void test_ill(void **state)
{
	(void) state;
	assert_fails(SHELL("echo 2"), "it printed \"2\n\" in place of 1");
	assert_fails(SHELL("printf 1"), "it printed \"1\" in place of 1");
	assert_fails(SHELL("echo 1; echo"), "it printed \"1\n\n\" in place of 1");
	assert_fails(SHELL(":"), "it printed \"\" in place of 1");
	assert_fails(SHELL("echo 1; echo one >&2; echo belljar: two >&2; exit 3"), "status 3: two");
	assert_fails(SHELL("kill -KILL $$"), "signal 9: ");
}

/* Fails in the rounds only: what failed is counted, and is in no figure. */
static void test_later(void **state)
{
	(void) state;
	char folder[] = "/tmp/bj-bench-XXXXXX";
	struct bench_row row;

	assert_non_null(mkdtemp(folder));
	FREE char *script =
		xprintf("cd %s && echo 1 && mkdir a 2>/dev/null || mkdir b 2>/dev/null || exit 9", folder);
	run_script(SHELL(script), 3, &row);
	assert_true(row.started);
	assert_int_equal(row.failed, 2);
	assert_int_equal(row.whole.count, 1);
	assert_string_equal(row.reason, "status 9: ");
	struct err e;
	assert_int_equal(dir_remove_tree(AT_FDCWD, folder, &e), 0);
}

static void test_leaves(void **state)
{
	(void) state;
	char path[] = "/tmp/bj-bench-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close_fd(&fd);
	const struct bench_launcher l = {
		.name = "it", .program = "/bin/sh", .argv = SHELL("echo 1"), .env = empty_env, .leaves = path
	};
	struct bench_row row;
	struct err e;
	assert_int_equal(
		bench_run(&(struct bench_want){ .launchers = &l, .count = 1, .interpreter = shell_name() },
			  &row, &e),
		0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(row.whole.count, 0);
}

static bool two_more(void *arg, size_t done, size_t all)
{
	(void) all;
	*(size_t *) arg = done;
	return done < 2;
}

static void test_stopped(void **state)
{
	(void) state;
	const struct bench_launcher l = {
		.name = "it", .program = "/bin/sh", .argv = SHELL("echo 1"), .env = empty_env
	};
	size_t asked = 0;
	const struct bench_want w = { .launchers = &l,
				      .count = 1,
				      .rounds = 9,
				      .interpreter = shell_name(),
				      .go_on = two_more,
				      .arg = &asked };
	struct bench_row row;
	struct err e;

	assert_int_equal(bench_run(&w, &row, &e), -ECANCELED);
	assert_int_equal(asked, 2);
}

/* Whatever is not the program's counts. */
static void test_memory(void **state)
{
	(void) state;
	struct bench_row row;
	struct err e;
	const struct bench_launcher standing = {
		.name = "it", .program = "/bin/sh", .argv = SHELL("echo 1; read -r line; :"), .env = empty_env
	};
	const struct bench_want w = { .launchers = &standing,
				      .count = 1,
				      .interpreter = "none-is-called-so" };
	assert_int_equal(bench_run(&w, &row, &e), 0);
	assert_true(row.memory_bytes != UNKNOWN_U64 && row.memory_bytes > 0);
	assert_non_null(strstr(row.memory_source, "smaps_rollup"));
}

static void test_json(void **state)
{
	(void) state;
	const struct bench_launcher l = { .name = "a \"name\"\x1b", .preset = "p" };
	const struct bench_want w = { .launchers = &l, .count = 1, .rounds = 2 };
	struct bench_row row = { .launcher = &l, .failed = 1, .reason = "\xff", .memory_bytes = UNKNOWN_U64 };
	struct buf out = { 0 };

	figures_of(NULL, 0, &row.whole);
	figures_of(NULL, 0, &row.first_byte);
	bench_json(&w, &row, false, &out);
	assert_non_null(
		strstr(out.data, "\"runs\":2,\"program\":\"print(1)\",\"recorded\":false,\"rows\":[{"));
	assert_non_null(strstr(out.data, "\"median_ms\":null"));
	assert_non_null(strstr(out.data, "\"memory_bytes\":null"));
	assert_non_null(strstr(out.data, "\"reason\":{\"base64\":"));
	assert_null(strchr(out.data, '\x1b'));
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures), cmocka_unit_test(test_shuffle), cmocka_unit_test(test_well),
		cmocka_unit_test(test_ill),     cmocka_unit_test(test_later),   cmocka_unit_test(test_leaves),
		cmocka_unit_test(test_stopped), cmocka_unit_test(test_memory),  cmocka_unit_test(test_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
