/* SPDX-License-Identifier: MIT */
/*
 * Finds INI files by name. A name is never a path, so that `extends = ../../x` cannot reach outside the two
 * folders.
 */
#include "core/model/named.h"

#include "core/base/base.h"
#include "core/model/ini.h"
#include "core/model/policy.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_LEN_MAX 64
#define NAMES_MAX    1000 /* of one folder; more are not looked at */

bool named_ok(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.");

	return len > 0 && len <= NAME_LEN_MAX && name[len] == '\0' && name[0] != '.';
}

/* The folders to look in, best first. The user's is missing where there is no HOME: the shipped ones still
 * work. */
static char **folders_of(const char *folder)
{
	struct err ignored;
	char **all = NULL;
	/* Shipped examples are more than what a person would keep: their own stand one level up. */
	const char *own = str_starts(folder, "examples/") ? folder + strlen("examples/") : folder;
	FREE char *user = xdg_folder(XDG_CONFIG, own, false, &ignored);
	FREE char *shipped = xprintf("%s/%s", data_folder(), folder);

	if (user != NULL)
		all = strv_add(all, user);
	return strv_add(all, shipped);
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int no_such(const char *folder, const char *kind, const char *name, struct err *e)
{
	char near[128];
	struct buf known = { 0 };
	char **names = named_list(folder);

	for (char **n = names; n != NULL && *n != NULL; n++)
		buf_printf(&known, "%s%s", n == names ? "" : ", ", *n);
	if (names == NULL)
		err_say(e, ENOENT, "no %s '%.64s', and none at all in %.200s/%s", kind, name, data_folder(),
			folder);
	else
		err_say(e, ENOENT, "no %s '%.64s'%s (there are: %.250s)", kind, name,
			ini_nearest(name, (const char *const *) names, near, sizeof(near)), known.data);
	strv_free(names);
	buf_done(&known);
	return -ENOENT;
}

int named_find(const char *folder, const char *kind, const char *name, const char *not_this, char **ret_path,
	       struct err *e)
{
	char *found = NULL;

	if (!named_ok(name))
		return err_say(e, ENOENT,
			       "'%.64s' is no name of a %s; names are of a-z, 0-9, '-', '_' and '.'", name,
			       kind);
	char **folders = folders_of(folder);
	for (char **f = folders; *f != NULL && found == NULL; f++) {
		FREE char *path = xprintf("%s/%s.ini", *f, name);
		if (access(path, F_OK) == 0 && (not_this == NULL || !same_file(path, not_this)))
			found = take_ptr(&path);
	}
	strv_free(folders);
	if (found == NULL)
		return no_such(folder, kind, name, e);
	*ret_path = found;
	return 0;
}

char *named_stem(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;

	return xstrndup(base, strlen(base) - (str_ends(base, ".ini") ? 4 : 0));
}

static char **names_in(char **names, const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	if (dir == NULL)
		return names;
	for (int n = 0; n < NAMES_MAX && (entry = readdir(dir)) != NULL; n++) {
		FREE char *stem = named_stem(entry->d_name);
		if (str_ends(entry->d_name, ".ini") && named_ok(stem) && !strv_has(names, stem))
			names = strv_add(names, stem);
	}
	closedir(dir);
	return names;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

char **named_list(const char *folder)
{
	char **names = NULL, **folders = folders_of(folder);

	for (char **f = folders; *f != NULL; f++)
		names = names_in(names, *f);
	strv_free(folders);
	if (names != NULL)
		qsort(names, strv_len(names), sizeof(*names), by_name);
	return names;
}

int chain_enter(struct chain *c, const char *file, struct err *e)
{
	for (size_t i = 0; i < c->count; i++)
		if (same_file(c->files[i], file))
			return err_say(e, ELOOP, "'extends' goes in a circle: %.200s comes back to itself",
				       file);
	if (c->count == EXTENDS_MAX)
		return err_say(e, ELOOP, "more than %d files extend one another", EXTENDS_MAX);
	c->files[c->count++] = xstrdup(file);
	return 0;
}

void chain_done(struct chain *c)
{
	while (c->count > 0)
		free(c->files[--c->count]);
}

struct extends_search {
	const char *section;
	char *found;
	unsigned line;
};

static int extends_look(void *arg, const struct ini_entry *entry, struct err *e)
{
	struct extends_search *s = arg;

	(void) e;
	if (entry->key != NULL && strcmp(entry->section, s->section) == 0 &&
	    strcmp(entry->key, "extends") == 0) {
		s->found = xstrdup(entry->value);
		s->line = entry->line;
	}
	return 0;
}

char *named_extends(const char *text, size_t len, const char *section, unsigned *ret_line)
{
	struct extends_search s = { .section = section };
	struct ini_faults told_later = { 0 }; /* the file is read again for its keys */

	*ret_line = 0;
	if (memmem(text, len, "extends", strlen("extends")) == NULL) /* as most: not read twice */
		return NULL;
	ini_read_text("", text, len, extends_look, &s, &told_later);
	ini_faults_done(&told_later);
	*ret_line = s.line;
	return s.found;
}
