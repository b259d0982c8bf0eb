/* SPDX-License-Identifier: MIT */
/*
 * The target's view of files. The backend writes it down as a list of operations; here the list is carried out, in the
 * child, with the mount calls of Linux 5.2 and 5.12: a tree is cloned, made read-only while nobody can reach it yet,
 * and only then attached. One sized tmpfs is both the skeleton of the new root and, through a mount of its own for
 * each, every writable place: so their total is one number that the kernel holds. See mount_setattr(2), pivot_root(2).
 */
#include "core/confine/self.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE   1
#define OPEN_TREE_CLOEXEC O_CLOEXEC
#endif
/* A new root is put together on this folder of the old one; it exists everywhere, and all sources are open by then. */
#define STAGE_A "/tmp"
#define STAGE_B "/usr"

void mount_plan_add(struct mount_plan *m, struct mount_op op)
{
	size_t len = strlen(op.dest);
	while (len > 1 && op.dest[len - 1] == '/') /* "/data/" is the place "/data" */
		len--;
	op.source = op.source ? xstrdup(op.source) : NULL;
	op.dest = xstrndup(op.dest, len);
	op.tree_fd = -1;
	m->ops = xrealloc(m->ops, (m->count + 1) * sizeof(*m->ops));
	m->ops[m->count++] = op;
}

void mount_plan_done(struct mount_plan *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free((void *) m->ops[i].source);
		free((void *) m->ops[i].dest);
		close_fd(&m->ops[i].tree_fd);
	}
	free(m->ops);
	*m = (struct mount_plan){ 0 };
}

static bool op_clones(const struct mount_op *op)
{
	return op->kind == MOUNT_BIND || op->kind == MOUNT_DEVICE;
}

/* A detached copy of a host path, already as harmless as it will be: it is never reachable in any other state. */
static int tree_clone(const struct mount_op *op, int *ret_fd, struct err *e)
{
	CLOSE_FD int fd =
		(int) syscall(SYS_open_tree, AT_FDCWD, op->source,
			      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
				      AT_RECURSIVE); /* a part of a locked tree alone may not be cloned */
	if (fd < 0)
		return err_set(e, errno, "open %s to show it at %s", op->source, op->dest);
	struct mount_attr attr = { .attr_set =
					   MOUNT_ATTR_NOSUID |
					   (op->kind == MOUNT_DEVICE ? MOUNT_ATTR_NOEXEC
								     : MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV),
				   .propagation = MS_PRIVATE };
	if (syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return need_set(e, NEED_MOUNTS, errno, "make the view of %s read-only", op->source);
	*ret_fd = take_fd(&fd);
	return 0;
}

/*
 * As root, sources are cloned here, with the rights of the person who named them: the child, an unprivileged id by
 * then, could not walk through a folder that is closed to others. An ordinary user may only do it in the child's
 * namespace, where the same rights hold; here it is only looked whether they exist.
 */
/*
 * A place below a link of the skeleton would be made where the link leads, and before pivot_root an absolute one leads
 * into the old root: refused.
 */
static int places_check(const struct mount_plan *m, struct err *e)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct mount_op *link = &m->ops[i];
		size_t len = strlen(link->dest);
		if (link->kind != MOUNT_LINK)
			continue;
		for (size_t k = 0; k < m->count; k++)
			if (strncmp(m->ops[k].dest, link->dest, len) == 0 && m->ops[k].dest[len] == '/')
				return err_say(e, EINVAL,
					       "%s cannot be a place in the view: %s is a link there to %s",
					       m->ops[k].dest, link->dest, link->source);
	}
	return 0;
}

int mount_plan_open(struct mount_plan *m, struct err *e)
{
	int r = places_check(m, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < m->count; i++) {
		struct mount_op *op = &m->ops[i];
		struct stat st;
		if (!op_clones(op) && op->kind != MOUNT_OVERLAY)
			continue;
		if (op->mode & S_IFMT) {
			st.st_mode = op->mode; /* whoever named it has just looked */
		} else if (stat(op->source, &st) < 0) {
			if (!op->optional)
				return err_set(e, errno, "show %s at %s", op->source, op->dest);
			op->kind =
				MOUNT_DIR; /* an empty folder in its place, as on a machine that has it empty */
			op->mode = 0755;
			continue;
		}
		if (op_clones(op) && geteuid() == 0 && (r = tree_clone(op, &op->tree_fd, e)) < 0 &&
		    r != -EPERM)
			return r; /* EPERM: root without CAP_SYS_ADMIN, in a container: then the child does it, as for others */
		op->mode = S_ISDIR(st.st_mode) ? S_IFDIR | 0755 : S_IFREG | 0644;
	}
	return 0;
}

/* ---- in the child ---- */

struct builder {
	const struct mount_plan *plan;
	int root_fd;        /* the new root, attached but not yet entered */
	int folder_fd;      /* the folder that the present place lies in */
	const char *folder; /* the first place that it was opened for; NULL: none yet */
	bool made;          /* the present place was made here, so it is no link */
};

static const char *name_of(const char *dest)
{
	return strrchr(dest, '/') + 1;
}

static bool same_folder(const char *a, const char *b)
{
	size_t len = (size_t) (name_of(a) - a);
	return len == (size_t) (name_of(b) - b) && memcmp(a, b, len) == 0;
}

/*
 * A path of the new root. It is resolved inside that root and through no magic link, so that a link in a read-only source
 * below it can lead nowhere else.
 */
static int view_open(const struct builder *b, const char *path, int *ret_fd, struct err *e)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int fd = (int) syscall(SYS_openat2, b->root_fd, path, &how, sizeof(how));
	if (fd < 0)
		return err_set(e, errno, "find %s in the view", path);
	*ret_fd = fd;
	return 0;
}

/* Folders on the way to `path` on the skeleton; an existing one is fine. */
static int skeleton_parents(int root_fd, const char *path, struct err *e)
{
	char part[PATH_MAX];
	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int) (slash - path - 1), path + 1);
		if (mkdirat(root_fd, part, 0755) < 0 && errno != EEXIST)
			return err_set(e, errno, "make %s in the view", path);
	}
	return 0;
}

/*
 * The folder that `dest` lies in. Most places lie beside the one before, whose folder is open; nothing was mounted over
 * it since, or the place before would be that folder itself, which lies in another.
 */
static int folder_enter(struct builder *b, const char *dest, struct err *e)
{
	char folder[PATH_MAX];
	int r;
	if (b->folder && same_folder(b->folder, dest))
		return 0;
	close_fd(&b->folder_fd);
	snprintf(folder, sizeof(folder), "%.*s", (int) (name_of(dest) - dest), dest);
	if ((r = skeleton_parents(b->root_fd, dest, e)) < 0 ||
	    (r = view_open(b, folder, &b->folder_fd, e)) < 0)
		return r;
	b->folder = dest;
	return 0;
}

static int skeleton_file(const struct builder *b, const struct mount_op *op, struct err *e)
{
	CLOSE_FD int fd = openat(b->folder_fd, name_of(op->dest),
				 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, op->mode);
	int r = fd < 0 ? -errno : write_all(fd, op->data, op->len);
	return r < 0 ? err_set(e, -r, "write %s in the view", op->dest) : 0;
}

static int skeleton_dir(struct builder *b, const char *dest, mode_t mode, struct err *e)
{
	b->made = mkdirat(b->folder_fd, name_of(dest), mode) == 0; /* the umask is 0 here */
	return b->made || errno == EEXIST ? 0 : err_set(e, errno, "make %s in the view", dest);
}

/* At a place that was there already, which may be a link, it is attached to where that leads. */
static int attach(const struct builder *b, int tree_fd, const char *dest, struct err *e)
{
	CLOSE_FD int there = -1;
	int r = b->made ? 0 : view_open(b, dest, &there, e);
	if (r < 0)
		return r;
	r = (int) (b->made ? syscall(SYS_move_mount, tree_fd, "", b->folder_fd, name_of(dest),
				     MOVE_MOUNT_F_EMPTY_PATH)
			   : syscall(SYS_move_mount, tree_fd, "", there, "",
				     MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
	return r < 0 ? err_set(e, errno, "mount at %s", dest) : 0;
}

/* A file system that the kernel makes anew. */
struct new_fs {
	const char *type;
	const char *const (
		*options)[2]; /* pairs of key and value, a value of NULL is a flag; ended by a key of NULL */
	unsigned attr;        /* of its mount, besides nosuid */
};

static int attach_new(const struct builder *b, const struct new_fs *new, const char *dest, struct err *e)
{
	const char *type = new->type;
	CLOSE_FD int fs = (int) syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	if (fs < 0)
		return err_set(e, errno, "open a %s file system for %s", type, dest);
	for (const char *const(*options)[2] = new->options; options && (*options)[0]; options++)
		if (syscall(SYS_fsconfig, fs, (*options)[1] ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG,
			    (*options)[0], (*options)[1], 0) < 0)
			return err_set(e, errno, "set %s of the %s file system at %s", (*options)[0], type,
				       dest);
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_set(e, errno, "create the %s file system at %s", type, dest);
	CLOSE_FD int mnt = (int) syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | new->attr);
	if (mnt < 0)
		return err_set(e, errno, "mount the %s file system at %s", type, dest);
	return attach(b, mnt, dest, e);
}

/* A folder of the sized tmpfs gets a mount of its own: it stays writable when the skeleton around it no longer is. */
static int attach_work(struct builder *b, const struct mount_op *op, struct err *e)
{
	int r = skeleton_dir(b, op->dest, op->mode, e);
	if (r < 0)
		return r;
	CLOSE_FD int fd = (int) syscall(SYS_open_tree, b->folder_fd, name_of(op->dest),
					OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (fd < 0)
		return err_set(e, errno, "open %s in the view", op->dest);
	return attach(b, fd, op->dest, e);
}

static int project_dir(const struct builder *b, const char *path, mode_t mode, struct err *e)
{
	return mkdirat(b->root_fd, path, mode) == 0 ? 0 : err_set(e, errno, "make /%s in the view", path);
}

/* The copy-on-write layer lies on the skeleton, where the target cannot reach it. */
static int attach_overlay(struct builder *b, const struct mount_op *op, struct err *e)
{
	int r;
	struct buf escaped = { 0 }; /* ':' parts layers, '\\' escapes */
	for (const char *p = op->source; *p; p++)
		buf_printf(&escaped, *p == ':' || *p == '\\' ? "\\%c" : "%c", *p);
	FREE char *lower = buf_steal(&escaped);
	if ((r = project_dir(b, ".project", 0700, e)) < 0 ||
	    (r = project_dir(b, ".project/upper", 0755, e)) < 0 ||
	    (r = project_dir(b, ".project/work", 0700, e)) < 0 ||
	    (r = skeleton_dir(b, op->dest, op->mode & 07777, e)) < 0)
		return r;
	if (fchdir(b->root_fd) < 0)
		return err_set(e, errno, "enter the view");
	const char *const options[][2] = { { "lowerdir", lower },
					   { "upperdir", ".project/upper" },
					   { "workdir", ".project/work" },
					   { "userxattr", NULL },
					   { NULL, NULL } };
	const struct new_fs overlay = { "overlay", options, MOUNT_ATTR_NODEV };
	r = attach_new(b, &overlay, op->dest, e);
	return r < 0 ? need_in(e, NEED_OVERLAY) : r;
}

static int attach_proc(struct builder *b, const struct mount_op *op, struct err *e)
{
	static const struct new_fs proc = { "proc", NULL, MOUNT_ATTR_NODEV };
	int r = skeleton_dir(b, op->dest, 0555, e);
	if (r < 0)
		return r;
	r = attach_new(b, &proc, op->dest, e);
	return r < 0 ? need_in(e, NEED_PROC) : r;
}

/*
 * Terminals are devices, but only those of this instance, and few: the kernel has one number of them for all. Without
 * these file systems a run has less, nothing is held less firmly, and programs are told by their own calls.
 */
static int attach_optional(struct builder *b, const struct mount_op *op, struct err *e)
{
	static const char *const terminal_options[][2] = {
		{ "ptmxmode", "0666" }, { "mode", "0620" }, { "max", "64" }, { NULL, NULL }
	};
	static const struct new_fs terminals = { "devpts", terminal_options, MOUNT_ATTR_NOEXEC },
				   queues = { "mqueue", NULL, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };
	struct err ignored;
	int r = skeleton_dir(b, op->dest, 0555, e);
	if (r >= 0)
		(void) attach_new(b, op->kind == MOUNT_TERMINALS ? &terminals : &queues, op->dest, &ignored);
	return r;
}

/* A source's own place in the new root: a folder or an empty file, where none is there yet. */
static int attach_clone(struct builder *b, const struct mount_op *op, int tree_fd, struct err *e)
{
	const char *name = name_of(op->dest);
	b->made = (S_ISDIR(op->mode) ? mkdirat(b->folder_fd, name, 0755)
				     : mknodat(b->folder_fd, name, S_IFREG | 0444, 0)) == 0;
	if (!b->made && errno != EEXIST)
		return err_set(e, errno, "make a place for %s at %s", op->source, op->dest);
	return attach(b, tree_fd, op->dest, e);
}

static int make_read_only(const struct builder *b, const struct mount_op *op, struct err *e)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	const char *path = op->dest[1] ? op->dest + 1 : "";
	if (syscall(SYS_mount_setattr, b->root_fd, path, AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return err_set(e, errno, "make %s read-only", op->dest);
	return 0;
}

static int carry_out(struct builder *b, size_t index, int tree_fd, struct err *e)
{
	const struct mount_op *op = &b->plan->ops[index];
	int r = folder_enter(b, op->dest, e);
	if (r < 0)
		return r;
	switch (op->kind) {
	case MOUNT_BIND:
	case MOUNT_DEVICE:
		return attach_clone(b, op, tree_fd, e);
	case MOUNT_WORK:
		return attach_work(b, op, e);
	case MOUNT_OVERLAY:
		return attach_overlay(b, op, e);
	case MOUNT_PROC:
		return attach_proc(b, op, e);
	case MOUNT_TERMINALS:
	case MOUNT_QUEUES:
		return attach_optional(b, op, e);
	case MOUNT_DIR:
		return skeleton_dir(b, op->dest, op->mode, e);
	case MOUNT_LINK:
		if (symlinkat(op->source, b->folder_fd, name_of(op->dest)) < 0 && errno != EEXIST)
			return err_set(e, errno, "make the link %s in the view", op->dest);
		return 0;
	case MOUNT_FILE:
	case MOUNT_WRITE:
		return skeleton_file(b, op, e);
	case MOUNT_READ_ONLY:
		return make_read_only(b, op, e);
	}
	return 0;
}

/*
 * The limits of the tmpfs are set when the skeleton stands: what it takes itself is added, so that the target has
 * exactly what was promised.
 */
static int size_work(const struct builder *b, struct err *e)
{
	struct statfs fs;
	char size[24], inodes[24];
	if (fstatfs(b->root_fd, &fs) < 0)
		return err_set(e, errno, "measure the view's tmpfs");
	CLOSE_FD int fd = (int) syscall(SYS_fspick, b->root_fd, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC);
	if (fd < 0)
		return err_set(e, errno, "reopen the view's tmpfs");
	uint64_t used = (fs.f_blocks - fs.f_bfree) * (uint64_t) fs.f_bsize;
	snprintf(size, sizeof(size), "%llu", (unsigned long long) (b->plan->space + used));
	snprintf(inodes, sizeof(inodes), "%llu",
		 (unsigned long long) (b->plan->inodes + (fs.f_files - fs.f_ffree)));
	if ((b->plan->space != UINT64_MAX &&
	     syscall(SYS_fsconfig, fd, FSCONFIG_SET_STRING, "size", size, 0) < 0) ||
	    (b->plan->inodes != UINT64_MAX &&
	     syscall(SYS_fsconfig, fd, FSCONFIG_SET_STRING, "nr_inodes", inodes, 0) < 0) ||
	    syscall(SYS_fsconfig, fd, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
		return err_set(e, errno, "limit the writable places to %s bytes and %s inodes", size, inodes);
	return 0;
}

/* The skeleton, attached over a folder of the old root that no source of an overlay lies below. */
static int root_create(const struct mount_plan *m, int *ret_fd, struct err *e)
{
	const char *stage = STAGE_A;
	for (size_t i = 0; i < m->count; i++)
		if (m->ops[i].kind == MOUNT_OVERLAY && str_starts(m->ops[i].source, STAGE_A))
			stage = STAGE_B;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) <
	    0) /* nothing from here reaches the host's mounts */
		return need_set(e, NEED_MOUNTS, errno, "part the mounts from the host's");
	/* The kernel's default is half the memory; without a limit asked for that is what stands. */
	if (mount("belljar", stage, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") < 0)
		return need_set(e, NEED_MOUNTS, errno, "mount the view's tmpfs");
	int fd = open(stage, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, errno, "open the view's tmpfs");
	*ret_fd = fd;
	return 0;
}

static int root_enter(int root_fd, struct err *e)
{
	/* The old root ends up stacked under the new one and is let go: pivot_root(2), "pivot_root(".", ".")". */
	if (fchdir(root_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return need_set(e, NEED_MOUNTS, errno, "enter the new root");
	if (umount2(".", MNT_DETACH) < 0)
		return err_set(e, errno, "let go of the old root");
	if (chdir("/") < 0)
		return err_set(e, errno, "enter the new root");
	return 0;
}

int mount_plan_apply(const struct mount_plan *m, struct err *e)
{
	int r;
	CLOSE_FD int root_fd = -1;
	FREE int *tree_fds = xcalloc(m->count ? m->count : 1, sizeof(int)); /* exec or exit closes them */
	umask(0);
	for (size_t i = 0; i < m->count; i++) { /* all sources first: then the old root may be covered */
		tree_fds[i] = m->ops[i].tree_fd;
		if (tree_fds[i] < 0 && op_clones(&m->ops[i]) &&
		    (r = tree_clone(&m->ops[i], &tree_fds[i], e)) < 0)
			return r;
	}
	if ((r = root_create(m, &root_fd, e)) < 0)
		return r;
	struct builder b = { .plan = m, .root_fd = root_fd, .folder_fd = -1 }; /* exec or exit closes it */
	for (size_t i = 0; i < m->count; i++) {
		if (m->ops[i].kind == MOUNT_READ_ONLY && m->ops[i].dest[1] == 0 && (r = size_work(&b, e)) < 0)
			return r; /* a read-only mount does not stop it, but this is when the skeleton is whole */
		if ((r = carry_out(&b, i, tree_fds[i], e)) < 0)
			return r;
	}
	umask(0022); /* what the target starts with, whatever ours was */
	return root_enter(root_fd, e);
}
