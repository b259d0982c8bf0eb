/* SPDX-License-Identifier: MIT */
/*
 * Probes of what gives a run a view of its own: namespaces and mounts, made in a child as a run's are.
 */
#include "core/doctor/probe.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void tell(struct answer *a, int r, const struct err *e, const char *well)
{
	if (r < 0)
		answer_err(a, e);
	else
		answer_ok(a, "%s", well);
}

/* The map took effect, and its owner has capabilities there: AppArmor may let a namespace be made and give it none. */
static int is_owner(const void *arg, struct err *e)
{
	(void) arg;
	if (getuid() == 65534)
		return err_say(e, EPERM, "the id maps were written and do not hold");
	if (prctl(PR_CAPBSET_DROP, CAP_SYS_BOOT, 0, 0, 0) < 0)
		return err_set(e, errno, "use a capability in the namespace that was made");
	return 0;
}

void probe_userns(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	(void) g, (void) arg;
	tell(a, new_child(CLONE_NEWUSER, is_owner, NULL, &e), &e, "made, with id maps");
}

static int own_cgroup_root(const void *arg, struct err *e)
{
	(void) arg;
	return ns_cgroup(e);
}

void probe_namespaces(const struct given *g, int arg, struct answer *a)
{
	static const struct {
		unsigned flag;
		const char *name;
	} kinds[] = { { CLONE_NEWPID, "pid" }, { CLONE_NEWIPC, "ipc" }, { CLONE_NEWUTS, "uts" } };
	struct err e;
	int r = 0;
	(void) g, (void) arg;
	for (size_t k = 0; r >= 0 && k < ARRAY_LEN(kinds); k++)
		if ((r = new_child(CLONE_NEWUSER | kinds[k].flag, NULL, NULL, &e)) < 0)
			err_in(&e, "%s namespace", kinds[k].name);
	if (r >= 0)
		r = new_child(CLONE_NEWUSER, own_cgroup_root, NULL, &e);
	tell(a, r, &e, "made, each of them");
}

static int loopback_up(const void *arg, struct err *e)
{
	(void) arg;
	return ns_loopback_up(e);
}

void probe_netns(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	(void) g, (void) arg;
	tell(a, new_child(CLONE_NEWUSER | CLONE_NEWNET, loopback_up, NULL, &e), &e, "made, loopback is up");
}

/* ---- mounts ---- */

static int plan_apply(const void *plan, struct err *e)
{
	return mount_plan_apply(plan, e);
}

/* Carries out a plan of one operation on a root that is as a run's is. */
static int plan_try(const struct mount_op *op, unsigned flags, int (*inside)(const void *arg, struct err *e),
		    struct err *e)
{
	struct mount_plan m = { .space = 1 << 20, .inodes = 100 };
	mount_plan_add(&m, (struct mount_op){ .kind = MOUNT_WORK, .dest = "/tmp", .mode = 01777 });
	mount_plan_add(&m, *op);
	mount_plan_add(&m, (struct mount_op){ .kind = MOUNT_READ_ONLY, .dest = "/" });
	int r = mount_plan_open(&m, e);
	if (r >= 0)
		r = new_child(CLONE_NEWUSER | CLONE_NEWNS | flags, inside, &m, e);
	mount_plan_done(&m);
	return r;
}

/* What a mount promises is tried: the view is read-only, its one folder is not. */
static int root_holds(const void *plan, struct err *e)
{
	int r = mount_plan_apply(plan, e);
	if (r < 0)
		return r;
	CLOSE_FD int in_usr = open("/usr/belljar-probe", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (in_usr >= 0 || errno != EROFS)
		return err_say(e, EIO, "a read-only mount was asked for and does not hold");
	CLOSE_FD int in_tmp = open("/tmp/belljar-probe", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return in_tmp < 0 ? err_set(e, errno, "write to the sized tmpfs") : 0;
}

void probe_mounts(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	const struct mount_op usr = { .kind = MOUNT_BIND, .source = "/usr", .dest = "/usr" };
	(void) g, (void) arg;
	tell(a, plan_try(&usr, 0, root_holds, &e), &e, "made, and they hold");
}

static int proc_holds(const void *plan, struct err *e)
{
	int r = mount_plan_apply(plan, e);
	return r < 0 ? r : ns_counts(e);
}

void probe_proc(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	const struct mount_op proc = { .kind = MOUNT_PROC, .dest = "/proc" };
	(void) g, (void) arg;
	tell(a, plan_try(&proc, CLONE_NEWPID, proc_holds, &e), &e, "mounted");
}

void probe_overlay(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	char known[4096];
	const struct mount_op overlay = {
		.kind = MOUNT_OVERLAY, .source = "/usr", .dest = "/workspace", .mode = 0755
	};
	(void) g, (void) arg;
	/* Where it is not listed a run does not try it: asking for it could load a module. */
	if (file_read_small(AT_FDCWD, "/proc/filesystems", known, sizeof(known)) <= 0 ||
	    !strstr(known, "\toverlay\n"))
		answer_missing(a, ENODEV, "not in /proc/filesystems");
	else
		tell(a, plan_try(&overlay, 0, plan_apply, &e), &e, "mounted with userxattr");
}
