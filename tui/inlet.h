/* SPDX-License-Identifier: MIT */
/*
 * Inlet: our standard input on its way to the target. The descriptor itself is not for a target: a terminal's can be
 * written to (past the scrubber), and that of any file or pipe can be opened once more, for writing, through
 * /proc/self/fd: the shell that reads the same pipe after us would run the lines that a target adds to it. So the target
 * gets the reading end of a pipe of our own, and what we read is copied into it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;
struct loop;

#define INLET_ESCAPE '\x1d' /* ^], as telnet(1) has it */

struct inlet {
	int from, to; /* `to` is -1 when nothing is copied, or not any more */
	/* From a raw terminal: the key that is for us and goes no further, and what it does. NULL: there is none. */
	void (*escape)(void *arg);
	void *arg;
	struct {
		struct loop *loop;
		char *data;
		size_t have, sent, copied;
		int back_fd, timer;
		bool pollable, terminal, from_watched, to_watched;
	} in; /* private */
};

/*
 * inlet_open: Borrows `from` and the loop. *ret_stdin_fd is the reading end of a new pipe. Gives: the caller closes it,
 * once the run has started. from -1: nothing is done, *ret_stdin_fd is -1.
 */
int inlet_open(struct inlet *i, int from, struct loop *loop, int *ret_stdin_fd, struct err *e);
void inlet_start(struct inlet *i); /* copying begins */
/* inlet_close: what was read from a file but not by the target is given back: the next reader of the same descriptor
 * goes on where the target stopped. Of a pipe it is gone: what was taken out of one cannot be put back. Accepts one that
 * is zeroed. */
void inlet_close(struct inlet *i);
