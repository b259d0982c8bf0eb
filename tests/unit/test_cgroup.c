/* SPDX-License-Identifier: MIT */
/*
 * Control groups. The choice, the files written and the counters read are tested on folders that look like
 * machines whose /proc and /sys/fs/cgroup were recorded; then a real group is made on this machine, where it
 * lets us.
 */
#include "core/base/base.h"
#include "core/confine/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define RUN "01J8ZQ4T9V3M5N7P2R6S8W0XYA"
#define LEAF CGROUP_PREFIX RUN

/* ---- a machine in a folder ---- */

struct machine {
	char path[64], proc[96], bus[96];
	struct cgroup_host host;
};
static struct machine *on; /* the callbacks below are given no argument of their own */

static void at(char path[PATH_MAX], const char *below)
{
	snprintf(path, PATH_MAX, "%s/%s", on->path, below);
}

static void put(const char *below, const char *text)
{
	char path[PATH_MAX];
	struct err e;
	at(path, below);
	*strrchr(path, '/') = '\0';
	assert_int_equal(dir_make_all(path, 0755, &e), 0);
	at(path, below);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void assert_file(const char *below, const char *text)
{
	char path[PATH_MAX], got[256];
	at(path, below);
	if (file_read_small(AT_FDCWD, path, got, sizeof got) < 0)
		fail_msg("%s is not there", below);
	assert_string_equal(got, text);
}

static bool exists(const char *below)
{
	char path[PATH_MAX];
	struct stat st;
	at(path, below);
	return stat(path, &st) == 0;
}

/* What a kernel puts into a new group: all the files of both versions, empty, so that what was written can
 * be seen. */
/* clang-format off */
static const char *const control_files[] = {
	"tasks", "cgroup.procs", "cgroup.freeze", "cgroup.subtree_control", "cgroup.kill",
	"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.swappiness", "memory.max",
	"memory.swap.max", "memory.oom.group", "pids.max", "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us",
	"freezer.state",
};
/* clang-format on */

static int fake_make_dir(int dirfd, const char *name, mode_t mode)
{
	if (mkdirat(dirfd, name, mode) < 0)
		return -1;
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(control_files); i++)
		close(openat(fd, control_files[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	close(fd);
	return 0;
}

static int fake_remove_dir(int dirfd, const char *name)
{
	struct err e;
	struct stat st;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return dir_remove_tree(dirfd, name, &e) < 0 ? -1 : 0;
}

static int asked;

static int fake_ask_refused(const struct cgroup_host *h, const char *name, struct err *e)
{
	(void) h, (void) name;
	asked++;
	return err_say(e, EACCES, "Interactive authentication required.");
}

/* The user's systemd puts us into a scope of its own below app.slice. */
#define USER_SERVICE "/user.slice/user-1000.slice/user@1000.service"
static int fake_ask_granted(const struct cgroup_host *h, const char *name, struct err *e)
{
	(void) h, (void) e;
	char path[256], text[256];
	asked++;
	assert_string_equal(name, LEAF);
	snprintf(text, sizeof text, "0::" USER_SERVICE "/app.slice/%s.scope\n", name);
	put("proc/self/cgroup", text);
	const char *files[][2] = { { "cgroup.controllers", "memory pids\n" },
				   { "cgroup.procs", "100\n" },
				   { "cgroup.subtree_control", "" },
				   { "cgroup.type", "domain\n" } };
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(path, sizeof path, "sys/fs/cgroup" USER_SERVICE "/app.slice/%s.scope/%s", name,
			 files[i][0]);
		put(path, files[i][1]);
	}
	return 0;
}

static int setup(void **state)
{
	struct machine *m = xcalloc(1, sizeof *m);
	on = m;
	asked = 0;
	strcpy(m->path, "/tmp/test_cgroup.XXXXXX");
	assert_non_null(mkdtemp(m->path));
	snprintf(m->proc, sizeof m->proc, "%s/proc", m->path);
	snprintf(m->bus, sizeof m->bus, "%s/bus", m->path);
	m->host = (struct cgroup_host){ .root = m->path,
					.proc = m->proc,
					.user_bus = m->bus,
					.make_dir = fake_make_dir,
					.remove_dir = fake_remove_dir,
					.ask_scope = fake_ask_refused };
	put("proc/self/stat", "100 (a) b) S 90 100 100 0 -1");
	put("proc/90/stat", "90 (bash) S 1 90 90 0 -1");
	put("proc/1/stat", "1 (init) S 0 1 1 0 -1");
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct machine *m = *state;
	struct err e;
	int r = dir_remove_tree(AT_FDCWD, m->path, &e);
	free(m);
	return r;
}

static void open_bus(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(a.sun_path, sizeof a.sun_path, "%s", on->bus);
	assert_int_equal(bind(fd, (struct sockaddr *) &a, sizeof a), 0);
	close(fd);
}

static struct policy limits(uint64_t memory, uint64_t processes, uint64_t cpus)
{
	struct policy p;
	memset(&p, 0, sizeof p);
	for (int i = 0; i < LIMIT_MAX; i++)
		p.limit[i] = UNLIMITED;
	p.limit[LIMIT_MEMORY] = memory;
	p.limit[LIMIT_PROCESSES] = processes;
	p.limit[LIMIT_CPUS] = cpus;
	return p;
}

static struct cgroup *create(struct err *e, int *ret)
{
	struct policy p = limits(256 << 20, 64, 1500);
	struct cgroup *c = NULL;
	*ret = cgroup_create_on(&on->host, RUN, &p, &c, e);
	return c;
}

static void assert_limit(const struct cgroup *c, enum cgroup_controller which, uint64_t value,
			 const char *mechanism)
{
	uint64_t got;
	const char *by;
	assert_int_equal(cgroup_limit(c, which, &got, &by), 0);
	assert_int_equal(got, value);
	assert_string_equal(by, mechanism);
}

/* ---- recorded machines ---- */

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
	    "cache 1\ninactive_file 7\ntotal_cache 4\ntotal_inactive_file 1048576\ntotal_active_file 0\n");
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

/* ---- version 2 ---- */

#define V2 "sys/fs/cgroup"
#define SESSION "/user.slice/user-1000.slice/session-2.scope"

static void v2_mount(const char *own)
{
	char text[512];
	put("proc/self/mountinfo", "26 23 0:24 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - "
				   "cgroup2 cgroup2 rw,nsdelegate\n");
	snprintf(text, sizeof text, "0::%s\n", own);
	put("proc/self/cgroup", text);
}

static void v2_group(const char *path, const char *controllers, const char *on_below, const char *procs)
{
	char file[PATH_MAX];
	snprintf(file, sizeof file, V2 "%s/cgroup.controllers", path), put(file, controllers);
	snprintf(file, sizeof file, V2 "%s/cgroup.subtree_control", path), put(file, on_below);
	snprintf(file, sizeof file, V2 "%s/cgroup.procs", path), put(file, procs);
	snprintf(file, sizeof file, V2 "%s/cgroup.type", path), put(file, "domain\n");
}

/* A container with its own cgroup namespace; the group holds nobody that is not ours, and the kernel lets
 * us. */
static void v2_own_group(void **state)
{
	(void) state;
	struct err e;
	int r;
	v2_mount("/");
	v2_group("", "cpuset cpu io memory pids\n", "", "90\n100\n");
	struct cgroup *c = create(&e, &r);
	assert_int_equal(r, 0);
	assert_int_equal(cgroup_kind(c), CGROUP_V2);
	assert_int_equal(cgroup_controllers(c), CG_MEMORY | CG_PIDS | CG_CPU | CG_FREEZE);
	assert_true(cgroup_clone_fd(c) >= 0);
	assert_file(V2 "/" CGROUP_HOME "/cgroup.procs", "90100"); /* one write(2) each: a folder keeps both */
	assert_file(V2 "/" LEAF "/memory.max", "268435456");
	assert_file(V2 "/" LEAF "/memory.swap.max", "0");
	assert_file(V2 "/" LEAF "/memory.oom.group", "1");
	assert_file(V2 "/" LEAF "/pids.max", "64");
	assert_file(V2 "/" LEAF "/cpu.max", "150000 100000");
	assert_limit(c, CG_MEMORY, 256 << 20, "cgroup v2 memory.max, swap 0");
	assert_limit(c, CG_CPU, 1500, "cgroup v2 cpu.max");
	assert_int_equal(cgroup_enter(c, &e), 0); /* born inside: nothing to write */
	assert_file(V2 "/" LEAF "/cgroup.procs", "");
	assert_int_equal(asked, 0);
	cgroup_remove(c);
	assert_false(exists(V2 "/" LEAF));
}

/* Somebody else in our own group is never moved, and a shell that started us only where there is no
 * session manager. */
static void v2_strangers_stay(void **state)
{
	(void) state;
	struct err e;
	int r;
	v2_mount("/");
	v2_group("", "memory pids\n", "", "90\n100\n0\n");
	assert_null(create(&e, &r));
	assert_int_equal(r, -ENOTSUP);
	assert_non_null(strstr(e.text, "1 processes that are not ours live in our own group"));
	v2_group("", "memory pids\n", "", "90\n100\n");
	open_bus();
	assert_null(create(&e, &r));
	assert_int_equal(r, -ENOTSUP);
	assert_int_equal(asked, 1);
	assert_false(exists(V2 "/" CGROUP_HOME));

	/* Our front end and another run's supervisor are belljar's, whoever started them. */
	const char *who[] = { "proc/self/exe", "proc/100/exe", "proc/90/exe" };
	const char *exe[] = { "/usr/bin/belljar", "/usr/bin/belljar", "/usr/bin/belljar-screens" };
	for (size_t i = 0; i < ARRAY_LEN(who); i++) {
		char path[PATH_MAX];
		put(who[i], "");
		at(path, who[i]);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(symlink(exe[i], path), 0);
	}
	struct cgroup *c = create(&e, &r);
	assert_int_equal(r, 0);
	assert_int_equal(cgroup_kind(c), CGROUP_V2);
	assert_file(V2 "/" CGROUP_HOME "/cgroup.procs", "90100");
	cgroup_remove(c);
}

/* The second run finds its starter in the leaf that the first one made, and goes beside it, not below. */
static void v2_from_home(void **state)
{
	(void) state;
	struct err e;
	int r;
	v2_mount("/x.service/" CGROUP_HOME);
	v2_group("/x.service", "memory pids\n", "memory pids\n", "");
	v2_group("/x.service/" CGROUP_HOME, "memory pids\n", "", "90\n100\n");
	struct cgroup *c = create(&e, &r);
	assert_int_equal(r, 0);
	assert_true(exists(V2 "/x.service/" LEAF));
	assert_int_equal(cgroup_controllers(c), CG_MEMORY | CG_PIDS | CG_FREEZE);
	assert_file(V2 "/x.service/cgroup.subtree_control", "memory pids");
	cgroup_remove(c);
}

static void v2_counters(void **state)
{
	(void) state;
	struct err e;
	struct cgroup_reading rd;
	int r;
	v2_mount("/");
	v2_group("", "memory pids\n", "memory pids\n", "");
	struct cgroup *c = create(&e, &r);
	assert_int_equal(r, 0);
	put(V2 "/" LEAF "/memory.current", "10485760\n");
	put(V2 "/" LEAF "/memory.stat", "anon 1\nfile 2\ninactive_file 485760\nactive_file 1\n");
	put(V2 "/" LEAF "/memory.peak", "20971520\n");
	put(V2 "/" LEAF "/memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 1\n");
	put(V2 "/" LEAF "/pids.current", "5\n");
	put(V2 "/" LEAF "/pids.events", "max 7\n");
	put(V2 "/" LEAF "/cpu.stat", "usage_usec 61000\nuser_usec 1\nnr_throttled 1\nthrottled_usec 250\n");
	cgroup_read(c, &rd);
	assert_int_equal(rd.memory, 10000000);
	assert_int_equal(rd.memory_peak, 20971520);
	assert_int_equal(rd.oom_kills, 1);
	assert_int_equal(rd.memory_failures, 12);
	assert_int_equal(rd.tasks, 5);
	assert_true(rd.tasks_peak == UNKNOWN_U64); /* before 6.1 */
	assert_int_equal(rd.fork_failures, 7);
	assert_int_equal(rd.cpu_ns, 61000000);
	assert_int_equal(rd.throttled_ns, 250000);
	cgroup_remove(c);
}

/*
 * A desktop session without delegation: own group is root's. Folders cannot show permissions to root, so what
 * is missing here is that the controllers reach it; the scope is asked for, and what it refuses is in the
 * reason.
 */
static void user_session(const char *controllers)
{
	v2_mount(SESSION);
	v2_group("", "cpu memory pids\n", "", "");
	v2_group("/user.slice", controllers, "", "");
	v2_group("/user.slice/user-1000.slice", controllers, "", "");
	v2_group(SESSION, controllers, "", "90\n100\n2001\n");
}

static void v2_scope_granted(void **state)
{
	(void) state;
	struct err e;
	int r;
	user_session("memory pids\n");
	open_bus();
	on->host.ask_scope = fake_ask_granted;
	struct cgroup *c = create(&e, &r);
	assert_int_equal(r, 0);
	assert_int_equal(asked, 1);
	assert_int_equal(cgroup_kind(c), CGROUP_V2_SCOPE);
	assert_int_equal(cgroup_controllers(c), CG_MEMORY | CG_PIDS | CG_FREEZE);
	/* The login session holds a stranger: it was left as it was. */
	assert_false(exists(V2 SESSION "/" CGROUP_HOME));
	assert_file(V2 SESSION "/cgroup.subtree_control", "");
#define SCOPE V2 USER_SERVICE "/app.slice/" LEAF ".scope/"
	assert_file(SCOPE "cgroup.subtree_control", "+memory +pids");
	assert_file(SCOPE CGROUP_HOME "/cgroup.procs", "100");
	assert_file(SCOPE LEAF "/memory.max", "268435456");
	cgroup_remove(c);
	assert_false(exists(SCOPE LEAF));
}

static void v2_scope_refused(void **state)
{
	(void) state;
	struct err e;
	int r;
	user_session("cpu\n");
	open_bus();
	assert_null(create(&e, &r));
	assert_int_equal(r, -ENOTSUP);
	assert_int_equal(asked, 1);
	assert_non_null(strstr(e.text, "Interactive authentication required."));
	assert_non_null(strstr(e.text, "is not given memory and pids"));
}

static void v2_no_bus_is_not_asked(void **state)
{
	(void) state;
	struct err e;
	int r;
	user_session("cpu\n");
	assert_null(create(&e, &r));
	assert_int_equal(r, -ENOTSUP);
	assert_int_equal(asked, 0);
	assert_non_null(strstr(e.text, "no user session's bus"));
}

/* root on a systemd host: its slice passes the controllers on. Nothing of it is changed. */
static void v2_outer_group(void **state)
{
	(void) state;
	struct err e;
	int r;
	v2_mount("/user.slice/user-0.slice/session-1.scope");
	v2_group("", "cpu memory pids\n", "cpu memory pids\n", "");
	v2_group("/user.slice", "cpu memory pids\n", "memory pids\n", "");
	v2_group("/user.slice/user-0.slice", "memory pids\n", "memory pids\n", "");
	v2_group("/user.slice/user-0.slice/session-1.scope", "", "", "90\n100\n4000\n");
	struct cgroup *c = create(&e, &r);
	assert_int_equal(r, 0);
	assert_int_equal(cgroup_kind(c), CGROUP_V2);
	assert_file(V2 "/user.slice/user-0.slice/" LEAF "/pids.max", "64");
	assert_file(V2 "/user.slice/user-0.slice/cgroup.subtree_control", "memory pids");
	cgroup_remove(c);
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

static bool alive(const char *run_id, void *arg)
{
	return strcmp(run_id, arg) == 0;
}

static void sweeping(void **state)
{
	(void) state;
	char living[] = "01J8ZQ4T9V3M5N7P2R6S8W0XYB";
	hybrid("/own");
	put("sys/fs/cgroup/pids/" LEAF "/tasks", "");
	put("sys/fs/cgroup/pids/" LEAF "/below/tasks", "");
	put("sys/fs/cgroup/memory/own/" LEAF "/tasks", "");
	put("sys/fs/cgroup/memory/own/belljar-01J8ZQ4T9V3M5N7P2R6S8W0XYC/tasks", "");
	put("sys/fs/cgroup/pids/belljar-01J8ZQ4T9V3M5N7P2R6S8W0XYB/tasks", "");
	put("sys/fs/cgroup/pids/belljar-home/tasks", "");
	put("sys/fs/cgroup/pids/belljar-01j8zq4t9v3m5n7p2r6s8w0xyb/tasks", "");
	put("sys/fs/cgroup/pids/somebody-" RUN "/tasks", "");
	assert_int_equal(cgroup_sweep_on(&on->host, alive, living), 2);
	assert_false(exists("sys/fs/cgroup/pids/" LEAF));
	assert_false(exists("sys/fs/cgroup/memory/own/" LEAF));
	assert_false(exists("sys/fs/cgroup/memory/own/belljar-01J8ZQ4T9V3M5N7P2R6S8W0XYC"));
	assert_true(exists("sys/fs/cgroup/pids/belljar-01J8ZQ4T9V3M5N7P2R6S8W0XYB"));
	assert_true(exists("sys/fs/cgroup/pids/belljar-home"));
	assert_true(exists("sys/fs/cgroup/pids/belljar-01j8zq4t9v3m5n7p2r6s8w0xyb"));
	assert_true(exists("sys/fs/cgroup/pids/somebody-" RUN));
	assert_int_equal(cgroup_sweep_on(&on->host, alive, living), 0);
}

static void sweeping_v2_looks_above(void **state)
{
	(void) state;
	char nobody[] = "";
	v2_mount("/a/b");
	v2_group("/a", "memory pids\n", "", "");
	v2_group("/a/b", "memory pids\n", "", "");
	put(V2 "/a/" LEAF "/cgroup.events", "populated 0\nfrozen 0\n");
	assert_int_equal(cgroup_sweep_on(&on->host, alive, nobody), 1);
	assert_false(exists(V2 "/a/" LEAF));
	assert_true(exists(V2 "/a/b"));
}

/* ---- this machine ---- */

struct real {
	struct cgroup *cgroup;
	int from_child;
};
/* Of this process alone, and no ULID: a belljar that is started meanwhile sweeps. */
static char real_run[CGROUP_ID_LEN + 1];

static struct real real_create(uint64_t memory, uint64_t processes)
{
	struct real t = { .cgroup = NULL };
	struct err e;
	struct policy p = limits(memory, processes, UNLIMITED);
	int r = cgroup_create(real_run, &p, &t.cgroup, &e);
	bool must = getenv("MUST_RUN") && strcmp(getenv("MUST_RUN"), "1") == 0;
	if (r == -ENOTSUP && must)
		fail_msg("%s", e.text);
	if (r == -ENOTSUP)
		skip();
	if (r < 0)
		fail_msg("%s", e.text);
	return t;
}

/* A child of the group: born inside where the kernel has that, else it enters by itself. */
static pid_t fork_inside(const struct cgroup *c)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	if (cgroup_clone_fd(c) < 0)
		return fork();
	args.flags = CLONE_INTO_CGROUP;
	args.cgroup = (uint64_t) cgroup_clone_fd(c);
	return (pid_t) syscall(SYS_clone3, &args, sizeof args);
}

/* Runs `inside` in a child of the group; what it returns is the status. */
static pid_t enter(struct real *t, int (*inside)(int to_parent))
{
	int fds[2];
	struct err e;
	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork_inside(t->cgroup);
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fds[0]);
		_exit(cgroup_enter(t->cgroup, &e) < 0 ? 99 : inside(fds[1]));
	}
	close(fds[1]);
	t->from_child = fds[0];
	return pid;
}

static int wait_status(pid_t pid)
{
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void assert_removed(struct real *t)
{
	char text[PATH_MAX];
	struct err e;
	struct cgroup_map m;
	assert_null(cgroup_remove(t->cgroup));
	assert_int_equal(cgroup_find(&cgroup_this_host, &m, &e), 0);
	for (size_t i = 0; i < m.count; i++) {
		struct stat st;
		if (cgroup_dir(&cgroup_this_host, &m.of[i], text, &e) < 0)
			continue;
		strncat(text, "/" CGROUP_PREFIX, sizeof text - strlen(text) - 1);
		strncat(text, real_run, sizeof text - strlen(text) - 1);
		assert_int_equal(stat(text, &st), -1);
	}
	cgroup_map_done(&m);
}

static int flood(int to_parent)
{
	char many = 0;
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();
		if (pid == 0)
			for (;;)
				pause();
		if (pid < 0)
			break;
		many++;
	}
	return write(to_parent, &many, 1) == 1 ? 0 : 1;
}

static void real_processes(void **state)
{
	(void) state;
	struct real t = real_create(64 << 20, 8);
	struct cgroup_reading rd;
	char many = 0;
	if (!(cgroup_controllers(t.cgroup) & CG_PIDS)) {
		cgroup_remove(t.cgroup);
		skip();
	}
	assert_limit(t.cgroup, CG_PIDS, 8,
		     cgroup_kind(t.cgroup) == CGROUP_V1 ? "cgroup v1 pids.max" : "cgroup v2 pids.max");
	pid_t pid = enter(&t, flood);
	assert_int_equal(read(t.from_child, &many, 1), 1);
	close(t.from_child);
	assert_int_equal(many, 7);
	assert_int_equal(wait_status(pid), 0);
	cgroup_read(t.cgroup, &rd);
	assert_int_equal(rd.tasks, 7);
	assert_int_equal(rd.fork_failures, 1);
	assert_true(rd.tasks_peak == 8 || rd.tasks_peak == UNKNOWN_U64);
	assert_int_equal(cgroup_kill(t.cgroup), 0); /* the seven that outlived their parent */
	assert_removed(&t);
}

static int hoard(int to_parent)
{
	(void) to_parent;
	size_t size = 256 << 20;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < size; i += 4096)
		p[i] = 1;
	return 0;
}

static void real_memory(void **state)
{
	(void) state;
	struct real t = real_create(64 << 20, 8);
	struct cgroup_reading rd;
	if (!(cgroup_controllers(t.cgroup) & CG_MEMORY)) {
		cgroup_remove(t.cgroup);
		skip();
	}
	int status = wait_status(enter(&t, hoard));
	close(t.from_child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	cgroup_read(t.cgroup, &rd);
	assert_true(rd.oom_kills >= 1 && rd.oom_kills != UNKNOWN_U64);
	assert_true(rd.memory_failures > 0); /* or unknown: some kernels stopped counting */
	assert_true(rd.memory_peak == UNKNOWN_U64 ||
		    (rd.memory_peak > 60 << 20 && rd.memory_peak <= 64 << 20));
	assert_removed(&t);
}

static int count_up(int to_parent)
{
	for (;;)
		if (write(to_parent, "x", 1) != 1)
			return 1;
}

/* A frozen writer fills the pipe no further: drained once, it stays empty until it is thawed. */
static void real_freezing(void **state)
{
	(void) state;
	struct real t = real_create(64 << 20, 8);
	struct err e;
	char space[1 << 16];
	if (!(cgroup_controllers(t.cgroup) & CG_FREEZE)) {
		cgroup_remove(t.cgroup);
		skip();
	}
	pid_t pid = enter(&t, count_up);
	assert_true(read(t.from_child, space, 1) == 1);
	assert_int_equal(cgroup_freeze(t.cgroup, true, &e), 0);
	assert_int_equal(fcntl(t.from_child, F_SETFL, O_NONBLOCK), 0);
	while (read(t.from_child, space, sizeof space) > 0)
		;
	assert_int_equal(read(t.from_child, space, 1), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(cgroup_freeze(t.cgroup, false, &e), 0);
	assert_int_equal(fcntl(t.from_child, F_SETFL, 0), 0);
	assert_int_equal(read(t.from_child, space, 1), 1);

	/* Removing kills what still runs, frozen or not. */
	assert_int_equal(cgroup_freeze(t.cgroup, true, &e), 0);
	assert_removed(&t);
	assert_true(WIFSIGNALED(wait_status(pid)));
	close(t.from_child);
}

static void real_sweep_of_one_run(void **state)
{
	(void) state;
	struct real t = real_create(64 << 20, 8);
	pid_t pid = enter(&t, count_up);
	char one;
	assert_int_equal(read(t.from_child, &one, 1), 1);
	cgroup_sweep_run(real_run); /* as if we were somebody else, who finds it */
	assert_int_equal(WTERMSIG(wait_status(pid)), SIGKILL);
	close(t.from_child);
	assert_removed(&t);
}

/* A test that failed half way must not leave processes behind. */
static int sweep_up(void **state)
{
	(void) state;
	cgroup_sweep_run(real_run);
	return 0;
}

#define ON_MACHINE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_MACHINE(v1_on_a_hybrid_host),
		ON_MACHINE(v1_counters),
		ON_MACHINE(v1_in_part),
		ON_MACHINE(v1_below_a_mount_root),
		ON_MACHINE(read_only_mounts),
		ON_MACHINE(no_cgroups),
		ON_MACHINE(v2_own_group),
		ON_MACHINE(v2_strangers_stay),
		ON_MACHINE(v2_from_home),
		ON_MACHINE(v2_counters),
		ON_MACHINE(v2_scope_granted),
		ON_MACHINE(v2_scope_refused),
		ON_MACHINE(v2_no_bus_is_not_asked),
		ON_MACHINE(v2_outer_group),
		ON_MACHINE(weaker_than_asked_is_refused),
		ON_MACHINE(unlimited_is_not_written),
		ON_MACHINE(sweeping),
		ON_MACHINE(sweeping_v2_looks_above),
		cmocka_unit_test_teardown(real_processes, sweep_up),
		cmocka_unit_test_teardown(real_memory, sweep_up),
		cmocka_unit_test_teardown(real_freezing, sweep_up),
		cmocka_unit_test_teardown(real_sweep_of_one_run, sweep_up),
	};
	umask(022);
	snprintf(real_run, sizeof real_run, "test%022d", (int) getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
