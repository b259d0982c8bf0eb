/* SPDX-License-Identifier: MIT */
/*
 * The control groups of one run: the door, the choice between the ways that a machine may offer, and what
 * they share: making and removing folders, setting limits and reading them back, killing. What version 1 and
 * 2 do differently is behind struct cgroup_ops. See cgroups(7).
 */
#include "core/confine/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REMOVE_WAIT_NS (500 * NS_PER_MS)
#define REMOVE_DEPTH   8 /* of groups below a run's own, which only a nested manager makes */

/*
 * Best first. Our own group of version 2 costs nothing and is nobody else's; a scope costs a question; an
 * outer group is someone else's, though it may be written; version 1 excludes the others, since a controller
 * is in one hierarchy only.
 */
static const struct cgroup_ops *const ways[] = {
	&cgroup_v2_own_ops,
	&cgroup_v2_scope_ops,
	&cgroup_v2_outer_ops,
	&cgroup_v1_ops,
};

static int real_make_dir(int dirfd, const char *name, mode_t mode)
{
	return mkdirat(dirfd, name, mode);
}

static int real_remove_dir(int dirfd, const char *name)
{
	return unlinkat(dirfd, name, AT_REMOVEDIR);
}

const struct cgroup_host cgroup_this_host = {
	.root = "",
	.proc = "/proc",
	.make_dir = real_make_dir,
	.remove_dir = real_remove_dir,
	.ask_scope = cgroup_ask_scope,
};

/* ---- control files ---- */

int cgroup_set(int dirfd, const char *file, const char *text, char *got, size_t size, struct err *e)
{
	CLOSE_FD int fd = openat(dirfd, file, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, errno, "open %s", file);
	if (write(fd, text, strlen(text)) < 0)
		return err_set(e, errno, "write %s to %s", text, file);

	ssize_t n = pread(fd, got, size - 1, 0);
	if (n < 0)
		return err_set(e, errno, "read back %s", file);
	got[n] = '\0';
	got[strcspn(got, "\n")] = '\0';
	return 0;
}

int cgroup_set_limit(int dirfd, const char *file, uint64_t value, uint64_t *ret_held, struct err *e)
{
	char text[24], got[32];
	uint64_t held;

	snprintf(text, sizeof text, "%llu", (unsigned long long) value);
	int r = cgroup_set(dirfd, file, text, got, sizeof got, e);
	if (r < 0)
		return r;
	/* Memory is rounded down to whole pages. More than was asked for, or no number ("max"), is no
	 * limit. */
	if (str_to_u64(got, &held) < 0 || held > value)
		return err_say(e, EIO, "%s: %s was written, the kernel says %s", file, text, got);
	*ret_held = held;
	return 0;
}

/* The kernel takes no quota below a millisecond. */
uint64_t cgroup_quota_us(uint64_t millicores)
{
	uint64_t quota_us = millicores * (CGROUP_PERIOD_US / 1000);

	return quota_us < 1000 ? 1000 : quota_us;
}

/* -1: there is none, or no more may be open. `file` is a literal, and stays. */
static int leaf_file(const struct cgroup_leaf *l, const char *file)
{
	struct cgroup_open *o = l->open;

	for (size_t k = 0; k < o->count; k++)
		if (strcmp(o->file[k].name, file) == 0)
			return o->file[k].fd;
	if (o->count == CGROUP_FILES)
		return -1;
	int fd = openat(l->dir_fd, file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0) {
		o->file[o->count].name = file;
		o->file[o->count++].fd = fd;
	}
	return fd;
}

/* As one string without its last newline. < 0: it cannot be read. */
static ssize_t leaf_read(const struct cgroup_leaf *l, const char *file, char *text, size_t size)
{
	int fd = l ? leaf_file(l, file) : -1;
	ssize_t n = fd < 0 ? -1 : pread(fd, text, size - 1, 0);

	if (n < 0)
		return -1;
	if (n > 0 && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	return n;
}

uint64_t cgroup_number(const struct cgroup_leaf *l, const char *file)
{
	char text[32];
	uint64_t value;

	if (leaf_read(l, file, text, sizeof text) < 0 || str_to_u64(text, &value) < 0)
		return UNKNOWN_U64;
	return value;
}

void cgroup_keys(const struct cgroup_leaf *l, const char *file, const struct cgroup_key_want *want,
		 size_t count)
{
	char text[4096], *rest = text, *line;
	size_t len;

	for (size_t k = 0; k < count; k++)
		*want[k].ret = UNKNOWN_U64;
	if (leaf_read(l, file, text, sizeof text) < 0)
		return;
	while ((line = strsep(&rest, "\n")))
		for (size_t k = 0; k < count; k++)
			if (strncmp(line, want[k].key, len = strlen(want[k].key)) == 0 && line[len] == ' ')
				(void) str_to_u64(line + len + 1, want[k].ret);
}

uint64_t cgroup_key(const struct cgroup_leaf *l, const char *file, const char *key)
{
	uint64_t value;

	cgroup_keys(l, file, &(struct cgroup_key_want){ key, &value }, 1);
	return value;
}

/* ---- a run's folder in one hierarchy ---- */

/* A lock goes with its holder, needs no file of its own, and is seen from every namespace. -1: held by somebody. */
static int lock_take(int dir_fd)
{
	CLOSE_FD int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 ? -1 : take_fd(&fd);
}

int cgroup_leaf_make(struct cgroup *c, const char *parent, unsigned controllers, struct cgroup_leaf **ret,
		     struct err *e)
{
	CLOSE_FD int parent_fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent_fd < 0)
		return err_say(e, ENOTSUP, "open %s: %s", parent, strerror(errno));
	if (c->host->make_dir(parent_fd, c->name, 0755) < 0) {
		int code = errno;
		bool not_ours = code == EACCES || code == EPERM || code == EROFS || code == ENOENT;
		err_set(e, code, "no group may be made in %s", parent);
		e->code = not_ours ? ENOTSUP : code;
		return -e->code;
	}

	struct cgroup_leaf *l = &c->leaf[c->leaf_count++]; /* from here on, cgroup_remove undoes it */
	*l = (struct cgroup_leaf){ .dir_fd = -1, .tasks_fd = -1, .controllers = controllers };
	l->open = xcalloc(1, sizeof *l->open);
	l->parent_fd = take_fd(&parent_fd);
	l->dir_fd = openat(l->parent_fd, c->name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (l->dir_fd < 0)
		return err_set(e, errno, "open %s/%s", parent, c->name);
	if (c->lock_fd < 0)
		c->lock_fd = lock_take(l->dir_fd);
	*ret = l;
	return 0;
}

const struct cgroup_leaf *cgroup_leaf_of(const struct cgroup *c, unsigned controller)
{
	for (size_t i = 0; i < c->leaf_count; i++)
		if (c->leaf[i].controllers & controller)
			return &c->leaf[i];
	return NULL;
}

bool cgroup_pause(uint64_t deadline_ns, uint64_t *step_ns)
{
	if (now_ns() >= deadline_ns)
		return false;
	*step_ns = *step_ns == 0 ? 100 * 1000 : *step_ns < 10 * NS_PER_MS ? *step_ns * 2 : *step_ns;
	nanosleep(&(struct timespec){ .tv_nsec = (long) *step_ns }, NULL);
	return true;
}

/*
 * Between reading a number and using it, its process may be gone and the number another's; as root that would
 * kill a stranger. So the process is held by a pidfd first, and then asked again whether it belongs to this
 * run.
 */
static void kill_member(const struct cgroup *c, pid_t pid)
{
	char path[PATH_MAX], groups[8192];

	if (pid <= 1 || pid == getpid())
		return;
	CLOSE_FD int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return;
	snprintf(path, sizeof path, "%s/%d/cgroup", c->host->proc, (int) pid);
	if (file_read_small(AT_FDCWD, path, groups, sizeof groups) > 0 && strstr(groups, c->name))
		(void) syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

bool cgroup_populated(const struct cgroup_leaf *l)
{
	char first;
	CLOSE_FD int fd = openat(l->dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);

	return fd >= 0 && read(fd, &first, 1) == 1;
}

int cgroup_signal(const struct cgroup *c, const struct cgroup_leaf *l)
{
	char line[32];
	int count = 0;
	int fd = openat(l->dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "re");

	if (!f) {
		close_fd(&fd);
		return 0;
	}
	for (; fgets(line, sizeof line, f); count++)
		kill_member(c, (pid_t) atoi(line));
	(void) fclose(f);
	return count;
}

/* ---- making, killing, removing ---- */

/* Empties a group of groups that were made below it, then removes it. Names only: a cgroup holds no links. */
static int remove_group(const struct cgroup_host *h, int parent_fd, const char *name, int depth)
{
	if (h->remove_dir(parent_fd, name) == 0 || errno == ENOENT)
		return 0;
	int code = errno;
	int fd = depth > 0 ? openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		close_fd(&fd);
		return -code;
	}
	bool any = false;
	for (struct dirent *d; (d = readdir(dir));)
		if (d->d_type == DT_DIR && d->d_name[0] != '.' &&
		    remove_group(h, fd, d->d_name, depth - 1) == 0)
			any = true;
	(void) closedir(dir);
	return any && h->remove_dir(parent_fd, name) == 0 ? 0 : -code;
}

static int remove_leaves(struct cgroup *c)
{
	int first = 0;

	for (size_t i = 0; i < c->leaf_count; i++) {
		int r = remove_group(c->host, c->leaf[i].parent_fd, c->name, REMOVE_DEPTH);
		first = first ? first : r;
	}
	return first;
}

static size_t close_leaves(struct cgroup *c)
{
	for (size_t i = 0; i < c->leaf_count; i++) {
		for (size_t k = 0; c->leaf[i].open && k < c->leaf[i].open->count; k++)
			close_fd(&c->leaf[i].open->file[k].fd);
		free(c->leaf[i].open);
		close_fd(&c->leaf[i].tasks_fd);
		close_fd(&c->leaf[i].dir_fd);
		close_fd(&c->leaf[i].parent_fd);
	}
	return 0;
}

struct cgroup *cgroup_remove(struct cgroup *c)
{
	if (!c)
		return NULL;
	/* Empty is the usual case, and one call finds out. EBUSY goes on for a moment after the last task
	 * is dead. */
	if (remove_leaves(c) < 0) {
		uint64_t deadline = now_ns() + REMOVE_WAIT_NS, step = 0;
		(void) cgroup_kill(c);
		while (remove_leaves(c) < 0 && cgroup_pause(deadline, &step))
			;
	}
	(void) close_leaves(c);
	close_fd(&c->lock_fd);
	free(c);
	return NULL;
}

static struct cgroup *cgroup_new(const struct cgroup_host *h, const char *run_id,
				 const struct cgroup_ops *ops)
{
	struct cgroup *c = xcalloc(1, sizeof *c);

	c->host = h;
	c->ops = ops;
	c->lock_fd = -1;
	snprintf(c->name, sizeof c->name, CGROUP_PREFIX "%s", run_id);
	for (size_t i = 0; i < ARRAY_LEN(c->held); i++)
		c->held[i].value = UNKNOWN_U64;
	return c;
}

int cgroup_create_on(const struct cgroup_host *h, const char *run_id, const struct policy *p,
		     struct cgroup **ret, struct err *e)
{
	struct buf reasons = { .data = NULL };
	struct cgroup_map map;
	int r = cgroup_find(h, &map, e);
	if (r < 0)
		return r;

	r = -ENOTSUP;
	for (size_t i = 0; i < ARRAY_LEN(ways) && r == -ENOTSUP; i++) {
		struct err reason = { .code = 0 };
		struct cgroup *c = cgroup_new(h, run_id, ways[i]);
		r = ways[i]->create(c, &map, p, &reason);
		if (r == 0) {
			*ret = c;
			break;
		}
		cgroup_remove(c);
		if (r != -ENOTSUP)
			*e = reason;
		buf_printf(&reasons, "%s%s: %s", reasons.len ? "; " : "", ways[i]->name, reason.text);
	}
	if (r == -ENOTSUP)
		err_say(e, ENOTSUP, "no control group for this run: %s", reasons.data);
	buf_done(&reasons);
	cgroup_map_done(&map);
	return r;
}

int cgroup_create(const char *run_id, const struct policy *p, struct cgroup **ret, struct err *e)
{
	return cgroup_create_on(&cgroup_this_host, run_id, p, ret, e);
}

/* ---- what dead predecessors left ---- */

static void gather_leaf(struct cgroup *c, const struct cgroup_hierarchy *y)
{
	char dir[PATH_MAX];
	struct err ignored;
	struct cgroup_leaf l = { .tasks_fd = -1, .controllers = y->controllers };

	if (c->leaf_count == ARRAY_LEN(c->leaf) || cgroup_dir(c->host, y, dir, &ignored) < 0)
		return;
	l.parent_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	l.dir_fd = l.parent_fd < 0 ? -1 : openat(l.parent_fd, c->name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (l.dir_fd < 0) {
		close_fd(&l.parent_fd);
		return;
	}
	l.open = xcalloc(1, sizeof *l.open);
	c->leaf[c->leaf_count++] = l;
}

/* Opens what there is of a run as if it had been made here: of version 2 the one folder, in our own group
 * or above. */
static void gather(struct cgroup *c, const struct cgroup_map *m, bool v2)
{
	for (size_t i = 0; i < m->count; i++) {
		if (m->of[i].v2 != v2)
			continue;
		struct cgroup_hierarchy y = m->of[i];
		y.path = xstrdup(y.path);
		do
			gather_leaf(c, &y);
		while (v2 && c->leaf_count == 0 && cgroup_up(&y));
		free(y.path);
	}
}

/* Whether somebody holds the lock of a run; else it is ours to sweep. */
static bool run_locked(struct cgroup *c)
{
	for (size_t i = 0; i < c->leaf_count; i++) {
		int fd = lock_take(c->leaf[i].dir_fd);
		if (fd < 0)
			return true;
		close_fd(&fd);
	}
	return false;
}

static bool sweep_run(const struct cgroup_host *h, const struct cgroup_map *m, const char *run_id,
		      bool surely_dead)
{
	bool any = false;

	for (int v2 = 0; v2 <= 1; v2++) {
		struct cgroup *c = cgroup_new(h, run_id, v2 ? &cgroup_v2_own_ops : &cgroup_v1_ops);
		gather(c, m, v2);
		if (!surely_dead && run_locked(c))
			c->leaf_count = close_leaves(c); /* alive: nothing of it is touched */
		any |= c->leaf_count > 0;
		cgroup_remove(c);
	}
	return any;
}

static bool is_run_name(const char *name)
{
	if (!str_starts(name, CGROUP_PREFIX))
		return false;
	name += sizeof CGROUP_PREFIX - 1;
	return strlen(name) == CGROUP_ID_LEN &&
	       strspn(name, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == CGROUP_ID_LEN;
}

/* Another user's groups can be seen and not removed: trying would only take time. */
static bool is_ours(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == geteuid();
}

static int sweep_dir(const struct cgroup_host *h, const struct cgroup_map *m,
		     const struct cgroup_hierarchy *y)
{
	char path[PATH_MAX];
	struct err ignored;
	int swept = 0;
	DIR *dir = cgroup_dir(h, y, path, &ignored) < 0 ? NULL : opendir(path);

	for (struct dirent *d; dir && (d = readdir(dir));) {
		const char *run_id = d->d_name + sizeof CGROUP_PREFIX - 1;
		if (is_run_name(d->d_name) && run_id_settled(run_id) && is_ours(dirfd(dir), d->d_name) &&
		    sweep_run(h, m, run_id, false))
			swept++;
	}
	if (dir)
		(void) closedir(dir);
	return swept;
}

int cgroup_sweep_on(const struct cgroup_host *h)
{
	struct cgroup_map map;
	struct err ignored;
	int swept = 0;

	if (cgroup_find(h, &map, &ignored) < 0)
		return 0;
	for (size_t i = 0; i < map.count; i++) {
		struct cgroup_hierarchy y = map.of[i];
		y.path = xstrdup(y.path);
		do
			swept += sweep_dir(h, &map, &y);
		while (y.v2 && cgroup_up(&y));
		free(y.path);
	}
	cgroup_map_done(&map);
	return swept;
}

int cgroup_sweep(void)
{
	return cgroup_sweep_on(&cgroup_this_host);
}

void cgroup_sweep_run(const char *run_id)
{
	struct cgroup_map map;
	struct err ignored;

	if (cgroup_find(&cgroup_this_host, &map, &ignored) < 0)
		return;
	(void) sweep_run(&cgroup_this_host, &map, run_id, true);
	cgroup_map_done(&map);
}

/* ---- the rest of the door ---- */

enum cgroup_kind cgroup_kind(const struct cgroup *c)
{
	return c ? c->ops->kind : CGROUP_NONE;
}

unsigned cgroup_controllers(const struct cgroup *c)
{
	return c ? c->controllers : 0;
}

int cgroup_clone_fd(const struct cgroup *c)
{
	return cgroup_kind(c) == CGROUP_V1 || !c ? -1 : c->leaf[0].dir_fd;
}

int cgroup_enter(const struct cgroup *c, struct err *e)
{
	for (size_t i = 0; c && i < c->leaf_count; i++)
		if (c->leaf[i].tasks_fd >= 0 && write(c->leaf[i].tasks_fd, "0", 1) < 0)
			return err_set(e, errno, "enter control group %s", c->name);
	return 0;
}

size_t cgroup_child_fds(const struct cgroup *c, int *fds)
{
	size_t n = 0;

	for (size_t i = 0; c && i < c->leaf_count; i++)
		if (c->leaf[i].tasks_fd >= 0)
			fds[n++] = c->leaf[i].tasks_fd;
	return n;
}

int cgroup_limit(const struct cgroup *c, enum cgroup_controller which, uint64_t *ret_value,
		 const char **ret_mechanism)
{
	enum cgroup_held i = which == CG_MEMORY ? HELD_MEMORY : which == CG_PIDS ? HELD_PIDS : HELD_CPU;

	if (!(cgroup_controllers(c) & which) || which == CG_FREEZE || !c->held[i].mechanism) {
		*ret_value = UNKNOWN_U64;
		*ret_mechanism = NULL;
		return -ENOENT;
	}
	*ret_value = c->held[i].value;
	*ret_mechanism = c->held[i].mechanism;
	return 0;
}

void cgroup_read(const struct cgroup *c, struct cgroup_reading *ret)
{
	memset(ret, 0xff, sizeof *ret); /* every field unknown */
	if (c)
		c->ops->read(c, ret);
}

int cgroup_freeze(const struct cgroup *c, bool on, struct err *e)
{
	return c->ops->freeze(c, on, e);
}

int cgroup_kill(const struct cgroup *c)
{
	return c ? c->ops->kill(c) : 0;
}
