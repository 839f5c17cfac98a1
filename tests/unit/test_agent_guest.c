// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent/guest.c on hand-made guests. The fake Xen ends the program where a guest's memory is read
 * in an NMI, in the middle of something of Xen's, for the wrong kind of guest or within Xen's own
 * range.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"
#include "xen/stream.h"

#define CPU   1u
#define DOMID 7u

#define KERNEL_STACK 0xffffc90040588000ull /* 16 KiB, aligned to it */
#define KERNEL_END   (KERNEL_STACK + 16384)
#define IRQ_STACK    0xffffc90000003000ull /* not aligned to its size */
#define IRQ_END      (IRQ_STACK + 16384)
#define KERNEL_RIP   0xffffffff81234567ull
#define USER_RIP     0x555555554444ull
#define USER_STACK   0x7ffd00000000ull
#define REGS(word)   (KERNEL_END - 168 + 8 * (word))

/* Where this guest's Linux has what its CPU runs. */
#define GS_BASE      0xffff88803ec00000ull
#define TASK         0xffff888003f00000ull
#define TASK_CURRENT 0x1f7c0u
#define TASK_STACK   0x20u
#define TASK_PID     0x9a0u
#define TASK_COMM    0xb78u

static uint64_t kernel_stack[2048], irq_stack[2048], user_stack[512];
static struct xf_guest_stack *stacks[XF_MAX_GUEST_STACKS];
static uint64_t storage[XF_MAX_GUEST_STACKS][XF_STREAM_MAX_GUEST / 8];
static size_t nr_stacks;
static unsigned int nr_samples;
static uint16_t flags;
static struct xf_guest_task task; /* @bytes is 0 where the sample had none */
static uint64_t current = TASK;
static uint8_t task_memory[4096];

static void put(uint64_t address, uint64_t value)
{
	if (address - KERNEL_STACK < sizeof(kernel_stack))
		kernel_stack[(address - KERNEL_STACK) / 8] = value;
	else if (address - IRQ_STACK < sizeof(irq_stack))
		irq_stack[(address - IRQ_STACK) / 8] = value;
	else
		user_stack[(address - USER_STACK) / 8] = value;
}

static int set_up(void **state)
{
	(void)state;
	fake_start(4, 0);
	fake_configure(1000);
	xf_config.nr_guests = 1;
	xf_config.guest_domids[0] = DOMID;
	fake_enter(CPU);
	assert_int_equal(xf_start(), XF_REFUSAL_NONE);
	fake_leave();
	fake_set_life(CPU, FAKE_HYPERCALL);
	fake_set_current(CPU, fake_vcpu(DOMID, 3));
	fake_set_hvm(DOMID, false, 0);
	memset(kernel_stack, 0, sizeof(kernel_stack));
	memset(irq_stack, 0, sizeof(irq_stack));
	memset(user_stack, 0, sizeof(user_stack));
	return 0;
}

/* Everything is there, each stack between memory that is not. */
static void map_all(void)
{
	fake_guest_map(KERNEL_STACK, kernel_stack, sizeof(kernel_stack), false);
	fake_guest_map(IRQ_STACK, irq_stack, sizeof(irq_stack), false);
	fake_guest_map(USER_STACK, user_stack, sizeof(user_stack), true);
}

/* What a process had entered its kernel with. */
static void put_user_registers(uint64_t padding)
{
	put(REGS(4) - padding, 0xbbbb);
	put(REGS(16) - padding, USER_RIP);
	put(REGS(17) - padding, 0x33);
	put(REGS(19) - padding, USER_STACK + 64);
}

static void take_sample(void *context, const struct xf_sample *sample,
                        const struct xf_sample_guest *guest)
{
	(void)context;
	nr_samples++;
	flags = sample->flags;
	task.bytes = 0;
	if (guest->task)
		task = *guest->task;
	nr_stacks = guest->nr;
	for (size_t i = 0; i < guest->nr; i++) {
		memcpy(storage[i], guest->stacks[i], guest->stacks[i]->bytes);
		stacks[i] = (struct xf_guest_stack *)(void *)storage[i];
		assert_int_equal(stacks[i]->sequence, sample->sequence);
		assert_int_equal(stacks[i]->pcpu, CPU);
	}
}

static void put_below_frame(uint64_t value)
{
	memcpy(fake_stack(CPU) + FAKE_FRAME - 8, &value, sizeof(value));
}

/* A sample in Xen, for a guest that goes on at @rip with @rsp; @back is where the softirq's caller
 * goes on. */
static void sample_called_from(uint64_t rip, uint64_t rsp, uint64_t back)
{
	struct xen_cpu_user_regs regs = {
	        .cs = 0xe008, .rip = FAKE_TEXT + 0x99, .rsp = (uint64_t)fake_stack(CPU) + 0x7e00};
	struct xen_cpu_user_regs *frame = fake_frame(CPU);
	struct xf_stream_sink sink = {.sample = take_sample};
	struct xf_stream stream;
	const void *vcpu = *(const void **)(void *)(fake_stack(CPU) + FAKE_CURRENT_VCPU);
	const uint8_t *bytes;
	size_t size;

	frame->rip = rip;
	frame->rsp = rsp;
	frame->rbp = 0xabcd;
	xf_pcpus[CPU].kicked = 1;
	assert_true(fake_nmi(CPU, &regs));
	put_below_frame(back);
	fake_set_life(CPU, FAKE_PV_GUEST);
	fake_set_life(CPU, FAKE_HYPERCALL);
	fake_set_current(CPU, vcpu);
	nr_samples = 0;
	nr_stacks = 0;
	xf_stream_init(&stream, CPU);
	bytes = fake_take_trace(CPU, &size);
	xf_stream_feed(&stream, bytes, size, &sink);
	assert_int_equal(nr_samples, 1);
	assert_int_equal(stream.broken + stream.broken_guests, 0);
	assert_int_equal(fake_guest_toggles() % 2, 0);
}

static void sample(uint64_t rip, uint64_t rsp)
{
	sample_called_from(rip, rsp, FAKE_SOFTIRQ_RETURN);
}

static size_t nr_words(const struct xf_guest_stack *stack)
{
	return (stack->bytes - XF_GUEST_HEAD_BYTES) / 8;
}

static void a_kernels_stack_and_its_process_registers_are_taken(void **state)
{
	(void)state;
	map_all();
	put_user_registers(0);
	put(KERNEL_END - 400, 0xffffffff81000000);
	put(KERNEL_END - 392, 42);
	put(KERNEL_END - 384, KERNEL_END - 200);
	put(KERNEL_END - 376, 0xffffffffffffffda); /* -ENOSYS is no address */
	sample(KERNEL_RIP, KERNEL_END - 408);
	assert_int_equal(nr_stacks, 2);
	assert_int_equal(stacks[0]->mode, XF_GUEST_KERNEL);
	assert_int_equal(stacks[0]->rip, KERNEL_RIP);
	assert_int_equal(stacks[0]->rsp, KERNEL_END - 408);
	assert_int_equal(stacks[0]->rbp, 0xabcd);
	assert_int_equal(stacks[0]->end, KERNEL_END);
	assert_int_equal(nr_words(stacks[0]), 2);
	assert_int_equal(stacks[0]->words[0], XF_WORD(1, 0xffffffff81000000));
	assert_int_equal(stacks[0]->words[1], XF_WORD(3, KERNEL_END - 200));
	assert_int_equal(stacks[1]->mode, XF_GUEST_USER);
	assert_int_equal(stacks[1]->rip, USER_RIP);
	assert_int_equal(stacks[1]->rsp, USER_STACK + 64);
	assert_int_equal(stacks[1]->rbp, 0xbbbb);
}

static void the_process_registers_are_found_where_fred_has_them(void **state)
{
	(void)state;
	map_all();
	put_user_registers(16);
	sample(KERNEL_RIP, KERNEL_END - 408);
	assert_int_equal(nr_stacks, 2);
	assert_int_equal(stacks[1]->rip, USER_RIP);
}

static void a_kernel_thread_has_no_process_stack(void **state)
{
	(void)state;
	map_all();
	sample(KERNEL_RIP, KERNEL_END - 408);
	assert_int_equal(nr_stacks, 1);
}

static void an_interrupts_stack_leads_to_the_tasks(void **state)
{
	(void)state;
	map_all();
	put_user_registers(0);
	put(IRQ_STACK + 8000, 0xffffffff81111111);
	put(IRQ_END - 8, KERNEL_END - 304);
	put(KERNEL_END - 296, 0xffffffff81222222);
	sample(KERNEL_RIP, IRQ_STACK + 7000);
	assert_int_equal(nr_stacks, 3);
	assert_int_equal(stacks[0]->end, IRQ_END);
	assert_int_equal(nr_words(stacks[0]), 2);
	assert_int_equal(stacks[0]->words[1], XF_WORD((16384 - 7000) / 8 - 1, KERNEL_END - 304));
	assert_int_equal(stacks[1]->rsp, KERNEL_END - 304);
	assert_int_equal(stacks[1]->rip, 0);
	assert_int_equal(nr_words(stacks[1]), 1);
	assert_int_equal(stacks[2]->mode, XF_GUEST_USER);
}

static void a_stack_that_other_memory_follows_ends_where_a_tasks_does(void **state)
{
	static uint64_t beyond[2048];
	size_t i;

	(void)state;
	for (i = 0; i < 2048; i++)
		beyond[i] = KERNEL_RIP;
	map_all();
	fake_guest_map(KERNEL_END, beyond, sizeof(beyond), false);
	put(KERNEL_END - 400, KERNEL_RIP);
	sample(KERNEL_RIP, KERNEL_END - 408);
	assert_int_equal(nr_stacks, 1);
	assert_int_equal(stacks[0]->end, KERNEL_END);
	assert_int_equal(nr_words(stacks[0]), 1);
	assert_int_equal(stacks[0]->flags, 0);
}

static void more_words_than_fit_are_marked(void **state)
{
	size_t i;

	(void)state;
	map_all();
	for (i = 0; i <= XF_MAX_GUEST_WORDS; i++)
		put(KERNEL_STACK + 8000 + 8 * i, KERNEL_RIP + i);
	sample(KERNEL_RIP, KERNEL_STACK + 8000);
	assert_int_equal(nr_words(stacks[0]), XF_MAX_GUEST_WORDS);
	assert_int_equal(stacks[0]->flags, XF_GUEST_TRUNCATED | XF_GUEST_UNREADABLE);
}

static void of_a_process_stack_what_could_be_addresses_is_taken_as_far_as_asked(void **state)
{
	(void)state;
	map_all();
	put(USER_STACK + 8, 0x555555550000);
	put(USER_STACK + 16, 7);
	put(USER_STACK + 24, 0xffff800000000000);
	put(USER_STACK + 248, 0x7fffffffffff);
	put(USER_STACK + 256, 0x555555551111);
	sample(USER_RIP, USER_STACK);
	assert_int_equal(nr_words(stacks[0]), 0);
	xf_config.guest_user_bytes = 256;
	sample(USER_RIP, USER_STACK);
	assert_int_equal(nr_stacks, 1);
	assert_int_equal(stacks[0]->mode, XF_GUEST_USER);
	assert_int_equal(stacks[0]->end, USER_STACK + 256);
	assert_int_equal(nr_words(stacks[0]), 2);
	assert_int_equal(stacks[0]->words[0], XF_WORD(1, 0x555555550000));
	assert_int_equal(stacks[0]->words[1], XF_WORD(31, 0x7fffffffffff));
}

static void a_process_is_not_shown_its_kernels_memory(void **state)
{
	(void)state;
	fake_set_hvm(DOMID, true, 1);
	fake_guest_map(USER_STACK, user_stack, sizeof(user_stack), false);
	xf_config.guest_user_bytes = 256;
	put(USER_STACK + 8, 0x555555550000);
	sample(USER_RIP, USER_STACK);
	assert_int_equal(nr_words(stacks[0]), 0);
	assert_int_equal(fake_guest_copied(), 0);
}

static void hvm_guests_are_read_by_hvm_means(void **state)
{
	(void)state;
	fake_set_hvm(DOMID, true, 1);
	map_all();
	put_user_registers(0);
	sample(KERNEL_RIP, KERNEL_END - 408);
	assert_int_equal(nr_stacks, 2);
}

static void nothing_is_read(void)
{
	uint64_t before = fake_guest_copied();

	put_user_registers(0);
	sample(KERNEL_RIP, KERNEL_END - 408);
	assert_int_equal(nr_stacks, 0);
	assert_int_equal(fake_guest_copied(), before);
}

static void guests_that_nobody_asked_for_are_not_read(void **state)
{
	(void)state;
	map_all();
	xf_config.guest_domids[0] = DOMID + 1;
	nothing_is_read();
	xf_config.guest_domids[0] = DOMID;
	xf_config.nr_guests = 0;
	nothing_is_read();
	xf_config.nr_guests = XF_GUESTS_ALL;
	xf_config.guest_readers = XF_READS_HVM;
	nothing_is_read();
	xf_config.guest_readers = XF_READS_PV;
	sample(KERNEL_RIP, KERNEL_END - 408);
	assert_int_equal(nr_stacks, 2);
}

static void nothing_is_read_in_the_middle_of_something_of_xens(void **state)
{
	(void)state;
	map_all();
	put_user_registers(0);
	sample_called_from(KERNEL_RIP, KERNEL_END - 408, FAKE_SOFTIRQ_RETURN + 1);
	assert_int_equal(nr_stacks, 0);
	sample_called_from(KERNEL_RIP, KERNEL_END - 408, 0);
	assert_int_equal(nr_stacks, 0);
	/* That word may be left over where nothing was put in its place. */
	fake_call_softirqs_deeper(8);
	sample(KERNEL_RIP, KERNEL_END - 408);
	assert_int_equal(nr_stacks, 0);
	assert_int_equal(fake_guest_copied(), 0);
}

/* Whatever the guest has in its registers and links, nothing is read of Xen (the fake Xen looks),
 * and what comes is well-formed. */
static void any_stack_pointer_and_link_is_survived(void **state)
{
	static const uint64_t values[] = {0,
	                                  1,
	                                  7,
	                                  8,
	                                  0x7fffffffffff,
	                                  0x7ffffffffff8,
	                                  0x800000000000,
	                                  0x8000000000000000,
	                                  0xffff7ffffffffff8,
	                                  0xffff800000000000,
	                                  0xffff82d040200000,
	                                  0xffff87fffffffff8,
	                                  0xffff87ffffffff00,
	                                  0xffff880000000000,
	                                  KERNEL_STACK,
	                                  KERNEL_STACK - 8,
	                                  KERNEL_END - 8,
	                                  KERNEL_END,
	                                  IRQ_STACK,
	                                  IRQ_END - 8,
	                                  0xfffffffffffffff8,
	                                  0xffffffffffffff00,
	                                  0xffffffffffff8000,
	                                  UINT64_MAX};
	const size_t nr = sizeof(values) / sizeof(values[0]);
	size_t i, j;

	(void)state;
	map_all();
	xf_config.guest_user_bytes = 4096;
	for (i = 0; i < nr; i++) {
		for (j = 0; j < nr; j++) {
			put(KERNEL_END - 8, values[j]);
			put(IRQ_END - 8, values[j]);
			put(REGS(19), values[j]);
			put(REGS(16), USER_RIP);
			put(REGS(17), 3);
			sample(KERNEL_RIP, values[i]);
			assert_true(nr_stacks <= XF_MAX_GUEST_STACKS);
			sample(USER_RIP, values[i]);
			assert_int_equal(nr_stacks, 1);
			sample(values[j], values[i]);
		}
	}
}

static void a_vcpu_that_was_switched_away_is_not_read_and_the_sample_says_so(void **state)
{
	struct xen_cpu_user_regs regs = {
	        .cs = 0xe008, .rip = FAKE_TEXT + 0x99, .rsp = (uint64_t)fake_stack(CPU) + 0x7e00};
	struct xf_stream_sink sink = {.sample = take_sample};
	struct xf_stream stream;
	const uint8_t *bytes;
	size_t size;

	(void)state;
	map_all();
	put_below_frame(FAKE_SOFTIRQ_RETURN);
	xf_pcpus[CPU].kicked = 1;
	assert_true(fake_nmi(CPU, &regs));
	fake_set_current(CPU, fake_vcpu(DOMID, 4));
	fake_set_life(CPU, FAKE_PV_GUEST);
	xf_stream_init(&stream, CPU);
	bytes = fake_take_trace(CPU, &size);
	xf_stream_feed(&stream, bytes, size, &sink);
	assert_int_equal(nr_stacks, 0);
	assert_true(flags & XF_SAMPLE_SWITCHED_AWAY);
	assert_int_equal(fake_guest_copied(), 0);
}

/* A task that runs on the kernel's stack, known to the agent, on the memory that a kernel may read.
 */
static void put_task(void)
{
	const uint64_t begin = KERNEL_STACK;
	const uint32_t numbers[2] = {4712, 4711};

	xf_config.nr_tasks = 2;
	xf_config.tasks[0] = (struct xf_agent_task){.domid = DOMID + 1};
	xf_config.tasks[1] = (struct xf_agent_task){.domid = DOMID,
	                                            .current = TASK_CURRENT,
	                                            .stack = TASK_STACK,
	                                            .pid = TASK_PID,
	                                            .comm = TASK_COMM};
	current = TASK;
	memset(task_memory, 0xee, sizeof(task_memory));
	memcpy(task_memory + TASK_STACK, &begin, sizeof(begin));
	memcpy(task_memory + TASK_PID, numbers, sizeof(numbers));
	memcpy(task_memory + TASK_COMM, "worker/1\0..\xff...", XF_GUEST_COMM_BYTES);
	fake_guest_map(GS_BASE + TASK_CURRENT, &current, sizeof(current), false);
	fake_guest_map(TASK, task_memory, sizeof(task_memory), false);
	fake_guest_set_gs(GS_BASE, 0x7f0000001000);
}

static void is_the_task(void)
{
	assert_int_equal(task.bytes, sizeof(task));
	assert_int_equal(task.pcpu, CPU);
	assert_int_equal(task.task, TASK);
	assert_int_equal(task.stack, KERNEL_STACK);
	assert_int_equal(task.pid, 4712);
	assert_int_equal(task.tgid, 4711);
	assert_memory_equal(task.comm, "worker/1\0..\xff...", XF_GUEST_COMM_BYTES);
}

static void the_task_that_a_kernel_runs_is_told(void **state)
{
	(void)state;
	map_all();
	put_user_registers(0);
	put_task();
	sample(KERNEL_RIP, KERNEL_END - 408);
	is_the_task();
	assert_int_equal(nr_stacks, 2);
	fake_set_hvm(DOMID, true, 0x1000);
	sample(KERNEL_RIP, KERNEL_END - 408);
	is_the_task();
}

/* The first instructions of a kernel, before it has changed GS. */
static void a_kernel_that_still_has_a_processs_gs_is_known_by_the_other_one(void **state)
{
	(void)state;
	map_all();
	put_task();
	fake_guest_set_gs(0x7f0000001000, GS_BASE);
	fake_set_hvm(DOMID, true, 0x1000);
	sample(KERNEL_RIP, KERNEL_END - 408);
	is_the_task();
}

/* An HVM guest's kernel lies in the page tables that its processes have, a PV guest's does not. */
static void in_a_process_the_kernels_gs_is_the_other_one(void **state)
{
	(void)state;
	map_all();
	put_task();
	fake_guest_set_gs(0x7f0000001000, GS_BASE);
	fake_guest_run_process(fake_vcpu(DOMID, 3), true);
	sample(USER_RIP, USER_STACK + 64);
	is_the_task();
	assert_int_equal(nr_stacks, 1);
	assert_int_equal(fake_guest_toggles(), 2);
	xf_config.guest_readers &= ~(uint32_t)XF_READS_PV_KERNEL;
	sample(USER_RIP, USER_STACK + 64);
	assert_int_equal(task.bytes, 0);
	assert_int_equal(fake_guest_toggles(), 2);
	fake_set_hvm(DOMID, true, 0x1000);
	sample(USER_RIP, USER_STACK + 64);
	is_the_task();
	xf_config.guest_readers &= ~(uint32_t)XF_READS_HVM_GS;
	sample(USER_RIP, USER_STACK + 64);
	assert_int_equal(task.bytes, 0);
	assert_int_equal(nr_stacks, 1);
}

/* Its registers do not say whether it has other page tables: Xen's own word does. */
static void a_pv_kernel_that_runs_at_a_processs_address_is_no_process(void **state)
{
	(void)state;
	map_all();
	put_task();
	sample(USER_RIP, USER_STACK + 64);
	is_the_task();
	assert_int_equal(fake_guest_toggles(), 0);
	xf_config.vcpu_flags_offset = 0;
	fake_guest_run_process(fake_vcpu(DOMID, 3), true);
	sample(USER_RIP, USER_STACK + 64);
	assert_int_equal(task.bytes, 0);
	assert_int_equal(fake_guest_toggles(), 0);
}

static void no_task_is_told_of_a_domain_whose_linux_is_not_known(void **state)
{
	(void)state;
	map_all();
	put_task();
	xf_config.nr_tasks = 1;
	sample(KERNEL_RIP, KERNEL_END - 408);
	assert_int_equal(task.bytes, 0);
	assert_int_equal(nr_stacks, 1);
}

/* The guest has its GS, and what lies there, as it likes. */
static void a_task_that_is_nowhere_is_not_told(void **state)
{
	static const uint64_t values[] = {0,
	                                  1,
	                                  USER_STACK,
	                                  0x7fffffffffff,
	                                  0x8000000000000000,
	                                  0xffff7fffffffffff,
	                                  0xffff800000000000,
	                                  0xffff82d040200000,
	                                  0xffff87fffffffff8,
	                                  0xffff880000000000,
	                                  TASK + sizeof(task_memory) - TASK_COMM - 15,
	                                  0xfffffffffffffff8,
	                                  UINT64_MAX};

	(void)state;
	map_all();
	put_task();
	for (unsigned int hvm = 0; hvm < 2; hvm++) {
		fake_set_hvm(DOMID, hvm, 0x1000);
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			current = values[i];
			fake_guest_set_gs(GS_BASE, 0);
			sample(KERNEL_RIP, KERNEL_END - 408);
			assert_int_equal(task.bytes, 0);
			current = TASK;
			fake_guest_set_gs(values[i], values[i]);
			sample(KERNEL_RIP, KERNEL_END - 408);
			assert_int_equal(task.bytes, 0);
			fake_guest_run_process(fake_vcpu(DOMID, 3), true);
			sample(USER_RIP, USER_STACK + 64);
			assert_int_equal(task.bytes, 0);
			fake_guest_run_process(fake_vcpu(DOMID, 3), false);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(a_kernels_stack_and_its_process_registers_are_taken, set_up),
	        cmocka_unit_test_setup(the_process_registers_are_found_where_fred_has_them, set_up),
	        cmocka_unit_test_setup(a_kernel_thread_has_no_process_stack, set_up),
	        cmocka_unit_test_setup(an_interrupts_stack_leads_to_the_tasks, set_up),
	        cmocka_unit_test_setup(a_stack_that_other_memory_follows_ends_where_a_tasks_does,
	                               set_up),
	        cmocka_unit_test_setup(more_words_than_fit_are_marked, set_up),
	        cmocka_unit_test_setup(
	                of_a_process_stack_what_could_be_addresses_is_taken_as_far_as_asked,
	                set_up),
	        cmocka_unit_test_setup(a_process_is_not_shown_its_kernels_memory, set_up),
	        cmocka_unit_test_setup(hvm_guests_are_read_by_hvm_means, set_up),
	        cmocka_unit_test_setup(guests_that_nobody_asked_for_are_not_read, set_up),
	        cmocka_unit_test_setup(nothing_is_read_in_the_middle_of_something_of_xens, set_up),
	        cmocka_unit_test_setup(any_stack_pointer_and_link_is_survived, set_up),
	        cmocka_unit_test_setup(the_task_that_a_kernel_runs_is_told, set_up),
	        cmocka_unit_test_setup(in_a_process_the_kernels_gs_is_the_other_one, set_up),
	        cmocka_unit_test_setup(a_pv_kernel_that_runs_at_a_processs_address_is_no_process,
	                               set_up),
	        cmocka_unit_test_setup(
	                a_kernel_that_still_has_a_processs_gs_is_known_by_the_other_one, set_up),
	        cmocka_unit_test_setup(no_task_is_told_of_a_domain_whose_linux_is_not_known,
	                               set_up),
	        cmocka_unit_test_setup(a_task_that_is_nowhere_is_not_told, set_up),
	        cmocka_unit_test_setup(
	                a_vcpu_that_was_switched_away_is_not_read_and_the_sample_says_so, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
