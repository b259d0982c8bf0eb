#!/bin/bash
# SPDX-License-Identifier: MIT
# One thing runs at a time: what a comparison or a suite measures is disturbed by nothing that is started beside it, nor
# by what is staged meanwhile; and who leaves is asked first.
. "$(dirname "$0")/lib.sh"
need_run
[ "$level" = namespaces ] || skip_all 'cannot here: userns'
cd "$scratch" || exit 1
cat >slow.sh <<'SH'
echo as staged
sleep 2
SH
echo 'echo another' >other.sh

terminal 80 40
line "$BELLJAR slow.sh"
wait_for 'STAGED'
line ":screen compare"
keys r
sees 'a comparison runs' 'COMPARING 1 of 2'
line ':screen compose'
line ':run'
sees 'no run is started beside it' 'A run of Compare lives'
line ':screen attacks'
keys a
sees 'nor a suite' 'A run of Compare lives'
keys C-c
sees '^C on another screen says where it lives' 'A run of Compare lives: .C on that screen stops it'
keys q
sees 'who leaves is asked' 'y stops it and leaves'
keys n
line ':screen compose'
line ':open other.sh'
wait_for 'other.sh'
line ':screen compare'
sees 'it comes to its end, and says what was compared' 'COMPARED  slow.sh'
sees 'both columns ran what was staged when it began' 'stdout +10 B +10 B, the same'
line ':screen attacks'
keys a
wait_for 'Control of|under'
line ':screen compose'
line ':run'
sees 'no run is started beside a suite' 'A run of Attacks lives'
keys q
sees 'and who leaves is asked' 'y stops it and leaves'
screens=$(screens_pid)
mapfile -t running < <(descendants "$screens")
keys y
ok 'leaving ends it' wait_until none_alive "${running[@]}"
ok 'and gives the terminal back' wait_until sane
plan_end
