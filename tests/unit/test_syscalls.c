/* SPDX-License-Identifier: MIT */
/*
 * Sets of system calls: their groups, one extending another, who wins, and what is refused.
 */
#include "core/base/base.h"
#include "core/model/policy.h"
#include "core/model/syscalls.h"
#include "tests/unit/preset_files.h"

#include <errno.h>

static struct syscall_set *loads(const char *name)
{
	struct syscall_set *s = NULL;
	struct err e = { 0 };

	if (syscall_set_load(name, &s, &e) != 0)
		fail_msg("%s: %s", name, e.text);
	return s;
}

static void refuses(const char *text, const char *words)
{
	struct syscall_set *s = NULL;
	struct err e = { 0 };

	files_write("presets/syscalls/x.ini", text);
	assert_int_equal(syscall_set_load("x", &s, &e), -EINVAL);
	assert_null(s);
	if (strstr(e.text, words) == NULL)
		fail_msg("'%s' is not in '%s'", words, e.text);
}

static void test_groups(void **state)
{
	struct syscall_set *s = loads("tiny");

	(void) state;
	assert_string_equal(s->name, "tiny");
	assert_string_equal(s->summary, "Few calls");
	assert_int_equal(s->group_count, 3);
	assert_string_equal(s->groups[0].rule, "tiny:files");
	assert_string_equal(s->groups[0].means, "reading and writing");
	assert_int_equal(s->groups[0].action, SYSCALL_ALLOW);
	assert_int_equal(strv_len(s->groups[0].calls), 3);
	assert_int_equal(s->groups[1].action, SYSCALL_REFUSE);
	assert_int_equal(s->groups[2].action, SYSCALL_ABSENT);
	assert_string_equal(s->groups[2].means, "clone3"); /* none given: the bare name */
	assert_non_null(syscall_set_group(s, "kcmp"));
	assert_null(syscall_set_group(s, "mount"));
	assert_null(syscall_set_free(s));
	assert_null(syscall_set_free(NULL));
}

static void test_extends(void **state)
{
	(void) state;
	files_write("presets/syscalls/child.ini",
		    "[set]\nextends = tiny\n[refuse]\nfiles = write\n[allow]\nnew = ptrace brk\n");
	struct syscall_set *s = loads("child");
	struct policy p = { .syscalls = s };
	const char *rule;
	assert_int_equal(s->group_count, 5);
	assert_string_equal(s->summary, "child"); /* the parent's words are of the parent */
	assert_int_equal(policy_syscall(&p, "read", &rule), SYSCALL_ALLOW);
	assert_string_equal(rule, "tiny:files");
	assert_int_equal(policy_syscall(&p, "write", &rule), SYSCALL_REFUSE);
	assert_string_equal(rule, "child:files");
	/* but a group of the same name means the same */
	assert_string_equal(s->groups[3].means, "reading and writing");
	assert_int_equal(policy_syscall(&p, "ptrace", &rule), SYSCALL_ALLOW);
	assert_string_equal(rule, "child:new");
	assert_int_equal(policy_syscall(&p, "clone3", &rule), SYSCALL_ABSENT);
	assert_string_equal(rule, "tiny:clone3");
	assert_int_equal(policy_syscall(&p, "mount", &rule), SYSCALL_ABSENT);
	assert_string_equal(rule, "");
	char **calls = syscall_set_calls(s);
	assert_int_equal(strv_len(calls), 7);
	strv_free(calls);
	syscall_set_free(s);
}

static void test_preset_wins(void **state)
{
	struct syscall_set *s = loads("tiny");
	char *deny[] = { (char[]){ "read" }, NULL }, *allow[] = { (char[]){ "kcmp" }, NULL };
	struct policy p = { .syscalls = s, .deny = deny, .allow = allow };
	const char *rule;

	(void) state;
	assert_int_equal(policy_syscall(&p, "read", &rule), SYSCALL_REFUSE);
	assert_string_equal(rule, "preset:deny");
	assert_int_equal(policy_syscall(&p, "kcmp", &rule), SYSCALL_ALLOW);
	assert_string_equal(rule, "preset:allow");
	assert_int_equal(policy_syscall(&p, "ptrace", NULL), SYSCALL_REFUSE);
	p.syscalls = NULL;
	/* nothing known is nothing allowed */
	assert_int_equal(policy_syscall(&p, "ptrace", &rule), SYSCALL_ABSENT);
	syscall_set_free(s);
}

static void test_faults(void **state)
{
	(void) state;
	refuses("[allow]\na = Read\n", "x.ini:2: 'Read' is no name of a system call");
	refuses("[allow]\na =\n", "x.ini:2: group 'a' names no call");
	refuses("[allow]\na = read read\n", "x.ini:2: 'read' stands twice in group 'a'");
	refuses("[allow]\na = read\n[refuse]\nb = write read\n", "x.ini:4: 'read' is in group 'a' already");
	refuses("[allow]\na = read\n[refuse]\na = write\n", "x.ini:4: group 'a' stands twice");
	refuses("[allow]\nA:b = read\n", "x.ini:2: ");
	refuses("[alow]\na = read\n", "x.ini:1: unknown section [alow]; did you mean 'allow'?");
	refuses("[set]\nextend = tiny\n", "x.ini:2: unknown key 'extend' in [set]; did you mean 'extends'?");
	refuses("[set]\nname = y\n[allow]\na = read\n", "x.ini:2: the name is 'y', but the file is x.ini");
	refuses("[allow]\na = read\n[means]\nb = words\n", "speaks of a group 'b'");
	refuses("[allow]\na = read\n[means]\na =\n", "x.ini:4: group 'a' means nothing");
	refuses("[set]\nsummary = S\n", "has no group");
	refuses("[set]\nextends = tinny\n", "x.ini:2: extends: no syscall set 'tinny'; did you mean 'tiny'?");
	refuses("[set]\nextends = y\n", "no syscall set 'y'");
	files_write("presets/syscalls/y.ini", "[set]\nextends = x\n");
	refuses("[set]\nextends = y\n", "goes in a circle");
}

static void test_users_set(void **state)
{
	(void) state;
	files_write("config/belljar/presets/syscalls/tiny.ini",
		    "[set]\nextends = tiny\n[refuse]\nmine = read\n");
	struct syscall_set *s = loads("tiny");
	assert_int_equal(s->group_count, 4);
	assert_int_equal(s->groups[3].action, SYSCALL_REFUSE);
	syscall_set_free(s);
}

#define with_files(test) cmocka_unit_test_setup_teardown(test, files_setup, files_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_files(test_groups), with_files(test_extends),   with_files(test_preset_wins),
		with_files(test_faults), with_files(test_users_set),
	};

	return cmocka_run_group_tests_name("syscalls", tests, NULL, NULL);
}
