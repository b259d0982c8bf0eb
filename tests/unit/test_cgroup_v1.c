/* SPDX-License-Identifier: MIT */
/*
 * Control groups of version 1, on recorded machines: a hybrid host, Docker's mount root, read-only mounts,
 * none at all; and what both versions share: limits that come back weaker, unlimited ones, sweeping.
 */
#include "tests/unit/cgroup_machine.h"

#include <sys/file.h>

static void hybrid(const char *own_memory)
{
	char text[1024];
	put("proc/self/mountinfo",
	    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
	    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
	    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
	    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
	    "37 31 0:34 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer\n"
	    "39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
	    "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
	    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
	snprintf(text, sizeof text,
		 "9:name=systemd:/\n8:pids:/\n6:freezer:/\n5:devices:/\n4:memory:%s\n"
		 "2:cpu,cpuacct:/\n0::/\n",
		 own_memory);
	put("proc/self/cgroup", text);
	const char *dirs[] = { "cpu,cpuacct", "memory", "freezer", "pids", "unified" };
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		snprintf(text, sizeof text, "sys/fs/cgroup/%s/tasks", dirs[i]);
		put(text, "");
	}
	put("sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n");
	put("sys/fs/cgroup/memory/own/tasks", "");
}

static void v1_on_a_hybrid_host(void **state)
{
	(void) state;
	struct err e;
	int r;
	hybrid("/own");
	struct cgroup *c = create(&e, &r);
	assert_int_equal(r, 0);
	assert_int_equal(cgroup_kind(c), CGROUP_V1);
	assert_int_equal(cgroup_controllers(c), CG_MEMORY | CG_PIDS | CG_CPU | CG_FREEZE);
	assert_int_equal(cgroup_clone_fd(c), -1);
	assert_file("sys/fs/cgroup/memory/own/" LEAF "/memory.limit_in_bytes", "268435456");
	assert_file("sys/fs/cgroup/memory/own/" LEAF "/memory.memsw.limit_in_bytes", "268435456");
	assert_file("sys/fs/cgroup/pids/" LEAF "/pids.max", "64");
	assert_file("sys/fs/cgroup/cpu,cpuacct/" LEAF "/cpu.cfs_period_us", "100000");
	assert_file("sys/fs/cgroup/cpu,cpuacct/" LEAF "/cpu.cfs_quota_us", "150000");
	assert_limit(c, CG_MEMORY, 256 << 20, "cgroup v1 memory.limit_in_bytes, swap 0");
	assert_limit(c, CG_PIDS, 64, "cgroup v1 pids.max");
	assert_limit(c, CG_CPU, 1500, "cgroup v1 cpu.cfs_quota_us");

	assert_int_equal(cgroup_enter(c, &e), 0);
	assert_file("sys/fs/cgroup/memory/own/" LEAF "/tasks", "0");
	assert_file("sys/fs/cgroup/pids/" LEAF "/tasks", "0");
	assert_file("sys/fs/cgroup/freezer/" LEAF "/tasks", "0");
	assert_int_equal(cgroup_freeze(c, true, &e), 0);
	assert_file("sys/fs/cgroup/freezer/" LEAF "/freezer.state", "FROZEN");
	assert_null(cgroup_remove(c));
	assert_false(exists("sys/fs/cgroup/memory/own/" LEAF));
	assert_false(exists("sys/fs/cgroup/pids/" LEAF));
	assert_false(exists("sys/fs/cgroup/freezer/" LEAF));
	assert_false(exists("sys/fs/cgroup/cpu,cpuacct/" LEAF));
}

static void v1_counters(void **state)
{
	(void) state;
	struct err e;
	struct cgroup_reading rd;
	int r;
	hybrid("/own");
	struct cgroup *c = create(&e, &r);
	assert_int_equal(r, 0);
	cgroup_read(c, &rd);
	assert_true(rd.memory == UNKNOWN_U64 && rd.oom_kills == UNKNOWN_U64 && rd.tasks_peak == UNKNOWN_U64);
#define M "sys/fs/cgroup/memory/own/" LEAF "/memory."
	put(M "usage_in_bytes", "10485760\n");
	put(M "stat",
	    "cache 1\ninactive_file 7\ntotal_cache 4\ntotal_inactive_file 1048576\ntotal_active_file 0\n"
	    "workingset_activate_file 1\ntotal_workingset_activate_file 91\n");
	put(M "max_usage_in_bytes", "67108864\n");
	put(M "oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	put(M "failcnt", "41\n");
	put("sys/fs/cgroup/pids/" LEAF "/pids.current", "3\n");
	put("sys/fs/cgroup/pids/" LEAF "/pids.peak", "64\n");
	put("sys/fs/cgroup/pids/" LEAF "/pids.events", "max 136\n");
	put("sys/fs/cgroup/cpu,cpuacct/" LEAF "/cpuacct.usage", "61000123\n");
	put("sys/fs/cgroup/cpu,cpuacct/" LEAF "/cpu.stat",
	    "nr_periods 9\nnr_throttled 2\nthrottled_time 5000\n");
	cgroup_read(c, &rd);
	assert_int_equal(rd.memory, 9437184);
	assert_int_equal(rd.memory_thrashed, 91);
	assert_int_equal(rd.memory_peak, 67108864);
	assert_int_equal(rd.oom_kills, 2);
	assert_int_equal(rd.memory_failures, 41);
	put(M "memsw.failcnt", "2\n");
	cgroup_read(c, &rd);
	assert_int_equal(rd.memory_failures, 43);
	put(M "memsw.failcnt", "0\n");
	put(M "failcnt", "0\n");
	cgroup_read(c, &rd);
	assert_int_equal(rd.memory_failures, 0);
	put(M "max_usage_in_bytes", "268435456\n"); /* the limit was met: 0 failures is no answer then */
	cgroup_read(c, &rd);
	assert_true(rd.memory_failures == UNKNOWN_U64);
	assert_int_equal(rd.tasks, 3);
	assert_int_equal(rd.tasks_peak, 64);
	assert_int_equal(rd.fork_failures, 136);
	assert_int_equal(rd.cpu_ns, 61000123);
	assert_int_equal(rd.throttled_ns, 5000);
	cgroup_remove(c);
}

/* A part is better than nothing: pids alone may be had, and cgroup_controllers says so. */
static void v1_in_part(void **state)
{
	(void) state;
	struct err e;
	int r;
	hybrid("/gone/with/the/session");
	struct cgroup *c = create(&e, &r);
	assert_int_equal(r, 0);
	assert_int_equal(cgroup_controllers(c), CG_PIDS | CG_CPU | CG_FREEZE);
	uint64_t value;
	const char *by;
	assert_int_equal(cgroup_limit(c, CG_MEMORY, &value, &by), -ENOENT);
	assert_int_equal(value, UNKNOWN_U64);
	cgroup_remove(c);
}

/* Docker with version 1: the mount shows /docker/ID as its root, and the mount point's name has a blank in
 * it. */
static void v1_below_a_mount_root(void **state)
{
	(void) state;
	struct err e;
	int r;
	put("proc/self/mountinfo",
	    "700 690 0:32 /docker/0af3 /sys/fs/cgroup/the\\040memory ro,nosuid - cgroup cgroup rw,memory\n"
	    "701 690 0:32 /docker/0af3 /mnt/the\\040memory\\134 rw,nosuid master:11 - cgroup cgroup "
	    "rw,memory\n"
	    "702 690 0:36 /docker/other /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids\n");
	put("proc/self/cgroup", "8:pids:/docker/0af3\n4:memory:/docker/0af3/part\n");
	put("mnt/the memory\\/part/tasks", "");
	put("sys/fs/cgroup/pids/tasks", "");
	struct cgroup *c = create(&e, &r);
	assert_int_equal(r, 0);
	assert_int_equal(cgroup_controllers(c), CG_MEMORY);
	assert_file("mnt/the memory\\/part/" LEAF "/memory.limit_in_bytes", "268435456");
	cgroup_remove(c);
}

static void read_only_mounts(void **state)
{
	(void) state;
	struct err e;
	int r;
	put("proc/self/mountinfo",
	    "700 690 0:32 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate\n");
	put("proc/self/cgroup", "0::/\n");
	put("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
	assert_null(create(&e, &r));
	assert_int_equal(r, -ENOTSUP);
	assert_non_null(strstr(e.text, "/sys/fs/cgroup is mounted read-only"));
	assert_false(exists("sys/fs/cgroup/" LEAF));
}

static void no_cgroups(void **state)
{
	(void) state;
	struct err e;
	int r;
	put("proc/self/mountinfo", "22 27 0:21 / /proc rw,relatime - proc proc rw\n");
	put("proc/self/cgroup", "");
	assert_null(create(&e, &r));
	assert_int_equal(r, -ENOTSUP);
	put("proc/self/cgroup", "0::/user.slice\n");
	assert_null(create(&e, &r));
	assert_int_equal(r, -ENOTSUP);
	assert_non_null(strstr(e.text, "not mounted"));
}

/* A kernel that does not hold what was written is no limit: nothing stays behind, and the error says both
 * numbers. */
static int make_dir_weak(int dirfd, const char *name, mode_t mode)
{
	if (fake_make_dir(dirfd, name, mode) < 0)
		return -1;
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int file = openat(fd, "pids.max", O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(file, "641", 3), 3); /* "64" is written over it */
	close(file);
	close(fd);
	return 0;
}

static void weaker_than_asked_is_refused(void **state)
{
	(void) state;
	struct err e;
	int r;
	hybrid("/own");
	on->host.make_dir = make_dir_weak;
	assert_null(create(&e, &r));
	assert_int_equal(r, -EIO);
	assert_string_equal(e.text, "pids.max: 64 was written, the kernel says 641");
	assert_false(exists("sys/fs/cgroup/memory/own/" LEAF));
	assert_false(exists("sys/fs/cgroup/pids/" LEAF));
	assert_false(exists("sys/fs/cgroup/freezer/" LEAF));
}

static void unlimited_is_not_written(void **state)
{
	(void) state;
	struct err e;
	struct cgroup *c;
	uint64_t value;
	const char *by;
	struct policy p = limits(UNLIMITED, UNLIMITED, UNLIMITED);
	hybrid("/own");
	assert_int_equal(cgroup_create_on(&on->host, RUN, &p, &c, &e), 0);
	assert_file("sys/fs/cgroup/memory/own/" LEAF "/memory.limit_in_bytes", "");
	assert_file("sys/fs/cgroup/pids/" LEAF "/pids.max", "");
	assert_int_equal(cgroup_limit(c, CG_PIDS, &value, &by), -ENOENT);
	cgroup_remove(c);
}

static void sweeping(void **state)
{
	(void) state;
	hybrid("/own");
	put("sys/fs/cgroup/pids/" LEAF "/tasks", "");
	put("sys/fs/cgroup/pids/" LEAF "/below/tasks", "");
	put("sys/fs/cgroup/memory/own/" LEAF "/tasks", "");
	put("sys/fs/cgroup/memory/own/belljar-01J8ZQ4T9V3M5N7P2R6S8W0XYC/tasks", "");
	put("sys/fs/cgroup/pids/belljar-01J8ZQ4T9V3M5N7P2R6S8W0XYB/tasks", "");
	put("sys/fs/cgroup/pids/belljar-home/tasks", "");
	put("sys/fs/cgroup/pids/belljar-01j8zq4t9v3m5n7p2r6s8w0xyb/tasks", "");
	put("sys/fs/cgroup/pids/somebody-" RUN "/tasks", "");
	char path[PATH_MAX];
	at(path, "sys/fs/cgroup/pids/belljar-01J8ZQ4T9V3M5N7P2R6S8W0XYB");
	int living = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(living, LOCK_EX), 0);
	assert_int_equal(cgroup_sweep_on(&on->host), 2);
	assert_false(exists("sys/fs/cgroup/pids/" LEAF));
	assert_false(exists("sys/fs/cgroup/memory/own/" LEAF));
	assert_false(exists("sys/fs/cgroup/memory/own/belljar-01J8ZQ4T9V3M5N7P2R6S8W0XYC"));
	assert_true(exists("sys/fs/cgroup/pids/belljar-01J8ZQ4T9V3M5N7P2R6S8W0XYB"));
	assert_true(exists("sys/fs/cgroup/pids/belljar-home"));
	assert_true(exists("sys/fs/cgroup/pids/belljar-01j8zq4t9v3m5n7p2r6s8w0xyb"));
	assert_true(exists("sys/fs/cgroup/pids/somebody-" RUN));
	assert_int_equal(cgroup_sweep_on(&on->host), 0);
	close(living);
	assert_int_equal(cgroup_sweep_on(&on->host), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_MACHINE(v1_on_a_hybrid_host),
		ON_MACHINE(v1_counters),
		ON_MACHINE(v1_in_part),
		ON_MACHINE(v1_below_a_mount_root),
		ON_MACHINE(read_only_mounts),
		ON_MACHINE(no_cgroups),
		ON_MACHINE(weaker_than_asked_is_refused),
		ON_MACHINE(unlimited_is_not_written),
		ON_MACHINE(sweeping),
	};
	umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
