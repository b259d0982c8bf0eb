/* SPDX-License-Identifier: MIT */
/*
 * Plain mode: the same program, commands and events without a screen, as lines that are only ever appended; fit for a
 * screen reader, a serial line, a script. Nothing it prints moves the cursor or has a colour.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tui/screen/prompt.h"

struct app;
struct app_options;
struct buf;
struct err;
struct event;
struct plain;

/* plain_open: from where commands come: a script, standard input, or the terminal where that brings the code. */
int plain_open(struct app *app, const struct app_options *o, struct err *e);
/* plain_session: until it ends. Negative: what was printed could not be. */
int plain_session(struct app *app, struct err *e);
void plain_close(struct app *app);

void plain_event(struct app *app, const struct event *ev); /* after app->watch has it */
void plain_say(struct app *app, bool warning);             /* what app->said holds */
/* plain_put: lines, scrubbed here once more; plain_tell: what the front view has to tell. */
void plain_put(struct app *app, const struct buf *text);
void plain_tell(struct app *app);
void plain_put_staged(struct app *app); /* what is staged, and what is to be known of it */
void plain_more(struct app *app);       /* what was kept back of a long telling */
void plain_find(struct app *app, const char *text);
void plain_help(struct app *app);
void plain_suspend(struct app *app);
bool plain_has_terminal(const struct app *app);

/* plain_drawn: whether a command is about a picture, and so has no meaning here. The list ends with NULL. */
bool plain_drawn(const char *command);
extern const char *const plain_drawn_names[];
