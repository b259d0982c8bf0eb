/* SPDX-License-Identifier: MIT */
/*
 * What a machine that is kept ready saves: `spare ROUNDS PAUSE_MS` starts `print(1)` at the microvm level, each time from
 * a spare that has become ready before, and tells for each round the milliseconds to the first byte of output and to the
 * exit event, which comes when the machine is gone and the meters are read.
 */
#include "core/base/base.h"
#include "core/model/model.h"
#include "core/supervise/supervise.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct launch *launch_make(struct err *e)
{
	static const char code[] = "print(1)\n";
	struct launch *l = launch_new();
	char *note = NULL;
	l->language = language_by_name("python");
	l->title = xstrdup("spare");
	l->no_record = true;
	if (preset_load("microvm", &l->policy, e) < 0 || launch_set_code(l, code, strlen(code), &note, e) < 0)
		return launch_free(l);
	free(note);
	l->policy->microvm.spare = 1;
	return l;
}

static int round_run(const struct launch *l, uint64_t *ret_first, uint64_t *ret_exit, struct err *e)
{
	struct run *run;
	struct event *ev;
	uint64_t from = now_ns();
	bool over = false, ok = false;
	if (run_start(l, &run, e) < 0)
		return -1;
	*ret_first = 0;
	while (!over) {
		struct pollfd p = { .fd = run_fd(run), .events = POLLIN };
		(void) poll(&p, 1, -1);
		while (!over && run_next(run, &ev) > 0) {
			if (ev->type == EVENT_OUTPUT && !*ret_first)
				*ret_first = now_ns() - from;
			over = ev->type == EVENT_EXIT;
			if (over) {
				*ret_exit = now_ns() - from;
				ok = ev->exit.verdict == VERDICT_OK;
				if (!ok)
					err_say(e, EIO, "%s", ev->exit.evidence);
			}
			event_free(ev);
		}
	}
	run_free(run);
	return ok && *ret_first ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct err e = { 0 };
	if (argc != 3) {
		fprintf(stderr, "usage: spare ROUNDS PAUSE_MS\n");
		return 2;
	}
	run_prepare_process();
	struct launch *l = launch_make(&e);
	for (int k = 0; l && k < atoi(argv[1]); k++) {
		uint64_t first, end;
		run_keep_ready(l);
		while (!run_ready())
			(void) poll(NULL, 0, 1);
		(void) poll(NULL, 0, atoi(argv[2]));
		if (round_run(l, &first, &end, &e) < 0)
			break;
		printf("%.2f %.2f\n", (double) first / 1e6, (double) end / 1e6);
		fflush(stdout);
	}
	run_keep_ready(NULL);
	launch_free(l);
	if (e.code)
		fprintf(stderr, "spare: %s\n", e.text);
	return e.code ? 1 : 0;
}
