/* SPDX-License-Identifier: MIT */
/*
 * What a process gives up about itself: signals, session, descriptors, limits, ids, capabilities. The only user of
 * libcap. See capabilities(7), setrlimit(2), close_range(2), prctl(2).
 */
#include "core/confine/self.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int signals_reset(struct err *e)
{
	for (int s = 1; s < NSIG;
	     s++) /* SIGKILL, SIGSTOP and the C library's own answer EINVAL: nothing to reset there */
		signal(s, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return err_set(e, errno, "clear the signal mask");
	return 0;
}

static int compare_fds(const void *a, const void *b)
{
	return *(const int *) a - *(const int *) b;
}

int fds_keep(const struct confinement *c, struct err *e)
{
	size_t trees = c->mounts ? c->mounts->count : 0, n = 4;
	FREE int *keep = xcalloc(4 + c->more_count + CGROUP_CHILD_FDS + trees, sizeof(int));
	memcpy(keep, (int[]){ c->in_fd, c->out_fd, c->err_fd, c->sync_fd }, 4 * sizeof(int));
	for (size_t k = 0; k < c->more_count; k++)
		keep[n++] = c->more_fds[k];
	n += cgroup_child_fds(c->cgroup, keep + n);
	for (size_t k = 0; k < trees; k++)
		if (c->mounts->ops[k].tree_fd >= 0)
			keep[n++] = c->mounts->ops[k].tree_fd;
	qsort(keep, n, sizeof(int), compare_fds);
	unsigned from = 3;
	for (size_t k = 0; k < n; k++) {
		if ((unsigned) keep[k] > from && close_range(from, (unsigned) keep[k] - 1, 0) < 0)
			return err_set(e, errno, "close the supervisor's descriptors");
		if ((unsigned) keep[k] >= from)
			from = (unsigned) keep[k] + 1;
	}
	if (close_range(from, ~0U, 0) < 0)
		return err_set(e, errno, "close the supervisor's descriptors");
	return 0;
}

int pages_small(struct err *e)
{
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) < 0)
		return err_set(e, errno, "do without huge pages");
	return 0;
}

int session_start(struct err *e)
{
	if (setsid() < 0)
		return err_set(e, errno, "start a session of its own");
	return 0;
}

int session_terminal(int tty_fd, struct err *e)
{
	if (ioctl(tty_fd, TIOCSCTTY, 0) < 0)
		return err_set(e, errno, "take the terminal as its own");
	return 0;
}

int fds_apply(const struct confinement *c, struct err *e)
{
	const unsigned past = 3 + (unsigned) c->more_count;
	FREE int *want = xcalloc(past, sizeof(int));
	memcpy(want, (int[]){ c->in_fd, c->out_fd, c->err_fd }, 3 * sizeof(int));
	for (size_t k = 0; k < c->more_count; k++)
		want[3 + k] = c->more_fds[k];
	/* They may themselves lie where another is to come; lifted above first, none is overwritten before it was copied. */
	for (unsigned k = 0; k < past; k++)
		if (want[k] < (int) past && (want[k] = fcntl(want[k], F_DUPFD_CLOEXEC, (int) past)) < 0)
			return err_set(e, errno, "move descriptor %u", k);
	for (unsigned k = 0; k < past; k++)
		if (dup2(want[k], (int) k) < 0)
			return err_set(e, errno, "set up descriptor %u", k);
	/* Closed, not only marked: a small limit on open files must leave room for the two that are still to come. The
	 * start socket stays where it is, O_CLOEXEC: whoever reports an error of the next steps knows it by its number. */
	if (((unsigned) c->sync_fd > past && close_range(past, (unsigned) c->sync_fd - 1, 0) < 0) ||
	    close_range((unsigned) c->sync_fd + 1, ~0U, 0) < 0)
		return err_set(e, errno, "close what is not the target's");
	return 0;
}

/* A process's clock of that kind has no name in time.h: clock_getcpuclockid(3) gives the precise one. */
uint64_t rlimit_cpu_used(pid_t pid)
{
	const clockid_t ticks = (clockid_t) (~(unsigned) pid << 3); /* CPUCLOCK_PROF is 0 */
	struct timespec used;
	if (clock_gettime(ticks, &used) < 0)
		return UINT64_MAX;
	return (uint64_t) used.tv_sec * NS_PER_S + (uint64_t) used.tv_nsec;
}

int rlimits_apply(const struct rlimit_want *want, size_t count, struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		struct rlimit now, lim = { .rlim_cur = want[i].soft, .rlim_max = want[i].hard };
		/* Never raised: our own hard limit may be the lower one, and an ordinary user could not lift it. */
		if (getrlimit(want[i].resource, &now) == 0 && now.rlim_max < lim.rlim_max)
			lim.rlim_max = now.rlim_max;
		if (lim.rlim_cur > lim.rlim_max)
			lim.rlim_cur = lim.rlim_max;
		if (setrlimit(want[i].resource, &lim) < 0)
			return err_set(e, errno, "set resource limit %d to %llu", want[i].resource,
				       (unsigned long long) want[i].soft);
	}
	return 0;
}

int cpus_pin(uint32_t count, struct err *e)
{
	cpu_set_t all, some;
	if (count == 0)
		return 0;
	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return err_set(e, errno, "read the cores this process may use");
	CPU_ZERO(&some);
	for (int i = 0; i < CPU_SETSIZE && (uint32_t) CPU_COUNT(&some) < count; i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &some);
	if (sched_setaffinity(0, sizeof(some), &some) < 0)
		return err_set(e, errno, "keep to %u cores", count);
	return 0;
}

/*
 * Root gives the target an unprivileged id, an ordinary user its own; in a new user namespace both are `inside_uid`
 * there. Capabilities of the namespace survive, as no id on either side is its root's.
 */
int ids_apply(const struct confinement *c, struct err *e)
{
	bool mapped = (c->clone_flags & CLONE_NEWUSER) != 0;
	uid_t id = mapped ? c->inside_uid : c->host_uid;
	gid_t gid = mapped ? c->inside_uid : c->host_gid;
	/* In a namespace that an ordinary user made, setgroups is denied for good (user_namespaces(7)): there the
	 * person's supplementary groups stay, and the view of files is what keeps them from mattering. */
	if (!mapped && id == geteuid())
		return 0;
	if (setgroups(0, NULL) < 0 && !(mapped && errno == EPERM))
		return err_set(e, errno, "drop supplementary groups");
	if (setresgid(gid, gid, gid) < 0)
		return err_set(e, errno, "become group %u", gid);
	if (setresuid(id, id, id) < 0)
		return err_set(e, errno, "become user %u", id);
	/* The change made this process undumpable, which would close /proc/PID to a supervisor of the same user. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return err_set(e, errno, "stay visible to the supervisor");
	return 0;
}

/* The bounding set: no program that the target executes gives it a capability, no_new_privs or not. Without CAP_SETPCAP
 * (an ordinary user at `subprocess`) it cannot be dropped, and what /proc says of it afterwards is told. */
int caps_bound_drop(struct err *e)
{
	for (cap_value_t v = 0; cap_drop_bound(v) == 0; v++)
		;
	if (errno != EINVAL && errno != EPERM) /* EINVAL: beyond the last one that this kernel has */
		return err_set(e, errno, "drop the capabilities of the bounding set");
	return 0;
}

int caps_drop(struct err *e)
{
	/* Not by cap_reset_ambient(3), which asks the kernel for each of them first. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return err_set(e, errno, "clear ambient capabilities");
	cap_t none = cap_init();
	if (!none)
		return err_set(e, errno, "prepare an empty capability set");
	int r = cap_set_proc(none) < 0 ? err_set(e, errno, "drop all capabilities") : 0;
	cap_free(none);
	return r;
}

int no_new_privs(struct err *e)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return need_set(e, NEED_NO_NEW_PRIVS, errno, "set no_new_privs");
	return 0;
}

int death_signal(struct err *e)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_set(e, errno, "ask for the parent-death signal");
	/* A supervisor that died before this line is noticed at the next sync_wait: nobody else holds its end. */
	return 0;
}
