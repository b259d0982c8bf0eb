/* SPDX-License-Identifier: MIT */
/*
 * Manifests from anybody. Reading one must never crash or leak; what is taken keeps every promise that the suite relies
 * on; what is refused has said why, with the file's name.
 */
#include "check.h"

#include "core/base/base.h"
#include "core/model/manifest.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static void check_attack(const struct attack *a)
{
	bool stoppable = false;

	for (int s = 0; s < STOPPER_MAX; s++)
		stoppable |= a->stopped_by[s];
	assert(stoppable);
	assert(a->name && !strchr(a->name, '/') && a->title && a->summary && a->why_stopped && a->why_not);
	assert(a->language && strncmp(a->program, "/dev/", 5) == 0 && !strchr(a->program + 5, '/'));
	assert((a->fixture == FIXTURE_NONE) == (a->proof != NULL));
	assert(a->control_ns > 0 && a->control_ns <= 60 * NS_PER_S);
	assert(a->expect_count > 0);
	for (size_t i = 0; i < a->expect_count; i++)
		assert(a->expect[i].level && a->expect[i].verdict <= CELL_CONTAINED);
}

/* Beside the file there is a program, /dev/null, on every machine. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char file[] = "/dev/input.ini";
	struct manifest *m = NULL;
	struct err e = { 0 };

	if (manifest_parse(file, (const char *) data, size, &m, &e) < 0) {
		assert(!m && str_starts(e.text, file));
		return 0;
	}
	assert(m->name && m->summary && m->attack_count > 0 && m->attack_count <= SUITE_ATTACKS_MAX);
	for (size_t i = 0; i < m->attack_count; i++)
		check_attack(&m->attacks[i]);
	manifest_free(m);
	return 0;
}
