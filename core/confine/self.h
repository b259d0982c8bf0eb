/* SPDX-License-Identifier: MIT */
/*
 * Private to core/confine: the single steps that confine_self() puts in order. Each runs in the child, returns 0 or a
 * negative errno with `e` filled, and leaves the process unfit to go on when it failed.
 */
#pragma once

#include "core/confine/confine.h"

/* privs.c */
int signals_reset(struct err *e);
int fds_keep(const struct confinement *c, struct err *e);
int pages_small(struct err *e);
int session_start(struct err *e);
int session_terminal(int tty_fd, struct err *e);
int fds_apply(const struct confinement *c, struct err *e);
int rlimits_apply(const struct rlimit_want *want, size_t count, struct err *e);
int cpus_pin(uint32_t count, struct err *e);
int ids_apply(const struct confinement *c, struct err *e);
int caps_bound_drop(struct err *e);
int caps_drop(struct err *e);
int death_signal(struct err *e);

/* ns.c */
int sync_wait(int sync_fd, struct err *e); /* one byte from the parent; -ECANCELED when it is gone */
int sync_send(int sync_fd, const struct sync_msg *m);
int ns_hostname(const char *name, struct err *e);

/* reaper.c: pid 1 of the run. The caller goes on as the target; the parent never returns. */
int reaper_fork(const struct confinement *c, struct err *e);
