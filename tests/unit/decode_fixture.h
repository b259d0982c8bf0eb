/* SPDX-License-Identifier: MIT */
/*
 * A call of this process itself, decoded: what it points at is laid out here, and what must not be read lies
 * behind the end of a mapping. Each test of the decoder includes it.
 */
#pragma once

#include "core/base/base.h"
#include "core/supervise/decode.h"

#include <linux/audit.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define P(pointer) ((uint64_t) (uintptr_t) (pointer))
#define NOWHERE    UINT64_C(0x10) /* below every mapping */

static struct decoded d;

#define DECODE(nr, ...) decode((nr), AUDIT_ARCH_X86_64, (const uint64_t[6]){ __VA_ARGS__ })

static void decode(int nr, uint32_t arch, const uint64_t arg[6])
{
	struct decode_in in = { .pid = getpid(), .nr = nr, .arch = arch };

	memcpy(in.arg, arg, sizeof(in.arg));
	memset(&d, 0xee, sizeof(d));
	decode_call(&in, &d);
}

static const struct event_arg *arg_of(const char *key)
{
	for (size_t i = 0; i < d.arg_count; i++)
		if (strcmp(d.args[i].key, key) == 0)
			return &d.args[i];
	fail_msg("%s has no argument %s", d.name, key);
	return NULL;
}

static inline void expect_text(const char *key, const char *text)
{
	const struct event_arg *a = arg_of(key);

	assert_non_null(a->text);
	assert_string_equal(a->text, text);
}

static inline void expect_number(const char *key, int64_t number)
{
	const struct event_arg *a = arg_of(key);

	assert_null(a->text);
	assert_int_equal(a->number, number);
}

/* The first byte behind a page, where nothing may be read. */
static inline char *page_end(void)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(at != MAP_FAILED);
	assert_int_equal(mprotect(at + page, page, PROT_NONE), 0);
	return at + page;
}

static inline void page_free(char *end)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE);

	munmap(end - page, 2 * page);
}
