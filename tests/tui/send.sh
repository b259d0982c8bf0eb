#!/bin/bash
# SPDX-License-Identifier: MIT
# A run with a terminal of its own in the screens: its size is theirs and follows them, a line is typed into it, its input
# ends; a run without one is told so.
. "$(dirname "$0")/lib.sh"
need_run
cd "$scratch" || exit 1
cat >ask.py <<'PY'
import os, signal, sys
def size(*_): print("size", os.get_terminal_size().lines, os.get_terminal_size().columns, flush=True)
signal.signal(signal.SIGWINCH, size)
print("tty:", sys.stdin.isatty() and sys.stdout.isatty())
if sys.stdin.isatty(): size()
for line in sys.stdin: print("heard", line.strip()[::-1], flush=True)
print("the", "end")
PY
terminal 80 24
line "$BELLJAR ask.py"
wait_for 'STAGED, NOT RUN'
line ":preset $level"
keys r
sees 'without: no terminal' 'tty: False'
sees 'and its input is at its end' 'the end'
line ':send hello'
sees 'nothing can be sent when nothing runs' 'Nothing runs'
line ':tty'
sees ':tty is said' 'The next run gets a terminal of its own'
keys r
sees 'with: a terminal' 'tty: True'
sees 'as large as the screens' 'size 24 80'
keys I
wait_for '^ :send *$'
line 'stressed'
sees 'a line that is sent is heard' 'heard desserts'
tmux resize-window -x 100 -y 30
sees 'a new size reaches it' 'size 30 100'
line ':send-end'
sees 'its input ends' 'the end'
sees 'and so does it' 'OK  It ended by itself'
keys q
ok 'q leaves' wait_until sane
plan_end
