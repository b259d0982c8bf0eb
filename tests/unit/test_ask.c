/* SPDX-License-Identifier: MIT */
/*
 * Refused calls that wait for a person: who is held and until when, on a clock of our own; what a run may ask at most;
 * what is remembered; and what is told of all that.
 */
#include "core/supervise/supervisor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct question call(int nr, const char *rule)
{
	struct question q = { .rule = rule, .allowable = true };
	q.req.data.nr = nr;
	q.req.id = 1000 + (uint64_t) nr;
	return q;
}

static void test_held_until_its_deadline(void **state)
{
	(void) state;
	static struct asks a;
	struct question q = call(101, "default:debug"), taken;
	a = (struct asks){ 0 };
	assert_int_equal(ask_hold(&a, &q, 5)->id, 1);
	q = call(272, "default:namespaces");
	assert_int_equal(ask_hold(&a, &q, 7)->id, 2);
	assert_int_equal(ask_due(&a, 5 + ASK_DEADLINE_NS - 1), 0);
	assert_int_equal(ask_due(&a, 5 + ASK_DEADLINE_NS), 1);
	assert_true(ask_take(&a, 1, &taken));
	assert_int_equal(taken.req.id, 1101);
	assert_false(ask_take(&a, 1, &taken)); /* an answer that crossed with the deadline */
	assert_false(ask_take(&a, 0, &taken));
	assert_int_equal(ask_due(&a, 6 + ASK_DEADLINE_NS), 0);
	assert_int_equal(ask_due(&a, 7 + ASK_DEADLINE_NS), 2);
	assert_true(ask_take(&a, 2, &taken));
	assert_int_equal(taken.req.data.nr, 272);
	assert_int_equal(ask_due(&a, UINT64_MAX), 0);
}

static void test_from_the_middle(void **state)
{
	(void) state;
	static struct asks a;
	struct question q = call(1, "r"), taken;
	a = (struct asks){ 0 };
	for (int k = 0; k < 3; k++)
		ask_hold(&a, &q, 0);
	assert_true(ask_take(&a, 2, &taken));
	assert_true(ask_take(&a, 1, &taken));
	assert_true(ask_take(&a, 3, &taken));
	assert_int_equal(a.held_count, 0);
}

static void test_bounds(void **state)
{
	(void) state;
	static struct asks a;
	struct question q = call(101, "default:debug"), taken;
	a = (struct asks){ 0 };
	for (int k = 0; k < ASK_HELD_MAX; k++)
		assert_non_null(ask_hold(&a, &q, 0));
	assert_null(ask_hold(&a, &q, 0));
	assert_int_equal(a.not_asked[ASK_HELD_FULL], 1);
	for (uint64_t id = 1; id <= ASK_HELD_MAX; id++)
		assert_true(ask_take(&a, id, &taken));
	while (ask_hold(&a, &q, 0))
		assert_true(ask_take(&a, a.asked, &taken));
	assert_int_equal(a.asked, ASK_ASKED_MAX);
	assert_int_equal(a.not_asked[ASK_ASKED_FULL], 1);
	assert_int_equal(a.held_count, 0);
}

static void test_remembered_by_call_and_rule(void **state)
{
	(void) state;
	static struct asks a;
	struct question q = call(101, "default:debug");
	a = (struct asks){ 0 };
	assert_false(ask_allowed(&a, 101, "default:debug"));
	ask_allow(&a, &q);
	ask_allow(&a, &q);
	assert_int_equal(a.allowed_count, 1);
	assert_true(ask_allowed(&a, 101, "default:debug"));
	assert_false(ask_allowed(&a, 101, "deny"));
	assert_false(ask_allowed(&a, 312, "default:debug"));
	for (int nr = 0; nr < 2 * ASK_ALLOWED_MAX; nr++) {
		q = call(nr, "r");
		ask_allow(&a, &q);
	}
	assert_int_equal(a.allowed_count, ASK_ALLOWED_MAX);
	assert_false(ask_allowed(&a, 2 * ASK_ALLOWED_MAX - 1, "r")); /* no room: asked again */
}

static struct event *next(int fd)
{
	static uint8_t frame[WIRE_FRAME_MAX];
	struct event *ev = NULL;
	struct err e;
	ssize_t n = wire_recv(fd, frame, sizeof(frame));
	if (n > 0)
		assert_int_equal(event_decode(frame, (size_t) n, &ev, &e), 0);
	return ev;
}

static void assert_answer(int fd, uint64_t id, const char *decision, enum basis basis, uint64_t count)
{
	struct event *ev = next(fd);
	assert_non_null(ev);
	assert_int_equal(ev->type, EVENT_ANSWER);
	assert_int_equal(ev->answer.id, id);
	assert_string_equal(ev->answer.decision, decision);
	assert_int_equal(ev->basis, basis);
	assert_int_equal(ev->answer.count, count);
	event_free(ev);
}

static void test_told_once(void **state)
{
	(void) state;
	static struct feed feed;
	static struct asks a;
	struct question q = call(101, "default:debug");
	struct err e;
	int fds[2];
	assert_int_equal(wire_pair(fds, &e), 0);
	feed_init(&feed, fds[0]);
	a = (struct asks){ .not_asked = { [ASK_NOBODY] = 3 } };
	ask_tell(&a, &feed);
	assert_answer(fds[1], 0, "deny", BASIS_NONE, 3);
	q.id = 7;
	ask_allow(&a, &q);
	ask_tell(&a, &feed); /* nothing went through yet */
	ask_allowed(&a, 101, "default:debug");
	ask_allowed(&a, 101, "default:debug");
	ask_tell(&a, &feed);
	assert_answer(fds[1], 7, "run", BASIS_UNKNOWN, 2); /* what the kernel said is not known */
	ask_tell(&a, &feed);
	ask_answered(&feed, 9, DECIDE_ONCE, "person", 1);
	assert_answer(fds[1], 9, "once", BASIS_UNKNOWN, 1);
	assert_null(next(fds[1]));
	feed_done(&feed);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_held_until_its_deadline),
		cmocka_unit_test(test_from_the_middle),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_remembered_by_call_and_rule),
		cmocka_unit_test(test_told_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
