/* SPDX-License-Identifier: MIT */
/*
 * A folder of presets made for one test: BELLJAR_DATA is what the program ships, XDG_CONFIG_HOME the user's
 * own.
 */
#pragma once

/* clang-format off */

#include "core/base/base.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TINY_SET \
	"[set]\nname = tiny\nsummary = Few calls\n[allow]\nfiles = read write openat\n[refuse]\ndebug = ptrace kcmp\n" \
	"[absent]\nclone3 = clone3\n[means]\nfiles = reading and writing\ndebug = steering other processes\n"

#define WHOLE_PRESET \
	"[preset]\nsummary = All that is needed\nbackend = namespaces\n[limits]\nwall = 10s\ncpu = 10s\ncpus = 1\n" \
	"memory = 256M\nprocesses = 64\nopen_files = 256\nfile_size = 32M\nspace = 64M\ninodes = 10000\noutput = 16M\n" \
	"[syscalls]\nbase = tiny\n"

static char test_folder[64];

/* files_write: below the shipped folder ("presets/x.ini") or the user's ("config/belljar/presets/x.ini"). */
static void files_write(const char *path, const char *text)
{
	struct err e;
	FREE char *whole = xprintf("%s/%s", test_folder, path);
	FREE char *folder = xstrndup(whole, (size_t) (strrchr(whole, '/') - whole));

	assert_int_equal(dir_make_all(folder, 0700, &e), 0);
	CLOSE_FD int fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
}

static int files_setup(void **state)
{
	(void) state;
	snprintf(test_folder, sizeof(test_folder), "/tmp/belljar-test-XXXXXX");
	if (mkdtemp(test_folder) == NULL)
		return -1;
	FREE char *config = xprintf("%s/config", test_folder);
	setenv("BELLJAR_DATA", test_folder, 1);
	setenv("XDG_CONFIG_HOME", config, 1);
	files_write("presets/syscalls/tiny.ini", TINY_SET);
	files_write("presets/whole.ini", WHOLE_PRESET);
	return 0;
}

static int files_teardown(void **state)
{
	struct err e;

	(void) state;
	unsetenv("BELLJAR_DATA");
	return dir_remove_tree(AT_FDCWD, test_folder, &e);
}
