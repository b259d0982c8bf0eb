#!/bin/bash
# SPDX-License-Identifier: MIT
# belljar image: what is kept for virtual machines is made, listed, removed; what a root image holds is what the host has;
# nothing is left of a maker that was killed; what is in use or damaged is treated so.
. "$(dirname "$0")/lib.sh"
own_cache
cd "$scratch" || exit 1
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# A guest of nothing: images do not ask what their parts do.
mkdir -p guest/modules
cp /usr/bin/true guest/vmlinux && cp /usr/bin/true guest/agent && cp /usr/bin/true guest/stage
echo 'print("stage")' >guest/stage.py
echo 6.1.0-test >guest/release
printf 'b.ko\na.ko\n' >guest/modules/order
echo b >guest/modules/b.ko && echo a >guest/modules/a.ko
echo none >guest/sums
export BELLJAR_GUEST=$scratch/guest
images=$scratch/.cache/belljar/images

mkdir own && echo mine >own/file && chmod 600 own/file && ln -s file own/link
printf '[preset]\nextends = namespaces\n[filesystem]\nread_only = %s\n' "$scratch/own" >own.ini

image() { timeout 170 "$BELLJAR" image "$@" 2>"$scratch/errors"; }
kept() { image list --json | json "$1"; }
left_over() { find "$images" -mindepth 1 -maxdepth 1 -name '*.*' | wc -l; }

# ---- nothing yet ----
like 'an empty list says so, and where' "$(image list)" "^Nothing is kept: 0 B in $images\$"
is 'and as JSON' "$(kept '[o["entries"], o["bytes"], o["where"]]')" "[[], 0, \"$images\"]"
is 'the folder is ours alone' "$(stat -c %a "$images")" 700
is 'image alone lists' "$(image)" "$(image list)"

# ---- wrong words ----
wrong() { # PATTERN WORDS...
	local pattern=$1 text
	shift
	text=$(timeout 20 "$BELLJAR" image "$@" 2>&1 >"$scratch/stdout" </dev/null)
	is "image $*: status" "$?" 125
	like "image $*: says what is wrong" "$text" "^belljar: .*$pattern"
	is "image $*: nothing on standard output" "$(wc -c <"$scratch/stdout")" 0
}
wrong 'none of list, build, rm' lst
wrong 'asked otherwise' list word
wrong 'asked otherwise' list --all
wrong 'asked otherwise' rm
wrong 'asked otherwise' rm --all root
wrong 'asked otherwise' rm --json root
wrong 'asked otherwise' build namespaces
wrong "'root' is none of what is kept" rm root
wrong "'' is none of what is kept" rm ''
wrong 'no preset' build -p nonexistent
wrong 'unknown option' build --prest namespaces
BELLJAR_GUEST=$scratch/nowhere wrong 'no guest for a microVM in' build -p namespaces
printf '[preset]\nextends = namespaces\n[microvm]\nlanguages = lua\n' >lua.ini
[ -x /usr/bin/lua ] || wrong 'lua.* is not installed' build -p ./lua.ini
printf '[preset]\nextends = namespaces\n[filesystem]\nroot = %s/own.ini\n' "$scratch" >file.ini
wrong 'is a file: here a root is a folder' build -p ./file.ini
XDG_CACHE_HOME=/proc/nowhere wrong 'create folder' list
mkdir -p open/belljar/images && chmod 777 open/belljar/images
XDG_CACHE_HOME=$scratch/open wrong 'set XDG_CACHE_HOME to a folder of your own' list

if ! here program:/usr/bin/mkfs.erofs 'images are made'; then
	plan_end
fi

test_build() {
	local names
	like 'build: tells what it does' "$(image build -p ./own.ini)" '^packing the root image$'
	is 'build: what a run needs' "$(kept 'sorted(e["kind"] for e in o["entries"])')" '["data", "initrd", "root"]'
	is 'nothing else lies there' "$(left_over)" 0
	is 'files that nobody writes to' "$(find "$images" -type f ! -perm 444 | wc -l)" 0
	names=$(kept 'sorted(e["name"] for e in o["entries"])')
	is 'build again: there is nothing to do' "$(image build -p ./own.ini)" ready
	is 'and nothing new' "$(kept 'sorted(e["name"] for e in o["entries"])')" "$names"
	is 'sizes are those on disk' "$(kept 'o["bytes"] == sum(e["bytes"] for e in o["entries"]) < 1 << 32')" true
	is 'the disk of what a run is given: one size, sparse' "$(stat -c '%s' "$images"/data-*/data.erofs)" 1099511627776
	is 'nothing is in use' "$(kept 'any(e["in_use"] for e in o["entries"])')" false
	like 'the table' "$(image list)" '^root-[0-9a-f]{12} +[0-9.]+ MiB  20[0-9-]+ [0-9:]+ +python, sh, /.*/own$'
	is 'it fits 80 columns but for what it is for' "$(image list | cut -c1-57 | awk 'length > 57' | wc -l)" 0
}

test_initrd() {
	here program:/usr/bin/cpio 'the archive as cpio reads it' || return
	is 'the archive as cpio reads it' "$(cpio -t --quiet <"$(echo "$images"/initrd-*/initrd.cpio)" | paste -sd' ')" \
		'dev mnt modules proc sys dev/console modules/00-b.ko modules/01-a.ko init'
	like 'the console is a device' "$(cpio -tv --quiet <"$(echo "$images"/initrd-*/initrd.cpio)")" \
		'^crw-------.* 5, +1 .* dev/console$'
}

# In the root image, with nothing else around it.
inside() { unshare -r chroot root "$@" 2>&1; }

test_root() {
	here program:/usr/bin/fsck.erofs 'a root image unpacked' || return
	ok 'a root image unpacked' fsck.erofs --extract="$scratch/root" --no-preserve-owner "$(echo "$images"/root-*/root.erofs)"
	is 'the waiting program' "$(cmp root/usr/lib/belljar/stage guest/stage && cat root/usr/lib/belljar/stage.py)" 'print("stage")'
	is 'links as on the host' "$(readlink root/bin)" "$(readlink /bin)"
	is 'folders to mount on' "$(cd root && echo data dev mnt out proc project run sys tmp workspace)" \
		"$(cd root && for f in data dev mnt out proc project run sys tmp workspace; do [ -d $f ] && echo "$f"; done | paste -sd' ')"
	is 'none of the accounts of this machine' "$(ls root/etc/passwd root/etc/shadow 2>/dev/null)" ''
	is "the preset's own folder, for everybody to read" "$(stat -c %a "root$scratch/own/file") $(readlink "root$scratch/own/link")" '644 file'
	here userns 'programs of a root image run' || return
	is 'Python, with what is in its library' \
		"$(inside /usr/bin/python3 -c 'import ssl, sqlite3, ctypes, decimal, hashlib, lzma, json; print(6 * 7)')" 42
	is "Python's compiled files are taken for what they are" \
		"$(inside /usr/bin/python3 -v -c 'import json, email' | grep -cE 'wrote|stale|not match')" 0
	# shellcheck disable=SC2016 # the inner shell's own $
	is 'a script, with its tools' "$(inside /bin/sh -c 'for w in b a; do echo $w; done | sort | sed s/a/A/ | awk "{ print \$1 NR }" | paste -sd-')" 'A1-b2'
}

# The key: what is the user's own is looked at in full.
test_changes() {
	ok 'all of it removed' image rm --all
	ok 'and made again' image build -p ./own.ini
	echo more >own/file
	ok 'a file of a shown folder changes' image build -p ./own.ini
	is 'and there is another root' "$(kept 'len([e for e in o["entries"] if e["kind"] == "root"])')" 2
	chmod 644 guest/stage && echo >>guest/stage && ok 'the waiting program changes' image build -p ./own.ini
	is 'and there is another root again' "$(kept 'len([e for e in o["entries"] if e["kind"] == "root"])')" 3
	mkdir -p folder/etc folder/dev folder/usr/bin
	cp /usr/bin/true folder/usr/bin/true && mkfifo folder/dev/fifo
	printf '[preset]\nextends = namespaces\n[filesystem]\nroot = %s/folder\n' "$scratch" >folder.ini
	ok 'a folder as root' image build -p ./folder.ini
	like 'is told as that' "$(kept '[e["label"] for e in o["entries"]]')" "\"$scratch/folder\""
}

damage() { # NAME COMMAND...: done to a file of the root image, which is then made again
	local name=$1 file
	shift
	file=$(echo "$images"/root-*/root.erofs)
	chmod 644 "$file"
	"$@" "$file"
	like "a damaged image is made again: $name" "$(image build -p ./own.ini)" '^packing the root image$'
	is "and only once: $name" "$(image build -p ./own.ini)" ready
}

test_damage() {
	damage 'short' truncate -s 100000
	damage 'empty' truncate -s 0
	damage 'written to' sh -c 'echo x | dd bs=1 seek=5000000 conv=notrunc status=none of="$0"'
	damage 'gone' rm
}

# One process of the test's own, whose children mkfs.erofs is: none of them outlives it.
test_killed() {
	local round pid
	for round in 1 2 3; do
		ok "removed: $round" image rm --all
		setsid "$BELLJAR" image build -p ./own.ini >/dev/null 2>&1 &
		pid=$!
		case $round in
		1) wait_until 30 sh -c "ls -d '$images'/root-*.new/tree/usr" ;;
		2) wait_until 30 sh -c "ls -d '$images'/root-*.new/tree/usr/lib/belljar/stage.py" ;;
		3) wait_until 30 sh -c "ls '$images'/root-*.new/root.erofs" ;;
		esac
		kill -9 $pid
		wait $pid 2>/dev/null
		between "killed: it left something: $round" "$(left_over)" 1 2
		ok "killed: its children are gone: $round" wait_until 10 sh -c "! pgrep -s $pid"
		is "killed: no half of an image is listed: $round" "$(kept '[e["kind"] for e in o["entries"] if e["kind"] == "root"]')" '[]'
		is "killed: and the list swept: $round" "$(left_over)" 0
	done
	ok 'the next build goes well' image build -p ./own.ini
}

test_rm() {
	local name
	name=$(kept 'first([e["name"] for e in o["entries"] if e["kind"] == "root"])')
	exec 7<"$images/$name/root.erofs"
	flock -s 7
	is 'who holds one is told' "$(kept '[e["kind"] for e in o["entries"] if e["in_use"]]')" '["root"]'
	is 'rm: in use: status' "$(image rm root; echo "$?")" 1
	like 'rm: in use: said' "$(cat errors)" '^belljar: root-[0-9a-f]{12} stays: it is in use$'
	like 'rm --all: the others go' "$(image rm --all)" '^removed data-[0-9a-f]{12}, '
	is 'rm --all: and this one stays' "$(kept '[e["kind"] for e in o["entries"]]')" '["root"]'
	exec 7<&-
	like 'rm: by the beginning of its name' "$(image rm "${name:0:12}")" '^removed root-[0-9a-f]{12}, [0-9.]+ MiB$'
	is 'rm: nothing is left' "$(find "$images" -mindepth 1 | wc -l)" 0
}

test_without_mkfs() {
	here userns 'without mkfs.erofs' || return
	# shellcheck disable=SC2016 # the inner shell's own $
	like 'without mkfs.erofs: says what to install' "$(unshare -rm sh -c 'for f in /usr/bin /usr/sbin; do
		[ ! -e $f/mkfs.erofs ] || mount --bind /dev/null $f/mkfs.erofs || exit; done
		exec "$0" image build -p ./own.ini' "$BELLJAR" 2>&1)" 'mkfs.erofs is not here.*: install erofs-utils$'
	is 'and leaves nothing' "$(left_over)" 0
}

test_build
test_initrd
test_root
test_changes
image rm --all >/dev/null
image build -p ./own.ini >/dev/null
test_damage
test_killed
test_rm
test_without_mkfs
plan_end
