/* SPDX-License-Identifier: MIT */
/*
 * A run that is kept ready for what is staged, where its preset wants that: most of what a start of a virtual machine
 * takes is over by the time a person presses the key.
 */
#include "core/base/base.h"
#include "core/model/model.h"
#include "core/supervise/supervise.h"
#include "tui/screen/app.h"

#define SETTLED_NS (300 * NS_PER_MS) /* who goes through the presets wants none of those on the way */

static void on_settled(void *arg)
{
	struct app *app = arg;
	struct launch *l = NULL;
	struct err e;
	app->ready_timer = 0;
	if (app_busy(app) || app->tty || !app->draft.policy || !app->draft.policy->microvm.spare ||
	    draft_launch(&app->draft, &l, &e) < 0) {
		if (!app_busy(app))
			run_keep_ready(NULL);
		return;
	}
	l->answers = true;
	run_keep_ready(l);
	launch_free(l);
}

void ready_follow(struct app *app)
{
	struct err e;
	const struct ready_for now = { .policy = app->draft.policy,
				       .language = app->draft.language,
				       .tty = app->tty,
				       .busy = app_busy(app) != NULL };
	const struct ready_for *was = &app->ready_for;
	if (now.policy == was->policy && now.language == was->language && now.tty == was->tty &&
	    now.busy == was->busy)
		return;
	app->ready_for = now;
	loop_cancel(app->loop, app->ready_timer);
	int id = loop_timer(app->loop, SETTLED_NS, 0, on_settled, app, &e);
	app->ready_timer = id > 0 ? id : 0;
}
