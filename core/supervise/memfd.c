/* SPDX-License-Identifier: MIT */
/*
 * Memory in files that have no name. A memfd that is written to and not mapped stands in no process's sizes; only an
 * open descriptor tells of it. See memfd_create(2), proc(5).
 */
#include "core/supervise/supervisor.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAPS_MAX (4u << 20)
#define NAME     "/memfd:"

static struct memfd *memfd_find(struct memfds *f, uint64_t dev, uint64_t ino)
{
	for (size_t k = 0; k < f->count; k++)
		if (f->at[k].ino == ino && (f->at[k].dev == dev))
			return &f->at[k];
	return NULL;
}

static void memfd_add(struct memfds *f, int dirfd, const char *fd)
{
	struct stat st;
	char link[sizeof(NAME) - 1];
	ssize_t n = readlinkat(dirfd, fd, link, sizeof(link));
	if (n != (ssize_t) sizeof(link) || memcmp(link, NAME, sizeof(link)) != 0 ||
	    fstatat(dirfd, fd, &st, 0) < 0 || memfd_find(f, st.st_dev, st.st_ino))
		return;
	if (f->count == f->room)
		f->at = xrealloc(f->at, (f->room = f->room ? f->room * 2 : 32) * sizeof(*f->at));
	f->at[f->count++] = (struct memfd){ st.st_dev, st.st_ino, (uint64_t) st.st_blocks * 512, false };
}

void memfds_of_process(struct memfds *f, int proc_dirfd, const char *folder)
{
	char path[TREE_FOLDER + 8];
	snprintf(path, sizeof(path), "%s/fd", folder);
	int fd = openat(proc_dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		close_fd(&fd);
		return;
	}
	for (struct dirent *d; f->looked < MEMFD_LOOKS && (d = readdir(dir));) {
		f->looked++;
		memfd_add(f, fd, d->d_name);
	}
	closedir(dir);
}

/* "start-end perms offset major:minor inode  path"; the numbers of its file system are told apart by the inode alone:
 * a wrong match only takes a memfd for one that is in the proportional sizes too. */
void memfds_mapped_by(struct memfds *f, int proc_dirfd, const char *folder)
{
	char path[TREE_FOLDER + 8];
	FREE char *text = NULL;
	size_t len;
	snprintf(path, sizeof(path), "%s/maps", folder);
	if (file_read(proc_dirfd, path, MAPS_MAX, &text, &len, NULL) < 0)
		return;
	for (char *line = text, *next; line && *line; line = next) {
		unsigned long long ino;
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (!strstr(line, NAME) || sscanf(line, "%*s %*s %*s %*s %llu", &ino) != 1)
			continue;
		for (size_t k = 0; k < f->count; k++)
			f->at[k].mapped |= f->at[k].ino == ino;
	}
}

uint64_t memfds_bytes(const struct memfds *f, bool mapped)
{
	uint64_t bytes = 0;
	for (size_t k = 0; k < f->count; k++)
		bytes += f->at[k].mapped == mapped ? f->at[k].bytes : 0;
	return bytes;
}

void memfds_done(struct memfds *f)
{
	free(f->at);
	*f = (struct memfds){ 0 };
}
