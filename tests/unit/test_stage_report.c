/* SPDX-License-Identifier: MIT */
/*
 * What an overlay's upper folder, or a copy (here src), says was changed against the original (here dst), and the copy
 * that takes just that.
 */
#include "tests/unit/stage_place.h"

#include <sys/sysmacros.h>
#include <sys/xattr.h>

static void note(void *arg, enum stage_change what, const char *path, uint64_t bytes)
{
	buf_printf(arg, "%c %s %llu\n", "+~-"[what], path, (unsigned long long) bytes);
}

static int report(struct place *p, enum stage_kind kind, const struct stage_listener *to)
{
	static const char *const ours[] = { "data", "out", NULL };
	const struct stage_view view = {
		.kind = kind, .dirfd = p->src_fd, .original = p->dst, .ours = kind == STAGE_COPY ? ours : NULL
	};
	struct err e;

	return stage_report(&view, to, &e);
}

static int report_upper(struct place *p, const struct stage_listener *to)
{
	return report(p, STAGE_UPPER, to);
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
	mkdirat(p->dst_fd, "kept", 0755);
	put(p->dst_fd, "kept/edited", "old", 0644);
	put(p->dst_fd, "gone", "old", 0644);
	mkdirat(p->dst_fd, "gone_folder", 0755);
	mkdirat(p->dst_fd, "remade", 0755);
	put(p->dst_fd, "remade/hidden", "old", 0644);
	put(p->dst_fd, "remade/same", "old", 0644);

	mkdirat(p->src_fd, "kept", 0755);
	put(p->src_fd, "kept/edited", "newer", 0644);
	put(p->dst_fd, "kept/touched", "old", 0644);
	put(p->src_fd, "kept/touched", "old", 0644);
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

	assert_int_equal(report_upper(p, &to), 0);
	assert_string_equal(text.data,
			    "+ fresh/ 0\n+ fresh/file 2\n- gone 0\n- gone_folder/ 0\n+ kept/" HOSTILE
			    " 1\n~ kept/edited 5\n"
			    "- remade/hidden 0\n~ remade/same 3\n");
	text.len = 0;
	to.max = 3;
	assert_int_equal(report_upper(p, &to), 4); /* stopped counting beyond */
	assert_string_equal(text.data, "+ fresh/ 0\n+ fresh/file 2\n- gone 0\n");
	buf_done(&text);
}

static void report_whiteout_device(void **state)
{
	struct place *p = *state;
	struct buf text = { .data = NULL };
	struct stage_listener to = { .changed = note, .arg = &text, .max = 100 };
	put(p->dst_fd, "gone", "old", 0644);
	if (mknodat(p->src_fd, "gone", S_IFCHR, makedev(0, 0)) < 0)
		skip(); /* an ordinary user before 5.8 */
	assert_int_equal(report_upper(p, &to), 0);
	assert_string_equal(text.data, "- gone 0\n");
	buf_done(&text);
}

static void report_deep(void **state)
{
	struct place *p = *state;
	struct buf text = { .data = NULL };
	struct stage_listener to = { .changed = note, .arg = &text, .max = 2 };
	put_chain(p->src_fd, 1500);
	put_chain(p->dst_fd, 700);
	assert_int_equal(report_upper(p, &to), 3);
	to.max = 10000;
	text.len = 0;
	assert_int_equal(report_upper(p, &to), 0);
	size_t lines = 0;
	for (size_t i = 0; i < text.len; i++)
		lines += text.data[i] == '\n';
	assert_int_equal(lines, 801); /* the lower half of the folders, and the file */
	buf_done(&text);
}

/* ---- a copy ---- */

static void copy_changes(void **state)
{
	struct place *p = *state;
	struct buf text = { .data = NULL };
	struct stage_listener to = { .changed = note, .arg = &text, .max = 100 };
	put(p->dst_fd, "same", "bytes", 0600);
	put(p->src_fd, "same", "bytes", 0644); /* time and mode are another, the bytes are not */
	put(p->dst_fd, "script", "#!", 0644);
	put(p->src_fd, "script", "#!", 0755);
	put(p->dst_fd, "edited", "12345", 0644);
	put(p->src_fd, "edited", "12x45", 0644);
	put(p->dst_fd, "gone", "old", 0644);
	mkdirat(p->dst_fd, "kept", 0755), mkdirat(p->src_fd, "kept", 0755);
	mkdirat(p->dst_fd, "kept/folder", 0755);
	put(p->dst_fd, "kept/folder/in_it", "old", 0644);
	put(p->src_fd, "kept/" HOSTILE, "1", 0644);
	put(p->dst_fd, "turned", "file", 0644);
	mkdirat(p->src_fd, "turned", 0755);
	put(p->src_fd, "turned/in", "12", 0644);
	assert_int_equal(symlinkat("/same", p->dst_fd, "link"), 0);
	assert_int_equal(symlinkat("/same", p->src_fd, "link"), 0);
	assert_int_equal(symlinkat("/same", p->dst_fd, "bent"), 0);
	assert_int_equal(symlinkat("/etc/passwd", p->src_fd, "bent"), 0);
	put(p->dst_fd, "pipe", "", 0644);
	assert_int_equal(mkfifoat(p->src_fd, "pipe", 0644), 0);
	mkdirat(p->src_fd, "out", 0755), mkdirat(p->src_fd, "kept/out", 0755);
	put(p->src_fd, "out/result", "ours", 0644);

	assert_int_equal(report(p, STAGE_COPY, &to), 0);
	assert_string_equal(text.data, "- gone 0\n~ bent 11\n~ edited 5\n"
				       "- kept/folder/ 0\n+ kept/" HOSTILE " 1\n+ kept/out/ 0\n"
				       "~ pipe 0\n~ script 2\n~ turned/ 0\n+ turned/in 2\n");
	buf_done(&text);
}

/* Sizes that are equal and blocks that are, up to the last byte. */
static void copy_large(void **state)
{
	struct place *p = *state;
	struct buf text = { .data = NULL };
	struct stage_listener to = { .changed = note, .arg = &text, .max = 100 };
	for (int side = 0; side < 2; side++) {
		int dirfd = side ? p->src_fd : p->dst_fd;
		put(dirfd, "same", "", 0644);
		put(dirfd, "last", "", 0644);
		int same_fd = openat(dirfd, "same", O_WRONLY | O_CLOEXEC);
		int last_fd = openat(dirfd, "last", O_WRONLY | O_CLOEXEC);
		assert_int_equal(ftruncate(same_fd, 1000000), 0);
		assert_int_equal(pwrite(last_fd, side ? "x" : "y", 1, 1000000), 1);
		close(same_fd), close(last_fd);
	}
	assert_int_equal(report(p, STAGE_COPY, &to), 0);
	assert_string_equal(text.data, "~ last 1000001\n");
	buf_done(&text);
}

/* ---- what was changed comes out, and nothing else ---- */

static void out_only(struct place *p, enum stage_kind kind, struct stage_done *ret_done)
{
	static const struct stage_want caps = {
		.uid = (uid_t) -1, .gid = (gid_t) -1, .max_bytes = 1 << 20, .max_files = 20
	};
	struct buf text = { .data = NULL };
	struct stage_set taken = { .count = 0 };
	struct stage_listener to = { .changed = note, .arg = &text, .max = 1, .taken = &taken };
	struct stage_want want = caps;
	struct err e;
	char dest[96];

	(void) report(p, kind, &to); /* more than are told, yet each is taken */
	want.only = &taken;
	snprintf(dest, sizeof dest, "%s/dest", p->path);
	assert_int_equal(stage_copy_out(p->src_fd, dest, &want, ret_done, &e), 0);
	stage_set_done(&taken);
	buf_done(&text);
}

static void out_changed(void **state)
{
	struct place *p = *state;
	struct stage_done done;
	char name[32];
	for (int k = 0; k < 100; k++) { /* more than the cap, all as they were */
		snprintf(name, sizeof name, "same%d", k);
		put(p->dst_fd, name, "as it was", 0644);
		put(p->src_fd, name, "as it was", 0644);
	}
	mkdirat(p->fd, "dest", 0755);
	put(p->fd, "dest/same1", "of the host", 0644); /* no clash: it is not taken */
	mkdirat(p->dst_fd, "quiet", 0755), mkdirat(p->src_fd, "quiet", 0755);
	put(p->dst_fd, "quiet/file", "as it was", 0644);
	put(p->src_fd, "quiet/file", "as it was", 0644);
	mkdirat(p->dst_fd, "a", 0755), mkdirat(p->src_fd, "a", 0755);
	mkdirat(p->dst_fd, "a/b", 0755), mkdirat(p->src_fd, "a/b", 0755);
	put(p->dst_fd, "a/b/edited", "old", 0644);
	put(p->src_fd, "a/b/edited", "new", 0644);
	put(p->src_fd, "a/b/added", "1", 0644);
	put(p->dst_fd, "a/b/gone", "old", 0644);
	mkdirat(p->src_fd, "a/fresh", 0755);
	put(p->src_fd, "a/fresh/file", "2", 0644);
	assert_int_equal(symlinkat("/etc/passwd", p->src_fd, "a/link"), 0);
	mkdirat(p->src_fd, "out", 0755);
	put(p->src_fd, "out/result", "ours", 0644);

	out_only(p, STAGE_COPY, &done);
	assert_int_equal(done.files, 3);
	assert_null(done.cut);
	assert_int_equal(done.skipped_count, 1);
	assert_string_equal(done.skipped[0].path, "a/link");
	assert_text(p->fd, "dest/a/b/edited", "new");
	assert_text(p->fd, "dest/a/b/added", "1");
	assert_text(p->fd, "dest/a/fresh/file", "2");
	assert_text(p->fd, "dest/same1", "of the host");
	assert_absent(p->fd, "dest/same2");
	assert_absent(p->fd, "dest/quiet");
	assert_absent(p->fd, "dest/out");
	stage_clear(&done);
}

/* Whiteouts stand for nothing: they are not copied, and not told as passed over. */
static void out_upper(void **state)
{
	struct place *p = *state;
	struct stage_done done;
	put(p->dst_fd, "gone", "old", 0644);
	put(p->src_fd, "gone", "", 0644);
	mark(p->src_fd, "gone", "user.overlay.whiteout", "");
	put(p->src_fd, "new", "new", 0644);
	mkdirat(p->dst_fd, "copied_up", 0755), mkdirat(p->src_fd, "copied_up", 0755);
	out_only(p, STAGE_UPPER, &done);
	assert_int_equal(done.files, 1);
	assert_int_equal(done.skipped_count, 0);
	assert_text(p->fd, "dest/new", "new");
	assert_absent(p->fd, "dest/gone");
	assert_absent(p->fd, "dest/copied_up");
	stage_clear(&done);
}

static void out_changed_cap(void **state)
{
	struct place *p = *state;
	struct stage_done done;
	char name[32];
	for (int k = 0; k < 30; k++) {
		snprintf(name, sizeof name, "%02d", k);
		put(p->src_fd, name, "new", 0644);
	}
	out_only(p, STAGE_COPY, &done);
	assert_int_equal(done.files, 20);
	assert_non_null(done.cut);
	stage_clear(&done);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(report_changes), IN_PLACE(report_whiteout_device),
		IN_PLACE(report_deep),    IN_PLACE(copy_changes),
		IN_PLACE(copy_large),     IN_PLACE(out_changed),
		IN_PLACE(out_upper),      IN_PLACE(out_changed_cap),
	};
	umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
