/* SPDX-License-Identifier: MIT */
/*
 * Where this process stands in which control group hierarchy, and where that can be seen in the file system:
 * from /proc/self/cgroup and /proc/self/mountinfo. Inside a container the group at the mount point is not the
 * hierarchy's root, so that the two paths only mean something together. See proc(5), cgroups(7).
 */
#include "core/confine/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned bit;
} controllers[] = {
	{ "memory", CG_MEMORY },   { "pids", CG_PIDS },      { "cpu", CG_CPU },
	{ "cpuacct", CG_CPUACCT }, { "freezer", CG_FREEZE },
};

unsigned cgroup_controller_bits(char *list)
{
	static const char separators[] = ", +\n";
	unsigned bits = 0;
	char *save = NULL;

	for (char *word = strtok_r(list, separators, &save); word; word = strtok_r(NULL, separators, &save))
		for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
			if (strcmp(word, controllers[i].name) == 0)
				bits |= controllers[i].bit;
	return bits;
}

/* mountinfo writes blanks, newlines and backslashes as \040: three octal digits. In place. */
static char *unescape(char *s)
{
	char *to = s;

	for (const char *from = s; *from; to++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' && from[2] <= '7' &&
		    from[3] >= '0' && from[3] <= '7') {
			*to = (char) ((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
	return s;
}

/* "4:memory:/user.slice", "0::/user.slice". The path is not escaped: the kernel allows no newline in a
 * group's name. */
static void add_membership(struct cgroup_map *m, char *line)
{
	strsep(&line, ":");
	char *list = strsep(&line, ":");
	if (!list || !line || line[0] != '/' || m->count == ARRAY_LEN(m->of))
		return;

	struct cgroup_hierarchy y = { .v2 = list[0] == '\0', .controllers = cgroup_controller_bits(list) };
	if (!y.v2 && !y.controllers)
		return;
	y.path = xstrdup(line);
	m->of[m->count++] = y;
}

static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p += len)
		if ((p == list || p[-1] == ',') && (p[len] == '\0' || p[len] == ','))
			return true;
	return false;
}

/*
 * "36 35 0:28 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory". Of several mounts of
 * one hierarchy the first that may be written is taken, else the first.
 */
static void add_mount(struct cgroup_map *m, char *line)
{
	char *tail = strstr(line, " - ");
	if (!tail || strncmp(tail + 3, "cgroup", 6) != 0)
		return;
	*tail = '\0';
	tail += 3;
	const char *type = strsep(&tail, " ");
	strsep(&tail, " ");
	if (!tail)
		return;

	char *root = NULL, *point = NULL, *options = NULL;
	strsep(&line, " "), strsep(&line, " "), strsep(&line, " ");
	root = strsep(&line, " "), point = strsep(&line, " "), options = strsep(&line, " ");
	if (!options)
		return;
	bool v2 = strcmp(type, "cgroup2") == 0;
	bool read_only = has_word(options, "ro") || has_word(tail, "ro");
	unsigned bits = v2 ? 0 : cgroup_controller_bits(tail);

	for (size_t i = 0; i < m->count; i++) {
		struct cgroup_hierarchy *y = &m->of[i];
		if (y->v2 != v2 || (!v2 && !(y->controllers & bits)))
			continue;
		if (y->mount_point && (!y->read_only || read_only))
			continue;
		free(y->mount_point);
		free(y->mount_root);
		y->mount_point = unescape(xstrdup(point));
		y->mount_root = unescape(xstrdup(root));
		y->read_only = read_only;
	}
}

static bool all_mounted(const struct cgroup_map *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (!m->of[i].mount_point || m->of[i].read_only)
			return false;
	return true;
}

/*
 * Line by line, in small reads: the kernel makes the text as it is read, a container host has hundreds of
 * mounts, and those of control groups come early. A line that does not fit is no control group's, and is
 * passed over.
 */
static void read_mounts(struct cgroup_map *m, int fd)
{
	char buf[8192];
	size_t have = 0;
	bool overlong = false;

	while (!all_mounted(m)) {
		ssize_t n = read(fd, buf + have, sizeof buf - 1 - have);
		if (n <= 0)
			return;
		have += (size_t) n;
		buf[have] = '\0';

		char *line = buf, *end;
		while ((end = strchr(line, '\n'))) {
			*end = '\0';
			if (!overlong)
				add_mount(m, line);
			overlong = false;
			line = end + 1;
		}
		have -= (size_t) (line - buf);
		memmove(buf, line, have);
		if (have == sizeof buf - 1) {
			overlong = true;
			have = 0;
		}
	}
}

int cgroup_find(const struct cgroup_host *h, struct cgroup_map *ret, struct err *e)
{
	struct cgroup_map m = { .count = 0 };
	char path[PATH_MAX];
	FREE char *text = NULL;

	snprintf(path, sizeof path, "%s/self/cgroup", h->proc);
	int r = file_read(AT_FDCWD, path, 1 << 20, &text, NULL, e);
	if (r < 0) {
		e->code = ENOTSUP;
		return -ENOTSUP;
	}
	char *rest = text, *line;
	while ((line = strsep(&rest, "\n")))
		add_membership(&m, line);
	if (m.count == 0)
		return err_say(e, ENOTSUP, "this kernel has no control groups: %s lists none", path);

	snprintf(path, sizeof path, "%s/self/mountinfo", h->proc);
	CLOSE_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		cgroup_map_done(&m);
		err_set(e, errno, "open %s", path);
		e->code = ENOTSUP;
		return -ENOTSUP;
	}
	read_mounts(&m, fd);
	*ret = m;
	return 0;
}

void cgroup_map_done(struct cgroup_map *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free(m->of[i].path);
		free(m->of[i].mount_point);
		free(m->of[i].mount_root);
	}
	m->count = 0;
}

int cgroup_dir(const struct cgroup_host *h, const struct cgroup_hierarchy *y, char ret_path[PATH_MAX],
	       struct err *e)
{
	if (!y->mount_point)
		return err_say(e, ENOTSUP, "not mounted in this view of the file system");
	if (y->read_only)
		return err_say(e, ENOTSUP, "%s is mounted read-only", y->mount_point);

	const char *below = y->path;
	size_t root_len = strlen(y->mount_root);
	if (root_len > 1) {
		if (strncmp(y->path, y->mount_root, root_len) != 0 ||
		    (y->path[root_len] != '/' && y->path[root_len] != '\0'))
			return err_say(e, ENOTSUP, "our group %s is outside of what %s shows (%s)", y->path,
				       y->mount_point, y->mount_root);
		below += root_len;
	}
	if (strcmp(below, "/") == 0)
		below = "";
	/* "/../x": outside of our cgroup namespace. ".." would climb out of the mount point by path. */
	if (str_starts(below, "/.."))
		return err_say(e, ENOTSUP, "our group %s is outside of our cgroup namespace", y->path);

	int n = snprintf(ret_path, PATH_MAX, "%s%s%s", h->root, y->mount_point, below);
	if (n < 0 || n >= PATH_MAX)
		return err_say(e, ENOTSUP, "the path of our own group is too long");
	return 0;
}

bool cgroup_up(struct cgroup_hierarchy *y)
{
	size_t root_len = y->mount_root && y->mount_root[1] ? strlen(y->mount_root) : 0;
	char *slash = strrchr(y->path, '/');

	if (!slash || slash[1] == '\0' || strlen(y->path) <= root_len)
		return false;
	slash[slash == y->path] = '\0'; /* of "/a" the slash stays */
	return true;
}
