/* SPDX-License-Identifier: MIT */
/*
 * The meters. Each figure comes from the best source that this run has, and names it: the control group's counters,
 * else /proc of the run's own processes, which can miss a child that came and went between two looks. What cannot be
 * known stays unknown, never 0. See cgroups(7), proc(5), statfs(2).
 */
#include "core/supervise/supervisor.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

struct sums { /* over the processes of the run that are there now */
	uint64_t cpu_ticks, tasks, resident, shared_most, written;
	bool written_known;
};

typedef void (*process_fn)(void *arg, int proc_dirfd, const char *pid, bool ours);

static void each_descendant(pid_t parent, int proc_dirfd, process_fn fn, void *arg, int depth)
{
	char path[64], text[8192], name[16];
	snprintf(path, sizeof(path), "%d/task/%d/children", parent, parent);
	if (depth > 512 || file_read_small(proc_dirfd, path, text, sizeof(text)) <= 0)
		return;
	for (char *p = text, *end; *p; p = end) {
		long child = strtol(p, &end, 10);
		if (end == p)
			return;
		snprintf(name, sizeof(name), "%ld", child);
		fn(arg, proc_dirfd, name, false);
		each_descendant((pid_t) child, proc_dirfd, fn, arg, depth + 1);
		while (*end == ' ')
			end++;
	}
}

static void each_process(const struct instance *i, process_fn fn, void *arg)
{
	if (i->proc_dirfd < 0) { /* the host's /proc: our child and what descends from it */
		char name[16];
		int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		snprintf(name, sizeof(name), "%d", i->target_pid);
		if (proc >= 0 && i->target_pid > 0) {
			fn(arg, proc, name, false);
			each_descendant(i->target_pid, proc, fn, arg, 0);
		}
		close_fd(&proc);
		return;
	}
	int fd = openat(i->proc_dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	for (struct dirent *d; dir && (d = readdir(dir)); )
		if (isdigit((unsigned char) d->d_name[0]))
			fn(arg, i->proc_dirfd, d->d_name, strcmp(d->d_name, "1") == 0); /* process 1 is the reaper */
	if (dir)
		closedir(dir);
	else
		close_fd(&fd);
}

/* Fields of proc(5) "stat" behind the command's name, which may hold anything: ret[k] is field k + 3. */
static int stat_fields(int proc_dirfd, const char *pid, uint64_t *ret, int count)
{
	char path[32], text[1024];
	snprintf(path, sizeof(path), "%.12s/stat", pid);
	if (file_read_small(proc_dirfd, path, text, sizeof(text)) <= 0)
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

static void sum_written(struct sums *s, int proc_dirfd, const char *pid)
{
	char path[32], text[512];
	snprintf(path, sizeof(path), "%.12s/io", pid);
	if (file_read_small(proc_dirfd, path, text, sizeof(text)) <= 0)
		return;
	const char *w = strstr(text, "wchar: ");
	s->written += w ? strtoull(w + 7, NULL, 10) : 0;
	s->written_known = w != NULL;
}

static void sum_memory(struct sums *s, int proc_dirfd, const char *pid)
{
	char path[32], text[128], *p = text;
	snprintf(path, sizeof(path), "%.12s/statm", pid);
	if (file_read_small(proc_dirfd, path, text, sizeof(text)) <= 0)
		return;
	strtoull(p, &p, 10);
	uint64_t resident = strtoull(p, &p, 10), shared = strtoull(p, &p, 10);
	if (resident < shared)
		shared = resident;
	s->resident += resident - shared;
	if (shared > s->shared_most)
		s->shared_most = shared;
}

static void sum_process(void *arg, int proc_dirfd, const char *pid, bool ours)
{
	struct sums *s = arg;
	uint64_t f[20] = { 0 }; /* 14 utime, 15 stime, 16 and 17 of reaped children, 20 num_threads */
	if (stat_fields(proc_dirfd, pid, f, 20) < 0)
		return;
	s->cpu_ticks += f[13] + f[14] + (ours ? 0 : f[11] + f[12]);
	if (ours)
		return;
	s->tasks += f[0] == 'Z' ? 1 : f[17];
	sum_memory(s, proc_dirfd, pid);
	sum_written(s, proc_dirfd, pid);
}

static void sum_tasks(void *arg, int proc_dirfd, const char *pid, bool ours)
{
	uint64_t f[20] = { 0 };
	if (!ours && stat_fields(proc_dirfd, pid, f, 20) == 0)
		*(uint64_t *) arg += f[0] == 'Z' ? 1 : f[17];
}

uint64_t meter_tasks(const struct instance *i)
{
	uint64_t tasks = 0;
	each_process(i, sum_tasks, &tasks);
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
	m->space = space > m->space_base ? space - m->space_base : 0;
	m->inodes = inodes > m->inodes_base ? inodes - m->inodes_base : 0;
	if (m->space > m->space_peak)
		m->space_peak = m->space;
}

void meter_start(struct meter *m, const struct instance *i)
{
	*m = (struct meter) { .written = UNKNOWN_U64, .last_written = UNKNOWN_U64, .last_ns = now_ns() };
	read_space(m, i);
	if (m->space != UNKNOWN_U64) {
		m->space_base = m->space;
		m->inodes_base = m->inodes;
		m->space_peak = 0;
	}
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
		m->tasks_peak = most(m->tasks_peak, most(m->tasks, peak > i->processes_own ? peak - i->processes_own : 0));
	}
	if (m->cg.cpu_ns != UNKNOWN_U64)
		m->cpu_ns = m->cg.cpu_ns;
}

struct rollup {
	uint64_t anonymous, shmem; /* KiB */
};

static uint64_t kib_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void sum_rollup(void *arg, int proc_dirfd, const char *pid, bool ours)
{
	struct rollup *r = arg;
	char path[40], text[2048];
	snprintf(path, sizeof(path), "%.12s/smaps_rollup", pid);
	if (ours || file_read_small(proc_dirfd, path, text, sizeof(text)) <= 0)
		return;
	r->anonymous += kib_after(text, "\nPss_Anon:");
	r->shmem += kib_after(text, "\nPss_Shmem:");
}

static uint64_t memory_tree(const struct meter *m, const struct instance *i)
{
	struct rollup r = { 0 };
	each_process(i, sum_rollup, &r);
	/* A mapped file of the run's tmpfs stands in both figures: the larger one counts, so that nothing is stopped for
	 * memory that it has once. Pages of programs and libraries belong to the host's cache. */
	uint64_t space = m->space == UNKNOWN_U64 ? 0 : m->space, shmem = r.shmem << 10;
	return (r.anonymous << 10) + (shmem > space ? shmem : space);
}

/*
 * Resident sizes are cheap (0.1 ms for 8 processes) and count a page once for each process that shares it: after 200
 * forks, 200 times. Proportional sizes are right and cost a hundred times more. So the former are taken while they
 * stay far below the limit, and the latter as soon as they do not.
 */
static void read_memory(struct meter *m, const struct instance *i, const struct sums *s)
{
	uint64_t limit = i->launch->policy->limit[LIMIT_MEMORY];
	m->memory = (s->resident + s->shared_most) * (uint64_t) sysconf(_SC_PAGESIZE) +
		(m->space == UNKNOWN_U64 ? 0 : m->space);
	m->memory_by_parts = s->tasks > 0 && limit != UNLIMITED && m->memory > limit / 2;
	if (m->memory_by_parts)
		m->memory = memory_tree(m, i);
	m->memory_peak = most(m->memory_peak, m->memory);
}

void meter_read(struct meter *m, const struct instance *i)
{
	struct sums s = { 0 };
	memset(&m->cg, 0xff, sizeof(m->cg)); /* all unknown */
	read_space(m, i);
	each_process(i, sum_process, &s);
	if (i->cgroup)
		read_cgroup(m, i);
	if (!m->memory_exact)
		read_memory(m, i, &s);
	if (m->cg.tasks == UNKNOWN_U64) {
		m->tasks = s.tasks;
		m->tasks_peak = most(m->tasks_peak, s.tasks);
	}
	uint64_t cpu_ns = s.cpu_ticks * (NS_PER_S / (uint64_t) sysconf(_SC_CLK_TCK));
	if (m->cg.cpu_ns == UNKNOWN_U64 && cpu_ns > m->cpu_ns)
		m->cpu_ns = cpu_ns; /* a child that ended and was not yet reaped is missing for a moment */
	if (s.written_known && (m->written == UNKNOWN_U64 || s.written > m->written))
		m->written = s.written;
}

void meter_emit(struct meter *m, const struct instance *i, struct feed *s)
{
	uint64_t now = now_ns(), passed = now - m->last_ns;
	bool cg = i->cgroup != NULL;
	const char *proc = i->proc_dirfd >= 0 ? "/proc of the run" : "/proc, descendants";
	const struct event_pair sources[] = {
		{ "cpu", cg && m->cg.cpu_ns != UNKNOWN_U64 ? "cgroup" : proc },
		{ "memory", m->memory_exact ? "cgroup" : m->memory_by_parts ? "/proc smaps_rollup, and the writable places" :
			    "/proc statm, and the writable places" },
		{ "memory_peak", m->memory_exact && m->cg.memory_peak != UNKNOWN_U64 ? "cgroup" : "sampled" },
		{ "processes", cg && m->cg.tasks != UNKNOWN_U64 ? "cgroup" : proc },
		{ "processes_peak", cg && m->cg.tasks_peak != UNKNOWN_U64 ? "cgroup" : "sampled" },
		{ "written", m->written_whole ? "/proc io of process 1: the whole tree" : "/proc io, sampled: at least" },
		{ "space", m->space == UNKNOWN_U64 ? "unknown: no file system of its own" : "statfs" },
	};
	struct event ev = { .type = EVENT_METER, .basis = BASIS_SAMPLED, .meter = {
		.cpu_ns = m->cpu_ns, .cpu_pct = passed ? (double) (m->cpu_ns - m->last_cpu_ns) * 100.0 / (double) passed : 0,
		.memory = m->memory, .memory_peak = m->memory_peak, .processes = m->tasks, .processes_peak = m->tasks_peak,
		.written = m->written, .write_rate = UNKNOWN_U64, .space = m->space, .inodes = m->inodes,
		.sources = sources, .source_count = ARRAY_LEN(sources),
	} };
	if (m->written != UNKNOWN_U64 && passed)
		ev.meter.write_rate = (m->written - (m->last_written == UNKNOWN_U64 ? 0 : m->last_written)) *
			1000 / (passed / 1000000 ? passed / 1000000 : 1);
	m->last_ns = now;
	m->last_cpu_ns = m->cpu_ns;
	m->last_written = m->written;
	feed_emit(s, &ev);
}
