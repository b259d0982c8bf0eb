/* SPDX-License-Identifier: MIT */
/*
 * The parts of a microVM's guest in made-up folders: all of them or nothing, each missing one named with its remedy,
 * and a hash that any change of any part changes.
 */
#include "core/backend/guest.h"
#include "core/base/base.h"

#include <elf.h>
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

static char folder[64];

static void put(const char *name, const void *data, size_t len)
{
	FREE char *path = xprintf("%s/%s", folder, name);
	CLOSE_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, data, len), 0);
}

static void put_text(const char *name, const char *text)
{
	put(name, text, strlen(text));
}

static void put_kernel(unsigned char class, Elf64_Half machine)
{
	const Elf64_Ehdr head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, class },
				  .e_machine = machine };
	put("vmlinux", &head, sizeof head);
}

static int setup(void **state)
{
	(void) state;
	strcpy(folder, "/tmp/test_guest_parts.XXXXXX");
	assert_non_null(mkdtemp(folder));
	FREE char *modules = xprintf("%s/modules", folder);
	assert_int_equal(mkdir(modules, 0755), 0);
	put_kernel(ELFCLASS64, EM_X86_64);
	put_text("release", "6.1.0-57-cloud-amd64\n");
	put_text("modules/order", "virtio_ring.ko\nvirtio.ko\nerofs.ko\n");
	put_text("modules/erofs.ko", "e");
	put_text("modules/virtio.ko", "v");
	put_text("modules/virtio_ring.ko", "r");
	put_text("agent", "a");
	put_text("stage", "s");
	put_text("stage.py", "p");
	put_text("sums", "0123  ./agent\n");
	return setenv("BELLJAR_GUEST", folder, 1);
}

static int teardown(void **state)
{
	struct err e;
	(void) state;
	unsetenv("BELLJAR_GUEST");
	return dir_remove_tree(AT_FDCWD, folder, &e);
}

static void assert_in_folder(const char *path, const char *name)
{
	FREE char *want = xprintf("%s/%s", folder, name);
	assert_string_equal(path, want);
}

static void all_are_found(void **state)
{
	struct guest_parts p;
	struct err e;
	(void) state;
	assert_int_equal(guest_parts_find(&p, &e), 0);
	assert_in_folder(p.vmlinux, "vmlinux");
	assert_string_equal(p.release, "6.1.0-57-cloud-amd64");
	assert_int_equal(strv_len(p.modules), 3);
	assert_in_folder(p.modules[0], "modules/virtio_ring.ko");
	assert_in_folder(p.modules[1], "modules/virtio.ko");
	assert_in_folder(p.modules[2], "modules/erofs.ko");
	assert_in_folder(p.agent, "agent");
	assert_in_folder(p.stage, "stage");
	assert_in_folder(p.stage_py, "stage.py");
	assert_int_equal(strspn(p.hash, "0123456789abcdef"), 64);
	guest_parts_done(&p);
	assert_null(p.modules);
	guest_parts_done(&p); /* twice is well */
}

/* Fails with this code, words that name the file and those of the remedy; and gives nothing. */
static void assert_refused(int code, const char *name, const char *remedy)
{
	struct guest_parts p = { .agent = folder };
	struct err e = { 0 };
	FREE char *path = xprintf("%s/%s", folder, name);
	assert_int_equal(guest_parts_find(&p, &e), -code);
	assert_non_null(strstr(e.text, path));
	assert_non_null(strstr(e.text, remedy));
	assert_ptr_equal(p.agent, folder);
}

static void each_missing_one_is_named(void **state)
{
	static const struct {
		const char *name, *remedy;
	} parts[] = {
		{ "vmlinux", "`make deps && make`" },
		{ "release", "`make deps && make`" },
		{ "modules/order", "`make deps && make`" },
		{ "modules/virtio.ko", "`make deps && make`" },
		{ "agent", "`make`" },
		{ "stage", "`make`" },
		{ "stage.py", "`make`" },
		{ "sums", "`make`" },
	};
	(void) state;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		FREE char *path = xprintf("%s/%s", folder, parts[i].name),
			  *aside = xprintf("%s/aside", folder);
		assert_int_equal(rename(path, aside), 0);
		assert_refused(ENOENT, parts[i].name, parts[i].remedy);
		assert_int_equal(rename(aside, path), 0);
	}
	struct guest_parts p;
	assert_int_equal(guest_parts_find(&p, NULL), 0);
	guest_parts_done(&p);
}

static void an_empty_file_is_missing(void **state)
{
	(void) state;
	put_text("agent", "");
	assert_refused(ENOENT, "agent", "`make`");
}

static void no_folder(void **state)
{
	FREE char *none = xprintf("%s/none", folder);
	(void) state;
	setenv("BELLJAR_GUEST", none, 1);
	assert_refused(ENOENT, "none", "`make deps && make`");
}

static void a_kernel_that_cannot_be_entered(void **state)
{
	(void) state;
	put_text("vmlinux",
		 "MZ: a compressed image, as /boot has it, longer than the head of an ELF file would be");
	assert_refused(ENOEXEC, "vmlinux", "`make deps && make`");
	put_kernel(ELFCLASS32, EM_X86_64);
	assert_refused(ENOEXEC, "vmlinux", "`make deps && make`");
	put_kernel(ELFCLASS64, EM_AARCH64);
	assert_refused(ENOEXEC, "vmlinux", "`make deps && make`");
	put_text("vmlinux", ELFMAG);
	assert_refused(ENOEXEC, "vmlinux", "`make deps && make`");
}

static void a_list_that_leads_elsewhere(void **state)
{
	(void) state;
	put_text("modules/order", "virtio.ko\n../../../../etc/passwd\n");
	assert_refused(ENOEXEC, "modules/order", "`make deps && make`");
}

static void a_list_without_end(void **state)
{
	struct buf list = { 0 };
	(void) state;
	for (int i = 0; i < 65; i++)
		buf_str(&list, "virtio.ko\n");
	put("modules/order", list.data, list.len);
	buf_done(&list);
	assert_refused(ENOEXEC, "modules/order", "`make deps && make`");
}

static void hash_of_now(char hash[65])
{
	struct guest_parts p;
	struct err e;
	assert_int_equal(guest_parts_find(&p, &e), 0);
	memcpy(hash, p.hash, sizeof p.hash);
	guest_parts_done(&p);
}

/* Once a file has another size, once another time alone; and what the sums say. */
static void any_change_changes_the_hash(void **state)
{
	static const char *const names[] = { "vmlinux", "modules/erofs.ko", "agent", "stage", "stage.py" };
	char first[65], then[65];
	(void) state;
	hash_of_now(first);
	hash_of_now(then);
	assert_string_equal(first, then);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		FREE char *path = xprintf("%s/%s", folder, names[i]);
		const struct timespec times[2] = { { 1, 0 }, { 1, 1 } };
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
		hash_of_now(then);
		assert_string_not_equal(first, then);
		struct stat st;
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(truncate(path, st.st_size + 1), 0);
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
		hash_of_now(first);
		assert_string_not_equal(first, then);
	}
	put_text("sums", "4567  ./agent\n");
	hash_of_now(then);
	assert_string_not_equal(first, then);
	put_text("modules/order",
		 "virtio.ko\nvirtio_ring.ko\nerofs.ko\n"); /* another order is another guest */
	hash_of_now(first);
	assert_string_not_equal(first, then);
}

#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(all_are_found),
		IN_FOLDER(each_missing_one_is_named),
		IN_FOLDER(an_empty_file_is_missing),
		IN_FOLDER(no_folder),
		IN_FOLDER(a_kernel_that_cannot_be_entered),
		IN_FOLDER(a_list_that_leads_elsewhere),
		IN_FOLDER(a_list_without_end),
		IN_FOLDER(any_change_changes_the_hash),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
