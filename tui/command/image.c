/* SPDX-License-Identifier: MIT */
/*
 * `belljar image`: the disk images and snapshots that virtual machines start from: which are kept, made
 * ahead, removed.
 */
#include "core/base/base.h"
#include "core/model/model.h"
#include "core/supervise/supervise.h"
#include "tui/options.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define NARROW     60
#define KEY_DIGITS 12 /* of a key, in the table: nobody has two that begin alike */

struct image_words {
	const char *preset;
	bool json, all;
};

/* clang-format off */
static const struct option_row options[] = {
	{ .name = "json", .help = "one JSON object",
	  .set = option_set_flag, .at = offsetof(struct image_words, json) },
	{ .name = "preset", .letter = 'p', .argument = "PRESET", .help = "whose images",
	  .set = option_set_text, .at = offsetof(struct image_words, preset) },
	{ .name = "all", .help = "all of them",
	  .set = option_set_flag, .at = offsetof(struct image_words, all) },
	{ .name = NULL },
};
/* clang-format on */

struct images {
	struct image_entry *list;
	size_t count;
	char *where;
};

static int images_take(const struct look *look, struct images *ret)
{
	struct err e;

	*ret = (struct images){ .list = NULL };
	return image_list(&ret->list, &ret->count, &ret->where, &e) < 0 ? look_refuse(look, &e) : STATUS_OK;
}

static void images_done(struct images *i)
{
	image_entries_free(i->list, i->count);
	free(i->where);
}

static uint64_t total(const struct images *i)
{
	uint64_t bytes = 0;

	for (size_t k = 0; k < i->count; k++)
		bytes += i->list[k].bytes;
	return bytes;
}

/* "root-0123456789ab" */
static int name_columns(const struct image_entry *entry)
{
	return (int) (strlen(entry->kind) + 1 + KEY_DIGITS);
}

/* ---- list ---- */

static void list_json(const struct images *i)
{
	struct buf out = { 0 };

	buf_str(&out, "{\"where\":");
	json_text(i->where, strlen(i->where), &out);
	buf_printf(&out, ",\"bytes\":%llu,\"entries\":[", (unsigned long long) total(i));
	for (size_t k = 0; k < i->count; k++) {
		const struct image_entry *entry = &i->list[k];
		buf_printf(&out, "%s{\"name\":\"%s\",\"kind\":\"%s\",\"label\":", k ? "," : "", entry->name,
			   entry->kind);
		json_text(entry->label, strlen(entry->label), &out);
		buf_printf(&out, ",\"bytes\":%llu,\"used\":%lld,\"in_use\":%s}",
			   (unsigned long long) entry->bytes, (long long) entry->used,
			   entry->in_use ? "true" : "false");
	}
	buf_str(&out, "]}\n");
	(void) fwrite(out.data, 1, out.len, stdout);
	buf_done(&out);
}

/* Labels name folders of the user's: scrubbed, and cut only where a terminal would break the row. */
static void list_row(const struct look *look, const struct image_entry *entry)
{
	char size[32], used[32] = "?";
	struct winsize window;
	struct tm tm;
	time_t at = (time_t) entry->used;

	if (localtime_r(&at, &tm))
		strftime(used, sizeof(used), "%Y-%m-%d %H:%M", &tm);
	FREE char *row = xprintf("%-22.*s%10s  %-16s  %-6s  %s", name_columns(entry), entry->name,
				 format_bytes(entry->bytes, size, sizeof(size)), used,
				 entry->in_use ? "in use" : "", entry->label);
	FREE char *line = text_line(row, strlen(row), look->ascii);
	bool fits = !isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) < 0 ||
		    window.ws_col < NARROW;
	printf("%.*s\n", (int) (fits ? strlen(line) : text_fit(line, strlen(line), window.ws_col)), line);
}

static int list_main(const struct look *look, const struct image_words *said, char **names)
{
	struct images i;
	char size[32];
	int status = images_take(look, &i);

	(void) names;
	if (status != STATUS_OK)
		return status;
	if (said->json) {
		list_json(&i);
	} else {
		if (i.count)
			printf("%-22s%10s  %-16s  %-6s  %s\n", "NAME", "ON DISK", "LAST USED", "", "FOR");
		for (size_t k = 0; k < i.count; k++)
			list_row(look, &i.list[k]);
		FREE char *where = text_line(i.where, strlen(i.where), look->ascii);
		printf("%s%s in %s\n",
		       i.count ? "" : "Nothing is kept: ", format_bytes(total(&i), size, sizeof(size)),
		       where);
	}
	images_done(&i);
	return STATUS_OK;
}

/* ---- rm ---- */

/* What is in use stays, is said, and is no success. */
static int remove_one(const struct look *look, const struct image_entry *entry)
{
	char size[32];
	struct err e;
	int r = image_remove(entry->name, &e);

	if (r == -EBUSY)
		look_say(look, "%.*s stays: it is in use", name_columns(entry), entry->name);
	else if (r < 0)
		(void) look_refuse(look, &e);
	else
		printf("removed %.*s, %s\n", name_columns(entry), entry->name,
		       format_bytes(entry->bytes, size, sizeof(size)));
	return r == -EBUSY ? STATUS_NO : r < 0 ? STATUS_CANNOT : STATUS_OK;
}

/* The entry that a word means: the only one whose name begins so. NULL after complaining. */
static const struct image_entry *find(const struct look *look, const struct images *i, const char *word)
{
	const struct image_entry *found = NULL;
	size_t fits = 0;

	for (size_t k = 0; k < i->count && *word; k++)
		if (str_starts(i->list[k].name, word)) {
			found = &i->list[k];
			fits++;
		}
	if (fits == 1)
		return found;
	look_say(look,
		 fits ? "%.80s is the beginning of several names; see belljar image list"
		      : "'%.80s' is none of what is kept; see belljar image list",
		 word);
	return NULL;
}

static int rm_main(const struct look *look, const struct image_words *said, char **names)
{
	struct images i;
	int status = images_take(look, &i);

	for (size_t k = 0; said->all && k < i.count; k++) {
		int one = remove_one(look, &i.list[k]);
		status = one > status ? one : status;
	}
	for (; *names; names++) {
		const struct image_entry *entry = find(look, &i, *names);
		int one = entry ? remove_one(look, entry) : STATUS_CANNOT;
		status = one > status ? one : status;
	}
	images_done(&i);
	return status;
}

/* ---- build ---- */

static void step(void *arg, const char *what)
{
	const struct look *look = arg;
	FREE char *line = text_line(what, strlen(what), look->ascii);

	printf("%s\n", line);
	(void) fflush(stdout);
}

static volatile sig_atomic_t stop_signal;

static void on_stop(int signo)
{
	stop_signal = signo;
}

static bool stopped(void *arg)
{
	(void) arg;
	return stop_signal != 0;
}

/* What is half made is cleared away first; then we end by the signal, as whoever sent it expects. */
static int build_main(const struct look *look, const struct image_words *said, char **names)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct err e;

	(void) names;
	for (size_t k = 0; k < ARRAY_LEN(signals); k++)
		if (signal(signals[k], on_stop) == SIG_IGN) /* nohup(1) */
			signal(signals[k], SIG_IGN);
	int r = image_build(said->preset ? said->preset : "microvm", step, stopped, (void *) look, &e);
	for (size_t k = 0; k < ARRAY_LEN(signals); k++)
		signal(signals[k], SIG_DFL);
	if (stop_signal)
		(void) raise(stop_signal);
	if (r < 0)
		return look_refuse(look, &e);
	printf("ready\n");
	return STATUS_OK;
}

/* ---- the command ---- */

static const struct action {
	const char *name;
	int (*run)(const struct look *look, const struct image_words *said, char **names);
} actions[] = { { "list", list_main }, { "build", build_main }, { "rm", rm_main } };

/* Each option belongs to one of them. */
static bool is_asked_well(const char *action, const struct image_words *said, int names)
{
	bool list = strcmp(action, "list") == 0, build = strcmp(action, "build") == 0,
	     rm = strcmp(action, "rm") == 0;

	return (!said->json || list) && (!said->preset || build) && (!said->all || rm) &&
	       (rm ? said->all != (names > 0) : names == 0);
}

static int image_main(const struct look *look, int argc, char **argv)
{
	struct image_words said = { .json = false };
	char **after = NULL;
	int words = 0;
	struct err e;

	if (options_parse(options, &said, argc, argv, &words, &after, &e) < 0)
		return look_refuse(look, &e);
	const char *word = words > 0 ? argv[1] : "list";
	int names = words > 0 ? words - 1 : 0;
	argv[1 + words] = NULL;
	for (size_t k = 0; k < ARRAY_LEN(actions); k++) {
		if (strcmp(word, actions[k].name) != 0)
			continue;
		if (!after && is_asked_well(word, &said, names))
			return actions[k].run(look, &said, argv + 1 + words - names);
		look_say(look, "'image %s' is asked otherwise; see belljar image --help", word);
		return STATUS_CANNOT;
	}
	look_say(look, "'%.60s' is none of list, build, rm; see belljar image --help", word);
	return STATUS_CANNOT;
}

const struct command command_image = {
	.name = "image",
	.summary = "disk images and snapshots for virtual machines: list, make, remove",
	.help = "usage: belljar image list [--json]\n"
		"       belljar image build [-p PRESET]\n"
		"       belljar image rm NAME... | --all\n"
		"\n"
		"What virtual machines start from is made once and kept:\n"
		"\n"
		"  root      the guest's programs: the host's Python, sh, tools and languages\n"
		"  initrd    the guest's agent, and the modules of its kernel\n"
		"  data      inputs and a project of a launch\n"
		"  snapshot  a machine that has started, up to where the code comes in\n"
		"\n"
		"  list   each with its size on disk, when it was used last, and what it is for\n"
		"  build  makes what a run with PRESET (microvm) needs; else its first run does\n"
		"  rm     removes some, each by its name or the beginning of it, or all\n"
		"\n"
		"They are in $XDG_CACHE_HOME/belljar/images (~/.cache/belljar/images), 4 GiB at\n"
		"most: beyond that the one that was used longest ago goes. What a run uses stays.\n"
		"\n"
		"Exit status: 0 all well; 1 one was in use and stays (rm); 125 it could not be\n"
		"done.\n",
	.main = image_main,
};
