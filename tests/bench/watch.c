/* SPDX-License-Identifier: MIT */
/*
 * What watching costs: a Python program (watch.py) that opens 1,400 files, tries a few connections and starts a few
 * programs. Beneath belljar with everything watched, in pairs with the same preset and nothing watched; and beneath
 * strace(1), in pairs with the bare program. The cost is the median of the differences within the pairs.
 */
#include "tests/bench/bench.h"

#include <string.h>

enum { WARM_UP = 2 };

/* The median of the values, or of how much more they are than those they pair with. */
static double median_of(const double *values, const double *less, int count)
{
	double each[ROUNDS_MAX];
	struct figures f;

	for (int i = 0; i < count; i++)
		each[i] = values[i] - (less ? less[i] : 0);
	figures_of(each, (size_t) count, &f);
	return f.median;
}

/* The first launcher is what the others are paired with. */
static int compare(struct launcher *l, size_t count, int pairs, double calls)
{
	const struct rounds r = {
		.launchers = l, .count = count, .warm_up = WARM_UP, .rounds = pairs, .rewound_fd = -1
	};

	if (rounds_measure(&r) < 0)
		return -1;
	const double base = median_of(l->ms, NULL, pairs), base_cpu = median_of(l->cpu_ms, NULL, pairs);
	for (size_t i = 0; i < count; i++) {
		printf("  %-42s %8.1f %8.1f", l[i].name, median_of(l[i].ms, NULL, pairs),
		       median_of(l[i].cpu_ms, NULL, pairs));
		if (i > 0) {
			double more = median_of(l[i].ms, l->ms, pairs);
			double more_cpu = median_of(l[i].cpu_ms, l->cpu_ms, pairs);
			printf(" %+8.1f %+8.1f %% %+8.1f %% %8.1f", more, 100 * more / base,
			       100 * more_cpu / base_cpu, 1000 * more / calls);
		}
		printf("\n");
	}
	return 0;
}

/* What strace is asked to show: the calls that belljar's events are made of. */
#define SHOWN                "trace=open,openat,openat2,creat,connect,bind,sendto,sendmsg,execve,execveat"
#define PROGRAM(script, way) "/usr/bin/python3", script, way, NULL

static int measure(char *const *arg, double calls, int pairs, int strace_pairs)
{
	const char *belljar = arg[0], *unwatched = arg[1], *script = arg[2], *way = arg[3];
	FREE char *input = xprintf("%s:/input/watch.py", script);
	const char *inside = "/input/watch.py";
	// clang-format off
	const char *const off[] = { belljar, "run", "-q", "-p", unwatched, "--input", input, "--", PROGRAM(inside, way) };
	const char *const on[] = { belljar, "run", "-q", "-p", "namespaces", "--input", input, "--", PROGRAM(inside, way) };
	const char *const bare[] = { PROGRAM(script, way) };
	const char *const bpf[] = { "strace", "-f", "--seccomp-bpf", "-e", SHOWN, "-o", "/dev/null", PROGRAM(script, way) };
	const char *const some[] = { "strace", "-f", "-e", SHOWN, "-o", "/dev/null", PROGRAM(script, way) };
	const char *const all[] = { "strace", "-f", "-o", "/dev/null", PROGRAM(script, way) };
	// clang-format on
	static struct launcher ours[2], straces[4];

	ours[0] = (struct launcher){ .name = "belljar namespaces, nothing watched", .argv = off };
	ours[1] = (struct launcher){ .name = "belljar namespaces, as it comes", .argv = on };
	straces[0] = (struct launcher){ .name = "bare", .argv = bare };
	straces[1] = (struct launcher){ .name = "strace -f --seccomp-bpf, these calls", .argv = bpf };
	straces[2] = (struct launcher){ .name = "strace -f, these calls", .argv = some };
	straces[3] = (struct launcher){ .name = "strace -f", .argv = all };
	printf("\nwatch.py %s, %.0f watched calls, ms\n  %-42s   median  its CPU     more  of median  of its "
	       "CPU  us a call\n",
	       way, calls, "");
	if (compare(ours, ARRAY_LEN(ours), pairs, calls) < 0)
		return -1;
	return strace_pairs ? compare(straces, ARRAY_LEN(straces), strace_pairs, calls) : 0;
}

int main(int argc, char **argv)
{
	double calls = argc == 8 ? atof(argv[5]) : 0;
	int pairs = argc == 8 ? atoi(argv[6]) : 0, strace_pairs = argc == 8 ? atoi(argv[7]) : 0;

	if (calls < 1 || pairs < 1 || pairs > ROUNDS_MAX || strace_pairs < 0 || strace_pairs > ROUNDS_MAX) {
		fprintf(stderr, "usage: watch BELLJAR UNWATCHED_PRESET WATCH.PY index|glance CALLS PAIRS "
				"PAIRS_WITH_STRACE\n");
		return 2;
	}
	return measure(argv + 1, calls, pairs, strace_pairs) < 0 ? 1 : 0;
}
