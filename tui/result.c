/* SPDX-License-Identifier: MIT */
/*
 * The result object. A list's entry is the first event of its kind, as in a recording, with the count of all: two
 * events are of a kind when their JSON is the same but for number, time, process and count. So no field needs to be
 * named here, and a new one takes part by itself.
 */
#include "tui/result.h"

#include "core/base/base.h"
#include "core/model/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct group {
	char *kind; /* the JSON that makes two events the same */
	struct event *first;
	uint64_t count;
};

struct result {
	const struct launch *launch;
	struct event *start, *exit;
	struct buf alerts; /* JSON, behind each other */
	struct buf output[STREAM_MAX];
	uint64_t output_lost[STREAM_MAX]; /* beyond our cap, over what the supervisor dropped */
	size_t output_cap;
	struct group groups[LIST_MAX][RESULT_GROUPS_MAX];
	size_t group_count[LIST_MAX];
	uint64_t lost[LIST_MAX]; /* events that found no room here or were dropped before */
};

struct result *result_new(const struct launch *l)
{
	struct result *r = xcalloc(1, sizeof *r);
	uint64_t limit = l && l->policy ? l->policy->limit[LIMIT_OUTPUT] : UNLIMITED;

	r->launch = l;
	r->output_cap = limit < RESULT_OUTPUT_MAX ? (size_t) limit : RESULT_OUTPUT_MAX;
	return r;
}

struct result *result_free(struct result *r)
{
	if (!r)
		return NULL;
	for (int i = 0; i < LIST_MAX; i++) {
		for (size_t k = 0; k < r->group_count[i]; k++) {
			free(r->groups[i][k].kind);
			(void) event_free(r->groups[i][k].first);
		}
	}
	for (int i = 0; i < STREAM_MAX; i++)
		buf_done(&r->output[i]);
	buf_done(&r->alerts);
	(void) event_free(r->start);
	(void) event_free(r->exit);
	free(r);
	return NULL;
}

static void keep_output(struct result *r, const struct event *ev)
{
	enum stream stream = ev->output.stream;
	size_t kept = r->output[STREAM_STDOUT].len + r->output[STREAM_STDERR].len;
	size_t room = r->output_cap - kept;
	size_t len = ev->output.len < room ? ev->output.len : room;

	buf_add(&r->output[stream], ev->output.bytes, len);
	r->output_lost[stream] += ev->output.len - len;
}

/* There is one for each planted file and kind of place; a guest might make more. */
static void keep_alert(struct result *r, const struct event *ev)
{
	if (r->alerts.len >= RESULT_ALERTS_MAX)
		return;
	buf_str(&r->alerts, r->alerts.len ? "," : "");
	event_to_json(ev, &r->alerts);
}

/* Where the count of an event of a list is, and its process, or NULL. */
static uint64_t *count_of(struct event *ev)
{
	switch (ev->type) {
	case EVENT_DENIED:
		return &ev->denied.count;
	case EVENT_NETWORK:
		return &ev->network.count;
	case EVENT_FILE:
		return &ev->file.count;
	default:
		return NULL;
	}
}

static void forget_process(struct event *ev)
{
	switch (ev->type) {
	case EVENT_DENIED:
		ev->denied.pid = -1;
		break;
	case EVENT_NETWORK:
		ev->network.pid = -1;
		break;
	case EVENT_FILE:
		ev->file.pid = -1;
		break;
	case EVENT_EXEC:
		ev->exec.pid = ev->exec.parent = -1;
		break;
	default:
		break;
	}
}

static char *kind_of(const struct event *ev)
{
	struct event bare = *ev;
	struct buf json = { 0 };
	uint64_t *count = count_of(&bare);

	bare.seq = bare.t_ns = 0;
	forget_process(&bare);
	if (count)
		*count = 0;
	event_to_json(&bare, &json);
	return buf_steal(&json);
}

static void group_event(struct result *r, enum run_list list, struct event *ev)
{
	const uint64_t *counted = count_of(ev);
	uint64_t count = counted && *counted ? *counted : 1;
	FREE char *kind = kind_of(ev);
	struct group *g = r->groups[list], *last = g + r->group_count[list];

	while (g < last && strcmp(g->kind, kind) != 0)
		g++;
	if (g < last) {
		g->count += count;
		(void) event_free(ev);
	} else if (r->group_count[list] < RESULT_GROUPS_MAX) {
		*g = (struct group){ .kind = take_ptr(&kind), .first = ev, .count = count };
		r->group_count[list]++;
	} else {
		r->lost[list] += count;
		(void) event_free(ev);
	}
}

static void keep(struct event **slot, struct event *ev)
{
	(void) event_free(*slot);
	*slot = ev;
}

void result_take(struct result *r, struct event *ev)
{
	int list = list_of(ev);

	if (list >= 0 && ev->type != EVENT_DROPPED) {
		group_event(r, (enum run_list) list, ev);
		return;
	}
	if (ev->type == EVENT_START) {
		keep(&r->start, ev);
		return;
	}
	if (ev->type == EVENT_EXIT) {
		keep(&r->exit, ev);
		return;
	}
	if (ev->type == EVENT_OUTPUT)
		keep_output(r, ev);
	else if (ev->type == EVENT_ALERT)
		keep_alert(r, ev);
	else if (list >= 0 && ev->dropped.count != UNKNOWN_U64)
		r->lost[list] += ev->dropped.count;
	(void) event_free(ev);
}

void result_setup_error(struct result *r, int status, const char *sentence)
{
	struct event ev = {
		.type = EVENT_EXIT,
		.exit = {
			.verdict = VERDICT_SETUP_ERROR,
			.status = status,
			.evidence = sentence,
			.wall_s = UNKNOWN_F64,
			.cpu_s = UNKNOWN_F64,
			.memory_peak = UNKNOWN_U64,
			.processes_peak = UNKNOWN_U64,
			.written = UNKNOWN_U64,
			.space_peak = UNKNOWN_U64,
			.quiet_after_s = UNKNOWN_F64,
		},
	};
	FREE char *frame = xmalloc(WIRE_FRAME_MAX);
	struct event *owned;
	ssize_t len = event_encode(&ev, frame, WIRE_FRAME_MAX);

	/* Through the wire and back gives an event that owns its strings, as any other. */
	if (len > 0 && event_decode(frame, (size_t) len, &owned, NULL) == 0)
		keep(&r->exit, owned);
}

static void put_key(struct buf *out, const char *key)
{
	buf_printf(out, "%s\"%s\":", out->data[out->len - 1] == '{' ? "" : ",", key);
}

static void put_str(struct buf *out, const char *key, const char *value)
{
	put_key(out, key);
	if (value)
		json_text(value, strlen(value), out);
	else
		buf_str(out, "null");
}

/* Readers of JSON know no whole number above INT64_MAX; unknown and unlimited lie there. */
static void put_u64(struct buf *out, const char *key, uint64_t value)
{
	put_key(out, key);
	if (value <= INT64_MAX)
		buf_printf(out, "%" PRIu64, value);
	else
		buf_str(out, "null");
}

/* LC_NUMERIC is never set, so the point is a point. */
static void put_seconds(struct buf *out, const char *key, double value)
{
	put_key(out, key);
	if (value >= 0)
		buf_printf(out, "%.6g", value);
	else
		buf_str(out, "null");
}

/*
 * Output that was cut may end inside a character. Those bytes are counted with what was dropped, so that a text stays
 * text in place of becoming base64 as a whole.
 */
static size_t whole_characters(const char *data, size_t len)
{
	for (size_t cut = 1; cut <= 3 && cut <= len; cut++) {
		unsigned char c = (unsigned char) data[len - cut];
		if ((c & 0xc0) == 0x80)
			continue;
		size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
		return need > cut ? len - cut : len;
	}
	return len;
}

static void put_output(struct buf *out, const struct result *r)
{
	const struct event *exit = r->exit;
	uint64_t lost[STREAM_MAX];

	for (int i = 0; i < STREAM_MAX; i++) {
		uint64_t before = !exit                ? 0
				  : i == STREAM_STDOUT ? exit->exit.stdout_dropped
						       : exit->exit.stderr_dropped;
		const struct buf *kept = &r->output[i];
		lost[i] = before == UNKNOWN_U64 ? before : before + r->output_lost[i];
		size_t len = lost[i] ? whole_characters(kept->data, kept->len) : kept->len;
		if (lost[i] != UNKNOWN_U64)
			lost[i] += kept->len - len;
		put_key(out, stream_name((enum stream) i));
		json_text(kept->data ? kept->data : "", len, out);
	}
	put_u64(out, "stdout_dropped", lost[STREAM_STDOUT]);
	put_u64(out, "stderr_dropped", lost[STREAM_STDERR]);
}

static void put_verdict(struct buf *out, const struct event *exit)
{
	put_str(out, "verdict", exit ? verdict_name(exit->exit.verdict) : NULL);
	put_u64(out, "status", exit ? (uint64_t) verdict_status(exit) : UNKNOWN_U64);
	put_str(out, "signal", exit ? exit->exit.signal : NULL);
	put_str(out, "evidence", exit ? exit->exit.evidence : NULL);
}

static void put_figures(struct buf *out, const struct event *exit)
{
	put_seconds(out, "wall_s", exit ? exit->exit.wall_s : UNKNOWN_F64);
	put_seconds(out, "cpu_s", exit ? exit->exit.cpu_s : UNKNOWN_F64);
	put_u64(out, "memory_peak", exit ? exit->exit.memory_peak : UNKNOWN_U64);
	put_u64(out, "processes_peak", exit ? exit->exit.processes_peak : UNKNOWN_U64);
	put_u64(out, "written", exit ? exit->exit.written : UNKNOWN_U64);
	put_u64(out, "space_peak", exit ? exit->exit.space_peak : UNKNOWN_U64);
}

static void put_group(struct buf *out, const struct group *g)
{
	struct event ev = *g->first;
	uint64_t *count = count_of(&ev);

	if (count)
		*count = g->count;
	event_to_json(&ev, out);
	if (count)
		return;
	out->len--; /* the closing brace: a type without a count of its own gets one */
	buf_printf(out, ",\"count\":%" PRIu64 "}", g->count);
}

static void put_list(struct buf *out, const struct result *r, enum run_list list)
{
	put_key(out, list_kinds[list].name);
	buf_str(out, "[");
	for (size_t i = 0; i < r->group_count[list]; i++) {
		if (i)
			buf_str(out, ",");
		put_group(out, &r->groups[list][i]);
	}
	if (r->lost[list])
		buf_printf(out,
			   "%s{\"type\":\"dropped\",\"what\":\"%s\",\"count\":%" PRIu64
			   ",\"why\":\"bounded\"}",
			   r->group_count[list] ? "," : "", event_type_name(list_kinds[list].type),
			   r->lost[list]);
	buf_str(out, "]");
}

/* An empty list says nothing by itself; here stands whether anybody looked. */
static void put_states(struct buf *out, const struct event *start)
{
	put_key(out, "lists");
	buf_str(out, "{");
	for (int i = 0; i < LIST_MAX; i++)
		put_str(out, list_kinds[i].name, start ? list_state(start, (enum run_list) i) : NULL);
	buf_str(out, "}");
}

static void put_limits(struct buf *out, const struct event *start)
{
	put_key(out, "limits");
	buf_str(out, "[");
	for (size_t i = 0; start && i < start->start.limit_count; i++) {
		const struct event_limit *limit = &start->start.limits[i];
		buf_str(out, i ? ",{" : "{");
		put_str(out, "name", limit->name);
		put_u64(out, "asked", limit->asked);
		put_u64(out, "enforced", limit->enforced);
		put_str(out, "grade", grade_name(limit->grade));
		put_str(out, "mechanism", limit->mechanism);
		buf_str(out, "}");
	}
	buf_str(out, "]");
}

static void put_limits_met(struct buf *out, const struct event *exit)
{
	put_key(out, "limits_met");
	buf_str(out, "[");
	for (size_t i = 0; exit && i < exit->exit.limits_met_count; i++) {
		const char *name = exit->exit.limits_met[i];
		buf_str(out, i ? "," : "");
		json_text(name, strlen(name), out);
	}
	buf_str(out, "]");
}

static void put_layers(struct buf *out, const struct event *start)
{
	put_key(out, "layers");
	buf_str(out, "[");
	for (size_t i = 0; start && i < start->start.layer_count; i++) {
		const struct event_layer *layer = &start->start.layers[i];
		buf_str(out, i ? ",{" : "{");
		put_str(out, "name", layer->name);
		put_str(out, "state", layer_state_name(layer->state));
		put_str(out, "detail", layer->detail);
		put_str(out, "verified", layer->verified);
		buf_str(out, "}");
	}
	buf_str(out, "]");
}

/* What was run, by the start event, or where that never came by what was asked for. */
static void put_launch(struct buf *out, const struct result *r)
{
	const struct event *start = r->start;
	const struct launch *l = r->launch;
	const struct policy *p = l ? l->policy : NULL;
	const char *language = l && l->language ? l->language->name : NULL;

	put_str(out, "preset", start && start->start.preset ? start->start.preset : p ? p->name : NULL);
	put_str(out, "backend", start && start->start.backend ? start->start.backend : p ? p->backend : NULL);
	put_str(out, "language", start && start->start.language ? start->start.language : language);
	put_str(out, "code_sha256", l && *l->code_sha256 ? l->code_sha256 : NULL);
}

void result_to_json(const struct result *r, struct buf *out)
{
	const struct event *exit = r->exit;

	buf_str(out, "{");
	put_verdict(out, exit);
	put_output(out, r);
	put_figures(out, exit);
	for (int i = 0; i < LIST_MAX; i++)
		put_list(out, r, (enum run_list) i);
	put_states(out, r->start);
	put_key(out, "alerts");
	buf_printf(out, "[%.*s]", (int) r->alerts.len, r->alerts.len ? r->alerts.data : "");
	put_limits(out, r->start);
	put_limits_met(out, exit);
	put_layers(out, r->start);
	put_launch(out, r);
	put_u64(out, "processes_left", exit ? exit->exit.processes_left : UNKNOWN_U64);
	put_str(out, "recording", r->start ? r->start->start.recording : NULL);
	buf_str(out, "}\n");
}
