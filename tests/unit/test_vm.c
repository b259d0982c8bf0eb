/* SPDX-License-Identifier: MIT */
/*
 * The command line of a QEMU as data, and its monitor against what may come from the other end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/backend/vm.h"
#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct vm_want boot = { .accel = ACCEL_TCG,
				     .memory = 160 << 20,
				     .tsc_khz = 2600000,
				     .vmlinux = "/somewhere/vmlinux",
				     .initrd = "/somewhere/initrd" };
static const struct vm_want restore = { .accel = ACCEL_TCG, .memory = 160 << 20, .tsc_khz = 2600000 };

static const char *after(char *const *argv, const char *option)
{
	for (; *argv; argv++)
		if (strcmp(*argv, option) == 0)
			return argv[1];
	return NULL;
}

static void test_boot_and_restore_are_one_machine(void **state)
{
	(void) state;
	char **a = vm_argv(&boot, "qemu"), **b = vm_argv(&restore, "qemu");
	size_t differ = 0, k = 0;
	/* word by word until one of them says how it starts: but for how the RAM is mapped they are the same */
	for (; strcmp(a[k], "-kernel") != 0 && strcmp(b[k], "-incoming") != 0; k++)
		if (strcmp(a[k], b[k]) != 0) {
			assert_non_null(strstr(a[k], "share=on"));
			assert_non_null(strstr(b[k], "share=off"));
			differ++;
		}
	assert_int_equal(differ, 1);
	assert_string_equal(a[k], "-kernel");
	assert_string_equal(b[k], "-incoming");
	assert_string_equal(b[k + 1], "defer");
	assert_null(b[k + 2]);
	strv_free(a);
	strv_free(b);
}

static void test_kernel_words(void **state)
{
	(void) state;
	struct vm_want kvm = boot;
	kvm.accel = ACCEL_KVM;
	char **a = vm_argv(&boot, "qemu"), **b = vm_argv(&kvm, "qemu");
	assert_non_null(strstr(after(a, "-append"), " tsc_early_khz=2600000 "));
	assert_non_null(strstr(after(a, "-append"), " mitigations=off"));
	assert_non_null(strstr(after(a, "-append"), " panic=-1 reboot=t "));
	assert_null(strstr(after(b, "-append"), "mitigations"));
	assert_string_equal(after(b, "-accel"), "kvm");
	assert_string_equal(after(a, "-m"), "160M");
	/* host paths are not told to it */
	for (char **word = a; *word; word++)
		assert_null(strstr(*word, "somewhere"));
	strv_free(a);
	strv_free(b);
}

static void test_no_network(void **state)
{
	(void) state;
	char **a = vm_argv(&boot, "qemu");
	assert_string_equal(a[1], "-nodefaults"); /* without it QEMU adds a card */
	for (char **word = a; *word; word++) {
		assert_string_not_equal(*word, "-netdev");
		assert_string_not_equal(*word, "-nic");
		assert_null(strstr(*word, "virtio-net"));
	}
	strv_free(a);
}

/* ---- the monitor ---- */

#define GREETING "{\"QMP\": {\"version\": {}}}\r\n"
#define WELL     "{\"return\": {}}\r\n"
#define EVENT    "{\"timestamp\": {\"seconds\": 1}, \"event\": \"RESUME\"}\r\n"

/* What qmp_save comes to where QEMU says all of this and goes; *ret_said: what it was told. */
static int save_against(const char *answers, size_t len, char *ret_said, size_t size, struct err *e)
{
	int p[2];
	CLOSE_FD int state_fd = memfd_create("state", MFD_CLOEXEC);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p), 0);
	assert_int_equal(write(p[1], answers, len), len);
	assert_int_equal(shutdown(p[1], SHUT_WR), 0);
	int r = qmp_save(p[0], state_fd, e);
	if (ret_said) {
		ssize_t n = recv(p[1], ret_said, size - 1, MSG_DONTWAIT);
		ret_said[n < 0 ? 0 : n] = 0;
	}
	close(p[0]);
	close(p[1]);
	return r;
}

static void test_saved(void **state)
{
	static const char answers[] = GREETING WELL EVENT WELL WELL EVENT WELL
		"{\"return\": {\"status\": \"active\"}}\r\n"
		"{\"return\": {\"expected-downtime\": 300, \"status\": \"completed\"}}\r\n";
	char said[2048];
	struct err e;
	(void) state;
	assert_int_equal(save_against(answers, strlen(answers), said, sizeof(said), &e), 0);
	assert_non_null(strstr(said, "x-ignore-shared"));
	assert_non_null(strstr(said, "getfd"));
	assert_true(strstr(said, "qmp_capabilities") < strstr(said, "getfd"));
}

static void test_refused(void **state)
{
	static const char refusal[] =
		GREETING WELL "{\"error\": {\"class\": \"GenericError\", \"desc\": \"no \x1b[31m\"}}\r\n";
	static const char failed[] =
		GREETING WELL WELL WELL WELL "{\"return\": {\"status\": \"failed\"}}\r\n";
	struct err e;
	(void) state;
	assert_int_equal(save_against(refusal, strlen(refusal), NULL, 0, &e), -EREMOTEIO);
	assert_non_null(strstr(e.text, "GenericError"));
	assert_null(strchr(e.text, '\x1b'));
	assert_int_equal(save_against(failed, strlen(failed), NULL, 0, &e), -EIO);
}

static void test_hostile(void **state)
{
	static char flood[16384];
	static const char early[] = GREETING WELL;
	struct buf events = { 0 };
	struct err e;
	(void) state;
	assert_int_equal(save_against(early, strlen(early), NULL, 0, &e), -ECHILD);
	assert_int_equal(save_against("", 0, NULL, 0, &e), -ECHILD);
	memset(flood, '{', sizeof(flood));
	assert_int_equal(save_against(flood, sizeof(flood), NULL, 0, &e), -EPROTO);
	for (int k = 0; k < 1200; k++)
		buf_str(&events, EVENT);
	assert_int_equal(save_against(events.data, events.len, NULL, 0, &e), -EPROTO);
	buf_done(&events);
}

static int restored_against(const char *answers, struct err *e)
{
	int p[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p), 0);
	assert_int_equal(write(p[1], answers, strlen(answers)), strlen(answers));
	assert_int_equal(shutdown(p[1], SHUT_WR), 0);
	int r = qmp_restored(p[0], e);
	close(p[0]);
	close(p[1]);
	return r;
}

static void test_restored(void **state)
{
	struct err e;
	(void) state;
	assert_int_equal(restored_against(GREETING WELL WELL WELL EVENT, &e), 0);
	assert_int_equal(restored_against(GREETING WELL WELL EVENT WELL, &e), 0);
	assert_int_equal(restored_against(GREETING WELL WELL EVENT, &e), -ECHILD);
	assert_int_equal(restored_against(GREETING WELL WELL WELL, &e), -ECHILD);
	assert_int_equal(restored_against(GREETING WELL "{\"error\": {\"desc\": \"no\"}}\r\n" EVENT, &e),
			 -EREMOTEIO);
}

/* It has stopped reading: what it is told finds no room, and is not waited for. */
static void test_a_monitor_that_never_reads(void **state)
{
	static const char much[4096];
	struct err e = { 0 };
	int p[2];
	(void) state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p), 0);
	while (send(p[0], much, sizeof(much), MSG_DONTWAIT) > 0)
		;
	while (send(p[0], much, 1, MSG_DONTWAIT) > 0)
		;
	assert_true(qmp_save(p[0], 0, &e) < 0);
	assert_int_equal(e.code, EAGAIN);
	close(p[0]);
	close(p[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_monitor_that_never_reads),
		cmocka_unit_test(test_boot_and_restore_are_one_machine),
		cmocka_unit_test(test_kernel_words),
		cmocka_unit_test(test_no_network),
		cmocka_unit_test(test_saved),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_restored),
		cmocka_unit_test(test_hostile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
