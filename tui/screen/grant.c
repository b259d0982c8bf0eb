/* SPDX-License-Identifier: MIT */
/*
 * Writing into a preset of the person's own. What is written comes from core/model; here is where it goes, and that a
 * file is replaced as a whole or not at all.
 */
#include "tui/screen/grant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/model/model.h"

#define OWN_MAX (256u << 10) /* a larger file is no preset */

void granted_done(struct granted *g)
{
	free(g->name);
	free(g->path);
	*g = (struct granted){ 0 };
}

static char *own_path(const char *folder, const char *name)
{
	return xprintf("%s/%s.ini", folder, name);
}

/* A name that only the program's own presets have must not be taken from them unseen. */
static int name_choose(const char *folder, const char *base, const char *asked, char **ret, struct err *e)
{
	FREE char *name = *asked ? xstrdup(asked) : xstrdup(base);
	FREE char *path = own_path(folder, name);
	bool own = access(path, F_OK) == 0;

	if (!*base || strchr(base, '/') || strchr(name, '/'))
		return err_say(e, EINVAL, "only a preset that has a name can be extended");
	if (!own && !*asked) {
		*ret = xprintf("my-%s", base);
		return 0;
	}
	char **names = preset_names();
	bool taken = !own && strv_has(names, name);
	strv_free(names);
	if (taken)
		return err_say(e, EEXIST, "%s is a preset of belljar's own; take another name", name);
	*ret = take_ptr(&name);
	return 0;
}

/* The file that is meant: of a symbolic link, what it points to. */
static int text_replace(const char *path, const struct buf *text, struct err *e)
{
	struct buf faults = { 0 };
	FREE char *whole = realpath(path, NULL);
	FREE char *new = xprintf("%s.new", whole ? whole : path);
	struct stat st;
	mode_t mode = stat(path, &st) == 0 ? st.st_mode & 0777 : 0600;
	CLOSE_FD int fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);

	if (fd < 0)
		return err_set(e, errno, "write %s", new);
	int r = write_all(fd, text->data, text->len);
	if (r < 0)
		err_set(e, -r, "write %s", new);
	else if ((r = preset_check(new, &faults, e)) > 0)
		r = err_say(e, EINVAL, "%.*s", (int) strcspn(faults.data, "\n"), faults.data);
	else if (r == 0 && rename(new, whole ? whole : path) < 0)
		r = err_set(e, errno, "rename to %s", whole ? whole : path);
	if (r < 0)
		(void) unlink(new);
	buf_done(&faults);
	return r;
}

static int own_write(const struct preset_grant *g, const char *base, const char *name, const char *path,
		     struct err *e)
{
	FREE char *old = NULL;
	struct preset_text text = { .name = name, .base = base };
	struct policy *p = NULL;
	struct buf out = { 0 };
	bool there = access(path, F_OK) == 0;
	int r = there ? file_read(AT_FDCWD, path, OWN_MAX, &old, &text.len, e) : 0;

	text.text = old;
	if (r == 0 && (r = preset_load(there ? name : base, &p, e)) == 0 &&
	    (r = preset_grant(p, g, &text, &out, e)) == 0)
		r = text_replace(path, &out, e);
	buf_done(&out);
	policy_free(p);
	return r;
}

int grant_write(const struct preset_grant *g, const char *base, const char *name, struct granted *ret,
		struct err *e)
{
	FREE char *folder = xdg_folder(XDG_CONFIG, "presets", true, e);
	struct granted to = { 0 };
	int r = folder ? name_choose(folder, base, name, &to.name, e) : -e->code;

	if (r < 0)
		return r;
	to.path = own_path(folder, to.name);
	if ((r = own_write(g, base, to.name, to.path, e)) < 0)
		granted_done(&to);
	else
		*ret = to;
	return r;
}
