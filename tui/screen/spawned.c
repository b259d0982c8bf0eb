/* SPDX-License-Identifier: MIT */
/*
 * A program of belljar's own, beside the screens.
 */
#include "tui/screen/spawned.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tui/screen/app.h"

#define OUTPUT_MAX (64u << 10)

struct spawned {
	struct app *app;
	void (*done)(struct app *app, const char *output, size_t len, int status);
	pid_t pid;
	int fd;
	struct buf output;
};

/* Beside this program in a build, or where it is installed: PREFIX/libexec/belljar and PREFIX/bin. */
static char *find_belljar(void)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return NULL;
	self[len] = '\0';
	*strrchr(self, '/') = '\0';
	char *beside = xprintf("%s/belljar", self);
	if (access(beside, X_OK) == 0)
		return beside;
	free(beside);
	return xprintf("%s/../../bin/belljar", self);
}

struct spawned *spawned_free(struct spawned *s)
{
	if (!s)
		return NULL;
	loop_unwatch_fd(s->app->loop, s->fd);
	close_fd(&s->fd);
	if (s->pid > 0) {
		(void) kill(s->pid, SIGTERM);
		while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	buf_done(&s->output);
	free(s);
	return NULL;
}

static void over(struct spawned *s)
{
	int status = -1;

	while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
		;
	s->pid = 0;
	s->done(s->app, s->output.data ? s->output.data : "", s->output.len,
		WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	spawned_free(s);
}

static void on_output(void *arg, uint32_t events)
{
	struct spawned *s = arg;
	char part[4096];
	ssize_t n = read(s->fd, part, sizeof(part));

	(void) events;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0)
		over(s);
	else if (s->output.len + (size_t) n <= OUTPUT_MAX)
		buf_add(&s->output, part, (size_t) n);
}

/* Its standard input is empty, and what the screens block or ignore it does not. */
static int spawn(struct spawned *s, char *const *argv, int out_fd)
{
	extern char **environ;
	posix_spawnattr_t attr;
	posix_spawn_file_actions_t files;
	sigset_t none, defaults;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out_fd, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, out_fd, STDERR_FILENO);
	sigemptyset(&none);
	sigfillset(&defaults);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	int r = posix_spawn(&s->pid, argv[0], &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return -r;
}

int spawned_start(struct app *app, const char *const *words,
		  void (*done)(struct app *app, const char *output, size_t len, int status),
		  struct spawned **ret, struct err *e)
{
	FREE char *program = find_belljar();
	char **argv = strv_add(NULL, program ? program : "belljar");
	struct spawned *s = xcalloc(1, sizeof(*s));
	int p[2], r;

	for (; *words; words++)
		argv = strv_add(argv, *words);
	*s = (struct spawned){ .app = app, .done = done, .fd = -1 };
	if (pipe2(p, O_CLOEXEC) < 0) {
		r = err_set(e, errno, "make a pipe");
		goto undo;
	}
	s->fd = p[0];
	r = spawn(s, argv, p[1]);
	close(p[1]);
	if (r < 0)
		s->pid = 0;
	if (r < 0 ? err_set(e, -r, "start %s", argv[0])
		  : (r = loop_watch_fd(app->loop, s->fd, EPOLLIN, on_output, s, e)))
		goto undo;
	strv_free(argv);
	*ret = s;
	return 0;
undo:
	strv_free(argv);
	spawned_free(s);
	return r;
}
