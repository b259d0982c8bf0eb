/* SPDX-License-Identifier: MIT */
/*
 * Events as JSON: the round trip of every field, the documented example of each type, and lines that
 * nobody of ours wrote. What is written is read again by jansson, so that no test trusts the writer and
 * the reader to err alike.
 */
#include "fill_event.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "core/model/model.h"

static struct event *must_read(const char *line)
{
	struct event *ev = NULL;
	struct err e = { .code = 0 };

	if (event_from_json(line, strlen(line), &ev, &e) < 0)
		print_error("%s\n  of: %s\n", e.text, line);
	assert_non_null(ev);
	return ev;
}

static char *written(const struct event *ev)
{
	struct buf out = { .data = NULL };
	event_to_json(ev, &out);
	return buf_steal(&out);
}

static void test_every_type_goes_round(void **state)
{
	(void) state;
	for (unsigned type = 0; type < EVENT_UNKNOWN; type++) {
		struct fill s = { .n = type * 50 };
		struct event ev;
		fill_event(&s, type, &ev);
		char *line = written(&ev);
		assert_null(strchr(line, '\n'));
		struct event *back = must_read(line);
		assert_null(back->extra);
		same_events(&ev, back);
		event_free(back);
		free(line);
		fill_done(&s);
	}
}

/* One event of each type as the format is documented. */
static const char *const examples[] = {
	"{\"seq\":1,\"t\":0.0,\"type\":\"start\",\"source\":\"host\",\"argv\":[\"python3\",\"/workspace/"
	"main.py\"],"
	"\"preset\":\"namespaces\",\"backend\":\"namespaces\",\"limits\":[{\"name\":\"memory\",\"asked\":"
	"268435456,"
	"\"enforced\":268435456,\"grade\":\"kernel\",\"mechanism\":\"cgroup v2 "
	"memory.max\"}],\"layers\":[{\"name\":\"seccomp\","
	"\"state\":\"on\",\"detail\":\"312 allowed, 18 shown, rest ENOSYS\",\"verified\":\"Seccomp: 2 in "
	"/proc\"}]}",
	"{\"seq\":7,\"t\":0.021,\"type\":\"output\",\"stream\":\"stdout\",\"text\":\"hello\\n\"}",
	"{\"seq\":9,\"t\":0.034,\"type\":\"denied\",\"pid\":4,\"command\":\"python3\",\"call\":\"ptrace\","
	"\"args\":{\"request\":"
	"\"PTRACE_ATTACH\",\"pid\":1},\"errno\":\"EPERM\",\"rule\":\"default:debug\",\"outcome\":\"refused\","
	"\"layer\":"
	"\"seccomp\",\"basis\":\"answered\",\"count\":1}",
	"{\"seq\":12,\"t\":0.050,\"type\":\"network\",\"pid\":4,\"op\":\"connect\",\"family\":\"inet\","
	"\"protocol\":\"tcp\","
	"\"address\":\"169.254.169.254\",\"port\":80,\"outcome\":\"unreachable\",\"layer\":\"net-ns\","
	"\"basis\":\"predicted\"}",
	"{\"seq\":13,\"t\":0.051,\"type\":\"file\",\"pid\":4,\"op\":\"open\",\"path\":\"/root/.ssh/"
	"id_rsa\",\"flags\":"
	"[\"O_RDONLY\"],\"outcome\":\"hidden\",\"layer\":\"mount-ns\",\"basis\":\"predicted\"}",
	"{\"seq\":15,\"t\":0.060,\"type\":\"exec\",\"pid\":5,\"parent\":4,\"path\":\"/bin/"
	"sh\",\"argv\":[\"sh\",\"-c\",\"id\"]}",
	"{\"seq\":20,\"t\":0.100,\"type\":\"meter\",\"cpu_ns\":61000000,\"cpu_pct\":61.0,\"memory\":11534336,"
	"\"memory_peak\":"
	"12582912,\"processes\":3,\"processes_peak\":4,\"written\":4096,\"write_rate\":0,\"space\":4096,"
	"\"sources\":"
	"{\"memory\":\"cgroup\",\"memory_peak\":\"cgroup\",\"written\":\"/proc io\"}}",
	"{\"seq\":31,\"t\":0.800,\"type\":\"limit\",\"name\":\"memory\",\"value\":268435456,\"evidence\":"
	"\"oom_kill 1 in memory.events\",\"basis\":\"counter\"}",
	"{\"seq\":33,\"t\":0.801,\"type\":\"terminal\",\"kind\":\"clipboard\",\"bytes\":24,\"outcome\":"
	"\"removed\",\"layer\":"
	"\"supervisor\",\"basis\":\"answered\"}",
	"{\"seq\":34,\"t\":0.802,\"type\":\"alert\",\"kind\":\"canary\",\"detail\":\"planted credential seen "
	"in stdout\"}",
	"{\"seq\":35,\"t\":0.810,\"type\":\"ask\",\"id\":3,\"call\":\"ptrace\",\"deadline\":10.0}",
	"{\"seq\":35,\"t\":0.811,\"type\":\"ask\",\"id\":4,\"pid\":4,\"command\":\"python3\",\"call\":"
	"\"ptrace\","
	"\"args\":{\"request\":\"PTRACE_ATTACH\",\"pid\":1},\"rule\":\"default:debug\",\"deadline\":10.0,"
	"\"answers\":[\"deny\",\"once\",\"run\"]}",
	"{\"seq\":36,\"t\":2.1,\"type\":\"answer\",\"id\":3,\"decision\":\"deny\",\"by\":\"person\"}",
	"{\"seq\":37,\"t\":0.900,\"type\":\"dropped\",\"what\":\"file\",\"count\":812,\"why\":\"grouped\"}",
	"{\"seq\":38,\"t\":0.910,\"type\":\"changed\",\"op\":\"added\",\"path\":\"out/"
	"report.txt\",\"bytes\":17}",
	"{\"seq\":39,\"t\":0.920,\"type\":\"error\",\"text\":\"mkdir /x: Permission "
	"denied\",\"remedy\":\"chmod\"}",
	"{\"seq\":1,\"t\":0.010,\"type\":\"progress\",\"text\":\"starting the machine\"}",
	"{\"seq\":40,\"t\":0.950,\"type\":\"exit\",\"verdict\":\"memory\",\"status\":137,\"signal\":"
	"\"SIGKILL\",\"evidence\":"
	"\"limit 256 MiB, peak 256 MiB, oom_kill 1, at 0.8 "
	"s\",\"wall_s\":0.95,\"cpu_s\":0.7,\"memory_peak\":268435456,"
	"\"processes_peak\":4,\"written\":4096,\"space_peak\":4096,\"processes_left\":0,\"quiet_after_s\":0."
	"003}",
};

/* The writer always says where an event comes from, and counts calls that are grouped even when there was
 * one. */
static void add_what_is_always_written(json_t *example)
{
	const char *type = json_string_value(json_object_get(example, "type"));

	if (!json_object_get(example, "source"))
		json_object_set_new(example, "source", json_string("host"));
	if ((strcmp(type, "network") == 0 || strcmp(type, "file") == 0 || strcmp(type, "answer") == 0) &&
	    !json_object_get(example, "count"))
		json_object_set_new(example, "count", json_integer(1));
}

static void test_the_documented_examples(void **state)
{
	(void) state;
	unsigned seen = 0;
	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		json_error_t error;
		json_t *example = json_loads(examples[i], JSON_REJECT_DUPLICATES, &error);
		assert_non_null(example);
		struct event *ev = must_read(examples[i]);
		assert_null(ev->extra);
		assert_int_not_equal(ev->type, EVENT_UNKNOWN);
		seen |= 1u << ev->type;
		char *line = written(ev);
		json_t *again = json_loads(line, JSON_REJECT_DUPLICATES, &error);
		add_what_is_always_written(example);
		if (!json_equal(example, again))
			print_error("%s\n", line);
		assert_true(json_equal(example, again));
		json_decref(example);
		json_decref(again);
		event_free(ev);
		free(line);
	}
	assert_int_equal(seen, (1u << EVENT_UNKNOWN) - 1);
}

static void test_unknown_numbers_are_null(void **state)
{
	(void) state;
	struct event ev = { .type = EVENT_METER,
			    .seq = 1,
			    .meter = { .cpu_ns = UNKNOWN_U64,
				       .cpu_pct = UNKNOWN_F64,
				       .memory = UNKNOWN_U64,
				       .inodes = UNKNOWN_U64,
				       .memory_peak = (uint64_t) INT64_MAX + 1 } };
	char *line = written(&ev);
	assert_non_null(strstr(line, "\"cpu_ns\":null"));
	assert_non_null(strstr(line, "\"cpu_pct\":null"));
	assert_non_null(strstr(line, "\"memory\":null"));
	assert_non_null(strstr(line, "\"memory_peak\":null")); /* no reader of JSON could hold it */
	assert_non_null(strstr(line, "\"write_rate\":0"));
	struct event *back = must_read(line);
	assert_true(back->meter.cpu_ns == UNKNOWN_U64);
	assert_true(back->meter.cpu_pct == UNKNOWN_F64);
	assert_true(back->meter.inodes == UNKNOWN_U64);
	event_free(back);
	free(line);

	ev.meter.cpu_pct = (double) NAN;
	line = written(&ev);
	assert_non_null(strstr(line, "\"cpu_pct\":null"));
	free(line);
	ev.meter.cpu_pct = (double) INFINITY;
	line = written(&ev);
	assert_non_null(strstr(line, "\"cpu_pct\":null"));
	free(line);
}

static void test_missing_is_not_zero(void **state)
{
	(void) state;
	struct event *ev = must_read("{\"seq\":1,\"t\":1,\"type\":\"network\"}");
	assert_int_equal(ev->network.port, -1);
	assert_int_equal(ev->network.pid, -1);
	assert_int_equal(ev->network.count, 1);
	assert_null(ev->network.address);
	assert_int_equal(ev->t_ns, NS_PER_S);
	event_free(ev);
	ev = must_read(
		"{\"type\":\"exit\",\"verdict\":\"ok\",\"signal\":null,\"status\":null,\"t\":0.1,\"seq\":2}");
	assert_int_equal(ev->exit.status, -1);
	assert_true(ev->exit.memory_peak == UNKNOWN_U64);
	assert_true(ev->exit.wall_s == UNKNOWN_F64);
	assert_null(ev->exit.signal);
	event_free(ev);
}

static void test_times(void **state)
{
	(void) state;
	static const struct {
		uint64_t ns;
		const char *text;
	} rows[] = {
		{ 0, "\"t\":0.0," },
		{ 999, "\"t\":0.0," },
		{ 1000, "\"t\":0.000001," },
		{ 21000000, "\"t\":0.021," },
		{ 2100000000, "\"t\":2.1," },
		{ 10 * NS_PER_S, "\"t\":10.0," },
		{ 3600123456789, "\"t\":3600.123456," },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct event ev = { .type = EVENT_ALERT, .t_ns = rows[i].ns, .alert = { .kind = "canary" } };
		char *line = written(&ev);
		assert_non_null(strstr(line, rows[i].text));
		struct event *back = must_read(line);
		assert_int_equal(back->t_ns, rows[i].ns / 1000 * 1000);
		event_free(back);
		free(line);
	}
}

static void check_text(const char *bytes, size_t len, const char *expect)
{
	struct buf out = { .data = NULL };
	json_text(bytes, len, &out);
	assert_string_equal(out.data, expect);
	buf_done(&out);
}

static void test_text(void **state)
{
	(void) state;
	check_text("", 0, "\"\"");
	check_text("a\"\\\n\t\r\x01", 7, "\"a\\\"\\\\\\n\\t\\r\\u0001\"");
	check_text("a\0b", 3, "\"a\\u0000b\"");
	check_text("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
	/* what would act on a terminal: ESC, DEL, C1, bidi, zero width, byte-order mark, tags */
	check_text("\x1b[2J\x7f", 5, "\"\\u001b[2J\\u007f\"");
	check_text("\xc2\x9b"
		   "2J\xc2\xa0",
		   6, "\"\\u009b2J\xc2\xa0\"");
	check_text("\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8b\xef\xbb\xbf", 12,
		   "\"\\u202e\\u2066\\u200b\\ufeff\"");
	check_text("\xf3\xa0\x81\x81", 4, "\"\\udb40\\udc41\"");
	check_text("\xd8\x9c\xd8\x9d", 4, "\"\\u061c\xd8\x9d\"");
	/* not UTF-8: a lone byte, an overlong slash, a surrogate, a cut character */
	check_text("\xff", 1, "{\"base64\":\"/w==\"}");
	check_text("a\xc0\xaf", 3, "{\"base64\":\"YcCv\"}");
	check_text("\xed\xa0\x80z", 4, "{\"base64\":\"7aCAeg==\"}");
	check_text("ab\xe2\x82", 4, "{\"base64\":\"YWLigg==\"}");
}

/* Any bytes at all come back as they were, and what is written is JSON to a parser that is not ours. */
static void test_any_bytes_come_back(void **state)
{
	(void) state;
	static const char parts[] = "\xe2\x80\xae\xc2\x9b"
				    "a\xf3\xa0\x81\x81";
	uint32_t seed = 12345;
	for (unsigned round = 0; round < 2000; round++) {
		char bytes[48];
		size_t len = round % sizeof(bytes);
		for (size_t i = 0; i < len; i++) {
			seed = seed * 1664525 + 1013904223;
			/* half of the rounds stay in bytes that often make UTF-8 */
			bytes[i] =
				round % 2 ? (char) (seed >> 24) : parts[(seed >> 24) % (sizeof(parts) - 1)];
		}
		struct event ev = { .type = EVENT_OUTPUT, .output = { .bytes = bytes, .len = len } };
		char *line = written(&ev);
		for (const char *c = line; *c; c++)
			assert_true((unsigned char) *c >= 0x20 && *c != 0x7f);
		json_error_t error;
		json_t *parsed = json_loads(line, JSON_ALLOW_NUL, &error);
		assert_non_null(parsed);
		json_decref(parsed);
		struct event *back = must_read(line);
		assert_int_equal(back->output.len, len);
		assert_memory_equal(back->output.bytes, bytes, len);
		event_free(back);
		free(line);
	}
}

static void test_unknown_types_and_keys_are_kept(void **state)
{
	(void) state;
	struct event *ev = must_read("{ \"seq\":5, \"t\":0.5, \"type\":\"teleport\", "
				     "\"to\":[1,{\"x\":null}], \"name\":\"\xc3\xa9\" }");
	assert_int_equal(ev->type, EVENT_UNKNOWN);
	assert_int_equal(ev->seq, 5);
	assert_int_equal(ev->t_ns, NS_PER_S / 2);
	assert_string_equal(ev->unknown.type, "teleport");
	char *line = written(ev);
	assert_string_equal(
		line,
		"{\"seq\":5,\"t\":0.5,\"type\":\"teleport\",\"to\":[1,{\"x\":null}],\"name\":\"\\u00E9\"}");
	free(line);
	event_free(ev);

	ev = must_read("{\"seq\":5,\"t\":0.5,\"type\":\"limit\",\"name\":\"memory\",\"value\":7,\"colour\":"
		       "\"red\",\"more\":{\"a\":1}}");
	assert_int_equal(ev->type, EVENT_LIMIT);
	assert_int_equal(ev->limit.value, 7);
	assert_string_equal(ev->extra, "{\"colour\":\"red\",\"more\":{\"a\":1}}");
	line = written(ev);
	assert_string_equal(
		line,
		"{\"seq\":5,\"t\":0.5,\"type\":\"limit\",\"source\":\"host\",\"name\":\"memory\",\"value\":7,"
		"\"colour\":\"red\",\"more\":{\"a\":1}}");
	free(line);
	event_free(ev);

	/* a word that this version does not know: the event is kept, not misread */
	ev = must_read("{\"seq\":5,\"t\":0.5,\"type\":\"exit\",\"verdict\":\"vanished\"}");
	assert_int_equal(ev->type, EVENT_UNKNOWN);
	assert_string_equal(ev->unknown.type, "exit");
	event_free(ev);
	ev = must_read("{\"seq\":5,\"t\":0.5,\"type\":\"unknown\"}");
	assert_int_equal(ev->type, EVENT_UNKNOWN);
	event_free(ev);
}

#define HEAD "{\"seq\":1,\"t\":0,\"type\":"

static void test_hostile_lines_are_refused(void **state)
{
	(void) state;
	static const char *const lines[] = {
		"",
		" ",
		"null",
		"1",
		"[]",
		"[1]",
		"\"text\"",
		"{",
		"{}",
		"{}{}",
		"not json",
		"{\"seq\":1}",
		"{\"type\":\"alert\"}",
		"{\"seq\":1,\"type\":\"alert\",\"kind\":\"k\"}",
		"{\"t\":0,\"type\":\"alert\",\"kind\":\"k\"}",
		"{\"seq\":-1,\"t\":0,\"type\":\"alert\",\"kind\":\"k\"}",
		"{\"seq\":1.5,\"t\":0,\"type\":\"alert\",\"kind\":\"k\"}",
		"{\"seq\":\"1\",\"t\":0,\"type\":\"alert\",\"kind\":\"k\"}",
		"{\"seq\":9223372036854775808,\"t\":0,\"type\":\"alert\",\"kind\":\"k\"}",
		"{\"seq\":1,\"t\":-0.1,\"type\":\"alert\",\"kind\":\"k\"}",
		"{\"seq\":1,\"t\":1e300,\"type\":\"alert\",\"kind\":\"k\"}",
		"{\"seq\":1,\"t\":1e999,\"type\":\"alert\",\"kind\":\"k\"}",
		"{\"seq\":1,\"t\":NaN,\"type\":\"alert\",\"kind\":\"k\"}",
		"{\"seq\":1,\"t\":null,\"type\":\"alert\",\"kind\":\"k\"}",
		HEAD "7}",
		HEAD "null}",
		HEAD "\"alert\\u0000x\",\"kind\":\"k\"}",
		HEAD "\"alert\",\"type\":\"exit\",\"kind\":\"k\"}", /* a key twice */
		HEAD "\"alert\",\"kind\":\"k\",\"kind\":\"k\"}",
		HEAD "\"alert\"}", /* a key too few */
		HEAD "\"alert\",\"kind\":null}",
		HEAD "\"alert\",\"kind\":7}",
		HEAD "\"alert\",\"kind\":\"a\\u0000b\"}",         /* would look like "a" */
		HEAD "\"alert\",\"kind\":{\"base64\":\"AA==\"}}", /* the same, in disguise */
		HEAD "\"alert\",\"kind\":{\"base64\":\"AA=\"}}",
		HEAD "\"alert\",\"kind\":{\"base64\":\"A=A=\"}}",
		HEAD "\"alert\",\"kind\":{\"base64\":\"!!!!\"}}",
		HEAD "\"alert\",\"kind\":{\"base64\":\"QUJD\",\"x\":1}}",
		HEAD "\"alert\",\"kind\":{}}",
		HEAD "\"alert\",\"kind\":\"\xff\"}",
		HEAD "\"alert\",\"kind\":\"k\"} trailing",
		HEAD "\"output\",\"stream\":\"stdout\"}",
		HEAD "\"output\",\"stream\":1,\"text\":\"x\"}",
		HEAD "\"meter\",\"memory\":-1}",
		HEAD "\"meter\",\"memory\":18446744073709551616}",
		HEAD "\"meter\",\"memory\":1.0}",
		HEAD "\"meter\",\"cpu_pct\":-3.0}",
		HEAD "\"meter\",\"cpu_pct\":\"61\"}",
		HEAD "\"meter\",\"sources\":{\"memory\":7}}",
		HEAD "\"meter\",\"sources\":{\"m\xc3\xa9mory\":\"x\"}}",
		HEAD "\"meter\",\"sources\":[]}",
		HEAD "\"denied\",\"call\":\"c\",\"args\":{\"a\":1.5}}",
		HEAD "\"denied\",\"call\":\"c\",\"args\":{\"a\":null}}",
		HEAD "\"denied\",\"call\":\"c\",\"args\":{\"a\":[]}}",
		HEAD "\"denied\",\"call\":\"c\",\"args\":{\"a\":1,\"a\":2}}",
		HEAD "\"network\",\"port\":-1}",
		HEAD "\"exec\",\"argv\":{\"0\":\"sh\"}}",
		HEAD "\"exec\",\"argv\":[null]}",
		HEAD "\"exec\",\"argv\":[\"sh\",[\"x\"]]}",
		HEAD "\"start\",\"limits\":[{}]}",
		HEAD "\"start\",\"limits\":[7]}",
		HEAD "\"start\",\"limits\":[null]}",
		HEAD "\"start\",\"layers\":[{\"name\":\"x\",\"state\":7}]}",
		HEAD "\"exit\"}",
	};
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct event *ev = NULL;
		struct err e = { .code = 0 };
		int r = event_from_json(lines[i], strlen(lines[i]), &ev, &e);
		if (r != -EINVAL)
			print_error("taken: %s\n", lines[i]);
		assert_int_equal(r, -EINVAL);
		assert_int_equal(e.code, EINVAL);
		for (const char *c = e.text; *c; c++) /* nothing of the line is quoted */
			assert_true(*c >= 0x20 && *c < 0x7f);
		assert_null(ev);
	}
}

static void check_refused(struct buf *line)
{
	struct event *ev = NULL;
	struct err e;
	assert_int_equal(event_from_json(line->data, line->len, &ev, &e), -EINVAL);
	buf_done(line);
}

static void test_depth_and_size_are_bounded(void **state)
{
	(void) state;
	struct buf deep = { .data = NULL }, wide = { .data = NULL }, many = { .data = NULL },
		   large = { .data = NULL };

	buf_str(&deep, HEAD "\"x\",\"y\":");
	for (int i = 0; i < 100000; i++)
		buf_str(&deep, "[");
	check_refused(&deep);

	buf_str(&wide, HEAD "\"x\",\"y\":[0");
	for (int i = 0; i < 300000; i++)
		buf_str(&wide, ",0");
	buf_str(&wide, "]}");
	check_refused(&wide);

	buf_str(&many, HEAD "\"exec\",\"argv\":[\"\"");
	for (int i = 0; i < FIELD_STRS_MAX; i++)
		buf_str(&many, ",\"\"");
	buf_str(&many, "]}");
	check_refused(&many);

	buf_str(&large, HEAD "\"alert\",\"kind\":\"");
	for (int i = 0; i < 1 << 17; i++)
		buf_str(&large, "0123456789");
	buf_str(&large, "\"}");
	check_refused(&large);
}

/* Brackets and commas inside text do not count, quotes behind a backslash do not end it. */
static void test_text_is_not_structure(void **state)
{
	(void) state;
	struct buf line = { .data = NULL };
	buf_str(&line, HEAD "\"alert\",\"kind\":\"\\\"");
	for (int i = 0; i < 100000; i++)
		buf_str(&line, "[,");
	buf_str(&line, "\"}");
	struct event *ev = must_read(line.data);
	assert_int_equal(strlen(ev->alert.kind), 200001);
	event_free(ev);
	buf_done(&line);
}

/* Every prefix and every changed byte of each example: refused, or an event that can be written and read
 * again. */
static void check_damaged(const char *line, size_t len)
{
	struct event *ev = NULL, *back = NULL;
	struct err e;

	if (event_from_json(line, len, &ev, &e) < 0)
		return;
	char *text = written(ev);
	assert_int_equal(event_from_json(text, strlen(text), &back, &e), 0);
	assert_int_equal(back->type, ev->type);
	if (ev->type != EVENT_UNKNOWN)
		same_events(ev, back);
	event_free(back);
	event_free(ev);
	free(text);
}

static void test_damaged_examples(void **state)
{
	(void) state;
	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		size_t len = strlen(examples[i]);
		for (size_t at = 0; at < len; at++) {
			char *copy = xmalloc(len);
			memcpy(copy, examples[i], len);
			copy[at] ^= 0x01;
			check_damaged(copy, len);
			copy[at] ^= 0x81;
			check_damaged(copy, len);
			copy[at] = examples[i][at];
			struct event *ev;
			struct err e;
			assert_int_equal(event_from_json(copy, at, &ev, &e), -EINVAL);
			free(copy);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type_goes_round),
		cmocka_unit_test(test_the_documented_examples),
		cmocka_unit_test(test_unknown_numbers_are_null),
		cmocka_unit_test(test_missing_is_not_zero),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_any_bytes_come_back),
		cmocka_unit_test(test_unknown_types_and_keys_are_kept),
		cmocka_unit_test(test_hostile_lines_are_refused),
		cmocka_unit_test(test_depth_and_size_are_bounded),
		cmocka_unit_test(test_text_is_not_structure),
		cmocka_unit_test(test_damaged_examples),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
