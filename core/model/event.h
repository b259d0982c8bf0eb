/* SPDX-License-Identifier: MIT */
/*
 * Events: one thing that happened, with a time. The only way in which anything a run does reaches a person, a file
 * or a program. One table in event.c describes each type's fields; the frames on the wire, JSON both ways and the
 * documentation come from it.
 */
#pragma once

/* clang-format off */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct buf;

enum event_type {
	EVENT_START, EVENT_OUTPUT, EVENT_DENIED, EVENT_NETWORK, EVENT_FILE, EVENT_EXEC, EVENT_METER, EVENT_LIMIT,
	EVENT_TERMINAL, EVENT_ALERT, EVENT_ASK, EVENT_ANSWER, EVENT_DROPPED, EVENT_CHANGED, EVENT_ERROR, EVENT_PROGRESS, EVENT_EXIT,
	EVENT_UNKNOWN, /* only from a recording: kept and shown, never made here */
	EVENT_TYPE_MAX,
};
enum event_source { SOURCE_HOST, SOURCE_GUEST };
enum outcome { OUTCOME_NONE, OUTCOME_ALLOWED, OUTCOME_REFUSED, OUTCOME_UNREACHABLE, OUTCOME_HIDDEN, OUTCOME_READ_ONLY,
	       OUTCOME_ABSENT, OUTCOME_OPENED, OUTCOME_FAILED, OUTCOME_REMOVED, OUTCOME_UNKNOWN, OUTCOME_MAX };
enum layer { LAYER_NONE, LAYER_SECCOMP, LAYER_LANDLOCK, LAYER_MOUNT_NS, LAYER_NET_NS, LAYER_PID_NS, LAYER_USER_NS,
	     LAYER_CAPABILITY, LAYER_CGROUP, LAYER_RLIMIT, LAYER_SUPERVISOR, LAYER_RUNTIME, LAYER_VM, LAYER_MAX };
enum basis { BASIS_NONE, BASIS_ANSWERED, BASIS_COUNTER, BASIS_SAMPLED, BASIS_PREDICTED, BASIS_UNKNOWN, BASIS_MAX };
enum verdict { VERDICT_NONE, VERDICT_OK, VERDICT_FAILED, VERDICT_SIGNALLED, VERDICT_WALL_TIME, VERDICT_CPU_TIME,
	       VERDICT_MEMORY, VERDICT_PROCESSES, VERDICT_WRITE_SPACE, VERDICT_OUTPUT, VERDICT_POLICY, VERDICT_CANCELLED,
	       VERDICT_LOST, VERDICT_SETUP_ERROR, VERDICT_MAX };
enum grade { GRADE_NONE, GRADE_SAMPLED, GRADE_SUPERVISOR, GRADE_KERNEL, GRADE_MAX }; /* weakest first */
enum stream { STREAM_STDOUT, STREAM_STDERR, STREAM_MAX };
enum layer_state { STATE_OFF, STATE_ON, STATE_PARTIAL, STATE_UNAVAILABLE, STATE_MAX };

const char *event_type_name(enum event_type t); /* and for each enum its word; "" for the _NONE ones */
const char *outcome_name(enum outcome o);
const char *layer_name(enum layer l);
const char *basis_name(enum basis b);
const char *verdict_name(enum verdict v);
const char *grade_name(enum grade g);
const char *stream_name(enum stream s);
const char *layer_state_name(enum layer_state s);

#define UNKNOWN_U64 UINT64_MAX /* null in JSON, "?" on a screen, never 0 */
#define UNKNOWN_F64 (-1.0)

struct event_arg { /* one decoded argument of a call: a number or a word */
	const char *key;
	const char *text;  /* NULL: it is a number */
	int64_t number;
};
struct event_limit { /* a limit as asked and as the kernel says that it holds */
	const char *name;
	uint64_t asked, enforced; /* UNLIMITED and UNKNOWN_U64 are both null in JSON; grade tells them apart */
	enum grade grade;
	const char *mechanism;
};
struct event_layer { /* one part of the boundary, and how that it stands was verified */
	const char *name;
	enum layer_state state;
	const char *detail, *verified;
};
struct event_pair { const char *key, *value; };

/*
 * Strings and lists are borrowed by whoever encodes, and owned by the event where it was decoded (event_free). Bytes
 * from a target are as they came: a reader scrubs before it shows them.
 */
struct event {
	uint64_t seq;  /* from 1, without gaps */
	uint64_t t_ns; /* since the start; of what goes before it: since the run was asked for */
	enum event_type type;
	enum event_source source;
	enum outcome outcome;
	enum layer layer;
	enum basis basis;
	const char *extra; /* from a recording of another version: the keys we do not know, as a JSON object; else NULL */
	union {
		struct {
			const char *const *argv; size_t argv_count;
			const char *preset, *backend, *language, *title, *recording;
			const struct event_limit *limits; size_t limit_count;
			const struct event_layer *layers; size_t layer_count;
			const struct event_pair *lists; size_t list_count; /* see list_kinds */
		} start;
		struct { enum stream stream; const char *bytes; size_t len; } output;
		struct {
			int64_t pid; const char *command, *call;
			const struct event_arg *args; size_t arg_count;
			const char *error, *rule; /* error: "EPERM" */
			uint64_t count;           /* how many like this since the last told one, this one included */
		} denied;
		struct {
			int64_t pid; const char *command, *op, *family, *protocol, *address;
			int64_t port; /* -1: none */
			uint64_t count;
		} network;
		struct {
			int64_t pid; const char *command, *op, *path;
			const char *const *flags; size_t flag_count;
			uint64_t count;
		} file;
		struct {
			int64_t pid, parent; const char *path;
			const char *const *argv; size_t argv_count;
		} exec;
		struct {
			uint64_t cpu_ns; double cpu_pct;
			uint64_t host_cpu_ns, host_memory; /* of the machine that it runs in, as the host sees it; UNKNOWN: no such */
			uint64_t memory, memory_peak, processes, processes_peak, written, write_rate, space, inodes;
			const struct event_pair *sources; size_t source_count;
		} meter;
		struct { const char *name; uint64_t value; const char *evidence; } limit;
		struct { const char *kind; uint64_t bytes; } terminal;
		struct { const char *kind, *detail; } alert;
		struct {
			uint64_t id; /* what an answer names */
			int64_t pid; const char *command, *call;
			const struct event_arg *args; size_t arg_count;
			const char *rule;
			double deadline_s;                                   /* then it is refused */
			const char *const *answers; size_t answer_count; /* what may be said: "deny", "once", "run" */
		} ask;
		struct {
			uint64_t id; /* of the question; 0: none was put */
			const char *decision, *by;
			uint64_t count; /* how many calls it decided */
		} answer;
		struct { const char *what; uint64_t count; const char *why; } dropped;
		struct { const char *op, *path; uint64_t bytes; } changed; /* --project: op is added, changed, removed */
		struct { const char *text, *remedy; } error;
		struct { const char *text; } progress; /* before the start: what takes a while */
		struct {
			enum verdict verdict;
			int64_t status;       /* of the target, or -1 */
			const char *signal;   /* "SIGKILL", or NULL */
			const char *evidence;
			double wall_s, cpu_s;
			uint64_t memory_peak, processes_peak, written, space_peak;
			uint64_t stdout_dropped, stderr_dropped;
			uint64_t processes_left;
			double quiet_after_s;
			const char *const *limits_met; size_t limits_met_count;
		} exit;
		struct { const char *type, *json; } unknown;
	};
};

/* event_free: of a decoded event only. Accepts NULL, returns NULL. */
struct event *event_free(struct event *ev);

/* The wire. encode: length of the frame or -EMSGSIZE; decode: 0 or -EPROTO. Gives: *ret. */
ssize_t event_encode(const struct event *ev, void *space, size_t size);
int event_decode(const void *frame, size_t len, struct event **ret, struct err *e);

/* JSON. One line without newline is appended. Reading takes any key order, keeps unknown types, and refuses what is
 * not an event with -EINVAL. Gives: *ret. */
void event_to_json(const struct event *ev, struct buf *out);
int event_from_json(const char *line, size_t len, struct event **ret, struct err *e);

/* json_text: a JSON string, or {"base64":"…"} where the bytes are not UTF-8. Appended. */
void json_text(const char *bytes, size_t len, struct buf *out);

/* event_line: one scrubbed line for a person:
 * "00:06.1 DENIED python3[4] ptrace(PTRACE_ATTACH, pid=1)  refused      EPERM, rule default:debug: the system-call filter".
 * event_words: the same without the time. For the plain timeline, the ticker and the Events list. Of an output event,
 * the first line. No newline; appended. */
void event_line(const struct event *ev, bool ascii, struct buf *out);
void event_words(const struct event *ev, bool ascii, struct buf *out);

/* event_what: what happened: "ptrace(PTRACE_ATTACH, 1)", "connect 10.0.0.1:80". Events that are alike have the same,
 * whoever did it and whatever came of it. Raw, bounded: a reader scrubs it. Appended. */
void event_what(const struct event *ev, struct buf *out);
/* The lists that readers make of a run's events. The start event says of each LIST_WATCHED or why not: only where it is
 * watched does an empty one mean that there was nothing. */
enum run_list { LIST_DENIED, LIST_NETWORK, LIST_FILES, LIST_EXEC, LIST_MAX };
extern const struct list_kind {
	const char *name;
	enum event_type type;
} list_kinds[LIST_MAX];
#define LIST_WATCHED "watched"
/* list_of: the list that an event belongs to, or that a `dropped` one was dropped from; -1: none.
 * list_state: what a start event says of it; NULL: nothing. Borrows from the event.
 * list_empty_words: "files: watched, none seen", or why none can be seen. Not scrubbed; appended. */
int list_of(const struct event *ev);
const char *list_state(const struct event *start, enum run_list list);
void list_empty_words(enum run_list list, const char *state, struct buf *out);

/* Verbs: what a front end may say to a supervisor. They travel on the same socket, the other way. */
enum verb { VERB_ANSWER = 1, VERB_STOP, VERB_PAUSE, VERB_RESUME, VERB_STDIN, VERB_RESIZE, VERB_LAUNCH, VERB_MAX };
enum decision { DECIDE_DENY, DECIDE_ONCE, DECIDE_RUN };
struct verb_msg {
	enum verb verb;
	uint64_t id;            /* answer */
	enum decision decision; /* answer */
	uint64_t grace_ns;      /* stop */
	const char *bytes;      /* stdin; Borrows */
	size_t len;             /* stdin; 0 is the end */
	uint32_t rows, columns; /* resize */
};
ssize_t verb_encode(const struct verb_msg *v, void *space, size_t size);
int verb_decode(const void *frame, size_t len, struct verb_msg *ret, struct err *e); /* Borrows from the frame */

/* verdict_status: what `belljar run` exits with. */
int verdict_status(const struct event *exit_event);
