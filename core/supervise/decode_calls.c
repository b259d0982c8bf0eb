/* SPDX-License-Identifier: MIT */
/*
 * What the arguments of a call are, one row a call: all that may be put to the supervisor and say more by
 * their arguments than by their name. To show another call well, add a row.
 */
#include "core/supervise/decode_parts.h"

#include "core/base/base.h"

#include <string.h>

/* clang-format off */
#define INT(k)      { ARG_INT, k, NULL }
#define SIZE(k)     { ARG_SIZE, k, NULL }
#define HEX(k)      { ARG_HEX, k, NULL }
#define MODE(k)     { ARG_OCTAL, k, NULL }
#define ID(k)       { ARG_ID, k, NULL }
#define DIRFD       { ARG_DIRFD, NULL, NULL }
#define PATH(k)     { ARG_PATH, k, NULL }
#define SOURCE(k)   { ARG_SOURCE, k, NULL }
#define STRING(k)   { ARG_STRING, k, NULL }
#define WORDS(k, w) { ARG_WORDS, k, &words_##w }
#define WORDS32(k, w) { ARG_WORDS32, k, &words_##w }
#define OPEN_FLAGS  { ARG_OPEN_FLAGS, "flags", &words_open }
#define OPEN_HOW    { ARG_OPEN_HOW, "flags", &words_open }
#define OPEN_MODE   { ARG_MODE_IF_CREATED, "mode", NULL }
#define SOCKFD      { ARG_SOCKFD, "fd", NULL }
#define SOCKADDR    { ARG_SOCKADDR, NULL, NULL }
#define ARGV        { ARG_ARGV, NULL, NULL }
#define NOT_SHOWN   { ARG_NONE, NULL, NULL }

#define OTHER(call, ...)       { call, DECODE_OTHER, NULL, { __VA_ARGS__ } }
#define NETWORK(call, op, ...) { call, DECODE_NETWORK, op, { __VA_ARGS__ } }
#define FILES(call, op, ...)   { call, DECODE_FILE, op, { __VA_ARGS__ } }
#define EXEC(call, ...)        { call, DECODE_EXEC, NULL, { __VA_ARGS__ } }

static const struct call_spec calls[] = {
	/* other processes */
	OTHER("ptrace", WORDS("request", ptrace), INT("pid"), HEX("addr"), HEX("data")),
	OTHER("process_vm_readv", INT("pid"), NOT_SHOWN, SIZE("liovcnt"), NOT_SHOWN, SIZE("riovcnt")),
	OTHER("process_vm_writev", INT("pid"), NOT_SHOWN, SIZE("liovcnt"), NOT_SHOWN, SIZE("riovcnt")),
	OTHER("process_madvise", INT("pidfd"), NOT_SHOWN, SIZE("vlen"), WORDS32("advice", advice)),
	OTHER("process_mrelease", INT("pidfd")),
	OTHER("pidfd_getfd", INT("pidfd"), INT("fd")),
	OTHER("kcmp", INT("pid1"), INT("pid2"), WORDS32("type", kcmp), SIZE("idx1"), SIZE("idx2")),
	OTHER("kill", INT("pid"), WORDS32("sig", signal)),
	OTHER("tkill", INT("tid"), WORDS32("sig", signal)),
	OTHER("tgkill", INT("tgid"), INT("tid"), WORDS32("sig", signal)),
	OTHER("rt_sigqueueinfo", INT("pid"), WORDS32("sig", signal)),
	OTHER("rt_tgsigqueueinfo", INT("tgid"), INT("tid"), WORDS32("sig", signal)),
	OTHER("pidfd_send_signal", INT("pidfd"), WORDS32("sig", signal), NOT_SHOWN, HEX("flags")),
	OTHER("prlimit64", INT("pid"), WORDS32("resource", resource)),
	OTHER("setrlimit", WORDS32("resource", resource)),
	OTHER("sched_setaffinity", INT("pid"), SIZE("size")),
	OTHER("setpriority", INT("which"), INT("who"), INT("prio")),
	OTHER("migrate_pages", INT("pid"), SIZE("maxnode")),
	OTHER("move_pages", INT("pid"), SIZE("count")),

	/* new processes and namespaces */
	OTHER("clone", WORDS("flags", clone)),
	OTHER("clone3", { ARG_CLONE_ARGS, "flags", &words_clone }, SIZE("size")),
	OTHER("unshare", WORDS("flags", namespace)),
	OTHER("setns", INT("fd"), WORDS32("nstype", namespace)),
	OTHER("chroot", PATH("path")),
	EXEC("execve", PATH(NULL), ARGV),
	EXEC("execveat", DIRFD, PATH(NULL), ARGV, NOT_SHOWN, WORDS32("flags", at)),
	OTHER("prctl", WORDS32("option", prctl), HEX("arg2"), HEX("arg3")),
	OTHER("personality", WORDS32("persona", personality)),
	OTHER("setuid", ID("uid")),
	OTHER("setgid", ID("gid")),
	OTHER("setreuid", ID("ruid"), ID("euid")),
	OTHER("setregid", ID("rgid"), ID("egid")),
	OTHER("setresuid", ID("ruid"), ID("euid"), ID("suid")),
	OTHER("setresgid", ID("rgid"), ID("egid"), ID("sgid")),

	/* mounts */
	OTHER("mount", SOURCE("source"), PATH("target"), STRING("type"), WORDS("flags", mount)),
	OTHER("umount2", PATH("target"), WORDS32("flags", umount)),
	OTHER("pivot_root", PATH("new_root"), PATH("put_old")),
	OTHER("open_tree", DIRFD, PATH("path"), WORDS32("flags", open_tree)),
	OTHER("open_tree_attr", DIRFD, PATH("path"), WORDS32("flags", open_tree)),
	OTHER("move_mount", DIRFD, PATH("from"), DIRFD, PATH("to"), WORDS32("flags", move_mount)),
	OTHER("fsopen", STRING("type"), WORDS32("flags", fsopen)),
	OTHER("fsconfig", INT("fd"), WORDS32("cmd", fsconfig), STRING("key")),
	OTHER("fsmount", INT("fd"), WORDS32("flags", fsmount), WORDS32("attr", mount_attr)),
	OTHER("fspick", DIRFD, PATH("path"), WORDS32("flags", fspick)),
	OTHER("mount_setattr", DIRFD, PATH("path"), WORDS32("flags", at)),
	OTHER("swapon", PATH("path"), HEX("flags")),
	OTHER("swapoff", PATH("path")),
	OTHER("acct", PATH("path")),
	OTHER("quotactl", WORDS32("cmd", quota), STRING("special"), INT("id")),
	OTHER("quotactl_fd", INT("fd"), WORDS32("cmd", quota), INT("id")),
	OTHER("name_to_handle_at", DIRFD, PATH("path"), NOT_SHOWN, NOT_SHOWN, WORDS32("flags", at)),
	OTHER("open_by_handle_at", INT("mount_fd"), NOT_SHOWN, OPEN_FLAGS),
	OTHER("fanotify_init", WORDS32("flags", fanotify), WORDS32("event_f_flags", open)),
	OTHER("fanotify_mark", INT("fd"), WORDS32("flags", fanotify_mark), WORDS("mask", fanotify_mask), DIRFD,
	      PATH("path")),

	/* the machine and its kernel */
	OTHER("bpf", WORDS32("cmd", bpf), NOT_SHOWN, SIZE("size")),
	OTHER("perf_event_open", NOT_SHOWN, INT("pid"), INT("cpu"), INT("group_fd"), WORDS("flags", perf)),
	OTHER("userfaultfd", WORDS32("flags", userfault)),
	OTHER("io_uring_setup", SIZE("entries")),
	OTHER("io_uring_enter", INT("fd"), INT("to_submit"), INT("min_complete"), HEX("flags")),
	OTHER("io_uring_register", INT("fd"), INT("opcode"), NOT_SHOWN, INT("nr_args")),
	OTHER("keyctl", WORDS32("cmd", keyctl), INT("arg2")),
	OTHER("add_key", STRING("type"), STRING("description"), NOT_SHOWN, SIZE("len"), INT("keyring")),
	OTHER("request_key", STRING("type"), STRING("description"), NOT_SHOWN, INT("keyring")),
	OTHER("finit_module", INT("fd"), STRING("params"), WORDS32("flags", module)),
	OTHER("init_module", NOT_SHOWN, SIZE("len"), STRING("params")),
	OTHER("delete_module", STRING("name"), WORDS32("flags", module_delete)),
	OTHER("kexec_load", HEX("entry"), SIZE("nr_segments"), NOT_SHOWN, HEX("flags")),
	OTHER("kexec_file_load", INT("kernel_fd"), INT("initrd_fd")),
	OTHER("reboot", HEX("magic"), HEX("magic2"), WORDS32("cmd", reboot)),
	OTHER("syslog", WORDS32("type", syslog), NOT_SHOWN, INT("len")),
	OTHER("clock_settime", WORDS32("clock", clock)),
	OTHER("clock_adjtime", WORDS32("clock", clock)),
	OTHER("sethostname", STRING("name"), INT("len")),
	OTHER("setdomainname", STRING("name"), INT("len")),
	OTHER("iopl", INT("level")),
	OTHER("ioperm", HEX("from"), SIZE("num"), INT("on")),
	OTHER("ioctl", INT("fd"), WORDS32("request", ioctl), HEX("arg")),
	OTHER("modify_ldt", INT("func"), NOT_SHOWN, SIZE("bytecount")),
	OTHER("memfd_secret", HEX("flags")),
	OTHER("lsm_set_self_attr", INT("attr"), NOT_SHOWN, SIZE("size"), HEX("flags")),

	/* memory */
	OTHER("mmap", HEX("addr"), SIZE("length"), WORDS("prot", prot), WORDS("flags", map), INT("fd")),
	OTHER("mremap", HEX("old"), SIZE("old_size"), SIZE("new_size")),
	OTHER("shmget", HEX("key"), SIZE("size"), HEX("flags")),

	/* sockets */
	NETWORK("socket", "socket", WORDS32("family", family), WORDS32("type", socket), INT("protocol")),
	NETWORK("socketpair", "socket", WORDS32("family", family), WORDS32("type", socket), INT("protocol")),
	OTHER("setsockopt", INT("fd"), WORDS32("level", level), INT("option")),
	OTHER("getsockopt", INT("fd"), WORDS32("level", level), INT("option")),
	NETWORK("connect", "connect", SOCKFD, SOCKADDR),
	NETWORK("bind", "bind", SOCKFD, SOCKADDR),
	NETWORK("listen", "listen", SOCKFD, INT("backlog")),
	NETWORK("accept", "accept", SOCKFD),
	NETWORK("accept4", "accept", SOCKFD, NOT_SHOWN, NOT_SHOWN, WORDS32("flags", socket)),
	NETWORK("sendto", "send", SOCKFD, NOT_SHOWN, SIZE("len"), WORDS32("flags", msg), SOCKADDR),
	NETWORK("sendmsg", "send", SOCKFD, { ARG_MSGHDR, NULL, NULL }, WORDS32("flags", msg)),
	NETWORK("sendmmsg", "send", SOCKFD, { ARG_MMSGHDR, NULL, NULL }, INT("vlen"), WORDS32("flags", msg)),

	/* files */
	FILES("open", "open", PATH("path"), OPEN_FLAGS, OPEN_MODE),
	FILES("openat", "open", DIRFD, PATH("path"), OPEN_FLAGS, OPEN_MODE),
	FILES("openat2", "open", DIRFD, PATH("path"), OPEN_HOW),
	FILES("creat", "open", PATH("path"), MODE("mode")),
	FILES("rename", "rename", PATH("path"), PATH("to")),
	FILES("renameat", "rename", DIRFD, PATH("path"), DIRFD, PATH("to")),
	FILES("renameat2", "rename", DIRFD, PATH("path"), DIRFD, PATH("to"), WORDS32("flags", rename)),
	FILES("unlink", "remove", PATH("path")),
	FILES("unlinkat", "remove", DIRFD, PATH("path"), WORDS32("flags", at)),
	FILES("rmdir", "remove", PATH("path")),
	FILES("mkdir", "mkdir", PATH("path"), MODE("mode")),
	FILES("mkdirat", "mkdir", DIRFD, PATH("path"), MODE("mode")),
	FILES("link", "link", PATH("path"), PATH("to")),
	FILES("linkat", "link", DIRFD, PATH("path"), DIRFD, PATH("to"), WORDS32("flags", at)),
	FILES("symlink", "symlink", STRING("target"), PATH("path")),
	FILES("symlinkat", "symlink", STRING("target"), DIRFD, PATH("path")),
	FILES("chmod", "chmod", PATH("path"), MODE("mode")),
	FILES("fchmodat", "chmod", DIRFD, PATH("path"), MODE("mode")),
	FILES("fchmodat2", "chmod", DIRFD, PATH("path"), MODE("mode"), WORDS32("flags", at)),
	FILES("chown", "chown", PATH("path"), ID("uid"), ID("gid")),
	FILES("lchown", "chown", PATH("path"), ID("uid"), ID("gid")),
	FILES("fchownat", "chown", DIRFD, PATH("path"), ID("uid"), ID("gid"), WORDS32("flags", at)),
	FILES("truncate", "truncate", PATH("path"), SIZE("length")),
	FILES("mknod", "mknod", PATH("path"), MODE("mode"), HEX("dev")),
	FILES("mknodat", "mknod", DIRFD, PATH("path"), MODE("mode"), HEX("dev")),
};
/* clang-format on */

const struct call_spec *call_spec(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (calls[i].name[0] == name[0] && strcmp(calls[i].name, name) == 0)
			return &calls[i];
	return NULL;
}
