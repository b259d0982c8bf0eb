/* SPDX-License-Identifier: MIT */
/*
 * Private to core/backend: what a microVM is made of, before there is one. The guest's kernel and agent (guest_parts.c),
 * the images that it sees as disks (image_*.c), and what this machine can do for it (machine.c; machine.h has more).
 */
#pragma once

/* clang-format off */

#include "core/backend/progress.h"
#include "core/model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct launch;

void progress_step(const struct progress *to, const char *what); /* accepts NULL */
/* progress_check: -ECANCELED where nobody wants it any more, to be asked ten times a second. Accepts NULL. */
int progress_check(const struct progress *to, struct err *e);

/* ---- guest_parts.c: what `make` built and unpacked (.ci/guest-kernel: the kernel) ---- */

struct guest_parts {
	char *vmlinux;    /* an uncompressed ELF file with an entry for PVH */
	char *release;    /* "6.1.0-57-cloud-amd64" */
	char **modules;   /* files, in the order in which the agent loads them */
	char *agent;      /* process 1, static */
	char *stage;      /* what waits as the target until it knows what to execute, static */
	char *stage_py;   /* the same for Python: a warm interpreter */
	char hash[65];    /* SHA-256 over all of them: contents as they were built, sizes and times as they are */
};
/* guest_parts_find: -ENOENT with what is missing and the remedy, -ENOEXEC where it is there but cannot be used. Gives:
 * *ret, ended by guest_parts_done. Reads no large file: a fraction of a millisecond. */
int guest_parts_find(struct guest_parts *ret, struct err *e);
void guest_parts_done(struct guest_parts *p);

/*
 * ---- image_*.c: read-only images, each made once and kept in the cache ----
 * Each is published by rename under a lock, mode 0444; a damaged one is made again. Gives: *ret_fd, open for reading.
 * `key` is a SHA-256 in hex over all that went into it.
 */
int image_root(const struct policy *p, const struct guest_parts *parts, const struct progress *to, int *ret_fd, char key[65],
	       struct err *e); /* erofs: python, sh, `languages`, the stage */
int image_initrd(const struct guest_parts *parts, const struct progress *to, char **ret_path, struct err *e);
/* image_data: the launch's inputs as /0, /1, … and its project as /project in one erofs image; where it has none, an
 * empty one. All are of the same apparent size (IMAGE_DATA_SIZE, sparse), so that a restored machine need not learn a
 * new one. */
#define IMAGE_DATA_SIZE (UINT64_C(1) << 40)
int image_data(const struct launch *l, const struct progress *to, int *ret_fd, struct err *e);

/* ---- machine.c: facts of this machine, measured once per boot and remembered in the cache ---- */

/* machine_tsc_khz: the rate of the time-stamp counter, rounded to MHz. */
int machine_tsc_khz(uint32_t *ret, struct err *e);
/* machine_accel: what `accel` comes to here. *ret: ACCEL_KVM or ACCEL_TCG; *ret_why: a static or remembered word for a
 * person ("/dev/kvm is not there"). -ENOTSUP for ACCEL_KVM where KVM does not work; the error has
 * the code of NEED_KVM and the remedy already. */
int machine_accel(enum accel wanted, enum accel *ret, const char **ret_why, struct err *e);
/* machine_kvm_failed: a guest under KVM did not come up: not tried again until the next boot. */
void machine_kvm_failed(const char *why);
