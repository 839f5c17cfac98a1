// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sending NMIs, and telling on arrival whose an NMI is. NMIs carry no sender, and a pCPU remembers
 * only that one is pending: two that come together arrive as one.
 *
 * A mark is set before ours is sent; the NMI that finds it takes it. Where somebody else's NMI
 * comes in between, the two change roles: that one makes our sample, ours finds no mark and goes to
 * Xen. Xen gets as many as were meant for it. There is one whose coming leaves a trace: that of
 * Xen's watchdog, from a performance counter that has overflowed. It has to reach Xen, which only
 * then arms the counter again; so an NMI that finds the counter overflowed is the watchdog's,
 * whatever else it is, and the mark stays for ours, which comes next or never, having been merged
 * with it.
 *
 * tests/unit/test_nmi_interleavings.c runs this file in all orders of what can happen.
 */
#include "peek.h"

#define SECOND      1000000000ll
/* Where we send one although an earlier one may still be on its way: so long, in ticks of the TSC,
 * one without a mark is taken to be that. 17 to 67 ms at 4 to 1 GHz. */
#define SPARE_TICKS (1 << 26)
/* A counter that never counts, as under some hypervisors, always looks overflowed: without having
 * been seen armed in between, it is believed so often. */
#define BELIEVED    2u

/*
 * Xen arms the counter with a negative number of at most 31 bits, sign-extended, on both kinds of
 * processor (arch/x86/nmi.c, check_nmi_watchdog says so): bit 31 is set until it overflows.
 */
static bool watchdog_overflowed(struct xf_pcpu *self)
{
	uint64_t counter;

	switch (xf_peek_watchdog_msr()) {
	case XEN_MSR_K7_PERFCTR0:
		counter = xf_machine_msr(XEN_MSR_K7_PERFCTR0);
		break;
	case XEN_MSR_P6_PERFCTR0:
		counter = xf_machine_msr(XEN_MSR_P6_PERFCTR0);
		break;
	default:
		return false;
	}
	if (counter & 1u << 31) {
		self->overflows = 0;
		return false;
	}
	return self->overflows++ < BELIEVED;
}

/* An NMI without a mark: have we sent two lately, because the first seemed lost? */
static bool is_spare(struct xf_pcpu *self)
{
	uint64_t until = __atomic_exchange_n(&self->spare_until, 0, __ATOMIC_ACQ_REL);

	return until && (int64_t)(until - xf_machine_tsc()) > 0;
}

enum xf_nmi xf_recognise_nmi(struct xf_pcpu *self)
{
	if (watchdog_overflowed(self)) {
		__atomic_store_n(&self->passed, __atomic_load_n(&self->kicked, __ATOMIC_ACQUIRE),
		                 __ATOMIC_RELAXED);
		return XF_NMI_FOREIGN;
	}
	if (__atomic_exchange_n(&self->kicked, 0, __ATOMIC_ACQ_REL)) {
		__atomic_store_n(&self->passed, 0, __ATOMIC_RELAXED);
		return XF_NMI_OURS;
	}
	return is_spare(self) ? XF_NMI_SPARE : XF_NMI_FOREIGN;
}

/*
 * One that has not arrived since the last time is lost (Xen swallows NMIs while it patches itself),
 * merged with the watchdog's, or still on its way (the pCPU has NMIs blocked). The last can't be
 * told from the first, so it is sent again only after a second.
 */
void xf_kick(uint32_t cpu, int64_t now)
{
	struct xf_pcpu *pcpu = &xf_pcpus[cpu];

	pcpu->kicks++;
	if (__atomic_exchange_n(&pcpu->kicked, 1, __ATOMIC_ACQ_REL)) {
		pcpu->lost_nmi++;
		if (!__atomic_exchange_n(&pcpu->passed, 0, __ATOMIC_ACQ_REL) &&
		    now - pcpu->kicked_at < SECOND)
			return;
		__atomic_store_n(&pcpu->spare_until, xf_machine_tsc() + SPARE_TICKS,
		                 __ATOMIC_RELEASE);
	}
	pcpu->kicked_at = now;
	send_IPI_mask(xf_masks[1 + cpu % 64] - cpu / 64, XEN_APIC_DM_NMI);
}
