/* SPDX-License-Identifier: MIT */
/*
 * What a guest's kernel starts with: the agent as /init and the modules that it loads, as an uncompressed
 * cpio archive in the kernel's own form (Documentation/driver-api/early-userspace/buffer-format.rst). The
 * same parts give the same bytes.
 */
#include "core/backend/cache.h"
#include "core/backend/image.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PART_MAX (64u << 20) /* no agent or module is as long */

struct node {
	const char *name;
	mode_t mode;
	unsigned major, minor; /* of a device */
	const char *data;
	size_t len;
};

static void pad(struct buf *out)
{
	static const char zeros[4];
	buf_add(out, zeros, (4 - out->len % 4) % 4);
}

static void node_add(struct buf *out, unsigned *number, const struct node *n)
{
	unsigned links = S_ISDIR(n->mode) ? 2 : 1;
	/* magic, inode, mode, uid, gid, links, time, size, device, device it is, length of the name with
	 * its end, sum */
	buf_printf(out, "070701%08X%08X%08X%08X%08X%08X%08zX%08X%08X%08X%08X%08zX%08X", ++*number, n->mode, 0,
		   0, links, 0, n->len, 0, 0, n->major, n->minor, strlen(n->name) + 1, 0);
	buf_add(out, n->name, strlen(n->name) + 1);
	pad(out);
	buf_add(out, n->data, n->len);
	pad(out);
}

static int file_add(struct buf *out, unsigned *number, const char *name, const char *path, struct err *e)
{
	FREE char *data = NULL;
	size_t len;
	int r = file_read(AT_FDCWD, path, PART_MAX, &data, &len, e);
	if (r < 0)
		return r;
	const struct node n = { .name = name, .mode = S_IFREG | 0755, .data = data, .len = len };
	node_add(out, number, &n);
	return 0;
}

int image_initrd_build(const struct guest_parts *parts, struct buf *out, struct err *e)
{
	static const char *const folders[] = { "dev", "mnt", "modules", "proc", "sys" };
	unsigned number = 0;
	int r = 0;
	for (size_t k = 0; k < ARRAY_LEN(folders); k++)
		node_add(out, &number, &(struct node){ .name = folders[k], .mode = S_IFDIR | 0755 });
	/* Without it the kernel starts /init with no standard error to complain on. */
	node_add(out, &number,
		 &(struct node){ .name = "dev/console", .mode = S_IFCHR | 0600, .major = 5, .minor = 1 });
	for (size_t k = 0; r >= 0 && parts->modules && parts->modules[k]; k++) {
		const char *slash = strrchr(parts->modules[k], '/');
		FREE char *name = xprintf("modules/%02zu-%s", k, slash ? slash + 1 : parts->modules[k]);
		r = file_add(out, &number, name, parts->modules[k], e);
	}
	if (r >= 0)
		r = file_add(out, &number, "init", parts->agent, e);
	node_add(out, &number, &(struct node){ .name = "TRAILER!!!" });
	return r;
}

#define INITRD_FILE "initrd.cpio"
static const char *const initrd_files[] = { INITRD_FILE, NULL };

struct making {
	const struct guest_parts *parts;
	const struct progress *progress;
};

static int initrd_make(void *arg, int dirfd, const char *path, struct err *e)
{
	const struct making *m = arg;
	struct buf out = { 0 };
	progress_step(m->progress, "packing the guest's agent and modules");
	int r = image_initrd_build(m->parts, &out, e);
	CLOSE_FD int fd =
		r < 0 ? -1 : openat(dirfd, INITRD_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (r >= 0) {
		r = fd < 0 ? -errno : write_all(fd, out.data, out.len);
		r = r < 0 ? err_set(e, -r, "write %s/" INITRD_FILE, path) : 0;
	}
	buf_done(&out);
	return r;
}

static bool initrd_is_sound(size_t file, int fd)
{
	char magic[6];
	(void) file;
	return pread(fd, magic, sizeof(magic), 0) == (ssize_t) sizeof(magic) &&
	       memcmp(magic, "070701", 6) == 0;
}

int image_initrd(const struct guest_parts *parts, const struct progress *to, char **ret_path, struct err *e)
{
	char key[65];
	struct making m = { .parts = parts, .progress = to };
	FREE char *facts = xprintf("initrd 1\n%s\n", parts->hash);
	sha256_hex(facts, strlen(facts), key);
	FREE char *label = xprintf("agent and modules of %s", parts->release);
	const struct cache_recipe recipe = { .kind = "initrd",
					     .key = key,
					     .label = label,
					     .files = initrd_files,
					     .make = initrd_make,
					     .arg = &m,
					     .is_sound = initrd_is_sound };
	CLOSE_FD int fd = -1;
	int r = cache_take(&recipe, &fd, e);
	if (r < 0)
		return r;
	char *path = cache_path(&recipe, INITRD_FILE, e);
	if (!path)
		return -e->code;
	*ret_path = path;
	return 0;
}
