/* SPDX-License-Identifier: MIT */
/*
 * What a launch brings: its inputs and its project as one image, read-only in the guest by what it is. All of
 * them are of one apparent size, so that a machine restored with another one in its place sees no other disk.
 */
#include "core/backend/cache.h"
#include "core/backend/image.h"

#include "core/base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA_VERSION 1
#define DATA_FILE    "data.erofs"
#define TREE         "tree"

struct making {
	const struct launch *launch;
	const struct progress *progress;
};

/* /project may hold links; they mean what they mean in the guest. Inputs may not, as at the other levels. */
static int tree_fill(struct image_tree *t, const struct launch *l, struct err *e)
{
	struct stage_want want = { .uid = (uid_t) -1,
				   .gid = (gid_t) -1,
				   .links = true,
				   .max_bytes = IMAGE_MAX_BYTES,
				   .max_files = IMAGE_MAX_FILES };
	int r = l->project_dir ? stage_copy_in(l->project_dir, t->fd, "project", &want, NULL, e) : 0;
	want.links = false;
	for (size_t k = 0; r >= 0 && k < l->input_count; k++) {
		char name[24];
		snprintf(name, sizeof(name), "%zu", k);
		r = stage_copy_in(l->inputs[k].source, t->fd, name, &want, NULL, e);
	}
	return r < 0 ? r : image_tree_open_up(t, e);
}

static int data_make(void *arg, int dirfd, const char *path, struct err *e)
{
	const struct making *m = arg;
	struct image_tree tree;
	if (m->launch->project_dir || m->launch->input_count)
		progress_step(m->progress, "packing what the run is given");
	int r = image_tree_begin(&tree, dirfd, path, TREE, e);
	tree.progress = m->progress;
	if (r >= 0)
		r = tree_fill(&tree, m->launch, e);
	if (r >= 0)
		r = image_pack(&tree, dirfd, DATA_FILE, IMAGE_DATA_SIZE, e);
	image_tree_end(&tree, dirfd, TREE);
	return r;
}

static int key_make(const struct launch *l, char key[65], struct err *e)
{
	struct buf facts = { 0 };
	int r = 0;
	buf_printf(&facts, "data %d\n", DATA_VERSION);
	for (size_t k = 0; r >= 0 && k < l->input_count; k++)
		r = image_facts(l->inputs[k].source, &facts, e);
	buf_str(&facts, "project\n");
	if (r >= 0 && l->project_dir)
		r = image_facts(l->project_dir, &facts, e);
	if (r >= 0)
		sha256_hex(facts.data, facts.len, key);
	buf_done(&facts);
	return r;
}

static char *label_make(const struct launch *l)
{
	struct buf label = { 0 };
	for (size_t k = 0; k < l->input_count; k++)
		buf_printf(&label, "%s%s", label.len ? ", " : "", l->inputs[k].source);
	if (l->project_dir)
		buf_printf(&label, "%sproject %s", label.len ? ", " : "", l->project_dir);
	if (!label.len)
		buf_str(&label, "empty, for runs that are given nothing");
	return buf_steal(&label);
}

int image_data(const struct launch *l, const struct progress *to, int *ret_fd, struct err *e)
{
	static const char *const files[] = { DATA_FILE, NULL };
	char key[65];
	struct making m = { .launch = l, .progress = to };
	int r = key_make(l, key, e);
	if (r < 0)
		return r;
	FREE char *label = label_make(l);
	const struct cache_recipe recipe = { .kind = "data",
					     .key = key,
					     .label = label,
					     .files = files,
					     .make = data_make,
					     .arg = &m,
					     .is_sound = image_is_erofs };
	r = cache_take(&recipe, ret_fd, e);
	return r < 0 ? r : 0;
}
