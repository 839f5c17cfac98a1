// SPDX-License-Identifier: GPL-2.0-or-later
/* Guests' stacks: from their records to frames in the tree, with a made-up kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/folded.h"
#include "output/script.h"
#include "profile/guest_stacks.h"
#include "profile/process_writer.h"
#include "profile/profile.h"
#include "profile/recording.h"
#include "unit/taken_bytes.h"

#define CODE   0xffffffff81000000ull
#define PLACES 0xffffffff82000000ull
#define MODULE 0xffffffffc0100000ull
#define SLIDE  0x0000000012000000ull
#define TASK   0xffffc90000004000ull /* where a task's stack ends */
#define IRQ    0xffffc90000104000ull /* where a stack for interrupts ends */
#define USER   0x00005555deadbeefull

/* Functions of the kernel. */
#define HYPERCALL (CODE + 0x000)
#define WORK      (CODE + 0x100)
#define SWITCH_TO (CODE + 0x180)
#define TELLING   (CODE + 0x1c0)
#define HANDLER   (CODE + 0x200)
#define ON_IRQ    (CODE + 0x300)
#define ASM_IRQ   (CODE + 0x400)
#define SYSCALL   (CODE + 0x500)
#define KTHREAD   (CODE + 0x600)
#define THUNK     (CODE + 0x700)
#define TEXT_END  (CODE + 0x800)

/* Its ORC, of 6.4: places, then entries of sp_offset, bp_offset, registers and type. */
#define NR_ORC        10
#define CALL          (2 << 8)
#define REGS          (3 << 8)
#define END           (1 << 8)
#define SP            5
#define BP            4
#define SP_INDIRECT   9
#define SAVED_BP      (1 << 4)
#define WITH_BP(type) (BP | SAVED_BP | (type))

static const struct {
	uint64_t address;
	int16_t sp, bp;
	uint16_t bits;
} orc_rows[NR_ORC] = {
        {HYPERCALL, 8, 0, SP | CALL},
        {WORK, 8, 0, SP | CALL},
        {WORK + 0x10, 24, 0, SP | CALL},
        {HANDLER, 16, 0, SP | CALL},
        {ON_IRQ, 24, 0, SP_INDIRECT | CALL},
        {ASM_IRQ, 0, 0, SP | REGS},
        {SYSCALL, 0, 0, SP | REGS},
        {KTHREAD, 0, 0, END},
        {KTHREAD + 0x80, 16, -16, WITH_BP(CALL)},
        {THUNK, 0, 0, END},
};

/* push %rbx; call; pop %rbx; ret */
static const uint8_t module_code[16] = {0x53, 0xe8, 0,    0,    0,    0,    0x5b, 0xc3,
                                        0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc};
#define MODULE_RETURN (MODULE + 6)

static void write_orc(struct xf_recording_writer *writer, uint32_t kernel)
{
	const struct xf_code code = {.address = CODE, .size = TEXT_END - CODE};
	int32_t places[NR_ORC];
	uint16_t entries[NR_ORC][3];
	struct xf_orc orc = {.places = places,
	                     .places_size = sizeof(places),
	                     .places_address = PLACES,
	                     .entries = entries,
	                     .entries_size = sizeof(entries)};

	for (size_t i = 0; i < NR_ORC; i++) {
		places[i] = (int32_t)(orc_rows[i].address - (PLACES + 4 * i));
		entries[i][0] = (uint16_t)orc_rows[i].sp;
		entries[i][1] = (uint16_t)orc_rows[i].bp;
		entries[i][2] = orc_rows[i].bits;
	}
	assert_int_equal(xf_recording_write_kernel_orc(writer, kernel, &code, &orc), 0);
}

/* Whether the module is of a kernel of its own, upon the other one. */
static bool modules_apart;

static void add_module_symbols(struct xf_symbols *symbols)
{
	xf_symbols_add(symbols, MODULE, 0, 't', "poll [net]");
	xf_symbols_add(symbols, MODULE + sizeof(module_code), 0, 'd', "");
}

static void write_symbols(struct xf_recording_writer *writer, uint32_t kernel)
{
	struct xf_symbols *symbols = xf_symbols_new();

	xf_symbols_add(symbols, HYPERCALL, 0, 'T', "hypercall");
	xf_symbols_add(symbols, WORK, 0, 't', "work");
	xf_symbols_add(symbols, SWITCH_TO, 0, 'T', "__switch_to");
	xf_symbols_add(symbols, TELLING, 0, 'T', "__perf_event_task_sched_in");
	xf_symbols_add(symbols, HANDLER, 0, 't', "handler");
	xf_symbols_add(symbols, ON_IRQ, 0, 't', "on_irq_stack");
	xf_symbols_add(symbols, ASM_IRQ, 0, 'T', "asm_irq");
	xf_symbols_add(symbols, SYSCALL, 0, 'T', "entry_SYSCALL_64");
	xf_symbols_add(symbols, KTHREAD, 0, 'T', "ret_from_fork");
	xf_symbols_add(symbols, THUNK, 0, 'T', "__x86_indirect_thunk_rax");
	xf_symbols_add(symbols, TEXT_END, 0, 'd', "");
	if (!modules_apart)
		add_module_symbols(symbols);
	xf_symbols_finish(symbols);
	assert_int_equal(xf_recording_write_kernel_symbols(writer, kernel, symbols), 0);
	xf_symbols_free(symbols);
}

static void write_modules_apart(struct xf_recording_writer *writer)
{
	struct xf_symbols *symbols = xf_symbols_new();

	add_module_symbols(symbols);
	xf_symbols_finish(symbols);
	assert_int_equal(xf_recording_write_kernel_symbols(writer, 8, symbols), 0);
	xf_symbols_free(symbols);
	assert_int_equal(xf_recording_write_kernel_upon(writer, 8, 7, "Linux 6.4"), 0);
}

/* Kernel 7, or 8 upon it, is dom0's and, slid, domain 3's; nobody knows domain 2's. */
static void write_kernel(struct xf_recording_writer *writer)
{
	const struct xf_code module = {
	        .address = MODULE, .bytes = module_code, .size = sizeof(module_code)};
	const uint32_t kernel = modules_apart ? 8 : 7;
	const struct xf_recording_kernel_of of[] = {
	        {.domid = 0, .kernel = kernel, .tsc = 100},
	        {.domid = 3, .kernel = kernel, .tsc = 100, .slide = SLIDE},
	        {.domid = 3, .kernel = XF_NO_KERNEL, .tsc = 2000},
	};

	assert_int_equal(xf_recording_write_kernel(writer, 7, "Linux 6.4"), 0);
	write_symbols(writer, 7);
	write_orc(writer, 7);
	assert_int_equal(xf_recording_write_kernel_code(writer, kernel, &module), 0);
	if (modules_apart)
		write_modules_apart(writer);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		assert_int_equal(xf_recording_write_kernel_of(writer, &of[i]), 0);
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* One stack with its words by address. */
struct stack {
	uint8_t mode;
	uint64_t rip, rsp, end;
	struct {
		uint64_t address, value;
	} words[8]; /* to the first without an address */
};

struct sample {
	uint16_t domid;
	bool guest; /* the guest was running, not Xen */
	uint64_t tsc;
	struct stack stacks[XF_MAX_GUEST_STACKS + 1]; /* to the first without a mode */
};

static uint64_t slid(uint64_t address, uint64_t slide)
{
	return address >= CODE && address < MODULE ? address + slide : address;
}

static void write_stack(struct xf_recording_writer *writer, const struct stack *stack,
                        uint32_t sequence, uint64_t slide)
{
	struct xf_guest_piece piece = {0};

	piece.stack.sequence = sequence;
	piece.stack.pcpu = 1;
	piece.stack.mode = stack->mode;
	piece.stack.rip = slid(stack->rip, slide);
	piece.stack.rsp = stack->rsp;
	piece.stack.end = stack->end;
	for (size_t i = 0; i < 8 && stack->words[i].address; i++)
		piece.stack.words[piece.nr_words++] =
		        XF_WORD((stack->words[i].address - stack->rsp) / 8,
		                slid(stack->words[i].value, slide));
	piece.stack.bytes = (uint16_t)(XF_GUEST_HEAD_BYTES + 8 * piece.nr_words);
	assert_int_equal(xf_recording_write_guest_stack(writer, &piece.stack), 0);
}

static void write_sample(struct xf_recording_writer *writer, const struct sample *sample,
                         uint32_t sequence)
{
	struct xf_sample written = {
	        .sequence = sequence,
	        .bytes = XF_SAMPLE_HEAD_BYTES,
	        .flags = sample->guest ? XF_SAMPLE_GUEST : XF_SAMPLE_FOREIGN_RSP,
	        .tsc = sample->tsc ? sample->tsc : 1000,
	        .pcpu = 1,
	        .domid = sample->domid,
	        .rip = sample->guest ? sample->stacks[0].rip : 0xffff82d040200000ull};

	assert_int_equal(xf_recording_write_sample(writer, &written), 0);
}

static struct xf_recording *read_back(struct xf_recording_writer *writer, struct bytes *bytes)
{
	struct xf_recording *recording;

	assert_int_equal(xf_recording_write_end(writer), 0);
	xf_recording_writer_free(writer);
	assert_int_equal(xf_recording_open(bytes->at, bytes->size, &recording, NULL), 0);
	assert_int_equal(xf_recording_state(recording).damaged, 0);
	return recording;
}

static struct xf_recording_writer *start(struct bytes *bytes)
{
	struct xf_recording_sink sink = {.write = take, .context = bytes};
	struct xf_recording_writer *writer;

	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	write_kernel(writer);
	return writer;
}

/* Folded lines of @recording. */
static char *fold(const struct xf_recording *recording, struct xf_profile **profile)
{
	const struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	struct xf_error error = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (xf_profile_build(recording, &options, profile, &error))
		fail_msg("%s", error.text);
	assert_int_equal(xf_folded_write(out, *profile), 0);
	fclose(out);
	return text;
}

/* The sample's frames are @frames, and its counts those. */
static void expect(const struct sample *sample, const char *frames,
                   const struct xf_profile_counts *counts)
{
	uint64_t slide = sample->domid == 3 ? SLIDE : 0;
	struct bytes bytes = {0};
	struct xf_recording_writer *writer = start(&bytes);
	struct xf_recording *recording;
	struct xf_profile *profile;
	char *text;

	for (size_t i = 0; i <= XF_MAX_GUEST_STACKS && sample->stacks[i].mode; i++)
		write_stack(writer, &sample->stacks[i], 5, slide);
	write_sample(writer, sample, 5);
	recording = read_back(writer, &bytes);
	text = fold(recording, &profile);
	assert_string_equal(text, frames);
	assert_int_equal(profile->counts.guest, sample->guest);
	assert_int_equal(profile->counts.stacks, 1);
	assert_int_equal(profile->counts.kernel_incomplete, counts->kernel_incomplete);
	assert_int_equal(profile->counts.user_unknown, counts->user_unknown);
	free(text);
	xf_profile_free(profile);
	xf_recording_free(recording);
	free(bytes.at);
}

static const struct xf_profile_counts whole;
static const struct xf_profile_counts from_user = {.user_unknown = 1};
static const struct xf_profile_counts cut = {.kernel_incomplete = 1};

/* A system call that has come to a hypercall. */
#define SYSTEM_CALL                                                                                \
	{                                                                                          \
		.mode = XF_GUEST_KERNEL, .rip = HYPERCALL + 5, .rsp = TASK - 200, .end = TASK,     \
		.words = {                                                                         \
		        {TASK - 200, WORK + 0x15},                                                 \
		        {TASK - 176, SYSCALL + 0x15},                                              \
		},                                                                                 \
	}
#define PROCESS                                                                                    \
	{                                                                                          \
		.mode = XF_GUEST_USER, .rip = USER, .rsp = 0x7fff00001000, .end = 0x7fff00001000   \
	}
#define SYSTEM_CALL_FRAMES "[user];entry_SYSCALL_64;work;hypercall"

static void a_system_call_is_walked_to_its_process(void **state)
{
	struct sample sample = {.stacks = {SYSTEM_CALL, PROCESS}};

	(void)state;
	expect(&sample,
	       "Domain-0;" SYSTEM_CALL_FRAMES
	       ";[incomplete: foreign-stack];[unknown 0xffff82d040200000] 1\n",
	       &from_user);
	sample.guest = true;
	expect(&sample, "Domain-0;" SYSTEM_CALL_FRAMES " 1\n", &from_user);
	/* What is known of the process's stack has been lost: it is there all the same. */
	sample.stacks[1].mode = 0;
	expect(&sample, "Domain-0;" SYSTEM_CALL_FRAMES " 1\n", &from_user);
}

static void user_code_alone_is_a_user_frame(void **state)
{
	const struct sample sample = {.guest = true, .stacks = {PROCESS}};

	(void)state;
	expect(&sample, "Domain-0;[user] 1\n", &from_user);
}

/* With FRED configured there are 16 bytes more at the stack's top. */
static void padding_above_the_users_registers_is_known(void **state)
{
	struct sample sample = {.guest = true, .stacks = {SYSTEM_CALL, PROCESS}};

	(void)state;
	sample.stacks[0].end += 16;
	expect(&sample, "Domain-0;" SYSTEM_CALL_FRAMES " 1\n", &from_user);
	sample.stacks[0].end += 16;
	expect(&sample,
	       "Domain-0;[kernel incomplete: interrupted-address-not-captured];"
	       "entry_SYSCALL_64;work;hypercall 1\n",
	       &cut);
}

#define LEFT_AT (TASK - 384)

/* On the stack for interrupts, which was entered from the task's while it worked. */
static const struct sample interrupt = {
        .guest = true,
        .stacks = {{.mode = XF_GUEST_KERNEL,
                    .rip = HANDLER + 1,
                    .rsp = IRQ - 24,
                    .end = IRQ,
                    .words = {{IRQ - 16, ON_IRQ + 0x25}, {IRQ - 8, LEFT_AT}}},
                   {.mode = XF_GUEST_KERNEL,
                    .rsp = LEFT_AT,
                    .end = TASK,
                    .words = {{LEFT_AT + 16, ASM_IRQ + 0x15},
                              {LEFT_AT + 24 + 128, WORK + 0x18},
                              {LEFT_AT + 24 + 152, TASK - 192},
                              {TASK - 176, SYSCALL + 0x15}}},
                   PROCESS}};

#define INTERRUPT_FRAMES "[user];entry_SYSCALL_64;work;asm_irq;on_irq_stack;handler"

static void the_stack_that_was_left_for_interrupts_is_gone_on_with(void **state)
{
	struct sample sample = interrupt;

	(void)state;
	expect(&sample, "Domain-0;" INTERRUPT_FRAMES " 1\n", &from_user);
	/* The word that leads there points to no text, and need not be captured at the top. */
	sample.stacks[0].words[1].address = 0;
	expect(&sample, "Domain-0;" INTERRUPT_FRAMES " 1\n", &from_user);
}

static void a_stack_that_is_not_led_to_is_not_believed(void **state)
{
	struct sample sample = interrupt;

	(void)state;
	sample.stacks[0].words[1].value = LEFT_AT + 8;
	expect(&sample, "Domain-0;[kernel incomplete: not-upwards];on_irq_stack;handler 1\n", &cut);
	sample.stacks[0].words[1].value = IRQ - 16; /* back into itself */
	expect(&sample, "Domain-0;[kernel incomplete: outside-stack];on_irq_stack;handler 1\n",
	       &cut);
	sample = interrupt;
	sample.stacks[1].rip = WORK; /* one that goes on with registers */
	expect(&sample, "Domain-0;[kernel incomplete: not-upwards];on_irq_stack;handler 1\n", &cut);
	sample = interrupt;
	sample.stacks[1] = sample.stacks[2]; /* that of the task has been lost */
	sample.stacks[2].mode = 0;
	expect(&sample, "Domain-0;[kernel incomplete: not-upwards];on_irq_stack;handler 1\n", &cut);
	sample = interrupt;
	sample.stacks[0] = sample.stacks[1]; /* that for interrupts has been lost */
	sample.stacks[1] = sample.stacks[2];
	sample.stacks[2].mode = 0;
	expect(&sample, "Domain-0;[kernel incomplete: innermost-stack-lost] 1\n", &cut);
}

#define EXCEPTION 0xfffffe0000009000ull /* where a stack for exceptions ends */

/* Registers have been saved on it, and the capture has gone on with them. */
static void what_was_interrupted_on_another_stack_goes_on_there(void **state)
{
	struct sample sample = {.guest = true,
	                        .stacks = {{.mode = XF_GUEST_KERNEL,
	                                    .rip = ASM_IRQ + 1,
	                                    .rsp = EXCEPTION - 168,
	                                    .end = EXCEPTION,
	                                    .words = {{EXCEPTION - 40, HYPERCALL + 5}}},
	                                   SYSTEM_CALL,
	                                   PROCESS}};

	(void)state;
	expect(&sample, "Domain-0;" SYSTEM_CALL_FRAMES ";asm_irq 1\n", &from_user);
	/* Another stack than that one. */
	sample.stacks[0].words[0].value = WORK + 1;
	expect(&sample, "Domain-0;[kernel incomplete: interrupted-stack-not-captured];asm_irq 1\n",
	       &cut);
}

/* A kernel's own thread, below which there is no process; and code that enters the kernel, where
 * the capture has found one. */
static void where_linux_says_that_a_stack_ends_it_is_whole(void **state)
{
	struct sample sample = {.guest = true, .stacks = {SYSTEM_CALL, PROCESS}};

	(void)state;
	sample.stacks[0].words[1].value = KTHREAD + 0x15;
	expect(&sample, "Domain-0;[user];ret_from_fork;work;hypercall 1\n", &from_user);
	sample.stacks[1].mode = 0;
	expect(&sample, "Domain-0;ret_from_fork;work;hypercall 1\n", &whole);
	/* A process that was found below another stack than the one that ended. */
	sample.stacks[1] = interrupt.stacks[1];
	sample.stacks[2] = interrupt.stacks[2];
	expect(&sample, "Domain-0;ret_from_fork;work;hypercall 1\n", &whole);
}

/* ORC says of them that the stack ends, and it does not. */
static void thunks_end_no_stack(void **state)
{
	struct sample sample = {.guest = true, .stacks = {SYSTEM_CALL, PROCESS}};

	(void)state;
	sample.stacks[0].words[1].value = THUNK + 0x15;
	expect(&sample,
	       "Domain-0;[kernel incomplete: not-described];__x86_indirect_thunk_rax;work;"
	       "hypercall 1\n",
	       &cut);
}

/* Names have the kernel's addresses, captures the domain's; modules are not slid along. */
static void a_slid_kernel_is_the_same_kernel(void **state)
{
	struct sample sample = {.domid = 3, .guest = true, .stacks = {SYSTEM_CALL, PROCESS}};

	(void)state;
	expect(&sample, "d3;" SYSTEM_CALL_FRAMES " 1\n", &from_user);
	sample.stacks[0].rip = MODULE;
	sample.stacks[0].words[0].value = WORK + 0x15;
	expect(&sample, "d3;[user];entry_SYSCALL_64;work;poll [net] 1\n", &from_user);
}

static void a_kernel_that_is_not_known_has_no_names(void **state)
{
	struct sample sample = {.domid = 2, .guest = true, .stacks = {SYSTEM_CALL, PROCESS}};

	(void)state;
	expect(&sample,
	       "d2;[kernel incomplete: kernel-not-known];[d2 kernel]+0xffffffff81000005 1\n", &cut);
	/* The domain id has been used again; and what ran before it was known. */
	sample.domid = 3;
	sample.tsc = 2000;
	expect(&sample,
	       "d3;[kernel incomplete: kernel-not-known];[d3 kernel]+0xffffffff93000005 1\n", &cut);
	sample.tsc = 99;
	expect(&sample,
	       "d3;[kernel incomplete: kernel-not-known];[d3 kernel]+0xffffffff93000005 1\n", &cut);
}

/* Interrupted before its first instruction: its address lies in the module, the one before does
 * not. */
static void a_module_is_known_by_its_first_byte(void **state)
{
	struct sample sample = interrupt;

	(void)state;
	sample.stacks[1].words[1].value = MODULE;
	/* It has been called: by the word above which RSP was. */
	sample.stacks[1].words[2].value = TASK - 176;
	expect(&sample,
	       "Domain-0;[user];entry_SYSCALL_64;poll [net];asm_irq;on_irq_stack;handler 1\n",
	       &from_user);
}

static void modules_are_walked_by_their_code(void **state)
{
	struct sample sample = {.guest = true,
	                        .stacks = {{.mode = XF_GUEST_KERNEL,
	                                    .rip = HYPERCALL + 5,
	                                    .rsp = TASK - 216,
	                                    .end = TASK,
	                                    .words = {{TASK - 216, MODULE_RETURN},
	                                              {TASK - 200, WORK + 0x15},
	                                              {TASK - 176, SYSCALL + 0x15}}},
	                                   PROCESS}};

	(void)state;
	expect(&sample, "Domain-0;[user];entry_SYSCALL_64;work;poll [net];hypercall 1\n",
	       &from_user);
	/* Code that nothing is known of. */
	sample.stacks[0].words[0].value = MODULE + 0x1000;
	expect(&sample,
	       "Domain-0;[kernel incomplete: no-row];[Domain-0 kernel]+0xffffffffc0101000;"
	       "hypercall 1\n",
	       &cut);
}

/* ---- The records ----------------------------------------------------------------------------- */

/* Stacks of another sample, too many of them, or without any sample. */
static void stacks_go_with_their_own_sample(void **state)
{
	static const struct sample sample = {.guest = true, .stacks = {SYSTEM_CALL, PROCESS}};
	const struct xf_idle_record idle = {.tsc = 1000, .pcpu = 0, .count = 1};
	struct bytes bytes = {0};
	struct xf_recording_writer *writer = start(&bytes);
	struct xf_recording *recording;
	struct xf_profile *profile;
	char *text;

	(void)state;
	write_stack(writer, &sample.stacks[0], 4, 0); /* its sample has been lost: 1 */
	write_stack(writer, &sample.stacks[0], 5, 0);
	assert_int_equal(xf_recording_write_idle(writer, &idle), 0);
	xf_recording_flush(writer);
	write_stack(writer, &sample.stacks[1], 5, 0);
	write_sample(writer, &sample, 5);
	write_sample(writer, &sample, 6);
	for (size_t i = 0; i <= XF_MAX_GUEST_STACKS; i++) /* 1 too many */
		write_stack(writer, &sample.stacks[i == 1], 7, 0);
	write_sample(writer, &sample, 7);
	write_stack(writer, &sample.stacks[0], 9, 0); /* another's: 1 */
	write_sample(writer, &sample, 8);
	recording = read_back(writer, &bytes);
	assert_int_equal(xf_recording_state(recording).stray_stacks, 3);
	text = fold(recording, &profile);
	assert_string_equal(text, "Domain-0;[guest kernel] 2\n"
	                          "Domain-0;" SYSTEM_CALL_FRAMES " 2\n"
	                          "Idle;[idle] 1\n");
	assert_int_equal(profile->counts.stacks, 2);
	free(text);
	xf_profile_free(profile);
	xf_recording_free(recording);
	free(bytes.at);
}

/* At 1000 ns a thread of "present" runs, which was told at 0; that "another" does will be told at
 * 1100. */
static void write_processes(struct xf_recording_writer *writer)
{
	static const struct {
		struct xf_process_head head;
		char name[8];
	} exist[] = {
	        {{.type = XF_PROCESS_EXISTS, .size = 8, .pid = 100, .tid = 100}, "present"},
	        {{.type = XF_PROCESS_EXISTS, .size = 8, .pid = 200, .tid = 200}, "another"},
	};
	const struct xf_switch switches[] = {{.time = 0, .pid = 100, .tid = 100},
	                                     {.time = 1100, .pid = 200, .tid = 200}};
	const struct xf_clock_pair pairs[] = {{.tsc = 0, .time = 0, .width = 0},
	                                      {.tsc = 5000, .time = 5000, .width = 0}};

	assert_int_equal(xf_recording_write_clock(writer, pairs, 2), 0);
	assert_int_equal(xf_recording_write_switches(writer, 0, switches, 2), 0);
	assert_int_equal(xf_recording_write_processes(writer, exist, sizeof(exist)), 0);
}

/* The frame @inner is on the stack above "entry_SYSCALL_64", at @tsc: then it is @process's. */
static void expect_owner(uint64_t inner, uint64_t tsc, const char *process)
{
	const struct sample sample = {
	        .guest = true,
	        .tsc = tsc,
	        .stacks = {{.mode = XF_GUEST_KERNEL,
	                    .rip = HYPERCALL + 5,
	                    .rsp = TASK - 200,
	                    .end = TASK,
	                    .words = {{TASK - 200, inner + 0x15}, {TASK - 176, SYSCALL + 0x15}}},
	                   PROCESS}};
	struct bytes bytes = {0};
	struct xf_recording_writer *writer = start(&bytes);
	struct xf_recording *recording;
	struct xf_profile *profile;
	char start_of_line[64];
	char *text;

	write_processes(writer);
	for (size_t i = 0; i < 2; i++)
		write_stack(writer, &sample.stacks[i], 5, 0);
	write_sample(writer, &sample, 5);
	recording = read_back(writer, &bytes);
	text = fold(recording, &profile);
	snprintf(start_of_line, sizeof(start_of_line), "Domain-0;%s;[user];", process);
	if (strncmp(text, start_of_line, strlen(start_of_line)) != 0)
		fail_msg("not %s: %s", process, text);
	free(text);
	xf_profile_free(profile);
	xf_recording_free(recording);
	free(bytes.at);
}

/* The stack is the next thread's before Linux says so. */
static void a_stack_that_was_switched_to_is_the_next_processs(void **state)
{
	(void)state;
	expect_owner(WORK, 1000, "present");
	expect_owner(SWITCH_TO, 1000, "another");
	expect_owner(SWITCH_TO, 200, "another");
	expect_owner(SWITCH_TO, 1200, "[unknown process]");
	expect_owner(TELLING, 1000, "another");
	expect_owner(TELLING, 1200, "another");
	expect_owner(TELLING, 500, "present");
	expect_owner(WORK, 1200, "another");
}

static void the_script_has_the_same_frames(void **state)
{
	static const char expected[] =
	        "Domain-0 0/0 [001] 0.000001: 1 cpu-clock: \n"
	        "\tffffffff81000201 handler+0x1 ([guest.kernel.kallsyms])\n"
	        "\tffffffff81000325 on_irq_stack+0x25 ([guest.kernel.kallsyms])\n"
	        "\tffffffff81000415 asm_irq+0x15 ([guest.kernel.kallsyms])\n"
	        "\tffffffff81000118 work+0x18 ([guest.kernel.kallsyms])\n"
	        "\tffffffff81000515 entry_SYSCALL_64+0x15 ([guest.kernel.kallsyms])\n"
	        "\t    5555deadbeef [user] (guest)\n\n";
	const struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	struct bytes bytes = {0};
	struct xf_recording_writer *writer = start(&bytes);
	struct xf_recording *recording;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	for (size_t i = 0; i < 3; i++)
		write_stack(writer, &interrupt.stacks[i], 5, 0);
	write_sample(writer, &interrupt, 5);
	recording = read_back(writer, &bytes);
	assert_int_equal(xf_script_write(out, recording, &options, NULL), 0);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
	xf_recording_free(recording);
	free(bytes.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_system_call_is_walked_to_its_process),
	        cmocka_unit_test(user_code_alone_is_a_user_frame),
	        cmocka_unit_test(padding_above_the_users_registers_is_known),
	        cmocka_unit_test(the_stack_that_was_left_for_interrupts_is_gone_on_with),
	        cmocka_unit_test(a_stack_that_is_not_led_to_is_not_believed),
	        cmocka_unit_test(what_was_interrupted_on_another_stack_goes_on_there),
	        cmocka_unit_test(where_linux_says_that_a_stack_ends_it_is_whole),
	        cmocka_unit_test(thunks_end_no_stack),
	        cmocka_unit_test(a_slid_kernel_is_the_same_kernel),
	        cmocka_unit_test(a_kernel_that_is_not_known_has_no_names),
	        cmocka_unit_test(modules_are_walked_by_their_code),
	        cmocka_unit_test(a_module_is_known_by_its_first_byte),
	        cmocka_unit_test(stacks_go_with_their_own_sample),
	        cmocka_unit_test(a_stack_that_was_switched_to_is_the_next_processs),
	        cmocka_unit_test(the_script_has_the_same_frames),
	};

	int failed = cmocka_run_group_tests_name("modules with the image", tests, NULL, NULL);

	modules_apart = true;
	return failed + cmocka_run_group_tests_name("modules apart", tests, NULL, NULL);
}
