#!/bin/bash
# SPDX-License-Identifier: MIT
# A hundred kills: one process of a run at a time, at a random moment of its life, spread over target, reaper,
# supervisor, front end and guard, at each level. Whatever is killed, within seconds nothing of the run is left: no
# process, no mount, no control group, no temporary folder.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
kills=${KILLS:-100}

make_mine

# The kinds of process to kill, by their place below the front end. At subprocess there is no reaper.
victims() {
	case $1 in
	subprocess) echo 'front supervisor target' ;;
	namespaces) echo 'front supervisor reaper target' ;;
	esac
}
place() { # LEVEL VICTIM
	case $1/$2 in
	*/front) echo 0 ;;
	*/supervisor) echo 1 ;;
	namespaces/reaper) echo 2 ;;
	subprocess/target) echo 2 ;;
	namespaces/target) echo 3 ;;
	esac
}

# One kill. The target starts children and a daemon of its own, so that there is something to leave behind.
kill_one() { # LEVEL VICTIM MARK: says what was left
	local front pid
	"$mine" run -q -p "$1" --wall 30s --input "$tools" -- /bin/sh -c \
		"$(probe_path "$1") orphan 40 $3; $(probe_path "$1") sleep 40 $3 & $(probe_path "$1") sleep 40 $3" \
		>/dev/null 2>&1 </dev/null &
	front=$!
	nap 120
	pid=$(descendant $front "$(place "$1" "$2")")
	if [ -n "$pid" ]; then
		kill -KILL "$pid" 2>/dev/null
	else
		echo >>missed # it was not born yet: the front end is killed instead, which is a moment too
		kill -KILL $front 2>/dev/null
	fi
	# A run that outlives its victim is ended as a person would.
	wait_until 1 gone $front || kill -TERM $front 2>/dev/null
	wait $front 2>/dev/null
	wait_until 6 none_left "$3" && return 0
	leftovers "$3"
	return 1
}

clear_away() { # a failure must not make the next one fail: the processes are this script's own, by their mark
	local pid
	leftovers "$1" | sed -n 's/^process \([0-9]*\) .*/\1/p' | while read -r pid; do kill -KILL "$pid" 2>/dev/null; done
	leftovers_begin
}

: >missed
each=$((kills / 8 + 1))
for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level" || continue
	for victim in $(victims "$level"); do
		leftovers_begin
		bad='' faults=0
		for n in $(seq 1 "$each"); do
			[ $faults -lt 3 ] || break # three tell as much as thirteen, and each costs seconds
			mark=$scratch/mine-$level-$victim-$n
			left=$(kill_one "$level" "$victim" "$mark") || {
				bad+="kill $n: $left"$'\n'
				faults=$((faults + 1))
				clear_away "$mark"
			}
		done
		is "$level: $each kills of the $victim leave nothing" "$bad" ''
	done
done

# What the front end says when its supervisor is gone.
"$mine" run --json -p subprocess --wall 30s --input "$tools" -- data/probe sleep 40 lost-supervisor >lost 2>errors </dev/null &
front=$!
ok 'the run is under way' wait_until 5 pgrep -f '^data/probe sleep 40 lost-supervisor'
kill -KILL "$(descendant $front 1)"
wait $front
is 'a lost supervisor: verdict and status' "$? $(json 'o["verdict"]' lost)" '125 lost'

# The guard, the screens and their run, in a terminal of their own.
if here tmux 'the guard and the screens' && [ -x mine/build/belljar-screens ]; then
	echo 'import time; time.sleep(40)' >sleeper.py
	echo "$mine $scratch/sleeper.py; read -r _" >open.sh
	terminal() { tmux -L "kill-$$" -f /dev/null "$@"; }
	shows() { terminal capture-pane -p | grep -qF -- "$1"; }
	first_of() { pgrep -of "^$mine $scratch/sleeper.py"; }
	leftovers_begin
	bad=
	for depth in 0 0 1 1 2 2 2; do
		terminal new-session -d -x 80 -y 24 "sh $scratch/open.sh" 2>/dev/null
		wait_until 5 shows time.sleep || bad+='the screens did not open'$'\n'
		guard=$(first_of)
		terminal send-keys r
		nap 700
		victim=$(descendant "${guard:-1}" $depth)
		[ -z "$guard" ] || [ -z "$victim" ] || kill -KILL "$victim"
		[ $depth -lt 2 ] || { nap 300; terminal kill-server; } # a person who closes the window
		wait_until 6 none_left "$mine" || bad+="depth $depth: $(leftovers "$mine")"$'\n'
		terminal kill-server 2>/dev/null
		clear_away "$mine"
	done
	is 'kills of the guard, the screens and their supervisor leave nothing' "$bad" ''
fi
echo "# $(wc -l <missed) of the victims were not born when their moment came"
plan_end
