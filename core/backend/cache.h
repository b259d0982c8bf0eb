/* SPDX-License-Identifier: MIT */
/*
 * Private to core/backend: what takes long to make and is the same the next time (disk images, snapshots),
 * kept in $XDG_CACHE_HOME/belljar/images. An entry is a folder KIND-KEY with its files; see cache.c.
 */
#pragma once

#include "core/model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define CACHE_FILES_MAX 4
#define CACHE_MAX_BYTES (UINT64_C(4) << 30) /* on disk, all entries together */

struct cache_recipe {
	const char *kind;         /* "root": lower-case letters */
	const char *key;          /* 64 hex digits, over all that goes into it */
	const char *label;        /* what it is for, in words for a person */
	const char *const *files; /* what it consists of, plain names; NULL ends them */
	/* Makes them in that folder (given both ways) and leaves nothing else there. Not called where they
	 * are kept. */
	int (*make)(void *arg, int dirfd, const char *path, struct err *e);
	void *arg;
	/* Whether a kept file begins as one of its kind does; NULL: all do. */
	bool (*is_sound)(size_t file, int fd);
};

/*
 * cache_take: the files of an entry, open for reading, which is made first where it is missing or damaged;
 * who asks for the same one meanwhile waits. While one of the descriptors is open anywhere the entry is in
 * use: it is not removed. Gives: ret_fds, one a file. Returns 1 where it was made just now, else 0.
 */
int cache_take(const struct cache_recipe *r, int *ret_fds, struct err *e);
/* cache_path: where a file of an entry is. Gives; NULL and an error where there is no folder for a cache. */
char *cache_path(const struct cache_recipe *r, const char *file, struct err *e);

/* cache_list: all entries, the one that was used last first. Gives: *ret, ended by image_entries_free, and
 * where (may be NULL), the folder. */
int cache_list(struct image_entry **ret, size_t *ret_count, char **ret_where, struct err *e);
/* cache_remove: by its whole name. -EBUSY: in use, or being made; -ENOENT. */
int cache_remove(const char *name, struct err *e);
/* cache_trim: removes entries that are not in use, the one that was used longest ago first, until no more than
 * so many bytes are left; none that was used in the last minute. Each cache_take that made something does so
 * with CACHE_MAX_BYTES. */
int cache_trim(uint64_t max_bytes, struct err *e);
