/* SPDX-License-Identifier: MIT */
/*
 * Comparing runs, from events as data: what counts as a difference and what does not, places by their common name,
 * bounds, and a column that never ran.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/base.h"
#include "core/suite/suite.h"

static const char *const two[] = { "subprocess", "namespaces", NULL };

static const struct compare_row *row_of(struct comparison *c, const char *label)
{
	const struct compare_row *rows;
	size_t count = comparison_rows(c, &rows);

	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i].label, label) == 0)
			return &rows[i];
	return NULL;
}

static void file(struct comparison *c, size_t k, const char *path, enum outcome outcome, uint64_t count)
{
	struct event ev = { .type = EVENT_FILE,
			    .outcome = outcome,
			    .layer = outcome == OUTCOME_HIDDEN ? LAYER_MOUNT_NS : LAYER_NONE,
			    .file = { .op = "open", .path = path, .count = count } };
	comparison_take(c, k, &ev);
}

static void end(struct comparison *c, size_t k, enum verdict verdict, double wall_s, uint64_t memory)
{
	struct event ev = { .type = EVENT_EXIT,
			    .exit = { .verdict = verdict,
				      .status = 0,
				      .evidence = "exit status 0",
				      .wall_s = wall_s,
				      .cpu_s = 0.1,
				      .memory_peak = memory,
				      .processes_peak = UNKNOWN_U64 } };
	comparison_take(c, k, &ev);
}

static void output(struct comparison *c, size_t k, const char *text)
{
	struct event ev = { .type = EVENT_OUTPUT, .output = { STREAM_STDOUT, text, strlen(text) } };
	comparison_take(c, k, &ev);
}

static void test_outcomes_part_runs_and_counts_do_not(void **state)
{
	struct comparison *c = comparison_new(two);
	(void) state;
	file(c, 0, "/etc/shadow", OUTCOME_OPENED, 1);
	file(c, 1, "/etc/shadow", OUTCOME_HIDDEN, 1);
	file(c, 0, "/usr/lib/x", OUTCOME_OPENED, 3);
	file(c, 1, "/usr/lib/x", OUTCOME_OPENED, 1);
	file(c, 0, "/only/here", OUTCOME_REFUSED, 1);
	end(c, 0, VERDICT_OK, 1.0, 100);
	end(c, 1, VERDICT_OK, 1.9, 100);

	const struct compare_row *row = row_of(c, "file open /etc/shadow");
	assert_string_equal(row->cell[0], "opened");
	assert_string_equal(row->cell[1], "hidden by mount-ns");
	assert_true(row->differs);
	assert_false(row->quiet);
	row = row_of(c, "file open /usr/lib/x");
	assert_string_equal(row->cell[0], "opened x3");
	assert_false(row->differs);
	assert_true(row->quiet);
	row = row_of(c, "file open /only/here");
	assert_true(row->differs);
	assert_null(row->cell[1]);
	assert_false(row_of(c, "verdict")->differs);
	assert_null(comparison_free(c));
}

static void test_measures_differ_by_more_than_two(void **state)
{
	struct comparison *c = comparison_new(two);
	(void) state;
	end(c, 0, VERDICT_OK, 1.0, 100);
	end(c, 1, VERDICT_FAILED, 1.9, 250);
	assert_false(row_of(c, "wall")->differs);
	assert_true(row_of(c, "memory peak")->differs);
	assert_string_equal(row_of(c, "processes peak")->cell[0], "?");
	assert_false(row_of(c, "processes peak")->differs);
	assert_true(row_of(c, "verdict")->differs);
	comparison_free(c);
}

static void test_a_runs_own_places_have_common_names(void **state)
{
	struct comparison *c = comparison_new(two);
	(void) state;
	file(c, 0, "/tmp/belljar-1000/01M8QNXBWSRZFKXKGCTR56ENFK/work/main.py", OUTCOME_OPENED, 1);
	file(c, 1, "/workspace/main.py", OUTCOME_OPENED, 1);
	file(c, 0, "/var/tmp/belljar-1000/01M8QNXBWSRZFKXKGCTR56ENFK/home/.netrc", OUTCOME_ABSENT, 1);
	file(c, 0, "/tmp/belljar-1000/01M8QNXBWSRZFKXKGCTR56ENFK/other", OUTCOME_ABSENT, 1);
	file(c, 0, "/tmp/belljar-x/y", OUTCOME_ABSENT, 1);
	end(c, 0, VERDICT_OK, 1, 1);
	end(c, 1, VERDICT_OK, 1, 1);
	assert_string_equal(row_of(c, "file open /workspace/main.py")->cell[0], "opened");
	assert_false(row_of(c, "file open /workspace/main.py")->differs);
	assert_non_null(row_of(c, "file open /home/user/.netrc"));
	assert_non_null(row_of(c, "file open /tmp/belljar-1000/01M8QNXBWSRZFKXKGCTR56ENFK/other"));
	assert_non_null(row_of(c, "file open /tmp/belljar-x/y"));
	comparison_free(c);
}

static void test_output_is_told_from_its_first_other_line(void **state)
{
	struct comparison *c = comparison_new(two);
	(void) state;
	output(c, 0, "one\ntwo\n");
	output(c, 1, "one\n");
	output(c, 1, "2\n");
	end(c, 0, VERDICT_OK, 1, 1);
	end(c, 1, VERDICT_OK, 1, 1);
	const struct compare_row *row = row_of(c, "stdout");
	assert_string_equal(row->cell[0], "8 B");
	assert_string_equal(row->cell[1], "6 B, other from line 2 on: 2");
	assert_true(row->differs);
	assert_string_equal(row_of(c, "stderr")->cell[1], "0 B, the same");
	comparison_free(c);
}

static void test_a_flood_is_bounded_and_counted(void **state)
{
	struct comparison *c = comparison_new(two);
	struct buf json = { 0 };
	char path[40];
	(void) state;
	for (int i = 0; i < 1500; i++) {
		snprintf(path, sizeof(path), "/x/%d", i);
		file(c, 0, path, OUTCOME_ABSENT, 2);
	}
	comparison_json(c, &json);
	assert_non_null(strstr(json.data, "\"not_kept\":952}")); /* 476 kinds, twice each */
	buf_done(&json);
	comparison_free(c);
}

static void test_a_column_that_never_ran_says_why(void **state)
{
	struct comparison *c = comparison_new(two);
	(void) state;
	comparison_failed(c, 1, "no preset 'namespaces'");
	end(c, 0, VERDICT_OK, 1, 1);
	assert_true(comparison_ended(c, 1));
	assert_false(comparison_ran(c, 1));
	assert_true(comparison_ran(c, 0));
	assert_string_equal(row_of(c, "verdict")->cell[1], "not run: no preset 'namespaces'");
	comparison_free(c);
}

static void test_what_a_column_waits_for(void **state)
{
	struct comparison *c = comparison_new(two);
	struct event waits = { .type = EVENT_PROGRESS, .progress = { .text = "starting the machine" } },
		     start = { .type = EVENT_START };
	(void) state;
	end(c, 0, VERDICT_OK, 1, 1);
	comparison_take(c, 1, &waits);
	assert_string_equal(row_of(c, "verdict")->cell[1], "starting the machine");
	assert_false(row_of(c, "verdict")->differs); /* it has not come to its verdict */
	comparison_take(c, 1, &start);
	assert_null(row_of(c, "verdict")->cell[1]);
	comparison_take(c, 1, &waits); /* from a recording that was made up */
	assert_null(row_of(c, "verdict")->cell[1]);
	comparison_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outcomes_part_runs_and_counts_do_not),
		cmocka_unit_test(test_measures_differ_by_more_than_two),
		cmocka_unit_test(test_a_runs_own_places_have_common_names),
		cmocka_unit_test(test_output_is_told_from_its_first_other_line),
		cmocka_unit_test(test_a_flood_is_bounded_and_counted),
		cmocka_unit_test(test_a_column_that_never_ran_says_why),
		cmocka_unit_test(test_what_a_column_waits_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
