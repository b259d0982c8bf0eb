/* SPDX-License-Identifier: MIT */
/*
 * What the `namespaces` level shows its target as files, as a list of mounts: the host's /usr and what programs below it
 * cannot do without, or a folder that takes their place; fresh writable places; the launch's own files. core/confine
 * carries it out.
 */
#include "core/backend/view.h"
#include "core/backend/child.h"

#include "core/base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char passwd_text[] = "root:x:0:0:root:/root:/usr/sbin/nologin\n"
				  "user:x:1000:1000:user:" VIEW_HOME ":/bin/sh\n"
				  "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
static const char group_text[] = "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n";
static const char nsswitch_text[] =
	"passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\nprotocols: files\n";
static const char hosts_text[] = "127.0.0.1 localhost belljar\n::1 localhost ip6-localhost\n";

/* Of the host's /etc, what programs below /usr cannot do without, and nothing that is this machine's own. */
static const char *const etc_shared[] = {
	"alternatives", "ca-certificates", "fonts",           "groff",         "java",      "java-*",
	"ld.so.cache",  "locale.alias",    "localtime",       "magic",         "maven",     "mime.types",
	"perl",         "pki/ca-trust",    "pki/java",        "pki/tls/certs", "protocols", "python3*",
	"services",     "ssl/certs",       "ssl/openssl.cnf", "timezone",      NULL,
};
static const char *const usr_links[] = { "bin", "sbin", "lib", "lib32", "lib64", "libx32", NULL };
static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty", NULL };
static const char *const dev_links[][2] = { { "/proc/self/fd", "/dev/fd" },
					    { "/proc/self/fd/0", "/dev/stdin" },
					    { "/proc/self/fd/1", "/dev/stdout" },
					    { "/proc/self/fd/2", "/dev/stderr" },
					    { "pts/ptmx", "/dev/ptmx" } };

/* A host path somewhere in the view: links as links, folders and files as they are, read-only; nothing else. */
static void show_at(struct mount_plan *m, const char *source, const char *dest)
{
	char link[PATH_MAX];
	struct stat st;
	ssize_t n;
	if (lstat(source, &st) < 0)
		return;
	if (S_ISLNK(st.st_mode) && (n = readlink(source, link, sizeof(link) - 1)) > 0) {
		link[n] = 0;
		mount_plan_add(m, (struct mount_op){ .kind = MOUNT_LINK, .source = link, .dest = dest });
	} else if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) {
		mount_plan_add(m, (struct mount_op){ .kind = MOUNT_BIND,
						     .source = source,
						     .dest = dest,
						     .mode = S_ISDIR(st.st_mode) ? S_IFDIR | 0755
										 : S_IFREG | 0644 });
	}
}

static void show_same(struct mount_plan *m, const char *path)
{
	show_at(m, path, path);
}

/* The account and name files of ours, as far as `etc_fd` (-1: an empty /etc) has none of its own. */
static void show_etc_ours(struct mount_plan *m, int etc_fd)
{
	static const struct {
		const char *dest, *text;
	} files[] = { { "/etc/passwd", passwd_text },
		      { "/etc/group", group_text },
		      { "/etc/nsswitch.conf", nsswitch_text },
		      { "/etc/hosts", hosts_text },
		      { "/etc/hostname", "belljar\n" } };
	struct stat st;
	for (size_t k = 0; k < ARRAY_LEN(files); k++)
		if (etc_fd < 0 ||
		    fstatat(etc_fd, files[k].dest + strlen("/etc/"), &st, AT_SYMLINK_NOFOLLOW) < 0)
			mount_plan_add(m, (struct mount_op){ .kind = MOUNT_FILE,
							     .dest = files[k].dest,
							     .data = files[k].text,
							     .len = strlen(files[k].text),
							     .mode = 0444 });
}

static void show_etc(struct mount_plan *m)
{
	char path[PATH_MAX];
	bool wild = false;
	for (const char *const *name = etc_shared; *name; name++) {
		wild |= strchr(*name, '*') != NULL;
		snprintf(path, sizeof(path), "/etc/%s", *name);
		if (!strchr(*name, '*'))
			show_same(m, path);
	}
	DIR *dir = wild ? opendir("/etc") : NULL;
	for (struct dirent *d; dir && (d = readdir(dir));)
		for (const char *const *name = etc_shared; *name; name++)
			if (strchr(*name, '*') && fnmatch(*name, d->d_name, 0) == 0) {
				snprintf(path, sizeof(path), "/etc/%s", d->d_name);
				show_same(m, path);
			}
	if (dir)
		closedir(dir);
	show_etc_ours(m, -1);
}

static void show_dev(struct mount_plan *m)
{
	char path[32];
	for (const char *const *d = devices; *d; d++) {
		snprintf(path, sizeof(path), "/dev/%s", *d);
		mount_plan_add(m, (struct mount_op){ .kind = MOUNT_DEVICE, .source = path, .dest = path });
	}
	for (size_t k = 0; k < ARRAY_LEN(dev_links); k++)
		mount_plan_add(m, (struct mount_op){ .kind = MOUNT_LINK,
						     .source = dev_links[k][0],
						     .dest = dev_links[k][1] });
	mount_plan_add(m, (struct mount_op){ .kind = MOUNT_TERMINALS, .dest = "/dev/pts" });
	mount_plan_add(m, (struct mount_op){ .kind = MOUNT_QUEUES, .dest = "/dev/mqueue" });
	mount_plan_add(m, (struct mount_op){ .kind = MOUNT_WORK, .dest = "/dev/shm", .mode = 01777 });
}

/* An overlay needs every file of the project to belong to an id that the run knows: the person's own project. As root
 * the target is another id; there, and where the kernel has no overlay for ordinary users, the project is copied. */
bool view_project_by_overlay(const struct launch *l)
{
	struct stat st;
	char fs[4096];
	return stat(l->project_dir, &st) == 0 && st.st_uid == target_uid(l) &&
	       file_read_small(AT_FDCWD, "/proc/filesystems", fs, sizeof(fs)) > 0 &&
	       strstr(fs, "\toverlay\n");
}

/* Gives: where an input is shown. */
static char *input_dest(const struct launch *l, size_t k)
{
	const struct launch_bind *b = &l->inputs[k];
	struct stat st;
	const char *base = strrchr(b->source, '/');
	if (b->dest)
		return xstrdup(b->dest);
	if (l->input_count == 1 && stat(b->source, &st) == 0 && S_ISDIR(st.st_mode))
		return xstrdup("/data");
	return xprintf("/data/%s", base ? base + 1 : b->source);
}

static void show_inputs(struct mount_plan *m, const struct launch *l)
{
	for (size_t k = 0; k < l->input_count; k++) {
		FREE char *dest = input_dest(l, k);
		mount_plan_add(m, (struct mount_op){
					  .kind = MOUNT_BIND, .source = l->inputs[k].source, .dest = dest });
	}
}

/* ---- a folder in the place of the host's /usr ---- */

/* Gives: all the places that the preset and the launch name themselves. */
static char **named_places(const struct launch *l)
{
	char **places = l->output_dir ? strv_add(NULL, "/out") : NULL;
	if (l->input_count)
		places = strv_add(places, "/data");
	for (char **w = l->policy->writable; w && *w; w++)
		places = strv_add(places, *w);
	for (char **r = l->policy->read_only; r && *r; r++)
		places = strv_add(places, *r);
	for (size_t k = 0; k < l->input_count; k++) {
		FREE char *dest = input_dest(l, k);
		places = strv_add(places, dest);
	}
	return places;
}

/* Names at the top of the view that are not the root's to give: what the level makes there, and named places. */
static bool is_ours(const char *name, char *const *places)
{
	static const char *const made[] = { "dev", "proc", "sys",       "tmp",
					    "run", "home", "workspace", ".project" };
	for (size_t k = 0; k < ARRAY_LEN(made); k++)
		if (strcmp(name, made[k]) == 0)
			return true;
	FREE char *path = xprintf("/%s", name);
	return strv_has(places, path);
}

/*
 * Making a place below one of the root's own folders would go through it, on a host that is not covered yet, and a link
 * that somebody put into the root could lead anywhere.
 */
static int places_check(int root_fd, const char *root, char *const *places, struct err *e)
{
	struct stat st;
	for (char *const *place = places; place && *place; place++) {
		size_t len = strcspn(*place + 1, "/");
		FREE char *top = xstrndup(*place + 1, len);
		if ((*place)[1 + len] && !is_ours(top, places) &&
		    fstatat(root_fd, top, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return err_say(
				e, EINVAL,
				"%s cannot be shown: /%s belongs to root = %s, which is shown as it is; "
				"choose a place elsewhere",
				*place, top, root);
	}
	return 0;
}

/* Its /etc, entry by entry, so that ours can lie between them. */
static void show_root_etc(struct mount_plan *m, const char *root)
{
	FREE char *etc = xprintf("%s/etc", root);
	struct stat st;
	if (lstat(etc, &st) == 0 && !S_ISDIR(st.st_mode)) {
		show_at(m, etc, "/etc");
		return;
	}
	DIR *dir = opendir(etc);
	for (struct dirent *d; dir && (d = readdir(dir));) {
		FREE char *source = xprintf("%s/%s", etc, d->d_name), *dest = xprintf("/etc/%s", d->d_name);
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			show_at(m, source, dest);
	}
	show_etc_ours(m, dir ? dirfd(dir) : -1);
	if (dir)
		closedir(dir);
}

static int show_root(struct mount_plan *m, const char *root, char *const *places, struct err *e)
{
	DIR *dir = opendir(root);
	if (!dir)
		return err_set(e, errno, "show root = %s", root);
	int r = places_check(dirfd(dir), root, places, e);
	for (struct dirent *d; r >= 0 && (d = readdir(dir));) {
		FREE char *source = xprintf("%s/%s", root, d->d_name), *dest = xprintf("/%s", d->d_name);
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 &&
		    strcmp(d->d_name, "etc") != 0 && !is_ours(d->d_name, places))
			show_at(m, source, dest);
	}
	closedir(dir);
	show_root_etc(m, root);
	return r;
}

static bool root_is_usr(const struct policy *p)
{
	return strcmp(p->root, "host-usr") == 0;
}

int view_root_check(const struct policy *p, struct err *e)
{
	struct stat st, host;
	if (root_is_usr(p))
		return 0;
	bool whole = strcmp(p->root, "host") == 0;
	if (!whole && stat(p->root, &st) < 0)
		return err_set(e, errno, "show root = %s", p->root);
	if (whole || (stat("/", &host) == 0 && st.st_dev == host.st_dev && st.st_ino == host.st_ino))
		return err_say(
			e, ENOTSUP,
			"root = %s: this level never shows the whole host; host-usr shows its /usr, and "
			"read_only = FOLDER more of it",
			p->root);
	if (!S_ISDIR(st.st_mode))
		return err_say(
			e, ENOTSUP,
			"root = %s is a file: this level shows a folder or host-usr; images are for the "
			"microvm level",
			p->root);
	return 0;
}

static void show_host_usr(struct mount_plan *m)
{
	mount_plan_add(m, (struct mount_op){ .kind = MOUNT_BIND, .source = "/usr", .dest = "/usr" });
	for (const char *const *name = usr_links; *name; name++) {
		char path[16];
		snprintf(path, sizeof(path), "/%s", *name);
		show_same(m, path);
	}
	show_etc(m);
}

/* ---- the whole ---- */

static int show_system(struct mount_plan *m, const struct launch *l, struct err *e)
{
	if (root_is_usr(l->policy)) {
		show_host_usr(m);
		return 0;
	}
	char **places = named_places(l);
	int r = show_root(m, l->policy->root, places, e);
	strv_free(places);
	return r;
}

static bool has_place(const struct mount_plan *m, const char *dest)
{
	for (size_t k = 0; k < m->count; k++)
		if (strcmp(m->ops[k].dest, dest) == 0)
			return true;
	return false;
}

static void add_work(struct mount_plan *m, const char *dest, mode_t mode)
{
	if (!has_place(m, dest))
		mount_plan_add(m, (struct mount_op){ .kind = MOUNT_WORK, .dest = dest, .mode = mode });
}

static void show_writable(struct mount_plan *m, const struct launch *l)
{
	if (l->project_dir && view_project_by_overlay(l))
		mount_plan_add(m, (struct mount_op){ .kind = MOUNT_OVERLAY,
						     .source = l->project_dir,
						     .dest = "/workspace",
						     .mode = 0755 });
	for (char **w = l->policy->writable; w && *w; w++)
		add_work(m, *w, strcmp(*w, "/tmp") == 0 ? 01777 : 0755);
	add_work(m, "/tmp", 01777);
	add_work(m, "/workspace", 0755);
	add_work(m, VIEW_HOME, 0700);
	if (l->output_dir)
		add_work(m, "/out", 0755);
}

static bool is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);
	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == 0);
}

/* Whether something of the person's own was put there, or in its way: that stays, and nothing is planted. */
static bool person_has(const struct mount_plan *m, const char *dest)
{
	for (size_t k = 0; k < m->count; k++)
		if (m->ops[k].kind == MOUNT_BIND && is_below(m->ops[k].dest, VIEW_HOME) &&
		    (is_below(dest, m->ops[k].dest) || is_below(m->ops[k].dest, dest)))
			return true;
	return false;
}

static void show_canaries(struct mount_plan *m, const struct canary *c)
{
	const char *path, *text;
	for (size_t k = 0; (path = canary_file(c, k, &text)); k++) {
		FREE char *dest = xprintf(VIEW_HOME "/%s", path);
		if (person_has(m, dest))
			continue;
		mount_plan_add(m, (struct mount_op){ .kind = MOUNT_WRITE,
						     .dest = dest,
						     .data = text,
						     .len = strlen(text),
						     .mode = 0600 });
	}
}

int view_plan(struct mount_plan *m, const struct launch *l, const char *code_path,
	      const struct canary *canary, struct err *e)
{
	const struct policy *p = l->policy;
	*m = (struct mount_plan){ .space = p->limit[LIMIT_SPACE], .inodes = p->limit[LIMIT_INODES] };
	int r = show_system(m, l, e);
	if (r < 0)
		return r;
	show_dev(m);
	mount_plan_add(m, (struct mount_op){ .kind = MOUNT_PROC, .dest = "/proc" });
	mount_plan_add(m, (struct mount_op){ .kind = MOUNT_DIR, .dest = "/run", .mode = 0755 });
	if (!has_place(m, "/var")) /* a root's own is as it is */
		mount_plan_add(m,
			       (struct mount_op){ .kind = MOUNT_LINK, .source = "/tmp", .dest = "/var/tmp" });
	show_writable(m, l);
	for (char **r_o = p->read_only; r_o && *r_o; r_o++)
		mount_plan_add(m, (struct mount_op){ .kind = MOUNT_BIND, .source = *r_o, .dest = *r_o });
	show_inputs(m, l);
	if (code_path)
		mount_plan_add(m, (struct mount_op){ .kind = MOUNT_WRITE,
						     .dest = code_path,
						     .data = l->code,
						     .len = l->code_len,
						     .mode = 0644 });
	show_canaries(m, canary);
	mount_plan_add(m, (struct mount_op){ .kind = MOUNT_READ_ONLY, .dest = "/" });
	return 0;
}

/* What Landlock allows repeats the mounts: a hole in one is not a hole in both. */
void view_landlock(struct landlock_rules *r, const struct mount_plan *m, const struct policy *p)
{
	*r = (struct landlock_rules){ .keep_sockets = p->network == NETWORK_NONE, .keep_signals = true };
	r->read = strv_add(NULL, "/");
	r->write = strv_add(strv_add(NULL, "/dev"),
			    "/proc"); /* their own modes and mounts say what may be written */
	for (size_t k = 0; k < m->count; k++) {
		enum mount_kind kind = m->ops[k].kind;
		/* Queues are reached by a mount inside the kernel, which lies below no folder: a rule of their own. */
		if (kind == MOUNT_WORK || kind == MOUNT_OVERLAY || kind == MOUNT_QUEUES)
			r->write = strv_add(r->write, m->ops[k].dest);
		if (kind == MOUNT_TERMINALS)
			r->control = strv_add(r->control, m->ops[k].dest);
	}
}
