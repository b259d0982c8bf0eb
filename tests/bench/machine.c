/* SPDX-License-Identifier: MIT */
/*
 * machine VERB VMLINUX INITRD ROOT DATA [N]: a machine without anything that belljar runs in it, whose process 1 is
 * tests/probes/vm_agent.c.
 *   make  a snapshot of it, kept or made          run   N restores one after another, and how long each took
 *   hold  one restore: its pid, then until the standard input ends
 *   long  one restore that is greeted with more than a port takes at once
 * Exits 0 when all went as it should.
 */
#include "core/backend/vm.h"

#include "core/base/base.h"
#include "core/model/model.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MEMORY   (UINT64_C(160) << 20)
#define TRIAL    "it works\n"
#define RUNS_MAX 1000
#define LONG_LEN (1u << 20)

static _Noreturn void fail(const struct err *e)
{
	fprintf(stderr, "machine: %s\n", e->text);
	exit(1);
}

/* What the agent is told: 'S' to say an event's frame, 'P' to print. */
static void tell(struct buf *out, char letter, const void *bytes, size_t len)
{
	uint32_t length = (uint32_t) len + 1;
	buf_add(out, &length, sizeof(length));
	buf_add(out, &letter, 1);
	buf_add(out, bytes, len);
}

static void tell_event(struct buf *out, const struct event *ev)
{
	static char frame[WIRE_FRAME_MAX];
	struct buf stream = { 0 };
	ssize_t len = event_encode(ev, frame, sizeof(frame));
	if (len < 0)
		abort();
	wire_stream_put(&stream, frame, (size_t) len);
	tell(out, 'S', stream.data, stream.len);
	buf_done(&stream);
}

static int file_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		perror(path);
		exit(2);
	}
	return fd;
}

static void want_make(char **argv, struct snapshot_want *w, struct guest_parts *parts, struct buf text[2])
{
	static char key[65];
	struct err e;
	struct event start = { .type = EVENT_START,
			       .seq = 1,
			       .start = { .preset = "none", .backend = "none" } };
	struct event end = { .type = EVENT_EXIT, .seq = 2, .exit = { .verdict = VERDICT_OK } };
	struct buf identity = { 0 };
	struct launch *l = launch_new();
	const char *why;
	parts->vmlinux = argv[0];
	tell_event(&text[0], &start);
	tell(&text[1], 'P', TRIAL, strlen(TRIAL));
	tell_event(&text[1], &end);
	*w = (struct snapshot_want){ .parts = parts,
				     .memory = MEMORY,
				     .initrd = argv[1],
				     .root_fd = file_open(argv[2]),
				     .data_fd = file_open(argv[3]),
				     .key = key,
				     .label = "a machine with nothing in it",
				     .setup = text[0].data,
				     .setup_len = text[0].len,
				     .trial = text[1].data,
				     .trial_len = text[1].len,
				     .trial_out = TRIAL,
				     .launch = l };
	if (preset_load("namespaces", &l->policy, &e) < 0 || machine_tsc_khz(&w->tsc_khz, &e) < 0 ||
	    machine_accel(ACCEL_TCG, &w->accel, &why, &e) < 0 ||
	    vm_identity(&(struct vm_want){ .accel = w->accel, .memory = MEMORY, .tsc_khz = w->tsc_khz },
			&identity, &e) < 0)
		fail(&e);
	for (int k = 0; k < 2; k++)
		buf_printf(&identity, "%s\n", argv[k]);
	sha256_hex(identity.data, identity.len, key);
	buf_done(&identity);
}

static double ms_since(uint64_t begin)
{
	return (double) (now_ns() - begin) / (double) NS_PER_MS;
}

static bool read_until(struct vm *m, enum vm_port port, size_t len)
{
	static char text[LONG_LEN];
	struct pollfd p = { .fd = m->port_fd[port], .events = POLLIN };
	for (size_t got = 0; got < len;) {
		ssize_t n = poll(&p, 1, 60000) > 0 ? read(p.fd, text, sizeof(text)) : 0;
		if (n <= 0)
			return false;
		got += (size_t) n;
	}
	return true;
}

struct result {
	double start_ms, out_ms, exit_ms;
};

static struct vm_want restore_of(const struct snapshot_want *w, const struct snapshot *s)
{
	return (struct vm_want){ .accel = w->accel,
				 .memory = w->memory,
				 .tsc_khz = w->tsc_khz,
				 .root_fd = w->root_fd,
				 .data_fd = w->data_fd,
				 .ram_fd = s->ram_fd,
				 .state_fd = s->state_fd,
				 .hello = w->trial,
				 .hello_len = w->trial_len };
}

/* One restore. Its snapshot is opened anew, as the place in the state is the descriptor's. */
static void run_once(const struct snapshot_want *w, bool hold, struct result *ret)
{
	struct snapshot s;
	struct instance i;
	struct err e;
	struct vm m;
	char go;
	if (snapshot_get(w, &s, &e) < 0)
		fail(&e);
	struct vm_want restore = restore_of(w, &s);
	instance_init(&i, NULL, w->launch);
	uint64_t begin = now_ns();
	if (vm_start(&i, &restore, &m, &e) < 0)
		fail(&e);
	ret->start_ms = ms_since(begin);
	if (!read_until(&m, VM_STDOUT, strlen(TRIAL))) {
		vm_why(&m, &e);
		fail(&e);
	}
	ret->out_ms = ms_since(begin);
	if (!read_until(&m, VM_CONTROL, 1)) {
		vm_why(&m, &e);
		fail(&e);
	}
	ret->exit_ms = ms_since(begin);
	if (hold) {
		printf("pid %d\nprocess 1 %d\n", i.target_pid, i.pid);
		fflush(stdout);
		(void) !read(0, &go, 1);
	}
	(void) child_end(&i);
	instance_done(&i);
	vm_done(&m);
	snapshot_done(&s);
}

/* The rest of a long greeting is written while the machine reads what came before. */
static void run_long(struct snapshot_want *w)
{
	struct buf text = { 0 };
	struct snapshot s;
	struct instance i;
	struct err e;
	struct vm m;
	char *zeros = xcalloc(1, LONG_LEN - 1);
	tell(&text, 'P', zeros, LONG_LEN - 1);
	free(zeros);
	if (snapshot_get(w, &s, &e) < 0)
		fail(&e);
	struct vm_want restore = restore_of(w, &s);
	restore.hello = text.data;
	restore.hello_len = text.len;
	instance_init(&i, NULL, w->launch);
	if (vm_start(&i, &restore, &m, &e) < 0)
		fail(&e);
	size_t first = m.hello_sent;
	while (m.hello_sent < text.len) {
		struct pollfd p = { .fd = m.port_fd[VM_CONTROL], .events = POLLOUT };
		ssize_t n = poll(&p, 1, 60000) > 0 ? send(p.fd, text.data + m.hello_sent,
							  text.len - m.hello_sent, MSG_NOSIGNAL)
						   : -1;
		if (n <= 0)
			break;
		m.hello_sent += (size_t) n;
	}
	bool all = read_until(&m, VM_STDOUT, LONG_LEN - 1);
	(void) child_end(&i);
	instance_done(&i);
	vm_done(&m);
	snapshot_done(&s);
	buf_done(&text);
	printf("%zu of %u bytes before the start, %s\n", first, LONG_LEN, all ? "all came" : "not all came");
	exit(all && first < LONG_LEN ? 0 : 1);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *) a, y = *(const double *) b;
	return (x > y) - (x < y);
}

static void report(const char *what, double *ms, size_t count)
{
	qsort(ms, count, sizeof(*ms), compare);
	printf("%s: median %.1f, least %.1f, most %.1f ms\n", what, ms[count / 2], ms[0], ms[count - 1]);
}

static void run_many(const struct snapshot_want *w, size_t count)
{
	static double start[RUNS_MAX], out[RUNS_MAX], end[RUNS_MAX];
	for (size_t k = 0; k < count; k++) {
		struct result r;
		run_once(w, false, &r);
		start[k] = r.start_ms;
		out[k] = r.out_ms;
		end[k] = r.exit_ms;
	}
	report("memory taken", start, count);
	report("first byte", out, count);
	report("exit event", end, count);
}

int main(int argc, char **argv)
{
	struct snapshot_want w;
	struct guest_parts parts = { 0 };
	struct buf text[2] = { { 0 } };
	struct snapshot s;
	struct result r;
	struct err e;
	if (argc < 6)
		return fprintf(stderr, "usage: machine make|run|hold|long VMLINUX INITRD ROOT DATA [N]\n"), 2;
	want_make(argv + 2, &w, &parts, text);
	if (snapshot_get(&w, &s, &e) < 0)
		fail(&e);
	snapshot_done(&s);
	size_t count = argc > 6 ? (size_t) atoi(argv[6]) : 1;
	if (strcmp(argv[1], "make") == 0)
		printf("%s in %.1f s\n", s.built ? "made" : "kept", s.build_s);
	else if (strcmp(argv[1], "run") == 0 && count > 0 && count <= RUNS_MAX)
		run_many(&w, count);
	else if (strcmp(argv[1], "hold") == 0)
		run_once(&w, true, &r);
	else if (strcmp(argv[1], "long") == 0)
		run_long(&w);
	else
		return 2;
	return 0;
}
