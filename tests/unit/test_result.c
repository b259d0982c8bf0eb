/* SPDX-License-Identifier: MIT */
/*
 * The object of --json and the line with the verdict, from events as a supervisor sends them: every promised key, null
 * for what is not known, bounds under a flood, and text that is not UTF-8.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/result.h"
#include "tui/verdict.h"

/* Hands over a copy that owns itself, as run_next() does. */
static void take(struct result *r, const struct event *ev)
{
	static char frame[WIRE_FRAME_MAX];
	struct event *owned;
	struct err e;
	ssize_t len = event_encode(ev, frame, sizeof frame);

	assert_true(len > 0);
	assert_int_equal(event_decode(frame, (size_t) len, &owned, &e), 0);
	result_take(r, owned);
}

static json_t *object_of(const struct result *r)
{
	struct buf out = { 0 };
	json_error_t error;

	result_to_json(r, &out);
	assert_int_equal(out.data[out.len - 1], '\n');
	assert_ptr_equal(memchr(out.data, '\n', out.len), out.data + out.len - 1);
	json_t *o = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	if (!o)
		fail_msg("%s: %s", error.text, out.data);
	buf_done(&out);
	return o;
}

static void output(struct result *r, enum stream stream, const void *bytes, size_t len)
{
	take(r, &(struct event){ .seq = 2,
				 .type = EVENT_OUTPUT,
				 .output = { .stream = stream, .bytes = bytes, .len = len } });
}

static struct event exit_event(enum verdict verdict, int64_t status)
{
	return (struct event){ .seq = 99,
			       .t_ns = NS_PER_S,
			       .type = EVENT_EXIT,
			       .exit = { .verdict = verdict,
					 .status = status,
					 .evidence = "wait status",
					 .wall_s = 0.25,
					 .cpu_s = 0.125,
					 .memory_peak = 11 << 20,
					 .processes_peak = 3,
					 .written = 4096,
					 .space_peak = UNKNOWN_U64,
					 .quiet_after_s = 0.003 } };
}

static const char *text_at(json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static long long number_at(json_t *o, const char *key)
{
	assert_true(json_is_integer(json_object_get(o, key)));
	return json_integer_value(json_object_get(o, key));
}

static const char *const keys[] = {
	"verdict",        "status",         "signal",         "evidence",  "stdout",  "stderr",
	"alerts",         "stdout_dropped", "stderr_dropped", "wall_s",    "cpu_s",   "memory_peak",
	"processes_peak", "written",        "space_peak",     "denied",    "network", "files",
	"exec",           "limits",         "limits_met",     "layers",    "preset",  "backend",
	"language",       "code_sha256",    "processes_left", "recording", "lists",
};

static void has_every_key_and_no_other(void **state)
{
	(void) state;
	struct result *r = result_new(NULL);
	json_t *o = object_of(r);

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (!json_object_get(o, keys[i]))
			fail_msg("no key %s", keys[i]);
	assert_int_equal(json_object_size(o), ARRAY_LEN(keys));
	json_decref(o);
	(void) result_free(r);
}

static void tells_a_whole_run(void **state)
{
	(void) state;
	static const struct event_limit limits[] = {
		{ "memory", 256 << 20, 256 << 20, GRADE_KERNEL, "cgroup v2 memory.max" },
		{ "processes", UNLIMITED, UNKNOWN_U64, GRADE_NONE, NULL },
	};
	static const struct event_layer layers[] = { { "seccomp", STATE_ON, "312 allowed",
						       "Seccomp: 2 in /proc" } };
	static const struct event_pair states[] = { { "denied", LIST_WATCHED },
						    { "files", "not watched, by files = off" } };
	static const char *const met[] = { "memory" };
	struct result *r = result_new(NULL);
	struct event end = exit_event(VERDICT_FAILED, 3);

	take(r, &(struct event){ .seq = 1,
				 .type = EVENT_START,
				 .start = { .preset = "namespaces",
					    .backend = "namespaces",
					    .language = "python",
					    .recording = "/r.jsonl",
					    .limits = limits,
					    .limit_count = 2,
					    .layers = layers,
					    .layer_count = 1,
					    .lists = states,
					    .list_count = ARRAY_LEN(states) } });
	output(r, STREAM_STDOUT, "one\n", 4);
	output(r, STREAM_STDERR, "bad", 3);
	output(r, STREAM_STDOUT, "t\0o\n", 4);
	end.exit.limits_met = met;
	end.exit.limits_met_count = 1;
	take(r, &end);

	json_t *o = object_of(r);
	assert_string_equal(text_at(o, "verdict"), "failed");
	assert_int_equal(number_at(o, "status"), 3);
	assert_true(json_is_null(json_object_get(o, "signal")));
	assert_string_equal(text_at(o, "evidence"), "wait status");
	assert_int_equal(json_string_length(json_object_get(o, "stdout")), 8);
	assert_memory_equal(text_at(o, "stdout"), "one\nt\0o\n", 8);
	assert_string_equal(text_at(o, "stderr"), "bad");
	assert_true(json_real_value(json_object_get(o, "wall_s")) == 0.25);
	assert_int_equal(number_at(o, "memory_peak"), 11 << 20);
	assert_true(json_is_null(json_object_get(o, "space_peak")));
	assert_string_equal(text_at(o, "preset"), "namespaces");
	assert_string_equal(text_at(o, "recording"), "/r.jsonl");
	json_t *limit = json_array_get(json_object_get(o, "limits"), 0);
	assert_int_equal(number_at(limit, "asked"), 256 << 20);
	assert_string_equal(text_at(limit, "grade"), "kernel");
	limit = json_array_get(json_object_get(o, "limits"), 1);
	assert_true(json_is_null(json_object_get(limit, "asked")));
	assert_string_equal(text_at(limit, "grade"), "none");
	assert_string_equal(text_at(json_array_get(json_object_get(o, "layers"), 0), "state"), "on");
	assert_string_equal(json_string_value(json_array_get(json_object_get(o, "limits_met"), 0)), "memory");
	json_t *lists = json_object_get(o, "lists");
	assert_string_equal(text_at(lists, "denied"), "watched");
	assert_string_equal(text_at(lists, "files"), "not watched, by files = off");
	assert_true(json_is_null(json_object_get(lists, "exec")));
	json_decref(o);
	(void) result_free(r);
}

static struct event denied(uint64_t seq, int64_t pid, const char *call, uint64_t count)
{
	return (struct event){ .seq = seq,
			       .t_ns = seq * NS_PER_MS,
			       .type = EVENT_DENIED,
			       .outcome = OUTCOME_REFUSED,
			       .layer = LAYER_SECCOMP,
			       .basis = BASIS_ANSWERED,
			       .denied = { .pid = pid,
					   .command = "x",
					   .call = call,
					   .error = "EPERM",
					   .rule = "default:debug",
					   .count = count } };
}

static void groups_what_is_alike(void **state)
{
	(void) state;
	struct result *r = result_new(NULL);
	static const char *const argv[] = { "sh", "-c", "id" };
	struct event a = denied(5, 4, "ptrace", 1), b = denied(6, 9, "ptrace", 7), c = denied(7, 4, "bpf", 1);
	struct event run = {
		.seq = 8,
		.type = EVENT_EXEC,
		.exec = { .pid = 5, .parent = 4, .path = "/bin/sh", .argv = argv, .argv_count = 3 }
	};

	take(r, &a);
	take(r, &b);
	take(r, &c);
	take(r, &run);
	run.seq = 9;
	run.exec.pid = 6;
	take(r, &run);

	json_t *o = object_of(r), *list = json_object_get(o, "denied");
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(text_at(json_array_get(list, 0), "call"), "ptrace");
	assert_int_equal(number_at(json_array_get(list, 0), "count"), 8);
	assert_true(json_real_value(json_object_get(json_array_get(list, 0), "t")) ==
		    0.005); /* of the first */
	assert_string_equal(text_at(json_array_get(list, 0), "outcome"), "refused");
	assert_string_equal(text_at(json_array_get(list, 1), "call"), "bpf");
	list = json_object_get(o, "exec");
	assert_int_equal(json_array_size(list), 1);
	assert_int_equal(number_at(json_array_get(list, 0), "count"), 2);
	json_decref(o);
	(void) result_free(r);
}

static void a_flood_stays_bounded_and_is_counted(void **state)
{
	(void) state;
	struct result *r = result_new(NULL);

	for (uint64_t i = 0; i < RESULT_GROUPS_MAX + 100; i++) {
		FREE char *path = xprintf("/secret/%u", (unsigned) i);
		take(r, &(struct event){ .seq = i + 1,
					 .type = EVENT_FILE,
					 .outcome = OUTCOME_HIDDEN,
					 .file = { .pid = 2, .op = "open", .path = path, .count = 2 } });
	}
	take(r, &(struct event){ .seq = 1000,
				 .type = EVENT_DROPPED,
				 .dropped = { .what = "file", .count = 5, .why = "grouped" } });
	json_t *o = object_of(r), *list = json_object_get(o, "files");
	assert_int_equal(json_array_size(list), RESULT_GROUPS_MAX + 1);
	json_t *note = json_array_get(list, RESULT_GROUPS_MAX);
	assert_string_equal(text_at(note, "type"), "dropped");
	assert_string_equal(text_at(note, "what"), "file");
	assert_int_equal(number_at(note, "count"), 205);
	json_decref(o);
	(void) result_free(r);
}

static struct launch *launch_with_output_limit(uint64_t bytes)
{
	struct launch *l = launch_new();

	l->policy = xcalloc(1, sizeof *l->policy);
	l->policy->limit[LIMIT_OUTPUT] = bytes;
	return l;
}

static void output_is_kept_up_to_the_limit(void **state)
{
	(void) state;
	struct launch *l = launch_with_output_limit(10);
	struct result *r = result_new(l);
	struct event end = exit_event(VERDICT_OK, 0);

	output(r, STREAM_STDOUT, "12345678", 8);
	output(r, STREAM_STDERR, "abcd", 4);
	output(r, STREAM_STDOUT, "9", 1);
	end.exit.stdout_dropped = 100;
	take(r, &end);
	json_t *o = object_of(r);
	assert_string_equal(text_at(o, "stdout"), "12345678");
	assert_string_equal(text_at(o, "stderr"), "ab");
	assert_int_equal(number_at(o, "stdout_dropped"), 101);
	assert_int_equal(number_at(o, "stderr_dropped"), 2);
	json_decref(o);
	(void) result_free(r);
	(void) launch_free(l);
}

static void a_cut_inside_a_character_stays_text(void **state)
{
	(void) state;
	static const char euro[] = "1234567\xe2\x82\xac"; /* the limit falls into its last character */
	struct launch *l = launch_with_output_limit(9);
	struct result *r = result_new(l);

	output(r, STREAM_STDOUT, euro, sizeof euro - 1);
	json_t *o = object_of(r);
	assert_string_equal(text_at(o, "stdout"), "1234567");
	assert_int_equal(number_at(o, "stdout_dropped"), 3);
	json_decref(o);
	(void) result_free(r);
	(void) launch_free(l);
}

static void bytes_that_are_no_text_become_base64(void **state)
{
	(void) state;
	struct result *r = result_new(NULL);

	output(r, STREAM_STDOUT, "\xff\x00\xfe", 3);
	json_t *o = object_of(r);
	assert_string_equal(text_at(json_object_get(o, "stdout"), "base64"), "/wD+");
	json_decref(o);
	(void) result_free(r);
}

static void a_setup_error_is_an_object_too(void **state)
{
	(void) state;
	static const int statuses[] = { 125, 126, 127 };
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		struct result *r = result_new(NULL);
		result_setup_error(r, statuses[i], "unknown option --\x1b[2J\"quoted\"");
		json_t *o = object_of(r);
		assert_string_equal(text_at(o, "verdict"), "setup-error");
		assert_int_equal(number_at(o, "status"), statuses[i]);
		assert_string_equal(text_at(o, "evidence"), "unknown option --\x1b[2J\"quoted\"");
		assert_string_equal(text_at(o, "stdout"), "");
		assert_true(json_is_null(json_object_get(o, "memory_peak")));
		assert_true(json_is_null(json_object_get(o, "wall_s")));
		assert_int_equal(json_array_size(json_object_get(o, "denied")), 0);
		json_decref(o);
		(void) result_free(r);
	}
}

/* ---- the line ---- */

static void assert_line(const struct event *end, const struct tally *t, const char *want)
{
	struct buf line = { 0 };

	verdict_line(end, t, true, &line);
	assert_string_equal(line.data, want);
	buf_done(&line);
}

static void the_line_tells_how_it_ended(void **state)
{
	(void) state;
	struct tally none = { 0 }, some = { .denied = 2 }, unseen = { .denied_unseen = true };
	struct event end = exit_event(VERDICT_OK, 0);

	assert_line(&end, &none, "ok in 0.25 s (cpu 0.12 s, memory peak 11 MiB, 0 denied)");
	end.exit.wall_s = 0.0023;
	end.exit.cpu_s = 0;
	assert_line(&end, &none, "ok in 0.002 s (cpu 0.000 s, memory peak 11 MiB, 0 denied)");
	end = exit_event(VERDICT_FAILED, 3);
	end.exit.memory_peak = UNKNOWN_U64;
	end.exit.cpu_s = UNKNOWN_F64;
	assert_line(&end, &some, "failed with status 3 in 0.25 s (2 denied)");
	assert_line(&end, &unseen, "failed with status 3 in 0.25 s (denied calls not watched)");
	end = exit_event(VERDICT_SIGNALLED, 134);
	end.exit.signal = "SIGABRT";
	assert_line(&end, &none, "signalled by SIGABRT in 0.25 s (cpu 0.12 s, memory peak 11 MiB, 0 denied)");
	end = exit_event(VERDICT_MEMORY, 137);
	end.exit.evidence = "limit 256 MiB, peak 256 MiB, oom_kill 1, at 0.8 s";
	assert_line(&end, &none, "memory: limit 256 MiB, peak 256 MiB, oom_kill 1, at 0.8 s");
}

/* An empty list tells whether anybody looked; one with something in it needs no words. */
static void empty_lists_are_told(void **state)
{
	(void) state;
	static const struct event_pair states[] = { { "denied", "not watched, by syscalls = off" },
						    { "files", LIST_WATCHED },
						    { "exec", LIST_WATCHED } };
	struct event start = { .type = EVENT_START, .start = { .lists = states, .list_count = 3 } };
	struct event file = { .type = EVENT_FILE, .file = { .path = "/x", .count = 1 } };
	struct event lost = { .type = EVENT_DROPPED, .dropped = { .what = "network", .count = 9 } };
	struct event end = exit_event(VERDICT_FAILED, 3);
	struct tally t = { 0 };
	struct buf line = { 0 };

	end.exit.memory_peak = UNKNOWN_U64;
	end.exit.cpu_s = UNKNOWN_F64;
	tally_event(&t, &start);
	assert_line(&end, &t, "failed with status 3 in 0.25 s (denied calls not watched)");
	tally_line(&t, "> ", true, &line);
	assert_string_equal(line.data, "> denied: not watched, by syscalls = off; network: not known whether "
				       "watched; files: watched, none seen; exec: watched, none seen\n");
	line.len = 0;
	tally_event(&t, &file);
	tally_event(&t, &lost);
	tally_line(&t, "> ", true, &line);
	assert_string_equal(line.data,
			    "> denied: not watched, by syscalls = off; exec: watched, none seen\n");
	buf_done(&line);
}

static void the_line_tells_what_is_missing(void **state)
{
	(void) state;
	static const char *const met[] = { "memory", "processes" };
	struct tally t = { .removed = { [TEXT_CLIPBOARD] = 2, [TEXT_BIDI] = 1 } };
	struct event end = exit_event(VERDICT_CANCELLED, -1);

	end.exit.evidence = "stopped\x1b[2J";
	end.exit.limits_met = met;
	end.exit.limits_met_count = 2;
	end.exit.stdout_dropped = 2048;
	end.exit.processes_left = 1;
	struct buf line = { 0 };
	verdict_line(&end, &t, true, &line);
	assert_null(strchr(line.data, '\x1b'));
	assert_non_null(strstr(line.data, "; limits met: memory, processes"));
	assert_non_null(strstr(line.data, "; 2 KiB of stdout over the limit dropped"));
	assert_non_null(strstr(line.data, "; 1 of its processes could not be ended"));
	FREE char *removed = xprintf("; removed from the output: 2 %s, 1 %s",
				     text_removed_name(TEXT_CLIPBOARD), text_removed_name(TEXT_BIDI));
	assert_non_null(strstr(line.data, removed));
	buf_done(&line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_every_key_and_no_other),
		cmocka_unit_test(tells_a_whole_run),
		cmocka_unit_test(groups_what_is_alike),
		cmocka_unit_test(a_flood_stays_bounded_and_is_counted),
		cmocka_unit_test(output_is_kept_up_to_the_limit),
		cmocka_unit_test(a_cut_inside_a_character_stays_text),
		cmocka_unit_test(bytes_that_are_no_text_become_base64),
		cmocka_unit_test(a_setup_error_is_an_object_too),
		cmocka_unit_test(the_line_tells_how_it_ended),
		cmocka_unit_test(empty_lists_are_told),
		cmocka_unit_test(the_line_tells_what_is_missing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
