/* SPDX-License-Identifier: MIT */
/*
 * The meters. Each figure comes from the best source that this run has, and names it: the control group's counters,
 * else /proc of the run's own processes, which can miss a child that came and went between two looks. What cannot be
 * known stays unknown, never 0. See cgroups(7), proc(5), statfs(2).
 *
 * CPU time and bytes written are then a floor ("at least"): whatever ended between two looks, and was not waited for by
 * a process of the run, was seen only up to the last look.
 */
#include "core/supervise/supervisor.h"

#include "core/confine/confine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

struct sums { /* over the processes of the run that are there now; memory in KiB */
	uint64_t cpu_ticks, tasks, anonymous, shmem, shared_most, written;
	bool written_known, want_stat, want_memory;
	struct memfds *memfds; /* NULL: the run has none */
};

/* Fields of proc(5) "stat" behind the command's name, which may hold anything: ret[k] is field k + 3. */
static int stat_fields(const struct tree *t, pid_t pid, uint64_t *ret, int count)
{
	char path[32], text[1024];
	snprintf(path, sizeof(path), "%d/stat", pid);
	if (file_read_small(t->proc_fd, path, text, sizeof(text)) <= 0)
		return -1;
	char *p = strrchr(text, ')');
	if (!p || !p[1] || !p[2])
		return -1;
	ret[0] = (uint8_t) p[2];
	p += 3;
	for (int k = 1; k < count; k++)
		ret[k] = strtoull(p, &p, 10);
	return 0;
}

static void add_written(struct sums *s, const char *io)
{
	const char *w = strstr(io, "wchar: ");
	s->written += w ? strtoull(w + 7, NULL, 10) : 0;
	s->written_known = w != NULL;
}

static void sum_written(struct sums *s, int proc_dirfd, pid_t pid)
{
	char path[32], text[512];
	snprintf(path, sizeof(path), "%d/io", pid);
	if (file_read_small(proc_dirfd, path, text, sizeof(text)) <= 0)
		return;
	add_written(s, text);
}

/* Of a run that is one process of one thread, nothing has to be looked for. */
static bool written_alone(struct meter *m, const struct instance *i, struct sums *s)
{
	char path[32], text[512];
	if (m->cg.tasks == UNKNOWN_U64 || m->tasks != 1 || i->target_pid <= 0)
		return false;
	if (m->io_pid != i->target_pid) {
		snprintf(path, sizeof(path), "/proc/%d/io", i->target_pid);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return false;
		meter_done(m);
		m->io_fd = fd;
		m->io_pid = i->target_pid;
	}
	ssize_t n = pread(m->io_fd, text, sizeof(text) - 1, 0); /* of one that is gone: ESRCH */
	if (n <= 0)
		return false;
	text[n] = 0;
	add_written(s, text);
	return true;
}

static void sum_memory(struct sums *s, int proc_dirfd, const char *folder)
{
	char path[TREE_FOLDER + 8], text[4096];
	snprintf(path, sizeof(path), "%s/status", folder);
	if (file_read_small(proc_dirfd, path, text, sizeof(text)) <= 0)
		return;
	uint64_t shmem = kib_after(text, "\nRssShmem:"), shared = shmem + kib_after(text, "\nRssFile:");
	s->anonymous += kib_after(text, "\nRssAnon:") + kib_after(text, PAGE_TABLES);
	s->shmem += shmem;
	if (shared > s->shared_most)
		s->shared_most = shared;
	if (s->memfds)
		memfds_of_process(s->memfds, proc_dirfd, folder);
}

static void sum_process(struct sums *s, const struct tree *t, pid_t pid)
{
	uint64_t f[20] = { 0 }; /* 14 utime, 15 stime, 16 and 17 of reaped children, 20 num_threads */
	bool ours = tree_ours(t, pid);
	char folder[TREE_FOLDER];
	if (s->want_stat) {
		if (stat_fields(t, pid, f, 20) < 0)
			return;
		s->cpu_ticks += f[13] + f[14] + (ours ? 0 : f[11] + f[12]);
	}
	if (ours)
		return;
	s->tasks += f[0] == 'Z' ? 1 : f[17];
	if (s->want_memory) {
		tree_folder(t, pid, f[0] == 'Z' && f[17] > 1, folder);
		sum_memory(s, t->proc_fd, folder);
	}
	sum_written(s, t->proc_fd, pid);
}

uint64_t meter_tasks(const struct meter *m, const struct instance *i)
{
	uint64_t tasks = 0;
	struct tree t;
	tree_list(&t, i, m->helper);
	for (size_t k = 0; k < t.count; k++) {
		uint64_t f[20] = { 0 };
		if (!tree_ours(&t, t.pids[k]) && stat_fields(&t, t.pids[k], f, 20) == 0)
			tasks += f[0] == 'Z' ? 1 : f[17];
	}
	tree_done(&t);
	return tasks;
}

static void read_space(struct meter *m, const struct instance *i)
{
	struct statfs fs;
	if (i->space_dirfd < 0 || fstatfs(i->space_dirfd, &fs) < 0) {
		m->space = m->inodes = m->space_peak = UNKNOWN_U64;
		return;
	}
	uint64_t space = (fs.f_blocks - fs.f_bfree) * (uint64_t) fs.f_bsize, inodes = fs.f_files - fs.f_ffree;
	m->space_full = fs.f_bfree == 0;
	m->inodes_full = fs.f_ffree == 0;
	m->space = space > m->space_base ? space - m->space_base : 0;
	m->inodes = inodes > m->inodes_base ? inodes - m->inodes_base : 0;
	if (m->space > m->space_peak)
		m->space_peak = m->space;
}

void meter_start(struct meter *m, const struct instance *i)
{
	*m = (struct meter){ .written = UNKNOWN_U64,
			     .last_written = UNKNOWN_U64,
			     .last_ns = now_ns(),
			     .io_fd = m->io_fd,
			     .io_pid = m->io_pid };
	read_space(m, i);
	if (m->space != UNKNOWN_U64) {
		m->space_base = m->space;
		m->inodes_base = m->inodes;
		m->space_peak = 0;
	}
}

void meter_done(struct meter *m)
{
	if (m->io_pid)
		close_fd(&m->io_fd);
	m->io_pid = 0;
}

void meter_begin(struct meter *m, const struct instance *i)
{
	meter_start(m, i);
	meter_read(m, i);
	const uint64_t cpu = m->cpu_ns, written = m->written == UNKNOWN_U64 ? 0 : m->written;
	meter_start(m, i);
	m->cpu_base = cpu;
	m->written_base = written;
}

void meter_given(struct meter *m, uint64_t files, uint64_t bytes)
{
	const uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);
	m->space_base += (bytes + page - 1) / page * page;
	m->inodes_base += files;
	m->last_ns = now_ns();
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a == UNKNOWN_U64 ? b : b == UNKNOWN_U64 ? a : a > b ? a : b;
}

static void read_cgroup(struct meter *m, const struct instance *i)
{
	cgroup_read(i->cgroup, &m->cg);
	m->memory_exact = m->cg.memory != UNKNOWN_U64;
	if (m->memory_exact) {
		m->memory = m->cg.memory;
		m->memory_peak = most(m->cg.memory_peak, m->memory);
	}
	if (m->cg.tasks != UNKNOWN_U64) {
		m->tasks = m->cg.tasks > i->processes_own ? m->cg.tasks - i->processes_own : 0;
		uint64_t peak = m->cg.tasks_peak == UNKNOWN_U64 ? 0 : m->cg.tasks_peak;
		m->tasks_peak = most(m->tasks_peak,
				     most(m->tasks, peak > i->processes_own ? peak - i->processes_own : 0));
	}
	if (m->cg.cpu_ns != UNKNOWN_U64)
		m->cpu_ns = m->cg.cpu_ns > m->cpu_base ? m->cg.cpu_ns - m->cpu_base : 0;
}

static uint64_t memory_of(const struct meter *m, const struct tree *t, struct memfds *f)
{
	struct tree_memory r;
	tree_memory(t, f, &r);
	/* A mapped file of the run's tmpfs, and a mapped memfd, stand in both figures: the larger one counts, so that
	 * nothing is stopped for memory that it has once. Pages of programs and libraries belong to the host's cache. */
	uint64_t mapped = f ? memfds_bytes(f, true) : 0, shmem = r.shmem_kib << 10;
	uint64_t files = (m->space == UNKNOWN_U64 ? 0 : m->space) + mapped;
	return (r.anonymous_kib << 10) + (m->memfd_bytes - mapped) + (shmem > files ? shmem : files);
}

/*
 * Resident sizes are cheap and count a page once for each process that shares it: after 200 forks, 200 times.
 * Proportional sizes are right and cost many times more. So the former are taken while even the largest sum of them
 * stays far below the limit, and the latter as soon as it does not.
 */
static void read_memory(struct meter *m, const struct instance *i, const struct tree *t, const struct sums *s)
{
	uint64_t limit = i->launch->policy->limit[LIMIT_MEMORY], most_kib = s->anonymous + s->shmem;
	uint64_t space = (m->space == UNKNOWN_U64 ? 0 : m->space) + m->memfd_bytes;
	m->memory = ((s->anonymous + s->shared_most) << 10) + space;
	m->memory_by_parts =
		s->tasks > 0 && limit != UNLIMITED && most(m->memory, (most_kib << 10) + space) > limit / 2;
	if (m->memory_by_parts)
		m->memory = memory_of(m, t, s->memfds);
	m->memory_peak = most(m->memory_peak, m->memory);
}

/* When the looks were cut at MEMFD_LOOKS, what was known before stays: no figure falls for lack of looking. */
static void read_memfds(struct meter *m, const struct memfds *f)
{
	uint64_t bytes = memfds_bytes(f, false);
	if (f->looked < MEMFD_LOOKS || bytes > m->memfd_bytes)
		m->memfd_bytes = bytes;
}

/*
 * The sum of the living falls when one ends whose parent does not wait for it (SIGCHLD ignored): what it had used is
 * accounted to nobody. It also falls for a moment when a look came between the end of a process and the account in its
 * parent, or missed a process that just then got another parent; then it is back at the next look, by a rise of at
 * least that much. So what is missing is carried once the next look has not brought it back.
 */
static uint64_t cpu_floor(struct meter *m, uint64_t sum)
{
	if (m->cpu_missing && sum < m->cpu_sum + m->cpu_missing)
		m->cpu_gone += m->cpu_missing;
	m->cpu_missing = m->cpu_sum > sum ? m->cpu_sum - sum : 0;
	m->cpu_sum = sum;
	return m->cpu_gone + sum;
}

static void read_cpu(struct meter *m, const struct sums *s)
{
	uint64_t cpu_ns = cpu_floor(m, s->cpu_ticks * (NS_PER_S / (uint64_t) sysconf(_SC_CLK_TCK)));
	if (cpu_ns > m->cpu_ns)
		m->cpu_ns = cpu_ns;
}

void meter_read(struct meter *m, const struct instance *i)
{
	struct memfds memfds = { 0 };
	struct tree t = { .proc_fd = -1 };
	memset(&m->cg, 0xff, sizeof(m->cg)); /* all unknown */
	read_space(m, i);
	if (i->cgroup)
		read_cgroup(m, i);
	/* Of each process no more is read than what the control group does not say. */
	struct sums s = { .memfds = m->memfds ? &memfds : NULL,
			  .want_memory = !m->memory_exact,
			  .want_stat = m->cg.cpu_ns == UNKNOWN_U64 || m->cg.tasks == UNKNOWN_U64 ||
				       !m->memory_exact };
	if (s.want_stat || m->memfds || !written_alone(m, i, &s)) {
		tree_list(&t, i, m->helper);
		for (size_t k = 0; k < t.count; k++)
			sum_process(&s, &t, t.pids[k]);
	}
	read_memfds(m, &memfds);
	if (!m->memory_exact)
		read_memory(m, i, &t, &s);
	memfds_done(&memfds);
	tree_done(&t);
	if (m->cg.tasks == UNKNOWN_U64) {
		m->tasks = s.tasks;
		m->tasks_peak = most(m->tasks_peak, s.tasks);
	}
	if (m->cg.cpu_ns == UNKNOWN_U64)
		read_cpu(m, &s);
	s.written -= s.written < m->written_base ? s.written : m->written_base;
	if (s.written_known && (m->written == UNKNOWN_U64 || s.written > m->written))
		m->written = s.written;
}

void meter_emit(struct meter *m, const struct instance *i, struct feed *s)
{
	uint64_t now = now_ns(), passed = now - m->last_ns;
	bool cg = i->cgroup != NULL;
	const char *proc = i->proc_dirfd >= 0 ? "/proc of the run" : "/proc, descendants";
	const char *cpu = i->proc_dirfd >= 0 ? "/proc of the run: at least" : "/proc, descendants: at least";
	const struct event_pair sources[] = {
		{ "cpu", cg && m->cg.cpu_ns != UNKNOWN_U64 ? "cgroup" : cpu },
		{ "memory", m->memory_exact      ? "cgroup"
			    : m->memory_by_parts ? "/proc smaps_rollup, and the writable places"
						 : "/proc status, and the writable places" },
		{ "memory_peak", m->memory_exact && m->cg.memory_peak != UNKNOWN_U64 ? "cgroup" : "sampled" },
		{ "processes", cg && m->cg.tasks != UNKNOWN_U64 ? "cgroup" : proc },
		{ "processes_peak", cg && m->cg.tasks_peak != UNKNOWN_U64 ? "cgroup" : "sampled" },
		{ "written", m->written_whole ? "/proc io of process 1: the whole tree"
					      : "/proc io, sampled: at least" },
		{ "space", m->space == UNKNOWN_U64 ? "unknown: no file system of its own" : "statfs" },
	};
	struct event ev = { .type = EVENT_METER,
			    .basis = BASIS_SAMPLED,
			    .meter = {
				    .cpu_ns = m->cpu_ns,
				    .cpu_pct = passed ? (double) (m->cpu_ns - m->last_cpu_ns) * 100.0 /
								(double) passed
						      : 0,
				    .memory = m->memory,
				    .memory_peak = m->memory_peak,
				    .processes = m->tasks,
				    .processes_peak = m->tasks_peak,
				    .written = m->written,
				    .write_rate = UNKNOWN_U64,
				    .space = m->space,
				    .inodes = m->inodes,
				    .host_cpu_ns = UNKNOWN_U64,
				    .host_memory = UNKNOWN_U64,
				    .sources = sources,
				    .source_count = ARRAY_LEN(sources),
			    } };
	if (m->written != UNKNOWN_U64 && passed)
		ev.meter.write_rate = (m->written - (m->last_written == UNKNOWN_U64 ? 0 : m->last_written)) *
				      1000 / (passed / 1000000 ? passed / 1000000 : 1);
	m->last_ns = now;
	m->last_cpu_ns = m->cpu_ns;
	m->last_written = m->written;
	feed_emit(s, &ev);
}

#define READINGS 5

/*
 * The sizes of the processes are read one after the other, and a page that several share counts in each by its part: what
 * was the whole of it in the first is an eighth in the last when seven were forked meanwhile, so that the sum is of no
 * moment at all. A sum that is over is believed when no process came while it was made, or when it was over each of
 * several times: a program that forks for ever gains nothing.
 */
bool meter_memory_over(struct meter *m, const struct instance *i, uint64_t limit)
{
	meter_read(m, i);
	for (int k = 0; k < READINGS && m->memory > limit; k++) {
		uint64_t before = meter_tasks(m, i);
		meter_read(m, i);
		if (meter_tasks(m, i) <= before)
			break;
	}
	return m->memory > limit;
}
