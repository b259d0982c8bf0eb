/* SPDX-License-Identifier: MIT */
/*
 * The filter outside the compiler: loaded into a real process, without and with a listener.
 */
#include "tests/unit/seccomp_fixture.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__
/* getpid by another door: 20 in the 32-bit table. */
static long by_int80(long nr)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(nr) : "memory", "r8", "r9", "r10", "r11");
	return (int) ret;
}
#endif

static int errno_of(long result)
{
	return result == -1 ? errno : 0;
}

/* Runs in a child under the filter; each line that does not come to what is due says so by its place. */
static int try_calls(void)
{
	int step = 1;
#define DUE(call, what)                       \
	do {                                  \
		errno = 0;                    \
		if (errno_of(call) != (what)) \
			return step;          \
		step++;                       \
	} while (0)
	DUE(syscall(SYS_getppid), 0);
	DUE(syscall(SYS_ptrace, 16, 1, 0, 0), EPERM);
	DUE(syscall(SYS_unshare, 0), EPERM);
	DUE(syscall(SYS_io_uring_setup, 1, 0), EPERM);
	DUE(syscall(SYS_clone3, 0, 0), ENOSYS);
	DUE(syscall(999), ENOSYS);
	DUE(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), EPERM);
	DUE(syscall(SYS_socket, AF_VSOCK, SOCK_STREAM, 0), EPERM);
	DUE(syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0), 0);
	DUE(syscall(SYS_ioctl, 0, TIOCSTI | GARBAGE, ""), EPERM);
	DUE(syscall(SYS_personality, READ_IMPLIES_EXEC), EPERM);
	DUE(syscall(SYS_personality, 0xffffffff), 0);
	DUE(syscall(SYS_kill, -1, 0), EPERM);
	DUE(syscall(SYS_getpid | X32), ENOSYS);
#ifdef __x86_64__
	if (by_int80(20) != -ENOSYS)
		return step;
#endif
	return 0;
}

static void test_loaded_filter_holds(void **state)
{
	struct fixture *f = *state;
	int status;

	compile(f, 0);
	pid_t child = fork();
	if (child == 0) {
		struct err e;
		int listener = 77;
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (seccomp_apply(&f->program, false, &listener, &e) < 0 || listener != -1)
			_exit(100);
		_exit(try_calls());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The child, with a listener that it hands over by its number, as belljar's own children do. */
static void listened_child(const struct seccomp_program *p, int out, int in)
{
	struct err e;
	int listener = -1, other;
	char go;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (seccomp_apply(p, true, &listener, &e) < 0)
		_exit(100);
	if (seccomp_apply(p, true, &other, &e) != -EBUSY)
		_exit(101);
	if (write(out, &listener, sizeof(listener)) != sizeof(listener) || read(in, &go, 1) != 1)
		_exit(102);
	close(listener);
	_exit(try_calls());
}

static void answer_one(const struct fixture *f, int listener)
{
	struct seccomp_notif req = { 0 };
	struct seccomp_notif_resp resp = { 0 };
	struct seccomp_reason why;
	uint64_t arg[6];

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &req) < 0)
		return; /* the child went away */
	for (size_t i = 0; i < 6; i++)
		arg[i] = req.data.args[i];
	seccomp_explain(&f->want, req.data.nr, req.data.arch, arg, &why);
	resp.id = req.id;
	if (why.watch == WATCH_DENIED)
		resp.error = why.action == SYSCALL_REFUSE ? -EPERM : -ENOSYS;
	else
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	(void) ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

static void test_listener_hears_and_answers(void **state)
{
	struct fixture *f = *state;
	int to[2], from[2], number, status, heard = 0;

	compile(f, WATCH_DENIED);
	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0)
		listened_child(&f->program, from[1], to[0]);
	close(from[1]);
	assert_int_equal(read(from[0], &number, sizeof(number)), sizeof(number));
	int pidfd = (int) syscall(SYS_pidfd_open, child, 0);
	int listener = (int) syscall(SYS_pidfd_getfd, pidfd, number, 0);
	assert_true(listener >= 0);
	assert_int_equal(write(to[1], "", 1), 1);

	struct pollfd fds = { .fd = listener, .events = POLLIN };
	while (poll(&fds, 1, 10000) == 1 && (fds.revents & POLLIN)) {
		answer_one(f, listener);
		heard++;
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(heard >= 11);
	close(listener);
	close(pidfd);
	close(from[0]);
	close(to[0]);
	close(to[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_loaded_filter_holds),
		T(test_listener_hears_and_answers),
	};

	return cmocka_run_group_tests_name("seccomp_load", tests, NULL, NULL);
}
