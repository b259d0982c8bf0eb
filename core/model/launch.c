/* SPDX-License-Identifier: MIT */
/*
 * Launches: one request to run something. Code comes from pastes, pipes and files, so it is looked at before
 * it is taken: what could not be run as it was meant is refused or put right and said, never cut short.
 */
#include "core/model/launch.h"

#include "core/base/base.h"
#include "core/model/pack.h"
#include "core/model/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define SETTLED_MS   2000
#define RANDOM_BYTES 10 /* of a ULID, after 48 bits of milliseconds since 1970 */

/* ULID: sorts by time as text. The alphabet is Crockford's, without I, L, O, U. */
static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

static void run_id_make(char ret_id[27])
{
	uint8_t random[RANDOM_BYTES];
	uint64_t ms = now_ms();

	for (int i = 9; i >= 0; i--, ms >>= 5)
		ret_id[i] = digits[ms & 31];
	if (getrandom(random, sizeof(random), 0) != (ssize_t) sizeof(random))
		abort(); /* up to 256 bytes never fall short, getrandom(2); without them ids could meet */
	unsigned bits = 0, have = 0;
	for (int i = 0, o = 10; i < RANDOM_BYTES; i++) {
		bits = (bits << 8) | random[i];
		for (have += 8; have >= 5; have -= 5)
			ret_id[o++] = digits[(bits >> (have - 5)) & 31];
	}
	ret_id[26] = '\0';
}

bool run_id_settled(const char *run_id)
{
	uint64_t ms = 0;

	if (strlen(run_id) != 26 || strspn(run_id, digits) != 26)
		return false;
	for (int i = 0; i < 10; i++)
		ms = ms << 5 | (uint64_t) (strchr(digits, run_id[i]) - digits);
	return ms + SETTLED_MS < now_ms();
}

struct launch *launch_new(void)
{
	struct launch *l = xcalloc(1, sizeof(*l));

	run_id_make(l->run_id);
	l->stdin_fd = -1;
	return l;
}

struct launch *launch_free(struct launch *l)
{
	if (l == NULL)
		return NULL;
	policy_free(l->policy);
	free(l->code);
	free(l->title);
	strv_free(l->argv);
	strv_free(l->env);
	for (size_t i = 0; i < l->input_count; i++) {
		free(l->inputs[i].source);
		free(l->inputs[i].dest);
	}
	free(l->inputs);
	free(l->output_dir);
	free(l->project_dir);
	free(l->record_path);
	free(l);
	return NULL;
}

/* A comment in the first two lines names another encoding: "# -*- coding: latin-1 -*-". PEP 263 has the
 * form. */
static bool python_has_coding(const char *code, size_t len)
{
	const char *p = code, *end = code + len;

	for (int line = 0; line < 2 && p < end; line++) {
		const char *nl = memchr(p, '\n', (size_t) (end - p)), *stop = nl != NULL ? nl : end;
		while (p < stop && (*p == ' ' || *p == '\t' || *p == '\f'))
			p++;
		const char *word = p < stop && *p == '#' ? memmem(p, (size_t) (stop - p), "coding", 6) : NULL;
		if (word != NULL && word + 6 < stop && (word[6] == ':' || word[6] == '='))
			return true;
		p = nl != NULL ? nl + 1 : end;
	}
	return false;
}

static int code_check(const struct language *lang, const char *code, size_t len, struct err *e)
{
	struct text_findings found;

	if (len > CODE_MAX)
		return err_say(e, EFBIG,
			       "the code is %zu bytes long; at most %u MiB can be run, and it is never cut",
			       len, CODE_MAX >> 20);
	text_inspect(code, len, &found);
	if (found.nuls > 0)
		return err_say(e, EINVAL, "line %zu has a NUL byte in it: this is no program text",
			       found.first_nul_line);
	if (found.invalid > 0 && lang != NULL && lang->needs_utf8 && !python_has_coding(code, len))
		return err_say(
			e, EILSEQ,
			"line %zu is not UTF-8, which %s needs; convert the file, or name its encoding "
			"in the first line (# coding: latin-1)",
			found.first_invalid_line, lang->title);
	return 0;
}

/* CR LF becomes LF, in place. Returns how many. A CR elsewhere is part of the program. */
static size_t endings_put_right(char *code, size_t *len)
{
	size_t to = 0, count = 0;

	for (size_t from = 0; from < *len; from++) {
		if (code[from] == '\r' && from + 1 < *len && code[from + 1] == '\n') {
			count++;
			continue;
		}
		code[to++] = code[from];
	}
	*len = to;
	code[to] = '\0';
	return count;
}

int launch_set_code(struct launch *l, const char *code, size_t len, char **ret_note, struct err *e)
{
	int r = code_check(l->language, code, len, e);
	bool bom = len >= 3 && memcmp(code, "\xef\xbb\xbf", 3) == 0;
	size_t endings = 0;
	struct buf note = { 0 };

	if (r < 0)
		return r;
	size_t skip = bom ? 3 : 0;
	char *taken = xmalloc(len - skip + 1);
	size_t taken_len = len - skip;
	memcpy(taken, code + skip, taken_len);
	taken[taken_len] = '\0';
	if (l->language != NULL && l->language->cr_is_fault)
		endings = endings_put_right(taken, &taken_len);
	if (bom)
		buf_str(&note, "a byte-order mark was left out");
	if (endings > 0)
		buf_printf(&note,
			   "%s%zu line ending%s CR LF became LF, since %s takes CR for a part of the line",
			   bom ? "; " : "", endings, endings == 1 ? "" : "s", l->language->title);

	free(l->code);
	l->code = taken;
	l->code_len = taken_len;
	sha256_hex(taken, taken_len, l->code_sha256);
	if (ret_note != NULL)
		*ret_note = note.len > 0 ? xstrdup(note.data) : NULL;
	buf_done(&note);
	return 0;
}

/* ---- as a message ---- */

static void pack_launch(struct pack *p, struct launch *l)
{
	char *id = l->run_id, *hash = l->code_sha256,
	     *language = l->language ? (char *) l->language->name : NULL;
	pack_str(p, &id);
	pack_str(p, &hash);
	pack_str(p, &language);
	if (!p->out) {
		snprintf(l->run_id, sizeof(l->run_id), "%s", id ? id : "");
		snprintf(l->code_sha256, sizeof(l->code_sha256), "%s", hash ? hash : "");
		l->language = language ? language_by_name(language) : NULL;
		free(id);
		free(hash);
		free(language);
	}
	pack_bytes(p, &l->code, &l->code_len);
	pack_str(p, &l->title);
	pack_strv(p, &l->argv);
	pack_strv(p, &l->env);
	pack_str(p, &l->output_dir);
	pack_str(p, &l->record_path);
	PACK_NUMBER(p, l->best_effort);
	PACK_NUMBER(p, l->canary);
	PACK_NUMBER(p, l->no_record);
	PACK_NUMBER(p, l->terse);
	PACK_NUMBER(p, l->answers);
}

void launch_pack(const struct launch *l, struct buf *out)
{
	struct buf whole = { 0 };
	struct pack p = pack_begin(&whole);
	pack_launch(&p, (struct launch *) l); /* only read, in this direction */
	pack_frames(&whole, out);
	buf_done(&whole);
}

int launch_unpack(const struct buf *whole, struct launch **ret, struct err *e)
{
	struct pack p = unpack_begin(whole);
	struct launch *l = launch_new();
	pack_launch(&p, l);
	int r = wire_end(&p.in, e);
	if (r < 0)
		launch_free(l);
	else
		*ret = l;
	return r;
}
