/* SPDX-License-Identifier: MIT */
/*
 * Meter histories and their pictures: time that passes, values that are missing or not known, heights,
 * widths.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "core/base/base.h"
#include "tui/screen/series.h"

static void assert_spark(const struct series *s, uint64_t t_ns, int columns, unsigned step, double top,
			 const char *expected)
{
	struct buf out = { 0 };
	series_spark(s, t_ns, columns, step, top, &out);
	assert_string_equal(out.data ? out.data : "", expected);
	buf_done(&out);
}

static struct series *new_series(bool adds)
{
	struct series *s = xcalloc(1, sizeof(*s));
	series_init(s, adds);
	return s;
}

static void test_heights(void **state)
{
	(void) state;
	struct series *s = new_series(false);
	static const double values[] = { 0, 1, 50, 100, 200, SERIES_UNKNOWN };
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		series_add(s, i * SERIES_SLOT_NS, values[i]);
	assert_spark(s, 5 * SERIES_SLOT_NS, 8, 1, 100, "  ▁▂▅██?");
	assert_spark(s, 3 * SERIES_SLOT_NS, 4, 1, 0, "▁▂▅█"); /* without a top: the highest shown */
	assert_spark(s, 0, 0, 1, 100, "");
	free(s);
}

static void test_gaps(void **state)
{
	(void) state;
	struct series *level = new_series(false), *count = new_series(true);
	series_add(level, 0, 100);
	series_add(level, 3 * SERIES_SLOT_NS, 50);
	assert_spark(level, 4 * SERIES_SLOT_NS, 5, 1, 100, "███▅▅"); /* a level holds until the next sample */
	series_add(count, 0, 1);
	series_add(count, 0, 1);
	series_add(count, 3 * SERIES_SLOT_NS, 1);
	assert_spark(count, 4 * SERIES_SLOT_NS, 5, 1, 2, "█▁▁▅▁"); /* a count of nothing is nothing */
	assert_true(series_sum(count, 4 * SERIES_SLOT_NS, 10) == 3);
	assert_true(series_sum(count, 4 * SERIES_SLOT_NS, 2) == 1);
	free(level);
	free(count);
}

static void test_unknown_is_never_zero(void **state)
{
	(void) state;
	struct series *s = new_series(false);
	assert_spark(s, 2 * SERIES_SLOT_NS, 4, 1, 100, " ???");
	free(s);
}

static void test_steps(void **state)
{
	(void) state;
	assert_int_equal(series_step(0, 24), 1);
	assert_int_equal(series_step(23 * SERIES_SLOT_NS, 24), 1);
	assert_int_equal(series_step(24 * SERIES_SLOT_NS, 24), 2);
	assert_int_equal(series_step(3600 * NS_PER_S, 24), SERIES_STEP_MAX);
	assert_int_equal(series_step(NS_PER_S, 0), 1);
	struct series *s = new_series(false);
	for (uint64_t i = 0; i < 8; i++)
		series_add(s, i * SERIES_SLOT_NS, i == 1 ? 100 : 0);
	assert_spark(s, 7 * SERIES_SLOT_NS, 4, 2, 100, "█▁▁▁"); /* the highest of a column is its height */
	free(s);
}

/* A hostile recording may say any time. */
static void test_times_that_jump(void **state)
{
	(void) state;
	struct series *s = new_series(true);
	series_add(s, UINT64_MAX, 5);
	series_add(s, 0, 1); /* older than what is kept: left out */
	assert_true(series_sum(s, UINT64_MAX, 3) == 5);
	series_add(s, UINT64_MAX / 2, 1);
	assert_true(series_sum(s, UINT64_MAX, 3) == 5);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heights),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_unknown_is_never_zero),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_times_that_jump),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
