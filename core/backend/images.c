/* SPDX-License-Identifier: MIT */
/*
 * Images ahead of the first run that needs them, and the list of what is kept.
 */
#include "core/backend/backend.h"
#include "core/backend/cache.h"
#include "core/backend/image.h"
#include "core/backend/microvm.h"

#include "core/base/base.h"

#include <errno.h>
#include <string.h>

extern const struct backend backend_microvm;

void progress_step(const struct progress *to, const char *what)
{
	if (to && to->step)
		to->step(to->arg, what);
}

int progress_check(const struct progress *to, struct err *e)
{
	return to && to->stopped && to->stopped(to->arg)
		       ? err_say(e, ECANCELED, "stopped while it was made ready")
		       : 0;
}

int images_list(struct image_entry **ret, size_t *ret_count, char **ret_where, struct err *e)
{
	return cache_list(ret, ret_count, ret_where, e);
}

int images_remove(const char *name, struct err *e)
{
	return cache_remove(name, e);
}

/* Of a language, or of none: what waits in the one is an interpreter, in the other whatever is executed. */
static int ready(const struct policy *p, const char *language, const struct progress *to, struct err *e)
{
	struct launch *l = launch_new();
	struct microvm *m = xcalloc(1, sizeof(*m));
	l->policy = (struct policy *) p; /* borrowed */
	l->language = language ? language_by_name(language) : NULL;
	microvm_init(m, l);
	/* At another level the same disks may be wanted, for a preset that is to become one of a machine. */
	int r = strcmp(p->backend, backend_microvm.name) == 0 ? microvm_ready(m, l, to, e)
							      : microvm_images(m, l, to, e);
	microvm_free(m);
	l->policy = NULL;
	launch_free(l);
	return r;
}

int images_build(const struct policy *p, const struct progress *to, struct err *e)
{
	int r = ready(p, "python", to, e);
	return r < 0 ? r : ready(p, NULL, to, e);
}
