/* SPDX-License-Identifier: MIT */
/*
 * The person's terminal while its keys go to a target: each key at once and as it is, ^C too.
 */
#pragma once

#include <sys/types.h>
#include <termios.h>

struct err;

struct raw {
	int fd, keeper_fd;
	pid_t keeper; /* 0: not begun */
	struct termios saved;
};

/*
 * raw_begin: fd is a terminal. A process of its own gives it its modes back should we die without raw_end. raw_end:
 * accepts one that is zeroed.
 */
int raw_begin(struct raw *r, int fd, struct err *e);
void raw_end(struct raw *r);
