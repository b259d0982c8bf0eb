/* SPDX-License-Identifier: MIT */
/*
 * A reader of ELF's dynamic section. Files come from the host's packages and from folders of the user's, in
 * which anything may lie: every offset is held against the length, every name against the table that it is
 * in.
 */
#include "core/backend/elf.h"

#include "core/base/base.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 512 /* libraries and folders of one file; real ones have a few dozen */

struct image {
	const uint8_t *data;
	size_t len;
	Elf64_Ehdr head;
};

/* `size` bytes at `offset` into `to`. False: they are not there. */
static bool take(const struct image *i, uint64_t offset, void *to, size_t size)
{
	if (offset > i->len || size > i->len - offset)
		return false;
	memcpy(to, i->data + offset, size);
	return true;
}

static bool open_image(struct image *i, const void *data, size_t len)
{
	const uint16_t one = 1;
	const uint8_t order = *(const uint8_t *) &one == 1 ? ELFDATA2LSB : ELFDATA2MSB;
	*i = (struct image){ .data = data, .len = len };
	return take(i, 0, &i->head, sizeof(i->head)) && memcmp(i->head.e_ident, ELFMAG, SELFMAG) == 0 &&
	       i->head.e_ident[EI_CLASS] == ELFCLASS64 && i->head.e_ident[EI_DATA] == order;
}

static bool segment(const struct image *i, size_t k, Elf64_Phdr *ret)
{
	uint64_t at = (uint64_t) k * sizeof(*ret);
	return k < i->head.e_phnum && i->head.e_phentsize == sizeof(*ret) && i->head.e_phoff <= i->len &&
	       take(i, i->head.e_phoff + at, ret, sizeof(*ret));
}

/* Where in the file an address of the loaded program lies. */
static bool address_find(const struct image *i, uint64_t address, uint64_t *ret_offset)
{
	Elf64_Phdr p;
	for (size_t k = 0; segment(i, k, &p); k++)
		if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz &&
		    p.p_offset <= i->len) {
			*ret_offset = p.p_offset + (address - p.p_vaddr);
			return true;
		}
	return false;
}

/* A string within `size` bytes at `offset`. NULL: it does not end there. */
static char *text_dup(const struct image *i, uint64_t offset, uint64_t size)
{
	if (offset >= i->len)
		return NULL;
	size_t room = size < i->len - offset ? (size_t) size : (size_t) (i->len - offset);
	const char *text = (const char *) i->data + offset;
	return memchr(text, 0, room) ? xstrdup(text) : NULL;
}

struct table {
	uint64_t offset, size; /* of the strings */
};

static bool entry_at(const struct image *i, const Elf64_Phdr *dynamic, size_t k, Elf64_Dyn *ret)
{
	uint64_t at = (uint64_t) k * sizeof(*ret);
	return at < dynamic->p_filesz && dynamic->p_offset <= i->len &&
	       take(i, dynamic->p_offset + at, ret, sizeof(*ret)) && ret->d_tag != DT_NULL;
}

static bool table_find(const struct image *i, const Elf64_Phdr *dynamic, struct table *ret)
{
	Elf64_Dyn d;
	bool found = false;
	*ret = (struct table){ 0 };
	for (size_t k = 0; entry_at(i, dynamic, k, &d); k++) {
		if (d.d_tag == DT_STRTAB)
			found = address_find(i, d.d_un.d_ptr, &ret->offset);
		if (d.d_tag == DT_STRSZ)
			ret->size = d.d_un.d_val;
	}
	return found;
}

static char **folders_add(char **folders, const char *list)
{
	FREE char *copy = xstrdup(list);
	char *rest = copy, *folder;
	while ((folder = strsep(&rest, ":")) && strv_len(folders) < NAMES_MAX)
		if (*folder)
			folders = strv_add(folders, folder);
	return folders;
}

static void dynamic_read(const struct image *i, const Elf64_Phdr *dynamic, struct elf_needs *n)
{
	struct table strings;
	Elf64_Dyn d;
	if (!table_find(i, dynamic, &strings))
		return;
	for (size_t k = 0; k < NAMES_MAX * 4 && entry_at(i, dynamic, k, &d); k++) {
		if ((d.d_tag != DT_NEEDED && d.d_tag != DT_RPATH && d.d_tag != DT_RUNPATH) ||
		    d.d_un.d_val >= strings.size || strv_len(n->names) >= NAMES_MAX)
			continue;
		FREE char *text = text_dup(i, strings.offset + d.d_un.d_val, strings.size - d.d_un.d_val);
		if (text && d.d_tag == DT_NEEDED)
			n->names = strv_add(n->names, text);
		else if (text)
			n->folders = folders_add(n->folders, text);
	}
}

int elf_needs(const void *data, size_t len, struct elf_needs *ret)
{
	struct image i;
	Elf64_Phdr p;
	*ret = (struct elf_needs){ 0 };
	if (!open_image(&i, data, len))
		return -ENOEXEC;
	for (size_t k = 0; segment(&i, k, &p); k++) {
		if (p.p_type == PT_INTERP && !ret->loader)
			ret->loader = text_dup(&i, p.p_offset, p.p_filesz);
		if (p.p_type == PT_DYNAMIC && !ret->names)
			dynamic_read(&i, &p, ret);
	}
	return 0;
}

void elf_needs_done(struct elf_needs *n)
{
	free(n->loader);
	strv_free(n->names);
	strv_free(n->folders);
	*n = (struct elf_needs){ 0 };
}

bool elf_same_machine(const void *a, size_t a_len, const void *b, size_t b_len)
{
	struct image first, second;
	return open_image(&first, a, a_len) && open_image(&second, b, b_len) &&
	       first.head.e_machine == second.head.e_machine;
}
