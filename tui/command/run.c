/* SPDX-License-Identifier: MIT */
/*
 * `belljar run`: one run without screens. The target's output passes through (scrubbed on its way to a terminal, as it
 * is otherwise), or becomes part of the one object of --json; notes, errors and the verdict go to standard error.
 *
 * Nothing here waits for a reader: while one is behind, the run is not read, its socket fills, and the supervisor lets
 * the target wait. Signals are still served then, so ^C works whatever hangs.
 */
#include "core/supervise/supervise.h"
#include "tui/inlet.h"
#include "tui/outlet.h"
#include "tui/passage.h"
#include "tui/request.h"
#include "tui/raw.h"
#include "tui/result.h"
#include "tui/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRACE_NS   (2 * NS_PER_S)
#define EVENTS_MAX 1024 /* read before signals and readers get their turn */

struct session {
	const struct request *q;
	struct launch *launch;
	struct loop *loop;
	struct run *run;
	struct outlet
		out[STREAM_MAX]; /* ours of the same names; stderr also takes what belljar itself says */
	struct outlet
		*to[STREAM_MAX]; /* the same one where both are one file: else one could cut into the other */
	struct outlet events;
	struct inlet in;
	struct raw raw; /* the person's terminal, while its keys go to the target's */
	int events_fd;  /* -1: no --events */
	bool passes[STREAM_MAX], scrubbed[STREAM_MAX];
	struct passage passage[STREAM_MAX];
	bool line_open; /* the last that a terminal got did not end its line */
	struct tally tally;
	uint64_t quiet_files;  /* events of files that are not told */
	struct result *result; /* with --json */
	struct event *exit;    /* what ended the run */
	char *told;            /* the text of the last error event */
	int signals;           /* how many asked us to stop */
	bool reading, stopping, events_lost, over;
};

static void say(struct session *s, const char *text)
{
	struct outlet *o = s->to[STREAM_STDERR];

	if (s->line_open)
		outlet_add(o, "\n", 1);
	s->line_open = false;
	outlet_add(o, text, strlen(text));
	outlet_add(o, "\n", 1);
}

/* A message of ours, in which names and texts of others may stand. */
static void say_scrubbed(struct session *s, const char *before, const char *text, const char *remedy)
{
	FREE char *raw = xprintf("belljar: %s%s%s%s", before, text, remedy && *remedy ? "; " : "",
				 remedy ? remedy : "");
	FREE char *line = text_line(raw, strlen(raw), s->q->look.ascii);

	say(s, line);
}

static void note(struct session *s, const char *text)
{
	if (!s->q->quiet)
		say_scrubbed(s, "note: ", text, NULL);
}

/* ---- what events come to ---- */

static void pass(struct session *s, enum stream stream, const char *bytes, size_t len)
{
	if (!s->passes[stream])
		return;
	if (!s->scrubbed[stream]) {
		outlet_add(s->to[stream], bytes, len);
		return;
	}
	const struct buf *text = passage_add(&s->passage[stream], bytes, len);
	outlet_add(s->to[stream], text->data, text->len);
	if (text->len)
		s->line_open = text->data[text->len - 1] != '\n';
}

static void on_start(struct session *s, const struct event *ev)
{
	for (size_t i = 0; i < ev->start.limit_count; i++) {
		const struct event_limit *limit = &ev->start.limits[i];
		if (limit->grade != GRADE_NONE || limit->asked >= INT64_MAX)
			continue;
		FREE char *text = xprintf("the limit on %s cannot be held here", limit->name);
		note(s, text);
	}
}

static void on_error(struct session *s, const struct event *ev)
{
	say_scrubbed(s, "", ev->error.text, ev->error.remedy);
	free(s->told);
	s->told = xstrdup(ev->error.text);
}

static void on_exit_event(struct session *s, const struct event *ev)
{
	struct buf line = { 0 };
	const char *evidence = ev->exit.evidence;
	bool told = s->told && evidence && strcmp(s->told, evidence) == 0;

	pass(s, STREAM_STDOUT, NULL, 0);
	pass(s, STREAM_STDERR, NULL, 0);
	if (s->q->quiet || told)
		return;
	if (s->q->verbose && s->quiet_files > 0)
		buf_printf(&line,
			   "belljar: %" PRIu64 " uses of files that nothing refused are not told here\n",
			   s->quiet_files);
	if (s->q->verbose && ev->exit.verdict != VERDICT_SETUP_ERROR)
		tally_line(&s->tally, "belljar: ", s->q->look.ascii, &line);
	buf_str(&line, "belljar: ");
	verdict_line(ev, &s->tally, s->q->look.ascii, &line);
	say(s, line.data);
	buf_done(&line);
}

/* What takes a while before the start. */
static void on_progress(struct session *s, const struct event *ev)
{
	FREE char *line = text_line(ev->progress.text, strlen(ev->progress.text), s->q->look.ascii);
	FREE char *text = xprintf("belljar: %s %s", line, s->q->look.ascii ? "..." : "…");

	if (!s->q->quiet && !s->q->verbose)
		say(s, text);
}

static void tell(struct session *s, const struct event *ev)
{
	struct buf line = { 0 };

	event_line(ev, s->q->look.ascii, &line);
	say(s, line.data);
	buf_done(&line);
}

static void on_changed(struct session *s, const struct event *ev)
{
	struct buf words = { 0 };

	event_words(ev, s->q->look.ascii, &words);
	note(s, words.data);
	buf_done(&words);
}

/* A file that was there, or that nobody has: nothing of belljar's stood in the way. */
static bool is_quiet(const struct event *ev)
{
	return ev->outcome == OUTCOME_OPENED || ev->outcome == OUTCOME_ABSENT ||
	       ev->outcome == OUTCOME_UNKNOWN;
}

static void show_event(struct session *s, const struct event *ev)
{
	tally_event(&s->tally, ev);
	switch (ev->type) {
	case EVENT_START:
		on_start(s, ev);
		break;
	case EVENT_OUTPUT:
		pass(s, ev->output.stream, ev->output.bytes, ev->output.len);
		return; /* it tells itself */
	case EVENT_METER:
		return; /* ten a second */
	case EVENT_ERROR:
		on_error(s, ev);
		return;
	case EVENT_FILE:
		if (is_quiet(ev)) {
			s->quiet_files += ev->file.count;
			return; /* a start of Python opens a hundred; the recording has them */
		}
		break;
	case EVENT_PROGRESS:
		on_progress(s, ev);
		break;
	case EVENT_ALERT:
	case EVENT_CHANGED:
		if (!s->q->verbose)
			on_changed(s, ev);
		break;
	case EVENT_EXIT:
		on_exit_event(s, ev);
		return;
	default:
		break;
	}
	if (s->q->verbose)
		tell(s, ev);
}

static void write_event(struct session *s, const struct event *ev)
{
	struct buf line = { 0 };

	if (s->events_fd < 0)
		return;
	event_to_json(ev, &line);
	buf_add(&line, "\n", 1);
	outlet_add(&s->events, line.data, line.len);
	buf_done(&line);
}

/* Takes the event. */
static void on_event(struct session *s, struct event *ev)
{
	bool is_exit = ev->type == EVENT_EXIT;

	write_event(s, ev);
	show_event(s, ev);
	if (is_exit && s->result) {
		struct buf json = { 0 };
		s->exit = ev;
		result_take(s->result, ev);
		result_to_json(s->result, &json);
		outlet_add(&s->out[STREAM_STDOUT], json.data, json.len);
		buf_done(&json);
	} else if (is_exit) {
		s->exit = ev;
	} else if (s->result) {
		result_take(s->result, ev);
	} else {
		(void) event_free(ev);
	}
}

/* ---- readers ---- */

static void stop(struct session *s, uint64_t grace_ns)
{
	s->stopping = true;
	(void) run_stop(s->run, grace_ns); /* one that is gone already says so by its exit event */
}

/* A reader that is gone ends the run, since what it was for is gone; one of events or messages does not. */
static void check_readers(struct session *s)
{
	int error = s->out[STREAM_STDOUT].error;

	if (error && error != ECANCELED && !s->stopping) {
		FREE char *text = xprintf("standard output: %s; the run is stopped", strerrordesc_np(error));
		if (error == EPIPE)
			note(s, "the reader of standard output went away, so the run is stopped");
		else
			say_scrubbed(s, "", text, NULL);
		stop(s, GRACE_NS);
	}
	if (s->events_fd >= 0 && s->events.error && !s->events_lost) {
		FREE char *text =
			xprintf("--events: %s; the run goes on without", strerrordesc_np(s->events.error));
		say_scrubbed(s, "", text, NULL);
		s->events_lost = true;
	}
}

static bool is_behind(const struct session *s)
{
	return outlet_behind(&s->out[STREAM_STDOUT]) || outlet_behind(&s->out[STREAM_STDERR]) ||
	       outlet_behind(&s->events);
}

static void flush(struct session *s)
{
	outlet_flush(&s->out[STREAM_STDOUT]);
	outlet_flush(&s->out[STREAM_STDERR]);
	outlet_flush(&s->events);
	check_readers(s);
	outlet_flush(&s->out[STREAM_STDERR]); /* what the check said */
}

static void on_run(void *arg, uint32_t epoll_events);

/* Unwatched, not just asked for nothing: a supervisor that has gone would wake us for ever while a reader is behind. */
static void watch_run(struct session *s, bool on)
{
	struct err e;

	if (on == s->reading)
		return;
	s->reading = on;
	if (!on)
		loop_unwatch_fd(s->loop, run_fd(s->run));
	else if (loop_watch_fd(s->loop, run_fd(s->run), EPOLLIN, on_run, s, &e) < 0) {
		say_scrubbed(s, "", e.text, NULL);
		s->over = true;
	}
}

/* One turn: as much of the run as its readers keep up with; over when the last byte is out. */
static void turn(struct session *s)
{
	struct event *ev;
	int r = 1;

	for (int i = 0; i < EVENTS_MAX && !s->over && !is_behind(s) && (r = run_next(s->run, &ev)) > 0; i++)
		on_event(s, ev);
	s->over = s->over || r < 0;
	flush(s);
	watch_run(s, !s->over && !is_behind(s));
	if (s->over && !outlet_waiting(&s->out[STREAM_STDOUT]) && !outlet_waiting(&s->out[STREAM_STDERR]) &&
	    !outlet_waiting(&s->events))
		loop_quit(s->loop);
}

static void on_run(void *arg, uint32_t epoll_events)
{
	(void) epoll_events;
	turn(arg);
}

static void on_moved(void *arg)
{
	turn(arg);
}

static void give_up(struct outlet *o)
{
	if (outlet_waiting(o))
		outlet_give_up(o);
}

/* The first asks the target to end, the second ends it and waits for no reader any more. */
static void on_signal(void *arg, int signo)
{
	struct session *s = arg;
	struct winsize size;

	if (signo == SIGWINCH) {
		if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
			(void) run_resize(s->run, size.ws_row, size.ws_col);
		return;
	}
	stop(s, s->signals++ ? 0 : GRACE_NS);
	if (s->signals > 1 || s->over) {
		give_up(&s->out[STREAM_STDOUT]);
		give_up(&s->out[STREAM_STDERR]);
		give_up(&s->events);
	}
	turn(s);
}

/* ---- the run ---- */

static bool is_one_file(int a, int b)
{
	struct stat at, bt;

	return fstat(a, &at) == 0 && fstat(b, &bt) == 0 && at.st_dev == bt.st_dev && at.st_ino == bt.st_ino &&
	       !S_ISREG(at.st_mode); /* of a file each may have a place of its own */
}

static void open_outlets(struct session *s)
{
	const struct request *q = s->q;

	s->passes[STREAM_STDOUT] = !q->json && s->events_fd != STDOUT_FILENO;
	s->passes[STREAM_STDERR] = s->passes[STREAM_STDOUT] && s->events_fd != STDERR_FILENO;
	for (int i = 0; i < STREAM_MAX; i++) {
		int fd = i == STREAM_STDOUT ? STDOUT_FILENO : STDERR_FILENO;
		bool taken = s->events_fd == fd; /* the events have it to themselves */
		s->scrubbed[i] = isatty(fd);
		passage_init(&s->passage[i], q->look.ascii, q->look.color, s->tally.removed);
		s->to[i] = &s->out[i];
		outlet_open(&s->out[i], taken ? -1 : fd, s->loop, on_moved, s);
	}
	if (s->out[STREAM_STDOUT].fd >= 0 && is_one_file(STDOUT_FILENO, STDERR_FILENO))
		s->to[STREAM_STDERR] = s->to[STREAM_STDOUT];
	outlet_open(&s->events, s->events_fd, s->loop, on_moved, s);
}

static int watch_signals(struct session *s, struct err *e)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction old;
	sigset_t set;

	(void) sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(ending);
	     i++) /* nohup(1) and `&` in a script mean an ignored one to stay so */
		if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			(void) sigaddset(&set, ending[i]);
	if (s->launch->tty)
		(void) sigaddset(&set, SIGWINCH);
	return loop_watch_signals(s->loop, &set, on_signal, s, e);
}

static void on_escape(void *arg)
{
	struct session *s = arg;

	if (s->run)
		stop(s, s->signals++ ? 0 : GRACE_NS);
}

/* Our terminal's keys go to the target's, which has the size of ours. */
static int take_terminal(struct session *s, int fd, struct err *e)
{
	struct winsize size;
	int r;

	if (!s->launch->tty || !isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0) {
		s->launch->rows = size.ws_row;
		s->launch->columns = size.ws_col;
	}
	if ((r = raw_begin(&s->raw, fd, e)) < 0)
		return r;
	s->in.escape = on_escape;
	s->in.arg = s;
	note(s, "your keys go to the program; ^] stops it");
	return 0;
}

/* The launch borrows the target's end of standard input while it starts. */
static int start(struct session *s, struct err *e)
{
	int r, from = s->launch->stdin_fd;

	if ((r = inlet_open(&s->in, from, s->loop, &s->launch->stdin_fd, e)) < 0)
		return r;
	if ((r = take_terminal(s, from, e)) == 0)
		r = run_start(s->launch, &s->run, e);
	if (s->launch->stdin_fd != from)
		close_fd(&s->launch->stdin_fd);
	s->launch->stdin_fd = from;
	if (r == 0)
		inlet_start(&s->in);
	return r;
}

static int follow(struct session *s, char *const *notes, struct err *e)
{
	int r;

	if ((r = loop_new(&s->loop, e)) < 0 || (r = watch_signals(s, e)) < 0)
		return r;
	open_outlets(s);
	for (; notes && *notes; notes++)
		note(s, *notes);
	flush(s);
	run_prepare_process();
	if ((r = start(s, e)) < 0)
		return r;
	turn(s);
	return loop_run(s->loop, e);
}

/* The verdict's status, unless the output that it stands for did not arrive. */
static int status_of(const struct session *s)
{
	const struct outlet *out = &s->out[STREAM_STDOUT];

	if (!s->exit)
		return STATUS_CANNOT;
	if (out->lost && out->error == EPIPE)
		return 130;
	if (out->lost && out->error != ECANCELED)
		return STATUS_CANNOT;
	return verdict_status(s->exit);
}

static void session_done(struct session *s)
{
	s->run = run_free(s->run);
	inlet_close(&s->in);
	raw_end(&s->raw);
	for (int i = 0; i < STREAM_MAX; i++) {
		outlet_close(&s->out[i]);
		passage_done(&s->passage[i]);
	}
	outlet_close(&s->events);
	if (s->events_fd > STDERR_FILENO)
		close_fd(&s->events_fd);
	if (!s->result)
		s->exit = event_free(s->exit);
	s->result = result_free(s->result);
	s->loop = loop_free(s->loop);
	free(s->told);
}

/* Nothing was run: said to the person, and as an object to the program that asked for one. */
static int refuse(const struct look *look, bool json, const struct launch *l, const struct err *e)
{
	look_say(look, "%s", e->text);
	if (json) {
		struct result *result = result_new(l);
		struct buf out = { 0 };
		result_setup_error(result, STATUS_CANNOT, e->text);
		result_to_json(result, &out);
		(void) write_all(STDOUT_FILENO, out.data, out.len); /* the status says the same */
		buf_done(&out);
		(void) result_free(result);
	}
	return STATUS_CANNOT;
}

static int run_launch(const struct request *q, struct launch *l, char *const *notes)
{
	struct session s = { .q = q, .launch = l, .events_fd = -1, .events.fd = -1 };
	struct err e;
	int r, status;

	if ((r = outlet_find(q->events, &s.events_fd, &e)) == 0) {
		s.result = q->json ? result_new(l) : NULL;
		r = follow(&s, notes, &e);
	}
	status = r < 0 ? refuse(&q->look, q->json, l, &e) : status_of(&s);
	session_done(&s);
	return status;
}

static int help(bool man)
{
	struct buf out = { 0 };

	if (man) {
		options_man(request_options, &out);
	} else {
		buf_str(&out, "Usage: belljar run [OPTIONS] FILE | - | -c CODE | -- PROGRAM ARGUMENTS\n");
		options_help(request_options, &out);
	}
	int r = write_all(STDOUT_FILENO, out.data, out.len);
	buf_done(&out);
	return r < 0 ? STATUS_CANNOT : STATUS_OK;
}

static int run_main(const struct look *look, int argc, char **argv)
{
	struct request q = { .look = *look };
	struct launch *l = NULL;
	char **notes = NULL;
	struct err e;
	int status;

	(void) signal(SIGPIPE, SIG_IGN); /* a reader that went away is an errno here, not our end */
	(void) signal(SIGXFSZ,
		      SIG_IGN); /* so is a recording, or a file of events, that may not grow (ulimit -f) */
	if (request_parse(&q, argc, argv, &e) < 0)
		status = refuse(&q.look, q.json || request_wants_json(argc, argv), NULL, &e);
	else if (q.help || q.help_man)
		status = help(q.help_man);
	else if (request_launch(&q, &l, &notes, &e) < 0)
		status = refuse(&q.look, q.json, NULL, &e);
	else {
		l->terse = !q.verbose && !q.json && !q.events;
		status = run_launch(&q, l, notes);
	}

	if (l && l->stdin_fd > STDERR_FILENO)
		close_fd(&l->stdin_fd);
	(void) launch_free(l);
	(void) strv_free(notes);
	request_done(&q);
	return status;
}

const struct command command_run = {
	.name = "run",
	.summary = "run code without screens; its output passes through, then one line of verdict",
	.reads_look = true,
	.main = run_main,
};
