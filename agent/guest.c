// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stacks of the guest that was interrupted, or that called, and which task of its own it was
 * running: read in the softirq, right before the vCPU goes back to it, when they still are what
 * they were at the sample.
 *
 * When this may be done: Xen's own routines do the reading. They fault safely, and take locks of
 * the guest's memory; so nobody who called us may hold any. Two things show it. Our handler began
 * with RSP as far below the guest's frame as it is when do_softirq calls it and was itself called
 * with nothing on the stack; so the word directly below the frame is the return address of that
 * call. And that is one of those behind Xen's calls of do_softirq, which Xen makes only where a
 * vCPU may be descheduled, and so where no lock is held. Softirqs that Xen runs in the middle of
 * something (process_pending_softirqs) come from deeper, or return elsewhere: nothing is read.
 *
 * What the guest chose: all addresses. They are handed to Xen's routines, which refuse what is not
 * the guest's, and never followed here. Bounds, whatever they are: four words of the task, and
 * XF_MAX_GUEST_STACKS stacks, each of at most 64 + 1 pieces of 256 bytes.
 *
 * Whom this interrupts: NMIs may come in between; they capture samples into free slots and see our
 * frames as they see all others. Stack: that of Xen's exit path, of which nothing is used yet.
 */
#include "peek.h"

#define CHUNK_BYTES  256u
/* Of Linux's stacks for tasks, which are aligned to it, and of those for interrupts. */
#define KERNEL_BYTES 16384u

/* Linux on x86-64: its text and its modules lie here (Documentation/x86/x86_64/mm.rst). */
#define LINUX_TEXT_END 0xffffffffff000000ull
#define LINUX_TEXT     0xffffffff80000000ull
#define KERNEL_HALF    0xffff800000000000ull
#define USER_END       0x0000800000000000ull
#define USER_START     0x0000000000010000ull /* below it nothing can be mapped (vm.mmap_min_addr) */

/* The user's registers at the very top of a task's stack: struct pt_regs, in 8-byte words. */
#define REGS_WORDS 21u
enum {
	REGS_RBP = 4,
	REGS_RIP = 16,
	REGS_CS = 17,
	REGS_RSP = 19
};

struct words {
	struct xf_guest_stack head;
	uint64_t words[XF_MAX_GUEST_WORDS];
};

/* The guest that is read. */
struct guest {
	bool hvm;
	bool user; /* the stack is a process's: read as that process might */
};

static bool is_wanted(uint16_t domid)
{
	uint32_t i;

	if (xf_config.nr_guests == XF_GUESTS_ALL)
		return domid < 0x7ff0; /* what are no guests: the idle domain, Xen's own */
	for (i = 0; i < xf_config.nr_guests && i < XF_MAX_GUESTS; i++)
		if (xf_config.guest_domids[i] == domid)
			return true;
	return false;
}

/* Was our handler, which began with RSP @entry, called on Xen's way to the guest? See above. */
static bool is_leaving(uint64_t stack, uint64_t entry)
{
	uint64_t word = xf_peek_stack(stack, xf_config.frame_offset - 8);
	uint32_t i;

	if (entry != stack + xf_config.frame_offset - xf_config.softirq_depth)
		return false;
	for (i = 0; i < XF_MAX_SOFTIRQ_RETURNS; i++)
		if (xf_config.softirq_returns[i] && xf_config.softirq_returns[i] == word)
			return true;
	return false;
}

/* Copies what the guest has at @from. Return: false where not all of it can be read. */
static bool copy(const struct guest *guest, void *to, uint64_t from, uint32_t bytes)
{
	uint64_t fault[2];

	if (from >= USER_END - bytes && from < KERNEL_HALF)
		return false;
	if (from > UINT64_MAX - bytes)
		return false;
	if (guest->hvm)
		return !xen_copy_from_guest_hvm(to, from, bytes, guest->user ? XEN_ACCESS_USER : 0,
		                                fault);
	if (from >= KERNEL_HALF && from < XEN_HYPERVISOR_END)
		return false;
	return !xen_copy_from_guest_pv(to, from, bytes);
}

static bool is_telling(const struct guest *guest, const struct words *stack, uint64_t value)
{
	if (guest->user)
		return value >= USER_START && value < USER_END;
	return (value >= LINUX_TEXT && value < LINUX_TEXT_END) ||
	       (value >= stack->head.rsp && value < stack->head.end);
}

static uint32_t nr_words(const struct words *stack)
{
	return (stack->head.bytes - XF_GUEST_HEAD_BYTES) / 8;
}

static void take(struct words *stack, uint64_t address, uint64_t value)
{
	uint32_t nr = nr_words(stack);

	if (nr == XF_MAX_GUEST_WORDS) {
		stack->head.flags |= XF_GUEST_TRUNCATED;
		return;
	}
	stack->words[nr] = XF_WORD((address - stack->head.rsp) / 8, value);
	stack->head.bytes += 8;
}

/*
 * Takes the telling words from RSP up to the stack's end, or to where memory can't be read: there
 * the stack's end is then. Return: the last word below it, 0 where there is none.
 */
static uint64_t take_words(const struct guest *guest, struct words *stack)
{
	uint64_t chunk[CHUNK_BYTES / 8];
	uint64_t address = stack->head.rsp, last = 0;

	/* At most 65 turns: the end is no further than 64 * CHUNK_BYTES, and the first chunk may be
	   shorter. */
	while (address < stack->head.end) {
		uint32_t bytes = CHUNK_BYTES - address % CHUNK_BYTES;
		uint32_t i;

		if (bytes > stack->head.end - address)
			bytes = stack->head.end - address;
		if (!copy(guest, chunk, address, bytes)) {
			stack->head.flags |= XF_GUEST_UNREADABLE;
			stack->head.end = address;
			break;
		}
		for (i = 0; i < bytes / 8; i++) {
			last = chunk[i];
			if (is_telling(guest, stack, last))
				take(stack, address + 8 * i, last);
		}
		address += bytes;
	}
	return last;
}

static void begin(const struct xf_sample *sample, struct words *stack, uint64_t rsp, uint64_t bytes)
{
	stack->head = (struct xf_guest_stack){.sequence = sample->sequence,
	                                      .bytes = XF_GUEST_HEAD_BYTES,
	                                      .pcpu = sample->pcpu,
	                                      .rsp = rsp,
	                                      .end = rsp + bytes};
}

static void emit(const struct words *stack)
{
	xf_emit_parts(XF_TRACE_GUEST, stack->head.sequence, stack, stack->head.bytes);
}

/* The process's stack; @registers are its RIP, RSP and RBP. */
static void emit_user(struct guest *guest, struct words *stack, const struct xf_sample *sample,
                      const uint64_t registers[3])
{
	begin(sample, stack, registers[1], 0);
	stack->head.mode = XF_GUEST_USER;
	stack->head.rip = registers[0];
	stack->head.rbp = registers[2];
	if (registers[1] % 8 == 0 && registers[1] < USER_END - KERNEL_BYTES) {
		stack->head.end += xf_config.guest_user_bytes;
		guest->user = true;
		take_words(guest, stack);
	}
	emit(stack);
}

/* Where a task's stack of Linux ends that @rsp lies on. */
static uint64_t task_stack_end(uint64_t rsp)
{
	return (rsp | (KERNEL_BYTES - 1)) + 1;
}

/* What lies beyond the end of a task's stack is not of it, though it could be read. */
static void cut(struct words *stack)
{
	uint64_t slots;

	stack->head.end = task_stack_end(stack->head.rsp);
	slots = (stack->head.end - stack->head.rsp) / 8;
	/* At most XF_MAX_GUEST_WORDS turns. Where one such was taken, none below was left out. */
	while (nr_words(stack) && XF_WORD_SLOT(stack->words[nr_words(stack) - 1]) >= slots) {
		stack->head.bytes -= 8;
		stack->head.flags &= ~XF_GUEST_TRUNCATED;
	}
}

/*
 * A kernel's stack. Linux's stacks for interrupts end at a page that is not there, and the last
 * word of them says where the stack is that was left for them. Those for tasks end so, too, with
 * CONFIG_VMAP_STACK, but for the first task's. Return: where it goes on; 0 where it does not.
 */
static uint64_t emit_kernel(const struct guest *guest, struct words *stack)
{
	uint64_t last;

	stack->head.mode = XF_GUEST_KERNEL;
	last = take_words(guest, stack);
	if (!(stack->head.flags & XF_GUEST_UNREADABLE)) {
		cut(stack);
		last = 0;
	} else if (last >= KERNEL_HALF && !is_telling(guest, stack, last)) {
		take(stack, stack->head.end - 8, last);
	}
	emit(stack);
	return last;
}

/* The registers that a process entered its kernel with, at the top of its task's stack, or, since
 * 6.9 where FRED is configured, 16 bytes below it. */
static bool read_user_registers(const struct guest *guest, uint64_t end, uint64_t registers[3])
{
	uint64_t regs[REGS_WORDS];
	uint32_t padding;

	for (padding = 0; padding <= 16; padding += 16) {
		if (!copy(guest, regs, end - padding - sizeof(regs), sizeof(regs)))
			return false;
		registers[0] = regs[REGS_RIP];
		registers[1] = regs[REGS_RSP];
		registers[2] = regs[REGS_RBP];
		if ((regs[REGS_CS] & 3) == 3 && regs[REGS_RIP] >= USER_START &&
		    regs[REGS_RIP] < USER_END)
			return true;
	}
	return false;
}

/* Its frame takes a fifth of the stack's two pages: nothing of Xen's lies on them yet, and what is
 * called from here (at most a page walk and Xen's trace function) takes less than that. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-larger-than="
static void emit_stacks(struct guest *guest, const struct xf_sample *sample,
                        const struct xen_cpu_user_regs *frame)
{
	uint64_t registers[3] = {frame->rip, frame->rsp, frame->rbp};
	struct words stack;
	uint32_t turns;

	if (frame->rip < USER_END) {
		emit_user(guest, &stack, sample, registers);
		return;
	}
	for (turns = 0; turns + 1 < XF_MAX_GUEST_STACKS; turns++) {
		uint64_t rsp = registers[1], last;

		if (rsp % 8 != 0 || rsp < KERNEL_HALF || rsp > UINT64_MAX - 2 * KERNEL_BYTES)
			return;
		begin(sample, &stack, rsp, KERNEL_BYTES);
		stack.head.rip = turns ? 0 : frame->rip;
		stack.head.rbp = turns ? 0 : frame->rbp;
		last = emit_kernel(guest, &stack);
		if (stack.head.end == task_stack_end(rsp) &&
		    read_user_registers(guest, stack.head.end, registers)) {
			emit_user(guest, &stack, sample, registers);
			return;
		}
		registers[1] = last;
	}
}
#pragma GCC diagnostic pop

static const struct xf_agent_task *find_task(uint16_t domid)
{
	uint32_t i;

	for (i = 0; i < xf_config.nr_tasks && i < XF_MAX_GUESTS; i++)
		if (xf_config.tasks[i].domid == domid)
			return &xf_config.tasks[i];
	return (void *)0;
}

/* What an HVM guest's per-CPU data lie at: its processor's kind has left GS where Xen finds it. On
 * its first instructions a kernel still has the process's. */
static uint64_t hvm_gs_base(const void *vcpu, bool user)
{
	struct xen_segment_register gs = {0};

	if (!(xf_config.guest_readers & XF_READS_HVM_GS))
		return 0;
	if (!user)
		xen_hvm_get_segment_register(vcpu, XEN_SEGMENT_GS, &gs);
	return gs.base >= KERNEL_HALF ? gs.base : xen_hvm_get_reg(vcpu, XEN_MSR_SHADOW_GS_BASE);
}

/* Reads what the task is that the CPU with this GS @base runs. Return: whether that is known. */
static bool read_task(const struct guest *guest, const struct xf_agent_task *known, uint64_t base,
                      struct xf_guest_task *task)
{
	/* pid and tgid lie side by side. */
	return base >= KERNEL_HALF &&
	       copy(guest, &task->task, base + known->current, sizeof(task->task)) &&
	       task->task >= KERNEL_HALF &&
	       copy(guest, &task->stack, task->task + known->stack, sizeof(task->stack)) &&
	       copy(guest, &task->pid, task->task + known->pid, 2 * sizeof(task->pid)) &&
	       copy(guest, task->comm, task->task + known->comm, sizeof(task->comm));
}

/*
 * Of a PV guest the processor has GS, since Xen has no use for it: swapped at each change between
 * kernel and process, by Xen (toggle_guest_mode), and loaded before a vCPU leaves a context switch,
 * so before our softirq. While a process runs, its kernel's memory is out of sight: Xen swaps the
 * page tables, and swaps them back before we return.
 */
static bool read_pv_task(const struct guest *guest, const struct xf_agent_task *known,
                         const void *vcpu, struct xf_guest_task *task)
{
	bool found;

	if (xf_peek_in_pv_kernel(vcpu))
		return read_task(guest, known, xf_machine_msr(XEN_MSR_GS_BASE), task);
	if (!(xf_config.guest_readers & XF_READS_PV_KERNEL))
		return false;
	xen_toggle_guest_pt(vcpu);
	found = read_task(guest, known, xf_machine_msr(XEN_MSR_SHADOW_GS_BASE), task);
	xen_toggle_guest_pt(vcpu);
	return found;
}

static void emit_task(const struct guest *guest, const struct xf_sample *sample, const void *vcpu,
                      bool user)
{
	const struct xf_agent_task *known = find_task(sample->domid);
	struct xf_guest_task task = {.sequence = sample->sequence,
	                             .bytes = sizeof(task),
	                             .mode = XF_GUEST_TASK,
	                             .pcpu = sample->pcpu};

	if (!known)
		return;
	if (guest->hvm ? read_task(guest, known, hvm_gs_base(vcpu, user), &task)
	               : read_pv_task(guest, known, vcpu, &task))
		xf_emit_parts(XF_TRACE_GUEST, task.sequence, &task, task.bytes);
}

void xf_emit_guest_stacks(const struct xf_sample *sample, uint64_t entry)
{
	uint64_t stack = xf_peek_own_stack();
	const void *vcpu = xf_peek_current(stack);
	struct guest guest = {.hvm = xf_peek_is_hvm(vcpu)};
	const struct xen_cpu_user_regs *frame = xf_peek_guest_frame(stack);

	if (!is_wanted(sample->domid) || !is_leaving(stack, entry))
		return;
	if (!(xf_config.guest_readers & (guest.hvm ? XF_READS_HVM : XF_READS_PV)))
		return;
	emit_task(&guest, sample, vcpu, frame->rip < USER_END);
	emit_stacks(&guest, sample, frame);
}
