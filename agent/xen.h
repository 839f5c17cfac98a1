// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The few things of Xen that the agent uses, declared here by their ABI. Symbols whose name starts
 * with xen_ are bound by the tool (src/xen/payload.c) to Xen's function or variable of the name in
 * the comment, whatever its file; the others by Xen's loader, by their own name.
 *
 * Hidden visibility makes the compiler use direct PC-relative references, the only relocations that
 * Xen's live patch loader takes.
 */
#ifndef XF_AGENT_XEN_H
#define XF_AGENT_XEN_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Registers as saved by Xen's entry code: public ABI, arch-x86/xen-x86_64.h cpu_user_regs. */
struct xen_cpu_user_regs {
	uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
	uint32_t error_code, entry_vector;
	uint64_t rip;
	uint16_t cs, pad0;
	uint32_t pad1;
	uint64_t rflags;
	uint64_t rsp;
	uint64_t ss;
};

/* Opaque; Xen's struct timer takes 40 to 56 bytes in 4.14 to 4.22. */
struct xen_timer {
	uint64_t space[16];
};

typedef int xen_nmi_callback_t(const struct xen_cpu_user_regs *regs, int cpu);
typedef void xen_softirq_handler_t(void);

/* Time and timers (xen/timer.h, xen/time.h): nanoseconds of Xen's system time. Context: not NMI. */
int64_t get_s_time(void);
void init_timer(struct xen_timer *timer, void (*function)(void *), void *data, unsigned int cpu);
void set_timer(struct xen_timer *timer, int64_t expires);
void migrate_timer(struct xen_timer *timer, unsigned int cpu);
void kill_timer(struct xen_timer *timer);

/* NMIs: one slot, NULL while nobody has it; non-zero from it means "handled". Xen's own function to
 * set it swaps, which would take it from its owner for a moment; so it is compared and exchanged
 * here. */
extern xen_nmi_callback_t *xen_nmi_callback;       /* arch/x86/traps.c#nmi_callback */
extern xen_nmi_callback_t *xen_saved_nmi_callback; /* arch/x86/livepatch.c#saved_nmi_callback */
/* The NMI watchdog (arch/x86/nmi.c): 0 where it does not run; and the MSR of the counter whose
 * overflow is its NMI: one of these two, or the Pentium 4's. */
extern const uint32_t nmi_watchdog;
extern const uint32_t xen_nmi_perfctr_msr; /* arch/x86/nmi.c#nmi_perfctr_msr */
#define XEN_MSR_K7_PERFCTR0 0xc0010004u    /* AMD APM volume 2, appendix A */
#define XEN_MSR_P6_PERFCTR0 0x000000c1u    /* Intel SDM volume 4, IA32_PMC0 */
/* Sends an IPI to the CPUs of @mask (asm/smp.h). Context: not NMI. */
void send_IPI_mask(const unsigned long *mask, int vector);
/* Delivery mode NMI in the APIC's ICR: Intel SDM volume 3, 10.6.1. */
#define XEN_APIC_DM_NMI 0x400

/* Softirqs (xen/softirq.h). raise_softirq sets a bit for this CPU, atomically. Context: any. */
void open_softirq(int number, xen_softirq_handler_t *handler);
void raise_softirq(unsigned int number);
extern xen_softirq_handler_t *xen_softirq_handlers[]; /* common/softirq.c#softirq_handlers */
/* common/timer.c#timer_softirq_action: runs this CPU's timers that are due, if any are. Context:
 * softirq. */
xen_softirq_handler_t xen_timer_softirq_action;

/* Tracing (xen/trace.h). Either may be missing; the tool then binds both to the other one. */
void xen_trace_cycles(uint32_t event, _Bool cycles, unsigned int bytes, const void *data);
void xen_trace(uint32_t event, unsigned int bytes, const void *data);
#define XEN_TRACE_CYCLES (1u << 31) /* xen_trace: the record carries the TSC (public trace.h) */
extern const uint32_t xen_tb_event_mask; /* common/trace.c#tb_event_mask */

/*
 * Guests' memory, of the current vCPU alone, as its page tables map it; a page that is not there is
 * an error, not a fault. Context: no lock held, interrupts on. The first (asm/guest_access.h) is
 * for PV guests and refuses Xen's own range of addresses; it returns how many bytes it has not
 * copied. The second (asm/hvm/support.h) is for HVM and PVH guests; it returns 0 where it has
 * copied all, and fills @fault, of 16 bytes, where it has not. @access is as an x86 page fault's
 * error code.
 */
unsigned int xen_copy_from_guest_pv(void *to, uint64_t from, unsigned int bytes);
int xen_copy_from_guest_hvm(void *to, uint64_t from, unsigned int bytes, uint32_t access,
                            uint64_t fault[2]);
#define XEN_ACCESS_USER (1u << 2)

/*
 * Registers of the current vCPU, which is of an HVM or PVH guest (asm/hvm/hvm.h). They are where
 * the processor has left them at the exit, or has Xen put them: both functions know. The second one
 * knows XEN_MSR_SHADOW_GS_BASE since 4.17; those before it crash the domain that they are asked
 * about, and are not bound. Context: no lock held, interrupts on.
 */
struct xen_segment_register {
	uint16_t selector;
	uint16_t attributes;
	uint32_t limit;
	uint64_t base;
};
void xen_hvm_get_segment_register(const void *vcpu, unsigned int segment,
                                  struct xen_segment_register *value);
uint64_t xen_hvm_get_reg(const void *vcpu, unsigned int msr);
#define XEN_SEGMENT_GS         5u          /* enum x86_segment, of its instruction emulator */
#define XEN_MSR_GS_BASE        0xc0000101u /* AMD APM volume 2, appendix A */
#define XEN_MSR_SHADOW_GS_BASE 0xc0000102u

/*
 * Puts the page tables of its kernel in place of those of its process, where a PV guest's vCPU,
 * which is current, runs a process; called again, it puts them back, which must be before the vCPU
 * goes on (arch/x86/pv/domain.c). Xen does so itself to read a descriptor for a process. Of a vCPU
 * that has no such page tables it would crash Xen. Context: no lock held, interrupts on.
 */
void xen_toggle_guest_pt(const void *vcpu);

/* A PV guest's addresses (public arch-x86/xen-x86_64.h): Xen's own end here, the guest's go on. */
#define XEN_HYPERVISOR_END 0xffff880000000000ull

/* CPUs: Xen's arrays are indexed by pCPU number. */
extern void *const stack_base[];             /* the pCPU's 32 KiB stack */
extern const void *const idle_vcpu[];        /* the pCPU's idle vCPU */
extern const unsigned long cpu_online_map[]; /* a bit a pCPU */

#pragma GCC visibility pop

#endif
