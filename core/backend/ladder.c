/* SPDX-License-Identifier: MIT */
/*
 * The ladder: each limit by the best mechanism that this machine has for this level, and what the kernel then says that
 * it holds. A limit that nothing holds ends the start; it is never shown as if it were enforced.
 */
#include "core/backend/child.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_MECHANISM "nothing on this machine"

int ladder_cgroup(struct instance *i, uint64_t own_tasks, struct err *e)
{
	/* Our own tasks in the run count like the target's: they are added to what it may have. */
	struct policy p = *i->launch->policy;
	if (p.limit[LIMIT_PROCESSES] != UNLIMITED)
		p.limit[LIMIT_PROCESSES] += own_tasks;
	i->processes_own = own_tasks;
	int r = cgroup_create(i->launch->run_id, &p, &i->cgroup, e);
	return r == -ENOTSUP ? 0 : r;
}

static bool cgroup_has(const struct instance *i, enum cgroup_controller which)
{
	return i->cgroup && (cgroup_controllers(i->cgroup) & which);
}

static void rlimit_add(struct ladder *l, int resource, uint64_t soft, uint64_t hard)
{
	l->rlimits[l->rlimit_count++] = (struct rlimit_want){ resource, soft, hard };
}

static uint64_t seconds_up(uint64_t ns)
{
	return (ns + NS_PER_S - 1) / NS_PER_S;
}

static struct event_limit *limit_of(struct instance *i, enum limit_name n)
{
	return &i->limits[n];
}

static void limit_set(struct instance *i, enum limit_name n, enum grade grade, const char *mechanism)
{
	i->limits[n].grade = grade;
	i->limits[n].mechanism = mechanism;
	if (grade != GRADE_KERNEL) /* the kernel's own are read back; these we hold ourselves */
		i->limits[n].enforced = grade == GRADE_NONE ? UNLIMITED : i->limits[n].asked;
}

/* What one process may hold; the same at every level. */
static void ladder_process(struct instance *i, struct ladder *ret)
{
	const uint64_t *limit = i->launch->policy->limit;
	if (limit[LIMIT_CPU] != UNLIMITED) {
		/* Soft below hard: equal ones end in SIGKILL, which looks like any other kill. */
		rlimit_add(ret, RLIMIT_CPU, seconds_up(limit[LIMIT_CPU]), seconds_up(limit[LIMIT_CPU]) + 1);
		limit_set(i, LIMIT_CPU, GRADE_KERNEL,
			  "RLIMIT_CPU each process, whole seconds; the tree's sum sampled");
	}
	if (limit[LIMIT_OPEN_FILES] != UNLIMITED) {
		rlimit_add(ret, RLIMIT_NOFILE, limit[LIMIT_OPEN_FILES], limit[LIMIT_OPEN_FILES]);
		limit_set(i, LIMIT_OPEN_FILES, GRADE_KERNEL,
			  "RLIMIT_NOFILE; a refusal is not told to anyone but the program");
	}
	if (limit[LIMIT_FILE_SIZE] != UNLIMITED) {
		rlimit_add(ret, RLIMIT_FSIZE, limit[LIMIT_FILE_SIZE], limit[LIMIT_FILE_SIZE]);
		limit_set(i, LIMIT_FILE_SIZE, GRADE_KERNEL, "RLIMIT_FSIZE");
	}
	rlimit_add(ret, RLIMIT_CORE, 0, 0); /* a core file would leave what the run held on the host */
	rlimit_add(ret, RLIMIT_MEMLOCK, 8 << 20, 8 << 20);
	rlimit_add(ret, RLIMIT_NICE, 0, 0);
	rlimit_add(ret, RLIMIT_RTPRIO, 0, 0);
}

/* What the tree may hold together: the control group where there is one. */
static void ladder_tree(struct instance *i, bool own_user_ns, struct ladder *ret)
{
	const uint64_t *limit = i->launch->policy->limit;
	if (limit[LIMIT_MEMORY] != UNLIMITED) {
		i->memory_by_supervisor = !cgroup_has(i, CG_MEMORY);
		if (i->memory_by_supervisor)
			limit_set(i, LIMIT_MEMORY, GRADE_SAMPLED,
				  "mappings over the limit answered ENOMEM; "
				  "the tree's proportional size sampled each 20 ms, stopped when over; "
				  "what waits in pipes and sockets is not seen");
		else
			limit_set(i, LIMIT_MEMORY, GRADE_KERNEL, "cgroup");
	}
	if (limit[LIMIT_PROCESSES] != UNLIMITED) {
		/* Only where the kernel has nothing: a call that waits for the supervisor can be interrupted before it
		 * is received, and a shell whose SIGCHLD handler does not restart calls takes EINTR for "cannot fork". */
		i->fork_by_supervisor = !cgroup_has(i, CG_PIDS) && !own_user_ns;
		if (cgroup_has(i, CG_PIDS)) {
			limit_set(i, LIMIT_PROCESSES, GRADE_KERNEL, "cgroup");
		} else if (own_user_ns) {
			rlimit_add(ret, RLIMIT_NPROC, limit[LIMIT_PROCESSES] + i->processes_own,
				   limit[LIMIT_PROCESSES] + i->processes_own);
			limit_set(i, LIMIT_PROCESSES, GRADE_KERNEL,
				  "RLIMIT_NPROC in the run's own user namespace");
		} else {
			limit_set(i, LIMIT_PROCESSES, GRADE_SUPERVISOR,
				  "forks counted and answered by the supervisor");
		}
	}
	if (limit[LIMIT_CPUS] != UNLIMITED) {
		if (cgroup_has(i, CG_CPU)) {
			limit_set(i, LIMIT_CPUS, GRADE_KERNEL, "cgroup");
		} else if (limit[LIMIT_CPUS] % 1000 == 0) {
			ret->cpu_count = (uint32_t) (limit[LIMIT_CPUS] / 1000);
			i->want.pin_cpus = true;
			limit_set(i, LIMIT_CPUS, GRADE_KERNEL, "CPU affinity, changes refused");
		} else {
			limit_set(i, LIMIT_CPUS, GRADE_NONE, "parts of a core need a control group");
		}
	}
}

void ladder_build(struct instance *i, bool own_user_ns, bool sized_space, struct ladder *ret)
{
	const uint64_t *limit = i->launch->policy->limit;
	*ret = (struct ladder){ 0 };
	for (int n = 0; n < LIMIT_MAX; n++)
		i->limits[n] = (struct event_limit){ .name = limit_kinds[n].name,
						     .asked = limit[n],
						     .enforced = UNLIMITED,
						     .grade = GRADE_NONE,
						     .mechanism = limit[n] == UNLIMITED ? "unlimited"
											: NO_MECHANISM };
	if (limit[LIMIT_WALL] != UNLIMITED)
		limit_set(i, LIMIT_WALL, GRADE_SUPERVISOR, "timer of the supervisor");
	if (limit[LIMIT_OUTPUT] != UNLIMITED)
		limit_set(i, LIMIT_OUTPUT, GRADE_SUPERVISOR,
			  i->launch->policy->on_output_limit == OUTPUT_STOP
				  ? "counted by the supervisor, then stopped"
				  : "counted by the supervisor, then dropped");
	ladder_process(i, ret);
	ladder_tree(i, own_user_ns, ret);
	if (sized_space && limit[LIMIT_SPACE] != UNLIMITED)
		limit_set(i, LIMIT_SPACE, GRADE_KERNEL, "size of the one tmpfs behind every writable place");
	if (sized_space && limit[LIMIT_INODES] != UNLIMITED)
		limit_set(i, LIMIT_INODES, GRADE_KERNEL, "nr_inodes of the same tmpfs");
}

/* ---- reading back ---- */

/* One line of /proc/PID/limits: prlimit(2) would ask for a capability that root of a container need not have. */
static uint64_t rlimit_in(const char *limits, const char *title)
{
	const char *at = strstr(limits, title);
	char *end;
	uint64_t soft = at ? strtoull(at + strlen(title), &end, 10) : 0;
	return !at || end == at + strlen(title) ? UNKNOWN_U64 : soft; /* "unlimited" is no number */
}

static void cgroup_read_back(struct instance *i, enum limit_name n, enum cgroup_controller which,
			     uint64_t own)
{
	struct event_limit *l = limit_of(i, n);
	uint64_t value;
	const char *mechanism;
	if (l->grade != GRADE_KERNEL || !cgroup_has(i, which) ||
	    cgroup_limit(i->cgroup, which, &value, &mechanism) < 0)
		return;
	l->enforced = value - own;
	l->mechanism = own ? instance_text(i, "%s %llu, of which %llu ours", mechanism,
					   (unsigned long long) value, (unsigned long long) own)
			   : instance_text(i, "%s", mechanism);
}

static void affinity_read_back(struct instance *i)
{
	cpu_set_t set;
	if (sched_getaffinity(i->target_pid, sizeof(set), &set) == 0)
		limit_of(i, LIMIT_CPUS)->enforced = (uint64_t) CPU_COUNT(&set) * 1000;
}

static void space_read_back(struct instance *i)
{
	struct statfs fs;
	if (i->space_dirfd < 0 || fstatfs(i->space_dirfd, &fs) < 0)
		return;
	/* Before the target's first step: what is free is what it was given. */
	if (limit_of(i, LIMIT_SPACE)->grade == GRADE_KERNEL)
		limit_of(i, LIMIT_SPACE)->enforced = fs.f_bfree * (uint64_t) fs.f_bsize;
	if (limit_of(i, LIMIT_INODES)->grade == GRADE_KERNEL)
		limit_of(i, LIMIT_INODES)->enforced = fs.f_ffree;
}

static void limits_read_back(struct instance *i)
{
	char path[40], text[4096];
	snprintf(path, sizeof(path), "/proc/%d/limits", i->target_pid);
	if (file_read_small(AT_FDCWD, path, text, sizeof(text)) <= 0)
		text[0] = 0; /* then nothing holds, as far as anyone can tell */
	struct event_limit *cpu = limit_of(i, LIMIT_CPU);
	if (cpu->grade == GRADE_KERNEL) {
		cpu->enforced = rlimit_in(text, "\nMax cpu time");
		if (cpu->enforced != UNKNOWN_U64)
			cpu->enforced *= NS_PER_S;
	}
	if (limit_of(i, LIMIT_OPEN_FILES)->grade == GRADE_KERNEL)
		limit_of(i, LIMIT_OPEN_FILES)->enforced = rlimit_in(text, "\nMax open files");
	if (limit_of(i, LIMIT_FILE_SIZE)->grade == GRADE_KERNEL)
		limit_of(i, LIMIT_FILE_SIZE)->enforced = rlimit_in(text, "\nMax file size");
	if (limit_of(i, LIMIT_PROCESSES)->grade == GRADE_KERNEL && !cgroup_has(i, CG_PIDS))
		limit_of(i, LIMIT_PROCESSES)->enforced =
			rlimit_in(text, "\nMax processes") - i->processes_own;
	if (limit_of(i, LIMIT_CPUS)->grade == GRADE_KERNEL && !cgroup_has(i, CG_CPU))
		affinity_read_back(i);
	cgroup_read_back(i, LIMIT_MEMORY, CG_MEMORY, 0);
	cgroup_read_back(i, LIMIT_PROCESSES, CG_PIDS, i->processes_own);
	cgroup_read_back(i, LIMIT_CPUS, CG_CPU, 0);
	space_read_back(i);
}

/* The kernel rounds sizes up to pages, RLIMIT_CPU to seconds; more than that above what was asked is not held. */
static bool limit_holds(const struct event_limit *l, enum limit_name n)
{
	uint64_t slack = n == LIMIT_CPU                      ? NS_PER_S - 1
			 : limit_kinds[n].unit == UNIT_BYTES ? (uint64_t) sysconf(_SC_PAGESIZE) - 1
							     : 0;
	return l->grade != GRADE_NONE && l->enforced != UNKNOWN_U64 && l->enforced <= l->asked + slack;
}

/* What would let the kernel hold a limit that is not held; NEED_MAX: this level has nothing for it anywhere. */
static enum need limit_need(enum limit_name n)
{
	return n == LIMIT_MEMORY      ? NEED_CGROUP_MEMORY
	       : n == LIMIT_PROCESSES ? NEED_CGROUP_PROCESSES
	       : n == LIMIT_CPUS      ? NEED_CGROUP_CPU
				      : NEED_MAX;
}

int ladder_verify(struct instance *i, struct err *e)
{
	limits_read_back(i);
	for (int n = 0; n < LIMIT_MAX; n++) {
		struct event_limit *l = limit_of(i, n);
		char asked[32];
		if (l->asked == UNLIMITED)
			continue;
		if (!limit_holds(l, n))
			l->grade = GRADE_NONE;
		bool weak = l->grade == GRADE_NONE ||
			    (i->launch->policy->require == REQUIRE_KERNEL && l->grade == GRADE_SAMPLED);
		if (!weak || i->launch->best_effort)
			continue;
		limit_format(n, l->asked, asked, sizeof(asked));
		err_say(e, ENOTSUP,
			"limit-%s: %s = %s would be %s here (%s); accept it with --best-effort, set %s = "
			"unlimited",
			l->grade == GRADE_NONE ? "none" : "sampled", l->name, asked,
			l->grade == GRADE_NONE ? "held by nothing"
					       : "only sampled, and the preset says require = kernel",
			l->mechanism, l->name);
		enum need need = limit_need(n);
		return need == NEED_MAX ? -e->code : need_refuse(e, need);
	}
	return 0;
}

/* ---- layers ---- */

static bool status_is(const char *status, const char *key, uint64_t want, int base)
{
	const char *at = strstr(status, key);
	return at && strtoull(at + strlen(key), NULL, base) == want;
}

/* The seventh field of /proc/PID/stat; the second may hold anything up to its last parenthesis. */
static int terminal_number(pid_t pid)
{
	char path[40], stat[1024];
	int tty_nr = -1;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	const char *after =
		file_read_small(AT_FDCWD, path, stat, sizeof(stat)) > 0 ? strrchr(stat, ')') : NULL;
	return after && sscanf(after, ") %*c %*d %*d %*d %d", &tty_nr) == 1 ? tty_nr : -1;
}

int layers_verify(struct instance *i, const struct seccomp_program *filter, struct err *e)
{
	char path[40], status[4096];
	snprintf(path, sizeof(path), "/proc/%d/status", i->target_pid);
	if (file_read_small(AT_FDCWD, path, status, sizeof(status)) <= 0)
		return err_say(e, ESRCH, "the target died before it was released");
	if (!status_is(status, "\nSeccomp:", 2, 10) || !status_is(status, "\nNoNewPrivs:", 1, 10) ||
	    !status_is(status, "\nCapEff:", 0, 16) || !status_is(status, "\nCapPrm:", 0, 16))
		return err_say(
			e, EPROTO,
			"the target is not confined as it was told to be: /proc/PID/status says otherwise");
	instance_layer(i, "seccomp", STATE_ON, "Seccomp: 2 in /proc",
		       "%u calls allowed, %u shown to the supervisor, "
		       "%u refused by name, all others answered as unknown",
		       filter->allowed, filter->shown, filter->refused);
	bool bound = status_is(status, "\nCapBnd:", 0, 16);
	instance_layer(i, "capability", STATE_ON,
		       bound ? "CapEff, CapBnd: 0 in /proc" : "CapEff: 0, NoNewPrivs: 1 in /proc",
		       "no capabilities, and no_new_privs keeps set-user-ID programs from giving any");
	if (i->cgroup)
		instance_layer(i, "cgroup", STATE_ON, "limits read back", "%s",
			       cgroup_kind(i->cgroup) == CGROUP_V1 ? "v1, a group of its own"
								   : "v2, a group of its own");
	else
		instance_layer(i, "cgroup", STATE_UNAVAILABLE, "", "none to be had: limits by other means");
	struct stat st;
	int tty_nr = terminal_number(i->target_pid);
	if (i->tty_fd >= 0 && fstat(i->tty_fd, &st) == 0 && tty_nr > 0 && (dev_t) tty_nr == st.st_rdev)
		instance_layer(
			i, "terminal", STATE_ON, "tty_nr in /proc is the one made for it",
			"a terminal of its own; what it prints is scrubbed before one of yours sees it");
	else if (tty_nr == 0)
		instance_layer(
			i, "terminal", STATE_ON, "tty_nr 0 in /proc",
			"no controlling terminal; what it prints is scrubbed before one of yours sees it");
	else
		instance_layer(i, "terminal", STATE_PARTIAL, "", "it may have a controlling terminal");
	instance_layer(i, "rlimit", STATE_ON, "read back from /proc",
		       "open files, file size, CPU time, no core files");
	return 0;
}

unsigned watch_for(const struct instance *i, bool answer_sockets)
{
	const struct policy *p = i->launch->policy;
	unsigned watch = (p->observe.denied || p->on_denied != DENIED_ERRNO ? WATCH_DENIED : 0) |
			 (p->observe.network ? WATCH_NETWORK : 0) | (p->observe.exec ? WATCH_EXEC : 0) |
			 (p->observe.files == FILES_ATTEMPTS ? WATCH_FILES : 0) |
			 (i->memory_by_supervisor ? WATCH_MEMORY : 0) |
			 (i->fork_by_supervisor ? WATCH_FORK : 0) | (answer_sockets ? WATCH_SOCKET : 0) |
			 (i->launch->watch_exit ? WATCH_EXIT : 0);
	/* Not worth a listener of their own: there can be only one, also of whoever is around us. */
	if (watch && p->limit[LIMIT_FILE_SIZE] != UNLIMITED)
		watch |= WATCH_SIGNAL;
	return watch & (WATCH_DENIED | WATCH_NETWORK | WATCH_EXEC | WATCH_FILES) ? watch | WATCH_FILTER
										 : watch;
}
