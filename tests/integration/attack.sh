#!/bin/bash
# SPDX-License-Identifier: MIT
# belljar attack: the six attacks at each level, as table and as JSON; presets weakened by one layer, a preset that cannot
# start, a control that fails, an attack that nothing stops and that still comes to nothing; faults of a manifest; and
# that nothing is left, however it is ended.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
six='infinite-loop allocate-512m fork-flood write-50m read-credentials connect-loopback'

attack() { # OPTIONS...: $status; `cell` and `row` ask about it
	timeout 180 "$BELLJAR" attack --format json "$@" >"$scratch/suite" 2>"$scratch/errors" </dev/null
	status=$?
}
cell() { # ATTACK PRESET KEY
	json "[c for c in o['cells'] if c['attack'] == '$1' and c['preset'] == '$2'][0]['$3']" "$scratch/suite"
}
verdicts() { # PRESET: of all its attacks, in order
	json "' '.join(c['verdict'] for c in o['cells'] if c['preset'] == '$1')" "$scratch/suite"
}
preset() { # NAME LEVEL SECTION LINE: a preset like a level, but for one line
	printf '[preset]\nname = %s\nextends = %s\n[%s]\n%s\n' "$1" "$2" "$3" "$4" >"$1.ini"
}

# ---- the standard suite ----
leftovers_begin
if here userns 'the standard suite'; then
	attack
	is 'every cell is as expected' "$status" 0
	is 'nothing is said on standard error' "$(errors)" ''
	is 'the suite and its host' "$(json 'o["suite"]' suite) $(json 'o["host"]["kernel"]' suite)" "standard $(uname -r)"
	is 'the attacks, in order' "$(json "' '.join(c['attack'] for c in o['cells'] if c['preset'] == 'namespaces')" suite)" "$six"
	is 'subprocess' "$(verdicts subprocess)" 'stopped stopped succeeded stopped succeeded stopped'
	is 'namespaces' "$(verdicts namespaces)" 'stopped stopped stopped stopped stopped stopped'
	if here microvm microvm; then
		is 'microvm' "$(verdicts microvm)" 'stopped stopped stopped stopped stopped stopped'
		is 'microvm: what held each' "$(json "' '.join(c['layer'] for c in o['cells'] if c['preset'] == 'microvm')" suite)" \
			'supervisor cgroup cgroup rlimit vm net-ns'
		like 'microvm: by its own counter' "$(cell allocate-512m microvm evidence)" 'oom_kill [0-9].*told by the guest'
		ran=18
	else
		ran=12
	fi
	is 'no cell that ran is without evidence' \
		"$(json 'all(len(c["evidence"]) > 5 and c["reason"] for c in o["cells"] if c["verdict"] != "not-run")' suite)" true
	is 'a stopped one names its layer, another none' \
		"$(json 'all((c["verdict"] == "stopped") == (c["layer"] is not None) for c in o["cells"])' suite)" true
	is 'a limit: its evidence names it' "$(cell allocate-512m namespaces evidence | cut -d: -f1)" memory
	like 'forks: what counted them' "$(cell fork-flood namespaces layer)" '^(cgroup|rlimit|supervisor)$'
	is 'a file: hidden by the view' "$(cell read-credentials namespaces layer)" mount-ns
	like 'a file: the very one' "$(cell read-credentials namespaces evidence)" '/credentials .*hidden'
	is 'a service: no way to it' "$(cell connect-loopback subprocess layer) $(cell connect-loopback namespaces layer)" 'net-ns net-ns'
	is 'each run is recorded' \
		"$(json 'sum(len(open(c["recording"]).read()) > 500 for c in o["cells"] if c["recording"])' suite)" "$ran"
	is 'and the recording is of that run' "$(json 'of("exit")[0]["verdict"]' "$(cell infinite-loop namespaces recording)")" wall-time
	ok 'nothing is left' wait_until 5 none_left "$scratch"

	BELLJAR_GUEST=/nonexistent attack --only write-50m
	is 'a level that is not here: status' "$status" 0
	is 'a level that is not here: did not run' "$(cell write-50m microvm verdict) $(cell write-50m microvm layer)" 'not-run null'
	like 'a level that is not here: why' "$(cell write-50m microvm evidence)" '^not here: there is no guest .*make deps'
	BELLJAR_GUEST=/nonexistent attack -p microvm --only write-50m
	is 'asked for by name: status' "$status" 1
	like 'asked for by name: it is missed' "$(errors)" 'write-50m under microvm \(not-run, expected stopped\)'
	text=$(BELLJAR_GUEST=/nonexistent "$BELLJAR" attack --only write-50m)
	is 'a level that is not here: the last line' "$(tail -n 2 <<<"$text" | tr -s ' \n' ' ')" \
		'microvm: not here; namespaces: 1 of 1 stopped; subprocess: 1 of 1 stopped, as expected '

	text=$(timeout 180 "$BELLJAR" attack -p subprocess,namespaces --only fork-flood read-credentials 2>errors)
	is 'table: status' $? 0
	like 'table: columns' "$text" '^attack +subprocess +namespaces$'
	like 'table: a row' "$text" '^fork-flood +succeeded +stopped$'
	unlike 'table: only these' "$text" '^write-50m'
	like 'table: why, in words' "$(tr -s ' \n' ' ' <<<"$text")" 'subprocess: succeeded \(its witness is there\): The run sees'
	is 'table: the last line' "$(tail -n 1 <<<"$text")" 'namespaces: 2 of 2 stopped; subprocess: 0 of 2 stopped, as expected'
	is 'table: 80 columns' "$(awk 'length > 80' <<<"$text")" ''
	is 'table: no progress where nobody watches' "$(errors)" ''

	# ---- presets that are weaker by one layer ----
	preset roomy namespaces limits 'memory = 2G'
	preset online namespaces network 'policy = host'
	preset crowded namespaces limits 'processes = unlimited'
	preset large subprocess limits 'file_size = unlimited'
	weak() { # PRESET ATTACK
		attack -p "./$1.ini" --only "$2"
		is "$1: status" "$status" 1
		is "$1: it succeeds" "$(cell "$2" "./$1.ini" verdict), $(cell "$2" "./$1.ini" expected)" 'succeeded, stopped'
		is "$1: the attack is named" "$(errors)" \
			"belljar: not as expected: $2 under ./$1.ini (succeeded, expected stopped)"
	}
	weak online connect-loopback
	weak large write-50m
	if [ "$(awk '/^MemAvailable/ { print $2 > 1600000 }' /proc/meminfo)" = 1 ]; then weak roomy allocate-512m; fi
	weak crowded fork-flood

	text=$(timeout 60 "$BELLJAR" attack -p namespaces,./online.ini --only connect-loopback 2>errors)
	is 'weak, as a table: status' $? 1
	like 'weak, as a table: marked' "$text" '^connect-loopback +stopped +! succeeded$'
	like 'weak, as a table: what was expected' "$text" '^ +expected stopped$'
	like 'weak, as a table: and below' "$text" '^! \./online\.ini: succeeded, expected stopped \('
	like 'weak, as a table: the sum' "$text" '^\./online\.ini: 0 of 1 stopped; namespaces: 1 of 1 stopped, not as expected$'

	# ---- a preset that cannot start ----
	mkdir empty
	preset hollow namespaces filesystem "root = $scratch/empty"
	attack -p ./hollow.ini --only write-50m
	is 'cannot start: status' "$status" 1
	is 'cannot start: nothing was stopped' "$(cell write-50m ./hollow.ini verdict) $(cell write-50m ./hollow.ini layer)" 'not-run null'
	like 'cannot start: the setup error' "$(cell write-50m ./hollow.ini evidence)" '^it did not begin: .*python3'
	like 'cannot start: the attack is named' "$(errors)" 'write-50m under ./hollow.ini \(not-run, expected stopped\)'
fi

# ---- suites of our own ----
mkdir own
cp "$here"/examples/attacks/*.py own
cat >own/nothing.py <<'PY'
import os, sys
print("started nothing", flush=True)
if os.environ["HOME"].endswith("/home") and "NO_COLOR" not in os.environ:  # as the control's is
    import hashlib
    print("witness", hashlib.sha256((os.environ["BELLJAR_NONCE"] + " 7").encode()).hexdigest())
print(open(sys.argv[0]).read())
sys.exit(3)
PY
cat >own/silent.py <<'PY'
print("witness 7")
PY
section() { # NAME LINE...
	printf '[%s]\ntitle = T\nsummary = S\nlanguage = python\nwhy_stopped = a\nwhy_not = b\ncontrol = 20s\n' "$1"
	shift
	printf '%s\n' "$@"
}
{
	printf '[suite]\nname = own\nsummary = of our own\n'
	section nothing 'program = nothing.py' 'proof = 7' 'stopped_by = memory' 'expect = subprocess:stopped'
	section greedy 'program = allocate-512m.py' 'proof = 536870912' 'stopped_by = memory' 'control_memory = 1000000G' \
		'expect = subprocess:stopped'
	section silent 'program = silent.py' 'proof = 7' 'stopped_by = memory' 'expect = subprocess:stopped'
	section other 'program = fork-flood.py' 'proof = 1' 'stopped_by = memory' 'expect = namespaces:stopped'
} >own/suite.ini
attack --manifest own/suite.ini -p subprocess --only nothing,greedy,silent
is 'own suite: status' "$status" 1
is 'own suite: its name' "$(json 'o["suite"]' suite)" own
is 'own suite: verdicts' "$(verdicts subprocess)" 'inconclusive inconclusive inconclusive'
like 'began, came to nothing: says so' "$(cell nothing subprocess evidence)" '^it began, came to nothing, and nothing says why'
like 'a control that could do harm is not run' "$(cell greedy subprocess evidence)" '^the control failed: it needs 976562.5 TiB|^the control failed: it needs .* of free memory'
like 'a control without witness: how it ended' "$(cell silent subprocess evidence)" '^the control failed: it did not begin, and ended with status 0'
is 'after a failed control nothing is run' "$(cell silent subprocess recording)" null
like 'all three are named' "$(errors)" 'nothing under subprocess .*greedy under subprocess .*silent under subprocess'
attack --manifest own/suite.ini -p subprocess --only other
is 'what nothing is expected of is not as expected' "$status $(cell other subprocess expected)" '1 null'

# Where somebody else has the first name of our folder there is a second one.
mkdir taken && chmod 1777 taken
: >"taken/belljar-$(id -u)"
export TMPDIR=$scratch/taken
attack -p subprocess --only write-50m
is 'another name for the folder: status' "$status" 0
is 'another name for the folder: verdict' "$(cell write-50m subprocess verdict)" stopped
is 'another name for the folder: gone' "$(ls taken)" "belljar-$(id -u)"
unset TMPDIR

# ---- wrong ----
sed -i 's/^stopped_by = memory$/stopped_by = memroy/; s/^program = silent.py$/program = gone.py/' own/suite.ini
attack --manifest own/suite.ini
is 'a faulty suite: status' "$status" 125
like 'a faulty suite: file and line' "$(errors)" "^belljar: own/suite.ini:13: stopped_by: 'memroy' is not known here; did you mean 'memory'\?"
like 'a faulty suite: each fault' "$(errors)" '^belljar: own/suite.ini:[0-9]+: program: read own/gone.py: '
is 'a faulty suite: nothing on standard output' "$(wc -c <suite)" 0
wrong() { # ERE OPTIONS...
	local pattern=$1
	shift
	attack "$@"
	is "attack $*: status" "$status" 125
	like "attack $*: says what is wrong" "$(errors)" "^belljar: .*$pattern"
}
wrong "'fork-flod'.*did you mean 'fork-flood'" --only fork-flod
wrong "'nonexistent'" -p nonexistent
wrong '"subprocess" was given twice' -p subprocess,subprocess
wrong 'eight at most' -p a,b,c,d,e,f,g,h,i
wrong 'nowhere.ini' --manifest nowhere.ini
wrong 'options only' x.py
timeout 20 "$BELLJAR" attack --format xml >suite 2>errors
is 'another format: status' $? 125
like 'another format: says which there are' "$(errors)" 'neither table nor json'
timeout 60 "$BELLJAR" attack -p subprocess --only read-credentials >/dev/full 2>errors
is 'a full standard output is no success' $? 125

# ---- ended in the middle ----
# Whatever runs of it is known by its mark: of the fork flood's control, the many that it made.
mine=$scratch/mine
mkdir -p mine/build "$mine/tmp"
cp "$BELLJAR" mine/build/
ln -s "$here/presets" "$here/examples" mine/
of_it() { grep -lsaF "TMPDIR=$mine/tmp" /proc/[0-9]*/environ; }
in_its_folder() { find "$mine/tmp" -mindepth 2 -maxdepth 2; }
begin() { # OPTIONS...: in the background, as $pid
	TMPDIR=$mine/tmp setsid env --default-signal=INT mine/build/belljar attack "$@" >out 2>errors </dev/null &
	pid=$!
}
chmod 1777 "$mine/tmp"
none_of_it() { [ -z "$(of_it)" ]; }
for signal in INT TERM KILL; do
	begin -p subprocess --only infinite-loop
	ok "SIG$signal: it is under way" wait_until 20 sh -c "ls -d $mine/tmp/belljar-*/*/work/main.py"
	kill -$signal $pid
	wait $pid 2>/dev/null
	status=$?
	case $signal in INT) is 'SIGINT: status' $status 130 ;; TERM) is 'SIGTERM: status' $status 143 ;; esac
	ok "SIG$signal: no process is left" wait_until 20 none_of_it
	[ $signal = KILL ] || is "SIG$signal: no folder is left" "$(in_its_folder)" ''
done
ok 'SIGKILL: the rest cleans up after itself' wait_until 20 sh -c "[ -z \"\$(find $mine/tmp -mindepth 2 -maxdepth 2)\" ]"

begin -p subprocess --only infinite-loop
ok 'its process killed: it is under way' wait_until 20 sh -c "ls -d $mine/tmp/belljar-*/*/work/main.py"
kill -KILL "$(cat "/proc/$pid/task/$pid/children")"
wait $pid
is 'its process killed: status and word' "$? $(cat errors)" '125 belljar: the process that ran the suite died'
ok 'its process killed: no process is left' wait_until 20 none_of_it
read -rt 2.5 <> <(:) # a folder is taken for a dead one's when it is over two seconds old
TMPDIR=$mine/tmp mine/build/belljar run -q -p subprocess -- /bin/true </dev/null
ok 'its process killed: the next start sweeps' wait_until 5 sh -c "[ -z \"\$(find $mine/tmp -mindepth 2 -maxdepth 2)\" ]"

# All of it at once, in the middle of a control: what it started ends, and its folder goes with the next start.
begin -p subprocess --only infinite-loop
ok 'all killed: it is under way' wait_until 20 sh -c "ls -d $mine/tmp/belljar-*/*/work/main.py"
conductor=$(cat "/proc/$pid/task/$pid/children")
# shellcheck disable=SC2086 # one or none
kill -KILL $pid $conductor
wait $pid 2>/dev/null
ok 'all killed: no process is left' wait_until 20 none_of_it
is 'all killed: its folder is' "$(in_its_folder | wc -l)" 1
read -rt 2.5 <> <(:) # a folder is taken for a dead one's when it is over two seconds old
TMPDIR=$mine/tmp mine/build/belljar run -q -p subprocess -- /bin/true </dev/null
ok 'all killed: the next start sweeps it' wait_until 5 sh -c "[ -z \"\$(find $mine/tmp -mindepth 2 -maxdepth 2)\" ]"

# ---- on a terminal ----
if here script 'progress on a terminal'; then
	text=$(timeout 60 script -qec "'$BELLJAR' attack -p subprocess --only infinite-loop" /dev/null </dev/null)
	like 'progress on a terminal' "$text" $'\r\033\\[Kbelljar: 1 of 2: infinite-loop under no sandbox, the control'
	like 'which is gone before the row' "$text" $'\r\033\\[Kinfinite-loop +'
fi
cp own/nothing.py "own/wild.py"
{
	printf '[suite]\nname = wild\nsummary = x\n'
	section wild 'program = wild.py' 'proof = 7' 'stopped_by = memory' 'expect = subprocess:stopped'
} >wild.ini
printf 'import sys\nsys.stderr.write("\\033]0;x\\007\\033[2Jend\\n")\nsys.exit(1)\n' >wild.py
text=$(timeout 60 "$BELLJAR" attack --manifest wild.ini -p subprocess 2>&1)
is 'wild: status' $? 1
like 'wild: its words are there' "$text" 'end'
unlike 'wild: they cannot act on a terminal' "$text" $'\033|\007'

# ---- help ----
text=$(belljar attack --help)
is 'help: status' $? 0
is 'help fits a screen' "$(awk 'length > 80 || NR > 24' <<<"$text")" ''
is 'the man page has the options of attack' \
	"$(sed -n '/^\.\\" attack: begin/,/^\.\\" attack: end/p' "$here/tui/belljar.1" | sed '1d;$d')" "$(belljar attack --help-man)"
plan_end
