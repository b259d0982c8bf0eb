#!/bin/bash
# SPDX-License-Identifier: MIT
# Every example is run by the very command that stands at its head, so that no comment there can lie: from the tree, from
# an installed copy, and from one that may only be read. What comes of it: output, verdict, the folder of results.
. "$(dirname "$0")/lib.sh"
export PYTHONDONTWRITEBYTECODE=1 # of what runs outside of the sandbox

# try FILE: runs the command of an example in a folder of its own, which has the examples beside it. Leaves $status,
# $text (standard output) and $told (standard error).
try() {
	local command
	command=$(sed -n 's/^# \$ //p' "$examples/$1")
	is "$where, $1: has one command, at its head" "$(head -n 3 "$examples/$1" | grep -c '^# \$ ') $(wc -l <<<"$command")" '1 1'
	rm -rf "$scratch/work" && mkdir "$scratch/work" && cd "$scratch/work" || exit 1
	ln -s "$examples" examples
	text=$(timeout 120 bash -c "$command" 2>"$scratch/told" </dev/null)
	status=$?
	told=$(cat "$scratch/told")
}

# Each row of these is one example; `where` says which copy.
try_all() { # WHERE FOLDER
	where=$1 examples=$2

	try hello.py
	is "$where, hello: verdict" "$status $(grep -o '^belljar: ok in' <<<"$told")" '0 belljar: ok in'
	like "$where, hello: is somebody else" "$text" '^hello from .* as uid 1000$'

	try tour.py
	is "$where, tour: verdict" "$status $(grep -o '^belljar: ok in' <<<"$told")" '0 belljar: ok in'
	like "$where, tour: the work is done" "$text" '^do the work +wrote [0-9]+ bytes'
	for step in 'read /etc/shadow' 'attach to process 1' 'mount a file system' 'make a user namespace'; do
		like "$where, tour: no $step" "$text" "^$step +no: E"
	done

	try clean-csv/clean.py
	is "$where, clean-csv: verdict" "$status $(grep -o '^belljar: ok in' <<<"$told")" '0 belljar: ok in'
	is "$where, clean-csv: what it printed" "$text" "$(printf '9 rows read, 5 kept\nNorth      -29.10\nSouth     1559.50\nWest       295.00')"
	like "$where, clean-csv: says by what" "$told" '^by (the standard library|pandas [0-9.]+)$'
	is "$where, clean-csv: one file came out" "$(find cleaned -mindepth 1)" cleaned/sales.csv
	is "$where, clean-csv: the table" "$(cat cleaned/sales.csv)" 'date,region,product,amount
2026-01-03,North,lamp,19.90
2026-01-05,South,chair,1249.00
2026-01-11,South,desk,310.50
2026-01-12,North,chair,-49.00
2026-01-15,West,"desk, white",295.00'

	try run-tests/test_prices.py
	is "$where, run-tests: verdict" "$status $(grep -o '^belljar: ok in' <<<"$told")" '0 belljar: ok in'
	is "$where, run-tests: the tests" "$(grep -cE '\.\.\. ok$' <<<"$told") $(grep -E '^(OK|FAILED)' <<<"$told")" '3 OK (skipped=1)'
	like "$where, run-tests: no pass by luck" "$told" 'test_rate_of_today.*skipped .the rate service cannot be reached'
	is "$where, run-tests: the repository is as it was" "$(find "$examples/" -name __pycache__)" ''

	try classroom/loop.py
	is "$where, classroom: status" "$status" 124
	is "$where, classroom: what it printed" "$text" 'the sum of the odd numbers below ten is'
	like "$where, classroom: verdict" "$told" '^belljar: (cpu|wall)-time: limit [25] s' # the latter on a busy machine

	if here microvm "$where, research"; then
		try research/analyse.py
		is "$where, research: verdict" "$status $(grep -o '^belljar: ok in' <<<"$told")" '0 belljar: ok in'
		like "$where, research: an outlier" "$text" '^station-b: 6 days, median 10\.00, outliers \[30\.5\]$'
		like "$where, research: the data were not written to" "$text" '^the data set is as it was: Read-only file system$'
		is "$where, research: one file came out" "$(find results -mindepth 1)" results/summary.json
		is "$where, research: the result" "$(json '[o["station-a"]["median"], o["station-b"]["outliers"]]' results/summary.json)" '[12.15, [30.5]]'
	fi

	try agent-tool.py
	is "$where, agent-tool: status" "$status $told" '0 '
	is "$where, agent-tool: a good call" "$(sed -n '/^== as it should be/,/^$/p' <<<"$text")" '== as it should be
verdict: ok (exit status 0)
stdout:
sorted: [1, 1, 2, 3, 4, 5, 6, 9]
refused: nothing'
	like "$where, agent-tool: a prying call sees nothing" "$text" '^read /etc/shadow -> No such file or directory$'
	like "$where, agent-tool: and the agent hears what refused it" "$text" '^ptrace: EPERM, by seccomp \(answered\)$'
	like "$where, agent-tool: with what is only predicted" "$text" '^open /etc/shadow: hidden, by mount-ns \(predicted\)$'
}

# call EXPR: the value of a Python expression in which `tool` is the module, as JSON.
call() {
	/usr/bin/python3 -I -B -c '
import dataclasses, importlib.util, json, sys
spec = importlib.util.spec_from_file_location("agent_tool", sys.argv[1])
tool = sys.modules["agent_tool"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)
value = eval(sys.argv[2])
print(value if isinstance(value, str) else json.dumps(value))
' "$here/examples/agent-tool.py" "$1" 2>&1
}

path=$PATH
mkdir "$scratch/bin" && ln -s "$BELLJAR" "$scratch/bin/belljar"
export PATH=$scratch/bin:$path

is 'every example has a command, or belongs to one that has; lessons have a screen, attacks a subcommand' \
	"$(cd "$here/examples" && grep -rL --include='*.py' --exclude-dir=lessons --exclude-dir=attacks '^# \$ ' . | sort)" ./run-tests/prices.py
ok 'the presets of the examples are without fault' \
	belljar preset check data-analysis test-runner classroom research

if here userns 'the examples, from the tree'; then
	try_all 'from the tree' "$here/examples"

	cp -r "$here/examples" "$scratch/read-only" && chmod -R a-w,a+rX "$scratch/read-only"
	try_all 'read-only' "$scratch/read-only"
	chmod -R u+w "$scratch/read-only"

	# Not built anew: what is here is installed.
	ok 'make install' make -C "$here" -o all BUILD="${BUILD:-build}" DESTDIR="$scratch/root" PREFIX=/usr/local install
	export PATH=$scratch/root/usr/local/bin:$path
	is 'all examples are installed' "$(cd "$scratch/root/usr/local/share/belljar" && find examples -type f | sort)" \
		"$(cd "$here" && find examples -type f ! -name '*.pyc' | sort)"
	try_all installed "$scratch/root/usr/local/share/belljar/examples"
	ok 'make uninstall' make -C "$here" BUILD="${BUILD:-build}" DESTDIR="$scratch/root" PREFIX=/usr/local uninstall
	is 'nothing stays installed' "$(find "$scratch/root" -type f)" ''
	export PATH=$scratch/bin:$path

	# ---- what else an agent may hand to the tool ----
	is 'a verdict that is none of ok' "$(call '(lambda r: [r.verdict, r.ran])(tool.run_code("while True: pass", wall_s=1))')" \
		'["wall-time", true]'
	is 'a wrong language is a fault of the call' "$(call 'tool.run_code("1", "pyton").verdict')" setup-error
	like 'and the agent is told' "$(call 'tool.describe(tool.run_code("1", "pyton"))')" '^Nothing was run: .*python'
	is 'a language cannot become an option' "$(call "tool.run_code('1', 'python --record=$scratch/record').verdict")" setup-error
	is 'nor can code' "$(call "tool.run_code('--record=$scratch/record').verdict") $(find "$scratch" -maxdepth 1 -name record)" 'failed '
	is 'nothing acts on a terminal' "$(call 'tool.run_code("print(\"\\033[2J\\x9b\")").stdout.strip("\n\ufffd")')" '[2J'
	is 'bytes that are no text' "$(call 'tool.run_code("import os; os.write(1, b\"a\\xff\")").stdout == "a\ufffd"')" true
	is 'a flood is cut' "$(call 'len(tool.run_code("print(\"x\" * 1000000)").stdout) < 9000')" true
fi
is 'no belljar' "$(call '(setattr(tool, "BELLJAR", "/nonexistent/belljar"), tool.run_code("1"))[1].evidence')" \
	'/nonexistent/belljar cannot be run: No such file or directory'
printf '#!/bin/sh\nexec sleep 60\n' >"$scratch/bin/hangs"
printf '#!/bin/sh\necho {\nexit 3\n' >"$scratch/bin/babbles"
chmod +x "$scratch/bin/hangs" "$scratch/bin/babbles"
is 'a belljar that does not answer' \
	"$(call "(setattr(tool, 'BELLJAR', '$scratch/bin/hangs'), setattr(tool, 'GRACE_S', -9.8), tool.run_code('1'))[2].evidence")" \
	'no answer within 0.2 s'
is 'one that answers rubbish' "$(call "(setattr(tool, 'BELLJAR', '$scratch/bin/babbles'), tool.run_code('1'))[1].evidence")" \
	'no result, status 3'
plan_end
