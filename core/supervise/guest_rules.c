/* SPDX-License-Identifier: MIT */
/*
 * What a supervisor inside a machine may tell, and when. It may be the target's by now, so nothing passes that it could
 * not know, that is the host's or a person's to say, or that an honest one never says: whoever does so has left the
 * protocol, and its run ends. No input and no output: each rule is tested as data.
 */
#include "core/supervise/supervisor.h"

#include <string.h>

#define COUNT_MAX  (UINT64_C(1) << 40) /* of one event; sums of such stay far from the end of their type */
#define STATUS_MAX 255

/* Output comes by streams of its own, and how the run started we know. */
static const bool may_tell[EVENT_TYPE_MAX] = {
	[EVENT_DENIED] = true, [EVENT_NETWORK] = true, [EVENT_FILE] = true,    [EVENT_EXEC] = true,
	[EVENT_METER] = true,  [EVENT_LIMIT] = true,   [EVENT_ALERT] = true,   [EVENT_ASK] = true,
	[EVENT_ANSWER] = true, [EVENT_DROPPED] = true, [EVENT_CHANGED] = true, [EVENT_ERROR] = true,
	[EVENT_EXIT] = true,
};

/* What an honest one says a few times in a run, if at all. */
static const unsigned most[EVENT_TYPE_MAX] = { [EVENT_ALERT] = 64, [EVENT_ERROR] = 64 };

static const char *const words_of_answers[] = { "deny", "once", "run" };

static bool is_word(const char *s, const char *const *words, size_t count, size_t *ret_which)
{
	for (size_t k = 0; s && k < count; k++)
		if (strcmp(s, words[k]) == 0) {
			*ret_which = k;
			return true;
		}
	return false;
}

/* One that is held in there, and that there is. LIMIT_MAX: none. */
static enum limit_name limit_inside(const struct policy *p, const char *name)
{
	for (int n = 0; n < LIMIT_MAX; n++)
		if (n != LIMIT_WALL && n != LIMIT_OUTPUT && p->limit[n] != UNLIMITED &&
		    strcmp(name, limit_kinds[n].name) == 0)
			return (enum limit_name) n;
	return LIMIT_MAX;
}

static const char *check_limit(struct guest_rules *r, struct event *ev)
{
	enum limit_name n = limit_inside(r->policy, ev->limit.name);
	if (n == LIMIT_MAX || r->limit_told[n])
		return "a limit that is not the guest's to tell";
	r->limit_told[n] = true;
	ev->limit.value = r->policy->limit[n];
	return NULL;
}

/* ---- questions ---- */

static struct guest_question *question_of(struct guest_rules *r, uint64_t id)
{
	for (size_t k = 0; id && k < ASK_HELD_MAX; k++)
		if (r->asked[k].id == id)
			return &r->asked[k];
	return NULL;
}

/* The numbers rise, some may have got lost on the way, and of those that are held at once there are so many: the place of
 * an older one is free. What may be answered and until when is put in our words. */
static const char *check_ask(struct guest_rules *r, struct event *ev)
{
	if (!r->answers || r->policy->on_denied != DENIED_ASK || ev->ask.id <= r->last_asked ||
	    ev->ask.id > ASK_ASKED_MAX)
		return "a question that it may not put";
	r->last_asked = ev->ask.id;
	r->asked[ev->ask.id % ASK_HELD_MAX] = (struct guest_question){ .id = ev->ask.id };
	ev->ask.answer_count = ev->ask.answer_count > 1 ? ARRAY_LEN(words_of_answers) : 1;
	ev->ask.answers = words_of_answers;
	ev->ask.deadline_s = (double) ASK_DEADLINE_NS / NS_PER_S;
	return NULL;
}

bool guest_may_hear(struct guest_rules *r, uint64_t id, enum decision d)
{
	struct guest_question *q = question_of(r, id);
	if (!q || q->answered)
		return false;
	q->answered = true;
	q->decision = d;
	if (d == DECIDE_RUN && r->allowed_count < ASK_ALLOWED_MAX)
		r->allowed[r->allowed_count++] = id;
	return true;
}

static bool allowed_for_the_run(const struct guest_rules *r, uint64_t id)
{
	for (size_t k = 0; k < r->allowed_count; k++)
		if (r->allowed[k] == id)
			return true;
	return false;
}

/* That a person decided so, only a person's own word says, which went through here. */
static const char *check_answer(struct guest_rules *r, const struct event *ev)
{
	const struct guest_question *q = question_of(r, ev->answer.id);
	const char *by = ev->answer.by ? ev->answer.by : "";
	size_t d;
	if (!is_word(ev->answer.decision, words_of_answers, ARRAY_LEN(words_of_answers), &d))
		return "an answer that there is none of";
	if (d == DECIDE_DENY && !str_starts(by, "person"))
		return NULL;
	if (d == DECIDE_RUN && allowed_for_the_run(r, ev->answer.id))
		return NULL;
	return q && q->answered && q->decision == (enum decision) d ? NULL : "an answer that nobody gave";
}

/* ---- the end ---- */

/* "SIGKILL", or "signal 34". */
static bool is_signal_name(const char *s)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t before = str_starts(s, "SIG") ? 3 : str_starts(s, "signal ") ? 7 : 0;
	const char *rest = s + before;
	size_t len = strspn(rest, before == 7 ? letters + 26 : letters);
	return before && len > 0 && len <= 8 && !rest[len];
}

static bool has_limit(const struct policy *p, enum limit_name n)
{
	return p->limit[n] != UNLIMITED;
}

/* What a verdict from inside may be: the rest is for the host to say; and none is for a limit that there is not. */
static bool may_judge(const struct policy *p, enum verdict v)
{
	switch (v) {
	case VERDICT_OK:
	case VERDICT_FAILED:
	case VERDICT_SIGNALLED:
	case VERDICT_LOST:
	case VERDICT_SETUP_ERROR:
		return true;
	case VERDICT_CPU_TIME:
		return has_limit(p, LIMIT_CPU);
	case VERDICT_MEMORY:
		return has_limit(p, LIMIT_MEMORY);
	case VERDICT_PROCESSES:
		return has_limit(p, LIMIT_PROCESSES);
	case VERDICT_WRITE_SPACE:
		return has_limit(p, LIMIT_SPACE) || has_limit(p, LIMIT_INODES) ||
		       has_limit(p, LIMIT_FILE_SIZE);
	case VERDICT_POLICY:
		return p->on_denied == DENIED_KILL;
	default:
		return false;
	}
}

static bool end_fits(const struct event *ev)
{
	const int64_t status = ev->exit.status;
	const char *signal = ev->exit.signal;
	if (status < -1 || status > STATUS_MAX || (signal && !is_signal_name(signal)))
		return false;
	switch (ev->exit.verdict) {
	case VERDICT_OK:
		return status == 0 && !signal;
	case VERDICT_FAILED:
		return status > 0 && !signal;
	case VERDICT_SIGNALLED:
		return status > 128 && signal;
	case VERDICT_SETUP_ERROR:
		return status >= 125 && status <= 127 && !signal;
	default:
		return true;
	}
}

static const char *check_exit(const struct guest_rules *r, struct event *ev)
{
	if (!may_judge(r->policy, ev->exit.verdict) || !end_fits(ev) || ev->exit.limits_met_count > LIMIT_MAX)
		return "an end that cannot be";
	for (size_t k = 0; k < ev->exit.limits_met_count; k++)
		if (limit_inside(r->policy, ev->exit.limits_met[k]) == LIMIT_MAX)
			return "an end at a limit that is not the guest's";
	if (!ev->exit.evidence)
		ev->exit.evidence = "";
	if (ev->exit.cpu_s < 0)
		ev->exit.cpu_s = UNKNOWN_F64;
	return NULL;
}

/* ---- all of them ---- */

static uint64_t count_of(const struct event *ev)
{
	switch (ev->type) {
	case EVENT_DENIED:
		return ev->denied.count;
	case EVENT_NETWORK:
		return ev->network.count;
	case EVENT_FILE:
		return ev->file.count;
	case EVENT_ANSWER:
		return ev->answer.count;
	case EVENT_DROPPED:
		return ev->dropped.count;
	default:
		return 0;
	}
}

const char *guest_may_tell(struct guest_rules *r, struct event *ev)
{
	if (!may_tell[ev->type])
		return "an event that is not the guest's to tell";
	if (count_of(ev) > COUNT_MAX)
		return "a count that nothing comes to";
	if (most[ev->type] && ++r->told[ev->type] > most[ev->type])
		return "more alarms than a run has";
	switch (ev->type) {
	case EVENT_LIMIT:
		return check_limit(r, ev);
	case EVENT_ASK:
		return check_ask(r, ev);
	case EVENT_ANSWER:
		return check_answer(r, ev);
	case EVENT_EXIT:
		return check_exit(r, ev);
	default:
		return NULL;
	}
}
