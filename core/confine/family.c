/* SPDX-License-Identifier: MIT */
/*
 * The processes that descend from one, at a level that has no pid namespace to count and end them. Read from /proc, in
 * which every list is a moment old: before anything is done to a process it is held by a pidfd, and asked once more whose
 * child it is, so that a number that was given anew hits nobody. See proc(5), "children", pidfd_open(2).
 */
#include "core/confine/confine.h"

#include "core/base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FAMILY_MAX \
	100000 /* more than any machine's users may have; then the list is cut, and asked for again */
#define CHILDREN_MAX (4u << 20) /* bytes of one list */

struct family {
	pid_t *pids;
	size_t count, room;
};

static void family_add(struct family *f, pid_t pid)
{
	if (f->count == FAMILY_MAX)
		return;
	if (f->count == f->room)
		f->pids = xrealloc(f->pids, (f->room = f->room ? f->room * 2 : 64) * sizeof(pid_t));
	f->pids[f->count++] = pid;
}

/* Children of one thread. A list that does not end on a blank was cut: its last number may be another's. */
static void family_of_thread(struct family *f, int task_dirfd, const char *tid)
{
	char path[32];
	FREE char *text = NULL;
	size_t len = 0;
	snprintf(path, sizeof(path), "%.12s/children", tid);
	if (file_read(task_dirfd, path, CHILDREN_MAX, &text, &len, NULL) < 0)
		return;
	for (char *p = text, *end; *p; p = end + 1) {
		long pid = strtol(p, &end, 10);
		if (end == p || *end != ' ')
			break;
		family_add(f, (pid_t) pid);
	}
}

/* Of every thread: a child belongs to the thread that made it, and Python's run in threads of a pool. */
static void family_of(struct family *f, pid_t parent)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/task", parent);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		close_fd(&fd);
		return;
	}
	for (struct dirent *d; (d = readdir(dir));)
		if (d->d_name[0] != '.')
			family_of_thread(f, fd, d->d_name);
	closedir(dir);
}

size_t family_children(pid_t parent, pid_t **ret)
{
	struct family f = { 0 };
	family_of(&f, parent);
	*ret = f.pids;
	return f.count;
}

size_t family_list(pid_t root, pid_t **ret)
{
	struct family f = { 0 };
	family_of(&f, root);
	for (size_t k = 0; k < f.count; k++) /* it grows as it is walked: no depth, whatever was built */
		family_of(&f, f.pids[k]);
	*ret = f.pids;
	return f.count;
}

static pid_t parent_of(pid_t pid)
{
	char path[32], text[512];
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read_small(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return -1;
	const char *p = strrchr(text, ')'); /* the name before it may hold anything */
	return p && strlen(p) > 4 ? (pid_t) strtol(p + 4, NULL, 10) : -1;
}

static int compare_pids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *) a, y = *(const pid_t *) b;
	return (x > y) - (x < y);
}

size_t family_kill(pid_t root, const pid_t *spared, size_t spared_count)
{
	pid_t *list;
	size_t count = family_list(root, &list), killed = 0;
	if (count)
		qsort(list, count, sizeof(pid_t), compare_pids);
	for (size_t k = 0; k < count; k++) {
		bool spare = false;
		for (size_t s = 0; s < spared_count; s++)
			spare |= list[k] == spared[s];
		CLOSE_FD int pidfd = spare ? -1 : (int) syscall(SYS_pidfd_open, list[k], 0);
		pid_t parent = pidfd < 0 ? -1 : parent_of(list[k]);
		if (parent == root ||
		    (parent > 0 && bsearch(&parent, list, count, sizeof(pid_t), compare_pids))) {
			(void) syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
			killed++;
		}
	}
	free(list);
	return killed;
}
