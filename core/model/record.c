/* SPDX-License-Identifier: MIT */
/*
 * Writing a recording. The supervisor does it between its other duties, so lines are collected and leave
 * in one write when the buffer is full or things are quiet; and what goes wrong is remembered, not
 * shouted: a run goes on without a disk. Reading one back is in recording.c.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/model/json.h"
#include "core/model/model.h"

#define BUFFER_MAX (64u << 10) /* beyond it, lines leave at once */
#define HEADER_TEXT_MAX \
	(24u << 20) /* code that is longer as JSON goes as base64, to stay below RECORD_LINE_MAX */

#define OUTPUT_MAX (RECORDING_MAX / 2) /* of output: a flood of it hides no other event */

enum kind { KIND_OUTPUT, KIND_OTHER, KIND_MAX };

struct record {
	int fd;
	int failed; /* the first errno of a write; after it, nothing more is written */
	char *path;
	int runs_fd; /* the folder of them all, where it lies in that; -1: elsewhere, and nothing is pruned */
	uint64_t bytes, output_bytes;     /* written, or waiting for it */
	uint64_t lost[KIND_MAX], lost_ns; /* events that were left out, and when the first was */
	struct buf lines;
};

static void put_member(const char *comma_key, const char *text, struct buf *out)
{
	buf_str(out, comma_key);
	if (text)
		json_text(text, strlen(text), out);
	else
		buf_str(out, "null");
}

static void put_started(struct buf *out)
{
	struct timespec now;
	struct tm utc;
	char seconds[32];

	(void) clock_gettime(CLOCK_REALTIME, &now);
	if (!gmtime_r(&now.tv_sec, &utc))
		memset(&utc, 0, sizeof(utc));
	(void) strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &utc);
	buf_printf(out, ",\"started\":\"%s.%03ldZ\"", seconds, now.tv_nsec / 1000000);
}

void host_to_json(struct buf *out)
{
	struct utsname host;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	if (uname(&host) < 0)
		memset(&host, 0, sizeof(host));
	put_member("{\"kernel\":", host.release, out);
	put_member(",\"machine\":", host.machine, out);
	buf_printf(out, ",\"cpus\":%ld", cpus > 0 ? cpus : 1);
	if (pages > 0 && page > 0)
		buf_printf(out, ",\"memory\":%llu", (unsigned long long) pages * (unsigned long long) page);
	buf_str(out, "}");
}

static void put_policy(const struct policy *p, struct buf *out)
{
	static const char *const networks[] = { [NETWORK_NONE] = "none", [NETWORK_HOST] = "host" };
	static const char *const answers[] = {
		[DENIED_ERRNO] = "errno", [DENIED_KILL] = "kill", [DENIED_ASK] = "ask"
	};
	char text[64];

	put_member(",\"policy\":{\"name\":", p->name, out);
	put_member(",\"backend\":", p->backend, out);
	buf_str(out, ",\"limits\":{");
	for (int i = 0; i < LIMIT_MAX; i++) {
		buf_printf(out, "%s\"%s\":", i ? "," : "", limit_kinds[i].name);
		put_member("", limit_format((enum limit_name) i, p->limit[i], text, sizeof(text)), out);
	}
	put_member("},\"network\":", networks[p->network], out);
	put_member(",\"on_denied\":", answers[p->on_denied], out);
	put_member(",\"syscalls\":", p->syscalls ? p->syscalls->name : NULL, out);
	buf_str(out, "}");
}

static void put_code(const struct launch *l, struct buf *out)
{
	put_member(",\"code\":{\"sha256\":", l->code_sha256, out);
	put_member(",\"language\":", l->language ? l->language->name : NULL, out);
	buf_str(out, ",\"text\":");
	size_t before = out->len;
	json_text(l->code, l->code_len, out);
	if (out->len - before > HEADER_TEXT_MAX) {
		out->len = before;
		json_base64(l->code, l->code_len, out);
	}
	buf_str(out, "}");
}

static void put_header(const struct launch *l, struct buf *out)
{
	put_member("{\"belljar\":1,\"run\":", l->run_id, out);
	put_started(out);
	put_member(",\"title\":", l->title, out);
	buf_str(out, ",\"host\":");
	host_to_json(out);
	if (l->policy)
		put_policy(l->policy, out);
	if (l->code)
		put_code(l, out);
	buf_str(out, "}\n");
}

/* The name is looked up in the folder; AT_FDCWD for a path. */
static int open_new(int dirfd, const char *name, const char *path, int *ret_fd, struct err *e)
{
	CLOSE_FD int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST)
		return err_say(e, EEXIST,
			       "%s is already there, and a recording replaces nothing: remove it or name "
			       "another file",
			       path);
	if (fd < 0)
		return err_set(e, errno, "create recording %s", path);
	if (fchmod(fd, 0600) < 0) /* whatever the umask took away */
		return err_set(e, errno, "chmod recording %s", path);
	/* A file system without locks has nothing to lose but this. Where it waits, it is for one that
	 * removes the file. */
	struct stat st;
	while (flock(fd, LOCK_SH) < 0 && errno == EINTR)
		;
	if (fstat(fd, &st) == 0 && st.st_nlink == 0)
		return open_new(dirfd, name, path, ret_fd, e);
	*ret_fd = take_fd(&fd);
	return 0;
}

/*
 * A folder that nobody else can change, and no link: files are made and removed in it, by root too, whose HOME may be
 * another user's. That user would else choose whose *.jsonl go.
 */
static int open_own(int dirfd, const char *name, const char *path, int *ret_fd, struct err *e)
{
	struct stat st;
	CLOSE_FD int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno != ELOOP && errno != ENOTDIR)
		return err_set(e, errno, "open folder %s; give --record FILE or --no-record", path);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return err_say(
			e, EPERM,
			"%s is not a folder that is ours and that only we can write to: no recording is kept "
			"there; give --record FILE or --no-record",
			path);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Step by step on descriptors: a name that was checked may be another thing's a moment later. */
static int open_runs(char **ret_folder, int *ret_fd, struct err *e)
{
	CLOSE_FD int parent_fd = -1, fd = -1;
	FREE char *parent = xdg_folder(XDG_STATE, NULL, true, e);
	int r;

	if (!parent)
		return -e->code;
	FREE char *folder = xprintf("%s/runs", parent);
	if ((r = open_own(AT_FDCWD, parent, parent, &parent_fd, e)) < 0)
		return r;
	if (mkdirat(parent_fd, "runs", 0700) < 0 && errno != EEXIST)
		return err_set(e, errno, "create folder %s", folder);
	if ((r = open_own(parent_fd, "runs", folder, &fd, e)) < 0)
		return r;
	*ret_folder = take_ptr(&folder);
	*ret_fd = take_fd(&fd);
	return 0;
}

static int open_default(const char *run_id, struct record *rec, struct err *e)
{
	FREE char *folder = NULL, *name = xprintf("%s.jsonl", run_id);
	int r = open_runs(&folder, &rec->runs_fd, e);

	if (r < 0)
		return r;
	rec->path = xprintf("%s/%s", folder, name);
	return open_new(rec->runs_fd, name, rec->path, &rec->fd, e);
}

static int open_named(const char *path, struct record *rec, struct err *e)
{
	rec->path = xstrdup(path);
	return open_new(AT_FDCWD, path, path, &rec->fd, e);
}

static void record_free(struct record *r)
{
	close_fd(&r->fd);
	close_fd(&r->runs_fd);
	buf_done(&r->lines);
	free(r->path);
	free(r);
}

int record_create(const struct launch *l, struct record **ret, struct err *e)
{
	struct record *rec = xcalloc(1, sizeof(*rec));

	rec->fd = rec->runs_fd = -1;
	int r = l->record_path ? open_named(l->record_path, rec, e) : open_default(l->run_id, rec, e);
	if (r < 0) {
		record_free(rec);
		return r;
	}
	put_header(l, &rec->lines);
	*ret = rec;
	return 0;
}

const char *record_path(const struct record *r)
{
	return r->path;
}

int record_flush(struct record *r)
{
	if (r->lines.len && !r->failed)
		r->failed = -write_all(r->fd, r->lines.data, r->lines.len);
	r->lines.len = 0;
	if (r->lines.cap > 4 * BUFFER_MAX) /* the header's code made it large; a run must not keep that */
		buf_done(&r->lines);
	return -r->failed;
}

static void put_line(struct record *r, const struct event *ev)
{
	size_t before = r->lines.len;

	event_to_json(ev, &r->lines);
	buf_add(&r->lines, "\n", 1);
	r->bytes += r->lines.len - before;
	if (ev->type == EVENT_OUTPUT)
		r->output_bytes += r->lines.len - before;
	if (r->lines.len >= BUFFER_MAX)
		(void) record_flush(r);
}

/* The numbers in a file have no gaps: what was left out is one event for each kind, and takes one number. */
static void put_lost(struct record *r, uint64_t *seq)
{
	static const char *const whats[] = { [KIND_OUTPUT] = "output", [KIND_OTHER] = "event" };

	for (int k = 0; k < KIND_MAX; k++) {
		struct event ev = { .type = EVENT_DROPPED,
				    .seq = *seq,
				    .t_ns = r->lost_ns,
				    .dropped = { .what = whats[k],
						 .count = r->lost[k],
						 .why = "the recording had reached its largest size" } };
		if (!r->lost[k])
			continue;
		put_line(r, &ev);
		++*seq;
	}
}

static bool is_full(const struct record *r, const struct event *ev)
{
	return r->bytes >= RECORDING_MAX || (ev->type == EVENT_OUTPUT && r->output_bytes >= OUTPUT_MAX);
}

void record_add(struct record *r, const struct event *ev)
{
	struct event numbered = *ev;
	uint64_t lost = r->lost[KIND_OUTPUT] + r->lost[KIND_OTHER];

	if (r->failed)
		return;
	if (ev->type != EVENT_EXIT && is_full(r, ev)) {
		r->lost[ev->type == EVENT_OUTPUT ? KIND_OUTPUT : KIND_OTHER]++;
		r->lost_ns = lost ? r->lost_ns : ev->t_ns;
		return;
	}
	numbered.seq -= lost;
	if (ev->type == EVENT_EXIT)
		put_lost(r, &numbered.seq);
	put_line(r, &numbered);
}

/*
 * A recording that is being written is locked by its writer, so that fifty short runs beside a long one do
 * not take its file away. The lock goes with the last descriptor, also when the writer is killed. It is held
 * here until the file is gone: a writer that was about to take it then finds out.
 */
static void prune_one(int dirfd, const char *name)
{
	CLOSE_FD int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		(void) unlinkat(dirfd, name, 0);
}

static int recordings_only(const struct dirent *d)
{
	return (d->d_type == DT_REG || d->d_type == DT_UNKNOWN) && d->d_name[0] != '.' &&
	       str_ends(d->d_name, ".jsonl");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name); /* a run's id begins with its time; no locale's order */
}

/* Names are looked up anew at each step: another belljar may do the same now, and then ENOENT is as good
 * as done. */
static void prune(int dirfd)
{
	struct dirent **names;
	int count = scandirat(dirfd, ".", &names, recordings_only, by_name);

	for (int i = 0; i < count; i++) {
		struct stat st;
		if (i < count - RECORDINGS_KEPT &&
		    fstatat(dirfd, names[i]->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			prune_one(dirfd, names[i]->d_name);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

int record_close(struct record *r, struct err *e)
{
	if (!r)
		return 0;
	int failed = -record_flush(r);
	if (r->runs_fd >= 0)
		prune(r->runs_fd);
	/* Some file systems tell only now that the disk is full. */
	if (close(r->fd) < 0 && !failed && errno != EINTR)
		failed = errno;
	r->fd = -1;
	int result = failed ? err_set(e, failed, "write recording %s", r->path) : 0;
	record_free(r);
	return result;
}
