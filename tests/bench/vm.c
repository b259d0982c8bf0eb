/* SPDX-License-Identifier: MIT */
/*
 * vm VERB GUEST AGENT [N]: a machine with nothing of belljar's in it: the kernel and modules of the folder GUEST, and
 * AGENT (tests/probes/vm_agent.c) as process 1.
 *   make  a snapshot of it, kept or made          run   N restores one after another, and how long they took
 *   hold  one restore: its pids and the snapshot's name, then until the standard input ends
 *   long  one restore that is greeted with more than a port takes at once
 *   panic one restore whose kernel panics: what QEMU says to that
 *   open  a start with an image that can be written to: refused
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
	fprintf(stderr, "vm: %s\n", e->text);
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

/* All that a snapshot is of. Lives as long as the program. */
struct setting {
	struct guest_parts parts;
	struct buf setup, trial;
	struct launch *launch;
	char key[65];
	struct snapshot_want want;
};

static void check(int r, const struct err *e)
{
	if (r < 0)
		fail(e);
}

static void parts_find(struct guest_parts *p, const char *folder, char *agent)
{
	FREE char *order = NULL, *path = xprintf("%s/modules/order", folder);
	struct err e;
	check(file_read(AT_FDCWD, path, 4096, &order, NULL, &e), &e);
	p->vmlinux = xprintf("%s/vmlinux", folder);
	p->agent = agent;
	for (char *name = strtok(order, "\n"); name; name = strtok(NULL, "\n")) {
		FREE char *module = xprintf("%s/modules/%s", folder, name);
		p->modules = strv_add(p->modules, module);
	}
	sha256_hex(agent, strlen(agent), p->hash);
}

static void words_make(struct setting *s)
{
	const struct event start = { .type = EVENT_START,
				     .seq = 1,
				     .start = { .preset = "none", .backend = "none" } };
	const struct event end = { .type = EVENT_EXIT, .seq = 2, .exit = { .verdict = VERDICT_OK } };
	tell_event(&s->setup, &start);
	tell(&s->trial, 'P', TRIAL, strlen(TRIAL));
	tell_event(&s->trial, &end);
}

static void setting_make(struct setting *s, const char *folder, char *agent)
{
	struct buf identity = { 0 };
	char *initrd;
	struct err e;
	int fd;
	parts_find(&s->parts, folder, agent);
	words_make(s);
	s->launch = launch_new();
	check(preset_load("namespaces", &s->launch->policy, &e), &e);
	check(image_initrd(&s->parts, NULL, &initrd, &e), &e);
	check(image_data(s->launch, NULL, &fd, &e), &e);
	struct vm_want w = { .accel = ACCEL_TCG, .memory = MEMORY };
	check(machine_tsc_khz(&w.tsc_khz, &e), &e);
	check(vm_identity(&w, &identity, &e), &e);
	buf_str(&identity, initrd);
	sha256_hex(identity.data, identity.len, s->key);
	buf_done(&identity);
	s->want = (struct snapshot_want){ .parts = &s->parts,
					  .accel = w.accel,
					  .memory = w.memory,
					  .tsc_khz = w.tsc_khz,
					  .root_fd = fd,
					  .data_fd = fd,
					  .initrd = initrd,
					  .key = s->key,
					  .label = "a machine with nothing in it",
					  .setup = s->setup.data,
					  .setup_len = s->setup.len,
					  .trial = s->trial.data,
					  .trial_len = s->trial.len,
					  .trial_out = TRIAL,
					  .launch = s->launch };
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

/* One restore. Its snapshot is opened anew each time, as the place in the state is the descriptor's. */
struct restore {
	struct snapshot s;
	struct instance i;
	struct vm m;
	struct vm_want want;
	double start_ms, out_ms, exit_ms;
};

static int restore_begin(struct restore *r, const struct snapshot_want *w, const struct buf *hello,
			 struct err *e)
{
	check(snapshot_get(w, &r->s, e), e);
	r->want = (struct vm_want){ .accel = w->accel,
				    .memory = w->memory,
				    .tsc_khz = w->tsc_khz,
				    .root_fd = w->root_fd,
				    .data_fd = w->data_fd,
				    .ram_fd = r->s.ram_fd,
				    .state_fd = r->s.state_fd,
				    .hello = hello->data,
				    .hello_len = hello->len };
	instance_init(&r->i, NULL, w->launch);
	return vm_start(&r->i, &r->want, &r->m, e);
}

static void restore_end(struct restore *r)
{
	(void) child_end(&r->i);
	instance_done(&r->i);
	vm_done(&r->m);
	snapshot_done(&r->s);
}

static void restore_read(struct restore *r, enum vm_port port, size_t len)
{
	struct err e;
	if (read_until(&r->m, port, len))
		return;
	vm_why(&r->m, &e);
	fail(&e);
}

static void restore_run(struct restore *r, const struct setting *s)
{
	struct err e;
	uint64_t begin = now_ns();
	check(restore_begin(r, &s->want, &s->trial, &e), &e);
	r->start_ms = ms_since(begin);
	restore_read(r, VM_STDOUT, strlen(TRIAL));
	r->out_ms = ms_since(begin);
	restore_read(r, VM_CONTROL, 1);
	r->exit_ms = ms_since(begin);
}

/* ---- the verbs ---- */

static int hold(const struct setting *s)
{
	struct restore r;
	char go;
	restore_run(&r, s);
	printf("qemu %d\nreaper %d\nsnapshot %s\nrun %s\n", r.i.target_pid, r.i.pid, s->key,
	       s->launch->run_id);
	fflush(stdout);
	(void) !read(0, &go, 1);
	restore_end(&r);
	return 0;
}

/* The rest of a long greeting is written while the machine reads what came before. */
static int greet_long(const struct setting *s)
{
	static const char zeros[LONG_LEN - 1];
	struct buf text = { 0 };
	struct restore r;
	struct err e;
	tell(&text, 'P', zeros, sizeof(zeros));
	check(restore_begin(&r, &s->want, &text, &e), &e);
	const size_t before = r.m.hello_sent;
	size_t sent = before;
	struct pollfd p = { .fd = r.m.port_fd[VM_CONTROL], .events = POLLOUT };
	while (sent < text.len && poll(&p, 1, 60000) > 0) {
		ssize_t n = send(p.fd, text.data + sent, text.len - sent, MSG_NOSIGNAL);
		if (n <= 0)
			break;
		sent += (size_t) n;
	}
	bool all = read_until(&r.m, VM_STDOUT, sizeof(zeros));
	restore_end(&r);
	printf("%zu of %zu bytes before the start; %s\n", before, text.len,
	       all ? "all came" : "not all came");
	buf_done(&text);
	return all && before < sizeof(zeros) ? 0 : 1;
}

static int panic(const struct setting *s)
{
	struct buf text = { 0 };
	struct restore r;
	struct err e;
	tell(&text, 'Q', "", 0);
	check(restore_begin(&r, &s->want, &text, &e), &e);
	struct pollfd p = { .fd = r.i.pidfd, .events = POLLIN };
	bool ended = poll(&p, 1, 60000) > 0;
	if (ended)
		vm_why(&r.m, &e);
	restore_end(&r);
	buf_done(&text);
	puts(ended ? e.text : "it goes on");
	return !ended;
}

static int open_image(const struct setting *s)
{
	struct snapshot_want w = s->want;
	struct restore r;
	struct err e;
	w.root_fd = fileno(tmpfile());
	int result = restore_begin(&r, &w, &s->trial, &e);
	restore_end(&r);
	puts(result < 0 ? e.text : "it starts");
	return result >= 0;
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

static int run_many(const struct setting *s, size_t count)
{
	static double start[RUNS_MAX], out[RUNS_MAX], end[RUNS_MAX];
	for (size_t k = 0; k < count; k++) {
		struct restore r;
		restore_run(&r, s);
		restore_end(&r);
		start[k] = r.start_ms;
		out[k] = r.out_ms;
		end[k] = r.exit_ms;
	}
	report("memory taken", start, count);
	report("first byte", out, count);
	report("exit event", end, count);
	return 0;
}

int main(int argc, char **argv)
{
	static struct setting set;
	struct snapshot s;
	struct err e;
	if (argc < 4)
		return fprintf(stderr, "usage: vm make|run|hold|long|panic|open GUEST AGENT [N]\n"), 2;
	setting_make(&set, argv[2], argv[3]);
	check(snapshot_get(&set.want, &s, &e), &e);
	snapshot_done(&s);
	const char *verb = argv[1];
	const size_t count = argc > 4 ? (size_t) atoi(argv[4]) : 1;
	if (strcmp(verb, "make") == 0)
		return printf("%s in %.1f s\n", s.built ? "made" : "kept", s.build_s) < 0;
	if (strcmp(verb, "run") == 0 && count > 0 && count <= RUNS_MAX)
		return run_many(&set, count);
	if (strcmp(verb, "hold") == 0)
		return hold(&set);
	if (strcmp(verb, "long") == 0)
		return greet_long(&set);
	if (strcmp(verb, "panic") == 0)
		return panic(&set);
	if (strcmp(verb, "open") == 0)
		return open_image(&set);
	return 2;
}
