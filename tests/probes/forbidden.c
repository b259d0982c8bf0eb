/* SPDX-License-Identifier: MIT */
/*
 * forbidden: one static program that tries everything a sandbox has to refuse, one row of a table each, and says on a
 * line of its own, by the name of the errno, what came of it. The tests hold these lines, and the events of the run,
 * against their table of expectations.
 *
 * Nothing here does anything where no sandbox stands in the way, not even for root: processes, descriptors, paths and
 * protocols are such that do not exist, and what would succeed changes only the child that tries it.
 */
#define NO_PID  4194305 /* one more than the kernel ever gives */
#define NO_FD   (-1)
#define NO_TYPE 15 /* of socket: refused before a module is looked for */
#define BAD     1  /* an address that cannot be read */
#define NO_PATH "forbidden/none"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fs.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/netlink.h>
#include <linux/ptrace.h>
#include <linux/reboot.h>
#include <linux/sockios.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* newer than the oldest headers that this is built with */
#define CALL_OPEN_TREE_ATTR    467
#define CALL_LSM_SET_SELF_ATTR 460
#define CALL_LSM_LIST_MODULES  461
#define CALL_STATMOUNT         457
#define CALL_LISTMOUNT         458
#define CALL_NOBODY_KNOWS      999

#define P(x) ((long) (x))

static const uint64_t clone3_args[11] = { [0] = CLONE_NEWUSER | CLONE_NEWPID, [4] = SIGCHLD };
static char endless[3 * 4096]; /* a path without an end, filled in main */
static const char *const words[] = { "none", "-c", "two words", NULL };

/* A way into the kernel beside the usual one, or more than one call. */
static long execveat_folder(void)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return syscall(SYS_execveat, fd, "", words, NULL, AT_EMPTY_PATH);
}

#ifdef __x86_64__
static long int80_ptrace(void)
{
	long r;
	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(26 /* ptrace */), "b"(PTRACE_ATTACH), "c"(NO_PID), "d"(0), "S"(0)
			 : "memory", "r8", "r9", "r10", "r11");
	if (r >= 0)
		return r;
	errno = (int) -r;
	return -1;
}
#endif

// clang-format off
static const struct attempt {
	const char *name;
	long call, arg[6];
	long (*try)(void); /* instead of the call */
} attempts[] = {
	/* other processes */
	{ "ptrace-attach", SYS_ptrace, { PTRACE_ATTACH, NO_PID }, NULL },
	{ "ptrace-seize", SYS_ptrace, { PTRACE_SEIZE, NO_PID }, NULL },
	{ "ptrace-cont", SYS_ptrace, { PTRACE_CONT, NO_PID, 0, SIGCONT }, NULL },
	{ "ptrace-peek", SYS_ptrace, { PTRACE_PEEKDATA, NO_PID, 0x1000 }, NULL },
	{ "ptrace-poke", SYS_ptrace, { PTRACE_POKEDATA, NO_PID, 0x1000, 0x2a }, NULL },
	{ "ptrace-interrupt", SYS_ptrace, { PTRACE_INTERRUPT, NO_PID }, NULL },
	{ "ptrace-getregset", SYS_ptrace, { PTRACE_GETREGSET, NO_PID, 1 }, NULL },
	{ "ptrace-set-syscall", SYS_ptrace, { 0x4212, NO_PID }, NULL },
	{ "process-vm-readv", SYS_process_vm_readv, { NO_PID, 0, 1, 0, 2 }, NULL },
	{ "process-vm-writev", SYS_process_vm_writev, { NO_PID, 0, 3, 0, 4 }, NULL },
	{ "process-madvise", SYS_process_madvise, { NO_FD, 0, 1, 21 }, NULL },
	{ "process-mrelease", SYS_process_mrelease, { NO_FD }, NULL },
	{ "kcmp", SYS_kcmp, { NO_PID, NO_PID + 1, 0, 5, 6 }, NULL },
	{ "pidfd-getfd", SYS_pidfd_getfd, { NO_FD, 3 }, NULL },
	{ "migrate-pages", SYS_migrate_pages, { NO_PID, 0 }, NULL },
	{ "move-pages", SYS_move_pages, { NO_PID, 0 }, NULL },
	{ "kill-all", SYS_kill, { -1, 0 }, NULL },
	{ "limits-of-another", SYS_prlimit64, { NO_PID, RLIMIT_NOFILE, BAD }, NULL },
	{ "cpu-limit", SYS_prlimit64, { 0, RLIMIT_CPU, BAD }, NULL },
	{ "cpu-limit-old", SYS_setrlimit, { RLIMIT_CPU, BAD }, NULL },

	/* mounts */
	{ "mount", SYS_mount, { P("source"), P(NO_PATH), P("tmpfs"), MS_NOSUID | MS_NODEV }, NULL },
	{ "mount-bind", SYS_mount, { P(NO_PATH), P("/" NO_PATH), 0, MS_BIND | MS_REC }, NULL },
	{ "mount-remount", SYS_mount, { 0, P("./" NO_PATH), 0, MS_REMOUNT | MS_RDONLY }, NULL },
	{ "umount", SYS_umount2, { P("/" NO_PATH), 2 | 8 }, NULL },
	{ "pivot-root", SYS_pivot_root, { P("/" NO_PATH), P(NO_PATH) }, NULL },
	{ "chroot", SYS_chroot, { P(NO_PATH) }, NULL },
	{ "open-tree", SYS_open_tree, { AT_FDCWD, P(NO_PATH), OPEN_TREE_CLONE | AT_RECURSIVE }, NULL },
	{ "open-tree-attr", CALL_OPEN_TREE_ATTR, { NO_FD, P("/" NO_PATH), AT_SYMLINK_NOFOLLOW }, NULL },
	{ "move-mount", SYS_move_mount, { AT_FDCWD, P(NO_PATH), NO_FD, P("/" NO_PATH), MOVE_MOUNT_F_SYMLINKS }, NULL },
	{ "fsopen", SYS_fsopen, { P("belljar-none"), 1 }, NULL },
	{ "fsconfig", SYS_fsconfig, { NO_FD, FSCONFIG_SET_STRING, P("source"), P("none") }, NULL },
	{ "fsmount", SYS_fsmount, { NO_FD, 1, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC }, NULL },
	{ "fspick", SYS_fspick, { AT_FDCWD, P(NO_PATH), 1 }, NULL },
	{ "mount-setattr", SYS_mount_setattr, { AT_FDCWD, P(NO_PATH), AT_RECURSIVE, 0, 0 }, NULL },

	/* namespaces */
	{ "unshare-user", SYS_unshare, { CLONE_NEWUSER }, NULL },
	{ "unshare-net", SYS_unshare, { CLONE_NEWNET }, NULL },
	{ "unshare-many", SYS_unshare, { CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC }, NULL },
	{ "unshare-time", SYS_unshare, { CLONE_NEWTIME | CLONE_NEWCGROUP }, NULL },
	{ "setns", SYS_setns, { NO_FD, CLONE_NEWNET }, NULL },
	{ "clone-user", SYS_clone, { CLONE_NEWUSER | SIGCHLD }, NULL },
	{ "clone-net", SYS_clone, { CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS | SIGCHLD }, NULL },
	{ "clone3", SYS_clone3, { P(clone3_args), sizeof(clone3_args) }, NULL },

	/* the machine */
	{ "init-module", SYS_init_module, { BAD, 0, P("quiet=1") }, NULL },
	{ "finit-module", SYS_finit_module, { NO_FD, P("quiet=1"), 2 }, NULL },
	{ "delete-module", SYS_delete_module, { P("belljar_none"), O_NONBLOCK }, NULL },
	{ "kexec-load", SYS_kexec_load, { 0, 17, BAD, 0 }, NULL },
	{ "kexec-file-load", SYS_kexec_file_load, { NO_FD, NO_FD, 0, 0, 0 }, NULL },
	{ "reboot", SYS_reboot, { 1, 2, LINUX_REBOOT_CMD_CAD_OFF }, NULL },
	{ "swapon", SYS_swapon, { P(NO_PATH), 0 }, NULL },
	{ "swapoff", SYS_swapoff, { P("/" NO_PATH) }, NULL },
	{ "clock-settime", SYS_clock_settime, { CLOCK_REALTIME, BAD }, NULL },
	{ "clock-adjtime", SYS_clock_adjtime, { CLOCK_REALTIME, BAD }, NULL },
	{ "adjtimex", SYS_adjtimex, { BAD }, NULL },
	{ "settimeofday", SYS_settimeofday, { BAD, 0 }, NULL },
	{ "hostname", SYS_sethostname, { P("forbidden"), 65 }, NULL },
	{ "domainname", SYS_setdomainname, { P("forbidden"), -1 }, NULL },
	{ "syslog", SYS_syslog, { 10, 0, 0 }, NULL },
	{ "vhangup", SYS_vhangup, { 0 }, NULL },
	{ "acct", SYS_acct, { P(NO_PATH) }, NULL },
	{ "quotactl", SYS_quotactl, { 0x80000701, P("/dev/none"), 7 }, NULL },
	{ "quotactl-fd", SYS_quotactl_fd, { NO_FD, 0x80000700, 7 }, NULL },
	{ "nfs-server", 180 /* nfsservctl */, { 0 }, NULL },

	/* large or odd parts of the kernel */
	{ "bpf-map", SYS_bpf, { BPF_MAP_CREATE, BAD, 1 << 20 }, NULL },
	{ "bpf-program", SYS_bpf, { BPF_PROG_LOAD, BAD, 1 << 20 }, NULL },
	{ "bpf-link", SYS_bpf, { BPF_LINK_CREATE, BAD, 1 << 20 }, NULL },
	{ "bpf-token", SYS_bpf, { 36, BAD, 1 << 20 }, NULL },
	{ "perf", SYS_perf_event_open, { BAD, NO_PID, -1, NO_FD, 8 }, NULL },
	{ "dcookie", 212 /* lookup_dcookie */, { 0 }, NULL },
	{ "userfaultfd", SYS_userfaultfd, { O_CLOEXEC | UFFD_USER_MODE_ONLY }, NULL },
	{ "io-uring-setup", SYS_io_uring_setup, { 0, BAD }, NULL },
	{ "io-uring-enter", SYS_io_uring_enter, { NO_FD, 1, 2, 1 }, NULL },
	{ "io-uring-register", SYS_io_uring_register, { NO_FD, 3, 0, 4 }, NULL },
	{ "add-key", SYS_add_key, { P("belljar-none"), P("a key"), 0, 0, -3 }, NULL },
	{ "request-key", SYS_request_key, { P("belljar-none"), P("a key"), 0, 0 }, NULL },
	{ "keyctl-read", SYS_keyctl, { KEYCTL_READ, 0 }, NULL },
	{ "keyctl-chown", SYS_keyctl, { KEYCTL_CHOWN, 0 }, NULL },
	{ "keyctl-sign", SYS_keyctl, { KEYCTL_PKEY_SIGN, BAD }, NULL },
	{ "name-to-handle", SYS_name_to_handle_at, { AT_FDCWD, P(NO_PATH), BAD, BAD, AT_EMPTY_PATH }, NULL },
	{ "open-by-handle", SYS_open_by_handle_at, { NO_FD, BAD, O_RDONLY | O_DIRECTORY }, NULL },
	{ "fanotify-init", SYS_fanotify_init, { 0x7fffffff, 0 }, NULL },
	{ "fanotify-mark", SYS_fanotify_mark, { NO_FD, 1, 2, AT_FDCWD, P(NO_PATH) }, NULL },
	{ "memfd-secret", SYS_memfd_secret, { 0xffff }, NULL },
	{ "lsm-set-attr", CALL_LSM_SET_SELF_ATTR, { 100, BAD, 8, 0 }, NULL },
	{ "personality", SYS_personality, { READ_IMPLIES_EXEC | MMAP_PAGE_ZERO }, NULL },
	{ "personality-32", SYS_personality, { PER_LINUX32 }, NULL },
	{ "prctl-mm", SYS_prctl, { PR_SET_MM, PR_SET_MM_MAP, BAD, 1 }, NULL },
#ifdef __x86_64__
	{ "iopl", SYS_iopl, { 4 }, NULL },
	{ "ioperm", SYS_ioperm, { 0x80, 0, 1 }, NULL },
	{ "modify-ldt", SYS_modify_ldt, { 99, 0, 16 }, NULL },
#endif

	/* terminals, interfaces, packet rules */
	{ "tiocsti", SYS_ioctl, { NO_FD, TIOCSTI, P("x") }, NULL },
	{ "tiocsti-high", SYS_ioctl, { NO_FD, P(0x100000000) | TIOCSTI, 0 }, NULL }, /* the kernel takes 32 bits */
	{ "tioclinux", SYS_ioctl, { NO_FD, TIOCLINUX, 0 }, NULL },
	{ "tioccons", SYS_ioctl, { NO_FD, TIOCCONS, 0 }, NULL },
	{ "tiocsetd", SYS_ioctl, { NO_FD, TIOCSETD, 0 }, NULL },
	{ "route-add", SYS_ioctl, { NO_FD, SIOCADDRT, 0 }, NULL },
	{ "interface-flags", SYS_ioctl, { NO_FD, SIOCSIFFLAGS, 0 }, NULL },
	{ "interface-address", SYS_ioctl, { NO_FD, SIOCSIFADDR, 0 }, NULL },
	{ "bridge-add", SYS_ioctl, { NO_FD, SIOCBRADDBR, 0 }, NULL },
	{ "tunnel-add", SYS_ioctl, { NO_FD, SIOCDEVPRIVATE + 1, 0 }, NULL },
	{ "iptables-set", SYS_setsockopt, { NO_FD, SOL_IP, 64 }, NULL },
	{ "ip6tables-get", SYS_getsockopt, { NO_FD, SOL_IPV6, 65 }, NULL },

	/* sockets */
	{ "socket-raw", SYS_socket, { AF_INET, SOCK_RAW, IPPROTO_ICMP }, NULL },
	{ "socket-raw-6", SYS_socket, { AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6 }, NULL },
	{ "socket-packet-old", SYS_socket, { AF_INET, SOCK_PACKET, 0 }, NULL },
	{ "socket-protocol", SYS_socket, { AF_INET, SOCK_STREAM, 300 }, NULL },
	{ "socket-packet", SYS_socket, { AF_PACKET, NO_TYPE, 3 }, NULL },
	{ "socket-uevent", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT }, NULL },
	{ "socket-audit", SYS_socket, { AF_NETLINK, SOCK_DGRAM, NETLINK_AUDIT }, NULL },
	{ "socket-vsock", SYS_socket, { AF_VSOCK, NO_TYPE, 0 }, NULL },
	{ "socket-alg", SYS_socket, { AF_ALG, NO_TYPE, 0 }, NULL },
	{ "socket-bluetooth", SYS_socket, { AF_BLUETOOTH, NO_TYPE, 0 }, NULL },
	{ "socket-xdp", SYS_socket, { AF_XDP, NO_TYPE, 0 }, NULL },
	{ "socket-can", SYS_socket, { AF_CAN, NO_TYPE, 0 }, NULL },
	{ "socket-tipc", SYS_socket, { AF_TIPC, NO_TYPE, 0 }, NULL },
	{ "socket-rds", SYS_socket, { AF_RDS, NO_TYPE, 0 }, NULL },
	{ "socket-key", SYS_socket, { AF_KEY, NO_TYPE, 0 }, NULL },
	{ "socket-unknown", SYS_socket, { 200, NO_TYPE, 0 }, NULL },
	{ "socketpair", SYS_socketpair, { AF_INET, NO_TYPE, 0, BAD }, NULL },

	/* what is answered as if this kernel did not have it */
	{ "statmount", CALL_STATMOUNT, { BAD, BAD, 0, 0 }, NULL },
	{ "listmount", CALL_LISTMOUNT, { BAD, BAD, 0, 0 }, NULL },
	{ "lsm-list", CALL_LSM_LIST_MODULES, { BAD, BAD, 0 }, NULL },
	{ "unknown-call", CALL_NOBODY_KNOWS, { 1, 2, 3 }, NULL },
	{ "unknown-call-far", 100 * CALL_NOBODY_KNOWS, { 1, 2, 3 }, NULL },
#ifdef __x86_64__
	{ "ustat", SYS_ustat, { 0, BAD }, NULL },
	{ "uselib", SYS_uselib, { P(NO_PATH) }, NULL },
	{ "x32-ptrace", 0x40000000 + 521, { PTRACE_ATTACH, NO_PID }, NULL },
	{ "x32-getpid", 0x40000000 + 39, { 0 }, NULL },
	{ "int80-ptrace", 0, { 0 }, int80_ptrace },
#endif

	/* names that are to do something to whoever shows them, or cannot be read */
	{ "hostile-escape", SYS_chroot, { P("/\033]0;title\a\n\"}") }, NULL },
	{ "hostile-bytes", SYS_chroot, { P("/\xff\xfe") }, NULL },
	{ "hostile-endless", SYS_chroot, { P(endless) }, NULL },
	{ "hostile-unreadable", SYS_chroot, { BAD }, NULL },
	{ "hostile-kernel", SYS_swapoff, { P(0xffffffff80000000) }, NULL },
	{ "hostile-null", SYS_chroot, { 0 }, NULL },
	{ "hostile-argument", SYS_add_key, { BAD, P("a\tkey"), 0, 0, -3 }, NULL },

	/* not forbidden, but told */
	{ "execve", SYS_execve, { P(NO_PATH), P(words), 0 }, NULL },
	{ "execveat-empty", 0, { 0 }, execveat_folder },
};
// clang-format on

/* Becomes the child's status: 0, or an errno. */
static int attempt_make(const struct attempt *a)
{
	const long *arg = a->arg;
	alarm(5);
	setsid(); /* no terminal that could be hung up */
	errno = 0;
	long r = a->try ? a->try() : syscall(a->call, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	return r < 0 ? errno : 0;
}

static int attempt_report(const struct attempt *a)
{
	int status;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		_exit(attempt_make(a));
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		perror(a->name);
		return 1;
	}
	if (WIFSIGNALED(status))
		printf("%s SIG%s\n", a->name, sigabbrev_np(WTERMSIG(status)));
	else
		printf("%s %s\n", a->name, WEXITSTATUS(status) ? strerrorname_np(WEXITSTATUS(status)) : "OK");
	return 0;
}

int main(int argc, char **argv)
{
	memset(endless, 'a', sizeof(endless));
	endless[0] = '/';
	bool list = argc > 1 && strcmp(argv[1], "--list") == 0;
	int failed = 0;
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++)
		if (list)
			puts(attempts[i].name);
		else
			failed |= attempt_report(&attempts[i]);
	return failed;
}
