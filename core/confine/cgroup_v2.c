/* SPDX-License-Identifier: MIT */
/*
 * Control groups, version 2: one folder of the run, below our own group where that is delegated to us, below
 * a scope that the user's systemd gives, or below an outer group that has its controllers on already. A group
 * that hands controllers to its children may hold no process itself, so belljar moves into a leaf of its own
 * first. The run is born inside by CLONE_INTO_CGROUP. See cgroups(7) and the kernel's
 * admin-guide/cgroup-v2.rst.
 */
#include "core/confine/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEEDED         (CG_MEMORY | CG_PIDS)
#define FREEZE_WAIT_NS (200 * NS_PER_MS)
#define KILL_WAIT_NS   (2 * NS_PER_S)
#define ANCESTORS_MAX  64
#define MOVE_TRIES     4 /* what is forked while we move others is moved in the next round */

/* The words of cgroup.controllers or cgroup.subtree_control that mean something to us. */
static unsigned words_of(int dirfd, const char *file)
{
	char text[512];

	if (file_read_small(dirfd, file, text, sizeof text) < 0)
		return 0;
	return cgroup_controller_bits(text);
}

/* ---- who may be moved out of our own group ---- */

static int stat_of(const struct cgroup_host *h, const char *who, pid_t *ret_pid, pid_t *ret_parent)
{
	char path[PATH_MAX], text[512];

	snprintf(path, sizeof path, "%s/%s/stat", h->proc, who);
	if (file_read_small(AT_FDCWD, path, text, sizeof text) < 0)
		return -ENOENT;
	/* "12 (a name) S 3 …": a name may hold anything, so the last parenthesis counts. */
	const char *after = strrchr(text, ')');
	if (!after || strlen(after) < 4)
		return -ENOENT;
	*ret_pid = (pid_t) atoi(text);
	*ret_parent = (pid_t) atoi(after + 4);
	return 0;
}

static bool same_program(const struct cgroup_host *h, pid_t pid)
{
	char path[PATH_MAX], ours[PATH_MAX], theirs[PATH_MAX];

	snprintf(path, sizeof path, "%s/self/exe", h->proc);
	ssize_t a = readlink(path, ours, sizeof ours - 1);
	snprintf(path, sizeof path, "%s/%d/exe", h->proc, (int) pid);
	ssize_t b = readlink(path, theirs, sizeof theirs - 1);
	if (a <= 0 || b <= 0)
		return false;
	ours[a] = theirs[b] = '\0';
	/* The screens are a program of their own beside this one. */
	char *slash = strrchr(ours, '/');
	size_t dir = slash ? (size_t) (slash - ours) + 1 : 0;
	return dir && strncmp(ours, theirs, dir) == 0 && str_starts(theirs + dir, "belljar");
}

/*
 * Moving a stranger would change what its own manager measures and limits. Ours to move are belljar's
 * processes and, where no session manager could give us a scope instead, the ancestors that started us (a
 * container's shell).
 */
static bool may_move(const struct cgroup_host *h, pid_t pid, bool ancestors_too)
{
	char who[16] = "self";
	pid_t at, parent;

	if (pid <= 0)
		return false; /* 0: it lives outside of our pid namespace */
	if (same_program(h, pid))
		return true;
	for (int i = 0; i < ANCESTORS_MAX && stat_of(h, who, &at, &parent) == 0; i++) {
		if (at == pid)
			return i == 0 || ancestors_too;
		snprintf(who, sizeof who, "%d", (int) parent);
	}
	return false;
}

/* One round over cgroup.procs: with home_fd -1 only asks who may not be moved. Returns how many that are. */
static int move_members(const struct cgroup_host *h, int dirfd, int home_fd, bool ancestors_too)
{
	FREE char *text = NULL;
	struct err ignored;
	int strangers = 0;

	if (file_read(dirfd, "cgroup.procs", 1 << 20, &text, NULL, &ignored) < 0)
		return 1;
	char *rest = text, *line;
	while ((line = strsep(&rest, "\n"))) {
		if (line[0] == '\0')
			continue;
		if (!may_move(h, (pid_t) atoi(line), ancestors_too))
			strangers++;
		else if (home_fd >= 0)
			(void) !write(home_fd, line, strlen(line)); /* ESRCH: it has ended */
	}
	return strangers;
}

static int move_home(const struct cgroup_host *h, int dirfd, struct err *e)
{
	bool ancestors_too = !cgroup_user_bus(h, NULL);
	int strangers = move_members(h, dirfd, -1, ancestors_too);

	if (strangers > 0)
		return err_say(e, ENOTSUP, "%d processes that are not ours live in our own group", strangers);
	if (h->make_dir(dirfd, CGROUP_HOME, 0755) < 0 && errno != EEXIST)
		return err_say(e, ENOTSUP, "make %s: %s", CGROUP_HOME, strerror(errno));
	CLOSE_FD int home_fd = openat(dirfd, CGROUP_HOME "/cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (home_fd < 0)
		return err_say(e, ENOTSUP, "open %s/cgroup.procs: %s", CGROUP_HOME, strerror(errno));
	(void) move_members(h, dirfd, home_fd, ancestors_too);
	return 0;
}

/* ---- controllers for the children of a group ---- */

static int turn_on(int dirfd, const char *words)
{
	CLOSE_FD int fd = openat(dirfd, "cgroup.subtree_control", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, words, strlen(words)) < 0)
		return -errno;
	return 0;
}

/* Only the hierarchy's true root may hold processes and pass controllers on; it alone has no type. */
static bool must_be_empty(int dirfd)
{
	char text[32];

	return faccessat(dirfd, "cgroup.type", F_OK, 0) == 0 &&
	       file_read_small(dirfd, "cgroup.procs", text, sizeof text) > 0;
}

static int turn_on_needed(const struct cgroup_host *h, int dirfd, struct err *e)
{
	int r = must_be_empty(dirfd) ? -EBUSY : turn_on(dirfd, "+memory +pids");

	for (int i = 0; r == -EBUSY && i < MOVE_TRIES; i++) {
		if ((r = move_home(h, dirfd, e)) < 0)
			return r;
		r = turn_on(dirfd, "+memory +pids");
	}
	return r < 0 ? err_say(e, ENOTSUP, "turn memory and pids on: %s", strerror(-r)) : 0;
}

/* What a group in `path` could have, or why nothing. `may_change`: its controllers may be turned on for
 * us. */
static int prepare(const struct cgroup_host *h, const char *path, bool may_change, unsigned *ret,
		   struct err *e)
{
	CLOSE_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_say(e, ENOTSUP, "open %s: %s", path, strerror(errno));

	unsigned offered = words_of(fd, "cgroup.controllers");
	if ((offered & NEEDED) != NEEDED)
		return err_say(e, ENOTSUP, "%s is not given memory and pids", path);
	/* Entering a child of it takes writing to the nearest common group's cgroup.procs as well. */
	if (faccessat(fd, "cgroup.procs", W_OK, AT_EACCESS) < 0)
		return err_say(e, ENOTSUP, "%s is not delegated to this user", path);
	unsigned on = words_of(fd, "cgroup.subtree_control");
	if ((on & NEEDED) != NEEDED) {
		if (!may_change)
			return err_say(e, ENOTSUP, "%s does not pass memory and pids on", path);
		int r = turn_on_needed(h, fd, e);
		if (r < 0)
			return r;
	}
	if (may_change && (offered & ~on & CG_CPU) && turn_on(fd, "+cpu") < 0)
		offered &= ~(unsigned) CG_CPU;
	*ret = may_change ? offered : on;
	return 0;
}

/* ---- limits ---- */

static int limit_memory(struct cgroup *c, const struct cgroup_leaf *l, uint64_t bytes, struct err *e)
{
	char got[32];
	struct err ignored;

	int r = cgroup_set_limit(l->dir_fd, "memory.max", bytes, &c->held[HELD_MEMORY].value, e);
	if (r < 0)
		return r;
	bool no_swap = cgroup_set(l->dir_fd, "memory.swap.max", "0", got, sizeof got, &ignored) == 0 &&
		       strcmp(got, "0") == 0;
	c->held[HELD_MEMORY].mechanism = "cgroup v2 memory.max (swap is not counted here)";
	if (no_swap)
		c->held[HELD_MEMORY].mechanism = "cgroup v2 memory.max, swap 0";
	/* The run dies as a whole instead of limping on without the process that happened to be chosen.
	 * Since 4.19. */
	(void) cgroup_set(l->dir_fd, "memory.oom.group", "1", got, sizeof got, &ignored);
	return 0;
}

static int limit_cpu(struct cgroup *c, const struct cgroup_leaf *l, uint64_t millicores, struct err *e)
{
	char text[64], got[64];
	uint64_t quota_us = cgroup_quota_us(millicores);

	snprintf(text, sizeof text, "%llu %d", (unsigned long long) quota_us, CGROUP_PERIOD_US);
	int r = cgroup_set(l->dir_fd, "cpu.max", text, got, sizeof got, e);
	if (r < 0)
		return r;
	if (strcmp(got, text) != 0)
		return err_say(e, EIO, "cpu.max: %s was written, the kernel says %s", text, got);
	c->held[HELD_CPU].value = quota_us / (CGROUP_PERIOD_US / 1000);
	c->held[HELD_CPU].mechanism = "cgroup v2 cpu.max";
	return 0;
}

static int place(struct cgroup *c, const char *path, unsigned controllers, const struct policy *p,
		 struct err *e)
{
	struct cgroup_leaf *l;
	const uint64_t memory = p->limit[LIMIT_MEMORY];
	const uint64_t tasks = p->limit[LIMIT_PROCESSES];
	const uint64_t cpus = p->limit[LIMIT_CPUS];

	int r = cgroup_leaf_make(c, path, controllers, &l, e);
	if (r < 0)
		return r;
	if (faccessat(l->dir_fd, "cgroup.freeze", W_OK, AT_EACCESS) == 0) /* since 5.2 */
		l->controllers |= CG_FREEZE;
	if (memory != UNLIMITED && (r = limit_memory(c, l, memory, e)) < 0)
		return r;
	if (tasks != UNLIMITED) {
		c->held[HELD_PIDS].mechanism = "cgroup v2 pids.max";
		if ((r = cgroup_set_limit(l->dir_fd, "pids.max", tasks, &c->held[HELD_PIDS].value, e)) < 0)
			return r;
	}
	if (cpus != UNLIMITED && (l->controllers & CG_CPU) && (r = limit_cpu(c, l, cpus, e)) < 0)
		return r;
	c->controllers = l->controllers;
	return 0;
}

/* ---- three ways to a place ---- */

/* Our own hierarchy of version 2, if it can have the memory controller at all. Gives a copy with a path of
 * its own. */
static int own_hierarchy(const struct cgroup_map *m, struct cgroup_hierarchy *ret, struct err *e)
{
	const struct cgroup_hierarchy *v2 = NULL;

	for (size_t i = 0; i < m->count; i++) {
		if (m->of[i].controllers & NEEDED)
			return err_say(e, ENOTSUP, "this machine has memory and pids in version 1");
		v2 = m->of[i].v2 ? &m->of[i] : v2;
	}
	if (!v2)
		return err_say(e, ENOTSUP, "this machine has none");
	*ret = *v2;
	ret->path = xstrdup(v2->path);
	if (str_ends(ret->path, "/" CGROUP_HOME)) /* an earlier run moved our starter there */
		(void) cgroup_up(ret);
	return 0;
}

static int own_create(struct cgroup *c, const struct cgroup_map *m, const struct policy *p, struct err *e)
{
	struct cgroup_hierarchy y;
	char path[PATH_MAX];
	unsigned controllers;

	int r = own_hierarchy(m, &y, e);
	if (r < 0)
		return r;
	r = cgroup_dir(c->host, &y, path, e);
	free(y.path);
	if (r < 0 || (r = prepare(c->host, path, true, &controllers, e)) < 0)
		return r;
	return place(c, path, controllers, p, e);
}

static int scope_create(struct cgroup *c, const struct cgroup_map *m, const struct policy *p, struct err *e)
{
	struct cgroup_hierarchy y;
	struct cgroup_map moved;

	int r = own_hierarchy(m, &y, e);
	if (r < 0)
		return r;
	free(y.path);
	if (!cgroup_user_bus(c->host, NULL))
		return err_say(e, ENOTSUP, "no user session's bus in $XDG_RUNTIME_DIR");
	if ((r = c->host->ask_scope(c->host, c->name, e)) < 0) {
		e->code = ENOTSUP;
		return -ENOTSUP;
	}
	if ((r = cgroup_find(c->host, &moved, e)) < 0)
		return r;
	r = own_create(c, &moved, p, e);
	cgroup_map_done(&moved);
	return r;
}

/*
 * The nearest outer group that passes the controllers on already and may be written: root's slice on a
 * systemd host. Nothing of it is changed.
 */
static int outer_create(struct cgroup *c, const struct cgroup_map *m, const struct policy *p, struct err *e)
{
	struct cgroup_hierarchy y;
	char path[PATH_MAX];
	unsigned controllers;

	int r = own_hierarchy(m, &y, e);
	if (r < 0)
		return r;
	r = err_say(e, ENOTSUP, "there is none that we can see");
	while (r < 0 && cgroup_up(&y)) {
		if ((r = cgroup_dir(c->host, &y, path, e)) == 0)
			r = prepare(c->host, path, false, &controllers, e);
	}
	free(y.path);
	return r < 0 ? r : place(c, path, controllers, p, e);
}

/* ---- living with it ---- */

static uint64_t times_thousand(uint64_t us)
{
	return us == UNKNOWN_U64 ? us : us * 1000;
}

/* As in version 1: `memory` without idle page cache, the peak as the kernel says it, with all of it. */
static void v2_read(const struct cgroup *c, struct cgroup_reading *ret)
{
	const struct cgroup_leaf *l = c->leaf_count ? &c->leaf[0] : NULL;

	uint64_t idle, used_us, throttled_us;
	const struct cgroup_key_want stat[] = { { "inactive_file", &idle },
						{ "workingset_activate_file",
						  &ret->memory_thrashed } }, /* since 5.9 */
		/* With memory.oom.group the first victim is counted twice (seen on 6.1): more than none is what it
		 * says. */
		events[] = { { "oom_kill", &ret->oom_kills }, { "max", &ret->memory_failures } },
				     cpu[] = { { "usage_usec", &used_us },
					       { "throttled_usec", &throttled_us } };

	ret->memory = cgroup_number(l, "memory.current");
	cgroup_keys(l, "memory.stat", stat, ARRAY_LEN(stat));
	if (ret->memory != UNKNOWN_U64 && idle != UNKNOWN_U64)
		ret->memory -= idle < ret->memory ? idle : ret->memory;
	ret->memory_peak = cgroup_number(l, "memory.peak"); /* since 5.19 */
	cgroup_keys(l, "memory.events", events, ARRAY_LEN(events));
	ret->tasks = cgroup_number(l, "pids.current");
	ret->tasks_peak = cgroup_number(l, "pids.peak"); /* since 6.1 */
	ret->fork_failures = cgroup_key(l, "pids.events", "max");
	cgroup_keys(l, "cpu.stat", cpu, ARRAY_LEN(cpu));
	ret->cpu_ns = times_thousand(used_us);
	ret->throttled_ns = times_thousand(throttled_us);
}

static int v2_freeze(const struct cgroup *c, bool on, struct err *e)
{
	const struct cgroup_leaf *l = &c->leaf[0];
	char got[16];
	uint64_t deadline = now_ns() + FREEZE_WAIT_NS, step = 0;

	if (!(l->controllers & CG_FREEZE))
		return err_say(e, ENOTSUP, "this kernel has no cgroup.freeze (5.2)");
	int r = cgroup_set(l->dir_fd, "cgroup.freeze", on ? "1" : "0", got, sizeof got, e);
	while (r == 0 && cgroup_key(l, "cgroup.events", "frozen") == (on ? 0 : 1))
		if (!cgroup_pause(deadline, &step))
			return err_say(e, ETIMEDOUT,
				       "a task that waits in the kernel keeps cgroup.freeze at %d", !on);
	return r;
}

/* Without cgroup.kill (5.14) nothing may fork away from the signals; a frozen task of version 2 dies
 * nevertheless. */
static void kill_all(const struct cgroup *c, const struct cgroup_leaf *l)
{
	struct err ignored;

	CLOSE_FD int fd = openat(l->dir_fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "1", 1) == 1)
		return;
	(void) v2_freeze(c, true, &ignored);
	(void) cgroup_signal(c, l);
	(void) v2_freeze(c, false, &ignored);
}

static int v2_kill(const struct cgroup *c)
{
	uint64_t deadline = now_ns() + KILL_WAIT_NS, step = 0;

	if (c->leaf_count == 0)
		return 0;
	const struct cgroup_leaf *l = &c->leaf[0];
	while (cgroup_key(l, "cgroup.events", "populated") == 1) {
		kill_all(c, l);
		if (!cgroup_pause(deadline, &step)) {
			int left = cgroup_signal(c, l);
			return left > 0 ? left : 1;
		}
	}
	return 0;
}

const struct cgroup_ops cgroup_v2_own_ops = {
	.kind = CGROUP_V2,
	.name = "cgroup v2",
	.create = own_create,
	.read = v2_read,
	.freeze = v2_freeze,
	.kill = v2_kill,
};

const struct cgroup_ops cgroup_v2_scope_ops = {
	.kind = CGROUP_V2_SCOPE,
	.name = "the user's systemd",
	.create = scope_create,
	.read = v2_read,
	.freeze = v2_freeze,
	.kill = v2_kill,
};

const struct cgroup_ops cgroup_v2_outer_ops = {
	.kind = CGROUP_V2,
	.name = "outer groups of cgroup v2",
	.create = outer_create,
	.read = v2_read,
	.freeze = v2_freeze,
	.kill = v2_kill,
};
