/* SPDX-License-Identifier: MIT */
/*
 * Request: what the options of `belljar run` ask for, and the launch that comes of it. The one table of these options
 * is here.
 */
#pragma once

#include "core/model/model.h"
#include "tui/options.h"

/* Strings are borrowed from argv. */
struct request {
	struct look look;
	const char *preset, *language, *code, *stdin_path, *output, *project, *record, *events;
	uint64_t limit[LIMIT_MAX];
	bool limited[LIMIT_MAX]; /* the limit was given here, and goes before the preset's */
	char **inputs, **env, **pass;
	bool json, quiet, verbose, no_record, best_effort, tty, canary, help, help_man;
	const char *file; /* FILE, "-", or NULL */
	char **argv;      /* what follows "--", or NULL */
};

extern const struct option_row request_options[];

/*
 * request_parse: reads the words of `belljar run …`, and refuses what contradicts itself. `q` is a zeroed struct with
 * its look set. With --help or --help-man nothing else is checked.
 * Returns: 0, or -EINVAL with the option's name. request_done may follow in either case.
 */
int request_parse(struct request *q, int argc, char **argv, struct err *e);
void request_done(struct request *q);
/* request_wants_json: whether --json stands among words that were not reached, because one before them was wrong: who
 * asks for an object gets one. */
bool request_wants_json(int argc, char **argv);

/*
 * request_launch: loads preset and code, finds the language, checks every path. Nothing is created but a missing
 * --output folder. `ret_notes` gets what was changed or looks suspicious in the code, a strv. Gives both.
 * The launch's stdin_fd is ours, or opened here: the caller closes it unless it is STDIN_FILENO.
 */
int request_launch(const struct request *q, struct launch **ret, char ***ret_notes, struct err *e);
