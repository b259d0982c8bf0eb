/* SPDX-License-Identifier: MIT */
/*
 * What this machine can do for a virtual machine, decided on made-up facts: whether KVM is tried at all, that a trial is
 * bounded, the rate of a counter from points that were disturbed, and a memory of it that may hold anything.
 */
#include "core/backend/guest.h"
#include "core/backend/machine.h"
#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a folder of the test's own, as / and as the cache ---- */

static char place[64];

static int setup(void **state)
{
	(void) state;
	snprintf(place, sizeof(place), "/tmp/belljar-machine-XXXXXX");
	return mkdtemp(place) && setenv("XDG_CACHE_HOME", place, 1) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	struct err e;
	(void) state;
	return dir_remove_tree(AT_FDCWD, place, &e);
}

static void put(const char *path, const char *text)
{
	struct err e;
	FREE char *whole = xprintf("%s/%s", place, path);
	FREE char *folder = xstrdup(whole);
	*strrchr(folder, '/') = 0;
	assert_int_equal(dir_make_all(folder, 0700, &e), 0);
	close(open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
	assert_int_equal(file_write_str(AT_FDCWD, whole, text, &e), 0);
}

static char *get(const char *path)
{
	char text[4096] = "";
	FREE char *whole = xprintf("%s/%s", place, path);
	(void) file_read_small(AT_FDCWD, whole, text, sizeof(text));
	return xstrdup(text);
}

/* ---- facts ---- */

static void test_decisions(void **state)
{
	static const struct {
		struct kvm_facts facts;
		enum kvm_state want;
	} cases[] = {
		{ { .extension = true }, KVM_UNTRIED },
		{ { .extension = true, .open_error = ENOENT }, KVM_NO_DEVICE },
		{ { .extension = true, .open_error = EACCES }, KVM_NO_RIGHT },
		{ { .extension = true, .open_error = EPERM }, KVM_NO_RIGHT },
		{ { .extension = true, .open_error = EMFILE }, KVM_NO_OPEN },
		{ { .open_error = 0 }, KVM_NO_EXTENSION },
		{ { .open_error = ENOENT }, KVM_NO_EXTENSION },
		{ { .paravirtual = true }, KVM_PARAVIRTUAL },
		{ { .paravirtual = true, .extension = true }, KVM_PARAVIRTUAL },
		/* who may not open it is not sent to join a group that would not help */
		{ { .paravirtual = true, .open_error = EACCES }, KVM_PARAVIRTUAL },
	};
	(void) state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(kvm_decide(&cases[i].facts), cases[i].want);
}

static void test_kinds(void **state)
{
	(void) state;
	for (enum kvm_state s = 0; s < KVM_STATE_MAX; s++) {
		struct kvm_verdict v;
		assert_true(kvm_kinds[s].word[0] && kvm_kinds[s].why[0]);
		assert_int_equal(kvm_kinds[s].error == 0, s == KVM_UNTRIED || s == KVM_USABLE);
		assert_int_equal(kvm_kinds[s].error == 0, kvm_kinds[s].remedy[0] == 0);
		kvm_say(&v, s, NULL);
		assert_string_equal(v.why, kvm_kinds[s].why); /* it fits */
	}
}

static void test_facts_are_read(void **state)
{
	struct kvm_facts f;
	FREE char *device = NULL;
	(void) state;
	put("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vmx_of_another vme svmx\nvmx flags\t: vnmi\n"
			    "bugs\t: svm\n");
	kvm_facts_read(place, &f);
	assert_false(f.extension || f.paravirtual);
	assert_int_equal(f.open_error, ENOENT);
	put("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme svm\n\nprocessor\t: 1\nflags\t\t: fpu\n");
	put("dev/kvm", "");
	put("sys/module/kvm_pvm/version", "");
	kvm_facts_read(place, &f);
	assert_true(f.extension && f.paravirtual);
	assert_int_equal(f.open_error, 0);
	assert_string_equal(kvm_remedy(place), kvm_kinds[KVM_PARAVIRTUAL].remedy);
	put("proc/cpuinfo", "flags\t\t: vmx fpu\n");
	kvm_facts_read(place, &f);
	assert_false(f.extension); /* it is not the first line of any real one */
	put("proc/cpuinfo", "processor\t: 0\nflags\t\t: vmx fpu\n");
	kvm_facts_read(place, &f);
	assert_true(f.extension);
	device = xprintf("%s/dev/kvm", place);
	assert_int_equal(unlink(device), 0);
	assert_int_equal(mkdir(device, 0700), 0);
	kvm_facts_read(place, &f);
	assert_int_equal(f.open_error, EISDIR);
}

/* ---- a trial is bounded ---- */

static int runs(struct err *e)
{
	(void) e;
	return 0;
}

static int differs(struct err *e)
{
	return err_say(e, EINVAL, "exit 17\n, not 2");
}

static int hangs(struct err *e)
{
	(void) e;
	while (pause() < 0)
		continue;
	return 0;
}

static int dies(struct err *e)
{
	(void) e;
	return raise(SIGKILL);
}

static void test_trials(void **state)
{
	struct kvm_verdict v;
	(void) state;
	kvm_watch(runs, 60 * NS_PER_S, &v);
	assert_int_equal(v.state, KVM_USABLE);
	kvm_watch(differs, 60 * NS_PER_S, &v);
	assert_int_equal(v.state, KVM_WRONG);
	assert_string_equal(v.why, "exit 17?, not 2");
	kvm_watch(dies, 60 * NS_PER_S, &v);
	assert_int_equal(v.state, KVM_WRONG);
	kvm_watch(hangs, 50 * NS_PER_MS, &v);
	assert_int_equal(v.state, KVM_HUNG);
	assert_int_equal(waitpid(-1, NULL, 0), -1); /* nobody is left */
	assert_int_equal(errno, ECHILD);
}

static int started_fd;

static int starts_and_hangs(struct err *e)
{
	(void) !write(started_fd, "!", 1);
	return hangs(e);
}

/* Who is killed while a trial goes on takes it along. */
static void test_trial_dies_with_us(void **state)
{
	int fds[2], status;
	char byte;
	struct kvm_verdict v;
	(void) state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	started_fd = fds[1];
	pid_t pid = fork();
	if (pid == 0) {
		kvm_watch(starts_and_hangs, 60 * NS_PER_S, &v);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(waitpid(-1, &status, 0) > 0); /* it came to us, and ended */
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
	close(fds[0]);
	close(fds[1]);
}

/* ---- the counter ---- */

static void test_rate(void **state)
{
	static const struct tsc_point good[] = { { 1000, 0, 40 }, { 18173000 + 1000, 7000000, 40 } };
	static const struct tsc_point disturbed[] = {
		{ 1000, 2000000, 4000000 }, /* preempted between the readings: 2 ms off */
		{ 18173000 + 1000, 7000000, 40 },
		{ 36346000 + 1000, 14000000, 40 },
	};
	static const struct tsc_point doubtful[] = { { 1000, 0, 2000 }, { 18173000 + 1000, 7000000, 2000 } };
	static const struct tsc_point still[] = { { 1000, 0, 40 }, { 1000, 7000000, 40 } };
	static const struct tsc_point slow[] = { { 1000, 0, 40 }, { 8000, 7000000, 40 } };
	static const struct tsc_point back[] = { { 1000, 7000000, 40 }, { 18173000, 0, 40 } };
	(void) state;
	assert_int_equal(tsc_khz_of(good, 2), 2596000); /* of 2596.14 */
	assert_int_equal(tsc_khz_of(disturbed, 3), 2596000);
	assert_int_equal(tsc_khz_of(doubtful, 2), 0);
	assert_int_equal(tsc_khz_of(still, 2), 0);
	assert_int_equal(tsc_khz_of(slow, 2), 0);
	assert_int_equal(tsc_khz_of(back, 2), 0);
	assert_int_equal(tsc_khz_of(good, 1), 0);
}

/* ---- what is remembered ---- */

#define BOOT   "1c31b7ff-34c3-4b14-8214-7eefac5c987b"
#define KERNEL "6.1.0-9-amd64"
#define HEAD   "belljar machine 1\nboot = " BOOT "\nkernel = " KERNEL "\n"

static void test_memory_comes_back(void **state)
{
	(void) state;
	for (enum kvm_state s = 0; s < KVM_STATE_MAX; s++) {
		struct machine_memory m = { .tsc_khz = 2596000 }, back;
		struct buf text = { 0 };
		kvm_say(&m.kvm, s, "why\nend = 1");
		machine_memory_format(&m, BOOT, KERNEL, &text);
		machine_memory_parse(text.data, BOOT, KERNEL, &back);
		assert_int_equal(back.tsc_khz, 2596000);
		assert_int_equal(back.kvm.state, kvm_kinds[s].lasts ? s : KVM_UNTRIED);
		if (kvm_kinds[s].lasts)
			assert_string_equal(back.kvm.why, "why?end = 1");
		buf_done(&text);
	}
}

static void test_memory_of_rubbish(void **state)
{
	static const char *const nothing[] = {
		"",
		"end",
		"\nend",
		"tsc_khz = 2596000\nend",
		HEAD "tsc_khz = 2596000",     /* cut off */
		HEAD "tsc_khz = 2596000\nen", /* so too */
		HEAD "tsc_khz = 99999\nend",
		HEAD "tsc_khz = 20000001\nend",
		HEAD "tsc_khz = -2596000\nend",
		HEAD "tsc_khz = 18446744073709551617\nend",
		HEAD "tsc_khz = \nend",
		HEAD "tsc_khz\nend",
		HEAD "tsc_khz=2596000\nend",
		HEAD "kvm = \nend",
		HEAD "kvm = usabl\nend",
		HEAD "kvm = untried\nend",
		HEAD "kvm = no-right\nend", /* may change within a boot */
		"belljar machine 2\nboot = " BOOT "\nkernel = " KERNEL "\ntsc_khz = 2596000\nend",
		"belljar machine 1\nboot = " BOOT "x\nkernel = " KERNEL "\ntsc_khz = 2596000\nend",
		"belljar machine 1\nboot = " BOOT "\nkernel = 6.1.0-10-amd64\ntsc_khz = 2596000\nend",
	};
	struct machine_memory m;
	char noise[600];
	(void) state;
	for (size_t i = 0; i < ARRAY_LEN(nothing); i++) {
		machine_memory_parse(nothing[i], BOOT, KERNEL, &m);
		assert_int_equal(m.tsc_khz, 0);
		assert_int_equal(m.kvm.state, KVM_UNTRIED);
	}
	machine_memory_parse(HEAD "noise\n\n = \ntsc_khz = 2596000\nkvm = hung\nend", BOOT, KERNEL, &m);
	assert_int_equal(m.tsc_khz, 2596000);
	assert_int_equal(m.kvm.state, KVM_HUNG);
	snprintf(noise, sizeof(noise), HEAD "kvm = hung\nwhy = %0400d\x1b\nend", 0);
	machine_memory_parse(noise, BOOT, KERNEL, &m);
	assert_int_equal(strlen(m.kvm.why), KVM_WHY - 1);
}

/* The file itself: written, believed, and measured anew where it is not to be believed. */
static void test_tsc_is_remembered(void **state)
{
	struct err e;
	uint32_t khz = 0, again = 0;
	(void) state;
	if (machine_tsc_khz(&khz, &e) == -ENOTSUP)
		skip(); /* no such counter */
	assert_in_range(khz, 100000, 20000000);
	assert_int_equal(khz % 1000, 0);
	FREE char *text = get("belljar/machine");
	char *digit = strstr(text, "\ntsc_khz = ");
	assert_non_null(digit);
	digit += strlen("\ntsc_khz = ");
	*digit = *digit == '3' ? '4' : '3';
	put("belljar/machine", text);
	assert_int_equal(machine_tsc_khz(&again, &e), 0);
	assert_int_equal(again, strtoul(digit, NULL, 10));
	put("belljar/machine", "\xff\xfe rubbish");
	assert_int_equal(machine_tsc_khz(&again, &e), 0);
	assert_int_not_equal(again, strtoul(digit, NULL, 10));
	FREE char *mended = get("belljar/machine");
	assert_true(str_starts(mended, "belljar machine 1\n"));
}

static void test_failure_is_remembered(void **state)
{
	uint32_t khz;
	struct err e;
	(void) state;
	machine_kvm_failed("no \"ready\" within 3 s");
	FREE char *text = get("belljar/machine");
	assert_non_null(strstr(text, "\nkvm = guest-failed\nwhy = no \"ready\" within 3 s\n"));
	assert_null(strstr(text, "tsc_khz"));
	if (machine_tsc_khz(&khz, &e) < 0)
		skip();
	FREE char *more = get("belljar/machine");
	assert_non_null(strstr(more, "\ntsc_khz = ")); /* one beside the other */
	assert_non_null(strstr(more, "\nkvm = guest-failed\n"));
}

static void test_without_a_cache(void **state)
{
	uint32_t khz;
	struct err e;
	(void) state;
	put("file", "");
	FREE char *path = xprintf("%s/file", place);
	assert_int_equal(setenv("XDG_CACHE_HOME", path, 1), 0);
	machine_kvm_failed("it goes nowhere");
	int r = machine_tsc_khz(&khz, &e);
	assert_true(r == 0 || r == -ENOTSUP);
}

/* ---- what a preset asks for ---- */

/* As if a guest had failed: then no machine says yes, whatever it has, and each must say why. */
static void test_accel(void **state)
{
	enum accel got = ACCEL_AUTO;
	const char *why = NULL;
	struct err e = { 0 };
	(void) state;
	machine_kvm_failed("it did not come up");
	assert_int_equal(machine_accel(ACCEL_TCG, &got, &why, &e), 0);
	assert_int_equal(got, ACCEL_TCG);
	assert_true(why[0]);
	got = ACCEL_AUTO;
	assert_int_equal(machine_accel(ACCEL_AUTO, &got, &why, &e), 0);
	assert_int_equal(got, ACCEL_TCG);
	assert_true(why[0]);
	got = ACCEL_AUTO;
	assert_int_equal(machine_accel(ACCEL_KVM, &got, &why, &e), -ENOTSUP);
	assert_int_equal(got, ACCEL_AUTO);
	assert_int_equal(need_of(&e), NEED_KVM);
	assert_non_null(strstr(e.text, why));
	const char *remedy = kvm_remedy("") ? kvm_remedy("") : need_kinds[NEED_KVM].remedy;
	assert_true(str_ends(e.text, remedy));
}

static void test_programs(void **state)
{
	struct err e;
	FREE char *path = NULL;
	(void) state;
	assert_int_equal(machine_program("sh", &path, &e), 0);
	assert_true(path[0] == '/' && str_ends(path, "/sh"));
	assert_int_equal(machine_program("no-such-program", &path, &e), -ENOENT);
	assert_non_null(strstr(e.text, "no-such-program"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decisions),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test_setup_teardown(test_facts_are_read, setup, teardown),
		cmocka_unit_test(test_trials),
		cmocka_unit_test(test_trial_dies_with_us),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_memory_comes_back),
		cmocka_unit_test(test_memory_of_rubbish),
		cmocka_unit_test_setup_teardown(test_tsc_is_remembered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failure_is_remembered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_a_cache, setup, teardown),
		cmocka_unit_test_setup_teardown(test_accel, setup, teardown),
		cmocka_unit_test(test_programs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
