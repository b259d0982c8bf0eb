/* SPDX-License-Identifier: MIT */
/*
 * Private to decode*.c: what the engine, the tables and the addresses share.
 */
#pragma once

#include "core/supervise/decode.h"

/* ---- decode_words.c: numbers with names ---- */

/* A value matches where (value & mask) == this value. One list can so hold a field (O_RDONLY under
 * O_ACCMODE), flags (mask and value alike) and plain enumerations (mask ~0). The first match takes its bits
 * away from later words. Where processors differ a word stands once for each, and says for which. */
struct word {
	uint64_t mask, value;
	const char *name;
	enum decode_machine only; /* MACHINE_ANY: on every one */
};
struct words {
	const struct word *list;
	size_t count;
};
extern const struct words words_advice, words_at, words_bpf, words_clock, words_clone, words_fanotify,
	words_fanotify_mark, words_fanotify_mask, words_family, words_fsconfig, words_fsmount, words_fsopen,
	words_fspick, words_ioctl, words_keyctl, words_kcmp, words_level, words_map, words_module,
	words_module_delete, words_mount, words_mount_attr, words_move_mount, words_msg, words_namespace,
	words_open, words_open_tree, words_perf, words_personality, words_prctl, words_prot, words_ptrace,
	words_quota, words_reboot, words_rename, words_resolve, words_resource, words_signal, words_socket,
	words_syslog, words_umount, words_userfault;

/* ---- decode_calls.c: what the arguments of each call are ---- */

enum arg_kind {
	ARG_NONE,
	ARG_INT,    /* 32 bits with a sign: descriptors, pids, modes of operation */
	ARG_SIZE,   /* 64 bits without */
	ARG_HEX,    /* an address or bits without names */
	ARG_OCTAL,  /* a file mode */
	ARG_ID,     /* uid, gid: -1 stays -1 */
	ARG_DIRFD,  /* of the path that follows */
	ARG_PATH,   /* a name, relative to the ARG_DIRFD before it or the working folder */
	ARG_SOURCE, /* of mount: a path where it binds or moves, else text that the file system knows */
	ARG_STRING, /* other text */
	ARG_WORDS,  /* flags or an enumeration, 64 bits; ARG_WORDS32: the kernel reads an int */
	ARG_WORDS32,
	ARG_OPEN_FLAGS,      /* and they become the event's flags */
	ARG_OPEN_HOW,        /* struct open_how: flags and mode in memory */
	ARG_MODE_IF_CREATED, /* of open: means something only with O_CREAT; after ARG_OPEN_FLAGS */
	ARG_SOCKADDR,        /* its length is the next argument */
	ARG_MSGHDR,
	ARG_MMSGHDR, /* the latter's count is the next argument */
	ARG_SOCKFD,  /* a socket, whose kind can be asked of the kernel */
	ARG_ARGV,
	ARG_CLONE_ARGS, /* struct clone_args: flags in memory */
};
struct arg_spec {
	enum arg_kind kind;
	const char *key; /* NULL: read for its meaning, not shown as an argument */
	const struct words *words;
};
struct call_spec {
	const char *name;
	enum decode_kind kind;
	const char *op;
	struct arg_spec arg[6];
};
const struct call_spec *call_spec(const char *name); /* NULL: no row */

/* ---- decode.c: the target's memory, and room for words ---- */

bool memory_read(pid_t pid, uint64_t address, void *to, size_t len); /* all of it, or false */
/* memory_string: up to a NUL or `max` bytes. Returns the length, or -EFAULT; *ret_cut: there is more. */
ssize_t memory_string(pid_t pid, uint64_t address, char *to, size_t max, bool *ret_cut);

/* Copies into ret->space, cut at what is left of it. Never NULL. */
const char *keep(struct decoded *ret, const char *bytes, size_t len);
const char *keepf(struct decoded *ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* path_absolute: a path of a target's call from its root on; links and .. in it stay as they are. */
const char *path_absolute(struct decoded *ret, pid_t pid, int dirfd, const char *path);
/* words_keep: "A|B|0x100"; "0" for no flag. words_one: the name of the first word that matches, or NULL. */
const char *words_keep(struct decoded *ret, const struct words *w, uint64_t value);
const char *words_one(const struct decoded *ret, const struct words *w, uint64_t value);
/* A walk over the words that match, each with bits that none before it took. NULL: no more. */
struct word_walk {
	uint64_t used;
	size_t at;
};
const char *words_next(const struct decoded *ret, const struct words *w, uint64_t value,
		       struct word_walk *walk);

/* ---- decode_address.c ---- */

const char *family_name(struct decoded *ret, int family);
void address_decode(struct decoded *ret, pid_t pid, const void *bytes, size_t len, struct decode_addr *to);
/* address_read: of `len` bytes at an address in the target; text of "?" where they cannot be read. */
void address_read(struct decoded *ret, pid_t pid, uint64_t at, uint64_t len, struct decode_addr *to);
void address_of_msghdr(struct decoded *ret, pid_t pid, uint64_t at, struct decode_addr *to);
/* address_kind: protocol (and family, where there is none yet) of a socket that the target has at `fd`. */
void address_kind(struct decoded *ret, pid_t pid, int fd, struct decode_addr *to);
/* protocol_name: of socket(2)'s three arguments. NULL: not known. */
const char *protocol_name(int family, int type, int protocol);
