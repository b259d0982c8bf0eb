#!/bin/bash
# SPDX-License-Identifier: MIT
# `belljar run` from the outside: code in, output, status and JSON out, at each level.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

# A language with a program that prints 42, and what it needs; written as it would be on the command line.
languages() {
	cat <<-'TXT'
	python|python3|print(6*7)
	sh|sh|echo $((6*7))
	bash|bash|x=(6 7); echo $((x[0]*x[1]))
	node|node|console.log(6*7)
	perl|perl|print 6*7, "\n"
	c|cc|#include <stdio.h>\nint main(void) { printf("%d\\n", 6*7); return 0; }
	TXT
}

test_level() {
	local level=$1 text

	run -p "$level" -l python -c 'print(6*7)' </dev/null
	is "$level: print(6*7) prints 42" "$(got 'o["stdout"]')" 42
	is "$level: its status is 0" "$status" 0
	is "$level: its verdict is ok" "$(got 'o["verdict"]')" ok
	is "$level: nothing of it is left" "$(got 'o["processes_left"]')" 0
	is "$level: the result names the level" "$(got 'o["preset"] + " " + o["backend"]')" "$level $level"
	is "$level: and the code's digest" "$(got 'o["code_sha256"]')" "$(printf 'print(6*7)' | sha256sum | cut -d' ' -f1)"
	is "$level: the result has every key" "$(got '[k for k in ("verdict status signal evidence stdout stderr stdout_dropped "
		"stderr_dropped wall_s cpu_s memory_peak processes_peak written space_peak denied network files exec limits "
		"limits_met layers preset backend language code_sha256 processes_left recording").split() if k not in o]')" '[]'
	like "$level: each limit has a grade and a mechanism" \
		"$(got 'all(l["grade"] in ("kernel", "supervisor", "sampled", "none") and l["mechanism"] for l in o["limits"] if l["asked"] is not None)')" '^true$'
	is "$level: every limit is told" "$(got '" ".join(sorted(l["name"] for l in o["limits"]))')" \
		'cpu cpus file_size inodes memory open_files output processes space wall'
	between "$level: it took time" "$(got 'o["wall_s"]')" 0.001 5

	text=$(belljar run -p "$level" -l python -c 'print(6*7)' 2>"$scratch/verdict" </dev/null)
	is "$level: without --json the output passes through" "$text" 42
	is "$level: and the verdict is one line on standard error" "$(wc -l <"$scratch/verdict")" 1
	belljar run -q -p "$level" -l python -c 'print(6*7)' >"$scratch/out" 2>"$scratch/verdict" </dev/null
	is "$level: -q leaves the verdict out" "$(wc -c <"$scratch/verdict")" 0
	text=$(belljar run -q -p "$level" -l python -c 'import sys; sys.stderr.write("to err\n"); print("to out")' 2>/dev/null </dev/null)
	is "$level: the two streams are kept apart" "$text" "to out"
	text=$(belljar run -q -p "$level" -l python -c 'import sys; sys.stdout.buffer.write(bytes(range(256)))' </dev/null | sha256sum)
	is "$level: raw bytes pass through where no terminal is" "$text" \
		"$(/usr/bin/python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)))' | sha256sum)"

	run -p "$level" -l python -c 'import sys; sys.stdout.buffer.write(b"\xff\xfe")' </dev/null
	is "$level: what is not UTF-8 comes as base64" "$(got 'o["stdout"]["base64"]')" '//4='

	languages | while IFS='|' read -r name program code; do
		[ -x "/usr/bin/$program" ] || [ -x "/bin/$program" ] || continue
		printf '%b' "$code" >"$scratch/code.$name"
		run -p "$level" -l "$name" "$scratch/code.$name" </dev/null
		echo "$name $status $(got 'o["stdout"]' | tr -d '\n')"
	done >"$scratch/languages"
	text=$(languages | cut -d'|' -f1,2 | while IFS='|' read -r name program; do
		[ -x "/usr/bin/$program" ] || [ -x "/bin/$program" ] && echo "$name 0 42"; done)
	is "$level: every language runs" "$(cat "$scratch/languages")" "$text"
}

test_statuses() {
	local level=$1 want code

	while IFS='|' read -r want code; do
		run -p "$level" -l python -c "$code" </dev/null
		is "$level: $code" "$status $(got 'o["verdict"]') $(got 'o["signal"]')" "$want"
	done <<-'TXT'
	7 failed null|raise SystemExit(7)
	134 failed null|raise SystemExit(134)
	134 signalled SIGABRT|import os; os.abort()
	139 signalled SIGSEGV|import os, signal; os.kill(os.getpid(), signal.SIGSEGV)
	143 signalled SIGTERM|import os, signal; os.kill(os.getpid(), signal.SIGTERM)
	137 signalled SIGKILL|import os, signal; os.kill(os.getpid(), signal.SIGKILL)
	153 signalled SIGXFSZ|import os, signal; signal.signal(25, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGXFSZ)
	153 signalled SIGXFSZ|import signal; signal.signal(25, signal.SIG_DFL); signal.raise_signal(signal.SIGXFSZ)
	153 signalled SIGXFSZ|import resource, signal; signal.signal(25, signal.SIG_DFL); resource.setrlimit(resource.RLIMIT_FSIZE, (9, 9)); f = open("f", "wb", 0); f.write(bytes(10)); f.write(bytes(10))
	153 signalled SIGXFSZ|import fcntl, os, signal; signal.signal(25, signal.SIG_DFL); r, w = os.pipe(); fcntl.fcntl(r, 10, 25); fcntl.fcntl(r, fcntl.F_SETOWN, os.getpid()); fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC); os.write(w, b"x"); signal.pause()
	153 signalled SIGXFSZ|import ctypes, signal; signal.signal(25, signal.SIG_DFL); c = ctypes.CDLL(None); t = ctypes.c_void_p(); c.timer_create(1, (ctypes.c_int * 16)(0, 0, 25, 0), ctypes.byref(t)); c.timer_settime(t, 0, (ctypes.c_long * 4)(0, 0, 0, 1), None); signal.pause()
	153 signalled SIGXFSZ|import ctypes, os, signal; signal.signal(25, signal.SIG_DFL); c = ctypes.CDLL(None); c.syscall(56, 25, 0, 0, 0, 0) or os._exit(0); signal.pause()
	152 signalled SIGXCPU|import signal; signal.raise_signal(signal.SIGXCPU)
	159 signalled SIGSYS|import signal; signal.raise_signal(signal.SIGSYS)
	124 failed null|raise SystemExit(124)
	137 failed null|raise SystemExit(137)
	153 failed null|raise SystemExit(153)
	159 failed null|raise SystemExit(159)
	1 failed null|raise Exception("on purpose")
	TXT
	run -p "$level" -- /bin/sh -c 'exit 3' </dev/null
	is "$level: an argv of one's own" "$status $(got 'o["verdict"]')" "3 failed"
	run -p "$level" -- /nonexistent/program </dev/null
	is "$level: a program that is not there" "$status $(got 'o["verdict"]')" "127 setup-error"
	run -p "$level" -- /etc/passwd </dev/null
	is "$level: a file that is no program" "$status $(got 'o["verdict"]')" "126 setup-error"
	run -p "$level" -l python -c 'import time; time.sleep(30)' --wall 300ms </dev/null
	is "$level: the wall limit" "$status $(got 'o["verdict"]')" "124 wall-time"
}

test_input() {
	local level=$1
	printf 'l1\nl2\n' | belljar run -q -p "$level" -l python -c 'import sys; print(len(sys.stdin.read()))' >"$scratch/out" 2>&1
	is "$level: with -c, standard input is the target's" "$(cat "$scratch/out")" 6
	echo 'print(6*7)' | belljar run -q -p "$level" -l python - >"$scratch/out" 2>&1
	is "$level: code on standard input" "$(cat "$scratch/out")" 42
	echo 'import sys; print(repr(sys.stdin.read()))' | belljar run -q -p "$level" -l python - >"$scratch/out" 2>&1
	is "$level: and then the target's is empty" "$(cat "$scratch/out")" "''"
	echo 'from a file' >"$scratch/in"
	belljar run -q -p "$level" -l python -c 'print(input())' --stdin "$scratch/in" >"$scratch/out" 2>&1 </dev/null
	is "$level: --stdin FILE" "$(cat "$scratch/out")" 'from a file'
	printf '#!/bin/sh\r\necho $((6*7))\r\n' | belljar run -q -p "$level" - >"$scratch/out" 2>"$scratch/err"
	is "$level: CR LF in a shell script is put right" "$(cat "$scratch/out")" 42
	printf 'print(repr("a\rb"))' | belljar run -q -p "$level" -l python - >"$scratch/out" 2>&1
	like "$level: a CR inside Python is kept or refused, never lost" "$(cat "$scratch/out")" 'a\\rb|SyntaxError'
	printf '#!/usr/bin/env python3\nprint(6*7)\n' >"$scratch/no-ending"
	belljar run -q -p "$level" "$scratch/no-ending" >"$scratch/out" 2>&1 </dev/null
	is "$level: the language is taken from the first line" "$(cat "$scratch/out")" 42
	printf 'secret' | BELLJAR_CHECK=yes ANOTHER=1 belljar run -q -p "$level" -l sh -c 'env' --env K=V --pass ANOTHER \
		>"$scratch/out" 2>&1
	like "$level: --env" "$(cat "$scratch/out")" '^K=V$'
	like "$level: --pass" "$(cat "$scratch/out")" '^ANOTHER=1$'
	unlike "$level: nothing else of ours is in the environment" "$(cat "$scratch/out")" 'BELLJAR_CHECK|BELLJAR=|PROBE=|TEST_USER'
}

test_stopping() { # a signal to the front end is the person's stop
	local level=$1 pid mark="mark-$$-$RANDOM"
	leftovers_begin
	"$BELLJAR" run --json -p "$level" --wall 60s --input "$tools" -- "$(probe_path "$level")" sleep 55 "$mark" \
		>"$scratch/result" 2>"$scratch/errors" </dev/null &
	pid=$!
	ok "$level: a run starts" wait_until 5 pgrep -f "probe sleep 55 $mark"
	kill -TERM $pid
	wait $pid
	is "$level: SIGTERM cancels it" "$? $(got 'o["verdict"]')" "130 cancelled"
	ok "$level: and nothing is left" wait_until 5 none_left "$mark"
}

for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level" || continue
	test_level "$level"
	test_statuses "$level"
	test_input "$level"
	test_stopping "$level"
done

# What belongs to no level.
run -p nonexistent -l python -c 1 </dev/null
is 'an unknown preset is a setup error' "$status $(got 'o["verdict"]')" '125 setup-error'
like 'that lists near names or all' "$(errors; got 'o["evidence"]')" 'nonexistent'
run -p namespaces --no-such-option -c 1 </dev/null
is 'an unknown option too' "$status" 125
run --input /proc/no-such-folder/x -l sh -c 'echo marker' </dev/null
is 'a missing input too' "$status $(got 'o["verdict"]')" '125 setup-error'
unlike 'and nothing of the code has run' "$(cat "$scratch/result" "$scratch/errors")" '^marker'
like 'it names the path' "$(cat "$scratch/result" "$scratch/errors")" '/proc/no-such-folder/x'
run -l sh -c 'echo x' --memory 1X </dev/null
is 'a size that is none is a setup error' "$status" 125
belljar run -l python -c 'print(6*7)' --events "$scratch/events" >/dev/null 2>&1 </dev/null
is '--events has every event in order' "$(json '[e["seq"] for e in o] == list(range(1, len(o) + 1)) and o[0]["type"] == "start" and o[-1]["type"] == "exit"' "$scratch/events")" true
plan_end
