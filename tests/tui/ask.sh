#!/bin/bash
# SPDX-License-Identifier: MIT
# A refused call that waits for an answer: refused, let through once and for the run, written to a preset, and what comes
# of it when nobody answers, at a stop, and when the screens die. The call goes to a process that is not there: ESRCH is
# the kernel's own word, EPERM is ours.
. "$(dirname "$0")/lib.sh"
need_run
cd "$scratch" || exit 1
presets=$scratch/.config/belljar/presets
runs=$scratch/.local/state/belljar/runs
mkdir -p "$presets"
printf '[preset]\nname = asking\nextends = %s\n[limits]\nwall = 60s\n[syscalls]\non_denied = ask ; me\n' "$level" >"$presets/asking.ini"
cat >calls.py <<'PY'
import ctypes, errno, os, sys, threading, time
c = ctypes.CDLL(None, use_errno=True)
def trace(name):
    c.ptrace(16, 999999, 0, 0)
    print(name, "said", errno.errorcode[ctypes.get_errno()])
def many(count):
    threads = [threading.Thread(target=trace, args=("thread",)) for _ in range(count)]
    for t in threads: t.start()
    for t in threads: t.join()
PY
program() { # LINE: a program that does this
	{ cat calls.py && echo "$1" && echo 'print("the", "end")'; } >ask.py
	line ":open ask.py"
	wait_for 'STAGED, NOT RUN  ask.py'
	line ':preset asking'
	wait_for '\[asking\]'
	keys r
	wait_for '\[2 Run\]'
}
newest() { grep -h "$1" "$(find "$runs" -name "*.jsonl" | sort | tail -1)"; } # their names are in the order of time
recorded() { newest "$1" | grep -qE -- "$2"; }
readable() { wait_for 'ASK [1-9] s'; } # it has stood for a second: a key that lets something through counts
press_until() { # KEY ERE
	again() { keys "$1" && seen "$2"; }
	wait_until again "$1" "$2"
}
ends() { # NAME
	sees "$1" '(OK|FAILED|CANCELLED|SIGNALLED)  It'
}

terminal 80 24
line "$BELLJAR"
wait_for '1 Compose'

program 'trace("one")'
sees 'a refused call waits and is shown' 'ASK (10|9) s python3?\S*\[[0-9]+\] ptrace\(PTRACE_'
ok 'with what may be answered' seen 'd deny +o once +r this run'
ok 'the run goes on meanwhile' seen 'RUNNING'
keys 3
sees 'the question stands on other screens too' 'ASK [0-9]+ s python'
keys 2
keys d
sees 'd refuses it' 'one said EPERM'
ok 'and the question is gone' wait_until gone 'ASK [0-9]+ s'
ends 'the program came to its end'
ok 'the recording says who refused' recorded '"answer"' '"decision":"deny","by":"person"'
keys '?'
ok 'the help knows its keys' press_until NPage 'While a call of the run waits'
keys '?'
ok 'and has the refusal itself' recorded '"type":"denied"' '"call":"ptrace"'

program 'trace("one")'
wait_for 'ASK [0-9]+ s'
keys Escape
sees 'Esc refuses too' 'one said EPERM'
ends 'and the program ends'

program 'trace("one")
trace("two")'
readable
keys o
sees 'o lets it through: the kernel has the word' 'one said ESRCH'
sees 'once only: the next one waits again' 'ASK [0-9]+ s'
keys d
sees 'and is refused' 'two said EPERM'
ends 'and the program ends'
ok 'what the kernel said is not claimed' recorded '"decision":"once"' '"outcome":"unknown".*"basis":"unknown"'

program 'for i in range(5): trace("round %d" % i)'
readable
keys r
sees 'r lets it through for the run' 'round 4 said ESRCH'
ends 'without another question'
is 'one question in all' "$(newest '"type":"ask"' | wc -l)" 1
ok 'the others are counted' wait_until recorded '"person, for this run"' '"count":[1-4]'

program 'c.mount(b"a", b"/b", b"tmpfs", 0, None); print("mount said", errno.errorcode[ctypes.get_errno()])'
sees 'a call whose meaning lies in memory waits as well' 'ASK [0-9]+ s .*mount'
ok 'but cannot be let through' gone 'o once'
line ':allow-once'
sees 'and that is said' 'cannot be let through'
keys d
sees 'it is refused' 'mount said EPERM'
ends 'and the program ends'
ok 'its question says what may be answered' recorded '"type":"ask"' '"answers":\["deny"\]'

program 'many(20)'
sees 'many wait at once, a bounded number' 'ASK 1 of 16'
ok 'the others are refused and counted' wait_until recorded '"too many calls that wait already"' '"decision":"deny"'
tmux resize-window -x 38 -y 9
sees 'a small terminal shows the question too' 'ASK 1 of 16'
tmux resize-window -x 80 -y 24
press_until d '(OK|FAILED)  It'
ends 'each is answered by itself'

program 'trace("one")'
wait_for 'ASK [0-9]+ s'
keys w
sees 'w writes a preset of one'"'"'s own' 'Next run: asking, ~/.config/belljar/presets/asking.ini'
sees 'and the call still waits' 'ASK [0-9]+ s'
ok 'the file has it, and what stood there' grep -qx 'on_denied = ask ; me' "$presets/asking.ini"
ok 'the call is allowed there' grep -qx 'allow = ptrace' "$presets/asking.ini"
sees 'without an answer it is refused when the time is up' 'one said EPERM'
ok 'by the deadline' wait_until recorded '"answer"' '"by":"deadline"'
ends 'and the program ends'
program 'trace("one")'
sees 'the next run asks nothing' 'one said ESRCH'
ends 'and ends'
is 'no question' "$(newest '"type":"ask"')" ''
sed -i '/^allow/d' "$presets/asking.ini"

program 'trace("one")
time.sleep(60)'
wait_for 'ASK [0-9]+ s'
keys C-c
sees 'a stop refuses what waits' 'CANCELLED'
ok 'and says so' recorded '"answer"' '"decision":"deny","by":"(stop|end) of the run"'
sees 'nothing is left' 'Nothing of it is left'

program 'trace("one")
print("got", "through")
time.sleep(60)'
wait_for 'ASK [0-9]+ s'
mapfile -t below < <(descendants "$(screens_pid)")
kill -KILL "$(screens_pid)"
ok 'the screens die: so does the run' wait_until none_alive "${below[@]}"
ok 'the call was refused' wait_until recorded '"answer"' '"decision":"deny","by":"end of the front end"'
ok 'the terminal is given back' wait_until sane

[ "$level" = namespaces ] || plan_end # where files are not hidden there is none to ask for
line "$BELLJAR"
wait_for '1 Compose'
printf 'open("/etc/shadow")\n' >shadow.py
line ':open shadow.py'
wait_for 'STAGED, NOT RUN  shadow.py'
keys r
sees 'a hidden file' 'FileNotFoundError'
keys 3
wait_for '\[3 Events\]'
line '/shadow'
keys w
sees 'what was refused goes to a preset' 'Next run: my-namespaces'
ok 'as a path that may be read' grep -qx 'read_only = /etc/shadow' "$presets/my-namespaces.ini"
line '/EXEC'
keys w
sees 'what was not refused does not' 'Nothing was refused here'
line ':quit now'
plan_end
