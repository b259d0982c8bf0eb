/* SPDX-License-Identifier: MIT */
/*
 * Private to attacks*.c: the matrix that the Attacks screen shows, and replaying parts of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/base/util.h"
#include "core/suite/suite.h"
#include "tui/screen/app.h"
#include "tui/screen/pick.h"
#include "tui/screen/reader.h"

struct spawned;

enum cell_state { CELL_NEVER, CELL_QUEUED, CELL_RUNNING, CELL_KNOWN };

struct attacks {
	struct manifest *manifest; /* NULL: it cannot be read, and why */
	char *fault;
	char **presets;
	bool chosen;        /* by a person: one that is not on this host is missed then */
	struct cell *cells; /* attack-major, all of them, whichever were replayed last */
	enum cell_state *states;
	struct pick pick; /* of attacks */
	size_t column;
	struct suite_run *run; /* NULL: nothing is replayed */
	size_t done, wanted;
	char progress[200];
	struct reader text; /* the evidence of the chosen cell, or the start costs */
	size_t told;        /* the cell that it is of, + 1; 0: to be told anew */
	bool full, costs;
	struct spawned *bench;
	struct buf bench_text;
};

/* attacks_state: made at the first call. attacks_done: the view's. */
struct attacks *attacks_state(struct app *app);
void attacks_done(struct app *app);
size_t attacks_cell(const struct attacks *s, size_t attack, size_t preset); /* its index */
void attacks_make_cells(struct attacks *s);                                 /* anew: nothing is known */
/* attacks_replay: `attack` and `preset` may be NULL: all of them. attacks_stop: what had not run is not known. */
void attacks_replay(struct app *app, const char *attack, const char *preset);
void attacks_stop(struct app *app);
