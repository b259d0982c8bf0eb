#!/bin/bash
# SPDX-License-Identifier: MIT
# What the target sees of the machine: files, devices, processes, itself. One program collects it all from within and
# prints it as JSON; the assertions are here.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

cat >look.py <<'EOF_PY'
import ctypes, errno, json, os, pwd, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)

def attempt(action):
    try:
        return action()
    except OSError as e:
        return errno.errorcode.get(e.errno, e.errno)
    except Exception as e:
        return repr(e)

def content(path):
    with open(path, "rb") as f:
        return f.read(65536).decode("utf-8", "backslashreplace")

def create(folder):
    path = os.path.join(folder, "was-here")
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600))
    os.unlink(path)
    return "written"

def room(folder):
    s = os.statvfs(folder)
    return [s.f_blocks * s.f_frsize, s.f_files]

status = dict(line.split(":", 1) for line in content("/proc/self/status").splitlines())
fds = [fd for fd in map(int, os.listdir("/proc/self/fd"))]
facts = {
    "status": {k: v.strip() for k, v in status.items()},
    "uid": os.getuid(), "gid": os.getgid(), "groups": os.getgroups(),
    "name": attempt(lambda: pwd.getpwuid(os.getuid()).pw_name),
    "home": attempt(lambda: pwd.getpwuid(os.getuid()).pw_dir),
    "cwd": os.getcwd(), "env": dict(os.environ), "host": os.uname().nodename,
    "root": attempt(lambda: sorted(os.listdir("/"))),
    "etc": attempt(lambda: sorted(os.listdir("/etc"))),
    "dev": attempt(lambda: sorted(os.listdir("/dev"))),
    "terminals": attempt(lambda: os.listdir("/dev/pts")), "queues": attempt(lambda: os.listdir("/dev/mqueue")),
    "zero": attempt(lambda: open("/dev/zero", "rb").read(8).hex()),
    "random": attempt(lambda: len(open("/dev/urandom", "rb").read(8))),
    "full": attempt(lambda: open("/dev/full", "wb", 0).write(b"x")),
    "one": {n: attempt(lambda: content("/proc/1/" + n)) for n in ("cmdline", "environ", "maps", "comm", "status")},
    "one_links": {n: attempt(lambda: os.readlink("/proc/1/" + n)) for n in ("exe", "cwd", "root")},
    "one_fds": attempt(lambda: sorted(os.readlink("/proc/1/fd/" + f) for f in os.listdir("/proc/1/fd"))),
    "pids": sorted(int(p) for p in os.listdir("/proc") if p.isdigit()),
    "pid": os.getpid(), "session": os.getsid(0),
    "interfaces": attempt(lambda: sorted(l.split(":")[0].strip() for l in content("/proc/net/dev").splitlines()[2:])),
    "routes": attempt(lambda: content("/proc/net/route").splitlines()[1:]),
    "fds": [fd for fd in fds if attempt(lambda: os.fstat(fd)) != "EBADF"],
    "tty": attempt(lambda: os.close(os.open("/dev/tty", os.O_RDWR))),
    "cgroup": attempt(lambda: content("/proc/self/cgroup").split()),
    "mounts": attempt(lambda: content("/proc/self/mountinfo").splitlines()),
    "keys": attempt(lambda: content("/proc/keys")),
    "create": {d: attempt(lambda: create(d)) for d in
               ("/", "/usr", "/etc", "/home", "/var", "/opt", "/root", "/dev", "/sys", "/proc", "/workspace", "/tmp", ".")},
    "room": {d: attempt(lambda: room(d)) for d in ("/workspace", "/tmp", ".")},
    "ignored": [s for s in range(1, 65) if s not in (9, 19, 32, 33) and signal.getsignal(s) == signal.SIG_IGN],
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "umask": os.umask(0o022), "nice": os.nice(0),
    "secrets": {p: attempt(lambda: content(p)[:1]) for p in
                ("/etc/shadow", "/etc/gshadow", "/root/.ssh/id_rsa", "/proc/kcore")},
    "keyctl": [libc.syscall(250, 0, -3, 0), errno.errorcode.get(ctypes.get_errno())],
}
json.dump(facts, sys.stdout)
EOF_PY

see() { json "$1" "$scratch/facts"; }

look() { # LEVEL
	# A descriptor, a variable and an ignored signal of ours that must not get in.
	(
		trap '' USR1
		exec 7</etc/hostname
		VIEW_SECRET=do-not-pass belljar run -q -p "$1" "$scratch/look.py" >"$scratch/facts" 2>"$scratch/errors" </dev/null
	)
	ok "$1: the look came back" json 'o["uid"] >= 0 or 1/0' "$scratch/facts"
	like "$1: and is whole" "$(see 'o["pid"]')$(errors)" '^[0-9]+$'
}

test_everywhere() { # what holds at each level
	local level=$1
	is "$level: no new privileges" "$(see 'o["status"]["NoNewPrivs"]')" 1
	is "$level: a filter is on" "$(see 'o["status"]["Seccomp"]')" 2
	is "$level: no capability" \
		"$(see '[o["status"][c] for c in ("CapInh", "CapPrm", "CapEff", "CapAmb") if int(o["status"][c], 16)]')" '[]'
	is "$level: never root" "$(see 'o["uid"] == 0 or o["gid"] == 0 or 0 in o["groups"]')" false
	is "$level: no descriptor beyond 0, 1 and 2" "$(see 'sorted(o["fds"])')" '[0, 1, 2]'
	like "$level: no controlling terminal" "$(see 'o["tty"]')" '^(ENXIO|ENOENT|EACCES)$'
	is "$level: a session that is not ours" "$(see "o['session'] == $(ps -o sid= $$)")" false
	unlike "$level: the environment holds nothing of ours" "$(see 'o["env"]')" "VIEW_SECRET|BELLJAR=|PROBE=|$scratch"
	is "$level: no ignored and no blocked signals but Python's own" "$(see '[s for s in o["ignored"] if s not in (13, 25)] + o["blocked"]')" '[]'
	like "$level: UTF-8 without being asked" "$(see 'o["env"].get("LC_ALL") or o["env"].get("LC_CTYPE") or o["env"].get("LANG")')" 'UTF-8'
	like "$level: no keyring of ours" "$(see 'o["keyctl"]')" '\[-1, "(EPERM|ENOSYS)"\]'
	is "$level: the working folder may be written" "$(see 'o["create"]["."]')" written
	is "$level: the devices that everything needs" "$(see '[o["zero"], o["random"], o["full"]]')" '["0000000000000000", 8, "ENOSPC"]'
	unlike "$level: nothing outside may be written" \
		"$(see '[d for d in ("/", "/usr", "/etc", "/home", "/var", "/opt", "/root", "/dev", "/sys", "/proc") if o["create"][d] == "written"]')" '/'
	unlike "$level: no secret is readable" "$(see '[p for p, v in o["secrets"].items() if len(v) < 2 and v]')" '/'
}

test_namespaces() {
	is 'namespaces: no capability to be had again' "$(see 'int(o["status"]["CapBnd"], 16)')" 0
	is 'namespaces: uid 1000' "$(see '[o["uid"], o["gid"]]')" '[1000, 1000]'
	is 'namespaces: named user' "$(see 'o["name"]')" user
	unlike 'namespaces: the host has another name' "$(see 'o["host"]')" "^$(uname -n)\$"
	is 'namespaces: works in /workspace' "$(see 'o["cwd"]')" /workspace
	unlike 'namespaces: /etc has no password hashes, keys or host names' \
		"$(see '" ".join(o["etc"])')" '(^| )(g?shadow-?|ssh|sudoers|sudoers\.d|ssl-private|machine-id|fstab|crypttab|krb5\.keytab)( |$)'
	is 'namespaces: /dev holds the harmless ones only' \
		"$(see 'sorted(set(o["dev"]) - set("fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero console".split()))')" '[]'
	is 'namespaces: and all that everything needs' \
		"$(see 'sorted(set("fd full null random stderr stdin stdout urandom zero".split()) - set(o["dev"]))')" '[]'
	is 'namespaces: no terminal and no queue of the host' "$(see '[o["terminals"], o["queues"]]')" '[["ptmx"], []]'
	is 'namespaces: only lo' "$(see 'o["interfaces"]')" '["lo"]'
	is 'namespaces: no route' "$(see 'o["routes"]')" '[]'
	unlike 'namespaces: process 1 shows nothing of ours' \
		"$(see '[o["one"], o["one_links"], o["one_fds"]]')" "belljar|$BUILD/|VIEW_SECRET|look\\.py|$scratch"
	is 'namespaces: few processes are to be seen' "$(see 'len(o["pids"]) <= 3 and o["pid"] <= 10')" true
	is 'namespaces: the control group shows no path of the host' "$(see '[c for c in o["cgroup"] if not c.endswith(":/")]')" '[]'
	is 'namespaces: no mount of the host may be written' \
		"$(see '[m.split()[4] for m in o["mounts"] if "rw" in m.split()[5].split(",") and m.split(" - ")[1].split()[0] not in ("tmpfs", "proc", "devpts", "mqueue", "overlay", "devtmpfs")]')" '[]'
	is 'namespaces: no mount lets a set-user-id bit through' \
		"$(see '[m.split()[4] for m in o["mounts"] if "nosuid" not in m.split()[5].split(",")]')" '[]'
	unlike 'namespaces: the mount table names no folder of a person' \
		"$(see '[m for m in o["mounts"] if m.split()[4] != "/home/user"]')" "/home/|/root/|$scratch"
	between 'namespaces: /workspace is as large as the preset says, and what is ours in it' "$(see 'o["room"]["/workspace"][0]')" 67108864 $((67108864 + 131072))
	between 'namespaces: and takes as many files' "$(see 'o["room"]["/workspace"][1]')" 10000 10200
	is 'namespaces: /tmp counts into the same' "$(see 'o["room"]["/tmp"] == o["room"]["/workspace"]')" true
	is 'namespaces: /tmp may be written' "$(see 'o["create"]["/tmp"]')" written
}

test_key() { # a key in our session keyring; as root, since the target is then another user
	/usr/bin/python3 -I -S - "$BELLJAR" >"$scratch/keys" 2>&1 <<-'PY'
	import ctypes, subprocess, sys
	libc = ctypes.CDLL(None, use_errno=True)
	if libc.syscall(250, 1, None) < 0 or libc.syscall(248, b"user", b"view-planted", b"x", 1, -3) < 0:
	    sys.exit("no keyring here")
	sys.exit(subprocess.run([sys.argv[1], "run", "-q", "-p", "namespaces", "--", "/bin/cat", "/proc/keys"],
	         stdin=subprocess.DEVNULL).returncode)
	PY
	is 'namespaces: /proc/keys could be looked at' $? 0
	unlike 'namespaces: a key of ours is not in it' "$(cat "$scratch/keys")" 'view-planted'
}

for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level" || continue
	look "$level"
	test_everywhere "$level"
	if [ "$level" = namespaces ]; then
		test_namespaces
		[ "$(id -u)" -ne 0 ] || test_key
	fi
done
plan_end
