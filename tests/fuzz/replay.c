/* SPDX-License-Identifier: MIT */
/*
 * Runs one fuzz target on the files of the folders that are named, so that ordinary tests, built by any
 * compiler, meet every input that was ever worth keeping. A folder without files is an error: the inputs must
 * have got lost.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX (16u << 20)

/* Named by the handler of SIGABRT, which is how targets and sanitizers report. */
static char current[4096];

static void tell_current(int signo)
{
	(void) signo;
	(void) write_all(2, "while replaying ", 16);
	(void) write_all(2, current, strnlen(current, sizeof(current)));
	(void) write_all(2, "\n", 1);
	_exit(EXIT_FAILURE);
}

static int replay_file(int dirfd, const char *name, struct err *e)
{
	FREE char *data = NULL;
	size_t len;
	int r = file_read(dirfd, name, INPUT_MAX, &data, &len, e);
	if (r < 0)
		return r;
	/* Without the NUL that file_read puts behind: the address sanitizer shall see a read past the end. */
	FREE uint8_t *exact = xmalloc(len);
	memcpy(exact, data, len);
	return LLVMFuzzerTestOneInput(exact, len);
}

/* How many files were replayed, or -1. */
static int replay_folder(const char *path)
{
	struct dirent *entry;
	struct err e = { 0 };
	int count = 0;
	DIR *dir = opendir(path);
	if (!dir) {
		perror(path);
		return -1;
	}
	while ((entry = readdir(dir)) && count >= 0) {
		struct stat st;
		if (fstatat(dirfd(dir), entry->d_name, &st, 0) < 0 || !S_ISREG(st.st_mode))
			continue;
		(void) snprintf(current, sizeof(current), "%s/%s", path, entry->d_name);
		if (replay_file(dirfd(dir), entry->d_name, &e) < 0) {
			(void) fprintf(stderr, "%s: %s\n", current, e.text);
			count = -1;
		} else {
			count++;
		}
	}
	(void) closedir(dir);
	return count;
}

int main(int argc, char **argv)
{
	int status = argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
	(void) signal(SIGABRT, tell_current);
	for (int i = 1; i < argc; i++) {
		int count = replay_folder(argv[i]);
		(void) printf("%s: %d inputs replayed\n", argv[i], count > 0 ? count : 0);
		if (count <= 0)
			status = EXIT_FAILURE;
	}
	return status;
}
