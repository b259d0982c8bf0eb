/* SPDX-License-Identifier: MIT */
/*
 * Filter trees kept between runs: a tree takes libseccomp a third of a millisecond and more, reading it back
 * a twentieth. One file a tree below the user's cache folder, named by the hash of what it was made from. A
 * cache that cannot be read, written or believed is no error: the tree is made anew.
 *
 * The checks are against damage and against other users. Who may write as this user may as well replace the
 * program.
 */
#include "core/confine/seccomp.h"

#include "core/base/base.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The key again, for a file that was renamed; a hash of the instructions, for one that was cut or changed. */
struct cache_head {
	char magic[8];
	char key[64], sum[64];
};
#define CACHE_MAGIC "bjtree1\n"
_Static_assert(sizeof(struct cache_head) % sizeof(struct sock_filter) == 0,
	       "instructions follow the head unaligned");

struct cache_file {
	struct cache_head head;
	struct sock_filter insns[PROGRAM_MAX];
};

static int cache_open(void)
{
	struct err e;
	FREE char *folder = xdg_folder(XDG_CACHE, "filters", true, &e);
	struct stat st;

	if (!folder)
		return -1;
	CLOSE_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022))
		return -1;
	return take_fd(&fd);
}

static void head_make(const struct tree_key *key, const struct sock_filter *insns, size_t count,
		      struct cache_head *ret)
{
	char sum[65];

	sha256_hex(insns, count * sizeof(*insns), sum);
	memcpy(ret->magic, CACHE_MAGIC, sizeof(ret->magic));
	memcpy(ret->key, key->hex, sizeof(ret->key));
	memcpy(ret->sum, sum, sizeof(ret->sum));
}

static bool cache_read(int dirfd, const char *name, struct cache_file *file, size_t *ret_count)
{
	struct stat st;
	/* O_NONBLOCK: a pipe of that name must not stop us */
	CLOSE_FD int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 022))
		return false;
	if (st.st_size <= (off_t) sizeof(file->head) || st.st_size > (off_t) sizeof(*file) ||
	    st.st_size % (off_t) sizeof(struct sock_filter))
		return false;
	if (read(fd, file, (size_t) st.st_size) != (ssize_t) st.st_size)
		return false;
	*ret_count = ((size_t) st.st_size - sizeof(file->head)) / sizeof(struct sock_filter);
	return true;
}

bool cache_load(const struct tree_key *key, struct filter_code *code)
{
	struct cache_file file;
	struct cache_head right;
	char name[80];
	size_t count;
	CLOSE_FD int dirfd = cache_open();

	snprintf(name, sizeof(name), "%s.bpf", key->hex);
	if (dirfd < 0 || !cache_read(dirfd, name, &file, &count) || count > PROGRAM_MAX - code->count)
		return false;
	head_make(key, file.insns, count, &right);
	if (memcmp(&right, &file.head, sizeof(right)) != 0)
		return false;
	memcpy(code->insns + code->count, file.insns, count * sizeof(*file.insns));
	code->count += count;
	return true;
}

void cache_save(const struct tree_key *key, const struct sock_filter *insns, size_t count)
{
	struct cache_head head;
	char name[80], temp[112];
	CLOSE_FD int dirfd = cache_open();

	if (dirfd < 0)
		return;
	snprintf(name, sizeof(name), "%s.bpf", key->hex);
	snprintf(temp, sizeof(temp), ".%s.%d", name, (int) getpid());
	head_make(key, insns, count, &head);
	CLOSE_FD int fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	/* renamed when whole: a reader sees the old file, none, or this one */
	if (write_all(fd, &head, sizeof(head)) < 0 || write_all(fd, insns, count * sizeof(*insns)) < 0 ||
	    renameat(dirfd, temp, dirfd, name) < 0)
		(void) unlinkat(dirfd, temp, 0);
}
