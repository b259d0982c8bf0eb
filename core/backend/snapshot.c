/* SPDX-License-Identifier: MIT */
/*
 * Snapshots of machines that are ready for their target: booted once, saved as they wait, restored for each run. The
 * RAM is a file that each restore maps for itself, so that many run from one and none changes it; beside it lies the
 * state of processor and devices, and what the agent said of itself. Nothing is kept that was not restored once and seen
 * to work: a machine that was saved half a moment too early hangs in each restore.
 */
#include "core/backend/cache.h"
#include "core/backend/vm.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIND        "snapshot"
#define OUT_MAX     4096 /* of what a trial prints */
#define BOOT_S      60   /* under emulation two seconds, on a busy machine ten times that */
#define BOOT_KVM_S  3    /* where it works, a tenth of that; where it hangs, it burns a core */
#define LOOK_MS     100  /* between two looks at whether it is still wanted */
#define OUT_LATE_MS 1000 /* what was printed may come behind the word that all is over: they are two ports */

enum snapshot_file { FILE_RAM, FILE_STATE, FILE_READY, FILE_MAX };
static const char *const files[] = { "ram", "state", "ready", NULL };

/* ---- talking to a machine that is being made or tried ---- */

struct talk {
	struct instance inst;
	struct vm vm;
	const struct vm_want *want;
	const struct progress *progress;
	struct wire_stream frames;
	uint64_t deadline;
	char out[OUT_MAX];
	size_t out_len;
	bool out_ended;
};

static int talk_start(struct talk *t, const struct snapshot_want *w, const struct vm_want *want,
		      struct err *e)
{
	*t = (struct talk){ .want = want, .progress = w->progress };
	t->deadline = now_ns() + (w->accel == ACCEL_KVM ? BOOT_KVM_S : BOOT_S) * NS_PER_S;
	instance_init(&t->inst, NULL, w->launch);
	return vm_start(&t->inst, want, &t->vm, e);
}

static void talk_end(struct talk *t)
{
	(void) child_end(&t->inst);
	instance_done(&t->inst);
	vm_done(&t->vm);
	wire_stream_done(&t->frames);
}

/* Reads what is printed; what does not fit is let go. False: nothing more comes. */
static bool talk_out(struct talk *t)
{
	char rest[512];
	bool room = t->out_len < sizeof(t->out);
	ssize_t n = read(t->vm.port_fd[VM_STDOUT], room ? t->out + t->out_len : rest,
			 room ? sizeof(t->out) - t->out_len : sizeof(rest));
	if (n > 0 && room)
		t->out_len += (size_t) n;
	return n > 0;
}

static void talk_say(struct talk *t)
{
	const char *hello = t->want->hello;
	ssize_t n = send(t->vm.port_fd[VM_CONTROL], hello + t->vm.hello_sent,
			 t->want->hello_len - t->vm.hello_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
	t->vm.hello_sent += n > 0 ? (size_t) n : 0;
}

/* What the machine says next, in the time that is left. */
static int talk_wait(struct talk *t, struct err *e)
{
	const bool more = t->vm.hello_sent < t->want->hello_len;
	struct pollfd p[] = {
		{ .fd = t->vm.port_fd[VM_CONTROL], .events = (short) (POLLIN | (more ? POLLOUT : 0)) },
		{ .fd = t->out_ended ? -1 : t->vm.port_fd[VM_STDOUT], .events = POLLIN },
	};
	int64_t left = (int64_t) (t->deadline - now_ns()) / (int64_t) NS_PER_MS;
	if (left <= 0)
		return err_say(e, ETIMEDOUT, "the machine does not answer");
	if (poll(p, 2, left < LOOK_MS ? (int) left : LOOK_MS) < 0)
		return errno == EINTR ? 0 : err_set(e, errno, "wait for the machine");
	if (progress_check(t->progress, e) < 0)
		return -ECANCELED;
	if (p[0].revents & POLLOUT)
		talk_say(t);
	if (p[1].revents && !talk_out(t)) /* its end would be told again and again */
		t->out_ended = (p[1].revents & (POLLHUP | POLLERR)) != 0;
	if (!(p[0].revents & ~POLLOUT))
		return 0;
	ssize_t n = wire_stream_read(&t->frames, t->vm.port_fd[VM_CONTROL]);
	if (n == 0 || n == -ECONNRESET)
		return vm_why(&t->vm, e);
	return n < 0 && n != -EAGAIN ? err_set(e, (int) -n, "read from the machine") : 0;
}

/* The next event of that type. An error event before it is the agent's own word on why none will come. */
static int talk_event(struct talk *t, enum event_type type, struct event **ret, const void **ret_frame,
		      size_t *ret_len, struct err *e)
{
	for (;;) {
		struct inside_streams counts;
		struct event *ev;
		const void *frame;
		struct err ignored;
		int r;
		ssize_t len = wire_stream_next(&t->frames, &frame);
		if (len == -EPROTO)
			return err_say(e, EPROTO, "the machine sends what is no frame");
		if (len < 0) {
			if ((r = talk_wait(t, e)) < 0)
				return r;
			continue;
		}
		if (inside_streams_decode(frame, (size_t) len, &counts, &ignored) == 0)
			continue;
		if ((r = event_decode(frame, (size_t) len, &ev, e)) < 0)
			return r;
		if (ev->type == type) {
			*ret = ev;
			*ret_frame = frame;
			*ret_len = (size_t) len;
			return 0;
		}
		if (ev->type == EVENT_ERROR && ev->error.text) {
			FREE char *words = text_line(ev->error.text, strlen(ev->error.text), true);
			event_free(ev);
			return err_say(e, ECANCELED, "inside the machine: %s", words);
		}
		event_free(ev);
	}
}

/* ---- making one ---- */

struct making {
	const struct snapshot_want *want;
	int dirfd;
};

static int file_make(int dirfd, enum snapshot_file which, int *ret_fd, struct err *e)
{
	int fd = openat(dirfd, files[which], O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(e, errno, "make the snapshot's %s", files[which]);
	*ret_fd = fd;
	return 0;
}

static struct vm_want machine_of(const struct snapshot_want *w)
{
	return (struct vm_want){ .accel = w->accel,
				 .memory = w->memory,
				 .tsc_khz = w->tsc_khz,
				 .root_fd = w->root_fd,
				 .data_fd = w->data_fd,
				 .ram_fd = -1,
				 .state_fd = -1 };
}

static int ready_keep(int dirfd, const void *frame, size_t len, struct err *e)
{
	CLOSE_FD int fd = -1;
	int r = file_make(dirfd, FILE_READY, &fd, e);
	if (r < 0)
		return r;
	r = write_all(fd, frame, len);
	return r < 0 ? err_set(e, -r, "keep what the agent said") : 0;
}

static int boot_and_save(const struct making *mk, struct err *e)
{
	const struct snapshot_want *w = mk->want;
	CLOSE_FD int ram_fd = -1, state_fd = -1;
	struct event *ready;
	const void *frame;
	struct talk t;
	size_t len;
	int r;
	if ((r = file_make(mk->dirfd, FILE_RAM, &ram_fd, e)) < 0 ||
	    (r = file_make(mk->dirfd, FILE_STATE, &state_fd, e)) < 0)
		return r;
	if (ftruncate(ram_fd, (off_t) w->memory) < 0)
		return err_set(e, errno, "give the snapshot's RAM its size");
	struct vm_want boot = machine_of(w);
	boot.vmlinux = w->parts->vmlinux;
	boot.initrd = w->initrd;
	boot.ram_fd = ram_fd;
	boot.hello = w->setup;
	boot.hello_len = w->setup_len;
	if ((r = talk_start(&t, w, &boot, e)) >= 0 &&
	    (r = talk_event(&t, EVENT_START, &ready, &frame, &len, e)) >= 0) {
		event_free(ready);
		if ((r = ready_keep(mk->dirfd, frame, len, e)) >= 0)
			r = qmp_save(t.vm.monitor_fd, state_fd, e);
	}
	talk_end(&t);
	return r;
}

static bool trial_printed(struct talk *t, const char *want)
{
	const uint64_t deadline = now_ns() + OUT_LATE_MS * NS_PER_MS;
	struct pollfd p = { .fd = t->vm.port_fd[VM_STDOUT], .events = POLLIN };
	while (t->out_len < strlen(want) && now_ns() < deadline && poll(&p, 1, OUT_LATE_MS) > 0 &&
	       talk_out(t))
		;
	return t->out_len == strlen(want) && memcmp(t->out, want, t->out_len) == 0;
}

/* Restored once, as each run will be. */
static int try_once(const struct making *mk, struct err *e)
{
	const struct snapshot_want *w = mk->want;
	CLOSE_FD int ram_fd = openat(mk->dirfd, files[FILE_RAM], O_RDONLY | O_CLOEXEC);
	CLOSE_FD int state_fd = openat(mk->dirfd, files[FILE_STATE], O_RDONLY | O_CLOEXEC);
	struct event *end;
	const void *frame;
	struct talk t;
	size_t len;
	if (ram_fd < 0 || state_fd < 0)
		return err_set(e, errno, "open the new snapshot");
	struct vm_want restore = machine_of(w);
	restore.ram_fd = ram_fd;
	restore.state_fd = state_fd;
	restore.hello = w->trial;
	restore.hello_len = w->trial_len;
	int r = talk_start(&t, w, &restore, e);
	if (r >= 0 && (r = talk_event(&t, EVENT_EXIT, &end, &frame, &len, e)) >= 0) {
		if (end->exit.verdict != VERDICT_OK || !trial_printed(&t, w->trial_out))
			r = err_say(e, EPROTO, "the first run in the new snapshot did not go as it should");
		event_free(end);
	}
	talk_end(&t);
	return r;
}

/* What a guest under KVM does not do here, it will not do the next time: nothing else is known to be wrong with it. */
static int kvm_refuse(const struct err *why, struct err *e)
{
	struct err was = *why;
	machine_kvm_failed(was.text);
	return err_say(e, ENOTSUP, "a guest does not come up under KVM here: %s", was.text);
}

static int snapshot_make(void *arg, int dirfd, const char *path, struct err *e)
{
	struct making mk = { .want = arg, .dirfd = dirfd };
	(void) path;
	progress_step(mk.want->progress, "starting the machine");
	int r = boot_and_save(&mk, e);
	if (r >= 0) {
		progress_step(mk.want->progress, "trying the snapshot");
		r = try_once(&mk, e);
	}
	return r == -ETIMEDOUT && mk.want->accel == ACCEL_KVM ? kvm_refuse(e, e) : r;
}

/* ---- the door ---- */

static int ready_read(int fd, struct snapshot *ret, struct err *e)
{
	FREE char *frame = xmalloc(WIRE_FRAME_MAX);
	struct event *ready;
	ssize_t n = pread(fd, frame, WIRE_FRAME_MAX, 0);
	if (n < 0)
		return err_set(e, errno, "read the snapshot");
	int r = event_decode(frame, (size_t) n, &ready, e);
	if (r < 0)
		return r;
	bool starts = ready->type == EVENT_START;
	event_free(ready);
	if (!starts)
		return err_say(e, EPROTO, "the snapshot does not say what it is of");
	ret->ready = take_ptr(&frame);
	ret->ready_len = (size_t) n;
	return 0;
}

static int snapshot_take(const struct snapshot_want *w, struct snapshot *ret, struct err *e)
{
	int fds[FILE_MAX];
	const uint64_t begin = now_ns();
	const struct cache_recipe recipe = { .kind = KIND,
					     .key = w->key,
					     .label = w->label,
					     .files = files,
					     .make = snapshot_make,
					     .arg = (void *) (uintptr_t) w };
	int r = cache_take(&recipe, fds, e);
	if (r < 0)
		return r;
	struct snapshot s = { .ram_fd = fds[FILE_RAM], .state_fd = fds[FILE_STATE], .built = r == 1 };
	s.build_s = s.built ? (double) (now_ns() - begin) / (double) NS_PER_S : 0;
	r = ready_read(fds[FILE_READY], &s, e);
	close_fd(&fds[FILE_READY]);
	if (r < 0)
		snapshot_done(&s);
	else
		*ret = s;
	return r;
}

int snapshot_get(const struct snapshot_want *w, struct snapshot *ret, struct err *e)
{
	struct err ignored;
	int r = snapshot_take(w, ret, e);
	/* Whole, but not what this program writes: once more, from nothing. */
	if (r == -EPROTO && snapshot_forget(w->key, &ignored) >= 0)
		r = snapshot_take(w, ret, e);
	return r;
}

void snapshot_done(struct snapshot *s)
{
	close_fd(&s->ram_fd);
	close_fd(&s->state_fd);
	free(take_ptr(&s->ready));
}

int snapshot_forget(const char *key, struct err *e)
{
	FREE char *name = xprintf(KIND "-%s", key);
	return cache_remove(name, e);
}
