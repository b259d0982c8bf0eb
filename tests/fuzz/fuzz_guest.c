/* SPDX-License-Identifier: MIT */
/*
 * A machine in hostile hands, on all of its ports, as its supervisor meets it. Whatever it says: what reaches the front
 * end is told as the guest's, is the guest's to tell and can be shown; what a person did not say nobody has said; what
 * waits in memory is bounded; and there is a verdict, which is not one of the host's own.
 *
 * The first byte of the input is the run's (enum run_bits). Then come steps: a byte for what is done (enum step), two for
 * a length, and so many bytes for it.
 */
#include "check_event.h"
#include "tests/unit/guest_fixture.h"

enum run_bits { RUN_ANSWERS = 1, RUN_KILLS = 2, RUN_OUTPUT = 4, RUN_STOPS = 8, RUN_SMALL = 16 };
enum step {
	STEP_FRAME, /* on the control port, behind its length */
	STEP_BYTES, /* on it, as they are */
	STEP_STDOUT,
	STEP_STDERR,
	STEP_DATA,
	STEP_TICK,
	STEP_ANSWER, /* a person's: the first byte is the question's number, the second the decision */
	STEP_HANG_UP,
	STEP_ENDED, /* the machine, with the first byte for its status */
	STEP_MAX,
};

#define INPUT_MAX    (64u << 10) /* a socket holds more */
#define MEMORY_BOUND (16u << 20)

static bool answered; /* by a person */
static const struct meter *hosts_meter;

static void check_answer(const struct event *ev)
{
	const char *by = ev->answer.by ? ev->answer.by : "";
	CHECK(ev->answer.decision);
	CHECK(answered || (strcmp(ev->answer.decision, "deny") == 0 && !str_starts(by, "person")));
}

static void check_told(const struct event *ev)
{
	static const bool hosts[EVENT_TYPE_MAX] = { [EVENT_START] = true,
						    [EVENT_OUTPUT] = true,
						    [EVENT_TERMINAL] = true,
						    [EVENT_PROGRESS] = true,
						    [EVENT_EXIT] = true };
	check_line(ev, ev->seq & 1);
	check_json(ev);
	CHECK(ev->source == SOURCE_HOST || !hosts[ev->type]);
	CHECK(ev->type != EVENT_START && ev->type != EVENT_EXIT && ev->type != EVENT_PROGRESS);
	if (ev->type == EVENT_METER)
		CHECK(ev->meter.host_memory == hosts_meter->memory);
	if (ev->type == EVENT_LIMIT && ev->source == SOURCE_GUEST)
		CHECK(ev->limit.value == 1u << 30 || ev->limit.value == 10 * NS_PER_S);
	if (ev->type == EVENT_ASK)
		CHECK(strcmp(ev->ask.answers[0], "deny") == 0 && ev->ask.deadline_s <= 10);
	if (ev->type == EVENT_ANSWER)
		check_answer(ev);
}

static void check_verdict(struct guest_fixture *f)
{
	static const bool may_be[VERDICT_MAX] = {
		[VERDICT_OK] = true,       [VERDICT_FAILED] = true,      [VERDICT_SIGNALLED] = true,
		[VERDICT_CPU_TIME] = true, [VERDICT_MEMORY] = true,      [VERDICT_PROCESSES] = true,
		[VERDICT_OUTPUT] = true,   [VERDICT_WRITE_SPACE] = true, [VERDICT_POLICY] = true,
		[VERDICT_LOST] = true,     [VERDICT_SETUP_ERROR] = true,
	};
	struct event ev = fixture_verdict(f);
	CHECK(ev.type == EVENT_EXIT && may_be[ev.exit.verdict]);
	CHECK(ev.exit.verdict != VERDICT_POLICY || f->policy.on_denied == DENIED_KILL);
	CHECK(ev.exit.verdict != VERDICT_OUTPUT || f->policy.on_output_limit == OUTPUT_STOP);
	CHECK(ev.exit.verdict != VERDICT_OK || str_ends(ev.exit.evidence, "(told by the guest)"));
	CHECK(verdict_status(&ev) >= 0 && verdict_status(&ev) <= 255);
	check_line(&ev, false);
	check_json(&ev);
}

/* What there is no room for is lost, as if it had not been said. */
static void say(struct guest_fixture *f, int which, const void *bytes, size_t len)
{
	if (f->far_fd[which] >= 0)
		(void) !write(f->far_fd[which], bytes, len);
}

static void say_frame(struct guest_fixture *f, const void *bytes, size_t len)
{
	struct buf out = { 0 };
	wire_stream_put(&out, bytes, len);
	say(f, FAR_CONTROL, out.data, out.len);
	buf_done(&out);
}

static void answer(struct guest_fixture *f, const uint8_t *bytes, size_t len)
{
	if (len < 2 || !f->launch.answers)
		return;
	const struct verb_msg m = { .verb = VERB_ANSWER, .id = bytes[0], .decision = bytes[1] % 3 };
	answered = true;
	guest_verb(f->v, &m);
}

/* False: there is no machine any more. */
static bool step(struct guest_fixture *f, enum step what, const uint8_t *bytes, size_t len)
{
	static const int port[] = { [STEP_BYTES] = FAR_CONTROL,
				    [STEP_STDOUT] = FAR_STDOUT,
				    [STEP_STDERR] = FAR_STDERR,
				    [STEP_DATA] = FAR_DATA };
	switch (what) {
	case STEP_FRAME:
		say_frame(f, bytes, len);
		break;
	case STEP_TICK:
		guest_tick(f->v);
		output_tick(f->v);
		break;
	case STEP_ANSWER:
		answer(f, bytes, len);
		break;
	case STEP_HANG_UP:
		close_fd(&f->far_fd[FAR_CONTROL]);
		break;
	case STEP_ENDED:
		guest_machine_ended(f->v, len ? bytes[0] : 0);
		return false;
	default:
		say(f, port[what], bytes, len);
	}
	fixture_rounds(f, 1);
	return true;
}

static void steps(struct guest_fixture *f, const uint8_t *data, size_t size)
{
	while (size >= 3) {
		size_t len = data[1] | (size_t) data[2] << 8;
		if (len > size - 3)
			len = size - 3;
		if (!step(f, data[0] % STEP_MAX, data + 3, len))
			return;
		CHECK(f->v->feed.queued < MEMORY_BOUND && f->v->inst.guest_out.len < MEMORY_BOUND);
		data += 3 + len;
		size -= 3 + len;
	}
	guest_tick(f->v);
	fixture_rounds(f, 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0 || size > INPUT_MAX)
		return 0;
	static char folder[] = "/out";
	unsigned bits = data[0];
	struct guest_fixture f = { .came = check_told };
	f.launch.answers = bits & RUN_ANSWERS;
	f.launch.output_dir = bits & RUN_OUTPUT ? folder : NULL;
	f.policy.on_denied = bits & RUN_ANSWERS ? DENIED_ASK : bits & RUN_KILLS ? DENIED_KILL : DENIED_ERRNO;
	f.policy.on_output_limit = bits & RUN_STOPS ? OUTPUT_STOP : OUTPUT_DROP;
	answered = false;
	CHECK(fixture_start(&f) == 0);
	if (bits & RUN_SMALL)
		f.v->output.left = 16;
	hosts_meter = &f.v->meter;
	steps(&f, data + 1, size - 1);
	CHECK(f.as_it_should);
	check_verdict(&f);
	fixture_stop_all(&f);
	return 0;
}
