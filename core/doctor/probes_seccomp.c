/* SPDX-License-Identifier: MIT */
/*
 * Probes of the filter, of the notifications that come from it, and of the sockets that are put in by answering one.
 */
#include "core/doctor/probe.h"

#include "core/base/base.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Newer than the headers of some distributions that we build on. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

/* A filter made of a real policy; this process is under it from here on. */
static int load(const struct given *g, unsigned watch, int *ret_listener, struct err *e)
{
	struct seccomp_program filter = { 0 };
	const struct seccomp_want want = { .policy = g->policy, .watch = watch };
	if (!g->policy)
		return err_say(e, ENOENT, "there is no preset to make a filter from");
	int r = no_new_privs(e);
	if (r >= 0 && (r = seccomp_compile(&want, &filter, e)) >= 0)
		r = seccomp_apply(&filter, watch != 0, ret_listener, e);
	seccomp_program_done(&filter);
	return r;
}

static bool load_or_tell(const struct given *g, unsigned watch, int *ret_listener, struct answer *a)
{
	struct err e;
	if (load(g, watch, ret_listener, &e) >= 0)
		return true;
	if (!g->policy)
		answer_unknown(a, "%s", e.text);
	else
		answer_err(a, &e);
	return false;
}

void probe_filter(const struct given *g, int arg, struct answer *a)
{
	int none;
	(void) arg;
	if (!load_or_tell(g, 0, &none, a))
		return;
	if (syscall(SYS_ptrace, 0, 0, 0, 0) == 0 || errno != EPERM)
		answer_missing(a, 0, "a filter was loaded and does not refuse");
	else
		answer_ok(a, "loaded, and it refuses");
}

void probe_notifications(const struct given *g, int arg, struct answer *a)
{
	int listener;
	(void) arg;
	if (load_or_tell(g, WATCH_SOCKET, &listener, a) || a->error == EBUSY)
		answer_ok(a, "this kernel has them"); /* EBUSY: others use them just now */
}

void probe_one_listener(const struct given *g, int arg, struct answer *a)
{
	int listener;
	(void) arg;
	if (load_or_tell(g, WATCH_SOCKET, &listener, a))
		answer_ok(a, "none");
}

void probe_wait_killable(const struct given *g, int arg, struct answer *a)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = { .len = 1, .filter = &allow };
	struct err e;
	(void) g, (void) arg;
	if (no_new_privs(&e) < 0)
		answer_err(a, &e);
	else if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			 SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
			 &prog) < 0)
		answer_missing(a, errno, "seccomp(2) with the flag: %s", strerrordesc_np(errno));
	else
		answer_ok(a, "taken");
}

void probe_sync_wake_up(const struct given *g, int arg, struct answer *a)
{
	int listener;
	(void) arg;
	if (!load_or_tell(g, WATCH_SOCKET, &listener, a))
		return;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) < 0)
		answer_missing(a, errno, "SECCOMP_IOCTL_NOTIF_SET_FLAGS: %s", strerrordesc_np(errno));
	else
		answer_ok(a, "set");
}

/* ---- a descriptor put into a target as the answer of its socket(2) ---- */

/* The target: sends its listener's number, then asks for a socket and says whether it got one. */
static _Noreturn void asker_main(const struct given *g, int fd)
{
	struct err e = { 0 };
	int listener = -1, code = 0;
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (load(g, WATCH_SOCKET, &listener, &e) < 0)
		listener = -1;
	(void) !write(fd, &listener, sizeof(listener));
	if (listener >= 0)
		code = socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
	(void) !write(fd, &code, sizeof(code));
	_exit(0);
}

/* Our side: takes the listener, and answers the one call with a descriptor of ours. */
static int answer_call(int listener, struct err *e)
{
	struct seccomp_notif call = { 0 };
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
		return err_set(e, errno, "receive a notification");
	CLOSE_FD int given = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct seccomp_notif_addfd add = { .id = call.id,
					   .flags = SECCOMP_ADDFD_FLAG_SEND,
					   .srcfd = (uint32_t) given };
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0)
		return err_set(e, errno, "SECCOMP_IOCTL_NOTIF_ADDFD");
	return 0;
}

static int serve_asker(pid_t pid, int fd, struct err *e)
{
	int number, code;
	if (read(fd, &number, sizeof(number)) != (ssize_t) sizeof(number) || number < 0)
		return err_say(e, EIO, "the target got no listener");
	CLOSE_FD int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
	CLOSE_FD int listener = pidfd < 0 ? -1 : (int) syscall(SYS_pidfd_getfd, pidfd, number, 0);
	if (listener < 0)
		return err_set(e, errno, "take over the listener");
	int r = answer_call(listener, e);
	if (r < 0)
		return r;
	if (read(fd, &code, sizeof(code)) != (ssize_t) sizeof(code))
		return err_say(e, EIO, "the target died of the answer");
	return code ? err_set(e, code, "the answered socket(2)") : 0;
}

void probe_add_fd(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	int fds[2];
	(void) arg;
	if (pipe2(fds, O_CLOEXEC) < 0) {
		answer_unknown(a, "no pipe: %s", strerrordesc_np(errno));
		return;
	}
	CLOSE_FD int in = fds[0];
	CLOSE_FD int out = fds[1];
	pid_t pid = fork();
	if (pid == 0)
		asker_main(g, out);
	close_fd(&out);
	int r = pid < 0 ? err_set(&e, errno, "fork") : serve_asker(pid, in, &e);
	if (pid > 0) {
		(void) kill(pid, SIGKILL);
		(void) waitpid(pid, NULL, 0);
	}
	if (r < 0)
		answer_err(a, &e);
	else
		answer_ok(a, "a call was answered with a descriptor");
}

/* The same steps as the helper's that makes a run's sockets. Only the loopback of the new namespace is asked for. */
void probe_netless(const struct given *g, int arg, struct answer *a)
{
	const struct sockaddr_in nowhere = { .sin_family = AF_INET,
					     .sin_port = htons(9),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	(void) g, (void) arg;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
		answer_missing(a, errno, "unshare(CLONE_NEWUSER | CLONE_NEWNET): %s", strerrordesc_np(errno));
		return;
	}
	CLOSE_FD int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		answer_missing(a, errno, "socket(2) in the namespace: %s", strerrordesc_np(errno));
	else if (connect(s, (const struct sockaddr *) &nowhere, sizeof(nowhere)) == 0 || errno != ENETUNREACH)
		answer_missing(a, 0, "the empty namespace has a network");
	else
		answer_ok(a, "made; whatever they try is unreachable");
}
