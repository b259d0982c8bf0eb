/* SPDX-License-Identifier: MIT */
/*
 * The file system that a guest starts from: the host's own programs, copied to their own places, or a folder
 * that the preset names; and what waits there as the target.
 */
#include "core/backend/cache.h"
#include "core/backend/image.h"

#include "core/base/base.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ROOT_VERSION 1 /* higher whenever the same facts make another image */
#define ROOT_FILE    "root.erofs"
#define STAGE_AT     "/usr/lib/belljar"
#define TREE         "tree"

/* Where the agent mounts, and what a target expects to be there. */
static const char *const folders[] = { "/data", "/dev",  "/etc",     "/home",      "/mnt",
				       "/out",  "/proc", "/project", "/root",      "/run",
				       "/sys",  "/tmp",  "/var",     "/workspace", STAGE_AT };

struct making {
	const struct policy *policy;
	const struct guest_parts *parts;
	const struct progress *progress;
	struct image_item *items;
	size_t count;
};

static bool is_host_usr(const struct policy *p)
{
	return strcmp(p->root, "host-usr") == 0;
}

static int root_check(const struct policy *p, struct err *e)
{
	struct stat st;
	if (is_host_usr(p))
		return 0;
	if (p->root[0] != '/')
		return err_say(e, ENOTSUP,
			       "root = %s: a virtual machine has files of its own; host-usr takes the host's "
			       "programs there, and read_only = FOLDER more",
			       p->root);
	if (stat(p->root, &st) < 0)
		return err_set(e, errno, "pack root = %s", p->root);
	if (!S_ISDIR(st.st_mode))
		return err_say(e, ENOTSUP,
			       "root = %s is a file: here a root is a folder, of which an image is made, or "
			       "host-usr",
			       p->root);
	return 0;
}

/* ---- the key ---- */

/*
 * A package's files are trusted to change as package managers change them: by a new file in the place of the
 * old one, which gives the program another inode and time, and its folder another time. So each program is
 * looked at, and each folder itself, but not what lies in it: a thousand files a run would cost more than the
 * run. Folders of the user's own change as they like and are looked at in full.
 */
static int item_facts(const struct image_item *item, struct buf *out, struct err *e)
{
	struct stat st;
	if (item->own)
		return image_facts(item->path, out, e);
	if (stat(item->path, &st) == 0)
		buf_printf(out, "%s %llx %lld %lld.%09ld\n", item->path, (unsigned long long) st.st_ino,
			   (long long) st.st_size, (long long) st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	return 0;
}

static int key_make(const struct making *m, char key[65], struct err *e)
{
	struct buf facts = { 0 };
	int r = 0;
	buf_printf(&facts, "root %d\n%s\n%s\n", ROOT_VERSION, m->policy->root, m->parts->hash);
	if (!is_host_usr(m->policy))
		r = image_facts(m->policy->root, &facts, e);
	for (size_t k = 0; r >= 0 && k < m->count; k++)
		r = item_facts(&m->items[k], &facts, e);
	if (r >= 0)
		image_library_facts(&facts);
	if (r >= 0)
		sha256_hex(facts.data, facts.len, key);
	buf_done(&facts);
	return r;
}

/* ---- the tree ---- */

/* What belongs to a running system, not to its files: the guest has its own. */
static const char *const not_of_root[] = { "dev", "proc", "sys", "tmp", "run", "lost+found", NULL };

static int tree_fill(struct image_tree *t, const struct making *m, struct err *e)
{
	int r = 0;
	if (!is_host_usr(m->policy))
		r = image_tree_take(t, m->policy->root, not_of_root, e);
	for (size_t k = 0; r >= 0 && k < m->count; k++)
		r = image_tree_add(t, m->items[k].path, m->items[k].without, NULL, e);
	for (size_t k = 0; r >= 0 && k < ARRAY_LEN(folders); k++)
		r = image_tree_folder(t, folders[k], e);
	if (r < 0 || (r = image_tree_put(t, m->parts->stage, STAGE_AT "/stage", e)) < 0 ||
	    (r = image_tree_put(t, m->parts->stage_py, STAGE_AT "/stage.py", e)) < 0)
		return r;
	return image_tree_settle(t, e);
}

static int root_make(void *arg, int dirfd, const char *path, struct err *e)
{
	const struct making *m = arg;
	struct image_tree tree;
	progress_step(m->progress, "copying the programs of the root image");
	int r = image_tree_begin(&tree, dirfd, path, TREE, e);
	tree.progress = m->progress;
	if (r >= 0)
		r = tree_fill(&tree, m, e);
	if (r >= 0) {
		progress_step(m->progress, "packing the root image");
		r = image_pack(&tree, dirfd, ROOT_FILE, 0, e);
	}
	image_tree_end(&tree, dirfd, TREE);
	return r;
}

static char *label_make(const struct policy *p)
{
	struct buf label = { 0 };
	if (!is_host_usr(p))
		buf_str(&label, p->root);
	else
		buf_str(&label, "python, sh");
	for (char **name = p->microvm.languages; is_host_usr(p) && name && *name; name++)
		if (strcmp(*name, "python") != 0 && strcmp(*name, "sh") != 0)
			buf_printf(&label, ", %s", *name);
	for (char **own = p->read_only; own && *own; own++)
		buf_printf(&label, ", %s", *own);
	return buf_steal(&label);
}

int image_root(const struct policy *p, const struct guest_parts *parts, const struct progress *to,
	       int *ret_fd, char key[65], struct err *e)
{
	static const char *const files[] = { ROOT_FILE, NULL };
	struct making m = { .policy = p, .parts = parts, .progress = to };
	char made_of[65];
	int r = root_check(p, e);
	if (r < 0 || (r = image_contents(p, &m.items, &m.count, e)) < 0)
		return r;
	FREE char *label = label_make(p);
	const struct cache_recipe recipe = { .kind = "root",
					     .key = made_of,
					     .label = label,
					     .files = files,
					     .make = root_make,
					     .arg = &m,
					     .is_sound = image_is_erofs };
	if ((r = key_make(&m, made_of, e)) >= 0 && (r = cache_take(&recipe, ret_fd, e)) >= 0)
		memcpy(key, made_of, sizeof(made_of));
	image_contents_free(m.items, m.count);
	return r < 0 ? r : 0;
}
