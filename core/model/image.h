/* SPDX-License-Identifier: MIT */
/*
 * What is kept of images and snapshots for the `microvm` level: one entry of the list of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_entry {
	char *name;     /* "root-…": the kind, and the key in full */
	char *kind;     /* "root", "initrd", "data", "snapshot" */
	char *label;    /* what it is for; "" where its record cannot be read */
	uint64_t bytes; /* on disk: what is sparse counts as far as it is there */
	int64_t used;   /* seconds since 1970 */
	bool in_use;    /* by a run, or it is being made */
};
struct image_entry *image_entries_free(struct image_entry *list,
				       size_t count); /* accepts NULL, returns NULL */
