/* SPDX-License-Identifier: MIT */
/*
 * Recordings: written, read back, cut at every byte, damaged in every way that a reader must name.
 */
#include "tests/unit/record_place.h"

static void test_what_was_written_is_read(void **state)
{
	(void) state;
	char *path = in_folder("run.jsonl");
	mode_t before = umask(0777); /* which would leave a file that nobody may read */
	write_run(path);
	umask(before);
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);

	struct recording *r = must_read(path);
	assert_null(r->damage);
	assert_string_equal(r->path, path);
	assert_int_equal(strlen(r->run_id), 26);
	assert_int_equal(strlen(r->started), strlen("2026-01-02T03:04:05.678Z"));
	assert_string_equal(r->preset, "namespaces");
	assert_string_equal(r->backend, "namespaces");
	assert_string_equal(r->language, "python");
	assert_string_equal(r->title, "agent.py");
	assert_string_equal(r->code, "print(1)\n");
	assert_int_equal(r->code_len, 9);
	assert_int_equal(strlen(r->code_sha256), 64);
	assert_int_equal(r->count, ARRAY_LEN(whole_run));
	for (size_t i = 0; i < r->count; i++) {
		assert_int_equal(r->events[i]->type, whole_run[i].type);
		assert_int_equal(r->events[i]->t_ns, whole_run[i].t_ns);
	}
	assert_memory_equal(r->events[1]->output.bytes, "1\n\xff", 3);
	recording_free(r);
}

static void test_nothing_is_written_over(void **state)
{
	(void) state;
	struct err e;
	struct record *r = NULL;
	char *path = in_folder("taken");
	struct launch *l = make_launch(path);
	put_file(path, "mine", 4);
	assert_int_equal(record_create(l, &r, &e), -EEXIST);
	assert_non_null(strstr(e.text, path));
	char *data;
	assert_int_equal(file_read(AT_FDCWD, path, 100, &data, NULL, &e), 0);
	assert_string_equal(data, "mine");
	free(data);

	/* an empty file, a link to one, a link to nowhere: each was there before */
	put_file(path, "", 0);
	assert_int_equal(record_create(l, &r, &e), -EEXIST);
	free(l->record_path);
	l->record_path = xstrdup(in_folder("link"));
	assert_int_equal(symlink(in_folder("nowhere"), l->record_path), 0);
	assert_int_equal(record_create(l, &r, &e), -EEXIST);
	assert_int_equal(access(in_folder("nowhere"), F_OK), -1);
	free(l->record_path);
	l->record_path = xstrdup(in_folder("no/such/folder"));
	assert_int_equal(record_create(l, &r, &e), -ENOENT);
	assert_null(r);
	launch_free(l);
}

static void test_events_leave_in_few_writes(void **state)
{
	(void) state;
	char *path = in_folder("buffered");
	struct launch *l = make_launch(path);
	struct record *r;
	struct err e;
	struct stat st;
	assert_int_equal(record_create(l, &r, &e), 0);
	record_add(r, &whole_run[0]);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(record_flush(r), 0);
	assert_int_equal(stat(path, &st), 0);
	off_t flushed = st.st_size;
	assert_true(flushed > 100);
	for (uint64_t seq = 2; seq < 3000; seq++) {
		struct event ev = whole_run[2];
		ev.seq = seq;
		record_add(r, &ev);
		assert_int_equal(stat(path, &st), 0);
	}
	assert_true(st.st_size > flushed + 100000); /* what waits is bounded */
	assert_int_equal(record_close(r, &e), 0);
	launch_free(l);
	struct recording *back = must_read(path);
	assert_int_equal(back->count, 2999);
	recording_free(back);
	assert_int_equal(record_close(NULL, &e), 0);
}

static void test_a_full_disk_is_told_once(void **state)
{
	(void) state;
	char *path = in_folder("full");
	struct launch *l = make_launch(path);
	struct record *r;
	struct err e = { .code = 0 };
	struct rlimit old, small = { .rlim_cur = 2000 };
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(record_create(l, &r, &e), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (uint64_t seq = 1; seq < 3000; seq++) {
		struct event ev = whole_run[2];
		ev.seq = seq;
		record_add(r, &ev);
	}
	assert_int_equal(record_flush(r), -EFBIG);
	assert_int_equal(e.code, 0);
	assert_int_equal(record_close(r, &e), -EFBIG);
	assert_non_null(strstr(e.text, path));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, handler);
	launch_free(l);

	struct recording *back = must_read(path);
	assert_true(back->count > 3 && back->count < 40);
	assert_non_null(strstr(back->damage, "cut off"));
	recording_free(back);
}

/* A loop of failed calls with long arguments is as good a way to fill a disk as output is. */
static void test_a_recording_has_a_largest_size(void **state)
{
	(void) state;
	char *path = xstrdup(in_folder("large"));
	struct launch *l = make_launch(path);
	struct record *r;
	struct err e;
	struct stat st;
	static char words[60000];
	memset(words, 'x', sizeof(words) - 1);
	const uint64_t count = RECORDING_MAX / sizeof(words) + 300;
	const struct event long_output = { .type = EVENT_OUTPUT,
					   .output = { .bytes = words, .len = sizeof(words) - 1 } };
	const struct event long_alert = { .type = EVENT_ALERT, .alert = { .kind = "k", .detail = words } };
	uint64_t seq = 0;
	assert_int_equal(record_create(l, &r, &e), 0);
	launch_free(l);
	for (uint64_t k = 0; k < 2 * count; k++) { /* first output alone, then all else */
		struct event ev = k < count ? long_output : long_alert;
		ev.seq = ++seq;
		record_add(r, &ev);
	}
	struct event last = whole_run[3];
	last.seq = ++seq;
	record_add(r, &last);
	assert_int_equal(record_close(r, &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > RECORDING_MAX - 200000 && st.st_size < RECORDING_MAX + 200000);

	struct recording *back = must_read(path);
	assert_null(back->damage); /* its numbers have no gap */
	uint64_t kept[EVENT_TYPE_MAX] = { 0 }, lost = 0;
	for (size_t k = 0; k < back->count; k++) {
		kept[back->events[k]->type]++;
		lost += back->events[k]->type == EVENT_DROPPED ? back->events[k]->dropped.count : 0;
	}
	assert_int_equal(kept[EVENT_DROPPED], 2);
	assert_int_equal(kept[EVENT_EXIT], 1);
	assert_true(kept[EVENT_ALERT] > 500); /* the output left them room */
	assert_int_equal(kept[EVENT_OUTPUT] + kept[EVENT_ALERT] + lost, 2 * count);
	recording_free(back);
	free(path);
}

static void test_code_that_is_not_utf8(void **state)
{
	(void) state;
	struct launch *l = make_launch(in_folder("latin1"));
	struct record *r;
	struct err e;
	free(l->code);
	l->code = xstrdup("# caf\xe9\n");
	l->code_len = 7;
	sha256_hex(l->code, l->code_len, l->code_sha256);
	assert_int_equal(record_create(l, &r, &e), 0);
	assert_int_equal(record_close(r, &e), 0);
	struct recording *back = must_read(l->record_path);
	assert_int_equal(back->code_len, 7);
	assert_memory_equal(back->code, l->code, 7);
	recording_free(back);
	launch_free(l);
}

static void test_cut_at_every_byte(void **state)
{
	(void) state;
	char *path = in_folder("whole");
	struct err e;
	char *data;
	size_t len, lines = 0;
	write_run(path);
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &data, &len, &e), 0);
	char *cut_path = xstrdup(in_folder("cut"));
	for (size_t cut = 0; cut <= len; cut++) {
		struct recording *r = NULL;
		put_file(cut_path, data, cut);
		/* a line without its newline is whole all the same when all else is there */
		bool ends_whole = data[cut] == '\n' || cut == len;
		size_t whole = lines + (data[cut] == '\n');
		int got = recording_read(cut_path, &r, &e);
		if (whole == 0) {
			assert_int_equal(got, -EINVAL);
			assert_non_null(strstr(e.text, cut_path));
			assert_null(r);
		} else {
			assert_int_equal(got, 0);
			assert_int_equal(r->count, whole - 1);
			assert_true((r->damage == NULL) == (ends_whole && whole == 1 + ARRAY_LEN(whole_run)));
			recording_free(r);
		}
		lines += data[cut] == '\n';
	}
	free(cut_path);
	free(data);
}

#define HEADER  "{\"belljar\":1,\"run\":\"R\",\"policy\":{\"name\":\"p\"}}\n"
#define FIRST   "{\"seq\":1,\"t\":0,\"type\":\"alert\",\"kind\":\"k\"}\n"
#define SECOND  "{\"seq\":2,\"t\":0,\"type\":\"alert\",\"kind\":\"k\"}\n"
#define LATER   "{\"seq\":2,\"t\":2,\"type\":\"alert\",\"kind\":\"k\"}\n"
#define EARLIER "{\"seq\":3,\"t\":1,\"type\":\"alert\",\"kind\":\"k\"}\n"
#define WAIT    "{\"seq\":1,\"t\":5,\"type\":\"progress\",\"text\":\"w\"}\n"
#define START   "\"t\":0,\"type\":\"start\"}\n"
#define EXIT    "{\"seq\":2,\"t\":0,\"type\":\"exit\",\"verdict\":\"ok\"}\n"

static void test_damage_is_named(void **state)
{
	(void) state;
	static const struct {
		const char *text;
		size_t count;
		const char *says; /* NULL: whole */
	} rows[] = {
		{ HEADER FIRST EXIT, 2, NULL },
		{ HEADER, 0, "line 2 (byte 46): the file ends without an exit event, after 0 events" },
		{ HEADER FIRST, 1, "line 3 (byte 88): the file ends without an exit event, after 1 event" },
		{ HEADER FIRST "garbage\n" EXIT, 1, "line 3 (byte 88): not valid JSON" },
		{ HEADER FIRST "\n" EXIT, 1, "line 3 (byte 88): not valid JSON" },
		{ HEADER FIRST "{\"seq\":2,", 1,
		  "line 3 (byte 88): the line is cut off; 1 event before it could be read" },
		{ HEADER FIRST "[1]\n", 1, "not a JSON object" },
		{ HEADER FIRST FIRST EXIT, 1, "line 3 (byte 88): event 1 stands where 2 should be" },
		{ HEADER FIRST LATER EARLIER, 2, "its time is before that of the event before it" },
		{ HEADER WAIT "{\"seq\":2," START
			      "{\"seq\":3,\"t\":1,\"type\":\"exit\",\"verdict\":\"ok\"}\n",
		  3, NULL }, /* what goes before the start has a clock of its own */
		{ HEADER WAIT EXIT, 1, "its time is before that of the event before it" },
		{ HEADER FIRST LATER "{\"seq\":3," START, 2,
		  "its time is before that of the event before it" },
		{ HEADER EXIT, 0, "line 2 (byte 46): event 2 stands where 1 should be" },
		{ HEADER FIRST EXIT SECOND, 2, "something stands after the exit event" },
		{ HEADER FIRST "{\"seq\":2,\"t\":0,\"type\":\"output\",\"stream\":\"stdout\"}\n", 1,
		  "\"text\" that cannot be" },
		{ HEADER FIRST "{\"seq\":2,\"t\":0,\"type\":\"new\",\"what\":1}\n", 2, "after 2 events" },
	};
	char *path = xstrdup(in_folder("damaged"));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put_file(path, rows[i].text, strlen(rows[i].text));
		struct recording *r = must_read(path);
		assert_int_equal(r->count, rows[i].count);
		assert_string_equal(r->preset, "p");
		assert_string_equal(r->title, "");
		if (rows[i].says && !(r->damage && strstr(r->damage, rows[i].says)))
			print_error("%s\n", r->damage ? r->damage : "(whole)");
		if (rows[i].says)
			assert_true(r->damage && strstr(r->damage, rows[i].says));
		else
			assert_null(r->damage);
		recording_free(r);
	}
	static const char nuls[] = HEADER FIRST "\0\0\0\0\0\0\n" EXIT;
	put_file(path, nuls, sizeof(nuls) - 1);
	struct recording *r = must_read(path);
	assert_int_equal(r->count, 1);
	assert_non_null(strstr(r->damage, "line 3 (byte 88): NUL bytes"));
	recording_free(r);
	free(path);
}

static void test_changed_code_is_named(void **state)
{
	(void) state;
	static const char text[] =
		"{\"belljar\":1,\"code\":{\"sha256\":\"00\",\"language\":\"python\",\"text\":\"x\"}}\n" FIRST
			EXIT;
	char *path = in_folder("changed");
	put_file(path, text, sizeof(text) - 1);
	struct recording *r = must_read(path);
	assert_int_equal(r->count, 2);
	assert_non_null(strstr(r->damage, "SHA-256"));
	recording_free(r);
}

static void test_what_is_no_recording(void **state)
{
	(void) state;
	static const char *const texts[] = {
		"",
		"\n",
		"print(1)\n",
		"{}\n",
		"{\"belljar\":",
		"{\"belljar\":1",
		"{\"belljar\":1}garbage\n",
		"{\"belljar\":2}\n",
		"{\"belljar\":\"1\"}\n",
		"{\"belljar\":1,\"belljar\":1}\n",
		FIRST,
		"\177ELF",
	};
	char *path = xstrdup(in_folder("other"));
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct recording *r = NULL;
		struct err e;
		put_file(path, texts[i], strlen(texts[i]));
		assert_int_equal(recording_read(path, &r, &e), -EINVAL);
		assert_non_null(strstr(e.text, path));
		assert_null(r);
	}
	struct recording *r = NULL;
	struct err e;
	assert_int_equal(recording_read("/dev/zero", &r, &e), -EINVAL);
	assert_int_equal(recording_read(folder, &r, &e), -EINVAL);
	assert_int_equal(recording_read(in_folder("absent"), &r, &e), -ENOENT);
	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
	assert_int_equal(recording_read(in_folder("fifo"), &r, &e),
			 -EINVAL); /* and does not wait for a writer */
	free(path);
}

static void test_a_line_without_end(void **state)
{
	(void) state;
	char *path = in_folder("endless");
	put_file(path, HEADER FIRST, strlen(HEADER FIRST));
	assert_int_equal(truncate(path, (off_t) RECORD_LINE_MAX * 4), 0); /* sparse: NULs without a newline */
	struct recording *r = must_read(path);
	assert_int_equal(r->count, 1);
	assert_non_null(strstr(r->damage, "line 3 (byte 88): the line is too long"));
	recording_free(r);
	recording_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_was_written_is_read),
		TEST(test_nothing_is_written_over),
		TEST(test_events_leave_in_few_writes),
		TEST(test_a_full_disk_is_told_once),
		TEST(test_a_recording_has_a_largest_size),
		TEST(test_code_that_is_not_utf8),
		TEST(test_cut_at_every_byte),
		TEST(test_damage_is_named),
		TEST(test_changed_code_is_named),
		TEST(test_what_is_no_recording),
		TEST(test_a_line_without_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
