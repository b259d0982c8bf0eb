/* SPDX-License-Identifier: MIT */
/*
 * What dead supervisors left: swept when nobody holds its lock, left alone while somebody does, and never anything that
 * is not a run's.
 */
#include "core/backend/backend.h"
#include "core/backend/temp.h"
#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OLD_ID "01ARZ3NDEKTSV4RRFFQ69G5FAV" /* of the year 2016 */

static char base[32];

static int setup(void **state)
{
	(void) state;
	strcpy(base, "/tmp/bj-sweep-XXXXXX");
	return mkdtemp(base) && setenv("TMPDIR", base, 1) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	(void) state;
	return dir_remove_tree(AT_FDCWD, base, NULL);
}

static bool there(const char *below)
{
	FREE char *path = xprintf("%s/%s", base, below);
	return access(path, F_OK) == 0;
}

static char *folder_of(const char *run_id)
{
	return xprintf("belljar-%u/%s", geteuid(), run_id);
}

static void test_held_is_left_and_dead_is_swept(void **state)
{
	FREE char *path = NULL, *name = folder_of(OLD_ID);
	struct err e;
	int fd;
	(void) state;
	assert_int_equal(temp_create(OLD_ID, geteuid(), &path, &fd, &e), 0);
	assert_true(there(name));
	sweep_dead();
	assert_true(there(name)); /* its lock is held: by us */
	close(fd);
	sweep_dead();
	assert_false(there(name));
}

/* A new run makes its folder and locks it an instant later: the instant must not cost it the folder. */
static void test_young_is_left(void **state)
{
	struct launch *l = launch_new();
	FREE char *path = NULL, *name = folder_of(l->run_id);
	struct err e;
	int fd;
	(void) state;
	assert_int_equal(temp_create(l->run_id, geteuid(), &path, &fd, &e), 0);
	close(fd);
	sweep_dead();
	assert_true(there(name));
	assert_int_equal(temp_remove(l->run_id, &e), 0);
	assert_false(there(name));
	launch_free(l);
}

static void test_strangers_are_left(void **state)
{
	FREE char *user = xprintf("%s/belljar-%u", base, geteuid()), *other = xprintf("%s/not-a-run", user);
	(void) state;
	assert_int_equal(mkdir(user, 0711), 0);
	assert_int_equal(mkdir(other, 0700), 0);
	sweep_dead();
	assert_int_equal(access(other, F_OK), 0);
}

/* Anyone may make the folder in /tmp first. It is not trusted, and keeps nobody out. */
static void test_a_folder_of_somebody_else(void **state)
{
	FREE char *user = xprintf("%s/belljar-%u", base, geteuid()), *path = NULL;
	struct err e;
	int fd;
	(void) state;
	assert_int_equal(mkdir(user, 0777), 0);
	assert_int_equal(chmod(user, 0777), 0); /* writable by all: as good as somebody else's */
	assert_int_equal(temp_create(OLD_ID, geteuid(), &path, &fd, &e), 0);
	assert_null(strstr(path + strlen(user), "../"));
	assert_int_not_equal(strncmp(path, user, strlen(user) + 1), 0);
	assert_true(path[strlen(user)] == '.'); /* the next name */
	close(fd);
	sweep_dead();
	assert_int_not_equal(access(path, F_OK), 0);
}

static _Noreturn void sleep_as(const char *variable)
{
	char name[] = "sleep", seconds[] = "30";
	char *argv[] = { name, seconds, NULL }, *env[] = { (char *) variable, NULL };
	execve("/usr/bin/sleep", argv, env);
	_exit(127);
}

static void test_marked_processes_end(void **state)
{
	FREE char *path = NULL;
	struct err e;
	int fd, status;
	(void) state;
	assert_int_equal(temp_create(OLD_ID, geteuid(), &path, &fd, &e), 0);
	close(fd);
	pid_t marked = fork();
	if (marked == 0) {
		sleep_as("BELLJAR_RUN=" OLD_ID);
	}
	pid_t other = fork();
	if (other == 0) {
		sleep_as("BELLJAR_RUN=" OLD_ID "X");
	}
	char exe[64], link[64];
	for (int k = 0; k < 2; k++) { /* until both have executed: before that their environment is ours */
		snprintf(exe, sizeof(exe), "/proc/%d/comm", k ? other : marked);
		for (int tries = 0; tries < 2000; tries++) {
			if (file_read_small(AT_FDCWD, exe, link, sizeof(link)) > 0 &&
			    strcmp(link, "sleep") == 0)
				break;
			usleep(1000);
		}
	}
	sweep_dead();
	assert_int_equal(waitpid(marked, &status, 0), marked);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(waitpid(other, &status, WNOHANG), 0);
	kill(other, SIGKILL);
	waitpid(other, &status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_held_is_left_and_dead_is_swept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_young_is_left, setup, teardown),
		cmocka_unit_test_setup_teardown(test_strangers_are_left, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_folder_of_somebody_else, setup, teardown),
		cmocka_unit_test_setup_teardown(test_marked_processes_end, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
