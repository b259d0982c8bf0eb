#!/bin/bash
# SPDX-License-Identifier: MIT
# The doctor: each probe made to fail once by a real situation of the kernel, as far as a test can bring it about (what it
# cannot, tests/unit/test_doctor.c decides on recorded facts); that a run agrees with it; that it leaves nothing.
. "$(dirname "$0")/lib.sh"
own_cache
cd "$scratch" || exit 1
mkdir tmp shims && chmod 1777 tmp
export TMPDIR=$scratch/tmp PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# A program of its own name: its processes can be told from those of others.
cp "$BELLJAR" "$scratch/the-doctor" && chmod 755 "$scratch/the-doctor"
# A microVM makes images and a snapshot at its first start, and needs a guest that was built: test_microvm is about it.
BELLJAR_DATA=$scratch/data
mkdir data && cp -R "$here/presets" data && rm data/presets/{microvm,research}.ini
export BELLJAR_DATA
shipped=$(find "$BELLJAR_DATA/presets" -maxdepth 1 -name '*.ini' | wc -l)

# examined: what is to be run where something is wrong. `result` is what the doctor says, `status` its status; each preset
# is then started, and `agree` tells where the two differ.
cat >examined <<'SH'
#!/bin/sh
"$BELLJAR" doctor --json >"$SCRATCH/result" 2>"$SCRATCH/errors"
echo $? >"$SCRATCH/status"
for preset in subprocess namespaces; do
	"$BELLJAR" run -q -p $preset -- /bin/true </dev/null >/dev/null 2>"$SCRATCH/errors.$preset"
	echo $? >"$SCRATCH/status.$preset"
done
SH
chmod 755 examined
export BELLJAR SCRATCH=$scratch

state() { got "first([f['state'] for f in o['findings'] if f['code'] == '$1'])"; }
told() { got "first([f['fact'] + ' | ' + f['remedy'] for f in o['findings'] if f['code'] == '$1'])"; }
strikes() { got "' '.join(first([f['presets'] for f in o['findings'] if f['code'] == '$1']))"; }
cannot() { got "sorted({p for f in o['findings'] if f['state'] == 'missing' for p in f['presets']})"; }

found() { # SITUATION CODE STATE ERE: a finding, and what it tells
	is "$1: $2" "$(state "$2")" "$3"
	like "$1: $2: the fact and the remedy" "$(told "$2")" "$4"
}

# What the doctor says of the two levels is what comes of them; a refused start names a code that is missing.
agrees() { # SITUATION
	local preset code
	for preset in subprocess namespaces; do
		if [[ $(cannot) == *"\"$preset\""* ]]; then
			is "$1: a run agrees: $preset" "$(cat "status.$preset")" 125
			code=$(sed -n 's/^belljar: \([a-z0-9-]*\): .*/\1/p' "errors.$preset")
			is "$1: and names the code" "$(state "${code:-none}")" missing
		else
			is "$1: a run agrees: $preset" "$(cat "status.$preset")" 0
		fi
	done
}

own() { unshare -U -r "$@"; } # a user namespace of the test's own, and what else is asked for

test_words() {
	local text columns
	text=$(belljar doctor)
	is 'status' $? "$(belljar doctor --json >result; echo $?)"
	is 'the table fits 80 columns' "$(printf '%s\n' "$text" | sed '$d' | awk 'length($0) > 80' | wc -l)" 0
	is 'a row a finding' "$(printf '%s\n' "$text" | grep -cE '^(ok|weak|missing|unknown) +[^ ]')" "$(got 'len(o["findings"])')"
	is 'a part a finding that is weak or missing' "$(printf '%s\n' "$text" | grep -cE '^(weak|missing): [a-z-]+$')" \
		"$(got 'len([f for f in o["findings"] if f["state"] in ("weak", "missing")])')"
	like 'the last line is about presets' "$(printf '%s\n' "$text" | tail -n 1)" '^Presets here: .*namespaces.*\.$'
	unlike 'no escapes where there is no terminal' "$text" $'\033'
	is 'codes are unique' "$(got 'len({f["code"] for f in o["findings"]}) == len(o["findings"])')" true
	is 'the host is told' "$(got 'o["host"]["kernel"]')" "$(uname -r)"
	is 'and who asks' "$(got 'o["uid"]')" "$(id -u)"
	is 'a remedy stands where something is wrong, and only there' \
		"$(got 'all((f["state"] in ("weak", "missing")) == bool(f["remedy"]) for f in o["findings"])')" true
	columns=$(belljar doctor --color always | grep -c $'^\033\\[3.m\\(ok\\|weak\\|missing\\|unknown\\) ')
	is 'words come before colours' "$columns" "$(got 'len(o["findings"])')"
}

test_refusals() {
	belljar doctor now >out 2>errors
	is 'a word is refused' $? 125
	BELLJAR_DATA=/nonexistent belljar doctor >out 2>errors
	is 'without presets there is nothing to try' "$? $(wc -c <out)" '125 0'
	like 'and that is said' "$(errors)" 'no presets in /nonexistent/presets'
	belljar doctor >/dev/full 2>/dev/null
	is 'a full disk is no good health' $? 125
}

groups() {
	find /sys/fs/cgroup -maxdepth 5 -type d -name 'belljar-??????????????????????????' -user "$(id -un)" 2>/dev/null | sort
}
its_processes() { find /proc -maxdepth 2 -path '/proc/[0-9]*' -name exe -lname "*$scratch/the-doctor*" 2>/dev/null; }
all_gone() { # of the doctor: processes, folders, the groups listed in `new`
	[ -z "$(its_processes)" ] && [ -z "$(ls -A tmp)" ] && [ -z "$(groups | comm -12 - new)" ]
}
test_leaves_nothing() {
	local home=$scratch/fresh
	mkdir "$home"
	groups >before
	HOME=$home ./the-doctor doctor >/dev/null
	groups | comm -13 before - >new
	ok 'no process, folder or control group is left' wait_until 20 all_gone
	is 'nor anything in the home' "$(ls -A "$home")" ''
	is 'nor a mount' "$(grep -c belljar /proc/self/mountinfo)" 0
	mkfifo rows
	./the-doctor doctor >rows 2>/dev/null &
	local pid=$! row
	exec 7<rows
	read -r row <&7
	disown $pid
	kill -KILL $pid
	groups | comm -13 before - >new
	exec 7<&-
	like 'killed half way: it was at work' "$row" '^(ok|missing|weak)'
	ok 'killed half way: nothing is left' wait_until 20 all_gone
}

test_namespaces() {
	local what=$1 code=$2
	own sh -c "echo 0 >/proc/sys/user/max_${what}_namespaces && ./examined"
	found "no $what namespace" "$code" missing "user\.max_${what}_namespaces is 0 \| sudo sysctl user\.max_${what}_namespaces="
	like "no $what namespace: presets" "$(strikes "$code")" 'classroom .*namespaces'
	agrees "no $what namespace"
	[ "$code" = userns-denied ] || return
	is "no $what namespace: status" "$(cat status)" 1
	is "no $what namespace: what hangs on it is not tried" "$(state mounts-denied) $(state take-fd-userns-denied)" 'unknown unknown'
	found "no $what namespace" netless-missing weak 'max_user_namespaces is 0'
	is "no $what namespace: whom that weakens" "$(strikes netless-missing)" subprocess
	like "no $what namespace: the run says what helps" "$(cat errors.namespaces)" \
		'^belljar: userns-denied: .*; user\.max_user_namespaces is 0; sudo sysctl user\.max_user_namespaces='
}

test_mounts() {
	own -m sh -c 'mount -t tmpfs none /proc/sys/kernel && ./examined'
	found 'a covered /proc' proc-covered missing '/proc/sys/kernel is mounted over \| .*--security-opt (systempaths|unmask)='
	is 'a covered /proc: mounts are well' "$(state mounts-denied)" ok
	is 'a covered /proc: subprocess does not need it' "$(cannot | grep -c subprocess)" 0
	agrees 'a covered /proc'
	own -m sh -c '
awk "/ - cgroup/ { print \$5 }" /proc/self/mountinfo | while read -r at; do mount -o remount,bind,ro "$at"; done
./examined'
	found 'read-only control groups' cgroup-memory weak 'read-only \| '
	found 'read-only control groups' cgroup-processes weak 'read-only \| '
	found 'read-only control groups' cgroup-cpu weak 'read-only \| '
	is 'read-only control groups: whom that weakens' "$(strikes cgroup-processes)" subprocess
	agrees 'read-only control groups'
	own -m sh -c 'mount -t tmpfs none /sys/fs/cgroup && ./examined'
	like 'hidden control groups' "$(state cgroup-memory) $(told cgroup-memory)" '^weak .* \| '
	agrees 'hidden control groups'
	own -m sh -c 'grep -v overlay /proc/filesystems >known; mount --bind known /proc/filesystems && ./examined'
	found 'no overlay' overlay-missing weak 'not in /proc/filesystems \| .*modprobe overlay'
	own -m sh -c 'mount -t tmpfs -o noexec,mode=1777 none tmp && ./examined'
	found 'noexec' temp-noexec weak "$scratch/tmp is mounted noexec \| set TMPDIR"
	is 'noexec: whom that weakens' "$(strikes temp-noexec)" subprocess
	own -m sh -c 'mkdir -p small && mount -t tmpfs -o size=1m none small && XDG_STATE_HOME=$PWD/small ./examined'
	found 'little room' state-full weak '1 MiB are free|[0-9.]+ KiB are free'
}

test_places() {
	TMPDIR=/proc ./examined
	found 'no temporary folder' temp-unwritable missing '/proc.* \| set TMPDIR'
	is 'no temporary folder: what hangs on it is not tried' "$(state temp-noexec)" unknown
	agrees 'no temporary folder'
	XDG_STATE_HOME=/proc ./examined
	found 'no folder for recordings' state-unwritable missing '/proc.* \| set XDG_STATE_HOME'
	agrees 'no folder for recordings'
	printf '#!/bin/sh\nexec /usr/bin/python3 "$@"\n' >shims/python3 && chmod 755 shims/python3
	PATH=$scratch/shims:$PATH ./examined
	found 'a shim before python3' python-elsewhere weak "$scratch/shims/python3.* \| .*read_only ="
	is 'a shim: no preset is struck by it' "$(cannot)" '[]'
	is 'a shim: status' "$(cat status)" 0
}

# What a microVM is made with. None is started: they have no guest.
test_microvm() {
	local cover='for file in $files; do [ ! -e "$file" ] || mount --bind "$with" "$file"; done; ./examined'
	local -x BELLJAR_DATA=$here BELLJAR_GUEST=/nonexistent
	: >nothing
	printf '#!/bin/sh\necho of another kind\n' >another && chmod 755 another
	with=nothing files=/usr/bin/qemu-system-x86_64 own -m sh -c "$cover"
	found 'no QEMU' qemu-missing missing '/usr/bin/qemu-system-x86_64: .* \| install the package qemu-system-x86'
	with=nothing files=$(echo /usr/{,local/}{,s}bin/mkfs.erofs) own -m sh -c "$cover"
	found 'no mkfs.erofs' erofs-tools-missing missing 'no mkfs.erofs .* \| install the package erofs-utils'
	if here program:/usr/bin/qemu-system-x86_64 'another QEMU'; then
		with=another files=/usr/bin/qemu-system-x86_64 own -m sh -c "$cover"
		found 'another QEMU' qemu-missing missing 'does not say .*microvm'
	fi
	if here program:/usr/bin/mkfs.erofs 'another mkfs.erofs'; then
		with=another files=/usr/bin/mkfs.erofs own -m sh -c "$cover"
		found 'another mkfs.erofs' erofs-tools-missing missing 'does not say .*--all-root'
	fi
	found 'no guest' guest-parts-missing missing '/nonexistent.* \| say .make deps && make'
	is 'no guest: whom that strikes' "$(strikes guest-parts-missing)" 'microvm research'
	XDG_CACHE_HOME=/proc ./examined
	found 'no cache' cache-unwritable missing '/proc.* \| set XDG_CACHE_HOME'
	is 'no cache: what hangs on it is not tried' "$(state cache-full)" unknown
	own -m sh -c 'mkdir -p small && mount -t tmpfs -o size=1m none small && XDG_CACHE_HOME=$PWD/small ./examined'
	found 'a small cache' cache-full weak '(1 MiB|[0-9.]+ KiB) are free in .*small; .* 300 MiB \| make room'
	is 'a small cache: whom that weakens' "$(strikes cache-full)" 'microvm research'
	own -m sh -c 'sed "s/^MemAvailable:.*/MemAvailable: 102400 kB/" /proc/meminfo >little; mount --bind little /proc/meminfo
./examined'
	found 'little memory' guest-memory-short weak '^100 MiB are available; one may take 512 MiB \| '
}

# No ioctl reaches the real /dev/kvm here: it may be of the kind that hangs.
test_kvm() {
	export CPU='mount -t tmpfs none /sys/module; sed "s/^flags.*/flags : fpu $flag/" /proc/cpuinfo >cpu; mount --bind cpu /proc/cpuinfo'
	flag='' own -m sh -c 'eval "$CPU"; ./examined'
	found 'no extension' kvm-unusable weak '^the processor shows neither vmx nor svm \| .*nested virtualization'
	flag=vmx own -m sh -c 'eval "$CPU"; mkdir /sys/module/kvm_pvm && ./examined'
	found 'paravirtual' kvm-unusable weak '^kvm_pvm is loaded: .* \| .*nested virtualization'
	if [ -e /dev/kvm ]; then
		rm -rf .cache/belljar # the starts before remembered their machine
		flag=svm own -m sh -c 'eval "$CPU"; mount --bind /dev/null /dev/kvm && ./examined'
		found 'another /dev/kvm' kvm-unusable weak '^KVM_GET_API_VERSION said -1, not 12 \| .*dmesg'
		is 'another /dev/kvm: nothing is remembered by the doctor' "$(find . -name machine -path '*belljar*')" ''
	else
		skip 'another /dev/kvm' 'cannot here: kvm'
	fi
}

# A start that fails for a reason that no other probe knows, of a preset that is not one of ours.
test_start() {
	mkdir -p .config/belljar/presets
	printf '[preset]\nname = broken\nextends = namespaces\n[filesystem]\nroot = /nonexistent\n' >.config/belljar/presets/broken.ini
	./examined
	found 'a preset that cannot start' start-failed missing '^broken: .*/nonexistent'
	is 'a preset that cannot start: it alone' "$(strikes start-failed)" broken
	is 'a preset that cannot start: is the person'"'"'s own matter' "$(cat status)" 0
	like 'a preset that cannot start: the last line' "$(belljar doctor | tail -n 1)" '; cannot run: broken\.$'
	rm .config/belljar/presets/broken.ini
}

test_inside() { # LEVEL
	local at=/data
	[ "$1" = namespaces ] || at='$PWD/data'
	belljar run -q -p "$1" --wall 60s --input "$BELLJAR:/data/belljar" --input "$BELLJAR_DATA/presets:/data/presets" -- /bin/sh -c "
export BELLJAR_DATA=$at
\$BELLJAR_DATA/belljar doctor --json" >result 2>errors </dev/null
	is "inside $1: status" $? 1
	is "inside $1: the place" "$(got 'o["place"]')" belljar
	found "inside $1" listener-taken missing 'another supervisor .* \| run belljar outside'
	found "inside $1" clone3-missing missing 'inside a run of belljar \| run belljar outside'
	found "inside $1" keyring-denied missing 'inside a run of belljar'
	found "inside $1" netless-missing weak 'inside a run of belljar'
	is "inside $1: notifications there are" "$(state listener-missing)" ok
	is "inside $1: what hangs on a listener is not tried" "$(state add-fd-missing)" unknown
	is "inside $1: no shipped preset can run" "$(got 'len(first([f["presets"] for f in o["findings"] if f["code"] == "listener-taken"]))')" "$shipped"
}

# filtered ERRNO CALL [INDEX VALUE [any]] -- CMD...: a filter that answers one call with that errno, where its argument
# INDEX is VALUE, or with `any` has a bit of it.
cat >filtered.py <<'PY'
import ctypes, errno, os, struct, sys
cut = sys.argv.index("--")
error, nr = getattr(errno, sys.argv[1]), int(sys.argv[2])
test = sys.argv[3:cut]
def bpf(code, jt, jf, k): return struct.pack("HBBI", code, jt, jf, k)
check = []
if test:
    check = [bpf(0x20, 0, 0, 16 + 8 * int(test[0])), bpf(0x45 if test[2:] else 0x15, 0, 1, int(test[1], 0))]
program = [bpf(0x20, 0, 0, 0), bpf(0x15, 0, len(check) + 1, nr), *check, bpf(0x06, 0, 0, 0x50000 | error), bpf(0x06, 0, 0, 0x7fff0000)]
code = b"".join(program)
held = ctypes.create_string_buffer(code)
fprog = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(held))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(fprog)):
    sys.exit("no filter: %s" % os.strerror(ctypes.get_errno()))
os.execv(sys.argv[cut + 1], sys.argv[cut + 1:])
PY
refused() { # CODE STATE ERRNO CALL...: that call refused makes that finding
	local code=$1 state=$2
	shift 2
	/usr/bin/python3 -I -S filtered.py "$@" -- ./examined
	is "refused: $code" "$(state "$code")" "$state"
	like "refused: $code: the filter is named" "$(told "$code")" "${told:-filter.* \| }"
	agrees "refused: $code"
}
test_filtered() {
	refused landlock-missing weak ENOSYS 444
	refused take-fd-denied missing EPERM 438
	is 'refused: take-fd-denied: and from a namespace' "$(state take-fd-userns-denied)" missing
	refused read-memory-denied weak EPERM 310
	refused keyring-denied missing EPERM 250
	refused clone3-missing missing ENOSYS 435
	refused seccomp-denied missing EPERM 317
	refused no-new-privs missing EPERM 157 0 38
	refused mounts-denied missing EPERM 155
	refused namespaces-denied missing EPERM 272 0 0x02000000
	told='Linux 5.19' refused wait-killable-missing weak EINVAL 317 1 0x20 any
	told='Linux 6.6' refused sync-wake-up-missing weak EINVAL 16 1 0x40082104
	told='Linux 5.14' refused add-fd-missing weak EINVAL 16 1 0x40182103
	told='Linux 5.5' refused listener-missing missing EINVAL 317 1 0x08 any
}

# Another supervisor around us, which answers for the kernel that its Landlock is of ABI 5: before scopes.
cat >watched.py <<'PY'
import ctypes, fcntl, os, select, struct, sys
def bpf(code, jt, jf, k): return struct.pack("HBBI", code, jt, jf, k)
code = b"".join([bpf(0x20, 0, 0, 0), bpf(0x15, 0, 3, 444), bpf(0x20, 0, 0, 32), bpf(0x15, 0, 1, 1),
                 bpf(0x06, 0, 0, 0x7fc00000), bpf(0x06, 0, 0, 0x7fff0000)])
held = ctypes.create_string_buffer(code)
fprog = struct.pack("HxxxxxxQ", 6, ctypes.addressof(held))
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
listener = libc.syscall(317, 1, 8, ctypes.c_char_p(fprog))
if listener < 0: sys.exit("no listener: %s" % os.strerror(ctypes.get_errno()))
os.set_inheritable(listener, False)
child = os.fork()
if child == 0: os.execv(sys.argv[1], sys.argv[1:])
while os.waitpid(child, os.WNOHANG) == (0, 0):
    if select.select([listener], [], [], 0.05)[0]:
        call = bytearray(80)
        try:
            fcntl.ioctl(listener, 0xc0502100, call)
            fcntl.ioctl(listener, 0xc0182101, struct.pack("QqiI", struct.unpack_from("Q", call)[0], 5, 0, 0))
        except OSError: pass # the caller is gone
PY
test_watched() {
	/usr/bin/python3 -I -S watched.py ./examined
	found 'another supervisor' listener-taken missing 'another supervisor .* \| run belljar outside'
	is 'another supervisor: what hangs on a listener is not tried' "$(state wait-killable-missing)" unknown
	agrees 'another supervisor'
	like 'an older Landlock' "$(state landlock-missing) $(got 'first([f["fact"] for f in o["findings"] if f["code"] == "landlock-missing"])')" '^ok ABI 5'
	found 'an older Landlock' landlock-scopes weak 'ABI 5.*\| boot a kernel since Linux 6.12'
	is 'an older Landlock: whom that weakens' "$(strikes landlock-scopes)" subprocess
}

test_words
test_refusals
test_leaves_nothing
test_inside subprocess
if here userns 'situations'; then
	test_inside namespaces
	test_places
	test_start
	test_microvm
	test_kvm
	test_namespaces user userns-denied
	test_namespaces net netns-denied
	test_namespaces mnt mounts-denied
	test_namespaces pid namespaces-denied
	test_mounts
	here python3 'refused calls' && test_filtered && test_watched
fi
plan_end
