/* SPDX-License-Identifier: MIT */
/*
 * Process 1 of a microVM. It makes the machine one that a supervisor can work in (file systems, drivers, control groups,
 * the root image), and then is that supervisor: the same code that watches runs on a host. Static; it comes in the initial
 * file system, and what it needs of drivers lies beside it, numbered. See init(1), initramfs.
 */
#include "core/base/base.h"
#include "core/supervise/supervise.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEAP            (4u << 20)
#define DEVICE_LIMIT_MS 20000 /* devices come up one after the other, on a host that may be busy */

static int mount_at(const char *type, const char *at, unsigned long flags, const char *data, struct err *e)
{
	(void) mkdir(at, 0755);
	return mount(type, at, type, flags, data) < 0 ? err_set(e, errno, "mount %s at %s", type, at) : 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int module_load(const char *name, struct err *e)
{
	FREE char *path = xprintf("/modules/%s", name);
	CLOSE_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST))
		return err_set(e, errno, "load %s", name);
	return 0;
}

static int modules_load(struct err *e)
{
	struct dirent **names;
	int count = scandir("/modules", &names, NULL, by_name), r = 0;
	for (int k = 0; k < count; k++) {
		if (r >= 0 && names[k]->d_name[0] != '.')
			r = module_load(names[k]->d_name, e);
		free(names[k]);
	}
	if (count >= 0)
		free(names);
	return r; /* none: the kernel has them built in */
}

/* It is there some time after its driver is. */
static int device_open(const char *path, int flags, int *ret_fd, struct err *e)
{
	for (int waited = 0; waited < DEVICE_LIMIT_MS; waited++) {
		*ret_fd = open(path, flags | O_CLOEXEC);
		if (*ret_fd >= 0)
			return 0;
		if (errno != ENOENT && errno != ENXIO && errno != ENODEV)
			break;
		poll(NULL, 0, 1);
	}
	return err_set(e, errno, "open %s", path);
}

static int ports_open(struct inside_ports *ports, struct err *e)
{
	int *const fds[] = { &ports->control_fd, &ports->stdout_fd, &ports->stderr_fd, &ports->data_fd };
	for (size_t k = 0; k < ARRAY_LEN(fds); k++) {
		char path[32];
		snprintf(path, sizeof(path), "/dev/vport0p%zu", k + 1);
		int r = device_open(path, O_RDWR | O_NONBLOCK, fds[k], e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The root image takes the place of the initial file system, which cannot be left by pivot_root(2) and would stay under
 * every view otherwise. */
static int root_enter(struct err *e)
{
	static const char *const kept[] = { "/dev", "/proc", "/sys" };
	int disk = -1, r;
	if ((r = device_open("/dev/vda", O_RDONLY, &disk, e)) < 0)
		return r;
	close_fd(&disk);
	(void) mkdir("/root", 0755);
	if (mount("/dev/vda", "/root", "erofs", MS_RDONLY | MS_NODEV | MS_NOSUID, NULL) < 0)
		return err_set(e, errno, "mount the root image");
	for (size_t k = 0; k < ARRAY_LEN(kept); k++) {
		FREE char *to = xprintf("/root%s", kept[k]);
		if (mount(kept[k], to, NULL, MS_MOVE, NULL) < 0)
			return err_set(e, errno, "move %s", kept[k]);
	}
	if (chdir("/root") < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
	    chdir("/") < 0)
		return err_set(e, errno, "enter the root image");
	return 0;
}

static int places_make(struct err *e)
{
	int r;
	if ((r = mount_at("tmpfs", "/run", MS_NODEV | MS_NOSUID, "mode=0755", e)) < 0 ||
	    (r = mount_at("tmpfs", "/tmp", MS_NODEV | MS_NOSUID, "mode=1777", e)) < 0 ||
	    (r = mount_at("tmpfs", "/mnt", MS_NODEV | MS_NOSUID, "mode=0755", e)) < 0 ||
	    (r = mount_at("devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0600",
			  e)) < 0)
		return r;
	(void) mkdir("/mnt/data", 0755);
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? err_set(e, errno, "part the mounts")
								     : 0;
}

static int groups_make(struct err *e)
{
	int r = mount_at("cgroup2", "/sys/fs/cgroup", MS_NODEV | MS_NOSUID | MS_NOEXEC, NULL, e);
	return r < 0 ? r
		     : file_write_str(AT_FDCWD, "/sys/fs/cgroup/cgroup.subtree_control", "+memory +pids +cpu",
				      e);
}

/* The machine's memory is little, and what counts is what the target's group holds of it: a mapping that is never touched
 * is not refused for its size, as it would not be on a host. See the kernel's mm/overcommit-accounting.rst. */
static int overcommit(struct err *e)
{
	return file_write_str(AT_FDCWD, "/proc/sys/vm/overcommit_memory", "1", e);
}

static int machine_make(struct inside_ports *ports, struct err *e)
{
	int r;
	if ((r = mount_at("proc", "/proc", MS_NODEV | MS_NOSUID | MS_NOEXEC, NULL, e)) < 0 ||
	    (r = mount_at("sysfs", "/sys", MS_NODEV | MS_NOSUID | MS_NOEXEC, NULL, e)) < 0 ||
	    (r = mount_at("devtmpfs", "/dev", MS_NOSUID, NULL, e)) < 0 || (r = modules_load(e)) < 0 ||
	    (r = ports_open(ports, e)) < 0 || /* first, so that what fails after it can be told */
	    (r = overcommit(e)) < 0 || (r = groups_make(e)) < 0 || (r = root_enter(e)) < 0)
		return r;
	return places_make(e);
}

/* What is touched for the first time in a copy is mapped then, by code that is translated then. So all of it is mapped
 * now, and stays; and memory comes out of a heap that is there already. */
static void memory_settle(void)
{
	(void) mallopt(M_MMAP_MAX, 0);
	(void) mallopt(M_TRIM_THRESHOLD, INT_MAX);
	char *heap = malloc(HEAP);
	if (heap)
		memset(heap, 0, HEAP);
	free(heap);
	(void) mlockall(MCL_CURRENT);
}

int main(void)
{
	struct inside_ports ports = { -1, -1, -1, -1, NULL };
	struct err e = { 0 };
	if (machine_make(&ports, &e) < 0) {
		ports.failed = &e;
		if (ports.data_fd < 0) { /* nobody can be told */
			fprintf(stderr, "belljar: %s\n", e.text);
			reboot(RB_AUTOBOOT);
		}
	}
	memory_settle();
	supervisor_inside(&ports);
}
