/* SPDX-License-Identifier: MIT */
/*
 * A policy in words. Presets may be the person's own files: their strings are scrubbed like all others.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/screen/cells.h"
#include "tui/screen/facts.h"

#define LABEL_COLUMNS 13

/* One fact, wrapped beside its label; returns the row after it. */
static int fact(const struct pane *pane, int row, const char *label, const char *untrusted, bool ascii)
{
	struct pane words = pane_cut(pane, 0, LABEL_COLUMNS, pane->rows, pane->columns - LABEL_COLUMNS - 1);
	struct clean clean = clean_str(untrusted, ascii);
	pane_put(pane, row, 1, ROLE_STRONG, label);
	int used = pane_wrapped(&words, row, ROLE_TEXT, clean);
	clean_free(&clean);
	return row + (used ? used : 1);
}

static int fact_list(const struct pane *pane, int row, const char *label, char *const *list, const char *none,
		     bool ascii)
{
	struct buf words = { 0 };
	for (size_t i = 0; list && list[i]; i++)
		buf_printf(&words, "%s%s", i ? ", " : "", list[i]);
	row = fact(pane, row, label, words.len ? words.data : none, ascii);
	buf_done(&words);
	return row;
}

static int draw_limits_of(const struct policy *p, const struct pane *pane, int row)
{
	char value[40];
	for (int i = 0; i < LIMIT_MAX; i++, row++) {
		bool open = p->limit[i] == UNLIMITED;
		pane_put(pane, row, 1, ROLE_STRONG, limit_kinds[i].name);
		pane_put(pane, row, LABEL_COLUMNS, open ? ROLE_UNKNOWN : ROLE_TEXT,
			 limit_format((enum limit_name) i, p->limit[i], value, sizeof(value)));
		struct pane means =
			pane_cut(pane, row, LABEL_COLUMNS + 11, 1, pane->columns - LABEL_COLUMNS - 12);
		if (pane_put(&means, 0, 0, ROLE_TEXT, limit_kinds[i].means) > means.columns)
			pane_put(&means, 0, means.columns - 1, ROLE_TEXT, "…");
	}
	return row;
}

void draw_policy(const struct policy *p, const struct pane *pane, bool ascii)
{
	static const char *const on_denied[] = {
		[DENIED_ERRNO] = "refused calls fail with an error",
		[DENIED_KILL] = "a refused call ends the run",
		[DENIED_ASK] = "refused calls are asked about",
	};
	int row = fact(pane, 0, "backend", p->backend, ascii);
	row = draw_limits_of(p, pane, row + 1) + 1;
	row = fact(pane, row, "files", p->root, ascii);
	row = fact_list(pane, row, "read-only", p->read_only, "nothing more", ascii);
	row = fact_list(pane, row, "writable", p->writable, "nothing", ascii);
	pane_put(pane, row, LABEL_COLUMNS, ROLE_EFFECT, p->network == NETWORK_HOST ? "HOST" : "");
	row = fact(pane, row, "network", p->network == NETWORK_HOST ? "" : "none", ascii);
	row = fact(pane, row, "calls", p->syscalls ? p->syscalls->summary : "", ascii);
	row = fact(pane, row, "", on_denied[p->on_denied], ascii);
	row = fact_list(pane, row, "  allowed", p->allow, "nothing more", ascii);
	row = fact_list(pane, row, "  denied", p->deny, "nothing more", ascii);
	(void) fact_list(pane, row, "environment", p->pass, "nothing passed", ascii);
}
