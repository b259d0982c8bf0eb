/* SPDX-License-Identifier: MIT */
/*
 * Private to core/supervise: traces of limits that leave no counter.
 */
#pragma once

#include "core/backend/backend.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* evidence_file_at_limit: whether a file of exactly that size, with blocks behind all of it, written to since the run
 * began, stands in the writable places: by looking at them, not by a counter. */
bool evidence_file_at_limit(const struct instance *i, uint64_t size, const struct timespec *began);
