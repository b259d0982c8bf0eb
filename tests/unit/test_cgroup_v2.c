/* SPDX-License-Identifier: MIT */
/*
 * Control groups of version 2, on recorded machines: a group of our own, strangers in it, a user's session
 * with and without delegation, root's slice.
 */
#include "tests/unit/cgroup_machine.h"

#include <sys/socket.h>
#include <sys/un.h>

static void open_bus(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(a.sun_path, sizeof a.sun_path, "%s", on->bus);
	assert_int_equal(bind(fd, (struct sockaddr *) &a, sizeof a), 0);
	close(fd);
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

#define V2      "sys/fs/cgroup"
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
	const char *files[][2] = { { "cgroup.controllers", controllers },
				   { "cgroup.subtree_control", on_below },
				   { "cgroup.procs", procs },
				   { "cgroup.type", "domain\n" } };
	char file[256];
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(file, sizeof file, V2 "%s/%s", path, files[i][0]);
		put(file, files[i][1]);
	}
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
	put(V2 "/" LEAF "/memory.stat", "anon 1\nfile 2\ninactive_file 485760\nactive_file 1\n"
					"workingset_activate_file 92\n");
	put(V2 "/" LEAF "/memory.peak", "20971520\n");
	put(V2 "/" LEAF "/memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 1\n");
	put(V2 "/" LEAF "/pids.current", "5\n");
	put(V2 "/" LEAF "/pids.events", "max 7\n");
	put(V2 "/" LEAF "/cpu.stat", "usage_usec 61000\nuser_usec 1\nnr_throttled 1\nthrottled_usec 250\n");
	cgroup_read(c, &rd);
	assert_int_equal(rd.memory, 10000000);
	assert_int_equal(rd.memory_thrashed, 92);
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

/* A busctl of our own in front of the machine's: what it is asked, and what becomes of its words. */
static void fake_busctl(const char *script)
{
	char path[PATH_MAX];
	FREE char *text = xprintf("#!/bin/sh\ncd '%s'\n%s\n", on->path, script);
	put("bin/busctl", text);
	at(path, "bin/busctl");
	assert_int_equal(chmod(path, 0755), 0);
	at(path, "bin");
	FREE char *all = xprintf("%s:/usr/bin:/bin", path);
	assert_int_equal(setenv("PATH", all, 1), 0);
}

static void scope_by_busctl(void **state)
{
	(void) state;
	struct err e;
	char path[PATH_MAX], expected[512];
	FREE char *before = xstrdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
	put("proc/self/cgroup", "0::" SESSION "\n");
	fake_busctl("echo \"$*\" >asked; echo 'o \"/org/freedesktop/systemd1/job/7\"'\n"
		    "echo '0::/user.slice/app.slice/" LEAF ".scope' >proc/self/cgroup");
	int granted = cgroup_ask_scope(&on->host, LEAF, &e);
	fake_busctl("echo 'Call failed: Access denied' >&2; echo more >&2; exit 1");
	int refused = cgroup_ask_scope(&on->host, LEAF, &e);
	setenv("PATH", before, 1);
	assert_int_equal(granted, 0);
	assert_int_equal(refused, -ECONNREFUSED);
	assert_string_equal(e.text, "Call failed: Access denied");
	snprintf(expected, sizeof expected,
		 "--user --timeout=2 call org.freedesktop.systemd1 /org/freedesktop/systemd1 "
		 "org.freedesktop.systemd1.Manager StartTransientUnit ssa(sv)a(sa(sv)) " LEAF ".scope fail 4 "
		 "Description s a run of belljar Delegate b true CollectMode s inactive-or-failed "
		 "PIDs au 1 %d 0",
		 (int) getpid());
	at(path, "asked");
	FREE char *got = NULL;
	assert_int_equal(file_read(AT_FDCWD, path, 1024, &got, NULL, &e), 0);
	got[strcspn(got, "\n")] = '\0';
	assert_string_equal(got, expected);
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

static void sweeping_v2_looks_above(void **state)
{
	(void) state;
	v2_mount("/a/b");
	v2_group("/a", "memory pids\n", "", "");
	v2_group("/a/b", "memory pids\n", "", "");
	put(V2 "/a/" LEAF "/cgroup.events", "populated 0\nfrozen 0\n");
	assert_int_equal(cgroup_sweep_on(&on->host), 1);
	assert_false(exists(V2 "/a/" LEAF));
	assert_true(exists(V2 "/a/b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_MACHINE(v2_own_group),           ON_MACHINE(v2_strangers_stay),
		ON_MACHINE(v2_from_home),           ON_MACHINE(v2_counters),
		ON_MACHINE(v2_scope_granted),       ON_MACHINE(v2_scope_refused),
		ON_MACHINE(v2_no_bus_is_not_asked), ON_MACHINE(scope_by_busctl),
		ON_MACHINE(v2_outer_group),         ON_MACHINE(sweeping_v2_looks_above),
	};
	umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
