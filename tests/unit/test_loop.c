/* SPDX-License-Identifier: MIT */
/* The event loop: who is called, in what order, and above all who is not called any more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/base.h"

struct world {
	struct loop *loop;
	int pipes[4][2];
	int calls[4], timer_calls, signals[65];
	int timer, other_timer;
};

static int setup(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));
	for (size_t i = 0; i < ARRAY_LEN(w->pipes); i++)
		if (pipe2(w->pipes[i], O_CLOEXEC | O_NONBLOCK) < 0)
			return -1;
	*state = w;
	return loop_new(&w->loop, NULL);
}

static int teardown(void **state)
{
	FREE struct world *w = *state;
	w->loop = loop_free(w->loop);
	for (size_t i = 0; i < ARRAY_LEN(w->pipes); i++) {
		close_fd(&w->pipes[i][0]);
		close_fd(&w->pipes[i][1]);
	}
	return 0;
}

static void poke(struct world *w, int i)
{
	assert_int_equal(write(w->pipes[i][1], "x", 1), 1);
}

static void once(struct world *w)
{
	assert_int_equal(loop_once(w->loop, 0, NULL), 0);
}

/* Waits for what is due anyhow; the deadline is for a loop that is broken. */
static void until(struct world *w, const int *counter, int count)
{
	uint64_t deadline = now_ns() + 10 * NS_PER_S;
	while (*counter < count && now_ns() < deadline)
		assert_int_equal(loop_once(w->loop, 100, NULL), 0);
	assert_true(*counter >= count);
}

static void drain_first(void *arg, uint32_t events)
{
	struct world *w = arg;
	char c;
	assert_true(events & EPOLLIN);
	assert_int_equal(read(w->pipes[0][0], &c, 1), 1);
	w->calls[0]++;
}

static void test_fd(void **state)
{
	struct world *w = *state;
	assert_int_equal(loop_watch_fd(w->loop, w->pipes[0][0], EPOLLIN, drain_first, w, NULL), 0);
	once(w);
	assert_int_equal(w->calls[0], 0);
	poke(w, 0);
	once(w);
	once(w);
	assert_int_equal(w->calls[0], 1);
	poke(w, 0);
	assert_int_equal(loop_change_fd(w->loop, w->pipes[0][0], 0), 0);
	once(w);
	assert_int_equal(w->calls[0], 1);
	assert_int_equal(loop_change_fd(w->loop, w->pipes[0][0], EPOLLIN), 0);
	once(w);
	assert_int_equal(w->calls[0], 2);
	loop_unwatch_fd(w->loop, w->pipes[0][0]);
	loop_unwatch_fd(w->loop, w->pipes[0][0]);
	loop_unwatch_fd(w->loop, -1);
	loop_unwatch_fd(w->loop, 1 << 20);
	poke(w, 0);
	once(w);
	assert_int_equal(w->calls[0], 2);
	assert_int_equal(loop_change_fd(w->loop, w->pipes[0][0], EPOLLIN), -ENOENT);
}

static void test_bad_fd(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	assert_int_equal(loop_watch_fd(w->loop, -1, EPOLLIN, drain_first, w, &e), -EBADF);
	assert_int_equal(e.code, EBADF);
	assert_int_equal(loop_watch_fd(w->loop, w->pipes[0][0], EPOLLIN, drain_first, w, &e), 0);
	assert_int_equal(loop_watch_fd(w->loop, w->pipes[0][0], EPOLLIN, drain_first, w, &e), -EEXIST);
	CLOSE_FD int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(loop_watch_fd(w->loop, file, EPOLLIN, drain_first, w, &e), -EPERM);
}

/* Whoever is called first removes all others: they were ready in the same batch, and must not be called. */
static void remove_others(void *arg, uint32_t events)
{
	struct world *w = arg;
	(void) events;
	w->calls[0]++;
	for (size_t i = 0; i < ARRAY_LEN(w->pipes); i++)
		loop_unwatch_fd(w->loop, w->pipes[i][0]);
}

static void test_remove_in_batch(void **state)
{
	struct world *w = *state;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(loop_watch_fd(w->loop, w->pipes[i][0], EPOLLIN, remove_others, w, NULL), 0);
		poke(w, i);
	}
	once(w);
	once(w);
	assert_int_equal(w->calls[0], 1);
}

/* The same, but the numbers are taken again at once, by sources that are not ready. */
static void must_not_run(void *arg, uint32_t events)
{
	(void) arg;
	(void) events;
	fail_msg("an event of the former user of this descriptor");
}

static void replace_others(void *arg, uint32_t events)
{
	struct world *w = arg;
	(void) events;
	w->calls[0]++;
	for (size_t i = 0; i < ARRAY_LEN(w->pipes); i++) {
		int fd = w->pipes[i][0], fresh[2];
		loop_unwatch_fd(w->loop, fd);
		assert_int_equal(pipe2(fresh, O_CLOEXEC | O_NONBLOCK), 0);
		assert_int_equal(dup3(fresh[0], fd, O_CLOEXEC), fd);
		close_fd(&fresh[0]);
		close_fd(&w->pipes[i][1]);
		w->pipes[i][1] = fresh[1];
		assert_int_equal(loop_watch_fd(w->loop, fd, EPOLLIN, must_not_run, w, NULL), 0);
	}
}

static void test_reused_fd_in_batch(void **state)
{
	struct world *w = *state;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(loop_watch_fd(w->loop, w->pipes[i][0], EPOLLIN, replace_others, w, NULL), 0);
		poke(w, i);
	}
	once(w);
	once(w);
	assert_int_equal(w->calls[0], 1);
}

static void tick(void *arg)
{
	struct world *w = arg;
	w->timer_calls++;
}

static void test_timer_once(void **state)
{
	struct world *w = *state;
	assert_true(loop_timer(w->loop, 0, 0, tick, w, NULL) > 0);
	assert_true(loop_timer(w->loop, NS_PER_MS, 0, tick, w, NULL) > 0);
	assert_true(loop_timer(w->loop, UINT64_MAX, 0, tick, w, NULL) > 0);
	until(w, &w->timer_calls, 2);
	assert_int_equal(loop_once(w->loop, 5, NULL), 0);
	assert_int_equal(w->timer_calls, 2);
}

/* The one that is waited for by itself: beside the others, and gone like them. */
static void test_near(void **state)
{
	struct world *w = *state;
	loop_watch_near(w->loop, w->pipes[0][0], drain_first, w);
	assert_true(loop_timer(w->loop, 0, 0, tick, w, NULL) > 0);
	poke(w, 0);
	once(w);
	assert_int_equal(w->calls[0], 1);
	for (int k = 0; k < 1000 && !w->timer_calls; k++)
		once(w);
	assert_int_equal(w->timer_calls, 1);
	assert_int_equal(w->calls[0], 1);
	poke(w, 0);
	loop_unwatch_fd(w->loop, w->pipes[0][0]);
	once(w);
	assert_int_equal(w->calls[0], 1);
}

static void test_timer_cancel(void **state)
{
	struct world *w = *state;
	int id = loop_timer(w->loop, 0, 0, tick, w, NULL);
	loop_cancel(w->loop, id);
	loop_cancel(w->loop, id);
	loop_cancel(w->loop, 0);
	loop_cancel(w->loop, -EINVAL);
	assert_int_equal(loop_once(w->loop, 5, NULL), 0);
	assert_int_equal(w->timer_calls, 0);
}

static void tick_and_stop(void *arg)
{
	struct world *w = arg;
	if (++w->timer_calls == 3) {
		loop_cancel(w->loop, w->timer);
		loop_cancel(w->loop, w->other_timer);
	}
}

static void test_timer_cancels_itself(void **state)
{
	struct world *w = *state;
	w->timer = loop_timer(w->loop, NS_PER_MS, NS_PER_MS, tick_and_stop, w, NULL);
	until(w, &w->timer_calls, 3);
	assert_int_equal(loop_once(w->loop, 10, NULL), 0);
	assert_int_equal(w->timer_calls, 3);
}

static void cancel_other(void *arg)
{
	struct world *w = arg;
	w->calls[1]++;
	loop_cancel(w->loop, w->other_timer);
}

/* Both are due in one round; the earlier takes the later away. */
static void test_timer_cancels_another(void **state)
{
	struct world *w = *state;
	w->timer = loop_timer(w->loop, 0, 0, cancel_other, w, NULL);
	w->other_timer = loop_timer(w->loop, 1, 0, tick, w, NULL);
	until(w, &w->calls[1], 1);
	assert_int_equal(loop_once(w->loop, 5, NULL), 0);
	assert_int_equal(w->timer_calls, 0);
}

static void tick_again(void *arg)
{
	struct world *w = arg;
	w->timer_calls++;
	assert_true(loop_timer(w->loop, 0, 0, tick_again, w, NULL) > 0);
}

/* One that sets itself anew for "now" is called once a round: the others get their turn. */
static void test_timer_does_not_starve(void **state)
{
	struct world *w = *state;
	assert_true(loop_timer(w->loop, 0, 0, tick_again, w, NULL) > 0);
	until(w, &w->timer_calls, 1);
	assert_int_equal(w->timer_calls, 1);
	until(w, &w->timer_calls, 2);
	assert_int_equal(w->timer_calls, 2);
}

/* A process that was stopped does not make up for the ticks that it missed. */
static void test_missed_ticks(void **state)
{
	struct world *w = *state;
	assert_true(loop_timer(w->loop, NS_PER_MS, NS_PER_MS, tick, w, NULL) > 0);
	assert_int_equal(usleep(30000), 0);
	assert_int_equal(loop_once(w->loop, 1000, NULL), 0);
	assert_int_equal(w->timer_calls, 1);
}

static void test_many_timers(void **state)
{
	struct world *w = *state;
	int ids[100];
	for (int i = 0; i < 100; i++)
		ids[i] = loop_timer(w->loop, (uint64_t) i * 1000, 0, tick, w, NULL);
	for (int i = 0; i < 100; i += 2)
		loop_cancel(w->loop, ids[i]);
	until(w, &w->timer_calls, 50);
	assert_int_equal(loop_once(w->loop, 5, NULL), 0);
	assert_int_equal(w->timer_calls, 50);
}

static void on_signal(void *arg, int signo)
{
	struct world *w = arg;
	w->signals[signo]++;
}

static void on_usr2(void *arg, int signo)
{
	struct world *w = arg;
	assert_int_equal(signo, SIGUSR2);
	w->calls[2]++;
}

static void test_signals(void **state)
{
	struct world *w = *state;
	sigset_t set, before;
	assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &before), 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	assert_int_equal(loop_watch_signals(w->loop, &set, on_signal, w, NULL), 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	assert_int_equal(loop_watch_signals(w->loop, &set, on_usr2, w, NULL), 0);
	assert_int_equal(kill(getpid(), SIGUSR1), 0);
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	assert_int_equal(kill(getpid(), SIGUSR2), 0);
	for (int i = 0; i < 4; i++)
		once(w);
	assert_int_equal(w->signals[SIGUSR1], 1);
	assert_int_equal(w->signals[SIGTERM], 1);
	assert_int_equal(w->calls[2], 1);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}

static void quit(void *arg)
{
	struct world *w = arg;
	w->timer_calls++;
	loop_quit(w->loop);
}

static void test_run_and_quit(void **state)
{
	struct world *w = *state;
	assert_true(loop_timer(w->loop, 0, NS_PER_MS, quit, w, NULL) > 0);
	assert_int_equal(loop_run(w->loop, NULL), 0);
	assert_int_equal(w->timer_calls, 1);
	assert_int_equal(loop_run(w->loop, NULL), 0);
	assert_int_equal(w->timer_calls, 2);
	assert_null(loop_free(NULL));
}

#define LOOP_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOOP_TEST(test_fd),
		LOOP_TEST(test_near),
		LOOP_TEST(test_bad_fd),
		LOOP_TEST(test_remove_in_batch),
		LOOP_TEST(test_reused_fd_in_batch),
		LOOP_TEST(test_timer_once),
		LOOP_TEST(test_timer_cancel),
		LOOP_TEST(test_timer_cancels_itself),
		LOOP_TEST(test_timer_cancels_another),
		LOOP_TEST(test_timer_does_not_starve),
		LOOP_TEST(test_missed_ticks),
		LOOP_TEST(test_many_timers),
		LOOP_TEST(test_signals),
		LOOP_TEST(test_run_and_quit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
