/* SPDX-License-Identifier: MIT */
/*
 * From a policy to a loaded filter. The parent plans what becomes of each call and writes that as a binary
 * tree over ranges of numbers. libseccomp writes a leaf for each call, takes half a millisecond to do it,
 * cannot say "this call, with any other argument", nor compare only the half of a register that the kernel
 * reads. The child loads the bytes with seccomp(2) itself: libseccomp 2.5 cannot ask for WAIT_KILLABLE_RECV,
 * without which a target with a fast timer never gets past a notification.
 *
 * See: seccomp(2), seccomp_unotify(2).
 */
#include "core/confine/seccomp.h"

#include "core/base/base.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	for (int nr = 0; nr < CALL_MAX; nr++)
		plan->action[nr] = plan->by_name[nr] == SYSCALL_ALLOW    ? SECCOMP_RET_ALLOW
				   : plan->by_name[nr] == SYSCALL_REFUSE ? plan->refuse
									 : plan->unknown;
	plan->action[CALL_MAX] = plan->unknown;
	rules_plan(want, plan);
	return 0;
}

/* ---- the tree ---- */

void code_put(struct filter_code *code, struct sock_filter insn)
{
	if (code->count == BPF_MAXINSNS) {
		code->full = true;
		return;
	}
	if (code->count == code->room) {
		code->room = code->room ? 2 * code->room : 512;
		code->insns = xrealloc(code->insns, code->room * sizeof(*code->insns));
	}
	code->insns[code->count++] = insn;
}

/* Where a range of numbers with one answer begins. A call whose arguments decide is a range of its own. */
struct call_ranges {
	uint16_t first[CALL_MAX + 1];
	size_t count;
};

static void ranges_make(const struct call_plan *plan, struct call_ranges *ret)
{
	ret->count = 0;
	for (uint16_t nr = 0; nr <= CALL_MAX; nr++)
		if (nr == 0 || plan->rules[nr] || plan->rules[nr - 1] ||
		    plan->action[nr] != plan->action[nr - 1])
			ret->first[ret->count++] = nr;
}

/* The jump at `at` goes over what has been put behind it where the number is in the upper half. It can say no
 * more than 255 instructions itself. */
static void jump_close(struct filter_code *code, size_t at)
{
	size_t over = code->count - at - 1;

	if (over <= UINT8_MAX) {
		code->insns[at].jt = (uint8_t) over;
		return;
	}
	code_put(code, (struct sock_filter){ 0 }); /* room for a longer one */
	memmove(&code->insns[at + 2], &code->insns[at + 1], (code->count - at - 2) * sizeof(*code->insns));
	code->insns[at + 1] = (struct sock_filter) BPF_STMT(BPF_JMP | BPF_JA, (uint32_t) over);
	code->insns[at].jf = 1;
}

/* The number is in the accumulator, and in one of the ranges. */
static void tree_emit(const struct seccomp_want *want, const struct call_plan *plan, const uint16_t *first,
		      size_t count, struct filter_code *code)
{
	if (count == 1) {
		rules_emit(want, plan, *first, code);
		code_put(code, (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, plan->action[*first]));
		return;
	}
	size_t half = count / 2, at = code->count;
	code_put(code, (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first[half], 0, 0));
	tree_emit(want, plan, first, half, code);
	if (!code->full)
		jump_close(code, at);
	tree_emit(want, plan, first + half, count - half, code);
}

/* int 0x80 and x32 reach the same kernel by other numbers: they get what an unknown call gets. x32 has the
 * native architecture's word, and numbers beyond the last range's begin. */
static void filter_emit(const struct seccomp_want *want, const struct call_plan *plan,
			struct filter_code *code)
{
	const struct sock_filter head[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, plan->arch, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, plan->unknown),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct call_ranges ranges;

	for (size_t i = 0; i < ARRAY_LEN(head); i++)
		code_put(code, head[i]);
	ranges_make(plan, &ranges);
	tree_emit(want, plan, ranges.first, ranges.count, code);
}

/* ---- the door ---- */

int seccomp_compile(const struct seccomp_want *want, struct seccomp_program *ret, struct err *e)
{
	struct call_plan plan = { 0 };
	struct filter_code code = { 0 };
	int r = plan_make(want, &plan, e);

	if (r < 0)
		return r;
	filter_emit(want, &plan, &code);
	if (code.full) {
		free(code.insns);
		return err_say(e, E2BIG, "the system-call filter is larger than the kernel takes");
	}
	struct seccomp_program p = { .insns = code.insns, .count = code.count };
	for (int nr = 0; nr < CALL_MAX; nr++) {
		p.allowed += plan.action[nr] == SECCOMP_RET_ALLOW;
		p.shown += plan.by_name[nr] == SYSCALL_ALLOW && plan.action[nr] == SECCOMP_RET_USER_NOTIF;
		p.refused += plan.by_name[nr] == SYSCALL_REFUSE;
	}
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
		return need_set(e, NEED_ONE_LISTENER, EBUSY,
				"another supervisor listens to this process's system calls already");
	if (fd < 0 && errno == EINVAL && listener)
		return need_set(e, NEED_NOTIFICATIONS, ENOTSUP, "listen to the target's system calls");
	if (fd < 0)
		return need_set(e, NEED_FILTER, errno, "load the system-call filter");
	*ret_listener_fd = listener ? (int) fd : -1;
	return 0;
}
