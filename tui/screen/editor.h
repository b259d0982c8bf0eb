/* SPDX-License-Identifier: MIT */
/*
 * The person's own editor, which has the terminal until it ends.
 */
#pragma once

struct app;
struct err;

/* editor_run: $VISUAL, $EDITOR or vi on a file. Refused while a run lives: its output would have nowhere to go. 0, or
 * -errno with what stood in the way. */
int editor_run(struct app *app, const char *path, struct err *e);
