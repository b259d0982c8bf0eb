/* SPDX-License-Identifier: MIT */
/*
 * INI files, read strictly: whatever a person wrote is either handed to the caller or is a fault with file
 * and line. Private to core/model. Nothing here knows a section or a key by name.
 */
#pragma once

#include "core/base/util.h"

#include <stddef.h>

struct err;

#define INI_FILE_MAX  (256u << 10) /* bytes; a larger file is no preset */
#define INI_LINE_MAX  1000         /* bytes; longer lines are refused, never cut */
#define INI_NAME_MAX  40           /* bytes of a section or a key: the library cuts at 49 without a word */
#define INI_ENTRY_MAX 2000         /* keys of one file */
#define INI_FAULT_MAX 100          /* faults told; more are counted only */

/* One "key = value", or the begin of a section (key and value NULL). Borrowed, for the call. */
struct ini_entry {
	const char *file;
	unsigned line;
	const char *section, *key, *value;
};

/* ini_fn: 0, or -errno with the fault in `e`, without file and line; reading goes on, to find the others. */
typedef int (*ini_fn)(void *arg, const struct ini_entry *entry, struct err *e);

/* Everything that was wrong, a line each: "FILE:LINE: what". Zeroed is ready; released by ini_faults_done. */
struct ini_faults {
	struct buf lines;
	size_t count;
};
/* ini_fault: adds one; line 0 is the file as a whole. */
void ini_fault(struct ini_faults *f, const char *file, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void ini_faults_done(struct ini_faults *f);

/*
 * ini_read_text: `file` is what faults call the text. Refused, by line: lines over INI_LINE_MAX, NUL and
 * other control characters, text that is not UTF-8, continuation lines, a key outside any section, a key
 * twice in a section, and whatever has no form of its own. A byte-order mark is passed over. Lines come to
 * `fn` in their order.
 */
void ini_read_text(const char *file, const char *text, size_t len, ini_fn fn, void *arg,
		   struct ini_faults *faults);

/* ini_nearest: appends "; did you mean 'memory'?" where a name of the NULL-terminated list is near enough.
 * Returns buf. */
const char *ini_nearest(const char *word, const char *const *names, char *buf, size_t size);
