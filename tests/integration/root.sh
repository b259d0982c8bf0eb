#!/bin/bash
# SPDX-License-Identifier: MIT
# root = FOLDER of a preset: that folder's files in the place of the host's /usr, and nothing of it that could lead out.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

# A system of one static program.
make_root() {
	mkdir -p root/usr/bin root/etc/sub root/opt root/var/lib root/dev root/proc root/tmp root/home/me root/srv
	cp "$PROBE" root/usr/bin/tool && chmod 755 root/usr/bin/tool
	ln -s usr/bin root/bin
	ln -s tool root/usr/bin/link-in
	ln -s /usr/bin/env root/usr/bin/link-out
	ln -s "$scratch/outside" root/out-of-it
	ln -s "$scratch/outside" root/data
	ln -s "$scratch/outside" root/srv/deep
	echo 'theirs' >root/etc/passwd
	echo 'in it' >root/etc/sub/file
	echo 'theirs' >root/dev/mine
	echo 'theirs' >root/tmp/mine
	echo 'theirs' >root/home/me/mine
	echo 'a file' >root/plain
	mkfifo root/pipe
	mkdir outside && echo 'of the host' >outside/secret
	chmod -R go+rX root outside
}

preset() { # FILE ROOT [KEY = VALUE]...
	local file=$1 line
	printf '[preset]\nname = rooted\nextends = namespaces\n[filesystem]\nroot = %s\n' "$2" >"$file"
	shift 2
	for line in "$@"; do echo "$line" >>"$file"; done
}

in_root() { run -p "$scratch/rooted.ini" "$@" </dev/null; }
says() { # NAME WANT PROBE-ARG...: what the probe says in the root
	local name=$1 want=$2
	shift 2
	in_root -- tool "$@"
	like "root: $name" "$(got 'o["stdout"]')$(errors)" "$want"
}

test_view() {
	says 'a program is found in it' '^OK' open /
	is 'root: and runs' "$(got 'o["verdict"]')" ok
	is 'root: by its own path' "$(event 'of("start")[0]["argv"][0]' | sed 's|.*bin/||')" tool
	in_root -- link-in open /
	is 'root: by a link inside it' "$(got 'o["verdict"]')" ok
	in_root -- link-out open /
	is 'root: not by a link that leads out' "$(got 'o["verdict"]') $status" 'setup-error 127'
	in_root -- sh -c true
	is 'root: what only the host has is not there' "$(got 'o["verdict"]') $status" 'setup-error 127'
	like 'root: and is said to be missing there' "$(cat result errors)" 'not in root = '
	says 'its etc is there' '^OK' open /etc/sub/file
	says 'its account file stays' '^OK' open /etc/passwd
	says 'what it lacks is ours' '^OK' open /etc/hosts
	says 'a file at its top' '^OK' open /plain
	says 'no pipe at its top' 'ENOENT' open /pipe
	says 'nothing of the host' 'ENOENT' open /usr/lib
	says 'no link leads out' 'ENOENT' open /out-of-it/secret
	for path in /dev/mine /tmp/mine /home/me/mine; do
		says "$path is not its to give" 'ENOENT' open "$path"
	done
	for folder in / /usr /etc /opt /var/lib /usr/bin; do
		says "$folder is read-only" 'EROFS|EACCES' create "$folder/new"
	done
	says 'the working folder may be written' '^OK' create new
	says '/tmp may be written' '^OK' create /tmp/new
	like 'root: the layer says what is shown' "$(event '[l["detail"] for l in of("start")[0]["layers"] if l["name"] == "mount-ns"]')" \
		"read-only view of $scratch/root"
}

test_places() {
	in_root --input "$scratch/outside" -- tool open /data/secret
	like 'root: an input comes before its own folder of that name' "$(got 'o["stdout"]')" '^OK'
	in_root --input "$scratch/outside/secret" --input "$scratch/root/plain:/data/other" -- tool open /data/other
	like 'root: so do several' "$(got 'o["stdout"]')$(errors)" '^OK'
	in_root --input "$scratch/outside/secret:/srv/deep/new" -- tool open /srv/deep/new
	is 'root: nothing is placed below its folders' "$(got 'o["verdict"]') $status" 'setup-error 125'
	like 'root: and the place is named' "$(cat result errors)" '/srv/deep/new cannot be shown'
	mkdir -p made
	in_root --output "$scratch/made" -- tool create /out/result
	ok 'root: output comes out' test -f made/result
	is 'root: nothing was made outside' "$(ls outside)" secret
}

refused() { # NAME ROOT WORDS
	preset "$scratch/other.ini" "$2"
	run -p "$scratch/other.ini" -- tool open / </dev/null
	is "root: $1 is refused" "$(got 'o["verdict"]') $status" 'setup-error 125'
	like "root: $1, with the reason" "$(cat result errors)" "$3"
}

test_refused() {
	refused 'the whole host' host 'never shows the whole host'
	ln -s / slash
	refused 'the host by a link' "$scratch/slash" 'never shows the whole host'
	refused 'a file' "$scratch/root/plain" 'images are for the microvm'
	refused 'what is not there' "$scratch/no-such" 'no-such'
}

if here userns root; then
	make_root
	preset rooted.ini "$scratch/root"
	test_view
	test_places
	test_refused
fi
plan_end
