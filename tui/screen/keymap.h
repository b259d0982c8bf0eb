/* SPDX-License-Identifier: MIT */
/*
 * The one table of keys. A key is nothing but a short name for a command of the `:` line; hint bar, `?` and
 * the documentation are made from this table, and a test fails when two rows claim the same key.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A key is a Unicode character, a control character, or one of these. */
#define K_CTRL(c) ((uint32_t) (c) &0x1f)
#define K_ALT     0x200000u /* added: ESC and then the character */
enum {
	K_NONE = 0,
	K_TAB = 9,
	K_ENTER = 13,
	K_ESC = 27,
	K_BACKSPACE = 127,
	K_UP = 0x110000,
	K_DOWN,
	K_LEFT,
	K_RIGHT,
	K_HOME,
	K_END,
	K_PAGE_UP,
	K_PAGE_DOWN,
	K_INSERT,
	K_DELETE,
	K_BACK_TAB,
	K_F1, /* to K_F1 + 11 */
	K_LAST = K_F1 + 11,
};

enum view_id {
	VIEW_COMPOSE,
	VIEW_RUN,
	VIEW_EVENTS,
	VIEW_ATTACKS,
	VIEW_COMPARE,
	VIEW_PRESETS,
	VIEW_LEARN,
	VIEW_MAX
};
#define IN(view) (1u << (view))
#define IN_ALL   (IN(VIEW_MAX) - 1)
#define VIEW_ASK VIEW_MAX /* no screen: the question above the last rows of each, whose keys come first */

/* What must hold for a key to be worth a place in the hint bar. The command itself says why it cannot. */
enum when { WHEN_ALWAYS = 0, WHEN_CODE = 1, WHEN_LIVE = 2, WHEN_IDLE = 4, WHEN_RAN = 8, WHEN_REPLAY = 16 };

#define KEYS_MAX 4
struct binding {
	unsigned views;
	uint32_t keys[KEYS_MAX]; /* the first is the one that is shown; ends with K_NONE or the array */
	const char *command;
	unsigned when;
	const char *hint; /* one or two words; NULL: never in the hint bar */
	const char *help; /* one line in `?` */
};
extern const struct binding bindings[]; /* ends with views 0 */

const struct binding *binding_find(enum view_id view, uint32_t key);
/* binding_clash: two rows that claim the same key in the same screen. */
bool binding_clash(const struct binding **ret_a, const struct binding **ret_b);

/* "^C", "Enter", "F5", "r", "M-b". key_parse: 0 where no key has this name. */
const char *key_spell(uint32_t key, char *buf, size_t size);
uint32_t key_parse(const char *name);
