/* SPDX-License-Identifier: MIT */
/*
 * What a run leaves on the host while it lives, and how it is found again when its supervisor died: a folder named by
 * the run's id below one folder of this user, control groups named the same way, and a mark that a living supervisor
 * holds. The mark is an abstract socket's name: it goes with its holder, and leaves no file. See unix(7).
 */
#include "core/backend/temp.h"

#include "core/backend/backend.h"
#include "core/base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *temp_base(void)
{
	const char *dir = getenv("TMPDIR");
	return dir && dir[0] == '/' ? dir : "/tmp";
}

/* This user's folder below the common one, where anyone may have made it first: only our own, closed to writing. */
static int temp_user_open(bool make, int *ret_fd, struct err *e)
{
	FREE char *path = xprintf("%s/belljar-%u", temp_base(), geteuid());
	struct stat st;
	if (make && mkdir(path, 0711) < 0 && errno != EEXIST)
		return err_set(e, errno, "make %s", path);
	CLOSE_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, errno, "open %s", path);
	if (st.st_uid != geteuid() || (st.st_mode & 0022))
		return err_say(e, EPERM, "%s belongs to uid %u with mode %04o: belljar does not trust it; remove it, or set "
		    "TMPDIR to a folder of your own", path, st.st_uid, st.st_mode & 07777);
	*ret_fd = take_fd(&fd);
	return 0;
}

int temp_create(const char *run_id, uid_t owner, char **ret_path, int *ret_fd, struct err *e)
{
	static const char *const folders[] = { "work", "home", "tmp" };
	CLOSE_FD int base = -1;
	int r = temp_user_open(true, &base, e);
	/* Another run that ends takes the empty folder away between the two steps: made again, a few times. */
	for (int tries = 0; r >= 0 && mkdirat(base, run_id, 0700) < 0; tries++) {
		if (errno != ENOENT || tries == 8)
			return err_set(e, errno, "make a folder for the run below %s", temp_base());
		close_fd(&base);
		r = temp_user_open(true, &base, e);
	}
	if (r < 0)
		return r;
	CLOSE_FD int fd = openat(base, run_id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, errno, "open the run's folder");
	for (size_t k = 0; k < ARRAY_LEN(folders); k++)
		if (mkdirat(fd, folders[k], 0700) < 0 ||
		    (geteuid() == 0 && fchownat(fd, folders[k], owner, owner, AT_SYMLINK_NOFOLLOW) < 0))
			return err_set(e, errno, "make %s in the run's folder", folders[k]);
	if (geteuid() == 0 && fchown(fd, owner, owner) < 0)
		return err_set(e, errno, "give the run its folder");
	*ret_path = xprintf("%s/belljar-%u/%s", temp_base(), geteuid(), run_id);
	*ret_fd = take_fd(&fd);
	return 0;
}

int temp_remove(const char *run_id, struct err *e)
{
	CLOSE_FD int base = -1;
	int r = temp_user_open(false, &base, e);
	if (r == -ENOENT)
		return 0;
	if (r < 0 || (r = dir_remove_tree(base, run_id, e)) < 0)
		return r;
	FREE char *path = xprintf("%s/belljar-%u", temp_base(), geteuid());
	(void) rmdir(path); /* the last one out; not empty while others run */
	return 0;
}

/* ---- marks ---- */

static socklen_t mark_address(const char *run_id, struct sockaddr_un *a)
{
	*a = (struct sockaddr_un) { .sun_family = AF_UNIX };
	int n = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "belljar-%u-%s", geteuid(), run_id);
	return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 + (size_t) n);
}

int mark_hold(const char *run_id, int *ret_fd, struct err *e)
{
	struct sockaddr_un a;
	socklen_t len = mark_address(run_id, &a);
	CLOSE_FD int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *) &a, len) < 0)
		return err_set(e, errno, "mark run %s as alive", run_id);
	*ret_fd = take_fd(&fd);
	return 0;
}

bool mark_held(const char *run_id)
{
	int fd;
	struct err e;
	if (mark_hold(run_id, &fd, &e) < 0)
		return e.code == EADDRINUSE;
	close(fd);
	return false;
}

/* ---- sweeping ---- */

/* Processes of a run carry its id in their environment. A hostile one can wipe that: the control group, where there is
 * one, and the subreapers above it are what it cannot escape. */
static bool process_marked(int proc_dirfd, const char *pid, const char *mark)
{
	char path[40];
	FREE char *env = NULL;
	size_t len = 0;
	struct err e;
	snprintf(path, sizeof(path), "%.20s/environ", pid);
	if (file_read(proc_dirfd, path, 1 << 20, &env, &len, &e) < 0)
		return false;
	return memmem(env, len, mark, strlen(mark) + 1) != NULL;
}

static void sweep_processes(const char *run_id)
{
	FREE char *mark = xprintf("BELLJAR_RUN=%s", run_id);
	DIR *dir = opendir("/proc");
	for (struct dirent *d; dir && (d = readdir(dir)); ) {
		char *end;
		long pid = strtol(d->d_name, &end, 10);
		if (*end == 0 && pid > 1 && pid != getpid() && process_marked(dirfd(dir), d->d_name, mark))
			kill((pid_t) pid, SIGKILL);
	}
	if (dir)
		closedir(dir);
}

void sweep_run(const char *run_id)
{
	struct err e;
	cgroup_sweep_run(run_id);
	sweep_processes(run_id);
	(void) temp_remove(run_id, &e);
}

static bool run_alive(const char *run_id, void *arg)
{
	(void) arg;
	return mark_held(run_id);
}

void sweep_dead(void)
{
	CLOSE_FD int base = -1;
	struct err e;
	cgroup_sweep(run_alive, NULL);
	if (temp_user_open(false, &base, &e) < 0)
		return;
	DIR *dir = fdopendir(base);
	if (!dir)
		return;
	base = -1;
	for (struct dirent *d; (d = readdir(dir)); )
		if (d->d_name[0] != '.' && !mark_held(d->d_name))
			sweep_run(d->d_name);
	closedir(dir);
}
