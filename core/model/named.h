/* SPDX-License-Identifier: MIT */
/*
 * INI files that are asked for by name: FOLDER/NAME.ini, in the user's own configuration first, then among
 * what the program ships. Private to core/model.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;

/* named_ok: lower-case letters, digits, '-', '_', '.', not '.' first: never a path. */
bool named_ok(const char *name);
/*
 * named_find: `kind` is the word for messages ("preset"). `not_this` (may be NULL) is a file to pass over:
 * one that takes another of its own name means the other one. Gives: *ret_path. -ENOENT with the nearest name
 * and all of them.
 */
int named_find(const char *folder, const char *kind, const char *name, const char *not_this, char **ret_path,
	       struct err *e);
/* named_list: all names to be found, sorted, without doubles. Gives: strv. */
char **named_list(const char *folder);
/* named_stem: "x" of "/a/b/x.ini". Gives. */
char *named_stem(const char *path);

#define EXTENDS_MAX 8 /* files in one chain of `extends` */

/* The files of one chain, so that a circle or an endless chain is refused. Zeroed is ready. */
struct chain {
	char *files[EXTENDS_MAX];
	size_t count;
};
/* chain_enter: one more file; -ELOOP when it is in the chain already, or the chain is too long. */
int chain_enter(struct chain *c, const char *file, struct err *e);
void chain_done(struct chain *c);

/* named_extends: what `extends` in [section] of a text says, and its line; NULL when nothing. Gives. */
char *named_extends(const char *text, size_t len, const char *section, unsigned *ret_line);
