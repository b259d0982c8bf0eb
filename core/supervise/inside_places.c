/* SPDX-License-Identifier: MIT */
/*
 * What a run inside a machine is given as files, put into a view that stands already: inputs out of the data image, where
 * the launch wants them. A child enters the target's mount namespace for it; ours is not the target's.
 */
#include "core/supervise/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef BLKFLSBUF
#define BLKFLSBUF _IO(0x12, 97) /* linux/fs.h, which goes ill with linux/mount.h */
#endif

#define DISK  "/dev/vdb"
#define IMAGE "/mnt/data" /* where it is mounted, in our own view */

/* The disk was another one when the machine was saved: what was read of it then is forgotten. */
static int image_mount(struct err *e)
{
	CLOSE_FD int disk = open(DISK, O_RDONLY | O_CLOEXEC);
	if (disk < 0 || ioctl(disk, BLKFLSBUF, 0) < 0)
		return err_set(e, errno, "read the image of inputs");
	CLOSE_FD int fs = (int) syscall(SYS_fsopen, "erofs", FSOPEN_CLOEXEC);
	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "source", DISK, 0) < 0 ||
	    syscall(SYS_fsconfig, fs, FSCONFIG_SET_FLAG, "ro", NULL, 0) < 0 ||
	    syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_set(e, errno, "mount the image of inputs");
	CLOSE_FD int mnt = (int) syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
					 MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (mnt < 0 || syscall(SYS_move_mount, mnt, "", AT_FDCWD, IMAGE, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_set(e, errno, "show the image of inputs");
	return 0;
}

/* The view's own skeleton takes no new folder while it is read-only. */
static int skeleton_open(bool open, struct err *e)
{
	struct mount_attr attr = { 0 };
	*(open ? &attr.attr_clr : &attr.attr_set) = MOUNT_ATTR_RDONLY;
	if (syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &attr, sizeof(attr)) < 0)
		return err_set(e, errno, "%s the view", open ? "open" : "close");
	return 0;
}

static int place_make(const struct inside_input *in, struct err *e)
{
	FREE char *dir = xstrdup(in->dest);
	char *slash = strrchr(dir, '/');
	int r = 0;
	if (!in->folder && slash && slash != dir) {
		*slash = 0;
		r = dir_make_all(dir, 0755, e);
	} else if (in->folder) {
		r = dir_make_all(in->dest, 0755, e);
	}
	if (r < 0 || in->folder)
		return r;
	CLOSE_FD int fd = open(in->dest, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0444);
	return fd < 0 ? err_set(e, errno, "make %s", in->dest) : 0;
}

static int inputs_show(const struct supervisor *v, const int *trees, struct err *e)
{
	const struct inside_go *go = &v->inside->go;
	int r = skeleton_open(true, e);
	/* Its file system knows the target's id and no other; capabilities for mounting stay. */
	setfsgid(v->inst.target_gid);
	setfsuid(v->inst.target_uid);
	for (size_t k = 0; r >= 0 && k < go->input_count; k++) {
		r = place_make(&go->inputs[k], e);
		if (r >= 0 && syscall(SYS_move_mount, trees[k], "", AT_FDCWD, go->inputs[k].dest,
				      MOVE_MOUNT_F_EMPTY_PATH) < 0)
			r = err_set(e, errno, "show %s", go->inputs[k].dest);
	}
	return r < 0 ? r : skeleton_open(false, e);
}

/* In a child, which never comes back: it belongs to the target's view from here on. */
static _Noreturn void show_main(const struct supervisor *v, const int *trees, int report_fd)
{
	char path[40];
	struct err e = { 0 };
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", v->inst.target_pid);
	int ns = open(path, O_RDONLY | O_CLOEXEC);
	if (ns < 0 || setns(ns, CLONE_NEWNS) < 0)
		err_set(&e, errno, "enter the target's view");
	else
		(void) inputs_show(v, trees, &e);
	(void) write_all(report_fd, &e, sizeof(e));
	_exit(0);
}

static int trees_open(const struct inside_go *go, int *trees, struct err *e)
{
	for (size_t k = 0; k < go->input_count; k++) {
		FREE char *from = xprintf(IMAGE "/%s", go->inputs[k].from);
		trees[k] = (int) syscall(SYS_open_tree, AT_FDCWD, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		if (trees[k] < 0)
			return err_set(e, errno, "find input %s", go->inputs[k].from);
	}
	return 0;
}

static int show(struct supervisor *v, const int *trees, struct err *e)
{
	int report[2];
	if (pipe2(report, O_CLOEXEC) < 0)
		return err_set(e, errno, "make a pipe");
	pid_t pid = fork();
	if (pid == 0)
		show_main(v, trees, report[1]);
	close(report[1]);
	CLOSE_FD int from = report[0];
	struct err told = { .code = EIO, .text = "the inputs could not be shown" };
	if (pid > 0 && read(from, &told, sizeof(told)) != (ssize_t) sizeof(told))
		told.code = EIO;
	if (pid > 0)
		(void) waitpid(pid, NULL, 0);
	if (told.code)
		*e = told;
	return -told.code;
}

/* An overlay would have to be there before the target was confined (Landlock's rules are of the folder that it would
 * cover); so it is a copy, in the places that the run may fill, with what it changes found by comparison. */
static int project_copy(struct supervisor *v, struct err *e)
{
	struct launch *l = v->inside->launch;
	l->project_dir = (char *) IMAGE "/project";
	setfsgid(v->inst.target_gid);
	setfsuid(v->inst.target_uid);
	int r = project_place(&v->inst, l, e);
	setfsuid(0);
	setfsgid(0);
	return r;
}

int inside_places(struct supervisor *v, const struct inside_go *go, struct err *e)
{
	int r;
	if (!go->input_count && !go->project)
		return 0;
	if ((r = image_mount(e)) < 0)
		return r;
	if (go->project && (r = project_copy(v, e)) < 0)
		return r;
	FREE int *trees = xcalloc(go->input_count + 1, sizeof(*trees));
	r = trees_open(go, trees, e);
	if (r >= 0 && go->input_count)
		r = show(v, trees, e);
	for (size_t k = 0; k < go->input_count; k++)
		if (trees[k] > 0)
			close(trees[k]);
	return r;
}
