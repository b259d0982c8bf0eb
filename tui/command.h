/* SPDX-License-Identifier: MIT */
/*
 * A subcommand: one file in tui/command/, one row in main.c.
 */
#pragma once

/* clang-format off */

#include <stdbool.h>

/* What the person asked of the face as a whole; every subcommand takes these options. */
struct look {
	bool plain;         /* --plain: append-only lines, no curses */
	bool ascii;         /* --ascii, or a locale without UTF-8 */
	bool color;         /* --color, NO_COLOR and the terminal, already decided */
	const char *script; /* --script FILE: keys and commands, for tests and demonstrations; NULL: none */
};

struct command {
	const char *name;
	const char *summary; /* one line in `belljar --help` */
	const char *help;    /* all of `belljar NAME --help`; fits a screen. NULL: `main` prints it from its table */
	bool reads_look;     /* takes the options of struct look from its own argv, so that it can answer for a wrong one */
	int (*main)(const struct look *look, int argc, char **argv); /* argv[0] is the name; returns the exit status */
};

/* The statuses of everything but `run`: `run` has its own. */
enum { STATUS_OK = 0, STATUS_NO = 1, STATUS_CANNOT = 125 };

extern const struct command command_attack, command_bench, command_compare, command_doctor, command_image, command_run,
	command_preset, command_replay, command_screens;
