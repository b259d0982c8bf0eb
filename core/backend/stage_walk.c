/* SPDX-License-Identifier: MIT */
/*
 * Trees thousands of levels deep have no path that the kernel would take, and a descriptor a level would run
 * out. So we stand in one folder at a time and come back by "..", believed only when it leads to the very
 * folder (device and inode) we came from: whoever moves folders about meanwhile ends the walk instead of
 * leading it elsewhere.
 */
#include "core/backend/stage_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void walk_init(struct walk *w, uint64_t max)
{
	*w = (struct walk){ .fd = { -1, -1 }, .max = max };
}

static void level_done(struct walk_level *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->names[i]);
	free(l->names);
	close_fd(&l->held_fd);
}

void walk_done(struct walk *w)
{
	while (w->depth > 0)
		level_done(&w->level[--w->depth]);
	free(w->level);
	buf_done(&w->path);
	close_fd(&w->fd[WALK_FROM]);
	close_fd(&w->fd[WALK_BESIDE]);
}

int walk_open(int dirfd, const char *name, int flags, bool one_mount)
{
	struct open_how how = {
		.flags = (uint64_t) (flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   (one_mount ? RESOLVE_NO_XDEV : 0),
	};
	if (flags & O_PATH)
		how.flags &= ~(uint64_t) (O_NONBLOCK | O_NOCTTY);
	int fd = (int) syscall(SYS_openat2, dirfd, name, &how, sizeof how);
	if (fd >= 0)
		return fd;
	/*
	 * Before 5.6, or refused by a container's old filter. One component without a slash, so O_NOFOLLOW
	 * says it all but the mount, for which the device has to do.
	 */
	if (errno != ENOSYS && errno != EPERM)
		return -errno;
	struct stat here, there;
	CLOSE_FD int plain_fd = openat(dirfd, name, (int) how.flags);
	if (plain_fd < 0)
		return -errno;
	if (one_mount && fstat(dirfd, &here) == 0 && fstat(plain_fd, &there) == 0 && S_ISDIR(there.st_mode) &&
	    here.st_dev != there.st_dev)
		return -EXDEV;
	return take_fd(&plain_fd);
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* At most `room` names. Returns 1 when there were more. */
static int list_names(int dirfd, struct walk_level *l, uint64_t room)
{
	size_t space = 0;
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		int code = errno;
		close_fd(&fd);
		return -code;
	}
	int r = 0;
	struct dirent *d;
	while (errno = 0, (d = readdir(dir))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (l->count >= room) {
			r = 1;
			break;
		}
		if (l->count == space) {
			space = space ? space * 2 : 16;
			l->names = xrealloc(l->names, space * sizeof *l->names);
		}
		l->names[l->count++] = xstrdup(d->d_name);
	}
	if (!d && errno)
		r = -errno;
	(void) closedir(dir);
	if (l->count > 1)
		qsort(l->names, l->count, sizeof *l->names, by_bytes);
	return r;
}

static int remember(struct walk_level *l, const int fd[WALK_SIDES])
{
	struct stat st;

	for (int side = 0; side < WALK_SIDES; side++) {
		if (fd[side] < 0)
			continue;
		if (fstat(fd[side], &st) < 0)
			return -errno;
		l->id[side].dev = st.st_dev;
		l->id[side].ino = st.st_ino;
	}
	return 0;
}

int walk_enter(struct walk *w, const char *name, int from_fd, int beside_fd, struct err *e)
{
	const int fd[WALK_SIDES] = { from_fd, beside_fd };
	struct walk_level l = { .held_fd = -1 };
	uint64_t used = w->seen + w->queued;

	(void) walk_path(w, name);
	l.path_len = w->path.len;
	int r = remember(&l, fd);
	int over = r < 0 ? r : list_names(from_fd, &l, used < w->max ? w->max - used : 0);
	if (over < 0) {
		r = err_set(e, -over, "read folder %s", l.path_len ? w->path.data : "itself");
		level_done(&l);
		close_fd(&from_fd);
		close_fd(&beside_fd);
		return r;
	}
	if (beside_fd < 0)
		l.held_fd = take_fd(&w->fd[WALK_BESIDE]);
	close_fd(&w->fd[WALK_FROM]);
	close_fd(&w->fd[WALK_BESIDE]);
	w->fd[WALK_FROM] = from_fd;
	w->fd[WALK_BESIDE] = beside_fd;

	if (w->depth == w->room) {
		w->room = w->room ? w->room * 2 : 16;
		w->level = xrealloc(w->level, w->room * sizeof *w->level);
	}
	w->level[w->depth++] = l;
	w->queued += l.count;
	return over;
}

const char *walk_next(struct walk *w)
{
	struct walk_level *l = &w->level[w->depth - 1];

	if (l->next == l->count)
		return NULL;
	w->queued--;
	w->seen++;
	return l->names[l->next++];
}

static int go_up(struct walk *w, int side, struct err *e)
{
	const struct walk_level *up = &w->level[w->depth - 2];
	struct stat st;

	CLOSE_FD int fd = openat(w->fd[side], "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, errno, "go back from folder %s", w->path.data);
	if (st.st_dev != up->id[side].dev || st.st_ino != up->id[side].ino)
		return err_say(e, EXDEV, "folder %s was moved while it was being read", w->path.data);
	close_fd(&w->fd[side]);
	w->fd[side] = take_fd(&fd);
	return 0;
}

int walk_leave(struct walk *w, struct err *e)
{
	struct walk_level *l = &w->level[w->depth - 1];
	int r = 0;

	if (w->depth > 1) {
		(void) walk_path(w, "");
		r = go_up(w, WALK_FROM, e);
		if (r == 0 && w->fd[WALK_BESIDE] >= 0)
			r = go_up(w, WALK_BESIDE, e);
		else if (r == 0)
			w->fd[WALK_BESIDE] = take_fd(&l->held_fd);
	}
	level_done(l);
	w->depth--;
	return r;
}

const char *walk_path(struct walk *w, const char *name)
{
	w->path.len = w->depth ? w->level[w->depth - 1].path_len : 0;
	if (w->path.len && name[0])
		buf_str(&w->path, "/");
	buf_str(&w->path, name);
	w->path.data[w->path.len] = '\0';
	return w->path.data;
}
