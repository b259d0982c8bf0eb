/* SPDX-License-Identifier: MIT */
/*
 * Job control, and what the guard is to know of us.
 */
#pragma once

/* job_stop: as ^Z in a cooked terminal would; returns when we are the foreground of that terminal again. */
void job_stop(int terminal_fd);

/* job_tell_guard: what is to be put back should we die: '1' the terminal whole, 'm' its modes alone, '0' nothing. -1: there
 * is no guard. */
void job_tell_guard(int guard_fd, char state);
