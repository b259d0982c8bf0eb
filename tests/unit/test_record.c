/* SPDX-License-Identifier: MIT */
/*
 * Recordings: written, read back, cut at every byte, damaged in every way that a reader must name; and the
 * folder they lie in, which several belljars prune at once.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/base.h"
#include "core/model/model.h"

static char folder[64];

static int setup(void **state)
{
	(void) state;
	strcpy(folder, "/tmp/belljar-record-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	return setenv("XDG_STATE_HOME", folder, 1);
}

static int teardown(void **state)
{
	(void) state;
	struct err e;
	return dir_remove_tree(AT_FDCWD, folder, &e);
}

static char *in_folder(const char *name)
{
	static char path[512];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static struct launch *make_launch(const char *path)
{
	struct launch *l = launch_new();
	struct err e;

	assert_non_null(l);
	l->policy = xcalloc(1, sizeof(*l->policy));
	l->policy->name = xstrdup("namespaces");
	l->policy->backend = xstrdup("namespaces");
	for (size_t i = 0; i < LIMIT_MAX; i++)
		l->policy->limit[i] = UNLIMITED;
	l->policy->limit[LIMIT_MEMORY] = 256u << 20;
	l->language = language_by_name("python");
	l->title = xstrdup("agent.py");
	assert_int_equal(launch_set_code(l, "print(1)\n", 9, NULL, &e), 0);
	l->record_path = path ? xstrdup(path) : NULL;
	return l;
}

static const struct event whole_run[] = {
	{ .seq = 1, .type = EVENT_START, .start = { .preset = "namespaces" } },
	{ .seq = 2, .t_ns = 21000000, .type = EVENT_OUTPUT, .output = { .bytes = "1\n\xff", .len = 3 } },
	{ .seq = 3, .t_ns = 22000000, .type = EVENT_ALERT, .alert = { .kind = "canary", .detail = "seen" } },
	{ .seq = 4, .t_ns = 23000000, .type = EVENT_EXIT, .exit = { .verdict = VERDICT_OK } },
};

static void write_run(const char *path)
{
	struct launch *l = make_launch(path);
	struct record *r;
	struct err e;

	assert_int_equal(record_create(l, &r, &e), 0);
	assert_string_equal(record_path(r), path);
	for (size_t i = 0; i < ARRAY_LEN(whole_run); i++)
		record_add(r, &whole_run[i]);
	assert_int_equal(record_close(r, &e), 0);
	launch_free(l);
}

static void put_file(const char *path, const char *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, data, len), 0);
	close(fd);
}

static struct recording *must_read(const char *path)
{
	struct recording *r = NULL;
	struct err e = { .code = 0 };
	if (recording_read(path, &r, &e) < 0)
		print_error("%s\n", e.text);
	assert_non_null(r);
	return r;
}

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

#define HEADER "{\"belljar\":1,\"run\":\"R\",\"policy\":{\"name\":\"p\"}}\n"
#define FIRST  "{\"seq\":1,\"t\":0,\"type\":\"alert\",\"kind\":\"k\"}\n"
#define SECOND "{\"seq\":2,\"t\":0,\"type\":\"alert\",\"kind\":\"k\"}\n"
#define EXIT   "{\"seq\":2,\"t\":0,\"type\":\"exit\",\"verdict\":\"ok\"}\n"

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

static size_t count_recordings(void)
{
	DIR *dir = opendir(in_folder("belljar/runs"));
	size_t count = 0;
	assert_non_null(dir);
	for (struct dirent *d; (d = readdir(dir));)
		count += str_ends(d->d_name, ".jsonl") && d->d_type == DT_REG;
	closedir(dir);
	return count;
}

static void record_by_default(void)
{
	struct launch *l = make_launch(NULL);
	struct record *r;
	struct err e;
	assert_int_equal(record_create(l, &r, &e), 0);
	assert_int_equal(access(record_path(r), F_OK), 0);
	assert_int_equal(record_close(r, &e), 0);
	launch_free(l);
}

static bool is_there(const char *name)
{
	char path[128];
	struct stat st;
	snprintf(path, sizeof(path), "belljar/runs/%s", name);
	return lstat(in_folder(path), &st) == 0;
}

static void test_old_recordings_go(void **state)
{
	(void) state;
	struct stat st;
	char name[64];
	record_by_default();
	assert_int_equal(stat(in_folder("belljar/runs"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "belljar/runs/00%02d.jsonl", i);
		put_file(in_folder(name), "x", 1);
	}
	put_file(in_folder("belljar/runs/0000"), "x", 1);
	put_file(in_folder("belljar/runs/0000.json"), "x", 1);
	put_file(in_folder("victim"), "x", 1);
	assert_int_equal(mkdir(in_folder("belljar/runs/00-folder.jsonl"), 0700), 0);
	char *victim = xstrdup(in_folder("victim"));
	assert_int_equal(symlink(victim, in_folder("belljar/runs/00-link.jsonl")), 0);
	free(victim);
	int busy = open(in_folder("belljar/runs/0003.jsonl"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(busy, LOCK_SH), 0);

	record_by_default(); /* the 62nd: 12 are over, one of those is being written */
	assert_int_equal(count_recordings(), RECORDINGS_KEPT + 1);
	assert_true(is_there("0003.jsonl"));
	assert_false(is_there("0011.jsonl"));
	assert_true(is_there("0012.jsonl"));
	assert_true(is_there("0000") && is_there("0000.json") && is_there("00-folder.jsonl") &&
		    is_there("00-link.jsonl"));
	assert_int_equal(access(in_folder("victim"), F_OK), 0);
	close(busy);
	record_by_default();
	assert_int_equal(count_recordings(), RECORDINGS_KEPT);
	assert_false(is_there("0003.jsonl"));
}

static void test_a_named_recording_prunes_nothing(void **state)
{
	(void) state;
	char name[64];
	record_by_default();
	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "belljar/runs/00%02d.jsonl", i);
		put_file(in_folder(name), "x", 1);
	}
	write_run(in_folder("belljar/runs/mine.jsonl"));
	assert_int_equal(count_recordings(), 62);
}

static void must_refuse(const char *below)
{
	struct launch *l = make_launch(NULL);
	struct record *r = NULL;
	struct err e = { .code = 0 };
	assert_int_equal(record_create(l, &r, &e), -EPERM);
	assert_null(r);
	assert_non_null(strstr(e.text, in_folder(below)));
	assert_non_null(strstr(e.text, "--record FILE"));
	assert_non_null(strstr(e.text, "--no-record"));
	launch_free(l);
}

/* Who can choose the folder chooses what is removed in it. */
static void test_a_folder_of_others_is_not_used(void **state)
{
	(void) state;
	char *victim = xstrdup(in_folder("victim")), *runs = xstrdup(in_folder("belljar/runs"));
	char *parent = xstrdup(in_folder("belljar"));
	assert_int_equal(mkdir(victim, 0700), 0);
	for (int i = 0; i < RECORDINGS_KEPT + 5; i++) {
		char name[32];
		snprintf(name, sizeof(name), "victim/00%02d.jsonl", i);
		put_file(in_folder(name), "x", 1);
	}
	assert_int_equal(mkdir(parent, 0700), 0);
	assert_int_equal(symlink(victim, runs), 0);
	must_refuse("belljar/runs");
	assert_int_equal(access(in_folder("victim/0000.jsonl"), F_OK), 0);
	assert_int_equal(unlink(runs), 0);

	assert_int_equal(mkdir(runs, 0700), 0);
	assert_int_equal(chmod(runs, 0720), 0);
	must_refuse("belljar/runs");
	assert_int_equal(chmod(runs, 0755), 0); /* to be read is no danger to us */
	record_by_default();
	assert_int_equal(chmod(parent, 0702), 0);
	must_refuse("belljar");
	assert_int_equal(chmod(parent, 0700), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(runs, 12345, 12345), 0);
		must_refuse("belljar/runs");
		assert_int_equal(chown(runs, 0, 0), 0);
	}
	assert_int_equal(rename(parent, in_folder("moved")), 0);
	assert_int_equal(symlink(in_folder("moved"), parent), 0);
	must_refuse("belljar");
	free(victim);
	free(parent);
	free(runs);
}

static int record_and_hold(void)
{
	for (int i = 0; i < 20; i++) {
		struct launch *l = make_launch(NULL);
		struct record *r;
		struct err e;
		if (record_create(l, &r, &e) < 0)
			return 1;
		record_add(r, &whole_run[0]);
		bool there = record_flush(r) == 0 && access(record_path(r), F_OK) == 0;
		if (record_close(r, &e) < 0 || !there)
			return 2;
		launch_free(l);
	}
	return 0;
}

/* Eighty recordings by four at once: each finds its own to the end, and the folder comes out right. */
static void test_parallel_pruning(void **state)
{
	(void) state;
	pid_t pids[4];
	for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0)
			_exit(record_and_hold());
	}
	for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
		int status = -1;
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	record_by_default();
	assert_int_equal(count_recordings(), RECORDINGS_KEPT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

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
		TEST(test_old_recordings_go),
		TEST(test_a_named_recording_prunes_nothing),
		TEST(test_a_folder_of_others_is_not_used),
		TEST(test_parallel_pruning),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
