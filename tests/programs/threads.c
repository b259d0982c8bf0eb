/* SPDX-License-Identifier: MIT */
/* A pool of many threads with stacks of 8 MB, as numerical libraries start it: all there at once, then all add. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t all_here;
static atomic_long sum;

static void *work(void *arg)
{
	char page[4096];
	page[0] = 1;
	pthread_barrier_wait(&all_here);
	for (long i = 0; i < 1000; i++)
		atomic_fetch_add(&sum, (long) arg + page[0]);
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 4;
	pthread_t *threads = calloc(count, sizeof(*threads));
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 8 << 20);
	pthread_barrier_init(&all_here, NULL, count);
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], &attr, work, (void *) i) != 0)
			return printf("thread %ld was refused\n", i), 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("threads %d sum %ld\n", count, (long) sum);
	return 0;
}
