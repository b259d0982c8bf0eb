/* SPDX-License-Identifier: MIT */
/*
 * What the target executes and finds in its environment. The environment starts empty: nothing of ours comes in but
 * what the preset passes and the launch adds.
 */
#include "core/backend/child.h"

#include "core/base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "%i" the interpreter, "%f" the code, "%t" a place to compile to; also inside a longer word, for sh -c. */
static char *argument_expand(const char *pattern, const char *program, const char *code, const char *tmp)
{
	struct buf out = { 0 };
	for (const char *p = pattern; *p; p++) {
		const char *with = *p != '%' ? NULL : p[1] == 'i' ? program : p[1] == 'f' ? code : NULL;
		if (with) {
			buf_str(&out, with);
			p++;
		} else if (*p == '%' && p[1] == 't') {
			buf_printf(&out, "%s/program", tmp);
			p++;
		} else {
			buf_add(&out, p, 1);
		}
	}
	return buf_steal(&out);
}

static int argv_build(struct instance *i, const struct target_places *at, const char *code_path,
		      struct err *e)
{
	const struct launch *l = i->launch;
	FREE char *program = NULL;
	int r;
	if (!l->language) {
		if (!l->argv || !l->argv[0])
			return err_say(
				e, EINVAL,
				"there is nothing to run: give a file, '-', -c CODE, or a command after --");
		if ((r = program_find(l->argv[0], l->policy, &program, e)) < 0) {
			i->program_missing = r == -ENOENT || r == -EACCES;
			return r;
		}
		i->argv = strv_add(NULL, program);
		for (char **a = l->argv + 1; *a; a++)
			i->argv = strv_add(i->argv, *a);
		return 0;
	}
	if ((r = language_find_program(l->language, l->policy, &program, e)) < 0)
		return r;
	for (const char *const *a = l->language->argv; *a; a++) {
		FREE char *word = argument_expand(*a, program, code_path, at->tmp);
		i->argv = strv_add(i->argv, word);
	}
	for (char **a = l->argv; a && *a; a++)
		i->argv = strv_add(i->argv, *a);
	return 0;
}

static bool env_names(const char *entry, const char *name)
{
	size_t len = strlen(name);
	return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

/* Sets K=V, in the place of an older value of the same name. */
static char **env_set(char **env, const char *name, const char *value)
{
	char *entry = xprintf("%s=%s", name, value);
	for (char **v = env; v && *v; v++)
		if (env_names(*v, name)) {
			free(*v);
			*v = entry;
			return env;
		}
	env = strv_add(env, entry);
	free(entry);
	return env;
}

static char **env_build(const struct launch *l, const struct target_places *at)
{
	/* A terminal that can do nothing keeps honest programs from writing escapes; UTF-8 whatever our own locale is. */
	const char *const fixed[][2] = {
		{ "PATH", TARGET_PATH }, { "HOME", at->home },         { "TMPDIR", at->tmp },
		{ "USER", at->user },    { "LOGNAME", at->user },      { "SHELL", "/bin/sh" },
		{ "LANG", "C.UTF-8" },   { "TERM", "dumb" },           { "NO_COLOR", "1" },
		{ "PAGER", "cat" },      { "BELLJAR_RUN", l->run_id },
	};
	char **env = NULL;
	for (size_t k = 0; k < ARRAY_LEN(fixed); k++)
		env = env_set(env, fixed[k][0], fixed[k][1]);
	for (char **name = l->policy->pass; name && *name; name++)
		if (getenv(*name))
			env = env_set(env, *name, getenv(*name));
	for (char **v = l->env; v && *v; v++) {
		FREE char *name = xstrdup(*v);
		char *eq = strchr(name, '=');
		if (!eq)
			continue;
		*eq = 0;
		env = env_set(env, name, eq + 1);
	}
	return env;
}

int command_build(struct instance *i, const struct target_places *at, char **ret_code_path, struct err *e)
{
	const struct launch *l = i->launch;
	FREE char *code_path = l->language ? xprintf("%s/%s", at->code_dir, l->language->file) : NULL;
	int r = argv_build(i, at, code_path, e);
	if (r < 0)
		return r;
	i->env = env_build(l, at);
	*ret_code_path = take_ptr(&code_path);
	return 0;
}
