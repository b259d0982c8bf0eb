/* SPDX-License-Identifier: MIT */
/*
 * What crosses between host and sandbox as files: inputs and projects on the way in, output folders on the
 * way out, and the report of what a run changed in a copy-on-write view. One side of each is hostile; see
 * stage.c.
 */
#pragma once

/* clang-format off */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

#define STAGE_SKIPPED_MAX 100       /* of those, path and reason are kept; the rest is counted */
#define STAGE_FILES_MAX   1000000u  /* whatever the caps say: names wait in memory */

struct stage_want {
	uid_t uid;                  /* owner of what is made, where we are root; (uid_t) -1: ourselves */
	gid_t gid;
	bool read_only;             /* nothing made may be written afterwards */
	bool links;                 /* copy symbolic links as links (a project); else they are refused */
	uint64_t max_bytes;
	uint64_t max_files;         /* files, folders and links together, those passed over included */
	void (*copied)(void *arg, bool begins, const char *bytes, size_t len); /* NULL: nobody looks at it */
	void *copied_arg;
	const struct stage_set *only; /* stage_copy_out: nothing but these; NULL: all there is */
};

struct stage_skip {
	char *path;                 /* below the folder; bytes from a target: scrub before showing */
	const char *why;
};
struct stage_done {
	uint64_t bytes, files;      /* copied; folders do not count */
	char *cut;                  /* stage_copy_out: NULL, or why not all of it is there */
	struct stage_skip *skipped; /* the first STAGE_SKIPPED_MAX of skipped_count */
	uint64_t skipped_count;
};
void stage_clear(struct stage_done *d); /* frees what it holds */

/*
 * stage_copy_in: a file or tree of the host's at `name` below dest_dirfd (NULL: what is in the folder
 * `source` goes into dest_dirfd itself). Nothing special, no link followed, the last component of `source`
 * included, nothing overwritten, no cap crossed: each is an error that names the path. What was made before
 * an error stays, for the caller to remove with the folder. ret may be NULL. -EFBIG: a cap; -ELOOP: a link;
 * -EINVAL: a special file; another.
 */
int stage_copy_in(const char *source, int dest_dirfd, const char *name, const struct stage_want *want,
    struct stage_done *ret, struct err *e);

/*
 * stage_copy_out: regular files and folders below src_dirfd, of a run that is dead, into the folder `dest`,
 * which is made 0700 if missing. Links, special files and files with a second name are passed over and
 * listed; a cap ends it, said in ret->cut. setuid, setgid and writing by others are taken away. -EEXIST,
 * before anything is copied: `dest` has one of the names. Gives: *ret, cleared by the caller, filled as far
 * as it went on failure too.
 */
int stage_copy_out(int src_dirfd, const char *dest, const struct stage_want *caps, struct stage_done *ret,
    struct err *e);

/*
 * stage_send: what stage_copy_out would take, as a stream into to_fd (blocking); stage_send_end: behind the last one.
 * stage_receive: such a stream, from somebody who may be hostile, into an empty folder of ours. -EPROTO: it is none, or is
 * not whole; what was good of it is there then. -EFBIG: a cap.
 */
struct stage_send_want {
	int to_fd;
	const struct stage_set *only; /* NULL: all there is */
	void (*skipped)(void *arg, const char *path, const char *why);
	void *arg;
	uint64_t sent;                /* bytes, so far */
};
int stage_send(int from_dirfd, struct stage_send_want *want, struct err *e);
int stage_send_end(struct stage_send_want *want, struct err *e);
int stage_receive(int from_fd, int dest_dirfd, uint64_t max_bytes, uint64_t max_files, struct err *e);

/* Entries of one tree, by device and inode: names may be as long and as many as a hostile program wishes. */
struct stage_set {
	struct stage_id { dev_t dev; ino_t ino; } *ids;
	size_t count, room;
	bool sorted;
};
void stage_set_add(struct stage_set *s, dev_t dev, ino_t ino);
void stage_set_sort(struct stage_set *s); /* after the last was added, before the first is asked for */
bool stage_set_has(const struct stage_set *s, dev_t dev, ino_t ino);
void stage_set_done(struct stage_set *s);

enum stage_kind {
	STAGE_UPPER, /* of an overlay: what is there was changed, marks stand for what was removed */
	STAGE_COPY,  /* made before the run: what differs from the original was changed */
};
struct stage_view {
	enum stage_kind kind;
	int dirfd;                  /* of the upper folder or the copy, of a run that is dead */
	const char *original;       /* the project on the host */
	const char *const *ours;    /* names at the top that are no part of the project; NULL ends them */
};

enum stage_change { STAGE_ADDED, STAGE_CHANGED, STAGE_REMOVED };
struct stage_listener {
	/* path: below the project, a folder's ends in "/"; bytes: the size now, 0 for what is gone. */
	void (*changed)(void *arg, enum stage_change what, const char *path, uint64_t bytes);
	void *arg;
	uint64_t max;               /* no more than these are told */
	struct stage_set *taken;    /* NULL, or gets all that was added or changed, and the folders above */
};
/*
 * stage_report: what a run changed in a project, as its view of it says. A file is unchanged when its bytes are
 * and whether it may be executed, whatever its times say. Returns how many changes were not told because of `max` (a lower bound where
 * nothing is taken: a flood is not counted to its end), or -errno.
 */
int stage_report(const struct stage_view *view, const struct stage_listener *to, struct err *e);
