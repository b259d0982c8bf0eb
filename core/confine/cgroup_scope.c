/* SPDX-License-Identifier: MIT */
/*
 * An ordinary user's systemd gives control groups away: a transient scope with Delegate=yes is the caller's
 * to divide. Asked for by the program busctl(1), under a time limit, so that belljar links no D-Bus. See
 * org.freedesktop.systemd1(5) and "Control Group APIs and Delegation" in systemd's documentation.
 */
#include "core/confine/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ASK_WAIT_NS (3 * NS_PER_S)

bool cgroup_user_bus(const struct cgroup_host *h, char ret_path[PATH_MAX])
{
	char path[PATH_MAX];
	struct stat st;
	const char *dir = getenv("XDG_RUNTIME_DIR");

	if (!h->user_bus && (!dir || dir[0] != '/'))
		return false;
	if (h->user_bus)
		snprintf(path, sizeof path, "%s", h->user_bus);
	else
		snprintf(path, sizeof path, "%s/bus", dir);
	if (stat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	if (ret_path)
		memcpy(ret_path, path, sizeof path);
	return true;
}

/* Its words go to a pipe that nobody reads before it has ended: more than a pipe holds would only make it
 * time out. */
static int start_busctl(char *const argv[], int out_fd, pid_t *ret_pid, struct err *e)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out_fd, 2);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	int code = posix_spawnp(ret_pid, argv[0], &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return code ? err_set(e, code, "run %s", argv[0]) : 0;
}

static int wait_for(pid_t pid, int in_fd, uint64_t deadline_ns, struct err *e)
{
	char words[256];
	int status;
	uint64_t step = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (cgroup_pause(deadline_ns, &step))
			continue;
		(void) kill(pid, SIGKILL);
		(void) waitpid(pid, &status, 0);
		return err_say(e, ETIMEDOUT, "busctl gave no answer within %d s",
			       (int) (ASK_WAIT_NS / NS_PER_S));
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	ssize_t n = read(in_fd, words, sizeof words - 1);
	words[n > 0 ? n : 0] = '\0';
	words[strcspn(words, "\n")] = '\0';
	return err_say(e, ECONNREFUSED, "%s", words[0] ? words : "busctl ended in failure");
}

/* The answer is a queued job: it is done when our own membership says so. */
static int wait_moved(const struct cgroup_host *h, const char *unit, uint64_t deadline_ns, struct err *e)
{
	char path[PATH_MAX], text[8192];
	uint64_t step = 0;

	snprintf(path, sizeof path, "%s/self/cgroup", h->proc);
	do {
		if (file_read_small(AT_FDCWD, path, text, sizeof text) > 0 && strstr(text, unit))
			return 0;
	} while (cgroup_pause(deadline_ns, &step));
	return err_say(e, ETIMEDOUT, "the scope %s was granted but not entered in time", unit);
}

int cgroup_ask_scope(const struct cgroup_host *h, const char *name, struct err *e)
{
	char unit[128], pid_text[16];
	int fds[2];
	pid_t pid;
	uint64_t deadline = now_ns() + ASK_WAIT_NS;

	snprintf(unit, sizeof unit, "%s.scope", name);
	snprintf(pid_text, sizeof pid_text, "%d", (int) getpid());
	/* clang-format off */
	const char *argv[] = {
		"busctl", "--user", "--timeout=2", "call",
		"org.freedesktop.systemd1", "/org/freedesktop/systemd1",
		"org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))",
		unit, "fail",
		"4", /* properties: name, type, value */
		"Description", "s", "a run of belljar",
		"Delegate", "b", "true",
		"CollectMode", "s", "inactive-or-failed",
		"PIDs", "au", "1", pid_text,
		"0", /* auxiliary units */
		NULL,
	};
	/* clang-format on */
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(e, errno, "make a pipe");
	CLOSE_FD int in_fd = fds[0];
	CLOSE_FD int out_fd = fds[1];
	(void) fcntl(in_fd, F_SETFL, O_NONBLOCK);
	int r = start_busctl((char *const *) argv, out_fd, &pid, e);
	if (r < 0 || (r = wait_for(pid, in_fd, deadline, e)) < 0)
		return r;
	return wait_moved(h, unit, deadline, e);
}
