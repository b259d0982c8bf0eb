/* SPDX-License-Identifier: MIT */
/*
 * The guard. It stays in the process group of the screens so that the shell's job control works through it:
 * the screens stop the whole group themselves, SIGTSTP and SIGCONT keep their default action here. A shared
 * byte, owned by a memfd, says whether the screens hold the terminal at this moment; only then is there
 * anything to put back.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tui/command.h"
#include "tui/guard.h"

#define PROGRAM "belljar-screens"
#define ORPHANS_S \
	10 /* a supervisor whose front end is gone stops its run after a grace of 2 s, then cleans up */

/* Normal screen, cursor shown, bracketed paste and every mouse mode off, normal keys, ASCII charset, no
 * attributes. */
static const char reset_string[] =
	"\033[?2004l\033[?1000l\033[?1002l\033[?1003l\033[?1006l\033[?1049l\033[?25h"
	"\033[?1l\033>\033(B\017\033[0m\r";

struct guard {
	pid_t child;
	int state_fd; /* one byte: '1' while the screens hold the terminal, 'm' its modes alone, '0' nothing */
	int tty_fd;
	struct termios saved;
	bool have_saved;
	sigset_t waited, before;
};

/* Beside this program, as in the build folder, or where `make install` puts helpers. */
static char *screens_program(void)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len <= 0)
		return xstrdup(PROGRAM);
	self[len] = '\0';
	char *slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	char *beside = xprintf("%s/" PROGRAM, self);
	if (access(beside, X_OK) == 0)
		return beside;
	char *installed = xprintf("%s/../libexec/belljar/" PROGRAM, self);
	if (access(installed, X_OK) == 0) {
		free(beside);
		return installed;
	}
	free(installed);
	return beside;
}

static char **screens_argv(const struct guard *g, const struct look *look, const char *program,
			   char *const *extra)
{
	char **argv = strv_add(NULL, program);
	FREE char *state = xprintf("--guard-fd=%d", g->state_fd);
	argv = strv_add(argv, state);
	argv = strv_add(argv, look->color ? "--color=always" : "--color=never");
	if (look->plain)
		argv = strv_add(argv, "--plain");
	if (look->ascii)
		argv = strv_add(argv, "--ascii");
	if (look->script) {
		argv = strv_add(argv, "--script");
		argv = strv_add(argv, look->script);
	}
	for (; extra && *extra; extra++)
		argv = strv_add(argv, *extra);
	return argv;
}

static _Noreturn void become_screens(const struct guard *g, char *const *argv, pid_t guard_pid)
{
	/* Should the guard die, nobody is left to restore the terminal but the screens themselves. */
	(void) prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != guard_pid)
		_exit(STATUS_CANNOT);
	(void) sigprocmask(SIG_SETMASK, &g->before, NULL);
	(void) fcntl(g->state_fd, F_SETFD, 0);
	execv(argv[0], argv);
	dprintf(STDERR_FILENO,
		"belljar: cannot start %s: %s (it belongs beside belljar, or in ../libexec/belljar)\n",
		argv[0], strerror(errno));
	_exit(STATUS_CANNOT);
}

static char held_of_terminal(const struct guard *g)
{
	char state = '0';
	return pread(g->state_fd, &state, 1, 0) == 1 ? state : '0';
}

static void restore_terminal(const struct guard *g, bool drawn_on)
{
	if (g->tty_fd < 0)
		return;
	if (g->have_saved)
		(void) tcsetattr(g->tty_fd, TCSANOW,
				 &g->saved); /* SIGTTOU is blocked, so this works in any state */
	/* What is still unread may be the rest of a paste: the shell would run it. */
	(void) tcflush(g->tty_fd, TCIFLUSH);
	/* A terminal that takes no output (^S, a dead connection) must not hold us here. */
	struct pollfd writable = { .fd = g->tty_fd, .events = POLLOUT };
	if (drawn_on && poll(&writable, 1, 1000) == 1 && (writable.revents & POLLOUT))
		(void) write_all(g->tty_fd, reset_string, sizeof(reset_string) - 1);
}

/* Collects every child that has ended. Returns false when no child is left at all. */
static bool reap(const struct guard *g, int *ret_status, bool *ret_ended)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid == g->child) {
			*ret_status = status;
			*ret_ended = true;
		}
		if (pid <= 0)
			return pid == 0;
	}
}

static int wait_for_screens(const struct guard *g)
{
	int status = 0;
	bool ended = false;
	for (;;) {
		reap(g, &status, &ended);
		if (ended)
			return status;
		int signo = sigwaitinfo(&g->waited, NULL);
		/* ^C and ^\ of a cooked terminal (an editor, a suspended screen) are not for us. */
		if (signo == SIGTERM || signo == SIGHUP)
			(void) kill(g->child, signo);
	}
}

static void kill_children(void)
{
	char children[4096];
	FREE char *path = xprintf("/proc/self/task/%d/children", (int) getpid());
	if (file_read_small(AT_FDCWD, path, children, sizeof(children)) <= 0)
		return;
	char *rest = children;
	for (char *word = strtok_r(rest, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		pid_t pid = (pid_t) strtol(word, NULL, 10);
		if (pid > 1)
			(void) kill(pid, SIGKILL);
	}
}

/* Supervisors see that their front end is gone and end by themselves; one that hangs is killed. */
static void wait_for_orphans(const struct guard *g)
{
	int status;
	bool ended;
	uint64_t deadline_ns = now_ns() + ORPHANS_S * NS_PER_S;
	while (reap(g, &status, &ended) && now_ns() < deadline_ns + NS_PER_S) {
		if (now_ns() >= deadline_ns)
			kill_children();
		const struct timespec wait = { .tv_nsec = 100 * (long) NS_PER_MS };
		(void) sigtimedwait(&g->waited, NULL, &wait);
	}
}

static int report(int status, bool held_terminal)
{
	if (WIFEXITED(status)) {
		if (held_terminal)
			dprintf(STDERR_FILENO, "belljar: the screens ended without giving the terminal back; "
					       "it is restored\n");
		return WEXITSTATUS(status);
	}
	int signo = WTERMSIG(status);
	const char *name = sigabbrev_np(signo);
	dprintf(STDERR_FILENO,
		"belljar: the screens were ended by SIG%s; the terminal is restored and the run, if any, "
		"stopped\n",
		name ? name : "?");
	return 128 + signo;
}

static int guard_start(struct guard *g)
{
	g->tty_fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	g->have_saved = g->tty_fd >= 0 && tcgetattr(g->tty_fd, &g->saved) == 0;
	g->state_fd = memfd_create("belljar-guard", MFD_CLOEXEC);
	if (g->state_fd < 0)
		return -errno;
	/* Supervisors of dead screens become our children, so that we can wait until their runs are gone. */
	(void) prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&g->waited);
	sigaddset(&g->waited, SIGCHLD);
	sigaddset(&g->waited, SIGTERM);
	sigaddset(&g->waited, SIGHUP);
	sigaddset(&g->waited, SIGINT);
	sigaddset(&g->waited, SIGQUIT);
	sigset_t blocked = g->waited;
	sigaddset(&blocked, SIGTTOU);
	return sigprocmask(SIG_BLOCK, &blocked, &g->before) < 0 ? -errno : 0;
}

int guard_screens(const struct look *look, char *const *extra)
{
	struct guard g = { .child = -1, .state_fd = -1, .tty_fd = -1 };
	int r = guard_start(&g);
	FREE char *program = screens_program();
	char **argv = screens_argv(&g, look, program, extra);
	pid_t self = getpid();
	if (r == 0 && (g.child = fork()) == 0)
		become_screens(&g, argv, self);
	if (g.child < 0) {
		dprintf(STDERR_FILENO, "belljar: cannot start the screens: %s\n",
			strerror(r < 0 ? -r : errno));
		r = STATUS_CANNOT;
	} else {
		int status = wait_for_screens(&g);
		char held = held_of_terminal(&g);
		if (held == '1' || held == 'm')
			restore_terminal(&g, held == '1');
		r = report(status, held == '1' || held == 'm');
		wait_for_orphans(&g);
	}
	strv_free(argv);
	(void) sigprocmask(SIG_SETMASK, &g.before, NULL);
	close_fd(&g.state_fd);
	close_fd(&g.tty_fd);
	return r;
}
