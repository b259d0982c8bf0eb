/* SPDX-License-Identifier: MIT */
/*
 * The options of `belljar run`: their one table, and what may not be said together. What they come to as a launch is in
 * launch.c.
 */
#include "tui/request.h"

#include "core/base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int set_limit(void *into, const struct option_row *row, const char *value, struct err *e)
{
	struct request *q = into;

	q->limited[row->at] = true;
	return limit_parse((enum limit_name) row->at, value, &q->limit[row->at], e);
}

#define ENV_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"

static bool is_env_name(const char *s, size_t len)
{
	return len > 0 && strchr(ENV_LETTERS, s[0]) && strspn(s, ENV_LETTERS "0123456789") >= len;
}

static int add_env(void *into, const struct option_row *row, const char *value, struct err *e)
{
	size_t len = strcspn(value, "=");

	if (!value[len])
		return err_say(e, EINVAL, "\"%s\" has no =; write NAME=VALUE, or --pass %s to hand on yours",
			       value, value);
	if (!is_env_name(value, len))
		return err_say(
			e, EINVAL,
			"\"%.*s\" cannot be the name of a variable: letters, digits and _, no digit first",
			(int) len, value);
	return option_add_text(into, row, value, e);
}

static int add_pass(void *into, const struct option_row *row, const char *value, struct err *e)
{
	if (strchr(value, '='))
		return err_say(e, EINVAL,
			       "\"%s\" has a value; --env gives a variable a value, --pass hands on yours",
			       value);
	if (!is_env_name(value, strlen(value)))
		return err_say(
			e, EINVAL,
			"\"%s\" cannot be the name of a variable: letters, digits and _, no digit first",
			value);
	if (!getenv(value))
		return err_say(e, EINVAL, "%s is not set here, so there is nothing to hand on", value);
	return option_add_text(into, row, value, e);
}

static int refuse_later(void *into, const struct option_row *row, const char *value, struct err *e)
{
	(void) into;
	(void) value;
	return err_say(e, EINVAL, "comes in a later version (%s); this one would ignore it", row->help);
}

#define FIELD(f) .at = offsetof(struct request, f)
#define LIMIT(opt, arg, which, phrase, text)                                                             \
	{                                                                                                \
		.name = opt, .argument = arg, .help = phrase, .man = text, .set = set_limit, .at = which \
	}

const struct option_row request_options[] = {
	{ .name = "preset",
	  .letter = 'p',
	  .argument = "NAME|FILE",
	  .help = "how it is isolated (without this: namespaces)",
	  .man = "The preset to run under: a name that belljar preset list shows, or a file when the word "
		 "has a slash. "
		 "Without it: namespaces.",
	  .set = option_set_text,
	  FIELD(preset) },
	{ .name = "lang",
	  .letter = 'l',
	  .argument = "NAME",
	  .help = "the language, where the code does not show it",
	  .man = "The language of the code. Without it, the first line (#!), the file's ending and the text "
		 "decide.",
	  .set = option_set_text,
	  FIELD(language) },
	{ .letter = 'c',
	  .name = "code",
	  .argument = "CODE",
	  .help = "the code itself, in place of a FILE",
	  .man = "The code itself, in place of FILE.",
	  .set = option_set_text,
	  FIELD(code) },
	{ .name = "input",
	  .argument = "PATH[:DEST]",
	  .repeats = true,
	  .help = "a file or folder it may read, seen at DEST",
	  .man = "A file or folder that the target may read, and nothing more, at the absolute path DEST "
		 "(the level's "
		 "default is /data, or data below the working folder). May be given again.",
	  .set = option_add_text,
	  FIELD(inputs) },
	{ .name = "output",
	  .argument = "DIR",
	  .help = "an empty folder that gets its out/ afterwards",
	  .man = "An empty or new folder that receives, after the end, the regular files that the target "
		 "left in out/. It "
		 "is the only one that outlives the run.",
	  .set = option_set_text,
	  FIELD(output) },
	{ .name = "project",
	  .argument = "DIR",
	  .help = "a folder it works on a copy of",
	  .man = "A folder that the target sees as its working folder and may change: what it writes goes to "
		 "a copy, the "
		 "folder stays as it is, and the changes are told at the end.",
	  .set = option_set_text,
	  FIELD(project) },
	{ .name = "env",
	  .argument = "NAME=VALUE",
	  .repeats = true,
	  .help = "a variable for its otherwise empty environment",
	  .man = "A variable for the target, whose environment is otherwise empty. May be given again.",
	  .set = add_env,
	  FIELD(env) },
	{ .name = "events",
	  .argument = "FILE|FD",
	  .help = "as JSON Lines",
	  .man = "Write each event as a line of JSON while it happens: to a new file (mode 0600), a FIFO or "
		 "a device, or to "
		 "an open descriptor by number. On descriptor 1 or 2 the events stand in for what would else "
		 "be printed there.",
	  .set = option_set_text,
	  FIELD(events) },

	{ .name = "pass",
	  .argument = "NAME",
	  .repeats = true,
	  .help = "your own variable",
	  .man = "Hand one of your own variables on to the target. May be given again.",
	  .set = add_pass,
	  FIELD(pass) },
	{ .name = "stdin",
	  .argument = "FILE",
	  .help = "what it reads",
	  .man = "What the target reads on standard input. Without it: yours, or nothing when the code "
		 "itself came there.",
	  .set = option_set_text,
	  FIELD(stdin_path) },
	{ .name = "record",
	  .argument = "FILE",
	  .help = "where to record",
	  .man = "Where the recording goes; the file must not exist yet. Without it: a file of its own in "
		 "the state folder.",
	  .set = option_set_text,
	  FIELD(record) },
	{ .name = "no-record",
	  .help = "no recording",
	  .man = "Keep no recording of this run.",
	  .set = option_set_flag,
	  FIELD(no_record) },
	{ .name = "json",
	  .help = "one JSON object",
	  .man = "Print one JSON object with verdict, output and all that was "
		 "refused on standard output, in place of the target's own output. Also when nothing could "
		 "be run.",
	  .set = option_set_flag,
	  FIELD(json) },
	{ .name = "canary",
	  .help = "plant lures",
	  .man = "Plant credentials that open nothing where the target "
		 "looks for its own (AWS, Google Cloud, ssh, git, GitHub, npm, PyPI, Docker, Kubernetes, "
		 ".netrc, .env), "
		 "each with a word made for this run, and raise an alert when such a word "
		 "is seen in the "
		 "output, in a call's arguments or in a file that leaves. A word that was "
		 "encoded, or that leaves in a variable or "
		 "in what is "
		 "sent, is not seen.",
	  .set = option_set_flag,
	  FIELD(canary) },
	{ .name = "tty",
	  .help = "its own terminal",
	  .man = "Give the target a terminal of its own, never yours: its standard input, output and error. "
		 "Keys go to "
		 "it, ^C too; ^] stops the run, ^] again kills it. Its size follows yours. What it prints is "
		 "one "
		 "stream.",
	  .set = option_set_flag,
	  FIELD(tty) },
	{ .name = "best-effort",
	  .help = "run though weaker",
	  .man = "Run even where this machine cannot hold all that the "
		 "preset asks for. The result says what was not held.",
	  .set = option_set_flag,
	  FIELD(best_effort) },
	{ .name = "quiet",
	  .letter = 'q',
	  .help = "no verdict line",
	  .man = "Neither notes nor the line with the verdict; "
		 "errors are still told.",
	  .set = option_set_flag,
	  FIELD(quiet) },
	{ .name = "verbose",
	  .letter = 'v',
	  .help = "tell each event",
	  .man = "Tell each event on standard error as it "
		 "happens, but for output, meters and uses of files that nothing refused.",
	  .set = option_set_flag,
	  FIELD(verbose) },
	{ .name = "help",
	  .letter = 'h',
	  .help = "this",
	  .man = "Print a summary of these options.",
	  .set = option_set_flag,
	  FIELD(help) },

	{ .name = "wall",
	  .argument = "TIME",
	  .help = "on the clock",
	  .heading = "Limits, over the preset's (10s, 1.5m; "
		     "64M, 1G; or unlimited)",
	  .set = set_limit,
	  .at = LIMIT_WALL,
	  .man = "Time on the clock: 500ms, 10s, 2m. Each limit goes before the preset's, and may be "
		 "unlimited." },
	LIMIT("cpu", "TIME", LIMIT_CPU, "CPU, all tasks", "CPU time of all its processes together."),
	LIMIT("cpus", "N", LIMIT_CPUS, "cores at once", "Cores that it may use at once: 1, 0.5, 2."),
	LIMIT("memory", "SIZE", LIMIT_MEMORY, "all processes",
	      "Memory of all its processes and writable places together: 64M, 1G."),
	LIMIT("processes", "N", LIMIT_PROCESSES, "threads count", "Processes and threads at once."),
	LIMIT("open-files", "N", LIMIT_OPEN_FILES, "in one process", "Open descriptors of one process."),
	LIMIT("file-size", "SIZE", LIMIT_FILE_SIZE, "of one file", "Size of one file."),
	LIMIT("space", "SIZE", LIMIT_SPACE, "all files",
	      "Size of all files in the writable places together."),
	LIMIT("inodes", "N", LIMIT_INODES, "files and folders", "Files and folders in the writable places."),
	LIMIT("output-limit", "SIZE", LIMIT_OUTPUT, "both streams",
	      "Standard output and standard error together."),

	LOOK_OPTIONS(offsetof(struct request, look)),

	{ .name = "help-man",
	  .hidden = true,
	  .help = "the option list of the man page",
	  .set = option_set_flag,
	  FIELD(help_man) },
	{ .name = "allow",
	  .hidden = true,
	  .argument = "HOST:PORT",
	  .help = "network destinations by name",
	  .set = refuse_later },
	{ 0 },
};

/* Exactly one of FILE, "-", -c CODE and -- ARGV. */
static int check_what(const struct request *q, int words, char **argv, struct err *e)
{
	const char *given[3];
	int count = 0;

	if (q->code)
		given[count++] = "-c CODE";
	if (words > 0)
		given[count++] = argv[1];
	if (q->argv)
		given[count++] = "-- ARGV";
	if (count == 0)
		return err_say(e, EINVAL,
			       "nothing to run: give FILE, - (code on standard input), -c CODE, or -- "
			       "PROGRAM ARGUMENTS");
	if (words > 1)
		return err_say(
			e, EINVAL,
			"one FILE at a time, but \"%s\" and \"%s\" were given; a program with arguments goes "
			"after --",
			argv[1], argv[2]);
	if (count > 1)
		return err_say(e, EINVAL, "give one of FILE, -, -c CODE and -- ARGV, not both %s and %s",
			       given[0], given[1]);
	if (q->argv && !q->argv[0])
		return err_say(e, EINVAL, "-- needs a program after it: -- PROGRAM ARGUMENTS");
	if (q->argv && !*q->argv[0])
		return err_say(e, EINVAL, "the program after -- is an empty word");
	return 0;
}

static int check_together(const struct request *q, struct err *e)
{
	bool from_stdin = q->file && strcmp(q->file, "-") == 0;

	if (q->stdin_path && from_stdin)
		return err_say(e, EINVAL,
			       "--stdin cannot go with -: the code itself comes on standard input");
	if (q->language && q->argv)
		return err_say(e, EINVAL, "--lang says how code is run, but -- ARGV is run as it stands");
	if (q->json && q->events && strcmp(q->events, "1") == 0)
		return err_say(
			e, EINVAL,
			"--json and --events 1 would both write to standard output; give --events a FILE or "
			"another descriptor");
	if (q->record && q->no_record)
		return err_say(e, EINVAL, "--record and --no-record contradict each other");
	if (q->quiet && q->verbose)
		return err_say(e, EINVAL, "--quiet and --verbose contradict each other");
	if (q->verbose && q->events && strcmp(q->events, "2") == 0)
		return err_say(e, EINVAL, "--verbose and --events 2 would both write to standard error");
	if (q->look.script)
		return err_say(e, EINVAL, "--script drives the screens, and run has none");
	return 0;
}

int request_parse(struct request *q, int argc, char **argv, struct err *e)
{
	int words, r;

	if ((r = options_parse(request_options, q, argc, argv, &words, &q->argv, e)) < 0)
		return r;
	if (q->help || q->help_man)
		return 0;
	if ((r = check_what(q, words, argv, e)) < 0)
		return r;
	q->file = words > 0 ? argv[1] : NULL;
	return check_together(q, e);
}

void request_done(struct request *q)
{
	q->inputs = strv_free(q->inputs);
	q->env = strv_free(q->env);
	q->pass = strv_free(q->pass);
}

bool request_wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			return true;
	return false;
}
