/* SPDX-License-Identifier: MIT */
/*
 * Compose: code is staged, looked at, given a preset. Nothing runs here; `r` is the only way to a run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/screen/app.h"
#include "tui/screen/editor.h"
#include "tui/screen/facts.h"

#define WIDE     110  /* from here on the preset's facts stand beside the code */
#define RAW_LINE 4096 /* bytes of a line that are looked at for drawing; Right does not go beyond */

static bool needs_look(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char) line[i] < ' ' && line[i] != '\t')
			return true;
	return false;
}

/* One line of code as it can be shown: tabs stay tabs, the rest is scrubbed. */
static void draw_code_line(struct app *app, const struct pane *pane, int row, size_t number, int gutter)
{
	size_t len = 0;
	const char *line = draft_line(&app->draft, number, &len);
	if (!line)
		return;
	struct scrub scrub = { .ascii = app->ascii };
	struct buf text = { 0 };
	scrub_add(&scrub, line, len > RAW_LINE ? RAW_LINE : len, &text);
	scrub_end(&scrub, &text);
	struct clean clean = clean_scrubbed(text.data ? text.data : "", text.len);
	struct pane code = pane_cut(pane, row, gutter, 1, pane->columns - gutter);
	bool found = app->compose.found == number + 1;
	bool odd = needs_look(line, len) || (text.data && strstr(text.data, app->ascii ? "<U+" : "⟨"));
	pane_put(pane, row, 0, ROLE_WARN, odd ? "!" : " ");
	pane_printf(pane, row, 1, found ? ROLE_SELECTED : ROLE_NUMBER, "%*zu", gutter - 3, number + 1);
	pane_scrolled(&code, 0, found ? ROLE_FOUND : ROLE_TEXT, clean, app->compose.shift);
	if (len > RAW_LINE)
		pane_printf(&code, 0, code.columns - 12, ROLE_UNKNOWN, "…+%zu KiB",
			    (len - RAW_LINE + 1023) / 1024);
	buf_done(&text);
}

static void draw_empty(const struct app *app, const struct pane *pane)
{
	static const char *const lines[] = {
		"Nothing is staged. Bring code in one of these ways:",
		"",
		"paste it here",
		"pipe it in:   agent | belljar",
		"o             open a file",
		"i             type it, until ^D",
		"e             write it in your editor",
		"?             every key and every command",
		"",
		"It is only looked at. Nothing runs until you press r.",
	};
	if (app->intake.reading || app->compose.inserting)
		return;
	int top = pane->rows > (int) ARRAY_LEN(lines) ? (pane->rows - (int) ARRAY_LEN(lines)) / 2 : 0;
	int left = pane->columns > 56 ? (pane->columns - 52) / 2 : 1;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		pane_put(pane, top + (int) i, left, i == 0 ? ROLE_STRONG : ROLE_TEXT, lines[i]);
}

static void draw_code(struct app *app, const struct pane *pane)
{
	struct compose_state *c = &app->compose;
	size_t lines = app->draft.code.len ? app->draft.found.lines : 0;
	int digits = snprintf(NULL, 0, "%zu", lines), gutter = (digits < 3 ? 3 : digits) + 3;
	c->rows = pane->rows > 0 ? (size_t) pane->rows : 1;
	if (c->inserting) /* the end is where the typing happens */
		c->top = lines > c->rows ? lines - c->rows + 1 : 0;
	else if (c->top >= lines)
		c->top = lines ? lines - 1 : 0;
	if (lines == 0)
		draw_empty(app, pane);
	for (int row = 0; row < pane->rows; row++)
		draw_code_line(app, pane, row, c->top + (size_t) row, gutter);
	if (!c->inserting)
		return;
	/* The cursor: after the last character, or on the line that a newline began. */
	size_t len = 0, last = lines ? lines - 1 : 0;
	const char *line = lines ? draft_line(&app->draft, last, &len) : NULL;
	bool fresh = app->draft.code.len == 0 || app->draft.code.data[app->draft.code.len - 1] == '\n';
	struct clean clean = clean_line(line && !fresh ? line : "", line && !fresh ? len : 0, app->ascii);
	pane_cursor(pane, (int) (last - c->top) + (fresh && lines ? 1 : 0), gutter + clean_columns(clean));
	clean_free(&clean);
}

/* Draws the notes, each wrapped; returns the rows they take. On a pane without rows it only measures. */
static int draw_notes(const struct draft *s, const struct pane *pane)
{
	int row = 0;
	for (int i = 0; i < s->note_count; i++) {
		struct pane text = pane_cut(pane, 0, 2, pane->rows, pane->columns - 3);
		pane_put(pane, row, 0, ROLE_WARN, s->notes[i].warning ? "!" : "");
		row += pane_wrapped(&text, row, s->notes[i].warning ? ROLE_WARN : ROLE_TEXT,
				    s->notes[i].text);
	}
	return row;
}

/* The names of the presets, the chosen one in brackets, as many rows as they need; below, what it is.
 * Returns the rows used: on a pane without rows it only measures. */
static int draw_presets(struct app *app, const struct pane *pane)
{
	const struct draft *s = &app->draft;
	int column = 1, row = 0;
	for (size_t i = 0; s->presets && s->presets[i]; i++) {
		struct clean name = clean_str(s->presets[i], app->ascii);
		bool chosen = s->policy && i == s->preset;
		if (column > 1 && column + clean_columns(name) + 3 > pane->columns) {
			row++;
			column = 1;
		}
		pane_put(pane, row, column, ROLE_TAB, chosen ? "[" : "");
		pane_clean(pane, row, column + 1, chosen ? ROLE_TAB : ROLE_TEXT, name);
		column += 1 + clean_columns(name);
		pane_put(pane, row, column, ROLE_TAB, chosen ? "]" : "");
		column += 2;
		clean_free(&name);
	}
	struct clean summary = clean_str(s->policy ? s->policy->summary : "", app->ascii);
	pane_clean(pane, row + 1, 2, ROLE_TEXT, summary);
	clean_free(&summary);
	return row + 2;
}

static void compose_draw(struct app *app, const struct pane *body)
{
	bool wide = body->columns >= WIDE;
	draft_review(&app->draft);
	if (body->rows < 12 || body->columns < 50) {
		draw_code(app, body);
		return;
	}
	struct pane left = pane_cut(body, 0, 0, body->rows, wide ? body->columns * 3 / 5 : body->columns);
	struct pane nowhere = pane_cut(&left, 0, 1, 0, left.columns - 2);
	int notes = draw_notes(&app->draft, &nowhere), most = body->rows / 3;
	struct section sections[3] = {
		{ .title = "Code", .rows = -1, .focus = true },
		{ .title = "Before you run",
		  .rows = notes < 1      ? 1
			  : notes > most ? most
					 : notes },
		{ .title = "Preset   P chooses", .rows = draw_presets(app, &nowhere) },
	};
	box_stack(&left, sections, 3, BOX_CLOSED);
	draw_code(app, &sections[0].in);
	if (draw_notes(&app->draft, &sections[1].in) == 0)
		pane_put(&sections[1].in, 0, 2, ROLE_TEXT,
			 app->draft.code.len ? "Nothing odd was seen in it." : "");
	(void) draw_presets(app, &sections[2].in);
	if (!wide)
		return;
	struct pane right = pane_cut(body, 0, left.columns, body->rows, body->columns - left.columns);
	struct section facts = { .title = "What this preset enforces", .rows = -1 };
	box_stack(&right, &facts, 1, BOX_CLOSED);
	if (app->draft.policy)
		draw_policy(app->draft.policy, &facts.in, app->ascii);
}

static void compose_status(struct app *app, const struct pane *row)
{
	char size[32];
	struct draft *s = &app->draft;
	draft_review(s);
	if (app->intake.reading) {
		pane_printf(row, 0, 1, ROLE_STRONG, "READING standard input: %s",
			    format_bytes(app->intake.bytes.len, size, sizeof(size)));
		return;
	}
	if (app->compose.inserting) {
		pane_put(row, 0, 1, ROLE_STRONG, "INSERT: what you type or paste is code, until ^D");
		return;
	}
	if (s->code.len == 0) {
		pane_put(row, 0, 1, ROLE_STRONG, "NOTHING STAGED");
		return;
	}
	int column = pane_put(row, 0, 1, ROLE_STRONG, "STAGED, NOT RUN");
	struct pane name = pane_cut(row, 0, column + 2, 1, row->columns / 4);
	int end = pane_clean(&name, 0, 0, ROLE_STRONG, s->name);
	column += 2 + (end < name.columns ? end : name.columns);
	column = pane_printf(row, 0, column + 2, ROLE_TEXT, "%zu line%s  %s", s->found.lines,
			     s->found.lines == 1 ? "" : "s", format_bytes(s->code.len, size, sizeof(size)));
	if (s->language)
		column = pane_printf(row, 0, column + 2, ROLE_TEXT, "%s", s->language->title);
	else
		column = pane_put(row, 0, column + 2, ROLE_UNKNOWN, "language ?");
	if (s->program.len && row->columns >= 100)
		column = pane_clean(row, 0, pane_put(row, 0, column, ROLE_TEXT, " by "), ROLE_TEXT,
				    s->program);
	if (row->columns - column >= 18)
		pane_printf(row, 0, row->columns - 16, ROLE_TEXT, "sha256 %.8s", s->sha256);
}

static void compose_sentence(struct app *app, struct buf *out)
{
	if (app->intake.reading)
		buf_str(out, "Code is still coming. x gives up waiting for it.");
	else if (app->compose.inserting)
		buf_str(out, "^D ends the typing, ^C takes it back.");
	else
		buf_str(out, "Nothing runs until you press r.");
}

static void compose_move(struct app *app, enum move move)
{
	struct compose_state *c = &app->compose;
	if (move == MOVE_LEFT)
		c->shift = c->shift > 8 ? c->shift - 8 : 0;
	else if (move == MOVE_RIGHT)
		c->shift += c->shift < RAW_LINE ? 8 : 0;
	else
		c->top = scrolled(c->top, c->rows, app->draft.found.lines, move);
}

static bool compose_find(struct app *app, const char *text, bool back)
{
	struct compose_state *c = &app->compose;
	size_t lines = app->draft.code.len ? app->draft.found.lines : 0, len = 0;
	size_t at = c->found ? c->found - 1 + (back ? 0 : 1) : back ? lines : c->top;
	while (back ? at-- > 0 : at < lines) {
		const char *line = draft_line(&app->draft, at, &len);
		if (line && memmem(line, len, text, strlen(text))) {
			c->found = at + 1;
			c->top = at > c->rows / 2 ? at - c->rows / 2 : 0;
			return true;
		}
		at += back ? 0 : 1;
	}
	c->found = 0;
	return false;
}

static bool compose_back(struct app *app)
{
	bool open = app->compose.found || app->compose.shift;
	app->compose.found = 0;
	app->compose.shift = 0;
	return open;
}

static void end_insert(struct app *app)
{
	app->compose.inserting = false;
	app->compose.top = 0;
}

static bool compose_key(struct app *app, uint32_t key)
{
	struct err e = { 0 };
	char bytes[8];
	int r = 0;
	if (!app->compose.inserting)
		return false;
	if (key == K_CTRL('D') || key == K_ESC) {
		end_insert(app);
	} else if (key == K_CTRL('C')) {
		end_insert(app);
		(void) draft_undo(&app->draft);
		app_say(app, "Thrown away: it is as it was.");
	} else if (key == K_BACKSPACE) {
		draft_cut(&app->draft);
	} else if (key == K_ENTER || key == K_TAB) {
		r = draft_append(&app->draft, key == K_TAB ? "\t" : "\n", 1, &e);
	} else if (key == K_CTRL('Z') || key == K_CTRL('L')) {
		return false;
	} else if (key >= ' ' && key < K_UP) {
		int len = wctomb(bytes, (wchar_t) key);
		r = len > 0 ? draft_append(&app->draft, bytes, (size_t) len, &e) : 0;
	}
	if (r < 0)
		app_warn(app, "%s", e.text);
	return true;
}

static void compose_paste(struct app *app, const char *text, size_t len, const char *arrival)
{
	struct err e;
	intake_stop(app);
	int r = app->compose.inserting ? draft_append(&app->draft, text, len, &e)
				       : draft_set(&app->draft, "pasted", text, len, arrival, &e);
	if (r < 0) {
		app_warn(app, "%s", e.text);
		return;
	}
	if (!app->compose.inserting)
		app->compose = (struct compose_state){ 0 };
	app_say(app, "Pasted, not run: %zu bytes. r runs them.", len);
}

static void clear(struct app *app, const char *argument)
{
	(void) argument;
	intake_stop(app);
	draft_clear(&app->draft);
	app->compose = (struct compose_state){ 0 };
	app_say(app, "Nothing is staged now. u brings it back.");
}

static void undo(struct app *app, const char *argument)
{
	(void) argument;
	if (!draft_undo(&app->draft)) {
		app_say(app, "There is nothing to go back to.");
		return;
	}
	app->compose = (struct compose_state){ 0 };
	app_say(app, "As it was before.");
}

static void insert(struct app *app, const char *argument)
{
	(void) argument;
	intake_stop(app);
	draft_remember(&app->draft);
	app->compose.inserting = true;
	if (app->plain)
		app_say(app, "What is typed now is code, until ^D at the beginning of a line (in a script: a "
			     "dot alone on a line).");
}

static int edit_copy(struct app *app, char *path, size_t suffix, struct err *e)
{
	struct draft *s = &app->draft;
	CLOSE_FD int fd = mkostemps(path, (int) suffix, O_CLOEXEC);
	if (fd < 0)
		return err_set(e, errno, "make a file to edit");
	int r = write_all(fd, s->code.data ? s->code.data : "", s->code.len);
	if (r < 0)
		return err_set(e, -r, "write the file to edit");
	if ((r = editor_run(app, path, e)) < 0)
		return r;
	FREE char *title = xstrdup(s->title ? s->title : "typed");
	const struct language *chosen = s->chosen;
	r = draft_open(s, path, e);
	if (r < 0)
		return r;
	free(s->title);
	s->title = take_ptr(&title);
	s->chosen = chosen;
	return 0;
}

static void edit(struct app *app, const char *argument)
{
	struct err e;
	const char *dir = getenv("TMPDIR"), *extension = "";
	(void) argument;
	draft_review(&app->draft);
	if (app->draft.language)
		extension = app->draft.language->extensions[0];
	FREE char *path = xprintf("%s/belljar-XXXXXX%s%s", dir && *dir ? dir : "/tmp", *extension ? "." : "",
				  extension);
	if (edit_copy(app, path, *extension ? strlen(extension) + 1 : 0, &e) < 0)
		app_warn(app, "%s", e.text);
	(void) unlink(path);
}

/* ---- for plain mode ---- */

void compose_summary(struct app *app, struct buf *out)
{
	char size[32];
	struct draft *s = &app->draft;
	draft_review(s);
	if (s->code.len == 0) {
		buf_str(out, "Nothing is staged: open FILE stages one, insert takes what is typed.\n");
		return;
	}
	buf_printf(out, "Staged, not run: %.*s, %zu line%s, %s, %s, sha256 %.8s\n", (int) s->name.len,
		   s->name.text, s->found.lines, s->found.lines == 1 ? "" : "s",
		   format_bytes(s->code.len, size, sizeof(size)),
		   s->language ? s->language->title : "language not known", s->sha256);
	for (int i = 0; i < s->note_count; i++)
		buf_printf(out, "%s: %.*s\n", s->notes[i].warning ? "WARNING" : "Note",
			   (int) s->notes[i].text.len, s->notes[i].text.text);
	if (s->policy)
		buf_printf(out, "Preset: %s. %s\n", s->presets[s->preset],
			   s->policy->summary ? s->policy->summary : "");
	else
		buf_str(out, "No preset: none could be loaded.\n");
}

static void compose_tell(struct app *app, struct buf *out)
{
	compose_summary(app, out);
	size_t lines = app->draft.code.len ? app->draft.found.lines : 0, len = 0;
	for (size_t i = 0; i < lines; i++) {
		struct scrub scrub = { .ascii = app->ascii };
		const char *line = draft_line(&app->draft, i, &len);
		buf_printf(out, "%zu: ", i + 1);
		scrub_add(&scrub, line ? line : "", line ? len : 0, out);
		scrub_end(&scrub, out);
		buf_str(out, "\n");
	}
}

/* clang-format off */
static const struct action actions[] = {
	{ "clear", NULL, "throw the staged code away", clear },
	{ "undo", NULL, "what was staged before", undo },
	{ "insert", NULL, "type or paste code until ^D", insert },
	{ "edit", NULL, "open the code in $VISUAL or $EDITOR", edit },
	{ .name = NULL },
};
/* clang-format on */

const struct view compose_view = {
	.id = VIEW_COMPOSE,
	.title = "Compose",
	.means = "Code is staged here: pasted, piped in, opened or typed. It is shown as it is, with "
		 "everything that hides or misleads made visible, and it does not run until you press r. "
		 "The preset says what the run will be allowed.",
	.actions = actions,
	.draw = compose_draw,
	.status = compose_status,
	.sentence = compose_sentence,
	.move = compose_move,
	.find = compose_find,
	.back = compose_back,
	.key = compose_key,
	.paste = compose_paste,
	.tell = compose_tell,
};
