/* SPDX-License-Identifier: MIT */
/*
 * One try of an attack: its code as a launch, what is planted for it, and what its witness would be. Made alike for the
 * control and for each level.
 */
#include "core/suite/parts.h"

#include "core/supervise/supervise.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* A limit that the attack brings along makes the preset's tighter, never looser. */
static void limits_tighten(const struct attack *a, struct policy *p)
{
	for (int n = 0; n < LIMIT_MAX; n++)
		if (a->limited[n] && a->limit[n] < p->limit[n])
			p->limit[n] = a->limit[n];
}

static int code_load(const struct attack *a, struct launch *l, struct err *e)
{
	FREE char *code = NULL;
	size_t len;
	int r = file_read(AT_FDCWD, a->program, CODE_MAX, &code, &len, e);

	if (r < 0)
		return r;
	l->language = language_by_name(a->language);
	l->title = xstrdup(a->name);
	return launch_set_code(l, code, len, NULL, e);
}

/* With a fixture the witness is the secret that lies there; else a digest of what was done, and of a nonce that was not
 * known before. */
static void token_expect(struct attempt *a, const char *nonce)
{
	a->hearing = (struct hearing){ .name = a->attack->name };
	if (a->attack->fixture != FIXTURE_NONE) {
		snprintf(a->hearing.token, sizeof(a->hearing.token), "%s", a->planted.secret);
		return;
	}
	FREE char *text = xprintf("%s %s", nonce, a->attack->proof);
	sha256_hex(text, strlen(text), a->hearing.token);
}

int attempt_make(const struct attack *attack, struct policy *policy, struct attempt *ret, struct err *e)
{
	struct attempt *a = ret;
	char nonce[33];
	int r;

	*a = (struct attempt){ .attack = attack, .launch = launch_new() };
	a->launch->policy = policy;
	a->owner = run_target_uid(a->launch);
	limits_tighten(attack, policy);
	if ((r = planted_make(attack->fixture, a->owner, &a->planted, e)) < 0 ||
	    (r = code_load(attack, a->launch, e)) < 0)
		return r;
	random_hex(nonce);
	token_expect(a, nonce);
	FREE char *pair = xprintf("BELLJAR_NONCE=%s", nonce);
	a->launch->env = planted_env(&a->planted, strv_add(NULL, pair));
	return 0;
}

void attempt_done(struct attempt *a)
{
	planted_remove(&a->planted);
	a->launch = launch_free(a->launch);
}
