/* SPDX-License-Identifier: MIT */
/*
 * Which language a piece of code is in, and where its program lies as the sandbox sees it.
 */
#include "core/base/base.h"
#include "core/model/launch.h"
#include "core/model/policy.h"
#include "tests/unit/preset_files.h"

#include <errno.h>

static void is(const char *file, const char *code, const char *want)
{
	struct err e = { 0 };
	const struct language *lang = language_guess(file, code, strlen(code), &e);

	if (lang == NULL)
		fail_msg("'%s' %s: %s", code, file != NULL ? file : "", e.text);
	assert_string_equal(lang->name, want);
}

/* Not guessed: the sentence has `words`, and the names to choose from. */
static void is_unsure(const char *file, const char *code, const char *words)
{
	struct err e = { 0 };
	const struct language *lang = language_guess(file, code, strlen(code), &e);

	if (lang != NULL)
		fail_msg("'%s' was taken for %s", code, lang->name);
	assert_int_equal(e.code, EINVAL);
	assert_non_null(strstr(e.text, words));
	assert_non_null(
		strstr(e.text, "say the language with -l: python, sh, bash, node, esm, perl, ruby, lua, c"));
}

static void test_names(void **state)
{
	(void) state;
	for (const struct language *const *l = languages; *l != NULL; l++) {
		assert_ptr_equal(language_by_name((*l)->name), *l);
		assert_non_null((*l)->programs[0]);
		bool code_is_named = false;
		for (const char *const *a = (*l)->argv; *a != NULL; a++)
			code_is_named |= strcmp(*a, "%f") == 0;
		assert_true(code_is_named);
	}
	assert_string_equal(language_by_name("py")->name, "python");
	assert_string_equal(language_by_name("js")->name, "node");
	assert_string_equal(language_by_name("rb")->name, "ruby");
	assert_null(language_by_name("cobol"));
	assert_null(language_by_name(""));
}

static void test_shebang(void **state)
{
	(void) state;
	is(NULL, "#!/usr/bin/python3\n", "python");
	is(NULL, "#!/usr/bin/env python3\nx\n", "python");
	is(NULL, "#!/usr/bin/env -S python3 -u\n", "python");
	is(NULL, "#!/usr/bin/env -i A=B python3\n", "python");
	is(NULL, "#!  /opt/x/bin/python3.12 -E\n", "python");
	is(NULL, "#!/bin/sh", "sh");
	is(NULL, "#!/bin/bash -e\r\n", "bash");
	is(NULL, "#!/usr/bin/env\tnode\n", "node");
	is(NULL, "\xef\xbb\xbf#!/bin/sh\n", "sh");
	is("x.py", "#!/bin/sh\n", "sh"); /* what the file itself says is stronger than its name */
	is_unsure(NULL, "#!/usr/bin/python2\n", "python2");
	is_unsure("x.py", "#!/usr/bin/zsh\n", "zsh");
	is_unsure(NULL, "#!\n", "names no program");
	is_unsure(NULL, "#!/usr/bin/env -S\n", "names no program");
}

static void test_file_ending(void **state)
{
	(void) state;
	is("a/b.d/x.py", "", "python");
	is("X.PY", "", "python");
	is("x.sh", "if [[ 1 ]]", "sh");
	is("x.mjs", "", "esm");
	is("x.js", "const x = 1;\n", "node");
	is("x.js", "import fs from 'fs';\n", "esm");
	is("x.c", "", "c");
	is_unsure("x.cpp", "#include <vector>\nint main() {}\n", ".cpp");
	is_unsure("x.exe", "", ".exe");
	is_unsure("a.py/x", "", "the text does not say");
}

static void test_text(void **state)
{
	(void) state;
	is(NULL, "print(1)\n", "python");
	is("-", "import os\nprint(os.getcwd())", "python");
	is("notes.txt", "def f(x):\n    return x\n", "python");
	is(NULL, "import platform; print(6*7, platform.release())\n", "python");
	is(NULL, "import fs from 'fs'; fs.readFileSync('x')\n", "esm");
	is_unsure(NULL, "import java.util.List;\n", "the text does not say");
	is(NULL, "from os import path\r\nprint(path)\r\n", "python");
	is(NULL, "const fs = require('fs');\nconsole.log(fs);\n", "node");
	is(NULL, "import fs from 'fs';\nconsole.log(fs);\n", "esm");
	is(NULL, "echo hello\n", "sh");
	is(NULL, "for i in 1 2 3; do\n  echo $i\ndone\n", "sh");
	is(NULL, "if [[ -n $x ]]; then\n  echo yes\nfi\n", "bash");
	is(NULL, "use strict;\nmy $x = 1;\nprint \"$x\\n\";\n", "perl");
	is(NULL, "puts 'hello'\n", "ruby");
	is(NULL, "local x = 1\nprint(x)\n", "lua");
	is(NULL, "#include <stdio.h>\nint main(void) { return 0; }\n", "c");
}

/* Few signs, or signs of two: a person says. */
static void test_text_unsure(void **state)
{
	(void) state;
	is_unsure(NULL, "", "the text does not say");
	is_unsure(NULL, "hello world\n", "the text does not say");
	is_unsure(NULL, "x = 1\n", "the text does not say");
	is_unsure(NULL, "ls -l\n", "the text does not say");
	is_unsure(NULL, "echo one\necho two\nimport os\nfor x in y:\n", "the text does not say");
	is_unsure(NULL, "<?php echo 1;\n", "the text does not say");
}

static void test_text_hostile(void **state)
{
	size_t len = 1u << 20;
	char *code = xmalloc(len);
	struct err e;

	(void) state;
	memset(code, 'x', len);
	assert_null(language_guess(NULL, code, len, &e));
	memset(code, '\n', len);
	assert_null(language_guess(NULL, code, len, &e));
	memset(code, 0, len);
	assert_null(language_guess(NULL, code, len, &e));
	memcpy(code, "#!", 2);
	assert_null(language_guess(NULL, code, len, &e));
	assert_null(language_guess(NULL, code, 2, &e));
	assert_null(language_guess("...", code, 0, &e));
	free(code);
}

/* ---- programs ---- */

static char root_word[] = "host-usr";

/* A program below the test's folder; its path is given. */
static char *program_make(const char *path, const char *text)
{
	char *whole = xprintf("%s/%s", test_folder, path);

	files_write(path, text);
	assert_int_equal(chmod(whole, 0755), 0);
	return whole;
}

static void test_program_in_usr(void **state)
{
	struct policy p = { .root = root_word };
	struct err e = { 0 };
	char *path = NULL;

	(void) state;
	assert_int_equal(program_find("sh", &p, &path, &e), 0);
	assert_true(str_ends(path, "/sh"));
	assert_int_equal(access(path, X_OK), 0);
	free(path);
	assert_int_equal(language_find_program(language_by_name("sh"), &p, &path, &e), 0);
	free(path);
	assert_int_equal(program_find("./x", &p, &path, &e), 0); /* below a folder that is yet to be made */
	assert_string_equal(path, "./x");
	free(path);
	assert_int_equal(program_find("no-such-program", &p, &path, &e), -ENOENT);
	assert_non_null(strstr(e.text, "no-such-program is not installed where the sandbox looks"));
}

static void test_program_outside(void **state)
{
	struct policy p = { .root = root_word };
	struct err e = { 0 };
	char *path = NULL;
	FREE char *old_path = xstrdup(getenv("PATH"));
	FREE char *binary = program_make("opt/tool/bin/mytool", "ELF");
	FREE char *shim = program_make("shims/myshim", "#!/bin/sh\n");
	FREE char *tool = xprintf("%s/opt/tool", test_folder);
	FREE char *folders = xprintf("%s/opt/tool/bin:%s/shims:relative", test_folder, test_folder);

	(void) state;
	setenv("PATH", folders, 1);
	assert_int_equal(program_find("mytool", &p, &path, &e), -ENOENT);
	FREE char *remedy = xprintf("read_only = %s in [filesystem]", tool);
	assert_non_null(strstr(e.text, binary));
	assert_non_null(strstr(e.text, remedy));
	assert_int_equal(program_find("myshim", &p, &path, &e), -ENOENT);
	assert_non_null(strstr(e.text, shim));
	assert_non_null(strstr(e.text, "shim"));
	assert_int_equal(program_find(binary, &p, &path, &e), -ENOENT);
	setenv("PATH", old_path, 1);

	char *shown[] = { tool, NULL };
	p.read_only = shown; /* the remedy works */
	assert_int_equal(program_find("mytool", &p, &path, &e), 0);
	assert_string_equal(path, binary);
	free(path);
	assert_int_equal(program_find(binary, &p, &path, &e), 0);
	free(path);
}

/* A link in a folder that is shown, to a program in one that is not, is no program. */
static void test_program_link_leads_out(void **state)
{
	FREE char *binary = program_make("hidden/bin/mytool", "ELF");
	free(program_make("shown/bin/other", "ELF"));
	FREE char *shown = xprintf("%s/shown", test_folder);
	FREE char *link = xprintf("%s/bin/mytool", shown);
	FREE char *good = xprintf("%s/bin/good", shown);
	FREE char *ring = xprintf("%s/bin/ring", shown);
	char *folders[] = { shown, NULL };
	struct policy p = { .root = root_word, .read_only = folders };
	struct err e = { 0 };
	char *path = NULL;

	(void) state;
	assert_int_equal(symlink(binary, link), 0);
	assert_int_equal(symlink("other", good), 0);
	assert_int_equal(symlink("ring", ring), 0);
	assert_int_equal(program_find("mytool", &p, &path, &e), -ENOENT);
	assert_int_equal(program_find("ring", &p, &path, &e), -ENOENT);
	assert_int_equal(program_find("good", &p, &path, &e), 0);
	assert_string_equal(path, good);
	free(path);
}

/* A folder as root: paths are the target's, and links in it stay in it. */
static void test_program_in_root(void **state)
{
	free(program_make("root/usr/bin/onlyhere", "ELF"));
	FREE char *root = xprintf("%s/root", test_folder);
	FREE char *out = xprintf("%s/root/usr/bin/out", test_folder);
	FREE char *in = xprintf("%s/root/usr/bin/in", test_folder);
	struct policy p = { .root = root };
	struct err e = { 0 };
	char *path = NULL;

	(void) state;
	assert_int_equal(symlink("/bin/sh", out), 0);
	assert_int_equal(symlink("/usr/bin/onlyhere", in), 0);
	assert_int_equal(program_find("onlyhere", &p, &path, &e), 0);
	assert_string_equal(path, "/usr/bin/onlyhere");
	free(path);
	assert_int_equal(program_find("in", &p, &path, &e), 0);
	free(path);
	assert_int_equal(program_find("out", &p, &path, &e), -ENOENT);
	assert_int_equal(program_find("sh", &p, &path, &e), -ENOENT); /* the host's is not the target's */
}

#define with_files(test) cmocka_unit_test_setup_teardown(test, files_setup, files_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_shebang),
		cmocka_unit_test(test_file_ending),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_unsure),
		cmocka_unit_test(test_text_hostile),
		cmocka_unit_test(test_program_in_usr),
		with_files(test_program_outside),
		with_files(test_program_link_leads_out),
		with_files(test_program_in_root),
	};

	return cmocka_run_group_tests_name("language", tests, NULL, NULL);
}
