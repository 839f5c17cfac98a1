// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In the NMI: copy the interrupted registers and the unwindable words of this pCPU's stack into a
 * slot of this pCPU, and ask for the softirq that writes them out.
 *
 * The argument. NMIs do not nest on a pCPU, so the NMI handler is the only writer of @head, @taken
 * and @lost_slot, and a slot at or beyond @head is touched by nobody else; the softirq reads slots
 * below @head only and alone moves @tail, so what the NMI reads of @tail may be old, which makes
 * the ring look fuller than it is, never emptier. No lock is taken, nothing is called but Xen's
 * raise_softirq (one locked bit operation). The interrupted RSP is a guest's value in the gap
 * between a PV guest's SYSCALL and Xen's stack switch; it is followed only after it has been
 * proven to lie on this pCPU's own stack. The loop runs over at most two pages of 512 words.
 */
#include "peek.h"

#define PAGE           4096u
/* Pages of Xen's 32 KiB stack (asm/current.h, 4.14 to 4.22): 1 to 4 exceptions, 6 and 7 primary. */
#define FIRST_IST_PAGE 1u
#define LAST_IST_PAGE  4u
#define PRIMARY_PAGE   6u

/* Orders the slot's content before @head, and @head before what follows, on this pCPU (the
 * softirq that reads it runs here too), so a compiler barrier is enough. */
#define barrier() __asm__ volatile("" ::: "memory")

/* Most words of a stack are numbers: they cost no more than the first comparison. */
static bool is_unwindable(uint64_t value, uint64_t stack)
{
	if (value < XF_MACHINE_LOWEST)
		return false;
	return value - stack < XF_STACK_BYTES ||
	       value - xf_config.text_start < xf_config.text_end - xf_config.text_start ||
	       value - xf_config.livepatch_start <
	               xf_config.livepatch_end - xf_config.livepatch_start;
}

/*
 * The end, as an offset into the stack, of what may be read from @offset up: the guest's frame on
 * the primary stack (entry code that fills the frame has nothing above it), the page's end on an
 * exception stack.
 * Return: 0 where Xen's RSP can't be.
 */
static uint32_t readable_end(uint32_t offset)
{
	uint32_t page = offset / PAGE;

	if (offset % 8)
		return 0;
	if (page >= PRIMARY_PAGE)
		return offset < xf_config.frame_offset ? xf_config.frame_offset : offset;
	if (page >= FIRST_IST_PAGE && page <= LAST_IST_PAGE)
		return (page + 1) * PAGE;
	return 0;
}

/*
 * Copies the unwindable words above @rsp into @slot, where @rsp is one of Xen's. Return: how many.
 */
static unsigned int capture_words(struct xf_slot *slot, uint64_t stack, uint64_t rsp)
{
	uint32_t start = rsp - stack;
	uint32_t end = rsp - stack < XF_STACK_BYTES ? readable_end(start) : 0;
	unsigned int nr = 0;
	uint32_t offset;

	if (!end)
		slot->head.flags |= XF_SAMPLE_FOREIGN_RSP;
	else if (start < PRIMARY_PAGE * PAGE)
		slot->head.flags |= XF_SAMPLE_IST_STACK;
	for (offset = start; offset < end; offset += 8) {
		uint64_t value = xf_peek_stack(stack, offset);

		if (!is_unwindable(value, stack))
			continue;
		if (nr == XF_MAX_WORDS) {
			slot->head.flags |= XF_SAMPLE_TRUNCATED;
			break;
		}
		slot->words[nr++] = XF_WORD((offset - start) / 8, value);
	}
	return nr;
}

/* The registers that a guest left in the frame at the stack's end. */
static void capture_guest_registers(struct xf_sample *head, uint64_t stack)
{
	const struct xen_cpu_user_regs *frame = xf_peek_guest_frame(stack);

	head->guest_rip = frame->rip;
	head->guest_rsp = frame->rsp;
	head->guest_rbp = frame->rbp;
	head->guest_cs = frame->cs;
}

static void capture_vcpu(struct xf_slot *slot, uint64_t stack)
{
	const void *vcpu = xf_peek_current(stack);

	slot->vcpu = vcpu;
	slot->head.vcpu = xf_peek_vcpu_id(vcpu);
	slot->head.domid = xf_peek_domain_id(xf_peek_vcpu_domain(vcpu));
}

/*
 * Was a guest running? A PV guest: the code segment's privilege is not Xen's. Intel: the VM exit
 * handler passes on the guest's own frame. AMD: the NMI that ended the guest's run is delivered
 * when the exit path sets the global interrupt flag.
 */
static uint16_t mode_flags(const struct xen_cpu_user_regs *regs, uint64_t stack)
{
	if ((regs->cs & 3) || regs == xf_peek_guest_frame(stack))
		return XF_SAMPLE_GUEST;
	if (xf_config.after_stgi && regs->rip == xf_config.after_stgi)
		return XF_SAMPLE_GUEST | XF_SAMPLE_AFTER_STGI;
	return 0;
}

static void capture(struct xf_slot *slot, const struct xen_cpu_user_regs *regs, uint32_t cpu)
{
	uint64_t stack = xf_peek_own_stack();
	struct xf_sample *head = &slot->head;
	unsigned int nr = 0;

	head->tsc = xf_machine_tsc();
	head->pcpu = cpu;
	head->rip = regs->rip;
	head->rsp = regs->rsp;
	head->rbp = regs->rbp;
	head->rflags = regs->rflags;
	head->cs = regs->cs;
	head->stack_end = (uint64_t)xf_peek_guest_frame(stack);
	head->cr3 = 0;
	head->hvm_cr3 = 0;
	head->flags = mode_flags(regs, stack);
	capture_vcpu(slot, stack);
	if (slot->vcpu == idle_vcpu[cpu])
		head->flags |= XF_SAMPLE_IDLE | XF_SAMPLE_NO_GUEST_REGS;
	capture_guest_registers(head, stack);
	if (!(head->flags & XF_SAMPLE_GUEST))
		nr = capture_words(slot, stack, regs->rsp);
	head->bytes = XF_SAMPLE_HEAD_BYTES + 8 * nr;
}

int xf_capture_nmi(const struct xen_cpu_user_regs *regs, int cpu)
{
	struct xf_pcpu *self;
	struct xf_slot *slot;
	enum xf_nmi nmi;

	if ((uint32_t)cpu >= xf_config.nr_pcpus)
		return 0;
	self = &xf_pcpus[cpu];
	nmi = xf_recognise_nmi(self);
	if (nmi != XF_NMI_OURS)
		return nmi == XF_NMI_SPARE;
	if (__atomic_load_n(&self->closed, __ATOMIC_RELAXED)) {
		self->late = 1;
		return 1;
	}
	if (self->head - __atomic_load_n(&self->tail, __ATOMIC_RELAXED) >= XF_SLOTS) {
		self->lost_slot++;
		return 1;
	}
	slot = &self->slots[self->head % XF_SLOTS];
	slot->head.sequence = self->taken;
	capture(slot, regs, cpu);
	self->taken++;
	barrier();
	__atomic_store_n(&self->head, self->head + 1, __ATOMIC_RELAXED);
	/* What comes while others are written out waits for the next timer or sample. Else, were
	   that slower than NMIs come, the softirq would be asked for without end, and those behind
	   it never run. */
	if (!__atomic_load_n(&self->emitting, __ATOMIC_RELAXED))
		raise_softirq(xf_agent.softirq);
	return 1;
}
