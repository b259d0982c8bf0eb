/* SPDX-License-Identifier: MIT */
/* A sum by OpenMP's own pool. */
#include <omp.h>
#include <stdio.h>

int main(void)
{
	double sum = 0;
	int threads = 0;
#pragma omp parallel num_threads(8) reduction(+ : sum)
	{
#pragma omp single
		threads = omp_get_num_threads();
#pragma omp for
		for (int i = 1; i <= 1000; i++)
			sum += i;
	}
	printf("threads %d sum %.0f\n", threads, sum);
	return 0;
}
