/* SPDX-License-Identifier: MIT */
/*
 * The doctor's decisions, on facts as machines of many kinds have them (tests/facts/doctor): where this process is, why a
 * thing was refused there, what helps, and which presets it strikes. And a probe's time limit.
 */
#include "core/base/base.h"
#include "core/doctor/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void at(const char *name, struct machine *ret)
{
	static char root[PATH_MAX];
	snprintf(root, sizeof(root), "tests/facts/doctor/%s", name);
	assert_int_equal(access(root, F_OK), 0);
	machine_read(root, ret);
}

/* ---- where we are ---- */

static void test_places(void **state)
{
	static const struct {
		const char *machine, *place;
		enum cgroup_layout layout;
	} want[] = {
		{ "ubuntu-24.04", "", LAYOUT_V2 },
		{ "docker", "docker", LAYOUT_V2 },
		{ "docker-systempaths", "docker", LAYOUT_V2 },
		{ "podman", "podman", LAYOUT_V2 },
		{ "kubernetes", "kubernetes", LAYOUT_V2 },
		{ "wsl2", "wsl", LAYOUT_V2 },
		{ "hybrid", "", LAYOUT_HYBRID },
		{ "v1", "", LAYOUT_V1 },
		{ "inside-belljar", "belljar", LAYOUT_V2 },
	};
	struct machine m;
	(void) state;
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		at(want[i].machine, &m);
		assert_string_equal(machine_place(&m), want[i].place);
		assert_int_equal(m.cgroups, want[i].layout);
	}
}

static void test_facts(void **state)
{
	struct machine m;
	(void) state;
	at("docker", &m);
	assert_true(m.filtered && m.host_root && m.cgroups_read_only && !m.chrooted);
	assert_string_equal(m.proc_cover, "/proc/bus");
	at("docker-systempaths", &m);
	assert_true(!m.filtered && !m.cgroups_read_only);
	assert_string_equal(m.proc_cover, "");
	at("ubuntu-24.04", &m);
	assert_int_equal(m.uid, 1000);
	assert_false(m.host_root);
	assert_string_equal(m.proc_cover, ""); /* binfmt_misc hides nothing */
	at("chroot", &m);
	assert_true(m.chrooted);
}

static void test_nothing_to_read(void **state)
{
	struct machine m;
	struct cause c;
	(void) state;
	machine_read("/nonexistent", &m);
	assert_string_equal(machine_place(&m), "");
	assert_int_equal(m.cgroups, LAYOUT_NONE);
	cause_find(&m, NEED_USERNS, EPERM, &c);
	assert_string_equal(c.fact, "");
	assert_string_equal(c.remedy, need_kinds[NEED_USERNS].remedy);
}

/* ---- why, and what helps ---- */

static void test_causes(void **state)
{
	static const struct {
		const char *machine;
		enum need need;
		int error;
		const char *fact, *remedy; /* a part of each; NULL: none known, the table's own */
	} want[] = {
		{ "ubuntu-24.04", NEED_USERNS, EPERM, "kernel.apparmor_restrict_unprivileged_userns is 1",
		  "sysctl kernel.apparmor_restrict_unprivileged_userns=0" },
		{ "ubuntu-24.04", NEED_MOUNTS, EACCES, "apparmor_restrict",
		  "flags=(unconfined) { userns, }" },
		{ "ubuntu-24.04", NEED_NETLESS, EPERM, "apparmor_restrict", "sysctl" },
		{ "ubuntu-24.04", NEED_TAKE_FD, EPERM, NULL, NULL },
		{ "debian-clone-0", NEED_USERNS, EPERM, "kernel.unprivileged_userns_clone is 0",
		  "sysctl kernel.unprivileged_userns_clone=1" },
		{ "no-user-namespaces", NEED_USERNS, ENOSPC, "user.max_user_namespaces is 0",
		  "sysctl user.max_user_namespaces=" },
		{ "no-user-namespaces", NEED_USERNS, EPERM, NULL, NULL },
		{ "no-net-namespaces", NEED_NETNS, ENOSPC, "user.max_net_namespaces is 0",
		  "sysctl user.max_net_namespaces=" },
		{ "debian-clone-0", NEED_NETNS, ENOSPC, "is used up", "raise" },
		{ "chroot", NEED_USERNS, EPERM, "chroot", "leave the chroot" },
		{ "docker", NEED_USERNS, EPERM, "filter", "docker run --security-opt seccomp=unconfined" },
		{ "docker", NEED_CLONE3, ENOSYS, "filter", "docker run --security-opt seccomp=unconfined" },
		{ "docker", NEED_KEYRING, EPERM, "filter", "docker run --security-opt seccomp=unconfined" },
		{ "docker", NEED_TAKE_FD, EPERM, "filter", "docker run --security-opt seccomp=unconfined" },
		{ "docker", NEED_STATE_ROOM, ENOSPC, NULL, NULL },
		{ "docker", NEED_ONE_LISTENER, EBUSY, NULL, NULL },
		{ "docker", NEED_CACHE, EACCES, NULL, NULL }, /* no filter's doing */
		{ "docker", NEED_QEMU, EACCES, NULL, NULL },
		{ "docker-unfiltered", NEED_MOUNTS, EACCES, "docker-default",
		  "docker run --security-opt apparmor=unconfined" },
		{ "docker-unfiltered", NEED_PROC, EPERM, "/proc/bus is mounted over",
		  "docker run --security-opt systempaths=unconfined" },
		{ "docker", NEED_CGROUP_MEMORY, ENOTSUP, "read-only",
		  "--security-opt writable-cgroups=true" },
		{ "docker-systempaths", NEED_PROC, EPERM, NULL, NULL },
		{ "podman", NEED_PROC, EPERM, "/proc/bus", "podman run --security-opt unmask=ALL" },
		{ "podman", NEED_USERNS, EPERM, "filter", "podman run --security-opt seccomp=unconfined" },
		{ "podman", NEED_CGROUP_CPU, ENOTSUP, "read-only", "unmask=/sys/fs/cgroup" },
		{ "kubernetes", NEED_USERNS, EPERM, "pod's", "seccompProfile: { type: Unconfined }" },
		{ "kubernetes", NEED_PROC, EPERM, "/proc/bus", "procMount: Unmasked" },
		{ "kubernetes", NEED_CGROUP_MEMORY, ENOTSUP, "read-only", "/sys/fs/cgroup" },
		{ "wsl2", NEED_USERNS, EPERM, NULL, NULL },
		{ "wsl2", NEED_CGROUP_MEMORY, ENOTSUP, "not delegated", "systemd=true in /etc/wsl.conf" },
		{ "hybrid", NEED_CGROUP_MEMORY, ENOTSUP, "hybrid", "systemd.unified_cgroup_hierarchy=1" },
		{ "v1", NEED_CGROUP_PROCESSES, ENOTSUP, "version 1", "systemd.unified_cgroup_hierarchy=1" },
		{ "v2-delegated", NEED_CGROUP_CPU, ENOTSUP, NULL, NULL },
		{ "v2-delegated", NEED_CGROUP_MEMORY, ENOTSUP, "not delegated", "loginctl enable-linger" },
		{ "v2-root", NEED_CGROUP_MEMORY, ENOTSUP, NULL, NULL },
		{ "inside-belljar", NEED_USERNS, EPERM, "inside a run of belljar", "outside of it" },
		{ "inside-belljar", NEED_ONE_LISTENER, EBUSY, NULL, NULL },
		{ "yama-0", NEED_READ_MEMORY, EPERM, NULL, NULL },
		{ "yama-1", NEED_READ_MEMORY, EPERM, NULL, NULL },
		{ "yama-2", NEED_READ_MEMORY, EPERM, "kernel.yama.ptrace_scope is 2",
		  "sysctl kernel.yama.ptrace_scope=1" },
		{ "yama-2", NEED_TAKE_FD, EPERM, "ptrace_scope is 2", "sysctl" },
		{ "yama-3", NEED_TAKE_FD_USERNS, EPERM, "kernel.yama.ptrace_scope is 3", "a boot" },
		{ "yama-3", NEED_READ_MEMORY, EPERM, "kernel.yama.ptrace_scope is 3", "/etc/sysctl.d" },
	};
	(void) state;
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		struct machine m;
		struct cause got;
		at(want[i].machine, &m);
		cause_find(&m, want[i].need, want[i].error, &got);
		bool fits = want[i].fact
				    ? strstr(got.fact, want[i].fact) && strstr(got.remedy, want[i].remedy)
				    : !got.fact[0] && got.remedy == need_kinds[want[i].need].remedy;
		if (!fits)
			fail_msg("%s, %s: '%s', '%s'", want[i].machine, need_kinds[want[i].need].code,
				 got.fact, got.remedy);
	}
}

/* What helps against a KVM that does not work is by what speaks against it. */
static void test_kvm_remedy(void **state)
{
	struct machine m;
	struct cause c;
	(void) state;
	at("docker", &m);
	cause_find(&m, NEED_KVM, EACCES, &c);
	assert_string_equal(c.fact, "");
	assert_string_equal(c.remedy, kvm_kinds[KVM_NO_EXTENSION].remedy);
	at("kvm-paravirtual", &m);
	cause_find(&m, NEED_KVM, ENOTSUP, &c);
	assert_string_equal(c.remedy, kvm_kinds[KVM_PARAVIRTUAL].remedy);
	at("kvm-no-device", &m);
	cause_find(&m, NEED_KVM, ENOENT, &c);
	assert_string_equal(c.remedy, kvm_kinds[KVM_NO_DEVICE].remedy);
}

/* ---- codes ---- */

static void test_codes(void **state)
{
	(void) state;
	for (int n = 0; n < NEED_MAX; n++) {
		const struct need_kind *k = &need_kinds[n];
		struct err e;
		assert_non_null(k->code);
		assert_in_range(strlen(k->title), 1, 32); /* its column in the table */
		assert_true(k->without[0] && k->remedy[0]);
		assert_int_equal(need_set(&e, (enum need) n, EPERM, "make %s", "it"), -EPERM);
		assert_int_equal(need_of(&e), n); /* no code is another's beginning */
	}
	struct err e;
	err_say(&e, EPERM, "userns-denied-too: no code of ours");
	assert_int_equal(need_of(&e), NEED_MAX);
	assert_int_equal(need_complete(&e), -EPERM);
	assert_string_equal(e.text, "userns-denied-too: no code of ours");
}

/* An error that a start ends with: once the code, the text, and what helps. */
static void test_refusal_names_the_remedy(void **state)
{
	struct err e;
	(void) state;
	need_set(&e, NEED_TEMP, ENOENT, "make /x");
	assert_int_equal(need_complete(&e), -ENOENT);
	assert_string_equal(e.text, "temp-unwritable: make /x: No such file or directory; "
				    "set TMPDIR to a folder of your own");
	err_set(&e, ENOENT, "make /x");
	assert_int_equal(need_refuse(&e, NEED_TEMP), -ENOENT);
	assert_string_equal(e.text, "temp-unwritable: make /x: No such file or directory; "
				    "set TMPDIR to a folder of your own");
}

static const struct probe *probe_of(enum need need, const struct probe *before)
{
	for (const struct probe *p = probes; p->run && p != before; p++)
		if (p->need == need)
			return p;
	return NULL;
}

static void test_each_need_is_tried(void **state)
{
	(void) state;
	for (int n = 0; n < NEED_MAX; n++)
		if (n != NEED_START && !probe_of((enum need) n, NULL))
			fail_msg("nothing tries %s", need_kinds[n].code);
	for (const struct probe *p = probes; p->run; p++)
		if (p->after != NEED_MAX && !probe_of(p->after, p))
			fail_msg("%s hangs on what is tried later", need_kinds[p->need].code);
}

/* ---- what it means for presets ---- */

static struct known two_presets(void)
{
	static char inner[] = "inner", outer[] = "outer";
	static struct known_preset of[2] = { { .name = inner }, { .name = outer } };
	struct err e;
	assert_int_equal(backend_find("namespaces", &of[0].backend, &e), 0);
	assert_int_equal(backend_find("subprocess", &of[1].backend, &e), 0);
	return (struct known){ of, 2 };
}

static void assert_weighed(enum need need, enum finding_state answer, enum finding_state want,
			   const char *presets)
{
	const struct known known = two_presets();
	const struct answer a = { .state = answer, .error = EPERM, .fact = "it was refused" };
	struct machine m;
	struct finding f;
	char names[64] = "";
	at("debian-clone-0", &m);
	finding_make(&f, &a, need, &m, &known);
	for (char **p = f.presets; p && *p; p++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s ", *p);
	assert_int_equal(f.state, want);
	assert_string_equal(names, presets);
	if (want == FINDING_OK || want == FINDING_UNKNOWN)
		assert_string_equal(f.remedy, "");
	else
		assert_true(f.remedy[0]);
	strv_free(f.presets);
}

static void test_presets(void **state)
{
	(void) state;
	assert_weighed(NEED_USERNS, FINDING_OK, FINDING_OK, "");
	assert_weighed(NEED_USERNS, FINDING_MISSING, FINDING_MISSING, "inner ");
	assert_weighed(NEED_USERNS, FINDING_UNKNOWN, FINDING_UNKNOWN, "inner ");
	assert_weighed(NEED_TEMP, FINDING_MISSING, FINDING_MISSING, "outer ");
	assert_weighed(NEED_FILTER, FINDING_MISSING, FINDING_MISSING, "inner outer ");
	assert_weighed(NEED_NETLESS, FINDING_MISSING, FINDING_WEAK, "outer ");
	assert_weighed(NEED_LANDLOCK, FINDING_MISSING, FINDING_WEAK, "inner outer ");
	assert_weighed(NEED_CGROUP_PROCESSES, FINDING_MISSING, FINDING_WEAK, "outer ");
}

static void test_fact_and_cause(void **state)
{
	const struct known none = { 0 };
	const struct answer a = { .state = FINDING_MISSING, .error = EPERM, .fact = "clone3(2): no" };
	struct machine m;
	struct finding f;
	(void) state;
	at("debian-clone-0", &m);
	finding_make(&f, &a, NEED_USERNS, &m, &none);
	assert_string_equal(f.code, "userns-denied");
	assert_string_equal(f.fact, "clone3(2): no; kernel.unprivileged_userns_clone is 0");
	assert_null(f.presets);
}

static void test_json(void **state)
{
	char *presets[] = { (char[]){ "a" }, (char[]){ "b\"c" }, NULL };
	const struct finding f = { .code = "userns-denied",
				   .title = "User namespaces",
				   .without = "w",
				   .state = FINDING_MISSING,
				   .fact = "\033[31mred\n",
				   .remedy = "r",
				   .presets = presets };
	struct buf out = { 0 };
	(void) state;
	doctor_json(&f, 1, &out);
	assert_true(str_starts(out.data, "{\"host\":{\"kernel\":\""));
	assert_true(str_ends(out.data,
			     "\"findings\":[{\"code\":\"userns-denied\",\"title\":\"User namespaces\","
			     "\"state\":\"missing\",\"fact\":\"\\u001b[31mred\\n\",\"without\":\"w\","
			     "\"remedy\":\"r\",\"presets\":[\"a\",\"b\\\"c\"]}]}"));
	assert_null(strchr(out.data, '\033'));
	buf_done(&out);
}

/* ---- a probe is bounded ---- */

static void hangs(const struct given *g, int arg, struct answer *a)
{
	(void) g, (void) arg, (void) a;
	(void) fork(); /* what it started must go with it */
	for (;;)
		pause();
}

static void dies(const struct given *g, int arg, struct answer *a)
{
	(void) g, (void) a;
	(void) raise(arg);
}

static void answers(const struct given *g, int arg, struct answer *a)
{
	(void) g;
	answer_missing(a, arg, "no: %d", arg);
}

static void try(probe_fn fn, int arg, uint64_t limit_ns, struct answer *ret)
{
	const struct probe p = { NEED_USERNS, NEED_MAX, fn, arg };
	const struct given g = { .run_id = "01J8ZQ4T9V3M5N7P2R6S8W0XYA" };
	int fds[2];
	char none;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	probe_try(&p, &g, limit_ns, ret);
	close(fds[1]);
	assert_int_equal(read(fds[0], &none, 1), 0); /* returns when nobody holds the other end */
	close(fds[0]);
}

static void test_probe_answers(void **state)
{
	struct answer a;
	(void) state;
	try(answers, EACCES, PROBE_LIMIT_NS, &a);
	assert_int_equal(a.state, FINDING_MISSING);
	assert_int_equal(a.error, EACCES);
	assert_string_equal(a.fact, "no: 13");
}

static void test_probe_hangs(void **state)
{
	struct answer a;
	(void) state;
	try(hangs, 0, 100 * NS_PER_MS, &a);
	assert_int_equal(a.state, FINDING_UNKNOWN);
	assert_string_equal(a.fact, "no answer within 0.1 s");
}

static void test_probe_dies(void **state)
{
	struct answer a;
	(void) state;
	try(dies, SIGKILL, PROBE_LIMIT_NS, &a);
	assert_int_equal(a.state, FINDING_UNKNOWN);
	assert_string_equal(a.fact, "the probe died before it could say what came of it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_nothing_to_read),
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_kvm_remedy),
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_refusal_names_the_remedy),
		cmocka_unit_test(test_each_need_is_tried),
		cmocka_unit_test(test_presets),
		cmocka_unit_test(test_fact_and_cause),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_probe_answers),
		cmocka_unit_test(test_probe_hangs),
		cmocka_unit_test(test_probe_dies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
