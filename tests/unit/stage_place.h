/* SPDX-License-Identifier: MIT */
/*
 * Two folders, src and dst, and what the tests of copying put into them and ask of them.
 */
#pragma once

#include "core/base/base.h"
#include "core/backend/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define IN_PLACE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define HOSTILE     "a\nb\033[2Jc"

/* A temporary folder with a source and a destination. */
struct place {
	char path[64], src[96], dst[96];
	int fd, src_fd, dst_fd;
};

static inline int setup(void **state)
{
	struct place *p = xcalloc(1, sizeof *p);
	strcpy(p->path, "/tmp/test_stage.XXXXXX");
	assert_non_null(mkdtemp(p->path));
	p->fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(p->src, sizeof p->src, "%s/src", p->path);
	snprintf(p->dst, sizeof p->dst, "%s/dst", p->path);
	assert_int_equal(mkdirat(p->fd, "src", 0755), 0);
	assert_int_equal(mkdirat(p->fd, "dst", 0755), 0);
	p->src_fd = openat(p->fd, "src", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	p->dst_fd = openat(p->fd, "dst", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->src_fd >= 0 && p->dst_fd >= 0);
	*state = p;
	return 0;
}

static inline int teardown(void **state)
{
	struct place *p = *state;
	struct err e;
	close(p->src_fd), close(p->dst_fd), close(p->fd);
	int r = dir_remove_tree(AT_FDCWD, p->path, &e);
	free(p);
	return r;
}

static inline void put(int dirfd, const char *name, const char *text, mode_t mode)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static inline mode_t mode_of(int dirfd, const char *name)
{
	struct stat st;
	assert_int_equal(fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_mode & 07777;
}

static inline void assert_text(int dirfd, const char *name, const char *text)
{
	char got[256];
	assert_true(file_read_small(dirfd, name, got, sizeof got) >= 0);
	assert_string_equal(got, text);
}

static inline void assert_absent(int dirfd, const char *name)
{
	struct stat st;
	assert_int_equal(fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(errno, ENOENT);
}

/* A chain of `depth` folders below dirfd, a file "end" in the last. */
static inline void put_chain(int dirfd, int depth)
{
	int at = dup(dirfd);
	for (int i = 0; i < depth; i++) {
		assert_int_equal(mkdirat(at, "d", 0755), 0);
		int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	put(at, "end", "bottom", 0644);
	close(at);
}

static inline int chain_depth(int dirfd)
{
	int at = dup(dirfd), depth = 0, next;
	while ((next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0) {
		close(at);
		at = next;
		depth++;
	}
	assert_text(at, "end", "bottom");
	close(at);
	return depth;
}
