/* SPDX-License-Identifier: MIT */
/*
 * A trial: a preset started with a program that does nothing, to learn from its own start event what each limit and layer
 * of it comes to on this machine and for this user. What a trial says and what a run does cannot differ.
 */
#pragma once

struct buf;
struct err;
struct event;

/* trial_run: with --best-effort, so that a limit that nothing holds is told and does not end it. Nothing is recorded.
 * Gives: *ret, the start event (event_free). Or -errno with what stood in the way. */
int trial_run(const char *preset, struct event **ret, struct err *e);
/* trial_describe: a line for each limit that was asked for ("memory  kernel: cgroup v2 memory.max") and each layer
 * ("net-ns  on: loopback of its own"). Appended; untrusted only as far as the preset is. */
void trial_describe(const struct event *start, struct buf *out);
