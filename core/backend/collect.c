/* SPDX-License-Identifier: MIT */
/*
 * After a run: what it left in its output folder goes to the host, and what it changed in the project is told and, with
 * --output, goes there too. The run is dead by then, and everything it left is hostile.
 */
#include "core/backend/child.h"
#include "core/backend/stage.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_MAX_BYTES (4ULL << 30)
#define OUTPUT_MAX_FILES 100000
#define CHANGES_MAX      1000
#define PATH_SHOWN       4000 /* bytes: a deep tree has longer ones, that no frame would take */

static char *path_shown(const char *path)
{
	return strlen(path) <= PATH_SHOWN ? xstrdup(path) : xprintf("%.*s...", PATH_SHOWN, path);
}

static void on_change(void *arg, enum stage_change what, const char *path, uint64_t bytes)
{
	static const char *const words[] = {
		[STAGE_ADDED] = "added", [STAGE_CHANGED] = "changed", [STAGE_REMOVED] = "removed"
	};
	const struct collector *to = arg;
	FREE char *shown = path_shown(path);
	to->changed(to->arg, words[what], shown, bytes);
}

/* Tells what changed; with --output, `taken` gets what was added and changed. */
static int report(const struct instance *i, const struct collector *to, struct stage_set *taken,
		  struct err *e)
{
	bool overlay = i->upper_dirfd >= 0;
	const struct stage_view view = { .kind = overlay ? STAGE_UPPER : STAGE_COPY,
					 .dirfd = overlay ? i->upper_dirfd : i->project_dirfd,
					 .original = i->launch->project_dir,
					 .ours = overlay ? NULL : i->not_project };
	const struct stage_listener listener = { .changed = on_change,
						 .arg = (void *) to,
						 .max = CHANGES_MAX,
						 .taken = i->launch->output_dir ? taken : NULL };
	int untold = stage_report(&view, &listener, e);
	if (untold > 0)
		to->passed_over(to->arg, "changed", (uint64_t) untold,
				"too many, or in folders that cannot be read");
	return untold < 0 ? untold : 0;
}

/* only: NULL: all there is. */
static int copy_out(int from_fd, const struct stage_set *only, const struct launch *l,
		    const struct collector *to, struct err *e)
{
	const struct stage_want caps = { .uid = (uid_t) -1,
					 .gid = (gid_t) -1,
					 .max_bytes = OUTPUT_MAX_BYTES,
					 .max_files = OUTPUT_MAX_FILES,
					 .copied = to->copied,
					 .copied_arg = to->arg,
					 .only = only };
	struct stage_done done = { 0 };
	int r = stage_copy_out(from_fd, l->output_dir, &caps, &done, e);
	for (uint64_t k = 0; k < done.skipped_count && k < STAGE_SKIPPED_MAX; k++) {
		FREE char *shown = path_shown(done.skipped[k].path);
		FREE char *what = xprintf("output %s", shown);
		to->passed_over(to->arg, what, 1, done.skipped[k].why);
	}
	if (done.skipped_count > STAGE_SKIPPED_MAX)
		to->passed_over(to->arg, "output", done.skipped_count - STAGE_SKIPPED_MAX,
				"no plain files either");
	if (r >= 0 && done.cut)
		r = err_say(e, EFBIG, "not all of the output was copied to %s: %s", l->output_dir, done.cut);
	stage_clear(&done);
	return r;
}

static void on_skipped(void *arg, const char *path, const char *why)
{
	const struct collector *to = arg;
	FREE char *shown = path_shown(path);
	FREE char *what = xprintf("output %s", shown);
	to->passed_over(to->arg, what, 1, why);
}

int collect_send(struct instance *i, const struct launch *l, const struct collector *to, struct sending *s,
		 struct err *e)
{
	struct stage_set taken = { 0 };
	struct stage_send_want want = { .to_fd = s->fd, .skipped = on_skipped, .arg = (void *) to };
	int r = i->project_dirfd >= 0 ? report(i, to, &taken, e) : 0;
	if (r >= 0 && l->output_dir && i->output_dirfd >= 0)
		r = stage_send(i->output_dirfd, &want, e);
	want.only = &taken;
	if (r >= 0 && l->output_dir && i->project_dirfd >= 0)
		r = stage_send(i->project_dirfd, &want, e);
	stage_set_done(&taken);
	if (r >= 0)
		r = stage_send_end(&want, e);
	s->sent = want.sent;
	return r;
}

int collect_received(struct instance *i, const struct launch *l, const struct collector *to, struct err *e)
{
	CLOSE_FD int fd = -1;
	int r;
	if (i->spool_fd < 0)
		return 0;
	if (lseek(i->spool_fd, 0, SEEK_SET) < 0)
		return err_set(e, errno, "read what the machine sent of files");
	if ((r = temp_create(l->run_id, geteuid(), &i->temp_dir, &i->temp_fd, e)) < 0)
		return r;
	if ((fd = openat(i->temp_fd, "work", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		return err_set(e, errno, "open a folder for what the machine sent");
	struct err whole = { 0 };
	int received = stage_receive(i->spool_fd, fd, OUTPUT_MAX_BYTES, OUTPUT_MAX_FILES, &whole);
	r = copy_out(fd, NULL, l, to, e); /* what is good of it comes out */
	if (r >= 0 && received < 0)
		*e = whole;
	return r < 0 ? r : received;
}

int stage_collect(struct instance *i, const struct launch *l, const struct collector *to, struct err *e)
{
	int project_fd = i->upper_dirfd >= 0 ? i->upper_dirfd : i->project_dirfd;
	struct stage_set taken = { 0 };
	int r = project_fd >= 0 ? report(i, to, &taken, e) : 0;
	if (r >= 0 && i->output_dirfd >= 0)
		r = copy_out(i->output_dirfd, NULL, l, to, e);
	if (r >= 0 && i->output_dirfd >= 0 && project_fd >= 0)
		r = copy_out(project_fd, &taken, l, to, e);
	stage_set_done(&taken);
	return r;
}
