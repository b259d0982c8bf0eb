/* SPDX-License-Identifier: MIT */
/*
 * Control groups on this machine, of whichever kind it lets us have: refused forks, a kill for memory,
 * freezing, killing, and that nothing stays behind.
 */
#include "core/base/base.h"
#include "core/confine/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct policy limits(uint64_t memory, uint64_t processes, uint64_t cpus)
{
	struct policy p;
	memset(&p, 0, sizeof p);
	for (int i = 0; i < LIMIT_MAX; i++)
		p.limit[i] = UNLIMITED;
	p.limit[LIMIT_MEMORY] = memory;
	p.limit[LIMIT_PROCESSES] = processes;
	p.limit[LIMIT_CPUS] = cpus;
	return p;
}

static void assert_limit(const struct cgroup *c, enum cgroup_controller which, uint64_t value,
			 const char *mechanism)
{
	uint64_t got;
	const char *by;
	assert_int_equal(cgroup_limit(c, which, &got, &by), 0);
	assert_int_equal(got, value);
	assert_string_equal(by, mechanism);
}

struct real {
	struct cgroup *cgroup;
	int from_child;
};
/* Of this process alone, and no ULID: a belljar that is started meanwhile sweeps. */
static char real_run[CGROUP_ID_LEN + 1];

static struct real real_create(uint64_t memory, uint64_t processes)
{
	struct real t = { .cgroup = NULL };
	struct err e;
	struct policy p = limits(memory, processes, UNLIMITED);
	int r = cgroup_create(real_run, &p, &t.cgroup, &e);
	bool must = getenv("MUST_RUN") && strcmp(getenv("MUST_RUN"), "1") == 0;
	if (r == -ENOTSUP && must)
		fail_msg("%s", e.text);
	if (r == -ENOTSUP)
		skip();
	if (r < 0)
		fail_msg("%s", e.text);
	return t;
}

/* A child of the group: born inside where the kernel has that, else it enters by itself. */
static pid_t fork_inside(const struct cgroup *c)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	if (cgroup_clone_fd(c) < 0)
		return fork();
	args.flags = CLONE_INTO_CGROUP;
	args.cgroup = (uint64_t) cgroup_clone_fd(c);
	return (pid_t) syscall(SYS_clone3, &args, sizeof args);
}

/* Runs `inside` in a child of the group; what it returns is the status. */
static pid_t enter(struct real *t, int (*inside)(int to_parent))
{
	int fds[2];
	struct err e;
	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork_inside(t->cgroup);
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fds[0]);
		_exit(cgroup_enter(t->cgroup, &e) < 0 ? 99 : inside(fds[1]));
	}
	close(fds[1]);
	t->from_child = fds[0];
	return pid;
}

static int wait_status(pid_t pid)
{
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void assert_removed(struct real *t)
{
	char text[PATH_MAX];
	struct err e;
	struct cgroup_map m;
	assert_null(cgroup_remove(t->cgroup));
	assert_int_equal(cgroup_find(&cgroup_this_host, &m, &e), 0);
	for (size_t i = 0; i < m.count; i++) {
		struct stat st;
		if (cgroup_dir(&cgroup_this_host, &m.of[i], text, &e) < 0)
			continue;
		strncat(text, "/" CGROUP_PREFIX, sizeof text - strlen(text) - 1);
		strncat(text, real_run, sizeof text - strlen(text) - 1);
		assert_int_equal(stat(text, &st), -1);
	}
	cgroup_map_done(&m);
}

static int flood(int to_parent)
{
	char many = 0;
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();
		if (pid == 0)
			for (;;)
				pause();
		if (pid < 0)
			break;
		many++;
	}
	return write(to_parent, &many, 1) == 1 ? 0 : 1;
}

static void real_processes(void **state)
{
	(void) state;
	struct real t = real_create(64 << 20, 8);
	struct cgroup_reading rd;
	char many = 0;
	if (!(cgroup_controllers(t.cgroup) & CG_PIDS)) {
		cgroup_remove(t.cgroup);
		skip();
	}
	assert_limit(t.cgroup, CG_PIDS, 8,
		     cgroup_kind(t.cgroup) == CGROUP_V1 ? "cgroup v1 pids.max" : "cgroup v2 pids.max");
	pid_t pid = enter(&t, flood);
	assert_int_equal(read(t.from_child, &many, 1), 1);
	close(t.from_child);
	assert_int_equal(many, 7);
	assert_int_equal(wait_status(pid), 0);
	cgroup_read(t.cgroup, &rd);
	assert_int_equal(rd.tasks, 7);
	assert_int_equal(rd.fork_failures, 1);
	assert_true(rd.tasks_peak == 8 || rd.tasks_peak == UNKNOWN_U64);
	assert_int_equal(cgroup_kill(t.cgroup), 0); /* the seven that outlived their parent */
	assert_removed(&t);
}

static int hoard(int to_parent)
{
	(void) to_parent;
	size_t size = 256 << 20;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < size; i += 4096)
		p[i] = 1;
	return 0;
}

static void real_memory(void **state)
{
	(void) state;
	struct real t = real_create(64 << 20, 8);
	struct cgroup_reading rd;
	if (!(cgroup_controllers(t.cgroup) & CG_MEMORY)) {
		cgroup_remove(t.cgroup);
		skip();
	}
	int status = wait_status(enter(&t, hoard));
	close(t.from_child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	cgroup_read(t.cgroup, &rd);
	assert_true(rd.oom_kills >= 1 && rd.oom_kills != UNKNOWN_U64);
	assert_true(rd.memory_failures > 0); /* or unknown: some kernels stopped counting */
	assert_true(rd.memory_peak == UNKNOWN_U64 ||
		    (rd.memory_peak > 60 << 20 && rd.memory_peak <= 64 << 20));
	assert_removed(&t);
}

static int count_up(int to_parent)
{
	for (;;)
		if (write(to_parent, "x", 1) != 1)
			return 1;
}

/* A frozen writer fills the pipe no further: drained once, it stays empty until it is thawed. */
static void real_freezing(void **state)
{
	(void) state;
	struct real t = real_create(64 << 20, 8);
	struct err e;
	char space[1 << 16];
	if (!(cgroup_controllers(t.cgroup) & CG_FREEZE)) {
		cgroup_remove(t.cgroup);
		skip();
	}
	pid_t pid = enter(&t, count_up);
	assert_true(read(t.from_child, space, 1) == 1);
	assert_int_equal(cgroup_freeze(t.cgroup, true, &e), 0);
	assert_int_equal(fcntl(t.from_child, F_SETFL, O_NONBLOCK), 0);
	while (read(t.from_child, space, sizeof space) > 0)
		;
	assert_int_equal(read(t.from_child, space, 1), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(cgroup_freeze(t.cgroup, false, &e), 0);
	assert_int_equal(fcntl(t.from_child, F_SETFL, 0), 0);
	assert_int_equal(read(t.from_child, space, 1), 1);

	/* Removing kills what still runs, frozen or not. */
	assert_int_equal(cgroup_freeze(t.cgroup, true, &e), 0);
	assert_removed(&t);
	assert_true(WIFSIGNALED(wait_status(pid)));
	close(t.from_child);
}

static void real_sweep_of_one_run(void **state)
{
	(void) state;
	struct real t = real_create(64 << 20, 8);
	pid_t pid = enter(&t, count_up);
	char one;
	assert_int_equal(read(t.from_child, &one, 1), 1);
	cgroup_sweep_run(real_run); /* as if we were somebody else, who finds it */
	assert_int_equal(WTERMSIG(wait_status(pid)), SIGKILL);
	close(t.from_child);
	assert_removed(&t);
}

/* A test that failed half way must not leave processes behind. */
static int sweep_up(void **state)
{
	(void) state;
	cgroup_sweep_run(real_run);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(real_processes, sweep_up),
		cmocka_unit_test_teardown(real_memory, sweep_up),
		cmocka_unit_test_teardown(real_freezing, sweep_up),
		cmocka_unit_test_teardown(real_sweep_of_one_run, sweep_up),
	};
	umask(022);
	snprintf(real_run, sizeof real_run, "test%022d", (int) getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
