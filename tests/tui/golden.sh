#!/bin/bash
# SPDX-License-Identifier: MIT
# The screens drawn from stored recordings, without a terminal, against stored pictures: text for every size, and the
# role of every cell for one. UPDATE=1 writes the pictures anew; look at the difference before it is committed.
. "$(dirname "$0")/lib.sh"
recordings=$here/tests/recordings
expected=$here/tests/tui/expected

compare() { # NAME: the text that was drawn with the stored one
	[ -z "${UPDATE-}" ] || cp "$scratch/$1.txt" "$expected/"
	diff -u "$expected/$1.txt" "$scratch/$1.txt" | sed 's/^/# /'
	cmp -s "$expected/$1.txt" "$scratch/$1.txt"
	report $? "$1"
}

picture() { # NAME RECORDING ARG...: compares NAME.txt, and NAME.roles where it is stored
	local name=$1 recording=$2
	shift 2
	[[ $recording == /* ]] || recording=$recordings/$recording
	"$SCREENS" --replay "$recording.jsonl" --dump "$scratch/$name.txt" --dump-roles "$scratch/$name.roles" "$@" \
	    </dev/null >"$scratch/said" 2>&1 || cat "$scratch/said" >>"$scratch/$name.txt"
	compare "$name"
	[ -e "$expected/$name.roles" ] || return
	[ -z "${UPDATE-}" ] || cp "$scratch/$name.roles" "$expected/"
	cmp -s "$expected/$name.roles" "$scratch/$name.roles"
	report $? "$name, roles"
}

cat >"$scratch/boundary" <<'KEYS'
b
KEYS
cat >"$scratch/boundary-end" <<'KEYS'
b
G
KEYS
cat >"$scratch/early" <<'KEYS'
:scrub 400ms
KEYS
cat >"$scratch/refused" <<'KEYS'
3 Down
KEYS
cat >"$scratch/help" <<'KEYS'
?
KEYS
cat >"$scratch/chosen" <<'KEYS'
3 Down Down Down Down Down Down Down Down Down
KEYS
cat >"$scratch/filtered" <<'KEYS'
3
:filter net
s
KEYS
cat >"$scratch/raw" <<'KEYS'
3 t
Down Down X
KEYS
cat >"$scratch/output" <<'KEYS'
3
:filter shadow
o
KEYS
cat >"$scratch/talk" <<'KEYS'
2
T
KEYS
cat >"$scratch/found" <<'KEYS'
:find urlopen
n
KEYS

cat >"$scratch/parted" <<'KEYS'
6
:move top
Space Down d
KEYS

cat >"$scratch/midway" <<'KEYS'
:scrub 3s
KEYS
cat >"$scratch/denial" <<'KEYS'
:scrub begin
. . .
> >
KEYS
printf '5\n:beside %s\n' "$recordings/ok.jsonl" >"$scratch/beside"
printf '%s\n' d Down >>"$scratch/beside"

# The scenes of `make screenshots`: the same keys, as text.
scene() { # FILE
	local size arguments name
	name=scene-$(basename "$1" .keys)
	read -r _ size arguments <"$1"
	# shellcheck disable=SC2086 # words
	(cd "$here" && "$SCREENS" --size "$size" --script "$1" --dump "$scratch/$name.txt" $arguments) </dev/null >"$scratch/said" 2>&1 ||
		cat "$scratch/said" >>"$scratch/$name.txt"
	compare "$name"
}
for file in "$here"/tests/tui/scenes/*.keys; do
	[[ $file == *.live.keys ]] || scene "$file" # those run something, and what they show is this machine's
done

for recording in ok under-attack questions damaged; do
	for size in 80x24 120x40 40x12 20x5; do
		picture "run-$recording-$size" $recording --screen 2 --size $size
	done
	picture "events-$recording-80x24" $recording --screen 3 --size 80x24
done
picture run-colours-80x24 colours --screen 2 --size 80x24
picture run-colours-never-80x24 colours --screen 2 --size 80x24 --color never
picture run-ascii-80x24 under-attack --screen 2 --size 80x24 --ascii
picture run-wide-200x60 under-attack --screen 2 --size 200x60
picture run-one-1x1 under-attack --screen 2 --size 1x1
picture events-120x40 under-attack --screen 3 --size 120x40
picture events-chosen-80x24 under-attack --size 80x24 --script "$scratch/chosen"
picture events-filtered-80x24 under-attack --size 80x24 --script "$scratch/filtered"
picture events-raw-80x24 under-attack --size 80x24 --script "$scratch/raw"
picture events-output-80x24 under-attack --size 80x24 --script "$scratch/output"
picture talk-80x24 under-attack --size 80x24 --script "$scratch/talk"
picture boundary-80x24 under-attack --size 80x24 --script "$scratch/boundary"
picture found-80x24 under-attack --size 80x24 --script "$scratch/found"
picture run-microvm-80x24 microvm --screen 2 --size 80x24
picture run-microvm-120x40 microvm --screen 2 --size 120x40
picture run-microvm-ascii-80x24 microvm --screen 2 --size 80x24 --ascii
picture run-microvm-midway-80x24 microvm --size 80x24 --script "$scratch/early"
picture boundary-microvm-80x24 microvm --size 80x24 --script "$scratch/boundary-end"
picture events-microvm-80x24 microvm --size 80x24 --script "$scratch/refused"
head -n 4 "$recordings/microvm.jsonl" >"$scratch/waiting.jsonl"
picture run-waiting-80x24 "$scratch/waiting" --screen 2 --size 80x24
picture help-80x24 under-attack --size 80x24 --script "$scratch/help"
picture replay-midway-80x24 under-attack --size 80x24 --script "$scratch/midway"
picture replay-denial-80x24 under-attack --size 80x24 --script "$scratch/denial"
picture compare-beside-80x24 under-attack --size 80x24 --script "$scratch/beside"
picture compare-beside-120x40 under-attack --size 120x40 --script "$scratch/beside"
picture presets-differences-80x24 ok --size 80x24 --script "$scratch/parted"
picture presets-differences-60x20 ok --size 60x20 --script "$scratch/parted"
picture compose-40x12 under-attack --screen 1 --size 40x12
plan_end
