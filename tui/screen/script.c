/* SPDX-License-Identifier: MIT */
/*
 * Scripts for tests and demonstrations. A line is one of: `:command …`, `wait TEXT` (until it stands on the
 * screen), `wait-end` (until no run lives), `type TEXT`, `# comment`, or names of keys with blanks between
 * ("r", "^C", "PgDn").
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "tui/screen/app.h"

#define SCRIPT_MAX  (1u << 20)
#define STEP_NS     (20 * NS_PER_MS)
#define PATIENCE_NS (30 * NS_PER_S)

struct script {
	char *text, *next;
	int timer;
	uint64_t waiting_since_ns; /* 0: not waiting */
};

static void stop(struct app *app, int status)
{
	loop_cancel(app->loop, app->script->timer);
	app->script = script_free(app->script);
	if (status || !app->term)
		app_quit(app, status);
}

static bool on_screen(struct app *app, const char *text)
{
	struct buf picture = { 0 };
	app_draw(app);
	cells_dump(&app->grid, &picture);
	bool there = strstr(picture.data, text) != NULL;
	buf_done(&picture);
	app_dirty(app);
	return there;
}

static void press(struct app *app, char *keys)
{
	char *rest = keys;
	for (char *word = strtok_r(rest, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		uint32_t key = key_parse(word);
		if (key)
			app_key(app, key);
		else
			app_warn(app, "The script names no key: %s", word);
		app_draw(app); /* keys act on what is shown, as they would for a person */
		app_dirty(app);
	}
}

/* Does what a line says. Returns false when it has to be tried again later. */
static bool step(struct app *app, char *line)
{
	if (str_starts(line, "wait "))
		return on_screen(app, line + 5);
	if (strcmp(line, "wait-end") == 0)
		return app->run == NULL && !app->intake.reading;
	if (str_starts(line, "type "))
		for (const char *c = line + 5; *c; c++)
			app_key(app, (unsigned char) *c);
	else if (*line == ':')
		app_command(app, line + 1);
	else if (*line && *line != '#')
		press(app, line);
	return true;
}

static void on_step(void *arg)
{
	struct app *app = arg;
	struct script *s = app->script;
	char *end = strchr(s->next, '\n');
	size_t len = end ? (size_t) (end - s->next) : strlen(s->next);
	FREE char *line = xstrndup(s->next, len);
	if (!*s->next) {
		stop(app, 0);
		return;
	}
	if (step(app, line)) {
		s->next += end ? len + 1 : len;
		s->waiting_since_ns = 0;
	} else if (s->waiting_since_ns == 0) {
		s->waiting_since_ns = now_ns();
	} else if (now_ns() - s->waiting_since_ns > PATIENCE_NS) {
		stop(app, 1);
	}
}

int script_open(struct app *app, const char *path, struct err *e)
{
	char *text;
	int r = file_read(AT_FDCWD, path, SCRIPT_MAX, &text, NULL, e);
	if (r < 0)
		return r;
	struct script *s = xcalloc(1, sizeof(*s));
	s->text = s->next = text;
	app->script = s;
	r = loop_timer(app->loop, STEP_NS, STEP_NS, on_step, app, e);
	s->timer = r > 0 ? r : 0;
	return r < 0 ? r : 0;
}

struct script *script_free(struct script *s)
{
	if (s)
		free(s->text);
	free(s);
	return NULL;
}
