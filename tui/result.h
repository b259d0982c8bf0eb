/* SPDX-License-Identifier: MIT */
/*
 * Result: the one object of `belljar run --json`, gathered from the events of a run. Bounded whatever the target does:
 * output is kept up to a cap, like events are grouped, and each list ends with a note of what did not fit.
 */
#pragma once

#include <stddef.h>

struct buf;
struct event;
struct launch;
struct result;

#define RESULT_GROUPS_MAX 256         /* of each list */
#define RESULT_ALERTS_MAX (64u << 10) /* bytes of JSON */
#define RESULT_OUTPUT_MAX (64u << 20) /* of both streams, where the preset's own limit is higher or none */

/* result_new: Borrows the launch until result_free; NULL where it came to none. */
struct result *result_new(const struct launch *l);
struct result *result_free(struct result *r); /* accepts NULL, returns NULL */

/* result_take: Takes the event, which the caller must not use any more. */
void result_take(struct result *r, struct event *ev);

/* result_setup_error: in place of a run that could not even be asked for. `status` is 125, 126 or 127. */
void result_setup_error(struct result *r, int status, const char *sentence);

/* result_to_json: the object and a newline, appended. Before the exit event, what it would tell is null. */
void result_to_json(const struct result *r, struct buf *out);
