/* SPDX-License-Identifier: MIT */
/*
 * Predictions against a root of the test's own: what is said of a call that nobody sees the end of must be what the
 * view makes it, or "unknown".
 */
#include "core/base/base.h"
#include "core/supervise/predict.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
	mkdirat(fd, "etc", 0755);
	close(openat(fd, "etc/open", O_CREAT | O_WRONLY, 0644));
	close(openat(fd, "etc/closed", O_CREAT | O_WRONLY, 0600));
	if (symlinkat("/etc/open", fd, "link") < 0 || symlinkat("/../../../../etc/shadow", fd, "out") < 0)
		return -1;
	r->inst = (struct instance){ .root_dirfd = fd, .launch = &r->launch, .target_uid = 12345 };
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	close(r->inst.root_dirfd);
	(void) dir_remove_tree(AT_FDCWD, r->dir, NULL);
	free(r);
	return 0;
}

static struct prediction ask(struct rig *r, const char *op, const char *path, const char *flag)
{
	static struct decoded call;
	struct prediction p;
	call = (struct decoded){ .op = op, .path = path, .flags = { flag }, .flag_count = 1 };
	predict_file(&r->inst, &call, &p);
	return p;
}

static void test_files(void **state)
{
	const struct {
		const char *op, *path, *flag;
		enum outcome outcome;
		enum layer layer;
	} rows[] = {
		{ "open", "/etc/open", "O_RDONLY", OUTCOME_OPENED, LAYER_NONE },
		{ "open", "/link", "O_RDONLY", OUTCOME_OPENED, LAYER_NONE },
		{ "open", "/etc/closed", "O_RDONLY", OUTCOME_REFUSED, LAYER_NONE },
		{ "open", "/etc/open", "O_RDWR", OUTCOME_REFUSED, LAYER_NONE },
		{ "open", "/etc/nothing-at-all", "O_RDONLY", OUTCOME_ABSENT, LAYER_NONE },
		{ "open", "/etc/passwd", "O_RDONLY", OUTCOME_HIDDEN,
		  LAYER_MOUNT_NS }, /* the host has it, the view does not */
		{ "open", "/out", "O_RDONLY", OUTCOME_UNKNOWN,
		  LAYER_NONE }, /* a link to what only the host has */
		{ "open", "/etc/new", "O_CREAT", OUTCOME_UNKNOWN, LAYER_NONE }, /* it may be made */
		{ "open", "/proc/self/maps", "O_RDONLY", OUTCOME_UNKNOWN,
		  LAYER_NONE }, /* of another self than ours */
		{ "open", "?", "O_RDONLY", OUTCOME_UNKNOWN, LAYER_NONE },
		{ "unlink", "/etc/open", NULL, OUTCOME_UNKNOWN, LAYER_NONE },
	};
	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
		struct prediction p = ask(*state, rows[k].op, rows[k].path, rows[k].flag ? rows[k].flag : "");
		print_message("%s %s %s: %s\n", rows[k].op, rows[k].path, rows[k].flag,
			      outcome_name(p.outcome));
		if (strcmp(rows[k].path, "/out") == 0 && p.outcome != OUTCOME_OPENED)
			continue; /* hidden, absent or unknown are all true; opened would not be */
		assert_int_equal(p.outcome, rows[k].outcome);
		assert_int_equal(p.layer, rows[k].layer);
		assert_int_equal(p.basis, p.outcome == OUTCOME_UNKNOWN ? BASIS_UNKNOWN : BASIS_PREDICTED);
	}
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
		cmocka_unit_test(test_network),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
