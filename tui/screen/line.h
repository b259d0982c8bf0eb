/* SPDX-License-Identifier: MIT */
/*
 * A line typed at a prompt, with history and completion, for plain mode. The only file that knows libedit is line.c. It
 * is told that the terminal is dumb: what it sends is text, backspaces and carriage returns, never a sequence.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;
struct line;

enum line_end {
	LINE_DONE,     /* a line */
	LINE_EOF,      /* ^D where nothing was typed */
	LINE_GIVEN_UP, /* wait() said so */
	LINE_GONE,     /* the terminal is gone */
};

struct line_options {
	int fd; /* the terminal; Borrows */
	const char *prompt;
	void *arg; /* of the callbacks */
	/* wait: until there is something to read. False: give up this line. */
	bool (*wait)(void *arg);
	/* complete: what may stand at the end of `typed`. Gives both: a strv, and what all of them would add. */
	char **(*complete)(void *arg, const char *typed, char **ret_add);
};

struct line *line_new(const struct line_options *o, struct err *e);
struct line *line_free(struct line *l); /* accepts NULL, returns NULL; the terminal is as it was */

/* line_read: *ret is the line without its newline. Gives, with LINE_DONE alone. */
enum line_end line_read(struct line *l, char **ret);

/* For use by wait(): line_again shows prompt and line anew, below what was printed meanwhile; line_leave gives the
 * terminal its own modes back, until the next line_read. */
void line_again(struct line *l);
void line_leave(struct line *l);
