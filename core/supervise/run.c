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

int run_start(const struct launch *l, struct run **ret, struct err *e)
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
	sweep_dead(); /* now, while the supervisor starts: nobody waits for it */
	*ret = run;
	return 0;
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
