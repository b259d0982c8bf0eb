/* SPDX-License-Identifier: MIT */
/*
 * The supervisor: one process, one run, a session of its own. It starts the target, keeps its limits, answers its
 * notifications, reads its meters and its output, ends it, and says how it ended. Everything it learns goes through
 * feed_emit(); everything it is told comes as a verb, and a table says which is legal when.
 */
#include "core/supervise/supervisor.h"
#include "core/supervise/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define METER_NS     (100 * NS_PER_MS)
#define MEMORY_NS    (20 * NS_PER_MS)
#define THRASHING_NS NS_PER_S

/* ---- the front end ---- */

static void on_flush(void *arg)
{
	struct supervisor *v = arg;
	v->flush_due = false;
	(void) feed_flush(&v->feed);
}

/* Each round: what waits for room goes out when there is some, what waits for company a moment later. */
static void wire_watch(struct supervisor *v)
{
	bool waits = v->feed.blocked;
	struct err e;
	if (v->feed.head && !waits && !v->flush_due) {
		v->flush_due = loop_timer(v->loop, FEED_HOLD_NS, 0, on_flush, v, &e) >= 0;
		if (!v->flush_due)
			(void) feed_flush(&v->feed);
	}
	if (waits == v->wire_waits)
		return;
	v->wire_waits = waits;
	loop_change_fd(v->loop, v->feed.wire_fd, EPOLLIN | (waits ? EPOLLOUT : 0));
}

static void on_wire(void *arg, uint32_t events)
{
	struct supervisor *v = arg;
	int fd = v->feed.wire_fd;
	struct verb_msg m;
	struct err e;
	if (events & EPOLLOUT)
		(void) feed_flush(&v->feed);
	ssize_t n = events & (EPOLLIN | EPOLLHUP | EPOLLERR)
			    ? wire_recv(fd, v->verb_space, sizeof(v->verb_space))
			    : -EAGAIN;
	if (n > 0 && verb_decode(v->verb_space, (size_t) n, &m, &e) == 0)
		supervisor_verb(v, &m);
	if (n == 0 || (n < 0 && n != -EAGAIN) ||
	    v->feed.reader_gone) { /* it died or left: nobody watches any more */
		loop_unwatch_fd(v->loop, fd);
		v->feed.reader_gone = true;
		notify_deny_all(v, "end of the front end");
		supervisor_cancel(v, "the end of its front end");
		return;
	}
	wire_watch(v);
}

static void on_signal(void *arg, int signo)
{
	struct supervisor *v = arg;
	if (signo == SIGTERM || signo == SIGINT)
		supervisor_cancel(v, "a signal to the supervisor");
	else if (signo == SIGCHLD)
		v->reap = true;
}

/* ---- timers ---- */

static void on_wall(void *arg)
{
	struct supervisor *v = arg;
	char limit[24];
	if (v->facts.ended)
		return; /* what it left is being collected */
	supervisor_limit(v, LIMIT_WALL, BASIS_ANSWERED, "%s by the supervisor's timer",
			 format_ns(v->launch->policy->limit[LIMIT_WALL], limit, sizeof(limit)));
	supervisor_kill(v, VERDICT_WALL_TIME);
}

void supervisor_counters(struct supervisor *v)
{
	const struct cgroup_reading *cg = &v->meter.cg;
	const uint64_t *limit = v->launch->policy->limit;
	char text[24];
	if (cg->oom_kills != UNKNOWN_U64 && cg->oom_kills > 0) {
		if (!v->facts.first_oom_ns)
			v->facts.first_oom_ns = now_ns() - v->feed.start_ns;
		supervisor_limit(v, LIMIT_MEMORY, BASIS_COUNTER, "oom_kill %llu",
				 (unsigned long long) cg->oom_kills);
	}
	if (cg->fork_failures != UNKNOWN_U64 && cg->fork_failures > 0)
		supervisor_limit(v, LIMIT_PROCESSES, BASIS_COUNTER, "pids.events max %llu",
				 (unsigned long long) cg->fork_failures);
	if (v->meter.space == UNKNOWN_U64)
		return;
	if (limit[LIMIT_SPACE] != UNLIMITED && v->meter.space_full) {
		v->facts.space_full = true;
		supervisor_limit(v, LIMIT_SPACE, BASIS_SAMPLED, "%s used, none free",
				 format_bytes(v->meter.space, text, sizeof(text)));
	}
	if (limit[LIMIT_INODES] != UNLIMITED && v->meter.inodes_full) {
		v->facts.inodes_full = true;
		supervisor_limit(v, LIMIT_INODES, BASIS_SAMPLED, "%llu files and folders, none free",
				 (unsigned long long) v->meter.inodes);
	}
}

/*
 * Short of memory, the kernel drops the pages of programs and libraries, which come back from their files at the next
 * instruction: as long as there are any it counts that as progress, and kills nobody, while nothing goes on. So a limit
 * is met also where all but a sixteenth cannot be dropped, and what was dropped is needed again at once, look after look.
 */
static void look_for_thrashing(struct supervisor *v)
{
	const struct cgroup_reading *cg = &v->meter.cg;
	const uint64_t limit = v->launch->policy->limit[LIMIT_MEMORY];
	struct thrashing *t = &v->thrashing;
	char pause[24];
	bool goes_on = v->state == RUN_RUNNING && limit != UNLIMITED && cg->memory != UNKNOWN_U64 &&
		       cg->memory_thrashed != UNKNOWN_U64 && cg->memory + limit / 16 >= limit &&
		       cg->memory_thrashed > t->pages;
	t->pages = cg->memory_thrashed;
	if (!goes_on)
		t->since_ns = 0;
	else if (!t->since_ns) {
		t->since_ns = now_ns();
		t->pages_before = cg->memory_thrashed;
	} else if (now_ns() - t->since_ns >= THRASHING_NS) {
		v->facts.thrashed = cg->memory_thrashed - t->pages_before;
		supervisor_limit(
			v, LIMIT_MEMORY, BASIS_COUNTER,
			"%llu pages of programs dropped and read again within %s (workingset_activate_file)",
			(unsigned long long) v->facts.thrashed,
			format_ns(now_ns() - t->since_ns, pause, sizeof(pause)));
		supervisor_kill(v, VERDICT_MEMORY);
	}
}

static void on_meter(void *arg)
{
	struct supervisor *v = arg;
	uint64_t cpu_limit = v->launch->policy->limit[LIMIT_CPU];
	meter_read(&v->meter, &v->inst);
	notify_tick(v);
	group_tick(&v->groups, &v->feed);
	output_tick(v);
	if (v->guest) {
		guest_tick(v);
	} else {
		meter_emit(&v->meter, &v->inst, &v->feed);
		supervisor_counters(v);
		look_for_thrashing(v);
	}
	if (!v->guest && cpu_limit != UNLIMITED && v->meter.cpu_ns > cpu_limit && v->state == RUN_RUNNING) {
		char used[24];
		supervisor_limit(v, LIMIT_CPU, BASIS_SAMPLED, "the tree used %s",
				 format_ns(v->meter.cpu_ns, used, sizeof(used)));
		supervisor_kill(v, VERDICT_CPU_TIME);
	}
	if (v->feed.record)
		(void) record_flush(v->feed.record);
}

/* Without a control group: the tree is measured, and stopped when it is over. */
static void on_memory(void *arg)
{
	struct supervisor *v = arg;
	uint64_t limit = v->launch->policy->limit[LIMIT_MEMORY];
	char text[24];
	if (v->state != RUN_RUNNING || !meter_memory_over(&v->meter, &v->inst, limit))
		return;
	supervisor_limit(v, LIMIT_MEMORY, BASIS_SAMPLED, "%s over the tree by proportional size",
			 format_bytes(v->meter.memory, text, sizeof(text)));
	supervisor_kill(v, VERDICT_MEMORY);
}

/* ---- the end of the target ---- */

static void on_sync(void *arg, uint32_t events)
{
	struct supervisor *v = arg;
	struct sync_msg m;
	int r;
	(void) events;
	while ((r = instance_sync(&v->inst, &m)) > 0) {
		if (m.type == SYNC_ERROR && !v->facts.setup_code) {
			v->facts.setup_code = m.err.code ? m.err.code : EIO;
			v->facts.exec_failed = str_starts(m.err.text, "execute ");
			snprintf(v->facts.setup_text, sizeof(v->facts.setup_text), "%s", m.err.text);
		} else if (m.type == SYNC_EXIT && v->guest) {
			guest_machine_ended(v, m.value);
		} else if (m.type == SYNC_EXIT) {
			v->facts.ended = true;
			v->facts.wait_status = m.value;
			v->facts.tasks_at_end = m.tasks;
			v->facts.rlimit_cpu_ns = m.rlimit_cpu_ns;
			v->meter.written_whole = m.written != UINT64_MAX;
			if (v->meter.written_whole)
				v->meter.written =
					m.written -
					(m.written < v->meter.written_base
						 ? m.written
						 : v->meter.written_base); /* of all that process 1 reaped */
			v->ended_ns = now_ns();
			meter_read(&v->meter,
				   &v->inst); /* all but process 1 is reaped, whose end takes long */
			v->meter_last = true;
		}
	}
	if (r == -EPIPE)
		loop_unwatch_fd(v->loop, v->inst.sync_fd);
}

/* Children of ours: the reaper or the target, and at a level without pid namespace whatever lost its parent. */
static bool reap_children(struct supervisor *v)
{
	bool main_gone = false;
	siginfo_t ended = { 0 };
	int status;
	pid_t pid;
	if (!v->inst.has_reaper && v->inst.pid > 0 &&
	    waitid(P_PID, (id_t) v->inst.pid, &ended, WEXITED | WNOWAIT | WNOHANG) == 0 && ended.si_pid)
		v->facts.rlimit_cpu_ns = rlimit_cpu_used(v->inst.pid);
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != v->inst.pid)
			continue;
		main_gone = true;
		v->inst.pid = 0;
		if (v->inst.has_reaper)
			continue;
		v->facts.ended = true;
		v->facts.wait_status = status;
		v->inst.target_pid = 0;
		v->ended_ns = now_ns();
	}
	if (main_gone)
		on_sync(v, 0); /* its last word may lie in the socket still */
	return main_gone;
}

/* ---- start ---- */

/* What is watched, by the filter that stands: what it does not put to us, nobody sees. */
static void lists_of(const struct supervisor *v, struct event_pair ret[LIST_MAX])
{
	static const struct {
		unsigned watch;
		const char *off;
	} lists[LIST_MAX] = {
		[LIST_DENIED] = { WATCH_DENIED, "not watched, by syscalls = off" },
		[LIST_NETWORK] = { WATCH_NETWORK, "not watched, by network = off" },
		[LIST_FILES] = { WATCH_FILES, "not watched, by files = off" },
		[LIST_EXEC] = { WATCH_EXEC, "not watched, by exec = off" },
	};
	for (int k = 0; k < LIST_MAX; k++) {
		bool asked = v->inst.want.watch & lists[k].watch;
		ret[k] = (struct event_pair){ list_kinds[k].name,
					      !asked      ? lists[k].off
					      : v->notify ? LIST_WATCHED
							  : "cannot be seen here: no notifications" };
	}
}

void supervisor_tell_start(struct supervisor *v)
{
	const struct launch *l = v->launch;
	struct event_pair lists[LIST_MAX];
	const struct event *told = v->inst.told;
	lists_of(v, lists);
	struct event ev = { .type = EVENT_START,
			    .start = { .argv = (const char *const *) v->inst.argv,
				       .argv_count = strv_len(v->inst.argv),
				       .preset = l->policy->name,
				       .backend = l->policy->backend,
				       .language = l->language ? l->language->name : NULL,
				       .title = l->title,
				       .recording = v->feed.record ? record_path(v->feed.record) : NULL,
				       .limits = v->inst.limits,
				       .limit_count = LIMIT_MAX,
				       .layers = v->inst.layers,
				       .layer_count = v->inst.layer_count,
				       .lists = told ? told->start.lists : lists,
				       .list_count = told ? told->start.list_count : LIST_MAX } };
	feed_emit(&v->feed, &ev);
}

int supervisor_watch(struct supervisor *v, struct err *e)
{
	int r;
	if ((r = v->inside ? relay_start(v, e) : output_start(v, e)) < 0 ||
	    (r = loop_watch_fd(v->loop, v->inst.sync_fd, EPOLLIN, on_sync, v, e)) < 0 ||
	    (r = typing_start(v, e)) < 0)
		return r;
	notify_start(v);
	return 0;
}

int supervisor_timers(struct supervisor *v, struct err *e)
{
	const uint64_t *limit = v->launch->policy->limit;
	int r;
	/* Inside a machine the first look waits until most programs have said their first word. */
	if ((r = loop_timer(v->loop, v->inside ? 3 * METER_NS : METER_NS, METER_NS, on_meter, v, e)) < 0)
		return r;
	if (limit[LIMIT_WALL] != UNLIMITED &&
	    (r = loop_timer(v->loop, limit[LIMIT_WALL], 0, on_wall, v, e)) < 0)
		return r;
	if (v->inst.memory_by_supervisor &&
	    (r = loop_timer(v->loop, MEMORY_NS, MEMORY_NS, on_memory, v, e)) < 0)
		return r;
	return 0;
}

static void on_progress(void *arg, const char *what)
{
	struct supervisor *v = arg;
	struct event ev = { .type = EVENT_PROGRESS, .progress = { .text = what } };
	feed_emit(&v->feed, &ev);
}

static int record_begin(struct supervisor *v, struct err *e)
{
	int r;
	if (v->launch->no_record || (r = record_create(v->launch, &v->feed.record, e)) >= 0)
		return 0;
	return v->launch->record_path ? r : need_refuse(e, NEED_STATE);
}

int supervisor_begin(struct supervisor *v, struct err *e)
{
	const struct backend *b;
	sigset_t set;
	int r;
	v->state = RUN_STARTING;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if ((r = loop_new(&v->loop, e)) < 0 || (r = loop_watch_signals(v->loop, &set, on_signal, v, e)) < 0 ||
	    (r = backend_find(v->launch->policy->backend, &b, e)) < 0)
		return r;
	if (!v->launch->spare && (r = record_begin(v, e)) < 0)
		return r;
	instance_init(&v->inst, b, v->launch);
	v->inst.progress = (struct progress){ on_progress, supervisor_given_up, v };
	if ((r = b->start(v->launch, &v->inst, e)) < 0)
		return r;
	/* From here on nothing of ours can be read by a process of the same user that the target might be. Not before:
	 * the child is a copy, and its id maps could not be written. */
	(void) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	meter_start(&v->meter, &v->inst);
	return 0;
}

/* ---- a spare: all is ready, and somebody will say what for ---- */

/* The launch's frames, from a front end that takes its time. */
static int spare_await(struct supervisor *v, struct launch **ret, struct err *e)
{
	struct buf whole = { 0 };
	struct verb_msg m;
	int r = 0;
	while (r == 0) {
		struct pollfd p[2] = { { .fd = v->feed.wire_fd, .events = POLLIN },
				       { .fd = v->inst.sync_fd, .events = POLLIN } };
		if (poll(p, 2, -1) < 0)
			continue;
		ssize_t n =
			p[1].revents ? 0 : wire_recv(v->feed.wire_fd, v->verb_space, sizeof(v->verb_space));
		if (n == -EAGAIN)
			continue;
		if (n <= 0)
			r = err_say(e, ECANCELED,
				    p[1].revents ? "the machine that was kept ready ended"
						 : "the front end is gone");
		else if ((r = verb_decode(v->verb_space, (size_t) n, &m, e)) >= 0 && m.verb == VERB_LAUNCH)
			r = pack_take(&whole, m.bytes, m.len, e);
	}
	if (r > 0)
		r = launch_unpack(&whole, ret, e);
	buf_done(&whole);
	return r;
}

static int spare_adopt(struct supervisor *v, struct err *e)
{
	const struct launch *made_for = v->launch;
	struct launch *l;
	int r;
	if ((r = v->inst.backend->spare(&v->inst, e)) < 0)
		return r;
	on_progress(v, SPARE_READY);
	if ((r = spare_await(v, &l, e)) < 0)
		return r;
	l->policy = made_for->policy; /* by which it was chosen */
	v->launch = l;
	v->feed.terse = l->terse;
	if ((r = record_begin(v, e)) < 0)
		return r;
	return v->inst.backend->adopt(&v->inst, l, e);
}

static int start(struct supervisor *v, struct err *e)
{
	int r;
	if ((r = supervisor_begin(v, e)) < 0 || (v->launch->spare && (r = spare_adopt(v, e)) < 0) ||
	    (r = supervisor_watch(v, e)) < 0 ||
	    (r = loop_watch_fd(v->loop, v->feed.wire_fd, EPOLLIN, on_wire, v, e)) < 0 ||
	    (r = supervisor_timers(v, e)) < 0 || (r = guest_start(v, e)) < 0)
		return r;
	v->feed.start_ns = now_ns();
	clock_gettime(CLOCK_REALTIME_COARSE, &v->began);
	v->state = RUN_RUNNING;
	if ((r = v->inst.backend->release(&v->inst, e)) == 0)
		supervisor_tell_start(
			v); /* the target is on its way: nothing of it is read before the loop */
	return r;
}

/* ---- the process ---- */

/* Out of the terminal's reach: no signal of its keys, no write to it, none of the front end's descriptors. */
static void process_part(const struct launch *l, int *wire_fd, int *stdin_fd)
{
	setsid();
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	prctl(PR_SET_NAME, "belljar-run", 0, 0, 0);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* To fixed places, then everything else goes at once. */
	int in = l->stdin_fd >= 0 ? fcntl(l->stdin_fd, F_DUPFD, 5) : -1, wire = fcntl(*wire_fd, F_DUPFD, 5);
	int null = open("/dev/null", O_RDWR);
	for (int k = 0; k < 3 && null >= 0; k++)
		dup2(null, k);
	*wire_fd = dup2(wire, 3);
	*stdin_fd = in >= 0 ? dup2(in, 4) : -1;
	close_range(*stdin_fd >= 0 ? 5 : 4, ~0U, 0);
	fcntl(*wire_fd, F_SETFD, FD_CLOEXEC);
	if (*stdin_fd >= 0)
		fcntl(*stdin_fd, F_SETFD, FD_CLOEXEC);
}

/* 0: it goes on. */
int supervisor_round(struct supervisor *v)
{
	struct err e;
	if (loop_once(v->loop, -1, &e) < 0)
		return 1;
	output_pace(v);
	if (!v->feed.reader_gone)
		wire_watch(v);
	if (!v->reap)
		return 0;
	v->reap = false;
	return reap_children(v);
}

static void start_failed(struct supervisor *v, const struct err *e)
{
	if (v->facts.killed_for != VERDICT_NONE)
		return; /* it was given up */
	v->facts.setup_code = e->code ? e->code : EIO;
	v->facts.exec_failed = v->inst.program_missing;
	snprintf(v->facts.setup_text, sizeof(v->facts.setup_text), "%s", e->text);
}

_Noreturn void supervisor_main(const struct launch *l, int wire_fd)
{
	struct supervisor *v = xcalloc(1, sizeof(*v));
	struct launch launch = *l;
	struct err e;
	process_part(l, &wire_fd, &launch.stdin_fd);
	v->launch = &launch;
	v->output.fd[0] = v->output.fd[1] = -1;
	feed_init(&v->feed, wire_fd);
	v->feed.terse = l->terse;
	v->facts.tasks_at_end = v->facts.rlimit_cpu_ns = UNKNOWN_U64;
	if (start(v, &e) < 0) {
		start_failed(v, &e);
	} else {
		v->started = true;
		if (v->inst.tty_fd < 0 && !v->guest)
			close_fd(&launch.stdin_fd); /* the target has its own */
		while (supervisor_round(v) == 0)
			;
	}
	supervisor_finish(v);
	_exit(0);
}
