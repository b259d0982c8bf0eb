/* SPDX-License-Identifier: MIT */
/*
 * A cache of files that are dear to make. An entry is a folder KIND-KEY: its files, mode 0444 and never
 * written again, and a record of them. Three things keep it right whoever is killed when:
 *
 * An entry is made in KIND-KEY.new and published by rename(2), so it is whole or not there. Its maker holds
 * the lock KIND-KEY.lock, which goes with the process: what lies there without a locked lock was left by one
 * that was killed, and the next to come removes it. Whoever uses a file holds a shared lock on that file
 * itself (flock(2)); who removes an entry must first have all of its files exclusively.
 *
 * The record has the size and the time of last change of each file. That suffices against what happens to a
 * cache: a full or failing disk leaves files short, a crash before the data was written leaves them empty or
 * short, and every write(2), truncate(2) or copy in their place sets the time. It is no seal against somebody
 * who means to deceive: the folder belongs to the user alone, who could as well exchange the program.
 */
#include "core/backend/cache.h"

#include "core/base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RECORD     "record"
#define RECORD_MAX 4096
#define LABEL_MAX  200
#define KEY_DIGITS 64
#define FRESH_S    60 /* one that was used so lately is about to be used again, by its path perhaps */

static const char hex_digits[] = "0123456789abcdef";

/* Where the key ends in "root-0123…", "root-0123….lock"; 0: no name of ours. */
static size_t name_len(const char *name)
{
	size_t kind = strspn(name, "abcdefghijklmnopqrstuvwxyz");
	if (kind == 0 || name[kind] != '-' || strspn(name + kind + 1, hex_digits) != KEY_DIGITS)
		return 0;
	return kind + 1 + KEY_DIGITS;
}

/* ---- locks of makers ---- */

static bool is_at(int fd, int dirfd, const char *name)
{
	struct stat held, there;
	return fstat(fd, &held) == 0 && fstatat(dirfd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

/* The file goes with the lock, so who waited for it may find that he got the lock of a file that is gone. */
static int lock_take(int cache_fd, const char *name, bool wait, int *ret_fd, struct err *e)
{
	FREE char *path = xprintf("%s.lock", name);
	for (;;) {
		CLOSE_FD int fd = openat(cache_fd, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			return err_set(e, errno, "make %s in the cache", path);
		if (flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB) < 0) {
			if (errno == EINTR)
				continue;
			if (errno == EWOULDBLOCK)
				return err_say(e, EBUSY, "%s is being made", name);
			return err_set(e, errno, "lock %s in the cache", path);
		}
		if (is_at(fd, cache_fd, path)) {
			*ret_fd = take_fd(&fd);
			return 0;
		}
	}
}

static void lock_release(int cache_fd, const char *name, int *fd)
{
	FREE char *path = xprintf("%s.lock", name);
	(void) unlinkat(cache_fd, path, 0);
	close_fd(fd);
}

/* ---- removing ---- */

static void remove_aside(int cache_fd, const char *name, const char *suffix)
{
	FREE char *path = xprintf("%s%s", name, suffix);
	struct err e;
	(void) dir_remove_tree(cache_fd, path, &e);
}

/* By another name first: an entry is never there in part. Its lock is held. */
static int entry_discard(int cache_fd, const char *name, struct err *e)
{
	FREE char *old = xprintf("%s.old", name);
	remove_aside(cache_fd, name, ".old");
	if (renameat(cache_fd, name, cache_fd, old) < 0 && errno != ENOENT)
		return err_set(e, errno, "remove %s from the cache", name);
	return dir_remove_tree(cache_fd, old, e);
}

/* What makers left that were killed. */
static void sweep(int cache_fd)
{
	struct err e;
	DIR *dir = fdopendir(openat(cache_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	for (struct dirent *d; dir && (d = readdir(dir));) {
		size_t len = name_len(d->d_name);
		if (len == 0 || d->d_name[len] == 0)
			continue;
		FREE char *name = xstrndup(d->d_name, len);
		CLOSE_FD int lock = -1;
		if (lock_take(cache_fd, name, false, &lock, &e) < 0)
			continue;
		remove_aside(cache_fd, name, ".new");
		remove_aside(cache_fd, name, ".old");
		lock_release(cache_fd, name, &lock);
	}
	if (dir)
		closedir(dir);
}

static int cache_open(char **ret_path, int *ret_fd, struct err *e)
{
	struct stat st;
	FREE char *path = xdg_folder(XDG_CACHE, "images", true, e);
	if (!path)
		return -e->code;
	CLOSE_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, errno, "open %s", path);
	if (st.st_uid != geteuid() || (st.st_mode & 0022))
		return err_say(
			e, EPERM,
			"%s belongs to uid %u with mode %04o: what is kept there would not be ours alone; "
			"set XDG_CACHE_HOME to a folder of your own",
			path, st.st_uid, st.st_mode & 07777);
	sweep(fd);
	*ret_path = take_ptr(&path);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* ---- what is there ---- */

static char *record_line(const char *file, const struct stat *st)
{
	return xprintf("\nfile %s %lld %lld.%09ld\n", file, (long long) st->st_size,
		       (long long) st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

static bool file_open(int entry_fd, const struct cache_recipe *r, size_t k, const char *record, int *ret_fd)
{
	struct stat st;
	CLOSE_FD int fd = openat(entry_fd, r->files[k], O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	FREE char *line = record_line(r->files[k], &st);
	if (!strstr(record, line) || (r->is_sound && !r->is_sound(k, fd)))
		return false;
	/* Refused only by who is about to remove it. */
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return false;
	*ret_fd = take_fd(&fd);
	return true;
}

static bool entry_open(int cache_fd, const char *name, const struct cache_recipe *r, int *ret_fds)
{
	int fds[CACHE_FILES_MAX];
	size_t count = 0;
	FREE char *record = NULL;
	struct err e;
	CLOSE_FD int entry = openat(cache_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (entry < 0 || file_read(entry, RECORD, RECORD_MAX, &record, NULL, &e) < 0)
		return false;
	while (r->files[count] && file_open(entry, r, count, record, &fds[count]))
		count++;
	if (r->files[count]) {
		while (count-- > 0)
			close_fd(&fds[count]);
		return false;
	}
	(void) utimensat(entry, RECORD, NULL,
			 0); /* used now; a cache that cannot be written to still serves */
	memcpy(ret_fds, fds, count * sizeof(fds[0]));
	return true;
}

/* ---- making ---- */

static int record_write(int entry_fd, const struct cache_recipe *r, struct err *e)
{
	struct buf text = { 0 };
	struct stat st;
	int result = 0;
	buf_printf(&text, "label %.*s", LABEL_MAX, r->label);
	for (size_t k = 0; k < text.len; k++)
		if ((unsigned char) text.data[k] < ' ')
			text.data[k] = ' ';
	for (size_t k = 0; r->files[k] && result == 0; k++) {
		CLOSE_FD int fd = openat(entry_fd, r->files[k], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || fchmod(fd, 0444) < 0 || fstat(fd, &st) < 0) {
			result = err_set(e, errno, "keep %s in the cache", r->files[k]);
			break;
		}
		FREE char *line = record_line(r->files[k], &st);
		buf_str(&text, line);
	}
	CLOSE_FD int fd = openat(entry_fd, RECORD, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (result == 0) {
		int n = fd < 0 ? -errno : write_all(fd, text.data, text.len);
		result = n < 0 ? err_set(e, -n, "write the record of %s", r->label) : 0;
	}
	buf_done(&text);
	return result;
}

static int entry_make(int cache_fd, const char *cache, const char *name, const struct cache_recipe *r,
		      struct err *e)
{
	FREE char *new = xprintf("%s.new", name), *path = xprintf("%s/%s", cache, new);
	remove_aside(cache_fd, name, ".new");
	if (mkdirat(cache_fd, new, 0700) < 0)
		return err_set(e, errno, "make %s", path);
	CLOSE_FD int entry = openat(cache_fd, new, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int result = entry < 0 ? err_set(e, errno, "open %s", path) : r->make(r->arg, entry, path, e);
	if (result >= 0)
		result = record_write(entry, r, e);
	if (result >= 0 && renameat(cache_fd, new, cache_fd, name) < 0)
		result = err_set(e, errno, "publish %s", path);
	if (result < 0)
		remove_aside(cache_fd, name, ".new");
	return result;
}

/* The lock is held. Somebody else may have made it while we waited. */
static int entry_provide(int cache_fd, const char *cache, const char *name, const struct cache_recipe *r,
			 int *ret_fds, struct err *e)
{
	int result;
	if (entry_open(cache_fd, name, r, ret_fds))
		return 0;
	if ((result = entry_discard(cache_fd, name, e)) < 0 ||
	    (result = entry_make(cache_fd, cache, name, r, e)) < 0)
		return result;
	if (!entry_open(cache_fd, name, r, ret_fds))
		return err_say(e, EIO, "%s/%s is not what was written there a moment ago", cache, name);
	return 1;
}

int cache_take(const struct cache_recipe *r, int *ret_fds, struct err *e)
{
	FREE char *cache = NULL, *name = xprintf("%s-%s", r->kind, r->key);
	CLOSE_FD int cache_fd = -1, lock = -1;
	struct err ignored;
	int result = cache_open(&cache, &cache_fd, e);
	if (result < 0)
		return result;
	if (entry_open(cache_fd, name, r, ret_fds))
		return 0;
	if ((result = lock_take(cache_fd, name, true, &lock, e)) < 0)
		return result;
	result = entry_provide(cache_fd, cache, name, r, ret_fds, e);
	lock_release(cache_fd, name, &lock);
	if (result == 1)
		(void) cache_trim(CACHE_MAX_BYTES, &ignored);
	return result;
}

char *cache_path(const struct cache_recipe *r, const char *file, struct err *e)
{
	FREE char *cache = xdg_folder(XDG_CACHE, "images", false, e);
	return cache ? xprintf("%s/%s-%s/%s", cache, r->kind, r->key, file) : NULL;
}

/* ---- all entries ---- */

/* Takes each file of an entry for itself. False: somebody uses one. The entry's lock is held, so that
 * whoever finds a file taken waits for us instead of making the entry anew. */
static bool entry_idle(int cache_fd, const char *name, int held[CACHE_FILES_MAX])
{
	size_t count = 0;
	bool idle = true;
	for (size_t k = 0; k < CACHE_FILES_MAX; k++)
		held[k] = -1;
	DIR *dir = fdopendir(openat(cache_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	for (struct dirent *d; dir && idle && count < CACHE_FILES_MAX && (d = readdir(dir));) {
		int fd = openat(dirfd(dir), d->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0 || d->d_name[0] == '.' || strcmp(d->d_name, RECORD) == 0) {
			close_fd(&fd);
			continue;
		}
		held[count++] = fd;
		idle = flock(fd, LOCK_EX | LOCK_NB) == 0;
	}
	if (dir)
		closedir(dir);
	return idle;
}

static void held_done(int held[CACHE_FILES_MAX])
{
	for (size_t k = 0; k < CACHE_FILES_MAX; k++)
		close_fd(&held[k]);
}

static bool entry_in_use(int cache_fd, const char *name)
{
	int held[CACHE_FILES_MAX];
	struct err e;
	CLOSE_FD int lock = -1;
	if (lock_take(cache_fd, name, false, &lock, &e) < 0)
		return true;
	bool idle = entry_idle(cache_fd, name, held);
	held_done(held);
	lock_release(cache_fd, name, &lock);
	return !idle;
}

static int entry_remove(int cache_fd, const char *name, struct err *e)
{
	int held[CACHE_FILES_MAX];
	CLOSE_FD int lock = -1;
	int r = lock_take(cache_fd, name, false, &lock, e);
	if (r < 0)
		return r;
	if (faccessat(cache_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
		r = err_set(e, errno, "remove %s from the cache", name);
	} else {
		r = entry_idle(cache_fd, name, held) ? entry_discard(cache_fd, name, e)
						     : err_say(e, EBUSY, "%s is in use", name);
		held_done(held);
	}
	lock_release(cache_fd, name, &lock);
	return r;
}

int cache_remove(const char *name, struct err *e)
{
	FREE char *cache = NULL;
	CLOSE_FD int cache_fd = -1;
	int r = cache_open(&cache, &cache_fd, e);
	if (r < 0)
		return r;
	size_t len = name_len(name);
	return len > 0 && name[len] == 0
		       ? entry_remove(cache_fd, name, e)
		       : err_say(e, ENOENT, "%s has nothing of the name %.80s", cache, name);
}

/* By lstat(2), no further down than the entry: what is sparse counts by its blocks. */
static uint64_t entry_bytes(int entry_fd)
{
	uint64_t bytes = 0;
	struct stat st;
	DIR *dir = fdopendir(openat(entry_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	for (struct dirent *d; dir && (d = readdir(dir));)
		if (fstatat(entry_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			bytes += (uint64_t) st.st_blocks * 512;
	if (dir)
		closedir(dir);
	return bytes;
}

static void entry_describe(int cache_fd, const char *name, struct image_entry *ret)
{
	struct stat st = { 0 };
	struct err e;
	FREE char *record = NULL;
	CLOSE_FD int fd = openat(cache_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	*ret = (struct image_entry){ .name = xstrdup(name), .kind = xstrndup(name, strcspn(name, "-")) };
	ret->in_use = entry_in_use(cache_fd, name);
	bool known = fd >= 0 && fstatat(fd, RECORD, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		     file_read(fd, RECORD, RECORD_MAX, &record, NULL, &e) == 0 &&
		     str_starts(record, "label ");
	const char *label = known ? record + strlen("label ") : "";
	ret->label = xstrndup(label, strcspn(label, "\n"));
	ret->bytes = fd >= 0 ? entry_bytes(fd) : 0;
	ret->used = (int64_t) st.st_mtim.tv_sec;
}

static int by_use(const void *a, const void *b)
{
	int64_t first = ((const struct image_entry *) a)->used,
		second = ((const struct image_entry *) b)->used;
	return (first < second) - (first > second);
}

int cache_list(struct image_entry **ret, size_t *ret_count, char **ret_where, struct err *e)
{
	struct image_entry *list = NULL;
	size_t count = 0;
	FREE char *where = NULL;
	CLOSE_FD int cache_fd = -1;
	int r = cache_open(&where, &cache_fd, e);
	if (r < 0)
		return r;
	DIR *dir = fdopendir(openat(cache_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (!dir)
		return err_set(e, errno, "read the cache's folder");
	for (struct dirent *d; (d = readdir(dir));) {
		size_t len = name_len(d->d_name);
		if (len == 0 || d->d_name[len])
			continue;
		list = xrealloc(list, (count + 1) * sizeof(*list));
		entry_describe(cache_fd, d->d_name, &list[count++]);
	}
	closedir(dir);
	if (count > 1)
		qsort(list, count, sizeof(*list), by_use);
	if (ret_where)
		*ret_where = take_ptr(&where);
	*ret = list;
	*ret_count = count;
	return 0;
}

int cache_trim(uint64_t max_bytes, struct err *e)
{
	struct image_entry *list;
	size_t count;
	uint64_t bytes = 0;
	struct err ignored;
	int r = cache_list(&list, &count, NULL, e);
	if (r < 0)
		return r;
	for (size_t k = 0; k < count; k++)
		bytes += list[k].bytes;
	for (size_t k = count; k-- > 0 && bytes > max_bytes;)
		if (list[k].used + FRESH_S < (int64_t) time(NULL) &&
		    cache_remove(list[k].name, &ignored) == 0)
			bytes -= list[k].bytes;
	image_entries_free(list, count);
	return 0;
}
