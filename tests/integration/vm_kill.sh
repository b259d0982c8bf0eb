#!/bin/bash
# SPDX-License-Identifier: MIT
# Virtual machines at their worst moments. Many runs from one snapshot, and many at once, each with an answer and random
# numbers of its own; one process killed at a random moment of a run, of a first run, of `image build`; a person who gives
# up meanwhile. Whatever is killed: within seconds there is no process, mount, control group or folder of it, the next run
# goes as ever, and nothing but what is published lies in the cache then.
. "$(dirname "$0")/lib.sh"
own_cache
cd "$scratch" || exit 1
restores=${RESTORES:-10} at_once=${AT_ONCE:-8} kills=${KILLS:-8} build_kills=${BUILD_KILLS:-2}

here microvm 'virtual machines are killed' || plan_end
make_mine

vm_run() { # N
	timeout -k 5 120 "$mine" run -q -p microvm -l python \
		-c "import os; print($1 * $1, os.urandom(8).hex())" </dev/null 2>&1
}
no_snapshot() { rm -rf "$XDG_CACHE_HOME"/belljar/images/snapshot-*; }
cached() { (cd "$XDG_CACHE_HOME/belljar" && find . | sort); }
left() {
	leftovers "$mine"
	machines
}
nothing_left() { [ -z "$(left)" ]; }

check_answers() { # NAME COUNT: of the runs 1 to COUNT, on standard input
	local answers
	answers=$(sort -n)
	is "$1: each has its answer" "$(cut -d' ' -f1 <<<"$answers")" "$(for n in $(seq "$2"); do echo $((n * n)); done)"
	is "$1: no random number twice" "$(cut -d' ' -f2 <<<"$answers" | grep -xE '[0-9a-f]{16}' | sort -u | wc -l)" "$2"
	ok "$1: nothing is left" wait_until 6 nothing_left
}

leftovers_begin
ok 'a first run' vm_run 1
published=$(cached)

check_answers "$restores in a row" "$restores" < <(for n in $(seq "$restores"); do vm_run "$n"; done)
check_answers "$at_once at once" "$at_once" < <(
	for n in $(seq "$at_once"); do vm_run "$n" >"answer.$n" & done # each into a file: a line may be written in parts
	wait
	cat answer.*
)
is 'and nothing new lies in the cache' "$(cached)" "$published"

# ---- killed ----

# The first process that far below the command, or the command itself where it was not born yet; says what went wrong.
kill_one() { # DEPTH MILLISECONDS CMD...
	local depth=$1 most=$2 front victim answer
	shift 2
	"$@" >"$scratch/out" 2>&1 </dev/null &
	front=$!
	nap "$most"
	victim=$(descendant $front "$depth")
	kill -KILL "${victim:-$front}" 2>/dev/null
	wait_until 60 gone $front || echo "depth $depth: it goes on" # killed as it is restored, its snapshot is made again
	kill -KILL $front 2>/dev/null
	wait $front 2>/dev/null
	wait_until 6 nothing_left || left
	answer=$(vm_run 7)
	[[ $answer == '49 '* ]] || echo "depth $depth: the next run says $answer"
	diff <(echo "$published") <(cached)
}

waits() { exec "$mine" run -q -p microvm --wall 30s -l python -c 'import time; time.sleep(0.2)'; }
builds() { exec "$mine" image build -p microvm; }

bad=
for n in $(seq "$kills"); do bad+=$(kill_one $((n % 4)) 600 waits); done
is "$kills kills in a run" "$bad" ''
bad=
for n in $(seq "$build_kills"); do no_snapshot; bad+=$(kill_one $((RANDOM % 4)) 4000 waits); done
is "$build_kills kills in a first run" "$bad" ''
bad=
for n in $(seq "$build_kills"); do no_snapshot; bad+=$(kill_one $((RANDOM % 3)) 4000 builds); done
is "$build_kills kills of who builds" "$bad" ''

# ---- what a run says of a QEMU that is gone ----
"$mine" run --json -p microvm --wall 60s -l python -c 'import time; print("here", flush=True); time.sleep(50)' >lost 2>errors </dev/null &
front=$!
recorded() { grep -qs '"text":"here' "$HOME"/.local/state/belljar/runs/*.jsonl; }
ok 'a run is under way' wait_until 30 recorded
# shellcheck disable=SC2046 # one pid a word
kill -KILL $(machines | tr -dc '0-9\n')
wait $front
is 'a QEMU that is killed: verdict and status' "$? $(json 'o["verdict"]' lost)" '125 lost'
like 'and why' "$(json 'of("exit")[0]["evidence"]' "$(json 'o["recording"]' lost)")" 'ended by signal 9, which nothing of belljar sent'
is 'what it had printed is there' "$(json 'o["stdout"]' lost)" 'here'

# ---- a person gives up ----
for signal in INT TERM; do
	no_snapshot
	# What a shell puts behind itself ignores SIGINT.
	env --default-signal=INT "$mine" run --json -p microvm -l python -c 'print(1)' >given 2>errors </dev/null &
	front=$!
	ok "$signal: a snapshot is being made" wait_until 30 some_machine
	kill -$signal $front
	wait $front
	is "$signal: cancelled" "$(json 'o["verdict"]' given)" cancelled
	ok "$signal: nothing is left" nothing_left
	is "$signal: nor half a snapshot" "$(cached | grep -E 'snapshot|\.new')" ''

	env --default-signal=INT "$mine" image build -p microvm >given 2>errors </dev/null &
	front=$!
	ok "$signal, image build: a snapshot is being made" wait_until 30 some_machine
	kill -$signal $front
	wait $front
	is "$signal, image build: ended by it" $? $((128 + $(kill -l $signal)))
	ok "$signal, image build: nothing is left" nothing_left
	is "$signal, image build: nor half a snapshot" "$(cached | grep -E 'snapshot|\.new')" ''
done
like 'then a run goes as ever' "$(vm_run 9)" '^81 '
is 'and all that lies in the cache is what is published' "$(cached)" "$published"
plan_end
