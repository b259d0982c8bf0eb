/* SPDX-License-Identifier: MIT */
/*
 * Reading a recording, which may come from anyone and from any disk: line by line, bounded, up to the
 * first damage. Whatever stands before the damage is given, and one sentence says where it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/model/json.h"
#include "core/model/model.h"

#define RECORDING_VERSION 1
#define EVENTS_MAX        (1u << 20)
#define BYTES_MAX         (UINT64_C(1) << 30)
#define NO_RECORDING      "is no recording of belljar"

/* A file as lines. `line` is Borrowed until the next one is asked for. */
struct lines {
	int fd;
	struct buf have;
	size_t used, seen; /* in `have`: given out before; searched for a newline */
	uint64_t offset;   /* of `line` in the file */
	size_t number;     /* of `line`, from 1 */
	const char *line;
	size_t len, taken; /* without and with its newline */
	bool cut;          /* the file ended before its newline */
	bool end;
};

static int lines_fill(struct lines *l)
{
	char chunk[64u << 10];
	ssize_t n;

	if (l->used) {
		memmove(l->have.data, l->have.data + l->used, l->have.len - l->used);
		l->have.len -= l->used;
		l->seen -= l->used;
		l->used = 0;
	}
	do
		n = read(l->fd, chunk, sizeof(chunk));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	l->end = n == 0;
	buf_add(&l->have, chunk, (size_t) n);
	return 0;
}

/* The next line into `line` and `len`. 1, 0 at the end, -EFBIG for one that is too long, or another
 * -errno. */
static int lines_next(struct lines *l)
{
	const char *newline = NULL;

	l->offset += l->taken;
	l->number++;
	while (!newline) {
		if (l->have.len > l->seen)
			newline = memchr(l->have.data + l->seen, '\n', l->have.len - l->seen);
		l->seen = newline ? (size_t) (newline - l->have.data) + 1 : l->have.len;
		if (l->seen - l->used > RECORD_LINE_MAX)
			return -EFBIG;
		if (newline || l->end)
			break;
		int r = lines_fill(l);
		if (r < 0)
			return r;
	}
	l->line = l->have.data + l->used;
	l->taken = l->seen - l->used;
	l->len = l->taken - (newline != NULL);
	l->cut = !newline;
	l->used = l->seen;
	return newline || l->len ? 1 : 0;
}

/* The first damage is the one that counts; what the code's hash says may come before it. */
static void __attribute__((format(printf, 2, 3))) damage_add(struct recording *r, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	char *all = xprintf("%s%s%s", r->damage ? r->damage : "", r->damage ? "; " : "", text);
	free(r->damage);
	r->damage = all;
}

static void damage_at(struct recording *r, const struct lines *l, const char *what)
{
	damage_add(r, "line %zu (byte %" PRIu64 "): %s; %zu event%s before it could be read", l->number,
		   l->offset, what, r->count, r->count == 1 ? "" : "s");
}

/* A member as text, "" where it is missing, of another kind, or would hide something behind a NUL. Gives. */
static char *member(const json_t *object, const char *key)
{
	size_t len = 0;
	char *text = json_text_dup(json_object_get(object, key), &len);

	if (text && strlen(text) == len)
		return text;
	free(text);
	return xstrdup("");
}

static void read_code(const json_t *code, struct recording *r)
{
	char hex[65];

	r->language = member(code, "language");
	r->code_sha256 = member(code, "sha256");
	r->code = json_text_dup(json_object_get(code, "text"), &r->code_len);
	if (!r->code)
		return;
	sha256_hex(r->code, r->code_len, hex);
	if (strcmp(hex, r->code_sha256) != 0)
		damage_add(r, "line 1: the code is not the one that ran, its SHA-256 is another");
}

static int read_header(struct lines *l, struct recording *r, struct err *e)
{
	static const char begin[] = "{\"belljar\":";
	int got = lines_next(l);

	if (got < 0 && got != -EFBIG)
		return err_set(e, -got, "read %s", r->path);
	if (got != 1 || l->len < sizeof(begin) || memcmp(l->line, begin, sizeof(begin) - 1) != 0)
		return err_say(e, EINVAL, "%s " NO_RECORDING ": it does not begin with %s", r->path, begin);
	struct err why;
	json_t *header = json_line(l->line, l->len, RECORD_LINE_MAX, &why);
	if (!header)
		return err_say(e, EINVAL, "%s " NO_RECORDING ": its first line is cut or damaged (%s)",
			       r->path, why.text);
	json_int_t version = json_integer_value(json_object_get(header, "belljar"));
	const json_t *policy = json_object_get(header, "policy");
	if (version == RECORDING_VERSION) {
		r->run_id = member(header, "run");
		r->started = member(header, "started");
		r->title = member(header, "title");
		r->preset = member(policy, "name");
		r->backend = member(policy, "backend");
		read_code(json_object_get(header, "code"), r);
	}
	json_decref(header);
	if (version != RECORDING_VERSION)
		return err_say(e, EINVAL,
			       "%s is a recording of another version of belljar; this one reads version %d",
			       r->path, RECORDING_VERSION);
	return 0;
}

static void keep_event(struct recording *r, struct event *ev)
{
	if ((r->count & (r->count - 1)) == 0) /* full at each power of two */
		r->events = xrealloc(r->events, (r->count ? 2 * r->count : 1) * sizeof(struct event *));
	r->events[r->count++] = ev;
}

static bool has_ended(const struct recording *r)
{
	return r->count && r->events[r->count - 1]->type == EVENT_EXIT;
}

/* What goes before the start has a clock of its own, from when the run was asked for. */
static bool all_before_start(const struct recording *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->events[i]->type != EVENT_PROGRESS)
			return false;
	return true;
}

/* Playing would not come to such an event. */
static bool goes_back(const struct recording *r, const struct event *ev)
{
	return r->count && ev->t_ns < r->events[r->count - 1]->t_ns &&
	       !(ev->type == EVENT_START && all_before_start(r));
}

/* One line after the header. False where reading stops: it is damaged, and said. */
static bool read_event(const struct lines *l, struct recording *r)
{
	struct event *ev;
	struct err why;

	if (memchr(l->line, '\0', l->len)) {
		damage_at(r, l,
			  "NUL bytes, such as a machine leaves that stopped before its disk was written");
		return false;
	}
	if (event_from_json(l->line, l->len, &ev, &why) < 0) {
		damage_at(r, l, l->cut ? "the line is cut off" : why.text);
		return false;
	}
	char what[96];
	if (has_ended(r))
		snprintf(what, sizeof(what), "something stands after the exit event");
	else if (ev->seq != r->count + 1)
		snprintf(what, sizeof(what), "event %" PRIu64 " stands where %zu should be", ev->seq,
			 r->count + 1);
	else if (goes_back(r, ev))
		snprintf(what, sizeof(what), "its time is before that of the event before it");
	else if (r->count == EVENTS_MAX)
		snprintf(what, sizeof(what), "more events than are read of one file");
	else {
		keep_event(r, ev);
		return true;
	}
	event_free(ev);
	damage_at(r, l, what);
	return false;
}

static void read_events(struct lines *l, struct recording *r)
{
	int got;

	while ((got = lines_next(l)) == 1) {
		if (l->offset + l->len > BYTES_MAX) {
			damage_at(r, l, "the file is larger than is read of one");
			return;
		}
		if (!read_event(l, r))
			return;
	}
	if (got == -EFBIG)
		damage_at(r, l, "the line is too long");
	else if (got < 0)
		damage_at(r, l, strerror(-got));
	else if (!has_ended(r))
		damage_add(r,
			   "line %zu (byte %" PRIu64
			   "): the file ends without an exit event, after %zu event%s",
			   l->number, l->offset, r->count, r->count == 1 ? "" : "s");
}

static int open_recording(const char *path, int *ret_fd, struct err *e)
{
	/* O_NONBLOCK: opening a FIFO or a device that somebody put there must not hang. */
	CLOSE_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, errno, "open recording %s", path);
	if (!S_ISREG(st.st_mode))
		return err_say(e, EINVAL, "%s " NO_RECORDING ": it is not a regular file", path);
	*ret_fd = take_fd(&fd);
	return 0;
}

int recording_read(const char *path, struct recording **ret, struct err *e)
{
	CLOSE_FD int fd = -1;
	int result = open_recording(path, &fd, e);

	if (result < 0)
		return result;
	struct lines l = { .fd = fd };
	struct recording *r = xcalloc(1, sizeof(*r));
	r->path = xstrdup(path);
	result = read_header(&l, r, e);
	if (result == 0)
		read_events(&l, r);
	buf_done(&l.have);
	if (result < 0) {
		recording_free(r);
		return result;
	}
	*ret = r;
	return 0;
}

struct recording *recording_free(struct recording *r)
{
	if (!r)
		return NULL;
	for (size_t i = 0; i < r->count; i++)
		event_free(r->events[i]);
	free(r->events);
	char *const texts[] = { r->path,     r->run_id, r->started, r->preset,      r->backend,
				r->language, r->title,  r->code,    r->code_sha256, r->damage };
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		free(texts[i]);
	free(r);
	return NULL;
}
