/* SPDX-License-Identifier: MIT */
/*
 * What a run changed in a project. It had a copy-on-write view of it, and the upper folder of the overlay says it: what
 * is there was made or changed, a whiteout stands for what was removed, and an opaque folder hides all that the lower
 * one holds (the kernel's filesystems/overlayfs.rst). Or it had a copy, which is compared with the original. Either
 * folder was a hostile program's.
 */
#include "core/backend/stage.h"

#include "core/backend/stage_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

struct report {
	const struct stage_view *view;
	const struct stage_listener *to;
	struct walk walk; /* the run's folder, beside it the original (an overlay's lower one) */
	uint64_t told, untold;
	size_t taken; /* so many levels of the walk are in the set of what was taken */
};

static void take(struct report *r, const struct stat *st)
{
	struct stage_set *set = r->to->taken;

	if (!set)
		return;
	for (; r->taken < r->walk.depth; r->taken++) {
		const struct walk_level *l = &r->walk.level[r->taken];
		stage_set_add(set, l->id[WALK_FROM].dev, l->id[WALK_FROM].ino);
	}
	stage_set_add(set, st->st_dev, st->st_ino);
}

static void tell(struct report *r, enum stage_change what, const char *path, uint64_t bytes)
{
	if (r->told >= r->to->max) {
		r->untold++;
		return;
	}
	r->told++;
	r->to->changed(r->to->arg, what, path, bytes);
}

static void tell_folder(struct report *r, enum stage_change what, const char *name)
{
	FREE char *path = xprintf("%s/", walk_path(&r->walk, name));

	tell(r, what, path, 0);
}

/* The overlay's marks are in user.* where an ordinary user mounted it (userxattr), else in trusted.*. */
static bool is_marked(int fd, const char *mark, char value)
{
	static const char *const spaces[] = { "user.overlay.", "trusted.overlay." };
	char name[64], got[8];

	for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
		snprintf(name, sizeof name, "%s%s", spaces[i], mark);
		ssize_t n = fgetxattr(fd, name, got, sizeof got);
		if (n >= 0 && (value == '\0' || (n > 0 && got[0] == value)))
			return true;
	}
	return false;
}

/* A device 0:0, or since 6.7 an empty file that carries a mark, so that no device node needs to be made. */
static bool is_whiteout(int dirfd, const char *name, const struct stat *st)
{
	if (S_ISCHR(st->st_mode))
		return st->st_rdev == makedev(0, 0);
	if (!S_ISREG(st->st_mode) || st->st_size != 0)
		return false;
	CLOSE_FD int fd = walk_open(dirfd, name, O_RDONLY, false);
	return fd >= 0 && is_marked(fd, "whiteout", '\0');
}

static bool lower_stat(const struct report *r, const char *name, struct stat *ret)
{
	int fd = r->walk.fd[WALK_BESIDE];

	return fd >= 0 && fstatat(fd, name, ret, AT_SYMLINK_NOFOLLOW) == 0;
}

/* What the original has here and the run's folder has not, where the latter holds all there is. */
static void tell_missing(struct report *r)
{
	int was_fd = r->walk.fd[WALK_BESIDE], is_fd = r->walk.fd[WALK_FROM];
	struct stat st;
	int fd = was_fd < 0 ? -1 : openat(was_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		close_fd(&fd);
		return;
	}
	for (struct dirent *d; (d = readdir(dir));) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		    fstatat(is_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		if (lower_stat(r, d->d_name, &st) && S_ISDIR(st.st_mode))
			tell_folder(r, STAGE_REMOVED, d->d_name);
		else
			tell(r, STAGE_REMOVED, walk_path(&r->walk, d->d_name), 0);
	}
	(void) closedir(dir);
}

static int enter(struct report *r, const char *name, int from_fd, int beside_fd, bool whole, struct err *e)
{
	int over = walk_enter(&r->walk, name, from_fd, beside_fd, e);

	if (over < 0)
		return over;
	r->untold += over == 1;
	if (whole)
		tell_missing(r);
	return 0;
}

static int report_folder(struct report *r, const char *name, const struct stat *st, struct err *e)
{
	struct stat lower;
	bool was = lower_stat(r, name, &lower);
	bool was_folder = was && S_ISDIR(lower.st_mode);

	CLOSE_FD int fd = walk_open(r->walk.fd[WALK_FROM], name, O_RDONLY | O_DIRECTORY, false);
	CLOSE_FD int lower_fd =
		was_folder ? walk_open(r->walk.fd[WALK_BESIDE], name, O_RDONLY | O_DIRECTORY, false) : -1;
	if (!was_folder)
		tell_folder(r, was ? STAGE_CHANGED : STAGE_ADDED, name);
	if (!was_folder || fd < 0)
		take(r, st);
	if (fd < 0) {
		r->untold++; /* its maker took the permission to look inside away */
		return 0;
	}
	/* An opaque folder was removed and made again. Its entries are still compared with what had their
	 * names. */
	bool whole = r->view->kind == STAGE_COPY || is_marked(fd, "opaque", 'y');
	return enter(r, name, take_fd(&fd), lower_fd < 0 ? -1 : take_fd(&lower_fd), whole, e);
}

/* ---- an entry beside the original's: an overlay has one also where only its times were set ---- */

static ssize_t read_block(int fd, char *to, size_t len)
{
	size_t have = 0;

	while (have < len) {
		ssize_t n = read(fd, to + have, len - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -1 : (ssize_t) have;
		have += (size_t) n;
	}
	return (ssize_t) have;
}

/* Nothing is read beyond the size that both have: what a run made larger than the original is known to differ. */
static bool same_content(const int dirfd[WALK_SIDES], const char *name)
{
	char block[WALK_SIDES][1 << 15];
	struct stat st[WALK_SIDES];
	CLOSE_FD int from_fd = walk_open(dirfd[WALK_FROM], name, O_RDONLY, false);
	CLOSE_FD int beside_fd = walk_open(dirfd[WALK_BESIDE], name, O_RDONLY, false);

	if (from_fd < 0 || beside_fd < 0 || fstat(from_fd, &st[WALK_FROM]) < 0 ||
	    fstat(beside_fd, &st[WALK_BESIDE]) < 0)
		return false;
	if (!S_ISREG(st[WALK_FROM].st_mode) || !S_ISREG(st[WALK_BESIDE].st_mode) ||
	    st[WALK_FROM].st_size != st[WALK_BESIDE].st_size)
		return false;
	for (uint64_t left = (uint64_t) st[WALK_FROM].st_size; left > 0;) {
		size_t n = left < sizeof block[0] ? (size_t) left : sizeof block[0];
		if (read_block(from_fd, block[WALK_FROM], n) != (ssize_t) n ||
		    read_block(beside_fd, block[WALK_BESIDE], n) != (ssize_t) n ||
		    memcmp(block[WALK_FROM], block[WALK_BESIDE], n) != 0)
			return false;
		left -= n;
	}
	return true;
}

static bool same_target(const int dirfd[WALK_SIDES], const char *name)
{
	char target[WALK_SIDES][PATH_MAX];
	ssize_t len[WALK_SIDES];

	for (int side = 0; side < WALK_SIDES; side++)
		len[side] = readlinkat(dirfd[side], name, target[side], sizeof target[side]);
	return len[WALK_FROM] >= 0 && len[WALK_FROM] == len[WALK_BESIDE] &&
	       memcmp(target[WALK_FROM], target[WALK_BESIDE], (size_t) len[WALK_FROM]) == 0;
}

static bool is_same(const struct report *r, const char *name, const struct stat *now, const struct stat *was)
{
	if ((now->st_mode & S_IFMT) != (was->st_mode & S_IFMT))
		return false;
	if (S_ISLNK(now->st_mode))
		return same_target(r->walk.fd, name);
	return S_ISREG(now->st_mode) && ((now->st_mode ^ was->st_mode) & 0111) == 0 &&
	       same_content(r->walk.fd, name);
}

/* ---- the whole ---- */

static bool is_ours(const struct report *r, const char *name)
{
	const char *const *ours = r->walk.depth == 1 ? r->view->ours : NULL;

	for (; ours && *ours; ours++)
		if (strcmp(*ours, name) == 0)
			return true;
	return false;
}

static int report_entry(struct report *r, const char *name, struct err *e)
{
	struct stat now, lower;
	int dirfd = r->walk.fd[WALK_FROM];

	if (is_ours(r, name))
		return 0;
	if (fstatat(dirfd, name, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(e, errno, "look at %s", walk_path(&r->walk, name));
	if (S_ISDIR(now.st_mode))
		return report_folder(r, name, &now, e);

	bool was = lower_stat(r, name, &lower);
	if (r->view->kind == STAGE_UPPER && is_whiteout(dirfd, name, &now)) {
		if (was && S_ISDIR(lower.st_mode))
			tell_folder(r, STAGE_REMOVED, name);
		else if (was) /* else of nothing: made and removed again */
			tell(r, STAGE_REMOVED, walk_path(&r->walk, name), 0);
	} else if (!was || !is_same(r, name, &now, &lower)) {
		take(r, &now);
		tell(r, was ? STAGE_CHANGED : STAGE_ADDED, walk_path(&r->walk, name), (uint64_t) now.st_size);
	}
	return 0;
}

static int leave(struct report *r, struct err *e)
{
	int done = walk_leave(&r->walk, e);

	if (r->taken > r->walk.depth)
		r->taken = r->walk.depth;
	return done;
}

int stage_report(const struct stage_view *view, const struct stage_listener *to, struct err *e)
{
	struct report r = { .view = view, .to = to };

	CLOSE_FD int lower_fd = open(view->original, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lower_fd < 0)
		return err_set(e, errno, "open folder %s", view->original);
	CLOSE_FD int from_fd = openat(view->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (from_fd < 0)
		return err_set(e, errno, "open the run's view of %s", view->original);

	walk_init(&r.walk, STAGE_FILES_MAX);
	int done = enter(&r, "", take_fd(&from_fd), take_fd(&lower_fd), view->kind == STAGE_COPY, e);
	/* A flood of changes is not counted to its end: "more than" is all that a person needs to know of
	 * it. What is to be taken has to be found all the same. */
	while (done >= 0 && r.walk.depth > 0 && (to->taken || r.untold <= to->max)) {
		const char *name = walk_next(&r.walk);
		done = name ? report_entry(&r, name, e) : leave(&r, e);
	}
	walk_done(&r.walk);
	if (to->taken)
		stage_set_sort(to->taken);
	if (done < 0)
		return done;
	return r.untold > INT_MAX ? INT_MAX : (int) r.untold;
}
