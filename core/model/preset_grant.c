/* SPDX-License-Identifier: MIT */
/*
 * From "this was refused" to a preset of the person's own that allows it: text in, text out. Of a file that is there one
 * value is set and every other byte stays, comments and order too; a file that is not understood is refused. Nothing is
 * written here.
 */
#include "core/model/policy.h"

#include "core/base/base.h"
#include "core/model/ini.h"
#include "core/model/named.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct change {
	const char *section, *key;
	char *value; /* all of it: a preset's list takes the place of the list of the one that it extends */
};

/* ---- what has to be set ---- */

static char *list_with(char *const *list, const char *more)
{
	struct buf all = { 0 };

	for (; list != NULL && *list != NULL; list++)
		buf_printf(&all, "%s ", *list);
	buf_str(&all, more);
	return all.data;
}

static int grant_call(const struct policy *p, const char *call, struct change *ret, struct err *e)
{
	const char *rule = "";
	enum syscall_action action = policy_syscall(p, call, &rule);

	if (action == SYSCALL_ALLOW)
		return err_say(e, EPERM,
			       "%s is allowed; what was refused of it, by its arguments, no preset gives",
			       call);
	if (strv_has(p->deny, call))
		return err_say(e, EPERM,
			       "%s stands in 'deny' of [syscalls]: what a preset takes away it cannot give",
			       call);
	if (*rule == '\0')
		return err_say(e, ENOENT, "no set of calls knows %s, so that no preset can give it", call);
	*ret = (struct change){ "syscalls", "allow", list_with(p->allow, call) };
	return 0;
}

static int grant_path(const struct policy *p, const char *path, struct change *ret, struct err *e)
{
	for (const char *c = path; *c != '\0'; c++)
		if ((unsigned char) *c <= ' ' || *c == 0x7f || *c == ';' || *c == ',')
			return err_say(e, EINVAL,
				       "a path with blanks, ',', ';' or control characters cannot stand in a "
				       "preset");
	if (*path != '/' || path[1] == '\0' || !text_is_utf8(path, strlen(path)))
		return err_say(e, EINVAL, "only an absolute path other than / can stand in a preset");
	if (strv_has(p->read_only, path))
		return err_say(e, EEXIST, "it is in 'read_only' already");
	*ret = (struct change){ "filesystem", "read_only", list_with(p->read_only, path) };
	return 0;
}

static int grant_change(const struct policy *p, const struct preset_grant *g, struct change *ret,
			struct err *e)
{
	switch (g->kind) {
	case GRANT_CALL:
		return grant_call(p, g->what, ret, e);
	case GRANT_PATH:
		return grant_path(p, g->what, ret, e);
	case GRANT_NETWORK:
		break;
	}
	if (p->network == NETWORK_HOST)
		return err_say(e, EEXIST, "it has the host's network already");
	*ret = (struct change){ "network", "policy", xstrdup("host") };
	return 0;
}

/* ---- setting it in a text ---- */

/* What is known of a text once it was walked: offsets, 0 where it is not there (no value stands at the beginning). */
struct place {
	size_t value, value_end; /* value_end: where a remark or the end of the line begins */
	size_t behind;           /* the last line of the section that is no blank and no comment */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The value in a line "key = value ; remark" from `at` on, as inih reads it. */
static void place_value(const char *text, size_t at, size_t end, struct place *ret)
{
	while (at < end && text[at] != '=')
		at++;
	size_t from = ++at;
	while (at < end && is_blank(text[at]))
		at++;
	if (at == end || text[at] == ';') /* none yet: the blanks before a remark are room for it */
		at = from < at && text[from] != '\r' ? from + 1 : from;
	ret->value = at;
	while (at < end && !(text[at] == ';' && is_blank(text[at - 1])))
		at++;
	ret->value_end = at;
}

static bool is_word(const char *text, size_t at, size_t end, const char *word)
{
	size_t len = strlen(word);
	return end - at > len && memcmp(text + at, word, len) == 0 &&
	       (is_blank(text[at + len]) || text[at + len] == '=' || text[at + len] == ']');
}

static struct place place_find(const char *text, size_t len, const struct change *c)
{
	struct place found = { 0 };
	bool inside = false;

	for (size_t at = 0, end; at < len; at = end + 1) {
		const char *nl = memchr(text + at, '\n', len - at);
		end = nl != NULL ? (size_t) (nl - text) : len;
		if (text[at] == '[')
			inside = is_word(text, at + 1, end, c->section);
		else if (inside && is_word(text, at, end, c->key))
			place_value(text, at, end, &found);
		if (inside && at < end && text[at] != ';' && text[at] != '#' && !is_blank(text[at]))
			found.behind = end;
	}
	return found;
}

/* The new value, and the remark behind it where it was if there is room. */
static void put_value(const char *text, const struct place *at, const char *value, struct buf *out)
{
	size_t room = at->value_end - at->value, len = strlen(value);
	bool remark = text[at->value_end] == ';';

	buf_str(out, text[at->value - 1] == '=' ? " " : "");
	buf_str(out, value);
	if (remark)
		buf_printf(out, "%*s", len < room ? (int) (room - len) : 1, "");
	else if (at->value_end > 0 && text[at->value_end - 1] == '\r')
		buf_str(out, "\r");
}

static void text_set(const char *text, size_t len, const struct change *c, struct buf *out)
{
	struct place at = place_find(text, len, c);

	if (at.value != 0) {
		buf_add(out, text, at.value);
		put_value(text, &at, c->value, out);
		buf_add(out, text + at.value_end, len - at.value_end);
		return;
	}
	size_t cut = at.behind != 0 ? at.behind : len;
	buf_add(out, text, cut);
	if (at.behind == 0)
		buf_printf(out, "%s\n[%s]", cut == 0 || text[cut - 1] == '\n' ? "" : "\n", c->section);
	buf_printf(out, "\n%s = %s", c->key, c->value);
	buf_add(out, text + cut, len - cut);
	if (cut == len)
		buf_str(out, "\n");
}

/* ---- the whole ---- */

static int no_entry(void *arg, const struct ini_entry *entry, struct err *e)
{
	(void) arg;
	(void) entry;
	(void) e;
	return 0;
}

static int text_check(const char *name, const char *text, size_t len, const char *base, struct err *e)
{
	struct ini_faults faults = { 0 };
	unsigned line;
	int r = 0;

	ini_read_text(name, text, len, no_entry, NULL, &faults);
	FREE char *extends = named_extends(text, len, "preset", &line);
	if (faults.count != 0)
		r = err_say(e, EINVAL, "it is left as it is: %.*s", (int) strcspn(faults.lines.data, "\n"),
			    faults.lines.data);
	else if (strcmp(name, base) != 0 && (extends == NULL || strcmp(extends, base) != 0))
		r = err_say(e, EEXIST, "%s is another preset of yours, which does not extend %s", name, base);
	ini_faults_done(&faults);
	return r;
}

int preset_grant(const struct policy *p, const struct preset_grant *g, const struct preset_text *text,
		 struct buf *out, struct err *e)
{
	struct change c = { 0 };
	int r = 0;

	if (!named_ok(text->name))
		return err_say(e, EINVAL,
			       "'%.40s' is no name for a preset: lower-case letters, digits, - _ .",
			       text->name);
	if (text->text != NULL)
		r = text_check(text->name, text->text, text->len, text->base, e);
	if (r < 0 || (r = grant_change(p, g, &c, e)) < 0)
		return r;
	if (text->text != NULL) {
		text_set(text->text, text->len, &c, out);
	} else {
		FREE char *head = xprintf("; What this file does not say is as in %s.\n[preset]\nname = %s\n"
					  "summary = %s, and what was allowed by hand\nextends = %s\n",
					  text->base, text->name, text->base, text->base);
		text_set(head, strlen(head), &c, out);
	}
	free(c.value);
	return 0;
}
