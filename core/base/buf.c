/* SPDX-License-Identifier: MIT */
/*
 * Growing things: lists of strings that own them (struct-less, as execve wants them) and byte buffers.
 */
#include "core/base/util.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t strv_len(char *const *v)
{
	size_t n = 0;
	while (v && v[n])
		n++;
	return n;
}

/* Puts `s` behind the `n` strings of v. */
static char **strv_take(char **v, size_t n, char *s)
{
	/* Room doubles at powers of two, so that no capacity needs to be kept beside the list. */
	if ((n & (n - 1)) == 0)
		v = xrealloc(v, (n ? 2 * n : 1) * sizeof(*v) + sizeof(*v));
	v[n] = s;
	v[n + 1] = NULL;
	return v;
}

char **strv_add(char **v, const char *s)
{
	return strv_take(v, strv_len(v), xstrdup(s));
}

char **strv_dup(char *const *v)
{
	char **copy = NULL;
	for (size_t n = 0; v && v[n]; n++)
		copy = strv_take(copy, n, xstrdup(v[n]));
	return copy;
}

char **strv_split(const char *s)
{
	static const char separators[] = " \t\r\n\v\f,";
	char **v = NULL;

	for (size_t n = 0; *(s += strspn(s, separators)); n++) {
		size_t len = strcspn(s, separators);
		v = strv_take(v, n, xstrndup(s, len));
		s += len;
	}
	return v;
}

bool strv_has(char *const *v, const char *s)
{
	for (; v && *v; v++)
		if (strcmp(*v, s) == 0)
			return true;
	return false;
}

char **strv_free(char **v)
{
	for (char **p = v; p && *p; p++)
		free(*p);
	free(v);
	return NULL;
}

/* Room for `more` bytes and the NUL. */
static void buf_reserve(struct buf *b, size_t more)
{
	size_t need, cap;
	if (__builtin_add_overflow(b->len, more, &need) || need >= SIZE_MAX / 2)
		abort();
	if (need < b->cap)
		return;
	for (cap = b->cap ? b->cap : 64; cap <= need; cap *= 2)
		;
	b->data = xrealloc(b->data, cap);
	b->cap = cap;
}

void buf_add(struct buf *b, const void *data, size_t len)
{
	buf_reserve(b, len);
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	buf_reserve(b, 0);
	int len = vsnprintf(b->data + b->len, b->cap - b->len, fmt, ap);
	if (len < 0)
		abort();
	if ((size_t) len >= b->cap - b->len) {
		buf_reserve(b, (size_t) len);
		(void) vsnprintf(b->data + b->len, b->cap - b->len, fmt, again);
	}
	b->len += (size_t) len;
	va_end(again);
	va_end(ap);
}

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

char *buf_steal(struct buf *b)
{
	buf_add(b, NULL, 0); /* an empty one is "", not NULL */
	char *data = b->data;
	*b = (struct buf){ 0 };
	return data;
}
