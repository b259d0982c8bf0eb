/* SPDX-License-Identifier: MIT */
/*
 * What a run changed in a copy-on-write view, read from the upper folder of its overlay: what is there was
 * made or changed, a whiteout stands for what was removed, and an opaque folder hides all that the lower one
 * holds. The upper folder was a hostile program's. See the kernel's filesystems/overlayfs.rst.
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
	const struct stage_listener *to;
	struct walk walk; /* the upper folder, beside it the lower */
	uint64_t told, untold;
};

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

/* All that the lower folder holds is gone, but for what the upper has by the same name. */
static void tell_hidden(struct report *r, int lower_fd, int upper_fd, const char *name)
{
	struct stat st;
	int fd = openat(lower_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		close_fd(&fd);
		return;
	}
	FREE char *below = xstrdup(walk_path(&r->walk, name));
	for (struct dirent *d; (d = readdir(dir));) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		    fstatat(upper_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		FREE char *path = xprintf("%s/%s%s", below, d->d_name, d->d_type == DT_DIR ? "/" : "");
		tell(r, STAGE_REMOVED, path, 0);
	}
	(void) closedir(dir);
}

static int report_folder(struct report *r, const char *name, struct err *e)
{
	struct stat lower;
	bool was = lower_stat(r, name, &lower);
	bool was_folder = was && S_ISDIR(lower.st_mode);

	CLOSE_FD int upper_fd = walk_open(r->walk.fd[WALK_FROM], name, O_RDONLY | O_DIRECTORY, false);
	CLOSE_FD int lower_fd =
		was_folder ? walk_open(r->walk.fd[WALK_BESIDE], name, O_RDONLY | O_DIRECTORY, false) : -1;
	if (!was_folder)
		tell_folder(r, was ? STAGE_CHANGED : STAGE_ADDED, name);
	if (upper_fd < 0) {
		r->untold++; /* its maker took the permission to look inside away */
		return 0;
	}
	/* An opaque folder was removed and made again. Its entries are still compared with what had their
	 * names. */
	if (lower_fd >= 0 && is_marked(upper_fd, "opaque", 'y'))
		tell_hidden(r, lower_fd, upper_fd, name);
	int over = walk_enter(&r->walk, name, take_fd(&upper_fd), lower_fd < 0 ? -1 : take_fd(&lower_fd), e);
	r->untold += over == 1;
	return over < 0 ? over : 0;
}

static int report_entry(struct report *r, const char *name, struct err *e)
{
	struct stat upper, lower;
	int dirfd = r->walk.fd[WALK_FROM];

	if (fstatat(dirfd, name, &upper, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(e, errno, "look at %s", walk_path(&r->walk, name));
	if (S_ISDIR(upper.st_mode))
		return report_folder(r, name, e);

	bool was = lower_stat(r, name, &lower);
	if (!is_whiteout(dirfd, name, &upper))
		tell(r, was ? STAGE_CHANGED : STAGE_ADDED, walk_path(&r->walk, name),
		     (uint64_t) upper.st_size);
	else if (was && S_ISDIR(lower.st_mode))
		tell_folder(r, STAGE_REMOVED, name);
	else if (was) /* else a whiteout of nothing: made and removed again */
		tell(r, STAGE_REMOVED, walk_path(&r->walk, name), 0);
	return 0;
}

int stage_report(int upper_dirfd, const char *lower, const struct stage_listener *to, struct err *e)
{
	struct report r = { .to = to };

	CLOSE_FD int lower_fd = open(lower, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lower_fd < 0)
		return err_set(e, errno, "open folder %s", lower);
	CLOSE_FD int upper_fd = openat(upper_dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (upper_fd < 0)
		return err_set(e, errno, "open the overlay's upper folder");

	walk_init(&r.walk, STAGE_FILES_MAX);
	int done = walk_enter(&r.walk, "", take_fd(&upper_fd), take_fd(&lower_fd), e);
	r.untold += done == 1;
	/* A flood of changes is not counted to its end: "more than" is all that a person needs to know of
	 * it. */
	while (done >= 0 && r.walk.depth > 0 && r.untold <= to->max) {
		const char *name = walk_next(&r.walk);
		done = name ? report_entry(&r, name, e) : walk_leave(&r.walk, e);
	}
	walk_done(&r.walk);
	if (done < 0)
		return done;
	return r.untold > INT_MAX ? INT_MAX : (int) r.untold;
}
