/* SPDX-License-Identifier: MIT */
/*
 * What happened, in an event: the one text that events which are alike have in common, whoever did it, however often,
 * and whatever came of it. Grouping and comparing go by it.
 */
#include "core/base/base.h"
#include "core/model/model.h"

#include <string.h>

#define TEXT_CAP 400 /* bytes of one untrusted string that are told */

static void add_capped(struct buf *out, const char *untrusted)
{
	if (untrusted)
		buf_add(out, untrusted, strnlen(untrusted, TEXT_CAP));
}

static void add_list(struct buf *out, const char *const *list, size_t count, const char *between)
{
	for (size_t i = 0; i < count && out->len < TEXT_CAP; i++) {
		if (i > 0)
			buf_str(out, between);
		add_capped(out, list[i]);
	}
}

static void add_call(struct buf *out, const char *call, const struct event_arg *args, size_t count)
{
	add_capped(out, call);
	buf_str(out, "(");
	for (size_t i = 0; i < count && out->len < TEXT_CAP; i++) {
		if (i > 0)
			buf_str(out, ", ");
		if (args[i].text)
			add_capped(out, args[i].text);
		else
			buf_printf(out, "%lld", (long long) args[i].number);
	}
	buf_str(out, ")");
}

static void what_network(const struct event *ev, struct buf *out)
{
	add_capped(out, ev->network.op);
	buf_str(out, " ");
	bool colons = ev->network.address && strchr(ev->network.address, ':');
	buf_str(out, colons ? "[" : "");
	add_capped(out, ev->network.address ? ev->network.address : "?");
	buf_str(out, colons ? "]" : "");
	if (ev->network.port >= 0)
		buf_printf(out, ":%lld", (long long) ev->network.port);
	if (ev->network.protocol && strcmp(ev->network.protocol, "tcp") != 0) {
		buf_str(out, " ");
		add_capped(out, ev->network.protocol);
	}
}

static void what_file(const struct event *ev, struct buf *out)
{
	add_capped(out, ev->file.op);
	buf_str(out, " ");
	add_capped(out, ev->file.path);
	if (ev->file.flag_count > 0)
		buf_str(out, " ");
	add_list(out, ev->file.flags, ev->file.flag_count, "|");
}

static void what_exec(const struct event *ev, struct buf *out)
{
	add_capped(out, ev->exec.path);
	if (ev->exec.argv_count > 1) {
		buf_str(out, " ");
		add_list(out, ev->exec.argv + 1, ev->exec.argv_count - 1, " ");
	}
}

static void what_limit(const struct event *ev, struct buf *out)
{
	char value[40];
	for (int i = 0; i < LIMIT_MAX; i++)
		if (ev->limit.name && strcmp(limit_kinds[i].name, ev->limit.name) == 0) {
			buf_printf(out, "%s = %s", limit_kinds[i].name,
				   limit_format((enum limit_name) i, ev->limit.value, value, sizeof(value)));
			return;
		}
	add_capped(out, ev->limit.name);
}

void event_what(const struct event *ev, struct buf *out)
{
	switch (ev->type) {
	case EVENT_DENIED:
		add_call(out, ev->denied.call, ev->denied.args, ev->denied.arg_count);
		break;
	case EVENT_NETWORK:
		what_network(ev, out);
		break;
	case EVENT_FILE:
		what_file(ev, out);
		break;
	case EVENT_EXEC:
		what_exec(ev, out);
		break;
	case EVENT_LIMIT:
		what_limit(ev, out);
		break;
	case EVENT_TERMINAL:
		add_capped(out, ev->terminal.kind);
		buf_str(out, " in the output");
		break;
	case EVENT_ALERT:
		add_capped(out, ev->alert.kind);
		break;
	case EVENT_DROPPED:
		add_capped(out, ev->dropped.what);
		buf_str(out, " not told one by one");
		break;
	case EVENT_CHANGED:
		add_capped(out, ev->changed.op);
		buf_str(out, " ");
		add_capped(out, ev->changed.path);
		break;
	case EVENT_ASK:
		buf_str(out, "may it call ");
		if (ev->ask.arg_count)
			add_call(out, ev->ask.call, ev->ask.args, ev->ask.arg_count);
		else
			add_capped(out, ev->ask.call);
		break;
	case EVENT_ANSWER:
		buf_str(out, "answer: ");
		add_capped(out, ev->answer.decision);
		break;
	case EVENT_PROGRESS:
		add_capped(out, ev->progress.text);
		break;
	case EVENT_ERROR:
		add_capped(out, ev->error.text);
		break;
	case EVENT_UNKNOWN:
		add_capped(out, ev->unknown.type);
		break;
	default:
		break;
	}
}
