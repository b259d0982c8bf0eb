/* SPDX-License-Identifier: MIT */
/*
 * Sockets without a network. At a level that has no network namespace, refusing socket(2) would hide where the target
 * wanted to go. Instead a helper that lives in an empty network namespace makes the socket, and the supervisor puts it
 * into the target (seccomp_unotify(2), SECCOMP_IOCTL_NOTIF_ADDFD): whatever it then tries, the kernel answers that the
 * network is unreachable, and no check can be raced.
 *
 * A target of the same user can stop or kill the helper. So its answer is waited for only so long, it is held by a
 * pidfd, and a new one is started a few times.
 */
#include "core/supervise/supervisor.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/close_range.h>

#define ANSWER_S   1
#define STALLS_MAX 4 /* each holds up the whole run: after these no helper is started any more */

struct ask {
	int domain, type, protocol;
};

static void send_fd(int to, int fd, int error)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { .iov_base = &error, .iov_len = sizeof(error) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	if (fd >= 0) {
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(h), &fd, sizeof(int));
	}
	if (sendmsg(to, &msg, MSG_NOSIGNAL) < 0)
		_exit(1);
}

static _Noreturn void helper_main(int fd, pid_t supervisor)
{
	struct ask a;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0,
	      0); /* its /proc is root's: the target's user may not open its namespaces */
	if (getppid() != supervisor)
		_exit(1); /* it died before the line above */
	if (dup2(fd, 3) < 0)
		_exit(1);
	close_range(4, ~0U, 0); /* the target's pipes among them: they must come to their end */
	/* Unshared here and not at the clone: an ordinary user needs a user namespace for it, and where none can be
	 * had the error belongs to each request. */
	int error = unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 ? errno : 0;
	while (read(3, &a, sizeof(a)) == (ssize_t) sizeof(a)) {
		int s = error ? -1 : socket(a.domain, a.type, a.protocol);
		send_fd(3, s, s >= 0 ? 0 : error ? EPERM : errno);
		if (s >= 0)
			close(s);
	}
	_exit(0);
}

static int helper_start(struct netless *n)
{
	const struct timeval most = { .tv_sec = ANSWER_S };
	int p[2];
	if (n->stalls >= STALLS_MAX)
		return -EPERM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p) < 0)
		return -errno;
	pid_t supervisor = getpid(), pid = fork();
	if (pid == 0)
		helper_main(p[1], supervisor);
	close(p[1]);
	/* A pidfd, as the loop may reap the helper before we know of it, and its number be another's then. */
	int pidfd = pid < 0 ? -1 : (int) syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		close(p[0]); /* its end: the helper goes by itself */
		return -EAGAIN;
	}
	(void) setsockopt(p[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	(void) setsockopt(p[0], SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	n->pid = pid;
	n->pidfd = pidfd;
	n->fd = p[0];
	return 0;
}

static int helper_ask(struct netless *n, const struct ask *a, int *ret_fd)
{
	int error = 0;
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { .iov_base = &error, .iov_len = sizeof(error) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	ssize_t got = send(n->fd, a, sizeof(*a), MSG_NOSIGNAL);
	if (got >= 0)
		got = recvmsg(n->fd, &msg, MSG_CMSG_CLOEXEC);
	if (got <=
	    0) { /* stopped, or dead: what it says later must not be taken for an answer to the next one */
		n->stalls++;
		netless_stop(n);
		return -EPERM;
	}
	struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
	if (error || !h || h->cmsg_type != SCM_RIGHTS)
		return error ? -error : -EPERM;
	memcpy(ret_fd, CMSG_DATA(h), sizeof(int));
	return 0;
}

int netless_socket(struct netless *n, int domain, int type, int protocol, int *ret_fd)
{
	const struct ask a = { domain, type, protocol };
	int r = n->pid ? 0 : helper_start(n);
	return r < 0 ? r : helper_ask(n, &a, ret_fd);
}

void netless_stop(struct netless *n)
{
	if (!n->pid)
		return;
	close_fd(&n->fd);
	(void) syscall(SYS_pidfd_send_signal, n->pidfd, SIGKILL, NULL, 0);
	siginfo_t info;
	while (waitid(P_PIDFD, (id_t) n->pidfd, &info, WEXITED) < 0 && errno == EINTR)
		;
	close_fd(&n->pidfd);
	n->pid = 0;
}
