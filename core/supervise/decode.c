/* SPDX-License-Identifier: MIT */
/*
 * From a notification to words: looks the call up in the table of decode_calls.c and turns each argument into
 * text as its row says. The target is stopped inside the call, but its other threads are not: memory may
 * change under us.
 *
 * See: seccomp_unotify(2), process_vm_readv(2).
 */
#include "core/supervise/decode_parts.h"

#include "core/base/base.h"
#include "core/confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/openat2.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define ARGV_WORD_MAX 1024 /* of one word of a command line; what is longer is cut */
#define STRING_MAX    256  /* of a text that is no path */
#define X32_BIT       UINT32_C(0x40000000)
#define MAKES_FILE    (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) /* open flags that give the mode a meaning */

/* ---- the target's memory ---- */

bool memory_read(pid_t pid, uint64_t address, void *to, size_t len)
{
	struct iovec here = { .iov_base = to, .iov_len = len };
	struct iovec there = { .iov_base = (void *) (uintptr_t) address, .iov_len = len };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t) len;
}

ssize_t memory_string(pid_t pid, uint64_t address, char *to, size_t max, bool *ret_cut)
{
	uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);
	size_t len = 0;

	*ret_cut = false;
	/* one page at a time: a string may end just before memory that is not there */
	while (len < max) {
		uint64_t step = page - (address + len) % page;
		if (step > max - len)
			step = max - len;
		if (!memory_read(pid, address + len, to + len, step))
			return -EFAULT;
		const char *end = memchr(to + len, '\0', step);
		if (end)
			return end - to;
		len += step;
	}
	*ret_cut = true;
	return (ssize_t) len;
}

/* ---- room for words ---- */

const char *keep(struct decoded *ret, const char *bytes, size_t len)
{
	size_t room = sizeof(ret->space) - ret->used;

	if (room == 0) {
		ret->cut = true;
		return "";
	}
	if (len > room - 1) {
		len = room - 1;
		ret->cut = true;
	}
	char *to = ret->space + ret->used;
	memcpy(to, bytes, len);
	to[len] = '\0';
	ret->used += len + 1;
	return to;
}

const char *keepf(struct decoded *ret, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	int len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return keep(ret, text, len < 0 ? 0 : (size_t) len < sizeof(text) ? (size_t) len : sizeof(text) - 1);
}

static const char *keep_string(struct decoded *ret, pid_t pid, uint64_t address, size_t max)
{
	char text[PATH_MAX];
	bool cut;

	if (address == 0)
		return "NULL";
	ssize_t len = memory_string(pid, address, text, max < sizeof(text) ? max : sizeof(text), &cut);
	ret->cut |= cut;
	return len < 0 ? "?" : keep(ret, text, (size_t) len);
}

static void add_text(struct decoded *ret, const char *key, const char *text)
{
	if (key && ret->arg_count < DECODE_ARGS_MAX)
		ret->args[ret->arg_count++] = (struct event_arg){ .key = key, .text = text };
}

static void add_number(struct decoded *ret, const char *key, int64_t number)
{
	if (key && ret->arg_count < DECODE_ARGS_MAX)
		ret->args[ret->arg_count++] = (struct event_arg){ .key = key, .number = number };
}

static void add_words(struct decoded *ret, const char *key, const struct words *w, uint64_t value)
{
	if (words_one(ret, w, value))
		add_text(ret, key, words_keep(ret, w, value));
	else
		add_number(ret, key, (int64_t) value);
}

static void add_hex(struct decoded *ret, const char *key, uint64_t value)
{
	if (value == 0)
		add_number(ret, key, 0);
	else
		add_text(ret, key, keepf(ret, "0x%llx", (unsigned long long) value));
}

/* ---- paths ---- */

/* Where a relative path starts, as the target's own file system has it. */
static ssize_t base_folder(pid_t pid, int dirfd, char *to, size_t size)
{
	char link[64];

	if (dirfd == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/%d/cwd", (int) pid);
	else
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int) pid, dirfd);
	ssize_t len = readlink(link, to, size);
	return len > 0 && (size_t) len < size ? len : -1;
}

/*
 * Only joined, never resolved: what .. and links lead to is the kernel's to say when it carries out the call,
 * and another process may change them before it does.
 */
const char *path_absolute(struct decoded *ret, pid_t pid, int dirfd, const char *path)
{
	char whole[2 * PATH_MAX];

	/* an empty one is the descriptor itself to calls that take it so, and nothing without a descriptor */
	if (path[0] == '/' || strcmp(path, "?") == 0 || (path[0] == '\0' && dirfd == AT_FDCWD))
		return path;
	while (path[0] == '.' && path[1] == '/')
		path += 2;
	if (strcmp(path, ".") == 0)
		path = "";
	ssize_t base = base_folder(pid, dirfd, whole, PATH_MAX);
	if (base < 0)
		return keepf(ret, "?/%.200s", path);
	int len = snprintf(whole + base, sizeof(whole) - (size_t) base, "%s%s",
			   path[0] && whole[base - 1] != '/' ? "/" : "", path);
	return keep(ret, whole, (size_t) base + (size_t) len);
}

static void decode_path(struct decoded *ret, const struct decode_in *in, int dirfd, uint64_t address,
			const char *key)
{
	const char *path = keep_string(ret, in->pid, address, PATH_MAX);

	if (address)
		path = path_absolute(ret, in->pid, dirfd, path);
	add_text(ret, key, path);
	if (address == 0)
		path = "?"; /* execveat and others take NULL for the descriptor itself, or refuse it */
	if (ret->kind != DECODE_FILE && ret->kind != DECODE_EXEC)
		return;
	if (!ret->path)
		ret->path = path;
	else
		ret->to = path;
}

/* ---- single arguments ---- */

static void decode_open_flags(struct decoded *ret, const char *key, const struct words *w, uint64_t value)
{
	struct word_walk walk = { 0 };
	const char *name;

	add_text(ret, key, words_keep(ret, w, value));
	while (ret->flag_count < DECODE_FLAGS_MAX && (name = words_next(ret, w, value, &walk)))
		ret->flags[ret->flag_count++] = name;
}

static void decode_open_how(struct decoded *ret, const struct decode_in *in, const struct arg_spec *spec,
			    uint64_t at)
{
	struct open_how how;

	if (!memory_read(in->pid, at, &how, sizeof(how))) {
		add_text(ret, spec->key, at ? "?" : "NULL");
		return;
	}
	decode_open_flags(ret, spec->key, spec->words, how.flags);
	if (how.flags & MAKES_FILE)
		add_text(ret, "mode", keepf(ret, "0%llo", (unsigned long long) how.mode));
	if (how.resolve)
		add_words(ret, "resolve", &words_resolve, how.resolve);
}

static void decode_argv(struct decoded *ret, const struct decode_in *in, uint64_t at)
{
	for (size_t i = 0; at && i < DECODE_ARGV_MAX; i++, at += sizeof(uint64_t)) {
		uint64_t word;
		if (!memory_read(in->pid, at, &word, sizeof(word))) {
			ret->argv[ret->argv_count++] = "?";
			return;
		}
		if (word == 0)
			return;
		ret->argv[ret->argv_count++] = keep_string(ret, in->pid, word, ARGV_WORD_MAX);
	}
	ret->cut |= at != 0;
}

static void decode_clone_args(struct decoded *ret, const struct decode_in *in, const struct arg_spec *spec,
			      uint64_t at)
{
	uint64_t flags; /* the first field of struct clone_args */

	if (at && memory_read(in->pid, at, &flags, sizeof(flags)))
		add_words(ret, spec->key, spec->words, flags);
	else
		add_text(ret, spec->key, at ? "?" : "NULL");
}

static void decode_mmsghdr(struct decoded *ret, const struct decode_in *in, uint64_t at, uint64_t count)
{
	size_t messages = (uint32_t) count < DECODE_ADDRS_MAX ? (uint32_t) count : DECODE_ADDRS_MAX;

	if (at == 0)
		return;
	ret->cut |= messages < (uint32_t) count;
	ret->addr_beyond = ((uint32_t) count < UIO_MAXIOV ? (uint32_t) count : UIO_MAXIOV) - messages;
	for (size_t i = 0; i < messages; i++)
		address_of_msghdr(ret, in->pid, at + i * sizeof(struct mmsghdr),
				  &ret->addr[ret->addr_count++]);
}

/* Numbers and words: what the register itself says. Returns false where memory must be looked at. */
static bool decode_value(struct decoded *ret, const struct arg_spec *spec, uint64_t value)
{
	switch (spec->kind) {
	case ARG_NONE:
		break;
	case ARG_DIRFD:
		break; /* belongs to the path behind it */
	case ARG_ID:
		add_number(ret, spec->key, (uint32_t) value == UINT32_MAX ? -1 : (int64_t) (uint32_t) value);
		break;
	case ARG_SOCKFD:
	case ARG_INT:
		add_number(ret, spec->key, (int32_t) value);
		break;
	case ARG_SIZE:
		add_number(ret, spec->key, value > INT64_MAX ? INT64_MAX : (int64_t) value);
		break;
	case ARG_HEX:
		add_hex(ret, spec->key, value);
		break;
	case ARG_OCTAL:
		add_text(ret, spec->key, keepf(ret, "0%o", (uint32_t) value));
		break;
	case ARG_WORDS:
		add_words(ret, spec->key, spec->words, value);
		break;
	case ARG_WORDS32:
		add_words(ret, spec->key, spec->words, (uint32_t) value);
		break;
	case ARG_OPEN_FLAGS:
		decode_open_flags(ret, spec->key, spec->words, (uint32_t) value);
		break;
	default:
		return false;
	}
	return true;
}

static void decode_arg(struct decoded *ret, const struct decode_in *in, const struct call_spec *call,
		       size_t i)
{
	const struct arg_spec *spec = &call->arg[i];
	uint64_t value = in->arg[i];

	if (decode_value(ret, spec, value))
		return;
	switch (spec->kind) {
	case ARG_PATH:
		decode_path(ret, in,
			    i > 0 && call->arg[i - 1].kind == ARG_DIRFD ? (int) in->arg[i - 1] : AT_FDCWD,
			    value, spec->key);
		break;
	case ARG_MODE_IF_CREATED:
		if (in->arg[i - 1] & MAKES_FILE)
			add_text(ret, spec->key, keepf(ret, "0%o", (uint32_t) value));
		break;
	case ARG_SOURCE:
		if (in->arg[3] & (MS_BIND | MS_MOVE))
			decode_path(ret, in, AT_FDCWD, value, spec->key);
		else
			add_text(ret, spec->key, keep_string(ret, in->pid, value, STRING_MAX));
		break;
	case ARG_STRING:
		add_text(ret, spec->key, keep_string(ret, in->pid, value, STRING_MAX));
		break;
	case ARG_OPEN_HOW:
		decode_open_how(ret, in, spec, value);
		break;
	case ARG_ARGV:
		decode_argv(ret, in, value);
		break;
	case ARG_CLONE_ARGS:
		decode_clone_args(ret, in, spec, value);
		break;
	case ARG_SOCKADDR:
		address_read(ret, in->pid, value, (uint32_t) in->arg[i + 1], &ret->addr[ret->addr_count++]);
		break;
	case ARG_MSGHDR:
		address_of_msghdr(ret, in->pid, value, &ret->addr[ret->addr_count++]);
		break;
	case ARG_MMSGHDR:
		decode_mmsghdr(ret, in, value, in->arg[i + 1]);
		break;
	default:
		break;
	}
}

/* ---- whole calls ---- */

static void decode_network(struct decoded *ret, const struct decode_in *in, const struct call_spec *call)
{
	if (ret->addr_count == 0)
		ret->addr[ret->addr_count++] = (struct decode_addr){ .family = "?", .port = -1 };
	for (size_t i = 0; i < ret->addr_count; i++) {
		struct decode_addr *a = &ret->addr[i];
		if (call->arg[0].kind == ARG_SOCKFD) {
			address_kind(ret, in->pid, (int) in->arg[0], a);
			continue;
		}
		a->family = family_name(ret, (int) in->arg[0]);
		a->protocol = protocol_name((int) in->arg[0], (int) in->arg[1], (int) in->arg[2]);
	}
}

/*
 * The kernel's doors. Behind those without a machine a call's name is known, but its arguments follow other
 * rules. Another processor is another row here, and its column in the lists of words. What all of them share
 * stands in the code: 64 bits, and flags as clone's first argument.
 */
static const struct door {
	uint32_t arch, bit; /* the bit of the number that tells x32 from x86-64 */
	enum decode_machine machine;
	const char *abi;
} doors[] = {
	{ AUDIT_ARCH_X86_64, X32_BIT, MACHINE_ANY, "x32" },
	{ AUDIT_ARCH_X86_64, 0, MACHINE_X86_64, "x86-64" },
	{ AUDIT_ARCH_AARCH64, 0, MACHINE_ARM64, "arm64" },
	{ AUDIT_ARCH_I386, 0, MACHINE_ANY, "i386" },
	{ AUDIT_ARCH_ARM, 0, MACHINE_ANY, "arm" },
};

static const struct door *door_of(const struct decode_in *in)
{
	static const struct door unknown = { .abi = "?" };

	for (size_t i = 0; i < ARRAY_LEN(doors); i++)
		if (doors[i].arch == in->arch && ((uint32_t) in->nr & doors[i].bit) == doors[i].bit)
			return &doors[i];
	return &unknown;
}

void decode_call(const struct decode_in *in, struct decoded *ret)
{
	memset(ret, 0, offsetof(struct decoded, space));
	const char *name = seccomp_call_name(in->nr, in->arch);
	ret->name = name ? name : keepf(ret, "%u", (uint32_t) in->nr & ~X32_BIT);
	const struct door *door = door_of(in);
	ret->machine = door->machine;
	if (ret->machine == MACHINE_ANY) {
		add_text(ret, "abi", door->abi);
		return;
	}
	const struct call_spec *call = call_spec(ret->name);
	if (!call)
		return;
	ret->kind = call->kind;
	ret->op = call->op;
	for (size_t i = 0; i < 6; i++)
		decode_arg(ret, in, call, i);
	if (ret->kind == DECODE_NETWORK)
		decode_network(ret, in, call);
	if (strcmp(call->name, "creat") == 0) /* is open(2) with these */
		decode_open_flags(ret, NULL, &words_open, O_CREAT | O_WRONLY | O_TRUNC);
}
