/* SPDX-License-Identifier: MIT */
/*
 * Control groups, version 1: a folder of the run in each controller's hierarchy, below our own group there. A
 * missing controller is no obstacle to the others. The run enters by itself, through descriptors of `tasks`
 * opened here: a single-threaded process that moves itself takes no lock, where a write to cgroup.procs waits
 * for an RCU grace period, a hundred times longer. Limits are described in the kernel's
 * admin-guide/cgroup-v1/{memory,pids}.rst and scheduler/sched-bwc.rst.
 */
#include "core/confine/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FREEZE_WAIT_NS (200 * NS_PER_MS)
#define KILL_WAIT_NS   (2 * NS_PER_S)

static int limit_memory(struct cgroup *c, const struct cgroup_leaf *l, uint64_t bytes, struct err *e)
{
	char got[32];
	struct err ignored;

	int r = cgroup_set_limit(l->dir_fd, "memory.limit_in_bytes", bytes, &c->held[HELD_MEMORY].value, e);
	if (r < 0)
		return r;
	/* Memory and swap together are limited to the same: no swap. Only with CONFIG_MEMCG_SWAP and
	 * swapaccount=1. */
	uint64_t both;
	if (cgroup_set_limit(l->dir_fd, "memory.memsw.limit_in_bytes", bytes, &both, &ignored) == 0)
		c->held[HELD_MEMORY].mechanism = "cgroup v1 memory.limit_in_bytes, swap 0";
	else if (cgroup_set(l->dir_fd, "memory.swappiness", "0", got, sizeof got, &ignored) == 0)
		c->held[HELD_MEMORY].mechanism = "cgroup v1 memory.limit_in_bytes, swappiness 0";
	else
		c->held[HELD_MEMORY].mechanism = "cgroup v1 memory.limit_in_bytes (swap is not counted here)";
	return 0;
}

static int limit_pids(struct cgroup *c, const struct cgroup_leaf *l, uint64_t tasks, struct err *e)
{
	c->held[HELD_PIDS].mechanism = "cgroup v1 pids.max";
	return cgroup_set_limit(l->dir_fd, "pids.max", tasks, &c->held[HELD_PIDS].value, e);
}

/* Not to be had where an outer group has a smaller quota (EINVAL) or the kernel no CFS bandwidth: said, no
 * failure. */
static int limit_cpu(struct cgroup *c, const struct cgroup_leaf *l, uint64_t millicores)
{
	struct err ignored;
	char got[32];
	uint64_t held;

	if (cgroup_set(l->dir_fd, "cpu.cfs_period_us", "100000", got, sizeof got, &ignored) < 0 ||
	    cgroup_set_limit(l->dir_fd, "cpu.cfs_quota_us", cgroup_quota_us(millicores), &held, &ignored) < 0)
		return -ENOTSUP;
	c->held[HELD_CPU].value = held / (CGROUP_PERIOD_US / 1000);
	c->held[HELD_CPU].mechanism = "cgroup v1 cpu.cfs_quota_us";
	return 0;
}

static int set_limits(struct cgroup *c, struct cgroup_leaf *l, const struct policy *p, struct err *e)
{
	const uint64_t memory = p->limit[LIMIT_MEMORY];
	const uint64_t tasks = p->limit[LIMIT_PROCESSES];
	const uint64_t cpus = p->limit[LIMIT_CPUS];
	int r = 0;

	if ((l->controllers & CG_MEMORY) && memory != UNLIMITED && (r = limit_memory(c, l, memory, e)) < 0)
		return r;
	if ((l->controllers & CG_PIDS) && tasks != UNLIMITED && (r = limit_pids(c, l, tasks, e)) < 0)
		return r;
	if ((l->controllers & CG_CPU) && cpus != UNLIMITED && limit_cpu(c, l, cpus) < 0)
		l->controllers &= ~(unsigned) CG_CPU;
	return 0;
}

static int make_leaf(struct cgroup *c, const struct cgroup_hierarchy *y, const struct policy *p,
		     struct err *e)
{
	char path[PATH_MAX];
	struct cgroup_leaf *l;
	int r;

	if ((r = cgroup_dir(c->host, y, path, e)) < 0 ||
	    (r = cgroup_leaf_make(c, path, y->controllers, &l, e)) < 0)
		return r;
	l->tasks_fd = openat(l->dir_fd, "tasks", O_WRONLY | O_CLOEXEC);
	if (l->tasks_fd < 0)
		return err_set(e, errno, "open tasks of %s/%s", path, c->name);
	if ((r = set_limits(c, l, p, e)) < 0)
		return r;
	c->controllers |= l->controllers & ~(unsigned) CG_CPUACCT;
	return 0;
}

static int v1_create(struct cgroup *c, const struct cgroup_map *m, const struct policy *p, struct err *e)
{
	struct err reason = { .code = 0 };
	unsigned wanted = CG_MEMORY | CG_PIDS | CG_CPUACCT | CG_FREEZE;

	if (p->limit[LIMIT_CPUS] != UNLIMITED)
		wanted |= CG_CPU;
	for (size_t i = 0; i < m->count && c->leaf_count < ARRAY_LEN(c->leaf); i++) {
		if (m->of[i].v2 || !(m->of[i].controllers & wanted))
			continue;
		int r = make_leaf(c, &m->of[i], p, &reason);
		if (r < 0 && r != -ENOTSUP) {
			*e = reason;
			return r;
		}
	}
	if (c->controllers & (CG_MEMORY | CG_PIDS))
		return 0;
	return err_say(e, ENOTSUP, "%s", reason.code ? reason.text : "no memory or pids controller");
}

/*
 * The two limits are the same, and memory with swap is charged first: that is where most refusals are
 * counted. Newer kernels (6.18 was seen to) leave both counters at 0: where the peak stands at the limit, 0
 * is not an answer.
 */
static uint64_t failures(const struct cgroup *c, const struct cgroup_leaf *memory, uint64_t peak)
{
	uint64_t with_swap = cgroup_number(memory, "memory.memsw.failcnt");
	uint64_t alone = cgroup_number(memory, "memory.failcnt");
	uint64_t sum = with_swap == UNKNOWN_U64 || alone == UNKNOWN_U64 ? alone : alone + with_swap;

	return sum == 0 && peak >= c->held[HELD_MEMORY].value ? UNKNOWN_U64 : sum;
}

/*
 * `memory` is what the run would not get back by itself: usage without the page cache of files that nobody
 * used of late (tmpfs is not among it: its pages count as anonymous). The peak is the kernel's own, with all
 * page cache.
 */
static void v1_read(const struct cgroup *c, struct cgroup_reading *ret)
{
	const struct cgroup_leaf *memory = cgroup_leaf_of(c, CG_MEMORY), *pids = cgroup_leaf_of(c, CG_PIDS);
	const struct cgroup_leaf *cpu = cgroup_leaf_of(c, CG_CPU), *cpuacct = cgroup_leaf_of(c, CG_CPUACCT);

	uint64_t idle;
	const struct cgroup_key_want stat[] = { { "total_inactive_file", &idle },
						{ "total_workingset_activate_file", &ret->memory_thrashed } };

	ret->memory = cgroup_number(memory, "memory.usage_in_bytes");
	cgroup_keys(memory, "memory.stat", stat, ARRAY_LEN(stat));
	if (ret->memory != UNKNOWN_U64 && idle != UNKNOWN_U64)
		ret->memory -= idle < ret->memory ? idle : ret->memory;
	ret->memory_peak = cgroup_number(memory, "memory.max_usage_in_bytes");
	ret->oom_kills = cgroup_key(memory, "memory.oom_control", "oom_kill"); /* since 4.13 */
	ret->memory_failures = failures(c, memory, ret->memory_peak);
	ret->tasks = cgroup_number(pids, "pids.current");
	ret->tasks_peak = cgroup_number(pids, "pids.peak"); /* since 6.1 */
	ret->fork_failures = cgroup_key(pids, "pids.events", "max");
	ret->cpu_ns = cgroup_number(cpuacct, "cpuacct.usage");
	ret->throttled_ns = cgroup_key(cpu, "cpu.stat", "throttled_time");
}

static int v1_freeze(const struct cgroup *c, bool on, struct err *e)
{
	const struct cgroup_leaf *l = cgroup_leaf_of(c, CG_FREEZE);
	const char *want = on ? "FROZEN" : "THAWED";
	char state[32];
	uint64_t deadline = now_ns() + FREEZE_WAIT_NS, step = 0;

	if (!l)
		return err_say(e, ENOTSUP, "this run has no freezer of cgroup v1");
	do {
		/* Written again each time: a task that was being created may have been missed (FREEZING
		 * stays). */
		int r = cgroup_set(l->dir_fd, "freezer.state", want, state, sizeof state, e);
		if (r < 0)
			return r;
		if (strcmp(state, want) == 0)
			return 0;
	} while (cgroup_pause(deadline, &step));
	return err_say(e, ETIMEDOUT, "freezer.state stays %s: a task waits in the kernel", state);
}

/* Every hierarchy is looked at: a child that failed half way through entering is in the first ones only. */
static bool any_populated(const struct cgroup *c)
{
	for (size_t i = 0; i < c->leaf_count; i++)
		if (cgroup_populated(&c->leaf[i]))
			return true;
	return false;
}

/*
 * Frozen first, so that nothing can fork away from the signals; a frozen task dies only once it is thawed. A
 * run mostly ends by itself, and of nothing nothing can fork: freezing rewrites kernel code, for a quarter of
 * a millisecond.
 */
static int v1_kill(const struct cgroup *c)
{
	uint64_t deadline = now_ns() + KILL_WAIT_NS, step = 0;
	struct err ignored;
	int left = 0;

	while (any_populated(c)) {
		left = 0;
		(void) v1_freeze(c, true, &ignored);
		for (size_t i = 0; i < c->leaf_count; i++) {
			int n = cgroup_signal(c, &c->leaf[i]);
			left = n > left ? n : left;
		}
		(void) v1_freeze(c, false, &ignored);
		if (!cgroup_pause(deadline, &step))
			return left;
	}
	return 0;
}

const struct cgroup_ops cgroup_v1_ops = {
	.kind = CGROUP_V1,
	.name = "cgroup v1",
	.create = v1_create,
	.read = v1_read,
	.freeze = v1_freeze,
	.kill = v1_kill,
};
