#!/bin/bash
# SPDX-License-Identifier: MIT
# belljar bench: a row for each launcher with figures that can be true, table and JSON, what fails and what is wrong. No
# test looks at how large a time is.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
state=$HOME/.local/state/belljar

bench() { # OPTIONS...: $status, and the object for `row`
	timeout 120 "$BELLJAR" bench --json "$@" >"$scratch/bench" 2>"$scratch/errors" </dev/null
	status=$?
}
row() { # N EXPR: of the Nth row, as `r`
	json "(lambda r: $2)(o['rows'][$1])" "$scratch/bench"
}

if here userns 'each level is measured'; then
	bench -n 3
	is 'all ran well' "$status" 0
	is 'what was run' "$(json '[o["runs"], o["program"], o["recorded"]]' "$scratch/bench")" '[3, "print(1)", true]'
	is 'the host is told as recordings tell it' "$(json 'o["host"]["kernel"]' "$scratch/bench")" "$(uname -r)"
	is 'the bare one first, then each level' "$(json '[r["preset"] for r in o["rows"]][:3]' "$scratch/bench")" \
		'[null, "subprocess", "namespaces"]'
	for n in 0 1 2; do
		is "row $n: longest >= p95 >= median > 0" "$(row $n 'r["longest_ms"] >= r["p95_ms"] >= r["median_ms"] > 0')" true
		is "row $n: the first byte comes before the end" "$(row $n '0 < r["first_byte_median_ms"] <= r["median_ms"]')" true
		is "row $n: nothing failed" "$(row $n '[r["failed"], r["reason"]]')" '[0, null]'
		is "row $n: so many times the bare one" \
			"$(json "abs(o['rows'][$n]['times_bare'] - o['rows'][$n]['median_ms'] / o['rows'][0]['median_ms']) < 0.01" "$scratch/bench")" true
		is "row $n: memory has a source" "$(row $n 'len(r["memory_source"]) > 10')" true
	done
	is 'nothing stands beside a bare one' "$(row 0 'r["memory_bytes"]')" 0
	is 'a level has processes of its own' "$(row 1 'r["memory_bytes"] > 0')$(row 2 'r["memory_bytes"] > 0')" truetrue

	text=$(timeout 60 "$BELLJAR" bench -n 1 2>"$scratch/errors")
	is 'the table: status' "$?" 0
	like 'the table: columns' "$text" '^level +median +p95 +longest +x bare +first byte +memory +failed$'
	for name in 'bare fork and exec' subprocess namespaces; do
		like "the table: $name" "$text" "^$name( +[0-9.]+){5} +[0-9.]+ [KM]?i?B +0$"
	done
	like 'the table says whether runs are recorded' "$text" 'each run is recorded'
	is 'the table fits 80 columns' "$(awk 'length > 80' <<<"$text")" ''
	is 'no progress where nobody watches' "$(errors)" ''
fi

# ---- fewer, other, and none ----
bench -n1 -p subprocess --no-record
is '-p and -n 1' "$status $(json '[r["preset"] for r in o["rows"]]' "$scratch/bench")" '0 [null, "subprocess"]'
is 'of one run median, p95 and longest are the same' "$(row 1 'r["median_ms"] == r["p95_ms"] == r["longest_ms"] > 0')" true
is '--no-record is told' "$(json 'o["recorded"]' "$scratch/bench")" false
printf '[preset]\nextends = subprocess\nname = mine\n' >mine.ini
bench -n 2 -p subprocess,./mine.ini
is 'a file is a preset too' "$status $(json '[r["preset"] for r in o["rows"]]' "$scratch/bench")" '0 [null, "subprocess", "./mine.ini"]'

# What cannot start here has a row that says so; the others are measured all the same.
mkdir empty
printf '[preset]\nextends = namespaces\nname = hollow\n[filesystem]\nroot = %s/empty\n' "$scratch" >hollow.ini
bench -n 2 -p subprocess,./hollow.ini
is 'one that cannot start: status' "$status" 1
is 'one that cannot start: no figure' "$(row 2 '[r["median_ms"], r["longest_ms"], r["times_bare"], r["failed"]]')" '[null, null, null, 1]'
like 'one that cannot start: the reason' "$(row 2 'r["reason"]')" 'status 12[5-7]: .*python3'
is 'one that cannot start: the other is measured' "$(row 1 'r["median_ms"] > 0')" true
text=$(timeout 60 "$BELLJAR" bench -n 1 -p ./hollow.ini 2>/dev/null)
is 'the table of one that cannot start: status' "$?" 1
like 'the table of one that cannot start: unknown' "$text" '^\./hollow\.ini( +\?){6} +1$'
like 'the table of one that cannot start: why' "$text" '^\./hollow\.ini: does not start here: status 12'
is 'the table of one that cannot start: 80 columns' "$(awk 'length > 80' <<<"$text")" ''
# shellcheck disable=SC1003 # an escape for printf
printf -v wild 'wild\033]0;title\007\033[2J.ini'
cp hollow.ini "./$wild"
unlike 'a name cannot act on the terminal' "$(timeout 60 "$BELLJAR" bench -n 1 -p "./$wild" 2>&1)" $'\x1b'

# On a terminal a long one says how far it is, and takes that away again. A hundred starts of Python take over a second.
if here script 'progress on a terminal'; then
	text=$(timeout 120 script -qec "'$BELLJAR' bench -n 100 -p subprocess" /dev/null </dev/null)
	like 'progress on a terminal' "$text" $'\rbelljar: run [0-9]+ of 202'
	like 'which is gone in the end' "$text" $'\r +\rprint\\(1\\), 100 runs'
fi

# ---- nothing stays ----
mkdir -p "$state/runs"
kept() { find "$state" | sort; }
kept >before
belljar bench -n 2 -p subprocess >/dev/null
is 'recordings of a benchmark are not kept' "$(kept | diff before -)" ''
setsid "$BELLJAR" bench -n 1000 -p subprocess >stopped 2>&1 </dev/null &
pid=$!
wait_until 10 sh -c "ls -d '$state'/bench-*"
kill -TERM $pid
wait $pid
is 'a stopped one says so by its status' "$?" 143
is 'a stopped one shows no figures' "$(grep -c median stopped)" 0
is 'a stopped one leaves nothing' "$(kept | diff before -)" ''

# ---- wrong ----
wrong() { # ERE OPTIONS...
	local pattern=$1 text
	shift
	text=$(timeout 20 "$BELLJAR" bench "$@" 2>&1 >"$scratch/stdout" </dev/null)
	is "bench $*: status" "$?" 125
	like "bench $*: says what is wrong" "$text" "^belljar: .*$pattern"
	is "bench $*: nothing on standard output" "$(wc -c <"$scratch/stdout")" 0
}
for value in '' 0 -1 1001 ten 1e3 99999999999999999999; do
	wrong "--runs: \"$value\" is not a number from 1 to 1000" "--runs=$value"
done
wrong '-n: "0" is not' -n 0
wrong "'nonexistent'" -p nonexistent
wrong "'nonexistent'" -p subprocess,nonexistent
wrong '-p: "subprocess" was given twice' -p subprocess,subprocess
wrong '-p: no name' -p ,
wrong 'unknown option --jsno; the nearest is --json' --jsno
wrong 'options only' code.py
wrong 'options only' -- code.py
belljar bench -n 1 -p subprocess >/dev/full 2>/dev/null
is 'a full standard output is no success' "$?" 125

like 'nowhere to record to: says so' "$(HOME=/proc/nowhere timeout 20 "$BELLJAR" bench -n 1 -p subprocess 2>&1)" \
	'^belljar: a folder for recordings, which --no-record does without: '

# ---- help ----
text=$(belljar bench --help)
is 'help: status' "$?" 0
is 'help fits a screen' "$(awk 'length > 80 || NR > 24' <<<"$text")" ''
is 'help bench says the same' "$(belljar help bench)" "$text"
is 'the man page has the options of bench' \
	"$(sed -n '/^\.\\" bench: begin/,/^\.\\" bench: end/p' "$here/tui/belljar.1" | sed '1d;$d')" "$(belljar bench --help-man)"
plan_end
