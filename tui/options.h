/* SPDX-License-Identifier: MIT */
/*
 * Options of the command line, from tables. One table a subcommand is read by the parser, by --help and by the man
 * page, so that none of the three can tell another story. Also the few options that the face takes everywhere
 * (struct look), and how it speaks to a person on standard error.
 */
#pragma once

/* clang-format off */

#include "tui/command.h"

#include <stddef.h>

#define BELLJAR_VERSION "0.1.0"

struct buf;
struct err;
struct option_row;

/* Sets what the row stands for in `into`; `value` is NULL for a row without an argument. The error needs no context. */
typedef int (*option_fn)(void *into, const struct option_row *row, const char *value, struct err *e);

/* A table ends with a row without name. */
struct option_row {
	const char *name;     /* the long name, without dashes */
	char letter;          /* the short one, or 0 */
	bool repeats;         /* may be given more than once */
	bool hidden;          /* neither in --help nor in the man page nor proposed as the nearest name */
	const char *argument; /* what its argument is called, or NULL: it takes none */
	const char *help;     /* a phrase for --help */
	const char *man;      /* sentences for the man page; NULL: the phrase says it all */
	const char *heading;  /* opens a group in --help, or NULL */
	option_fn set;
	size_t at;            /* offsetof the field, or whatever else `set` needs to know */
};

/* The setters that most rows need. */
int option_set_flag(void *into, const struct option_row *row, const char *value, struct err *e); /* bool */
int option_set_text(void *into, const struct option_row *row, const char *value, struct err *e); /* const char *: Borrows argv */
int option_add_text(void *into, const struct option_row *row, const char *value, struct err *e); /* char **: a strv */

/*
 * options_parse: reads argv[1..]: --name VALUE, --name=VALUE, -pVALUE, -p VALUE, flags in one word; options and other
 * words in any order. Words that are no options move to argv[1..*ret_words]; what follows "--" is *ret_after, NULL
 * where there was none.
 * Returns: 0 or -EINVAL, the error naming the option: unknown (with the nearest), given twice, lacking its argument.
 */
int options_parse(const struct option_row *table, void *into, int argc, char **argv, int *ret_words,
	char ***ret_after, struct err *e);

/* options_help: at most 80 columns; rows that are short share a line. options_man: mdoc(7) list items. Appended. */
void options_help(const struct option_row *table, struct buf *out);
void options_man(const struct option_row *table, struct buf *out);

/*
 * The options that every subcommand takes, for a table of its own: `where` is the offset of a struct look.
 */
int look_set_color(void *into, const struct option_row *row, const char *value, struct err *e);
int look_set_script(void *into, const struct option_row *row, const char *value, struct err *e);
#define LOOK_OPTIONS(where)                                                                                      \
	{ .name = "plain", .help = "lines, no screens", .heading = "Everywhere", .set = option_set_flag,         \
	  .man = "Print lines that are only ever appended, and use no screens.",                                 \
	  .at = (where) + offsetof(struct look, plain) },                                                        \
	{ .name = "color", .argument = "WHEN", .help = "auto never always", .set = look_set_color,               \
	  .man = "auto, never or always. With auto, colours are used on a terminal, unless NO_COLOR is set.",    \
	  .at = (where) },                                                                                       \
	{ .name = "ascii", .help = "nothing but ASCII", .set = option_set_flag,                                  \
	  .man = "Print ASCII only, as in a locale without UTF-8.",                                              \
	  .at = (where) + offsetof(struct look, ascii) },                                                        \
	{ .name = "script", .argument = "FILE", .help = "keys to press", .set = look_set_script,                 \
	  .man = "Take keys and commands from FILE, for tests and demonstrations.",                              \
	  .at = (where) }

/* look_init: what the locale, NO_COLOR and the terminal say when no option was given. First of all it makes sure that
 * descriptors 0, 1 and 2 are open, so that no file of ours can become somebody's standard output. */
void look_init(struct look *look);
/*
 * look_take: takes the general options out of argv[1..*argc - 1], up to "--", and fills `look`. With `leading`, only
 * those before the first other word: what follows belongs to a subcommand that reads them itself.
 */
int look_take(struct look *look, bool leading, int *argc, char **argv, struct err *e);
/* look_say: "belljar: TEXT" as one scrubbed line on standard error. look_refuse: an error, so; returns 125. */
void look_say(const struct look *look, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int look_refuse(const struct look *look, const struct err *e);

/* look_rewrites: standard error is a terminal on which a line of progress may be written anew. */
bool look_rewrites(const struct look *look);
/* look_print: to standard output. look_usage: `belljar --help`, with the summaries of a NULL-ended table. Both return
 * the exit status: a full or closed standard output is no success. */
int look_print(const char *text);
int look_unwritten(int code); /* says that standard output did not take it all, and why. STATUS_CANNOT */
int look_usage(const struct command *const *commands);

/*
 * look_no_help: `belljar help NAME` for no subcommand. look_check_file: what `belljar WORD…` without a subcommand may be: nothing, "-", or a file that is there.
 * Returns: 0, or -EINVAL with the nearest subcommand or option where the word looks like one that was meant.
 */
int look_no_help(const struct look *look, const char *name, const struct command *const *commands); /* 125 */
int look_check_file(int argc, char *const *argv, const struct command *const *commands, struct err *e);
