#!/bin/bash
# SPDX-License-Identifier: MIT
# What programs try that want more than they were given: memory, processes and CPU time where no control group counts
# them (an ordinary user's case; as root the kernel does, and the same must come of it), and sockets whose empty network
# the target could furnish.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

limit() { got "[l for l in o['limits'] if l['name'] == '$1'][0]['$2']"; } # NAME KEY
# Of the run that was just made. The kernel kills one process and the others go on; the supervisor ends the run.
stopped_by_memory() { # NAME
	if [ "$(limit memory grade)" = kernel ]; then
		is "$1" "$(got '"memory" in [o["verdict"], *o["limits_met"]]')" true
	else
		is "$1" "$(got 'o["verdict"]') $(got '"held" in o["stdout"]')" 'memory false'
	fi
}

hold='
import mmap, os, sys, threading, time
def hold(mebibytes, flags=mmap.MAP_PRIVATE):
    kept = []
    for _ in range(mebibytes // 16):
        m = mmap.mmap(-1, 16 << 20, flags=flags | mmap.MAP_ANONYMOUS)
        for at in range(0, 16 << 20, 4096): m[at] = 1
        kept.append(m)
    return kept
def stay():
    time.sleep(0.5)
    print("held", flush=True)
'
test_memory() {
	local level=$1
	run -p "$level" --memory 128M --wall 20s -l python -c "$hold"'
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        kept = hold(512)
        os.write(w, b"k")
        time.sleep(5)
    os._exit(0)
os.wait()
os.close(w)
if os.read(r, 1) == b"k": stay()
time.sleep(2)' </dev/null
	stopped_by_memory "$level: memory of a daemon counts"
	run -p "$level" --memory 128M --wall 20s -l python -c "$hold"'
def child():
    pid = os.fork()
    if pid == 0:
        kept = hold(512)
        stay()
        os._exit(0)
    os.waitpid(pid, 0)
t = threading.Thread(target=child)
t.start()
t.join()
time.sleep(2)' </dev/null
	stopped_by_memory "$level: memory of the child of a thread counts"
	run -p "$level" --memory 128M --wall 20s -l python -c "$hold"'
for _ in range(6):
    if os.fork() == 0:
        kept = hold(64, mmap.MAP_SHARED)
        stay()
        os._exit(0)
for _ in range(6): os.wait()
time.sleep(2)' </dev/null
	stopped_by_memory "$level: memory that each process shares with nobody counts for each"
	run -p "$level" --memory 128M --wall 20s --input "$tools" -l sh -c "
cp $(probe_path "$level") hidden && chmod 111 hidden && exec ./hidden split-mem 768M 96" </dev/null
	is "$level: memory of a process that hides its parts counts" "$(got 'o["verdict"]')" memory
	run -p "$level" --memory 128M --file-size 1G --wall 20s -l python -c "$hold"'
fds = [os.memfd_create("x") for _ in range(20)]
for fd in fds:
    for _ in range(30): os.write(fd, bytes(1 << 20))
stay()' </dev/null
	stopped_by_memory "$level: memory in files that are not mapped counts"
	run -p "$level" --memory 128M --wall 20s -l python -c "$hold"'
kept = []
for _ in range(16): # what is only read is the page of zeros, which costs nothing; but each 2 MiB cost a page to say so
    m = mmap.mmap(-1, 64 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
    m.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, 64 << 30, 2 << 20): m[at]
    kept.append(m)
stay()' </dev/null
	stopped_by_memory "$level: memory of page tables counts"
	[ "$(limit memory grade)" = kernel ] ||
		like "$level: memory that is not seen is said" "$(limit memory mechanism)" 'pipes and sockets is not seen'
	run -p "$level" --memory 128M --file-size 1G --wall 20s -l python -c "$hold"'
fd = os.memfd_create("x")
os.ftruncate(fd, 64 << 20)
m = mmap.mmap(fd, 64 << 20)
for at in range(0, 64 << 20, 4096): m[at] = 1
more = [os.dup(fd) for _ in range(8)]
for _ in range(3):
    if os.fork() == 0:
        time.sleep(0.3)
        os._exit(0)
stay()' </dev/null
	is "$level: memory in a file that is mapped counts once" "$(got 'o["verdict"]') $(got '"held" in o["stdout"]')" 'ok true'
	run -p "$level" --memory 128M --wall 20s -l python -c '
import ctypes
c = ctypes.CDLL(None, use_errno=True)
c.shmat.restype = ctypes.c_void_p
held = 0
for _ in range(16):
    s = c.shmget(0, ctypes.c_size_t(32 << 20), 0o1600)
    at = c.shmat(s, None, 0) if s >= 0 else None
    if not at: break
    ctypes.memset(at, 1, 32 << 20)
    c.shmdt(ctypes.c_void_p(at))
    held += 32
print("segments", held)' </dev/null
	like "$level: detached segments are bounded by their sum" "$(got 'o["verdict"]') $(got 'o["stdout"]')" \
		'^(memory.*|ok segments (32|64|96|128))$'
	[ "$(limit memory grade)" = kernel ] ||
		is "$level: with a reason" "$(got '"memory" in o["limits_met"] or o["verdict"] == "memory"')" true
	cat >first-thread.c <<-'C'
	#include <pthread.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	#include <sys/syscall.h>
	#include <unistd.h>
	static void *hold(void *unused)
	{
		for (int k = 0; k < 40; k++) {
			memset(malloc(10 << 20), 1, 10 << 20);
			usleep(5000);
		}
		usleep(500000);
		puts("held");
		exit(0);
		return unused;
	}
	int main(void)
	{
		pthread_t t;
		pthread_create(&t, NULL, hold, NULL);
		syscall(SYS_exit, 0);
	}
	C
	here cc "$level: memory of a process whose first thread has ended counts" && {
		run -p "$level" --memory 128M --wall 20s first-thread.c </dev/null
		stopped_by_memory "$level: memory of a process whose first thread has ended counts"
	}
}

# What is there once counts once, and what is only reserved not at all.
test_no_memory() {
	local level=$1
	run -p "$level" --memory 256M --wall 30s -l python -c '
import mmap, os, time
copied = bytearray(b"x") * (100 << 20)
shared = mmap.mmap(-1, 100 << 20)
for at in range(0, 100 << 20, 4096): shared[at] = 1
for _ in range(8):
    if os.fork() == 0:
        for at in range(0, 100 << 20, 4096): copied[at] + shared[at]
        time.sleep(0.5)
        os._exit(0)
for _ in range(8): os.wait()
print("held")' </dev/null
	is "$level: memory that eight processes share counts once" "$(got 'o["verdict"]') $(got 'o["stdout"]')" 'ok held'
	# Between vfork and execve a child is in its parent's memory: subprocess does so three hundred times.
	run -p "$level" --memory 128M --wall 30s -l python -c '
import subprocess
hold = bytearray(b"x") * (70 << 20)
for _ in range(300): subprocess.run(["/bin/true"])
print("held")' </dev/null
	is "$level: memory that a child of vfork is in counts once" "$(got 'o["verdict"]') $(got 'o["stdout"]')" 'ok held'
	cat >reserves.c <<-'C'
	#include <pthread.h>
	#include <stdio.h>
	#include <sys/mman.h>
	#include <unistd.h>
	static void *stay(void *x)
	{
		usleep(300000);
		return x;
	}
	int main(void)
	{
		char *none = mmap(NULL, 1L << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		char *lazy = mmap(NULL, 1L << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		pthread_attr_t large;
		pthread_t t[40];
		int n = 0;
		pthread_attr_init(&large);
		pthread_attr_setstacksize(&large, 64 << 20);
		while (n < 40 && pthread_create(&t[n], &large, stay, NULL) == 0)
			n++;
		for (int k = 0; k < n; k++)
			pthread_join(t[k], NULL);
		printf("%d %d %d\n", none != MAP_FAILED && !mprotect(none, 1 << 20, PROT_READ | PROT_WRITE), lazy != MAP_FAILED, n);
	}
	C
	here cc "$level: what is only reserved is not refused" && {
		run -p "$level" --memory 128M reserves.c </dev/null
		is "$level: what is only reserved is not refused" "$(got 'o["verdict"]') $(got 'o["stdout"]')" 'ok 1 1 40'
	}
}

test_processes() {
	local level=$1
	run -p "$level" --processes 16 --wall 20s -l python -c '
import os, select, time
r, w = os.pipe()
for _ in range(40):
    try: pid = os.fork()
    except OSError: continue
    if pid == 0:
        os.setsid()
        try:
            if os.fork() == 0:
                os.write(w, b"d")
                time.sleep(3)
        except OSError: pass
        os._exit(0)
    os.waitpid(pid, 0)
time.sleep(0.2)
print(len(os.read(r, 100)))' </dev/null
	between "$level: processes: daemons count" "$(got 'o["stdout"]')" 5 16
	run -p "$level" --processes 16 --wall 20s -l python -c '
import os, threading, time
made = 0
def forks():
    global made
    for _ in range(40):
        try: pid = os.fork()
        except OSError: return
        if pid == 0:
            time.sleep(2)
            os._exit(0)
        made += 1
t = threading.Thread(target=forks)
t.start()
t.join()
print(made, flush=True)
os._exit(0)' </dev/null
	between "$level: processes: children of a thread count" "$(got 'o["stdout"]')" 5 16
}

test_cpu() {
	local level=$1
	run -p "$level" --cpu 1s --wall 15s -l python -c '
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    r, w = os.pipe()
    if os.fork() == 0:
        end = time.process_time() + 0.3
        while time.process_time() < end: pass
        os._exit(0)
    os.close(w)
    os.read(r, 1)
    os.close(r)' </dev/null
	is "$level: cpu: children that nobody waits for count" "$(got 'o["verdict"]')" cpu-time
	run -p "$level" --cpu 8s --wall 15s -l python -c '
import os
for _ in range(60):
    if os.fork() == 0:
        for _ in range(100000): pass
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()' </dev/null
	is "$level: cpu: those that are waited for count once" "$(got 'o["verdict"]')" ok
	run -p "$level" --cpu 2s -l python -c '
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
try: resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
except (OSError, ValueError): print("kept", resource.getrlimit(resource.RLIMIT_CPU) == (soft, hard))' </dev/null
	is "$level: cpu: the soft limit stays where it is" "$(got 'o["stdout"]')" 'kept True'
	like "$level: cpu: and that is told" "$(event 'of("denied")')" '"rule": "limits"'
}

test_network() {
	local level=$1
	run -p "$level" -l python -c '
import ctypes, fcntl, socket, struct
def told(name, call, *args):
    try: call(*args); print(name, "OK")
    except OSError as e: print(name, e.errno)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
flags = struct.pack("16sh22x", b"lo", 0)
told("ask", fcntl.ioctl, s, 0x8913, flags)
told("up", fcntl.ioctl, s, 0x8914, struct.pack("16sh22x", b"lo", 0x49))
told("address", fcntl.ioctl, s, 0x8916, flags)
told("route", fcntl.ioctl, s, 0x890b, bytes(120))
for kind in socket.SOCK_RAW, 10: told("raw", socket.socket, socket.AF_INET, kind, 1)
told("rules", s.getsockopt, socket.SOL_IP, 64, 84)
told("rules6", s.setsockopt, 41, 64, bytes(84))
told("class", s.setsockopt, socket.SOL_IP, socket.IP_TOS, 16)
l = socket.socket()
told("bind", l.bind, ("127.0.0.1", 0))
l.listen()
told("loop", socket.create_connection, l.getsockname())' </dev/null
	is "$level: what configures a network is refused, what asks is not" \
		"$(got 'o["stdout"]' | head -9 | tr '\n' ' ')" \
		'ask OK up 1 address 1 route 1 raw 1 raw 1 rules 1 rules6 1 class OK '
	for rule in net-config raw netfilter; do
		like "$level: and told: $rule" "$(event 'of("denied")')" "\"rule\": \"$rule\""
	done
	[ "$level" != subprocess ] ||
		like "$level: the loopback cannot be reached" "$(got 'o["stdout"]')" '^loop (101|99|111)$'
}

# The helper that makes the sockets is a child of the supervisor, as is the target, whose number the target tells.
test_helper() {
	local target supervisor child result=$scratch/stalled
	belljar run --json -p subprocess --wall 30s -l python -c '
import os, socket, time
def ask():
    began = time.monotonic()
    try: socket.socket().close(); said = "OK"
    except OSError as e: said = str(e.errno)
    return said + (" in time" if time.monotonic() - began < 5 else " late")
print(os.getpid(), ask(), flush=True)
open("'"$scratch"'/told", "w").write(str(os.getpid()))
while not os.path.exists("'"$scratch"'/stopped"): time.sleep(0.02)
print(ask(), flush=True)
print(ask(), flush=True)' >"$result" 2>"$scratch/errors" </dev/null &
	local run=$!
	if wait_until 10 test -s told; then
		target=$(cat told)
		supervisor=$(awk '{ print $4 }' "/proc/$target/stat")
		read -ra children <"/proc/$supervisor/task/$supervisor/children"
		for child in "${children[@]}"; do
			[ "$child" = "$target" ] || kill -STOP "$child"
		done
	fi
	: >stopped
	wait $run
	is 'subprocess: a stopped helper costs one answer, and another takes its place' \
		"$(json 'o["stdout"]' "$result" | sed 's/^[0-9]* OK/OK/' | xargs)" 'OK in time 1 in time OK in time'
}

for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level" || continue
	test_memory "$level"
	test_no_memory "$level"
	test_processes "$level"
	test_cpu "$level"
	test_network "$level"
done
here user 'subprocess: a stopped helper' && test_helper
plan_end
