/* SPDX-License-Identifier: MIT */
/*
 * Rules of the arguments that keep a socket's network as it is, and a limit what it was: run in the machine, and asked
 * for their names.
 */
#include "tests/unit/seccomp_machine.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* clang-format off */
static const struct {
	int nr;
	uint64_t arg[6];
	unsigned watch;
	uint32_t answer;
} cases[] = {
	{ SYS_socket, { AF_INET, SOCK_RAW, IPPROTO_ICMP }, 0, EPERM_RET },
	{ SYS_socket, { AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP }, 0, EPERM_RET },
	{ SYS_socket, { AF_INET6, SOCK_RAW | GARBAGE, IPPROTO_UDP }, WATCH_SOCKET, EPERM_RET },
	{ SYS_socket, { AF_INET6, SOCK_RAW, IPPROTO_ICMPV6 }, WATCH_DENIED, NOTIFY },
	{ SYS_socket, { AF_INET, SOCK_PACKET }, 0, EPERM_RET },
	{ SYS_socket, { AF_INET, SOCK_PACKET | SOCK_CLOEXEC }, WATCH_SOCKET, EPERM_RET },
	{ SYS_socket, { AF_INET, SOCK_DCCP }, 0, EPERM_RET },
	{ SYS_socket, { AF_INET, SOCK_DGRAM, IPPROTO_ICMP }, 0, ALLOW },
	{ SYS_socket, { AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK }, 0, ALLOW },
	{ SYS_socket, { AF_UNIX, SOCK_SEQPACKET }, 0, ALLOW },
	{ SYS_ioctl, { 3, SIOCSIFFLAGS }, 0, EPERM_RET },
	{ SYS_ioctl, { 3, SIOCSIFFLAGS | GARBAGE }, WATCH_SOCKET, EPERM_RET },
	{ SYS_ioctl, { 3, SIOCSIFADDR }, WATCH_DENIED, NOTIFY },
	{ SYS_ioctl, { 3, SIOCADDRT }, 0, EPERM_RET },
	{ SYS_ioctl, { 3, SIOCDELRT }, 0, EPERM_RET },
	{ SYS_ioctl, { 3, SIOCSIFMTU }, 0, EPERM_RET },
	{ SYS_ioctl, { 3, SIOCSIFNAME }, 0, EPERM_RET },
	{ SYS_ioctl, { 3, SIOCSIFHWADDR }, 0, EPERM_RET },
	{ SYS_ioctl, { 3, SIOCSARP }, 0, EPERM_RET },
	{ SYS_ioctl, { 3, SIOCDARP }, 0, EPERM_RET },
	{ SYS_ioctl, { 3, SIOCBRADDBR }, 0, EPERM_RET },
	{ SYS_ioctl, { 3, SIOCSIFVLAN }, 0, EPERM_RET },
	{ SYS_ioctl, { 3, SIOCDEVPRIVATE + 1 }, 0, EPERM_RET },
	{ SYS_ioctl, { 3, SIOCGIFFLAGS }, 0, ALLOW },
	{ SYS_ioctl, { 3, SIOCGIFADDR }, 0, ALLOW },
	{ SYS_ioctl, { 3, SIOCGIFMTU }, 0, ALLOW },
	{ SYS_ioctl, { 3, SIOCGIFCONF }, 0, ALLOW },
	{ SYS_ioctl, { 3, SIOCGIFINDEX }, 0, ALLOW },
	{ SYS_ioctl, { 3, SIOCGIFHWADDR }, 0, ALLOW },
	{ SYS_ioctl, { 3, SIOCGARP }, 0, ALLOW },
	{ SYS_ioctl, { 3, SIOCGIFBRDADDR }, 0, ALLOW },
	{ SYS_ioctl, { 3, FIONREAD }, 0, ALLOW },
	{ SYS_setsockopt, { 3, SOL_IP, 64 /* IPT_SO_SET_REPLACE */ }, 0, EPERM_RET },
	{ SYS_setsockopt, { 3, SOL_IP | GARBAGE, 64 | GARBAGE }, WATCH_SOCKET, EPERM_RET },
	{ SYS_setsockopt, { 3, SOL_IP, 97 /* ARPT_SO_SET_ADD_COUNTERS */ }, 0, EPERM_RET },
	{ SYS_setsockopt, { 3, SOL_IP, 128 /* EBT_SO_SET_ENTRIES */ }, 0, EPERM_RET },
	{ SYS_setsockopt, { 3, SOL_IP, 1153 /* IPVS */ }, 0, EPERM_RET },
	{ SYS_setsockopt, { 3, SOL_IPV6, 64 /* IP6T_SO_SET_REPLACE */ }, WATCH_DENIED, NOTIFY },
	{ SYS_setsockopt, { 3, SOL_IPV6, IPV6_TCLASS }, 0, ALLOW },
	{ SYS_setsockopt, { 3, SOL_IPV6, IPV6_RECVTCLASS }, 0, ALLOW },
	{ SYS_setsockopt, { 3, SOL_IPV6, IPV6_V6ONLY }, 0, ALLOW },
	{ SYS_setsockopt, { 3, SOL_IP, IP_TOS }, 0, ALLOW },
	{ SYS_setsockopt, { 3, SOL_IP, MCAST_JOIN_GROUP }, 0, ALLOW },
	{ SYS_setsockopt, { 3, SOL_SOCKET, 64 }, 0, ALLOW },
	{ SYS_setsockopt, { 3, IPPROTO_TCP, 64 }, 0, ALLOW },
	{ SYS_getsockopt, { 3, SOL_IP, 64 /* IPT_SO_GET_INFO */ }, 0, EPERM_RET },
	{ SYS_getsockopt, { 3, SOL_IP, 67 }, 0, EPERM_RET },
	{ SYS_getsockopt, { 3, SOL_IPV6, 69 }, 0, EPERM_RET },
	{ SYS_getsockopt, { 3, SOL_IPV6, IPV6_TCLASS }, 0, ALLOW },
	{ SYS_getsockopt, { 3, SOL_IP, 80 /* SO_ORIGINAL_DST */ }, 0, ALLOW },
	{ SYS_setrlimit, { RLIMIT_CPU, 0x1000 }, 0, EPERM_RET },
	{ SYS_setrlimit, { RLIMIT_NOFILE, 0x1000 }, 0, ALLOW },
	{ SYS_prlimit64, { 0, RLIMIT_CPU, 0x1000 }, 0, EPERM_RET },
	{ SYS_prlimit64, { 0, RLIMIT_CPU | GARBAGE, UINT64_C(0x700000000000) }, WATCH_DENIED, NOTIFY },
	{ SYS_prlimit64, { 0, RLIMIT_CPU, 0, 0x1000 }, 0, ALLOW },
	{ SYS_prctl, { PR_SET_DUMPABLE, 0 }, 0, ALLOW },
	{ SYS_prctl, { PR_SET_DUMPABLE, 0 }, WATCH_MEMORY, EPERM_RET },
	{ SYS_prctl, { PR_SET_DUMPABLE, 1 }, WATCH_MEMORY, ALLOW },
	{ SYS_memfd_create, { 0x1000, 0 }, 0, ALLOW },
	{ SYS_memfd_create, { 0x1000, 0 }, WATCH_MEMORY, NOTIFY },
};
/* clang-format on */

static void test_arguments_decide(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		compile(f, cases[i].watch);
		uint32_t got = answer(f, cases[i].nr, cases[i].arg);
		if (got != cases[i].answer)
			fail_msg("row %zu, %s: 0x%x, not 0x%x", i, seccomp_call_name(cases[i].nr, ARCH), got,
				 cases[i].answer);
	}
}

static void test_cpu_time_is_kept_when_limited(void **state)
{
	struct fixture *f = *state;
	const uint64_t set[6] = { RLIMIT_CPU, 0x1000 }, prlimit[6] = { 0, RLIMIT_CPU, 0x1000 };

	f->policy.limit[LIMIT_CPU] = UNLIMITED;
	compile(f, 0);
	assert_int_equal(answer(f, SYS_setrlimit, set), ALLOW);
	assert_int_equal(answer(f, SYS_prlimit64, prlimit), ALLOW);
	f->policy.limit[LIMIT_CPU] = NS_PER_S;
	f->policy.on_denied = DENIED_KILL;
	compile(f, 0);
	assert_int_equal(answer(f, SYS_setrlimit, set), EPERM_RET); /* a limit's sake, no offence */
	assert_int_equal(answer(f, SYS_prlimit64, prlimit), EPERM_RET);
	f->policy.on_denied = DENIED_ERRNO;
}

static void test_rules_are_named(void **state)
{
	static const struct {
		int nr;
		uint64_t arg[6];
		const char *rule;
	} named[] = {
		{ SYS_socket, { AF_INET, SOCK_RAW, IPPROTO_ICMP }, "raw" },
		{ SYS_socket, { AF_INET, SOCK_PACKET }, "raw" },
		{ SYS_socket, { AF_INET, SOCK_DCCP }, "protocols" },
		{ SYS_ioctl, { 3, SIOCSIFFLAGS }, "net-config" },
		{ SYS_setsockopt, { 3, SOL_IP, 64 }, "netfilter" },
		{ SYS_getsockopt, { 3, SOL_IPV6, 64 }, "netfilter" },
		{ SYS_prlimit64, { 0, RLIMIT_CPU, 0x1000 }, "limits" },
		{ SYS_setrlimit, { RLIMIT_CPU, 0x1000 }, "limits" },
	};
	struct fixture *f = *state;
	struct seccomp_reason why;

	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		seccomp_explain(&f->want, named[i].nr, ARCH, named[i].arg, &why);
		assert_int_equal(why.watch, WATCH_DENIED);
		assert_string_equal(why.rule, named[i].rule);
	}
}

/* A person may only let through what cannot be changed while it is looked at. */
static void test_who_may_be_asked(void **state)
{
	static const struct {
		int nr;
		uint64_t arg[6];
		bool by_value;
	} asked[] = {
		{ SYS_ptrace, { 16, 1 }, true },
		{ SYS_kcmp, { 1, 2 }, true },
		{ SYS_personality, { 0x0400000 }, true },
		{ SYS_process_vm_readv, { 1 }, false }, /* what is read stands in memory */
		{ SYS_socket, { AF_VSOCK }, false },
		{ SYS_clone, { CLONE_NEWUSER }, false },
		{ SYS_ioctl, { 0, TIOCSTI }, false },         /* on what, a descriptor says */
		{ SYS_prctl, { PR_SET_DUMPABLE, 0 }, false }, /* a limit's sake */
		{ 9999, { 0 }, false },
	};
	struct fixture *f = *state;
	struct seccomp_reason why;

	compile(f, WATCH_DENIED | WATCH_MEMORY);
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		seccomp_explain(&f->want, asked[i].nr, ARCH, asked[i].arg, &why);
		if (why.watch != WATCH_DENIED || why.by_value != asked[i].by_value)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_arguments_decide),
		T(test_cpu_time_is_kept_when_limited),
		T(test_rules_are_named),
		T(test_who_may_be_asked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
