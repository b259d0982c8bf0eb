/* SPDX-License-Identifier: MIT */
/*
 * Grouping of events, and the words for them. Every string in here has been cut to a bound and scrubbed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/screen/groups.h"

#define SLOTS    (2 * GROUPS_MAX)
#define TEXT_CAP 400 /* bytes of one untrusted string that are shown */

void groups_init(struct groups *g, bool ascii)
{
	*g = (struct groups){ .ascii = ascii };
	g->at = xcalloc(GROUPS_MAX, sizeof(*g->at));
	g->slots = xcalloc(SLOTS, sizeof(*g->slots));
	g->raw = xcalloc(RAW_MAX, sizeof(*g->raw));
}

void groups_done(struct groups *g)
{
	for (size_t i = 0; i < g->count; i++) {
		clean_free(&g->at[i].what);
		clean_free(&g->at[i].who);
		clean_free(&g->at[i].why);
		clean_free(&g->at[i].call);
		free(g->at[i].path);
	}
	free(g->at);
	free(g->slots);
	free(g->raw);
	*g = (struct groups){ 0 };
}

static void add_capped(struct buf *out, const char *untrusted)
{
	if (untrusted)
		buf_add(out, untrusted, strnlen(untrusted, TEXT_CAP));
}

static void who(const struct event *ev, struct buf *out)
{
	const char *command = NULL;
	int64_t pid = -1;
	if (ev->type == EVENT_DENIED) {
		command = ev->denied.command;
		pid = ev->denied.pid;
	} else if (ev->type == EVENT_NETWORK) {
		command = ev->network.command;
		pid = ev->network.pid;
	} else if (ev->type == EVENT_FILE) {
		command = ev->file.command;
		pid = ev->file.pid;
	} else if (ev->type == EVENT_EXEC) {
		pid = ev->exec.pid;
	}
	add_capped(out, command);
	if (pid >= 0)
		buf_printf(out, "[%lld]", (long long) pid);
}

static void why(const struct event *ev, struct buf *out)
{
	if (ev->type == EVENT_DENIED) {
		add_capped(out, ev->denied.error);
		if (ev->denied.rule && *ev->denied.rule) {
			buf_str(out, ev->denied.error ? " by " : "");
			add_capped(out, ev->denied.rule);
		}
	} else if (ev->type == EVENT_LIMIT) {
		add_capped(out, ev->limit.evidence);
	} else if (ev->type == EVENT_ALERT) {
		add_capped(out, ev->alert.detail);
	} else if (ev->type == EVENT_DROPPED) {
		add_capped(out, ev->dropped.why);
	} else if (ev->type == EVENT_ERROR) {
		add_capped(out, ev->error.remedy);
	} else if (ev->type == EVENT_TERMINAL) {
		buf_str(out, "the terminal never saw it");
	}
}

static uint64_t event_count(const struct event *ev)
{
	uint64_t count = 1;
	if (ev->type == EVENT_DENIED)
		count = ev->denied.count;
	else if (ev->type == EVENT_NETWORK)
		count = ev->network.count;
	else if (ev->type == EVENT_FILE)
		count = ev->file.count;
	else if (ev->type == EVENT_DROPPED)
		count = ev->dropped.count;
	return count == 0 || count == UNKNOWN_U64 ? 1 : count;
}

bool group_wanted(const struct event *ev)
{
	return ev->type != EVENT_START && ev->type != EVENT_OUTPUT && ev->type != EVENT_METER &&
	       ev->type != EVENT_PROGRESS && ev->type != EVENT_EXIT;
}

bool outcome_stopped(enum outcome o)
{
	return o == OUTCOME_REFUSED || o == OUTCOME_UNREACHABLE || o == OUTCOME_HIDDEN ||
	       o == OUTCOME_READ_ONLY;
}

bool group_quiet(const struct group *g)
{
	return g->type == EVENT_FILE && !outcome_stopped(g->outcome);
}

/* FNV-1a: an attacker who makes groups collide slows a table of 4096 entries, no more. */
static uint64_t hash_of(const struct event *ev, const struct buf *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ (uint64_t) ev->type << 24 ^ (uint64_t) ev->source << 16 ^
		     (uint64_t) ev->outcome << 8 ^ ev->layer;
	for (size_t i = 0; i < text->len; i++)
		h = (h ^ (unsigned char) text->data[i]) * UINT64_C(0x100000001b3);
	return h;
}

/* The slot where this group is, or the empty one where it belongs. */
static uint32_t *find_slot(const struct groups *g, uint64_t hash, const struct event *ev, struct clean text)
{
	for (size_t i = hash % SLOTS;; i = (i + 1) % SLOTS) {
		if (g->slots[i] == 0)
			return &g->slots[i];
		const struct group *have = &g->at[g->slots[i] - 1];
		if (have->hash == hash && have->type == ev->type && have->outcome == ev->outcome &&
		    have->layer == ev->layer && have->source == ev->source && have->what.len == text.len &&
		    memcmp(have->what.text, text.text, text.len) == 0)
			return &g->slots[i];
	}
}

static struct clean made_by(const struct groups *g, void (*make)(const struct event *, struct buf *),
			    const struct event *ev)
{
	struct buf text = { 0 };
	make(ev, &text);
	struct clean clean = clean_line(text.data ? text.data : "", text.len, g->ascii);
	buf_done(&text);
	return clean;
}

static void new_group(struct groups *g, uint32_t *slot, const struct event *ev, uint64_t hash,
		      struct clean text)
{
	struct group *group = &g->at[g->count];
	*slot = (uint32_t) ++g->count;
	*group = (struct group){ .hash = hash,
				 .type = ev->type,
				 .outcome = ev->outcome,
				 .layer = ev->layer,
				 .basis = ev->basis,
				 .source = ev->source,
				 .first_ns = ev->t_ns,
				 .what = text };
	group->who = made_by(g, who, ev);
	group->why = made_by(g, why, ev);
	if (ev->type == EVENT_DENIED && ev->denied.call)
		group->call = clean_line(ev->denied.call, strnlen(ev->denied.call, TEXT_CAP), g->ascii);
	if (ev->type == EVENT_FILE && ev->file.path && strnlen(ev->file.path, TEXT_CAP) < TEXT_CAP)
		group->path = xstrdup(ev->file.path);
}

static void count_event(struct groups *g, const struct event *ev, uint64_t count)
{
	g->events += count;
	g->kind[ev->type] += count;
	if (!outcome_stopped(ev->outcome))
		return;
	g->stopped += count;
	if (ev->type == EVENT_NETWORK)
		g->stopped_net += count;
	else if (ev->type == EVENT_FILE)
		g->stopped_file += count;
}

void groups_add(struct groups *g, const struct event *ev)
{
	uint64_t count = event_count(ev);
	count_event(g, ev, count);
	struct buf raw = { 0 };
	event_what(ev, &raw);
	uint64_t hash = hash_of(ev, &raw);
	struct clean text = clean_line(raw.data ? raw.data : "", raw.len, g->ascii);
	buf_done(&raw);
	uint32_t *slot = find_slot(g, hash, ev, text);
	if (*slot) {
		clean_free(&text);
	} else if (g->count == GROUPS_MAX) {
		g->not_kept += count;
		clean_free(&text);
		return;
	} else {
		new_group(g, slot, ev, hash, text);
	}
	struct group *group = &g->at[*slot - 1];
	group->count += count;
	group->last_ns = ev->t_ns;
	group->touched = ++g->touches;
	g->raw[g->raw_next++ % RAW_MAX] = (struct raw){ ev->t_ns, count, *slot - 1 };
}

static bool holds(struct clean text, const char *part)
{
	return text.len > 0 && strcasestr(text.text, part);
}

bool group_matches(const struct group *g, const char *filter)
{
	return !*filter || holds(g->what, filter) || holds(g->who, filter) || holds(g->why, filter) ||
	       strcasestr(group_kind(g), filter) || strcasestr(group_outcome(g), filter) ||
	       strcasestr(layer_name(g->layer), filter);
}

/* clang-format off */
static const struct {
	const char *kind, *outcome; /* outcome: for events that have none */
} type_words[EVENT_TYPE_MAX] = {
	[EVENT_DENIED] = { "CALL", "refused" },
	[EVENT_NETWORK] = { "NET", "seen" },
	[EVENT_FILE] = { "FILE", "seen" },
	[EVENT_EXEC] = { "EXEC", "started" },
	[EVENT_LIMIT] = { "LIMIT", "met" },
	[EVENT_TERMINAL] = { "TERM", "removed" },
	[EVENT_ALERT] = { "ALERT", "LOOK" },
	[EVENT_ASK] = { "ASK", "asked" },
	[EVENT_ANSWER] = { "ASK", "answered" },
	[EVENT_DROPPED] = { "DROP", "counted" },
	[EVENT_CHANGED] = { "FILE", "changed" },
	[EVENT_ERROR] = { "ERROR", "error" },
	[EVENT_UNKNOWN] = { "?", "unknown" },
};
/* clang-format on */

const char *group_kind(const struct group *g)
{
	return type_words[g->type].kind ? type_words[g->type].kind : "?";
}

const char *group_outcome(const struct group *g)
{
	if (g->outcome != OUTCOME_NONE)
		return outcome_name(g->outcome);
	return type_words[g->type].outcome ? type_words[g->type].outcome : "";
}

const char *layer_words(enum layer l)
{
	static const char *const words[LAYER_MAX] = {
		[LAYER_SECCOMP] = "the filter of system calls",
		[LAYER_LANDLOCK] = "a Landlock rule",
		[LAYER_MOUNT_NS] = "the run's own view of files",
		[LAYER_NET_NS] = "no route in this network namespace",
		[LAYER_PID_NS] = "other processes are not in sight",
		[LAYER_USER_NS] = "it has no privilege in its user namespace",
		[LAYER_CAPABILITY] = "it has no such capability",
		[LAYER_CGROUP] = "a limit of its control group",
		[LAYER_RLIMIT] = "a limit of the process",
		[LAYER_SUPERVISOR] = "belljar's supervisor",
		[LAYER_RUNTIME] = "the container runtime",
		[LAYER_VM] = "the virtual machine",
	};
	return l < LAYER_MAX && words[l] ? words[l] : "";
}

const char *basis_words(enum basis b)
{
	static const char *const words[BASIS_MAX] = {
		[BASIS_ANSWERED] = "certain: belljar itself gave the answer",
		[BASIS_COUNTER] = "certain: a counter of the kernel says so",
		[BASIS_SAMPLED] = "measured now and then: it may have been more",
		[BASIS_PREDICTED] = "follows from the walls in force; the kernel's own answer is not seen",
		[BASIS_UNKNOWN] = "the outcome cannot be seen from outside",
	};
	return b < BASIS_MAX && words[b] ? words[b] : "not said";
}

void group_sentence(const struct group *g, struct buf *out)
{
	int name = (int) strcspn(g->who.len ? g->who.text : "", "[");
	const char *verb = g->type == EVENT_TERMINAL ? "printed" : "wanted";
	if (g->type == EVENT_LIMIT)
		buf_printf(out, "A limit was met: %s.", g->what.text);
	else if (g->type == EVENT_ALERT)
		buf_printf(out, "LOOK: %s.", g->why.text);
	else if (g->type == EVENT_EXEC)
		buf_printf(out, "A program was started: %s.", g->what.text);
	else if (g->type == EVENT_DROPPED)
		buf_printf(out, "More happened than is told one by one: %s.", g->what.text);
	else
		buf_printf(out, "%.*s %s: %s.", name ? name : 2, name ? g->who.text : "It", verb,
			   g->what.text);
	if (g->outcome != OUTCOME_NONE)
		buf_printf(out, *layer_words(g->layer) ? " %s: %s." : " %s.%s", group_outcome(g),
			   layer_words(g->layer));
	if (g->count > 1)
		buf_printf(out, " %llu times.", (unsigned long long) g->count);
}

void group_allow(const struct group *g, struct buf *out)
{
	if (!outcome_stopped(g->outcome)) {
		if (g->type == EVENT_LIMIT)
			buf_str(out,
				"a larger value in [limits] of a preset, or the option of the same name");
		return;
	}
	if (g->type == EVENT_NETWORK && g->source == SOURCE_GUEST) {
		buf_str(out, "no preset allows it at this level: the machine has no network card");
	} else if (g->type == EVENT_NETWORK) {
		buf_str(out, "[network] policy = host gives it the whole network, with all that this means");
	} else if (g->layer == LAYER_SECCOMP && g->call.len > 0) {
		buf_printf(out, "in a preset of your own: [syscalls] allow = %s", g->call.text);
	} else if (g->type == EVENT_FILE) {
		buf_str(out, "--input PATH shows it one file or folder, read-only; in a preset: [filesystem] "
			     "read_only = PATH");
	} else if (g->layer == LAYER_CGROUP || g->layer == LAYER_RLIMIT) {
		buf_str(out, "a larger value in [limits] of a preset");
	} else {
		buf_str(out, "no preset allows it at this level");
	}
}
