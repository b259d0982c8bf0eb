/* SPDX-License-Identifier: MIT */
/*
 * Planted credentials. Their forms are those that scanners of stolen secrets look for, so that hostile code takes them
 * for what they pretend to be; nothing accepts them.
 */
#include "core/backend/canary.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/* %s is the word of the file, letters and digits that are allowed in all of these. */
static const struct {
	const char *path, *text;
} files[CANARY_FILES] = {
	{ ".aws/credentials",
	  "[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = %s\n" },
	{ ".ssh/id_ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\n%s\n-----END OPENSSH PRIVATE KEY-----\n" },
	{ ".netrc", "machine example.com login agent password %s\n" },
	{ ".git-credentials", "https://agent:%s@example.com\n" },
	{ ".npmrc", "//registry.example.com/:_authToken=%s\n" },
	{ ".config/gh/hosts.yml", "example.com:\n    user: agent\n    oauth_token: gho_%s\n" },
	{ ".docker/config.json", "{\"auths\":{\"registry.example.com\":{\"auth\":\"%s\"}}}\n" },
	{ ".pypirc", "[pypi]\nusername = __token__\npassword = pypi-%s\n" },
	{ ".config/gcloud/application_default_credentials.json",
	  "{\"type\":\"authorized_user\",\"client_id\":\"agent\",\"refresh_token\":\"%s\"}\n" },
	{ ".env", "API_KEY=%s\n" },
	{ ".kube/config", "apiVersion: v1\nusers:\n- name: agent\n  user:\n    token: %s\n" },
};

void canary_of(struct canary *c, const char *nonce)
{
	snprintf(c->nonce, sizeof(c->nonce), "%s", nonce);
	for (size_t k = 0; k < CANARY_FILES; k++) {
		const char *at = strstr(files[k].text, "%s");
		c->text[k] = xprintf("%.*s%c%s%s", (int) (at - files[k].text), files[k].text, alphabet[k],
				     c->nonce, at + 2);
	}
}

void canary_make(struct canary *c)
{
	uint8_t random[CANARY_NONCE];
	char nonce[CANARY_NONCE + 1];
	if (getrandom(random, sizeof(random), 0) != (ssize_t) sizeof(random))
		abort(); /* up to 256 bytes never fall short, getrandom(2) */
	for (size_t k = 0; k < CANARY_NONCE; k++)
		nonce[k] = alphabet[random[k] % 32];
	nonce[CANARY_NONCE] = 0;
	canary_of(c, nonce);
}

void canary_done(struct canary *c)
{
	for (size_t k = 0; k < CANARY_FILES; k++)
		free(c->text[k]);
	*c = (struct canary){ 0 };
}

const char *canary_file(const struct canary *c, size_t k, const char **ret_text)
{
	if (!c->nonce[0] || k >= CANARY_FILES)
		return NULL;
	*ret_text = c->text[k];
	return files[k].path;
}

static int folder_open(int home_dirfd, const char *path, uid_t owner, int *ret_fd, struct err *e)
{
	CLOSE_FD int fd = openat(home_dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (const char *slash; fd >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		FREE char *name = xstrndup(path, (size_t) (slash - path));
		if (mkdirat(fd, name, 0700) < 0 && errno != EEXIST)
			return err_set(e, errno, "make %s for a planted credential", name);
		if (owner != geteuid() && fchownat(fd, name, owner, owner, AT_SYMLINK_NOFOLLOW) < 0)
			return err_set(e, errno, "give %s to the target", name);
		int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close_fd(&fd);
		fd = next;
	}
	if (fd < 0)
		return err_set(e, errno, "open a folder for planted credentials");
	*ret_fd = take_fd(&fd);
	return 0;
}

int canary_plant(const struct canary *c, int home_dirfd, uid_t owner, struct err *e)
{
	const char *path, *text;
	for (size_t k = 0; (path = canary_file(c, k, &text)); k++) {
		CLOSE_FD int dir = -1;
		const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
		int r = folder_open(home_dirfd, path, owner, &dir, e);
		if (r < 0)
			return r;
		CLOSE_FD int fd =
			openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 || write_all(fd, text, strlen(text)) < 0 ||
		    (owner != geteuid() && fchown(fd, owner, owner) < 0))
			return err_set(e, errno, "plant %s", path);
	}
	return 0;
}

const char *canary_find(const struct canary *c, const char **bytes, size_t *len)
{
	const char *at = c->nonce[0] ? memmem(*bytes, *len, c->nonce, CANARY_NONCE) : NULL;
	if (!at)
		return NULL;
	const char *which = at > *bytes && at[-1] ? strchr(alphabet, at[-1]) : NULL;
	size_t k = which ? (size_t) (which - alphabet) : CANARY_FILES;
	*len -= (size_t) (at - *bytes) + CANARY_NONCE;
	*bytes = at + CANARY_NONCE;
	return k < CANARY_FILES ? files[k].path : "credential";
}
