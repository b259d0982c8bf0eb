/* SPDX-License-Identifier: MIT */
/*
 * Probes of what a microVM is made with: programs and files of the host, room for what is kept, KVM.
 */
#include "core/doctor/probe.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAID_MAX (64u << 10)
#define GUEST_MEMORY \
	(UINT64_C(512) << 20) /* a guest of 256 MiB, its kernel, and QEMU with what it translates to */

/* ---- programs ---- */

/* What a program writes before it closes its output, up to a bound. */
static void said_read(int fd, struct buf *out)
{
	char part[4096];
	ssize_t n;
	while (out->len < SAID_MAX && ((n = read(fd, part, sizeof(part))) > 0 || (n < 0 && errno == EINTR)))
		buf_add(out, part, n > 0 ? (size_t) n : 0);
}

/* Runs it with one word or two, and looks for `sign` in what it says. The probe's time limit is the program's. */
static int program_try(char *const argv[], const char *sign, struct err *e)
{
	int fds[2];
	pid_t pid;
	struct buf said = { 0 };
	posix_spawn_file_actions_t files;
	char *const env[] = { (char[]){ "PATH=/usr/bin:/bin" }, (char[]){ "LC_ALL=C" }, NULL };

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(e, errno, "make a pipe");
	CLOSE_FD int in = fds[0];
	CLOSE_FD int out = fds[1];
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, 1);
	posix_spawn_file_actions_adddup2(&files, out, 2);
	int r = posix_spawn(&pid, argv[0], &files, NULL, argv, env);
	posix_spawn_file_actions_destroy(&files);
	close_fd(&out);
	if (r != 0)
		return err_set(e, r, "execute %s", argv[0]);
	said_read(in, &said);
	close_fd(&in);
	(void) waitpid(pid, NULL, 0);
	bool found = said.data && memmem(said.data, said.len, sign, strlen(sign));
	buf_done(&said);
	return found ? 0 : err_say(e, ENOEXEC, "%s %s does not say `%s`", argv[0], argv[1], sign);
}

void probe_qemu(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	FREE char *path = NULL;
	(void) g, (void) arg;
	if (machine_qemu(&path, &e) < 0 ||
	    program_try((char *[]){ path, (char[]){ "-machine" }, (char[]){ "help" }, NULL }, "microvm", &e) <
		    0)
		answer_err(a, &e);
	else
		answer_ok(a, "%.200s has the machine microvm", path);
}

void probe_erofs_tools(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	FREE char *path = NULL;
	(void) g, (void) arg;
	if (machine_program("mkfs.erofs", &path, &e) < 0 ||
	    program_try((char *[]){ path, (char[]){ "--help" }, NULL }, "--all-root", &e) < 0)
		answer_err(a, &e);
	else
		answer_ok(a, "%.200s", path);
}

/* ---- what it is made of ---- */

void probe_guest_parts(const struct given *g, int arg, struct answer *a)
{
	struct err e;
	FREE char *release = NULL;
	(void) g, (void) arg;
	if (machine_guest(&release, &e) >= 0) {
		answer_ok(a, "Linux %.100s", release);
		return;
	}
	char *remedy = strstr(e.text, ": say `"); /* this error names its own */
	if (remedy) {
		*remedy = 0;
		snprintf(a->remedy, sizeof(a->remedy), "%s", remedy + 2);
	}
	answer_err(a, &e);
}

void probe_guest_memory(const struct given *g, int arg, struct answer *a)
{
	char text[4096], free_text[32], most[32];
	const char *line;
	(void) g, (void) arg;
	if (file_read_small(AT_FDCWD, "/proc/meminfo", text, sizeof(text)) < 0 ||
	    !(line = strstr(text, "\nMemAvailable:"))) {
		answer_unknown(a, "/proc/meminfo does not say what is available");
		return;
	}
	uint64_t bytes = strtoull(line + strlen("\nMemAvailable:"), NULL, 10) << 10;
	format_bytes(bytes, free_text, sizeof(free_text));
	if (bytes < GUEST_MEMORY)
		answer_missing(a, ENOMEM, "%s are available; one may take %s", free_text,
			       format_bytes(GUEST_MEMORY, most, sizeof(most)));
	else
		answer_ok(a, "%s are available", free_text);
}

/* Nothing is remembered: who asks the doctor may be about to change what it says. */
void probe_kvm(const struct given *g, int arg, struct answer *a)
{
	struct kvm_verdict v;
	(void) g, (void) arg;
	machine_kvm(false, &v);
	if (v.state == KVM_USABLE) {
		answer_ok(a, "%s", v.why);
	} else if (v.state == KVM_UNTRIED) {
		answer_unknown(a, "%s", v.why);
	} else {
		answer_missing(a, 0, "%s", v.why);
		snprintf(a->remedy, sizeof(a->remedy), "%s", kvm_kinds[v.state].remedy);
	}
}
