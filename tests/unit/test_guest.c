/* SPDX-License-Identifier: MIT */
/*
 * A guest that is in the target's hands: each way of leaving the protocol ends the run and is named; what is the host's
 * to say stays the host's; and no flood, silence or lie keeps the host from anything or costs it memory.
 */
#include "guest_fixture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MEMORY_BOUND (16u << 20)

static struct event end_of(enum verdict verdict, int64_t status, const char *signal)
{
	return (struct event){ .type = EVENT_EXIT,
			       .exit = { .verdict = verdict,
					 .status = status,
					 .signal = signal,
					 .evidence = "exit status 0",
					 .cpu_s = 0.5,
					 .memory_peak = 4096 } };
}

static void tell_end(struct guest_fixture *f, const struct event *end)
{
	fixture_printed(f, 0, 0);
	fixture_tell(f, end);
}

static void ends(struct guest_fixture *f, enum verdict verdict, int64_t status, const char *signal)
{
	struct event end = end_of(verdict, status, signal);
	tell_end(f, &end);
}

static void tell_limit(struct guest_fixture *f, const char *name)
{
	const struct event ev = { .type = EVENT_LIMIT, .limit = { .name = name, .value = 1 } };
	fixture_tell(f, &ev);
}

static void tell_ask(struct guest_fixture *f, uint64_t id)
{
	static const char *const answers[] = { "\033[2J", "yes", "always" };
	const struct event ev = { .type = EVENT_ASK,
				  .ask = { .id = id,
					   .call = "ptrace",
					   .deadline_s = 1e9,
					   .answers = answers,
					   .answer_count = 3 } };
	fixture_tell(f, &ev);
}

static void tell_answer(struct guest_fixture *f, uint64_t id, const char *decision, const char *by)
{
	const struct event ev = { .type = EVENT_ANSWER,
				  .answer = { .id = id, .decision = decision, .by = by, .count = 1 } };
	fixture_tell(f, &ev);
}

/* ---- the ways of leaving the protocol ---- */

/* clang-format off */
static void garbage(struct guest_fixture *f) { static const char all[4096] = "\033[31mnot a frame"; fixture_say(f, all, sizeof(all)); }
static void empty_frame(struct guest_fixture *f) { fixture_say(f, "\0\0\0\0", 4); }
static void endless_frame(struct guest_fixture *f) { fixture_say(f, "\377\377\377\377", 4); }
static void old_frame(struct guest_fixture *f) { fixture_say(f, "\2\0\0\0\200\377", 6); }
static void a_verb(struct guest_fixture *f) { fixture_say(f, "\2\0\0\0\3\1", 6); }
static void half_streams(struct guest_fixture *f) { fixture_say(f, "\3\0\0\0\100\1\0", 7); }
static void streams_twice(struct guest_fixture *f) { fixture_printed(f, 1, 1); fixture_printed(f, 2, 2); }
static void start_event(struct guest_fixture *f) { const struct event ev = { .type = EVENT_START, .start = { .preset = "p", .backend = "b" } }; fixture_tell(f, &ev); }
static void output_event(struct guest_fixture *f) { const struct event ev = { .type = EVENT_OUTPUT, .output = { .bytes = "x", .len = 1 } }; fixture_tell(f, &ev); }
static void terminal_event(struct guest_fixture *f) { const struct event ev = { .type = EVENT_TERMINAL, .terminal = { .kind = "colour", .bytes = 1 } }; fixture_tell(f, &ev); }
static void progress_event(struct guest_fixture *f) { const struct event ev = { .type = EVENT_PROGRESS, .progress = { .text = "all is well" } }; fixture_tell(f, &ev); }
static void huge_count(struct guest_fixture *f) { const struct event ev = { .type = EVENT_DENIED, .denied = { .call = "ptrace", .count = INT64_MAX } }; fixture_tell(f, &ev); }
static void end_without_streams(struct guest_fixture *f) { struct event end = end_of(VERDICT_OK, 0, NULL); fixture_tell(f, &end); }
static void end_by_the_wall(struct guest_fixture *f) { ends(f, VERDICT_WALL_TIME, -1, NULL); }
static void end_by_the_person(struct guest_fixture *f) { ends(f, VERDICT_CANCELLED, -1, NULL); }
static void end_by_output(struct guest_fixture *f) { ends(f, VERDICT_OUTPUT, -1, NULL); }
static void end_by_policy(struct guest_fixture *f) { ends(f, VERDICT_POLICY, -1, NULL); }
static void ok_and_failed(struct guest_fixture *f) { ends(f, VERDICT_OK, 1, NULL); }
static void failed_and_ok(struct guest_fixture *f) { ends(f, VERDICT_FAILED, 0, NULL); }
static void ok_by_signal(struct guest_fixture *f) { ends(f, VERDICT_OK, 0, "SIGKILL"); }
static void signal_unnamed(struct guest_fixture *f) { ends(f, VERDICT_SIGNALLED, 137, NULL); }
static void signal_escaped(struct guest_fixture *f) { ends(f, VERDICT_SIGNALLED, 137, "SIG\033[2J"); }
static void status_beyond(struct guest_fixture *f) { ends(f, VERDICT_FAILED, 256, NULL); }
static void status_below(struct guest_fixture *f) { ends(f, VERDICT_MEMORY, -2, NULL); }
static void setup_that_ran(struct guest_fixture *f) { ends(f, VERDICT_SETUP_ERROR, 0, NULL); }
static void limit_wall(struct guest_fixture *f) { tell_limit(f, "wall"); }
static void limit_output(struct guest_fixture *f) { tell_limit(f, "output"); }
static void limit_unknown(struct guest_fixture *f) { tell_limit(f, "\033[31mpatience"); }
static void limit_there_is_not(struct guest_fixture *f) { tell_limit(f, "cpus"); }
static void limit_twice(struct guest_fixture *f) { tell_limit(f, "memory"); tell_limit(f, "memory"); }
static void asks_nobody(struct guest_fixture *f) { tell_ask(f, 1); }
static void asks_again(struct guest_fixture *f) { f->v->guest ? (void) 0 : abort(); tell_ask(f, 1); tell_ask(f, 1); }
static void asks_beyond(struct guest_fixture *f) { tell_ask(f, ASK_ASKED_MAX + 1); }
static void answers_itself(struct guest_fixture *f) { tell_ask(f, 1); tell_answer(f, 1, "run", "person"); }
static void denies_itself(struct guest_fixture *f) { tell_ask(f, 1); tell_answer(f, 1, "deny", "person"); }
static void answers_nothing(struct guest_fixture *f) { tell_answer(f, 0, "once", "rule"); }
static void answers_wildly(struct guest_fixture *f) { tell_answer(f, 0, "\033c", "rule"); }
/* clang-format on */

static void limits_met_wall(struct guest_fixture *f)
{
	static const char *const met[] = { "memory", "wall" };
	struct event end = end_of(VERDICT_OK, 0, NULL);
	end.exit.limits_met = met;
	end.exit.limits_met_count = 2;
	tell_end(f, &end);
}

static void many_errors(struct guest_fixture *f)
{
	const struct event ev = { .type = EVENT_ERROR, .error = { .text = "oh", .remedy = "no" } };
	fixture_flood(f, &ev, 200);
}

static void many_alerts(struct guest_fixture *f)
{
	const struct event ev = { .type = EVENT_ALERT, .alert = { .kind = "canary", .detail = "!" } };
	fixture_flood(f, &ev, 200);
}

static void test_whoever_leaves_the_protocol(void **state)
{
	static const char foreign[] = "not the guest's to tell", end[] = "an end that cannot be",
			  limit[] = "a limit that is not";
	static const struct {
		const char *name;
		void (*say)(struct guest_fixture *f);
		const char *how;
		bool asks; /* on_denied = ask, and somebody answers */
	} rows[] = {
		{ "garbage", garbage, "a length that no frame has", false },
		{ "empty frame", empty_frame, "a length that no frame has", false },
		{ "endless frame", endless_frame, "a length that no frame has", false },
		{ "another version", old_frame, "version 255", false },
		{ "a verb", a_verb, "is no event", false },
		{ "half a count", half_streams, "", false },
		{ "two counts", streams_twice, "a second count", false },
		{ "start", start_event, foreign, false },
		{ "output", output_event, foreign, false },
		{ "terminal", terminal_event, foreign, false },
		{ "progress", progress_event, foreign, false },
		{ "huge count", huge_count, "a count that nothing comes to", false },
		{ "end without counts", end_without_streams, end, false },
		{ "wall-time", end_by_the_wall, end, false },
		{ "cancelled", end_by_the_person, end, false },
		{ "output limit", end_by_output, end, false },
		{ "policy", end_by_policy, end, false },
		{ "ok with 1", ok_and_failed, end, false },
		{ "failed with 0", failed_and_ok, end, false },
		{ "ok by a signal", ok_by_signal, end, false },
		{ "a signal without name", signal_unnamed, end, false },
		{ "a signal with an escape", signal_escaped, end, false },
		{ "status 256", status_beyond, end, false },
		{ "status -2", status_below, end, false },
		{ "a setup that ran", setup_that_ran, end, false },
		{ "met the wall", limits_met_wall, "an end at a limit", false },
		{ "limit wall", limit_wall, limit, false },
		{ "limit output", limit_output, limit, false },
		{ "limit unknown", limit_unknown, limit, false },
		{ "limit that is not set", limit_there_is_not, limit, false },
		{ "limit twice", limit_twice, limit, false },
		{ "asks nobody", asks_nobody, "a question that it may not put", false },
		{ "asks the same again", asks_again, "a question that it may not put", true },
		{ "asks without end", asks_beyond, "a question that it may not put", true },
		{ "allows itself", answers_itself, "an answer that nobody gave", true },
		{ "denies as the person", denies_itself, "an answer that nobody gave", true },
		{ "an answer to nothing", answers_nothing, "an answer that nobody gave", true },
		{ "an answer that is none", answers_wildly, "an answer that there is none of", true },
		{ "many errors", many_errors, "more alarms than a run has", false },
		{ "many alerts", many_alerts, "more alarms than a run has", false },
	};
	(void) state;
	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
		struct guest_fixture f = { .launch.answers = rows[k].asks };
		f.policy.on_denied = rows[k].asks ? DENIED_ASK : DENIED_ERRNO;
		assert_int_equal(fixture_start(&f), 0);
		rows[k].say(&f);
		fixture_rounds(&f, 20);
		struct event ev = fixture_verdict(&f);
		if (!f.stops || ev.exit.verdict != VERDICT_LOST || !strstr(ev.exit.evidence, rows[k].how))
			fail_msg("%s: %u stops, %s, %s", rows[k].name, f.stops, verdict_name(ev.exit.verdict),
				 ev.exit.evidence);
		assert_int_equal(ev.exit.status, -1);
		assert_true(f.as_it_should);
		fixture_stop_all(&f);
	}
}

/* ---- honest ones ---- */

static void test_an_honest_end(void **state)
{
	static const char *const met[] = { "memory" };
	struct guest_fixture f = { 0 };
	struct event end = end_of(VERDICT_FAILED, 3, NULL);
	(void) state;
	end.exit.limits_met = met;
	end.exit.limits_met_count = 1;
	assert_int_equal(fixture_start(&f), 0);
	tell_end(&f, &end);
	fixture_rounds(&f, 20);
	struct event ev = fixture_verdict(&f);
	assert_int_equal(f.stops, 1); /* nothing is left running in there, whatever it says */
	assert_int_equal(ev.exit.verdict, VERDICT_FAILED);
	assert_int_equal(ev.exit.status, 3);
	assert_string_equal(ev.exit.evidence, "exit status 0 (told by the guest)");
	assert_string_equal(ev.exit.limits_met[0], "memory");
	fixture_stop_all(&f);
}

static void test_what_is_printed_last_is_waited_for(void **state)
{
	struct guest_fixture f = { 0 };
	struct event end = end_of(VERDICT_OK, 0, NULL);
	(void) state;
	assert_int_equal(fixture_start(&f), 0);
	fixture_printed(&f, 5, 0);
	fixture_tell(&f, &end);
	fixture_rounds(&f, 20);
	assert_int_equal(f.stops, 0);
	assert_int_equal(write(f.far_fd[FAR_STDOUT], "late\n", 5), 5);
	fixture_rounds(&f, 20);
	assert_int_equal(f.stops, 1);
	assert_int_equal(f.told[EVENT_OUTPUT], 1);
	fixture_stop_all(&f);
}

/* Its process is gone before all that it told was read. */
static void test_last_words_of_a_machine(void **state)
{
	struct guest_fixture f = { 0 };
	const struct event denied = { .type = EVENT_DENIED, .denied = { .call = "ptrace", .count = 1 } };
	(void) state;
	assert_int_equal(fixture_start(&f), 0);
	fixture_tell(&f, &denied);
	ends(&f, VERDICT_OK, 0, NULL);
	close_fd(&f.far_fd[FAR_CONTROL]);
	guest_machine_ended(f.v, 0);
	fixture_read(&f);
	struct event ev = fixture_verdict(&f);
	assert_int_equal(f.told[EVENT_DENIED], 1);
	assert_int_equal(ev.exit.verdict, VERDICT_OK);
	fixture_stop_all(&f);
}

static void test_a_machine_that_dies_without_a_word(void **state)
{
	struct guest_fixture f = { 0 };
	(void) state;
	assert_int_equal(fixture_start(&f), 0);
	close_fd(&f.far_fd[FAR_CONTROL]);
	fixture_rounds(&f, 20);
	guest_machine_ended(f.v, SIGSEGV);
	struct event ev = fixture_verdict(&f);
	assert_int_equal(ev.exit.verdict, VERDICT_LOST);
	assert_non_null(strstr(ev.exit.evidence, "signal 11"));
	fixture_stop_all(&f);
}

/* ---- what is the host's to say ---- */

static void test_figures_of_the_host(void **state)
{
	struct guest_fixture f = { 0 };
	const struct event meter = { .type = EVENT_METER,
				     .seq = 999,
				     .t_ns = 77 * NS_PER_S,
				     .source = SOURCE_HOST,
				     .meter = { .cpu_ns = 5, .host_cpu_ns = 1, .host_memory = 2 } };
	(void) state;
	assert_int_equal(fixture_start(&f), 0);
	f.v->meter.cpu_ns = 3000; /* never falls */
	pid_t machine = fork();
	if (machine == 0)
		for (;;)
			pause();
	fixture_tell(&f, &meter);
	fixture_rounds(&f, 5);
	kill(machine, SIGKILL);
	assert_int_equal(waitpid(machine, NULL, 0), machine);
	const struct event *ev = f.last[EVENT_METER];
	assert_non_null(ev);
	assert_in_range(ev->meter.host_cpu_ns, 3000, NS_PER_S);
	assert_in_range(ev->meter.host_memory, 4096, 1u << 30); /* what that process holds */
	assert_int_equal(ev->source, SOURCE_GUEST);
	assert_int_equal(ev->seq, 1);
	assert_true(ev->t_ns < 77 * NS_PER_S);
	tell_limit(&f, "memory");
	fixture_rounds(&f, 5);
	assert_int_equal(f.last[EVENT_LIMIT]->limit.value, 1u << 30);
	fixture_stop_all(&f);
}

/* A look at the machine costs more than the frame that asks for it. */
static void test_one_look_a_tick(void **state)
{
	struct guest_fixture f = { 0 };
	const struct event meter = { .type = EVENT_METER, .meter = { .cpu_ns = 5 } };
	const uint64_t not_read = 12345;
	(void) state;
	assert_int_equal(fixture_start(&f), 0);
	for (int told = 0; told < 3; told++) {
		fixture_tell(&f, &meter);
		fixture_rounds(&f, 5);
		assert_true((f.v->meter.memory == not_read) == (told == 1));
		f.v->meter.memory = not_read;
		if (told == 1)
			guest_tick(f.v);
	}
	fixture_stop_all(&f);
}

static void test_the_hosts_kill_stands(void **state)
{
	struct guest_fixture f = { 0 };
	(void) state;
	assert_int_equal(fixture_start(&f), 0);
	supervisor_kill(f.v, VERDICT_WALL_TIME);
	ends(&f, VERDICT_OK, 0, NULL);
	fixture_rounds(&f, 20);
	struct event ev = fixture_verdict(&f);
	assert_int_equal(ev.exit.verdict, VERDICT_WALL_TIME);
	fixture_stop_all(&f);
}

static void test_after_its_end_nothing_counts(void **state)
{
	struct guest_fixture f = { 0 };
	(void) state;
	assert_int_equal(fixture_start(&f), 0);
	fixture_printed(&f, UINT64_MAX, UINT64_MAX); /* which never come */
	struct event end = end_of(VERDICT_OK, 0, NULL);
	fixture_tell(&f, &end);
	ends(&f, VERDICT_FAILED, 9, NULL);
	tell_limit(&f, "memory");
	fixture_rounds(&f, 20);
	assert_int_equal(f.told[EVENT_LIMIT], 0);
	supervisor_cancel(f.v, "the person");
	assert_int_equal(f.stops, 1); /* it can be ended while it is waited for */
	struct event ev = fixture_verdict(&f);
	assert_int_equal(ev.exit.verdict, VERDICT_OK);
	fixture_stop_all(&f);
}

static void test_questions(void **state)
{
	struct guest_fixture f = { .launch.answers = true, .policy.on_denied = DENIED_ASK };
	const struct verb_msg once = { .verb = VERB_ANSWER, .id = 1, .decision = DECIDE_ONCE };
	const struct verb_msg run = { .verb = VERB_ANSWER, .id = 2, .decision = DECIDE_RUN };
	(void) state;
	assert_int_equal(fixture_start(&f), 0);
	tell_ask(&f, 1);
	tell_ask(&f, 2);
	fixture_rounds(&f, 5);
	const struct event *ask = f.last[EVENT_ASK];
	assert_int_equal(ask->ask.answer_count, 3);
	assert_string_equal(ask->ask.answers[0], "deny");
	assert_true(ask->ask.deadline_s <= 10);
	guest_verb(f.v, &once);
	guest_verb(f.v, &run);
	tell_answer(&f, 1, "once", "person");
	tell_answer(&f, 2, "run", "person");
	for (uint64_t id = 3; id < 40; id++)
		tell_ask(&f, id);
	tell_answer(&f, 2, "run", "person, for this run");
	tell_answer(&f, 3, "deny", "deadline");
	fixture_rounds(&f, 20);
	assert_int_equal(f.told[EVENT_ANSWER], 4);
	assert_int_equal(f.stops, 0);
	tell_answer(&f, 1, "run", "person, for this run");
	fixture_rounds(&f, 5);
	assert_int_equal(f.stops, 1);
	fixture_stop_all(&f);
}

/* ---- floods, silence ---- */

static void on_due(void *arg)
{
	++*(unsigned *) arg;
}

/* As fast as it can, between two ticks: so much is taken and the rest waits at the guest; whatever is due, is done. */
static void test_a_flood_of_events(void **state)
{
	static char path[4000];
	struct guest_fixture f = { 0 };
	struct err e;
	unsigned due = 0;
	(void) state;
	memset(path, 'p', sizeof(path) - 1);
	for (int large = 0; large < 2; large++) {
		const struct event ev = { .type = EVENT_EXEC, .exec = { .path = large ? path : "/bin/sh" } };
		f = (struct guest_fixture){ 0 };
		assert_int_equal(fixture_start(&f), 0);
		assert_true(fixture_flood(&f, &ev, 100000) < 100000);
		unsigned before = f.told[EVENT_EXEC];
		assert_in_range(before, 100, 8000);
		assert_in_range(before, 0, large ? 600 : 8000);
		due = 0;
		assert_true(loop_timer(f.v->loop, 0, 0, on_due, &due, &e) >= 0);
		guest_tick(f.v);
		fixture_rounds(&f, 2);
		assert_int_equal(due, 1);
		assert_true(f.told[EVENT_EXEC] > before);
		assert_true(f.v->feed.queued < MEMORY_BOUND);
		supervisor_cancel(f.v, "the person");
		assert_int_equal(f.stops, 1);
		fixture_stop_all(&f);
	}
}

/* A front end that reads nothing meanwhile. */
static void test_a_flood_that_nobody_reads(void **state)
{
	static char path[4000];
	struct guest_fixture f = { 0 };
	const struct event ev = { .type = EVENT_FILE, .file = { .op = "open", .path = path, .count = 1 } };
	static uint8_t space[WIRE_FRAME_MAX];
	struct buf out = { 0 };
	struct err e;
	(void) state;
	memset(path, 'p', sizeof(path) - 1);
	assert_int_equal(fixture_start(&f), 0);
	wire_stream_put(&out, space, (size_t) event_encode(&ev, space, sizeof(space)));
	for (int k = 0; k < 10000; k++) {
		if (write(f.far_fd[FAR_CONTROL], out.data, out.len) < (ssize_t) out.len)
			break; /* in the middle of a frame even */
		if (k % 20 == 0)
			assert_int_equal(loop_once(f.v->loop, 0, &e), 0);
		if (k % 400 == 0)
			guest_tick(f.v);
	}
	assert_true(f.v->feed.queued < MEMORY_BOUND);
	assert_true(f.v->feed.dropped[EVENT_FILE] > 0);
	buf_done(&out);
	fixture_stop_all(&f);
}

static void test_a_guest_that_never_reads(void **state)
{
	struct guest_fixture f = { 0 };
	(void) state;
	assert_int_equal(fixture_start(&f), 0);
	for (uint32_t k = 0; k < 2000000; k++) {
		const struct verb_msg m = { .verb = VERB_RESIZE, .rows = k & 0xff, .columns = 80 };
		guest_verb(f.v, &m);
	}
	assert_true(f.v->inst.guest_out.len < MEMORY_BOUND);
	assert_int_equal(f.stops, 0);
	fixture_stop_all(&f);
}

/* It told too much, and hangs up before it is listened to again. */
static void test_hangs_up_while_it_has_to_wait(void **state)
{
	struct guest_fixture f = { 0 };
	const struct event ev = { .type = EVENT_EXEC, .exec = { .path = "/bin/sh" } };
	(void) state;
	assert_int_equal(fixture_start(&f), 0);
	unsigned said = fixture_flood(&f, &ev, 20000);
	assert_true(f.told[EVENT_EXEC] < said);
	close_fd(&f.far_fd[FAR_CONTROL]);
	fixture_rounds(&f, 20);
	for (int k = 0; k < 5; k++) {
		guest_tick(f.v);
		fixture_rounds(&f, 5);
	}
	assert_int_equal(f.told[EVENT_EXEC], said); /* nothing of it is lost */
	fixture_stop_all(&f);
}

/* Once the target has ended its limits are not looked at any more: which is no way to go on. */
static void test_says_that_it_ended_and_goes_on(void **state)
{
	static const uint8_t ended[] = { 2, 0, 0, 0, INSIDE_ENDED, WIRE_VERSION };
	struct guest_fixture f = { 0 };
	struct err e;
	(void) state;
	assert_int_equal(fixture_start(&f), 0);
	fixture_say(&f, ended, sizeof(ended));
	while (!f.stops) {
		assert_true(loop_once(f.v->loop, 50, &e) >= 0);
		fixture_say(&f, ended, sizeof(ended));
		(void) !write(f.far_fd[FAR_STDOUT], ".", 1);
		fixture_rounds(&f, 1);
	}
	struct event ev = fixture_verdict(&f);
	assert_int_equal(ev.exit.verdict, VERDICT_LOST);
	assert_non_null(strstr(ev.exit.evidence, "it came to no end"));
	fixture_stop_all(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whoever_leaves_the_protocol),
		cmocka_unit_test(test_an_honest_end),
		cmocka_unit_test(test_what_is_printed_last_is_waited_for),
		cmocka_unit_test(test_last_words_of_a_machine),
		cmocka_unit_test(test_a_machine_that_dies_without_a_word),
		cmocka_unit_test(test_figures_of_the_host),
		cmocka_unit_test(test_one_look_a_tick),
		cmocka_unit_test(test_the_hosts_kill_stands),
		cmocka_unit_test(test_after_its_end_nothing_counts),
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_a_flood_of_events),
		cmocka_unit_test(test_a_flood_that_nobody_reads),
		cmocka_unit_test(test_a_guest_that_never_reads),
		cmocka_unit_test(test_hangs_up_while_it_has_to_wait),
		cmocka_unit_test(test_says_that_it_ended_and_goes_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
