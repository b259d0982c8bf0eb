/* SPDX-License-Identifier: MIT */
/*
 * The table of what a run may need.
 */
#include "core/model/need.h"

#include "core/base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NEWER_KERNEL(version) "boot a kernel since Linux " version
#define NO_VIEW               "no view of its own: presets of level `namespaces` cannot run"
#define NO_MICROVM            "presets of level `microvm` cannot run"
#define NOTHING_STARTS        "no run can start"

/* clang-format off */
const struct need_kind need_kinds[NEED_MAX] = {
	[NEED_CLONE3] = { "clone3-missing", "clone3(2)", NOTHING_STARTS, NEWER_KERNEL("5.3") },
	[NEED_USERNS] = { "userns-denied", "User namespaces", NO_VIEW,
		"run belljar as root, or choose a preset of level `subprocess`" },
	[NEED_NAMESPACES] = { "namespaces-denied", "pid, ipc, uts, cgroup namespaces", NO_VIEW,
		"use a kernel built with CONFIG_PID_NS, CONFIG_IPC_NS, CONFIG_UTS_NS and CONFIG_CGROUPS" },
	[NEED_NETNS] = { "netns-denied", "Network namespaces, loopback", NO_VIEW,
		"use a kernel built with CONFIG_NET_NS" },
	[NEED_MOUNTS] = { "mounts-denied", "Mounts, read-only, pivot_root", NO_VIEW,
		NEWER_KERNEL("5.12") " (mount_setattr)" },
	[NEED_PROC] = { "proc-covered", "A /proc of its own", NO_VIEW,
		"take away what is mounted below /proc (findmnt -R /proc), or run belljar outside of the container" },
	[NEED_OVERLAY] = { "overlay-missing", "Overlay for --project",
		"--project works on a copy instead of a copy-on-write view", "sudo modprobe overlay (Linux 5.11)" },
	[NEED_CGROUP_MEMORY] = { "cgroup-memory", "Control group: memory",
		"too large mappings are refused and the tree is sampled: memory can overshoot",
		"run belljar as root, or systemd-run --user --scope -p Delegate=yes belljar" },
	[NEED_CGROUP_PROCESSES] = { "cgroup-processes", "Control group: processes",
		"processes are held by RLIMIT_NPROC (`namespaces`) or counted by the supervisor (`subprocess`)",
		"run belljar as root, or systemd-run --user --scope -p Delegate=yes belljar" },
	[NEED_CGROUP_CPU] = { "cgroup-cpu", "Control group: cpu",
		"whole cores are held by affinity; parts of one (cpus = 0.5) by nothing",
		"run belljar as root, or delegate cpu: Delegate=cpu memory pids in "
		"/etc/systemd/system/user@.service.d/delegate.conf" },
	[NEED_NO_NEW_PRIVS] = { "no-new-privs", "no_new_privs", NOTHING_STARTS, NEWER_KERNEL("3.5") },
	[NEED_FILTER] = { "seccomp-denied", "System-call filter", NOTHING_STARTS,
		"use a kernel built with CONFIG_SECCOMP_FILTER" },
	[NEED_NOTIFICATIONS] = { "listener-missing", "Notification of calls", NOTHING_STARTS, NEWER_KERNEL("5.5") },
	[NEED_ONE_LISTENER] = { "listener-taken", "No other listener above us", NOTHING_STARTS,
		"run belljar outside of the sandbox that watches this shell: one listener is all a process can have" },
	[NEED_TAKE_FD] = { "take-fd-denied", "Taking a child's descriptor", "runs that stay in our user namespace cannot start",
		NEWER_KERNEL("5.6") },
	[NEED_TAKE_FD_USERNS] = { "take-fd-userns-denied", "Taking it out of a namespace", NO_VIEW,
		NEWER_KERNEL("5.6") },
	[NEED_READ_MEMORY] = { "read-memory-denied", "Reading a child's memory",
		"names of files, addresses and arguments of calls are not shown", "use a kernel built with CONFIG_CROSS_MEMORY_ATTACH" },
	[NEED_WAIT_KILLABLE] = { "wait-killable-missing", "Notification: WAIT_KILLABLE",
		"a signal in a watched call makes it begin anew: programs with fast timers may stand still", NEWER_KERNEL("5.19") },
	[NEED_SYNC_WAKE_UP] = { "sync-wake-up-missing", "Notification: SYNC_WAKE_UP",
		"each watched call takes longer", NEWER_KERNEL("6.6") },
	[NEED_ADD_FD] = { "add-fd-missing", "Notification: ADDFD",
		"sockets are refused at level `subprocess`, and their addresses not seen", NEWER_KERNEL("5.14") },
	[NEED_NETLESS] = { "netless-missing", "Sockets without a network",
		"sockets are refused at level `subprocess`, and their addresses not seen",
		"the same as for user namespaces" },
	[NEED_LANDLOCK] = { "landlock-missing", "Landlock",
		"one wall less behind mounts and ids", "boot a kernel since Linux 5.13 with landlock in lsm=" },
	[NEED_LANDLOCK_SCOPES] = { "landlock-scopes", "Landlock: signals, sockets",
		"at level `subprocess` other processes of the target's user can be signalled", NEWER_KERNEL("6.12") },
	[NEED_KEYRING] = { "keyring-denied", "A session keyring of its own", NOTHING_STARTS,
		"sudo sysctl kernel.keys.maxkeys=1000" },
	[NEED_TEMP] = { "temp-unwritable", "Temporary folder", "runs at level `subprocess` have no working folder",
		"set TMPDIR to a folder of your own" },
	[NEED_TEMP_EXEC] = { "temp-noexec", "Programs in the temporary folder",
		"what a run compiles or unpacks at level `subprocess` cannot be executed",
		"set TMPDIR to a folder that is not mounted noexec" },
	[NEED_STATE] = { "state-unwritable", "Folder of recordings", "no run is recorded, and so none starts",
		"set XDG_STATE_HOME to a folder of your own" },
	[NEED_STATE_ROOM] = { "state-full", "Room for recordings", "a long recording may end early",
		"make room, or set XDG_STATE_HOME to a folder on another disk" },
	[NEED_PYTHON] = { "python-elsewhere", "Python 3 where a run sees it",
		"runs do not have the Python that your shell has", "install python3 in /usr" },
	[NEED_QEMU] = { "qemu-missing", "QEMU", NO_MICROVM,
		"install the package qemu-system-x86 (Debian, Ubuntu), qemu-system-x86-core (Fedora)" },
	[NEED_EROFS_TOOLS] = { "erofs-tools-missing", "mkfs.erofs, for guest disks", NO_MICROVM,
		"install the package erofs-utils" },
	[NEED_GUEST_PARTS] = { "guest-parts-missing", "Kernel and agent of the guest", NO_MICROVM,
		"say `make deps && make` where belljar is built" },
	[NEED_CACHE] = { "cache-unwritable", "Folder of images, snapshots", NO_MICROVM,
		"set XDG_CACHE_HOME to a folder of your own" },
	[NEED_CACHE_ROOM] = { "cache-full", "Room for images, snapshots",
		"a microVM's first start may fail, and nothing is kept for the next one",
		"make room, or set XDG_CACHE_HOME to a folder on another disk" },
	[NEED_GUEST_MEMORY] = { "guest-memory-short", "Memory for a microVM",
		"a microVM may be ended by the kernel for want of memory",
		"end what takes memory, or set a smaller limit of memory in the preset" },
	[NEED_KVM] = { "kvm-unusable", "KVM",
		"microVMs are emulated: code runs about 10 times slower, and QEMU promises no security for emulation",
		"use a machine whose processor shows vmx or svm, with /dev/kvm" },
	[NEED_START] = { "start-failed", "A start, up to its exec", "these presets cannot run",
		"what is missing above, or what the fact says" },
};
/* clang-format on */

int need_set(struct err *e, enum need need, int code, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, fmt);
	(void) vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(e, code, "%s: %s", need_kinds[need].code, text);
}

int need_in(struct err *e, enum need need)
{
	return err_in(e, "%s", need_kinds[need].code);
}

enum need need_of(const struct err *e)
{
	size_t len = strcspn(e->text, ":");
	for (int n = 0; n < NEED_MAX; n++)
		if (strlen(need_kinds[n].code) == len && memcmp(need_kinds[n].code, e->text, len) == 0)
			return (enum need) n;
	return NEED_MAX;
}
