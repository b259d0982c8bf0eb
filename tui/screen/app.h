/* SPDX-License-Identifier: MIT */
/*
 * The application: what all screens share. A screen is a `const struct view`, everything that can be done is
 * a row in a table of actions, and events of a run enter at one place, app_event, whether they are live or
 * recorded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/util.h"
#include "tui/screen/cells.h"
#include "tui/screen/keymap.h"
#include "tui/screen/playback.h"
#include "tui/screen/prompt.h"
#include "tui/screen/draft.h"
#include "tui/screen/watch.h"

#define ROUND_NS (5 * NS_PER_MS) /* of reading what a run sends; then keys get their turn */

struct app;
struct curses;
struct err;
struct event;
struct launch;
struct loop;
struct plain;
struct run;
struct script;

/* One thing that can be done; its name is what `:` and the key table say. */
struct action {
	const char *name;
	const char *argument;                               /* "NAME", "[FILE]"; NULL: takes none */
	const char *help;                                   /* one line */
	void (*act)(struct app *app, const char *argument); /* "" where none was given */
};

enum move {
	MOVE_UP,
	MOVE_DOWN,
	MOVE_LEFT,
	MOVE_RIGHT,
	MOVE_PAGE_UP,
	MOVE_PAGE_DOWN,
	MOVE_HALF_UP,
	MOVE_HALF_DOWN,
	MOVE_TOP,
	MOVE_BOTTOM,
	MOVE_MAX
};

struct view {
	enum view_id id;
	const char *title;
	const char *means;            /* a few sentences for `?`: what this screen is for, how to read it */
	const struct action *actions; /* ends with name NULL; they come before the common ones */
	void (*draw)(struct app *app, const struct pane *body);
	void (*status)(struct app *app, const struct pane *row); /* row 1: what runs and what isolates it */
	void (*sentence)(struct app *app, struct buf *out); /* what to say when there is nothing to answer */
	void (*move)(struct app *app, enum move move);
	bool (*find)(struct app *app, const char *text,
		     bool back);                    /* from the place found last; false: nowhere */
	bool (*back)(struct app *app);              /* Esc: closes something; false: nothing was open */
	bool (*key)(struct app *app, uint32_t key); /* before the key table; NULL: none wanted */
	void (*paste)(struct app *app, const char *text, size_t len,
		      const char *arrival); /* NULL: not here */
	/* what it shows, as lines for plain mode: scrubbed, appended, ends with a newline */
	void (*tell)(struct app *app, struct buf *out);
	bool (*busy)(const struct app *app); /* something of its own runs; NULL: nothing ever does */
	void (*done)(
		struct app *app); /* at the end: releases app->own[id]; NULL: it has nothing of its own */
};
extern const struct view compose_view, run_view, events_view, attacks_view, compare_view, presets_view,
	learn_view;
extern const struct view *const views[VIEW_MAX];

struct compose_state {
	size_t top, rows; /* first line shown, lines that fit */
	int shift;
	bool inserting;
	size_t found; /* line number + 1; 0: none */
};

struct run_state {
	bool frozen, zoomed, boundary, staying; /* staying: not following the end of the output */
	uint64_t top, rows;                     /* first line shown when staying */
	int shift, boundary_top;
	uint64_t found; /* line number + 1; 0: none */
};

struct events_state {
	size_t selected, top, rows, shown; /* positions in the list as filtered and sorted */
	size_t hidden;                     /* quiet ones that are left out */
	size_t put_away;                   /* those that the person hid */
	bool full, by_count, on_detail, all, raw;
	int detail_top;
	char filter[128];
	uint32_t order[GROUPS_MAX]; /* of groups, or of raw events */
};

struct intake { /* code that arrives on standard input */
	bool reading;
	struct buf bytes;
};

struct ready_for { /* what a run is kept ready for */
	const struct policy *policy;
	const struct language *language;
	bool tty, busy;
};

struct app {
	struct loop *loop;
	struct curses *term; /* NULL: drawn without a terminal */
	struct plain *plain; /* NULL: with screens */
	struct cells grid;
	bool ascii, color, dirty, quitting, help;
	bool talk;         /* for an audience: few things, wide apart, and the last key in view */
	uint32_t last_key; /* 0: none yet */
	int help_top;
	int status, signo; /* exit status; the signal that ended us */
	int frame_timer, tick_timer, ready_timer;
	uint64_t frame_ns, last_frame_ns;

	const struct view *view, *last_view;
	void *own[VIEW_MAX]; /* what a view alone knows; NULL until it is first needed */
	struct compose_state compose;
	struct run_state at_run;
	struct events_state at_events;
	struct prompt prompt;
	char find[PROMPT_MAX];
	struct buf said; /* the answer to the last key; scrubbed; empty: the view's own sentence */
	bool said_warning;

	struct draft draft;
	struct ready_for ready_for;
	struct intake intake;
	struct watch watch;
	struct run *run;           /* NULL: none lives */
	struct playback *playback; /* NULL: no recording is open */
	uint64_t run_began_ns;
	unsigned run_number;
	bool tty;                    /* the next run gets a terminal of its own */
	int send_fd;                 /* the pipe that is typed into; -1: none */
	uint64_t asked_id, asked_ns; /* the question that is shown, and since when */
	uint64_t warned_of;          /* hash of the event whose grant was warned of; 0: none */
	bool stopping, interrupted;  /* interrupted: the last key was ^C with no run */
	struct script *script;
	const char *screen_file; /* of :save-display in tests; NULL */
};

struct app_options {
	bool ascii, color, plain;
	int guard_fd;
	const char *script, *replay, *dump, *dump_roles;
	int rows, columns; /* without a terminal: the size to draw at; 0: there is one */
	int screen;        /* 1, 2, …; 0: the natural one */
	const char *file;  /* NULL: none; "-": standard input */
};

/* app_run: all of it, from the first frame to the last. Returns the exit status. Ends with nothing left
 * running. */
int app_run(const struct app_options *o);

void app_event(struct app *app, const struct event *ev); /* THE place where events enter */
void app_key(struct app *app, uint32_t key);
void app_paste(struct app *app, const char *text, size_t len, const char *arrival);
void app_command(struct app *app, const char *line); /* "run", "preset NAME", "screen 2", … */
void app_dirty(struct app *app);                     /* something to be seen has changed */
void app_draw(struct app *app);                      /* the frame, into app->grid */
void app_show(struct app *app, const struct view *view);
unsigned app_state(const struct app *app); /* enum when, as it is now */
/* app_busy: the screen of what runs: the run, a comparison, a suite. One at a time, or each would disturb what the other
 * measures. NULL: nothing. app_refuses: whether something runs; it is said then, and what stops it. */
const struct view *app_busy(const struct app *app);
bool app_refuses(struct app *app);
const struct action *app_action(const struct app *app, const char *name, size_t len);
/* app_action_elsewhere: one that a single other screen knows: who names it need not know where it lives. NULL: none, or
 * several. */
const struct action *app_action_elsewhere(const char *name, size_t len, const struct view **ret);

/* app_say: the answer in the sentence row, until the next key. The text may hold anything; it is scrubbed. */
void app_say(struct app *app, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void app_warn(struct app *app, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* actions.c */
extern const struct action common_actions[], playback_actions[];
/* app_actions: the tables of what can be done here, the view's own first; NULL behind the last. */
const struct action *app_actions(const struct app *app, size_t n);
/* app_start: starts a run and follows it: app->watch is its from then on. Takes the launch. False: it was said why not. */
bool app_start(struct app *app, struct launch *l);
void app_quit(struct app *app, int status);
void app_nothing_runs(struct app *app); /* the answer to ^C here then: how to leave, or what runs elsewhere */

/* ask.c: the call that waits for an answer. */
extern const struct action ask_actions[];
const struct asked *app_asked(const struct app *app); /* NULL: none */
bool ask_key(struct app *app, uint32_t key);          /* false: not one of its keys */
void ask_draw(struct app *app, const struct pane *row);

/* ready.c: each frame: whether another run is to be kept ready than before. */
void ready_follow(struct app *app);

/* send.c: lines for a run that has a terminal. send_open: where the next run gets one, what the launch needs for it. */
extern const struct action send_actions[];
int send_open(struct app *app, struct launch *l, struct err *e);

/* events.c: the row that is chosen now, on that screen; NULL: none. */
const struct group *events_chosen(struct app *app);

/* frame.c */
void frame_draw(struct app *app);
void run_status(struct app *app, const struct pane *row); /* row 1 of Run and Events */

/* compose.c: what is staged, and what is to be known of it before a run, as lines. Appended. */
void compose_summary(struct app *app, struct buf *out);

/* intake.c: reads standard input, bounded, while keys are answered. */
void intake_start(struct app *app);
void intake_stop(struct app *app);

/* script.c */
int script_open(struct app *app, const char *path, struct err *e);
struct script *script_free(struct script *s);

/* scroll: the new top of a list of `count` rows after a move, with `rows` of them in sight. */
size_t scrolled(size_t top, size_t rows, size_t count, enum move move);
