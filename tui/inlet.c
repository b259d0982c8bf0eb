/* SPDX-License-Identifier: MIT */
/*
 * Inlets: see inlet.h. A pipe of our own is between two descriptors that share nothing: our end does not block, the
 * target's does. From a terminal no more than a line is read ahead, and nothing while another job has it.
 */
#include "tui/inlet.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART     (64u << 10)
#define RETRY_NS (50 * NS_PER_MS)

static void pump(struct inlet *i);

int inlet_open(struct inlet *i, int from, struct loop *loop, int *ret_stdin_fd, struct err *e)
{
	struct stat st = { 0 };
	int ends[2];

	*i = (struct inlet){ .from = from, .to = -1, .in = { .loop = loop, .back_fd = -1 } };
	*ret_stdin_fd = from;
	if (from < 0)
		return 0;
	if (fstat(from, &st) < 0)
		st.st_mode = 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(e, errno, "make a pipe for standard input");
	(void) fcntl(ends[1], F_SETFL, O_NONBLOCK);
	i->to = ends[1];
	i->in.terminal = isatty(from);
	if (S_ISREG(st.st_mode)) /* to see, after its end was told, how much of the file the target left unread */
		i->in.back_fd = fcntl(ends[0], F_DUPFD_CLOEXEC, 3);
	i->in.data = xmalloc(PART);
	*ret_stdin_fd = ends[0];
	return 0;
}

static void unwatch(struct inlet *i, int fd, bool *watched)
{
	if (*watched)
		loop_unwatch_fd(i->in.loop, fd);
	*watched = false;
}

/* How much of what was written into the pipe is still there. */
static size_t unread(int pipe_fd)
{
	int bytes = 0;

	return ioctl(pipe_fd, FIONREAD, &bytes) == 0 && bytes > 0 ? (size_t) bytes : 0;
}

/* Read from the file and not by the target. Never more than we read: the target can write into its pipe, too, and what
 * lies before the place where it began is not for it to send the next reader to. */
static size_t left_over(const struct inlet *i)
{
	size_t there = unread(i->in.back_fd);

	return (there < i->in.copied ? there : i->in.copied) + i->in.have - i->in.sent;
}

/* Nothing more will be copied: the target reads an end of file behind what is there. */
static void end(struct inlet *i)
{
	unwatch(i, i->from, &i->in.from_watched);
	unwatch(i, i->to, &i->in.to_watched);
	loop_cancel(i->in.loop, i->in.timer);
	close_fd(&i->to);
}

void inlet_close(struct inlet *i)
{
	if (!i->in.data)
		return;
	end(i);
	if (i->in.back_fd >= 0)
		(void) lseek(i->from, -(off_t) left_over(i), SEEK_CUR);
	close_fd(&i->in.back_fd);
	free(i->in.data);
	i->in.data = NULL;
}

static void on_ready(void *arg, uint32_t epoll_events)
{
	(void) epoll_events;
	pump(arg);
}

static void on_timer(void *arg)
{
	struct inlet *i = arg;

	i->in.timer = 0;
	pump(i);
}

static void watch(struct inlet *i, int fd, uint32_t epoll_events, bool *watched)
{
	struct err e;

	if (!*watched && loop_watch_fd(i->in.loop, fd, epoll_events, on_ready, i, &e) < 0) {
		end(i); /* better than a target that waits for ever */
		return;
	}
	*watched = true;
}

/* Typing ahead for the shell is not for us: another job has the terminal, or the target has not read the last line. */
static bool must_wait(const struct inlet *i)
{
	pid_t foreground = i->in.terminal ? tcgetpgrp(i->from) : -1;

	return i->in.terminal && ((foreground >= 0 && foreground != getpgrp()) || unread(i->to) > 0);
}

/* Takes the key for us out of what was read. Returns what is left. */
static size_t without_escape(struct inlet *i, size_t len)
{
	size_t kept = 0;

	for (size_t k = 0; k < len; k++)
		if (i->escape && i->in.data[k] == INLET_ESCAPE)
			i->escape(i->arg);
		else
			i->in.data[kept++] = i->in.data[k];
	return kept;
}

/* 1: there is something to write; 0: wait until `from` has more; -1: it has ended. */
static int fill(struct inlet *i)
{
	ssize_t n = read(i->from, i->in.data, PART);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	i->in.have = without_escape(i, (size_t) n);
	i->in.sent = 0;
	return 1;
}

/* 1: all was written; 0: wait until the pipe has room; -1: nobody reads it any more. */
static int drain(struct inlet *i)
{
	while (i->in.sent < i->in.have) {
		ssize_t n = write(i->to, i->in.data + i->in.sent, i->in.have - i->in.sent);
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0 && errno != EINTR)
			return -1;
		i->in.sent += n > 0 ? (size_t) n : 0;
		i->in.copied += n > 0 ? (size_t) n : 0;
	}
	return 1;
}

static void retry_later(struct inlet *i)
{
	struct err e;

	unwatch(i, i->from, &i->in.from_watched);
	if (i->in.timer <= 0)
		i->in.timer = loop_timer(i->in.loop, RETRY_NS, 0, on_timer, i, &e);
}

/* One part, or the rest of one: then the loop decides who is next. */
static void pump(struct inlet *i)
{
	int r = i->in.sent < i->in.have ? 1 : 0;

	if (r == 0 && must_wait(i)) {
		retry_later(i);
		return;
	}
	if (r == 0 && (r = fill(i)) > 0)
		unwatch(i, i->from, &i->in.from_watched);
	if (r > 0 && (r = drain(i)) == 0) {
		watch(i, i->to, EPOLLOUT, &i->in.to_watched);
		return;
	}
	if (r < 0) {
		end(i);
	} else if (i->in.pollable) {
		unwatch(i, i->to, &i->in.to_watched);
		watch(i, i->from, EPOLLIN, &i->in.from_watched);
	} else {
		watch(i, i->to, EPOLLOUT,
		      &i->in.to_watched); /* a file is always ready: the pipe sets the pace */
	}
}

void inlet_start(struct inlet *i)
{
	struct err e;

	if (i->to < 0)
		return;
	i->in.pollable = loop_watch_fd(i->in.loop, i->from, EPOLLIN, on_ready, i, &e) == 0;
	i->in.from_watched = i->in.pollable;
	if (!i->in.pollable)
		pump(i);
}
