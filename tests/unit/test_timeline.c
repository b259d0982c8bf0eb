/* SPDX-License-Identifier: MIT */
/*
 * Events as lines for a person: the words, and that nothing which a target chose can reach a terminal
 * unscrubbed.
 */
#include "fill_event.h"

#include "core/model/model.h"

static char *line_of(const struct event *ev, bool ascii)
{
	struct buf out = { .data = NULL };
	event_line(ev, ascii, &out);
	return buf_steal(&out);
}

static void check_line(const struct event *ev, const char *expect)
{
	char *line = line_of(ev, true);
	assert_string_equal(line, expect);
	free(line);
}

static void test_words(void **state)
{
	(void) state;
	const struct event_arg args[] = { { .key = "request", .text = "PTRACE_ATTACH" },
					  { .key = "pid", .number = 1 } };
	const struct event denied = { .t_ns = 6100000000,
				      .type = EVENT_DENIED,
				      .outcome = OUTCOME_REFUSED,
				      .layer = LAYER_SECCOMP,
				      .basis = BASIS_ANSWERED,
				      .denied = { .pid = 4,
						  .command = "python3",
						  .call = "ptrace",
						  .args = args,
						  .arg_count = 2,
						  .error = "EPERM",
						  .rule = "default:debug",
						  .count = 1 } };
	check_line(&denied, "00:06.1 DENIED python3[4] ptrace(PTRACE_ATTACH, pid=1)  refused      "
			    "EPERM, rule default:debug: the system-call filter");

	const struct event network = { .t_ns = 125 * NS_PER_S,
				       .type = EVENT_NETWORK,
				       .outcome = OUTCOME_UNREACHABLE,
				       .layer = LAYER_NET_NS,
				       .basis = BASIS_PREDICTED,
				       .network = { .pid = -1,
						    .op = "connect",
						    .protocol = "tcp",
						    .address = "169.254.169.254",
						    .port = 80,
						    .count = 6 } };
	check_line(&network, "02:05.0 NET    connect tcp 169.254.169.254:80 x6       unreachable  "
			     "its own network, without a route (predicted)");

	const struct event six = { .type = EVENT_NETWORK,
				   .network = { .pid = 9, .op = "connect", .address = "::1", .port = 53 } };
	check_line(&six, "00:00.0 NET    pid 9 connect [::1]:53");

	const struct event limit = {
		.t_ns = 3725 * NS_PER_S,
		.type = EVENT_LIMIT,
		.basis = BASIS_COUNTER,
		.limit = { .name = "memory", .value = 256u << 20, .evidence = "oom_kill 1 in memory.events" }
	};
	check_line(&limit,
		   "62:05.0 LIMIT  memory of 256 MiB met                   oom_kill 1 in memory.events");

	const struct event wall = { .type = EVENT_LIMIT,
				    .limit = { .name = "wall", .value = 1500 * NS_PER_MS } };
	check_line(&wall, "00:00.0 LIMIT  wall of 1.5 s met");

	const struct event ended = { .type = EVENT_EXIT,
				     .exit = { .verdict = VERDICT_MEMORY,
					       .status = 137,
					       .signal = "SIGKILL",
					       .evidence = "limit 256 MiB" } };
	check_line(&ended, "00:00.0 EXIT   memory, status 137, SIGKILL             limit 256 MiB");

	const struct event meter = { .type = EVENT_METER,
				     .meter = { .cpu_pct = UNKNOWN_F64,
						.memory = 11u << 20,
						.memory_peak = UNKNOWN_U64,
						.processes = 3,
						.processes_peak = 4,
						.written = UNKNOWN_U64 } };
	check_line(&meter, "00:00.0 METER  cpu ? %, memory 11 MiB, processes 3, written ?  peaks: memory ?, "
			   "processes 4");

	const char *const flags[] = { "O_WRONLY", "O_CLOEXEC", "O_CREAT" };
	const struct event file = { .type = EVENT_FILE,
				    .outcome = OUTCOME_READ_ONLY,
				    .layer = LAYER_MOUNT_NS,
				    .basis = BASIS_PREDICTED,
				    .file = { .pid = 4,
					      .command = "sh",
					      .op = "open",
					      .path = "/etc/x",
					      .flags = flags,
					      .flag_count = 3,
					      .count = 2 } };
	check_line(&file, "00:00.0 FILE   sh[4] open /etc/x O_WRONLY|O_CREAT x2   read-only    "
			  "its own view of files (predicted)");

	const char *const argv[] = { "sh", "-c", "id; ls" };
	const struct event exec = {
		.source = SOURCE_GUEST,
		.type = EVENT_EXEC,
		.exec = { .pid = 5, .parent = 4, .path = "/bin/sh", .argv = argv, .argv_count = 3 }
	};
	check_line(&exec,
		   "00:00.0 EXEC   pid 5 sh -c 'id; ls'                    program /bin/sh, started by pid 4 "
		   "(the guest says so)");
}

static void test_output_is_its_first_line(void **state)
{
	(void) state;
	struct event ev = { .type = EVENT_OUTPUT, .output = { .bytes = "hello\r\nworld\n", .len = 13 } };
	check_line(&ev, "00:00.0 STDOUT hello                                   and 6 more bytes");
	ev.output.stream = STREAM_STDERR;
	ev.output.len = 7;
	check_line(&ev, "00:00.0 STDERR hello");
	ev.output.len = 0;
	check_line(&ev, "00:00.0 STDERR ");
	ev.output.bytes = NULL;
	check_line(&ev, "00:00.0 STDERR ");
}

static void test_long_text_is_cut_and_counted(void **state)
{
	(void) state;
	static char bytes[90000];
	memset(bytes, 'x', sizeof(bytes));
	const struct event ev = { .type = EVENT_OUTPUT, .output = { .bytes = bytes, .len = sizeof(bytes) } };
	char *line = line_of(&ev, true);
	assert_true(strlen(line) < 4300);
	assert_non_null(strstr(line, "(and 85904 more bytes)"));
	free(line);
}

static void check_printable(const char *line, bool ascii)
{
	assert_true(text_is_utf8(line, strlen(line)));
	for (const unsigned char *c = (const unsigned char *) line; *c; c++) {
		assert_true(*c >= 0x20 && *c != 0x7f);
		assert_false(ascii && *c >= 0x80);
		assert_false(c[0] == 0xc2 && c[1] < 0xa0); /* C1 */
	}
	assert_null(strstr(line, "\xe2\x80\xae")); /* U+202E, which turns the rest of the line around */
}

static const char hostile[] = "\x1b]52;c;YQ==\a\x1b[2J\n\t\xc2\x9b"
			      "5n\xff\xe2\x80\xae\x7f";

static void poison(void *base, const struct event_field *f);

static void poison_field(void *base, const struct event_field *f)
{
	char *items = *(char **) field_ptr(base, f);

	if (f->kind == FIELD_STR)
		*(const char **) field_ptr(base, f) = hostile;
	if (f->kind == FIELD_BYTES) {
		*(const char **) field_ptr(base, f) = hostile;
		fill_set_count(base, f, sizeof(hostile) - 1);
	}
	if (f->kind == FIELD_STRS)
		for (size_t i = 0; i < field_count(base, f); i++)
			((const char **) (void *) items)[i] = hostile;
	if (f->kind == FIELD_LIST || f->kind == FIELD_MAP)
		for (size_t i = 0; i < field_count(base, f); i++)
			poison(items + i * f->items->size, f->items->fields);
}

static void poison(void *base, const struct event_field *f)
{
	for (; f->name; f++)
		poison_field(base, f);
}

/* Every string of every type, whatever the words make of it. */
static void test_hostile_strings_are_scrubbed(void **state)
{
	(void) state;
	for (unsigned type = 0; type < EVENT_UNKNOWN; type++) {
		struct fill s = { .n = 0 };
		struct event ev;
		fill_event(&s, type, &ev);
		poison(&ev, event_fields(type));
		ev.extra = hostile;
		for (int ascii = 0; ascii < 2; ascii++) {
			char *line = line_of(&ev, ascii);
			check_printable(line, ascii);
			free(line);
		}
		fill_done(&s);
	}
	const struct event unknown = { .type = EVENT_UNKNOWN,
				       .unknown = { .type = hostile, .json = hostile } };
	char *line = line_of(&unknown, true);
	check_printable(line, true);
	free(line);
}

/* Nothing but what must be there: no type may stumble over what is not known. */
static void test_bare_events_have_words(void **state)
{
	(void) state;
	for (unsigned type = 0; type < EVENT_UNKNOWN; type++) {
		struct event ev = { .type = type };
		for (const struct event_field *f = event_fields(type); f->name; f++)
			if (f->kind == FIELD_STR && (f->flags & FIELD_REQUIRED))
				*(const char **) field_ptr(&ev, f) = "";
			else if (f->kind == FIELD_U64 && !(f->flags & FIELD_REQUIRED))
				*(uint64_t *) field_ptr(&ev, f) = UNKNOWN_U64;
			else if (f->kind == FIELD_I64)
				*(int64_t *) field_ptr(&ev, f) = -1;
			else if (f->kind == FIELD_F64)
				*(double *) field_ptr(&ev, f) = UNKNOWN_F64;
		char *line = line_of(&ev, true);
		check_printable(line, true);
		assert_null(strstr(line, "18446744073709551615"));
		assert_null(strstr(line, "(null)"));
		free(line);
	}
}

/* Every threaded program asks for clone3 and takes the older way: that must not read like an offence. */
static void test_what_is_absent_is_not_denied(void **state)
{
	const struct event ev = { .type = EVENT_DENIED,
				  .outcome = OUTCOME_ABSENT,
				  .denied = { .pid = -1,
					      .call = "clone3",
					      .error = "ENOSYS",
					      .rule = "default:clone3",
					      .count = 1 } };
	struct buf out = { 0 };
	(void) state;
	event_words(&ev, false, &out);
	assert_true(str_starts(out.data, "ABSENT clone3("));
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_output_is_its_first_line),
		cmocka_unit_test(test_long_text_is_cut_and_counted),
		cmocka_unit_test(test_hostile_strings_are_scrubbed),
		cmocka_unit_test(test_what_is_absent_is_not_denied),
		cmocka_unit_test(test_bare_events_have_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
