/* SPDX-License-Identifier: MIT */
/*
 * The other supervisor, inside a machine of its own, as this one hears it. The machine runs hostile code and may be in its
 * hands altogether: each frame is capped, of a known version and type, legal in this state, and decoded before anything
 * of it is used; what it tells is passed on as told by the guest; and no limit, no end and no figure of the host's own
 * waits for it.
 */
#include "core/supervise/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRAMES_MAX     8000       /* between two ticks; an honest guest keeps to GROUP_TOLD_MAX a list */
#define BYTES_MAX      (2u << 20) /* in them */
#define UNREAD_MAX     (CODE_MAX + (1u << 20)) /* of what we have to say, where the guest does not read */
#define LAST_READS     64                      /* more than its socket holds */
#define LAST_OUTPUT_NS (5 * NS_PER_S)  /* for what was printed to arrive, once the target's end was told */
#define LAST_FILES_NS  (20 * NS_PER_S) /* the same for files, and a second for each so many bytes that came */
#define FILES_RATE     (4u << 20)
#define INPUT_CHUNK    (32u << 10)
#define SILENT_NS      (3 * NS_PER_S) /* a machine that lives tells its meters long before */
#define CPU_SLACK_NS   (2 * NS_PER_S) /* what a machine uses besides what runs in it */

struct guest {
	struct wire_stream in;
	struct guest_rules rules;
	unsigned frames;    /* since the last tick */
	size_t bytes;       /* in them */
	bool metered;       /* since the last tick */
	bool paused;        /* it has told too much: read on at the next tick */
	struct event *exit; /* as it told it; NULL: not yet */
	struct inside_streams printed;
	uint64_t come;       /* bytes, at the last look */
	uint64_t awaited_ns; /* since when; 0: its end was not told */
	bool printed_told, ending;
	bool heard, gone; /* it said something; it ended by itself, and nobody killed it */
	char broken[160]; /* how it broke the protocol; "": it did not */
	struct buf input; /* frames for its data port, sent up to input_sent */
	size_t input_sent;
	int stdin_fd; /* -1: at its end */
};

/* ---- the end ---- */

static void machine_end(struct supervisor *v)
{
	struct err e;
	v->guest->ending = true;
	if (!v->ended_ns)
		v->ended_ns = now_ns();
	v->state = RUN_STOPPING;
	(void) v->inst.backend->stop(&v->inst, true, &e); /* `end` does it again, and counts */
}

static void broken(struct supervisor *v, const char *how)
{
	struct guest *g = v->guest;
	if (g->ending)
		return;
	snprintf(g->broken, sizeof(g->broken), "%s", how);
	loop_unwatch_fd(v->loop, v->inst.guest_fd);
	machine_end(v);
}

static bool all_printed(const struct supervisor *v)
{
	for (int k = 0; k < STREAM_MAX; k++)
		if (v->output.fd[k] >= 0 && v->output.taken[k] < v->guest->printed.bytes[k])
			return false;
	return v->inst.spool_fd < 0 || v->inst.spooled >= v->guest->printed.bytes[STREAM_MAX];
}

/* The end was told; what was printed before it comes by another way and may still be on it. */
void guest_printed(struct supervisor *v)
{
	if (v->guest->exit && !v->guest->ending && all_printed(v))
		machine_end(v);
}

static uint64_t rest_ns(const struct supervisor *v)
{
	if (!v->launch->output_dir && !v->launch->project_dir)
		return LAST_OUTPUT_NS;
	return LAST_FILES_NS + v->inst.spooled / FILES_RATE * NS_PER_S;
}

/* It has told its end, or that it collects: as long as enough comes it may go on. Its word is all that says so, and the
 * target's limits are not looked at any more. */
static void on_last_output(void *arg)
{
	struct supervisor *v = arg;
	struct guest *g = v->guest;
	uint64_t come = v->output.taken[0] + v->output.taken[1] + v->inst.spooled;
	if (g->ending)
		return;
	if (v->output.waits) { /* it is we who keep it waiting */
		g->awaited_ns += LAST_OUTPUT_NS;
	} else if (come == g->come || now_ns() - g->awaited_ns >= rest_ns(v)) {
		if (g->exit)
			supervisor_error(v,
					 "not all came of what the guest says it has printed and collected");
		else
			snprintf(g->broken, sizeof(g->broken), "it came to no end after the target's");
		machine_end(v);
	}
	g->come = come;
}

static void await_rest(struct supervisor *v)
{
	struct err e;
	if (v->guest->ending || v->guest->awaited_ns)
		return;
	v->guest->awaited_ns = now_ns();
	if (loop_timer(v->loop, LAST_OUTPUT_NS, LAST_OUTPUT_NS, on_last_output, v, &e) < 0)
		machine_end(v);
}

static void on_exit_told(struct supervisor *v, struct event *ev)
{
	struct guest *g = v->guest;
	if (!g->printed_told) {
		event_free(ev);
		broken(v, "an end that cannot be");
		return;
	}
	g->exit = ev;
	if (!v->facts.ended)
		v->ended_ns = now_ns();
	if (v->facts.killed_for == VERDICT_NONE)
		v->facts.ended = true;
	loop_unwatch_fd(v->loop, v->inst.guest_fd);
	guest_printed(v);
	await_rest(v);
}

/* From here on its time is not the target's. */
static void on_ended(struct supervisor *v)
{
	if (v->guest->awaited_ns || v->facts.killed_for != VERDICT_NONE)
		return;
	v->facts.ended = true;
	v->ended_ns = now_ns();
	await_rest(v);
}

static void frames_take(struct supervisor *v);

/* What it told before it ended lies in the socket still, whose other end is closed: so there is an end to it. */
static void last_frames(struct supervisor *v)
{
	struct guest *g = v->guest;
	ssize_t n = 1;
	for (int k = 0; k < LAST_READS && n > 0 && !g->exit && !g->ending; k++) {
		g->frames = 0;
		g->bytes = 0;
		frames_take(v);
		n = wire_stream_read(&g->in, v->inst.guest_fd);
		g->heard |= n > 0;
		frames_take(v);
	}
}

void guest_machine_ended(struct supervisor *v, int wait_status)
{
	struct guest *g = v->guest;
	last_frames(v);
	g->ending = true;
	g->gone = !WIFSIGNALED(wait_status) || WTERMSIG(wait_status) != SIGKILL;
	if (g->broken[0] || g->exit)
		return;
	if (WIFSIGNALED(wait_status))
		snprintf(g->broken, sizeof(g->broken),
			 "it was ended by signal %d, which nothing of belljar sent", WTERMSIG(wait_status));
	else
		snprintf(g->broken, sizeof(g->broken), "it ended by itself, with status %d",
			 WEXITSTATUS(wait_status));
}

/* Not a byte by any way, in a time in which each machine has something to say. */
bool guest_silent(const struct supervisor *v)
{
	const struct guest *g = v->guest;
	return v->started && g && !g->heard && !v->output.taken[0] && !v->output.taken[1] &&
	       !v->inst.spooled && (g->gone || v->ended_ns - v->feed.start_ns >= SILENT_NS);
}

static void take_signal(struct event *to, const struct event *from)
{
	to->exit.status = from->exit.status;
	to->exit.signal = from->exit.signal;
}

/* The output is counted out here, and the guest may not tell of it: no limit is in both. */
static void limits_add(struct event *to, const struct event *told)
{
	static const char *met[LIMIT_MAX]; /* of the one exit event of this process */
	size_t n = 0;
	for (size_t k = 0; k < told->exit.limits_met_count; k++)
		met[n++] = told->exit.limits_met[k];
	for (size_t k = 0; k < to->exit.limits_met_count && n < LIMIT_MAX; k++)
		if (strcmp(to->exit.limits_met[k], limit_kinds[LIMIT_OUTPUT].name) == 0)
			met[n++] = to->exit.limits_met[k];
	to->exit.limits_met = met;
	to->exit.limits_met_count = n;
}

/* What the host knows stands: its own kill, its own memory group, that nothing is left, and how long it took. */
void guest_verdict(struct supervisor *v, struct event *ev)
{
	static char evidence[600]; /* of the one exit event of this process */
	const struct guest *g = v->guest;
	const struct event *told = g->exit;
	ev->exit.cpu_s = told ? told->exit.cpu_s : UNKNOWN_F64;
	ev->exit.memory_peak = told ? told->exit.memory_peak : v->meter_told.memory_peak;
	ev->exit.processes_peak = told ? told->exit.processes_peak : v->meter_told.processes_peak;
	ev->exit.written = told ? told->exit.written : v->meter_told.written;
	ev->exit.space_peak = told ? told->exit.space_peak : UNKNOWN_U64;
	if (!told && v->meter_told.cpu_ns != UNKNOWN_U64)
		ev->exit.cpu_s = (double) v->meter_told.cpu_ns / 1e9;
	if (v->facts.setup_code || v->facts.killed_for != VERDICT_NONE)
		return;
	if (!told) {
		bool oom = v->facts.cg.oom_kills != UNKNOWN_U64 && v->facts.cg.oom_kills > 0;
		ev->exit.limits_met_count = 0;
		ev->exit.verdict = oom ? VERDICT_MEMORY : VERDICT_LOST;
		ev->exit.status = -1;
		ev->exit.signal = NULL;
		snprintf(evidence, sizeof(evidence),
			 oom ? "the host's memory group ended the machine, before the guest's own limit: %s"
			     : "the machine told of no end: %s",
			 g->broken[0] ? g->broken : "it is gone");
		ev->exit.evidence = evidence;
		return;
	}
	ev->exit.verdict = told->exit.verdict;
	take_signal(ev, told);
	snprintf(evidence, sizeof(evidence), "%.500s (told by the guest)", told->exit.evidence);
	ev->exit.evidence = evidence;
	limits_add(ev, told);
}

/* ---- what it tells ---- */

/* Beside what the guest says of itself stands what the host sees of the machine. An honest one says so once a tick, and
 * each look costs more than it costs to ask for it. */
static void on_meter_told(struct supervisor *v, struct event *ev)
{
	if (!v->guest->metered)
		meter_read(&v->meter, &v->inst);
	v->guest->metered = true;
	ev->meter.host_cpu_ns = v->meter.cpu_ns;
	ev->meter.host_memory = v->meter.memory;
	v->meter_told.cpu_ns = ev->meter.cpu_ns;
	v->meter_told.memory_peak = ev->meter.memory_peak;
	v->meter_told.processes_peak = ev->meter.processes_peak;
	v->meter_told.written = ev->meter.written;
}

/* In there it cannot be known what this host has: a file that is absent there, and is here, was hidden from the run. */
static void on_file_told(struct event *ev)
{
	if (ev->outcome != OUTCOME_ABSENT || !ev->file.path || ev->file.path[0] != '/' ||
	    faccessat(AT_FDCWD, ev->file.path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	ev->outcome = OUTCOME_HIDDEN;
	ev->layer = LAYER_VM;
}

static void on_event(struct supervisor *v, const void *frame, size_t len)
{
	struct event *ev;
	struct err e;
	if (event_decode(frame, len, &ev, &e) < 0) {
		broken(v, e.text);
		return;
	}
	const char *how = guest_may_tell(&v->guest->rules, ev);
	if (how) {
		event_free(ev);
		broken(v, how);
		return;
	}
	if (ev->type == EVENT_EXIT) {
		on_exit_told(v, ev);
		return;
	}
	if (ev->type == EVENT_METER)
		on_meter_told(v, ev);
	if (ev->type == EVENT_FILE)
		on_file_told(ev);
	feed_relay(&v->feed, ev);
	event_free(ev);
}

static void on_frame(struct supervisor *v, const void *frame, size_t len)
{
	struct guest *g = v->guest;
	struct err e;
	if (*(const uint8_t *) frame == INSIDE_ENDED) {
		on_ended(v);
		return;
	}
	if (*(const uint8_t *) frame != INSIDE_STREAMS) {
		on_event(v, frame, len);
		return;
	}
	if (g->printed_told || inside_streams_decode(frame, len, &g->printed, &e) < 0)
		broken(v, "a second count of what was printed");
	g->printed_told = true;
}

static bool too_much(const struct guest *g)
{
	return g->frames >= FRAMES_MAX || g->bytes >= BYTES_MAX;
}

static void frames_take(struct supervisor *v)
{
	struct guest *g = v->guest;
	const void *frame;
	ssize_t n = 0;
	while (!g->exit && !g->ending && !too_much(g) && (n = wire_stream_next(&g->in, &frame)) > 0) {
		g->frames++;
		g->bytes += (size_t) n;
		on_frame(v, frame, (size_t) n);
	}
	if (n == -EPROTO)
		broken(v, "a frame of a length that no frame has");
	else if (too_much(g) && !g->paused && !g->ending && !g->exit) {
		g->paused = true;
		loop_unwatch_fd(v->loop, v->inst.guest_fd); /* a hang-up would be told again and again */
	}
}

static unsigned wanted(const struct supervisor *v)
{
	return EPOLLIN | (v->inst.guest_out.len > v->inst.guest_out_sent ? EPOLLOUT : 0);
}

static void on_guest(void *arg, uint32_t events)
{
	struct supervisor *v = arg;
	struct guest *g = v->guest;
	if (events & EPOLLOUT)
		(void) guest_flush(&v->inst);
	if (!(events & EPOLLIN) && (events & (EPOLLHUP | EPOLLERR))) {
		loop_unwatch_fd(v->loop, v->inst.guest_fd); /* that it is gone its process tells */
		return;
	}
	if (events & EPOLLIN) {
		ssize_t n = wire_stream_read(&g->in, v->inst.guest_fd);
		g->heard |= n > 0;
		if (n == 0 || (n < 0 && n != -EAGAIN && n != -ENOBUFS)) {
			loop_unwatch_fd(v->loop, v->inst.guest_fd);
			return;
		}
		frames_take(v);
	}
	if (!g->paused && !g->exit && !g->ending)
		loop_change_fd(v->loop, v->inst.guest_fd, wanted(v));
}

void guest_tick(struct supervisor *v)
{
	struct guest *g = v->guest;
	uint64_t limit = v->launch->policy->limit[LIMIT_CPU];
	struct err e;
	g->frames = 0;
	g->bytes = 0;
	g->metered = false;
	if (g->paused && !g->exit && !g->ending) {
		g->paused = false;
		if (loop_watch_fd(v->loop, v->inst.guest_fd, wanted(v), on_guest, v, &e) < 0)
			broken(v, e.text);
		frames_take(v);
	}
	/* The guest's own limit strikes first, where it is the guest's to strike. */
	if (limit != UNLIMITED && v->meter.cpu_ns > limit + CPU_SLACK_NS && v->state == RUN_RUNNING) {
		char used[24];
		supervisor_limit(v, LIMIT_CPU, BASIS_SAMPLED, "the machine used %s",
				 format_ns(v->meter.cpu_ns, used, sizeof(used)));
		supervisor_kill(v, VERDICT_CPU_TIME);
	}
}

void guest_verb(struct supervisor *v, const struct verb_msg *m)
{
	uint8_t space[64];
	ssize_t n = verb_encode(m, space, sizeof(space));
	if (n < 0 || v->inst.guest_out.len - v->inst.guest_out_sent > UNREAD_MAX ||
	    (m->verb == VERB_ANSWER && !guest_may_hear(&v->guest->rules, m->id, m->decision)))
		return;
	guest_send(&v->inst, space, (size_t) n);
	if (!v->guest->paused && !v->guest->exit && !v->guest->ending)
		loop_change_fd(v->loop, v->inst.guest_fd, wanted(v));
}

/* ---- its input ---- */

static void on_stdin(void *arg, uint32_t events);

static void input_flush(struct supervisor *v)
{
	struct guest *g = v->guest;
	while (g->input_sent < g->input.len) {
		ssize_t n =
			write(v->inst.data_fd, g->input.data + g->input_sent, g->input.len - g->input_sent);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			break; /* it is gone, and nobody reads any more */
		g->input_sent += (size_t) n;
	}
	g->input.len = g->input_sent = 0;
}

static void input_put(struct guest *g, const char *bytes, size_t len)
{
	uint8_t space[INPUT_CHUNK + 64];
	const struct verb_msg m = { .verb = VERB_STDIN, .bytes = bytes, .len = len };
	ssize_t n = verb_encode(&m, space, sizeof(space));
	if (n > 0)
		wire_stream_put(&g->input, space, (size_t) n);
}

/* What it prints into this port at the end, beside what we say. */
static void on_data(void *arg, uint32_t events)
{
	struct supervisor *v = arg;
	struct guest *g = v->guest;
	if (events & EPOLLOUT)
		input_flush(v);
	if ((events & EPOLLIN) && v->inst.spool_fd >= 0) {
		if (guest_spool(&v->inst) <= 0) {
			loop_unwatch_fd(v->loop, v->inst.data_fd);
			return;
		}
		guest_printed(v);
	} else if (events & (EPOLLHUP | EPOLLERR)) {
		loop_unwatch_fd(v->loop, v->inst.data_fd);
		return;
	}
	if (g->ending)
		return;
	bool waits = g->input_sent < g->input.len;
	loop_change_fd(v->loop, v->inst.data_fd,
		       (waits ? EPOLLOUT : 0) | (v->inst.spool_fd >= 0 ? EPOLLIN : 0));
	if (!waits && g->stdin_fd >= 0)
		loop_change_fd(v->loop, g->stdin_fd, EPOLLIN);
}

static void on_stdin(void *arg, uint32_t events)
{
	struct supervisor *v = arg;
	struct guest *g = v->guest;
	char bytes[INPUT_CHUNK];
	(void) events;
	ssize_t n = read(g->stdin_fd, bytes, sizeof(bytes));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	input_put(g, bytes, n > 0 ? (size_t) n : 0);
	if (n <= 0) {
		loop_unwatch_fd(v->loop, g->stdin_fd);
		g->stdin_fd = -1;
	}
	input_flush(v);
	if (g->input_sent == g->input.len)
		return;
	if (g->stdin_fd >= 0)
		loop_change_fd(v->loop, g->stdin_fd, 0);
	loop_change_fd(v->loop, v->inst.data_fd, EPOLLOUT | (v->inst.spool_fd >= 0 ? EPOLLIN : 0));
}

static int input_start(struct supervisor *v, struct err *e)
{
	struct guest *g = v->guest;
	g->stdin_fd = v->launch->stdin_fd;
	if (g->stdin_fd < 0)
		return 0;
	(void) fcntl(g->stdin_fd, F_SETFL, O_NONBLOCK);
	return loop_watch_fd(v->loop, g->stdin_fd, EPOLLIN, on_stdin, v, e);
}

/* ---- the life ---- */

int guest_start(struct supervisor *v, struct err *e)
{
	int r;
	if (v->inst.guest_fd < 0)
		return 0;
	v->guest = xcalloc(1, sizeof(*v->guest));
	v->guest->rules = (struct guest_rules){ .policy = v->launch->policy, .answers = v->launch->answers };
	v->meter_told.cpu_ns = v->meter_told.memory_peak = UNKNOWN_U64;
	v->meter_told.processes_peak = v->meter_told.written = UNKNOWN_U64;
	if ((r = loop_watch_fd(v->loop, v->inst.guest_fd, EPOLLIN | EPOLLOUT, on_guest, v, e)) < 0 ||
	    (r = loop_watch_fd(v->loop, v->inst.data_fd, v->inst.spool_fd >= 0 ? EPOLLIN : 0, on_data, v,
			       e)) < 0)
		return r;
	return input_start(v, e);
}

void guest_stop(struct supervisor *v)
{
	if (!v->guest)
		return;
	wire_stream_done(&v->guest->in);
	buf_done(&v->guest->input);
	event_free(v->guest->exit);
	free(v->guest);
	v->guest = NULL;
}
