/* SPDX-License-Identifier: MIT */
/*
 * A small BPF machine, which runs what seccomp_compile made.
 */
#pragma once

#include "tests/unit/seccomp_fixture.h"

static bool jumps(const struct sock_filter *insn, uint32_t acc)
{
	switch (BPF_OP(insn->code)) {
	case BPF_JEQ:
		return acc == insn->k;
	case BPF_JGT:
		return acc > insn->k;
	case BPF_JGE:
		return acc >= insn->k;
	case BPF_JSET:
		return acc & insn->k;
	}
	fail_msg("jump 0x%x", insn->code);
	return false;
}

static uint32_t run(const struct seccomp_program *p, const struct seccomp_data *data)
{
	uint32_t acc = 0;

	for (size_t pc = 0; pc < p->count; pc++) {
		const struct sock_filter *insn = &p->insns[pc];
		switch (insn->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(insn->k <= sizeof(*data) - 4 && insn->k % 4 == 0);
			memcpy(&acc, (const char *) data + insn->k, 4);
			break;
		case BPF_JMP | BPF_JA:
			pc += insn->k;
			break;
		case BPF_RET | BPF_K:
			return insn->k;
		default:
			assert_int_equal(BPF_CLASS(insn->code), BPF_JMP);
			pc += jumps(insn, acc) ? insn->jt : insn->jf;
		}
	}
	fail_msg("ran off the end of the filter");
	return 0;
}

static uint32_t answer(const struct fixture *f, int nr, const uint64_t arg[6])
{
	struct seccomp_data data = { .nr = nr, .arch = ARCH };

	if (arg)
		memcpy(data.args, arg, sizeof(data.args));
	return run(&f->program, &data);
}
