/* SPDX-License-Identifier: MIT */
/*
 * The keys of a preset as one table: section, name, how a value is taken, how it is shown, what it means.
 * Reading, nearest names, `preset show`, `preset diff` and the documentation all walk it, so a key is one row
 * and nothing else. Private to core/model.
 */
#pragma once

#include "core/model/policy.h"

#include <stdbool.h>
#include <stddef.h>

struct preset_key;

/* set: takes a value into the policy. 0, or -EINVAL with the reason. show: the value as it would be
 * written. */
typedef int (*key_set_fn)(struct policy *p, const struct preset_key *k, const char *value, struct err *e);
typedef void (*key_show_fn)(const struct policy *p, const struct preset_key *k, struct buf *out);

struct key_word { /* one value of a key that takes words; its index is the enum's value */
	const char *word, *means;
};

struct preset_key {
	const char *section, *name;
	const char *means; /* one phrase for a person */
	key_set_fn set;
	key_show_fn show;
	size_t field;                 /* offset in struct policy */
	enum limit_name limit;        /* of keys in [limits] */
	const struct key_word *words; /* ended by a NULL word */
	bool needed;                  /* a preset that extends no other must state it */
	bool label;                   /* says what the preset is called, enforces nothing */
};
extern const struct preset_key preset_keys[];
extern const size_t preset_key_count;

/* key_find: NULL and the reason, with the nearest name or the section where the key belongs. */
const struct preset_key *key_find(const char *section, const char *name, struct err *e);
/* key_section_check: 0, or -EINVAL with the nearest section. */
int key_section_check(const char *section, struct err *e);
/* key_means: the phrase of a key, of limits too. */
const char *key_means(const struct preset_key *k);
/* key_counts: false for a key in a section that is named after a backend, where the policy's is another one. */
bool key_counts(const struct policy *p, const struct preset_key *k);
/* key_value_means: what the key's present value means; NULL where the value speaks for itself. */
const char *key_value_means(const struct policy *p, const struct preset_key *k);
