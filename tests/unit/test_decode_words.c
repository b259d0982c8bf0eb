/* SPDX-License-Identifier: MIT */
/*
 * Register values in words: flags and enumerations, and the processors where they differ.
 */
#include "decode_fixture.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/ptrace.h>
#include <sched.h>
#include <signal.h>

static void test_registers_become_words(void **state)
{
	(void) state;
	DECODE(SYS_ptrace, PTRACE_ATTACH, 1);
	assert_string_equal(d.name, "ptrace");
	assert_int_equal(d.kind, DECODE_OTHER);
	expect_text("request", "PTRACE_ATTACH");
	expect_number("pid", 1);
	DECODE(SYS_ptrace, PTRACE_TRACEME);
	expect_text("request", "PTRACE_TRACEME");
	DECODE(SYS_ptrace, 77777, (uint64_t) -1);
	expect_number("request", 77777);
	expect_number("pid", -1);
	DECODE(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS | 0x80);
	expect_text("flags", "CLONE_NEWTIME|CLONE_NEWNS|CLONE_NEWUSER");
	DECODE(SYS_clone, CLONE_NEWUSER | SIGCHLD);
	expect_text("flags", "CLONE_NEWUSER|SIGCHLD");
	DECODE(SYS_bpf, 5, NOWHERE, 64);
	expect_text("cmd", "BPF_PROG_LOAD");
	expect_number("size", 64);
	DECODE(SYS_keyctl, 11, (uint64_t) -3);
	expect_text("cmd", "KEYCTL_READ");
	expect_number("arg2", -3);
	DECODE(SYS_kill, (uint64_t) -1, SIGKILL);
	expect_text("sig", "SIGKILL");
	DECODE(SYS_ioctl, 0, UINT64_C(0x900005412));
	expect_text("request", "TIOCSTI");
	DECODE(SYS_mmap, 0, UINT64_C(1) << 40, PROT_READ | PROT_WRITE,
	       MAP_PRIVATE | MAP_ANONYMOUS | 0x80000000, (uint64_t) -1);
	expect_number("length", INT64_C(1) << 40);
	expect_text("prot", "PROT_READ|PROT_WRITE");
	expect_text("flags", "MAP_PRIVATE|MAP_ANONYMOUS|0x80000000");
	DECODE(SYS_setuid, 0xffffffff);
	expect_number("uid", -1);
	DECODE(SYS_setuid, 0xfffffffe);
	expect_number("uid", 0xfffffffe);
}

static void test_calls_without_a_row(void **state)
{
	(void) state;
	DECODE(SYS_vhangup);
	assert_string_equal(d.name, "vhangup");
	assert_int_equal(d.arg_count, 0);
	DECODE(999, 1, 2, 3);
	assert_string_equal(d.name, "999");
	assert_int_equal(d.arg_count, 0);
	assert_int_equal(d.kind, DECODE_OTHER);
}

static void test_other_architectures_are_only_named(void **state)
{
	(void) state;
	decode(26, AUDIT_ARCH_I386, (const uint64_t[6]){ PTRACE_ATTACH, 1 });
	assert_string_equal(d.name, "ptrace");
	assert_int_equal(d.arg_count, 1);
	expect_text("abi", "i386");
	DECODE(0x40000000 | 39);
	assert_string_equal(d.name, "getpid");
	expect_text("abi", "x32");
	decode(1, AUDIT_ARCH_S390X, (const uint64_t[6]){ 1 });
	assert_string_equal(d.name, "1");
	assert_int_equal(d.arg_count, 1);
	expect_text("abi", "?");
}

static void test_clone3_flags_are_shown(void **state)
{
	uint64_t args[11] = { CLONE_NEWUSER | CLONE_NEWNET };

	(void) state;
	DECODE(SYS_clone3, P(args), sizeof(args));
	expect_text("flags", "CLONE_NEWUSER|CLONE_NEWNET");
	DECODE(SYS_clone3, NOWHERE, 88);
	expect_text("flags", "?");
}

static void test_mount_words(void **state)
{
	(void) state;
	DECODE(SYS_mount, P("none"), P("/mnt"), P("tmpfs"), MS_NOSUID | MS_NODEV, 0);
	expect_text("source", "none");
	expect_text("target", "/mnt");
	expect_text("type", "tmpfs");
	expect_text("flags", "MS_NOSUID|MS_NODEV");
	assert_null(d.path);
	DECODE(SYS_mount, 0, P("/"), 0, 0xc0ed0000 | MS_REC | MS_BIND);
	expect_text("source", "NULL");
	expect_text("flags", "MS_MGC_VAL|MS_BIND|MS_REC");
	DECODE(SYS_umount2, P("/mnt"), 2);
	expect_text("flags", "MNT_DETACH");
}

/* The same word has another bit, and the same number another meaning. */
static void test_processors_differ(void **state)
{
	const uint64_t x86_64[6] = { (uint64_t) -100, P("/x"), 0200000 | 0400000 };
	const uint64_t arm64[6] = { (uint64_t) -100, P("/x"), 040000 | 0100000 };

	(void) state;
	decode(257, AUDIT_ARCH_X86_64, x86_64);
	assert_string_equal(d.name, "openat");
	expect_text("flags", "O_RDONLY|O_DIRECTORY|O_NOFOLLOW");
	decode(56, AUDIT_ARCH_AARCH64, arm64);
	assert_string_equal(d.name, "openat");
	expect_text("flags", "O_RDONLY|O_DIRECTORY|O_NOFOLLOW");
	decode(56, AUDIT_ARCH_AARCH64, x86_64);
	expect_text("flags", "O_RDONLY|O_DIRECT|O_LARGEFILE");
	decode(101, AUDIT_ARCH_X86_64, (const uint64_t[6]){ 33, 1 });
	expect_text("request", "PTRACE_SINGLEBLOCK");
	decode(117, AUDIT_ARCH_AARCH64, (const uint64_t[6]){ 33, 1 });
	expect_text("request", "PTRACE_PEEKMTETAGS");
	decode(220, AUDIT_ARCH_AARCH64, (const uint64_t[6]){ CLONE_NEWNET | SIGCHLD });
	expect_text("flags", "CLONE_NEWNET|SIGCHLD");
}

static void expect_prefix(const char *key, const char *prefix, uint64_t value)
{
	const struct event_arg *a = arg_of(key);

	if (!a->text || strncmp(a->text, prefix, strlen(prefix)) != 0)
		fail_msg("%s: %s %llu has no name", d.name, key, (unsigned long long) value);
}

/* Each enumeration has no hole but those that the kernel's own has. */
static void test_enumerations_are_complete(void **state)
{
	static const struct {
		int nr, arg;
		const char *key, *prefix;
		uint64_t first, last;
	} all[] = {
		{ SYS_bpf, 0, "cmd", "BPF_", 0, 38 },
		{ SYS_keyctl, 0, "cmd", "KEYCTL_", 0, 32 },
		{ SYS_ptrace, 0, "request", "PTRACE_", 0, 9 },
		{ SYS_ptrace, 0, "request", "PTRACE_", 12, 19 },
		{ SYS_ptrace, 0, "request", "PTRACE_", 24, 26 },
		{ SYS_ptrace, 0, "request", "PTRACE_", 30, 33 },
		{ SYS_ptrace, 0, "request", "PTRACE_", 0x4200, 0x4212 },
		{ SYS_prctl, 0, "option", "PR_", 1, 16 },
		{ SYS_prctl, 0, "option", "PR_", 19, 47 },
		{ SYS_prctl, 0, "option", "PR_", 50, 78 },
		{ SYS_socket, 0, "family", "AF_", 0, 45 },
		{ SYS_kcmp, 2, "type", "KCMP_", 0, 7 },
		{ SYS_fsconfig, 1, "cmd", "FSCONFIG_", 0, 8 },
		{ SYS_prlimit64, 1, "resource", "RLIMIT_", 0, 15 },
		{ SYS_kill, 1, "sig", "SIG", 1, 31 },
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		for (uint64_t v = all[i].first; v <= all[i].last; v++) {
			uint64_t arg[6] = { 0 };
			arg[all[i].arg] = v;
			decode(all[i].nr, AUDIT_ARCH_X86_64, arg);
			expect_prefix(all[i].key, all[i].prefix, v);
		}
	for (uint64_t bit = 8; bit < 34; bit++) {
		uint64_t args[11] = { UINT64_C(1) << bit };
		DECODE(SYS_clone3, P(args), sizeof(args));
		expect_prefix("flags", "CLONE_", bit);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registers_become_words),
		cmocka_unit_test(test_calls_without_a_row),
		cmocka_unit_test(test_other_architectures_are_only_named),
		cmocka_unit_test(test_clone3_flags_are_shown),
		cmocka_unit_test(test_mount_words),
		cmocka_unit_test(test_processors_differ),
		cmocka_unit_test(test_enumerations_are_complete),
	};

	return cmocka_run_group_tests_name("decode words", tests, NULL, NULL);
}
