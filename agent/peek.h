// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every read of memory that is not the agent's own, each with the reason why it cannot fault. No
 * other file of the agent makes a pointer out of a number.
 */
#ifndef XF_AGENT_PEEK_H
#define XF_AGENT_PEEK_H

#include "agent.h"

/*
 * The stack that we run on. Context: any. In softirq context RSP is on this pCPU's stack; in NMI
 * context it is on the NMI page of the same 32 KiB or on the primary stack itself (Xen's entry
 * moves there where a PV guest was interrupted; on AMD the NMI uses no IST while an HVM vCPU is
 * loaded). Either way its upper bits name the whole.
 */
static inline uint64_t xf_peek_own_stack(void)
{
	return xf_machine_stack_pointer() & ~(uint64_t)(XF_STACK_BYTES - 1);
}

/*
 * The word at @offset of the stack at @stack. Context: any. @stack is our own, or that of an
 * online pCPU as Xen's stack_base says; such a stack is mapped as long as the pCPU is online. The
 * caller's @offset is a multiple of eight, and never on one of the stack's guard pages (0 and 5):
 * it comes from xf_config (above the guest's frame, checked by the tool and by xf_start), or from
 * a loop that xf_capture_nmi has bounded to one page range that is in use.
 */
static inline uint64_t xf_peek_stack(uint64_t stack, uint32_t offset)
{
	return *(const volatile uint64_t *)(stack + (offset & (XF_STACK_BYTES - 8)));
}

/* The vCPU that runs on the stack at @stack. Context: any. Only to be compared or passed to
 * xf_peek_vcpu_*, and that only for our own pCPU, where it cannot go away while it is current. */
static inline const void *xf_peek_current(uint64_t stack)
{
	return (const void *)xf_peek_stack(stack, xf_config.current_vcpu_offset);
}

/* The number of the pCPU that owns the stack. Context: any. */
static inline uint32_t xf_peek_processor_id(uint64_t stack)
{
	return *(const volatile uint32_t *)(stack +
	                                    (xf_config.processor_id_offset & (XF_STACK_BYTES - 4)));
}

/*
 * Fields of a vCPU that is current on this pCPU, or of an idle vCPU. Context: any. Both exist as
 * long as we look: a current vCPU holds its domain, idle vCPUs are never freed. vcpu_id is the
 * first field of struct vcpu and domain_id of struct domain in Xen 3 to 4.22.
 */
static inline uint32_t xf_peek_vcpu_id(const void *vcpu)
{
	return *(const volatile uint32_t *)vcpu;
}

static inline const void *xf_peek_vcpu_domain(const void *vcpu)
{
	return *(const void *const volatile *)((const char *)vcpu + xf_config.vcpu_domain_offset);
}

static inline uint16_t xf_peek_domain_id(const void *domain)
{
	return *(const volatile uint16_t *)domain;
}

/* Is it of an HVM or PVH guest? False where the offset is not known. Context: as above. */
static inline bool xf_peek_is_hvm(const void *vcpu)
{
	const char *domain = xf_peek_vcpu_domain(vcpu);

	return xf_config.domain_options_offset &&
	       (*(const volatile uint32_t *)(domain + xf_config.domain_options_offset) & 1);
}

/*
 * Does the kernel of a PV guest run, rather than a process? Xen alone changes what says so, and
 * only where the vCPU enters and leaves its kernel. True where the offset is not known. Context:
 * softirq, @vcpu is current on this pCPU; or an idle vCPU.
 */
static inline bool xf_peek_in_pv_kernel(const void *vcpu)
{
	return !xf_config.vcpu_flags_offset ||
	       (*(const volatile uint32_t *)((const char *)vcpu + xf_config.vcpu_flags_offset) & 1);
}

/* CR3 of an HVM or PVH guest; 0 for others or where the offsets are not known. Context: softirq,
 * @vcpu is current on this pCPU. */
static inline uint64_t xf_peek_hvm_cr3(const void *vcpu)
{
	if (!xf_config.vcpu_hvm_cr3_offset || !xf_peek_is_hvm(vcpu))
		return 0;
	return *(const volatile uint64_t *)((const char *)vcpu + xf_config.vcpu_hvm_cr3_offset);
}

/* The guest's register frame at the end of our own stack. Context: any. */
static inline const struct xen_cpu_user_regs *xf_peek_guest_frame(uint64_t stack)
{
	return (const struct xen_cpu_user_regs *)(stack + xf_config.frame_offset);
}

/* Is @cpu online? Context: any. @cpu is below xf_config.nr_pcpus, which is no larger than Xen's
 * bitmap. */
static inline bool xf_peek_online(uint32_t cpu)
{
	return *(const volatile unsigned long *)&cpu_online_map[cpu / 64] >> (cpu % 64) & 1;
}

/* The counter by which Xen's NMI watchdog runs on this pCPU, as an MSR; 0: it does not run.
 * Context: any. Xen has written that MSR on every pCPU before it says so. */
static inline uint32_t xf_peek_watchdog_msr(void)
{
	return *(const volatile uint32_t *)&nmi_watchdog
	               ? *(const volatile uint32_t *)&xen_nmi_perfctr_msr
	               : 0;
}

/* The stack of an online pCPU. Context: any. */
static inline uint64_t xf_peek_stack_of(uint32_t cpu)
{
	return (uint64_t) * (void *const volatile *)&stack_base[cpu];
}

#endif
