/* SPDX-License-Identifier: MIT */
/*
 * Paths and the flags with which files are opened.
 */
#include "decode_fixture.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stdio.h>

static void test_paths_become_absolute(void **state)
{
	char cwd[PATH_MAX], due[2 * PATH_MAX];
	int fd = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void) state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(due, sizeof(due), "%s%sa/../b", cwd, cwd[1] ? "/" : "");
	DECODE(SYS_open, P("a/../b"), O_RDONLY);
	assert_int_equal(d.kind, DECODE_FILE);
	assert_string_equal(d.op, "open");
	expect_text("path", due);
	assert_string_equal(d.path, due);
	DECODE(SYS_openat, (uint64_t) AT_FDCWD, P("./a/../b"), O_RDONLY);
	assert_string_equal(d.path, due);
	DECODE(SYS_openat, (uint32_t) AT_FDCWD, P("a/../b"), O_RDONLY);
	assert_string_equal(d.path, due);
	DECODE(SYS_openat, (uint64_t) fd, P("lib/x"), O_RDONLY);
	assert_string_equal(d.path, "/usr/lib/x");
	DECODE(SYS_openat, (uint64_t) fd, P("/etc/shadow"), O_RDONLY);
	assert_string_equal(d.path, "/etc/shadow");
	DECODE(SYS_openat, 12345, P("x"), O_RDONLY);
	assert_string_equal(d.path, "?/x");
	DECODE(SYS_openat, (uint64_t) fd, P("."), O_RDONLY);
	assert_string_equal(d.path, "/usr");
	DECODE(SYS_fchownat, (uint64_t) fd, P(""), 0, 0, AT_EMPTY_PATH);
	assert_string_equal(d.path, "/usr");
	expect_text("flags", "AT_EMPTY_PATH");
	DECODE(SYS_open, P(""), O_RDONLY);
	assert_string_equal(d.path, "");
	close(fd);
}

static void test_open_flags(void **state)
{
	struct open_how how = { .flags = O_WRONLY | O_CREAT, .mode = 0640, .resolve = RESOLVE_BENEATH };

	(void) state;
	DECODE(SYS_open, P("/x"), O_RDONLY | O_CLOEXEC, 0777);
	assert_int_equal(d.flag_count, 2);
	assert_string_equal(d.flags[0], "O_RDONLY");
	assert_string_equal(d.flags[1], "O_CLOEXEC");
	expect_text("flags", "O_RDONLY|O_CLOEXEC");
	assert_int_equal(d.arg_count, 2); /* the mode means nothing here */
	DECODE(SYS_openat, (uint64_t) AT_FDCWD, P("/x"), O_RDWR | O_CREAT | O_SYNC, 0600);
	expect_text("flags", "O_RDWR|O_SYNC|O_CREAT");
	expect_text("mode", "0600");
	DECODE(SYS_open, P("/tmp"), O_TMPFILE | O_WRONLY, 0600);
	expect_text("flags", "O_WRONLY|O_TMPFILE");
	expect_text("mode", "0600");
	DECODE(SYS_open, P("/tmp"), O_DIRECTORY, 0600);
	assert_int_equal(d.arg_count, 2);
	DECODE(SYS_openat2, (uint64_t) AT_FDCWD, P("/x"), P(&how), sizeof(how));
	expect_text("flags", "O_WRONLY|O_CREAT");
	expect_text("mode", "0640");
	expect_text("resolve", "RESOLVE_BENEATH");
	assert_string_equal(d.flags[0], "O_WRONLY");
	how.flags = O_DIRECTORY;
	DECODE(SYS_openat2, (uint64_t) AT_FDCWD, P("/x"), P(&how), sizeof(how));
	assert_int_equal(d.arg_count, 3); /* no mode here either */
	DECODE(SYS_openat2, (uint64_t) AT_FDCWD, P("/x"), NOWHERE, sizeof(how));
	expect_text("flags", "?");
	assert_int_equal(d.flag_count, 0);
	DECODE(SYS_creat, P("/x"), 0644);
	assert_string_equal(d.op, "open");
	assert_string_equal(d.flags[0], "O_WRONLY");
	assert_string_equal(d.flags[1], "O_CREAT");
	assert_string_equal(d.flags[2], "O_TRUNC");
}

static void test_two_paths(void **state)
{
	(void) state;
	DECODE(SYS_renameat2, (uint64_t) AT_FDCWD, P("/a"), (uint64_t) AT_FDCWD, P("/b"), 1);
	assert_string_equal(d.op, "rename");
	assert_string_equal(d.path, "/a");
	assert_string_equal(d.to, "/b");
	expect_text("flags", "RENAME_NOREPLACE");
	DECODE(SYS_symlink, P("../target"), P("/link"));
	assert_string_equal(d.path, "/link");
	assert_null(d.to);
	expect_text("target", "../target");
}

/* A call that is refused shows its paths by its arguments alone. */
static void test_paths_of_any_call_become_absolute(void **state)
{
	char cwd[PATH_MAX], due[2 * PATH_MAX];
	int fd = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void) state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(due, sizeof(due), "%s%snew", cwd, cwd[1] ? "/" : "");
	DECODE(SYS_chroot, P("new"));
	expect_text("path", due);
	assert_null(d.path);
	DECODE(SYS_mount, P("new"), P("new"), P("tmpfs"), 0);
	expect_text("source", "new"); /* the file system's own word */
	expect_text("target", due);
	DECODE(SYS_mount, P("new"), P("/mnt"), 0, MS_BIND | MS_REC);
	expect_text("source", due);
	DECODE(SYS_open_tree, (uint64_t) fd, P("lib"), AT_RECURSIVE);
	expect_text("path", "/usr/lib");
	DECODE(SYS_swapon, 0);
	expect_text("path", "NULL");
	DECODE(SYS_swapon, NOWHERE);
	expect_text("path", "?");
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_become_absolute),
		cmocka_unit_test(test_open_flags),
		cmocka_unit_test(test_two_paths),
		cmocka_unit_test(test_paths_of_any_call_become_absolute),
	};

	return cmocka_run_group_tests_name("decode paths", tests, NULL, NULL);
}
