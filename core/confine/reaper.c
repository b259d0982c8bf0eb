/* SPDX-License-Identifier: MIT */
/*
 * Process 1 of a run's pid namespace: a copy of the supervisor that has confined itself and shows nothing of ours. It
 * reaps what is orphaned, and when the target ends it ends all the rest, counts what the tree wrote, reports, exits.
 */
#include "core/confine/self.h"

#include "core/base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * argv and the environment of whoever started us lie in this copy's memory. /proc/1/cmdline can be read by everyone in
 * the run (no ptrace check stands before it), so it is overwritten; the rest is closed by not being dumpable.
 */
static void reaper_hide(void)
{
	char stat[1024], *p;
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_NAME, "init", 0, 0, 0);
	if (file_read_small(AT_FDCWD, "/proc/self/stat", stat, sizeof(stat)) <= 0 ||
	    !(p = strrchr(stat, ')')))
		return;
	unsigned long field[53] = { 0 }; /* proc(5): 48 arg_start, 49 arg_end, 50 env_start, 51 env_end */
	int n = 3;
	for (p += 4; n < 52 && *p;) /* behind ") S " comes field 4 */
		field[++n] = strtoul(p, &p, 10);
	for (int i = 48; i <= 50; i += 2)
		if (n >= i + 1 && field[i + 1] > field[i])
			memset((void *) field[i], 0,
			       field[i + 1] - field[i]); /* NOLINT: the kernel says so */
}

/* wchar of this process and of every one it has waited for, which by now is the whole tree (proc(5), "io"). */
static uint64_t reaper_written(int io_fd)
{
	char io[512];
	ssize_t n = io_fd < 0 ? -1 : pread(io_fd, io, sizeof(io) - 1, 0);
	if (n <= 0)
		return UINT64_MAX;
	io[n] = 0;
	const char *w = strstr(io, "wchar: ");
	return w ? strtoull(w + 7, NULL, 10) : UINT64_MAX;
}

/* Threads of the run that are there now, without this one's: whether the target ended standing at its limit of tasks, of
 * which RLIMIT_NPROC leaves no trace. */
static uint64_t reaper_tasks(void)
{
	uint64_t tasks = 0;
	DIR *dir = opendir("/proc");
	if (!dir)
		return UINT64_MAX;
	for (struct dirent *d; (d = readdir(dir));) {
		char path[64], stat[1024];
		if (d->d_name[0] < '1' || d->d_name[0] > '9' || strcmp(d->d_name, "1") == 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%.12s/stat", d->d_name);
		char *p = file_read_small(AT_FDCWD, path, stat, sizeof(stat)) > 0 ? strrchr(stat, ')') : NULL;
		for (int field = 2; p && field < 20; field++) /* proc(5): 20 is num_threads */
			p = strchr(p + 1, ' ');
		tasks += p ? strtoull(p, NULL, 10) : 0;
	}
	closedir(dir);
	return tasks;
}

static _Noreturn void reaper_main(pid_t target, const struct confinement *c, int io_fd)
{
	const int sync_fd = c->sync_fd;
	int status = 0, st;
	uint64_t cpu_ns = UINT64_MAX;
	siginfo_t child;
	pid_t pid;
	/* Nothing of the target's may stay open here: a pipe would never come to its end. */
	if (sync_fd > 0)
		close_range(0, (unsigned) sync_fd - 1, 0);
	if (io_fd > sync_fd + 1)
		close_range((unsigned) sync_fd + 1, (unsigned) io_fd - 1, 0);
	close_range((unsigned) (io_fd < 0 ? sync_fd : io_fd) + 1, ~0U, 0);
	do {
		child.si_pid = 0;
		if (waitid(P_ALL, 0, &child, WEXITED | WNOWAIT) == 0 && child.si_pid == target)
			cpu_ns = rlimit_cpu_used(target);
		pid = waitpid(child.si_pid ? child.si_pid : -1, &st, 0);
		if (pid == target)
			status = st;
	} while (pid != target && (pid > 0 || errno == EINTR));
	uint64_t tasks = c->count_tasks ? reaper_tasks() : UINT64_MAX;
	kill(-1, SIGKILL); /* all of this namespace but ourselves */
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	struct sync_msg m = {
		.type = SYNC_EXIT,
		.value = status,
		.tasks = tasks,
		.rlimit_cpu_ns = cpu_ns,
		.written = reaper_written(io_fd),
	};
	(void) sync_send(sync_fd, &m); /* where it fails nobody is left to be told */
	_exit(0);
}

/*
 * Hidden before the fork, not after: the target never lives beside a process 1 that could still be looked into, and
 * neither of the two waits for the other. The target's copy is as bare; it is made visible again, or
 * its /proc would be closed to a supervisor of the same user.
 */
int reaper_fork(const struct confinement *c, struct err *e)
{
	/* Before hiding: an undumpable process may not open its own any more, once it is open it may read it. */
	int io_fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	if (io_fd >= 0 && (io_fd = fcntl(io_fd, F_DUPFD_CLOEXEC, c->sync_fd + 1)) < 0)
		io_fd = -1;
	reaper_hide();
	pid_t pid = fork();
	if (pid < 0)
		return err_set(e, errno, "start the target's process");
	if (pid > 0)
		reaper_main(pid, c, io_fd);
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return err_set(e, errno, "stay visible to the supervisor");
	return 0;
}
