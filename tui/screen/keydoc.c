/* SPDX-License-Identifier: MIT */
/*
 * Documentation made from the tables that the screens themselves go by, so that it cannot say anything else.
 */
#include "tui/screen/keydoc.h"

#include <ctype.h>
#include <string.h>

#include "core/base/base.h"
#include "tui/screen/app.h"

/* To mdoc a backslash begins an escape, a hyphen is a place to break, and a lone sign is punctuation. */
static void man_word(const char *word, struct buf *out)
{
	if (!isalnum((unsigned char) *word))
		buf_str(out, "\\&");
	for (; *word; word++)
		if (str_starts(word, "…")) {
			buf_str(out, "...");
			word += strlen("…") - 1;
		} else if (*word == '\\' || *word == '-' || *word == '^')
			buf_str(out, *word == '-' ? "\\-" : *word == '^' ? "\\(ha" : "\\e");
		else if (*word == '\'' || *word == '`')
			buf_str(out, *word == '`' ? "\\(ga" : "\\(aq");
		else
			buf_add(out, word, 1);
}

static void man_sentence(const char *words, struct buf *out)
{
	if (!isalnum((unsigned char) *words))
		buf_str(out, "\\&");
	char first[] = { (char) toupper((unsigned char) *words), '\0' };
	buf_str(out, first);
	for (words++; *words; words++)
		if (*words == '-')
			buf_str(out, "\\-");
		else
			buf_add(out, words, 1);
	buf_str(out, ".\n");
}

static void man_list(const char *heading, struct buf *out)
{
	buf_printf(out, ".Ss %s\n.Bl -tag -width indent -compact\n", heading);
}

static void man_keys(enum view_id view, bool everywhere, struct buf *out)
{
	char name[16];
	for (const struct binding *b = bindings; b->views; b++) {
		if (!(b->views & IN(view)) || (b->views == IN_ALL) != everywhere)
			continue;
		buf_str(out, ".It");
		for (int i = 0; i < KEYS_MAX && b->keys[i] != K_NONE; i++) {
			buf_str(out, i ? " , Ic " : " Ic ");
			man_word(key_spell(b->keys[i], name, sizeof(name)), out);
		}
		buf_str(out, "\n");
		man_sentence(b->help, out);
	}
	buf_str(out, ".El\n");
}

static void man_commands(const struct action *actions, struct buf *out)
{
	for (const struct action *a = actions; a && a->name; a++) {
		buf_str(out, ".It Ic ");
		man_word(a->name, out);
		if (a->argument) {
			buf_str(out, " Ar \"");
			man_word(a->argument, out);
			buf_str(out, "\"");
		}
		buf_str(out, "\n");
		man_sentence(a->help, out);
	}
}

void keys_man(struct buf *out)
{
	const struct app app = { .view = &compose_view };
	for (int view = 0; view < VIEW_MAX; view++) {
		FREE char *heading = xprintf("Keys on %s", views[view]->title);
		man_list(heading, out);
		man_keys((enum view_id) view, false, out);
	}
	man_list("Keys while a call waits for an answer", out);
	man_keys(VIEW_ASK, false, out);
	man_list("Keys everywhere", out);
	man_keys(VIEW_COMPOSE, true, out);
	man_list("Commands everywhere", out);
	for (size_t n = 1; app_actions(&app, n); n++) /* 0 is the view's own */
		man_commands(app_actions(&app, n), out);
	buf_str(out, ".El\n");
	for (int view = 0; view < VIEW_MAX; view++) {
		FREE char *heading = xprintf("Commands of %s", views[view]->title);
		man_list(heading, out);
		man_commands(views[view]->actions, out);
		buf_str(out, ".El\n");
	}
}

/* In a cell of a table a bar ends it. */
static void readme_keys(enum view_id view, bool everywhere, struct buf *out)
{
	char name[16];
	const char *before = "";
	for (const struct binding *b = bindings; b->views; b++) {
		if (!(b->views & IN(view)) || (b->views == IN_ALL) != everywhere || !b->hint)
			continue;
		buf_printf(out, "%s`%s` ", before, key_spell(b->keys[0], name, sizeof(name)));
		bool twin = ispunct((unsigned char) b->hint[0]); /* the key of the other direction */
		buf_printf(out, twin ? "`%.1s`%s" : "%.0s%s", b->hint, b->hint + twin);
		before = ", ";
	}
	buf_str(out, " |\n");
}

void keys_readme(struct buf *out)
{
	buf_str(out, "| where | keys |\n|---|---|\n");
	for (int view = 0; view < VIEW_MAX; view++) {
		buf_printf(out, "| %s | ", views[view]->title);
		readme_keys((enum view_id) view, false, out);
	}
	buf_str(out, "| a call waits | ");
	readme_keys(VIEW_ASK, false, out);
	buf_str(out, "| everywhere | `1` to `7` screens, `-` the one before, ");
	readme_keys(VIEW_COMPOSE, true, out);
}
