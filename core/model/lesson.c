/* SPDX-License-Identifier: MIT */
/*
 * Lessons from INI files, read as strictly as presets: a slip of a teacher is a fault with file and line, never a step
 * that silently does nothing.
 */
#include "core/model/lesson.h"

#include "core/base/base.h"
#include "core/model/ini.h"
#include "core/model/launch.h"
#include "core/model/named.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LESSON_FOLDER "examples/lessons"

struct reading {
	struct lesson *l;
	const char *file;
	struct ini_faults *faults;
};

/* ---- keys ---- */

/* A name, not a path: a lesson runs what lies beside it. */
static int set_code(struct reading *r, struct lesson_step *step, const char *value, struct err *e)
{
	const char *slash = strrchr(r->file, '/');
	int folder = slash ? (int) (slash - r->file) : 1;

	if (strchr(value, '/') || value[0] == '.')
		return err_say(e, EINVAL, "'%.60s' must be the name of a file beside the lesson", value);
	free(step->code);
	step->code = xprintf("%.*s/%s", folder, slash ? r->file : ".", value);
	return access(step->code, R_OK) < 0 ? err_set(e, errno, "read %s", step->code) : 0;
}

static int set_right(struct reading *r, struct lesson_step *step, const char *value, struct err *e)
{
	(void) r;
	if (!value[0] || value[1] || value[0] < 'a' || value[0] >= 'a' + LESSON_CHOICES)
		return err_say(e, EINVAL, "'%.20s' is none of a, b, c, d", value);
	step->right = value[0] - 'a';
	return 0;
}

static int set_language(struct reading *r, struct lesson_step *step, const char *value, struct err *e)
{
	(void) r;
	if (!language_by_name(value))
		return err_say(e, EINVAL, "the language '%.40s' is not known", value);
	free(step->language);
	step->language = xstrdup(value);
	return 0;
}

/* One that is not there is no fault: the level may come with a later version, and the lesson says so then. */
static int set_preset(struct reading *r, struct lesson_step *step, const char *value, struct err *e)
{
	(void) r;
	if (!named_ok(value))
		return err_say(e, EINVAL, "'%.60s' is no name of a preset", value);
	free(step->preset);
	step->preset = xstrdup(value);
	return 0;
}

static int set_look(struct reading *r, struct lesson_step *step, const char *value, struct err *e)
{
	static const enum event_type types[] = { EVENT_DENIED,   EVENT_NETWORK, EVENT_FILE,
						 EVENT_EXEC,     EVENT_LIMIT,   EVENT_OUTPUT,
						 EVENT_TERMINAL, EVENT_ALERT,   EVENT_EXIT };
	const char *names[ARRAY_LEN(types) + 1] = { NULL };
	char near[128];

	(void) r;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		names[i] = event_type_name(types[i]);
		if (strcmp(names[i], value) == 0) {
			step->look = types[i];
			return 0;
		}
	}
	return err_say(e, EINVAL, "no event is called '%.40s'%s", value,
		       ini_nearest(value, names, near, sizeof(near)));
}

/* What a section may say: a text as it stands, at an offset, or a value that is looked at. */
struct lesson_key {
	const char *name;
	size_t at;
	int (*set)(struct reading *r, struct lesson_step *step, const char *value, struct err *e);
};
#define TEXT(type, field)                           \
	{                                           \
#field, offsetof(type, field), NULL \
	}
#define STEP(field) TEXT(struct lesson_step, field)
#define CHOICE(n, letter)                                             \
	{                                                             \
		letter, offsetof(struct lesson_step, choice[n]), NULL \
	}
/* clang-format off */
static const struct lesson_key head_keys[] = {
	TEXT(struct lesson, title), TEXT(struct lesson, summary), { NULL, 0, NULL },
};
static const struct lesson_key step_keys[] = {
	STEP(title), STEP(say), STEP(ask), STEP(with), STEP(reveal),
	CHOICE(0, "a"), CHOICE(1, "b"), CHOICE(2, "c"), CHOICE(3, "d"),
	{ "right", 0, set_right }, { "code", 0, set_code }, { "language", 0, set_language },
	{ "preset", 0, set_preset }, { "look", 0, set_look },
	{ NULL, 0, NULL },
};
/* clang-format on */

static const struct lesson_key *find_key(const struct lesson_key *keys, const char *name, struct err *e)
{
	const char *names[16] = { NULL };
	char near[128];

	for (size_t i = 0; keys[i].name; i++) {
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
		names[i] = keys[i].name;
	}
	err_say(e, EINVAL, "unknown key '%.40s'%s", name, ini_nearest(name, names, near, sizeof(near)));
	return NULL;
}

/* ---- sections ---- */

/* What a step lacks is told at its end, that is at the next one. */
static void check_step(struct reading *r)
{
	const struct lesson_step *s = r->l->step_count ? &r->l->steps[r->l->step_count - 1] : NULL;
	int choices = 0;

	if (!s)
		return;
	while (choices < LESSON_CHOICES && s->choice[choices])
		choices++;
	if (!s->say)
		ini_fault(r->faults, r->file, 0, "[%s] has nothing to say", s->title);
	if (s->ask && (choices < 2 || s->right < 0 || s->right >= choices))
		ini_fault(r->faults, r->file, 0, "[%s] asks, and needs the choices a, b … and which is right",
			  s->title);
	if (!s->ask != !s->reveal)
		ini_fault(r->faults, r->file, 0, "[%s]: ask and reveal belong together", s->title);
	if (s->code && (!s->language || !s->preset))
		ini_fault(r->faults, r->file, 0, "[%s] has code, and needs a language and a preset",
			  s->title);
	if (!s->code && (s->look != EVENT_UNKNOWN || s->with))
		ini_fault(r->faults, r->file, 0, "[%s] looks for an event, but nothing is run", s->title);
}

static int begin_section(struct reading *r, const char *name, struct err *e)
{
	struct lesson *l = r->l;

	check_step(r);
	if (strcmp(name, "lesson") == 0)
		return l->step_count ? err_say(e, EINVAL, "[lesson] comes first, and once") : 0;
	if (l->step_count == LESSON_STEPS)
		return err_say(e, EINVAL, "more than %d steps", LESSON_STEPS);
	l->steps = xrealloc(l->steps, (l->step_count + 1) * sizeof(*l->steps));
	l->steps[l->step_count++] =
		(struct lesson_step){ .title = xstrdup(name), .right = -1, .look = EVENT_UNKNOWN };
	return 0;
}

static int lesson_entry(void *arg, const struct ini_entry *entry, struct err *e)
{
	struct reading *r = arg;
	struct lesson_step *step = r->l->step_count ? &r->l->steps[r->l->step_count - 1] : NULL;

	if (!entry->key)
		return begin_section(r, entry->section, e);
	const struct lesson_key *key = find_key(step ? step_keys : head_keys, entry->key, e);
	if (!key)
		return -EINVAL;
	if (!*entry->value)
		return err_say(e, EINVAL, "%s is empty", key->name);
	if (key->set) {
		int set = key->set(r, step, entry->value, e);
		return set < 0 ? err_in(e, "%s", key->name) : set;
	}
	char **to = (char **) ((char *) (step ? (void *) step : (void *) r->l) + key->at);
	free(*to);
	*to = xstrdup(entry->value);
	return 0;
}

int lesson_parse(const char *file, const char *text, size_t len, struct lesson **ret, struct err *e)
{
	struct ini_faults faults = { 0 };
	struct lesson *l = xcalloc(1, sizeof(*l));
	struct reading r = { .l = l, .file = file, .faults = &faults };
	int result = 0;

	l->name = named_stem(file);
	l->file = xstrdup(file);
	ini_read_text(file, text, len, lesson_entry, &r, &faults);
	check_step(&r);
	if (!l->title || !l->summary)
		ini_fault(&faults, file, 0, "needs a [lesson] with title and summary");
	if (!l->step_count)
		ini_fault(&faults, file, 0, "has no steps: each section but [lesson] is one");
	if (faults.count) {
		int first = (int) strcspn(faults.lines.data, "\n");
		FREE char *more =
			faults.count > 1 ? xprintf(" (and %zu more)", faults.count - 1) : xstrdup("");
		result = err_say(e, EINVAL, "%.*s%s", first, faults.lines.data, more);
		l = lesson_free(l);
	} else {
		*ret = l;
	}
	ini_faults_done(&faults);
	return result;
}

int lesson_load(const char *name_or_file, struct lesson **ret, struct err *e)
{
	FREE char *file = NULL, *text = NULL;
	size_t len;
	int r = 0;

	if (strchr(name_or_file, '/'))
		file = xstrdup(name_or_file);
	else
		r = named_find(LESSON_FOLDER, "lesson", name_or_file, NULL, &file, e);
	if (r < 0 || (r = file_read(AT_FDCWD, file, INI_FILE_MAX, &text, &len, e)) < 0)
		return r;
	return lesson_parse(file, text, len, ret, e);
}

char **lesson_names(void)
{
	return named_list(LESSON_FOLDER);
}

struct lesson *lesson_free(struct lesson *l)
{
	for (size_t i = 0; l && i < l->step_count; i++) {
		struct lesson_step *s = &l->steps[i];
		char *const texts[] = { s->title,    s->say,    s->ask,  s->code,
					s->language, s->preset, s->with, s->reveal };
		for (size_t k = 0; k < ARRAY_LEN(texts); k++)
			free(texts[k]);
		for (int k = 0; k < LESSON_CHOICES; k++)
			free(s->choice[k]);
	}
	if (l) {
		free(l->steps);
		free(l->name);
		free(l->title);
		free(l->summary);
		free(l->file);
	}
	free(l);
	return NULL;
}
