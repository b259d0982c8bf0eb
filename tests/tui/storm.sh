#!/bin/bash
# SPDX-License-Identifier: MIT
# Terminals of many kinds: each screen on each TERM, without colour, without UTF-8, while the window is torn from size to
# size; and a terminal that takes no output any more, which must not hold the run or the end.
. "$(dirname "$0")/lib.sh"
need_run
cd "$here" || exit 1
titles=(Compose Run Events Attacks Compare Presets Learn)
colours=$'\033\\[([0-9;]*;)?(3[0-7]|4[0-7]|9[0-7]|10[0-7]|[34]8;[0-9;]*)(;[0-9;]*)?m'

open_recording() { # NAME ENVIRONMENT...
	local name=$1
	shift
	line "clear; cd $here; env $* $BELLJAR replay tests/recordings/$name.jsonl"
	wait_for '\[2 Run\]'
}
leave() {
	line ':quit now'
	wait_until sane
}
each_screen() { # CHECK: with what is wrong printed
	local i
	for i in 1 2 3 4 5 6 7; do
		keys "$i"
		wait_for "\\[$i ${titles[i - 1]}\\]" || echo "screen $i does not come"
		"$1" "$i"
	done
}
nothing() { :; }
coloured() { tmux capture-pane -pe | grep -qE "$colours" && echo "screen $1 has colours"; }
beyond_ascii() { [ "$(shot | LC_ALL=C tr -d '\1-\176' | wc -c)" -eq 0 ] || echo "screen $1 has more than ASCII"; }
mouse_on() { [ "$(say '#{mouse_any_flag}')" = 0 ] || echo "screen $1 takes the mouse"; }

terminal 80 24
open_recording colours
keys 2
ok 'with colours there are some' wait_until eval 'coloured 2 | grep -q colours'
is 'the mouse stays the terminal'"'"'s' "$(each_screen mouse_on)" ''
leave
open_recording colours NO_COLOR=1
is 'NO_COLOR: no screen has a colour, nor the output' "$(each_screen coloured)" ''
leave
open_recording under-attack LC_ALL=C
is 'no UTF-8: every screen is ASCII' "$(each_screen beyond_ascii)" ''
leave

for term in vt100 xterm xterm-16color xterm-256color screen-256color linux tmux-256color; do
	if ! infocmp "$term" >/dev/null 2>&1; then # the base of terminfo does not have them all
		line "clear; TERM=$term $BELLJAR"
		sees "TERM=$term is not known here: plain mode" '^belljar> ?$'
		line quit
		wait_until sane
		continue
	fi
	open_recording under-attack "TERM=$term"
	is "TERM=$term: each screen is drawn" "$(each_screen nothing)" ''
	leave
	ok "TERM=$term: the terminal is sane" sane
done

storm() {
	local size
	for size in 20x5 200x60 1x1 40x12 300x100 21x6 80x1 3x50 60x16 120x40 80x24; do
		tmux resize-window -x "${size%x*}" -y "${size#*x}"
	done
	wait_for "\\[$1 ${titles[$1 - 1]}\\]" || echo "screen $1 is not drawn any more"
	wait_until test "$(shot | wc -l)" -eq 24 || echo "screen $1 is not 24 rows"
}
open_recording under-attack
is 'a storm of sizes over each screen' "$(each_screen storm)" ''
keys 2
sees 'and it is drawn whole' '^└─{78}┘'
leave

# A terminal whose other end does not read: ^S in an outer one, a dead connection.
printf '#!/bin/sh\nexec yes "a line of a flood"\n' >"$scratch/flood.sh"
printf ':preset %s\nr\n' "$level" >"$scratch/start"
cat >"$scratch/stalled.py" <<'PY'
import os, pty, signal, sys, time
program, script, file = sys.argv[1:]
child, master = pty.fork()
if child == 0:
    os.environ["TERM"] = "xterm"
    os.execv(program, [program, "--script", script, file])
deadline = time.time() + 40

def children(pid):
    try:
        return [int(p) for p in open("/proc/%d/task/%d/children" % (pid, pid)).read().split()]
    except OSError:
        return []

def below(pid):
    return [p for c in children(pid) for p in [c] + below(c)]

def flooding():
    return any(open("/proc/%d/comm" % p).read().strip() == "yes" for p in below(child) if os.path.exists("/proc/%d" % p))

seen = os.read(master, 100)  # it draws; from here on nobody reads
while not flooding():
    if time.time() > deadline:
        sys.exit("the run never began")
    time.sleep(0.05)
all_of_it = below(child)
os.kill(child, signal.SIGTERM)
pid = 0
while pid == 0 and time.time() < deadline:
    pid, status = os.waitpid(child, os.WNOHANG)
    time.sleep(0.05)
if pid == 0:
    sys.exit("SIGTERM does not end it")
left = [p for p in all_of_it if os.path.exists("/proc/%d" % p) and " Z " not in open("/proc/%d/stat" % p).read()]
sys.exit("left: %s" % left if left else 0 if os.WEXITSTATUS(status) == 143 else "status %d" % status)
PY
is 'a terminal that takes no output does not hold the end' \
    "$(python3 "$scratch/stalled.py" "$BELLJAR" "$scratch/start" "$scratch/flood.sh" 2>&1)" ''
plan_end
