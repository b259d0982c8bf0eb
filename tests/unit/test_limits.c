/* SPDX-License-Identifier: MIT */
/*
 * Limits as text: what is taken, what is refused and with which words, and that formatting is the inverse of
 * parsing.
 */
#include "core/base/base.h"
#include "core/model/policy.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define K UINT64_C(1024)

static void takes(enum limit_name name, const char *text, uint64_t want)
{
	struct err e = { 0 };
	uint64_t value = 1;

	if (limit_parse(name, text, &value, &e) != 0)
		fail_msg("%s: %s", text, e.text);
	assert_int_equal(value, want);
}

/* The refusal says `why`, and the output is untouched. */
static void refuses(enum limit_name name, const char *text, const char *why)
{
	struct err e = { 0 };
	uint64_t value = 12345;

	assert_int_equal(limit_parse(name, text, &value, &e), -EINVAL);
	assert_int_equal(value, 12345);
	if (strstr(e.text, why) == NULL)
		fail_msg("'%s' was refused with '%s', not with '%s'", text, e.text, why);
}

static void test_times(void **state)
{
	(void) state;
	takes(LIMIT_WALL, "10s", 10 * NS_PER_S);
	takes(LIMIT_WALL, "1.5s", 1500 * NS_PER_MS);
	takes(LIMIT_WALL, "500ms", 500 * NS_PER_MS);
	takes(LIMIT_CPU, "2m", 120 * NS_PER_S);
	takes(LIMIT_WALL, "0.25m", 15 * NS_PER_S);
	takes(LIMIT_WALL, "1.000000001s", NS_PER_S + 1);
	refuses(LIMIT_WALL, "10", "10s, 500ms or 2m");
	refuses(LIMIT_WALL, "10S", "no unit of it");
	refuses(LIMIT_WALL, "10M", "no unit of it");
	refuses(LIMIT_WALL, "1h", "no unit of it");
	refuses(LIMIT_WALL, "0s", "too small");
	refuses(LIMIT_WALL, "0.0000001ms", "finer than");
	refuses(LIMIT_WALL, "300000000m", "too large");
}

static void test_sizes(void **state)
{
	(void) state;
	takes(LIMIT_MEMORY, "256M", 256 * K * K);
	takes(LIMIT_MEMORY, "256m", 256 * K * K);
	takes(LIMIT_MEMORY, "1.5G", 1536 * K * K);
	takes(LIMIT_MEMORY, "268435456", 256 * K * K);
	takes(LIMIT_FILE_SIZE, "0", 0);
	takes(LIMIT_SPACE, "64K", 64 * K);
	takes(LIMIT_MEMORY, "8589934591G", 8589934591u * K * K * K);
	refuses(LIMIT_MEMORY, "256MB", "no unit of it");
	refuses(LIMIT_MEMORY, "256 M", "no unit of it");
	refuses(LIMIT_FILE_SIZE, "0.3K", "finer than");
	refuses(LIMIT_MEMORY, "8589934592G", "too large");
	refuses(LIMIT_MEMORY, "18446744073709551615", "too large");
	refuses(LIMIT_MEMORY, "18446744073709551616", "too large");
	refuses(LIMIT_MEMORY, "99999999999999999999999999999999999999999999G", "too large");
	refuses(LIMIT_MEMORY, "4K", "the least is 1M");
	refuses(LIMIT_SPACE, "1K", "the least is 64K");
}

static void test_cores_and_counts(void **state)
{
	(void) state;
	takes(LIMIT_CPUS, "1", 1000);
	takes(LIMIT_CPUS, "0.5", 500);
	takes(LIMIT_CPUS, "1.125", 1125);
	takes(LIMIT_PROCESSES, "64", 64);
	takes(LIMIT_OPEN_FILES, "4", 4);
	refuses(LIMIT_CPUS, "0.0005", "finer than");
	refuses(LIMIT_CPUS, "0.001", "too small");
	refuses(LIMIT_PROCESSES, "0", "too small");
	refuses(LIMIT_PROCESSES, "1.5", "finer than");
	refuses(LIMIT_PROCESSES, "64k", "no unit of it");
	refuses(LIMIT_OPEN_FILES, "3", "too small");
}

static void test_unlimited(void **state)
{
	(void) state;
	for (enum limit_name name = 0; name < LIMIT_MAX; name++)
		takes(name, "unlimited", UNLIMITED);
	refuses(LIMIT_WALL, "Unlimited", "unlimited");
	refuses(LIMIT_WALL, "unlimited ", "unlimited");
}

static void test_refused_by_all(void **state)
{
	static const char *const bad[] = { "-1",    "+1",   "-",   ".",   ".5",   "5.", "5.s",
					   "1..5s", "0x10", "1e3", "ten", " 10s", "\n" };

	(void) state;
	for (enum limit_name name = 0; name < LIMIT_MAX; name++) {
		refuses(name, "", "has no value");
		for (size_t i = 0; i < ARRAY_LEN(bad); i++)
			refuses(name, bad[i], "write ");
	}
}

static void test_formats(void **state)
{
	static const struct {
		enum limit_name name;
		uint64_t value;
		const char *text;
	} cases[] = {
		{ LIMIT_WALL, 10 * NS_PER_S, "10s" },
		{ LIMIT_WALL, 60 * NS_PER_S, "1m" },
		{ LIMIT_WALL, 90 * NS_PER_S, "90s" },
		{ LIMIT_WALL, 250 * NS_PER_MS, "250ms" },
		{ LIMIT_WALL, 1500 * NS_PER_MS, "1.5s" },
		{ LIMIT_WALL, 1, "0.000001ms" },
		{ LIMIT_MEMORY, 256 * K * K, "256M" },
		{ LIMIT_MEMORY, 1536 * K * K, "1.5G" },
		{ LIMIT_MEMORY, 1000000, "1000000" },
		{ LIMIT_FILE_SIZE, 0, "0" },
		{ LIMIT_CPUS, 1000, "1" },
		{ LIMIT_CPUS, 500, "0.5" },
		{ LIMIT_PROCESSES, 64, "64" },
		{ LIMIT_INODES, UNLIMITED, "unlimited" },
	};
	char text[48];

	(void) state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(limit_format(cases[i].name, cases[i].value, text, sizeof(text)),
				    cases[i].text);
}

/* Every value that can be had parses back from its own text. */
static void test_round_trip(void **state)
{
	uint64_t seed = 42;
	char text[48];
	struct err e;

	(void) state;
	for (int i = 0; i < 20000; i++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		enum limit_name name = (enum limit_name)((seed >> 33) % LIMIT_MAX);
		uint64_t value = (seed >> 1) >> ((seed >> 40) % 62), back = 0;
		if (value < limit_kinds[name].least)
			continue;
		limit_format(name, value, text, sizeof(text));
		if (limit_parse(name, text, &back, &e) != 0 || back != value)
			fail_msg("%s %s", limit_kinds[name].name, text);
	}
}

/* A buffer that is too small is never overrun. */
static void test_small_buffer(void **state)
{
	char text[4] = "abc";

	(void) state;
	limit_format(LIMIT_INODES, UNLIMITED, text, sizeof(text));
	assert_string_equal(text, "unl");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_cores_and_counts),
		cmocka_unit_test(test_unlimited),
		cmocka_unit_test(test_refused_by_all),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_small_buffer),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
