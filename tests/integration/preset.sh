#!/bin/bash
# SPDX-License-Identifier: MIT
# `belljar preset`: what is listed, shown, found wrong and compared; and that nothing of a file reaches the terminal raw.
. "$(dirname "$0")/lib.sh"

presets=$HOME/.config/belljar/presets
mkdir -p "$presets"

# preset_status NAME WANT ARG...: the exit status; the output stays in $out.
preset_status() {
	local name=$1 want=$2
	shift 2
	out=$("$BELLJAR" preset "$@" 2>&1)
	is "$name" "$?" "$want"
}

preset_status 'list works' 0 list
like 'list: a shipped level' "$out" '^namespaces +Own view .*\(namespaces; shipped\)$'
preset_status 'no word is list' 0
like 'without a word: the same' "$out" '^subprocess '
preset_status 'show works' 0 show namespaces
like 'show: a limit' "$out" '^limits\.memory +256M +memory of the whole tree'
like 'show: a group of calls with its meaning' "$out" '^calls refused +default:debug +looking into and steering other processes'
preset_status 'show: an unknown name' 125 show namespacs
like 'show: the nearest name' "$out" "no preset 'namespacs'; did you mean 'namespaces'\?"
preset_status 'all shipped presets are without fault' 0 check namespaces subprocess data-analysis test-runner classroom research
preset_status 'diff of two levels' 1 diff subprocess namespaces
like 'diff: minus' "$out" '^- limits\.processes +unlimited'
like 'diff: plus' "$out" '^\+ limits\.processes +64'
preset_status 'diff with itself' 0 diff namespaces namespaces
preset_status 'keys' 0 keys
like 'keys: one of them' "$out" '^limits\.memory +SIZE'
preset_status 'an unknown word' 125 sow
preset_status 'a name too few' 125 diff namespaces

cat >"$presets/namespaces.ini" <<-'INI'
	[preset]
	extends = namespaces
	[limits]
	memory = 1G
INI
preset_status 'a preset of the user' 0 list
like 'list: it stands for the shipped one' "$out" '^namespaces .*yours, instead of the shipped one'
preset_status 'it changes those that extend it' 0 show subprocess
like 'show: its value in a preset that extends it' "$out" '^limits\.memory +1G'
preset_status 'it is shown' 0 show namespaces
like 'show: its own value' "$out" '^limits\.memory +1G'
like 'show: the value of the shipped one' "$out" '^limits\.processes +64'
rm "$presets/namespaces.ini"

cat >"$scratch/bad.ini" <<-'INI'
	[preset]
	extends = namespaces
	[limits]
	memry = 1G
	wall = 10
	[network] policy = host
INI
preset_status 'check finds faults' 1 check "$scratch/bad.ini"
like 'check: line and nearest key' "$out" "bad\.ini:4: unknown key 'memry' in \[limits\]; did you mean 'memory'\?"
like 'check: an example of what is right' "$out" 'bad\.ini:5: wall = 10 has no unit; write 10s'
like 'check: nothing is passed over' "$out" 'bad\.ini:6: something follows'
out=$("$BELLJAR" run -p "$scratch/bad.ini" -c 'echo ran' -l sh 2>&1)
is 'a faulty preset runs nothing' "$?" 125
unlike 'nothing ran' "$out" '^ran'
preset_status 'a file in the folder where one stands' 1 check "$scratch/bad.ini"
(cd "$scratch" && "$BELLJAR" preset check bad.ini >/dev/null 2>&1)
is 'by its bare name too' "$?" 1
preset_status 'a file that is not there' 125 check "$scratch/nothing.ini"

printf '[preset]\nextends = namespaces\nsummary = a\xe2\x80\xaeb\n' >"$presets/bidi.ini"
printf '[preset]\nextends = namespaces\n[x\xe2\x80\xae]\n' >"$presets/bidi2.ini"
printf '[preset]\nextends = namespaces\nsummary = \x1b]0;title\x07\n' >"$presets/escape.ini"
preset_status 'hostile names and words are listed' 0 list
unlike 'no right-to-left override comes through' "$out" $'\u202e'
unlike 'no escape comes through' "$out" $'\033'
like 'the list goes on after a faulty one' "$out" '^test-runner '
preset_status 'a hostile section is a fault' 1 check bidi2
unlike 'it is scrubbed too' "$out" $'\u202e'

plan_end
