/* SPDX-License-Identifier: MIT */
/*
 * What was refused, written into a preset of the person's own: the new text is read back as a preset, and of an old one
 * nothing else may change.
 */
#include "core/model/model.h"

#include "tests/unit/preset_files.h"

#include <errno.h>

static struct policy *load(const char *name)
{
	struct policy *p = NULL;
	struct err e;

	if (preset_load(name, &p, &e) < 0)
		fail_msg("%s", e.text);
	return p;
}

/* The text that grants `g` on top of preset `from`; NULL and the error where none can. */
static char *grant(const char *from, struct preset_grant g, const char *name, const char *text, struct err *e)
{
	struct policy *p = load(from);
	struct buf out = { 0 };
	const struct preset_text t = { name, "whole", text, text ? strlen(text) : 0 };
	int r = preset_grant(p, &g, &t, &out, e);

	policy_free(p);
	if (r < 0)
		buf_done(&out);
	return r < 0 ? NULL : out.data;
}

static char *joined(char *const *list)
{
	struct buf all = { 0 };

	for (size_t i = 0; list && list[i]; i++)
		buf_printf(&all, "%s%s", i ? " " : "", list[i]);
	return all.data;
}

static void shipped(void)
{
	files_write("presets/syscalls/tiny.ini", TINY_SET);
	files_write("presets/whole.ini", WHOLE_PRESET "allow = kcmp\n[filesystem]\nread_only = /opt\n");
}

static void test_new_files_are_presets(void **state)
{
	static const struct {
		struct preset_grant g;
		const char *allow, *read_only;
		enum network_policy network;
	} grants[] = {
		{ { GRANT_CALL, "ptrace" }, "kcmp ptrace", "/opt", NETWORK_NONE },
		{ { GRANT_PATH, "/srv/data" }, "kcmp", "/opt /srv/data", NETWORK_NONE },
		{ { GRANT_NETWORK, NULL }, "kcmp", "/opt", NETWORK_HOST },
	};
	struct err e;

	(void) state;
	shipped();
	for (size_t i = 0; i < ARRAY_LEN(grants); i++) {
		FREE char *text = grant("whole", grants[i].g, "mine", NULL, &e);
		assert_non_null(text);
		files_write("config/belljar/presets/mine.ini", text);
		struct policy *p = load("mine");
		FREE char *allow = joined(p->allow), *read_only = joined(p->read_only);
		assert_string_equal(allow, grants[i].allow);
		assert_string_equal(read_only, grants[i].read_only);
		assert_int_equal(p->network, grants[i].network);
		policy_free(p);
	}
}

static void expect(const char *before, const char *after)
{
	struct err e;
	files_write("config/belljar/presets/mine.ini", before);
	FREE char *text = grant("mine", (struct preset_grant){ GRANT_CALL, "ptrace" }, "mine", before, &e);

	if (!text)
		fail_msg("%s", e.text);
	assert_string_equal(text, after);
	files_write("config/belljar/presets/mine.ini", text);
	struct policy *p = load("mine");
	assert_int_equal(policy_syscall(p, "ptrace", NULL), SYSCALL_ALLOW);
	policy_free(p);
}

#define HEAD "; mine\n[preset]\nextends = whole ; the parent\n"

static void test_all_else_stays(void **state)
{
	(void) state;
	shipped();
	expect(HEAD, HEAD "\n[syscalls]\nallow = kcmp ptrace\n");
	expect("[preset]\nextends = whole", "[preset]\nextends = whole\n\n[syscalls]\nallow = kcmp ptrace\n");
	expect(HEAD "[syscalls]\n# nothing yet\n\n[limits]\nwall = 1s\n",
	       HEAD "[syscalls]\nallow = kcmp ptrace\n# nothing yet\n\n[limits]\nwall = 1s\n");
	expect(HEAD "[syscalls]\nallow =                   ; besides\ndeny =\n",
	       HEAD "[syscalls]\nallow = ptrace            ; besides\ndeny =\n");
	expect(HEAD "[syscalls]\nallow=kcmp ; a\n", HEAD "[syscalls]\nallow= kcmp ptrace ; a\n");
	expect(HEAD "[syscalls]\r\nallow = kcmp\r\n", HEAD "[syscalls]\r\nallow = kcmp ptrace\r\n");
	expect(HEAD "[syscalls]\r\nallow =\r\n", HEAD "[syscalls]\r\nallow = ptrace\r\n");
	expect(HEAD "[syscalls]\nallow =", HEAD "[syscalls]\nallow = ptrace");
	/* a key of that name elsewhere, and in a comment */
	expect(HEAD "; allow = nothing\n[syscalls]\n;allow = x\n",
	       HEAD "; allow = nothing\n[syscalls]\nallow = kcmp ptrace\n;allow = x\n");
}

static void refused(struct preset_grant g, const char *name, const char *text, int code)
{
	struct err e = { 0 };
	FREE char *got = grant("whole", g, name, text, &e);

	assert_null(got);
	if (e.code != code)
		fail_msg("%d, not %d: %s", e.code, code, e.text);
}

static void test_what_cannot_be(void **state)
{
	const struct preset_grant call = { GRANT_CALL, "ptrace" };

	(void) state;
	shipped();
	refused(call, "mine", "[preset]\nextends = whole\nwhat is this\n", EINVAL);
	refused(call, "mine", "[preset]\nextends = whole\n[syscalls]\nallow = read\n kcmp\n", EINVAL);
	refused(call, "mine", "[syscalls]\nallow = read\nallow = kcmp\n", EINVAL);
	refused(call, "mine", "[preset]\nextends = other\n", EEXIST);
	refused(call, "mine", "", EEXIST);
	refused(call, "../mine", NULL, EINVAL);
	refused(call, "", NULL, EINVAL);
	refused((struct preset_grant){ GRANT_CALL, "read" }, "mine", NULL, EPERM);
	refused((struct preset_grant){ GRANT_CALL, "nonsense" }, "mine", NULL, ENOENT);
	static const char *const paths[] = { "",     "/",     "relative",  "/a b",  "/a;b",
					     "/a,b", "/a\nb", "/a\033[2J", "/\xff", "?" };
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		refused((struct preset_grant){ GRANT_PATH, paths[i] }, "mine", NULL, EINVAL);
	refused((struct preset_grant){ GRANT_PATH, "/opt" }, "mine", NULL, EEXIST);
	files_write("presets/whole.ini", WHOLE_PRESET "deny = ptrace\n[network]\npolicy = host\n");
	refused(call, "mine", NULL, EPERM);
	refused((struct preset_grant){ GRANT_NETWORK, NULL }, "mine", NULL, EEXIST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_new_files_are_presets, files_setup, files_teardown),
		cmocka_unit_test_setup_teardown(test_all_else_stays, files_setup, files_teardown),
		cmocka_unit_test_setup_teardown(test_what_cannot_be, files_setup, files_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
