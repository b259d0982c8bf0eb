#!/bin/bash
# SPDX-License-Identifier: MIT
# What goes in and what comes out: --input, --output, --project, at each level. At namespaces a project is copied for
# root and overlaid for an ordinary user: what is said of it here holds for both.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

make_things() {
	rm -rf in out project linked
	mkdir -p in/sub project/src out
	echo 'one,two' >in/data.csv
	echo deep >in/sub/file
	mkdir linked && ln -s /etc/passwd linked/link && echo plain >linked/plain
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
	is "$level: input: the original is as it was" "$(cat in/data.csv; echo in/*)" $'one,two\nin/data.csv in/sub'
	if [ "$level" = namespaces ]; then
		run -p "$level" --input "$scratch/in" -l sh -c "echo x >>$data/data.csv" </dev/null
		like "$level: input: read-only" "$(got 'o["stderr"]')" 'Read-only|Permission denied'
		run -p "$level" --input "$scratch/in:/somewhere/else" -l sh -c "cat /somewhere/else/data.csv" </dev/null
		is "$level: input: at a place of one's own" "$(got 'o["stdout"]')" 'one,two'
		run -p "$level" --input "$scratch/in:/somewhere/" -l sh -c "cat /somewhere/data.csv" </dev/null
		is "$level: input: a place that ends in a slash" "$(got 'o["stdout"]')" 'one,two'
		run -p "$level" --input "$scratch/linked" -l sh -c "cat $data/plain; readlink $data/link" </dev/null
		is "$level: input: links are shown as links" "$(got 'o["stdout"]')" $'plain\n/etc/passwd'
	else
		run -p "$level" --input "$scratch/in:/somewhere/else" -l sh -c 'echo ran' </dev/null
		is "$level: input: no place but data/" "$(got 'o["verdict"]') $status" 'setup-error 125'
		like "$level: input: and the place is named" "$(cat result errors)" '/somewhere/else'
		run -p "$level" --input "$scratch/linked" -l sh -c 'echo ran' </dev/null
		is "$level: input: no link is copied" "$(got 'o["verdict"]') $status" 'setup-error 125'
		like "$level: input: and the link is named" "$(cat result errors)" 'link is not copied: it is a symbolic link'
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
	is "$level: output: what did not come is told" \
		"$(event '" ".join(sorted(e["what"] + ":" + e["why"].split()[-1] for e in of("dropped") if e["what"].startswith("output")))')" \
		'output absolute:link output hard:link) output link:link output pipe:pipe output plain:link) output up:link'
	is "$level: output: and is no change of a project" "$(event 'of("changed")')" '[]'
	unlike "$level: output: nothing of the host came with it" "$(cat -- out/* 2>/dev/null)" 'of the host|root:'
	rm -rf out && mkdir out && ln -s /tmp "$scratch/aside"
	run -p "$level" --output "$scratch/out" -l sh -c "mkdir $out/a; echo x >$out/a/x; exit 3" </dev/null
	is "$level: output: also when the run failed" "$(cat out/a/x) $status" 'x 3'
	rm -f "$scratch/aside"
}

test_project() {
	local level=$1 before out
	out=$(out_path "$level")
	before=$(cd project && find . -type f -exec sha256sum {} + | sort)
	run -p "$level" --project "$scratch/project" -l sh -c '
		cat kept; echo more >>src/changed; rm removed; mkdir new; echo added >new/file; ls' </dev/null
	is "$level: project: is the working folder" "$(got 'o["stdout"]')" $'first\nkept\nnew\nsrc'
	is "$level: project: the original is as it was" "$(cd project && find . -type f -exec sha256sum {} + | sort)" "$before"
	is "$level: project: the end tells what changed" "$(changes)" \
		'added:new/ added:new/file changed:src/changed removed:removed'
	run -p "$level" --project "$scratch/project" -l sh -c './kept 2>/dev/null; test -x kept && echo executable' </dev/null
	is "$level: project: permissions are kept" "$(got 'o["stdout"]')" executable
	run -p "$level" --project "$scratch/project" -l sh -c 'touch kept src/changed; cat kept >x; mv x kept' </dev/null
	is "$level: project: bytes count, not times" "$(changes)" changed:kept # mv: no longer executable
	rm -rf out && mkdir out
	run -p "$level" --project "$scratch/project" --output "$scratch/out" -l sh -c "
		echo more >>src/changed; rm removed; mkdir new; echo added >new/file; ln -s /etc/passwd new/link
		echo result >$out/result" </dev/null
	is "$level: project: --output takes what changed" "$(cd out && find . -type f | sort | xargs cat)" \
		$'added\nresult\nsecond\nmore'
	is "$level: project: and nothing else" "$(cd out && find . | sort | tr '\n' ' ')" \
		'. ./new ./new/file ./result ./src ./src/changed '
	is "$level: project: what was passed over is told, whiteouts are not" \
		"$(event '[e["what"] + ": " + e["why"] for e in of("dropped")]')" \
		'["output new/link: it is a symbolic link"]'
	run -p "$level" --project "$scratch/project" --input "$scratch/in" --output "$scratch/made" -l sh -c true </dev/null
	is "$level: project: what is ours in it is no change" "$(changes)" ''
}

changes() { event '" ".join(sorted(e["op"] + ":" + e["path"] for e in of("changed")))'; }

# Files that nobody else may read, and links that lead out.
test_private() {
	local level=$1
	rm -rf private && mkdir private && echo 'for me' >private/mine && chmod 600 private/mine
	echo secret >outside && chmod 644 outside
	ln -s "$scratch/outside" private/away && ln -s / private/top && ln -s mine private/in && ln -s nowhere private/dangling
	run -p "$level" --project "$scratch/private" -l sh -c 'cat mine in; echo more >>mine; readlink away top dangling' </dev/null
	is "$level: private: a file of mode 0600 is the target's to read" "$(got 'o["stdout"]')" \
		$'for me\nfor me\n'"$scratch/outside"$'\n/\nnowhere'
	is "$level: private: and to change" "$(changes)" changed:mine
	is "$level: private: not for the host" "$(cat private/mine)" 'for me'
	run -p "$level" --project "$scratch/private" --output "$scratch/links" -l sh -c '
		cat away; ln -sf /etc/hostname in; rm dangling top; echo x >away' </dev/null
	if [ "$level" = namespaces ]; then
		unlike "$level: private: no link leads out of the view" "$(got 'o["stdout"]')" secret
		is "$level: private: not for writing either" "$(cat outside)" secret
	fi
	is "$level: private: links are compared by where they lead" "$(changes)" 'changed:in removed:dangling removed:top'
	is "$level: private: and are not brought out" "$(ls links)" ''
}

# An ordinary user's own project, overlaid: what is closed to everyone stays closed, and does no harm.
test_closed() {
	rm -rf closed && mkdir -p closed/folder && echo old >closed/file && echo old >closed/folder/in && echo old >closed/plain
	chmod 000 closed/file closed/folder
	run -p namespaces --project "$scratch/closed" -l sh -c 'cat plain; cat file; ls folder; echo new >plain; true' </dev/null
	is 'namespaces: closed: the project is there' "$(got 'o["stdout"]') $status" 'old 0'
	is 'namespaces: closed: what is closed stays so' "$(got 'o["stderr"].count("Permission denied")')" 2
	is 'namespaces: closed: and is no change' "$(changes)" changed:plain
	run -p namespaces --project "$scratch/closed" --output "$scratch/opened" -l sh -c '
		chmod 600 file; chmod 700 folder; echo newer >file; echo newer >folder/in; mkdir shut; echo x >shut/x; chmod 0 shut plain' </dev/null
	is 'namespaces: closed: its owner may open it' "$(got 'o["verdict"]')" ok
	is 'namespaces: closed: for itself only' "$(stat -c %a closed/file closed/folder | tr '\n' ' ')" '0 0 '
	is 'namespaces: closed: what it opened comes out' "$(cat opened/file)" newer
	is 'namespaces: closed: what it closed does not, and is told' \
		"$(event 'sorted(e["what"] for e in of("dropped") if e["why"] == "it cannot be opened")')" '["output plain", "output shut"]'
	chmod -R u+rwX closed
}

make_things
for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level" || continue
	test_input "$level"
	test_output "$level"
	test_project "$level"
	test_private "$level"
	if [ "$level" = namespaces ] && [ "$(id -u)" -ne 0 ]; then test_closed; fi
done
plan_end
