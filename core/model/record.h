/* SPDX-License-Identifier: MIT */
/*
 * Recordings: a run's events as JSON Lines, mode 0600. First a header line, then events, last the exit event. A file
 * without its last line is complete up to its last whole line, and the reader says so.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;
struct buf;
struct event;
struct launch;
struct record;

#define RECORDINGS_KEPT 50
#define RECORDING_MAX \
	(128u << 20) /* of events; then only the exit event, and before it how many were left out */
#define RECORD_LINE_MAX (32u << 20) /* a longer line is damage */

/*
 * record_create: opens the file ('path', or runs/ID.jsonl below XDG_STATE) and writes the header. Never follows
 * a link or opens what exists. Buffered; record_flush at quiet moments. record_path: Borrowed. A full disk is
 * remembered: record_close returns its error, once. Of those below XDG_STATE it removes the oldest beyond
 * RECORDINGS_KEPT: nobody waits for that at the end of a run. -EPERM where that folder or the one that it is in is a
 * link, another user's, or open to others for writing. record_add: Borrows; numbers go on without gaps when
 * RECORDING_MAX, or half of it for output, left events out.
 */
int record_create(const struct launch *l, struct record **ret, struct err *e);
const char *record_path(const struct record *r);
void record_add(struct record *r, const struct event *ev);
int record_flush(struct record *r);
int record_close(struct record *r, struct err *e); /* accepts NULL; frees */

/* host_to_json: this machine, as headers and reports say it: {"kernel":…,"machine":…,"cpus":…,"memory":…}. Appended. */
void host_to_json(struct buf *out);

struct recording {
	char *path, *run_id, *started, *preset, *backend, *language, *title, *code, *code_sha256;
	size_t code_len;
	struct event **events;
	size_t count;
	char *damage; /* NULL: whole; else one sentence: where the file ends or breaks, and how much was read */
};
/* recording_read: 0 also for a damaged file whose header could be read; -EINVAL where it is no recording. Gives. */
int recording_read(const char *path, struct recording **ret, struct err *e);
struct recording *recording_free(struct recording *r);
