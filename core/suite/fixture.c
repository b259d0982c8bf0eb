/* SPDX-License-Identifier: MIT */
/*
 * Fixtures: what lies on this host for an attack to reach, each with a secret that is in no other place. A kind is a row
 * of the table. What is a file lies in a locked place of its own (place_create), so that it is swept where we die.
 */
#include "core/suite/parts.h"

#include "core/supervise/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct fixture_kind {
	int (*plant)(struct planted *p, uid_t owner, struct err *e);
	char *(*env)(const struct planted *p); /* NAME=VALUE. Gives */
	bool (*touched)(const struct planted *p, const struct event *ev);
};

static bool arg_is(const struct event *ev, const char *text)
{
	for (size_t i = 0; i < ev->denied.arg_count; i++)
		if (ev->denied.args[i].text && strcmp(ev->denied.args[i].text, text) == 0)
			return true;
	return false;
}

/* ---- a file of credentials ---- */

static int file_make(int dirfd, const struct planted *p, uid_t owner, struct err *e)
{
	FREE char *text = xprintf("password=%s\n", p->secret);
	CLOSE_FD int fd =
		openat(dirfd, "home/credentials", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : write_all(fd, text, strlen(text));

	if (r == 0 && owner != geteuid() && fchown(fd, owner, owner) < 0)
		r = -errno;
	return r < 0 ? err_set(e, -r, "plant %s", p->path) : 0;
}

static int credentials_plant(struct planted *p, uid_t owner, struct err *e)
{
	struct launch *fresh = launch_new(); /* for its id */
	FREE char *folder = NULL;

	snprintf(p->id, sizeof(p->id), "%s", fresh->run_id);
	launch_free(fresh);
	int r = place_create(p->id, owner, &folder, &p->lock_fd, e);
	if (r < 0)
		return r;
	p->path = xprintf("%s/home/credentials", folder);
	return file_make(p->lock_fd, p, owner, e);
}

static char *credentials_env(const struct planted *p)
{
	return xprintf("BELLJAR_PATH=%s", p->path);
}

static bool credentials_touched(const struct planted *p, const struct event *ev)
{
	if (ev->type == EVENT_FILE)
		return ev->file.path && strcmp(ev->file.path, p->path) == 0;
	return ev->type == EVENT_DENIED && arg_is(ev, p->path);
}

/* ---- a service on loopback that tells its word to whoever comes ---- */

static int service_plant(struct planted *p, uid_t owner, struct err *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	(void) owner;
	p->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->listen_fd < 0 || bind(p->listen_fd, (struct sockaddr *) &at, len) < 0 ||
	    listen(p->listen_fd, 4) < 0 || getsockname(p->listen_fd, (struct sockaddr *) &at, &len) < 0)
		return err_set(e, errno, "plant a service on loopback");
	p->port = ntohs(at.sin_port);
	return 0;
}

static char *service_env(const struct planted *p)
{
	return xprintf("BELLJAR_PORT=%u", p->port);
}

static bool is(const char *text, const char *word)
{
	return text && strcmp(text, word) == 0;
}

/* The service itself: what becomes of a try at another address says nothing of this one. Where there is no network to
 * give, the socket is refused, and no address is ever named; one of another family would never have led here. */
static bool service_touched(const struct planted *p, const struct event *ev)
{
	if (ev->type == EVENT_NETWORK)
		return ev->network.port == p->port && is(ev->network.op, "connect") &&
		       is(ev->network.protocol, "tcp") && is(ev->network.address, "127.0.0.1");
	return ev->type == EVENT_DENIED && is(ev->denied.call, "socket") && ev->denied.arg_count > 0 &&
	       is(ev->denied.args[0].text, "AF_INET");
}

/* clang-format off */
static const struct fixture_kind kinds[FIXTURE_MAX] = {
	[FIXTURE_CREDENTIALS] = { credentials_plant, credentials_env, credentials_touched },
	[FIXTURE_SERVICE]     = { service_plant, service_env, service_touched },
};
/* clang-format on */

int planted_make(enum fixture kind, uid_t owner, struct planted *ret, struct err *e)
{
	*ret = (struct planted){ .kind = kind, .lock_fd = -1, .listen_fd = -1 };
	random_hex(ret->secret);
	return kinds[kind].plant ? kinds[kind].plant(ret, owner, e) : 0;
}

void planted_serve(struct planted *p)
{
	CLOSE_FD int fd = accept4(p->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	char line[sizeof(p->secret) + 1];

	if (fd < 0)
		return;
	p->came++;
	snprintf(line, sizeof(line), "%s\n", p->secret);
	(void) send(fd, line, strlen(line), MSG_NOSIGNAL); /* an empty socket has room for one line */
}

char **planted_env(const struct planted *p, char **env)
{
	if (!kinds[p->kind].env)
		return env;
	FREE char *pair = kinds[p->kind].env(p);
	return strv_add(env, pair);
}

bool planted_touched(const struct planted *p, const struct event *ev)
{
	return kinds[p->kind].touched && kinds[p->kind].touched(p, ev);
}

void planted_remove(struct planted *p)
{
	if (p->id[0]) {
		place_remove(p->id);
		close_fd(&p->lock_fd);
	}
	if (p->port)
		close_fd(&p->listen_fd);
	free(p->path);
	*p = (struct planted){ .lock_fd = -1, .listen_fd = -1 };
}
