/* SPDX-License-Identifier: MIT */
/*
 * Grouping. A program that is refused something asks again, a million times when it is hostile. The first event of a
 * kind (call or operation, errno, arguments) goes out at once; those like it are counted and told together at the next
 * tick. Tables and the number of events between two ticks have a bound: what finds no place is counted by type.
 */
#include "core/supervise/supervisor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static void put_text(struct hash *h, const char *s)
{
	hash_add(h, s ? s : "",
		 s ? strlen(s) + 1 : 1); /* its end is a part of it, so that no two can flow together */
}

static void put_number(struct hash *h, int64_t n)
{
	hash_add(h, &n, sizeof(n));
}

static void put_denied(struct hash *h, const struct event *ev)
{
	put_text(h, ev->denied.call);
	put_text(h, ev->denied.error);
	put_text(h, ev->denied.command);
	for (size_t k = 0; k < ev->denied.arg_count; k++) {
		put_text(h, ev->denied.args[k].text);
		put_number(h, ev->denied.args[k].number);
	}
}

static void put_network(struct hash *h, const struct event *ev)
{
	put_text(h, ev->network.op);
	put_text(h, ev->network.family);
	put_text(h, ev->network.protocol);
	put_text(h, ev->network.address);
	put_text(h, ev->network.command);
	put_number(h, ev->network.port);
}

static void put_file(struct hash *h, const struct event *ev)
{
	put_text(h, ev->file.op);
	put_text(h, ev->file.path);
	put_text(h, ev->file.command);
	for (size_t k = 0; k < ev->file.flag_count; k++)
		put_text(h, ev->file.flags[k]);
}

/* What the target asks for is of its choosing: with a hash that it could compute, one call would hide in the count of
 * another. */
static uint64_t event_key(struct groups *g, const struct event *ev)
{
	struct hash h;
	if (!g->keyed && getrandom(g->secret, sizeof(g->secret), 0) != sizeof(g->secret))
		abort(); /* up to 256 bytes never fall short, getrandom(2) */
	g->keyed = true;
	hash_init(&h, g->secret);
	put_number(&h, (int64_t) ev->outcome);
	if (ev->type == EVENT_DENIED)
		put_denied(&h, ev);
	else if (ev->type == EVENT_NETWORK)
		put_network(&h, ev);
	else
		put_file(&h, ev);
	return hash_end(&h);
}

static uint64_t *event_count(struct event *ev)
{
	return ev->type == EVENT_DENIED    ? &ev->denied.count
	       : ev->type == EVENT_NETWORK ? &ev->network.count
					   : &ev->file.count;
}

/* A string of the group's own: whole, so that what is counted says as much as what was told first. */
static void keep(struct group *g, const char **s)
{
	if (*s)
		*s = g->text[g->texts++] = xstrdup(*s);
}

static void group_keep(struct group *g, const struct event *ev)
{
	g->texts = 0;
	g->ev = *ev;
	switch (ev->type) {
	case EVENT_DENIED:
		keep(g, &g->ev.denied.command);
		keep(g, &g->ev.denied.call);
		keep(g, &g->ev.denied.error);
		g->ev.denied.rule = ev->denied.rule; /* the policy's own: outlives the run */
		if (ev->denied.arg_count > ARRAY_LEN(g->args))
			g->ev.denied.arg_count = ARRAY_LEN(g->args);
		if (ev->denied.arg_count)
			memcpy(g->args, ev->denied.args, g->ev.denied.arg_count * sizeof(g->args[0]));
		g->ev.denied.args = g->args;
		for (size_t k = 0; k < g->ev.denied.arg_count; k++)
			keep(g, &g->args[k].text); /* keys are the decoder's own and static */
		break;
	case EVENT_NETWORK:
		keep(g, &g->ev.network.command);
		keep(g, &g->ev.network.family); /* one without a name is text of the call */
		keep(g, &g->ev.network.address);
		break; /* op, protocol are static words */
	case EVENT_FILE:
		keep(g, &g->ev.file.command);
		keep(g, &g->ev.file.path);
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

static void group_tell(struct group *g, struct group_table *t, struct feed *s)
{
	if (!g->count)
		return;
	*event_count(&g->ev) = g->count;
	feed_emit(s, &g->ev);
	t->told++;
}

/* Tells what was counted, and makes room. */
static void table_flush(struct group_table *t, struct feed *s)
{
	for (size_t k = 0; k < t->used; k++) {
		struct group *g = &t->at[k];
		group_tell(g, t, s);
		while (g->texts)
			free(g->text[--g->texts]);
	}
	t->used = 0;
}

void group_emit(struct groups *g, struct feed *s, struct event *ev)
{
	struct group_table *t = table_of(g, ev->type);
	uint64_t key = event_key(g, ev);
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

void group_beyond(struct groups *g, enum event_type type, uint64_t count)
{
	table_of(g, type)->beyond += count;
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
		tell_count(s, all[k].type, t->beyond, "more in one call than is read of it");
		t->told = t->dropped = t->gone = t->beyond = 0;
	}
}
