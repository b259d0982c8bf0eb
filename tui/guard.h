/* SPDX-License-Identifier: MIT */
/*
 * The guard: the small process between the shell and the screens. Curses cannot clean up after its own
 * SIGKILL or SIGSEGV, so what the person started is this parent, which holds the terminal's state, waits,
 * and puts it back whatever happened. It links no curses and reads nothing from the terminal or from
 * standard input.
 */
#pragma once

struct look;

/*
 * guard_screens: runs the program belljar-screens with the look's options and then `extra`
 * (NULL-terminated), and waits for it and for every process that it left behind. Returns its exit status,
 * 128 + n when signal n ended it, 125 when it could not be started (said on standard error).
 */
int guard_screens(const struct look *look, char *const *extra);
