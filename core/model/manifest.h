/* SPDX-License-Identifier: MIT */
/*
 * Manifest: a suite of attacks as an INI file; each section but [suite] is an attack, its program a file beside it. Read
 * as strictly as a preset: what is not known is an error with file and line.
 */
#pragma once

/* clang-format off */

#include "core/model/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define SUITE_ATTACKS_MAX 64

/*
 * What a cell, an attack at one level, came to.
 * stopped:      the attack began, and a kernel fact or an answer of ours says what ended or refused it; no witness.
 * succeeded:    the witness is there.
 * contained:    the witness is there, but it holds only within a kernel that is not the host's, and nothing of the host's
 *               was reached.
 * not-run:      the attack did not begin: no start marker.
 * inconclusive: the control failed, or it began, came to nothing, and nothing says why.
 */
enum cell_verdict { CELL_STOPPED, CELL_SUCCEEDED, CELL_CONTAINED, CELL_NOT_RUN, CELL_INCONCLUSIVE, CELL_VERDICT_MAX };
const char *cell_verdict_name(enum cell_verdict v); /* "" for CELL_VERDICT_MAX */

/* What the harness puts there for an attack to reach, with a secret made for each try. */
enum fixture { FIXTURE_NONE, FIXTURE_CREDENTIALS /* a file of the target's own user */, FIXTURE_SERVICE /* on loopback */,
	       FIXTURE_MAX };

/* A fact that counts as stopping an attack: a limit that was met, or what became of its reach for the fixture. */
enum stopper { STOPPER_FILE = LIMIT_MAX, STOPPER_NETWORK, STOPPER_MAX };
const char *stopper_name(int s); /* "memory", …, "file", "network" */

/* One attack at one level, as the table of levels expects it. */
struct expectation {
	char *level; /* "namespaces" */
	enum cell_verdict verdict;
};

struct attack {
	char *name, *title, *summary; /* "fork-flood", "Fork flood of 200", what it tries in a sentence */
	char *program;                /* absolute, unless the manifest's own path was not */
	char *language;
	enum fixture fixture;
	char *proof;                  /* without a fixture: what the witness is a digest of, besides the nonce: "200" */
	bool stopped_by[STOPPER_MAX];
	bool limited[LIMIT_MAX];      /* limits that the attack brings along, never looser than the preset's own */
	uint64_t limit[LIMIT_MAX];
	uint64_t control_ns;          /* bound on the control's time */
	uint64_t control_memory;      /* bytes that must be free for the control to be fair; 0: nothing */
	char *why_stopped, *why_not;  /* plain words for a person who has never read a man page */
	struct expectation *expect;
	size_t expect_count;
};
struct manifest {
	char *name, *summary, *file;
	struct attack *attacks;
	size_t attack_count;
};

/* manifest_load: NULL: the standard suite, examples/attacks/suite.ini. -EINVAL with the faults, a line each, as many as
 * find room. Gives: *ret. */
int manifest_load(const char *file, struct manifest **ret, struct err *e);
/* manifest_parse: `file` is what faults call the text, and its folder is where programs are looked for. */
int manifest_parse(const char *file, const char *text, size_t len, struct manifest **ret, struct err *e);
struct manifest *manifest_free(struct manifest *m); /* accepts NULL, returns NULL */
/* manifest_only: leaves the attacks of these names, in the manifest's order. -ENOENT with the nearest name. */
int manifest_only(struct manifest *m, const char *const *names, struct err *e);
/* manifest_expects: CELL_VERDICT_MAX where nothing is expected of that level. */
enum cell_verdict manifest_expects(const struct attack *a, const char *level);
