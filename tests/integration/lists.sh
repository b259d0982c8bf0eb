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

for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level" || continue
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
