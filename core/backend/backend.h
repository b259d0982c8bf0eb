/* SPDX-License-Identifier: MIT */
/*
 * The door of core/backend: the mechanisms that isolate, behind one table of functions. A backend builds everything for
 * one run, lets the target stand just before its exec, and says what holds it; the supervisor releases, watches, ends.
 */
#pragma once

/* clang-format off */

#include "core/backend/canary.h"
#include "core/backend/progress.h"
#include "core/backend/cause.h"
#include "core/backend/machine.h"
#include "core/backend/temp.h"
#include "core/base/util.h"
#include "core/confine/confine.h"
#include "core/model/model.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct instance;

/* How a backend's network looks from inside: what becomes of an attempt that is let through to the kernel. */
struct network_view {
	enum outcome
		outside; /* of an address beyond loopback; OUTCOME_UNKNOWN where the host's network is used */
	enum layer layer;  /* what makes it so */
	bool own_loopback; /* 127.0.0.1 is the run's own */
	bool own_abstract; /* so are abstract unix sockets */
};

/* What `collect` tells of as it goes. Paths and words come from a target: scrub before showing. */
struct collector {
	void (*changed)(void *arg, const char *op, const char *path, uint64_t bytes); /* added, changed, removed */
	/* what: "output PATH" of what did not come out, or the kind of `count` things that are not told one by one */
	void (*passed_over)(void *arg, const char *what, uint64_t count, const char *why);
	/* what leaves with --output, as it is read; begins: of another file than before */
	void (*copied)(void *arg, bool begins, const char *bytes, size_t len);
	void *arg;
};

struct backend {
	const char *name, *summary;
	bool own_kernel; /* what a target does there, it does to a kernel that is not the host's */
	/* Without one of `needs` nothing starts; without one of `weaker_without` a limit or a layer is weaker, or less is
	 * shown. Both end with NEED_MAX. */
	const enum need *needs, *weaker_without;
	/* start: the target stands before its exec and waits for `release`. Fills *ret as far as it came, also on
	 * failure: `end` and `done` take it either way. */
	int (*start)(const struct launch *l, struct instance *ret, struct err *e);
	/* spare: a start for a launch that says `spare` is made as ready as can be, and then costs nothing. adopt: it becomes the
	 * run of that launch; then it is released like any other. Both NULL where nothing can be made ready ahead. */
	int (*spare)(struct instance *i, struct err *e);
	int (*adopt)(struct instance *i, const struct launch *l, struct err *e);
	/* release: the target goes its way. */
	int (*release)(struct instance *i, struct err *e);
	/* stop: SIGTERM to the target, or with `force` an end to every process of the run. May be called again. */
	int (*stop)(struct instance *i, bool force, struct err *e);
	int (*pause)(struct instance *i, bool on, struct err *e);
	/* collect: after the target ended and before done: brings out --output and what --project changed. */
	int (*collect)(struct instance *i, const struct launch *l, const struct collector *to, struct err *e);
	/* end: every process of the run, daemons and double forks included; waits for it. Returns how many are still
	 * there (0), as counted by the kernel. Accepts a half-started instance, and may be called again. */
	int (*end)(struct instance *i);
	void (*done)(struct instance *i); /* after end: closes and removes */
};

#define INSTANCE_LAYERS 16

struct instance {
	const struct backend *backend;
	const struct launch *launch; /* Borrowed */
	pid_t pid; /* our child: the reaper, or the target where there is none; 0: none yet */
	int pidfd;
	pid_t target_pid; /* of the target, in our pid namespace; 0: not known */
	bool has_reaper;
	bool paused; /* as it was last told */
	bool program_missing;      /* the start failed as there is no such program: 127, or 126 for EACCES */
	uid_t target_uid;          /* on this host */
	gid_t target_gid;
	int in_fd, out_fd, err_fd; /* our ends of the target's pipes; -1. With a terminal: its master, twice, and -1 */
	int tty_fd;                /* the target's terminal, held so that it does not hang up in between; -1: it has none */
	char tty_path[40];
	int notify_fd;             /* the seccomp listener, or -1 */
	/* Of a machine of its own, the streams to the supervisor inside: frames both ways; input to it, files from it. -1: the
	 * target is a process of this host, and all there is to know of it we know ourselves. */
	int guest_fd, data_fd;
	bool silent;               /* it never said a word: what it was restored from is not to be kept */
	uint64_t spooled;          /* bytes that came on data_fd */
	int spool_fd;              /* what comes back of files, until the run is dead; -1: nothing is to come */
	struct buf guest_out;      /* what is to go to guest_fd; sent up to guest_out_sent */
	size_t guest_out_sent;
	struct event *told;        /* how the supervisor inside started; owned. NULL: there is none */
	int sync_fd;               /* the start socket: errors of the start, and the reaper's last word */
	int proc_dirfd;            /* the run's own /proc; -1: its processes are our descendants in ours */
	int root_dirfd;            /* the target's root; -1: the host's */
	int space_dirfd; /* in the writable places, for fstatfs(2); -1: they have no file system of their own */
	int output_dirfd, upper_dirfd; /* /out, and the upper layer of the project's overlay; -1 */
	int project_dirfd;             /* the run's own copy of the project, where there is no overlay; -1 */
	const char *not_project[3];    /* names at its top that are ours; NULL ends them */
	char *temp_dir;                /* on the host; NULL: none */
	int temp_fd;                   /* its lock */
	char **argv, **env;            /* as executed; owned */
	struct cgroup *cgroup;         /* NULL: none */
	struct seccomp_want want;      /* what the filter was made from: the supervisor decides by the same */
	struct network_view network;
	bool memory_by_supervisor, fork_by_supervisor; /* no kernel limit stands behind these two */
	uint64_t processes_own;                        /* tasks in it that are ours (the reaper) */
	struct event_limit limits[LIMIT_MAX];
	struct event_layer layers[INSTANCE_LAYERS];
	size_t layer_count;
	char text[6144]; /* what the layers' details point to */
	size_t text_len;
	struct progress progress;      /* of a start that takes a while */
	struct canary canary;          /* planted where the target's HOME is, when the launch asks for it */
	void *priv;
};

extern const struct backend *const backends[]; /* NULL-terminated */
/* backend_find: -ENOENT with the names there are. */
int backend_find(const char *name, const struct backend **ret, struct err *e);

/* target_uid: who the target is on this host: run_as where belljar is root and may become it, else ourselves. */
uid_t target_uid(const struct launch *l);

/* instance_init: before start. Borrows the launch until done. */
void instance_init(struct instance *i, const struct backend *b, const struct launch *l);
/* instance_sync: the next message of sync_fd, without waiting. 1, 0 when there is none, -EPIPE when it is at its end. */
int instance_sync(struct instance *i, struct sync_msg *ret);

/* guest_link.c: the streams of a machine of its own. guest_send: a frame, queued where there is no room. guest_flush: 0, or
 * -EAGAIN where some of it waits. guest_spool: takes what has come of files; more than 0, 0 at its end or its cap. */
void guest_send(struct instance *i, const void *frame, size_t len);
int guest_flush(struct instance *i);
ssize_t guest_spool(struct instance *i);
/* project_place: a copy of the project into the working folder of a view that stands. */
int project_place(struct instance *i, const struct launch *l, struct err *e);
struct sending {
	int fd;
	uint64_t sent; /* bytes */
};
/* collect_send: inside a machine: as a backend's `collect`, but files go as a stream into a descriptor (blocking). */
int collect_send(struct instance *i, const struct launch *l, const struct collector *to, struct sending *s, struct err *e);

/*
 * What a dead supervisor may have left on this host (control groups, folders, at `subprocess` processes) carries the
 * run's id, and is locked while its supervisor lives. Sweeping ends and removes what nobody holds.
 */
void sweep_run(const char *run_id); /* one run, whose supervisor is known to be dead */
void sweep_dead(void);              /* all of this user's */

/*
 * Images and snapshots that are kept for virtual machines. images_list: the one that was used last first. Gives: *ret
 * (image_entries_free), and where they are. images_remove: by its whole name; -EBUSY: it is in use. images_build: those that
 * a run under the policy needs, now instead of at its start; -ECANCELED: `to` (may be NULL) did not want them any more.
 */
int images_list(struct image_entry **ret, size_t *ret_count, char **ret_where, struct err *e);
int images_remove(const char *name, struct err *e);
int images_build(const struct policy *p, const struct progress *to, struct err *e);
