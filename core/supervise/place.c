/* SPDX-License-Identifier: MIT */
/*
 * What the attack suite needs of this host and of backends beside runs. Its control runs and planted files are kept as a
 * run is, so that one way of sweeping finds whatever a dead process left.
 */
#include "core/supervise/supervise.h"

#include "core/backend/backend.h"

uid_t run_target_uid(const struct launch *l)
{
	return target_uid(l);
}

bool level_own_kernel(const char *backend)
{
	const struct backend *b;

	return backend_find(backend, &b, NULL) == 0 && b->own_kernel;
}

int level_here(const char *backend, struct err *e)
{
	const struct backend *b;
	int r = backend_find(backend, &b, e);

	return r < 0 ? r : machine_parts(b->needs, e);
}

int place_create(const char *id, uid_t owner, char **ret_path, int *ret_lock_fd, struct err *e)
{
	return temp_create(id, owner, ret_path, ret_lock_fd, e);
}

void place_remove(const char *id)
{
	sweep_run(id);
}

int place_end_children(void)
{
	return descendants_end();
}
