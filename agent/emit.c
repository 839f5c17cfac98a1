// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In the softirq, before the vCPU goes back to its guest: cut the waiting samples of this pCPU into
 * trace records and hand them to Xen. Xen's trace function takes this pCPU's trace lock with
 * interrupts off; only code of this pCPU that is not in an NMI ever takes it.
 *
 * We share the softirq of Xen's timers, since it comes before that of the scheduler: the vCPU of a
 * sample is still the current one, unless Xen was in the middle of leaving it. Xen's own handler
 * goes on after ours; asked for once too often, it finds no timer that is due.
 */
#include "peek.h"

static void trace(uint32_t event, unsigned int bytes, const void *data)
{
	if (xf_config.trace_takes_cycles)
		xen_trace_cycles(event, 0, bytes, data);
	else
		xen_trace(event, bytes, data);
}

/*
 * What only now is known: the exit handler of an HVM vCPU has by now copied the guest's registers
 * out of the VMCB. The vCPU may have been switched away before this softirq got its turn: then the
 * frame belongs to another one. Return: whether it has not.
 */
static bool complete(struct xf_slot *slot)
{
	uint64_t stack = xf_peek_own_stack();
	struct xf_sample *head = &slot->head;
	const struct xen_cpu_user_regs *frame = xf_peek_guest_frame(stack);

	if (slot->vcpu != xf_peek_current(stack)) {
		head->flags |= XF_SAMPLE_SWITCHED_AWAY;
		if (head->flags & XF_SAMPLE_AFTER_STGI)
			head->flags |= XF_SAMPLE_NO_GUEST_REGS;
		return false;
	}
	if (head->flags & XF_SAMPLE_AFTER_STGI) {
		head->guest_rip = frame->rip;
		head->guest_rsp = frame->rsp;
		head->guest_rbp = frame->rbp;
		head->guest_cs = frame->cs;
	}
	head->cr3 = xf_machine_cr3();
	head->hvm_cr3 = xf_peek_hvm_cr3(slot->vcpu);
	return true;
}

void xf_emit_parts(uint32_t kind, uint32_t sequence, const void *content, uint32_t bytes)
{
	const char *next = content;
	uint32_t part;

	/* At most 64 turns: neither a sample nor a guest's stack is ever longer. */
	for (part = 0; bytes; part++) {
		uint32_t size = bytes < XF_PART_BYTES ? bytes : XF_PART_BYTES;

		trace(XF_PART_EVENT(kind, sequence, part), size, next);
		next += size;
		bytes -= size;
	}
}

static void emit(struct xf_slot *slot, uint64_t entry)
{
	if (complete(slot))
		xf_emit_guest_stacks(&slot->head, entry);
	xf_emit_parts(XF_TRACE_SAMPLE, slot->head.sequence, &slot->head, slot->head.bytes);
}

void xf_emit_softirq(uint64_t entry)
{
	uint32_t cpu = xf_peek_processor_id(xf_peek_own_stack());
	struct xf_pcpu *self;
	uint32_t tail, end;

	if (cpu >= xf_config.nr_pcpus)
		return;
	self = &xf_pcpus[cpu];
	tail = self->tail;
	end = __atomic_load_n(&self->head, __ATOMIC_ACQUIRE);
	if (tail == end)
		return;
	__atomic_store_n(&self->emitting, 1, __ATOMIC_RELAXED);
	/* At most XF_SLOTS turns. */
	for (; tail != end; tail++) {
		emit(&self->slots[tail % XF_SLOTS], entry);
		__atomic_store_n(&self->tail, tail + 1, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&self->emitting, 0, __ATOMIC_RELAXED);
}

void xf_timer_softirq(void)
{
	xf_emit_softirq(xf_machine_entry_stack_pointer());
	xen_timer_softirq_action();
}

void xf_emit_control(enum xf_control kind, const uint32_t *words, unsigned int nr)
{
	trace(XF_TRACE_CONTROL | kind, nr * sizeof(*words), words);
}
