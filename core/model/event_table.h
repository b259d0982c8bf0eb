/* SPDX-License-Identifier: MIT */
/*
 * Private to core/model: the table that says which fields each type of event has. The frames on the wire,
 * JSON in both directions and the tests walk it; a new field is one row in event.c and nothing else.
 */
#pragma once

#include "core/model/event.h"

enum field_kind {
	FIELD_U64,   /* uint64_t; UNKNOWN_U64 is null */
	FIELD_I64,   /* int64_t; a negative one is null */
	FIELD_F64,   /* double; a negative one is null */
	FIELD_WORD,  /* an enum, in JSON the word for it */
	FIELD_STR,   /* const char *, NUL-terminated, or NULL */
	FIELD_BYTES, /* const char * and size_t, any bytes */
	FIELD_STRS,  /* const char *const * and size_t; no entry is NULL */
	FIELD_LIST,  /* structs and size_t; in JSON an array of objects */
	FIELD_MAP,   /* structs and size_t, whose first field is the key; in JSON one object */
};

enum field_flags {
	FIELD_REQUIRED = 1, /* an event without it is refused */
	FIELD_ALWAYS = 2,   /* written to JSON, as null, even when it is not known */
	FIELD_ONE = 4,      /* a count: where it is missing, one is meant */
};

struct field_words {
	const char *const *names;
	unsigned count;
};

struct event_field {
	const char *name; /* the key in JSON; NULL ends a table */
	enum field_kind kind;
	unsigned flags;
	size_t offset, count_offset; /* in the struct that the table describes */
	const struct field_words *words;
	const struct field_items *items;
};

struct field_items { /* what one entry of a LIST or MAP looks like */
	const struct event_field *fields;
	size_t size;
	size_t max; /* longer lists are refused */
};

#define FIELD_STRS_MAX 4096                                /* of argv, flags and the like */
#define EVENT_T_MAX_NS (UINT64_C(1000000000) * 1000000000) /* thirty years: a later time is refused */
#define FIELD_ITEM_MAX sizeof(struct event_limit)          /* the largest entry of any list */

/* event_fields: the rows of one type, NULL for EVENT_UNKNOWN. event_common: source, outcome, layer, basis. */
const struct event_field *event_fields(enum event_type type);
extern const struct event_field event_common[];

/* event_type_by_name: EVENT_UNKNOWN for any word that is not in the table. word_find: its number, or -1. */
enum event_type event_type_by_name(const char *name);
int word_find(const struct field_words *words, const char *name);

/* field_ptr and its kin: where a field of the struct at `base` is. */
static inline void *field_ptr(void *base, const struct event_field *f)
{
	return (char *) base + f->offset;
}

static inline const void *field_cptr(const void *base, const struct event_field *f)
{
	return (const char *) base + f->offset;
}

static inline size_t field_count(const void *base, const struct event_field *f)
{
	return *(const size_t *) (const void *) ((const char *) base + f->count_offset);
}

/*
 * A decoded event owns one block: itself, then its lists and strings. A decoder goes twice over its input:
 * with `base` NULL it only adds up and refuses, then the block is allocated in the right size and filled.
 */
struct event_block {
	char *base;
	size_t used;
};

void block_begin(struct event_block *b);               /* before each pass: leaves room for the event */
struct event *block_make(struct event_block *b);       /* after the first pass */
void *block_take(struct event_block *b, size_t size);  /* aligned for any entry; NULL while measuring */
char *block_space(struct event_block *b, size_t size); /* for bytes */
const char *block_text(struct event_block *b, const char *text, size_t len); /* with a NUL after it */

/* map_check: keys of a MAP are distinct and printable ASCII that JSON need not escape. */
bool map_check(const void *items, size_t count, const struct field_items *kind);
