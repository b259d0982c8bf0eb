/* SPDX-License-Identifier: MIT */
/*
 * The ring of output lines. Bytes of a line stand together: a line that would run over the end of the ring
 * begins at its start instead, so that drawing and searching need no second case.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "tui/screen/ring.h"

static void count_removed(void *arg, enum text_removed kind, size_t bytes)
{
	struct ring *r = arg;
	(void) bytes;
	if (kind < TEXT_CONTROL && kind != TEXT_COLOUR) /* programs colour their output all the time */
		r->removed++;
}

static void add_scrubbed(struct ring *r, int stream);

static void change_style(void *arg, struct text_style style, struct buf *out)
{
	struct ring *r = arg;
	assert(out == &r->text);
	add_scrubbed(r, r->stream);
	r->style[r->stream] = style;
}

void ring_init(struct ring *r, size_t size, size_t line_slots, bool ascii)
{
	assert(size >= 2 * RING_LINE_MAX);
	*r = (struct ring){ .size = size, .line_slots = line_slots };
	r->data = xmalloc(size);
	r->lines = xcalloc(line_slots, sizeof(*r->lines));
	r->changes = xcalloc(line_slots, sizeof(*r->changes));
	for (int i = 0; i < RING_STREAMS; i++)
		r->scrub[i] = (struct scrub){
			.ascii = ascii, .removed = count_removed, .styled = change_style, .arg = r
		};
}

void ring_done(struct ring *r)
{
	free(r->data);
	free(r->lines);
	free(r->changes);
	buf_done(&r->text);
	*r = (struct ring){ 0 };
}

const struct ring_line *ring_line(const struct ring *r, uint64_t number)
{
	return &r->lines[number % r->line_slots];
}

struct clean ring_text(const struct ring *r, uint64_t number)
{
	const struct ring_line *l = ring_line(r, number);
	return clean_scrubbed(r->data + l->start % r->size, l->len);
}

static struct ring_change *change_at(const struct ring *r, uint64_t number)
{
	return &r->changes[number % r->line_slots];
}

static void add_change(struct ring *r, struct text_style style)
{
	if (r->change_next - r->change_first == r->line_slots)
		r->styles_from = change_at(r, r->change_first++)->at + 1;
	*change_at(r, r->change_next++) = (struct ring_change){ .at = r->end, .style = style };
	r->pen = style;
}

/* The first change behind a byte number, or change_next. */
static uint64_t change_after(const struct ring *r, uint64_t byte)
{
	uint64_t low = r->change_first, high = r->change_next;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (change_at(r, middle)->at <= byte)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t ring_style(const struct ring *r, uint64_t number, size_t at, struct text_style *ret)
{
	const struct ring_line *l = ring_line(r, number);
	uint64_t byte = l->start + at, next = change_after(r, byte);
	bool changed = next > r->change_first && change_at(r, next - 1)->at >= l->start;
	*ret = l->start < r->styles_from ? (struct text_style){ 0 }
	       : changed                 ? change_at(r, next - 1)->style
					 : l->style;
	uint64_t end = l->start + l->len;
	if (next < r->change_next && change_at(r, next)->at < end)
		end = change_at(r, next)->at;
	return (size_t) (end - byte);
}

/* Lines whose bytes are about to be written over are forgotten first. */
static void make_room(struct ring *r, uint64_t end)
{
	while (r->first < r->next &&
	       (ring_line(r, r->first)->start + r->size < end || r->next - r->first >= r->line_slots))
		r->first++;
}

static void begin_line(struct ring *r, int stream)
{
	uint64_t offset = r->end % r->size;
	if (offset + RING_LINE_MAX > r->size)
		r->end += r->size - offset;
	make_room(r, r->end + RING_LINE_MAX);
	r->pen = r->style[stream];
	r->lines[r->next++ % r->line_slots] = (struct ring_line){
		.start = r->end, .t_ns = r->now_ns, .style = r->pen, .error = stream != 0
	};
	r->open = true;
	r->restart = false;
	r->open_stream = stream;
	r->open_over = 0;
}

/* The room of a whole line was made when it began, so that a growing line never needs more. */
static void grow_line(struct ring *r, const char *text, size_t len)
{
	struct ring_line *l = &r->lines[(r->next - 1) % r->line_slots];
	if (r->restart) {
		r->end = l->start;
		l->len = 0;
		l->style = r->pen = r->style[r->stream];
		while (r->change_next > r->change_first && change_at(r, r->change_next - 1)->at >= l->start)
			r->change_next--;
		r->open_over = 0;
		r->restart = false;
	}
	size_t fits = RING_LINE_MAX - l->len;
	size_t kept = len;
	if (len > fits) /* never a character cut in half: back to the beginning of one */
		for (kept = fits; kept > 0 && ((unsigned char) text[kept] & 0xc0) == 0x80;)
			kept--;
	if (r->open_over > 0)
		kept = 0;
	if (kept > 0 && !style_same(r->pen, r->style[r->stream]))
		add_change(r, r->style[r->stream]);
	memcpy(r->data + r->end % r->size, text, kept);
	l->len = (uint16_t) (l->len + kept);
	r->end += kept;
	r->open_over += len - kept;
	uint64_t kib = (r->open_over + 1023) / 1024;
	l->over = kib > INT32_MAX ? INT32_MAX : (uint32_t) kib;
}

static void add_text(struct ring *r, int stream, const char *text, size_t len)
{
	if (len == 0)
		return;
	if (!r->open || r->open_stream != stream)
		begin_line(r, stream);
	grow_line(r, text, len);
}

static void end_line(struct ring *r, int stream)
{
	if (!r->open || r->open_stream != stream)
		begin_line(r, stream); /* an empty line */
	r->open = false;
}

static void add_scrubbed(struct ring *r, int stream)
{
	const char *p = r->text.data, *end = p + r->text.len;
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t) (end - p));
		add_text(r, stream, p, (size_t) ((newline ? newline : end) - p));
		if (!newline)
			break;
		end_line(r, stream);
		p = newline + 1;
	}
	r->text.len = 0;
}

static void add_piece(struct ring *r, int stream, const char *bytes, size_t len)
{
	scrub_add(&r->scrub[stream], bytes, len, &r->text);
	add_scrubbed(r, stream);
}

/* A CR is acted on only when what follows it is known: before LF it is part of the newline. */
static void settle_carriage(struct ring *r, int stream, char next)
{
	if (!r->carriage[stream])
		return;
	r->carriage[stream] = false;
	if (next != '\n' && r->open && r->open_stream == stream)
		r->restart = true;
}

void ring_add(struct ring *r, int stream, const char *bytes, size_t len)
{
	const char *p = bytes, *end = bytes + len;
	r->bytes += len;
	r->stream = stream;
	while (p < end) {
		settle_carriage(r, stream, *p);
		const char *cr = memchr(p, '\r', (size_t) (end - p));
		add_piece(r, stream, p, (size_t) ((cr ? cr : end) - p));
		if (!cr)
			break;
		r->carriage[stream] = true;
		p = cr + 1;
	}
}

void ring_end(struct ring *r)
{
	for (r->stream = 0; r->stream < RING_STREAMS; r->stream++) {
		scrub_end(&r->scrub[r->stream], &r->text);
		add_scrubbed(r, r->stream);
		r->style[r->stream] = (struct text_style){ 0 };
	}
	r->stream = 0;
	r->open = false;
}

uint64_t ring_at(const struct ring *r, uint64_t t_ns)
{
	uint64_t low = r->first, high = r->next;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (ring_line(r, middle)->t_ns < t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low == r->next && low > r->first ? low - 1 : low;
}

uint64_t ring_find(const struct ring *r, uint64_t from, bool back, const char *text)
{
	size_t len = strlen(text);
	for (uint64_t n = from; n >= r->first && n < r->next; n += back ? -1 : 1) {
		struct clean line = ring_text(r, n);
		if (memmem(line.text, line.len, text, len))
			return n;
		if (back && n == 0)
			break;
	}
	return UINT64_MAX;
}
