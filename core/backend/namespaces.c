/* SPDX-License-Identifier: MIT */
/*
 * The `namespaces` level: own view of files, processes, network, ids and names on the host's kernel. Written down here:
 * what the view holds. How it is put in force stands in core/confine. See namespaces(7).
 */
#include "core/backend/child.h"
#include "core/backend/stage.h"

#include "core/base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/sched.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)
#define INSIDE_UID 1000
#define INSIDE_HOME "/home/user"

static const char passwd_text[] =
    "root:x:0:0:root:/root:/usr/sbin/nologin\n"
    "user:x:1000:1000:user:" INSIDE_HOME ":/bin/sh\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
static const char group_text[] = "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n";
static const char nsswitch_text[] =
    "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\nprotocols: files\n";
static const char hosts_text[] = "127.0.0.1 localhost belljar\n::1 localhost ip6-localhost\n";

/* Of the host's /etc, what programs below /usr cannot do without, and nothing that is this machine's own. */
static const char *const etc_shared[] = {
	"alternatives", "ca-certificates", "fonts", "groff", "java", "java-*", "ld.so.cache", "locale.alias", "localtime",
	"magic", "maven", "mime.types", "perl", "pki/ca-trust", "pki/java", "pki/tls/certs", "protocols", "python3*", "services",
	"ssl/certs", "ssl/openssl.cnf", "timezone", NULL,
};
static const char *const usr_links[] = { "bin", "sbin", "lib", "lib32", "lib64", "libx32", NULL };
static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty", NULL };
static const char *const dev_links[][2] = { { "/proc/self/fd", "/dev/fd" }, { "/proc/self/fd/0", "/dev/stdin" },
	{ "/proc/self/fd/1", "/dev/stdout" }, { "/proc/self/fd/2", "/dev/stderr" } };

/* A host path at the same place in the view: links as links, the rest as it is, read-only. */
static void show_same(struct mount_plan *m, const char *path)
{
	char link[PATH_MAX];
	ssize_t n = readlink(path, link, sizeof(link) - 1);
	if (n > 0) {
		link[n] = 0;
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_LINK, .source = link, .dest = path });
	} else if (access(path, F_OK) == 0) {
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_BIND, .source = path, .dest = path });
	}
}

static void show_etc(struct mount_plan *m)
{
	char path[PATH_MAX];
	bool wild = false;
	for (const char *const *name = etc_shared; *name; name++) {
		wild |= strchr(*name, '*') != NULL;
		snprintf(path, sizeof(path), "/etc/%s", *name);
		if (!strchr(*name, '*'))
			show_same(m, path);
	}
	DIR *dir = wild ? opendir("/etc") : NULL;
	for (struct dirent *d; dir && (d = readdir(dir)); )
		for (const char *const *name = etc_shared; *name; name++)
			if (strchr(*name, '*') && fnmatch(*name, d->d_name, 0) == 0) {
				snprintf(path, sizeof(path), "/etc/%s", d->d_name);
				show_same(m, path);
			}
	if (dir)
		closedir(dir);
	const struct { const char *dest, *text; } files[] = { { "/etc/passwd", passwd_text }, { "/etc/group", group_text },
		{ "/etc/nsswitch.conf", nsswitch_text }, { "/etc/hosts", hosts_text }, { "/etc/hostname", "belljar\n" } };
	for (size_t k = 0; k < ARRAY_LEN(files); k++)
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_FILE, .dest = files[k].dest,
			.data = files[k].text, .len = strlen(files[k].text), .mode = 0444 });
}

static void show_dev(struct mount_plan *m)
{
	char path[32];
	for (const char *const *d = devices; *d; d++) {
		snprintf(path, sizeof(path), "/dev/%s", *d);
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_DEVICE, .source = path, .dest = path });
	}
	for (size_t k = 0; k < ARRAY_LEN(dev_links); k++)
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_LINK, .source = dev_links[k][0],
			.dest = dev_links[k][1] });
	mount_plan_add(m, (struct mount_op) { .kind = MOUNT_WORK, .dest = "/dev/shm", .mode = 01777 });
}

static void add_work(struct mount_plan *m, const char *dest, mode_t mode)
{
	for (size_t k = 0; k < m->count; k++)
		if (strcmp(m->ops[k].dest, dest) == 0)
			return;
	mount_plan_add(m, (struct mount_op) { .kind = MOUNT_WORK, .dest = dest, .mode = mode });
}

/* An overlay needs every file of the project to belong to an id that the run knows: the person's own project. As root
 * the target is another id; there, and where the kernel has no overlay for ordinary users, the project is copied. */
static bool project_by_overlay(const struct launch *l)
{
	struct stat st;
	char fs[4096];
	return stat(l->project_dir, &st) == 0 && st.st_uid == target_uid(l) &&
		file_read_small(AT_FDCWD, "/proc/filesystems", fs, sizeof(fs)) > 0 && strstr(fs, "\toverlay\n");
}

static void show_inputs(struct mount_plan *m, const struct launch *l)
{
	for (size_t k = 0; k < l->input_count; k++) {
		const struct launch_bind *b = &l->inputs[k];
		struct stat st;
		const char *base = strrchr(b->source, '/');
		bool folder = stat(b->source, &st) == 0 && S_ISDIR(st.st_mode);
		FREE char *dest = b->dest ? xstrdup(b->dest) :
			folder && l->input_count == 1 ? xstrdup("/data") : xprintf("/data/%s", base ? base + 1 : b->source);
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_BIND, .source = b->source, .dest = dest });
	}
}

static void view_plan(struct mount_plan *m, const struct launch *l, const char *code_path)
{
	const struct policy *p = l->policy;
	*m = (struct mount_plan) { .space = p->limit[LIMIT_SPACE], .inodes = p->limit[LIMIT_INODES] };
	mount_plan_add(m, (struct mount_op) { .kind = MOUNT_BIND, .source = "/usr", .dest = "/usr" });
	for (const char *const *name = usr_links; *name; name++) {
		char path[16];
		snprintf(path, sizeof(path), "/%s", *name);
		show_same(m, path);
	}
	show_etc(m);
	show_dev(m);
	mount_plan_add(m, (struct mount_op) { .kind = MOUNT_PROC, .dest = "/proc" });
	mount_plan_add(m, (struct mount_op) { .kind = MOUNT_DIR, .dest = "/run", .mode = 0755 });
	mount_plan_add(m, (struct mount_op) { .kind = MOUNT_LINK, .source = "/tmp", .dest = "/var/tmp" });
	if (l->project_dir && project_by_overlay(l))
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_OVERLAY, .source = l->project_dir, .dest = "/workspace",
			.mode = 0755 });
	for (char **w = p->writable; w && *w; w++)
		add_work(m, *w, strcmp(*w, "/tmp") == 0 ? 01777 : 0755);
	add_work(m, "/tmp", 01777);
	add_work(m, "/workspace", 0755);
	add_work(m, INSIDE_HOME, 0700);
	if (l->output_dir)
		add_work(m, "/out", 0755);
	for (char **r = p->read_only; r && *r; r++)
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_BIND, .source = *r, .dest = *r });
	show_inputs(m, l);
	if (code_path)
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_WRITE, .dest = code_path, .data = l->code,
			.len = l->code_len, .mode = 0644 });
	mount_plan_add(m, (struct mount_op) { .kind = MOUNT_READ_ONLY, .dest = "/" });
}

/* What Landlock allows repeats the mounts: a hole in one is not a hole in both. */
static void landlock_plan(struct landlock_rules *r, const struct mount_plan *m, const struct policy *p)
{
	*r = (struct landlock_rules) { .scopes = p->network == NETWORK_NONE };
	r->read = strv_add(NULL, "/");
	r->write = strv_add(strv_add(NULL, "/dev"), "/proc"); /* their own modes and mounts say what may be written */
	for (size_t k = 0; k < m->count; k++)
		if (m->ops[k].kind == MOUNT_WORK || m->ops[k].kind == MOUNT_OVERLAY)
			r->write = strv_add(r->write, m->ops[k].dest);
}

static int open_inside(const struct instance *i, const char *below, int *ret_fd, struct err *e)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/root/%s", i->target_pid, below);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_set(e, errno, "open /%s of the view", below);
	*ret_fd = fd;
	return 0;
}

/* The supervisor's hold on the view: to measure it while the run lives, to collect from it when the run is gone. */
static int view_hold(struct instance *i, bool overlay, struct err *e)
{
	const struct launch *l = i->launch;
	int r;
	if ((r = open_inside(i, "", &i->root_dirfd, e)) < 0 || (r = open_inside(i, "proc", &i->proc_dirfd, e)) < 0 ||
	    (r = open_inside(i, "tmp", &i->space_dirfd, e)) < 0 ||
	    (l->output_dir && (r = open_inside(i, "out", &i->output_dirfd, e)) < 0))
		return r;
	if (!l->project_dir)
		return 0;
	if (overlay)
		return open_inside(i, ".project/upper", &i->upper_dirfd, e);
	uid_t owner = target_uid(l) != geteuid() ? target_uid(l) : (uid_t) -1;
	struct stage_want want = { .uid = owner, .gid = owner, .links = true, .max_bytes = l->policy->limit[LIMIT_SPACE],
		.max_files = l->policy->limit[LIMIT_INODES] };
	CLOSE_FD int workspace = -1;
	if ((r = open_inside(i, "workspace", &workspace, e)) < 0)
		return r;
	return stage_copy_in(l->project_dir, workspace, NULL, &want, NULL, e);
}

static void layers_say(struct instance *i, const struct landlock_rules *rules)
{
	const struct policy *p = i->launch->policy;
	bool net = p->network == NETWORK_NONE;
	instance_layer(i, "mount-ns", STATE_ON, "entered by pivot_root before the start",
	    "read-only view of /usr; fresh /workspace, /tmp and home on one sized tmpfs; host files hidden");
	instance_layer(i, "pid-ns", STATE_ON, "own /proc", "own processes only; all end with process 1");
	instance_layer(i, "net-ns", net ? STATE_ON : STATE_OFF, net ? "own namespace" : "",
	    net ? "only its own loopback" : "the preset gives it the host's network");
	instance_layer(i, "user-ns", STATE_ON, "uid_map written", "uid 1000 inside, %u on the host; nested ones refused",
	    target_uid(i->launch));
	int abi = landlock_abi();
	instance_layer(i, "landlock", abi == 0 ? STATE_UNAVAILABLE : abi < 6 ? STATE_PARTIAL : STATE_ON,
	    abi ? "landlock_restrict_self succeeded" : "", "%s", abi == 0 ? "not in this kernel; the mounts stand alone" :
	    abi < 6 || !rules->scopes ? "files" : "files, abstract sockets, signals; TCP is left to the net namespace");
}

static int namespaces_confine(struct instance *i, struct mount_plan *m, const struct seccomp_program *filter,
    struct ladder *ladder, struct err *e)
{
	const struct policy *p = i->launch->policy;
	struct landlock_rules rules;
	landlock_plan(&rules, m, p);
	struct confinement c = {
		.clone_flags = NAMESPACES | (p->network == NETWORK_NONE ? CLONE_NEWNET : 0),
		.host_uid = target_uid(i->launch), .inside_uid = INSIDE_UID,
		.cgroup = i->cgroup, .mounts = m, .hostname = "belljar", .cwd = "/workspace", .landlock = &rules,
		.rlimits = ladder->rlimits, .rlimit_count = ladder->rlimit_count, .cpu_count = ladder->cpu_count,
		.shm_max = p->limit[LIMIT_MEMORY], .filter = filter, .listener = i->want.watch != 0,
		.argv = i->argv, .env = i->env,
	};
	int r = child_start(i, &c, e);
	if (r >= 0)
		layers_say(i, &rules);
	strv_free(rules.read);
	strv_free(rules.write);
	return r;
}

static int namespaces_start(const struct launch *l, struct instance *ret, struct err *e)
{
	struct instance *i = ret;
	struct seccomp_program filter = { 0 };
	struct mount_plan m = { 0 };
	struct ladder ladder;
	FREE char *code_path = NULL;
	const struct target_places at = { .code_dir = l->project_dir ? "/tmp" : "/workspace", .cwd = "/workspace",
		.home = INSIDE_HOME, .tmp = "/tmp", .user = "user" };
	int r;
	if (strcmp(l->policy->root, "host-usr") != 0)
		return err_say(e, ENOTSUP, "root = %s: at this level this version shows the host's /usr only (root = host-usr); "
		    "more of the host can be added with read_only =", l->policy->root);
	if ((r = target_uid_check(l, e)) < 0 || (r = command_build(i, &at, &code_path, e)) < 0 || (r = ladder_cgroup(i, 1, e)) < 0)
		return r;
	ladder_build(i, true, true, &ladder);
	i->want.watch = watch_for(i, false);
	i->want.memory_max = l->policy->limit[LIMIT_MEMORY];
	i->network = l->policy->network == NETWORK_NONE ?
		(struct network_view) { OUTCOME_UNREACHABLE, LAYER_NET_NS, true, true } :
		(struct network_view) { OUTCOME_UNKNOWN, LAYER_NONE, false, false };
	view_plan(&m, l, code_path);
	if ((r = seccomp_compile(&i->want, &filter, e)) >= 0 && (r = mount_plan_open(&m, e)) >= 0 &&
	    (r = namespaces_confine(i, &m, &filter, &ladder, e)) >= 0 &&
	    (r = view_hold(i, l->project_dir && project_by_overlay(l), e)) >= 0 && (r = ladder_verify(i, e)) >= 0)
		r = layers_verify(i, &filter, e);
	seccomp_program_done(&filter);
	mount_plan_done(&m);
	return r;
}

static int namespaces_probe(struct err *e)
{
	/* The very thing: a child in all of them, its ids mapped. */
	struct clone_args args = { .flags = NAMESPACES | CLONE_NEWNET, .exit_signal = SIGCHLD };
	pid_t pid = (pid_t) syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		pause();
		_exit(0);
	}
	if (pid < 0)
		return err_set(e, errno, "create namespaces");
	int r = confine_map_ids(pid, INSIDE_UID, geteuid(), e);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return r;
}

const struct backend backend_namespaces = {
	.name = "namespaces",
	.summary = "own view of files, processes and network; the host's kernel",
	.probe = namespaces_probe,
	.start = namespaces_start,
	.stop = child_stop,
	.pause = child_pause,
	.collect = stage_collect,
	.end = child_end,
	.done = instance_done,
};
