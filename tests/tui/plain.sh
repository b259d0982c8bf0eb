#!/bin/bash
# SPDX-License-Identifier: MIT
# Plain mode: the same commands without a screen. Lines are appended and nothing else: no sequence, no movement. From a
# script and from a terminal; ^C, ^Z, ^D; code typed, pasted and piped in; a paste gives no commands.
. "$(dirname "$0")/lib.sh"
need_run
cd "$scratch" || exit 1
escape=$(printf '\033')
cat >one.py <<'PY'
print("hello")
print("\033]52;c;aGk=\007\033[31mred")
open("/etc/shadow")
PY
cat >slow.sh <<'SH'
#!/bin/sh
i=0
while sleep 0.1; do i=$((i + 1)); echo "tick $((i + 1000))"; done
SH
mkdir -p "$HOME/.config/belljar/presets"
printf '[preset]\nname = long\nsummary = a long run\nextends = %s\n[limits]\nwall = 10m\n' "$level" \
    >"$HOME/.config/belljar/presets/long.ini"

plain() { timeout 100 "$BELLJAR" --plain "$@" >out 2>err; }
has() { grep -qE -- "$1" "${2:-out}"; }
lines_of() { printf '%s\n' "$@"; }

# ---- a script ----
lines_of "preset $level" '# a comment' ':run' events 'show 1' meters boundary 'find hello' | plain one.py
is 'a script of commands: status 0' $? 0
ok 'what is staged is told' has '^Staged, not run: one.py, 3 lines'
ok 'the run begins in words' has '^RUN started: RUNNING #1 one.py'
ok 'its output comes as it prints' has '^out: hello'
ok 'its errors are told apart' has '^err: [A-Za-z]*Error: '
ok 'a terminal sequence of it is an event' has 'TERM .*clipboard'
ok 'it ends with its verdict' has '^RUN ended: FAILED'
ok 'the next command waited for that' test "$(grep -n '^RUN ended' out | cut -d: -f1)" -lt "$(grep -n '^Events ' out | cut -d: -f1)"
ok 'events are numbered' has '^1: [0-9:.]+ [A-Z]+ '
ok 'one of them in full' has '^outcome: '
ok 'meters name their limit' has '^MEM .* max '
ok 'the boundary is told' has '^seccomp: '
ok 'nothing but text came out' test "$(tr -d '[:print:]\n\t' <out | LC_ALL=C tr -d '\200-\377' | wc -c)" -eq 0
ok 'and no prompt, no echo' sh -c "! grep -q 'belljar>' out"
is 'nothing on standard error' "$(cat err)" ''

lines_of presets lessons 'lesson 2' learn compose 'screen attacks' help | LC_ALL=C plain one.py
is 'every screen can be told: status 0' $? 0
ok 'presets as a list' has '^[0-9]+: namespaces'
ok 'and what one enforces' has '^limits.wall '
ok 'lessons by number' has '^lesson NUMBER opens one'
ok 'a step of one' has '^1 of [0-9]+: '
ok 'the code with its lines' has '^1: print\("hello"\)'
ok 'attacks that have not run' has '^Infinite loop under subprocess: not run$'
ok 'the help has the commands' has '^  preset \[NAME\] '
ok 'without UTF-8 only ASCII comes out' test "$(LC_ALL=C tr -d '\1-\176' <out | wc -c)" -eq 0

lines_of 'presets subprocess subprocess' compare 'screen compare' | plain one.py
ok 'a comparison is waited for, and told' has '^  subprocess: '

lines_of "replay $here/tests/recordings/ok.jsonl" 'presets subprocess subprocess' compare | plain
ok 'the code of a recording can be compared, by its name' has "^COMPARED $(sed -n 's/.*"title":"\([^"]*\)".*/\1/p;q' "$here/tests/recordings/ok.jsonl") "

cat >spoof.py <<'PY'
for path in "/nowhere\nRUN ended: OK", "/nowhere/\r\nRUN started: x":
    try:
        open(path)
    except OSError:
        pass
print("a line\rRUN ended: OK")
PY
lines_of "preset $level" run all events 'presets subprocess subprocess' compare | plain spoof.py
ok 'a program cannot print a line of ours' sh -c "! grep -qE '^RUN (ended: OK\$|started: x)' out"
ok 'what it tried is told all the same' has '/nowhere'

printf '[preset]\nname = asking\nextends = %s\n[limits]\nwall = 60s\n[syscalls]\non_denied = ask\n' "$level" \
    >"$HOME/.config/belljar/presets/asking.ini"
cat >traces.py <<'PY'
import ctypes, errno
c = ctypes.CDLL(None, use_errno=True)
for _ in range(2): # of a process that is not there: ESRCH is the kernel's own word
    c.ptrace(16, 999999, 0, 0)
    print("it said", errno.errorcode[ctypes.get_errno()])
PY
lines_of 'preset asking' run 'wait ASK: it waits' allow-once 'wait ASK: it waits' deny | plain traces.py
ok 'a call that waits is announced, and answered' has '^out: it said ESRCH'
ok 'each of them, though they are alike' has '^out: it said EPERM'

lines_of insert 'print(6 * 7)' . "preset $level" run | plain
ok 'code up to a dot is staged and runs' has '^out: 42'
lines_of "preset $level" run | plain nowhere.py
is 'a file that is not there: status 125' $? 125
lines_of "preset $level" nonsense talk 'preset nowhere' | plain one.py
is 'a command that was refused: status 125' $? 125
ok 'an unknown one is told' has 'No command is called "nonsense"' err
ok 'so is one about a picture' has 'talk is about a picture' err
ok 'warnings are no output' sh -c '! grep -q nonsense out'
lines_of "preset long" run 'wait tick 1003' stop quit >script
plain --script script slow.sh
is 'a script in a file may wait, and stop the run: status 0' $? 0
ok 'it was stopped' has '^RUN ended: CANCELLED'
cat >ticks.py <<'PY'
import time
print("begins", flush=True)
time.sleep(1)
PY
used() { awk '{ print $14 + $15 }' /proc/"$1"/stat; } # hundredths of a second on the processor
lines_of "preset $level" run | timeout 100 "$BELLJAR" --plain ticks.py >out 2>err &
wait_until has '^out: begins'
screens=$(child_named "$(child_named $! belljar)" belljar-screens) before=$(used "$screens")
while [ -d "/proc/$screens" ] && ! has '^RUN ended'; do after=$(used "$screens") && sleep 0.05; done
ok 'waiting for a run after the last command, it sleeps' test "$((after - before))" -lt 30
wait
printf 'run\0\n' | plain one.py
is 'a NUL in a command is refused' $? 125
head -c 100000 /dev/urandom | plain one.py
ok 'rubbish is survived' has '^Staged, not run'
plain one.py </dev/null
is 'no command at all: status 0' $? 0
lines_of "preset $level" run | timeout 100 "$BELLJAR" --plain one.py >/dev/full 2>err
is 'output that cannot be written: status 125' $? 125

# ---- a terminal ----
terminal 80 24
line "$BELLJAR --plain slow.sh"
sees 'a prompt' '^belljar> ?$'
line 'preset long'
wait_for 'next run takes long' && line run
sees 'a run is told as it happens' '^out: tick 1001'
line pause
sees 'commands are taken meanwhile' '^RUN paused'
line pause
sees 'and taken back' '^RUN goes on'
keys C-d
sees '^D asks while a run lives' 'y stops it and leaves'
line n
sees 'any other answer stays' 'The run goes on'
keys C-z
sees '^Z stops the session' 'Stopped'
ok 'and the run goes on' seen 'The run goes on, within its limits'
line fg
sees 'fg goes on with it' '^out: tick 102'
keys C-c
sees '^C stops the run' '^RUN ended: CANCELLED'
wait_for '^belljar> ?$'
keys C-c
sees 'with no run ^C says how to leave' 'Nothing runs. quit leaves'
ok 'it stayed' seen '^belljar> ?$'
line clear
wait_for 'Nothing is staged now' && line insert
wait_for 'is code, until' && line 'print(6 * 7)'
keys C-d
sees 'typed code is staged by ^D' 'Staged, not run: .*1 line'
tmux send-keys -l 'langua' && keys Tab
sees 'Tab completes a command' '^belljar> language ?$'
tmux send-keys -l 'pyth' && keys Tab Enter
sees 'and a name' 'run as Python'
keys Up
sees 'Up brings the last one back' '^belljar> language python$'
keys C-u
seq 150 >long.txt
line 'open long.txt'
wait_for 'long.txt, 150 lines' && line compose
sees 'a long telling comes in pages' '^[0-9]+ more lines: more shows them'
line more
sees 'the next of which can be asked for' '^150: 150'
line undo
wait_for 'As it was before'
lines_of clear run quit >commands
tmux load-buffer commands
tmux paste-buffer
sees 'a paste gives no commands' 'Several lines at once are a paste'
line compose
sees 'nothing of it was done' '^1: print\(6 \* 7\)'
keys C-d
line 'echo "left=$?"'
sees '^D leaves' '^left=0'
ok 'the terminal is sane' wait_until sane

line "clear; $BELLJAR --plain slow.sh; echo \"status=\$?\""
wait_for '^belljar> ?$'
screens=$(screens_pid)
kill -KILL "$screens"
sees 'killed: the guard says it' 'status=137'
ok 'and puts the modes back' wait_until sane
line "clear; cat one.py | $BELLJAR --plain -"
sees 'code on standard input, commands from the terminal' 'Staged, not run: '
line quit
wait_until sane
line "clear; $BELLJAR --plain slow.sh"
wait_for '^belljar> ?$' && line 'preset long' && wait_for 'next run' && line run && wait_for '^out: tick 1001'
guard=$(guard_pid)
all=$(descendants "$guard")
tmux kill-server
# shellcheck disable=SC2086
ok 'the terminal hangs up: nothing is left' wait_until none_alive $guard $all
terminal 80 24
tmux pipe-pane -o "cat >$scratch/sent"
line "clear; $BELLJAR --plain one.py"
wait_for '^belljar> ?$' && line "preset $level" && wait_for 'next run' && line run && wait_for 'RUN ended' && line quit
wait_until sane
tmux pipe-pane
sed -n '/belljar, plain mode/,/RUN ended/p' sent | sed '1s/.*belljar, plain/belljar, plain/' >session
ok 'nothing sent to the terminal is a sequence' sh -c "test -s session && ! grep -q '$escape' session"
plan_end
