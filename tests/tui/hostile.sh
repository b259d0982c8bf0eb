#!/bin/bash
# SPDX-License-Identifier: MIT
# Output that attacks the terminal is shown, not obeyed: title, clipboard, alternate screen, modes, queries.
. "$(dirname "$0")/lib.sh"
need_run
cd "$scratch" || exit 1
cat >evil.sh <<'SH'
#!/bin/sh
printf 'begin %s\n' "$((6 * 7))"
printf '\033]0;OWNED\007\033]2;OWNED\033\\\033]52;c;T1dORUQ=\007'
printf '\033[?1049l\033[2J\033[H\033[?25l\033[?2004h\033[?1000h\033[8m\033[5m\033c'
printf '\033[6n\033[c\033P$q q\033\\\033_APC\033\\\033^PM\033\\\302\2330m\302\235title\302\234'
printf '\033(0lqqk\033[4h\016\n'
printf 'bidi \342\200\256 tag \363\240\201\201 zero \342\200\213 bad \377 end %s\n' "$((6 * 7))"
printf '\033]0;never ended'
SH

terminal 80 24
tmux set-buffer -b clip untouched
line "$BELLJAR evil.sh"
wait_for 'STAGED, NOT RUN'
title=$(say '#{pane_title}')
line ":preset $level"
keys r
sees 'it ran' '■ OK'
ok 'its plain text is there' seen 'begin 42'
ok 'invisible characters are shown' seen 'bidi ⟨U\+202E⟩ tag ⟨U\+E0041⟩ zero ⟨U\+200B⟩ bad ⟨.*FF⟩ end 42'
ok 'what was removed is counted' seen '[0-9]+ escapes removed'
is 'the title is as it was' "$(say '#{pane_title}')" "$title"
is 'the clipboard is as it was' "$(tmux show-buffer)" untouched
is 'the screens still have the alternate screen' "$(say '#{alternate_on}')" 1
is 'nobody turned the mouse on' "$(say '#{mouse_any_flag}')" 0
ok 'the frame stands' seen '^│.*│$'
keys 3
sees 'the removed sequences are events' 'TERM +clipboard in the output'
keys q
ok 'the terminal is sane afterwards' wait_until sane
is 'the title is still as it was' "$(say '#{pane_title}')" "$title"

# A file with a hostile name must not reach the terminal through an error message either.
line "$BELLJAR \$'no\\033]0;OWNED\\007such'"
sees 'a hostile name in an error is shown' 'belljar: .*such'
is 'and not obeyed' "$(say '#{pane_title}')" "$title"
plan_end
