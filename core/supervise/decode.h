/* SPDX-License-Identifier: MIT */
/*
 * Private to core/supervise: a notification in words. Register values are certain; what they point at is read
 * from the target's memory, which it may change while we look, so it is for showing and never for deciding.
 * What cannot be read is "?", a null pointer "NULL": nothing is guessed. Bytes are as they came; whoever
 * shows them scrubs them.
 */
#pragma once

#include "core/model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DECODE_ARGS_MAX  8
#define DECODE_FLAGS_MAX 16
#define DECODE_ARGV_MAX  64 /* words of a command line; more are counted only by `cut` */
#define DECODE_ADDRS_MAX 8  /* of one sendmmsg(2) */
#define DECODE_SPACE     16384

struct decode_in {
	pid_t pid; /* as the notification has it: a thread, in our own pid namespace */
	int nr;
	uint32_t arch; /* AUDIT_ARCH_* */
	uint64_t arg[6];
};

/* A processor whose calls are known by their arguments too; of any other only the name is told. */
enum decode_machine { MACHINE_ANY, MACHINE_X86_64, MACHINE_ARM64 };
enum decode_kind { DECODE_OTHER, DECODE_NETWORK, DECODE_FILE, DECODE_EXEC };
struct decode_addr {
	const char *family;   /* "inet", "inet6", "unix", …; "?" unknown */
	const char *protocol; /* "tcp", "udp", "stream", …; NULL: not known */
	const char *address;  /* NULL: the call has none */
	int64_t port;         /* -1: none */
};
struct decoded {
	enum decode_kind kind;
	enum decode_machine machine;
	const char *name; /* of the call; "999" where it has none */
	const char *op;   /* network, file: what it does: "connect", "open"; else NULL */
	struct event_arg args[DECODE_ARGS_MAX];
	size_t arg_count;
	struct decode_addr addr[DECODE_ADDRS_MAX]; /* network: at least one, all but sendmmsg at most one */
	size_t addr_count;
	size_t addr_beyond;                  /* messages of the same call that are not looked at */
	const char *path;                    /* file, exec: made absolute, "?" where it cannot be read */
	const char *to;                      /* of rename and link, likewise; else NULL */
	const char *flags[DECODE_FLAGS_MAX]; /* file: "O_RDONLY", … */
	size_t flag_count;
	const char *argv[DECODE_ARGV_MAX]; /* exec */
	size_t argv_count;
	bool cut;    /* something was longer than what is kept of it */
	size_t used; /* private: of space */
	char space[DECODE_SPACE];
};

/* decode_call: never fails; fills all of *ret. Its strings may live in it: never copy it by value. */
void decode_call(const struct decode_in *in, struct decoded *ret);
