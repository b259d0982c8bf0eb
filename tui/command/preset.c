/* SPDX-License-Identifier: MIT */
/*
 * `belljar preset`: what each preset enforces, in words; what is wrong with a file; what parts two of them.
 * Presets may come from anybody, so every line goes through the scrubber.
 */
#include "core/base/base.h"
#include "core/model/model.h"
#include "core/supervise/supervise.h"
#include "tui/command.h"
#include "tui/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define INDENT 39 /* where the words of a fact begin: its continuation lines too */
#define VALUE  25 /* and where its value does */
#define NARROW 60 /* no wrapping below */

static void complain(const struct look *look, const char *text)
{
	FREE char *line = text_line(text, strlen(text), look->ascii);

	fprintf(stderr, "belljar preset: %s\n", line);
}

/* Columns to wrap at: 0 where the output is no terminal, so that each fact stays one line for grep. */
static size_t columns_of_output(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < NARROW)
		return 0;
	return size.ws_col;
}

/* A value that is too long for its column stands on a line of its own, so that the words below each other stay so. */
static void put_fact(const char *line, size_t columns, struct buf *out)
{
	const char *gap = columns > 0 && strlen(line) > INDENT && memcmp(line + INDENT - 2, "  ", 2) != 0 &&
					  line[VALUE - 1] == ' ' && line[VALUE] != ' '
				  ? strstr(line + VALUE, "  ")
				  : NULL;

	if (gap == NULL) {
		lines_wrap(line, columns, INDENT, out);
		return;
	}
	FREE char *words = xprintf("%*s%s", INDENT, "", gap + 2);
	buf_printf(out, "%.*s\n", (int) (gap - line), line);
	lines_wrap(words, columns, INDENT, out);
}

static void print_lines(const struct look *look, const struct buf *text)
{
	size_t columns = columns_of_output();
	const char *p = text->data, *end = p != NULL ? p + text->len : NULL;

	while (p != end) {
		const char *nl = memchr(p, '\n', (size_t) (end - p)), *stop = nl != NULL ? nl : end;
		FREE char *line = text_line(p, (size_t) (stop - p), look->ascii);
		struct buf wrapped = { 0 };
		put_fact(line, columns, &wrapped);
		fputs(wrapped.data, stdout);
		buf_done(&wrapped);
		p = nl != NULL ? nl + 1 : end;
	}
}

/* Whose a preset is: below the program's own data, or the user's, which may stand before a shipped one of
 * its name. */
static const char *whose(const struct policy *p)
{
	FREE char *shipped = xprintf("%s/presets/%s.ini", data_folder(), p->name);

	if (strcmp(p->file, shipped) == 0)
		return "shipped";
	return access(shipped, F_OK) == 0 ? "yours, instead of the shipped one" : "yours";
}

static int preset_list(const struct look *look, char **names)
{
	struct buf out = { 0 };
	char **all = preset_names();
	struct err e;

	(void) names;
	for (char **name = all; name != NULL && *name != NULL; name++) {
		struct policy *p = NULL;
		if (preset_load(*name, &p, &e) < 0)
			buf_printf(&out, "%-16s faulty: %s\n", *name, e.text);
		else
			buf_printf(&out, "%-16s %s (%s; %s)\n", *name, p->summary, p->backend, whose(p));
		policy_free(p);
	}
	if (all == NULL) {
		FREE char *none = xprintf("there are no presets in %s/presets", data_folder());
		complain(look, none);
	}
	print_lines(look, &out);
	buf_done(&out);
	int status = all != NULL ? STATUS_OK : STATUS_CANNOT;
	strv_free(all);
	return status;
}

/* "x.ini" is a file in the folder where the person stands, as any other program would take it. */
static char *as_file(const char *word)
{
	bool file_here = strchr(word, '/') == NULL && str_ends(word, ".ini") && access(word, F_OK) == 0;

	return xprintf("%s%s", file_here ? "./" : "", word);
}

/* The policy of a word from the command line, or NULL after complaining. */
static struct policy *preset_take(const struct look *look, const char *word)
{
	FREE char *file = as_file(word);
	struct policy *p = NULL;
	struct err e;

	if (preset_load(file, &p, &e) < 0)
		complain(look, e.text);
	return p;
}

/* Not from a table of ours: a run of it says what holds here, for this user. */
static void describe_here(const char *preset, struct buf *out)
{
	struct event *start = NULL;
	struct err e;

	buf_str(out, "\nOn this machine, by a trial run:\n");
	if (trial_run(preset, &start, &e) < 0)
		buf_printf(out, "it does not start: %s\n", e.text);
	else
		trial_describe(start, out);
	event_free(start);
}

static int preset_show(const struct look *look, char **names)
{
	struct policy *p = preset_take(look, names[0]);
	struct buf out = { 0 };

	if (p == NULL)
		return STATUS_CANNOT;
	policy_describe(p, &out);
	describe_here(p->file, &out);
	print_lines(look, &out);
	buf_done(&out);
	policy_free(p);
	return STATUS_OK;
}

static int preset_check_all(const struct look *look, char **names)
{
	int status = STATUS_OK;
	struct err e;

	for (char **name = names; *name != NULL; name++) {
		struct buf faults = { 0 };
		FREE char *file = as_file(*name);
		int count = preset_check(file, &faults, &e);
		if (count < 0) {
			complain(look, e.text);
			status = STATUS_CANNOT;
		} else if (count > 0 && status == STATUS_OK) {
			status = STATUS_NO;
		} else if (count == 0) {
			buf_printf(&faults, "%s: no fault\n", *name);
		}
		print_lines(look, &faults);
		buf_done(&faults);
	}
	return status;
}

static int preset_diff(const struct look *look, char **names)
{
	struct policy *a = preset_take(look, names[0]);
	struct policy *b = a != NULL ? preset_take(look, names[1]) : NULL;
	struct buf out = { 0 };
	int status = STATUS_CANNOT;

	if (b != NULL) {
		status = STATUS_OK;
		buf_printf(&out, "- is %s, + is %s\n", a->name, b->name);
		if (policy_diff(a, b, &out) > 0)
			status = STATUS_NO;
		else
			buf_str(&out, "both enforce the same\n");
		print_lines(look, &out);
	}
	buf_done(&out);
	policy_free(a);
	policy_free(b);
	return status;
}

static int preset_keys(const struct look *look, char **names)
{
	struct buf out = { 0 };

	(void) names;
	preset_keys_describe(&out);
	print_lines(look, &out);
	buf_done(&out);
	return STATUS_OK;
}

static const struct action {
	const char *name;
	int least, most; /* names that it takes */
	int (*run)(const struct look *look, char **names);
} actions[] = {
	{ "list", 0, 0, preset_list }, { "show", 1, 1, preset_show }, { "check", 1, 1000, preset_check_all },
	{ "diff", 2, 2, preset_diff }, { "keys", 0, 0, preset_keys },
};

static int preset_main(const struct look *look, int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "list";
	char near[160];

	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		int given = argc > 2 ? argc - 2 : 0;
		if (strcmp(word, actions[i].name) != 0)
			continue;
		if (given >= actions[i].least && given <= actions[i].most)
			return actions[i].run(look, argv + (argc > 2 ? 2 : argc));
		snprintf(near, sizeof(near), "'%s' takes %d name%s; see belljar preset --help", word,
			 actions[i].least, actions[i].least == 1 ? "" : "s");
		complain(look, near);
		return STATUS_CANNOT;
	}
	snprintf(near, sizeof(near),
		 "'%.60s' is none of list, show, check, diff, keys; see belljar preset --help", word);
	complain(look, near);
	return STATUS_CANNOT;
}

const struct command command_preset = {
	.name = "preset",
	.summary = "what each preset enforces, in words",
	.help = "usage: belljar preset list\n"
		"       belljar preset show NAME\n"
		"       belljar preset check FILE|NAME...\n"
		"       belljar preset diff NAME NAME\n"
		"       belljar preset keys\n"
		"\n"
		"  list   all presets, yours and the shipped ones, a line each\n"
		"  show   everything that one enforces: limits, files, network, system calls by group; and, "
		"by a\n"
		"         trial run that does nothing, what holds each limit on this machine\n"
		"  check  every fault of a preset file, with its line and the nearest known name\n"
		"  diff   what parts two presets, each call that ends differently included\n"
		"  keys   all that a preset file may say: sections, keys, their values\n"
		"\n"
		"A NAME is looked for in $XDG_CONFIG_HOME/belljar/presets (~/.config/belljar/presets),\n"
		"then among the shipped presets; a word with a slash in it is a file. One of your own:\n"
		"\n"
		"  [preset]\n"
		"  extends = namespaces\n"
		"  [limits]\n"
		"  memory = 1G            ; sizes take K, M, G; times ms, s, m; any may be unlimited\n"
		"\n"
		"Exit status: 0 all well; 1 a fault (check) or a difference (diff); 125 it could not be "
		"done.\n",
	.main = preset_main,
};
