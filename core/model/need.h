/* SPDX-License-Identifier: MIT */
/*
 * What a run may need of a machine: one code a thing, with its name, what is weaker without it, and what gives it. The
 * doctor tries each; a start that fails for want of one names the same code.
 */
#pragma once

/* clang-format off */

struct err;

enum need {
	NEED_CLONE3,
	NEED_USERNS,
	NEED_NAMESPACES,    /* pid, ipc, uts and cgroup */
	NEED_NETNS,
	NEED_MOUNTS,
	NEED_PROC,
	NEED_OVERLAY,
	NEED_CGROUP_MEMORY,
	NEED_CGROUP_PROCESSES,
	NEED_CGROUP_CPU,
	NEED_NO_NEW_PRIVS,
	NEED_FILTER,
	NEED_NOTIFICATIONS,
	NEED_ONE_LISTENER,
	NEED_TAKE_FD,       /* out of a child, for the listener */
	NEED_TAKE_FD_USERNS, /* the same out of a child in a user namespace of its own */
	NEED_READ_MEMORY,
	NEED_WAIT_KILLABLE,
	NEED_SYNC_WAKE_UP,
	NEED_ADD_FD,
	NEED_NETLESS,
	NEED_LANDLOCK,
	NEED_LANDLOCK_SCOPES,
	NEED_KEYRING,
	NEED_TEMP,
	NEED_TEMP_EXEC,
	NEED_STATE,
	NEED_STATE_ROOM,
	NEED_PYTHON,
	NEED_QEMU,
	NEED_EROFS_TOOLS,
	NEED_GUEST_PARTS,
	NEED_CACHE,
	NEED_CACHE_ROOM,
	NEED_GUEST_MEMORY,
	NEED_KVM,
	NEED_START,         /* all of it together */
	NEED_MAX,
};
struct need_kind {
	const char *code;    /* "userns-denied": stable */
	const char *title;   /* "User namespaces" */
	const char *without; /* what that means for a run, a phrase */
	const char *remedy;  /* where no special cause is known */
};
extern const struct need_kind need_kinds[NEED_MAX];

/* need_set: err_set() with the need's code before the text, "userns-denied: create namespaces: …". */
int need_set(struct err *e, enum need need, int code, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* need_in: puts the code before the text of an error that is there. Returns -e->code; `e` is set. */
int need_in(struct err *e, enum need need);
/* need_of: whose code an error begins with; NEED_MAX: nobody's. */
enum need need_of(const struct err *e);
