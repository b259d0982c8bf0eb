/* SPDX-License-Identifier: MIT */
/*
 * Outlet: bytes on their way to a descriptor that somebody else reads: standard output, standard error, --events. The
 * reader may be slow, may have filled its disk, may be gone. An outlet never blocks the loop, and drops nothing while
 * there is a reader; who feeds it looks at outlet_behind() and lets the source wait.
 */
#pragma once

/* clang-format off */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/base.h"

struct outlet {
	int fd;         /* -1: not open, everything added is dropped */
	int error;      /* the errno that ended it (EPIPE, ENOSPC, …), 0 while it works */
	uint64_t lost;  /* bytes that were added and reached nobody */
	struct { struct loop *loop; void (*moved)(void *arg); void *arg; struct buf waiting; size_t sent;
		 bool own, shared, socket, watched; } in; /* private */
};

/*
 * outlet_open: Borrows fd and the loop. `moved` is called from the loop whenever waiting bytes could be written, or
 * never can be any more.
 */
void outlet_open(struct outlet *o, int fd, struct loop *loop, void (*moved)(void *arg), void *arg);
void outlet_add(struct outlet *o, const void *data, size_t len); /* takes the bytes; writes nothing yet */
void outlet_flush(struct outlet *o);                             /* writes what goes without waiting */
size_t outlet_waiting(const struct outlet *o);                   /* bytes that a working reader has not taken yet */
bool outlet_behind(const struct outlet *o);                      /* so many of them that the source should wait */
void outlet_give_up(struct outlet *o);                           /* drops what waits, and all that comes */
void outlet_close(struct outlet *o);                             /* accepts one that was never opened but zeroed */

/* outlet_find: what --events names: a descriptor that is open, or a new file, a FIFO, a device. NULL: nothing, *ret stays.
 * Gives: *ret, which is the caller's own only above standard error. */
struct err;
int outlet_find(const char *word, int *ret, struct err *e);
