/* SPDX-License-Identifier: MIT */
/*
 * What this machine can do for a virtual machine: whether KVM works, how fast its clock ticks, which programs there are.
 * What takes long to find out is remembered for a boot. The decisions are made on recorded facts.
 */
#pragma once

/* clang-format off */

#include "core/model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* ---- kvm.c ---- */

enum kvm_state {
	KVM_UNTRIED,        /* nothing speaks against it yet */
	KVM_USABLE,         /* a small guest ran in it */
	KVM_OTHER_CPU,
	KVM_PARAVIRTUAL,    /* for guests that know of it alone */
	KVM_NO_EXTENSION,
	KVM_NO_DEVICE,
	KVM_NO_RIGHT,
	KVM_NO_OPEN,
	KVM_WRONG,          /* the small guest did something else */
	KVM_HUNG,           /* it did not end */
	KVM_GUEST_FAILED,   /* a real one did not come up */
	KVM_STATE_MAX,
};
struct kvm_kind {
	const char *word;   /* as remembered */
	int error;          /* the errno that a demand for KVM ends with */
	bool lasts;         /* true until the next boot */
	const char *why, *remedy;
};
extern const struct kvm_kind kvm_kinds[KVM_STATE_MAX];

#define KVM_WHY 120
struct kvm_verdict {
	enum kvm_state state;
	char why[KVM_WHY];  /* for a person; printable */
};
/* kvm_say: fills *ret; `why` NULL: the kind's own words. */
void kvm_say(struct kvm_verdict *ret, enum kvm_state state, const char *why);

struct kvm_facts {
	bool paravirtual;   /* the module kvm_pvm is there */
	bool extension;     /* the processor has vmx or svm */
	int open_error;     /* what opening /dev/kvm for writing said; 0: open */
};
/* kvm_facts_read: `root` is put before each path, "" is this machine. No ioctl is made. */
void kvm_facts_read(const char *root, struct kvm_facts *ret);
/* kvm_decide: what the facts alone say: KVM_UNTRIED, or why not. */
enum kvm_state kvm_decide(const struct kvm_facts *f);

/* kvm_remedy: what helps where the facts of that machine speak against KVM; NULL: they do not. Static. */
const char *kvm_remedy(const char *root);

/* kvm_watch: `trial` in a child that is killed after limit_ns, and is not waited for where even that does not end it.
 * kvm_try: so with a small guest, in real mode and in 64-bit mode. */
void kvm_watch(int (*trial)(struct err *e), uint64_t limit_ns, struct kvm_verdict *ret);
void kvm_try(struct kvm_verdict *ret);

/* kvm_guest.c: what the trial is. Makes guests in this very process: it may not come back. */
int kvm_run_guests(struct err *e);

/* ---- machine.c ---- */

/* machine_kvm: facts first, then what is remembered, then a trial, which is remembered where `remember` says so. */
void machine_kvm(bool remember, struct kvm_verdict *ret);
/* machine_program: mkfs.erofs and the like: where a program of the host lies, looked for in the folders of the system
 * alone, as it runs with our rights. -ENOENT with the name. Gives: *ret_path. */
int machine_program(const char *name, char **ret_path, struct err *e);
/* machine_qemu, machine_guest: what a microVM would be run by, and which kernel in it. -ENOENT, -ENOEXEC with the remedy.
 * Give: *ret. */
int machine_qemu(char **ret_path, struct err *e);
int machine_guest(char **ret_release, struct err *e);
/* machine_parts: whether what is installed apart for these needs (up to NEED_MAX) is here. -ENOENT, -ENOEXEC, as above. */
int machine_parts(const enum need *needs, struct err *e);

/* A point in time by both clocks, and how far apart the two readings may be. */
struct tsc_point {
	uint64_t ticks, ns, doubt_ns;
};
/* tsc_khz_of: by the two points that leave the least doubt, rounded to MHz; 0: they all leave too much. */
uint32_t tsc_khz_of(const struct tsc_point *points, size_t count);

struct machine_memory {
	uint32_t tsc_khz;       /* 0: not measured */
	struct kvm_verdict kvm;
};
/* machine_memory_parse: what a file of that text remembers of this boot of this kernel; nothing else is believed.
 * machine_memory_format: appended to `out`. */
void machine_memory_parse(const char *text, const char *boot, const char *kernel, struct machine_memory *ret);
void machine_memory_format(const struct machine_memory *m, const char *boot, const char *kernel, struct buf *out);
