#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that must work in a sandbox, or be refused politely: one table, run at each level where they are installed.
# Larger ones lie in tests/programs, which the commands see as $d.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

# A busy machine must not fail a program here, so all have more time than they need. What else they need over the
# level's own limits stands in their rows: a JVM starts threads by the number of the machine's cores.
patience=(--wall 120s --cpu 120s)

# name | needs: of tests/probes/here, a bare name is a program in /usr/bin | level: its first letter, - is each |
# options | refused calls, exactly these | right output, an ERE over its words | command for sh
programs='
python           | python3        | - | - | -      | hello                                | python3 -c "print(\"hello\")"
pip list         | python:pip     | - | - | -      | pip                                  | python3 -m pip list 2>/dev/null | grep -ow "^pip"
venv             | python:venv    | - | - | -      | True                                 | python3 -m venv --without-pip v; v/bin/python3 -c "import sys; print(sys.prefix != sys.base_prefix)"
unittest         | python3        | - | - | -      | Ran 3 tests in [0-9.]+s OK           | cd $d/suite; python3 -m unittest -q 2>&1 | grep -v ^-
pytest           | python:pytest  | - | - | -      | 3 passed in [0-9.]+s                 | cd $d/suite; python3 -m pytest -q -p no:cacheprovider | grep passed
pool by fork     | python3        | - | - | -      | 328350                               | python3 $d/pools.py fork
pool by server   | python3        | - | - | -      | 328350                               | python3 $d/pools.py forkserver
pool by spawn    | python3        | - | - | -      | 328350                               | python3 $d/pools.py spawn
pool of futures  | python3        | - | - | -      | 328350                               | python3 $d/pools.py futures
pool of threads  | python3        | - | - | -      | 328350                               | python3 $d/pools.py threads
asyncio child    | python3        | - | - | -      | there and back 0                     | python3 $d/loops.py child
asyncio server   | python3        | n | - | -      | ONE TWO THREE                        | python3 $d/loops.py server
asyncio signals  | python3        | - | - | -      | caught                               | python3 $d/loops.py signals
flock            | python3        | - | - | -      | held: True                           | python3 $d/system.py flock
temporary files  | python3        | - | - | -      | \[.name.\] 4096                      | python3 $d/system.py temporary
memfd            | python3        | - | - | -      | sealed                               | python3 $d/system.py memfd
inotify          | python3        | - | - | -      | created: new                         | python3 $d/system.py inotify
own limits       | python3        | - | - | -      | Too many open files True             | python3 $d/system.py limits
pty              | python3        | - | - | -      | True 80                              | python3 $d/system.py terminal
sh on a pty      | python3        | - | - | -      | /dev/pts/N 0                         | python3 $d/system.py shell_on_terminal
interval timer   | python3        | - | - | -      | rang True                            | python3 $d/system.py timer
shared mmap      | python3        | - | - | -      | sum 10                               | python3 $d/system.py shared_map
code made anew   | python3        | - | - | -      | squared 144                          | python3 $d/system.py machine_code
ctypes callback  | python3        | - | - | -      | \[1, 2, 3, 4, 5\]                    | python3 $d/system.py callback
shared memory    | python3        | - | - | -      | seen 42                              | python3 $d/system.py shared_memory
semaphore        | python3        | - | - | -      | passed 0                             | python3 $d/system.py semaphore
message queue    | python3        | - | - | -      | hello                                | python3 $d/system.py message_queue
System V memory  | python3        | - | - | -      | shared                               | python3 $d/system.py system_v
scrypt           | python3        | - | - | -      | fdbabe1c9d347200 ba7816bf            | python3 $d/system.py hashes
TLS              | python3 openssl | - | - | -     | TLSv1.3 under glass                  | python3 $d/system.py tls
passed sockets   | python3        | - | - | -      | 1 through                            | python3 $d/system.py sockets
curses           | python:curses  | - | - | -      | True 0                               | python3 $d/system.py curses_screen
sqlite3 in WAL   | python:sqlite3 | - | - | -      | wal 499500                           | python3 $d/system.py database
time zones       | zoneinfo python3 | - | - | -    | 2024-07-01T21:00:00\+09:00 True      | python3 $d/system.py time_zone
locale           | python3        | - | - | -      | C.UTF-8 Z a z ö                      | python3 $d/system.py sort_order
numpy            | python:numpy   | - | - | -      | 499500 True                          | python3 -c "import numpy as n; a = n.ones((300, 300)); print(n.arange(1000).sum(), (a @ a == 300).all())"
sqlite3          | sqlite3        | - | - | -      | wal 3                                | sqlite3 x.db "pragma journal_mode = wal; create table t (n); insert into t values (1), (2); select sum(n) from t"
C, threads       | gcc            | - | --processes 128 | - | threads 96 sum 4656000      | gcc -O2 -pthread -o t $d/threads.c && ./t 96
C, linked anew   | gcc            | - | - | -      | threads 4 sum 10000                  | gcc -O2 -flto -pipe -pthread -o t $d/threads.c && ./t
OpenMP           | gcc            | - | - | -      | threads 8 sum 500500                 | gcc -fopenmp -o t $d/openmp.c && ./t
C++              | g++            | - | - | -      | thrown in a thread a 1               | g++ -std=c++17 -pthread -o t $d/words.cpp && ./t
clang            | clang          | - | - | -      | threads 4 sum 10000                  | clang -pthread -o t $d/threads.c && ./t
make             | make gcc       | - | - | -      | threads 4 sum 10000                  | cp $d/threads.c .; printf "all: a b\n\t./a\na b: threads.c\n\tcc -pthread -o \$@ threads.c\n" >Makefile; make -s -j2
cmake            | cmake ninja cc | - | - | -      | threads 4 sum 10000                  | cp $d/threads.c .; printf "cmake_minimum_required(VERSION 3.10)\nproject(t C)\nadd_executable(t threads.c)\n" >CMakeLists.txt; cmake -G Ninja . >log && ninja >log && ./t
perl             | perl           | - | - | -      | 3 abc                                | perl -e "if (!fork) { exit 3 } wait; print \$? >> 8, \" \", join(\"\", sort qw(b c a)), \"\n\""
awk and sed      | awk sed        | - | - | -      | 55 done                              | seq 10 | awk "{ s += \$1 } END { print s }" | sed "s/\$/ done/"
bash             | bash           | - | - | -      | job 3 killed 137 through the coprocess b trapped | bash $d/jobs.sh 2>/dev/null
tar and xz       | tar xz gzip    | - | - | -      | same same                            | cp -r $d p; for z in xz gzip; do mkdir $z.d; tar -cf - p | $z | $z -d | tar -xf - -C $z.d && diff -r p $z.d/p && echo same; done
find and xargs   | find xargs     | - | - | -      | 20                                   | touch $(seq 20); find . -name "[0-9]*" -print0 | xargs -0 -n 1 -P 4 sh -c "echo x" | wc -l
node             | node           | - | - | -      | 42                                   | node -e "console.log([1, 2, 39].reduce((a, b) => a + b))"
node WebAssembly | node           | - | - | -      | gcd 21                               | node $d/wasm.js
node workers     | node           | - | - | -      | sum 10000                            | node $d/workers.js
node child       | node           | - | - | -      | from a child 0                       | node -e "const c = require(\"child_process\").spawnSync(\"echo\", [\"from a child\"]); console.log(String(c.stdout).trim(), c.status)"
node server      | node           | n | - | -      | served /page                         | node $d/serve.js
java             | javac java     | - | --processes 128 | - | primes 1229 primes 1229     | javac -d . $d/Primes.java && for m in 32 96; do java -Xmx${m}m Primes; done
java, as it is   | javac java     | - | --processes 128 --memory 512M | - | primes 1229   | java $d/Primes.java
go               | go             | - | --processes 128 | - | total 100000000             | export GOCACHE=$PWD/cache; go build -p 2 -o busy $d/busy.go && ./busy
rust             | rustc          | - | --memory 512M | - | 45                            | echo "fn main() { println!(\"{}\", (0..10).sum::<i32>()) }" >m.rs; rustc m.rs && ./m
ruby             | ruby           | - | - | -      | 140 3                                | ruby -e "p 8.times.map { |i| Thread.new { i * i } }.sum(&:value); Process.wait(fork { exit 3 }); p \$?.exitstatus"
lua              | lua            | - | - | -      | 6                                    | lua -e "print(#string.rep(\"ab\", 3))"
php              | php            | - | - | -      | 6                                    | php -r "echo array_sum([1, 2, 3]);"
git              | git            | - | - | -      | third second first                   | sh $d/repository.sh
openssl          | openssl        | - | - | -      | Verified OK                          | openssl genpkey -algorithm ed25519 -out k 2>/dev/null; openssl pkey -in k -pubout -out p; openssl ecparam -genkey -name prime256v1 -out e; openssl ec -in e -pubout -out ep 2>/dev/null; openssl dgst -sha256 -sign e -out s k && openssl dgst -sha256 -verify ep -signature s k
ssh-keygen       | ssh-keygen     | - | - | -      | 256 SHA256:[^ ]+ note \(ED25519\)    | ssh-keygen -q -t ed25519 -N "" -C note -f key && ssh-keygen -lf key.pub
bc               | bc             | - | - | -      | 1267650600228229401496703205376      | echo "2^100" | bc
jq               | jq             | - | - | -      | 6                                    | echo "[1, 2, 3]" | jq add
tput             | tput           | - | - | -      | 80 256                               | export TERM=xterm-256color; tput cols; tput colors
tmux             | tmux           | - | - | -      | in a pane                            | unset TMUX; tmux -S s -f /dev/null new-session -d "echo in a pane >said; exec cat"; until [ -s said ]; do sleep 0.02; done; cat said; tmux -S s kill-server
vim              | vim            | - | - | -      | line two                             | printf "line one\n" >f; vim -es -u NONE -c "s/one/two/" -c "wq" f; cat f
ed               | ed             | - | - | -      | line two                             | printf "line one\n" >f; printf "s/one/two/\nwq\n" | ed -s f; cat f
script           | script         | - | - | -      | typed                                | script -qec "echo typed" /dev/null | tr -d "\r"
gdb              | gdb            | - | - | ptrace | not permitted after 0                | gdb -nx -batch -ex run --args true 2>&1 | grep -o "not permitted" | uniq; echo "after $?"
strace           | strace         | - | - | ptrace | not permitted after 1                | strace -o log true 2>err; s=$?; grep -o "not permitted" err | uniq; echo "after $s"
unshare          | unshare        | - | - | unshare | not permitted                       | unshare --user true 2>&1 | grep -o "not permitted"
'

trim() { # VARIABLE...
	local -n text
	for text; do
		text=${text#"${text%%[! ]*}"} text=${text%"${text##*[! ]}"}
	done
}

has_all() { # NAME NEED...
	local name=$1 need
	shift
	for need; do
		case $need in
		*:* | zoneinfo) ;;
		*) need=program:/usr/bin/$need ;;
		esac
		here "$need" "$name" || return 1
	done
}

try() { # LEVEL: the row's program, in variables of the caller
	local told
	run -p "$1" "${patience[@]}" "${limits[@]}" --input "$here/tests/programs" -l sh \
		-c "d=\$PWD/data; [ -d \"\$d\" ] || d=/data; $command" </dev/null
	told=$(got '" ".join([o["verdict"], "+".join(sorted({d["call"] for d in o["denied"] if d["outcome"] == "refused"})) or "-"]
		+ o["stdout"].split())')
	[[ $told =~ ^ok\ $refused\ $right$ ]] && report 0 "$1: $name" && return
	report 1 "$1: $name" "got:  $told" "want: ok $refused $right" \
		"$(got '[o["evidence"], o["stderr"]]' | head -c 2000)" "$(errors | head -c 600)"
}

while IFS='|' read -r name needs where options refused right command; do
	trim name needs where options refused right command
	[ "$options" != - ] || options=
	[ -n "$name" ] || continue
	read -ra limits <<<"$options"
	read -ra needed <<<"$needs"
	for level in $levels; do
		[[ $where == - || $level == "$where"* ]] || continue
		[ "$level" = subprocess ] || here userns "$level: $name" || continue
		has_all "$level: $name" "${needed[@]}" && try "$level"
	done
done <<<"$programs"
plan_end
