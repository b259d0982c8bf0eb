/* SPDX-License-Identifier: MIT */
/*
 * Removing what hostile code built. As root each tree is built and removed by an ordinary user: root would
 * not notice a folder without permissions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/base.h"

#define NOBODY 65534
#define DEEP   1500
#define CANNOT 77 /* this machine does not let us build the scene */

#define EXPECT(what)                                                                     \
	do {                                                                             \
		if (!(what)) {                                                           \
			(void) dprintf(2, "%s:%d: %s: %m\n", __FILE__, __LINE__, #what); \
			return 1;                                                        \
		}                                                                        \
	} while (0)

/* In a folder of its own and a process of its own: 0 when all went well. The folder "keep" beside the tree
 * must survive. */
static int in_child(int (*scene)(int dirfd))
{
	char path[] = "/tmp/belljar-test-XXXXXX";
	assert_non_null(mkdtemp(path));
	assert_int_equal(chmod(path, 0755), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(path, NOBODY, NOBODY), 0);
	CLOSE_FD int dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dirfd >= 0);

	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(scene(dirfd));
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(dir_remove_tree(AT_FDCWD, path, NULL), 0);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int become_nobody(void)
{
	if (geteuid() != 0)
		return 0;
	EXPECT(setgroups(0, NULL) == 0);
	EXPECT(setresgid(NOBODY, NOBODY, NOBODY) == 0);
	EXPECT(setresuid(NOBODY, NOBODY, NOBODY) == 0);
	return 0;
}

static int make_file(int dirfd, const char *name)
{
	CLOSE_FD int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0000);
	return fd < 0 ? -1 : 0;
}

static int keep_folder(int dirfd)
{
	EXPECT(mkdirat(dirfd, "keep", 0700) == 0);
	EXPECT(make_file(dirfd, "keep/file") == 0);
	return 0;
}

static int is_gone_and_kept(int dirfd, const char *name)
{
	struct stat st;
	EXPECT(fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT);
	EXPECT(fstatat(dirfd, "keep/file", &st, 0) == 0);
	return 0;
}

/* `depth` folders in each other, each with a file, links out, and the names that the removal itself uses. */
static int build_deep(int dirfd, int depth, mode_t mode)
{
	char name[61];
	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	EXPECT(mkdirat(dirfd, "tree", 0700) == 0);
	CLOSE_FD int fd = openat(dirfd, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < depth; i++) {
		EXPECT(mkdirat(fd, name, 0700) == 0);
		EXPECT(make_file(fd, "file") == 0);
		EXPECT(symlinkat("../keep", fd, "link") == 0);
		EXPECT(i % 100 || (make_file(fd, "deep-0") == 0 && mkdirat(fd, "deep-1", mode) == 0 &&
				   mkdirat(fd, "deep-2", 0700) == 0 && make_file(fd, "deep-2/file") == 0));
		int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		EXPECT(below >= 0);
		EXPECT(fchmod(fd, mode) == 0);
		close_fd(&fd);
		fd = below;
	}
	return 0;
}

static int deep_scene(int dirfd, mode_t mode)
{
	struct err e = { 0 };
	EXPECT(become_nobody() == 0);
	EXPECT(keep_folder(dirfd) == 0);
	EXPECT(build_deep(dirfd, DEEP, mode) == 0);
	struct rlimit few = { 48, 48 };
	EXPECT(setrlimit(RLIMIT_NOFILE, &few) == 0);
	EXPECT(dir_remove_tree(dirfd, "tree", &e) == 0);
	EXPECT(e.code == 0);
	return is_gone_and_kept(dirfd, "tree");
}

static int deep(int dirfd)
{
	return deep_scene(dirfd, 0700);
}

static int deep_without_permissions(int dirfd)
{
	return deep_scene(dirfd, 0000);
}

static int wide(int dirfd)
{
	char name[32];
	EXPECT(become_nobody() == 0);
	EXPECT(keep_folder(dirfd) == 0);
	EXPECT(mkdirat(dirfd, "tree", 0700) == 0);
	for (int i = 0; i < 3000; i++) {
		(void) snprintf(name, sizeof(name), "tree/%d", i);
		EXPECT(i % 3 ? make_file(dirfd, name) == 0 : mkdirat(dirfd, name, 0000) == 0);
	}
	EXPECT(dir_remove_tree(dirfd, "tree", NULL) == 0);
	return is_gone_and_kept(dirfd, "tree");
}

/* A link in the place of the folder goes, what it points at stays; a file is removed, nothing is fine. */
static int not_a_folder(int dirfd)
{
	EXPECT(become_nobody() == 0);
	EXPECT(keep_folder(dirfd) == 0);
	EXPECT(symlinkat("keep", dirfd, "tree") == 0);
	EXPECT(dir_remove_tree(dirfd, "tree", NULL) == 0);
	EXPECT(is_gone_and_kept(dirfd, "tree") == 0);
	EXPECT(make_file(dirfd, "tree") == 0);
	EXPECT(dir_remove_tree(dirfd, "tree", NULL) == 0);
	EXPECT(mkfifoat(dirfd, "tree", 0600) == 0);
	EXPECT(dir_remove_tree(dirfd, "tree", NULL) == 0);
	EXPECT(is_gone_and_kept(dirfd, "tree") == 0);
	EXPECT(dir_remove_tree(dirfd, "tree", NULL) == 0);
	return 0;
}

/* Another's folder with a file in it, in a folder of ours: told, and all else is removed. */
static int not_ours(int dirfd)
{
	struct err e = { 0 };
	struct stat st;
	if (geteuid() != 0)
		return CANNOT;
	EXPECT(mkdirat(dirfd, "tree", 0755) == 0);
	EXPECT(mkdirat(dirfd, "tree/roots", 0755) == 0);
	EXPECT(make_file(dirfd, "tree/roots/file") == 0);
	EXPECT(make_file(dirfd, "tree/mine") == 0);
	EXPECT(fchownat(dirfd, "tree", NOBODY, NOBODY, 0) == 0);
	EXPECT(become_nobody() == 0);
	EXPECT(dir_remove_tree(dirfd, "tree", &e) == -EACCES);
	EXPECT(e.code == EACCES);
	EXPECT(strcmp(e.text, "remove file: Permission denied") == 0);
	EXPECT(fstatat(dirfd, "tree/mine", &st, 0) < 0);
	EXPECT(fstatat(dirfd, "tree/roots/file", &st, 0) == 0);
	return 0;
}

/* A bind mount of the same filesystem within: not entered, told. The tree itself being one: nothing is
 * touched. */
static int mounts(int dirfd)
{
	struct err e = { 0 };
	struct stat st;
	if (fchdir(dirfd) < 0 || unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return CANNOT;
	EXPECT(keep_folder(dirfd) == 0);
	EXPECT(dir_make_all("tree/a/mounted", 0700, NULL) == 0);
	EXPECT(make_file(dirfd, "tree/a/file") == 0);
	if (mount("keep", "tree/a/mounted", NULL, MS_BIND, NULL) < 0)
		return CANNOT;
	EXPECT(dir_remove_tree(dirfd, "tree", &e) == -EBUSY);
	EXPECT(e.code == EBUSY);
	EXPECT(fstatat(dirfd, "keep/file", &st, 0) == 0);
	EXPECT(fstatat(dirfd, "tree/a/file", &st, 0) < 0);
	EXPECT(dir_remove_tree(dirfd, "tree/a/mounted", &e) == -EBUSY);
	EXPECT(fstatat(dirfd, "keep/file", &st, 0) == 0);
	EXPECT(umount2("tree/a/mounted", MNT_DETACH) == 0);
	EXPECT(dir_remove_tree(dirfd, "tree", NULL) == 0);
	return is_gone_and_kept(dirfd, "tree");
}

static void run_scene(int (*scene)(int dirfd))
{
	int status = in_child(scene);
	if (status == CANNOT)
		skip();
	assert_int_equal(status, 0);
}

static void test_deep(void **state)
{
	(void) state;
	run_scene(deep);
}

static void test_deep_without_permissions(void **state)
{
	(void) state;
	run_scene(deep_without_permissions);
}

static void test_wide(void **state)
{
	(void) state;
	run_scene(wide);
}

static void test_not_a_folder(void **state)
{
	(void) state;
	run_scene(not_a_folder);
}

static void test_not_ours(void **state)
{
	(void) state;
	run_scene(not_ours);
}

static void test_mounts(void **state)
{
	(void) state;
	run_scene(mounts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deep),     cmocka_unit_test(test_deep_without_permissions),
		cmocka_unit_test(test_wide),     cmocka_unit_test(test_not_a_folder),
		cmocka_unit_test(test_not_ours), cmocka_unit_test(test_mounts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
