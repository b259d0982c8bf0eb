/* SPDX-License-Identifier: MIT */
/*
 * Starting a confined child: pipes, clone3, id maps, the listener, and the wait before exec. Whatever fails on the
 * other side comes back over the start socket as a struct err and reads like a fault of this side.
 */
#include "core/backend/child.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_LIMIT_MS 30000 /* a source on a dead network file system must not hang the supervisor */

void instance_init(struct instance *i, const struct backend *b, const struct launch *l)
{
	*i = (struct instance){
		.backend = b,
		.launch = l,
		.pidfd = -1,
		.in_fd = -1,
		.out_fd = -1,
		.err_fd = -1,
		.tty_fd = -1,
		.notify_fd = -1,
		.guest_fd = -1,
		.data_fd = -1,
		.spool_fd = -1,
		.sync_fd = -1,
		.proc_dirfd = -1,
		.root_dirfd = -1,
		.space_dirfd = -1,
		.output_dirfd = -1,
		.upper_dirfd = -1,
		.project_dirfd = -1,
		.temp_fd = -1,
		.want = { .policy = l->policy },
	};
	if (l->canary)
		canary_make(&i->canary);
}

/* Root of a user namespace that maps only itself is somebody ordinary, whatever its number is here. */
static bool may_become(uint32_t id)
{
	static char map[4096]; /* is asked more than once, and stays what it is */
	if (geteuid() != 0 ||
	    (!map[0] && file_read_small(AT_FDCWD, "/proc/self/uid_map", map, sizeof(map)) <= 0))
		return false;
	for (char *p = map, *end; *p; p = end) {
		uint64_t first = strtoull(p, &end, 10);
		(void) strtoull(end, &end, 10);
		uint64_t count = strtoull(end, &end, 10);
		if (id >= first && id - first < count)
			return true;
		if (end == p || *end == 0)
			break;
	}
	return false;
}

uid_t target_uid(const struct launch *l)
{
	return may_become(l->policy->run_as) ? l->policy->run_as : geteuid();
}

gid_t target_gid(const struct launch *l)
{
	return may_become(l->policy->run_as) ? l->policy->run_as : getegid();
}

int target_uid_check(const struct launch *l, struct err *e)
{
	if (geteuid() == 0 && l->policy->run_as == 0)
		return err_say(e, EINVAL,
			       "run_as = 0 would make the target root of this machine; give another id");
	return 0;
}

const char *instance_text(struct instance *i, const char *fmt, ...)
{
	char *at = i->text + i->text_len;
	size_t room = sizeof(i->text) - i->text_len;
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(at, room, fmt, ap);
	va_end(ap);
	i->text_len += n < 0 ? 0 : (size_t) n + 1 < room ? (size_t) n + 1 : room;
	return room ? at : "";
}

void instance_layer(struct instance *i, const char *name, enum layer_state state, const char *verified,
		    const char *detail_fmt, ...)
{
	char detail[300];
	va_list ap;
	va_start(ap, detail_fmt);
	vsnprintf(detail, sizeof(detail), detail_fmt, ap);
	va_end(ap);
	if (i->layer_count < INSTANCE_LAYERS)
		i->layers[i->layer_count++] = (struct event_layer){ .name = name,
								    .state = state,
								    .detail = instance_text(i, "%s", detail),
								    .verified = verified };
}

/* ---- the child's side ---- */

static _Noreturn void child_main(const struct confinement *c)
{
	struct sync_msg m = { .type = SYNC_ERROR };
	(void) confine_self(c, &m.err); /* comes back only when it failed; nothing untrusted has run */
	(void) !write(c->sync_fd, &m, sizeof(m));
	_exit(125);
}

/* ---- the parent's side ---- */

struct ends {
	int child[4], ours[4]; /* stdin, stdout, stderr, sync */
};

static void ends_close(struct ends *s)
{
	for (int k = 0; k < 4; k++) {
		close_fd(&s->child[k]);
		close_fd(&s->ours[k]);
	}
}

/* A terminal is all three. */
static int ends_tty(struct ends *s, int tty_fd, struct err *e)
{
	for (int k = 0; k < 3; k++)
		if ((s->child[k] = fcntl(tty_fd, F_DUPFD_CLOEXEC, 3)) < 0)
			return err_set(e, errno, "open the target's terminal");
	return 0;
}

static int ends_pipes(struct ends *s, int stdin_fd, struct err *e)
{
	int p[2];
	struct stat st;
	/* The target may write to what it is given to read: a terminal would take its escapes, and a file its bytes, by
	 * /proc/self/fd/0 even where the descriptor is for reading alone. A pipe has nothing behind it. */
	if (stdin_fd >= 0 && (fstat(stdin_fd, &st) < 0 || !S_ISFIFO(st.st_mode)))
		return err_say(e, EINVAL, "the target's standard input must be a pipe");
	s->child[0] =
		stdin_fd >= 0 ? fcntl(stdin_fd, F_DUPFD_CLOEXEC, 3) : open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (s->child[0] < 0)
		return err_set(e, errno, "open the target's standard input");
	for (int k = 1; k < 3; k++) {
		if (pipe2(p, O_CLOEXEC) < 0)
			return err_set(e, errno, "make a pipe for the target's output");
		s->ours[k] = p[0];
		s->child[k] = p[1];
		(void) fcntl(p[0], F_SETFL,
			     O_NONBLOCK); /* our end alone: the flag is the end's, not the pipe's */
		(void) fcntl(p[1], F_SETPIPE_SZ, 1 << 20); /* fewer wake-ups under a flood; refused is fine */
	}
	return 0;
}

static int ends_open(struct ends *s, const struct instance *i, size_t more_fds, struct err *e)
{
	int p[2];
	for (int k = 0; k < 4; k++)
		s->child[k] = s->ours[k] = -1;
	int r = i->tty_fd >= 0 ? ends_tty(s, i->tty_fd, e) : ends_pipes(s, i->launch->stdin_fd, e);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p) < 0)
		return err_set(e, errno, "make the start socket");
	s->ours[3] = p[0];
	s->child[3] = fcntl(p[1], F_DUPFD_CLOEXEC,
			    3 + (int) more_fds); /* out of the way of those with fixed numbers */
	close_fd(&p[1]);
	if (s->child[3] < 0)
		return err_set(e, errno, "place the start socket");
	/* Before the child can send: only then is the sender's pid put with each message, translated to ours. */
	if (setsockopt(p[0], SOL_SOCKET, SO_PASSCRED, &(int){ 1 }, sizeof(int)) < 0)
		return err_set(e, errno, "ask the start socket for the sender");
	return 0;
}

/* Theirs to open once more by /dev/stderr or /proc/self/fd/1, as programs do: a pipe belongs to its maker, who as root is
 * somebody else than the target. */
static int ends_give(const struct ends *s, const struct confinement *c, struct err *e)
{
	struct stat st;
	for (int k = 0; k < 3 && c->host_uid != geteuid(); k++)
		if (fstat(s->child[k], &st) == 0 && S_ISFIFO(st.st_mode) &&
		    fchown(s->child[k], c->host_uid, c->host_gid) < 0)
			return err_set(e, errno, "give the target its pipes");
	return 0;
}

/* One message of the start socket. 1, 0 none yet, -EPIPE at its end. */
static int sync_recv(int fd, struct sync_msg *m, pid_t *ret_sender, int flags)
{
	char control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec iov = { .iov_base = m, .iov_len = sizeof(*m) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	ssize_t n;
	do
		n = recvmsg(fd, &msg, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -EPIPE;
	if (n != (ssize_t) sizeof(*m))
		return -EPIPE;
	m->err.text[sizeof(m->err.text) - 1] = 0;
	struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
	if (ret_sender && h && h->cmsg_type == SCM_CREDENTIALS)
		*ret_sender = ((struct ucred *) CMSG_DATA(h))->pid;
	return 1;
}

int instance_sync(struct instance *i, struct sync_msg *ret)
{
	return i->sync_fd < 0 ? -EPIPE : sync_recv(i->sync_fd, ret, NULL, MSG_DONTWAIT);
}

/* Which of the namespaces it was that could not be made: each is tried alone. */
static enum need clone_refused(unsigned flags)
{
	static const struct {
		unsigned flags;
		enum need need;
	} parts[] = { { CLONE_NEWUSER, NEED_USERNS },
		      { CLONE_NEWNS, NEED_MOUNTS },
		      { CLONE_NEWNET, NEED_NETNS },
		      { CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS, NEED_NAMESPACES } };
	for (size_t k = 0; k < ARRAY_LEN(parts); k++) {
		struct clone_args args = { .flags = CLONE_NEWUSER | parts[k].flags, .exit_signal = SIGCHLD };
		if (!(flags & parts[k].flags))
			continue;
		pid_t pid = (pid_t) syscall(SYS_clone3, &args, sizeof(args));
		if (pid == 0)
			_exit(0);
		if (pid < 0)
			return parts[k].need;
		(void) waitpid(pid, NULL, 0);
	}
	return NEED_START;
}

static int child_clone(struct instance *i, const struct confinement *c, struct err *e)
{
	struct clone_args args = {
		.flags = c->clone_flags | CLONE_PIDFD,
		.pidfd = (uintptr_t) &i->pidfd,
		.exit_signal = SIGCHLD,
	};
	if (c->cgroup && cgroup_clone_fd(c->cgroup) >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t) cgroup_clone_fd(c->cgroup);
	}
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		child_main(c);
	if (pid < 0) {
		err_set(e, errno, c->clone_flags ? "create namespaces" : "start the child");
		return need_refuse(e, e->code == ENOSYS ? NEED_CLONE3 : clone_refused(c->clone_flags));
	}
	i->pid = (pid_t) pid;
	return 0;
}

/* Takes the listener out of the waiting child. */
int child_await(struct instance *i, struct err *e)
{
	struct sync_msg m = { 0 };
	struct pollfd p = { .fd = i->sync_fd, .events = POLLIN };
	int r = poll(&p, 1, START_LIMIT_MS);
	if (r <= 0)
		return err_say(e, ETIMEDOUT, "the sandbox was not ready after %d s", START_LIMIT_MS / 1000);
	r = sync_recv(i->sync_fd, &m, &i->target_pid, 0);
	if (r <= 0)
		return err_say(e, ECHILD, "the child died while it confined itself");
	if (m.type == SYNC_ERROR) {
		*e = m.err;
		return e->code ? need_complete(e) : -EIO;
	}
	if (m.type != SYNC_LISTENER || i->target_pid <= 0)
		return err_say(e, EPROTO, "the child sent something unexpected while it started");
	if (m.value < 0)
		return 0;
	CLOSE_FD int target = (int) syscall(SYS_pidfd_open, i->target_pid, 0);
	if (target < 0)
		return err_set(e, errno, "open the target's process");
	i->notify_fd = (int) syscall(SYS_pidfd_getfd, target, m.value, 0);
	if (i->notify_fd < 0) {
		err_set(e, errno, "take over the seccomp listener");
		return need_refuse(e, i->has_reaper ? NEED_TAKE_FD_USERNS : NEED_TAKE_FD);
	}
	return 0;
}

int child_start(struct instance *i, struct confinement *c, struct err *e)
{
	struct ends s;
	int r = ends_open(&s, i, c->more_count, e);
	if (r < 0 || (r = ends_give(&s, c, e)) < 0)
		goto out;
	c->in_fd = s.child[0];
	c->out_fd = s.child[1];
	c->err_fd = s.child[2];
	c->sync_fd = s.child[3];
	c->terminal = i->tty_fd >= 0;
	i->target_uid = c->host_uid;
	i->target_gid = c->host_gid;
	/* Our ends must not live on in the child: it would never see that we are gone. All are O_CLOEXEC, but the
	 * reaper never executes; it closes everything but its own (reaper.c). */
	if ((r = child_clone(i, c, e)) < 0)
		goto out;
	for (int k = 0; k < 4; k++)
		close_fd(&s.child[k]);
	if (i->tty_fd < 0) {
		i->out_fd = take_fd(&s.ours[1]);
		i->err_fd = take_fd(&s.ours[2]);
	}
	i->sync_fd = take_fd(&s.ours[3]);
	i->has_reaper = (c->clone_flags & CLONE_NEWPID) != 0;
	if (c->clone_flags & CLONE_NEWUSER) {
		if ((r = confine_map_ids(i->pid, c->inside_uid, c->host_uid, c->host_gid, e)) < 0) {
			r = need_refuse(e, NEED_USERNS);
			goto out;
		}
		if (write(i->sync_fd, "g", 1) != 1) {
			r = err_set(e, errno, "let the child go on");
			goto out;
		}
	}
out:
	ends_close(&s);
	return r;
}

int child_release(struct instance *i, struct err *e)
{
	if (write(i->sync_fd, "g", 1) != 1)
		return err_set(e, errno, "let the target start");
	return 0;
}

/*
 * The target leads a session, so its process group has its number: SIGTERM goes to the group, as a terminal would send
 * it. The number cannot have been taken by another: its owner is not reaped before the run is over.
 */
int child_stop(struct instance *i, bool force, struct err *e)
{
	if (!force) {
		if (i->target_pid > 0 && kill(-i->target_pid, SIGTERM) < 0 && errno != ESRCH)
			return err_set(e, errno, "send SIGTERM to the target");
		return 0;
	}
	/* With process 1 the kernel kills all of its namespace, at once and whatever they fork; only what version 1 holds
	 * still has to be let go for it. Where there is none, the group is asked until it is empty. */
	if (i->cgroup && !i->has_reaper)
		cgroup_kill(i->cgroup);
	if (i->pidfd >= 0 && syscall(SYS_pidfd_send_signal, i->pidfd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
		return err_set(e, errno, "kill the run");
	if (i->cgroup && i->has_reaper && i->paused)
		return cgroup_freeze(i->cgroup, false, e);
	return 0;
}

int child_pause(struct instance *i, bool on, struct err *e)
{
	i->paused = on;
	if (i->cgroup && (cgroup_controllers(i->cgroup) & CG_FREEZE))
		return cgroup_freeze(i->cgroup, on, e);
	if (i->target_pid > 0 && kill(-i->target_pid, on ? SIGSTOP : SIGCONT) < 0 && errno != ESRCH)
		return err_set(e, errno, "%s the target's process group", on ? "stop" : "continue");
	return 0;
}

int child_end(struct instance *i)
{
	if (i->pid > 0) {
		(void) child_stop(i, true, &(struct err){ 0 });
		while (waitpid(i->pid, NULL, 0) < 0 && errno == EINTR)
			;
		i->pid = 0;
	}
	/* With process 1 went all of its namespace: the kernel waits for them before it is reaped. Its groups, which
	 * nobody else entered, need not be asked; and one that is not empty cannot be removed unseen. */
	return i->has_reaper || !i->cgroup ? 0 : cgroup_kill(i->cgroup);
}

void instance_done(struct instance *i)
{
	i->cgroup = cgroup_remove(i->cgroup);
	int *const fds[] = { &i->pidfd,       &i->in_fd,        &i->out_fd,      &i->err_fd,
			     &i->tty_fd,      &i->notify_fd,    &i->sync_fd,     &i->proc_dirfd,
			     &i->guest_fd,    &i->data_fd,      &i->spool_fd,    &i->root_dirfd,
			     &i->space_dirfd, &i->output_dirfd, &i->upper_dirfd, &i->project_dirfd };
	for (size_t k = 0; k < ARRAY_LEN(fds); k++)
		close_fd(fds[k]);
	i->told = event_free(i->told);
	buf_done(&i->guest_out);
	i->argv = strv_free(i->argv);
	i->env = strv_free(i->env);
	canary_done(&i->canary);
}
