/* SPDX-License-Identifier: MIT */
/*
 * Private to core/backend: the folder on the host that a run has while it lives.
 */
#pragma once

#include <sys/types.h>

struct err;

/* temp_create: TMPDIR/belljar-UID/RUN_ID with work, home and tmp in it, belonging to `owner`. Gives both; the
 * descriptor holds the lock that says that the run is alive: closed last. */
int temp_create(const char *run_id, uid_t owner, char **ret_path, int *ret_fd, struct err *e);
/* temp_remove: all of it, whatever the target made of it. 0 also when there is none. */
int temp_remove(const char *run_id, struct err *e);
