/* SPDX-License-Identifier: MIT */
/*
 * The processes of a run, and the memory that they hold where no control group counts it: the proportional size of each
 * memory, which is not each process. The child of vfork(2), as posix_spawn(3) makes it, is in its parent's until it
 * executes, and would count all of it once more; and a process whose first thread has ended goes on in the others,
 * while /proc shows its own folder empty. See kcmp(2), proc(5).
 */
#include "core/supervise/supervisor.h"

#include "core/confine/confine.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void tree_add(struct tree *t, pid_t pid)
{
	if (t->count == t->room)
		t->pids = xrealloc(t->pids, (t->room = t->room ? t->room * 2 : 32) * sizeof(pid_t));
	t->pids[t->count++] = pid;
}

static void tree_of_namespace(struct tree *t, int proc_dirfd)
{
	int fd = t->proc_fd = openat(proc_dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 0));
	for (struct dirent *d; dir && (d = readdir(dir));)
		if (isdigit((unsigned char) d->d_name[0]))
			tree_add(t, (pid_t) atoi(d->d_name));
	if (dir)
		closedir(dir);
}

/* The host's /proc: whatever descends from us. A daemon's parent is gone, so that it is the child of the subreaper,
 * which we are; and a child may be another thread's than the first. */
static void tree_of_descendants(struct tree *t, pid_t helper)
{
	pid_t *list;
	size_t count = family_list(getpid(), &list);
	t->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t k = 0; k < count; k++)
		if (list[k] != helper)
			tree_add(t, list[k]);
	free(list);
}

void tree_list(struct tree *t, const struct instance *i, pid_t helper)
{
	*t = (struct tree){ .proc_fd = -1, .own_numbers = i->proc_dirfd >= 0 };
	if (t->own_numbers)
		tree_of_namespace(t, i->proc_dirfd);
	else
		tree_of_descendants(t, helper);
	if (t->proc_fd < 0)
		t->count = 0;
}

void tree_done(struct tree *t)
{
	free(t->pids);
	close_fd(&t->proc_fd);
	*t = (struct tree){ .proc_fd = -1 };
}

static char state_of(int dirfd, const char *path)
{
	char text[1024];
	char *p = file_read_small(dirfd, path, text, sizeof(text)) > 0 ? strrchr(text, ')') : NULL;
	return p && p[1] ? p[2] : 'X';
}

void tree_folder(const struct tree *t, pid_t pid, bool first_gone, char ret[TREE_FOLDER])
{
	char path[TREE_FOLDER + 8];
	snprintf(ret, TREE_FOLDER, "%d", pid);
	if (!first_gone)
		return;
	snprintf(path, sizeof(path), "%d/task", pid);
	int fd = openat(t->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		close_fd(&fd);
		return;
	}
	for (struct dirent *d; (d = readdir(dir));) {
		snprintf(path, sizeof(path), "%.12s/stat", d->d_name);
		if (d->d_name[0] == '.' || strchr("ZX", state_of(fd, path)))
			continue;
		snprintf(ret, TREE_FOLDER, "%d/task/%.12s", pid, d->d_name);
		break;
	}
	closedir(dir);
}

/* ---- which of them are one memory ---- */

/* NSpid ends with the number in the process's own namespace. */
static pid_t number_inside(pid_t host)
{
	char path[32], text[4096];
	snprintf(path, sizeof(path), "/proc/%d/status", host);
	if (file_read_small(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return 0;
	char *p = strstr(text, "\nNSpid:"), *end = p ? p + strcspn(p + 1, "\n") + 1 : NULL;
	while (end && end > p && end[-1] >= '0' && end[-1] <= '9')
		end--;
	return end ? (pid_t) atoi(end) : 0;
}

/* Numbers as kcmp(2) takes them, 0 where one is not known. They are looked for when the list stands already: a child
 * that comes between is not in the list, so that it is not counted at all. */
static pid_t *host_numbers(const struct tree *t)
{
	pid_t *hosts = xcalloc(t->count + 1, sizeof(*hosts)), *list;
	if (!t->own_numbers) {
		memcpy(hosts, t->pids, t->count * sizeof(*hosts));
		return hosts;
	}
	size_t count = family_list(getpid(), &list);
	for (size_t k = 0; k < count; k++) {
		pid_t inside = number_inside(list[k]);
		for (size_t j = 0; j < t->count; j++)
			if (t->pids[j] == inside)
				hosts[j] = list[k];
	}
	free(list);
	return hosts;
}

/* Asked right before its size is read: a child that executes between is missed once, never its parent's counted twice. */
static bool memory_seen(const pid_t *hosts, size_t k)
{
	for (size_t j = 0; hosts[k] && j < k; j++)
		if (hosts[j] && syscall(SYS_kcmp, hosts[k], hosts[j], KCMP_VM, 0, 0) == 0)
			return true;
	return false;
}

/* Adds the page tables, which no two memories share. Parts are told by a walk of them: where they are larger than what
 * they lead to, the run could keep us walking all day, and what is resident counts whole. Returns whether it did. */
static bool add_tables(const struct tree *t, const char *folder, struct tree_memory *ret)
{
	char path[TREE_FOLDER + 8], text[4096];
	snprintf(path, sizeof(path), "%s/status", folder);
	if (file_read_small(t->proc_fd, path, text, sizeof(text)) <= 0)
		return false;
	uint64_t tables = kib_after(text, PAGE_TABLES), anonymous = kib_after(text, "\nRssAnon:"),
		 shmem = kib_after(text, "\nRssShmem:");
	bool sparse = anonymous + shmem < tables;
	ret->anonymous_kib += tables + (sparse ? anonymous : 0);
	ret->shmem_kib += sparse ? shmem : 0;
	return sparse;
}

/* A process that made itself undumpable, or runs a program that its user may not read, hides its parts, but not how
 * much is resident: that counts whole, pages of programs among it. */
static uint64_t resident_kib(const struct tree *t, const char *folder)
{
	char path[TREE_FOLDER + 8], text[128], *p = text;
	snprintf(path, sizeof(path), "%s/statm", folder);
	if (file_read_small(t->proc_fd, path, text, sizeof(text)) <= 0)
		return 0; /* it is gone */
	strtoull(p, &p, 10);
	return strtoull(p, &p, 10) * ((uint64_t) sysconf(_SC_PAGESIZE) >> 10);
}

uint64_t kib_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void add_parts(const struct tree *t, const char *folder, struct tree_memory *ret)
{
	char path[TREE_FOLDER + 16], text[2048];
	snprintf(path, sizeof(path), "%s/smaps_rollup", folder);
	if (file_read_small(t->proc_fd, path, text, sizeof(text)) <= 0) {
		ret->anonymous_kib += resident_kib(t, folder);
		return;
	}
	ret->anonymous_kib += kib_after(text, "\nPss_Anon:");
	ret->shmem_kib += kib_after(text, "\nPss_Shmem:");
}

void tree_memory(const struct tree *t, struct memfds *f, struct tree_memory *ret)
{
	pid_t *hosts = host_numbers(t);
	*ret = (struct tree_memory){ 0 };
	for (size_t k = 0; k < t->count; k++) {
		char folder[TREE_FOLDER], path[32];
		snprintf(path, sizeof(path), "%d/stat", t->pids[k]);
		bool first_gone = state_of(t->proc_fd, path) == 'Z';
		if (first_gone)
			hosts[k] = 0; /* none of its threads is the one that has this number */
		if (tree_ours(t, t->pids[k]) || memory_seen(hosts, k))
			continue;
		tree_folder(t, t->pids[k], first_gone, folder);
		if (!add_tables(t, folder, ret))
			add_parts(t, folder, ret);
		if (f)
			memfds_mapped_by(f, t->proc_fd, folder);
	}
	free(hosts);
}
