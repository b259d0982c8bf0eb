/* SPDX-License-Identifier: MIT */
/*
 * A suite as its front end holds it: the other end of the conductor's socket.
 */
#include "core/suite/parts.h"

#include "core/supervise/supervise.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct suite_run {
	struct manifest *manifest;
	char **presets;
	bool asked; /* they were named, not found */
	int fd;
	pid_t conductor;
	bool over; /* the last message was delivered */
};

/* Each level that the manifest speaks of and that is installed, in the manifest's order. */
static char **levels_of(const struct manifest *m)
{
	char **installed = preset_names(), **levels = NULL;

	for (size_t i = 0; i < m->attack_count; i++)
		for (size_t k = 0; k < m->attacks[i].expect_count; k++) {
			const char *level = m->attacks[i].expect[k].level;
			if (strv_has(installed, level) && !strv_has(levels, level))
				levels = strv_add(levels, level);
		}
	strv_free(installed);
	return levels;
}

static int presets_check(char *const *presets, struct err *e)
{
	size_t count = strv_len(presets);

	if (count == 0 || count > SUITE_PRESETS_MAX)
		return err_say(e, EINVAL, "%s",
			       count ? "too many presets: eight at most"
				     : "there is no preset to run it under");
	for (size_t i = 0; i < count; i++) {
		struct policy *policy = NULL;
		int r = preset_load(presets[i], &policy, e);
		policy_free(policy);
		if (r < 0)
			return r;
		for (size_t k = 0; k < i; k++)
			if (strcmp(presets[i], presets[k]) == 0)
				return err_say(e, EINVAL, "the preset \"%s\" was given twice", presets[i]);
	}
	return 0;
}

static int prepare(const struct suite_want *want, struct suite_run *s, struct err *e)
{
	int r = manifest_load(want->manifest, &s->manifest, e);

	if (r < 0 || (want->only && (r = manifest_only(s->manifest, want->only, e)) < 0))
		return r;
	s->asked = want->presets != NULL;
	s->presets = want->presets ? strv_dup((char *const *) want->presets) : levels_of(s->manifest);
	return presets_check(s->presets, e);
}

int suite_start(const struct suite_want *want, struct suite_run **ret, struct err *e)
{
	struct suite_run *s = xcalloc(1, sizeof(*s));
	int fds[2], r;

	s->fd = -1;
	if ((r = prepare(want, s, e)) < 0 || (r = wire_pair(fds, e)) < 0) {
		suite_free(s);
		return r;
	}
	s->fd = fds[0];
	s->conductor = fork();
	if (s->conductor == 0) {
		const struct conducted what = { s->manifest, suite_presets(s), s->asked };
		close(fds[0]);
		conductor_main(&what, fds[1]);
	}
	close(fds[1]);
	if (s->conductor < 0) {
		r = err_set(e, errno, "start the process of the suite");
		suite_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

const struct manifest *suite_manifest(const struct suite_run *s)
{
	return s->manifest;
}

const char *const *suite_presets(const struct suite_run *s)
{
	return (const char *const *) s->presets;
}

int suite_fd(const struct suite_run *s)
{
	return s->fd;
}

int suite_next(struct suite_run *s, struct suite_msg *ret)
{
	if (s->over)
		return -EPIPE;
	ssize_t n = wire_recv(s->fd, ret, sizeof(*ret));
	if (n == -EAGAIN)
		return 0;
	if (n != (ssize_t) sizeof(*ret))
		*ret = (struct suite_msg){ .step = SUITE_ERROR,
					   .text = "the process that ran the suite died" };
	s->over = ret->step == SUITE_DONE || ret->step == SUITE_ERROR;
	return 1;
}

struct suite_run *suite_free(struct suite_run *s)
{
	if (!s)
		return NULL;
	close_fd(&s->fd); /* the conductor sees the end, ends what runs and cleans up */
	while (s->conductor > 0 && waitpid(s->conductor, NULL, 0) < 0 && errno == EINTR)
		;
	manifest_free(s->manifest);
	strv_free(s->presets);
	free(s);
	return NULL;
}
