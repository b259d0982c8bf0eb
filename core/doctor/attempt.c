/* SPDX-License-Identifier: MIT */
/*
 * One probe in a process of its own: with a time limit, in a session of its own so that ^C at the doctor does not catch
 * it half way, and with an alarm should nobody be left to end it. Whatever a killed one leaves carries the run's id.
 */
#include "core/doctor/probe.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define INSIDE_ID 1000

/* ---- answers ---- */

static __attribute__((format(printf, 4, 0))) void answer_say(struct answer *a, enum finding_state state,
							     int error, const char *fmt, va_list ap)
{
	a->state = state;
	a->error = error;
	(void) vsnprintf(a->fact, sizeof(a->fact), fmt, ap);
}

void answer_ok(struct answer *a, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	answer_say(a, FINDING_OK, 0, fmt, ap);
	va_end(ap);
}

void answer_missing(struct answer *a, int error, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	answer_say(a, FINDING_MISSING, error, fmt, ap);
	va_end(ap);
}

void answer_unknown(struct answer *a, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	answer_say(a, FINDING_UNKNOWN, 0, fmt, ap);
	va_end(ap);
}

void answer_err(struct answer *a, const struct err *e)
{
	const char *text = e->text;
	if (need_of(e) != NEED_MAX)
		text += strlen(need_kinds[need_of(e)].code) + strlen(": ");
	answer_missing(a, e->code, "%.*s", FINDING_FACT - 1, text);
}

/* ---- a child in new namespaces ---- */

static _Noreturn void inside_main(int fd, int (*inside)(const void *arg, struct err *e), const void *arg)
{
	struct err e = { 0 };
	char go;
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (read(fd, &go, 1) == 1 && (!inside || inside(arg, &e) >= 0))
		e.code = 0;
	(void) !write(fd, &e, sizeof(e));
	_exit(0);
}

static int inside_wait(int fd, struct err *e)
{
	struct err told;
	if (write(fd, "g", 1) != 1)
		return err_set(e, errno, "let the child go on");
	if (read(fd, &told, sizeof(told)) != (ssize_t) sizeof(told))
		return err_say(e, ECHILD, "the child died before it could say what came of it");
	if (told.code)
		*e = told;
	return -told.code;
}

int new_child(unsigned flags, int (*inside)(const void *arg, struct err *e), const void *arg, struct err *e)
{
	struct clone_args args = { .flags = flags, .exit_signal = SIGCHLD };
	int fds[2], r = 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return err_set(e, errno, "make a socket pair");
	CLOSE_FD int ours = fds[0];
	CLOSE_FD int theirs = fds[1];
	pid_t pid = (pid_t) syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		close_fd(&ours);
		inside_main(theirs, inside, arg);
	}
	if (pid < 0)
		return err_set(e, errno, "clone3(2)");
	close_fd(&theirs);
	if (flags & CLONE_NEWUSER)
		r = confine_map_ids(pid, INSIDE_ID, geteuid(), getegid(), e);
	if (r >= 0)
		r = inside_wait(ours, e);
	else
		(void) kill(pid, SIGKILL);
	(void) waitpid(pid, NULL, 0);
	return r;
}

/* ---- a probe ---- */

static _Noreturn void probe_main(const struct probe *p, const struct given *g, int fd, unsigned alarm_s)
{
	struct answer a = { .state = FINDING_UNKNOWN };
	(void) setsid();
	(void) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	(void) alarm(alarm_s);
	p->run(g, p->arg, &a);
	(void) !write(fd, &a, sizeof(a));
	_exit(0);
}

static bool answer_wait(int fd, uint64_t limit_ns, struct answer *ret)
{
	uint64_t deadline = now_ns() + limit_ns, now;
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	while ((now = now_ns()) < deadline) {
		int r = poll(&ready, 1, (int) ((deadline - now) / NS_PER_MS + 1));
		if (r > 0) {
			if (read(fd, ret, sizeof(*ret)) == (ssize_t) sizeof(*ret))
				return true;
			answer_unknown(ret, "the probe died before it could say what came of it");
			return false;
		}
		if (r < 0 && errno != EINTR)
			break;
	}
	answer_unknown(ret, "no answer within %.1f s", (double) limit_ns / (double) NS_PER_S);
	return false;
}

void probe_try(const struct probe *p, const struct given *g, uint64_t limit_ns, struct answer *ret)
{
	int fds[2];
	*ret = (struct answer){ 0 };
	if (pipe2(fds, O_CLOEXEC) < 0) {
		answer_unknown(ret, "no pipe for the probe: %s", strerrordesc_np(errno));
		return;
	}
	CLOSE_FD int in = fds[0];
	CLOSE_FD int out = fds[1];
	pid_t pid = fork();
	if (pid == 0) {
		close_fd(&in);
		probe_main(p, g, out, (unsigned) (limit_ns / NS_PER_S) + 5);
	}
	if (pid < 0) {
		answer_unknown(ret, "no process for the probe: %s", strerrordesc_np(errno));
		return;
	}
	close_fd(&out);
	if (!answer_wait(in, limit_ns, ret)) {
		(void) kill(-pid, SIGKILL); /* its session; what is in namespaces has asked to die with it */
		(void) kill(pid, SIGKILL);
		(void) waitpid(pid, NULL, 0);
		sweep_run(g->run_id);
		return;
	}
	(void) waitpid(pid, NULL, 0);
	ret->fact[sizeof(ret->fact) - 1] = ret->remedy[sizeof(ret->remedy) - 1] = 0;
}
