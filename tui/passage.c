/* SPDX-License-Identifier: MIT */
/*
 * Text waits in `scrubbed` until its style ends, and is dressed then.
 */
#include "tui/passage.h"

static void on_removed(void *arg, enum text_removed kind, size_t bytes)
{
	struct passage *p = arg;

	(void) bytes;
	p->removed[kind]++;
}

static void dress(struct passage *p)
{
	style_add(p->style, p->scrubbed.data, p->scrubbed.len, &p->dressed);
	p->scrubbed.len = 0;
}

static void on_styled(void *arg, struct text_style style, struct buf *out)
{
	struct passage *p = arg;

	(void) out; /* it is p->scrubbed */
	dress(p);
	p->style = style;
}

void passage_init(struct passage *p, bool ascii, bool color, uint64_t *removed)
{
	*p = (struct passage){ .removed = removed };
	p->scrub = (struct scrub){
		.ascii = ascii, .removed = on_removed, .styled = color ? on_styled : NULL, .arg = p
	};
}

const struct buf *passage_add(struct passage *p, const char *bytes, size_t len)
{
	p->dressed.len = 0;
	if (bytes)
		scrub_add(&p->scrub, bytes, len, &p->scrubbed);
	else
		scrub_end(&p->scrub, &p->scrubbed);
	dress(p);
	return &p->dressed;
}

void passage_done(struct passage *p)
{
	buf_done(&p->scrubbed);
	buf_done(&p->dressed);
}
