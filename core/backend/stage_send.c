/* SPDX-License-Identifier: MIT */
/*
 * Files out of a machine of its own, as one stream: inside, what a dead run left is put into records; outside, where the
 * machine is dead too, they are made files again, in a folder that nobody else knows. Whoever sends may be hostile: names
 * are checked part by part, sizes and counts are capped, and nothing but plain files and folders is ever made.
 */
#include "core/backend/stage.h"
#include "core/backend/stage_walk.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum record_kind { RECORD_FOLDER = 'D', RECORD_FILE = 'F', RECORD_END = 'E' };
struct record { /* then the path, then the bytes of a file */
	uint8_t kind, executable;
	uint16_t path_len;
	uint32_t zero;
	uint64_t size;
};
#define RECORD_PATH_MAX 4095
#define PART            (64u << 10)

/* ---- inside ---- */

struct send {
	struct walk walk;
	struct stage_send_want *want;
};

static int put(const struct send *s, const void *bytes, size_t len)
{
	int r = write_all(s->want->to_fd, bytes, len);
	s->want->sent += r < 0 ? 0 : len;
	return r;
}

static int record_send(const struct send *s, enum record_kind kind, const char *path, const struct stat *st,
		       struct err *e)
{
	const struct record r = { .kind = (uint8_t) kind,
				  .executable = st && (st->st_mode & 0100),
				  .path_len = (uint16_t) strlen(path),
				  .size = kind == RECORD_FILE ? (uint64_t) st->st_size : 0 };
	int w = put(s, &r, sizeof(r));
	if (w >= 0)
		w = put(s, path, r.path_len);
	return w < 0 ? err_set(e, -w, "send %s", path) : 0;
}

/* Its size was told: what a file has lost since is made up for by zeros, what it has gained is left. */
static int bytes_send(const struct send *s, int fd, uint64_t size, struct err *e)
{
	static char part[PART];
	while (size) {
		size_t want = size < PART ? (size_t) size : PART;
		ssize_t n = read(fd, part, want);
		if (n <= 0) {
			memset(part, 0, want);
			n = (ssize_t) want;
		}
		int w = put(s, part, (size_t) n);
		if (w < 0)
			return err_set(e, -w, "send a file");
		size -= (uint64_t) n;
	}
	return 0;
}

static const char *not_sent(const struct stat *st, const char *path)
{
	return strlen(path) > RECORD_PATH_MAX ? "its path is too long"
	       : S_ISLNK(st->st_mode)         ? "a symbolic link"
	       : !S_ISREG(st->st_mode)        ? "neither a file nor a folder"
	       : st->st_nlink > 1             ? "it has a second name"
					      : NULL;
}

static int entry_send(struct send *s, const char *name, struct err *e)
{
	struct stat st;
	int here = s->walk.fd[WALK_FROM], r;
	const char *path = walk_path(&s->walk, name);
	if (fstatat(here, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(e, errno, "look at %s", path);
	if (s->want->only && !stage_set_has(s->want->only, st.st_dev, st.st_ino))
		return 0;
	const char *why = S_ISDIR(st.st_mode) && strlen(path) <= RECORD_PATH_MAX ? NULL : not_sent(&st, path);
	CLOSE_FD int fd = why ? -1 : walk_open(here, name, O_RDONLY, true);
	if (!why && fd < 0)
		why = "it cannot be opened";
	if (why) {
		s->want->skipped(s->want->arg, path, why);
		return 0;
	}
	if ((r = record_send(s, S_ISDIR(st.st_mode) ? RECORD_FOLDER : RECORD_FILE, path, &st, e)) < 0)
		return r;
	if (S_ISDIR(st.st_mode))
		return walk_enter(&s->walk, name, take_fd(&fd), -1, e);
	return bytes_send(s, fd, (uint64_t) st.st_size, e);
}

int stage_send(int from_dirfd, struct stage_send_want *want, struct err *e)
{
	struct send s = { .want = want };
	walk_init(&s.walk, STAGE_FILES_MAX);
	int fd = openat(from_dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;
	r = fd < 0 ? err_set(e, errno, "open the run's output folder") : walk_enter(&s.walk, "", fd, -1, e);
	while (r >= 0 && s.walk.depth) {
		const char *name = walk_next(&s.walk);
		r = name ? entry_send(&s, name, e) : walk_leave(&s.walk, e);
	}
	walk_done(&s.walk);
	return r < 0 ? r : 0;
}

int stage_send_end(struct stage_send_want *want, struct err *e)
{
	const struct send s = { .want = want };
	return record_send(&s, RECORD_END, "", NULL, e);
}

/* ---- outside ---- */

static int part_check(const char *part, size_t len)
{
	bool dots = (len == 1 && part[0] == '.') || (len == 2 && part[0] == '.' && part[1] == '.');
	return len == 0 || len > 255 || dots || memchr(part, 0, len) ? -EPROTO : 0;
}

/* The folder that the last part of a path is to lie in, which an earlier record made. */
static int parent_open(int dest_fd, char *path, const char **ret_name, int *ret_fd)
{
	CLOSE_FD int fd = fcntl(dest_fd, F_DUPFD_CLOEXEC, 3);
	for (char *part = path;;) {
		size_t len = strcspn(part, "/");
		if (part_check(part, len) < 0)
			return -EPROTO;
		if (!part[len]) {
			*ret_name = part;
			*ret_fd = take_fd(&fd);
			return 0;
		}
		part[len] = 0;
		int next = openat(fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return errno == ENOENT ? -EPROTO : -errno;
		close_fd(&fd);
		fd = next;
		part += len + 1;
	}
}

static int spool_read(int fd, void *to, size_t len)
{
	for (char *at = to; len;) {
		ssize_t n = read(fd, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPROTO;
		at += n;
		len -= (size_t) n;
	}
	return 0;
}

static int bytes_receive(int from_fd, int to_fd, uint64_t size)
{
	static char part[PART];
	int r = 0;
	while (size && r == 0) {
		size_t n = size < PART ? (size_t) size : PART;
		if ((r = spool_read(from_fd, part, n)) == 0)
			r = write_all(to_fd, part, n);
		size -= n;
	}
	return r;
}

static int record_make(int from_fd, int dest_fd, const struct record *r, char *path)
{
	CLOSE_FD int parent = -1;
	const char *name;
	int result = parent_open(dest_fd, path, &name, &parent);
	if (result < 0)
		return result;
	if (r->kind == RECORD_FOLDER)
		return mkdirat(parent, name, 0700) < 0 ? -errno : 0;
	CLOSE_FD int fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				 r->executable ? 0700 : 0600);
	return fd < 0 ? -errno : bytes_receive(from_fd, fd, r->size);
}

/* 1: the last one was read. */
static int record_receive(int from_fd, int dest_fd, uint64_t *bytes_left)
{
	struct record r;
	char path[RECORD_PATH_MAX + 1];
	int result = spool_read(from_fd, &r, sizeof(r));
	if (result < 0)
		return result;
	if (r.kind == RECORD_END)
		return r.path_len || r.size || r.executable || r.zero ? -EPROTO : 1;
	if ((r.kind != RECORD_FOLDER && r.kind != RECORD_FILE) || r.path_len == 0 ||
	    r.path_len > RECORD_PATH_MAX || r.zero || r.executable > 1 || (r.kind == RECORD_FOLDER && r.size))
		return -EPROTO;
	if (r.size > *bytes_left)
		return -EFBIG;
	*bytes_left -= r.size;
	if ((result = spool_read(from_fd, path, r.path_len)) < 0)
		return result;
	path[r.path_len] = 0;
	return strlen(path) != r.path_len ? -EPROTO : record_make(from_fd, dest_fd, &r, path);
}

int stage_receive(int from_fd, int dest_dirfd, uint64_t max_bytes, uint64_t max_files, struct err *e)
{
	int r = 0;
	for (uint64_t files = 0; r == 0; files++) {
		if (files > max_files)
			return err_say(e, EFBIG, "the run's output has more than %llu files",
				       (unsigned long long) max_files);
		r = record_receive(from_fd, dest_dirfd, &max_bytes);
	}
	if (r == -EFBIG)
		return err_say(e, EFBIG, "the run's output is larger than may be copied");
	if (r == -EPROTO || r == -EEXIST)
		return err_say(e, EPROTO, "what the machine sent of files is not whole, or not files");
	return r < 0 ? err_set(e, -r, "keep what the machine sent of files") : 0;
}
