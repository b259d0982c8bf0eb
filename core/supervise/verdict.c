/* SPDX-License-Identifier: MIT */
/*
 * Facts -> verdict. Nothing is guessed from an exit status: a limit is named only where a counter, an answer of ours or
 * our own record says that it was met. Pure, so that each rule is tested as data.
 */
#include "core/supervise/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

struct say {
	const struct facts *f;
	const struct event_limit *limits;
	struct verdict_space *space;
};

static void evidence(const struct say *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void evidence(const struct say *s, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(s->space->evidence, sizeof(s->space->evidence), fmt, ap);
	va_end(ap);
}

static void signal_name(int signo, char name[16])
{
	const char *abbrev = sigabbrev_np(signo); /* real-time signals have none */
	if (abbrev)
		snprintf(name, 16, "SIG%s", abbrev);
	else
		snprintf(name, 16, "signal %d", signo);
}

static bool ended_badly(const struct facts *f)
{
	return !f->ended || !WIFEXITED(f->wait_status) || WEXITSTATUS(f->wait_status) != 0;
}

static uint64_t counter(uint64_t v)
{
	return v == UNKNOWN_U64 ? 0 : v;
}

static bool met_memory(const struct facts *f)
{
	return counter(f->cg.oom_kills) > 0 || f->enomem_answered > 0 || f->killed_for == VERDICT_MEMORY;
}

static bool met_processes(const struct facts *f)
{
	return counter(f->cg.fork_failures) > 0 || f->eagain_answered > 0 || f->tasks_at_limit ||
	       f->killed_for == VERDICT_PROCESSES;
}

static bool met_file_size(const struct facts *f)
{
	return f->file_at_limit || (f->ended && !f->xfsz_own && WIFSIGNALED(f->wait_status) &&
				    WTERMSIG(f->wait_status) == SIGXFSZ);
}

/* A process can send itself SIGXCPU; RLIMIT_CPU only does when that much was used, by the count that it is held to. */
static bool met_cpu(const struct facts *f, const struct event_limit *cpu)
{
	bool xcpu = f->ended && WIFSIGNALED(f->wait_status) && WTERMSIG(f->wait_status) == SIGXCPU;
	return f->killed_for == VERDICT_CPU_TIME ||
	       (xcpu && cpu->asked != UNLIMITED && counter(f->rlimit_cpu_ns) >= cpu->enforced);
}

static void say_memory(const struct say *s)
{
	const struct facts *f = s->f;
	char limit[24], peak[24], largest[24];
	format_bytes(s->limits[LIMIT_MEMORY].asked, limit, sizeof(limit));
	format_bytes(f->memory_peak, peak, sizeof(peak));
	if (counter(f->cg.oom_kills))
		evidence(s, "limit %s, peak %s, oom_kill %llu, at %.1f s", limit, peak,
			 (unsigned long long) f->cg.oom_kills, (double) f->first_oom_ns / 1e9);
	else if (f->killed_for == VERDICT_MEMORY && f->thrashed)
		evidence(s,
			 "limit %s, peak %s, %llu pages of programs dropped and needed again at once, "
			 "stopped at %.1f s",
			 limit, peak, (unsigned long long) f->thrashed, (double) f->killed_at_ns / 1e9);
	else if (f->killed_for == VERDICT_MEMORY)
		evidence(s, "limit %s, measured %s over the tree by proportional size, stopped at %.1f s",
			 limit, peak, (double) f->killed_at_ns / 1e9);
	else
		evidence(s,
			 "limit %s: an allocation of %s was answered ENOMEM %llu times, and the target ended "
			 "in failure",
			 limit, format_bytes(f->enomem_largest, largest, sizeof(largest)),
			 (unsigned long long) f->enomem_answered);
}

static void say_processes(const struct say *s)
{
	char by[80];
	if (counter(s->f->cg.fork_failures))
		snprintf(by, sizeof(by), "refused forks: %llu counted in pids.events",
			 (unsigned long long) s->f->cg.fork_failures);
	else if (s->f->eagain_answered)
		snprintf(by, sizeof(by), "refused forks: %llu answered EAGAIN",
			 (unsigned long long) s->f->eagain_answered);
	else
		snprintf(by, sizeof(by), "found standing at the limit; nothing counts refused forks here");
	evidence(s, "limit %llu tasks, peak %llu, %s", (unsigned long long) s->limits[LIMIT_PROCESSES].asked,
		 (unsigned long long) s->f->processes_peak, by);
}

static void say_space(const struct say *s)
{
	char limit[24];
	if (met_file_size(s->f))
		evidence(s, "file size limit %s: %s",
			 format_bytes(s->limits[LIMIT_FILE_SIZE].asked, limit, sizeof(limit)),
			 s->f->file_at_limit ? "a file of exactly that size was found by looking"
					     : "ended by SIGXFSZ");
	else if (s->f->space_full)
		evidence(s, "limit %s for all writable places, full when looked at",
			 format_bytes(s->limits[LIMIT_SPACE].asked, limit, sizeof(limit)));
	else
		evidence(s, "limit of %llu files and folders, all used when looked at",
			 (unsigned long long) s->limits[LIMIT_INODES].asked);
}

/* Our own kill record: each of these was decided by us, at a time. */
static enum verdict by_record(const struct say *s)
{
	const struct facts *f = s->f;
	char limit[24];
	double at = (double) f->killed_at_ns / 1e9;
	switch (f->killed_for) {
	case VERDICT_WALL_TIME:
		evidence(s, "limit %s, stopped at %.2f s by the supervisor's timer; cpu %.2f s",
			 format_ns(s->limits[LIMIT_WALL].asked, limit, sizeof(limit)), at,
			 (double) f->cpu_ns / 1e9);
		break;
	case VERDICT_CPU_TIME:
		evidence(s, "limit %s, the tree had used %.2f s, stopped at %.2f s",
			 format_ns(s->limits[LIMIT_CPU].asked, limit, sizeof(limit)),
			 (double) f->cpu_ns / 1e9, at);
		break;
	case VERDICT_OUTPUT:
		evidence(s, "limit %s, stopped at %.2f s as the preset says on_output_limit = stop",
			 format_bytes(s->limits[LIMIT_OUTPUT].asked, limit, sizeof(limit)), at);
		break;
	case VERDICT_MEMORY:
		say_memory(s);
		break;
	case VERDICT_POLICY:
		evidence(s, "called %s, which the policy forbids with on_denied = kill, at %.2f s",
			 f->policy_call, at);
		break;
	case VERDICT_CANCELLED:
		evidence(s, "stopped by %s at %.2f s", f->cancelled_by ? f->cancelled_by : "the person", at);
		break;
	default:
		break;
	}
	return f->killed_for;
}

/* The target came to its own end: a limit is the verdict where it was met and the end was a failure. */
static enum verdict by_end(const struct say *s)
{
	const struct facts *f = s->f;
	if (met_cpu(f, &s->limits[LIMIT_CPU])) {
		evidence(s,
			 "limit %.0f s of CPU time a process (RLIMIT_CPU): ended by SIGXCPU at %.3f s by its "
			 "ticks, cpu %.2f s",
			 (double) s->limits[LIMIT_CPU].enforced / 1e9, (double) f->rlimit_cpu_ns / 1e9,
			 (double) f->cpu_ns / 1e9);
		return VERDICT_CPU_TIME;
	}
	if (ended_badly(f) && met_memory(f)) {
		say_memory(s);
		return VERDICT_MEMORY;
	}
	if (ended_badly(f) && met_processes(f)) {
		say_processes(s);
		return VERDICT_PROCESSES;
	}
	if (ended_badly(f) && (met_file_size(f) || f->space_full || f->inodes_full)) {
		say_space(s);
		return VERDICT_WRITE_SPACE;
	}
	if (!f->ended) {
		evidence(s, "the target's end was not reported");
		return VERDICT_LOST;
	}
	if (WIFSIGNALED(f->wait_status)) {
		char name[16];
		signal_name(WTERMSIG(f->wait_status), name);
		evidence(s, "ended by %s, which nothing of belljar sent", name);
		return VERDICT_SIGNALLED;
	}
	evidence(s, "exit status %d", WEXITSTATUS(f->wait_status));
	return WEXITSTATUS(f->wait_status) == 0 ? VERDICT_OK : VERDICT_FAILED;
}

static size_t limits_met(const struct say *s, enum verdict v)
{
	const struct facts *f = s->f;
	const bool met[LIMIT_MAX] = {
		[LIMIT_MEMORY] = met_memory(f) && v != VERDICT_MEMORY,
		[LIMIT_PROCESSES] = met_processes(f) && v != VERDICT_PROCESSES,
		[LIMIT_FILE_SIZE] = met_file_size(f) && v != VERDICT_WRITE_SPACE,
		[LIMIT_SPACE] = f->space_full && v != VERDICT_WRITE_SPACE,
		[LIMIT_INODES] = f->inodes_full && v != VERDICT_WRITE_SPACE,
		[LIMIT_OUTPUT] = (f->output_dropped[0] || f->output_dropped[1]) && v != VERDICT_OUTPUT,
	};
	size_t n = 0;
	for (int k = 0; k < LIMIT_MAX; k++)
		if (met[k])
			s->space->met[n++] = limit_kinds[k].name;
	return n;
}

static int setup_status(const struct facts *f)
{
	if (!f->exec_failed)
		return 125;
	return f->setup_code == ENOENT || f->setup_code == ENOTDIR ? 127 : 126;
}

void verdict_make(const struct facts *f, const struct event_limit limits[LIMIT_MAX], struct event *ret_exit,
		  struct verdict_space *space)
{
	const struct say s = { f, limits, space };
	enum verdict v;
	int status = -1;
	const char *signal = NULL;
	space->evidence[0] = 0;
	if (f->setup_code) {
		v = VERDICT_SETUP_ERROR;
		evidence(&s, "%s", f->setup_text);
		status = setup_status(f);
	} else {
		v = f->killed_for != VERDICT_NONE ? by_record(&s) : by_end(&s);
	}
	if (!f->setup_code && f->ended) {
		status = WIFEXITED(f->wait_status) ? WEXITSTATUS(f->wait_status)
						   : 128 + WTERMSIG(f->wait_status);
		if (WIFSIGNALED(f->wait_status)) {
			signal_name(WTERMSIG(f->wait_status), space->signal);
			signal = space->signal;
		}
	}
	*ret_exit = (struct event){ .type = EVENT_EXIT,
				    .exit = {
					    .verdict = v,
					    .status = status,
					    .signal = signal,
					    .evidence = space->evidence,
					    .wall_s = (double) f->wall_ns / 1e9,
					    .cpu_s = f->cpu_ns == UNKNOWN_U64 ? UNKNOWN_F64
									      : (double) f->cpu_ns / 1e9,
					    .memory_peak = f->memory_peak,
					    .processes_peak = f->processes_peak,
					    .written = f->written,
					    .space_peak = f->space_peak,
					    .stdout_dropped = f->output_dropped[STREAM_STDOUT],
					    .stderr_dropped = f->output_dropped[STREAM_STDERR],
					    .processes_left = f->processes_left,
					    .quiet_after_s = (double) f->quiet_ns / 1e9,
					    .limits_met = space->met,
					    .limits_met_count = limits_met(&s, v),
				    } };
}
