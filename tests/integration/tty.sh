#!/bin/bash
# SPDX-License-Identifier: MIT
# A terminal of the target's own: it is one in every way that programs ask for, nothing of ours is reached by it, and
# however it is used or broken the run ends and leaves nothing.
. "$(dirname "$0")/lib.sh"
leftovers_begin
for level in $levels; do
	run -p "$level" --tty -- /bin/sh -c 'tty; stty size; stty size </dev/tty' </dev/null
	is "$level: it ends by itself" "$(got 'o["verdict"]')" ok
	like "$level: it has a name" "$(got 'o["stdout"]')" '^/dev/(pts/[0-9]+|console)'
	is "$level: a size, by /dev/tty too" "$(got 'o["stdout"].split("\r\n")[1:3]')" '["24 80", "24 80"]'
	is "$level: the layer says whose it is" "$(got '[l["verified"] for l in o["layers"] if l["name"] == "terminal"]')" '["tty_nr in /proc is the one made for it"]'
	run -p "$level" --tty -l python -c 'import os
print([os.isatty(k) for k in range(3)], os.getsid(0) == os.getpid(), os.tcgetpgrp(0) == os.getpgrp())' </dev/null
	is "$level: standard input, output and error are it, and it is the session's" "$(got 'o["stdout"]')" $'[True, True, True] True True\r'

	run -p "$level" --tty -- /bin/cat <<<'a line'
	is "$level: input comes by it, with its echo, and ends" "$(got 'o["stdout"].split()')" '["a", "line", "a", "line"]'
	printf 'half' | run -p "$level" --tty -- /bin/cat
	is "$level: half a line ends too" "$(got '(o["verdict"], o["stdout"])')" '["ok", "halfhalf"]'
	run -p "$level" --tty -- /bin/cat </dev/null
	is "$level: no input is an end at once" "$(got 'o["verdict"]')" ok
	seq 20000 >"$scratch/lines"
	run -p "$level" --tty -- /bin/sh -c 'stty -echo; echo ready; wc -l' <"$scratch/lines"
	is "$level: much of it arrives whole" "$(got 'o["stdout"].split()[-1]')" 20000

	run -p "$level" --tty --output-limit 1M -l python -c 'import os, termios
for k in range(64): os.write(1, b"x" * 65536)' </dev/null
	is "$level: a flood is bounded" "$(got '(o["verdict"], len(o["stdout"]) <= 1 << 20, o["stdout_dropped"] > 0)')" '["ok", true, true]'
	run -p "$level" --tty -l python -c 'import os, time
for k in range(3): os.close(k)
t = os.open("/dev/tty", os.O_RDWR)
os.write(t, b"back again\n")' </dev/null
	is "$level: closed and opened again it still is heard" "$(got 'o["stdout"]')" $'back again\r'
	run -p "$level" --tty -l python -c 'import fcntl, termios
for what in (termios.TIOCSTI, 0x541C, termios.TIOCCONS, termios.TIOCSETD):
    try: fcntl.ioctl(0, what, b"x\0\0\0"); print("done")
    except OSError as e: print(e.errno)' </dev/null
	is "$level: typing into it and taking it over are refused" "$(got 'o["stdout"].split()')" '["1", "1", "1", "1"]'
	run -p "$level" --tty -- /bin/sh -c 'stty raw -echo; setsid sleep 4711 & exec >/dev/null 2>&1 </dev/null; exit 3' </dev/null
	is "$level: its status is its own" "$status" 3
	ok "$level: nothing is left" wait_until 5 none_left 4711
done

# From a terminal: a driver of ours is the person.
cat >"$scratch/person.py" <<'PY'
import fcntl, os, pty, re, select, signal, struct, subprocess, sys, termios, time
master, slave = pty.openpty()
fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
before = termios.tcgetattr(slave)
def begin():
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
seen = b""
child = subprocess.Popen(sys.argv[2:], stdin=slave, stdout=slave, stderr=slave, preexec_fn=begin)
def until(text, seconds=20):
    global seen
    end = time.time() + seconds
    while text not in seen:
        if time.time() > end: print("never seen:", text, seen); child.kill(); sys.exit(1)
        if select.select([master], [], [], 0.1)[0]: seen += os.read(master, 65536)
def key(bytes): os.write(master, bytes)
def restored(): return termios.tcgetattr(slave) == before
exec(open(sys.argv[1]).read())
PY
person() { # SCRIPT OPTIONS...: what the person does, and what is said of it
	printf '%s\n' "$1" >"$scratch/does.py"
	shift
	timeout 60 /usr/bin/python3 "$scratch/person.py" "$scratch/does.py" "$BELLJAR" run -p "$level" "$@" 2>&1
}
for level in $levels; do
	is "$level: the size is the person's, and follows it" "$(person '
until(b"30 100")
fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 41, 77, 0, 0))
until(b"41 77")
key(b"\r"); until(b"belljar: ok"); print(child.wait(), restored())' --tty -- \
		/bin/bash -c 'trap "stty size" WINCH; stty size; until read -t 0.2 x; do :; done')" '0 True'
	is "$level: ^C goes to the program" "$(person '
until(b"ready"); key(b"\x03"); until(b"interrupted"); until(b"belljar: "); print(child.wait(), restored())' --tty -l python -c 'import time
try:
    print("ready", flush=True)
    time.sleep(30)
except KeyboardInterrupt: print("interrupted")')" '0 True'
	is "$level: ^] stops it" "$(person '
until(b"ready"); key(b"\x1d"); until(b"cancelled"); print(child.wait(), restored())' --tty -- /bin/sh -c 'echo ready; exec sleep 30')" '130 True'
	is "$level: keys are not seen twice" "$(person '
until(b"ready"); key(b"secret\r"); until(b"got secret"); until(b"belljar: "); print(child.wait(), seen.count(b"secret"))' --tty -- \
		/bin/sh -c 'stty -echo; echo ready; read x; echo got $x')" '0 1'
	is "$level: a kill of belljar gives the terminal back" "$(person '
until(b"ready"); child.kill(); child.wait()
end = time.time() + 10
while not restored() and time.time() < end: time.sleep(0.05)
print(restored())' --tty -- /bin/sh -c 'echo ready; exec sleep 4712')" True
	ok "$level: and ends the run" wait_until 10 none_left 4712
	is "$level: no escape of its reaches the terminal" "$(person '
until(b"the end"); until(b"belljar: "); child.wait()
print([hex(c) for c in sorted(set(seen)) if c < 32 and c not in (9, 10, 13) or c == 127], b"52;c" in seen)' --tty -l python -c 'import sys
w = sys.stdout.buffer
w.write(bytes(range(1, 32)) + b"\x1b]52;c;aGk=\x07\x1b[?1049h\x1b[6n\x9b31m\x1bP+q544e\x1b\\")
print("the", "end")')" '[] False'
done
plan_end
