/* SPDX-License-Identifier: MIT */
/*
 * Socket addresses of a target, and what kind of socket it has at a descriptor. Lengths are the target's own
 * and are believed only up to the size of the family's structure.
 */
#include "core/supervise/decode_parts.h"

#include "core/base/base.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_alg.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static const struct {
	int family;
	const char *name;
} families[] = {
	{ AF_UNSPEC, "unspec" }, { AF_UNIX, "unix" },       { AF_INET, "inet" },
	{ AF_INET6, "inet6" },   { AF_NETLINK, "netlink" }, { AF_PACKET, "packet" },
	{ AF_VSOCK, "vsock" },   { AF_ALG, "alg" },         { AF_BLUETOOTH, "bluetooth" },
	{ AF_TIPC, "tipc" },     { AF_CAN, "can" },         { AF_XDP, "xdp" },
	{ AF_RDS, "rds" },       { AF_KEY, "key" },
};

const char *family_name(struct decoded *ret, int family)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		if (families[i].family == family)
			return families[i].name;
	return keepf(ret, "family %d", family);
}

const char *protocol_name(int family, int type, int protocol)
{
	type &= 0xf; /* without SOCK_CLOEXEC, SOCK_NONBLOCK */
	if (family == AF_INET || family == AF_INET6) {
		if (type == SOCK_RAW)
			return "raw";
		switch (protocol) {
		case 0:
			return type == SOCK_STREAM ? "tcp" : type == SOCK_DGRAM ? "udp" : NULL;
		case IPPROTO_TCP:
			return "tcp";
		case IPPROTO_UDP:
			return "udp";
		case IPPROTO_ICMP:
		case IPPROTO_ICMPV6:
			return "icmp";
		case IPPROTO_MPTCP:
			return "mptcp";
		case IPPROTO_SCTP:
			return "sctp";
		case IPPROTO_DCCP:
			return "dccp";
		}
		return NULL;
	}
	if (family == AF_NETLINK)
		return protocol == NETLINK_ROUTE ? "route" : NULL;
	return type == SOCK_STREAM      ? "stream"
	       : type == SOCK_DGRAM     ? "dgram"
	       : type == SOCK_SEQPACKET ? "seqpacket"
					: NULL;
}

/* ---- addresses ---- */

/* Of an abstract name all bytes count, NULs too; /proc/net/unix shows each of them as @, and so do we. A path
 * is told from its root on, so that none looks like such a name. */
static const char *unix_text(struct decoded *ret, pid_t pid, const struct sockaddr_un *un, size_t len)
{
	size_t size = len - offsetof(struct sockaddr_un, sun_path);
	char text[sizeof(un->sun_path)];

	if (size == 0)
		return "@"; /* the kernel picks an abstract name */
	memcpy(text, un->sun_path, size);
	if (text[0] != '\0')
		return path_absolute(ret, pid, AT_FDCWD, keep(ret, text, strnlen(text, size)));
	for (size_t i = 0; i < size; i++)
		if (text[i] == '\0')
			text[i] = '@';
	return keep(ret, text, size);
}

static void inet6_text(struct decoded *ret, const struct sockaddr_in6 *in6, struct decode_addr *to)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
	to->address = in6->sin6_scope_id ? keepf(ret, "%s%%%u", text, in6->sin6_scope_id)
					 : keep(ret, text, strlen(text));
	to->port = ntohs(in6->sin6_port);
}

/* Of a family without words of its own: the bytes, as many as most such addresses have. */
static const char *other_text(struct decoded *ret, const unsigned char *bytes, size_t len)
{
	char text[2 * 24 + 1] = "";

	len = len < 24 ? len : 24;
	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return len ? keepf(ret, "0x%s", text) : NULL;
}

union any_address {
	sa_family_t family;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
	struct sockaddr_nl nl;
	struct sockaddr_vm vm;
	struct sockaddr_ll ll;
	struct sockaddr_alg alg;
	unsigned char byte[sizeof(struct sockaddr_storage)];
};

static void inet_text(struct decoded *ret, const struct sockaddr_in *in, struct decode_addr *to)
{
	char text[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
	to->address = keep(ret, text, strlen(text));
	to->port = ntohs(in->sin_port);
}

/* What is no internet's and has no path. */
static void plain_text(struct decoded *ret, const union any_address *a, size_t len, struct decode_addr *to)
{
	switch (a->family) {
	case AF_NETLINK:
		if (len >= sizeof(a->nl))
			to->address = keepf(ret, "pid %u, groups 0x%x", a->nl.nl_pid, a->nl.nl_groups);
		break;
	case AF_VSOCK:
		if (len < sizeof(a->vm))
			break;
		to->address =
			a->vm.svm_cid == VMADDR_CID_ANY ? "any CID" : keepf(ret, "CID %u", a->vm.svm_cid);
		to->port = a->vm.svm_port;
		break;
	case AF_PACKET:
		if (len >= offsetof(struct sockaddr_ll, sll_addr))
			to->address = keepf(ret, "interface %d, protocol 0x%04x", a->ll.sll_ifindex,
					    ntohs(a->ll.sll_protocol));
		break;
	case AF_ALG:
		if (len >= sizeof(a->alg))
			to->address = keepf(ret, "%.*s %.*s", (int) sizeof(a->alg.salg_type),
					    (const char *) a->alg.salg_type, (int) sizeof(a->alg.salg_name),
					    (const char *) a->alg.salg_name);
		break;
	default:
		to->address = other_text(ret, a->byte + sizeof(a->family), len - sizeof(a->family));
		break;
	}
}

void address_decode(struct decoded *ret, pid_t pid, const void *bytes, size_t len, struct decode_addr *to)
{
	union any_address a = { 0 };

	*to = (struct decode_addr){ .family = "?", .port = -1 };
	if (len < sizeof(a.family))
		return;
	len = len < sizeof(a) ? len : sizeof(a);
	memcpy(&a, bytes, len);
	to->family = family_name(ret, a.family);
	switch (a.family) {
	case AF_UNSPEC: /* to connect none, on purpose: it takes a peer away; to all others the same as AF_INET */
		if (ret->op && strcmp(ret->op, "connect") == 0)
			break;
		to->family = len >= sizeof(a.in) ? "inet" : to->family;
		__attribute__((fallthrough));
	case AF_INET:
		if (len >= sizeof(a.in))
			inet_text(ret, &a.in, to);
		break;
	case AF_INET6: /* the kernel takes it without the scope too (RFC 2133) */
		if (len >= offsetof(struct sockaddr_in6, sin6_scope_id))
			inet6_text(ret, &a.in6, to);
		break;
	case AF_UNIX:
		to->address = unix_text(ret, pid, &a.un, len < sizeof(a.un) ? len : sizeof(a.un));
		break;
	default:
		plain_text(ret, &a, len, to);
	}
}

void address_read(struct decoded *ret, pid_t pid, uint64_t at, uint64_t len, struct decode_addr *to)
{
	char bytes[sizeof(struct sockaddr_storage)];

	*to = (struct decode_addr){ .family = "?", .port = -1 };
	if (at == 0)
		return;
	if (len > sizeof(bytes)) /* the kernel would answer EINVAL to it */
		len = sizeof(bytes);
	if (memory_read(pid, at, bytes, len))
		address_decode(ret, pid, bytes, len, to);
	else
		to->address = "?";
}

void address_of_msghdr(struct decoded *ret, pid_t pid, uint64_t at, struct decode_addr *to)
{
	struct msghdr m;

	*to = (struct decode_addr){ .family = "?", .port = -1 };
	if (at == 0)
		return;
	if (memory_read(pid, at, &m, sizeof(m)))
		address_read(ret, pid, (uintptr_t) m.msg_name, m.msg_namelen, to);
	else
		to->address = "?";
}

/* ---- kinds ---- */

/* A notification names the thread; pidfd_open(2) took only leaders of thread groups until Linux 6.9. */
static pid_t thread_leader(pid_t pid)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/status", (int) pid);
	if (file_read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
		return -1;
	const char *line = strstr(text, "\nTgid:");
	return line ? (pid_t) strtol(line + 6, NULL, 10) : -1;
}

/* A copy of the descriptor, only to ask the kernel about it: nothing is read from or done to the socket. */
static int socket_copy(pid_t pid, int fd)
{
	pid_t leader = thread_leader(pid);

	if (leader <= 0)
		return -1;
	CLOSE_FD int pidfd = (int) syscall(SYS_pidfd_open, leader, 0);
	return pidfd < 0 ? -1 : (int) syscall(SYS_pidfd_getfd, pidfd, fd, 0);
}

void address_kind(struct decoded *ret, pid_t pid, int fd, struct decode_addr *to)
{
	int family, type, protocol;
	socklen_t len = sizeof(int);
	CLOSE_FD int copy = socket_copy(pid, fd);

	if (copy < 0 || getsockopt(copy, SOL_SOCKET, SO_DOMAIN, &family, &len) < 0 ||
	    getsockopt(copy, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	    getsockopt(copy, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) < 0)
		return;
	if (strcmp(to->family, "?") == 0)
		to->family = family_name(ret, family);
	to->protocol = protocol_name(family, type, protocol);
}
