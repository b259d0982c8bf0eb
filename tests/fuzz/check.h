/* SPDX-License-Identifier: MIT */
/*
 * What each fuzz target is, and how it says that something is wrong.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(what)                                                                       \
	do {                                                                              \
		if (!(what)) {                                                            \
			(void) fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			abort();                                                          \
		}                                                                         \
	} while (0)
