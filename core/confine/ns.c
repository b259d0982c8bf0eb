/* SPDX-License-Identifier: MIT */
/*
 * Namespaces seen from inside and from their parent: id maps, host name, loopback, the counts a user namespace keeps,
 * the session keyring; and the start socket between the two. See user_namespaces(7), namespaces(7).
 */
#include "core/confine/self.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int map_write(pid_t child, const char *file, const char *text, struct err *e)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", child, file);
	return file_write_str(AT_FDCWD, path, text, e);
}

int confine_map_ids(pid_t child, uint32_t inside, uid_t host_uid, gid_t host_gid, struct err *e)
{
	char uids[48], gids[48];
	int r;
	snprintf(uids, sizeof(uids), "%u %u 1", inside, host_uid);
	snprintf(gids, sizeof(gids), "%u %u 1", inside, host_gid);
	/* An ordinary user may write gid_map only once setgroups is denied for good. */
	if (geteuid() != 0 && (r = map_write(child, "setgroups", "deny", e)) < 0)
		return r;
	if ((r = map_write(child, "gid_map", gids, e)) < 0)
		return r;
	return map_write(child, "uid_map", uids, e);
}

int sync_wait(int sync_fd, struct err *e)
{
	char go;
	ssize_t n;
	do
		n = read(sync_fd, &go, 1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_set(e, errno, "wait for the supervisor");
	return n == 1 ? 0 : err_set(e, ECANCELED, "the supervisor is gone");
}

int sync_send(int sync_fd, const struct sync_msg *m)
{
	ssize_t n;
	do
		n = write(sync_fd, m,
			  sizeof(*m)); /* not sendmsg: the filter may put that to the supervisor */
	while (n < 0 && errno == EINTR);
	return n == (ssize_t) sizeof(*m) ? 0 : -(n < 0 ? errno : EPROTO);
}

int ns_hostname(const char *name, struct err *e)
{
	if (sethostname(name, strlen(name)) < 0 || setdomainname("(none)", 6) < 0)
		return need_set(e, NEED_NAMESPACES, errno, "set the host name");
	return 0;
}

int ns_loopback_up(struct err *e)
{
	CLOSE_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set(e, errno, "open a socket to bring loopback up");
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	if (ioctl(fd, SIOCSIFFLAGS, &ifr) < 0)
		return need_set(e, NEED_NETNS, errno, "bring loopback up");
	return 0;
}

/*
 * What the kernel counts per real user would be shared with the person's own programs (inotify instances: 128 for
 * all), and nested namespaces open kernel code that the filter's refusal of clone flags should be alone in guarding.
 * Kept low in the run's own user namespace, where nobody else is counted.
 */
int ns_counts(struct err *e)
{
	static const struct {
		const char *path, *value;
	} counts[] = {
		{ "/proc/sys/user/max_user_namespaces", "0" },
		{ "/proc/sys/user/max_inotify_instances", "64" },
		{ "/proc/sys/user/max_inotify_watches", "8192" },
	};
	int r;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		if ((r = file_write_str(AT_FDCWD, counts[i].path, counts[i].value, e)) < 0 && r != -ENOENT)
			return r;
	return 0;
}

/* The run's own group is the root of what it can see of control groups. Made by clone3 it would be ours: /proc would
 * name the run's group, and where we stand. */
int ns_cgroup(struct err *e)
{
	if (unshare(CLONE_NEWCGROUP) < 0)
		return need_set(e, NEED_NAMESPACES, errno, "make a cgroup namespace");
	return 0;
}

int keyring_own(struct err *e)
{
	/* Joining a fresh anonymous keyring leaves the login session's, with whatever keys it holds. A kernel without
	 * key support has none to leave; a filter around us may refuse, and a quota may be used up: then we stop. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL, 0, 0, 0) < 0 && errno != ENOSYS)
		return need_set(e, NEED_KEYRING, errno, "leave the session keyring");
	return 0;
}
