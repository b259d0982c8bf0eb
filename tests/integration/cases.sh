#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that other sandboxes were reported to get wrong, one file each in tests/cases, at each level. What is right
# stands in the file's first lines:
#   case: a sentence · options: · levels: · needs: (of tests/probes/here) · stdin: a line · stdin-lines: of 40 bytes
#   want-verdict: · want-status: · want-signal: · want-stdout: want-stderr: ERE · never: ERE in neither · want-words: of the
#   verdict or the errors · want-denied: a call · want-cpu-below: seconds · want-peak: LEAST MOST bytes
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

said() { sed -n "s/\r\$//; s/^[^a-z]*$1: //p" "$file" | head -n 20; }

stdin_of() {
	local lines
	lines=$(said stdin-lines)
	if [ -n "$lines" ]; then
		awk -v n="$lines" 'BEGIN { for (i = 0; i < n; i++) printf "line %06d %s\n", i, "xxxxxxxxxxxxxxxxxxxxxxxxxxx" }'
	else
		said stdin
	fi
}

check() { # LEVEL, of $file: after `run`
	local name line low high
	name="$1: $(basename "$file")"
	is "$name: verdict" "$(got 'o["verdict"]')" "$(said want-verdict)" || {
		echo "# $(got 'o["evidence"]') $(got '[o["stdout"], o["stderr"]]' | head -c 600) $(errors | head -c 600)"
	}
	[ -z "$(said want-status)" ] || is "$name: status" "$status" "$(said want-status)"
	[ -z "$(said want-signal)" ] || is "$name: signal" "$(got 'o["signal"]')" "$(said want-signal)"
	got 'o["stdout"]' >stdout
	got 'o["stderr"]' >stderr
	while read -r line; do ok "$name: prints $line" grep -qE -- "$line" stdout; done < <(said want-stdout)
	while read -r line; do ok "$name: tells $line" grep -qE -- "$line" stderr; done < <(said want-stderr)
	while read -r line; do not "$name: never $line" grep -E -- "$line" stdout stderr; done < <(said never)
	while read -r line; do ok "$name: says $line" grep -qF -- "$line" result errors; done < <(said want-words)
	while read -r line; do
		is "$name: $line is in the list of what was refused" "$(got "any(d['call'] == '$line' for d in o['denied'])")" true
	done < <(said want-denied)
	[ -z "$(said want-cpu-below)" ] || between "$name: CPU time" "$(got 'o["cpu_s"]')" 0 "$(said want-cpu-below)"
	[ -z "$(said want-peak)" ] || {
		read -r low high < <(said want-peak)
		between "$name: peak" "$(got 'o["memory_peak"]')" "$low" "$high"
	}
}

# A microVM holds what its preset names, and its processor may be an emulated one: the limits of time are not what a case
# is about, unless it brings its own.
languages='python sh'
for pair in cc:c node:node; do ! "$here/tests/probes/here" "${pair%:*}" || languages+=" ${pair#*:}"; done
printf '[preset]\nname = cases\nextends = microvm\n[limits]\nwall = 90s\ncpu = 90s\n[microvm]\nlanguages = %s\n' \
	"$languages" >cases.ini

needed() { # LEVEL: what of this machine it takes
	case $1 in subprocess) echo sh ;; namespaces) echo userns ;; *) echo microvm ;; esac
}

for level in $levels microvm; do
	here "$(needed "$level")" "$level" || continue
	preset=$level
	[ "$level" != microvm ] || preset=./cases.ini
	for file in "$here"/tests/cases/*; do
		case " $(said levels) " in '  ' | *" $level "*) ;; *) continue ;; esac
		need=$(said needs)
		[ -z "$need" ] || here "$need" "$level: $(basename "$file")" || continue
		stdin_of >stdin
		read -ra options < <(said options)
		run -p "$preset" "${options[@]}" --stdin "$scratch/stdin" "$file"
		check "$level"
	done
done

# A host where an ordinary user may not have user namespaces: the stand-in is a namespace in which none is left.
if here userns 'restricted user namespaces'; then
	cat >inside.sh <<-'SH'
	echo 0 >/proc/sys/user/max_user_namespaces || exit 77
	exec "$BELLJAR" run --json -p namespaces -l sh -c 'echo ran inside' </dev/null
	SH
	unshare --user --map-root-user sh inside.sh >result 2>errors
	is 'restricted user namespaces: status' $? 125
	is 'restricted user namespaces: verdict' "$(got 'o["verdict"]')" setup-error
	unlike 'restricted user namespaces: nothing ran in a weaker level' "$(got 'o["stdout"]')" 'ran inside'
	like 'restricted user namespaces: the setting is named' "$(cat result errors)" 'max_user_namespaces|user namespaces'
fi
plan_end
