/* SPDX-License-Identifier: MIT */
/*
 * Rules of the arguments: what of an allowed call is refused, or put to the supervisor, by its register
 * values. A register cannot be changed behind the filter's back as memory can, so what stands here needs no
 * second look.
 *
 * The same table answers why a notification came (seccomp_explain), so that filter and words cannot part.
 */
#include "core/confine/seccomp.h"

#include "core/base/base.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>

/*
 * All but TEST_OVER, TEST_NULL and TEST_SET look at the low 32 bits alone: the kernel takes those arguments
 * as int, or uses no higher bit of them. A comparison of the whole register would let 0x100005412 pass as no
 * TIOCSTI.
 */
enum test_op {
	TEST_END,
	TEST_IS,
	TEST_ISNT,
	TEST_FROM,
	TEST_TO,
	TEST_ANY,
	TEST_NONE,
	TEST_NULL,
	TEST_SET,
	TEST_OVER
};
struct arg_test {
	enum test_op op;
	uint8_t arg;
	uint32_t value; /* TEST_OVER: compares with memory_max */
};
enum rule_then {
	THEN_ALLOW, /* and do not show it */
	THEN_REFUSE,
	THEN_LIMIT, /* refused for a limit's sake: no offence, never ends a run */
	THEN_MEMORY,
	THEN_SIGNAL,
	THEN_FILTER,
	THEN_WRITING,
	THEN_SOCKET, /* put to the supervisor */
};
enum rule_when {
	ALWAYS,
	WHEN_MEMORY,
	WHEN_CPU,
	WHEN_SIGNAL,
	WHEN_FILTER,
	WHEN_WRITING,
	WHEN_SOCKET,
	WHEN_NETWORK,
	WHEN_PINNED
};
#define TESTS_MAX 6
struct arg_rule {
	const char *call;
	enum rule_when when;
	struct arg_test test[TESTS_MAX]; /* all must hold; none: always */
	enum rule_then then;
	const char *name, *means;
};

/* clang-format off */
#define IS(n, v)   { TEST_IS, n, v }
#define ISNT(n, v) { TEST_ISNT, n, v }
#define ANY(n, v)  { TEST_ANY, n, v }
#define FROM(n, v) { TEST_FROM, n, v }
#define TO(n, v)   { TEST_TO, n, v }
#define NONE(n, v) { TEST_NONE, n, v }
#define POINTER_NULL(n) { TEST_NULL, n, 0 }
#define POINTER_SET(n)  { TEST_SET, n, 0 }
#define OVER(n)    { TEST_OVER, n, 0 }
/* clang-format on */

/* CLONE_NEWTIME is 0x80: a part of the exit signal for clone(2), a namespace only for clone3 and unshare. */
#define NAMESPACES                                                                                    \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
	 CLONE_NEWNET)
#define FAMILIES   "kinds of sockets that no network namespace parts, or that open much kernel code"
#define TERMINAL   "typing into, or taking over, a terminal"
#define PROTOCOLS  "protocols beyond TCP, UDP and ping"
#define RAW        "packets made by hand"
#define NET_CONFIG "changing network interfaces, routes or neighbours"
#define NETFILTER  "changing or reading the rules for packets"
#define CPU_LIMIT  "changing the limit of CPU time"

/* Of one call, the first rule whose tests hold decides; where none does, the call's own action stands. The
 * rules of a call stand together. */
/* clang-format off */
static const struct arg_rule rules[] = {
	{ "open", WHEN_WRITING, { ANY(1, O_ACCMODE | O_CREAT | O_TRUNC) }, THEN_WRITING, NULL, NULL },
	{ "openat", WHEN_WRITING, { ANY(2, O_ACCMODE | O_CREAT | O_TRUNC) }, THEN_WRITING, NULL, NULL },

	{ "clone", ALWAYS, { ANY(0, NAMESPACES) }, THEN_REFUSE, "namespaces", "making namespaces" },
	/* with SIGXFSZ (25) as the signal that tells the parent of its end; that is the lowest byte */
	{ "clone", WHEN_SIGNAL, { ANY(0, 1), ANY(0, 8), ANY(0, 16), NONE(0, 0xff & ~SIGXFSZ) },
	  THEN_SIGNAL, NULL, NULL },

	{ "socket", ALWAYS, { IS(0, AF_UNIX) }, THEN_ALLOW, NULL, NULL },
	{ "socket", ALWAYS, { IS(0, AF_NETLINK), IS(2, NETLINK_ROUTE) }, THEN_ALLOW, NULL, NULL },
	{ "socket", ALWAYS, { ISNT(0, AF_INET), ISNT(0, AF_INET6) }, THEN_REFUSE, "families", FAMILIES },
	/* Whoever owns the user namespace that a socket's network belongs to may do there what root may, and the
	 * sockets that are made for a target without a network belong to one of its own user's. So what takes
	 * privilege is refused by its number. The kernel reads the kind in the low 4 bits: 1 and 2 together are RAW
	 * (3; else 7, 11, 15: no kinds), 2 and 8 PACKET (10; else 11, 14, 15), which AF_INET turns into AF_PACKET, and
	 * 2 and 4 DCCP (6; else 7, 14, 15), whose module loads also for protocol 0. */
	{ "socket", ALWAYS, { ANY(1, 1), ANY(1, 2) }, THEN_REFUSE, "raw", RAW },
	{ "socket", ALWAYS, { ANY(1, 8), ANY(1, 2) }, THEN_REFUSE, "raw", RAW },
	{ "socket", ALWAYS, { ANY(1, 4), ANY(1, 2) }, THEN_REFUSE, "protocols", PROTOCOLS },
	/* another protocol's number makes the kernel load its module: SCTP, DCCP, L2TP … */
	{ "socket", ALWAYS, { ISNT(2, 0), ISNT(2, IPPROTO_TCP), ISNT(2, IPPROTO_UDP), ISNT(2, IPPROTO_ICMP),
			      ISNT(2, IPPROTO_ICMPV6), ISNT(2, IPPROTO_MPTCP) },
	  THEN_REFUSE, "protocols", PROTOCOLS },
	{ "socket", WHEN_SOCKET, { { 0 } }, THEN_SOCKET, NULL, NULL },
	{ "socketpair", ALWAYS, { ISNT(0, AF_UNIX) }, THEN_REFUSE, "families", FAMILIES },
	/* on a connected socket, and what most sendto() are: no address, nothing to show */
	{ "sendto", WHEN_NETWORK, { POINTER_NULL(4) }, THEN_ALLOW, NULL, NULL },

	{ "ioctl", ALWAYS, { IS(1, TIOCSTI) }, THEN_REFUSE, "terminal", TERMINAL },
	{ "ioctl", ALWAYS, { IS(1, TIOCLINUX) }, THEN_REFUSE, "terminal", TERMINAL },
	{ "ioctl", ALWAYS, { IS(1, TIOCCONS) }, THEN_REFUSE, "terminal", TERMINAL },
	{ "ioctl", ALWAYS, { IS(1, TIOCSETD) }, THEN_REFUSE, "terminal", TERMINAL }, /* loads modules */
	/* Each number that sets something of a network, some of which load modules too (bridge, 8021q). A loopback that
	 * was brought up would make 127.0.0.1 reachable where nothing is to be. SIOCETHTOOL stays: what it does lies in
	 * memory, it can be asked for harmless things, and it brings nothing up. */
	{ "ioctl", ALWAYS, { FROM(1, SIOCADDRT), TO(1, SIOCRTMSG) }, THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { IS(1, SIOCSIFLINK) }, THEN_REFUSE, "net-config", NET_CONFIG },
	/* flags, addresses, netmask, metric, memory, MTU: the odd ones only ask */
	{ "ioctl", ALWAYS, { FROM(1, SIOCSIFFLAGS), TO(1, SIOCSIFMTU), NONE(1, 1) },
	  THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { FROM(1, SIOCSIFNAME), TO(1, SIOCSIFHWADDR) },
	  THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { IS(1, SIOCSIFENCAP) }, THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { FROM(1, SIOCSIFSLAVE), TO(1, SIOCDELMULTI) },
	  THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { IS(1, SIOCSIFPFLAGS) }, THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { FROM(1, SIOCDIFADDR), TO(1, SIOCSIFHWBROADCAST) },
	  THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { FROM(1, SIOCGIFBR), TO(1, SIOCSIFBR) }, THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { IS(1, SIOCSIFTXQLEN) }, THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { FROM(1, SIOCSMIIREG), TO(1, SIOCWANDEV) }, THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { IS(1, SIOCDARP) }, THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { IS(1, SIOCSARP) }, THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { FROM(1, SIOCDRARP), TO(1, SIOCSRARP) }, THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { IS(1, SIOCSIFMAP) }, THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { FROM(1, SIOCADDDLCI), TO(1, SIOCSIFVLAN) }, THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { FROM(1, SIOCBONDENSLAVE), TO(1, SIOCBRDELIF) },
	  THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { IS(1, SIOCSHWTSTAMP) }, THEN_REFUSE, "net-config", NET_CONFIG },
	{ "ioctl", ALWAYS, { FROM(1, SIOCDEVPRIVATE), TO(1, SIOCDEVPRIVATE + 15) }, /* tunnels among them */
	  THEN_REFUSE, "net-config", NET_CONFIG },

	/* Numbers of netfilter: arp_tables.h 96 and on, ebtables.h 128 and on, IPVS far above. Of IPv6's own options some
	 * lie between those of ip6_tables.h: 66 and 67 are the traffic class. */
	{ "setsockopt", ALWAYS, { IS(1, SOL_IP), FROM(2, 64), TO(2, 67) }, THEN_REFUSE, "netfilter", NETFILTER },
	{ "setsockopt", ALWAYS, { IS(1, SOL_IP), FROM(2, 96), TO(2, 99) }, THEN_REFUSE, "netfilter", NETFILTER },
	{ "setsockopt", ALWAYS, { IS(1, SOL_IP), FROM(2, 128) }, THEN_REFUSE, "netfilter", NETFILTER },
	{ "setsockopt", ALWAYS, { IS(1, SOL_IPV6), FROM(2, 64), TO(2, 65) }, THEN_REFUSE, "netfilter", NETFILTER },
	{ "setsockopt", ALWAYS, { IS(1, SOL_IPV6), FROM(2, 128) }, THEN_REFUSE, "netfilter", NETFILTER },
	{ "getsockopt", ALWAYS, { IS(1, SOL_IP), FROM(2, 64), TO(2, 67) }, THEN_REFUSE, "netfilter", NETFILTER },
	{ "getsockopt", ALWAYS, { IS(1, SOL_IP), FROM(2, 96), TO(2, 99) }, THEN_REFUSE, "netfilter", NETFILTER },
	{ "getsockopt", ALWAYS, { IS(1, SOL_IP), FROM(2, 128) }, THEN_REFUSE, "netfilter", NETFILTER },
	{ "getsockopt", ALWAYS, { IS(1, SOL_IPV6), FROM(2, 64), TO(2, 65) }, THEN_REFUSE, "netfilter", NETFILTER },
	{ "getsockopt", ALWAYS, { IS(1, SOL_IPV6), FROM(2, 68), TO(2, 69) }, THEN_REFUSE, "netfilter", NETFILTER },
	{ "getsockopt", ALWAYS, { IS(1, SOL_IPV6), FROM(2, 128) }, THEN_REFUSE, "netfilter", NETFILTER },

	/* PR_SET_MM_MAP needs no privilege, and changes what /proc says of the command line */
	{ "prctl", ALWAYS, { IS(0, PR_SET_MM) },
	  THEN_REFUSE, "prctl", "rewriting what the kernel says of a process" },
	/* of two filters the more severe answer stands, so that its own refusal is given before we hear of the call */
	{ "prctl", WHEN_FILTER, { IS(0, PR_SET_SECCOMP) }, THEN_FILTER, NULL, NULL },
	/* what it holds could not be measured any more (proc(5): smaps_rollup, fd) */
	{ "prctl", WHEN_MEMORY, { IS(0, PR_SET_DUMPABLE), IS(1, 0) },
	  THEN_LIMIT, "limits", "hiding from the one who measures its memory" },
	{ "seccomp", WHEN_FILTER, { TO(0, SECCOMP_SET_MODE_FILTER) }, THEN_FILTER, NULL, NULL },
	{ "personality", ALWAYS, { ISNT(0, 0xffffffff), ISNT(0, PER_LINUX), ISNT(0, ADDR_NO_RANDOMIZE) },
	  THEN_REFUSE, "personality", "old ways of the kernel, such as executable data or a page zero" },
	{ "prlimit64", ALWAYS, { ISNT(0, 0), POINTER_SET(2) },
	  THEN_REFUSE, "limits", "changing limits of another process" },
	{ "prlimit64", WHEN_SIGNAL, { IS(1, RLIMIT_FSIZE), POINTER_SET(2) }, THEN_SIGNAL, NULL, NULL },
	/* the soft limit would be raised to the hard one, which leaves more than was given */
	{ "prlimit64", WHEN_CPU, { IS(1, RLIMIT_CPU), POINTER_SET(2) }, THEN_LIMIT, "limits", CPU_LIMIT },
	{ "setrlimit", WHEN_CPU, { IS(0, RLIMIT_CPU) }, THEN_LIMIT, "limits", CPU_LIMIT },
	{ "setrlimit", WHEN_SIGNAL, { IS(0, RLIMIT_FSIZE) }, THEN_SIGNAL, NULL, NULL },
	/* without a pid namespace that is every process of the same user, belljar's own among them */
	{ "kill", ALWAYS, { IS(0, 0xffffffff) },
	  THEN_REFUSE, "signals", "a signal to every process there is" },
	/* SIGXFSZ tells of a file that met the limit, unless a program has it sent, or gives itself a smaller one: nothing
	 * else could tell these apart. Which signal a timer or a queue sends lies in memory, so that each may be it. */
	{ "kill", WHEN_SIGNAL, { IS(1, SIGXFSZ) }, THEN_SIGNAL, NULL, NULL },
	{ "tkill", WHEN_SIGNAL, { IS(1, SIGXFSZ) }, THEN_SIGNAL, NULL, NULL },
	{ "tgkill", WHEN_SIGNAL, { IS(2, SIGXFSZ) }, THEN_SIGNAL, NULL, NULL },
	{ "rt_sigqueueinfo", WHEN_SIGNAL, { IS(1, SIGXFSZ) }, THEN_SIGNAL, NULL, NULL },
	{ "rt_tgsigqueueinfo", WHEN_SIGNAL, { IS(2, SIGXFSZ) }, THEN_SIGNAL, NULL, NULL },
	{ "pidfd_send_signal", WHEN_SIGNAL, { IS(1, SIGXFSZ) }, THEN_SIGNAL, NULL, NULL },
	{ "fcntl", WHEN_SIGNAL, { IS(1, F_SETSIG), IS(2, SIGXFSZ) }, THEN_SIGNAL, NULL, NULL },
	{ "timer_create", WHEN_SIGNAL, { POINTER_SET(1) }, THEN_SIGNAL, NULL, NULL },
	{ "mq_notify", WHEN_SIGNAL, { POINTER_SET(1) }, THEN_SIGNAL, NULL, NULL },
	{ "sched_setaffinity", WHEN_PINNED, { { 0 } },
	  THEN_LIMIT, "cpus", "taking more cores than the limit gives" },

	{ "mmap", WHEN_MEMORY, { OVER(1), ANY(2, PROT_WRITE), NONE(3, MAP_NORESERVE) },
	  THEN_MEMORY, NULL, NULL },
	{ "mremap", WHEN_MEMORY, { OVER(2) }, THEN_MEMORY, NULL, NULL },
};
/* clang-format on */

/* Calls that are shown by their name alone. */
static const struct {
	enum seccomp_watch bit;
	const char *call;
} watched[] = {
	{ WATCH_EXIT, "exit_group" },  { WATCH_NETWORK, "socket" }, { WATCH_NETWORK, "connect" },
	{ WATCH_NETWORK, "bind" },     { WATCH_NETWORK, "listen" }, { WATCH_NETWORK, "accept" },
	{ WATCH_NETWORK, "accept4" },  { WATCH_NETWORK, "sendto" }, { WATCH_NETWORK, "sendmsg" },
	{ WATCH_NETWORK, "sendmmsg" }, { WATCH_EXEC, "execve" },    { WATCH_EXEC, "execveat" },
	{ WATCH_FORK, "clone" },       { WATCH_FORK, "fork" },      { WATCH_FORK, "vfork" },
	{ WATCH_FILES, "open" },       { WATCH_FILES, "openat" },   { WATCH_FILES, "openat2" },
	{ WATCH_FILES, "creat" },      { WATCH_FILES, "rename" },   { WATCH_FILES, "renameat" },
	{ WATCH_FILES, "renameat2" },  { WATCH_FILES, "unlink" },   { WATCH_FILES, "unlinkat" },
	{ WATCH_FILES, "rmdir" },      { WATCH_FILES, "mkdir" },    { WATCH_FILES, "mkdirat" },
	{ WATCH_FILES, "link" },       { WATCH_FILES, "linkat" },   { WATCH_FILES, "symlink" },
	{ WATCH_FILES, "symlinkat" },  { WATCH_FILES, "chmod" },    { WATCH_FILES, "fchmodat" },
	{ WATCH_FILES, "fchmodat2" },  { WATCH_FILES, "chown" },    { WATCH_FILES, "lchown" },
	{ WATCH_FILES, "fchownat" },   { WATCH_FILES, "truncate" }, { WATCH_FILES, "mknod" },
	{ WATCH_FILES, "mknodat" },    { WATCH_MEMORY, "shmget" },  { WATCH_MEMORY, "memfd_create" },
};

/*
 * Refused calls that a person who is asked may let through. What is shown must be what is done: all that says whom and
 * what it is about lies in registers, none of it in memory nor behind a descriptor, which other threads may change
 * while the person reads. Not here though so made: userfaultfd, with which a target could make the supervisor wait when
 * it reads its memory; memfd_secret, which no meter sees into; clone, whose flags come with every fork; sockets, which
 * a preset decides of as a whole; and whatever acts on the whole machine.
 */
static const char *const by_value[] = { "ptrace", "kcmp", "unshare", "personality", "syslog" };

/* Asked for each row of the tables at each notification: most differ in the first letter. */
static bool is_call(const char *a, const char *b)
{
	return a[0] == b[0] && strcmp(a, b) == 0;
}

static enum seccomp_watch call_watch(const struct seccomp_want *want, const char *call)
{
	for (size_t i = 0; i < ARRAY_LEN(watched); i++)
		if ((want->watch & watched[i].bit) && is_call(watched[i].call, call))
			return watched[i].bit;
	return 0;
}

static bool rule_in_force(const struct arg_rule *r, const struct seccomp_want *want)
{
	switch (r->when) {
	case ALWAYS:
		return true;
	case WHEN_MEMORY:
		return want->watch & WATCH_MEMORY;
	case WHEN_CPU:
		return want->policy->limit[LIMIT_CPU] != UNLIMITED;
	case WHEN_SIGNAL:
		return want->watch & WATCH_SIGNAL;
	case WHEN_FILTER:
		return want->watch & WATCH_FILTER;
	case WHEN_WRITING:
		return want->watch & WATCH_WRITING;
	case WHEN_SOCKET:
		return want->watch & WATCH_SOCKET;
	case WHEN_NETWORK:
		return want->watch & WATCH_NETWORK;
	case WHEN_PINNED:
		return want->pin_cpus;
	}
	return true;
}

/* ---- as a filter ---- */

#if __BYTE_ORDER == __LITTLE_ENDIAN
#define ARG_LOW(n)  (offsetof(struct seccomp_data, args) + 8u * (n))
#define ARG_HIGH(n) (ARG_LOW(n) + 4u)
#else
#define ARG_HIGH(n) (offsetof(struct seccomp_data, args) + 8u * (n))
#define ARG_LOW(n)  (ARG_HIGH(n) + 4u)
#endif

#define MISS 0xff /* stands in a jump until the end of its rule is known */

static void put_load(struct filter_code *code, size_t offset)
{
	code_put(code, (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t) offset));
}

static void put_jump(struct filter_code *code, uint16_t how, uint32_t value, uint8_t yes, uint8_t no)
{
	code_put(code, (struct sock_filter) BPF_JUMP((uint16_t) (BPF_JMP | how | BPF_K), value, yes, no));
}

static void put_test(struct filter_code *code, const struct arg_test *t, uint64_t most)
{
	switch (t->op) {
	case TEST_IS:
	case TEST_ISNT:
		put_load(code, ARG_LOW(t->arg));
		put_jump(code, BPF_JEQ, t->value, t->op == TEST_IS ? 0 : MISS, t->op == TEST_IS ? MISS : 0);
		break;
	case TEST_FROM:
		put_load(code, ARG_LOW(t->arg));
		put_jump(code, BPF_JGE, t->value, 0, MISS);
		break;
	case TEST_TO:
		put_load(code, ARG_LOW(t->arg));
		put_jump(code, BPF_JGT, t->value, MISS, 0);
		break;
	case TEST_ANY:
	case TEST_NONE:
		put_load(code, ARG_LOW(t->arg));
		put_jump(code, BPF_JSET, t->value, t->op == TEST_ANY ? 0 : MISS,
			 t->op == TEST_ANY ? MISS : 0);
		break;
	case TEST_NULL:
		put_load(code, ARG_HIGH(t->arg));
		put_jump(code, BPF_JEQ, 0, 0, MISS);
		put_load(code, ARG_LOW(t->arg));
		put_jump(code, BPF_JEQ, 0, 0, MISS);
		break;
	case TEST_SET:
		put_load(code, ARG_HIGH(t->arg));
		put_jump(code, BPF_JEQ, 0, 0, 2);
		put_load(code, ARG_LOW(t->arg));
		put_jump(code, BPF_JEQ, 0, MISS, 0);
		break;
	case TEST_OVER:
		put_load(code, ARG_HIGH(t->arg));
		put_jump(code, BPF_JGT, (uint32_t) (most >> 32), 3, 0);
		put_jump(code, BPF_JEQ, (uint32_t) (most >> 32), 0, MISS);
		put_load(code, ARG_LOW(t->arg));
		put_jump(code, BPF_JGT, (uint32_t) most, 0, MISS);
		break;
	case TEST_END:
		break;
	}
}

static uint32_t rule_action(const struct arg_rule *r, const struct call_plan *plan)
{
	switch (r->then) {
	case THEN_ALLOW:
		return SECCOMP_RET_ALLOW;
	case THEN_REFUSE:
		return plan->refuse;
	case THEN_LIMIT:
		return plan->refuse == SECCOMP_RET_USER_NOTIF ? plan->refuse : SECCOMP_RET_ERRNO | EPERM;
	case THEN_MEMORY:
	case THEN_SIGNAL:
	case THEN_FILTER:
	case THEN_WRITING:
	case THEN_SOCKET:
		return SECCOMP_RET_USER_NOTIF;
	}
	return plan->refuse;
}

static void put_rule(struct filter_code *code, const struct arg_rule *r, const struct seccomp_want *want,
		     const struct call_plan *plan)
{
	size_t from = code->count;

	for (size_t i = 0; i < TESTS_MAX && r->test[i].op != TEST_END; i++)
		put_test(code, &r->test[i], want->memory_max);
	code_put(code, (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, rule_action(r, plan)));
	for (size_t i = from; i < code->count; i++) {
		struct sock_filter *insn = &code->insns[i];
		if (BPF_CLASS(insn->code) != BPF_JMP)
			continue;
		uint8_t rest = (uint8_t) (code->count - i - 1);
		insn->jt = insn->jt == MISS ? rest : insn->jt;
		insn->jf = insn->jf == MISS ? rest : insn->jf;
	}
}

void rules_plan(const struct seccomp_want *want, struct call_plan *plan)
{
	for (size_t i = 0; i < ARRAY_LEN(watched); i++) {
		int nr = want->watch & watched[i].bit ? call_known(watched[i].call) : -ENOENT;
		if (nr >= 0 && plan->by_name[nr] == SYSCALL_ALLOW)
			plan->action[nr] = SECCOMP_RET_USER_NOTIF;
	}
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		int nr = rule_in_force(&rules[i], want) ? call_known(rules[i].call) : -ENOENT;
		if (nr >= 0 && plan->by_name[nr] == SYSCALL_ALLOW && plan->rules[nr] == 0)
			plan->rules[nr] = (uint8_t) (i + 1);
	}
}

void rules_emit(const struct seccomp_want *want, const struct call_plan *plan, uint32_t nr,
		struct filter_code *code)
{
	if (plan->rules[nr] == 0)
		return;
	const struct arg_rule *first = &rules[plan->rules[nr] - 1];
	for (const struct arg_rule *r = first;
	     r < rules + ARRAY_LEN(rules) && strcmp(r->call, first->call) == 0; r++)
		if (rule_in_force(r, want))
			put_rule(code, r, want, plan);
}

/* ---- in words ---- */

static bool test_holds(const struct arg_test *t, uint64_t arg, uint64_t most)
{
	uint32_t low = (uint32_t) arg;

	switch (t->op) {
	case TEST_IS:
		return low == t->value;
	case TEST_ISNT:
		return low != t->value;
	case TEST_FROM:
		return low >= t->value;
	case TEST_TO:
		return low <= t->value;
	case TEST_ANY:
		return low & t->value;
	case TEST_NONE:
		return !(low & t->value);
	case TEST_NULL:
		return arg == 0;
	case TEST_SET:
		return arg != 0;
	case TEST_OVER:
		return arg > most;
	case TEST_END:
		break;
	}
	return true;
}

static bool is_by_value(const char *call)
{
	for (size_t i = 0; i < ARRAY_LEN(by_value); i++)
		if (is_call(by_value[i], call))
			return true;
	return false;
}

static const struct arg_rule *rule_find(const struct seccomp_want *want, const char *call,
					const uint64_t arg[6])
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		const struct arg_rule *r = &rules[i];
		if (!is_call(r->call, call) || !rule_in_force(r, want))
			continue;
		size_t k = 0;
		while (k < TESTS_MAX && r->test[k].op != TEST_END &&
		       test_holds(&r->test[k], arg[r->test[k].arg], want->memory_max))
			k++;
		if (k == TESTS_MAX || r->test[k].op == TEST_END)
			return r;
	}
	return NULL;
}

static const char *group_means(const struct policy *p, const char *rule)
{
	for (size_t i = 0; p->syscalls && i < p->syscalls->group_count; i++)
		if (p->syscalls->groups[i].rule && strcmp(p->syscalls->groups[i].rule, rule) == 0)
			return p->syscalls->groups[i].means;
	return NULL;
}

static void explain_rule(const struct arg_rule *r, struct seccomp_reason *ret)
{
	switch (r->then) {
	case THEN_ALLOW:
		return;
	case THEN_MEMORY:
		ret->watch = WATCH_MEMORY;
		return;
	case THEN_SIGNAL:
		ret->watch = WATCH_SIGNAL;
		return;
	case THEN_FILTER:
		ret->watch = WATCH_FILTER;
		return;
	case THEN_WRITING:
		ret->watch = WATCH_WRITING;
		return;
	case THEN_SOCKET:
		ret->watch = WATCH_SOCKET;
		return;
	case THEN_REFUSE:
	case THEN_LIMIT:
		ret->watch = WATCH_DENIED;
		ret->action = SYSCALL_REFUSE;
		ret->never_kill = r->then == THEN_LIMIT;
		ret->by_value = r->then == THEN_REFUSE && is_by_value(r->call);
		ret->rule = r->name;
		ret->means = r->means;
	}
}

void seccomp_explain(const struct seccomp_want *want, int nr, uint32_t arch, const uint64_t arg[6],
		     struct seccomp_reason *ret)
{
	*ret = (struct seccomp_reason){ .action = SYSCALL_ALLOW, .rule = "" };
	if (arch != native_arch() || ((uint32_t) nr & X32_BIT)) {
		ret->watch = WATCH_DENIED;
		ret->action = SYSCALL_ABSENT;
		ret->rule = "architectures";
		ret->means = "a second set of system calls, of another kind of program";
		return;
	}
	const char *call = seccomp_call_name(nr, arch);
	ret->action = call ? policy_syscall(want->policy, call, &ret->rule) : SYSCALL_ABSENT;
	if (ret->action != SYSCALL_ALLOW) {
		ret->watch = WATCH_DENIED;
		ret->by_value = ret->action == SYSCALL_REFUSE && is_by_value(call);
		ret->means = group_means(want->policy, ret->rule);
		return;
	}
	ret->rule = "";
	const struct arg_rule *r = rule_find(want, call, arg);
	if (r)
		explain_rule(r, ret);
	else
		ret->watch = call_watch(want, call);
}
