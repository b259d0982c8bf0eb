/* SPDX-License-Identifier: MIT */
/*
 * Private to core/backend: the plan of what a target at the `namespaces` level sees as files.
 */
#pragma once

#include <stdbool.h>

struct err;
struct canary;
struct landlock_rules;
struct launch;
struct mount_plan;
struct policy;

#define VIEW_HOME "/home/user"

/* view_root_check: -ENOTSUP where `root` is nothing that this level shows, another where it is not there. */
int view_root_check(const struct policy *p, struct err *e);
/* view_plan: code_path: where the code lies in the view, NULL: there is none. Borrows the code. Gives: the plan, for
 * mount_plan_done, also on failure. -EINVAL: a place that would have to be made below the root's own folders. */
int view_plan(struct mount_plan *m, const struct launch *l, const char *code_path,
	      const struct canary *canary, struct err *e);
/* view_landlock: repeats the plan's writable places. Gives: read and write, strv. */
void view_landlock(struct landlock_rules *r, const struct mount_plan *m, const struct policy *p);
/* view_project_by_overlay: the project is seen through a copy-on-write layer; else /workspace gets a copy of it. */
bool view_project_by_overlay(const struct launch *l);
