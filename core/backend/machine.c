/* SPDX-License-Identifier: MIT */
/*
 * Facts of this machine that a microVM is made by: the rate of its time-stamp counter and whether KVM works. Both take
 * time to find out and hold for a boot, so the cache folder keeps them; where it cannot, they are found out anew.
 */
#include "core/backend/machine.h"

#include "core/backend/cause.h"
#include "core/backend/guest.h"
#include "core/backend/vm.h"
#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define MEMORY_HEAD  "belljar machine 1"
#define MEMORY_END   "end"
#define MEMORY_MAX   1024
#define TSC_KHZ_MIN  100000u /* beyond these two it was no rate that we measured */
#define TSC_KHZ_MAX  20000000u
#define TSC_POINTS   4
#define TSC_PAUSE_NS (7 * 1000000)
#define TSC_TRIES    16
#define TSC_DOUBT    10000 /* one part of so many is too much: the nearest MHz would be a guess */

/* ---- what is remembered ---- */

static const char *value_of(const char *line, const char *key)
{
	size_t len = strlen(key);
	return strncmp(line, key, len) == 0 && str_starts(line + len, " = ") ? line + len + 3 : NULL;
}

static void memory_line(const char *line, struct machine_memory *m)
{
	const char *value;
	uint64_t khz;

	if ((value = value_of(line, "tsc_khz")) && str_to_u64(value, &khz) == 0 && khz >= TSC_KHZ_MIN &&
	    khz <= TSC_KHZ_MAX)
		m->tsc_khz = (uint32_t) khz;
	if ((value = value_of(line, "why")))
		kvm_say(&m->kvm, m->kvm.state, value);
	if ((value = value_of(line, "kvm")))
		for (enum kvm_state s = 0; s < KVM_STATE_MAX; s++)
			if (kvm_kinds[s].lasts && strcmp(kvm_kinds[s].word, value) == 0)
				kvm_say(&m->kvm, s, NULL);
}

void machine_memory_parse(const char *text, const char *boot, const char *kernel, struct machine_memory *ret)
{
	FREE char *head = xprintf(MEMORY_HEAD "\nboot = %s\nkernel = %s\n", boot, kernel);
	FREE char *body = NULL;

	*ret = (struct machine_memory){ 0 };
	/* What was cut off half way may end in half a number. */
	if (!str_starts(text, head) || !str_ends(text, "\n" MEMORY_END))
		return;
	body = xstrdup(text + strlen(head));
	for (char *rest = body, *line; (line = strsep(&rest, "\n"));)
		memory_line(line, ret);
}

void machine_memory_format(const struct machine_memory *m, const char *boot, const char *kernel,
			   struct buf *out)
{
	buf_printf(out, MEMORY_HEAD "\nboot = %s\nkernel = %s\n", boot, kernel);
	if (m->tsc_khz)
		buf_printf(out, "tsc_khz = %u\n", m->tsc_khz);
	if (kvm_kinds[m->kvm.state].lasts)
		buf_printf(out, "kvm = %s\nwhy = %s\n", kvm_kinds[m->kvm.state].word, m->kvm.why);
	buf_str(out, MEMORY_END);
}

static bool boot_read(char boot[64], struct utsname *kernel)
{
	return file_read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, 64) > 0 &&
	       uname(kernel) == 0;
}

static int cache_open(bool make)
{
	struct err ignored;
	FREE char *folder = xdg_folder(XDG_CACHE, NULL, make, &ignored);
	return folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

static void memory_read(int dirfd, const char *boot, const char *kernel, struct machine_memory *ret)
{
	char text[MEMORY_MAX];
	if (file_read_small(dirfd, "machine", text, sizeof(text)) < 0)
		text[0] = 0;
	machine_memory_parse(text, boot, kernel, ret);
}

static void memory_load(struct machine_memory *ret)
{
	char boot[64];
	struct utsname kernel;
	CLOSE_FD int dirfd = cache_open(false);

	*ret = (struct machine_memory){ 0 };
	if (dirfd >= 0 && boot_read(boot, &kernel))
		memory_read(dirfd, boot, kernel.release, ret);
}

static void memory_write(int dirfd, const struct buf *text)
{
	CLOSE_FD int fd =
		openat(dirfd, "machine.new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (write_all(fd, text->data, text->len) < 0 || renameat(dirfd, "machine.new", dirfd, "machine") < 0)
		(void) unlinkat(dirfd, "machine.new", 0);
}

/* Adds what `news` knows. The temporary name is one and the same: who is killed here leaves one file, which the next one
 * takes. What cannot be kept will be found out again: no error. */
static void memory_add(const struct machine_memory *news)
{
	char boot[64];
	struct utsname kernel;
	struct machine_memory m;
	struct buf text = { 0 };
	CLOSE_FD int dirfd = cache_open(true);
	CLOSE_FD int lock =
		dirfd < 0 ? -1
			  : openat(dirfd, "machine.lock", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	/* Not waited for: a holder that is stopped must not stop us. */
	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0 || !boot_read(boot, &kernel))
		return;
	memory_read(dirfd, boot, kernel.release, &m);
	if (news->tsc_khz)
		m.tsc_khz = news->tsc_khz;
	if (news->kvm.state != KVM_UNTRIED)
		m.kvm = news->kvm;
	machine_memory_format(&m, boot, kernel.release, &text);
	memory_write(dirfd, &text);
	buf_done(&text);
}

/* ---- the time-stamp counter ---- */

uint32_t tsc_khz_of(const struct tsc_point *points, size_t count)
{
	uint64_t doubt = 1, length = TSC_DOUBT, khz = 0; /* of the best so far, as a fraction */

	for (size_t b = 1; b < count; b++)
		for (size_t a = 0; a < b; a++) {
			const struct tsc_point *from = &points[a], *to = &points[b];
			if (to->ns <= from->ns || to->ticks <= from->ticks)
				continue;
			uint64_t ns = to->ns - from->ns, d = from->doubt_ns + to->doubt_ns + 1;
			if ((double) d * (double) length >= (double) ns * (double) doubt)
				continue;
			doubt = d;
			length = ns;
			khz = (uint64_t) ((double) (to->ticks - from->ticks) * 1e6 / (double) ns);
		}
	khz = (khz + 500) / 1000 * 1000;
	return khz >= TSC_KHZ_MIN && khz <= TSC_KHZ_MAX ? (uint32_t) khz : 0;
}

#if defined(__x86_64__)
static uint64_t raw_ns(void)
{
	struct timespec t;
	(void) clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t) t.tv_sec * NS_PER_S + (uint64_t) t.tv_nsec;
}

/* Of several readings the one during which least time went by: there nothing came in between. */
static struct tsc_point point_take(void)
{
	struct tsc_point best = { .doubt_ns = UINT64_MAX / 4 };
	for (int k = 0; k < TSC_TRIES; k++) {
		uint64_t before = raw_ns(), ticks = __builtin_ia32_rdtsc(), after = raw_ns();
		if (after - before < best.doubt_ns)
			best = (struct tsc_point){ ticks, before + (after - before) / 2, after - before };
	}
	return best;
}

static int tsc_measure(uint32_t *ret, struct err *e)
{
	struct tsc_point points[TSC_POINTS];
	for (int k = 0; k < TSC_POINTS; k++) {
		if (k)
			(void) nanosleep(&(struct timespec){ .tv_nsec = TSC_PAUSE_NS }, NULL);
		points[k] = point_take();
	}
	uint32_t khz = tsc_khz_of(points, TSC_POINTS);
	if (!khz)
		return err_say(e, ENOTSUP, "the time-stamp counter of this machine gives no steady rate");
	*ret = khz;
	return 0;
}
#else
/* Another processor comes in here: what its guest's clock is told by (Arm: CNTFRQ_EL0, which the guest reads itself). */
static int tsc_measure(uint32_t *ret, struct err *e)
{
	(void) ret;
	return err_say(e, ENOTSUP, "microVMs are made for x86-64 alone so far");
}
#endif

int machine_tsc_khz(uint32_t *ret, struct err *e)
{
	struct machine_memory m;

	memory_load(&m);
	if (!m.tsc_khz) {
		int r = tsc_measure(&m.tsc_khz, e);
		if (r < 0)
			return r;
		memory_add(&(struct machine_memory){ .tsc_khz = m.tsc_khz });
	}
	*ret = m.tsc_khz;
	return 0;
}

/* ---- KVM ---- */

void machine_kvm(bool remember, struct kvm_verdict *ret)
{
	struct kvm_facts facts;
	struct machine_memory m;

	/* First what may change within a boot, as a group that was joined or a module that was loaded. */
	kvm_facts_read("", &facts);
	kvm_say(ret, kvm_decide(&facts), NULL);
	if (ret->state != KVM_UNTRIED)
		return;
	memory_load(&m);
	*ret = m.kvm;
	if (ret->state != KVM_UNTRIED)
		return;
	kvm_try(ret);
	if (remember)
		memory_add(&(struct machine_memory){ .kvm = *ret });
}

void machine_kvm_failed(const char *why)
{
	struct machine_memory m = { 0 };
	kvm_say(&m.kvm, KVM_GUEST_FAILED, why);
	memory_add(&m);
}

int machine_accel(enum accel wanted, enum accel *ret, const char **ret_why, struct err *e)
{
	static struct kvm_verdict v;

	if (wanted == ACCEL_TCG) {
		*ret = ACCEL_TCG;
		*ret_why = "the preset asks for emulation";
		return 0;
	}
	machine_kvm(true, &v);
	if (v.state != KVM_USABLE && wanted == ACCEL_KVM) {
		need_set(e, NEED_KVM, ENOTSUP, "accel = kvm in the preset, and %s", v.why);
		return need_complete(e);
	}
	*ret = v.state == KVM_USABLE ? ACCEL_KVM : ACCEL_TCG;
	*ret_why = v.why;
	return 0;
}

/* ---- programs ---- */

int machine_program(const char *name, char **ret_path, struct err *e)
{
	static const char *const folders[] = { "/usr/local/bin", "/usr/bin", "/usr/local/sbin",
					       "/usr/sbin",      "/bin",     "/sbin" };
	for (size_t k = 0; k < ARRAY_LEN(folders); k++) {
		FREE char *path = xprintf("%s/%s", folders[k], name);
		if (access(path, X_OK) == 0) {
			*ret_path = take_ptr(&path);
			return 0;
		}
	}
	return err_say(e, ENOENT, "no %s in /usr/local/bin, /usr/bin, /usr/sbin", name);
}

int machine_qemu(char **ret_path, struct err *e)
{
	const char *path = vm_program(ACCEL_TCG);
	if (access(path, X_OK) < 0)
		return err_set(e, errno, "execute %s", path);
	*ret_path = xstrdup(path);
	return 0;
}

int machine_guest(char **ret_release, struct err *e)
{
	struct guest_parts parts;
	int r = guest_parts_find(&parts, e);
	if (r < 0)
		return r;
	*ret_release = take_ptr(&parts.release);
	guest_parts_done(&parts);
	return 0;
}

static int part_find(enum need need, char **ret, struct err *e)
{
	switch (need) {
	case NEED_QEMU:
		return machine_qemu(ret, e);
	case NEED_EROFS_TOOLS:
		return machine_program("mkfs.erofs", ret, e);
	case NEED_GUEST_PARTS:
		return machine_guest(ret, e);
	default:
		return 0;
	}
}

int machine_parts(const enum need *needs, struct err *e)
{
	int r = 0;
	for (; r >= 0 && *needs != NEED_MAX; needs++) {
		FREE char *found = NULL;
		r = part_find(*needs, &found, e);
	}
	return r;
}
