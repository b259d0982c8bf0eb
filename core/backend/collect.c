/* SPDX-License-Identifier: MIT */
/*
 * After a run: what it left in its output folder goes to the host, and what it changed in the project is told. The
 * run is dead by then, and everything it left is hostile.
 */
#include "core/backend/child.h"
#include "core/backend/stage.h"

#include "core/base/base.h"

#include <errno.h>

#define OUTPUT_MAX_BYTES (4ULL << 30)
#define OUTPUT_MAX_FILES 100000
#define CHANGES_MAX      1000

struct teller {
	void (*changed)(void *arg, const char *op, const char *path, uint64_t bytes);
	void *arg;
};

static void tell(void *arg, enum stage_change what, const char *path, uint64_t bytes)
{
	static const char *const words[] = { [STAGE_ADDED] = "added", [STAGE_CHANGED] = "changed",
		[STAGE_REMOVED] = "removed" };
	const struct teller *t = arg;
	t->changed(t->arg, words[what], path, bytes);
}

static int copy_out(int from_fd, const char *to, const struct teller *t, struct err *e)
{
	struct stage_want caps = { .uid = (uid_t) -1, .gid = (gid_t) -1, .max_bytes = OUTPUT_MAX_BYTES,
		.max_files = OUTPUT_MAX_FILES };
	struct stage_done done = { 0 };
	int r = stage_copy_out(from_fd, to, &caps, &done, e);
	for (uint64_t k = 0; k < done.skipped_count && k < STAGE_SKIPPED_MAX; k++)
		t->changed(t->arg, done.skipped[k].why, done.skipped[k].path, 0);
	if (r >= 0 && done.cut)
		r = err_say(e, EFBIG, "not all of the output was copied to %s: %s", to, done.cut);
	stage_clear(&done);
	return r;
}

int stage_collect(struct instance *i, const struct launch *l, void (*changed)(void *arg, const char *op,
    const char *path, uint64_t bytes), void *arg, struct err *e)
{
	struct teller t = { changed, arg };
	int r = 0;
	if (i->upper_dirfd >= 0) {
		struct stage_listener to = { tell, &t, CHANGES_MAX };
		r = stage_report(i->upper_dirfd, l->project_dir, &to, e);
	}
	if (r >= 0 && i->output_dirfd >= 0)
		r = copy_out(i->output_dirfd, l->output_dir, &t, e);
	if (r >= 0 && i->output_dirfd >= 0 && i->upper_dirfd >= 0)
		r = copy_out(i->upper_dirfd, l->output_dir, &t, e);
	return r;
}
