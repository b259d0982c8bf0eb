/* SPDX-License-Identifier: MIT */
/*
 * What has to be there before a machine can be restored: its parts, its disks, and a snapshot in which the level inside
 * stands and something waits for code. Made once, tried once, kept in the cache.
 */
#include "core/backend/microvm.h"

#include "core/base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define GUEST_EXTRA (UINT64_C(96) << 20) /* what its kernel and agent take beside the run's own memory */
#define GUEST_MOST  (UINT64_C(64) << 30)
#define MIB         (UINT64_C(1) << 20)

/* ---- what is to be set up, and tried ---- */

static enum waiting waiting_of(const struct launch *l)
{
	if (l->tty)
		return WAITING_TERMINAL;
	return l->language && strcmp(l->language->name, "python") == 0 ? WAITING_PYTHON : WAITING_PROGRAM;
}

/* The level inside is `namespaces`, less what is better held out here. */
static void setup_pack(const struct policy *p, enum waiting waiting, struct buf *out)
{
	struct policy inside = *p;
	const struct inside_setup setup = { .policy = &inside, .waiting = waiting };
	inside.backend = (char *) "namespaces";
	inside.root = (char *) "host-usr";
	inside.name = inside.summary = (char *) "";
	inside.pass = inside.microvm.languages = NULL;
	inside.microvm.accel = ACCEL_AUTO;
	inside.microvm.spare = 0;
	inside.on_output_limit = OUTPUT_DROP;
	inside.limit[LIMIT_WALL] = inside.limit[LIMIT_OUTPUT] = UNLIMITED;
	inside_setup_pack(&setup, out);
}

int go_begin(struct inside_go *go, const char *run_id, struct err *e)
{
	struct timespec now;
	*go = (struct inside_go){ .run_id = (char *) run_id };
	clock_gettime(CLOCK_REALTIME, &now);
	go->realtime_ns = (uint64_t) now.tv_sec * NS_PER_S + (uint64_t) now.tv_nsec;
	return getrandom(go->seed, sizeof(go->seed), 0) == (ssize_t) sizeof(go->seed)
		       ? 0
		       : err_set(e, errno, "draw random numbers for the guest");
}

/* A first run of our own: to see that a snapshot is good for one, or to have it behind one. Returns what it prints. */
const char *trial_pack(enum waiting waiting, bool warm, struct buf *out, struct err *e)
{
	char *python[] = { (char *) "/usr/bin/python3", (char *) "-u", (char *) "/workspace/main.py", NULL };
	char *program[] = { (char *) "/usr/bin/sh", (char *) "-c", (char *) "echo ready", NULL };
	static const char code[] = "print('ready')\n";
	char *env[] = { (char *) "BELLJAR_RUN=trial", NULL };
	struct inside_go go;
	if (go_begin(&go, "trial", e) < 0)
		return NULL;
	go.env = env;
	go.warm = warm;
	go.argv = waiting == WAITING_PYTHON ? python : program;
	if (waiting == WAITING_PYTHON) {
		go.code_path = python[2];
		go.code = (char *) code;
		go.code_len = strlen(code);
	}
	inside_go_pack(&go, out);
	return waiting == WAITING_TERMINAL ? "ready\r\n" : "ready\n";
}

/* ---- what it is made of ---- */

static int policy_check(const struct policy *p, struct err *e)
{
	if (p->network != NETWORK_NONE)
		return err_say(e, ENOTSUP,
			       "network = host: a microVM has no network card; say policy = none, or take "
			       "`namespaces`");
	if (p->limit[LIMIT_MEMORY] == UNLIMITED || p->limit[LIMIT_MEMORY] > GUEST_MOST)
		return err_say(e, EINVAL,
			       "memory: a microVM needs a size, of at most 64G; say memory = 256M");
	return 0;
}

static int machine_facts(struct microvm *m, const struct policy *p, struct err *e)
{
	int r;
	m->memory = (p->limit[LIMIT_MEMORY] + GUEST_EXTRA + MIB - 1) / MIB * MIB;
	if ((r = machine_accel(p->microvm.accel, &m->accel, &m->accel_why, e)) < 0)
		return r;
	return machine_tsc_khz(&m->tsc_khz, e);
}

static int images_get(struct microvm *m, const struct launch *l, const struct progress *to, struct err *e)
{
	const struct launch none = { .policy = l->policy };
	int r;
	if ((r = image_root(l->policy, &m->parts, to, &m->root_fd, m->root_key, e)) < 0 ||
	    (r = image_initrd(&m->parts, to, &m->initrd, e)) < 0 ||
	    (r = image_data(&none, to, &m->empty_fd, e)) < 0)
		return r;
	return l->input_count || l->project_dir ? image_data(l, to, &m->data_fd, e) : 0;
}

/* All that a saved machine depends on. */
static int key_make(struct microvm *m, const struct buf *setup, struct err *e)
{
	const struct vm_want w = { .accel = m->accel, .memory = m->memory, .tsc_khz = m->tsc_khz };
	struct buf all = { 0 };
	int r = vm_identity(&w, &all, e);
	buf_printf(&all, "parts %s\nroot %s\nmemory %llu\ntsc %u\n", m->parts.hash, m->root_key,
		   (unsigned long long) m->memory, m->tsc_khz);
	buf_add(&all, setup->data, setup->len);
	sha256_hex(all.data, all.len, m->key);
	buf_done(&all);
	return r;
}

static int snapshot_find(struct microvm *m, const struct launch *l, const struct progress *to, struct err *e)
{
	struct buf setup = { 0 }, trial = { 0 };
	FREE char *label = xprintf("%s: %s", l->policy->name, waiting_name(m->waiting));
	setup_pack(l->policy, m->waiting, &setup);
	const char *trial_out = trial_pack(m->waiting, false, &trial, e);
	int r = trial_out ? key_make(m, &setup, e) : -EIO;
	const struct snapshot_want want = {
		.parts = &m->parts,
		.accel = m->accel,
		.memory = m->memory,
		.tsc_khz = m->tsc_khz,
		.root_fd = m->root_fd,
		.data_fd = m->empty_fd,
		.initrd = m->initrd,
		.key = m->key,
		.label = label,
		.setup = setup.data,
		.setup_len = setup.len,
		.trial = trial.data,
		.trial_len = trial.len,
		.trial_out = trial_out,
		.launch = l,
		.progress = to,
	};
	if (r >= 0)
		r = snapshot_get(&want, &m->snapshot, e);
	buf_done(&setup);
	buf_done(&trial);
	return r;
}

int microvm_images(struct microvm *m, const struct launch *l, const struct progress *to, struct err *e)
{
	int r = guest_parts_find(&m->parts, e);
	return r < 0 ? r : images_get(m, l, to, e);
}

/* Where KVM was worth a try and no more, the emulation does as well. */
static int snapshot_by_any(struct microvm *m, const struct launch *l, const struct progress *to,
			   struct err *e)
{
	int r = snapshot_find(m, l, to, e);
	if (r != -ENOTSUP || m->accel != ACCEL_KVM || l->policy->microvm.accel != ACCEL_AUTO)
		return r;
	m->accel = ACCEL_TCG;
	m->accel_why = "no guest comes up under KVM";
	return snapshot_find(m, l, to, e);
}

int microvm_again(struct microvm *m, const struct launch *l, const struct progress *to, struct err *e)
{
	progress_step(to, "the snapshot is damaged: making it again");
	snapshot_done(&m->snapshot);
	int r = snapshot_forget(m->key, e);
	return r < 0 && r != -ENOENT ? r : snapshot_by_any(m, l, to, e);
}

int microvm_ready(struct microvm *m, const struct launch *l, const struct progress *to, struct err *e)
{
	int r;
	if ((r = policy_check(l->policy, e)) < 0 || (r = machine_facts(m, l->policy, e)) < 0 ||
	    (r = microvm_images(m, l, to, e)) < 0)
		return r;
	return snapshot_by_any(m, l, to, e);
}

void microvm_init(struct microvm *m, const struct launch *l)
{
	m->root_fd = m->data_fd = m->empty_fd = m->snapshot.ram_fd = m->snapshot.state_fd = -1;
	m->vm.monitor_fd = m->vm.words_fd = -1;
	memset(m->vm.port_fd, 0xff, sizeof(m->vm.port_fd));
	m->waiting = waiting_of(l);
}

void microvm_free(struct microvm *m)
{
	if (!m)
		return;
	vm_done(&m->vm);
	snapshot_done(&m->snapshot);
	guest_parts_done(&m->parts);
	close_fd(&m->root_fd);
	close_fd(&m->data_fd);
	close_fd(&m->empty_fd);
	free(m->initrd);
	free(m->code_path);
	free(m);
}
