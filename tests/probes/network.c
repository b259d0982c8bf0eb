/* SPDX-License-Identifier: MIT */
/*
 * network: one static program that tries each way to reach somebody through a socket, one row of a table each, and
 * says on a line of its own, by the name of the errno, what came of it. All that it names is this machine itself, by
 * addresses that nothing else has, and names that nobody serves.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ODD_FAMILY 77

struct address {
	struct sockaddr_storage bytes;
	socklen_t len;
};
struct attempt {
	const char *name;
	long (*try)(int fd, struct address *to);
	int domain, type, protocol;
	const char *host; /* an internet address, a path, "@" and an abstract name, or a netlink port */
	int port;         /* or, of netlink, groups */
};

static long try_connect(int fd, struct address *to)
{
	return connect(fd, (struct sockaddr *) &to->bytes, to->len);
}

static long try_bind(int fd, struct address *to)
{
	return bind(fd, (struct sockaddr *) &to->bytes, to->len);
}

static long try_sendto(int fd, struct address *to)
{
	return sendto(fd, "x", 1, MSG_NOSIGNAL, (struct sockaddr *) &to->bytes, to->len);
}

static struct msghdr message_to(struct address *to)
{
	static char x = 'x';
	static struct iovec byte = { .iov_base = &x, .iov_len = 1 };
	return (struct msghdr){
		.msg_name = &to->bytes, .msg_namelen = to->len, .msg_iov = &byte, .msg_iovlen = 1
	};
}

static long try_sendmsg(int fd, struct address *to)
{
	struct msghdr m = message_to(to);
	return sendmsg(fd, &m, MSG_NOSIGNAL);
}

/* Two at once, the second to the next port. */
static long try_sendmmsg(int fd, struct address *to)
{
	struct address next = *to;
	struct sockaddr_in *in = (struct sockaddr_in *) &next.bytes;
	struct mmsghdr both[2] = { { .msg_hdr = message_to(to) }, { .msg_hdr = message_to(&next) } };
	in->sin_port = htons((in_port_t) (ntohs(in->sin_port) + 1));
	return sendmmsg(fd, both, 2, MSG_NOSIGNAL);
}

static long try_short(int fd, struct address *to)
{
	to->len = 7;
	return try_connect(fd, to);
}

static long try_odd(int fd, struct address *to)
{
	to->bytes.ss_family = ODD_FAMILY;
	to->len = 4;
	return try_connect(fd, to);
}

static long try_dissolve(int fd, struct address *to)
{
	to->bytes.ss_family = AF_UNSPEC;
	return try_connect(fd, to);
}

/* An old kindness of the kernel (udp_sendmsg, inet_bind): no family is taken for AF_INET. */
static long try_sendto_unspec(int fd, struct address *to)
{
	to->bytes.ss_family = AF_UNSPEC;
	return try_sendto(fd, to);
}

static long try_bind_unspec(int fd, struct address *to)
{
	to->bytes.ss_family = AF_UNSPEC;
	return try_bind(fd, to);
}

static long try_unreadable(int fd, struct address *to)
{
	return connect(fd, (struct sockaddr *) 1, to->len);
}

// clang-format off
static const struct attempt attempts[] = {
	{ "tcp-connect", try_connect, AF_INET, SOCK_STREAM, 0, "127.0.0.1", 9 },
	{ "tcp-connect-6", try_connect, AF_INET6, SOCK_STREAM, 0, "::1", 10 },
	{ "tcp-connect-mapped", try_connect, AF_INET6, SOCK_STREAM, 0, "::ffff:127.0.0.1", 11 },
	{ "tcp-connect-any", try_connect, AF_INET, SOCK_STREAM, 0, "0.0.0.0", 12 },
	{ "tcp-bind", try_bind, AF_INET, SOCK_STREAM, 0, "127.0.0.1", 40013 },
	{ "tcp-bind-6", try_bind, AF_INET6, SOCK_STREAM, 0, "::1", 40014 },
	{ "tcp-bind-any", try_bind, AF_INET, SOCK_STREAM, 0, "0.0.0.0", 0 },
	{ "udp-connect", try_connect, AF_INET, SOCK_DGRAM, 0, "127.0.0.1", 53 },
	{ "udp-sendto", try_sendto, AF_INET, SOCK_DGRAM, 0, "127.0.0.1", 54 },
	{ "udp-sendto-6", try_sendto, AF_INET6, SOCK_DGRAM, 0, "::1", 55 },
	{ "udp-sendmsg", try_sendmsg, AF_INET, SOCK_DGRAM, 0, "127.0.0.1", 56 },
	{ "udp-sendmsg-6", try_sendmsg, AF_INET6, SOCK_DGRAM, 0, "::1", 57 },
	{ "udp-sendmmsg", try_sendmmsg, AF_INET, SOCK_DGRAM, 0, "127.0.0.1", 58 }, /* and 59 */
	{ "udp-sendto-unspec", try_sendto_unspec, AF_INET, SOCK_DGRAM, 0, "127.0.0.1", 60 },
	{ "udp-bind-unspec", try_bind_unspec, AF_INET, SOCK_DGRAM, 0, "0.0.0.0", 0 },
	{ "udp-bind-6", try_bind, AF_INET6, SOCK_DGRAM, 0, "::1", 40015 },
	{ "unix-connect", try_connect, AF_UNIX, SOCK_STREAM, 0, "/run/belljar-none.sock", 0 },
	{ "unix-connect-relative", try_connect, AF_UNIX, SOCK_STREAM, 0, "./none.sock", 0 },
	{ "unix-connect-abstract", try_connect, AF_UNIX, SOCK_STREAM, 0, "@belljar-none", 0 },
	{ "unix-connect-seqpacket", try_connect, AF_UNIX, SOCK_SEQPACKET, 0, "/run/belljar-none.packets", 0 },
	{ "unix-sendto", try_sendto, AF_UNIX, SOCK_DGRAM, 0, "/run/belljar-none.log", 0 },
	{ "unix-sendmsg", try_sendmsg, AF_UNIX, SOCK_DGRAM, 0, "@belljar-none-log", 0 },
	{ "unix-bind", try_bind, AF_UNIX, SOCK_STREAM, 0, "made.sock", 0 },
	{ "unix-bind-abstract", try_bind, AF_UNIX, SOCK_STREAM, 0, "@belljar-none-made", 0 },
	{ "unix-bind-auto", try_bind, AF_UNIX, SOCK_STREAM, 0, "", 0 },
	{ "netlink-bind", try_bind, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, "0", 1 },
	{ "netlink-connect", try_connect, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, "0", 0 },
	{ "netlink-sendto", try_sendto, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, "0", 0 },
	{ "odd-family", try_odd, AF_UNIX, SOCK_STREAM, 0, "odd", 0 },
	{ "unreadable", try_unreadable, AF_INET, SOCK_STREAM, 0, "127.0.0.1", 1 },
	{ "too-short", try_short, AF_INET, SOCK_STREAM, 0, "127.0.0.1", 2 },
	{ "dissolve", try_dissolve, AF_INET, SOCK_DGRAM, 0, "127.0.0.1", 3 },
};
// clang-format on

static struct address address_make(const struct attempt *a)
{
	struct address to = { .bytes = { .ss_family = (sa_family_t) a->domain } };
	struct sockaddr_in *in = (struct sockaddr_in *) &to.bytes;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *) &to.bytes;
	struct sockaddr_un *un = (struct sockaddr_un *) &to.bytes;
	struct sockaddr_nl *nl = (struct sockaddr_nl *) &to.bytes;
	size_t len = strlen(a->host);
	switch (a->domain) {
	case AF_INET:
		in->sin_port = htons((in_port_t) a->port);
		inet_pton(AF_INET, a->host, &in->sin_addr);
		to.len = sizeof(*in);
		break;
	case AF_INET6:
		in6->sin6_port = htons((in_port_t) a->port);
		inet_pton(AF_INET6, a->host, &in6->sin6_addr);
		to.len = sizeof(*in6);
		break;
	case AF_UNIX:
		memcpy(un->sun_path, a->host, len);
		if (a->host[0] == '@')
			un->sun_path[0] = '\0';
		to.len = (socklen_t) (sizeof(un->sun_family) + len);
		break;
	default:
		nl->nl_groups = (unsigned) a->port;
		to.len = sizeof(*nl);
	}
	return to;
}

int main(void)
{
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		const struct attempt *a = &attempts[i];
		struct address to = address_make(a);
		struct timeval second = { .tv_sec = 1 };
		int fd = socket(a->domain, a->type | SOCK_CLOEXEC, a->protocol);
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof(second));
		long r = fd < 0 ? fd : a->try(fd, &to);
		printf("%s %s\n", a->name, r < 0 ? strerrorname_np(errno) : "OK");
		close(fd);
	}
	return 0;
}
