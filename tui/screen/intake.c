/* SPDX-License-Identifier: MIT */
/*
 * Code on standard input. It may come slowly and never end, so it is read when there is some, one read(2) a
 * round (which does not block after epoll has said so, and leaves the descriptor's flags to those who share
 * it).
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/screen/app.h"

/* What starts later must not find the code, or wait on it. */
static void close_stdin(void)
{
	CLOSE_FD int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null >= 0)
		(void) dup2(null, STDIN_FILENO);
}

void intake_stop(struct app *app)
{
	if (app->intake.reading) {
		loop_unwatch_fd(app->loop, STDIN_FILENO);
		close_stdin();
	}
	app->intake.reading = false;
	buf_done(&app->intake.bytes);
}

static void finish(struct app *app)
{
	struct err e;
	struct buf bytes = app->intake.bytes;
	app->intake.bytes = (struct buf){ 0 };
	intake_stop(app);
	if (draft_set(&app->draft, "-", bytes.data ? bytes.data : "", bytes.len, NULL, &e) < 0)
		app_warn(app, "%s", e.text);
	else if (bytes.len == 0)
		draft_clear(&app->draft);
	buf_done(&bytes);
	app_dirty(app);
}

/* Returns false at the end. */
static bool read_some(struct app *app)
{
	static char bytes[64 << 10];
	ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));
	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	buf_add(&app->intake.bytes, bytes, (size_t) got);
	/* One byte too many is enough to know; the rest of what may be endless is not read. */
	return got > 0 && app->intake.bytes.len <= CODE_MAX;
}

static void on_stdin(void *arg, uint32_t events)
{
	struct app *app = arg;
	(void) events;
	if (!read_some(app))
		finish(app);
	else
		app_dirty(app);
}

void intake_start(struct app *app)
{
	struct err ignored;
	app->intake.reading = true;
	if (loop_watch_fd(app->loop, STDIN_FILENO, EPOLLIN, on_stdin, app, &ignored) == 0)
		return;
	while (read_some(app)) /* a regular file, which epoll does not take: it is there already */
		;
	finish(app);
}
