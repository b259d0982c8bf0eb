/* SPDX-License-Identifier: MIT */
/*
 * The one place that every event of a run passes: it gets its number and its time, goes into the recording, and to the
 * front end. A front end that reads slowly costs a bounded queue; what does not fit is dropped, counted and told.
 */
#include "core/supervise/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void feed_init(struct feed *s, int wire_fd)
{
	memset(s, 0, offsetof(struct feed, space)); /* the space is large, and is written before it is read */
	s->wire_fd = wire_fd;
	s->start_ns = now_ns();
	s->tail = &s->head;
}

static void queue_clear(struct feed *s)
{
	while (s->head) {
		struct frame *f = s->head;
		s->head = f->next;
		free(f);
	}
	s->tail = &s->head;
	s->queued = 0;
}

/* Not closed: the loop watches it, sees the hang-up on it, and ends the run. */
static void reader_gone(struct feed *s)
{
	s->reader_gone = true;
	queue_clear(s);
}

static int stream_send(int fd, struct frame *f)
{
	while (f->sent < f->len) {
		ssize_t n = write(fd, f->bytes + f->sent, f->len - f->sent);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EAGAIN;
		f->sent += (size_t) n;
	}
	return 0;
}

int feed_flush(struct feed *s)
{
	s->blocked = false;
	while (!s->reader_gone && s->head) {
		int r = s->stream ? stream_send(s->wire_fd, s->head)
				  : wire_send(s->wire_fd, s->head->bytes, s->head->len);
		s->blocked = r == -EAGAIN;
		if (s->blocked)
			return r;
		if (r < 0) {
			reader_gone(s);
			break;
		}
		struct frame *f = s->head;
		s->head = f->next;
		s->queued -= f->len;
		if (!s->head)
			s->tail = &s->head;
		free(f);
	}
	return s->reader_gone ? -EPIPE : 0;
}

static bool is_watched(const struct event *ev)
{
	return ev->type == EVENT_FILE || ev->type == EVENT_NETWORK || ev->type == EVENT_EXEC;
}

/* A program that opens a thousand files would wake the reader a thousand times, on a core that it needs itself. */
static bool may_wait(const struct feed *s, const struct event *ev)
{
	return is_watched(ev) && s->queued < FEED_HOLD_MAX;
}

static void frame_queue(struct feed *s, const void *bytes, size_t len)
{
	const uint32_t length = (uint32_t) len;
	size_t before = s->stream ? sizeof(length) : 0;
	struct frame *f = xmalloc(sizeof(*f) + before + len);
	f->next = NULL;
	f->len = before + len;
	f->sent = 0;
	memcpy(f->bytes, &length, before);
	memcpy(f->bytes + before, bytes, len);
	*s->tail = f;
	s->tail = &f->next;
	s->queued += f->len;
}

void feed_frame(struct feed *s, const void *bytes, size_t len)
{
	frame_queue(s, bytes, len);
	if (!s->blocked)
		(void) feed_flush(s);
}

static void deliver(struct feed *s, const struct event *ev)
{
	if (s->terse && is_watched(ev))
		return;
	ssize_t len = event_encode(ev, s->space, sizeof(s->space));
	if (len < 0 || s->reader_gone)
		return;
	frame_queue(s, s->space, (size_t) len);
	if (!s->blocked && !may_wait(s, ev))
		(void) feed_flush(s);
}

static void number(struct feed *s, struct event *ev)
{
	ev->seq = ++s->seq;
	ev->t_ns = now_ns() - s->start_ns;
}

/* The last line of a recording may be the one that finds no room. Behind the exit event nobody reads: so it is written
 * first, and what became of it told before. What failed earlier, the supervisor has told. */
static void record_last(struct feed *s, struct event *ev)
{
	if (!s->record || record_flush(s->record) < 0)
		return;
	record_add(s->record, ev);
	if (record_flush(s->record) == 0)
		return;
	struct event error = { .type = EVENT_ERROR,
			       .source = SOURCE_HOST,
			       .error = { .text = "the recording is not whole: its file could not be written",
					  .remedy = "" } };
	number(s, &error);
	deliver(s, &error);
	ev->seq = ++s->seq;
}

/* How many things an event tells of. */
static uint64_t weight(const struct event *ev)
{
	switch (ev->type) {
	case EVENT_DENIED:
		return ev->denied.count;
	case EVENT_NETWORK:
		return ev->network.count;
	case EVENT_FILE:
		return ev->file.count;
	case EVENT_DROPPED:
		return ev->dropped.count;
	default:
		return 1;
	}
}

/* A list that loses what was counted must not come out short: each is counted as what it would have told. */
static void drop(struct feed *s, const struct event *ev)
{
	int list = list_of(ev);
	s->dropped[list >= 0 ? list_kinds[list].type : ev->type] += weight(ev);
	s->drops = true;
}

static void tell_dropped(struct feed *s)
{
	s->drops = false;
	for (int type = 0; type < EVENT_TYPE_MAX; type++) {
		struct event lost = { .type = EVENT_DROPPED,
				      .dropped = { .what = event_type_name((enum event_type) type),
						   .count = s->dropped[type],
						   .why = "the reader was too slow" } };
		s->dropped[type] = 0;
		if (lost.dropped.count)
			feed_emit(s, &lost);
	}
}

static void emit(struct feed *s, struct event *ev)
{
	if (s->mute)
		return;
	/* Output waits in its pipe before this is reached, and an exit event is never lost. */
	if (s->queued >= FEED_QUEUE_MAX && ev->type != EVENT_OUTPUT && ev->type != EVENT_EXIT) {
		drop(s, ev);
		return;
	}
	if (s->drops)
		tell_dropped(s);
	number(s, ev);
	if (ev->type == EVENT_EXIT)
		record_last(s, ev);
	deliver(s, ev); /* before the file: the reader waits for it, the file does not */
	if (s->record && ev->type != EVENT_EXIT)
		record_add(s->record, ev);
}

void feed_emit(struct feed *s, struct event *ev)
{
	ev->source = SOURCE_HOST;
	emit(s, ev);
}

void feed_relay(struct feed *s, struct event *ev)
{
	ev->source = SOURCE_GUEST;
	emit(s, ev);
}

void feed_drain(struct feed *s)
{
	while (feed_flush(s) == -EAGAIN) {
		struct pollfd p = { .fd = s->wire_fd, .events = POLLOUT };
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return;
	}
}

void feed_done(struct feed *s)
{
	queue_clear(s);
	close_fd(&s->wire_fd);
}
