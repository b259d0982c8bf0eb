#!/bin/bash
# SPDX-License-Identifier: MIT
# Storms: signals that strike while a watched call waits, processes and threads that come and go meanwhile, floods of
# calls, and a supervisor that dies. No program hangs, each call comes to what it should, and each is told or counted.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
cp "${PROBE%/*}/storm" "$tools/storm" && chmod 755 "$tools/storm"
flood=${FLOOD:-100000} # a million takes a minute each

storm_path() { # LEVEL
	local path
	path=$(probe_path "$1")
	echo "${path%probe}storm"
}

# storm LEVEL ARG...: `said WORD` is then a number of its own, `told LIST TEST` how many calls of a kind the recording
# tells of (of events e for which TEST holds), those included that it only counts.
storm() {
	local level=$1
	shift
	run -p "$level" --wall 60s --processes 600 --input "$tools" -- "$(storm_path "$level")" "$@" </dev/null
}
said() { got 'o["stdout"]' | sed -n "s/.*\\b$1 \\([0-9]*\\).*/\\1/p"; }
told() { event "sum(e.get('count', 1) for e in of('$1') if $2) + sum(e['count'] for e in of('dropped') if e['what'] == '$1')"; }
well() { is "$1: it ends, and each call came to what it should" "$(got 'o["verdict"]') $(said wrong)" 'ok 0'; }

# What a signal breaks off before the supervisor has received it never happened: a handler without SA_RESTART then sees
# EINTR, as seccomp_unotify(2) says, the program makes the call again, and only that one is seen.
test_timers() { # LEVEL
	local call us how name list
	for call in open:file connect:network exec:exec; do
		list=${call#*:} call=${call%:*}
		for us in 10000 1000; do
			for how in restart broken-off; do
				name="$1: a timer of $us us, $how, while it calls $call"
				storm "$1" timer "$call" 500 $us $how
				well "$name"
				is "$name: none is lost" "$(told "$list" 'e["type"] != "exec" or e["path"].startswith("/absent")')" \
					"$(($(said begun) - $(said broken)))"
				[ $how = broken-off ] || is "$name: none is broken off" "$(said broken)" 0
				echo "# $name: $(said struck) signals, $(said broken) calls broken off"
			done
		done
	done
}

test_urgent() { # LEVEL
	local name="$1: signals as Go's scheduler sends them, to eight threads"
	storm "$1" urgent open 8 100
	well "$name"
	is "$name: none is lost" "$(told file True)" 800
	is "$name: none is broken off" "$(said broken)" 0
	echo "# $name: $(said struck) signals"
}

test_births() { # LEVEL
	local name="$1: sixteen processes that fork while they are watched" how
	storm "$1" forks 16 20
	well "$name"
	is "$name: no file is lost" "$(told file True)" 640
	is "$name: each path once" "$(event 'len({e["path"] for e in of("file")}) == len(of("file")) and not of("dropped")')" true
	for how in fork vfork; do
		name="$1: programs by $how, two hundred at once"
		storm "$1" execs 600 200 $how
		well "$name"
		is "$name: none is lost" "$(told exec True)" 601
	done
	name="$1: threads that open files while another executes a program"
	storm "$1" pool 10 6
	well "$name"
	is "$name: no program is lost" "$(event 'len(of("exec"))')" 11
	between "$name: no file is lost" "$(told file True)" "$(said "done")" "$(said begun)"
}

# The most memory that a process ever had, in KiB; 0 when it is gone.
most_memory() {
	local key value _
	while read -r key value _; do
		[ "$key" != VmHWM: ] || { echo "$value"; return; }
	done 2>/dev/null <"/proc/$1/status"
	echo 0
}
# flood LEVEL CALL COUNT: and the most memory of the front end and the supervisor, into $peaks.
flood() {
	local front supervisor='' front_peak=0 supervisor_peak=0 kib
	"$BELLJAR" run --json -p "$1" --wall 20m --cpu unlimited --input "$tools" -- "$(storm_path "$1")" flood "$2" "$3" \
		>result 2>errors </dev/null &
	front=$!
	while gone_to_come; do
		{ read -r supervisor _ <"/proc/$front/task/$front/children"; } 2>/dev/null
		kib=$(most_memory $front) && [ "$kib" -le "$front_peak" ] || front_peak=$kib
		kib=$(most_memory "${supervisor:-none}") && [ "$kib" -le "$supervisor_peak" ] || supervisor_peak=$kib
		read -rt 0.03 <> <(:)
	done
	wait $front
	peaks="$front_peak $supervisor_peak"
}
gone_to_come() { [[ $(cut -d' ' -f3 "/proc/$front/stat" 2>/dev/null) == [RSD] ]]; }

test_floods() { # LEVEL
	local call list test name few many k=0
	for call in 'absent files file' 'same-connect network network' 'denied denied denied'; do
		read -r call list test <<<"$call"
		name="$1: a flood of $call"
		flood "$1" "$call" 10000
		few=$peaks
		flood "$1" "$call" "$flood"
		many=$peaks
		well "$name"
		is "$name: told or counted, every one" "$(told "$test" True)" "$flood"
		is "$name: in the result too" "$(got "[g['count'] for g in o['$list']]")" "[$flood]"
		is "$name: from the first on" "$(got "o['$list'][0]['t']")" "$(event "min(e['t'] for e in of('$test'))")"
		between "$name: the recording stays small, KiB" \
			$(($(stat -c %s "$(got 'o["recording"]')") >> 10)) 1 $((32 + $(event 'int(o[-1]["wall_s"] * 20)')))
		for k in 1 2; do
			between "$name: the memory of the $([ $k = 1 ] && echo front end || echo supervisor) stays what it was, KiB" \
				"$(cut -d' ' -f$k <<<"$many")" 500 $(($(cut -d' ' -f$k <<<"$few") + 1024))
		done
		echo "# $name: $flood in $(got 'o["wall_s"]') s; memory of front end and supervisor $few, then $many KiB"
	done
}

# What would act on a terminal is told by its kind, each byte of it, and a flood of it by few events.
test_sequences() { # LEVEL
	local name="$1: sequences in the output"
	run -p "$1" -l sh -c 'printf "a\033]52;c;Y3VybA==\007b\033]0;title\007\033[2J\033[6n\342\200\256\342\200\213\377\n"' </dev/null
	is "$name: each kind once, with its bytes" \
		"$(event 'sorted([e["kind"], e["bytes"], e["outcome"], e["layer"]] for e in of("terminal"))')" \
		"$(json 'sorted([k, b, "removed", "supervisor"] for k, b in o.items())' <<<\
			'{"clipboard": 16, "title": 10, "screen": 4, "query": 4, "bidi": 3, "zero-width": 3, "invalid": 1}')"
	name="$1: a flood of sequences"
	run -p "$1" --wall 60s -l sh -c 'yes "$(printf "\033[2J\033]0;title\007")" | head -n 200000' </dev/null
	is "$name: every byte is counted" \
		"$(event '[sum(e["bytes"] for e in of("terminal") if e["kind"] == k) for k in ("screen", "title")]')" '[800000, 2000000]'
	# Of each of two kinds the first in a tenth of a second at once, and the others together at its end.
	is "$name: its events have a bound" "$(event 'len(of("terminal")) <= 2 * 2 * (int(o[-1]["t"] * 10) + 1)')" true
	name="$1: output over its limit"
	run -p "$1" --wall 60s --output-limit 64K -l sh -c 'yes | head -c 1000000' </dev/null
	is "$name: what is kept and what is dropped are all of it" \
		"$(got '[len(o["stdout"]), o["stdout_dropped"]]')" "[65536, 934464]"
}

# The supervisor hangs, and is killed while calls wait for its answer: none of them comes to anything.
stands() { # FILE: the number of the one to be made stays what it is, and it is not there
	local before
	before=$(cat "$1.now") && read -rt 0.1 <> <(:)
	[ -n "$before" ] && [ ! -e "$1-$before" ] && [ "$before" = "$(cat "$1.now")" ]
}
test_lost() {
	local front supervisor who n
	local -A at
	mkdir -m 777 made
	"$BELLJAR" run --json -p subprocess --wall 60s --input "$tools" -- "$(storm_path subprocess)" maker "$scratch/made/file" \
		>result 2>errors </dev/null &
	front=$!
	ok 'a supervisor that is lost: files are being made' wait_until 10 test -e made/file-20 -a -e made/file-daemon-20
	read -r supervisor _ <"/proc/$front/task/$front/children"
	kill -STOP "$supervisor"
	ok 'a supervisor that is lost: calls wait for it' wait_until 10 stands made/file
	ok 'a supervisor that is lost: of a daemon too' wait_until 10 stands made/file-daemon
	at=([file]=$(cat made/file.now) [file-daemon]=$(cat made/file-daemon.now)) # a daemon goes on in vain for a moment
	kill -KILL "$supervisor"
	wait $front
	is 'a supervisor that is lost: verdict and status' "$? $(got 'o["verdict"]')" '125 lost'
	is 'a supervisor that is lost: nothing goes on' "$(pgrep -f "maker $scratch/made/file")" ''
	for who in file file-daemon; do
		n=${at[$who]}
		ok "a supervisor that is lost: $who: what was answered is there" test -e "made/$who-$((n - 1))"
		not "a supervisor that is lost: $who: the call in flight came to nothing" test -e "made/$who-$n"
		not "a supervisor that is lost: $who: nor did one after it" test -e "made/$who-$((n + 1))"
	done
}

for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level" || continue
	test_timers "$level"
	test_urgent "$level"
	test_births "$level"
	test_floods "$level"
	test_sequences "$level"
done
test_lost
plan_end
