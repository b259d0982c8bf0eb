/* SPDX-License-Identifier: MIT */
/*
 * The end of a run: whatever is left of it is ended, every counter is read a last time, files come out, and what was seen
 * becomes the verdict.
 */
#include "core/supervise/supervisor.h"
#include "core/supervise/evidence.h"

#include <stdlib.h>
#include <sys/resource.h>

static void on_changed(void *arg, const char *op, const char *path, uint64_t bytes)
{
	struct supervisor *v = arg;
	struct event ev = { .type = EVENT_CHANGED, .changed = { .op = op, .path = path, .bytes = bytes } };
	feed_emit(&v->feed, &ev);
}

static void on_passed_over(void *arg, const char *what, uint64_t count, const char *why)
{
	struct supervisor *v = arg;
	struct event ev = { .type = EVENT_DROPPED, .dropped = { .what = what, .count = count, .why = why } };
	feed_emit(&v->feed, &ev);
}

static void collect(struct supervisor *v)
{
	const struct collector to = { on_changed, on_passed_over, output_copied, v };
	struct err e;
	if (v->inside)
		inside_collect(v, &to);
	else if (v->inst.backend->collect(&v->inst, v->launch, &to, &e) < 0)
		supervisor_error(v, e.text);
}

static void last_facts(struct supervisor *v)
{
	struct facts *f = &v->facts;
	struct rusage ru;
	uint64_t size = v->launch->policy->limit[LIMIT_FILE_SIZE];
	f->cg = v->meter.cg;
	f->wall_ns = v->ended_ns ? v->ended_ns - v->feed.start_ns : 0;
	f->cpu_ns = v->meter.cpu_ns;
	f->memory_peak = v->meter.memory_peak;
	if (getrusage(RUSAGE_CHILDREN, &ru) == 0) {
		/* Everything was waited for by now, so these are whole; the largest process is a floor for the tree's peak. */
		uint64_t cpu = ((uint64_t) ru.ru_utime.tv_sec + (uint64_t) ru.ru_stime.tv_sec) * NS_PER_S +
			       ((uint64_t) ru.ru_utime.tv_usec + (uint64_t) ru.ru_stime.tv_usec) * 1000;
		if (f->cg.cpu_ns == UNKNOWN_U64 && cpu > f->cpu_ns)
			f->cpu_ns = cpu;
		if (!v->meter.memory_exact && (uint64_t) ru.ru_maxrss << 10 > f->memory_peak)
			f->memory_peak = (uint64_t) ru.ru_maxrss << 10;
	}
	f->processes_peak = v->meter.tasks_peak;
	uint64_t tasks = v->launch->policy->limit[LIMIT_PROCESSES];
	if (f->cg.fork_failures == UNKNOWN_U64 && tasks != UNLIMITED && f->tasks_at_end != UNKNOWN_U64 &&
	    f->ended) {
		if (f->tasks_at_end + 1 > f->processes_peak) /* the target itself was the last one */
			f->processes_peak = f->tasks_at_end + 1;
		f->tasks_at_limit = f->processes_peak >= tasks;
	}
	f->written = v->meter.written;
	f->space_peak = v->meter.space_peak;
	/* Where all files together are less, none of them is so large. */
	if (size != UNLIMITED && f->ended && v->meter.space >= size)
		f->file_at_limit = evidence_file_at_limit(&v->inst, size, &v->began);
}

/* Nothing of the run goes on: what can be known of it is read now. */
void supervisor_gather(struct supervisor *v)
{
	if (!v->meter_last)
		meter_read(&v->meter, &v->inst);
	notify_tick(v);
	group_tick(&v->groups, &v->feed);
	if (!v->guest) {
		supervisor_counters(v);
		meter_emit(&v->meter, &v->inst, &v->feed);
	}
	last_facts(v);
}

void supervisor_end(struct supervisor *v)
{
	v->state = RUN_STOPPING;
	if (!v->ended_ns)
		v->ended_ns = now_ns();
	uint64_t from = v->ended_ns;
	netless_stop(&v->netless);
	notify_deny_all(v, "end of the run");
	if (v->inst.backend) {
		v->facts.processes_left = (uint64_t) v->inst.backend->end(&v->inst);
		v->facts.quiet_ns = now_ns() - from;
		if (v->inside)
			relay_finish(v);
		else
			output_finish(v);
		if (v->inst.pid == 0 && v->started) {
			supervisor_gather(v);
			if (!v->facts.setup_code)
				collect(v);
		}
		notify_stop(v);
	}
}

void supervisor_finish(struct supervisor *v)
{
	struct verdict_space space;
	struct event ev;
	struct err e;
	supervisor_end(v);
	if (v->facts.setup_code)
		supervisor_error(v, v->facts.setup_text);
	if (guest_silent(v)) {
		v->inst.silent = true;
		supervisor_error(
			v, "the machine never said a word: its snapshot may be damaged, and is not kept");
	}
	if (v->inst.backend)
		v->inst.backend->done(&v->inst); /* before the exit: whoever has read it finds nothing left */
	verdict_make(&v->facts, v->inst.limits, &ev, &space);
	if (v->guest)
		guest_verdict(v, &ev);
	v->state = RUN_DONE;
	if (v->feed.record && record_flush(v->feed.record) < 0)
		supervisor_error(v, "the recording is not whole: its file could not be written");
	feed_emit(&v->feed, &ev);
	if (v->feed.record && record_close(v->feed.record, &e) < 0)
		(void) e; /* told above, as far as it was known then */
	feed_drain(&v->feed);
	guest_stop(v);
	meter_done(&v->meter);
	feed_done(&v->feed);
	loop_free(v->loop);
	free(v->canary_told);
}
