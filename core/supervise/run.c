/* SPDX-License-Identifier: MIT */
/*
 * A run as its front end holds it: the other end of the supervisor's socket. Should the supervisor die, what it left is
 * ended and removed here, and the missing exit event is made, so that whoever reads events needs one path only.
 */
#include "core/supervise/supervise.h"
#include "core/supervise/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEND_LIMIT_MS      1000
#define INHERITED_LIMIT_NS (5 * NS_PER_S)

struct run {
	struct run *next; /* of the live ones of this process */
	int wire_fd;
	pid_t supervisor;
	char id[27];
	uint64_t last_seq, last_t_ns;
	bool over; /* the exit event was delivered */
	uint8_t space[WIRE_FRAME_MAX];
};

/* The one list of this process: who of its children is a supervisor cannot be asked of the children, who lie. */
static struct run *live;

static bool is_supervisor(pid_t pid)
{
	for (const struct run *r = live; r; r = r->next)
		if (r->supervisor == pid)
			return true;
	return false;
}

void run_prepare_process(void)
{
	(void) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

static int supervisor_fork(const struct launch *l, struct run **ret, struct err *e)
{
	int fds[2], r = wire_pair(fds, e);
	if (r < 0)
		return r;
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		supervisor_main(l, fds[1]);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return err_set(e, errno, "start the supervisor");
	}
	struct run *run = xcalloc(1, sizeof(*run));
	run->wire_fd = fds[0];
	run->supervisor = pid;
	memcpy(run->id, l->run_id, sizeof(run->id));
	run->next = live;
	live = run;
	*ret = run;
	return 0;
}

/* ---- one that is kept ready ---- */

static struct {
	struct run *run; /* NULL: none */
	const struct language *language;
	struct buf policy; /* all of it, as bytes */
	bool ready;
} spare;

static bool fits(const struct launch *want)
{
	struct buf bytes;
	if (spare.language != want->language || want->tty || want->input_count || want->project_dir ||
	    want->stdin_fd >= 0)
		return false;
	policy_free(policy_copy(want->policy, &bytes));
	bool same = bytes.len == spare.policy.len && memcmp(bytes.data, spare.policy.data, bytes.len) == 0;
	buf_done(&bytes);
	return same;
}

static void spare_drop(void)
{
	spare.run = run_free(spare.run);
	buf_done(&spare.policy);
	spare.ready = false;
}

/* All of it or nothing: one that does not take it is none. */
static bool launch_send(struct run *r, const struct launch *l)
{
	struct buf frames = { 0 };
	bool sent = true;
	launch_pack(l, &frames);
	for (size_t at = 0; sent && at < frames.len;) {
		uint32_t len;
		memcpy(&len, frames.data + at, sizeof(len));
		int n = wire_send(r->wire_fd, frames.data + at + sizeof(len), len);
		struct pollfd p = { .fd = r->wire_fd, .events = POLLOUT };
		if (n == -EAGAIN)
			sent = poll(&p, 1, SEND_LIMIT_MS) == 1;
		else if (n < 0)
			sent = false;
		else
			at += sizeof(len) + len;
	}
	buf_done(&frames);
	return sent;
}
/* NULL: there is none that fits. One that is not ready yet will be sooner than another. */
static struct run *spare_take(const struct launch *l)
{
	struct run *taken = spare.run;
	if (!taken || !fits(l))
		return NULL;
	if (!launch_send(taken, l)) {
		spare_drop();
		return NULL;
	}
	spare.run = NULL;
	spare_drop();
	return taken;
}

int run_start(const struct launch *l, struct run **ret, struct err *e)
{
	struct run *taken = spare_take(l);
	if (taken) {
		*ret = taken;
		return 0;
	}
	int r = supervisor_fork(l, ret, e);
	if (r >= 0)
		sweep_dead(); /* now, while the supervisor starts: nobody waits for it */
	return r;
}

void run_keep_ready(const struct launch *like)
{
	const struct backend *b;
	struct err e;
	bool wanted = like && like->policy->microvm.spare > 0 &&
		      backend_find(like->policy->backend, &b, &e) == 0 && b->spare && !like->tty;
	if (wanted && spare.run && fits(like))
		return;
	spare_drop();
	if (!wanted)
		return;
	struct launch *l = launch_new();
	l->policy = policy_copy(like->policy, &spare.policy);
	l->language = spare.language = like->language;
	l->title = xstrdup("spare");
	l->spare = true;
	if (supervisor_fork(l, &spare.run, &e) < 0)
		spare_drop(); /* then the next run starts as runs do without one */
	launch_free(l);
}

/* What it tells until it is taken is for nobody but us; what went wrong shows when a run starts the plain way. */
bool run_ready(void)
{
	struct event *ev;
	while (spare.run && !spare.ready && run_next(spare.run, &ev) > 0) {
		spare.ready = ev->type == EVENT_PROGRESS && strcmp(ev->progress.text, SPARE_READY) == 0;
		bool over = ev->type == EVENT_EXIT;
		event_free(ev);
		if (over)
			spare_drop();
	}
	return spare.ready;
}

int run_fd(const struct run *r)
{
	return r->wire_fd;
}

/* Returns whether it came to its own end: then it has cleaned up. */
static bool supervisor_reap(struct run *r)
{
	int status = 0;
	while (r->supervisor > 0 && waitpid(r->supervisor, &status, 0) < 0 && errno == EINTR)
		;
	r->supervisor = 0;
	return WIFEXITED(status);
}

/*
 * Orphans of a dead supervisor come to us, its child subreaper. They are told from children of our own (an editor) by
 * their session: the target leads one that is not ours. Each that is killed leaves its own children to us. Returns how
 * many were there still when the time was up.
 */
static uint64_t inherited_end(const char *run_id)
{
	uint64_t deadline = now_ns() + INHERITED_LIMIT_NS, left;
	pid_t ours = getsid(0), *children;
	do {
		size_t count = family_children(getpid(), &children);
		left = 0;
		for (size_t k = 0; k < count; k++) {
			if (getsid(children[k]) == ours || is_supervisor(children[k]))
				continue;
			left++;
			kill(children[k],
			     SIGKILL); /* a child of ours: its number is its own until it is waited for */
			waitpid(children[k], NULL, 0);
		}
		free(children);
	} while (left && now_ns() < deadline);
	sweep_run(run_id);
	return left;
}

/* The supervisor is gone without a last word. */
static struct event *lost(struct run *r)
{
	struct event *copy = NULL;
	struct err e;
	supervisor_reap(r);
	uint64_t left = inherited_end(r->id);
	struct event ev = {
		.type = EVENT_EXIT,
		.seq = r->last_seq + 1,
		.t_ns = r->last_t_ns,
		.exit = { .verdict = VERDICT_LOST,
			  .status = -1,
			  .evidence =
				  left ? "the supervisor died, and not all of the run could be ended"
				       : "the supervisor died; everything of the run was ended and removed",
			  .wall_s = UNKNOWN_F64,
			  .cpu_s = UNKNOWN_F64,
			  .memory_peak = UNKNOWN_U64,
			  .processes_peak = UNKNOWN_U64,
			  .written = UNKNOWN_U64,
			  .space_peak = UNKNOWN_U64,
			  .processes_left = left,
			  .quiet_after_s = UNKNOWN_F64 }
	};
	ssize_t len = event_encode(&ev, r->space, sizeof(r->space));
	if (len > 0)
		(void) event_decode(r->space, (size_t) len, &copy, &e);
	return copy;
}

int run_next(struct run *r, struct event **ret)
{
	struct err e;
	if (r->over)
		return -EPIPE;
	ssize_t n = wire_recv(r->wire_fd, r->space, sizeof(r->space));
	if (n == -EAGAIN)
		return 0;
	struct event *ev = NULL;
	if (n <= 0 || event_decode(r->space, (size_t) n, &ev, &e) < 0) {
		kill(r->supervisor, SIGKILL); /* one that sends rubbish is as good as dead */
		ev = lost(r);
	}
	r->last_seq = ev->seq;
	r->last_t_ns = ev->t_ns;
	r->over = ev->type == EVENT_EXIT;
	*ret = ev;
	return 1;
}

static int say(struct run *r, const struct verb_msg *m)
{
	uint8_t space[512];
	ssize_t n = verb_encode(m, space, sizeof(space));
	return n < 0 ? (int) n : wire_send(r->wire_fd, space, (size_t) n);
}

int run_stop(struct run *r, uint64_t grace_ns)
{
	return say(r, &(struct verb_msg){ .verb = VERB_STOP, .grace_ns = grace_ns });
}

int run_pause(struct run *r, bool on)
{
	return say(r, &(struct verb_msg){ .verb = on ? VERB_PAUSE : VERB_RESUME });
}

int run_answer(struct run *r, uint64_t id, int decision)
{
	return say(r,
		   &(struct verb_msg){ .verb = VERB_ANSWER, .id = id, .decision = (enum decision) decision });
}

int run_resize(struct run *r, uint32_t rows, uint32_t columns)
{
	return say(r, &(struct verb_msg){ .verb = VERB_RESIZE, .rows = rows, .columns = columns });
}

int run_stdin(struct run *r, const void *bytes, size_t len)
{
	uint8_t *space = xmalloc(len + 64);
	const struct verb_msg m = { .verb = VERB_STDIN, .bytes = bytes, .len = len };
	ssize_t n = verb_encode(&m, space, len + 64);
	int result = n < 0 ? (int) n : wire_send(r->wire_fd, space, (size_t) n);
	free(space);
	return result;
}

struct run *run_free(struct run *r)
{
	if (!r)
		return NULL;
	close_fd(&r->wire_fd); /* the supervisor sees the end, ends the run and cleans up */
	if (r->supervisor > 0 && !supervisor_reap(r))
		inherited_end(r->id);
	for (struct run **at = &live; *at; at = &(*at)->next)
		if (*at == r) {
			*at = r->next;
			break;
		}
	free(r);
	return NULL;
}
