/* SPDX-License-Identifier: MIT */
/*
 * Facts of a machine and the table of causes. A cause is looked for after something was refused, never instead of trying
 * it: a setting that could forbid a thing is no proof that it does.
 */
#include "core/backend/cause.h"

#include "core/backend/machine.h"
#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOUNTS_MAX (1u << 20)

/* ---- facts ---- */

static bool fact_read(const struct machine *m, const char *path, char *buf, size_t size)
{
	FREE char *whole = xprintf("%s%s", m->root, path);
	return file_read_small(AT_FDCWD, whole, buf, size) >= 0;
}

static bool fact_there(const struct machine *m, const char *path)
{
	FREE char *whole = xprintf("%s%s", m->root, path);
	return access(whole, F_OK) == 0;
}

static void read_status(struct machine *m)
{
	char text[4096], map[256];
	unsigned inside, outside, count;

	if (!fact_read(m, "/proc/self/status", text, sizeof(text)))
		return;
	const char *uid = strstr(text, "\nUid:"), *filter = strstr(text, "\nSeccomp:");
	m->uid = uid ? (uid_t) strtoul(uid + 5, NULL, 10) : 0;
	m->filtered = filter && strtoul(filter + 9, NULL, 10) == 2;
	m->host_root = m->uid == 0 && fact_read(m, "/proc/self/uid_map", map, sizeof(map)) &&
		       sscanf(map, "%u %u %u", &inside, &outside, &count) == 3 && outside == 0 &&
		       count > 65536;
}

static bool environ_names(const char *env, size_t len, const char *name)
{
	size_t n = strlen(name);
	for (const char *p = env; p < env + len; p += strlen(p) + 1)
		if (strncmp(p, name, n) == 0 && p[n] == '=')
			return true;
	return false;
}

static void read_places(struct machine *m)
{
	FREE char *path = xprintf("%s/proc/self/environ", m->root);
	FREE char *env = NULL;
	char kernel[128];
	size_t len = 0;
	struct err ignored;

	(void) file_read(AT_FDCWD, path, 1 << 20, &env, &len, &ignored);
	if (env && environ_names(env, len, "KUBERNETES_SERVICE_HOST"))
		m->places |= PLACE_KUBERNETES;
	if (env && environ_names(env, len, "BELLJAR_RUN"))
		m->places |= PLACE_BELLJAR;
	if (fact_there(m, "/.dockerenv"))
		m->places |= PLACE_DOCKER;
	if (fact_there(m, "/run/.containerenv"))
		m->places |= PLACE_PODMAN;
	if (fact_read(m, "/proc/sys/kernel/osrelease", kernel, sizeof(kernel)) && strstr(kernel, "icrosoft"))
		m->places |= PLACE_WSL;
}

/* Mounts on folders that are always empty hide nothing: the kernel passes over them too. */
static bool hides_proc(const char *point)
{
	return str_starts(point, "/proc/") && strcmp(point, "/proc/sys/fs/binfmt_misc") != 0 &&
	       strcmp(point, "/proc/fs/nfsd") != 0;
}

/* "36 35 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw" */
static void add_mount(struct machine *m, char *line)
{
	char *tail = strstr(line, " - ");
	char *word[6];
	for (size_t k = 0; k < ARRAY_LEN(word); k++)
		if (!(word[k] = strsep(&line, " ")))
			return;
	if (strcmp(word[4], "/") == 0)
		m->chrooted = false;
	if (!m->proc_cover[0] && hides_proc(word[4]))
		snprintf(m->proc_cover, sizeof(m->proc_cover), "%s", word[4]);
	if (tail && str_starts(tail + 3, "cgroup") &&
	    (strcmp(word[5], "ro") == 0 || str_starts(word[5], "ro,")))
		m->cgroups_read_only = true;
}

static void read_mounts(struct machine *m)
{
	FREE char *path = xprintf("%s/proc/self/mountinfo", m->root);
	FREE char *text = NULL;
	struct err ignored;

	if (file_read(AT_FDCWD, path, MOUNTS_MAX, &text, NULL, &ignored) < 0)
		return;
	m->chrooted = true; /* until the mount of "/" is found */
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
		add_mount(m, line);
}

static void read_cgroups(struct machine *m)
{
	char text[4096];
	bool v1 = false, v2 = false;

	if (!fact_read(m, "/proc/self/cgroup", text, sizeof(text)))
		return;
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		v2 |= str_starts(line, "0::");
		const char *list = strchr(line, ':');
		v1 |= list && (str_starts(list, ":memory:") || str_starts(list, ":pids:"));
	}
	m->cgroups = v1 && v2 ? LAYOUT_HYBRID : v1 ? LAYOUT_V1 : v2 ? LAYOUT_V2 : LAYOUT_NONE;
}

void machine_read(const char *root, struct machine *ret)
{
	*ret = (struct machine){ .root = root };
	read_status(ret);
	read_places(ret);
	read_mounts(ret);
	read_cgroups(ret);
}

const char *machine_place(const struct machine *m)
{
	return m->places & PLACE_BELLJAR      ? "belljar"
	       : m->places & PLACE_KUBERNETES ? "kubernetes"
	       : m->places & PLACE_PODMAN     ? "podman"
	       : m->places & PLACE_DOCKER     ? "docker"
	       : m->places & PLACE_WSL        ? "wsl"
					      : "";
}

/* ---- causes ---- */

static bool is_ordinary(const struct machine *m)
{
	return !m->host_root;
}

static bool is_filtered(const struct machine *m)
{
	return m->filtered;
}

static bool is_chrooted(const struct machine *m)
{
	return m->chrooted;
}

static bool proc_is_covered(const struct machine *m)
{
	return m->proc_cover[0] != 0;
}

static bool cgroups_are_read_only(const struct machine *m)
{
	return m->cgroups_read_only;
}

static bool cgroups_are_missing(const struct machine *m)
{
	return m->cgroups == LAYOUT_NONE;
}

static bool cgroups_are_v1(const struct machine *m)
{
	return m->cgroups == LAYOUT_V1 && !m->host_root;
}

static bool cgroups_are_hybrid(const struct machine *m)
{
	return m->cgroups == LAYOUT_HYBRID && !m->host_root;
}

static bool cgroups_are_others(const struct machine *m)
{
	return m->cgroups == LAYOUT_V2 && !m->host_root;
}

#define BIT(need) (UINT64_C(1) << (need))
#define MICROVM                                                                             \
	(BIT(NEED_QEMU) | BIT(NEED_EROFS_TOOLS) | BIT(NEED_GUEST_PARTS) | BIT(NEED_CACHE) | \
	 BIT(NEED_CACHE_ROOM) | BIT(NEED_GUEST_MEMORY) | BIT(NEED_KVM))
#define PLACES                                                                                              \
	(BIT(NEED_TEMP) | BIT(NEED_TEMP_EXEC) | BIT(NEED_STATE) | BIT(NEED_STATE_ROOM) | BIT(NEED_PYTHON) | \
	 BIT(NEED_START) | MICROVM)
#define CALLS   (~(CGROUPS | PLACES)) /* what a filter may refuse */
#define USERNS  (BIT(NEED_USERNS) | BIT(NEED_NETLESS))
#define SPACES  (USERNS | BIT(NEED_NAMESPACES) | BIT(NEED_NETNS) | BIT(NEED_MOUNTS) | BIT(NEED_PROC))
#define CGROUPS (BIT(NEED_CGROUP_MEMORY) | BIT(NEED_CGROUP_PROCESSES) | BIT(NEED_CGROUP_CPU))
#define ATTACH  (BIT(NEED_TAKE_FD) | BIT(NEED_TAKE_FD_USERNS) | BIT(NEED_READ_MEMORY))
#define SYS     "/proc/sys/"
#define DELEGATED                                                                                  \
	"systemd-run --user --scope -p Delegate=yes belljar …, from a login of this user's own " \
	"(loginctl enable-linger; ssh or a console, not su), or run belljar as root"
#define UNIFIED "boot with systemd.unified_cgroup_hierarchy=1, or run belljar as root"

/* clang-format off */
/* The first row that fits is told. Every test of a row that is there must hold. */
static const struct rule {
	uint64_t needs;
	int error;               /* 0: whatever was answered */
	unsigned places;         /* one of them; 0: anywhere */
	bool (*holds)(const struct machine *m);
	const char *file, *value; /* NULL value: only told */
	const char *fact;        /* NULL: what the file says */
	const char *remedy;
} rules[] = {
	/* EBUSY is the listener's own word; inside a run everything else is refused by that run. */
	{ .needs = CALLS, .places = PLACE_BELLJAR, .holds = is_filtered, .fact = "this shell is inside a run of belljar",
	  .remedy = "run belljar outside of it: runs are not nested" },

	{ .needs = SPACES, .error = ENOSPC, .file = SYS "user/max_user_namespaces", .value = "0",
	  .remedy = "sudo sysctl user.max_user_namespaces=15000" },
	{ .needs = SPACES, .error = ENOSPC, .file = SYS "user/max_net_namespaces", .value = "0",
	  .remedy = "sudo sysctl user.max_net_namespaces=15000" },
	{ .needs = SPACES, .error = ENOSPC, .file = SYS "user/max_mnt_namespaces", .value = "0",
	  .remedy = "sudo sysctl user.max_mnt_namespaces=15000" },
	{ .needs = SPACES, .error = ENOSPC, .file = SYS "user/max_pid_namespaces", .value = "0",
	  .remedy = "sudo sysctl user.max_pid_namespaces=15000" },
	{ .needs = SPACES, .error = ENOSPC, .file = SYS "user/max_ipc_namespaces", .value = "0",
	  .remedy = "sudo sysctl user.max_ipc_namespaces=15000" },
	{ .needs = SPACES, .error = ENOSPC, .file = SYS "user/max_uts_namespaces", .value = "0",
	  .remedy = "sudo sysctl user.max_uts_namespaces=15000" },
	{ .needs = SPACES, .error = ENOSPC, .file = SYS "user/max_cgroup_namespaces", .value = "0",
	  .remedy = "sudo sysctl user.max_cgroup_namespaces=15000" },
	{ .needs = SPACES, .error = ENOSPC, .file = SYS "user/max_user_namespaces",
	  .fact = "user.max_user_namespaces or another user.max_*_namespaces is used up, here or in an outer namespace",
	  .remedy = "sysctl user | grep namespaces, and raise the one that is used up" },

	{ .needs = SPACES, .holds = is_ordinary, .file = SYS "kernel/unprivileged_userns_clone", .value = "0",
	  .remedy = "sudo sysctl kernel.unprivileged_userns_clone=1" },
	{ .needs = SPACES, .holds = is_ordinary, .file = SYS "kernel/apparmor_restrict_unprivileged_userns", .value = "1",
	  .remedy = "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or for belljar alone a profile in "
	  "/etc/apparmor.d: profile belljar /usr/local/bin/belljar flags=(unconfined) { userns, }" },
	{ .needs = SPACES, .error = EPERM, .holds = is_chrooted, .fact = "this shell is in a chroot",
	  .remedy = "leave the chroot: the kernel makes no user namespace in one" },

	{ .needs = BIT(NEED_PROC), .error = EPERM, .places = PLACE_KUBERNETES, .holds = proc_is_covered,
	  .remedy = "in the pod: hostUsers: false, and securityContext: { procMount: Unmasked }" },
	{ .needs = BIT(NEED_PROC), .error = EPERM, .places = PLACE_PODMAN, .holds = proc_is_covered,
	  .remedy = "podman run --security-opt unmask=ALL" },
	{ .needs = BIT(NEED_PROC), .error = EPERM, .places = PLACE_DOCKER, .holds = proc_is_covered,
	  .remedy = "docker run --security-opt systempaths=unconfined" },
	{ .needs = BIT(NEED_PROC), .error = EPERM, .holds = proc_is_covered,
	  .remedy = "take away what is mounted below /proc (findmnt -R /proc); in Docker: "
	  "docker run --security-opt systempaths=unconfined" },

	{ .needs = BIT(NEED_MOUNTS) | BIT(NEED_PROC), .file = "/proc/self/attr/current", .value = "docker-default (enforce)",
	  .fact = "the AppArmor profile docker-default refuses mounts",
	  .remedy = "docker run --security-opt apparmor=unconfined" },

	{ .needs = CGROUPS, .places = PLACE_DOCKER, .holds = cgroups_are_read_only, .fact = "control groups are mounted read-only",
	  .remedy = "docker run --cgroupns=private --security-opt writable-cgroups=true (Docker 28)" },
	{ .needs = CGROUPS, .places = PLACE_PODMAN, .holds = cgroups_are_read_only, .fact = "control groups are mounted read-only",
	  .remedy = "podman run --security-opt unmask=/sys/fs/cgroup" },
	{ .needs = CGROUPS, .holds = cgroups_are_read_only, .fact = "control groups are mounted read-only",
	  .remedy = "run belljar where /sys/fs/cgroup may be written: a privileged container, or outside of it" },
	{ .needs = CGROUPS, .holds = cgroups_are_missing, .fact = "this process is in no control group",
	  .remedy = "use a kernel built with CONFIG_MEMCG and CONFIG_CGROUP_PIDS" },
	{ .needs = CGROUPS, .holds = cgroups_are_hybrid, .fact = "hybrid: memory and pids are in version 1, root's alone",
	  .remedy = UNIFIED },
	{ .needs = CGROUPS, .holds = cgroups_are_v1, .fact = "memory and pids are in version 1, root's alone", .remedy = UNIFIED },
	{ .needs = CGROUPS, .places = PLACE_WSL, .holds = cgroups_are_others, .fact = "version 2, not delegated to this user",
	  .remedy = "[boot] systemd=true in /etc/wsl.conf and wsl --shutdown; then "
	  "systemd-run --user --scope -p Delegate=yes belljar" },
	{ .needs = BIT(NEED_CGROUP_MEMORY) | BIT(NEED_CGROUP_PROCESSES), .holds = cgroups_are_others,
	  .fact = "version 2, not delegated to this user", .remedy = DELEGATED },

	{ .needs = ATTACH, .file = SYS "kernel/yama/ptrace_scope", .value = "3",
	  .remedy = "kernel.yama.ptrace_scope = 1 in /etc/sysctl.d and a boot: 3 stays until then" },
	{ .needs = ATTACH, .holds = is_ordinary, .file = SYS "kernel/yama/ptrace_scope", .value = "2",
	  .remedy = "sudo sysctl kernel.yama.ptrace_scope=1" },

	/* A container's filter answers EPERM, or ENOSYS for what it does not know. */
	{ .needs = CALLS, .places = PLACE_KUBERNETES, .holds = is_filtered, .fact = "the pod's system-call filter",
	  .remedy = "in the pod: securityContext: { seccompProfile: { type: Unconfined } }" },
	{ .needs = CALLS, .places = PLACE_PODMAN, .holds = is_filtered, .fact = "the container's system-call filter",
	  .remedy = "podman run --security-opt seccomp=unconfined" },
	{ .needs = CALLS, .places = PLACE_DOCKER, .holds = is_filtered, .fact = "the container's system-call filter",
	  .remedy = "docker run --security-opt seccomp=unconfined" },
	{ .needs = CALLS, .holds = is_filtered, .fact = "a system-call filter stands around this shell",
	  .remedy = "run belljar outside of the sandbox that has put it there; in Docker: "
	  "docker run --security-opt seccomp=unconfined" },
};
/* clang-format on */

/* Only what the kernel, a setting or a filter forbids is explained by one; of control groups it is the last word. */
static bool is_refusal(enum need need, int error)
{
	return error == EPERM || error == EACCES || error == ENOSYS || error == ENOSPC || error == EUSERS ||
	       (error == ENOTSUP && (BIT(need) & CGROUPS));
}

static bool rule_fits(const struct rule *r, const struct machine *m, enum need need, int error,
		      char value[64])
{
	if (!(r->needs & BIT(need)) || (r->error && r->error != error) ||
	    (r->places && !(r->places & m->places)) || (r->holds && !r->holds(m)))
		return false;
	if (!r->file)
		return true;
	return fact_read(m, r->file, value, 64) && (!r->value || strcmp(value, r->value) == 0);
}

/* "/proc/sys/user/max_user_namespaces" as sysctl(8) calls it. */
static void say_setting(const char *file, const char *value, char *out, size_t size)
{
	snprintf(out, size, "%s is %s", file + (str_starts(file, SYS) ? sizeof(SYS) - 1 : 0), value);
	for (char *p = out; str_starts(file, SYS) && *p && *p != ' '; p++)
		if (*p == '/')
			*p = '.';
}

/* Where no rule knows better. Each thing that speaks against KVM has one of its own. */
static const char *remedy_of(const struct machine *m, enum need need)
{
	const char *special = need == NEED_KVM ? kvm_remedy(m->root) : NULL;
	return special ? special : need_kinds[need].remedy;
}

void cause_find(const struct machine *m, enum need need, int error, struct cause *ret)
{
	char value[64];

	*ret = (struct cause){ .remedy = remedy_of(m, need) };
	for (size_t k = 0; is_refusal(need, error) && k < ARRAY_LEN(rules); k++) {
		const struct rule *r = &rules[k];
		if (!rule_fits(r, m, need, error, value))
			continue;
		ret->remedy = r->remedy;
		if (r->fact)
			snprintf(ret->fact, sizeof(ret->fact), "%s", r->fact);
		else if (r->file)
			say_setting(r->file, value, ret->fact, sizeof(ret->fact));
		else
			snprintf(ret->fact, sizeof(ret->fact), "%s is mounted over", m->proc_cover);
		return;
	}
}

int need_refuse(struct err *e, enum need need)
{
	struct machine here;
	struct cause why;
	struct err inner = *e;

	machine_read("", &here);
	cause_find(&here, need, inner.code, &why);
	bool coded = need_of(&inner) == need;
	return err_say(e, inner.code, "%s%s%.300s%s%s; %s", coded ? "" : need_kinds[need].code,
		       coded ? "" : ": ", inner.text, why.fact[0] ? "; " : "", why.fact, why.remedy);
}

int need_complete(struct err *e)
{
	enum need need = need_of(e);
	return need == NEED_MAX ? -e->code : need_refuse(e, need);
}
