/* SPDX-License-Identifier: MIT */
/*
 * From events to what the screens show. Strings are cut and scrubbed here, once; numbers may be unknown and
 * stay so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/model/model.h"
#include "tui/screen/watch.h"

#define TEXT_CAP 600

void watch_init(struct watch *w, bool ascii)
{
	*w = (struct watch){ .ascii = ascii, .status = -1 };
	for (int i = 0; i < METER_MAX; i++) {
		series_init(&w->meters[i].history, i == METER_DENIED);
		w->meters[i].value = w->meters[i].peak = SERIES_UNKNOWN;
		w->meters[i].sum = UNKNOWN_U64;
	}
	w->meters[METER_DENIED].value = w->meters[METER_DENIED].peak = 0;
	w->memory_peak = w->processes_peak = w->written = w->processes_left = UNKNOWN_U64;
	w->host_cpu_ns = w->host_memory = UNKNOWN_U64;
	ring_init(&w->output, RING_BYTES, RING_LINES, ascii);
	groups_init(&w->groups, ascii);
}

static void facts_done(struct fact *facts, int count)
{
	for (int i = 0; i < count; i++) {
		clean_free(&facts[i].name);
		clean_free(&facts[i].words);
		clean_free(&facts[i].proof);
	}
}

static void on_ask(struct watch *w, const struct event *ev)
{
	struct event call = { .type = EVENT_DENIED,
			      .denied = { .call = ev->ask.call ? ev->ask.call : "?",
					  .args = ev->ask.args,
					  .arg_count = ev->ask.arg_count } };
	struct buf words = { 0 };
	if (w->asked_count == ASKED_MAX)
		return; /* it is refused when its time is up */
	buf_printf(&words, "%.*s[%lld] ", TEXT_CAP, ev->ask.command ? ev->ask.command : "?",
		   (long long) ev->ask.pid);
	event_what(&call, &words);
	struct asked *a = &w->asked[w->asked_count++];
	*a = (struct asked){ .id = ev->ask.id,
			     .until_ns = ev->t_ns +
					 (uint64_t) (ev->ask.deadline_s > 0 ? ev->ask.deadline_s * 1e9 : 0),
			     .words = clean_line(words.data, words.len, w->ascii),
			     .allowable = ev->ask.answer_count > 1 };
	(void) snprintf(a->call, sizeof(a->call), "%s", call.denied.call);
	buf_done(&words);
}

void watch_answered(struct watch *w, uint64_t id)
{
	for (int i = 0; i < w->asked_count; i++) {
		if (w->asked[i].id != id)
			continue;
		clean_free(&w->asked[i].words);
		memmove(&w->asked[i], &w->asked[i + 1],
			(size_t) (--w->asked_count - i) * sizeof(w->asked[0]));
		return;
	}
}

static void asked_done(struct watch *w)
{
	while (w->asked_count)
		watch_answered(w, w->asked[0].id);
}

static void start_done(struct watch *w)
{
	struct clean *const texts[] = { &w->title, &w->preset, &w->backend, &w->language, &w->recording };
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		clean_free(texts[i]);
	for (size_t i = 0; i < LIST_MAX; i++)
		clean_free(&w->lists[i]);
	facts_done(w->layers, w->layer_count);
	facts_done(w->limits, w->limit_count);
	w->layer_count = w->limit_count = w->missing_count = 0;
}

static void exit_done(struct watch *w)
{
	clean_free(&w->evidence);
	clean_free(&w->signal);
	clean_free(&w->limits_met);
}

void watch_done(struct watch *w)
{
	start_done(w);
	exit_done(w);
	asked_done(w);
	for (int i = 0; i < METER_MAX; i++)
		clean_free(&w->meters[i].source);
	ring_done(&w->output);
	groups_done(&w->groups);
	clean_free(&w->error);
	clean_free(&w->waiting);
	*w = (struct watch){ 0 };
}

static struct clean clean_capped(const struct watch *w, const char *untrusted)
{
	return clean_line(untrusted ? untrusted : "", untrusted ? strnlen(untrusted, TEXT_CAP) : 0, w->ascii);
}

static const struct limit_kind *kind_of(const char *name, enum limit_name *ret)
{
	for (int i = 0; i < LIMIT_MAX; i++)
		if (name && strcmp(limit_kinds[i].name, name) == 0) {
			*ret = (enum limit_name) i;
			return &limit_kinds[i];
		}
	return NULL;
}

static void limit_fact(const struct watch *w, const struct event_limit *l, struct fact *ret)
{
	char value[40] = "?";
	enum limit_name name;
	*ret = (struct fact){ .name = clean_capped(w, l->name), .proof = clean_capped(w, l->mechanism) };
	if (kind_of(l->name, &name))
		(void) limit_format(name, l->asked, value, sizeof(value));
	bool unlimited = l->asked == UNLIMITED;
	if (unlimited) {
		ret->state = FACT_OPEN;
	} else if (l->grade == GRADE_NONE) {
		ret->state = FACT_MISSING;
		ret->badge = "NOT ENFORCED";
	} else if (l->grade == GRADE_SAMPLED) {
		ret->state = FACT_PARTLY;
		ret->badge = "SAMPLED";
	}
	const char *how = unlimited                      ? ""
			  : l->grade == GRADE_KERNEL     ? ", kernel"
			  : l->grade == GRADE_SUPERVISOR ? ", supervisor"
							 : "";
	FREE char *words = xprintf("%s%s", value, how);
	ret->words = clean_capped(w, words);
}

static void layer_fact(const struct watch *w, const struct event_layer *l, struct fact *ret)
{
	static const struct {
		enum fact_state state;
		const char *badge;
	} states[STATE_MAX] = {
		[STATE_ON] = { FACT_HOLDS, NULL },
		[STATE_PARTIAL] = { FACT_PARTLY, "PARTLY" },
		[STATE_OFF] = { FACT_OPEN, "OFF" },
		[STATE_UNAVAILABLE] = { FACT_MISSING, "NOT HERE" },
	};
	*ret = (struct fact){ .name = clean_capped(w, l->name),
			      .words = clean_capped(w, l->detail),
			      .proof = clean_capped(w, l->verified) };
	if (l->state < STATE_MAX) {
		ret->state = states[l->state].state;
		ret->badge = states[l->state].badge;
	}
	/* No wall, but one of the means of limits: without it each limit's own grade tells what holds. */
	if (ret->state == FACT_MISSING && l->name && strcmp(l->name, "cgroup") == 0)
		ret->state = FACT_PARTLY;
}

/* The limits that have a meter of their own give it its top. */
static void meter_limit(struct watch *w, const struct event_limit *l)
{
	enum limit_name name;
	if (!kind_of(l->name, &name) || l->enforced == UNLIMITED)
		return;
	double value = (double) l->enforced;
	if (name == LIMIT_CPUS)
		w->meters[METER_CPU].most = value / 10; /* thousandths of a core to per cent of one */
	else if (name == LIMIT_MEMORY)
		w->meters[METER_MEMORY].most = value;
	else if (name == LIMIT_PROCESSES)
		w->meters[METER_PROCESSES].most = value;
	else if (name == LIMIT_SPACE)
		w->meters[METER_WRITES].most = value;
}

static void on_start(struct watch *w, const struct event *ev)
{
	start_done(w);
	clean_free(&w->waiting);
	w->started = true;
	w->t_ns = ev->t_ns; /* what was waited for had a clock of its own */
	bool from_stdin = ev->start.title && strcmp(ev->start.title, "-") == 0;
	w->title = clean_capped(w, from_stdin ? "standard input" : ev->start.title);
	w->preset = clean_capped(w, ev->start.preset);
	w->backend = clean_capped(w, ev->start.backend);
	w->language = clean_capped(w, ev->start.language);
	w->recording = clean_capped(w, ev->start.recording);
	for (int i = 0; i < LIST_MAX; i++)
		w->lists[i] = clean_capped(w, list_state(ev, (enum run_list) i));
	for (size_t i = 0; i < ev->start.limit_count && w->limit_count < FACTS_MAX; i++) {
		struct fact *f = &w->limits[w->limit_count++];
		limit_fact(w, &ev->start.limits[i], f);
		meter_limit(w, &ev->start.limits[i]);
		w->missing_count += f->state == FACT_MISSING;
	}
	for (size_t i = 0; i < ev->start.layer_count && w->layer_count < FACTS_MAX; i++) {
		struct fact *f = &w->layers[w->layer_count++];
		layer_fact(w, &ev->start.layers[i], f);
		w->missing_count += f->state == FACT_MISSING;
	}
}

static void meter_set(struct watch *w, enum meter_name m, double value, double peak)
{
	struct meter *meter = &w->meters[m];
	meter->value = value;
	meter->peak = peak > meter->peak ? peak : value > meter->peak ? value : meter->peak;
	series_add(&meter->history, w->t_ns, value);
}

static double known(uint64_t value)
{
	return value == UNKNOWN_U64 ? SERIES_UNKNOWN : (double) value;
}

static void on_meter(struct watch *w, const struct event *ev)
{
	w->meter_ns = ev->t_ns;
	static const char *const keys[METER_MAX] = { "cpu", "memory", "processes", "written", "" };
	meter_set(w, METER_CPU, ev->meter.cpu_pct < 0 ? SERIES_UNKNOWN : ev->meter.cpu_pct, SERIES_UNKNOWN);
	meter_set(w, METER_MEMORY, known(ev->meter.memory), known(ev->meter.memory_peak));
	meter_set(w, METER_PROCESSES, known(ev->meter.processes), known(ev->meter.processes_peak));
	meter_set(w, METER_WRITES, known(ev->meter.write_rate), SERIES_UNKNOWN);
	w->meters[METER_WRITES].sum = ev->meter.written;
	w->meters_guest = ev->source == SOURCE_GUEST;
	w->host_cpu_ns = ev->meter.host_cpu_ns;
	w->host_memory = ev->meter.host_memory;
	for (size_t i = 0; i < ev->meter.source_count; i++)
		for (int m = 0; m < METER_MAX; m++)
			if (ev->meter.sources[i].key && strcmp(ev->meter.sources[i].key, keys[m]) == 0 &&
			    *keys[m]) {
				clean_free(&w->meters[m].source);
				w->meters[m].source = clean_capped(w, ev->meter.sources[i].value);
			}
}

/* What the end says about the whole run stands above what was sampled on the way. */
static void raise_peak(struct meter *m, uint64_t peak)
{
	if (known(peak) > m->peak)
		m->peak = known(peak);
}

static void on_exit_event(struct watch *w, const struct event *ev)
{
	exit_done(w);
	asked_done(w);
	ring_end(&w->output);
	w->ended = true;
	w->paused = false;
	w->verdict = ev->exit.verdict;
	w->status = ev->exit.status;
	w->evidence = clean_capped(w, ev->exit.evidence);
	w->signal = clean_capped(w, ev->exit.signal);
	struct buf met = { 0 };
	for (size_t i = 0; i < ev->exit.limits_met_count && met.len < TEXT_CAP; i++)
		buf_printf(&met, "%s%s", i ? ", " : "", ev->exit.limits_met[i]);
	w->limits_met = clean_capped(w, met.data);
	buf_done(&met);
	w->wall_s = ev->exit.wall_s;
	w->cpu_s = ev->exit.cpu_s;
	w->memory_peak = ev->exit.memory_peak;
	w->processes_peak = ev->exit.processes_peak;
	w->written = ev->exit.written;
	w->processes_left = ev->exit.processes_left;
	raise_peak(&w->meters[METER_MEMORY], w->memory_peak);
	raise_peak(&w->meters[METER_PROCESSES], w->processes_peak);
	if (w->written != UNKNOWN_U64)
		w->meters[METER_WRITES].sum = w->written;
	w->output_dropped = ev->exit.stdout_dropped + ev->exit.stderr_dropped;
}

static void on_progress(struct watch *w, const struct event *ev)
{
	if (w->started)
		return;
	clean_free(&w->waiting);
	w->waiting = clean_capped(w, ev->progress.text);
	w->waiting_ns = ev->t_ns;
}

static void on_error(struct watch *w, const struct event *ev)
{
	clean_free(&w->error);
	const char *remedy = ev->error.remedy && *ev->error.remedy ? ev->error.remedy : NULL;
	FREE char *both = xprintf("%.*s%s%.*s", TEXT_CAP / 2, ev->error.text ? ev->error.text : "",
				  remedy ? ". " : "", TEXT_CAP / 2, remedy ? remedy : "");
	w->error = clean_capped(w, both);
}

void watch_event(struct watch *w, const struct event *ev)
{
	int list = list_of(ev);
	if (list >= 0)
		w->list_some[list] = true;
	if (ev->t_ns > w->t_ns)
		w->t_ns = ev->t_ns;
	w->output.now_ns = ev->t_ns;
	if (ev->type == EVENT_START)
		on_start(w, ev);
	else if (ev->type == EVENT_OUTPUT)
		ring_add(&w->output, ev->output.stream == STREAM_STDERR, ev->output.bytes, ev->output.len);
	else if (ev->type == EVENT_METER)
		on_meter(w, ev);
	else if (ev->type == EVENT_ERROR)
		on_error(w, ev);
	else if (ev->type == EVENT_PROGRESS)
		on_progress(w, ev);
	else if (ev->type == EVENT_ASK)
		on_ask(w, ev);
	else if (ev->type == EVENT_ANSWER)
		watch_answered(w, ev->answer.id);
	else if (ev->type == EVENT_EXIT)
		on_exit_event(w, ev);
	if (!group_wanted(ev))
		return;
	uint64_t before = w->groups.stopped;
	groups_add(&w->groups, ev);
	w->meters[METER_DENIED].sum = w->groups.stopped;
	if (w->groups.stopped > before)
		series_add(&w->meters[METER_DENIED].history, ev->t_ns, (double) (w->groups.stopped - before));
}

/* clang-format off */
static const struct {
	const char *badge, *words;
} verdicts[VERDICT_MAX] = {
	[VERDICT_NONE] = { "ENDED", "It ended; nobody says how." },
	[VERDICT_OK] = { "OK", "It ended by itself and reported success." },
	[VERDICT_FAILED] = { "FAILED", "It ended by itself and reported a failure." },
	[VERDICT_SIGNALLED] = { "SIGNALLED", "It died of a signal of its own making." },
	[VERDICT_WALL_TIME] = { "WALL TIME", "It ran longer than it may; belljar ended it." },
	[VERDICT_CPU_TIME] = { "CPU TIME", "It used more processor time than it may." },
	[VERDICT_MEMORY] = { "MEMORY", "It wanted more memory than it may have." },
	[VERDICT_PROCESSES] = { "PROCESSES", "It wanted more processes than it may have, and failed." },
	[VERDICT_WRITE_SPACE] = { "WRITE SPACE", "It wanted to write more than it may, and failed." },
	[VERDICT_OUTPUT] = { "OUTPUT", "It printed more than it may; belljar ended it." },
	[VERDICT_POLICY] = { "POLICY", "It made a call that this preset punishes by killing it." },
	[VERDICT_CANCELLED] = { "CANCELLED", "You stopped it." },
	[VERDICT_LOST] = { "LOST", "Its supervisor or its guest was lost; what it did last is not known." },
	[VERDICT_SETUP_ERROR] = { "SETUP ERROR", "Nothing of it ran." },
};
/* clang-format on */

const char *verdict_words(enum verdict v)
{
	return verdicts[v < VERDICT_MAX ? v : VERDICT_NONE].words;
}

const char *verdict_badge(enum verdict v)
{
	return verdicts[v < VERDICT_MAX ? v : VERDICT_NONE].badge;
}

/* What is said of a wall, as it came. */
static const struct fact *layer_of(const struct watch *w, const char *name)
{
	for (int i = 0; i < w->layer_count; i++)
		if (strcmp(w->layers[i].name.text, name) == 0)
			return &w->layers[i];
	return NULL;
}

enum fact_state watch_layer(const struct watch *w, const char *name, bool *ret_said)
{
	const struct fact *layer = layer_of(w, name);
	*ret_said = layer != NULL;
	return layer ? layer->state : FACT_OPEN;
}

bool watch_is_empty(const struct watch *w)
{
	return !w->started && !w->ended && !w->waiting.len;
}

bool watch_has_machine(const struct watch *w)
{
	return w->host_cpu_ns != UNKNOWN_U64 || w->host_memory != UNKNOWN_U64;
}

void watch_machine_words(const struct watch *w, struct buf *out)
{
	const struct fact *vm = layer_of(w, "vm");
	char used[40], holds[40];
	if (w->host_cpu_ns == UNKNOWN_U64)
		snprintf(used, sizeof(used), "?");
	else
		snprintf(used, sizeof(used), "%.2f s", (double) w->host_cpu_ns / NS_PER_S);
	if (vm && vm->proof.len)
		buf_printf(out, "%.*s: ", (int) vm->proof.len, vm->proof.text);
	buf_printf(out, "cpu %s, memory %s", used, short_bytes(w->host_memory, holds, sizeof(holds)));
}

void watch_waiting_words(const struct watch *w, struct buf *out)
{
	uint64_t for_ns = w->t_ns > w->waiting_ns ? w->t_ns - w->waiting_ns : 0;
	if (!w->started && w->waiting.len)
		buf_printf(out, "%.*s, %llu s so far", (int) w->waiting.len, w->waiting.text,
			   (unsigned long long) (for_ns / NS_PER_S));
}

bool watch_is_blind(const struct watch *w, enum run_list list)
{
	const struct clean *state = &w->lists[list];
	return state->len && strcmp(state->text, LIST_WATCHED) != 0;
}

static void put_list(const struct watch *w, int list, struct buf *out)
{
	const struct clean *state = &w->lists[list];
	buf_str(out, out->len ? "; " : "");
	list_empty_words((enum run_list) list, state->len ? state->text : NULL, out);
}

void watch_empty_lists(const struct watch *w, struct buf *out)
{
	for (int i = 0; i < LIST_MAX; i++)
		if (!w->list_some[i])
			put_list(w, i, out);
}

void watch_blind_lists(const struct watch *w, struct buf *out)
{
	for (int i = 0; i < LIST_MAX; i++)
		if (watch_is_blind(w, (enum run_list) i))
			put_list(w, i, out);
}

const char *meter_word(const struct watch *w, enum meter_name m, bool *ret_warn)
{
	const struct meter *meter = &w->meters[m];
	*ret_warn = true;
	if (m == METER_DENIED) {
		bool blind = watch_is_blind(w, LIST_DENIED) || watch_is_blind(w, LIST_NETWORK) ||
			     watch_is_blind(w, LIST_FILES);
		*ret_warn = w->groups.stopped > 0;
		return *ret_warn ? "LOOK" : blind || !w->started ? "?" : "ok";
	}
	double level = m == METER_WRITES ? known(meter->sum) : w->ended ? meter->peak : meter->value;
	if (meter->most > 0 && level >= 0.9 * meter->most)
		return m == METER_CPU ? "HIGH" : "NEAR LIMIT";
	*ret_warn = false;
	return level < 0 ? "?" : "ok";
}

const char *short_bytes(uint64_t bytes, char *buf, size_t size)
{
	static const char units[] = " KMGTPE";
	double value = (double) bytes;
	size_t unit = 0;
	for (; value >= 999.5 && unit + 2 < sizeof(units); unit++)
		value /= 1024;
	if (bytes == UNKNOWN_U64)
		(void) snprintf(buf, size, "?");
	else if (unit == 0)
		(void) snprintf(buf, size, "%.0f", value);
	else
		(void) snprintf(buf, size, value < 9.95 ? "%.1f %c" : "%.0f %c", value, units[unit]);
	return buf;
}

const char *count_words(uint64_t count, char *buf, size_t size)
{
	char digits[24];
	size_t len = (size_t) snprintf(digits, sizeof(digits), "%llu", (unsigned long long) count), at = 0;
	for (size_t i = 0; i < len && at + 2 < size; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = '\0';
	return buf;
}

const char *clock_words(uint64_t t_ns, char *buf, size_t size)
{
	uint64_t tenths = t_ns / (NS_PER_S / 10), s = tenths / 10;
	if (s < 3600)
		(void) snprintf(buf, size, "%02u:%02u.%u", (unsigned) (s / 60), (unsigned) (s % 60),
				(unsigned) (tenths % 10));
	else
		(void) snprintf(buf, size, "%u:%02u:%02u", (unsigned) (s / 3600), (unsigned) (s / 60 % 60),
				(unsigned) (s % 60));
	return buf;
}
