/* SPDX-License-Identifier: MIT */
/*
 * The `subprocess` level: the host's view of files and processes, with limits, a clean environment, no_new_privs,
 * seccomp, and sockets that have no network. For code that is trusted not to be hostile: it stops accidents.
 */
#include "core/backend/child.h"
#include "core/backend/stage.h"
#include "core/backend/terminal.h"
#include "core/backend/temp.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The host's own disk is what copies go to here, and the preset has no limit for it. */
#define COPY_MAX_BYTES (1ULL << 30)
#define COPY_MAX_FILES 100000

/* Where the target is another id than ours, what we make for it has to be given to it. */
static bool gives(const struct launch *l)
{
	return target_uid(l) != geteuid();
}

static int code_write(int work_fd, const struct launch *l, struct err *e)
{
	CLOSE_FD int fd = openat(work_fd, l->language->file,
				 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int r = fd < 0 ? -errno : write_all(fd, l->code, l->code_len);
	if (r == 0 && gives(l) && fchown(fd, target_uid(l), target_uid(l)) < 0)
		r = -errno;
	return r < 0 ? err_set(e, -r, "write the code to %s", l->language->file) : 0;
}

/* A folder of the target's; one of a project's with that name must not be taken for it. */
static int folder_make(int work_fd, const char *name, const struct launch *l, struct err *e)
{
	if (mkdirat(work_fd, name, 0755) < 0)
		return err_set(e, errno, "make %s/ in the working folder", name);
	if (gives(l) && fchownat(work_fd, name, target_uid(l), target_uid(l), AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(e, errno, "give %s/ to the target", name);
	return 0;
}

/* An input's name in data/; NULL: what is in the folder lies in data/ itself. No other place can be had at this level. */
static int input_name(const struct launch *l, size_t k, const char **ret_name, struct err *e)
{
	const char *source = l->inputs[k].source, *dest = l->inputs[k].dest, *slash = strrchr(source, '/');
	struct stat st;
	bool alone = l->input_count == 1 && stat(source, &st) == 0 && S_ISDIR(st.st_mode);
	const char *name = dest ? dest : alone ? "/data" : slash ? slash + 1 : source;
	if (str_starts(name, "/data/") && name[strlen("/data/")])
		name += strlen("/data/");
	if (alone && strcmp(name, "/data") == 0)
		name = NULL;
	if (name && strchr(name, '/'))
		return err_say(e, EINVAL,
			       "%s cannot be at %s: at this level inputs lie in data/ of the working folder; "
			       "give /data/NAME",
			       source, dest);
	*ret_name = name;
	return 0;
}

/* Files in: the project becomes the working folder, inputs lie in data/, both as checked copies; out/ is for results. */
static int places_fill(const struct launch *l, int work_fd, struct err *e)
{
	uid_t owner = gives(l) ? target_uid(l) : (uid_t) -1;
	struct stage_want want = { .uid = owner,
				   .gid = owner,
				   .links = true,
				   .max_bytes = COPY_MAX_BYTES,
				   .max_files = COPY_MAX_FILES };
	int r;
	if (l->project_dir && (r = stage_copy_in(l->project_dir, work_fd, NULL, &want, NULL, e)) < 0)
		return r;
	want.links = false;
	want.read_only = true;
	if (l->input_count && (r = folder_make(work_fd, "data", l, e)) < 0)
		return r;
	CLOSE_FD int data = l->input_count
				    ? openat(work_fd, "data", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
				    : -1;
	for (size_t k = 0; k < l->input_count; k++) {
		const char *name;
		if ((r = input_name(l, k, &name, e)) < 0 ||
		    (r = stage_copy_in(l->inputs[k].source, data, name, &want, NULL, e)) < 0)
			return r;
	}
	return l->output_dir ? folder_make(work_fd, "out", l, e) : 0;
}

static int places_create(struct instance *i, struct err *e)
{
	const struct launch *l = i->launch;
	int r = temp_create(l->run_id, target_uid(l), &i->temp_dir, &i->temp_fd, e);
	if (r < 0)
		return need_complete(e);
	CLOSE_FD int work = openat(i->temp_fd, "work", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (work < 0)
		return err_set(e, errno, "open the working folder");
	if ((r = places_fill(l, work, e)) < 0)
		return r;
	if (l->output_dir &&
	    (i->output_dirfd = openat(work, "out", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		return err_set(e, errno, "open out/");
	if (l->project_dir) {
		size_t ours = 0;
		if (l->input_count)
			i->not_project[ours++] = "data";
		if (l->output_dir)
			i->not_project[ours++] = "out";
		i->project_dirfd = take_fd(&work);
	}
	return 0;
}

static int canaries_place(struct instance *i, struct err *e)
{
	CLOSE_FD int home = openat(i->temp_fd, "home", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return home < 0 ? err_set(e, errno, "open the target's home")
			: canary_plant(&i->canary, home, target_uid(i->launch), e);
}

static int code_place(struct instance *i, const char *code_path, struct err *e)
{
	if (!code_path)
		return 0;
	CLOSE_FD int at = openat(i->temp_fd, i->launch->project_dir ? "tmp" : "work",
				 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return at < 0 ? err_set(e, errno, "open %s", i->temp_dir) : code_write(at, i->launch, e);
}

static int subprocess_start(const struct launch *l, struct instance *ret, struct err *e)
{
	struct instance *i = ret;
	struct seccomp_program filter = { 0 };
	struct ladder ladder;
	FREE char *code_path = NULL;
	int r;
	if ((r = target_uid_check(l, e)) < 0 || (r = places_create(i, e)) < 0)
		return r;
	FREE char *work = xprintf("%s/work", i->temp_dir), *home = xprintf("%s/home", i->temp_dir),
		  *tmp = xprintf("%s/tmp", i->temp_dir);
	const struct target_places at = {
		.code_dir = l->project_dir ? tmp : work, .cwd = work, .home = home, .tmp = tmp, .user = "user"
	};
	if ((r = terminal_open(i, e)) < 0 || (r = command_build(i, &at, &code_path, e)) < 0 ||
	    (r = code_place(i, code_path, e)) < 0 || (r = canaries_place(i, e)) < 0 ||
	    (r = ladder_cgroup(i, 0, e)) < 0)
		return r;
	ladder_build(i, false, false, &ladder);
	bool cut_off = l->policy->network == NETWORK_NONE;
	/* Without a pid namespace the same user's processes are within reach of a signal, the supervisor among them. */
	const struct landlock_rules rules = { .keep_signals = true };
	i->want.watch = watch_for(i, cut_off);
	i->want.memory_max = l->policy->limit[LIMIT_MEMORY];
	i->network = cut_off ? (struct network_view){ OUTCOME_UNREACHABLE, LAYER_NET_NS, false, false }
			     : (struct network_view){ OUTCOME_UNKNOWN, LAYER_NONE, false, false };
	struct confinement c = {
		.host_uid = target_uid(l),
		.host_gid = target_gid(l),
		.cgroup = i->cgroup,
		.cwd = work,
		.rlimits = ladder.rlimits,
		.rlimit_count = ladder.rlimit_count,
		.cpu_count = ladder.cpu_count,
		.filter = &filter,
		.listener = i->want.watch != 0,
		.argv = i->argv,
		.env = i->env,
		.landlock = &rules,
	};
	if ((r = seccomp_compile(&i->want, &filter, e)) >= 0 && (r = child_start(i, &c, e)) >= 0 &&
	    (r = child_await(i, e)) >= 0) {
		instance_layer(i, "mount-ns", STATE_OFF, "",
			       gives(l) ? "the host's files, with the target's rights"
					: "the host's files, with your own rights: recordings among them");
		instance_layer(i, "pid-ns", STATE_OFF, "",
			       "the host's processes can be seen; its shared memory, semaphores and queues "
			       "are the run's too, and what is made there stays");
		bool kept = landlock_abi() >= 6;
		instance_layer(
			i, "landlock", kept ? STATE_ON : STATE_UNAVAILABLE,
			kept ? "landlock_restrict_self succeeded" : "",
			kept ? "signals reach the run's own processes only"
			     : "not in this kernel: other processes of the target's user can be signalled");
		instance_layer(i, "net-ns", cut_off ? STATE_ON : STATE_OFF,
			       cut_off ? "made in an empty namespace" : "",
			       cut_off ? "each inet socket is answered with one that has no network"
				       : "the host's network");
		if ((r = ladder_verify(i, e)) >= 0)
			r = layers_verify(i, &filter, e);
	}
	seccomp_program_done(&filter);
	return r;
}

/* ---- ending: all that descends from us, daemons and double forks included ---- */

static int subprocess_stop(struct instance *i, bool force, struct err *e)
{
	int r = child_stop(i, force, e);
	if (r < 0 || !force)
		return r;
	(void) family_kill(getpid(), NULL, 0); /* a first blow; `end` goes on until nothing is left */
	return 0;
}

static int subprocess_end(struct instance *i)
{
	int left = child_end(i);
	return left + descendants_end();
}

static void subprocess_done(struct instance *i)
{
	struct err e;
	instance_done(i);
	if (i->temp_dir)
		(void) temp_remove(i->launch->run_id, &e);
	close_fd(&i->temp_fd);
	free(i->temp_dir);
	i->temp_dir = NULL;
}

/* clang-format off */
static const enum need needs[] = {
	NEED_CLONE3, NEED_NO_NEW_PRIVS, NEED_FILTER, NEED_NOTIFICATIONS, NEED_ONE_LISTENER, NEED_TAKE_FD, NEED_KEYRING,
	NEED_TEMP, NEED_STATE, NEED_START, NEED_MAX,
};
static const enum need weaker_without[] = {
	NEED_CGROUP_MEMORY, NEED_CGROUP_PROCESSES, NEED_CGROUP_CPU, NEED_READ_MEMORY, NEED_WAIT_KILLABLE, NEED_SYNC_WAKE_UP,
	NEED_ADD_FD, NEED_NETLESS, NEED_LANDLOCK, NEED_LANDLOCK_SCOPES, NEED_TEMP_EXEC, NEED_STATE_ROOM, NEED_PYTHON,
	NEED_MAX,
};
/* clang-format on */

const struct backend backend_subprocess = {
	.name = "subprocess",
	.summary = "limits, a clean environment and a syscall filter; the host's files, processes and kernel",
	.needs = needs,
	.weaker_without = weaker_without,
	.start = subprocess_start,
	.release = child_release,
	.stop = subprocess_stop,
	.pause = child_pause,
	.collect = stage_collect,
	.end = subprocess_end,
	.done = subprocess_done,
};
