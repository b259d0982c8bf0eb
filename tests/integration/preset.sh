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

# Names that are checked though no key is wrong: of a backend, a set, a call.
cat >"$scratch/names.ini" <<-'INI'
	[preset]
	extends = namespaces
	backend = namespacez
	[syscalls]
	base = defalt
INI
preset_status 'names that are none' 1 check "$scratch/names.ini"
like 'check: of a backend' "$out" "names\.ini:3: unknown backend 'namespacez'; did you mean 'namespaces'\? \(there are: "
like 'check: of a set' "$out" "names\.ini:5: no syscall set 'defalt'; did you mean 'default'\?"
printf '[preset]\nextends = namespaces\n[syscalls]\ndeny = ptrase openat\nallow = openat\n' >"$scratch/calls.ini"
preset_status 'calls that are none' 1 check "$scratch/calls.ini"
like 'check: of a call' "$out" "unknown call 'ptrase' in 'deny' of \[syscalls\]; did you mean 'ptrace'\?"
like 'check: one in both lists' "$out" "'openat' is in both 'deny' and 'allow'"

# A set of the user's own, which takes calls away from the shipped one; and a preset of it that ends the run for a call.
mkdir -p "$presets/syscalls"
cat >"$presets/syscalls/tight.ini" <<-'INI'
	[set]
	summary = no links
	extends = default
	[refuse]
	links = symlink symlinkat link linkat
	[means]
	links = making links
INI
printf '[set]\nextends = default\n[refuse]\nlinks = symlnk\n' >"$presets/syscalls/slip.ini"
printf '[preset]\nextends = namespaces\n[syscalls]\nbase = slip\n' >"$presets/slip.ini"
preset_status 'a set that takes away what is not there' 1 check slip
like 'check: of a call in a set' "$out" "slip\.ini:4: .*unknown call 'symlnk'; did you mean 'symlink'\?"
rm "$presets/slip.ini"
for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level" || continue
	printf '[preset]\nextends = %s\n[syscalls]\nbase = tight\non_denied = kill\n' "$level" >"$presets/strict.ini"
	preset_status "$level: a set of one's own" 0 check strict
	preset_status "$level: it is shown" 0 show strict
	like "$level: show: in words" "$out" '^calls refused +tight:links +making links \(4\): symlink symlinkat link linkat'
	unlike "$level: show: what was taken away is not with the parent's" "$out" '^calls allowed +default:files-change .*symlink'
	preset_status "$level: its calls differ" 1 diff "$level" strict
	like "$level: diff: a call of it" "$out" '^\+ call linkat +refused +tight:links'
	run -p strict -l sh -c 'ln -s a b; echo went on' </dev/null
	is "$level: on_denied = kill: verdict and status" "$(got 'o["verdict"]') $status $(got 'o["stdout"]')" 'policy 159 '
	like "$level: on_denied = kill: the call is named" "$(got 'o["evidence"]')" '^called symlink(at)?, which the policy forbids'
	run -p strict --cpu 4s -l python -c '
import ctypes, resource
print(ctypes.CDLL(None).syscall(9999))
try: resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
except (OSError, ValueError): print("refused")' </dev/null
	is "$level: a call that is unknown, and what is refused for a limit, end nothing" \
		"$(got 'o["verdict"]') $(got 'o["stdout"]' | xargs)" 'ok -1 refused'
done
rm "$presets/strict.ini"

# On a terminal of 80 columns nothing is cut, and the words of a fact stand below each other.
here script 'show: 80 columns' && {
	script -qec "stty cols 80; '$BELLJAR' preset show namespaces" /dev/null </dev/null | tr -d '\r' >"$scratch/shown"
	is 'show: 80 columns: no line is longer' "$(awk 'length > 80' "$scratch/shown")" ''
	is 'show: 80 columns: the words of every fact begin in one column' \
		"$(awk '/^file / { next } /^On this/ { exit } match(substr($0, 26), /  [^ ]/) && RSTART != 13' "$scratch/shown")" ''
	like 'show: 80 columns: a long value has its own line' "$(cat "$scratch/shown")" '^calls allowed +default:files-attributes$'
}

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
