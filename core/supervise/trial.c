/* SPDX-License-Identifier: MIT */
/*
 * A trial run of a preset: the shortest run there is, up to its start event. What a trial says and what a run does
 * cannot differ.
 */
#include "core/supervise/supervise.h"

#include "core/base/base.h"
#include "core/model/model.h"

#include <errno.h>
#include <poll.h>

static int trial_launch(const char *preset, struct launch **ret, struct err *e)
{
	static const char program[] = "/bin/true";
	struct launch *l = launch_new();
	int r = preset_load(preset, &l->policy, e);

	if (r < 0) {
		launch_free(l);
		return r;
	}
	l->argv = strv_add(NULL, program);
	l->title = xstrdup("trial");
	l->no_record = l->best_effort = true;
	*ret = l;
	return 0;
}

/* The next event, waited for. NULL: there is none any more. */
static struct event *next_event(struct run *run)
{
	struct event *ev;
	struct pollfd p = { .fd = run_fd(run), .events = POLLIN };
	int r;

	while ((r = run_next(run, &ev)) == 0)
		(void) poll(&p, 1, -1);
	return r > 0 ? ev : NULL;
}

int trial_run(const char *preset, struct event **ret, struct err *e)
{
	struct launch *l;
	struct run *run = NULL;
	struct event *ev;
	int r = trial_launch(preset, &l, e);

	if (r < 0)
		return r;
	if ((r = run_start(l, &run, e)) == 0)
		r = err_say(e, EPROTO, "the trial ended without a word");
	while (run && (ev = next_event(run))) {
		if (ev->type == EVENT_START) {
			*ret = ev;
			r = 0;
			break;
		}
		if (ev->type == EVENT_ERROR)
			r = err_say(e, ENOTSUP, "%s", ev->error.text);
		event_free(ev);
	}
	run_free(run);
	launch_free(l);
	return r;
}

void trial_describe(const struct event *start, struct buf *out)
{
	for (size_t i = 0; i < start->start.limit_count; i++) {
		const struct event_limit *l = &start->start.limits[i];
		if (l->asked != UNLIMITED)
			buf_printf(out, "%-24s %-13s %s\n", l->name,
				   l->grade == GRADE_NONE ? "NOT ENFORCED" : grade_name(l->grade),
				   l->mechanism);
	}
	for (size_t i = 0; i < start->start.layer_count; i++) {
		const struct event_layer *l = &start->start.layers[i];
		buf_printf(out, "%-24s %-13s %s%s%s%s\n", l->name, layer_state_name(l->state), l->detail,
			   *l->verified ? " (" : "", l->verified, *l->verified ? ")" : "");
	}
}
