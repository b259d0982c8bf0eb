/* SPDX-License-Identifier: MIT */
/*
 * Events for tests, by the table of fields: every field filled with a value of its own, and two events
 * compared field by field. A field that a row is missing for cannot be filled, one that gets lost on the
 * way is not equal.
 */
#pragma once

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/base.h"
#include "core/model/event_table.h"

struct fill {
	unsigned n;     /* goes up with each value, so that no two are the same */
	void *mem[512]; /* everything allocated, for fill_done */
	size_t mem_count;
};

static inline void *fill_keep(struct fill *s, void *p)
{
	assert_true(s->mem_count < ARRAY_LEN(s->mem));
	return s->mem[s->mem_count++] = p;
}

static inline void fill_done(struct fill *s)
{
	for (size_t i = 0; i < s->mem_count; i++)
		free(s->mem[i]);
	s->mem_count = 0;
}

static inline const char *fill_text(struct fill *s, const char *name)
{
	return fill_keep(s, xprintf("%s \xc3\xa9 \"%u\"", name, s->n++));
}

static inline void fill_set_count(void *base, const struct event_field *f, size_t count)
{
	memcpy((char *) base + f->count_offset, &count, sizeof(count));
}

static inline void fill_fields(struct fill *s, void *base, const struct event_field *f);

static inline void fill_items(struct fill *s, void *base, const struct event_field *f)
{
	const size_t count = 2;
	char *items = fill_keep(s, xcalloc(count, f->items->size));

	for (size_t i = 0; i < count; i++)
		fill_fields(s, items + i * f->items->size, f->items->fields);
	if (f->kind == FIELD_MAP) {
		/* The first two members of both kinds of entry are the same. */
		struct event_arg *args = (void *) items;
		args[0].key = "first";
		*(const char **) (void *) (items + f->items->size) = "second key";
		if (f->items->size == sizeof(struct event_arg)) {
			args[0].number = 0;
			args[1].text = NULL; /* so its number counts */
			args[1].number = -7;
		}
	}
	*(char **) field_ptr(base, f) = items;
	fill_set_count(base, f, count);
}

static inline void fill_strs(struct fill *s, void *base, const struct event_field *f)
{
	const size_t count = 3;
	const char **strs = fill_keep(s, xcalloc(count, sizeof(*strs)));

	strs[0] = "";
	strs[1] = fill_text(s, f->name);
	strs[2] = "not \xff UTF-8";
	*(const char ***) field_ptr(base, f) = strs;
	fill_set_count(base, f, count);
}

static inline void fill_field(struct fill *s, void *base, const struct event_field *f)
{
	static const char bytes[] = "out\0put\x1b]52;c;\xfe\n";
	void *at = field_ptr(base, f);

	switch (f->kind) {
	case FIELD_U64:
		*(uint64_t *) at = (UINT64_C(1) << 40) + s->n++;
		break;
	case FIELD_I64:
		*(int64_t *) at = 100000 + s->n++;
		break;
	case FIELD_F64:
		*(double *) at = s->n++ + 0.25;
		break;
	case FIELD_WORD:
		*(unsigned *) at = 1 + s->n++ % (f->words->count - 1);
		break;
	case FIELD_STR:
		*(const char **) at = fill_text(s, f->name);
		break;
	case FIELD_BYTES:
		*(const char **) at = bytes;
		fill_set_count(base, f, sizeof(bytes) - 1);
		break;
	case FIELD_STRS:
		fill_strs(s, base, f);
		break;
	case FIELD_LIST:
	case FIELD_MAP:
		fill_items(s, base, f);
		break;
	}
}

static inline void fill_fields(struct fill *s, void *base, const struct event_field *f)
{
	for (; f->name; f++)
		fill_field(s, base, f);
}

/* An event of a type with every field filled. Its time is whole microseconds, which is what JSON keeps. */
static inline void fill_event(struct fill *s, enum event_type type, struct event *ev)
{
	memset(ev, 0, sizeof(*ev));
	ev->seq = 7 + type;
	ev->t_ns = UINT64_C(3600123456000) + type * 1000;
	ev->type = type;
	fill_fields(s, ev, event_common);
	fill_fields(s, ev, event_fields(type));
}

static inline void same_text(const char *a, const char *b)
{
	if (a && b)
		assert_string_equal(a, b);
	else
		assert_ptr_equal(a, b);
}

static inline void same_fields(const void *a, const void *b, const struct event_field *f);

static inline void same_lists(const void *a, const void *b, const struct event_field *f)
{
	const char *in_a = *(const char *const *) field_cptr(a, f),
		   *in_b = *(const char *const *) field_cptr(b, f);

	assert_int_equal(field_count(a, f), field_count(b, f));
	for (size_t i = 0; i < field_count(a, f); i++) {
		if (f->kind == FIELD_STRS)
			same_text(((const char *const *) (const void *) in_a)[i],
				  ((const char *const *) (const void *) in_b)[i]);
		else
			same_fields(in_a + i * f->items->size, in_b + i * f->items->size, f->items->fields);
	}
}

static inline void same_field(const void *a, const void *b, const struct event_field *f)
{
	const void *in_a = field_cptr(a, f), *in_b = field_cptr(b, f);

	switch (f->kind) {
	case FIELD_U64:
	case FIELD_I64:
	case FIELD_F64:
		assert_memory_equal(in_a, in_b, sizeof(uint64_t));
		break;
	case FIELD_WORD:
		assert_int_equal(*(const unsigned *) in_a, *(const unsigned *) in_b);
		break;
	case FIELD_STR:
		same_text(*(const char *const *) in_a, *(const char *const *) in_b);
		break;
	case FIELD_BYTES:
		assert_int_equal(field_count(a, f), field_count(b, f));
		assert_memory_equal(*(const char *const *) in_a, *(const char *const *) in_b,
				    field_count(a, f));
		break;
	case FIELD_STRS:
	case FIELD_LIST:
	case FIELD_MAP:
		same_lists(a, b, f);
		break;
	}
}

static inline void same_fields(const void *a, const void *b, const struct event_field *f)
{
	for (; f->name; f++)
		same_field(a, b, f);
}

static inline void same_events(const struct event *a, const struct event *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->seq, b->seq);
	assert_int_equal(a->t_ns, b->t_ns);
	same_fields(a, b, event_common);
	same_fields(a, b, event_fields(a->type));
}
