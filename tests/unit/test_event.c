/* SPDX-License-Identifier: MIT */
/*
 * Events on the wire. The round trip walks the enum and the table, so a type or field that is forgotten
 * somewhere shows here; hostile frames are made from good ones, by cutting them anywhere and by changing
 * every byte.
 */
#include "fill_event.h"

#include <errno.h>
#include <math.h>

#include "core/model/model.h"

static uint8_t space[WIRE_FRAME_MAX];

static void test_every_type_goes_round(void **state)
{
	(void) state;
	for (unsigned type = 0; type < EVENT_UNKNOWN; type++) {
		struct fill s = { .n = type * 50 };
		struct event ev, *back = NULL;
		struct err e;
		fill_event(&s, type, &ev);
		ssize_t len = event_encode(&ev, space, sizeof(space));
		assert_true(len > 0);
		assert_int_equal(event_decode(space, (size_t) len, &back, &e), 0);
		same_events(&ev, back);
		event_free(back);
		fill_done(&s);
	}
}

/* Nothing set but what must be: NULLs, empty lists and unknown numbers come back as such. */
static void test_bare_events_go_round(void **state)
{
	(void) state;
	for (unsigned type = 0; type < EVENT_UNKNOWN; type++) {
		struct event ev = { .type = type, .seq = 1 }, *back = NULL;
		struct err e;
		for (const struct event_field *f = event_fields(type); f->name; f++) {
			if (f->kind == FIELD_WORD)
				*(unsigned *) field_ptr(&ev, f) = 1;
			else if (f->kind == FIELD_STR && (f->flags & FIELD_REQUIRED))
				*(const char **) field_ptr(&ev, f) = "";
			else if (f->kind == FIELD_BYTES)
				*(const char **) field_ptr(&ev, f) = "";
			else if (f->kind == FIELD_U64 && !(f->flags & FIELD_REQUIRED))
				*(uint64_t *) field_ptr(&ev, f) = UNKNOWN_U64;
		}
		ssize_t len = event_encode(&ev, space, sizeof(space));
		assert_true(len > 0);
		assert_int_equal(event_decode(space, (size_t) len, &back, &e), 0);
		same_events(&ev, back);
		event_free(back);
	}
}

static void test_every_prefix_is_refused(void **state)
{
	(void) state;
	for (unsigned type = 0; type < EVENT_UNKNOWN; type++) {
		struct fill s = { .n = 0 };
		struct event ev, *back = NULL;
		struct err e;
		fill_event(&s, type, &ev);
		ssize_t len = event_encode(&ev, space, sizeof(space));
		assert_true(len > 0);
		for (size_t cut = 0; cut < (size_t) len; cut++) {
			/* A copy of that size, so that a sanitizer sees any byte beyond. */
			uint8_t *exact = xmalloc(cut ? cut : 1);
			memcpy(exact, space, cut);
			assert_int_equal(event_decode(exact, cut, &back, &e), -EPROTO);
			free(exact);
		}
		space[len] = 0;
		assert_int_equal(event_decode(space, (size_t) len + 1, &back, &e), -EPROTO);
		assert_null(back);
		fill_done(&s);
	}
}

/* What is still accepted must be an event that encodes to the very same bytes: there is one frame for each
 * event. */
static void check_damaged(size_t len)
{
	static uint8_t again[WIRE_FRAME_MAX];
	struct event *back = NULL;
	struct err e = { .code = 0 };

	if (event_decode(space, len, &back, &e) < 0) {
		assert_true(e.code != 0 && *e.text);
		return;
	}
	assert_int_equal(event_encode(back, again, sizeof(again)), len);
	assert_memory_equal(again, space, len);
	event_free(back);
}

static void test_every_byte_changed(void **state)
{
	(void) state;
	static const uint8_t masks[] = { 0x01, 0x80, 0xff, 0x40 };
	for (unsigned type = 0; type < EVENT_UNKNOWN; type++) {
		struct fill s = { .n = 0 };
		struct event ev;
		fill_event(&s, type, &ev);
		ssize_t len = event_encode(&ev, space, sizeof(space));
		assert_true(len > 0);
		for (size_t i = 0; i < (size_t) len; i++)
			for (size_t m = 0; m < ARRAY_LEN(masks); m++) {
				space[i] ^= masks[m];
				check_damaged((size_t) len);
				space[i] ^= masks[m];
			}
		fill_done(&s);
	}
}

static void test_types_that_are_no_event(void **state)
{
	(void) state;
	struct fill s = { .n = 0 };
	struct event ev, *back = NULL;
	struct err e;
	fill_event(&s, EVENT_ALERT, &ev);
	ssize_t len = event_encode(&ev, space, sizeof(space));
	for (unsigned type = 0; type < 256; type++) {
		bool known = (type & 0x80) && (type & 0x7f) < EVENT_UNKNOWN;
		if (known)
			continue;
		space[0] = (uint8_t) type;
		assert_int_equal(event_decode(space, (size_t) len, &back, &e), -EPROTO);
	}
	ev.type = EVENT_UNKNOWN;
	assert_int_equal(event_encode(&ev, space, sizeof(space)), -EINVAL);
	fill_done(&s);
}

static void test_too_small_a_space(void **state)
{
	(void) state;
	struct fill s = { .n = 0 };
	struct event ev;
	fill_event(&s, EVENT_START, &ev);
	ssize_t len = event_encode(&ev, space, sizeof(space));
	for (size_t size = 0; size < (size_t) len; size++) {
		uint8_t *exact = xmalloc(size ? size : 1);
		assert_int_equal(event_encode(&ev, exact, size), -EMSGSIZE);
		free(exact);
	}
	fill_done(&s);
}

static void test_what_the_other_side_would_refuse_is_not_sent(void **state)
{
	(void) state;
	struct event_arg twice[] = { { .key = "fd", .number = 1 }, { .key = "fd", .number = 2 } };
	struct event_arg strange[] = { { .key = "a\"\x80", .number = 1 } };
	static struct event_arg many[17];
	struct event ev = { .type = EVENT_DENIED,
			    .denied = { .call = "read", .args = twice, .arg_count = 2 } };
	assert_int_equal(event_encode(&ev, space, sizeof(space)), -EINVAL);
	ev.denied.args = strange;
	ev.denied.arg_count = 1;
	assert_int_equal(event_encode(&ev, space, sizeof(space)), -EINVAL);
	ev.denied.args = many;
	ev.denied.arg_count = ARRAY_LEN(many);
	assert_int_equal(event_encode(&ev, space, sizeof(space)), -EINVAL);
	ev.denied.arg_count = 0;
	assert_true(event_encode(&ev, space, sizeof(space)) > 0);
	ev.denied.call = NULL;
	assert_int_equal(event_encode(&ev, space, sizeof(space)), -EINVAL);
	ev.denied.call = "read";
	ev.outcome = OUTCOME_MAX;
	assert_int_equal(event_encode(&ev, space, sizeof(space)), -EINVAL);

	struct event ended = { .type = EVENT_EXIT };
	assert_int_equal(event_encode(&ended, space, sizeof(space)), -EINVAL); /* no verdict */
}

/* An id that JSON cannot hold would make an event of which a recording cannot be read. */
static void test_numbers_that_must_be_known(void **state)
{
	(void) state;
	struct event ev = { .type = EVENT_ASK, .ask = { .id = (uint64_t) INT64_MAX + 1, .call = "ptrace" } };
	assert_int_equal(event_encode(&ev, space, sizeof(space)), -EINVAL);
	ev.ask.id = INT64_MAX;
	assert_true(event_encode(&ev, space, sizeof(space)) > 0);
	ev.seq = UINT64_MAX;
	assert_int_equal(event_encode(&ev, space, sizeof(space)), -EINVAL);
	ev.seq = 1;
	ev.t_ns = UINT64_MAX;
	assert_int_equal(event_encode(&ev, space, sizeof(space)), -EINVAL);
}

static void test_not_a_number_never_arrives(void **state)
{
	(void) state;
	struct event ev = { .type = EVENT_ASK, .ask = { .call = "ptrace" } }, *back;
	const double bad[] = { (double) NAN, (double) INFINITY, -(double) INFINITY };
	struct err e;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		ev.ask.deadline_s = bad[i];
		ssize_t len = event_encode(&ev, space, sizeof(space));
		assert_true(len > 0);
		assert_int_equal(event_decode(space, (size_t) len, &back, &e), 0);
		assert_true(back->ask.deadline_s == UNKNOWN_F64);
		event_free(back);
		memcpy(space + len - 8, &bad[i], 8); /* the deadline is the last field */
		assert_int_equal(event_decode(space, (size_t) len, &back, &e), -EPROTO);
	}
}

static void test_the_largest_output_passes(void **state)
{
	(void) state;
	static char bytes[64u << 10];
	memset(bytes, 0xff, sizeof(bytes));
	struct event ev = { .type = EVENT_OUTPUT, .output = { .bytes = bytes, .len = sizeof(bytes) } }, *back;
	struct err e;
	ssize_t len = event_encode(&ev, space, sizeof(space));
	assert_true(len > 0);
	assert_int_equal(event_decode(space, (size_t) len, &back, &e), 0);
	assert_int_equal(back->output.len, sizeof(bytes));
	assert_memory_equal(back->output.bytes, bytes, sizeof(bytes));
	event_free(back);
}

/* A key twice in a type could not be JSON; a row of the table that is there twice would hide the second
 * field. */
static void test_keys_are_distinct(void **state)
{
	(void) state;
	for (unsigned type = 0; type < EVENT_UNKNOWN; type++) {
		const char *keys[64] = { "seq", "t", "type" };
		size_t count = 3;
		for (const struct event_field *f = event_common; f->name; f++)
			keys[count++] = f->name;
		for (const struct event_field *f = event_fields(type); f->name; f++)
			keys[count++] = f->name;
		for (size_t i = 0; i < count; i++)
			for (size_t k = 0; k < i; k++)
				assert_string_not_equal(keys[i], keys[k]);
	}
}

#define CHECK_NAMES(function, first, max)                                               \
	do {                                                                            \
		for (unsigned v = (first); v < (max); v++) {                            \
			assert_true(strlen(function(v)) > 0);                           \
			for (unsigned before = 0; before < v; before++)                 \
				assert_string_not_equal(function(v), function(before)); \
		}                                                                       \
		assert_string_equal(function(max), "");                                 \
	} while (0)

static void test_every_enum_has_names(void **state)
{
	(void) state;
	CHECK_NAMES(event_type_name, 0, EVENT_TYPE_MAX);
	CHECK_NAMES(outcome_name, 1, OUTCOME_MAX);
	CHECK_NAMES(layer_name, 1, LAYER_MAX);
	CHECK_NAMES(basis_name, 1, BASIS_MAX);
	CHECK_NAMES(verdict_name, 1, VERDICT_MAX);
	CHECK_NAMES(grade_name, 0, GRADE_MAX);
	CHECK_NAMES(stream_name, 0, STREAM_MAX);
	CHECK_NAMES(layer_state_name, 0, STATE_MAX);
	assert_string_equal(outcome_name(OUTCOME_NONE), "");
	assert_string_equal(outcome_name(OUTCOME_READ_ONLY), "read-only");
	assert_string_equal(verdict_name(VERDICT_WALL_TIME), "wall-time");
	assert_string_equal(layer_name(LAYER_MOUNT_NS), "mount-ns");
}

static void test_verdicts_and_statuses(void **state)
{
	(void) state;
	static const struct {
		enum verdict verdict;
		int64_t status;
		const char *signal;
		int expect;
	} rows[] = {
		{ VERDICT_OK, 0, NULL, 0 },
		{ VERDICT_FAILED, 3, NULL, 3 },
		{ VERDICT_FAILED, 124, NULL, 124 },
		{ VERDICT_SIGNALLED, 139, "SIGSEGV", 139 },
		{ VERDICT_SIGNALLED, -1, "SIGABRT", 134 },
		{ VERDICT_WALL_TIME, 137, "SIGKILL", 124 },
		{ VERDICT_CPU_TIME, 152, "SIGXCPU", 124 },
		{ VERDICT_MEMORY, 137, "SIGKILL", 137 },
		{ VERDICT_MEMORY, 1, NULL, 1 },
		{ VERDICT_MEMORY, -1, NULL, 137 },
		{ VERDICT_PROCESSES, 1, NULL, 1 },
		{ VERDICT_WRITE_SPACE, 153, "SIGXFSZ", 153 },
		{ VERDICT_OUTPUT, 137, "SIGKILL", 137 },
		{ VERDICT_POLICY, 159, "SIGSYS", 159 },
		{ VERDICT_CANCELLED, 143, "SIGTERM", 130 },
		{ VERDICT_LOST, -1, NULL, 125 },
		{ VERDICT_SETUP_ERROR, -1, NULL, 125 },
		{ VERDICT_SETUP_ERROR, 126, NULL, 126 },
		{ VERDICT_SETUP_ERROR, 127, NULL, 127 },
		{ VERDICT_NONE, 0, NULL, 125 },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct event ev = { .type = EVENT_EXIT,
				    .exit = { .verdict = rows[i].verdict,
					      .status = rows[i].status,
					      .signal = rows[i].signal } };
		assert_int_equal(verdict_status(&ev), rows[i].expect);
	}
}

static const struct verb_msg verbs[] = {
	{ .verb = VERB_ANSWER, .id = 1234567890123, .decision = DECIDE_RUN },
	{ .verb = VERB_STOP, .grace_ns = 2000000000 },
	{ .verb = VERB_PAUSE },
	{ .verb = VERB_RESUME },
	{ .verb = VERB_STDIN, .bytes = "in\0put", .len = 6 },
	{ .verb = VERB_STDIN, .bytes = "", .len = 0 },
	{ .verb = VERB_RESIZE, .rows = 24, .columns = 80 },
	{ .verb = VERB_LAUNCH, .bytes = "packed", .len = 6 },
};

static void test_verbs_go_round(void **state)
{
	(void) state;
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		struct verb_msg back;
		struct err e;
		ssize_t len = verb_encode(&verbs[i], space, sizeof(space));
		assert_true(len > 0);
		assert_int_equal(verb_decode(space, (size_t) len, &back, &e), 0);
		assert_int_equal(back.verb, verbs[i].verb);
		assert_int_equal(back.id, verbs[i].id);
		assert_int_equal(back.decision, verbs[i].decision);
		assert_int_equal(back.grace_ns, verbs[i].grace_ns);
		assert_int_equal(back.rows, verbs[i].rows);
		assert_int_equal(back.columns, verbs[i].columns);
		assert_int_equal(back.len, verbs[i].len);
		if (back.len)
			assert_memory_equal(back.bytes, verbs[i].bytes, back.len);
		for (size_t cut = 0; cut < (size_t) len; cut++)
			assert_int_equal(verb_decode(space, cut, &back, &e), -EPROTO);
		assert_int_equal(verb_decode(space, (size_t) len + 1, &back, &e), -EPROTO);
		struct event *ev;
		assert_int_equal(event_decode(space, (size_t) len, &ev, &e), -EPROTO); /* echoed back */
	}
}

static void test_verbs_that_cannot_be(void **state)
{
	(void) state;
	struct verb_msg answer = { .verb = VERB_ANSWER, .decision = DECIDE_RUN + 1 }, back;
	struct verb_msg resize = { .verb = VERB_RESIZE, .rows = 70000, .columns = 80 };
	struct err e;
	ssize_t len = verb_encode(&answer, space, sizeof(space));
	assert_int_equal(verb_decode(space, (size_t) len, &back, &e), -EPROTO);
	len = verb_encode(&resize, space, sizeof(space));
	assert_int_equal(verb_decode(space, (size_t) len, &back, &e), -EPROTO);
	answer.verb = VERB_MAX;
	assert_int_equal(verb_encode(&answer, space, sizeof(space)), -EINVAL);
	struct verb_msg input = { .verb = VERB_STDIN, .bytes = "0123456789", .len = 10 };
	assert_int_equal(verb_encode(&input, space, 8), -EMSGSIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type_goes_round),
		cmocka_unit_test(test_bare_events_go_round),
		cmocka_unit_test(test_every_prefix_is_refused),
		cmocka_unit_test(test_every_byte_changed),
		cmocka_unit_test(test_types_that_are_no_event),
		cmocka_unit_test(test_too_small_a_space),
		cmocka_unit_test(test_what_the_other_side_would_refuse_is_not_sent),
		cmocka_unit_test(test_numbers_that_must_be_known),
		cmocka_unit_test(test_not_a_number_never_arrives),
		cmocka_unit_test(test_the_largest_output_passes),
		cmocka_unit_test(test_keys_are_distinct),
		cmocka_unit_test(test_every_enum_has_names),
		cmocka_unit_test(test_verdicts_and_statuses),
		cmocka_unit_test(test_verbs_go_round),
		cmocka_unit_test(test_verbs_that_cannot_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
