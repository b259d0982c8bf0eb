/* SPDX-License-Identifier: MIT */
/*
 * Goes through what is to become an image: to see whether it changed, and to put right what was copied.
 */
#include "core/backend/image.h"
#include "core/backend/stage_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int too_many(const char *path, struct err *e)
{
	return err_say(e, EFBIG, "%s holds more than %d files and folders, the most that one image takes",
		       path, IMAGE_MAX_FILES);
}

static int visit_entry(struct walk *w, const char *top, const char *name, image_visit_fn visit, void *arg,
		       struct err *e)
{
	struct stat st;
	if (fstatat(w->fd[WALK_FROM], name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(e, errno, "look at %s/%s", top, walk_path(w, name));
	const struct image_visit v = {
		.dirfd = w->fd[WALK_FROM], .name = name, .path = walk_path(w, name), .st = &st
	};
	int r = visit(arg, &v, e);
	if (r < 0 || !S_ISDIR(st.st_mode))
		return r;
	int fd = walk_open(w->fd[WALK_FROM], name, O_RDONLY | O_DIRECTORY, false);
	if (fd < 0)
		return err_set(e, -fd, "open folder %s/%s", top, walk_path(w, name));
	r = walk_enter(w, name, fd, -1, e);
	return r == 1 ? too_many(top, e) : r;
}

static int walk_folder(const char *path, image_visit_fn visit, void *arg, struct err *e)
{
	struct walk w;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, errno, "open folder %s", path);
	walk_init(&w, IMAGE_MAX_FILES);
	int r = walk_enter(&w, "", fd, -1, e);
	if (r == 1)
		r = too_many(path, e);
	while (r >= 0 && w.depth > 0) {
		const char *name = walk_next(&w);
		r = name ? visit_entry(&w, path, name, visit, arg, e) : walk_leave(&w, e);
	}
	walk_done(&w);
	return r;
}

int image_walk(const char *path, image_visit_fn visit, void *arg, struct err *e)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return err_set(e, errno, "look at %s", path);
	const struct image_visit v = { .dirfd = AT_FDCWD, .name = path, .path = "", .st = &st };
	int r = visit(arg, &v, e);
	return r < 0 || !S_ISDIR(st.st_mode) ? r : walk_folder(path, visit, arg, e);
}

/* The time of the last change of the inode says all: what changes bytes, size or mode sets it, and no call
 * sets it back. */
static int fact(void *arg, const struct image_visit *v, struct err *e)
{
	const struct stat *st = v->st;
	(void) e;
	buf_printf(arg, "%s\n%llx %llx %o %lld %lld.%09ld %lld.%09ld\n", v->path,
		   (unsigned long long) st->st_dev, (unsigned long long) st->st_ino, st->st_mode,
		   (long long) st->st_size, (long long) st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
		   (long long) st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
	return 0;
}

int image_facts(const char *path, struct buf *out, struct err *e)
{
	buf_printf(out, "%s\n", path);
	return image_walk(path, fact, out, e);
}
