/* SPDX-License-Identifier: MIT */
/*
 * From a policy to a loaded filter. The parent plans what becomes of each call, has libseccomp make a binary
 * tree of it (the kernel walks a filter once for every call there is when it loads it, so a list costs ten
 * times as much), and puts the rules of the arguments before it. The child loads the bytes with seccomp(2)
 * itself: libseccomp 2.5 cannot ask for WAIT_KILLABLE_RECV, without which a target with a fast timer never
 * gets past a notification.
 *
 * See: seccomp(2), seccomp_unotify(2).
 */
#include "core/confine/seccomp.h"

#include "core/base/base.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TREE_VERSION 1 /* of how a plan becomes a tree: older trees in the cache are then not found */

/* What the child does between loading the filter and its first own instruction: never refused, and but for
 * execve never put to a supervisor, who has not taken the listener yet. */
static const char *const start_calls[] = { "read",       "write",        "close", "exit",
					   "exit_group", "rt_sigreturn", "execve" };

uint32_t native_arch(void)
{
	return seccomp_arch_native();
}

/* ---- the plan ---- */

static int plan_call(struct call_plan *plan, const char *call, enum syscall_action action, const char *where,
		     struct err *e)
{
	int nr = call_known(call);

	if (nr == CALL_ELSEWHERE)
		return 0;
	if (nr < 0) {
		const char *near = call_nearest(call);
		return err_say(e, EINVAL, "%s names '%s', which is no system call%s%s%s", where, call,
			       near ? "; is '" : "", near ? near : "", near ? "' meant?" : "");
	}
	plan->by_name[nr] = action;
	plan->name[nr] = call;
	return 0;
}

static int plan_calls(struct call_plan *plan, char *const *calls, enum syscall_action action,
		      const char *where, struct err *e)
{
	for (; calls && *calls; calls++) {
		int r = plan_call(plan, *calls, action, where, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int plan_names(struct call_plan *plan, const struct policy *p, struct err *e)
{
	const struct syscall_set *set = p->syscalls;
	int r;

	for (size_t i = 0; i < CALL_MAX; i++)
		plan->by_name[i] = SYSCALL_ABSENT;
	for (size_t i = 0; set && i < set->group_count; i++) {
		const struct syscall_group *g = &set->groups[i];
		if ((r = plan_calls(plan, g->calls, g->action, g->rule, e)) < 0)
			return r;
	}
	/* what a preset both gives and takes away is taken away */
	if ((r = plan_calls(plan, p->allow, SYSCALL_ALLOW, "allow", e)) < 0 ||
	    (r = plan_calls(plan, p->deny, SYSCALL_REFUSE, "deny", e)) < 0)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(start_calls); i++)
		if (plan->by_name[call_known(start_calls[i])] != SYSCALL_ALLOW)
			return err_say(e, EINVAL,
				       "the policy does not allow %s, without which nothing can start",
				       start_calls[i]);
	return 0;
}

static int plan_make(const struct seccomp_want *want, struct call_plan *plan, struct err *e)
{
	bool watched = want->watch & WATCH_DENIED;
	int r = plan_names(plan, want->policy, e);

	if (r < 0)
		return r;
	plan->arch = native_arch();
	plan->unknown = watched ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | ENOSYS;
	plan->refuse = watched                                  ? SECCOMP_RET_USER_NOTIF
		       : want->policy->on_denied == DENIED_KILL ? SECCOMP_RET_KILL_PROCESS
								: SECCOMP_RET_ERRNO | EPERM;
	for (int nr = 0; nr < CALL_MAX; nr++) {
		const char *call = plan->name[nr];
		plan->action[nr] = plan->by_name[nr] == SYSCALL_ABSENT   ? plan->unknown
				   : plan->by_name[nr] == SYSCALL_REFUSE ? plan->refuse
				   : call && call_watch(want, call)      ? SECCOMP_RET_USER_NOTIF
									 : SECCOMP_RET_ALLOW;
	}
	return 0;
}

/* ---- the tree ---- */

/* tree_key: of all that tree_build() looks at, and of the library that builds. */
static struct tree_key tree_key(const struct call_plan *plan)
{
	const struct scmp_version *v = seccomp_version();
	struct {
		uint32_t version[5];
		uint32_t unknown;
		uint32_t action[CALL_MAX];
	} all = {
		.version = { TREE_VERSION, v->major, v->minor, v->micro, plan->arch },
		.unknown = plan->unknown,
	};
	struct tree_key key;

	memcpy(all.action, plan->action, sizeof(all.action));
	sha256_hex(&all, sizeof(all), key.hex);
	return key;
}

static int tree_fill(scmp_filter_ctx ctx, const struct call_plan *plan, struct err *e)
{
	int r;

	/* int 0x80 and x32 reach the same kernel by other numbers: they get what an unknown call gets */
	if ((r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, plan->unknown)) < 0 ||
	    (r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2)) < 0)
		return err_set(e, -r, "set up a system-call filter");
	for (int nr = 0; nr < CALL_MAX; nr++) {
		if (plan->action[nr] == plan->unknown) /* the default; libseccomp refuses to say it twice */
			continue;
		if ((r = seccomp_rule_add(ctx, plan->action[nr], nr, 0)) < 0)
			return err_set(e, -r, "put call %d into the system-call filter", nr);
	}
	return 0;
}

static int tree_read(int fd, struct filter_code *code, struct err *e)
{
	size_t room = (PROGRAM_MAX - code->count) * sizeof(struct sock_filter);
	off_t len = lseek(fd, 0, SEEK_END);

	if (len <= 0 || (size_t) len > room || len % (off_t) sizeof(struct sock_filter))
		return err_say(e, E2BIG, "the system-call filter takes %lld bytes, the kernel's limit is %zu",
			       (long long) len, room);
	if (pread(fd, code->insns + code->count, (size_t) len, 0) != (ssize_t) len)
		return err_set(e, EIO, "read back a system-call filter");
	code->count += (size_t) len / sizeof(struct sock_filter);
	return 0;
}

static int tree_build(const struct call_plan *plan, struct filter_code *code, struct err *e)
{
	CLOSE_FD int fd = memfd_create("belljar-filter", MFD_CLOEXEC);
	if (fd < 0)
		return err_set(e, errno, "make a buffer for a system-call filter");
	scmp_filter_ctx ctx = seccomp_init(plan->unknown);
	if (!ctx)
		return err_say(e, ENOTSUP, "this kernel has no seccomp notifications (Linux 5.0)");
	int r = tree_fill(ctx, plan, e);
	if (r == 0 && (r = seccomp_export_bpf(ctx, fd)) < 0)
		r = err_set(e, -r, "build the system-call filter");
	seccomp_release(ctx);
	return r < 0 ? r : tree_read(fd, code, e);
}

static int tree_add(const struct call_plan *plan, struct filter_code *code, struct err *e)
{
	struct tree_key key = tree_key(plan);
	size_t from = code->count;
	int r;

	if (cache_load(&key, code))
		return 0;
	if ((r = tree_build(plan, code, e)) < 0)
		return r;
	cache_save(&key, code->insns + from, code->count - from);
	return 0;
}

/* ---- the door ---- */

int seccomp_compile(const struct seccomp_want *want, struct seccomp_program *ret, struct err *e)
{
	struct call_plan plan = { 0 };
	struct filter_code code = { .count = 0 };
	int r;

	if ((r = plan_make(want, &plan, e)) < 0)
		return r;
	rules_emit(want, &plan, &code);
	if (code.full)
		return err_say(e, E2BIG, "the system-call filter is larger than the kernel takes");
	if ((r = tree_add(&plan, &code, e)) < 0)
		return r;

	struct seccomp_program p = { .count = code.count };
	for (int nr = 0; nr < CALL_MAX; nr++) {
		p.allowed += plan.action[nr] == SECCOMP_RET_ALLOW;
		p.shown += plan.by_name[nr] == SYSCALL_ALLOW && plan.action[nr] == SECCOMP_RET_USER_NOTIF;
		p.refused += plan.by_name[nr] == SYSCALL_REFUSE;
	}
	p.insns = xmalloc(code.count * sizeof(*p.insns));
	memcpy(p.insns, code.insns, code.count * sizeof(*p.insns));
	*ret = p;
	return 0;
}

void seccomp_program_done(struct seccomp_program *p)
{
	free(p->insns);
	*p = (struct seccomp_program){ 0 };
}

int seccomp_apply(const struct seccomp_program *p, bool listener, int *ret_listener_fd, struct err *e)
{
	struct sock_fprog prog = { .len = (unsigned short) p->count, .filter = p->insns };
	unsigned flags =
		listener ? SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV : 0;

	/* without SPEC_ALLOW, on purpose: the target keeps the guard against speculative store bypass */
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
	if (fd < 0 && errno == EINVAL && listener) /* before Linux 5.19 */
		fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
	if (fd < 0 && errno == EBUSY)
		return err_say(e, EBUSY,
			       "another supervisor listens to this process's system calls already: "
			       "a run inside a run can have only one");
	if (fd < 0)
		return err_set(e, errno, "load the system-call filter");
	*ret_listener_fd = listener ? (int) fd : -1;
	return 0;
}
