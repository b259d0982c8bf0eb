/* SPDX-License-Identifier: MIT */
/*
 * Whether KVM works here. /dev/kvm may be there and yet be for guests alone that were made for its kind, and an ordinary
 * one then hangs in the kernel: so facts are asked first, and what they leave open a small guest tries, in a process that
 * is killed when it takes too long. What only a whole kernel can show, the first one that is booted shows.
 */
#include "core/backend/machine.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIAL_NS    (300 * NS_PER_MS)
#define REAP_NS     (2 * NS_PER_S)
#define CPUINFO_MAX 16384 /* the first processor is enough, and its flags are among its first lines */

#define FROM_HOST "give the machine nested virtualization, where it is a virtual one"

/* clang-format off */
const struct kvm_kind kvm_kinds[KVM_STATE_MAX] = {
	[KVM_UNTRIED] = { "untried", 0, false, "not tried", "" },
	[KVM_USABLE] = { "usable", 0, true, "a small guest ran under it", "" },
	[KVM_OTHER_CPU] = { "other-cpu", ENOTSUP, false, "microVMs are made for x86-64 alone so far",
		"use a machine with an x86-64 processor" },
	[KVM_PARAVIRTUAL] = { "paravirtual", ENOTSUP, false,
		"kvm_pvm is loaded: KVM is here for guests made for it alone, an ordinary one hangs", FROM_HOST },
	[KVM_NO_EXTENSION] = { "no-extension", ENOTSUP, false, "the processor shows neither vmx nor svm",
		"switch virtualization on in the firmware, or " FROM_HOST },
	[KVM_NO_DEVICE] = { "no-device", ENOENT, false, "/dev/kvm is not there",
		"sudo modprobe kvm_intel, or kvm_amd; in a container: --device /dev/kvm" },
	[KVM_NO_RIGHT] = { "no-right", EACCES, false, "no right to open /dev/kvm (group kvm)",
		"sudo usermod -aG kvm $USER, and log in anew" },
	[KVM_NO_OPEN] = { "no-open", EIO, false, "/dev/kvm cannot be opened", "see dmesg(1) for what kvm says" },
	[KVM_WRONG] = { "wrong", ENOTSUP, true, "a small guest did not run as it should",
		"see dmesg(1) for what kvm says; it is tried again after the next boot" },
	[KVM_HUNG] = { "hung", ETIMEDOUT, true, "a small guest did not end and was killed",
		FROM_HOST "; it is tried again after the next boot" },
	[KVM_GUEST_FAILED] = { "guest-failed", ENOTSUP, true, "a guest did not come up under it",
		FROM_HOST "; it is tried again after the next boot" },
};
/* clang-format on */

void kvm_say(struct kvm_verdict *ret, enum kvm_state state, const char *why)
{
	char text[KVM_WHY];
	snprintf(text, sizeof(text), "%s", why && *why ? why : kvm_kinds[state].why);
	for (char *p = text; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	ret->state = state;
	memcpy(ret->why, text, sizeof(text));
}

/* ---- facts ---- */

static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);
	for (const char *p = list; (p = strstr(p, word)); p += len)
		if (p > list && p[-1] == ' ' && (p[len] == ' ' || !p[len]))
			return true;
	return false;
}

static bool cpu_virtualizes(const char *root)
{
	char text[CPUINFO_MAX];
	FREE char *path = xprintf("%s/proc/cpuinfo", root);

	if (file_read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
		return false;
	char *flags = strstr(text, "\nflags");
	if (!flags)
		return false;
	flags[1 + strcspn(flags + 1, "\n")] = 0;
	return has_word(flags, "vmx") || has_word(flags, "svm");
}

void kvm_facts_read(const char *root, struct kvm_facts *ret)
{
	FREE char *module = xprintf("%s/sys/module/kvm_pvm", root);
	FREE char *device = xprintf("%s/dev/kvm", root);

	*ret = (struct kvm_facts){ .paravirtual = access(module, F_OK) == 0,
				   .extension = cpu_virtualizes(root) };
	CLOSE_FD int fd = open(device, O_RDWR | O_CLOEXEC);
	ret->open_error = fd < 0 ? errno : 0;
}

/* What no right or module would help against comes first. */
enum kvm_state kvm_decide(const struct kvm_facts *f)
{
#if !defined(__x86_64__)
	return KVM_OTHER_CPU; /* its trial would come into kvm_guest.c */
#endif
	if (f->paravirtual)
		return KVM_PARAVIRTUAL;
	if (!f->extension)
		return KVM_NO_EXTENSION;
	switch (f->open_error) {
	case 0:
		return KVM_UNTRIED;
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return KVM_NO_DEVICE;
	case EACCES:
	case EPERM:
		return KVM_NO_RIGHT;
	default:
		return KVM_NO_OPEN;
	}
}

const char *kvm_remedy(const char *root)
{
	struct kvm_facts facts;
	kvm_facts_read(root, &facts);
	enum kvm_state state = kvm_decide(&facts);
	return state == KVM_UNTRIED ? NULL : kvm_kinds[state].remedy;
}

/* ---- a trial is bounded ---- */

static _Noreturn void trial_main(int (*trial)(struct err *e), int fd, pid_t parent)
{
	const struct rlimit second = { 1, 1 }, none = { 0, 0 };
	struct err e = { 0 };

	/* Should nobody be left to kill it: it goes with us, and a guest that spins has a second of the processor. */
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent || setrlimit(RLIMIT_CPU, &second) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		_exit(1);
	if (trial(&e) >= 0)
		e.code = 0;
	(void) !write(fd, &e, sizeof(e));
	_exit(0);
}

/* False: not within the time. */
static bool wait_readable(int fd, uint64_t limit_ns)
{
	uint64_t deadline = now_ns() + limit_ns, now;
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	while ((now = now_ns()) < deadline) {
		int r = poll(&ready, 1, (int) ((deadline - now) / NS_PER_MS + 1));
		if (r > 0)
			return true;
		if (r < 0 && errno != EINTR)
			break;
	}
	return false;
}

/* A process that is stuck in the kernel does not die of SIGKILL, and waiting for it would hang us with it: what is not
 * gone in time is init's to reap, when we are gone. */
static void trial_end(pid_t pid)
{
	CLOSE_FD int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
	(void) kill(pid, SIGKILL);
	if (pidfd >= 0)
		(void) wait_readable(pidfd, REAP_NS);
	(void) waitpid(pid, NULL, WNOHANG);
}

static void trial_hear(int fd, uint64_t limit_ns, struct kvm_verdict *ret)
{
	struct err told;

	if (!wait_readable(fd, limit_ns)) {
		kvm_say(ret, KVM_HUNG, NULL);
	} else if (read(fd, &told, sizeof(told)) != (ssize_t) sizeof(told)) {
		kvm_say(ret, KVM_WRONG, "a small guest killed the process that tried it");
	} else {
		told.text[sizeof(told.text) - 1] = 0;
		kvm_say(ret, told.code ? KVM_WRONG : KVM_USABLE, told.code ? told.text : NULL);
	}
}

void kvm_watch(int (*trial)(struct err *e), uint64_t limit_ns, struct kvm_verdict *ret)
{
	int fds[2];
	pid_t self = getpid();

	if (pipe2(fds, O_CLOEXEC) < 0) {
		kvm_say(ret, KVM_UNTRIED, "not tried: no pipe");
		return;
	}
	CLOSE_FD int in = fds[0];
	CLOSE_FD int out = fds[1];
	pid_t pid = fork();
	if (pid == 0)
		trial_main(trial, out, self);
	close_fd(&out);
	if (pid < 0) {
		kvm_say(ret, KVM_UNTRIED, "not tried: no process");
		return;
	}
	trial_hear(in, limit_ns, ret);
	trial_end(pid);
}

void kvm_try(struct kvm_verdict *ret)
{
	kvm_watch(kvm_run_guests, TRIAL_NS, ret);
	/* It takes some 2 ms. A busy host may not have let it run, and what comes out is remembered for a boot. */
	if (ret->state == KVM_HUNG)
		kvm_watch(kvm_run_guests, TRIAL_NS, ret);
}
