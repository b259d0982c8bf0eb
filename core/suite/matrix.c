/* SPDX-License-Identifier: MIT */
/*
 * The matrix of a suite: attacks by presets, filled as cells come, held against what is expected, and as JSON.
 */
#include "core/suite/suite.h"

#include "core/base/base.h"

#include <stdlib.h>
#include <string.h>

void matrix_init(struct matrix *m, const struct manifest *manifest, const char *const *presets)
{
	size_t count = strv_len((char *const *) presets);

	*m = (struct matrix){ .manifest = manifest, .presets = presets, .preset_count = count };
	m->cells = xcalloc(manifest->attack_count * count, sizeof(*m->cells));
	m->done = xcalloc(manifest->attack_count * count, sizeof(*m->done));
}

void matrix_take(struct matrix *m, const struct suite_msg *msg)
{
	const struct cell *c = &msg->cell;

	if (msg->step != SUITE_CELL_DONE || c->attack >= m->manifest->attack_count ||
	    c->preset >= m->preset_count)
		return;
	m->cells[c->attack * m->preset_count + c->preset] = *c;
	m->done[c->attack * m->preset_count + c->preset] = true;
}

struct cell *matrix_cell(const struct matrix *m, size_t attack, size_t preset)
{
	size_t at = attack * m->preset_count + preset;

	return m->done[at] ? &m->cells[at] : NULL;
}

bool cell_as_expected(const struct cell *c)
{
	return c->verdict == c->expected;
}

bool matrix_as_expected(const struct matrix *m)
{
	for (size_t at = 0; at < m->manifest->attack_count * m->preset_count; at++)
		if (!m->done[at] || !cell_as_expected(&m->cells[at]))
			return false;
	return true;
}

size_t matrix_stopped(const struct matrix *m, size_t preset)
{
	size_t count = 0;

	for (size_t n = 0; n < m->manifest->attack_count; n++) {
		const struct cell *c = matrix_cell(m, n, preset);
		count += c && c->verdict == CELL_STOPPED;
	}
	return count;
}

bool matrix_missing(const struct matrix *m, size_t preset)
{
	for (size_t n = 0; n < m->manifest->attack_count; n++) {
		const struct cell *c = matrix_cell(m, n, preset);
		if (!c || c->verdict != CELL_NOT_RUN || c->expected != CELL_NOT_RUN)
			return false;
	}
	return true;
}

/* ---- JSON ---- */

static void put_text(const char *key, const char *text, struct buf *out)
{
	buf_printf(out, ",\"%s\":", key);
	if (text && *text)
		json_text(text, strlen(text), out);
	else
		buf_str(out, "null");
}

static void put_cell(const struct matrix *m, const struct cell *c, struct buf *out)
{
	const char *name = m->manifest->attacks[c->attack].name;

	buf_str(out, "{\"attack\":");
	json_text(name, strlen(name), out);
	put_text("preset", m->presets[c->preset], out);
	put_text("verdict", cell_verdict_name(c->verdict), out);
	put_text("expected", cell_verdict_name(c->expected), out);
	put_text("layer", layer_name(c->layer), out);
	put_text("evidence", c->evidence, out);
	put_text("reason", c->reason, out);
	put_text("recording", c->recording, out);
	if (c->wall_s < 0)
		buf_str(out, ",\"wall_s\":null}");
	else
		buf_printf(out, ",\"wall_s\":%.3f}", c->wall_s);
}

void matrix_json(const struct matrix *m, struct buf *out)
{
	const char *before = "";

	buf_str(out, "{\"suite\":");
	json_text(m->manifest->name, strlen(m->manifest->name), out);
	buf_str(out, ",\"host\":");
	host_to_json(out);
	buf_str(out, ",\"cells\":[");
	for (size_t at = 0; at < m->manifest->attack_count * m->preset_count; at++) {
		if (!m->done[at])
			continue;
		buf_str(out, before);
		put_cell(m, &m->cells[at], out);
		before = ",";
	}
	buf_str(out, "]}\n");
}

void matrix_done(struct matrix *m)
{
	free(m->cells);
	free(m->done);
	*m = (struct matrix){ 0 };
}
