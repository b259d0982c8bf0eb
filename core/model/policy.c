/* SPDX-License-Identifier: MIT */
/*
 * A policy as data: freeing it, saying in words what it enforces, telling two apart, and what becomes of one
 * call. All words come from the tables of keys.c and limits.c and from the system-call set's own file.
 */
#include "core/model/keys.h"

#include "core/base/base.h"
#include "core/model/syscalls.h"

#include <stdlib.h>
#include <string.h>

#define RULE_DENY  "preset:deny" /* rules of the preset's own, beside those of its set */
#define RULE_ALLOW "preset:allow"

struct policy *policy_free(struct policy *p)
{
	if (p == NULL)
		return NULL;
	free(p->name);
	free(p->summary);
	free(p->backend);
	free(p->file);
	free(p->root);
	strv_free(p->read_only);
	strv_free(p->writable);
	syscall_set_free(p->syscalls);
	strv_free(p->deny);
	strv_free(p->allow);
	strv_free(p->pass);
	strv_free(p->microvm.languages);
	free(p);
	return NULL;
}

enum syscall_action policy_syscall(const struct policy *p, const char *call, const char **ret_rule)
{
	const char *rule = "";
	enum syscall_action action = SYSCALL_ABSENT;

	if (strv_has(p->deny, call)) {
		rule = RULE_DENY;
		action = SYSCALL_REFUSE;
	} else if (strv_has(p->allow, call)) {
		rule = RULE_ALLOW;
		action = SYSCALL_ALLOW;
	} else if (p->syscalls != NULL) {
		const struct syscall_group *g = syscall_set_group(p->syscalls, call);
		rule = g != NULL ? g->rule : rule;
		action = g != NULL ? g->action : action;
	}
	if (ret_rule != NULL)
		*ret_rule = rule;
	return action;
}

static const char *const action_words[] = {
	[SYSCALL_ALLOW] = "allowed",
	[SYSCALL_REFUSE] = "refused",
	[SYSCALL_ABSENT] = "absent",
};

/* Nothing where it is another level's. */
static void value_show(const struct policy *p, const struct preset_key *k, struct buf *out)
{
	if (key_counts(p, k))
		k->show(p, k, out);
}

/* One line: the key, its value, and what that means. */
static void key_line(const struct policy *p, const struct preset_key *k, struct buf *out)
{
	struct buf value = { 0 };
	const char *value_means = key_counts(p, k) ? key_value_means(p, k) : NULL;
	FREE char *name = xprintf("%s.%s", k->section, k->name);

	value_show(p, k, &value);
	buf_printf(out, "%-24s %-12s  %s%s%s\n", name, value.len > 0 ? value.data : "-", key_means(k),
		   value_means != NULL ? ": " : "", value_means != NULL ? value_means : "");
	buf_done(&value);
}

/* The calls of a group that are decided by it, not by a later group or the preset itself. */
static char **calls_in_force(const struct policy *p, const struct syscall_group *g)
{
	char **calls = NULL;
	const char *rule;

	for (char **call = g->calls; call != NULL && *call != NULL; call++) {
		policy_syscall(p, *call, &rule);
		if (rule == g->rule)
			calls = strv_add(calls, *call);
	}
	return calls;
}

static void group_line(const char *action, const char *rule, const char *means, char *const *calls,
		       struct buf *out)
{
	FREE char *head = xprintf("calls %s", action);

	if (calls == NULL)
		return;
	buf_printf(out, "%-24s %-12s  %s (%zu):", head, rule, means, strv_len(calls));
	for (char *const *call = calls; *call != NULL; call++)
		buf_printf(out, " %s", *call);
	buf_str(out, "\n");
}

static void syscalls_describe(const struct policy *p, struct buf *out)
{
	group_line(action_words[SYSCALL_REFUSE], RULE_DENY, "taken away by the preset", p->deny, out);
	group_line(action_words[SYSCALL_ALLOW], RULE_ALLOW, "given by the preset", p->allow, out);
	for (enum syscall_action action = SYSCALL_ALLOW; action <= SYSCALL_ABSENT; action++) {
		for (size_t i = 0; p->syscalls != NULL && i < p->syscalls->group_count; i++) {
			const struct syscall_group *g = &p->syscalls->groups[i];
			if (g->action != action)
				continue;
			char **calls = calls_in_force(p, g);
			group_line(action_words[action], g->rule, g->means, calls, out);
			strv_free(calls);
		}
	}
	buf_printf(out, "%-24s %-12s  %s\n", "calls absent", "-",
		   "every other call: answered ENOSYS, as if this kernel had none");
}

void policy_describe(const struct policy *p, struct buf *out)
{
	buf_printf(out, "%s: %s\n", p->name, p->summary);
	buf_printf(out, "%-24s %s\n", "file", p->file);
	for (size_t i = 0; i < preset_key_count; i++)
		if (!preset_keys[i].label && key_counts(p, &preset_keys[i]))
			key_line(p, &preset_keys[i], out);
	syscalls_describe(p, out);
}

/* Lines of what differs between two values of one key. Returns how many. */
static int key_diff(const struct policy *a, const struct policy *b, const struct preset_key *k,
		    struct buf *out)
{
	struct buf was = { 0 }, is = { 0 };
	int lines = 0;

	value_show(a, k, &was);
	value_show(b, k, &is);
	if (was.len != is.len || (was.len > 0 && memcmp(was.data, is.data, was.len) != 0)) {
		buf_str(out, "- ");
		key_line(a, k, out);
		buf_str(out, "+ ");
		key_line(b, k, out);
		lines = 2;
	}
	buf_done(&was);
	buf_done(&is);
	return lines;
}

static void call_line(const struct policy *p, const char *sign, const char *call, struct buf *out)
{
	const char *rule;
	enum syscall_action action = policy_syscall(p, call, &rule);
	FREE char *name = xprintf("call %s", call);

	buf_printf(out, "%s %-24s %-12s  %s\n", sign, name, action_words[action],
		   *rule != '\0' ? rule : "in no group");
}

/* Calls that end differently; a group that only has another name is no difference. */
static int calls_diff(const struct policy *a, const struct policy *b, struct buf *out)
{
	int lines = 0;
	char **calls = a->syscalls != NULL ? syscall_set_calls(a->syscalls) : NULL;
	char **more = b->syscalls != NULL ? syscall_set_calls(b->syscalls) : NULL;

	for (char **call = more; call != NULL && *call != NULL; call++)
		if (!strv_has(calls, *call))
			calls = strv_add(calls, *call);
	for (char **call = calls; call != NULL && *call != NULL; call++) {
		if (policy_syscall(a, *call, NULL) == policy_syscall(b, *call, NULL))
			continue;
		call_line(a, "-", *call, out);
		call_line(b, "+", *call, out);
		lines += 2;
	}
	strv_free(calls);
	strv_free(more);
	return lines;
}

int policy_diff(const struct policy *a, const struct policy *b, struct buf *out)
{
	int lines = 0;

	for (size_t i = 0; i < preset_key_count; i++)
		if (!preset_keys[i].label)
			lines += key_diff(a, b, &preset_keys[i], out);
	return lines + calls_diff(a, b, out);
}
