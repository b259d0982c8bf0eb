/* SPDX-License-Identifier: MIT */
/*
 * storm: what makes a watched call hard to watch. Timers and signals that strike while it waits, processes that fork
 * and threads that vanish meanwhile, and floods. Each says how many calls it made, how many of them a signal broke off
 * (EINTR) and how many came to something else than they should, so that a test can hold the recording against it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 16
#define BATCH_MAX   256

/* Shared by the processes of a storm. `begun` and `done` differ by calls whose caller was gone before they ended. */
struct tally {
	atomic_long begun, done, broken, wrong;
};
static struct tally *tally;
static char *self;
static atomic_long struck; /* signals that arrived */

static void on_signal(int signo)
{
	(void) signo;
	struck++;
}

static void handle(int signo, int flags)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = flags };
	sigaction(signo, &sa, NULL);
}

static long number(char **arg, int n)
{
	return arg[n] ? strtol(arg[n], NULL, 10) : 0;
}

/* ---- one call of each kind ---- */

typedef long (*call_fn)(long k); /* 0 as it should be; else an errno */

/* Every second one is made, the others are not there. */
static long call_open(long k)
{
	char path[32];
	snprintf(path, sizeof(path), "%s-%ld", k % 2 ? "made" : "absent", k);
	int fd = open(path, k % 2 ? O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return k % 2 == 0 && errno == ENOENT ? 0 : errno;
	close(fd);
	return k % 2 ? 0 : EEXIST;
}

static long call_absent(long k)
{
	(void) k;
	return open("absent", O_RDONLY | O_CLOEXEC) < 0 && errno == ENOENT ? 0 : errno;
}

/* To loopback, where nobody listens; or there is no network at all. */
static long connect_to(int type, in_port_t port)
{
	static _Thread_local int fd = -1;
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 && (fd = socket(AF_INET, type | SOCK_CLOEXEC, 0)) < 0)
		return errno;
	return connect(fd, (struct sockaddr *) &to, sizeof(to)) < 0 ? errno : 0;
}

/* Of UDP: one of TCP may wait in the kernel, where a signal makes it begin anew, and is seen twice. */
static long call_connect(long k)
{
	long error = connect_to(SOCK_DGRAM, (in_port_t) (20000 + k));
	return error == ENETUNREACH ? 0 : error;
}

static long call_connect_same(long k)
{
	(void) k;
	long error = connect_to(SOCK_STREAM, 9);
	return error == ENETUNREACH || error == ECONNREFUSED ? 0 : error ? error : EISCONN;
}

static long call_exec(long k)
{
	char path[32], *argv[] = { path, NULL };
	snprintf(path, sizeof(path), "/absent-%ld", k);
	execv(path, argv);
	return errno == ENOENT ? 0 : errno;
}

static long call_denied(long k)
{
	(void) k;
	return syscall(SYS_ptrace, PTRACE_ATTACH, 1, 0, 0) < 0 && errno == EPERM ? 0 : errno;
}

static const struct {
	const char *name;
	call_fn call;
} calls[] = { { "open", call_open },
	      { "absent", call_absent },
	      { "connect", call_connect },
	      { "exec", call_exec },
	      { "same-connect", call_connect_same },
	      { "denied", call_denied } };

static call_fn call_named(const char *name)
{
	for (size_t i = 0; name && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].call;
	fprintf(stderr, "storm: which call?\n");
	exit(2);
}

/* Until it is through: one that a signal broke off is made again. */
static void make_call(call_fn call, long k)
{
	for (long error = EINTR; error == EINTR;) {
		tally->begun++;
		error = call(k);
		tally->done++;
		tally->broken += error == EINTR;
		if (error && error != EINTR && tally->wrong++ == 0)
			fprintf(stderr, "storm: call %ld: %s\n", k, strerror(error));
	}
}

/* What was said to be made is there; stat(2) is not watched. */
static void look_for_made(long from, long to)
{
	char path[32];
	struct stat st;
	for (long k = from | 1; k < to; k += 2) {
		snprintf(path, sizeof(path), "made-%ld", k);
		tally->wrong += stat(path, &st) < 0;
	}
}

/* ---- storms ---- */

/* timer CALL COUNT MICROSECONDS [restart] */
static void storm_timer(char **arg)
{
	call_fn call = call_named(arg[0]);
	long count = number(arg, 1), us = number(arg, 2);
	struct itimerval every = { { 0, us }, { 0, us } }, never = { { 0, 0 }, { 0, 0 } };
	handle(SIGALRM, arg[3] && strcmp(arg[3], "restart") == 0 ? SA_RESTART : 0);
	setitimer(ITIMER_REAL, &every, NULL);
	for (long k = 0; k < count; k++)
		make_call(call, k);
	setitimer(ITIMER_REAL, &never, NULL);
	if (call == call_open)
		look_for_made(0, count);
}

struct worker {
	pthread_t thread;
	atomic_int tid;
	call_fn call;
	long from, to;
	atomic_bool over;
};

static void *work(void *p)
{
	struct worker *w = p;
	static _Thread_local char stack[32 << 10];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	sigaltstack(&alt, NULL);
	w->tid = (int) syscall(SYS_gettid);
	for (long k = w->from; k < w->to; k++)
		make_call(w->call, k);
	w->over = true;
	/* the thread stays until it is joined, so that its number is no other's */
	while (w->to >= 0)
		usleep(1000);
	return NULL;
}

/* urgent CALL THREADS COUNT: as the scheduler of Go does, each thread is prodded while it waits for its call. */
static void storm_urgent(char **arg)
{
	static struct worker w[THREADS_MAX];
	long threads = number(arg, 1), count = number(arg, 2), over = 0;
	handle(SIGURG, SA_RESTART | SA_ONSTACK);
	for (long t = 0; t < threads && t < THREADS_MAX; t++) {
		w[t].call = call_named(arg[0]);
		w[t].from = t * count;
		w[t].to = w[t].from + count;
		pthread_create(&w[t].thread, NULL, work, &w[t]);
	}
	while (over < threads) {
		over = 0;
		for (long t = 0; t < threads; t++) {
			over += w[t].over;
			if (w[t].tid && !w[t].over)
				syscall(SYS_tgkill, getpid(), (int) w[t].tid, SIGURG);
		}
		usleep(100); /* ten thousand a second, to each */
	}
	for (long t = 0; t < threads; t++) {
		w[t].to = -1;
		pthread_join(w[t].thread, NULL);
	}
	if (w[0].call == call_open)
		look_for_made(0, threads * count);
}

static void wait_for_children(void)
{
	int status;
	while (wait(&status) > 0)
		tally->wrong += status != 0;
}

/* Executes this program once more, to do nothing. */
static void become_nothing(long k)
{
	char mark[32], nothing[] = "nothing", *argv[] = { self, nothing, mark, NULL };
	snprintf(mark, sizeof(mark), "%ld", k);
	execv(self, argv);
	_exit(3);
}

/* forks PROCESSES COUNT: each opens files and forks children that do, while the others are at it. */
static void storm_forks(char **arg)
{
	long processes = number(arg, 0), count = number(arg, 1);
	for (long p = 0; p < processes; p++) {
		if (fork() > 0)
			continue;
		for (long k = 0; k < count; k++) {
			long at = 2 * (p * count + k);
			make_call(call_open, at);
			pid_t child = fork();
			tally->wrong += child < 0;
			if (child == 0) {
				make_call(call_open, at + 1);
				_exit(0);
			}
			waitpid(child, NULL, 0);
		}
		_exit(0);
	}
	wait_for_children();
	look_for_made(0, 2 * processes * count);
}

/* execs COUNT BATCH [vfork]: many at the same moment. */
static void storm_execs(char **arg)
{
	long count = number(arg, 0), batch = number(arg, 1);
	bool by_vfork = arg[2] && strcmp(arg[2], "vfork") == 0;
	for (long made = 0; made < count; made += batch) {
		int gate[2];
		char c;
		if (pipe2(gate, O_CLOEXEC) < 0)
			exit(2);
		for (long k = made; k < made + batch && k < count; k++) {
			pid_t child = by_vfork ? vfork() : fork();
			tally->wrong += child < 0;
			if (child == 0) {
				if (!by_vfork) {
					close(gate[1]);
					(void) !read(gate[0], &c, 1); /* end-of-file: all go at once */
				}
				become_nothing(k);
			}
			tally->begun++;
			tally->done++;
		}
		close(gate[1]);
		close(gate[0]);
		wait_for_children();
	}
}

/* pool ROUNDS THREADS: threads that open files are gone when another one executes a program. */
static void storm_pool(char **arg)
{
	long rounds = number(arg, 0), threads = number(arg, 1);
	for (long r = 0; r < rounds; r++) {
		if (fork() == 0) {
			static struct worker w[THREADS_MAX];
			for (long t = 0; t < threads && t < THREADS_MAX; t++) {
				w[t] = (struct worker){ .call = call_absent, .to = 1L << 40 };
				pthread_create(&w[t].thread, NULL, work, &w[t]);
			}
			usleep(3000);
			become_nothing(r);
		}
		wait_for_children();
	}
}

/* flood CALL COUNT */
static void storm_flood(char **arg)
{
	call_fn call = call_named(arg[0]);
	long count = number(arg, 1);
	for (long k = 0; k < count; k++)
		make_call(call, k);
}

/* maker PREFIX: makes PREFIX-1, PREFIX-2, … for as long as it lives, as a daemon too; the number that is being made
 * stands in PREFIX.now before each. */
static void storm_maker(char **arg)
{
	char path[4096], text[32];
	bool daemon = fork() == 0;
	if (daemon)
		setsid();
	snprintf(path, sizeof(path), "%s%s.now", arg[0], daemon ? "-daemon" : "");
	int now = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (now < 0)
		exit(2);
	for (long k = 1;; k++) {
		snprintf(path, sizeof(path), "%s%s-%ld", arg[0], daemon ? "-daemon" : "", k);
		int len = snprintf(text, sizeof(text), "%ld\n", k);
		(void) !pwrite(now, text, (size_t) len, 0);
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd >= 0)
			close(fd);
		usleep(1000);
	}
}

/* listener ARGV…: executes it with a listener of its own above it, of a call that nobody makes. */
static void storm_listener(char **arg)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_acct, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		exit(2);
	int fd = (int) syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			       &program);
	if (fd < 0 || fcntl(fd, F_SETFD, 0) < 0 || !arg[0]) /* closed, it would be none */
		exit(2);
	execv(arg[0], arg);
	exit(127);
}

static void storm_nothing(char **arg)
{
	(void) arg;
	_exit(0);
}

static const struct {
	const char *name;
	void (*run)(char **arg);
} storms[] = { { "timer", storm_timer }, { "urgent", storm_urgent },     { "forks", storm_forks },
	       { "execs", storm_execs }, { "pool", storm_pool },         { "flood", storm_flood },
	       { "maker", storm_maker }, { "listener", storm_listener }, { "nothing", storm_nothing } };

int main(int argc, char **argv)
{
	char *none[] = { NULL };
	self = argv[0];
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED)
		return 2;
	for (size_t i = 0; i < sizeof(storms) / sizeof(storms[0]); i++) {
		if (argc < 2 || strcmp(storms[i].name, argv[1]) != 0)
			continue;
		storms[i].run(argc > 2 ? argv + 2 : none);
		printf("begun %ld done %ld broken %ld wrong %ld struck %ld\n", (long) tally->begun,
		       (long) tally->done, (long) tally->broken, (long) tally->wrong, (long) struck);
		return tally->wrong ? 1 : 0;
	}
	fprintf(stderr, "storm: which one?\n");
	return 2;
}
