/* SPDX-License-Identifier: MIT */
/*
 * A program of belljar's own that works while the screens go on, and what it printed when it has ended.
 */
#pragma once

#include <stddef.h>

struct app;
struct err;
struct spawned;

/* spawned_start: `belljar WORDS…`, its output kept to 64 KiB. `done` gets it, and the exit status or -1; the spawned one
 * is gone then. Gives: *ret, ended by spawned_free when it is not waited for. */
int spawned_start(struct app *app, const char *const *words,
		  void (*done)(struct app *app, const char *output, size_t len, int status),
		  struct spawned **ret, struct err *e);
struct spawned *spawned_free(struct spawned *s); /* ends it. Accepts NULL, returns NULL */
