/* SPDX-License-Identifier: MIT */
/*
 * What a run has on the host while it lives: a folder, and processes that descend from its supervisor.
 */
#pragma once

#include <sys/types.h>

struct err;

/* temp_create: TMPDIR/belljar-UID/RUN_ID with work, home and tmp in it, belonging to `owner`. Gives both; the
 * descriptor holds the lock that says that the run is alive: closed last. */
int temp_create(const char *run_id, uid_t owner, char **ret_path, int *ret_fd, struct err *e);
/* temp_remove: all of it, whatever the target made of it. 0 also when there is none. */
int temp_remove(const char *run_id, struct err *e);
/*
 * descendants_end: kills until nothing descends from this process, which is a child subreaper: what loses its parent
 * comes to it. Between two blows the dying get ever more time: each look at a large family costs what they need to die.
 * Returns how many were still there when the time was up.
 */
int descendants_end(void);
