#!/bin/bash
# SPDX-License-Identifier: MIT
# A run whose machine has to be made first: what is being done, since when; nothing stands still that does not run yet; a
# person who gives up; the next one; the machine that is kept ready, which goes with the screens.
. "$(dirname "$0")/lib.sh"
"$here/tests/probes/here" microvm || skip_all 'cannot here: microvm'
export XDG_CACHE_HOME=$scratch/.cache # in which there is no machine yet
patience=60
cd "$scratch" || exit 1
printf 'import time\nprint("begun", flush=True)\ntime.sleep(1)\nprint("done")\n' >code.py

some_machine() { # of the screens' own
	for pid in $(descendants "$screens"); do cat "/proc/$pid/comm" 2>/dev/null; done | grep -q qemu
}
no_machine() { ! some_machine; }

terminal 80 24
line "$BELLJAR code.py"
wait_for 'STAGED, NOT RUN' && line ':preset microvm' && wait_for '\[microvm\]'
screens=$(screens_pid)
keys r
sees 'it is being made ready' 'STARTING #1'
sees 'and what is being done for it is told' 'Not started yet: .* so far'
keys z
sees 'what does not run yet cannot stand still' 'Nothing runs yet that could stand still'
ok 'and is not said to' gone PAUSED
keys C-c
sees 'a person gives up' 'CANCELLED #1'
keys r
sees 'another one runs' 'RUNNING #2'
sees 'to its end' 'OK #2'
ok 'one machine is kept ready for the next' wait_until some_machine
keys r
sees 'which begins at once' 'OK #3'
wait_until some_machine
keys q
ok 'with the screens goes the machine' wait_until no_machine
plan_end
