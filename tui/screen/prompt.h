/* SPDX-License-Identifier: MIT */
/*
 * The line at the bottom in which a person types: a command, a text to find, a filter; and the question
 * before a running run is given up. Emacs keys, history, completion.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app;
struct pane;

enum prompt_kind { PROMPT_NONE, PROMPT_COMMAND, PROMPT_FIND, PROMPT_FILTER, PROMPT_QUIT, PROMPT_KINDS };

#define PROMPT_MAX  400
#define HISTORY_MAX 32

struct prompt {
	enum prompt_kind kind; /* NONE: closed */
	char text[PROMPT_MAX];
	size_t len, cursor; /* bytes; the cursor stands between characters */
	char *history[PROMPT_KINDS][HISTORY_MAX];
	int history_count[PROMPT_KINDS], recalled;
	char killed[PROMPT_MAX];
};

void prompt_open(struct app *app, enum prompt_kind kind, const char *text);
void prompt_key(struct app *app, uint32_t key);
void prompt_paste(struct app *app, const char *text, size_t len); /* its first line */
/* prompt_complete: what may stand at the end of the command line `typed`; *ret_add is what all of that adds to it. Gives
 * both, the first as a strv. */
char **prompt_complete(struct app *app, const char *typed, char **ret_add);
void prompt_draw(struct app *app, const struct pane *row);
void prompt_done(struct prompt *p);
