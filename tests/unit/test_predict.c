/* SPDX-License-Identifier: MIT */
/*
 * Predictions against a root of the test's own: what is said of a call that nobody sees the end of must be what the
 * view makes it, or "unknown".
 */
#include "core/base/base.h"
#include "core/supervise/predict.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

struct rig {
	char dir[32];
	struct instance inst;
	struct launch launch;
};

static int setup(void **state)
{
	struct rig *r = xcalloc(1, sizeof(*r));
	strcpy(r->dir, "/tmp/bj-predict-XXXXXX");
	if (!mkdtemp(r->dir))
		return -1;
	int fd = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fchmod(fd, 0755); /* a target of another user finds what is in it */
	mkdirat(fd, "etc", 0755);
	mkdirat(fd, "shut", 0755);
	close(openat(fd, "etc/open", O_CREAT | O_WRONLY, 0444));
	close(openat(fd, "etc/closed", O_CREAT | O_WRONLY, 0000));
	close(openat(fd, "etc/program", O_CREAT | O_WRONLY, 0777));
	close(openat(fd, "shut/inside", O_CREAT | O_WRONLY, 0444));
	if (fchmodat(fd, "etc/program", 0777, 0) < 0 || fchmodat(fd, "shut", 0000, 0) < 0 ||
	    mkfifoat(fd, "fifo", 0644) < 0)
		return -1;
	if (symlinkat("/etc/open", fd, "link") < 0 || symlinkat("/../../../../etc/shadow", fd, "out") < 0 ||
	    symlinkat("/proc/self/status", fd, "status") < 0 || symlinkat("/proc", fd, "processes") < 0)
		return -1;
	r->inst = (struct instance){ .root_dirfd = fd, .launch = &r->launch, .target_uid = geteuid() };
	if (geteuid() == 0)
		r->inst.target_uid = r->inst.target_gid = 12345; /* root looks with another's eyes */
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	assert_int_equal(fchmodat(r->inst.root_dirfd, "shut", 0700, 0), 0);
	close(r->inst.root_dirfd);
	(void) dir_remove_tree(AT_FDCWD, r->dir, NULL);
	free(r);
	return 0;
}

struct row {
	const char *op, *path, *flags[3];
	enum outcome outcome;
	enum layer layer;
};

static struct sight sight;

static struct prediction ask(const struct instance *i, const struct row *row)
{
	static struct decoded call;
	struct prediction p;
	call = (struct decoded){ .name = "openat", .op = row->op, .path = row->path };
	while (call.flag_count < ARRAY_LEN(row->flags) && row->flags[call.flag_count]) {
		call.flags[call.flag_count] = row->flags[call.flag_count];
		call.flag_count++;
	}
	predict_file(&sight, i, &call, &p);
	sight_done(&sight);
	return p;
}

static void check(const struct instance *i, const struct row *rows, size_t count)
{
	for (size_t k = 0; k < count; k++) {
		struct prediction p = ask(i, &rows[k]);
		print_message("%s %s %s: %s\n", rows[k].op, rows[k].path,
			      rows[k].flags[0] ? rows[k].flags[0] : "", outcome_name(p.outcome));
		assert_int_equal(p.outcome, rows[k].outcome);
		assert_int_equal(p.layer, rows[k].layer);
		assert_int_equal(p.basis, p.outcome == OUTCOME_UNKNOWN ? BASIS_UNKNOWN : BASIS_PREDICTED);
	}
}

#define OPEN(path, ...)     \
	"open", path,       \
	{                   \
		__VA_ARGS__ \
	}
#define UNKNOWN OUTCOME_UNKNOWN, LAYER_NONE
#define OPENED  OUTCOME_OPENED, LAYER_NONE
#define REFUSED OUTCOME_REFUSED, LAYER_NONE
#define ABSENT  OUTCOME_ABSENT, LAYER_NONE
#define HIDDEN  OUTCOME_HIDDEN, LAYER_MOUNT_NS

static void test_files(void **state)
{
	static const struct row rows[] = {
		{ OPEN("/etc/open", "O_RDONLY"), OPENED },
		{ OPEN("/link", "O_RDONLY"), OPENED },
		{ OPEN("/etc/../link", "O_RDONLY"), OPENED },
		{ OPEN("/etc/closed", "O_RDONLY"), REFUSED },
		{ OPEN("/etc/open", "O_RDWR"), REFUSED },
		{ OPEN("/etc/open", "O_RDONLY", "O_TRUNC"), REFUSED },
		{ OPEN("/etc", "O_RDONLY", "O_DIRECTORY"), OPENED },
		{ OPEN("/shut", "O_RDONLY", "O_DIRECTORY"), REFUSED },
		{ OPEN("/shut/inside", "O_RDONLY"),
		  REFUSED }, /* its own mode allows it, the folder does not */
		{ OPEN("/shut/nothing", "O_RDONLY"), REFUSED },
		{ OPEN("/etc/nothing-at-all", "O_RDONLY"), ABSENT },
		{ OPEN("/etc/open/below", "O_RDONLY"), ABSENT },
		{ OPEN("/etc/nothing-at-all", "O_WRONLY"), ABSENT }, /* it is not made without O_CREAT */
		{ OPEN("/nowhere/new", "O_WRONLY", "O_CREAT"), ABSENT },
		{ OPEN("/etc/passwd", "O_RDONLY"), HIDDEN }, /* the host has it, the view does not */
		{ OPEN("/./etc//passwd", "O_RDONLY"), HIDDEN },
		{ OPEN("/etc/new", "O_WRONLY", "O_CREAT"), UNKNOWN },  /* it may be made */
		{ OPEN("/etc/new/", "O_WRONLY", "O_CREAT"), UNKNOWN }, /* EISDIR */
		{ OPEN("/out", "O_RDONLY"), UNKNOWN },                 /* a link to what is not there */
		{ OPEN("/status", "O_RDONLY"), UNKNOWN },
		{ OPEN("/etc", "O_WRONLY"), UNKNOWN }, /* EISDIR */
		{ OPEN("/etc/open", "O_RDONLY", "O_DIRECTORY"), UNKNOWN },
		{ OPEN("/link", "O_RDONLY", "O_NOFOLLOW"), UNKNOWN },
		{ OPEN("/etc/closed", "O_RDONLY", "O_PATH"), UNKNOWN },
		{ OPEN("/etc/open", "O_RDONLY", "O_CREAT", "O_EXCL"), UNKNOWN },
		{ OPEN("/etc/program", "O_RDONLY"), OPENED },
		{ OPEN("/etc/program", "O_WRONLY"), UNKNOWN }, /* ETXTBSY while it is executed */
		{ OPEN("/fifo", "O_RDONLY"), UNKNOWN },
		{ OPEN("?", "O_RDONLY"), UNKNOWN },
		{ "remove", "/etc/open", { NULL }, UNKNOWN },
		{ "rename", "/etc/nothing-at-all", { NULL }, UNKNOWN },
		{ "mkdir", "/etc/new", { NULL }, UNKNOWN },
	};
	const struct rig *r = *state;
	check(&r->inst, rows, ARRAY_LEN(rows));
}

/* Without a view of its own the target sees the host's files, but each process another /proc. */
static void test_files_of_the_host(void **state)
{
	static const struct row rows[] = {
		{ OPEN("/etc/passwd", "O_RDONLY"), OPENED },
		{ OPEN("/etc/passwd", "O_WRONLY"), REFUSED },
		{ OPEN("/etc/nothing-at-all", "O_RDONLY"), ABSENT },
		{ OPEN("/dev/null", "O_RDWR"), OPENED },
		{ OPEN("/dev/tty", "O_RDONLY"), UNKNOWN },
		{ OPEN("/proc/self/maps", "O_RDONLY"), UNKNOWN },
		{ OPEN("/./proc/self/environ", "O_RDONLY"), UNKNOWN },
		{ OPEN("//proc/nothing-at-all", "O_RDONLY"), UNKNOWN },
		{ OPEN("/etc/../proc/self/nothing/at/all", "O_RDONLY"), UNKNOWN },
		{ OPEN("/dev/fd/0", "O_RDONLY"), UNKNOWN },
	};
	struct rig *r = *state;
	char path[3][64];
	const struct row links[] = {
		{ OPEN(path[0], "O_RDONLY"), UNKNOWN },
		{ OPEN(path[1], "O_RDONLY"), UNKNOWN },
		{ OPEN(path[2], "O_RDONLY"), REFUSED }, /* a folder that root could search */
	};
	snprintf(path[0], sizeof(path[0]), "%s/status", r->dir);
	snprintf(path[1], sizeof(path[1]), "%s/processes/self/none", r->dir);
	snprintf(path[2], sizeof(path[2]), "%s/shut/none", r->dir);
	struct instance host = r->inst;
	host.root_dirfd = -1;
	check(&host, rows, ARRAY_LEN(rows));
	check(&host, links, ARRAY_LEN(links));
}

/* Looking as somebody else ends with the look. */
static void test_we_stay_who_we_are(void **state)
{
	static const struct row row = { OPEN("/etc/closed", "O_RDONLY"), REFUSED };
	const struct rig *r = *state;
	int groups = getgroups(0, NULL);
	check(&r->inst, &row, 1);
	assert_int_equal(setfsuid((uid_t) -1), geteuid());
	assert_int_equal(setfsgid((gid_t) -1), getegid());
	assert_int_equal(getgroups(0, NULL), groups);
	int fd = openat(r->inst.root_dirfd, "etc/closed", O_RDONLY | O_CLOEXEC);
	assert_true(geteuid() == 0 ? fd >= 0 : fd < 0);
	close(fd);
}

/* A path that could not be read whole, a walk by rules of its own: nothing is said of either. */
static void test_what_was_not_read_whole(void **state)
{
	static struct decoded call;
	const struct rig *r = *state;
	struct event_arg resolve = { .key = "resolve", .text = "RESOLVE_IN_ROOT" };
	struct prediction p;
	call = (struct decoded){ .name = "openat2", .op = "open", .path = "/etc/open", .cut = true };
	predict_file(&sight, &r->inst, &call, &p);
	assert_int_equal(p.outcome, OUTCOME_UNKNOWN);
	call.cut = false;
	predict_file(&sight, &r->inst, &call, &p);
	assert_int_equal(p.outcome, OUTCOME_OPENED);
	call.args[call.arg_count++] = resolve;
	predict_file(&sight, &r->inst, &call, &p);
	assert_int_equal(p.outcome, OUTCOME_UNKNOWN);
	call = (struct decoded){ .name = "creat", .op = "open", .path = "/etc/new" };
	predict_file(&sight, &r->inst, &call, &p); /* has no flags, and makes what is not there */
	assert_int_equal(p.outcome, OUTCOME_UNKNOWN);
}

/* ---- a folder that was reached before, on a mount that the target cannot write to ---- */

static enum outcome outcome_of(const struct rig *r, const char *path)
{
	static struct decoded call;
	struct prediction p;
	call = (struct decoded){ .name = "openat", .op = "open", .path = path };
	predict_file(&sight, &r->inst, &call, &p);
	return p.outcome;
}

static bool is_known(const char *folder)
{
	for (size_t k = 0; k < SIGHT_FOLDERS; k++)
		if (sight.folder[k].path && strcmp(sight.folder[k].path, folder) == 0)
			return sight.folder[k].fd >= 0;
	return false;
}

/* u:12345:---, with the rest as the mode 0444 has it: see <linux/posix_acl_xattr.h> */
static const struct {
	uint32_t version;
	struct {
		uint16_t tag, mode;
		uint32_t id;
	} entry[5];
} closed_to_target = { 2,
		       { { 0x01, 4, UINT32_MAX },
			 { 0x02, 0, 12345 },
			 { 0x04, 4, UINT32_MAX },
			 { 0x10, 4, UINT32_MAX },
			 { 0x20, 4, UINT32_MAX } } };

/* In a mount namespace of its own. */
static bool read_only_here(struct rig *r)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(r->dir, r->dir, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, r->dir, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0)
		return false;
	r->inst.root_dirfd = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return r->inst.root_dirfd >= 0;
}

static int look_again(struct rig *r)
{
	int fd = openat(r->inst.root_dirfd, "etc/listed", O_CREAT | O_WRONLY | O_CLOEXEC, 0444);
	bool lists =
		fsetxattr(fd, "system.posix_acl_access", &closed_to_target, sizeof(closed_to_target), 0) == 0;
	close(fd);
	if (!read_only_here(r))
		return 2;
	for (int k = 0; k < 3; k++)
		if (outcome_of(r, "/etc/open") != OUTCOME_OPENED ||
		    outcome_of(r, "/link") != OUTCOME_OPENED ||
		    outcome_of(r, "/etc/closed") != OUTCOME_REFUSED ||
		    outcome_of(r, "/etc/none") != OUTCOME_ABSENT ||
		    outcome_of(r, "/shut/inside") != OUTCOME_REFUSED ||
		    (lists && outcome_of(r, "/etc/listed") != OUTCOME_REFUSED))
			return 3;
	if (is_known("/shut/") ||
	    (!is_known("/etc/") && syscall(464, -1, "", 0, "", NULL, 0) < 0 && errno != ENOSYS))
		return 4;
	sight_done(&sight);
	return is_known("/etc/") ? 5 : 0;
}

static void test_a_folder_that_was_reached(void **state)
{
	int status;
	if (geteuid() != 0)
		skip(); /* a mount of the test's own takes root, and a target of another user */
	pid_t pid = fork();
	if (pid == 0)
		_exit(unshare(CLONE_NEWNS) < 0 ? 77 : look_again(*state));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_network(void **state)
{
	const struct network_view none = { OUTCOME_UNREACHABLE, LAYER_NET_NS, true, true },
				  cut = { OUTCOME_UNREACHABLE, LAYER_NET_NS, false, false },
				  host = { OUTCOME_UNKNOWN, LAYER_NONE, false, false };
	const struct {
		const struct network_view *view;
		const char *family, *address, *op;
		enum outcome outcome;
	} rows[] = {
		{ &none, "inet", "192.0.2.1", "connect", OUTCOME_UNREACHABLE },
		{ &none, "inet6", "2001:db8::1", "sendto", OUTCOME_UNREACHABLE },
		{ &none, "inet", "127.0.0.1", "connect",
		  OUTCOME_UNKNOWN }, /* its own loopback: who listens is not ours to know */
		{ &none, "inet6", "::1", "connect", OUTCOME_UNKNOWN },
		{ &none, "inet6", "::ffff:127.0.0.1", "connect", OUTCOME_UNKNOWN },
		{ &none, "inet", "0.0.0.0", "bind", OUTCOME_UNKNOWN },
		{ &none, "inet", "0.0.0.0", "connect", OUTCOME_UNKNOWN }, /* leads to loopback */
		{ &none, "inet6", "::", "connect", OUTCOME_UNKNOWN },
		{ &none, "inet6", "::ffff:0.0.0.0", "sendto", OUTCOME_UNKNOWN },
		{ &none, "inet6", "::2", "connect", OUTCOME_UNREACHABLE },
		{ &none, "inet6", "::ffff:192.0.2.1", "connect", OUTCOME_UNREACHABLE },
		{ &none, "inet", "?", "connect", OUTCOME_UNKNOWN }, /* it could not be read */
		{ &cut, "inet", "0.0.0.0", "connect", OUTCOME_UNREACHABLE },
		{ &none, "unix", "/run/x", "connect", OUTCOME_UNKNOWN },
		{ &cut, "inet", "127.0.0.1", "connect",
		  OUTCOME_UNREACHABLE }, /* a socket that has no network at all */
		{ &host, "inet", "192.0.2.1", "connect", OUTCOME_UNKNOWN },
	};
	(void) state;
	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
		const struct decode_addr a = { .family = rows[k].family,
					       .address = rows[k].address,
					       .port = 80 };
		struct prediction p;
		predict_network(rows[k].view, &a, rows[k].op, &p);
		assert_int_equal(p.outcome, rows[k].outcome);
		assert_int_equal(p.layer, p.outcome == OUTCOME_UNREACHABLE ? LAYER_NET_NS : LAYER_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files_of_the_host, setup, teardown),
		cmocka_unit_test_setup_teardown(test_we_stay_who_we_are, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_was_not_read_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_folder_that_was_reached, setup, teardown),
		cmocka_unit_test(test_network),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
