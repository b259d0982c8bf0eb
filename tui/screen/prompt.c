/* SPDX-License-Identifier: MIT */
/*
 * The prompt line. What is typed is kept as bytes of UTF-8 and scrubbed for display: a file name that Tab
 * brought may hold anything.
 */
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/screen/app.h"

static const char *const leads[PROMPT_KINDS] = {
	[PROMPT_COMMAND] = ":",
	[PROMPT_FIND] = "/",
	[PROMPT_FILTER] = "filter: ",
	[PROMPT_QUIT] = "A run lives: y stops it and leaves, any other key stays. ",
};

void prompt_open(struct app *app, enum prompt_kind kind, const char *text)
{
	struct prompt *p = &app->prompt;
	if (app->plain && kind != PROMPT_QUIT) {
		app_warn(app,
			 kind == PROMPT_COMMAND
				 ? "Say it in full: \"%s\" and what it is about; help lists the commands."
				 : "Say what to look for: find TEXT, filter TEXT.%.0s",
			 text);
		return;
	}
	if (app->plain)
		app_say(app, "%s", leads[kind]);
	p->kind = kind;
	(void) snprintf(p->text, sizeof(p->text), "%s", text);
	p->len = p->cursor = strlen(p->text);
	p->recalled = p->history_count[kind];
	app_dirty(app);
}

void prompt_done(struct prompt *p)
{
	for (int kind = 0; kind < PROMPT_KINDS; kind++)
		for (int i = 0; i < p->history_count[kind]; i++)
			free(p->history[kind][i]);
	*p = (struct prompt){ 0 };
}

static size_t before(const struct prompt *p, size_t at)
{
	while (at > 0 && ((unsigned char) p->text[--at] & 0xc0) == 0x80)
		;
	return at;
}

static size_t after(const struct prompt *p, size_t at)
{
	if (at < p->len)
		at++;
	while (at < p->len && ((unsigned char) p->text[at] & 0xc0) == 0x80)
		at++;
	return at;
}

static size_t word_before(const struct prompt *p, size_t at)
{
	while (at > 0 && p->text[at - 1] == ' ')
		at--;
	while (at > 0 && p->text[at - 1] != ' ')
		at--;
	return at;
}

static size_t word_after(const struct prompt *p, size_t at)
{
	while (at < p->len && p->text[at] == ' ')
		at++;
	while (at < p->len && p->text[at] != ' ')
		at++;
	return at;
}

static void cut(struct prompt *p, size_t from, size_t to, bool keep)
{
	if (from >= to)
		return;
	if (keep) {
		memcpy(p->killed, p->text + from, to - from);
		p->killed[to - from] = '\0';
	}
	memmove(p->text + from, p->text + to, p->len - to + 1);
	p->len -= to - from;
	p->cursor = from;
}

static void insert(struct prompt *p, const char *text, size_t len)
{
	if (len > sizeof(p->text) - 1 - p->len)
		return;
	memmove(p->text + p->cursor + len, p->text + p->cursor, p->len - p->cursor + 1);
	memcpy(p->text + p->cursor, text, len);
	p->len += len;
	p->cursor += len;
}

static void recall(struct prompt *p, int step)
{
	int at = p->recalled + step, count = p->history_count[p->kind];
	if (at < 0 || at > count)
		return;
	p->recalled = at;
	(void) snprintf(p->text, sizeof(p->text), "%s", at < count ? p->history[p->kind][at] : "");
	p->len = p->cursor = strlen(p->text);
}

static void remember(struct prompt *p)
{
	char **history = p->history[p->kind];
	int *count = &p->history_count[p->kind];
	if (p->len == 0 || (*count > 0 && strcmp(history[*count - 1], p->text) == 0))
		return;
	if (*count == HISTORY_MAX) {
		free(history[0]);
		memmove(history, history + 1, (HISTORY_MAX - 1) * sizeof(*history));
		--*count;
	}
	history[(*count)++] = xstrdup(p->text);
}

/* The names of files that begin so; a folder's with a slash behind it. */
static char **file_names(const char *beginning)
{
	FREE char *pattern = xprintf("%s*", beginning);
	char **all = NULL;
	glob_t found;
	if (glob(pattern, GLOB_MARK | GLOB_NOESCAPE, NULL, &found) == 0) {
		all = strv_dup(found.gl_pathv);
		globfree(&found);
	}
	return all;
}

static char **action_names(const struct app *app)
{
	char **all = NULL;
	const struct action *table;
	for (size_t n = 0; (table = app_actions(app, n)); n++)
		for (const struct action *a = table; a->name; a++)
			all = strv_add(all, a->name);
	return all;
}

static char **view_names(void)
{
	char **all = NULL;
	for (int i = 0; i < VIEW_MAX; i++)
		all = strv_add(all, views[i]->title);
	return all;
}

static char **language_names(void)
{
	char **all = NULL;
	for (size_t i = 0; languages[i]; i++)
		all = strv_add(all, languages[i]->name);
	return all;
}

/* Where nothing is typed yet, the folder that they are kept in; from there on it is a path like any other. */
static char **recording_names(const char *word)
{
	struct err ignored;
	FREE char *folder = *word ? NULL : xdg_folder(XDG_STATE, "runs/", false, &ignored);
	return file_names(folder ? folder : word);
}

static bool is_one_of(const char *line, size_t len, const char *const *names)
{
	for (; *names; names++)
		if (strlen(*names) == len && strncmp(*names, line, len) == 0)
			return true;
	return false;
}

/* What may stand at this place of a command line: names of commands, then by the command. Gives: strv. */
static char **candidates(struct app *app, const char *line, size_t word)
{
	static const char *const of_presets[] = { "preset", "presets", "edit-preset", "levels", NULL };
	static const char *const of_recordings[] = { "replay", "beside", NULL };
	static const char *const of_files[] = { "open", "save-display", NULL };
	size_t name = strcspn(line, " ");
	if (word == 0)
		return action_names(app);
	if (is_one_of(line, name, of_presets))
		return preset_names();
	if (is_one_of(line, name, of_recordings))
		return recording_names(line + word);
	if (is_one_of(line, name, of_files))
		return file_names(line + word);
	if (is_one_of(line, name, (const char *const[]){ "screen", NULL }))
		return view_names();
	return is_one_of(line, name, (const char *const[]){ "language", NULL }) ? language_names() : NULL;
}

/* A name that cannot be shown as it is cannot be typed either. */
static bool is_plain_text(const char *name)
{
	FREE char *clean = text_line(name, strlen(name), false);
	return strcmp(clean, name) == 0;
}

/* Where the word begins that is being typed: commands for lists take several, a file's name may have blanks. */
static size_t word_begin(const char *typed)
{
	static const char *const of_lists[] = { "presets", "levels", NULL };
	const char *blank = strchr(typed, ' ');
	if (blank && is_one_of(typed, (size_t) (blank - typed), of_lists))
		blank = strrchr(typed, ' ');
	return blank ? (size_t) (blank - typed) + 1 : 0;
}

char **prompt_complete(struct app *app, const char *typed, char **ret_add)
{
	size_t word = word_begin(typed), len = strlen(typed + word), common = 0;
	char **all = candidates(app, typed, word), **fit = NULL;
	for (size_t i = 0; all && all[i]; i++) {
		if (strncmp(all[i], typed + word, len) != 0 || !is_plain_text(all[i]) ||
		    strv_has(fit, all[i]))
			continue;
		if (!fit)
			common = strlen(all[i]);
		while (fit && strncmp(fit[0], all[i], common) != 0)
			common--;
		fit = strv_add(fit, all[i]);
	}
	strv_free(all);
	bool alone = strv_len(fit) == 1 && word == 0;
	*ret_add =
		fit ? xprintf("%.*s%s", (int) (common - len), fit[0] + len, alone ? " " : "") : xstrdup("");
	return fit;
}

static void complete(struct app *app)
{
	struct prompt *p = &app->prompt;
	if (p->kind != PROMPT_COMMAND || p->cursor != p->len)
		return;
	FREE char *add = NULL;
	char **all = prompt_complete(app, p->text, &add);
	insert(p, add, strlen(add));
	strv_free(all);
}

static void finish(struct app *app)
{
	struct prompt *p = &app->prompt;
	enum prompt_kind kind = p->kind;
	FREE char *text = xstrdup(p->text);
	remember(p);
	p->kind = PROMPT_NONE;
	if (kind == PROMPT_COMMAND) {
		app_command(app, text);
	} else if (kind == PROMPT_FIND || kind == PROMPT_FILTER) {
		const char *without = kind == PROMPT_FIND ? "find-next" : "filter-off";
		FREE char *line = xprintf("%s %s", kind == PROMPT_FIND ? "find" : "filter", text);
		app_command(app, *text ? line : without);
	}
}

/* clang-format off */
static bool edit_key(struct prompt *p, uint32_t key)
{
	switch (key) {
	case K_CTRL('A'): case K_HOME: p->cursor = 0; return true;
	case K_CTRL('E'): case K_END: p->cursor = p->len; return true;
	case K_CTRL('B'): case K_LEFT: p->cursor = before(p, p->cursor); return true;
	case K_CTRL('F'): case K_RIGHT: p->cursor = after(p, p->cursor); return true;
	case K_ALT | 'b': p->cursor = word_before(p, p->cursor); return true;
	case K_ALT | 'f': p->cursor = word_after(p, p->cursor); return true;
	case K_CTRL('D'): case K_DELETE: cut(p, p->cursor, after(p, p->cursor), false); return true;
	case K_BACKSPACE: cut(p, before(p, p->cursor), p->cursor, false); return true;
	case K_CTRL('K'): cut(p, p->cursor, p->len, true); return true;
	case K_CTRL('U'): cut(p, 0, p->cursor, true); return true;
	case K_CTRL('W'): cut(p, word_before(p, p->cursor), p->cursor, true); return true;
	case K_ALT | 'd': cut(p, p->cursor, word_after(p, p->cursor), true); return true;
	case K_CTRL('Y'): insert(p, p->killed, strlen(p->killed)); return true;
	case K_CTRL('P'): case K_UP: recall(p, -1); return true;
	case K_CTRL('N'): case K_DOWN: recall(p, +1); return true;
	default: return false;
	}
}
/* clang-format on */

static void insert_rune(struct prompt *p, uint32_t key)
{
	char bytes[MB_LEN_MAX];
	int len = key >= ' ' && key < K_UP ? wctomb(bytes, (wchar_t) key) : -1;
	if (len > 0)
		insert(p, bytes, (size_t) len);
}

void prompt_key(struct app *app, uint32_t key)
{
	struct prompt *p = &app->prompt;
	app_dirty(app);
	if (p->kind == PROMPT_QUIT) {
		p->kind = PROMPT_NONE;
		if (key == 'y' || key == 'Y')
			app_quit(app, 0);
		else
			app_say(app, "The run goes on.");
	} else if (key == K_ENTER) {
		finish(app);
	} else if (key == K_ESC || key == K_CTRL('C') || key == K_CTRL('G')) {
		p->kind = PROMPT_NONE;
	} else if (key == K_BACKSPACE && p->len == 0) {
		p->kind = PROMPT_NONE;
	} else if (key == K_TAB) {
		complete(app);
	} else if (!edit_key(p, key)) {
		insert_rune(p, key);
	}
}

void prompt_paste(struct app *app, const char *text, size_t len)
{
	struct prompt *p = &app->prompt;
	if (p->kind == PROMPT_QUIT)
		return;
	const char *newline = memchr(text, '\n', len);
	size_t line = newline ? (size_t) (newline - text) : len;
	if (memchr(text, '\0', line) || !text_is_utf8(text, line) || line > sizeof(p->text) - 1 - p->len) {
		app_warn(app, "What was pasted does not fit into this line.");
		return;
	}
	insert(p, text, line);
	app_dirty(app);
}

void prompt_draw(struct app *app, const struct pane *row)
{
	const struct prompt *p = &app->prompt;
	int column = pane_put(row, 0, 1, ROLE_STRONG, leads[p->kind]);
	struct pane field = pane_cut(row, 0, column, 1, row->columns - column);
	struct clean head = clean_line(p->text, p->cursor, app->ascii);
	struct clean all = clean_line(p->text, p->len, app->ascii);
	int cursor = clean_columns(head), shift = cursor >= field.columns ? cursor - field.columns + 1 : 0;
	pane_scrolled(&field, 0, ROLE_TEXT, all, shift);
	pane_cursor(&field, 0, cursor - shift);
	clean_free(&head);
	clean_free(&all);
}
