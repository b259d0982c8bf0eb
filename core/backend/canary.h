/* SPDX-License-Identifier: MIT */
/*
 * Canaries: credentials of the usual kinds that open nothing, planted where the target's HOME is. Each holds a word made
 * for this run, so that whatever brings it out, output or the arguments of a call, is known to have read them.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct err;

#define CANARY_NONCE 24 /* letters and digits, behind one more that says which file */

#define CANARY_FILES 11

struct canary {
	char nonce[CANARY_NONCE + 1]; /* "": none planted */
	char *text[CANARY_FILES];
};

void canary_make(struct canary *c);
void canary_of(struct canary *c, const char *nonce); /* one that was made elsewhere */
void canary_done(struct canary *c);
/* canary_file: the k-th one: its path below HOME and its text. NULL after the last, and where none are planted. */
const char *canary_file(const struct canary *c, size_t k, const char **ret_text);
/* canary_plant: all of them below a folder of the target's. 0 or -errno. */
int canary_plant(const struct canary *c, int home_dirfd, uid_t owner, struct err *e);
/* canary_find: the path of the next planted file whose word stands in these bytes, which are moved behind it; NULL: none. */
const char *canary_find(const struct canary *c, const char **bytes, size_t *len);
