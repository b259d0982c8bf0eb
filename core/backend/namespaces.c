/* SPDX-License-Identifier: MIT */
/*
 * The `namespaces` level: own view of files, processes, network, ids and names on the host's kernel. What the view
 * holds is planned in view.c; how it is put in force stands in core/confine. See namespaces(7).
 */
#include "core/backend/child.h"
#include "core/backend/stage.h"
#include "core/backend/terminal.h"
#include "core/backend/view.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS)
#define INSIDE_UID 1000

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

int project_place(struct instance *i, const struct launch *l, struct err *e)
{
	uid_t owner = target_uid(l) != geteuid() ? target_uid(l) : (uid_t) -1;
	struct stage_want want = { .uid = owner,
				   .gid = owner,
				   .links = true,
				   .max_bytes = l->policy->limit[LIMIT_SPACE],
				   .max_files = l->policy->limit[LIMIT_INODES] };
	int r = open_inside(i, "workspace", &i->project_dirfd, e);
	return r < 0 ? r : stage_copy_in(l->project_dir, i->project_dirfd, NULL, &want, NULL, e);
}

/* The supervisor's hold on the view: to measure it while the run lives, to collect from it when the run is gone. */
static int view_hold(struct instance *i, bool overlay, struct err *e)
{
	const struct launch *l = i->launch;
	int r;
	if ((r = open_inside(i, "", &i->root_dirfd, e)) < 0 ||
	    (r = open_inside(i, "proc", &i->proc_dirfd, e)) < 0 ||
	    (r = open_inside(i, "tmp", &i->space_dirfd, e)) < 0 ||
	    (l->output_dir && (r = open_inside(i, "out", &i->output_dirfd, e)) < 0))
		return r;
	if (!l->project_dir)
		return 0;
	if (overlay)
		return open_inside(i, ".project/upper", &i->upper_dirfd, e);
	return project_place(i, l, e);
}

static void layers_say(struct instance *i, const struct landlock_rules *rules)
{
	const struct policy *p = i->launch->policy;
	bool net = p->network == NETWORK_NONE;
	instance_layer(
		i, "mount-ns", STATE_ON, "entered by pivot_root before the start",
		"read-only view of %s; fresh /workspace, /tmp and home on one sized tmpfs; host files hidden",
		strcmp(p->root, "host-usr") == 0 ? "/usr" : p->root);
	instance_layer(i, "pid-ns", STATE_ON, "own /proc", "own processes only; all end with process 1");
	instance_layer(i, "net-ns", net ? STATE_ON : STATE_OFF, net ? "own namespace" : "",
		       net ? "only its own loopback" : "the preset gives it the host's network");
	instance_layer(i, "user-ns", STATE_ON, "uid_map written",
		       "uid 1000 inside, %u outside; nested ones refused", i->target_uid);
	int abi = landlock_abi();
	instance_layer(i, "landlock",
		       abi == 0  ? STATE_UNAVAILABLE
		       : abi < 6 ? STATE_PARTIAL
				 : STATE_ON,
		       abi ? "landlock_restrict_self succeeded" : "", "%s",
		       abi == 0 ? "not in this kernel; the mounts stand alone"
		       : abi < 6 || !rules->keep_sockets
			       ? "files"
			       : "files, abstract sockets, signals; TCP is left to the net namespace");
}

static int namespaces_confine(struct instance *i, struct mount_plan *m, const struct seccomp_program *filter,
			      struct ladder *ladder, struct err *e)
{
	const struct policy *p = i->launch->policy;
	struct landlock_rules rules;
	view_landlock(&rules, m, p);
	terminal_landlock(i, &rules);
	struct confinement c = {
		.clone_flags = NAMESPACES | (p->network == NETWORK_NONE ? CLONE_NEWNET : 0),
		.host_uid = target_uid(i->launch),
		.host_gid = target_gid(i->launch),
		.inside_uid = INSIDE_UID,
		.cgroup = i->cgroup,
		.mounts = m,
		.hostname = "belljar",
		.cwd = "/workspace",
		.landlock = &rules,
		.rlimits = ladder->rlimits,
		.rlimit_count = ladder->rlimit_count,
		.cpu_count = ladder->cpu_count,
		.filter = filter,
		.listener = i->want.watch != 0,
		.count_tasks = !(cgroup_controllers(i->cgroup) & CG_PIDS),
		.argv = i->argv,
		.env = i->env,
	};
	int r = child_start(i, &c, e);
	if (r >= 0)
		layers_say(i, &rules);
	strv_free(rules.read);
	strv_free(rules.write);
	strv_free(rules.control);
	mount_plan_done(m); /* while the child carries out its copy: closing them all takes a while */
	return r < 0 ? r : child_await(i, e);
}

static int namespaces_start(const struct launch *l, struct instance *ret, struct err *e)
{
	struct instance *i = ret;
	struct seccomp_program filter = { 0 };
	struct mount_plan m = { 0 };
	struct ladder ladder;
	FREE char *code_path = NULL;
	const struct target_places at = { .code_dir = l->project_dir ? "/tmp" : "/workspace",
					  .cwd = "/workspace",
					  .home = VIEW_HOME,
					  .tmp = "/tmp",
					  .user = "user" };
	int r;
	if ((r = view_root_check(l->policy, e)) < 0)
		return r;
	if ((r = target_uid_check(l, e)) < 0 || (r = terminal_open(i, e)) < 0 ||
	    (r = command_build(i, &at, &code_path, e)) < 0 || (r = ladder_cgroup(i, 1, e)) < 0)
		return r;
	ladder_build(i, true, true, &ladder);
	i->want.watch = watch_for(i, false);
	i->want.memory_max = l->policy->limit[LIMIT_MEMORY];
	i->network = l->policy->network == NETWORK_NONE
			     ? (struct network_view){ OUTCOME_UNREACHABLE, LAYER_NET_NS, true, true }
			     : (struct network_view){ OUTCOME_UNKNOWN, LAYER_NONE, false, false };
	if ((r = view_plan(&m, l, code_path, &i->canary, e)) >= 0)
		terminal_show(i, &m);
	if (r >= 0 && (r = seccomp_compile(&i->want, &filter, e)) >= 0 && (r = mount_plan_open(&m, e)) >= 0 &&
	    (r = namespaces_confine(i, &m, &filter, &ladder, e)) >= 0 &&
	    (r = view_hold(i, l->project_dir && view_project_by_overlay(l), e)) >= 0 &&
	    (r = ladder_verify(i, e)) >= 0)
		r = layers_verify(i, &filter, e);
	seccomp_program_done(&filter);
	mount_plan_done(&m);
	return r;
}

/* clang-format off */
static const enum need needs[] = {
	NEED_CLONE3, NEED_USERNS, NEED_NAMESPACES, NEED_NETNS, NEED_MOUNTS, NEED_PROC, NEED_NO_NEW_PRIVS, NEED_FILTER,
	NEED_NOTIFICATIONS, NEED_ONE_LISTENER, NEED_TAKE_FD_USERNS, NEED_KEYRING, NEED_STATE, NEED_START, NEED_MAX,
};
static const enum need weaker_without[] = {
	NEED_CGROUP_MEMORY, NEED_CGROUP_CPU, NEED_OVERLAY, NEED_READ_MEMORY, NEED_WAIT_KILLABLE, NEED_SYNC_WAKE_UP,
	NEED_LANDLOCK, NEED_STATE_ROOM, NEED_PYTHON, NEED_MAX,
};
/* clang-format on */

const struct backend backend_namespaces = {
	.name = "namespaces",
	.summary = "own view of files, processes and network; the host's kernel",
	.needs = needs,
	.weaker_without = weaker_without,
	.start = namespaces_start,
	.release = child_release,
	.stop = child_stop,
	.pause = child_pause,
	.collect = stage_collect,
	.end = child_end,
	.done = instance_done,
};
