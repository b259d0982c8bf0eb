/* SPDX-License-Identifier: MIT */
/*
 * The terminal: keys, pastes, signals and size come in, a grid of cells goes out. The only file that knows
 * curses is curses.c, and nothing of it shows here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cells;
struct curses;
struct err;
struct loop;

struct curses_options {
	bool color;
	int guard_fd;     /* where the guard looks whether we hold the terminal; -1: no guard */
	size_t paste_max; /* bytes of a paste that are kept */
	void *arg;        /* of the callbacks */
	void (*key)(void *arg, uint32_t key);
	/* text: line ends are LF; dropped: bytes after an end mark inside it; whole: the end mark came,
	 * nothing was cut */
	void (*paste)(void *arg, const char *text, size_t len, size_t dropped, bool whole);
	const char *(*farewell)(void *arg);  /* a line for the shell that ^Z goes back to, or NULL */
	void (*changed)(void *arg);          /* size or visibility changed: draw all again */
	void (*ended)(void *arg, int signo); /* the terminal is gone (SIGHUP), or a signal says to end */
};

/* curses_open: takes the terminal. -ENOTTY and the reason where there is none that can be drawn on. Gives:
 * *ret. */
int curses_open(struct loop *loop, const struct curses_options *o, struct curses **ret, struct err *e);
struct curses *curses_close(struct curses *c); /* accepts NULL, returns NULL; the terminal is as it was */

void curses_size(struct curses *c, int *ret_rows, int *ret_columns);
/* curses_draw: 0, or -EAGAIN when the terminal takes no output now (the frame is to be drawn later). */
int curses_draw(struct curses *c, const struct cells *grid);
void curses_redraw(struct curses *c); /* the next frame paints everything */

void curses_suspend(struct curses *c); /* ^Z: back to the shell; returns when it is the foreground again */
void curses_leave(struct curses *c);   /* gives the terminal to another program… */
void curses_return(struct curses *c);  /* …and takes it back */
