/* SPDX-License-Identifier: MIT */
/*
 * Removing a tree that a hostile program built: folders nested thousands deep (no path reaches the lowest,
 * and a descriptor a level would run out), folders without permissions, links that lead out, mounts.
 *
 * Ordinary trees are walked with one descriptor a level. What lies deeper than DEPTH_MAX is moved up into the
 * top folder by renameat(2) and met again there in the next pass. Each folder is moved at most once, so the
 * work is linear, with DEPTH_MAX descriptors and no memory a level; and nobody ever has to find the way back
 * by "..", which an attacker who is still alive could turn elsewhere.
 */
#include "core/base/util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/base/err.h"

#define DEPTH_MAX  16
#define PASSES_MAX 3 /* over a folder: readdir(3) may miss what moves; a fourth would chase a writer */

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6, the same number on every architecture */
#endif

struct tree {
	int top_fd;
	dev_t dev;
	unsigned next_name, hoisted;
	struct err first; /* failure: the rest is removed all the same, and a later pass may mend it */
};

static void tree_note(struct tree *t, int code, const char *what, const char *name)
{
	if (t->first.code == 0)
		(void) err_set(&t->first, code, "%s %s", what, name);
}

/* Gives the owner back what the target took away. By descriptor, not by name: that could be a link by now. */
static void make_searchable(int path_fd, mode_t mode)
{
	char proc[64];
	if ((mode & S_IRWXU) == S_IRWXU)
		return;
	if (syscall(SYS_fchmodat2, path_fd, "", S_IRWXU, AT_EMPTY_PATH) == 0)
		return;
	/* Before Linux 6.6 O_PATH descriptors could only be changed so; this link leads to the inode. */
	(void) snprintf(proc, sizeof(proc), "/proc/self/fd/%d", path_fd);
	(void) chmod(proc, S_IRWXU); /* where it fails, opening says what is wrong */
}

/* Bind mounts of the same filesystem have the same st_dev: ask for the mount itself (Linux 5.8). */
static bool is_mount(const struct statx *stx, const struct tree *t)
{
	if (stx->stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)
		return stx->stx_attributes & STATX_ATTR_MOUNT_ROOT;
	return t->dev && makedev(stx->stx_dev_major, stx->stx_dev_minor) != t->dev;
}

/* Opens a folder for reading and makes it writable. ELOOP and ENOTDIR: it is something else. */
static int tree_open(struct tree *t, int dirfd, const char *name)
{
	struct statx stx;
	CLOSE_FD int path_fd = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (path_fd < 0)
		return -errno;
	if (statx(path_fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MODE, &stx) < 0)
		return -errno;
	if (is_mount(&stx, t))
		return -EBUSY;
	if (!t->dev)
		t->dev = makedev(stx.stx_dev_major, stx.stx_dev_minor);
	make_searchable(path_fd, stx.stx_mode);
	int fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Moves a folder into the top one. Names that are taken, by chance or malice, are tried once a removal. */
static bool tree_hoist(struct tree *t, int dirfd, const char *name)
{
	char to[32];
	do {
		(void) snprintf(to, sizeof(to), "deep-%u", t->next_name++);
		if (renameat(dirfd, name, t->top_fd, to) == 0) {
			t->hoisted++;
			return true;
		}
	} while (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR);
	tree_note(t, errno, "move folder", name);
	return false;
}

static void tree_empty(struct tree *t, int dirfd, unsigned depth);

/* Removes one entry, whatever it is. True when something changed. */
static bool tree_entry(struct tree *t, int dirfd, const char *name, unsigned depth)
{
	if (unlinkat(dirfd, name, 0) == 0)
		return true;
	if (errno != EISDIR && errno != EPERM) { /* for a folder Linux says the one, POSIX the other */
		if (errno != ENOENT)
			tree_note(t, errno, "remove", name);
		return false;
	}
	CLOSE_FD int fd = tree_open(t, dirfd, name);
	if (fd < 0) {
		tree_note(t, fd == -ENOTDIR || fd == -ELOOP ? EPERM : -fd, "remove", name);
		return false;
	}
	if (depth >= DEPTH_MAX)
		return tree_hoist(t, dirfd, name);
	tree_empty(t, take_fd(&fd), depth + 1);
	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0)
		return true;
	tree_note(t, errno, "remove folder", name);
	return false;
}

/* Takes the descriptor. */
static void tree_empty(struct tree *t, int dirfd, unsigned depth)
{
	DIR *dir = fdopendir(dirfd);
	if (!dir) {
		tree_note(t, errno, "read", "folder");
		close_fd(&dirfd);
		return;
	}
	bool changed = true;
	for (unsigned pass = 0; changed && pass < PASSES_MAX; pass++) {
		unsigned hoisted = t->hoisted;
		struct dirent *entry;
		changed = false;
		rewinddir(dir);
		while ((entry = readdir(dir))) {
			const char *name = entry->d_name;
			if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])))
				continue;
			changed |= tree_entry(t, dirfd, name, depth);
		}
		if (depth == 0 && hoisted != t->hoisted)
			pass = 0; /* the top got new entries; this ends, as each folder is moved once */
	}
	(void) closedir(dir);
}

int dir_remove_tree(int dirfd, const char *name, struct err *e)
{
	struct tree t = { .top_fd = -1 };
	CLOSE_FD int top_fd = tree_open(&t, dirfd, name);

	if (top_fd == -ENOENT)
		return 0;
	if (top_fd == -ENOTDIR || top_fd == -ELOOP) {
		if (unlinkat(dirfd, name, 0) < 0 && errno != ENOENT)
			return err_set(e, errno, "remove %s", name);
		return 0;
	}
	if (top_fd < 0)
		return err_set(e, -top_fd, "remove folder %s", name);
	t.top_fd = fcntl(top_fd, F_DUPFD_CLOEXEC, 0);
	if (t.top_fd < 0)
		return err_set(e, errno, "duplicate a descriptor");
	tree_empty(&t, take_fd(&top_fd), 0);
	close_fd(&t.top_fd);
	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	tree_note(&t, errno, "remove folder", name);
	if (e)
		*e = t.first;
	return -t.first.code;
}
