/* case: clone3 is answered so that the C library falls back, and a thread starts
 * needs: cc
 * want-verdict: ok
 * want-stdout: ^clone3 (ENOSYS|EINVAL|EFAULT)$
 * want-stdout: ^thread ran$
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *body(void *p)
{
	*(int *) p = 1;
	return NULL;
}

int main(void)
{
	/* A size of 0 is invalid: a kernel without a filter says EINVAL and starts nothing. */
	long r = syscall(435, NULL, (size_t) 0);
	printf("clone3 %s\n", r >= 0 ? "works" : strerrorname_np(errno));
	pthread_t thread;
	int done = 0;
	if (pthread_create(&thread, NULL, body, &done) == 0)
		pthread_join(thread, NULL);
	puts(done ? "thread ran" : "no thread");
	return !done;
}
