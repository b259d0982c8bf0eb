/* SPDX-License-Identifier: MIT */
/*
 * The door of core/confine: what a process does to itself, and to the kernel objects of one run. Everything that can
 * fail by input (paths, filters, argv) is prepared in the parent, where an error is easy to show; the child only makes
 * calls. confine_self() in confine.c holds THE order.
 */
#pragma once

/* clang-format off */

#include "core/base/err.h"
#include "core/model/model.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct buf;
struct cgroup;

/* ---- mount.c: the target's view of files, as a list of operations that is built first and carried out later ---- */

enum mount_kind {
	MOUNT_BIND,    /* source of the host at dest, read-only, nosuid, nodev */
	MOUNT_DEVICE,  /* one of the host's harmless devices */
	MOUNT_WORK,    /* a folder of the one sized tmpfs at dest: all of them share its total */
	MOUNT_OVERLAY, /* source seen through a copy-on-write layer kept in the sized tmpfs */
	MOUNT_PROC,
	MOUNT_TERMINALS, MOUNT_QUEUES, /* pseudo-terminals, message queues: the run's own; where the kernel has none, an empty folder */
	MOUNT_DIR, MOUNT_LINK, MOUNT_FILE, /* made on the skeleton: a folder, a link to source, a file holding data */
	MOUNT_WRITE,   /* a file of the target's in its writable places: the code */
	MOUNT_READ_ONLY, /* dest becomes read-only: the last word on the skeleton */
};
struct mount_op {
	enum mount_kind kind;
	const char *source, *dest; /* of the host, in the view; owned once added */
	const void *data;       /* MOUNT_FILE, MOUNT_WRITE: Borrows */
	size_t len;
	mode_t mode;            /* of a source, where it is known already: whether it is a folder or a file */
	bool optional;          /* the source may be missing: nothing is mounted then */
	int tree_fd;            /* MOUNT_BIND as root: opened with the host's rights before the clone; else -1 */
};
struct mount_plan {
	struct mount_op *ops;
	size_t count;
	uint64_t space, inodes; /* of the one tmpfs behind every writable place; UNLIMITED: the kernel's default */
};
void mount_plan_add(struct mount_plan *m, struct mount_op op); /* takes copies of source and dest */
int mount_plan_open(struct mount_plan *m, struct err *e);      /* in the parent: every source exists, or the error names it */
int mount_plan_apply(const struct mount_plan *m, struct err *e); /* in the child: builds the root and pivots into it */
void mount_plan_done(struct mount_plan *m);

/* ---- seccomp.c: policy -> filter. The only user of libseccomp ---- */

/* What is put to the supervisor instead of being decided by the filter alone. A set of bits. */
enum seccomp_watch {
	WATCH_DENIED = 1 << 0,  /* calls that the policy refuses or does not know; answered EPERM and ENOSYS all the same */
	WATCH_NETWORK = 1 << 1, /* connect, bind, listen, accept, sendto, sendmsg, sendmmsg and socket: seen and continued */
	WATCH_EXEC = 1 << 2,    /* execve, execveat: seen and continued */
	WATCH_FILES = 1 << 3,   /* open and its kin, rename, unlink, mkdir, link, symlink, chmod, chown, truncate, mknod */
	WATCH_MEMORY = 1 << 4,  /* mmap, mremap that alone exceed memory_max; each shmget and memfd_create */
	WATCH_FORK = 1 << 5,    /* clone, fork, vfork */
	WATCH_SIGNAL = 1 << 7,  /* what may bring a SIGXFSZ of the program's own making: seen and continued */
	WATCH_FILTER = 1 << 8,  /* a filter of the program's own, behind which it is not seen any more: seen and continued */
	WATCH_WRITING = 1 << 9, /* open and openat of a file for anything but reading: its listener answers with a descriptor */
	WATCH_EXIT = 1 << 10,   /* exit_group: seen before it is carried out */
	WATCH_SOCKET = 1 << 6,  /* socket(AF_INET, AF_INET6) is answered with one that has no network */
};
struct seccomp_want {
	const struct policy *policy;
	unsigned watch;
	uint64_t memory_max;    /* for WATCH_MEMORY, bytes */
	bool pin_cpus;          /* sched_setaffinity is refused: it would undo the limit `cpus` */
};
struct seccomp_program {
	struct sock_filter *insns;
	size_t count;
	unsigned allowed, shown, refused; /* calls: for the start event's words */
};
/* seccomp_compile: in the parent; as a binary tree over ranges of numbers. */
int seccomp_compile(const struct seccomp_want *want, struct seccomp_program *ret, struct err *e);
void seccomp_program_done(struct seccomp_program *p);
/* seccomp_apply: in the child, after no_new_privs. Irreversible. *ret_listener_fd: -1 where nothing is watched.
 * -EBUSY: a listener stands already (belljar inside belljar). With WAIT_KILLABLE_RECV where the kernel has it (5.19). */
int seccomp_apply(const struct seccomp_program *p, bool listener, int *ret_listener_fd, struct err *e);
/*
 * seccomp_explain: why the filter put a call to the supervisor, from the same rules that the filter was made of. What
 * is decided alone by the filter has watch 0. Borrows: rule and means belong to the policy or are static.
 */
struct seccomp_reason {
	enum seccomp_watch watch;   /* one bit */
	enum syscall_action action; /* WATCH_DENIED: to be answered EPERM (refuse) or ENOSYS (absent) */
	bool never_kill;            /* WATCH_DENIED, for a limit's sake: no offence, whatever on_denied says */
	bool by_value;              /* WATCH_DENIED: what is asked for lies in registers alone, so a person may allow it */
	const char *rule;           /* WATCH_DENIED: "default:debug", "families"; "": the policy does not know the call */
	const char *means;          /* in words for a person; NULL: none known */
};
void seccomp_explain(const struct seccomp_want *want, int nr, uint32_t arch, const uint64_t arg[6],
		     struct seccomp_reason *ret);
const char *seccomp_call_name(int nr, uint32_t arch); /* Borrows a static string; NULL: no name known */
int seccomp_call_number(const char *name);            /* on this machine's own architecture; -ENOENT */

/* ---- cgroup.c: the control groups of one run, whichever kind this machine has ---- */

enum cgroup_kind { CGROUP_NONE, CGROUP_V2, CGROUP_V2_SCOPE /* the user's systemd */, CGROUP_V1 };
enum cgroup_controller { CG_MEMORY = 1, CG_PIDS = 2, CG_CPU = 4, CG_FREEZE = 8 };
/*
 * cgroup_create: a group of this run in the best place that may be written, limits set and read back.
 * -ENOTSUP where there is none to be had, with the reason (it is no failure: the rootless ladder follows); another
 * -errno when something broke half way (and is undone). Gives: *ret, ended by cgroup_remove.
 */
int cgroup_create(const char *run_id, const struct policy *p, struct cgroup **ret, struct err *e);
enum cgroup_kind cgroup_kind(const struct cgroup *c);
unsigned cgroup_controllers(const struct cgroup *c);     /* those that this run really has: bits of cgroup_controller */
/* cgroup_clone_fd: for CLONE_INTO_CGROUP, or -1 (v1). cgroup_enter: by the child itself; v1 writes 0 to each `tasks`
 * (single-threaded: no lock is taken), v2 does nothing. */
int cgroup_clone_fd(const struct cgroup *c);
int cgroup_enter(const struct cgroup *c, struct err *e);
size_t cgroup_child_fds(const struct cgroup *c, int *fds); /* at most CGROUP_CHILD_FDS that `enter` needs */
#define CGROUP_CHILD_FDS 5
/* The limit as the kernel says that it holds, and where: "cgroup v1 memory.limit_in_bytes". UNKNOWN where not set. */
int cgroup_limit(const struct cgroup *c, enum cgroup_controller which, uint64_t *ret_value, const char **ret_mechanism);
struct cgroup_reading { /* UINT64_MAX: this kernel does not say */
	uint64_t memory, memory_peak, oom_kills, memory_failures; /* failures: times the limit was met */
	uint64_t memory_thrashed; /* pages of files that were dropped, and needed again at once */
	uint64_t tasks, tasks_peak, fork_failures;
	uint64_t cpu_ns, throttled_ns;
};
void cgroup_read(const struct cgroup *c, struct cgroup_reading *ret);
int cgroup_freeze(const struct cgroup *c, bool on, struct err *e);
/* cgroup_kill: all in it, by cgroup.kill, or by freezing, SIGKILL to each and thawing, until it is empty. Returns how
 * many are left (0). cgroup_remove: kills, removes the folders, frees; accepts NULL, returns NULL. */
int cgroup_kill(const struct cgroup *c);
struct cgroup *cgroup_remove(struct cgroup *c);
/* cgroup_sweep: groups of this user's runs whose supervisor is dead are killed and removed. Returns how many. */
int cgroup_sweep(void);
/* cgroup_sweep_run: those of one run, whose supervisor is known to be dead. */
void cgroup_sweep_run(const char *run_id);

/* ---- family.c: the processes that descend from one ---- */

/* family_list: all of them, children of each thread included, `root` not; family_children: those of the first level.
 * Gives: *ret. Returns how many. */
size_t family_list(pid_t root, pid_t **ret);
size_t family_children(pid_t parent, pid_t **ret);
/* family_kill: SIGKILL to each that is seen to descend from `root` still, but those spared. Returns how many were hit. */
size_t family_kill(pid_t root, const pid_t *spared, size_t spared_count);

/* ---- landlock.c ---- */

struct landlock_rules {
	char **read, **write; /* folders; read implies execute. Both NULL: files are not its business */
	char **control;       /* folders of devices that may be steered by ioctl (ABI 5) */
	bool tcp;                     /* refuse TCP bind and connect */
	bool keep_sockets, keep_signals; /* abstract sockets and signals reach nothing outside (ABI 6) */
};
int landlock_abi(void); /* 0: the kernel has none */
/* landlock_apply: after no_new_privs, before seccomp. 0, or -EOPNOTSUPP where the kernel lacks it. See landlock(7). */
int landlock_apply(const struct landlock_rules *r, struct err *e);

/* ---- privs.c (the only user of libcap) and ns.c ---- */

struct rlimit_want { int resource; rlim_t soft, hard; };

/* ---- confine.c: one process confining itself ---- */

struct confinement {
	/* who: inside ids; the maps are written by the parent (confine_map_ids) while the child waits */
	unsigned clone_flags;             /* namespaces that clone3 made; 0 at subprocess */
	uid_t host_uid, inside_uid;       /* inside, uid and gid are alike */
	gid_t host_gid;
	const struct cgroup *cgroup;      /* NULL: none */
	const struct mount_plan *mounts;  /* NULL: the host's own view */
	const char *hostname;
	const char *cwd;
	const struct landlock_rules *landlock; /* NULL: not used */
	const struct rlimit_want *rlimits;
	size_t rlimit_count;
	uint32_t cpu_count;               /* affinity to that many cores; 0: not used */
	const struct seccomp_program *filter;
	bool listener;
	bool count_tasks;                 /* process 1 counts the run's tasks when the target ends, as no group does */
	char **argv, **env;               /* argv[0] is the path to execute */
	int in_fd, out_fd, err_fd;        /* become 0, 1, 2 */
	bool terminal;                    /* they are one of its own, which becomes its controlling one */
	const int *more_fds;              /* become 3, 4, …; sync_fd lies above them all */
	size_t more_count;
	bool small_pages;                 /* no transparent huge ones, in what it executes neither */
	int sync_fd;                      /* the child's end of the start socket; see child.c */
};

/*
 * confine_self: the order of confinement. Never returns but with an error, before anything untrusted has run.
 * Runs: in the child of clone3, single-threaded.
 */
int confine_self(const struct confinement *c, struct err *e);
/* confine_map_ids: by the parent, for a child in a new user namespace. See user_namespaces(7). */
int confine_map_ids(pid_t child, uint32_t inside, uid_t host_uid, gid_t host_gid, struct err *e);

/* Steps of it that may also be tried alone, each irreversible for the process that takes it. See confine_self(). */
int no_new_privs(struct err *e);
int keyring_own(struct err *e);
int ns_cgroup(struct err *e);
int ns_loopback_up(struct err *e);
int ns_counts(struct err *e); /* in a new user namespace with a /proc of its own */

/*
 * rlimit_cpu_used: what the kernel compares with RLIMIT_CPU for a process: whole ticks. On a busy machine that is other
 * than what was run, which getrusage(2) tells. Of a child that ended too, until it is waited for; else UINT64_MAX.
 */
uint64_t rlimit_cpu_used(pid_t pid);

/* What travels over the start socket, child to parent, each in one message. */
enum sync_type { SYNC_READY = 1, SYNC_LISTENER, SYNC_ERROR, SYNC_EXIT };
struct sync_msg {
	enum sync_type type;
	int32_t value;          /* listener: its number in the child; exit: the wait status */
	uint64_t tasks;         /* exit: of the run when its target ended, itself not counted, or UINT64_MAX */
	uint64_t rlimit_cpu_ns; /* exit: see rlimit_cpu_used() */
	uint64_t written;       /* exit: bytes written by the whole tree, or UINT64_MAX */
	struct err err;
};
