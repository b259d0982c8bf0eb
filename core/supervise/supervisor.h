/* SPDX-License-Identifier: MIT */
/*
 * Private to core/supervise: the supervisor of one run, a process of its own, and its parts.
 */
#pragma once

#include "core/backend/backend.h"
#include "core/base/base.h"
#include "core/model/model.h"
#include "core/supervise/ask.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* ---- feed.c: every event passes here once; numbered, stamped, recorded, delivered ---- */

struct frame {
	struct frame *next;
	size_t len, sent;
	uint8_t bytes[];
};
struct feed {
	int wire_fd; /* to the front end */
	bool reader_gone;
	bool stream;           /* the wire is a byte stream: each frame goes behind its length */
	bool mute;             /* nothing that happens now is anybody's business yet */
	bool terse;            /* what only tells of a watched call goes into the recording alone */
	struct record *record; /* NULL: not recorded */
	uint64_t seq, start_ns;
	struct frame *head, **tail; /* frames that wait: for the next flush, or for room in the socket */
	bool blocked;               /* for room */
	size_t queued;
	uint64_t dropped
		[EVENT_TYPE_MAX]; /* what no room was left for: events, those that they stand for included */
	bool drops;               /* some of it is not told yet */
	uint8_t space[WIRE_FRAME_MAX];
};
#define FEED_HOLD_NS  (10 * NS_PER_MS) /* what only tells of a watched call waits so long for company */
#define FEED_HOLD_MAX (32u << 10)      /* bytes */
#define FEED_QUEUE_PAUSE \
	(1u << 20)                /* above it the target's output is not read on: the pipe fills, it waits */
#define FEED_QUEUE_MAX (8u << 20) /* above it events are dropped, and counted */

void feed_init(struct feed *s, int wire_fd);
void feed_emit(struct feed *s, struct event *ev);               /* fills seq, t_ns and source */
void feed_relay(struct feed *s, struct event *ev);              /* the same for what a guest tells */
void feed_frame(struct feed *s, const void *bytes, size_t len); /* one that is no event */
int feed_flush(struct feed *s);                                 /* 0 all sent, -EAGAIN, -EPIPE */
void feed_drain(struct feed *s); /* waits for the reader, until all is sent or it is gone */
void feed_done(struct feed *s);

/* ---- group.c: floods of like events become one with a count; memory stays what it is ---- */

#define GROUPS_MAX     128
#define GROUP_TOLD_MAX 1000 /* events of one type between two ticks; what comes after is only counted */
struct group {
	uint64_t count;  /* since it was last told */
	struct event ev; /* strings in `text` */
	struct event_arg args[8];
	const char *flags[16];
	char *text[12]; /* together at most what one call's decoding has room for */
	size_t texts;
};
struct group_table { /* of one type of event: a flood of files hides no refused call */
	uint64_t key[GROUPS_MAX];
	struct group at[GROUPS_MAX];
	size_t used;
	uint64_t told, dropped, gone, beyond;
};
struct groups {
	struct group_table denied, network, file;
	uint64_t secret[2]; /* of the keys */
	bool keyed;
	struct group_table exec; /* only its counts: no two programs that were executed are the same event */
};
/* group_emit: the first of a kind at once, more like it counted until group_tick. Borrows. */
void group_emit(struct groups *g, struct feed *s, struct event *ev);
/* group_skip: whether one more of that type would only be counted, which it then is: no need to look at it closely. */
bool group_skip(struct groups *g, enum event_type type);
void group_gone(struct groups *g,
		enum event_type type); /* the caller was gone before it was known what it asked for */
void group_beyond(struct groups *g, enum event_type type,
		  uint64_t count); /* asked for by one call with more than was read */
void group_told(struct groups *g,
		enum event_type type); /* one of that type went out by itself, and counts as told */
void group_tick(struct groups *g, struct feed *s);

/* ---- facts: what the kernel and our own answers said; the verdict is made from these and nothing else ---- */

struct facts {
	bool ended; /* the target's wait status is known */
	int wait_status;
	const char *cancelled_by; /* who stopped the run; NULL: the person, by a verb */
	enum verdict killed_for;  /* our own kill record */
	uint64_t killed_at_ns;    /* since the start */
	int setup_code;           /* errno of a start that failed; 0: it did not */
	bool exec_failed;
	char setup_text[512];
	struct cgroup_reading cg; /* at the end; all UINT64_MAX without a control group */
	uint64_t enomem_answered, enomem_largest, eagain_answered;
	uint64_t
		thrashed; /* pages of programs that were dropped and needed again at once, before the run was ended for it */
	bool space_full, inodes_full, file_at_limit, tasks_at_limit; /* by looking */
	bool xfsz_own; /* a program of the run may have had a SIGXFSZ sent, or has met a file size of its own choice */
	uint64_t tasks_at_end; /* when the target ended; UNKNOWN_U64: nobody counted */
	uint64_t
		rlimit_cpu_ns; /* of the target, as RLIMIT_CPU counts; UNKNOWN_U64: it was not asked in time */
	char policy_call[32];  /* on_denied = kill: the call that struck */
	uint64_t cpu_ns, wall_ns, memory_peak, processes_peak, written, space_peak;
	uint64_t first_oom_ns;
	uint64_t output_dropped[STREAM_MAX];
	uint64_t processes_left, quiet_ns;
};

/* verdict.c: pure. Fills verdict, status, signal, evidence, limits_met of an exit event; its strings lie in `space`. */
struct verdict_space {
	char evidence[520];
	char signal[16];
	const char *met[LIMIT_MAX];
};
void verdict_make(const struct facts *f, const struct event_limit limits[LIMIT_MAX], struct event *ret_exit,
		  struct verdict_space *space);

/* ---- meter.c ---- */

struct meter {
	struct cgroup_reading cg;
	uint64_t cpu_ns, memory, memory_peak, tasks, tasks_peak, written, space, space_peak, inodes;
	uint64_t space_base, inodes_base; /* what the skeleton takes */
	uint64_t cpu_base, written_base;  /* what was used before */
	uint64_t last_ns, last_cpu_ns, last_written;
	uint64_t cpu_sum, cpu_gone, cpu_missing; /* see cpu_floor() */
	uint64_t memfd_bytes;
	pid_t helper; /* a child of ours that is not the run's; 0: none */
	bool memfds;  /* the target has made one: they are looked for */
	bool space_full,
		inodes_full; /* nothing is free: with what lies there from before, that is less than the limit */
	bool memory_exact;    /* by the kernel; else a sample */
	bool written_whole;   /* nothing that ended is missing in it */
	bool memory_by_parts; /* that sample is of proportional sizes */
	int io_fd;            /* the target's "io" in /proc, where io_pid is not 0 */
	pid_t io_pid;
};
void meter_start(struct meter *m, const struct instance *i);
void meter_done(struct meter *m);
/* meter_begin: what was used until now is not the run's. */
void meter_begin(struct meter *m, const struct instance *i);
/* meter_given: files that were put there for it, neither. */
void meter_given(struct meter *m, uint64_t files, uint64_t bytes);
void meter_read(struct meter *m, const struct instance *i);
void meter_emit(struct meter *m, const struct instance *i, struct feed *s);
/* meter_memory_over: reads, and again where what was read may be of no one moment. */
bool meter_memory_over(struct meter *m, const struct instance *i, uint64_t limit);
uint64_t meter_tasks(const struct meter *m, const struct instance *i); /* without ours */

/* ---- tree.c: the processes of a run ---- */

struct memfds;
#define TREE_FOLDER 40 /* "PID", or "PID/task/TID" */
struct tree {
	pid_t *pids; /* as proc_fd numbers them */
	size_t count, room;
	int proc_fd;
	bool own_numbers; /* a namespace's, whose process 1 is the reaper */
};
struct tree_memory {
	uint64_t anonymous_kib, shmem_kib; /* proportional */
};
void tree_list(struct tree *t, const struct instance *i, pid_t helper);
void tree_done(struct tree *t);
static inline bool tree_ours(const struct tree *t, pid_t pid)
{
	return t->own_numbers && pid == 1;
}
/* tree_folder: below proc_fd, where /proc tells of a process's memory and files: of one whose first thread has ended, in
 * the folder of another thread. */
void tree_folder(const struct tree *t, pid_t pid, bool first_gone, char ret[TREE_FOLDER]);
/* tree_memory: what they hold, each memory once; marks which of `f` are mapped (NULL: the run has none). */
void tree_memory(const struct tree *t, struct memfds *f, struct tree_memory *ret);
#define PAGE_TABLES "\nVmPTE:" /* of a memory: one touched page may cost another, which stands in no size */
uint64_t kib_after(const char *text, const char *key); /* a figure of a file of /proc; 0: it is not there */

/* ---- memfd.c: memory in files that have no name, whether it is mapped or not ---- */

#define MEMFD_LOOKS 4096 /* descriptors that one sample looks at */
struct memfds {
	struct memfd {
		uint64_t dev, ino, bytes;
		bool mapped; /* by some process of the run: in its proportional sizes as far as it touched them */
	} * at;
	size_t count, room;
	unsigned looked; /* of MEMFD_LOOKS */
};
void memfds_of_process(struct memfds *f, int proc_dirfd, const char *folder);
void memfds_mapped_by(struct memfds *f, int proc_dirfd, const char *folder);
uint64_t memfds_bytes(const struct memfds *f,
		      bool mapped); /* of those that are mapped, or of those that are not */
void memfds_done(struct memfds *f);

/* ---- connect.c: sockets without a network, for a target that has no network namespace ---- */

struct netless {
	pid_t pid; /* of the helper, which lives in an empty network namespace; 0: not started */
	int pidfd, fd;
	unsigned stalls; /* helpers that did not answer */
};
/* netless_socket: a new socket of that kind from the helper, started when first needed. Gives: *ret_fd. */
int netless_socket(struct netless *n, int domain, int type, int protocol, int *ret_fd);
void netless_stop(struct netless *n);

/* ---- notify.c ---- */

struct supervisor;
void notify_start(struct supervisor *v);
void notify_answer(struct supervisor *v, uint64_t id, enum decision d, const char *by);
void notify_tick(struct supervisor *v); /* those whose time is up, and what was counted */
void notify_deny_all(struct supervisor *v,
		     const char *by); /* the run ends: nobody waits for an answer any more */
void notify_stop(struct supervisor *v);

/* ---- output.c: what the target prints ---- */

struct output {
	int fd[STREAM_MAX];         /* Borrowed from the instance; -1 when at its end */
	uint64_t left;              /* of the limit */
	uint64_t taken[STREAM_MAX]; /* that came, dropped or not */
	bool waits;                 /* the reader cannot follow: the pipes fill up */
	struct scrub scrub[STREAM_MAX];
	struct buf shown; /* what a terminal would get: made to see what has to be taken out, and forgotten */
	uint64_t removed[TEXT_REMOVED_MAX]; /* bytes, not yet told */
	bool told[TEXT_REMOVED_MAX];        /* since the last tick */
	struct output_tail {
		char bytes[CANARY_NONCE];
		size_t len;
	} tail[STREAM_MAX], copied; /* a planted word may be cut between two reads */
	struct feed *feed;
	char room[CANARY_NONCE + (64 << 10)]; /* of one read, behind the end of the one before */
};
int output_start(struct supervisor *v, struct err *e);
void output_pace(struct supervisor *v); /* each round of the loop */
void output_tick(struct supervisor *v); /* tells what was counted since the last one */
/* output_copied: what leaves in files, when the run is dead and its streams are at their end; as struct collector asks. */
void output_copied(void *arg, bool begins, const char *bytes, size_t len);
void output_finish(struct supervisor *v); /* every process is gone: what is left in the pipes, then no more */

/* ---- typing.c: what is typed for a target that has a terminal ---- */

struct typing {
	int fd; /* the pipe it comes by; -1: nothing comes */
	char bytes[4096];
	size_t have, sent;
	bool ended, in_line;
};
int typing_start(struct supervisor *v, struct err *e);
void typing_resize(struct supervisor *v, uint32_t rows, uint32_t columns);

/* ---- guest.c: what a supervisor inside a machine tells, to one who believes no byte of it ---- */

int guest_start(struct supervisor *v, struct err *e); /* 0 also where there is no such machine */
void guest_tick(struct supervisor *v);
void guest_printed(struct supervisor *v);                        /* some more of its output has come */
void guest_verb(struct supervisor *v, const struct verb_msg *m); /* passes on what is decided in there */
/* guest_machine_ended: whatever was told until then is all. guest_verdict: the exit event, from what was told and from what
 * the host knows itself. */
void guest_machine_ended(struct supervisor *v, int wait_status);
void guest_verdict(struct supervisor *v, struct event *exit_event);
/* guest_silent: of one whose end is known: whether there ever was anything alive in it. */
bool guest_silent(const struct supervisor *v);
void guest_stop(struct supervisor *v);

/* ---- guest_rules.c: what it may tell, and when; pure ---- */

struct guest_rules {
	const struct policy *policy; /* the run's. Borrowed */
	bool answers;                /* somebody can be asked */
	bool limit_told[LIMIT_MAX];
	unsigned told[EVENT_TYPE_MAX]; /* of those that are rare */
	uint64_t last_asked;
	struct guest_question {
		uint64_t id; /* 0: none */
		bool answered;
		enum decision decision;    /* of the person */
	} asked[ASK_HELD_MAX];             /* by id */
	uint64_t allowed[ASK_ALLOWED_MAX]; /* ids, for the rest of the run */
	size_t allowed_count;
};
/* guest_may_tell: NULL where it may, else how it broke the protocol. What is the host's to say in the event is put right. */
const char *guest_may_tell(struct guest_rules *r, struct event *ev);
/* guest_may_hear: whether a person's answer is to one of its questions, and the first; it is remembered. */
bool guest_may_hear(struct guest_rules *r, uint64_t id, enum decision d);

/* ---- inside.c, relay.c: the same supervisor inside a machine; its output goes on as it came, by a stream each ---- */

struct inside {
	int port_fd[STREAM_MAX]; /* where the target's output goes */
	int data_fd, stdin_fd;   /* where its input comes from; our end of its pipe */
	bool blocked[STREAM_MAX];
	uint64_t sent[STREAM_MAX];
	char *room; /* of one read, for what is no pipe */
	size_t have[STREAM_MAX];
	struct wire_stream control, data;
	struct buf whole; /* of what the host says, as far as it has come */
	struct inside_go go;
	struct buf input; /* of the target's, what its pipe had no room for */
	size_t input_sent;
	bool input_waits;
	struct launch *launch; /* as far as it is known */
	uint64_t sent_files;
	bool warmed;                /* a first run of ours is behind it */
	int random_fd;              /* whose generator each copy renews */
	int code_fd;                /* an empty file where the program will most likely be; -1: none */
	const char *code_path;      /* where it is; NULL: there is none. Borrowed */
	uint64_t code_files;        /* that were made for it: 0 or 1 */
	bool python;                /* what waits is an interpreter, and is there */
	bool waiting, going, exits; /* the stage is ready; it was told what to run; the target asked to end */
};
int relay_start(struct supervisor *v, struct err *e);
void relay_finish(struct supervisor *v); /* what stands in the pipes now */
void inside_collect(struct supervisor *v, const struct collector *to);
/* inside_own.c: a copy of the machine becomes one of its own. begin: what can be done before it is saved; forget: the first
 * run's files are not the next one's. */
int inside_own_begin(struct supervisor *v, struct err *e);
int inside_own(struct supervisor *v, const struct inside_go *go, struct err *e);
void inside_own_forget(struct supervisor *v);
/* inside_places: the inputs, and the project, come to where the target sees them. */
int inside_places(struct supervisor *v, const struct inside_go *go, struct err *e);
/* inside_exits: the target asks for its end with that status; true: it is over, and need not be let go on. */
bool inside_exits(struct supervisor *v, int status);

#define SPARE_READY "ready" /* what a spare tells as its progress, when it costs nothing any more */

/* ---- supervisor.c ---- */

enum run_state { RUN_NEW, RUN_STARTING, RUN_RUNNING, RUN_STOPPING, RUN_DONE, RUN_STATE_MAX };

struct supervisor {
	const struct launch *launch;
	struct instance inst;
	struct loop *loop;
	struct feed feed;
	struct groups groups;
	struct meter meter;
	struct facts facts;
	struct netless netless;
	struct notify *notify; /* notify.c's own; NULL: nothing is watched */
	enum run_state state;
	bool started, paused, reap, wire_waits, flush_due;
	bool meter_last; /* the meters were read when nothing of the run was left but process 1 */
	bool limit_told[LIMIT_MAX];
	char *canary_told;     /* what was told of planted words, a line each; NULL: nothing */
	uint64_t ended_ns;     /* when the target ended or was killed */
	struct timespec began; /* by the clock that files are stamped with */
	struct asks asks;
	struct typing typing;
	struct output output;
	struct thrashing {
		uint64_t pages, pages_before; /* at the last look, and when it began */
		uint64_t since_ns;            /* 0: it does not */
	} thrashing;
	struct {
		uint64_t cpu_ns, memory_peak, processes_peak, written;
	} meter_told;          /* the guest's last word on them */
	struct guest *guest;   /* guest.c's own; NULL: the target is a process of this host */
	struct inside *inside; /* inside.c's own; NULL: we are the host's */
	uint8_t verb_space[WIRE_FRAME_MAX];
};

/* supervisor.c: the parts of its life, which is another one inside a guest */
int supervisor_begin(struct supervisor *v, struct err *e); /* the target stands, and waits */
int supervisor_watch(struct supervisor *v, struct err *e);
int supervisor_timers(struct supervisor *v, struct err *e);
void supervisor_tell_start(struct supervisor *v);
int supervisor_round(struct supervisor *v);     /* of the loop. 0: it goes on */
void supervisor_counters(struct supervisor *v); /* a limit that one of them shows to be met is told */

/* end.c: nothing goes on, all that can be known is read, and what came of it is told. */
void supervisor_gather(struct supervisor *v);
void supervisor_end(struct supervisor *v);
void supervisor_finish(struct supervisor *v);

/* verbs.c */
void supervisor_verb(struct supervisor *v, const struct verb_msg *m);
void supervisor_error(struct supervisor *v, const char *text); /* an event that says so */
void supervisor_kill(struct supervisor *v, enum verdict why);
void supervisor_cancel(struct supervisor *v, const char *by);
/* supervisor_given_up: before there is a loop, whether a stop, or a front end that left, cancels the start. */
bool supervisor_given_up(void *v);
/* supervisor_canary: an alert when a planted word stands in these bytes; each file once for each `where`. */
void supervisor_canary(struct supervisor *v, const char *where, const char *bytes, size_t len);
void supervisor_limit(struct supervisor *v, enum limit_name n, enum basis basis, const char *evidence_fmt,
		      ...) __attribute__((format(printf, 4, 5)));
/* supervisor_main: all of a supervisor's life. Never returns. */
_Noreturn void supervisor_main(const struct launch *l, int wire_fd);
