/* SPDX-License-Identifier: MIT */
/*
 * Probes of what lies on this machine: control groups, folders, an interpreter; and last a whole start of each preset.
 */
#include "core/doctor/probe.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- control groups ---- */

/* Small limits that any group can hold, of the one kind that is asked for. */
static struct policy limits_of(int controller)
{
	struct policy p = { 0 };
	for (int n = 0; n < LIMIT_MAX; n++)
		p.limit[n] = UNLIMITED;
	if (controller == CG_MEMORY)
		p.limit[LIMIT_MEMORY] = 64 << 20;
	else if (controller == CG_PIDS)
		p.limit[LIMIT_PROCESSES] = 64;
	else
		p.limit[LIMIT_CPUS] = 500;
	return p;
}

void probe_cgroup(const struct given *g, int controller, struct answer *a)
{
	const struct policy p = limits_of(controller);
	struct cgroup *c = NULL;
	struct err e;
	uint64_t held;
	const char *mechanism;
	int r = cgroup_create(g->run_id, &p, &c, &e);
	if (r < 0)
		answer_err(a, &e);
	else if (cgroup_limit(c, (enum cgroup_controller) controller, &held, &mechanism) < 0)
		answer_missing(a, ENOTSUP, "a group was made, and has no such controller");
	else
		answer_ok(a, "%s%s", mechanism, cgroup_kind(c) == CGROUP_V2_SCOPE ? ", a systemd scope" : "");
	cgroup_remove(c);
}

/* ---- folders ---- */

/* A file without a name: it is gone with its descriptor. */
static int file_try(const char *folder, int *ret_fd, struct err *e)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) { /* not every file system has such files */
		FREE char *path = xprintf("%s/belljar-probe-XXXXXX", folder);
		if ((fd = mkostemp(path, O_CLOEXEC)) >= 0)
			(void) unlink(path);
	}
	if (fd < 0)
		return err_set(e, errno, "make a file in %s", folder);
	(void) fchmod(fd, 0700);
	*ret_fd = fd;
	return 0;
}

static const char *temp_folder(void)
{
	const char *set = getenv("TMPDIR");
	return set && set[0] == '/' ? set : "/tmp";
}

void probe_temp(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	CLOSE_FD int fd = -1;
	(void) g, (void) arg;
	if (file_try(temp_folder(), &fd, &e) < 0)
		answer_err(a, &e);
	else
		answer_ok(a, "%.200s may be written", temp_folder());
}

void probe_temp_exec(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	struct statvfs fs;
	CLOSE_FD int fd = -1;
	(void) g, (void) arg;
	if (file_try(temp_folder(), &fd, &e) < 0)
		answer_err(a, &e);
	else if (fstatvfs(fd, &fs) < 0)
		answer_unknown(a, "%.200s: %s", temp_folder(), strerrordesc_np(errno));
	else if (fs.f_flag & ST_NOEXEC)
		answer_missing(a, EACCES, "%.200s is mounted noexec", temp_folder());
	else
		answer_ok(a, "may be executed");
}

/* What is kept in each folder, and how much of it there may be. */
#define CACHE_ROOM (UINT64_C(300) << 20) /* a root image and a snapshot */
static const struct {
	const char *below, *what;
	uint64_t most;
} kept[] = {
	[XDG_STATE] = { "runs", "one recording may take", RECORDING_MAX },
	[XDG_CACHE] = { NULL, "a microVM's image and snapshot take up to", CACHE_ROOM },
};

/* The folder, or the nearest one above it that is there: nothing is made. Gives; NULL: no HOME. */
static char *kept_folder(int xdg, struct err *e)
{
	struct stat st;
	char *path = xdg_folder((enum xdg) xdg, kept[xdg].below, false, e);
	while (path && path[1] && stat(path, &st) < 0 && errno == ENOENT) {
		char *slash = strrchr(path, '/');
		slash[slash == path] = 0;
	}
	return path;
}

void probe_folder(const struct given *g, int xdg, struct answer *a)
{
	struct err e;
	CLOSE_FD int fd = -1;
	FREE char *folder = kept_folder(xdg, &e);
	(void) g;
	if (!folder || file_try(folder, &fd, &e) < 0)
		answer_err(a, &e);
	else
		answer_ok(a, "%.200s may be written", folder);
}

void probe_room(const struct given *g, int xdg, struct answer *a)
{
	struct err e;
	struct statvfs fs;
	char room[32], most[32];
	FREE char *folder = kept_folder(xdg, &e);
	(void) g;
	if (!folder || statvfs(folder, &fs) < 0) {
		answer_unknown(a, "%s", folder ? strerrordesc_np(errno) : e.text);
		return;
	}
	uint64_t bytes = (uint64_t) fs.f_bavail * fs.f_frsize;
	format_bytes(bytes, room, sizeof(room));
	if (bytes < kept[xdg].most)
		answer_missing(a, ENOSPC, "%s are free in %.200s; %s %s", room, folder, kept[xdg].what,
			       format_bytes(kept[xdg].most, most, sizeof(most)));
	else
		answer_ok(a, "%s are free", room);
}

/* ---- an interpreter ---- */

/* The first python3 of the person's own PATH. Gives; NULL: none. */
static char *own_python(void)
{
	FREE char *folders = xstrdup(getenv("PATH") ? getenv("PATH") : "");
	for (char *rest = folders, *folder; (folder = strsep(&rest, ":"));) {
		FREE char *path = xprintf("%s/python3", folder);
		if (*folder == '/' && access(path, X_OK) == 0)
			return take_ptr(&path);
	}
	return NULL;
}

static bool same_file(const char *one, const char *other)
{
	struct stat a, b;
	return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

void probe_python(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	FREE char *seen = NULL;
	FREE char *own = own_python();
	(void) arg;
	if (!g->policy) {
		answer_unknown(a, "there is no preset to say what a run sees");
		return;
	}
	if (language_find_program(language_by_name("python"), g->policy, &seen, &e) < 0) {
		answer_err(a, &e);
		if (own)
			snprintf(a->remedy, sizeof(a->remedy),
				 "install python3 in /usr, or show the folder of the real one to runs: "
				 "read_only = FOLDER in "
				 "[filesystem] of a preset");
	} else if (own && !same_file(own, seen)) {
		answer_missing(a, ENOENT, "your shell has %.150s; runs do not see it and have %.150s", own,
			       seen);
		snprintf(a->remedy, sizeof(a->remedy),
			 "install what is needed for %.100s, or show the folder of yours to runs: read_only "
			 "= FOLDER in "
			 "[filesystem] of a preset",
			 seen);
	} else {
		answer_ok(a, "%.200s", seen);
	}
}

/* ---- all of it ---- */

void probe_start(const struct given *g, int arg, struct answer *a)
{
	const struct backend *backend;
	struct instance i;
	struct err e;
	struct launch *l = launch_new();
	(void) arg;
	memcpy(l->run_id, g->run_id, sizeof(l->run_id));
	l->argv = strv_add(NULL, "/bin/true");
	l->title = xstrdup("doctor");
	l->no_record = true;
	if (preset_load(g->policy->file, &l->policy, &e) < 0 ||
	    backend_find(l->policy->backend, &backend, &e) < 0) {
		answer_err(a, &e);
		launch_free(l);
		return;
	}
	instance_init(&i, backend, l);
	/* Up to its exec: everything is made, read back, and taken away; the program itself is never executed. */
	int r = backend->start(l, &i, &e);
	int left = backend->end(&i);
	backend->done(&i);
	launch_free(l);
	if (r < 0)
		answer_missing(a, e.code, "%.*s", FINDING_FACT - 1, e.text);
	else if (left > 0)
		answer_missing(a, 0, "%d processes of it could not be ended", left);
	else
		answer_ok(a, "done");
}
