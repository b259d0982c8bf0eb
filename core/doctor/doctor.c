/* SPDX-License-Identifier: MIT */
/*
 * The door of the doctor: carries the table of probes out, adds to each refusal its cause, and asks each preset's backend
 * what that means for it.
 */
#include "core/doctor/doctor.h"

#include "core/base/base.h"
#include "core/doctor/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILTER_PRESET "namespaces" /* of the shipped ones; any other would do */

const char *finding_state_name(enum finding_state s)
{
	static const char *const names[] = {
		[FINDING_OK] = "ok",
		[FINDING_WEAK] = "weak",
		[FINDING_MISSING] = "missing",
		[FINDING_UNKNOWN] = "unknown",
	};
	return s < FINDING_STATE_MAX ? names[s] : "unknown";
}

/* ---- presets ---- */

/* All that can be loaded: what is wrong with another is for `preset check` to say. */
static void presets_load(struct known *k)
{
	char **names = preset_names();
	struct err ignored;
	k->of = xcalloc(strv_len(names) + 1, sizeof(*k->of));
	for (char **name = names; name && *name; name++) {
		struct known_preset *p = &k->of[k->count];
		if (preset_load(*name, &p->policy, &ignored) < 0)
			continue;
		if (backend_find(p->policy->backend, &p->backend, &ignored) < 0) {
			p->policy = policy_free(p->policy);
			continue;
		}
		p->name = xstrdup(*name);
		k->count++;
	}
	strv_free(names);
}

static void presets_done(struct known *k)
{
	for (size_t i = 0; i < k->count; i++) {
		free(k->of[i].name);
		policy_free(k->of[i].policy);
	}
	free(k->of);
}

static const struct policy *filter_policy(const struct known *k)
{
	for (size_t i = 0; i < k->count; i++)
		if (strcmp(k->of[i].name, FILTER_PRESET) == 0)
			return k->of[i].policy;
	return k->count ? k->of[0].policy : NULL;
}

static bool among(const enum need *list, enum need need)
{
	for (; *list != NEED_MAX; list++)
		if (*list == need)
			return true;
	return false;
}

/* ---- findings ---- */

/* What a missing thing comes to: MISSING where a preset needs it, then of those alone; else WEAK. */
static void finding_weigh(struct finding *f, enum need need, const struct known *k)
{
	char **weaker = NULL;
	for (size_t i = 0; i < k->count; i++) {
		if (among(k->of[i].backend->needs, need))
			f->presets = strv_add(f->presets, k->of[i].name);
		else if (among(k->of[i].backend->weaker_without, need))
			weaker = strv_add(weaker, k->of[i].name);
	}
	if (f->state == FINDING_MISSING && !f->presets)
		f->state = FINDING_WEAK;
	if (!f->presets)
		f->presets = take_ptr(&weaker);
	strv_free(weaker);
}

static void finding_explain(struct finding *f, const struct answer *a, enum need need,
			    const struct machine *m)
{
	struct cause why = { .remedy = need_kinds[need].remedy };
	if (a->error)
		cause_find(m, need, a->error, &why);
	snprintf(f->fact, sizeof(f->fact), "%.340s%s%s", a->fact, why.fact[0] ? "; " : "", why.fact);
	snprintf(f->remedy, sizeof(f->remedy), "%s", a->remedy[0] ? a->remedy : why.remedy);
}

void finding_make(struct finding *f, const struct answer *a, enum need need, const struct machine *m,
		  const struct known *k)
{
	*f = (struct finding){ .code = need_kinds[need].code,
			       .title = need_kinds[need].title,
			       .without = need_kinds[need].without,
			       .state = a->state };
	if (a->state == FINDING_MISSING)
		finding_explain(f, a, need, m);
	else
		snprintf(f->fact, sizeof(f->fact), "%s", a->fact);
	if (a->state != FINDING_OK)
		finding_weigh(f, need, k);
}

/* The finding that another hangs on, where it is not well. */
static const struct finding *in_the_way(const struct finding *list, size_t count, enum need after)
{
	for (size_t i = 0; after != NEED_MAX && i < count; i++)
		if (strcmp(list[i].code, need_kinds[after].code) == 0 && list[i].state != FINDING_OK)
			return &list[i];
	return NULL;
}

/* Every preset by a start of its own; one finding for all of them, about those that failed, in the words of the first. */
static void starts_try(struct given *g, const struct known *k, struct finding *f)
{
	static const struct probe start = { NEED_START, NEED_MAX, probe_start, 0 };
	*f = (struct finding){ .code = need_kinds[NEED_START].code,
			       .title = need_kinds[NEED_START].title,
			       .without = need_kinds[NEED_START].without };
	for (size_t i = 0; i < k->count; i++) {
		struct answer a;
		g->policy = k->of[i].policy;
		probe_try(&start, g, k->of[i].backend->own_kernel ? GUEST_LIMIT_NS : PROBE_LIMIT_NS, &a);
		if (a.state == FINDING_OK)
			continue;
		if (!f->presets)
			snprintf(f->fact, sizeof(f->fact), "%s: %.400s", k->of[i].name, a.fact);
		if (f->state != FINDING_MISSING)
			f->state = a.state;
		f->presets = strv_add(f->presets, k->of[i].name);
	}
	if (f->state == FINDING_OK)
		snprintf(f->fact, sizeof(f->fact), "%zu of %zu presets", k->count, k->count);
	else if (f->state == FINDING_MISSING)
		snprintf(f->remedy, sizeof(f->remedy), "%s", need_kinds[NEED_START].remedy);
}

static size_t probes_count(void)
{
	size_t n = 0;
	while (probes[n].run)
		n++;
	return n;
}

size_t doctor_run(void (*progress)(void *arg, const struct finding *f), void *arg, struct finding **ret)
{
	size_t count = 0, most = probes_count() + 1;
	struct finding *list = xcalloc(most, sizeof(*list));
	struct known known = { 0 };
	struct machine here;
	struct launch *marked = launch_new();
	struct given g = { 0 };

	machine_read("", &here);
	presets_load(&known);
	memcpy(g.run_id, marked->run_id, sizeof(g.run_id));
	launch_free(marked);
	for (; probes[count].run; count++) {
		const struct probe *p = &probes[count];
		const struct finding *first = in_the_way(list, count, p->after);
		struct answer a;
		g.policy = filter_policy(&known);
		if (first)
			answer_unknown(&a, "not tried: %s", first->code);
		else
			probe_try(p, &g, PROBE_LIMIT_NS, &a);
		finding_make(&list[count], &a, p->need, &here, &known);
		if (progress)
			progress(arg, &list[count]);
	}
	starts_try(&g, &known, &list[count]);
	if (progress)
		progress(arg, &list[count]);
	presets_done(&known);
	*ret = list;
	return count + 1;
}

struct finding *findings_free(struct finding *list, size_t count)
{
	for (size_t i = 0; list && i < count; i++)
		strv_free(list[i].presets);
	free(list);
	return NULL;
}

/* ---- JSON ---- */

static void json_pair(struct buf *out, const char *key, const char *value, const char *end)
{
	buf_printf(out, "\"%s\":", key);
	json_text(value, strlen(value), out);
	buf_str(out, end);
}

static void json_finding(const struct finding *f, struct buf *out)
{
	buf_str(out, "{");
	json_pair(out, "code", f->code, ",");
	json_pair(out, "title", f->title, ",");
	json_pair(out, "state", finding_state_name(f->state), ",");
	json_pair(out, "fact", f->fact, ",");
	json_pair(out, "without", f->without, ",");
	json_pair(out, "remedy", f->remedy, ",");
	buf_str(out, "\"presets\":[");
	for (char **p = f->presets; p && *p; p++) {
		buf_str(out, p == f->presets ? "" : ",");
		json_text(*p, strlen(*p), out);
	}
	buf_str(out, "]}");
}

void doctor_json(const struct finding *list, size_t count, struct buf *out)
{
	struct machine here;

	machine_read("", &here);
	buf_str(out, "{\"host\":");
	host_to_json(out);
	buf_str(out, ",");
	json_pair(out, "place", machine_place(&here), ",");
	buf_printf(out, "\"uid\":%u,\"findings\":[", (unsigned) geteuid());
	for (size_t i = 0; i < count; i++) {
		buf_str(out, i ? "," : "");
		json_finding(&list[i], out);
	}
	buf_str(out, "]}");
}
