/* SPDX-License-Identifier: MIT */
/*
 * Private to core/supervise: what will become of a call that is let through to the kernel. After CONTINUE nobody sees
 * its result; the view, the modes and the namespaces say what it has to be, and that basis is told with it.
 */
#pragma once

#include "core/backend/backend.h"
#include "core/supervise/decode.h"

struct prediction {
	enum outcome outcome;
	enum layer layer;
	enum basis basis;
};
void predict_network(const struct network_view *view, const struct decode_addr *a, const char *op,
		     struct prediction *ret);
void predict_file(const struct instance *i, const struct decoded *call, struct prediction *ret);
