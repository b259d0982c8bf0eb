/* SPDX-License-Identifier: MIT */
/*
 * How long a start takes: the same small program through several launchers, side by side. Each round runs every one of
 * them once in a fresh random order, so that what disturbs the machine disturbs all of them alike.
 */
#pragma once

/* clang-format off */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

#define BENCH_PROGRAM    "print(1)" /* Python; it must print just "1" and end well, or the run counts as failed */
#define BENCH_ROUNDS_MAX 1000

/* The figures of some measurements; all but the count are UNKNOWN_F64 where there is none. */
struct figures {
	size_t count;
	double median; /* of an even number: the middle between the two in the middle */
	double p95;    /* by nearest rank: the smallest that at least 95 of 100 do not exceed */
	double longest;
};
void figures_of(double *values, size_t count, struct figures *ret); /* sorts the values */
void bench_shuffle(size_t *order, size_t count);                    /* each order as likely as any other */

/* Everything is borrowed for the call. */
struct bench_launcher {
	const char *name;
	const char *preset;  /* NULL: none, this is the bare one */
	const char *program; /* what is executed */
	char *const *argv;   /* without its last word, which is the code */
	char *const *env;
	const char *folder;  /* where it starts; NULL: here */
	const char *leaves;  /* a file that each run makes, removed after it; NULL: none */
};

struct bench_row {
	const struct bench_launcher *launcher; /* Borrowed */
	struct figures whole, first_byte;      /* ms from fork: until it was waited for; until it printed */
	uint64_t memory_bytes;                 /* of all that stands beside the program; UNKNOWN_U64 */
	char memory_source[160];
	bool started;                          /* the run before the first round ended well: else no round was made */
	size_t failed;
	char reason[320];                      /* of the first that failed; foreign bytes may stand in it; "" */
};

struct bench_want {
	const struct bench_launcher *launchers; /* the bare one first */
	size_t count, rounds;
	const char *interpreter; /* a process whose file begins so ("python") is the program, any other the launcher's */
	bool (*go_on)(void *arg, size_t done, size_t all); /* before each run; false ends it: -ECANCELED */
	void *arg;
};

/*
 * bench_run: first a run of each that is not timed, in which the program waits after it has printed: it warms caches, and
 * meanwhile the memory of the launcher's processes is summed up. Then the rounds. Children end with this process.
 * Returns: 0 also where runs failed: the rows say so. `rows` is as long as the list of launchers.
 */
int bench_run(const struct bench_want *want, struct bench_row *rows, struct err *e);
/* bench_times: how often the bare one's median goes into this row's; UNKNOWN_F64. bench_all_well: no row has a failure. */
double bench_times(const struct bench_row *row, const struct bench_row *bare);
bool bench_all_well(const struct bench_row *rows, size_t count);
/* bench_json: {"host":…,"runs":…,"program":…,"recorded":…,"rows":[…]} and a newline, appended. */
void bench_json(const struct bench_want *want, const struct bench_row *rows, bool recorded, struct buf *out);
