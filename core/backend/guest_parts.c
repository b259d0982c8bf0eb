/* SPDX-License-Identifier: MIT */
/*
 * What a microVM is made of, as `make` left it in one folder: the guest's kernel and modules, its agent and what waits
 * as the target. Found and named here, and told apart from any other build; nothing of it is read whole, as the kernel
 * is large and every start asks.
 */
#include "core/backend/guest.h"

#include "core/base/base.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODULES_MAX 64
#define LIST_MAX    (16 << 10) /* bytes of a list of files */
#define FROM_DEPS   "make deps && make"

/* The folder as it is looked through: whatever was found adds itself to what is hashed. */
struct search {
	const char *folder;
	int fd;
	struct buf facts;
};

static int missing(struct err *e, const struct search *s, const char *what, const char *name,
		   const char *remedy)
{
	return err_say(e, ENOENT,
		       "the guest's %s is missing (%.200s/%.100s): say `%s` where belljar is built", what,
		       s->folder, name, remedy);
}

/* A file as a path of its own. Its size and time go into the hash beside what the sums tell of its contents: whoever
 * changes it without `make` changes these. */
static int find_file(struct search *s, const char *what, const char *name, const char *remedy, char **ret,
		     struct err *e)
{
	struct stat st;

	if (fstatat(s->fd, name, &st, 0) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return missing(e, s, what, name, remedy);
	buf_printf(&s->facts, "%s %lld %lld.%09ld\n", name, (long long) st.st_size,
		   (long long) st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	*ret = xprintf("%s/%s", s->folder, name);
	return 0;
}

/* What QEMU enters without firmware is an ELF file; a compressed image would only hang. */
static int find_kernel(struct search *s, struct guest_parts *p, struct err *e)
{
	Elf64_Ehdr head;
	int r = find_file(s, "kernel", "vmlinux", FROM_DEPS, &p->vmlinux, e);
	if (r < 0)
		return r;

	CLOSE_FD int fd = openat(s->fd, "vmlinux", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, errno, "open the guest's kernel %s", p->vmlinux);
	if (read(fd, &head, sizeof(head)) != sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_X86_64)
		return err_say(e, ENOEXEC,
			       "the guest's kernel %.200s is no ELF file for x86-64: remove it and say `%s`",
			       p->vmlinux, FROM_DEPS);
	return 0;
}

static int find_release(struct search *s, struct guest_parts *p, struct err *e)
{
	char text[128];

	if (file_read_small(s->fd, "release", text, sizeof(text)) <= 0)
		return missing(e, s, "kernel release", "release", FROM_DEPS);
	p->release = xstrdup(text);
	return 0;
}

static int find_modules(struct search *s, struct guest_parts *p, struct err *e)
{
	FREE char *list = NULL;
	char *rest, *line;

	if (file_read(s->fd, "modules/order", LIST_MAX, &list, NULL, NULL) < 0)
		return missing(e, s, "list of modules", "modules/order", FROM_DEPS);
	for (line = strtok_r(list, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
		FREE char *name = xprintf("modules/%s", line), *path = NULL;
		if (strchr(line, '/') != NULL || strv_len(p->modules) == MODULES_MAX)
			return err_say(e, ENOEXEC,
				       "%.200s/modules/order is no list of modules: remove it and say `%s`",
				       s->folder, FROM_DEPS);
		int r = find_file(s, "module", name, FROM_DEPS, &path, e);
		if (r < 0)
			return r;
		p->modules = strv_add(p->modules, path);
	}
	return 0;
}

static int find_all(struct search *s, struct guest_parts *p, struct err *e)
{
	FREE char *sums = NULL;
	int r = find_kernel(s, p, e);

	if (r == 0)
		r = find_release(s, p, e);
	if (r == 0)
		r = find_modules(s, p, e);
	if (r == 0)
		r = find_file(s, "agent", "agent", "make", &p->agent, e);
	if (r == 0)
		r = find_file(s, "waiting program", "stage", "make", &p->stage, e);
	if (r == 0)
		r = find_file(s, "waiting Python program", "stage.py", "make", &p->stage_py, e);
	if (r < 0)
		return r;
	if (file_read(s->fd, "sums", LIST_MAX, &sums, NULL, NULL) < 0)
		return missing(e, s, "list of sums", "sums", "make");
	buf_str(&s->facts, sums);
	sha256_hex(s->facts.data, s->facts.len, p->hash);
	return 0;
}

int guest_parts_find(struct guest_parts *ret, struct err *e)
{
	struct search s = { .folder = guest_folder() };
	struct guest_parts p = { 0 };

	s.fd = open(s.folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s.fd < 0)
		return err_say(e, ENOENT,
			       "there is no guest for a microVM in %.300s: say `%s` where belljar is built",
			       s.folder, FROM_DEPS);
	int r = find_all(&s, &p, e);
	close_fd(&s.fd);
	buf_done(&s.facts);
	if (r < 0)
		guest_parts_done(&p);
	else
		*ret = p;
	return r;
}

void guest_parts_done(struct guest_parts *p)
{
	free(p->vmlinux);
	free(p->release);
	strv_free(p->modules);
	free(p->agent);
	free(p->stage);
	free(p->stage_py);
	*p = (struct guest_parts){ 0 };
}
