#!/bin/bash
# SPDX-License-Identifier: MIT
# The suite on the screens: replayed from Run with one key, cell by cell; evidence, a recording, one row again; stopped
# half way, and nothing of it left.
. "$(dirname "$0")/lib.sh"
need_run
cd "$scratch" || exit 1
[ "$level" = namespaces ] || skip_all 'cannot here: userns'

terminal 80 24
line "$BELLJAR"
wait_for 'Nothing is staged'
keys 4
sees 'before anything ran, nothing is claimed' '18 not run'
sees 'not even as a total' 'stopped +\? +\?'
keys 2 A
sees 'A on Run replays the suite, with a control first' 'Control of|under (subprocess|namespaces|microvm)'
patience=120
sees 'to its end' '18 of 18 cells known'
sees 'subprocess stops four' 'stopped +4 of 6 +6 of 6'
sees 'and says what it does not stop' 'Fork flood of 200 +succeeded +stopped'
sees 'and that it reads the credentials' 'Read credentials +succeeded +stopped'
if "$here/tests/probes/here" microvm; then
	sees 'microvm stops all' 'stopped +4 of 6 +6 of 6 +6 of 6'
else
	sees 'microvm is not here' 'Infinite loop +>? *stopped +stopped +not-run'
fi
gone 'NOT AS EXPECTED'
report $? 'each as the manifest expects'
keys Down Down Down Down Right
sees 'the evidence of a cell: the layer' 'stopped by mount-ns'
sees 'and the fact' 'hidden, predicted'
keys Enter
sees 'in full' 'again +belljar attack --only read-credentials -p namespaces'
keys o
sees 'its recording opens on the screens' '\[3 Events\]'
keys 4 Escape R
sees 'one row again' '3 of 3 cells|18 of 18 cells known'
wait_for '18 of 18 cells known'
keys a
wait_for 'under|Control'
screens=$(screens_pid)
mapfile -t running < <(descendants "$screens")
keys C-c
sees 'stopped half way' 'Stopped; what had not run is not known'
ok 'and nothing of it is left' wait_until none_alive "${running[@]}"
sees 'what had not run is not run' '[0-9]+ not run'
keys q
ok 'and it ends' wait_until sane

# Where the parts of a level are not: it is said, and is no fault of what was tried, until it is asked for by name.
line "BELLJAR_GUEST=/nonexistent $BELLJAR"
wait_for 'Nothing is staged'
keys 4 R
sees 'a level that is not here: did not run' 'Infinite loop +> stopped +stopped +not-run'
gone 'NOT AS EXPECTED'
report $? 'and nothing is wrong with that'
keys :
line 'levels namespaces microvm'
keys R
sees 'chosen by name: it is missed' '1 NOT AS EXPECTED'
keys q
ok 'and this ends as well' wait_until sane
plan_end
