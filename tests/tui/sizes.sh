#!/bin/bash
# SPDX-License-Identifier: MIT
# Every screen at every size, drawn without a terminal: nothing crashes, the picture has as many rows as there are, no row
# is wider than the terminal, and with --ascii every byte is ASCII. Each is drawn as it opens, with the help over it,
# with its prompt, for an audience, and after scrolling to the end. A sanitizer's build finds what the eye cannot.
. "$(dirname "$0")/lib.sh"
cd "$here" || exit 1
recording=tests/recordings/under-attack.jsonl
sizes='1x1 2x2 20x5 21x6 39x9 40x10 40x12 60x16 80x24 110x26 120x40 300x100'
printf '%s\n' 'G g l h + + ? G PgUp Esc' ':find e' ':boundary' 'N G' >"$scratch/keys" # a line takes its time
printf '%s\n' '? G' >"$scratch/help"
printf '%s\n' ':talk' >"$scratch/talk"
printf '%s\n' ':command preset' 'Left Tab' >"$scratch/prompt"

fits() { # FILE COLUMNS ROWS
	[ "$(wc -L <"$1")" -le "$2" ] && [ "$(wc -l <"$1")" -eq "$3" ]
}
draws() { # SCREEN SIZE OPTION...: what goes wrong is said
	local screen=$1 size=$2
	shift 2
	if ! timeout 60 "$SCREENS" --replay $recording --screen "$screen" --size "$size" --dump "$scratch/picture" "$@" \
	    >"$scratch/said" 2>&1 </dev/null; then
		echo "# $size $*: status not 0"
		sed 's/^/# /' "$scratch/said" | head -n 30
		return 1
	fi
	fits "$scratch/picture" "${size%x*}" "${size#*x}" || echo "# $size $*: not as large as the terminal"
}
all_sizes() { # SCREEN OPTION...: prints what went wrong
	local screen=$1 size
	shift
	for size in $sizes; do draws "$screen" "$size" "$@"; done
}
ascii_sizes() { # SCREEN
	local size
	for size in $sizes; do
		draws "$1" "$size" --ascii
		[ "$(LC_ALL=C tr -d '\1-\176' <"$scratch/picture" | wc -c)" -eq 0 ] || echo "# $size: more than ASCII"
	done
}

number=0
for title in Compose Run Events Attacks Compare Presets Learn; do
	number=$((number + 1))
	is "$title is drawn at every size" "$(all_sizes $number)" ''
	is "$title: --ascii has ASCII alone" "$(ascii_sizes $number)" ''
	for script in help prompt talk keys; do
		is "$title at every size: $script" "$(all_sizes $number --script "$scratch/$script")" ''
	done
done
draws 4 120x40
ok 'what is drawn is the screen that was asked for' grep -q '\[4 Attacks\]' "$scratch/picture"
plan_end
