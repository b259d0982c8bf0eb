/* SPDX-License-Identifier: MIT */
/*
 * `belljar compare`: the same code under several presets, one run after the other, and a table of what was alike and
 * what was not.
 */
#include "core/base/base.h"
#include "core/model/model.h"
#include "core/suite/suite.h"
#include "core/supervise/supervise.h"
#include "tui/request.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEFAULT_PRESETS "subprocess namespaces"
#define LABEL_COLUMNS   24
#define COLUMNS         100 /* where the output is no terminal */
#define CELL_LEAST      12

static const char help[] =
	"Usage: belljar compare [-p A,B] [OPTIONS] FILE | - | -c CODE | -- PROGRAM ARGUMENTS\n"
	"\n"
	"Runs the same code under each preset, one after the other, and shows side by side how\n"
	"it ended, what it used and printed, what it tried and what became of that, and what\n"
	"stood around it. A row that differs begins with !: times and sizes when one is more\n"
	"than twice another.\n"
	"\n"
	"  -p, --preset A,B    two to four presets (without this: subprocess,namespaces)\n"
	"  --json              one object in place of the table\n"
	"  -v, --verbose       files too that were simply opened, or are nowhere\n"
	"  -q, --quiet         nothing but the table: no progress, no notes\n"
	"\n"
	"and the options of belljar run but --output, --record and --events: each run is\n"
	"recorded in a file of its own. What it reads on standard input is empty, or --stdin.\n"
	"\n"
	"  belljar compare agent.py\n"
	"  belljar compare -p subprocess,namespaces,microvm --wall 3s agent.py\n"
	"\n"
	"Status: 0 all ran, 1 one of them could not be run, 125 it could not be done.\n";

struct session {
	const struct request *q;
	char **presets;
	struct comparison *c;
};

/* ---- what is asked for ---- */

static int split_presets(const char *word, char ***ret, struct err *e)
{
	FREE char *list = xstrdup(word ? word : DEFAULT_PRESETS);

	for (char *p = list; *p; p++)
		*p = *p == ',' ? ' ' : *p;
	char **names = strv_split(list);
	for (char **n = names; n && *n; n++)
		for (char **m = names; m < n; m++)
			if (strcmp(*m, *n) == 0) {
				err_say(e, EINVAL, "--preset: \"%s\" was given twice", *n);
				strv_free(names);
				return -EINVAL;
			}
	if (strv_len(names) < 2 || strv_len(names) > COMPARE_MAX) {
		strv_free(names);
		return err_say(e, EINVAL, "--preset: give two to %d presets, A,B", COMPARE_MAX);
	}
	*ret = names;
	return 0;
}

/* What belongs to one run alone. */
static int check_alone(const struct request *q, struct err *e)
{
	const char *name = q->output ? "output" : q->record ? "record" : q->events ? "events" : NULL;

	return name ? err_say(e, EINVAL, "--%s is for one run; use belljar run -p PRESET --%s", name, name)
		    : 0;
}

/* The launch for the first preset brings the code; the others take it from there, as standard input is read once. */
static int launch_for(const struct session *s, size_t k, const struct launch *first, struct launch **ret,
		      struct err *e)
{
	struct request q = *s->q;
	char **notes = NULL;

	q.preset = s->presets[k];
	if (first && first->code) {
		q.code = first->code;
		q.file = NULL;
		q.language = first->language->name;
	}
	int r = request_launch(&q, ret, &notes, e);
	for (char **n = notes; r == 0 && k == 0 && !s->q->quiet && n && *n; n++)
		look_say(&s->q->look, "note: %s", *n);
	strv_free(notes);
	if (r < 0)
		return r;
	if ((*ret)->stdin_fd == STDIN_FILENO)
		(*ret)->stdin_fd = -1; /* what one run has read the next could not */
	if (first) {
		free((*ret)->title);
		(*ret)->title = xstrdup(first->title);
	}
	return 0;
}

/* ---- running ---- */

static bool show_progress(const struct session *s, size_t k, const char *waits)
{
	if (s->q->quiet || !look_rewrites(&s->q->look))
		return false;
	FREE char *raw = xprintf("belljar: running under %s (%zu of %zu)%s%s", s->presets[k], k + 1,
				 strv_len(s->presets), *waits ? ": " : "", waits);
	FREE char *line = text_line(raw, strlen(raw), s->q->look.ascii);
	fprintf(stderr, "\r\033[K%.*s", (int) text_fit(line, strlen(line), COLUMNS - 1), line);
	return true;
}

static int follow(const struct session *s, size_t k, const struct launch *l, struct err *e)
{
	struct run *run;
	struct event *ev;
	int r = run_start(l, &run, e);

	if (r < 0)
		return r;
	while ((r = run_next(run, &ev)) != -EPIPE) {
		struct pollfd p = { .fd = run_fd(run), .events = POLLIN };
		if (r == 0) {
			(void) poll(&p, 1, -1);
			continue;
		}
		if (ev->type == EVENT_PROGRESS)
			(void) show_progress(s, k, ev->progress.text);
		comparison_take(s->c, k, ev);
		event_free(ev);
	}
	run_free(run);
	return 0;
}

/* The fault of the request itself ends all; that of one preset is its column. */
static int run_all(struct session *s, struct err *e)
{
	struct launch *first = NULL;
	bool shown = false;
	int r = 0;

	s->c = comparison_new((const char *const *) s->presets);
	for (size_t k = 0; k < strv_len(s->presets); k++) {
		struct launch *l = NULL;
		struct err fault;
		shown |= show_progress(s, k, "");
		r = launch_for(s, k, first, &l, &fault);
		if (r < 0 && !first) {
			*e = fault;
			break;
		}
		if (r == 0)
			r = follow(s, k, l, &fault);
		if (r < 0)
			comparison_failed(s->c, k, fault.text);
		if (l && l->stdin_fd > STDIN_FILENO)
			close(l->stdin_fd);
		if (!first)
			first = l;
		else
			launch_free(l);
		r = 0;
	}
	if (shown)
		fputs("\r\033[K", stderr);
	launch_free(first);
	return r;
}

/* ---- the table ---- */

struct table {
	const struct look *look;
	int label, cell; /* columns */
	size_t count;
};

static int output_columns(void)
{
	struct winsize size;

	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return COLUMNS;
}

/* The next part of a text that fits; moves *text behind it. */
static size_t take_part(const char **text, int columns, const char **ret)
{
	const char *at = *text;
	size_t len = strlen(at), fit = text_fit(at, len, (size_t) columns), cut = fit;

	*ret = at;
	if (fit < len) {
		while (cut > 0 && at[cut] != ' ')
			cut--;
		cut = cut ? cut : fit ? fit : 1;
	}
	*text = at + cut + strspn(at + cut, " ");
	return cut;
}

static void put_padded(const char *part, size_t len, int columns, struct buf *out)
{
	int width = (int) text_width(part, len);

	buf_add(out, part, len);
	buf_printf(out, "%*s", width < columns ? columns - width : 0, "");
}

/* One row, on as many lines as its longest cell needs. */
static void put_row(const struct table *t, const char *sign, const char *label, char *const *cells,
		    struct buf *out)
{
	FREE char *label_line = text_line(label, strlen(label), t->look->ascii);
	char *lines[COMPARE_MAX] = { NULL };
	const char *rest[COMPARE_MAX + 1] = { label_line };
	bool more = true;

	for (size_t k = 0; k < t->count; k++) {
		const char *cell = cells[k] ? cells[k] : "-";
		lines[k] = text_line(cell, strlen(cell), t->look->ascii);
		rest[k + 1] = lines[k];
	}
	for (bool first = true; more; first = false) {
		more = false;
		buf_printf(out, "%s ", first ? sign : " ");
		for (size_t k = 0; k <= t->count; k++) {
			const char *part;
			int columns = k ? t->cell : t->label;
			size_t len = take_part(&rest[k], columns, &part);
			put_padded(part, len, k < t->count ? columns + 2 : 0, out);
			more |= *rest[k] != '\0';
		}
		buf_str(out, "\n");
	}
	for (size_t k = 0; k < t->count; k++)
		free(lines[k]);
}

static int print_table(const struct session *s)
{
	const struct compare_row *rows;
	struct buf out = { 0 };
	struct table t = { .look = &s->q->look, .label = LABEL_COLUMNS, .count = strv_len(s->presets) };
	size_t count = comparison_rows(s->c, &rows), quiet = 0;
	const char *section = "";
	int room = output_columns() - 2 - t.label - 2 * (int) t.count;

	t.cell = room / (int) t.count > CELL_LEAST ? room / (int) t.count : CELL_LEAST;
	put_row(&t, " ", "", s->presets, &out);
	for (size_t i = 0; i < count; i++) {
		if (rows[i].quiet && !rows[i].differs && !s->q->verbose) {
			quiet++;
			continue;
		}
		if (strcmp(section, rows[i].section) != 0)
			buf_printf(&out, "\n%s\n", rows[i].section);
		section = rows[i].section;
		put_row(&t, rows[i].differs ? "!" : " ", rows[i].label, rows[i].cell, &out);
	}
	if (quiet)
		buf_printf(&out,
			   "\n%zu files were opened, or are nowhere, under each alike: -v shows them.\n",
			   quiet);
	int status = look_print(out.data);
	buf_done(&out);
	return status;
}

static int report(struct session *s)
{
	struct buf json = { 0 };
	bool all = true;

	for (size_t k = 0; k < strv_len(s->presets); k++)
		all &= comparison_ran(s->c, k);
	if (s->q->json) {
		comparison_json(s->c, &json);
		buf_str(&json, "\n");
	}
	int status = s->q->json ? look_print(json.data) : print_table(s);
	buf_done(&json);
	return status != STATUS_OK ? status : all ? STATUS_OK : STATUS_NO;
}

static int compare_main(const struct look *look, int argc, char **argv)
{
	struct request q = { .look = *look };
	struct session s = { .q = &q };
	struct err e;
	int status = STATUS_CANNOT;

	run_prepare_process();
	int r = request_parse(&q, argc, argv, &e);
	if (r == 0 && q.help)
		status = look_print(help);
	else if (r < 0 || check_alone(&q, &e) < 0 || split_presets(q.preset, &s.presets, &e) < 0 ||
		 run_all(&s, &e) < 0)
		status = look_refuse(&q.look, &e);
	else
		status = report(&s);
	comparison_free(s.c);
	strv_free(s.presets);
	request_done(&q);
	return status;
}

const struct command command_compare = {
	.name = "compare",
	.summary = "the same code under several presets, side by side",
	.reads_look = true,
	.main = compare_main,
};
