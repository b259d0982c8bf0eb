/* SPDX-License-Identifier: MIT */
/*
 * What events are made of: the words for every enum, and the one table that describes the fields of each
 * type. Wire, JSON and tests walk the table, so a field that is missing somewhere cannot exist.
 */
#include "core/model/event_table.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

/* clang-format off */
static const char *const type_names[EVENT_TYPE_MAX] = {
	[EVENT_START] = "start",       [EVENT_OUTPUT] = "output",   [EVENT_DENIED] = "denied",
	[EVENT_NETWORK] = "network",   [EVENT_FILE] = "file",       [EVENT_EXEC] = "exec",
	[EVENT_METER] = "meter",       [EVENT_LIMIT] = "limit",     [EVENT_TERMINAL] = "terminal",
	[EVENT_ALERT] = "alert",       [EVENT_ASK] = "ask",         [EVENT_ANSWER] = "answer",
	[EVENT_DROPPED] = "dropped",   [EVENT_CHANGED] = "changed", [EVENT_ERROR] = "error",
	[EVENT_PROGRESS] = "progress", [EVENT_EXIT] = "exit",       [EVENT_UNKNOWN] = "unknown",
};
static const char *const source_names[] = { [SOURCE_HOST] = "host", [SOURCE_GUEST] = "guest" };
static const char *const outcome_names[OUTCOME_MAX] = {
	[OUTCOME_NONE] = "",
	[OUTCOME_ALLOWED] = "allowed",
	[OUTCOME_REFUSED] = "refused",
	[OUTCOME_UNREACHABLE] = "unreachable",
	[OUTCOME_HIDDEN] = "hidden",
	[OUTCOME_READ_ONLY] = "read-only",
	[OUTCOME_ABSENT] = "absent",
	[OUTCOME_OPENED] = "opened",
	[OUTCOME_FAILED] = "failed",
	[OUTCOME_REMOVED] = "removed",
	[OUTCOME_UNKNOWN] = "unknown",
};
static const char *const layer_names[LAYER_MAX] = {
	[LAYER_NONE] = "",
	[LAYER_SECCOMP] = "seccomp",
	[LAYER_LANDLOCK] = "landlock",
	[LAYER_MOUNT_NS] = "mount-ns",
	[LAYER_NET_NS] = "net-ns",
	[LAYER_PID_NS] = "pid-ns",
	[LAYER_USER_NS] = "user-ns",
	[LAYER_CAPABILITY] = "capability",
	[LAYER_CGROUP] = "cgroup",
	[LAYER_RLIMIT] = "rlimit",
	[LAYER_SUPERVISOR] = "supervisor",
	[LAYER_RUNTIME] = "runtime",
	[LAYER_VM] = "vm",
};
static const char *const basis_names[BASIS_MAX] = {
	[BASIS_NONE] = "",
	[BASIS_ANSWERED] = "answered",
	[BASIS_COUNTER] = "counter",
	[BASIS_SAMPLED] = "sampled",
	[BASIS_PREDICTED] = "predicted",
	[BASIS_UNKNOWN] = "unknown",
};
static const char *const verdict_names[VERDICT_MAX] = {
	[VERDICT_NONE] = "",
	[VERDICT_OK] = "ok",
	[VERDICT_FAILED] = "failed",
	[VERDICT_SIGNALLED] = "signalled",
	[VERDICT_WALL_TIME] = "wall-time",
	[VERDICT_CPU_TIME] = "cpu-time",
	[VERDICT_MEMORY] = "memory",
	[VERDICT_PROCESSES] = "processes",
	[VERDICT_WRITE_SPACE] = "write-space",
	[VERDICT_OUTPUT] = "output",
	[VERDICT_POLICY] = "policy",
	[VERDICT_CANCELLED] = "cancelled",
	[VERDICT_LOST] = "lost",
	[VERDICT_SETUP_ERROR] = "setup-error",
};
static const char *const grade_names[GRADE_MAX] = {
	[GRADE_NONE] = "none", [GRADE_SAMPLED] = "sampled", [GRADE_SUPERVISOR] = "supervisor", [GRADE_KERNEL] = "kernel",
};
static const char *const stream_names[STREAM_MAX] = { [STREAM_STDOUT] = "stdout", [STREAM_STDERR] = "stderr" };
static const char *const layer_state_names[STATE_MAX] = {
	[STATE_OFF] = "off", [STATE_ON] = "on", [STATE_PARTIAL] = "partial", [STATE_UNAVAILABLE] = "unavailable",
};
/* clang-format on */

#define WORDS(array)                                        \
	{                                                   \
		.names = (array), .count = ARRAY_LEN(array) \
	}
static const struct field_words type_words = WORDS(type_names);
static const struct field_words event_source_words = WORDS(source_names);
static const struct field_words outcome_words = WORDS(outcome_names);
static const struct field_words layer_words = WORDS(layer_names);
static const struct field_words basis_words = WORDS(basis_names);
static const struct field_words verdict_words = WORDS(verdict_names);
static const struct field_words grade_words = WORDS(grade_names);
static const struct field_words stream_words = WORDS(stream_names);
static const struct field_words layer_state_words = WORDS(layer_state_names);

static const char *word_name(const struct field_words *words, unsigned value)
{
	return value < words->count ? words->names[value] : "";
}

const char *event_type_name(enum event_type t)
{
	return word_name(&type_words, t);
}

const char *outcome_name(enum outcome o)
{
	return word_name(&outcome_words, o);
}

const char *layer_name(enum layer l)
{
	return word_name(&layer_words, l);
}

const char *basis_name(enum basis b)
{
	return word_name(&basis_words, b);
}

const char *verdict_name(enum verdict v)
{
	return word_name(&verdict_words, v);
}

const char *grade_name(enum grade g)
{
	return word_name(&grade_words, g);
}

const char *stream_name(enum stream s)
{
	return word_name(&stream_words, s);
}

const char *layer_state_name(enum layer_state s)
{
	return word_name(&layer_state_words, s);
}

int word_find(const struct field_words *words, const char *name)
{
	for (unsigned i = 0; i < words->count; i++)
		if (*words->names[i] && strcmp(words->names[i], name) == 0)
			return (int) i;
	return -1;
}

enum event_type event_type_by_name(const char *name)
{
	int found = word_find(&type_words, name);
	return found < 0 ? EVENT_UNKNOWN : (enum event_type) found;
}

/*
 * The table. AT gives the offset of a member, and does not compile where the member has another C type
 * than the kind of its row reads and writes: a table of offsets is otherwise the place where a wrong width
 * hides.
 */
/* clang-format off */
#define AT(s, m, ctype) \
	(offsetof(s, m) + 0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((s *) 0)->m), ctype) ? 1 : -1]))

#define ROW_U64(s, n, m, f) { .name = n, .kind = FIELD_U64, .flags = f, .offset = AT(s, m, uint64_t) }
#define ROW_I64(s, n, m, f) { .name = n, .kind = FIELD_I64, .flags = f, .offset = AT(s, m, int64_t) }
#define ROW_STR(s, n, m, f) { .name = n, .kind = FIELD_STR, .flags = f, .offset = AT(s, m, const char *) }
#define ROW_WORD(s, n, m, e, f) \
	{ .name = n, .kind = FIELD_WORD, .flags = f, .offset = AT(s, m, enum e), .words = &e##_words }
#define ROW_MANY(k, n, m, ctype, c, i) \
	{ .name = n, .kind = k, .offset = AT(struct event, m, ctype), .items = i, \
	  .count_offset = AT(struct event, c, size_t) }

#define U64(n, m, f) ROW_U64(struct event, n, m, f)
#define I64(n, m, f) ROW_I64(struct event, n, m, f)
#define F64(n, m, f) { .name = n, .kind = FIELD_F64, .flags = f, .offset = AT(struct event, m, double) }
#define STR(n, m, f) ROW_STR(struct event, n, m, f)
#define WORD(n, m, e, f) ROW_WORD(struct event, n, m, e, f)
#define STRS(n, m, c) ROW_MANY(FIELD_STRS, n, m, const char *const *, c, NULL)
#define LIST(n, m, item, c, i) ROW_MANY(FIELD_LIST, n, m, const struct item *, c, i)
#define MAP(n, m, item, c, i) ROW_MANY(FIELD_MAP, n, m, const struct item *, c, i)
#define END { .name = NULL }
#define REQUIRED FIELD_REQUIRED
#define ALWAYS FIELD_ALWAYS
#define COUNT (FIELD_ALWAYS | FIELD_ONE)

static const struct event_field limit_fields_of_one[] = {
	ROW_STR(struct event_limit, "name", name, REQUIRED),
	ROW_U64(struct event_limit, "asked", asked, ALWAYS),
	ROW_U64(struct event_limit, "enforced", enforced, ALWAYS),
	ROW_WORD(struct event_limit, "grade", grade, grade, REQUIRED),
	ROW_STR(struct event_limit, "mechanism", mechanism, 0),
	END,
};
static const struct event_field layer_fields_of_one[] = {
	ROW_STR(struct event_layer, "name", name, REQUIRED),
	ROW_WORD(struct event_layer, "state", state, layer_state, REQUIRED),
	ROW_STR(struct event_layer, "detail", detail, 0),
	ROW_STR(struct event_layer, "verified", verified, 0),
	END,
};
static const struct event_field arg_fields[] = {
	ROW_STR(struct event_arg, "key", key, REQUIRED),
	ROW_STR(struct event_arg, "text", text, 0),
	ROW_I64(struct event_arg, "number", number, 0),
	END,
};
static const struct event_field pair_fields[] = {
	ROW_STR(struct event_pair, "key", key, REQUIRED),
	ROW_STR(struct event_pair, "value", value, REQUIRED),
	END,
};
static const struct field_items limit_items = { limit_fields_of_one, sizeof(struct event_limit), 64 };
static const struct field_items layer_items = { layer_fields_of_one, sizeof(struct event_layer), 64 };
static const struct field_items arg_items = { arg_fields, sizeof(struct event_arg), 16 };
static const struct field_items pair_items = { pair_fields, sizeof(struct event_pair), 32 };

const struct event_field event_common[] = {
	WORD("source", source, event_source, 0),
	WORD("outcome", outcome, outcome, 0),
	WORD("layer", layer, layer, 0),
	WORD("basis", basis, basis, 0),
	END,
};

static const struct event_field start_fields[] = {
	STRS("argv", start.argv, start.argv_count),
	STR("preset", start.preset, 0),
	STR("backend", start.backend, 0),
	STR("language", start.language, 0),
	STR("title", start.title, 0),
	STR("recording", start.recording, 0),
	LIST("limits", start.limits, event_limit, start.limit_count, &limit_items),
	LIST("layers", start.layers, event_layer, start.layer_count, &layer_items),
	MAP("lists", start.lists, event_pair, start.list_count, &pair_items),
	END,
};
static const struct event_field output_fields[] = {
	WORD("stream", output.stream, stream, REQUIRED),
	{ .name = "text", .kind = FIELD_BYTES, .flags = REQUIRED,
	  .offset = AT(struct event, output.bytes, const char *), .count_offset = AT(struct event, output.len, size_t) },
	END,
};
static const struct event_field denied_fields[] = {
	I64("pid", denied.pid, 0),
	STR("command", denied.command, 0),
	STR("call", denied.call, REQUIRED),
	MAP("args", denied.args, event_arg, denied.arg_count, &arg_items),
	STR("errno", denied.error, 0),
	STR("rule", denied.rule, 0),
	U64("count", denied.count, COUNT),
	END,
};
static const struct event_field network_fields[] = {
	I64("pid", network.pid, 0),
	STR("command", network.command, 0),
	STR("op", network.op, 0),
	STR("family", network.family, 0),
	STR("protocol", network.protocol, 0),
	STR("address", network.address, 0),
	I64("port", network.port, 0),
	U64("count", network.count, COUNT),
	END,
};
static const struct event_field file_fields[] = {
	I64("pid", file.pid, 0),
	STR("command", file.command, 0),
	STR("op", file.op, 0),
	STR("path", file.path, 0),
	STRS("flags", file.flags, file.flag_count),
	U64("count", file.count, COUNT),
	END,
};
static const struct event_field exec_fields[] = {
	I64("pid", exec.pid, 0),
	I64("parent", exec.parent, 0),
	STR("path", exec.path, 0),
	STRS("argv", exec.argv, exec.argv_count),
	END,
};
static const struct event_field meter_fields[] = {
	U64("cpu_ns", meter.cpu_ns, ALWAYS),
	F64("cpu_pct", meter.cpu_pct, ALWAYS),
	U64("memory", meter.memory, ALWAYS),
	U64("memory_peak", meter.memory_peak, ALWAYS),
	U64("processes", meter.processes, ALWAYS),
	U64("processes_peak", meter.processes_peak, ALWAYS),
	U64("written", meter.written, ALWAYS),
	U64("write_rate", meter.write_rate, ALWAYS),
	U64("space", meter.space, ALWAYS),
	U64("inodes", meter.inodes, 0),
	U64("host_cpu_ns", meter.host_cpu_ns, 0),
	U64("host_memory", meter.host_memory, 0),
	MAP("sources", meter.sources, event_pair, meter.source_count, &pair_items),
	END,
};
static const struct event_field limit_fields[] = {
	STR("name", limit.name, REQUIRED),
	U64("value", limit.value, ALWAYS),
	STR("evidence", limit.evidence, 0),
	END,
};
static const struct event_field terminal_fields[] = {
	STR("kind", terminal.kind, REQUIRED),
	U64("bytes", terminal.bytes, ALWAYS),
	END,
};
static const struct event_field alert_fields[] = {
	STR("kind", alert.kind, REQUIRED),
	STR("detail", alert.detail, 0),
	END,
};
static const struct event_field ask_fields[] = {
	U64("id", ask.id, REQUIRED),
	I64("pid", ask.pid, 0),
	STR("command", ask.command, 0),
	STR("call", ask.call, 0),
	MAP("args", ask.args, event_arg, ask.arg_count, &arg_items),
	STR("rule", ask.rule, 0),
	F64("deadline", ask.deadline_s, ALWAYS),
	STRS("answers", ask.answers, ask.answer_count),
	END,
};
static const struct event_field answer_fields[] = {
	U64("id", answer.id, REQUIRED),
	STR("decision", answer.decision, 0),
	STR("by", answer.by, 0),
	U64("count", answer.count, COUNT),
	END,
};
static const struct event_field dropped_fields[] = {
	STR("what", dropped.what, 0),
	U64("count", dropped.count, ALWAYS),
	STR("why", dropped.why, 0),
	END,
};
static const struct event_field changed_fields[] = {
	STR("op", changed.op, 0),
	STR("path", changed.path, 0),
	U64("bytes", changed.bytes, ALWAYS),
	END,
};
static const struct event_field error_fields[] = {
	STR("text", error.text, REQUIRED),
	STR("remedy", error.remedy, 0),
	END,
};
static const struct event_field progress_fields[] = {
	STR("text", progress.text, REQUIRED),
	END,
};
static const struct event_field exit_fields[] = {
	WORD("verdict", exit.verdict, verdict, REQUIRED),
	I64("status", exit.status, ALWAYS),
	STR("signal", exit.signal, ALWAYS),
	STR("evidence", exit.evidence, 0),
	F64("wall_s", exit.wall_s, ALWAYS),
	F64("cpu_s", exit.cpu_s, ALWAYS),
	U64("memory_peak", exit.memory_peak, ALWAYS),
	U64("processes_peak", exit.processes_peak, ALWAYS),
	U64("written", exit.written, ALWAYS),
	U64("space_peak", exit.space_peak, ALWAYS),
	U64("stdout_dropped", exit.stdout_dropped, 0),
	U64("stderr_dropped", exit.stderr_dropped, 0),
	U64("processes_left", exit.processes_left, ALWAYS),
	F64("quiet_after_s", exit.quiet_after_s, ALWAYS),
	STRS("limits_met", exit.limits_met, exit.limits_met_count),
	END,
};

static const struct event_field *const fields_of[EVENT_TYPE_MAX] = {
	[EVENT_START] = start_fields,       [EVENT_OUTPUT] = output_fields, [EVENT_DENIED] = denied_fields,
	[EVENT_NETWORK] = network_fields,   [EVENT_FILE] = file_fields,     [EVENT_EXEC] = exec_fields,
	[EVENT_METER] = meter_fields,       [EVENT_LIMIT] = limit_fields,   [EVENT_TERMINAL] = terminal_fields,
	[EVENT_ALERT] = alert_fields,       [EVENT_ASK] = ask_fields,       [EVENT_ANSWER] = answer_fields,
	[EVENT_DROPPED] = dropped_fields,   [EVENT_CHANGED] = changed_fields, [EVENT_ERROR] = error_fields,
	[EVENT_PROGRESS] = progress_fields, [EVENT_EXIT] = exit_fields,
};
/* clang-format on */

const struct event_field *event_fields(enum event_type type)
{
	return (unsigned) type < EVENT_TYPE_MAX ? fields_of[type] : NULL;
}

#define BLOCK_ALIGN _Alignof(struct event)

void block_begin(struct event_block *b)
{
	b->used = sizeof(struct event);
}

struct event *block_make(struct event_block *b)
{
	b->base = xmalloc(b->used);
	block_begin(b);
	return (struct event *) (void *) b->base;
}

void *block_take(struct event_block *b, size_t size)
{
	size_t at = (b->used + BLOCK_ALIGN - 1) & ~(BLOCK_ALIGN - 1);
	b->used = at + size;
	return b->base ? b->base + at : NULL;
}

char *block_space(struct event_block *b, size_t size)
{
	size_t at = b->used;
	b->used = at + size;
	return b->base ? b->base + at : NULL;
}

const char *block_text(struct event_block *b, const char *text, size_t len)
{
	char *space = block_space(b, len + 1);
	if (!space)
		return NULL;
	if (len)
		memcpy(space, text, len);
	space[len] = '\0';
	return space;
}

static const char *map_key(const void *items, size_t i, const struct field_items *kind)
{
	const void *item = (const char *) items + i * kind->size;
	return *(const char *const *) field_cptr(item, &kind->fields[0]);
}

bool map_check(const void *items, size_t count, const struct field_items *kind)
{
	for (size_t i = 0; i < count; i++) {
		const char *key = map_key(items, i, kind);
		for (const char *c = key; *c; c++)
			if (*c < 0x20 || *c > 0x7e || *c == '"' || *c == '\\')
				return false;
		for (size_t before = 0; before < i; before++)
			if (strcmp(key, map_key(items, before, kind)) == 0)
				return false;
	}
	return true;
}

struct event *event_free(struct event *ev)
{
	free(ev); /* one block holds all of it */
	return NULL;
}

/* 128 + n of "SIGKILL", as the shell has it; 125 for a word that is no signal. */
static int status_of_signal(const char *signal)
{
	for (int n = 1; signal && str_starts(signal, "SIG") && n < NSIG; n++) {
		const char *name = sigabbrev_np(n);
		if (name && strcmp(name, signal + 3) == 0)
			return 128 + n;
	}
	return 125;
}

/* The statuses follow timeout(1) and the shell; what a program chose to return itself is handed on. */
int verdict_status(const struct event *exit_event)
{
	int64_t own = exit_event->exit.status;
	int own_status = own >= 0 && own <= 255 ? (int) own : 125;

	switch (exit_event->exit.verdict) {
	case VERDICT_OK:
	case VERDICT_FAILED:
	case VERDICT_PROCESSES:
	case VERDICT_WRITE_SPACE:
		return own_status;
	case VERDICT_SIGNALLED:
		return own > 128 ? own_status : status_of_signal(exit_event->exit.signal);
	case VERDICT_MEMORY: /* the target's own where it ended itself after an allocation was refused */
		return own > 0 && !exit_event->exit.signal ? own_status : 137;
	case VERDICT_WALL_TIME:
	case VERDICT_CPU_TIME:
		return 124;
	case VERDICT_OUTPUT:
		return 137;
	case VERDICT_POLICY:
		return 159;
	case VERDICT_CANCELLED:
		return 130;
	case VERDICT_SETUP_ERROR:
		return own == 126 || own == 127 ? own_status : 125;
	default:
		return 125;
	}
}
