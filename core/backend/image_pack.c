/* SPDX-License-Identifier: MIT */
/*
 * A tree becomes an image: mkfs.erofs(1), uncompressed, which a guest reads fastest.
 */
#include "core/backend/image.h"

#include "core/base/base.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EROFS_SUPER_OFFSET 1024
#define EROFS_MAGIC        0xe0f5e1e2u
#define LOOK_MS            100 /* between two looks at whether it is still wanted */
#define NO_EROFS           127 /* as a shell says it */
/* The same each time: it is told by what it was made from. */
#define IMAGE_UUID "6f1c4a52-9d0b-4a53-8d0e-b6c1be11a7a5"

/* In the child. It dies with us, or it would go on writing into a folder that the next one removes. */
static void become_mkfs(const char *image, const char *tree, int message_fd, pid_t parent)
{
	static const char *const places[] = { "/usr/bin/mkfs.erofs", "/usr/sbin/mkfs.erofs",
					      "/sbin/mkfs.erofs", "/usr/local/sbin/mkfs.erofs",
					      "/usr/local/bin/mkfs.erofs" };
	const char *argv[] = { "mkfs.erofs", "-x-1", "--all-root", "--preserve-mtime", "-U", IMAGE_UUID,
			       image,        tree,   NULL };
	const char *env[] = { "LC_ALL=C", "PATH=/usr/bin:/bin", NULL };
	sigset_t none;
	sigemptyset(&none);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || null < 0 || dup2(null, 0) < 0 ||
	    dup2(null, 1) < 0 || dup2(message_fd, 2) < 0)
		_exit(126);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (size_t k = 0; k < ARRAY_LEN(places); k++)
		execve(places[k], (char *const *) argv, (char *const *) env);
	_exit(NO_EROFS);
}

/* The last line that it wrote, which is the one that says why. */
static void last_line(int fd, char *to, size_t size)
{
	off_t end = lseek(fd, 0, SEEK_END), from = end > (off_t) size - 1 ? end - (off_t) size + 1 : 0;
	ssize_t n = pread(fd, to, size - 1, from);
	to[n > 0 ? n : 0] = 0;
	for (size_t len = strlen(to); len > 0 && to[len - 1] == '\n';)
		to[--len] = 0;
	char *line = strrchr(to, '\n');
	if (line)
		memmove(to, line + 1, strlen(line + 1) + 1);
}

/* 0: it ended, -ECANCELED: nobody wants it any more, and it is no more. */
static int mkfs_wait(pid_t pid, const struct progress *progress, int *ret_status, struct err *e)
{
	CLOSE_FD int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int r = 0;
	while (pidfd >= 0 && r >= 0 && poll(&p, 1, LOOK_MS) <= 0)
		r = progress_check(progress, e);
	if (r < 0)
		(void) kill(pid, SIGKILL);
	while (waitpid(pid, ret_status, 0) < 0)
		if (errno != EINTR)
			return err_set(e, errno, "wait for mkfs.erofs");
	return r;
}

static int mkfs_run(const char *image, const struct image_tree *t, struct err *e)
{
	const char *tree = t->path;
	char said[256];
	int status;
	CLOSE_FD int message = memfd_create("mkfs.erofs", MFD_CLOEXEC);
	if (message < 0)
		return err_set(e, errno, "keep what mkfs.erofs says");
	pid_t parent = getpid(), pid = fork();
	if (pid < 0)
		return err_set(e, errno, "start mkfs.erofs");
	if (pid == 0)
		become_mkfs(image, tree, message, parent);
	int r = mkfs_wait(pid, t->progress, &status, e);
	if (r < 0)
		return r;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_EROFS)
		return err_say(e, ENOENT,
			       "mkfs.erofs is not here, which packs a guest's files: install erofs-utils");
	last_line(message, said, sizeof(said));
	return err_say(e, EIO, "mkfs.erofs could not pack %s: %s", tree,
		       WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : said);
}

int image_pack(const struct image_tree *t, int dirfd, const char *name, uint64_t size, struct err *e)
{
	FREE char *folder = xstrndup(t->path, (size_t) (strrchr(t->path, '/') - t->path));
	FREE char *path = xprintf("%s/%s", folder, name);
	struct stat st;
	int r = mkfs_run(path, t, e);
	if (r < 0)
		return r;
	CLOSE_FD int fd = openat(dirfd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, errno, "open %s", path);
	if (size == 0)
		return 0;
	if ((uint64_t) st.st_size > size)
		return err_say(e, EFBIG, "%s is larger than an image may be", path);
	if (ftruncate(fd, (off_t) size) < 0)
		return err_set(
			e, errno,
			"make %s a sparse file of 1 TiB, of which it takes up what is in it; if the file "
			"system of XDG_CACHE_HOME cannot, set that to a folder on another",
			path);
	return 0;
}

bool image_is_erofs(size_t file, int fd)
{
	uint32_t magic;
	(void) file;
	return pread(fd, &magic, sizeof(magic), EROFS_SUPER_OFFSET) == (ssize_t) sizeof(magic) &&
	       le32toh(magic) == EROFS_MAGIC;
}
