/* SPDX-License-Identifier: MIT */
/*
 * Copying in: what was asked for or nothing. Copying out of a folder that a hostile program filled: plain
 * data only, and the rest is said.
 */
#include "tests/unit/stage_place.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define SELF ((uid_t) -1)

static const struct stage_want plain = { .uid = SELF, .gid = SELF, .max_bytes = 1 << 20, .max_files = 5000 };

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

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
	close(fd);
}

/* Mounts a tmpfs in namespaces of its own, says which descriptor it is, and waits to be killed. */
static void hold_tmpfs(const char *where, int mapped_fd, int tell_fd)
{
	int fd = -1;
	char one = 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write(tell_fd, "u", 1) == 1 &&
	    read(mapped_fd, &one, 1) == 1 && setresuid(1000, 1000, 1000) == 0 &&
	    mount("tmpfs", where, "tmpfs", 0, "mode=0700,uid=1000,gid=1000") == 0)
		fd = open(where, O_RDONLY | O_DIRECTORY);
	if (write(tell_fd, &fd, sizeof fd) == (ssize_t) sizeof fd)
		pause();
	_exit(0);
}

/* What the namespaces level has behind its writable places: there, our id 0 does not exist. */
static void in_owner_of_another_namespace(void **state)
{
	struct place *p = *state;
	struct err e;
	char path[64], one;
	int to[2], from[2], theirs = -1;
	if (geteuid() != 0)
		skip();
	put(p->src_fd, "main.py", "print(1)", 0644);
	assert_int_equal(mkdirat(p->src_fd, "sub", 0755), 0);
	assert_int_equal(fchmod(p->fd, 0755), 0);
	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		hold_tmpfs(p->dst, to[0], from[1]);
	close(from[1]);
	assert_int_equal(read(from[0], &one, 1), 1);
	snprintf(path, sizeof path, "/proc/%d/gid_map", (int) pid);
	write_file(path, "1000 65534 1");
	snprintf(path, sizeof path, "/proc/%d/uid_map", (int) pid);
	write_file(path, "1000 65534 1");
	assert_int_equal(write(to[1], "m", 1), 1);
	assert_int_equal(read(from[0], &theirs, sizeof theirs), sizeof theirs);
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int) pid, theirs);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stage_want want = plain;
	int as_root = stage_copy_in(p->src, fd, "root", &want, NULL, &e);
	want.uid = want.gid = 65534;
	int as_owner = stage_copy_in(p->src, fd, "workspace", &want, NULL, &e);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(from[0]), close(to[0]), close(to[1]);
	assert_true(theirs >= 0 && fd >= 0);
	assert_int_equal(as_root, -EOVERFLOW);
	assert_int_equal(as_owner, 0);
	assert_text(fd, "workspace/main.py", "print(1)");
	close(fd);
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
		IN_PLACE(in_owner_of_another_namespace),
		IN_PLACE(out_plain),
		IN_PLACE(out_hostile),
		IN_PLACE(out_clash),
		IN_PLACE(out_file_cap),
		IN_PLACE(out_skipped_are_bounded),
		IN_PLACE(out_byte_cap),
		IN_PLACE(out_sparse),
		IN_PLACE(out_deep),
	};
	umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
