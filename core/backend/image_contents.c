/* SPDX-License-Identifier: MIT */
/*
 * What of the host's goes into a root image: Python, sh and what shell scripts call, the languages that the
 * preset names, each with what it reads at run time, and the preset's own folders. Libraries come by
 * themselves (image_settle.c).
 */
#include "core/backend/image.h"

#include "core/base/base.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */

/* What a shell script may hope for; one that is not installed is left out. */
static const char *const tools[] = {
	"[", "arch", "awk", "b2sum", "base32", "base64", "basename", "basenc", "bash", "bunzip2", "bzcat",
	"bzip2", "cat", "chgrp", "chmod", "chown", "cksum", "clear", "cmp", "comm", "cp", "csplit", "cut",
	"date", "dd", "df", "diff", "diff3", "dir", "dircolors", "dirname", "du", "echo", "egrep", "env",
	"expand", "expr", "factor", "false", "fgrep", "file", "find", "flock", "fmt", "fold", "free",
	"getconf", "getopt", "grep", "groups", "gunzip", "gzip", "head", "hexdump", "hostname", "iconv",
	"id", "infocmp", "install", "join", "kill", "ldd", "link", "ln", "locale", "logname", "ls", "make",
	"md5sum", "mkdir", "mkfifo", "mknod", "mktemp", "more", "mount", "mv", "nice", "nl", "nohup",
	"nproc", "numfmt", "od", "paste", "patch", "pathchk", "pgrep", "pidof", "pinky", "pkill", "pr",
	"printenv", "printf", "prlimit", "ps", "ptx", "pwd", "readlink", "realpath", "renice", "rev", "rm",
	"rmdir", "sdiff", "sed", "seq", "setsid", "sha1sum", "sha224sum", "sha256sum", "sha384sum",
	"sha512sum", "shred", "shuf", "sleep", "sort", "split", "stat", "stdbuf", "stty", "sum", "sync",
	"tac", "tail", "tar", "taskset", "tee", "test", "timeout", "top", "touch", "tput", "tr", "true",
	"truncate", "tsort", "tty", "umount", "uname", "unexpand", "uniq", "unlink", "unxz", "uptime",
	"users", "vdir", "watch", "wc", "which", "who", "whoami", "xargs", "xxd", "xz", "xzcat", "yes",
	"zcat", "zgrep", "zstd",
};

/* What all of these read, and names that are looked up: nothing that is this machine's own. */
static const char *const common[] = {
	"/bin/sh", "/etc/alternatives", "/etc/ld.so.cache", "/etc/locale.alias", "/etc/localtime",
	"/etc/mime.types", "/etc/protocols", "/etc/services", "/etc/ssl/openssl.cnf", "/etc/timezone",
	"/usr/lib/locale/C.*", "/usr/lib/ssl/openssl.cnf", "/usr/lib/*-linux-gnu/coreutils",
	"/usr/libexec/coreutils", "/usr/share/zoneinfo", "/lib/terminfo", "/usr/share/terminfo",
	"/usr/share/misc/magic*", "/usr/lib/file",
};

/* Python's library without what tests and builds Python itself, what needs a screen, and what is installed
 * beside it. */
static const char *const python_without[] = {
	"config-*", "dist-packages", "ensurepip", "idlelib", "lib2to3", "site-packages", "test", "tkinter",
	"turtle.py", "turtledemo", NULL,
};

/* Headers of libraries that are other languages', or whole distributions of them. */
static const char *const headers_without[] = {
	"boost", "c++", "clang*", "llvm*", "node", "nodejs", "python3*", "qt*", "ruby*", NULL,
};

/* What gcc calls and links to compile C; beside it lie other languages' compilers, ten times as large. */
#define GCC(at) at "cc1", at "collect2", at "lto-wrapper", at "liblto_plugin.so", at "*crt*.o", \
	at "libgcc*", at "libgomp*", at "include", at "include-fixed"

#define PATHS(...) (const char *const[]) { __VA_ARGS__, NULL }
static const struct {
	const char *language;
	const char *const *paths; /* shell patterns */
} also[] = {
	{ "python", PATHS("/etc/python3*") },
	{ "node", PATHS("/usr/share/nodejs", "/usr/lib/*-linux-gnu/nodejs") },
	{ "esm", PATHS("/usr/share/nodejs", "/usr/lib/*-linux-gnu/nodejs") },
	{ "perl", PATHS(
		"/usr/share/perl", "/usr/share/perl5", "/usr/lib/*-linux-gnu/perl",
		"/usr/lib/*-linux-gnu/perl-base", "/usr/lib/*-linux-gnu/perl5", "/usr/lib64/perl5",
		"/etc/perl") },
	{ "ruby", PATHS(
		"/usr/lib/ruby", "/usr/lib/*-linux-gnu/ruby", "/usr/share/rubygems-integration",
		"/usr/share/ruby", "/usr/lib64/ruby") },
	{ "lua", PATHS("/usr/share/lua", "/usr/lib/*-linux-gnu/lua", "/usr/lib64/lua") },
	{ "c", PATHS(
		"/usr/bin/as", "/usr/bin/ld", "/usr/bin/ld.bfd", GCC("/usr/lib/gcc/*/*/"),
		GCC("/usr/libexec/gcc/*/*/"), "/usr/include", "/usr/lib/*-linux-gnu/*crt*.o",
		"/usr/lib64/*crt*.o", "/usr/lib/*-linux-gnu/lib[cm].so", "/usr/lib64/lib[cm].so",
		"/usr/lib/*-linux-gnu/lib*_nonshared.a", "/usr/lib64/lib*_nonshared.a",
		"/usr/lib/*-linux-gnu/libpthread.a", "/usr/lib/*-linux-gnu/lib[cm].so.6",
		"/usr/lib64/lib[cm].so.6", "/usr/lib/*-linux-gnu/libmvec.so*", "/usr/lib64/libmvec.so*",
		"/usr/lib/*-linux-gnu/libgcc_s.so.1", "/usr/lib64/libgcc_s.so.1", "/usr/lib/clang",
		"/usr/lib/llvm-*/lib/clang", "/usr/lib/*-linux-gnu/tcc") },
};
/* clang-format on */

struct items {
	struct image_item *list;
	size_t count, room;
};

struct image_item *image_contents_free(struct image_item *items, size_t count)
{
	for (size_t k = 0; k < count; k++)
		free(items[k].path);
	free(items);
	return NULL;
}

static void add(struct items *to, struct image_item item)
{
	if (to->count == to->room) {
		to->room = to->room ? to->room * 2 : 256;
		to->list = xrealloc(to->list, to->room * sizeof(*to->list));
	}
	item.path = xstrdup(item.path);
	to->list[to->count++] = item;
}

/* Those that are there. */
static void add_pattern(struct items *to, const char *pattern)
{
	glob_t found;
	bool headers = strcmp(pattern, "/usr/include") == 0;
	if (glob(pattern, 0, NULL, &found) != 0)
		return;
	for (size_t k = 0; k < found.gl_pathc; k++)
		add(to, (struct image_item){ .path = found.gl_pathv[k],
					     .without = headers ? headers_without : NULL });
	globfree(&found);
}

static void add_tools(struct items *to)
{
	static const char *const folders[] = { "/usr/bin", "/bin", "/usr/sbin" };
	for (size_t k = 0; k < ARRAY_LEN(tools); k++)
		for (size_t n = 0; n < ARRAY_LEN(folders); n++) {
			FREE char *path = xprintf("%s/%s", folders[n], tools[k]);
			if (access(path, X_OK) < 0)
				continue;
			add(to, (struct image_item){ .path = path });
			break;
		}
}

/* Beside bin/python3.11 lies lib/python3.11, where distributions split it lib64/ too. */
static void add_python(struct items *to, const char *program)
{
	static const char *const folders[] = { "lib", "lib64" };
	char real[PATH_MAX];
	char *name = realpath(program, real) ? strrchr(real, '/') : NULL;
	for (size_t k = 0; name && k < ARRAY_LEN(folders); k++) {
		FREE char *path = xprintf("%.*s/../%s%s", (int) (name - real), real, folders[k], name);
		FREE char *library = realpath(path, NULL);
		if (library)
			add(to, (struct image_item){ .path = library, .without = python_without });
	}
}

static int add_language(struct items *to, const char *name, const struct policy *p, struct err *e)
{
	FREE char *program = NULL;
	const struct language *language = language_by_name(name);
	if (!language)
		return err_say(e, EINVAL, "languages of [microvm]: there is none called %.60s", name);
	int r = language_find_program(language, p, &program, e);
	if (r < 0)
		return r;
	add(to, (struct image_item){ .path = program });
	if (strcmp(language->name, "python") == 0)
		add_python(to, program);
	for (size_t k = 0; k < ARRAY_LEN(also); k++)
		for (const char *const *path = also[k].paths;
		     strcmp(also[k].language, language->name) == 0 && *path; path++)
			add_pattern(to, *path);
	return 0;
}

static int add_languages(struct items *to, const struct policy *p, struct err *e)
{
	static const char *const always[] = { "python", "sh" };
	int r = 0;
	for (size_t k = 0; r >= 0 && k < ARRAY_LEN(always); k++)
		r = add_language(to, always[k], p, e);
	for (char **name = p->microvm.languages; r >= 0 && name && *name; name++)
		r = add_language(to, *name, p, e);
	return r;
}

int image_contents(const struct policy *p, struct image_item **ret, size_t *ret_count, struct err *e)
{
	struct items items = { 0 };
	bool whole = strcmp(p->root, "host-usr") != 0; /* a folder of the preset's brings all that it has */
	for (char **own = p->read_only; own && *own; own++)
		add(&items, (struct image_item){ .path = *own, .own = true });
	int r = whole ? 0 : add_languages(&items, p, e);
	if (r < 0) {
		image_contents_free(items.list, items.count);
		return r;
	}
	if (!whole)
		add_tools(&items);
	for (size_t k = 0; !whole && k < ARRAY_LEN(common); k++)
		add_pattern(&items, common[k]);
	*ret = items.list;
	*ret_count = items.count;
	return 0;
}
