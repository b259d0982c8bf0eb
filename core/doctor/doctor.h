/* SPDX-License-Identifier: MIT */
/*
 * The door of core/doctor: what presets need of this machine, tried, not read off. One probe a row of a table: it makes
 * the very thing (a user namespace with its maps, a mount, a control group with a limit, a listener, a ruleset) as this
 * user, and takes it away again; only what a microVM's first start makes stays in the cache. A finding has a code that
 * other messages may name, the fact, and what to do about it.
 */
#pragma once

/* clang-format off */

#include <stddef.h>

struct buf;

enum finding_state {
	FINDING_OK,
	FINDING_WEAK,    /* presets run, but a limit or a layer is weaker: which, the fact says */
	FINDING_MISSING, /* the affected presets cannot run */
	FINDING_UNKNOWN, /* could not be tried, and why */
	FINDING_STATE_MAX,
};
const char *finding_state_name(enum finding_state s);

#define FINDING_FACT   480
#define FINDING_REMEDY 320
struct finding {
	const char *code;   /* "userns-denied": stable, static */
	const char *title;  /* "User namespaces": static */
	enum finding_state state;
	const char *without; /* what is weaker without it, or cannot be: static */
	char fact[FINDING_FACT];     /* what was tried and what the kernel said: "unshare(CLONE_NEWUSER): EPERM; kernel.apparmor_restrict_unprivileged_userns is 1" */
	char remedy[FINDING_REMEDY]; /* what to do about it; "" where nothing is wrong */
	char **presets;     /* names of those affected; NULL: none. Owned by the list */
};

/* doctor_run: tries everything, each probe bounded in time; `progress` (may be NULL) hears of each finding as it comes.
 * Gives: *ret, freed with findings_free. Returns how many. */
size_t doctor_run(void (*progress)(void *arg, const struct finding *f), void *arg, struct finding **ret);
struct finding *findings_free(struct finding *list, size_t count); /* accepts NULL, returns NULL */

/* doctor_json: {"host":{…},"place":"docker","uid":0,"findings":[{"code":…,"title":…,"state":…,"fact":…,"without":…,
 * "remedy":…,"presets":[…]}…]}. Appended. */
void doctor_json(const struct finding *list, size_t count, struct buf *out);
