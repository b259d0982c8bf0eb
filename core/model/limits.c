/* SPDX-License-Identifier: MIT */
/*
 * The limits of a run: their names, what each means, and the text form of their values. Presets, the command
 * line and events all use the one table below. A value that cannot be kept exactly (0.3K, 10 with no unit of
 * time) is refused rather than rounded: a limit is a promise, and nobody should have to guess what it came
 * to.
 */
#include "core/model/policy.h"

#include "core/base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define KIB UINT64_C(1024)

const struct limit_kind limit_kinds[LIMIT_MAX] = {
	[LIMIT_WALL] = { "wall", "wall", "clock on the wall", UNIT_TIME, NS_PER_MS },
	[LIMIT_CPU] = { "cpu", "cpu", "CPU time of the whole tree", UNIT_TIME, NS_PER_MS },
	/* A quota shorter than 1 ms in the kernel's period of 100 ms is refused by it. */
	[LIMIT_CPUS] = { "cpus", "cpus", "cores that it may use at once", UNIT_CORES, 10 },
	[LIMIT_MEMORY] = { "memory", "memory", "memory of the whole tree, tmpfs included, no swap",
			   UNIT_BYTES, 1024 * KIB },
	[LIMIT_PROCESSES] = { "processes", "processes", "processes and threads at once", UNIT_COUNT, 1 },
	/* The three standard ones, and one for the loader to open a library with. */
	[LIMIT_OPEN_FILES] = { "open_files", "open-files", "open descriptors of one process", UNIT_COUNT, 4 },
	[LIMIT_FILE_SIZE] = { "file_size", "file-size", "size of one file", UNIT_BYTES, 0 },
	[LIMIT_SPACE] = { "space", "space", "all writable places together", UNIT_BYTES, 64 * KIB },
	[LIMIT_INODES] = { "inodes", "inodes", "files and folders in the writable places", UNIT_COUNT, 16 },
	[LIMIT_OUTPUT] = { "output", "output-limit", "standard output and error together", UNIT_BYTES, 0 },
};

/* One suffix of a unit; the largest comes first, so that equally short forms prefer it. */
struct suffix {
	const char *text;
	uint64_t factor;
};
static const struct suffix time_suffixes[] = {
	{ "m", 60 * NS_PER_S },
	{ "s", NS_PER_S },
	{ "ms", NS_PER_MS },
	{ NULL, 0 },
};
static const struct suffix byte_suffixes[] = {
	{ "G", KIB *KIB *KIB }, { "M", KIB *KIB }, { "K", KIB }, { "", 1 }, { NULL, 0 },
};
static const struct suffix core_suffixes[] = { { "", 1000 }, { NULL, 0 } };
static const struct suffix count_suffixes[] = { { "", 1 }, { NULL, 0 } };

static const struct {
	const struct suffix *suffixes;
	const char *example;
	bool ignore_case; /* m is minutes alone where time is meant, so 256m can only be mebibytes */
} units[] = {
	[UNIT_TIME] = { time_suffixes, "10s, 500ms or 2m", false },
	[UNIT_CORES] = { core_suffixes, "1 or 0.5", false },
	[UNIT_BYTES] = { byte_suffixes, "256M, 64K or 1G", true },
	[UNIT_COUNT] = { count_suffixes, "64", false },
};

#define FRACTION_MAX 9                      /* digits after the point: nanoseconds of a second */
#define VALUE_MAX    ((uint64_t) INT64_MAX) /* kernel interfaces take these as signed; UNLIMITED lies beyond */

#define DIGITS_MAX ((unsigned __int128) UINT64_MAX * 1000000000u)

/* The number before the suffix, as digits * 10^-places. Returns where the suffix begins, or NULL. */
static const char *number_parse(const char *s, unsigned __int128 *ret_digits, unsigned *ret_places)
{
	unsigned __int128 digits = 0;
	unsigned places = 0;
	bool point = false, any = false;

	for (; (*s >= '0' && *s <= '9') || (*s == '.' && any && !point); s++) {
		if (*s == '.') {
			point = true;
			any = false; /* "1." is not a number: a digit must follow */
			continue;
		}
		any = true;
		places += point;
		if (places > FRACTION_MAX)
			return NULL;
		digits = digits * 10 + (unsigned) (*s - '0');
		if (digits > DIGITS_MAX)
			digits = DIGITS_MAX; /* too large for any unit, and stays so */
	}
	if (!any)
		return NULL;
	*ret_digits = digits;
	*ret_places = places;
	return s;
}

static const struct suffix *suffix_find(enum limit_unit unit, const char *text)
{
	for (const struct suffix *x = units[unit].suffixes; x->text != NULL; x++)
		if ((units[unit].ignore_case ? strcasecmp(text, x->text) : strcmp(text, x->text)) == 0)
			return x;
	return NULL;
}

int limit_parse(enum limit_name name, const char *text, uint64_t *ret_value, struct err *e)
{
	const struct limit_kind *k = &limit_kinds[name];
	const char *example = units[k->unit].example;
	unsigned __int128 value;
	unsigned places;

	if (strcmp(text, "unlimited") == 0) {
		*ret_value = UNLIMITED;
		return 0;
	}
	if (*text == '\0')
		return err_say(e, EINVAL, "%s has no value; write %s", k->name, example);
	const char *rest = number_parse(text, &value, &places);
	if (rest == NULL)
		return err_say(e, EINVAL, "%s cannot be '%.40s'; write %s, or unlimited", k->name, text,
			       example);
	const struct suffix *x = suffix_find(k->unit, rest);
	if (x == NULL && *rest == '\0')
		return err_say(e, EINVAL, "%s = %.40s has no unit; write %s", k->name, text, example);
	if (x == NULL)
		return err_say(e, EINVAL, "%s = %.40s ends in '%.20s', which is no unit of it; write %s",
			       k->name, text, rest, example);

	unsigned __int128 divisor = 1;
	for (unsigned i = 0; i < places; i++)
		divisor *= 10;
	if (value / divisor > VALUE_MAX / x->factor)
		return err_say(e, EINVAL, "%s = %.40s is too large; for no limit write unlimited", k->name,
			       text);
	value *= x->factor;
	if (value % divisor != 0)
		return err_say(e, EINVAL, "%s = %.40s is finer than it can be kept; write %s", k->name, text,
			       example);
	value /= divisor;
	if (value < k->least) {
		char least[32];
		return err_say(e, EINVAL, "%s = %.40s is too small for anything to start; the least is %s",
			       k->name, text, limit_format(name, k->least, least, sizeof(least)));
	}
	if (value > VALUE_MAX)
		return err_say(e, EINVAL, "%s = %.40s is too large; for no limit write unlimited", k->name,
			       text);
	*ret_value = (uint64_t) value;
	return 0;
}

/* value as a decimal number of `factor`s. False where the fraction would need too many digits. */
static bool number_format(uint64_t value, uint64_t factor, char *buf, size_t size)
{
	uint64_t whole = value / factor, rest = value % factor;
	unsigned __int128 scaled = rest;

	if (rest == 0) {
		snprintf(buf, size, "%llu", (unsigned long long) whole);
		return true;
	}
	for (int places = 1; places <= FRACTION_MAX; places++) {
		scaled *= 10;
		if (scaled % factor == 0) {
			snprintf(buf, size, "%llu.%0*llu", (unsigned long long) whole, places,
				 (unsigned long long) (scaled / factor));
			return true;
		}
	}
	return false;
}

const char *limit_format(enum limit_name name, uint64_t value, char *buf, size_t size)
{
	char best[48] = "", number[40], form[48];

	if (value == UNLIMITED) {
		snprintf(buf, size, "unlimited");
		return buf;
	}
	for (const struct suffix *x = units[limit_kinds[name].unit].suffixes; x->text != NULL; x++) {
		if (!number_format(value, x->factor, number, sizeof(number)))
			continue;
		snprintf(form, sizeof(form), "%s%s", number, x->text);
		/* Of two forms of one length the one without a fraction reads better: 250ms, not 0.25s. */
		bool shorter = *best == '\0' || strlen(form) < strlen(best);
		bool plainer = strlen(form) == strlen(best) && strchr(best, '.') != NULL &&
			       strchr(form, '.') == NULL;
		if (shorter || plainer)
			snprintf(best, sizeof(best), "%s", form);
	}
	snprintf(buf, size, "%s", best);
	return buf;
}
