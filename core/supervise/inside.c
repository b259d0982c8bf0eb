/* SPDX-License-Identifier: MIT */
/*
 * The supervisor inside a machine of its own. It puts its target up, confined, long before there is anything to run: what
 * waits there is saved with the machine, and each run goes on from a copy. Told what to run, it makes the copy one of its
 * own (clock, random numbers, files), and from then on it is the supervisor that it is everywhere else, less what its
 * host can do better: the wall limit, the output's limit, the recording.
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
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STAGE     "/usr/lib/belljar/stage"
#define STAGE_PY  "/usr/lib/belljar/stage.py"
#define PYTHON    "/usr/bin/python3"
#define WARM_RUNS 2
#define CODE_TOLD (32u << 10) /* more of it an interpreter reads from its file */

/* ---- what it may use of the processor ---- */

/* What the interpreter needs until it waits may be more than the program is to have. The host does not wait for ever. */
static void cpu_limit_lift(const struct supervisor *v)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	(void) prlimit(v->inst.target_pid, RLIMIT_CPU, &none, NULL);
}

/* What it has used before is not the program's. Where the kernel will not have the limit, nothing is run. */
static int cpu_limit_begin(const struct supervisor *v, struct err *e)
{
	uint64_t limit = v->launch->policy->limit[LIMIT_CPU], used = rlimit_cpu_used(v->inst.target_pid);
	struct rlimit lim;
	if (limit == UNLIMITED)
		return 0;
	if (used == UINT64_MAX)
		return err_say(e, ESRCH, "what waits in the machine is gone");
	lim.rlim_cur = (limit + NS_PER_S - 1) / NS_PER_S + (used + NS_PER_S - 1) / NS_PER_S;
	lim.rlim_max = lim.rlim_cur + 1; /* as everywhere: equal ones end in SIGKILL */
	return prlimit(v->inst.target_pid, RLIMIT_CPU, &lim, NULL) < 0
		       ? err_set(e, errno, "limit the CPU time of what waits")
		       : 0;
}

/* ---- telling the stage ---- */

static int program_check(struct supervisor *v, const struct inside_go *go, struct err *e)
{
	if (v->inside->python || faccessat(v->inst.root_dirfd, go->argv[0] + 1, X_OK, 0) == 0)
		return 0;
	v->inst.program_missing = true;
	return err_say(e, errno,
		       "%s is not in this machine's image; [microvm] languages = names what is to be in it",
		       go->argv[0]);
}

static void words_add(struct buf *b, char *const *words)
{
	for (; words && *words; words++)
		buf_add(b, *words, strlen(*words) + 1);
}

/* See stage.c for the form. It reads while we write, so a blocking write comes to its end. */
static int stage_tell(struct supervisor *v, const struct inside_go *go, struct err *e)
{
	struct buf b = { 0 };
	const size_t code_len = v->inside->python && go->code_len <= CODE_TOLD ? go->code_len : 0;
	const uint32_t counts[] = { (uint32_t) strv_len(go->argv), (uint32_t) strv_len(go->env),
				    (uint32_t) code_len };
	uint32_t len = 0;
	buf_add(&b, &len, sizeof(len));
	buf_add(&b, counts, sizeof(counts));
	const char *cwd = go->warm ? "" : "/workspace";
	buf_add(&b, cwd, strlen(cwd) + 1);
	words_add(&b, go->argv);
	words_add(&b, go->env);
	buf_add(&b, go->code, code_len);
	len = (uint32_t) (b.len - sizeof(len));
	memcpy(b.data, &len, sizeof(len));
	int r = write_all(v->inside->stdin_fd, b.data, b.len);
	buf_done(&b);
	if (go->input)
		(void) fcntl(v->inside->stdin_fd, F_SETFL, O_NONBLOCK);
	return r < 0 ? err_set(e, -r, "tell the stage what to run") : 0;
}

/* ---- the end ---- */

static int still_here(struct supervisor *v)
{
	struct err e;
	return loop_once(v->loop, -1, &e); /* the host ends the machine */
}

/* Said last: how much was printed, so that the host knows when it has all of it, and how it ended. */
static _Noreturn void last_words(struct supervisor *v)
{
	const struct inside_streams streams = { .bytes = { v->inside->sent[0], v->inside->sent[1],
							   v->inside->sent_files } };
	struct verdict_space space;
	struct event ev;
	uint8_t frame[64];
	feed_frame(&v->feed, frame, inside_streams_encode(&streams, frame, sizeof(frame)));
	verdict_make(&v->facts, v->inst.limits, &ev, &space);
	feed_emit(&v->feed, &ev);
	feed_drain(&v->feed);
	while (still_here(v) >= 0)
		;
	for (;;)
		pause();
}

static _Noreturn void failed(struct supervisor *v, const struct err *e)
{
	v->feed.mute = false;
	v->facts.setup_code = e->code ? e->code : EIO;
	v->facts.exec_failed = v->inst.program_missing;
	snprintf(v->facts.setup_text, sizeof(v->facts.setup_text), "%s", e->text);
	supervisor_error(v, e->text);
	last_words(v);
}

/*
 * The target asks to end. Nothing of it is wanted any more, and the host is about to throw the machine away: to take the
 * process apart first would cost more than everything else after its last line.
 */
bool inside_exits(struct supervisor *v, int status)
{
	if (!v->inside->going || v->launch->output_dir || v->launch->project_dir || v->state != RUN_RUNNING)
		return false;
	v->facts.ended = true;
	v->facts.wait_status = (status & 0xff) << 8;
	v->ended_ns = now_ns();
	v->inside->exits = true;
	return true;
}

/* The blocking way: nothing else is left to do, and the host waits for it. */
void inside_collect(struct supervisor *v, const struct collector *to)
{
	uint8_t frame[2] = { INSIDE_ENDED, WIRE_VERSION };
	struct err e;
	feed_frame(&v->feed, frame, sizeof(frame));
	(void) fcntl(v->inside->data_fd, F_SETFL, 0);
	struct sending sending = { .fd = v->inside->data_fd };
	if (collect_send(&v->inst, v->launch, to, &sending, &e) < 0)
		supervisor_error(v, e.text);
	v->inside->sent_files = sending.sent;
}

static _Noreturn void finish(struct supervisor *v)
{
	if (v->inside->exits) {
		supervisor_gather(v);
		relay_finish(v);
	} else {
		supervisor_end(v);
	}
	last_words(v);
}

/* ---- what the host says ---- */

/* Everything is looked at as at the end of a run, and what was seen is let go. */
static void look_once(struct supervisor *v)
{
	struct verdict_space space;
	struct event ev;
	supervisor_gather(v);
	verdict_make(&v->facts, v->inst.limits, &ev, &space);
	(void) event_encode(&ev, v->feed.space, sizeof(v->feed.space));
}

/* A run that is told to nobody, in a machine that is kept ready: what is used for the first time is used now, on the way
 * out as well. */
static void go_warm(struct supervisor *v, const struct inside_go *go)
{
	struct err e;
	if (inside_own(v, go, &e) < 0 || stage_tell(v, go, &e) < 0)
		failed(v, &e);
	v->inside->warmed = true;
	look_once(v);
}

static void facts_begin(struct supervisor *v)
{
	memset(v->inside->sent, 0, sizeof(v->inside->sent));
	memset(&v->facts, 0, sizeof(v->facts));
	v->facts.tasks_at_end = v->facts.rlimit_cpu_ns = UNKNOWN_U64;
	group_tick(&v->groups, &v->feed); /* told to nobody */
	meter_begin(&v->meter, &v->inst);
}

static void on_data(void *arg, uint32_t events);

static void go(struct supervisor *v)
{
	struct inside_go *go = &v->inside->go;
	struct err e;
	int r = inside_go_unpack(&v->inside->whole, go, &e);
	v->inside->whole.len = 0;
	if (r >= 0 && v->inside->warmed) {
		inside_own_forget(v); /* what the first run left is not the next one's */
		facts_begin(v);
		r = cpu_limit_begin(v, &e);
	}
	if (r >= 0 && go->warm) {
		go_warm(v, go);
		return;
	}
	v->groups.keyed = false; /* each copy has a secret of its own */
	v->inside->going = true;
	v->feed.mute = false;
	v->feed.start_ns = now_ns();
	v->state = RUN_RUNNING;
	if (r < 0 || program_check(v, go, &e) < 0 || inside_own(v, go, &e) < 0)
		failed(v, &e);
	if (go->output)
		v->inside->launch->output_dir = (char *) "/out";
	clock_gettime(CLOCK_REALTIME_COARSE, &v->began);
	meter_given(&v->meter, v->inside->code_files, go->code_len);
	if (stage_tell(v, go, &e) < 0 || supervisor_timers(v, &e) < 0)
		failed(v, &e);
	/* Not before: where the launch comes in parts its input may come first, and its end with it. */
	if (!go->input)
		close_fd(&v->inside->stdin_fd);
	else if (loop_watch_fd(v->loop, v->inside->data_fd, EPOLLIN, on_data, v, &e) < 0)
		failed(v, &e);
}

static void on_frame(struct supervisor *v, const void *frame, size_t len)
{
	struct verb_msg m;
	struct err e;
	if (verb_decode(frame, len, &m, &e) < 0)
		return;
	if (m.verb != VERB_LAUNCH)
		supervisor_verb(v, &m);
	else if (!v->inside->going && pack_take(&v->inside->whole, m.bytes, m.len, &e) > 0)
		go(v);
}

static void on_control(void *arg, uint32_t events)
{
	struct supervisor *v = arg;
	const void *frame;
	ssize_t n;
	if (events & EPOLLOUT)
		(void) feed_flush(&v->feed);
	if ((events & EPOLLIN) && (n = wire_stream_read(&v->inside->control, v->feed.wire_fd)) == 0)
		loop_unwatch_fd(v->loop, v->feed.wire_fd);
	while ((n = wire_stream_next(&v->inside->control, &frame)) > 0)
		on_frame(v, frame, (size_t) n);
}

/*
 * Awake until the launch comes, so that it is awake in every copy as well: the way out of the idle loop is long, and where
 * instructions are translated each new one costs a microsecond. It is for as long as it takes to save the machine.
 */
static void await_launch(struct supervisor *v)
{
	ssize_t n;
	while ((n = wire_stream_read(&v->inside->control, v->feed.wire_fd)) == -EAGAIN)
		;
	if (n > 0)
		on_control(v, 0);
}

/* ---- the target's input ---- */

static void input_flush(struct supervisor *v);

static void on_room(void *arg, uint32_t events)
{
	(void) events;
	input_flush(arg);
}

static void on_data(void *arg, uint32_t events)
{
	struct supervisor *v = arg;
	(void) events;
	if (wire_stream_read(&v->inside->data, v->inside->data_fd) == 0)
		loop_unwatch_fd(v->loop, v->inside->data_fd);
	input_flush(v);
}

/* The pipe is full: the port waits until the target has read. */
static void input_wait(struct supervisor *v)
{
	struct err e;
	if (v->inside->input_waits)
		return;
	v->inside->input_waits = true;
	loop_unwatch_fd(v->loop, v->inside->data_fd);
	(void) loop_watch_fd(v->loop, v->inside->stdin_fd, EPOLLOUT, on_room, v, &e);
}

static void input_go_on(struct supervisor *v)
{
	struct err e;
	if (!v->inside->input_waits)
		return;
	v->inside->input_waits = false;
	if (v->inside->stdin_fd >= 0)
		loop_unwatch_fd(v->loop, v->inside->stdin_fd);
	(void) loop_watch_fd(v->loop, v->inside->data_fd, EPOLLIN, on_data, v, &e);
}

static void input_end(struct supervisor *v)
{
	if (v->inside->input_waits)
		loop_unwatch_fd(v->loop, v->inside->stdin_fd);
	close_fd(&v->inside->stdin_fd); /* whoever reads comes to the end */
}

static void input_flush(struct supervisor *v)
{
	struct inside *in = v->inside;
	const void *frame;
	struct verb_msg m;
	struct err e;
	for (;;) {
		while (in->input.len > in->input_sent && in->stdin_fd >= 0) {
			ssize_t n = write(in->stdin_fd, in->input.data + in->input_sent,
					  in->input.len - in->input_sent);
			if (n < 0 && errno == EAGAIN) {
				input_wait(v);
				return;
			}
			if (n < 0 && errno != EINTR)
				input_end(v); /* nobody reads any more */
			in->input_sent += n > 0 ? (size_t) n : 0;
		}
		in->input.len = in->input_sent = 0;
		ssize_t n = wire_stream_next(&in->data, &frame);
		if (n <= 0)
			break;
		if (verb_decode(frame, (size_t) n, &m, &e) < 0 || m.verb != VERB_STDIN)
			continue;
		if (m.len)
			buf_add(&in->input, m.bytes, m.len);
		else
			input_end(v);
	}
	input_go_on(v);
}

/* ---- the life ---- */

/* The policy, from a host that has put it into the port before the machine was switched on. */
static int setup_read(struct supervisor *v, struct inside_setup *ret, struct err *e)
{
	struct inside *in = v->inside;
	const void *frame;
	struct verb_msg m;
	for (;;) {
		ssize_t n = wire_stream_next(&in->control, &frame);
		if (n == -EAGAIN) {
			struct pollfd p = { .fd = v->feed.wire_fd, .events = POLLIN };
			if (poll(&p, 1, -1) < 0 && errno != EINTR)
				return err_set(e, errno, "wait for the host");
			n = wire_stream_read(&in->control, v->feed.wire_fd);
			if (n == 0 || (n < 0 && n != -EAGAIN))
				return err_say(e, EPIPE, "the host is not there");
			continue;
		}
		int r = n < 0 ? (int) n : verb_decode(frame, (size_t) n, &m, e);
		if (r < 0 || m.verb != VERB_LAUNCH)
			return err_say(e, EPROTO, "the host said something else than what is to be set up");
		if ((r = pack_take(&in->whole, m.bytes, m.len, e)) < 0)
			return r;
		if (r > 0)
			break;
	}
	int r = inside_setup_unpack(&in->whole, ret, e);
	in->whole.len = 0;
	return r;
}

static void launch_of(const struct inside_setup *s, int stdin_fd, struct launch *ret)
{
	struct launch *l = launch_new();
	l->policy = s->policy;
	l->argv = s->waiting == WAITING_PYTHON ? strv_add(strv_add(strv_add(NULL, PYTHON), "-u"), STAGE_PY)
					       : strv_add(NULL, STAGE);
	l->output_dir = xstrdup("/out");
	l->title = xstrdup("stage");
	l->no_record = l->watch_exit = true;
	l->stdin_fd = stdin_fd;
	l->tty = s->waiting == WAITING_TERMINAL;
	*ret = *l;
	free(l);
}

static int stage_await(struct supervisor *v, struct err *e)
{
	while (!v->inside->waiting)
		if (supervisor_round(v) != 0)
			return err_say(e, ECHILD, "what is to wait in the machine ended: %s",
				       v->facts.setup_text[0] ? v->facts.setup_text : "it could not start");
	return 0;
}

static int stage_start(struct supervisor *v, struct err *e)
{
	int r;
	if ((r = supervisor_begin(v, e)) < 0)
		return r;
	cpu_limit_lift(v);
	if ((r = supervisor_watch(v, e)) < 0 ||
	    (r = loop_watch_fd(v->loop, v->feed.wire_fd, EPOLLIN, on_control, v, e)) < 0 ||
	    (r = v->inst.backend->release(&v->inst, e)) < 0)
		return r;
	v->started = true;
	return stage_await(v, e);
}

/* What a run does is done before the machine is saved, so that each copy finds it done: what is allocated at first use and
 * looked up for the first time is there, and a shell and its library are in memory. */
static int stage_warm(struct supervisor *v, struct err *e)
{
	static const char code[] = "import sys\nprint('ready', flush=True)\n";
	char *python[] = { (char *) PYTHON, (char *) "-u", (char *) "/workspace/main.py", NULL };
	char *program[] = { (char *) "/usr/bin/sh", (char *) "-c", (char *) "echo ready", NULL };
	const bool is_python = v->inside->python;
	const struct inside_go go = { .argv = is_python ? python : program,
				      .code = is_python ? (char *) code : NULL,
				      .code_len = is_python ? strlen(code) : 0,
				      .warm = true };
	int r = 0;
	for (int n = 0; r >= 0 && n < WARM_RUNS && !v->launch->tty; n++) {
		v->inside->waiting = false;
		if ((r = stage_tell(v, &go, e)) >= 0 && (r = stage_await(v, e)) >= 0)
			look_once(v);
	}
	return r;
}

_Noreturn void supervisor_inside(const struct inside_ports *ports)
{
	struct supervisor *v = xcalloc(1, sizeof(*v));
	struct inside in = { .port_fd = { ports->stdout_fd, ports->stderr_fd },
			     .data_fd = ports->data_fd,
			     .random_fd = -1,
			     .code_fd = -1 };
	struct inside_setup setup;
	struct launch launch;
	struct err e;
	int stdin_pipe[2];
	v->inside = &in;
	v->launch = in.launch = &launch;
	v->output.fd[0] = v->output.fd[1] = -1;
	v->facts.tasks_at_end = v->facts.rlimit_cpu_ns = UNKNOWN_U64;
	feed_init(&v->feed, ports->control_fd);
	v->feed.stream = true;
	signal(SIGPIPE, SIG_IGN);
	if (ports->failed) {
		e = *ports->failed;
		failed(v, &e);
	}
	v->feed.mute = true;
	if (setup_read(v, &setup, &e) < 0)
		failed(v, &e);
	if (pipe2(stdin_pipe, O_CLOEXEC) < 0) {
		err_set(&e, errno, "make a pipe");
		failed(v, &e);
	}
	in.stdin_fd = stdin_pipe[1];
	in.python = setup.waiting == WAITING_PYTHON;
	launch_of(&setup, stdin_pipe[0], &launch);
	if (stage_start(v, &e) < 0 || stage_warm(v, &e) < 0)
		failed(v, &e);
	if (!launch.tty)
		close_fd(&launch.stdin_fd);
	if (inside_own_begin(v, &e) < 0 || cpu_limit_begin(v, &e) < 0)
		failed(v, &e);
	facts_begin(v);
	v->feed.mute = false;
	supervisor_tell_start(v); /* that all stands: now the machine may be saved */
	(void) feed_flush(&v->feed);
	v->feed.mute = true;
	group_tick(&v->groups, &v->feed); /* what the stage did is no part of any run */
	launch.output_dir = NULL;         /* until somebody asks for what is in it */
	await_launch(v);
	while (!v->inside->exits && supervisor_round(v) == 0)
		;
	finish(v);
}
