/* SPDX-License-Identifier: MIT */
/*
 * The folder that recordings lie in: several belljars prune it at once, and who could choose it is not trusted.
 */
#include "tests/unit/record_place.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_old_recordings_go),
		TEST(test_a_named_recording_prunes_nothing),
		TEST(test_a_folder_of_others_is_not_used),
		TEST(test_parallel_pruning),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
