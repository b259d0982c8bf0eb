/* SPDX-License-Identifier: MIT */
/*
 * A pseudo-terminal for a run that asked for one (pty(7)). It is the run's own: what is typed into it (TIOCSTI), whatever
 * modes it gets, and a hang-up reach nobody else, and the person's terminal stays behind the supervisor, who copies bytes.
 * The slave is inherited; in a view of files it is seen as well, so that ttyname(3) finds it.
 */
#include "core/backend/terminal.h"
#include "core/backend/child.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

int terminal_open(struct instance *i, struct err *e)
{
	const struct launch *l = i->launch;
	const struct winsize size = { .ws_row = l->rows ? l->rows : 24,
				      .ws_col = l->columns ? l->columns : 80 };

	if (!l->tty)
		return 0;
	i->out_fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (i->out_fd < 0 || unlockpt(i->out_fd) < 0 ||
	    ptsname_r(i->out_fd, i->tty_path, sizeof(i->tty_path)) != 0)
		return err_set(e, errno, "make a terminal for the target");
	/* By the master, not by its path: that may lead into another instance of the file system. */
	i->tty_fd = ioctl(i->out_fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (i->tty_fd < 0 || (i->in_fd = fcntl(i->out_fd, F_DUPFD_CLOEXEC, 3)) < 0 ||
	    ioctl(i->out_fd, TIOCSWINSZ, &size) < 0)
		return err_set(e, errno, "open the terminal made for the target");
	if (fchown(i->tty_fd, target_uid(l), (gid_t) -1) < 0 || fchmod(i->tty_fd, 0600) < 0)
		return err_set(e, errno, "give the target its terminal");
	return 0;
}

#define SHOWN_AT "/dev/console" /* in a view, whose /dev/pts is another instance; ttyname(3) searches /dev */

void terminal_show(const struct instance *i, struct mount_plan *m)
{
	if (i->tty_fd < 0)
		return;
	mount_plan_add(m, (struct mount_op){ .kind = MOUNT_DEVICE, .source = i->tty_path, .dest = SHOWN_AT });
	/* That the skeleton becomes read-only stays the last word. */
	const struct mount_op last = m->ops[m->count - 2];
	m->ops[m->count - 2] = m->ops[m->count - 1];
	m->ops[m->count - 1] = last;
}

void terminal_landlock(const struct instance *i, struct landlock_rules *r)
{
	if (i->tty_fd >= 0)
		r->control = strv_add(strv_add(r->control, "/dev/tty"), SHOWN_AT);
}
