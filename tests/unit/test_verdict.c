/* SPDX-License-Identifier: MIT */
/*
 * The verdict as data: each row is a set of facts and what must be said of them. No row may follow from an exit status
 * alone where a limit is named.
 */
#include "core/supervise/supervisor.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define EXITED(n)    ((n) << 8)
#define KILLED_BY(n) (n)
#define NONE                                                           \
	{                                                              \
		.oom_kills = UNKNOWN_U64, .fork_failures = UNKNOWN_U64 \
	}

/* clang-format off */
static const struct event_limit limits[LIMIT_MAX] = {
	[LIMIT_WALL] = { .name = "wall", .asked = 2 * NS_PER_S }, [LIMIT_CPU] = { .name = "cpu", .asked = NS_PER_S, .enforced = NS_PER_S },
	[LIMIT_MEMORY] = { .name = "memory", .asked = 256 << 20 }, [LIMIT_PROCESSES] = { .name = "processes", .asked = 64 },
	[LIMIT_FILE_SIZE] = { .name = "file_size", .asked = 32 << 20 }, [LIMIT_SPACE] = { .name = "space", .asked = 64 << 20 },
	[LIMIT_INODES] = { .name = "inodes", .asked = 100 }, [LIMIT_OUTPUT] = { .name = "output", .asked = 1 << 20 },
};

static const struct row {
	const char *what;
	struct facts f;
	enum verdict verdict;
	int64_t status;
	const char *signal, *evidence, *met;
} rows[] = {
	{ "returned 0", { .ended = true, .wait_status = EXITED(0), .cg = NONE }, VERDICT_OK, 0, NULL, "exit status 0", NULL },
	{ "returned 134", { .ended = true, .wait_status = EXITED(134), .cg = NONE }, VERDICT_FAILED, 134, NULL, "exit status 134", NULL },
	{ "aborted", { .ended = true, .wait_status = KILLED_BY(SIGABRT), .cg = NONE }, VERDICT_SIGNALLED, 134, "SIGABRT", "SIGABRT", NULL },
	{ "killed itself", { .ended = true, .wait_status = KILLED_BY(SIGKILL), .cg = NONE }, VERDICT_SIGNALLED, 137, "SIGKILL",
	    "which nothing of belljar sent", NULL },
	{ "returned 137 by itself", { .ended = true, .wait_status = EXITED(137), .cg = NONE }, VERDICT_FAILED, 137, NULL, "137", NULL },
	{ "wall", { .killed_for = VERDICT_WALL_TIME, .killed_at_ns = 2 * NS_PER_S, .cg = NONE }, VERDICT_WALL_TIME, -1, NULL,
	    "limit 2 s, stopped at 2.00 s", NULL },
	{ "SIGXCPU sent by itself", { .ended = true, .wait_status = KILLED_BY(SIGXCPU), .cpu_ns = 2000000, .cg = NONE },
	    VERDICT_SIGNALLED, 152, "SIGXCPU", "SIGXCPU", NULL },
	{ "SIGXCPU sent by itself, a tick before the limit", { .ended = true, .wait_status = KILLED_BY(SIGXCPU), .cpu_ns = 1100000000,
	    .rlimit_cpu_ns = 996000000, .cg = NONE }, VERDICT_SIGNALLED, 152, "SIGXCPU", "SIGXCPU", NULL },
	{ "SIGXCPU, and nobody could ask", { .ended = true, .wait_status = KILLED_BY(SIGXCPU), .cpu_ns = 1100000000,
	    .rlimit_cpu_ns = UNKNOWN_U64, .cg = NONE }, VERDICT_SIGNALLED, 152, "SIGXCPU", "SIGXCPU", NULL },
	{ "cpu by the kernel", { .ended = true, .wait_status = KILLED_BY(SIGXCPU), .cpu_ns = 766000000, .rlimit_cpu_ns = 1003900000,
	    .cg = NONE }, VERDICT_CPU_TIME, 152, "SIGXCPU", "(RLIMIT_CPU): ended by SIGXCPU at 1.004 s by its ticks, cpu 0.77 s", NULL },
	{ "cpu of the tree", { .killed_for = VERDICT_CPU_TIME, .cpu_ns = 1200000000, .cg = NONE }, VERDICT_CPU_TIME, -1, NULL,
	    "the tree had used 1.20 s", NULL },
	{ "oom", { .ended = true, .wait_status = KILLED_BY(SIGKILL), .memory_peak = 256 << 20, .first_oom_ns = 800000000,
	    .cg = { .oom_kills = 1, .fork_failures = 0 } }, VERDICT_MEMORY, 137, "SIGKILL",
	    "limit 256 MiB, peak 256 MiB, oom_kill 1, at 0.8 s", NULL },
	{ "oom took the reaper too", { .cg = { .oom_kills = 2, .fork_failures = 0 } }, VERDICT_MEMORY, -1, NULL, "oom_kill 2", NULL },
	{ "oom of a child, handled", { .ended = true, .wait_status = EXITED(0), .cg = { .oom_kills = 1, .fork_failures = 0 } },
	    VERDICT_OK, 0, NULL, "exit status 0", "memory" },
	{ "ENOMEM, then failed", { .ended = true, .wait_status = EXITED(1), .enomem_answered = 3, .enomem_largest = 512 << 20, .cg = NONE },
	    VERDICT_MEMORY, 1, NULL, "an allocation of 512 MiB was answered ENOMEM 3 times", NULL },
	{ "ENOMEM, handled", { .ended = true, .wait_status = EXITED(0), .enomem_answered = 1, .cg = NONE }, VERDICT_OK, 0, NULL,
	    "exit status 0", "memory" },
	{ "measured over", { .killed_for = VERDICT_MEMORY, .memory_peak = 300 << 20, .killed_at_ns = NS_PER_S, .cg = NONE },
	    VERDICT_MEMORY, -1, NULL, "measured 300 MiB over the tree", NULL },
	{ "nothing but thrashing", { .killed_for = VERDICT_MEMORY, .memory_peak = 256 << 20, .thrashed = 91, .killed_at_ns = 3 * NS_PER_S, .cg = NONE },
	    VERDICT_MEMORY, -1, NULL, "peak 256 MiB, 91 pages of programs dropped and needed again at once, stopped at 3.0 s", NULL },
	{ "forks counted", { .ended = true, .wait_status = EXITED(1), .processes_peak = 64, .cg = { .oom_kills = 0, .fork_failures = 7 } },
	    VERDICT_PROCESSES, 1, NULL, "limit 64 tasks, peak 64, refused forks: 7 counted in pids.events", NULL },
	{ "forks answered", { .ended = true, .wait_status = EXITED(2), .eagain_answered = 5, .cg = NONE }, VERDICT_PROCESSES, 2, NULL,
	    "5 answered EAGAIN", NULL },
	{ "stood at the limit", { .ended = true, .wait_status = EXITED(1), .processes_peak = 64, .tasks_at_limit = true, .cg = NONE },
	    VERDICT_PROCESSES, 1, NULL, "limit 64 tasks, peak 64, found standing at the limit", NULL },
	{ "stood at the limit, handled", { .ended = true, .wait_status = EXITED(0), .processes_peak = 64, .tasks_at_limit = true, .cg = NONE },
	    VERDICT_OK, 0, NULL, "exit status 0", "processes" },
	{ "forks refused, handled", { .ended = true, .wait_status = EXITED(0), .eagain_answered = 5, .cg = NONE }, VERDICT_OK, 0, NULL,
	    "exit status 0", "processes" },
	{ "SIGXFSZ", { .ended = true, .wait_status = KILLED_BY(SIGXFSZ), .cg = NONE }, VERDICT_WRITE_SPACE, 153, "SIGXFSZ",
	    "file size limit 32 MiB: ended by SIGXFSZ", NULL },
	{ "SIGXFSZ sent by itself", { .ended = true, .wait_status = KILLED_BY(SIGXFSZ), .xfsz_own = true, .cg = NONE }, VERDICT_SIGNALLED,
	    153, "SIGXFSZ", "which nothing of belljar sent", NULL },
	{ "SIGXFSZ sent, and a file at the limit", { .ended = true, .wait_status = KILLED_BY(SIGXFSZ), .xfsz_own = true,
	    .file_at_limit = true, .cg = NONE }, VERDICT_WRITE_SPACE, 153, "SIGXFSZ", "found by looking", NULL },
	{ "EFBIG", { .ended = true, .wait_status = EXITED(1), .file_at_limit = true, .cg = NONE }, VERDICT_WRITE_SPACE, 1, NULL,
	    "a file of exactly that size was found by looking", NULL },
	{ "EFBIG, handled", { .ended = true, .wait_status = EXITED(0), .file_at_limit = true, .cg = NONE }, VERDICT_OK, 0, NULL, "0",
	    "file_size" },
	{ "full", { .ended = true, .wait_status = EXITED(1), .space_full = true, .cg = NONE }, VERDICT_WRITE_SPACE, 1, NULL,
	    "limit 64 MiB for all writable places", NULL },
	{ "full, handled", { .ended = true, .wait_status = EXITED(0), .space_full = true, .cg = NONE }, VERDICT_OK, 0, NULL, "0", "space" },
	{ "no inodes", { .ended = true, .wait_status = EXITED(1), .inodes_full = true, .cg = NONE }, VERDICT_WRITE_SPACE, 1, NULL,
	    "limit of 100 files and folders", NULL },
	{ "output dropped", { .ended = true, .wait_status = EXITED(0), .output_dropped = { 5, 0 }, .cg = NONE }, VERDICT_OK, 0, NULL, "0",
	    "output" },
	{ "output stopped", { .killed_for = VERDICT_OUTPUT, .output_dropped = { 5, 0 }, .cg = NONE }, VERDICT_OUTPUT, -1, NULL,
	    "on_output_limit = stop", NULL },
	{ "policy", { .killed_for = VERDICT_POLICY, .policy_call = "ptrace", .cg = NONE }, VERDICT_POLICY, -1, NULL, "called ptrace", NULL },
	{ "cancelled", { .killed_for = VERDICT_CANCELLED, .cg = NONE }, VERDICT_CANCELLED, -1, NULL, "stopped by the person", NULL },
	{ "cancelled by nobody who was asked", { .killed_for = VERDICT_CANCELLED, .cancelled_by = "a signal to the supervisor",
	    .cg = NONE }, VERDICT_CANCELLED, -1, NULL, "stopped by a signal to the supervisor", NULL },
	{ "cancelled, ended by itself in the grace", { .killed_for = VERDICT_CANCELLED, .ended = true, .wait_status = EXITED(0), .cg = NONE },
	    VERDICT_CANCELLED, 0, NULL, "stopped by the person", NULL },
	{ "nobody reported", { .cg = NONE }, VERDICT_LOST, -1, NULL, "not reported", NULL },
	{ "setup", { .setup_code = EINVAL, .setup_text = "no such preset", .cg = NONE }, VERDICT_SETUP_ERROR, 125, NULL, "no such preset", NULL },
	{ "not found", { .setup_code = ENOENT, .exec_failed = true, .setup_text = "execute x", .cg = NONE }, VERDICT_SETUP_ERROR, 127, NULL,
	    "execute x", NULL },
	{ "not executable", { .setup_code = EACCES, .exec_failed = true, .setup_text = "execute x", .cg = NONE }, VERDICT_SETUP_ERROR, 126,
	    NULL, "execute x", NULL },
};
/* clang-format on */

static void test_rows(void **state)
{
	(void) state;
	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
		const struct row *r = &rows[k];
		struct verdict_space space;
		struct event ev;
		print_message("%s\n", r->what);
		verdict_make(&r->f, limits, &ev, &space);
		assert_int_equal(ev.type, EVENT_EXIT);
		assert_string_equal(verdict_name(ev.exit.verdict), verdict_name(r->verdict));
		assert_int_equal(ev.exit.status, r->status);
		if (r->signal)
			assert_string_equal(ev.exit.signal, r->signal);
		else
			assert_null(ev.exit.signal);
		assert_non_null(strstr(ev.exit.evidence, r->evidence));
		assert_int_equal(ev.exit.limits_met_count, r->met ? 1 : 0);
		if (r->met)
			assert_string_equal(ev.exit.limits_met[0], r->met);
	}
}

/* Every verdict that there is has a row, so that a new one cannot come without. */
static void test_each_verdict_has_a_row(void **state)
{
	(void) state;
	for (int v = VERDICT_NONE + 1; v < VERDICT_MAX; v++) {
		bool found = false;
		for (size_t k = 0; k < ARRAY_LEN(rows); k++)
			found |= rows[k].verdict == (enum verdict) v;
		assert_true(found);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_each_verdict_has_a_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
