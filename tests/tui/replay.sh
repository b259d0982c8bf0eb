#!/bin/bash
# SPDX-License-Identifier: MIT
# A recording on the screens: played, paused, faster, back and forth, to the next refusal, beside another; and nothing
# of it is run.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
recording=$here/tests/recordings/under-attack.jsonl

terminal 80 24
line "$BELLJAR replay $recording"
sees 'it opens where the recording ends' 'MEMORY recorded agent.py'
keys '['
sees '[ goes back' 'At 00:07\.[0-9] of 00:08\.0'
sees 'and says that it stands still' 'PAUSED AT recorded'
keys :
line 'scrub begin'
sees 'to the beginning' 'At 00:00\.0 of 00:08\.0'
keys '>' '>' '>' '>'
sees 'four times faster is sixteen' 'Speed x16'
keys Space
sees 'played to its end' 'The end of the recording'
sees 'with its verdict' 'MEMORY recorded agent.py'
keys :
line 'scrub begin'
keys .
sees '. goes to the first refusal, and tells it' '00:00\.5 NET .*connect'
keys '<' '<' '<' '<' '<' '<' '<'
sees 'slower than it was' 'Speed x1/4'
keys Space
sees 'it plays' 'PLAYING recorded'
keys Space
sees 'and stops where it is' 'PAUSED AT recorded'
keys :
line "beside $here/tests/recordings/ok.jsonl"
sees 'beside another recording' 'agent.py under nam.*report.py under nam'
[ ! -e "$HOME/.local/state/belljar/runs" ]
report $? 'nothing was run'
keys q
wait_for '^\$ *$'
ok 'and it ends' wait_until sane
plan_end
