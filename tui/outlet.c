/* SPDX-License-Identifier: MIT */
/*
 * Outlets: see outlet.h. The difficulty is that O_NONBLOCK belongs to the open file description, which standard output
 * shares with the shell and with whatever runs after us: it must not be changed there. So a pipe or a terminal is opened
 * once more through /proc/self/fd, which gives a description of our own; a socket is asked call by call; and what is
 * left (a pipe or terminal of another user, which cannot be opened again) is written in pieces that fit once poll(2)
 * says so. Regular files never make anybody wait.
 */
#include "tui/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAITING_HIGH (256u << 10)

void outlet_open(struct outlet *o, int fd, struct loop *loop, void (*moved)(void *arg), void *arg)
{
	struct stat st;
	char path[32];

	*o = (struct outlet){ .fd = fd, .in = { .loop = loop, .moved = moved, .arg = arg } };
	if (fstat(fd, &st) < 0)
		return; /* the first write says why */
	o->in.socket = S_ISSOCK(st.st_mode);
	if (!S_ISFIFO(st.st_mode) && !isatty(fd))
		return;
	(void) snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int again = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	o->in.own = again >= 0;
	o->in.shared = again < 0;
	if (again >= 0)
		o->fd = again;
}

static ssize_t put(const struct outlet *o, const char *data, size_t len)
{
	if (o->in.socket)
		return send(o->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (o->in.shared) {
		struct pollfd p = { .fd = o->fd, .events = POLLOUT };
		if (poll(&p, 1, 0) == 0) {
			errno = EAGAIN;
			return -1;
		}
		len = len < PIPE_BUF ? len : PIPE_BUF; /* pipe(7): POLLOUT means that this much fits */
	}
	return write(o->fd, data, len);
}

static void end(struct outlet *o, int error)
{
	o->error = error;
	o->lost += o->in.waiting.len - o->in.sent;
	buf_done(&o->in.waiting);
	o->in.waiting = (struct buf){ 0 };
	o->in.sent = 0;
	if (o->in.watched)
		loop_unwatch_fd(o->in.loop, o->fd);
	o->in.watched = false;
}

static void writable(void *arg, uint32_t events)
{
	struct outlet *o = arg;

	(void) events;
	outlet_flush(o);
	o->in.moved(o->in.arg);
}

static void watch(struct outlet *o)
{
	struct err e;

	if (o->in.watched)
		return;
	o->in.watched = true;
	if (loop_watch_fd(o->in.loop, o->fd, EPOLLOUT, writable, o, &e) < 0) {
		o->in.watched = false;
		end(o, e.code);
	}
}

void outlet_add(struct outlet *o, const void *data, size_t len)
{
	if (o->fd < 0 || o->error)
		o->lost += len;
	else
		buf_add(&o->in.waiting, data, len);
}

void outlet_flush(struct outlet *o)
{
	struct buf *w = &o->in.waiting;

	while (o->in.sent < w->len) {
		ssize_t n = put(o, w->data + o->in.sent, w->len - o->in.sent);
		if (n > 0) {
			o->in.sent += (size_t) n;
		} else if (n < 0 && errno == EAGAIN) {
			memmove(w->data, w->data + o->in.sent, w->len - o->in.sent);
			w->len -= o->in.sent;
			o->in.sent = 0;
			watch(o);
			return;
		} else if (n == 0 || errno != EINTR) {
			end(o, n == 0 ? EIO : errno);
			return;
		}
	}
	w->len = o->in.sent = 0;
	if (o->in.watched)
		loop_unwatch_fd(o->in.loop, o->fd);
	o->in.watched = false;
}

size_t outlet_waiting(const struct outlet *o)
{
	return o->in.waiting.len - o->in.sent;
}

bool outlet_behind(const struct outlet *o)
{
	return outlet_waiting(o) > WAITING_HIGH;
}

void outlet_give_up(struct outlet *o)
{
	if (o->fd >= 0 && !o->error)
		end(o, ECANCELED);
}

void outlet_close(struct outlet *o)
{
	end(o, o->error ? o->error : ECANCELED);
	if (o->in.own)
		close_fd(&o->fd);
	o->fd = -1;
}

/* ---- the descriptor of --events ---- */

/* A number is a descriptor that the caller opened for us; 0 is no place to write to, 1 and 2 are checked for clashes. */
static int events_descriptor(const char *word, uint64_t number, int *ret, struct err *e)
{
	int flags = number <= INT32_MAX ? fcntl((int) number, F_GETFL) : -1;

	if (number == STDIN_FILENO)
		return err_say(e, EINVAL,
			       "--events: descriptor 0 is standard input; a file of that name is ./%s", word);
	if (flags < 0)
		return err_say(e, EBADF, "--events: descriptor %s is not open; a file of that name is ./%s",
			       word, word);
	if ((flags & O_ACCMODE) == O_RDONLY)
		return err_say(e, EBADF, "--events: descriptor %s is open for reading only", word);
	*ret = (int) number;
	return 0;
}

/* What exists is never written over, unless it is made to be written to; the new file is the user's alone. */
static int events_file(const char *path, int *ret, struct err *e)
{
	struct stat st;
	int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY;

	if (stat(path, &st) == 0 && !S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return err_say(e, EEXIST, "--events: %s is there already, and is not written over", path);
	if (access(path, F_OK) != 0)
		flags |= O_CREAT | O_EXCL | O_NOFOLLOW;
	int fd = open(path, flags, 0600); /* of a FIFO: waits for its reader, as the shell does */
	if (fd < 0)
		return err_set(e, errno, "--events: cannot open %s", path);
	*ret = fd;
	return 0;
}

int outlet_find(const char *word, int *ret, struct err *e)
{
	uint64_t number;

	if (!word)
		return 0;
	if (str_to_u64(word, &number) == 0)
		return events_descriptor(word, number, ret, e);
	return events_file(word, ret, e);
}
