/* SPDX-License-Identifier: MIT */
/*
 * Lessons: short texts that drive the real tool. A lesson is an INI file, so that a teacher can add one: each section but
 * [lesson] is a step, in the order of the file. A step says something; it may have code, which is run under a preset;
 * a question, whose answer is asked for before the run; and the kind of event in which the answer is to be seen.
 */
#pragma once

/* clang-format off */

#include "core/model/event.h"

#include <stdbool.h>
#include <stddef.h>

struct err;
struct buf;

#define LESSON_CHOICES 4   /* a, b, c, d */
#define LESSON_STEPS   24

struct lesson_step {
	char *title;
	char *say;
	char *ask;                      /* the question; NULL: none */
	char *choice[LESSON_CHOICES];   /* NULL behind the last */
	int right;                      /* index of the right choice */
	char *code, *language, *preset; /* absolute path of the code; NULL: nothing is run */
	enum event_type look;           /* what shows the answer: denied, network, file, exec, limit, terminal, alert, output or exit */
	char *with;                     /* a text that stands in that event's line; NULL: any */
	char *reveal;                   /* what it teaches, said after the run or the answer */
};
struct lesson {
	char *name, *title, *summary, *file;
	struct lesson_step *steps;
	size_t step_count;
};

/* lesson_names: of the person's own folder (lessons/ in the configuration) and the shipped ones, sorted. Gives: strv. */
char **lesson_names(void);
/* lesson_load: by name, or by file when the word has a slash. -EINVAL with the first fault and how many more there are.
 * Gives: *ret. */
int lesson_load(const char *name_or_file, struct lesson **ret, struct err *e);
/* lesson_parse: `file` is what faults call the text, and its folder is where code is looked for. */
int lesson_parse(const char *file, const char *text, size_t len, struct lesson **ret, struct err *e);
struct lesson *lesson_free(struct lesson *l); /* accepts NULL, returns NULL */
