#!/bin/bash
# SPDX-License-Identifier: MIT
# One table: what a program tries that is forbidden, the errno that it must see, and the one event that must tell of it,
# with every argument in words. All is tried in one run at each level; rows.py says how a row reads.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
cp "${PROBE%/*}/forbidden" "$tools/forbidden" && chmod 755 "$tools/forbidden"

# refused and absent: the kinds of a denied event that the filter answers.
table() {
	cat <<-'TXT'
	ptrace-attach; EPERM; refused call=ptrace rule=default:debug args.request=PTRACE_ATTACH args.pid=4194305 args.addr=0 args.data=0
	ptrace-seize; EPERM; refused call=ptrace rule=default:debug args.request=PTRACE_SEIZE args.pid=4194305 args.addr=0 args.data=0
	ptrace-cont; EPERM; refused call=ptrace rule=default:debug args.request=PTRACE_CONT args.pid=4194305 args.addr=0 args.data=0x12
	ptrace-peek; EPERM; refused call=ptrace rule=default:debug args.request=PTRACE_PEEKDATA args.pid=4194305 args.addr=0x1000 args.data=0
	ptrace-poke; EPERM; refused call=ptrace rule=default:debug args.request=PTRACE_POKEDATA args.pid=4194305 args.addr=0x1000 args.data=0x2a
	ptrace-interrupt; EPERM; refused call=ptrace rule=default:debug args.request=PTRACE_INTERRUPT args.pid=4194305 args.addr=0 args.data=0
	ptrace-getregset; EPERM; refused call=ptrace rule=default:debug args.request=PTRACE_GETREGSET args.pid=4194305 args.addr=0x1 args.data=0
	ptrace-set-syscall; EPERM; refused call=ptrace rule=default:debug args.request=PTRACE_SET_SYSCALL_INFO args.pid=4194305 args.addr=0 args.data=0
	process-vm-readv; EPERM; refused call=process_vm_readv rule=default:debug args.pid=4194305 args.liovcnt=1 args.riovcnt=2
	process-vm-writev; EPERM; refused call=process_vm_writev rule=default:debug args.pid=4194305 args.liovcnt=3 args.riovcnt=4
	process-madvise; EPERM; refused call=process_madvise rule=default:debug args.pidfd=-1 args.vlen=1 args.advice=MADV_PAGEOUT
	process-mrelease; EPERM; refused call=process_mrelease rule=default:debug args.pidfd=-1
	kcmp; EPERM; refused call=kcmp rule=default:debug args.pid1=4194305 args.pid2=4194306 args.type=KCMP_FILE args.idx1=5 args.idx2=6
	pidfd-getfd; EPERM; refused call=pidfd_getfd rule=default:debug args.pidfd=-1 args.fd=3
	migrate-pages; EPERM; refused call=migrate_pages rule=default:numa args.pid=4194305 args.maxnode=0
	move-pages; EPERM; refused call=move_pages rule=default:numa args.pid=4194305 args.count=0
	kill-all; EPERM; refused call=kill rule=signals args.pid=-1 args.sig=0
	limits-of-another; EPERM; refused call=prlimit64 rule=limits args.pid=4194305 args.resource=RLIMIT_NOFILE
	cpu-limit; EPERM; refused call=prlimit64 rule=limits args.pid=0 args.resource=RLIMIT_CPU
	cpu-limit-old; EPERM; refused call=setrlimit rule=limits args.resource=RLIMIT_CPU
	mount; EPERM; refused call=mount rule=default:mount args.source=source args.target=@/forbidden/none args.type=tmpfs args.flags=MS_NOSUID|MS_NODEV
	mount-bind; EPERM; refused call=mount rule=default:mount args.source=@/forbidden/none args.target=/forbidden/none args.type=NULL args.flags=MS_BIND|MS_REC
	mount-remount; EPERM; refused call=mount rule=default:mount args.source=NULL args.target=@/forbidden/none args.type=NULL args.flags=MS_RDONLY|MS_REMOUNT
	umount; EPERM; refused call=umount2 rule=default:mount args.target=/forbidden/none args.flags=MNT_DETACH|UMOUNT_NOFOLLOW
	pivot-root; EPERM; refused call=pivot_root rule=default:mount args.new_root=/forbidden/none args.put_old=@/forbidden/none
	chroot; EPERM; refused call=chroot rule=default:mount args.path=@/forbidden/none
	open-tree; EPERM; refused call=open_tree rule=default:mount args.path=@/forbidden/none args.flags=OPEN_TREE_CLONE|AT_RECURSIVE
	open-tree-attr; EPERM; refused call=open_tree_attr rule=default:mount args.path=/forbidden/none args.flags=AT_SYMLINK_NOFOLLOW
	move-mount; EPERM; refused call=move_mount rule=default:mount args.from=@/forbidden/none args.to=/forbidden/none args.flags=MOVE_MOUNT_F_SYMLINKS
	fsopen; EPERM; refused call=fsopen rule=default:mount args.type=belljar-none args.flags=FSOPEN_CLOEXEC
	fsconfig; EPERM; refused call=fsconfig rule=default:mount args.fd=-1 args.cmd=FSCONFIG_SET_STRING args.key=source
	fsmount; EPERM; refused call=fsmount rule=default:mount args.fd=-1 args.flags=FSMOUNT_CLOEXEC args.attr=MOUNT_ATTR_RDONLY|MOUNT_ATTR_NOEXEC
	fspick; EPERM; refused call=fspick rule=default:mount args.path=@/forbidden/none args.flags=FSPICK_CLOEXEC
	mount-setattr; EPERM; refused call=mount_setattr rule=default:mount args.path=@/forbidden/none args.flags=AT_RECURSIVE
	unshare-user; EPERM; refused call=unshare rule=default:namespaces args.flags=CLONE_NEWUSER
	unshare-net; EPERM; refused call=unshare rule=default:namespaces args.flags=CLONE_NEWNET
	unshare-many; EPERM; refused call=unshare rule=default:namespaces args.flags=CLONE_NEWNS|CLONE_NEWUTS|CLONE_NEWIPC|CLONE_NEWPID
	unshare-time; EPERM; refused call=unshare rule=default:namespaces args.flags=CLONE_NEWTIME|CLONE_NEWCGROUP
	setns; EPERM; refused call=setns rule=default:namespaces args.fd=-1 args.nstype=CLONE_NEWNET
	clone-user; EPERM; refused call=clone rule=namespaces args.flags=CLONE_NEWUSER|SIGCHLD
	clone-net; EPERM; refused call=clone rule=namespaces args.flags=CLONE_NEWNS|CLONE_NEWUSER|CLONE_NEWNET|SIGCHLD
	clone3; ENOSYS; absent call=clone3 rule=default:clone3 args.flags=CLONE_NEWUSER|CLONE_NEWPID args.size=88
	init-module; EPERM; refused call=init_module rule=default:modules args.len=0 args.params=quiet=1
	finit-module; EPERM; refused call=finit_module rule=default:modules args.fd=-1 args.params=quiet=1 args.flags=MODULE_INIT_IGNORE_VERMAGIC
	delete-module; EPERM; refused call=delete_module rule=default:modules args.name=belljar_none args.flags=O_NONBLOCK
	kexec-load; EPERM; refused call=kexec_load rule=default:boot args.entry=0 args.nr_segments=17 args.flags=0
	kexec-file-load; EPERM; refused call=kexec_file_load rule=default:boot args.kernel_fd=-1 args.initrd_fd=-1
	reboot; EPERM; refused call=reboot rule=default:boot args.magic=0x1 args.magic2=0x2 args.cmd=LINUX_REBOOT_CMD_CAD_OFF
	swapon; EPERM; refused call=swapon rule=default:swap args.path=@/forbidden/none args.flags=0
	swapoff; EPERM; refused call=swapoff rule=default:swap args.path=/forbidden/none
	clock-settime; EPERM; refused call=clock_settime rule=default:clock args.clock=CLOCK_REALTIME
	clock-adjtime; EPERM; refused call=clock_adjtime rule=default:clock args.clock=CLOCK_REALTIME
	adjtimex; EPERM; refused call=adjtimex rule=default:clock
	settimeofday; EPERM; refused call=settimeofday rule=default:clock
	hostname; EPERM; refused call=sethostname rule=default:hostname args.name=forbidden args.len=65
	domainname; EPERM; refused call=setdomainname rule=default:hostname args.name=forbidden args.len=-1
	syslog; EPERM; refused call=syslog rule=default:kernel-log args.type=SIZE_BUFFER args.len=0
	vhangup; EPERM; refused call=vhangup rule=default:terminal
	acct; EPERM; refused call=acct rule=default:accounting args.path=@/forbidden/none
	quotactl; EPERM; refused call=quotactl rule=default:accounting args.cmd=Q_GETQUOTA|0x1 args.special=/dev/none args.id=7
	quotactl-fd; EPERM; refused call=quotactl_fd rule=default:accounting args.fd=-1 args.cmd=Q_GETQUOTA args.id=7
	nfs-server; EPERM; refused call=nfsservctl rule=default:nfs-server
	bpf-map; EPERM; refused call=bpf rule=default:bpf args.cmd=BPF_MAP_CREATE args.size=1048576
	bpf-program; EPERM; refused call=bpf rule=default:bpf args.cmd=BPF_PROG_LOAD args.size=1048576
	bpf-link; EPERM; refused call=bpf rule=default:bpf args.cmd=BPF_LINK_CREATE args.size=1048576
	bpf-token; EPERM; refused call=bpf rule=default:bpf args.cmd=BPF_TOKEN_CREATE args.size=1048576
	perf; EPERM; refused call=perf_event_open rule=default:perf args.pid=4194305 args.cpu=-1 args.group_fd=-1 args.flags=PERF_FLAG_FD_CLOEXEC
	dcookie; EPERM; refused call=lookup_dcookie rule=default:perf
	userfaultfd; EPERM; refused call=userfaultfd rule=default:userfaultfd args.flags=UFFD_USER_MODE_ONLY|O_CLOEXEC
	io-uring-setup; EPERM; refused call=io_uring_setup rule=default:io-uring args.entries=0
	io-uring-enter; EPERM; refused call=io_uring_enter rule=default:io-uring args.fd=-1 args.to_submit=1 args.min_complete=2 args.flags=0x1
	io-uring-register; EPERM; refused call=io_uring_register rule=default:io-uring args.fd=-1 args.opcode=3 args.nr_args=4
	add-key; EPERM; refused call=add_key rule=default:keyring args.type=belljar-none args.description~a.key args.len=0 args.keyring=-3
	request-key; EPERM; refused call=request_key rule=default:keyring args.type=belljar-none args.description~a.key args.keyring=0
	keyctl-read; EPERM; refused call=keyctl rule=default:keyring args.cmd=KEYCTL_READ args.arg2=0
	keyctl-chown; EPERM; refused call=keyctl rule=default:keyring args.cmd=KEYCTL_CHOWN args.arg2=0
	keyctl-sign; EPERM; refused call=keyctl rule=default:keyring args.cmd=KEYCTL_PKEY_SIGN args.arg2=1
	name-to-handle; EPERM; refused call=name_to_handle_at rule=default:file-handles args.path=@/forbidden/none args.flags=AT_EMPTY_PATH
	open-by-handle; EPERM; refused call=open_by_handle_at rule=default:file-handles args.mount_fd=-1 args.flags=O_RDONLY|O_DIRECTORY
	fanotify-init; EPERM; refused call=fanotify_init rule=default:fanotify args.flags~FAN_CLOEXEC.*[|]0x[0-9a-f]+ args.event_f_flags=O_RDONLY
	fanotify-mark; EPERM; refused call=fanotify_mark rule=default:fanotify args.fd=-1 args.flags=FAN_MARK_ADD args.mask=FAN_MODIFY args.path=@/forbidden/none
	memfd-secret; EPERM; refused call=memfd_secret rule=default:secret-memory args.flags=0xffff
	lsm-set-attr; EPERM; refused call=lsm_set_self_attr rule=default:security-modules args.attr=100 args.size=8 args.flags=0
	personality; EPERM; refused call=personality rule=personality args.persona=MMAP_PAGE_ZERO|READ_IMPLIES_EXEC
	personality-32; EPERM; refused call=personality rule=personality args.persona=PER_LINUX32
	prctl-mm; EPERM; refused call=prctl rule=prctl args.option=PR_SET_MM args.arg2=0xe args.arg3=0x1
	tiocsti; EPERM; refused call=ioctl rule=terminal args.fd=-1 args.request=TIOCSTI args.arg~0x[0-9a-f]+
	tiocsti-high; EPERM; refused call=ioctl rule=terminal args.fd=-1 args.request=TIOCSTI args.arg=0
	tioclinux; EPERM; refused call=ioctl rule=terminal args.fd=-1 args.request=TIOCLINUX args.arg=0
	tioccons; EPERM; refused call=ioctl rule=terminal args.fd=-1 args.request=TIOCCONS args.arg=0
	tiocsetd; EPERM; refused call=ioctl rule=terminal args.fd=-1 args.request=TIOCSETD args.arg=0
	route-add; EPERM; refused call=ioctl rule=net-config args.fd=-1 args.request=SIOCADDRT args.arg=0
	interface-flags; EPERM; refused call=ioctl rule=net-config args.fd=-1 args.request=SIOCSIFFLAGS args.arg=0
	interface-address; EPERM; refused call=ioctl rule=net-config args.fd=-1 args.request=SIOCSIFADDR args.arg=0
	bridge-add; EPERM; refused call=ioctl rule=net-config args.fd=-1 args.request=SIOCBRADDBR args.arg=0
	tunnel-add; EPERM; refused call=ioctl rule=net-config args.fd=-1 args.request=SIOCDEVPRIVATE|0x1 args.arg=0
	iptables-set; EPERM; refused call=setsockopt rule=netfilter args.fd=-1 args.level=SOL_IP args.option=64
	ip6tables-get; EPERM; refused call=getsockopt rule=netfilter args.fd=-1 args.level=SOL_IPV6 args.option=65
	socket-raw; EPERM; refused call=socket rule=raw args.family=AF_INET args.type=SOCK_RAW args.protocol=1
	socket-raw-6; EPERM; refused call=socket rule=raw args.family=AF_INET6 args.type=SOCK_RAW|SOCK_CLOEXEC args.protocol=58
	socket-packet-old; EPERM; refused call=socket rule=raw args.family=AF_INET args.type=SOCK_PACKET args.protocol=0
	socket-protocol; EPERM; refused call=socket rule=protocols args.family=AF_INET args.type=SOCK_STREAM args.protocol=300
	socket-packet; EPERM; refused call=socket rule=families args.family=AF_PACKET args.type=15 args.protocol=3
	socket-uevent; EPERM; refused call=socket rule=families args.family=AF_NETLINK args.type=SOCK_RAW args.protocol=15
	socket-audit; EPERM; refused call=socket rule=families args.family=AF_NETLINK args.type=SOCK_DGRAM args.protocol=9
	socket-vsock; EPERM; refused call=socket rule=families args.family=AF_VSOCK args.type=15 args.protocol=0
	socket-alg; EPERM; refused call=socket rule=families args.family=AF_ALG args.type=15 args.protocol=0
	socket-bluetooth; EPERM; refused call=socket rule=families args.family=AF_BLUETOOTH args.type=15 args.protocol=0
	socket-xdp; EPERM; refused call=socket rule=families args.family=AF_XDP args.type=15 args.protocol=0
	socket-can; EPERM; refused call=socket rule=families args.family=AF_CAN args.type=15 args.protocol=0
	socket-tipc; EPERM; refused call=socket rule=families args.family=AF_TIPC args.type=15 args.protocol=0
	socket-rds; EPERM; refused call=socket rule=families args.family=AF_RDS args.type=15 args.protocol=0
	socket-key; EPERM; refused call=socket rule=families args.family=AF_KEY args.type=15 args.protocol=0
	socket-unknown; EPERM; refused call=socket rule=families args.family=200 args.type=15 args.protocol=0
	socketpair; EPERM; refused call=socketpair rule=families args.family=AF_INET args.type=15 args.protocol=0
	statmount; ENOSYS; absent call=statmount rule=default:mount-reading
	listmount; ENOSYS; absent call=listmount rule=default:mount-reading
	lsm-list; ENOSYS; absent call=lsm_list_modules rule=default:security-reading
	unknown-call-far; ENOSYS; absent call=99900 rule~unknown.call
	unknown-call; ENOSYS; absent call=999 rule~unknown.call
	hostile-escape; EPERM; refused call=chroot rule=default:mount args.path~/\x1b\]0;title\x07\n"\}
	hostile-bytes; EPERM; refused call=chroot rule=default:mount args.path.base64=L//+
	hostile-endless; EPERM; refused call=chroot rule=default:mount args.path~/a{4095}
	hostile-unreadable; EPERM; refused call=chroot rule=default:mount args.path=?
	hostile-kernel; EPERM; refused call=swapoff rule=default:swap args.path=?
	hostile-null; EPERM; refused call=chroot rule=default:mount args.path=NULL
	hostile-argument; EPERM; refused call=add_key rule=default:keyring args.type=? args.description~a\tkey args.len=0 args.keyring=-3
	execve; ENOENT; exec path=@/forbidden/none argv~none.-c.two.words
	execveat-empty; EACCES; exec path=/ argv~none.-c.two.words
	TXT
}

# What only this processor has, or numbers in its own way.
table_x86_64() {
	cat <<-'TXT'
	iopl; EPERM; refused call=iopl rule=default:hardware args.level=4
	ioperm; EPERM; refused call=ioperm rule=default:hardware args.from=0x80 args.num=0 args.on=1
	modify-ldt; EPERM; refused call=modify_ldt rule=default:hardware args.func=99 args.bytecount=16
	ustat; ENOSYS; absent call=ustat rule=default:obsolete
	uselib; ENOSYS; absent call=uselib rule=default:obsolete
	x32-ptrace; ENOSYS; absent call=ptrace rule=architectures args.abi=x32
	x32-getpid; ENOSYS; absent call=getpid rule=architectures args.abi=x32
	int80-ptrace; ENOSYS|SIGSEGV; absent call=ptrace rule=architectures args.abi=i386
	TXT
}

due() { # the rows of this machine, in full
	{ table && "table_$(uname -m)"; } | sed -E \
		-e 's/; refused /; denied errno=EPERM outcome=refused layer=seccomp basis=answered /' \
		-e 's/; absent /; denied errno=ENOSYS outcome=absent layer=seccomp basis=answered /'
}

for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level" || continue
	run -p "$level" --input "$tools" -- "$(dirname "$(probe_path "$level")")/forbidden" </dev/null
	is "$level: the attempts end nothing" "$(got 'o["verdict"]')" ok
	between "$level: forbidden things tried, refused and told by name" \
		"$(event 'len({repr((e["call"], e.get("args"))) for e in of("denied")})')" 60 1000
	rows "$level" denied < <(due)
done
plan_end
