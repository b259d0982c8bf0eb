/* SPDX-License-Identifier: MIT */
/*
 * Events and verbs as frames. Both walk tables, so that encoder and decoder cannot drift apart. What
 * arrives is refused by length, then type, then content: the other side may be a guest that is trying.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/event_table.h"

/* Frames down have their verb as type, frames up have this bit: one that is echoed back is never taken for
 * the other. */
#define TYPE_EVENT 0x80

/* A string but output; longer ones are not from us. */
#define TEXT_MAX (64u << 10)

/* A number that an event cannot do without must be one that JSON can hold; any other may be unknown. */
static bool number_fits(uint64_t value, const struct event_field *f)
{
	return !(f->flags & FIELD_REQUIRED) || value <= INT64_MAX;
}

struct put {
	struct wire_out out;
	bool invalid; /* the event itself is not one that the other side would take */
};

static void put_fields(struct put *p, const void *base, const struct event_field *f);

static void put_str(struct put *p, const char *s)
{
	p->invalid |= s && strlen(s) > TEXT_MAX;
	wire_put_str(&p->out, s);
}

static void put_strs(struct put *p, const char *const *strs, size_t count)
{
	p->invalid |= count > FIELD_STRS_MAX;
	wire_put_u32(&p->out, (uint32_t) count);
	for (size_t i = 0; i < count && !p->out.full; i++) {
		p->invalid |= !strs[i];
		put_str(p, strs[i]);
	}
}

static void put_items(struct put *p, const char *items, size_t count, const struct event_field *f)
{
	p->invalid |= count > f->items->max;
	wire_put_u32(&p->out, (uint32_t) count);
	for (size_t i = 0; i < count && !p->out.full && !p->invalid; i++)
		put_fields(p, items + i * f->items->size, f->items->fields);
	if (f->kind == FIELD_MAP && !p->invalid)
		p->invalid = !map_check(items, count, f->items);
}

static void put_word(struct put *p, unsigned value, const struct event_field *f)
{
	p->invalid |= value >= f->words->count || ((f->flags & FIELD_REQUIRED) && !*f->words->names[value]);
	wire_put_u8(&p->out, (uint8_t) value);
}

static void put_f64(struct put *p, double value)
{
	uint64_t bits;
	if (!isfinite(value))
		value = UNKNOWN_F64;
	memcpy(&bits, &value, sizeof(bits));
	wire_put_u64(&p->out, bits);
}

static void put_field(struct put *p, const void *base, const struct event_field *f)
{
	const void *at = field_cptr(base, f);

	switch (f->kind) {
	case FIELD_U64:
	case FIELD_I64: /* the same eight bytes */
		p->invalid |= !number_fits(*(const uint64_t *) at, f);
		wire_put_u64(&p->out, *(const uint64_t *) at);
		break;
	case FIELD_F64:
		put_f64(p, *(const double *) at);
		break;
	case FIELD_WORD:
		put_word(p, *(const unsigned *) at, f);
		break;
	case FIELD_STR:
		p->invalid |= (f->flags & FIELD_REQUIRED) && !*(const char *const *) at;
		put_str(p, *(const char *const *) at);
		break;
	case FIELD_BYTES:
		wire_put_bytes(&p->out, *(const char *const *) at, field_count(base, f));
		break;
	case FIELD_STRS:
		put_strs(p, *(const char *const *const *) at, field_count(base, f));
		break;
	case FIELD_LIST:
	case FIELD_MAP:
		put_items(p, *(const char *const *) at, field_count(base, f), f);
		break;
	}
}

static void put_fields(struct put *p, const void *base, const struct event_field *f)
{
	for (; f->name; f++)
		put_field(p, base, f);
}

ssize_t event_encode(const struct event *ev, void *space, size_t size)
{
	const struct event_field *fields = event_fields(ev->type);
	struct put p = { .invalid = ev->seq > INT64_MAX || ev->t_ns > EVENT_T_MAX_NS };

	if (!fields)
		return -EINVAL;
	wire_begin(&p.out, space, size < WIRE_FRAME_MAX ? size : WIRE_FRAME_MAX,
		   TYPE_EVENT | (uint8_t) ev->type);
	wire_put_u64(&p.out, ev->seq);
	wire_put_u64(&p.out, ev->t_ns);
	put_fields(&p, ev, event_common);
	put_fields(&p, ev, fields);
	if (p.invalid)
		return -EINVAL;
	return p.out.full ? -EMSGSIZE : (ssize_t) p.out.len;
}

struct get {
	struct wire_in in;
	struct event_block block;
	const char *wrong; /* the first field whose content was refused */
};

static void get_fields(struct get *g, void *base, const struct event_field *f);

static void refuse(struct get *g, const char *field)
{
	g->in.bad = true;
	if (!g->wrong)
		g->wrong = field;
}

static const char *get_str(struct get *g, const char *field, bool required)
{
	size_t len = 0;
	bool null = false;
	const char *s = wire_get_str(&g->in, TEXT_MAX, &len, &null);

	if (null && required)
		refuse(g, field);
	return g->in.bad || null ? NULL : block_text(&g->block, s, len);
}

static void get_bytes(struct get *g, void *base, const struct event_field *f)
{
	size_t len = 0;
	const char *bytes = wire_get_bytes(&g->in, WIRE_FRAME_MAX, &len);

	if (g->in.bad)
		return;
	*(const char **) field_ptr(base, f) = block_text(&g->block, bytes, len);
	*(size_t *) (void *) ((char *) base + f->count_offset) = len;
}

/* Each entry takes at least `least` bytes, so a count that the rest of the frame cannot hold is refused
 * unread. */
static size_t get_count(struct get *g, const char *field, size_t max, size_t least)
{
	size_t count = wire_get_u32(&g->in);

	if (!g->in.bad && (count > max || count > (size_t) (g->in.end - g->in.p) / least))
		refuse(g, field);
	return g->in.bad ? 0 : count;
}

static void get_strs(struct get *g, void *base, const struct event_field *f)
{
	size_t count = get_count(g, f->name, FIELD_STRS_MAX, 1);
	const char **strs = count ? block_take(&g->block, count * sizeof(*strs)) : NULL;

	for (size_t i = 0; i < count && !g->in.bad; i++) {
		const char *s = get_str(g, f->name, true);
		if (strs)
			strs[i] = s;
	}
	*(const char *const **) field_ptr(base, f) = strs;
	*(size_t *) (void *) ((char *) base + f->count_offset) = count;
}

static void get_items(struct get *g, void *base, const struct event_field *f)
{
	const struct field_items *kind = f->items;
	size_t count = get_count(g, f->name, kind->max, 1);
	char *items = count ? block_take(&g->block, count * kind->size) : NULL;
	_Alignas(struct event_limit) char measured[FIELD_ITEM_MAX];

	for (size_t i = 0; i < count && !g->in.bad; i++)
		get_fields(g, items ? items + i * kind->size : measured, kind->fields);
	if (items && f->kind == FIELD_MAP && !g->in.bad && !map_check(items, count, kind))
		refuse(g, f->name);
	*(const char **) field_ptr(base, f) = items;
	*(size_t *) (void *) ((char *) base + f->count_offset) = count;
}

static void get_word(struct get *g, void *base, const struct event_field *f)
{
	unsigned value = wire_get_u8(&g->in);

	if (!g->in.bad &&
	    (value >= f->words->count || ((f->flags & FIELD_REQUIRED) && !*f->words->names[value])))
		refuse(g, f->name);
	*(unsigned *) field_ptr(base, f) = g->in.bad ? 0 : value;
}

static void get_number(struct get *g, void *base, const struct event_field *f)
{
	uint64_t value = wire_get_u64(&g->in);

	if (!number_fits(value, f))
		refuse(g, f->name);
	*(uint64_t *) field_ptr(base, f) = value;
}

static void get_f64(struct get *g, void *base, const struct event_field *f)
{
	uint64_t bits = wire_get_u64(&g->in);
	double value;

	memcpy(&value, &bits, sizeof(value));
	if (!isfinite(value))
		refuse(g, f->name);
	*(double *) field_ptr(base, f) = value;
}

static void get_field(struct get *g, void *base, const struct event_field *f)
{
	switch (f->kind) {
	case FIELD_U64:
	case FIELD_I64:
		get_number(g, base, f);
		break;
	case FIELD_F64:
		get_f64(g, base, f);
		break;
	case FIELD_WORD:
		get_word(g, base, f);
		break;
	case FIELD_STR:
		*(const char **) field_ptr(base, f) = get_str(g, f->name, f->flags & FIELD_REQUIRED);
		break;
	case FIELD_BYTES:
		get_bytes(g, base, f);
		break;
	case FIELD_STRS:
		get_strs(g, base, f);
		break;
	case FIELD_LIST:
	case FIELD_MAP:
		get_items(g, base, f);
		break;
	}
}

static void get_fields(struct get *g, void *base, const struct event_field *f)
{
	for (; f->name && !g->in.bad; f++)
		get_field(g, base, f);
}

/* One pass over the frame; the event may be a scratch one, when its block does not exist yet. */
static int get_event(struct get *g, const void *frame, size_t len, struct event *ev, struct err *e)
{
	uint8_t type = 0;
	int r = wire_open(&g->in, frame, len, &type, e);

	if (r < 0)
		return r;
	if (!(type & TYPE_EVENT) || !event_fields(type & ~TYPE_EVENT))
		return err_say(e, EPROTO, "a frame of type %u is no event", type);
	memset(ev, 0, sizeof(*ev));
	block_begin(&g->block);
	ev->type = type & ~TYPE_EVENT;
	ev->seq = wire_get_u64(&g->in);
	ev->t_ns = wire_get_u64(&g->in);
	if (!g->in.bad && (ev->seq > INT64_MAX || ev->t_ns > EVENT_T_MAX_NS))
		refuse(g, "seq or t");
	get_fields(g, ev, event_common);
	get_fields(g, ev, event_fields(ev->type));
	if (g->wrong)
		return err_say(e, EPROTO, "an event \"%s\" has a \"%s\" that cannot be",
			       event_type_name(ev->type), g->wrong);
	return wire_end(&g->in, e);
}

int event_decode(const void *frame, size_t len, struct event **ret, struct err *e)
{
	struct get g = { .wrong = NULL };
	struct event measured;
	int r = get_event(&g, frame, len, &measured, e);

	if (r < 0)
		return r;
	struct event *ev = block_make(&g.block);
	r = get_event(&g, frame, len, ev, e);
	if (r < 0) {
		event_free(ev);
		return r;
	}
	*ret = ev;
	return 0;
}

/* What each verb carries, in this order. */
enum { HAS_ID = 1, HAS_DECISION = 2, HAS_GRACE = 4, HAS_BYTES = 8, HAS_SIZE = 16 };
static const uint8_t verb_has[VERB_MAX] = {
	[VERB_ANSWER] = HAS_ID | HAS_DECISION,
	[VERB_STOP] = HAS_GRACE,
	[VERB_STDIN] = HAS_BYTES,
	[VERB_RESIZE] = HAS_SIZE,
	[VERB_LAUNCH] = HAS_BYTES, /* packed by whoever launches */
};
#define TERMINAL_SIDE_MAX 65535 /* winsize has 16 bits */

ssize_t verb_encode(const struct verb_msg *v, void *space, size_t size)
{
	struct wire_out w;

	if (v->verb < VERB_ANSWER || v->verb >= VERB_MAX)
		return -EINVAL;
	wire_begin(&w, space, size < WIRE_FRAME_MAX ? size : WIRE_FRAME_MAX, (uint8_t) v->verb);
	uint8_t has = verb_has[v->verb];
	if (has & HAS_ID)
		wire_put_u64(&w, v->id);
	if (has & HAS_DECISION)
		wire_put_u8(&w, (uint8_t) v->decision);
	if (has & HAS_GRACE)
		wire_put_u64(&w, v->grace_ns);
	if (has & HAS_BYTES)
		wire_put_bytes(&w, v->bytes, v->len);
	if (has & HAS_SIZE) {
		wire_put_u32(&w, v->rows);
		wire_put_u32(&w, v->columns);
	}
	return w.full ? -EMSGSIZE : (ssize_t) w.len;
}

int verb_decode(const void *frame, size_t len, struct verb_msg *ret, struct err *e)
{
	struct wire_in in;
	uint8_t type = 0;
	int r = wire_open(&in, frame, len, &type, e);

	if (r < 0)
		return r;
	if (type < VERB_ANSWER || type >= VERB_MAX)
		return err_say(e, EPROTO, "a frame of type %u is no verb", type);
	uint8_t has = verb_has[type];
	struct verb_msg v = { .verb = type };
	if (has & HAS_ID)
		v.id = wire_get_u64(&in);
	if (has & HAS_DECISION)
		v.decision = wire_get_u8(&in);
	if (has & HAS_GRACE)
		v.grace_ns = wire_get_u64(&in);
	if (has & HAS_BYTES)
		v.bytes = wire_get_bytes(&in, WIRE_FRAME_MAX, &v.len);
	if (has & HAS_SIZE) {
		v.rows = wire_get_u32(&in);
		v.columns = wire_get_u32(&in);
	}
	if (v.decision > DECIDE_RUN || v.rows > TERMINAL_SIDE_MAX || v.columns > TERMINAL_SIDE_MAX)
		return err_say(e, EPROTO, "a verb of type %u has a value that cannot be", type);
	if ((r = wire_end(&in, e)) < 0)
		return r;
	*ret = v;
	return 0;
}
