/* SPDX-License-Identifier: MIT */
/*
 * belljar's command line: the table of subcommands. What belongs to none of them is in look.c.
 */
#include "tui/options.h"

#include "core/base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = { &command_run,    &command_attack, &command_compare,
						  &command_replay, &command_preset, &command_doctor,
						  &command_bench,  &command_image,  NULL };

static const struct command *find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}

static int dispatch(const struct command *c, struct look *look, int argc, char **argv)
{
	struct err e;

	if (!c->reads_look && look_take(look, false, &argc, argv, &e) < 0)
		return look_refuse(look, &e);
	if (c->help && argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return look_print(c->help);
	int status = c->main(look, argc, argv);
	return fflush(stdout) == 0 && !ferror(stdout) ? status : look_unwritten(errno);
}

int main(int argc, char **argv)
{
	char help_word[] = "--help";
	struct look look;
	struct err e;

	look_init(&look);
	if (look_take(&look, true, &argc, argv, &e) < 0)
		return look_refuse(&look, &e);
	const char *word = argc > 1 ? argv[1] : "-";
	const struct command *c = find(word);
	if (c)
		return dispatch(c, &look, argc - 1, argv + 1);
	if (strcmp(word, "--version") == 0)
		return look_print("belljar " BELLJAR_VERSION "\n");
	bool help = strcmp(word, "help") == 0;
	if (help && argc > 2 && (c = find(argv[2])))
		return dispatch(c, &look, 2, (char *[]){ argv[2], help_word, NULL });
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (help && argc == 2))
		return look_usage(commands);
	if (help)
		return look_no_help(&look, argv[2], commands);
	if (look_take(&look, false, &argc, argv, &e) < 0 || look_check_file(argc, argv, commands, &e) < 0)
		return look_refuse(&look, &e);
	return command_screens.main(&look, argc, argv);
}
