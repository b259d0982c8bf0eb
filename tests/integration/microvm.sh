#!/bin/bash
# SPDX-License-Identifier: MIT
# The level microvm, from one end to the other: a kernel of its own, copies that differ, each limit's verdict, what is
# told of it, large things in and out, snapshots that are damaged, and nothing left in any case.
. "$(dirname "$0")/lib.sh"
own_cache
cd "$scratch" || exit 1
here microvm 'runs in a machine of their own' || plan_end

# A program of our own path, so that its processes can be told from those of other tests, and places that are watched.
mkdir -p mine/build tmp runtime && chmod 700 runtime
cp "$BELLJAR" mine/build/belljar
ln -s "$here/presets" mine/presets
export BELLJAR=$scratch/mine/build/belljar BELLJAR_GUEST=$here/${BUILD:-build}/guest
export TMPDIR=$scratch/tmp XDG_RUNTIME_DIR=$scratch/runtime
images=$XDG_CACHE_HOME/belljar/images

# Two snapshots do for nearly all: each costs seconds.
cat >tight.ini <<'INI'
[preset]
name = tight
summary = Little of everything, and questions that nobody answers
extends = microvm
[limits]
cpu = 2s
memory = 96M
processes = 16
file_size = 1M
space = 8M
[syscalls]
on_denied = ask
INI
vm() { run -p microvm --wall 60s "$@"; }
tight() { run -p ./tight.ini --wall 60s "$@"; }
ended() { echo "$(got 'o["verdict"]') $status"; }

# ---- nothing is left ----

machines() { # QEMUs that have an image of this script open
	find /proc/[0-9]*/fd -maxdepth 1 -lname "$images/*" -printf '%h\n' 2>/dev/null | while read -r fds; do
		case $(readlink "${fds%/fd}/exe") in */qemu-*) echo "${fds%/fd}" ;; esac
	done | sort -u
}
some_machine() { [ -n "$(machines)" ]; }
remains() {
	machines
	leftovers "$scratch/mine"
	find "$TMPDIR" "$XDG_RUNTIME_DIR" -mindepth 1
	find "$images" -mindepth 1 -maxdepth 1 -name '*.*'
}
nothing_left() { # NAME
	wait_until 10 eval '[ -z "$(remains)" ]'
	is "$1: nothing is left" "$(remains)" ''
}
leftovers_begin

# ---- the first run, and the second ----

first_run() {
	local text code='import platform; print(6*7, platform.release())'
	text=$(belljar run -p microvm - <<<"$code" 2>errors)
	like 'the first run: its output' "$text" '^42 '
	unlike 'the first run: the kernel is not this one' "$text" "^42 $(uname -r)\$"
	like 'the first run: what it waits for is told' "$(errors)" '^belljar: starting the machine'
	like 'the first run: and how it went' "$(errors)" '^belljar: ok in '
	is 'the first run: the same again' "$(belljar run -p microvm - <<<"$code" 2>errors)" "$text"
	is 'the second run: nothing is waited for' "$(grep -v '^belljar: ok in ' errors)" ''
	is 'the snapshot is listed' "$(belljar image list --json | json '[e["label"] for e in o["entries"] if e["kind"] == "snapshot"]')" \
		'["microvm: python"]'
	run -p microvm --wall 61s -l python -c 'print(1)' </dev/null
	unlike 'another wall limit needs no other' "$(errors)" 'starting the machine'
	like 'the layers name the kernel' "$(got '[l["detail"] for l in o["layers"] if l["name"] == "vm"][0]')" \
		"^kernel $(cut -d' ' -f2 <<<"$text") of its own"
	is 'and that QEMU itself is held' "$(got '[l["state"] for l in o["layers"] if l["name"] == "vm-process"]')" '["on"]'
	nothing_left 'runs'
}

# ---- copies of one snapshot ----

test_copies() {
	local n before after
	cat >copy.py <<'PY'
import os, random, time, uuid
print(os.urandom(16).hex())
print(uuid.uuid4())
print(random.random())
print(open("/proc/sys/kernel/random/uuid").read().strip())
print(time.time())
print(sorted(os.listdir("/workspace") + os.listdir("/tmp")))
open("/tmp/left-behind", "w").close()
PY
	for n in 1 2; do
		before=$(date +%s)
		vm -l python copy.py </dev/null
		after=$(date +%s)
		got 'o["stdout"]' >copy.$n
		between "copy $n: its clock is the host's" "$(sed -n 5p copy.$n)" $((before - 2)) $((after + 2))
		is "copy $n: no file of another run" "$(sed -n 6p copy.$n)" "['main.py']"
	done
	is 'no two copies draw the same' "$(head -n 4 copy.1 | grep -Fxf - copy.2)" ''
}

# ---- limits ----

test_limits() {
	run -p microvm --wall 1500ms -l python -c 'import time; print("tick", flush=True); time.sleep(60)' </dev/null
	is 'wall' "$(ended) $(got 'o["stdout"]')" 'wall-time 124 tick'
	like 'wall: the host struck' "$(got 'o["evidence"]')" "by the supervisor's timer"

	tight -l python -c 'while True: pass' </dev/null
	is 'cpu' "$(ended)" 'cpu-time 124'
	like 'cpu: the guest says so' "$(got 'o["evidence"]')" 'limit 2 s.*\(told by the guest\)$'

	vm --cpu unlimited -l python -c 'x = bytearray(1 << 29); print("held")' </dev/null
	is 'memory' "$(ended) $(got 'o["stdout"]')" 'memory 137 '
	like 'memory: the guest says so' "$(got 'o["evidence"]')" 'limit 256 MiB.*oom_kill.*\(told by the guest\)$'

	# Page after page: as long as the kernel finds a page of the interpreter to drop, it kills nobody.
	vm --cpu 60s -l python -c 'b = []
for i in range(300):
	x = bytearray(1 << 20)
	for k in range(0, 1 << 20, 4096): x[k] = 1
	b.append(x)
print("held")' </dev/null
	is 'memory in small steps' "$(ended) $(got 'o["stdout"]')" 'memory 137 '
	like 'memory in small steps: how it was seen' "$(got 'o["evidence"]')" \
		'limit 256 MiB.*(oom_kill|pages of programs dropped and needed again).*\(told by the guest\)$'

	tight -l python -c '
import os, time
try:
    for n in range(64):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
except OSError as e: print(n + 1, e.errno)' </dev/null
	is 'processes: refused, handled and told' "$(got 'o["stdout"]') $(got 'o["limits_met"]')" '16 11 ["processes"]'
	between 'processes: the peak' "$(got 'o["processes_peak"]')" 15 16

	tight -l python -c 'open("big", "wb").write(bytes(4 << 20))' </dev/null
	is 'file size' "$(got 'o["verdict"]')" write-space
	like 'file size: by looking' "$(got 'o["evidence"]')" 'limit 1 MiB.*\(told by the guest\)$'
	tight -l python -c '
for n in range(64):
    with open("f%d" % n, "wb") as f: f.write(bytes(1000000))' </dev/null
	is 'space' "$(got 'o["verdict"]')" write-space
	like 'space: the place was full' "$(got 'o["evidence"]')" 'limit 8 MiB.*full.*\(told by the guest\)$'

	tight --output-limit 64K -l python -c 'for n in range(8192): print("x" * 63)' </dev/null
	is 'output: what is over is dropped and counted' \
		"$(ended) $(got 'len(o["stdout"]) + o["stdout_dropped"]') $(got 'o["limits_met"]')" 'ok 0 524288 ["output"]'
	between 'output: what was kept' "$(got 'len(o["stdout"])')" 60000 65536
	nothing_left 'limits'
}

# ---- what is told ----

test_told() {
	tight -l python -c '
import ctypes, socket, subprocess, time
c = ctypes.CDLL(None, use_errno=True)
print(c.mount(b"from", b"/tmp", b"tmpfs", 0, None), ctypes.get_errno())
print(c.ptrace(16, 999999, 0, 0), ctypes.get_errno())
print(socket.socket().connect_ex(("127.0.0.1", 9)))
try: open("/etc/shadow")
except OSError as e: print(e.errno)
subprocess.run(["/bin/ls", "-d", "/tmp"])
time.sleep(0.5)' </dev/null
	is 'what the program saw' "$(got 'o["stdout"]' | xargs)" '-1 1 -1 1 111 2 /tmp'
	is 'refused: mount, with its arguments' \
		"$(got '[(d["args"]["source"], d["args"]["target"], d["errno"], d["source"]) for d in o["denied"] if d["call"] == "mount"]')" \
		'[["from", "/tmp", "EPERM", "guest"]]'
	is 'refused: ptrace, and of whom' "$(got '[d["args"]["pid"] for d in o["denied"] if d["call"] == "ptrace"]')" '[999999]'
	is 'nobody was there to be asked' "$(event '(len(of("ask")), {(e["decision"], e["by"]) for e in of("answer")} == {("deny", "nobody to ask")})')" \
		'[0, true]'
	is 'network: where to' "$(got '[(n["op"], n["address"], n["port"], n["source"]) for n in o["network"]]')" \
		'[["connect", "127.0.0.1", 9, "guest"]]'
	is 'files: what is here and not there' \
		"$(got '[(f["outcome"], f["layer"], f["source"]) for f in o["files"] if f["path"] == "/etc/shadow"]')" '[["hidden", "vm", "guest"]]'
	is 'exec: which, and how' "$(got '[(x["argv"], x["source"]) for x in o["exec"] if x["path"] == "/bin/ls"]')" \
		'[[["/bin/ls", "-d", "/tmp"], "guest"]]'
	is "meters: the guest's and the host's" \
		"$(event 'len(of("meter")) > 0 and all(m["cpu_ns"] > 0 and m["memory"] > 0 and m["host_cpu_ns"] > 0 and m["host_memory"] > 0 and m["source"] == "guest" for m in of("meter"))')" true
	vm --record "$scratch/kept.jsonl" -l python -c 'print("recorded")' </dev/null
	like 'a recording is replayed' "$(belljar replay --plain kept.jsonl </dev/null 2>&1)" 'recorded'
	is 'and has all of it in order' "$(json '[e["seq"] for e in o[1:]] == list(range(1, len(o))) and o[-1]["type"] == "exit"' kept.jsonl)" true
}

# ---- large things ----

test_large() {
	local sum
	{ echo 'data = """' && head -c 5000000 /dev/zero | tr '\0' x && echo && echo '"""; print(len(data))'; } >large.py
	vm -l python large.py </dev/null
	is '5 MB of code' "$(ended) $(got 'o["stdout"]')" 'ok 0 5000002'
	head -c 5000000 /dev/urandom >large
	sum=$(sha256sum <large)
	is '5 MB of input come back whole' \
		"$(belljar run -q -p microvm --wall 60s -- /bin/cat <large 2>errors | sha256sum)" "$sum"
	is '20 MB of output come whole' \
		"$(belljar run -q -p microvm --wall 60s --output-limit 64M -- /bin/sh -c 'yes 0123456789abcde | head -c 20000000' 2>errors </dev/null | sha256sum)" \
		"$(yes 0123456789abcde | head -c 20000000 | sha256sum)"
}

test_ends() {
	vm -- /bin/sh -c 'echo "$0" "$@" >&2; exit 7' 'an argument' '' $'\t"' </dev/null
	is 'argv and status' "$(ended) $(got 'o["stderr"]')" $'failed 7 an argument  \t"'
	vm -- /bin/sh -c 'kill -SEGV $$' </dev/null
	is 'a signal' "$(ended) $(got 'o["signal"]')" 'signalled 139 SIGSEGV'
	vm -- /nonexistent/program </dev/null
	is 'no such program' "$(ended)" 'setup-error 127'
	vm -- /usr/share </dev/null
	like 'what is no program' "$(ended)" '^setup-error 12[67]$'
	vm --tty -- /bin/sh -c 'tty; stty size' </dev/null
	is 'a terminal' "$(got 'o["stdout"].split()')" '["/dev/console", "24", "80"]'
}

# ---- files ----

test_files() {
	mkdir -p in/sub project/src out taken && echo one >in/data && echo two >in/sub/file
	echo old >project/src/changed && echo kept >project/kept && echo gone >project/removed && chmod -R go+rX in project
	vm --input "$scratch/in" -- /bin/sh -c 'cat /data/data /data/sub/file; echo x >/data/data' </dev/null
	is 'input: a folder' "$(got 'o["stdout"]' | xargs)" 'one two'
	like 'input: read-only' "$(got 'o["stderr"]')" 'Read-only'
	vm --input "$scratch/in/data:/elsewhere/name" -- /bin/cat /elsewhere/name </dev/null
	is 'input: a file at its place' "$(got 'o["stdout"]')" one

	vm --output "$scratch/out" -- /bin/sh -c 'cd /out && mkdir -p sub/deeper && echo made >sub/deeper/file && echo run >tool &&
		chmod 755 tool && ln -s /etc/passwd link && mkfifo pipe && echo over >/tmp/x && ln -s ../../taken up && : >"..x"' </dev/null
	is 'output: it ended well' "$(ended)" 'ok 0'
	is 'output: files, folders, nothing else' "$(cd out && find . -mindepth 1 -printf '%y %p\n' | LC_ALL=C sort)" \
		$'d ./sub\nd ./sub/deeper\nf ./..x\nf ./sub/deeper/file\nf ./tool'
	is 'output: its content, and that it may be run' "$(cat out/sub/deeper/file) $([ -x out/tool ] && echo x)" 'made x'
	is 'output: nothing beside it' "$(ls taken)" ''
	like 'output: what stayed is told' "$(event '[e["what"] for e in of("dropped")]')" 'output link.*|output pipe.*'

	vm --project "$scratch/project" -- /bin/sh -c 'echo new >src/changed; rm removed; echo made >added; cat kept' </dev/null
	is 'project: it is there' "$(ended) $(got 'o["stdout"]')" 'ok 0 kept'
	is 'project: itself is as it was' "$(cat project/src/changed project/removed project/kept; ls project)" \
		$'old\ngone\nkept\nkept\nremoved\nsrc'
	is 'project: what became of it is told' "$(event 'sorted((e["op"], e["path"]) for e in of("changed"))')" \
		'[["added", "added"], ["changed", "src/changed"], ["removed", "removed"]]'
	rm -rf out && mkdir out
	vm --project "$scratch/project" --output "$scratch/out" -- /bin/sh -c 'echo new >src/changed; echo result >/out/result' </dev/null
	is 'project and output: both come' "$(ended) $(cat out/result; find out -type f | LC_ALL=C sort | paste -sd' ')" \
		"$(ended) $(echo result; find out -type f | LC_ALL=C sort | paste -sd' ')"
	like 'project and output: the changed file' "$(cat "$(find out -name changed)" 2>&1)" '^new$'
	vm --canary -l python -c 'import os; print(open(os.path.expanduser("~/.netrc")).read())' </dev/null
	is 'canary: it sings' "$(got '[a["detail"] for a in o["alerts"]]')" '["planted .netrc seen in stdout"]'
	nothing_left 'files'
}

# ---- what cannot be ----

refused() { # NAME PATTERN OPTIONS...
	local name=$1 pattern=$2
	shift 2
	run "$@" -c 'print(1)' </dev/null
	is "$name: nothing runs" "$(ended)" 'setup-error 125'
	like "$name: why not, and what helps" "$(got 'o["evidence"]')" "$pattern"
}

test_refused() {
	printf '[preset]\nextends = microvm\n[network]\npolicy = host\n' >net.ini
	printf '[preset]\nextends = microvm\n[microvm]\naccel = kvm\n' >kvm.ini
	run -p microvm -l perl -c 'print 1' </dev/null
	is 'a language that its image has not: nothing runs' "$(ended)" 'setup-error 127'
	like 'a language that its image has not: why not, and what helps' "$(got 'o["evidence"]')" 'perl.*languages'
	BELLJAR_GUEST=$scratch/nowhere refused 'no parts of a guest' "$scratch/nowhere" -p microvm -l python
	refused 'memory without end' 'memory = ' -p microvm --memory unlimited -l python
	refused 'a network' 'no network card' -p ./net.ini -l python
	timeout -k 5 60 "$BELLJAR" run --json -p ./kvm.ini -l python -c 'print(1)' >result 2>errors </dev/null
	status=$?
	like 'KVM, where somebody wants it: it runs, or not' "$(ended)" '^(ok 0|setup-error 125)$'
	[ $status -eq 0 ] || like 'KVM: why not' "$(got 'o["evidence"]')" 'KVM|/dev/kvm'
	nothing_left 'refusals'
}

# ---- damaged snapshots ----

python_snapshot() {
	local name
	name=$(belljar image list --json | json 'first([e["name"] for e in o["entries"] if e["label"] == "microvm: python"])')
	echo "$images/$name"
}

# flip FILE FROM LENGTH: other bytes, but the size and all times are as they were.
flip() {
	/usr/bin/python3 -I - "$@" <<'PY'
import os, sys
path, begin, length = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
st = os.stat(path)
os.chmod(path, 0o644)
with open(path, "r+b") as f:
    f.seek(begin)
    was = f.read(length)
    f.seek(begin)
    f.write(bytes(b ^ 0xff for b in was))
os.chmod(path, 0o444)
os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))
PY
}

runs_well() { # NAME
	vm -l python -c 'print(6*7)' </dev/null
	is "$1" "$(ended) $(got 'o["stdout"]')" 'ok 0 42'
}

test_damaged() {
	local folder
	folder=$(python_snapshot)
	chmod 644 "$folder/state" && truncate -s 1000 "$folder/state"
	runs_well 'a state that is cut short: it runs'
	like 'a state that is cut short: from a new snapshot' "$(errors)" 'starting the machine'
	flip "$folder/state" 0 64
	runs_well 'a state that is none: it runs'
	like 'a state that is none: it is told' "$(errors)" 'the snapshot is damaged: making it again'
	flip "$folder/state" 20000 4000
	runs_well 'a state with other devices: it runs'
	flip "$folder/ram" 0 400000000
	vm -l python -c 'print(6*7)' </dev/null
	is 'a memory of nothing: the run is lost' "$(ended) $(got 'o["stdout"]')" 'lost 125 '
	like 'a memory of nothing: it is told' "$(errors)" 'the machine never said a word: its snapshot may be damaged'
	runs_well 'a memory of nothing: the next run is well'
	like 'a memory of nothing: from a new snapshot' "$(errors)" 'starting the machine'
	runs_well 'and the one after'
	unlike 'as from any snapshot' "$(errors)" 'starting the machine'
	nothing_left 'damage'
}

# ---- stopped and killed ----

begin() { # a run that sleeps, until its machine is there; $pid is its front end
	rm -f events # a shell has its background ignore SIGINT
	env --default-signal=INT "$BELLJAR" run --json -p microvm --wall 60s -l python -c 'import time; print("begun", flush=True); time.sleep(55)' \
		--events "$scratch/events" >result 2>errors </dev/null &
	pid=$!
	ok "$1: it runs" wait_until 30 grep -q begun events
	ok "$1: in a machine" some_machine
}

test_killed() {
	begin 'SIGINT'
	kill -INT $pid
	wait $pid
	is 'SIGINT: cancelled' "$? $(got 'o["verdict"]')" '130 cancelled'
	nothing_left 'SIGINT'
	begin 'SIGKILL'
	kill -KILL $pid
	wait $pid 2>/dev/null
	nothing_left 'SIGKILL'
	begin 'SIGKILL of its supervisor'
	kill -KILL "$(pgrep -P $pid | head -n 1)"
	wait $pid
	is 'SIGKILL of its supervisor: it is told' "$? $(got 'o["verdict"]')" '125 lost'
	nothing_left 'SIGKILL of its supervisor'
	begin 'SIGKILL of QEMU'
	kill -KILL "$(machines | head -n 1 | tr -dc 0-9)"
	wait $pid
	is 'SIGKILL of QEMU: it is told' "$? $(got 'o["verdict"]')" '125 lost'
	nothing_left 'SIGKILL of QEMU'
	belljar image rm --all >/dev/null
	"$BELLJAR" run -p microvm -l python -c 'print(1)' >/dev/null 2>&1 </dev/null &
	pid=$!
	ok 'SIGKILL while a snapshot is made' wait_until 60 some_machine
	kill -KILL $pid
	wait $pid 2>/dev/null
	runs_well 'the next one makes it'
	nothing_left 'SIGKILL while a snapshot is made'
}

first_run
test_copies
test_limits
test_told
test_large
test_ends
test_files
test_refused
test_damaged
test_killed
plan_end
