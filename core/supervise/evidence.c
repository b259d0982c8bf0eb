/* SPDX-License-Identifier: MIT */
/*
 * RLIMIT_FSIZE leaves no trace of its own: a program that ignores SIGXFSZ gets EFBIG and may end in any way. What it
 * leaves is a file of exactly the limit's size, all of it written: one that was only made that long has no blocks and
 * never met the limit, and one that came with the inputs kept its older time. Looked for once, at the end, within bounds.
 */
#include "core/supervise/evidence.h"

#include "core/base/base.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOKS_MAX 4000
#define DEPTH_MAX 8

struct search {
	uint64_t size;
	struct timespec began;
	unsigned looks;
};

/* A block is 512 bytes here. A file system may round up, never down; one that compresses would hide a file from us. */
static bool met_limit(const struct search *s, const struct stat *st)
{
	bool older = st->st_mtim.tv_sec < s->began.tv_sec ||
		     (st->st_mtim.tv_sec == s->began.tv_sec && st->st_mtim.tv_nsec < s->began.tv_nsec);
	return S_ISREG(st->st_mode) && (uint64_t) st->st_size == s->size &&
	       (uint64_t) st->st_blocks >= s->size / 512 && !older;
}

static bool search_folder(struct search *s, int parent, const char *name, int depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool found = false;
	if (!dir)
		return false;
	for (struct dirent *d; !found && s->looks < LOOKS_MAX && (d = readdir(dir));) {
		struct stat st;
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		s->looks++;
		if (fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		found = met_limit(s, &st);
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
			found = search_folder(s, dirfd(dir), d->d_name, depth + 1);
	}
	closedir(dir);
	return found;
}

bool evidence_file_at_limit(const struct instance *i, uint64_t size, const struct timespec *began)
{
	static const char *const places[] = { "workspace", "tmp", "home", "out", "dev/shm" };
	struct search s = { .size = size, .began = *began };
	if (i->temp_dir)
		return search_folder(&s, AT_FDCWD, i->temp_dir, 0);
	for (size_t k = 0; i->root_dirfd >= 0 && k < ARRAY_LEN(places); k++)
		if (search_folder(&s, i->root_dirfd, places[k], 0))
			return true;
	return false;
}
