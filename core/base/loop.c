/* SPDX-License-Identifier: MIT */
/*
 * The event loop, see epoll(7), timerfd_create(2), signalfd(2). Callbacks may add and remove anything: what
 * one of them removes is not called any more, even when the kernel had reported it ready in the same batch.
 *
 * One timerfd stands for all timers and is armed for the earliest. A process has a handful of them, so they
 * lie in an unsorted array that is searched: there is no order to be kept when callbacks change it.
 */
#include "core/base/loop.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/util.h"

#define BATCH 64

/*
 * Sources are found by descriptor. The generation goes to the kernel with the descriptor and comes back with
 * each event: one that belongs to a source since removed, or to an earlier user of the same number, does not
 * match and is dropped.
 */
struct source {
	loop_fd_fn fn; /* NULL: not watched */
	void *arg;
	uint32_t generation;
};

struct timer {
	uint64_t due_ns, every_ns;
	loop_timer_fn fn;
	void *arg;
	int id;
	uint32_t round; /* added in this round: not run before the next, so that a round ends */
};

struct loop {
	int epoll_fd, timer_fd, signal_fd;
	int near_fd; /* -1: none */
	struct source near;
	bool quit;
	uint32_t round, generation;
	struct source *sources; /* by descriptor */
	size_t source_cap;
	struct timer *timers;
	size_t timer_count, timer_cap;
	int last_id;
	uint64_t armed_ns; /* what timer_fd is set to; 0: disarmed */
	sigset_t signals;
	struct {
		loop_signal_fn fn;
		void *arg;
	} on_signal[_NSIG];
};

static void timers_run(void *arg, uint32_t events);
static void signals_read(void *arg, uint32_t events);

int loop_new(struct loop **ret, struct err *e)
{
	struct loop *l = xcalloc(1, sizeof(*l));
	int r;

	l->timer_fd = l->signal_fd = l->near_fd = -1;
	(void) sigemptyset(&l->signals);
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0) {
		r = err_set(e, errno, "epoll_create1");
		goto undo;
	}
	l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->timer_fd < 0) {
		r = err_set(e, errno, "timerfd_create");
		goto undo;
	}
	if ((r = loop_watch_fd(l, l->timer_fd, EPOLLIN, timers_run, l, e)) < 0)
		goto undo;
	*ret = l;
	return 0;
undo:
	(void) loop_free(l);
	return r;
}

struct loop *loop_free(struct loop *l)
{
	if (!l)
		return NULL;
	close_fd(&l->epoll_fd);
	close_fd(&l->timer_fd);
	close_fd(&l->signal_fd);
	free(l->sources);
	free(l->timers);
	free(l);
	return NULL;
}

static struct source *source_at(struct loop *l, int fd)
{
	if (fd < 0 || (size_t) fd >= l->source_cap || !l->sources[fd].fn)
		return NULL;
	return &l->sources[fd];
}

static void sources_reserve(struct loop *l, int fd)
{
	size_t cap = l->source_cap ? l->source_cap : 32;
	while (cap <= (size_t) fd)
		cap *= 2;
	if (cap == l->source_cap)
		return;
	l->sources = xrealloc(l->sources, cap * sizeof(*l->sources));
	for (size_t i = l->source_cap; i < cap; i++)
		l->sources[i] = (struct source){ 0 };
	l->source_cap = cap;
}

static struct epoll_event event_for(int fd, uint32_t generation, uint32_t epoll_events)
{
	return (struct epoll_event){
		.events = epoll_events,
		.data.u64 = (uint64_t) generation << 32 | (uint32_t) fd,
	};
}

int loop_watch_fd(struct loop *l, int fd, uint32_t epoll_events, loop_fd_fn fn, void *arg, struct err *e)
{
	struct epoll_event ev = event_for(fd, ++l->generation, epoll_events);
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0) {
		/* EPERM is epoll's word for a regular file or folder: those are always ready. */
		return err_set(e, errno, "watch descriptor %d", fd);
	}
	sources_reserve(l, fd);
	l->sources[fd] = (struct source){ .fn = fn, .arg = arg, .generation = l->generation };
	return 0;
}

int loop_change_fd(struct loop *l, int fd, uint32_t epoll_events)
{
	struct source *s = source_at(l, fd);
	if (!s)
		return -ENOENT;
	struct epoll_event ev = event_for(fd, s->generation, epoll_events);
	return epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, fd, &ev) < 0 ? -errno : 0;
}

void loop_watch_near(struct loop *l, int fd, loop_fd_fn fn, void *arg)
{
	l->near_fd = fd;
	l->near = (struct source){ .fn = fn, .arg = arg };
}

void loop_unwatch_fd(struct loop *l, int fd)
{
	if (fd == l->near_fd)
		l->near_fd = -1;
	struct source *s = source_at(l, fd);
	if (!s)
		return;
	*s = (struct source){ 0 };
	(void) epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static struct timer *timer_by_id(struct loop *l, int id)
{
	for (size_t i = 0; i < l->timer_count; i++)
		if (l->timers[i].id == id)
			return &l->timers[i];
	return NULL;
}

static void timer_remove(struct loop *l, struct timer *t)
{
	*t = l->timers[--l->timer_count];
}

/* Sets the timerfd to the earliest timer; no call where it stands there already. */
static int timers_arm(struct loop *l)
{
	uint64_t first = 0;
	for (size_t i = 0; i < l->timer_count; i++)
		if (first == 0 || l->timers[i].due_ns < first)
			first = l->timers[i].due_ns;
	if (first == l->armed_ns)
		return 0;
	struct itimerspec at = {
		.it_value = { .tv_sec = (time_t) (first / NS_PER_S), .tv_nsec = (long) (first % NS_PER_S) },
	};
	if (timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &at, NULL) < 0)
		return -errno;
	l->armed_ns = first;
	return 0;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

int loop_timer(struct loop *l, uint64_t first_ns, uint64_t every_ns, loop_timer_fn fn, void *arg,
	       struct err *e)
{
	do
		l->last_id = l->last_id == INT_MAX ? 1 : l->last_id + 1;
	while (timer_by_id(l, l->last_id));
	if (l->timer_count == l->timer_cap) {
		l->timer_cap = l->timer_cap ? 2 * l->timer_cap : 8;
		l->timers = xrealloc(l->timers, l->timer_cap * sizeof(*l->timers));
	}
	int id = l->last_id;
	l->timers[l->timer_count++] = (struct timer){
		.due_ns = add_saturated(now_ns(), first_ns),
		.every_ns = every_ns,
		.fn = fn,
		.arg = arg,
		.id = id,
		.round = l->round,
	};
	int r = timers_arm(l);
	if (r < 0) {
		loop_cancel(l, id);
		return err_set(e, -r, "set a timer");
	}
	return id;
}

void loop_cancel(struct loop *l, int id)
{
	struct timer *t = id > 0 ? timer_by_id(l, id) : NULL;
	if (!t)
		return;
	timer_remove(l, t);
	(void) timers_arm(l); /* at worst one wake-up for nothing */
}

/* The earliest that is due and was there when the round began. */
static struct timer *timer_due(struct loop *l, uint64_t now)
{
	struct timer *first = NULL;
	for (size_t i = 0; i < l->timer_count; i++) {
		struct timer *t = &l->timers[i];
		if (t->due_ns <= now && t->round != l->round && (!first || t->due_ns < first->due_ns))
			first = t;
	}
	return first;
}

static void timers_run(void *arg, uint32_t events)
{
	struct loop *l = arg;
	struct timer *t;
	uint64_t now = now_ns(), expirations;

	(void) events;
	(void) !read(l->timer_fd, &expirations, sizeof(expirations));
	l->armed_ns = 0;
	while ((t = timer_due(l, now))) {
		struct timer fire = *t; /* the callback may move the array */
		if (fire.every_ns > 0) {
			/* Moved on before the call, so that the callback may cancel it. Missed times are left
			 * out: after a minute's stop a supervisor must not tick sixty times at once. */
			uint64_t late = (now - fire.due_ns) % fire.every_ns;
			t->due_ns = add_saturated(now - late, fire.every_ns);
		} else {
			timer_remove(l, t);
		}
		fire.fn(fire.arg);
	}
	(void) timers_arm(l);
}

int loop_watch_signals(struct loop *l, const sigset_t *set, loop_signal_fn fn, void *arg, struct err *e)
{
	sigset_t all = l->signals;
	int r;

	for (int signo = 1; signo < _NSIG; signo++)
		if (sigismember(set, signo) == 1)
			(void) sigaddset(&all, signo);
	if (sigprocmask(SIG_BLOCK, set, NULL) < 0)
		return err_set(e, errno, "block signals");
	int fd = signalfd(l->signal_fd, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_set(e, errno, "signalfd");
	if (l->signal_fd < 0) {
		if ((r = loop_watch_fd(l, fd, EPOLLIN, signals_read, l, e)) < 0) {
			(void) close(fd);
			return r;
		}
		l->signal_fd = fd;
	}
	l->signals = all;
	for (int signo = 1; signo < _NSIG; signo++) {
		if (sigismember(set, signo) != 1)
			continue;
		l->on_signal[signo].fn = fn;
		l->on_signal[signo].arg = arg;
	}
	return 0;
}

static void signals_read(void *arg, uint32_t events)
{
	struct loop *l = arg;
	struct signalfd_siginfo info;

	(void) events;
	/* One a round: the rest stays pending in the kernel, whatever the callback decides. */
	if (read(l->signal_fd, &info, sizeof(info)) != (ssize_t) sizeof(info))
		return;
	if (info.ssi_signo < _NSIG && l->on_signal[info.ssi_signo].fn)
		l->on_signal[info.ssi_signo].fn(l->on_signal[info.ssi_signo].arg, (int) info.ssi_signo);
}

int loop_once(struct loop *l, int timeout_ms, struct err *e)
{
	struct epoll_event ready[BATCH];

	l->round++;
	if (l->near_fd >= 0) {
		struct pollfd p[] = { { l->near_fd, POLLIN, 0 }, { l->epoll_fd, POLLIN, 0 } };
		if (poll(p, 2, timeout_ms) < 0)
			return errno == EINTR ? 0 : err_set(e, errno, "poll");
		if (p[0].revents)
			l->near.fn(l->near.arg,
				   (uint32_t) p[0]
					   .revents); /* the bits of epoll(7) and of poll(2) are the same */
		if (!p[1].revents)
			return 0;
		timeout_ms = 0;
	}
	int n = epoll_wait(l->epoll_fd, ready, BATCH, timeout_ms);
	if (n < 0)
		return errno == EINTR ? 0 : err_set(e, errno, "epoll_wait");
	for (int i = 0; i < n; i++) {
		struct source *s = source_at(l, (int) (uint32_t) ready[i].data.u64);
		if (s && s->generation == (uint32_t) (ready[i].data.u64 >> 32))
			s->fn(s->arg, ready[i].events);
	}
	return 0;
}

int loop_run(struct loop *l, struct err *e)
{
	while (!l->quit) {
		int r = loop_once(l, -1, e);
		if (r < 0)
			return r;
	}
	l->quit = false;
	return 0;
}

void loop_quit(struct loop *l)
{
	l->quit = true;
}
