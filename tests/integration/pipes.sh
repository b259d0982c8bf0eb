#!/bin/bash
# SPDX-License-Identifier: MIT
# Where the output of a run goes: pipes that are slow, full, closed or non-blocking, sockets, terminals, and --events.
# No byte is lost while somebody reads, nothing hangs when nobody does.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
level=subprocess

go() { timeout 60 "$BELLJAR" run -p "$level" --output-limit unlimited "$@"; }
sum() { sha256sum | cut -d' ' -f1; }
want=$(seq 1 300000 | sum)

# ---- slow and odd readers ----
is 'a slow reader gets every byte' "$(go -q -- seq 1 300000 </dev/null | { read -rt 0.5 <> <(:); sum; })" "$want"
is 'a regular file gets every byte' "$(go -q -- seq 1 300000 >all </dev/null; sum <all)" "$want"
go -q -- seq 1 10 >>all </dev/null
is 'and is appended to where it was opened so' "$(tail -n 11 all | head -n 2 | tr '\n' ' ')" '300000 1 '
is 'a non-blocking pipe gets every byte, and stays as it was' "$(/usr/bin/python3 -I - "$BELLJAR" "$level" <<'PY'
import fcntl, hashlib, os, subprocess, sys, time
r, w = os.pipe()
fcntl.fcntl(w, fcntl.F_SETFL, fcntl.fcntl(w, fcntl.F_GETFL) | os.O_NONBLOCK)
p = subprocess.Popen([sys.argv[1], "run", "-q", "-p", sys.argv[2], "--output-limit", "unlimited", "--", "seq", "1", "300000"],
                     stdout=w, stdin=subprocess.DEVNULL)
time.sleep(0.3)
blocking = not fcntl.fcntl(w, fcntl.F_GETFL) & os.O_NONBLOCK
os.close(w)
h = hashlib.sha256()
while data := os.read(r, 65536):
    h.update(data)
print(h.hexdigest(), p.wait(), blocking)
PY
)" "$want 0 False"
is 'a blocking pipe stays blocking, a socket gets every byte' "$(/usr/bin/python3 -I - "$BELLJAR" "$level" <<'PY'
import fcntl, hashlib, os, socket, subprocess, sys, time
command = [sys.argv[1], "run", "-q", "-p", sys.argv[2], "--output-limit", "unlimited", "--", "seq", "1", "300000"]
r, w = os.pipe()
p = subprocess.Popen(command, stdout=w, stdin=subprocess.DEVNULL)
time.sleep(0.3)
blocking = not fcntl.fcntl(w, fcntl.F_GETFL) & os.O_NONBLOCK
os.close(w)
while os.read(r, 65536):
    pass
ours, theirs = socket.socketpair()
p = subprocess.Popen(command, stdout=theirs.fileno(), stdin=subprocess.DEVNULL)
theirs.close()
time.sleep(0.3)
h = hashlib.sha256()
while data := ours.recv(65536):
    h.update(data)
print(h.hexdigest(), p.wait(), blocking)
PY
)" "$want 0 True"

# ---- no reader ----
go -- yes 2>errors </dev/null | head -n 1 >first
is 'a reader that goes away ends the run: status' "${PIPESTATUS[0]}" 130
is 'it got what it asked for' "$(cat first)" y
like 'and the verdict is cancelled' "$(cat errors)" '^belljar: cancelled'
is 'and it is said once that nobody reads' "$(grep -c 'the reader of standard output went away' errors)" 1
go -- echo x >/dev/full 2>errors </dev/null
is 'a full disk is no success' "$?" 125
like 'and is said' "$(cat errors)" 'No space left on device'
go -- echo x >&- 2>errors </dev/null
is 'a closed standard output is none either' "$?" 125
like 'and is said too' "$(cat errors)" 'Bad file descriptor'
go -- sh -c 'echo out; echo err >&2; exit 3' >out 2>&- </dev/null
is 'a closed standard error changes nothing' "$? $(cat out)" '3 out'
is 'a closed standard input is an empty one' "$(go -q -- sh -c 'cat 2>/dev/null; echo end' <&- 2>&1)" end
like 'with all three closed no file of ours takes their place' \
	"$(go -- sh -c 'echo x' <&- >&- 2>&-; echo "$?")" '^125$'

# ---- standard input: the descriptor itself is not for a target ----
cat >reopen.py <<'PY'
import os
try:
    with open("/proc/self/fd/0", "w") as f:
        f.write("overwritten")
    print("overwritten")
except OSError as e:
    print("refused")
try:
    os.write(0, b"\033]0;title\007")
    print("written")
except OSError as e:
    print("refused")
PY
cat >inject.py <<'PY'
import os
fd = os.open("/proc/self/fd/0", os.O_WRONLY | os.O_NONBLOCK)
os.write(fd, b"echo injected\n" * 5)
PY
cat >rewind.py <<'PY'
import os
fd = os.open("/proc/self/fd/0", os.O_WRONLY | os.O_NONBLOCK)
os.write(fd, b"x" * 4000)
PY
mkfifo named
echo original >input
chmod 666 input
seq 1 200000 >numbers
for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level: standard input" || continue
	go -q reopen.py <input >/dev/null 2>&1
	is "$level: a file on standard input cannot be written to" "$(cat input)" original
	go -q --stdin input reopen.py >/dev/null 2>&1 </dev/null
	is "$level: nor can that of --stdin" "$(cat input)" original
	if here script "$level: nor can a terminal"; then
		script -qec "'$BELLJAR' run -q -p $level reopen.py" /dev/null >screen </dev/null 2>&1
		unlike "$level: nor can a terminal" "$(cat screen)" $'\x1b'
	fi
	is "$level: a file on standard input arrives whole" "$(go -q -- cat <numbers | sum)" "$(sum <numbers)"
	is "$level: a pipe too" "$(go -q -- cat < <(cat numbers) | sum)" "$(sum <numbers)"
	is "$level: what was not read is left for the next reader" \
		"$({ go -q -- head -c 4; head -n 1; go -q -- true; head -n 1; } <numbers | tr '\n' ' ')" '1 2 3 4 '
	seq 1 2000 >few
	is "$level: never more than was taken" \
		"$({ head -c 4000 >/dev/null; go -q rewind.py; wc -c; } <few)" "$(($(wc -c <few) - 4000))"
	# Another reads the same pipe after us, as a shell does its script: nothing of the target's is in it.
	is "$level: a target puts nothing into a pipe" \
		"$({ echo first; read -rt 2 <> <(:); } | { go -q inject.py; timeout 5 cat; })" ''
	exec 8<>named
	go -q --stdin named inject.py </dev/null
	is "$level: nor into a FIFO" "$(timeout 1 cat <&8)" ''
	exec 8>&-
done
level=subprocess

# ---- a person who waits no longer ----
mkfifo stuck
exec 9<>stuck
"$BELLJAR" run -p "$level" --output-limit unlimited -- yes >&9 2>errors </dev/null &
pid=$!
stuck_bytes() { [ "$(/usr/bin/python3 -I -c 'import array, fcntl, termios
n = array.array("i", [0]); fcntl.ioctl(9, termios.FIONREAD, n); print(n[0])')" -ge 65536 ]; }
ok 'a reader that never reads fills up' wait_until 10 stuck_bytes
kill -TERM $pid
gone() { ! kill -0 "$1" || grep -q "^State:.Z" "/proc/$1/status"; }
read -rt 0.2 <> <(:)
kill -TERM $pid 2>/dev/null
ok 'a second signal waits for no reader' wait_until 10 gone $pid
wait $pid
is 'and the status is that of a cancelled run' "$?" 130
exec 9>&-

# ---- terminals ----
if here script 'a terminal sees nothing that would act on it'; then
	cat >hostile.sh <<-'SH'
	printf 'a\033]52;c;Y3VybA==\007b\033[2Jc\342\200\256d\n'
	printf 'left open'
	SH
	script -qec "stty -onlcr; '$BELLJAR' run -p $level hostile.sh" /dev/null >screen </dev/null 2>&1
	unlike 'a terminal sees nothing that would act on it' "$(cat screen)" $'\x1b|\xe2\x80\xae'
	like 'what was taken out is told with the verdict' "$(cat screen)" '^belljar: ok .*; removed from the output: .*1 clipboard'
	like 'the verdict begins a line of its own' "$(cat screen)" '^left open$'
	script -qec "'$BELLJAR' run --json -p $level missing-$'\\033'[2J.sh" /dev/null >screen </dev/null 2>&1
	unlike 'nor do messages act on it' "$(grep -a '^belljar' screen)" $'\x1b'
fi
is 'a pipe gets the same bytes unchanged' "$(go -q hostile.sh </dev/null 2>/dev/null | sum)" "$(sh hostile.sh | sum)"

# ---- --events ----
go --events new.jsonl -- echo x >/dev/null 2>&1 </dev/null
is 'a new file of events is for the user alone' "$(stat -c %a new.jsonl)" 600
is 'it ends with the exit event' "$(json 'o[-1]["type"] + " " + o[-1]["verdict"]' new.jsonl)" 'exit ok'
go -q --events 7 -- echo x 7>fd.jsonl >out </dev/null
is 'an open descriptor gets them' "$(json 'o[0]["type"]' fd.jsonl) $(cat out)" 'start x'
go --events 1 -- sh -c 'echo x; echo y >&2' >one.jsonl 2>errors </dev/null
is 'on descriptor 1 they stand in for the output' "$(json '"".join(e["text"] for e in of("output"))' one.jsonl | sort | tr -d '\n')" xy
like 'and the verdict stays on standard error' "$(cat errors)" '^belljar: ok'
go --events 2 -- sh -c 'echo x; echo y >&2' >out 2>two.jsonl </dev/null
is 'on descriptor 2 they stand in for messages' "$(json 'o[-1]["type"]' two.jsonl) $(cat out)" 'exit x'
mkfifo fifo
{ head -n 1 fifo >first; } &
timeout 60 "$BELLJAR" run -p "$level" --events fifo -- sh -c 'for i in 1 2 3; do echo $i; sleep 0.1; done' >out 2>errors </dev/null
is 'a reader of events that goes away does not end the run' "$? $(tr '\n' ' ' <out)" '0 1 2 3 '
like 'but it is said' "$(cat errors)" '--events: .*the run goes on without'
wait
is 'and it had the first one' "$(json 'o["type"]' first)" start
go -q --events /dev/null -- echo x >out </dev/null
is 'a device is written to' "$? $(cat out)" '0 x'

# ---- --json takes the place of the output ----
run -p "$level" -v -- sh -c 'echo out; echo err >&2' </dev/null
is 'with --json the output is in the object' "$(got 'o["stdout"] + o["stderr"]')" $'out\nerr'
unlike 'and passes nowhere else' "$(errors)" '^(out|err)$'
run -p "$level" --output-limit 1K -- sh -c 'seq 1 10000' </dev/null
is 'what is over the limit is counted' "$(got 'len(o["stdout"]) + o["stdout_dropped"]')" "$(seq 1 10000 | wc -c)"
is 'and the program goes on' "$status" 0
plan_end
