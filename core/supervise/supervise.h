/* SPDX-License-Identifier: MIT */
/*
 * The door of core/supervise: starting a run and following it. run_start forks the supervisor, a process in a session
 * of its own; what the caller holds is its end of the socket pair. When the caller dies the supervisor ends the run and
 * cleans up; when the supervisor dies the caller does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct err;
struct event;
struct launch;
struct policy;
struct run;

/* run_prepare_process: once at the start of a front end, which becomes child subreaper. */
void run_prepare_process(void);

/*
 * run_start: Borrows the launch for the call. Nothing of the target has run when this returns; what goes wrong from here
 * on comes as an error event and an exit event with verdict setup-error. What dead predecessors left is swept. Gives:
 * *ret, ended by run_free.
 */
int run_start(const struct launch *l, struct run **ret, struct err *e);
/*
 * run_keep_ready: keeps one run ready for launches of that policy and language, where its preset wants so (spare) and its
 * level can: started, warmed, standing still. run_start takes it for the first launch that fits; nobody sees a difference
 * but in time. One at a time: another takes its place; NULL: none. run_ready: whether it is ready by now.
 */
void run_keep_ready(const struct launch *like);
bool run_ready(void);
int run_fd(const struct run *r); /* poll it for reading */

/*
 * run_next: the next event. 1 and *ret (Gives, event_free); 0 when there is none now; -EPIPE after the exit event.
 * The exit event comes exactly once and last. Should the supervisor die without one, what it left is cleaned up here
 * and an exit event with verdict `lost` is made, so that a reader needs no second path.
 */
int run_next(struct run *r, struct event **ret);

int run_stop(struct run *r, uint64_t grace_ns); /* SIGTERM, then SIGKILL after the grace; 0: at once */
int run_pause(struct run *r, bool on);
/* run_answer: to an ask event, which only a launch with `answers` brings. decision: enum decision. */
int run_answer(struct run *r, uint64_t id, int decision);
int run_resize(struct run *r, uint32_t rows,
	       uint32_t columns);                            /* of the target's terminal, where it has one */
int run_stdin(struct run *r, const void *bytes, size_t len); /* 0 bytes: end of file */

/* run_free: stops the run if it lives, waits for its supervisor, and leaves nothing. Accepts NULL, returns NULL. */
struct run *run_free(struct run *r);

/*
 * trial_run: starts a preset with a program that does nothing, to learn from its own start event what each limit and
 * layer of it comes to on this machine and for this user. A limit that nothing holds is told and does not end it; nothing
 * is recorded. Gives: *ret, the start event (event_free). Or -errno with what stood in the way.
 */
int trial_run(const char *preset, struct event **ret, struct err *e);
/* trial_describe: a line for each limit that was asked for ("memory  kernel  cgroup v2 memory.max") and for each layer
 * ("net-ns  on  only its own loopback"). Appended. */
void trial_describe(const struct event *start, struct buf *out);

/*
 * supervisor_inside: the whole life of the supervisor that is process 1 of a machine: it is told what to set up, then what to
 * run. `failed`, where it is not NULL, is what went wrong before; it is told, and that is all. Never returns.
 */
struct inside_ports {
	int control_fd, stdout_fd, stderr_fd, data_fd; /* non-blocking */
	const struct err *failed;
};
_Noreturn void supervisor_inside(const struct inside_ports *ports);

/* run_target_uid: who the target of such a run is on this host. level_own_kernel: whether runs of a backend of this name have a
 * kernel that is not the host's. */
uid_t run_target_uid(const struct launch *l);
bool level_own_kernel(const char *backend);
/* level_here: whether what a backend of this name is made of is installed on this host. -ENOENT, -ENOEXEC and what helps:
 * a part is not; what the kernel refuses only a start tells. */
int level_here(const char *backend, struct err *e);

/*
 * A place on this host for what is no run but is kept like one: TMPDIR/belljar-UID/ID with work, home and tmp in it, which
 * belong to `owner`. While the descriptor is open it is locked; processes that carry BELLJAR_RUN=ID in their environment
 * belong to it. Where its maker died, the next start of a run sweeps it.
 * place_create: Gives both. place_remove: ends and removes all of it.
 */
int place_create(const char *id, uid_t owner, char **ret_path, int *ret_lock_fd, struct err *e);
void place_remove(const char *id);
/* place_end_children: ends all that descends from this process, a child subreaper. Returns how many are left. */
int place_end_children(void);

/*
 * Disk images and snapshots that are kept for virtual machines. image_list: the one that was used last first. Gives: *ret
 * (image_entries_free) and *ret_where, the folder that they are in. image_remove: by its whole name; -EBUSY: it is in use.
 * image_build: what a run with that preset needs, now instead of at its start; `step` hears what is being done, `stopped` is
 * asked ten times a second. -ECANCELED: it said so. Both may be NULL.
 */
struct image_entry;
int image_list(struct image_entry **ret, size_t *ret_count, char **ret_where, struct err *e);
int image_remove(const char *name, struct err *e);
int image_build(const char *preset, void (*step)(void *arg, const char *what), bool (*stopped)(void *arg),
		void *arg, struct err *e);
