/* SPDX-License-Identifier: MIT */
/*
 * Presets: from a name or a file to a policy. A file may extend another, which is read first; then each of
 * its keys is looked up in the table of keys.c. All faults are gathered, so that a person sees them at once;
 * one is enough to refuse the preset.
 */
#include "core/model/keys.h"

#include "core/base/base.h"
#include "core/model/ini.h"
#include "core/model/named.h"
#include "core/model/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define PRESET_FOLDER "presets"
#define RUN_AS_NOBODY 65534

struct loading {
	struct policy *p;
	const char *file; /* in hand */
	bool *stated;     /* one for each key: some file of the chain has it */
	bool parent_lost; /* it was told; what the parent would have stated is not told again, key by key */
	struct chain chain;
	struct ini_faults *faults;
};

/* What holds where no file of the chain says otherwise: the safe side, and the same for all. Keys that
 * have no safe side (limits, backend, base) must be stated. */
static struct policy *policy_new(void)
{
	struct policy *p = xcalloc(1, sizeof(*p));

	p->root = xstrdup("host-usr");
	p->writable = strv_split("/workspace /tmp");
	p->run_as = RUN_AS_NOBODY;
	p->observe.denied = p->observe.network = p->observe.exec = true;
	p->observe.files = FILES_ATTEMPTS;
	return p;
}

static int key_entry(void *arg, const struct ini_entry *entry, struct err *e)
{
	struct loading *l = arg;
	struct err unknown;

	if (entry->key == NULL)
		return key_section_check(entry->section, e);
	if (key_section_check(entry->section, &unknown) < 0)
		return 0; /* told at the section */
	const struct preset_key *k = key_find(entry->section, entry->key, e);
	if (k == NULL)
		return -EINVAL;
	l->stated[k - preset_keys] = true;
	return k->set(l->p, k, entry->value, e);
}

static int load_file(struct loading *l, const char *file, struct err *e);

static void load_parent(struct loading *l, const char *file, const char *parent, unsigned line)
{
	struct err e = { 0 };
	char *path;

	if (!named_ok(parent)) { /* told with the other keys */
		l->parent_lost = true;
		return;
	}
	if (named_find(PRESET_FOLDER, "preset", parent, file, &path, &e) < 0) {
		l->parent_lost = true;
		ini_fault(l->faults, file, line, "extends: %s", e.text);
		return;
	}
	if (load_file(l, path, &e) < 0) {
		l->parent_lost = true;
		ini_fault(l->faults, file, line, "extends: %s", e.text);
	}
	free(path);
}

static int load_file(struct loading *l, const char *file, struct err *e)
{
	FREE char *text = NULL;
	size_t len;
	unsigned line;

	int r = chain_enter(&l->chain, file, e);
	if (r < 0 || (r = file_read(AT_FDCWD, file, INI_FILE_MAX, &text, &len, e)) < 0)
		return r;
	FREE char *parent = named_extends(text, len, "preset", &line);
	if (parent != NULL)
		load_parent(l, file, parent, line);
	/* A parent's name and summary do not describe its child. */
	free(take_ptr(&l->p->name));
	free(take_ptr(&l->p->summary));
	l->file = file;
	ini_read_text(file, text, len, key_entry, l, l->faults);
	if (l->p->summary == NULL && parent != NULL)
		l->p->summary = xprintf("%s, with changes", parent);
	return 0;
}

static void missing_check(struct loading *l, const char *file)
{
	for (size_t i = 0; i < preset_key_count; i++)
		if (preset_keys[i].needed && !l->stated[i])
			ini_fault(l->faults, file, 0,
				  "says nothing of '%s' in [%s]; state it, or extend a preset that does",
				  preset_keys[i].name, preset_keys[i].section);
}

/* `deny` and `allow` against the set: a slip in a call's name would leave the call as it is without a
 * word. */
static void calls_check(struct loading *l, const char *file, const char *key, char *const *calls)
{
	const struct syscall_set *set = l->p->syscalls;
	char near[128];

	for (char *const *call = calls; set != NULL && call != NULL && *call != NULL; call++) {
		if (syscall_set_group(set, *call) != NULL)
			continue;
		char **known = syscall_set_calls(set);
		ini_fault(l->faults, file, 0,
			  "unknown call '%s' in '%s' of [syscalls]%s (the set '%s' has no such call)", *call,
			  key, ini_nearest(*call, (const char *const *) known, near, sizeof(near)),
			  set->name);
		strv_free(known);
	}
}

/* What can only be seen when all files of the chain have been read. */
static void policy_finish(struct loading *l, const char *file, bool by_name)
{
	struct policy *p = l->p;
	FREE char *stem = named_stem(file);

	if (!l->parent_lost)
		missing_check(l, file);
	calls_check(l, file, "deny", p->deny);
	calls_check(l, file, "allow", p->allow);
	for (char **call = p->deny; call != NULL && *call != NULL; call++)
		if (strv_has(p->allow, *call))
			ini_fault(l->faults, file, 0, "'%s' is in both 'deny' and 'allow' of [syscalls]",
				  *call);
	if (p->name == NULL)
		p->name = xstrdup(stem);
	else if (by_name && strcmp(p->name, stem) != 0)
		ini_fault(l->faults, file, 0, "the name is '%.64s', but the file is %s.ini", p->name, stem);
	if (p->summary == NULL)
		p->summary = xstrdup(p->name);
	p->file = xstrdup(file);
}

/* Reads all that is to be read; faults are gathered. -errno where there is no file to speak of. Gives:
 * *ret. */
static int load(const char *name_or_file, struct ini_faults *faults, struct policy **ret, struct err *e)
{
	bool by_name = strchr(name_or_file, '/') == NULL;
	FREE bool *stated = xcalloc(preset_key_count, sizeof(*stated));
	FREE char *file = NULL;
	struct loading l = { .faults = faults, .stated = stated };
	int r = 0;

	if (by_name)
		r = named_find(PRESET_FOLDER, "preset", name_or_file, NULL, &file, e);
	else
		file = xstrdup(name_or_file);
	if (r < 0)
		return r;
	l.p = policy_new();
	r = load_file(&l, file, e);
	if (r == 0) {
		policy_finish(&l, file, by_name);
		*ret = take_ptr(&l.p);
	}
	policy_free(l.p);
	chain_done(&l.chain);
	return r;
}

int preset_load(const char *name_or_file, struct policy **ret, struct err *e)
{
	struct ini_faults faults = { 0 };
	struct policy *p = NULL;

	int r = load(name_or_file, &faults, &p, e);
	if (r == 0 && faults.count != 0) {
		int first = (int) strcspn(faults.lines.data, "\n");
		if (faults.count == 1)
			r = err_say(e, EINVAL, "%.*s", first, faults.lines.data);
		else
			r = err_say(e, EINVAL, "%.*s (and %zu more: belljar preset check %.100s)", first,
				    faults.lines.data, faults.count - 1, name_or_file);
	}
	if (r == 0)
		*ret = take_ptr(&p);
	policy_free(p);
	ini_faults_done(&faults);
	return r;
}

char **preset_names(void)
{
	return named_list(PRESET_FOLDER);
}

int preset_check(const char *name_or_file, struct buf *faults, struct err *e)
{
	struct ini_faults found = { 0 };
	struct policy *p = NULL;

	int r = load(name_or_file, &found, &p, e);
	policy_free(p);
	if (r == 0) {
		if (found.count > INI_FAULT_MAX)
			buf_printf(&found.lines, "and %zu more\n", found.count - INI_FAULT_MAX);
		if (found.lines.len > 0)
			buf_add(faults, found.lines.data, found.lines.len);
		r = (int) found.count;
	}
	ini_faults_done(&found);
	return r;
}
