/* SPDX-License-Identifier: MIT */
/*
 * QEMU's monitor: text both ways, a reply a line, events in between. Only what saving and restoring takes. See QEMU's
 * docs/interop/qmp-spec.txt.
 */
#include "core/backend/vm.h"

#include "core/base/base.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_MAX_BYTES  8192
#define LINES_MAX       1000 /* read for one reply: whoever floods is no monitor */
#define REPLY_LIMIT_MS  20000
#define RESTORE_REPLIES 3 /* to what qmp_restore says */
#define SAVE_LIMIT_NS   (60 * NS_PER_S)

#define BEGIN "{\"execute\":\"qmp_capabilities\"}\n"
/* The file behind the guest's RAM is the snapshot's RAM: it is not written into the state as well. */
#define SHARED                                                                       \
	"{\"execute\":\"migrate-set-capabilities\",\"arguments\":{\"capabilities\":" \
	"[{\"capability\":\"x-ignore-shared\",\"state\":true}]}}\n"

const char *qmp_restore(int state_fd_number, char *buf, size_t size)
{
	snprintf(buf, size,
		 BEGIN SHARED "{\"execute\":\"migrate-incoming\",\"arguments\":{\"uri\":\"fd:%d\"}}\n",
		 state_fd_number);
	return buf;
}

struct qmp {
	int fd;
	uint64_t deadline; /* of one reply, however it drips in */
	char text[LINE_MAX_BYTES];
	size_t len;
};

/* One line without its end, cut out of the text; borrowed until the next. */
static int line_read(struct qmp *q, char line[LINE_MAX_BYTES], struct err *e)
{
	char *end;
	while (!(end = memchr(q->text, '\n', q->len))) {
		struct pollfd p = { .fd = q->fd, .events = POLLIN };
		const int64_t left = (int64_t) (q->deadline - now_ns()) / (int64_t) NS_PER_MS;
		if (q->len == sizeof(q->text))
			return err_say(e, EPROTO, "QEMU's monitor sent a line without end");
		if (left <= 0)
			return err_say(e, ETIMEDOUT, "QEMU's monitor does not answer");
		if (poll(&p, 1, (int) left) <= 0)
			continue;
		ssize_t n = recv(q->fd, q->text + q->len, sizeof(q->text) - q->len, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
			return err_say(e, ECHILD, "QEMU's monitor ended");
		q->len += n < 0 ? 0 : (size_t) n;
	}
	size_t used = (size_t) (end - q->text);
	memcpy(line, q->text, used);
	line[used] = 0;
	q->len -= used + 1;
	memmove(q->text, end + 1, q->len);
	return 0;
}

static int refused(const char *line, struct err *e)
{
	FREE char *words = text_line(line, strlen(line), true);
	return err_say(e, EREMOTEIO, "QEMU's monitor refuses: %s", words);
}

/* The reply to what was said last; greetings and events before it are passed over. */
static int reply_read(struct qmp *q, char line[LINE_MAX_BYTES], struct err *e)
{
	q->deadline = now_ns() + REPLY_LIMIT_MS * NS_PER_MS;
	for (int k = 0; k < LINES_MAX; k++) {
		int r = line_read(q, line, e);
		if (r < 0)
			return r;
		if (str_starts(line, "{\"return\":"))
			return 0;
		if (str_starts(line, "{\"error\":"))
			return refused(line, e);
	}
	return err_say(e, EPROTO, "QEMU's monitor answers nothing");
}

int qmp_restored(int monitor_fd, struct err *e)
{
	struct qmp q = { .fd = monitor_fd, .deadline = now_ns() + REPLY_LIMIT_MS * NS_PER_MS };
	char line[LINE_MAX_BYTES];
	bool resumed = false;
	for (int k = 0, replies = 0; k < LINES_MAX; k++) {
		int r = line_read(&q, line, e);
		if (r < 0)
			return r;
		if (str_starts(line, "{\"error\":"))
			return refused(line, e);
		replies += str_starts(line, "{\"return\":");
		resumed |= strstr(line, "\"event\": \"RESUME\"") != NULL;
		if (resumed && replies >= RESTORE_REPLIES)
			return 0;
	}
	return err_say(e, EPROTO, "QEMU's monitor says much, but not that the machine goes on");
}

static int say(struct qmp *q, const char *text, int with_fd, struct err *e)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { .iov_base = (void *) (uintptr_t) text, .iov_len = strlen(text) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	if (with_fd >= 0) {
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(h), &with_fd, sizeof(int));
	}
	/* What we say is short: where it does not fit, nobody reads. */
	if (sendmsg(q->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t) iov.iov_len)
		return err_set(e, errno, "speak to QEMU's monitor");
	return 0;
}

static int ask(struct qmp *q, const char *text, int with_fd, char line[LINE_MAX_BYTES], struct err *e)
{
	int r = say(q, text, with_fd, e);
	return r < 0 ? r : reply_read(q, line, e);
}

static int save_wait(struct qmp *q, char line[LINE_MAX_BYTES], struct err *e)
{
	const uint64_t deadline = now_ns() + SAVE_LIMIT_NS;
	do {
		int r = ask(q, "{\"execute\":\"query-migrate\"}\n", -1, line, e);
		if (r < 0 || strstr(line, "\"status\": \"completed\""))
			return r;
		if (strstr(line, "\"status\": \"failed\""))
			return err_say(e, EIO, "QEMU could not save the machine");
		(void) poll(NULL, 0, 1);
	} while (now_ns() < deadline);
	return err_say(e, ETIMEDOUT, "QEMU did not save the machine in time");
}

/* Saved as it runs: the state then says so, and what is restored from it goes on by itself. */
int qmp_save(int monitor_fd, int state_fd, struct err *e)
{
	static const struct {
		const char *text;
		bool with_state;
	} steps[] = {
		{ BEGIN, false },
		{ SHARED, false },
		{ "{\"execute\":\"getfd\",\"arguments\":{\"fdname\":\"state\"}}\n", true },
		{ "{\"execute\":\"migrate\",\"arguments\":{\"uri\":\"fd:state\"}}\n", false },
	};
	struct qmp q = { .fd = monitor_fd };
	char line[LINE_MAX_BYTES];
	for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
		int r = ask(&q, steps[k].text, steps[k].with_state ? state_fd : -1, line, e);
		if (r < 0)
			return r;
	}
	return save_wait(&q, line, e);
}

int qmp_pause(int monitor_fd, bool on, struct err *e)
{
	struct qmp q = { .fd = monitor_fd };
	char line[LINE_MAX_BYTES];
	int r = say(&q, on ? "{\"execute\":\"stop\"}\n" : "{\"execute\":\"cont\"}\n", -1, e);
	/* To wait for "cont" to be answered would be a wait for nothing: the guest answers soon enough itself. */
	return r < 0 || !on ? r : reply_read(&q, line, e);
}
