/* SPDX-License-Identifier: MIT */
/*
 * Where things lie on disk: what the program ships (presets, examples), and the user's own folders after the
 * XDG Base Directory Specification.
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

#define DATA_FALLBACK "/usr/local/share/belljar" /* named in messages where nothing was found */
#define LEVELS_MAX    4 /* build/tests/unit/test_x is three below the folder that holds presets/ */

static bool data_is_at(const char *folder)
{
	FREE char *path = xprintf("%s/presets/namespaces.ini", folder);

	return access(path, R_OK) == 0;
}

const char *data_folder(void)
{
	/* Found anew on each call, since the variable may change: the same each time. */
	static char folder[PATH_MAX + 32];
	const char *set = getenv("BELLJAR_DATA");
	char dir[PATH_MAX];

	if (set != NULL && *set == '/' && strlen(set) < sizeof(folder)) {
		snprintf(folder, sizeof(folder), "%s", set);
		return folder;
	}
	ssize_t len = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	if (len <= 0)
		return DATA_FALLBACK;
	dir[len] = '\0';
	for (int level = 0; level < LEVELS_MAX; level++) {
		char *slash = strrchr(dir, '/');
		if (slash == NULL || slash == dir)
			break;
		*slash = '\0';
		snprintf(folder, sizeof(folder), "%s/share/belljar", dir);
		if (data_is_at(folder))
			return folder;
		snprintf(folder, sizeof(folder), "%s", dir);
		if (data_is_at(folder))
			return folder;
	}
	return DATA_FALLBACK;
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
