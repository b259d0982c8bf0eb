#!/bin/bash
# SPDX-License-Identifier: MIT
# Every shipped lesson, gone through with the right answers: each step that runs something must show, in the run's own
# events, what the lesson says. A lesson may not teach what this machine does not do.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

# The steps of a lesson that run something, a line each: its number, the right answer (or -), its preset, what is looked for.
steps_of() { # FILE
	/usr/bin/python3 -I -S - "$1" <<-'PY'
	import configparser, sys
	ini = configparser.RawConfigParser(delimiters=("=",), comment_prefixes=(";",))
	ini.read(sys.argv[1], encoding="utf-8")
	for number, name in enumerate(n for n in ini.sections() if n != "lesson"):
	    step = ini[name]
	    if "code" in step:
	        print(number, step.get("right", "-"), step["preset"], step.get("look", "-"))
	PY
}

walk() { # LESSON-NUMBER STEP ANSWER: the picture of that step after its run, tall enough to hold it whole
	{
		echo 7
		for ((i = 1; i < $1; i++)); do echo Down; done
		for ((i = 0; i <= $2; i++)); do echo Enter; done
		[ "$3" = - ] || echo "$3"
		echo r
		echo wait-end
		echo 'wait It ended'
	} >keys
	"$SCREENS" --size 100x60 --script keys --dump picture.txt </dev/null >said 2>&1 || cat said >>picture.txt
	cat picture.txt
}

has() { grep -q -- "$1" <<<"$picture"; }
show() { printf '# |%s\n' "$picture" | sed '2,$s/^/# |/'; }

# What its first run makes ahead, which may take long on a busy machine.
microvm=yes
"$here/tests/probes/here" microvm || microvm=
[ -z "$microvm" ] || timeout 170 "$BELLJAR" run -q --no-record -p microvm -l python -c 'print(1)' >/dev/null 2>said || cat said

number=0
for file in "$here"/examples/lessons/*.ini; do
	number=$((number + 1)) lesson=$(basename "$file" .ini)
	while read -r step right preset look; do
		name="$lesson, step $((step + 1))"
		if [ "$preset" = microvm ] && [ -z "$microvm" ]; then
			report 0 "$name # SKIP cannot here: microvm"
			continue
		fi
		picture=$(walk $number "$step" "$right")
		has "$([ "$right" = - ] && echo 'It ended: ' || echo 'You expected that')"
		report $? "$name: runs, and the answer is right" || show
		case $look in
		- | exit) continue ;;
		output) has 'It printed: ' ;;
		*) has 'Seen: ' ;;
		esac
		report $? "$name: the event that it promises is there" || show
	done < <(steps_of "$file")
done
[ $number -ge 8 ]
report $? "at least eight lessons ($number)"

printf '%s\n' 7 Enter Enter r >keys
"$SCREENS" --size 80x24 --script keys --dump picture.txt </dev/null
grep -q 'Say first what you expect' picture.txt
report $? 'nothing is run before the prediction'

mkdir -p "$HOME/.config/belljar/lessons"
printf '%s\n' 'print(1)' >"$HOME/.config/belljar/lessons/mine.py"
printf '%s\n' '[lesson]' 'title = A teacher own lesson' 'summary = Added' '[one]' 'title = One' 'say = Hello' 'code = mine.py' \
	'language = python' 'preset = nowhere' >"$HOME/.config/belljar/lessons/00-mine.ini"
printf '%s\n' 7 Home Enter >keys
"$SCREENS" --size 80x24 --script keys --dump picture.txt </dev/null
grep -q 'The level nowhere is not here yet' picture.txt
report $? 'a lesson of a teacher stands among them; a level that is not here is told, not run'
printf '%s\n' '[lesson]' 'title = Broken' '[one]' 'sey = Hello' >"$HOME/.config/belljar/lessons/00-mine.ini"
"$SCREENS" --size 80x24 --script <(echo 7) --dump picture.txt </dev/null
grep -q "00-mine.ini:4: unknown key 'sey'" picture.txt
report $? 'a faulty one is shown with its line'
plan_end
