/* SPDX-License-Identifier: MIT */
/*
 * A state folder of the test's own, a run to write into it, and what the tests of recordings ask of both.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/base.h"
#include "core/model/model.h"

static char folder[64];

static inline int setup(void **state)
{
	(void) state;
	strcpy(folder, "/tmp/belljar-record-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	return setenv("XDG_STATE_HOME", folder, 1);
}

static inline int teardown(void **state)
{
	(void) state;
	struct err e;
	return dir_remove_tree(AT_FDCWD, folder, &e);
}

static inline char *in_folder(const char *name)
{
	static char path[512];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static inline struct launch *make_launch(const char *path)
{
	struct launch *l = launch_new();
	struct err e;

	assert_non_null(l);
	l->policy = xcalloc(1, sizeof(*l->policy));
	l->policy->name = xstrdup("namespaces");
	l->policy->backend = xstrdup("namespaces");
	for (size_t i = 0; i < LIMIT_MAX; i++)
		l->policy->limit[i] = UNLIMITED;
	l->policy->limit[LIMIT_MEMORY] = 256u << 20;
	l->language = language_by_name("python");
	l->title = xstrdup("agent.py");
	assert_int_equal(launch_set_code(l, "print(1)\n", 9, NULL, &e), 0);
	l->record_path = path ? xstrdup(path) : NULL;
	return l;
}

static const struct event whole_run[] = {
	{ .seq = 1, .type = EVENT_START, .start = { .preset = "namespaces" } },
	{ .seq = 2, .t_ns = 21000000, .type = EVENT_OUTPUT, .output = { .bytes = "1\n\xff", .len = 3 } },
	{ .seq = 3, .t_ns = 22000000, .type = EVENT_ALERT, .alert = { .kind = "canary", .detail = "seen" } },
	{ .seq = 4, .t_ns = 23000000, .type = EVENT_EXIT, .exit = { .verdict = VERDICT_OK } },
};

static inline void write_run(const char *path)
{
	struct launch *l = make_launch(path);
	struct record *r;
	struct err e;

	assert_int_equal(record_create(l, &r, &e), 0);
	assert_string_equal(record_path(r), path);
	for (size_t i = 0; i < ARRAY_LEN(whole_run); i++)
		record_add(r, &whole_run[i]);
	assert_int_equal(record_close(r, &e), 0);
	launch_free(l);
}

static inline void put_file(const char *path, const char *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, data, len), 0);
	close(fd);
}

static inline struct recording *must_read(const char *path)
{
	struct recording *r = NULL;
	struct err e = { .code = 0 };
	if (recording_read(path, &r, &e) < 0)
		print_error("%s\n", e.text);
	assert_non_null(r);
	return r;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
