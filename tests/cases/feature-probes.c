/* case: libraries that try new calls at their start get an errno and live
 * needs: cc
 * want-verdict: ok
 * want-stdout: ^io_uring no$
 * want-stdout: ^fell back to poll$
 * never: Bad system call
 * want-denied: io_uring_setup
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void try(const char *name, long fd)
{
	printf("%s %s\n", name, fd >= 0 ? "yes" : "no");
	if (fd >= 0)
		close((int) fd);
}

int main(void)
{
	char params[256] = { 0 };
	try("io_uring", syscall(425, 2, params));
	try("userfaultfd", syscall(SYS_userfaultfd, 1));
	try("pidfd", syscall(434, getpid(), 0));
	int fds[2];
	if (pipe(fds) < 0 || write(fds[1], "x", 1) != 1)
		return 1;
	struct pollfd p = { .fd = fds[0], .events = POLLIN };
	puts(poll(&p, 1, 1000) == 1 ? "fell back to poll" : "no fallback");
	return 0;
}
