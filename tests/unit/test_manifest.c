/* SPDX-License-Identifier: MIT */
/*
 * Manifests: what a good one comes to, and each slip that must be a fault with file and line. The shipped one is read as
 * it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/base.h"
#include "core/model/manifest.h"
#include "core/model/model.h"

#define HEAD "[suite]\nname = s\nsummary = one\n"
#define REST                                                                                \
	"title = A\nsummary = does\nprogram = suite.ini\nlanguage = python\ncontrol = 2s\n" \
	"why_stopped = so\nwhy_not = not\n"
#define LEVELS "expect = subprocess:succeeded, namespaces:stopped\n"
#define GOOD   HEAD "[a]\n" REST LEVELS "proof = 7\nstopped_by = memory space\n"

/* The program of these is the manifest itself: any file beside it does. */
static int parse(const char *text, struct manifest **ret, struct err *e)
{
	FREE char *file = xprintf("%s/examples/attacks/suite.ini", data_folder());

	return manifest_parse(file, text, strlen(text), ret, e);
}

static void test_good(void **state)
{
	struct manifest *m = NULL;
	struct err e;

	(void) state;
	assert_int_equal(parse(GOOD "memory = 64M\nwall = 0.5s\ncontrol_memory = 48M\n", &m, &e), 0);
	assert_string_equal(m->name, "s");
	assert_int_equal(m->attack_count, 1);
	const struct attack *a = &m->attacks[0];
	assert_string_equal(a->name, "a");
	assert_true(a->program[0] == '/' && str_ends(a->program, "/examples/attacks/suite.ini"));
	assert_string_equal(a->proof, "7");
	assert_int_equal(a->fixture, FIXTURE_NONE);
	assert_int_equal(a->control_ns, 2 * NS_PER_S);
	assert_int_equal(a->control_memory, 48 << 20);
	assert_true(a->stopped_by[LIMIT_MEMORY] && a->stopped_by[LIMIT_SPACE] && !a->stopped_by[LIMIT_WALL]);
	assert_true(a->limited[LIMIT_MEMORY] && a->limited[LIMIT_WALL] && !a->limited[LIMIT_CPU]);
	assert_int_equal(a->limit[LIMIT_MEMORY], 64 << 20);
	assert_int_equal(a->limit[LIMIT_WALL], NS_PER_S / 2);
	assert_int_equal(manifest_expects(a, "subprocess"), CELL_SUCCEEDED);
	assert_int_equal(manifest_expects(a, "namespaces"), CELL_STOPPED);
	assert_int_equal(manifest_expects(a, "microvm"), CELL_VERDICT_MAX);
	manifest_free(m);
}

static void test_faults(void **state)
{
	static const struct {
		const char *text, *fault;
	} rows[] = {
		{ "", "suite.ini: needs a [suite] with name and summary\n" },
		{ HEAD, "suite.ini: has no attacks" },
		{ GOOD "programm = x\n", "suite.ini:15: unknown key 'programm'; did you mean 'program'?" },
		{ GOOD "memroy = 1M\n", "suite.ini:15: unknown key 'memroy'; did you mean 'memory'?" },
		{ GOOD "memory = lots\n", "suite.ini:15: " },
		{ GOOD "[a]\n", "suite.ini:15: [a] stands twice" },
		{ GOOD "[A b]\n", "suite.ini:15: " },
		{ GOOD "[../x]\n", "suite.ini:15: '../x' is no name of an attack" },
		{ GOOD "[suite]\n", "suite.ini:15: [suite] comes first, and once" },
		{ HEAD "speed = 1\n", "suite.ini:4: unknown key 'speed'" },
		{ HEAD "[a]\n" REST LEVELS "stopped_by = memory\n",
		  "suite.ini:4: [a] needs either a fixture" },
		{ GOOD "fixture = service\n", "suite.ini:4: [a] needs either a fixture" },
		{ HEAD "[a]\n" REST LEVELS "proof = 7\n", "suite.ini:4: [a] needs 'stopped_by'" },
		{ HEAD "[a]\n" REST LEVELS "proof = 7\nstopped_by = luck\n",
		  "suite.ini:14: stopped_by: 'luck'" },
		{ HEAD "[a]\n" REST LEVELS "proof = 7\nstopped_by = network\n",
		  "suite.ini:4: [a] has no fixture that could be refused" },
		{ HEAD "[a]\n" REST "proof = 7\nstopped_by = cpu\n",
		  "suite.ini:4: [a] expects nothing of any level" },
		{ HEAD "[a]\n" REST "expect = x:stopped x:stopped\n",
		  "suite.ini:12: expect: the level 'x' stands twice" },
		{ HEAD "[a]\n" REST "expect = x:stoped\n", "did you mean 'stopped'?" },
		{ HEAD "[a]\n" REST "expect = x:inconclusiv\n", "'inconclusiv' is not known here\n" },
		{ HEAD "[a]\n" REST "expect = x:inconclusive\n", "suite.ini:12: expect: 'inconclusive'" },
		{ HEAD "[a]\n" REST "expect = stopped\n",
		  "suite.ini:12: expect: 'stopped' is no LEVEL:VERDICT" },
		{ HEAD "[a]\n" REST "expect = ../x:stopped\n", "suite.ini:12: expect: '../x' is no name" },
		{ HEAD "[a]\nprogram = ../x.py\n",
		  "suite.ini:5: program: '../x.py' must be the name of a file" },
		{ HEAD "[a]\nprogram = nowhere.py\n", "suite.ini:5: program: " },
		{ HEAD "[a]\nlanguage = klingon\n", "suite.ini:5: language: " },
		{ HEAD "[a]\ncontrol = 2m\n", "suite.ini:5: control: a control takes a minute at most" },
		{ HEAD "[a]\ntitle =\n", "suite.ini:5: title is empty" },
		{ HEAD "[a]\n", "suite.ini:4: [a] needs 'title'" },
		{ HEAD "[a]\n", "more" }, /* of more than find room the number */
	};

	(void) state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct manifest *m = NULL;
		struct err e = { 0 };
		assert_int_equal(parse(rows[i].text, &m, &e), -22);
		assert_null(m);
		if (!strstr(e.text, rows[i].fault))
			fail_msg("row %zu: %s", i, e.text);
	}
}

static void test_too_many(void **state)
{
	struct buf text = { 0 };
	struct manifest *m = NULL;
	struct err e;

	(void) state;
	buf_str(&text, HEAD);
	for (int i = 0; i < SUITE_ATTACKS_MAX; i++)
		buf_printf(&text, "[a%d]\n" REST LEVELS "proof = 7\nstopped_by = memory\n", i);
	assert_int_equal(parse(text.data, &m, &e), 0);
	assert_int_equal(m->attack_count, SUITE_ATTACKS_MAX);
	m = manifest_free(m);
	buf_str(&text, "[more]\n" REST LEVELS "proof = 7\nstopped_by = memory\n");
	assert_int_equal(parse(text.data, &m, &e), -22);
	assert_non_null(strstr(e.text, "more than 64 attacks"));
	buf_done(&text);
}

static void test_only(void **state)
{
	const char *const names[] = { "b", NULL }, *const wrong[] = { "bb", NULL };
	struct manifest *m = NULL;
	struct err e;

	(void) state;
	assert_int_equal(parse(GOOD "[b]\n" REST LEVELS "fixture = service\nstopped_by = network\n", &m, &e),
			 0);
	assert_int_equal(manifest_only(m, wrong, &e), -22);
	assert_non_null(strstr(e.text, "'bb'"));
	assert_int_equal(m->attack_count, 2);
	assert_int_equal(manifest_only(m, names, &e), 0);
	assert_int_equal(m->attack_count, 1);
	assert_string_equal(m->attacks[0].name, "b");
	manifest_free(m);
}

static void test_standard(void **state)
{
	static const char *const expected[][3] = {
		{ "infinite-loop", "stopped", "stopped" },      { "allocate-512m", "stopped", "stopped" },
		{ "fork-flood", "succeeded", "stopped" },       { "write-50m", "stopped", "stopped" },
		{ "read-credentials", "succeeded", "stopped" }, { "connect-loopback", "stopped", "stopped" },
	};
	struct manifest *m = NULL;
	struct err e = { 0 };

	(void) state;
	if (manifest_load(NULL, &m, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(m->attack_count, ARRAY_LEN(expected));
	for (size_t i = 0; i < m->attack_count; i++) {
		const struct attack *a = &m->attacks[i];
		assert_string_equal(a->name, expected[i][0]);
		assert_string_equal(cell_verdict_name(manifest_expects(a, "subprocess")), expected[i][1]);
		assert_string_equal(cell_verdict_name(manifest_expects(a, "namespaces")), expected[i][2]);
		assert_true(strlen(a->why_stopped) < 240 && strlen(a->why_not) < 240);
	}
	manifest_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good), cmocka_unit_test(test_faults),   cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_only), cmocka_unit_test(test_standard),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
