/* SPDX-License-Identifier: MIT */
/*
 * Languages: one row each, and the guess at which one a piece of code is in. The guess is careful: code run
 * by the wrong interpreter does things that nobody wrote, so where the signs disagree or are few it is the
 * person who says.
 */
#include "core/model/launch.h"

#include "core/base/base.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

/* clang-format off */
#define WORDS(...) (const char *const[]) { __VA_ARGS__, NULL }
#define NO_WORDS (const char *const[]) { NULL }

static const struct language python = {
	.name = "python", .title = "Python 3", .file = "main.py",
	.extensions = WORDS("py", "pyw"),
	/* Not python2: run by Python 3 such a program may well start, and do something else. */
	.interpreters = WORDS("python", "python3", "python3.[0-9]*", "pypy3"),
	.programs = WORDS("python3"),
	/* Unbuffered: into a pipe Python keeps its output to itself until it ends, or loses it when killed. */
	.argv = WORDS("%i", "-u", "%f"),
	.needs_utf8 = true,
};

static const struct language sh = {
	.name = "sh", .title = "POSIX shell", .file = "main.sh",
	.extensions = WORDS("sh"), .interpreters = WORDS("sh", "dash", "ash"),
	.programs = WORDS("sh", "dash"), .argv = WORDS("%i", "%f"),
	.cr_is_fault = true,
};

static const struct language bash = {
	.name = "bash", .title = "Bash", .file = "main.bash",
	.extensions = WORDS("bash"), .interpreters = WORDS("bash"),
	.programs = WORDS("bash"), .argv = WORDS("%i", "%f"),
	.cr_is_fault = true,
};

static const struct language node = {
	.name = "node", .title = "Node.js", .file = "main.js",
	.extensions = WORDS("js", "cjs"), .interpreters = WORDS("node", "nodejs"),
	.programs = WORDS("node", "nodejs"), .argv = WORDS("%i", "%f"),
};

static const struct language esm = { /* Node tells modules from scripts by the name of the file */
	.name = "esm", .title = "Node.js module", .file = "main.mjs",
	.extensions = WORDS("mjs"), .interpreters = NO_WORDS,
	.programs = WORDS("node", "nodejs"), .argv = WORDS("%i", "%f"),
};

static const struct language perl = {
	.name = "perl", .title = "Perl 5", .file = "main.pl",
	.extensions = WORDS("pl", "pm"), .interpreters = WORDS("perl", "perl5*"),
	.programs = WORDS("perl"), .argv = WORDS("%i", "%f"),
	.cr_is_fault = true, /* the end of a here-document is no longer found */
};

static const struct language ruby = {
	.name = "ruby", .title = "Ruby", .file = "main.rb",
	.extensions = WORDS("rb"), .interpreters = WORDS("ruby", "ruby[0-9]*"),
	.programs = WORDS("ruby"), .argv = WORDS("%i", "%f"),
};

static const struct language lua = {
	.name = "lua", .title = "Lua", .file = "main.lua",
	.extensions = WORDS("lua"), .interpreters = WORDS("lua", "lua5.[0-9]*", "luajit"),
	.programs = WORDS("lua", "lua5.4", "lua5.3", "luajit"), .argv = WORDS("%i", "%f"),
};

static const struct language c = {
	.name = "c", .title = "C", .file = "main.c",
	.extensions = WORDS("c"), .interpreters = NO_WORDS,
	.programs = WORDS("cc", "gcc", "clang", "tcc"),
	/* The compiler is as untrusted as what it reads: it runs inside, and the program takes its place. */
	.argv = WORDS("/bin/sh", "-c", "cc=$1 code=$2 out=$3; shift 3; "
	    "\"$cc\" -O1 -pthread -o \"$out\" \"$code\" -lm && exec \"$out\" \"$@\"", "sh", "%i", "%f", "%t"),
};

/* clang-format on */
const struct language *const languages[] = { &python, &sh, &bash, &node, &esm, &perl, &ruby, &lua, &c, NULL };

static const struct {
	const char *alias, *name;
} aliases[] = {
	{ "py", "python" }, { "python3", "python" },  { "shell", "sh" },
	{ "js", "node" },   { "javascript", "node" }, { "nodejs", "node" },
	{ "mjs", "esm" },   { "pl", "perl" },         { "rb", "ruby" },
};

const struct language *language_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
		if (strcmp(aliases[i].alias, name) == 0)
			name = aliases[i].name;
	for (const struct language *const *l = languages; *l != NULL; l++)
		if (strcmp((*l)->name, name) == 0)
			return *l;
	return NULL;
}

/* Fills the error with what is not known of `what`, and the names to choose from. */
static const struct language *unsure(struct err *e, const char *what, const char *of)
{
	struct buf names = { 0 };

	for (const struct language *const *l = languages; *l != NULL; l++)
		buf_printf(&names, "%s%s", l == languages ? "" : ", ", (*l)->name);
	err_say(e, EINVAL, "%s%.60s; say the language with -l: %s", what, of, names.data);
	buf_done(&names);
	return NULL;
}

/* The next word of a line, or NULL at its end. */
static char *word_next(char **line)
{
	char *word;

	do
		word = strsep(line, " \t");
	while (word != NULL && *word == '\0');
	return word;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* The program that a "#!" line asks for, env(1) with its options and assignments passed over. NULL: none
 * named. */
static const char *shebang_program(char *line)
{
	char *word = word_next(&line);

	if (word == NULL || strcmp(base_of(word), "env") != 0)
		return word != NULL ? base_of(word) : NULL;
	while ((word = word_next(&line)) != NULL)
		if (*word != '-' && strchr(word, '=') == NULL)
			return base_of(word);
	return NULL;
}

static const struct language *by_interpreter(const char *program)
{
	for (const struct language *const *l = languages; *l != NULL; l++)
		for (const char *const *i = (*l)->interpreters; *i != NULL; i++)
			if (fnmatch(*i, program, 0) == 0)
				return *l;
	return NULL;
}

static const struct language *by_extension(const char *extension)
{
	for (const struct language *const *l = languages; *l != NULL; l++)
		for (const char *const *x = (*l)->extensions; *x != NULL; x++)
			if (strcasecmp(*x, extension) == 0)
				return *l;
	return NULL;
}

/* ---- by the text ---- */

/* A sign of one language: how a line begins, ends, and what is in it; `never` must not be. NULL: anything. */
struct sign {
	const struct language *language;
	int weight;
	const char *begins, *ends, *has, *never;
};
static const struct sign signs[] = {
	{ &python, 2, "print(", NULL, NULL, ";" },
	{ &python, 3, "import ", NULL, NULL, ";'\"{" },
	{ &python, 4, "from ", NULL, " import ", ";" },
	{ &python, 4, "def ", ":", "(", NULL },
	{ &python, 3, "class ", ":", NULL, NULL },
	{ &python, 3, "for ", ":", " in ", NULL },
	{ &python, 2, "while ", ":", NULL, NULL },
	{ &python, 2, "with ", ":", NULL, NULL },
	{ &python, 3, "try:", NULL, NULL, NULL },
	{ &python, 6, "if __name__", ":", NULL, NULL },
	{ &node, 3, "const ", NULL, "=", NULL },
	{ &node, 2, "let ", NULL, "=", NULL },
	{ &node, 4, "console.", NULL, "(", NULL },
	{ &node, 3, "process.", NULL, NULL, NULL },
	{ &node, 2, "function ", "{", "(", NULL },
	{ &node, 4, "async function ", "{", NULL, NULL },
	{ &esm, 8, "import ", NULL, " from '", NULL },
	{ &esm, 8, "import ", NULL, " from \"", NULL },
	{ &sh, 2, "echo ", NULL, NULL, ";" },
	{ &sh, 3, "if [ ", NULL, NULL, NULL },
	{ &sh, 3, "for ", "do", " in ", NULL },
	{ &sh, 3, "while ", "do", NULL, NULL },
	{ &sh, 2, "export ", NULL, "=", " " },
	{ &sh, 3, "set -", NULL, NULL, NULL },
	{ &sh, 2, "fi", "fi", NULL, " " },
	{ &sh, 2, "done", "done", NULL, " " },
	{ &bash, 8, "if [[ ", NULL, NULL, NULL },
	{ &bash, 8, "declare -", NULL, NULL, NULL },
	{ &bash, 8, "shopt -", NULL, NULL, NULL },
	{ &perl, 5, "use strict", NULL, ";", NULL },
	{ &perl, 5, "use warnings", NULL, ";", NULL },
	{ &perl, 4, "my $", NULL, NULL, NULL },
	{ &perl, 4, "my @", NULL, NULL, NULL },
	{ &perl, 4, "my %", NULL, NULL, NULL },
	{ &ruby, 3, "puts ", NULL, NULL, NULL },
	{ &ruby, 3, "require '", "'", NULL, "(" },
	{ &ruby, 3, "require_relative ", NULL, NULL, NULL },
	{ &ruby, 4, NULL, "|", " do |", NULL },
	{ &lua, 6, "local ", NULL, " = ", NULL },
	{ &lua, 6, "local function ", NULL, "(", NULL },
	{ &lua, 3, "for ", " do", "=", "{" },
	{ &c, 6, "#include <", ">", NULL, NULL },
	{ &c, 6, "#include \"", "\"", NULL, NULL },
	{ &c, 6, "int main(", NULL, NULL, NULL },
};
#define TEXT_SEEN   (64u << 10) /* bytes that the guess looks at */
#define SIGN_COUNTS 3           /* times that one sign may count */
#define SCORE_LEAST 2
#define SCORE_LEAD  3 /* the best must be that many times the second */

static const struct {
	const struct language *larger, *inner;
} contained[] = {
	{ &bash, &sh },
	{ &esm, &node },
};

static bool sign_fits(const struct sign *s, const char *line)
{
	return (s->begins == NULL || str_starts(line, s->begins)) &&
	       (s->ends == NULL || str_ends(line, s->ends)) &&
	       (s->has == NULL || strstr(line, s->has) != NULL) &&
	       (s->never == NULL || strpbrk(line, s->never) == NULL);
}

/* Of a line with several statements the first has a say of its own: "import os; print(1)". */
static void line_score(char *line, unsigned hits[ARRAY_LEN(signs)])
{
	line += strspn(line, " \t");
	for (size_t len = strlen(line); len > 0 && strchr(" \t\r", line[len - 1]) != NULL; len--)
		line[len - 1] = '\0';
	const char *more = strstr(line, "; ");
	FREE char *first = more != NULL ? xstrndup(line, (size_t) (more - line)) : NULL;
	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (hits[i] < SIGN_COUNTS &&
		    (sign_fits(&signs[i], line) || (first != NULL && sign_fits(&signs[i], first))))
			hits[i]++;
}

static int signs_of(const struct language *lang, const unsigned hits[ARRAY_LEN(signs)])
{
	int score = 0;

	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		score += signs[i].language == lang ? (int) hits[i] * signs[i].weight : 0;
	return score;
}

/* One sign of the larger language, and all signs of the one that it contains are signs of it. */
static int score_of(const struct language *lang, const unsigned hits[ARRAY_LEN(signs)])
{
	int score = signs_of(lang, hits);

	for (size_t i = 0; i < ARRAY_LEN(contained); i++) {
		int larger = signs_of(contained[i].larger, hits);
		if (lang == contained[i].larger && larger > 0)
			score += signs_of(contained[i].inner, hits);
		if (lang == contained[i].inner && larger > 0)
			score = 0;
	}
	return score;
}

static const struct language *by_text(const char *code, size_t len)
{
	unsigned hits[ARRAY_LEN(signs)] = { 0 };
	int best = 0, second = 0;
	const struct language *found = NULL;
	FREE char *text = xstrndup(code, len < TEXT_SEEN ? len : TEXT_SEEN);
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")) != NULL)
		line_score(line, hits);
	for (const struct language *const *l = languages; *l != NULL; l++) {
		int score = score_of(*l, hits);
		if (score > best) {
			second = best;
			best = score;
			found = *l;
		} else if (score > second) {
			second = score;
		}
	}
	return best >= SCORE_LEAST && best >= SCORE_LEAD * second ? found : NULL;
}

static const struct language *by_shebang(const char *code, size_t len, struct err *e)
{
	const char *nl = memchr(code, '\n', len);
	size_t line_len = nl != NULL ? (size_t) (nl - code) : len;
	FREE char *line = xstrndup(code + 2, line_len - 2);

	line[strcspn(line, "\r")] = '\0';
	const char *program = shebang_program(line);
	if (program == NULL)
		return unsure(e, "the first line '#!' names no program", "");
	const struct language *found = by_interpreter(program);
	if (found == NULL)
		return unsure(e, "the first line asks for a program that is not known here: ", program);
	return found;
}

const struct language *language_guess(const char *file_name, const char *code, size_t len, struct err *e)
{
	if (len >= 3 && memcmp(code, "\xef\xbb\xbf", 3) == 0) {
		code += 3;
		len -= 3;
	}
	if (len >= 2 && memcmp(code, "#!", 2) == 0)
		return by_shebang(code, len, e);
	const char *base = file_name != NULL ? base_of(file_name) : "-";
	const char *dot = strrchr(base, '.');
	if (dot != NULL && dot != base && strcasecmp(dot, ".txt") != 0) {
		const struct language *found = by_extension(dot + 1);
		if (found == &node && by_text(code, len) == &esm) /* .js says neither script nor module */
			found = &esm;
		return found != NULL ? found : unsure(e, "no language here has files ending in ", dot);
	}
	const struct language *found = by_text(code, len);
	return found != NULL ? found : unsure(e, "the text does not say what language it is in", "");
}
