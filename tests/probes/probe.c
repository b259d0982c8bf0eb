/* SPDX-License-Identifier: MIT */
/*
 * probe: one static program that tries one thing and says, by the name of the errno, what came of it. The tests run
 * it inside the sandbox and hold its line, and the events of the run, against their table. Each try is bounded and
 * harmless where it succeeds: nothing outside the probe's own process and the given path is changed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* What a try came to: a system call's result, its errno still set. */
typedef long (*probe_fn)(char **arg);

static uint64_t parse_size(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);
	switch (*end) {
	case 'K':
		return n << 10;
	case 'M':
		return n << 20;
	case 'G':
		return n << 30;
	default:
		return n;
	}
}

static const char *word(char **arg, int n, const char *otherwise)
{
	for (int i = 0; i < n; i++)
		if (!arg[i])
			return otherwise;
	return arg[n] ? arg[n] : otherwise;
}

/* ---- files ---- */

static long probe_open(char **arg)
{
	return open(word(arg, 0, "/"), O_RDONLY | O_CLOEXEC);
}

static long probe_create(char **arg)
{
	return open(word(arg, 0, "/x"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static long probe_mknod(char **arg)
{
	return mknod(word(arg, 0, "/tmp/device"), S_IFBLK | 0600, 0x0800);
}

/* write PATH SIZE: says how far it came. */
static long probe_write(char **arg)
{
	static char block[64 << 10];
	uint64_t want = parse_size(word(arg, 1, "1M")), done = 0;
	int fd = open(word(arg, 0, "/tmp/big"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return fd;
	signal(SIGXFSZ, SIG_IGN);
	memset(block, 'x', sizeof(block));
	ssize_t n = 0;
	while (done < want && (n = write(fd, block, sizeof(block))) > 0)
		done += (uint64_t) n;
	printf("wrote %llu ", (unsigned long long) done);
	return n < 0 ? n : 0;
}

/* inodes DIR COUNT: makes empty files until it may not. */
static long probe_inodes(char **arg)
{
	long want = (long) parse_size(word(arg, 1, "100")), made = 0;
	char path[4096];
	int fd = 0;
	for (; made < want; made++) {
		snprintf(path, sizeof(path), "%s/inode-%ld", word(arg, 0, "/tmp"), made);
		if ((fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0)
			break;
		close(fd);
	}
	printf("made %ld ", made);
	return fd < 0 ? fd : 0;
}

static long probe_descriptors(char **arg)
{
	long want = (long) parse_size(word(arg, 0, "100")), made = 0;
	int fd = 0;
	while (made < want && (fd = dup(0)) >= 0)
		made++;
	printf("opened %ld ", made);
	return fd < 0 ? fd : 0;
}

/* fds: every descriptor that this process was born with. */
static long probe_fds(char **arg)
{
	(void) arg;
	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("%d ", fd);
	return 0;
}

/* ---- memory and processes ---- */

static long map_and_touch(uint64_t size, int flags)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -1;
	for (uint64_t i = 0; i < size; i += 4096)
		p[i] = 1;
	return 0;
}

static long probe_mem(char **arg)
{
	return map_and_touch(parse_size(word(arg, 0, "1M")), MAP_PRIVATE);
}

static long probe_shared_mem(char **arg)
{
	return map_and_touch(parse_size(word(arg, 0, "1M")), MAP_SHARED);
}

/* split-mem TOTAL PARTS: many mappings, none of which is too large by itself. */
static long probe_split_mem(char **arg)
{
	uint64_t parts = parse_size(word(arg, 1, "16")), each = parse_size(word(arg, 0, "16M")) / parts;
	for (uint64_t i = 0; i < parts; i++)
		if (map_and_touch(each, MAP_PRIVATE) < 0)
			return -1;
	return 0;
}

/* fork COUNT: that many children alive at once, two seconds at most. Refused, it leaves them there: where no kernel
 * counter tells of a refused fork, the limit is seen by looking at who is left. */
static long probe_fork(char **arg)
{
	long want = (long) parse_size(word(arg, 0, "1")), made = 0;
	int gate[2], error = 0;
	if (pipe(gate) < 0)
		return -1;
	for (; made < want && !error; made++) {
		pid_t pid = fork();
		if (pid == 0) {
			char byte;
			alarm(2);
			_exit(read(gate[0], &byte, 1) != 1);
		}
		error = pid < 0 ? errno : 0;
	}
	if (error)
		made--;
	printf("forked %ld ", made);
	errno = error;
	if (error)
		return -1;
	for (; made > 0 && write(gate[1], "", 1) == 1; made--)
		wait(NULL);
	return 0;
}

static void *wait_for_ever(void *unused)
{
	pause();
	return unused;
}

static long probe_threads(char **arg)
{
	long want = (long) parse_size(word(arg, 0, "1")), made = 0;
	int error = 0;
	for (; made < want && !error; made++) {
		pthread_t thread;
		error = pthread_create(&thread, NULL, wait_for_ever, NULL);
	}
	printf("started %ld ", error ? made - 1 : made);
	errno = error;
	return error ? -1 : 0;
}

/* orphan SECONDS: a daemon by the book: double fork, session of its own, signals ignored, no output held open. */
static long probe_orphan(char **arg)
{
	unsigned seconds = (unsigned) parse_size(word(arg, 0, "30"));
	pid_t child = fork();
	if (child != 0) {
		if (child > 0)
			waitpid(child, NULL, 0);
		return child < 0 ? child : 0;
	}
	setsid();
	if (fork() != 0)
		_exit(0);
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_IGN);
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	struct timespec rest = { .tv_sec = seconds };
	while (nanosleep(&rest, &rest) < 0)
		;
	_exit(0);
}

static long probe_spin(char **arg)
{
	double seconds = atof(word(arg, 0, "1"));
	clock_t end = clock() + (clock_t) (seconds * CLOCKS_PER_SEC);
	while (clock() < end)
		;
	return 0;
}

static long probe_sleep(char **arg)
{
	double seconds = atof(word(arg, 0, "1"));
	struct timespec t = { .tv_sec = (time_t) seconds,
			      .tv_nsec = (long) ((seconds - (double) (time_t) seconds) * 1e9) };
	return nanosleep(&t, NULL);
}

/* stubborn SECONDS: as sleep, but SIGTERM and its kin do nothing. */
static long probe_stubborn(char **arg)
{
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_IGN);
	struct timespec rest = { .tv_sec = (time_t) parse_size(word(arg, 0, "1")) };
	while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
		;
	return 0;
}

static long probe_output(char **arg)
{
	static char line[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n";
	uint64_t want = parse_size(word(arg, 0, "1K"));
	for (uint64_t done = 0; done < want; done += sizeof(line) - 1)
		if (write(1, line, sizeof(line) - 1) < 0)
			return -1;
	return 0;
}

static long probe_raise(char **arg)
{
	return raise((int) parse_size(word(arg, 0, "9")));
}

static long probe_kill(char **arg)
{
	return kill((pid_t) strtol(word(arg, 0, "1"), NULL, 10), (int) parse_size(word(arg, 1, "0")));
}

static long probe_rlimit_raise(char **arg)
{
	(void) arg;
	struct rlimit r;
	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_max++;
	return setrlimit(RLIMIT_NOFILE, &r);
}

static long probe_affinity(char **arg)
{
	(void) arg;
	cpu_set_t all;
	memset(&all, 0xff, sizeof(all));
	return sched_setaffinity(0, sizeof(all), &all);
}

/* ---- network ---- */

static socklen_t make_address(char **arg, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *) ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *) ret;
	uint16_t port = htons((uint16_t) parse_size(word(arg, 1, "9")));
	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET6, word(arg, 0, "::1"), &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = port;
		return sizeof(*in6);
	}
	in->sin_family = AF_INET;
	in->sin_port = port;
	inet_pton(AF_INET, word(arg, 0, "127.0.0.1"), &in->sin_addr);
	return sizeof(*in);
}

static int socket_timed(int family, int type)
{
	int fd = socket(family, type | SOCK_CLOEXEC, 0);
	struct timeval second = { .tv_sec = 1 };
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof(second));
	return fd;
}

static long probe_connect(char **arg)
{
	struct sockaddr_storage a;
	socklen_t len = make_address(arg, &a);
	int fd = socket_timed(a.ss_family, SOCK_STREAM);
	return fd < 0 ? fd : connect(fd, (struct sockaddr *) &a, len);
}

static long probe_sendto(char **arg)
{
	struct sockaddr_storage a;
	socklen_t len = make_address(arg, &a);
	int fd = socket_timed(a.ss_family, SOCK_DGRAM);
	return fd < 0 ? fd : sendto(fd, "x", 1, 0, (struct sockaddr *) &a, len);
}

static long probe_bind(char **arg)
{
	struct sockaddr_storage a;
	socklen_t len = make_address(arg, &a);
	int fd = socket_timed(a.ss_family, SOCK_STREAM);
	return fd < 0 ? fd : bind(fd, (struct sockaddr *) &a, len);
}

/* abstract NAME: a socket of the host that has no path, so that no mount hides it. */
static long probe_abstract(char **arg)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const char *name = word(arg, 0, "belljar-test");
	size_t len = strnlen(name, sizeof(a.sun_path) - 1);
	memcpy(a.sun_path + 1, name, len);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd < 0 ? fd
		      : connect(fd, (struct sockaddr *) &a, (socklen_t) (sizeof(a.sun_family) + 1 + len));
}

static long probe_socket_unix(char **arg)
{
	(void) arg;
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* ---- the kernel's edges ---- */

static long probe_ptrace(char **arg)
{
	return ptrace(PTRACE_ATTACH, (pid_t) parse_size(word(arg, 0, "1")), NULL, NULL);
}

static long probe_setuid(char **arg)
{
	return setuid((uid_t) parse_size(word(arg, 0, "0")));
}

static long probe_shm(char **arg)
{
	int id = shmget(IPC_PRIVATE, parse_size(word(arg, 0, "4K")), IPC_CREAT | 0600);
	return id < 0 ? id : shmctl(id, IPC_RMID, NULL);
}

/* tty: the controlling terminal. */
static long probe_tty(char **arg)
{
	(void) arg;
	return open("/dev/tty", O_RDWR | O_CLOEXEC);
}

/* filter: a seccomp filter of its own that allows everything: what browsers and build tools do. */
static long probe_filter(char **arg)
{
	(void) arg;
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, 0x7fff0000);
	struct sock_fprog program = { .len = 1, .filter = &allow };
	return prctl(PR_SET_SECCOMP, 2, &program);
}

// clang-format off
static const struct probe {
	const char *name;
	probe_fn try;
} probes[] = {
	{ "open", probe_open }, { "create", probe_create }, { "mknod", probe_mknod },
	{ "write", probe_write }, { "inodes", probe_inodes },
	{ "descriptors", probe_descriptors }, { "fds", probe_fds },
	{ "mem", probe_mem }, { "shared-mem", probe_shared_mem }, { "split-mem", probe_split_mem },
	{ "fork", probe_fork }, { "threads", probe_threads }, { "orphan", probe_orphan }, { "spin", probe_spin },
	{ "sleep", probe_sleep }, { "stubborn", probe_stubborn }, { "output", probe_output }, { "raise", probe_raise },
	{ "kill", probe_kill }, { "rlimit-raise", probe_rlimit_raise }, { "affinity", probe_affinity },
	{ "connect", probe_connect }, { "sendto", probe_sendto }, { "bind", probe_bind },
	{ "abstract", probe_abstract }, { "socket-unix", probe_socket_unix },
	{ "ptrace", probe_ptrace }, { "setuid", probe_setuid },
	{ "shm", probe_shm }, { "tty", probe_tty }, { "filter", probe_filter },
};
// clang-format on

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(probes) / sizeof(probes[0]); i++) {
		if (strcmp(probes[i].name, argv[1]) != 0)
			continue;
		errno = 0;
		long r = probes[i].try(argv + 2);
		puts(r < 0 ? strerrorname_np(errno) : "OK");
		fflush(stdout);
		return r < 0;
	}
	fputs("usage: probe NAME [ARG]...; names:", stderr);
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		fprintf(stderr, " %s", probes[i].name);
	fputc('\n', stderr);
	return 2;
}
