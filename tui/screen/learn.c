/* SPDX-License-Identifier: MIT */
/*
 * Learn: short lessons that drive the real tool. A step says something, asks what will happen, runs code, and shows in
 * the run's own events which layer did what. The lessons are files (core/model/lesson.c); here is how they are gone
 * through.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/screen/app.h"
#include "tui/screen/pick.h"
#include "tui/screen/reader.h"
#include "tui/screen/run_parts.h"

#define WIDE     110
#define RUN_ROWS 9 /* of the run below the text, where it cannot stand beside it */

struct step_state {
	int answer;      /* -1: not yet */
	unsigned number; /* of its run; 0: none */
	bool ended;
};
struct learn {
	char **names;
	struct lesson **lessons; /* as many; NULL where the file is faulty */
	char **faults;
	struct pick pick;
	const struct lesson *open; /* NULL: the list */
	size_t at;
	struct step_state steps[LESSON_STEPS];
	struct reader text;
	struct step_state told; /* what the text was made of */
	size_t told_at;         /* + 1 */
};

static void load_lessons(struct learn *s)
{
	size_t count = strv_len(s->names);
	s->lessons = xcalloc(count + 1, sizeof(*s->lessons));
	s->faults = xcalloc(count + 1, sizeof(*s->faults));
	for (size_t i = 0; i < count; i++) {
		struct err e;
		if (lesson_load(s->names[i], &s->lessons[i], &e) == 0)
			continue;
		const char *file =
			strstr(e.text, s->names[i]); /* its folder would take the row that the fault needs */
		s->faults[i] = xstrdup(file ? file : e.text);
	}
}

static struct learn *mine(struct app *app)
{
	if (!app->own[VIEW_LEARN]) {
		struct learn *s = xcalloc(1, sizeof(*s));
		s->names = lesson_names();
		load_lessons(s);
		app->own[VIEW_LEARN] = s;
	}
	return app->own[VIEW_LEARN];
}

static void done(struct app *app)
{
	struct learn *s = app->own[VIEW_LEARN];
	if (!s)
		return;
	for (size_t i = 0; i < strv_len(s->names); i++) {
		lesson_free(s->lessons[i]);
		free(s->faults[i]);
	}
	free(s->lessons);
	free(s->faults);
	strv_free(s->names);
	reader_done(&s->text);
	free(s);
	app->own[VIEW_LEARN] = NULL;
}

static const struct lesson_step *step_of(const struct learn *s)
{
	return s->open ? &s->open->steps[s->at] : NULL;
}

static struct step_state *state_of(struct learn *s)
{
	return &s->steps[s->at];
}

/* Whether this step's own run is the one that the screens show now. */
static bool running_here(const struct app *app, const struct step_state *state)
{
	return state->number && state->number == app->watch.number;
}

/* A level that this version does not have is told as that. */
static bool level_missing(const struct lesson_step *step, struct err *e)
{
	struct policy *p = NULL;
	int r = step->preset ? preset_load(step->preset, &p, e) : 0;
	policy_free(p);
	return r < 0;
}

/* ---- the text of a step ---- */

static void tell_question(const struct lesson_step *step, const struct step_state *state, struct buf *out)
{
	buf_printf(out, "\n#%s\n", step->ask);
	for (int i = 0; i < LESSON_CHOICES && step->choice[i]; i++)
		buf_printf(out, "%s %c  %s\n", state->answer == i ? ">" : " ", 'a' + i, step->choice[i]);
}

static void tell_seen(const struct group *g, struct buf *out)
{
	buf_printf(out, "Seen: %s %s: %s", group_kind(g), g->what.text, group_outcome(g));
	if (g->layer)
		buf_printf(out, " by %s (%s)", layer_name(g->layer), layer_words(g->layer));
	if (g->basis)
		buf_printf(out, "; %s", basis_words(g->basis));
	buf_str(out, "\n");
}

/* The event that shows the answer, as this run had it. What it did not have is said too: a lesson may not claim what
 * this machine did not do. */
static void tell_event(const struct app *app, const struct lesson_step *step, struct buf *out)
{
	const struct watch *w = &app->watch;
	if (step->look == EVENT_UNKNOWN || step->look == EVENT_EXIT)
		return;
	if (step->look == EVENT_OUTPUT) {
		uint64_t at = ring_find(&w->output, w->output.first, false, step->with ? step->with : "");
		struct clean line = at == UINT64_MAX ? (struct clean){ "", 0 } : ring_text(&w->output, at);
		buf_printf(out,
			   at == UINT64_MAX ? "It did not print what this lesson looks for.\n"
					    : "It printed: %.*s\n",
			   (int) line.len, line.text);
		return;
	}
	for (size_t i = 0; i < w->groups.count; i++)
		if (w->groups.at[i].type == step->look &&
		    group_matches(&w->groups.at[i], step->with ? step->with : "")) {
			tell_seen(&w->groups.at[i], out);
			return;
		}
	buf_str(out, "On this machine the run had no such event: 3 shows those that it had.\n");
}

static void tell_answer(const struct lesson_step *step, const struct step_state *state, struct buf *out)
{
	if (state->answer >= 0)
		buf_printf(out, state->answer == step->right ? "\n#You expected that.\n" : "\n#It was %c.\n",
			   'a' + step->right);
	if (step->reveal)
		buf_printf(out, "%s\n", step->reveal);
}

static void tell_run(const struct app *app, const struct lesson_step *step, const struct step_state *state,
		     struct buf *out)
{
	struct err e;
	if (level_missing(step, &e)) {
		buf_printf(out, "\n#The level %s is not here yet\nThis step is told, not run: %s\n",
			   step->preset, e.text);
		tell_answer(step, state, out);
	} else if (!state->number) {
		buf_printf(out, "\nr runs %s under %s.%s\n", strrchr(step->code, '/') + 1, step->preset,
			   step->ask && state->answer < 0 ? " First say what you expect." : "");
	} else if (!running_here(app, state)) {
		buf_str(out, "\nAnother run has taken its place on the screens; r runs it again.\n");
		tell_answer(step, state, out);
	} else if (!app->watch.ended) {
		buf_str(out, "\nIt runs.\n");
	} else {
		buf_printf(out, "\n#It ended: %s\n%s%s%s\n", verdict_badge(app->watch.verdict),
			   verdict_words(app->watch.verdict), app->watch.evidence.len ? " " : "",
			   app->watch.evidence.len ? app->watch.evidence.text : "");
		tell_event(app, step, out);
		tell_answer(step, state, out);
	}
}

static void tell(struct app *app)
{
	struct learn *s = mine(app);
	const struct lesson_step *step = step_of(s);
	struct step_state *state = state_of(s);
	struct buf out = { 0 };
	state->ended = running_here(app, state) && app->watch.ended;
	if (s->told_at == s->at + 1 && memcmp(&s->told, state, sizeof(*state)) == 0)
		return;
	buf_printf(&out, "#%zu of %zu: %s\n%s\n", s->at + 1, s->open->step_count, step->title, step->say);
	if (step->ask)
		tell_question(step, state, &out);
	if (step->code)
		tell_run(app, step, state, &out);
	else if (step->ask && state->answer >= 0)
		tell_answer(step, state, &out);
	bool same_step = s->told_at == s->at + 1;
	reader_set(&s->text, out.data, out.len, app->ascii);
	if (same_step && state->ended)
		s->text.top = 10000; /* drawing stops at the end: what is new stands there */
	s->told = *state;
	s->told_at = s->at + 1;
	buf_done(&out);
}

/* ---- drawing ---- */

static void draw_list(struct app *app, const struct pane *body)
{
	struct learn *s = mine(app);
	struct section box = { .title = "Lessons   Enter opens one", .rows = -1, .focus = true };
	box_stack(body, &box, 1, BOX_CLOSED);
	pick_fit(&s->pick, box.in.rows / 2, strv_len(s->names));
	for (size_t i = s->pick.top; i < s->pick.count && i < s->pick.top + s->pick.rows; i++) {
		int row = (int) (i - s->pick.top) * 2;
		struct pane first = pane_cut(&box.in, row, 0, 1, box.in.columns);
		struct pane second = pane_cut(&box.in, row + 1, 6, 1, box.in.columns - 7);
		struct clean title =
			clean_str(s->lessons[i] ? s->lessons[i]->title : s->names[i], app->ascii);
		struct clean summary =
			clean_str(s->lessons[i] ? s->lessons[i]->summary : s->faults[i], app->ascii);
		pane_printf(&first, 0, 2, ROLE_NUMBER, "%2zu", i + 1);
		pane_clean(&first, 0, 6, ROLE_STRONG, title);
		pane_clean(&second, 0, 0, s->lessons[i] ? ROLE_TEXT : ROLE_WARN, summary);
		if (i == s->pick.selected)
			pick_mark(&first);
		clean_free(&title);
		clean_free(&summary);
	}
	if (s->pick.count == 0)
		pane_put(&box.in, 0, 1, ROLE_TEXT, "There are no lessons: is belljar installed whole?");
}

static void draw_step(struct app *app, const struct pane *body)
{
	struct learn *s = mine(app);
	bool live = state_of(s)->number && running_here(app, state_of(s)), wide = body->columns >= WIDE;
	struct pane text = *body, run = *body;
	if (live && wide) {
		text = pane_cut(body, 0, 0, body->rows, body->columns * 9 / 20);
		run = pane_cut(body, 0, text.columns, body->rows, body->columns - text.columns);
	} else if (live && body->rows >= 2 * RUN_ROWS) {
		text = pane_cut(body, 0, 0, body->rows - RUN_ROWS, body->columns);
		run = pane_cut(body, text.rows, 0, RUN_ROWS, body->columns);
	}
	FREE char *title = xprintf("Lesson %zu", s->pick.selected + 1);
	struct section box = { .title = title, .rows = -1, .focus = true };
	tell(app);
	box_stack(&text, &box, 1, BOX_CLOSED);
	reader_draw(&s->text, &box.in, 0);
	if (text.rows != body->rows || text.columns != body->columns)
		run_view.draw(app, &run);
}

static void draw(struct app *app, const struct pane *body)
{
	if (mine(app)->open)
		draw_step(app, body);
	else
		draw_list(app, body);
}

static void status(struct app *app, const struct pane *row)
{
	struct learn *s = mine(app);
	if (!s->open) {
		pane_printf(row, 0, 1, ROLE_STRONG, "%zu LESSONS", strv_len(s->names));
		return;
	}
	if (running_here(app, state_of(s))) {
		run_status(app, row);
		return;
	}
	struct clean title = clean_str(s->open->title, app->ascii);
	pane_clean(row, 0, 1, ROLE_STRONG, title);
	clean_free(&title);
}

static void sentence(struct app *app, struct buf *out)
{
	struct learn *s = mine(app);
	const struct lesson_step *step = step_of(s);
	if (!step)
		buf_str(out, "Each lesson runs real code at a real level; nothing runs before you say so.");
	else if (step->ask && state_of(s)->answer < 0)
		buf_str(out, "What do you expect? Answer with a letter.");
	else if (step->code && !state_of(s)->number)
		buf_str(out, "r does it.");
	else
		buf_str(out, s->at + 1 < s->open->step_count
				     ? "Enter goes on, Backspace goes back."
				     : "That was the last step. Esc shows the lessons.");
}

static void move(struct app *app, enum move move)
{
	struct learn *s = mine(app);
	if (s->open)
		reader_move(&s->text, move);
	else
		pick_move(&s->pick, move);
}

static bool find(struct app *app, const char *text, bool back)
{
	return mine(app)->open && reader_find(&mine(app)->text, text, back);
}

static bool back(struct app *app)
{
	struct learn *s = mine(app);
	bool open = s->open != NULL;
	s->open = NULL;
	return open;
}

/* ---- for plain mode ---- */

static void tell_lessons(const struct learn *s, bool ascii, struct buf *out)
{
	for (size_t i = 0; s->names && s->names[i]; i++) {
		buf_printf(out, "%zu: ", i + 1);
		tell_text(s->lessons[i] ? s->lessons[i]->title : s->names[i], ascii, out);
		buf_str(out, ". ");
		tell_text(s->lessons[i] ? s->lessons[i]->summary : s->faults[i], ascii, out);
		buf_str(out, "\n");
	}
	buf_str(out, strv_len(s->names) ? "lesson NUMBER opens one.\n"
					: "There are no lessons: is belljar installed whole?\n");
}

static void tell_lines(struct app *app, struct buf *out)
{
	struct learn *s = mine(app);
	const struct lesson_step *step = step_of(s);
	if (!step) {
		tell_lessons(s, app->ascii, out);
		return;
	}
	tell(app);
	reader_tell(&s->text, out);
	buf_printf(out, "\nCommands here: %s%s%s, previous, lessons.\n", step->ask ? "answer LETTER, " : "",
		   step->code ? "do, " : "",
		   s->at + 1 < s->open->step_count ? "next" : "next (it was the last step)");
}

/* ---- what can be done ---- */

static void lessons(struct app *app, const char *argument)
{
	(void) argument;
	mine(app)->open = NULL;
}

static void next(struct app *app, const char *argument);

static void lesson(struct app *app, const char *argument)
{
	struct learn *s = mine(app);
	uint64_t number = 0;
	(void) str_to_u64(argument, &number);
	if (number < 1 || number > strv_len(s->names)) {
		app_warn(app, "lesson takes a number, 1 to %zu.", strv_len(s->names));
		return;
	}
	s->open = NULL;
	s->pick.selected = (size_t) number - 1;
	next(app, "");
}

static void next(struct app *app, const char *argument)
{
	struct learn *s = mine(app);
	(void) argument;
	if (s->open && s->at + 1 < s->open->step_count) {
		s->at++;
	} else if (s->open) {
		s->open = NULL;
	} else if (s->pick.selected < strv_len(s->names)) {
		s->open = s->lessons[s->pick.selected];
		s->at = s->told_at = 0;
		for (size_t i = 0; i < LESSON_STEPS; i++)
			s->steps[i] = (struct step_state){ .answer = -1 };
		if (!s->open)
			app_warn(app, "%s", s->faults[s->pick.selected]);
	}
}

static void previous(struct app *app, const char *argument)
{
	struct learn *s = mine(app);
	(void) argument;
	if (s->open && s->at > 0)
		s->at--;
	else
		s->open = NULL;
}

static void answer(struct app *app, const char *argument)
{
	struct learn *s = mine(app);
	const struct lesson_step *step = step_of(s);
	int choice = *argument - 'a';
	if (!step || !step->ask || choice < 0 || choice >= LESSON_CHOICES || !step->choice[choice])
		app_say(app, "There is no such answer here.");
	else if (state_of(s)->number)
		app_say(app, "It has run: the answer is known.");
	else
		state_of(s)->answer = choice;
}

static int step_launch(const struct lesson_step *step, struct launch **ret, struct err *e)
{
	struct launch *l = launch_new();
	FREE char *code = NULL;
	size_t len;
	int r;
	l->language = language_by_name(step->language);
	l->title = xstrdup(strrchr(step->code, '/') + 1);
	if ((r = preset_load(step->preset, &l->policy, e)) < 0 ||
	    (r = file_read(AT_FDCWD, step->code, CODE_MAX, &code, &len, e)) < 0 ||
	    (r = launch_set_code(l, code, len, NULL, e)) < 0) {
		launch_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

static void do_it(struct app *app, const char *argument)
{
	struct learn *s = mine(app);
	const struct lesson_step *step = step_of(s);
	struct launch *l;
	struct err e;
	(void) argument;
	if (!step || !step->code)
		app_say(app, step ? "This step runs nothing. Enter goes on." : "Enter opens a lesson.");
	else if (step->ask && state_of(s)->answer < 0)
		app_say(app, "Say first what you expect, with a letter.");
	else if (step_launch(step, &l, &e) < 0)
		app_warn(app, "Not run: %s", e.text);
	else if (app_start(app, l))
		state_of(s)->number = app->watch.number;
}

static void stage_code(struct app *app, const char *argument)
{
	const struct lesson_step *step = step_of(mine(app));
	struct err e;
	(void) argument;
	if (!step || !step->code) {
		app_say(app, "This step has no code.");
		return;
	}
	if (draft_open(&app->draft, step->code, &e) < 0 || draft_preset(&app->draft, step->preset, &e) < 0)
		app_warn(app, "%s", e.text);
	else
		app_show(app, &compose_view);
}

/* clang-format off */
static const struct action actions[] = {
	{ "next", NULL, "open the chosen lesson; the next step of it", next },
	{ "lesson", "NUMBER", "open a lesson by its number", lesson },
	{ "lessons", NULL, "the list of lessons", lessons },
	{ "previous", NULL, "the step before", previous },
	{ "answer", "a|b|c|d", "say what you expect", answer },
	{ "do", NULL, "run the code of this step", do_it },
	{ "code", NULL, "stage the code of this step on Compose", stage_code },
	{ .name = NULL },
};
/* clang-format on */

const struct view learn_view = {
	.id = VIEW_LEARN,
	.title = "Learn",
	.means = "Lessons of a few steps. Each says something, asks what you expect, runs real code at a "
		 "real level, "
		 "and shows in the run's own events which layer did what. A lesson is a file: one of your "
		 "own, in "
		 "lessons/ of belljar's configuration folder, stands among these.",
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
