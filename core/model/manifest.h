/* SPDX-License-Identifier: MIT */
/*
 * Manifest: a suite of attacks as an INI file; each attack a section, its program a file beside it. Read as strictly as
 * a preset: what is not known is an error with file and line.
 */
#pragma once

/* clang-format off */

#include "core/model/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* What the harness puts there for an attack to reach, with a secret made for this replay. */
enum fixture { FIXTURE_NONE, FIXTURE_CREDENTIALS /* a file of the target's own user */, FIXTURE_SERVICE /* on loopback */ };

/* One attack at one level, as the table of levels expects it. */
struct expectation { char *level, *verdict; }; /* "namespaces", "stopped" */

struct attack {
	char *name, *title, *summary; /* "fork-flood", "Fork flood of 200", what it tries in a sentence */
	char *file;                   /* absolute */
	char *language;
	enum fixture fixture;
	char *stopped_by;             /* the fact that counts as stopping it: a limit's name ("memory"), "file", "network" */
	bool limited[LIMIT_MAX];      /* limits that the attack brings along, never looser than the preset's own */
	uint64_t limit[LIMIT_MAX];
	uint64_t control_ns;          /* bound on the control's time */
	uint64_t control_memory;      /* what must be free for the control to be fair; 0: nothing */
	char *why_stopped, *why_not;  /* plain words for a person who has never read a man page */
	struct expectation *expect;
	size_t expect_count;
};
struct manifest {
	char *name, *summary, *file;
	struct attack *attacks;
	size_t attack_count;
};

/* manifest_load: NULL: the standard suite, examples/attacks/suite.ini. -EINVAL with every fault, a line each. Gives: *ret. */
int manifest_load(const char *file, struct manifest **ret, struct err *e);
struct manifest *manifest_free(struct manifest *m); /* accepts NULL, returns NULL */
/* manifest_expects: the verdict's name, or NULL where nothing is expected of that level. */
const char *manifest_expects(const struct attack *a, const char *level);
