/* SPDX-License-Identifier: MIT */
/*
 * Lessons from anybody. Reading one must never crash or leak; what is taken keeps every promise that the screens rely
 * on; what is refused has said why, with the file's name.
 */
#include "check.h"

#include "core/base/base.h"
#include "core/model/lesson.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static void check_step(const struct lesson_step *s)
{
	int choices = 0;

	while (choices < LESSON_CHOICES && s->choice[choices])
		choices++;
	assert(s->title && s->say);
	assert(!s->ask == !s->reveal);
	assert(!s->ask || (choices >= 2 && s->right >= 0 && s->right < choices));
	assert(!s->code || (s->language && s->preset && strchr(s->code, '/')));
	assert(s->code || s->look == EVENT_UNKNOWN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lesson *l = NULL;
	struct err e = { 0 };

	if (lesson_parse("/tmp/input.ini", (const char *) data, size, &l, &e) < 0) {
		assert(!l && strncmp(e.text, "/tmp/input.ini", 14) == 0);
		return 0;
	}
	assert(l->title && l->summary && strcmp(l->name, "input") == 0);
	assert(l->step_count > 0 && l->step_count <= LESSON_STEPS);
	for (size_t i = 0; i < l->step_count; i++)
		check_step(&l->steps[i]);
	lesson_free(l);
	return 0;
}
