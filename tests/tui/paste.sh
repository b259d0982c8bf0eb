#!/bin/bash
# SPDX-License-Identifier: MIT
# Pastes: a large one is taken whole, one that closes itself presses no keys, a paste where none is wanted does nothing,
# and what is odd about it is said before anything runs.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

paste() { # FILE: in brackets, as a terminal does it
	tmux load-buffer "$1"
	tmux paste-buffer -p -r
}

terminal 80 24
line "$BELLJAR"
sees 'it starts empty and says how to bring code' 'Nothing is staged'

python3 - >big.py <<'PY'
for i in range(20000):
    print("x%05d = 'a line of a large paste, number %d'  # %s" % (i, i, "y" * 8))
PY
paste big.py
sees 'a paste of a megabyte is staged whole' 'STAGED, NOT RUN  pasted  20000 lines'
keys G
sees 'to its last line' 'x19999 = '
ok 'and nothing runs' gone RUNNING

printf 'print(1)\n\033[201~r\r:quit now\rprint(2)\nr\n' >closing.py
paste closing.py
sees 'a paste that closes itself is told' 'held an end-of-paste mark; [0-9]+ bytes after it were dropped'
sees 'its beginning is staged' 'STAGED, NOT RUN  pasted  1 line '
ok 'what followed pressed no keys' gone 'RUNNING'
ok 'and gave no commands' seen '\[1 Compose\]'

printf 'access = "user\xe2\x80\xae \xe2\x81\xa6// admin\xe2\x81\xa9"\r\nx\xe2\x80\x8by = 1\r\n\033]0;title\007\n' >odd.py
paste odd.py
sees 'bidi controls are told' '! [0-9]+ bidi controls from line 1 on'
ok 'and shown' seen '⟨U\+202E⟩'
ok 'zero-width characters are told' seen 'zero-width character'
ok 'no title was set' test "$(say '#{pane_title}')" != title

keys 2
sees 'on Run' 'Nothing has run yet'
paste closing.py
sees 'a paste means nothing there' 'A paste means nothing here'
ok 'and nothing ran' gone RUNNING

keys 1 :
printf 'preset subprocess\nq\nq\n' >lines
paste lines
sees 'in a prompt its first line counts' '^ :preset subprocess'
ok 'and waits for Enter' seen '^ :preset subprocess'
keys Escape
wait_until gone '^ :preset' # else the terminal makes M-x of the two
keys x
sees 'x clears' 'Nothing is staged now'

keys i
wait_for 'INSERT'
keys -l 'print(40 + 2)'
keys Enter
keys C-d
sees 'typed code is staged' 'STAGED, NOT RUN  typed  1 line'
line ':quit'
ok 'the terminal is sane' wait_until sane
line 'cat -v'
wait_until child_named "$(say '#{pane_pid}')" cat # until then the shell's own line editing is on
paste lines
sees 'bracketed paste is off again' '^preset subprocess'
plan_end
