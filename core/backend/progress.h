/* SPDX-License-Identifier: MIT */
/*
 * What is told as something goes on that takes longer than a second.
 */
#pragma once

#include <stdbool.h>

struct progress {
	void (*step)(void *arg, const char *what); /* "packing the root image", in words for a person; NULL: nobody listens */
	bool (*stopped)(void *arg); /* whether nobody wants it any more; NULL: somebody does */
	void *arg;
};
