#!/bin/bash
# SPDX-License-Identifier: MIT
# From code to verdict: piped code is staged and not run, r runs it, its output and its end are seen, at every size.
. "$(dirname "$0")/lib.sh"
need_run
cd "$scratch" || exit 1
cat >hello.py <<'PY'
import sys
print("hello " + "from the run")
print("to the other " + "stream", file=sys.stderr)
sys.exit(3)
PY
mkfifo go

terminal 80 24
line "cat hello.py | $BELLJAR"
sees 'piped code opens Compose' 'STAGED, NOT RUN  standard input'
sees 'the code is shown with line numbers' '2  print\("hello " \+ "from the run"\)'
sees 'its language is guessed' 'Python 3'
sees 'and the rule is said' 'Nothing runs until you press r'
ok 'nothing has run' gone 'RUNNING'

keys P
sees 'P chooses another preset and says so' 'The next run takes'
line ":preset $level"
sees 'a preset is taken by name' "\\[$level\\]"
keys r
sees 'r runs it: its output' 'hello from the run'
sees 'its other stream, marked' '┆to the other stream'
sees 'its verdict in words' 'FAILED  It ended by itself and reported a failure. Status 3'
sees 'nothing of it is left' 'Nothing of it is left'
sees 'what isolates it stands above' "$level · kernel"

tmux resize-window -x 40 -y 12
sees 'at 40x12 the output stays' 'Output  2 lines'
ok 'and the words to leave' seen 'q Quit'
tmux resize-window -x 20 -y 5
wait_until gone 'Output'
ok 'at 20x5 the verdict stays' wait_for '■ FAILED'
tmux resize-window -x 80 -y 24
sees 'and back' 'Result'
tmux resize-window -x 120 -y 40
sees 'at 120x40 the boundary stands beside' 'Boundary in force'
tmux resize-window -x 80 -y 24
wait_until gone 'Boundary in force'

keys b
sees 'b shows the boundary in words' 'Boundary in force   b or Esc closes'
keys Escape
ok 'Esc closes it' wait_until gone 'b or Esc closes'
keys 3
sees '3 shows the events' '\[3 Events\]'
keys '?'
sees '? helps' 'Help: Events'
keys Escape
wait_until gone 'Help: Events'
keys 2
line '/other stream'
sees 'a text is found' 'from line 1'
line ':nonsense'
sees 'an unknown command is answered' 'No command is called "nonsense" here'
keys r
sees 'r runs it again' '#2 standard input'
wait_for 'Nothing of it is left'
keys q
ok 'q leaves: the screen is the shell'"'"'s again' wait_until sane
line 'echo status=$?'
sees 'with status 0' '^status=0'

line "{ echo 'print(1)'; read -r go <go; echo 'print(2)'; } | $BELLJAR"
sees 'code that is still coming is said' 'READING standard input: 9 B'
keys 2
sees 'keys are answered meanwhile' '\[2 Run\]'
keys 1
echo go >go
sees 'and all of it is staged' 'STAGED, NOT RUN  standard input  2 lines'
line ':quit'
wait_until sane
line "yes | $BELLJAR"
sees 'code without end is refused' 'longer than 10 MiB: refused, never cut'
sees 'and nothing is staged' 'NOTHING STAGED'
line ':quit'
wait_until sane

line "EDITOR='sed -i s/hello/changed/' $BELLJAR hello.py"
wait_for 'print\("hello "'
keys e
sees 'an editor changes the code' 'print\("changed "'
ok 'which keeps its name' seen 'STAGED, NOT RUN  hello.py'
line ':quit'
wait_until sane
ok 'the file itself is as it was' grep -q hello hello.py

line "$BELLJAR hello.py"
sees 'a file is staged by name' 'STAGED, NOT RUN  hello.py'
line ':quit'
wait_until sane
line "$BELLJAR nothing-here.py"
sees 'a file that is not there is said, after the screens' 'nothing-here.py'
ok 'and the terminal is sane' wait_until sane

line "$BELLJAR replay $here/tests/recordings/ok.jsonl"
sees 'a recording opens in the screens' '■ OK recorded'
ok 'and says that it is one' seen 'This is a recording'
keys q
ok 'q leaves it' wait_until sane
line "$BELLJAR replay nowhere.jsonl; echo status=\$?"
sees 'one that is not there is said' 'nowhere.jsonl'
sees 'with status 125' '^status=125'

cat >editor <<'SH'
#!/bin/sh
trap : INT
echo 'editing'
read -r line
kill -TSTP $$
echo 'print("edited")' >"$1"
SH
chmod +x editor
terminal 80 24
line "EDITOR=$scratch/editor $BELLJAR hello.py"
wait_for 'STAGED'
keys e
wait_for 'editing'
keys C-c
keys Enter
sees 'a ^C in an editor is for it alone, and stopped it goes on' 'print."edited".'
keys q
ok 'and belljar goes on until q' wait_until sane
plan_end
