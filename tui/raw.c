/* SPDX-License-Identifier: MIT */
/*
 * Raw keys: see raw.h. Output keeps its processing, so that lines of ours and of the target end as ever (termios(3)).
 */
#include "tui/raw.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Waits for the end of the pipe, which comes when the last of us is gone, however that was. */
static _Noreturn void keeper_main(const struct raw *r, int from_fd)
{
	static const int endings[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTOU, SIGTTIN };
	char done;
	ssize_t n;
	for (size_t k = 0; k < ARRAY_LEN(endings); k++)
		(void) signal(endings[k], SIG_IGN); /* from here on nobody but us can end it early */
	(void) prctl(PR_SET_NAME, "belljar-keeper", 0, 0, 0);
	int fd = fcntl(r->fd, F_DUPFD, 3), in = fcntl(from_fd, F_DUPFD, 3);
	(void) dup2(in, 0);
	(void) dup2(fd, 1);
	close_range(2, ~0U, 0);
	while ((n = read(0, &done, 1)) < 0 && errno == EINTR)
		;
	if (n <= 0)
		(void) tcsetattr(1, TCSANOW, &r->saved);
	_exit(0);
}

int raw_begin(struct raw *r, int fd, struct err *e)
{
	struct termios modes;
	int ends[2];
	r->fd = fd;
	if (tcgetattr(fd, &r->saved) < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return err_set(e, errno, "take the keys of the terminal");
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[1]);
		keeper_main(r, ends[0]);
	}
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return err_set(e, errno, "start the keeper of the terminal");
	}
	r->keeper = pid;
	r->keeper_fd = ends[1];
	modes = r->saved;
	modes.c_iflag &= ~(tcflag_t) (IGNBRK | BRKINT | PARMRK | ISTRIP | INLCR | IGNCR | ICRNL | IXON);
	modes.c_lflag &= ~(tcflag_t) (ECHO | ECHONL | ICANON | ISIG | IEXTEN);
	modes.c_cc[VMIN] = 1;
	modes.c_cc[VTIME] = 0;
	if (tcsetattr(fd, TCSADRAIN, &modes) == 0)
		return 0;
	err_set(e, errno, "take the keys of the terminal");
	raw_end(r);
	return -e->code;
}

void raw_end(struct raw *r)
{
	if (r->keeper <= 0)
		return;
	(void) tcsetattr(r->fd, TCSADRAIN, &r->saved);
	(void) write_all(r->keeper_fd, "d", 1);
	close_fd(&r->keeper_fd);
	while (waitpid(r->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	r->keeper = 0;
}
