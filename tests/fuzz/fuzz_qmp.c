/* SPDX-License-Identifier: MIT */
/*
 * What a QEMU may answer on its monitor: saving comes to an end whatever it says, and says well only where each step was
 * answered well.
 */
#include "check.h"

#include "core/backend/vm.h"

#include "core/base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define INPUT_MAX 8192 /* each answer that the save goes on costs a millisecond */

static size_t count(const uint8_t *data, size_t size, const char *word)
{
	size_t n = 0, len = strlen(word);
	for (const uint8_t *at = data; (at = memmem(at, size - (size_t) (at - data), word, len)); at += len)
		n++;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = { 0 };
	int p[2];
	if (size > INPUT_MAX || count(data, size, "{\"return\":") > 32 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p) < 0)
		return 0;
	if (write(p[1], data, size) != (ssize_t) size || shutdown(p[1], SHUT_WR) < 0)
		abort();
	int r = qmp_save(p[0], 0, &e);
	close(p[0]);
	close(p[1]);
	if (r > 0 || (r < 0 && (e.code != -r || !e.text[0])))
		abort();
	/* four steps, and one that says that it is done */
	if (r == 0 && (count(data, size, "{\"return\":") < 5 || count(data, size, "\"completed\"") < 1))
		abort();
	return 0;
}
