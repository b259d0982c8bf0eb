#!/bin/bash
# SPDX-License-Identifier: MIT
# What goes in and what comes out: --input, --output, --project, at each level.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

make_things() {
	rm -rf in out project
	mkdir -p in/sub project/src out
	echo 'one,two' >in/data.csv
	echo deep >in/sub/file
	ln -s /etc/passwd in/link
	chmod -R go+rX in
	echo 'first' >project/kept
	echo 'second' >project/src/changed
	echo 'third' >project/removed
	chmod +x project/kept
	chmod -R go+rX project
}

data_path() { [ "$1" = subprocess ] && echo data || echo /data; }
out_path() { [ "$1" = subprocess ] && echo out || echo /out; }

test_input() {
	local level=$1 data
	data=$(data_path "$level")
	run -p "$level" --input "$scratch/in" -l sh -c "cat $data/data.csv $data/sub/file" </dev/null
	is "$level: input: a folder is to be read" "$(got 'o["stdout"]')" $'one,two\ndeep'
	run -p "$level" --input "$scratch/in/data.csv:/data/other.csv" -l sh -c "cat $data/other.csv" </dev/null
	is "$level: input: a file, by another name" "$(got 'o["stdout"]')" 'one,two'
	run -p "$level" --input "$scratch/in" -l sh -c "echo x >>$data/data.csv; echo x >$data/new; rm -f $data/data.csv; true" </dev/null
	is "$level: input: the original is as it was" "$(cat in/data.csv; echo in/*)" $'one,two\nin/data.csv in/link in/sub'
	if [ "$level" = namespaces ]; then
		run -p "$level" --input "$scratch/in" -l sh -c "echo x >>$data/data.csv" </dev/null
		like "$level: input: read-only" "$(got 'o["stderr"]')" 'Read-only|Permission denied'
		run -p "$level" --input "$scratch/in:/somewhere/else" -l sh -c "cat /somewhere/else/data.csv" </dev/null
		is "$level: input: at a place of one's own" "$(got 'o["stdout"]')" 'one,two'
	fi
	run -p "$level" --input "$scratch/no-such" -l sh -c 'echo ran' </dev/null
	is "$level: input: what is not there stops the run before it starts" "$(got 'o["verdict"]') $status" 'setup-error 125'
	like "$level: input: and is named" "$(cat "$scratch/result" "$scratch/errors")" 'no-such'
}

test_output() {
	local level=$1 out
	out=$(out_path "$level")
	rm -rf out && mkdir out
	echo 'of the host' >secret && chmod 600 secret
	run -p "$level" --output "$scratch/out" -l sh -c "
		mkdir -p $out/deep/er && echo result >$out/deep/er/file && echo x >$out/plain && chmod 4755 $out/plain
		ln -s /etc/passwd $out/link; ln -s $scratch/secret $out/absolute; ln -s .. $out/up
		ln $out/plain $out/hard; mkfifo $out/pipe
		echo evil >'$out/new
line'; true" </dev/null
	is "$level: output: files and folders come out" "$(cat out/deep/er/file 2>&1)" result
	is "$level: output: no link, no pipe, no second name does" \
		"$(find out -type l -o -type p -o -links +1 -type f)" ''
	is "$level: output: no set-user-id bit does" "$(find out -perm /6000)" ''
	is "$level: output: what came out is ours" "$(find out ! -user "$(id -un)")" ''
	unlike "$level: output: nothing of the host came with it" "$(cat -- out/* 2>/dev/null)" 'of the host|root:'
	rm -rf out && mkdir out && ln -s /tmp "$scratch/aside"
	run -p "$level" --output "$scratch/out" -l sh -c "mkdir $out/a; echo x >$out/a/x; exit 3" </dev/null
	is "$level: output: also when the run failed" "$(cat out/a/x) $status" 'x 3'
	rm -f "$scratch/aside"
}

test_project() {
	local level=$1 before
	before=$(cd project && find . -type f -exec sha256sum {} + | sort)
	run -p "$level" --project "$scratch/project" -l sh -c '
		cat kept; echo more >>src/changed; rm removed; mkdir new; echo added >new/file; ls' </dev/null
	is "$level: project: is the working folder" "$(got 'o["stdout"]')" $'first\nkept\nnew\nsrc'
	is "$level: project: the original is as it was" "$(cd project && find . -type f -exec sha256sum {} + | sort)" "$before"
	is "$level: project: the end tells what changed" \
		"$(event '" ".join(sorted(e["op"] + ":" + e["path"].lstrip("./") for e in of("changed") if not e["path"].endswith("new")))')" \
		'added:new/file changed:src/changed removed:removed'
	run -p "$level" --project "$scratch/project" -l sh -c './kept 2>/dev/null; test -x kept && echo executable' </dev/null
	is "$level: project: permissions are kept" "$(got 'o["stdout"]')" executable
	rm -rf out && mkdir out
	run -p "$level" --project "$scratch/project" --output "$scratch/out" -l sh -c 'echo more >>src/changed; rm removed' </dev/null
	is "$level: project: --output takes what changed" "$(cat "$(find out -name changed)" 2>&1)" $'second\nmore'
}

make_things
for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level" || continue
	test_input "$level"
	test_output "$level"
	test_project "$level"
done
plan_end
