/* SPDX-License-Identifier: MIT */
/*
 * Groups of events: what makes two events one row, the bound under a flood, filters, words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/screen/groups.h"

static struct event denied(const char *call, uint64_t t_ns, uint64_t count)
{
	return (struct event){ .type = EVENT_DENIED,
			       .t_ns = t_ns,
			       .outcome = OUTCOME_REFUSED,
			       .layer = LAYER_SECCOMP,
			       .basis = BASIS_ANSWERED,
			       .denied = { .pid = 4,
					   .command = "python3",
					   .call = call,
					   .error = "EPERM",
					   .rule = "default:debug",
					   .count = count } };
}

static struct event opened(const char *path, enum outcome outcome)
{
	return (struct event){ .type = EVENT_FILE,
			       .outcome = outcome,
			       .layer = outcome == OUTCOME_HIDDEN ? LAYER_MOUNT_NS : LAYER_NONE,
			       .file = {
				       .pid = 4, .command = "sh", .op = "open", .path = path, .count = 1 } };
}

static void test_same_things_are_one_row(void **state)
{
	(void) state;
	struct groups g;
	groups_init(&g, false);
	struct event first = denied("ptrace", 1, 1), again = denied("ptrace", 5, 17),
		     other = denied("mount", 7, 1);
	groups_add(&g, &first);
	groups_add(&g, &again);
	groups_add(&g, &other);
	assert_int_equal(g.count, 2);
	assert_int_equal(g.at[0].count, 18);
	assert_int_equal(g.at[0].first_ns, 1);
	assert_int_equal(g.at[0].last_ns, 5);
	assert_string_equal(g.at[0].what.text, "ptrace()");
	assert_string_equal(g.at[0].who.text, "python3[4]");
	assert_string_equal(g.at[0].why.text, "EPERM by default:debug");
	assert_true(g.at[1].touched > g.at[0].touched);
	assert_int_equal(g.stopped, 19);
	groups_done(&g);
}

static void test_another_outcome_is_another_row(void **state)
{
	(void) state;
	struct groups g;
	groups_init(&g, false);
	struct event hidden = opened("/etc/shadow", OUTCOME_HIDDEN),
		     absent = opened("/etc/shadow", OUTCOME_ABSENT);
	groups_add(&g, &hidden);
	groups_add(&g, &absent);
	assert_int_equal(g.count, 2);
	assert_int_equal(g.stopped, 1);
	assert_int_equal(g.stopped_file, 1);
	assert_false(group_quiet(&g.at[0]));
	assert_true(group_quiet(&g.at[1]));
	groups_done(&g);
}

/* What a guest tells is believed less than what was seen from here: never one row. */
static void test_another_source_is_another_row(void **state)
{
	(void) state;
	struct groups g;
	groups_init(&g, false);
	struct event seen = denied("ptrace", 1, 1), told = denied("ptrace", 2, 1);
	told.source = SOURCE_GUEST;
	groups_add(&g, &seen);
	groups_add(&g, &told);
	groups_add(&g, &told);
	assert_int_equal(g.count, 2);
	assert_int_equal(g.at[0].source, SOURCE_HOST);
	assert_int_equal(g.at[1].source, SOURCE_GUEST);
	assert_int_equal(g.at[1].count, 2);
	groups_done(&g);
}

static void test_flood_is_bounded_and_counted(void **state)
{
	(void) state;
	struct groups g;
	char path[32];
	groups_init(&g, false);
	for (int i = 0; i < 4 * GROUPS_MAX; i++) {
		(void) snprintf(path, sizeof(path), "/tmp/%d", i);
		struct event ev = opened(path, OUTCOME_HIDDEN);
		groups_add(&g, &ev);
	}
	assert_int_equal(g.count, GROUPS_MAX);
	assert_int_equal(g.not_kept, 3 * GROUPS_MAX);
	assert_int_equal(g.events, 4 * GROUPS_MAX);
	struct event known = opened("/tmp/7", OUTCOME_HIDDEN); /* what has a row goes on counting */
	groups_add(&g, &known);
	assert_int_equal(g.at[7].count, 2);
	assert_int_equal(g.not_kept, 3 * GROUPS_MAX);
	groups_done(&g);
}

static void test_hostile_strings(void **state)
{
	(void) state;
	struct groups g;
	groups_init(&g, false);
	char *long_path = xmalloc(1u << 20);
	memset(long_path, 'x', (1u << 20) - 1);
	long_path[(1u << 20) - 1] = '\0';
	struct event long_one = opened(long_path, OUTCOME_HIDDEN),
		     escape = opened("/a\033]0;t\a\n/b", OUTCOME_HIDDEN), none = opened(NULL, OUTCOME_HIDDEN);
	groups_add(&g, &long_one);
	groups_add(&g, &escape);
	groups_add(&g, &none);
	assert_int_equal(g.count, 3);
	assert_true(g.at[0].what.len < 1000);
	assert_null(memchr(g.at[1].what.text, 033, g.at[1].what.len));
	assert_null(memchr(g.at[1].what.text, '\n', g.at[1].what.len));
	free(long_path);
	groups_done(&g);
}

static void test_filter(void **state)
{
	(void) state;
	struct groups g;
	groups_init(&g, false);
	struct event ev = denied("ptrace", 1, 1);
	groups_add(&g, &ev);
	static const char *const matching[] = {
		"", "PTRACE", "python", "eperm", "call", "refused", "seccomp"
	};
	for (size_t i = 0; i < ARRAY_LEN(matching); i++)
		assert_true(group_matches(&g.at[0], matching[i]));
	assert_false(group_matches(&g.at[0], "mount"));
	groups_done(&g);
}

static void test_how_to_allow(void **state)
{
	(void) state;
	struct groups g;
	struct buf out = { 0 };
	groups_init(&g, false);
	struct event call = denied("ptrace", 1, 1), file = opened("/x", OUTCOME_ABSENT);
	groups_add(&g, &call);
	groups_add(&g, &file);
	group_allow(&g.at[0], &out);
	assert_non_null(strstr(out.data, "allow = ptrace"));
	out.len = 0;
	group_allow(&g.at[1], &out); /* nothing was refused: nothing to allow */
	assert_int_equal(out.len, 0);
	struct event net = { .type = EVENT_NETWORK,
			     .outcome = OUTCOME_UNREACHABLE,
			     .network = { .op = "connect", .address = "10.0.0.1", .port = 80, .count = 1 } };
	groups_add(&g, &net);
	group_allow(&g.at[2], &out);
	assert_non_null(strstr(out.data, "policy = host"));
	out.len = 0;
	net.source = SOURCE_GUEST; /* where that would be refused */
	groups_add(&g, &net);
	group_allow(&g.at[3], &out);
	assert_null(strstr(out.data, "policy = host"));
	buf_done(&out);
	groups_done(&g);
}

/* Every type and outcome has words: an empty cell would look like a fault. */
static void test_words_for_all(void **state)
{
	(void) state;
	for (int type = 0; type < EVENT_TYPE_MAX; type++) {
		struct event ev = { .type = (enum event_type) type };
		struct group g = { .type = (enum event_type) type };
		if (!group_wanted(&ev))
			continue;
		assert_true(strlen(group_kind(&g)) > 0 && strlen(group_kind(&g)) <= 5);
		assert_true(strlen(group_outcome(&g)) > 0 && strlen(group_outcome(&g)) <= 11);
	}
	for (int layer = 1; layer < LAYER_MAX; layer++)
		assert_true(*layer_words((enum layer) layer));
	for (int outcome = 1; outcome < OUTCOME_MAX; outcome++) {
		struct group g = { .type = EVENT_FILE, .outcome = (enum outcome) outcome };
		assert_true(strlen(group_outcome(&g)) <= 11);
	}
}

static void test_one_by_one_the_newest_are_kept(void **state)
{
	(void) state;
	struct groups g;
	groups_init(&g, false);
	for (uint64_t i = 0; i < RAW_MAX + 3; i++) {
		struct event ev = denied(i % 2 ? "ptrace" : "mount", i, 1 + i % 2);
		groups_add(&g, &ev);
	}
	assert_int_equal(g.count, 2);
	assert_int_equal(g.raw_next, RAW_MAX + 3);
	const struct raw *newest = &g.raw[(g.raw_next - 1) % RAW_MAX], *oldest = &g.raw[g.raw_next % RAW_MAX];
	assert_int_equal(newest->t_ns, RAW_MAX + 2);
	assert_string_equal(g.at[newest->group].call.text, "mount");
	assert_int_equal(oldest->t_ns, 3);
	assert_int_equal(oldest->count, 2);
	groups_done(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_things_are_one_row),
		cmocka_unit_test(test_another_outcome_is_another_row),
		cmocka_unit_test(test_another_source_is_another_row),
		cmocka_unit_test(test_flood_is_bounded_and_counted),
		cmocka_unit_test(test_hostile_strings),
		cmocka_unit_test(test_one_by_one_the_newest_are_kept),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_how_to_allow),
		cmocka_unit_test(test_words_for_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
