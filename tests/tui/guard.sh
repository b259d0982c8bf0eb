#!/bin/bash
# SPDX-License-Identifier: MIT
# Whatever ends the screens, the terminal is the shell's again and nothing of a run is left: ^Z and fg, SIGKILL and
# SIGSEGV of the screens, SIGKILL of the guard, SIGTERM, a terminal that hangs up.
. "$(dirname "$0")/lib.sh"
need_run
export ASAN_OPTIONS="${ASAN_OPTIONS-}:handle_segv=0" # a sanitizer would make an exit status of it
cd "$scratch" || exit 1
# The run must outlive every question about it, on a slow machine too.
mkdir -p "$HOME/.config/belljar/presets"
printf '[preset]\nname = long\nsummary = a long run\nextends = %s\n[limits]\nwall = 10m\n' "$level" \
    >"$HOME/.config/belljar/presets/long.ini"
cat >long.sh <<'SH'
#!/bin/sh
i=0
while sleep 0.1; do i=$((i + 1)); echo "tick $((i + 1000))"; done
SH

start_run() {
	terminal 80 24
	line "$BELLJAR long.sh"
	wait_for 'STAGED, NOT RUN' && line ':preset long' && wait_for '\[long\]' && keys r && wait_for 'tick 10'
}

lasting() { # PID: of all below it those that have children, so none of the script's own short sleeps
	local pid
	for pid in $(descendants "$1"); do
		[ -z "$(children "$pid")" ] || echo "$pid"
	done
}
all_alive() { # PID...
	local pid
	[ $# -gt 1 ] || return 1 # the screens and the run's supervisor at least
	for pid; do kill -0 "$pid" || return 1; done
}

start_run
ok 'a long run lives' seen 'RUNNING #1'
all=$(lasting "$(guard_pid)")
keys C-z
ok '^Z gives the terminal back' wait_until sane
sees 'the shell says that it stopped' 'Stopped'
ok 'and that the run goes on' seen 'the run goes on'
line fg
sees 'fg brings the screens back' 'RUNNING #1'
tmux resize-window -x 100 -y 30
wait_until seen '^└─{98}┘'
keys C-z
wait_until sane
tmux resize-window -x 80 -y 24
line fg
ok 'a size that changed meanwhile is seen' wait_for '^└─{78}┘'
# shellcheck disable=SC2086
ok 'it was the same run all the time' all_alive $all

keys z
sees 'z pauses the run' 'PAUSED #1'
keys z
sees 'and lets it go on' 'RUNNING #1'
keys q
sees 'q asks while a run lives' 'y stops it and leaves'
keys n
sees 'any other key stays' 'The run goes on'
keys C-c
sees '^C stops it' '■ CANCELLED #1'
keys C-c
sees 'with no run ^C says how to leave' 'q leaves; so does a second \^C'
keys C-c
ok 'a second one leaves' wait_until sane

for signal in KILL SEGV; do
	start_run
	all=$(descendants "$(guard_pid)")
	kill -$signal "$(screens_pid)"
	ok "SIG$signal of the screens: the terminal is sane" wait_until sane
	sees "… why is said in one line" "ended by SIG$signal"
	line "echo \"status=\$?\""
	ok "… with 128 + n" wait_for "^status=$((128 + $(kill -l $signal)))"
	# shellcheck disable=SC2086
	ok "… and nothing of the run is left" wait_until none_alive $all
done

start_run
guard=$(guard_pid) all=$(descendants "$(guard_pid)")
kill -KILL "$guard"
ok 'SIGKILL of the guard: the screens restore the terminal themselves' wait_until sane
# shellcheck disable=SC2086
ok '… and nothing of the run is left' wait_until none_alive $all

start_run
all=$(descendants "$(guard_pid)")
kill -TERM "$(guard_pid)"
ok 'SIGTERM of the guard: the terminal is sane' wait_until sane
# shellcheck disable=SC2086
ok '… and nothing of the run is left' wait_until none_alive $all
line "echo \"status=\$?\""
sees '… status 143' '^status=143'

start_run
guard=$(guard_pid) all=$(descendants "$(guard_pid)")
tmux kill-server
# shellcheck disable=SC2086
ok 'the terminal hangs up: nothing is left' wait_until none_alive $guard $all
plan_end
