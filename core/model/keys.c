/* SPDX-License-Identifier: MIT */
/*
 * The table of a preset's keys, and the few ways in which their values are taken and shown. A value is
 * checked here as far as it can be without asking the machine; whether a backend can hold it is the backend's
 * to say.
 */
#include "core/model/keys.h"

#include "core/base/base.h"
#include "core/model/ini.h"
#include "core/model/launch.h"
#include "core/model/named.h"
#include "core/model/syscalls.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 8
#define SPARE_MAX 1 /* so many are kept */

/* Enumerations of the policy are read and written through one type; gcc and clang give them all this one. */
static_assert(sizeof(enum on_denied) == sizeof(unsigned), "enums of the policy are unsigned");

static void *field_of(struct policy *p, const struct preset_key *k)
{
	return (char *) p + k->field;
}

static const void *field_in(const struct policy *p, const struct preset_key *k)
{
	return (const char *) p + k->field;
}

static int limit_set(struct policy *p, const struct preset_key *k, const char *value, struct err *e)
{
	return limit_parse(k->limit, value, &p->limit[k->limit], e);
}

static void limit_show(const struct policy *p, const struct preset_key *k, struct buf *out)
{
	char text[48];

	buf_str(out, limit_format(k->limit, p->limit[k->limit], text, sizeof(text)));
}

static int word_set(struct policy *p, const struct preset_key *k, const char *value, struct err *e)
{
	const char *names[WORDS_MAX] = { 0 };
	struct buf all = { 0 };
	char near[128];

	for (unsigned i = 0; k->words[i].word != NULL; i++) {
		if (strcmp(k->words[i].word, value) == 0) {
			memcpy(field_of(p, k), &i, sizeof(i));
			buf_done(&all);
			return 0;
		}
		names[i] = k->words[i].word;
		buf_printf(&all, "%s%s", i != 0 ? " | " : "", names[i]);
	}
	int r = err_say(e, EINVAL, "'%.60s' is no value of '%s' in [%s]%s (%s)", value, k->name, k->section,
			ini_nearest(value, names, near, sizeof(near)), all.data);
	buf_done(&all);
	return r;
}

static unsigned word_value(const struct policy *p, const struct preset_key *k)
{
	unsigned value;

	memcpy(&value, field_in(p, k), sizeof(value));
	return value;
}

static void word_show(const struct policy *p, const struct preset_key *k, struct buf *out)
{
	buf_str(out, k->words[word_value(p, k)].word);
}

/* A switch whose words are given, "off" first; the field is a bool. */
static int switch_set(struct policy *p, const struct preset_key *k, const char *value, struct err *e)
{
	bool *field = field_of(p, k);

	if (strcmp(value, k->words[0].word) != 0 && strcmp(value, k->words[1].word) != 0)
		return err_say(e, EINVAL, "'%.60s' is no value of '%s' in [%s] (%s | %s)", value, k->name,
			       k->section, k->words[0].word, k->words[1].word);
	*field = strcmp(value, k->words[1].word) == 0;
	return 0;
}

static void switch_show(const struct policy *p, const struct preset_key *k, struct buf *out)
{
	buf_str(out, k->words[*(const bool *) field_in(p, k)].word);
}

static int text_set(struct policy *p, const struct preset_key *k, const char *value, struct err *e)
{
	char **field = field_of(p, k);

	if (*value == '\0')
		return err_say(e, EINVAL, "'%s' in [%s] has no value", k->name, k->section);
	free(*field);
	*field = xstrdup(value);
	return 0;
}

static void text_show(const struct policy *p, const struct preset_key *k, struct buf *out)
{
	const char *text = *(char *const *) field_in(p, k);

	buf_str(out, text != NULL ? text : "");
}

static int name_set(struct policy *p, const struct preset_key *k, const char *value, struct err *e)
{
	if (!named_ok(value))
		return err_say(e, EINVAL, "'%.64s' is no name; names are of a-z, 0-9, '-', '_' and '.'",
			       value);
	return text_set(p, k, value, e);
}

/* Those that this format knows; whether this version has one is the table of backends' to say. */
static const char *const backends[] = { "subprocess", "namespaces", "microvm", NULL };

static int backend_set(struct policy *p, const struct preset_key *k, const char *value, struct err *e)
{
	char near[128];

	for (const char *const *name = backends; *name != NULL; name++)
		if (strcmp(*name, value) == 0)
			return text_set(p, k, value, e);
	return err_say(e, EINVAL, "unknown backend '%.64s'%s (there are: subprocess, namespaces, microvm)",
		       value, ini_nearest(value, backends, near, sizeof(near)));
}

/* `extends` is followed before any key is taken; here only its form is looked at. */
static int extends_set(struct policy *p, const struct preset_key *k, const char *value, struct err *e)
{
	(void) p;
	if (!named_ok(value))
		return err_say(e, EINVAL, "'%.64s' is no name of a preset for '%s'", value, k->name);
	return 0;
}

static void nothing_show(const struct policy *p, const struct preset_key *k, struct buf *out)
{
	(void) p, (void) k, (void) out;
}

static int run_as_set(struct policy *p, const struct preset_key *k, const char *value, struct err *e)
{
	uint64_t id;

	/* 0 would give root's own id to the target; the last value means "no change" to setuid(2)'s kin. */
	if (str_to_u64(value, &id) < 0 || id == 0 || id >= UINT32_MAX)
		return err_say(e, EINVAL,
			       "'%s' cannot be '%.40s'; write an unprivileged user's number, as 65534",
			       k->name, value);
	p->run_as = (uint32_t) id;
	return 0;
}

static void u32_show(const struct policy *p, const struct preset_key *k, struct buf *out)
{
	buf_printf(out, "%u", *(const uint32_t *) field_in(p, k));
}

static int spare_set(struct policy *p, const struct preset_key *k, const char *value, struct err *e)
{
	uint64_t count;

	if (str_to_u64(value, &count) < 0 || count > SPARE_MAX)
		return err_say(e, EINVAL, "'%s' cannot be '%.40s'; write 0 or %d", k->name, value, SPARE_MAX);
	p->microvm.spare = (uint32_t) count;
	return 0;
}

/* Splits a value and takes it for the key's list once each word has passed `check`, which may put another
 * in its place. */
static int list_take(struct policy *p, const struct preset_key *k, const char *value,
		     int (*check)(const struct preset_key *k, char **word, struct err *e), struct err *e)
{
	char ***field = field_of(p, k), **list = strv_split(value);

	for (char **word = list; word != NULL && *word != NULL; word++) {
		int r = check(k, word, e);
		if (r < 0) {
			strv_free(list);
			return r;
		}
	}
	strv_free(*field);
	*field = list;
	return 0;
}

static void list_show(const struct policy *p, const struct preset_key *k, struct buf *out)
{
	char **list = *(char **const *) field_in(p, k);

	for (char **word = list; word != NULL && *word != NULL; word++)
		buf_printf(out, "%s%s", word == list ? "" : " ", *word);
}

/* An absolute path without tricks. "~/x" is one below HOME. */
static int path_check(const struct preset_key *k, char **path, struct err *e)
{
	const char *home = getenv("HOME");

	if (str_starts(*path, "~/") && home != NULL && *home == '/') {
		char *whole = xprintf("%s%s", home, *path + 1);
		free(*path);
		*path = whole;
	}
	if (**path != '/')
		return err_say(
			e, EINVAL,
			"'%.100s' in '%s' is no absolute path (paths with blanks cannot be given here)",
			*path, k->name);
	for (size_t len = strlen(*path); len > 1 && (*path)[len - 1] == '/'; len--)
		(*path)[len - 1] = '\0';
	if (strstr(*path, "/../") != NULL || str_ends(*path, "/.."))
		return err_say(e, EINVAL, "'%.100s' in '%s' has '..' in it; write the path that is meant",
			       *path, k->name);
	if (strcmp(*path, "/") == 0)
		return err_say(e, EINVAL, "'/' in '%s' would be everything; name the folders", k->name);
	return 0;
}

static int paths_set(struct policy *p, const struct preset_key *k, const char *value, struct err *e)
{
	return list_take(p, k, value, path_check, e);
}

static int root_set(struct policy *p, const struct preset_key *k, const char *value, struct err *e)
{
	FREE char *path = xstrdup(value);

	if (strcmp(value, "host-usr") != 0 && strcmp(value, "host") != 0) {
		if (*value != '/' && *value != '~')
			return err_say(e, EINVAL,
				       "'%.60s' is no value of 'root' (host-usr | host | a folder's or "
				       "image's path)",
				       value);
		int r = path_check(k, &path, e);
		if (r < 0)
			return r;
	}
	return text_set(p, k, path, e);
}

static int call_check(const struct preset_key *k, char **word, struct err *e)
{
	if (!syscall_name_ok(*word))
		return err_say(e, EINVAL, "'%.40s' in '%s' is no name of a system call", *word, k->name);
	return 0;
}

static int calls_set(struct policy *p, const struct preset_key *k, const char *value, struct err *e)
{
	return list_take(p, k, value, call_check, e);
}

static int variable_check(const struct preset_key *k, char **word, struct err *e)
{
	size_t len = strspn(*word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

	if ((*word)[len] != '\0' || (**word >= '0' && **word <= '9'))
		return err_say(e, EINVAL, "'%.60s' in '%s' is no name of an environment variable", *word,
			       k->name);
	return 0;
}

static int variables_set(struct policy *p, const struct preset_key *k, const char *value, struct err *e)
{
	return list_take(p, k, value, variable_check, e);
}

static int language_check(const struct preset_key *k, char **word, struct err *e)
{
	const struct language *lang = language_by_name(*word);

	if (lang == NULL)
		return err_say(e, EINVAL, "'%.40s' in '%s' is no language", *word, k->name);
	free(*word);
	*word = xstrdup(lang->name);
	return 0;
}

static int languages_set(struct policy *p, const struct preset_key *k, const char *value, struct err *e)
{
	return list_take(p, k, value, language_check, e);
}

static int base_set(struct policy *p, const struct preset_key *k, const char *value, struct err *e)
{
	struct syscall_set *set;

	(void) k;
	int r = syscall_set_load(value, &set, e);
	if (r < 0)
		return r;
	syscall_set_free(p->syscalls);
	p->syscalls = set;
	return 0;
}

static void base_show(const struct policy *p, const struct preset_key *k, struct buf *out)
{
	(void) k;
	buf_str(out, p->syscalls != NULL ? p->syscalls->name : "");
}

static const struct key_word output_words[] = {
	[OUTPUT_DROP] = { "drop", "what is over is dropped and counted, the run goes on" },
	[OUTPUT_STOP] = { "stop", "the run is stopped" },
	{ NULL, NULL },
};
static const struct key_word require_words[] = {
	[REQUIRE_ANY] = { "any", "limits may be held by the kernel, by the supervisor, or by sampling" },
	[REQUIRE_KERNEL] = { "kernel", "no start where a limit would only be sampled" },
	{ NULL, NULL },
};
static const struct key_word network_words[] = {
	[NETWORK_NONE] = { "none", "no way out, loopback of its own at most" },
	[NETWORK_HOST] = { "host", "the host's network, unrestricted" },
	{ NULL, NULL },
};
static const struct key_word denied_words[] = {
	[DENIED_ERRNO] = { "errno", "a refused call returns an error, the program goes on" },
	[DENIED_KILL] = { "kill", "a refused call ends the run" },
	[DENIED_ASK] = { "ask", "a refused call waits for the person's answer" },
	{ NULL, NULL },
};
static const struct key_word files_words[] = {
	[FILES_OFF] = { "off", "not watched" },
	[FILES_ATTEMPTS] = { "attempts", "each attempt to open or change a file is shown" },
	{ NULL, NULL },
};
static const struct key_word accel_words[] = {
	[ACCEL_AUTO] = { "auto", "KVM where it works, else emulation" },
	[ACCEL_KVM] = { "kvm", "KVM or no start" },
	[ACCEL_TCG] = { "tcg", "emulation" },
	{ NULL, NULL },
};
static const struct key_word denied_switch[] = {
	{ "off", "refused calls are not shown" },
	{ "denied", "each refused call is shown" },
	{ NULL, NULL },
};
static const struct key_word network_switch[] = {
	{ "off", "not watched" },
	{ "on", "each attempt to reach an address is shown" },
	{ NULL, NULL },
};
static const struct key_word exec_switch[] = {
	{ "off", "not watched" },
	{ "on", "each program started is shown" },
	{ NULL, NULL },
};

#define FIELD(f) .field = offsetof(struct policy, f)
#define LIMIT(n, w)                                                                                   \
	{                                                                                             \
		.section = "limits", .name = (w), .set = limit_set, .show = limit_show, .limit = (n), \
		.needed = true                                                                        \
	}
#define TEXT      .set = text_set, .show = text_show
#define WORD(w)   .set = word_set, .show = word_show, .words = (w)
#define SWITCH(w) .set = switch_set, .show = switch_show, .words = (w)

const struct preset_key preset_keys[] = {
	{ "preset", "name", "how it is asked for", name_set, text_show, FIELD(name), .label = true },
	{ "preset", "summary", "what it is for", TEXT, FIELD(summary), .label = true },
	{ "preset", "extends", "another preset, taken first", extends_set, nothing_show, .label = true },
	{ "preset", "backend", "the mechanism that isolates", backend_set, text_show, FIELD(backend),
	  .needed = true },
	{ "preset", "run_as", "host id of the target where belljar is run by root", run_as_set, u32_show,
	  FIELD(run_as) },
	LIMIT(LIMIT_WALL, "wall"),
	LIMIT(LIMIT_CPU, "cpu"),
	LIMIT(LIMIT_CPUS, "cpus"),
	LIMIT(LIMIT_MEMORY, "memory"),
	LIMIT(LIMIT_PROCESSES, "processes"),
	LIMIT(LIMIT_OPEN_FILES, "open_files"),
	LIMIT(LIMIT_FILE_SIZE, "file_size"),
	LIMIT(LIMIT_SPACE, "space"),
	LIMIT(LIMIT_INODES, "inodes"),
	LIMIT(LIMIT_OUTPUT, "output"),
	{ "limits", "on_output_limit", "where there is more output", WORD(output_words),
	  FIELD(on_output_limit) },
	{ "limits", "require", "how firmly limits must hold", WORD(require_words), FIELD(require) },
	{ "filesystem", "root", "what the target sees as /", root_set, text_show, FIELD(root) },
	{ "filesystem", "read_only", "more host paths, read-only", paths_set, list_show, FIELD(read_only) },
	{ "filesystem", "writable", "folders it may write to: fresh, sized, gone afterwards", paths_set,
	  list_show, FIELD(writable) },
	{ "network", "policy", "what of the network it has", WORD(network_words), FIELD(network) },
	{ "syscalls", "base", "the named set of system calls", base_set, base_show, .needed = true },
	{ "syscalls", "deny", "calls refused besides", calls_set, list_show, FIELD(deny) },
	{ "syscalls", "allow", "calls allowed besides", calls_set, list_show, FIELD(allow) },
	{ "syscalls", "on_denied", "what a refused call comes to", WORD(denied_words), FIELD(on_denied) },
	{ "environment", "pass", "variables handed on; all others are left out", variables_set, list_show,
	  FIELD(pass) },
	{ "observe", "syscalls", "refused calls", SWITCH(denied_switch), FIELD(observe.denied) },
	{ "observe", "network", "network", SWITCH(network_switch), FIELD(observe.network) },
	{ "observe", "files", "files", WORD(files_words), FIELD(observe.files) },
	{ "observe", "exec", "programs", SWITCH(exec_switch), FIELD(observe.exec) },
	{ "microvm", "accel", "how the virtual machine runs", WORD(accel_words), FIELD(microvm.accel) },
	{ "microvm", "languages", "languages that its image holds, as copies of the host's", languages_set,
	  list_show, FIELD(microvm.languages) },
	{ "microvm", "spare", "machines that the screens keep ready: 0 or 1", spare_set, u32_show,
	  FIELD(microvm.spare) },
};
const size_t preset_key_count = ARRAY_LEN(preset_keys);

bool key_counts(const struct policy *p, const struct preset_key *k)
{
	char *const own[] = { p->backend, NULL };
	return !strv_has((char *const *) backends, k->section) || strv_has(own, k->section);
}

const struct preset_key *key_find(const char *section, const char *name, struct err *e)
{
	const char *names[ARRAY_LEN(preset_keys) + 1] = { 0 };
	const char *elsewhere = NULL;
	size_t count = 0;
	char near[128];

	for (size_t i = 0; i < preset_key_count; i++) {
		const struct preset_key *k = &preset_keys[i];
		bool here = strcmp(k->section, section) == 0, named = strcmp(k->name, name) == 0;
		if (here && named)
			return k;
		if (here)
			names[count++] = k->name;
		else if (named)
			elsewhere = k->section;
	}
	if (elsewhere != NULL)
		err_say(e, EINVAL, "unknown key '%s' in [%s]; it belongs in [%s]", name, section, elsewhere);
	else
		err_say(e, EINVAL, "unknown key '%s' in [%s]%s", name, section,
			ini_nearest(name, names, near, sizeof(near)));
	return NULL;
}

int key_section_check(const char *section, struct err *e)
{
	const char *names[ARRAY_LEN(preset_keys) + 1] = { 0 };
	char near[128];

	for (size_t i = 0; i < preset_key_count; i++) {
		if (strcmp(preset_keys[i].section, section) == 0)
			return 0;
		names[i] = preset_keys[i].section;
	}
	return err_say(e, EINVAL, "unknown section [%s]%s", section,
		       ini_nearest(section, names, near, sizeof(near)));
}

const char *key_means(const struct preset_key *k)
{
	return k->set == limit_set ? limit_kinds[k->limit].means : k->means;
}

const char *key_value_means(const struct policy *p, const struct preset_key *k)
{
	if (k->set == root_set && strcmp(p->root, "host") == 0)
		return "the host's files as they are, with the rights that the target's user has to them";
	if (k->set == root_set && strcmp(p->root, "host-usr") == 0)
		return "a read-only view of the host's /usr and what it needs";
	if (k->set == word_set)
		return k->words[word_value(p, k)].means;
	if (k->set == switch_set)
		return k->words[*(const bool *) field_in(p, k)].means;
	return NULL;
}

/* What may stand for a value: the words of an enum, or the kind of thing. */
static void values_describe(const struct preset_key *k, struct buf *out)
{
	static const char *const unit_values[] = {
		[UNIT_TIME] = "TIME (ms s m)",
		[UNIT_CORES] = "CORES",
		[UNIT_BYTES] = "SIZE (K M G)",
		[UNIT_COUNT] = "COUNT",
	};
	static const struct {
		key_set_fn set;
		const char *value;
	} kinds[] = {
		{ name_set, "NAME" },
		{ extends_set, "NAME" },
		{ base_set, "NAME" },
		{ text_set, "WORDS" },
		{ run_as_set, "NUMBER" },
		{ spare_set, "NUMBER" },
		{ root_set, "host-usr | host | PATH" },
		{ paths_set, "PATH ..." },
		{ calls_set, "CALL ..." },
		{ variables_set, "VARIABLE ..." },
		{ languages_set, "LANGUAGE ..." },
	};

	if (k->set == limit_set)
		buf_printf(out, "%s", unit_values[limit_kinds[k->limit].unit]);
	for (size_t i = 0; k->words != NULL && k->words[i].word != NULL; i++)
		buf_printf(out, "%s%s", i != 0 ? " | " : "", k->words[i].word);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (k->set == kinds[i].set)
			buf_str(out, kinds[i].value);
}

void preset_keys_describe(struct buf *out)
{
	for (size_t i = 0; i < preset_key_count; i++) {
		const struct preset_key *k = &preset_keys[i];
		struct buf values = { 0 };
		FREE char *name = xprintf("%s.%s", k->section, k->name);
		values_describe(k, &values);
		buf_printf(out, "%-24s %-12s  %s\n", name, values.data, key_means(k));
		buf_done(&values);
	}
}
