/* SPDX-License-Identifier: MIT */
/*
 * The events of a run, grouped by what happened: call, outcome and the argument that matters, with a count.
 * A flood of a million events takes the memory of a few thousand groups; what is not kept is counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/model/event.h"
#include "tui/screen/cells.h"

#define GROUPS_MAX 4096

struct group {
	uint64_t hash;
	uint64_t count, first_ns, last_ns, touched; /* touched: the higher, the later */
	enum event_type type;
	enum outcome outcome;
	enum layer layer;
	enum basis basis;
	enum event_source source;
	struct clean what; /* "ptrace(PTRACE_ATTACH, 1)", "connect 10.0.0.1:80": also what makes the group */
	struct clean who;  /* "python3[4]", the first one */
	struct clean why;  /* "EPERM by default:debug"; may be empty */
	struct clean call; /* the bare name of the call; may be empty */
	char *path;  /* of a file, as it came, for a preset and never for a screen; NULL: none, or too long */
	bool hidden; /* the person does not want to see it */
};

#define RAW_MAX 4096
struct raw { /* one event as it came */
	uint64_t t_ns, count;
	uint32_t group;
};

struct groups {
	struct group *at;
	uint32_t *slots; /* hash table of indexes + 1 */
	struct raw *raw; /* the newest RAW_MAX, a ring; raw_next: how many came */
	uint64_t raw_next;
	size_t count;
	uint64_t events, not_kept, touches;
	uint64_t kind[EVENT_TYPE_MAX]; /* how many events of each type, counts within events included */
	uint64_t stopped, stopped_net,
		stopped_file; /* events that say that something was refused, hidden, unreachable */
	bool ascii;
};

void groups_init(struct groups *g, bool ascii);
void groups_done(struct groups *g);
void groups_add(struct groups *g, const struct event *ev);
/* group_wanted: whether this type of event stands in the list at all. */
bool group_wanted(const struct event *ev);
/* group_matches: an empty filter matches all. */
bool group_matches(const struct group *g, const char *filter);
bool outcome_stopped(enum outcome o);
/* group_quiet: every program does this all the time: files opened, files looked for in vain. */
bool group_quiet(const struct group *g);

const char *group_kind(const struct group *g);    /* "NET", "FILE", "CALL": at most 5 columns */
const char *group_outcome(const struct group *g); /* "refused", "met", …: at most 11 columns */
const char *layer_words(enum layer l);            /* "no route in this network namespace" */
const char *basis_words(enum basis b);            /* how certain that is */
/* group_sentence: for an audience: "python3 wanted: connect 10.0.0.1:80. It was unreachable: no route …". Appended,
 * scrubbed. */
void group_sentence(const struct group *g, struct buf *out);
/* group_allow: how a preset would allow it, or that none can. Appended, scrubbed. */
void group_allow(const struct group *g, struct buf *out);
