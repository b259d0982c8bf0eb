#!/bin/bash
# SPDX-License-Identifier: MIT
# The guest's kernel, from packages made up here: whatever it is compressed by, what comes out is the same; modules stand
# behind those that they need; and where anything is wrong a line says so and what was there before stays whole.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
kernel=$here/.ci/guest-kernel
release=9.9.0-cloud
tree=$scratch/package/lib/modules/$release/kernel

# An ELF file with the note of an entry for PVH (18), or with another one.
make_elf() { # FILE NOTE
	printf '.section .note.Xen, "a", @note\n.long 4, 4, %s\n.asciz "Xen"\n.long 0x1000000\n.text\n.globl _start\n_start: hlt\n' \
		"$2" | as -o elf.o && ld -o "$1" elf.o
}

make_image() { # ELF COMMAND...: the bzImage that holds it, compressed by that
	local elf=$1
	shift
	{ "$@" <"$elf"; } >payload || return 1
	/usr/bin/python3 - "$elf" "$1" <<-'PY'
	import os, struct, sys
	payload = open("payload", "rb").read()
	if sys.argv[2] != "gzip":
	    payload += struct.pack("<I", os.path.getsize(sys.argv[1]))
	head = bytearray(2 * 512 + 16)
	head[0x1f1] = 1
	head[0x202:0x206] = b"HdrS"
	struct.pack_into("<II", head, 0x248, 16, len(payload))
	open("image", "wb").write(head + payload + b"signature")
	PY
}

make_module() { # FOLDER NAME NEEDS [SUFFIX COMMAND...]: with symbols for a debugger
	local file=$tree/$1/$2.ko
	mkdir -p "$tree/$1"
	printf 'depends=%s\0name=%s\0' "$3" "$2" >info
	echo 'nop' | as -g -o module.o && objcopy --add-section .modinfo=info \
		--set-section-flags .modinfo=alloc,readonly module.o "$file" || return 1
	[ $# -gt 3 ] || return 0
	"${@:5}" <"$file" >"$file.$4" && rm "$file"
}

make_modules() {
	make_module drivers/virtio virtio_ring '' &&
		make_module drivers/virtio virtio virtio_ring xz xz &&
		make_module drivers/virtio virtio_mmio virtio,virtio_ring zst zstd -q &&
		make_module drivers/char virtio-console virtio,virtio_ring &&
		make_module drivers/block virtio_blk virtio,virtio_ring gz gzip &&
		make_module lib libcrc32c '' &&
		make_module fs/erofs erofs libcrc32c &&
		echo kernel/fs/overlayfs/overlay.ko >"${tree%/kernel}/modules.builtin"
}

make_package() { # with ./image as its kernel
	mkdir -p package/boot package/DEBIAN packages
	printf 'Package: linux-image-x\nVersion: 1\nArchitecture: amd64\nMaintainer: x <x@localhost>\nDescription: x\n' \
		>package/DEBIAN/control
	cp image "package/boot/vmlinuz-$release" && dpkg-deb --root-owner-group -Znone -b package packages/kernel.deb >/dev/null
}


test_compressions() {
	local how
	for how in 'gzip -c' 'xz -c --check=crc32' 'zstd -cq' 'lz4 -clq'; do
		# shellcheck disable=SC2086 # a command and its words
		make_image vmlinux $how && make_package
		rm -rf out
		ok "$how: made" "$kernel" make packages out
		ok "$how: the kernel is the same" cmp vmlinux out/vmlinux
		is "$how: its release" "$(cat out/release)" $release
	done
}

test_modules() {
	is 'modules: those needed come first, and what is built in has no file' "$(tr '\n' ' ' <out/modules/order)" \
		'virtio_ring.ko virtio.ko virtio_mmio.ko virtio_console.ko virtio_blk.ko libcrc32c.ko erofs.ko '
	is 'modules: a file for each, and no more' "$(cd out/modules && echo *.ko | tr ' ' '\n' | sort)" \
		"$(sort out/modules/order)"
	is 'modules: nothing for a debugger is in them' "$(readelf -SW out/modules/*.ko | grep -c '\.debug')" 0
	is 'modules: their descriptions are' "$(readelf -SW out/modules/*.ko | grep -c '\.modinfo')" 7
	not 'nothing is left beside them' test -e out.new
}

refused() { # NAME ERE: a package that will not do. What was made before is not touched.
	local before after status
	before=$(find out -type f -exec sha256sum {} + | sort)
	"$kernel" make packages out >said 2>&1
	status=$?
	after=$(find out -type f -exec sha256sum {} + | sort)
	is "$1: refused" $status 1
	like "$1: says why" "$(cat said)" "$2"
	is "$1: what was there stays" "$after" "$before"
	not "$1: nothing is left" test -e out.new
}

test_refused() {
	make_image vmlinux gzip -c && printf 'xxxxxxxx' | dd of=image bs=1 seek=1060 conv=notrunc status=none && make_package
	refused 'a damaged image' 'is damaged'
	make_image vmlinux cat && make_package
	refused 'a payload of an unknown kind' 'compressed in a way that is unknown'
	cp vmlinux image && make_package
	refused 'no image at all' 'is no kernel image'
	make_elf other 17 && make_image other lz4 -clq && make_package
	refused 'a kernel without an entry for PVH' 'no entry for PVH'
	rm "$tree/fs/erofs/erofs.ko"
	make_image vmlinux lz4 -clq && make_package
	refused 'a kernel without a module' 'has no erofs'
	rm -rf package/lib && make_package
	refused 'a kernel without modules' 'has no modules'
	mkdir none
	like 'no package, and no kernel of this machine that will do' "$(cd none && uname() { echo 0-none; } && export -f uname &&
		"$kernel" make . ../none-out 2>&1)" 'no kernel package in \., and no /boot/vmlinuz-0-none that may be read: say `make deps`'
}

# In the place of apt: what they are asked is written down, and what they answer stands here.
stand_in() { # NAME TEXT
	mkdir -p bin
	printf '#!/bin/sh\necho "%s $*" >>"%s/asked"\n%s\n' "$1" "$scratch" "$2" >"bin/$1" && chmod 755 "bin/$1"
}
fetch() { PATH=$scratch/bin:$PATH "$kernel" fetch fetched >said 2>&1; }

test_fetch() {
	stand_in sudo 'exit 1'
	stand_in apt-get 'exit 100'
	stand_in apt-cache 'exit 0'
	not 'fetch: no list knows such a package' fetch
	like 'fetch: says so' "$(cat said)" '^guest-kernel: could not download any of: linux-image-cloud-amd64'
	is 'fetch: leaves nothing' "$(ls -d fetched/* fetched.new 2>/dev/null)" ''

	stand_in apt-cache "printf '%s\n' linux-image-cloud-amd64 '  Depends: linux-image-$release' linux-image-$release linux-base"
	stand_in apt-get 'case $* in *download*) echo x >kernel.deb ;; esac'
	: >asked
	ok 'fetch: what the package depends on is downloaded' fetch
	like 'fetch: the kernel, and nothing else' "$(cat asked)" "^apt-get download -q (-o [^ ]+ )?linux-image-$release\$"
	is 'fetch: it is there' "$(ls fetched)" kernel.deb
	: >asked
	ok 'fetch: once more' fetch
	is 'fetch: then nobody is asked' "$(cat asked)" ''
}

if here x86-64 'kernels that a microVM can enter'; then
	ok 'a kernel and its modules can be made up' eval 'make_elf vmlinux 18 && make_modules'
	test_compressions
	test_modules
	test_refused
	test_fetch
fi
plan_end
