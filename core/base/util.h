/* SPDX-License-Identifier: MIT */
/*
 * Small helpers without a home of their own: cleanup attributes, allocation, strings, time, files, hashes.
 * Allocation that fails aborts: a sandbox that is out of memory must not go on half built. Stated here once.
 */
#pragma once

/* clang-format off */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* Released when the variable goes out of scope; take_* hands ownership on. */
#define CLOSE_FD __attribute__((cleanup(util_cleanup_fd)))
#define FREE __attribute__((cleanup(util_cleanup_free)))
void util_cleanup_fd(int *fd);
void util_cleanup_free(void *ptr_to_ptr);
int take_fd(int *fd);               /* returns *fd and leaves -1 */
void *take_ptr(void *ptr_to_ptr);   /* returns the pointer and leaves NULL */
void close_fd(int *fd);             /* closes once (never retried: close(2)), leaves -1; keeps errno */

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *p, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t len);
char *xprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A NULL-terminated list of strings that owns them (argv, environments, folders). NULL is the empty list. */
char **strv_add(char **v, const char *s); /* returns the list, which may have moved */
char **strv_dup(char *const *v);
char **strv_split(const char *s);         /* at blanks and commas */
size_t strv_len(char *const *v);
bool strv_has(char *const *v, const char *s);
char **strv_free(char **v);               /* accepts NULL, returns NULL */

/* A growing byte buffer. Who adds foreign bytes bounds them. */
struct buf {
	char *data; /* always followed by a NUL that does not count */
	size_t len, cap;
};
void buf_add(struct buf *b, const void *data, size_t len);
void buf_str(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_done(struct buf *b);
char *buf_steal(struct buf *b); /* Gives: the caller frees; never NULL */

uint64_t now_ns(void); /* CLOCK_MONOTONIC */
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
/* str_to_u64: the whole of `s` as a decimal number without sign. Returns 0, -EINVAL, -ERANGE. */
int str_to_u64(const char *s, uint64_t *ret);
/* str_nearest: the entry of `names` (NULL-terminated) closest to `word`, or NULL where none is near enough to help. */
const char *str_nearest(const char *word, const char *const *names);

/*
 * file_read: all of a file, at most `max` bytes (-EFBIG beyond), from a folder descriptor or AT_FDCWD.
 * Gives: *ret_data, freed by the caller, NUL-terminated; ret_len may be NULL where NULs do not matter.
 */
int file_read(int dirfd, const char *path, size_t max, char **ret_data, size_t *ret_len, struct err *e);
/* file_read_small: into a buffer on the stack, cut at its size, trailing newline removed. For /proc and cgroup files.
 * Returns the length, or -errno without filling an error: absence of such a file is often an answer. */
ssize_t file_read_small(int dirfd, const char *path, char *buf, size_t size);
int file_write_str(int dirfd, const char *path, const char *text, struct err *e); /* O_WRONLY, one write(2) */
int write_all(int fd, const void *data, size_t len);                               /* blocking fds; 0 or -errno */
int dir_make_all(const char *path, mode_t mode, struct err *e);                    /* mkdir -p */
/* dir_remove_tree: everything below `name` and itself, without following links, whatever the depth (no recursion by
 * path, bounded open descriptors), making folders searchable where their owner took that away. 0 if it is not there. */
int dir_remove_tree(int dirfd, const char *name, struct err *e);

/* sha256_hex: of some bytes, as 64 lower-case digits and a NUL. */
void sha256_hex(const void *data, size_t len, char ret_hex[65]);

/* format_bytes: 268435456 -> "256 MiB", 1536 -> "1.5 KiB"; format_ns: "10 s", "1.5 s", "250 ms". Return buf. */
const char *format_bytes(uint64_t bytes, char *buf, size_t size);
const char *format_ns(uint64_t ns, char *buf, size_t size);
