#!/bin/bash
# SPDX-License-Identifier: MIT
# Predictions beside the truth: a program opens what is readable, hidden, shut, linked, read-only, a device, in /proc, and
# says what came of each; what the recording says of the same call must be that, or "unknown".
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

cat >opens.py <<'PY'
import os
def look(path, flags=os.O_RDONLY):
    try:
        os.close(os.open(path, flags, 0o600))
        came = "opened"
    except OSError as e:
        came = os.strerror(e.errno)
    print(path, came, sep="|")
here = os.getcwd()
os.mkdir("folder")
os.mkdir("shut")
for name in "unreadable", "shut/inside", "shut-for-writing":
    open(name, "w").close()
for name, mode in ("unreadable", 0), ("shut", 0), ("shut-for-writing", 0o400):
    os.chmod(name, mode)
for name, to in ("shadow", "/etc/shadow"), ("status", "/proc/self/status"), ("loop", "loop"), ("passwd", "/etc/passwd"), \
        ("env", "/usr/bin/env"), ("processes", "/proc"):
    os.symlink(to, name)
for name in "shadow", "status", "loop", "passwd", "unreadable", "shut/inside", "shut", "processes/self/none":
    look(f"{here}/{name}")
for path in "/etc/shadow", "/root/.bashrc", "/etc/ssl/private/none", "/usr/../etc/gshadow", "/etc//passwd", "/dev/tty", \
        "//proc/1/environ", "/./proc/self/environ", "/proc/self/fd/0", "/dev/fd/0", "/dev/null", "/dev/sda", "/run", \
        "/var/log/syslog", "/sys/kernel", "/usr/bin/env", "/etc/passwd/below":
    look(path)
for path in here + "/env", "/usr/new", "/etc/hosts", here + "/folder", here + "/shut-for-writing", "/dev/full", \
        "/none/new", "/dev/new":
    look(path, os.O_WRONLY)
for path in "/etc/new", "/usr/lib/os-release", "/new", "/none/there/new", here + "/made":
    look(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
look(here + "/made/", os.O_WRONLY | os.O_CREAT)
look("/etc/group", os.O_DIRECTORY)
look(here + "/./passwd", os.O_NOFOLLOW)
look(here + "/./unreadable", os.O_PATH)
look(here + "/./made", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
look(here + "/./folder", os.O_TMPFILE | os.O_WRONLY)
PY

# The first event of each path that is told, beside what came of it.
cat >compare.py <<'PY'
import json, sys
true = {"opened": {"opened"}, "hidden": {"No such file or directory"}, "refused": {"Permission denied"},
        "absent": {"No such file or directory", "Not a directory"}, "read-only": {"Read-only file system"}}
told, certain, wrong = {}, 0, []
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e.get("type") == "file" and e["op"] == "open":
        told.setdefault(e["path"], []).append(e["outcome"])
looks = [line.rstrip("\n").split("|") for line in open(sys.argv[2])]
for path, came in looks:
    outcomes = told.get(path)
    if not outcomes:
        wrong.append(path + " was not told")
    elif outcomes[-1] != "unknown":
        certain += 1
        if came not in true.get(outcomes[-1], ()):
            wrong.append("%s: %s was told, and it was: %s" % (path, outcomes[-1], came))
print("\n".join(wrong) or "%d %d" % (len(looks), certain))
PY

for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level: predictions" || continue
	belljar run -q -p "$level" --record "$scratch/$level.jsonl" opens.py >"$level.true" 2>"$level.errors" </dev/null
	is "$level: the program came to its end" "$? $(cat "$level.errors")" '0 '
	found=$(/usr/bin/python3 -I compare.py "$level.jsonl" "$level.true")
	like "$level: nothing is told that is not so" "$found" '^[0-9]+ [0-9]+$'
	between "$level: and something is" "${found#* }" 15 44
done
plan_end
