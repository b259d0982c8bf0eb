#!/bin/bash
# SPDX-License-Identifier: MIT
# The virtual machine beneath the level microvm, with nothing of belljar's in it: what holds its QEMU, seen from outside;
# its snapshots, made, kept, made again when damaged; and what is left of one that is killed at any moment (nothing).
. "$(dirname "$0")/lib.sh"
own_cache
build=$here/${BUILD:-build}
images=$HOME/.cache/belljar/images

machine() { # VERB [N]
	timeout -k 5 120 "$build/tests/bench/vm" "$1" "$build/guest" "$build/tests/probes/vm_agent" "${@:2}" 2>&1
}

if ! here program:/usr/bin/qemu-system-x86_64 'a machine boots' || ! here guest 'a machine boots' ||
	! here userns 'a machine boots'; then
	plan_end
fi

like 'a snapshot is made' "$(machine make)" '^made in'
like 'and kept' "$(machine make)" '^kept'
is 'it is whole, and nobody can write to it' "$(cd "$images"/snapshot-* && stat -c '%n %a' -- *)" \
	'ram 444
ready 444
record 444
state 444'
like 'it is restored again and again' "$(machine run 10)" '^exit event: median'
four=$(for _ in 1 2 3 4; do machine run 2 & done; wait)
is 'four at once' "$(grep -c '^exit event' <<<"$four")" 4
like 'a greeting longer than a port holds' "$(machine long)" 'all came$'
like 'a guest that panics ends its QEMU' "$(machine panic)" '^QEMU ended'
like 'an image that can be written to is refused' "$(machine open)" 'open for reading, and for nothing else'

# ---- what holds a QEMU, seen from outside ----
# What is known of a QEMU from outside, however it was started.
what_holds() { # /proc/PID [WHOSE]
	local qemu=$1 whose=${2-} status threads kind set ram
	status=$(cat "$qemu/status")
	for set in Inh Prm Eff Bnd Amb; do
		[ $set = Bnd ] && [ "$(id -u)" -ne 0 ] && continue # an ordinary user's own is not his to drop in every case
		like "${whose}it has no capabilities: $set" "$status" "^Cap$set:	0+\$"
	done
	threads=$(cat "$qemu"/task/*/status)
	is "${whose}nor gets any, behind a filter and its own on top of that: each thread" \
		"$(grep -E '^(NoNewPrivs|Seccomp.*|CapEff):' <<<"$threads" | sort -u)" 'CapEff:	0000000000000000
NoNewPrivs:	1
Seccomp:	2
Seccomp_filters:	2'
	[ "$(id -u)" -ne 0 ] || like "${whose}an unprivileged user" "$status" '^Uid:	65534	65534	65534	65534$'
	for kind in user mnt pid net ipc uts; do
		ok "${whose}a $kind namespace of its own" [ "$(readlink "$qemu/ns/$kind")" != "$(readlink "/proc/self/ns/$kind")" ]
	done
	is "${whose}its environment is empty" "$(wc -c <"$qemu/environ")" 0
	is "${whose}no /proc, /sys, /dev, home" "$(ls "$qemu/root")" 'etc
lib
lib64
usr'
	is "${whose}what it sees is read-only" "$(awk '$6 !~ /^ro,nosuid,nodev/' "$qemu/mountinfo")" ''
	like "${whose}it can make no file" "$(cat "$qemu/limits")" '^Max file size +0 +0 '
	like "${whose}nor leave a core" "$(cat "$qemu/limits")" '^Max core file size +0 +0 '
	ram=$(find "$qemu/fd" -lname "$images/snapshot-*/ram" -printf '%f\n')
	like "${whose}the RAM is open for reading" "$(cat "$qemu/fdinfo/${ram:-none}")" '^flags:	0[0-9]*00$'
	is "${whose}and mapped for itself alone" "$(awk '/\/ram$/ { print $2 }' "$qemu/maps" | sort -u)" rw-p
	is "${whose}it holds nothing else that is a file but the images" "$(find "$qemu/fd" -printf '%l\n' | grep '^/' |
		grep -vE "^(/dev/null|$images/(snapshot|data|root)-[0-9a-f]+/(ram|data\.erofs|[a-z.]+))\$")" ''
	is "${whose}all of these files only for reading" "$(find "$qemu/fd" -lname '/*' -printf '%f\n' | while read -r fd; do
		sed -n 's/^flags:.*\([0-9]\)$/\1/p' "$qemu/fdinfo/$fd"
	done | sort -u)" 0
	is "${whose}what else it holds is a socket, a pipe or an event" "$(find "$qemu/fd" -type l ! -lname '/*' -printf '%l\n' |
		sed 's/:.*//' | grep -vxE 'socket|pipe|anon_inode' | sort -u)" ''
}

mkfifo "$scratch/go"
machine hold <"$scratch/go" >"$scratch/held" &
exec 8>"$scratch/go"
wait_until 60 grep -q ^run "$scratch/held"
said() { sed -n "s/^$1 //p" "$scratch/held"; }
qemu=/proc/$(said qemu)
what_holds "$qemu"
like 'a snapshot in use is there still' "$(machine make)" '^kept'

# ---- the same of a run's ----
if here microvm 'the machine of a run'; then
	"$BELLJAR" run -q -p microvm -l python -c 'print("here", flush=True); import time; time.sleep(100)' \
		>"$scratch/here" 2>/dev/null </dev/null &
	front=$!
	ok 'a run waits' wait_until 60 grep -q here "$scratch/here"
	what_holds "$(machines | grep -vxF "$qemu")" 'of a run: '
	kill -TERM $front
	wait $front
fi

# ---- killed ----
driver=$(ps -o ppid= -p "$(said reaper)" | tr -d ' ')
kill -KILL "$driver"
exec 8>&-
ok 'a supervisor that is killed takes its QEMU along' wait_until 10 [ ! -d "$qemu" ]
ok 'and its reaper' wait_until 10 [ ! -d "/proc/$(said reaper)" ]
wait

for pause in 0.05 0.5 1 1.8; do
	rm -rf "$images"/snapshot-*
	"$build/tests/bench/vm" make "$build/guest" "$build/tests/probes/vm_agent" >"$scratch/out" 2>&1 &
	driver=$!
	read -rt $pause <> <(:)
	kill -KILL $driver
	wait $driver 2>/dev/null
	ok "killed after $pause s: no machine is left" wait_until 10 no_machines
done
rm -rf "$images"/snapshot-*
machine make >"$scratch/out" &
wait_until 30 some_machine
# shellcheck disable=SC2046 # one pid a word
kill -KILL $(machines | tr -dc '0-9\n') 2>/dev/null
wait
like 'a QEMU that is killed is told of' "$(cat "$scratch/out")" '^vm: QEMU ended'
is 'and leaves nothing' "$(find "$images" -name 'snapshot-*')" ''
like 'then one is made as ever' "$(machine make)" '^made in'
is 'and nothing lies beside it' "$(find "$images" -name 'snapshot-*.*')" ''

# ---- damaged ----
snapshot=$(echo "$images"/snapshot-*)
chmod u+w "$snapshot"/*
truncate -s -1 "$snapshot/ram"
like 'RAM that is cut short: made again' "$(machine make)" '^made in'
chmod u+w "$snapshot"/*
printf 'x' | dd of="$snapshot/state" conv=notrunc bs=1 seek=9 2>/dev/null
like 'a state that was written to: made again' "$(machine make)" '^made in'
like 'and works' "$(machine run 2)" '^exit event'
ok 'no machine is left at the end' no_machines
plan_end
