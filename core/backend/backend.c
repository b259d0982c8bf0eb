/* SPDX-License-Identifier: MIT */
/*
 * The table of backends. To add one: a file and a row.
 */
#include "core/backend/backend.h"

#include "core/base/base.h"

#include <errno.h>
#include <string.h>

extern const struct backend backend_subprocess, backend_namespaces, backend_microvm;

const struct backend *const backends[] = { &backend_subprocess, &backend_namespaces, &backend_microvm, NULL };

int backend_find(const char *name, const struct backend **ret, struct err *e)
{
	for (const struct backend *const *b = backends; *b; b++)
		if (strcmp((*b)->name, name) == 0) {
			*ret = *b;
			return 0;
		}
	return err_say(e, ENOENT,
		       "backend '%s' is not in this version of belljar; "
		       "there are: subprocess, namespaces, microvm",
		       name);
}
