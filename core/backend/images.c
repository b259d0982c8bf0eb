/* SPDX-License-Identifier: MIT */
/*
 * Images ahead of the first run that needs them, and the list of what is kept.
 */
#include "core/backend/backend.h"
#include "core/backend/cache.h"
#include "core/backend/image.h"

#include "core/base/base.h"

void progress_step(const struct progress *to, const char *what)
{
	if (to && to->step)
		to->step(to->arg, what);
}

int images_list(struct image_entry **ret, size_t *ret_count, char **ret_where, struct err *e)
{
	return cache_list(ret, ret_count, ret_where, e);
}

int images_remove(const char *name, struct err *e)
{
	return cache_remove(name, e);
}

int images_build(const struct policy *p, void (*step)(void *arg, const char *what), void *arg, struct err *e)
{
	const struct progress to = { .step = step, .arg = arg };
	struct guest_parts parts;
	const struct launch nothing = { .stdin_fd = -1 };
	FREE char *initrd = NULL;
	CLOSE_FD int root = -1, data = -1;
	char key[65];
	int r = guest_parts_find(&parts, e);
	if (r < 0)
		return r;
	if ((r = image_root(p, &parts, &to, &root, key, e)) >= 0 &&
	    (r = image_initrd(&parts, &to, &initrd, e)) >= 0)
		r = image_data(&nothing, &to, &data, e);
	guest_parts_done(&parts);
	return r;
}
