#!/bin/bash
# SPDX-License-Identifier: MIT
# Poor terminals: none, dumb, unknown, without colour, without UTF-8, without bracketed paste.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
echo 'print(1)' >one.py

"$BELLJAR" </dev/null >out 2>&1
is 'no terminal: status 125' $? 125
ok 'and the usage' grep -q 'belljar run FILE' out

terminal 80 24
for term in dumb '' nonsense-terminal vt05-no-such; do
	line "clear; TERM=$term $BELLJAR one.py; echo \"status of <$term>=\$?\""
	sees "TERM=$term: plain mode" '^belljar> ?$'
	ok 'with the code staged' seen '^Staged, not run: one.py'
	line quit
	sees 'status 0' "^status of <$term>=0"
	ok 'and the terminal is sane' wait_until sane
done
for term in dumb nonsense-terminal; do
	line "clear; cat one.py | TERM=$term $BELLJAR"
	sees "TERM=$term: code that is piped in is staged" '^Staged, not run: '
	line quit
	wait_until sane
done
line 'clear; cat one.py | setsid -w '"$BELLJAR"'; echo "status=$?"'
sees 'no controlling terminal: status 125' '^status=125'

line "clear; NO_COLOR=1 TERM=vt100 $BELLJAR one.py"
sees 'vt100 without colour works' 'STAGED, NOT RUN  one.py'
is 'no colour is sent' "$(tmux capture-pane -pe | grep -cE $'\033\\[[0-9;]*(3[0-7]|4[0-7])m')" 0
line ':quit'
wait_until sane
line "clear; LC_ALL=C $BELLJAR one.py"
sees 'without UTF-8 the borders are ASCII' '^\+- Code -+\+'
line ':quit'
wait_until sane
line "clear; LINES=5 COLUMNS=20 $BELLJAR one.py"
sees 'exported LINES and COLUMNS do not lie' '^└─{78}┘'
line ':quit'
wait_until sane

# Without bracketed paste many bytes at once are no typing: they are staged, and press no keys.
line "clear; TERM=linux $BELLJAR"
wait_for 'Nothing is staged'
for i in 1 2 3 4 5 6 7 8 9; do echo "q(r); quit(); print($i)"; done >plain
tmux load-buffer plain
tmux paste-buffer
sees 'a bare paste is staged' 'STAGED, NOT RUN  pasted'
ok 'and nothing runs' gone RUNNING
line ':quit'
ok 'the terminal is sane' wait_until sane
plan_end
