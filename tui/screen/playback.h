/* SPDX-License-Identifier: MIT */
/*
 * Playing a recording: its events enter at the one place where a run's do, at their own pace or at another, up to a
 * moment that the person chooses. Nothing of it is run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app;
struct err;
struct recording;

struct playback {
	struct recording *recording;
	size_t next;    /* the first event that has not been shown */
	size_t waits;   /* so many stand before the start; they are due at once */
	uint64_t t_ns;  /* the moment that is shown */
	unsigned speed; /* index into the table of speeds */
	int timer;      /* 0: paused */
};

/* playback_open: shows all of it, and where it ends. Gives: to app->playback. */
int playback_open(struct app *app, const char *path, struct err *e);
void playback_close(struct app *app); /* nothing where nothing is played */
bool playback_at_end(const struct playback *p);
uint64_t playback_length(const struct playback *p);
const char *playback_speed(const struct playback *p); /* "x1/4", "x8" */
void playback_seek(struct app *app, uint64_t t_ns);
