/* SPDX-License-Identifier: MIT */
/*
 * What is known of one run, learned from its events alone: so a live run and a recording look the same. The
 * screens draw from here; nothing here draws.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/model/event.h"
#include "tui/screen/cells.h"
#include "tui/screen/groups.h"
#include "tui/screen/ring.h"
#include "tui/screen/series.h"

enum fact_state { FACT_HOLDS, FACT_PARTLY, FACT_MISSING, FACT_OPEN }; /* open: nobody asked for this wall */

struct fact { /* one layer or limit, in words */
	struct clean name, words, proof;
	enum fact_state state;
	const char *badge; /* "NOT ENFORCED": our own words, NULL where it holds */
};
#define FACTS_MAX 48

enum meter_name { METER_CPU, METER_MEMORY, METER_PROCESSES, METER_WRITES, METER_DENIED, METER_MAX };

struct meter {
	struct series history;
	double value, peak, most; /* SERIES_UNKNOWN where it is not known; most: the limit, 0 without one */
	uint64_t sum;             /* writes: bytes; denied: events. UNKNOWN_U64 where it is not known */
	struct clean source;
};

struct asked {                 /* a call of the run that stands still until it is answered */
	uint64_t id, until_ns; /* until_ns: on the run's own clock */
	struct clean words;    /* "python3[4] ptrace(PTRACE_ATTACH, 1)" */
	char call[32];         /* its bare name */
	bool allowable;        /* more may be said than "deny" */
};
#define ASKED_MAX 16

struct watch {
	bool ascii;
	bool started, ended, paused, replayed;
	unsigned number;      /* the how-manieth run of this session */
	uint64_t t_ns;        /* the run's own clock: newest event, or now */
	uint64_t meter_ns;    /* when the meters were last read; 0: not yet */
	struct clean waiting; /* before the start: what takes a while; empty: nothing was told */
	uint64_t waiting_ns;  /* since when */
	struct clean title, preset, backend, language, recording;
	struct fact layers[FACTS_MAX], limits[FACTS_MAX];
	struct clean lists[LIST_MAX]; /* as the start said of each: LIST_WATCHED, why not, or nothing */
	bool list_some[LIST_MAX];     /* something of it came */
	int layer_count, limit_count,
		missing_count; /* missing: walls and limits asked for that do not hold */
	struct meter meters[METER_MAX];
	bool meters_guest;                 /* they are what a guest tells of itself */
	uint64_t host_cpu_ns, host_memory; /* of the machine around it; UNKNOWN_U64: none, or not known */
	struct ring output;
	struct groups groups;
	enum verdict verdict;
	struct clean evidence, signal, limits_met;
	int64_t status;
	double wall_s, cpu_s;
	uint64_t memory_peak, processes_peak, written, processes_left, output_dropped;
	struct asked asked[ASKED_MAX]; /* the oldest first */
	int asked_count;
	struct clean error; /* the newest error event, with its remedy */
};

void watch_init(struct watch *w, bool ascii);
void watch_done(struct watch *w);
void watch_event(struct watch *w, const struct event *ev);
void watch_answered(struct watch *w, uint64_t id); /* that question is none any more */

/* watch_empty_lists: of each list without an entry, whether anybody looks. watch_blind_lists: of each that nobody fills,
 * why. Nothing where there is none. Appended. */
void watch_empty_lists(const struct watch *w, struct buf *out);
void watch_blind_lists(const struct watch *w, struct buf *out);
bool watch_is_blind(const struct watch *w, enum run_list list);

const char *verdict_words(enum verdict v); /* one sentence: what that means */
const char *verdict_badge(enum verdict v); /* "MEMORY LIMIT": for the status row */
/* watch_has_machine: whether the host told of a machine that the run is in.
 * watch_machine_words: what runs it, and what the host sees of it. Scrubbed; appended. */
bool watch_has_machine(const struct watch *w);
void watch_machine_words(const struct watch *w, struct buf *out);
/* watch_is_empty: nothing was told of a run. */
bool watch_is_empty(const struct watch *w);
/* watch_waiting_words: "packing the root image, 3 s so far". Nothing once it started. Scrubbed; appended. */
void watch_waiting_words(const struct watch *w, struct buf *out);
/* watch_layer: whether a wall of this name stands. FACT_OPEN where the run does not speak of it. */
enum fact_state watch_layer(const struct watch *w, const char *name, bool *ret_said);
/* meter_word: "HIGH", "NEAR LIMIT", "LOOK", "ok", "?". */
const char *meter_word(const struct watch *w, enum meter_name m, bool *ret_warn);
/* short_bytes: "251 M", "4.1 M": at most 6 columns; "?" for UNKNOWN_U64. */
const char *short_bytes(uint64_t bytes, char *buf, size_t size);
const char *count_words(uint64_t count, char *buf, size_t size); /* "1,204" */
const char *clock_words(uint64_t t_ns, char *buf, size_t size);  /* "00:07.4", "01:02:03" */
