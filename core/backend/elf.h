/* SPDX-License-Identifier: MIT */
/*
 * What a program or library wants the dynamic loader to load, read from its own bytes: ld.so(8), elf(5).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct elf_needs {
	char *loader;   /* the program interpreter; NULL: none */
	char **names;   /* libraries, as named: "libc.so.6" */
	char **folders; /* where they are looked for first; $ORIGIN as it stands */
};
/* elf_needs: of a file's bytes, 64-bit and of this machine's byte order; whatever they are. -ENOEXEC: no
 * such file. Gives: *ret, ended by elf_needs_done. */
int elf_needs(const void *data, size_t len, struct elf_needs *ret);
void elf_needs_done(struct elf_needs *n);
/* elf_same_machine: both are ELF files for the same processor. */
bool elf_same_machine(const void *a, size_t a_len, const void *b, size_t b_len);
