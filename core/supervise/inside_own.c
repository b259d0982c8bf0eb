/* SPDX-License-Identifier: MIT */
/*
 * What makes a copy of a saved machine one of its own, before anything runs in it: the clock, the random numbers, and the
 * files of this run. Whatever can be is opened when the machine is saved: where instructions are translated, a call that
 * no run before has made costs a copy up to a millisecond.
 */
#include "core/supervise/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CODE_AHEAD "/workspace/main.py" /* where an interpreter's program will most likely be */

static int clock_apply(const struct inside_go *go, struct err *e)
{
	const struct timespec now = { .tv_sec = (time_t) (go->realtime_ns / NS_PER_S),
				      .tv_nsec = (long) (go->realtime_ns % NS_PER_S) };
	return clock_settime(CLOCK_REALTIME, &now) < 0 ? err_set(e, errno, "set the clock") : 0;
}

/* All copies of a snapshot have the generator's state: without this they would draw the same numbers. */
static int seed_apply(const struct supervisor *v, const struct inside_go *go, struct err *e)
{
	FREE struct rand_pool_info *pool = xcalloc(1, sizeof(*pool) + INSIDE_SEED);
	pool->entropy_count = INSIDE_SEED * 8;
	pool->buf_size = INSIDE_SEED;
	memcpy(pool->buf, go->seed, INSIDE_SEED);
	const int fd = v->inside->random_fd;
	if (ioctl(fd, RNDADDENTROPY, pool) < 0 || ioctl(fd, RNDRESEEDCRNG) < 0)
		return err_set(e, errno, "renew the random number generator");
	return 0;
}

/* ---- files, which are made as the target: the file system behind its places knows no other id, root's neither ---- */

static void become_target(const struct supervisor *v)
{
	setfsgid(v->inst.target_gid);
	setfsuid(v->inst.target_uid);
}

static void become_root(void)
{
	setfsuid(0);
	setfsgid(0);
}

static int code_file(const struct supervisor *v, const char *path)
{
	become_target(v);
	int fd = openat(v->inst.root_dirfd, path + 1, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0644);
	int error = errno;
	become_root();
	errno = error;
	return fd;
}

/* An open file of its own code would be busy to a target that executes it, so none stays open. */
static int code_write(struct supervisor *v, const struct inside_go *go, struct err *e)
{
	struct inside *in = v->inside;
	CLOSE_FD int fd = take_fd(&in->code_fd);
	const bool ahead = fd >= 0;
	in->code_files = 0;
	if (ahead && (!go->code || strcmp(go->code_path, CODE_AHEAD) != 0)) {
		close_fd(&fd);
		(void) unlinkat(v->inst.root_dirfd, &CODE_AHEAD[1], 0);
	}
	if (!go->code)
		return 0;
	if (fd < 0) {
		if ((fd = code_file(v, go->code_path)) < 0)
			return err_set(e, errno, "make %s", go->code_path);
		in->code_files = 1;
	}
	in->code_path = go->code_path;
	int r = write_all(fd, go->code, go->code_len);
	return r < 0 ? err_set(e, -r, "write %s", go->code_path) : 0;
}

static int canaries_plant(struct supervisor *v, const struct inside_go *go, struct err *e)
{
	if (!go->canary)
		return 0;
	CLOSE_FD int home =
		openat(v->inst.root_dirfd, "home/user", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (home < 0)
		return err_set(e, errno, "open the target's home");
	canary_of(&v->inst.canary, go->canary);
	become_target(v);
	int r = canary_plant(&v->inst.canary, home, v->inst.target_uid, e);
	become_root();
	return r;
}

/* Only with --output is there a place for results: written elsewhere they would be lost without a word. */
static int output_open(const struct supervisor *v, bool open, struct err *e)
{
	return fchmod(v->inst.output_dirfd, open ? 0755 : 0555) < 0 ? err_set(e, errno, "open or close /out")
								    : 0;
}

/* ---- the door ---- */

int inside_own_begin(struct supervisor *v, struct err *e)
{
	struct inside *in = v->inside;
	if ((in->random_fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC)) < 0)
		return err_set(e, errno, "open /dev/urandom");
	if (in->python && (in->code_fd = code_file(v, CODE_AHEAD)) < 0)
		return err_set(e, errno, "make " CODE_AHEAD);
	return output_open(v, false, e);
}

int inside_own(struct supervisor *v, const struct inside_go *go, struct err *e)
{
	int r;
	if ((r = clock_apply(go, e)) < 0 || (r = seed_apply(v, go, e)) < 0 ||
	    (r = code_write(v, go, e)) < 0 || (r = canaries_plant(v, go, e)) < 0 ||
	    (go->output && (r = output_open(v, true, e)) < 0) || (r = inside_places(v, go, e)) < 0)
		return r;
	if (v->inst.tty_fd >= 0)
		typing_resize(v, go->rows ? go->rows : 24, go->columns ? go->columns : 80);
	return 0;
}

void inside_own_forget(struct supervisor *v)
{
	if (v->inside->code_path)
		(void) unlinkat(v->inst.root_dirfd, v->inside->code_path + 1, 0);
	v->inside->code_path = NULL;
}
