/* SPDX-License-Identifier: MIT */
/*
 * What the `namespaces` level shows its target of this machine's files, as a list of mounts: the host's /usr and what
 * programs below it cannot do without, fresh writable places, the launch's own files. core/confine carries it out.
 */
#include "core/backend/view.h"
#include "core/backend/child.h"

#include "core/base/base.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char passwd_text[] =
    "root:x:0:0:root:/root:/usr/sbin/nologin\n"
    "user:x:1000:1000:user:" VIEW_HOME ":/bin/sh\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
static const char group_text[] = "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n";
static const char nsswitch_text[] =
    "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\nprotocols: files\n";
static const char hosts_text[] = "127.0.0.1 localhost belljar\n::1 localhost ip6-localhost\n";

/* Of the host's /etc, what programs below /usr cannot do without, and nothing that is this machine's own. */
static const char *const etc_shared[] = {
	"alternatives", "ca-certificates", "fonts", "groff", "java", "java-*", "ld.so.cache", "locale.alias", "localtime",
	"magic", "maven", "mime.types", "perl", "pki/ca-trust", "pki/java", "pki/tls/certs", "protocols", "python3*", "services",
	"ssl/certs", "ssl/openssl.cnf", "timezone", NULL,
};
static const char *const usr_links[] = { "bin", "sbin", "lib", "lib32", "lib64", "libx32", NULL };
static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty", NULL };
static const char *const dev_links[][2] = { { "/proc/self/fd", "/dev/fd" }, { "/proc/self/fd/0", "/dev/stdin" },
	{ "/proc/self/fd/1", "/dev/stdout" }, { "/proc/self/fd/2", "/dev/stderr" } };

/* A host path at the same place in the view: links as links, the rest as it is, read-only. */
static void show_same(struct mount_plan *m, const char *path)
{
	char link[PATH_MAX];
	ssize_t n = readlink(path, link, sizeof(link) - 1);
	if (n > 0) {
		link[n] = 0;
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_LINK, .source = link, .dest = path });
	} else if (access(path, F_OK) == 0) {
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_BIND, .source = path, .dest = path });
	}
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
	for (struct dirent *d; dir && (d = readdir(dir)); )
		for (const char *const *name = etc_shared; *name; name++)
			if (strchr(*name, '*') && fnmatch(*name, d->d_name, 0) == 0) {
				snprintf(path, sizeof(path), "/etc/%s", d->d_name);
				show_same(m, path);
			}
	if (dir)
		closedir(dir);
	const struct { const char *dest, *text; } files[] = { { "/etc/passwd", passwd_text }, { "/etc/group", group_text },
		{ "/etc/nsswitch.conf", nsswitch_text }, { "/etc/hosts", hosts_text }, { "/etc/hostname", "belljar\n" } };
	for (size_t k = 0; k < ARRAY_LEN(files); k++)
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_FILE, .dest = files[k].dest,
			.data = files[k].text, .len = strlen(files[k].text), .mode = 0444 });
}

static void show_dev(struct mount_plan *m)
{
	char path[32];
	for (const char *const *d = devices; *d; d++) {
		snprintf(path, sizeof(path), "/dev/%s", *d);
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_DEVICE, .source = path, .dest = path });
	}
	for (size_t k = 0; k < ARRAY_LEN(dev_links); k++)
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_LINK, .source = dev_links[k][0],
			.dest = dev_links[k][1] });
	mount_plan_add(m, (struct mount_op) { .kind = MOUNT_WORK, .dest = "/dev/shm", .mode = 01777 });
}

static void add_work(struct mount_plan *m, const char *dest, mode_t mode)
{
	for (size_t k = 0; k < m->count; k++)
		if (strcmp(m->ops[k].dest, dest) == 0)
			return;
	mount_plan_add(m, (struct mount_op) { .kind = MOUNT_WORK, .dest = dest, .mode = mode });
}

/* An overlay needs every file of the project to belong to an id that the run knows: the person's own project. As root
 * the target is another id; there, and where the kernel has no overlay for ordinary users, the project is copied. */
bool view_project_by_overlay(const struct launch *l)
{
	struct stat st;
	char fs[4096];
	return stat(l->project_dir, &st) == 0 && st.st_uid == target_uid(l) &&
		file_read_small(AT_FDCWD, "/proc/filesystems", fs, sizeof(fs)) > 0 && strstr(fs, "\toverlay\n");
}

static void show_inputs(struct mount_plan *m, const struct launch *l)
{
	for (size_t k = 0; k < l->input_count; k++) {
		const struct launch_bind *b = &l->inputs[k];
		struct stat st;
		const char *base = strrchr(b->source, '/');
		bool folder = stat(b->source, &st) == 0 && S_ISDIR(st.st_mode);
		FREE char *dest = b->dest ? xstrdup(b->dest) :
			folder && l->input_count == 1 ? xstrdup("/data") : xprintf("/data/%s", base ? base + 1 : b->source);
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_BIND, .source = b->source, .dest = dest });
	}
}

void view_plan(struct mount_plan *m, const struct launch *l, const char *code_path)
{
	const struct policy *p = l->policy;
	*m = (struct mount_plan) { .space = p->limit[LIMIT_SPACE], .inodes = p->limit[LIMIT_INODES] };
	mount_plan_add(m, (struct mount_op) { .kind = MOUNT_BIND, .source = "/usr", .dest = "/usr" });
	for (const char *const *name = usr_links; *name; name++) {
		char path[16];
		snprintf(path, sizeof(path), "/%s", *name);
		show_same(m, path);
	}
	show_etc(m);
	show_dev(m);
	mount_plan_add(m, (struct mount_op) { .kind = MOUNT_PROC, .dest = "/proc" });
	mount_plan_add(m, (struct mount_op) { .kind = MOUNT_DIR, .dest = "/run", .mode = 0755 });
	mount_plan_add(m, (struct mount_op) { .kind = MOUNT_LINK, .source = "/tmp", .dest = "/var/tmp" });
	if (l->project_dir && view_project_by_overlay(l))
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_OVERLAY, .source = l->project_dir, .dest = "/workspace",
			.mode = 0755 });
	for (char **w = p->writable; w && *w; w++)
		add_work(m, *w, strcmp(*w, "/tmp") == 0 ? 01777 : 0755);
	add_work(m, "/tmp", 01777);
	add_work(m, "/workspace", 0755);
	add_work(m, VIEW_HOME, 0700);
	if (l->output_dir)
		add_work(m, "/out", 0755);
	for (char **r = p->read_only; r && *r; r++)
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_BIND, .source = *r, .dest = *r });
	show_inputs(m, l);
	if (code_path)
		mount_plan_add(m, (struct mount_op) { .kind = MOUNT_WRITE, .dest = code_path, .data = l->code,
			.len = l->code_len, .mode = 0644 });
	mount_plan_add(m, (struct mount_op) { .kind = MOUNT_READ_ONLY, .dest = "/" });
}

/* What Landlock allows repeats the mounts: a hole in one is not a hole in both. */
void view_landlock(struct landlock_rules *r, const struct mount_plan *m, const struct policy *p)
{
	*r = (struct landlock_rules) { .scopes = p->network == NETWORK_NONE };
	r->read = strv_add(NULL, "/");
	r->write = strv_add(strv_add(NULL, "/dev"), "/proc"); /* their own modes and mounts say what may be written */
	for (size_t k = 0; k < m->count; k++)
		if (m->ops[k].kind == MOUNT_WORK || m->ops[k].kind == MOUNT_OVERLAY)
			r->write = strv_add(r->write, m->ops[k].dest);
}
