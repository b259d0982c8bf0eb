#!/bin/bash
# SPDX-License-Identifier: MIT
# `belljar compare`: the same code under several presets, as text and as JSON; what cannot be compared; nothing left.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

cat >reads.py <<'PY'
import os, sys
print("first")
try:
    print(open(os.environ.get("LOOK", "/etc/fstab")).read()[:1] and "read")
except OSError as error:
    print(error.strerror)
PY
echo planted >planted && chmod 644 planted
if here userns 'two levels'; then
	compare() { belljar compare "$@" --env LOOK="$scratch/planted" </dev/null; }
	row() { json "[r for r in o['rows'] if r['label'] == '$1'][0]['$2']" result; }

	compare -q --json reads.py >result 2>errors
	is 'json: status' $? 0
	is 'json: columns' "$(json '[c["preset"] for c in o["columns"]]' result)" '["subprocess", "namespaces"]'
	is 'json: both ended well' "$(row verdict cells)" '["ok", "ok"]'
	is 'json: alike is no difference' "$(row verdict differs)" false
	is 'json: output: parts where it differs' "$(row stdout cells | sed 's/.*other from //')" 'line 2 on: No such file or directory"]'
	is 'json: what one level hid' "$(row "file open $scratch/planted O_RDONLY|O_CLOEXEC" cells)" '["opened", "hidden by mount-ns"]'
	is 'json: and that is a difference' "$(row "file open $scratch/planted O_RDONLY|O_CLOEXEC" differs)" true
	is 'json: the code has one name' "$(row 'exec /usr/bin/python3 -u /workspace/main.py' cells)" '["seen", "seen"]'
	is 'json: limits with their grade' "$(row open_files cells)" '["256, kernel", "256, kernel"]'
	is 'quiet: nothing on standard error' "$(cat errors)" ''

	compare -p subprocess,namespaces,classroom reads.py >table
	is 'table: status' $? 0
	like 'table: a column each' "$(head -n 1 table)" '^ +subprocess +namespaces +classroom$'
	like 'table: a difference is marked' "$(cat table)" '^! stdout '
	like 'table: what is alike is not' "$(cat table)" '^  verdict +ok +ok +ok$'
	ok 'table: no line over 100 columns' awk 'length($0) > 100 { exit 1 }' table
	like 'table: quiet files are counted' "$(tail -n 1 table)" '^[0-9]+ files were opened'

	compare -c 'print("\033]0;x\007"*3, "\u202e")' -l python >table
	unlike 'table: escape sequences never get through' "$(cat table)" "$(printf '\033|\007')"
	printf 'print(6*7)\n' | belljar compare -q --json - >result
	is 'code from standard input, read once for all' "$(row stdout cells)" '["3 B", "3 B, the same"]'

	compare -q -p subprocess,nowhere reads.py >table
	is 'one preset that is not there: status' $? 1
	like 'one preset that is not there: its column says so' "$(tr -s ' \n' ' ' <table)" "not run: no preset 'nowhere'"
fi

for bad in '-p subprocess' '-p a,a' '--record x' '--output out' '--events 3' '-p a,b,c,d,e'; do
	# shellcheck disable=SC2086 # words
	belljar compare $bad reads.py >table 2>errors </dev/null
	is "refused: $bad: status" $? 125
	like "refused: $bad: says which option" "$(cat errors)" "^belljar: --(preset|record|output|events)"
	is "refused: $bad: nothing ran" "$(cat table)" ''
done
belljar compare missing.py >/dev/null 2>errors </dev/null
is 'a file that is not there: status' $? 125
like 'a file that is not there: its name' "$(cat errors)" 'missing.py'
timeout 60 "$BELLJAR" compare -p subprocess,namespaces -c pass >/dev/full 2>/dev/null
is 'a full standard output is no success' "$?" 125
plan_end
