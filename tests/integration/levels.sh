#!/bin/bash
# SPDX-License-Identifier: MIT
# The table of limits: by what each is held at each level, with a control group and without, as whoever runs this. The
# start event of a run and `belljar preset show` both say it; what the table promises, both must say.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

# limit; at subprocess without a control group; with one; at namespaces without; with one: the grade, and its mechanism
table() {
	cat <<-'TXT'
	wall; supervisor timer; supervisor timer; supervisor timer; supervisor timer
	cpu; kernel RLIMIT_CPU; kernel RLIMIT_CPU; kernel RLIMIT_CPU; kernel RLIMIT_CPU
	cpus; kernel CPU affinity, changes refused; kernel cgroup v[12] cpu.; kernel CPU affinity, changes refused; kernel cgroup v[12] cpu.
	memory; sampled .*ENOMEM.*sampled; kernel cgroup v[12] memory.; sampled .*ENOMEM.*sampled; kernel cgroup v[12] memory.
	processes; none unlimited; none unlimited; kernel RLIMIT_NPROC; kernel cgroup v[12] pids.max
	open_files; kernel RLIMIT_NOFILE; kernel RLIMIT_NOFILE; kernel RLIMIT_NOFILE; kernel RLIMIT_NOFILE
	file_size; kernel RLIMIT_FSIZE; kernel RLIMIT_FSIZE; kernel RLIMIT_FSIZE; kernel RLIMIT_FSIZE
	space; none unlimited; none unlimited; kernel .*tmpfs; kernel .*tmpfs
	inodes; none unlimited; none unlimited; kernel nr_inodes; kernel nr_inodes
	output; supervisor counted; supervisor counted; supervisor counted; supervisor counted
	TXT
}

# without_cgroup CMD...: where no control group can be had. An ordinary user may have none anyway.
without_cgroup() {
	if "$here/tests/probes/here" cgroup; then
		unshare --mount sh -c 'mount -t tmpfs -o ro none /sys/fs/cgroup && exec "$@"' sh "$@"
	else
		"$@"
	fi
}
with_cgroup() { "$@"; }

walk() { # LEVEL with|without
	local level=$1 which=$2 name sub sub_cg ns ns_cg want limit shown
	"${which}_cgroup" "$BELLJAR" run --json -q -p "$level" -- /bin/true >"$scratch/result" 2>"$scratch/errors" </dev/null
	is "$level $which: a run" "$(got 'o["verdict"]')" ok
	"${which}_cgroup" "$BELLJAR" preset show "$level" >"$scratch/shown" 2>"$scratch/errors" </dev/null
	is "$level $which: preset show" $? 0
	is "$level $which: all limits are in the table" "$(got '" ".join(l["name"] for l in o["limits"])')" \
		"$(table | cut -d';' -f1 | paste -sd' ')"
	while IFS=';' read -r name sub sub_cg ns ns_cg; do
		case $level-$which in
		subprocess-without) want=$sub ;;
		subprocess-with) want=$sub_cg ;;
		namespaces-without) want=$ns ;;
		namespaces-with) want=$ns_cg ;;
		esac
		limit=$(got "' '.join(str(l[k]) for l in o['limits'] if l['name'] == '$name' for k in ('grade', 'mechanism'))")
		like "$level $which: $name: the start says" "$limit" "^${want# }"
		shown=$(sed -n '/^On this machine/,$p' "$scratch/shown" | grep -E "^$name ")
		if [ "${want# }" = 'none unlimited' ]; then
			is "$level $which: $name: nothing is shown of what nobody asked for" "$shown" ''
		else
			like "$level $which: $name: preset show says" "$(tr -s ' ' <<<"$shown")" "^$name ${want# }"
		fi
	done < <(table)
	[ "$level" = namespaces ] || [ "$(id -u)" = 0 ] || like "$level $which: that the target is the person is said" \
		"$(got '[l["detail"] for l in o["layers"] if l["name"] == "mount-ns"]')" 'your own rights: recordings'
	[ "$level" = namespaces ] || like "$level $which: what a run leaves between processes is said" \
		"$(got '[l["detail"] for l in o["layers"] if l["name"] == "pid-ns"]')" 'queues are the run.s too'
	is "$level $which: both name the same layers" \
		"$(got '" ".join(l["name"] + ":" + l["state"] for l in o["layers"])')" \
		"$(sed -n '/^On this machine/,$p' "$scratch/shown" | awk '$2 ~ /^(on|off|partial|unavailable)$/ { printf "%s%s:%s", sep, $1, $2; sep = " " }')"
	is "$level $which: what is in force was asked for, not more" \
		"$(got '[l["name"] for l in o["limits"] if l["asked"] is not None and not (l["enforced"] <= l["asked"] + (10**9 if l["name"] == "cpu" else 4095))]')" '[]'
}

# What is too weak never runs as if it were not: 125 and what to do; unless the person says --best-effort, and then it is told.
test_never_weaker() { # LEVEL
	local level=$1
	mkdir -p "$HOME/.config/belljar/presets"
	printf '[preset]\nextends = %s\n[limits]\nrequire = kernel\n' "$level" >"$HOME/.config/belljar/presets/strict.ini"
	printf '[preset]\nextends = %s\n[limits]\ncpus = 0.5\n' "$level" >"$HOME/.config/belljar/presets/half.ini"
	without_cgroup "$BELLJAR" run --json -p strict -- /bin/true >"$scratch/result" 2>"$scratch/errors" </dev/null
	is "$level: require = kernel, where memory is sampled: status" $? 125
	is "$level: nothing ran" "$(got 'o["verdict"]')" setup-error
	like "$level: and it says which, and what to do" "$(got 'o["evidence"]')" 'limit-sampled: memory = 256M .*require = kernel.*--best-effort'
	without_cgroup "$BELLJAR" run --json -p strict --best-effort -- /bin/true >"$scratch/result" 2>"$scratch/errors" </dev/null
	is "$level: with --best-effort it runs" "$(got 'o["verdict"]')" ok
	is "$level: and the grade stays what it is" "$(got '[l["grade"] for l in o["limits"] if l["name"] == "memory"]')" '["sampled"]'
	without_cgroup "$BELLJAR" run --json -p half -- /bin/true >"$scratch/result" 2>"$scratch/errors" </dev/null
	is "$level: half a core, which nothing holds: status" $? 125
	like "$level: half a core: says so" "$(got 'o["evidence"]')" 'limit-none: cpus = 0.5 .*held by nothing'
	without_cgroup "$BELLJAR" run --json -p half --best-effort -- /bin/true >"$scratch/result" 2>"$scratch/errors" </dev/null
	is "$level: half a core, with --best-effort: runs" "$(got 'o["verdict"]')" ok
	is "$level: half a core is not claimed" \
		"$(got '[[l["grade"], l["enforced"]] for l in o["limits"] if l["name"] == "cpus"]')" '[["none", null]]'
	without_cgroup "$BELLJAR" preset show half >"$scratch/shown" 2>&1 </dev/null
	like "$level: preset show does not claim it either" "$(cat "$scratch/shown")" '^cpus +NOT ENFORCED'
	here cgroup "$level: require = kernel with a control group" || return
	run -p strict -- /bin/true </dev/null
	is "$level: require = kernel with a control group" "$(got 'o["verdict"]')" ok
	is "$level: nothing is sampled" "$(got '[l["name"] for l in o["limits"] if l["grade"] == "sampled"]')" '[]'
}

for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level" || continue
	walk "$level" without
	test_never_weaker "$level"
	here cgroup "$level, with a control group" || continue
	walk "$level" with
done
plan_end
