/* SPDX-License-Identifier: MIT */
/*
 * Small helpers: cleanup attributes, allocation that aborts, the clock, words and numbers, sizes and times
 * for people. Lists and buffers are in buf.c, files and folders in files.c.
 */
#include "core/base/util.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void util_cleanup_fd(int *fd)
{
	close_fd(fd);
}

void util_cleanup_free(void *ptr_to_ptr)
{
	free(*(void **) ptr_to_ptr);
}

int take_fd(int *fd)
{
	int taken = *fd;
	*fd = -1;
	return taken;
}

void *take_ptr(void *ptr_to_ptr)
{
	void **p = ptr_to_ptr;
	void *taken = *p;
	*p = NULL;
	return taken;
}

void close_fd(int *fd)
{
	if (*fd < 0)
		return;
	int saved = errno;
	(void) close(take_fd(fd));
	errno = saved;
}

void *xmalloc(size_t size)
{
	void *p = malloc(size ? size : 1);
	if (!p)
		abort();
	return p;
}

void *xcalloc(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size ? size : 1);
	if (!p)
		abort();
	return p;
}

void *xrealloc(void *p, size_t size)
{
	void *moved = realloc(p, size ? size : 1);
	if (!moved)
		abort();
	return moved;
}

char *xstrdup(const char *s)
{
	char *copy = strdup(s);
	if (!copy)
		abort();
	return copy;
}

char *xstrndup(const char *s, size_t len)
{
	char *copy = strndup(s, len);
	if (!copy)
		abort();
	return copy;
}

char *xprintf(const char *fmt, ...)
{
	char *s;
	va_list ap;
	va_start(ap, fmt);
	int len = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (len < 0)
		abort();
	return s;
}

uint64_t now_ns(void)
{
	struct timespec ts;
	(void) clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t) ts.tv_sec * NS_PER_S + (uint64_t) ts.tv_nsec;
}

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
	size_t len = strlen(s), end = strlen(suffix);
	return len >= end && memcmp(s + len - end, suffix, end) == 0;
}

int str_to_u64(const char *s, uint64_t *ret)
{
	uint64_t v = 0;
	if (!*s)
		return -EINVAL;
	for (const char *p = s; *p; p++) /* first: "99…9x" is malformed, not too large */
		if (*p < '0' || *p > '9')
			return -EINVAL;
	for (; *s; s++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t) (*s - '0'), &v))
			return -ERANGE;
	*ret = v;
	return 0;
}

/* A slip of shift or of the two dashes is no slip at all. */
static int fold(char c)
{
	return c == '-' ? '_' : tolower((unsigned char) c);
}

#define WORD_MAX 48 /* keys, presets and attacks are shorter; a longer word is not a slip of one of them */

static bool is_swap(const char *a, const char *b)
{
	return fold(a[0]) == fold(b[1]) && fold(a[1]) == fold(b[0]);
}

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;
	return least < c ? least : c;
}

/* Insertions, deletions, replacements, swaps (optimal string alignment). Both words are within WORD_MAX. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX + 1], n = strlen(b);
	size_t *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= n; j++)
		last[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			bool same = fold(a[i - 1]) == fold(b[j - 1]);
			row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + !same);
			if (i > 1 && j > 1 && is_swap(a + i - 2, b + j - 2))
				row[j] = min3(row[j], before[j - 2] + 1, row[j]);
		}
		size_t *spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[n];
}

const char *str_nearest(const char *word, const char *const *names)
{
	size_t len = strlen(word), best = 1 + len / 3;
	const char *nearest = NULL;

	if (len < 2 || len > WORD_MAX)
		return NULL;
	for (; *names; names++) {
		if (strlen(*names) > WORD_MAX)
			continue;
		size_t d = edit_distance(word, *names);
		if (d > 1 && len >= 3 && strncasecmp(word, *names, len) == 0)
			d = 1; /* "mem" means memory, however much is missing */
		if (d < len && (nearest ? d < best : d <= best)) {
			best = d;
			nearest = *names;
		}
	}
	return nearest;
}

const char *format_bytes(uint64_t bytes, char *buf, size_t size)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t u = 0;
	uint64_t whole = bytes, tenths = 0;

	while (whole >= 1024 && u + 1 < ARRAY_LEN(unit)) {
		u++;
		uint64_t one = UINT64_C(1) << (10 * u);
		whole = bytes / one;
		tenths = (bytes % one * 10 + one / 2) / one; /* at most 10 * 2^60: no overflow */
		whole += tenths / 10;
		tenths %= 10;
	}
	if (tenths)
		(void) snprintf(buf, size, "%" PRIu64 ".%" PRIu64 " %s", whole, tenths, unit[u]);
	else
		(void) snprintf(buf, size, "%" PRIu64 " %s", whole, unit[u]);
	return buf;
}

/* "1 min 30 s", "2 h": the two largest units, the second only where there is something of it. */
static const char *format_long(uint64_t s, char *buf, size_t size)
{
	bool hours = s >= 3600;
	uint64_t large = hours ? s / 3600 : s / 60, rest = hours ? s % 3600 / 60 : s % 60;
	const char *unit = hours ? "h" : "min", *rest_unit = hours ? "min" : "s";
	if (rest)
		(void) snprintf(buf, size, "%" PRIu64 " %s %" PRIu64 " %s", large, unit, rest, rest_unit);
	else
		(void) snprintf(buf, size, "%" PRIu64 " %s", large, unit);
	return buf;
}

const char *format_ns(uint64_t ns, char *buf, size_t size)
{
	static const struct {
		uint64_t one;
		const char *unit;
	} small[] = { { 1, "ns" }, { 1000, "us" }, { NS_PER_MS, "ms" }, { NS_PER_S, "s" } };
	uint64_t s = ns / NS_PER_S + (ns % NS_PER_S >= NS_PER_S / 2);
	if (s >= 60)
		return format_long(s, buf, size);

	size_t u = 0;
	uint64_t whole = ns, tenths = 0;
	while (whole >= 1000 && u + 1 < ARRAY_LEN(small)) {
		u++;
		uint64_t all = (ns + small[u].one / 20) / (small[u].one / 10); /* in tenths, rounded */
		whole = all / 10;
		tenths = all % 10;
	}
	if (tenths)
		(void) snprintf(buf, size, "%" PRIu64 ".%" PRIu64 " %s", whole, tenths, small[u].unit);
	else
		(void) snprintf(buf, size, "%" PRIu64 " %s", whole, small[u].unit);
	return buf;
}
