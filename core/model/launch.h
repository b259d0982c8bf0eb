/* SPDX-License-Identifier: MIT */
/*
 * Launch: one request to run something. Code or an argv, its language, the policy, and what goes in and out.
 */
#pragma once

/* clang-format off */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct policy;

#define CODE_MAX (10u << 20) /* longer code is refused, never cut */

/* How a language is run. `argv` has %s for the path of the code; compiled ones go through sh inside the sandbox. */
struct language {
	const char *name;                /* "python" */
	const char *title;               /* "Python 3" */
	const char *file;                /* the name its code gets: "main.py" */
	const char *const *extensions;   /* "py", … NULL */
	const char *const *interpreters; /* basenames in a shebang: "python", "python3", … NULL */
	const char *const *programs;     /* any of these must be there; looked up in this order */
	const char *const *argv;         /* "%i" the program found, "%f" the code's path, "%t" a path to compile to */
	bool cr_is_fault;                /* CR LF breaks it (sh, bash, perl here-documents …): endings become LF */
	bool needs_utf8;                 /* other bytes are a fault of its source, unless it names its encoding */
};
extern const struct language *const languages[]; /* NULL-terminated */

const struct language *language_by_name(const char *name); /* aliases too: py, js, rb */
/* language_guess: by shebang, then file ending, then the text. NULL and an error that lists the names with -l. */
const struct language *language_guess(const char *file_name, const char *code, size_t len, struct err *e);
/* language_find_program: its program as the sandbox will see it (/usr/bin first to last of the fixed PATH, and
 * below policy->read_only). -ENOENT with the reason and remedy: not installed, or only a shim outside the view. */
#define TARGET_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
int program_find(const char *name, const struct policy *p, char **ret_path, struct err *e);
int language_find_program(const struct language *lang, const struct policy *p, char **ret_path, struct err *e);

struct launch_bind {
	char *source; /* host path, absolute */
	char *dest;   /* path in the target's view, absolute; NULL: the default of the backend */
};

struct launch {
	struct policy *policy;           /* owned */
	char run_id[27];                 /* ULID, also marks everything the run leaves on the host */
	const struct language *language; /* NULL: argv is run as it is */
	char *code;                      /* owned; endings already put right; NULL with argv */
	size_t code_len;
	char code_sha256[65];
	char *title;                     /* file name, "-", or argv[0]: what the screens call it */
	char **argv;                     /* the user's after --, or the interpreter's own arguments */
	char **env;                      /* K=V of --env and the values of --pass */
	struct launch_bind *inputs;
	size_t input_count;
	char *output_dir, *project_dir, *record_path;
	int stdin_fd;                    /* -1: empty; Borrowed until the run has started */
	bool best_effort, canary, tty, no_record;
	uint16_t rows, columns;          /* of that terminal (tty); 0: 24, 80 */
	bool terse;                      /* the front end has no use for events of files, network and programs: only the
	                                  * recording gets them */
	bool spare;                      /* made ready ahead: what to run comes later, by launch_unpack */
	bool watch_exit;                 /* inside a machine: the target's end is told before it is carried out */
	bool answers;                    /* the front end answers what `on_denied = ask` asks; else it is refused at once */
};

/*
 * run_id_settled: whether a run of that id began so long ago that all it makes at its start is made and locked. Only
 * then may one that finds no lock take it for dead. False also for what is no run id.
 */
bool run_id_settled(const char *run_id);

/* launch_new: with a fresh run id and stdin_fd -1. launch_free: accepts NULL, returns NULL; closes nothing. */
struct launch *launch_new(void);
struct launch *launch_free(struct launch *l);
/* launch_pack: all of it but what a spare was made for (policy, terminal, inputs, project), as frames; appended as
 * wire_stream_put does. launch_unpack: of a message that pack_take has put together. Gives: *ret, without a policy. */
void launch_pack(const struct launch *l, struct buf *out);
int launch_unpack(const struct buf *whole, struct launch **ret, struct err *e);
/*
 * launch_set_code: takes a copy of the code after looking at it: refuses NUL bytes, over CODE_MAX, text that is not
 * UTF-8 where the language cannot have it, saying the line; drops a byte-order mark; turns CR LF into LF where the
 * language needs it. `ret_note` (may be NULL) gets what was changed, as one sentence, or NULL. Gives both.
 */
int launch_set_code(struct launch *l, const char *code, size_t len, char **ret_note, struct err *e);
