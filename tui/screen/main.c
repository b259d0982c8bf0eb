/* SPDX-License-Identifier: MIT */
/*
 * belljar-screens: the curses program that the guard of `belljar` starts. Not for people; its options are the guard's
 * and the tests'.
 */
#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/supervise/supervise.h"
#include "tui/screen/app.h"

enum { GUARD_FD = 1, COLOR, ASCII, SCRIPT, REPLAY, SIZE, DUMP, DUMP_ROLES, SCREEN };

static const struct option options[] = {
	{ "guard-fd", required_argument, NULL, GUARD_FD }, { "color", required_argument, NULL, COLOR },
	{ "ascii", no_argument, NULL, ASCII },             { "script", required_argument, NULL, SCRIPT },
	{ "replay", required_argument, NULL, REPLAY },     { "size", required_argument, NULL, SIZE },
	{ "dump", required_argument, NULL, DUMP },         { "dump-roles", required_argument, NULL, DUMP_ROLES },
	{ "screen", required_argument, NULL, SCREEN },     { 0 },
};

static int take(struct app_options *o, int option)
{
	switch (option) {
	case GUARD_FD: o->guard_fd = atoi(optarg); return 0;
	case COLOR: o->color = strcmp(optarg, "never") != 0; return 0;
	case ASCII: o->ascii = true; return 0;
	case SCRIPT: o->script = optarg; return 0;
	case REPLAY: o->replay = optarg; return 0;
	case SIZE: return sscanf(optarg, "%dx%d", &o->columns, &o->rows) == 2 && o->rows > 0 && o->columns > 0 ? 0 : -1;
	case DUMP: o->dump = optarg; return 0;
	case DUMP_ROLES: o->dump_roles = optarg; return 0;
	case SCREEN: o->screen = atoi(optarg); return 0;
	default: return -1;
	}
}

int main(int argc, char **argv)
{
	const char *no_color = getenv("NO_COLOR");
	struct app_options o = { .guard_fd = -1, .color = !no_color || !*no_color };
	int option;
	(void) setlocale(LC_CTYPE, ""); /* not LC_ALL: numbers in JSON and presets have a point */
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (take(&o, option) < 0)
			return 125;
	o.file = argv[optind];
	o.ascii = o.ascii || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	run_prepare_process();
	return app_run(&o);
}
