/* SPDX-License-Identifier: MIT */
/*
 * The table of probes, in the order in which they are tried and shown. To add one: a need, a function, a row.
 */
#include "core/doctor/probe.h"

#include <sched.h>

/* clang-format off */
const struct probe probes[] = {
	{ NEED_CLONE3,           NEED_MAX,           probe_clone3,          0 },
	{ NEED_USERNS,           NEED_CLONE3,        probe_userns,          0 },
	{ NEED_NAMESPACES,       NEED_USERNS,        probe_namespaces,      0 },
	{ NEED_NETNS,            NEED_USERNS,        probe_netns,           0 },
	{ NEED_MOUNTS,           NEED_USERNS,        probe_mounts,          0 },
	{ NEED_PROC,             NEED_MOUNTS,        probe_proc,            0 },
	{ NEED_OVERLAY,          NEED_MOUNTS,        probe_overlay,         0 },
	{ NEED_CGROUP_MEMORY,    NEED_MAX,           probe_cgroup,          CG_MEMORY },
	{ NEED_CGROUP_PROCESSES, NEED_MAX,           probe_cgroup,          CG_PIDS },
	{ NEED_CGROUP_CPU,       NEED_MAX,           probe_cgroup,          CG_CPU },
	{ NEED_NO_NEW_PRIVS,     NEED_MAX,           probe_no_new_privs,    0 },
	{ NEED_FILTER,           NEED_NO_NEW_PRIVS,  probe_filter,          0 },
	{ NEED_NOTIFICATIONS,    NEED_FILTER,        probe_notifications,   0 },
	{ NEED_ONE_LISTENER,     NEED_NOTIFICATIONS, probe_one_listener,    0 },
	{ NEED_TAKE_FD,          NEED_CLONE3,        probe_take_fd,         0 },
	{ NEED_TAKE_FD_USERNS,   NEED_USERNS,        probe_take_fd,         CLONE_NEWUSER },
	{ NEED_READ_MEMORY,      NEED_CLONE3,        probe_read_memory,     0 },
	{ NEED_WAIT_KILLABLE,    NEED_ONE_LISTENER,  probe_wait_killable,   0 },
	{ NEED_SYNC_WAKE_UP,     NEED_ONE_LISTENER,  probe_sync_wake_up,    0 },
	{ NEED_ADD_FD,           NEED_ONE_LISTENER,  probe_add_fd,          0 },
	{ NEED_NETLESS,          NEED_MAX,           probe_netless,         0 },
	{ NEED_LANDLOCK,         NEED_NO_NEW_PRIVS,  probe_landlock,        0 },
	{ NEED_LANDLOCK_SCOPES,  NEED_LANDLOCK,      probe_landlock_scopes, 0 },
	{ NEED_KEYRING,          NEED_MAX,           probe_keyring,         0 },
	{ NEED_TEMP,             NEED_MAX,           probe_temp,            0 },
	{ NEED_TEMP_EXEC,        NEED_TEMP,          probe_temp_exec,       0 },
	{ NEED_STATE,            NEED_MAX,           probe_folder,          XDG_STATE },
	{ NEED_STATE_ROOM,       NEED_STATE,         probe_room,            XDG_STATE },
	{ NEED_PYTHON,           NEED_MAX,           probe_python,          0 },
	{ NEED_QEMU,             NEED_MAX,           probe_qemu,            0 },
	{ NEED_EROFS_TOOLS,      NEED_MAX,           probe_erofs_tools,     0 },
	{ NEED_GUEST_PARTS,      NEED_MAX,           probe_guest_parts,     0 },
	{ NEED_CACHE,            NEED_MAX,           probe_folder,          XDG_CACHE },
	{ NEED_CACHE_ROOM,       NEED_CACHE,         probe_room,            XDG_CACHE },
	{ NEED_GUEST_MEMORY,     NEED_MAX,           probe_guest_memory,    0 },
	{ NEED_KVM,              NEED_MAX,           probe_kvm,             0 },
	{ NEED_MAX,              NEED_MAX,           NULL,                  0 },
};
