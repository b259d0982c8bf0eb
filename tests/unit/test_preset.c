/* SPDX-License-Identifier: MIT */
/*
 * Presets from file to policy: what is taken, whom an `extends` finds, which words a fault gets, and that
 * what the program ships says what it promises.
 */
#include "core/base/base.h"
#include "core/model/policy.h"
#include "tests/unit/preset_files.h"

#include <errno.h>

/* Loads, or ends the test with the reason. */
static struct policy *loads(const char *name)
{
	struct policy *p = NULL;
	struct err e = { 0 };

	if (preset_load(name, &p, &e) != 0)
		fail_msg("%s: %s", name, e.text);
	return p;
}

/* Loading ends with `code`, and the sentence has `words` in it. */
static void refuses(const char *name, int code, const char *words)
{
	struct policy *p = NULL;
	struct err e = { 0 };

	assert_int_equal(preset_load(name, &p, &e), -code);
	assert_null(p);
	if (strstr(e.text, words) == NULL)
		fail_msg("'%s' is not in '%s'", words, e.text);
}

/* presets/x.ini, an extension of `whole` with some text more, is refused for `words`. */
static void refuses_text(const char *text, const char *words)
{
	FREE char *whole = xprintf("[preset]\nextends = whole\n%s", text);

	files_write("presets/x.ini", whole);
	refuses("x", EINVAL, words);
}

static void test_whole(void **state)
{
	struct policy *p = loads("whole");

	(void) state;
	assert_string_equal(p->name, "whole");
	assert_string_equal(p->summary, "All that is needed");
	assert_string_equal(p->backend, "namespaces");
	assert_int_equal(p->limit[LIMIT_WALL], 10 * NS_PER_S);
	assert_int_equal(p->limit[LIMIT_MEMORY], 256u << 20);
	assert_int_equal(p->limit[LIMIT_CPUS], 1000);
	/* What is not stated is on the safe side. */
	assert_int_equal(p->network, NETWORK_NONE);
	assert_int_equal(p->on_denied, DENIED_ERRNO);
	assert_int_equal(p->on_output_limit, OUTPUT_DROP);
	assert_int_equal(p->run_as, 65534);
	assert_string_equal(p->root, "host-usr");
	assert_null(p->pass);
	assert_true(p->observe.denied && p->observe.network && p->observe.exec);
	assert_int_equal(p->observe.files, FILES_ATTEMPTS);
	policy_free(p);
	assert_null(policy_free(NULL));
}

static void test_every_key(void **state)
{
	(void) state;
	files_write(
		"presets/x.ini",
		"[preset]\nname = x\nextends = whole\nsummary = S\nbackend = microvm\nrun_as = 1234\n"
		"[limits]\nwall = unlimited\non_output_limit = stop\nrequire = kernel\n"
		"[filesystem]\nroot = /srv/root/\nread_only = /opt/a, /opt/b/\nwritable = /w\n"
		"[network]\npolicy = host\n[syscalls]\ndeny = read\nallow = ptrace kcmp\non_denied = ask\n"
		"[environment]\npass = LANG _x9\n[observe]\nsyscalls = off\nnetwork = off\nfiles = off\nexec "
		"= off\n"
		"[microvm]\naccel = tcg\nlanguages = py sh\nspare = 1\n");
	struct policy *p = loads("x");
	assert_string_equal(p->backend, "microvm");
	assert_int_equal(p->run_as, 1234);
	assert_true(p->limit[LIMIT_WALL] == UNLIMITED);
	assert_int_equal(p->limit[LIMIT_CPU], 10 * NS_PER_S);
	assert_int_equal(p->on_output_limit, OUTPUT_STOP);
	assert_int_equal(p->require, REQUIRE_KERNEL);
	assert_string_equal(p->root, "/srv/root");
	assert_int_equal(strv_len(p->read_only), 2);
	assert_string_equal(p->read_only[1], "/opt/b");
	assert_int_equal(strv_len(p->writable), 1);
	assert_int_equal(p->network, NETWORK_HOST);
	assert_int_equal(p->on_denied, DENIED_ASK);
	assert_string_equal(p->pass[1], "_x9");
	assert_false(p->observe.denied || p->observe.network || p->observe.exec);
	assert_int_equal(p->observe.files, FILES_OFF);
	assert_int_equal(p->microvm.accel, ACCEL_TCG);
	assert_string_equal(p->microvm.languages[0], "python");
	assert_int_equal(p->microvm.spare, 1);
	policy_free(p);
}

static void test_faults(void **state)
{
	(void) state;
	refuses_text("[limits]\nmemry = 1G\n",
		     "x.ini:4: unknown key 'memry' in [limits]; did you mean 'memory'?");
	refuses_text("[limits]\nxyzzy = 1G\n", "x.ini:4: unknown key 'xyzzy' in [limits]");
	refuses_text("[limts]\nmemory = 1G\n", "x.ini:3: unknown section [limts]; did you mean 'limits'?");
	refuses_text("[network]\nmemory = 1G\n",
		     "x.ini:4: unknown key 'memory' in [network]; it belongs in [limits]");
	refuses_text("[network]\npolicy = hots\n",
		     "x.ini:4: 'hots' is no value of 'policy' in [network]; did you mean 'host'?");
	refuses_text("[limits]\nmemory = 1GB\n", "x.ini:4: memory = 1GB ends in 'GB'");
	refuses_text("[limits]\nmemory =\n", "x.ini:4: memory has no value");
	refuses_text("backend =\n", "x.ini:3: ");
	refuses_text("backend = ../x\n", "x.ini:3: unknown backend '../x'");
	refuses_text("backend = namespacez\n",
		     "x.ini:3: unknown backend 'namespacez'; did you mean 'namespaces'?");
	refuses_text("name = y\n", "the name is 'y', but the file is x.ini");
	refuses_text("run_as = 0\n", "x.ini:3: 'run_as' cannot be '0'");
	refuses_text("run_as = 4294967295\n", "x.ini:3: 'run_as' cannot be");
	refuses_text("[filesystem]\nread_only = opt\n", "x.ini:4: 'opt' in 'read_only' is no absolute path");
	refuses_text("[filesystem]\nread_only = /opt/../etc\n", "has '..' in it");
	refuses_text("[filesystem]\nread_only = /opt/..\n", "has '..' in it");
	refuses_text("[filesystem]\nread_only = ///\n", "would be everything");
	refuses_text("[filesystem]\nroot = usr\n", "x.ini:4: 'usr' is no value of 'root'");
	refuses_text("[environment]\npass = A=B\n", "'A=B' in 'pass' is no name");
	refuses_text("[environment]\npass = 9A\n", "'9A' in 'pass' is no name");
	refuses_text("[observe]\nexec = denied\n", "'denied' is no value of 'exec' in [observe] (off | on)");
	refuses_text("[microvm]\nlanguages = cobol\n", "'cobol' in 'languages' is no language");
	refuses_text("[microvm]\nspare = 2\n", "'spare' cannot be '2'");
	refuses_text("[syscalls]\nbase = tinny\n", "x.ini:4: no syscall set 'tinny'; did you mean 'tiny'?");
	refuses_text("[syscalls]\ndeny = raed\n",
		     "unknown call 'raed' in 'deny' of [syscalls]; did you mean 'read'?");
	refuses_text("[syscalls]\nallow = Read\n", "x.ini:4: 'Read' in 'allow' is no name of a system call");
	refuses_text("[syscalls]\nallow = read\ndeny = write read\n", "'read' is in both 'deny' and 'allow'");
}

static void test_home_in_paths(void **state)
{
	(void) state;
	FREE char *home = xstrdup(getenv("HOME") != NULL ? getenv("HOME") : "");
	setenv("HOME", "/home/somebody", 1);
	files_write("presets/x.ini", "[preset]\nextends = whole\n[filesystem]\nread_only = ~/.versions\n");
	struct policy *p = loads("x");
	assert_string_equal(p->read_only[0], "/home/somebody/.versions");
	policy_free(p);
	setenv("HOME", home, 1);
}

static void test_must_be_stated(void **state)
{
	(void) state;
	files_write("presets/x.ini", "[preset]\nbackend = namespaces\n[limits]\nwall = 1s\n");
	refuses("x", EINVAL, "says nothing of 'cpu' in [limits]");
	files_write("presets/x.ini", "");
	refuses("x", EINVAL, "says nothing of 'backend' in [preset]");
}

static void test_names(void **state)
{
	(void) state;
	refuses("whol", ENOENT, "no preset 'whol'; did you mean 'whole'?");
	refuses("", ENOENT, "is no name of a preset");
	refuses("..", ENOENT, "is no name of a preset");
	refuses("/nowhere/x.ini", ENOENT, "/nowhere/x.ini");
	files_write("presets/not a name.ini", WHOLE_PRESET);
	files_write("presets/other.txt", WHOLE_PRESET);
	files_write("config/belljar/presets/whole.ini", "[preset]\nextends = whole\n");
	files_write("config/belljar/presets/mine.ini", "[preset]\nextends = whole\n");
	char **names = preset_names();
	assert_int_equal(strv_len(names), 2);
	assert_string_equal(names[0], "mine");
	assert_string_equal(names[1], "whole");
	strv_free(names);
}

static void test_user_before_shipped(void **state)
{
	(void) state;
	/* A user's preset of a shipped one's name takes that one and changes it. */
	files_write("config/belljar/presets/whole.ini", "[preset]\nextends = whole\n[limits]\nmemory = 1G\n");
	files_write("presets/child.ini", "[preset]\nextends = whole\n[limits]\nwall = 1s\n");
	struct policy *p = loads("whole");
	assert_int_equal(p->limit[LIMIT_MEMORY], 1u << 30);
	assert_int_equal(p->limit[LIMIT_SPACE], 64u << 20);
	assert_non_null(strstr(p->file, "config/belljar"));
	assert_string_equal(p->summary, "whole, with changes");
	policy_free(p);
	p = loads("child");
	assert_int_equal(p->limit[LIMIT_MEMORY], 1u << 30);
	assert_int_equal(p->limit[LIMIT_WALL], NS_PER_S);
	assert_string_equal(p->name, "child");
	policy_free(p);
}

static void test_by_file(void **state)
{
	(void) state;
	files_write("elsewhere/x.ini", "[preset]\nname = called-so\nextends = whole\n");
	FREE char *path = xprintf("%s/elsewhere/x.ini", test_folder);
	struct policy *p = loads(path);
	assert_string_equal(p->name, "called-so");
	assert_string_equal(p->file, path);
	policy_free(p);
}

static void test_chains(void **state)
{
	(void) state;
	files_write("presets/a.ini", "[preset]\nextends = b\n");
	files_write("presets/b.ini", "[preset]\nextends = a\n");
	refuses("a", EINVAL, "goes in a circle");
	files_write("presets/self.ini", "[preset]\nextends = self\n");
	refuses("self", EINVAL, "self.ini:2: extends: no preset 'self'");
	files_write("presets/x.ini", "[preset]\nextends = ../../whole\n");
	refuses("x", EINVAL, "x.ini:2: '../../whole' is no name of a preset");
	for (int i = 0; i < 9; i++) {
		FREE char *path = xprintf("presets/c%d.ini", i);
		FREE char *text =
			xprintf("[preset]\nextends = %s%.0d\n", i == 8 ? "whole" : "c", i == 8 ? 0 : i + 1);
		files_write(path, text);
	}
	refuses("c0", EINVAL, "more than 8 files extend one another");
	struct policy *p = loads("c2");
	assert_int_equal(p->limit[LIMIT_WALL], 10 * NS_PER_S);
	policy_free(p);
}

static void test_parents_fault_has_its_file(void **state)
{
	(void) state;
	files_write("presets/a.ini", "[preset]\nextends = whole\n[limits]\nwall = fast\n");
	files_write("presets/b.ini", "[preset]\nextends = a\n");
	refuses("b", EINVAL, "a.ini:4: wall cannot be 'fast'");
}

static void test_check_tells_all(void **state)
{
	struct buf faults = { 0 };
	struct err e = { 0 };

	(void) state;
	files_write("presets/x.ini",
		    "[preset]\nextends = whole\n[limits]\nmemry = 1\nwall = 0s\n  more\n[what]\nx = 1\n");
	assert_int_equal(preset_check("x", &faults, &e), 4);
	assert_non_null(strstr(faults.data, "x.ini:4: "));
	assert_non_null(strstr(faults.data, "x.ini:5: "));
	assert_non_null(strstr(faults.data, "x.ini:6: "));
	assert_non_null(strstr(faults.data, "x.ini:7: "));
	refuses("x", EINVAL, "(and 3 more: belljar preset check x)");
	buf_done(&faults);
	assert_int_equal(preset_check("whole", &faults, &e), 0);
	assert_int_equal(faults.len, 0);
	assert_int_equal(preset_check("nothing", &faults, &e), -ENOENT);
	buf_done(&faults);
}

/* A parent that cannot be found is one fault, not one for each key that it would have stated. */
static void test_lost_parent_is_one_fault(void **state)
{
	struct buf faults = { 0 };
	struct err e = { 0 };

	(void) state;
	files_write("presets/x.ini", "[preset]\nextends = whle\n");
	assert_int_equal(preset_check("x", &faults, &e), 1);
	assert_non_null(strstr(faults.data, "x.ini:2: extends: no preset 'whle'; did you mean 'whole'?"));
	buf_done(&faults);
}

static void test_describe_and_diff(void **state)
{
	struct buf out = { 0 };

	(void) state;
	files_write("presets/x.ini",
		    "[preset]\nextends = whole\n[limits]\nmemory = 1G\n[syscalls]\nallow = ptrace\n");
	struct policy *a = loads("whole"), *b = loads("x");
	policy_describe(a, &out);
	assert_non_null(strstr(out.data, "limits.memory            256M "));
	assert_non_null(strstr(out.data, "tiny:debug    steering other processes (2): ptrace kcmp\n"));
	assert_non_null(strstr(out.data, "no way out"));
	buf_done(&out);
	policy_describe(b, &out);
	assert_non_null(strstr(out.data, "tiny:debug    steering other processes (1): kcmp\n"));
	buf_done(&out);
	assert_int_equal(policy_diff(a, a, &out), 0);
	assert_int_equal(out.len, 0);
	assert_int_equal(policy_diff(a, b, &out), 6); /* memory, allow, and what becomes of ptrace */
	assert_non_null(strstr(out.data, "- limits.memory            256M "));
	assert_non_null(strstr(out.data, "+ limits.memory            1G "));
	assert_non_null(strstr(out.data, "- call ptrace              refused       tiny:debug\n"));
	assert_non_null(strstr(out.data, "+ call ptrace              allowed       preset:allow\n"));
	buf_done(&out);
	policy_free(a);
	policy_free(b);
}

/* What is another level's to do is not said of a preset, and parts it from one of that level. */
static void test_keys_of_another_level(void **state)
{
	struct buf out = { 0 };

	(void) state;
	files_write("presets/x.ini", "[preset]\nextends = whole\nbackend = microvm\n");
	struct policy *a = loads("whole"), *b = loads("x");
	policy_describe(a, &out);
	assert_null(strstr(out.data, "microvm."));
	buf_done(&out);
	policy_describe(b, &out);
	assert_non_null(strstr(out.data, "microvm.accel            auto "));
	buf_done(&out);
	assert_true(policy_diff(a, b, &out) > 0);
	assert_non_null(
		strstr(out.data, "- microvm.accel            -             how the virtual machine runs\n"));
	assert_non_null(strstr(out.data, "+ microvm.accel            auto "));
	buf_done(&out);
	policy_free(a);
	policy_free(b);
}

/* The table is whole: each row says what may stand for a value and what it means, and no key is there
 * twice. */
static void test_keys_table(void **state)
{
	struct buf out = { 0 };
	char **seen = NULL;

	(void) state;
	preset_keys_describe(&out);
	char *rest = out.data, *line;
	while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
		char *name = strsep(&line, " ");
		assert_non_null(strchr(name, '.'));
		assert_false(strv_has(seen, name));
		seen = strv_add(seen, name);
		line += strspn(line, " ");
		const char *means = strstr(line, "  ");
		assert_true(means != NULL && means > line);
		assert_true(strlen(means + strspn(means, " ")) > 3);
	}
	assert_true(strv_has(seen, "limits.memory") && strv_has(seen, "microvm.spare"));
	assert_true(strv_has(seen, "preset.run_as"));
	strv_free(seen);
	buf_done(&out);
}

/* ---- what is shipped ---- */

static int shipped_setup(void **state)
{
	(void) state;
	unsetenv("BELLJAR_DATA"); /* found from where this program lies */
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	return 0;
}

static void test_shipped(void **state)
{
	char **names = preset_names();
	struct err e = { 0 };

	(void) state;
	assert_true(strv_has(names, "namespaces") && strv_has(names, "subprocess") &&
		    strv_has(names, "classroom") && strv_has(names, "data-analysis") &&
		    strv_has(names, "test-runner"));
	for (char **name = names; *name != NULL; name++) {
		struct buf out = { 0 };
		struct policy *p = loads(*name);
		assert_string_equal(p->name, *name);
		assert_int_equal(preset_check(*name, &out, &e), 0);
		policy_describe(p, &out);
		assert_true(out.len > 500);
		assert_int_equal(p->network, NETWORK_NONE);
		assert_int_equal(p->run_as, 65534);
		assert_int_equal(policy_syscall(p, "ptrace", NULL), SYSCALL_REFUSE);
		assert_int_equal(policy_syscall(p, "read", NULL), SYSCALL_ALLOW);
		assert_int_equal(policy_syscall(p, "clone3", NULL), SYSCALL_ABSENT);
		/* Each group of calls has words for a person: without any it would mean its own name. */
		for (size_t i = 0; i < p->syscalls->group_count; i++)
			assert_string_not_equal(p->syscalls->groups[i].means,
						strchr(p->syscalls->groups[i].rule, ':') + 1);
		buf_done(&out);
		policy_free(p);
	}
	strv_free(names);
}

/* The values that the documentation names. */
static void test_shipped_levels(void **state)
{
	static const uint64_t want[LIMIT_MAX] = {
		[LIMIT_WALL] = 10 * NS_PER_S,  [LIMIT_CPU] = 10 * NS_PER_S, [LIMIT_CPUS] = 1000,
		[LIMIT_MEMORY] = 256u << 20,   [LIMIT_PROCESSES] = 64,      [LIMIT_OPEN_FILES] = 256,
		[LIMIT_FILE_SIZE] = 32u << 20, [LIMIT_SPACE] = 64u << 20,   [LIMIT_INODES] = 10000,
		[LIMIT_OUTPUT] = 16u << 20,
	};
	struct policy *n = loads("namespaces"), *s = loads("subprocess");

	(void) state;
	assert_memory_equal(n->limit, want, sizeof(want));
	assert_string_equal(n->backend, "namespaces");
	assert_string_equal(n->writable[0], "/workspace");
	assert_string_equal(s->backend, "subprocess");
	assert_string_equal(s->root, "host");
	for (enum limit_name l = 0; l < LIMIT_MAX; l++) {
		bool free_of_it = l == LIMIT_PROCESSES || l == LIMIT_SPACE || l == LIMIT_INODES;
		assert_true(s->limit[l] == (free_of_it ? UNLIMITED : want[l]));
	}
	policy_free(n);
	policy_free(s);
}

#define with_files(test)   cmocka_unit_test_setup_teardown(test, files_setup, files_teardown)
#define with_shipped(test) cmocka_unit_test_setup(test, shipped_setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_files(test_whole),
		with_files(test_every_key),
		with_files(test_faults),
		with_files(test_home_in_paths),
		with_files(test_must_be_stated),
		with_files(test_names),
		with_files(test_user_before_shipped),
		with_files(test_by_file),
		with_files(test_chains),
		with_files(test_parents_fault_has_its_file),
		with_files(test_check_tells_all),
		with_files(test_lost_parent_is_one_fault),
		with_files(test_describe_and_diff),
		with_files(test_keys_of_another_level),
		cmocka_unit_test(test_keys_table),
		with_shipped(test_shipped),
		with_shipped(test_shipped_levels),
	};

	return cmocka_run_group_tests_name("preset", tests, NULL, NULL);
}
