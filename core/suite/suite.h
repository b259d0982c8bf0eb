/* SPDX-License-Identifier: MIT */
/*
 * The door of core/suite: programs that try to do harm, run at several levels, with a control run of each outside of any
 * sandbox. "Stopped" means: works without, fails with. A suite is run by a process of its own, so that whoever shows it
 * reads messages as it reads a run's events; when the reader goes away everything ends and is cleaned up.
 */
#pragma once

/* clang-format off */

#include "core/model/manifest.h"
#include "core/model/model.h"
#include "core/suite/bench.h"
#include "core/suite/compare.h"

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct suite_run;

#define SUITE_PRESETS_MAX 8

struct cell {
	size_t attack, preset;       /* which, in the suite's lists */
	enum cell_verdict verdict;
	enum cell_verdict expected;  /* CELL_VERDICT_MAX: the manifest expects nothing of this level */
	enum layer layer;            /* what stopped it; LAYER_NONE */
	char evidence[280];          /* "memory: limit 256 MiB, peak 256 MiB, oom_kill 1"; hostile bytes may stand in it */
	char reason[240];            /* the manifest's plain words on why this is stopped, or is not; "" */
	char recording[256];         /* of the run, absolute; "" where there is none */
	double wall_s;               /* UNKNOWN_F64 where nothing ran */
};

struct suite_want {
	const char *manifest;        /* a file; NULL: the standard suite */
	/* NULL-terminated. NULL: each level that is installed and that the manifest speaks of; of one whose parts are not
	 * here nothing more is expected than that it did not run. */
	const char *const *presets;
	const char *const *only;     /* names of attacks; NULL: all */
};

enum suite_step {
	SUITE_CONTROL,     /* the control of an attack begins */
	SUITE_CONTROLLED,  /* ... and what it came to: `control_worked`, `text` */
	SUITE_CELL,        /* a cell begins */
	SUITE_WAITS,       /* ... and this takes a while before it starts: `text` */
	SUITE_CELL_DONE,   /* ... and what it came to: `cell` */
	SUITE_DONE,        /* the last message */
	SUITE_ERROR,       /* `text`; the last message */
};
struct suite_msg {
	enum suite_step step;
	size_t attack, preset;
	bool control_worked;
	char text[240];
	struct cell cell;
};

/* suite_start: checks manifest and presets first, so that a wrong name is told before anything runs. The caller is a
 * child subreaper (run_prepare_process). Gives: *ret. */
int suite_start(const struct suite_want *want, struct suite_run **ret, struct err *e);
const struct manifest *suite_manifest(const struct suite_run *s); /* Borrowed: the attacks that are run, in order */
const char *const *suite_presets(const struct suite_run *s);      /* Borrowed, NULL-terminated */
int suite_fd(const struct suite_run *s);                          /* poll it for reading */
int suite_next(struct suite_run *s, struct suite_msg *ret);       /* 1; 0: none now; -EPIPE: after the last */
struct suite_run *suite_free(struct suite_run *s); /* ends what runs, waits for it, leaves nothing. Accepts NULL, returns NULL */

/* The whole of a suite, as its cells came: for tables and JSON. */
struct matrix {
	const struct manifest *manifest;   /* Borrowed, as the presets */
	const char *const *presets;
	size_t preset_count;
	struct cell *cells;                /* attack-major; `done` says which are filled */
	bool *done;
};
void matrix_init(struct matrix *m, const struct manifest *manifest, const char *const *presets);
void matrix_take(struct matrix *m, const struct suite_msg *msg);
struct cell *matrix_cell(const struct matrix *m, size_t attack, size_t preset); /* NULL: not yet */
bool cell_as_expected(const struct cell *c);     /* false also where nothing is expected */
bool matrix_as_expected(const struct matrix *m); /* each cell is there and as expected */
size_t matrix_stopped(const struct matrix *m, size_t preset); /* how many attacks */
bool matrix_missing(const struct matrix *m, size_t preset); /* nothing was to run there: its parts are not on this host */
/* {"suite":…,"host":…,"cells":[{"attack":…,"preset":…,"verdict":…,"expected":…,"layer":…,"evidence":…}…]}. Appended. */
void matrix_json(const struct matrix *m, struct buf *out);
void matrix_done(struct matrix *m);
