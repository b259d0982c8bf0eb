/* SPDX-License-Identifier: MIT */
/*
 * The view of files, built for real in namespaces of the test's own: what can be written, how much, and what cannot be
 * seen. Skipped where no user namespace is to be had.
 */
#include "core/base/base.h"
#include "core/confine/confine.h"
#include "core/confine/self.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SPACE  (1u << 20)
#define INODES 20

typedef int (*check_fn)(void); /* in the child, inside the view: 0, or the line that failed */
#define CHECK(x)                         \
	do {                             \
		if (!(x))                \
			return __LINE__; \
	} while (0)

static int write_until_full(const char *path, size_t *ret)
{
	static char block[4096];
	CLOSE_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ssize_t n;
	*ret = 0;
	while ((n = write(fd, block, sizeof(block))) > 0)
		*ret += (size_t) n;
	return errno;
}

static int check_places(void)
{
	char text[64];
	struct stat st;
	CHECK(open("/usr/x", O_WRONLY | O_CREAT, 0600) < 0 && errno == EROFS);
	CHECK(open("/etc/x", O_WRONLY | O_CREAT, 0600) < 0 && errno == EROFS);
	CHECK(mkdir("/new", 0700) < 0 && errno == EROFS);
	CHECK(file_read_small(AT_FDCWD, "/etc/greeting", text, sizeof(text)) == 5 &&
	      strcmp(text, "hello") == 0);
	CHECK(readlink("/bin", text, sizeof(text)) == 7 && memcmp(text, "usr/bin", 7) == 0);
	CHECK(access("/bin/sh", X_OK) == 0);
	CHECK(stat("/place", &st) == 0 && st.st_uid == 1000 && (st.st_mode & 07777) == 01777);
	CHECK(access("/root", F_OK) < 0 && access("/home", F_OK) < 0 && access("/sys", F_OK) < 0);
	CHECK(access("/../etc/shadow", F_OK) < 0);
	int fd = open("/dev/null", O_RDWR);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1);
	return 0;
}

/* Two places, one total. */
static int check_space(void)
{
	size_t first, second, more;
	CHECK(write_until_full("/place/a", &first) == ENOSPC);
	CHECK(first > SPACE - 64 * 1024 && first <= SPACE);
	CHECK(write_until_full("/other/b", &second) == ENOSPC && second == 0);
	CHECK(unlink("/place/a") == 0);
	CHECK(write_until_full("/other/b", &more) == ENOSPC && more > SPACE - 64 * 1024);
	return 0;
}

static int check_inodes(void)
{
	char path[32];
	int made = 0;
	for (; made < 100; made++) {
		snprintf(path, sizeof(path), "/%s/%d", made % 2 ? "place" : "other", made);
		if (mkdir(path, 0700) < 0)
			break;
	}
	CHECK(errno == ENOSPC);
	CHECK(made == INODES); /* exactly what was promised: the skeleton's own do not count */
	return 0;
}

/* Terminals of this instance alone, as many as it may have; none of the host's is to be seen. */
static int check_terminals(void)
{
	int fds[65], count = 0;
	CHECK(access("/dev/pts/0", F_OK) < 0 && errno == ENOENT);
	while (count < 65 && (fds[count] = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)) >= 0)
		count++;
	CHECK(count == 64 && errno == ENOSPC);
	CHECK(access("/dev/pts/63", F_OK) == 0);
	while (count > 0)
		CHECK(close(fds[--count]) == 0);
	return 0;
}

/* No mount of the host's is left that one could walk or look back into. */
static int check_mounts(void)
{
	FREE char *text = NULL;
	struct err e;
	CHECK(file_read(AT_FDCWD, "/proc/self/mountinfo", 1 << 20, &text, NULL, &e) == 0);
	int lines = 0;
	for (char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	CHECK(lines >= 5 && lines <= 12);
	CHECK(strstr(text, " / / ro,nosuid,nodev") != NULL);
	CHECK(strstr(text, " - cgroup") == NULL && strstr(text, " /sys ") == NULL);
	return 0;
}

static void plan(struct mount_plan *m)
{
	const struct mount_op ops[] = {
		{ .kind = MOUNT_BIND, .source = "/usr", .dest = "/usr" },
		{ .kind = MOUNT_LINK, .source = "usr/bin", .dest = "/bin" },
		{ .kind = MOUNT_LINK, .source = "usr/lib", .dest = "/lib" },
		{ .kind = MOUNT_LINK, .source = "usr/lib64", .dest = "/lib64" },
		{ .kind = MOUNT_FILE, .dest = "/etc/greeting", .data = "hello", .len = 5, .mode = 0444 },
		{ .kind = MOUNT_DEVICE, .source = "/dev/null", .dest = "/dev/null" },
		{ .kind = MOUNT_PROC, .dest = "/proc" },
		{ .kind = MOUNT_TERMINALS, .dest = "/dev/pts" },
		{ .kind = MOUNT_WORK, .dest = "/place", .mode = 01777 },
		{ .kind = MOUNT_WORK, .dest = "/other", .mode = 0755 },
		{ .kind = MOUNT_READ_ONLY, .dest = "/" },
	};
	*m = (struct mount_plan){ .space = SPACE, .inodes = INODES };
	for (size_t k = 0; k < ARRAY_LEN(ops); k++)
		mount_plan_add(m, ops[k]);
}

static _Noreturn void child(struct mount_plan *m, int sync_fd, check_fn check)
{
	struct err e = { 0 };
	struct confinement c = { .clone_flags = CLONE_NEWUSER, .inside_uid = 1000 };
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) < 0)
		_exit(77);
	if (write(sync_fd, "u", 1) != 1 || sync_wait(sync_fd, &e) < 0 || ids_apply(&c, &e) < 0)
		_exit(78);
	pid_t pid =
		fork(); /* the first in the new pid namespace: only from in there can its /proc be mounted */
	if (pid == 0) {
		if (mount_plan_apply(m, &e) < 0) {
			dprintf(2, "%s\n", e.text);
			_exit(79);
		}
		int line = check();
		if (line)
			dprintf(2, "line %d of the check\n", line);
		_exit(line ? 1 : 0);
	}
	int status;
	waitpid(pid, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 80);
}

static void inside(check_fn check)
{
	struct mount_plan m;
	struct err e = { 0 };
	int fds[2], status;
	char c;
	plan(&m);
	assert_int_equal(mount_plan_open(&m, &e), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	pid_t pid = fork();
	if (pid == 0)
		child(&m, fds[1], check);
	close(fds[1]);
	if (read(fds[0], &c, 1) == 1) {
		assert_int_equal(confine_map_ids(pid, 1000, geteuid() == 0 ? 65534 : geteuid(),
						 geteuid() == 0 ? 65534 : getegid(), &e),
				 0);
		assert_int_equal(write(fds[0], "g", 1), 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(fds[0]);
	mount_plan_done(&m);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void userns_places(void **state)
{
	(void) state;
	inside(check_places);
}

static void userns_space(void **state)
{
	(void) state;
	inside(check_space);
}

static void userns_inodes(void **state)
{
	(void) state;
	inside(check_inodes);
}

static void userns_terminals(void **state)
{
	(void) state;
	inside(check_terminals);
}

static void userns_mounts(void **state)
{
	(void) state;
	inside(check_mounts);
}

static void test_missing_source_is_named(void **state)
{
	struct mount_plan m = { 0 };
	struct err e;
	(void) state;
	mount_plan_add(&m, (struct mount_op){
				   .kind = MOUNT_BIND, .source = "/proc/no-such-folder/x", .dest = "/data" });
	assert_int_equal(mount_plan_open(&m, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/proc/no-such-folder/x"));
	assert_non_null(strstr(e.text, "/data"));
	m.ops[0].optional = true;
	assert_int_equal(mount_plan_open(&m, &e), 0);
	assert_int_equal(m.ops[0].kind, MOUNT_DIR);
	mount_plan_done(&m);
}

/* Before pivot_root an absolute link of the skeleton leads into the host's root. */
static void test_no_place_below_a_link(void **state)
{
	struct mount_plan m = { 0 };
	struct err e;
	(void) state;
	mount_plan_add(&m, (struct mount_op){ .kind = MOUNT_LINK, .source = "/tmp", .dest = "/var/tmp" });
	mount_plan_add(&m, (struct mount_op){ .kind = MOUNT_BIND, .source = "/usr", .dest = "/var/tmpx" });
	assert_int_equal(mount_plan_open(&m, &e), 0);
	mount_plan_add(&m, (struct mount_op){ .kind = MOUNT_BIND, .source = "/usr", .dest = "/var/tmp/x" });
	assert_int_equal(mount_plan_open(&m, &e), -EINVAL);
	assert_non_null(strstr(e.text, "/var/tmp/x"));
	mount_plan_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing_source_is_named),
		cmocka_unit_test(test_no_place_below_a_link),
		cmocka_unit_test(userns_places),
		cmocka_unit_test(userns_space),
		cmocka_unit_test(userns_inodes),
		cmocka_unit_test(userns_terminals),
		cmocka_unit_test(userns_mounts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
