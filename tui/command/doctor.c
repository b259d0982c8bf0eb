/* SPDX-License-Identifier: MIT */
/*
 * `belljar doctor`: what presets need of this machine, tried, in a table; then what is not well, and what helps.
 */
#include "core/base/base.h"
#include "core/doctor/doctor.h"
#include "core/model/model.h"
#include "tui/lines.h"
#include "tui/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS 80
#define NARROW  40
#define INDENT  4
#define TITLE   33

struct doctor_words {
	bool json;
};

static const struct option_row options[] = {
	{ .name = "json",
	  .help = "one JSON object",
	  .set = option_set_flag,
	  .at = offsetof(struct doctor_words, json) },
	{ .name = NULL },
};

static size_t columns_of_output(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < NARROW)
		return COLUMNS;
	return size.ws_col;
}

/* ---- the table ---- */

static const char *color_of(const struct look *look, enum finding_state s)
{
	static const char *const colors[] = {
		[FINDING_OK] = "\033[32m",
		[FINDING_WEAK] = "\033[33m",
		[FINDING_MISSING] = "\033[31m",
		[FINDING_UNKNOWN] = "\033[35m",
	};
	return look->color ? colors[s] : "";
}

/* Whether more is told of it than its row: of what was not tried there is no more. */
static bool has_part(const struct finding *f)
{
	return f->state == FINDING_WEAK || f->state == FINDING_MISSING;
}

/* Facts name folders and what programs said: not our words. The code leads to the part below. */
static void print_row(void *arg, const struct finding *f)
{
	const struct look *look = arg;
	FREE char *fact = text_line(f->fact, strlen(f->fact), look->ascii);
	const char *last = has_part(f) ? f->code : fact;
	size_t room = columns_of_output() - 8 - TITLE;

	printf("%s%-8s%s%-*s%.*s\n", color_of(look, f->state), finding_state_name(f->state),
	       look->color ? "\033[0m" : "", TITLE, f->title, (int) text_fit(last, strlen(last), room), last);
	(void) fflush(stdout);
}

/* ---- what is not well ---- */

static void print_part(const struct look *look, const char *label, const char *text)
{
	FREE char *whole = xprintf("%*s%s%s", INDENT, "", label, text);
	FREE char *line = text_line(whole, strlen(whole), look->ascii);
	struct buf out = { 0 };

	if (!*text)
		return;
	lines_wrap(line, columns_of_output(), INDENT + 2, &out);
	(void) fwrite(out.data, 1, out.len, stdout);
	buf_done(&out);
}

static char *names_join(char *const *names)
{
	struct buf out = { 0 };

	for (; names && *names; names++)
		buf_printf(&out, "%s%s", out.len ? ", " : "", *names);
	return buf_steal(&out);
}

/* `above`: the finding told before this one, or NULL: what has one remedy has one reason. */
static void print_finding(const struct look *look, const struct finding *f, const struct finding *above)
{
	FREE char *presets = names_join(f->presets);
	bool same = above && *f->remedy && strcmp(above->remedy, f->remedy) == 0;

	printf("\n%s%s%s: %s\n", color_of(look, f->state), finding_state_name(f->state),
	       look->color ? "\033[0m" : "", f->code);
	print_part(look, "", same ? "" : f->fact);
	print_part(look, "without it: ", f->without);
	print_part(look, "remedy: ", same ? "as above" : f->remedy);
	print_part(look, "presets: ", presets);
}

static void print_findings(const struct look *look, const struct finding *list, size_t count)
{
	const struct finding *above = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!has_part(&list[i]))
			continue;
		print_finding(look, &list[i], above);
		above = &list[i];
	}
}

/* ---- which presets ---- */

static bool stands_for(const struct finding *list, size_t count, enum finding_state state, const char *preset)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].state == state && strv_has(list[i].presets, preset))
			return true;
	return false;
}

static enum finding_state state_of(const struct finding *list, size_t count, const char *preset)
{
	static const enum finding_state worst_first[] = { FINDING_MISSING, FINDING_UNKNOWN, FINDING_WEAK };

	for (size_t i = 0; i < ARRAY_LEN(worst_first); i++)
		if (stands_for(list, count, worst_first[i], preset))
			return worst_first[i];
	return FINDING_OK;
}

static bool is_shipped(const char *preset)
{
	FREE char *path = xprintf("%s/presets/%s.ini", data_folder(), preset);

	return access(path, F_OK) == 0;
}

/* Those that can be loaded: of a faulty one nothing was tried. */
static char **names_of(enum finding_state state, const struct finding *list, size_t count)
{
	char **all = preset_names(), **fit = NULL;

	for (char **name = all; name && *name; name++) {
		struct policy *p = NULL;
		struct err ignored;
		if (state_of(list, count, *name) == state && preset_load(*name, &p, &ignored) == 0)
			fit = strv_add(fit, *name);
		policy_free(p);
	}
	strv_free(all);
	return fit;
}

static void print_presets(const struct look *look, const struct finding *list, size_t count)
{
	static const char *const words[] = {
		[FINDING_OK] = "work",
		[FINDING_WEAK] = "work, with something weaker",
		[FINDING_MISSING] = "cannot run",
		[FINDING_UNKNOWN] = "not known",
	};
	struct buf out = { 0 };

	for (int s = 0; s < FINDING_STATE_MAX; s++) {
		char **names = names_of((enum finding_state) s, list, count);
		FREE char *joined = names_join(names);
		if (names)
			buf_printf(&out, "%s%s: %s", out.len ? "; " : "", words[s], joined);
		strv_free(names);
	}
	FREE char *line = text_line(out.data, out.len, look->ascii);
	printf("\nPresets here: %s.\n", line);
	buf_done(&out);
}

static int status_of(const struct finding *list, size_t count)
{
	char **cannot = names_of(FINDING_MISSING, list, count);
	int status = STATUS_OK;

	for (char **name = cannot; name && *name; name++)
		if (is_shipped(*name))
			status = STATUS_NO;
	strv_free(cannot);
	return status;
}

/* ---- the command ---- */

static void print_json(const struct finding *list, size_t count)
{
	struct buf out = { 0 };

	doctor_json(list, count, &out);
	buf_str(&out, "\n");
	(void) fwrite(out.data, 1, out.len, stdout);
	buf_done(&out);
}

static int doctor_main(const struct look *look, int argc, char **argv)
{
	struct doctor_words said = { .json = false };
	struct finding *list = NULL;
	char **after = NULL, **presets = preset_names();
	bool none = presets == NULL;
	int words = 0;
	struct err e;

	strv_free(presets);
	if (options_parse(options, &said, argc, argv, &words, &after, &e) < 0)
		return look_refuse(look, &e);
	if (words || after) {
		look_say(look, "doctor takes no words but --json; see belljar doctor --help");
		return STATUS_CANNOT;
	}
	if (none) {
		look_say(look, "there are no presets in %s/presets, so there is nothing to try",
			 data_folder());
		return STATUS_CANNOT;
	}
	size_t count = doctor_run(said.json ? NULL : print_row, (void *) look, &list);
	if (said.json) {
		print_json(list, count);
	} else {
		print_findings(look, list, count);
		print_presets(look, list, count);
	}
	int status = status_of(list, count);
	findings_free(list, count);
	return status;
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "try what presets need of this machine, and say what helps",
	.help = "usage: belljar doctor [--json]\n"
		"\n"
		"Makes, as you, each thing that a preset needs (a namespace with its id maps, a mount, a "
		"control\n"
		"group with a limit, a filter with a listener, a Landlock ruleset), takes it away again, and "
		"starts\n"
		"each preset up to the execution of its program. A line each:\n"
		"\n"
		"  ok       it was made, and holds\n"
		"  weak     presets run, but a limit or a layer is weaker, or less is shown\n"
		"  missing  the presets that are named cannot run\n"
		"  unknown  it could not be tried, or gave no answer in time\n"
		"\n"
		"Then for each that is not ok: its code, the fact, what is weaker without it, the remedy, "
		"the presets.\n"
		"A run that cannot start names the same code.\n"
		"\n"
		"  --json  all of it as one JSON object\n"
		"\n"
		"Exit status: 0 all shipped presets can run; 1 one of them cannot; 125 it could not be "
		"done.\n",
	.main = doctor_main,
};
