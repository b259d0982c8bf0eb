/* SPDX-License-Identifier: MIT */
/*
 * Numbers of system calls and their names, both ways. libseccomp has the table; what is newer than its
 * release is added here. Since Linux 5.1 a new call has the same number on every architecture, so one list
 * serves all.
 */
#include "core/confine/seccomp.h"

#include "core/base/base.h"

#include <errno.h>
#include <seccomp.h>
#include <string.h>

struct newer_call {
	const char *name;
	int nr;
};

/* clang-format off */
static const struct newer_call newer_calls[] = {
#ifdef __x86_64__
	{ "uretprobe", 335 },
	{ "uprobe", 336 },
#endif
	{ "cachestat", 451 },         /* Linux 6.5 */
	{ "fchmodat2", 452 },         /* 6.6 */
	{ "map_shadow_stack", 453 },
	{ "futex_wake", 454 },        /* 6.7 */
	{ "futex_wait", 455 },
	{ "futex_requeue", 456 },
	{ "statmount", 457 },         /* 6.8 */
	{ "listmount", 458 },
	{ "lsm_get_self_attr", 459 },
	{ "lsm_set_self_attr", 460 },
	{ "lsm_list_modules", 461 },
	{ "mseal", 462 },             /* 6.10 */
	{ "setxattrat", 463 },        /* 6.13 */
	{ "getxattrat", 464 },
	{ "listxattrat", 465 },
	{ "removexattrat", 466 },
	{ "open_tree_attr", 467 },    /* 6.15 */
	{ "file_getattr", 468 },      /* 6.17 */
	{ "file_setattr", 469 },
	{ "listns", 470 },            /* 6.19 */
};
/* clang-format on */

/*
 * The doors into this kernel that have numbers of their own. A name is asked of libseccomp, which allocates
 * it, only once: the process has one thread and names never change, so what was found is kept for good.
 */
struct name_table {
	uint32_t arch;
	const char *name[CALL_MAX];
};
static struct name_table tables[] = { { .arch = SCMP_ARCH_X86_64 },
				      { .arch = SCMP_ARCH_X86 },
				      { .arch = SCMP_ARCH_X32 },
				      { .arch = SCMP_ARCH_AARCH64 },
				      { .arch = SCMP_ARCH_ARM } };

static const char *newer_name(int nr)
{
	for (size_t i = 0; i < ARRAY_LEN(newer_calls); i++)
		if (newer_calls[i].nr == nr)
			return newer_calls[i].name;
	return NULL;
}

const char *seccomp_call_name(int nr, uint32_t arch)
{
	/* x32 has x86-64's architecture word and a bit in the number */
	if (arch == SCMP_ARCH_X86_64 && ((uint32_t) nr & X32_BIT)) {
		nr = (int) ((uint32_t) nr & ~X32_BIT);
		arch = SCMP_ARCH_X32;
	}
	if (nr < 0 || nr >= CALL_MAX)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		if (tables[i].arch != arch)
			continue;
		const char **slot = &tables[i].name[nr];
		if (!*slot) {
			int asked = arch == SCMP_ARCH_X32 ? nr | (int) X32_BIT : nr;
			*slot = newer_name(nr);
			if (!*slot)
				*slot = seccomp_syscall_resolve_num_arch(arch, asked);
		}
		return *slot;
	}
	return NULL;
}

int seccomp_call_number(const char *name)
{
	int nr = call_known(name);
	return nr < 0 ? -ENOENT : nr;
}

int call_known(const char *name)
{
	int nr = seccomp_syscall_resolve_name(name); /* hashed: nearly all are found here */

	for (size_t i = 0; nr == __NR_SCMP_ERROR && i < ARRAY_LEN(newer_calls); i++)
		if (strcmp(newer_calls[i].name, name) == 0)
			nr = newer_calls[i].nr;
	if (nr == __NR_SCMP_ERROR)
		return -ENOENT;
	return nr < 0 || nr >= CALL_MAX ? CALL_ELSEWHERE : nr;
}

const char *call_nearest(const char *word)
{
	const char *names[CALL_MAX + 1];
	size_t count = 0;

	for (int nr = 0; nr < CALL_MAX; nr++) {
		const char *name = seccomp_call_name(nr, seccomp_arch_native());
		if (name)
			names[count++] = name;
	}
	names[count] = NULL;
	return str_nearest(word, names);
}
