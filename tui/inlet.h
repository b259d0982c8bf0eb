/* SPDX-License-Identifier: MIT */
/*
 * Inlet: our standard input on its way to the target. The descriptor itself is not for a target: a terminal's can be
 * written to (past the scrubber), and any file's can be opened once more, for writing, through /proc/self/fd. So the
 * target gets a pipe, and what we read is copied into it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;
struct loop;

struct inlet {
	int from, to; /* `to` is -1 when nothing is copied, or not any more */
	struct { struct loop *loop; char *data; size_t have, sent; int back_fd, timer;
		 bool pollable, terminal, from_watched, to_watched; } in; /* private */
};

/*
 * inlet_open: Borrows `from` and the loop. *ret_stdin_fd is what the target is given: `from` itself where that is a pipe
 * for reading, which holds no such danger, and which would otherwise be read further than the target reads; else the
 * reading end of a new pipe. Gives: the caller closes it, once the run has started, if it is not `from`.
 * from -1: nothing is done, *ret_stdin_fd is -1.
 */
int inlet_open(struct inlet *i, int from, struct loop *loop, int *ret_stdin_fd, struct err *e);
void inlet_start(struct inlet *i); /* copying begins */
/* inlet_close: what was read from a file but not by the target is given back: the next reader of the same descriptor
 * goes on where the target stopped. Accepts one that is zeroed. */
void inlet_close(struct inlet *i);
