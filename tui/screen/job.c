/* SPDX-License-Identifier: MIT */
/*
 * Job control. Signals that are watched are blocked, so stopping means to let one through.
 */
#include "tui/screen/job.h"

#include <signal.h>
#include <unistd.h>

#include "core/base/base.h"

/* Stops the whole process group: the guard is in it. The supervisor is not. */
static void stop_group(void)
{
	sigset_t stop, before;
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	(void) signal(SIGTSTP, SIG_DFL);
	(void) sigprocmask(SIG_UNBLOCK, &stop, &before);
	(void) kill(0, SIGTSTP);
	(void) sigprocmask(SIG_SETMASK, &before, NULL);
}

void job_stop(int terminal_fd)
{
	/* `bg` wakes us without giving us the terminal: stop again. Bounded, for where no shell can stop
	 * us at all. */
	for (int tries = 0; tries < 100; tries++) {
		uint64_t before_ns = now_ns();
		stop_group();
		pid_t front = tcgetpgrp(terminal_fd);
		if (front < 0 || front == getpgrp())
			break;
		if (now_ns() - before_ns > NS_PER_MS)
			tries = 0;
	}
}

void job_tell_guard(int guard_fd, char state)
{
	if (guard_fd >= 0)
		(void) !pwrite(guard_fd, &state, 1, 0);
}
