/* SPDX-License-Identifier: MIT */
/*
 * Going through a tree of any depth with a constant number of descriptors, beside a second one of the same
 * shape. For stage.c and stage_report.c alone.
 */
#pragma once

/* clang-format off */

#include "core/base/base.h"

#include <sys/stat.h>

enum { WALK_FROM, WALK_BESIDE, WALK_SIDES };

struct walk_level {
	char **names;              /* sorted, so that what a cap cuts off is the same each time */
	size_t count, next;
	struct { dev_t dev; ino_t ino; } id[WALK_SIDES];
	int held_fd;               /* the second tree's folder above, where it has none here; else -1 */
	size_t path_len;
};
struct walk {
	int fd[WALK_SIDES];        /* where we are; -1: the second tree has no such folder */
	struct walk_level *level;
	size_t depth, room;
	struct buf path;
	uint64_t seen, queued, max; /* names: taken, waiting, and how many may be altogether */
};

void walk_init(struct walk *w, uint64_t max);
void walk_done(struct walk *w);

/*
 * walk_enter: goes into the folders that the descriptors stand for (they become the walk's, also on failure),
 * called `name` ("" at the top), and reads the names in the first. Returns 1 when there were more names than
 * may be, and the rest was left out; 0; or -errno.
 */
int walk_enter(struct walk *w, const char *name, int from_fd, int beside_fd, struct err *e);
const char *walk_next(struct walk *w); /* NULL: this folder is done, walk_leave */
int walk_leave(struct walk *w, struct err *e);
const char *walk_path(struct walk *w, const char *name); /* of an entry here; until the next call */

/* walk_open: an entry of a folder: not through a link, not into another mount where `one_mount`. -errno. */
int walk_open(int dirfd, const char *name, int flags, bool one_mount);
