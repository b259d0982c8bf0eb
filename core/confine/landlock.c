/* SPDX-License-Identifier: MIT */
/*
 * Landlock: a second wall behind the mount namespace. Rules are asked for up to what the running kernel knows, never
 * less than it could hold. See landlock(7); ABI 1 is Linux 5.13, 4 brought TCP, 5 device ioctls, 6 scopes.
 */
#include "core/confine/self.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers of some distributions that we build on; numbers from include/uapi/linux/landlock.h. */
#define FS_REFER            (1ULL << 13)
#define FS_TRUNCATE         (1ULL << 14)
#define FS_IOCTL_DEV        (1ULL << 15)
#define NET_BIND_TCP        (1ULL << 0)
#define NET_CONNECT_TCP     (1ULL << 1)
#define SCOPE_ABSTRACT_UNIX (1ULL << 0)
#define SCOPE_SIGNAL        (1ULL << 1)

struct ruleset_attr { /* struct landlock_ruleset_attr as of ABI 6; older kernels take a shorter one */
	uint64_t fs, net, scoped;
};

#define FS_READ (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_ABI1 ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1) /* the thirteen rights of the first version */
/* Of the rights that a file, not a folder, can have; the kernel refuses a rule with more (EINVAL). */
#define FS_OF_FILE                                                                                   \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
	 FS_TRUNCATE | FS_IOCTL_DEV)

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	return abi < 0 ? 0 : (int) abi;
}

static int landlock_allow(int ruleset_fd, char *const *paths, uint64_t access, struct err *e)
{
	for (; paths && *paths; paths++) {
		CLOSE_FD int fd = open(*paths, O_PATH | O_CLOEXEC);
		if (fd < 0)
			return err_set(e, errno, "open %s for a Landlock rule", *paths);
		struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = fd };
		if (syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0)
			continue;
		rule.allowed_access &= FS_OF_FILE;
		if (errno != EINVAL ||
		    syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
			return err_set(e, errno, "add a Landlock rule for %s", *paths);
	}
	return 0;
}

int landlock_apply(const struct landlock_rules *r, struct err *e)
{
	int abi = landlock_abi(), ret;
	if (abi == 0)
		return err_say(e, EOPNOTSUPP, "this kernel has no Landlock, or it was not enabled at boot");
	bool files = r->read || r->write;
	struct ruleset_attr attr = {
		.fs = !files ? 0
			     : FS_ABI1 | (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) |
				       (abi >= 5 ? FS_IOCTL_DEV : 0),
		.net = r->tcp && abi >= 4 ? NET_BIND_TCP | NET_CONNECT_TCP : 0,
		.scoped = abi < 6 ? 0
				  : (r->keep_sockets ? SCOPE_ABSTRACT_UNIX : 0) |
					    (r->keep_signals ? SCOPE_SIGNAL : 0),
	};
	if (!attr.fs && !attr.net && !attr.scoped)
		return err_say(e, EOPNOTSUPP, "this kernel's Landlock (ABI %d) has nothing of what is asked",
			       abi);
	size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
	CLOSE_FD int fd = (int) syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (fd < 0)
		return err_set(e, errno, "create a Landlock ruleset");
	if ((ret = landlock_allow(fd, r->read, FS_READ & attr.fs, e)) < 0 ||
	    (ret = landlock_allow(fd, r->write, attr.fs & ~FS_IOCTL_DEV, e)) < 0 ||
	    (abi >= 5 && (ret = landlock_allow(fd, r->control, attr.fs & FS_IOCTL_DEV, e)) < 0))
		return ret;
	if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return err_set(e, errno, "apply the Landlock ruleset");
	return 0;
}
