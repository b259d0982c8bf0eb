/* SPDX-License-Identifier: MIT */
/*
 * The paste's state machine: ACTIVE until the end mark, DRAINING until the caller says that it was quiet.
 */
#include <string.h>

#include "core/base/base.h"
#include "tui/screen/paste.h"

static const char end_mark[] = "\033[201~";
#define END_MARK_LEN (sizeof(end_mark) - 1)

void paste_begin(struct paste *p, size_t max)
{
	paste_done(p);
	p->active = true;
	p->max = max;
}

void paste_done(struct paste *p)
{
	buf_done(&p->text);
	*p = (struct paste){ 0 };
}

/* Bytes up to and with the end mark, or all of them. The mark may be cut between two reads; it starts with
 * the only ESC in it, so that a mismatch can only begin anew with an ESC. */
static size_t until_mark(struct paste *p, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const char *next = p->matched ? bytes + i : memchr(bytes + i, end_mark[0], len - i);
		if (!next)
			break;
		i = (size_t) (next - bytes);
		if (bytes[i] == end_mark[p->matched])
			p->matched++;
		else
			p->matched = bytes[i] == end_mark[0];
		if (p->matched == END_MARK_LEN)
			return i + 1;
	}
	return len;
}

void paste_feed(struct paste *p, const char *bytes, size_t len)
{
	size_t taken = p->active ? until_mark(p, bytes, len) : 0;
	/* A few bytes more than the bound: the mark's own, which are taken off again. */
	size_t room = p->max + END_MARK_LEN - p->text.len;
	size_t kept = taken < room ? taken : room;
	buf_add(&p->text, bytes, kept);
	p->too_long = p->too_long || kept < taken;
	p->dropped += len - taken;
	if (p->active && p->matched == END_MARK_LEN) {
		p->active = false;
		p->draining = true;
		if (!p->too_long)
			p->text.len -= END_MARK_LEN;
	}
}

void paste_end(struct paste *p)
{
	size_t to = 0;
	if (p->text.len > p->max) {
		p->text.len = p->max;
		p->too_long = true;
	}
	for (size_t from = 0; from < p->text.len; from++) {
		char c = p->text.data[from];
		if (c == '\r' && from + 1 < p->text.len && p->text.data[from + 1] == '\n')
			continue;
		p->text.data[to++] = c == '\r' ? '\n' : c;
	}
	p->text.len = to;
	if (p->text.data)
		p->text.data[to] = '\0';
	p->active = p->draining = false;
}
