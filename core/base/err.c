/* SPDX-License-Identifier: MIT */
/*
 * Error values: see err.h for who fills them and when. Nothing here allocates or takes a lock, because a
 * child calls it between clone and exec.
 */
#include "core/base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void append(char *text, size_t size, const char *more)
{
	size_t len = strlen(text);
	(void) snprintf(text + len, size - len, "%s", more);
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
	assert(code > 0);
	if (!e)
		return -code;
	va_list ap;
	va_start(ap, fmt);
	(void) vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	e->code = code;
	/* Not strerror(): that one translates, for which it opens files and takes locks. */
	const char *why = strerrordesc_np(code);
	append(e->text, sizeof(e->text), ": ");
	append(e->text, sizeof(e->text), why ? why : "unknown error");
	return -code;
}

int err_say(struct err *e, int code, const char *fmt, ...)
{
	assert(code > 0);
	if (!e)
		return -code;
	va_list ap;
	va_start(ap, fmt);
	(void) vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	e->code = code;
	return -code;
}

int err_in(struct err *e, const char *fmt, ...)
{
	assert(e && e->code > 0);
	struct err inner = *e;
	va_list ap;
	va_start(ap, fmt);
	(void) vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	append(e->text, sizeof(e->text), ": ");
	append(e->text, sizeof(e->text), inner.text);
	return -e->code;
}
