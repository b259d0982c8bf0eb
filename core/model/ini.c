/* SPDX-License-Identifier: MIT */
/*
 * The only user of inih. The library cuts lines at a fixed length, cuts names, takes an indented line for
 * more of the value above, drops what follows a section's bracket, and tells none of it. So each line goes
 * first through a reader of our own that counts it and refuses what the library would swallow; a refused line
 * reaches the library as an empty one.
 */
#include "core/model/ini.h"

#include "core/base/base.h"

#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seen { /* a key that the file has already given */
	char *section, *key;
	uint32_t sum; /* see key_sum() */
	unsigned line;
};

struct reader {
	const char *file;
	const char *p, *end;
	unsigned line;
	bool in_section;
	ini_fn fn;
	void *arg;
	struct ini_faults *faults;
	struct seen *seen;
	size_t seen_count;
};

void ini_fault(struct ini_faults *f, const char *file, unsigned line, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (++f->count > INI_FAULT_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (line != 0)
		buf_printf(&f->lines, "%s:%u: %s\n", file, line, text);
	else
		buf_printf(&f->lines, "%s: %s\n", file, text);
}

void ini_faults_done(struct ini_faults *f)
{
	buf_done(&f->lines);
	f->count = 0;
}

const char *ini_nearest(const char *word, const char *const *names, char *buf, size_t size)
{
	const char *near = str_nearest(word, names);

	buf[0] = '\0';
	if (near != NULL)
		snprintf(buf, size, "; did you mean '%s'?", near);
	return buf;
}

/* Hands an entry to the caller; its fault gets file and line. */
static void entry_tell(struct reader *r, const char *section, const char *key, const char *value)
{
	const struct ini_entry entry = {
		.file = r->file, .line = r->line, .section = section, .key = key, .value = value
	};
	struct err e = { 0 };

	if (r->fn(r->arg, &entry, &e) < 0)
		ini_fault(r->faults, r->file, r->line, "%s", e.text);
}

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

/* "[name]", then at most a comment. Returns what is wrong with the line, or NULL. */
static const char *section_check(struct reader *r, const char *s)
{
	const char *close = strchr(s, ']');
	char name[INI_NAME_MAX + 1];

	if (close == NULL)
		return "the section has no closing ']'";
	size_t len = (size_t) (close - s) - 1;
	const char *rest = skip_blanks(close + 1);
	if (*rest != '\0' && *rest != ';' && *rest != '#')
		return "something follows the section's ']'; a key needs a line of its own";
	if (len == 0 || len > INI_NAME_MAX || memchr(s + 1, ' ', len) != NULL ||
	    memchr(s + 1, ';', len) != NULL)
		return "not a section's name; write [name]";
	snprintf(name, sizeof(name), "%.*s", (int) len, s + 1);
	r->in_section = true;
	entry_tell(r, name, NULL, NULL);
	return NULL;
}

/* "key = value". Returns what is wrong with the line, or NULL. */
static const char *key_check(const struct reader *r, const char *s)
{
	size_t len = strcspn(s, "=:; \t");

	if (*skip_blanks(s + len) != '=' || len == 0)
		return "not understood; write KEY = VALUE, [SECTION] or ; COMMENT";
	if (len > INI_NAME_MAX)
		return "the key's name is too long";
	if (!r->in_section)
		return "a key stands before any [section]";
	return NULL;
}

/* Printable ASCII and tabs, as nearly every line of nearly every file. */
static bool is_plain(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((s[i] < 0x20 && s[i] != '\t') || s[i] >= 0x7f)
			return false;
	return true;
}

/* What is wrong with the bytes of a line, or NULL. */
static const char *bytes_check(const char *s, size_t len)
{
	if (is_plain(s, len))
		return NULL;
	if (!text_is_utf8(s, len))
		return "not UTF-8";
	for (size_t i = 0; i < len; i++)
		if (((unsigned char) s[i] < 0x20 && s[i] != '\t') || s[i] == 0x7f)
			return "a control character (or NUL) stands in the line";
	return NULL;
}

/* What is wrong with a line without its newline, or NULL where the library may have it. */
static const char *line_check(struct reader *r, const char *s, size_t len)
{
	const char *wrong = bytes_check(s, len);

	if (wrong != NULL)
		return wrong;
	const char *text = skip_blanks(s);
	if (*text == '\0' || *text == ';' || *text == '#')
		return NULL;
	if (text != s)
		return "the line begins with a blank; a value cannot go on from the line above";
	return *s == '[' ? section_check(r, s) : key_check(r, s);
}

/* Like fgets(3) for the library; called once a line. */
static char *line_read(char *space, int size, void *arg)
{
	struct reader *r = arg;
	size_t room = (size_t) size < INI_LINE_MAX + 3 ? (size_t) size - 3 : INI_LINE_MAX;

	if (r->p == r->end)
		return NULL;
	const char *nl = memchr(r->p, '\n', (size_t) (r->end - r->p));
	const char *stop = nl != NULL ? nl : r->end;
	size_t len = (size_t) (stop - r->p);
	const char *line = r->p;
	r->p = nl != NULL ? nl + 1 : r->end;
	r->line++;
	if (len > 0 && line[len - 1] == '\r')
		len--;
	const char *wrong = NULL;
	if (len > room) {
		ini_fault(r->faults, r->file, r->line, "the line is longer than %zu bytes", room);
		len = 0;
	}
	memcpy(space, line, len);
	space[len] = '\0';
	if ((wrong = line_check(r, space, len)) != NULL) {
		ini_fault(r->faults, r->file, r->line, "%s", wrong);
		len = 0;
	}
	space[len] = '\n';
	space[len + 1] = '\0';
	return space;
}

/* Of a key's bytes: each new key is held against all before it, two hundred in a set of calls. */
static uint32_t key_sum(const char *key)
{
	uint32_t sum = 0;

	for (; *key != '\0'; key++)
		sum = sum * 31 + (unsigned char) *key;
	return sum;
}

static const struct seen *seen_find(const struct reader *r, const char *section, const char *key)
{
	uint32_t sum = key_sum(key);

	for (size_t i = 0; i < r->seen_count; i++)
		if (r->seen[i].sum == sum && strcmp(r->seen[i].key, key) == 0 &&
		    strcmp(r->seen[i].section, section) == 0)
			return &r->seen[i];
	return NULL;
}

/* The library's callback, for each "key = value" that line_check let pass. */
static int entry_found(void *arg, const char *section, const char *key, const char *value)
{
	struct reader *r = arg;
	const struct seen *first = seen_find(r, section, key);

	if (first != NULL) {
		ini_fault(r->faults, r->file, r->line, "'%s' stands twice in [%s]; the first is in line %u",
			  key, section, first->line);
		return 1;
	}
	if (r->seen_count == INI_ENTRY_MAX) {
		ini_fault(r->faults, r->file, r->line, "more than %d keys in one file", INI_ENTRY_MAX);
		r->p = r->end;
		return 1;
	}
	r->seen = xrealloc(r->seen, (r->seen_count + 1) * sizeof(*r->seen));
	r->seen[r->seen_count++] = (struct seen){
		.section = xstrdup(section), .key = xstrdup(key), .sum = key_sum(key), .line = r->line
	};
	entry_tell(r, section, key, value);
	return 1;
}

void ini_read_text(const char *file, const char *text, size_t len, ini_fn fn, void *arg,
		   struct ini_faults *faults)
{
	struct reader r = {
		.file = file, .p = text, .end = text + len, .fn = fn, .arg = arg, .faults = faults
	};
	size_t faults_before = faults->count;

	if (len > INI_FILE_MAX) {
		ini_fault(faults, file, 0, "larger than %u KiB", INI_FILE_MAX >> 10);
		return;
	}
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.p += 3;
	ini_max_line = INI_LINE_MAX + 3; /* the library's own, and ours alone to set: the default is 200 */
	int rc = ini_parse_stream(line_read, &r, entry_found, &r);
	/* The library found what the reader did not: say so all the same. */
	if (rc != 0 && faults->count == faults_before)
		ini_fault(faults, file, rc > 0 ? (unsigned) rc : 0, "not understood");
	for (size_t i = 0; i < r.seen_count; i++) {
		free(r.seen[i].section);
		free(r.seen[i].key);
	}
	free(r.seen);
}
