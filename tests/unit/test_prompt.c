/* SPDX-License-Identifier: MIT */
/*
 * Completion of the command line: which names are offered where, and that none is whose bytes a terminal must not see.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tui/screen/app.h"

static struct app app = { .view = &compose_view };

/* What is added to a line, and how many names go on with it. */
static void assert_completes(const char *typed, const char *add, size_t at_least)
{
	FREE char *got = NULL;
	char **names = prompt_complete(&app, typed, &got);
	if (strcmp(got, add) != 0)
		fail_msg("\"%s\" was continued by \"%s\", not by \"%s\"", typed, got, add);
	assert_true(strv_len(names) >= at_least);
	strv_free(names);
}

static void names_of_commands(void **state)
{
	(void) state;
	assert_completes("langu", "age ", 1);
	assert_completes("find-", "", 2);
	assert_completes("nonsense", "", 0);
	assert_completes("", "", 20);
}

static void names_by_command(void **state)
{
	(void) state;
	assert_completes("screen Pr", "esets", 1);
	assert_completes("preset subp", "rocess", 1);
	assert_completes("edit-preset subp", "rocess", 1);
	assert_completes("presets subprocess names", "paces", 1);
	assert_completes("levels subp", "rocess", 1);
	assert_completes("language pyth", "on", 1);
	assert_completes("find subp", "", 0);
}

static void files_and_recordings(void **state)
{
	(void) state;
	char folder[] = "/tmp/belljar-prompt-XXXXXX";
	struct err e;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(setenv("XDG_STATE_HOME", folder, 1), 0);
	FREE char *runs = xprintf("%s/belljar/runs", folder);
	FREE char *one = xprintf("%s/one.jsonl", runs);
	FREE char *hostile = xprintf("%s/two\033[31m", runs);
	assert_int_equal(dir_make_all(runs, 0700, &e), 0);
	close(open(one, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	close(open(hostile, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));

	assert_completes("replay ", one, 1);
	FREE char *half = xprintf("replay %s/o", runs), *two = xprintf("open %s/t", runs);
	assert_completes(half, "ne.jsonl", 1);
	assert_completes(two, "", 0);
	assert_int_equal(dir_remove_tree(AT_FDCWD, folder, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_commands),
		cmocka_unit_test(names_by_command),
		cmocka_unit_test(files_and_recordings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
