/* SPDX-License-Identifier: MIT */
/*
 * THE order in which a process confines itself, for every level: what a level does not use is empty in the
 * confinement, and its step does nothing. The reasons stand beside the steps; change nothing here without one.
 */
#include "core/confine/self.h"

#include "core/base/base.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <unistd.h>

static bool in_new(const struct confinement *c, unsigned flag)
{
	return (c->clone_flags & flag) != 0;
}

/* A step a line, its reason beside it. */
/* clang-format off */

/* The last steps: from here on each one takes away what the step after it would still have been allowed to do. */
static int confine_target(const struct confinement *c, struct err *e)
{
	int r, listener = -1;
	if ((r = session_start(e)) < 0 ||                             /* no controlling terminal: TIOCSTI has no aim */
	    (c->terminal && (r = session_terminal(c->in_fd, e)) < 0) || /* but one of its own, where it was asked for */
	    (r = fds_apply(c, e)) < 0 ||                              /* 0, 1, 2 are pipes; but for one all else is closed */
	    (r = rlimits_apply(c->rlimits, c->rlimit_count, e)) < 0 || /* after the folders and files are made */
	    (c->small_pages && (r = pages_small(e)) < 0) ||           /* kept over exec */
	    (r = no_new_privs(e)) < 0)                                /* Landlock and seccomp ask for it */
		return r;
	if (c->landlock && (r = landlock_apply(c->landlock, e)) < 0 && r != -EOPNOTSUPP)
		return r;                                             /* where the kernel lacks it, other layers stand */
	/* Last, as it would refuse the steps above. The message that carries the listener's number must itself pass
	 * the filter unseen: were write(2) put to a supervisor that has no listener yet, both would wait for ever. */
	if ((r = seccomp_apply(c->filter, c->listener, &listener, e)) < 0)
		return r;
	struct sync_msg m = { .type = SYNC_LISTENER, .value = listener };
	if ((r = sync_send(c->sync_fd, &m)) < 0)
		return err_set(e, -r, "hand over the seccomp listener");
	if ((r = sync_wait(c->sync_fd, e)) < 0)                       /* until the supervisor holds it: exec closes it */
		return r;
	execve(c->argv[0], c->argv, c->env);
	return err_set(e, errno, "execute %s", c->argv[0]);
}

int confine_self(const struct confinement *c, struct err *e)
{
	int r;
	if ((r = signals_reset(e)) < 0 ||                             /* a mask inherited from us is a hole in the target */
	    (r = fds_keep(c, e)) < 0 ||                               /* held open here, the supervisor's ends of start socket
	                                                                 and wire would hide its death from those who wait */
	    (c->cgroup && (r = cgroup_enter(c->cgroup, e)) < 0) ||    /* first: what follows is charged to the run */
	    (in_new(c, CLONE_NEWUSER) && (r = sync_wait(c->sync_fd, e)) < 0) || /* the parent has written the id maps */
	    (in_new(c, CLONE_NEWUSER) && (r = ns_cgroup(e)) < 0) ||   /* only now: its root is the group we are in */
	    (r = caps_bound_drop(e)) < 0 ||                           /* at `subprocess` root's id carries the right to it */
	    (r = ids_apply(c, e)) < 0 ||                              /* before mounts, so that files belong to the target;
	                                                                 capabilities in the new namespace are kept */
	    (r = death_signal(e)) < 0 ||                              /* after the ids: changing them clears it (prctl(2)) */
	    (c->mounts && (r = mount_plan_apply(c->mounts, e)) < 0) || /* needs CAP_SYS_ADMIN; ends in pivot_root */
	    (in_new(c, CLONE_NEWUTS) && (r = ns_hostname(c->hostname, e)) < 0) ||
	    (in_new(c, CLONE_NEWNET) && (r = ns_loopback_up(e)) < 0) ||
	    (in_new(c, CLONE_NEWUSER) && (r = ns_counts(e)) < 0) ||   /* through the new /proc, while root of the namespace */
	    (r = keyring_own(e)) < 0 ||                               /* seccomp refuses keyctl from here on */
	    (r = cpus_pin(c->cpu_count, e)) < 0)
		return r;
	if (c->cwd && chdir(c->cwd) < 0)                              /* after pivot_root: no folder outside the view */
		return err_set(e, errno, "enter %s", c->cwd);
	if ((r = caps_drop(e)) < 0)                                   /* the last step that needed one is done */
		return r;
	if (in_new(c, CLONE_NEWPID) && (r = reaper_fork(c, e)) < 0) /* pid 1 stays ours, the rest is the target */
		return r;
	return confine_target(c, e);
}
/* clang-format on */
