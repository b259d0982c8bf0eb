/* SPDX-License-Identifier: MIT */
/*
 * A set of files by device and inode: what a report found changed, for the copy that takes just that. Sixteen bytes an
 * entry, while its path could be megabytes long.
 */
#include "core/backend/stage.h"

#include "core/base/base.h"

#include <assert.h>
#include <stdlib.h>

static int by_id(const void *a, const void *b)
{
	const struct stage_id *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino == y->ino ? 0 : x->ino < y->ino ? -1 : 1;
}

void stage_set_add(struct stage_set *s, dev_t dev, ino_t ino)
{
	if (s->count == s->room) {
		s->room = s->room ? s->room * 2 : 64;
		s->ids = xrealloc(s->ids, s->room * sizeof *s->ids);
	}
	s->ids[s->count++] = (struct stage_id){ .dev = dev, .ino = ino };
	s->sorted = false;
}

void stage_set_sort(struct stage_set *s)
{
	if (s->count > 1)
		qsort(s->ids, s->count, sizeof *s->ids, by_id);
	s->sorted = true;
}

bool stage_set_has(const struct stage_set *s, dev_t dev, ino_t ino)
{
	const struct stage_id key = { .dev = dev, .ino = ino };

	assert(s->sorted || s->count == 0);
	return s->count > 0 && bsearch(&key, s->ids, s->count, sizeof key, by_id);
}

void stage_set_done(struct stage_set *s)
{
	free(s->ids);
	*s = (struct stage_set){ .count = 0 };
}
