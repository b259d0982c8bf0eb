/* SPDX-License-Identifier: MIT */
/*
 * The error value. It needs no allocation, cannot leak, and crosses a socket in one write: a child that fails between
 * clone and exec sends its own and the parent reads it like a local one.
 *
 * Functions that can fail return 0 or a positive value when all went well, a negative errno when not, and have then
 * filled `e` exactly once: the deepest function that knows the object does it, callers pass the number on.
 */
#pragma once

struct err {
	int code; /* an errno, never 0 once set */
	char text
		[508]; /* one sentence for a person: what was tried on which object, why it failed, what would be right */
};

/* err_set: "what you say: Permission denied". The errno's text is added. Returns -code. `e` may be NULL. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* err_say: the sentence as it stands, for faults that are not the kernel's (input, presets). Returns -code. */
int err_say(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* err_in: puts context before the text, "context: text"; for a room's door only. Returns -e->code; `e` is set. */
int err_in(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
