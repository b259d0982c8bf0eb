/* SPDX-License-Identifier: MIT */
/*
 * Notifications in words. The target is this process itself: what a call points at is laid out here, and what
 * must not be read lies behind the end of a mapping.
 */
#include "core/base/base.h"
#include "core/supervise/decode.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/if_packet.h>
#include <linux/mount.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <linux/ptrace.h>
#include <linux/vm_sockets.h>
#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define P(pointer) ((uint64_t) (uintptr_t) (pointer))
#define NOWHERE    UINT64_C(0x10) /* below every mapping */

static struct decoded d;

#define DECODE(nr, ...) decode((nr), AUDIT_ARCH_X86_64, (const uint64_t[6]){ __VA_ARGS__ })

static void decode(int nr, uint32_t arch, const uint64_t arg[6])
{
	struct decode_in in = { .pid = getpid(), .nr = nr, .arch = arch };

	memcpy(in.arg, arg, sizeof(in.arg));
	memset(&d, 0xee, sizeof(d));
	decode_call(&in, &d);
}

static const struct event_arg *arg_of(const char *key)
{
	for (size_t i = 0; i < d.arg_count; i++)
		if (strcmp(d.args[i].key, key) == 0)
			return &d.args[i];
	fail_msg("%s has no argument %s", d.name, key);
	return NULL;
}

static void expect_text(const char *key, const char *text)
{
	const struct event_arg *a = arg_of(key);

	assert_non_null(a->text);
	assert_string_equal(a->text, text);
}

static void expect_number(const char *key, int64_t number)
{
	const struct event_arg *a = arg_of(key);

	assert_null(a->text);
	assert_int_equal(a->number, number);
}

/* ---- words and numbers ---- */

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

/* ---- memory ---- */

/* The first byte behind a page, where nothing may be read. */
static char *page_end(void)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(at != MAP_FAILED);
	assert_int_equal(mprotect(at + page, page, PROT_NONE), 0);
	return at + page;
}

static void page_free(char *end)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE);

	munmap(end - page, 2 * page);
}

static void test_memory_that_is_not_there(void **state)
{
	char *end = page_end();

	(void) state;
	memcpy(end - 5, "/tmp", 5);
	DECODE(SYS_unlink, P(end - 5));
	expect_text("path", "/tmp");
	assert_string_equal(d.path, "/tmp");
	memcpy(end - 4, "/tmp", 4); /* no NUL before the end */
	DECODE(SYS_unlink, P(end - 4));
	expect_text("path", "?");
	assert_string_equal(d.path, "?");
	DECODE(SYS_unlink, NOWHERE);
	expect_text("path", "?");
	DECODE(SYS_unlink, 0);
	expect_text("path", "NULL");
	assert_string_equal(d.path, "?");
	DECODE(SYS_unlink, UINT64_MAX - 2);
	expect_text("path", "?");
	page_free(end);
}

static void test_string_over_a_page_border(void **state)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void) state;
	memcpy(at + page - 4, "/over/it", 9);
	DECODE(SYS_unlink, P(at + page - 4));
	assert_string_equal(d.path, "/over/it");
	assert_false(d.cut);
	munmap(at, 2 * page);
}

static void test_long_strings_are_cut(void **state)
{
	static char name[3 * PATH_MAX];

	(void) state;
	memset(name, 'a', sizeof(name) - 1);
	name[0] = '/';
	DECODE(SYS_rename, P(name), P(name));
	assert_true(d.cut);
	assert_int_equal(strlen(d.path), PATH_MAX);
	assert_int_equal(strlen(d.to), PATH_MAX);
	name[0] = 'a';
	DECODE(SYS_rename, P(name), P(name));
	assert_true(d.cut);
	assert_true(strlen(d.path) > PATH_MAX);
	assert_true(d.used <= sizeof(d.space));
}

/* ---- files ---- */

static void test_paths_become_absolute(void **state)
{
	char cwd[PATH_MAX], due[2 * PATH_MAX];
	int fd = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void) state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(due, sizeof(due), "%s%sa/../b", cwd, cwd[1] ? "/" : "");
	DECODE(SYS_open, P("a/../b"), O_RDONLY);
	assert_int_equal(d.kind, DECODE_FILE);
	assert_string_equal(d.op, "open");
	expect_text("path", "a/../b");
	assert_string_equal(d.path, due);
	DECODE(SYS_openat, (uint64_t) AT_FDCWD, P("./a/../b"), O_RDONLY);
	assert_string_equal(d.path, due);
	DECODE(SYS_openat, (uint32_t) AT_FDCWD, P("a/../b"), O_RDONLY);
	assert_string_equal(d.path, due);
	DECODE(SYS_openat, (uint64_t) fd, P("lib/x"), O_RDONLY);
	assert_string_equal(d.path, "/usr/lib/x");
	DECODE(SYS_openat, (uint64_t) fd, P("/etc/shadow"), O_RDONLY);
	assert_string_equal(d.path, "/etc/shadow");
	DECODE(SYS_openat, 12345, P("x"), O_RDONLY);
	assert_string_equal(d.path, "?/x");
	DECODE(SYS_openat, (uint64_t) fd, P("."), O_RDONLY);
	assert_string_equal(d.path, "/usr");
	DECODE(SYS_fchownat, (uint64_t) fd, P(""), 0, 0, AT_EMPTY_PATH);
	assert_string_equal(d.path, "/usr");
	expect_text("flags", "AT_EMPTY_PATH");
	DECODE(SYS_open, P(""), O_RDONLY);
	assert_string_equal(d.path, "");
	close(fd);
}

static void test_open_flags(void **state)
{
	struct open_how how = { .flags = O_WRONLY | O_CREAT, .mode = 0640, .resolve = RESOLVE_BENEATH };

	(void) state;
	DECODE(SYS_open, P("/x"), O_RDONLY | O_CLOEXEC, 0777);
	assert_int_equal(d.flag_count, 2);
	assert_string_equal(d.flags[0], "O_RDONLY");
	assert_string_equal(d.flags[1], "O_CLOEXEC");
	expect_text("flags", "O_RDONLY|O_CLOEXEC");
	assert_int_equal(d.arg_count, 2); /* the mode means nothing here */
	DECODE(SYS_openat, (uint64_t) AT_FDCWD, P("/x"), O_RDWR | O_CREAT | O_SYNC, 0600);
	expect_text("flags", "O_RDWR|O_SYNC|O_CREAT");
	expect_text("mode", "0600");
	DECODE(SYS_open, P("/tmp"), O_TMPFILE | O_WRONLY, 0600);
	expect_text("flags", "O_WRONLY|O_TMPFILE");
	expect_text("mode", "0600");
	DECODE(SYS_open, P("/tmp"), O_DIRECTORY, 0600);
	assert_int_equal(d.arg_count, 2);
	DECODE(SYS_openat2, (uint64_t) AT_FDCWD, P("/x"), P(&how), sizeof(how));
	expect_text("flags", "O_WRONLY|O_CREAT");
	expect_text("mode", "0640");
	expect_text("resolve", "RESOLVE_BENEATH");
	assert_string_equal(d.flags[0], "O_WRONLY");
	DECODE(SYS_openat2, (uint64_t) AT_FDCWD, P("/x"), NOWHERE, sizeof(how));
	expect_text("flags", "?");
	assert_int_equal(d.flag_count, 0);
	DECODE(SYS_creat, P("/x"), 0644);
	assert_string_equal(d.op, "open");
	assert_string_equal(d.flags[0], "O_WRONLY");
	assert_string_equal(d.flags[1], "O_CREAT");
	assert_string_equal(d.flags[2], "O_TRUNC");
}

static void test_two_paths(void **state)
{
	(void) state;
	DECODE(SYS_renameat2, (uint64_t) AT_FDCWD, P("/a"), (uint64_t) AT_FDCWD, P("/b"), 1);
	assert_string_equal(d.op, "rename");
	assert_string_equal(d.path, "/a");
	assert_string_equal(d.to, "/b");
	expect_text("flags", "RENAME_NOREPLACE");
	DECODE(SYS_symlink, P("../target"), P("/link"));
	assert_string_equal(d.path, "/link");
	assert_null(d.to);
	expect_text("target", "../target");
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

/* ---- programs ---- */

static void test_command_lines(void **state)
{
	const char *const argv[] = { "sh", "-c", "id; \033[31m", NULL };
	const char *many[100];
	char *end = page_end();

	(void) state;
	DECODE(SYS_execve, P("/bin/sh"), P(argv), 0);
	assert_int_equal(d.kind, DECODE_EXEC);
	assert_string_equal(d.path, "/bin/sh");
	assert_int_equal(d.argv_count, 3);
	assert_string_equal(d.argv[2], "id; \033[31m"); /* as it came */
	assert_false(d.cut);
	DECODE(SYS_execve, P("/bin/sh"), 0, 0);
	assert_int_equal(d.argv_count, 0);

	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = "word";
	DECODE(SYS_execve, P("/bin/sh"), P(many), 0);
	assert_int_equal(d.argv_count, DECODE_ARGV_MAX);
	assert_true(d.cut);

	const char **last = (const char **) (void *) end - 2; /* two words and no end */
	last[0] = "one";
	last[1] = (const char *) (uintptr_t) NOWHERE;
	DECODE(SYS_execve, P("/bin/sh"), P(last), 0);
	assert_int_equal(d.argv_count, 3);
	assert_string_equal(d.argv[0], "one");
	assert_string_equal(d.argv[1], "?");
	assert_string_equal(d.argv[2], "?");
	page_free(end);
}

static void test_long_command_line_is_bounded(void **state)
{
	static char word[8192];
	const char *argv[DECODE_ARGV_MAX + 1] = { 0 };

	(void) state;
	memset(word, 'w', sizeof(word) - 1);
	for (size_t i = 0; i < DECODE_ARGV_MAX; i++)
		argv[i] = word;
	DECODE(SYS_execve, P("/bin/sh"), P(argv), 0);
	assert_int_equal(d.argv_count, DECODE_ARGV_MAX);
	assert_true(d.cut);
	assert_int_equal(strlen(d.argv[0]), 1024);
	for (size_t i = 0; i < d.argv_count; i++)
		assert_true(strlen(d.argv[i]) <= 1024);
	assert_true(d.used <= sizeof(d.space));
}

/* ---- sockets ---- */

static void connect_to(const void *address, uint64_t len)
{
	DECODE(SYS_connect, 9999, P(address), len);
	assert_int_equal(d.kind, DECODE_NETWORK);
	assert_string_equal(d.op, "connect");
	assert_int_equal(d.addr_count, 1);
}

static void expect_address(const char *family, const char *address, int64_t port)
{
	assert_string_equal(d.addr[0].family, family);
	if (address)
		assert_string_equal(d.addr[0].address, address);
	else
		assert_null(d.addr[0].address);
	assert_int_equal(d.addr[0].port, port);
}

static void test_internet_addresses(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(80) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(443) };

	(void) state;
	inet_pton(AF_INET, "169.254.169.254", &in.sin_addr);
	connect_to(&in, sizeof(in));
	expect_address("inet", "169.254.169.254", 80);
	connect_to(&in, sizeof(in) - 1);
	expect_address("inet", NULL, -1);
	connect_to(&in, UINT32_MAX); /* the kernel refuses it; what can be read is read */
	assert_true(d.addr[0].address == NULL || strlen(d.addr[0].address) > 0);
	inet_pton(AF_INET6, "::ffff:10.0.0.1", &in6.sin6_addr);
	connect_to(&in6, sizeof(in6));
	expect_address("inet6", "::ffff:10.0.0.1", 443);
	inet_pton(AF_INET6, "fe80::1", &in6.sin6_addr);
	in6.sin6_scope_id = 3;
	connect_to(&in6, sizeof(in6));
	expect_address("inet6", "fe80::1%3", 443);
	connect_to(&in6, sizeof(in6) - 4);
	expect_address("inet6", "fe80::1", 443);
}

static void test_unix_addresses(void **state)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/run/docker.sock" };

	(void) state;
	connect_to(&un, sizeof(un));
	expect_address("unix", "/run/docker.sock", -1);
	connect_to(&un, sizeof(sa_family_t) + 4);
	expect_address("unix", "/run", -1);
	connect_to(&un, sizeof(sa_family_t));
	expect_address("unix", "@", -1);
	memset(un.sun_path, 'x', sizeof(un.sun_path));
	connect_to(&un, sizeof(un));
	assert_int_equal(strlen(d.addr[0].address), sizeof(un.sun_path));
	memcpy(un.sun_path, "\0ab\0c", 5);
	connect_to(&un, sizeof(sa_family_t) + 5);
	expect_address("unix", "@ab@c", -1);
}

static void test_other_addresses(void **state)
{
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK, .nl_pid = 7, .nl_groups = 1 };
	struct sockaddr_vm vm = { .svm_family = AF_VSOCK, .svm_cid = 2, .svm_port = 1024 };
	struct sockaddr_ll ll = { .sll_family = AF_PACKET, .sll_ifindex = 2, .sll_protocol = htons(3) };
	struct sockaddr any = { .sa_family = AF_UNSPEC }, odd = { .sa_family = 999 };

	(void) state;
	connect_to(&nl, sizeof(nl));
	expect_address("netlink", "pid 7, groups 0x1", -1);
	connect_to(&vm, sizeof(vm));
	expect_address("vsock", "CID 2", 1024);
	connect_to(&ll, sizeof(ll));
	expect_address("packet", "interface 2, protocol 0x0003", -1);
	connect_to(&any, sizeof(any));
	expect_address("unspec", NULL, -1);
	connect_to(&odd, sizeof(odd));
	expect_address("family 999", NULL, -1);
	connect_to(&odd, 1);
	expect_address("?", NULL, -1);
	DECODE(SYS_connect, 9999, NOWHERE, 16);
	expect_address("?", "?", -1);
	DECODE(SYS_connect, 9999, 0, 16);
	expect_address("?", NULL, -1);
}

static void test_messages(void **state)
{
	struct sockaddr_in in[10];
	struct msghdr m = { .msg_name = &in[0], .msg_namelen = sizeof(in[0]) };
	struct mmsghdr list[10] = { 0 };

	(void) state;
	for (size_t i = 0; i < ARRAY_LEN(in); i++) {
		in[i] = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t) (50 + i)) };
		list[i].msg_hdr = (struct msghdr){ .msg_name = &in[i], .msg_namelen = sizeof(in[i]) };
	}
	DECODE(SYS_sendmsg, 9999, P(&m), MSG_NOSIGNAL);
	expect_address("inet", "0.0.0.0", 50);
	expect_text("flags", "MSG_NOSIGNAL");
	DECODE(SYS_sendmsg, 9999, NOWHERE, 0);
	expect_address("?", "?", -1);
	m.msg_name = NULL;
	DECODE(SYS_sendmsg, 9999, P(&m), 0);
	expect_address("?", NULL, -1);
	DECODE(SYS_sendmmsg, 9999, P(list), 2, 0);
	assert_int_equal(d.addr_count, 2);
	assert_int_equal(d.addr[1].port, 51);
	assert_false(d.cut);
	DECODE(SYS_sendmmsg, 9999, P(list), 10, 0);
	assert_int_equal(d.addr_count, DECODE_ADDRS_MAX);
	assert_true(d.cut);
	DECODE(SYS_sendmmsg, 9999, 0, 0, 0);
	assert_int_equal(d.addr_count, 1);
	DECODE(SYS_sendto, 9999, 0, 5, 0, P(&in[3]), sizeof(in[3]));
	assert_string_equal(d.op, "send");
	expect_address("inet", "0.0.0.0", 53);
}

static void test_kinds_of_sockets(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(53) };
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void) state;
	DECODE(SYS_connect, (uint64_t) tcp, P(&in), sizeof(in));
	assert_string_equal(d.addr[0].protocol, "tcp");
	DECODE(SYS_connect, (uint64_t) udp, P(&in), sizeof(in));
	assert_string_equal(d.addr[0].protocol, "udp");
	DECODE(SYS_listen, (uint64_t) local, 5);
	assert_string_equal(d.addr[0].family, "unix");
	assert_string_equal(d.addr[0].protocol, "stream");
	DECODE(SYS_connect, 9999, P(&in), sizeof(in));
	assert_null(d.addr[0].protocol);
	DECODE(SYS_socket, AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_string_equal(d.addr[0].family, "inet6");
	assert_string_equal(d.addr[0].protocol, "udp");
	expect_text("family", "AF_INET6");
	expect_text("type", "SOCK_DGRAM|SOCK_CLOEXEC");
	DECODE(SYS_socket, AF_VSOCK, SOCK_STREAM, 0);
	assert_string_equal(d.addr[0].family, "vsock");
	close(tcp);
	close(udp);
	close(local);
}

/* A notification carries the thread's id: all that is looked up must work by it. */
static void *thread_decode(void *arg)
{
	int fd = *(int *) arg;
	struct decode_in in = { .pid = (pid_t) syscall(SYS_gettid),
				.nr = SYS_listen,
				.arch = AUDIT_ARCH_X86_64 };

	in.arg[0] = (uint64_t) fd;
	decode_call(&in, &d);
	return NULL;
}

static void test_calls_of_a_thread(void **state)
{
	int local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pthread_t thread;

	(void) state;
	assert_int_equal(pthread_create(&thread, NULL, thread_decode, &local), 0);
	pthread_join(thread, NULL);
	assert_non_null(d.addr[0].protocol);
	assert_string_equal(d.addr[0].protocol, "stream");
	close(local);
}

/* Whatever the registers hold, nothing is overrun and every promise of decode.h is kept. */
static void test_any_registers(void **state)
{
	static char memory[8192];
	unsigned seed = 20240229;

	(void) state;
	for (int round = 0; round < 40; round++) {
		for (size_t i = 0; i < sizeof(memory); i++)
			memory[i] = (char) (rand_r(&seed) % 3 ? 'a' : rand_r(&seed));
		for (int nr = 0; nr < 480; nr++) {
			uint64_t arg[6];
			for (size_t i = 0; i < 6; i++)
				arg[i] = rand_r(&seed) % 2 ? P(memory + rand_r(&seed) % sizeof(memory))
							   : (uint64_t) rand_r(&seed);
			decode(nr, AUDIT_ARCH_X86_64, arg);
			assert_non_null(d.name);
			assert_true(d.used <= sizeof(d.space));
			assert_true(d.kind != DECODE_FILE || d.path != NULL);
			assert_true(d.kind != DECODE_NETWORK || d.addr_count >= 1);
			for (size_t i = 0; i < d.argv_count; i++)
				assert_non_null(d.argv[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registers_become_words),
		cmocka_unit_test(test_calls_without_a_row),
		cmocka_unit_test(test_other_architectures_are_only_named),
		cmocka_unit_test(test_clone3_flags_are_shown),
		cmocka_unit_test(test_memory_that_is_not_there),
		cmocka_unit_test(test_string_over_a_page_border),
		cmocka_unit_test(test_long_strings_are_cut),
		cmocka_unit_test(test_paths_become_absolute),
		cmocka_unit_test(test_open_flags),
		cmocka_unit_test(test_two_paths),
		cmocka_unit_test(test_mount_words),
		cmocka_unit_test(test_command_lines),
		cmocka_unit_test(test_long_command_line_is_bounded),
		cmocka_unit_test(test_internet_addresses),
		cmocka_unit_test(test_unix_addresses),
		cmocka_unit_test(test_other_addresses),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_kinds_of_sockets),
		cmocka_unit_test(test_calls_of_a_thread),
		cmocka_unit_test(test_any_registers),
	};

	return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
