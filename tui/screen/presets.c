/* SPDX-License-Identifier: MIT */
/*
 * Presets: what each enforces, in words; what parts two of them; a copy of one's own, to edit. What a preset comes to on
 * this machine is tried, not read off.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "core/supervise/supervise.h"
#include "tui/screen/app.h"
#include "tui/screen/editor.h"
#include "tui/screen/pick.h"
#include "tui/screen/reader.h"
#include "tui/screen/run_parts.h"

#define NAME_COLUMNS 24 /* of the list, where it stands beside the text */
#define WORDS_COLUMN 25 /* where policy_describe lets its words begin */

struct presets {
	char **names;
	struct pick pick;
	struct reader text;
	size_t told; /* whose text that is, + 1; 0: nobody's yet */
	char *other; /* marked for a comparison; NULL: none */
	bool differences, reading;
};

static struct presets *mine(struct app *app)
{
	if (!app->own[VIEW_PRESETS]) {
		struct presets *s = xcalloc(1, sizeof(*s));
		s->names = preset_names();
		for (size_t i = 0; app->draft.policy && s->names && s->names[i]; i++)
			if (strcmp(s->names[i], app->draft.presets[app->draft.preset]) == 0)
				s->pick.selected = i;
		app->own[VIEW_PRESETS] = s;
	}
	return app->own[VIEW_PRESETS];
}

static void done(struct app *app)
{
	struct presets *s = app->own[VIEW_PRESETS];

	if (!s)
		return;
	strv_free(s->names);
	reader_done(&s->text);
	free(s->other);
	free(s);
	app->own[VIEW_PRESETS] = NULL;
}

static const char *chosen(const struct presets *s)
{
	return s->pick.selected < strv_len(s->names) ? s->names[s->pick.selected] : NULL;
}

/* ---- the text ---- */

static void tell_differences(const struct presets *s, const struct policy *p, struct buf *out)
{
	struct policy *other = NULL;
	struct err e;

	if (!s->other) {
		buf_str(out, "Space marks one preset; d then shows what parts it from the chosen one.\n");
		return;
	}
	if (preset_load(s->other, &other, &e) < 0) {
		buf_printf(out, "%s\n", e.text);
		return;
	}
	buf_printf(out, "#- is %s, + is %s\n", other->name, p->name);
	if (policy_diff(other, p, out) == 0)
		buf_str(out, "Both enforce the same.\n");
	policy_free(other);
}

static void tell_here(const char *name, struct buf *out)
{
	struct event *start = NULL;
	struct err e;

	buf_str(out, "#On this machine, by a trial run\n");
	if (trial_run(name, &start, &e) < 0)
		buf_printf(out, "It does not start: %s\n", e.text);
	else
		trial_describe(start, out);
	event_free(start);
	buf_str(out, "\n#As it is written\n");
}

static void tell(struct app *app, bool here)
{
	struct presets *s = mine(app);
	const char *name = chosen(s);
	struct policy *p = NULL;
	struct buf out = { 0 };
	struct err e;

	if (!name)
		buf_str(&out, "There are no presets: is belljar installed whole?\n");
	else if (preset_load(name, &p, &e) < 0)
		buf_printf(&out, "%s\n\ne opens it in your editor.\n", e.text);
	else if (s->differences)
		tell_differences(s, p, &out);
	else {
		if (here)
			tell_here(name, &out);
		policy_describe(p, &out);
	}
	reader_set(&s->text, out.data, out.len, app->ascii);
	s->told = s->pick.selected + 1;
	policy_free(p);
	buf_done(&out);
}

/* ---- drawing ---- */

static void draw_names(struct app *app, const struct pane *pane)
{
	struct presets *s = mine(app);
	const char *next =
		app->draft.policy && app->draft.presets ? app->draft.presets[app->draft.preset] : "";

	pick_fit(&s->pick, pane->rows, strv_len(s->names));
	for (int i = 0; i < pane->rows && s->pick.top + (size_t) i < s->pick.count; i++) {
		const char *name = s->names[s->pick.top + (size_t) i];
		struct pane row = pane_cut(pane, i, 0, 1, pane->columns);
		bool marked = s->other && strcmp(s->other, name) == 0;
		struct clean clean = clean_str(name, app->ascii);
		pane_put(&row, 0, 1, ROLE_MARK, marked ? "*" : "");
		int column = pane_clean(&row, 0, 2, strcmp(next, name) == 0 ? ROLE_TAB : ROLE_TEXT, clean);
		pane_put(&row, 0, column + 1, ROLE_TEXT, strcmp(next, name) == 0 ? "next" : "");
		if (s->pick.top + (size_t) i == s->pick.selected)
			pick_mark(&row);
		clean_free(&clean);
	}
}

static void draw(struct app *app, const struct pane *body)
{
	struct presets *s = mine(app);
	bool beside = body->columns >= 3 * NAME_COLUMNS;
	int rows = (int) strv_len(s->names) < body->rows / 3 ? (int) strv_len(s->names) : body->rows / 3;
	struct section names = { .title = "Presets", .rows = beside ? -1 : rows, .focus = !s->reading };
	struct section text = { .title = s->differences ? "Differences" : "What it enforces",
				.rows = -1,
				.focus = s->reading };

	if (s->told != s->pick.selected + 1)
		tell(app, false);
	if (beside) {
		struct pane left = pane_cut(body, 0, 0, body->rows, NAME_COLUMNS);
		struct pane right = pane_cut(body, 0, NAME_COLUMNS, body->rows, body->columns - NAME_COLUMNS);
		box_stack(&left, &names, 1, BOX_CLOSED);
		box_stack(&right, &text, 1, BOX_CLOSED);
		draw_names(app, &names.in);
		reader_draw(&s->text, &text.in, WORDS_COLUMN);
	} else {
		struct section both[2] = { names, text };
		box_stack(body, both, 2, BOX_CLOSED);
		draw_names(app, &both[0].in);
		reader_draw(&s->text, &both[1].in, WORDS_COLUMN);
	}
}

/* As a list, and then the text of the chosen one. */
static void tell_lines(struct app *app, struct buf *out)
{
	struct presets *s = mine(app);
	const char *next =
		app->draft.policy && app->draft.presets ? app->draft.presets[app->draft.preset] : "";

	for (size_t i = 0; s->names && s->names[i]; i++) {
		buf_printf(out, "%zu: ", i + 1);
		tell_text(s->names[i], app->ascii, out);
		buf_str(out, i == s->pick.selected ? ", told below" : "");
		buf_str(out, strcmp(next, s->names[i]) == 0 ? ", of the next run\n" : "\n");
	}
	if (s->told != s->pick.selected + 1)
		tell(app, false);
	buf_str(out, "\n");
	reader_tell(&s->text, out);
}

static void status(struct app *app, const struct pane *row)
{
	struct presets *s = mine(app);
	struct clean name = clean_str(chosen(s) ? chosen(s) : "", app->ascii);
	int column = pane_printf(row, 0, 1, ROLE_STRONG, "%zu PRESETS", strv_len(s->names));

	column = pane_clean(row, 0, column + 2, ROLE_STRONG, name);
	clean_free(&name);
	if (!s->other)
		return;
	struct clean other = clean_str(s->other, app->ascii);
	column = pane_put(row, 0, column, ROLE_TEXT, " beside ");
	pane_clean(row, 0, column, ROLE_STRONG, other);
	clean_free(&other);
}

static void sentence(struct app *app, struct buf *out)
{
	const struct presets *s = mine(app);

	buf_str(out, s->reading ? "The arrow keys scroll the text; Tab goes back to the list."
				: "Enter takes it for the next run; t tries what holds here; e makes a copy "
				  "of your own.");
}

static void move(struct app *app, enum move move)
{
	struct presets *s = mine(app);

	if (s->reading)
		reader_move(&s->text, move);
	else
		pick_move(&s->pick, move);
}

static bool find(struct app *app, const char *text, bool back)
{
	return reader_find(&mine(app)->text, text, back);
}

static bool back(struct app *app)
{
	struct presets *s = mine(app);
	bool open = s->reading || s->differences || s->other;

	if (s->reading) {
		s->reading = false;
	} else if (s->differences) {
		s->differences = false;
	} else {
		free(s->other);
		s->other = NULL;
	}
	s->told = 0;
	return open;
}

/* ---- what can be done ---- */

/* The preset of this name, or of this number in the list. */
static bool choose(struct app *app, const char *argument)
{
	struct presets *s = mine(app);
	uint64_t number = 0;

	(void) str_to_u64(argument, &number);
	for (size_t i = 0; s->names && s->names[i]; i++)
		if (strcmp(s->names[i], argument) == 0 || number == i + 1) {
			s->pick.selected = i;
			return true;
		}
	if (*argument)
		app_warn(app, "There is no preset \"%s\"; presets lists them.", argument);
	return !*argument;
}

static void describe(struct app *app, const char *argument)
{
	mine(app)->differences = false;
	mine(app)->told = 0;
	(void) choose(app, argument);
}

static void differ(struct app *app, const char *argument)
{
	struct presets *s = mine(app);
	FREE char *first = xstrndup(argument, strcspn(argument, " "));
	const char *second = argument + strlen(first) + strspn(argument + strlen(first), " ");

	if (!*first || !*second) {
		app_warn(app, "differ takes two presets, by name or by number.");
		return;
	}
	if (!choose(app, first))
		return;
	free(s->other);
	s->other = xstrdup(chosen(s));
	s->differences = choose(app, second);
	s->told = 0;
}

static void take(struct app *app, const char *argument)
{
	struct err e;
	const char *name = choose(app, argument) ? chosen(mine(app)) : NULL;

	if (!name)
		return;
	if (draft_preset(&app->draft, name, &e) < 0)
		app_warn(app, "%s", e.text);
	else
		app_say(app, "The next run takes %s.", name);
}

static void mark(struct app *app, const char *argument)
{
	struct presets *s = mine(app);
	const char *name = chosen(s);
	bool same = name && s->other && strcmp(s->other, name) == 0;

	(void) argument;
	free(s->other);
	s->other = name && !same ? xstrdup(name) : NULL;
	s->told = 0;
	if (s->other)
		app_say(app, "%s is marked. Choose another; d shows what parts them.", s->other);
}

static void differences(struct app *app, const char *argument)
{
	struct presets *s = mine(app);

	(void) argument;
	s->differences = !s->differences;
	s->told = 0;
}

static void try_here(struct app *app, const char *argument)
{
	struct presets *s = mine(app);

	(void) argument;
	s->differences = false;
	tell(app, true);
}

static void other_pane(struct app *app, const char *argument)
{
	struct presets *s = mine(app);

	(void) argument;
	s->reading = !s->reading;
}

/* Names may have changed on disk: the list is read again, and `name` is chosen. */
static void reload(struct app *app, const char *name)
{
	struct presets *s = mine(app);

	strv_free(s->names);
	s->names = preset_names();
	for (size_t i = 0; s->names && s->names[i]; i++)
		if (strcmp(s->names[i], name) == 0)
			s->pick.selected = i;
	s->told = 0;
	draft_presets_again(&app->draft);
}

/* Where the copy goes: one's own file of that name is edited itself; of a shipped one a new file extends it. */
static int own_file(const char *name, char **ret_path, char **ret_name, struct err *e)
{
	FREE char *folder = xdg_folder(XDG_CONFIG, "presets", true, e);

	if (!folder)
		return -e->code;
	*ret_path = xprintf("%s/%s.ini", folder, name);
	*ret_name = xstrdup(name);
	if (access(*ret_path, F_OK) == 0)
		return 0;
	for (int i = 1; i < 100; i++) {
		free(*ret_path);
		free(*ret_name);
		*ret_name = i == 1 ? xprintf("my-%s", name) : xprintf("my-%s-%d", name, i);
		*ret_path = xprintf("%s/%s.ini", folder, *ret_name);
		if (access(*ret_path, F_OK) != 0)
			break;
	}
	FREE char *text = xprintf(
		"; What this file does not say is as in %s. `belljar preset keys` lists what it may say.\n"
		"[preset]\nname = %s\nsummary = My %s\nextends = %s\n\n[limits]\n",
		name, *ret_name, name, name);
	CLOSE_FD int fd = open(*ret_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : write_all(fd, text, strlen(text));
	return r < 0 ? err_set(e, -r, "write %s", *ret_path) : 0;
}

static void edit(struct app *app, const char *argument)
{
	struct err e;
	FREE char *path = NULL, *name = NULL;
	struct buf faults = { 0 };
	const char *from = *argument ? argument : chosen(mine(app));

	if (!from)
		return;
	if (own_file(from, &path, &name, &e) < 0 || editor_run(app, path, &e) < 0) {
		app_warn(app, "%s", e.text);
	} else {
		int count = preset_check(path, &faults, &e);
		const char *first = count > 0 ? faults.data : "";
		reload(app, name);
		if (count == 0)
			app_say(app, "%s is yours, and has no fault: %s", name, path);
		else
			app_warn(app, "%.*s", (int) strcspn(count > 0 ? first : e.text, "\n"),
				 count > 0 ? first : e.text);
	}
	buf_done(&faults);
}

/* clang-format off */
static const struct action actions[] = {
	{ "take", "[NAME]", "take a preset, or the chosen one, for the next run", take },
	{ "describe", "NAME", "what a preset enforces, in words", describe },
	{ "differ", "NAME NAME", "what parts two presets", differ },
	{ "mark", NULL, "mark the chosen preset, to see what parts another from it", mark },
	{ "differences", NULL, "what parts the marked and the chosen one, or all of the chosen one", differences },
	{ "try", NULL, "start it with a program that does nothing: what holds on this machine", try_here },
	{ "edit-preset", "[NAME]", "a copy of your own in $VISUAL or $EDITOR", edit },
	{ "other-pane", NULL, "the text takes the arrow keys, or the list", other_pane },
	{ .name = NULL },
};
/* clang-format on */

const struct view presets_view = {
	.id = VIEW_PRESETS,
	.title = "Presets",
	.means = "A preset names an isolation and all that it allows and limits. The text says it in words, "
		 "as the "
		 "file has it; t starts it once with a program that does nothing and adds what the kernel of "
		 "this "
		 "machine then really holds, and by what.",
	.actions = actions,
	.draw = draw,
	.status = status,
	.sentence = sentence,
	.move = move,
	.find = find,
	.back = back,
	.tell = tell_lines,
	.done = done,
};
