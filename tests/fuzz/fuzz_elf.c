/* SPDX-License-Identifier: MIT */
/*
 * Programs and libraries of folders that go into an image: what a file says that it needs lies within the
 * file, or is not believed.
 */
#include "check.h"

#include "core/backend/elf.h"

#include "core/base/base.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_needs n;
	int r = elf_needs(data, size, &n);

	if (r < 0 && (n.loader || n.names || n.folders))
		abort();
	for (char **name = n.names; name && *name; name++)
		if (!memmem(data, size, *name, strlen(*name) + 1))
			abort();
	if ((r == 0) != elf_same_machine(data, size, data, size))
		abort();
	elf_needs_done(&n);
	return 0;
}
