/* SPDX-License-Identifier: MIT */
/*
 * Between the files of the control groups: cgroup.c (the door, the choice, removing), cgroup_find.c (where
 * this process stands in which hierarchy), cgroup_v1.c, cgroup_v2.c, cgroup_scope.c (the user's systemd).
 * Follows cgroups(7) and the kernel's admin-guide/cgroup-v1 and cgroup-v2.
 */
#pragma once

/* clang-format off */

#include "core/base/base.h"
#include "core/confine/confine.h"
#include "core/model/model.h"

#include <limits.h>

#define CGROUP_PREFIX "belljar-"
#define CGROUP_ID_LEN 26                /* a ULID: what follows the prefix in the name of a run's group */
#define CGROUP_HOME CGROUP_PREFIX "home" /* v2: the leaf that belljar itself moves into */
#define CGROUP_PERIOD_US 100000         /* of the cpu quota: the kernel's own default */
#define CG_CPUACCT 16                   /* beside enum cgroup_controller: counts CPU time, limits nothing */

/*
 * Everything that reaches outside, so that the choice can be tested on a folder with recorded facts. A folder
 * cannot do two things that a cgroup file system does: fill a new group with its files, and remove them with
 * it.
 */
struct cgroup_host {
	const char *root;     /* put before every mount point: "" on a real machine */
	const char *proc;     /* "/proc" */
	const char *user_bus; /* the socket of the user's systemd; NULL: found by $XDG_RUNTIME_DIR */
	int (*make_dir)(int dirfd, const char *name, mode_t mode);
	int (*remove_dir)(int dirfd, const char *name);
	/* Puts this process into a scope `name`.scope that is delegated to it. 0, or why not. */
	int (*ask_scope)(const struct cgroup_host *h, const char *name, struct err *e);
};
extern const struct cgroup_host cgroup_this_host;

/* ---- cgroup_find.c ---- */

struct cgroup_hierarchy {
	bool v2;
	unsigned controllers; /* v1: bits of cgroup_controller and CG_CPUACCT; 0 for v2 */
	bool read_only;
	char *path;           /* of this process in it, from the root of the cgroup namespace */
	char *mount_point;    /* NULL: not mounted where this process can see it */
	char *mount_root;     /* the group that stands at mount_point: not "/" inside containers */
};
struct cgroup_map {
	struct cgroup_hierarchy of[8];
	size_t count;
};
/* cgroup_controller_bits: of "cpu,cpuacct", "rw,memory", "+memory +pids"; other words are passed over.
 * Cuts it up. */
unsigned cgroup_controller_bits(char *list);
/* cgroup_find: reads /proc/self/cgroup and as much of mountinfo as is needed. -ENOTSUP with the reason. */
int cgroup_find(const struct cgroup_host *h, struct cgroup_map *ret, struct err *e);
void cgroup_map_done(struct cgroup_map *m);
/* cgroup_dir: where our own group of a hierarchy is in the file system. -ENOTSUP with the reason. */
int cgroup_dir(const struct cgroup_host *h, const struct cgroup_hierarchy *y, char ret_path[PATH_MAX],
	       struct err *e);
/* cgroup_up: from a group to its parent. False: it is the outermost that the mount point shows. */
bool cgroup_up(struct cgroup_hierarchy *y);

/* ---- cgroup_scope.c ---- */

bool cgroup_user_bus(const struct cgroup_host *h, char ret_path[PATH_MAX]); /* ret_path may be NULL */
int cgroup_ask_scope(const struct cgroup_host *h, const char *name, struct err *e);

/* ---- one run's groups ---- */

#define CGROUP_FILES 12
struct cgroup_leaf {
	int parent_fd, dir_fd;
	int tasks_fd;        /* v1: opened before the clone, written by the child; v2: -1 */
	unsigned controllers;
	/* What was read once stays open: the next look is one call. Owned by the leaf; made at the first look. */
	struct cgroup_open {
		struct { const char *name; int fd; } file[CGROUP_FILES];
		size_t count;
	} *open;
};
enum cgroup_held { HELD_MEMORY, HELD_PIDS, HELD_CPU, HELD_MAX };
struct cgroup {
	const struct cgroup_host *host;
	const struct cgroup_ops *ops;
	unsigned controllers;
	char name[sizeof CGROUP_PREFIX + CGROUP_ID_LEN];
	int lock_fd; /* of the first leaf, locked: while it is held the run is alive (flock(2)) */
	struct cgroup_leaf leaf[5];
	size_t leaf_count;
	struct { uint64_t value; const char *mechanism; } held[HELD_MAX]; /* as read back */
};

/* One way of having control groups. cgroup.c lists them, best first. */
struct cgroup_ops {
	enum cgroup_kind kind;
	const char *name;
	/* -ENOTSUP: not to be had here, with the reason, the next way is tried. What it made so far, the
	 * caller undoes. */
	int (*create)(struct cgroup *c, const struct cgroup_map *m, const struct policy *p, struct err *e);
	void (*read)(const struct cgroup *c, struct cgroup_reading *ret);
	int (*freeze)(const struct cgroup *c, bool on, struct err *e);
	int (*kill)(const struct cgroup *c);
};
extern const struct cgroup_ops cgroup_v2_own_ops, cgroup_v2_scope_ops, cgroup_v2_outer_ops, cgroup_v1_ops;

int cgroup_create_on(const struct cgroup_host *h, const char *run_id, const struct policy *p,
		     struct cgroup **ret, struct err *e);
int cgroup_sweep_on(const struct cgroup_host *h);

/* cgroup_leaf_make: a folder of the run's name below `parent`. -ENOTSUP where it may not be made. */
int cgroup_leaf_make(struct cgroup *c, const char *parent, unsigned controllers, struct cgroup_leaf **ret,
		     struct err *e);
const struct cgroup_leaf *cgroup_leaf_of(const struct cgroup *c, unsigned controller); /* NULL: none */

/* cgroup_set: writes a control file and reads it back into `got`. cgroup_set_limit: refuses what came back
 * weaker. */
int cgroup_set(int dirfd, const char *file, const char *text, char *got, size_t size, struct err *e);
uint64_t cgroup_quota_us(uint64_t millicores); /* of one period */
int cgroup_set_limit(int dirfd, const char *file, uint64_t value, uint64_t *ret_held, struct err *e);
/* cgroup_number: a file that holds one number. cgroup_key: one of its lines "key number". cgroup_keys: several, of one
 * moment. UINT64_MAX: not said. */
struct cgroup_key_want {
	const char *key;
	uint64_t *ret;
};
uint64_t cgroup_number(const struct cgroup_leaf *l, const char *file);
uint64_t cgroup_key(const struct cgroup_leaf *l, const char *file, const char *key);
void cgroup_keys(const struct cgroup_leaf *l, const char *file, const struct cgroup_key_want *want,
		 size_t count);

/* cgroup_populated: a leaf has a member. */
bool cgroup_populated(const struct cgroup_leaf *l);
/* cgroup_signal: SIGKILL to every member of a leaf. Returns how many there were. */
int cgroup_signal(const struct cgroup *c, const struct cgroup_leaf *l);
/* cgroup_pause: the next of a series of ever longer waits, bounded by the deadline. False: it has passed. */
bool cgroup_pause(uint64_t deadline_ns, uint64_t *step_ns);
