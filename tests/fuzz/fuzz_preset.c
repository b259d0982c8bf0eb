/* SPDX-License-Identifier: MIT */
/*
 * Preset files from anybody. The first byte chooses whether the text is a preset or a set of system calls;
 * the rest is the file. It must never crash or leak; what is taken must be describable, equal to itself, and
 * without a fault in preset_check; what is refused must have said why.
 */
#include "check.h"

#include "core/base/base.h"
#include "core/model/policy.h"

#include <assert.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/belljar-fuzz-XXXXXX";

static void folder_remove(void)
{
	struct err e;

	(void) dir_remove_tree(AT_FDCWD, folder, &e);
}

static void file_put(const char *name, const void *data, size_t len)
{
	FREE char *path = xprintf("%s/presets/%s", folder, name);
	CLOSE_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write_all(fd, data, len) < 0)
		abort();
}

/* What the input may extend; the folders are this process's own. */
static void folder_make(void)
{
	static const char set[] = "[allow]\nfiles = read write\n[refuse]\ndebug = ptrace\n";
	static const char base[] =
		"[preset]\nbackend = namespaces\n[limits]\nwall = 1s\ncpu = 1s\ncpus = 1\nmemory = 1M\n"
		"processes = 1\nopen_files = 9\nfile_size = 1\nspace = 1M\ninodes = 99\noutput = "
		"1\n[syscalls]\nbase = tiny\n";
	static const char with_set[] = "[preset]\nextends = base\n[syscalls]\nbase = input\n";
	struct err e;

	if (mkdtemp(folder) == NULL)
		abort();
	atexit(folder_remove);
	FREE char *sets = xprintf("%s/presets/syscalls", folder);
	if (dir_make_all(sets, 0700, &e) < 0)
		abort();
	setenv("BELLJAR_DATA", folder, 1);
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	file_put("syscalls/tiny.ini", set, sizeof(set) - 1);
	file_put("base.ini", base, sizeof(base) - 1);
	file_put("with-set.ini", with_set, sizeof(with_set) - 1);
}

static void check_taken(const char *name, struct policy *p)
{
	struct buf out = { 0 };
	struct err e;

	policy_describe(p, &out);
	assert(out.len > 0);
	for (enum limit_name l = 0; l < LIMIT_MAX; l++)
		assert(p->limit[l] >= limit_kinds[l].least);
	assert(p->backend != NULL && p->syscalls != NULL && p->run_as != 0);
	out.len = 0;
	assert(policy_diff(p, p, &out) == 0);
	assert(preset_check(name, &out, &e) == 0);
	buf_done(&out);
	policy_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool ready;
	struct policy *p = NULL;
	struct buf faults = { 0 };
	struct err e = { 0 };

	if (!ready)
		folder_make();
	ready = true;
	if (size == 0)
		return 0;
	bool set = data[0] == 'S';
	const char *name = set ? "with-set" : "input";
	file_put(set ? "syscalls/input.ini" : "input.ini", data + 1, size - 1);
	if (preset_load(name, &p, &e) == 0) {
		check_taken(name, p);
		return 0;
	}
	assert(p == NULL && e.code != 0 && e.text[0] != '\0');
	assert(preset_check(name, &faults, &e) != 0);
	buf_done(&faults);
	return 0;
}
