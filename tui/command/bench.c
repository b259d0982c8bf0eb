/* SPDX-License-Identifier: MIT */
/*
 * `belljar bench`: what a start costs at each level, as a person gets it: this very program, run anew each time, beside
 * the same interpreter without any of it.
 */
#include "core/base/base.h"
#include "core/model/model.h"
#include "core/suite/suite.h"
#include "tui/lines.h"
#include "tui/options.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PRESETS_MAX = 16, COLUMNS = 80, NAME_COLUMNS = 18 };

struct request {
	char **presets;
	uint64_t runs;
	bool json, no_record, help, help_man;
};

static int add_presets(void *into, const struct option_row *row, const char *value, struct err *e)
{
	char ***list = (char ***) ((char *) into + row->at), **names = strv_split(value);
	int r = names ? 0 : err_say(e, EINVAL, "no name of a preset");

	for (char **name = names; r == 0 && name && *name; name++) {
		if (strv_has(*list, *name))
			r = err_say(e, EINVAL, "\"%s\" was given twice", *name);
		else if (strv_len(*list) == PRESETS_MAX)
			r = err_say(e, EINVAL, "more than %d presets", PRESETS_MAX);
		else
			*list = strv_add(*list, *name);
	}
	strv_free(names);
	return r;
}

static int set_runs(void *into, const struct option_row *row, const char *value, struct err *e)
{
	uint64_t *runs = (uint64_t *) ((char *) into + row->at);

	if (str_to_u64(value, runs) < 0 || *runs < 1 || *runs > BENCH_ROUNDS_MAX)
		return err_say(e, EINVAL, "\"%s\" is not a number from 1 to %d", value, BENCH_ROUNDS_MAX);
	return 0;
}

#define FIELD(f) .at = offsetof(struct request, f)

static const struct option_row options[] = {
	{ .name = "preset",
	  .letter = 'p',
	  .argument = "A,B",
	  .repeats = true,
	  .help = "these presets (without this: each level)",
	  .man = "The presets to measure, by name or, with a slash, by file. "
		 "Without it: each level that is installed.",
	  .set = add_presets,
	  FIELD(presets) },
	{ .name = "runs",
	  .letter = 'n',
	  .argument = "N",
	  .help = "how many of each, 1 to 1000 (10)",
	  .man = "How many runs of each, from 1 to 1000. "
		 "Without it: 10.",
	  .set = set_runs,
	  FIELD(runs) },
	{ .name = "json",
	  .help = "one object in place of the table",
	  .man = "Print one JSON object in place of the table.",
	  .set = option_set_flag,
	  FIELD(json) },
	{ .name = "no-record",
	  .help = "runs that keep no recording",
	  .man = "Keep no recording of these runs. "
		 "Without it each makes one, as any run does, in a folder that is removed afterwards.",
	  .set = option_set_flag,
	  FIELD(no_record) },
	{ .name = "help",
	  .letter = 'h',
	  .help = "this summary of the options",
	  .set = option_set_flag,
	  FIELD(help) },
	{ .name = "help-man",
	  .hidden = true,
	  .help = "for the man page",
	  .set = option_set_flag,
	  FIELD(help_man) },
	{ 0 },
};

static int help(bool man)
{
	struct buf out = { 0 };

	if (man) {
		options_man(options, &out);
	} else {
		buf_str(&out,
			"Usage: belljar bench [OPTIONS]\n"
			"\n"
			"Runs " BENCH_PROGRAM
			" in Python at each level, and beside them by a bare fork and exec:\n"
			"once each in every round, in random order. Tells how long that took, in ms.\n\n");
		options_help(options, &out);
		buf_str(&out,
			"\n"
			"  median, p95, longest   from the start until the program was waited for\n"
			"  x bare                 the median, as so many times the bare one's\n"
			"  first byte             from the start until it printed: the median\n"
			"  memory                 what the level's own processes take meanwhile\n"
			"\n"
			"Status: 0 all ran well, 1 a run failed or a preset does not start here, 125 it\n"
			"could not be done.\n");
	}
	int status = look_print(out.data);
	buf_done(&out);
	return status;
}

/* ---- the launchers ---- */

/* From the weakest up: a level is a preset that has the name of its mechanism. */
static char **level_names(void)
{
	static const char *const ladder[] = { "subprocess", "namespaces", "microvm" };
	char **known = preset_names(), **levels = NULL;

	for (size_t i = 0; i < ARRAY_LEN(ladder); i++)
		if (strv_has(known, ladder[i]))
			levels = strv_add(levels, ladder[i]);
	strv_free(known);
	return levels;
}

struct session {
	const struct look *look;
	const struct request *q;
	char *folder, *recording; /* NULL with --no-record */
	char *interpreter;
	char **bare_argv, **bare_env;
	char **argv[PRESETS_MAX];
	struct bench_launcher launchers[1 + PRESETS_MAX];
	struct bench_row rows[1 + PRESETS_MAX];
	struct bench_want want;
	uint64_t begin_ns;
	bool shown; /* progress, on this line */
};

/* What a target has, but for the run's own folders. */
static char **bare_env(void)
{
	char **env = NULL;

	env = strv_add(env, "PATH=" TARGET_PATH);
	env = strv_add(env, "HOME=/nonexistent");
	env = strv_add(env, "TMPDIR=/tmp");
	env = strv_add(env, "LANG=C.UTF-8");
	return strv_add(env, "TERM=dumb");
}

static void add_bare(struct session *s)
{
	s->bare_env = bare_env();
	s->bare_argv = strv_add(s->bare_argv, s->interpreter);
	s->bare_argv = strv_add(s->bare_argv, "-u"); /* as every run of Python has it */
	s->bare_argv = strv_add(s->bare_argv, "-c");
	s->launchers[0] = (struct bench_launcher){
		.name = "bare fork and exec",
		.program = s->interpreter,
		.argv = s->bare_argv,
		.env = s->bare_env,
		.folder = "/", /* what lies here is not for it to import */
	};
}

static void add_preset(struct session *s, size_t at, const char *preset)
{
	const char *const words[] = { "belljar", "run", "-l", "python", "-p", preset };
	char **argv = NULL;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		argv = strv_add(argv, words[i]);
	argv = strv_add(argv, s->recording ? "--record" : "--no-record");
	if (s->recording)
		argv = strv_add(argv, s->recording);
	s->argv[at] = strv_add(argv, "-c");
	s->launchers[1 + at] = (struct bench_launcher){
		.name = preset,
		.preset = preset,
		.program = "/proc/self/exe",
		.argv = s->argv[at],
		.env = environ,
		.leaves = s->recording,
	};
}

/* The runs of a benchmark must not push the person's own recordings out, of which the newest are kept. */
static int open_folder(struct session *s, struct err *e)
{
	if (s->q->no_record)
		return 0;
	static const char where[] = "a folder for recordings, which --no-record does without";
	FREE char *state = xdg_folder(XDG_STATE, NULL, true, e);
	if (!state)
		return err_in(e, "%s", where);
	FREE char *folder = xprintf("%s/bench-XXXXXX", state);
	if (!mkdtemp(folder))
		return err_set(e, errno, "%s: make %s", where, folder);
	s->folder = take_ptr(&folder);
	s->recording = xprintf("%s/run.jsonl", s->folder);
	return 0;
}

/* The bare one sees the host as it is. */
static int find_interpreter(char **ret, struct err *e)
{
	char root[] = "host";

	return language_find_program(language_by_name("python"), &(struct policy){ .root = root }, ret, e);
}

/* Every preset is loaded before anything runs, so that a wrong name is told at once. */
static int prepare(struct session *s, char *const *presets, struct err *e)
{
	size_t count = strv_len(presets);
	int r = count > 0 ? 0 : err_say(e, ENOENT, "there are no presets in %s/presets", data_folder());

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct policy *p = NULL;
		r = preset_load(presets[i], &p, e);
		policy_free(p);
	}
	if (r < 0 || (r = find_interpreter(&s->interpreter, e)) < 0 || (r = open_folder(s, e)) < 0)
		return r;
	add_bare(s);
	for (size_t i = 0; i < count; i++)
		add_preset(s, i, presets[i]);
	s->want = (struct bench_want){
		.launchers = s->launchers,
		.count = 1 + count,
		.rounds = s->q->runs,
		.interpreter = "python",
	};
	return 0;
}

static void session_done(struct session *s)
{
	if (s->folder)
		(void) rmdir(s->folder);
	free(s->folder);
	free(s->recording);
	free(s->interpreter);
	strv_free(s->bare_argv);
	strv_free(s->bare_env);
	for (size_t i = 0; i < PRESETS_MAX; i++)
		strv_free(s->argv[i]);
}

/* ---- while it goes on ---- */

static volatile sig_atomic_t stopped_by;

static void on_signal(int signo)
{
	stopped_by = signo;
}

/* The folder of recordings is ours to remove whatever ends us; one that was ignored stays so. */
static void watch_signals(void)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction old, act = { .sa_handler = on_signal };

	for (size_t i = 0; i < ARRAY_LEN(ending); i++)
		if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			(void) sigaction(ending[i], &act, NULL);
}

static bool go_on(void *arg, size_t done, size_t all)
{
	struct session *s = arg;

	if (!stopped_by && isatty(STDERR_FILENO) && now_ns() - s->begin_ns > NS_PER_S) {
		fprintf(stderr, "\rbelljar: run %zu of %zu", done + 1, all);
		s->shown = true;
	}
	return !stopped_by;
}

static int run_all(struct session *s, struct err *e)
{
	s->begin_ns = now_ns();
	s->want.go_on = go_on;
	s->want.arg = s;
	watch_signals();
	int r = bench_run(&s->want, s->rows, e);
	if (s->shown)
		fprintf(stderr, "\r%40s\r", "");
	return r;
}

/* ---- the table ---- */

static void put_cell(double value, int width, int decimals, struct buf *out)
{
	if (value < 0)
		buf_printf(out, "%*s", width, "?");
	else
		buf_printf(out, "%*.*f", width, decimals, value);
}

static void put_row(const struct session *s, const struct bench_row *row, struct buf *out)
{
	FREE char *name = text_line(row->launcher->name, strlen(row->launcher->name), s->look->ascii);
	size_t fits = text_fit(name, strlen(name), NAME_COLUMNS);
	char memory[32] = "?";

	if (row->memory_bytes != UNKNOWN_U64)
		format_bytes(row->memory_bytes, memory, sizeof(memory));
	buf_printf(out, "%.*s%*s", (int) fits, name, NAME_COLUMNS - (int) text_width(name, fits), "");
	put_cell(row->whole.median, 9, 2, out);
	put_cell(row->whole.p95, 9, 2, out);
	put_cell(row->whole.longest, 9, 2, out);
	put_cell(bench_times(row, &s->rows[0]), 8, 2, out);
	put_cell(row->first_byte.median, 11, 2, out);
	buf_printf(out, "%9s%7zu\n", memory, row->failed);
}

/* A line about one row below the table; names and reasons of others stand in it. */
static void put_note(const struct session *s, const char *name, const char *what, const char *text,
		     struct buf *out)
{
	FREE char *raw = xprintf("%s%s%s: %s", name, *what ? ": " : "", what, text);
	FREE char *line = text_line(raw, strlen(raw), s->look->ascii);

	lines_wrap(line, COLUMNS, 2, out);
}

static void put_table(const struct session *s, struct buf *out)
{
	buf_printf(out, BENCH_PROGRAM ", %" PRIu64 " %s of each, in ms; ", s->q->runs,
		   s->q->runs == 1 ? "run" : "runs");
	buf_str(out, s->recording ? "each run is recorded, as it usually is\n\n" : "no run is recorded\n\n");
	buf_printf(out, "%-*s%9s%9s%9s%8s%11s%9s%7s\n", NAME_COLUMNS, "level", "median", "p95", "longest",
		   "x bare", "first byte", "memory", "failed");
	for (size_t i = 0; i < s->want.count; i++)
		put_row(s, &s->rows[i], out);
	buf_str(out, "\n");
	for (size_t i = 0; i < s->want.count; i++)
		if (*s->rows[i].memory_source)
			put_note(s, s->launchers[i].name, "memory while it stands", s->rows[i].memory_source,
				 out);
	for (size_t i = 0; i < s->want.count; i++)
		if (s->rows[i].failed)
			put_note(s, s->launchers[i].name,
				 s->rows[i].started ? "failed" : "does not start here", s->rows[i].reason,
				 out);
}

static int report(const struct session *s)
{
	struct buf out = { 0 };

	if (s->q->json)
		bench_json(&s->want, s->rows, s->recording != NULL, &out);
	else
		put_table(s, &out);
	int status = look_print(out.data);
	buf_done(&out);
	if (status == STATUS_OK && !bench_all_well(s->rows, s->want.count))
		status = STATUS_NO;
	return status;
}

static int measure(const struct look *look, const struct request *q)
{
	struct session s = { .look = look, .q = q };
	char **levels = q->presets ? NULL : level_names();
	struct err e;
	int status;

	if (prepare(&s, q->presets ? q->presets : levels, &e) < 0 || run_all(&s, &e) < 0)
		status = stopped_by ? 128 + stopped_by : look_refuse(look, &e);
	else
		status = report(&s);
	session_done(&s);
	strv_free(levels);
	return status;
}

static int bench_main(const struct look *look, int argc, char **argv)
{
	struct request q = { .runs = 10 };
	char **after;
	struct err e;
	int words = 0, status;

	if (options_parse(options, &q, argc, argv, &words, &after, &e) < 0)
		status = look_refuse(look, &e);
	else if (q.help || q.help_man)
		status = help(q.help_man);
	else if (words > 0 || after) {
		look_say(look, "bench takes options only; see belljar bench --help");
		status = STATUS_CANNOT;
	} else
		status = measure(look, &q);
	strv_free(q.presets);
	return status;
}

const struct command command_bench = {
	.name = "bench",
	.summary = "how long a start takes at each level, beside a bare one",
	.main = bench_main,
};
