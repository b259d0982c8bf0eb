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
sees 'before anything ran, nothing is claimed' '12 not run'
sees 'not even as a total' 'stopped +\? +\?'
keys 2 A
sees 'A on Run replays the suite, with a control first' 'Control of|under (subprocess|namespaces)'
patience=60
sees 'to its end' '12 of 12 cells known'
sees 'subprocess stops four' 'stopped +4 of 6 +6 of 6'
sees 'and says what it does not stop' 'Fork flood of 200 +succeeded +stopped'
sees 'and that it reads the credentials' 'Read credentials +succeeded +stopped'
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
sees 'one row again' '2 of 2 cells|12 of 12 cells known'
wait_for '12 of 12 cells known'
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
plan_end
