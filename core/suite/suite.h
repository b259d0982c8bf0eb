/* SPDX-License-Identifier: MIT */
/*
 * The door of core/suite: programs that try to do harm, run at several levels, with a control run of each outside of any
 * sandbox. "Stopped" means: works without, fails with. A replay goes on in a process of its own, so that whoever shows
 * it reads messages as it reads a run's events; when the reader goes away everything ends and is cleaned up.
 */
#pragma once

/* clang-format off */

#include "core/model/model.h"
#include "core/suite/bench.h"
#include "core/suite/compare.h"

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct replay;

/*
 * What a cell came to.
 * stopped:      the attack began, and a kernel fact or an answer of ours says what ended or refused it; no witness.
 * succeeded:    the witness is there.
 * contained:    the witness is there, but it holds only within a kernel that is not the host's, and the host was
 *               looked at and is unchanged.
 * not-run:      the attack did not begin: no start marker.
 * inconclusive: the control failed, or it began, came to nothing, and nothing says why.
 */
enum cell_verdict { CELL_STOPPED, CELL_SUCCEEDED, CELL_CONTAINED, CELL_NOT_RUN, CELL_INCONCLUSIVE, CELL_VERDICT_MAX };
const char *cell_verdict_name(enum cell_verdict v);

#define SUITE_PRESETS_MAX 8
#define SUITE_ATTACKS_MAX 64

struct cell {
	size_t attack, preset;       /* which, in the replay's lists */
	enum cell_verdict verdict;
	enum cell_verdict expected;  /* CELL_VERDICT_MAX: the manifest expects nothing of this level */
	enum layer layer;            /* what stopped it; LAYER_NONE */
	char evidence[240];          /* "memory: limit 256 MiB, peak 256 MiB, oom_kill 1"; hostile bytes may stand in it */
	char reason[240];            /* the manifest's plain words on why this layer stops it, or does not */
	char recording[256];         /* of the run, absolute; "" where there is none */
	double wall_s;
};

struct replay_want {
	const char *manifest;        /* a file; NULL: the standard suite */
	const char *const *presets;  /* NULL-terminated */
	const char *const *only;     /* names of attacks; NULL: all */
};

enum replay_step {
	REPLAY_CONTROL,     /* the control of an attack begins */
	REPLAY_CONTROLLED,  /* ... and what it came to: `control_worked`, `text` */
	REPLAY_CELL,        /* a cell begins */
	REPLAY_CELL_DONE,   /* ... and what it came to: `cell` */
	REPLAY_DONE,        /* the last message */
	REPLAY_ERROR,       /* `text`; the last message */
};
struct replay_msg {
	enum replay_step step;
	size_t attack, preset;
	bool control_worked;
	char text[240];
	struct cell cell;
};

/* replay_start: checks manifest and presets first, so that a wrong name is told before anything runs. Gives: *ret. */
int replay_start(const struct replay_want *want, struct replay **ret, struct err *e);
const struct manifest *replay_manifest(const struct replay *r); /* Borrowed: the attacks that are replayed, in order */
const char *replay_preset(const struct replay *r, size_t n);    /* NULL behind the last */
int replay_fd(const struct replay *r);                          /* poll it for reading */
int replay_next(struct replay *r, struct replay_msg *ret);      /* 1; 0: none now; -EPIPE: after the last */
struct replay *replay_free(struct replay *r); /* ends what runs, waits for it, leaves nothing. Accepts NULL, returns NULL */

/* The whole of a replay, as its cells came: for tables and JSON. */
struct matrix {
	const struct manifest *manifest; /* Borrowed */
	char *presets[SUITE_PRESETS_MAX + 1];
	struct cell *cells;              /* attack-major; `done` says which are filled */
	bool *done;
};
void matrix_init(struct matrix *m, const struct replay *r);
void matrix_take(struct matrix *m, const struct replay_msg *msg);
struct cell *matrix_cell(const struct matrix *m, size_t attack, size_t preset); /* NULL: not yet */
bool matrix_as_expected(const struct matrix *m);                                /* each cell is there and as expected */
/* {"suite":…,"host":…,"cells":[{"attack":…,"preset":…,"verdict":…,"expected":…,"layer":…,"evidence":…}…]} */
void matrix_json(const struct matrix *m, struct buf *out);
void matrix_done(struct matrix *m);
