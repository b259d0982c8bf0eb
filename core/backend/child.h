/* SPDX-License-Identifier: MIT */
/*
 * Private to core/backend: what the mechanisms that run on this host have in common.
 */
#pragma once

#include "core/backend/backend.h"

/* child.c */
/* child_start: makes the child and lets it confine itself, which it does from a copy of all that is here. Sets the
 * descriptors of `c` itself. child_await: until the child stands before its exec; what went wrong in it is `e`. */
int child_start(struct instance *i, struct confinement *c, struct err *e);
int child_await(struct instance *i, struct err *e);
/* child_release: what it answers (exec failed) comes over sync_fd. */
int child_release(struct instance *i, struct err *e);
int child_stop(struct instance *i, bool force, struct err *e);
int child_pause(struct instance *i, bool on, struct err *e);
int child_end(struct instance *i);
void instance_done(struct instance *i);
gid_t target_gid(const struct launch *l);
int target_uid_check(const struct launch *l, struct err *e); /* never root */
void instance_layer(struct instance *i, const char *name, enum layer_state state, const char *verified,
		    const char *detail_fmt, ...) __attribute__((format(printf, 5, 6)));
const char *instance_text(struct instance *i, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* command.c: argv and environment of a target */
struct target_places {
	const char *code_dir, *cwd, *home, *tmp, *user;
};
int command_build(struct instance *i, const struct target_places *at, char **ret_code_path, struct err *e);

/* ladder.c: each limit by the best mechanism that this machine has */
struct ladder {
	struct rlimit_want rlimits[16];
	size_t rlimit_count;
	uint32_t cpu_count;
};
int ladder_cgroup(struct instance *i, uint64_t own_tasks, struct err *e);
void ladder_build(struct instance *i, bool own_user_ns, bool sized_space, struct ladder *ret);
/* ladder_verify: with the target waiting before exec, reads back what the kernel holds; a limit that nothing holds
 * ends the start unless the launch says --best-effort. */
int ladder_verify(struct instance *i, struct err *e);
/* layers_verify: the layers every level has, as /proc says that they stand. */
int layers_verify(struct instance *i, const struct seccomp_program *filter, struct err *e);
/* collect.c: the `collect` of every backend whose places this host can open. */
int stage_collect(struct instance *i, const struct launch *l, const struct collector *to, struct err *e);
/* collect_received: the same of what came out of a machine as a stream, into spool_fd. */
int collect_received(struct instance *i, const struct launch *l, const struct collector *to, struct err *e);
unsigned watch_for(const struct instance *i, bool answer_sockets);
