/* SPDX-License-Identifier: MIT */
/*
 * `belljar attack`: a suite of attacks under several presets, as a table that grows while it goes on, or as JSON. Words
 * come before colour; what is not as the manifest expects is marked and named.
 */
#include "core/base/base.h"
#include "core/model/model.h"
#include "core/suite/suite.h"
#include "core/supervise/supervise.h"
#include "tui/lines.h"
#include "tui/options.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLUMNS = 80, LABEL = 18, CELL = 20, CELLS_A_LINE = 3 };

struct request {
	char **presets, **only;
	const char *manifest;
	bool json, help, help_man;
};

struct session {
	const struct look *look;
	const struct request *q;
	struct suite_run *run;
	struct matrix matrix;
	size_t begun; /* cells */
	bool shown;   /* progress, on this line */
	char *failed; /* what ended the suite before its end; NULL */
	int print;    /* status of what was printed so far */
};

/* ---- options ---- */

/* "A,B", and the option again. */
static int add_words(void *into, const struct option_row *row, const char *value, struct err *e)
{
	char ***list = (char ***) ((char *) into + row->at), **words = strv_split(value);
	int r = words ? 0 : err_say(e, EINVAL, "no name in it");

	for (char **w = words; r == 0 && w && *w; w++) {
		if (strv_has(*list, *w))
			r = err_say(e, EINVAL, "\"%s\" was given twice", *w);
		else
			*list = strv_add(*list, *w);
	}
	strv_free(words);
	return r;
}

static int set_format(void *into, const struct option_row *row, const char *value, struct err *e)
{
	bool json = strcmp(value, "json") == 0;

	if (!json && strcmp(value, "table") != 0)
		return err_say(e, EINVAL, "\"%s\" is neither table nor json", value);
	*(bool *) ((char *) into + row->at) = json;
	return 0;
}

#define FIELD(f) .at = offsetof(struct request, f)

static const struct option_row options[] = {
	{ .name = "preset",
	  .letter = 'p',
	  .argument = "A,B",
	  .repeats = true,
	  .help = "these presets (without this: each level)",
	  .man = "The presets to attack, up to eight, by name or, with a slash, by file. "
		 "A preset is held to what is expected of the level that it is of. "
		 "Without it: each level that is installed; "
		 "one whose parts are not on this host is shown as not-run, and fails nothing.",
	  .set = add_words,
	  FIELD(presets) },
	{ .name = "only",
	  .argument = "NAME",
	  .repeats = true,
	  .help = "this attack; more words are more names",
	  .man = "Only the attack of this name. More names may follow, as words or parted by commas.",
	  .set = add_words,
	  FIELD(only) },
	{ .name = "format",
	  .argument = "WORD",
	  .help = "table (without this) or json",
	  .man = "table, or json for one object in its place.",
	  .set = set_format,
	  FIELD(json) },
	{ .name = "manifest",
	  .argument = "FILE",
	  .help = "a suite of your own",
	  .man = "The suite to run, an INI file as the shipped examples/attacks/suite.ini. "
		 "Its programs are run without a sandbox too: it must be as trusted as a program of your "
		 "own.",
	  .set = option_set_text,
	  FIELD(manifest) },
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
			"Usage: belljar attack [OPTIONS]\n"
			"\n"
			"Runs harmless programs that do what a hostile one would, each first without any\n"
			"sandbox, bounded, and then under each preset: \"stopped\" means works without,\n"
			"fails with, and a fact says what stopped it.\n\n");
		options_help(options, &out);
		buf_str(&out,
			"\n"
			"  stopped        it began, and what is named ended or refused it\n"
			"  succeeded      it printed the witness that only success can know\n"
			"  contained      so, but within a kernel that is not the host's\n"
			"  not-run        it did not begin\n"
			"  inconclusive   it failed without a sandbox too, or nothing says why it failed\n"
			"\n"
			"Status: 0 every cell is as the suite expects, 1 one is not, 125 it could not be\n"
			"done.\n");
	}
	int status = look_print(out.data);
	buf_done(&out);
	return status;
}

/* ---- words ---- */

static const char *preset_of(const struct session *s, size_t k)
{
	return s->matrix.presets[k];
}

static const char *attack_of(const struct session *s, size_t n)
{
	return s->matrix.manifest->attacks[n].name;
}

static const char *expected_word(const struct cell *c)
{
	return c->expected == CELL_VERDICT_MAX ? "nothing" : cell_verdict_name(c->expected);
}

/* ---- the table ---- */

static void print(struct session *s, const char *text)
{
	int status = look_print(text);

	if (s->print == STATUS_OK)
		s->print = status;
}

static void put_padded(const struct session *s, const char *text, size_t columns, struct buf *out)
{
	FREE char *line = text_line(text, strlen(text), s->look->ascii);
	size_t fits = text_fit(line, strlen(line), columns - 1), width = text_width(line, fits);

	buf_printf(out, "%.*s%*s", (int) fits, line, (int) (columns - width), "");
}

/* What stands in the cell of a column; `line` 1 is what was expected instead. */
static const char *cell_words(const struct cell *c, int line)
{
	static char words[64];
	bool well = cell_as_expected(c);

	if (line == 0)
		snprintf(words, sizeof(words), "%s%s", well ? "  " : "! ", cell_verdict_name(c->verdict));
	else
		snprintf(words, sizeof(words), " expected %s", expected_word(c));
	return line == 1 && well ? "" : words;
}

static const char *colour_of(const struct session *s, const struct cell *c)
{
	return !s->look->color ? "" : cell_as_expected(c) ? "\033[32m" : "\033[1;31m";
}

static void put_cell(const struct session *s, const struct cell *c, int line, struct buf *out)
{
	const char *colour = colour_of(s, c);

	buf_str(out, colour);
	put_padded(s, cell_words(c, line), CELL, out);
	buf_str(out, *colour ? "\033[0m" : "");
}

static void trim(struct buf *out)
{
	while (out->len > 0 && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
}

/* So many presets as find room beside the label, then the next ones below. */
static void put_row(const struct session *s, size_t n, struct buf *out)
{
	for (size_t from = 0; from < s->matrix.preset_count; from += CELLS_A_LINE) {
		size_t to = from + CELLS_A_LINE < s->matrix.preset_count ? from + CELLS_A_LINE
									 : s->matrix.preset_count;
		bool unexpected = false;
		for (size_t k = from; k < to; k++)
			unexpected |= !cell_as_expected(matrix_cell(&s->matrix, n, k));
		for (int line = 0; line <= (unexpected ? 1 : 0); line++) {
			put_padded(s, from == 0 && line == 0 ? attack_of(s, n) : "", LABEL, out);
			for (size_t k = from; k < to; k++)
				put_cell(s, matrix_cell(&s->matrix, n, k), line, out);
			trim(out);
			buf_str(out, "\n");
		}
	}
}

static void print_head(struct session *s)
{
	struct buf out = { 0 };

	put_padded(s, "attack", LABEL, &out);
	for (size_t k = 0; k < s->matrix.preset_count; k++) {
		if (k > 0 && k % CELLS_A_LINE == 0) {
			trim(&out);
			buf_printf(&out, "\n%*s", LABEL, "");
		}
		FREE char *name = xprintf("  %s", preset_of(s, k));
		put_padded(s, name, CELL, &out);
	}
	trim(&out);
	buf_str(&out, "\n");
	print(s, out.data);
	buf_done(&out);
}

/* "  namespaces: stopped by cgroup (memory: limit 256 MiB, …). Why." */
static void put_why(const struct session *s, const struct cell *c, struct buf *out)
{
	FREE char *by = c->layer ? xprintf(" by %s", layer_name(c->layer)) : xstrdup("");
	FREE char *not = cell_as_expected(c) ? xstrdup("") : xprintf(", expected %s", expected_word(c));
	FREE char *raw =
		xprintf("%s: %s%s%s (%s)%s%s", preset_of(s, c->preset), cell_verdict_name(c->verdict), by,
			not, c->evidence, *c->reason ? ": " : "", c->reason);
	FREE char *line = text_line(raw, strlen(raw), s->look->ascii);
	FREE char *marked = xprintf("%s %s", cell_as_expected(c) ? " " : "!", line);

	lines_wrap(marked, COLUMNS, 4, out);
}

static void put_sums(const struct session *s, struct buf *out)
{
	struct buf line = { 0 };

	/* The strongest first: levels come from the weakest up. */
	for (size_t k = s->matrix.preset_count; k-- > 0;) {
		if (matrix_missing(&s->matrix, k))
			buf_printf(&line, "%s: not here", preset_of(s, k));
		else
			buf_printf(&line, "%s: %zu of %zu stopped", preset_of(s, k),
				   matrix_stopped(&s->matrix, k), s->matrix.manifest->attack_count);
		buf_str(&line, k ? "; " : "");
	}
	buf_str(&line, matrix_as_expected(&s->matrix) ? ", as expected" : ", not as expected");
	FREE char *scrubbed = text_line(line.data, line.len, s->look->ascii);
	lines_wrap(scrubbed, COLUMNS, 2, out);
	buf_done(&line);
}

static void print_rest(struct session *s)
{
	const struct matrix *m = &s->matrix;
	struct buf out = { 0 };

	for (size_t n = 0; n < m->manifest->attack_count; n++) {
		const struct attack *a = &m->manifest->attacks[n];
		FREE char *raw = xprintf("%s: %s", a->name, a->summary);
		FREE char *line = text_line(raw, strlen(raw), s->look->ascii);
		buf_str(&out, "\n");
		lines_wrap(line, COLUMNS, 2, &out);
		for (size_t k = 0; k < m->preset_count; k++)
			put_why(s, matrix_cell(m, n, k), &out);
	}
	buf_str(&out, "\n");
	put_sums(s, &out);
	print(s, out.data);
	buf_done(&out);
}

/* ---- while it goes on ---- */

static void clear_progress(struct session *s)
{
	if (s->shown)
		fprintf(stderr, "\r\033[K");
	s->shown = false;
}

/* One line that is written anew, only where somebody looks. */
static void show_progress(struct session *s, const struct suite_msg *msg)
{
	const char *preset =
		msg->step == SUITE_CONTROL ? "no sandbox, the control" : preset_of(s, msg->preset);

	if (!look_rewrites(s->look))
		return;
	FREE char *raw = xprintf("belljar: %zu of %zu: %s under %s%s%s", s->begun,
				 s->matrix.manifest->attack_count * (s->matrix.preset_count + 1),
				 attack_of(s, msg->attack), preset, *msg->text ? ": " : "", msg->text);
	FREE char *line = text_line(raw, strlen(raw), s->look->ascii);
	fprintf(stderr, "\r\033[K%.*s", (int) text_fit(line, strlen(line), COLUMNS - 1), line);
	s->shown = true;
}

static void cell_done(struct session *s, const struct suite_msg *msg)
{
	struct buf out = { 0 };

	matrix_take(&s->matrix, msg);
	if (s->q->json || msg->preset + 1 < s->matrix.preset_count)
		return;
	clear_progress(s);
	put_row(s, msg->attack, &out);
	print(s, out.data);
	buf_done(&out);
}

static void take(struct session *s, const struct suite_msg *msg)
{
	switch (msg->step) {
	case SUITE_CONTROL:
	case SUITE_CELL:
		s->begun++;
		show_progress(s, msg);
		break;
	case SUITE_WAITS:
		show_progress(s, msg);
		break;
	case SUITE_CELL_DONE:
		cell_done(s, msg);
		break;
	case SUITE_ERROR:
		s->failed = xstrdup(msg->text);
		break;
	default:
		break;
	}
}

static volatile sig_atomic_t stopped_by;

static void on_signal(int signo)
{
	stopped_by = signo;
}

/* They are let in while we wait only, so that none is missed between a look and a wait; one that was ignored stays so. */
static void watch_signals(sigset_t *ret_waiting)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction old, act = { .sa_handler = on_signal };
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_LEN(ending); i++) {
		sigaddset(&blocked, ending[i]);
		if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			(void) sigaction(ending[i], &act, NULL);
	}
	(void) sigprocmask(SIG_BLOCK, &blocked, ret_waiting);
}

static void follow(struct session *s, const sigset_t *waiting)
{
	struct suite_msg msg;
	int r = 0;

	while (r != -EPIPE && !stopped_by && s->print == STATUS_OK) {
		struct pollfd p = { .fd = suite_fd(s->run), .events = POLLIN };
		r = suite_next(s->run, &msg);
		if (r > 0)
			take(s, &msg);
		else if (r == 0)
			(void) ppoll(&p, 1, NULL, waiting);
	}
	clear_progress(s);
}

/* ---- the end ---- */

static void say_unexpected(const struct session *s)
{
	struct buf names = { 0 };

	for (size_t n = 0; n < s->matrix.manifest->attack_count; n++)
		for (size_t k = 0; k < s->matrix.preset_count; k++) {
			const struct cell *c = matrix_cell(&s->matrix, n, k);
			if (c && !cell_as_expected(c))
				buf_printf(&names, "%s%s under %s (%s, expected %s)", names.len ? ", " : "",
					   attack_of(s, n), preset_of(s, k), cell_verdict_name(c->verdict),
					   expected_word(c));
		}
	look_say(s->look, "not as expected: %s", names.data);
	buf_done(&names);
}

static int report(struct session *s)
{
	struct buf json = { 0 };

	if (s->failed) {
		look_say(s->look, "%s", s->failed);
		return STATUS_CANNOT;
	}
	if (s->q->json) {
		matrix_json(&s->matrix, &json);
		print(s, json.data);
		buf_done(&json);
	} else {
		print_rest(s);
	}
	if (s->print != STATUS_OK)
		return s->print;
	if (matrix_as_expected(&s->matrix))
		return STATUS_OK;
	say_unexpected(s);
	return STATUS_NO;
}

/* Faults of a manifest are a line each. */
static int refuse(const struct look *look, const struct err *e)
{
	FREE char *text = xstrdup(e->text);
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")))
		look_say(look, "%s", line);
	return STATUS_CANNOT;
}

static int attack(const struct look *look, const struct request *q)
{
	const struct suite_want want = { .manifest = q->manifest,
					 .presets = (const char *const *) q->presets,
					 .only = (const char *const *) q->only };
	struct session s = { .look = look, .q = q, .print = STATUS_OK };
	sigset_t waiting;
	struct err e;

	run_prepare_process();
	if (suite_start(&want, &s.run, &e) < 0)
		return refuse(look, &e);
	watch_signals(&waiting);
	matrix_init(&s.matrix, suite_manifest(s.run), suite_presets(s.run));
	if (!q->json)
		print_head(&s);
	follow(&s, &waiting);
	int status = stopped_by ? 128 + stopped_by : s.print != STATUS_OK ? s.print : report(&s);
	matrix_done(&s.matrix);
	suite_free(s.run);
	free(s.failed);
	return status;
}

static int attack_main(const struct look *look, int argc, char **argv)
{
	struct request q = { 0 };
	char **after;
	struct err e;
	int words = 0, status;

	if (options_parse(options, &q, argc, argv, &words, &after, &e) < 0)
		status = look_refuse(look, &e);
	else if (q.help || q.help_man)
		status = help(q.help_man);
	else if (after || (words > 0 && !q.only)) {
		look_say(look, "attack takes options only; see belljar attack --help");
		status = STATUS_CANNOT;
	} else {
		for (int i = 1; i <= words; i++)
			q.only = strv_add(q.only, argv[i]);
		status = attack(look, &q);
	}
	strv_free(q.presets);
	strv_free(q.only);
	return status;
}

const struct command command_attack = {
	.name = "attack",
	.summary = "harmless attacks, run under each preset: what stops them",
	.main = attack_main,
};
