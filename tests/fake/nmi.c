// SPDX-License-Identifier: GPL-2.0-or-later
/* NMIs on their way and at their arrival, and what they find there. */
#include <string.h>

#include "internal.h"

xen_nmi_callback_t *xen_nmi_callback;
xen_nmi_callback_t *xen_saved_nmi_callback;

xen_nmi_callback_t *fake_nmi_slot(void)
{
	return xen_nmi_callback;
}

xen_nmi_callback_t *fake_take_nmi_slot(xen_nmi_callback_t *callback)
{
	xen_nmi_callback_t *before = xen_nmi_callback;

	xen_nmi_callback = callback;
	return before;
}

void fake_set_nmi_policy(const struct fake_nmi_policy *policy)
{
	fake.policy = *policy;
}

static void put_on_its_way(struct fake_pcpu *pcpu, bool ours)
{
	int64_t time = fake.now + fake_between(fake.policy.delay_min, fake.policy.delay_max);

	if (pcpu->nmi_arrives != FAKE_NEVER && ours)
		pcpu->counts.nmis_merged++;
	if (time < pcpu->nmi_arrives)
		pcpu->nmi_arrives = time;
	pcpu->nmi_ours |= ours;
	pcpu->nmi_foreign |= !ours;
}

void send_IPI_mask(const unsigned long *mask, int vector)
{
	struct fake_pcpu *self = fake_caller("send_IPI_mask");
	unsigned int cpu;

	if (vector != XEN_APIC_DM_NMI)
		fake_fail("an IPI that is no NMI is sent");
	fake_pause(0);
	for (cpu = 0; cpu < 4096; cpu++) {
		if (!(mask[cpu / 64] >> (cpu % 64) & 1))
			continue;
		if (cpu >= fake.nr || !fake_pcpus[cpu].online)
			fake_fail("an NMI is sent to pCPU %u, which is not online", cpu);
		if (&fake_pcpus[cpu] == self)
			fake_fail("pCPU %u sends an NMI to itself", cpu);
		fake_pcpus[cpu].counts.nmis_sent++;
		fake_pcpus[cpu].counts.last_sent = fake.now;
		if (fake_random() % 1000 < fake.policy.swallow_of_1000)
			fake_pcpus[cpu].counts.nmis_swallowed++;
		else
			put_on_its_way(&fake_pcpus[cpu], true);
	}
	fake_pause(0);
}

void fake_inject_nmi(unsigned int cpu)
{
	fake_pcpus[cpu].counts.nmis_foreign++;
	put_on_its_way(&fake_pcpus[cpu], false);
}

/* Xen's do_nmi. */
bool fake_nmi(unsigned int cpu, const struct xen_cpu_user_regs *regs)
{
	struct fake_pcpu *pcpu = &fake_pcpus[cpu];
	struct fake_pcpu *before = fake.self;
	bool handled;

	if (pcpu->in_nmi)
		fake_fail("NMIs nest on pCPU %u: a bug of the fake", cpu);
	if (fake.unloaded && xen_nmi_callback == xf_capture_nmi)
		fake_fail("the NMI slot points to the agent after it was unloaded");
	fake.self = pcpu;
	pcpu->in_nmi = true;
	handled = xen_nmi_callback && xen_nmi_callback(regs, (int)cpu);
	pcpu->in_nmi = false;
	fake.self = before;
	if (handled)
		pcpu->counts.nmis_handled++;
	else
		pcpu->counts.nmis_unknown++;
	return handled;
}

static uint64_t hostile_rsp(unsigned int cpu)
{
	const uint64_t choices[] = {
	        0,
	        8,
	        0x00007fffdeadbee8ull,
	        0x8000000000000000ull,
	        0xffff800000000000ull,
	        FAKE_TEXT,
	        UINT64_MAX & ~7ull,
	        (uint64_t)fake_stack((cpu + 1) % fake.nr) + 0x7800,
	        (uint64_t)fake_stack(cpu) + XF_STACK_BYTES,
	        (uint64_t)fake_stack(cpu) - 8,
	        (uint64_t)fake_stack(cpu) + 0x5ff8,
	        fake_random(),
	};

	return choices[fake_random() % (sizeof(choices) / sizeof(choices[0]))];
}

/* Leaves random words on the primary stack. Return: an RSP below some of them. */
static uint64_t busy_stack(unsigned int cpu)
{
	uint32_t low = FAKE_FRAME - 8 * (uint32_t)fake_between(1, 150);
	uint32_t offset;

	for (offset = low; offset < FAKE_FRAME; offset += 8) {
		uint64_t value = fake_random();

		if (fake_random() % 2)
			value = FAKE_TEXT + value % (FAKE_TEXT_END - FAKE_TEXT);
		else if (fake_random() % 8 == 0)
			value = (uint64_t)fake_stack(cpu) + value % XF_STACK_BYTES;
		fake_memory_write(cpu, offset, value);
	}
	return (uint64_t)fake_stack(cpu) + low;
}

void fake_nmi_make_registers(unsigned int cpu, struct xen_cpu_user_regs *regs)
{
	const struct fake_pcpu *pcpu = &fake_pcpus[cpu];
	uint64_t stack = (uint64_t)pcpu->stack;

	memset(regs, 0, sizeof(*regs));
	regs->cs = 0xe008;
	regs->rip = FAKE_TEXT + fake_random() % 0x7000;
	regs->rsp = stack + FAKE_FRAME - 0x100;
	regs->rbp = fake_random();
	if (pcpu->depth)
		return;
	switch (pcpu->life) {
	case FAKE_SVM_GUEST:
		regs->rip = FAKE_STGI;
		break;
	case FAKE_HYPERCALL:
		regs->rsp = busy_stack(cpu);
		break;
	case FAKE_SYSCALL:
		regs->rsp = hostile_rsp(cpu);
		break;
	default:
		break;
	}
}

void fake_nmi_arrive(unsigned int cpu)
{
	struct fake_pcpu *pcpu = &fake_pcpus[cpu];
	struct xen_cpu_user_regs *frame = fake_frame(cpu);
	struct xen_cpu_user_regs regs;

	pcpu->nmi_arrives = FAKE_NEVER;
	pcpu->nmi_ours = pcpu->nmi_foreign = false;
	fake_nmi_make_registers(cpu, &regs);
	if (!pcpu->depth && (pcpu->life == FAKE_PV_GUEST || pcpu->life == FAKE_VMX_GUEST)) {
		frame->rip = fake_random();
		frame->rsp = fake_random();
		frame->cs = pcpu->life == FAKE_PV_GUEST ? 0xe033 : 0x10;
		fake_nmi(cpu, frame);
	} else {
		fake_nmi(cpu, &regs);
	}
	/* The exit path of an SVM guest stores its registers only now. */
	if (!pcpu->depth && pcpu->life == FAKE_SVM_GUEST) {
		frame->rip = fake_random();
		frame->rsp = fake_random();
		frame->cs = 0x10;
	}
	if (!pcpu->depth)
		fake_run_softirqs(cpu);
}
