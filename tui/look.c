/* SPDX-License-Identifier: MIT */
/*
 * The look of the face: the options that every subcommand takes, their defaults from locale and terminal, and the one
 * way in which a message goes to standard error.
 */
#include "tui/options.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const struct option_row look_options[] = { LOOK_OPTIONS(0), { 0 } };

static bool terminal_obeys(const char *term)
{
	return term && *term && strcmp(term, "dumb") != 0;
}

/* By name, as asking terminfo needs curses: DEC's terminals and what says of itself that it has none do without. */
static bool terminal_has_color(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color) && terminal_obeys(term) &&
	       !str_starts(term, "vt") && !str_ends(term, "-mono") && !str_ends(term, "-m");
}

/* What locale(7) looks at, in its order. The name of the locale says what the terminal takes; loading it,
 * with setlocale(3), would say whether this machine has a file for it, and cost each start twenty system calls. */
static bool terminal_is_utf8(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *locale = NULL;

	for (size_t i = 0; i < ARRAY_LEN(variables) && !(locale && *locale); i++)
		locale = getenv(variables[i]);
	const char *codeset = locale ? strchr(locale, '.') : NULL;
	return codeset && (strncasecmp(codeset, ".UTF-8", 6) == 0 || strncasecmp(codeset, ".utf8", 5) == 0);
}

int look_set_color(void *into, const struct option_row *row, const char *value, struct err *e)
{
	struct look *look = (struct look *) ((char *) into + row->at);

	if (strcmp(value, "auto") == 0)
		look->color = terminal_has_color();
	else if (strcmp(value, "always") == 0 || strcmp(value, "never") == 0)
		look->color = *value == 'a';
	else
		return err_say(e, EINVAL, "\"%s\" is none of auto, never, always", value);
	return 0;
}

int look_set_script(void *into, const struct option_row *row, const char *value, struct err *e)
{
	struct look *look = (struct look *) ((char *) into + row->at);

	if (access(value, R_OK) < 0)
		return err_set(e, errno, "cannot read %s", value);
	look->script = value;
	return 0;
}

/* The lowest free number is given out next, so one after the other. Reading from, or writing to, what was closed fails
 * as it would have. */
static void hold_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void) open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void look_init(struct look *look)
{
	hold_standard_descriptors();
	*look = (struct look){
		.ascii = !terminal_is_utf8(),
		.color = terminal_has_color(),
	};
}

static const struct option_row *look_option(const char *word)
{
	if (!str_starts(word, "--"))
		return NULL;
	size_t len = strcspn(word + 2, "=");
	for (const struct option_row *row = look_options; row->name; row++)
		if (strlen(row->name) == len && strncmp(row->name, word + 2, len) == 0)
			return row;
	return NULL;
}

int look_take(struct look *look, bool leading, int *argc, char **argv, struct err *e)
{
	FREE char **own =
		xcalloc((size_t) *argc + 1, sizeof *own); /* the general options alone, for the parser */
	char **after;
	int own_count = 1, kept = 1, at = 1, words;

	for (; at < *argc && strcmp(argv[at], "--") != 0; at++) {
		const struct option_row *row = look_option(argv[at]);
		if (!row && leading)
			break;
		if (!row) {
			argv[kept++] = argv[at];
			continue;
		}
		own[own_count++] = argv[at];
		if (row->argument && !strchr(argv[at], '=') && at + 1 < *argc)
			own[own_count++] = argv[++at];
	}
	while (at < *argc)
		argv[kept++] = argv[at++];
	argv[kept] = NULL;
	*argc = kept;
	return options_parse(look_options, look, own_count, own, &words, &after, e);
}

bool look_rewrites(const struct look *look)
{
	return !look->plain && isatty(STDERR_FILENO) && terminal_obeys(getenv("TERM"));
}

void look_say(const struct look *look, const char *fmt, ...)
{
	FREE char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = xstrdup("out of memory");
	va_end(ap);
	FREE char *line = text_line(text, strlen(text), look->ascii);
	FREE char *whole = xprintf("belljar: %s\n", line);
	(void) write_all(STDERR_FILENO, whole, strlen(whole)); /* nobody is left to tell */
}

int look_refuse(const struct look *look, const struct err *e)
{
	look_say(look, "%s", e->text);
	return STATUS_CANNOT;
}

int look_print(const char *text)
{
	int r = write_all(STDOUT_FILENO, text, strlen(text));

	return r < 0 ? look_unwritten(-r) : STATUS_OK;
}

int look_unwritten(int code)
{
	fprintf(stderr, "belljar: cannot write to standard output: %s\n", strerror(code));
	return STATUS_CANNOT;
}

int look_usage(const struct command *const *commands)
{
	struct buf out = { 0 };

	buf_str(&out, "Usage: belljar [FILE | -]           the screens, with code staged; nothing runs yet\n"
		      "       belljar COMMAND [OPTIONS]    one of:\n");
	for (; *commands; commands++)
		buf_printf(&out, "  %-10s %s\n", (*commands)->name, (*commands)->summary);
	buf_str(&out, "  help NAME  all about one of them, as does NAME --help\n"
		      "\n");
	options_help(look_options, &out);
	buf_str(&out, "  --version\n"
		      "\n"
		      "Levels (run -p): subprocess, namespaces (without it), microvm (own kernel)\n"
		      "Status: the target's own, or 124 time, 137 memory, 159 policy, 130 cancelled, 125 not "
		      "run.\n");
	int status = look_print(out.data);
	buf_done(&out);
	return status;
}

static int unknown_command(const char *word, const char *what, const struct command *const *commands,
			   struct err *e)
{
	const char *names[32] = { NULL };
	size_t count = 0;

	for (; count + 2 < ARRAY_LEN(names) && commands[count]; count++)
		names[count] = commands[count]->name;
	names[count] = "help";
	const char *near = str_nearest(word, names);
	return err_say(e, EINVAL, "\"%s\" is %s%s%s; belljar --help lists them", word, what,
		       near ? "; the nearest is " : "", near ? near : "");
}

int look_no_help(const struct look *look, const char *name, const struct command *const *commands)
{
	struct err e;

	(void) unknown_command(name, "no subcommand", commands, &e);
	return look_refuse(look, &e);
}

static int unknown_option(const char *word, struct err *e)
{
	const char *names[ARRAY_LEN(look_options) + 2] = { "help", "version" };
	size_t count = 2;

	for (const struct option_row *row = look_options; row->name; row++)
		names[count++] = row->name;
	const char *near = str_nearest(word + strspn(word, "-"), names);
	return err_say(e, EINVAL, "unknown option %s%s%s; belljar --help lists them", word,
		       near ? "; the nearest is --" : "", near ? near : "");
}

int look_check_file(int argc, char *const *argv, const struct command *const *commands, struct err *e)
{
	const char *word = argc > 1 ? argv[1] : "-";

	if (strcmp(word, "-") == 0 || strcmp(word, "--") == 0)
		return 0;
	if (word[0] == '-')
		return unknown_option(word, e);
	return access(word, F_OK) == 0
		       ? 0
		       : unknown_command(word, "neither a subcommand nor a file", commands, e);
}
