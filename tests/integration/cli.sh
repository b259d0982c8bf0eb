#!/bin/bash
# SPDX-License-Identifier: MIT
# The command line's bad input: every wrong option, preset, file, language, size and recording is an error that names
# what is wrong, with the right status, before anything runs; and a program that asked for JSON gets an object.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

# wrong STATUS ERE WORDS...: `belljar WORDS` ends with STATUS, prints nothing but one line on standard error that matches.
wrong() {
	local want=$1 pattern=$2 text
	shift 2
	text=$(timeout 20 "$BELLJAR" "$@" 2>&1 >"$scratch/stdout" </dev/null)
	is "belljar $*: status" "$?" "$want"
	like "belljar $*: says what is wrong" "$text" "$pattern"
	is "belljar $*: nothing on standard output" "$(wc -c <"$scratch/stdout")" 0
}

# wrong_run: the same for run, and once more with --json.
wrong_run() {
	local want=$1 pattern=$2
	shift 2
	wrong "$want" "^belljar: .*$pattern" run "$@"
	timeout 20 "$BELLJAR" run --json "$@" >"$scratch/result" 2>/dev/null </dev/null
	is "run --json $*: is a setup error" "$? $(got 'o["verdict"] + " " + str(o["status"])')" "$want setup-error $want"
	like "run --json $*: the evidence says it" "$(got 'o["evidence"]')" "$pattern"
}

echo 'print(6*7)' >code.py
echo 'echo marker' >code.sh

# ---- words ----
wrong 125 '"rnu" is neither a subcommand nor a file; the nearest is run' rnu
wrong 125 '"missing.py" is neither' missing.py
wrong 125 '--plian; the nearest is --plain' --plian
wrong 125 '--color: "pink"' --color pink
wrong 125 '--color needs an argument' --color
wrong 125 '--script: .*/nonexistent/keys' --script /nonexistent/keys
wrong 125 '"bogus" is no subcommand' help bogus

# ---- options of run ----
wrong_run 125 'nothing to run: give FILE'
wrong_run 125 '"code.py" and "code.sh"' code.py code.sh
wrong_run 125 'not both -c CODE and code.py' code.py -c 1
wrong_run 125 'not both code.py and -- ARGV' code.py -- ls
wrong_run 125 'not both -c CODE and -- ARGV' -c 1 -- ls
wrong_run 125 '-- needs a program' --
wrong_run 125 'unknown option --memroy; the nearest is --memory' --memroy 1M code.py
wrong_run 125 'unknown option --qqqqqqqqqqqqq' --qqqqqqqqqqqqq code.py
wrong_run 125 'unknown option -z' -z code.py
wrong_run 125 'two dashes: --memory' -memory 1M code.py
wrong_run 125 '--no-record takes no argument' --no-record=1 code.py
wrong_run 125 '--memory needs an argument' code.py --memory
wrong_run 125 '--memory needs an argument, but --wall follows' --memory --wall 1s code.py
wrong_run 125 '-p was given twice' -p namespaces -p subprocess code.py
wrong_run 125 '--wall was given twice' --wall 1s --wall=2s code.py
wrong_run 125 '-q was given twice' -q -q code.py
wrong_run 125 '--color: "pink"' --color pink code.py
wrong_run 125 '--script drives the screens' --script /dev/null code.py
wrong_run 125 '--allow: comes in a later version' --allow=example:80 code.py

# ---- sizes, times, numbers ----
for option in memory file-size space output-limit; do
	for value in '' x -1 12X 1.5.2M 99999999999999999999G 1e3 '1 M' 0x10; do
		wrong 125 "--$option" run "--$option=$value" code.py
	done
done
for option in wall cpu; do
	for value in '' soon -1s 1h 1M 0 99999999999999999999s; do
		wrong 125 "--$option" run "--$option=$value" code.py
	done
done
for option in cpus processes open-files inodes; do
	for value in '' many -2 4M 0; do
		wrong 125 "--$option" run "--$option=$value" code.py
	done
done

# ---- what contradicts itself ----
wrong_run 125 '--stdin cannot go with -' --stdin code.py -
wrong_run 125 '--lang says how' -l python -- ls
wrong_run 125 '--record and --no-record' --record new --no-record code.py
wrong_run 125 '--quiet and --verbose' -q -v code.py
run --events 1 code.py </dev/null
is '--json and --events 1: a setup error' "$status $(got 'o["verdict"]')" '125 setup-error'
like '--json and --events 1: says both' "$(errors)" '--json and --events 1'
wrong_run 125 '--verbose and --events 2' -v --events 2 code.py

# ---- code ----
mkdir folder
wrong_run 125 'missing\.py: No such file' missing.py
wrong_run 125 'folder is a folder' folder
wrong_run 125 'code\.py' code.py/x
printf 'print(1)\nprint("\0")\n' >nul.py
wrong_run 125 'nul\.py.*(line 2|:2)' nul.py
printf 'x = 1\n\xff\xfe\x00\x01' >binary.py
wrong_run 125 'binary\.py' binary.py
head -c 11000000 /dev/zero | tr '\0' '#' >large.py
wrong_run 125 'large\.py.*10 MiB' large.py
like 'code on standard input has the same bound' "$(belljar run -l python - <large.py 2>&1)" 'standard input.*10 MiB'
if [ "$(id -u)" -ne 0 ]; then
	cp code.py secret.py && chmod 000 secret.py
	wrong_run 125 'secret\.py: Permission denied' secret.py
fi
is 'nothing on standard input is said to be nothing' "$(belljar run --json - </dev/null 2>/dev/null | json 'o["verdict"]')" setup-error

# ---- language ----
wrong_run 125 '--lang: unknown language "pyton"; the nearest is python' -l pyton code.py
wrong_run 125 '--lang: unknown language "cobol"; known are .*python' -l cobol code.py
wrong_run 125 '--lang' -l '' code.py
printf 'lorem ipsum dolor sit amet' >words.txt
wrong_run 125 '(-l|--lang).*python' words.txt

# ---- preset ----
wrong_run 125 "'namespace'.*namespaces" -p namespace code.py
wrong_run 125 "'nonexistent'" -p nonexistent code.py
wrong_run 125 'missing\.ini: No such file' -p ./missing.ini code.py
wrong_run 125 'folder' -p ./folder code.py
wrong_run 125 "''|preset" -p '' code.py

# fault LINE-AND-WORDS TEXT: a preset file with this text is refused, by run and by `preset check`.
fault() {
	local text
	printf '%b' "$2" >faulty.ini
	wrong_run 125 "$1" -p ./faulty.ini code.py
	text=$(timeout 20 "$BELLJAR" preset check ./faulty.ini 2>&1 </dev/null)
	is "preset check: the answer is no" "$?" 1
	like "preset check: says what is wrong" "$text" "$1"
}
fault 'faulty\.ini:2: .*memroy.*memory' '[limits]\nmemroy = 64M\n'
fault 'faulty\.ini:1: .*limit' '[limit]\nmemory = 64M\n'
fault 'faulty\.ini:3: .*12X' '[limits]\nwall = 1s\nmemory = 12X\n'
fault 'faulty\.ini:2: .*nonexistent' '[preset]\nextends = nonexistent\n'
fault 'faulty\.ini:2: ' '[preset]\nextends = ./faulty.ini\n'
fault 'faulty\.ini:2: ' '[limits]\nno equals sign here\n'
fault 'faulty\.ini:2: ' "[preset]\nsummary = $(printf 'x%.0s' {1..5000})\n"
fault 'faulty\.ini' "[limits]\nmemory = 64M\0\n"
fault 'faulty\.ini:3: ' '[limits]\nmemory = 64M\nmemory = 32M\n'
printf '[preset]\nextends = namespaces\nbackend = namespacez\n' >backend.ini
wrong_run 125 'namespacez' -p ./backend.ini code.py
printf '[preset]\nextends = namespaces\nname = bad\x1b[2Jname\n[limits]\nx\x1b]0;title\x07y = 1\n' >escape.ini
unlike 'a preset cannot act on the terminal' "$(belljar run -p ./escape.ini code.py 2>&1 </dev/null)" $'\x1b'

# ---- environment ----
wrong_run 125 '--env: "FOO" has no =' --env FOO code.py
wrong_run 125 '--env: ""' --env =x code.py
wrong_run 125 '--env: "1A"' --env 1A=x code.py
wrong_run 125 '--env: "A B"' --env 'A B=x' code.py
wrong_run 125 'variable A was given twice' --env A=1 --env A=2 code.py
wrong_run 125 '--pass: BELLJAR_NO_SUCH_NAME is not set' --pass BELLJAR_NO_SUCH_NAME code.py
wrong_run 125 '--pass: "A=1" has a value' --pass A=1 code.py

# ---- paths ----
echo there >there
mkdir full empty && echo x >full/file
wrong_run 125 '--input: .*/nonexistent/x' --input /nonexistent/x code.py
wrong_run 125 '--input: .*"rel"' --input there:rel code.py
wrong_run 125 '--input: .*/a/\.\./b' --input there:/a/../b code.py
wrong_run 125 '--input: .*/ itself' --input there:/ code.py
wrong_run 125 '--input: .*empty path' --input= code.py
wrong_run 125 '--input: .*"there" and "empty"' --input there --input empty code.py
wrong_run 125 '--input: .*/d' --input there:/d --input empty:/d code.py
wrong_run 125 '--output: .*full is not empty' --output full code.py
wrong_run 125 '--output: .*there' --output there code.py
wrong_run 125 '--output: .*/nonexistent/x' --output /nonexistent/x code.py
wrong_run 125 '--project: .*missing' --project missing code.py
wrong_run 125 '--project: .*there is not a folder' --project there code.py
wrong_run 125 '--stdin: .*missing' --stdin missing code.py
wrong_run 125 '--stdin: empty is a folder' --stdin empty code.py
wrong_run 125 '--record: there is there already' --record there code.py
wrong_run 125 '--record: .*/nonexistent/' --record /nonexistent/x code.py
wrong_run 125 '--record: empty/ is a folder' --record empty/ code.py
ln -s nowhere dangling
wrong_run 125 '--record: dangling is there already' --record dangling code.py
wrong_run 125 '--events: there is there already' --events there code.py
wrong_run 125 '--events: .*dangling' --events dangling code.py
wrong_run 125 '--events: .*/nonexistent/x' --events /nonexistent/x code.py
wrong_run 125 '--events: descriptor 0' --events 0 code.py
wrong_run 125 '--events: descriptor 77 is not open' --events 77 code.py
like 'a descriptor for reading is none for events' "$(belljar run --events 8 code.py 8<there 2>&1 </dev/null)" \
	'descriptor 8 is open for reading only'
is 'what was there is as it was' "$(cat there full/file)" $'there\nx'
like 'a folder as standard input' "$(belljar run code.py 2>&1 <empty)" 'standard input is a folder'

# ---- recordings ----
wrong 125 'missing\.jsonl' replay --plain missing.jsonl
wrong 125 'empty' replay --plain empty
: >nothing.jsonl
wrong 125 'nothing\.jsonl' replay --plain nothing.jsonl
wrong 125 'code\.py' replay --plain code.py
wrong 125 '' replay --plain
head -c 4096 /dev/urandom >noise.jsonl
wrong 125 'noise\.jsonl' replay --plain noise.jsonl

# What has a header is shown as far as it goes, and said to be damaged.
header='{"belljar":1,"run":"01J00000000000000000000000","started":"2026-01-02T03:04:05.678Z","host":{},"policy":{"name":"namespaces","backend":"namespaces"},"code":{"sha256":"0","language":"sh","text":"echo"}}'
damaged() { # NAME LINE...: replay shows it, and ends with 1
	local name=$1 text
	shift
	{
		echo "$header"
		echo '{"seq":1,"t":0.0,"type":"start","source":"host","argv":["sh"],"preset":"namespaces","backend":"namespaces","limits":[],"layers":[]}'
		printf '%s' "$@"
	} >damaged.jsonl
	text=$(timeout 20 "$BELLJAR" replay --plain damaged.jsonl 2>&1 </dev/null)
	is "replay of $name: status" "$?" 1
	like "replay of $name: says that it is damaged" "$text" 'damaged\.jsonl|ends|damage|incomplete'
	unlike "replay of $name: nothing acts on the terminal" "$text" $'\x1b'
}
damaged 'one without an end' ''
damaged 'one cut inside a line' '{"seq":2,"t":0.1,"type":"outp'
damaged 'one with noise for a line' $'\xff\xfe\n'
damaged 'one with an array for an event' $'[1,2]\n'
damaged 'one with an escape in a name' $'{"seq":2,"t":0.1,"type":"denied","source":"host","pid":2,"command":"\\u001b[2J","call":"ptrace","count":1}\n'

# ---- closed descriptors, and the right way ----
is 'help goes to standard output, status 0' "$(belljar run --help 2>/dev/null | head -1)" \
	'Usage: belljar run [OPTIONS] FILE | - | -c CODE | -- PROGRAM ARGUMENTS'
for command in run replay image; do
	text=$(belljar help "$command" 2>&1)
	is "help $command: status" "$?" 0
	is "help $command fits a screen" "$(printf '%s\n' "$text" | awk 'length > 80 || NR > 24' | wc -l)" 0
	is "$command --help says the same" "$(belljar "$command" --help 2>&1)" "$text"
done
like 'the version' "$(belljar --version)" '^belljar [0-9]+\.[0-9]+'
like 'the usage lists the subcommands' "$(belljar --help)" '^  run '
for words in --help 'preset list' 'preset show subprocess' doctor 'image list'; do
	# shellcheck disable=SC2086 # words
	said=$(belljar $words 2>&1 >/dev/full)
	is "$words: a full standard output is no success" "$?" 125
	like 'and is said' "$said" 'cannot write to standard output: No space left on device'
done
is 'no run of these left a recording' "$(find "$HOME/.local/state/belljar" -name '*.jsonl' 2>/dev/null | wc -l)" 0
plan_end
