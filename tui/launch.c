/* SPDX-License-Identifier: MIT */
/*
 * From a request to a launch: preset, code, language, and every path of the command line, looked at before anything
 * runs, so that a wrong one is told with the option's name. What is checked here is for a clear message only; whoever
 * opens the path later checks again.
 */
#include "tui/request.h"

#include "core/base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_PRESET "namespaces"

static int load_policy(const struct request *q, struct policy **ret, struct err *e)
{
	struct policy *p;
	int r = preset_load(q->preset ? q->preset : DEFAULT_PRESET, &p, e);

	if (r < 0)
		return r;
	for (int i = 0; i < LIMIT_MAX; i++)
		if (q->limited[i])
			p->limit[i] = q->limit[i];
	*ret = p;
	return 0;
}

static int read_stdin(char **ret_code, size_t *ret_len, struct err *e)
{
	struct buf code = { 0 };
	char part[16 << 10];
	ssize_t n;

	while ((n = read(STDIN_FILENO, part, sizeof part)) > 0 || (n < 0 && errno == EINTR)) {
		if (n > 0)
			buf_add(&code, part, (size_t) n);
		if (code.len > CODE_MAX) {
			buf_done(&code);
			return err_say(e, EFBIG, "the code on standard input is over 10 MiB");
		}
	}
	if (n < 0) {
		int r = err_set(e, errno, "cannot read the code on standard input");
		buf_done(&code);
		return r;
	}
	*ret_len = code.len;
	*ret_code = buf_steal(&code);
	return 0;
}

static int read_code(const struct request *q, char **ret_code, size_t *ret_len, struct err *e)
{
	struct stat st;

	if (q->code) {
		*ret_len = strlen(q->code);
		*ret_code = xstrdup(q->code);
		return 0;
	}
	if (strcmp(q->file, "-") == 0)
		return read_stdin(ret_code, ret_len, e);
	if (stat(q->file, &st) == 0 && S_ISDIR(st.st_mode))
		return err_say(e, EISDIR, "%s is a folder, not a file with code", q->file);
	int r = file_read(AT_FDCWD, q->file, CODE_MAX, ret_code, ret_len, e);
	if (r == -EFBIG)
		return err_say(e, EFBIG, "%s is over 10 MiB, more than code may be", q->file);
	return r;
}

static int find_language(const struct request *q, const char *code, size_t len, const struct language **ret,
			 struct err *e)
{
	if (!q->language) {
		bool named = q->file && strcmp(q->file, "-") != 0;
		*ret = language_guess(named ? q->file : NULL, code, len, e);
		return *ret ? 0 : -e->code;
	}
	*ret = language_by_name(q->language);
	if (*ret)
		return 0;

	struct buf known = { 0 };
	const char *names[64] = { NULL };
	for (size_t i = 0; languages[i]; i++) {
		buf_printf(&known, "%s%s", i ? ", " : "", languages[i]->name);
		if (i + 1 < ARRAY_LEN(names))
			names[i] = languages[i]->name;
	}
	const char *nearest = str_nearest(q->language, names);
	err_say(e, EINVAL, "--lang: unknown language \"%s\"%s%s; known are %s", q->language,
		nearest ? "; the nearest is " : "", nearest ? nearest : "", known.data);
	buf_done(&known);
	return -EINVAL;
}

/* A trojan source or hidden text does nothing to the sandbox, but a person who reads the code sees other code. */
static char **add_finding(char **notes, size_t count, size_t line, const char *what)
{
	if (count == 0)
		return notes;
	FREE char *note = xprintf("the code has %zu %s (first in line %zu): it may not read as it runs",
				  count, what, line);
	return strv_add(notes, note);
}

static char **look_at_code(const char *code, size_t len, char **notes)
{
	struct text_findings f;

	text_inspect(code, len, &f);
	notes = add_finding(notes, f.bidi, f.first_bidi_line,
			    "characters that change the direction of writing");
	notes = add_finding(notes, f.tags, f.first_tag_line, "invisible tag characters");
	return add_finding(notes, f.controls, f.first_control_line, "control characters");
}

static int add_code(const struct request *q, struct launch *l, char ***notes, struct err *e)
{
	FREE char *code = NULL, *note = NULL;
	size_t len;
	int r = read_code(q, &code, &len, e);

	if (r < 0)
		return r;
	const char *base = q->file ? strrchr(q->file, '/') : NULL;
	l->title = xstrdup(q->code ? "-c" : base && base[1] ? base + 1 : q->file);
	if ((r = find_language(q, code, len, &l->language, e)) < 0)
		return r;
	if ((r = launch_set_code(l, code, len, &note, e)) < 0)
		return err_in(e, "%s", l->title);
	if (note)
		*notes = strv_add(*notes, note);
	*notes = look_at_code(code, len, *notes);
	return 0;
}

static int check_dest(const char *dest, struct err *e)
{
	size_t len = strlen(dest);

	if (dest[0] != '/')
		return err_say(e, EINVAL, "the place \"%s\" must be an absolute path", dest);
	if (dest[strspn(dest, "/")] == '\0')
		return err_say(e, EINVAL, "the place cannot be / itself");
	if (strstr(dest, "/../") || str_ends(dest, "/..") || strstr(dest, "/./") || str_ends(dest, "/."))
		return err_say(e, EINVAL, "the place \"%s\" must not have . or .. in it", dest);
	if (len >= PATH_MAX)
		return err_say(e, ENAMETOOLONG, "the place is longer than a path can be");
	return 0;
}

/*
 * "PATH" or "PATH:DEST". A colon may be part of a name: unless the whole word is there as a path, the last one with a
 * slash behind it parts the two, else the first.
 */
static int parse_input(const char *word, struct launch_bind *ret, struct err *e)
{
	const char *cut = NULL;

	if (access(word, F_OK) != 0)
		for (const char *c = word; (c = strchr(c, ':')); c++)
			if (c[1] == '/' || !cut)
				cut = c;
	FREE char *path = cut ? xstrndup(word, (size_t) (cut - word)) : xstrdup(word);
	FREE char *source = realpath(path, NULL);
	if (!source)
		return err_set(e, errno, "cannot read %s", *path ? path : "an empty path");
	if (access(source, R_OK) < 0)
		return err_set(e, errno, "cannot read %s", path);
	int r = cut ? check_dest(cut + 1, e) : 0;
	if (r < 0)
		return r;
	ret->source = take_ptr(&source);
	ret->dest = cut ? xstrdup(cut + 1) : NULL;
	return 0;
}

static bool same_place(const struct launch_bind *a, const struct launch_bind *b)
{
	return a->dest && b->dest ? strcmp(a->dest, b->dest) == 0 : a->dest == b->dest;
}

static int add_inputs(const struct request *q, struct launch *l, struct err *e)
{
	size_t count = strv_len(q->inputs);

	l->inputs = count ? xcalloc(count, sizeof *l->inputs) : NULL;
	for (size_t i = 0; i < count; i++) {
		struct launch_bind *bind = &l->inputs[i];
		if (parse_input(q->inputs[i], bind, e) < 0)
			return err_in(e, "--input");
		l->input_count++;
		for (size_t k = 0; k < i; k++)
			if (same_place(&l->inputs[k], bind))
				return err_say(e, EINVAL,
					       "--input: \"%s\" and \"%s\" would both be at %s; give each a "
					       "place of its "
					       "own, PATH:DEST",
					       q->inputs[k], q->inputs[i],
					       bind->dest ? bind->dest : "the default place");
	}
	return 0;
}

/* The folder behind `path`, absolute. */
static int find_folder(const char *path, char **ret, struct err *e)
{
	struct stat st;
	FREE char *real = realpath(path, NULL);

	if (!real || stat(real, &st) < 0)
		return err_set(e, errno, "cannot use the folder %s", path);
	if (!S_ISDIR(st.st_mode))
		return err_say(e, ENOTDIR, "%s is not a folder", path);
	*ret = take_ptr(&real);
	return 0;
}

/* What was there before could not be told from what the target made. */
static int check_empty(const char *path, struct err *e)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	bool empty = true;

	if (!dir)
		return err_set(e, errno, "cannot read the folder %s", path);
	while (empty && (entry = readdir(dir)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	(void) closedir(dir);
	if (!empty)
		return err_say(e, ENOTEMPTY, "the folder %s is not empty", path);
	if (access(path, W_OK | X_OK) < 0)
		return err_set(e, errno, "cannot write to the folder %s", path);
	return 0;
}

static int add_output(const struct request *q, struct launch *l, struct err *e)
{
	int r;

	if (mkdir(q->output, 0777) < 0 && errno != EEXIST)
		return err_set(e, errno, "--output: cannot make the folder %s", q->output);
	if ((r = find_folder(q->output, &l->output_dir, e)) < 0 || (r = check_empty(l->output_dir, e)) < 0)
		return err_in(e, "--output");
	return r;
}

/* The supervisor has a working folder of its own: the path of the recording is made absolute, the file is new. */
static int add_record(const struct request *q, struct launch *l, struct err *e)
{
	const char *base = strrchr(q->record, '/');
	FREE char *folder = base ? xstrndup(q->record, (size_t) (base - q->record + 1)) : xstrdup(".");
	FREE char *real = NULL;
	struct stat st;

	base = base ? base + 1 : q->record;
	if (!*base || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
		return err_say(e, EISDIR, "--record: %s is a folder; give the name of a new file", q->record);
	if (lstat(q->record, &st) == 0)
		return err_say(e, EEXIST,
			       "--record: %s is there already, and recordings are never written over",
			       q->record);
	if (find_folder(folder, &real, e) < 0)
		return err_in(e, "--record");
	if (access(real, W_OK | X_OK) < 0)
		return err_set(e, errno, "--record: cannot write to the folder %s", folder);
	l->record_path = xprintf("%s/%s", strcmp(real, "/") == 0 ? "" : real, base);
	return 0;
}

static int add_env(const struct request *q, struct launch *l, struct err *e)
{
	l->env = strv_dup(q->env);
	for (char **name = q->pass; name && *name; name++) {
		FREE char *pair = xprintf("%s=%s", *name, getenv(*name));
		l->env = strv_add(l->env, pair);
	}
	for (char **a = l->env; a && *a; a++)
		for (char **b = l->env; b < a; b++)
			if (strncmp(*a, *b, strcspn(*a, "=") + 1) == 0)
				return err_say(e, EINVAL, "the variable %.*s was given twice",
					       (int) strcspn(*a, "="), *a);
	return 0;
}

/* A folder as standard input would be a way out of the sandbox by openat(2); no reader of it can use one anyway. */
static int add_stdin(const struct request *q, struct launch *l, struct err *e)
{
	struct stat st;
	const char *name = q->stdin_path ? q->stdin_path : "standard input";

	if (!q->stdin_path && q->file && strcmp(q->file, "-") == 0)
		return 0;
	CLOSE_FD int fd = q->stdin_path ? open(q->stdin_path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
	if (q->stdin_path && fd < 0)
		return err_set(e, errno, "--stdin: cannot read %s", name);
	if (fstat(fd >= 0 ? fd : STDIN_FILENO, &st) == 0 && S_ISDIR(st.st_mode))
		return err_say(e, EISDIR, "%s%s is a folder, which cannot be read as input",
			       fd >= 0 ? "--stdin: " : "", name);
	l->stdin_fd = fd >= 0 ? take_fd(&fd) : STDIN_FILENO;
	return 0;
}

static int fill(const struct request *q, struct launch *l, char ***notes, struct err *e)
{
	int r;

	if ((r = load_policy(q, &l->policy, e)) < 0)
		return r;
	if (q->argv) {
		l->argv = strv_dup(q->argv);
		l->title = xstrdup(q->argv[0]);
	} else if ((r = add_code(q, l, notes, e)) < 0) {
		return r;
	}
	if ((r = add_env(q, l, e)) < 0 || (r = add_inputs(q, l, e)) < 0)
		return r;
	if (q->project && (r = find_folder(q->project, &l->project_dir, e)) < 0)
		return err_in(e, "--project");
	if (q->record && (r = add_record(q, l, e)) < 0)
		return r;
	if (q->output && (r = add_output(q, l, e)) < 0)
		return r;
	l->no_record = q->no_record;
	l->best_effort = q->best_effort;
	l->canary = q->canary;
	l->tty = q->tty;
	return add_stdin(q, l, e);
}

int request_launch(const struct request *q, struct launch **ret, char ***ret_notes, struct err *e)
{
	struct launch *l = launch_new();
	char **notes = NULL;
	int r = fill(q, l, &notes, e);

	if (r < 0) {
		(void) strv_free(notes);
		(void) launch_free(l);
		return r;
	}
	*ret = l;
	*ret_notes = notes;
	return 0;
}
