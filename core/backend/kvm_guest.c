/* SPDX-License-Identifier: MIT */
/*
 * Two guests of a few bytes, to see whether KVM runs anything at all: in real mode a port is written and the processor
 * halts; in 64-bit mode, with page tables of its own, it asks cpuid, writes an MSR, loads an interrupt table and faults
 * on a page, and its handler does the same. That is needed and not enough: a KVM for guests made for it may run these
 * two, and hang with an ordinary kernel.
 */
#include "core/backend/machine.h"

#include "core/base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#if defined(__x86_64__)

#define API         12
#define TSS_AT      0xfffbd000u /* three pages below 4 GiB that Intel processors ask for in real mode */
#define PORT        0xe9
#define WORD        0x42
#define CPUID_MAX   256
#define MEMORY_SIZE 0x10000u

/* Where things lie in the guest's memory. */
enum {
	REAL_AT = 0x1000,
	PML4_AT = 0x2000,
	PDPT_AT = 0x3000,
	PD_AT = 0x4000,
	GDT_AT = 0x5000,
	IDT_AT = 0x6000,
	IDTR_AT = 0x7000,
	CODE_AT = 0x8000,
	FAULT_AT = 0x9000,
	STACK_AT = 0xa000
};

/* clang-format off */
static const uint8_t real_code[] = {
	0xb0, WORD,                                     /* mov $WORD, %al */
	0xe6, PORT,                                     /* out %al, $PORT */
	0xf4,                                           /* hlt */
};
static const uint8_t long_code[] = {
	0x31, 0xc0,                                     /* xor %eax, %eax */
	0x0f, 0xa2,                                     /* cpuid */
	0xb9, 0x80, 0x00, 0x00, 0xc0,                   /* mov $EFER, %ecx */
	0x0f, 0x32,                                     /* rdmsr */
	0x83, 0xc8, 0x01,                               /* or $SCE, %eax */
	0x0f, 0x30,                                     /* wrmsr */
	0x0f, 0x01, 0x1c, 0x25, 0x00, 0x70, 0x00, 0x00, /* lidt IDTR_AT */
	0x8a, 0x04, 0x25, 0x00, 0x00, 0x00, 0x40,       /* mov 0x40000000, %al: no page is there */
	0xf4,                                           /* hlt: it did not fault, and no port was written */
};
/* clang-format on */

#define PRESENT_WRITABLE 3u
#define PAGE_2M          0x80u
#define CODE_64          UINT64_C(0x00af9b000000ffff)
#define DATA_32          UINT64_C(0x00cf93000000ffff)
#define VECTOR_PF        14
#define GATE_64          UINT64_C(0x8e)

struct guest {
	int kvm_fd, vm_fd, cpu_fd;
	uint8_t *memory;
	struct kvm_run *run;
};

static void put64(uint8_t *memory, unsigned at, uint64_t value)
{
	memcpy(memory + at, &value, sizeof(value));
}

static void memory_fill(uint8_t *memory)
{
	const uint16_t idt_limit = 16 * (VECTOR_PF + 1) - 1;

	memcpy(memory + REAL_AT, real_code, sizeof(real_code));
	memcpy(memory + CODE_AT, long_code, sizeof(long_code));
	memcpy(memory + FAULT_AT, real_code,
	       sizeof(real_code)); /* the same bytes mean the same in both modes */
	put64(memory, PML4_AT, PDPT_AT | PRESENT_WRITABLE);
	put64(memory, PDPT_AT, PD_AT | PRESENT_WRITABLE);
	put64(memory, PD_AT, PAGE_2M | PRESENT_WRITABLE);
	put64(memory, GDT_AT + 8, CODE_64);
	put64(memory, GDT_AT + 16, DATA_32);
	put64(memory, IDT_AT + 16 * VECTOR_PF, FAULT_AT | 8u << 16 | GATE_64 << 40);
	memcpy(memory + IDTR_AT, &idt_limit, sizeof(idt_limit));
	put64(memory, IDTR_AT + 2, IDT_AT);
}

/* ---- made once, for both ---- */

static int cpu_make(struct guest *g, struct err *e)
{
	FREE struct kvm_cpuid2 *can =
		xcalloc(1, sizeof(struct kvm_cpuid2) + CPUID_MAX * sizeof(struct kvm_cpuid_entry2));
	int size = ioctl(g->kvm_fd, KVM_GET_VCPU_MMAP_SIZE, 0);

	if (size < (int) sizeof(*g->run))
		return err_say(e, EINVAL, "KVM_GET_VCPU_MMAP_SIZE said %d", size);
	if ((g->cpu_fd = ioctl(g->vm_fd, KVM_CREATE_VCPU, 0)) < 0)
		return err_set(e, errno, "KVM_CREATE_VCPU");
	void *run = mmap(NULL, (size_t) size, PROT_READ | PROT_WRITE, MAP_SHARED, g->cpu_fd, 0);
	if (run == MAP_FAILED)
		return err_set(e, errno, "map what KVM_RUN tells");
	g->run = run;
	can->nent = CPUID_MAX;
	/* Without the processor's list a guest has no 64-bit mode and may not write EFER. */
	if (ioctl(g->kvm_fd, KVM_GET_SUPPORTED_CPUID, can) < 0 || ioctl(g->cpu_fd, KVM_SET_CPUID2, can) < 0)
		return err_set(e, errno, "KVM_SET_CPUID2");
	return 0;
}

static int guest_make(struct guest *g, struct err *e)
{
	if ((g->kvm_fd = open("/dev/kvm", O_RDWR | O_CLOEXEC)) < 0)
		return err_set(e, errno, "open /dev/kvm");
	int version = ioctl(g->kvm_fd, KVM_GET_API_VERSION, 0);
	if (version != API)
		return err_say(e, EINVAL, "KVM_GET_API_VERSION said %d, not %d", version, API);
	if ((g->vm_fd = ioctl(g->kvm_fd, KVM_CREATE_VM, 0)) < 0)
		return err_set(e, errno, "KVM_CREATE_VM");
	if (ioctl(g->vm_fd, KVM_SET_TSS_ADDR, TSS_AT) < 0)
		return err_set(e, errno, "KVM_SET_TSS_ADDR");
	void *memory = mmap(NULL, MEMORY_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return err_set(e, errno, "map the guest's memory");
	g->memory = memory;
	memory_fill(g->memory);
	const struct kvm_userspace_memory_region all = { .memory_size = MEMORY_SIZE,
							 .userspace_addr = (uintptr_t) memory };
	if (ioctl(g->vm_fd, KVM_SET_USER_MEMORY_REGION, &all) < 0)
		return err_set(e, errno, "KVM_SET_USER_MEMORY_REGION");
	return cpu_make(g, e);
}

/* ---- run ---- */

static int expect_exit(struct guest *g, unsigned reason, const char *mode, struct err *e)
{
	if (ioctl(g->cpu_fd, KVM_RUN, 0) < 0)
		return err_set(e, errno, "KVM_RUN in %s mode", mode);
	if (g->run->exit_reason != reason)
		return err_say(e, EINVAL, "a small guest in %s mode ended with exit %u, not %u", mode,
			       g->run->exit_reason, reason);
	return 0;
}

/* The port is written with our word, and then it halts. */
static int expect_word(struct guest *g, const char *mode, struct err *e)
{
	int r = expect_exit(g, KVM_EXIT_IO, mode, e);
	if (r < 0)
		return r;
	if (g->run->io.direction != KVM_EXIT_IO_OUT || g->run->io.port != PORT || g->run->io.size != 1 ||
	    *((const uint8_t *) g->run + g->run->io.data_offset) != WORD)
		return err_say(e, EINVAL, "a small guest in %s mode wrote to a port what it should not",
			       mode);
	return expect_exit(g, KVM_EXIT_HLT, mode, e);
}

static int registers_set(struct guest *g, const struct kvm_sregs *s, uint64_t rip, struct err *e)
{
	const struct kvm_regs regs = { .rip = rip, .rsp = STACK_AT, .rflags = 2 };
	if (ioctl(g->cpu_fd, KVM_SET_SREGS, s) < 0)
		return err_set(e, errno, "KVM_SET_SREGS");
	return ioctl(g->cpu_fd, KVM_SET_REGS, &regs) < 0 ? err_set(e, errno, "KVM_SET_REGS") : 0;
}

static int run_real(struct guest *g, struct kvm_sregs s, struct err *e)
{
	s.cs.base = s.cs.selector = 0;
	int r = registers_set(g, &s, REAL_AT, e);
	return r < 0 ? r : expect_word(g, "real", e);
}

static int run_long(struct guest *g, struct kvm_sregs s, struct err *e)
{
	const struct kvm_segment data = {
		.limit = UINT32_MAX, .selector = 16, .type = 3, .present = 1, .db = 1, .s = 1, .g = 1
	};
	const struct kvm_segment code = {
		.limit = UINT32_MAX, .selector = 8, .type = 11, .present = 1, .l = 1, .s = 1, .g = 1
	};

	s.cs = code;
	s.ds = s.es = s.fs = s.gs = s.ss = data;
	s.gdt = (struct kvm_dtable){ .base = GDT_AT, .limit = 23 };
	s.idt = (struct kvm_dtable){ 0 }; /* the guest loads its own */
	s.cr3 = PML4_AT;
	s.cr4 = 1u << 5;                           /* PAE */
	s.cr0 = 1u << 31 | 1u << 5 | 1u << 4 | 1u; /* PG, NE, ET, PE */
	s.efer = 1u << 10 | 1u << 8;               /* LMA, LME */
	int r = registers_set(g, &s, CODE_AT, e);
	return r < 0 ? r : expect_word(g, "64-bit", e);
}

int kvm_run_guests(struct err *e)
{
	struct guest g = { .kvm_fd = -1, .vm_fd = -1, .cpu_fd = -1 };
	struct kvm_sregs s;

	/* No descriptor is closed and nothing unmapped: the process ends next. */
	int r = guest_make(&g, e);
	if (r < 0)
		return r;
	if (ioctl(g.cpu_fd, KVM_GET_SREGS, &s) < 0)
		return err_set(e, errno, "KVM_GET_SREGS");
	if ((r = run_real(&g, s, e)) < 0)
		return r;
	return run_long(&g, s, e);
}

#else

int kvm_run_guests(struct err *e)
{
	return err_say(e, ENOTSUP, "%s", kvm_kinds[KVM_OTHER_CPU].why);
}

#endif
