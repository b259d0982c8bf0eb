/* SPDX-License-Identifier: MIT */
/*
 * Grouping: the first of a kind at once, a million like it as one count, and what finds no place counted too.
 */
#include "core/supervise/supervisor.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct rig {
	struct groups groups;
	struct feed feed;
	int read_fd;
	uint8_t frame[WIRE_FRAME_MAX];
};
static struct rig rig;

static int setup(void **state)
{
	int fds[2];
	struct err e;
	memset(&rig, 0, sizeof(rig));
	if (wire_pair(fds, &e) < 0)
		return -1;
	feed_init(&rig.feed, fds[0]);
	rig.read_fd = fds[1];
	*state = &rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	group_tick(&r->groups, &r->feed); /* frees what is kept */
	feed_done(&r->feed);
	close(r->read_fd);
	return 0;
}

static struct event *next(struct rig *r)
{
	struct event *ev = NULL;
	struct err e;
	(void) feed_flush(&r->feed); /* what was watched waits for company */
	ssize_t n = wire_recv(r->read_fd, r->frame, sizeof(r->frame));
	if (n > 0)
		assert_int_equal(event_decode(r->frame, (size_t) n, &ev, &e), 0);
	return ev;
}

static void deny(struct rig *r, const char *call, int64_t number)
{
	struct event_arg args[] = { { "request", "PTRACE_ATTACH", 0 }, { "pid", NULL, number } };
	struct event ev = { .type = EVENT_DENIED,
			    .outcome = OUTCOME_REFUSED,
			    .denied = { .pid = 4,
					.command = "python3",
					.call = call,
					.args = args,
					.arg_count = 2,
					.error = "EPERM",
					.rule = "default:debug" } };
	group_emit(&r->groups, &r->feed, &ev);
	memset(args, 0, sizeof(args)); /* what was borrowed is gone: a group keeps its own */
}

static void test_a_million_are_two_events(void **state)
{
	struct rig *r = *state;
	char call[16] = "ptrace";
	for (int k = 0; k < 1000000; k++)
		deny(r, call, 1);
	memset(call, 'x', 6);
	group_tick(&r->groups, &r->feed);
	struct event *first = next(r), *rest = next(r);
	assert_non_null(first);
	assert_int_equal(first->denied.count, 1);
	assert_non_null(rest);
	assert_int_equal(rest->denied.count, 999999);
	assert_string_equal(rest->denied.call, "ptrace");
	assert_string_equal(rest->denied.args[0].text, "PTRACE_ATTACH");
	assert_int_equal(rest->denied.args[1].number, 1);
	assert_string_equal(rest->denied.rule, "default:debug");
	assert_null(next(r));
	event_free(first);
	event_free(rest);
}

static void test_arguments_tell_apart(void **state)
{
	struct rig *r = *state;
	deny(r, "ptrace", 1);
	deny(r, "ptrace", 2);
	deny(r, "bpf", 1);
	for (int k = 0; k < 3; k++) {
		struct event *ev = next(r);
		assert_non_null(ev);
		assert_int_equal(ev->seq, k + 1);
		event_free(ev);
	}
	group_tick(&r->groups, &r->feed); /* nothing more of any: nothing to tell */
	assert_null(next(r));
}

static void deny_two(struct rig *r, int64_t first, int64_t second)
{
	struct event_arg args[] = { { "a", NULL, first }, { "b", NULL, second } };
	struct event ev = { .type = EVENT_DENIED,
			    .outcome = OUTCOME_REFUSED,
			    .denied = { .call = "bpf", .error = "EPERM", .args = args, .arg_count = 2 } };
	group_emit(&r->groups, &r->feed, &ev);
}

/* With a hash that anybody can compute, FNV-1a say, the second is made to look like the first. */
static void test_nothing_hides_in_the_count_of_another(void **state)
{
	struct rig *r = *state;
	const uint64_t prime = UINT64_C(0x100000001b3);
	uint64_t h = UINT64_C(0xcbf29ce484222325) + EVENT_DENIED * 31 + OUTCOME_REFUSED;
	h = (h ^ 0xff) * prime;
	for (const char *s = "bpf"; *s; s++)
		h = (h ^ (uint8_t) *s) * prime;
	h = (h ^ 0xff) * prime;
	for (const char *s = "EPERM"; *s; s++)
		h = (h ^ (uint8_t) *s) * prime;
	h = (h ^ 0xff) * prime;
	h = (h ^ 0xff) * prime; /* no command */
	deny_two(r, 1, 1);
	deny_two(r, 2, (int64_t) (((h ^ 1) * prime) ^ 1 ^ ((h ^ 2) * prime)));
	for (int k = 0; k < 2; k++) {
		struct event *ev = next(r);
		assert_non_null(ev);
		assert_int_equal(ev->denied.args[0].number, k + 1);
		event_free(ev);
	}
}

static void test_more_kinds_than_places(void **state)
{
	struct rig *r = *state;
	uint64_t told = 0, dropped = 0;
	for (int k = 0; k < GROUP_TOLD_MAX + 500; k++)
		deny(r, "ptrace", k);
	group_tick(&r->groups, &r->feed);
	while (feed_flush(&r->feed) == -EAGAIN || told + dropped == 0)
		for (struct event *ev; (ev = next(r)); event_free(ev)) {
			told += ev->type == EVENT_DENIED;
			if (ev->type == EVENT_DROPPED) {
				assert_string_equal(ev->dropped.what, "denied");
				dropped += ev->dropped.count;
			}
		}
	for (struct event *ev; (ev = next(r)); event_free(ev)) {
		told += ev->type == EVENT_DENIED;
		dropped += ev->type == EVENT_DROPPED ? ev->dropped.count : 0;
	}
	assert_int_equal(told, GROUP_TOLD_MAX);
	assert_int_equal(dropped, 500);
	deny(r, "ptrace", 1); /* after a tick there is room again */
	struct event *ev = next(r);
	assert_non_null(ev);
	event_free(ev);
}

/* A call whose caller was killed before its memory was read is no event, but it is not lost either. */
static void test_callers_that_are_gone_are_counted(void **state)
{
	struct rig *r = *state;
	for (int k = 0; k < 7; k++)
		group_gone(&r->groups, EVENT_FILE);
	for (int tick = 0; tick < 2; tick++)
		group_tick(&r->groups, &r->feed);
	struct event *ev = next(r);
	assert_non_null(ev);
	assert_int_equal(ev->type, EVENT_DROPPED);
	assert_string_equal(ev->dropped.what, "file");
	assert_string_equal(ev->dropped.why, "the caller was gone before it could be read");
	assert_int_equal(ev->dropped.count, 7);
	assert_null(next(r));
	event_free(ev);
}

/* A reader that stands still: memory has a bound, and what finds no room is counted as the calls that it told of. */
static void test_a_slow_reader_loses_no_count(void **state)
{
	struct rig *r = *state;
	uint64_t files = 0, denied = 0;
	for (int k = 0; k < 100000; k++) {
		struct event file = { .type = EVENT_FILE,
				      .file = { .command = "a", .op = "open", .path = "/x", .count = 3 } };
		struct event lost = { .type = EVENT_DROPPED,
				      .dropped = { .what = "denied", .count = 5, .why = "a reason" } };
		feed_emit(&r->feed, &file);
		feed_emit(&r->feed, &lost);
		assert_true(r->feed.queued < FEED_QUEUE_MAX + WIRE_FRAME_MAX);
	}
	assert_true(r->feed.drops);
	for (bool more = true; more;) {
		struct event any = { .type = EVENT_METER };
		if (!r->feed.head && r->feed.drops)
			feed_emit(&r->feed, &any); /* there is room again: what was lost is told before it */
		more = feed_flush(&r->feed) == -EAGAIN || r->feed.drops;
		for (struct event *ev; (ev = next(r)); event_free(ev)) {
			bool dropped = ev->type == EVENT_DROPPED;
			if (ev->type == EVENT_FILE)
				files += ev->file.count;
			else if (dropped && strcmp(ev->dropped.what, "file") == 0)
				files += ev->dropped.count;
			else if (dropped && strcmp(ev->dropped.what, "denied") == 0)
				denied += ev->dropped.count;
		}
	}
	assert_int_equal(files, 300000);
	assert_int_equal(denied, 500000);
}

/* A program that opens a thousand files a moment must not hide the one call that was refused. */
static void test_files_do_not_crowd_out_a_denial(void **state)
{
	struct rig *r = *state;
	char path[32];
	bool found = false;
	for (int k = 0; k < 5000; k++) {
		snprintf(path, sizeof(path), "/tmp/%d", k);
		struct event ev = { .type = EVENT_FILE,
				    .file = { .pid = 4, .command = "a", .op = "open", .path = path } };
		group_emit(&r->groups, &r->feed, &ev);
		for (struct event *got; (got = next(r)); event_free(got))
			;
	}
	deny(r, "ptrace", 1);
	for (struct event *ev; (ev = next(r)); event_free(ev))
		found |= ev->type == EVENT_DENIED;
	assert_true(found);
}

static void test_long_strings_stay_whole(void **state)
{
	struct rig *r = *state;
	char path[4000];
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	for (int k = 0; k < 2; k++) {
		struct event ev = {
			.type = EVENT_FILE,
			.file = { .pid = 4, .command = "a-command-name", .op = "open", .path = path }
		};
		group_emit(&r->groups, &r->feed, &ev);
	}
	group_tick(&r->groups, &r->feed);
	struct event *first = next(r), *again = next(r);
	assert_string_equal(first->file.path, path);
	assert_string_equal(again->file.path, path);
	assert_int_equal(again->file.count, 1);
	event_free(first);
	event_free(again);
}

static void use_file(struct rig *r, const char *flag)
{
	const char *flags[] = { flag, "O_CLOEXEC" };
	struct event ev = { .type = EVENT_FILE,
			    .file = { .pid = 4,
				      .command = "a",
				      .op = "open",
				      .path = "/x",
				      .flags = flags,
				      .flag_count = 2 } };
	group_emit(&r->groups, &r->feed, &ev);
	memset(flags, 0, sizeof(flags));
}

/* Reading and writing are two things; and what is counted says as much as what was told first. */
static void test_flags_tell_apart_and_stay(void **state)
{
	struct rig *r = *state;
	struct event *ev;
	for (int k = 0; k < 10; k++)
		use_file(r, k % 2 ? "O_WRONLY" : "O_RDONLY");
	group_tick(&r->groups, &r->feed);
	for (int k = 0; k < 4; k++) {
		assert_non_null(ev = next(r));
		assert_int_equal(ev->file.count, k < 2 ? 1 : 4);
		assert_int_equal(ev->file.flag_count, 2);
		assert_string_equal(ev->file.flags[0], k % 2 ? "O_WRONLY" : "O_RDONLY");
		event_free(ev);
	}
	assert_null(next(r));
}

static void reach(struct rig *r, const char *protocol)
{
	struct event ev = { .type = EVENT_NETWORK,
			    .network = { .pid = 4,
					 .command = "a",
					 .op = "connect",
					 .family = "inet",
					 .protocol = protocol,
					 .address = "127.0.0.1",
					 .port = 53 } };
	group_emit(&r->groups, &r->feed, &ev);
}

static void test_protocols_tell_apart(void **state)
{
	struct rig *r = *state;
	struct event *ev;
	reach(r, "tcp");
	reach(r, "udp");
	for (int k = 0; k < 2; k++) {
		assert_non_null(ev = next(r));
		assert_string_equal(ev->network.protocol, k ? "udp" : "tcp");
		event_free(ev);
	}
}

/* The decoder's room is used again for the next call, before the group is told. */
static void test_a_family_without_a_name_stays(void **state)
{
	struct rig *r = *state;
	char family[] = "family 77";
	struct event ev = { .type = EVENT_NETWORK,
			    .network = { .command = "a", .op = "connect", .family = family, .port = -1 } };
	group_emit(&r->groups, &r->feed, &ev);
	group_emit(&r->groups, &r->feed, &ev);
	memset(family, 'x', sizeof(family) - 1);
	group_tick(&r->groups, &r->feed);
	for (int k = 0; k < 2; k++) {
		struct event *told = next(r);
		assert_non_null(told);
		assert_string_equal(told->network.family, "family 77");
		event_free(told);
	}
}

/* While a type was told enough of, one more is counted without being looked at; the next tick ends that. */
static void test_a_flood_is_skipped(void **state)
{
	struct rig *r = *state;
	assert_false(group_skip(&r->groups, EVENT_DENIED));
	for (int k = 0; k < GROUP_TOLD_MAX; k++)
		deny(r, "ptrace", k);
	assert_true(group_skip(&r->groups, EVENT_DENIED));
	assert_false(group_skip(&r->groups, EVENT_FILE));
	uint64_t dropped = r->groups.denied.dropped;
	assert_true(group_skip(&r->groups, EVENT_DENIED));
	assert_int_equal(r->groups.denied.dropped, dropped + 1);
	group_tick(&r->groups, &r->feed);
	assert_false(group_skip(&r->groups, EVENT_DENIED));
}

/* Executed programs go out one by one; of a loop of them a bounded number does, and the rest is a count. */
static void test_a_flood_of_programs_is_counted(void **state)
{
	struct rig *r = *state;
	uint64_t told = 0, dropped = 0;
	for (int k = 0; k < GROUP_TOLD_MAX + 500; k++)
		if (!group_skip(&r->groups, EVENT_EXEC)) {
			group_told(&r->groups, EVENT_EXEC);
			told++;
		}
	assert_int_equal(told, GROUP_TOLD_MAX);
	assert_false(group_skip(&r->groups, EVENT_FILE)); /* nothing else is crowded out */
	group_tick(&r->groups, &r->feed);
	for (struct event *ev; (ev = next(r)); event_free(ev)) {
		assert_int_equal(ev->type, EVENT_DROPPED);
		assert_string_equal(ev->dropped.what, "exec");
		dropped += ev->dropped.count;
	}
	assert_int_equal(dropped, 500);
	assert_false(group_skip(&r->groups, EVENT_EXEC));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_million_are_two_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_arguments_tell_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_hides_in_the_count_of_another, setup, teardown),
		cmocka_unit_test_setup_teardown(test_more_kinds_than_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_callers_that_are_gone_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_slow_reader_loses_no_count, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files_do_not_crowd_out_a_denial, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flags_tell_apart_and_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(test_protocols_tell_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_family_without_a_name_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_flood_is_skipped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_flood_of_programs_is_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_strings_stay_whole, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
