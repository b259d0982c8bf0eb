/* SPDX-License-Identifier: MIT */
/*
 * Private to the image_*.c: a tree that becomes an image, and the way there.
 */
#pragma once

#include "core/backend/guest.h"
#include "core/backend/stage.h"

#include <stdbool.h>
#include <sys/stat.h>

struct buf;
struct err;

#define IMAGE_MAX_BYTES (UINT64_C(4) << 30)
#define IMAGE_MAX_FILES 200000

/* ---- image_walk.c ---- */

struct image_visit {
	int dirfd;
	const char *name;      /* in it */
	const char *path;      /* below the top; the top itself: "" */
	const struct stat *st; /* of the thing itself, a link's too */
};
typedef int (*image_visit_fn)(void *arg, const struct image_visit *v, struct err *e);
/* image_walk: all below a folder, or a file, in the same order each time. No link is followed, the last
 * component of `path` included. -EFBIG: more than IMAGE_MAX_FILES. */
int image_walk(const char *path, image_visit_fn visit, void *arg, struct err *e);
/* image_facts: a line for each that changes with it: which file it is, size, times. Appended. */
int image_facts(const char *path, struct buf *out, struct err *e);

/* ---- image_tree.c: host files at their own places below another folder ---- */

struct image_tree {
	int fd;     /* of the folder */
	char *path; /* its path */
	uint64_t bytes_left, files_left;
	const struct progress *progress; /* asked whether it is still wanted. Borrowed; NULL: it is */
};
/* image_tree_begin: makes the folder `name`. image_tree_end: removes it with all that is in it. */
int image_tree_begin(struct image_tree *t, int dirfd, const char *path, const char *name, struct err *e);
void image_tree_end(struct image_tree *t, int dirfd, const char *name);
/* image_tree_add: a file or folder of the host; each link on the way there as the link it is, and what it
 * leads to. What is there already stays. `without`: shell patterns of names at a folder's top; NULL: none.
 * Gives: *ret_real (may be NULL), where it lies, without links; NULL where it was there. */
int image_tree_add(struct image_tree *t, const char *path, const char *const *without, char **ret_real,
		   struct err *e);
/* image_tree_take: what is in a host folder, at the top of the tree. image_tree_put: a host file at
 * another place, instead of what is there. image_tree_folder: an empty folder, and those above it. */
int image_tree_take(struct image_tree *t, const char *folder, const char *const *without, struct err *e);
int image_tree_put(struct image_tree *t, const char *source, const char *path, struct err *e);
int image_tree_folder(struct image_tree *t, const char *path, struct err *e);

/* ---- image_settle.c ---- */

/* image_tree_open_up: lets everybody read what its owner may: in the guest nobody is there whom that would
 * tell something. image_tree_settle: the same, and brings the libraries that programs in the tree name. */
int image_tree_open_up(struct image_tree *t, struct err *e);
int image_tree_settle(struct image_tree *t, struct err *e);
/* image_library_facts: a line for each folder where libraries are looked for, which changes with what is
 * in it. */
void image_library_facts(struct buf *out);

/* ---- image_pack.c ---- */

/* image_pack: an erofs image NAME in the folder, of the tree. `size`: made that long, sparse; 0: as long
 * as it is. */
int image_pack(const struct image_tree *t, int dirfd, const char *name, uint64_t size, struct err *e);
bool image_is_erofs(size_t file, int fd); /* for struct cache_recipe */

/* ---- image_contents.c ---- */

/* Something of the host's that goes into a root image. */
struct image_item {
	char *path;
	const char *const *without; /* names at its top that stay out; NULL: none */
	bool own; /* the user's own, not a package's: looked at in full to see whether it changed */
};
/* image_contents: all that the policy's root image holds, the stage apart. -ENOENT: a language is not on
 * this host. Gives. */
int image_contents(const struct policy *p, struct image_item **ret, size_t *ret_count, struct err *e);
struct image_item *image_contents_free(struct image_item *items,
				       size_t count); /* accepts NULL, returns NULL */

/* ---- image_initrd.c ---- */

/* image_initrd_build: the archive, appended. */
int image_initrd_build(const struct guest_parts *parts, struct buf *out, struct err *e);
