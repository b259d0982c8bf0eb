/* SPDX-License-Identifier: MIT */
/*
 * Private to core/backend: a pseudo-terminal for one run.
 */
#pragma once

struct err;
struct instance;
struct mount_plan;
struct landlock_rules;

/* terminal_open: where the launch asks for one: the master as in_fd and out_fd, the slave as tty_fd, its path. */
int terminal_open(struct instance *i, struct err *e);
/* terminal_show: behind view_plan: the slave in a view that has no /dev/pts of the host, and what Landlock says of it. */
void terminal_show(const struct instance *i, struct mount_plan *m);
void terminal_landlock(const struct instance *i, struct landlock_rules *r);
