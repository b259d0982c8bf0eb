/* SPDX-License-Identifier: MIT */
/*
 * The only user of <curses.h> and <term.h> (whose macros take names such as `lines`). Keys come from the
 * controlling terminal, never from standard input, which may bring code. No standard stream is written while
 * curses runs.
 */
#include <curses.h>
#include <term.h>
#undef columns /* terminfo's capabilities are macros, these two with names that everybody uses */
#undef lines

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "core/base/base.h"
#include "tui/screen/cells.h"
#include "tui/screen/curses.h"
#include "tui/screen/job.h"
#include "tui/screen/keymap.h"
#include "tui/screen/paste.h"

#define KEY_PASTE_BEGIN 0x1001
#define KEY_PASTE_END   0x1002
#define QUIET_NS        (50 * NS_PER_MS) /* after an end mark: what a person types comes later than this */
#define DRAIN_NS        (5 * NS_PER_S)   /* … but nobody can hold the keys longer */
#define PASTE_IDLE_NS   (2 * NS_PER_S)   /* a paste whose end mark never comes */
#define SILENT_READS    100              /* "readable" and nothing to read: the terminal is gone */
#define BURST           48               /* without bracketed paste, so many bytes at once are no typing */

struct curses {
	struct curses_options o;
	struct loop *loop;
	int fd;
	FILE *in, *out;
	SCREEN *screen;
	WINDOW *keys;                     /* a pad: reading from it does not repaint anything */
	const char *paste_on, *paste_off; /* NULL: this terminal has no bracketed paste */
	attr_t attr[ROLE_MAX];
	short pair[ROLE_MAX];
	bool styles, own_colors; /* a target's colours are drawn; the terminal has default ones */
	short style_pair[STYLE_COLORS][STYLE_COLORS], pairs; /* made at the first use; how many there are */
	bool away, resized;
	struct paste paste;
	int paste_timer;
	uint64_t drain_until_ns;
	unsigned silent_reads;
	sigset_t watched;
};

/* clang-format off */
static const struct {
	attr_t mono, colored;
	short fg, bg; /* -1: the terminal's own */
} looks[ROLE_MAX] = {
	/* Text stays in the terminal's own colours, readable on any background. Badges bring both of
	 * theirs. */
	[ROLE_TEXT] = { A_NORMAL, A_NORMAL, -1, -1 },
	[ROLE_STRONG] = { A_BOLD, A_BOLD, -1, -1 },
	[ROLE_BORDER] = { A_NORMAL, A_NORMAL, -1, -1 },
	[ROLE_TAB] = { A_REVERSE | A_BOLD, A_BOLD, COLOR_WHITE, COLOR_BLUE },
	[ROLE_KEY] = { A_BOLD, A_BOLD, -1, -1 },
	[ROLE_SELECTED] = { A_REVERSE, A_REVERSE, -1, -1 },
	[ROLE_NUMBER] = { A_NORMAL, A_NORMAL, -1, -1 },
	[ROLE_SPARK] = { A_NORMAL, A_NORMAL, COLOR_MAGENTA, -1 },
	[ROLE_MARK] = { A_UNDERLINE, A_NORMAL, COLOR_BLACK, COLOR_CYAN },
	[ROLE_FOUND] = { A_BOLD | A_UNDERLINE, A_BOLD | A_UNDERLINE, -1, -1 },
	[ROLE_WARN] = { A_BOLD, A_BOLD, -1, -1 },
	[ROLE_EFFECT] = { A_REVERSE | A_BOLD | A_UNDERLINE, A_BOLD, COLOR_WHITE, COLOR_RED },
	[ROLE_UNKNOWN] = { A_REVERSE, A_NORMAL, COLOR_BLACK, COLOR_YELLOW },
};
/* clang-format on */

static void init_looks(struct curses *c)
{
	bool color = c->o.color && has_colors() && start_color() == OK;
	bool own = color && use_default_colors() == OK;
	c->styles = color && COLORS >= 8;
	c->own_colors = own;
	c->pairs = ROLE_MAX + 1;
	for (short role = 0; role < ROLE_MAX; role++) {
		bool plain = looks[role].fg < 0 && looks[role].bg < 0;
		short fg = looks[role].fg < 0 ? COLOR_WHITE : looks[role].fg,
		      bg = looks[role].bg < 0 ? COLOR_BLACK : looks[role].bg;
		c->attr[role] = color ? looks[role].colored : looks[role].mono;
		if (!color || plain)
			continue;
		/* A pair for a role keeps their number far under the 64 that xterm has. */
		c->pair[role] = (short) (role + 1);
		(void) init_pair(c->pair[role], own ? looks[role].fg : fg, own ? looks[role].bg : bg);
	}
}

/* Of the 63 pairs that an xterm has, all of ours and most of a target's find room. One that does not is drawn plain. */
static short pair_of(struct curses *c, struct text_style s)
{
	short *pair = &c->style_pair[s.fg][s.bg];
	if (*pair == 0 && (s.fg || s.bg) && c->pairs < COLOR_PAIRS && c->pairs < 256) {
		short own_fg = c->own_colors ? -1 : COLOR_WHITE, own_bg = c->own_colors ? -1 : COLOR_BLACK;
		short fg = s.fg ? (short) (s.fg - STYLE_BLACK) : own_fg,
		      bg = s.bg ? (short) (s.bg - STYLE_BLACK) : own_bg;
		*pair = c->pairs++;
		(void) init_pair(*pair, fg, bg);
	}
	return *pair;
}

static void look_of(struct curses *c, const struct grid_cell *cell, attr_t *ret_attr, short *ret_pair)
{
	struct text_style s = cell->style;
	*ret_attr = c->attr[cell->role];
	*ret_pair = c->pair[cell->role];
	if (!c->styles || style_is_plain(s))
		return;
	*ret_attr |= (s.bold ? A_BOLD : 0) | (s.underline ? A_UNDERLINE : 0) | (s.reverse ? A_REVERSE : 0);
	*ret_pair = pair_of(c, s);
}

/* putp() would go through stdout; this goes where the terminal is. */
static void send_mode(const struct curses *c, const char *sequence)
{
	if (sequence)
		(void) write_all(c->fd, sequence, strlen(sequence));
}

static const char *capability(const char *name)
{
	char *value = tigetstr(name);
	return value == (char *) -1 ? NULL : value;
}

/* clang-format off */
static const struct {
	wint_t curses;
	uint32_t key;
} key_codes[] = {
	{ KEY_UP, K_UP }, { KEY_DOWN, K_DOWN }, { KEY_LEFT, K_LEFT }, { KEY_RIGHT, K_RIGHT },
	{ KEY_HOME, K_HOME }, { KEY_END, K_END }, { KEY_PPAGE, K_PAGE_UP }, { KEY_NPAGE, K_PAGE_DOWN },
	{ KEY_IC, K_INSERT }, { KEY_DC, K_DELETE }, { KEY_BTAB, K_BACK_TAB },
	{ KEY_BACKSPACE, K_BACKSPACE }, { KEY_ENTER, K_ENTER }, { KEY_A1, K_HOME }, { KEY_A3, K_PAGE_UP },
	{ KEY_C1, K_END }, { KEY_C3, K_PAGE_DOWN },
};
/* clang-format on */

static uint32_t key_of_code(wint_t code)
{
	for (size_t i = 0; i < ARRAY_LEN(key_codes); i++)
		if (key_codes[i].curses == code)
			return key_codes[i].key;
	if (code >= KEY_F(1) && code <= KEY_F(12))
		return K_F1 + (uint32_t) (code - KEY_F(1));
	return K_NONE; /* KEY_RESIZE, which resizeterm() pushes, and keys that nobody asked for */
}

/* After an ESC that curses did not know as a key: Alt and a character, or a sequence to be swallowed
 * whole. Passing it on piece by piece would press keys that nobody pressed. */
static uint32_t key_after_escape(struct curses *c)
{
	wint_t next;
	if (wget_wch(c->keys, &next) != OK)
		return K_ESC;
	if (next != '[' && next != 'O')
		return next >= ' ' && next < 0x7f ? (uint32_t) next | K_ALT : K_NONE;
	for (int i = 0; i < 64 && wget_wch(c->keys, &next) == OK; i++)
		if (next >= 0x40 && next <= 0x7e)
			break;
	return K_NONE;
}

/* 1 and a key (K_NONE: something without meaning), 0 when there is none, KEY_PASTE_BEGIN. */
static int next_key(struct curses *c, uint32_t *ret_key)
{
	wint_t code;
	int r = wget_wch(c->keys, &code);
	if (r == ERR)
		return 0;
	if (r == KEY_CODE_YES && code == KEY_PASTE_BEGIN)
		return KEY_PASTE_BEGIN;
	if (r == KEY_CODE_YES)
		*ret_key = key_of_code(code);
	else if (code == K_ESC)
		*ret_key = key_after_escape(c);
	else
		*ret_key = code == '\n' ? K_ENTER : code == '\b' ? K_BACKSPACE : (uint32_t) code;
	return 1;
}

static void paste_timeout(void *arg);

static void arm_paste(struct curses *c, uint64_t ns)
{
	struct err ignored;
	loop_cancel(c->loop, c->paste_timer);
	int id = loop_timer(c->loop, ns, 0, paste_timeout, c, &ignored);
	c->paste_timer = id > 0 ? id : 0;
}

static void paste_timeout(void *arg)
{
	struct curses *c = arg;
	bool whole = c->paste.draining && !c->paste.too_long;
	c->paste_timer = 0;
	paste_end(&c->paste);
	struct paste p = c->paste;
	c->paste = (struct paste){ 0 };
	c->o.paste(c->o.arg, p.text.data ? p.text.data : "", p.text.len, p.dropped, whole && !p.too_long);
	paste_done(&p);
}

/* One wgetch costs one read(2) a byte; a paste is read in bulk. */
static void read_paste(struct curses *c)
{
	static char bytes[64 << 10];
	bool drained = c->paste.draining;
	ssize_t got = read(c->fd, bytes, sizeof(bytes));
	if (got <= 0) {
		c->silent_reads += got < 0 && errno == EINTR ? 0 : SILENT_READS;
		return;
	}
	paste_feed(&c->paste, bytes, (size_t) got);
	if (c->paste.draining && !drained)
		c->drain_until_ns = now_ns() + DRAIN_NS;
	if (c->paste.draining && now_ns() > c->drain_until_ns) {
		paste_timeout(c);
		return;
	}
	arm_paste(c, c->paste.draining ? QUIET_NS : PASTE_IDLE_NS);
}

/* A terminal without bracketed paste: many bytes at once are a paste too, and end with the first quiet. */
static bool looks_pasted(const struct curses *c)
{
	int waiting = 0;
	return !c->paste_on && ioctl(c->fd, FIONREAD, &waiting) == 0 && waiting >= BURST;
}

static void read_keys(struct curses *c)
{
	uint32_t key = K_NONE;
	int r = 0, keys = 0;
	while (!c->away && !c->paste.active && keys < 256 && (r = next_key(c, &key)) > 0) {
		keys++;
		if (r == KEY_PASTE_BEGIN) {
			paste_begin(&c->paste, c->o.paste_max);
			arm_paste(c, PASTE_IDLE_NS);
		} else if (key != K_NONE) {
			c->o.key(c->o.arg, key);
		}
	}
	c->silent_reads = keys ? 0 : c->silent_reads + 1;
}

static void on_input(void *arg, uint32_t events)
{
	struct curses *c = arg;
	if (c->away)
		return;
	if (!(events & (EPOLLHUP | EPOLLERR))) {
		if (!c->paste.active && !c->paste.draining && looks_pasted(c)) {
			paste_begin(&c->paste, c->o.paste_max);
			arm_paste(c, PASTE_IDLE_NS);
		}
		if (c->paste.active || c->paste.draining)
			read_paste(c);
		else
			read_keys(c);
	}
	/* Without this, a terminal that went away would keep us busy for ever. */
	if ((events & (EPOLLHUP | EPOLLERR)) || c->silent_reads >= SILENT_READS) {
		loop_unwatch_fd(c->loop, c->fd);
		c->o.ended(c->o.arg, SIGHUP);
	}
}

static void on_signal(void *arg, int signo)
{
	struct curses *c = arg;
	if (signo == SIGWINCH) {
		c->resized = true;
		c->o.changed(c->o.arg);
	} else if (signo == SIGTSTP && !c->away) {
		curses_suspend(c);
	} else if (signo == SIGCONT && !c->away) {
		/* Somebody used SIGSTOP: the shell has changed the modes since. */
		curses_leave(c);
		curses_return(c);
	} else if (signo == SIGTERM || signo == SIGHUP ||
		   ((signo == SIGINT || signo == SIGQUIT) && !c->away)) {
		c->o.ended(c->o.arg, signo);
	}
}

static int watch(struct curses *c, struct err *e)
{
	static const int signals[] = {
		SIGWINCH, SIGTSTP, SIGCONT, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGPIPE
	};
	sigemptyset(&c->watched);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sigaddset(&c->watched, signals[i]);
	/* Blocked before curses starts, so that its own handlers, which are not safe, never run. */
	int r = loop_watch_signals(c->loop, &c->watched, on_signal, c, e);
	return r < 0 ? r : loop_watch_fd(c->loop, c->fd, EPOLLIN, on_input, c, e);
}

/* newterm() takes a terminal that cannot move its cursor, and initscr() would exit: ask terminfo first. */
static int check_terminal(int fd, struct err *e)
{
	const char *name = getenv("TERM");
	int known = 0;
	if (!name || !*name || setupterm(name, fd, &known) != OK)
		return err_say(
			e, ENOTTY,
			"TERM is \"%.40s\", which terminfo does not know; set it to what the terminal is, "
			"or use belljar run",
			name ? name : "");
	bool moves = capability("cup") != NULL;
	(void) del_curterm(cur_term);
	if (!moves)
		return err_say(e, ENOTTY,
			       "TERM is \"%.40s\", a terminal that cannot move its cursor; use belljar run",
			       name);
	return 0;
}

static int open_terminal(struct curses *c, struct err *e)
{
	int r;
	c->fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (c->fd < 0)
		return err_set(e, ENOTTY, "no terminal to draw on: /dev/tty");
	if ((r = check_terminal(c->fd, e)) < 0)
		return r;
	int out_fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 3), in_fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 3);
	c->out = out_fd < 0 ? NULL : fdopen(out_fd, "w");
	c->in = in_fd < 0 ? NULL : fdopen(in_fd, "r");
	return c->out && c->in ? 0 : err_set(e, errno, "open the terminal");
}

static int start_curses(struct curses *c, struct err *e)
{
	use_env(FALSE); /* exported LINES and COLUMNS would freeze the size */
	use_tioctl(TRUE);
	job_tell_guard(c->o.guard_fd, '1');
	c->screen = newterm(NULL, c->out, c->in);
	if (!c->screen) {
		job_tell_guard(c->o.guard_fd, '0');
		return err_say(e, ENOTTY, "curses cannot use this terminal; use belljar run");
	}
	if (!getenv("ESCDELAY"))
		(void) set_escdelay(getenv("SSH_CONNECTION") ? 100 : 25);
	(void) raw(); /* cbreak would leave ^S to the line discipline, which then stops us in write(2) */
	(void) noecho();
	(void) nonl();
	c->keys = newpad(1, 1);
	(void) keypad(c->keys, TRUE);
	(void) nodelay(c->keys, TRUE);
	init_looks(c);
	/* Bracketed paste: terminfo has it, but curses 6.4 makes keys only of capabilities that begin with
	 * k. */
	c->paste_on = capability("BE");
	c->paste_off = capability("BD");
	if (c->paste_on) {
		(void) define_key("\033[200~", KEY_PASTE_BEGIN);
		(void) define_key("\033[201~", KEY_PASTE_END);
		send_mode(c, c->paste_on);
	}
	(void) flushinp(); /* what was typed before there was anything to see is for nobody */
	return 0;
}

int curses_open(struct loop *loop, const struct curses_options *o, struct curses **ret, struct err *e)
{
	struct curses *c = xcalloc(1, sizeof(*c));
	c->o = *o;
	c->loop = loop;
	int r = open_terminal(c, e);
	if (r == 0)
		r = watch(c, e);
	if (r == 0)
		r = start_curses(c, e);
	if (r < 0) {
		curses_close(c);
		return r;
	}
	/* From here on the terminal is restored even from the background; starting there has stopped us
	 * before. */
	sigset_t background;
	sigemptyset(&background);
	sigaddset(&background, SIGTTOU);
	(void) sigprocmask(SIG_BLOCK, &background, NULL);
	*ret = c;
	return 0;
}

struct curses *curses_close(struct curses *c)
{
	if (!c)
		return NULL;
	loop_cancel(c->loop, c->paste_timer);
	paste_done(&c->paste);
	if (c->screen) {
		if (!c->away)
			curses_leave(c);
		(void) delwin(c->keys);
		delscreen(c->screen);
	}
	if (c->fd >= 0)
		loop_unwatch_fd(c->loop, c->fd);
	if (c->out)
		(void) fclose(c->out);
	if (c->in)
		(void) fclose(c->in);
	close_fd(&c->fd);
	free(c);
	return NULL;
}

void curses_size(struct curses *c, int *ret_rows, int *ret_columns)
{
	struct winsize size;
	if (c->resized && ioctl(c->fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
		(void) resizeterm(size.ws_row, size.ws_col);
	c->resized = false;
	getmaxyx(stdscr, *ret_rows, *ret_columns);
}

static bool takes_output(const struct curses *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLOUT };
	return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT);
}

static void draw_row(struct curses *c, const struct grid_cell *line, int row, int columns)
{
	cchar_t out[CELLS_COLUMNS_MAX];
	int count = 0;
	for (int i = 0; i < columns; i++) {
		if (line[i].width == 0)
			continue;
		wchar_t text[4] = { (wchar_t) line[i].rune, (wchar_t) line[i].marks[0],
				    (wchar_t) line[i].marks[1], 0 };
		attr_t attr;
		short pair;
		look_of(c, &line[i], &attr, &pair);
		(void) setcchar(&out[count++], text, attr, pair, NULL);
	}
	/* Each row begins with a move of its own: a width that the terminal sees otherwise cannot shift
	 * another row. */
	(void) mvwadd_wchnstr(stdscr, row, 0, out, count);
}

int curses_draw(struct curses *c, const struct cells *grid)
{
	int rows, columns;
	if (c->away)
		return 0;
	if (!takes_output(c))
		return -EAGAIN;
	getmaxyx(stdscr, rows, columns);
	if (grid->columns < columns || grid->rows < rows)
		(void) werase(stdscr);
	columns = grid->columns < columns ? grid->columns : columns;
	for (int row = 0; row < rows && row < grid->rows; row++)
		draw_row(c, grid->at + (size_t) row * (size_t) grid->columns, row, columns);
	(void) curs_set(grid->cursor_row >= 0);
	if (grid->cursor_row >= 0)
		(void) wmove(stdscr, grid->cursor_row, grid->cursor_column);
	(void) wnoutrefresh(stdscr);
	(void) doupdate();
	return 0;
}

void curses_redraw(struct curses *c)
{
	(void) c;
	(void) clearok(curscr, TRUE);
}

void curses_leave(struct curses *c)
{
	send_mode(c, c->paste_off);
	(void) curs_set(1);
	(void) endwin();
	job_tell_guard(c->o.guard_fd, '0');
	c->away = true;
}

void curses_return(struct curses *c)
{
	job_tell_guard(c->o.guard_fd, '1');
	/* What was typed meanwhile was for whoever had the terminal, though the kernel sent it to us too. */
	sigset_t typed;
	sigemptyset(&typed);
	sigaddset(&typed, SIGINT);
	sigaddset(&typed, SIGQUIT);
	sigaddset(&typed, SIGTSTP);
	while (sigtimedwait(&typed, NULL, &(struct timespec){ 0 }) > 0)
		;
	c->away = false;
	(void) reset_prog_mode();
	send_mode(c, c->paste_on);
	c->resized = true; /* a size that changed while we were stopped sent no signal */
	(void) clearok(curscr, TRUE);
	c->o.changed(c->o.arg);
}

void curses_suspend(struct curses *c)
{
	const char *farewell = c->o.farewell(c->o.arg);
	curses_leave(c);
	send_mode(c, farewell);
	job_stop(c->fd);
	curses_return(c);
}
