/* SPDX-License-Identifier: MIT */
/*
 * Predictions, from the view that the target has and from nothing that it says.
 */
#include "core/supervise/predict.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define STEPS_MAX 16 /* looks for where a walk stopped: a path of a thousand parts must not cost a million */

/* An address of no host in particular leads to this one. */
static bool is_loopback(const struct decode_addr *a)
{
	const char *mapped = "::ffff:";
	const char *v4 = a->address + (str_starts(a->address, mapped) ? strlen(mapped) : 0);

	return str_starts(v4, "127.") || strcmp(v4, "0.0.0.0") == 0 || strcmp(a->address, "::1") == 0 ||
	       strcmp(a->address, "::") == 0;
}

void predict_network(const struct network_view *view, const struct decode_addr *a, const char *op,
		     struct prediction *ret)
{
	bool inet = strcmp(a->family, "inet") == 0 || strcmp(a->family, "inet6") == 0;
	*ret = (struct prediction){ OUTCOME_UNKNOWN, LAYER_NONE, BASIS_UNKNOWN };
	if (!inet || strcmp(a->address, "?") == 0 || view->outside == OUTCOME_UNKNOWN)
		return; /* who listens on a socket of the run's own, or on the host's network, is not for us to know */
	if (op && strcmp(op, "bind") == 0)
		return;
	if (is_loopback(a) && view->own_loopback)
		return;
	*ret = (struct prediction){ view->outside, view->layer, BASIS_PREDICTED };
}

/* What a call asks of a path. */
struct intent {
	int access; /* R_OK, W_OK */
	bool create, truncate, directory, follow;
	bool odd; /* more decides about one that is there than its name, its mode and its mount */
};

static bool has_flag(const struct decoded *call, const char *name)
{
	for (size_t k = 0; k < call->flag_count; k++)
		if (call->flags[k] && strcmp(call->flags[k], name) == 0)
			return true;
	return false;
}

static struct intent intent_of_open(const struct decoded *call)
{
	static const char *const odd[] = { "O_PATH", "O_EXCL", "O_TMPFILE", "O_NOATIME", "O_DIRECT" };
	struct intent w = { .access = R_OK, .follow = !has_flag(call, "O_NOFOLLOW") };
	if (call->name && strcmp(call->name, "creat") == 0)
		return (struct intent){ .access = W_OK, .create = true, .truncate = true, .follow = true };
	w.create = has_flag(call, "O_CREAT");
	w.truncate = has_flag(call, "O_TRUNC");
	w.directory = has_flag(call, "O_DIRECTORY");
	if (has_flag(call, "O_WRONLY"))
		w.access = W_OK;
	if (has_flag(call, "O_RDWR") || w.truncate)
		w.access |= W_OK;
	for (size_t k = 0; k < ARRAY_LEN(odd); k++)
		w.odd |= has_flag(call, odd[k]);
	return w;
}

/* ---- as the target: its root, its user ---- */

struct identity {
	gid_t *groups; /* ours; NULL: nothing was changed */
	int count;
};

static void identity_restore(struct identity *ours)
{
	if (!ours->groups)
		return;
	(void) setfsuid(geteuid());
	(void) setfsgid(getegid());
	(void) setgroups((size_t) ours->count, ours->groups);
	free(ours->groups);
	ours->groups = NULL;
	/* A change of the file system's user makes a process readable as the system's suid_dumpable says (proc(5)). */
	(void) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/*
 * Root finds what the target does not: every folder is open to it. With another fsuid the kernel takes the
 * capabilities over files away, too (capabilities(7)). False: we cannot look with the target's eyes.
 */
static bool identity_take(const struct instance *i, struct identity *ret_ours)
{
	*ret_ours = (struct identity){ 0 };
	if (i->target_uid == geteuid())
		return geteuid() != 0; /* its capabilities are gone, ours are not */
	int count = getgroups(0, NULL);
	if (geteuid() != 0 || count < 0)
		return false;
	ret_ours->groups = xcalloc((size_t) count + 1, sizeof(gid_t));
	ret_ours->count = getgroups(count, ret_ours->groups);
	int r = setgroups(0, NULL);
	(void) setfsgid(i->target_gid);
	(void) setfsuid(i->target_uid);
	if (r == 0 && ret_ours->count >= 0 && (gid_t) setfsgid((gid_t) -1) == i->target_gid &&
	    (uid_t) setfsuid((uid_t) -1) == i->target_uid)
		return true;
	identity_restore(ret_ours);
	return false;
}

/* Opens a path as the target would find it, without touching what it names. */
static int find(const struct instance *i, const char *path, bool follow)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW),
				.resolve = RESOLVE_NO_MAGICLINKS };
	if (i->root_dirfd >= 0)
		how.resolve |= RESOLVE_IN_ROOT;
	return (int) syscall(SYS_openat2, i->root_dirfd >= 0 ? i->root_dirfd : AT_FDCWD, path, &how,
			     sizeof(how));
}

/* Of /proc each process sees its own: a look from here would be a look at something else. */
static bool is_proc(int fd)
{
	struct statfs fs;
	return fstatfs(fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC;
}

static bool has_mount_flag(int fd, unsigned long flag)
{
	struct statvfs fs;
	return fstatvfs(fd, &fs) == 0 && (fs.f_flag & flag);
}

static void tell(enum outcome outcome, enum layer layer, struct prediction *ret)
{
	*ret = (struct prediction){ outcome, layer, BASIS_PREDICTED };
}

static void tell_read_only(const struct instance *i, struct prediction *ret)
{
	tell(OUTCOME_READ_ONLY, i->root_dirfd >= 0 ? LAYER_MOUNT_NS : LAYER_NONE, ret);
}

/* ---- what is there ---- */

/* Opening these never fails for a reason of the device's own, as /dev/tty does. */
static bool is_plain_device(const struct stat *st)
{
	const unsigned n = minor(st->st_rdev); /* null, zero, full, random, urandom */
	return S_ISCHR(st->st_mode) && major(st->st_rdev) == 1 && (n == 3 || n == 5 || (n >= 7 && n <= 9));
}

/* Whether what the modes allow is all that it takes. */
static bool opens_if_allowed(const struct instance *i, const struct stat *st, const struct intent *w)
{
	bool write = w->access & W_OK;
	if (w->create && st->st_uid != i->target_uid)
		return false; /* in a sticky folder fs.protected_regular refuses another's (proc(5)) */
	if (S_ISREG(st->st_mode))
		return !write || !(st->st_mode & 0111); /* ETXTBSY, when it is executed just now */
	return S_ISDIR(st->st_mode) || is_plain_device(st);
}

static void predict_found(const struct instance *i, int fd, const struct intent *w, struct prediction *ret)
{
	struct stat st;
	if (w->odd || is_proc(fd) || fstat(fd, &st) < 0 || S_ISLNK(st.st_mode))
		return;
	if (S_ISDIR(st.st_mode) ? (w->access & W_OK) || w->create : w->directory)
		return; /* EISDIR, ENOTDIR */
	/* Truncating asks for the mount before the mode is looked at; all else the other way round, as faccessat2. */
	if (w->truncate && S_ISREG(st.st_mode) && has_mount_flag(fd, ST_RDONLY)) {
		tell_read_only(i, ret);
		return;
	}
	bool no_device = (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) && has_mount_flag(fd, ST_NODEV);
	long r = syscall(SYS_faccessat2, fd, "", w->access, AT_EACCESS | AT_EMPTY_PATH);
	if (no_device || (r < 0 && errno == EACCES))
		tell(OUTCOME_REFUSED, LAYER_NONE, ret);
	else if (r < 0 && errno == EROFS)
		tell_read_only(i, ret);
	else if (r == 0 && opens_if_allowed(i, &st, w))
		tell(OUTCOME_OPENED, LAYER_NONE, ret);
}

/* ---- what is not ---- */

/* A walk that found no end: the deepest place that it came to, and the name that stopped it there. */
struct stop {
	int fd;
	const char *name; /* in the path */
};

static bool stop_find(const struct instance *i, const char *path, struct stop *ret)
{
	size_t len = strlen(path);
	for (int k = 0; k < STEPS_MAX && len > 1; k++) {
		while (len > 0 && path[len - 1] != '/')
			len--;
		ret->name = path + len;
		while (len > 1 && path[len - 1] == '/')
			len--;
		FREE char *part = xstrndup(path, len);
		if ((ret->fd = find(i, part, true)) >= 0)
			return true;
	}
	return false;
}

static bool host_has(const struct instance *i, const char *path)
{
	return i->root_dirfd >= 0 && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void may_be_made(const struct instance *i, int folder_fd, struct prediction *ret)
{
	if (has_mount_flag(folder_fd, ST_RDONLY))
		tell_read_only(i, ret);
}

static void predict_stopped(const struct instance *i, const char *path, int error, const struct intent *w,
			    struct prediction *ret)
{
	struct stop at = { .fd = -1 };
	struct stat st;
	if (!stop_find(i, path, &at))
		return;
	CLOSE_FD int fd = at.fd;
	FREE char *name = xstrndup(at.name, strcspn(at.name, "/"));
	/* One that is there is a link, and nobody knows which way it led: into /proc, perhaps. */
	if (is_proc(fd) || !*name || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != error)
		return;
	if (error == EACCES)
		tell(OUTCOME_REFUSED, LAYER_NONE, ret);
	else if (w->create && error == ENOENT && !at.name[strlen(name)])
		may_be_made(i, fd, ret);
	else if (w->create && path[strlen(path) - 1] == '/')
		return; /* EISDIR */
	else if (host_has(i, path))
		tell(OUTCOME_HIDDEN, LAYER_MOUNT_NS, ret);
	else
		tell(OUTCOME_ABSENT, LAYER_NONE, ret);
}

static void predict_path(const struct instance *i, const char *path, const struct intent *w,
			 struct prediction *ret)
{
	CLOSE_FD int fd = find(i, path, w->follow);
	if (fd >= 0)
		predict_found(i, fd, w, ret);
	else if (errno == ENOENT || errno == ENOTDIR || errno == EACCES)
		predict_stopped(i, path, errno, w, ret);
}

/* ---- calls that change a folder or a file's own data: what is certain of them is a mount that is read-only ---- */

static void predict_entry(const struct instance *i, const char *path, bool remove, struct prediction *ret)
{
	const char *name = strrchr(path, '/') + 1;
	struct stat st;
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return;
	FREE char *folder = xstrndup(path, (size_t) (name - path));
	CLOSE_FD int fd = find(i, folder, true);
	if (fd < 0 || is_proc(fd) || !has_mount_flag(fd, ST_RDONLY))
		return;
	/* Removing asks for the mount first; making is told that the name is taken first. */
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? remove : errno == ENOENT)
		tell_read_only(i, ret);
}

static void predict_change(const struct instance *i, const char *path, struct prediction *ret)
{
	struct stat st;
	CLOSE_FD int fd = find(i, path, false);
	if (fd >= 0 && !is_proc(fd) && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    has_mount_flag(fd, ST_RDONLY))
		tell_read_only(i, ret);
}

static void predict_as_target(const struct instance *i, const struct decoded *call, struct prediction *ret)
{
	const char *op = call->op;
	if (strcmp(op, "open") == 0) {
		struct intent w = intent_of_open(call);
		predict_path(i, call->path, &w, ret);
	} else if (strcmp(op, "remove") == 0) {
		predict_entry(i, call->path, true, ret);
	} else if (strcmp(op, "mkdir") == 0 || strcmp(op, "symlink") == 0 || strcmp(op, "mknod") == 0) {
		predict_entry(i, call->path, false, ret);
	} else if (strcmp(op, "chmod") == 0 || strcmp(op, "chown") == 0 || strcmp(op, "truncate") == 0) {
		predict_change(i, call->path, ret);
	} /* rename, link: two places, and EXDEV before anything else */
}

/* openat2(2) with a way of its own to walk. */
static bool is_resolved_otherwise(const struct decoded *call)
{
	for (size_t k = 0; k < call->arg_count; k++)
		if (call->args[k].key && strcmp(call->args[k].key, "resolve") == 0)
			return true;
	return false;
}

void predict_file(const struct instance *i, const struct decoded *call, struct prediction *ret)
{
	struct identity ours;
	*ret = (struct prediction){ OUTCOME_UNKNOWN, LAYER_NONE, BASIS_UNKNOWN };
	if (!call->path || call->path[0] != '/' || call->cut || is_resolved_otherwise(call))
		return;
	if (!identity_take(i, &ours))
		return;
	predict_as_target(i, call, ret);
	identity_restore(&ours);
}
