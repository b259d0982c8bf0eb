/* SPDX-License-Identifier: MIT */
/*
 * Predictions, from the view that the target has and from nothing that it says.
 */
#include "core/supervise/predict.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_loopback(const struct decode_addr *a)
{
	return strcmp(a->family, "inet") == 0 ? str_starts(a->address, "127.") :
						strcmp(a->address, "::1") == 0 || str_starts(a->address, "::ffff:127.");
}

void predict_network(const struct network_view *view, const struct decode_addr *a, const char *op,
    struct prediction *ret)
{
	bool inet = strcmp(a->family, "inet") == 0 || strcmp(a->family, "inet6") == 0;
	*ret = (struct prediction) { OUTCOME_UNKNOWN, LAYER_NONE, BASIS_UNKNOWN };
	if (!inet || view->outside == OUTCOME_UNKNOWN)
		return; /* who listens on a socket of the run's own, or on the host's network, is not for us to know */
	if (op && strcmp(op, "bind") == 0)
		return;
	if (is_loopback(a) && view->own_loopback)
		return;
	*ret = (struct prediction) { view->outside, view->layer, BASIS_PREDICTED };
}

static bool wants_to_write(const struct decoded *call)
{
	if (strcmp(call->op, "open") != 0)
		return true;
	for (size_t k = 0; k < call->flag_count; k++)
		if (strcmp(call->flags[k], "O_WRONLY") == 0 || strcmp(call->flags[k], "O_RDWR") == 0 ||
		    strcmp(call->flags[k], "O_CREAT") == 0 || strcmp(call->flags[k], "O_TRUNC") == 0)
			return true;
	return false;
}

/* Opens a path as the target would find it, without touching what it names. */
static int find(const struct instance *i, const char *path)
{
	if (i->root_dirfd < 0)
		return open(path, O_PATH | O_CLOEXEC);
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	return (int) syscall(SYS_openat2, i->root_dirfd, path, &how, sizeof(how));
}

static bool mode_allows(const struct stat *st, const struct instance *i, bool write)
{
	mode_t need = write ? S_IWOTH : S_IROTH;
	if (st->st_uid == i->target_uid)
		need <<= 6;
	else if (st->st_gid == i->target_gid)
		need <<= 3;
	return st->st_mode & need;
}

static void predict_missing(const struct instance *i, const struct decoded *call, bool write, struct prediction *ret)
{
	FREE char *dir = xstrdup(call->path);
	char *slash = strrchr(dir, '/');
	struct statvfs fs;
	if (i->root_dirfd >= 0 && faccessat(AT_FDCWD, call->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		*ret = (struct prediction) { OUTCOME_HIDDEN, LAYER_MOUNT_NS, BASIS_PREDICTED };
		return;
	}
	*ret = (struct prediction) { OUTCOME_ABSENT, LAYER_NONE, BASIS_PREDICTED };
	if (!write || !slash)
		return;
	slash[slash == dir] = 0;
	CLOSE_FD int fd = find(i, dir);
	if (fd < 0)
		return;
	if (fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_RDONLY))
		*ret = (struct prediction) { OUTCOME_READ_ONLY, LAYER_MOUNT_NS, BASIS_PREDICTED };
	else
		*ret = (struct prediction) { OUTCOME_UNKNOWN, LAYER_NONE, BASIS_UNKNOWN }; /* it may be made */
}

void predict_file(const struct instance *i, const struct decoded *call, struct prediction *ret)
{
	struct stat st;
	struct statvfs fs;
	bool write = wants_to_write(call);
	*ret = (struct prediction) { OUTCOME_UNKNOWN, LAYER_NONE, BASIS_UNKNOWN };
	/* Of /proc and /dev/fd each process sees its own: a look from here would be a look at something else. */
	if (!call->path || call->path[0] != '/' || str_starts(call->path, "/proc") || str_starts(call->path, "/dev/fd"))
		return;
	CLOSE_FD int fd = find(i, call->path);
	if (fd < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			predict_missing(i, call, write, ret);
		return;
	}
	if (fstat(fd, &st) < 0)
		return;
	if (write && !S_ISCHR(st.st_mode) && fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_RDONLY)) {
		*ret = (struct prediction) { OUTCOME_READ_ONLY, LAYER_MOUNT_NS, BASIS_PREDICTED };
		return;
	}
	if (strcmp(call->op, "open") != 0)
		return; /* rename, unlink: the folder's mode decides, and the sticky bit, and more */
	*ret = mode_allows(&st, i, write) ? (struct prediction) { OUTCOME_OPENED, LAYER_NONE, BASIS_PREDICTED } :
					      (struct prediction) { OUTCOME_REFUSED, LAYER_NONE, BASIS_PREDICTED };
}
