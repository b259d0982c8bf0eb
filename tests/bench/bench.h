/* SPDX-License-Identifier: MIT */
/*
 * What the programs here share: rounds. Each round starts every launcher once in a fresh random order, so that what
 * disturbs the machine disturbs all of them alike, and what differs between two launchers is compared within a round.
 */
#pragma once

#include "core/base/base.h"
#include "core/suite/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MAX = 1000, LAUNCHERS_MAX = 8 };

struct launcher {
	const char *name;
	const char *const *argv;
	double ms[ROUNDS_MAX];     /* from start to reaped */
	double cpu_ms[ROUNDS_MAX]; /* of it, and of all below it that was waited for */
};
struct rounds {
	struct launcher *launchers;
	size_t count;
	int warm_up, rounds; /* those of the warm-up are not kept */
	long pause_ms; /* before each start: the caches are as cold as a person's or an agent's start finds them */
	int rewound_fd; /* set back to its start each time; -1: none */
};

static inline double timeval_ms(struct timeval t)
{
	return (double) t.tv_sec * 1000 + (double) t.tv_usec / 1000;
}

/* False where it did not end well. */
static inline bool launcher_start(const struct launcher *l, const posix_spawn_file_actions_t *files,
				  double *ret_ms, double *ret_cpu_ms)
{
	const char *home = getenv("HOME");
	FREE char *home_line = xprintf("HOME=%s", home ? home : "/");
	char path[] = "PATH=/usr/bin:/bin", *env[] = { path, home_line, NULL };
	struct rusage used = { 0 };
	int status = -1;
	pid_t pid;

	uint64_t begin = now_ns();
	if (posix_spawnp(&pid, l->argv[0], files, NULL, (char *const *) l->argv, env) != 0)
		return false;
	while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR)
		;
	*ret_ms = (double) (now_ns() - begin) / NS_PER_MS;
	*ret_cpu_ms = timeval_ms(used.ru_utime) + timeval_ms(used.ru_stime);
	return status == 0;
}

static inline int rounds_measure(const struct rounds *r)
{
	posix_spawn_file_actions_t files;
	size_t order[LAUNCHERS_MAX];

	posix_spawn_file_actions_init(&files);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	for (size_t i = 0; i < r->count; i++)
		order[i] = i;
	for (int round = -r->warm_up; round < r->rounds; round++) {
		bench_shuffle(order, r->count);
		for (size_t i = 0; i < r->count; i++) {
			struct launcher *l = &r->launchers[order[i]];
			double ms, cpu_ms;
			if (r->pause_ms && round >= 0)
				nanosleep(&(struct timespec){ .tv_nsec = r->pause_ms * 1000000 }, NULL);
			if ((r->rewound_fd >= 0 && lseek(r->rewound_fd, 0, SEEK_SET) < 0) ||
			    !launcher_start(l, &files, &ms, &cpu_ms)) {
				fprintf(stderr, "%s did not end well\n", l->name);
				return -1;
			}
			if (round < 0)
				continue;
			l->ms[round] = ms;
			l->cpu_ms[round] = cpu_ms;
		}
	}
	posix_spawn_file_actions_destroy(&files);
	return 0;
}
