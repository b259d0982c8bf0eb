/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the seccomp filter share: the default set of calls, read here by hand so that these tests
 * do not hang on the parser of presets.
 */
#pragma once

#include "core/base/base.h"
#include "core/confine/confine.h"
#include "core/model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ARCH       AUDIT_ARCH_X86_64
#define X32        0x40000000
#define ALLOW      SECCOMP_RET_ALLOW
#define EPERM_RET  (SECCOMP_RET_ERRNO | EPERM)
#define ENOSYS_RET (SECCOMP_RET_ERRNO | ENOSYS)
#define NOTIFY     SECCOMP_RET_USER_NOTIF
#define WATCH_ALL  0x7f
#define MEMORY     (UINT64_C(6) << 30) /* above 4 GiB, so that both halves of the comparison count */
#define GARBAGE    UINT64_C(0xdead000100000000)

/* ---- the default set, read without the parser that other tests are for ---- */

static const struct {
	const char *section;
	enum syscall_action action;
} sections[] = { { "[allow]", SYSCALL_ALLOW },
		 { "[refuse]", SYSCALL_REFUSE },
		 { "[absent]", SYSCALL_ABSENT } };

static void set_add(struct syscall_set *set, char *line, enum syscall_action action)
{
	char *calls = strstr(line, " = ");

	assert_non_null(calls);
	*calls = '\0';
	set->groups = xrealloc(set->groups, (set->group_count + 1) * sizeof(*set->groups));
	set->groups[set->group_count++] = (struct syscall_group){
		.rule = xprintf("default:%s", line),
		.means = xprintf("means %s", line),
		.action = action,
		.calls = strv_split(calls + 3),
	};
}

static struct syscall_set *set_load(void)
{
	static const char *const places[] = { "presets/syscalls/default.ini",
					      "../../../presets/syscalls/default.ini" };
	struct syscall_set *set = xcalloc(1, sizeof(*set));
	FREE char *text = NULL;
	struct err e;
	int section = -1;

	set->name = xstrdup("default");
	if (file_read(AT_FDCWD, places[0], 1 << 20, &text, NULL, &e) < 0)
		assert_int_equal(file_read(AT_FDCWD, places[1], 1 << 20, &text, NULL, &e), 0);
	for (char *save, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		assert_true(strlen(line) < 900);
		if (line[0] == '[')
			section = -1;
		for (size_t i = 0; i < ARRAY_LEN(sections); i++)
			if (strcmp(line, sections[i].section) == 0)
				section = (int) i;
		if (section >= 0 && line[0] != '[' && line[0] != ';')
			set_add(set, line, sections[section].action);
	}
	return set;
}

static void set_done(struct syscall_set *set)
{
	for (size_t i = 0; i < set->group_count; i++) {
		free(set->groups[i].rule);
		free(set->groups[i].means);
		strv_free(set->groups[i].calls);
	}
	free(set->groups);
	free(set->name);
	free(set);
}

struct fixture {
	struct policy policy;
	struct seccomp_want want;
	struct seccomp_program program;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->policy.syscalls = set_load();
	f->want = (struct seccomp_want){ .policy = &f->policy, .memory_max = MEMORY };
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	seccomp_program_done(&f->program);
	strv_free(f->policy.deny);
	strv_free(f->policy.allow);
	set_done(f->policy.syscalls);
	free(f);
	return 0;
}

static void compile(struct fixture *f, unsigned watch)
{
	struct err e = { 0 };

	seccomp_program_done(&f->program);
	f->want.watch = watch;
	if (seccomp_compile(&f->want, &f->program, &e) < 0)
		fail_msg("%s", e.text);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
