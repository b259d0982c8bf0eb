/* SPDX-License-Identifier: MIT */
/*
 * Private to core/suite: one try of an attack, without a sandbox or at a level, and what it came to.
 */
#pragma once

/* clang-format off */

#include "core/base/base.h"
#include "core/suite/suite.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TOKEN_SIZE 65 /* a digest in hexadecimal, or a secret, and its NUL */

/* ---- witness.c: what an attack says of itself ---- */

/* The lines of its standard output, bounded whatever it prints. */
struct hearing {
	const char *name;       /* Borrowed: of the attack */
	char token[TOKEN_SIZE]; /* what only success can print */
	char line[160];
	size_t len, lines;      /* of the line in hand; lines before it */
	bool started, witness;
};
void hearing_take(struct hearing *h, const char *bytes, size_t len);
void random_hex(char ret[33]);

/* ---- fixture.c: what lies there for an attack to reach ---- */

struct planted {
	enum fixture kind;
	char id[27];     /* of its place on this host; "": none */
	int lock_fd;
	char secret[33];
	char *path;      /* credentials */
	int listen_fd;   /* service; -1 */
	uint16_t port;
	unsigned came;   /* how many were served */
};
int planted_make(enum fixture kind, uid_t owner, struct planted *ret, struct err *e);
void planted_serve(struct planted *p);  /* when listen_fd is readable */
char **planted_env(const struct planted *p, char **env);
/* planted_touched: whether an event is about this very thing. Borrows both. */
bool planted_touched(const struct planted *p, const struct event *ev);
void planted_remove(struct planted *p); /* accepts a zeroed one */

/* ---- verdict.c: facts of one try -> a cell ---- */

struct cell_facts {
	const struct attack *attack;
	bool control_worked, started, witness;
	bool own_kernel;      /* the level's */
	bool host_reached;    /* the service was called, or the witness is a secret that lies on the host only */
	const char *control_text;
	bool known;           /* something says what stopped it: */
	enum layer layer;
	char evidence[200];
	enum verdict verdict; /* how the run ended */
	char ended[200], error[200];
	double wall_s;
	char recording[256];
	struct { enum layer layer; uint64_t asked; } limit[LIMIT_MAX]; /* as the start event tells them */
	char own_network[120]; /* how the run has a network of its own; "": it has none */
};
void facts_take(struct cell_facts *f, const struct planted *p, const struct event *ev);
void facts_judge(const struct cell_facts *f, struct cell *ret);

/* ---- attempt.c ---- */

struct attempt {
	const struct attack *attack;
	uid_t owner;         /* on this host, of the target and of what is planted for it */
	struct launch *launch;
	struct planted planted;
	struct hearing hearing;
};
/* attempt_make: takes the policy, also on failure. attempt_done: accepts a zeroed one. */
int attempt_make(const struct attack *attack, struct policy *policy, struct attempt *ret, struct err *e);
void attempt_done(struct attempt *a);

/* ---- control.c: without a sandbox ---- */

/* control_run: worked or not, and in words why not. `reader_fd` ends it when its other side is gone. */
bool control_run(struct attempt *a, int reader_fd, char *ret_text, size_t size);

/* ---- conductor.c: all of a suite, in a process of its own ---- */

/* `asked`: each of the presets was asked for by name. */
struct conducted {
	const struct manifest *manifest;
	const char *const *presets;
	bool asked;
};
_Noreturn void conductor_main(const struct conducted *what, int reader_fd);
