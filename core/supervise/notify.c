/* SPDX-License-Identifier: MIT */
/*
 * Notifications of the seccomp filter: one call of the target that waits for an answer. What is forbidden was decided
 * by the policy and by register values; what is only watched is continued, and decides nothing (seccomp_unotify(2)).
 * The answer goes out first, events and files come after it; only what must be read from the waiting target's memory
 * is read before.
 */
#include "core/supervise/supervisor.h"
#include "core/supervise/decode.h"
#include "core/supervise/predict.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS      SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

#define WHO_SLOTS  64
#define WHO_AGE_NS (100 * NS_PER_MS) /* a pid may be another's by then */

/* A task's number in its own namespace and its name: read from /proc once, kept for a moment. */
struct who {
	pid_t host, parent;
	int64_t inside;
	uint64_t at_ns;
	char command[16];
};
struct notify {
	struct supervisor *v;
	struct seccomp_notif req;
	struct decoded words;
	struct who who[WHO_SLOTS];
	struct sight sight;
	uint64_t forks; /* since the tasks were last counted */
	bool filter_told;
	uint64_t segments; /* bytes of System V memory that was asked for and granted */
};

static int64_t last_number(const char *line)
{
	int64_t n = -1;
	for (char *end; *line && *line != '\n'; line = end) {
		long v = strtol(line, &end, 10);
		if (end == line)
			break;
		n = v;
	}
	return n;
}

static const struct who *who_is(struct notify *n, pid_t host)
{
	struct who *w = &n->who[(uint32_t) host % WHO_SLOTS];
	char path[40], text[2048];
	uint64_t now = now_ns();
	if (w->host == host && now - w->at_ns < WHO_AGE_NS)
		return w;
	*w = (struct who){ .host = host, .inside = host, .parent = -1, .at_ns = now };
	snprintf(path, sizeof(path), "/proc/%d/status", host);
	if (file_read_small(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return w;
	const char *name = strstr(text, "Name:\t"), *tgid = strstr(text, "\nNStgid:");
	const char *parent = strstr(text, "\nPPid:");
	if (name)
		snprintf(w->command, sizeof(w->command), "%.*s", (int) strcspn(name + 6, "\n"), name + 6);
	if (tgid)
		w->inside = last_number(tgid + 8);
	if (parent)
		w->parent = (pid_t) strtol(parent + 6, NULL, 10);
	return w;
}

/* In the caller's own namespace; 0: us, outside of the run. -1: not known any more. */
static int64_t parent_of(struct notify *n, const struct who *w)
{
	if (w->parent <= 0 || w->parent == getpid())
		return w->parent < 0 ? -1 : 0;
	return who_is(n, w->parent)->inside;
}

/* ---- answers ---- */

/* Whether the caller took it. Else it was killed meanwhile (ENOENT), and nobody waits any more. */
static bool answer(struct notify *n, int error, uint32_t flags)
{
	struct seccomp_notif_resp resp = { .id = n->req.id, .error = -error, .flags = flags };
	return ioctl(n->v->inst.notify_fd, SECCOMP_IOCTL_NOTIF_SEND, &resp) == 0;
}

static bool go_on(struct notify *n)
{
	return answer(n, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}

/* What was read belongs to the caller only if it still waits: its pid could be another's by now. */
static bool still_waits(struct notify *n)
{
	return ioctl(n->v->inst.notify_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &n->req.id) == 0;
}

/* A credential on its way out need not be printed: it may be a host name, a path, a word of a command line. */
static void look_for_canaries(struct notify *n)
{
	const struct decoded *d = &n->words;
	char where[48];
	snprintf(where, sizeof(where), "an argument of %s", d->name);
	supervisor_canary(n->v, where, d->space, d->used); /* everything decoded from memory lies in there */
}

/* What it says is the caller's only if that waits still, or takes its answer later: see known(). */
static void look_early(struct notify *n)
{
	struct decode_in in = { .pid = (pid_t) n->req.pid, .nr = n->req.data.nr, .arch = n->req.data.arch };
	for (int k = 0; k < 6; k++)
		in.arg[k] = n->req.data.args[k];
	decode_call(&in, &n->words);
}

/* Whether what was read was the caller's: of one that took its answer, or is found to wait, it was. */
static bool known(struct notify *n, bool waited)
{
	if (waited && n->v->inst.canary.nonce[0])
		look_for_canaries(n);
	return waited;
}

/* Of one in a flood that is only counted: no planted word gets out behind it. */
static void go_on_counted(struct notify *n)
{
	if (n->v->inst.canary.nonce[0]) {
		look_early(n);
		(void) known(n, go_on(n));
	} else {
		go_on(n);
	}
}

static bool look(struct notify *n)
{
	look_early(n);
	return known(n, still_waits(n));
}

/* ---- each kind ---- */

static bool is_absent(const struct seccomp_reason *why)
{
	return why->action == SYSCALL_ABSENT || why->rule[0] == 0;
}

static void refuse(struct notify *n, const struct seccomp_reason *why)
{
	struct supervisor *v = n->v;
	bool valid = look(n), absent = is_absent(why);
	bool kill = v->launch->policy->on_denied == DENIED_KILL && !why->never_kill && !absent;
	const struct who *w = who_is(n, (pid_t) n->req.pid);
	if (kill) {
		snprintf(v->facts.policy_call, sizeof(v->facts.policy_call), "%s", n->words.name);
		supervisor_kill(v, VERDICT_POLICY);
	}
	answer(n, absent ? ENOSYS : EPERM, 0);
	if (!valid) {
		group_gone(&v->groups, EVENT_DENIED);
		return;
	}
	struct event ev = { .type = EVENT_DENIED,
			    .outcome = absent ? OUTCOME_ABSENT : OUTCOME_REFUSED,
			    .layer = LAYER_SECCOMP,
			    .basis = BASIS_ANSWERED,
			    .denied = { .pid = w->inside,
					.command = w->command,
					.call = n->words.name,
					.args = n->words.args,
					.arg_count = n->words.arg_count,
					.error = absent ? "ENOSYS" : "EPERM",
					.rule = why->rule[0] ? why->rule : "unknown call",
					.count = 1 } };
	group_emit(&v->groups, &v->feed, &ev);
}

/* ---- calls that a person is asked about ---- */

/* The caller stands still, everything else of the run goes on, its limits too. */
static void put_question(struct notify *n, const struct seccomp_reason *why)
{
	static const char *const answers[] = { "deny", "once", "run" };
	struct supervisor *v = n->v;
	const struct question what = { .req = n->req, .rule = why->rule, .allowable = why->by_value };
	const struct question *held = look(n) ? ask_hold(&v->asks, &what, now_ns()) : NULL;
	if (!held) {
		refuse(n, why);
		return;
	}
	const struct who *w = who_is(n, (pid_t) n->req.pid);
	struct event ev = { .type = EVENT_ASK,
			    .ask = { .id = held->id,
				     .pid = w->inside,
				     .command = w->command,
				     .call = n->words.name,
				     .args = n->words.args,
				     .arg_count = n->words.arg_count,
				     .rule = held->rule,
				     .deadline_s = (double) ASK_DEADLINE_NS / NS_PER_S,
				     .answers = answers,
				     .answer_count = held->allowable ? ARRAY_LEN(answers) : 1 } };
	feed_emit(&v->feed, &ev);
}

/* A run that is being ended asks nothing any more. */
static bool is_open(const struct supervisor *v)
{
	return v->state == RUN_RUNNING && v->facts.killed_for == VERDICT_NONE;
}

static void on_denied(struct notify *n, const struct seccomp_reason *why)
{
	struct supervisor *v = n->v;
	bool ask = v->launch->policy->on_denied == DENIED_ASK && !is_absent(why) && !why->never_kill;
	if (!ask || !is_open(v)) {
		refuse(n, why);
	} else if (why->by_value && ask_allowed(&v->asks, n->req.data.nr, why->rule)) {
		go_on(n);
	} else if (!v->launch->answers) {
		v->asks.not_asked[ASK_NOBODY]++;
		refuse(n, why);
	} else {
		put_question(n, why);
	}
}

/*
 * CONTINUE must never follow from what lies in the target's memory, which another thread may have changed since it was
 * looked at (seccomp_unotify(2)). Here nothing of memory is decided on: the rule, and whether the call may be allowed
 * at all, follow from its number and registers. Those are the kernel's copy of a thread that waits for us: a tracer
 * could write them only while it is stopped, and a signal that would stop it ends the wait instead, or is not taken
 * before the answer. A call that begins anew is a new notification, with another id. What the kernel says to a call
 * that is let through is its own affair: no capability comes with it.
 */
static bool allow(struct notify *n, const struct question *held, enum decision d)
{
	if (!held->allowable || !is_open(n->v) || !still_waits(n))
		return false;
	if (d == DECIDE_RUN)
		ask_allow(&n->v->asks, held);
	go_on(n);
	return true;
}

void notify_answer(struct supervisor *v, uint64_t id, enum decision d, const char *by)
{
	struct notify *n = v->notify;
	struct seccomp_reason why;
	struct question held;
	if (!n || !ask_take(&v->asks, id, &held))
		return; /* it crossed with its deadline */
	n->req = held.req;
	if (d != DECIDE_DENY && allow(n, &held, d)) {
		ask_answered(&v->feed, id, d, by, 1);
		return;
	}
	if (d !=
	    DECIDE_DENY) /* who cannot be told so is not asked for it either: the answer crossed with an end */
		by = held.allowable ? "end of the caller" : "rule: this call cannot be allowed";
	ask_answered(&v->feed, id, DECIDE_DENY, by, 1);
	seccomp_explain(&v->inst.want, n->req.data.nr, n->req.data.arch, (const uint64_t *) n->req.data.args,
			&why);
	refuse(n, &why);
}

void notify_tick(struct supervisor *v)
{
	uint64_t id, now = now_ns();
	while (v->notify && (id = ask_due(&v->asks, now)))
		notify_answer(v, id, DECIDE_DENY, "deadline");
	for (size_t k = v->asks.held_count; v->notify && k-- > 0;) {
		v->notify->req = v->asks.held[k].req;
		if (!still_waits(v->notify))
			notify_answer(v, v->asks.held[k].id, DECIDE_DENY, "end of the caller");
	}
	ask_tell(&v->asks, &v->feed);
}

void notify_deny_all(struct supervisor *v, const char *by)
{
	while (v->notify && v->asks.held_count)
		notify_answer(v, v->asks.held[0].id, DECIDE_DENY, by);
}

static void emit_network(struct notify *n, const struct decode_addr *a, enum outcome outcome,
			 enum layer layer, enum basis basis)
{
	const struct who *w = who_is(n, (pid_t) n->req.pid);
	struct event ev = { .type = EVENT_NETWORK,
			    .outcome = outcome,
			    .layer = layer,
			    .basis = basis,
			    .network = { .pid = w->inside,
					 .command = w->command,
					 .op = n->words.op,
					 .family = a->family,
					 .protocol = a->protocol,
					 .address = a->address,
					 .port = a->port,
					 .count = 1 } };
	group_emit(&n->v->groups, &n->v->feed, &ev);
}

static void on_network(struct notify *n)
{
	look_early(n);
	bool valid = known(n, go_on(n));
	if (valid)
		group_beyond(&n->v->groups, EVENT_NETWORK, n->words.addr_beyond);
	for (size_t k = 0; k < n->words.addr_count; k++) {
		const struct decode_addr *a = &n->words.addr[k];
		struct prediction p;
		if (!a->address) /* socket, listen, accept: no attempt to reach anything */
			continue;
		if (!valid) {
			group_gone(&n->v->groups, EVENT_NETWORK);
			continue;
		}
		predict_network(&n->v->inst.network, a, n->words.op, &p);
		emit_network(n, a, p.outcome, p.layer, p.basis);
	}
}

static void on_exec(struct notify *n)
{
	if (group_skip(&n->v->groups, EVENT_EXEC)) { /* a loop of them that fail */
		n->who[(uint32_t) n->req.pid % WHO_SLOTS].host = 0;
		go_on_counted(n);
		return;
	}
	look_early(n);
	struct who w = *who_is(n, (pid_t) n->req.pid); /* a copy: the parent's may take its place */
	int64_t parent = parent_of(n, &w);
	n->who[(uint32_t) n->req.pid % WHO_SLOTS].host = 0; /* it will have another name */
	if (!known(n, go_on(n))) {
		group_gone(&n->v->groups, EVENT_EXEC);
		return;
	}
	struct event ev = { .type = EVENT_EXEC,
			    .exec = { .pid = w.inside,
				      .parent = parent,
				      .path = n->words.path,
				      .argv = n->words.argv,
				      .argv_count = n->words.argv_count } };
	feed_emit(&n->v->feed, &ev);
	group_told(&n->v->groups, EVENT_EXEC);
}

static void on_file(struct notify *n)
{
	if (group_skip(&n->v->groups, EVENT_FILE)) { /* a flood costs the target no more than it must */
		go_on_counted(n);
		return;
	}
	struct prediction p;
	look_early(n);
	predict_file(&n->sight, &n->v->inst, &n->words,
		     &p); /* before the call goes on: it may make what it asks for */
	if (!known(n, go_on(n))) {
		group_gone(&n->v->groups, EVENT_FILE);
		return;
	}
	const struct who *w = who_is(n, (pid_t) n->req.pid);
	struct event ev = { .type = EVENT_FILE,
			    .outcome = p.outcome,
			    .layer = p.layer,
			    .basis = p.basis,
			    .file = { .pid = w->inside,
				      .command = w->command,
				      .op = n->words.op,
				      .path = n->words.path,
				      .flags = n->words.flags,
				      .flag_count = n->words.flag_count,
				      .count = 1 } };
	group_emit(&n->v->groups, &n->v->feed, &ev);
}

/*
 * System V segments outlive what mapped them, and touched and detached they stand in no process's sizes: their sum is
 * bounded as they are made. Freed ones still count, and one that is there already counts again, as nothing tells of
 * either: the sum is never less than what is held, so that the error is a refusal too early, not memory unseen.
 */
static bool segment_exceeds(struct notify *n, uint64_t *ret_size)
{
	const __u64 *a = n->req.data.args;
	uint64_t limit = n->v->launch->policy->limit[LIMIT_MEMORY];
	if ((uint32_t) a[0] != IPC_PRIVATE && !(a[2] & IPC_CREAT))
		return false; /* makes none */
	*ret_size = a[1];
	if (a[1] > limit || n->segments > limit - a[1])
		return true;
	n->segments += a[1];
	return false;
}

static void on_memory(struct notify *n)
{
	struct supervisor *v = n->v;
	bool valid = look(n);
	const char *name = valid && n->words.name ? n->words.name : "mmap";
	/* mmap's size is the second argument, mremap's new one the third. */
	uint64_t size = n->req.data.args[strcmp(name, "mremap") == 0 ? 2 : 1];
	char asked[24], limit[24];
	bool memfd = n->req.data.nr == SYS_memfd_create;
	v->meter.memfds |= memfd; /* from now on the samples look for them */
	if (memfd || (n->req.data.nr == SYS_shmget && !segment_exceeds(n, &size))) {
		go_on(n);
		return;
	}
	answer(n, ENOMEM, 0);
	v->facts.enomem_answered++;
	if (size > v->facts.enomem_largest)
		v->facts.enomem_largest = size;
	supervisor_limit(v, LIMIT_MEMORY, BASIS_ANSWERED, "%s of %s answered ENOMEM: %s %s", name,
			 format_bytes(size, asked, sizeof(asked)),
			 n->req.data.nr == SYS_shmget ? "with the segments before it, it exceeds"
						      : "alone it exceeds",
			 format_bytes(v->launch->policy->limit[LIMIT_MEMORY], limit, sizeof(limit)));
}

/* Whether one more task would exceed the limit. Counting walks /proc; while few forks have come since the last count
 * there is nothing to count. */
static bool fork_exceeds(struct notify *n, uint64_t limit)
{
	struct supervisor *v = n->v;
	if (limit == UNLIMITED || v->meter.tasks + ++n->forks < limit)
		return false;
	v->meter.tasks = meter_tasks(&v->meter, &v->inst);
	n->forks = 0;
	if (v->meter.tasks > v->meter.tasks_peak)
		v->meter.tasks_peak = v->meter.tasks;
	return v->meter.tasks >= limit;
}

static void on_fork(struct notify *n)
{
	struct supervisor *v = n->v;
	uint64_t limit = v->launch->policy->limit[LIMIT_PROCESSES];
	if (v->state >= RUN_STOPPING) { /* so that ending the run comes to an end */
		answer(n, EAGAIN, 0);
		return;
	}
	if (!v->inst.fork_by_supervisor || !fork_exceeds(n, limit)) {
		go_on(n);
		return;
	}
	answer(n, EAGAIN, 0);
	v->facts.eagain_answered++;
	supervisor_limit(v, LIMIT_PROCESSES, BASIS_ANSWERED,
			 "a fork at %llu of %llu tasks was answered EAGAIN",
			 (unsigned long long) v->meter.tasks, (unsigned long long) limit);
}

static void on_socket(struct notify *n)
{
	const __u64 *a = n->req.data.args;
	int fd = -1, r = netless_socket(&n->v->netless, (int) a[0], (int) a[1], (int) a[2], &fd);
	n->v->meter.helper = n->v->netless.pid;
	if (r == 0) {
		struct seccomp_notif_addfd add = { .id = n->req.id,
						   .flags = SECCOMP_ADDFD_FLAG_SEND,
						   .srcfd = (uint32_t) fd,
						   .newfd_flags = a[1] & SOCK_CLOEXEC ? O_CLOEXEC : 0 };
		r = ioctl(n->v->inst.notify_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 ? -errno : 0;
		close(fd);
		if (r == 0 || r == -ENOENT)
			return;
	}
	bool valid = look(n);
	answer(n, r == -EPERM ? EPERM : -r, 0);
	if (!valid || r != -EPERM)
		return;
	/* No namespace to be had for the helper: the address will never be known, and that is said. */
	struct decode_addr unknown = { .family = n->words.addr_count ? n->words.addr[0].family : "?",
				       .protocol = n->words.addr_count ? n->words.addr[0].protocol : NULL,
				       .port = -1 };
	emit_network(n, &unknown, OUTCOME_REFUSED, LAYER_SECCOMP, BASIS_ANSWERED);
}

/* Once: a list that stays empty from here on may be so because its own filter answers first. */
static void on_filter(struct notify *n)
{
	struct event ev = { .type = EVENT_ALERT,
			    .alert = { .kind = "filter",
				       .detail = "the program filters its own calls: what its filter refuses "
						 "is not seen here" } };
	go_on(n);
	if (!n->filter_told)
		feed_emit(&n->v->feed, &ev);
	n->filter_told = true;
}

/* ---- receiving ---- */

static void notify_one(struct notify *n)
{
	struct seccomp_reason why = { 0 };
	seccomp_explain(&n->v->inst.want, n->req.data.nr, n->req.data.arch,
			(const uint64_t *) n->req.data.args, &why);
	switch (why.watch) {
	case WATCH_NETWORK:
		on_network(n);
		break;
	case WATCH_EXEC:
		on_exec(n);
		break;
	case WATCH_FILES:
		on_file(n);
		break;
	case WATCH_MEMORY:
		on_memory(n);
		break;
	case WATCH_FORK:
		on_fork(n);
		break;
	case WATCH_SOCKET:
		on_socket(n);
		break;
	case WATCH_FILTER:
		on_filter(n);
		break;
	case WATCH_SIGNAL:
		n->v->facts.xfsz_own = true;
		if (n->req.data.nr == SYS_clone)
			on_fork(n);
		else
			go_on(n);
		break;
	case WATCH_EXIT:
		if ((pid_t) n->req.pid != n->v->inst.target_pid ||
		    !inside_exits(n->v, (int) n->req.data.args[0]))
			go_on(n);
		break;
	case WATCH_DENIED:
		on_denied(n, &why);
		break;
	default: /* the filter and the explanation differ: never let through what nobody can explain */
		why.action = SYSCALL_REFUSE;
		why.rule = "unexplained";
		on_denied(n, &why);
		break;
	}
}

/* One a round: the loop's own wait tells of the next, and keys, timers and output are served in between. */
static void notify_ready(void *arg, uint32_t events)
{
	struct notify *n = arg;
	int fd = n->v->inst.notify_fd;
	memset(&n->req, 0, sizeof(n->req)); /* the kernel refuses a used one */
	if ((events & EPOLLIN) &&
	    ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &n->req) == 0) /* else it was killed meanwhile */
		notify_one(n);
	else if (events & (EPOLLHUP | EPOLLERR)) /* no process is left under the filter (Linux 5.9) */
		loop_unwatch_fd(n->v->loop, fd);
}

void notify_start(struct supervisor *v)
{
	if (v->inst.notify_fd < 0)
		return;
	/* The answer wakes the caller on this very core: 2 us instead of 25 to 60 when another one idles. */
	(void) ioctl(v->inst.notify_fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	v->notify = xmalloc(sizeof(*v->notify)); /* not zeroed: most of it is scratch that is never touched */
	v->notify->v = v;
	v->notify->forks = v->notify->segments = 0;
	v->notify->filter_told = false;
	memset(v->notify->who, 0, sizeof(v->notify->who));
	sight_start(&v->notify->sight);
	loop_watch_near(v->loop, v->inst.notify_fd, notify_ready, v->notify);
}

void notify_stop(struct supervisor *v)
{
	if (v->notify && v->inst.notify_fd >= 0)
		loop_unwatch_fd(v->loop, v->inst.notify_fd);
	if (v->notify)
		sight_done(&v->notify->sight);
	free(v->notify);
	v->notify = NULL;
}
