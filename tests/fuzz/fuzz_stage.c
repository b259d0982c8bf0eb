/* SPDX-License-Identifier: MIT */
/*
 * Files as a hostile machine sends them. Whatever the records say, nothing outside of the folder that they are for is
 * touched, what is made there is plain files and folders, and no cap is crossed; also where links lie in that folder
 * already. The input begins with whether they do, and the two caps; the rest is the stream.
 */
#include "check.h"

#include "core/backend/stage.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET "untouched"

static const char *const links[] = { "a", "b", "c" }; /* names that an input comes to soon */
static const char *const targets[] = { "..", "../beside", "../secret" };

static struct {
	uint64_t bytes, files;
	unsigned links, strange;
} seen;

static int look(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void) path;
	if (at->level == 0)
		return 0;
	if (type == FTW_SL || type == FTW_SLN)
		seen.links++;
	else if (type == FTW_D)
		seen.files++;
	else if (type == FTW_F && S_ISREG(st->st_mode) && st->st_nlink == 1)
		seen.files++, seen.bytes += (uint64_t) st->st_size;
	else
		seen.strange++;
	return 0;
}

static void look_through(const char *folder)
{
	memset(&seen, 0, sizeof(seen));
	CHECK(nftw(folder, look, 16, FTW_PHYS | FTW_CHDIR) == 0);
}

/* scratch/{in,beside,secret}: the stream is for `in`. */
static int scratch_make(const char *scratch, bool linked)
{
	int fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(fd >= 0 && mkdirat(fd, "in", 0700) == 0 && mkdirat(fd, "beside", 0700) == 0);
	CLOSE_FD int secret = openat(fd, "secret", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(secret >= 0 && write_all(secret, SECRET, strlen(SECRET)) == 0);
	CLOSE_FD int in = openat(fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t k = 0; linked && k < ARRAY_LEN(links); k++)
		CHECK(symlinkat(targets[k], in, links[k]) == 0);
	return fd;
}

/* All that there is, is in `in` or was there before. */
static void check_scratch(const char *scratch, int scratch_fd, uint64_t max_bytes, uint64_t max_files,
			  bool linked)
{
	char in[64], text[32];
	struct stat st;
	(void) snprintf(in, sizeof(in), "%s/in", scratch);
	look_through(in);
	uint64_t bytes = seen.bytes, files = seen.files;
	CHECK(bytes <= max_bytes && files <= max_files + 1); /* by the one too many it is seen */
	look_through(scratch);
	CHECK(seen.files == files + 3 && seen.bytes == bytes + strlen(SECRET));
	CHECK(seen.strange == 0 && seen.links == (linked ? ARRAY_LEN(links) : 0));
	CHECK(file_read_small(scratch_fd, "secret", text, sizeof(text)) == (ssize_t) strlen(SECRET));
	CHECK(strcmp(text, SECRET) == 0);
	CHECK(fstatat(scratch_fd, "secret", &st, 0) == 0 && st.st_mode == (S_IFREG | 0600));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char scratch[] = "/tmp/bj-fuzz-XXXXXX";
	struct err e = { .code = 0 };
	if (size < 3)
		return 0;
	bool linked = data[0] & 1;
	uint64_t max_bytes = data[1] * 256u, max_files = data[2];
	CHECK(mkdtemp(scratch));
	CLOSE_FD int scratch_fd = scratch_make(scratch, linked);
	CLOSE_FD int in = openat(scratch_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLOSE_FD int from = memfd_create("stream", MFD_CLOEXEC);
	CHECK(in >= 0 && from >= 0 && write_all(from, data + 3, size - 3) == 0);
	CHECK(lseek(from, 0, SEEK_SET) == 0);
	int r = stage_receive(from, in, max_bytes, max_files, &e);
	CHECK(r == 0 || (r < 0 && e.code == -r && *e.text));
	check_scratch(scratch, scratch_fd, max_bytes, max_files, linked);
	CHECK(dir_remove_tree(AT_FDCWD, scratch, &e) == 0);
	return 0;
}
