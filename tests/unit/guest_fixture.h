/* SPDX-License-Identifier: MIT */
/*
 * A supervisor whose target is a machine of its own, without the machine: the far ends of its streams are ours, to say
 * anything on, and its backend counts how often it was told to end the run.
 */
#pragma once

#include "core/backend/child.h"
#include "core/supervise/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FAR_CONTROL, FAR_STDOUT, FAR_STDERR, FAR_DATA, FAR_MAX };

struct guest_fixture {
	struct supervisor *v;
	struct launch launch;
	struct policy policy;
	int far_fd[FAR_MAX], reader_fd;
	unsigned stops;
	unsigned told[EVENT_TYPE_MAX]; /* that came to the front end */
	struct event *last[EVENT_TYPE_MAX];
	uint64_t last_seq;
	bool as_it_should;                    /* each event decodes, its numbers rise without gaps */
	void (*came)(const struct event *ev); /* each that does; NULL: nobody looks */
};

static int fixture_stop(struct instance *i, bool force, struct err *e)
{
	struct guest_fixture *f = i->priv;
	(void) e;
	f->stops += force;
	return 0;
}

static const struct backend fixture_backend = { .name = "microvm", .stop = fixture_stop };

/* 0, or a fault of this test's own. */
static inline int fixture_open(struct guest_fixture *f)
{
	int p[2], *const near_fd[FAR_MAX] = { &f->v->inst.guest_fd, &f->v->inst.out_fd, &f->v->inst.err_fd,
					      &f->v->inst.data_fd };
	struct err e;
	for (int k = 0; k < FAR_MAX; k++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, p) < 0)
			return -errno;
		*near_fd[k] = p[0];
		f->far_fd[k] = p[1];
	}
	if (wire_pair(p, &e) < 0 || loop_new(&f->v->loop, &e) < 0)
		return -EIO;
	feed_init(&f->v->feed, p[0]);
	f->reader_fd = p[1];
	return output_start(f->v, &e) < 0 || guest_start(f->v, &e) < 0 ? -EIO : 0;
}

/* What the test wants otherwise, it sets before. */
static inline int fixture_start(struct guest_fixture *f)
{
	f->v = xcalloc(1, sizeof(*f->v));
	for (int n = 0; n < LIMIT_MAX; n++)
		f->policy.limit[n] = 1u << 30;
	f->policy.limit[LIMIT_WALL] = f->policy.limit[LIMIT_CPU] = 10 * NS_PER_S;
	f->policy.limit[LIMIT_CPUS] = UNLIMITED;
	f->launch.policy = &f->policy;
	f->launch.stdin_fd = -1;
	f->v->launch = &f->launch;
	f->v->facts.tasks_at_end = f->v->facts.rlimit_cpu_ns = UNKNOWN_U64;
	instance_init(&f->v->inst, &fixture_backend, &f->launch);
	f->v->inst.priv = f;
	f->v->inst.spool_fd = f->launch.output_dir ? memfd_create("spool", MFD_CLOEXEC) : -1;
	f->v->state = RUN_RUNNING;
	f->as_it_should = true;
	signal(SIGPIPE, SIG_IGN);
	return fixture_open(f);
}

static inline void fixture_read(struct guest_fixture *f)
{
	static uint8_t space[WIRE_FRAME_MAX];
	struct event *ev;
	struct err e;
	ssize_t n;
	while ((n = wire_recv(f->reader_fd, space, sizeof(space))) > 0) {
		if (event_decode(space, (size_t) n, &ev, &e) < 0 || ev->seq != f->last_seq + 1) {
			f->as_it_should = false;
			return;
		}
		if (f->came)
			f->came(ev);
		f->last_seq = ev->seq;
		f->told[ev->type]++;
		event_free(f->last[ev->type]);
		f->last[ev->type] = ev;
		(void) feed_flush(&f->v->feed);
	}
}

static inline void fixture_rounds(struct guest_fixture *f, int rounds)
{
	struct err e;
	while (rounds-- > 0) {
		if (loop_once(f->v->loop, 0, &e) < 0)
			f->as_it_should = false;
		output_pace(f->v);
		(void) feed_flush(&f->v->feed);
		fixture_read(f);
	}
}

/* Bytes on the control port. False: there is no room for the first of them, and the guest has to wait. */
static inline bool fixture_say(struct guest_fixture *f, const void *bytes, size_t len)
{
	for (size_t sent = 0; sent < len;) {
		ssize_t n = write(f->far_fd[FAR_CONTROL], (const char *) bytes + sent, len - sent);
		if (n < 0 && (errno != EAGAIN || f->stops))
			return true; /* nobody listens any more */
		if (n < 0 && sent == 0)
			return false;
		sent += n > 0 ? (size_t) n : 0;
		if (sent < len)
			fixture_rounds(f, 1);
	}
	return true;
}

static inline bool fixture_tell(struct guest_fixture *f, const struct event *ev)
{
	static uint8_t space[WIRE_FRAME_MAX];
	struct buf out = { 0 };
	ssize_t n = event_encode(ev, space, sizeof(space));
	if (n < 0)
		abort();
	wire_stream_put(&out, space, (size_t) n);
	bool said = fixture_say(f, out.data, out.len);
	buf_done(&out);
	return said;
}

/* The same again and again, until it is not listened to any more: how often. */
static inline unsigned fixture_flood(struct guest_fixture *f, const struct event *ev, unsigned most)
{
	unsigned said = 0;
	for (int waits = 0; said < most && waits < 20 && !f->stops;) {
		bool room = fixture_tell(f, ev);
		said += room;
		waits = room ? 0 : waits + 1;
		if (!room)
			fixture_rounds(f, 1);
	}
	return said;
}

static inline void fixture_printed(struct guest_fixture *f, uint64_t out, uint64_t err)
{
	const struct inside_streams s = { .bytes = { out, err } };
	uint8_t space[64];
	struct buf b = { 0 };
	wire_stream_put(&b, space, inside_streams_encode(&s, space, sizeof(space)));
	fixture_say(f, b.data, b.len);
	buf_done(&b);
}

/* The exit event, as the front end would get it. Its strings last until the next. */
static inline struct event fixture_verdict(struct guest_fixture *f)
{
	static struct verdict_space space;
	struct event ev;
	verdict_make(&f->v->facts, f->v->inst.limits, &ev, &space);
	guest_verdict(f->v, &ev);
	return ev;
}

static inline void fixture_stop_all(struct guest_fixture *f)
{
	for (int k = 0; k < FAR_MAX; k++)
		close_fd(&f->far_fd[k]);
	for (int k = 0; k < EVENT_TYPE_MAX; k++)
		f->last[k] = event_free(f->last[k]);
	guest_stop(f->v);
	instance_done(&f->v->inst);
	feed_done(&f->v->feed);
	close_fd(&f->reader_fd);
	buf_done(&f->v->output.shown);
	loop_free(f->v->loop);
	free(f->v);
}
