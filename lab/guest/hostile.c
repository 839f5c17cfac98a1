/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest's whole kernel, PV or PVH: it enters Xen without end with a stack pointer that is
 * anything but a stack's, and per-CPU data (GS) anywhere, on page tables that lead nowhere and
 * change meanwhile. Nothing interrupts it, since it asks for no events: it needs no stack but
 * between two attacks.
 *
 * Its command line: hexadecimal, where Xen's stacks begin. A PV guest has two vCPUs: the second
 * changes the value that the first one loads, and the page tables under it.
 */
#include <stdbool.h>
#include <stddef.h>

#include "../workloads/hostile.h"

#include <xen/arch-x86/hvm/start_info.h>
#include <xen/elfnote.h>
#include <xen/vcpu.h>
#include <xen/xen.h>

enum {
	PRESENT = 1,
	WRITABLE = 2,
	LARGE = 0x80,
	TURNS = 200,
	STACK = 8192,
	TABLE = 512,
};

/* AMD APM volume 2, appendix A. */
#define MSR_GS_BASE        0xc0000101u
#define MSR_KERNEL_GS_BASE 0xc0000102u

#define ALIGNED __attribute__((aligned(HOSTILE_PAGE)))

/* The assembly knows the first two members' places. */
static struct attacker {
	uint64_t rsp;             /* its own, in the meantime */
	volatile uint64_t target; /* what RSP is set to */
	uint64_t random;
} attacker;

static struct hostile_aim aim;
static char area[HOSTILE_AREA_PAGES * HOSTILE_PAGE] ALIGNED;
char stacks[2][STACK] ALIGNED;
uint64_t page_tables[4][TABLE] ALIGNED; /* PVH: root, two directories, a scratch table */

#define NOTE(type, value)                                                                          \
	".balign 4\n .long 4, 9f - 8f, " type "\n .asciz \"Xen\"\n 8: " value "\n 9: .balign 4\n"
#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

__asm__(".section .note.Xen, \"a\", @note\n" NOTE(TEXT(XEN_ELFNOTE_XEN_VERSION),
                                                  ".asciz \"xen-3.0\"")
                NOTE(TEXT(XEN_ELFNOTE_GUEST_OS),
                     ".asciz \"hostile\"") NOTE(TEXT(XEN_ELFNOTE_LOADER), ".asciz \"generic\"")
                        NOTE(TEXT(XEN_ELFNOTE_PAE_MODE), ".asciz \"yes\"")
                                NOTE(TEXT(XEN_ELFNOTE_VIRT_BASE), ".quad 0")
                                        NOTE(TEXT(XEN_ELFNOTE_PADDR_OFFSET), ".quad 0")
                                                NOTE(TEXT(XEN_ELFNOTE_ENTRY), ".quad pv_entry")
                                                        NOTE(TEXT(XEN_ELFNOTE_PHYS32_ENTRY),
                                                             ".long pvh_entry") ".text\n");

/*
 * R12 is the attacker, R13 where the value lies, R14 counts down. System calls of a PV guest's
 * kernel are hypercalls; both they and those of an HVM guest take their number in RAX and two
 * arguments here.
 */
#define LOAD    "1: mov (%r13), %rsp\n"
#define AGAIN   "dec %r14\n jnz 1b\n jmp attack_end\n"
#define VERSION "mov $17, %eax\n xor %edi, %edi\n xor %esi, %esi\n"
#define YIELD   "mov $29, %eax\n xor %edi, %edi\n xor %esi, %esi\n"

__asm__("attack:\n"
        "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "mov %rsp, (%rdi)\n"
        "mov %rdi, %r12\n"
        "lea 8(%rdi), %r13\n"
        "mov %rdx, %r14\n"
        "jmp *%rsi\n"

        "attack_end:\n"
        "mov (%r12), %rsp\n"
        "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
        "ret\n"

        "attack_syscall:\n" LOAD VERSION "syscall\n" AGAIN "attack_yield:\n" LOAD YIELD
        "syscall\n" AGAIN "attack_exits:\n" LOAD
        "xor %eax, %eax\n cpuid\n mov $0x3ed, %edx\n in %dx, %al\n" VERSION "vmmcall\n" AGAIN

        ".globl pv_entry\n pv_entry:\n"
        "cld\n lea stacks + " TEXT(
                8192) "(%rip), %rsp\n mov %rsi, %rdi\n call pv_main\n"

                      /* PVH, in 32 bits without paging: EBX is the start info. */
                      ".code32\n"
                      "pvh_entry:\n"
                      "cld\n mov $page_tables, %eax\n mov %eax, %cr3\n"
                      "mov %cr4, %eax\n or $0x20, %eax\n mov %eax, %cr4\n"        /* PAE */
                      "mov $0xc0000080, %ecx\n rdmsr\n or $0x100, %eax\n wrmsr\n" /* EFER.LME */
                      "lea page_tables + 4096 + 3, %eax\n mov %eax, page_tables\n"
                      "lea page_tables + 8192 + 3, %eax\n mov %eax, page_tables + 4096\n"
                      "movl $0x83, page_tables + 8192\n" /* the first 2 MiB */
                      "mov %cr0, %eax\n or $0x80000001, %eax\n mov %eax, %cr0\n"
                      "lgdt gdt_pointer\n"
                      "ljmp $8, $2f\n"
                      ".code64\n"
                      "2: mov $16, %eax\n mov %eax, %ss\n mov %eax, %ds\n mov %eax, %es\n"
                      "lea stacks + " TEXT(
                              8192) "(%rip), %rsp\n mov %ebx, %edi\n call pvh_main\n"
                                    ".balign 8\n"
                                    "gdt: .quad 0, 0x00af9b000000ffff, 0x00cf93000000ffff\n"
                                    "gdt_pointer: .word 23\n .long gdt\n");

void attack(struct attacker *attacker, const char *body, uint64_t turns);
extern const char attack_syscall[], attack_yield[], attack_exits[];
extern const char pv_entry[];

static long hypercall(uint64_t number, uint64_t first, uint64_t second, uint64_t third)
{
	long result;

	__asm__ volatile("syscall"
	                 : "=a"(result), "+D"(first), "+S"(second), "+d"(third)
	                 : "a"(number)
	                 : "rcx", "r11", "memory");
	return result;
}

static void take_arguments(const char *text)
{
	aim.area = (uint64_t)area;
	aim.text = (uint64_t)pv_entry;
	while (*text && aim.nr_stacks < HOSTILE_MAX_STACKS) {
		uint64_t value = 0;

		for (; *text && *text != ' '; text++)
			value = value << 4 | (uint64_t)((*text & 15) + (*text > '9' ? 9 : 0));
		if (value)
			aim.stacks[aim.nr_stacks++] = value;
		text += *text == ' ';
	}
}

/* Where a Linux would have its CPU's own data: anything that GS takes. */
static uint64_t hostile_gs(void)
{
	uint64_t value = hostile_value(&attacker.random, &aim);

	return (uint64_t)((int64_t)(value << 16) >> 16);
}

/* ---- PV ----------------------------------------------------------------------------------------
 */

static const start_info_t *start_info;

/* The second vCPU, without a stack of its own until here. */
__attribute__((noreturn, used)) void second_main(void)
{
	const uint64_t *frames = (const uint64_t *)start_info->mfn_list;
	uint64_t random = 4711;

	for (;;) {
		uint64_t page =
		        (uint64_t)area + hostile_draw(&random) % HOSTILE_AREA_PAGES * HOSTILE_PAGE;
		uint64_t entry = frames[page / HOSTILE_PAGE] * HOSTILE_PAGE | PRESENT | WRITABLE;

		for (int i = 0; i < 64; i++)
			attacker.target = hostile_value(&random, &aim);
		hypercall(__HYPERVISOR_update_va_mapping, page, 0, UVMF_INVLPG | UVMF_ALL);
		for (int i = 0; i < 64; i++)
			attacker.target = hostile_value(&random, &aim);
		hypercall(__HYPERVISOR_update_va_mapping, page, entry, UVMF_INVLPG | UVMF_ALL);
	}
}

__attribute__((used, noreturn)) void pv_main(const start_info_t *info)
{
	static vcpu_guest_context_t context;
	uint64_t root;

	start_info = info;
	take_arguments((const char *)info->cmd_line);
	__asm__ volatile("mov %%cr3, %0" : "=r"(root));
	context.flags = VGCF_in_kernel;
	context.user_regs.rip = (uint64_t)second_main;
	context.user_regs.rsp = (uint64_t)&stacks[1][STACK - 8];
	context.user_regs.cs = FLAT_KERNEL_CS64;
	context.user_regs.ss = FLAT_KERNEL_SS64;
	context.kernel_ss = FLAT_KERNEL_SS64;
	context.ctrlreg[3] = root;
	hypercall(__HYPERVISOR_vcpu_op, VCPUOP_initialise, 1, (uint64_t)&context);
	hypercall(__HYPERVISOR_vcpu_op, VCPUOP_up, 1, 0);
	attacker.random = 42;
	for (;;) {
		attacker.target = hostile_value(&attacker.random, &aim);
		hypercall(__HYPERVISOR_set_segment_base, SEGBASE_GS_KERNEL, hostile_gs(), 0);
		attack(&attacker,
		       hostile_draw(&attacker.random) % 16 ? attack_syscall : attack_yield, TURNS);
	}
}

/* ---- PVH ---------------------------------------------------------------------------------------
 */

/* Entries that lead nowhere, beyond all memory, into themselves, or have bits set that must not be.
 */
static uint64_t nowhere(uint64_t *random)
{
	uint64_t address = hostile_draw(random);

	switch (hostile_draw(random) % 4) {
	case 0:
		return address;
	case 1:
		return (address & 0xffffffffff000) | PRESENT | WRITABLE;
	case 2:
		return (uint64_t)page_tables[hostile_draw(random) % 4] | PRESENT | WRITABLE;
	default:
		return 0;
	}
}

static void write_msr(uint32_t number, uint64_t value)
{
	__asm__ volatile("wrmsr"
	                 :
	                 : "c"(number), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)));
}

__attribute__((used, noreturn)) void pvh_main(const struct hvm_start_info *info)
{
	take_arguments((const char *)info->cmdline_paddr);
	attacker.random = 42;
	for (;;) {
		/* All but the first entry of each table, which is what we run on. */
		for (int i = 0; i < 32; i++) {
			uint64_t where = hostile_draw(&attacker.random);

			page_tables[where % 4][1 + (where >> 8) % (TABLE - 1)] =
			        nowhere(&attacker.random);
		}
		__asm__ volatile("mov %0, %%cr3" : : "r"(page_tables) : "memory");
		attacker.target = hostile_value(&attacker.random, &aim);
		write_msr(MSR_GS_BASE, hostile_gs());
		write_msr(MSR_KERNEL_GS_BASE, hostile_gs());
		attack(&attacker, attack_exits, TURNS);
	}
}
