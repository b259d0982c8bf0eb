/* SPDX-License-Identifier: MIT */
/*
 * What holds a QEMU. Its guest is assumed to have broken out into it: then it is a process of an unprivileged user that
 * sees its own program and libraries, has its ports and read-only images, no network, no other process, and can make no
 * file and write to none. What it may write to it opens at its start, and gets from here.
 * See seccomp_unotify(2).
 */
#include "core/backend/vm.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define NAMESPACES    (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)
#define INSIDE_UID    1000
#define BESIDE_RAM    (UINT64_C(160) << 20) /* translated code, and QEMU itself */
#define TASKS         24
#define OPEN_FILES    64
#define CPUS          1500 /* one processor that is emulated, and what serves its devices */
#define START_LIMIT_S 30

/* ---- its view ---- */

static void view_bind(struct mount_plan *m, const char *source, const char *dest, bool optional)
{
	mount_plan_add(m, (struct mount_op){
				  .kind = MOUNT_BIND, .source = source, .dest = dest, .optional = optional });
}

/* "/lib" is a link into /usr on most, a folder on some, missing on few. */
static void view_top(struct mount_plan *m, const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	if (n < 0) {
		if (errno == EINVAL)
			view_bind(m, path, path, false);
		return;
	}
	target[n] = 0;
	mount_plan_add(m, (struct mount_op){ .kind = MOUNT_LINK, .source = target, .dest = path });
}

/* Its program, the libraries that it may load (the accelerator among them) and the firmware; nothing that is a person's. */
static void view_plan(struct mount_plan *m, const struct vm_want *w)
{
	static const char libraries[] = "/usr/lib/x86_64-linux-gnu";
	const char *program = vm_program(w->accel);
	*m = (struct mount_plan){ .space = 4096, .inodes = 1 };
	view_bind(m, program, program, false);
	view_bind(m, access(libraries, X_OK) == 0 ? libraries : "/usr/lib",
		  access(libraries, X_OK) == 0 ? libraries : "/usr/lib", false);
	if (access("/usr/lib64", X_OK) == 0)
		view_bind(m, "/usr/lib64", "/usr/lib64", false);
	view_top(m, "/lib");
	view_top(m, "/lib64");
	view_bind(m, "/etc/ld.so.cache", "/etc/ld.so.cache", false);
	view_bind(m, "/usr/share/qemu", "/usr/share/qemu", false);
	view_bind(m, "/usr/share/seabios", "/usr/share/seabios", true);
	if (w->vmlinux) {
		view_bind(m, w->vmlinux, VM_KERNEL, false);
		view_bind(m, w->initrd, VM_INITRD, false);
	}
	mount_plan_add(m, (struct mount_op){ .kind = MOUNT_READ_ONLY, .dest = "/" });
}

/* ---- its system calls ---- */

static const char calls[] =
	/* files, of which it makes none */
	"open openat close close_range read pread64 preadv readv write writev pwrite64 pwritev lseek fcntl "
	"dup dup2 dup3 "
	"ioctl fstat stat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 readlink "
	"readlinkat getcwd "
	"getdents64 fdatasync fsync ftruncate fallocate fadvise64 pipe2 "
	/* memory */
	"brk mmap munmap mprotect mremap madvise msync membarrier "
	/* threads; of processes it can make copies of itself alone, as nothing can be executed once it has started */
	"clone execve exit exit_group futex set_robust_list set_tid_address rseq arch_prctl prctl "
	"sched_yield gettid "
	"getpid getppid sched_getaffinity sched_setaffinity sched_getparam sched_getscheduler "
	"getuid geteuid getgid getegid getrlimit prlimit64 getrusage sysinfo uname getcpu "
	/* signals, time, waiting */
	"rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack "
	"signalfd4 "
	"restart_syscall tgkill tkill clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time "
	"timer_create "
	"timer_settime timer_gettime timer_delete timer_getoverrun timerfd_create timerfd_settime poll ppoll "
	"select "
	"pselect6 epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd2 getrandom "
	/* the ports and the monitor, which it holds already: it can make and connect none */
	"recvmsg recvfrom sendmsg sendto shutdown getsockname getpeername getsockopt setsockopt "
	/* -sandbox: a filter of its own on top of this one */
	"seccomp";

static int filter_make(struct seccomp_program *ret, struct err *e)
{
	struct policy p = { .allow = strv_split(calls), .on_denied = DENIED_ERRNO };
	for (int n = 0; n < LIMIT_MAX; n++)
		p.limit[n] = UNLIMITED;
	const struct seccomp_want want = { .policy = &p, .watch = WATCH_WRITING | WATCH_EXEC };
	int r = seccomp_compile(&want, ret, e);
	strv_free(p.allow);
	return r;
}

/* ---- its limits ---- */

/* Whatever the run may use lies inside the guest's RAM: these are QEMU's own. */
static int limits_make(struct instance *q, const struct vm_want *w, struct ladder *ret, struct err *e)
{
	struct policy *p = q->launch->policy;
	for (int n = 0; n < LIMIT_MAX; n++)
		p->limit[n] = UNLIMITED;
	p->limit[LIMIT_MEMORY] = w->memory + BESIDE_RAM;
	p->limit[LIMIT_CPUS] = CPUS;
	p->limit[LIMIT_PROCESSES] = TASKS;
	p->limit[LIMIT_OPEN_FILES] = OPEN_FILES;
	p->limit[LIMIT_FILE_SIZE] = w->vmlinux ? w->memory : 0; /* a boot writes its RAM, and may be saved */
	int r = ladder_cgroup(q, 1, e);
	if (r >= 0)
		ladder_build(q, true, false, ret);
	return r;
}

/* ---- what it may do while it starts, and never again ---- */

struct once {
	bool executed; /* its own program */
	struct {
		const char *path;
		int fd; /* -1: not waited for */
	} open[2];
};

static void respond(int notify_fd, const struct seccomp_notif *n, int error)
{
	struct seccomp_notif_resp r = { .id = n->id, .error = -error };
	if (error == 0)
		r.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	(void) ioctl(notify_fd, SECCOMP_IOCTL_NOTIF_SEND, &r);
}

/* The path is read from memory that it may change meanwhile: whatever it meant, it gets a descriptor that we chose. */
static void answer_open(int notify_fd, const struct seccomp_notif *n, struct once *o)
{
	char path[16] = "";
	const uint64_t at = n->data.args[n->data.nr == SYS_open ? 0 : 1];
	struct iovec here = { path, sizeof(path) - 1 }, there = { (void *) (uintptr_t) at, sizeof(path) - 1 };
	if (process_vm_readv((pid_t) n->pid, &here, 1, &there, 1, 0) <= 0)
		path[0] = 0;
	/* The number may be another's by now: only a call that still waits says that what was read was its own. */
	if (ioctl(notify_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &n->id) < 0)
		return;
	for (size_t k = 0; k < ARRAY_LEN(o->open); k++) {
		struct seccomp_notif_addfd add = { .id = n->id,
						   .flags = SECCOMP_ADDFD_FLAG_SEND,
						   .srcfd = (uint32_t) o->open[k].fd,
						   .newfd_flags = O_CLOEXEC };
		if (o->open[k].fd < 0 || strcmp(path, o->open[k].path) != 0)
			continue;
		if (ioctl(notify_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0)
			respond(notify_fd, n, EACCES);
		else
			o->open[k].fd = -1;
		return;
	}
	respond(notify_fd, n, EACCES);
}

static void answer(int notify_fd, const struct seccomp_notif *n, struct once *o)
{
	if (n->data.nr != SYS_execve) {
		answer_open(notify_fd, n, o);
		return;
	}
	respond(notify_fd, n,
		o->executed ? EACCES : 0); /* the first is our own copy's: nothing foreign has run yet */
	o->executed = true;
}

static int child_failed(struct instance *q, struct err *e)
{
	struct sync_msg m = { 0 };
	if (instance_sync(q, &m) == 1 && m.type == SYNC_ERROR && m.err.code) {
		*e = m.err;
		return -e->code;
	}
	return vm_words(q->err_fd, e);
}

/* Once it has what it waits for, the listener goes, and with it any way to execute or to open for writing: such a call
 * is unknown then. */
static int once_serve(struct instance *q, struct once *o, struct err *e)
{
	struct pollfd p[] = { { .fd = q->notify_fd, .events = POLLIN },
			      { .fd = q->sync_fd, .events = POLLIN } };
	const uint64_t deadline = now_ns() + START_LIMIT_S * NS_PER_S;
	while (o->open[0].fd >= 0 || o->open[1].fd >= 0) {
		struct seccomp_notif n = { 0 };
		int64_t left = (int64_t) (deadline - now_ns()) / (int64_t) NS_PER_MS;
		if (left <= 0)
			return err_say(e, ETIMEDOUT, "QEMU did not take its memory within %d s",
				       START_LIMIT_S);
		if (poll(p, 2, (int) left) < 0 && errno != EINTR)
			return err_set(e, errno, "wait for QEMU");
		if (p[1].revents)
			return child_failed(q, e);
		if (p[0].revents && ioctl(q->notify_fd, SECCOMP_IOCTL_NOTIF_RECV, &n) == 0)
			answer(q->notify_fd, &n, o);
	}
	close_fd(&q->notify_fd);
	return 0;
}

/* ---- all of it ---- */

static int qemu_start(struct instance *q, const struct vm_child *v, struct mount_plan *m, struct err *e)
{
	static char *no_environment[] = { NULL };
	struct seccomp_program filter = { 0 };
	struct ladder ladder;
	int r;
	if ((r = target_uid_check(q->launch, e)) < 0 || (r = limits_make(q, v->want, &ladder, e)) < 0 ||
	    (r = filter_make(&filter, e)) < 0)
		return r;
	struct confinement c = {
		.clone_flags = NAMESPACES,
		.host_uid = target_uid(q->launch),
		.host_gid = target_gid(q->launch),
		.inside_uid = INSIDE_UID,
		.cgroup = q->cgroup,
		.mounts = m,
		.hostname = "machine",
		.cwd = "/",
		.rlimits = ladder.rlimits,
		.rlimit_count = ladder.rlimit_count,
		.cpu_count = ladder.cpu_count,
		.filter = &filter,
		.listener = true,
		.small_pages =
			true, /* a first touch of a large one costs more than the machine's whole start */
		.more_fds = v->fds,
		.more_count = v->fd_count,
		.argv = v->argv,
		.env = no_environment,
	};
	if ((r = mount_plan_open(m, e)) >= 0 && (r = child_start(q, &c, e)) >= 0 &&
	    (r = child_await(q, e)) >= 0)
		r = child_release(q, e);
	seccomp_program_done(&filter);
	return r;
}

int vm_confine(struct instance *q, const struct vm_child *v, struct err *e)
{
	CLOSE_FD int kvm_fd = -1;
	struct mount_plan m;
	if (v->want->accel == ACCEL_KVM && (kvm_fd = open("/dev/kvm", O_RDWR | O_CLOEXEC)) < 0)
		return err_set(e, errno, "open /dev/kvm");
	view_plan(&m, v->want);
	int r = qemu_start(q, v, &m, e);
	mount_plan_done(&m);
	struct once once = { .open = { { VM_RAM, v->ram_fd }, { "/dev/kvm", kvm_fd } } };
	return r < 0 ? r : once_serve(q, &once, e);
}
