/* SPDX-License-Identifier: MIT */
/*
 * What a run leaves on the host while it lives, and how it is found again when its supervisor died: a folder named by
 * the run's id below one folder of this user. While the run lives its supervisor holds a lock on the folder, which goes
 * with its holder and is seen from every namespace (flock(2)). Control groups are kept the same way (cgroup.c).
 */
#include "core/backend/temp.h"

#include "core/backend/backend.h"
#include "core/base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEMP_NAMES     8
#define QUIET_LIMIT_NS (20 * NS_PER_S)

static const char *temp_base(void)
{
	const char *dir = getenv("TMPDIR");
	return dir && dir[0] == '/' ? dir : "/tmp";
}

/*
 * This user's folder below the common one, where anyone may have made it first to keep us out: the first name that is
 * ours, or free, is taken. `index` counts the names tried and says which one it was.
 */
static char *temp_user_path(unsigned index)
{
	return index == 0 ? xprintf("%s/belljar-%u", temp_base(), geteuid())
			  : xprintf("%s/belljar-%u.%u", temp_base(), geteuid(), index);
}

static int temp_user_open(unsigned index, bool make, int *ret_fd, struct err *e)
{
	FREE char *path = temp_user_path(index);
	struct stat st;
	if (make && mkdir(path, 0711) < 0 && errno != EEXIST)
		return need_set(e, NEED_TEMP, errno, "make %s", path);
	CLOSE_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, errno, "open %s", path);
	if (st.st_uid != geteuid() || (st.st_mode & 0022))
		return err_say(
			e, EPERM,
			"%s belongs to uid %u with mode %04o, and so do the others of that name: set TMPDIR "
			"to a folder of your own",
			path, st.st_uid, st.st_mode & 07777);
	*ret_fd = take_fd(&fd);
	return 0;
}

static int temp_run_make(const char *run_id, unsigned *ret_index, int *ret_base, struct err *e)
{
	int r = -EPERM;
	for (unsigned index = 0; index < TEMP_NAMES; index++) {
		CLOSE_FD int base = -1;
		/* Another run that ends takes the empty folder away between two steps: made again, a few times. */
		for (int tries = 0; tries < 8; tries++) {
			close_fd(&base);
			if ((r = temp_user_open(index, true, &base, e)) < 0)
				break;
			if ((r = mkdirat(base, run_id, 0700) < 0 ? -errno : 0) != -ENOENT)
				break;
		}
		if (r == 0) {
			*ret_index = index;
			*ret_base = take_fd(&base);
			return 0;
		}
		if (base >= 0)
			return err_set(e, -r, "make a folder for the run below %s", temp_base());
	}
	return r;
}

int temp_create(const char *run_id, uid_t owner, char **ret_path, int *ret_fd, struct err *e)
{
	static const char *const folders[] = { "work", "home", "tmp" };
	CLOSE_FD int base = -1;
	unsigned index;
	bool give = owner != geteuid();
	int r = temp_run_make(run_id, &index, &base, e);
	if (r < 0)
		return r;
	CLOSE_FD int fd = openat(base, run_id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(e, errno, "open and lock the run's folder");
	for (size_t k = 0; k < ARRAY_LEN(folders); k++)
		if (mkdirat(fd, folders[k], 0700) < 0 ||
		    (give && fchownat(fd, folders[k], owner, owner, AT_SYMLINK_NOFOLLOW) < 0))
			return err_set(e, errno, "make %s in the run's folder", folders[k]);
	if (give && fchown(fd, owner, owner) < 0)
		return err_set(e, errno, "give the run its folder");
	FREE char *user = temp_user_path(index);
	*ret_path = xprintf("%s/%s", user, run_id);
	*ret_fd = take_fd(&fd);
	return 0;
}

int temp_remove(const char *run_id, struct err *e)
{
	int result = 0;
	for (unsigned index = 0; index < TEMP_NAMES; index++) {
		CLOSE_FD int base = -1;
		int r = temp_user_open(index, false, &base, e);
		if (r < 0) {
			if (r == -ENOENT)
				break;
			continue;
		}
		if ((r = dir_remove_tree(base, run_id, e)) < 0)
			result = r;
		FREE char *path = temp_user_path(index);
		(void) rmdir(path); /* the last one out; not empty while others run */
	}
	return result;
}

/* ---- ending and sweeping ---- */

int descendants_end(void)
{
	uint64_t deadline = now_ns() + QUIET_LIMIT_NS;
	long wait_ns = 100000;
	size_t count;
	while ((count = family_kill(getpid(), NULL, 0)) > 0 && now_ns() < deadline) {
		nanosleep(&(struct timespec){ .tv_nsec = wait_ns }, NULL);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		wait_ns = wait_ns < 50000000 ? wait_ns * 2 : wait_ns;
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return (int) count;
}

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
	for (struct dirent *d; dir && (d = readdir(dir));) {
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

static bool run_dead(int base, const char *run_id)
{
	CLOSE_FD int fd = openat(base, run_id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static bool sweep_folder(unsigned index)
{
	struct err e;
	int base = -1, r = temp_user_open(index, false, &base, &e);
	if (r < 0)
		return r != -ENOENT; /* somebody else's: there may be a next one */
	DIR *dir = fdopendir(base);
	if (!dir) {
		close_fd(&base);
		return true;
	}
	for (struct dirent *d; (d = readdir(dir));)
		if (run_id_settled(d->d_name) && run_dead(dirfd(dir), d->d_name))
			sweep_run(d->d_name);
	closedir(dir);
	return true;
}

void sweep_dead(void)
{
	cgroup_sweep();
	for (unsigned index = 0; index < TEMP_NAMES && sweep_folder(index); index++)
		;
}
