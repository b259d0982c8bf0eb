/* SPDX-License-Identifier: MIT */
/*
 * What the files of plain mode share.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/base/util.h"
#include "tui/screen/plain.h"
#include "tui/screen/watch.h"

struct line;

struct plain {
	struct line *line; /* NULL: commands come from a file or a pipe */
	int fd;            /* of the commands */
	bool own_fd, watched, ready, eof;
	struct buf in;    /* read, not yet taken */
	struct buf out;   /* scrubbed, not yet written */
	struct buf rest;  /* of a long telling */
	bool prompting;   /* a prompt stands on the terminal's last line */
	bool interrupted; /* whoever reads is to look again at what is to be done */
	bool said;        /* the last command had an answer */
	bool refused;     /* some command was answered by a warning */
	int failed;       /* a -errno of writing */
	char awaited[200];
	int guard_fd;

	/* Of the run, what was printed already. */
	bool lives, paused, warned[METER_MAX];
	uint64_t lines;
};

/* plain.c, for the opening */
void plain_readable(void *arg, uint32_t epoll_events);
int plain_prompt(struct app *app, struct err *e);
void plain_flush(struct app *app);
void plain_leave_prompt(
	struct app *app); /* what follows begins a line of its own, and no prompt comes back */

/* plain_run_state: "RUN paused", "RUN ended", where that is news. */
void plain_run_state(struct app *app);
void plain_greet(struct app *app);
/* plain_status: what the second row of the screens says. Appended. */
void plain_status(struct app *app, struct buf *out);
