/* SPDX-License-Identifier: MIT */
/*
 * What a preset enforces, in words, for a pane beside the code.
 */
#pragma once

#include <stdbool.h>

struct pane;
struct policy;

void draw_policy(const struct policy *p, const struct pane *pane, bool ascii);
