/* SPDX-License-Identifier: MIT */
/*
 * Private to core/backend: one virtual machine, run by a QEMU that is confined itself, and snapshots of such machines.
 * The channel is four streams; what is behind them (QEMU's virtual serial ports, or another monitor's sockets) nobody
 * else knows.
 */
#pragma once

#include "core/backend/child.h"
#include "core/backend/guest.h"

/* CONTROL: frames both ways (wire_stream). STDOUT, STDERR: bytes from the target. DATA: standard input to the target as
 * frames, and files from it at the end. */
enum vm_port { VM_CONTROL, VM_STDOUT, VM_STDERR, VM_DATA, VM_PORT_MAX };

struct vm_want {
	enum accel accel; /* decided: kvm or tcg */
	uint64_t memory;  /* bytes of guest RAM, whole MiB */
	uint32_t tsc_khz;
	const char *vmlinux, *initrd; /* a cold boot; NULL: a restore */
	int root_fd, data_fd;         /* images, open for reading alone. Borrowed, as all descriptors here */
	/* Boot: for reading and writing, of a machine that will be saved (-1: never). Restore: for reading, and mapped
	 * privately. */
	int ram_fd;
	int state_fd; /* restore: for reading, at its beginning */
	/* Put into the control port before the machine starts; stream bytes, lengths included. */
	const void *hello;
	size_t hello_len;
};

struct vm {
	int port_fd[VM_PORT_MAX]; /* our ends, non-blocking */
	int monitor_fd;           /* QMP; blocking */
	int words_fd;             /* what QEMU says of itself; for vm_why */
	/* Less than hello_len where the port's buffer was full: the rest is the caller's to write. */
	size_t hello_sent;
};

/*
 * vm_start: a QEMU as `i`'s child: pid, pidfd, sync_fd, target_pid, has_reaper, cgroup are set, nothing else of `i` is
 * touched, and child_end(i) ends it. It has opened what it may write to when this returns. *ret is valid also on
 * failure; vm_done closes. -ENOENT: no QEMU, with the remedy.
 */
int vm_start(struct instance *i, const struct vm_want *w, struct vm *ret, struct err *e);
void vm_done(struct vm *m);
/* vm_end: with its QEMU, so that the instance may have another. */
void vm_end(struct instance *i, struct vm *m);
/* vm_why: of a machine whose port or monitor came to its end: "QEMU ended", in its own words where it has any, scrubbed.
 * -ECHILD. */
int vm_why(const struct vm *m, struct err *e);

/* vm_identity: for the key of a snapshot: all of the command line that a saved state depends on, the kernel's included,
 * and which QEMU it is (path, size, inode, time). `w` needs accel, memory, tsc_khz alone. Appended. */
int vm_identity(const struct vm_want *w, struct buf *out, struct err *e);

/* ---- between the vm files ---- */

/* QEMU's descriptors beyond the first three. */
enum vm_fd { VM_FD_MONITOR = 3, VM_FD_PORT, VM_FD_ROOT = VM_FD_PORT + VM_PORT_MAX, VM_FD_DATA, VM_FD_STATE };
/* Places in QEMU's view; nothing is at the third: opening it is answered with a descriptor. */
#define VM_KERNEL "/kernel"
#define VM_INITRD "/initrd"
#define VM_RAM    "/ram"

/* vm_argv: the whole command line of `program`. Gives: strv. */
char **vm_argv(const struct vm_want *w, const char *program);
const char *vm_program(enum accel accel);

/* vm_words: as vm_why, of the pipe that its words come through. */
int vm_words(int fd, struct err *e);

/* vm_confine.c. vm_confine: starts `argv` confined, with `fds` as VM_FD_MONITOR and on; answers its opening of VM_RAM
 * with `ram_fd`, and from then on it can open nothing for writing and execute nothing. */
struct vm_child {
	const struct vm_want *want;
	char **argv;
	const int *fds;
	size_t fd_count;
	int ram_fd;
};
int vm_confine(struct instance *q, const struct vm_child *c, struct err *e);

/*
 * qmp.c: QEMU's monitor, as little of it as a snapshot needs. What it answers may come from a QEMU that its guest has
 * broken out into: bounded, and believed in nothing that a restore does not prove.
 */
#define QMP_RESTORE_MAX 512
/* qmp_restore: what makes a waiting QEMU load its state and go on; to be written before it starts. */
const char *qmp_restore(int state_fd_number, char *buf, size_t size);
/* qmp_restored: waits until it has, which a damaged state never comes to. -ECHILD: it ended instead. */
int qmp_restored(int monitor_fd, struct err *e);
/* qmp_pause: of a machine that runs, by now: it stands still, or goes on. */
int qmp_pause(int monitor_fd, bool on, struct err *e);
/* qmp_save: of a machine that runs, into state_fd. It stands still afterwards. */
int qmp_save(int monitor_fd, int state_fd, struct err *e);

/* ---- snapshot.c ---- */

struct snapshot_want {
	const struct guest_parts *parts;
	enum accel accel;
	uint64_t memory;
	uint32_t tsc_khz;
	int root_fd;
	int data_fd; /* an image of inputs that holds none: for the boot and the trial */
	const char *initrd;
	const char *key;   /* SHA-256 in hex over everything that goes into it; the caller's */
	const char *label; /* for lists: the preset's name and what waits in it */
	const void *setup; /* stream bytes that the agent is to get at boot */
	size_t setup_len;
	/* Stream bytes of a first run, for the self-test: it must print trial_out and end well. */
	const void *trial;
	size_t trial_len;
	const char *trial_out;
	const struct launch *launch; /* whose limits the confinement of QEMU takes. Borrowed */
	const struct progress *progress;
};
struct snapshot {
	int ram_fd, state_fd; /* read-only; while one is open anywhere, the snapshot is in use and stays */
	void *ready;          /* the start event's frame, as the agent sent it: guest bytes. Owned */
	size_t ready_len;
	bool built; /* just now */
	double build_s;
};
/* snapshot_get: from the cache, or made: boot, wait for the start event's frame on the control port, save, restore once
 * and try, publish. A damaged one is made again. -ENOTSUP: no guest comes up under KVM here, which is remembered; the
 * caller goes on with software emulation, under another key. */
int snapshot_get(const struct snapshot_want *w, struct snapshot *ret, struct err *e);
void snapshot_done(struct snapshot *s);
/* snapshot_forget: of one whose restore failed to answer, after snapshot_done. It is gone for whoever asks next; -EBUSY:
 * somebody else uses it still. */
int snapshot_forget(const char *key, struct err *e);
