/* SPDX-License-Identifier: MIT */
/*
 * The process that runs a suite: attack by attack, first its control, then a run at each level, one after the other so
 * that none disturbs another. It leads a session of its own and is a child subreaper; when its reader goes away it ends
 * what runs and itself.
 */
#include "core/suite/parts.h"

#include "core/supervise/supervise.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* On a busy machine a clock of half a second may strike before the interpreter is there: that says nothing. */
#define TRIES_MAX 4

struct conductor {
	const struct conducted *what;
	int reader_fd;
	size_t attack, preset; /* of the cell that runs */
	bool gone;             /* the reader is */
};

static void tell(struct conductor *c, const struct suite_msg *msg)
{
	struct pollfd p = { .fd = c->reader_fd, .events = POLLOUT };
	int r;

	while ((r = wire_send(c->reader_fd, msg, sizeof(*msg))) == -EAGAIN)
		(void) poll(&p, 1, -1);
	c->gone |= r < 0;
}

/* ---- one run ---- */

static void tell_waits(struct conductor *c, const char *what)
{
	struct suite_msg msg = { .step = SUITE_WAITS, .attack = c->attack, .preset = c->preset };

	snprintf(msg.text, sizeof(msg.text), "%s", what);
	tell(c, &msg);
}

static void take_event(struct conductor *c, struct attempt *a, struct cell_facts *f, struct run *run,
		       struct event *ev)
{
	if (ev->type == EVENT_PROGRESS)
		tell_waits(c, ev->progress.text);
	if (ev->type == EVENT_OUTPUT && ev->output.stream == STREAM_STDOUT)
		hearing_take(&a->hearing, ev->output.bytes, ev->output.len);
	if (ev->type == EVENT_ASK) /* nobody is asked here */
		(void) run_answer(run, ev->ask.id, DECIDE_DENY);
	facts_take(f, &a->planted, ev);
	event_free(ev);
}

static void follow(struct conductor *c, struct attempt *a, struct cell_facts *f)
{
	struct run *run = NULL;
	struct event *ev;
	struct err e;
	int r = run_start(a->launch, &run, &e);

	if (r < 0) {
		snprintf(f->error, sizeof(f->error), "%.190s", e.text);
		return;
	}
	while (!c->gone && (r = run_next(run, &ev)) != -EPIPE) {
		struct pollfd p[] = { { .fd = run_fd(run), .events = POLLIN },
				      { .fd = a->planted.listen_fd, .events = POLLIN },
				      { .fd = c->reader_fd } };
		if (r > 0) {
			take_event(c, a, f, run, ev);
			continue;
		}
		if (poll(p, ARRAY_LEN(p), -1) <= 0)
			continue;
		if (p[1].revents)
			planted_serve(&a->planted);
		c->gone |= p[2].revents != 0;
	}
	run_free(run);
}

/* Whether a clock that the attack brought along struck before it began. */
static bool struck_early(const struct cell_facts *f)
{
	return !f->started && f->verdict == VERDICT_WALL_TIME && f->attack->limited[LIMIT_WALL];
}

static void try_once(struct conductor *c, const char *preset, struct cell_facts *f)
{
	struct attempt a = { 0 };
	struct policy *policy;
	struct err e;

	if (preset_load(preset, &policy, &e) < 0) {
		snprintf(f->error, sizeof(f->error), "%.190s", e.text);
		return;
	}
	f->own_kernel = level_own_kernel(policy->backend);
	if (attempt_make(f->attack, policy, &a, &e) < 0)
		snprintf(f->error, sizeof(f->error), "%.190s", e.text);
	else
		follow(c, &a, f);
	f->started = a.hearing.started;
	f->witness = a.hearing.witness;
	f->host_reached = a.planted.came > 0 || (f->witness && f->attack->fixture != FIXTURE_NONE);
	attempt_done(&a);
}

/* ---- one attack ---- */

static bool control(struct conductor *c, size_t n, char *ret_text, size_t size)
{
	struct suite_msg msg = { .step = SUITE_CONTROL, .attack = n };
	struct attempt a = { 0 };
	struct policy *policy;
	struct err e;

	tell(c, &msg);
	if (preset_load(c->what->presets[0], &policy, &e) < 0 ||
	    attempt_make(&c->what->manifest->attacks[n], policy, &a, &e) < 0)
		snprintf(ret_text, size, "%.230s", e.text);
	else
		msg.control_worked = control_run(&a, c->reader_fd, ret_text, size);
	attempt_done(&a);
	msg.step = SUITE_CONTROLLED;
	snprintf(msg.text, sizeof(msg.text), "%s", ret_text);
	tell(c, &msg);
	return msg.control_worked;
}

static enum cell_verdict expected_of(const struct attack *a, const char *preset)
{
	struct policy *policy;
	struct err e;

	if (preset_load(preset, &policy, &e) < 0)
		return CELL_VERDICT_MAX;
	enum cell_verdict v = manifest_expects(a, policy->backend);
	policy_free(policy);
	return v;
}

/* A level that nobody asked for, and whose parts are not on this host. */
static bool is_missing(const struct conductor *c, const char *preset, struct cell *ret)
{
	struct policy *policy;
	struct err e;

	if (c->what->asked || preset_load(preset, &policy, &e) < 0)
		return false;
	int r = level_here(policy->backend, &e);
	policy_free(policy);
	if (r >= 0)
		return false;
	ret->verdict = ret->expected = CELL_NOT_RUN;
	ret->wall_s = UNKNOWN_F64;
	snprintf(ret->evidence, sizeof(ret->evidence), "not here: %.250s", e.text);
	return true;
}

static void cell(struct conductor *c, size_t n, size_t preset, bool control_worked, const char *control_text)
{
	const struct attack *attack = &c->what->manifest->attacks[n];
	const char *name = c->what->presets[preset];
	struct suite_msg msg = { .step = SUITE_CELL, .attack = n, .preset = preset };
	struct cell_facts f;
	int tries = 0;

	c->attack = n;
	c->preset = preset;
	tell(c, &msg);
	msg.step = SUITE_CELL_DONE;
	msg.cell = (struct cell){ .attack = n, .preset = preset };
	if (is_missing(c, name, &msg.cell)) {
		tell(c, &msg);
		return;
	}
	do {
		f = (struct cell_facts){ .attack = attack,
					 .control_worked = control_worked,
					 .control_text = control_text,
					 .wall_s = UNKNOWN_F64 };
		if (control_worked) /* without that nothing could come of it */
			try_once(c, name, &f);
	} while (!c->gone && struck_early(&f) && ++tries < TRIES_MAX);
	msg.cell.expected = expected_of(attack, name);
	facts_judge(&f, &msg.cell);
	tell(c, &msg);
}

_Noreturn void conductor_main(const struct conducted *what, int reader_fd)
{
	struct conductor c = { .what = what, .reader_fd = reader_fd };
	char text[240];

	(void) setsid();
	run_prepare_process();
	for (size_t n = 0; n < what->manifest->attack_count && !c.gone; n++) {
		bool worked = control(&c, n, text, sizeof(text));
		for (size_t k = 0; what->presets[k] && !c.gone; k++)
			cell(&c, n, k, worked, text);
	}
	tell(&c, &(struct suite_msg){ .step = SUITE_DONE });
	_exit(0);
}
