/* SPDX-License-Identifier: MIT */
/*
 * Options read, and told, from a table: the parser, --help and the option list of the man page.
 * getopt_long(3) would print its own messages, take any unambiguous beginning for the whole name (which then breaks
 * when an option is added), and knows neither an option given twice nor the nearest name.
 */
#include "tui/options.h"

#include "core/base/base.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { OPTIONS_MAX = 64, CELL = 39, LABEL = 20, WIDE_LABEL = 25 };

struct parser {
	const struct option_row *table;
	void *into;
	char **argv;
	int argc, at;
	uint64_t seen; /* one bit a row */
};

int option_set_flag(void *into, const struct option_row *row, const char *value, struct err *e)
{
	(void) value;
	(void) e;
	*(bool *) ((char *) into + row->at) = true;
	return 0;
}

int option_set_text(void *into, const struct option_row *row, const char *value, struct err *e)
{
	(void) e;
	*(const char **) ((char *) into + row->at) = value;
	return 0;
}

int option_add_text(void *into, const struct option_row *row, const char *value, struct err *e)
{
	char ***list = (char ***) ((char *) into + row->at);

	(void) e;
	*list = strv_add(*list, value);
	return 0;
}

static const struct option_row *row_by_name(const struct option_row *table, const char *name, size_t len)
{
	for (const struct option_row *row = table; row->name; row++)
		if (strlen(row->name) == len && memcmp(row->name, name, len) == 0)
			return row;
	return NULL;
}

static const struct option_row *row_by_letter(const struct option_row *table, char letter)
{
	for (const struct option_row *row = table; row->name; row++)
		if (row->letter == letter)
			return row;
	return NULL;
}

static int unknown_name(const struct parser *p, const char *name, size_t len, struct err *e)
{
	const char *names[OPTIONS_MAX + 1];
	size_t count = 0;
	FREE char *word = xstrndup(name, len);

	for (const struct option_row *row = p->table; row->name; row++)
		if (!row->hidden)
			names[count++] = row->name;
	names[count] = NULL;

	const char *nearest = str_nearest(word, names);
	if (nearest)
		return err_say(e, EINVAL, "unknown option --%s; the nearest is --%s", word, nearest);
	return err_say(e, EINVAL, "unknown option --%s; --help lists them", word);
}

/* Whether a word is an option of this table, so that `--memory --json` is not taken for a size called "--json". */
static bool is_option(const struct option_row *table, const char *word)
{
	if (str_starts(word, "--"))
		return row_by_name(table, word + 2, strcspn(word + 2, "=")) != NULL;
	return word[0] == '-' && word[1] && !word[2] && row_by_letter(table, word[1]);
}

/* `shown` is the option as it was written; `value` what was glued to it, or NULL. */
static int take(struct parser *p, const struct option_row *row, const char *shown, const char *value,
		struct err *e)
{
	uint64_t bit = UINT64_C(1) << (row - p->table);

	if ((p->seen & bit) && !row->repeats)
		return err_say(e, EINVAL, "%s was given twice", shown);
	p->seen |= bit;
	if (!row->argument && value)
		return err_say(e, EINVAL, "%s takes no argument, but got \"%s\"", shown, value);
	if (row->argument && !value) {
		const char *next = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;
		if (!next || strcmp(next, "--") == 0)
			return err_say(e, EINVAL, "%s needs an argument: %s %s", shown, shown, row->argument);
		if (is_option(p->table, next))
			return err_say(
				e, EINVAL,
				"%s needs an argument, but %s follows; should that be its value, write it as "
				"--%s=%s",
				shown, next, row->name, next);
		value = next;
		p->at++;
	}

	int r = row->set(p->into, row, value, e);
	return r < 0 ? err_in(e, "%s", shown) : 0;
}

static int take_long(struct parser *p, const char *word, struct err *e)
{
	size_t len = strcspn(word, "=");
	const struct option_row *row = row_by_name(p->table, word + 2, len - 2);

	if (!row)
		return unknown_name(p, word + 2, len - 2, e);
	FREE char *shown = xstrndup(word, len);
	return take(p, row, shown, word[len] ? word + len + 1 : NULL, e);
}

static int take_letters(struct parser *p, const char *word, struct err *e)
{
	for (const char *c = word + 1; *c; c++) {
		char shown[3] = { '-', *c, '\0' };
		const struct option_row *row = row_by_letter(p->table, *c);

		if (!row && word[2] && row_by_name(p->table, word + 1, strcspn(word + 1, "=")))
			return err_say(e, EINVAL, "unknown option %s; long names have two dashes: -%s", shown,
				       word);
		if (!row)
			return err_say(e, EINVAL, "unknown option -%c in \"%s\"; --help lists them", *c,
				       word);
		if (row->argument)
			return take(p, row, shown, c[1] ? c + 1 : NULL, e);
		int r = take(p, row, shown, NULL, e);
		if (r < 0)
			return r;
	}
	return 0;
}

int options_parse(const struct option_row *table, void *into, int argc, char **argv, int *ret_words,
		  char ***ret_after, struct err *e)
{
	struct parser p = { .table = table, .into = into, .argv = argv, .argc = argc, .at = 1 };
	int words = 0, r = 0;
	size_t rows = 0;

	while (table[rows].name)
		rows++;
	assert(rows <= OPTIONS_MAX);
	*ret_after = NULL;
	for (; p.at < argc && r == 0; p.at++) {
		char *word = argv[p.at];
		if (strcmp(word, "--") == 0) {
			*ret_after = argv + p.at + 1;
			break;
		}
		if (str_starts(word, "--"))
			r = take_long(&p, word, e);
		else if (word[0] == '-' && word[1])
			r = take_letters(&p, word, e);
		else
			argv[++words] = word;
	}
	*ret_words = words;
	return r;
}

static void label_of(const struct option_row *row, struct buf *out)
{
	if (row->letter)
		buf_printf(out, "-%c, ", row->letter);
	buf_printf(out, "--%s", row->name);
	if (row->argument)
		buf_printf(out, " %s", row->argument);
}

static void pad_to(struct buf *out, size_t start, size_t column)
{
	while (out->len - start < column)
		buf_str(out, " ");
}

/* A row that fits beside another one: its label and phrase, and a blank, within half of the screen. */
static bool is_short(const struct option_row *row)
{
	struct buf label = { 0 };

	label_of(row, &label);
	bool fits = label.len < LABEL && LABEL + strlen(row->help) < CELL;
	buf_done(&label);
	return fits;
}

void options_help(const struct option_row *table, struct buf *out)
{
	size_t line = out->len;
	bool half = false; /* a short row stands alone on this line so far */

	for (const struct option_row *row = table; row->name; row++) {
		if (row->hidden)
			continue;
		if (half && (!is_short(row) || row->heading)) {
			buf_str(out, "\n");
			half = false;
		}
		if (row->heading)
			buf_printf(out, "%s:\n", row->heading);
		if (!half)
			line = out->len;
		pad_to(out, line, half ? 2 + CELL : 2);
		size_t cell = out->len;
		label_of(row, out);
		pad_to(out, cell, is_short(row) ? LABEL : WIDE_LABEL);
		buf_str(out, row->help);
		half = is_short(row) && !half;
		if (!half)
			buf_str(out, "\n");
	}
	if (half)
		buf_str(out, "\n");
}

/* A phrase for mdoc(7): a line that begins with a dot or a quote would be taken for a request, a backslash for an escape,
 * a hyphen for a place to break. Each sentence gets a line, so that roff sets the space between them. */
static void man_text(const char *text, struct buf *out)
{
	if (*text == '.' || *text == '\'')
		buf_str(out, "\\&");
	for (; *text; text++) {
		if (*text == '\\' || *text == '-')
			buf_str(out, *text == '-' ? "\\-" : "\\e");
		else if (*text == ' ' && text[-1] == '.')
			buf_str(out, "\n");
		else
			buf_add(out, text, 1);
	}
	buf_str(out, "\n");
}

void options_man(const struct option_row *table, struct buf *out)
{
	for (const struct option_row *row = table; row->name; row++) {
		if (row->hidden)
			continue;
		if (row->letter)
			buf_printf(out, ".It Fl %c , Fl \\-%s", row->letter, row->name);
		else
			buf_printf(out, ".It Fl \\-%s", row->name);
		if (row->argument)
			buf_printf(out, " Ar %s", row->argument);
		buf_str(out, "\n");
		if (row->man) {
			man_text(row->man, out);
			continue;
		}
		FREE char *sentence = xprintf("%c%s.", toupper((unsigned char) row->help[0]), row->help + 1);
		man_text(sentence, out);
	}
}
