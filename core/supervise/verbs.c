/* SPDX-License-Identifier: MIT */
/*
 * What is done to a run from outside of it: limits that were met, ends of all kinds, and the verbs of a front end.
 */
#include "core/supervise/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

void supervisor_limit(struct supervisor *v, enum limit_name n, enum basis basis, const char *evidence_fmt,
		      ...)
{
	char text[200];
	va_list ap;
	if (v->limit_told[n])
		return;
	v->limit_told[n] = true;
	va_start(ap, evidence_fmt);
	vsnprintf(text, sizeof(text), evidence_fmt, ap);
	va_end(ap);
	struct event ev = { .type = EVENT_LIMIT,
			    .basis = basis,
			    .limit = { .name = limit_kinds[n].name,
				       .value = v->launch->policy->limit[n],
				       .evidence = text } };
	feed_emit(&v->feed, &ev);
}

static void canary_alert(struct supervisor *v, const char *file, const char *where)
{
	FREE char *detail = xprintf("planted %s seen in %s\n", file, where);
	if (v->canary_told && strstr(v->canary_told, detail))
		return;
	FREE char *before = v->canary_told; /* bounded: a line for each file and each kind of place */
	v->canary_told = xprintf("%s%s", before ? before : "", detail);
	detail[strlen(detail) - 1] = 0;
	struct event ev = { .type = EVENT_ALERT, .alert = { .kind = "canary", .detail = detail } };
	feed_emit(&v->feed, &ev);
}

void supervisor_canary(struct supervisor *v, const char *where, const char *bytes, size_t len)
{
	const char *file;
	while ((file = canary_find(&v->inst.canary, &bytes, &len)))
		canary_alert(v, file, where);
}

/* The first reason is the verdict; what follows from the kill is not. */
void supervisor_kill(struct supervisor *v, enum verdict why)
{
	struct err e;
	if (v->facts.killed_for == VERDICT_NONE && !v->facts.ended) {
		v->facts.killed_for = why;
		v->facts.killed_at_ns = now_ns() - v->feed.start_ns;
		v->ended_ns = now_ns();
	}
	v->state = RUN_STOPPING;
	notify_deny_all(v, "end of the run");
	(void) v->inst.backend->stop(&v->inst, true,
				     &e); /* what it could not do, `end` does again and counts */
}

void supervisor_cancel(struct supervisor *v, const char *by)
{
	if (v->facts.killed_for == VERDICT_NONE)
		v->facts.cancelled_by = by;
	supervisor_kill(v, VERDICT_CANCELLED);
}

static void on_grace_over(void *arg)
{
	supervisor_kill(arg, VERDICT_CANCELLED);
}

/* The person's stop: SIGTERM, and the grace later SIGKILL. A target that ends by itself meanwhile was cancelled too. */
static void stop_by_person(struct supervisor *v, uint64_t grace_ns)
{
	struct err e;
	if (grace_ns == 0 || v->facts.killed_for != VERDICT_NONE) {
		supervisor_kill(v, VERDICT_CANCELLED);
		return;
	}
	v->facts.killed_for = VERDICT_CANCELLED;
	v->facts.killed_at_ns = now_ns() - v->feed.start_ns;
	notify_deny_all(v, "stop of the run"); /* who waits for an answer takes no SIGTERM either */
	if (v->paused)                         /* a stopped process takes no SIGTERM */
		(void) v->inst.backend->pause(&v->inst, false, &e);
	if (v->inst.backend->stop(&v->inst, false, &e) < 0 ||
	    loop_timer(v->loop, grace_ns, 0, on_grace_over, v, &e) < 0)
		supervisor_kill(v, VERDICT_CANCELLED);
}

/* What else was said waits for the loop. */
bool supervisor_given_up(void *arg)
{
	struct supervisor *v = arg;
	struct pollfd p = { .fd = v->feed.wire_fd, .events = POLLIN };
	uint8_t first[64];
	sigset_t pending;
	struct verb_msg m;
	struct err e;
	if (v->facts.killed_for != VERDICT_NONE)
		return true;
	if (sigpending(&pending) == 0 &&
	    (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1)) {
		v->facts.cancelled_by = "a signal to the supervisor";
	} else if (poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR))) {
		v->facts.cancelled_by = "the end of its front end";
	} else {
		ssize_t n = recv(p.fd, first, sizeof(first), MSG_PEEK | MSG_DONTWAIT);
		if (n <= 0 || verb_decode(first, (size_t) n, &m, &e) < 0 || m.verb != VERB_STOP)
			return false;
	}
	v->facts.killed_for = VERDICT_CANCELLED;
	v->facts.killed_at_ns = now_ns() - v->feed.start_ns;
	return true;
}

void supervisor_error(struct supervisor *v, const char *text)
{
	struct event ev = { .type = EVENT_ERROR, .error = { .text = text, .remedy = "" } };
	feed_emit(&v->feed, &ev);
}

/* ---- verbs ---- */

/* Which verb is legal in which state; what is not is ignored, as it crossed with an event that made it moot. */
static const bool verb_legal[RUN_STATE_MAX][VERB_MAX] = {
	[RUN_RUNNING] = { [VERB_STOP] = true,
			  [VERB_PAUSE] = true,
			  [VERB_RESUME] = true,
			  [VERB_ANSWER] = true,
			  [VERB_RESIZE] = true },
};

void supervisor_verb(struct supervisor *v, const struct verb_msg *m)
{
	struct err e;
	if (!verb_legal[v->state][m->verb])
		return;
	if (m->verb == VERB_STOP) {
		stop_by_person(v, m->grace_ns);
		return;
	}
	if (v->guest && (m->verb == VERB_RESIZE || m->verb == VERB_ANSWER)) {
		guest_verb(v, m);
		return;
	}
	if (m->verb == VERB_RESIZE) {
		typing_resize(v, m->rows, m->columns);
		return;
	}
	if (m->verb == VERB_ANSWER) {
		notify_answer(v, m->id, m->decision, "person");
		return;
	}
	v->paused = m->verb == VERB_PAUSE;
	if (v->inst.backend->pause(&v->inst, v->paused, &e) < 0)
		supervisor_error(v, e.text);
}
