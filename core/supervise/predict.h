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

/* Folders on read-only mounts that the target was found to reach a moment ago. Zero: none yet. */
#define SIGHT_FOLDERS 8
struct sight {
	struct sight_folder {
		char *path; /* as the target names it, with its last slash; NULL: none */
		size_t len;
		int fd; /* -1: one file was opened in it, and it is not worth a look yet */
		uint64_t dev, until_ns;
	} folder[SIGHT_FOLDERS];
	unsigned next; /* to be forgotten */
};
void predict_file(struct sight *s, const struct instance *i, const struct decoded *call,
		  struct prediction *ret);
void sight_start(struct sight *s); /* for a supervisor: gives up the groups of root for good */
void sight_done(struct sight *s);
