/* SPDX-License-Identifier: MIT */
/*
 * Why this machine refuses what a run needs: from what it says of itself in /proc and /sys, as facts that may as well be
 * recorded ones. The doctor and a start that fails ask here, so that they say the same.
 */
#pragma once

/* clang-format off */

#include "core/model/need.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;

enum place { /* where this process finds itself: bits */
	PLACE_DOCKER = 1, PLACE_PODMAN = 2, PLACE_KUBERNETES = 4, PLACE_WSL = 8, PLACE_BELLJAR = 16,
};
enum cgroup_layout { LAYOUT_NONE, LAYOUT_V1, LAYOUT_HYBRID /* both, the controllers in v1 */, LAYOUT_V2 };

struct machine {
	const char *root;         /* put before each path: "" is this one */
	unsigned places;
	uid_t uid;
	bool host_root;           /* uid 0, and no user namespace stands between it and the machine */
	bool filtered;            /* a system-call filter stands around us */
	bool chrooted;
	char proc_cover[64];      /* the first mount below /proc that hides a part of it; "": none */
	enum cgroup_layout cgroups;
	bool cgroups_read_only;
};
/* machine_read: Borrows root. What cannot be read stays 0. */
void machine_read(const char *root, struct machine *ret);
/* machine_place: "docker", "kubernetes", …; "": nothing special. Static. */
const char *machine_place(const struct machine *m);

struct cause {
	char fact[128];     /* "kernel.apparmor_restrict_unprivileged_userns is 1"; "": none known */
	const char *remedy; /* of the cause, else of the need; static */
};
/* cause_find: why `need` was refused with `error`, an errno. */
void cause_find(const struct machine *m, enum need need, int error, struct cause *ret);

/*
 * need_refuse: makes of the error that a start ends with "CODE: TEXT; CAUSE; REMEDY", by this machine's facts.
 * need_complete: the same for one that begins with a code already; others stay as they are. Return -e->code.
 */
int need_refuse(struct err *e, enum need need);
int need_complete(struct err *e);
