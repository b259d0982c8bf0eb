/* SPDX-License-Identifier: MIT */
/*
 * What is told as something goes on that takes longer than a second.
 */
#pragma once

#include <stdbool.h>

struct progress {
	/* step: "packing the root image", in words for a person; NULL: nobody listens. */
	void (*step)(void *arg, const char *what);
	/* stopped: whether nobody wants it any more; NULL: somebody does. */
	bool (*stopped)(void *arg);
	void *arg;
};
