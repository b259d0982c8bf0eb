/* SPDX-License-Identifier: MIT */
/*
 * The control: the same program without any sandbox, as the user that the sandbox would give it, so that "stopped" means
 * something. Bounded: by a clock, in a session and a folder of its own, and only where there is memory to spare. It ends
 * with all that it started at its deadline, when the reader goes away, and (the parent-death signal, the marks that a
 * sweep looks for) when we die.
 */
#include "core/suite/parts.h"

#include "core/supervise/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_MAX (256u << 20) /* bytes of one file */

struct control {
	struct attempt *a;
	char *folder;
	int lock_fd, out_fd, err_fd, pidfd;
	pid_t pid;
	char **argv, **env;
	bool timed_out, reader_gone;
	int status;
};

/* ---- before ---- */

static int memory_check(const struct attack *a, struct err *e)
{
	char text[4096], need[32], have[32];
	const char *at = file_read_small(AT_FDCWD, "/proc/meminfo", text, sizeof(text)) > 0
				 ? strstr(text, "\nMemAvailable:")
				 : NULL;
	uint64_t bytes = at ? strtoull(at + strlen("\nMemAvailable:"), NULL, 10) << 10 : 0;

	if (a->control_memory <= bytes)
		return 0;
	return err_say(e, ENOMEM, "it needs %s of free memory to be harmless, and there are %s",
		       format_bytes(a->control_memory, need, sizeof(need)),
		       format_bytes(bytes, have, sizeof(have)));
}

/* "%i" the interpreter, "%f" the code, "%t" a place to compile to; they may stand within a word. */
static char *word_expand(const char *word, const char *program, const char *code, const char *tmp)
{
	struct buf out = { 0 };

	for (const char *p = word; *p; p++) {
		const char *with = *p != '%'     ? NULL
				   : p[1] == 'i' ? program
				   : p[1] == 'f' ? code
				   : p[1] == 't' ? tmp
						 : NULL;
		if (with)
			buf_str(&out, with);
		else
			buf_add(&out, p, 1);
		p += with != NULL;
	}
	return buf_steal(&out);
}

static int command_make(struct control *c, struct err *e)
{
	const struct launch *l = c->a->launch;
	char root[] = "host"; /* the control sees it as it is */
	FREE char *program = NULL;
	FREE char *code = xprintf("%s/work/%s", c->folder, l->language->file);
	FREE char *made = xprintf("%s/tmp/program", c->folder);
	int r = language_find_program(l->language, &(struct policy){ .root = root }, &program, e);

	if (r < 0)
		return r;
	for (const char *const *word = l->language->argv; *word; word++) {
		FREE char *expanded = word_expand(*word, program, code, made);
		c->argv = strv_add(c->argv, expanded);
	}
	char *const pairs[] = { xprintf("HOME=%s/home", c->folder),
				xprintf("TMPDIR=%s/tmp", c->folder),
				xprintf("BELLJAR_RUN=%s", l->run_id),
				xstrdup("PATH=" TARGET_PATH),
				xstrdup("LANG=C.UTF-8"),
				xstrdup("TERM=dumb") };
	c->env = strv_dup(l->env);
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		c->env = strv_add(c->env, pairs[i]);
		free(pairs[i]);
	}
	return 0;
}

static int code_write(const struct control *c, struct err *e)
{
	const struct launch *l = c->a->launch;
	FREE char *path = xprintf("work/%s", l->language->file);
	CLOSE_FD int fd =
		openat(c->lock_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int r = fd < 0 ? -errno : write_all(fd, l->code, l->code_len);

	return r < 0 ? err_set(e, -r, "write the code of the control") : 0;
}

/* ---- the program ---- */

/* As root it becomes who the target would be, and stays so. */
static int become(uid_t owner)
{
	if (owner == geteuid())
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(owner, owner, owner) < 0)
		return -1;
	return setresuid(owner, owner, owner);
}

static _Noreturn void child_main(const struct control *c, int out_fd, pid_t parent)
{
	const struct rlimit none = { 0, 0 }, file = { FILE_MAX, FILE_MAX };
	rlim_t seconds = (rlim_t) (c->a->attack->control_ns / NS_PER_S) + 1;
	const struct rlimit cpu = { seconds, seconds };
	FREE char *work = xprintf("%s/work", c->folder);
	CLOSE_FD int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t no_signals;

	sigemptyset(&no_signals);
	(void) sigprocmask(SIG_SETMASK, &no_signals, NULL);
	(void) setsid();
	(void) setrlimit(RLIMIT_CORE, &none);
	(void) setrlimit(RLIMIT_FSIZE, &file);
	(void) setrlimit(RLIMIT_CPU, &cpu);
	/* A change of ids takes the signal away, so it comes after; the parent may be gone by then. */
	if (become(c->a->owner) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent ||
	    chdir(work) < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out_fd, STDOUT_FILENO) < 0 ||
	    dup2(c->err_fd, STDERR_FILENO) < 0 || close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		_exit(125);
	execve(c->argv[0], c->argv, c->env);
	_exit(127);
}

static int control_start(struct control *c, struct err *e)
{
	int fds[2];
	pid_t parent = getpid();

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(e, errno, "make a pipe");
	CLOSE_FD int out_fd = fds[1];
	c->out_fd = fds[0];
	if (fcntl(c->out_fd, F_SETFL, O_NONBLOCK) < 0 ||
	    (c->err_fd = memfd_create("control", MFD_CLOEXEC)) < 0)
		return err_set(e, errno, "make room for what the control says");
	if ((c->pid = fork()) == 0)
		child_main(c, out_fd, parent);
	if (c->pid < 0)
		return err_set(e, errno, "start the control");
	c->pidfd = (int) syscall(SYS_pidfd_open, c->pid, 0);
	return c->pidfd < 0 ? err_set(e, errno, "pidfd_open of the control") : 0;
}

/* Returns whether more may come. */
static bool take_output(struct control *c)
{
	char bytes[4096];
	ssize_t n = read(c->out_fd, bytes, sizeof(bytes));

	if (n > 0)
		hearing_take(&c->a->hearing, bytes, (size_t) n);
	return n > 0;
}

static void control_follow(struct control *c, int reader_fd)
{
	uint64_t begin = now_ns(), bound = c->a->attack->control_ns;
	struct pollfd p[] = { { .fd = c->out_fd, .events = POLLIN },
			      { .fd = c->pidfd, .events = POLLIN },
			      { .fd = c->a->planted.listen_fd, .events = POLLIN },
			      { .fd = reader_fd } };

	while (!p[1].revents && !c->reader_gone && !c->timed_out) {
		uint64_t passed = now_ns() - begin;
		c->timed_out = passed >= bound;
		if (c->timed_out || poll(p, ARRAY_LEN(p), (int) ((bound - passed) / NS_PER_MS) + 1) <= 0)
			continue;
		if (p[0].revents && !take_output(c))
			p[0].fd = -1;
		if (p[2].revents)
			planted_serve(&c->a->planted);
		c->reader_gone = p[3].revents != 0;
	}
	for (int parts = 0; parts < 64 && take_output(c); parts++)
		;
}

/* ---- after ---- */

/* The last line that it said on standard error. */
static const char *last_words(const struct control *c, char *text, size_t size)
{
	off_t end = lseek(c->err_fd, 0, SEEK_END), from = end >= (off_t) size ? end - (off_t) size + 1 : 0;
	ssize_t n = pread(c->err_fd, text, size - 1, from);

	text[n > 0 ? n : 0] = '\0';
	for (size_t len = strlen(text); len > 0 && text[len - 1] == '\n'; len--)
		text[len - 1] = '\0';
	const char *line = strrchr(text, '\n');
	return line ? line + 1 : text;
}

static bool control_judge(const struct control *c, char *text, size_t size)
{
	char words[160], bound[32];
	const char *begun = c->a->hearing.started ? "it began, " : "it did not begin, ";

	if (c->a->hearing.witness)
		snprintf(text, size, "works without a sandbox");
	else if (c->reader_gone)
		snprintf(text, size, "it was cut off");
	else if (c->timed_out)
		snprintf(text, size, "%sand was not ready after %s", begun,
			 format_ns(c->a->attack->control_ns, bound, sizeof(bound)));
	else if (WIFSIGNALED(c->status))
		snprintf(text, size, "%sand ended by signal %d", begun, WTERMSIG(c->status));
	else
		snprintf(text, size, "%sand ended with status %d without its witness: %s", begun,
			 WEXITSTATUS(c->status), last_words(c, words, sizeof(words)));
	return c->a->hearing.witness;
}

static void control_end(struct control *c)
{
	if (c->pid > 0) {
		(void) kill(c->pid, SIGKILL);
		while (waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR)
			;
	}
	(void) place_end_children();
}

static int control_prepare(struct control *c, struct err *e)
{
	int r = memory_check(c->a->attack, e);

	if (r < 0 || (r = place_create(c->a->launch->run_id, c->a->owner, &c->folder, &c->lock_fd, e)) < 0 ||
	    (r = code_write(c, e)) < 0 || (r = command_make(c, e)) < 0)
		return r;
	return control_start(c, e);
}

bool control_run(struct attempt *a, int reader_fd, char *ret_text, size_t size)
{
	struct control c = { .a = a, .lock_fd = -1, .out_fd = -1, .err_fd = -1, .pidfd = -1 };
	struct err e;
	bool worked = false;
	int r = control_prepare(&c, &e);

	if (r == 0)
		control_follow(&c, reader_fd);
	control_end(&c);
	if (r < 0)
		snprintf(ret_text, size, "%.230s", e.text);
	else
		worked = control_judge(&c, ret_text, size);
	place_remove(a->launch->run_id);
	close_fd(&c.lock_fd);
	close_fd(&c.out_fd);
	close_fd(&c.err_fd);
	close_fd(&c.pidfd);
	strv_free(c.argv);
	strv_free(c.env);
	free(c.folder);
	return worked;
}
