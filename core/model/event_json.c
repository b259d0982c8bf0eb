/* SPDX-License-Identifier: MIT */
/*
 * Events as JSON, in both directions, by the table of fields. Writing is done here, straight into a
 * buffer, since it is on the way of every event; reading is jansson's, and sees hostile lines.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/event_table.h"
#include "core/model/json.h"

/* A key is ours and plain ASCII; a comma goes before all but the first of an object. */
static void put_key(const char *key, struct buf *out)
{
	char last = out->data[out->len - 1];

	if (last != '{')
		buf_add(out, ",", 1);
	buf_add(out, "\"", 1);
	buf_str(out, key);
	buf_add(out, "\":", 2);
}

/* printf takes a third of the time of an event; and it would follow a locale's comma. */
static void put_u64(uint64_t v, struct buf *out)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char) ('0' + v % 10);
	while (v /= 10);
	buf_add(out, digits + at, sizeof(digits) - at);
}

/* Millionths as a decimal with one place at least. */
static void put_micro(uint64_t micro, struct buf *out)
{
	uint64_t rest = micro % 1000000;

	put_u64(micro / 1000000, out);
	buf_add(out, ".", 1);
	for (uint64_t unit = 100000; unit && (rest || unit == 100000); unit /= 10) {
		put_u64(rest / unit, out);
		rest %= unit;
	}
}

/* Above it, millionths would not fit; nothing that is counted in seconds or per cent comes near. */
#define F64_LIMIT 1e12

static bool f64_known(double v)
{
	return v >= 0 && v <= F64_LIMIT;
}

/* Readers of JSON, jansson among them, know no integer above INT64_MAX. */
static bool u64_known(uint64_t v)
{
	return v <= INT64_MAX;
}

static void put_str(const char *s, struct buf *out)
{
	json_text(s, strlen(s), out);
}

static void put_fields(const void *base, const struct event_field *f, struct buf *out);

static void put_strs(const char *const *strs, size_t count, struct buf *out)
{
	buf_add(out, "[", 1);
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_add(out, ",", 1);
		put_str(strs[i], out);
	}
	buf_add(out, "]", 1);
}

static void put_list(const char *items, size_t count, const struct field_items *kind, struct buf *out)
{
	buf_add(out, "[", 1);
	for (size_t i = 0; i < count; i++) {
		buf_str(out, i ? ",{" : "{");
		put_fields(items + i * kind->size, kind->fields, out);
		buf_add(out, "}", 1);
	}
	buf_add(out, "]", 1);
}

/* Rows 0 and 1 of a MAP's entry are key and text, row 2 the number that stands where the text is NULL. */
static void put_map(const char *items, size_t count, const struct field_items *kind, struct buf *out)
{
	buf_add(out, "{", 1);
	for (size_t i = 0; i < count; i++, items += kind->size) {
		const char *text = *(const char *const *) field_cptr(items, &kind->fields[1]);
		put_key(*(const char *const *) field_cptr(items, &kind->fields[0]), out);
		if (text)
			put_str(text, out);
		else
			buf_printf(out, "%" PRId64, *(const int64_t *) field_cptr(items, &kind->fields[2]));
	}
	buf_add(out, "}", 1);
}

/* Is there something to write? What is not known is left out, or null where a reader should see that it is
 * not. */
static bool field_known(const void *base, const struct event_field *f)
{
	const void *at = field_cptr(base, f);

	switch (f->kind) {
	case FIELD_U64:
		return u64_known(*(const uint64_t *) at);
	case FIELD_I64:
		return *(const int64_t *) at >= 0;
	case FIELD_F64:
		return f64_known(*(const double *) at);
	case FIELD_WORD:
		return *(const unsigned *) at < f->words->count && *f->words->names[*(const unsigned *) at];
	case FIELD_STR:
		return *(const char *const *) at != NULL;
	case FIELD_BYTES:
		return true;
	default:
		return field_count(base, f) > 0;
	}
}

static void put_value(const void *base, const struct event_field *f, struct buf *out)
{
	const void *at = field_cptr(base, f);

	switch (f->kind) {
	case FIELD_U64:
	case FIELD_I64: /* known, so not negative */
		put_u64(*(const uint64_t *) at, out);
		break;
	case FIELD_F64:
		put_micro((uint64_t) (*(const double *) at * 1e6 + 0.5), out);
		break;
	case FIELD_WORD:
		put_str(f->words->names[*(const unsigned *) at], out);
		break;
	case FIELD_STR:
		put_str(*(const char *const *) at, out);
		break;
	case FIELD_BYTES:
		json_text(*(const char *const *) at, field_count(base, f), out);
		break;
	case FIELD_STRS:
		put_strs(*(const char *const *const *) at, field_count(base, f), out);
		break;
	case FIELD_LIST:
		put_list(*(const char *const *) at, field_count(base, f), f->items, out);
		break;
	case FIELD_MAP:
		put_map(*(const char *const *) at, field_count(base, f), f->items, out);
		break;
	}
}

static void put_fields(const void *base, const struct event_field *f, struct buf *out)
{
	for (; f->name; f++) {
		bool known = field_known(base, f);
		if (!known && !(f->flags & FIELD_ALWAYS))
			continue;
		put_key(f->name, out);
		if (known)
			put_value(base, f, out);
		else
			buf_str(out, "null");
	}
}

void event_to_json(const struct event *ev, struct buf *out)
{
	if (ev->type == EVENT_UNKNOWN) {
		buf_str(out, ev->unknown.json);
		return;
	}
	buf_str(out, "{\"seq\":");
	put_u64(ev->seq, out);
	put_key("t", out);
	put_micro(ev->t_ns / 1000, out);
	put_key("type", out);
	put_str(event_type_name(ev->type), out);
	put_fields(ev, event_common, out);
	put_fields(ev, event_fields(ev->type), out);
	if (ev->extra) { /* an object of its own, here without its braces */
		buf_add(out, ",", 1);
		buf_add(out, ev->extra + 1, strlen(ev->extra) - 2);
	}
	buf_add(out, "}", 1);
}

/*
 * Reading. Two passes over the values, as event_block has it: the first refuses and measures, the second
 * fills.
 */
#define LINE_MAX_BYTES (1u << 20) /* the longest frame, every byte of it written as six */

struct get {
	struct event_block block;
	size_t keys;       /* how many keys of the object we know */
	const char *wrong; /* the field that was refused */
	bool foreign;      /* it has a word that a newer belljar wrote: kept as it is, not understood */
};

static void get_fields(struct get *g, void *base, const json_t *object, const struct event_field *f);

static bool absent(const json_t *v)
{
	return !v || json_is_null(v);
}

/* A word of ours: NULL for what is no string, and for one with a NUL, which would look like its first
 * half. */
static const char *plain_string(const json_t *v)
{
	const char *s = json_string_value(v);
	return s && strlen(s) == json_string_length(v) ? s : NULL;
}

static void set_count(void *base, const struct event_field *f, size_t count)
{
	*(size_t *) (void *) ((char *) base + f->count_offset) = count;
}

/* NULs are only in bytes; anywhere else they would hide what comes after them. */
static const char *get_text(struct get *g, const json_t *v, const char *field, bool nuls, size_t *ret_len)
{
	ssize_t len = json_text_get(v, NULL);

	*ret_len = 0;
	if (len < 0) {
		g->wrong = field;
		return NULL;
	}
	*ret_len = (size_t) len;
	char *text = block_space(&g->block, (size_t) len + 1);
	if (!text)
		return NULL;
	(void) json_text_get(v, text);
	text[len] = '\0';
	if (!nuls && strlen(text) != (size_t) len)
		g->wrong = field;
	return text;
}

static void get_u64(struct get *g, uint64_t *ret, const json_t *v, const struct event_field *f)
{
	*ret = !v && (f->flags & FIELD_ONE) ? 1 : UNKNOWN_U64; /* null says that it is not known */
	if (absent(v))
		return;
	if (!json_is_integer(v) || json_integer_value(v) < 0)
		g->wrong = f->name;
	else
		*ret = (uint64_t) json_integer_value(v);
}

static void get_i64(struct get *g, int64_t *ret, const json_t *v, const struct event_field *f)
{
	*ret = -1;
	if (absent(v))
		return;
	if (!json_is_integer(v) || json_integer_value(v) < 0)
		g->wrong = f->name;
	else
		*ret = json_integer_value(v);
}

static void get_f64(struct get *g, double *ret, const json_t *v, const struct event_field *f)
{
	*ret = UNKNOWN_F64;
	if (absent(v))
		return;
	if (!json_is_number(v) || !f64_known(json_number_value(v)))
		g->wrong = f->name;
	else
		*ret = json_number_value(v);
}

static void get_word(struct get *g, unsigned *ret, const json_t *v, const struct event_field *f)
{
	*ret = 0;
	if (absent(v))
		return;
	const char *word = plain_string(v);
	int found = word ? word_find(f->words, word) : -1;
	if (!word)
		g->wrong = f->name;
	else if (found < 0)
		g->foreign = true;
	else
		*ret = (unsigned) found;
}

static void get_strs(struct get *g, void *base, const json_t *v, const struct event_field *f)
{
	size_t count = json_array_size(v), len;

	if (!absent(v) && (!json_is_array(v) || count > FIELD_STRS_MAX)) {
		g->wrong = f->name;
		return;
	}
	const char **strs = count ? block_take(&g->block, count * sizeof(*strs)) : NULL;
	for (size_t i = 0; i < count && !g->wrong; i++) {
		const char *s = get_text(g, json_array_get(v, i), f->name, false, &len);
		if (strs)
			strs[i] = s;
	}
	*(const char *const **) field_ptr(base, f) = strs;
	set_count(base, f, count);
}

static void get_list(struct get *g, void *base, const json_t *v, const struct event_field *f)
{
	size_t count = json_array_size(v), keys = g->keys;
	_Alignas(struct event_limit) char measured[FIELD_ITEM_MAX];

	if (!absent(v) && (!json_is_array(v) || count > f->items->max)) {
		g->wrong = f->name;
		return;
	}
	char *items = count ? block_take(&g->block, count * f->items->size) : NULL;
	for (size_t i = 0; i < count && !g->wrong; i++)
		get_fields(g, items ? items + i * f->items->size : measured, json_array_get(v, i),
			   f->items->fields);
	g->keys = keys; /* those counted above were of the entries */
	*(const char **) field_ptr(base, f) = items;
	set_count(base, f, count);
}

/* One entry of a MAP; see put_map for its rows. */
static void get_entry(struct get *g, char *item, const char *key, const json_t *v,
		      const struct event_field *f)
{
	const struct event_field *row = f->items->fields;
	size_t len;
	int64_t number = 0;
	const char *text = NULL;
	const char *kept = block_text(&g->block, key, strlen(key));

	if (row[2].name && json_is_integer(v))
		number = json_integer_value(v);
	else
		text = get_text(g, v, f->name, false, &len);
	if (!item)
		return;
	*(const char **) field_ptr(item, &row[0]) = kept;
	*(const char **) field_ptr(item, &row[1]) = text;
	if (row[2].name)
		*(int64_t *) field_ptr(item, &row[2]) = number;
}

static void get_map(struct get *g, void *base, const json_t *v, const struct event_field *f)
{
	size_t count = json_object_size(v), i = 0;
	const char *key;
	json_t *entry;

	if (!absent(v) && (!json_is_object(v) || count > f->items->max)) {
		g->wrong = f->name;
		return;
	}
	char *items = count ? block_take(&g->block, count * f->items->size) : NULL;
	json_object_foreach((json_t *) v, key, entry)
	{
		get_entry(g, items ? items + i * f->items->size : NULL, key, entry, f);
		i++;
	}
	if (items && !g->wrong && !map_check(items, count, f->items))
		g->wrong = f->name;
	*(const char **) field_ptr(base, f) = items;
	set_count(base, f, count);
}

static void get_bytes(struct get *g, void *base, const json_t *v, const struct event_field *f)
{
	size_t len;
	*(const char **) field_ptr(base, f) = get_text(g, v, f->name, true, &len);
	set_count(base, f, len);
}

static void get_field(struct get *g, void *base, const json_t *v, const struct event_field *f)
{
	void *at = field_ptr(base, f);
	size_t len;

	switch (f->kind) {
	case FIELD_U64:
		get_u64(g, at, v, f);
		break;
	case FIELD_I64:
		get_i64(g, at, v, f);
		break;
	case FIELD_F64:
		get_f64(g, at, v, f);
		break;
	case FIELD_WORD:
		get_word(g, at, v, f);
		break;
	case FIELD_STR:
		*(const char **) at = absent(v) ? NULL : get_text(g, v, f->name, false, &len);
		break;
	case FIELD_BYTES:
		get_bytes(g, base, v, f);
		break;
	case FIELD_STRS:
		get_strs(g, base, v, f);
		break;
	case FIELD_LIST:
		get_list(g, base, v, f);
		break;
	case FIELD_MAP:
		get_map(g, base, v, f);
		break;
	}
}

static void get_fields(struct get *g, void *base, const json_t *object, const struct event_field *f)
{
	for (; f->name && !g->wrong; f++) {
		const json_t *v = json_object_get(object, f->name);
		g->keys += v != NULL;
		if (absent(v) && (f->flags & FIELD_REQUIRED))
			g->wrong = f->name;
		else
			get_field(g, base, v, f);
	}
}

/* seq, t and type, which every event has, known or not. */
static int get_head(const json_t *object, struct event *ev, struct err *e)
{
	const json_t *seq = json_object_get(object, "seq"), *t = json_object_get(object, "t");
	const char *type = plain_string(json_object_get(object, "type"));

	if (!type)
		return err_say(e, EINVAL, "not an event: it has no \"type\"");
	if (!json_is_integer(seq) || json_integer_value(seq) < 0)
		return err_say(e, EINVAL, "an event without a \"seq\" that counts it");
	if (!json_is_number(t) ||
	    !(json_number_value(t) >= 0 && json_number_value(t) <= EVENT_T_MAX_NS / 1e9))
		return err_say(e, EINVAL, "an event without a \"t\" in seconds");
	memset(ev, 0, sizeof(*ev));
	ev->seq = (uint64_t) json_integer_value(seq);
	ev->t_ns = (uint64_t) (json_number_value(t) * 1e6 + 0.5) * 1000;
	ev->type = event_type_by_name(type);
	return 0;
}

/* Those keys of a known event that this version has no field for. Gives: json_decref. */
static json_t *extra_keys(const json_t *object, const struct event_field *fields)
{
	json_t *rest = json_copy((json_t *) object);
	static const char *const head[] = { "seq", "t", "type" };

	for (size_t i = 0; i < ARRAY_LEN(head); i++)
		(void) json_object_del(rest, head[i]);
	for (const struct event_field *f = event_common; f->name; f++)
		(void) json_object_del(rest, f->name);
	for (const struct event_field *f = fields; f->name; f++)
		(void) json_object_del(rest, f->name);
	return rest;
}

/* What is kept though it is not understood, as ASCII text: all of a foreign event, or the keys beyond the
 * table. */
static int keep_rest(const struct get *g, const json_t *object, const struct event *ev, char **ret_foreign,
		     char **ret_extra, struct err *e)
{
	if (g->foreign) {
		*ret_foreign = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
		return *ret_foreign ? 0 : err_say(e, ENOMEM, "no memory to keep an event");
	}
	if (json_object_size(object) == g->keys)
		return 0;
	json_t *rest = extra_keys(object, event_fields(ev->type));
	*ret_extra = json_dumps(rest, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(rest);
	return *ret_extra ? 0 : err_say(e, ENOMEM, "no memory to keep an event");
}

/* One pass. `foreign` is the whole object as text where the event is kept unread, `extra` its unknown
 * keys. */
static int get_event(struct get *g, const json_t *object, struct event *ev, const char *foreign,
		     const char *extra, struct err *e)
{
	int r = get_head(object, ev, e);

	if (r < 0)
		return r;
	block_begin(&g->block);
	if (foreign) {
		const char *type = plain_string(json_object_get(object, "type"));
		ev->type = EVENT_UNKNOWN;
		ev->unknown.type = block_text(&g->block, type, strlen(type));
		ev->unknown.json = block_text(&g->block, foreign, strlen(foreign));
		return 0;
	}
	g->keys = 3;
	get_fields(g, ev, object, event_common);
	get_fields(g, ev, object, event_fields(ev->type));
	if (g->wrong)
		return err_say(e, EINVAL, "an event \"%s\" with a \"%s\" that cannot be",
			       event_type_name(ev->type), g->wrong);
	if (extra)
		ev->extra = block_text(&g->block, extra, strlen(extra));
	return 0;
}

static int read_object(const json_t *object, struct event **ret, struct err *e)
{
	struct get g = { .wrong = NULL };
	struct event measured;
	FREE char *foreign = NULL, *extra = NULL;
	int r = get_head(object, &measured, e);

	if (r < 0)
		return r;
	g.foreign = measured.type == EVENT_UNKNOWN;
	if (!g.foreign && (r = get_event(&g, object, &measured, NULL, NULL, e)) < 0)
		return r;
	if ((r = keep_rest(&g, object, &measured, &foreign, &extra, e)) < 0)
		return r;
	if ((foreign || extra) && (r = get_event(&g, object, &measured, foreign, extra, e)) < 0)
		return r;
	struct event *ev = block_make(&g.block);
	if ((r = get_event(&g, object, ev, foreign, extra, e)) < 0) {
		event_free(ev);
		return r;
	}
	*ret = ev;
	return 0;
}

int event_from_json(const char *line, size_t len, struct event **ret, struct err *e)
{
	json_t *object = json_line(line, len, LINE_MAX_BYTES, e);

	if (!object)
		return -EINVAL;
	int r = read_object(object, ret, e);
	json_decref(object);
	return r;
}
