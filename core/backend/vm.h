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
	enum accel accel;         /* decided: kvm or tcg */
	uint64_t memory;          /* bytes of guest RAM, whole MiB */
	uint32_t tsc_khz;
	const char *vmlinux, *initrd; /* a cold boot; NULL: a restore */
	int root_fd, data_fd;     /* images, read-only. Borrowed */
	int ram_fd, state_fd;     /* boot: for writing, of a machine that will be saved (-1: never); restore: read-only */
	const void *hello;        /* put into the control port before the machine starts; stream bytes, lengths included */
	size_t hello_len;
};

struct vm {
	int port_fd[VM_PORT_MAX]; /* our ends, non-blocking */
	int monitor_fd;           /* QMP */
};

/* vm_start: a QEMU as `i`'s child (pid, pidfd, sync_fd, has_reaper, cgroup are filled as child_start does). *ret is valid
 * also on failure; vm_done closes. child_end(i) ends it. */
int vm_start(struct instance *i, const struct vm_want *w, struct vm *ret, struct err *e);
void vm_done(struct vm *m);

/* ---- snapshot.c ---- */

struct snapshot_want {
	const struct guest_parts *parts;
	enum accel accel;
	uint64_t memory;
	uint32_t tsc_khz;
	int root_fd;
	const char *initrd;
	const char *key;               /* SHA-256 in hex over everything that goes into it; the caller's */
	const char *label;             /* for lists: the preset's name and what waits in it */
	const void *setup;             /* stream bytes that the agent is to get at boot */
	size_t setup_len;
	const void *trial;             /* stream bytes of a first run, for the self-test: it must print trial_out and end well */
	size_t trial_len;
	const char *trial_out;
	const struct launch *launch;   /* whose limits the confinement of QEMU takes. Borrowed */
	const struct progress *progress;
};
struct snapshot {
	int ram_fd, state_fd;          /* read-only; a shared lock stands on ram_fd: it is in use */
	void *ready;                   /* the start event's frame, as the agent sent it: guest bytes. Owned */
	size_t ready_len;
	bool built;                    /* just now */
	double build_s;
};
/* snapshot_get: from the cache, or made: boot, wait for the start event's frame on the control port, save, restore once
 * and try, publish by rename under a lock. A damaged, old or foreign one is made again. */
int snapshot_get(const struct snapshot_want *w, struct snapshot *ret, struct err *e);
void snapshot_done(struct snapshot *s);
