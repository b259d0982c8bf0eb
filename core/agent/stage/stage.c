/* SPDX-License-Identifier: MIT */
/*
 * What stands in the target's place until it is known what the target is to be. It is confined already, says on its
 * standard output that it waits, reads from its standard input what to execute, and becomes that. It has no library of
 * ours: whatever it can do, the program after it can do as well.
 *
 * The request: a u32 of how many bytes follow; u32 each: how many words of argv, of the environment, bytes of code; then
 * the folder, the words of argv and those of the environment, each ended by a NUL; then that code, where it is an
 * interpreter's that waits and short. What comes behind all that is the program's own input.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define REQUEST_MAX (16u << 20)

static int read_all(void *to, size_t len)
{
	for (char *at = to; len;) {
		ssize_t n = read(0, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += n;
		len -= (size_t) n;
	}
	return 0;
}

/* The next `count` of the words at *at, as a list. NULL: they are not all there. */
static char **words(char **at, const char *end, uint32_t count)
{
	char **list = calloc((size_t) count + 1, sizeof(*list));
	for (uint32_t k = 0; list && k < count; k++) {
		char *nul = memchr(*at, 0, (size_t) (end - *at));
		if (!nul)
			return NULL;
		list[k] = *at;
		*at = nul + 1;
	}
	return list;
}

/* Without a folder: one of belljar's own, in a child. Whatever it takes to run something has been done once then. */
static void first_run(char **argv, char **env)
{
	pid_t pid = fork();
	if (pid == 0) {
		execve(argv[0], argv, env);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int wait_and_become(void)
{
	uint32_t len, counts[3];
	struct termios modes, raw;
	bool terminal = tcgetattr(0, &modes) == 0;
	if (terminal) { /* the request is no text: as it comes, without an echo */
		raw = modes;
		cfmakeraw(&raw);
		(void) tcsetattr(0, TCSANOW, &raw);
	}
	if (write(1, "waiting\n", 8) != 8 || read_all(&len, sizeof(len)) < 0 || len < sizeof(counts) ||
	    len > REQUEST_MAX)
		return 125;
	char *request = malloc(len);
	if (!request || read_all(request, len) < 0)
		return 125;
	if (terminal)
		(void) tcsetattr(0, TCSANOW, &modes);
	memcpy(counts, request, sizeof(counts));
	char *at = request + sizeof(counts);
	const char *end = request + len;
	char **cwd = words(&at, end, 1), **argv = words(&at, end, counts[0]),
	     **env = words(&at, end, counts[1]);
	if (!cwd || !argv || !env || !argv[0])
		return 125;
	if (!cwd[0][0]) {
		first_run(argv, env);
		free(request);
		return -1;
	}
	if (chdir(cwd[0]) < 0)
		return 125;
	execve(argv[0], argv, env);
	return errno == ENOENT ? 127 : 126;
}

int main(void)
{
	int status;
	while ((status = wait_and_become()) < 0)
		;
	return status;
}
