/* SPDX-License-Identifier: MIT */
/*
 * Facts of one try -> the verdict of its cell. Pure, so that each rule is tested as data. "Stopped" needs a fact that
 * names the very limit, or the very thing, that the attack is about: failing is not enough.
 */
#include "core/suite/parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void known(struct cell_facts *f, enum layer layer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void known(struct cell_facts *f, enum layer layer, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->evidence, sizeof(f->evidence), fmt, ap);
	va_end(ap);
	f->known = true;
	f->layer = layer;
}

/* ---- the start event: what holds each limit ---- */

static enum layer layer_of(const struct event_limit *l)
{
	static const struct {
		const char *begin;
		enum layer layer;
	} mechanisms[] = { { "cgroup", LAYER_CGROUP },
			   { "RLIMIT_", LAYER_RLIMIT },
			   { "size of the one tmpfs", LAYER_MOUNT_NS },
			   { "nr_inodes", LAYER_MOUNT_NS } };

	const char *at = l->mechanism ? l->mechanism : "";
	at += str_starts(at, INSIDE_MECHANISM) ? strlen(INSIDE_MECHANISM) : 0;
	for (size_t i = 0; l->grade == GRADE_KERNEL && i < ARRAY_LEN(mechanisms); i++)
		if (str_starts(at, mechanisms[i].begin))
			return mechanisms[i].layer;
	return LAYER_SUPERVISOR;
}

static int limit_find(const char *name)
{
	for (int n = 0; name && n < LIMIT_MAX; n++)
		if (strcmp(limit_kinds[n].name, name) == 0)
			return n;
	return -1;
}

static void take_start(struct cell_facts *f, const struct event *ev)
{
	for (size_t i = 0; i < ev->start.limit_count; i++) {
		int n = limit_find(ev->start.limits[i].name);
		if (n < 0)
			continue;
		f->limit[n].layer = layer_of(&ev->start.limits[i]);
		f->limit[n].asked = ev->start.limits[i].asked;
	}
	for (size_t i = 0; i < ev->start.layer_count; i++) {
		const struct event_layer *l = &ev->start.layers[i];
		if (l->state == STATE_ON && strcmp(l->name, layer_name(LAYER_NET_NS)) == 0)
			snprintf(f->own_network, sizeof(f->own_network), "%s, %s", l->detail, l->verified);
	}
	if (ev->start.recording)
		snprintf(f->recording, sizeof(f->recording), "%s", ev->start.recording);
}

/* ---- what was met, and what was refused ---- */

static void take_limit(struct cell_facts *f, const char *name, const char *evidence)
{
	int n = limit_find(name);

	if (n >= 0 && f->attack->stopped_by[n])
		known(f, f->limit[n].layer, "%s: %s", name, evidence);
}

/* An event about the very thing that the attack reaches for. */
static void take_reach(struct cell_facts *f, const struct event *ev)
{
	int stopper = f->attack->fixture == FIXTURE_SERVICE ? STOPPER_NETWORK : STOPPER_FILE;
	struct buf what = { 0 };

	if (!f->attack->stopped_by[stopper])
		return;
	event_what(ev, &what);
	switch (ev->outcome) {
	case OUTCOME_REFUSED:
	case OUTCOME_UNREACHABLE:
	case OUTCOME_HIDDEN:
		known(f, ev->layer, "%.100s: %s, %s", what.data, outcome_name(ev->outcome),
		      basis_name(ev->basis));
		break;
	case OUTCOME_UNKNOWN:
		/* In a network of the run's own who answers is its own affair: what counts is that nobody came to us. */
		if (stopper != STOPPER_NETWORK || !*f->own_network)
			break;
		known(f, LAYER_NET_NS, "%.60s: %s; nobody came to the service", what.data, f->own_network);
		break;
	default:
		break;
	}
	buf_done(&what);
}

/* Of the limits that one verdict covers, the tightest that the attack is about. */
static int limit_of(const struct cell_facts *f, enum verdict v)
{
	static const struct {
		enum verdict verdict;
		enum limit_name limit;
	} covers[] = { { VERDICT_WALL_TIME, LIMIT_WALL },        { VERDICT_CPU_TIME, LIMIT_CPU },
		       { VERDICT_MEMORY, LIMIT_MEMORY },         { VERDICT_PROCESSES, LIMIT_PROCESSES },
		       { VERDICT_WRITE_SPACE, LIMIT_FILE_SIZE }, { VERDICT_WRITE_SPACE, LIMIT_SPACE },
		       { VERDICT_WRITE_SPACE, LIMIT_INODES },    { VERDICT_OUTPUT, LIMIT_OUTPUT } };
	int best = -1;

	for (size_t i = 0; i < ARRAY_LEN(covers); i++) {
		int n = covers[i].limit;
		if (covers[i].verdict != v || !f->attack->stopped_by[n] || f->limit[n].asked == UNLIMITED)
			continue;
		if (best < 0 || f->limit[n].asked < f->limit[best].asked)
			best = n;
	}
	return best;
}

static void take_exit(struct cell_facts *f, const struct event *ev)
{
	int n = limit_of(f, ev->exit.verdict);

	f->verdict = ev->exit.verdict;
	f->wall_s = ev->exit.wall_s;
	snprintf(f->ended, sizeof(f->ended), "%s: %s", verdict_name(ev->exit.verdict), ev->exit.evidence);
	if (n >= 0)
		known(f, f->limit[n].layer, "%s: %s", limit_kinds[n].name, ev->exit.evidence);
	for (size_t i = 0; i < ev->exit.limits_met_count && !f->known; i++)
		take_limit(f, ev->exit.limits_met[i], "the limit was met");
}

void facts_take(struct cell_facts *f, const struct planted *p, const struct event *ev)
{
	switch (ev->type) {
	case EVENT_START:
		take_start(f, ev);
		break;
	case EVENT_LIMIT:
		take_limit(f, ev->limit.name, ev->limit.evidence);
		break;
	case EVENT_NETWORK:
	case EVENT_FILE:
	case EVENT_DENIED:
		if (planted_touched(p, ev))
			take_reach(f, ev);
		break;
	case EVENT_ERROR:
		snprintf(f->error, sizeof(f->error), "%s", ev->error.text);
		break;
	case EVENT_EXIT:
		take_exit(f, ev);
		break;
	default:
		break;
	}
}

/* ---- the verdict ---- */

static enum cell_verdict judge(const struct cell_facts *f, char *evidence, size_t size)
{
	if (!f->control_worked) {
		snprintf(evidence, size, "the control failed: %s", f->control_text);
		return CELL_INCONCLUSIVE;
	}
	if (f->witness) {
		bool contained = f->own_kernel && !f->host_reached;
		snprintf(evidence, size,
			 contained ? "its witness is there, from a kernel of the run's own"
				   : "its witness is there");
		return contained ? CELL_CONTAINED : CELL_SUCCEEDED;
	}
	if (!f->started) {
		snprintf(evidence, size, "it did not begin: %s", *f->error ? f->error : f->ended);
		return CELL_NOT_RUN;
	}
	if (f->host_reached) { /* whatever was refused besides */
		snprintf(evidence, size, "it reached the service, and its witness is not there (%s)",
			 f->ended);
		return CELL_INCONCLUSIVE;
	}
	if (f->known) {
		snprintf(evidence, size, "%s", f->evidence);
		return CELL_STOPPED;
	}
	snprintf(evidence, size, "it began, came to nothing, and nothing says why (%s)", f->ended);
	return CELL_INCONCLUSIVE;
}

void facts_judge(const struct cell_facts *f, struct cell *ret)
{
	const char *reason = "";

	ret->verdict = judge(f, ret->evidence, sizeof(ret->evidence));
	ret->layer = ret->verdict == CELL_STOPPED ? f->layer : LAYER_NONE;
	if (ret->verdict == CELL_STOPPED)
		reason = f->attack->why_stopped;
	else if (ret->verdict == CELL_SUCCEEDED)
		reason = f->attack->why_not;
	snprintf(ret->reason, sizeof(ret->reason), "%s", reason);
	snprintf(ret->recording, sizeof(ret->recording), "%s", f->recording);
	ret->wall_s = f->wall_s;
}
