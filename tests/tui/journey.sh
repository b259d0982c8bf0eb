#!/bin/bash
# SPDX-License-Identifier: MIT
# A new user's first quarter of an hour at 80x24: stage a file, run it, find the refused call, see why, allow it, run
# again, compare, replay, quit.
. "$(dirname "$0")/lib.sh"
need_run
[ "$level" = namespaces ] || skip_all 'cannot here: userns'
cd "$scratch" || exit 1
cat >agent.py <<'PY'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
same = libc.syscall(312, os.getpid(), os.getpid(), 1, 0, 0)  # kcmp of its own memory with itself
print("kcmp:", "worked" if same == 0 else os.strerror(ctypes.get_errno()))
PY

terminal 80 24
line "$BELLJAR agent.py"
sees 'staged, and nothing runs' 'STAGED, NOT RUN +agent.py'
sees 'the keys say how to go on' 'r Run '
keys r
sees 'it ran' 'kcmp: Operation not permitted'
sees 'and ended, with its verdict' 'OK +It ended by itself'
keys 3 :
line 'filter kcmp'
sees 'the refused call, with its arguments' 'CALL +kcmp\('
sees 'what refused it' 'refused by seccomp: the filter of system calls'
sees 'by which rule' 'EPERM by default:debug'
sees 'how certain that is' 'certain: belljar itself gave the answer'
sees 'what would allow it' 'allow = kcmp'
keys w
sees 'allowed in a preset of their own' 'Next run: my-namespaces'
keys r
sees 'run again: now it works' 'kcmp: worked'
sees 'under the preset that allows it' 'my-namespaces'
keys 5 :
line 'presets namespaces my-namespaces'
keys r
sees 'compared' 'COMPARED'
keys d /
line kcmp
sees 'what the preset made another' '>!denied kcmp.* refused by seccomp +-'
keys :
line "replay $(find "$HOME/.local/state/belljar/runs" -name '*.jsonl' | sort | tail -n 1)"
sees 'a recording of it' 'OK recorded agent.py'
keys [
sees 'goes back' 'At 00:00'
keys q
ok 'quit, and the terminal is as it was' wait_until sane
plan_end
