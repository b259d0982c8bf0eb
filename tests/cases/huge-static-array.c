/* case: an image that does not fit is told as memory, whichever way the limit strikes
 * options: --memory 256M
 * needs: cc
 * want-verdict: memory
 * never: sum
 */
#include <stdio.h>
static unsigned char table[768u << 20];
int main(void)
{
	unsigned long sum = 0;
	for (unsigned long i = 0; i < sizeof(table); i += 4096)
		table[i] = 1;
	for (unsigned long i = 0; i < sizeof(table); i += 4096)
		sum += table[i];
	printf("sum %lu\n", sum);
	return 0;
}
