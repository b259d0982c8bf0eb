/* SPDX-License-Identifier: MIT */
/*
 * One QEMU: its command line, its descriptors, its start. The machine is QEMU's `microvm`: no PCI, no BIOS to speak of,
 * four virtual serial ports, two read-only disks. A boot and a restore of it differ in what follows the devices only, as
 * a state loads into the same machine alone.
 */
#include "core/backend/vm.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS_MAX     2048 /* of what QEMU says before it ends */
#define WORDS_LATE_MS 1000

/* The small one knows no software emulation. */
const char *vm_program(enum accel accel)
{
	static const char small[] = "/usr/bin/qemu-system-x86_64-microvm";
	return accel == ACCEL_KVM && access(small, X_OK) == 0 ? small : "/usr/bin/qemu-system-x86_64";
}

/* ---- the command line ---- */

/*
 * tsc_early_khz: without it, the guest measures its clock against timers that a busy host delays, and each fifth boot or
 * so hangs. cryptomgr.notests, init_on_alloc=0, audit=0, psi=0, lsm=landlock: 0.3 s of start under emulation, where also no
 * speculation of guest code is left to mitigate. panic=-1 and reboot=t with -no-reboot: a guest that panics ends its QEMU. By
 * any other way of rebooting, a machine that was restored begins with its firmware again, which finds no kernel and halts.
 */
#define KERNEL_WORDS                                                                               \
	"quiet panic=-1 reboot=t tsc=reliable no_timer_check random.trust_cpu=on 8250.nr_uarts=0 " \
	"cryptomgr.notests=1 init_on_alloc=0 audit=0 psi=0 lsm=landlock"

static char *kernel_line(const struct vm_want *w)
{
	return xprintf(KERNEL_WORDS " tsc_early_khz=%u%s", w->tsc_khz,
		       w->accel == ACCEL_TCG ? " mitigations=off" : "");
}

static char **argv_add(char **v, char *owned)
{
	v = strv_add(v, owned);
	free(owned);
	return v;
}

static char **argv_words(char **v, const char *const *words)
{
	for (; *words; words++)
		v = strv_add(v, *words);
	return v;
}

/*
 * pit=off and pic=off: nothing uses them, tsc_early_khz being given. The clock of the board stays: without it the kernel
 * polls for two seconds. tb-size bounds the translated code, which is most of what QEMU takes beside the guest's RAM.
 */
static char **argv_machine(char **v, const struct vm_want *w)
{
	// clang-format off
	static const char *const words[] = {
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
		"-machine", "microvm,x-option-roms=off,isa-serial=off,pic=off,pit=off,memory-backend=ram",
		"-cpu", "max", "-accel", NULL,
	};
	// clang-format on
	const unsigned long long mib = w->memory >> 20;
	v = argv_words(v, words);
	v = strv_add(v, w->accel == ACCEL_KVM ? "kvm" : "tcg,thread=single,tb-size=64");
	v = strv_add(v, "-m");
	v = argv_add(v, xprintf("%lluM", mib));
	v = strv_add(v, "-object");
	return argv_add(v, xprintf("memory-backend-file,id=ram,mem-path=" VM_RAM ",size=%lluM,share=%s", mib,
				   w->vmlinux ? "on" : "off"));
}

static char **argv_devices(char **v)
{
	static const char *const disks[] = { "root", "data" };
	v = strv_add(v, "-chardev");
	v = argv_add(v, xprintf("socket,id=monitor,fd=%d", VM_FD_MONITOR));
	v = strv_add(strv_add(v, "-mon"), "chardev=monitor,mode=control");
	v = strv_add(strv_add(v, "-device"), "virtio-serial-device");
	for (int k = 0; k < VM_PORT_MAX; k++) {
		v = strv_add(v, "-chardev");
		v = argv_add(v, xprintf("socket,id=port%d,fd=%d", k + 1, VM_FD_PORT + k));
		v = strv_add(v, "-device");
		v = argv_add(v, xprintf("virtserialport,chardev=port%d,nr=%d", k + 1, k + 1));
	}
	for (int k = 0; k < 2; k++) {
		v = strv_add(v, "-add-fd");
		v = argv_add(v, xprintf("fd=%d,set=%d", VM_FD_ROOT + k, k + 1));
		v = strv_add(v, "-drive");
		v = argv_add(
			v, xprintf("file=/dev/fdset/%d,format=raw,file.locking=off,if=none,id=%s,readonly=on",
				   k + 1, disks[k]));
		v = strv_add(v, "-device");
		v = argv_add(v, xprintf("virtio-blk-device,drive=%s", disks[k]));
	}
	return v;
}

char **vm_argv(const struct vm_want *w, const char *program)
{
	static const char *const boot[] = { "-kernel", VM_KERNEL, "-initrd", VM_INITRD, "-append", NULL };
	static const char *const restore[] = { "-incoming", "defer", NULL };
	char **v = argv_devices(argv_machine(strv_add(NULL, program), w));
	if (!w->vmlinux)
		return argv_words(v, restore);
	return argv_add(argv_words(v, boot), kernel_line(w));
}

int vm_identity(const struct vm_want *w, struct buf *out, struct err *e)
{
	struct vm_want boot = *w;
	struct stat st;
	const char *program = vm_program(w->accel);
	if (stat(program, &st) < 0)
		return err_set(e, errno, "look at %s", program);
	boot.vmlinux = VM_KERNEL; /* so that the kernel's words are in it */
	char **v = vm_argv(&boot, program);
	for (char **word = v; *word; word++)
		buf_printf(out, "%s\n", *word);
	strv_free(v);
	buf_printf(out, "%lld %llu %lld.%09ld\n", (long long) st.st_size, (unsigned long long) st.st_ino,
		   (long long) st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	return 0;
}

/* ---- descriptors ---- */

struct vm_ends {
	int fds[VM_FD_STATE + 1 - VM_FD_MONITOR]; /* as QEMU gets them; of sockets, its ends: ours to close */
	size_t count;
};
#define SOCKETS (1 + VM_PORT_MAX)

static int pair_open(int *ret_ours, int *ret_theirs, int flags, struct err *e)
{
	int p[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p) < 0)
		return err_set(e, errno, "make a port of the machine");
	*ret_ours = p[0];
	*ret_theirs = p[1];
	return fcntl(p[0], F_SETFL, flags) < 0 ? err_set(e, errno, "make a port of the machine") : 0;
}

static int ends_open(struct vm_ends *s, const struct vm_want *w, struct vm *m, struct err *e)
{
	int r = pair_open(&m->monitor_fd, &s->fds[0], 0, e);
	for (int k = 0; r >= 0 && k < VM_PORT_MAX; k++)
		r = pair_open(&m->port_fd[k], &s->fds[1 + k], O_NONBLOCK, e);
	s->fds[VM_FD_ROOT - VM_FD_MONITOR] = w->root_fd;
	s->fds[VM_FD_DATA - VM_FD_MONITOR] = w->data_fd;
	s->fds[VM_FD_STATE - VM_FD_MONITOR] = w->state_fd;
	s->count = (size_t) (w->vmlinux ? VM_FD_STATE : VM_FD_STATE + 1) - VM_FD_MONITOR;
	return r;
}

/* Said before there is anybody to hear it: nothing has to be waited for then. */
static int hello_send(const struct vm_want *w, struct vm *m, struct err *e)
{
	char text[QMP_RESTORE_MAX];
	if (!w->vmlinux) {
		const char *say = qmp_restore(VM_FD_STATE, text, sizeof(text));
		if (send(m->monitor_fd, say, strlen(say), MSG_NOSIGNAL) != (ssize_t) strlen(say))
			return err_set(e, errno, "tell QEMU to restore");
	}
	if (w->hello_len == 0)
		return 0;
	ssize_t n = send(m->port_fd[VM_CONTROL], w->hello, w->hello_len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN)
		return err_set(e, errno, "greet the machine");
	m->hello_sent = n < 0 ? 0 : (size_t) n;
	return 0;
}

/* ---- the start ---- */

/* Through one that can be written to, a QEMU that was broken out into would reach later runs. */
static bool only_reads(int fd)
{
	int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
	return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY;
}

static int want_check(const struct vm_want *w, struct err *e)
{
	const bool boot = w->vmlinux != NULL;
	if (access(vm_program(w->accel), X_OK) < 0)
		return err_say(e, ENOENT, "there is no %s: install the package qemu-system-x86",
			       vm_program(w->accel));
	if (!only_reads(w->root_fd) || !only_reads(w->data_fd) ||
	    (!boot && (!only_reads(w->ram_fd) || !only_reads(w->state_fd))))
		return err_say(e, EINVAL,
			       "what a machine reads must be open for reading, and for nothing else");
	if ((boot && !w->initrd) || w->memory == 0 || w->memory % (1 << 20) != 0)
		return err_say(e, EINVAL, "a machine needs an initrd to boot, and whole MiB of memory");
	return 0;
}

/* Of a machine that is never saved: anonymous, and for it alone. */
static int ram_anonymous(const struct vm_want *w, int *ret_fd, struct err *e)
{
	CLOSE_FD int fd = memfd_create("ram", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t) w->memory) < 0)
		return err_set(e, errno, "make the machine's memory");
	*ret_fd = take_fd(&fd);
	return 0;
}

static void instance_take(struct instance *i, struct instance *q, struct vm *m)
{
	i->pid = q->pid;
	i->target_pid = q->target_pid;
	i->target_uid = q->target_uid;
	i->target_gid = q->target_gid;
	i->has_reaper = q->has_reaper;
	i->processes_own = q->processes_own;
	i->cgroup = take_ptr(&q->cgroup);
	i->pidfd = take_fd(&q->pidfd);
	i->sync_fd = take_fd(&q->sync_fd);
	m->words_fd = take_fd(&q->err_fd);
	close_fd(&q->out_fd); /* it has nothing to say there */
	instance_done(q);
}

int vm_start(struct instance *i, const struct vm_want *w, struct vm *ret, struct err *e)
{
	struct vm *m = ret;
	CLOSE_FD int own_ram_fd = -1;
	struct vm_ends s;
	*m = (struct vm){ .port_fd = { -1, -1, -1, -1 }, .monitor_fd = -1, .words_fd = -1 };
	for (size_t k = 0; k < ARRAY_LEN(s.fds); k++)
		s.fds[k] = -1;
	int r = want_check(w, e);
	if (r >= 0 && w->ram_fd < 0)
		r = ram_anonymous(w, &own_ram_fd, e);
	if (r < 0 || (r = ends_open(&s, w, m, e)) < 0 || (r = hello_send(w, m, e)) < 0)
		goto out;

	/* QEMU is no target: nothing of the launch reaches it, neither standard input nor terminal nor canary. */
	struct launch own = *i->launch;
	struct policy p = *own.policy;
	struct instance q;
	own.policy = &p;
	own.stdin_fd = -1;
	own.canary = false;
	instance_init(&q, i->backend, &own);
	const struct vm_child c = { .want = w,
				    .argv = vm_argv(w, vm_program(w->accel)),
				    .fds = s.fds,
				    .fd_count = s.count,
				    .ram_fd = own_ram_fd < 0 ? w->ram_fd : own_ram_fd };
	r = vm_confine(&q, &c, e);
	strv_free(c.argv);
	instance_take(i, &q, m);
out:
	for (int k = 0; k < SOCKETS; k++)
		close_fd(&s.fds[k]);
	return r;
}

void vm_done(struct vm *m)
{
	for (int k = 0; k < VM_PORT_MAX; k++)
		close_fd(&m->port_fd[k]);
	close_fd(&m->monitor_fd);
	close_fd(&m->words_fd);
}

void vm_end(struct instance *i, struct vm *m)
{
	(void) child_end(i);
	i->cgroup = cgroup_remove(i->cgroup);
	close_fd(&i->pidfd);
	close_fd(&i->sync_fd);
	vm_done(m);
}

int vm_words(int fd, struct err *e)
{
	char words[WORDS_MAX];
	size_t len = 0;
	ssize_t n;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const uint64_t deadline = now_ns() + WORDS_LATE_MS * NS_PER_MS;
	/* Its last words and the end of the pipe come within moments of each other. */
	while (len < sizeof(words) && now_ns() < deadline && poll(&p, 1, WORDS_LATE_MS) > 0 &&
	       (n = read(fd, words + len, sizeof(words) - len)) > 0)
		len += (size_t) n;
	while (len > 0 && words[len - 1] == '\n')
		len--;
	FREE char *line = text_line(words, len, true);
	return err_say(e, ECHILD, "QEMU ended%s%s", len ? ": " : "",
		       len ? line : " without a word: its guest stopped or panicked, or it was killed");
}

int vm_why(const struct vm *m, struct err *e)
{
	return vm_words(m->words_fd, e);
}
