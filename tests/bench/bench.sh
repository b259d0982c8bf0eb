#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/bench/bench.sh [ROUNDS [PAIRS]]: what a start costs (start.c) and what watching costs (watch.c), as whoever calls it
# and, when that is root, once more as an ordinary user without an account, from a copy that this user can read.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
rounds=${1:-40}
pairs=${2:-40}

scratch=$(mktemp -d /tmp/bj-bench-XXXXXX) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/root" "$scratch/user" "$scratch/tree/$build/tests/bench"
cp "$build"/belljar "$scratch/tree/$build/"
cp "$build"/tests/bench/{start,watch} tests/bench/watch.py "$scratch/tree/$build/tests/bench/"
cp -r presets "$scratch/tree/"
cat >"$scratch/tree/unwatched.ini" <<'END'
[preset]
name = unwatched
extends = namespaces
[observe]
syscalls = off
network = off
files = off
exec = off
END
chmod -R go+rX "$scratch"

# How many calls of the program an event tells of, by themselves or in its count.
watched_calls() { # WAY
	"$build/belljar" run -q --no-record --events "$HOME/$1" -p namespaces \
		--input "$PWD/$build/tests/bench/watch.py:/input/watch.py" -- \
		/usr/bin/python3 /input/watch.py "$1" >/dev/null || return 1
	/usr/bin/python3 - "$HOME/$1" <<'END'
import json, sys
kinds = "file", "network", "exec", "denied"
events = [json.loads(line) for line in open(sys.argv[1])]
print(sum(e.get("count", 1) for e in events if e["type"] in kinds or e.get("what") in kinds))
END
}

measure() { # PAIRS_WITH_STRACE WAY...
	local belljar=$PWD/$build/belljar here=$build/tests/bench with_strace=$1 way calls
	"$here/start" "$belljar" "$rounds" || return 1
	for way in "${@:2}"; do
		calls=$(watched_calls "$way") || return 1
		"$here/watch" "$belljar" "$PWD/unwatched.ini" "$PWD/$here/watch.py" "$way" "$calls" "$pairs" \
			"$with_strace" || return 1
	done
}

cd "$scratch/tree" || exit 1
export -f measure watched_calls
export build rounds pairs
echo "As $(id -un):"
HOME=$scratch/root bash -c 'measure 5 index glance' || exit 1
[ "$(id -u)" -eq 0 ] || exit 0
uid=61234
chown "$uid:$uid" "$scratch/user"
printf '\nAs an ordinary user:\n'
HOME=$scratch/user setpriv --reuid=$uid --regid=$uid --clear-groups bash -c 'measure 0 index'
