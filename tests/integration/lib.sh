# shellcheck shell=bash disable=SC2034 # some variables are for the scripts that source this
# SPDX-License-Identifier: MIT
# What every integration script starts with: TAP, a home of its own, the program under test, and questions about its
# JSON. A script sources this file, says its tests, and ends with plan_end.
set -u
: "${BELLJAR:?the program under test}" "${PROBE:?the probe}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
levels='subprocess namespaces'

# One scratch folder a script, which is also its home: recordings, caches and user presets go there.
scratch=$(mktemp -d /tmp/bj-test-XXXXXX) || exit 1
chmod 755 "$scratch"
trap 'rm -rf "$scratch"' EXIT
export HOME=$scratch
tools=$scratch/tools # what a run gets as its input: the probe
mkdir "$tools" && cp "$PROBE" "$tools/probe" && chmod 755 "$tools" "$tools/probe"
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_RUNTIME_DIR
export XDG_CACHE_HOME=${TEST_CACHE:-$scratch/.cache}   # a snapshot once for all scripts: five seconds each
own_cache() { export XDG_CACHE_HOME=$scratch/.cache; } # for what is about images themselves
unset "${!BELLJAR_@}"

tests=0
failed=0

# ok NAME CMD...: CMD succeeds. Its output is shown only when it does not.
ok() {
	local name=$1
	shift
	"$@" >"$scratch/.ok" 2>&1
	report $? "$name" "$*" "$(head -c 2000 "$scratch/.ok")"
}

# not NAME CMD...: CMD fails.
not() {
	local name=$1
	shift
	! "$@" >"$scratch/.ok" 2>&1
	report $? "$name" "should have failed: $*" "$(head -c 2000 "$scratch/.ok")"
}

is() { # NAME GOT WANT
	[ "$2" = "$3" ]
	report $? "$1" "got:  $2" "want: $3"
}

like() { # NAME TEXT ERE: some line of TEXT matches
	printf '%s\n' "$2" | grep -qE -- "$3"
	report $? "$1" "got:  $(printf '%s' "$2" | head -c 2000)" "want: /$3/"
}

unlike() { # NAME TEXT ERE: no line of TEXT matches
	! printf '%s\n' "$2" | grep -qE -- "$3"
	report $? "$1" "got:  $(printf '%s' "$2" | head -c 2000)" "without: /$3/"
}

between() { # NAME GOT LEAST MOST: numbers
	awk -v g="$2" -v a="$3" -v b="$4" 'BEGIN { exit !(g ~ /^-?[0-9.]+(e-?[0-9]+)?$/ && g + 0 >= a + 0 && g + 0 <= b + 0) }'
	report $? "$1" "got:  $2" "want: $3 to $4"
}

report() { # STATUS NAME DIAGNOSTIC...
	tests=$((tests + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tests - $2"
		return 0
	fi
	failed=$((failed + 1))
	echo "not ok $tests - $2"
	shift 2
	printf '%s\n' "$@" | sed 's/^/# /'
	return 1
}

skip() { # NAME REASON
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

# here WHAT NAME: true where this machine has WHAT (tests/probes/here); else NAME is skipped with the reason.
here() {
	"$here/tests/probes/here" "$1" && return 0
	skip "$2" "cannot here: $1"
	return 1
}

plan_end() {
	echo "1..$tests"
	[ "$failed" -eq 0 ]
	exit
}

belljar() { "$BELLJAR" "$@"; }

run_as() { # USER CMD...: in that user's own home
	local user=$1
	shift
	runuser -u "$user" -- env -u XDG_CACHE_HOME HOME="$(getent passwd "$user" | cut -d: -f6)" "$@"
}

# json EXPR [FILE]: the value of a Python expression over the JSON on standard input or in FILE, where `o` is the object
# or, of JSON Lines, the list of them; `of(type)` are the events of a type and `first(list)` is {} of an empty one.
# Strings are printed as they are, everything else as JSON. What cannot be evaluated prints as "!" and the reason.
json() {
	/usr/bin/python3 -I -S -c '
import json, sys
raw = (open(sys.argv[2], "rb") if len(sys.argv) > 2 else sys.stdin.buffer).read().decode("utf-8", "replace")
try:
    try:
        o = json.loads(raw)
    except ValueError:
        o = [json.loads(line) for line in raw.splitlines() if line]
    def of(kind): return [e for e in o if e.get("type") == kind]
    def first(items): return items[0] if items else {}
    value = eval(sys.argv[1], {"o": o, "of": of, "first": first})
    print(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
except Exception as e:
    print("!%s: %s in %r" % (type(e).__name__, e, raw[:300]))
' "$@"
}

# run OPTIONS...: `belljar run --json` with them; then `got EXPR` asks its result, $status is its exit status, and
# `event EXPR` asks its recording. Standard input is the caller's.
run() {
	belljar run --json "$@" >"$scratch/result" 2>"$scratch/errors"
	status=$?
}
got() { json "$1" "$scratch/result"; }
event() { json "$1" "$(got 'o["recording"]')"; }
errors() { cat "$scratch/errors"; }

# probe LEVEL [OPTION VALUE]... ARG...: runs the probe at a level; `got` and `event` tell about it. The view of a level may
# hold the host's /usr only, so the probe goes in as an input.
probe() {
	local level=$1 options=()
	shift
	while [[ $1 == --* ]]; do
		options+=("$1" "$2")
		shift 2
	done
	run -p "$level" "${options[@]}" --input "$tools" -- "$(probe_path "$level")" "$@" </dev/null
}
probe_path() { # LEVEL: where --input "$tools" puts it
	case $1 in
	subprocess) echo data/probe ;;
	*) echo /data/probe ;;
	esac
}

# rows LEVEL TYPES: what the last run printed and recorded against a table on standard input, one test a row (rows.py).
rows() {
	local state what why folder=/workspace
	if [ "$1" = subprocess ]; then # a folder of the run's own
		folder=$(event 'first(of("exec"))["path"]')
		folder=${folder%/data/*}
	fi
	got 'o["stdout"]' >"$scratch/.printed"
	/usr/bin/python3 -I -S "$here/tests/integration/rows.py" "$folder" "$2" "$(got 'o["recording"]')" \
		"$scratch/.printed" >"$scratch/.rows"
	is "$1: the table could be held against the run" $? 0
	while IFS=$'\t' read -r state what why; do
		[ "$state" = ok ]
		report $? "$1: $what" "$why"
	done <"$scratch/.rows"
}

# wait_until SECONDS CMD...: polls.
wait_until() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		read -rt 0.03 <> <(:)
	done
	return 0
}

# What runs leave on this machine, one line a thing: control groups and temporary folders of runs that this script has
# a recording of (others may run at the same time), mounts, and processes with MARK in their arguments or program.
# `leftovers MARK` prints what is there now and was not at `leftovers_begin`, or has the mark.
leftovers_list() {
	local path
	find /sys/fs/cgroup /tmp /dev/shm "/run/user/$(id -u)" -maxdepth 5 -type d -regextype egrep \
		-regex '.*/(belljar-|belljar-[0-9]+[^/]*/)[0-9A-Z]{26}' -user "$(id -un)" 2>/dev/null |
		while read -r path; do
			[ ! -e "$HOME/.local/state/belljar/runs/${path: -26}.jsonl" ] || echo "$path"
		done
	awk '/belljar/ { print "mount", $5 }' /proc/self/mountinfo
}
leftovers_begin() { leftovers_list | sort >"$scratch/.before"; }
leftovers() { # MARK
	local path
	leftovers_list | sort | comm -13 "$scratch/.before" -
	{
		grep -lsaF -- "$1" /proc/[0-9]*/cmdline
		find /proc -maxdepth 2 -path '/proc/[0-9]*' -name exe -lname "*$1*" 2>/dev/null
	} | while read -r path; do
		path=${path%/*}
		echo "process ${path#/proc/} $(tr '\0' ' ' <"$path/cmdline") $(readlink "$path/exe")"
	done 2>/dev/null
}
none_left() { [ -z "$(leftovers "$1")" ]; }

# ---- processes, to be killed at any moment ----

nap() { # MILLISECONDS: up to so many
	local ms=$((RANDOM % $1))
	read -rt "$((ms / 1000)).$(printf %03d $((ms % 1000)))" <> <(:)
}
gone() { [[ $(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null) != [RSDTt] ]]; }

# Every process below PID, itself first: depth first, as in the tree of a run.
family() {
	local child children=()
	echo "$1"
	{ read -ra children <"/proc/$1/task/$1/children"; } 2>/dev/null # without a newline at its end: the status says nothing
	for child in "${children[@]}"; do family "$child"; done
}
descendant() { # PID DEPTH: the first one that far below, or nothing
	family "$1" | sed -n "$(($2 + 1))p"
}

# A belljar of this script's own path, so that its processes can be told from those of other tests.
make_mine() { # sets $mine
	mkdir -p "$scratch/mine/build"
	cp "$BELLJAR" "${BELLJAR%/*}"/belljar-screens "$scratch/mine/build/" 2>/dev/null
	ln -s "$here/presets" "$here/examples" "$scratch/mine/"
	ln -s "$here/${BUILD:-build}/guest" "$scratch/mine/build/guest"
	mine=$scratch/mine/build/belljar
}

# The QEMUs of this script, by what they have open of its cache (own_cache).
machines() {
	find /proc/[0-9]*/fd -maxdepth 1 -lname "$XDG_CACHE_HOME/belljar/images/*" -printf '%h\n' 2>/dev/null | while read -r fds; do
		case $(readlink "${fds%/fd}/exe") in */qemu-*) echo "${fds%/fd}" ;; esac
	done | sort -u
}
no_machines() { [ -z "$(machines)" ]; }
some_machine() { [ -n "$(machines)" ]; }
