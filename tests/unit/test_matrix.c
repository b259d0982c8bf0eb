/* SPDX-License-Identifier: MIT */
/*
 * What one try of an attack comes to, from events as data: what counts as a fact and what does not; the witness and the
 * start marker in hostile output; the matrix held against what is expected.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/suite/parts.h"

static struct attack memory_attack = { .name = (char *) "allocate",
				       .stopped_by = { [LIMIT_MEMORY] = true },
				       .proof = (char *) "1",
				       .why_stopped = (char *) "counted",
				       .why_not = (char *) "not counted" };
static struct attack write_attack = { .name = (char *) "write",
				      .stopped_by = { [LIMIT_FILE_SIZE] = true, [LIMIT_SPACE] = true },
				      .proof = (char *) "1",
				      .why_stopped = (char *) "",
				      .why_not = (char *) "" };
static struct attack file_attack = { .name = (char *) "read",
				     .fixture = FIXTURE_CREDENTIALS,
				     .stopped_by = { [STOPPER_FILE] = true },
				     .why_stopped = (char *) "",
				     .why_not = (char *) "" };
static struct attack service_attack = { .name = (char *) "connect",
					.fixture = FIXTURE_SERVICE,
					.stopped_by = { [STOPPER_NETWORK] = true },
					.why_stopped = (char *) "",
					.why_not = (char *) "" };

static const struct planted no_fixture = { .kind = FIXTURE_NONE };
static const struct planted credentials = { .kind = FIXTURE_CREDENTIALS,
					    .path = (char *) "/tmp/x/credentials" };
static const struct planted service = { .kind = FIXTURE_SERVICE, .port = 4242 };

static struct cell_facts began(const struct attack *a)
{
	return (struct cell_facts){ .attack = a, .control_worked = true, .started = true };
}

static void start(struct cell_facts *f, bool own_network)
{
	static const struct event_limit limits[] = {
		{ "memory", 256, 256, GRADE_KERNEL, "cgroup v2 memory.max" },
		{ "processes", 64, 64, GRADE_KERNEL, "RLIMIT_NPROC in the run's own user namespace" },
		{ "file_size", 32, 32, GRADE_KERNEL, "RLIMIT_FSIZE" },
		{ "space", 16, 16, GRADE_KERNEL, "size of the one tmpfs behind every writable place" },
		{ "wall", 1, 1, GRADE_SUPERVISOR, "timer of the supervisor" },
	};
	const struct event_layer layers[] = { { "net-ns", own_network ? STATE_ON : STATE_OFF,
						"only its own loopback", "own namespace" } };
	const struct event ev = { .type = EVENT_START,
				  .start = { .limits = limits,
					     .limit_count = ARRAY_LEN(limits),
					     .layers = layers,
					     .layer_count = 1,
					     .recording = "/r.jsonl" } };
	facts_take(f, &no_fixture, &ev);
}

static void end(struct cell_facts *f, enum verdict v, const char *evidence)
{
	const struct event ev = { .type = EVENT_EXIT,
				  .exit = { .verdict = v, .evidence = evidence, .wall_s = 1 } };

	facts_take(f, &no_fixture, &ev);
}

static struct cell judged(const struct cell_facts *f)
{
	struct cell c = { 0 };

	facts_judge(f, &c);
	return c;
}

static void assert_cell(const struct cell_facts *f, enum cell_verdict verdict, enum layer layer,
			const char *evidence)
{
	struct cell c = judged(f);

	assert_string_equal(cell_verdict_name(c.verdict), cell_verdict_name(verdict));
	assert_string_equal(layer_name(c.layer), layer_name(layer));
	assert_string_equal(c.evidence, evidence);
}

static void test_control_comes_first(void **state)
{
	struct cell_facts f = began(&memory_attack);

	(void) state;
	f.witness = true;
	f.control_worked = false;
	f.control_text = "too little memory";
	assert_cell(&f, CELL_INCONCLUSIVE, LAYER_NONE, "the control failed: too little memory");
}

static void test_not_begun_is_not_stopped(void **state)
{
	struct cell_facts f = began(&memory_attack);
	const struct event fault = { .type = EVENT_ERROR, .error = { .text = "no such folder" } };

	(void) state;
	f.started = false;
	start(&f, true);
	end(&f, VERDICT_MEMORY, "limit 256 B");
	assert_cell(&f, CELL_NOT_RUN, LAYER_NONE, "it did not begin: memory: limit 256 B");
	facts_take(&f, &no_fixture, &fault);
	assert_cell(&f, CELL_NOT_RUN, LAYER_NONE, "it did not begin: no such folder");
}

static void test_witness(void **state)
{
	struct cell_facts f = began(&memory_attack);

	(void) state;
	f.witness = true;
	end(&f, VERDICT_MEMORY, "limit 256 B"); /* whatever struck afterwards */
	assert_cell(&f, CELL_SUCCEEDED, LAYER_NONE, "its witness is there");
	assert_string_equal(judged(&f).reason, "not counted");
	f.own_kernel = true;
	assert_cell(&f, CELL_CONTAINED, LAYER_NONE, "its witness is there, from a kernel of the run's own");
	assert_string_equal(judged(&f).reason, "");
	f.host_reached = true;
	assert_cell(&f, CELL_SUCCEEDED, LAYER_NONE, "its witness is there");
}

static void test_verdict_of_the_limit(void **state)
{
	struct cell_facts f = began(&memory_attack);

	(void) state;
	start(&f, true);
	end(&f, VERDICT_MEMORY, "limit 256 B, oom_kill 1");
	assert_cell(&f, CELL_STOPPED, LAYER_CGROUP, "memory: limit 256 B, oom_kill 1");
	assert_string_equal(judged(&f).reason, "counted");
	assert_string_equal(judged(&f).recording, "/r.jsonl");

	f = began(&write_attack); /* one verdict covers both: the tighter one is named */
	start(&f, true);
	end(&f, VERDICT_WRITE_SPACE, "full");
	assert_cell(&f, CELL_STOPPED, LAYER_MOUNT_NS, "space: full");
}

static void test_layer_of_a_limit_in_a_guest(void **state)
{
	static const struct event_limit kernels = { "memory", 256, 256, GRADE_KERNEL,
						    INSIDE_MECHANISM "cgroup v2 memory.max" };
	static const struct event_limit sampled = { "memory", 256, 256, GRADE_SAMPLED,
						    INSIDE_MECHANISM "cgroup v2 memory.max" };
	const struct event ev = { .type = EVENT_START, .start = { .limits = &kernels, .limit_count = 1 } };
	const struct event weaker = { .type = EVENT_START,
				      .start = { .limits = &sampled, .limit_count = 1 } };
	struct cell_facts f = began(&memory_attack);

	(void) state;
	facts_take(&f, &no_fixture, &ev);
	end(&f, VERDICT_MEMORY, "limit 256 B");
	assert_cell(&f, CELL_STOPPED, LAYER_CGROUP, "memory: limit 256 B");
	facts_take(&f, &no_fixture, &weaker);
	end(&f, VERDICT_MEMORY, "limit 256 B");
	assert_cell(&f, CELL_STOPPED, LAYER_SUPERVISOR, "memory: limit 256 B");
}

static void test_limit_event_and_limits_met(void **state)
{
	struct cell_facts f = began(&memory_attack);
	const char *const met[] = { "open_files", "memory" };
	const struct event limit = { .type = EVENT_LIMIT,
				     .limit = { .name = "memory", .evidence = "oom_kill 1" } };
	const struct event exit = { .type = EVENT_EXIT,
				    .exit = { .verdict = VERDICT_FAILED,
					      .evidence = "exit status 1",
					      .limits_met = met,
					      .limits_met_count = 2 } };

	(void) state;
	start(&f, true);
	facts_take(&f, &no_fixture, &limit);
	end(&f, VERDICT_FAILED, "exit status 1");
	assert_cell(&f, CELL_STOPPED, LAYER_CGROUP, "memory: oom_kill 1");
	f = began(&memory_attack);
	start(&f, true);
	facts_take(&f, &no_fixture, &exit);
	assert_cell(&f, CELL_STOPPED, LAYER_CGROUP, "memory: the limit was met");
}

static void test_failing_is_no_fact(void **state)
{
	struct cell_facts f = began(&memory_attack);
	const struct event other = { .type = EVENT_LIMIT, .limit = { .name = "output", .evidence = "much" } };

	(void) state;
	start(&f, true);
	facts_take(&f, &no_fixture, &other);
	end(&f, VERDICT_WALL_TIME, "limit 1 ns");
	assert_cell(&f, CELL_INCONCLUSIVE, LAYER_NONE,
		    "it began, came to nothing, and nothing says why (wall-time: limit 1 ns)");
}

static struct event file_event(const char *path, enum outcome outcome)
{
	return (struct event){ .type = EVENT_FILE,
			       .outcome = outcome,
			       .layer = LAYER_MOUNT_NS,
			       .basis = BASIS_PREDICTED,
			       .file = { .op = "open", .path = path } };
}

static void test_only_the_planted_file_counts(void **state)
{
	struct event ev = file_event("/etc/shadow", OUTCOME_HIDDEN);
	struct cell_facts f = began(&file_attack);

	(void) state;
	facts_take(&f, &credentials, &ev);
	end(&f, VERDICT_FAILED, "exit status 1");
	assert_int_equal(judged(&f).verdict, CELL_INCONCLUSIVE);
	ev = file_event("/tmp/x/credentials", OUTCOME_OPENED);
	facts_take(&f, &credentials, &ev);
	assert_int_equal(judged(&f).verdict, CELL_INCONCLUSIVE);
	ev = file_event("/tmp/x/credentials", OUTCOME_HIDDEN);
	facts_take(&f, &credentials, &ev);
	assert_cell(&f, CELL_STOPPED, LAYER_MOUNT_NS, "open /tmp/x/credentials: hidden, predicted");
}

static struct event network_event(int64_t port, enum outcome outcome)
{
	return (struct event){ .type = EVENT_NETWORK,
			       .outcome = outcome,
			       .layer = outcome == OUTCOME_UNREACHABLE ? LAYER_NET_NS : LAYER_NONE,
			       .basis = BASIS_PREDICTED,
			       .network = { .op = "connect",
					    .family = "inet",
					    .protocol = "tcp",
					    .address = "127.0.0.1",
					    .port = port } };
}

static void test_only_the_planted_service_counts(void **state)
{
	struct event ev = network_event(53, OUTCOME_UNREACHABLE);
	struct cell_facts f = began(&service_attack);

	(void) state;
	facts_take(&f, &service, &ev);
	end(&f, VERDICT_FAILED, "exit status 1");
	ev = network_event(4242, OUTCOME_UNREACHABLE);
	ev.network.address = "192.0.2.1";
	facts_take(&f, &service, &ev);
	ev = network_event(4242, OUTCOME_UNREACHABLE);
	ev.network.protocol = "udp";
	facts_take(&f, &service, &ev);
	assert_int_equal(judged(&f).verdict, CELL_INCONCLUSIVE);
	ev = network_event(4242, OUTCOME_UNREACHABLE);
	facts_take(&f, &service, &ev);
	assert_cell(&f, CELL_STOPPED, LAYER_NET_NS, "connect 127.0.0.1:4242: unreachable, predicted");
}

static void test_own_loopback_needs_the_hosts_side(void **state)
{
	struct event ev = network_event(4242, OUTCOME_UNKNOWN);
	struct cell_facts f = began(&service_attack);

	(void) state;
	start(&f, false);
	facts_take(&f, &service, &ev);
	assert_int_equal(judged(&f).verdict, CELL_INCONCLUSIVE); /* the host's own network */
	start(&f, true);
	facts_take(&f, &service, &ev);
	assert_cell(
		&f, CELL_STOPPED, LAYER_NET_NS,
		"connect 127.0.0.1:4242: only its own loopback, own namespace; nobody came to the service");
	f.host_reached = true;
	assert_int_equal(judged(&f).verdict, CELL_INCONCLUSIVE);
}

/* One try was refused, and another came through. */
static void test_reached_is_not_stopped(void **state)
{
	struct event ev = network_event(4242, OUTCOME_REFUSED);
	struct cell_facts f = began(&service_attack);

	(void) state;
	facts_take(&f, &service, &ev);
	assert_int_equal(judged(&f).verdict, CELL_STOPPED);
	f.host_reached = true;
	end(&f, VERDICT_FAILED, "exit status 1");
	assert_cell(&f, CELL_INCONCLUSIVE, LAYER_NONE,
		    "it reached the service, and its witness is not there (failed: exit status 1)");
}

static void test_refused_socket(void **state)
{
	struct event_arg family = { .key = "domain", .text = "AF_PACKET" };
	const struct event ev = {
		.type = EVENT_DENIED,
		.outcome = OUTCOME_REFUSED,
		.layer = LAYER_SECCOMP,
		.basis = BASIS_ANSWERED,
		.denied = { .call = "socket", .error = "EPERM", .args = &family, .arg_count = 1 }
	};
	struct cell_facts f = began(&service_attack);

	(void) state;
	facts_take(&f, &service, &ev);
	assert_int_equal(judged(&f).verdict, CELL_INCONCLUSIVE); /* of no use against the service */
	family.text = "AF_INET";
	facts_take(&f, &service, &ev);
	assert_int_equal(judged(&f).verdict, CELL_STOPPED);
	assert_int_equal(judged(&f).layer, LAYER_SECCOMP);
}

/* ---- what it says of itself ---- */

static struct hearing hears(const char *text, size_t step)
{
	struct hearing h = { .name = "x", .token = "abc" };

	for (size_t at = 0, len = strlen(text); at < len; at += step)
		hearing_take(&h, text + at, len - at < step ? len - at : step);
	return h;
}

static void test_hearing(void **state)
{
	static const struct {
		const char *text;
		bool started, witness;
	} rows[] = {
		{ "started x\nwitness abc\n", true, true },
		{ "started x\n", true, false },
		{ "noise\nstarted x\nwitness abc\n", false, true },
		{ "started y\nwitness abd\n", false, false },
		{ "started x\nprint('witness abc')\n", true, false },
		{ "started x\nwitness abc", true, false }, /* a line that never ended */
		{ "started x\nwitness abcd\nwitness  abc\n witness abc\n", true, false },
		{ "", false, false },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t step = 1; step < 30; step += 4) {
			struct hearing h = hears(rows[i].text, step);
			assert_int_equal(h.started, rows[i].started);
			assert_int_equal(h.witness, rows[i].witness);
		}
}

static void test_hearing_is_bounded(void **state)
{
	struct hearing h = { .name = "x", .token = "abc" };

	(void) state;
	hearing_take(&h, "started x\n", 10);
	for (int i = 0; i < 1000; i++)
		hearing_take(&h, "witness abc ", 12);
	hearing_take(&h, "\nwitness\0abc\n", 13);
	assert_true(h.started);
	assert_false(h.witness);
	hearing_take(&h, "witness abc\n", 12);
	assert_true(h.witness);
}

/* ---- the matrix ---- */

static const char *const two[] = { "subprocess", "mine", NULL };

static void put(struct matrix *m, size_t attack, size_t preset, enum cell_verdict verdict,
		enum cell_verdict expected)
{
	struct suite_msg msg = { .step = SUITE_CELL_DONE,
				 .cell = { .attack = attack,
					   .preset = preset,
					   .verdict = verdict,
					   .expected = expected,
					   .layer = LAYER_CGROUP,
					   .evidence = "\"\033[2J",
					   .wall_s = UNKNOWN_F64 } };
	matrix_take(m, &msg);
}

static void test_matrix(void **state)
{
	struct attack attacks[] = { memory_attack, file_attack };
	const struct manifest manifest = { .name = (char *) "s", .attacks = attacks, .attack_count = 2 };
	struct matrix m;

	(void) state;
	matrix_init(&m, &manifest, two);
	assert_null(matrix_cell(&m, 0, 0));
	put(&m, 0, 0, CELL_STOPPED, CELL_STOPPED);
	put(&m, 0, 1, CELL_STOPPED, CELL_STOPPED);
	put(&m, 1, 0, CELL_SUCCEEDED, CELL_SUCCEEDED);
	assert_false(matrix_as_expected(&m)); /* one is missing */
	put(&m, 1, 1, CELL_STOPPED, CELL_VERDICT_MAX);
	assert_false(matrix_as_expected(&m)); /* nothing is expected of it */
	put(&m, 1, 1, CELL_NOT_RUN, CELL_STOPPED);
	assert_false(matrix_as_expected(&m));
	put(&m, 1, 1, CELL_STOPPED, CELL_STOPPED);
	assert_true(matrix_as_expected(&m));
	put(&m, 2, 0, CELL_SUCCEEDED, CELL_STOPPED); /* no such cell */
	put(&m, 0, 2, CELL_SUCCEEDED, CELL_STOPPED);
	assert_true(matrix_as_expected(&m));
	assert_int_equal(matrix_stopped(&m, 0), 1);
	assert_int_equal(matrix_stopped(&m, 1), 2);
	put(&m, 0, 1, CELL_NOT_RUN, CELL_NOT_RUN);
	assert_false(matrix_missing(&m, 1)); /* something of it ran */
	put(&m, 1, 1, CELL_NOT_RUN, CELL_STOPPED);
	assert_false(matrix_missing(&m, 1)); /* it was to run, and did not begin */
	put(&m, 1, 1, CELL_NOT_RUN, CELL_NOT_RUN);
	assert_true(matrix_missing(&m, 1));
	assert_false(matrix_missing(&m, 0));
	assert_true(matrix_as_expected(&m));
	matrix_done(&m);
}

static void test_json(void **state)
{
	const struct manifest manifest = { .name = (char *) "s",
					   .attacks = &memory_attack,
					   .attack_count = 1 };
	struct matrix m;
	struct buf out = { 0 };

	(void) state;
	matrix_init(&m, &manifest, two);
	put(&m, 0, 1, CELL_STOPPED, CELL_VERDICT_MAX);
	matrix_json(&m, &out);
	assert_ptr_equal(strstr(out.data, "{\"suite\":\"s\",\"host\":{"), out.data);
	assert_non_null(strstr(
		out.data,
		"\"cells\":[{\"attack\":\"allocate\",\"preset\":\"mine\",\"verdict\":\"stopped\","
		"\"expected\":null,\"layer\":\"cgroup\",\"evidence\":\"\\\"\\u001b[2J\",\"reason\":null,"
		"\"recording\":null,\"wall_s\":null}]}\n"));
	buf_done(&out);
	matrix_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_control_comes_first),
		cmocka_unit_test(test_not_begun_is_not_stopped),
		cmocka_unit_test(test_witness),
		cmocka_unit_test(test_verdict_of_the_limit),
		cmocka_unit_test(test_layer_of_a_limit_in_a_guest),
		cmocka_unit_test(test_limit_event_and_limits_met),
		cmocka_unit_test(test_failing_is_no_fact),
		cmocka_unit_test(test_only_the_planted_file_counts),
		cmocka_unit_test(test_only_the_planted_service_counts),
		cmocka_unit_test(test_own_loopback_needs_the_hosts_side),
		cmocka_unit_test(test_reached_is_not_stopped),
		cmocka_unit_test(test_refused_socket),
		cmocka_unit_test(test_hearing),
		cmocka_unit_test(test_hearing_is_bounded),
		cmocka_unit_test(test_matrix),
		cmocka_unit_test(test_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
