#!/bin/bash
# SPDX-License-Identifier: MIT
# One table: each way to reach somebody through a socket, what the target sees, and the one event that must tell of it:
# family, protocol, address, port and outcome. rows.py says how a row reads.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
cp "${PROBE%/*}/network" "$tools/network" && chmod 755 "$tools/network"

# unknown, unreachable: what is said of the outcome of an attempt, where another may listen and where nobody can.
table_subprocess() { # sockets of the internet have a network without any interface
	cat <<-'TXT'
	tcp-connect; ENETUNREACH; unreachable op=connect family=inet protocol=tcp address=127.0.0.1 port=9
	tcp-connect-6; ENETUNREACH|EADDRNOTAVAIL; unreachable op=connect family=inet6 protocol=tcp address=::1 port=10
	tcp-connect-mapped; ENETUNREACH; unreachable op=connect family=inet6 protocol=tcp address=::ffff:127.0.0.1 port=11
	tcp-connect-any; ENETUNREACH; unreachable op=connect family=inet protocol=tcp address=0.0.0.0 port=12
	tcp-bind; OK|EADDRNOTAVAIL; unknown op=bind family=inet protocol=tcp address=127.0.0.1 port=40013
	tcp-bind-6; OK|EADDRNOTAVAIL; unknown op=bind family=inet6 protocol=tcp address=::1 port=40014
	tcp-bind-any; OK; unknown op=bind family=inet protocol=tcp address=0.0.0.0 port=0
	udp-connect; ENETUNREACH; unreachable op=connect family=inet protocol=udp address=127.0.0.1 port=53
	udp-sendto; ENETUNREACH; unreachable op=send family=inet protocol=udp address=127.0.0.1 port=54
	udp-sendto-6; ENETUNREACH|EADDRNOTAVAIL; unreachable op=send family=inet6 protocol=udp address=::1 port=55
	udp-sendmsg; ENETUNREACH; unreachable op=send family=inet protocol=udp address=127.0.0.1 port=56
	udp-sendmsg-6; ENETUNREACH|EADDRNOTAVAIL; unreachable op=send family=inet6 protocol=udp address=::1 port=57
	udp-sendmmsg; ENETUNREACH; unreachable op=send family=inet protocol=udp address=127.0.0.1 port=58
	udp-sendmmsg; ENETUNREACH; unreachable op=send family=inet protocol=udp address=127.0.0.1 port=59
	udp-sendto-unspec; ENETUNREACH; unreachable op=send family=inet protocol=udp address=127.0.0.1 port=60
	udp-bind-unspec; OK; unknown op=bind family=inet protocol=udp address=0.0.0.0 port=0
	udp-bind-6; OK|EADDRNOTAVAIL; unknown op=bind family=inet6 protocol=udp address=::1 port=40015
	dissolve; OK; -
	TXT
}

table_namespaces() { # a network of its own, in which only loopback is up
	cat <<-'TXT'
	tcp-connect; ECONNREFUSED; unknown op=connect family=inet protocol=tcp address=127.0.0.1 port=9
	tcp-connect-6; ECONNREFUSED; unknown op=connect family=inet6 protocol=tcp address=::1 port=10
	tcp-connect-mapped; ECONNREFUSED; unknown op=connect family=inet6 protocol=tcp address=::ffff:127.0.0.1 port=11
	tcp-connect-any; ECONNREFUSED; unknown op=connect family=inet protocol=tcp address=0.0.0.0 port=12
	tcp-bind; OK; unknown op=bind family=inet protocol=tcp address=127.0.0.1 port=40013
	tcp-bind-6; OK; unknown op=bind family=inet6 protocol=tcp address=::1 port=40014
	tcp-bind-any; OK; unknown op=bind family=inet protocol=tcp address=0.0.0.0 port=0
	udp-connect; OK; unknown op=connect family=inet protocol=udp address=127.0.0.1 port=53
	udp-sendto; OK; unknown op=send family=inet protocol=udp address=127.0.0.1 port=54
	udp-sendto-6; OK; unknown op=send family=inet6 protocol=udp address=::1 port=55
	udp-sendmsg; OK; unknown op=send family=inet protocol=udp address=127.0.0.1 port=56
	udp-sendmsg-6; OK; unknown op=send family=inet6 protocol=udp address=::1 port=57
	udp-sendmmsg; OK; unknown op=send family=inet protocol=udp address=127.0.0.1 port=58
	udp-sendmmsg; OK; unknown op=send family=inet protocol=udp address=127.0.0.1 port=59
	udp-sendto-unspec; OK; unknown op=send family=inet protocol=udp address=127.0.0.1 port=60
	udp-bind-unspec; OK; unknown op=bind family=inet protocol=udp address=0.0.0.0 port=0
	udp-bind-6; OK; unknown op=bind family=inet6 protocol=udp address=::1 port=40015
	dissolve; OK; -
	TXT
}

table() { # at either level; no network namespace parts what has a path
	cat <<-'TXT'
	unix-connect; ENOENT; unknown op=connect family=unix protocol=stream address=/run/belljar-none.sock port=None
	unix-connect-relative; ENOENT; unknown op=connect family=unix protocol=stream address=@/none.sock port=None
	unix-connect-abstract; ECONNREFUSED; unknown op=connect family=unix protocol=stream address~@belljar-none port=None
	unix-connect-seqpacket; ENOENT; unknown op=connect family=unix protocol=seqpacket address=/run/belljar-none.packets port=None
	unix-sendto; ENOENT; unknown op=send family=unix protocol=dgram address=/run/belljar-none.log port=None
	unix-sendmsg; ECONNREFUSED; unknown op=send family=unix protocol=dgram address~@belljar-none-log port=None
	unix-bind; OK; unknown op=bind family=unix protocol=stream address=@/made.sock port=None
	unix-bind-abstract; OK; unknown op=bind family=unix protocol=stream address~@belljar-none-made port=None
	unix-bind-auto; OK; unknown op=bind family=unix protocol=stream address~@ port=None
	netlink-bind; OK; unknown op=bind family=netlink protocol=route address~pid.0,.groups.0x1 port=None
	netlink-connect; OK; unknown op=connect family=netlink protocol=route address~pid.0,.groups.0x0 port=None
	netlink-sendto; OK; unknown op=send family=netlink protocol=route address~pid.0,.groups.0x0 port=None
	odd-family; EINVAL; unknown op=connect family~family.77 protocol=stream address=0x6f64 port=None
	unreadable; EFAULT; unknown op=connect family=inet protocol=tcp address=? port=None
	too-short; EINVAL; -
	TXT
}

due() { # LEVEL: its rows, in full
	{ table && "table_$1"; } | sed -E \
		-e 's/; unknown /; network outcome=unknown layer=None basis=unknown /' \
		-e 's/; unreachable /; network outcome=unreachable layer=net-ns basis=predicted /'
}

for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level" || continue
	run -p "$level" --input "$tools" -- "$(dirname "$(probe_path "$level")")/network" </dev/null
	is "$level: the attempts end nothing" "$(got 'o["verdict"]')" ok
	rows "$level" network,denied < <(due "$level")
	run -p "$level" -l python -c '
import ctypes, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
to = ctypes.create_string_buffer(struct.pack("=HH4s8x", 2, socket.htons(7), bytes([127, 0, 0, 1])))
byte = ctypes.create_string_buffer(struct.pack("PN", ctypes.addressof(to), 1))
one = struct.pack("PI4xPNPNi4xI4x", ctypes.addressof(to), 16, ctypes.addressof(byte), 1, 0, 0, 0, 0)
ctypes.CDLL(None).sendmmsg(s.fileno(), one * 500, 500, 0)' </dev/null
	is "$level: of the messages of one call each is shown or counted" \
		"$(got 'sum(e["count"] for e in o["network"])') $(event 'sum(e["count"] for e in of("dropped") if e["what"] == "network")')" '500 492'
done
plan_end
