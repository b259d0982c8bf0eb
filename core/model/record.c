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

struct record {
	int fd;
	int failed; /* the first errno of a write; after it, nothing more is written */
	char *path;
	bool prune; /* it lies in the folder of them all */
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

static void put_host(struct buf *out)
{
	struct utsname host;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	if (uname(&host) < 0)
		memset(&host, 0, sizeof(host));
	put_member(",\"host\":{\"kernel\":", host.release, out);
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
	put_host(out);
	if (l->policy)
		put_policy(l->policy, out);
	if (l->code)
		put_code(l, out);
	buf_str(out, "}\n");
}

static int open_new(const char *path, int *ret_fd, struct err *e)
{
	CLOSE_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

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
		return open_new(path, ret_fd, e);
	*ret_fd = take_fd(&fd);
	return 0;
}

static int open_default(const char *run_id, char **ret_path, int *ret_fd, struct err *e)
{
	FREE char *folder = xdg_folder(XDG_STATE, "runs", true, e);

	if (!folder)
		return -e->code;
	FREE char *path = xprintf("%s/%s.jsonl", folder, run_id);
	int r = open_new(path, ret_fd, e);
	if (r < 0)
		return r;
	*ret_path = take_ptr(&path);
	return 0;
}

int record_create(const struct launch *l, struct record **ret, struct err *e)
{
	char *path = NULL;
	int fd = -1;
	int r = l->record_path ? open_new(l->record_path, &fd, e) : open_default(l->run_id, &path, &fd, e);

	if (r < 0)
		return r;
	struct record *rec = xcalloc(1, sizeof(*rec));
	rec->fd = fd;
	rec->prune = path != NULL;
	rec->path = path ? path : xstrdup(l->record_path);
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

void record_add(struct record *r, const struct event *ev)
{
	if (r->failed)
		return;
	event_to_json(ev, &r->lines);
	buf_add(&r->lines, "\n", 1);
	if (r->lines.len >= BUFFER_MAX)
		(void) record_flush(r);
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
static void prune(const char *path)
{
	FREE char *folder = xstrndup(path, (size_t) (strrchr(path, '/') - path));
	CLOSE_FD int dirfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **names;
	int count = dirfd < 0 ? -1 : scandirat(dirfd, ".", &names, recordings_only, by_name);

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
	if (r->prune)
		prune(r->path);
	/* Some file systems tell only now that the disk is full. */
	if (close(r->fd) < 0 && !failed && errno != EINTR)
		failed = errno;
	int result = failed ? err_set(e, failed, "write recording %s", r->path) : 0;
	buf_done(&r->lines);
	free(r->path);
	free(r);
	return result;
}
