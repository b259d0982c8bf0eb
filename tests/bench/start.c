/* SPDX-License-Identifier: MIT */
/*
 * How long a run of /usr/bin/true takes from start to reaped: bare, beneath bubblewrap with as much isolation (the same
 * namespaces, no capabilities, and the very filter of the namespaces preset), and beneath belljar. Each round starts
 * every launcher once in a fresh random order, so that what disturbs the machine disturbs all of them alike; with a
 * pause before each start the caches are as cold as a person's or an agent's start finds them.
 */
#include "tests/bench/bench.h"

#include "core/confine/confine.h"
#include "core/model/model.h"

#include <sys/mman.h>

enum { WARM_UP = 5, FILTER_FD = 10 };

static const char *const bare_argv[] = { "/usr/bin/true", NULL };
// clang-format off
static const char *const bwrap_argv[] = {
	"bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv",
	"--setenv", "PATH", "/usr/bin", "--hostname", "sandbox", "--ro-bind", "/usr", "/usr",
	"--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
	"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--remount-ro", "/", "--chdir", "/tmp",
	"--seccomp", "10", "--", "/usr/bin/true", NULL,
};
// clang-format on

/* The filter of the shipped preset, with nothing watched, as bytes on descriptor 10: what bubblewrap's --seccomp takes. */
static int put_filter(struct err *e)
{
	struct policy *p = NULL;
	struct seccomp_program program = { 0 };
	int r = preset_load("namespaces", &p, e);
	if (r < 0)
		return r;
	r = seccomp_compile(&(struct seccomp_want){ .policy = p }, &program, e);
	policy_free(p);
	if (r < 0)
		return r;
	CLOSE_FD int fd = memfd_create("filter", 0);
	if (fd < 0 || write_all(fd, program.insns, program.count * sizeof(*program.insns)) < 0 ||
	    dup2(fd, FILTER_FD) < 0)
		r = err_set(e, errno, "filter for bubblewrap");
	seccomp_program_done(&program);
	return r;
}

static void print_table(struct launcher *l, size_t count, int rounds, long pause_ms)
{
	double bare = 0, bwrap = 0;

	printf("\n%d rounds, %s, ms       median     p95   of bare  of bubblewrap\n", rounds,
	       pause_ms ? "100 ms idle before each" : "one after the other    ");
	for (size_t i = 0; i < count; i++) {
		struct figures f;
		figures_of(l[i].ms, (size_t) rounds, &f);
		bare = i == 0 ? f.median : bare;
		bwrap = i == 1 ? f.median : bwrap;
		printf("  %-40s %7.2f %7.2f %8.2fx", l[i].name, f.median, f.p95, f.median / bare);
		if (i == 0)
			printf("\n");
		else
			printf(" %13.2fx\n", f.median / bwrap);
	}
}

int main(int argc, char **argv)
{
	const char *belljar = argc > 1 ? argv[1] : "belljar";
	int rounds = argc > 2 ? atoi(argv[2]) : 60;
	const char *const quiet_argv[] = { belljar, "run",           "-q", "--no-record", "-p", "namespaces",
					   "--",    "/usr/bin/true", NULL };
	const char *const usual_argv[] = { belljar, "run", "-p", "namespaces", "--", "/usr/bin/true", NULL };
	static struct launcher launchers[] = {
		{ .name = "bare", .argv = bare_argv },
		{ .name = "bubblewrap, with the preset's filter", .argv = bwrap_argv },
		{ .name = "belljar namespaces, no recording" },
		{ .name = "belljar namespaces, as it comes" },
	};
	const size_t count = sizeof(launchers) / sizeof(launchers[0]);
	struct err e = { 0 };

	launchers[2].argv = quiet_argv;
	launchers[3].argv = usual_argv;
	if (rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: start BELLJAR [ROUNDS (1 to %d)]\n", ROUNDS_MAX);
		return 2;
	}
	if (put_filter(&e) < 0) {
		fprintf(stderr, "start: %s\n", e.text);
		return 1;
	}
	for (long pause_ms = 0; pause_ms <= 100; pause_ms += 100) {
		if (rounds_measure(&(struct rounds){ .launchers = launchers,
						     .count = count,
						     .warm_up = WARM_UP,
						     .rounds = rounds,
						     .pause_ms = pause_ms,
						     .rewound_fd = FILTER_FD }) < 0)
			return 1;
		print_table(launchers, count, rounds, pause_ms);
	}
	return 0;
}
