#!/bin/bash
# SPDX-License-Identifier: MIT
# Recordings: what they hold, who may read them, how many are kept, and what replay makes of whole and damaged ones.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
runs=$HOME/.local/state/belljar/runs

run -l python -c 'print("recorded")' </dev/null
recording=$(got 'o["recording"]')
like 'a run says where its recording is' "$recording" "^$runs/[0-9A-Z]{26}\\.jsonl\$"
is 'it is for its owner alone' "$(stat -c %a "$recording")" 600
is 'and so is the folder' "$(stat -c %a "$runs")" 700
is 'its first line names the run, the code and the policy' \
	"$(json '[o[0]["belljar"], o[0]["code"]["text"], o[0]["code"]["language"], "policy" in o[0], "host" in o[0]]' "$recording")" \
	'[1, "print(\"recorded\")", "python", true, true]'
is 'its last line is the exit event' "$(json 'o[-1]["type"]' "$recording")" exit
is 'its events are numbered from 1, without gaps' "$(json '[e["seq"] for e in o[1:]] == list(range(1, len(o)))' "$recording")" true
is 'and in the order of time' "$(json 'all(a["t"] <= b["t"] for a, b in zip(o[1:], o[2:]))' "$recording")" true
is 'the start event names layers and how each was verified' \
	"$(json 'all(l["name"] and l["state"] for l in o[1]["layers"]) and any(l.get("verified") for l in o[1]["layers"])' "$recording")" true

run --record "$scratch/mine.jsonl" -l sh -c 'echo x' </dev/null
is '--record FILE' "$(got 'o["recording"]') $(json 'o[-1]["type"]' mine.jsonl)" "$scratch/mine.jsonl exit"
ln -s "$scratch/elsewhere" link.jsonl
run --record "$scratch/link.jsonl" -l sh -c 'echo x' </dev/null
is 'a recording never follows a link' "$(test -e elsewhere && echo followed)" ''

# Replay.
text=$(belljar replay --plain "$recording" </dev/null 2>&1)
is 'replay of a whole recording ends well' $? 0
like 'it shows the output' "$text" 'recorded'
like 'and the end' "$text" '\bok\b'
printf '\033]52;c;eA==\a\033[2Jtext\n' >loud
run --record "$scratch/loud.jsonl" -l sh -c 'cat' --stdin "$scratch/loud" </dev/null
text=$(belljar replay --plain loud.jsonl </dev/null | cat -v)
like 'text between escape sequences is shown' "$text" 'text'
unlike 'escape sequences are not' "$text" '\^\[|\^G'

head -c -40 "$recording" >cut.jsonl
text=$(belljar replay --plain cut.jsonl </dev/null 2>&1)
like 'one cut short is shown to its last whole line' "$text" 'recorded'
like 'and said to be' "$text" '[Dd]amage|incomplete|cut|breaks|ends'
{ sed 4q "$recording"; echo '{"seq":4,"type":"out'; echo 'no JSON at all'; } >broken.jsonl
text=$(belljar replay --plain broken.jsonl </dev/null 2>&1)
like 'one with broken lines is shown up to there' "$text" '[Dd]amage|incomplete|cut|breaks|ends'
{ head -n 1 "$recording"; echo '{"seq":1,"t":0.1,"type":"from-the-future","source":"host","novelty":[1]}'; sed 1d "$recording"; } >future.jsonl
text=$(belljar replay --plain future.jsonl </dev/null 2>&1)
like 'an unknown event is shown, not fatal' "$text" 'from-the-future'
: >empty.jsonl
head -c 4096 /dev/urandom >noise.jsonl
echo '{"belljar":99}' >newer.jsonl
for file in empty noise newer; do
	text=$(belljar replay --plain $file.jsonl </dev/null 2>&1)
	status=$?
	is "$file.jsonl is no recording: status" $status 125
	like "$file.jsonl: it is named" "$text" "$file\\.jsonl"
done
text=$(belljar replay --plain nowhere.jsonl </dev/null 2>&1)
is 'a recording that is not there: status' $? 125

# A full disk: the run goes on, and the loss is told.
if [ "$(id -u)" -eq 0 ]; then
	mkdir small && mount -t tmpfs -o size=4k none small 2>/dev/null && {
		run --record "$scratch/small/full.jsonl" -l python -c 'for n in range(2000): print("x" * 60)' </dev/null
		is 'a full disk: the run itself is well' "$(got 'o["verdict"]')" ok
		like 'a full disk: it is told' "$(cat result errors)" 'No space|space left|full'
		umount small
	}
fi

# A file that may not grow is no different, and no signal's end.
(ulimit -f 1; belljar run --json --record "$scratch/stunted.jsonl" -l sh -c 'echo x' 2>&1 >&3 </dev/null | cat >errors) 3>&1 | cat >result
is 'a limit on files: the run itself is well' "$(got 'o["verdict"]')" ok
like 'a limit on files: it is told' "$(cat result errors)" 'recording is not whole'

# A flood of programs that cannot be executed: a thousand are told in each tenth of a second, the others counted.
cat >flood.py <<'PY'
import ctypes
argv = (ctypes.c_char_p * 2)(b"x", None)
execve = ctypes.CDLL(None).execve
for n in range(20000):
    execve(b"/nonexistent", argv, None)
PY
run --record "$scratch/flood.jsonl" --wall 60s flood.py </dev/null
is 'a flood of programs: it has a bound' \
	"$(json 'len(of("exec")) <= 1000 * (o[-1]["wall_s"] * 10 + 2)' flood.jsonl)" true
is 'a flood of programs: each is told or counted' \
	"$(json 'len(of("exec")) + sum(e["count"] for e in of("dropped")) >= 20000' flood.jsonl)" true

# A link in the place of the folder.
mkdir -p other/.local/state/belljar victim
for n in $(seq 1 60); do echo '{}' >"victim/$n.jsonl"; done
ln -s "$scratch/victim" other/.local/state/belljar/runs
text=$(HOME=$scratch/other belljar run -l sh -c 'echo x' </dev/null 2>&1)
is 'a link in the place of the folder: nothing runs' "$?" 125
like 'a link in the place of the folder: it is named, and what to do' "$text" 'belljar/runs .*--record FILE or --no-record'
is 'a link in the place of the folder: nothing is removed' "$(find victim -name '*.jsonl' | wc -l)" 60
is 'a link in the place of the folder: --no-record' \
	"$(HOME=$scratch/other belljar run -q --no-record -l sh -c 'echo x' </dev/null 2>&1)" x

# A file as long as the limit that nobody wrote.
run --file-size 1M -l python -c 'import os
os.truncate(os.open("made-long", os.O_CREAT | os.O_RDWR), 1 << 20)
os._exit(1)' </dev/null
is 'a file that was only made as long as the limit met none' "$(got 'o["verdict"]')" failed
run --file-size 1M -l python -c 'import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
open("written", "wb").write(b"x" * (2 << 20))' </dev/null
is 'one that was written up to it did' "$(got 'o["verdict"]')" write-space

# Nobody reads them, and the recording has them all the same.
belljar run -q --record "$scratch/terse.jsonl" -l sh -c '/bin/true; : >made; cat /nowhere' </dev/null >/dev/null 2>&1
is 'a run that tells little: its recording has the files' \
	"$(json 'sorted({e["outcome"] for e in of("file") if e["path"] == "/nowhere"})' "$scratch/terse.jsonl")" '["absent"]'
is 'and the programs' "$(json 'len([e for e in of("exec") if e["path"] == "/bin/true"])' "$scratch/terse.jsonl")" 1
is 'with no number left out' "$(json '[e["seq"] for e in o[1:]] == list(range(1, len(o)))' "$scratch/terse.jsonl")" true

# Fifty are kept.
rm -f "$runs"/*.jsonl
for n in $(seq 1 53); do
	belljar run -q -p subprocess -- /bin/true </dev/null
	[ "$n" -ne 3 ] || third=$(find "$runs" -name '*.jsonl' | sort | head -n 1)
done
is 'the newest fifty are kept' "$(find "$runs" -name '*.jsonl' | wc -l)" 50
not 'the oldest went first' test -e "$third"
run --no-record -l sh -c 'echo x' </dev/null
is '--no-record' "$(got 'o["recording"]') $(find "$runs" -name '*.jsonl' | wc -l)" 'null 50'
plan_end
