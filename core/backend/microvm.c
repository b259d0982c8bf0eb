/* SPDX-License-Identifier: MIT */
/*
 * The `microvm` level: a kernel of its own, in a QEMU that is confined itself, restored from a snapshot in which the
 * `namespaces` level stands already. What is watched, is watched by the supervisor inside; the wall limit, the output, the
 * machine's memory and its end are ours.
 */
#include "core/backend/microvm.h"
#include "core/backend/stage.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WARM_LIMIT_NS (30 * NS_PER_S)

/* ---- what is to be set up, and what is to be run ---- */

static char *input_dest(const struct launch *l, size_t k, bool folder)
{
	const struct launch_bind *b = &l->inputs[k];
	const char *base = strrchr(b->source, '/');
	if (b->dest)
		return xstrdup(b->dest);
	return l->input_count == 1 && folder ? xstrdup("/data")
					     : xprintf("/data/%s", base ? base + 1 : b->source);
}

static void go_inputs(const struct launch *l, struct inside_go *go)
{
	go->inputs = xcalloc(l->input_count + 1, sizeof(*go->inputs));
	for (size_t k = 0; k < l->input_count; k++) {
		struct stat st;
		bool folder = stat(l->inputs[k].source, &st) == 0 && S_ISDIR(st.st_mode);
		go->inputs[k] = (struct inside_input){ .from = xprintf("%zu", k),
						       .dest = input_dest(l, k, folder),
						       .folder = folder };
	}
	go->input_count = l->input_count;
}

static int go_pack(const struct instance *i, struct buf *out, struct err *e)
{
	const struct launch *l = i->launch;
	const struct microvm *m = i->priv;
	struct inside_go go;
	int r = go_begin(&go, l->run_id, e);
	if (r < 0)
		return r;
	go.argv = i->argv;
	go.env = i->env;
	go.code_path = m->code_path;
	go.code = l->code;
	go.code_len = l->code_len;
	go.canary = i->canary.nonce[0] ? (char *) i->canary.nonce : NULL;
	go.project = l->project_dir != NULL;
	go.output = l->output_dir != NULL;
	go.input = l->stdin_fd >= 0;
	go.answers = l->answers;
	go.rows = l->rows;
	go.columns = l->columns;
	go_inputs(l, &go);
	inside_go_pack(&go, out);
	for (size_t k = 0; k < go.input_count; k++) {
		free(go.inputs[k].from);
		free(go.inputs[k].dest);
	}
	free(go.inputs);
	return 0;
}

/* ---- how it started, in the guest's words and in ours ---- */

static const struct event_limit *limit_told(const struct event *told, const char *name)
{
	for (size_t k = 0; k < told->start.limit_count; k++)
		if (strcmp(told->start.limits[k].name, name) == 0)
			return &told->start.limits[k];
	return NULL;
}

static void limits_say(struct instance *i)
{
	const uint64_t *asked = i->launch->policy->limit;
	for (int n = 0; n < LIMIT_MAX; n++) {
		struct event_limit *l = &i->limits[n];
		const struct event_limit *t = limit_told(i->told, limit_kinds[n].name);
		*l = (struct event_limit){ .name = limit_kinds[n].name,
					   .asked = asked[n],
					   .enforced = UNLIMITED,
					   .grade = GRADE_NONE,
					   .mechanism = "unlimited" };
		if (asked[n] == UNLIMITED)
			continue;
		l->enforced = asked[n];
		l->grade = GRADE_SUPERVISOR;
		if (n == LIMIT_WALL || n == LIMIT_OUTPUT) {
			l->mechanism = n == LIMIT_WALL ? "timer of the supervisor, on the host"
						       : "counted by the supervisor, on the host";
			continue;
		}
		l->enforced = t ? t->enforced : UNKNOWN_U64;
		l->grade = t ? t->grade : GRADE_NONE;
		l->mechanism = instance_text(i, INSIDE_MECHANISM "%s", t ? t->mechanism : "nothing");
	}
}

/* That QEMU is as confined as it was told to be, by what the kernel says of it. */
static int vmm_verify(const struct instance *i, struct err *e)
{
	char path[40], status[4096];
	snprintf(path, sizeof(path), "/proc/%d/status", i->target_pid);
	if (file_read_small(AT_FDCWD, path, status, sizeof(status)) <= 0)
		return err_say(e, ESRCH, "QEMU is gone already");
	if (!strstr(status, "\nSeccomp:\t2") || !strstr(status, "\nNoNewPrivs:\t1") ||
	    !strstr(status, "\nCapEff:\t0000000000000000") || !strstr(status, "\nCapPrm:\t0000000000000000"))
		return err_say(e, EPROTO,
			       "QEMU is not confined as it was told to be: /proc/PID/status says otherwise");
	return 0;
}

/* The outer walls first: they are what this level is taken for. */
static void layers_say(struct instance *i)
{
	const struct microvm *m = i->priv;
	instance_layer(i, "vm", STATE_ON,
		       m->accel == ACCEL_KVM ? "KVM ran it" : "QEMU's own emulation ran it",
		       "kernel %s of its own; the layers below vm-process stand in it. %s", m->parts.release,
		       m->accel == ACCEL_KVM
			       ? "Under KVM"
			       : "Software emulation: slower, and not what QEMU promises security for");
	instance_layer(
		i, "vm-process", STATE_ON, "Seccomp: 2, NoNewPrivs: 1, CapEff: 0 in /proc",
		"QEMU itself, on this host: own user, mount, pid, net, ipc and uts namespaces, "
		"no /proc, /sys or /dev, its own sandbox and ours, nothing that it may open for writing%s",
		i->cgroup ? ", a control group" : "; no control group to be had");
	for (size_t k = 0; k < i->told->start.layer_count && i->layer_count < INSTANCE_LAYERS; k++)
		i->layers[i->layer_count++] = i->told->start.layers[k];
}

static int told_take(struct instance *i, struct err *e)
{
	const struct microvm *m = i->priv;
	int r = event_decode(m->snapshot.ready, m->snapshot.ready_len, &i->told, e);
	if (r < 0)
		return r;
	if (i->told->type != EVENT_START)
		return err_say(e, EPROTO, "the snapshot holds no start");
	limits_say(i);
	layers_say(i);
	return 0;
}

/* ---- start ---- */

/* Where what comes out as files waits until the machine is dead: it has no name, so that nothing stays of it. */
static int spool_open(struct instance *i, struct err *e)
{
	FREE char *folder = xdg_folder(XDG_CACHE, NULL, true, e);
	if (!i->launch->output_dir)
		return 0;
	if (!folder)
		return -e->code;
	i->spool_fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return i->spool_fd < 0 ? err_set(e, errno, "make a file in %s for what comes out", folder) : 0;
}

static int restore(struct instance *i, bool *ret_damaged, struct err *e)
{
	struct microvm *m = i->priv;
	const struct vm_want want = {
		.accel = m->accel,
		.memory = m->memory,
		.tsc_khz = m->tsc_khz,
		.root_fd = m->root_fd,
		.data_fd = m->data_fd >= 0 ? m->data_fd : m->empty_fd,
		.ram_fd = m->snapshot.ram_fd,
		.state_fd = m->snapshot.state_fd,
	};
	int r = vm_start(i, &want, &m->vm, e);
	if (r < 0)
		return r;
	r = qmp_restored(m->vm.monitor_fd, e);
	if (r < 0) {
		*ret_damaged = true;
		return r == -ECHILD ? vm_why(&m->vm, e) : r;
	}
	i->guest_fd = take_fd(&m->vm.port_fd[VM_CONTROL]);
	i->out_fd = take_fd(&m->vm.port_fd[VM_STDOUT]);
	i->err_fd = take_fd(&m->vm.port_fd[VM_STDERR]);
	i->data_fd = take_fd(&m->vm.port_fd[VM_DATA]);
	return 0;
}

/* A snapshot that is whole by its sizes and times may still be none: then another is made, and that one has to do. */
static int restore_or_renew(struct instance *i, struct err *e)
{
	struct microvm *m = i->priv;
	bool damaged = false;
	int r = restore(i, &damaged, e);
	if (!damaged || m->snapshot.built)
		return r;
	vm_end(i, &m->vm);
	r = microvm_again(m, i->launch, &i->progress, e);
	return r < 0 ? r : restore(i, &damaged, e);
}

static int command_make(struct instance *i, struct err *e)
{
	struct microvm *m = i->priv;
	const struct target_places at = { .code_dir = i->launch->project_dir ? "/tmp" : "/workspace",
					  .cwd = "/workspace",
					  .home = "/home/user",
					  .tmp = "/tmp",
					  .user = "user" };
	int r = command_build(i, &at, &m->code_path, e);
	return r < 0 ? r : spool_open(i, e);
}

static int microvm_start(const struct launch *l, struct instance *i, struct err *e)
{
	struct microvm *m = xcalloc(1, sizeof(*m));
	int r;
	i->priv = m;
	microvm_init(m, l);
	if ((r = target_uid_check(l, e)) < 0 || (!l->spare && (r = command_make(i, e)) < 0) ||
	    (r = microvm_ready(m, l, &i->progress, e)) < 0 || (r = restore_or_renew(i, e)) < 0 ||
	    (r = vmm_verify(i, e)) < 0)
		return r;
	return told_take(i, e);
}

/* ---- a spare ---- */

/* Until what waits says that it waits again, behind all that the first run printed. */
static int warm_await(struct instance *i, struct err *e)
{
	static const char word[] = "waiting\n";
	char bytes[256];
	size_t have = 0;
	const uint64_t deadline = now_ns() + WARM_LIMIT_NS;
	while (now_ns() < deadline) {
		struct pollfd p = { .fd = i->out_fd, .events = POLLIN };
		if (guest_flush(i) < 0)
			(void) poll(NULL, 0, 1);
		if (poll(&p, 1, 100) <= 0)
			continue;
		ssize_t n = read(i->out_fd, bytes + have, sizeof(bytes) - have);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			return err_say(e, ECHILD, "the machine that was to be kept ready ended");
		have += n > 0 ? (size_t) n : 0;
		if (have >= strlen(word) && memmem(bytes, have, word, strlen(word)))
			return 0;
		if (have == sizeof(bytes))
			return err_say(e, EPROTO, "the machine that was to be kept ready prints on and on");
	}
	return err_say(e, ETIMEDOUT, "the machine that was to be kept ready did not become so");
}

static int microvm_spare(struct instance *i, struct err *e)
{
	const struct microvm *m = i->priv;
	int r = 0;
	for (int n = 0; r >= 0 && n < 2; n++) { /* the second finds a run behind it, as the real one will */
		if (!trial_pack(m->waiting, true, &i->guest_out, e))
			return -e->code;
		r = warm_await(i, e);
	}
	i->silent = r < 0;
	return r < 0 ? r : qmp_pause(m->vm.monitor_fd, true, e);
}

static int microvm_adopt(struct instance *i, const struct launch *l, struct err *e)
{
	const struct microvm *m = i->priv;
	i->launch = l;
	if (l->canary)
		canary_make(&i->canary);
	int r = command_make(i, e);
	return r < 0 ? r : qmp_pause(m->vm.monitor_fd, false, e);
}

static int microvm_release(struct instance *i, struct err *e)
{
	int r = go_pack(i, &i->guest_out, e);
	if (r >= 0)
		(void) guest_flush(i);
	return r;
}

/* ---- end ---- */

static int microvm_stop(struct instance *i, bool force, struct err *e)
{
	/* In there nobody's patience is bounded: the grace is ours. */
	const struct verb_msg m = { .verb = VERB_STOP, .grace_ns = 3600 * NS_PER_S };
	uint8_t space[64];
	if (force)
		return child_stop(i, true, e);
	ssize_t n = verb_encode(&m, space, sizeof(space));
	guest_send(i, space, (size_t) n);
	return 0;
}

static int microvm_collect(struct instance *i, const struct launch *l, const struct collector *to,
			   struct err *e)
{
	return collect_received(i, l, to, e);
}

static void microvm_done(struct instance *i)
{
	struct microvm *m = i->priv;
	char key[sizeof(m->key)] = "";
	struct err e;
	if (m && i->silent)
		memcpy(key, m->key, sizeof(key));
	if (i->temp_dir)
		(void) temp_remove(i->launch->run_id, &e);
	close_fd(&i->temp_fd);
	free(i->temp_dir);
	i->temp_dir = NULL;
	i->priv = NULL;
	instance_done(i);
	microvm_free(m);
	if (key[0])
		(void) snapshot_forget(key, &e); /* once more for whoever comes next */
}

/* clang-format off */
/* Of the host, for the confinement around QEMU: what the target needs inside, the guest's kernel brings. */
static const enum need needs[] = {
	NEED_CLONE3, NEED_USERNS, NEED_NAMESPACES, NEED_NETNS, NEED_MOUNTS, NEED_NO_NEW_PRIVS, NEED_FILTER,
	NEED_NOTIFICATIONS, NEED_ONE_LISTENER, NEED_TAKE_FD_USERNS, NEED_READ_MEMORY, NEED_ADD_FD, NEED_KEYRING, NEED_STATE,
	NEED_QEMU, NEED_EROFS_TOOLS, NEED_GUEST_PARTS, NEED_CACHE, NEED_START, NEED_MAX,
};
static const enum need weaker_without[] = {
	NEED_CGROUP_MEMORY, NEED_CGROUP_CPU, NEED_STATE_ROOM, NEED_PYTHON, NEED_CACHE_ROOM, NEED_GUEST_MEMORY, NEED_KVM,
	NEED_MAX,
};
/* clang-format on */

const struct backend backend_microvm = {
	.name = "microvm",
	.summary = "a kernel of its own in a confined QEMU, and the namespaces level inside",
	.own_kernel = true,
	.needs = needs,
	.weaker_without = weaker_without,
	.start = microvm_start,
	.spare = microvm_spare,
	.adopt = microvm_adopt,
	.release = microvm_release,
	.stop = microvm_stop,
	.pause = child_pause,
	.collect = microvm_collect,
	.end = child_end,
	.done = microvm_done,
};
