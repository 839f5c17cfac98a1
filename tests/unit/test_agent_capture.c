// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agent/capture.c and emit.c on hand-made stacks. What must not be read is not mapped, so a read
 * of it ends the program: no test has to look for it.
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
#define PAGE  4096u
/* A number that is nothing to an unwinder. */
#define NOISE 0x123456789abcdef0ull

static struct xf_sample *last;
static uint64_t storage[(XF_SAMPLE_HEAD_BYTES + 8 * XF_MAX_WORDS) / 8 + 1];
static unsigned int nr_emitted;

static int set_up(void **state)
{
	(void)state;
	fake_start(4, 0);
	fake_enter(CPU);
	assert_int_equal(xf_start(), XF_REFUSAL_NONE);
	fake_leave();
	fake_set_life(CPU, FAKE_HYPERCALL);
	fake_set_current(CPU, fake_vcpu(7, 3));
	return 0;
}

static uint64_t stack(void)
{
	return (uint64_t)fake_stack(CPU);
}

static void put(uint32_t offset, uint64_t value)
{
	memcpy(fake_stack(CPU) + offset, &value, sizeof(value));
}

/* Fills what is mapped of the stack below the frame. */
static void fill(uint64_t value)
{
	uint32_t offset;

	for (offset = PAGE; offset < FAKE_FRAME; offset += 8)
		if (offset / PAGE != 5)
			put(offset, value);
}

static void take_sample(void *context, const struct xf_sample *sample,
                        const struct xf_sample_guest *guest)
{
	(void)context, (void)guest;
	assert_true(sample->bytes <= sizeof(storage));
	memcpy(storage, sample, sample->bytes);
	last = (struct xf_sample *)(void *)storage;
	nr_emitted++;
}

/* What has come through the trace buffer since the last call. Return: how many samples. */
static unsigned int read_trace(void)
{
	struct xf_stream_sink sink = {.sample = take_sample};
	struct xf_stream stream;
	const uint8_t *bytes;
	size_t size;

	nr_emitted = 0;
	last = NULL;
	xf_stream_init(&stream, CPU);
	bytes = fake_take_trace(CPU, &size);
	xf_stream_feed(&stream, bytes, size, &sink);
	assert_int_equal(stream.broken, 0);
	assert_int_equal(stream.damaged_bytes, 0);
	assert_int_equal(stream.foreign_records, 0);
	return nr_emitted;
}

static void kick(void)
{
	xf_pcpus[CPU].kicked = 1;
}

/* The softirq runs when the hypercall is over. */
static void return_to_guest(void)
{
	enum fake_life life = fake_life_of(CPU);
	const void *vcpu = *(const void **)(void *)(fake_stack(CPU) + FAKE_CURRENT_VCPU);

	fake_set_life(CPU, FAKE_PV_GUEST);
	fake_set_life(CPU, life);
	fake_set_current(CPU, vcpu);
}

/* An NMI of ours in Xen with this RSP. Return: the sample as it comes out of the trace buffer. */
static const struct xf_sample *sample_at(uint64_t rsp)
{
	struct xen_cpu_user_regs regs = {
	        .cs = 0xe008, .rip = FAKE_TEXT + 0x99, .rsp = rsp, .rbp = 0x55, .rflags = 0x10046};

	kick();
	assert_true(fake_nmi(CPU, &regs));
	return_to_guest();
	assert_int_equal(read_trace(), 1);
	return last;
}

static unsigned int words_of(const struct xf_sample *sample)
{
	return (sample->bytes - XF_SAMPLE_HEAD_BYTES) / 8;
}

static void words_into_code_and_stack_are_taken_others_not(void **state)
{
	const struct {
		uint64_t value;
		bool taken;
	} cases[] = {
	        {FAKE_TEXT - 1, false},
	        {FAKE_TEXT, true},
	        {FAKE_TEXT_END - 1, true},
	        {FAKE_TEXT_END, false},
	        {FAKE_LIVEPATCH - 1, false},
	        {FAKE_LIVEPATCH, true},
	        {FAKE_LIVEPATCH_END - 1, true},
	        {FAKE_LIVEPATCH_END, false},
	        {stack() - 1, false},
	        {stack(), true},
	        {stack() + XF_STACK_BYTES - 1, true},
	        {stack() + XF_STACK_BYTES, false},
	        {0, false},
	        {1, false},
	        {UINT64_MAX, false},
	        {NOISE, false},
	        {FAKE_TEXT & 0xffffffffffffull, false}, /* the same below bit 48 */
	        {FAKE_TEXT ^ 1ull << 63, false},
	        {(uint64_t)fake_stack(0), false},
	        {(uint64_t)fake_stack(2), false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct xf_sample *sample;

		fill(NOISE);
		put(0x7800 + 8 * i, cases[i].value);
		sample = sample_at(stack() + 0x7800);
		assert_int_equal(words_of(sample), cases[i].taken);
		if (!cases[i].taken)
			continue;
		assert_int_equal(XF_WORD_SLOT(sample->words[0]), i);
		assert_int_equal(XF_WORD_VALUE(sample->words[0]), cases[i].value);
	}
}

static void words_come_by_rising_slot_with_their_places(void **state)
{
	static const uint32_t places[] = {0, 1, 2, 7, 8, 31, 100, 222};
	const struct xf_sample *sample;
	size_t i;

	(void)state;
	fill(NOISE);
	for (i = 0; i < 8; i++)
		put(0x7800 + 8 * places[i], FAKE_TEXT + 0x1000 + i);
	put(0x77f8, FAKE_TEXT);     /* below RSP */
	put(FAKE_FRAME, FAKE_TEXT); /* the guest's R15 */
	sample = sample_at(stack() + 0x7800);
	assert_int_equal(words_of(sample), 8);
	for (i = 0; i < 8; i++) {
		assert_int_equal(XF_WORD_SLOT(sample->words[i]), places[i]);
		assert_int_equal(XF_WORD_VALUE(sample->words[i]), FAKE_TEXT + 0x1000 + i);
	}
	assert_int_equal(sample->flags, 0);
}

static void registers_and_vcpu_are_those_of_the_nmi(void **state)
{
	struct xen_cpu_user_regs *frame = fake_frame(CPU);
	const struct xf_sample *sample;

	(void)state;
	frame->rip = 0x1111;
	frame->rsp = 0x2222;
	frame->rbp = 0x3333;
	frame->cs = 0xe033;
	fake_set_tsc(0x1234567890ull);
	fake_set_cr3(CPU, 0xabc000);
	sample = sample_at(stack() + 0x7800);
	assert_int_equal(sample->sequence, 0);
	assert_int_equal(sample->tsc, 0x1234567890ull);
	assert_int_equal(sample->pcpu, CPU);
	assert_int_equal(sample->domid, 7);
	assert_int_equal(sample->vcpu, 3);
	assert_int_equal(sample->rip, FAKE_TEXT + 0x99);
	assert_int_equal(sample->rsp, stack() + 0x7800);
	assert_int_equal(sample->rbp, 0x55);
	assert_int_equal(sample->rflags, 0x10046);
	assert_int_equal(sample->cs, 0xe008);
	assert_int_equal(sample->stack_end, stack() + FAKE_FRAME);
	assert_int_equal(sample->guest_rip, 0x1111);
	assert_int_equal(sample->guest_rsp, 0x2222);
	assert_int_equal(sample->guest_rbp, 0x3333);
	assert_int_equal(sample->guest_cs, 0xe033);
	assert_int_equal(sample->cr3, 0xabc000);
	assert_int_equal(sample->hvm_cr3, 0);
	assert_int_equal(sample_at(stack() + 0x7800)->sequence, 1);
}

/*
 * All words are code here, so that their number is the number of words read. An RSP in a guard
 * page would end the program if it were followed.
 */
static void rsp_is_followed_up_to_the_right_bound_at_each_edge(void **state)
{
	static const struct {
		uint32_t rsp;
		unsigned int words; /* read, XF_MAX_WORDS at most are kept */
		uint32_t flags;
	} cases[] = {
	        /* The primary stack. */
	        {0x6000, XF_MAX_WORDS, XF_SAMPLE_TRUNCATED},
	        {0x6008, XF_MAX_WORDS, XF_SAMPLE_TRUNCATED},
	        {0x7000, XF_MAX_WORDS, XF_SAMPLE_TRUNCATED},
	        {FAKE_FRAME - 8 * XF_MAX_WORDS - 8, XF_MAX_WORDS, XF_SAMPLE_TRUNCATED},
	        {FAKE_FRAME - 8 * XF_MAX_WORDS, XF_MAX_WORDS, 0},
	        {FAKE_FRAME - 8 * XF_MAX_WORDS + 8, XF_MAX_WORDS - 1, 0},
	        {FAKE_FRAME - 16, 2, 0},
	        {FAKE_FRAME - 8, 1, 0},
	        {FAKE_FRAME, 0, 0},
	        {FAKE_FRAME + 8, 0, 0},
	        {0x7ff8, 0, 0},
	        /* Exception stacks: to their page's end, never into the next. */
	        {0x1000, XF_MAX_WORDS, XF_SAMPLE_IST_STACK | XF_SAMPLE_TRUNCATED},
	        {0x1ff0, 2, XF_SAMPLE_IST_STACK},
	        {0x1ff8, 1, XF_SAMPLE_IST_STACK},
	        {0x2000, XF_MAX_WORDS, XF_SAMPLE_IST_STACK | XF_SAMPLE_TRUNCATED},
	        {0x2ff8, 1, XF_SAMPLE_IST_STACK},
	        {0x3000, XF_MAX_WORDS, XF_SAMPLE_IST_STACK | XF_SAMPLE_TRUNCATED},
	        {0x3ff8, 1, XF_SAMPLE_IST_STACK},
	        {0x4000, XF_MAX_WORDS, XF_SAMPLE_IST_STACK | XF_SAMPLE_TRUNCATED},
	        {0x4f00, 32, XF_SAMPLE_IST_STACK},
	        {0x4ff8, 1, XF_SAMPLE_IST_STACK},
	};
	size_t i;

	(void)state;
	fill(FAKE_TEXT + 0x77);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct xf_sample *sample = sample_at(stack() + cases[i].rsp);

		assert_int_equal(words_of(sample), cases[i].words);
		assert_int_equal(sample->flags, cases[i].flags);
	}
}

static void rsp_in_a_guard_page_or_misaligned_is_foreign(void **state)
{
	static const uint32_t offsets[] = {0x0,    0x8,    0xff8,  0xfff,  0x5000, 0x5008,
	                                   0x5ff8, 0x5fff, 0x1001, 0x1004, 0x2ffc, 0x2fff,
	                                   0x6001, 0x6004, 0x7e01, 0x7ef7, 0x7ef1, 0x7fff};
	size_t i;

	(void)state;
	fill(FAKE_TEXT + 0x77);
	for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		const struct xf_sample *sample = sample_at(stack() + offsets[i]);

		assert_int_equal(words_of(sample), 0);
		assert_int_equal(sample->flags, XF_SAMPLE_FOREIGN_RSP);
	}
}

/* The SYSCALL gap: Xen's code segment, the guest's stack pointer. */
static void hostile_rsp_is_never_read(void **state)
{
	const uint64_t hostile[] = {0,
	                            8,
	                            PAGE,
	                            0x00007ffff7000000ull,
	                            0x00007ffffffffff8ull,
	                            0x0000800000000000ull, /* not canonical */
	                            0x8000000000000000ull,
	                            0xffff7ffffffffff8ull,
	                            0xffff800000000000ull,
	                            0xfffffffffffffff8ull,
	                            UINT64_MAX,
	                            FAKE_TEXT,
	                            FAKE_TEXT + 0x1000,
	                            FAKE_LIVEPATCH,
	                            (uint64_t)fake_stack(0) + 0x7800, /* another pCPU's */
	                            (uint64_t)fake_stack(2) + 0x7800,
	                            stack() - 1,
	                            stack() - 8,
	                            stack() + XF_STACK_BYTES,
	                            stack() + XF_STACK_BYTES + 8,
	                            stack() ^ 1ull << 63,
	                            stack() + (1ull << 48),
	                            stack() + (1ull << 32)};
	size_t i;

	(void)state;
	fill(FAKE_TEXT + 0x77);
	for (i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		const struct xf_sample *sample = sample_at(hostile[i]);

		assert_int_equal(words_of(sample), 0);
		assert_int_equal(sample->flags, XF_SAMPLE_FOREIGN_RSP);
		assert_int_equal(sample->rsp, hostile[i]);
	}
}

static void any_rsp_at_all_is_survived(void **state)
{
	unsigned int i;

	(void)state;
	fake_start(4, 0x5eed);
	fake_enter(CPU);
	assert_int_equal(xf_start(), XF_REFUSAL_NONE);
	fake_leave();
	fake_set_life(CPU, FAKE_HYPERCALL);
	for (i = 0; i < 20000; i++) {
		uint64_t rsp = fake_random();
		const struct xf_sample *sample;

		if (i % 2)
			rsp = stack() - 0x1000 + rsp % (XF_STACK_BYTES + 0x2000);
		sample = sample_at(rsp);
		assert_true(words_of(sample) <= XF_MAX_WORDS);
		if (rsp - stack() >= XF_STACK_BYTES)
			assert_true(sample->flags & XF_SAMPLE_FOREIGN_RSP);
	}
}

static void of_more_words_than_fit_those_nearest_to_rsp_are_kept(void **state)
{
	const struct xf_sample *sample;
	unsigned int i;

	(void)state;
	fill(NOISE);
	for (i = 0; i < XF_MAX_WORDS + 1; i++)
		put(0x7000 + 16 * i, FAKE_TEXT + i);
	sample = sample_at(stack() + 0x7000);
	assert_int_equal(words_of(sample), XF_MAX_WORDS);
	assert_int_equal(sample->flags, XF_SAMPLE_TRUNCATED);
	for (i = 0; i < XF_MAX_WORDS; i++)
		assert_int_equal(sample->words[i], XF_WORD(2 * i, FAKE_TEXT + i));
	/* One less, and nothing is missing. */
	put(0x7000 + 16 * XF_MAX_WORDS, NOISE);
	sample = sample_at(stack() + 0x7000);
	assert_int_equal(words_of(sample), XF_MAX_WORDS);
	assert_int_equal(sample->flags, 0);
}

static void a_pv_guests_sample_has_its_registers_and_no_words(void **state)
{
	struct xen_cpu_user_regs *frame = fake_frame(CPU);

	(void)state;
	fill(FAKE_TEXT);
	fake_set_life(CPU, FAKE_PV_GUEST);
	for (unsigned int ring = 1; ring <= 3; ring++) {
		/* Taken on the NMI's own stack, the registers not yet those of the frame. */
		struct xen_cpu_user_regs regs = {
		        .cs = (uint16_t)(0xe030 | ring), .rip = 0x401000, .rsp = stack() + 0x7800};

		*frame = regs;
		kick();
		assert_true(fake_nmi(CPU, &regs));
		fake_run_softirqs(CPU);
		assert_int_equal(read_trace(), 1);
		assert_int_equal(last->flags, XF_SAMPLE_GUEST);
		assert_int_equal(words_of(last), 0);
		assert_int_equal(last->rip, 0x401000);
		assert_int_equal(last->guest_rip, 0x401000);
	}
}

static void a_vmx_exits_sample_is_the_guests_whatever_its_cs(void **state)
{
	struct xen_cpu_user_regs *frame = fake_frame(CPU);

	(void)state;
	fill(FAKE_TEXT);
	fake_set_life(CPU, FAKE_VMX_GUEST);
	fake_set_hvm(7, true, 0x777000);
	*frame = (struct xen_cpu_user_regs){.cs = 0x10, .rip = 0x9000, .rsp = stack() + 0x7800};
	kick();
	assert_true(fake_nmi(CPU, frame));
	fake_run_softirqs(CPU);
	assert_int_equal(read_trace(), 1);
	assert_int_equal(last->flags, XF_SAMPLE_GUEST);
	assert_int_equal(words_of(last), 0);
	assert_int_equal(last->guest_rip, 0x9000);
	assert_int_equal(last->hvm_cr3, 0x777000);
}

static void after_stgi(void)
{
	struct xen_cpu_user_regs regs = {.cs = 0xe008, .rip = FAKE_STGI, .rsp = stack() + 0x7800};

	fake_set_life(CPU, FAKE_SVM_GUEST);
	fake_set_hvm(7, true, 0x777000);
	*fake_frame(CPU) = (struct xen_cpu_user_regs){.rip = 0x01d, .rsp = 0x01d, .cs = 0x01d};
	kick();
	assert_true(fake_nmi(CPU, &regs));
	/* Xen's exit path stores the registers of the guest. */
	*fake_frame(CPU) =
	        (struct xen_cpu_user_regs){.rip = 0x9000, .rsp = 0x9100, .rbp = 0x9200, .cs = 0x10};
}

static void after_stgi_the_guests_registers_are_taken_late(void **state)
{
	(void)state;
	fill(FAKE_TEXT);
	after_stgi();
	fake_run_softirqs(CPU);
	assert_int_equal(read_trace(), 1);
	assert_int_equal(last->flags, XF_SAMPLE_GUEST | XF_SAMPLE_AFTER_STGI);
	assert_int_equal(words_of(last), 0);
	assert_int_equal(last->rip, FAKE_STGI);
	assert_int_equal(last->guest_rip, 0x9000);
	assert_int_equal(last->guest_rsp, 0x9100);
	assert_int_equal(last->guest_rbp, 0x9200);
	assert_int_equal(last->guest_cs, 0x10);
	assert_int_equal(last->hvm_cr3, 0x777000);
}

/* The vCPU's memory is even gone by then: it may be compared, not followed. */
static void after_stgi_a_vcpu_switched_away_has_no_registers(void **state)
{
	(void)state;
	after_stgi();
	fake_set_current(CPU, fake_vcpu(9, 0));
	fake_destroy_vcpu(fake_vcpu(7, 3));
	fake_set_cr3(CPU, 0xbad);
	fake_run_softirqs(CPU);
	assert_int_equal(read_trace(), 1);
	assert_int_equal(last->flags, XF_SAMPLE_GUEST | XF_SAMPLE_AFTER_STGI |
	                                      XF_SAMPLE_NO_GUEST_REGS | XF_SAMPLE_SWITCHED_AWAY);
	assert_int_equal(last->domid, 7);
	assert_int_equal(last->vcpu, 3);
	assert_int_equal(last->cr3, 0);
	assert_int_equal(last->hvm_cr3, 0);
}

static void a_vcpu_switched_away_keeps_its_registers_but_not_anothers_cr3(void **state)
{
	struct xen_cpu_user_regs regs = {.cs = 0xe008, .rip = FAKE_TEXT, .rsp = stack() + 0x7800};

	(void)state;
	fake_set_life(CPU, FAKE_PV_GUEST);
	fake_frame(CPU)->rip = 0x1111;
	kick();
	assert_true(fake_nmi(CPU, &regs));
	fake_frame(CPU)->rip = 0x2222;
	fake_set_current(CPU, fake_vcpu(9, 0));
	fake_destroy_vcpu(fake_vcpu(7, 3));
	fake_set_cr3(CPU, 0xbad);
	fake_run_softirqs(CPU);
	assert_int_equal(read_trace(), 1);
	assert_int_equal(last->guest_rip, 0x1111);
	assert_int_equal(last->domid, 7);
	assert_int_equal(last->cr3, 0);
	assert_int_equal(last->hvm_cr3, 0);
}

/* Else a softirq that takes longer than samples take to come would never end. */
static void a_sample_taken_while_others_are_written_out_waits_for_the_next(void **state)
{
	struct xen_cpu_user_regs regs = {.cs = 0xe008, .rip = FAKE_TEXT, .rsp = stack() + 0x7800};

	(void)state;
	fake_set_life(CPU, FAKE_PV_GUEST);
	xf_pcpus[CPU].emitting = 1;
	kick();
	assert_true(fake_nmi(CPU, &regs));
	fake_run_softirqs(CPU);
	assert_int_equal(read_trace(), 0);
	xf_pcpus[CPU].emitting = 0;
	kick();
	assert_true(fake_nmi(CPU, &regs));
	fake_run_softirqs(CPU);
	assert_int_equal(read_trace(), 2);
	assert_int_equal(xf_pcpus[CPU].emitting, 0);
}

static void an_idle_pcpus_sample_says_so(void **state)
{
	struct xen_cpu_user_regs regs = {.cs = 0xe008, .rip = FAKE_TEXT, .rsp = stack() + 0x7ee8};

	(void)state;
	fake_set_life(CPU, FAKE_IDLE_WORK);
	kick();
	assert_true(fake_nmi(CPU, &regs));
	fake_run_softirqs(CPU);
	assert_int_equal(read_trace(), 1);
	assert_int_equal(last->flags, XF_SAMPLE_IDLE | XF_SAMPLE_NO_GUEST_REGS);
	assert_int_equal(last->domid, FAKE_IDLE_DOMID);
	assert_int_equal(last->vcpu, CPU);
}

static void hvm_cr3_is_not_read_where_it_is_not_known(void **state)
{
	(void)state;
	fake_set_hvm(7, true, 0x777000);
	assert_int_equal(sample_at(stack() + 0x7800)->hvm_cr3, 0x777000);
	xf_config.vcpu_hvm_cr3_offset = 0;
	assert_int_equal(sample_at(stack() + 0x7800)->hvm_cr3, 0);
	xf_config.vcpu_hvm_cr3_offset = FAKE_HVM_CR3;
	xf_config.domain_options_offset = 0;
	assert_int_equal(sample_at(stack() + 0x7800)->hvm_cr3, 0);
	xf_config.domain_options_offset = FAKE_OPTIONS;
	fake_set_hvm(7, false, 0x777000);
	assert_int_equal(sample_at(stack() + 0x7800)->hvm_cr3, 0);
}

static void without_stgi_no_sample_is_taken_for_the_guests(void **state)
{
	struct xen_cpu_user_regs regs = {.cs = 0xe008, .rip = 0, .rsp = stack() + 0x7ef0};

	(void)state;
	xf_config.after_stgi = 0;
	kick();
	assert_true(fake_nmi(CPU, &regs));
	return_to_guest();
	assert_int_equal(read_trace(), 1);
	assert_int_equal(last->flags, 0);
}

static void a_full_ring_is_counted_and_keeps_the_first_samples(void **state)
{
	struct xen_cpu_user_regs regs = {.cs = 0xe008, .rip = FAKE_TEXT, .rsp = stack() + 0x7ef0};
	unsigned int i;

	(void)state;
	for (i = 0; i < XF_SLOTS + 5; i++) {
		regs.rip = FAKE_TEXT + i;
		kick();
		assert_true(fake_nmi(CPU, &regs));
	}
	assert_int_equal(xf_pcpus[CPU].taken, XF_SLOTS);
	assert_int_equal(xf_pcpus[CPU].lost_slot, 5);
	return_to_guest();
	assert_int_equal(read_trace(), XF_SLOTS);
	assert_int_equal(last->rip, FAKE_TEXT + XF_SLOTS - 1);
	assert_int_equal(last->sequence, XF_SLOTS - 1);
	/* And there is room again. */
	assert_int_equal(sample_at(stack() + 0x7ef0)->sequence, XF_SLOTS);
	assert_int_equal(xf_pcpus[CPU].lost_slot, 5);
}

static void the_ring_works_when_its_counters_wrap(void **state)
{
	unsigned int i;

	(void)state;
	xf_pcpus[CPU].head = xf_pcpus[CPU].tail = UINT32_MAX - 3;
	xf_pcpus[CPU].taken = UINT32_MAX - 3;
	for (i = 0; i < 40; i++)
		assert_int_equal(sample_at(stack() + 0x7ef0)->sequence, UINT32_MAX - 3 + i);
}

static void nmis_of_others_are_passed_on_and_never_counted(void **state)
{
	struct xen_cpu_user_regs regs = {.cs = 0xe008, .rip = FAKE_TEXT, .rsp = stack() + 0x7ef0};
	struct xf_pcpu before = xf_pcpus[CPU];

	(void)state;
	assert_false(fake_nmi(CPU, &regs));
	assert_memory_equal(&before, &xf_pcpus[CPU], sizeof(before));
	/* One is ours, the next one is not. */
	kick();
	assert_true(fake_nmi(CPU, &regs));
	assert_false(fake_nmi(CPU, &regs));
	assert_int_equal(xf_pcpus[CPU].taken, 1);
	return_to_guest();
	assert_int_equal(read_trace(), 1);
}

static void an_nmi_is_ours_on_the_kicked_pcpu_alone(void **state)
{
	struct xen_cpu_user_regs regs = {.cs = 0xe008, .rip = FAKE_TEXT};

	(void)state;
	kick();
	assert_false(fake_nmi(0, &regs));
	assert_false(fake_nmi(2, &regs));
	assert_int_equal(xf_pcpus[CPU].kicked, 1);
}

/* xf_pcpus is poisoned beyond the pCPUs there are. */
static void a_pcpu_number_out_of_range_is_not_ours(void **state)
{
	static const int numbers[] = {4, 5, 63, 64, 95, 4095, INT32_MAX, -1, INT32_MIN};
	struct xen_cpu_user_regs regs = {.cs = 0xe008, .rip = FAKE_TEXT};
	size_t i;

	(void)state;
	fake_enter(CPU);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_int_equal(xf_capture_nmi(&regs, numbers[i]), 0);
	fake_leave();
}

static void samples_of_every_length_go_through_the_trace_buffer(void **state)
{
	uint32_t words;

	(void)state;
	fill(FAKE_TEXT + 1);
	for (words = 0; words <= XF_MAX_WORDS; words++)
		assert_int_equal(words_of(sample_at(stack() + FAKE_FRAME - 8 * words)), words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	        TEST(words_into_code_and_stack_are_taken_others_not),
	        TEST(words_come_by_rising_slot_with_their_places),
	        TEST(registers_and_vcpu_are_those_of_the_nmi),
	        TEST(rsp_is_followed_up_to_the_right_bound_at_each_edge),
	        TEST(rsp_in_a_guard_page_or_misaligned_is_foreign),
	        TEST(hostile_rsp_is_never_read),
	        TEST(any_rsp_at_all_is_survived),
	        TEST(of_more_words_than_fit_those_nearest_to_rsp_are_kept),
	        TEST(a_pv_guests_sample_has_its_registers_and_no_words),
	        TEST(a_vmx_exits_sample_is_the_guests_whatever_its_cs),
	        TEST(after_stgi_the_guests_registers_are_taken_late),
	        TEST(after_stgi_a_vcpu_switched_away_has_no_registers),
	        TEST(a_vcpu_switched_away_keeps_its_registers_but_not_anothers_cr3),
	        TEST(a_sample_taken_while_others_are_written_out_waits_for_the_next),
	        TEST(an_idle_pcpus_sample_says_so),
	        TEST(hvm_cr3_is_not_read_where_it_is_not_known),
	        TEST(without_stgi_no_sample_is_taken_for_the_guests),
	        TEST(a_full_ring_is_counted_and_keeps_the_first_samples),
	        TEST(the_ring_works_when_its_counters_wrap),
	        TEST(nmis_of_others_are_passed_on_and_never_counted),
	        TEST(an_nmi_is_ours_on_the_kicked_pcpu_alone),
	        TEST(a_pcpu_number_out_of_range_is_not_ours),
	        TEST(samples_of_every_length_go_through_the_trace_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
