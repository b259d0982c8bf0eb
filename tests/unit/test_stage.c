/* SPDX-License-Identifier: MIT */
/*
 * Copying in: what was asked for or nothing. Copying out of a folder that a hostile program filled: plain
 * data only, and the rest is said. Reporting what an overlay's upper folder holds.
 */
#include "core/base/base.h"
#include "core/supervise/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#define SELF ((uid_t) -1)
#define HOSTILE "a\nb\033[2Jc"

/* A temporary folder with a source and a destination. */
struct place {
	char path[64], src[96], dst[96];
	int fd, src_fd, dst_fd;
};

static const struct stage_want plain = { .uid = SELF, .gid = SELF, .max_bytes = 1 << 20, .max_files = 5000 };

static int setup(void **state)
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

static int teardown(void **state)
{
	struct place *p = *state;
	struct err e;
	close(p->src_fd), close(p->dst_fd), close(p->fd);
	int r = dir_remove_tree(AT_FDCWD, p->path, &e);
	free(p);
	return r;
}

static void put(int dirfd, const char *name, const char *text, mode_t mode)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static mode_t mode_of(int dirfd, const char *name)
{
	struct stat st;
	assert_int_equal(fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_mode & 07777;
}

static void assert_text(int dirfd, const char *name, const char *text)
{
	char got[256];
	assert_true(file_read_small(dirfd, name, got, sizeof got) >= 0);
	assert_string_equal(got, text);
}

static void assert_absent(int dirfd, const char *name)
{
	struct stat st;
	assert_int_equal(fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(errno, ENOENT);
}

/* A chain of `depth` folders below dirfd, a file "end" in the last. */
static void put_chain(int dirfd, int depth)
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

static int chain_depth(int dirfd)
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

static const struct stage_skip *skipped(const struct stage_done *d, const char *path)
{
	for (size_t i = 0; i < d->skipped_count && i < STAGE_SKIPPED_MAX; i++)
		if (strcmp(d->skipped[i].path, path) == 0)
			return &d->skipped[i];
	return NULL;
}

/* ---- in ---- */

static void in_file(void **state)
{
	struct place *p = *state;
	struct stage_done done;
	struct err e;
	char path[128];
	put(p->src_fd, "data.csv", "1,2\n3", 04755);
	snprintf(path, sizeof path, "%s/data.csv", p->src);
	assert_int_equal(stage_copy_in(path, p->dst_fd, "data.csv", &plain, &done, &e), 0);
	assert_int_equal(done.files, 1);
	assert_int_equal(done.bytes, 5);
	assert_text(p->dst_fd, "data.csv", "1,2\n3");
	assert_int_equal(mode_of(p->dst_fd, "data.csv"), 0755);

	assert_int_equal(stage_copy_in(path, p->dst_fd, "data.csv", &plain, &done, &e), -EEXIST);
	struct stage_want read_only = plain;
	read_only.read_only = true;
	assert_int_equal(stage_copy_in(path, p->dst_fd, "other", &read_only, NULL, &e), 0);
	assert_int_equal(mode_of(p->dst_fd, "other"), 0555);
}

static void in_tree(void **state)
{
	struct place *p = *state;
	struct stage_done done;
	struct err e;
	mkdirat(p->src_fd, "sub", 0700);
	mkdirat(p->src_fd, "sub/empty", 0750);
	put(p->src_fd, "sub/" HOSTILE, "x", 0600);
	put(p->src_fd, "run.sh", "echo", 0711);
	struct stage_want read_only = plain;
	read_only.read_only = true;
	assert_int_equal(stage_copy_in(p->src, p->dst_fd, "data", &read_only, &done, &e), 0);
	assert_int_equal(done.files, 2);
	assert_int_equal(done.bytes, 5);
	assert_text(p->dst_fd, "data/sub/" HOSTILE, "x");
	assert_int_equal(mode_of(p->dst_fd, "data"), 0555);
	assert_int_equal(mode_of(p->dst_fd, "data/sub"), 0500);
	assert_int_equal(mode_of(p->dst_fd, "data/sub/empty"), 0550);
	assert_int_equal(mode_of(p->dst_fd, "data/run.sh"), 0511);

	/* Without a name, what is in the folder goes into the destination itself. */
	assert_int_equal(stage_copy_in(p->src, p->dst_fd, NULL, &plain, &done, &e), 0);
	assert_text(p->dst_fd, "run.sh", "echo");
	assert_int_equal(mode_of(p->dst_fd, "sub"), 0700);
}

static void in_refuses_links(void **state)
{
	struct place *p = *state;
	struct err e;
	char path[128];
	assert_int_equal(symlinkat("/etc/passwd", p->src_fd, "link"), 0);
	assert_int_equal(stage_copy_in(p->src, p->dst_fd, "data", &plain, NULL, &e), -ELOOP);
	assert_non_null(strstr(e.text, "link"));
	assert_absent(p->dst_fd, "data/link");
	snprintf(path, sizeof path, "%s/link", p->src);
	assert_int_equal(stage_copy_in(path, p->dst_fd, "x", &plain, NULL, &e), -ELOOP);
	assert_absent(p->dst_fd, "x");

	struct stage_want project = plain;
	project.links = true;
	char target[64] = "";
	assert_int_equal(stage_copy_in(p->src, p->dst_fd, "project", &project, NULL, &e), 0);
	assert_int_equal(readlinkat(p->dst_fd, "project/link", target, sizeof target), 11);
	assert_memory_equal(target, "/etc/passwd", 11);
}

static void in_refuses_special_files(void **state)
{
	struct place *p = *state;
	struct err e;
	char path[128];
	snprintf(path, sizeof path, "%s/pipe", p->src);
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(stage_copy_in(p->src, p->dst_fd, "data", &plain, NULL, &e), -EINVAL);
	assert_non_null(strstr(e.text, "pipe"));
	assert_int_equal(stage_copy_in(path, p->dst_fd, "x", &plain, NULL, &e), -EINVAL);
	assert_int_equal(stage_copy_in("/dev/zero", p->dst_fd, "x", &plain, NULL, &e), -EINVAL);
	assert_int_equal(stage_copy_in("/nowhere/at/all", p->dst_fd, "x", &plain, NULL, &e), -ENOENT);
}

static void in_caps(void **state)
{
	struct place *p = *state;
	struct err e;
	struct stage_done done;
	put(p->src_fd, "a", "12345", 0644);
	put(p->src_fd, "b", "12345", 0644);
	struct stage_want want = plain;
	want.max_bytes = 10;
	want.max_files = 2;
	assert_int_equal(stage_copy_in(p->src, p->dst_fd, "fits", &want, &done, &e), 0);
	assert_int_equal(done.bytes, 10);
	want.max_bytes = 9;
	assert_int_equal(stage_copy_in(p->src, p->dst_fd, "bytes", &want, NULL, &e), -EFBIG);
	assert_string_equal(e.text, "b: more than 9 bytes, the cap for this copy");
	want.max_files = 1;
	assert_int_equal(stage_copy_in(p->src, p->dst_fd, "files", &want, NULL, &e), -EFBIG);
	assert_string_equal(e.text, "the folder: more than 1 files and folders, the cap for this copy");
}

/* A file whose size is not what reading it gives: the cap holds all the same, and no half file stays. */
static void in_size_is_not_believed(void **state)
{
	struct place *p = *state;
	struct err e;
	struct stat st;
	assert_int_equal(stat("/proc/self/maps", &st), 0);
	assert_int_equal(st.st_size, 0);
	struct stage_want want = plain;
	want.max_bytes = 100;
	assert_int_equal(stage_copy_in("/proc/self/maps", p->dst_fd, "maps", &want, NULL, &e), -EFBIG);
	assert_absent(p->dst_fd, "maps");
}

static void in_deep(void **state)
{
	struct place *p = *state;
	struct err e;
	struct rlimit before, few = { 64, 64 };
	put_chain(p->src_fd, 1500);
	getrlimit(RLIMIT_NOFILE, &before);
	few.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	int r = stage_copy_in(p->src, p->dst_fd, "data", &plain, NULL, &e);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(r, 0);
	int fd = openat(p->dst_fd, "data", O_RDONLY | O_DIRECTORY);
	assert_int_equal(chain_depth(fd), 1500);
	close(fd);
}

static void in_owner(void **state)
{
	struct place *p = *state;
	struct err e;
	struct stat st;
	if (geteuid() != 0)
		skip();
	mkdirat(p->src_fd, "sub", 0700);
	put(p->src_fd, "sub/secret", "x", 0600);
	assert_int_equal(symlinkat("sub", p->src_fd, "link"), 0);
	assert_int_equal(fchown(p->dst_fd, 65534, 65534), 0);
	assert_int_equal(fchmod(p->fd, 0755), 0);
	struct stage_want want = plain;
	want.uid = want.gid = 65534;
	want.links = want.read_only = true;
	assert_int_equal(stage_copy_in(p->src, p->dst_fd, "data", &want, NULL, &e), 0);
	const char *made[] = { "data", "data/sub", "data/sub/secret", "data/link" };
	for (size_t i = 0; i < ARRAY_LEN(made); i++) {
		assert_int_equal(fstatat(p->dst_fd, made[i], &st, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(st.st_uid, 65534);
		assert_int_equal(st.st_gid, 65534);
	}
	/* Our own ids are back: a file of root's can be made where only root may. */
	assert_int_equal(mkdirat(p->src_fd, "again", 0700), 0);
	assert_int_equal(fstatat(p->src_fd, "again", &st, 0), 0);
	assert_int_equal(st.st_uid, 0);
}

/* ---- out ---- */

static void out_plain(void **state)
{
	struct place *p = *state;
	struct stage_done done;
	struct err e;
	char dest[128];
	mkdirat(p->src_fd, "plots", 0777);
	put(p->src_fd, "plots/" HOSTILE, "png", 06777);
	put(p->src_fd, "report.txt", "all well", 0444);
	snprintf(dest, sizeof dest, "%s/new/out", p->path);
	assert_int_equal(stage_copy_out(p->src_fd, dest, &plain, &done, &e), 0);
	assert_int_equal(done.files, 2);
	assert_int_equal(done.bytes, 11);
	assert_int_equal(done.skipped_count, 0);
	assert_null(done.cut);
	assert_text(p->fd, "new/out/plots/" HOSTILE, "png");
	assert_int_equal(mode_of(p->fd, "new/out"), 0700);
	assert_int_equal(mode_of(p->fd, "new/out/plots"), 0755);
	assert_int_equal(mode_of(p->fd, "new/out/plots/" HOSTILE), 0755);
	assert_int_equal(mode_of(p->fd, "new/out/report.txt"), 0644);
	stage_clear(&done);
}

static void out_hostile(void **state)
{
	struct place *p = *state;
	struct stage_done done;
	struct err e;
	mkdirat(p->src_fd, "sub", 0755);
	assert_int_equal(symlinkat("/etc/passwd", p->src_fd, "passwd"), 0);
	assert_int_equal(symlinkat("/etc", p->src_fd, "sub/folder"), 0);
	put(p->src_fd, "first", "twice", 0644);
	assert_int_equal(linkat(p->src_fd, "first", p->src_fd, "sub/second", 0), 0);
	assert_int_equal(mkfifoat(p->src_fd, "sub/pipe", 0666), 0);
	assert_int_equal(mknodat(p->src_fd, "socket", S_IFSOCK | 0666, 0), 0);
	put(p->src_fd, "sub/good", "taken", 0644);
	assert_int_equal(stage_copy_out(p->src_fd, p->dst, &plain, &done, &e), 0);
	assert_int_equal(done.files, 1);
	assert_int_equal(done.skipped_count, 6);
	assert_non_null(strstr(skipped(&done, "passwd")->why, "symbolic link"));
	assert_non_null(strstr(skipped(&done, "sub/folder")->why, "symbolic link"));
	assert_non_null(strstr(skipped(&done, "first")->why, "hard link"));
	assert_non_null(strstr(skipped(&done, "sub/second")->why, "hard link"));
	assert_non_null(strstr(skipped(&done, "sub/pipe")->why, "pipe"));
	assert_non_null(strstr(skipped(&done, "socket")->why, "socket"));
	assert_text(p->dst_fd, "sub/good", "taken");
	assert_absent(p->dst_fd, "passwd");
	assert_absent(p->dst_fd, "first");
	assert_absent(p->dst_fd, "sub/second");
	stage_clear(&done);
}

static void out_clash(void **state)
{
	struct place *p = *state;
	struct stage_done done;
	struct err e;
	put(p->src_fd, "a", "new", 0644);
	put(p->src_fd, "b", "new", 0644);
	assert_int_equal(symlinkat("/nowhere", p->dst_fd, "b"), 0);
	assert_int_equal(stage_copy_out(p->src_fd, p->dst, &plain, &done, &e), -EEXIST);
	assert_non_null(strstr(e.text, "dst/b"));
	assert_absent(p->dst_fd, "a");
	stage_clear(&done);

	assert_int_equal(unlinkat(p->dst_fd, "b", 0), 0);
	put(p->dst_fd, "unrelated", "old", 0644);
	assert_int_equal(stage_copy_out(p->src_fd, p->dst, &plain, &done, &e), 0);
	assert_text(p->dst_fd, "unrelated", "old");
	assert_text(p->dst_fd, "b", "new");
	stage_clear(&done);
}

static void out_file_cap(void **state)
{
	struct place *p = *state;
	struct stage_done done;
	struct err e;
	char name[32];
	struct stage_want caps = plain;
	caps.max_files = 50;
	for (int i = 0; i < 10050; i++) {
		snprintf(name, sizeof name, "%05d", i);
		int fd = openat(p->src_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		assert_true(fd >= 0);
		close(fd);
	}
	assert_int_equal(stage_copy_out(p->src_fd, p->dst, &caps, &done, &e), 0);
	assert_int_equal(done.files, 50);
	assert_string_equal(done.cut, "the folder: more than 50 files and folders, the cap for this copy");
	stage_clear(&done);
}

/* What is passed over counts too: else folders full of pipes would be looked at for ever. */
static void out_skipped_are_bounded(void **state)
{
	struct place *p = *state;
	struct stage_done done;
	struct err e;
	char name[32];
	struct stage_want caps = plain;
	caps.max_files = 300;
	for (int i = 0; i < 400; i++) {
		snprintf(name, sizeof name, "%05d", i);
		assert_int_equal(mkfifoat(p->src_fd, name, 0600), 0);
	}
	assert_int_equal(stage_copy_out(p->src_fd, p->dst, &caps, &done, &e), 0);
	assert_int_equal(done.skipped_count, 300);
	assert_int_equal(done.files, 0);
	assert_non_null(done.cut);
	assert_string_not_equal(done.skipped[STAGE_SKIPPED_MAX - 1].path, "");
	stage_clear(&done);
}

static void out_byte_cap(void **state)
{
	struct place *p = *state;
	struct stage_done done;
	struct err e;
	put(p->src_fd, "a", "12345", 0644);
	put(p->src_fd, "b", "1234567890", 0644);
	put(p->src_fd, "c", "1", 0644);
	struct stage_want caps = plain;
	caps.max_bytes = 8;
	assert_int_equal(stage_copy_out(p->src_fd, p->dst, &caps, &done, &e), 0);
	assert_int_equal(done.files, 1);
	assert_int_equal(done.bytes, 5);
	assert_string_equal(done.cut, "b: more than 8 bytes, the cap for this copy");
	assert_absent(p->dst_fd, "b");
	stage_clear(&done);
}

/* A terabyte of nothing is still a terabyte of zeros to whoever reads it. */
static void out_sparse(void **state)
{
	struct place *p = *state;
	struct stage_done done;
	struct err e;
	int fd = openat(p->src_fd, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(ftruncate(fd, (off_t) 1 << 40), 0);
	close(fd);
	assert_int_equal(stage_copy_out(p->src_fd, p->dst, &plain, &done, &e), 0);
	assert_int_equal(done.files, 0);
	assert_non_null(done.cut);
	assert_absent(p->dst_fd, "sparse");
	stage_clear(&done);
}

static void out_deep(void **state)
{
	struct place *p = *state;
	struct stage_done done;
	struct err e;
	put_chain(p->src_fd, 1500);
	assert_int_equal(stage_copy_out(p->src_fd, p->dst, &plain, &done, &e), 0);
	assert_int_equal(done.files, 1);
	assert_int_equal(chain_depth(p->dst_fd), 1500);
	stage_clear(&done);
}

/* ---- what changed ---- */

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
	mkdirat(p->dst_fd, "kept", 0755); /* dst is the lower folder, src the upper */
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

#define IN_PLACE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(in_file),
		IN_PLACE(in_tree),
		IN_PLACE(in_refuses_links),
		IN_PLACE(in_refuses_special_files),
		IN_PLACE(in_caps),
		IN_PLACE(in_size_is_not_believed),
		IN_PLACE(in_deep),
		IN_PLACE(in_owner),
		IN_PLACE(out_plain),
		IN_PLACE(out_hostile),
		IN_PLACE(out_clash),
		IN_PLACE(out_file_cap),
		IN_PLACE(out_skipped_are_bounded),
		IN_PLACE(out_byte_cap),
		IN_PLACE(out_sparse),
		IN_PLACE(out_deep),
		IN_PLACE(report_changes),
		IN_PLACE(report_whiteout_device),
		IN_PLACE(report_deep),
	};
	umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
