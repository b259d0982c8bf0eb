# shellcheck shell=bash disable=SC2034 # some variables are for the scripts that source this
# SPDX-License-Identifier: MIT
# What every test of the screens starts with: TAP, a terminal of its own (tmux on a private socket, no configuration, a
# known size), keys, and questions about what stands on it. Nothing here sleeps for a fixed time to wait for something:
# wait_for asks again until it is so, or until its patience ends.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=${BUILD:-build}
BELLJAR=${BELLJAR:-$here/$BUILD/belljar}
SCREENS=$(dirname "$BELLJAR")/belljar-screens
export LC_ALL=C.UTF-8
patience=${PATIENCE:-20}

scratch=$(mktemp -d /tmp/bj-tui-XXXXXX) || exit 1
export HOME=$scratch TMUX_TMPDIR=$scratch
export HISTFILE=/dev/null
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_RUNTIME_DIR NO_COLOR SSH_CONNECTION VISUAL EDITOR TMUX
export XDG_CACHE_HOME=${TEST_CACHE:-$scratch/.cache} # a snapshot once for all scripts: five seconds each
unset -f tmux
server=0 # each terminal has a server of its own: the one before may still be on its way out
tmux() { command tmux -L "bj$server" -f /dev/null "$@"; }
finish() {
	tmux kill-server 2>/dev/null
	rm -rf "$scratch" 2>/dev/null || rm -rf "$scratch" # a shell that is just ending may still write its history
}
trap finish EXIT

tests=0
failed=0

report() { # STATUS NAME: with a picture of the terminal when it went wrong
	tests=$((tests + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tests - $2"
		return 0
	fi
	failed=$((failed + 1))
	echo "not ok $tests - $2"
	tmux capture-pane -p 2>/dev/null | sed 's/^/# |/'
	return 1
}

ok() { # NAME CMD...: CMD succeeds
	local name=$1
	shift
	"$@" >/dev/null 2>&1
	report $? "$name"
}

is() { # NAME GOT WANT
	[ "$2" = "$3" ] || printf '# got:  %s\n# want: %s\n' "$2" "$3"
	[ "$2" = "$3" ]
	report $? "$1"
}

plan_end() {
	echo "1..$tests"
	exit $((failed > 0))
}

skip_all() { # REASON
	echo "1..0 # SKIP $1"
	exit 0
}

# A shell on a terminal of COLUMNSxROWS; TERM is one that curses and tmux agree on. Its words are given one by one: as
# one word they would be read by $SHELL, which may stay as the shell's parent, and then #{pane_pid} is not the shell.
terminal() { # [COLUMNS ROWS [TERM]]
	tmux kill-server 2>/dev/null
	server=$((server + 1))
	tmux start-server \; set -g default-terminal "${3:-tmux-256color}" \; set -g history-limit 2000 \; \
	    set -g set-clipboard external \; \
	    new-session -d -x "${1:-80}" -y "${2:-24}" -c "$scratch" env PS1='$ ' bash --norc --noprofile
	wait_for '^\$'
}

keys() { tmux send-keys "$@"; }
line() { # TEXT: typed into the shell, or into a prompt, and Enter
	tmux send-keys -l -- "$1"
	tmux send-keys Enter
}
shot() { tmux capture-pane -p; }
say() { tmux display-message -p "$1"; } # '#{alternate_on}' …

wait_until() { # CMD...
	local deadline=$((SECONDS + patience))
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$deadline" ] || return 1
		sleep 0.05
	done
}
seen() { shot | grep -qE -- "$1"; }
wait_for() { wait_until seen "$1"; }      # ERE: some line of the terminal matches
gone() { ! seen "$1"; }
sees() { # NAME ERE
	wait_for "$2"
	report $? "$1"
}

children() { # PID: its children
	cat /proc/"$1"/task/*/children 2>/dev/null
}
child_named() { # PID NAME: the child that runs this program
	local pid
	for pid in $(children "$1"); do
		[ "$(cat /proc/"$pid"/comm 2>/dev/null)" = "$2" ] && echo "$pid" && return
	done
	return 1
}
guard_pid() { child_named "$(say '#{pane_pid}')" belljar; }
screens_pid() { child_named "$(guard_pid)" belljar-screens; }
descendants() { # PID: all below it
	local pid
	for pid in $(children "$1"); do
		echo "$pid"
		descendants "$pid"
	done
}
none_alive() { # PID...: at least one, or what was to be looked for was never found
	local pid
	[ $# -gt 0 ] || return 1
	for pid in "$@"; do
		[ -d "/proc/$pid" ] && ! grep -q '^State:.*Z' "/proc/$pid/status" && return 1
	done
	return 0
}

# The terminal as a shell wants it: normal screen, cursor shown, no mouse, echo and line editing as before.
sane() {
	local modes
	[ "$(say '#{alternate_on} #{cursor_flag} #{mouse_any_flag}')" = '0 1 0' ] || return 1
	modes=$(stty -a -F "$(say '#{pane_tty}')")
	case $modes in *-isig* | *-opost* | *-ixon*) return 1 ;; esac
}

command -v tmux >/dev/null || skip_all 'cannot here: tmux'
# A test that runs something needs a level that works here: the shipped default, or the one that asks for least.
level=namespaces
can_run() { timeout 20 "$BELLJAR" run -q -p "$1" -l sh -c 'exit 0' >/dev/null 2>&1; }
need_run() { can_run namespaces || level=subprocess; can_run "$level" || skip_all 'cannot here: userns'; }
