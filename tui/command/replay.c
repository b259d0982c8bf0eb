/* SPDX-License-Identifier: MIT */
/*
 * `belljar replay`: a recording as a timeline, the last line its verdict. A recording may come from
 * anyone: everything in it is scrubbed, and one that is damaged is shown as far as it reads, and said to
 * be damaged.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/guard.h"
#include "tui/options.h"
#include "tui/verdict.h"

#define WRITE_AT (64u << 10)

struct replay {
	const struct look *look;
	struct buf out;
	struct tally tally;
	int failed; /* a -errno of writing */
};

static void flush(struct replay *p)
{
	if (!p->failed)
		p->failed = write_all(STDOUT_FILENO, p->out.data, p->out.len);
	p->out.len = 0;
}

static void end_line(struct replay *p)
{
	buf_add(&p->out, "\n", 1);
	if (p->out.len >= WRITE_AT)
		flush(p);
}

static void put_scrubbed(struct replay *p, const char *text)
{
	FREE char *line = text_line(text, strlen(text), p->look->ascii);
	buf_str(&p->out, line);
}

/* What was run, and how: the start event says it too, but a damaged recording may not have one. */
static void show_header(struct replay *p, const struct recording *r)
{
	buf_str(&p->out, "recording ");
	put_scrubbed(p, r->run_id);
	buf_str(&p->out, ", started ");
	put_scrubbed(p, r->started);
	end_line(p);
	put_scrubbed(p, *r->title ? r->title : "(no title)");
	if (*r->language)
		buf_str(&p->out, ", ");
	put_scrubbed(p, r->language);
	buf_str(&p->out, ", preset ");
	put_scrubbed(p, *r->preset ? r->preset : "not known");
	if (*r->code_sha256)
		buf_str(&p->out, ", sha256 ");
	put_scrubbed(p, r->code_sha256);
	end_line(p);
}

/* All lines of an output event, each as an event of its own: event_line tells only the first. */
static void show_output(struct replay *p, const struct event *ev)
{
	const char *at = ev->output.bytes, *end = at + ev->output.len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t) (end - at));
		struct event line = *ev;
		line.output.bytes = at;
		line.output.len = (size_t) ((newline ? newline : end) - at);
		line.output.len -= newline && line.output.len && newline[-1] == '\r';
		event_line(&line, p->look->ascii, &p->out);
		end_line(p);
		at = newline ? newline + 1 : end;
	}
}

static void count_event(struct tally *t, const struct event *ev)
{
	tally_event(t, ev);
	if (ev->type != EVENT_TERMINAL)
		return;
	for (int kind = 0; kind < TEXT_REMOVED_MAX; kind++)
		t->removed[kind] +=
			strcmp(ev->terminal.kind, text_removed_name((enum text_removed) kind)) == 0;
}

static void show_events(struct replay *p, const struct recording *r)
{
	for (size_t i = 0; i < r->count && !p->failed; i++) {
		const struct event *ev = r->events[i];
		count_event(&p->tally, ev);
		if (ev->type == EVENT_OUTPUT) {
			show_output(p, ev);
			continue;
		}
		event_line(ev, p->look->ascii, &p->out);
		end_line(p);
	}
}

static void show_verdict(struct replay *p, const struct recording *r)
{
	const struct event *last = r->count ? r->events[r->count - 1] : NULL;

	tally_line(&p->tally, "", p->look->ascii, &p->out);
	if (last && last->type == EVENT_EXIT)
		verdict_line(last, &p->tally, p->look->ascii, &p->out);
	else
		buf_str(&p->out, "no verdict: the recording ends before the run does");
	end_line(p);
}

static int replay_file(const struct look *look, const char *path)
{
	struct replay p = { .look = look };
	struct recording *r;
	struct err e;

	(void) signal(SIGPIPE, SIG_IGN); /* a reader that went away is an errno here, not our end */
	if (recording_read(path, &r, &e) < 0) {
		look_say(look, "%s", e.text);
		return STATUS_CANNOT;
	}
	show_header(&p, r);
	show_events(&p, r);
	show_verdict(&p, r);
	flush(&p);
	buf_done(&p.out);
	if (r->damage)
		look_say(look, "%s is damaged: %s", path, r->damage);
	int status = r->damage ? STATUS_NO : STATUS_OK;
	recording_free(r);
	if (!p.failed)
		return status;
	look_say(look, "cannot write the timeline: %s", strerror(-p.failed));
	return STATUS_CANNOT;
}

static const char help[] = "Usage: belljar replay [--plain] RECORDING\n"
			   "\n"
			   "Shows a recorded run again: on a terminal in the screens, elsewhere event by\n"
			   "event as lines that end with its verdict.\n"
			   "Nothing of it is run. What the run printed or named is shown scrubbed.\n"
			   "\n"
			   "  --plain    print the timeline as lines, on a terminal too\n"
			   "  --ascii    nothing but ASCII\n"
			   "  -h, --help this text\n"
			   "\n"
			   "Recordings lie in $XDG_STATE_HOME/belljar/runs (~/.local/state/belljar/runs).\n"
			   "\n"
			   "Exit status of the lines: 0 the recording is whole; 1 it is damaged, and shown\n"
			   "up to the damage. 125 it is no recording, or cannot be read.\n";

/* Screens where both ends are a terminal that they can draw on; lines for a file, a pipe, another program. */
static bool screens_wanted(const struct look *look)
{
	const char *term = getenv("TERM");

	return !look->plain && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

struct words {
	bool help;
};

static const struct option_row options[] = {
	{ .name = "help",
	  .letter = 'h',
	  .help = "this text",
	  .set = option_set_flag,
	  .at = offsetof(struct words, help) },
	{ .name = NULL },
};

static int replay_main(const struct look *look, int argc, char **argv)
{
	struct words said = { .help = false };
	char **after = NULL;
	struct err e;
	int count = 0;

	if (options_parse(options, &said, argc, argv, &count, &after, &e) < 0) {
		look_say(look, "%s", e.text);
		return STATUS_CANNOT;
	}
	if (said.help)
		return write_all(STDOUT_FILENO, help, strlen(help)) < 0 ? STATUS_CANNOT : STATUS_OK;
	size_t dashed = strv_len(after);
	if ((size_t) count + dashed != 1) {
		look_say(look, "replay takes one RECORDING; see belljar replay --help");
		return STATUS_CANNOT;
	}
	char *path = dashed ? after[0] : argv[1];
	if (!screens_wanted(look))
		return replay_file(look, path);
	char replay[] = "--replay";
	char *extra[] = { replay, path, NULL };
	return guard_screens(look, extra);
}

const struct command command_replay = {
	.name = "replay",
	.summary = "show a recorded run again, up to its verdict",
	.help = help,
	.main = replay_main,
};
