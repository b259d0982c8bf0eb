/* SPDX-License-Identifier: MIT */
/*
 * Events as lines for a person: what, what became of it, and why, in words. Names, paths and arguments in
 * them are the target's own, so each part is made of raw bytes first and goes through the scrubber as a
 * whole.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/event_table.h"
#include "core/model/model.h"

#define WHAT_COLUMNS    38
#define OUTCOME_COLUMNS 11
#define TEXT_MAX        4096u /* of one part; the rest is counted */

struct words {
	const char *class; /* what a person looks for in the first column */
	struct buf what, why;
};

static void put_count(uint64_t n, const char *thing, struct buf *out)
{
	if (n == UNKNOWN_U64)
		buf_printf(out, "? %ss", thing);
	else
		buf_printf(out, "%" PRIu64 " %s%s", n, thing, n == 1 ? "" : "s");
}

static void put_bytes(uint64_t n, struct buf *out)
{
	char text[32];
	buf_str(out, n == UNKNOWN_U64 ? "?" : format_bytes(n, text, sizeof(text)));
}

static void put_seconds(double s, struct buf *out)
{
	char text[32];
	buf_str(out, s < 0 || s > 1e9 ? "?" : format_ns((uint64_t) (s * 1e9), text, sizeof(text)));
}

static void put_who(const char *command, int64_t pid, struct buf *out)
{
	if (command && pid >= 0)
		buf_printf(out, "%s[%" PRId64 "] ", command, pid);
	else if (command)
		buf_printf(out, "%s ", command);
	else if (pid >= 0)
		buf_printf(out, "pid %" PRId64 " ", pid);
}

static void put_repeats(uint64_t count, struct buf *out)
{
	if (count > 1 && count != UNKNOWN_U64)
		buf_printf(out, " x%" PRIu64, count);
}

static void put_or(const char *text, const char *otherwise, struct buf *out)
{
	buf_str(out, text ? text : otherwise);
}

/* As a shell would want it, near enough for the eye. */
static void put_argv(const char *const *argv, size_t count, struct buf *out)
{
	for (size_t i = 0; i < count; i++) {
		bool quote = !*argv[i] || strpbrk(argv[i], " \t\n'\"\\$*?;&|<>()");
		buf_printf(out, quote ? "%s'%s'" : "%s%s", i ? " " : "", argv[i]);
	}
}

static void tell_start(const struct event *ev, struct words *w)
{
	size_t on = 0, weak = 0;

	for (size_t i = 0; i < ev->start.layer_count; i++)
		on += ev->start.layers[i].state == STATE_ON;
	for (size_t i = 0; i < ev->start.limit_count; i++)
		weak += ev->start.limits[i].grade < GRADE_SUPERVISOR &&
			ev->start.limits[i].asked != UNLIMITED;
	put_argv(ev->start.argv, ev->start.argv_count, &w->what);
	buf_str(&w->why, "preset ");
	put_or(ev->start.preset, "?", &w->why);
	if (ev->start.backend && (!ev->start.preset || strcmp(ev->start.backend, ev->start.preset) != 0))
		buf_printf(&w->why, " on %s", ev->start.backend);
	buf_str(&w->why, ", ");
	put_count(ev->start.limit_count, "limit", &w->why);
	if (weak)
		buf_printf(&w->why, " (%zu of them only sampled or not enforced)", weak);
	buf_printf(&w->why, ", %zu of %zu layers on", on, ev->start.layer_count);
}

/* The first line of it; a reader that wants all of a text splits it into lines first. */
static void tell_output(const struct event *ev, struct words *w)
{
	const char *bytes = ev->output.bytes;
	size_t len = ev->output.len;
	const char *newline = len ? memchr(bytes, '\n', len) : NULL;
	size_t first = newline ? (size_t) (newline - bytes) : len;
	size_t rest = newline ? len - first - 1 : 0;

	w->class = ev->output.stream == STREAM_STDERR ? "STDERR" : "STDOUT";
	if (first && newline && bytes[first - 1] == '\r')
		first--;
	buf_add(&w->what, bytes, first);
	if (rest) {
		buf_str(&w->why, "and ");
		put_count(rest, "more byte", &w->why);
	}
}

static void put_call(const char *call, const struct event_arg *args, size_t count, struct buf *out)
{
	buf_printf(out, "%s(", call);
	for (size_t i = 0; i < count; i++) {
		buf_str(out, i ? ", " : "");
		if (args[i].text)
			buf_str(out, args[i].text);
		else
			buf_printf(out, "%s=%" PRId64, args[i].key, args[i].number);
	}
	buf_str(out, ")");
}

static void tell_denied(const struct event *ev, struct words *w)
{
	if (ev->outcome == OUTCOME_ABSENT) /* an older way is taken: no offence, and nothing was refused */
		w->class = "ABSENT";
	put_who(ev->denied.command, ev->denied.pid, &w->what);
	put_call(ev->denied.call, ev->denied.args, ev->denied.arg_count, &w->what);
	put_repeats(ev->denied.count, &w->what);
	put_or(ev->denied.error, "", &w->why);
	if (ev->denied.rule && *ev->denied.rule)
		buf_printf(&w->why, "%srule %s", ev->denied.error ? ", " : "", ev->denied.rule);
}

static void tell_network(const struct event *ev, struct words *w)
{
	const char *address = ev->network.address;
	bool colons = address && strchr(address, ':') && ev->network.port >= 0;

	put_who(ev->network.command, ev->network.pid, &w->what);
	put_or(ev->network.op, "?", &w->what);
	if (ev->network.protocol)
		buf_printf(&w->what, " %s", ev->network.protocol);
	if (address)
		buf_printf(&w->what, colons ? " [%s]" : " %s", address);
	else if (ev->network.family)
		buf_printf(&w->what, " (%s, address not known)", ev->network.family);
	if (ev->network.port >= 0)
		buf_printf(&w->what, ":%" PRId64, ev->network.port);
	put_repeats(ev->network.count, &w->what);
}

static void tell_file(const struct event *ev, struct words *w)
{
	put_who(ev->file.command, ev->file.pid, &w->what);
	put_or(ev->file.op, "?", &w->what);
	buf_str(&w->what, " ");
	put_or(ev->file.path, "(path not known)", &w->what);
	const char *before = " ";
	for (size_t i = 0; i < ev->file.flag_count; i++) {
		if (strcmp(ev->file.flags[i], "O_CLOEXEC") ==
		    0) /* says nothing of what is done to the file */
			continue;
		buf_printf(&w->what, "%s%s", before, ev->file.flags[i]);
		before = "|";
	}
	put_repeats(ev->file.count, &w->what);
}

static void tell_exec(const struct event *ev, struct words *w)
{
	put_who(NULL, ev->exec.pid, &w->what);
	put_argv(ev->exec.argv, ev->exec.argv_count, &w->what);
	if (!ev->exec.argv_count)
		put_or(ev->exec.path, "?", &w->what);
	else if (ev->exec.path)
		buf_printf(&w->why, "program %s", ev->exec.path);
	if (ev->exec.parent >= 0)
		buf_printf(&w->why, "%sstarted by pid %" PRId64, w->why.len ? ", " : "", ev->exec.parent);
}

static void put_tasks(uint64_t n, struct buf *out)
{
	if (n == UNKNOWN_U64)
		buf_str(out, "?");
	else
		buf_printf(out, "%" PRIu64, n);
}

static void tell_meter(const struct event *ev, struct words *w)
{
	if (ev->meter.cpu_pct >= 0 && ev->meter.cpu_pct < 1e9)
		buf_printf(&w->what, "cpu %u %%", (unsigned) (ev->meter.cpu_pct + 0.5));
	else
		buf_str(&w->what, "cpu ? %");
	buf_str(&w->what, ", memory ");
	put_bytes(ev->meter.memory, &w->what);
	buf_str(&w->what, ", processes ");
	put_tasks(ev->meter.processes, &w->what);
	buf_str(&w->what, ", written ");
	put_bytes(ev->meter.written, &w->what);
	buf_str(&w->why, "peaks: memory ");
	put_bytes(ev->meter.memory_peak, &w->why);
	buf_str(&w->why, ", processes ");
	put_tasks(ev->meter.processes_peak, &w->why);
}

/* The value of a limit in the unit of its name. */
static void put_limit_value(const char *name, uint64_t value, struct buf *out)
{
	enum limit_unit unit = UNIT_COUNT;
	char text[32];

	for (size_t i = 0; i < LIMIT_MAX; i++)
		if (strcmp(limit_kinds[i].name, name) == 0)
			unit = limit_kinds[i].unit;
	if (value == UNKNOWN_U64)
		buf_str(out, "?");
	else if (unit == UNIT_BYTES)
		buf_str(out, format_bytes(value, text, sizeof(text)));
	else if (unit == UNIT_TIME)
		buf_str(out, format_ns(value, text, sizeof(text)));
	else if (unit == UNIT_CORES)
		buf_printf(out, "%" PRIu64 ".%03u", value / 1000, (unsigned) (value % 1000));
	else
		buf_printf(out, "%" PRIu64, value);
}

static void tell_limit(const struct event *ev, struct words *w)
{
	buf_printf(&w->what, "%s of ", ev->limit.name);
	put_limit_value(ev->limit.name, ev->limit.value, &w->what);
	buf_str(&w->what, " met");
	put_or(ev->limit.evidence, "", &w->why);
}

static void tell_terminal(const struct event *ev, struct words *w)
{
	buf_printf(&w->what, "%s sequence, ", ev->terminal.kind);
	put_count(ev->terminal.bytes, "byte", &w->what);
	if (ev->outcome == OUTCOME_REMOVED)
		buf_str(&w->why, "no terminal sees it");
}

static void tell_alert(const struct event *ev, struct words *w)
{
	buf_str(&w->what, ev->alert.kind);
	put_or(ev->alert.detail, "", &w->why);
}

static void tell_ask(const struct event *ev, struct words *w)
{
	buf_printf(&w->what, "question %" PRIu64 ": may ", ev->ask.id);
	put_who(ev->ask.command, ev->ask.pid, &w->what);
	put_call(ev->ask.call ? ev->ask.call : "?", ev->ask.args, ev->ask.arg_count, &w->what);
	buf_str(&w->what, "?");
	buf_str(&w->why, "without an answer it is refused after ");
	put_seconds(ev->ask.deadline_s, &w->why);
}

static void tell_answer(const struct event *ev, struct words *w)
{
	if (ev->answer.id)
		buf_printf(&w->what, "question %" PRIu64 ": ", ev->answer.id);
	else
		buf_str(&w->what, "no question: ");
	buf_str(&w->what, ev->answer.decision ? ev->answer.decision : "?");
	put_repeats(ev->answer.count, &w->what);
	if (ev->answer.by)
		buf_printf(&w->why, "by %s", ev->answer.by);
}

static void tell_dropped(const struct event *ev, struct words *w)
{
	if (ev->dropped.count == UNKNOWN_U64)
		buf_str(&w->what, "? ");
	else
		buf_printf(&w->what, "%" PRIu64 " ", ev->dropped.count);
	buf_printf(&w->what, "of %s not kept", ev->dropped.what ? ev->dropped.what : "?");
	put_or(ev->dropped.why, "", &w->why);
}

static void tell_changed(const struct event *ev, struct words *w)
{
	put_or(ev->changed.op, "changed", &w->what);
	buf_str(&w->what, " ");
	put_or(ev->changed.path, "?", &w->what);
	if (ev->changed.bytes != UNKNOWN_U64)
		put_bytes(ev->changed.bytes, &w->why);
}

static void tell_error(const struct event *ev, struct words *w)
{
	buf_str(&w->what, ev->error.text);
	if (ev->error.remedy)
		buf_printf(&w->why, "remedy: %s", ev->error.remedy);
}

static void tell_progress(const struct event *ev, struct words *w)
{
	buf_str(&w->what, ev->progress.text);
}

static void tell_exit(const struct event *ev, struct words *w)
{
	buf_str(&w->what, verdict_name(ev->exit.verdict));
	if (ev->exit.status >= 0)
		buf_printf(&w->what, ", status %" PRId64, ev->exit.status);
	if (ev->exit.signal)
		buf_printf(&w->what, ", %s", ev->exit.signal);
	put_or(ev->exit.evidence, "", &w->why);
}

static void tell_unknown(const struct event *ev, struct words *w)
{
	buf_printf(&w->what, "%s (not known to this version)", ev->unknown.type);
	buf_str(&w->why, ev->unknown.json);
}

/* clang-format off */
static const struct {
	const char *class;
	void (*tell)(const struct event *ev, struct words *w);
} classes[EVENT_TYPE_MAX] = {
	[EVENT_START] = { "START", tell_start },       [EVENT_OUTPUT] = { "STDOUT", tell_output },
	[EVENT_DENIED] = { "DENIED", tell_denied },    [EVENT_NETWORK] = { "NET", tell_network },
	[EVENT_FILE] = { "FILE", tell_file },          [EVENT_EXEC] = { "EXEC", tell_exec },
	[EVENT_METER] = { "METER", tell_meter },       [EVENT_LIMIT] = { "LIMIT", tell_limit },
	[EVENT_TERMINAL] = { "TERM", tell_terminal },  [EVENT_ALERT] = { "ALERT", tell_alert },
	[EVENT_ASK] = { "ASK", tell_ask },             [EVENT_ANSWER] = { "ANSWER", tell_answer },
	[EVENT_DROPPED] = { "DROP", tell_dropped },    [EVENT_CHANGED] = { "CHANGE", tell_changed },
	[EVENT_ERROR] = { "ERROR", tell_error },       [EVENT_EXIT] = { "EXIT", tell_exit },
	[EVENT_PROGRESS] = { "WAIT", tell_progress },  [EVENT_UNKNOWN] = { "OTHER", tell_unknown },
};
/* clang-format on */

/* What a layer did, for those who do not know it by its name. */
static const char *const layer_means[LAYER_MAX] = {
	[LAYER_NONE] = "",
	[LAYER_SECCOMP] = "the system-call filter",
	[LAYER_LANDLOCK] = "Landlock",
	[LAYER_MOUNT_NS] = "its own view of files",
	[LAYER_NET_NS] = "its own network, without a route",
	[LAYER_PID_NS] = "its own view of processes",
	[LAYER_USER_NS] = "its own user namespace",
	[LAYER_CAPABILITY] = "it has no such capability",
	[LAYER_CGROUP] = "its control group",
	[LAYER_RLIMIT] = "a resource limit",
	[LAYER_SUPERVISOR] = "the supervisor",
	[LAYER_RUNTIME] = "the container runtime",
	[LAYER_VM] = "the virtual machine",
};
/* An answer of ours, or a counter, needs no remark. */
static const char *const basis_means[BASIS_MAX] = {
	[BASIS_NONE] = "",
	[BASIS_ANSWERED] = "",
	[BASIS_COUNTER] = "",
	[BASIS_SAMPLED] = "sampled",
	[BASIS_PREDICTED] = "predicted",
	[BASIS_UNKNOWN] = "not known for certain",
};

static void put_common(const struct event *ev, struct buf *why)
{
	if ((unsigned) ev->layer < LAYER_MAX && *layer_means[ev->layer])
		buf_printf(why, "%s%s", why->len ? ": " : "", layer_means[ev->layer]);
	if ((unsigned) ev->basis < BASIS_MAX && *basis_means[ev->basis])
		buf_printf(why, "%s(%s)", why->len ? " " : "", basis_means[ev->basis]);
	if (ev->source == SOURCE_GUEST)
		buf_printf(why, "%s(the guest says so)", why->len ? " " : "");
	if (ev->extra)
		buf_printf(why, "%salso %s", why->len ? ", " : "", ev->extra);
}

/* Appends one part, scrubbed and cut. Returns its columns. */
static size_t put_part(const struct buf *raw, bool ascii, struct buf *out)
{
	size_t before = out->len, len = raw->len < TEXT_MAX ? raw->len : TEXT_MAX;
	FREE char *line = text_line(len ? raw->data : "", len, ascii);

	buf_str(out, line);
	if (len < raw->len)
		buf_printf(out, " (and %zu more bytes)", raw->len - len);
	return text_width(out->data + before, out->len - before);
}

static void put_columns(size_t have, size_t want, struct buf *out)
{
	buf_printf(out, "%*s", (have < want ? (int) (want - have) : 0) + 2, "");
}

void event_words(const struct event *ev, bool ascii, struct buf *out)
{
	unsigned type = (unsigned) ev->type < EVENT_TYPE_MAX ? ev->type : EVENT_UNKNOWN;
	struct words w = { .class = classes[type].class };
	const char *outcome = outcome_name(ev->outcome);

	classes[type].tell(ev, &w);
	put_common(ev, &w.why);
	buf_printf(out, "%-6s ", w.class);
	size_t columns = put_part(&w.what, ascii, out);
	if (*outcome) {
		put_columns(columns, WHAT_COLUMNS, out);
		buf_str(out, outcome);
		columns = strlen(outcome);
	}
	if (w.why.len) {
		put_columns(columns, *outcome ? OUTCOME_COLUMNS : WHAT_COLUMNS, out);
		(void) put_part(&w.why, ascii, out);
	}
	buf_done(&w.what);
	buf_done(&w.why);
}

void event_line(const struct event *ev, bool ascii, struct buf *out)
{
	uint64_t tenths = ev->t_ns / (NS_PER_S / 10);

	buf_printf(out, "%02" PRIu64 ":%02u.%u ", tenths / 600, (unsigned) (tenths / 10 % 60),
		   (unsigned) (tenths % 10));
	event_words(ev, ascii, out);
}

/* ---- lists ---- */

const struct list_kind list_kinds[LIST_MAX] = {
	[LIST_DENIED] = { "denied", EVENT_DENIED },
	[LIST_NETWORK] = { "network", EVENT_NETWORK },
	[LIST_FILES] = { "files", EVENT_FILE },
	[LIST_EXEC] = { "exec", EVENT_EXEC },
};

int list_of(const struct event *ev)
{
	enum event_type type = ev->type;

	if (type == EVENT_DROPPED)
		type = ev->dropped.what ? event_type_by_name(ev->dropped.what) : EVENT_UNKNOWN;
	for (int k = 0; k < LIST_MAX; k++)
		if (list_kinds[k].type == type)
			return k;
	return -1;
}

const char *list_state(const struct event *start, enum run_list list)
{
	for (size_t k = 0; k < start->start.list_count; k++)
		if (strcmp(start->start.lists[k].key, list_kinds[list].name) == 0)
			return start->start.lists[k].value;
	return NULL;
}

void list_empty_words(enum run_list list, const char *state, struct buf *out)
{
	buf_printf(out, "%s: %s", list_kinds[list].name, state ? state : "not known whether watched");
	if (state && strcmp(state, LIST_WATCHED) == 0)
		buf_str(out, ", none seen");
}
