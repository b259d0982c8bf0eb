/* SPDX-License-Identifier: MIT */
/*
 * What is typed, on its way to a target that has a terminal: out of the pipe that the front end fills, into the master.
 * A terminal that takes no more lets the pipe fill up, and the front end wait; nothing grows and nothing is lost. The
 * end of the pipe becomes the character that ends a terminal's input (termios(3), VEOF).
 */
#include "core/supervise/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define RETRY_NS (20 * NS_PER_MS) /* the master tells nobody that there is room again */

static void typing_flush(struct supervisor *v);

/* Twice behind half a line: the first one only ends that. A program that takes keys one by one knows no end. */
static void put_end(struct supervisor *v)
{
	struct typing *t = &v->typing;
	struct termios modes;
	t->ended = true;
	if (tcgetattr(v->inst.tty_fd, &modes) < 0 || !(modes.c_lflag & ICANON))
		return;
	for (int k = t->in_line ? 2 : 1; k > 0; k--)
		t->bytes[t->have++] = (char) modes.c_cc[VEOF];
}

static void on_typed(void *arg, uint32_t events)
{
	struct supervisor *v = arg;
	struct typing *t = &v->typing;
	(void) events;
	ssize_t n = read(t->fd, t->bytes, sizeof(t->bytes));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	loop_unwatch_fd(v->loop, t->fd); /* until it is written */
	t->have = n > 0 ? (size_t) n : 0;
	t->sent = 0;
	if (n > 0)
		t->in_line = t->bytes[n - 1] != '\n' && t->bytes[n - 1] != '\r';
	else
		put_end(v);
	typing_flush(v);
}

static void on_retry(void *arg)
{
	typing_flush(arg);
}

static void typing_flush(struct supervisor *v)
{
	struct typing *t = &v->typing;
	struct err e;
	while (t->sent < t->have) {
		ssize_t n = write(v->inst.in_fd, t->bytes + t->sent, t->have - t->sent);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
		if (n <= 0) {
			(void) loop_timer(v->loop, RETRY_NS, 0, on_retry, v, &e);
			return;
		}
		t->sent += (size_t) n;
	}
	if (!t->ended)
		(void) loop_watch_fd(v->loop, t->fd, EPOLLIN, on_typed, v, &e);
}

int typing_start(struct supervisor *v, struct err *e)
{
	struct typing *t = &v->typing;
	t->fd = v->inst.tty_fd >= 0 ? v->launch->stdin_fd : -1;
	if (v->inst.tty_fd >= 0 && t->fd < 0) {
		put_end(v);
		typing_flush(v);
	}
	if (t->fd < 0)
		return 0;
	(void) fcntl(t->fd, F_SETFL, O_NONBLOCK); /* the front end has closed its copy, or will */
	return loop_watch_fd(v->loop, t->fd, EPOLLIN, on_typed, v, e);
}

/* The kernel tells the target by SIGWINCH. */
void typing_resize(struct supervisor *v, uint32_t rows, uint32_t columns)
{
	const struct winsize size = { .ws_row = (unsigned short) rows, .ws_col = (unsigned short) columns };
	if (v->inst.tty_fd >= 0)
		(void) ioctl(v->inst.in_fd, TIOCSWINSZ, &size);
}
