#!/bin/bash
# SPDX-License-Identifier: MIT
# One table: what is tried, where, the errno that the target must see, and the event that must tell of it. Run at each
# level; the events are read from the recording. What is forbidden as such has a table of its own, in forbidden.sh.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

# the probe; s: subprocess, n: namespaces, *: both; what it prints (ERE); the event: type and KEY=ERE, or - where none is due
table() {
	cat <<-'TXT'
	ptrace 1; *; EPERM; denied call=ptrace errno=EPERM rule=default:debug outcome=refused layer=seccomp basis=answered
	socket-unix; *; OK; -
	setuid 0; *; EPERM|EINVAL; -
	rlimit-raise; *; EPERM; -
	mknod /tmp/bj-device; *; EPERM; -
	tty; *; ENXIO|ENOENT|EACCES; -
	filter; *; OK; -
	shm 4K; *; OK; -
	threads 4; *; started 4 OK; -
	connect 127.0.0.1 9; s; ENETUNREACH; network op=connect family=inet protocol=tcp address=127.0.0.1 port=9 outcome=unreachable
	connect ::1 9; s; ENETUNREACH|EADDRNOTAVAIL; network op=connect family=inet6 address=::1 port=9 outcome=unreachable
	sendto 127.0.0.1 9; s; ENETUNREACH; network op=send(to|msg)? protocol=udp address=127.0.0.1 port=9 outcome=unreachable
	connect 127.0.0.1 9; n; ECONNREFUSED; network op=connect family=inet protocol=tcp address=127.0.0.1 port=9
	bind 127.0.0.1 0; n; OK; network op=bind address=127.0.0.1
	open /etc/shadow; n; ENOENT|EACCES; file op=open path=/etc/shadow outcome=(hidden|absent)
	open /root/.ssh/id_rsa; n; ENOENT; file op=open path=/root/.ssh/id_rsa outcome=(hidden|absent) basis=predicted
	open PLANTED; n; ENOENT; file op=open path=.*/planted outcome=hidden layer=mount-ns basis=predicted
	open PLANTED; s; OK; -
	create /usr/bin/was-here; n; EROFS; file op=(open|create) path=/usr/bin/was-here outcome=read-only layer=mount-ns
	create /etc/was-here; n; EROFS; file path=/etc/was-here outcome=read-only
	open /etc/shadow; s; EACCES; -
	create /usr/bin/was-here; s; EACCES|EROFS; -
	kill 1; n; EPERM|OK|ESRCH; -
	TXT
}

# On no machine may these leave it, not even if the sandbox were open: they run in a network namespace without any.
table_away() {
	cat <<-'TXT'
	connect 192.0.2.1 80; *; ENETUNREACH; network op=connect address=192.0.2.1 port=80 outcome=unreachable
	connect 169.254.169.254 80; *; ENETUNREACH; network op=connect address=169.254.169.254 port=80 outcome=unreachable
	connect 2001:db8::1 443; *; ENETUNREACH|EADDRNOTAVAIL; network op=connect family=inet6 address=2001:db8::1 port=443 outcome=unreachable
	sendto 192.0.2.53 53; *; ENETUNREACH; network op=send(to|msg)? protocol=udp address=192.0.2.53 port=53 outcome=unreachable
	TXT
}

# Whether the recording has an event of that type in which every KEY=ERE matches; else the events of that type.
has_event() { # TYPE KEY=ERE...
	/usr/bin/python3 -I -S - "$(got 'o["recording"]')" "$@" <<-'PY'
	import json, re, sys
	events = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
	events = [e for e in events if e.get("type") == sys.argv[2]]
	wanted = [w.split("=", 1) for w in sys.argv[3:]]
	if not any(all(re.fullmatch(want, str(e.get(key))) for key, want in wanted) for e in events):
	    print("no such event among", len(events), *[json.dumps(e) for e in events[:8]], sep="\n")
	    sys.exit(1)
	PY
}

echo 'of the host' >planted && chmod 644 planted
run_table() { # LEVEL TABLE
	local level=$1 line try where want event
	while IFS= read -r line; do
		line=${line/PLANTED/$scratch/planted}
		try=${line%%;*} event=${line##*; }
		line=${line#*; } where=${line%%;*}
		want=${line#*; } want=${want%%;*}
		[[ $where == '*' || $level == "$where"* ]] || continue
		# shellcheck disable=SC2086 # words
		probe "$level" $try
		like "$level: $try: $want" "$(got 'o["stdout"] if o["stdout"] else o["verdict"] + " " + str(o["evidence"])')" "^($want)\$"
		# shellcheck disable=SC2086
		[ "$event" = - ] || ok "$level: $try: $event" has_event $event
	done < <("$2")
}

test_witness() { # LEVEL: a service of the host is really there, and really out of reach
	rm -f port served
	local level=$1 port abstract=belljar-test-$$-$RANDOM
	/usr/bin/python3 -I -S - "$abstract" >port 2>served <<-'PY' &
	import select, socket, sys
	tcp = socket.create_server(("127.0.0.1", 0))
	name = socket.socket(socket.AF_UNIX)
	name.bind("\0" + sys.argv[1])
	name.listen()
	print(tcp.getsockname()[1], flush=True)
	while True:
	    for s in select.select([tcp, name], [], [], 60)[0]:
	        s.accept()[0].close()
	        print("served", "tcp" if s is tcp else "abstract", file=sys.stderr, flush=True)
	PY
	local server=$!
	ok "$level: a service is up" wait_until 5 test -s port
	port=$(cat port)
	is "$level: which answers us" "$("$PROBE" connect 127.0.0.1 "$port")" OK
	wait_until 2 test -s served
	: >served
	probe "$level" connect 127.0.0.1 "$port"
	unlike "$level: and not the target" "$(got 'o["stdout"]')" OK
	if [ "$level" = namespaces ]; then
		is "$level: nor by its abstract name: control" "$("$PROBE" abstract "$abstract")" OK
		wait_until 2 test -s served
		: >served
		probe "$level" abstract "$abstract"
		like "$level: nor by its abstract name" "$(got 'o["stdout"]')" '^(ECONNREFUSED|EPERM)$'
	fi
	is "$level: it served nobody else" "$(cat served)" ''
	kill $server
	wait $server 2>/dev/null
}

if [ "${1-}" = --away ]; then # started again by the lines below, where no network is
	run_table "$2" table_away
	plan_end
fi
for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level" || continue
	run_table "$level" table
	test_witness "$level"
	here root "$level: addresses beyond this machine" || continue
	unshare --net bash "$here/tests/integration/probes.sh" --away "$level" >tap
	is "$level: addresses beyond this machine: status" $? 0
	like "$level: addresses beyond this machine: all were tried" "$(cat tap)" '^1\.\.8$'
	grep '^not ok\|^#' tap | sed 's/^/# /'
done
plan_end
