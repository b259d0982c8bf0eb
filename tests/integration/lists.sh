#!/bin/bash
# SPDX-License-Identifier: MIT
# Lists: an empty one says whether anybody was watching, to a program and to a person, wherever it is read; and where
# nobody can watch, nothing runs.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
presets=$HOME/.config/belljar/presets
mkdir -p "$presets"
cp "${PROBE%/*}/storm" "$tools/storm" && chmod 755 "$tools/storm"

# one key of [observe]; the list that it is about; what fills it
table() {
	cat <<-'TXT'
	syscalls; denied; ptrace
	network; network; connect 127.0.0.1 9
	files; files; open /nowhere
	exec; exec; open /nowhere
	TXT
}
others() { # LIST: the states of all others
	got "sorted({v for k, v in o['lists'].items() if k != '$1'})"
}

# Its own filter answers before belljar hears of a call: an empty list is said to be blind from there on.
test_own_filter() { # LEVEL
	local how
	for how in 'c.syscall(317, 1, 0, ctypes.byref(program))' 'c.prctl(22, 2, ctypes.byref(program))'; do
		run -p "$1" -l python -c '
import ctypes, struct
c = ctypes.CDLL(None)
code = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, 101, 0x06, 0, 0, 0x50001, 0x06, 0, 0, 0x7fff0000)
at = ctypes.create_string_buffer(code)
class Program(ctypes.Structure): _fields_ = [("len", ctypes.c_ushort), ("code", ctypes.c_void_p)]
program = Program(4, ctypes.addressof(at))
for _ in range(3): print('"$how"')
print(c.syscall(101, 0, 0, 0, 0))' </dev/null
		is "$1: a filter of its own: it stands" "$(got 'o["stdout"].split()')" '["0", "0", "0", "-1"]'
		is "$1: a filter of its own: what it hides is not seen, and that is said" \
			"$(got 'len(o["denied"])') $(got '[a["kind"] for a in o["alerts"]]')" '0 ["filter"]'
	done
}

for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level" || continue
	test_own_filter "$level"
	while IFS='; ' read -r key list try; do
		printf '[preset]\nextends = %s\n[observe]\n%s = off\n' "$level" "$key" >"$presets/blind.ini"
		name="$level, $key = off"
		# shellcheck disable=SC2086 # the words of a probe
		probe "$level" $try
		is "$name: seen where it is on" "$(got "len(o['$list']) > 0") $(got "o['lists']['$list']")" 'true watched'
		# shellcheck disable=SC2086
		run -p blind --input "$tools" -- "$(probe_path "$level")" $try </dev/null
		is "$name: nothing is seen" "$(got "o['$list']")" '[]'
		is "$name: run --json says why" "$(got "o['lists']['$list']")" "not watched, by $key = off"
		is "$name: and that the others are watched" "$(others "$list")" '["watched"]'
		is "$name: the recording too" "$(event "of('start')[0]['lists']['$list']")" "not watched, by $key = off"
		like "$name: replay" "$(belljar replay --plain "$(got 'o["recording"]')" </dev/null)" "$list: not watched, by $key = off"
		# shellcheck disable=SC2086
		like "$name: run -v" "$(belljar run -v -p blind --input "$tools" -- "$(probe_path "$level")" $try 2>&1 </dev/null)" \
			"$list: not watched, by $key = off"
		[ -x "${BELLJAR%/*}/belljar-screens" ] || continue
		for screen in 2 3; do
			"${BELLJAR%/*}/belljar-screens" --replay "$(got 'o["recording"]')" --screen $screen --dump picture.txt \
				--size 200x60 </dev/null >/dev/null 2>&1
			like "$name: screen $screen" "$(tr -s ' ' <picture.txt)" "$list: not watched, by $key = off"
		done
		[ "$list" = exec ] || like "$name: no meter says that all is well" \
			"$("${BELLJAR%/*}/belljar-screens" --replay "$(got 'o["recording"]')" --screen 2 --dump picture.txt --size 120x40 </dev/null
			cat picture.txt)" '^. DENIED .*0/s .*\?'
	done < <(table)
	text=$(belljar run -v -p "$level" --input "$tools" -- "$(probe_path "$level")" fds 2>&1 </dev/null)
	like "$level: run -v: watched, and none seen" "$text" 'denied: watched, none seen; network: watched, none seen'
	printf '[preset]\nextends = %s\n[observe]\nsyscalls = off\n' "$level" >"$presets/blind.ini"
	run -p blind --input "$tools" -- "$(probe_path "$level")" ptrace </dev/null
	like "$level: replay does not claim that none was denied" \
		"$(belljar replay --plain "$(got 'o["recording"]')" </dev/null | tail -n 1)" 'denied calls not watched'

	# A listener that stands above us leaves us none. What asked for one does not run without.
	"$tools/storm" listener "$BELLJAR" run --json -p "$level" -- /bin/true >result 2>errors </dev/null
	is "$level: below the listener of another: status" "$? $(got 'o["verdict"]')" '125 setup-error'
	like "$level: below the listener of another: it says so, and what to do" "$(got 'o["evidence"]')" 'listener-taken: .*run belljar outside'
	is "$level: below the listener of another: no list is claimed to be watched" \
		"$(got '[k for k, v in o["lists"].items() if v]')" '[]'
done
plan_end
