/* SPDX-License-Identifier: MIT */
/*
 * The list of images and snapshots, as data.
 */
#include "core/model/image.h"

#include <stdlib.h>

struct image_entry *image_entries_free(struct image_entry *list, size_t count)
{
	for (size_t k = 0; k < count; k++) {
		free(list[k].name);
		free(list[k].kind);
		free(list[k].label);
	}
	free(list);
	return NULL;
}
