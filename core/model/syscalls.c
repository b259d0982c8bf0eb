/* SPDX-License-Identifier: MIT */
/*
 * Sets of system calls, read from presets/syscalls/NAME.ini:
 *
 *	[set]     name, summary, extends
 *	[allow]   GROUP = CALL CALL …     the call is made
 *	[refuse]  GROUP = CALL CALL …     EPERM: it exists, and is not for this program
 *	[absent]  GROUP = CALL CALL …     ENOSYS: as if the kernel had no such call: a library falls back
 *	[means]   GROUP = WORDS           for a person
 *
 * The groups of an extended set come first and later ones win, so a set can take single calls away from its
 * parent. A set says nothing of arguments (which clone flags, which ioctl): those are decided where the
 * filter is made.
 */
#include "core/model/syscalls.h"

#include "core/base/base.h"
#include "core/model/ini.h"
#include "core/model/named.h"
#include "core/model/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SET_FOLDER    "presets/syscalls"
#define CALL_NAME_MAX 40

struct set_loading {
	struct syscall_set *set;
	const char *file, *stem; /* of the file in hand */
	size_t own;              /* its groups begin here; those before are its parents' */
	struct chain chain;
	struct ini_faults *faults;
	struct buf means_given; /* "GROUP\0WORDS\0…": [means] may stand before the groups */
};

static const struct {
	const char *section;
	enum syscall_action action;
} action_sections[] = {
	{ "allow", SYSCALL_ALLOW },
	{ "refuse", SYSCALL_REFUSE },
	{ "absent", SYSCALL_ABSENT },
};

bool syscall_name_ok(const char *call)
{
	size_t len = 0;

	while ((call[len] >= 'a' && call[len] <= 'z') || (call[len] >= '0' && call[len] <= '9') ||
	       call[len] == '_')
		len++;
	return len > 0 && len <= CALL_NAME_MAX && call[len] == '\0';
}

/* ---- the index ---- */

/* From a call to the last group that names it: five hundred names are looked up at each start. Open
 * addressing, a power of two of slots, at most half of them taken. Borrows its names from the groups. */
struct syscall_index {
	size_t slot_count, taken;
	struct index_slot {
		const char *call; /* NULL: free */
		size_t group;
	} * slots;
};

/* Where a call is, or is to be put. */
static struct index_slot *slot_find(const struct syscall_index *x, const char *call)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (const char *c = call; *c != '\0'; c++)
		hash = (hash ^ (unsigned char) *c) * 16777619u;
	for (size_t i = hash;; i++) {
		struct index_slot *slot = &x->slots[i & (x->slot_count - 1)];
		if (slot->call == NULL || strcmp(slot->call, call) == 0)
			return slot;
	}
}

static void index_grow(struct syscall_index *x)
{
	struct syscall_index old = *x;

	x->slot_count = old.slot_count != 0 ? 2 * old.slot_count : 1024;
	x->slots = xcalloc(x->slot_count, sizeof(*x->slots));
	for (size_t i = 0; i < old.slot_count; i++)
		if (old.slots[i].call != NULL)
			*slot_find(x, old.slots[i].call) = old.slots[i];
	free(old.slots);
}

static void index_put(struct syscall_index *x, const char *call, size_t group)
{
	struct index_slot *slot = slot_find(x, call);

	x->taken += slot->call == NULL;
	*slot = (struct index_slot){ call, group };
	if (x->taken > x->slot_count / 2)
		index_grow(x);
}

const struct syscall_group *syscall_set_group(const struct syscall_set *s, const char *call)
{
	if (s->index != NULL) {
		const struct index_slot *slot = slot_find(s->index, call);
		return slot->call != NULL ? &s->groups[slot->group] : NULL;
	}
	for (size_t i = s->group_count; i-- > 0;)
		if (strv_has(s->groups[i].calls, call))
			return &s->groups[i];
	return NULL;
}

char **syscall_set_calls(const struct syscall_set *s)
{
	char **all = NULL;

	for (size_t i = 0; i < s->group_count; i++)
		for (char **call = s->groups[i].calls; call != NULL && *call != NULL; call++)
			if (!strv_has(all, *call))
				all = strv_add(all, *call);
	return all;
}

struct syscall_set *syscall_set_free(struct syscall_set *s)
{
	if (s == NULL)
		return NULL;
	for (size_t i = 0; i < s->group_count; i++) {
		free(s->groups[i].rule);
		free(s->groups[i].means);
		strv_free(s->groups[i].calls);
	}
	if (s->index != NULL)
		free(s->index->slots);
	free(s->index);
	free(s->groups);
	free(s->name);
	free(s->summary);
	free(s->file);
	free(s);
	return NULL;
}

/* The part of a rule after the set's name. */
static const char *group_name(const struct syscall_group *g)
{
	const char *colon = strchr(g->rule, ':');

	return colon != NULL ? colon + 1 : g->rule;
}

/* The last group of that name; from `first` on. */
static struct syscall_group *group_find(const struct syscall_set *s, size_t first, const char *name)
{
	for (size_t i = s->group_count; i-- > first;)
		if (strcmp(group_name(&s->groups[i]), name) == 0)
			return &s->groups[i];
	return NULL;
}

/* What a set takes away from those that it extends must be there: else a slip in a name would leave the call allowed. */
static int call_unknown(struct syscall_set *s, const char *call, struct err *e)
{
	char near[128];

	s->group_count--; /* not from the group that has the slip */
	char **known = syscall_set_calls(s);
	s->group_count++;
	err_say(e, EINVAL, "unknown call '%s'%s (what this set extends has no such call)", call,
		ini_nearest(call, (const char *const *) known, near, sizeof(near)));
	strv_free(known);
	return -EINVAL;
}

/* Puts the calls of the newest group into the index: well-formed names, none of which this file has given
 * already. */
static int calls_take(struct set_loading *l, struct err *e)
{
	struct syscall_set *s = l->set;
	const size_t newest = s->group_count - 1;
	const bool takes_away = l->own > 0 && s->groups[newest].action != SYSCALL_ALLOW;

	for (char **call = s->groups[newest].calls; *call != NULL; call++) {
		if (!syscall_name_ok(*call))
			return err_say(e, EINVAL, "'%.40s' is no name of a system call", *call);
		const struct index_slot *before = slot_find(s->index, *call);
		if (before->call == NULL && takes_away)
			return call_unknown(s, *call, e);
		if (before->call != NULL && before->group == newest)
			return err_say(e, EINVAL, "'%s' stands twice in group '%s'", *call,
				       group_name(&s->groups[newest]));
		if (before->call != NULL && before->group >= l->own)
			return err_say(e, EINVAL, "'%s' is in group '%s' already", *call,
				       group_name(&s->groups[before->group]));
		index_put(s->index, *call, newest);
	}
	return 0;
}

static int group_add(struct set_loading *l, const char *name, enum syscall_action action, const char *value,
		     struct err *e)
{
	struct syscall_set *s = l->set;

	if (!named_ok(name))
		return err_say(e, EINVAL,
			       "'%s' is no name of a group; names are of a-z, 0-9, '-', '_' and '.'", name);
	if (group_find(s, l->own, name) != NULL)
		return err_say(e, EINVAL, "group '%s' stands twice", name);
	char **calls = strv_split(value);
	if (calls == NULL)
		return err_say(e, EINVAL, "group '%s' names no call", name);
	s->groups = xrealloc(s->groups, (s->group_count + 1) * sizeof(*s->groups));
	s->groups[s->group_count++] = (struct syscall_group){
		.rule = xprintf("%s:%s", l->stem, name),
		.action = action,
		.calls = calls,
	};
	return calls_take(l, e); /* a fault refuses the whole set: the group may stay */
}

static int set_key(struct set_loading *l, const struct ini_entry *entry, struct err *e)
{
	static const char *const keys[] = { "name", "summary", "extends", NULL };
	char near[128];

	if (*entry->value == '\0')
		return err_say(e, EINVAL, "'%s' in [set] has no value", entry->key);
	if (strcmp(entry->key, "extends") == 0) /* followed before */
		return 0;
	if (strcmp(entry->key, "summary") == 0) {
		free(l->set->summary);
		l->set->summary = xstrdup(entry->value);
		return 0;
	}
	if (strcmp(entry->key, "name") == 0) {
		/* Rules are called after the set; two sets of one name would make them say the wrong file. */
		if (strcmp(entry->value, l->stem) != 0)
			return err_say(e, EINVAL, "the name is '%.64s', but the file is %s.ini", entry->value,
				       l->stem);
		return 0;
	}
	return err_say(e, EINVAL, "unknown key '%s' in [set]%s", entry->key,
		       ini_nearest(entry->key, keys, near, sizeof(near)));
}

static int set_entry(void *arg, const struct ini_entry *entry, struct err *e)
{
	static const char *const sections[] = { "set", "allow", "refuse", "absent", "means", NULL };
	struct set_loading *l = arg;
	char near[128];

	if (entry->key == NULL) {
		for (const char *const *s = sections; *s != NULL; s++)
			if (strcmp(*s, entry->section) == 0)
				return 0;
		return err_say(e, EINVAL, "unknown section [%s]%s", entry->section,
			       ini_nearest(entry->section, sections, near, sizeof(near)));
	}
	if (strcmp(entry->section, "set") == 0)
		return set_key(l, entry, e);
	if (strcmp(entry->section, "means") == 0) {
		if (*entry->value == '\0')
			return err_say(e, EINVAL, "group '%s' means nothing; say what its calls are for",
				       entry->key);
		buf_add(&l->means_given, entry->key, strlen(entry->key) + 1);
		buf_add(&l->means_given, entry->value, strlen(entry->value) + 1);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(action_sections); i++)
		if (strcmp(entry->section, action_sections[i].section) == 0)
			return group_add(l, entry->key, action_sections[i].action, entry->value, e);
	return 0; /* below an unknown section, which was told */
}

/* Gives each group of the file its words: its own, else those of a parent's group of that name, else the
 * bare name. */
static void means_apply(struct set_loading *l)
{
	const char *p = l->means_given.data, *end = p != NULL ? p + l->means_given.len : NULL;

	while (p != end) {
		const char *name = p, *words = name + strlen(name) + 1;
		struct syscall_group *g = group_find(l->set, l->own, name);
		p = words + strlen(words) + 1;
		if (g == NULL) {
			ini_fault(l->faults, l->file, 0,
				  "[means] speaks of a group '%s', which the file does not have", name);
			continue;
		}
		g->means = xstrdup(words);
	}
	for (size_t i = l->own; i < l->set->group_count; i++) {
		struct syscall_group *g = &l->set->groups[i], *parents = NULL;
		if (g->means != NULL)
			continue;
		for (size_t j = l->own; j-- > 0 && parents == NULL;)
			if (strcmp(group_name(&l->set->groups[j]), group_name(g)) == 0)
				parents = &l->set->groups[j];
		g->means = xstrdup(parents != NULL ? parents->means : group_name(g));
	}
}

static int set_load_file(struct set_loading *l, const char *file, struct err *e);

static void set_load_parent(struct set_loading *l, const char *file, const char *parent, unsigned line)
{
	struct err e = { 0 };
	char *path;

	if (named_find(SET_FOLDER, "syscall set", parent, file, &path, &e) < 0) {
		ini_fault(l->faults, file, line, "extends: %s", e.text);
		return;
	}
	if (set_load_file(l, path, &e) < 0)
		ini_fault(l->faults, file, line, "extends: %s", e.text);
	free(path);
}

/* Adds the groups of a file, after those of the set that it extends. */
static int set_load_file(struct set_loading *l, const char *file, struct err *e)
{
	FREE char *text = NULL;
	FREE char *stem = named_stem(file);
	size_t len;
	unsigned line;

	int r = chain_enter(&l->chain, file, e);
	if (r < 0 || (r = file_read(AT_FDCWD, file, INI_FILE_MAX, &text, &len, e)) < 0)
		return r;
	FREE char *parent = named_extends(text, len, "set", &line);
	if (parent != NULL)
		set_load_parent(l, file, parent, line);
	l->file = file;
	l->stem = stem;
	l->own = l->set->group_count;
	l->means_given.len = 0;
	free(take_ptr(&l->set->summary)); /* a parent's does not describe its child */
	ini_read_text(file, text, len, set_entry, l, l->faults);
	means_apply(l);
	return 0;
}

int syscall_set_load(const char *name, struct syscall_set **ret, struct err *e)
{
	struct ini_faults faults = { 0 };
	struct set_loading l = { .faults = &faults };
	FREE char *file = NULL;

	int r = named_find(SET_FOLDER, "syscall set", name, NULL, &file, e);
	if (r < 0)
		return r;
	l.set = xcalloc(1, sizeof(*l.set));
	l.set->name = xstrdup(name);
	l.set->file = xstrdup(file);
	l.set->index = xcalloc(1, sizeof(*l.set->index));
	index_grow(l.set->index);
	r = set_load_file(&l, file, e);
	if (r == 0 && l.set->group_count == 0 && faults.count == 0)
		ini_fault(&faults, file, 0, "has no group of calls");
	if (r == 0 && faults.count != 0)
		r = err_say(e, EINVAL, "%.*s", (int) strcspn(faults.lines.data, "\n"), faults.lines.data);
	if (l.set->summary == NULL)
		l.set->summary = xstrdup(name);
	if (r == 0)
		*ret = take_ptr(&l.set);
	syscall_set_free(l.set);
	buf_done(&l.means_given);
	chain_done(&l.chain);
	ini_faults_done(&faults);
	return r;
}
