/* SPDX-License-Identifier: MIT */
/*
 * What the supervisor inside a microVM is told, twice: its policy, long before there is anything to run; and then what to
 * run. Each travels as VERB_LAUNCH frames, since code may be longer than a frame. The guest trusts its host, yet a message
 * that does not fit is refused.
 */
#pragma once

/* clang-format off */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct launch;
struct policy;

/* What waits in the guest, confined, until there is something to run. */
enum waiting {
	WAITING_PROGRAM, /* executes whatever it is told */
	WAITING_PYTHON,  /* an interpreter that has started and imported already */
	WAITING_TERMINAL, /* as the first, with a terminal */
	WAITING_MAX,
};
const char *waiting_name(enum waiting w);

/* How the mechanism of a limit begins that stands in the guest. */
#define INSIDE_MECHANISM "in the guest: "

struct inside_setup {
	struct policy *policy; /* for the level inside; owned once unpacked */
	enum waiting waiting;
};

struct inside_input {
	char *from; /* below the data image: "0" */
	char *dest; /* "/data" */
	bool folder;
};
#define INSIDE_SEED 32
struct inside_go {
	char *run_id;
	uint64_t realtime_ns;        /* now, since 1970 */
	uint8_t seed[INSIDE_SEED];
	char **argv, **env;
	char *code_path, *code;      /* NULL: there is none */
	size_t code_len;
	char *canary;                /* the planted word of this run; NULL: none */
	struct inside_input *inputs;
	size_t input_count;
	bool warm;                   /* a first run of ours, in a machine that is kept ready: nothing of it is told */
	bool project, output;        /* the data image has /project; what is in /out is to come back */
	bool input;                  /* something comes on the data port; else the target's input is empty */
	bool answers;
	uint16_t rows, columns;
};

/* policy_copy: a policy of its own, that is in no file; and all of it as bytes, the same for policies that are. Gives both. */
struct policy *policy_copy(const struct policy *p, struct buf *ret_bytes);

/* Appends the frames, as wire_stream_put does. */
void inside_setup_pack(const struct inside_setup *s, struct buf *out);
void inside_go_pack(const struct inside_go *g, struct buf *out);

/* pack_take: the bytes of one VERB_LAUNCH. 0: more have to come, 1: all of it is there, in `whole`; -EPROTO. */
int pack_take(struct buf *whole, const char *bytes, size_t len, struct err *e);
/* Gives: *ret, ended by the function of its name. */
int inside_setup_unpack(const struct buf *whole, struct inside_setup *ret, struct err *e);
int inside_go_unpack(const struct buf *whole, struct inside_go *ret, struct err *e);
void inside_setup_done(struct inside_setup *s);
void inside_go_done(struct inside_go *g);

#define INSIDE_ENDED   0x41 /* the target is no more; what it left is being collected. Such a frame holds nothing */
/* How much the guest has put into its ports, told before the exit event: what has not come by then is on its way. */
#define INSIDE_STREAMS 0x40 /* type of its frame, which is no event's and no verb's */
struct inside_streams { uint64_t bytes[3]; }; /* stdout, stderr, data */
size_t inside_streams_encode(const struct inside_streams *s, void *space, size_t size);
int inside_streams_decode(const void *frame, size_t len, struct inside_streams *ret, struct err *e);
