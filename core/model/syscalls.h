/* SPDX-License-Identifier: MIT */
/*
 * Named sets of system calls. Private to core/model.
 */
#pragma once

#include <stdbool.h>

struct err;
struct syscall_group;
struct syscall_set;

/* syscall_set_load: presets/syscalls/NAME.ini, the user's before the shipped one. Gives: *ret. -ENOENT
 * with the nearest name, -EINVAL with the first fault. syscall_set_free: accepts NULL, returns NULL. */
int syscall_set_load(const char *name, struct syscall_set **ret, struct err *e);
struct syscall_set *syscall_set_free(struct syscall_set *s);
/* syscall_set_group: the group that decides of a call, the last one that names it; NULL: none does. */
const struct syscall_group *syscall_set_group(const struct syscall_set *s, const char *call);
/* syscall_set_calls: all names of its groups, once each. Gives: strv. */
char **syscall_set_calls(const struct syscall_set *s);
/* syscall_name_ok: it has the form of a call's name. */
bool syscall_name_ok(const char *call);
