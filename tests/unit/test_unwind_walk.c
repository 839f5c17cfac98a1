// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks over stacks made by hand: honest ones, and those of an adversary. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "unwind/unwind.h"
#include "xenflame/sample.h"

#define TEXT       0xffff82d040200000ull
#define STACK      0xffff830012340000ull
#define MAX_FRAMES 32

/* clang-format off */
static const uint8_t code[] = {
	/* An interrupt's entry; the frame's base is at RSP + 8 once the error code is pushed. */
	/* 00 push $0x0 */ 0x6a, 0x00,
	/* 02 add $-0x78,%rsp */ 0x48, 0x83, 0xc4, 0x88,
	/* 06 mov %rbp,0x20(%rsp) */ 0x48, 0x89, 0x6c, 0x24, 0x20,
	/* 0b xor %ebp,%ebp */ 0x31, 0xed,
	/* 0d call 0x40 */ 0xe8, 0x2e, 0x00, 0x00, 0x00,
	/* 12 mov 0x20(%rsp),%rbp */ 0x48, 0x8b, 0x6c, 0x24, 0x20,
	/* 17 sub $-0x80,%rsp */ 0x48, 0x83, 0xec, 0x80,
	/* 1b iretq */ 0x48, 0xcf,
	0xcc, 0xcc, 0xcc,
	/* A function with a frame pointer and a stack of unknown size. */
	/* 20 push %rbp */ 0x55,
	/* 21 mov %rsp,%rbp */ 0x48, 0x89, 0xe5,
	/* 24 sub %rax,%rsp */ 0x48, 0x29, 0xc4,
	/* 27 call 0x40 */ 0xe8, 0x14, 0x00, 0x00, 0x00,
	/* 2c leave */ 0xc9,
	/* 2d ret */ 0xc3,
	0xcc, 0xcc,
	/* One that calls it, keeping RBP. */
	/* 30 push %rbx */ 0x53,
	/* 31 call 0x20 */ 0xe8, 0xea, 0xff, 0xff, 0xff,
	/* 36 call 0x40 */ 0xe8, 0x05, 0x00, 0x00, 0x00,
	/* 3b pop %rbx */ 0x5b,
	/* 3c ret */ 0xc3,
	0xcc, 0xcc, 0xcc,
	/* A leaf. */
	/* 40 push %rbx */ 0x53,
	/* 41 pop %rbx */ 0x5b,
	/* 42 ret */ 0xc3,
	0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
	/* Where two paths disagree. */
	/* 50 test %edi,%edi */ 0x85, 0xff,
	/* 52 je 0x55 */ 0x74, 0x01,
	/* 54 push %rbx */ 0x53,
	/* 55 nop */ 0x90,
	/* 56 ret */ 0xc3,
	0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
	/* A realigned stack: the base is in R10, then in a word. */
	/* 60 lea 8(%rsp),%r10 */ 0x4c, 0x8d, 0x54, 0x24, 0x08,
	/* 65 and $-32,%rsp */ 0x48, 0x83, 0xe4, 0xe0,
	/* 69 push %rbp */ 0x55,
	/* 6a mov %rsp,%rbp */ 0x48, 0x89, 0xe5,
	/* 6d push %r10 */ 0x41, 0x52,
	/* 6f call 0x40 */ 0xe8, 0xcc, 0xff, 0xff, 0xff,
	/* 74 mov -8(%rbp),%r10 */ 0x4c, 0x8b, 0x55, 0xf8,
	/* 78 leave */ 0xc9,
	/* 79 lea -8(%r10),%rsp */ 0x49, 0x8d, 0x62, 0xf8,
	/* 7d ret */ 0xc3,
	0xcc, 0xcc,
	/* Entry code with room for a patch. */
	/* 80 add $-0x78,%rsp */ 0x48, 0x83, 0xc4, 0x88,
	/* 84 nopl 0(%rax,%rax) */ 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00,
	/* 8c nopl 0(%rax,%rax) */ 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00,
	/* 94 add $0x78,%rsp */ 0x48, 0x83, 0xc4, 0x78,
	/* 98 iretq */ 0x48, 0xcf,
	0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
	/* Entry code that leaves by SYSRET, on the guest's stack pointer. */
	/* a0 push $0x0 */ 0x6a, 0x00,
	/* a2 test %eax,%eax */ 0x85, 0xc0,
	/* a4 je 0xb0 */ 0x74, 0x0a,
	/* a6 mov 0x20(%rsp),%rsp */ 0x48, 0x8b, 0x64, 0x24, 0x20,
	/* ab sysretq */ 0x48, 0x0f, 0x07,
	0xcc, 0xcc,
	/* b0 add $8,%rsp */ 0x48, 0x83, 0xc4, 0x08,
	/* b4 iretq */ 0x48, 0xcf,
};
/* clang-format on */

static struct xf_unwind_table *table;

static int set_up(void **state)
{
	static const uint64_t entries[] = {TEXT,        TEXT + 0x20, TEXT + 0x30, TEXT + 0x40,
	                                   TEXT + 0x50, TEXT + 0x60, TEXT + 0x80, TEXT + 0xa0};
	const struct xf_code text = {TEXT, code, sizeof(code)};

	(void)state;
	return xf_unwind_table_build(&text, entries, 8, &table, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	xf_unwind_table_free(table);
	return 0;
}

struct made {
	struct xf_walk_input input;
	uint64_t words[XF_MAX_WORDS];
	struct xf_frame frames[MAX_FRAMES];
	enum xf_unwind_reason reason;
	size_t count;
};

/* An input interrupted at @rip with @slots words between RSP and the stack's end. */
static struct made *start(struct made *made, uint64_t rip, unsigned int slots)
{
	memset(made, 0, sizeof(*made));
	made->input = (struct xf_walk_input){
	        .rip = rip,
	        .rsp = STACK,
	        .stack_end = STACK + slots * 8,
	        .words = made->words,
	};
	return made;
}

static void word(struct made *made, unsigned int slot, uint64_t value)
{
	assert_true(made->input.nr_words < XF_MAX_WORDS);
	made->words[made->input.nr_words++] = XF_WORD(slot, value);
}

static void walk(struct made *made)
{
	const struct xf_unwind_table *const tables[] = {table};

	made->count =
	        xf_unwind_walk(tables, 1, &made->input, made->frames, MAX_FRAMES, &made->reason);
}

static void expect(struct made *made, enum xf_unwind_reason reason, size_t count)
{
	walk(made);
	if (made->reason != reason)
		fail_msg("ended with %s", xf_unwind_reason_name(made->reason));
	assert_int_equal(made->count, count);
	assert_int_equal(made->frames[0].address, made->input.rip);
	assert_true(made->frames[0].interrupted);
}

/* Leaf, called by the caller that entry code called with RSP at the guest's frame. */
static void test_complete(void **state)
{
	struct made made;

	(void)state;
	start(&made, TEXT + 0x41, 4);
	word(&made, 1, TEXT + 0x3b);
	word(&made, 3, TEXT + 0x12);
	expect(&made, XF_UNWIND_END, 3);
	assert_int_equal(made.frames[1].address, TEXT + 0x3b);
	assert_false(made.frames[1].interrupted);
	assert_int_equal(made.frames[2].address, TEXT + 0x12);
}

/* RSP at, or in, the guest's frame; and a function that was entered by a jump with a fresh stack.
 */
static void test_at_the_end(void **state)
{
	struct made made;

	(void)state;
	start(&made, TEXT + 0x02, 0);
	expect(&made, XF_UNWIND_END, 1);
	made.input.rsp = made.input.stack_end + 40;
	expect(&made, XF_UNWIND_END, 1);
	made.input.rsp = made.input.stack_end + 1024;
	expect(&made, XF_UNWIND_OUTSIDE_STACK, 1);
	start(&made, TEXT + 0x41, 1);
	expect(&made, XF_UNWIND_END, 1);
}

/* RBP is kept by one function, used by the next, and comes from the stack after that. */
static void test_frame_pointer(void **state)
{
	struct made made;

	(void)state;
	start(&made, TEXT + 0x41, 10);
	made.input.rbp = STACK + 6 * 8;
	word(&made, 1, TEXT + 0x2c);
	word(&made, 7, TEXT + 0x36);
	word(&made, 9, TEXT + 0x12);
	expect(&made, XF_UNWIND_END, 4);
	assert_int_equal(made.frames[1].address, TEXT + 0x2c);
	assert_int_equal(made.frames[2].address, TEXT + 0x36);
	made.input.rbp = STACK + 3;
	expect(&made, XF_UNWIND_MISALIGNED, 2);
	made.input.rbp = STACK - 64;
	expect(&made, XF_UNWIND_NOT_UPWARDS, 2);
	made.input.rbp = STACK + 4096;
	expect(&made, XF_UNWIND_OUTSIDE_STACK, 2);
	made.input.rbp = 0;
	expect(&made, XF_UNWIND_NOT_UPWARDS, 2);
}

/* In the handler of an interrupt that hit the leaf, called from the one that uses RBP. */
static struct made *through_interrupt(struct made *made)
{
	start(made, TEXT + 0x40, 34);
	word(made, 0, TEXT + 0x12);
	word(made, 1 + 4, STACK + 30 * 8);  /* RBP in the saved registers */
	word(made, 1 + 16, TEXT + 0x41);    /* interrupted RIP */
	word(made, 1 + 19, STACK + 23 * 8); /* interrupted RSP */
	word(made, 24, TEXT + 0x2c);
	word(made, 31, TEXT + 0x36);
	word(made, 33, TEXT + 0x12);
	return made;
}

static void test_interrupt(void **state)
{
	struct made made;

	(void)state;
	expect(through_interrupt(&made), XF_UNWIND_END, 6);
	assert_int_equal(made.frames[1].address, TEXT + 0x12);
	assert_int_equal(made.frames[2].address, TEXT + 0x41);
	assert_true(made.frames[2].interrupted);
	assert_int_equal(made.frames[3].address, TEXT + 0x2c);
	assert_int_equal(made.frames[4].address, TEXT + 0x36);
	assert_int_equal(made.frames[5].address, TEXT + 0x12);
}

static void test_interrupt_broken(void **state)
{
	struct made made;

	(void)state;
	through_interrupt(&made)->words[1] = XF_WORD(6, STACK); /* RBP was not a stack address */
	expect(&made, XF_UNWIND_FRAME_POINTER_UNKNOWN, 4);
	through_interrupt(&made)->words[2] = XF_WORD(18, STACK);
	expect(&made, XF_UNWIND_INTERRUPTED_RIP_MISSING, 2);
	through_interrupt(&made)->words[3] = XF_WORD(21, STACK);
	expect(&made, XF_UNWIND_INTERRUPTED_RSP_MISSING, 2);
	through_interrupt(&made)->words[3] = XF_WORD(20, STACK + 17 * 8);
	expect(&made, XF_UNWIND_NOT_UPWARDS, 2);
	through_interrupt(&made)->words[3] = XF_WORD(20, STACK + 22 * 8 + 4);
	expect(&made, XF_UNWIND_MISALIGNED, 2);
	through_interrupt(&made)->words[3] = XF_WORD(20, STACK + 34 * 8 + 1024);
	expect(&made, XF_UNWIND_OUTSIDE_STACK, 2);
	/* The frame is cut by the stack's end. */
	through_interrupt(&made)->input.stack_end = STACK + 20 * 8;
	expect(&made, XF_UNWIND_OUTSIDE_STACK, 2);
	/* The frame is the guest's. */
	through_interrupt(&made)->input.stack_end = STACK + 17 * 8;
	expect(&made, XF_UNWIND_END, 2);
}

static void test_realigned(void **state)
{
	struct made made;

	(void)state;
	start(&made, TEXT + 0x69, 12);
	expect(&made, XF_UNWIND_REGISTER_UNKNOWN, 1);
	/* In the leaf that it calls; RBP of the caller is kept beside. */
	start(&made, TEXT + 0x40, 20);
	word(&made, 0, TEXT + 0x74);
	word(&made, 1, STACK + 9 * 8);  /* R10 */
	word(&made, 2, STACK + 18 * 8); /* the caller's RBP */
	word(&made, 8, TEXT + 0x2c);
	word(&made, 19, TEXT + 0x12);
	expect(&made, XF_UNWIND_END, 4);
	assert_int_equal(made.frames[2].address, TEXT + 0x2c);
	assert_int_equal(made.frames[3].address, TEXT + 0x12);
	made.words[1] = XF_WORD(1, STACK - 8);
	expect(&made, XF_UNWIND_NOT_UPWARDS, 2);
	made.words[1] = XF_WORD(3, STACK);
	expect(&made, XF_UNWIND_WORD_MISSING, 2);
}

/* The return stack is being filled, in place of no-operations: the guest's frame is near. */
static void test_stuffing(void **state)
{
	struct made made;

	(void)state;
	start(&made, TEXT + 0x8a, 3);
	word(&made, 0, TEXT + 0x8b);
	word(&made, 1, TEXT + 0x85);
	word(&made, 2, TEXT + 0x8b);
	expect(&made, XF_UNWIND_END, 1);
	/* The same in the middle of the stack: through the frame of what was interrupted. */
	start(&made, TEXT + 0x8a, 24);
	word(&made, 0, TEXT + 0x8b);
	word(&made, 1, TEXT + 0x85);
	word(&made, 17, TEXT + 0x41);
	word(&made, 20, STACK + 22 * 8);
	word(&made, 23, TEXT + 0x12);
	expect(&made, XF_UNWIND_END, 3);
	assert_int_equal(made.frames[1].address, TEXT + 0x41);
	assert_true(made.frames[1].interrupted);
	assert_int_equal(made.frames[2].address, TEXT + 0x12);
	/* A word that points elsewhere is none of those. */
	made.words[0] = XF_WORD(0, TEXT + 0x81);
	expect(&made, XF_UNWIND_INTERRUPTED_RIP_MISSING, 1);
}

/* For addresses that no table covers there is no row; several tables are searched in order. */
static void test_tables(void **state)
{
	static const uint8_t patch[] = {0x53, 0xe8, 0,    0,
	                                0,    0,    0x5b, 0xc3}; /* push; call; pop; ret */
	const uint64_t where = TEXT + 0x900000;
	const struct xf_code text = {where, patch, sizeof(patch)};
	const struct xf_unwind_table *tables[2] = {table, NULL};
	struct xf_unwind_table *second;
	struct made made;

	(void)state;
	assert_int_equal(xf_unwind_table_build(&text, &where, 1, &second, NULL), 0);
	tables[1] = second;
	start(&made, where, 4);
	word(&made, 0, TEXT + 0x3b);
	word(&made, 2, where + 1);
	word(&made, 3, TEXT + 0x12);
	made.count = xf_unwind_walk(tables, 2, &made.input, made.frames, MAX_FRAMES, &made.reason);
	assert_int_equal(made.reason, XF_UNWIND_END);
	assert_int_equal(made.count, 4);
	xf_unwind_table_free(second);
}

static void test_not_captured(void **state)
{
	struct made made;

	(void)state;
	start(&made, TEXT + 0x41, 4);
	expect(&made, XF_UNWIND_STACK_NOT_CAPTURED, 1);
	word(&made, 2, TEXT + 0x3b);
	expect(&made, XF_UNWIND_RETURN_ADDRESS_MISSING, 1);
	/* A stale word below where the return address must be is never taken for it. */
	start(&made, TEXT + 0x41, 4);
	word(&made, 0, TEXT + 0x3b);
	expect(&made, XF_UNWIND_RETURN_ADDRESS_MISSING, 1);
}

static void test_addresses(void **state)
{
	struct made made;

	(void)state;
	start(&made, TEXT - 1, 4);
	expect(&made, XF_UNWIND_NOT_TEXT, 1);
	start(&made, TEXT + 0x55, 4);
	expect(&made, XF_UNWIND_DISAGREEMENT, 1);
	start(&made, TEXT + 0x44, 4);
	expect(&made, XF_UNWIND_PADDING, 1);
	/* A return address that is a stack address, and one in code that no table knows. */
	start(&made, TEXT + 0x40, 4);
	word(&made, 0, STACK + 8);
	expect(&made, XF_UNWIND_NOT_TEXT, 1);
	start(&made, TEXT + 0x40, 4);
	word(&made, 0, TEXT + 0x900000);
	expect(&made, XF_UNWIND_LIVEPATCH_TEXT, 2);
	assert_int_equal(made.frames[1].address, TEXT + 0x900000);
	start(&made, TEXT + 0x40, 4);
	made.input.rsp += 4;
	expect(&made, XF_UNWIND_MISALIGNED, 1);
}

static void test_too_deep(void **state)
{
	struct made made;

	(void)state;
	start(&made, TEXT + 0x40, 126);
	for (unsigned int i = 0; i < 125; i += 2)
		word(&made, i, TEXT + 0x3b);
	expect(&made, XF_UNWIND_TOO_DEEP, MAX_FRAMES);
	made.count = xf_unwind_walk((const struct xf_unwind_table *const[]){table}, 1, &made.input,
	                            made.frames, 0, &made.reason);
	assert_int_equal(made.count, 0);
	assert_int_equal(made.reason, XF_UNWIND_TOO_DEEP);
	walk(&made);
	assert_int_equal(made.count, MAX_FRAMES);
}

/* Whatever the words are, in whatever order: the walk ends, with frames that lie in the code. */
static void test_hostile(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (unsigned int round = 0; round < 20000; round++) {
		struct made made;

		start(&made, TEXT + round % sizeof(code), round % 200);
		for (unsigned int i = 0; i < XF_MAX_WORDS; i++) {
			uint64_t value;

			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			value = seed >> 33;
			value = value & 1 ? TEXT + (value >> 1) % sizeof(code)
			                  : STACK - 64 + (value >> 1) % 2048;
			word(&made, round & 1 ? i : (unsigned int)(seed >> 40) & 0xffff, value);
		}
		made.input.rbp = STACK + (seed >> 50) - 4096;
		if (round % 7 == 0)
			made.input.rsp = UINT64_MAX - (seed >> 60);
		if (round % 11 == 0)
			made.input.stack_end = seed;
		walk(&made);
		assert_in_range(made.count, 1, MAX_FRAMES);
		assert_true(xf_unwind_reason_name(made.reason)[0] != 0);
		assert_true(xf_unwind_reason_sentence(made.reason)[0] != 0);
	}
}

/*
 * A guest has pointed RSP at this pCPU's own stack, where what looks like callers lies: on its way
 * in, in code that no table knows, and on its way out.
 */
static void test_guests_stack_pointer(void **state)
{
	static const struct {
		uint64_t rip;
		enum xf_unwind_reason reason;
	} places[] = {
	        {0xffff82d07fffe000, XF_UNWIND_NOT_TEXT},
	        {TEXT + 0xab, XF_UNWIND_STACK_SWITCHED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct made made;

		start(&made, places[i].rip, 64);
		for (unsigned int slot = 0; slot < 64; slot++)
			word(&made, slot, TEXT + 0x3b);
		expect(&made, places[i].reason, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_complete),
	        cmocka_unit_test(test_at_the_end),
	        cmocka_unit_test(test_frame_pointer),
	        cmocka_unit_test(test_interrupt),
	        cmocka_unit_test(test_interrupt_broken),
	        cmocka_unit_test(test_not_captured),
	        cmocka_unit_test(test_addresses),
	        cmocka_unit_test(test_too_deep),
	        cmocka_unit_test(test_hostile),
	        cmocka_unit_test(test_stuffing),
	        cmocka_unit_test(test_realigned),
	        cmocka_unit_test(test_tables),
	        cmocka_unit_test(test_guests_stack_pointer),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
