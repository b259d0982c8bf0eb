/* SPDX-License-Identifier: MIT */
/*
 * Process 1 of a machine that is being tested: does as its control port says. A message is a length (u32), a letter and
 * bytes: 'S' says them on the control port, 'P' prints them on the port of standard output, any other ends it, and with
 * it its kernel.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

static void give_up(const char *what)
{
	int fd = open("/dev/kmsg", O_WRONLY);
	dprintf(fd, "agent: %s: %s\n", what, strerror(errno));
	_exit(1); /* process 1: the kernel panics */
}

/* Ports appear one by one, some time after their driver. */
static int port_open(int number)
{
	char path[32];
	snprintf(path, sizeof(path), "/dev/vport0p%d", number);
	for (int tries = 0; tries < 10000; tries++) {
		int fd = open(path, O_RDWR);
		if (fd >= 0)
			return fd;
		usleep(1000);
	}
	give_up(path);
	return -1;
}

static void read_all(int fd, void *to, size_t len)
{
	for (size_t got = 0; got < len;) {
		ssize_t n = read(fd, (char *) to + got, len - got);
		if (n > 0)
			got += (size_t) n;
		else if (n < 0 && errno != EINTR && errno != EAGAIN)
			give_up("read");
		else
			usleep(1000); /* 0: nobody at the other end yet */
	}
}

static void write_all(int fd, const char *from, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, from, len);
		if (n < 0 && errno != EINTR)
			give_up("write");
		from += n > 0 ? n : 0;
		len -= n > 0 ? (size_t) n : 0;
	}
}

/* Their names begin with their place in the order. */
static void modules_load(void)
{
	struct dirent **list;
	int count = scandir("/modules", &list, NULL, alphasort);
	for (int k = 0; k < count; k++) {
		char path[300];
		if (list[k]->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/modules/%s", list[k]->d_name);
		int fd = open(path, O_RDONLY);
		if (fd < 0 || syscall(SYS_finit_module, fd, "", 0) < 0)
			give_up(path);
		close(fd);
	}
}

int main(void)
{
	int port[5];
	if (mount("dev", "/dev", "devtmpfs", 0, NULL) < 0)
		return 1;
	modules_load();
	for (int k = 1; k <= 4; k++)
		port[k] = port_open(k);
	for (;;) {
		uint32_t len;
		read_all(port[1], &len, sizeof(len));
		if (len == 0 || len > 1u << 20)
			give_up("length");
		char *text = malloc(len);
		read_all(port[1], text, len);
		if (text[0] == 'S')
			write_all(port[1], text + 1, len - 1);
		else if (text[0] == 'P')
			write_all(port[2], text + 1, len - 1);
		else
			give_up("told to");
		free(text);
	}
}
