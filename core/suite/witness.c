/* SPDX-License-Identifier: MIT */
/*
 * What an attack says of itself on its standard output: that it began, in its first line, and its witness. The harness
 * knows the token that only success can print; any other one, as a line of source that is echoed, is none.
 */
#include "core/suite/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void random_hex(char ret[33])
{
	uint8_t bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t) sizeof(bytes))
		abort(); /* up to 256 bytes never fall short, getrandom(2) */
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

static bool says(const char *line, const char *word, const char *value)
{
	size_t len = strlen(word);

	return strncmp(line, word, len) == 0 && line[len] == ' ' && strcmp(line + len + 1, value) == 0;
}

static void line_end(struct hearing *h)
{
	h->line[h->len] = '\0';
	if (h->lines++ == 0)
		h->started = says(h->line, "started", h->name);
	h->witness |= says(h->line, "witness", h->token);
	h->len = 0;
}

void hearing_take(struct hearing *h, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n')
			line_end(h);
		else if (h->len < sizeof(h->line) - 1) /* a longer line is neither of the two */
			h->line[h->len++] = bytes[i] ? bytes[i] : '?';
	}
}
