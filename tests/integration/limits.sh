#!/bin/bash
# SPDX-License-Identifier: MIT
# Every limit at each level: what the run comes to, by which evidence, and with which grade it was promised.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

limit() { got "[l for l in o['limits'] if l['name'] == '$1'][0]['$2']"; } # NAME KEY
met() { got "'$1' in o['limits_met']"; }

test_time() {
	local level=$1
	run -p "$level" --wall 400ms -l python -c 'import time; print("tick", flush=True); time.sleep(30)' </dev/null
	is "$level: wall: verdict and status" "$(got 'o["verdict"]') $status" 'wall-time 124'
	between "$level: wall: it struck in time" "$(got 'o["wall_s"]')" 0.4 2
	between "$level: wall: the CPU time is another figure" "$(got 'o["cpu_s"]')" 0 0.35
	is "$level: wall: what was printed before is kept" "$(got 'o["stdout"]')" tick
	is "$level: wall: its grade" "$(limit wall grade)" supervisor
	is "$level: wall: asked and enforced agree" "$(limit wall asked) $(limit wall enforced)" \
		"$(limit wall asked) $(limit wall asked)"
	like "$level: wall: the evidence says so" "$(got 'o["evidence"]')" '0\.4|400'

	run -p "$level" --cpu 1s --wall 8s -l python -c 'while True: pass' </dev/null
	is "$level: cpu: verdict and status" "$(got 'o["verdict"]') $status" 'cpu-time 124'
	# RLIMIT_CPU counts ticks, the figure what was run: on a busy virtual machine a tick is charged to who had a part of it.
	between "$level: cpu: the kernel struck at a second by its own count" \
		"$(got 'o["evidence"]' | sed -n 's/.*SIGXCPU at \([0-9.]*\) s by its ticks.*/\1/p')" 1 1.05
	between "$level: cpu: about a second was used" "$(got 'o["cpu_s"]')" 0.5 2.5
	like "$level: cpu: its grade" "$(limit cpu grade)" '^(kernel|sampled)$'

	run -p "$level" --cpu 1s --wall 8s -l python -c '
import os, signal, time
while time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID) < 0.6: pass
os.kill(os.getpid(), signal.SIGXCPU)' </dev/null
	is "$level: cpu: the same signal from the program itself" "$(got 'o["verdict"]') $status" 'signalled 152'

	run -p "$level" --cpu 1s --wall 8s -l python -c '
import os
for _ in range(3): os.fork()
while True: pass' </dev/null
	is "$level: cpu: a tree counts as one" "$(got 'o["verdict"]')" cpu-time
	between "$level: cpu: and is stopped as one" "$(got 'o["cpu_s"]')" 0.8 4
}

test_memory() {
	local level=$1
	probe "$level" --memory 64M mem 16M
	is "$level: memory: what fits, fits" "$(got 'o["stdout"]')" OK
	run -p "$level" --memory 64M -l python -c 'x = bytearray(1 << 29); print("held")' </dev/null
	is "$level: memory: one large piece" "$(got 'o["verdict"]') $(got '"held" in o["stdout"]')" 'memory false'
	like "$level: memory: its grade" "$(limit memory grade)" '^(kernel|supervisor|sampled)$'
	like "$level: memory: evidence" "$(got 'o["evidence"]')" '[Mm]emory|oom|MiB|ENOMEM'
	run -p "$level" --memory 64M -l python -c '
hold = []
for step in range(64):
    block = bytearray(8 << 20)
    for i in range(0, len(block), 4096): block[i] = 1
    hold.append(block)
print("held")' </dev/null
	is "$level: memory: many small pieces" "$(got 'o["verdict"]') $(got '"held" in o["stdout"]')" 'memory false'
	between "$level: memory: the peak is near the limit" "$(got 'o["memory_peak"]')" 50000000 250000000
	run -p "$level" --memory 64M -l python -c '
import os, time
for n in range(8):
    if os.fork() == 0:
        hold = bytearray(24 << 20)
        for i in range(0, len(hold), 4096): hold[i] = 1
        time.sleep(20)
        os._exit(0)
for n in range(8): os.wait()
time.sleep(20)' --wall 15s </dev/null
	like "$level: memory: a tree counts as one" "$(got 'o["verdict"]') $(met memory)" '^memory|true$'
	run -p "$level" --memory 64M -l python -c '
try:
    x = bytearray(1 << 29)
except MemoryError:
    pass
print("went on")' </dev/null
	like "$level: memory: a program that copes is no failure, or was stopped" \
		"$(got 'o["verdict"]') $(got 'o["stdout"]')" '^(ok went on|memory )'
	# malloc() asks twice, by mmap and by brk, of which the second is granted; this asks once.
	run -p "$level" --memory 64M -l python -c '
import mmap
try: mmap.mmap(-1, 1 << 29, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
except OSError as e: print(e.errno)' </dev/null
	if [ "$(limit memory grade)" = kernel ]; then
		is "$level: memory: what is only mapped is not held" "$(got 'o["verdict"]') $(got 'o["stdout"]') $(met memory)" 'ok  false'
	else
		is "$level: memory: an answered ENOMEM that was handled is told" \
			"$(got 'o["verdict"]') $(got 'o["stdout"]') $(met memory)" 'ok 12 true'
	fi
	run -p "$level" --memory 64M -l python -c '
import os
if os.fork() == 0:
    hold = [bytearray(b"x") * (8 << 20) for _ in range(20)]
    os._exit(0)
print(os.waitstatus_to_exitcode(os.wait()[1]))' </dev/null
	if [ "$(limit memory grade)" = kernel ]; then # the kernel takes one process, the supervisor ends the run
		is "$level: memory: a child that was killed for it, handled" \
			"$(got 'o["verdict"]') $(got 'o["stdout"]') $(met memory)" 'ok -9 true'
	else
		is "$level: memory: a child over the limit ends the run" "$(got 'o["verdict"]') $status" 'memory 137'
	fi
}

test_counts() {
	local level=$1
	probe "$level" --open-files 32 descriptors 100
	like "$level: open files: refused beyond the limit" "$(got 'o["stdout"]')" '^opened [0-9]+ EMFILE$'
	between "$level: open files: not before it" "$(got 'o["stdout"].split()[1]')" 24 32
	is "$level: open files: its grade" "$(limit open_files grade)" kernel

	probe "$level" --file-size 1M write big 8M
	like "$level: file size: the file ends at the limit" "$(got 'o["stdout"]')" '^wrote 1048576 EFBIG$'
	is "$level: file size: its grade" "$(limit file_size grade)" kernel
	run -p "$level" --file-size 1M -- /bin/sh -c 'exec head -c 8388608 /dev/zero >big' </dev/null
	is "$level: file size: the signal is named for what it is" "$(got 'o["verdict"]')" write-space
	probe "$level" --file-size 1M write big 1M
	is "$level: file size: what fits just so" "$(got 'o["stdout"]')" 'wrote 1048576 OK'
	run -p "$level" --file-size 1M -l python -c '
try:
    with open("big", "wb", 0) as f:
        while True: f.write(bytes(1 << 18))
except OSError as e: print(e.errno)' </dev/null
	is "$level: file size: met and handled" "$(got 'o["verdict"]') $(got 'o["stdout"]') $(met file_size)" 'ok 27 true'
	head -c 1M /dev/urandom >just-so
	run -p "$level" --file-size 1M --input "$scratch/just-so" -l sh -c 'exit 1' </dev/null
	is "$level: file size: an input of that size is none of its doing" "$(got 'o["verdict"]') $(met file_size)" 'failed false'
	run -p "$level" --open-files 32 -l python -c '
import os
try:
    while True: os.dup(0)
except OSError as e: print(e.errno)' </dev/null
	is "$level: open files: the kernel tells nobody of a refusal, and none is claimed" \
		"$(got 'o["verdict"]') $(got 'o["stdout"]') $(met open_files)" 'ok 24 false'
	like "$level: open files: and that is said" "$(limit open_files mechanism)" 'refusal'

	probe "$level" --processes 16 fork 64
	if [ "$(limit processes grade)" != none ]; then
		unlike "$level: processes: the flood does not get all it wants" "$(got 'o["stdout"]')" '^forked 64 OK'
		between "$level: processes: the peak is at most the limit and what samples miss" "$(got 'o["processes_peak"]')" 2 40
	else
		is "$level: processes: grade none stops the run before it starts" "$(got 'o["verdict"]') $status" 'setup-error 125'
	fi
	if [ "$level" = namespaces ]; then
		is "$level: processes: verdict" "$(got 'o["verdict"]')" processes
		is "$level: processes: grade" "$(limit processes grade)" kernel
		between "$level: processes: forks that did work" "$(got 'o["stdout"].split()[1]')" 10 16
	fi
	run -p "$level" --processes 16 -l python -c '
import os, time
for n in range(64):
    try:
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
    except OSError as e:
        print(e.errno)
        break' </dev/null
	is "$level: processes: met and handled" "$(got 'o["verdict"]') $(got 'o["stdout"]') $(met processes)" 'ok 11 true'
}

test_output() {
	local level=$1
	run -p "$level" --output-limit 64K --input "$tools" -- "$(probe_path "$level")" output 1M </dev/null
	is "$level: output: the default drops and goes on" "$(got 'o["verdict"]') $status" 'ok 0'
	between "$level: output: what was kept" "$(got 'len(o["stdout"])')" 60000 65536
	is "$level: output: kept and dropped are all of it" "$(got 'len(o["stdout"]) + o["stdout_dropped"]')" "$((1048576 + 3))"
	is "$level: output: it is told as met" "$(met output)" true
	is "$level: output: its grade" "$(limit output grade)" supervisor
	sed 's/^name = .*/name = loud/; s/^summary.*/summary = stops what talks too much/' "$here/presets/$level.ini" |
		sed '/^on_output_limit/d; s/^\[limits\]/[limits]\non_output_limit = stop/' >"$scratch/loud.ini"
	run -p ./loud.ini --output-limit 64K --input "$tools" -- "$(probe_path "$level")" output 64M </dev/null
	is "$level: output: on_output_limit = stop" "$(got 'o["verdict"]') $status" 'output 137'
}

test_space() { # where every writable place is one sized file system
	probe namespaces --space 4M --file-size 64M write /tmp/big 16M
	like 'namespaces: space: the file system is full' "$(got 'o["stdout"]')" '^wrote [0-9]+ ENOSPC$'
	between 'namespaces: space: at the limit' "$(got 'o["stdout"].split()[1]')" 3500000 4194304
	is 'namespaces: space: grade' "$(limit space grade)" kernel
	run -p namespaces --space 4M --file-size 64M -l sh -c 'for d in /tmp /workspace; do head -c 3M /dev/zero >$d/half; done' </dev/null
	unlike 'namespaces: space: two places share one total' "$(got 'o["verdict"]')" '^ok$'
	probe namespaces --inodes 100 inodes /tmp 1000
	like 'namespaces: inodes: refused beyond the limit' "$(got 'o["stdout"]')" '^made [0-9]+ ENOSPC$'
	between 'namespaces: inodes: at the limit' "$(got 'o["stdout"].split()[1]')" 80 100
	is 'namespaces: inodes: grade' "$(limit inodes grade)" kernel
}

test_promises() { # what is asked and cannot be had is told, never silently dropped
	local level=$1
	run -p "$level" -l sh -c 'echo x' </dev/null
	is "$level: asked is what the preset says" "$(limit wall asked)" "$(json 'first(of("start"))["limits"]' "$(got 'o["recording"]')" |
		json '[l["asked"] for l in o if l["name"] == "wall"][0]')"
	is "$level: where a limit is asked for, it is enforced as asked" \
		"$(got '[l["name"] for l in o["limits"] if l["asked"] is not None and l["grade"] == "kernel" and l["enforced"] not in (l["asked"], None) and l["enforced"] > l["asked"]]')" '[]'
	is "$level: no limit that was asked for has grade none" \
		"$(got '[l["name"] for l in o["limits"] if l["asked"] is not None and l["grade"] == "none"]')" '[]'
	run -p "$level" --memory unlimited -l sh -c 'echo x' </dev/null
	is "$level: unlimited is null" "$(limit memory asked)" null
	run -p "$level" --memory 8M --processes 1 -l python -c 'import os; os.fork()' </dev/null
	unlike "$level: a limit in which nothing can run is said, not hidden" "$(got 'o["verdict"]')" '^ok$'
}

for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level" || continue
	test_time "$level"
	test_memory "$level"
	test_counts "$level"
	test_output "$level"
	[ "$level" = subprocess ] || test_space
	test_promises "$level"
done
plan_end
