/* SPDX-License-Identifier: MIT */
/*
 * A terminal for the next runs, and lines for the one that lives: they go into a pipe that its supervisor reads, so a
 * target that takes none never makes the screens wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "core/supervise/supervise.h"
#include "tui/screen/app.h"

int send_open(struct app *app, struct launch *l, struct err *e)
{
	int ends[2];
	if (!app->tty)
		return 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(e, errno, "make a pipe for what is typed");
	(void) fcntl(ends[1], F_SETFL, O_NONBLOCK);
	l->tty = true;
	l->stdin_fd = ends[0];
	l->rows = (uint16_t) app->grid.rows;
	l->columns = (uint16_t) app->grid.columns;
	app->send_fd = ends[1];
	return 0;
}

static void tty(struct app *app, const char *argument)
{
	(void) argument;
	app->tty = !app->tty;
	app_say(app, app->tty ? "The next run gets a terminal of its own; I types a line into it."
			      : "The next run gets pipes, and nothing to read.");
}

static void send_line(struct app *app, const char *argument)
{
	FREE char *line = xprintf("%s\n", argument);
	size_t len = strlen(line);
	if (app->send_fd < 0) {
		app_say(app, app->run ? "This run has no terminal; :tty gives the next one a terminal."
				      : "Nothing runs.");
		return;
	}
	if (!*argument) {
		prompt_open(app, PROMPT_COMMAND, "send ");
		return;
	}
	ssize_t n = write(app->send_fd, line, len); /* whole or not at all: it is shorter than PIPE_BUF */
	if (n == (ssize_t) len)
		app_say(app, "Sent.");
	else
		app_warn(app, "Not sent: %s",
			 n < 0 && errno == EAGAIN ? "it has not read what came before" : strerror(errno));
}

static void send_end(struct app *app, const char *argument)
{
	(void) argument;
	app_say(app, app->send_fd < 0 ? "Nothing is open that could end." : "Its input has ended.");
	close_fd(&app->send_fd);
}

/* clang-format off */
const struct action send_actions[] = {
	{ "tty", NULL, "the next run with a terminal of its own, or without", tty },
	{ "send", "[TEXT]", "type a line into the terminal of the run", send_line },
	{ "send-end", NULL, "end what it can read", send_end },
	{ .name = NULL },
};
/* clang-format on */
