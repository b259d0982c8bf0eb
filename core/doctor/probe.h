/* SPDX-License-Identifier: MIT */
/*
 * Private to core/doctor: the probes and what they are tried with. A probe runs in a process of its own, under a time
 * limit, makes one thing with the functions that a run makes it with, and says what came of it.
 */
#pragma once

/* clang-format off */

#include "core/backend/backend.h"
#include "core/doctor/doctor.h"

#include <stdbool.h>
#include <stdint.h>

/* What all probes may need; read before the first. */
struct given {
	const struct policy *policy;       /* that a run's filter is made from; NULL: there is no preset */
	char run_id[27];                   /* marks all that is left when a probe is killed */
};
/* What a probe sends home, in one write: below PIPE_BUF. */
struct answer {
	enum finding_state state;          /* OK, MISSING or UNKNOWN; whether a missing thing is only WEAK, backends say */
	int error;                         /* the errno it was refused with; 0: not by one */
	char fact[FINDING_FACT];
	char remedy[FINDING_REMEDY];       /* where the probe knows better than the table of causes; else "" */
};
typedef void (*probe_fn)(const struct given *g, int arg, struct answer *a);

struct probe {
	enum need need;
	enum need after;                   /* not tried without it; NEED_MAX: none */
	probe_fn run;
	int arg;
};
extern const struct probe probes[];        /* ends with one whose run is NULL */

/* probe_try: in a child that ends itself and all that it made, should we die. 0: *ret is its answer, or UNKNOWN because
 * it gave none in time or died. */
#define PROBE_LIMIT_NS (10 * UINT64_C(1000000000))
#define GUEST_LIMIT_NS (60 * UINT64_C(1000000000)) /* the first start of a machine makes its images and a snapshot */
void probe_try(const struct probe *p, const struct given *g, uint64_t limit_ns, struct answer *ret);

/* The presets that there are, each with its backend. */
struct known_preset {
	char *name;
	struct policy *policy;
	const struct backend *backend;
};
struct known {
	struct known_preset *of;
	size_t count;
};
/* finding_make: of an answer: its cause on that machine, and what it means for those presets. Gives: f->presets. */
void finding_make(struct finding *f, const struct answer *a, enum need need, const struct machine *m,
	const struct known *k);

/* What a probe says. */
void answer_ok(struct answer *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void answer_missing(struct answer *a, int error, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void answer_err(struct answer *a, const struct err *e); /* missing; the text without its code */
void answer_unknown(struct answer *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* new_child: a process in new namespaces (`flags`; with CLONE_NEWUSER its ids mapped as a run's are) that carries out
 * `inside` and ends. 0, or the error of either side. */
int new_child(unsigned flags, int (*inside)(const void *arg, struct err *e), const void *arg, struct err *e);

/* probes_kernel.c */
void probe_clone3(const struct given *g, int arg, struct answer *a);
void probe_no_new_privs(const struct given *g, int arg, struct answer *a);
void probe_keyring(const struct given *g, int arg, struct answer *a);
void probe_landlock(const struct given *g, int arg, struct answer *a);
void probe_landlock_scopes(const struct given *g, int arg, struct answer *a);
void probe_take_fd(const struct given *g, int flags, struct answer *a);
void probe_read_memory(const struct given *g, int arg, struct answer *a);
/* probes_seccomp.c */
void probe_filter(const struct given *g, int arg, struct answer *a);
void probe_notifications(const struct given *g, int arg, struct answer *a);
void probe_one_listener(const struct given *g, int arg, struct answer *a);
void probe_wait_killable(const struct given *g, int arg, struct answer *a);
void probe_sync_wake_up(const struct given *g, int arg, struct answer *a);
void probe_add_fd(const struct given *g, int arg, struct answer *a);
void probe_netless(const struct given *g, int arg, struct answer *a);
/* probes_space.c: namespaces and mounts */
void probe_userns(const struct given *g, int arg, struct answer *a);
void probe_namespaces(const struct given *g, int arg, struct answer *a);
void probe_netns(const struct given *g, int arg, struct answer *a);
void probe_mounts(const struct given *g, int arg, struct answer *a);
void probe_proc(const struct given *g, int arg, struct answer *a);
void probe_overlay(const struct given *g, int arg, struct answer *a);
/* probes_place.c: what lies on this machine */
void probe_cgroup(const struct given *g, int controller, struct answer *a);
void probe_temp(const struct given *g, int arg, struct answer *a);
void probe_temp_exec(const struct given *g, int arg, struct answer *a);
void probe_folder(const struct given *g, int xdg, struct answer *a);
void probe_room(const struct given *g, int xdg, struct answer *a);
void probe_python(const struct given *g, int arg, struct answer *a);
void probe_start(const struct given *g, int arg, struct answer *a);
/* probes_guest.c: what a microVM is made with */
void probe_qemu(const struct given *g, int arg, struct answer *a);
void probe_erofs_tools(const struct given *g, int arg, struct answer *a);
void probe_guest_parts(const struct given *g, int arg, struct answer *a);
void probe_guest_memory(const struct given *g, int arg, struct answer *a);
void probe_kvm(const struct given *g, int arg, struct answer *a);
