/* SPDX-License-Identifier: MIT */
/*
 * The cache of images: whole entries or none, whoever is killed, whatever becomes of the files, and nothing
 * removed that is in use. The archive that a guest starts with, byte by byte. What a program's file says that
 * it needs, believed or not.
 */
#include "core/backend/cache.h"
#include "core/backend/elf.h"
#include "core/backend/image.h"
#include "core/base/base.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define FOUR(digit) digit digit digit digit
#define KEY(digit)  FOUR(FOUR(FOUR(digit)))

static const char *const files[] = { "one", "two", NULL };

/* A cache of its own. What `make` writes is "one" and "two"; it counts how often it was asked. */
struct place {
	char path[64];
	int fd; /* of the folder of entries */
	int made;
	int hold_fds[2]; /* a maker says that it began, and goes on when told to; -1: it does not wait */
};

static void put(int dirfd, const char *name, const char *text)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static int make(void *arg, int dirfd, const char *path, struct err *e)
{
	struct place *p = arg;
	char byte = 0;
	(void) path;
	(void) e;
	put(dirfd, "one", "1");
	if (p->hold_fds[0] >= 0) {
		assert_int_equal(write(p->hold_fds[0], "", 1), 1);
		assert_int_equal(read(p->hold_fds[1], &byte, 1), 1);
	}
	put(dirfd, "two", "22");
	p->made++;
	return 0;
}

static int make_half(void *arg, int dirfd, const char *path, struct err *e)
{
	(void) arg;
	(void) path;
	put(dirfd, "one", "1");
	return err_say(e, ENOSPC, "no room");
}

static bool begins_with_digit(size_t file, int fd)
{
	char c = 0;
	return pread(fd, &c, 1, 0) == 1 && c == (file == 0 ? '1' : '2');
}

static struct cache_recipe recipe_of(struct place *p, const char *key)
{
	return (struct cache_recipe){ .kind = "test",
				      .key = key,
				      .label = "two\nfiles",
				      .files = files,
				      .make = make,
				      .arg = p,
				      .is_sound = begins_with_digit };
}

static int setup(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));
	struct err e;
	strcpy(p->path, "/tmp/test_image.XXXXXX");
	assert_non_null(mkdtemp(p->path));
	assert_int_equal(setenv("XDG_CACHE_HOME", p->path, 1), 0);
	FREE char *entries = xdg_folder(XDG_CACHE, "images", true, &e);
	p->fd = open(entries, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->fd >= 0);
	p->hold_fds[0] = p->hold_fds[1] = -1;
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	struct err e;
	close(p->fd);
	int r = dir_remove_tree(AT_FDCWD, p->path, &e);
	free(p);
	return r;
}

static int take(struct place *p, const char *key)
{
	const struct cache_recipe r = recipe_of(p, key);
	int fds[CACHE_FILES_MAX];
	struct err e;
	char text[8];
	int result = cache_take(&r, fds, &e);
	assert_in_range(result, 0, 1);
	assert_int_equal(pread(fds[0], text, sizeof(text), 0), 1);
	assert_int_equal(pread(fds[1], text, sizeof(text), 0), 2);
	assert_memory_equal(text, "22", 2);
	close(fds[0]), close(fds[1]);
	return result;
}

static bool is_there(const struct place *p, const char *name)
{
	return faccessat(p->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- the cache ---- */

static void made_once(void **state)
{
	struct place *p = *state;
	struct stat st;
	struct image_entry *list;
	size_t count;
	struct err e;
	assert_int_equal(take(p, KEY("a")), 1);
	assert_int_equal(take(p, KEY("a")), 0);
	assert_int_equal(take(p, KEY("b")), 1);
	assert_int_equal(p->made, 2);
	assert_int_equal(fstatat(p->fd, "test-" KEY("a") "/one", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0444);
	assert_false(is_there(p, "test-" KEY("a") ".lock"));
	assert_int_equal(cache_list(&list, &count, NULL, &e), 0);
	assert_int_equal(count, 2);
	assert_string_equal(list[0].kind, "test");
	assert_string_equal(list[0].label, "two files");
	assert_false(list[0].in_use);
	assert_true(list[0].bytes > 0);
	image_entries_free(list, count);
}

static void failure_leaves_nothing(void **state)
{
	struct place *p = *state;
	struct cache_recipe r = recipe_of(p, KEY("a"));
	struct image_entry *list;
	size_t count;
	int fds[CACHE_FILES_MAX];
	struct err e;
	r.make = make_half;
	assert_int_equal(cache_take(&r, fds, &e), -ENOSPC);
	assert_string_equal(e.text, "no room");
	assert_false(is_there(p, "test-" KEY("a") ".new"));
	assert_int_equal(cache_list(&list, &count, NULL, &e), 0);
	assert_int_equal(count, 0);
	image_entries_free(list, count);
}

/* A process that makes the entry and stops in the middle, until it is told to go on. */
static pid_t maker_start(struct place *p, int *ret_go)
{
	int begun[2], go[2];
	char byte;
	assert_int_equal(pipe2(begun, O_CLOEXEC), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]);
		p->hold_fds[0] = begun[1];
		p->hold_fds[1] = go[0];
		_exit(take(p, KEY("a")) == 1 ? 0 : 1);
	}
	close(begun[1]);
	close(go[0]);
	assert_int_equal(read(begun[0], &byte, 1), 1);
	close(begun[0]);
	*ret_go = go[1];
	return pid;
}

static int status_of(pid_t pid)
{
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void killed_maker(void **state)
{
	struct place *p = *state;
	struct image_entry *list;
	size_t count;
	struct err e;
	int go;
	pid_t pid = maker_start(p, &go);
	assert_int_equal(cache_list(&list, &count, NULL, &e), 0); /* sweeps, but not what is being made */
	image_entries_free(list, count);
	assert_true(is_there(p, "test-" KEY("a") ".new"));
	assert_int_equal(cache_remove("test-" KEY("a"), &e), -EBUSY);
	kill(pid, SIGKILL);
	assert_true(WIFSIGNALED(status_of(pid)));
	close(go);
	assert_true(is_there(p, "test-" KEY("a") ".new"));
	assert_true(is_there(p, "test-" KEY("a") ".lock"));
	assert_int_equal(take(p, KEY("b")), 1); /* whoever comes next */
	assert_false(is_there(p, "test-" KEY("a") ".new"));
	assert_false(is_there(p, "test-" KEY("a") ".lock"));
	assert_int_equal(take(p, KEY("a")), 1);
}

static void waits_for_maker(void **state)
{
	struct place *p = *state;
	int go;
	pid_t maker = maker_start(p, &go), second = fork();
	if (second == 0)
		_exit(take(p, KEY("a")) == 0 && p->made == 0 ? 0 : 1);
	assert_int_equal(write(go, "", 1), 1);
	assert_int_equal(status_of(maker), 0);
	assert_int_equal(status_of(second), 0);
	close(go);
}

static void damage_is_seen(void **state)
{
	static const char *const kinds[] = { "short",  "empty",     "written", "gone",
					     "a link", "no record", "rubbish", "zeroed" };
	struct place *p = *state;
	struct stat st;
	assert_int_equal(take(p, KEY("a")), 1);
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		int dir = openat(p->fd, "test-" KEY("a"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_int_equal(fstatat(dir, "two", &st, 0), 0);
		const struct timespec times[2] = { st.st_atim, st.st_mtim };
		assert_int_equal(fchmodat(dir, "two", 0600, 0), 0);
		assert_int_equal(fchmodat(dir, "record", 0600, 0), 0);
		switch (k) {
		case 0:
			put(dir, "two", "2");
			break;
		case 1:
			put(dir, "two", "");
			break;
		case 2:
			put(dir, "two", "23");
			break;
		case 3:
			assert_int_equal(unlinkat(dir, "two", 0), 0);
			break;
		case 4:
			assert_int_equal(renameat(dir, "two", dir, "there"), 0);
			assert_int_equal(symlinkat("there", dir, "two"), 0);
			break;
		case 5:
			assert_int_equal(unlinkat(dir, "record", 0), 0);
			break;
		case 6:
			put(dir, "record", "label \xff\nfile two 99999999999999999999999999 -1.\nfile");
			break;
		case 7: /* with size and time as they were: its own form tells */
			put(dir, "two", "\1\1");
			assert_int_equal(utimensat(dir, "two", times, 0), 0);
			break;
		}
		close(dir);
		if (take(p, KEY("a")) != 1)
			fail_msg("not seen: %s", kinds[k]);
		assert_int_equal(take(p, KEY("a")), 0);
	}
}

static void used_stays(void **state)
{
	struct place *p = *state;
	const struct cache_recipe r = recipe_of(p, KEY("a"));
	struct image_entry *list;
	size_t count;
	int fds[CACHE_FILES_MAX];
	char text[4];
	struct err e;
	assert_int_equal(cache_take(&r, fds, &e), 1);
	close(fds[0]);
	assert_int_equal(cache_remove("test-" KEY("a"), &e), -EBUSY);
	assert_int_equal(cache_list(&list, &count, NULL, &e), 0);
	assert_true(count == 1 && list[0].in_use);
	image_entries_free(list, count);

	/* A damaged one is made anew beside it: who has it open keeps it as it was. */
	int dir = openat(p->fd, "test-" KEY("a"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(unlinkat(dir, "one", 0), 0);
	close(dir);
	assert_int_equal(take(p, KEY("a")), 1);
	assert_int_equal(pread(fds[1], text, sizeof(text), 0), 2);
	close(fds[1]);
	assert_int_equal(cache_remove("test-" KEY("a"), &e), 0);
	assert_int_equal(cache_remove("test-" KEY("a"), &e), -ENOENT);
	assert_int_equal(cache_remove("../images", &e), -ENOENT);
	assert_int_equal(cache_remove("", &e), -ENOENT);
}

static void used_long_ago(const struct place *p, const char *record, time_t when)
{
	const struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };
	assert_int_equal(utimensat(p->fd, record, times, 0), 0);
}

static void bound(void **state)
{
	struct place *p = *state;
	const struct cache_recipe r = recipe_of(p, KEY("a"));
	struct image_entry *list;
	size_t count;
	int fds[CACHE_FILES_MAX];
	struct err e;
	assert_int_equal(cache_take(&r, fds, &e), 1); /* in use */
	assert_int_equal(take(p, KEY("b")), 1);
	assert_int_equal(take(p, KEY("c")), 1);
	assert_int_equal(take(p, KEY("d")), 1); /* used just now */
	used_long_ago(p, "test-" KEY("a") "/record", 1000);
	used_long_ago(p, "test-" KEY("b") "/record", 3000);
	used_long_ago(p, "test-" KEY("c") "/record", 2000);
	assert_int_equal(cache_list(&list, &count, NULL, &e), 0);
	assert_int_equal(count, 4);
	assert_string_equal(list[0].name, "test-" KEY("d"));
	assert_string_equal(list[3].name, "test-" KEY("a"));
	uint64_t one = list[0].bytes;
	image_entries_free(list, count);

	assert_int_equal(cache_trim(4 * one, &e), 0);
	assert_true(is_there(p, "test-" KEY("c")));
	assert_int_equal(cache_trim(3 * one, &e), 0);
	assert_false(is_there(p, "test-" KEY("c")));
	assert_true(is_there(p, "test-" KEY("b")));
	assert_int_equal(cache_trim(0, &e), 0);
	assert_false(is_there(p, "test-" KEY("b")));
	assert_true(is_there(p, "test-" KEY("a")));
	assert_true(is_there(p, "test-" KEY("d")));
	close(fds[0]), close(fds[1]);
}

/* Who lists or trims holds each file for a moment; whoever takes one then waits, and nothing is made anew. */
static void taken_while_listed(void **state)
{
	struct place *p = *state;
	struct image_entry *list;
	size_t count;
	struct err e;
	assert_int_equal(take(p, KEY("a")), 1);
	pid_t lister = fork();
	if (lister == 0)
		for (;;) {
			if (cache_list(&list, &count, NULL, &e) < 0 || count != 1)
				_exit(1);
			image_entries_free(list, count);
		}
	for (int k = 0; k < 1000; k++)
		assert_int_equal(take(p, KEY("a")), 0);
	assert_int_equal(p->made, 1);
	kill(lister, SIGKILL);
	assert_true(WIFSIGNALED(status_of(lister)));
}

static void folder_of_others(void **state)
{
	struct place *p = *state;
	const struct cache_recipe r = recipe_of(p, KEY("a"));
	int fds[CACHE_FILES_MAX];
	struct err e;
	assert_int_equal(fchmod(p->fd, 0777), 0);
	assert_int_equal(cache_take(&r, fds, &e), -EPERM);
	assert_non_null(strstr(e.text, "XDG_CACHE_HOME"));
	assert_int_equal(p->made, 0);
}

/* ---- the archive ---- */

/* The next entry of an archive; a number is eight hex digits. */
static const char *entry_next(const char *at, unsigned long *ret_mode, const char **ret_data, size_t *ret_len)
{
	char number[9] = "";
	assert_memory_equal(at, "070701", 6);
	*ret_mode = strtoul(memcpy(number, at + 14, 8), NULL, 16);
	*ret_len = strtoul(memcpy(number, at + 54, 8), NULL, 16);
	size_t name_len = strtoul(memcpy(number, at + 94, 8), NULL, 16);
	assert_int_equal(strlen(at + 110) + 1, name_len);
	*ret_data = at + (110 + name_len + 3) / 4 * 4;
	return *ret_data + (*ret_len + 3) / 4 * 4;
}

static void archive(void **state)
{
	struct place *p = *state;
	static const struct {
		const char *name, *data;
		unsigned long mode;
	} want[] = {
		{ "dev", "", 040755 },
		{ "mnt", "", 040755 },
		{ "modules", "", 040755 },
		{ "proc", "", 040755 },
		{ "sys", "", 040755 },
		{ "dev/console", "", 020600 },
		{ "modules/00-b.ko", "bb", 0100755 },
		{ "modules/01-a.ko", "a", 0100755 },
		{ "init", "agent", 0100755 },
		{ "TRAILER!!!", "", 0 },
	};
	FREE char *agent = xprintf("%s/agent", p->path), *first = xprintf("%s/b.ko", p->path),
		  *second = xprintf("%s/a.ko", p->path);
	put(AT_FDCWD, agent, "agent"), put(AT_FDCWD, first, "bb"), put(AT_FDCWD, second, "a");
	char *modules[] = { first, second, NULL };
	struct guest_parts parts = { .agent = agent, .modules = modules };
	struct buf out = { 0 }, again = { 0 };
	struct err e;
	assert_int_equal(image_initrd_build(&parts, &out, &e), 0);
	assert_int_equal(image_initrd_build(&parts, &again, &e), 0);
	assert_int_equal(out.len, again.len);
	assert_memory_equal(out.data, again.data, out.len);
	assert_memory_equal(out.data + 78, "0000000000000000", 16); /* the first is no device */
	const char *at = out.data;
	for (size_t k = 0; k < ARRAY_LEN(want); k++) {
		const char *name = at + 110, *data;
		unsigned long mode;
		size_t len;
		if (k == 5)
			assert_memory_equal(at + 78, "0000000500000001", 16);
		at = entry_next(at, &mode, &data, &len);
		assert_string_equal(name, want[k].name);
		assert_int_equal(mode, want[k].mode);
		assert_int_equal(len, strlen(want[k].data));
		assert_memory_equal(data, want[k].data, len);
	}
	assert_ptr_equal(at, out.data + out.len);

	parts.agent = p->path;
	assert_true(image_initrd_build(&parts, &again, &e) < 0);
	buf_done(&out), buf_done(&again);
}

/* ---- programs ---- */

/* A library that needs two, in the smallest file that says so. */
struct library {
	Elf64_Ehdr head;
	Elf64_Phdr load, dynamic, loader;
	Elf64_Dyn entries[6];
	char names[64];
};

static struct library library_new(void)
{
	struct library l = {
		.head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_machine = EM_X86_64,
			  .e_phoff = offsetof(struct library, load),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 3 },
		.load = { .p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = sizeof(l) },
		.dynamic = { .p_type = PT_DYNAMIC,
			     .p_offset = offsetof(struct library, entries),
			     .p_filesz = sizeof(l.entries) },
		.loader = { .p_type = PT_INTERP,
			    .p_offset = offsetof(struct library, names) + 33,
			    .p_filesz = 8 },
		.entries = { { DT_NEEDED, { 1 } },
			     { DT_STRTAB, { 0x1000 + offsetof(struct library, names) } },
			     { DT_STRSZ, { sizeof(l.names) } },
			     { DT_NEEDED, { 11 } },
			     { DT_RUNPATH, { 21 } },
			     { DT_NULL, { 0 } } },
	};
	memcpy(l.names + 1, "libone.so", 10);
	memcpy(l.names + 11, "libtwo.so", 10);
	memcpy(l.names + 21, "$ORIGIN:/x", 11);
	memcpy(l.names + 33, "/ld.so", 7);
	return l;
}

static void needs(void **state)
{
	struct library l = library_new();
	struct elf_needs n;
	(void) state;
	assert_int_equal(elf_needs(&l, sizeof(l), &n), 0);
	assert_string_equal(n.loader, "/ld.so");
	assert_int_equal(strv_len(n.names), 2);
	assert_string_equal(n.names[0], "libone.so");
	assert_string_equal(n.names[1], "libtwo.so");
	assert_int_equal(strv_len(n.folders), 2);
	assert_string_equal(n.folders[0], "$ORIGIN");
	elf_needs_done(&n);
	assert_true(elf_same_machine(&l, sizeof(l), &l, sizeof(l)));
	assert_false(elf_same_machine(&l, sizeof(l), "#!/bin/sh", 9));
	assert_int_equal(elf_needs("#!/bin/sh\n", 10, &n), -ENOEXEC);
}

/* Whatever the numbers say and wherever the file ends: nothing outside it is read (a sanitizer would
 * tell). */
static void needs_of_rubbish(void **state)
{
	static const uint64_t values[] = { 0, 1, 63, 64, 0xfff, 0x7fffffff, INT64_MAX, UINT64_MAX };
	struct elf_needs n;
	(void) state;
	for (size_t len = 0; len < sizeof(struct library); len++) {
		struct library l = library_new();
		FREE char *copy = xmalloc(len + 1);
		memcpy(copy, &l, len);
		(void) elf_needs(copy, len, &n);
		assert_true(strv_len(n.names) <= 2);
		elf_needs_done(&n);
	}
	for (size_t at = 0; at + 8 <= offsetof(struct library, names); at += 4)
		for (size_t k = 0; k < ARRAY_LEN(values); k++) {
			struct library l = library_new();
			FREE char *copy = xmalloc(sizeof(l));
			memcpy(copy, &l, sizeof(l));
			memcpy(copy + at, &values[k], 8);
			(void) elf_needs(copy, sizeof(l), &n);
			assert_true(strv_len(n.names) <= 6);
			elf_needs_done(&n);
		}
}

/* ---- the tree ---- */

static void tree_keeps_links(void **state)
{
	struct place *p = *state;
	struct image_tree t;
	struct err e;
	char link[64] = "";
	FREE char *real = NULL, *host = xprintf("%s/host", p->path), *data = xprintf("%s/host/data", p->path),
		  *through = xprintf("%s/host/short/file", p->path), *up = xprintf("%s/host/up", p->path);
	assert_int_equal(mkdir(host, 0755) | mkdir(data, 0755), 0);
	int fd = open(host, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put(fd, "data/file", "text");
	put(fd, "data/left.out", "no");
	assert_int_equal(fchmodat(fd, "data/file", 0700, 0), 0);
	assert_int_equal(symlinkat("./data", fd, "short"), 0);
	assert_int_equal(symlinkat("short/../data/", fd, "up"), 0);
	assert_int_equal(symlinkat("loop", fd, "loop"), 0);
	FREE char *loop = xprintf("%s/host/loop", p->path);

	FREE char *entries = xprintf("%s/belljar/images", p->path);
	assert_int_equal(image_tree_begin(&t, p->fd, entries, "tree", &e), 0);
	assert_int_equal(image_tree_add(&t, through, NULL, &real, &e), 0);
	assert_non_null(strstr(real, "/host/data/file"));
	assert_int_equal(image_tree_add(&t, up, (const char *const[]){ "left*", NULL }, NULL, &e), 0);
	assert_int_equal(image_tree_add(&t, loop, NULL, NULL, &e), -ELOOP);
	assert_int_equal(image_tree_settle(&t, &e), 0);

	FREE char *at = xprintf("%s/short", host + 1), *file = xprintf("%s/data/file", host + 1),
		  *left = xprintf("%s/data/left.out", host + 1);
	struct stat st;
	assert_int_equal(readlinkat(t.fd, at, link, sizeof(link)), 6);
	assert_memory_equal(link, "./data", 6);
	assert_int_equal(fstatat(t.fd, file, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(fstatat(t.fd, left, &st, AT_SYMLINK_NOFOLLOW), -1);
	image_tree_end(&t, p->fd, "tree");
	assert_false(is_there(p, "tree"));
	close(fd);
}

/* ---- what a launch brings ---- */

static void data_images(void **state)
{
	struct place *p = *state;
	struct err e;
	struct stat st;
	int fd = -1, again = -1;
	if (access("/usr/bin/mkfs.erofs", X_OK) < 0)
		skip();
	FREE char *input = xprintf("%s/in", p->path), *file = xprintf("%s/in/a", p->path);
	assert_int_equal(mkdir(input, 0700), 0);
	put(AT_FDCWD, file, "a");
	struct launch_bind bind = { .source = input };
	struct launch l = { .inputs = &bind };
	assert_int_equal(image_data(&l, NULL, &fd, &e), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, IMAGE_DATA_SIZE);
	assert_true(st.st_blocks < 1000);
	ino_t empty = st.st_ino;
	close(fd);

	l.input_count = 1;
	assert_int_equal(image_data(&l, NULL, &fd, &e), 0);
	assert_int_equal(image_data(&l, NULL, &again, &e), 0);
	struct stat first, second;
	assert_int_equal(fstat(fd, &first) | fstat(again, &second), 0);
	assert_int_equal(first.st_size, IMAGE_DATA_SIZE);
	assert_int_not_equal(first.st_ino, empty);
	assert_int_equal(first.st_ino, second.st_ino);
	close(again);

	put(AT_FDCWD, file, "other");
	assert_int_equal(image_data(&l, NULL, &again, &e), 0);
	assert_int_equal(fstat(again, &second), 0);
	assert_int_not_equal(first.st_ino, second.st_ino);
	close(again), close(fd);

	FREE char *link = xprintf("%s/in/link", p->path);
	assert_int_equal(symlink("/etc/passwd", link), 0);
	assert_int_equal(image_data(&l, NULL, &again, &e), -ELOOP);
	l.input_count = 0;
	l.project_dir = input;
	assert_int_equal(image_data(&l, NULL, &again, &e), 0);
	close(again);
}

#define IN_PLACE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(made_once),
		IN_PLACE(failure_leaves_nothing),
		IN_PLACE(killed_maker),
		IN_PLACE(waits_for_maker),
		IN_PLACE(damage_is_seen),
		IN_PLACE(used_stays),
		IN_PLACE(bound),
		IN_PLACE(folder_of_others),
		IN_PLACE(taken_while_listed),
		IN_PLACE(archive),
		cmocka_unit_test(needs),
		cmocka_unit_test(needs_of_rubbish),
		IN_PLACE(tree_keeps_links),
		IN_PLACE(data_images),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
