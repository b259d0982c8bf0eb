/* SPDX-License-Identifier: MIT */
/*
 * Socket addresses, and the kinds of the sockets that they are for.
 */
#include "decode_fixture.h"

#include <arpa/inet.h>
#include <limits.h>
#include <linux/if_alg.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

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
	char due[PATH_MAX + 8];

	(void) state;
	connect_to(&un, sizeof(un));
	expect_address("unix", "/run/docker.sock", -1);
	connect_to(&un, sizeof(sa_family_t) + 4);
	expect_address("unix", "/run", -1);
	connect_to(&un, sizeof(sa_family_t));
	expect_address("unix", "@", -1);
	memset(un.sun_path, 'x', sizeof(un.sun_path));
	un.sun_path[0] = '/';
	connect_to(&un, sizeof(un));
	assert_int_equal(strlen(d.addr[0].address), sizeof(un.sun_path));
	assert_non_null(getcwd(due, PATH_MAX));
	strcat(due, due[1] ? "/@ab" : "@ab"); /* a path, though it looks like the next */
	memcpy(un.sun_path, "@ab", 4);
	connect_to(&un, sizeof(un));
	expect_address("unix", due, -1);
	memcpy(un.sun_path, "\0ab\0c", 5);
	connect_to(&un, sizeof(sa_family_t) + 5);
	expect_address("unix", "@ab@c", -1);
}

static void test_other_addresses(void **state)
{
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK, .nl_pid = 7, .nl_groups = 1 };
	struct sockaddr_vm vm = { .svm_family = AF_VSOCK, .svm_cid = 2, .svm_port = 1024 };
	struct sockaddr_ll ll = { .sll_family = AF_PACKET, .sll_ifindex = 2, .sll_protocol = htons(3) };
	struct sockaddr_alg alg = { .salg_family = AF_ALG, .salg_type = "hash", .salg_name = "sha256" };
	struct sockaddr any = { .sa_family = AF_UNSPEC }, odd = { .sa_family = 999, .sa_data = "\1\xab" };

	(void) state;
	connect_to(&nl, sizeof(nl));
	expect_address("netlink", "pid 7, groups 0x1", -1);
	connect_to(&vm, sizeof(vm));
	expect_address("vsock", "CID 2", 1024);
	connect_to(&ll, sizeof(ll));
	expect_address("packet", "interface 2, protocol 0x0003", -1);
	connect_to(&alg, sizeof(alg));
	expect_address("alg", "hash sha256", -1);
	memset(&alg.salg_type, 'x', sizeof(alg.salg_type) + sizeof(alg.salg_name)); /* no end anywhere */
	connect_to(&alg, sizeof(alg));
	assert_true(strlen(d.addr[0].address) <= sizeof(alg));
	connect_to(&any, sizeof(any));
	expect_address("unspec", NULL, -1);
	connect_to(&odd, 4);
	expect_address("family 999", "0x01ab", -1);
	connect_to(&odd, 2);
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
	assert_int_equal(d.addr_beyond, 10 - DECODE_ADDRS_MAX);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_internet_addresses), cmocka_unit_test(test_unix_addresses),
		cmocka_unit_test(test_other_addresses),    cmocka_unit_test(test_messages),
		cmocka_unit_test(test_kinds_of_sockets),   cmocka_unit_test(test_calls_of_a_thread),
	};

	return cmocka_run_group_tests_name("decode addresses", tests, NULL, NULL);
}
