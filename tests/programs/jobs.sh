#!/bin/bash
# SPDX-License-Identifier: MIT
# bash: job control, process substitution, traps, a coprocess and a here-document.
set -m
(exit 3) &
wait $!
echo "job $?"
sleep 60 &
kill -STOP %1
kill -KILL %1
wait %1 2>/dev/null
echo "killed $?"
coproc CAT { cat; }
echo 'through the coprocess' >&"${CAT[1]}"
read -r line <&"${CAT[0]}"
echo "$line"
kill "$CAT_PID" 2>/dev/null
comm -12 <(printf '%s\n' a b) <(printf '%s\n' b c)
trap 'echo trapped' USR1
kill -USR1 $$
