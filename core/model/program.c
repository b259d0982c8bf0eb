/* SPDX-License-Identifier: MIT */
/*
 * Looks a program up as the sandbox will see it. The user's own PATH is no guide: it may lead to a version
 * manager's shim in the home folder, which the target does not have. So the fixed TARGET_PATH is gone
 * through, and each link on the way to the program must lie in a folder that the policy shows.
 */
#include "core/model/launch.h"

#include "core/base/base.h"
#include "core/model/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel: path_resolution(7) */

static bool is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* A folder, all links resolved, is shown to the target. */
static bool folder_is_seen(const struct policy *p, const char *folder)
{
	char real[PATH_MAX];

	/* Debian's cc, awk and others go by way of the second, which is shown along with /usr. */
	if (strcmp(p->root, "host-usr") == 0 &&
	    (is_below(folder, "/usr") || is_below(folder, "/etc/alternatives")))
		return true;
	for (char **shown = p->read_only; shown != NULL && *shown != NULL; shown++)
		if (realpath(*shown, real) != NULL && is_below(folder, real))
			return true;
	return false;
}

/* One step: `path` becomes FOLDER/NAME with the folder's links resolved. False: the folder is not seen. */
static bool path_settle(const struct policy *p, char path[PATH_MAX])
{
	char folder[PATH_MAX];
	char *slash = strrchr(path, '/');

	if (slash == NULL || slash == path)
		return false;
	FREE char *name = xstrdup(slash + 1);
	*slash = '\0';
	if (realpath(path, folder) == NULL || !folder_is_seen(p, folder))
		return false;
	if (strlen(folder) + strlen(name) + 2 > PATH_MAX)
		return false;
	stpcpy(stpcpy(stpcpy(path, folder), "/"), name);
	return true;
}

/* Follows a path link by link, each seen by the target, to a file that can be executed. */
static bool program_is_seen(const struct policy *p, const char *start)
{
	char path[PATH_MAX], link[PATH_MAX];
	struct stat st;

	if (strlen(start) >= sizeof(path))
		return false;
	strcpy(path, start);
	for (int links = 0; links < LINKS_MAX; links++) {
		if (!path_settle(p, path) || lstat(path, &st) < 0)
			return false;
		if (!S_ISLNK(st.st_mode))
			return S_ISREG(st.st_mode) && access(path, X_OK) == 0;
		ssize_t len = readlink(path, link, sizeof(link) - 1);
		if (len <= 0)
			return false;
		link[len] = '\0';
		char *name = *link == '/' ? path : strrchr(path, '/') + 1;
		if ((size_t) (name - path) + (size_t) len >= sizeof(path))
			return false;
		strcpy(name, link);
	}
	return false;
}

/* The same below a folder that becomes the target's root: links in it lead nowhere else. */
static bool program_is_in_root(const char *root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	struct stat st;
	CLOSE_FD int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root_fd < 0)
		return false;
	CLOSE_FD int fd = (int) syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111) != 0;
}

static bool has_root_folder(const struct policy *p)
{
	return strcmp(p->root, "host") != 0 && strcmp(p->root, "host-usr") != 0;
}

static bool candidate_fits(const struct policy *p, const char *path)
{
	if (strcmp(p->root, "host") == 0)
		return access(path, X_OK) == 0;
	if (has_root_folder(p) && program_is_in_root(p->root, path))
		return true;
	return program_is_seen(p, path);
}

/* In TARGET_PATH, then in the preset's own folders and their bin/. Gives the path, or NULL. */
static char *find_seen(const struct policy *p, const char *name)
{
	FREE char *folders = xstrdup(TARGET_PATH);
	char *rest = folders, *folder;

	while ((folder = strsep(&rest, ":")) != NULL) {
		FREE char *path = xprintf("%s/%s", folder, name);
		if (candidate_fits(p, path))
			return take_ptr(&path);
	}
	for (char **shown = p->read_only; shown != NULL && *shown != NULL; shown++) {
		FREE char *in_bin = xprintf("%s/bin/%s", *shown, name);
		FREE char *in_it = xprintf("%s/%s", *shown, name);
		if (candidate_fits(p, in_bin))
			return take_ptr(&in_bin);
		if (candidate_fits(p, in_it))
			return take_ptr(&in_it);
	}
	return NULL;
}

/* Where the user's own PATH has it. Gives the path, or NULL. */
static char *find_outside(const char *name)
{
	const char *set = getenv("PATH");
	FREE char *folders = xstrdup(set != NULL ? set : "");
	char *rest = folders, *folder;
	struct stat st;

	while ((folder = strsep(&rest, ":")) != NULL) {
		FREE char *path = xprintf("%s/%s", folder, name);
		if (*folder == '/' && stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
			return take_ptr(&path);
	}
	return NULL;
}

/* A script in the place of a program is a shim as a rule: showing its folder would not help. */
static bool is_script(const char *path)
{
	char head[3];
	CLOSE_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd >= 0 && read(fd, head, 2) == 2 && memcmp(head, "#!", 2) == 0;
}

/* The reason why a program cannot be had, with the remedy. */
static int explain_missing(const char *name, const struct policy *p, const char *outside, struct err *e)
{
	char folder[PATH_MAX];

	if (has_root_folder(p))
		return err_say(e, ENOENT,
			       "%.60s is not in root = %.120s, where the sandbox looks: " TARGET_PATH, name,
			       p->root);
	if (outside == NULL)
		return err_say(e, ENOENT, "%.60s is not installed where the sandbox looks: " TARGET_PATH,
			       name);
	if (is_script(outside))
		return err_say(
			e, ENOENT,
			"%.60s is only at %.150s, a version manager's shim that the sandbox does not see; "
			"install it in /usr, or show the real one's folder: read_only = FOLDER in "
			"[filesystem] "
			"of a preset",
			name, outside);
	if (realpath(outside, folder) == NULL)
		snprintf(folder, sizeof(folder), "%s", outside);
	for (int up = 0; up < 2 && strrchr(folder, '/') > folder; up++) {
		char *slash = strrchr(folder, '/');
		/* Of /x/bin/python3 it takes /x, for its libraries. */
		if (up == 1 && strcmp(slash, "/bin") != 0)
			break;
		*slash = '\0';
	}
	return err_say(e, ENOENT,
		       "%.60s is only at %.150s, which the sandbox does not see; show it with "
		       "read_only = %.150s in [filesystem] of a preset",
		       name, outside, folder);
}

int program_find(const char *name, const struct policy *p, char **ret_path, struct err *e)
{
	if (strchr(name, '/') != NULL) {
		/* A relative one is below the working folder, which the run has yet to make. */
		if (*name == '/' && !candidate_fits(p, name) && access(name, X_OK) == 0)
			return explain_missing(strrchr(name, '/') + 1, p, name, e);
		*ret_path = xstrdup(name);
		return 0;
	}
	char *path = find_seen(p, name);
	if (path == NULL) {
		FREE char *outside = find_outside(name);
		return explain_missing(name, p, outside, e);
	}
	*ret_path = path;
	return 0;
}

int language_find_program(const struct language *lang, const struct policy *p, char **ret_path, struct err *e)
{
	FREE char *outside = NULL;
	const char *name = lang->programs[0];
	struct buf all = { 0 };

	for (const char *const *program = lang->programs; *program != NULL; program++) {
		char *path = find_seen(p, *program);
		if (path != NULL) {
			*ret_path = path;
			buf_done(&all);
			return 0;
		}
		if (outside == NULL && (outside = find_outside(*program)) != NULL)
			name = *program;
		buf_printf(&all, "%s%s", program == lang->programs ? "" : ", ", *program);
	}
	int r = explain_missing(outside != NULL ? name : all.data, p, outside, e);
	buf_done(&all);
	return r;
}
