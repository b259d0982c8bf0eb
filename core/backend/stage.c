/* SPDX-License-Identifier: MIT */
/*
 * Careful copying between host and sandbox. On the way in, the copy must be what was asked for or nothing:
 * any doubt is an error. On the way out, the folder was a hostile program's: what is plain data is taken,
 * what could make a later reader touch something else (links, devices, a second name of somebody's file) is
 * passed over and said.
 */
#include "core/backend/stage.h"

#include "core/backend/stage_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

#define SELF UINT32_MAX /* (uid_t) -1: nobody's number */

struct copy {
	const struct stage_want *want;
	bool out;  /* of a sandbox: pass over instead of failing */
	bool stop; /* a cap was met on the way out */
	uint64_t bytes_left;
	uint64_t taken; /* entries, where only some are */
	struct walk walk;
	struct stage_done *done;
};

void stage_clear(struct stage_done *d)
{
	size_t kept = d->skipped_count < STAGE_SKIPPED_MAX ? (size_t) d->skipped_count : STAGE_SKIPPED_MAX;

	for (size_t i = 0; i < kept; i++)
		free(d->skipped[i].path);
	free(d->skipped);
	free(d->cut);
	*d = (struct stage_done){ .bytes = 0 };
}

/* ---- what may not be copied ---- */

/* An entry that is no plain data: an error on the way in, passed over on the way out. `why` is a constant
 * string. */
static int refuse(struct copy *c, const char *name, int code, const char *why, struct err *e)
{
	struct stage_done *d = c->done;
	const char *path = walk_path(&c->walk, name);

	if (!c->out)
		return err_say(e, code, "%s is not copied: %s", path, why);
	if (d->skipped_count < STAGE_SKIPPED_MAX) {
		if (!d->skipped)
			d->skipped = xcalloc(STAGE_SKIPPED_MAX, sizeof *d->skipped);
		d->skipped[d->skipped_count] = (struct stage_skip){ .path = xstrdup(path), .why = why };
	}
	d->skipped_count++;
	return 0;
}

static int over_cap(struct copy *c, const char *name, uint64_t cap, const char *unit, struct err *e)
{
	const char *path = walk_path(&c->walk, name);
	FREE char *text = xprintf("%s: more than %llu %s, the cap for this copy",
				  path[0] ? path : "the folder", (unsigned long long) cap, unit);

	if (!c->out)
		return err_say(e, EFBIG, "%s", text);
	if (!c->done->cut)
		c->done->cut = take_ptr(&text);
	return 0;
}

/* ---- making, as the owner ---- */

/*
 * The destination may be the tmpfs of a user namespace in which our own id 0 does not exist: making a file
 * there as root is EOVERFLOW. So it is made with the file system ids of its owner, and read with our own. The
 * kernel takes the capabilities over files away with fsuid 0, and gives them back with it.
 */
static void become(uid_t uid, gid_t gid)
{
	if (gid != SELF)
		setfsgid(gid);
	if (uid != SELF)
		setfsuid(uid);
}

static bool as_owner(const struct copy *c)
{
	if (geteuid() != 0 || c->want->uid == SELF)
		return true;
	become(c->want->uid, c->want->gid);
	/* setfsuid(2) reports no failure; an invalid id changes nothing and tells the one in force. */
	return (uid_t) setfsuid(SELF) == c->want->uid;
}

static void as_self(const struct copy *c)
{
	int code = errno;

	if (geteuid() == 0 && c->want->uid != SELF)
		become(geteuid(), getegid());
	errno = code;
}

static int make_file(const struct copy *c, int dirfd, const char *name)
{
	int fd = -1;

	errno = EPERM;
	if (as_owner(c))
		fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	as_self(c);
	return fd;
}

static int make_folder(const struct copy *c, int dirfd, const char *name)
{
	int r = -1;

	errno = EPERM;
	if (as_owner(c))
		r = mkdirat(dirfd, name, 0700);
	as_self(c);
	return r < 0 ? -1 : openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int make_link(const struct copy *c, const char *target, int dirfd, const char *name)
{
	int r = -1;

	errno = EPERM;
	if (as_owner(c))
		r = symlinkat(target, dirfd, name);
	as_self(c);
	return r;
}

/* setuid, setgid and sticky never cross. What comes out is not writable by others, whatever its maker
 * wished. */
static mode_t mode_for(const struct copy *c, mode_t mode, mode_t owner_needs)
{
	mode = (mode & 0777) | owner_needs;
	if (c->out)
		mode &= 0755;
	return c->want->read_only ? mode & 0555 : mode;
}

/* ---- one entry ---- */

/* Never more than the cap, whatever the size was said to be: a file may grow while it is read. 1: it was
 * too much. */
static int pump(struct copy *c, int from_fd, int to_fd)
{
	char block[1 << 16];

	for (bool begins = true;; begins = false) {
		ssize_t n = read(from_fd, block, sizeof block);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		if ((uint64_t) n > c->bytes_left)
			return 1;
		if (c->want->copied)
			c->want->copied(c->want->copied_arg, begins, block, (size_t) n);
		int r = write_all(to_fd, block, (size_t) n);
		if (r < 0)
			return r;
		c->bytes_left -= (uint64_t) n;
		c->done->bytes += (uint64_t) n;
	}
}

static int fill(struct copy *c, int from_fd, const struct stat *st, const char *name, struct err *e)
{
	int to = c->walk.fd[WALK_BESIDE];
	CLOSE_FD int fd = make_file(c, to, name);
	if (fd < 0)
		return err_set(e, errno, "make file %s", walk_path(&c->walk, name));

	uint64_t before = c->done->bytes;
	int r = pump(c, from_fd, fd);
	if (r == 0) {
		const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, st->st_mtim };
		(void) futimens(fd, times);
		if (fchmod(fd, mode_for(c, st->st_mode, 0600)) < 0)
			return err_set(e, errno, "set the mode of %s", walk_path(&c->walk, name));
		c->done->files++;
		return 0;
	}
	/* Half a file would be taken for a whole one. */
	(void) unlinkat(to, name, 0);
	c->done->bytes = before;
	if (r < 0)
		return err_set(e, -r, "copy %s", walk_path(&c->walk, name));
	c->stop = true;
	return over_cap(c, name, c->want->max_bytes, "bytes", e);
}

static int copy_file(struct copy *c, int dirfd, const char *name, struct err *e)
{
	struct stat st;
	CLOSE_FD int fd = walk_open(dirfd, name, O_RDONLY, c->out);
	if (fd < 0 && c->out)
		return refuse(c, name, -fd, "it cannot be opened", e);
	if (fd < 0)
		return err_set(e, -fd, "open %s", walk_path(&c->walk, name));
	if (fstat(fd, &st) < 0)
		return err_set(e, errno, "look at %s", walk_path(&c->walk, name));
	if (!S_ISREG(st.st_mode))
		return refuse(c, name, EINVAL, "it was exchanged for something that is no plain file", e);
	if (c->out && st.st_nlink > 1)
		return refuse(c, name, EMLINK, "it has a second name elsewhere (a hard link)", e);
	if (st.st_size > 0 && (uint64_t) st.st_size > c->bytes_left) {
		c->stop = true;
		return over_cap(c, name, c->want->max_bytes, "bytes", e);
	}
	return fill(c, fd, &st, name, e);
}

static int copy_link(struct copy *c, int dirfd, const char *name, struct err *e)
{
	char target[PATH_MAX];

	if (c->out || !c->want->links)
		return refuse(c, name, ELOOP, "it is a symbolic link", e);
	ssize_t n = readlinkat(dirfd, name, target, sizeof target - 1);
	if (n < 0)
		return err_set(e, errno, "read link %s", walk_path(&c->walk, name));
	target[n] = '\0';
	if (make_link(c, target, c->walk.fd[WALK_BESIDE], name) < 0)
		return err_set(e, errno, "make link %s", walk_path(&c->walk, name));
	c->done->files++;
	return 0;
}

static int enter(struct copy *c, const char *name, int from_fd, int to_fd, struct err *e)
{
	int r = walk_enter(&c->walk, name, from_fd, to_fd, e);

	if (r == 1)
		return over_cap(c, "", c->walk.max, "files and folders", e);
	return r;
}

static int copy_folder(struct copy *c, int dirfd, const char *name, struct err *e)
{
	CLOSE_FD int from_fd = walk_open(dirfd, name, O_RDONLY | O_DIRECTORY, c->out);
	if (from_fd == -EXDEV)
		return refuse(c, name, EXDEV, "another file system is mounted there", e);
	if (from_fd < 0 && c->out)
		return refuse(c, name, -from_fd, "it cannot be opened", e);
	if (from_fd < 0)
		return err_set(e, -from_fd, "open folder %s", walk_path(&c->walk, name));
	int to_fd = make_folder(c, c->walk.fd[WALK_BESIDE], name);
	if (to_fd < 0)
		return err_set(e, errno, "make folder %s", walk_path(&c->walk, name));
	return enter(c, name, take_fd(&from_fd), to_fd, e);
}

static bool is_wanted(const struct copy *c, const struct stat *st)
{
	return !c->want->only || stage_set_has(c->want->only, st->st_dev, st->st_ino);
}

static int copy_entry(struct copy *c, int dirfd, const char *name, struct err *e)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(e, errno, "look at %s", walk_path(&c->walk, name));
	if (!is_wanted(c, &st))
		return 0;
	/* The walk's own cap counts every name; here most of them may be passed by. */
	if (c->want->only && ++c->taken > c->want->max_files) {
		c->stop = true;
		return over_cap(c, "", c->want->max_files, "files and folders", e);
	}
	if (S_ISDIR(st.st_mode))
		return copy_folder(c, dirfd, name, e);
	if (S_ISREG(st.st_mode))
		return copy_file(c, dirfd, name, e);
	if (S_ISLNK(st.st_mode))
		return copy_link(c, dirfd, name, e);
	if (S_ISFIFO(st.st_mode))
		return refuse(c, name, EINVAL, "it is a named pipe", e);
	return refuse(c, name, EINVAL, S_ISSOCK(st.st_mode) ? "it is a socket" : "it is a device", e);
}

/* A folder gets its own mode once nothing more is to be made in it. */
static int leave(struct copy *c, struct err *e)
{
	struct stat st;

	if (c->walk.depth > 1 &&
	    (fstat(c->walk.fd[WALK_FROM], &st) < 0 ||
	     fchmodat(c->walk.fd[WALK_BESIDE], ".", mode_for(c, st.st_mode, 0700), 0) < 0))
		return err_set(e, errno, "set the mode of %s", walk_path(&c->walk, ""));
	return walk_leave(&c->walk, e);
}

static int copy_tree(struct copy *c, struct err *e)
{
	int r = 0;

	while (r >= 0 && !c->stop && c->walk.depth > 0) {
		const char *name = walk_next(&c->walk);
		r = name ? copy_entry(c, c->walk.fd[WALK_FROM], name, e) : leave(c, e);
	}
	return r;
}

static void copy_init(struct copy *c, const struct stage_want *want, bool out, struct stage_done *done)
{
	*c = (struct copy){ .want = want, .out = out, .bytes_left = want->max_bytes, .done = done };
	walk_init(&c->walk,
		  !want->only && want->max_files < STAGE_FILES_MAX ? want->max_files : STAGE_FILES_MAX);
}

/* ---- the way in ---- */

static int copy_in_folder(struct copy *c, const char *source, int dest_dirfd, const char *name, struct err *e)
{
	CLOSE_FD int from_fd = open(source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (from_fd < 0)
		return err_set(e, errno, "open folder %s", source);
	CLOSE_FD int to_fd = name ? make_folder(c, dest_dirfd, name)
				  : openat(dest_dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to_fd < 0)
		return err_set(e, errno, "make folder %s", name ? name : ".");
	CLOSE_FD int top_fd = fcntl(to_fd, F_DUPFD_CLOEXEC, 0);
	int r = enter(c, "", take_fd(&from_fd), take_fd(&to_fd), e);
	if (r < 0 || (r = copy_tree(c, e)) < 0)
		return r;
	struct stat st;
	if (name && (stat(source, &st) < 0 || fchmod(top_fd, mode_for(c, st.st_mode, 0700)) < 0))
		return err_set(e, errno, "set the mode of %s", name);
	return 0;
}

static int copy_in_file(struct copy *c, const char *source, int dest_dirfd, const char *name, struct err *e)
{
	struct stat st;
	CLOSE_FD int fd = open(source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, errno, "open %s", source);
	if (!S_ISREG(st.st_mode) || !name)
		return err_say(e, EINVAL, "%s is not copied: it is no plain file", source);
	if (st.st_size > 0 && (uint64_t) st.st_size > c->bytes_left)
		return over_cap(c, name, c->want->max_bytes, "bytes", e);
	c->walk.fd[WALK_BESIDE] = fcntl(dest_dirfd, F_DUPFD_CLOEXEC, 0);
	return fill(c, fd, &st, name, e);
}

int stage_copy_in(const char *source, int dest_dirfd, const char *name, const struct stage_want *want,
		  struct stage_done *ret, struct err *e)
{
	struct stage_done done = { .bytes = 0 };
	struct copy c;
	struct stat st;
	int r;

	copy_init(&c, want, false, &done);
	if (lstat(source, &st) < 0)
		r = err_set(e, errno, "look at %s", source);
	else if (S_ISDIR(st.st_mode))
		r = copy_in_folder(&c, source, dest_dirfd, name, e);
	else if (S_ISREG(st.st_mode))
		r = copy_in_file(&c, source, dest_dirfd, name, e);
	else if (S_ISLNK(st.st_mode))
		r = err_say(e, ELOOP, "%s is a symbolic link: name what it leads to", source);
	else
		r = err_say(e, EINVAL, "%s is neither a file nor a folder", source);
	walk_done(&c.walk);
	if (ret && r >= 0)
		*ret = done;
	return r < 0 ? r : 0;
}

/* ---- the way out ---- */

/* Nothing is ever overwritten. Only the top can clash: every folder below is one that the copy makes
 * itself. */
static int check_clashes(const struct copy *c, int dest_fd, const char *dest, struct err *e)
{
	const struct walk_level *top = &c->walk.level[0];
	struct stat st;

	for (size_t i = 0; i < top->count; i++) {
		if (fstatat(dest_fd, top->names[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (fstatat(c->walk.fd[WALK_FROM], top->names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    is_wanted(c, &st))
			return err_say(e, EEXIST, "%s/%s is there already: nothing was copied", dest,
				       top->names[i]);
	}
	return 0;
}

int stage_copy_out(int src_dirfd, const char *dest, const struct stage_want *caps, struct stage_done *ret,
		   struct err *e)
{
	struct copy c;

	*ret = (struct stage_done){ .bytes = 0 };
	int r = dir_make_all(dest, 0700, e);
	if (r < 0)
		return r;
	CLOSE_FD int dest_fd = open(dest, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dest_fd < 0)
		return err_set(e, errno, "open folder %s", dest);
	CLOSE_FD int from_fd = openat(src_dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (from_fd < 0)
		return err_set(e, errno, "open the run's output folder");

	copy_init(&c, caps, true, ret);
	r = enter(&c, "", take_fd(&from_fd), fcntl(dest_fd, F_DUPFD_CLOEXEC, 0), e);
	if (r >= 0 && (r = check_clashes(&c, dest_fd, dest, e)) == 0)
		r = copy_tree(&c, e);
	walk_done(&c.walk);
	return r < 0 ? r : 0;
}
