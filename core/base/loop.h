/* SPDX-License-Identifier: MIT */
/*
 * The event loop: epoll(7) over descriptors, timerfds, a signalfd. One a process, one thread. Supervisor, command line
 * and screens all sit in one of these; a callback may add and remove sources, its own included.
 */
#pragma once

/* clang-format off */

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct loop;

typedef void (*loop_fd_fn)(void *arg, uint32_t epoll_events);
typedef void (*loop_timer_fn)(void *arg);
typedef void (*loop_signal_fn)(void *arg, int signo);

int loop_new(struct loop **ret, struct err *e);
struct loop *loop_free(struct loop *l); /* accepts NULL, returns NULL; does not close what it watched */

/* loop_watch_fd: Borrows the descriptor, which stays the caller's to close after loop_unwatch_fd. */
int loop_watch_fd(struct loop *l, int fd, uint32_t epoll_events, loop_fd_fn fn, void *arg, struct err *e);
int loop_change_fd(struct loop *l, int fd, uint32_t epoll_events); /* 0: stay registered, report errors only */
void loop_unwatch_fd(struct loop *l, int fd);                      /* safe inside a callback, and when not watched */

/*
 * loop_watch_near: as above for input, of at most one descriptor, which is waited for by poll(2). Its waker may ask that
 * we run on its own core, which by way of epoll(7) is lost: 2 us become 25 to 60 wherever another core idles.
 */
void loop_watch_near(struct loop *l, int fd, loop_fd_fn fn, void *arg);

/* A timer. every_ns 0: once. loop_timer returns its id (> 0) or -errno; loop_cancel of 0 or an ended one is nothing. */
int loop_timer(struct loop *l, uint64_t first_ns, uint64_t every_ns, loop_timer_fn fn, void *arg, struct err *e);
void loop_cancel(struct loop *l, int id);

/* loop_watch_signals: blocks `set` in this process and reads it from a signalfd. A child must unblock before exec. */
int loop_watch_signals(struct loop *l, const sigset_t *set, loop_signal_fn fn, void *arg, struct err *e);

/* loop_run: until loop_quit; loop_once: one round, waiting at most timeout_ms (-1: for ever). 0 or -errno. */
int loop_run(struct loop *l, struct err *e);
int loop_once(struct loop *l, int timeout_ms, struct err *e);
void loop_quit(struct loop *l); /* loop_run returns once this round is over */
