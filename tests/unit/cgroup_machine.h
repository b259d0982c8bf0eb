/* SPDX-License-Identifier: MIT */
/*
 * A machine in a folder, for the tests of the control groups: /proc and /sys/fs/cgroup as they were recorded,
 * and the two things that a folder cannot do by itself. The choice, the files written and the counters read
 * are tested on it.
 */
#pragma once

#include "core/base/base.h"
#include "core/confine/cgroup.h"

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

#define RUN           "01J8ZQ4T9V3M5N7P2R6S8W0XYA"
#define LEAF          CGROUP_PREFIX RUN
#define ON_MACHINE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

struct machine {
	char path[64], proc[96], bus[96];
	struct cgroup_host host;
};
static struct machine *on; /* the callbacks below are given no argument of their own */

static inline void at(char path[PATH_MAX], const char *below)
{
	snprintf(path, PATH_MAX, "%s/%s", on->path, below);
}

static inline void put(const char *below, const char *text)
{
	char path[PATH_MAX];
	struct err e;
	at(path, below);
	*strrchr(path, '/') = '\0';
	assert_int_equal(dir_make_all(path, 0755, &e), 0);
	at(path, below);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static inline void assert_file(const char *below, const char *text)
{
	char path[PATH_MAX], got[256];
	at(path, below);
	if (file_read_small(AT_FDCWD, path, got, sizeof got) < 0)
		fail_msg("%s is not there", below);
	assert_string_equal(got, text);
}

static inline bool exists(const char *below)
{
	char path[PATH_MAX];
	struct stat st;
	at(path, below);
	return stat(path, &st) == 0;
}

/* What a kernel puts into a new group: all the files of both versions, empty, so that what was written can
 * be seen. */
/* clang-format off */
static const char *const control_files[] = {
	"tasks", "cgroup.procs", "cgroup.freeze", "cgroup.subtree_control", "cgroup.kill",
	"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.swappiness", "memory.max",
	"memory.swap.max", "memory.oom.group", "pids.max", "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us",
	"freezer.state",
};
/* clang-format on */

static inline int fake_make_dir(int dirfd, const char *name, mode_t mode)
{
	if (mkdirat(dirfd, name, mode) < 0)
		return -1;
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(control_files); i++)
		close(openat(fd, control_files[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	close(fd);
	return 0;
}

static inline int fake_remove_dir(int dirfd, const char *name)
{
	struct err e;
	struct stat st;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return dir_remove_tree(dirfd, name, &e) < 0 ? -1 : 0;
}

static int asked;

static inline int fake_ask_refused(const struct cgroup_host *h, const char *name, struct err *e)
{
	(void) h, (void) name;
	asked++;
	return err_say(e, EACCES, "Interactive authentication required.");
}

static inline int setup(void **state)
{
	struct machine *m = xcalloc(1, sizeof *m);
	on = m;
	asked = 0;
	strcpy(m->path, "/tmp/test_cgroup.XXXXXX");
	assert_non_null(mkdtemp(m->path));
	snprintf(m->proc, sizeof m->proc, "%s/proc", m->path);
	snprintf(m->bus, sizeof m->bus, "%s/bus", m->path);
	m->host = (struct cgroup_host){ .root = m->path,
					.proc = m->proc,
					.user_bus = m->bus,
					.make_dir = fake_make_dir,
					.remove_dir = fake_remove_dir,
					.ask_scope = fake_ask_refused };
	put("proc/self/stat", "100 (a) b) S 90 100 100 0 -1");
	put("proc/90/stat", "90 (bash) S 1 90 90 0 -1");
	put("proc/1/stat", "1 (init) S 0 1 1 0 -1");
	*state = m;
	return 0;
}

static inline int teardown(void **state)
{
	struct machine *m = *state;
	struct err e;
	int r = dir_remove_tree(AT_FDCWD, m->path, &e);
	free(m);
	return r;
}

static inline struct policy limits(uint64_t memory, uint64_t processes, uint64_t cpus)
{
	struct policy p;
	memset(&p, 0, sizeof p);
	for (int i = 0; i < LIMIT_MAX; i++)
		p.limit[i] = UNLIMITED;
	p.limit[LIMIT_MEMORY] = memory;
	p.limit[LIMIT_PROCESSES] = processes;
	p.limit[LIMIT_CPUS] = cpus;
	return p;
}

static inline struct cgroup *create(struct err *e, int *ret)
{
	struct policy p = limits(256 << 20, 64, 1500);
	struct cgroup *c = NULL;
	*ret = cgroup_create_on(&on->host, RUN, &p, &c, e);
	return c;
}

static inline void assert_limit(const struct cgroup *c, enum cgroup_controller which, uint64_t value,
				const char *mechanism)
{
	uint64_t got;
	const char *by;
	assert_int_equal(cgroup_limit(c, which, &got, &by), 0);
	assert_int_equal(got, value);
	assert_string_equal(by, mechanism);
}
