/* SPDX-License-Identifier: MIT */
/*
 * Grouping. A program that is refused something asks again, a million times when it is hostile. The first event of a
 * kind (call or operation, errno, arguments) goes out at once; those like it are counted and told together at the next
 * tick. Tables and the number of
 * events between two ticks have a bound: what finds no place is counted by type.
 */
#include "core/supervise/supervisor.h"

#include <string.h>

static uint64_t hash_add(uint64_t h, const char *s)
{
	for (; s && *s; s++)
		h = (h ^ (uint8_t) *s) * UINT64_C(0x100000001b3); /* FNV-1a */
	return (h ^ 0xff) * UINT64_C(0x100000001b3);
}

static uint64_t event_key(const struct event *ev)
{
	uint64_t h =
		hash_add(UINT64_C(0xcbf29ce484222325) + (uint64_t) ev->type * 31 + (uint64_t) ev->outcome,
			 NULL);
	switch (ev->type) {
	case EVENT_DENIED:
		h = hash_add(hash_add(hash_add(h, ev->denied.call), ev->denied.error), ev->denied.command);
		for (size_t k = 0; k < ev->denied.arg_count; k++) {
			const struct event_arg *a = &ev->denied.args[k];
			h = a->text ? hash_add(h, a->text)
				    : (h ^ (uint64_t) a->number) * UINT64_C(0x100000001b3);
		}
		return h;
	case EVENT_NETWORK:
		h = hash_add(hash_add(h, ev->network.family), ev->network.protocol);
		h = hash_add(hash_add(hash_add(h, ev->network.op), ev->network.address), ev->network.command);
		return (h ^ (uint64_t) ev->network.port) * UINT64_C(0x100000001b3);
	case EVENT_FILE:
		for (size_t k = 0; k < ev->file.flag_count; k++)
			h = hash_add(h, ev->file.flags[k]);
		return hash_add(hash_add(hash_add(h, ev->file.op), ev->file.path), ev->file.command);
	default:
		return h;
	}
}

static uint64_t *event_count(struct event *ev)
{
	return ev->type == EVENT_DENIED    ? &ev->denied.count
	       : ev->type == EVENT_NETWORK ? &ev->network.count
					   : &ev->file.count;
}

/* Moves a string into the group's own text; what does not fit is cut there: the first event was told in full. */
static void keep(struct group *g, size_t *used, const char **s)
{
	if (!*s)
		return;
	size_t room = sizeof(g->text) - *used, len = strnlen(*s, room - 1);
	char *at = g->text + *used;
	memcpy(at, *s, len);
	at[len] = 0;
	*used += len + 1 < room ? len + 1 : room - 1;
	*s = at;
}

static void group_keep(struct group *g, const struct event *ev)
{
	size_t used = 0;
	g->ev = *ev;
	switch (ev->type) {
	case EVENT_DENIED:
		keep(g, &used, &g->ev.denied.command);
		keep(g, &used, &g->ev.denied.call);
		keep(g, &used, &g->ev.denied.error);
		g->ev.denied.rule = ev->denied.rule; /* the policy's own: outlives the run */
		if (ev->denied.arg_count > ARRAY_LEN(g->args))
			g->ev.denied.arg_count = ARRAY_LEN(g->args);
		if (ev->denied.arg_count)
			memcpy(g->args, ev->denied.args, g->ev.denied.arg_count * sizeof(g->args[0]));
		g->ev.denied.args = g->args;
		for (size_t k = 0; k < g->ev.denied.arg_count; k++)
			keep(g, &used, &g->args[k].text); /* keys are the decoder's own and static */
		break;
	case EVENT_NETWORK:
		keep(g, &used, &g->ev.network.command);
		keep(g, &used, &g->ev.network.address);
		break; /* op, family, protocol are static words */
	case EVENT_FILE:
		keep(g, &used, &g->ev.file.command);
		keep(g, &used, &g->ev.file.path);
		if (ev->file.flag_count > ARRAY_LEN(g->flags))
			g->ev.file.flag_count = ARRAY_LEN(g->flags);
		if (ev->file.flag_count)
			memcpy(g->flags, ev->file.flags, g->ev.file.flag_count * sizeof(g->flags[0]));
		g->ev.file.flags = g->flags; /* static words */
		break;
	default:
		break;
	}
}

static struct group_table *table_of(struct groups *g, enum event_type type)
{
	switch (type) {
	case EVENT_DENIED:
		return &g->denied;
	case EVENT_NETWORK:
		return &g->network;
	case EVENT_EXEC:
		return &g->exec;
	default:
		return &g->file;
	}
}

/* Tells what was counted, and makes room. */
static void table_flush(struct group_table *t, struct feed *s)
{
	for (size_t k = 0; k < t->used; k++) {
		if (!t->at[k].count)
			continue;
		*event_count(&t->at[k].ev) = t->at[k].count;
		feed_emit(s, &t->at[k].ev);
		t->told++;
	}
	t->used = 0;
}

void group_emit(struct groups *g, struct feed *s, struct event *ev)
{
	struct group_table *t = table_of(g, ev->type);
	uint64_t key = event_key(ev);
	for (size_t k = 0; k < t->used; k++)
		if (t->key[k] == key) {
			t->at[k].count++;
			return;
		}
	if (t->used == GROUPS_MAX && t->told < GROUP_TOLD_MAX)
		table_flush(t, s);
	if (t->used == GROUPS_MAX || t->told >= GROUP_TOLD_MAX) {
		t->dropped++;
		return;
	}
	t->key[t->used] = key;
	t->at[t->used].count = 0;
	group_keep(&t->at[t->used++], ev);
	*event_count(ev) = 1;
	feed_emit(s, ev);
	t->told++;
}

void group_told(struct groups *g, enum event_type type)
{
	table_of(g, type)->told++;
}

void group_gone(struct groups *g, enum event_type type)
{
	table_of(g, type)->gone++;
}

bool group_skip(struct groups *g, enum event_type type)
{
	struct group_table *t = table_of(g, type);
	if (t->told < GROUP_TOLD_MAX)
		return false;
	t->dropped++;
	return true;
}

static void tell_count(struct feed *s, enum event_type type, uint64_t count, const char *why)
{
	struct event ev = { .type = EVENT_DROPPED,
			    .dropped = { .what = event_type_name(type), .count = count, .why = why } };
	if (count)
		feed_emit(s, &ev);
}

void group_tick(struct groups *g, struct feed *s)
{
	const struct {
		struct group_table *t;
		enum event_type type;
	} all[] = { { &g->denied, EVENT_DENIED },
		    { &g->network, EVENT_NETWORK },
		    { &g->file, EVENT_FILE },
		    { &g->exec, EVENT_EXEC } };
	for (size_t k = 0; k < ARRAY_LEN(all); k++) {
		struct group_table *t = all[k].t;
		table_flush(t, s);
		tell_count(s, all[k].type, t->dropped, "more kinds at once than are told apart");
		tell_count(s, all[k].type, t->gone, "the caller was gone before it could be read");
		t->told = t->dropped = t->gone = 0;
	}
}
