/* SPDX-License-Identifier: MIT */
/*
 * What the man page and the README say of keys and commands is what the tables say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>

#include "core/base/base.h"
#include "tui/screen/app.h"
#include "tui/screen/keydoc.h"
#include "tui/screen/plain.h"

/* The lines of a file between two marks. */
static char *section(const char *path, const char *begin, const char *end)
{
	FREE char *text = NULL;
	struct err e;
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &text, NULL, &e), 0);
	const char *from = strstr(text, begin), *to = strstr(text, end);
	assert_non_null(from);
	assert_non_null(to);
	from = strchr(from, '\n') + 1;
	return xstrndup(from, (size_t) (to - from));
}

static void man_page_has_the_tables(void **state)
{
	(void) state;
	struct buf want = { 0 };
	FREE char *have = section("tui/belljar.1", ".\\\" keys: begin\n", ".\\\" keys: end\n");
	keys_man(&want);
	assert_string_equal(have, want.data); /* else: put the output of `belljar-screens --help-man` there */
	buf_done(&want);
}

static void readme_has_the_hints(void **state)
{
	(void) state;
	struct buf want = { 0 };
	FREE char *have = section("README.md", "<!-- keys: begin", "<!-- keys: end");
	keys_readme(&want);
	assert_string_equal(have,
			    want.data); /* else: put the output of `belljar-screens --help-readme` there */
	buf_done(&want);
}

/* What plain mode leaves out is named there by hand: each of those must be a command. */
static void what_plain_mode_leaves_out_exists(void **state)
{
	(void) state;
	struct app app = { .view = &compose_view };
	const struct view *elsewhere;
	for (const char *const *name = plain_drawn_names; *name; name++) {
		size_t len = strlen(*name);
		bool known = app_action(&app, *name, len) || app_action_elsewhere(*name, len, &elsewhere);
		if (!known)
			fail_msg("%s is no command", *name);
		assert_true(plain_drawn(*name));
	}
	assert_false(plain_drawn("run"));
	assert_false(plain_drawn("quit"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(man_page_has_the_tables),
		cmocka_unit_test(readme_has_the_hints),
		cmocka_unit_test(what_plain_mode_leaves_out_exists),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
