/* SPDX-License-Identifier: MIT */
/*
 * The ring of output: lines whole and cut, streams that interleave, carriage returns, bounds under a flood,
 * searching.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "tui/screen/ring.h"

#define SIZE  (4 * RING_LINE_MAX)
#define SLOTS 64

static void add(struct ring *r, int stream, const char *text)
{
	ring_add(r, stream, text, strlen(text));
}

static void assert_line(const struct ring *r, uint64_t number, const char *expected)
{
	assert_true(number >= r->first && number < r->next);
	struct clean line = ring_text(r, number);
	assert_int_equal(line.len, strlen(expected));
	assert_memory_equal(line.text, expected, line.len);
}

static void test_lines(void **state)
{
	(void) state;
	struct ring r;
	ring_init(&r, SIZE, SLOTS, false);
	add(&r, 0, "one\ntw");
	add(&r, 0, "o\n\nthree");
	assert_int_equal(r.next, 4);
	assert_line(&r, 0, "one");
	assert_line(&r, 1, "two");
	assert_line(&r, 2, "");
	assert_line(&r, 3, "three");
	add(&r, 1, "error\n"); /* the other stream begins a line of its own */
	add(&r, 0, "more\n");
	assert_line(&r, 4, "error");
	assert_true(ring_line(&r, 4)->error);
	assert_line(&r, 5, "more");
	assert_false(ring_line(&r, 5)->error);
	ring_done(&r);
}

static void test_carriage_return_starts_the_line_anew(void **state)
{
	(void) state;
	struct ring r;
	ring_init(&r, SIZE, SLOTS, false);
	add(&r, 0, "10 %\r20 %\r");
	add(&r, 0, "30 %");
	assert_int_equal(r.next, 1);
	assert_line(&r, 0, "30 %");
	add(&r, 0, "\r");
	assert_line(&r, 0, "30 %"); /* still seen: nothing has come over it yet */
	add(&r, 0, "\nnext\r\nlast\r\n");
	assert_line(&r, 0, "30 %");
	assert_line(&r, 1, "next");
	assert_line(&r, 2, "last");
	assert_int_equal(r.removed, 0);
	ring_done(&r);
}

static void test_long_line_is_cut_and_counted(void **state)
{
	(void) state;
	struct ring r;
	static char text[90000];
	memset(text, 'x', sizeof(text));
	ring_init(&r, SIZE, SLOTS, false);
	ring_add(&r, 0, text, sizeof(text));
	add(&r, 0, "\nshort\n");
	assert_int_equal(r.next, 2);
	assert_int_equal(ring_text(&r, 0).len, RING_LINE_MAX);
	assert_int_equal(ring_line(&r, 0)->over, (sizeof(text) - RING_LINE_MAX + 1023) / 1024);
	assert_line(&r, 1, "short");
	ring_done(&r);
}

static void test_cut_keeps_characters_whole(void **state)
{
	(void) state;
	struct ring r;
	struct buf text = { 0 };
	buf_str(&text, "x");
	for (size_t i = 0; i < RING_LINE_MAX / 2; i++)
		buf_str(&text, "é");
	ring_init(&r, SIZE, SLOTS, false);
	ring_add(&r, 0, text.data, text.len);
	struct clean line = ring_text(&r, 0);
	assert_true(text_is_utf8(line.text, line.len));
	assert_int_equal(line.len, RING_LINE_MAX - 1);
	buf_done(&text);
	ring_done(&r);
}

static void test_escapes_are_removed_and_counted(void **state)
{
	(void) state;
	struct ring r;
	ring_init(&r, SIZE, SLOTS, false);
	add(&r, 0, "a\033]52;c;Zm9v");
	add(&r, 0, "\ab\033[31mred\033[0m\n"); /* cut in the middle, as reads do */
	struct clean line = ring_text(&r, 0);
	assert_null(memchr(line.text, 033, line.len));
	assert_null(memchr(line.text, '\a', line.len));
	assert_int_equal(r.removed, 1); /* colours are no news */
	ring_done(&r);
}

static void test_unfinished_is_shown_at_the_end(void **state)
{
	(void) state;
	struct ring r;
	ring_init(&r, SIZE, SLOTS, false);
	add(&r, 0, "half\xc3");
	ring_end(&r);
	assert_int_equal(r.next, 1);
	assert_true(ring_text(&r, 0).len > 4);
	ring_done(&r);
}

/* Many short lines run out of slots, long ones out of bytes; every line kept is as it came. */
static void test_flood_is_bounded(void **state)
{
	(void) state;
	struct ring r;
	char text[64];
	ring_init(&r, SIZE, SLOTS, false);
	for (int i = 0; i < 10000; i++) {
		(void) snprintf(text, sizeof(text), "line %d\n", i);
		add(&r, 0, text);
		assert_true(r.next - r.first <= SLOTS);
	}
	for (uint64_t n = r.first; n < r.next; n++) {
		(void) snprintf(text, sizeof(text), "line %u", (unsigned) n);
		assert_line(&r, n, text);
	}
	static char big[RING_LINE_MAX];
	for (int i = 0; i < 100; i++) {
		memset(big, 'a' + i % 26, sizeof(big));
		big[sizeof(big) - 1] = '\n';
		ring_add(&r, 0, big, sizeof(big));
		for (uint64_t n = r.first; n < r.next; n++) {
			struct clean line = ring_text(&r, n);
			assert_true(line.text >= r.data && line.text + line.len <= r.data + r.size);
			assert_true(line.len == 0 || line.text[0] == line.text[line.len - 1] ||
				    line.text[0] == 'l');
		}
	}
	ring_done(&r);
}

static void test_find(void **state)
{
	(void) state;
	struct ring r;
	ring_init(&r, SIZE, SLOTS, false);
	add(&r, 0, "alpha\nbeta\nalphabet\n");
	assert_int_equal(ring_find(&r, 0, false, "alpha"), 0);
	assert_int_equal(ring_find(&r, 1, false, "alpha"), 2);
	assert_int_equal(ring_find(&r, 1, true, "alpha"), 0);
	assert_true(ring_find(&r, 0, false, "gamma") == UINT64_MAX);
	assert_true(ring_find(&r, UINT64_MAX, true, "alpha") == UINT64_MAX);
	ring_done(&r);
}

static void test_at_a_moment(void **state)
{
	(void) state;
	struct ring r;
	ring_init(&r, SIZE, SLOTS, false);
	assert_int_equal(ring_at(&r, 5), 0);
	for (uint64_t t = 10; t <= 40; t += 10) {
		r.now_ns = t;
		add(&r, 0, "line\n");
	}
	assert_int_equal(ring_at(&r, 0), 0);
	assert_int_equal(ring_at(&r, 20), 1);
	assert_int_equal(ring_at(&r, 21), 2);
	assert_int_equal(ring_at(&r, 99), 3); /* after the last: the newest */
	ring_done(&r);
}

/* Each byte of a line as a digit of its foreground, 0: the terminal's own. */
static void assert_styles(const struct ring *r, uint64_t number, const char *expected)
{
	char seen[SLOTS * 2] = "";
	struct text_style style;
	for (size_t at = 0, len = 0; at < ring_text(r, number).len; at += len) {
		len = ring_style(r, number, at, &style);
		assert_true(len > 0 && at + len <= ring_text(r, number).len);
		memset(seen + at, '0' + style.fg, len);
	}
	assert_string_equal(seen, expected);
}

static void test_styles(void **state)
{
	(void) state;
	struct ring r;
	ring_init(&r, SIZE, SLOTS, false);
	add(&r, 0, "ab\033[31mcd\nef\033[0mgh\n\033[32m\033[33mi\n");
	assert_line(&r, 0, "abcd");
	assert_styles(&r, 0, "0022");
	assert_styles(&r, 1, "2200");
	assert_styles(&r, 2, "4");
	add(&r, 1, "err\n"); /* the streams do not dress each other */
	add(&r, 0, "out\033[34m\r\033[31mx\033[32myy");
	assert_styles(&r, 3, "000");
	assert_line(&r, 4, "xyy");
	assert_styles(&r, 4, "233"); /* what was over-written left no colour */
	assert_int_equal(r.removed, 0);
	ring_done(&r);
}

/* More changes than there is room for: old lines lose their colours, never get those of others. */
static void test_flood_of_colours_is_bounded(void **state)
{
	(void) state;
	struct ring r;
	ring_init(&r, SIZE, SLOTS, false);
	add(&r, 0, "\033[31mold\n");
	for (int i = 0; i < SLOTS; i++)
		add(&r, 0, "\033[32mx\033[33my");
	add(&r, 0, "\n\033[31mne\033[32mw\n");
	assert_true(r.change_next - r.change_first <= SLOTS);
	assert_styles(&r, 0, "000");
	assert_styles(&r, 2, "223");
	ring_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_carriage_return_starts_the_line_anew),
		cmocka_unit_test(test_long_line_is_cut_and_counted),
		cmocka_unit_test(test_cut_keeps_characters_whole),
		cmocka_unit_test(test_escapes_are_removed_and_counted),
		cmocka_unit_test(test_unfinished_is_shown_at_the_end),
		cmocka_unit_test(test_flood_is_bounded),
		cmocka_unit_test(test_styles),
		cmocka_unit_test(test_flood_of_colours_is_bounded),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_at_a_moment),
	};
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
