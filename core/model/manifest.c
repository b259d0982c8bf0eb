/* SPDX-License-Identifier: MIT */
/*
 * Manifests from INI files. A slip in one must never turn into an attack that silently counts as stopped: what is
 * missing, unknown or contradicts itself is a fault.
 */
#include "core/model/manifest.h"

#include "core/base/base.h"
#include "core/model/ini.h"
#include "core/model/launch.h"
#include "core/model/named.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STANDARD    "examples/attacks/suite.ini"
#define EXPECT_MAX  16
#define CONTROL_MAX (60 * NS_PER_S)
#define KEYS_MAX    32

struct reading {
	struct manifest *m;
	const char *file;
	unsigned line; /* of the section in hand */
	struct ini_faults *faults;
};

/* clang-format off */
static const char *const verdict_names[] = {
	[CELL_STOPPED] = "stopped", [CELL_SUCCEEDED] = "succeeded", [CELL_CONTAINED] = "contained",
	[CELL_NOT_RUN] = "not-run", [CELL_INCONCLUSIVE] = "inconclusive", [CELL_VERDICT_MAX] = "",
};
static const char *const fixture_names[] = {
	[FIXTURE_NONE] = "none", [FIXTURE_CREDENTIALS] = "credentials", [FIXTURE_SERVICE] = "service",
};
/* clang-format on */

const char *cell_verdict_name(enum cell_verdict v)
{
	return verdict_names[v];
}

const char *stopper_name(int s)
{
	return s == STOPPER_FILE ? "file" : s == STOPPER_NETWORK ? "network" : limit_kinds[s].name;
}

/* Index of a word among the first `count` of a list; -EINVAL with the nearest of these. */
static int word_find(const char *word, const char *const *names, int count, struct err *e)
{
	const char *known[SUITE_ATTACKS_MAX + 1] = { NULL };
	char near[128];

	for (int i = 0; i < count; i++) {
		if (strcmp(word, names[i]) == 0)
			return i;
		known[i] = names[i];
	}
	return err_say(e, EINVAL, "'%.40s' is not known here%s", word,
		       ini_nearest(word, known, near, sizeof(near)));
}

/* ---- keys ---- */

/* A name, not a path: a suite runs what lies beside it. */
static int set_program(struct reading *r, struct attack *a, const char *value, struct err *e)
{
	const char *slash = strrchr(r->file, '/');

	if (strchr(value, '/') || value[0] == '.')
		return err_say(e, EINVAL, "'%.60s' must be the name of a file beside the manifest", value);
	free(a->program);
	a->program = xprintf("%.*s/%s", slash ? (int) (slash - r->file) : 1, slash ? r->file : ".", value);
	return access(a->program, R_OK) < 0 ? err_set(e, errno, "read %s", a->program) : 0;
}

static int set_language(struct reading *r, struct attack *a, const char *value, struct err *e)
{
	(void) r;
	if (!language_by_name(value))
		return err_say(e, EINVAL, "the language '%.40s' is not known", value);
	free(a->language);
	a->language = xstrdup(value);
	return 0;
}

static int set_fixture(struct reading *r, struct attack *a, const char *value, struct err *e)
{
	int found = word_find(value, fixture_names, FIXTURE_MAX, e);

	(void) r;
	if (found < 0)
		return found;
	a->fixture = (enum fixture) found;
	return 0;
}

static int set_stopped_by(struct reading *r, struct attack *a, const char *value, struct err *e)
{
	const char *names[STOPPER_MAX];
	char **words = strv_split(value);
	int found = words ? 0 : err_say(e, EINVAL, "names nothing");

	(void) r;
	for (int s = 0; s < STOPPER_MAX; s++)
		names[s] = stopper_name(s);
	for (char **w = words; found >= 0 && w && *w; w++)
		if ((found = word_find(*w, names, STOPPER_MAX, e)) >= 0)
			a->stopped_by[found] = true;
	strv_free(words);
	return found < 0 ? found : 0;
}

static int set_control(struct reading *r, struct attack *a, const char *value, struct err *e)
{
	int result = limit_parse(LIMIT_WALL, value, &a->control_ns, e);

	(void) r;
	if (result == 0 && a->control_ns > CONTROL_MAX)
		return err_say(e, EINVAL, "a control takes a minute at most");
	return result;
}

static int set_control_memory(struct reading *r, struct attack *a, const char *value, struct err *e)
{
	(void) r;
	return limit_parse(LIMIT_MEMORY, value, &a->control_memory, e);
}

/* "LEVEL:VERDICT". */
static int add_expectation(struct attack *a, char *word, struct err *e)
{
	char *colon = strchr(word, ':');
	int verdict;

	if (!colon)
		return err_say(e, EINVAL, "'%.40s' is no LEVEL:VERDICT", word);
	*colon = '\0';
	if (!named_ok(word))
		return err_say(e, EINVAL, "'%.40s' is no name of a level", word);
	if ((verdict = word_find(colon + 1, verdict_names, CELL_CONTAINED + 1, e)) < 0)
		return verdict;
	if (manifest_expects(a, word) != CELL_VERDICT_MAX || a->expect_count == EXPECT_MAX)
		return err_say(e, EINVAL, "the level '%.40s' stands twice, or is one too many", word);
	a->expect = xrealloc(a->expect, (a->expect_count + 1) * sizeof(*a->expect));
	a->expect[a->expect_count++] = (struct expectation){ xstrdup(word), (enum cell_verdict) verdict };
	return 0;
}

static int set_expect(struct reading *r, struct attack *a, const char *value, struct err *e)
{
	char **words = strv_split(value);
	int result = 0;

	(void) r;
	for (char **w = words; result == 0 && w && *w; w++)
		result = add_expectation(a, *w, e);
	strv_free(words);
	return result;
}

/* What a section may say: a text as it stands, at an offset, or a value that is looked at. */
struct manifest_key {
	const char *name;
	size_t at;
	int (*set)(struct reading *r, struct attack *a, const char *value, struct err *e);
};
/* clang-format off */
#define TEXT(type, field) { #field, offsetof(type, field), NULL }
static const struct manifest_key head_keys[] = {
	TEXT(struct manifest, name), TEXT(struct manifest, summary), { NULL, 0, NULL },
};
static const struct manifest_key attack_keys[] = {
	TEXT(struct attack, title), TEXT(struct attack, summary), TEXT(struct attack, proof),
	TEXT(struct attack, why_stopped), TEXT(struct attack, why_not),
	{ "program", 0, set_program }, { "language", 0, set_language }, { "fixture", 0, set_fixture },
	{ "stopped_by", 0, set_stopped_by }, { "expect", 0, set_expect },
	{ "control", 0, set_control }, { "control_memory", 0, set_control_memory },
	{ NULL, 0, NULL },
};
/* clang-format on */

/* The other keys of an attack are limits, by their names. */
static int limit_entry(struct attack *a, const struct ini_entry *entry, struct err *e)
{
	const char *names[KEYS_MAX + 1] = { NULL };
	char near[128];
	int count = 0;

	for (int n = 0; n < LIMIT_MAX; n++) {
		if (strcmp(limit_kinds[n].name, entry->key) == 0) {
			a->limited[n] = true;
			return limit_parse((enum limit_name) n, entry->value, &a->limit[n], e);
		}
		names[count++] = limit_kinds[n].name;
	}
	for (const struct manifest_key *k = attack_keys; k->name; k++)
		names[count++] = k->name;
	return err_say(e, EINVAL, "unknown key '%.40s'%s", entry->key,
		       ini_nearest(entry->key, names, near, sizeof(near)));
}

static const struct manifest_key *find_key(const struct manifest_key *keys, const char *name)
{
	while (keys->name && strcmp(keys->name, name) != 0)
		keys++;
	return keys->name ? keys : NULL;
}

/* ---- sections ---- */

static void check_texts(const struct reading *r, const struct attack *a)
{
	const char *const needed[][2] = {
		{ "title", a->title },       { "summary", a->summary },         { "program", a->program },
		{ "language", a->language }, { "why_stopped", a->why_stopped }, { "why_not", a->why_not },
	};

	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (!needed[i][1])
			ini_fault(r->faults, r->file, r->line, "[%s] needs '%s'", a->name, needed[i][0]);
}

/* What an attack lacks is told at its end, that is at the next one. */
static void check_attack(const struct reading *r)
{
	const struct attack *a = r->m->attack_count ? &r->m->attacks[r->m->attack_count - 1] : NULL;
	bool stoppable = false;

	if (!a)
		return;
	check_texts(r, a);
	for (int s = 0; s < STOPPER_MAX; s++)
		stoppable |= a->stopped_by[s];
	if (!stoppable)
		ini_fault(r->faults, r->file, r->line, "[%s] needs 'stopped_by'", a->name);
	if ((a->fixture == FIXTURE_NONE) != (a->proof != NULL))
		ini_fault(r->faults, r->file, r->line,
			  "[%s] needs either a fixture, whose secret is the witness, or a proof", a->name);
	if (a->fixture == FIXTURE_NONE && (a->stopped_by[STOPPER_FILE] || a->stopped_by[STOPPER_NETWORK]))
		ini_fault(r->faults, r->file, r->line, "[%s] has no fixture that could be refused", a->name);
	if (!a->control_ns)
		ini_fault(r->faults, r->file, r->line,
			  "[%s] needs 'control', the bound on its control's time", a->name);
	if (!a->expect_count)
		ini_fault(r->faults, r->file, r->line, "[%s] expects nothing of any level", a->name);
}

static int begin_section(struct reading *r, const struct ini_entry *entry, struct err *e)
{
	struct manifest *m = r->m;

	check_attack(r);
	r->line = entry->line;
	if (strcmp(entry->section, "suite") == 0)
		return m->attack_count ? err_say(e, EINVAL, "[suite] comes first, and once") : 0;
	if (m->attack_count == SUITE_ATTACKS_MAX) {
		r->line = 0;
		return err_say(e, EINVAL, "more than %d attacks", SUITE_ATTACKS_MAX);
	}
	int result = named_ok(entry->section)
			     ? 0
			     : err_say(e, EINVAL,
				       "'%.40s' is no name of an attack; names are of a-z, 0-9, '-' and '_'",
				       entry->section);
	for (size_t i = 0; i < m->attack_count; i++)
		if (strcmp(m->attacks[i].name, entry->section) == 0)
			result = err_say(e, EINVAL, "[%.40s] stands twice", entry->section);
	m->attacks = xrealloc(m->attacks, (m->attack_count + 1) * sizeof(*m->attacks));
	m->attacks[m->attack_count++] = (struct attack){ .name = xstrdup(entry->section) };
	return result;
}

static int manifest_entry(void *arg, const struct ini_entry *entry, struct err *e)
{
	struct reading *r = arg;

	if (!entry->key)
		return begin_section(r, entry, e);
	struct attack *a = r->m->attack_count ? &r->m->attacks[r->m->attack_count - 1] : NULL;
	const struct manifest_key *key = find_key(a ? attack_keys : head_keys, entry->key);
	if (!*entry->value)
		return err_say(e, EINVAL, "%s is empty", entry->key);
	if (!key && a) {
		int set = limit_entry(a, entry, e);
		return set < 0 ? set : 0;
	}
	if (!key)
		return err_say(e, EINVAL, "unknown key '%.40s'; [suite] has name and summary", entry->key);
	if (key->set) {
		int set = key->set(r, a, entry->value, e);
		return set < 0 ? err_in(e, "%s", key->name) : set;
	}
	char **to = (char **) ((char *) (a ? (void *) a : (void *) r->m) + key->at);
	free(*to);
	*to = xstrdup(entry->value);
	return 0;
}

/* As many as find room in an error, each whole. */
static int tell_faults(const struct ini_faults *faults, struct err *e)
{
	const size_t room = sizeof(e->text) - sizeof("\nand 18446744073709551615 more");
	size_t len = 0, told = 0;

	for (const char *line = faults->lines.data; *line; line += strcspn(line, "\n") + 1) {
		size_t end = (size_t) (line - faults->lines.data) + strcspn(line, "\n");
		if (end > room && told > 0)
			break;
		len = end;
		told++;
	}
	if (told == faults->count)
		return err_say(e, EINVAL, "%.*s", (int) len, faults->lines.data);
	return err_say(e, EINVAL, "%.*s\nand %zu more", (int) (len < room ? len : room), faults->lines.data,
		       faults->count - told);
}

int manifest_parse(const char *file, const char *text, size_t len, struct manifest **ret, struct err *e)
{
	struct ini_faults faults = { 0 };
	struct manifest *m = xcalloc(1, sizeof(*m));
	struct reading r = { .m = m, .file = file, .faults = &faults };
	int result = 0;

	m->file = xstrdup(file);
	ini_read_text(file, text, len, manifest_entry, &r, &faults);
	check_attack(&r);
	if (!m->name || !m->summary)
		ini_fault(&faults, file, 0, "needs a [suite] with name and summary");
	if (!m->attack_count)
		ini_fault(&faults, file, 0, "has no attacks: each section but [suite] is one");
	if (faults.count) {
		result = tell_faults(&faults, e);
		m = manifest_free(m);
	} else {
		*ret = m;
	}
	ini_faults_done(&faults);
	return result;
}

int manifest_load(const char *file, struct manifest **ret, struct err *e)
{
	FREE char *text = NULL, *path = file ? xstrdup(file) : xprintf("%s/%s", data_folder(), STANDARD);
	size_t len;
	int r = file_read(AT_FDCWD, path, INI_FILE_MAX, &text, &len, e);

	return r < 0 ? r : manifest_parse(path, text, len, ret, e);
}

static void attack_done(struct attack *a)
{
	char *const texts[] = { a->name,     a->title, a->summary,     a->program,
				a->language, a->proof, a->why_stopped, a->why_not };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		free(texts[i]);
	for (size_t i = 0; i < a->expect_count; i++)
		free(a->expect[i].level);
	free(a->expect);
}

int manifest_only(struct manifest *m, const char *const *names, struct err *e)
{
	const char *known[SUITE_ATTACKS_MAX];
	bool keep[SUITE_ATTACKS_MAX] = { false };
	size_t kept = 0;

	for (size_t i = 0; i < m->attack_count; i++)
		known[i] = m->attacks[i].name;
	for (const char *const *n = names; *n; n++) {
		int found = word_find(*n, known, (int) m->attack_count, e);
		if (found < 0)
			return err_in(e, "no such attack in %s", m->file);
		keep[found] = true;
	}
	for (size_t i = 0; i < m->attack_count; i++) {
		if (keep[i])
			m->attacks[kept++] = m->attacks[i];
		else
			attack_done(&m->attacks[i]);
	}
	m->attack_count = kept;
	return 0;
}

enum cell_verdict manifest_expects(const struct attack *a, const char *level)
{
	for (size_t i = 0; i < a->expect_count; i++)
		if (strcmp(a->expect[i].level, level) == 0)
			return a->expect[i].verdict;
	return CELL_VERDICT_MAX;
}

struct manifest *manifest_free(struct manifest *m)
{
	for (size_t i = 0; m && i < m->attack_count; i++)
		attack_done(&m->attacks[i]);
	if (m) {
		free(m->attacks);
		free(m->name);
		free(m->summary);
		free(m->file);
	}
	free(m);
	return NULL;
}
