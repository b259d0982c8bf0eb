/* SPDX-License-Identifier: MIT */
/*
 * How long a run of /usr/bin/true takes from start to reaped: bare, beneath bubblewrap with as much isolation (the same
 * namespaces, no capabilities, and the very filter of the namespaces preset), and beneath belljar. Each round starts
 * every launcher once in a fresh random order, so that what disturbs the machine disturbs all of them alike; with a
 * pause before each start the caches are as cold as a person's or an agent's start finds them.
 */
#include "core/base/base.h"
#include "core/confine/confine.h"
#include "core/model/model.h"
#include "core/suite/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MAX = 1000, WARM_UP = 5, FILTER_FD = 10, LAUNCHERS_MAX = 8 };

struct launcher {
	const char *name;
	const char *const *argv;
	double ms[ROUNDS_MAX];
};

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

/* start_once: ms until reaped, or -1 where it did not end well. */
static double start_once(const struct launcher *l, const posix_spawn_file_actions_t *files, char **env)
{
	pid_t pid;
	int status = -1;
	if (lseek(FILTER_FD, 0, SEEK_SET) < 0)
		return -1;
	uint64_t begin = now_ns();
	if (posix_spawnp(&pid, l->argv[0], files, NULL, (char *const *) l->argv, env) != 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	uint64_t end = now_ns();
	return status == 0 ? (double) (end - begin) / NS_PER_MS : -1;
}

static int measure(struct launcher *l, size_t count, int rounds, long pause_ms)
{
	posix_spawn_file_actions_t files;
	const char *home = getenv("HOME");
	char path[] = "PATH=/usr/bin:/bin", home_line[4096];
	char *env[] = { path, home_line, NULL };
	size_t order[LAUNCHERS_MAX];

	snprintf(home_line, sizeof(home_line), "HOME=%s", home ? home : "/");
	posix_spawn_file_actions_init(&files);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	for (int round = -WARM_UP; round < rounds; round++) {
		bench_shuffle(order, count);
		for (size_t i = 0; i < count; i++) {
			if (pause_ms && round >= 0)
				nanosleep(&(struct timespec){ .tv_nsec = pause_ms * 1000000 }, NULL);
			double ms = start_once(&l[order[i]], &files, env);
			if (ms < 0) {
				fprintf(stderr, "start: %s did not end well\n", l[order[i]].name);
				return -1;
			}
			if (round >= 0)
				l[order[i]].ms[round] = ms;
		}
	}
	posix_spawn_file_actions_destroy(&files);
	return 0;
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
		if (measure(launchers, count, rounds, pause_ms) < 0)
			return 1;
		print_table(launchers, count, rounds, pause_ms);
	}
	return 0;
}
