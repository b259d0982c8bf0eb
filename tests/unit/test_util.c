/* SPDX-License-Identifier: MIT */
/* The small helpers. Words, numbers and lists first, then files; test_remove.c has the trees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/base.h"

static void test_ownership(void **state)
{
	(void) state;
	int fds[2];
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	{
		CLOSE_FD int closed = fds[0];
		CLOSE_FD int kept = fds[1];
		assert_int_equal(take_fd(&kept), fds[1]);
		assert_int_equal(kept, -1);
		assert_true(closed >= 0);
	}
	assert_int_equal(fcntl(fds[0], F_GETFD), -1);
	assert_true(fcntl(fds[1], F_GETFD) >= 0);
	errno = ENOTTY;
	close_fd(&fds[1]);
	close_fd(&fds[1]);
	assert_int_equal(fds[1], -1);
	assert_int_equal(errno, ENOTTY);

	char *p = xstrdup("x"), *taken = take_ptr(&p);
	assert_null(p);
	assert_string_equal(taken, "x");
	free(taken);
}

static void test_allocation(void **state)
{
	(void) state;
	FREE char *zero = xcalloc(0, 8);
	FREE char *cut = xstrndup("abcdef", 3);
	FREE char *text = xprintf("%s-%d", "a", 7);
	assert_non_null(zero);
	assert_string_equal(cut, "abc");
	assert_string_equal(text, "a-7");
	zero = xrealloc(zero, 0);
	assert_non_null(zero);
}

static void test_strv(void **state)
{
	(void) state;
	char **v = NULL;
	assert_int_equal(strv_len(v), 0);
	assert_false(strv_has(v, "0"));
	assert_null(strv_dup(NULL));
	for (int i = 0; i < 100; i++) {
		FREE char *s = xprintf("%d", i);
		v = strv_add(v, s);
		assert_int_equal(strv_len(v), i + 1);
	}
	char **copy = strv_dup(v);
	v = strv_free(v);
	assert_null(v);
	assert_int_equal(strv_len(copy), 100);
	assert_string_equal(copy[64], "64");
	assert_true(strv_has(copy, "99"));
	assert_false(strv_has(copy, "100"));
	copy = strv_free(copy);

	v = strv_split(" LANG,TZ\t  X , ");
	assert_int_equal(strv_len(v), 3);
	assert_string_equal(v[0], "LANG");
	assert_string_equal(v[2], "X");
	v = strv_free(v);
	assert_null(strv_split(" ,, "));
	assert_null(strv_free(NULL));
}

static void test_buf(void **state)
{
	(void) state;
	struct buf b = { 0 };
	buf_add(&b, NULL, 0);
	assert_string_equal(b.data, "");
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%03d ", i);
	assert_int_equal(b.len, 4000);
	assert_int_equal(strlen(b.data), 4000);
	assert_memory_equal(b.data + 3996, "999 ", 4);
	buf_str(&b, "end");
	assert_string_equal(b.data + 4000, "end");
	FREE char *all = buf_steal(&b);
	assert_int_equal(strlen(all), 4003);
	assert_null(b.data);
	FREE char *none = buf_steal(&b);
	assert_string_equal(none, "");

	/* lengths around each growth: the NUL behind always has room (the address sanitizer watches) */
	for (size_t len = 0; len < 300; len++) {
		FREE char *s = xcalloc(1, len + 1);
		memset(s, 'x', len);
		buf_printf(&b, "%s", s);
		assert_int_equal(b.len, len);
		assert_int_equal(b.data[len], 0);
		buf_done(&b);
	}
}

static void test_words(void **state)
{
	(void) state;
	assert_true(str_starts("seccomp", "sec"));
	assert_true(str_starts("x", ""));
	assert_false(str_starts("se", "sec"));
	assert_true(str_ends("a.conf", ".conf"));
	assert_false(str_ends("conf", ".conf"));
}

static void check_number(const char *s, int r, uint64_t want)
{
	uint64_t got = 42;
	assert_int_equal(str_to_u64(s, &got), r);
	assert_true(got == (r < 0 ? 42 : want));
}

static void test_numbers(void **state)
{
	(void) state;
	check_number("0", 0, 0);
	check_number("0010", 0, 10);
	check_number("18446744073709551615", 0, UINT64_MAX);
	check_number("18446744073709551616", -ERANGE, 0);
	check_number("99999999999999999999999", -ERANGE, 0);
	check_number("99999999999999999999999x", -EINVAL, 0);
	check_number("", -EINVAL, 0);
	check_number("-1", -EINVAL, 0);
	check_number("+1", -EINVAL, 0);
	check_number(" 1", -EINVAL, 0);
	check_number("1 ", -EINVAL, 0);
	check_number("0x10", -EINVAL, 0);
}

static void check_nearest(const char *word, const char *want)
{
	static const char *const names[] = { "memory", "processes", "open_files", "file_size", "output",
					     "cpu",    "cpus",      "wall",       NULL };
	const char *got = str_nearest(word, names);
	if (want)
		assert_non_null(got);
	assert_string_equal(got ? got : "(none)", want ? want : "(none)");
}

static void test_nearest(void **state)
{
	(void) state;
	check_nearest("memroy", "memory");
	check_nearest("Memory", "memory");
	check_nearest("open-files", "open_files");
	check_nearest("openfiles", "open_files");
	check_nearest("mem", "memory");
	check_nearest("proceses", "processes");
	check_nearest("cup", "cpu");
	check_nearest("walls", "wall");
	check_nearest("colour", NULL);
	check_nearest("x", NULL);
	check_nearest("", NULL);
	char longest[4096];
	memset(longest, 'm', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	check_nearest(longest, NULL);
}

static void check_bytes(uint64_t bytes, const char *want)
{
	char buf[32];
	assert_string_equal(format_bytes(bytes, buf, sizeof(buf)), want);
}

static void check_ns(uint64_t ns, const char *want)
{
	char buf[32];
	assert_string_equal(format_ns(ns, buf, sizeof(buf)), want);
}

static void test_format(void **state)
{
	(void) state;
	check_bytes(0, "0 B");
	check_bytes(1023, "1023 B");
	check_bytes(1024, "1 KiB");
	check_bytes(1536, "1.5 KiB");
	check_bytes(268435456, "256 MiB");
	check_bytes((1 << 20) - 1, "1 MiB"); /* and not 1024 KiB */
	check_bytes(UINT64_C(5) << 40, "5 TiB");
	check_bytes(UINT64_MAX, "16 EiB");

	check_ns(0, "0 ns");
	check_ns(999, "999 ns");
	check_ns(1500, "1.5 us");
	check_ns(250 * NS_PER_MS, "250 ms");
	check_ns(NS_PER_S - 1, "1 s");
	check_ns(1500 * NS_PER_MS, "1.5 s");
	check_ns(10 * NS_PER_S, "10 s");
	check_ns(60 * NS_PER_S - 1, "1 min");
	check_ns(90 * NS_PER_S, "1 min 30 s");
	check_ns(3660 * NS_PER_S, "1 h 1 min");
	check_ns(UINT64_MAX, "5124095 h 34 min");
}

static void test_clock(void **state)
{
	(void) state;
	uint64_t before = now_ns();
	assert_true(before > 0);
	assert_true(now_ns() >= before);
}

static void test_hash(void **state)
{
	(void) state;
	char hex[65];
	sha256_hex("abc", 3, hex);
	assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sha256_hex("", 0, hex);
	assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static int enter_folder(void **state)
{
	char path[] = "/tmp/belljar-test-XXXXXX";
	if (!mkdtemp(path))
		return -1;
	int *dirfd = xmalloc(sizeof(*dirfd));
	*dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = dirfd;
	return *dirfd < 0 ? -1 : chdir(path);
}

static int leave_folder(void **state)
{
	FREE int *dirfd = *state;
	FREE char *path = realpath(".", NULL);
	close_fd(dirfd);
	if (chdir("/") < 0 || !path)
		return -1;
	return dir_remove_tree(AT_FDCWD, path, NULL);
}

static void make_file(int dirfd, const char *name, const char *data, size_t len)
{
	CLOSE_FD int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, data, len), 0);
}

static void test_file_read(void **state)
{
	int dirfd = *(int *) *state;
	struct err e = { 0 };
	char *data = NULL;
	size_t len;
	FREE char *big = xmalloc(100000);

	memset(big, 'b', 100000);
	make_file(dirfd, "big", big, 100000);
	make_file(dirfd, "nul", "a\0b", 3);
	make_file(dirfd, "empty", "", 0);
	assert_int_equal(file_read(dirfd, "big", 100000, &data, &len, &e), 0);
	assert_int_equal(len, 100000);
	assert_int_equal(strlen(data), 100000);
	free(take_ptr(&data));
	assert_int_equal(file_read(dirfd, "big", 99999, &data, &len, &e), -EFBIG);
	assert_int_equal(e.code, EFBIG);
	assert_null(data);
	assert_int_equal(file_read(dirfd, "nul", SIZE_MAX, &data, &len, &e), 0);
	assert_int_equal(len, 3);
	assert_memory_equal(data, "a\0b", 4);
	free(take_ptr(&data));
	assert_int_equal(file_read(dirfd, "empty", 0, &data, NULL, &e), 0);
	assert_string_equal(data, "");
	free(take_ptr(&data));
	/* its size is said to be 0 */
	assert_int_equal(file_read(AT_FDCWD, "/proc/self/maps", 1 << 24, &data, &len, &e), 0);
	assert_true(len > 0 && data[len] == '\0');
	free(take_ptr(&data));
	assert_int_equal(file_read(dirfd, "none", 10, &data, &len, &e), -ENOENT);
	assert_string_equal(e.text, "open none: No such file or directory");
	assert_int_equal(file_read(AT_FDCWD, "/", 10, &data, &len, &e), -EISDIR);
	assert_null(data);
}

static void test_file_small(void **state)
{
	int dirfd = *(int *) *state;
	struct err e = { 0 };
	char buf[8];

	make_file(dirfd, "f", "123456789\n", 10);
	assert_int_equal(file_read_small(dirfd, "f", buf, sizeof(buf)), 7);
	assert_string_equal(buf, "1234567");
	make_file(dirfd, "f", "max\n", 4);
	assert_int_equal(file_read_small(dirfd, "f", buf, sizeof(buf)), 3);
	assert_string_equal(buf, "max");
	assert_int_equal(file_read_small(dirfd, "f", buf, 1), 0);
	assert_int_equal(file_read_small(dirfd, "none", buf, sizeof(buf)), -ENOENT);

	assert_int_equal(file_write_str(dirfd, "f", "MAX", &e), 0);
	assert_int_equal(file_read_small(dirfd, "f", buf, sizeof(buf)), 3);
	assert_string_equal(buf, "MAX");
	assert_int_equal(file_write_str(dirfd, "none", "x", &e), -ENOENT);
	assert_int_equal(e.code, ENOENT);
}

static void test_dir_make(void **state)
{
	int dirfd = *(int *) *state;
	struct err e = { 0 };
	struct stat st;

	assert_int_equal(dir_make_all("a//b/c/", 0700, &e), 0);
	assert_int_equal(dir_make_all("a/b/c", 0700, &e), 0);
	assert_int_equal(fstatat(dirfd, "a/b/c", &st, 0), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(dir_make_all("/", 0700, &e), 0);
	make_file(dirfd, "file", "", 0);
	assert_int_equal(dir_make_all("file", 0700, &e), -ENOTDIR);
	assert_int_equal(dir_make_all("file/x", 0700, &e), -ENOTDIR);
	assert_int_equal(e.code, ENOTDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ownership),
		cmocka_unit_test(test_allocation),
		cmocka_unit_test(test_strv),
		cmocka_unit_test(test_buf),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_hash),
		cmocka_unit_test_setup_teardown(test_file_read, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(test_file_small, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(test_dir_make, enter_folder, leave_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
