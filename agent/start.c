// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Taking and giving back: the NMI callback, the softirq, the timers; and the hooks by which Xen
 * calls us. Only load and unload hooks: any other kind would make Xen refuse a vendor's `replace`.
 *
 * Both hooks run on one pCPU while all others are held with interrupts off, and while Xen has put
 * a mask into the NMI slot: no tick, no softirq and no NMI of ours runs anywhere meanwhile.
 */
#include "peek.h"

struct xf_agent_config xf_config = {.version = XF_FORMAT_VERSION};
struct xf_agent xf_agent;
unsigned long xf_masks[65][XF_MASK_WORDS];
extern const uint32_t xf_pcpu_bytes __attribute__((visibility("hidden")));
const uint32_t xf_pcpu_bytes = sizeof(struct xf_pcpu);

#define MAX_SOFTIRQS                                                                               \
	16u /* Xen has 11 to 13; the table is at least this long with what follows it */

/* Domains are allocated by pages, from the same 512 GiB of Xen's direct map as the vCPUs. */
static bool looks_like_domain(const void *domain, const void *vcpu)
{
	uint64_t address = (uint64_t)domain;

	return !(address & 0xfff) && !((address ^ (uint64_t)vcpu) >> 39);
}

/* Do the offsets that we were given fit this pCPU's idle vCPU and stack? */
static enum xf_refusal check_pcpu(uint32_t cpu)
{
	const void *vcpu = idle_vcpu[cpu];
	const void *domain;

	if (!vcpu || xf_peek_vcpu_id(vcpu) != cpu || !xf_peek_in_pv_kernel(vcpu))
		return XF_REFUSAL_IDLE_VCPU;
	domain = xf_peek_vcpu_domain(vcpu);
	if (!looks_like_domain(domain, vcpu) || xf_peek_domain_id(domain) != 0x7fff)
		return XF_REFUSAL_IDLE_VCPU;
	if (xf_peek_processor_id(xf_peek_stack_of(cpu)) != cpu)
		return XF_REFUSAL_STACK;
	return XF_REFUSAL_NONE;
}

static enum xf_refusal check_pcpus(void)
{
	enum xf_refusal refusal = XF_REFUSAL_NONE;
	uint32_t online = 0;
	uint32_t cpu;

	for (cpu = 0; cpu < xf_config.nr_pcpus && !refusal; cpu++) {
		if (!xf_peek_online(cpu))
			continue;
		online++;
		refusal = check_pcpu(cpu);
	}
	if (!refusal && online < 2)
		refusal = XF_REFUSAL_ONE_PCPU;
	return refusal;
}

static bool watchdog_is_known(void)
{
	uint32_t msr = xf_peek_watchdog_msr();

	return !msr || msr == XEN_MSR_K7_PERFCTR0 || msr == XEN_MSR_P6_PERFCTR0;
}

/* The number under which Xen has registered its timers' handler. Return: MAX_SOFTIRQS where it has
 * not.
 */
static uint32_t find_softirq(void)
{
	uint32_t number;

	for (number = 0; number < MAX_SOFTIRQS; number++)
		if (xen_softirq_handlers[number] == xen_timer_softirq_action)
			break;
	return number;
}

/* Return: whether @from was in Xen's slot, which now has @to. */
static bool change_nmi_callback(xen_nmi_callback_t *from, xen_nmi_callback_t *to)
{
	return __atomic_compare_exchange_n(&xen_nmi_callback, &from, to, false, __ATOMIC_SEQ_CST,
	                                   __ATOMIC_SEQ_CST);
}

enum xf_refusal xf_start(void)
{
	enum xf_refusal refusal = check_pcpus();

	if (refusal)
		return refusal;
	if (!watchdog_is_known())
		return XF_REFUSAL_WATCHDOG;
	if (!XF_TRACE_IS_OURS(xen_tb_event_mask))
		return XF_REFUSAL_NO_LEASE;
	xf_agent.softirq = find_softirq();
	if (xf_agent.softirq == MAX_SOFTIRQS)
		return XF_REFUSAL_SOFTIRQ;
	if (!change_nmi_callback(NULL, xf_capture_nmi))
		return XF_REFUSAL_NMI_TAKEN;
	open_softirq(xf_agent.softirq, xf_timer_softirq);
	return XF_REFUSAL_NONE;
}

static void give_back_softirq(void)
{
	if (xen_softirq_handlers[xf_agent.softirq] == xf_timer_softirq)
		open_softirq(xf_agent.softirq, xen_timer_softirq_action);
}

void xf_finish(void)
{
	/* Has somebody taken the slot after us (a crash, a microcode update), it stays theirs. */
	change_nmi_callback(xf_capture_nmi, NULL);
	give_back_softirq();
}

static void load_hook(void)
{
	int64_t now = get_s_time();
	uint32_t cpu, bit;

	xf_agent.period = 1000000000ll / xf_config.frequency;
	xf_agent.lease_time = now;
	xf_agent.lease_value = xen_tb_event_mask & XF_LEASE_MASK;
	for (bit = 0; bit < 64; bit++)
		xf_masks[1 + bit][0] = 1ul << bit;
	for (cpu = 0; cpu < xf_config.nr_pcpus; cpu++) {
		struct xf_pcpu *pcpu = &xf_pcpus[cpu];

		pcpu->random = xf_config.seed + cpu;
		pcpu->due = now + xf_agent.period;
		init_timer(&pcpu->timer, xf_pace_tick, (void *)(uint64_t)cpu, 0);
	}
	/* The NMI slot is masked now: one timer starts the rest when this is over. */
	set_timer(&xf_pcpus[0].timer, now + 10000000);
}

/*
 * After a `replace` by a vendor's live patch we are still running here. Xen will put back the NMI
 * callback that it saved, which may be ours: it gets none.
 */
static void unload_hook(void)
{
	uint32_t cpu;

	for (cpu = 0; cpu < xf_config.nr_pcpus; cpu++)
		kill_timer(&xf_pcpus[cpu].timer);
	if (xen_saved_nmi_callback == xf_capture_nmi)
		xen_saved_nmi_callback = NULL;
	if (xf_agent.state == XF_RUNNING || xf_agent.state == XF_STOPPING)
		give_back_softirq();
	xf_agent.state = XF_QUIET;
}

typedef void xf_hook_t(void);
#define XF_HOOK(kind, function)                                                                    \
	xf_hook_t *const xf_hook_##kind                                                            \
	        __attribute__((used, visibility("hidden"), section(".livepatch.hooks." #kind))) =  \
	                (function)

extern xf_hook_t *const xf_hook_load, *const xf_hook_unload;
XF_HOOK(load, load_hook);
XF_HOOK(unload, unload_hook);
