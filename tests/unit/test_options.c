/* SPDX-License-Identifier: MIT */
/*
 * Options: the parser on a small table of its own, then the table of `belljar run`: what it refuses and with which
 * words, that its help fits a screen, and that the man page lists the same.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>

#include <cmocka.h>

#include "core/base/base.h"
#include "tui/request.h"

/* ---- the parser ---- */

struct target {
	bool all, loud;
	const char *name;
	char **tags;
};

static int refuse_seven(void *into, const struct option_row *row, const char *value, struct err *e)
{
	if (strcmp(value, "7") == 0)
		return err_say(e, EINVAL, "seven is not allowed");
	return option_set_text(into, row, value, e);
}

static const struct option_row rows[] = {
	{ .name = "all",
	  .letter = 'a',
	  .help = "everything",
	  .set = option_set_flag,
	  .at = offsetof(struct target, all) },
	{ .name = "loud",
	  .letter = 'l',
	  .help = "aloud",
	  .set = option_set_flag,
	  .at = offsetof(struct target, loud) },
	{ .name = "name",
	  .letter = 'n',
	  .argument = "WORD",
	  .help = "a name",
	  .set = refuse_seven,
	  .at = offsetof(struct target, name) },
	{ .name = "tag",
	  .argument = "WORD",
	  .repeats = true,
	  .help = "a tag",
	  .set = option_add_text,
	  .at = offsetof(struct target, tags) },
	{ .name = "secret",
	  .hidden = true,
	  .help = "not told",
	  .set = option_set_flag,
	  .at = offsetof(struct target, all) },
	{ 0 },
};

#define WORDS(...) ((char **) (const char *[]){ "run", __VA_ARGS__, NULL })

struct parsed {
	struct target t;
	int words, result;
	char **after;
	struct err e;
};

static struct parsed parse(char **argv)
{
	struct parsed p = { 0 };

	p.result = options_parse(rows, &p.t, (int) strv_len(argv), argv, &p.words, &p.after, &p.e);
	return p;
}

static void reads_every_spelling(void **state)
{
	(void) state;
	struct parsed p = parse(WORDS("--name", "x", "one", "-al", "--tag=1", "--tag", "2", "two"));
	assert_int_equal(p.result, 0);
	assert_true(p.t.all && p.t.loud);
	assert_string_equal(p.t.name, "x");
	assert_int_equal(strv_len(p.t.tags), 2);
	assert_string_equal(p.t.tags[1], "2");
	assert_int_equal(p.words, 2);
	assert_null(p.after);
	(void) strv_free(p.t.tags);

	assert_string_equal(parse(WORDS("-nx")).t.name, "x");
	assert_string_equal(parse(WORDS("-n", "x")).t.name, "x");
	assert_string_equal(parse(WORDS("-anx")).t.name, "x");
	assert_string_equal(parse(WORDS("--name=")).t.name, "");
	assert_string_equal(parse(WORDS("--name=a=b")).t.name, "a=b");
	assert_string_equal(parse(WORDS("--name=--all")).t.name, "--all");
	assert_string_equal(parse(WORDS("--name", "-5")).t.name, "-5"); /* no option of the table: a value */
}

static void words_are_moved_to_the_front(void **state)
{
	(void) state;
	char **argv = WORDS("-a", "one", "--name", "x", "two", "-");
	struct parsed p = parse(argv);
	assert_int_equal(p.words, 3);
	assert_string_equal(argv[1], "one");
	assert_string_equal(argv[2], "two");
	assert_string_equal(argv[3], "-");
}

static void after_two_dashes_nothing_is_an_option(void **state)
{
	(void) state;
	struct parsed p = parse(WORDS("-a", "--", "--loud", "-x"));
	assert_int_equal(p.result, 0);
	assert_false(p.t.loud);
	assert_string_equal(p.after[0], "--loud");
	assert_string_equal(p.after[1], "-x");
	assert_null(p.after[2]);
	assert_null(parse(WORDS("--")).after[0]);
}

static void assert_refused(char **argv, const char *part)
{
	struct parsed p = parse(argv);

	assert_int_equal(p.result, -EINVAL);
	if (!strstr(p.e.text, part))
		fail_msg("\"%s\" lacks \"%s\"", p.e.text, part);
	(void) strv_free(p.t.tags);
}

static void refuses_with_the_name(void **state)
{
	(void) state;
	assert_refused(WORDS("--nmae", "x"), "unknown option --nmae; the nearest is --name");
	assert_refused(WORDS("--zzzzzzzz"), "unknown option --zzzzzzzz; --help");
	assert_refused(WORDS("-z"), "-z");
	assert_refused(WORDS("-tag"), "two dashes: --tag");
	assert_refused(WORDS("--name"), "--name needs an argument: --name WORD");
	assert_refused(WORDS("-n"), "-n needs an argument: -n WORD");
	assert_refused(WORDS("--name", "--"), "--name needs an argument");
	assert_refused(WORDS("--name", "--all"), "--name needs an argument, but --all follows");
	assert_refused(WORDS("--name", "-a"), "but -a follows");
	assert_refused(WORDS("--name", "--tag=3"), "but --tag=3 follows");
	assert_refused(WORDS("--all=yes"), "--all takes no argument");
	assert_refused(WORDS("--name", "x", "-ny"), "-n was given twice");
	assert_refused(WORDS("-a", "--all"), "--all was given twice");
	assert_refused(WORDS("--name", "7"), "--name: seven is not allowed");
	assert_refused(WORDS("--nam", "x"), "unknown option --nam"); /* no abbreviations */
}

static void hidden_rows_are_not_proposed(void **state)
{
	(void) state;
	struct parsed p = parse(WORDS("--secre"));
	assert_int_equal(p.result, -EINVAL);
	assert_null(strstr(p.e.text, "--secret"));

	struct buf out = { 0 };
	options_help(rows, &out);
	options_man(rows, &out);
	assert_null(strstr(out.data, "secret"));
	buf_done(&out);
}

/* ---- the general options ---- */

static void general_options_are_taken_anywhere(void **state)
{
	(void) state;
	struct look look = { .color = true };
	struct err e;
	char **argv =
		WORDS("show", "--plain", "name", "--color", "never", "--other", "--ascii", "--", "--plain");
	int argc = (int) strv_len(argv);

	assert_int_equal(look_take(&look, false, &argc, argv, &e), 0);
	assert_true(look.plain && look.ascii && !look.color);
	assert_int_equal(argc, 6);
	assert_string_equal(argv[1], "show");
	assert_string_equal(argv[2], "name");
	assert_string_equal(argv[3], "--other");
	assert_string_equal(argv[4], "--");
	assert_string_equal(argv[5], "--plain");
	assert_null(argv[6]);
}

static void leading_ones_stop_at_the_subcommand(void **state)
{
	(void) state;
	struct look look = { 0 };
	struct err e;
	char **argv = WORDS("--plain", "--color=always", "run", "-c", "--ascii");
	int argc = (int) strv_len(argv);

	assert_int_equal(look_take(&look, true, &argc, argv, &e), 0);
	assert_true(look.plain && look.color && !look.ascii);
	assert_int_equal(argc, 4);
	assert_string_equal(argv[1], "run");
	assert_string_equal(argv[3], "--ascii");
}

static void general_options_are_checked(void **state)
{
	(void) state;
	struct look look = { 0 };
	struct err e;
	int argc = 3;

	assert_int_equal(look_take(&look, false, &argc, WORDS("--color", "pink"), &e), -EINVAL);
	assert_non_null(strstr(e.text, "--color"));
	assert_non_null(strstr(e.text, "pink"));
	argc = 2;
	assert_int_equal(look_take(&look, false, &argc, WORDS("--color"), &e), -EINVAL);
	argc = 3;
	assert_true(look_take(&look, false, &argc, WORDS("--script", "/nonexistent/s"), &e) < 0);
	assert_non_null(strstr(e.text, "/nonexistent/s"));
}

/* ---- belljar run ---- */

static int request(struct request *q, char **argv, struct err *e)
{
	*q = (struct request){ 0 };
	return request_parse(q, (int) strv_len(argv), argv, e);
}

static void run_reads_all_its_options(void **state)
{
	(void) state;
	struct request q;
	struct err e;

	assert_int_equal(request(&q,
				 WORDS("-p", "classroom", "--memory", "64M", "--wall=1.5s", "--cpus", "0.5",
				       "--input", "/a:/b", "--input", "/c", "--env", "A=1", "--json", "-q",
				       "--events", "3", "x.py", "--ascii"),
				 &e),
			 0);
	assert_string_equal(q.preset, "classroom");
	assert_true(q.limited[LIMIT_MEMORY] && q.limited[LIMIT_WALL] && !q.limited[LIMIT_CPU]);
	assert_int_equal(q.limit[LIMIT_MEMORY], 64 << 20);
	assert_int_equal(q.limit[LIMIT_WALL], 1500 * NS_PER_MS);
	assert_int_equal(q.limit[LIMIT_CPUS], 500);
	assert_int_equal(strv_len(q.inputs), 2);
	assert_string_equal(q.file, "x.py");
	assert_true(q.json && q.quiet && q.look.ascii);
	request_done(&q);

	assert_int_equal(request(&q, WORDS("--", "ls", "-l"), &e), 0);
	assert_null(q.file);
	assert_string_equal(q.argv[1], "-l");
	assert_int_equal(request(&q, WORDS("-"), &e), 0);
	assert_string_equal(q.file, "-");
	assert_int_equal(request(&q, WORDS("-c", "-- a comment"), &e), 0);
	assert_string_equal(q.code, "-- a comment");
}

static void each_limit_has_an_option(void **state)
{
	(void) state;
	for (int i = 0; i < LIMIT_MAX; i++) {
		const struct option_row *row = request_options;
		while (row->name && strcmp(row->name, limit_kinds[i].option) != 0)
			row++;
		assert_non_null(row->name);
		assert_int_equal(row->at, i);
		assert_false(row->hidden);
	}
}

static const struct {
	const char *words[6], *part;
} wrong[] = {
	{ { NULL }, "nothing to run" },
	{ { "a.py", "b.py" }, "\"a.py\" and \"b.py\"" },
	{ { "a.py", "-c", "x" }, "-c CODE and a.py" },
	{ { "a.py", "--", "ls" }, "a.py and -- ARGV" },
	{ { "-c", "x", "--", "ls" }, "-c CODE and -- ARGV" },
	{ { "--" }, "-- needs a program" },
	{ { "--", "" }, "empty word" },
	{ { "--memroy", "1M", "x" }, "--memory" },
	{ { "--memory", "12X", "x" }, "--memory" },
	{ { "--memory", "-5", "x" }, "--memory" },
	{ { "--memory", "", "x" }, "--memory" },
	{ { "--memory", "99999999999999999999G", "x" }, "--memory" },
	{ { "--wall", "soon", "x" }, "--wall" },
	{ { "--cpus", "1M", "x" }, "--cpus" },
	{ { "--open-files", "1.5", "x" }, "--open-files" },
	{ { "--processes", "0", "x" }, "--processes" },
	{ { "--env", "FOO", "x" }, "--env" },
	{ { "--env", "=x", "x" }, "--env" },
	{ { "--env", "1A=x", "x" }, "\"1A\"" },
	{ { "--env", "A B=x", "x" }, "\"A B\"" },
	{ { "--pass", "A=1", "x" }, "--pass" },
	{ { "--pass", "BELLJAR_NO_SUCH_NAME", "x" }, "BELLJAR_NO_SUCH_NAME" },
	{ { "--stdin", "f", "-" }, "--stdin" },
	{ { "-l", "python", "--", "ls" }, "--lang" },
	{ { "--json", "--events", "1", "x" }, "--events 1" },
	{ { "--record", "f", "--no-record", "x" }, "--no-record" },
	{ { "-q", "-v", "x" }, "--verbose" },
	{ { "-v", "--events", "2", "x" }, "--events 2" },
	{ { "--allow", "host:80", "x" }, "--allow: comes in a later version" },
	{ { "--script", "/dev/null", "x" }, "--script" },
	{ { "--color", "pink", "x" }, "--color" },
};

static void run_refuses_what_is_wrong(void **state)
{
	(void) state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		char *argv[8] = { (char *) "run" };
		struct request q;
		struct err e = { 0 };

		for (size_t k = 0; k < ARRAY_LEN(wrong[i].words) && wrong[i].words[k]; k++)
			argv[k + 1] = (char *) wrong[i].words[k];
		if (request(&q, argv, &e) != -EINVAL)
			fail_msg("row %zu was not refused", i);
		if (!strstr(e.text, wrong[i].part))
			fail_msg("row %zu: \"%s\" lacks \"%s\"", i, e.text, wrong[i].part);
		request_done(&q);
	}
}

static void json_is_seen_among_wrong_words(void **state)
{
	(void) state;
	assert_true(request_wants_json(3, WORDS("--bogus", "--json")));
	assert_false(request_wants_json(3, WORDS("--", "--json")));
	assert_false(request_wants_json(2, WORDS("--jsonx")));
}

static void help_fits_a_screen(void **state)
{
	(void) state;
	struct buf out = { 0 };
	size_t lines = 1; /* the usage line before it */

	options_help(request_options, &out);
	for (const char *line = out.data; *line; lines++) {
		size_t len = strcspn(line, "\n");
		assert_true(len <= 80);
		assert_true(len == 0 || line[len - 1] != ' ');
		line += len + 1;
	}
	assert_true(lines <= 23); /* and a prompt below */
	for (const struct option_row *row = request_options; row->name; row++) {
		FREE char *name = xprintf("--%s", row->name);
		assert_int_equal(strstr(out.data, name) != NULL, !row->hidden);
	}
	buf_done(&out);
}

static void man_page_lists_the_same(void **state)
{
	(void) state;
	static const char begin[] = ".\\\" run: begin\n", end[] = ".\\\" run: end\n";
	FREE char *page = NULL;
	struct buf list = { 0 };
	struct err e;

	assert_int_equal(file_read(AT_FDCWD, "tui/belljar.1", 1 << 20, &page, NULL, &e), 0);
	const char *from = strstr(page, begin), *to = strstr(page, end);
	assert_non_null(from);
	assert_non_null(to);
	from += strlen(begin);
	options_man(request_options, &list);
	FREE char *section = xstrndup(from, (size_t) (to - from));
	assert_string_equal(
		section, list.data); /* else: put the output of `belljar run --help-man` between the marks */
	buf_done(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_spelling),
		cmocka_unit_test(words_are_moved_to_the_front),
		cmocka_unit_test(after_two_dashes_nothing_is_an_option),
		cmocka_unit_test(refuses_with_the_name),
		cmocka_unit_test(hidden_rows_are_not_proposed),
		cmocka_unit_test(general_options_are_taken_anywhere),
		cmocka_unit_test(leading_ones_stop_at_the_subcommand),
		cmocka_unit_test(general_options_are_checked),
		cmocka_unit_test(run_reads_all_its_options),
		cmocka_unit_test(each_limit_has_an_option),
		cmocka_unit_test(run_refuses_what_is_wrong),
		cmocka_unit_test(json_is_seen_among_wrong_words),
		cmocka_unit_test(help_fits_a_screen),
		cmocka_unit_test(man_page_lists_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
