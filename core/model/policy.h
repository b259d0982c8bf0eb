/* SPDX-License-Identifier: MIT */
/*
 * Policy: the parsed form of a preset, everything that a run is allowed and limited to. Presets are INI files; an
 * unknown section, key or value is an error with file, line and the nearest known name; `belljar preset keys` lists them.
 */
#pragma once

/* clang-format off */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct buf;

enum limit_name {
	LIMIT_WALL,       /* ns */
	LIMIT_CPU,        /* ns */
	LIMIT_CPUS,       /* thousandths of a core */
	LIMIT_MEMORY,     /* bytes, whole tree */
	LIMIT_PROCESSES,  /* tasks: threads count */
	LIMIT_OPEN_FILES, /* descriptors a process */
	LIMIT_FILE_SIZE,  /* bytes, one file */
	LIMIT_SPACE,      /* bytes, all writable places together */
	LIMIT_INODES,     /* files and folders in them */
	LIMIT_OUTPUT,     /* bytes, stdout and stderr together */
	LIMIT_MAX,
};
#define UNLIMITED UINT64_MAX

enum limit_unit { UNIT_TIME, UNIT_CORES, UNIT_BYTES, UNIT_COUNT };
struct limit_kind {
	const char *name;    /* as in presets and events: "open_files" */
	const char *option;  /* as on the command line: "open-files" */
	const char *means;   /* one phrase for a person */
	enum limit_unit unit;
	uint64_t least;      /* smaller values are refused: nothing could start */
};
extern const struct limit_kind limit_kinds[LIMIT_MAX];

/* limit_parse: "256M", "1.5s", "0.5", "64", "unlimited". Returns 0 or -EINVAL with the reason and an example.
 * limit_format: the shortest form that parses back to the same value. Returns buf. */
int limit_parse(enum limit_name name, const char *text, uint64_t *ret_value, struct err *e);
const char *limit_format(enum limit_name name, uint64_t value, char *buf, size_t size);

enum on_output_limit { OUTPUT_DROP, OUTPUT_STOP };
enum require { REQUIRE_ANY, REQUIRE_KERNEL };
enum network_policy { NETWORK_NONE, NETWORK_HOST };
enum on_denied { DENIED_ERRNO, DENIED_KILL, DENIED_ASK };
enum observe_files { FILES_OFF, FILES_ATTEMPTS };
enum accel { ACCEL_AUTO, ACCEL_KVM, ACCEL_TCG };

/* One row of a syscall set: calls of one purpose and what becomes of them. */
enum syscall_action { SYSCALL_ALLOW, SYSCALL_REFUSE /* EPERM */, SYSCALL_ABSENT /* ENOSYS */ };
struct syscall_group {
	char *rule;    /* "default:debug": what an event's `rule` says */
	char *means;   /* for a person: "looking into and steering other processes" */
	enum syscall_action action;
	char **calls;
};
/* A set as kept in presets/syscalls/NAME.ini, its `extends` already merged. Later groups win over earlier ones. */
struct syscall_set {
	char *name, *summary, *file;
	struct syscall_group *groups;
	size_t group_count;
	struct syscall_index *index; /* from a call's name to its group; NULL: not loaded from a file, searched */
};

struct policy {
	char *name, *summary, *backend;
	char *file;              /* where it came from, for messages */
	uint64_t limit[LIMIT_MAX];
	enum on_output_limit on_output_limit;
	enum require require;
	char *root;              /* "host-usr", "host" (as it is: levels without a view of their own), a folder or an image */
	char **read_only, **writable;
	enum network_policy network;
	struct syscall_set *syscalls;
	char **deny, **allow;    /* call names that the preset itself takes away or gives */
	enum on_denied on_denied;
	char **pass;             /* names of environment variables */
	uint32_t run_as;         /* host uid and gid of the target when belljar runs as root; 65534 unless the preset says otherwise */
	struct {
		bool denied, network, exec;
		enum observe_files files;
	} observe;
	struct {
		enum accel accel;
		char **languages;
		uint32_t spare;
	} microvm;
};

struct policy *policy_free(struct policy *p); /* accepts NULL, returns NULL */

/*
 * preset_load: by name (user's folder first, then the shipped ones) or, when the word has a slash, by file.
 * Gives: *ret, freed with policy_free. Returns 0; -ENOENT with the nearest known name; -EINVAL with file:line.
 */
int preset_load(const char *name_or_file, struct policy **ret, struct err *e);
/* preset_names: all that can be loaded by name, sorted, without doubles. Gives: strv. */
char **preset_names(void);
/* preset_check: every fault of a file, one line each ("FILE:LINE: …"), appended to `faults`. Returns how many. */
int preset_check(const char *name_or_file, struct buf *faults, struct err *e);
/* preset_keys_describe: every key that a preset may have, a line each: its values and what it means. */
void preset_keys_describe(struct buf *out);
/* policy_describe: in words, one line a fact, for `preset show`. policy_diff: lines "- …" and "+ …"; 0 when equal. */
void policy_describe(const struct policy *p, struct buf *out);
int policy_diff(const struct policy *a, const struct policy *b, struct buf *out);

/*
 * preset_grant: the text of a preset that allows one thing more than `p`, by which it was refused. Of a text that is
 * there, everything else stays as it stands; one that has a fault, or is no child of `base`, is refused (-EINVAL,
 * -EEXIST). -EPERM, -ENOENT, -EINVAL also for what no preset can give. Appended to `out`.
 */
enum grant_kind { GRANT_CALL, GRANT_PATH /* read-only */, GRANT_NETWORK /* all of the host's */ };
struct preset_grant {
	enum grant_kind kind;
	const char *what; /* name of the call, path; NULL: network */
};
struct preset_text {
	const char *name, *base; /* of the preset that is written, and of the one that it extends; may be the same */
	const char *text;        /* NULL: there is none yet */
	size_t len;
};
int preset_grant(const struct policy *p, const struct preset_grant *g, const struct preset_text *text,
		 struct buf *out, struct err *e);

/* policy_verdict_of: what becomes of a call under this policy, and by which rule ("" where no group names it, and the
 * call is then answered ENOSYS as unknown). */
enum syscall_action policy_syscall(const struct policy *p, const char *call, const char **ret_rule);

/* data_folder: where presets/ and examples/ of this program are (beside the build folder, or under PREFIX/share). */
const char *data_folder(void);
/* guest_folder: where the parts of a microVM's guest are (in the build folder, or under PREFIX/libexec). */
const char *guest_folder(void);
/* xdg_folder: "$XDG_CONFIG_HOME/belljar" and its kin, the variable's default where it is unset, created 0700 on `make`.
 * Gives: the caller frees; NULL with an error when there is no HOME either. */
enum xdg { XDG_CONFIG, XDG_STATE, XDG_CACHE, XDG_RUNTIME };
char *xdg_folder(enum xdg which, const char *below, bool make, struct err *e);
