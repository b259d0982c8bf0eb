/* SPDX-License-Identifier: MIT */
/*
 * Private to core/confine: the parts of which a filter is put together. A plan says what becomes of each call
 * by its number; rules look at register values of some calls; a tree is both as a BPF program.
 */
#pragma once

#include "core/confine/confine.h"
#include "core/model/model.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_MAX       1024 /* one more than the largest number that any rule can name; Linux 6.18 has 470 */
#define CALL_ELSEWHERE (-1000) /* a call of other architectures only */
#define X32_BIT        UINT32_C(0x40000000)
#define PROGRAM_MAX    BPF_MAXINSNS

uint32_t native_arch(void); /* AUDIT_ARCH_* of this program */

/* syscall_names.c. call_known: a number, CALL_ELSEWHERE, or -ENOENT for a word that is no call anywhere. */
int call_known(const char *name);
const char *call_nearest(const char *word);

/* What the kernel does with each call, in seccomp's own words (SECCOMP_RET_*). */
struct call_plan {
	uint32_t arch;                         /* native_arch() */
	uint32_t unknown;                      /* any other number, and every foreign architecture */
	uint32_t refuse;                       /* what this policy does to a refused call */
	enum syscall_action by_name[CALL_MAX]; /* the policy's word; absent where it has none */
	uint32_t action[CALL_MAX + 1];         /* where no rule decides; the last: every greater number */
	uint8_t rules[CALL_MAX + 1];           /* not 0: rules look at its arguments first */
};
struct filter_code {
	struct sock_filter *insns; /* on the heap */
	size_t count, room;
	bool full; /* the kernel takes no more: some are missing */
};
void code_put(struct filter_code *code, struct sock_filter insn);

/* seccomp_rules.c. rules_plan: shows and rules for a plan whose by_name is made and action follows it.
 * rules_emit: what looks at the arguments of one call; the program goes on behind it where no rule decides. */
void rules_plan(const struct seccomp_want *want, struct call_plan *plan);
void rules_emit(const struct seccomp_want *want, const struct call_plan *plan, uint32_t nr,
		struct filter_code *code);
