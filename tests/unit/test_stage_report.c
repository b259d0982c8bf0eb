/* SPDX-License-Identifier: MIT */
/*
 * What an overlay's upper folder (here src) says was changed against the lower one (here dst).
 */
#include "tests/unit/stage_place.h"

#include <sys/sysmacros.h>
#include <sys/xattr.h>

static void note(void *arg, enum stage_change what, const char *path, uint64_t bytes)
{
	buf_printf(arg, "%c %s %llu\n", "+~-"[what], path, (unsigned long long) bytes);
}

static void mark(int dirfd, const char *name, const char *key, const char *value)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	int r = fsetxattr(fd, key, value, strlen(value), 0);
	int code = errno;
	close(fd);
	if (r < 0 && code == EOPNOTSUPP)
		skip(); /* a tmpfs before 6.6 has no user.* */
	assert_int_equal(r, 0);
}

static void report_changes(void **state)
{
	struct place *p = *state;
	struct buf text = { .data = NULL };
	struct stage_listener to = { .changed = note, .arg = &text, .max = 100 };
	struct err e;
	mkdirat(p->dst_fd, "kept", 0755);
	put(p->dst_fd, "kept/edited", "old", 0644);
	put(p->dst_fd, "gone", "old", 0644);
	mkdirat(p->dst_fd, "gone_folder", 0755);
	mkdirat(p->dst_fd, "remade", 0755);
	put(p->dst_fd, "remade/hidden", "old", 0644);
	put(p->dst_fd, "remade/same", "old", 0644);

	mkdirat(p->src_fd, "kept", 0755);
	put(p->src_fd, "kept/edited", "newer", 0644);
	put(p->src_fd, "kept/" HOSTILE, "1", 0644);
	mkdirat(p->src_fd, "fresh", 0755);
	put(p->src_fd, "fresh/file", "12", 0644);
	mkdirat(p->src_fd, "remade", 0755);
	put(p->src_fd, "remade/same", "new", 0644);
	put(p->src_fd, "gone", "", 0644);
	put(p->src_fd, "gone_folder", "", 0644);
	put(p->src_fd, "never_was", "", 0644);
	mark(p->src_fd, "remade", "user.overlay.opaque", "y");
	mark(p->src_fd, "gone", "user.overlay.whiteout", "");
	mark(p->src_fd, "gone_folder", "user.overlay.whiteout", "");
	mark(p->src_fd, "never_was", "user.overlay.whiteout", "");

	assert_int_equal(stage_report(p->src_fd, p->dst, &to, &e), 0);
	assert_string_equal(text.data,
			    "+ fresh/ 0\n+ fresh/file 2\n- gone 0\n- gone_folder/ 0\n+ kept/" HOSTILE
			    " 1\n~ kept/edited 5\n"
			    "- remade/hidden 0\n~ remade/same 3\n");
	text.len = 0;
	to.max = 3;
	assert_int_equal(stage_report(p->src_fd, p->dst, &to, &e), 4); /* stopped counting beyond */
	assert_string_equal(text.data, "+ fresh/ 0\n+ fresh/file 2\n- gone 0\n");
	buf_done(&text);
}

static void report_whiteout_device(void **state)
{
	struct place *p = *state;
	struct buf text = { .data = NULL };
	struct stage_listener to = { .changed = note, .arg = &text, .max = 100 };
	struct err e;
	put(p->dst_fd, "gone", "old", 0644);
	if (mknodat(p->src_fd, "gone", S_IFCHR, makedev(0, 0)) < 0)
		skip(); /* an ordinary user before 5.8 */
	assert_int_equal(stage_report(p->src_fd, p->dst, &to, &e), 0);
	assert_string_equal(text.data, "- gone 0\n");
	buf_done(&text);
}

static void report_deep(void **state)
{
	struct place *p = *state;
	struct buf text = { .data = NULL };
	struct stage_listener to = { .changed = note, .arg = &text, .max = 2 };
	struct err e;
	put_chain(p->src_fd, 1500);
	put_chain(p->dst_fd, 700);
	assert_int_equal(stage_report(p->src_fd, p->dst, &to, &e), 3);
	to.max = 10000;
	text.len = 0;
	assert_int_equal(stage_report(p->src_fd, p->dst, &to, &e), 0);
	size_t lines = 0;
	for (size_t i = 0; i < text.len; i++)
		lines += text.data[i] == '\n';
	assert_int_equal(lines, 801); /* the lower half of the folders, and the file */
	buf_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(report_changes),
		IN_PLACE(report_whiteout_device),
		IN_PLACE(report_deep),
	};
	umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
