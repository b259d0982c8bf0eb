/* SPDX-License-Identifier: MIT */
/*
 * Predictions, from the view that the target has and from nothing that it says.
 */
#include "core/supervise/predict.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
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

#ifndef SYS_getxattrat /* Linux 6.13; since 5.1 one number for all architectures */
#define SYS_getxattrat 464
#endif

#define SIGHT_NS  (100 * NS_PER_MS)
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
	bool taken; /* false: nothing was changed */
	uid_t uid;  /* ours */
	gid_t gid, *groups;
	int count;
};

/* Whether it was the target's until now: setfsuid(2) reports no failure, it tells which id was in force. */
static bool identity_restore(const struct instance *i, struct identity *ours)
{
	if (!ours->taken)
		return true;
	uid_t uid = (uid_t) setfsuid(ours->uid);
	gid_t gid = (gid_t) setfsgid(ours->gid);
	if (ours->count > 0)
		(void) setgroups((size_t) ours->count, ours->groups);
	free(ours->groups);
	/* A change of the file system's user makes a process readable as the system's suid_dumpable says (proc(5)). */
	(void) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return uid == i->target_uid && gid == i->target_gid;
}

/* False: not all groups could be put aside. */
static bool groups_drop(struct identity *ours)
{
	ours->count = getgroups(0, NULL);
	if (ours->count <= 0)
		return ours->count == 0;
	ours->groups = xcalloc((size_t) ours->count, sizeof(gid_t));
	ours->count = getgroups(ours->count, ours->groups);
	return ours->count > 0 && setgroups(0, NULL) == 0;
}

/*
 * Root finds what the target does not: every folder is open to it. With another fsuid the kernel takes the
 * capabilities over files away, too (capabilities(7)). False: we cannot look with the target's eyes.
 */
static bool identity_take(const struct instance *i, struct identity *ret_ours)
{
	uid_t euid = geteuid();
	*ret_ours = (struct identity){ 0 };
	if (i->target_uid == euid)
		return euid != 0; /* its capabilities are gone, ours are not */
	if (euid != 0)
		return false;
	if (!groups_drop(ret_ours)) {
		free(ret_ours->groups);
		return false;
	}
	ret_ours->gid = (gid_t) setfsgid(i->target_gid);
	ret_ours->uid = (uid_t) setfsuid(i->target_uid);
	ret_ours->taken = true;
	return true;
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

/* ---- many files of one folder, as a program's start opens them ---- */

/*
 * Two calls each, instead of a walk as somebody else. Only where the target itself can change nothing, so that what was
 * found stays so; the host may change it, and is seen a moment later.
 */

static void folder_forget(struct sight_folder *f)
{
	if (f->path && f->fd >= 0)
		close(f->fd);
	free(f->path);
	*f = (struct sight_folder){ .fd = -1 };
}

void sight_start(struct sight *s)
{
	*s = (struct sight){ 0 };
	if (geteuid() == 0)
		(void) setgroups(
			0,
			NULL); /* root needs none of them, and each look as the target would put them aside */
}

void sight_done(struct sight *s)
{
	for (size_t k = 0; k < SIGHT_FOLDERS; k++)
		folder_forget(&s->folder[k]);
}

static struct sight_folder *sight_find(struct sight *s, const char *path, size_t len)
{
	for (size_t k = 0; k < SIGHT_FOLDERS; k++) {
		struct sight_folder *f = &s->folder[k];
		if (f->path && f->len == len && memcmp(f->path, path, len) == 0)
			return f;
	}
	return NULL;
}

static size_t folder_len(const char *path)
{
	return (size_t) (strrchr(path, '/') + 1 - path);
}

/* File systems on which modes and lists of access decide, and nobody behind them. */
static bool is_decided_by_modes(const struct statfs *fs)
{
	static const long known[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC,
				      OVERLAYFS_SUPER_MAGIC };
	for (size_t k = 0; k < ARRAY_LEN(known); k++)
		if (fs->f_type == known[k])
			return true;
	return false;
}

/* Whether more than its mode decides about an entry of a folder. True where the kernel cannot be asked
 * by descriptor: to ask by a path of /proc costs more than the long way. */
static bool has_access_list(int fd, const char *name)
{
	const struct {
		uint64_t value;
		uint32_t size, flags;
	} none = { 0 };
	return syscall(SYS_getxattrat, fd, name, AT_SYMLINK_NOFOLLOW, "system.posix_acl_access", &none,
		       sizeof(none)) >= 0 ||
	       (errno != ENODATA && errno != ENOTSUP);
}

/* Of a folder in which a file was just found to open: at the second one it is worth a look. */
static void sight_learn(struct sight *s, const struct instance *i, const char *path)
{
	size_t len = folder_len(path);
	struct sight_folder *f = sight_find(s, path, len);
	struct statfs fs;
	struct stat st;
	if (!f) {
		f = &s->folder[s->next++ % SIGHT_FOLDERS];
		folder_forget(f);
		f->path = xstrndup(path, len);
		f->len = len;
		return;
	}
	if (f->fd >= 0)
		close(f->fd);
	f->fd = find(i, f->path, true);
	if (f->fd >= 0 && fstatfs(f->fd, &fs) == 0 && (fs.f_flags & ST_RDONLY) && is_decided_by_modes(&fs) &&
	    fstat(f->fd, &st) == 0 && !has_access_list(f->fd, path + len) &&
	    syscall(SYS_faccessat2, f->fd, "", X_OK, AT_EACCESS | AT_EMPTY_PATH) == 0) {
		f->dev = st.st_dev;
		f->until_ns = now_ns() + SIGHT_NS;
	} else {
		folder_forget(f);
	}
}

/* A file that everybody may read, in a folder that the target reaches. False: it takes the long way to know. */
static bool sight_opens(struct sight *s, const char *path, const struct intent *w)
{
	size_t len = folder_len(path);
	const char *name = path + len;
	const mode_t all = S_IRUSR | S_IRGRP | S_IROTH;
	struct stat st;
	if (w->access != R_OK || w->create || w->directory || w->odd || !*name || strlen(name) > NAME_MAX)
		return false;
	const struct sight_folder *f = sight_find(s, path, len);
	return f && f->fd >= 0 && now_ns() < f->until_ns &&
	       fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       (st.st_mode & all) == all && st.st_dev == f->dev && !has_access_list(f->fd, name);
}

static void predict_as_target(struct sight *s, const struct instance *i, const struct decoded *call,
			      struct prediction *ret)
{
	const char *op = call->op;
	if (strcmp(op, "open") == 0) {
		struct intent w = intent_of_open(call);
		predict_path(i, call->path, &w, ret);
		if (ret->outcome == OUTCOME_OPENED && w.access == R_OK && !w.directory && i->root_dirfd >= 0)
			sight_learn(s, i, call->path);
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

void predict_file(struct sight *s, const struct instance *i, const struct decoded *call,
		  struct prediction *ret)
{
	struct identity ours;
	*ret = (struct prediction){ OUTCOME_UNKNOWN, LAYER_NONE, BASIS_UNKNOWN };
	if (!call->path || call->path[0] != '/' || call->cut || is_resolved_otherwise(call))
		return;
	if (strcmp(call->op, "open") == 0) {
		struct intent w = intent_of_open(call);
		if (sight_opens(s, call->path, &w)) {
			tell(OUTCOME_OPENED, LAYER_NONE, ret);
			return;
		}
	}
	if (!identity_take(i, &ours))
		return;
	predict_as_target(s, i, call, ret);
	if (!identity_restore(i, &ours)) {
		sight_done(s);
		*ret = (struct prediction){ OUTCOME_UNKNOWN, LAYER_NONE, BASIS_UNKNOWN };
	}
}
