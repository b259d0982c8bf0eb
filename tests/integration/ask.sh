#!/bin/bash
# SPDX-License-Identifier: MIT
# on_denied = ask where nobody can be asked: refused at once, and told. A limit's own refusals and unknown calls are no
# question anywhere.
. "$(dirname "$0")/lib.sh"
folder=$scratch/.config/belljar/presets
mkdir -p "$folder"
for level in $levels; do
	printf '[preset]\nname = asking-%s\nextends = %s\n[syscalls]\non_denied = ask\n' "$level" "$level" >"$folder/asking-$level.ini"
	run -p "asking-$level" -l python -c 'import ctypes
c = ctypes.CDLL(None, use_errno=True)
for k in range(3): print(c.ptrace(16, 999999, 0, 0), ctypes.get_errno())
print(c.syscall(9999), ctypes.get_errno())' </dev/null
	is "$level: it ended by itself" "$(got 'o["verdict"]')" ok
	is "$level: refused at once, unknown calls as everywhere" "$(got 'o["stdout"]')" '-1 1
-1 1
-1 1
-1 38'
	is "$level: no question was put" "$(event 'len(of("ask"))')" 0
	is "$level: why not is told" "$(event '[(e["decision"], e["by"]) for e in of("answer")][:1]')" '[["deny", "nobody to ask"]]'
	is "$level: of each call" "$(event 'sum(e["count"] for e in of("answer"))')" 3
	is "$level: the refusals are listed" "$(got 'sum(d["count"] for d in o["denied"] if d["call"] == "ptrace")')" 3
done
plan_end
