/* SPDX-License-Identifier: MIT */
/*
 * What the target prints, inside a machine: it goes out as it came, by a stream each, and whoever is outside counts, cuts
 * and scrubs it. A pipe's pages are handed on whole (splice(2)): a copy of each would cost more than all the rest.
 */
#include "core/supervise/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define RELAY_MOST (1u << 20)
#define RELAY_ROOM (16u << 10)

static bool is_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT);
}

/* A terminal's master is no pipe. */
static ssize_t copy_on(struct inside *in, int from, enum stream k)
{
	if (!in->room)
		in->room = xmalloc(STREAM_MAX * RELAY_ROOM);
	char *room = in->room + (size_t) k * RELAY_ROOM;
	if (!in->have[k]) {
		ssize_t n = read(from, room, RELAY_ROOM);
		if (n <= 0)
			return n;
		in->have[k] = (size_t) n;
	}
	ssize_t sent = write(in->port_fd[k], room, in->have[k]);
	if (sent > 0) {
		in->have[k] -= (size_t) sent;
		memmove(room, room + sent, in->have[k]);
	}
	return sent;
}

/* More than 0: so much went on; 0: its writers are gone; -EAGAIN: there is none, or no room; another: as 0. */
static ssize_t pass_on(struct supervisor *v, enum stream k)
{
	struct inside *in = v->inside;
	int from = v->output.fd[k];
	ssize_t n;
	do
		n = v->inst.tty_fd >= 0 ? copy_on(in, from, k)
					: splice(from, NULL, in->port_fd[k], NULL, RELAY_MOST,
						 SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		in->sent[k] += (uint64_t) n;
	return n < 0 ? -errno : n;
}

static void relay_ready(struct supervisor *v, enum stream k);

static void on_port(struct supervisor *v, enum stream k, loop_fd_fn again)
{
	struct err e;
	loop_unwatch_fd(v->loop, v->inside->port_fd[k]);
	v->inside->blocked[k] = false;
	(void) loop_watch_fd(v->loop, v->output.fd[k], EPOLLIN, again, v, &e);
	relay_ready(v, k);
}

static void on_pipe_out(void *arg, uint32_t events);
static void on_pipe_err(void *arg, uint32_t events);

static void on_port_out(void *arg, uint32_t events)
{
	(void) events;
	on_port(arg, STREAM_STDOUT, on_pipe_out);
}

static void on_port_err(void *arg, uint32_t events)
{
	(void) events;
	on_port(arg, STREAM_STDERR, on_pipe_err);
}

/* The other way round: the pipe waits until the port has room. */
static void wait_for_room(struct supervisor *v, enum stream k)
{
	struct err e;
	v->inside->blocked[k] = true;
	loop_unwatch_fd(v->loop, v->output.fd[k]);
	(void) loop_watch_fd(v->loop, v->inside->port_fd[k], EPOLLOUT,
			     k == STREAM_STDOUT ? on_port_out : on_port_err, v, &e);
}

/* The stage says that it waits: before that nothing is the target's. */
static void await_stage(struct supervisor *v)
{
	char word[16];
	ssize_t n = read(v->output.fd[STREAM_STDOUT], word, sizeof(word));
	if (n > 0 && memchr(word, 'w', (size_t) n))
		v->inside->waiting = true;
}

static void relay_ready(struct supervisor *v, enum stream k)
{
	if (!v->inside->waiting && k == STREAM_STDOUT) {
		await_stage(v);
		return;
	}
	ssize_t n = pass_on(v, k);
	if (n == -EAGAIN && !is_writable(v->inside->port_fd[k])) {
		wait_for_room(v, k);
	} else if (n <= 0 && n != -EAGAIN) {
		loop_unwatch_fd(v->loop, v->output.fd[k]);
		v->output.fd[k] = -1; /* the instance closes it */
	}
}

static void on_pipe_out(void *arg, uint32_t events)
{
	(void) events;
	relay_ready(arg, STREAM_STDOUT);
}

static void on_pipe_err(void *arg, uint32_t events)
{
	(void) events;
	relay_ready(arg, STREAM_STDERR);
}

/* No more than what stands in it now: somebody may go on writing for ever. */
void relay_finish(struct supervisor *v)
{
	for (int k = 0; k < STREAM_MAX; k++) {
		int left = 0, fd = v->output.fd[k];
		if (fd < 0 || ioctl(fd, FIONREAD, &left) < 0)
			continue;
		for (ssize_t n; left > 0; left -= (int) n) {
			n = pass_on(v, (enum stream) k);
			if (n == -EAGAIN && !is_writable(v->inside->port_fd[k])) {
				struct pollfd p = { .fd = v->inside->port_fd[k], .events = POLLOUT };
				(void) poll(&p, 1, -1);
				n = 0;
			} else if (n <= 0) {
				break;
			}
		}
	}
}

int relay_start(struct supervisor *v, struct err *e)
{
	int r;
	v->output.fd[STREAM_STDOUT] = v->inst.out_fd;
	v->output.fd[STREAM_STDERR] = v->inst.err_fd;
	if ((r = loop_watch_fd(v->loop, v->inst.out_fd, EPOLLIN, on_pipe_out, v, e)) < 0 ||
	    v->inst.err_fd < 0)
		return r;
	return loop_watch_fd(v->loop, v->inst.err_fd, EPOLLIN, on_pipe_err, v, e);
}
