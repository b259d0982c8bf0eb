/* SPDX-License-Identifier: MIT */
/*
 * Probes of single kernel interfaces: clone3, no_new_privs, keyrings, Landlock, and looking into one's own child.
 */
#include "core/doctor/probe.h"

#include "core/base/base.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

void probe_clone3(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	(void) g, (void) arg;
	if (new_child(0, NULL, NULL, &e) < 0)
		answer_err(a, &e);
	else
		answer_ok(a, "started a process");
}

void probe_no_new_privs(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	(void) g, (void) arg;
	if (no_new_privs(&e) < 0)
		answer_err(a, &e);
	else
		answer_ok(a, "set");
}

void probe_keyring(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	(void) g, (void) arg;
	if (keyring_own(&e) < 0)
		answer_err(a, &e);
	else
		answer_ok(a, "joined, or the kernel has none");
}

/* ---- Landlock ---- */

void probe_landlock(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	char *root[] = { (char[]){ "/" }, NULL };
	const struct landlock_rules files = { .read = root };
	int abi = landlock_abi(), refused = errno;
	(void) g, (void) arg;
	if (abi == 0)
		answer_missing(a, refused, "landlock_create_ruleset(2): %s", strerrordesc_np(refused));
	else if (no_new_privs(&e) < 0 || landlock_apply(&files, &e) < 0)
		answer_err(a, &e);
	else if (access("/", R_OK) < 0)
		answer_missing(a, errno, "a ruleset that allows / was applied and refuses it");
	else
		answer_ok(a, "ABI %d, a ruleset was applied", abi);
}

/* A signal to the parent must no longer arrive; 0 sends none. */
void probe_landlock_scopes(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	const struct landlock_rules scopes = { .keep_sockets = true, .keep_signals = true };
	(void) g, (void) arg;
	if (no_new_privs(&e) < 0 || landlock_apply(&scopes, &e) < 0)
		answer_err(a, &e);
	else if (kill(getppid(), 0) == 0)
		answer_missing(a, 0, "a scope was applied and a signal leaves it");
	else
		answer_ok(a, "applied, and it holds");
}

/* ---- looking into a child ---- */

/* A child that waits for its end; as a target, it is a copy of its parent that has not executed anything yet. */
static pid_t child_waiting(unsigned flags, struct err *e)
{
	struct clone_args args = { .flags = flags, .exit_signal = SIGCHLD };
	pid_t pid = (pid_t) syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		for (;;)
			pause();
	}
	if (pid < 0)
		return err_set(e, errno, "clone3(2)");
	return pid;
}

static void child_end_waiting(pid_t pid)
{
	(void) kill(pid, SIGKILL);
	(void) waitpid(pid, NULL, 0);
}

void probe_take_fd(const struct given *g, int flags, struct answer *a)
{
	struct err e;
	(void) g;
	pid_t pid = child_waiting((unsigned) flags, &e);
	if (pid < 0) {
		answer_err(a, &e);
		return;
	}
	CLOSE_FD int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
	CLOSE_FD int fd = pidfd < 0 ? -1 : (int) syscall(SYS_pidfd_getfd, pidfd, STDERR_FILENO, 0);
	int error = errno;
	child_end_waiting(pid);
	if (fd < 0)
		answer_missing(a, error, "pidfd_getfd(2): %s", strerrordesc_np(error));
	else
		answer_ok(a, "taken");
}

void probe_read_memory(const struct given *g, int arg, struct answer *a)
{
	static const char word[] = "a word that the child has too";
	char got[sizeof(word)] = "";
	struct iovec here = { got, sizeof(got) }, there = { (void *) word, sizeof(word) };
	struct err e;
	(void) g, (void) arg;
	pid_t pid = child_waiting(0, &e);
	if (pid < 0) {
		answer_err(a, &e);
		return;
	}
	ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);
	int error = errno;
	child_end_waiting(pid);
	if (n < 0)
		answer_missing(a, error, "process_vm_readv(2): %s", strerrordesc_np(error));
	else if (memcmp(got, word, sizeof(word)) != 0)
		answer_missing(a, 0, "process_vm_readv(2) read something else");
	else
		answer_ok(a, "read");
}
