/* SPDX-License-Identifier: MIT */
/*
 * Private to core/confine: the parts of which a filter is put together. A plan says what becomes of each call
 * by its number; rules look at register values of some calls; a tree is the plan as a BPF program, kept in a
 * cache.
 *
 *     rules of the arguments (first, native architecture only)  ->  tree by number (libseccomp)
 */
#pragma once

#include "core/confine/confine.h"
#include "core/model/model.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_MAX 1024 /* one more than the largest number that any rule can name; Linux 6.18 has 470 */
#define CALL_ELSEWHERE (-1000) /* a call of other architectures only */
#define X32_BIT UINT32_C(0x40000000)
#define PROGRAM_MAX BPF_MAXINSNS

uint32_t native_arch(void); /* AUDIT_ARCH_* of this program */

/* syscall_names.c. call_known: a number, CALL_ELSEWHERE, or -ENOENT for a word that is no call anywhere. */
int call_known(const char *name);
const char *call_nearest(const char *word);

/* What the kernel does with each call, in seccomp's own words (SECCOMP_RET_*). */
struct call_plan {
	uint32_t arch; /* native_arch() */
	uint32_t action[CALL_MAX];
	uint32_t unknown; /* any other number, and every foreign architecture */
	uint32_t refuse;  /* what this policy does to a refused call */
	enum syscall_action by_name[CALL_MAX];
	const char *name[CALL_MAX]; /* where the policy has a word on it. Borrowed from there */
};

/* seccomp_rules.c: what looks at arguments. Appends; the program goes on behind it where no rule decides. */
struct filter_code {
	struct sock_filter insns[PROGRAM_MAX];
	size_t count;
	bool full;
};
void rules_emit(const struct seccomp_want *want, const struct call_plan *plan, struct filter_code *code);
bool rules_cover(const struct seccomp_want *want,
		 const char *call); /* some rule in force looks at this call */
enum seccomp_watch call_watch(const struct seccomp_want *want,
			      const char *call); /* shown by its name; 0: not */

/* seccomp_cache.c: trees by the hash of what they were made from. Loading and saving never fail loudly. */
struct tree_key {
	char hex[65];
};
bool cache_load(const struct tree_key *key,
		struct filter_code *code); /* appends the tree; false: make it anew */
void cache_save(const struct tree_key *key, const struct sock_filter *insns, size_t count);
