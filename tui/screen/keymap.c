/* SPDX-License-Identifier: MIT */
/*
 * The table of keys, in the order of the hint bar, and the names of keys. Letters come first: terminals and
 * desktops steal function keys, so those are only twins. No row uses ^M, ^I or ^[, which are Enter, Tab and
 * Esc.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/base.h"
#include "tui/screen/keymap.h"

#define COMPOSE IN(VIEW_COMPOSE)
#define RUN     IN(VIEW_RUN)
#define EVENTS  IN(VIEW_EVENTS)
#define ATTACKS IN(VIEW_ATTACKS)
#define COMPARE IN(VIEW_COMPARE)
#define PRESETS IN(VIEW_PRESETS)
#define LEARN   IN(VIEW_LEARN)
#define ASK     IN(VIEW_ASK)

/* clang-format off */
const struct binding bindings[] = {
	{ COMPOSE, { 'r', K_F1 + 4 }, "run", WHEN_CODE, "Run", "run the staged code" },
	{ COMPOSE, { 'P' }, "preset", WHEN_ALWAYS, "Preset", "choose the next preset (or :preset NAME)" },
	{ COMPOSE, { 'e' }, "edit", WHEN_ALWAYS, "Edit", "open the code in $VISUAL or $EDITOR" },
	{ COMPOSE, { 'i' }, "insert", WHEN_ALWAYS, "Insert", "type or paste code until ^D" },
	{ COMPOSE, { 'o' }, "open", WHEN_ALWAYS, "Open", "stage a file" },
	{ COMPOSE, { 'x' }, "clear", WHEN_CODE, "Clear", "throw the staged code away" },
	{ COMPOSE, { 'u' }, "undo", WHEN_ALWAYS, NULL, "what was staged before" },
	{ COMPOSE, { 'L' }, "language", WHEN_CODE, NULL, "take the next language (or :language NAME)" },

	{ RUN | EVENTS, { K_CTRL('C') }, "stop", WHEN_LIVE, "Stop",
	  "stop the run: SIGTERM, after 2 s SIGKILL" },
	{ RUN | EVENTS, { 'r', K_F1 + 4 }, "run", WHEN_IDLE | WHEN_CODE, "Run again",
	  "run the staged code again" },
	{ RUN, { 'p', K_CTRL('S') }, "freeze", WHEN_LIVE, "Freeze view",
	  "freeze the picture; the run goes on" },
	{ RUN, { K_CTRL('Q') }, "thaw", WHEN_ALWAYS, NULL, "let a frozen picture go on" },
	{ RUN | EVENTS, { 'z' }, "pause", WHEN_LIVE, "Pause run", "pause the run itself, again: go on" },
	{ RUN, { 'I' }, "send", WHEN_LIVE, NULL, "type a line into the terminal of the run (:tty)" },
	{ RUN, { 'F' }, "follow", WHEN_LIVE, "Follow", "follow the end of the output, or stay" },
	{ RUN, { 'b', 'v' }, "boundary", WHEN_RAN, "Boundary",
	  "what isolates the run, and what was not enforced" },
	{ RUN, { '+', '_' }, "zoom", WHEN_ALWAYS, NULL, "the output alone, or all panes" },

	{ EVENTS, { K_ENTER }, "detail", WHEN_RAN, "Full",
	  "the chosen event alone: who, which layer, how to allow" },
	{ EVENTS, { 'f', K_F1 + 3 }, "filter", WHEN_RAN, "Filter", "show only events that hold a text" },
	{ EVENTS, { 's' }, "sort", WHEN_RAN, "Sort", "by first time, or by how often" },
	{ EVENTS, { 'a' }, "all", WHEN_RAN, "All",
	  "with or without files that were simply opened or absent" },
	{ EVENTS, { 'o' }, "at-output", WHEN_RAN, "Output then", "the output at the moment of the chosen event" },
	{ EVENTS, { 't' }, "raw", WHEN_RAN, "One by one", "each event by itself, or what is alike in one row" },
	{ EVENTS, { 'X' }, "hide", WHEN_RAN, NULL, "put rows like the chosen one away" },
	{ EVENTS, { 'U' }, "unhide", WHEN_RAN, NULL, "show what was put away" },
	{ EVENTS, { K_TAB, K_BACK_TAB }, "pane", WHEN_ALWAYS, NULL, "the other pane takes the arrow keys" },

	{ ATTACKS, { 'a' }, "attack-all", WHEN_ALWAYS, "All", "replay the whole suite" },
	{ ATTACKS, { 'r' }, "attack-cell", WHEN_ALWAYS, "Cell", "replay the chosen attack at the chosen level" },
	{ ATTACKS, { 'R' }, "attack-row", WHEN_ALWAYS, "Row", "replay the chosen attack at each level" },
	{ ATTACKS, { K_ENTER }, "evidence", WHEN_ALWAYS, "Evidence", "the evidence of the chosen cell alone" },
	{ ATTACKS, { 'o' }, "recording", WHEN_ALWAYS, "Recording", "the recording of the chosen cell, on the screens" },
	{ ATTACKS, { 'c' }, "costs", WHEN_ALWAYS, "Costs", "what a start costs at each level" },
	{ ATTACKS, { 'P' }, "levels", WHEN_ALWAYS, NULL, "which presets stand in the matrix" },
	{ RUN, { 'A' }, "attack-all", WHEN_ALWAYS, NULL, "replay the suite of attacks" },

	{ COMPARE, { 'r' }, "compare", WHEN_CODE, "Run each", "run the staged code under each preset" },
	{ COMPARE, { 'd' }, "differences", WHEN_ALWAYS, "Differences", "only what differs, or all" },
	{ COMPARE, { 'P' }, "presets", WHEN_ALWAYS, "Presets", "which presets are compared, two to four" },
	{ COMPARE, { K_ENTER }, "full-row", WHEN_ALWAYS, "Full row", "the chosen row in full" },

	{ RUN | EVENTS, { ' ' }, "play", WHEN_REPLAY, "Play", "a recording: play or pause; else one page down" },
	{ RUN | EVENTS, { ']' }, "scrub +", WHEN_REPLAY, "[ Scrub", "a recording: on by a step" },
	{ RUN | EVENTS, { '[' }, "scrub -", WHEN_REPLAY, NULL, "a recording: back by a step" },
	{ RUN | EVENTS, { '.' }, "denial +", WHEN_REPLAY, ", Denial", "a recording: to the next refusal" },
	{ RUN | EVENTS, { ',' }, "denial -", WHEN_REPLAY, NULL, "a recording: to the refusal before" },
	{ RUN | EVENTS, { '>' }, "speed +", WHEN_REPLAY, "< Speed", "a recording: faster" },
	{ RUN | EVENTS, { '<' }, "speed -", WHEN_REPLAY, NULL, "a recording: slower" },

	{ PRESETS, { K_ENTER }, "take", WHEN_ALWAYS, "Take", "take the chosen preset for the next run" },
	{ PRESETS, { 't' }, "try", WHEN_ALWAYS, "Try here", "what holds on this machine, by a trial run" },
	{ PRESETS, { ' ' }, "mark", WHEN_ALWAYS, "Mark", "mark it, to see what parts another from it" },
	{ PRESETS, { 'd' }, "differences", WHEN_ALWAYS, "Differences", "what parts the marked and the chosen one" },
	{ PRESETS, { 'e' }, "edit-preset", WHEN_ALWAYS, "Edit a copy", "a copy of your own in $VISUAL or $EDITOR" },
	{ PRESETS, { K_TAB, K_BACK_TAB }, "other-pane", WHEN_ALWAYS, NULL, "the text takes the arrow keys, or the list" },

	{ LEARN, { K_ENTER }, "next", WHEN_ALWAYS, "Next", "open the chosen lesson; the next step of it" },
	{ LEARN, { K_BACKSPACE }, "previous", WHEN_ALWAYS, "Back", "the step before" },
	{ LEARN, { 'r' }, "do", WHEN_ALWAYS, "Do it", "run the code of this step" },
	{ LEARN, { 'a' }, "answer a", WHEN_ALWAYS, "Answer", "say what you expect" },
	{ LEARN, { 'b' }, "answer b", WHEN_ALWAYS, NULL, "say what you expect" },
	{ LEARN, { 'c' }, "answer c", WHEN_ALWAYS, NULL, "say what you expect" },
	{ LEARN, { 'd' }, "answer d", WHEN_ALWAYS, NULL, "say what you expect" },
	{ LEARN, { 's' }, "code", WHEN_ALWAYS, "Stage", "stage the code of this step on Compose, to change it" },

	{ ASK, { 'd', K_ESC }, "deny", WHEN_ALWAYS, "deny", "refuse the call that waits" },
	{ ASK, { 'o' }, "allow-once", WHEN_ALWAYS, "once", "let this one call through" },
	{ ASK, { 'r' }, "allow-run", WHEN_ALWAYS, "this run", "let it and its like through, in this run" },
	{ ASK, { 'w' }, "write-preset", WHEN_ALWAYS, "preset", "allow it in a preset of your own, from the next run on" },
	{ EVENTS, { 'w' }, "write-preset", WHEN_RAN, "To a preset", "allow it in a preset of your own, from the next run on" },

	{ IN_ALL, { '/' }, "find", WHEN_ALWAYS, "Find", "find a text" },
	{ IN_ALL, { 'n' }, "find-next", WHEN_ALWAYS, NULL, "the next place where it stands" },
	{ IN_ALL, { 'N' }, "find-back", WHEN_ALWAYS, NULL, "the place before" },

	{ IN_ALL, { ':' }, "command", WHEN_ALWAYS, "Command", "type a command; Tab completes, Up recalls" },
	{ IN_ALL, { 'T' }, "talk", WHEN_ALWAYS, NULL, "for an audience: less, wider apart, the last key in view" },
	{ IN_ALL, { '?', K_F1 }, "help", WHEN_ALWAYS, "Help", "this help" },
	{ IN_ALL, { 'q' }, "quit", WHEN_ALWAYS, "Quit", "leave; asks when a run lives" },
	{ IN_ALL, { '1' }, "screen 1", WHEN_ALWAYS, NULL, "Compose: stage code and choose a preset" },
	{ IN_ALL, { '2' }, "screen 2", WHEN_ALWAYS, NULL, "Run: watch it" },
	{ IN_ALL, { '3' }, "screen 3", WHEN_ALWAYS, NULL, "Events: each refused call and its reason" },
	{ IN_ALL, { '4' }, "screen 4", WHEN_ALWAYS, NULL, "Attacks: what each level stops, tried here" },
	{ IN_ALL, { '5' }, "screen 5", WHEN_ALWAYS, NULL, "Compare: the same code at several levels" },
	{ IN_ALL, { '6' }, "screen 6", WHEN_ALWAYS, NULL, "Presets: what each enforces, in words" },
	{ IN_ALL, { '7' }, "screen 7", WHEN_ALWAYS, NULL, "Learn: short lessons that drive the real tool" },
	{ IN_ALL, { '-' }, "screen -", WHEN_ALWAYS, NULL, "the screen before this one" },
	{ IN_ALL & ~(RUN | EVENTS), { K_CTRL('C') }, "stop", WHEN_ALWAYS, NULL, "stop the run: SIGTERM, after 2 s SIGKILL" },
	{ IN_ALL, { K_CTRL('K') }, "kill", WHEN_ALWAYS, NULL, "kill the run now" },
	{ IN_ALL, { K_CTRL('Z') }, "suspend", WHEN_ALWAYS, NULL,
	  "back to the shell; the run goes on, fg returns" },
	{ IN_ALL, { K_CTRL('L') }, "redraw", WHEN_ALWAYS, NULL, "paint the whole screen again" },
	{ IN_ALL, { K_ESC }, "back", WHEN_ALWAYS, NULL, "close what is open: help, full view, filter" },

	{ IN_ALL, { K_UP, 'k' }, "move up", WHEN_ALWAYS, NULL, "one line up" },
	{ IN_ALL, { K_DOWN, 'j' }, "move down", WHEN_ALWAYS, NULL, "one line down" },
	{ IN_ALL, { K_LEFT, 'h' }, "move left", WHEN_ALWAYS, NULL, "sideways: long lines" },
	{ IN_ALL, { K_RIGHT, 'l' }, "move right", WHEN_ALWAYS, NULL, "sideways: long lines" },
	{ IN_ALL, { K_PAGE_UP, K_CTRL('B') }, "move page-up", WHEN_ALWAYS, NULL, "one page up" },
	{ IN_ALL, { K_PAGE_DOWN, K_CTRL('F') }, "move page-down", WHEN_ALWAYS, NULL, "one page down" },
	{ COMPOSE | ATTACKS | COMPARE | LEARN, { ' ' }, "move page-down", WHEN_ALWAYS, NULL, "one page down" },
	{ IN_ALL, { K_CTRL('U') }, "move half-up", WHEN_ALWAYS, NULL, "half a page up" },
	{ IN_ALL, { K_CTRL('D') }, "move half-down", WHEN_ALWAYS, NULL, "half a page down" },
	{ IN_ALL, { K_HOME, 'g' }, "move top", WHEN_ALWAYS, NULL, "the beginning" },
	{ IN_ALL, { K_END, 'G' }, "move bottom", WHEN_ALWAYS, NULL, "the end" },
	{ .views = 0 },
};
/* clang-format on */

static bool binding_has(const struct binding *b, uint32_t key)
{
	for (int i = 0; i < KEYS_MAX && b->keys[i] != K_NONE; i++)
		if (b->keys[i] == key)
			return true;
	return false;
}

const struct binding *binding_find(enum view_id view, uint32_t key)
{
	for (const struct binding *b = bindings; b->views; b++)
		if ((b->views & IN(view)) && binding_has(b, key))
			return b;
	return NULL;
}

bool binding_clash(const struct binding **ret_a, const struct binding **ret_b)
{
	for (const struct binding *a = bindings; a->views; a++)
		for (const struct binding *b = a + 1; b->views; b++)
			for (int i = 0; (a->views & b->views) && i < KEYS_MAX && a->keys[i] != K_NONE; i++)
				if (binding_has(b, a->keys[i])) {
					*ret_a = a;
					*ret_b = b;
					return true;
				}
	return false;
}

/* clang-format off */
static const struct {
	uint32_t key;
	const char *name;
} named_keys[] = {
	{ K_TAB, "Tab" }, { K_ENTER, "Enter" }, { K_ESC, "Esc" }, { ' ', "Space" },
	{ K_BACKSPACE, "Backspace" }, { K_UP, "Up" }, { K_DOWN, "Down" }, { K_LEFT, "Left" },
	{ K_RIGHT, "Right" }, { K_HOME, "Home" }, { K_END, "End" }, { K_PAGE_UP, "PgUp" },
	{ K_PAGE_DOWN, "PgDn" }, { K_INSERT, "Ins" }, { K_DELETE, "Del" }, { K_BACK_TAB, "S-Tab" },
};
/* clang-format on */

const char *key_spell(uint32_t key, char *buf, size_t size)
{
	const char *alt = key & K_ALT ? "M-" : "";
	key &= ~K_ALT;
	for (size_t i = 0; i < ARRAY_LEN(named_keys); i++)
		if (named_keys[i].key == key) {
			(void) snprintf(buf, size, "%s%s", alt, named_keys[i].name);
			return buf;
		}
	if (key >= K_F1 && key <= K_LAST)
		(void) snprintf(buf, size, "%sF%u", alt, (unsigned) (key - K_F1 + 1));
	else if (key < 0x20)
		(void) snprintf(buf, size, "%s^%c", alt, (char) (key + '@'));
	else if (key < 0x7f)
		(void) snprintf(buf, size, "%s%c", alt, (char) key);
	else
		(void) snprintf(buf, size, "%sU+%04X", alt, (unsigned) key);
	return buf;
}

uint32_t key_parse(const char *name)
{
	if (str_starts(name, "M-") && name[2]) {
		uint32_t key = key_parse(name + 2);
		return key ? key | K_ALT : K_NONE;
	}
	for (size_t i = 0; i < ARRAY_LEN(named_keys); i++)
		if (strcasecmp(named_keys[i].name, name) == 0)
			return named_keys[i].key;
	uint64_t number;
	if (name[0] == 'F' && str_to_u64(name + 1, &number) == 0 && number >= 1 && number <= 12)
		return K_F1 + (uint32_t) number - 1;
	if (name[0] == '^' && name[1] && !name[2])
		return K_CTRL(name[1]);
	return name[0] && !name[1] && name[0] > ' ' ? (uint32_t) name[0] : K_NONE;
}
