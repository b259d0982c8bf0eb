/* SPDX-License-Identifier: MIT */
/*
 * Files and folders: read whole, written whole, made, removed whatever a hostile program built in them; and
 * hashes. Paths are resolved from folder descriptors, so that nothing depends on where the process stands.
 */
#include "core/base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"

static ssize_t read_some(int fd, void *space, size_t size)
{
	ssize_t n;
	do
		n = read(fd, space, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

int file_read(int dirfd, const char *path, size_t max, char **ret_data, size_t *ret_len, struct err *e)
{
	CLOSE_FD int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return err_set(e, errno, "open %s", path);

	/* The size that stat(2) tells is a hint at most: files of /proc say 0, others may grow. */
	struct stat st;
	size_t cap = 4096, len = 0;
	if (fstat(fd, &st) == 0 && st.st_size > 0)
		cap = (uint64_t) st.st_size < max ? (size_t) st.st_size + 2 : max + 2;
	FREE char *data = xmalloc(cap);
	for (;;) {
		ssize_t n = read_some(fd, data + len, cap - 1 - len);
		if (n < 0)
			return err_set(e, (int) -n, "read %s", path);
		if (n == 0)
			break;
		len += (size_t) n;
		if (len > max)
			return err_set(e, EFBIG, "read %s: more than %zu bytes", path, max);
		if (len == cap - 1)
			data = xrealloc(data, cap *= 2);
	}
	data[len] = '\0';
	*ret_data = take_ptr(&data);
	if (ret_len)
		*ret_len = len;
	return 0;
}

ssize_t file_read_small(int dirfd, const char *path, char *buf, size_t size)
{
	CLOSE_FD int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	size_t len = 0;
	while (len < size - 1) {
		ssize_t n = read_some(fd, buf + len, size - 1 - len);
		if (n < 0)
			return n;
		if (n == 0)
			break;
		len += (size_t) n;
	}
	if (len > 0 && buf[len - 1] == '\n')
		len--;
	buf[len] = '\0';
	return (ssize_t) len;
}

int file_write_str(int dirfd, const char *path, const char *text, struct err *e)
{
	CLOSE_FD int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return err_set(e, errno, "open %s for writing", path);
	/* One write and no second: the files of /proc and of cgroups take each write as a whole command. */
	size_t len = strlen(text);
	ssize_t n = write(fd, text, len);
	if (n < 0)
		return err_set(e, errno, "write \"%s\" to %s", text, path);
	if ((size_t) n != len)
		return err_set(e, EIO, "write \"%s\" to %s: only %zd bytes were taken", text, path, n);
	return 0;
}

int write_all(int fd, const void *data, size_t len)
{
	const char *p = data;
	while (len > 0) {
		ssize_t n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t) n;
	}
	return 0;
}

int dir_make_all(const char *path, mode_t mode, struct err *e)
{
	FREE char *part = xstrdup(path);
	char *end = part;
	struct stat st;

	while (*end) {
		end += strspn(end, "/");
		end += strcspn(end, "/");
		char cut = *end;
		*end = '\0';
		if (mkdir(part, mode) < 0 && errno != EEXIST) {
			int code = errno;
			/* A read-only or foreign parent says so even where the folder is there. */
			if (stat(part, &st) < 0)
				return err_set(e, code, "create folder %s", part);
		}
		*end = cut;
	}
	if (stat(path, &st) < 0)
		return err_set(e, errno, "create folder %s", path);
	if (!S_ISDIR(st.st_mode))
		return err_set(e, ENOTDIR, "create folder %s", path);
	return 0;
}

void sha256_hex(const void *data, size_t len, char ret_hex[65])
{
	SHA2_CTX ctx;
	SHA256Init(&ctx);
	SHA256Update(&ctx, data, len);
	SHA256End(&ctx, ret_hex);
}
