/* SPDX-License-Identifier: MIT */
/*
 * The rounds of a benchmark, and what each run of it cost: time by CLOCK_MONOTONIC around fork and wait, memory by
 * /proc of the launcher's processes while the program stands. See pidfd_open(2), proc(5).
 */
#include "core/suite/suite.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Prints the same, and then stands until its standard input ends. */
#define STANDING   BENCH_PROGRAM "\nimport sys\nsys.stdin.read()"
#define EXPECTED   "1\n"
#define LIMIT_NS   (60 * NS_PER_S) /* of one run, whatever the preset allows */
#define DEPTH_MAX  16              /* generations of processes below a launcher */
#define OUTPUT_MAX 32              /* bytes that are kept: enough to show what was printed instead */

struct attempt {
	const struct bench_launcher *launcher;
	const char *interpreter;
	struct bench_row *row;
	int in_fd, out_fd, err_fd, pidfd; /* in_fd -1: the program's input is empty from the start */
	pid_t pid;
	uint64_t begin_ns, first_ns, end_ns; /* first_ns 0: it printed nothing yet */
	int status;
	char out[OUTPUT_MAX];
	size_t out_len; /* all that was printed, also what was not kept */
	bool timed_out;
};

/* ---- figures ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

void figures_of(double *values, size_t count, struct figures *ret)
{
	*ret = (struct figures){ count, UNKNOWN_F64, UNKNOWN_F64, UNKNOWN_F64 };
	if (count == 0)
		return;
	qsort(values, count, sizeof(*values), compare);
	ret->median = (values[(count - 1) / 2] + values[count / 2]) / 2;
	ret->p95 = values[(count * 95 + 99) / 100 - 1];
	ret->longest = values[count - 1];
}

void bench_shuffle(size_t *order, size_t count)
{
	for (size_t i = count; i > 1; i--) {
		uint64_t number = 0;
		if (getrandom(&number, sizeof(number), 0) < 0)
			number = now_ns(); /* a poorer order, for lack of a better */
		size_t j = number % i, swap = order[i - 1];
		order[i - 1] = order[j];
		order[j] = swap;
	}
}

/* ---- memory ---- */

struct cost {
	uint64_t bytes;
	unsigned proportional, resident; /* processes, by what was counted */
	bool unknown;
	const char *interpreter;
};

/* A figure of proc(5) in bytes: behind `key` in /proc/PID/FILE. -1: there is none to read. */
static int64_t proc_kib(pid_t pid, const char *file, const char *key)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	const char *at = file_read_small(AT_FDCWD, path, text, sizeof(text)) > 0 ? strstr(text, key) : NULL;
	return at ? (int64_t) strtoull(at + strlen(key), NULL, 10) << 10 : -1;
}

/* Whatever root it lies in, the file that it runs is called so. */
static bool is_program(pid_t pid, const char *interpreter)
{
	char path[64], exe[4096];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	ssize_t n = readlink(path, exe, sizeof(exe) - 1);
	if (n <= 0)
		return false; /* one that may not be asked hides from us: the program does not */
	exe[n] = '\0';
	const char *slash = strrchr(exe, '/');
	return slash && str_starts(slash + 1, interpreter);
}

/* Process 1 of a run hides its parts from an ordinary user, but not how much of it is resident. */
static void add_process(struct cost *c, pid_t pid)
{
	int64_t bytes = proc_kib(pid, "smaps_rollup", "\nPss:");

	if (bytes >= 0) {
		c->proportional++;
	} else {
		bytes = proc_kib(pid, "status", "\nVmRSS:");
		c->resident++;
	}
	c->bytes += bytes > 0 ? (uint64_t) bytes : 0;
	c->unknown = c->unknown || bytes < 0;
}

static void add_tree(struct cost *c, pid_t pid, int depth)
{
	char path[64], text[4096], *p = text;

	if (is_program(pid, c->interpreter))
		return;
	add_process(c, pid);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	if (depth == DEPTH_MAX || file_read_small(AT_FDCWD, path, text, sizeof(text)) < 0) {
		c->unknown = true;
		return;
	}
	for (pid_t child; (child = (pid_t) strtol(p, &p, 10)) > 0;)
		add_tree(c, child, depth + 1);
}

static void measure_memory(const struct attempt *a)
{
	struct cost c = { .interpreter = a->interpreter };
	struct bench_row *row = a->row;

	add_tree(&c, a->pid, 0);
	if (c.unknown) {
		snprintf(row->memory_source, sizeof(row->memory_source),
			 "unknown: /proc does not show all of its processes");
		return;
	}
	row->memory_bytes = c.bytes;
	if (c.proportional + c.resident == 0)
		snprintf(row->memory_source, sizeof(row->memory_source), "no process beside the program");
	else if (c.resident == 0)
		snprintf(row->memory_source, sizeof(row->memory_source),
			 "%u processes, proportional size (/proc smaps_rollup)", c.proportional);
	else
		snprintf(row->memory_source, sizeof(row->memory_source),
			 "%u processes, proportional size (/proc smaps_rollup) of %u, resident size (/proc "
			 "status) "
			 "of %u that hide it",
			 c.proportional + c.resident, c.proportional, c.resident);
}

/* ---- one run ---- */

static _Noreturn void child_main(const struct bench_launcher *l, const char *code, const int fds[3])
{
	size_t count = strv_len(l->argv);
	char **argv = xcalloc(count + 2, sizeof(*argv));
	sigset_t none;

	for (size_t i = 0; i < count; i++)
		argv[i] = l->argv[i];
	argv[count] = xstrdup(code);
	(void) sigemptyset(&none);
	(void) sigprocmask(SIG_SETMASK, &none, NULL);
	(void) prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (dup2(fds[0], 0) == 0 && dup2(fds[1], 1) == 1 && dup2(fds[2], 2) == 2 &&
	    (!l->folder || chdir(l->folder) == 0))
		(void) execve(l->program, argv, l->env);
	_exit(127);
}

static int attempt_start(struct attempt *a, bool stand, struct err *e)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 };
	int r = 0;

	a->in_fd = a->out_fd = a->pidfd = -1;
	a->err_fd = memfd_create("errors", MFD_CLOEXEC);
	if (a->err_fd < 0 || pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		r = err_set(e, errno, "open what a run prints to");
	if (!stand)
		close_fd(&in[1]);
	a->begin_ns = now_ns();
	a->pid = r == 0 ? fork() : -1;
	if (a->pid == 0)
		child_main(a->launcher, stand ? STANDING : BENCH_PROGRAM,
			   (const int[]){ in[0], out[1], a->err_fd });
	if (r == 0 && a->pid < 0)
		r = err_set(e, errno, "start %s", a->launcher->name);
	if (r == 0 && (a->pidfd = (int) syscall(SYS_pidfd_open, a->pid, 0)) < 0) {
		r = err_set(e, errno, "pidfd_open %s", a->launcher->name);
		(void) kill(a->pid, SIGKILL);
		(void) waitpid(a->pid, NULL, 0);
	}
	close_fd(&in[0]);
	close_fd(&out[1]);
	a->in_fd = in[1];
	a->out_fd = out[0];
	return r;
}

/* Whether there may be more to read. */
static bool take_output(struct attempt *a)
{
	char part[4096];
	ssize_t n = read(a->out_fd, part, sizeof(part));

	if (n <= 0)
		return n < 0 && errno == EINTR;
	if (a->first_ns == 0)
		a->first_ns = now_ns();
	for (ssize_t i = 0; i < n; i++, a->out_len++)
		if (a->out_len < sizeof(a->out))
			a->out[a->out_len] = part[i];
	if (a->in_fd >= 0) {
		measure_memory(a);
		close_fd(&a->in_fd); /* it stood for this only */
	}
	return true;
}

/* Until it was waited for, and all that it printed was read. */
static void attempt_follow(struct attempt *a)
{
	struct pollfd p[] = { { .fd = a->out_fd, .events = POLLIN }, { .fd = a->pidfd, .events = POLLIN } };

	for (bool ended = false; !ended;) {
		uint64_t passed = now_ns() - a->begin_ns;
		if (passed >= LIMIT_NS) {
			a->timed_out = true;
			(void) kill(a->pid,
				    SIGKILL); /* of belljar's own processes the supervisor cleans up */
			break;
		}
		if (poll(p, ARRAY_LEN(p), (int) ((LIMIT_NS - passed) / NS_PER_MS) + 1) <= 0)
			continue;
		if (!p[0].revents)
			ended = p[1].revents != 0;
		else if (!take_output(a))
			p[0].fd = -1;
	}
	while (waitpid(a->pid, &a->status, 0) < 0 && errno == EINTR)
		;
	a->end_ns = now_ns();
}

/* The last line that it said on standard error, without our own name before it. */
static const char *last_words(const struct attempt *a, char *text, size_t size)
{
	off_t end = lseek(a->err_fd, 0, SEEK_END);
	off_t from = end >= (off_t) size ? end - (off_t) size + 1 : 0;
	ssize_t n = pread(a->err_fd, text, size - 1, from);

	text[n > 0 ? n : 0] = '\0';
	for (size_t len = strlen(text); len > 0 && text[len - 1] == '\n'; len--)
		text[len - 1] = '\0';
	char *line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	return str_starts(line, "belljar: ") ? line + strlen("belljar: ") : line;
}

/* Whether it printed what it should and ended well; if not the row hears why. */
static bool attempt_check(const struct attempt *a)
{
	char words[1024], reason[sizeof(a->row->reason)];

	if (a->timed_out)
		snprintf(reason, sizeof(reason), "it did not end within a minute");
	else if (WIFSIGNALED(a->status))
		snprintf(reason, sizeof(reason), "signal %d: %.240s", WTERMSIG(a->status),
			 last_words(a, words, sizeof(words)));
	else if (a->status != 0)
		snprintf(reason, sizeof(reason), "status %d: %.240s", WEXITSTATUS(a->status),
			 last_words(a, words, sizeof(words)));
	else if (a->out_len != strlen(EXPECTED) || memcmp(a->out, EXPECTED, a->out_len) != 0)
		snprintf(reason, sizeof(reason), "it printed \"%.*s\" in place of 1",
			 (int) (a->out_len < sizeof(a->out) ? a->out_len : sizeof(a->out)), a->out);
	else
		return true;
	a->row->failed++;
	if (!*a->row->reason)
		memcpy(a->row->reason, reason, sizeof(reason));
	return false;
}

/* One run. Returns whether it was well, or -errno where none could be made. */
static int attempt_make(struct attempt *a, bool stand, struct err *e)
{
	int r = attempt_start(a, stand, e);

	if (r == 0) {
		attempt_follow(a);
		r = attempt_check(a);
	}
	close_fd(&a->in_fd);
	close_fd(&a->out_fd);
	close_fd(&a->err_fd);
	close_fd(&a->pidfd);
	if (a->launcher->leaves)
		(void) unlink(a->launcher->leaves);
	return r;
}

/* ---- all of them ---- */

struct bench {
	const struct bench_want *want;
	struct bench_row *rows;
	size_t done;
	size_t *order;
	double *whole, *first; /* `rounds` a row */
};

static int run_one(struct bench *b, size_t which, bool stand, struct err *e)
{
	const struct bench_want *w = b->want;
	struct bench_row *row = &b->rows[which];
	struct attempt a = { .launcher = &w->launchers[which], .interpreter = w->interpreter, .row = row };

	if (w->go_on && !w->go_on(w->arg, b->done++, w->count * (w->rounds + 1)))
		return err_say(e, ECANCELED, "the benchmark was stopped");
	if (!stand && !row->started)
		return 0;
	int r = attempt_make(&a, stand, e);
	if (r <= 0)
		return r;
	if (stand) {
		row->started = true;
		return 0;
	}
	size_t at = which * w->rounds + row->whole.count++;
	b->whole[at] = (double) (a.end_ns - a.begin_ns) / NS_PER_MS;
	b->first[at] = (double) (a.first_ns - a.begin_ns) / NS_PER_MS;
	return 0;
}

static int run_round(struct bench *b, bool stand, struct err *e)
{
	int r = 0;

	bench_shuffle(b->order, b->want->count);
	for (size_t i = 0; r == 0 && i < b->want->count; i++)
		r = run_one(b, b->order[i], stand, e);
	return r;
}

int bench_run(const struct bench_want *want, struct bench_row *rows, struct err *e)
{
	FREE size_t *order = xcalloc(want->count, sizeof(*order));
	FREE double *whole = xcalloc(want->count * want->rounds, sizeof(*whole));
	FREE double *first = xcalloc(want->count * want->rounds, sizeof(*first));
	struct bench b = { .want = want, .rows = rows, .order = order, .whole = whole, .first = first };
	int r;

	for (size_t i = 0; i < want->count; i++) {
		order[i] = i;
		rows[i] = (struct bench_row){ .launcher = &want->launchers[i], .memory_bytes = UNKNOWN_U64 };
	}
	r = run_round(&b, true, e);
	for (size_t round = 0; r == 0 && round < want->rounds; round++)
		r = run_round(&b, false, e);
	for (size_t i = 0; i < want->count; i++) {
		size_t count = rows[i].whole.count;
		figures_of(whole + i * want->rounds, count, &rows[i].whole);
		figures_of(first + i * want->rounds, count, &rows[i].first_byte);
	}
	return r;
}

double bench_times(const struct bench_row *row, const struct bench_row *bare)
{
	return row->whole.count > 0 && bare->whole.median > 0 ? row->whole.median / bare->whole.median
							      : UNKNOWN_F64;
}

bool bench_all_well(const struct bench_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].failed > 0)
			return false;
	return true;
}

/* ---- JSON ---- */

static void put_number(const char *key, double value, struct buf *out)
{
	buf_printf(out, ",\"%s\":", key);
	if (value < 0)
		buf_str(out, "null");
	else
		buf_printf(out, "%.3f", value);
}

static void put_text(const char *key, const char *text, struct buf *out)
{
	buf_printf(out, ",\"%s\":", key);
	if (text && *text)
		json_text(text, strlen(text), out);
	else
		buf_str(out, "null");
}

static void put_row(const struct bench_row *row, const struct bench_row *bare, struct buf *out)
{
	buf_str(out, "{\"name\":");
	json_text(row->launcher->name, strlen(row->launcher->name), out);
	put_text("preset", row->launcher->preset, out);
	put_number("median_ms", row->whole.median, out);
	put_number("p95_ms", row->whole.p95, out);
	put_number("longest_ms", row->whole.longest, out);
	put_number("times_bare", bench_times(row, bare), out);
	put_number("first_byte_median_ms", row->first_byte.median, out);
	put_number("first_byte_p95_ms", row->first_byte.p95, out);
	put_number("first_byte_longest_ms", row->first_byte.longest, out);
	if (row->memory_bytes == UNKNOWN_U64)
		buf_str(out, ",\"memory_bytes\":null");
	else
		buf_printf(out, ",\"memory_bytes\":%llu", (unsigned long long) row->memory_bytes);
	put_text("memory_source", row->memory_source, out);
	buf_printf(out, ",\"failed\":%zu", row->failed);
	put_text("reason", row->reason, out);
	buf_str(out, "}");
}

void bench_json(const struct bench_want *want, const struct bench_row *rows, bool recorded, struct buf *out)
{
	buf_str(out, "{\"host\":");
	host_to_json(out);
	buf_printf(out, ",\"runs\":%zu", want->rounds);
	put_text("program", BENCH_PROGRAM, out);
	buf_printf(out, ",\"recorded\":%s,\"rows\":[", recorded ? "true" : "false");
	for (size_t i = 0; i < want->count; i++) {
		buf_str(out, i ? "," : "");
		put_row(&rows[i], &rows[0], out);
	}
	buf_str(out, "]}\n");
}
