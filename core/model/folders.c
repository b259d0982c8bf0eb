/* SPDX-License-Identifier: MIT */
/*
 * Where things lie on disk: what the program ships (presets, examples, a microVM's guest), and the user's own folders
 * after the XDG Base Directory Specification.
 */
#include "core/model/policy.h"

#include "core/base/base.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_MAX (PATH_MAX + 32)
#define LEVELS_MAX 4 /* build/tests/unit/test_x is three below the folder that holds presets/ */

/* A folder that the program ships: a variable that says where it is, or else the first one that holds `mark`, of those
 * below and beside each folder above the program. */
struct shipped {
	const char *variable, *below_prefix, *below_build, *mark;
	const char *fallback; /* named in messages where nothing was found */
};

static bool shipped_is_at(const struct shipped *s, const char *dir, const char *below, char *folder)
{
	snprintf(folder, FOLDER_MAX, "%s%s", dir, below);
	FREE char *mark = xprintf("%s/%s", folder, s->mark);

	return access(mark, R_OK) == 0;
}

/* Found anew on each call, since the variable may change: the same each time. */
static const char *shipped_find(const struct shipped *s, char folder[FOLDER_MAX])
{
	const char *set = getenv(s->variable);
	char dir[PATH_MAX];

	if (set != NULL && *set == '/' && strlen(set) < FOLDER_MAX) {
		snprintf(folder, FOLDER_MAX, "%s", set);
		return folder;
	}
	ssize_t len = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	if (len <= 0)
		return s->fallback;
	dir[len] = '\0';
	for (int level = 0; level < LEVELS_MAX; level++) {
		char *slash = strrchr(dir, '/');
		if (slash == NULL || slash == dir)
			break;
		*slash = '\0';
		if (shipped_is_at(s, dir, s->below_prefix, folder) ||
		    shipped_is_at(s, dir, s->below_build, folder))
			return folder;
	}
	return s->fallback;
}

const char *data_folder(void)
{
	static char folder[FOLDER_MAX];
	static const struct shipped data = { "BELLJAR_DATA", "/share/belljar", "", "presets/namespaces.ini",
					     "/usr/local/share/belljar" };

	return shipped_find(&data, folder);
}

const char *guest_folder(void)
{
	static char folder[FOLDER_MAX];
	static const struct shipped guest = { "BELLJAR_GUEST", "/libexec/belljar/guest", "/guest", "stage.py",
					      "/usr/local/libexec/belljar/guest" };

	return shipped_find(&guest, folder);
}

/* Each base folder: its variable, and what stands for it below HOME where that is unset. */
static const struct {
	const char *variable, *below_home;
} xdg_bases[] = {
	[XDG_CONFIG] = { "XDG_CONFIG_HOME", ".config" },
	[XDG_STATE] = { "XDG_STATE_HOME", ".local/state" },
	[XDG_CACHE] = { "XDG_CACHE_HOME", ".cache" },
	/* The specification has no default; a folder that others may write to, as /tmp, must not be one. */
	[XDG_RUNTIME] = { "XDG_RUNTIME_DIR", ".cache/run" },
};

/* "/run/user/ID" where it is a folder of ours: what a session sets the variable to. NULL if not. */
static char *runtime_of_session(void)
{
	struct stat st;
	FREE char *path = xprintf("/run/user/%u", (unsigned) getuid());

	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != getuid())
		return NULL;
	return take_ptr(&path);
}

static char *xdg_base(enum xdg which, struct err *e)
{
	const char *set = getenv(xdg_bases[which].variable), *home = getenv("HOME");

	if (set != NULL && *set == '/') /* a relative one is to be ignored, says the specification */
		return xstrdup(set);
	char *session = which == XDG_RUNTIME ? runtime_of_session() : NULL;
	if (session != NULL)
		return session;
	if (home == NULL || *home != '/') {
		err_say(e, ENOENT, "neither %s nor HOME says where files may be kept; set one of them",
			xdg_bases[which].variable);
		return NULL;
	}
	return xprintf("%s/%s", home, xdg_bases[which].below_home);
}

char *xdg_folder(enum xdg which, const char *below, bool make, struct err *e)
{
	FREE char *base = xdg_base(which, e);

	if (base == NULL)
		return NULL;
	bool more = below != NULL && *below != '\0';
	FREE char *path = xprintf("%s/belljar%s%s", base, more ? "/" : "", more ? below : "");
	if (make && dir_make_all(path, 0700, e) < 0)
		return NULL;
	return take_ptr(&path);
}
