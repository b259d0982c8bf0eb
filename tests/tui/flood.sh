#!/bin/bash
# SPDX-License-Identifier: MIT
# A flood of output: keys are answered, memory is bounded, the picture can be frozen, and it can be stopped.
. "$(dirname "$0")/lib.sh"
need_run
cd "$scratch" || exit 1
printf '#!/bin/sh\nyes "a line of a flood"\n' >flood.sh

terminal 80 24
line "$BELLJAR flood.sh"
wait_for 'STAGED, NOT RUN'
line ":preset $level"
keys r
sees 'the flood is shown' 'a line of a flood'
sees 'it is counted, and the number is large' 'following  [0-9]{1,3},[0-9]{3},?[0-9,]* lines'
keys 3
sees 'keys are answered: Events' '\[3 Events\]'
keys 2
sees 'and back' '\[2 Run\]'
keys p
sees 'p freezes the picture' 'FROZEN'
frozen=$(shot)
for _ in 1 2 3 4 5 6; do
	[ "$(shot)" = "$frozen" ] || break
	sleep 0.1
done
is 'a frozen picture stands still' "$(shot)" "$frozen"
keys p
ok 'p lets it go on' wait_until gone FROZEN
keys Home
sees 'scrolling back stays there' 'from line'
screens=$(screens_pid)
rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$screens/status")
if [ -n "${SAN-}" ]; then
	echo "ok $((tests += 1)) - memory is bounded # SKIP cannot here: plain-build"
else
	ok "memory is bounded ($rss KiB)" test "$rss" -lt 65536
fi
keys C-k
sees '^K kills it' '■ (CANCELLED|OK|FAILED|SIGNALLED|WALL TIME)'
ticks() { awk '{ print $14 + $15 }' "/proc/$screens/stat"; }
before=$(ticks)
sleep 1
is 'afterwards it uses no processor time' "$(ticks)" "$before"
line ':quit now'
ok 'the terminal is sane' wait_until sane
plan_end
