/* SPDX-License-Identifier: MIT */
/*
 * `belljar [FILE|-]`: the screens with code staged. This program only looks whether there is a terminal to
 * draw on and hands over to the guard; curses lives in a program of its own, so that `belljar run` never
 * loads it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tui/command.h"
#include "tui/guard.h"

static const char help[] =
	"belljar [FILE|-]   open the screens with code staged; nothing runs until you press r\n"
	"\n"
	"  belljar agent.py         stage a file\n"
	"  agent | belljar          stage what is piped in; keys come from the terminal\n"
	"  belljar                  start empty: paste, open (o) or type (i) code\n"
	"  belljar --plain [FILE]   the same commands as lines, without a screen: for a screen reader,\n"
	"                           a serial line, a script on standard input; also where TERM is dumb\n"
	"\n"
	"Without a terminal, use the subcommands:\n"
	"  belljar run FILE         run code, its output passes through, one line of verdict\n"
	"  belljar attack           replay the attack suite against each level\n"
	"  belljar doctor           what this machine can enforce\n"
	"  belljar --help           every subcommand and option\n";

/* Both ends redirected means a pipeline or a job: drawing on its terminal would surprise. */
static bool have_terminal(void)
{
	if (!isatty(STDIN_FILENO) && !isatty(STDOUT_FILENO))
		return false;
	CLOSE_FD int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	return fd >= 0;
}

static int no_screens(const char *why)
{
	fprintf(stderr, "belljar: %s\n\n%s", why, help);
	return STATUS_CANNOT;
}

static int screens_main(const struct look *look, int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		fputs(help, stdout);
		return STATUS_OK;
	}
	if (argc > 2)
		return no_screens("one FILE, or - for standard input");
	if (!look->plain && !have_terminal())
		return no_screens("no terminal to draw on");
	struct look plain = *look;
	const char *term = getenv("TERM");
	plain.plain = look->plain || !term || !*term || strcmp(term, "dumb") == 0;
	/* After "--" a file may have any name. Who asks for plain mode gives commands on standard input, who did not gives
	 * code there, as to the screens. */
	char dashes[] = "--", standard_input[] = "-";
	bool code_there = plain.plain && !look->plain && !isatty(STDIN_FILENO);
	char *extra[] = { dashes, argc > 1 ? argv[1] : code_there ? standard_input : NULL, NULL };
	return guard_screens(&plain, extra);
}

const struct command command_screens = {
	.name = "screens",
	.summary = "open the screens with code staged",
	.help = help,
	.main = screens_main,
};
