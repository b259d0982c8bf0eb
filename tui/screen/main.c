/* SPDX-License-Identifier: MIT */
/*
 * belljar-screens: the curses program that the guard of `belljar` starts. Not for people; its options are
 * the guard's and the tests'.
 */
#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/supervise/supervise.h"
#include "tui/screen/app.h"
#include "tui/screen/keydoc.h"

enum {
	GUARD_FD = 1,
	COLOR,
	ASCII,
	SCRIPT,
	REPLAY,
	SIZE,
	DUMP,
	DUMP_ROLES,
	SCREEN,
	PLAIN,
	HELP_MAN,
	HELP_README
};

/* clang-format off */
static const struct option options[] = {
	{ "guard-fd", 1, NULL, GUARD_FD }, { "color", 1, NULL, COLOR }, { "ascii", 0, NULL, ASCII },
	{ "plain", 0, NULL, PLAIN }, { "script", 1, NULL, SCRIPT }, { "replay", 1, NULL, REPLAY }, { "screen", 1, NULL, SCREEN },
	{ "size", 1, NULL, SIZE }, { "dump", 1, NULL, DUMP }, { "dump-roles", 1, NULL, DUMP_ROLES },
	{ "help-man", 0, NULL, HELP_MAN }, { "help-readme", 0, NULL, HELP_README },
	{ 0 },
};

static int take(struct app_options *o, int option, void (**document)(struct buf *out))
{
	switch (option) {
	case GUARD_FD: o->guard_fd = atoi(optarg); return 0;
	case COLOR: o->color = strcmp(optarg, "never") != 0; return 0;
	case ASCII: o->ascii = true; return 0;
	case PLAIN: o->plain = true; return 0;
	case SCRIPT: o->script = optarg; return 0;
	case REPLAY: o->replay = optarg; return 0;
	case SIZE: return sscanf(optarg, "%4dx%4d", &o->columns, &o->rows) == 2 && o->rows > 0 ? 0 : -1;
	case DUMP: o->dump = optarg; return 0;
	case DUMP_ROLES: o->dump_roles = optarg; return 0;
	case HELP_MAN: case HELP_README: *document = option == HELP_MAN ? keys_man : keys_readme; return 0;
	case SCREEN: o->screen = atoi(optarg); return 0;
	default: return -1;
	}
}
/* clang-format on */

static int print(void (*document)(struct buf *out))
{
	struct buf text = { 0 };
	document(&text);
	int r = write_all(STDOUT_FILENO, text.data, text.len);
	buf_done(&text);
	return r < 0 ? 125 : 0;
}

int main(int argc, char **argv)
{
	const char *no_color = getenv("NO_COLOR");
	struct app_options o = { .guard_fd = -1, .color = !no_color || !*no_color };
	void (*document)(struct buf * out) = NULL;
	int option;
	(void) setlocale(LC_CTYPE, ""); /* not LC_ALL: numbers in JSON and presets have a point */
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (take(&o, option, &document) < 0)
			return 125;
	if (document)
		return print(document);
	o.file = argv[optind];
	o.ascii = o.ascii || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	run_prepare_process();
	return app_run(&o);
}
