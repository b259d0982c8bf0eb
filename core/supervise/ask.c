/* SPDX-License-Identifier: MIT */
/*
 * Refused calls that wait for a person: the table of them. Bounded in every direction, as the target decides how often
 * it asks: who waits at once, how many questions a run may put, what is remembered; the rest is refused and counted.
 */
#include "core/supervise/ask.h"
#include "core/supervise/supervisor.h"

#include <string.h>

const struct question *ask_hold(struct asks *a, const struct question *what, uint64_t now)
{
	enum ask_not full = a->held_count == ASK_HELD_MAX ? ASK_HELD_FULL : ASK_ASKED_FULL;
	if (a->held_count == ASK_HELD_MAX || a->asked == ASK_ASKED_MAX) {
		a->not_asked[full]++;
		return NULL;
	}
	struct question *held = &a->held[a->held_count++];
	*held = *what;
	held->id = ++a->asked;
	held->until_ns = now + ASK_DEADLINE_NS;
	return held;
}

bool ask_take(struct asks *a, uint64_t id, struct question *ret)
{
	for (size_t k = 0; k < a->held_count; k++) {
		if (a->held[k].id != id)
			continue;
		*ret = a->held[k];
		memmove(&a->held[k], &a->held[k + 1], (--a->held_count - k) * sizeof(a->held[0]));
		return true;
	}
	return false;
}

uint64_t ask_due(const struct asks *a, uint64_t now)
{
	return a->held_count && a->held[0].until_ns <= now ? a->held[0].id : 0; /* the first waits longest */
}

static struct ask_allowed *find_allowed(struct asks *a, int nr, const char *rule)
{
	for (size_t k = 0; k < a->allowed_count; k++)
		if (a->allowed[k].nr == nr && strcmp(a->allowed[k].rule, rule) == 0)
			return &a->allowed[k];
	return NULL;
}

void ask_allow(struct asks *a, const struct question *what)
{
	if (a->allowed_count < ASK_ALLOWED_MAX && !find_allowed(a, what->req.data.nr, what->rule))
		a->allowed[a->allowed_count++] =
			(struct ask_allowed){ .id = what->id, .nr = what->req.data.nr, .rule = what->rule };
}

bool ask_allowed(struct asks *a, int nr, const char *rule)
{
	struct ask_allowed *found = find_allowed(a, nr, rule);
	if (found)
		found->count++;
	return found != NULL;
}

/* A refusal is an event of its own. What the kernel says to a call that is let through is not seen from here. */
void ask_answered(struct feed *s, uint64_t id, enum decision d, const char *by, uint64_t count)
{
	static const char *const words[] = {
		[DECIDE_DENY] = "deny", [DECIDE_ONCE] = "once", [DECIDE_RUN] = "run"
	};
	struct event ev = { .type = EVENT_ANSWER,
			    .outcome = d == DECIDE_DENY ? OUTCOME_NONE : OUTCOME_UNKNOWN,
			    .basis = d == DECIDE_DENY ? BASIS_NONE : BASIS_UNKNOWN,
			    .answer = { .id = id, .decision = words[d], .by = by, .count = count } };
	feed_emit(s, &ev);
}

void ask_tell(struct asks *a, struct feed *s)
{
	static const char *const why[ASK_NOT_MAX] = {
		[ASK_NOBODY] = "nobody to ask",
		[ASK_HELD_FULL] = "too many calls that wait already",
		[ASK_ASKED_FULL] = "too many questions in one run",
	};
	for (size_t k = 0; k < ASK_NOT_MAX; k++) {
		if (a->not_asked[k])
			ask_answered(s, 0, DECIDE_DENY, why[k], a->not_asked[k]);
		a->not_asked[k] = 0;
	}
	for (size_t k = 0; k < a->allowed_count; k++) {
		struct ask_allowed *at = &a->allowed[k];
		if (at->count)
			ask_answered(s, at->id, DECIDE_RUN, "person, for this run", at->count);
		at->count = 0;
	}
}
