/* SPDX-License-Identifier: MIT */
/*
 * Private to core/supervise: refused calls that wait for a person (`on_denied = ask`). What is kept here is who waits,
 * until when, and what was allowed for the rest of the run; the answers to the kernel are notify.c's.
 */
#pragma once

#include "core/model/event.h"

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASK_HELD_MAX    16   /* at once: as many threads stand still; the others are refused */
#define ASK_ASKED_MAX   1000 /* in one run: a target that kills its own callers could ask without end */
#define ASK_ALLOWED_MAX 16
#define ASK_DEADLINE_NS (UINT64_C(10) * 1000000000)

/* Why a call was refused without a question. */
enum ask_not { ASK_NOBODY, ASK_HELD_FULL, ASK_ASKED_FULL, ASK_NOT_MAX };

struct question {
	uint64_t id; /* from 1 */
	struct seccomp_notif req;
	const char *rule;  /* of the policy, or static: outlives the run */
	bool allowable;    /* by its number and register values alone: see struct seccomp_reason */
	uint64_t until_ns; /* refused then */
};
struct ask_allowed { /* for the rest of the run */
	uint64_t id; /* of the question that it was the answer to */
	int nr;
	const char *rule;
	uint64_t count; /* let through since it was last told */
};
struct asks {
	struct question held[ASK_HELD_MAX]; /* in the order of their coming */
	size_t held_count;
	uint64_t asked;
	struct ask_allowed allowed[ASK_ALLOWED_MAX];
	size_t allowed_count;
	uint64_t not_asked[ASK_NOT_MAX]; /* since it was last told */
};

/* ask_hold: a copy of *what with an id and a deadline. NULL: no question may be put, which is counted. Borrows until the
 * next ask_take. */
const struct question *ask_hold(struct asks *a, const struct question *what, uint64_t now);
/* ask_take: no longer held. False: there is none of that id, it crossed with its deadline. */
bool ask_take(struct asks *a, uint64_t id, struct question *ret);
/* ask_due: the id of one whose time is up; 0: none. */
uint64_t ask_due(const struct asks *a, uint64_t now);
/* ask_allow: calls like it are let through from now on. ask_allowed: whether this one is, which is counted. */
void ask_allow(struct asks *a, const struct question *what);
bool ask_allowed(struct asks *a, int nr, const char *rule);

/* ask_answered: an answer event: what was decided of `count` calls. ask_tell: what was counted, as such events. */
struct feed;
void ask_answered(struct feed *s, uint64_t id, enum decision d, const char *by, uint64_t count);
void ask_tell(struct asks *a, struct feed *s);
