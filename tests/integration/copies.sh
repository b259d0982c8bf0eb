#!/bin/bash
# SPDX-License-Identifier: MIT
# Two runs in copies of one saved machine: what would give the one away to the other is drawn anew in each, the time is
# the host's, nothing that the one left is there for the other; and what they have in common is what the manual says.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
here microvm 'copies of a machine' || plan_end

# name = a secret, an identity or a place that a program might take for its own
cat >draws.py <<'PY'
import ctypes, glob, multiprocessing, os, random, secrets, tempfile, time, uuid

print("urandom =", os.urandom(16).hex())
print("secrets =", secrets.token_hex(16))
print("random =", random.random())
print("uuid =", uuid.uuid4())
print("node =", uuid.getnode())
print("authkey =", bytes(multiprocessing.current_process().authkey).hex())
print("temporary =", tempfile.mktemp())
print("boot =", open("/proc/sys/kernel/random/boot_id").read().strip())
print("late =", abs(time.time() - float(os.environ["SENT"])) > 60)
print("left =", glob.glob("/tmp/*"))
print("hash =", hash("belljar"))
print("address =", ctypes.addressof(ctypes.pythonapi.Py_IsInitialized))
open("/tmp/left", "w").write("by a run")
PY
draw() { timeout 170 "$BELLJAR" run -q --no-record -p microvm --env "SENT=$(date +%s)" draws.py 2>errors || cat errors; }
value() { sed -n "s/^$1 = //p" "$2"; }

draw >one
draw >other
for what in urandom secrets random uuid node authkey temporary boot; do
	[ -n "$(value "$what" one)" ] && [ "$(value "$what" one)" != "$(value "$what" other)" ]
	report $? "$what is drawn anew" "$(value "$what" one)" "$(value "$what" other)"
done
is "the time is the host's" "$(value late one) $(value late other)" 'False False'
is 'nothing is left of the one' "$(value left other)" '[]'
for what in hash address; do
	is "Python: $what is the saved machine's" "$(value "$what" one)" "$(value "$what" other)"
done

# A program that is executed has an address layout of its own.
printf '%s\n' 'exec cat /proc/self/maps' >maps.sh
maps() { timeout 170 "$BELLJAR" run -q --no-record -p microvm maps.sh 2>errors | sed -n '1s/-.*//p'; }
one=$(maps) other=$(maps)
[ -n "$one" ] && [ "$one" != "$other" ]
report $? 'a program that is executed has a layout of its own' "$one" "$other"
plan_end
