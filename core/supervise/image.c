/* SPDX-License-Identifier: MIT */
/*
 * What front ends may do about images that are kept, without a run.
 */
#include "core/supervise/supervise.h"

#include "core/backend/backend.h"

int image_list(struct image_entry **ret, size_t *ret_count, char **ret_where, struct err *e)
{
	return images_list(ret, ret_count, ret_where, e);
}

int image_remove(const char *name, struct err *e)
{
	return images_remove(name, e);
}

int image_build(const char *preset, void (*step)(void *arg, const char *what), bool (*stopped)(void *arg),
		void *arg, struct err *e)
{
	const struct progress to = { step, stopped, arg };
	struct policy *p = NULL;
	int r = preset_load(preset, &p, e);
	if (r >= 0)
		r = images_build(p, &to, e);
	policy_free(p);
	return r;
}
