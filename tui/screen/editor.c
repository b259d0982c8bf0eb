/* SPDX-License-Identifier: MIT */
/*
 * The person's own editor.
 */
#include "tui/screen/editor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "core/base/base.h"
#include "tui/screen/app.h"
#include "tui/screen/curses.h"
#include "tui/screen/plain.h"

static int spawn_editor(const char *path)
{
	extern char **environ;
	const char *editor = getenv("VISUAL");
	if (!editor || !*editor)
		editor = getenv("EDITOR");
	/* "$0" keeps the file's name out of the shell's hands; the editor may be given with options of its
	 * own. */
	FREE char *line = xprintf("exec %s \"$0\"", editor && *editor ? editor : "vi");
	char sh[] = "sh", c[] = "-c";
	char *argv[] = { sh, c, line, (char *) path, NULL };
	posix_spawnattr_t attr;
	posix_spawn_file_actions_t files;
	sigset_t none, defaults;
	pid_t pid;
	int status = -1;
	posix_spawn_file_actions_init(&files);
	for (int fd = 0; fd <= 2; fd++) /* ours may be a pipe that brought the code */
		posix_spawn_file_actions_addopen(&files, fd, "/dev/tty", O_RDWR, 0);
	sigemptyset(&none);
	sigfillset(&defaults);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	int r = posix_spawn(&pid, "/bin/sh", &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	/* One that stops would leave nobody with the terminal: it goes on at once. */
	while (r == 0 && (waitpid(pid, &status, WUNTRACED) < 0 ? errno == EINTR : WIFSTOPPED(status)))
		(void) kill(pid, SIGCONT);
	return r ? -r : WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

int editor_run(struct app *app, const char *path, struct err *e)
{
	if (app_busy(app))
		return err_say(e, EBUSY, "A run lives: its output would have nowhere to go meanwhile.");
	if (!app->term && !plain_has_terminal(app))
		return err_say(e, ENOTTY, "There is no terminal for an editor.");
	if (app->term)
		curses_leave(app->term);
	int r = spawn_editor(path);
	if (app->term)
		curses_return(app->term);
	return r < 0 ? err_say(e, -r, "The editor did not end well; nothing was changed.") : 0;
}
