/* SPDX-License-Identifier: MIT */
/*
 * What the target prints: read in turns, so that no flood keeps the loop from the rest; counted against the limit; put
 * into events as it came. What a terminal must not get of it is found here, once for all readers, and told.
 */
#include "core/supervise/supervisor.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define READ_BATCH 4 /* reads of one stream, then the loop goes round */

static void tell_removed(struct output *o, enum text_removed kind)
{
	struct event ev = { .type = EVENT_TERMINAL,
			    .outcome = OUTCOME_REMOVED,
			    .layer = LAYER_SUPERVISOR,
			    .basis = BASIS_ANSWERED,
			    .terminal = { .kind = text_removed_name(kind), .bytes = o->removed[kind] } };
	o->removed[kind] = 0;
	o->told[kind] = true;
	feed_emit(o->feed, &ev);
}

/* The first of a kind at once, more of it at the next tick: a flood of escapes is a few events. */
static void on_removed(void *arg, enum text_removed kind, size_t bytes)
{
	struct output *o = arg;
	if (kind == TEXT_COLOUR)
		return; /* no harm in it, and honest programs are full of it */
	o->removed[kind] += bytes;
	if (!o->told[kind])
		tell_removed(o, kind);
}

static void look_for_sequences(struct output *o, enum stream which, const char *bytes, size_t len)
{
	o->shown.len = 0;
	scrub_add(&o->scrub[which], bytes, len, &o->shown);
}

/* The end of the stream's last read goes before the new one: a word may be cut anywhere. */
static void look_for_canaries(struct supervisor *v, const char *where, struct output_tail *tail, size_t len)
{
	size_t had = tail->len, all = had + len, keep = all < CANARY_NONCE ? all : CANARY_NONCE;
	char *from = v->output.room + CANARY_NONCE - had;
	if (!v->inst.canary.nonce[0])
		return;
	memcpy(from, tail->bytes, had);
	supervisor_canary(v, where, from, all);
	if (keep == CANARY_NONCE && memcmp(from + all - keep, v->inst.canary.nonce, keep) == 0)
		keep = 0; /* a whole one, which was told */
	memcpy(tail->bytes, from + all - keep, keep);
	tail->len = keep;
}

void output_copied(void *arg, bool begins, const char *bytes, size_t len)
{
	struct supervisor *v = arg;
	const size_t most = sizeof(v->output.room) - CANARY_NONCE;
	if (begins)
		v->output.copied.len = 0;
	for (size_t part; len; bytes += part, len -= part) {
		part = len < most ? len : most;
		memcpy(v->output.room + CANARY_NONCE, bytes, part);
		look_for_canaries(v, "a file that left", &v->output.copied, part);
	}
}

void output_tick(struct supervisor *v)
{
	struct output *o = &v->output;
	for (int kind = 0; kind < TEXT_REMOVED_MAX; kind++) {
		if (o->removed[kind])
			tell_removed(o, (enum text_removed) kind);
		o->told[kind] = false;
	}
}

static void output_dropped(struct supervisor *v, enum stream which, uint64_t bytes)
{
	char limit[24];
	v->facts.output_dropped[which] += bytes;
	supervisor_limit(v, LIMIT_OUTPUT, BASIS_COUNTER, "stdout and stderr together exceed %s: %s",
			 format_bytes(v->launch->policy->limit[LIMIT_OUTPUT], limit, sizeof(limit)),
			 v->launch->policy->on_output_limit == OUTPUT_STOP
				 ? "stopped"
				 : "the rest is counted and dropped");
	if (v->launch->policy->on_output_limit == OUTPUT_STOP)
		supervisor_kill(v, VERDICT_OUTPUT);
}

/* One read. 1 there may be more, 0 none now, -EPIPE the last writer is gone. */
static int output_read(struct supervisor *v, enum stream which)
{
	char *bytes = v->output.room + CANARY_NONCE;
	ssize_t n = read(v->output.fd[which], bytes, sizeof(v->output.room) - CANARY_NONCE);
	if (n < 0)
		return errno == EAGAIN ? 0 : errno == EINTR ? 1 : -EPIPE;
	if (n == 0)
		return -EPIPE;
	v->output.taken[which] += (uint64_t) n;
	size_t keep = (uint64_t) n < v->output.left ? (size_t) n : (size_t) v->output.left;
	if (v->output.left != UNLIMITED)
		v->output.left -= keep;
	if (keep) {
		struct event ev = { .type = EVENT_OUTPUT,
				    .output = { .stream = which, .bytes = bytes, .len = keep } };
		feed_emit(&v->feed, &ev);
		look_for_sequences(&v->output, which, bytes, keep);
		look_for_canaries(v, stream_name(which), &v->output.tail[which], keep);
	}
	if (keep < (size_t) n)
		output_dropped(v, which, (uint64_t) n - keep);
	return 1;
}

static void output_close(struct supervisor *v, enum stream which)
{
	if (v->output.fd[which] < 0)
		return;
	loop_unwatch_fd(v->loop, v->output.fd[which]);
	v->output.fd[which] = -1; /* the instance closes it */
}

/* A reader that cannot follow makes the target wait at its full pipe; nothing is lost, and nothing grows. */
void output_pace(struct supervisor *v)
{
	bool wait = v->feed.queued > (v->output.waits ? FEED_QUEUE_PAUSE / 4 : FEED_QUEUE_PAUSE);
	if (wait == v->output.waits)
		return;
	v->output.waits = wait;
	for (int k = 0; k < STREAM_MAX; k++)
		if (v->output.fd[k] >= 0)
			loop_change_fd(v->loop, v->output.fd[k], wait ? 0 : EPOLLIN);
}

static void output_ready(struct supervisor *v, enum stream which)
{
	int r = 1;
	for (int k = 0; r > 0 && k < READ_BATCH && v->feed.queued <= FEED_QUEUE_PAUSE; k++)
		r = output_read(v, which);
	if (r < 0)
		output_close(v, which);
	if (v->guest)
		guest_printed(v);
}

static void on_stdout(void *arg, uint32_t events)
{
	(void) events;
	output_ready(arg, STREAM_STDOUT);
}

static void on_stderr(void *arg, uint32_t events)
{
	(void) events;
	output_ready(arg, STREAM_STDERR);
}

/* What is left in the pipes when every process of the run is gone. A writer that still lives, having got the pipe by
 * passing descriptors, belongs to no run any more: what has not come by now never does. */
void output_finish(struct supervisor *v)
{
	for (int k = 0; k < STREAM_MAX; k++) {
		while (v->output.fd[k] >= 0 && output_read(v, (enum stream) k) > 0)
			if (v->feed.queued > FEED_QUEUE_PAUSE)
				feed_drain(&v->feed);
		output_close(v, (enum stream) k);
		v->output.shown.len = 0;
		scrub_end(&v->output.scrub[k], &v->output.shown);
	}
	output_tick(v);
	buf_done(&v->output.shown);
}

int output_start(struct supervisor *v, struct err *e)
{
	struct output *o = &v->output;
	int r;
	o->left = v->launch->policy->limit[LIMIT_OUTPUT];
	o->feed = &v->feed;
	o->fd[STREAM_STDOUT] = v->inst.out_fd;
	o->fd[STREAM_STDERR] = v->inst.err_fd;
	for (int k = 0; k < STREAM_MAX; k++)
		o->scrub[k] = (struct scrub){ .removed = on_removed, .arg = o };
	if ((r = loop_watch_fd(v->loop, v->inst.out_fd, EPOLLIN, on_stdout, v, e)) < 0)
		return r;
	if (v->inst.err_fd < 0) /* a terminal has one stream */
		return 0;
	return loop_watch_fd(v->loop, v->inst.err_fd, EPOLLIN, on_stderr, v, e);
}
