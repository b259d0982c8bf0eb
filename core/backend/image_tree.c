/* SPDX-License-Identifier: MIT */
/*
 * A tree of copies of the host's files at their own places. On the host links are followed one at a time and
 * made again, so that /bin/sh becomes /bin -> usr/bin, sh -> dash, dash; in the tree no link is ever
 * followed: what is put into it goes to the place that was found on the host, or an absolute link would lead
 * out again.
 */
#include "core/backend/image.h"

#include "core/base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel: path_resolution(7) */

int image_tree_begin(struct image_tree *t, int dirfd, const char *path, const char *name, struct err *e)
{
	*t = (struct image_tree){ .fd = -1, .bytes_left = IMAGE_MAX_BYTES, .files_left = IMAGE_MAX_FILES };
	t->path = xprintf("%s/%s", path, name);
	if (mkdirat(dirfd, name, 0700) < 0 ||
	    (t->fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		return err_set(e, errno, "make %s", t->path);
	/* It becomes the guest's root folder. */
	return fchmod(t->fd, 0755) < 0 ? err_set(e, errno, "make %s", t->path) : 0;
}

void image_tree_end(struct image_tree *t, int dirfd, const char *name)
{
	struct err e;
	(void) dir_remove_tree(dirfd, name, &e);
	close_fd(&t->fd);
	free(t->path);
	t->path = NULL;
}

/* ---- places in the tree ---- */

/* A folder of the tree, made with those above it. Gives. */
static int folder_open(const struct image_tree *t, const char *path, struct err *e)
{
	FREE char *copy = xstrdup(path);
	char *rest = copy, *name;
	CLOSE_FD int fd = fcntl(t->fd, F_DUPFD_CLOEXEC, 0);
	while (fd >= 0 && (name = strsep(&rest, "/"))) {
		if (!*name)
			continue;
		if (mkdirat(fd, name, 0755) < 0 && errno != EEXIST)
			return err_set(e, errno, "make %s in the image", path);
		CLOSE_FD int above = take_fd(&fd);
		fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	return fd < 0 ? err_set(e, errno, "make %s in the image", path) : take_fd(&fd);
}

static bool is_there(int dirfd, const char *name, struct stat *ret)
{
	return fstatat(dirfd, name, ret, AT_SYMLINK_NOFOLLOW) == 0;
}

static int copy_new(struct image_tree *t, const char *source, int dirfd, const char *name, struct err *e)
{
	const struct stage_want want = { .uid = (uid_t) -1,
					 .gid = (gid_t) -1,
					 .links = true,
					 .max_bytes = t->bytes_left,
					 .max_files = t->files_left };
	struct stage_done done = { 0 };
	int r = progress_check(t->progress, e);
	if (r >= 0)
		r = stage_copy_in(source, dirfd, name, &want, &done, e);
	if (r < 0)
		return r;
	t->bytes_left -= done.bytes;
	t->files_left -= done.files;
	stage_clear(&done);
	return 0;
}

static int link_new(const char *target, int dirfd, const char *name, const char *path, struct err *e)
{
	if (symlinkat(target, dirfd, name) < 0 && errno != EEXIST)
		return err_set(e, errno, "make the link %s in the image", path);
	return 0;
}

static bool is_left_out(const char *name, const char *const *without)
{
	for (; without && *without; without++)
		if (fnmatch(*without, name, 0) == 0)
			return true;
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int merge(struct image_tree *t, const char *source, const char *at, const char *const *without,
		 struct err *e);

/* One entry of a folder: as a whole where nothing is there yet. As deep as what other items put there, a
 * few levels. */
static int merge_entry(struct image_tree *t, int to_fd, const char *path, const char *at, struct err *e)
{
	struct stat st, there;
	char link[PATH_MAX];
	const char *name = strrchr(path, '/') + 1;
	if (lstat(path, &st) < 0)
		return err_set(e, errno, "look at %s", path);
	if (is_there(to_fd, name, &there))
		return S_ISDIR(st.st_mode) && S_ISDIR(there.st_mode) ? merge(t, path, at, NULL, e) : 0;
	if (!S_ISLNK(st.st_mode))
		return copy_new(t, path, to_fd, name, e);
	ssize_t n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return err_set(e, errno, "read link %s", path);
	link[n] = 0;
	return link_new(link, to_fd, name, path, e);
}

/* What is in a host folder, into the tree's folder `at`. */
static int merge(struct image_tree *t, const char *source, const char *at, const char *const *without,
		 struct err *e)
{
	CLOSE_FD int to = folder_open(t, at, e);
	if (to < 0)
		return to;
	DIR *dir = opendir(source);
	if (!dir)
		return err_set(e, errno, "open folder %s", source);
	int r = 0;
	for (struct dirent *d; r >= 0 && (d = readdir(dir));) {
		FREE char *path = xprintf("%s/%s", source, d->d_name),
			  *place = xprintf("%s/%s", at, d->d_name);
		if (!is_left_out(d->d_name, without))
			r = merge_entry(t, to, path, place, e);
	}
	closedir(dir);
	return r;
}

/* ---- a path of the host ---- */

/* How far a path has been followed. */
struct way {
	char at[PATH_MAX];   /* a folder without links, "" for the root */
	char rest[PATH_MAX]; /* still to go */
	int links;
};

static int way_link(struct image_tree *t, struct way *w, const char *path, const char *name, struct err *e)
{
	char target[PATH_MAX], rest[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return err_set(e, errno, "read link %s", path);
	target[n] = 0;
	if (++w->links > LINKS_MAX || (size_t) n + strlen(w->rest) + 2 > sizeof(rest))
		return err_set(e, ELOOP, "follow %s", path);
	CLOSE_FD int to = folder_open(t, w->at, e);
	int r = to < 0 ? to : link_new(target, to, name, path, e);
	if (r < 0)
		return r;
	stpcpy(stpcpy(stpcpy(rest, target), "/"), w->rest);
	strcpy(w->rest, rest);
	if (target[0] == '/')
		w->at[0] = 0;
	return 0;
}

/* One component further. 1: it is there; *ret_path is what the path leads to. Gives. */
static int way_step(struct image_tree *t, struct way *w, char **ret_path, struct err *e)
{
	struct stat st;
	char name[NAME_MAX + 1];
	char *from = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(from, "/");
	if (len == 0) {
		*ret_path = xstrdup(w->at);
		return 1;
	}
	if (len > NAME_MAX || strlen(w->at) + len + 2 > sizeof(w->at))
		return err_set(e, ENAMETOOLONG, "follow %s/%s", w->at, from);
	memcpy(name, from, len);
	name[len] = 0;
	memmove(w->rest, from + len, strlen(from + len) + 1);
	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		char *slash = strrchr(w->at, '/');
		if (slash)
			*slash = 0;
		return 0;
	}
	FREE char *path = xprintf("%s/%s", w->at, name);
	if (lstat(path, &st) < 0)
		return err_set(e, errno, "look at %s", path);
	if (S_ISLNK(st.st_mode))
		return way_link(t, w, path, name, e);
	strcpy(w->at, path);
	return 0;
}

int image_tree_add(struct image_tree *t, const char *path, const char *const *without, char **ret_real,
		   struct err *e)
{
	struct way w = { 0 };
	struct stat st, there;
	FREE char *real = NULL;
	int r = strlen(path) < sizeof(w.rest) ? 0 : err_set(e, ENAMETOOLONG, "follow %s", path);
	if (r == 0)
		strcpy(w.rest, path);
	while (r == 0)
		r = way_step(t, &w, &real, e);
	if (r < 0)
		return r;
	if (ret_real)
		*ret_real = NULL;
	if (lstat(real, &st) < 0)
		return err_set(e, errno, "look at %s", real);
	if (S_ISDIR(st.st_mode))
		return merge(t, real, real, without, e);
	char *name = strrchr(real, '/');
	FREE char *folder = xstrndup(real, (size_t) (name - real));
	CLOSE_FD int to = folder_open(t, folder, e);
	if (to < 0 || is_there(to, name + 1, &there))
		return to < 0 ? to : 0;
	if ((r = copy_new(t, real, to, name + 1, e)) == 0 && ret_real)
		*ret_real = take_ptr(&real);
	return r;
}

int image_tree_take(struct image_tree *t, const char *folder, const char *const *without, struct err *e)
{
	return merge(t, folder, "", without, e);
}

int image_tree_put(struct image_tree *t, const char *source, const char *path, struct err *e)
{
	const char *name = strrchr(path, '/');
	FREE char *folder = xstrndup(path, (size_t) (name - path));
	CLOSE_FD int to = folder_open(t, folder, e);
	if (to >= 0)
		(void) unlinkat(to, name + 1, 0); /* a root may have one of that name: ours it is */
	return to < 0 ? to : copy_new(t, source, to, name + 1, e);
}

int image_tree_folder(struct image_tree *t, const char *path, struct err *e)
{
	CLOSE_FD int fd = folder_open(t, path, e);
	return fd < 0 ? fd : 0;
}
