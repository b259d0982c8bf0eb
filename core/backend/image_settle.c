/* SPDX-License-Identifier: MIT */
/*
 * What is left to do in a tree of copies: the libraries that its programs name, found as ld.so(8) finds them,
 * and modes.
 */
#include "core/backend/elf.h"
#include "core/backend/image.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEAD_LEN 64 /* of an ELF file */

/* Where the loader looks when nothing else is said. */
static const char *const library_places[] = {
	"/lib/*-linux-gnu", "/usr/lib/*-linux-gnu",      "/lib64", "/usr/lib64", "/lib", "/usr/lib",
	"/usr/local/lib",   "/usr/local/lib/*-linux-gnu"
};

struct settle {
	struct image_tree *tree;
	char **programs; /* ELF files of which nobody has read yet what they need */
	size_t next, count, room;
	char **places;
	char **seen; /* names of libraries that were looked for where all look */
};

/* strv_add counts from the start each time, which for a tree full of programs is too often. */
static void program_push(struct settle *s, const char *path)
{
	if (s->count == s->room) {
		s->room = s->room ? s->room * 2 : 256;
		s->programs = xrealloc(s->programs, s->room * sizeof(*s->programs));
	}
	s->programs[s->count++] = xstrdup(path);
}

static ssize_t head_read(int dirfd, const char *path, char head[HEAD_LEN])
{
	CLOSE_FD int fd = openat(dirfd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : pread(fd, head, HEAD_LEN, 0);
}

static int open_up(void *arg, const struct image_visit *v, struct err *e)
{
	mode_t owner = v->st->st_mode & 0500, mode = v->st->st_mode | owner >> 3 | owner >> 6;
	(void) arg;
	if (!S_ISLNK(v->st->st_mode) && mode != v->st->st_mode &&
	    fchmodat(v->dirfd, v->name, mode & 07777, 0) < 0)
		return err_set(e, errno, "set the mode of %s in the image", v->path);
	return 0;
}

int image_tree_open_up(struct image_tree *t, struct err *e)
{
	return image_walk(t->path, open_up, NULL, e);
}

static int settle_entry(void *arg, const struct image_visit *v, struct err *e)
{
	char head[HEAD_LEN];
	if (S_ISREG(v->st->st_mode) && head_read(v->dirfd, v->name, head) == HEAD_LEN &&
	    memcmp(head, "\177ELF", 4) == 0)
		program_push(arg, v->path);
	return open_up(NULL, v, e);
}

static char **places_find(void)
{
	char **places = NULL;
	for (size_t k = 0; k < ARRAY_LEN(library_places); k++) {
		glob_t found;
		if (glob(library_places[k], GLOB_NOSORT, NULL, &found) != 0)
			continue;
		for (size_t n = 0; n < found.gl_pathc; n++)
			places = strv_add(places, found.gl_pathv[n]);
		globfree(&found);
	}
	return places;
}

/* The first file of that name there which is for the same processor. Gives, or NULL. */
static char *library_at(char *const *places, const char *origin, const char *name, const char *wanted)
{
	char head[HEAD_LEN];
	for (; places && *places; places++) {
		bool relative = str_starts(*places, "$ORIGIN") || str_starts(*places, "${ORIGIN}");
		const char *below = relative ? strchr(*places, 'N') + ((*places)[1] == '{' ? 2 : 1) : *places;
		FREE char *path = xprintf("%s%s/%s", relative ? origin : "", below, name);
		if (path[0] != '/' || access(path, R_OK) < 0)
			continue;
		CLOSE_FD int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 && pread(fd, head, sizeof(head), 0) == HEAD_LEN &&
		    elf_same_machine(head, HEAD_LEN, wanted, HEAD_LEN))
			return take_ptr(&path);
	}
	return NULL;
}

static int bring(struct settle *s, const char *path, struct err *e)
{
	FREE char *real = NULL;
	int r = image_tree_add(s->tree, path, NULL, &real, e);
	if (r >= 0 && real)
		program_push(s, real + 1);
	return r < 0 ? r : 0;
}

/* A library that is not found is none of our faults: a module that nobody imports may well name one. */
static int libraries_bring(struct settle *s, const char *program, const struct elf_needs *n, const char *head,
			   struct err *e)
{
	FREE char *origin =
		xprintf("/%.*s", (int) (strrchr(program, '/') ? strrchr(program, '/') - program : 0),
			program);
	int r = n->loader && access(n->loader, R_OK) == 0 ? bring(s, n->loader, e) : 0;
	for (char **name = n->names; r >= 0 && name && *name; name++) {
		if (strchr(*name, '/') || strv_has(s->seen, *name))
			continue;
		FREE char *own = library_at(n->folders, origin, *name, head);
		FREE char *common = own ? NULL : library_at(s->places, origin, *name, head);
		if (!own)
			s->seen = strv_add(s->seen, *name);
		if (own || common)
			r = bring(s, own ? own : common, e);
	}
	return r;
}

/* The tree is ours alone and nobody shortens a file in it while it is mapped. */
static int program_settle(struct settle *s, const char *path, struct err *e)
{
	struct stat st;
	struct elf_needs needs;
	CLOSE_FD int fd = openat(s->tree->fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, errno, "read %s in the image", path);
	if (st.st_size < HEAD_LEN)
		return 0;
	void *data = mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return err_set(e, errno, "read %s in the image", path);
	int r = elf_needs(data, (size_t) st.st_size, &needs) < 0 ? 0
								 : libraries_bring(s, path, &needs, data, e);
	elf_needs_done(&needs);
	munmap(data, (size_t) st.st_size);
	return r;
}

void image_library_facts(struct buf *out)
{
	char **places = places_find();
	struct stat st;
	for (char **place = places; place && *place; place++)
		if (stat(*place, &st) == 0)
			buf_printf(out, "%s %lld.%09ld\n", *place, (long long) st.st_mtim.tv_sec,
				   st.st_mtim.tv_nsec);
	strv_free(places);
}

int image_tree_settle(struct image_tree *t, struct err *e)
{
	struct settle s = { .tree = t, .places = places_find() };
	int r = image_walk(t->path, settle_entry, &s, e);
	for (; r >= 0 && s.next < s.count; s.next++)
		r = program_settle(&s, s.programs[s.next], e);
	while (s.count > 0)
		free(s.programs[--s.count]);
	free(s.programs);
	strv_free(s.places);
	strv_free(s.seen);
	return r < 0 ? r : 0;
}
