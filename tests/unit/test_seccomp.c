/* SPDX-License-Identifier: MIT */
/*
 * The filter as data: a small BPF machine runs what seccomp_compile made over calls that a target could try,
 * for each thing that may be watched.
 */
#include "tests/unit/seccomp_machine.h"

#include <linux/netlink.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* ---- by number ---- */

/* What Python, Node, Java, Go, gcc, git, bash, curses programs and their libraries were seen to call. */
/* clang-format off */
static const int everyday[] = {
	SYS_read, SYS_write, SYS_open, SYS_close, SYS_stat, SYS_fstat, SYS_lstat, SYS_poll, SYS_lseek,
	SYS_mmap, SYS_mprotect, SYS_munmap, SYS_brk, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
	SYS_ioctl, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_access, SYS_pipe, SYS_select,
	SYS_sched_yield, SYS_mremap, SYS_msync, SYS_mincore, SYS_madvise, SYS_shmget, SYS_shmat, SYS_shmctl,
	SYS_dup, SYS_dup2, SYS_pause, SYS_nanosleep, SYS_getitimer, SYS_alarm, SYS_setitimer, SYS_getpid,
	SYS_sendfile, SYS_connect, SYS_accept, SYS_sendto, SYS_recvfrom, SYS_sendmsg, SYS_recvmsg,
	SYS_shutdown, SYS_bind, SYS_listen, SYS_getsockname, SYS_getpeername, SYS_setsockopt, SYS_getsockopt,
	SYS_clone, SYS_fork, SYS_vfork, SYS_execve, SYS_exit, SYS_wait4, SYS_kill, SYS_uname, SYS_semget,
	SYS_semop, SYS_semctl, SYS_shmdt, SYS_fcntl, SYS_flock, SYS_fsync, SYS_fdatasync, SYS_truncate,
	SYS_ftruncate, SYS_getdents64, SYS_getcwd, SYS_chdir, SYS_fchdir, SYS_rename, SYS_mkdir, SYS_rmdir,
	SYS_creat, SYS_link, SYS_unlink, SYS_symlink, SYS_readlink, SYS_chmod, SYS_fchmod, SYS_chown,
	SYS_fchown, SYS_umask, SYS_gettimeofday, SYS_getrlimit, SYS_getrusage, SYS_sysinfo, SYS_times,
	SYS_getuid, SYS_getgid, SYS_geteuid, SYS_getegid, SYS_setpgid, SYS_getppid, SYS_getpgrp, SYS_setsid,
	SYS_getgroups, SYS_getresuid, SYS_getresgid, SYS_getpgid, SYS_getsid, SYS_capget,
	SYS_rt_sigtimedwait, SYS_sigaltstack, SYS_statfs, SYS_fstatfs, SYS_sched_setscheduler,
	SYS_sched_getparam, SYS_prctl, SYS_arch_prctl, SYS_setrlimit, SYS_sync, SYS_gettid, SYS_getxattr,
	SYS_lgetxattr, SYS_listxattr, SYS_tkill, SYS_futex, SYS_sched_getaffinity, SYS_sched_setaffinity,
	SYS_epoll_create, SYS_set_tid_address, SYS_restart_syscall, SYS_fadvise64, SYS_timer_create,
	SYS_timer_settime, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_exit_group,
	SYS_epoll_wait, SYS_epoll_ctl, SYS_tgkill, SYS_utimes, SYS_mq_open, SYS_waitid,
	SYS_inotify_add_watch, SYS_openat, SYS_mkdirat, SYS_newfstatat, SYS_unlinkat, SYS_renameat,
	SYS_linkat, SYS_symlinkat, SYS_readlinkat, SYS_fchmodat, SYS_faccessat, SYS_pselect6, SYS_ppoll,
	SYS_set_robust_list, SYS_splice, SYS_utimensat, SYS_epoll_pwait, SYS_timerfd_create, SYS_fallocate,
	SYS_accept4, SYS_signalfd4, SYS_eventfd2, SYS_epoll_create1, SYS_dup3, SYS_pipe2, SYS_inotify_init1,
	SYS_preadv, SYS_prlimit64, SYS_sendmmsg, SYS_getcpu, SYS_sched_getattr, SYS_renameat2, SYS_getrandom,
	SYS_memfd_create, SYS_execveat, SYS_membarrier, SYS_copy_file_range, SYS_pkey_alloc, SYS_statx,
	SYS_rseq, SYS_pidfd_send_signal, SYS_pidfd_open, SYS_close_range, SYS_openat2, SYS_faccessat2,
	SYS_epoll_pwait2, SYS_landlock_create_ruleset, 452 /* fchmodat2 */, 454 /* futex_wake */,
	462 /* mseal */,
};
/* clang-format on */

/* clang-format off */
static const int refused[] = {
	SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_process_madvise, SYS_kcmp,
	SYS_pidfd_getfd, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree, SYS_move_mount,
	SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, 467 /* open_tree_attr */,
	SYS_unshare, SYS_setns, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_reboot,
	SYS_kexec_load, SYS_kexec_file_load, SYS_swapon, SYS_swapoff, SYS_settimeofday, SYS_clock_settime,
	SYS_adjtimex, SYS_clock_adjtime, SYS_sethostname, SYS_setdomainname, SYS_bpf, SYS_perf_event_open,
	SYS_lookup_dcookie, SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
	SYS_add_key, SYS_request_key, SYS_keyctl, SYS_open_by_handle_at, SYS_fanotify_init,
	SYS_fanotify_mark, SYS_acct, SYS_quotactl, SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_syslog,
	SYS_vhangup, SYS_nfsservctl, SYS_move_pages, 447 /* memfd_secret */, 460 /* lsm_set_self_attr */,
};
/* clang-format on */

/* clang-format off */
static const int absent[] = {
	SYS_clone3, 335 /* uretprobe */, 457 /* statmount */, 458 /* listmount */, SYS_uselib,
	SYS_create_module, SYS__sysctl, 471, 500, 600, 1023, 1024, 5000, INT32_MAX >> 2,
};
/* clang-format on */

static void test_everyday_calls_are_allowed(void **state)
{
	struct fixture *f = *state;

	assert_true(ARRAY_LEN(everyday) >= 150);
	f->policy.limit[LIMIT_CPU] = UNLIMITED; /* setrlimit's 0 is RLIMIT_CPU */
	compile(f, 0);
	for (size_t i = 0; i < ARRAY_LEN(everyday); i++)
		if (answer(f, everyday[i], NULL) != ALLOW)
			fail_msg("%s is not allowed", seccomp_call_name(everyday[i], ARCH));
}

static void test_bad_calls_are_refused(void **state)
{
	struct fixture *f = *state;

	compile(f, 0);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (answer(f, refused[i], NULL) != EPERM_RET)
			fail_msg("%s is not refused", seccomp_call_name(refused[i], ARCH));
	for (size_t i = 0; i < ARRAY_LEN(absent); i++)
		if (answer(f, absent[i], NULL) != ENOSYS_RET)
			fail_msg("%d is not absent", absent[i]);
	assert_true(f->program.allowed > 250 && f->program.refused > 60 && f->program.shown == 0);
}

static void test_denied_calls_are_put_to_the_supervisor(void **state)
{
	struct fixture *f = *state;

	f->policy.limit[LIMIT_CPU] = UNLIMITED; /* setrlimit's 0 is RLIMIT_CPU */
	compile(f, WATCH_DENIED);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		assert_int_equal(answer(f, refused[i], NULL), NOTIFY);
	for (size_t i = 0; i < ARRAY_LEN(absent); i++)
		assert_int_equal(answer(f, absent[i], NULL), NOTIFY);
	for (size_t i = 0; i < ARRAY_LEN(everyday); i++)
		assert_int_equal(answer(f, everyday[i], NULL), ALLOW);
}

static void test_every_number_has_an_action(void **state)
{
	struct fixture *f = *state;

	for (unsigned watch = 0; watch <= WATCH_ALL; watch += 21) {
		compile(f, watch);
		for (int nr = 0; nr <= 1100; nr++) {
			uint32_t a = answer(f, nr, NULL);
			assert_true(a == ALLOW || a == EPERM_RET || a == ENOSYS_RET || a == NOTIFY);
		}
	}
}

/* Every second call is taken away: no two neighbours have one answer, and the tree is as large as it gets. Its
 * first jumps are then longer than a conditional one can say. */
static void test_scattered_numbers(void **state)
{
	struct fixture *f = *state;
	const char *name;

	for (int nr = 0; nr < 470; nr += 2)
		if ((name = seccomp_call_name(nr, ARCH)) && nr != SYS_read && nr != SYS_exit)
			f->policy.deny = strv_add(f->policy.deny, name);
	compile(f, 0);
	assert_true(f->program.count > 600 && f->program.count < BPF_MAXINSNS);
	for (int nr = 1; nr < 470; nr += 2) {
		const uint64_t arg[6] = { nr == SYS_personality ? PER_LINUX : AF_UNIX };
		if ((name = seccomp_call_name(nr, ARCH)) &&
		    policy_syscall(&f->policy, name, NULL) == SYSCALL_ALLOW)
			assert_int_equal(answer(f, nr, arg), ALLOW);
	}
	for (char **call = f->policy.deny; *call; call++)
		assert_int_equal(answer(f, seccomp_call_number(*call), NULL), EPERM_RET);
	assert_int_equal(answer(f, SYS_read, NULL), ALLOW);
	assert_int_equal(answer(f, 1100, NULL), ENOSYS_RET);
	assert_int_equal(answer(f, -1, NULL), ENOSYS_RET);
	assert_int_equal(answer(f, X32, NULL), ENOSYS_RET);
}

/* What the child does before its listener is taken must not wait for the supervisor who is to take it. */
static void test_start_never_waits(void **state)
{
	static const int start[] = { SYS_read, SYS_write,      SYS_close,
				     SYS_exit, SYS_exit_group, SYS_rt_sigreturn };
	struct fixture *f = *state;

	compile(f, WATCH_ALL);
	for (size_t i = 0; i < ARRAY_LEN(start); i++)
		assert_int_equal(answer(f, start[i], NULL), ALLOW);
}

/* ---- by arguments ---- */

/* clang-format off */
static const struct {
	int nr;
	uint64_t arg[6];
	unsigned watch;
	uint32_t answer;
} cases[] = {
	{ SYS_exit_group, { 0 }, WATCH_WRITING, ALLOW },
	{ SYS_open, { 0, O_RDONLY | O_CLOEXEC }, WATCH_WRITING, ALLOW },
	{ SYS_open, { 0, O_WRONLY }, WATCH_EXIT, ALLOW },
	{ SYS_open, { 0, O_WRONLY }, WATCH_WRITING, NOTIFY },
	{ SYS_open, { 0, O_RDWR }, 0, ALLOW },
	{ SYS_openat, { 3, 0, O_RDONLY | O_DIRECTORY }, WATCH_WRITING, ALLOW },
	{ SYS_openat, { 3, 0, O_RDWR | GARBAGE }, WATCH_WRITING, NOTIFY },
	{ SYS_openat, { 3, 0, O_RDONLY | O_CREAT }, WATCH_WRITING, NOTIFY },
	{ SYS_openat, { 3, 0, O_RDONLY | O_TRUNC }, WATCH_WRITING, NOTIFY },
	{ SYS_openat, { 3, 0, O_TMPFILE | O_RDWR }, WATCH_WRITING, NOTIFY },
	{ SYS_openat, { 3, 0, 3 /* neither reading nor writing, for ioctl */ }, WATCH_WRITING, NOTIFY },

	{ SYS_socket, { AF_UNIX, SOCK_STREAM }, WATCH_ALL, ALLOW },
	{ SYS_socket, { AF_UNIX | GARBAGE, SOCK_STREAM }, 0, ALLOW },
	{ SYS_socket, { AF_INET, SOCK_STREAM }, 0, ALLOW },
	{ SYS_socket, { AF_INET6, SOCK_DGRAM }, 0, ALLOW },
	{ SYS_socket, { AF_INET, SOCK_STREAM, 262 }, 0, ALLOW },
	{ SYS_socket, { AF_INET, SOCK_STREAM, 132 /* SCTP */ }, 0, EPERM_RET },
	{ SYS_socket, { AF_INET, SOCK_RAW, 255 }, 0, EPERM_RET },
	{ SYS_socket, { AF_INET, SOCK_STREAM, 132 }, WATCH_SOCKET, EPERM_RET },
	{ SYS_socket, { AF_INET, SOCK_STREAM }, WATCH_SOCKET, NOTIFY },
	{ SYS_socket, { AF_INET6 | GARBAGE, SOCK_STREAM }, WATCH_SOCKET, NOTIFY },
	{ SYS_socket, { AF_INET, SOCK_STREAM }, WATCH_NETWORK, NOTIFY },
	{ SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, WATCH_SOCKET, ALLOW },
	{ SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_GENERIC }, 0, EPERM_RET },
	{ SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER }, 0, EPERM_RET },
	{ SYS_socket, { AF_VSOCK, SOCK_STREAM }, 0, EPERM_RET },
	{ SYS_socket, { AF_VSOCK | GARBAGE, SOCK_STREAM }, 0, EPERM_RET },
	{ SYS_socket, { AF_VSOCK, SOCK_STREAM }, WATCH_DENIED, NOTIFY },
	{ SYS_socket, { AF_PACKET, SOCK_RAW }, 0, EPERM_RET },
	{ SYS_socket, { AF_ALG, SOCK_SEQPACKET }, 0, EPERM_RET },
	{ SYS_socket, { 0xffffffff, SOCK_STREAM }, 0, EPERM_RET },
	{ SYS_socketpair, { AF_UNIX, SOCK_STREAM }, WATCH_ALL, ALLOW },
	{ SYS_socketpair, { AF_TIPC, SOCK_STREAM }, 0, EPERM_RET },
	{ SYS_clone, { CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_THREAD }, 0, ALLOW },
	{ SYS_clone, { CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_THREAD }, WATCH_FORK, NOTIFY },
	{ SYS_clone, { SIGCHLD }, 0, ALLOW },
	{ SYS_clone, { CLONE_NEWUSER | SIGCHLD }, 0, EPERM_RET },
	{ SYS_clone, { CLONE_NEWNS }, 0, EPERM_RET },
	{ SYS_clone, { CLONE_NEWNET | GARBAGE }, 0, EPERM_RET },
	{ SYS_clone, { CLONE_NEWCGROUP }, 0, EPERM_RET },
	{ SYS_clone, { CLONE_NEWUTS }, 0, EPERM_RET },
	{ SYS_clone, { CLONE_NEWIPC }, 0, EPERM_RET },
	{ SYS_clone, { CLONE_NEWPID }, WATCH_DENIED, NOTIFY },
	{ SYS_fork, { 0 }, WATCH_FORK, NOTIFY },
	{ SYS_vfork, { 0 }, WATCH_FORK, NOTIFY },
	{ SYS_ioctl, { 0, TCGETS }, WATCH_ALL, ALLOW },
	{ SYS_ioctl, { 0, TIOCSTI }, 0, EPERM_RET },
	{ SYS_ioctl, { 0, TIOCSTI | GARBAGE }, 0, EPERM_RET },
	{ SYS_ioctl, { 0, TIOCLINUX | GARBAGE }, 0, EPERM_RET },
	{ SYS_ioctl, { 0, TIOCSTI }, WATCH_DENIED, NOTIFY },
	{ SYS_prctl, { PR_SET_NAME }, 0, ALLOW },
	{ SYS_prctl, { PR_SET_MM }, 0, EPERM_RET },
	{ SYS_personality, { 0xffffffff }, 0, ALLOW },
	{ SYS_personality, { UINT64_MAX }, 0, ALLOW },
	{ SYS_personality, { 0 }, 0, ALLOW },
	{ SYS_personality, { ADDR_NO_RANDOMIZE }, 0, ALLOW },
	{ SYS_personality, { READ_IMPLIES_EXEC }, 0, EPERM_RET },
	{ SYS_personality, { MMAP_PAGE_ZERO | GARBAGE }, 0, EPERM_RET },
	{ SYS_kill, { 1, SIGTERM }, 0, ALLOW },
	{ SYS_kill, { 0, SIGTERM }, 0, ALLOW },
	{ SYS_kill, { (uint64_t)-1, SIGKILL }, 0, EPERM_RET },
	{ SYS_kill, { 0xffffffff, SIGKILL }, 0, EPERM_RET },
	{ SYS_prlimit64, { 0, 7, 0x1000 }, 0, ALLOW },
	{ SYS_prlimit64, { 1, 7, 0, 0x1000 }, 0, ALLOW },
	{ SYS_prlimit64, { 1, 7, 0x1000 }, 0, EPERM_RET },
	{ SYS_prlimit64, { 1, 7, UINT64_C(0x700000000000) }, 0, EPERM_RET },
	{ SYS_mmap, { 0, MEMORY + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE }, 0, ALLOW },
	{ SYS_mmap, { 0, MEMORY + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE }, WATCH_MEMORY, NOTIFY },
	{ SYS_mmap, { 0, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE }, WATCH_MEMORY, ALLOW },
	{ SYS_mmap, { 0, 0xffffffff, PROT_WRITE }, WATCH_MEMORY, ALLOW },
	{ SYS_mmap, { 0, UINT64_C(7) << 30, PROT_WRITE }, WATCH_MEMORY, NOTIFY },
	{ SYS_mmap, { 0, UINT64_C(1) << 40, PROT_WRITE }, WATCH_MEMORY, NOTIFY },
	{ SYS_mmap, { 0, UINT64_C(1) << 40, PROT_WRITE, MAP_NORESERVE }, WATCH_MEMORY, ALLOW },
	{ SYS_mmap, { 0, UINT64_C(1) << 40, PROT_NONE, MAP_PRIVATE }, WATCH_MEMORY, ALLOW },
	{ SYS_mremap, { 0, 4096, MEMORY + 1 }, WATCH_MEMORY, NOTIFY },
	{ SYS_mremap, { 0, MEMORY + 1, 4096 }, WATCH_MEMORY, ALLOW },
	{ SYS_shmget, { 0, MEMORY * 2, 0600 }, WATCH_MEMORY, NOTIFY },
	{ SYS_shmget, { 0, 4096, 0600 }, WATCH_MEMORY, NOTIFY }, /* their sum counts */
	{ SYS_shmget, { 0, 4096, 0600 }, 0, ALLOW },
	{ SYS_sendto, { 3, 0x1000, 1, 0, 0, 0 }, WATCH_NETWORK, ALLOW },
	{ SYS_sendto, { 3, 0x1000, 1, 0, UINT64_C(0x700000000000), 16 }, WATCH_NETWORK, NOTIFY },
	{ SYS_sendto, { 3, 0x1000, 1, 0, 0x2000, 16 }, WATCH_NETWORK, NOTIFY },
	{ SYS_sendto, { 3, 0x1000, 1, 0, 0x2000, 16 }, 0, ALLOW },
	{ SYS_connect, { 3, 0x2000, 16 }, WATCH_NETWORK, NOTIFY },
	{ SYS_execve, { 0x1000 }, WATCH_EXEC, NOTIFY },
	{ SYS_openat, { 0, 0x1000 }, WATCH_FILES, NOTIFY },
	{ SYS_openat, { 0, 0x1000 }, WATCH_ALL & ~WATCH_FILES, ALLOW },
};
/* clang-format on */

static void test_arguments_decide(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		compile(f, cases[i].watch);
		uint32_t got = answer(f, cases[i].nr, cases[i].arg);
		if (got != cases[i].answer)
			fail_msg("row %zu, %s: 0x%x, not 0x%x", i, seccomp_call_name(cases[i].nr, ARCH), got,
				 cases[i].answer);
	}
}

static void test_cores_are_pinned_when_asked(void **state)
{
	struct fixture *f = *state;

	f->want.pin_cpus = true;
	compile(f, 0);
	assert_int_equal(answer(f, SYS_sched_setaffinity, NULL), EPERM_RET);
	assert_int_equal(answer(f, SYS_sched_getaffinity, NULL), ALLOW);
	compile(f, WATCH_DENIED);
	assert_int_equal(answer(f, SYS_sched_setaffinity, NULL), NOTIFY);
	f->policy.on_denied = DENIED_KILL;
	compile(f, 0);
	assert_int_equal(answer(f, SYS_sched_setaffinity, NULL), EPERM_RET);
	f->policy.on_denied = DENIED_ERRNO;
}

static void test_kill_strikes_refused_calls_only(void **state)
{
	struct fixture *f = *state;
	const uint64_t vsock[6] = { AF_VSOCK };

	f->policy.on_denied = DENIED_KILL;
	compile(f, 0);
	assert_int_equal(answer(f, SYS_ptrace, NULL), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(answer(f, SYS_socket, vsock), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(answer(f, SYS_clone3, NULL), ENOSYS_RET);
	assert_int_equal(answer(f, 999, NULL), ENOSYS_RET);
	compile(f, WATCH_DENIED);
	assert_int_equal(answer(f, SYS_ptrace, NULL), NOTIFY);
}

/* ---- by architecture ---- */

static void test_other_architectures_get_nothing(void **state)
{
	static const uint32_t arches[] = { AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM, 0,
					   0xffffffff };
	struct fixture *f = *state;

	for (unsigned watch = 0; watch <= WATCH_DENIED; watch++) {
		compile(f, watch);
		uint32_t due = watch ? NOTIFY : ENOSYS_RET;
		for (int nr = 0; nr < 700; nr++) {
			struct seccomp_data data = { .nr = nr };
			for (size_t i = 0; i < ARRAY_LEN(arches); i++) {
				data.arch = arches[i];
				assert_int_equal(run(&f->program, &data), due);
			}
			assert_int_equal(answer(f, nr | X32, NULL), due);
			assert_int_equal(answer(f, (int) ((uint32_t) nr | 0x80000000), NULL), due);
		}
	}
}

/* ---- why ---- */

static const uint64_t values[] = { 0,
				   1,
				   2,
				   10,
				   16,
				   40,
				   262,
				   0xffffffff,
				   UINT64_MAX,
				   TIOCSTI,
				   TIOCSTI | GARBAGE,
				   PR_SET_MM,
				   SIOCSIFFLAGS,
				   SIOCGIFFLAGS,
				   SIOCDEVPRIVATE + 15,
				   SIOCDEVPRIVATE + 16,
				   64,
				   67 | GARBAGE,
				   128,
				   SOCK_RAW,
				   SOCK_PACKET,
				   SOL_IPV6,
				   ADDR_NO_RANDOMIZE,
				   CLONE_NEWUSER,
				   MEMORY,
				   MEMORY + 1,
				   PROT_WRITE | GARBAGE };

/* Every filter must do just what is later said of it. */
static void check_reason(const struct fixture *f, int nr, uint32_t arch, const uint64_t arg[6])
{
	struct seccomp_reason why;
	struct seccomp_data data = { .nr = nr, .arch = arch };

	memcpy(data.args, arg, sizeof(data.args));
	uint32_t got = run(&f->program, &data), due = ALLOW;
	seccomp_explain(&f->want, nr, arch, arg, &why);
	if (why.watch == WATCH_DENIED && !(f->want.watch & WATCH_DENIED))
		due = why.action == SYSCALL_REFUSE ? EPERM_RET : ENOSYS_RET;
	else if (why.watch)
		due = NOTIFY;
	if (got != due)
		fail_msg("call %d (%llx, %llx, %llx), watch 0x%x: filter 0x%x, reason %u '%s'", nr,
			 (unsigned long long) arg[0], (unsigned long long) arg[1],
			 (unsigned long long) arg[2], f->want.watch, got, why.watch, why.rule);
}

static void test_reason_agrees_with_filter(void **state)
{
	struct fixture *f = *state;

	for (unsigned watch = 0; watch <= WATCH_ALL; watch++) {
		compile(f, watch);
		f->want.pin_cpus = watch & 1;
		compile(f, watch);
		for (int nr = 0; nr < 480; nr++)
			for (size_t i = 0; i < ARRAY_LEN(values); i++) {
				uint64_t arg[6];
				for (size_t k = 0; k < 6;
				     k++) /* each place gets another value, from round to round */
					arg[k] = values[(i + k * (watch + 1)) % ARRAY_LEN(values)];
				check_reason(f, nr, ARCH, arg);
			}
		const uint64_t none[6] = { 0 };
		check_reason(f, 20, AUDIT_ARCH_I386, none);
		check_reason(f, 39 | X32, ARCH, none);
	}
}

static void test_reason_names_the_rule(void **state)
{
	struct fixture *f = *state;
	const uint64_t none[6] = { 0 }, vsock[6] = { AF_VSOCK }, inet[6] = { AF_INET },
		       sti[6] = { 0, TIOCSTI };
	const uint64_t large[6] = { 0, MEMORY + 1, PROT_WRITE, MAP_PRIVATE };
	struct seccomp_reason why;

	f->want.watch = WATCH_ALL;
	seccomp_explain(&f->want, SYS_ptrace, ARCH, none, &why);
	assert_int_equal(why.watch, WATCH_DENIED);
	assert_int_equal(why.action, SYSCALL_REFUSE);
	assert_string_equal(why.rule, "default:debug");
	assert_string_equal(why.means, "means debug");
	seccomp_explain(&f->want, SYS_socket, ARCH, vsock, &why);
	assert_string_equal(why.rule, "families");
	assert_non_null(why.means);
	seccomp_explain(&f->want, SYS_socket, ARCH, inet, &why);
	assert_int_equal(why.watch, WATCH_SOCKET);
	seccomp_explain(&f->want, SYS_ioctl, ARCH, sti, &why);
	assert_string_equal(why.rule, "terminal");
	seccomp_explain(&f->want, SYS_mmap, ARCH, large, &why);
	assert_int_equal(why.watch, WATCH_MEMORY);
	seccomp_explain(&f->want, 999, ARCH, none, &why);
	assert_int_equal(why.action, SYSCALL_ABSENT);
	assert_string_equal(why.rule, "");
	seccomp_explain(&f->want, 1, AUDIT_ARCH_I386, none, &why);
	assert_int_equal(why.action, SYSCALL_ABSENT);
	assert_string_equal(why.rule, "architectures");
}

/* ---- overrides and faults ---- */

static void test_preset_overrides_groups(void **state)
{
	struct fixture *f = *state;
	const uint64_t newuser[6] = { CLONE_NEWUSER };

	f->policy.deny = strv_split("getrandom openat fork");
	f->policy.allow = strv_split("ptrace fork clone bpf umount");
	compile(f, WATCH_FILES);
	assert_int_equal(answer(f, SYS_getrandom, NULL), EPERM_RET);
	assert_int_equal(answer(f, SYS_openat, NULL), EPERM_RET);
	assert_int_equal(answer(f, SYS_open, NULL), NOTIFY);
	assert_int_equal(answer(f, SYS_ptrace, NULL), ALLOW);
	assert_int_equal(answer(f, SYS_bpf, NULL), ALLOW);
	assert_int_equal(answer(f, SYS_fork, NULL), EPERM_RET);
	/* what is given by name is still looked at */
	assert_int_equal(answer(f, SYS_clone, newuser), EPERM_RET);
}

static void expect_fault(struct fixture *f, const char *deny, const char *word)
{
	struct err e = { 0 };

	f->policy.deny = strv_split(deny);
	assert_int_equal(seccomp_compile(&f->want, &f->program, &e), -EINVAL);
	if (!strstr(e.text, word))
		fail_msg("\"%s\" does not say \"%s\"", e.text, word);
	assert_null(f->program.insns);
	f->policy.deny = strv_free(f->policy.deny);
}

static void test_faults_are_named(void **state)
{
	struct fixture *f = *state;

	expect_fault(f, "getrandon", "'getrandom'");
	expect_fault(f, "getrandon", "deny");
	expect_fault(f, "mseall", "'mseal'");
	expect_fault(f, "write", "write");
	expect_fault(f, "execve", "execve");
}

static void test_names_and_numbers(void **state)
{
	(void) state;
	assert_string_equal(seccomp_call_name(SYS_openat, ARCH), "openat");
	assert_string_equal(seccomp_call_name(457, ARCH), "statmount");
	assert_string_equal(seccomp_call_name(20, AUDIT_ARCH_I386), "getpid");
	assert_string_equal(seccomp_call_name(39 | X32, ARCH), "getpid");
	assert_null(seccomp_call_name(999, ARCH));
	assert_null(seccomp_call_name(-1, ARCH));
	assert_null(seccomp_call_name(1, 0x12345));
	assert_int_equal(seccomp_call_number("ptrace"), SYS_ptrace);
	assert_int_equal(seccomp_call_number("mseal"), 462);
	assert_int_equal(seccomp_call_number("umount"), -ENOENT);
	assert_int_equal(seccomp_call_number("ptrac"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_everyday_calls_are_allowed),
		T(test_bad_calls_are_refused),
		T(test_denied_calls_are_put_to_the_supervisor),
		T(test_every_number_has_an_action),
		T(test_scattered_numbers),
		T(test_start_never_waits),
		T(test_arguments_decide),
		T(test_cores_are_pinned_when_asked),
		T(test_kill_strikes_refused_calls_only),
		T(test_other_architectures_get_nothing),
		T(test_reason_agrees_with_filter),
		T(test_reason_names_the_rule),
		T(test_preset_overrides_groups),
		T(test_faults_are_named),
		T(test_names_and_numbers),
	};

	return cmocka_run_group_tests_name("seccomp", tests, NULL, NULL);
}
