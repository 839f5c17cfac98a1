// SPDX-License-Identifier: GPL-2.0-or-later
/* Small functions, assembled by hand, one for each thing that the inference must understand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "build_table.h"
#include "unwind/explain.h"
#include "unwind/table.h"

/* clang-format off */
static const uint8_t ordinary[] = {
	/*  0 push %rbp */ 0x55,
	/*  1 push %rbx */ 0x53,
	/*  2 sub $0x18,%rsp */ 0x48, 0x83, 0xec, 0x18,
	/*  6 xor %ebp,%ebp */ 0x31, 0xed,
	/*  8 test %edi,%edi */ 0x85, 0xff,
	/*  a je 0x11 */ 0x74, 0x05,
	/*  c call 0x20 */ 0xe8, 0x0f, 0x00, 0x00, 0x00,
	/* 11 add $0x18,%rsp */ 0x48, 0x83, 0xc4, 0x18,
	/* 15 pop %rbx */ 0x5b,
	/* 16 pop %rbp */ 0x5d,
	/* 17 ret */ 0xc3,
	/* int3 */ 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
	/* 20 ret */ 0xc3,
};

static const uint8_t frame_pointer[] = {
	/*  0 push %rbp */ 0x55,
	/*  1 mov %rsp,%rbp */ 0x48, 0x89, 0xe5,
	/*  4 and $0xffffffffffffffe0,%rsp */ 0x48, 0x83, 0xe4, 0xe0,
	/*  8 sub %rax,%rsp */ 0x48, 0x29, 0xc4,
	/*  b mov %rdi,(%rsp) */ 0x48, 0x89, 0x3c, 0x24,
	/*  f leave */ 0xc9,
	/* 10 ret */ 0xc3,
};

static const uint8_t realigned[] = {
	/*  0 lea 0x8(%rsp),%r10 */ 0x4c, 0x8d, 0x54, 0x24, 0x08,
	/*  5 and $0xffffffffffffffe0,%rsp */ 0x48, 0x83, 0xe4, 0xe0,
	/*  9 push -0x8(%r10) */ 0x41, 0xff, 0x72, 0xf8,
	/*  d push %rbp */ 0x55,
	/*  e mov %rsp,%rbp */ 0x48, 0x89, 0xe5,
	/* 11 push %r10 */ 0x41, 0x52,
	/* 13 sub $0x20,%rsp */ 0x48, 0x83, 0xec, 0x20,
	/* 17 xor %eax,%eax */ 0x31, 0xc0,
	/* 19 mov -0x8(%rbp),%r10 */ 0x4c, 0x8b, 0x55, 0xf8,
	/* 1d leave */ 0xc9,
	/* 1e lea -0x8(%r10),%rsp */ 0x49, 0x8d, 0x62, 0xf8,
	/* 22 ret */ 0xc3,
};

static const uint8_t retpoline[] = {
	/*  0 call 0x6 */ 0xe8, 0x01, 0x00, 0x00, 0x00,
	/* int3 */ 0xcc,
	/*  6 mov %rax,(%rsp) */ 0x48, 0x89, 0x04, 0x24,
	/*  a ret */ 0xc3,
	/* int3 */ 0xcc,
};

static const uint8_t noreturn[] = {
	/*  0 push %rbx */ 0x53,
	/*  1 test %edi,%edi */ 0x85, 0xff,
	/*  3 je 0x7 */ 0x74, 0x02,
	/*  5 pop %rbx */ 0x5b,
	/*  6 ret */ 0xc3,
	/*  7 sub $0x8,%rsp */ 0x48, 0x83, 0xec, 0x08,
	/*  b call 0x20 */ 0xe8, 0x10, 0x00, 0x00, 0x00,
	/* 10 push %rbp */ 0x55,
	/* 11 push %rbx */ 0x53,
	/* 12 pop %rbx */ 0x5b,
	/* 13 pop %rbp */ 0x5d,
	/* 14 ret */ 0xc3,
	/* int3 */ 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
	/* 20 push %rax */ 0x50,
	/* 21 ud2 */ 0x0f, 0x0b,
	/* 23 jmp 0x21 */ 0xeb, 0xfc,
};

static const uint8_t interrupt[] = {
	/*  0 push $0x0 */ 0x6a, 0x00,
	/*  2 movb $0x20,0x4(%rsp) */ 0xc6, 0x44, 0x24, 0x04, 0x20,
	/*  7 jmp 0x16 */ 0xeb, 0x0d,
	/* int3 */ 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
	/* 10 nop */ 0x90,
	/* 11 movb $0xe,0x4(%rsp) */ 0xc6, 0x44, 0x24, 0x04, 0x0e,
	/* 16 add $0xffffffffffffff88,%rsp */ 0x48, 0x83, 0xc4, 0x88,
	/* 1a mov %rbp,0x20(%rsp) */ 0x48, 0x89, 0x6c, 0x24, 0x20,
	/* 1f xor %ebp,%ebp */ 0x31, 0xed,
	/* 21 mov %rsp,%rdi */ 0x48, 0x89, 0xe7,
	/* 24 call 0x40 */ 0xe8, 0x17, 0x00, 0x00, 0x00,
	/* 29 mov 0x20(%rsp),%rbp */ 0x48, 0x8b, 0x6c, 0x24, 0x20,
	/* 2e sub $0xffffffffffffff80,%rsp */ 0x48, 0x83, 0xec, 0x80,
	/* 32 iretq */ 0x48, 0xcf,
	/* int3 */ 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
	/* 40 ret */ 0xc3,
};

static const uint8_t called_on_frame[] = {
	/*  0 nop */ 0x90,
	/*  1 add $0x8,%rsp */ 0x48, 0x83, 0xc4, 0x08,
	/*  5 call 0x20 */ 0xe8, 0x16, 0x00, 0x00, 0x00,
	/*  a mov 0x20(%rsp),%rbp */ 0x48, 0x8b, 0x6c, 0x24, 0x20,
	/*  f sub $0xffffffffffffff80,%rsp */ 0x48, 0x83, 0xec, 0x80,
	/* 13 iretq */ 0x48, 0xcf,
	/* int3 */ 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
	/* 20 ret */ 0xc3,
};

/* An exception's handler that drops its error code. */
static const uint8_t error_code[] = {
	/*  0 nop */ 0x90,
	/*  1 add $0x8,%rsp */ 0x48, 0x83, 0xc4, 0x08,
	/*  5 iretq */ 0x48, 0xcf,
};

static const uint8_t never_back[] = {
	/*  0 push %rbx */ 0x53,
	/*  1 test %edi,%edi */ 0x85, 0xff,
	/*  3 je 0x7 */ 0x74, 0x02,
	/*  5 pop %rbx */ 0x5b,
	/*  6 ret */ 0xc3,
	/*  7 call 0x30 */ 0xe8, 0x24, 0x00, 0x00, 0x00,
	/*  c nopl 0x0(%rax) */ 0x0f, 0x1f, 0x40, 0x00,
	/* 10 push %rbp */ 0x55,
	/* 11 push %rbx */ 0x53,
	/* 12 pop %rbx */ 0x5b,
	/* 13 pop %rbp */ 0x5d,
	/* 14 ret */ 0xc3,
	/* int3 */ 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
	0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
	/* 30 jmp *0x0(%rip) */ 0xff, 0x25, 0x00, 0x00, 0x00, 0x00,
};

/* The same with a call out of the code that is known: a kernel module's, of the kernel's functions. */
static const uint8_t never_back_from_outside[] = {
	/*  0 push %rbx */ 0x53,
	/*  1 test %edi,%edi */ 0x85, 0xff,
	/*  3 je 0x7 */ 0x74, 0x02,
	/*  5 pop %rbx */ 0x5b,
	/*  6 ret */ 0xc3,
	/*  7 call 0x100000c */ 0xe8, 0x00, 0x00, 0x00, 0x01,
	/*  c nopl 0x0(%rax) */ 0x0f, 0x1f, 0x40, 0x00,
	/* 10 push %rbp */ 0x55,
	/* 11 push %rbx */ 0x53,
	/* 12 call 0x1000017 */ 0xe8, 0x00, 0x00, 0x00, 0x01,
	/* 17 pop %rbx */ 0x5b,
	/* 18 pop %rbp */ 0x5d,
	/* 19 ret */ 0xc3,
};

static const uint8_t comes_back[] = {
	/*  0 push %rbx */ 0x53,
	/*  1 push %rbp */ 0x55,
	/*  2 push %r12 */ 0x41, 0x54,
	/*  4 call *0x0(%rip) */ 0xff, 0x15, 0x00, 0x00, 0x00, 0x00,
	/*  a nopw 0x0(%rax,%rax,1) */ 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00,
	/* 10 dec %ebx */ 0xff, 0xcb,
	/* 12 jne 0x10 */ 0x75, 0xfc,
	/* 14 pop %r12 */ 0x41, 0x5c,
	/* 16 pop %rbp */ 0x5d,
	/* 17 pop %rbx */ 0x5b,
	/* 18 ret */ 0xc3,
};

static const uint8_t disagreement[] = {
	/*  0 test %edi,%edi */ 0x85, 0xff,
	/*  2 je 0x5 */ 0x74, 0x01,
	/*  4 push %rbx */ 0x53,
	/*  5 nop */ 0x90,
	/*  6 xor %eax,%eax */ 0x31, 0xc0,
	/*  8 ret */ 0xc3,
};

static const uint8_t switch_stack[] = {
	/*  0 push %rbx */ 0x53,
	/*  1 mov %rsp,%rax */ 0x48, 0x89, 0xe0,
	/*  4 or $0x7fff,%rax */ 0x48, 0x0d, 0xff, 0x7f, 0x00, 0x00,
	/*  a sub $0xe7,%rax */ 0x48, 0x2d, 0xe7, 0x00, 0x00, 0x00,
	/* 10 mov %rax,%rsp */ 0x48, 0x89, 0xc4,
	/* 13 jmp 0x20 */ 0xeb, 0x0b,
	/* int3 */ 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
	/* 20 push %rbx */ 0x53,
	/* 21 jmp 0x21 */ 0xeb, 0xfe,
};

static const uint8_t cold[] = {
	/*  0 push %rbx */ 0x53,
	/*  1 sub $0x10,%rsp */ 0x48, 0x83, 0xec, 0x10,
	/*  5 test %edi,%edi */ 0x85, 0xff,
	/*  7 jne 0x10 */ 0x75, 0x07,
	/*  9 add $0x10,%rsp */ 0x48, 0x83, 0xc4, 0x10,
	/*  d pop %rbx */ 0x5b,
	/*  e ret */ 0xc3,
	/* int3 */ 0xcc,
	/* 10 mov $0x1,%eax */ 0xb8, 0x01, 0x00, 0x00, 0x00,
	/* 15 jmp 0x9 */ 0xeb, 0xf2,
};

static const uint8_t fixup[] = {
	/*  0 push %rbx */ 0x53,
	/*  1 mov (%rdi),%eax */ 0x8b, 0x07,
	/*  3 pop %rbx */ 0x5b,
	/*  4 ret */ 0xc3,
	/* int3 */ 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
	/* 10 ret */ 0xc3,
	/* 11 mov $0xfffffff2,%eax */ 0xb8, 0xf2, 0xff, 0xff, 0xff,
	/* 16 jmp 0x3 */ 0xeb, 0xeb,
};

static const uint8_t warn[] = {
	/*  0 push %rbx */ 0x53,
	/*  1 test %edi,%edi */ 0x85, 0xff,
	/*  3 je 0x7 */ 0x74, 0x02,
	/*  5 pop %rbx */ 0x5b,
	/*  6 ret */ 0xc3,
	/*  7 ud2 */ 0x0f, 0x0b,
	/*  9 xor %eax,%eax */ 0x31, 0xc0,
	/*  b pop %rbx */ 0x5b,
	/*  c ret */ 0xc3,
};

static const uint8_t own_iret[] = {
	/*  0 push %rbx */ 0x53,
	/*  1 mov %rsp,%rcx */ 0x48, 0x89, 0xe1,
	/*  4 lea 0x9(%rip),%rdx # 0x14 */ 0x48, 0x8d, 0x15, 0x09, 0x00, 0x00, 0x00,
	/*  b push $0x0 */ 0x6a, 0x00,
	/*  d push %rcx */ 0x51,
	/*  e pushf */ 0x9c,
	/*  f push $0x8 */ 0x6a, 0x08,
	/* 11 push %rdx */ 0x52,
	/* 12 iretq */ 0x48, 0xcf,
	/* 14 pop %rbx */ 0x5b,
	/* 15 ret */ 0xc3,
};

static const uint8_t tail[] = {
	/*  0 push %rbx */ 0x53,
	/*  1 pop %rbx */ 0x5b,
	/*  2 jmp 0x10 */ 0xeb, 0x0c,
	/* int3 */ 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
	/* 10 push %rbp */ 0x55,
	/* 11 pop %rbp */ 0x5d,
	/* 12 ret */ 0xc3,
};
/* clang-format on */

struct expected {
	uint8_t offset;
	uint8_t kind; /* enum xf_row_kind */
	uint8_t reg;  /* the base's register, or for an undefined row the reason */
	int16_t base;
	uint8_t rbp_rule;
	int16_t rbp_offset;
};

#define CALL(offset, base, rule, rbp)                                                              \
	{                                                                                          \
		offset, XF_ROW_CALL, XF_REG_RSP, base, rule, rbp                                   \
	}
#define INTERRUPT(offset, base, rule, rbp)                                                         \
	{                                                                                          \
		offset, XF_ROW_INTERRUPT, XF_REG_RSP, base, rule, rbp                              \
	}
#define UNDEFINED(offset, reason)                                                                  \
	{                                                                                          \
		offset, XF_ROW_UNDEFINED, XF_UNWIND_##reason, 0, 0, 0                              \
	}

static void check(const uint8_t *bytes, size_t size, const uint8_t *entries, size_t nr_entries,
                  const struct expected *expected, size_t count)
{
	struct xf_unwind_table *table = build(bytes, size, entries, nr_entries);

	for (size_t i = 0; i < count; i++) {
		const struct expected *want = &expected[i];
		struct xf_unwind_row row = xf_unwind_row_find(table, BASE + want->offset);

		if (row.kind != want->kind)
			fail_msg("at %#x: kind %u, reason %s", want->offset, row.kind,
			         xf_unwind_reason_name((enum xf_unwind_reason)row.reason));
		if (want->kind == XF_ROW_UNDEFINED) {
			assert_int_equal(row.reason, want->reg);
			continue;
		}
		if (row.base_register != want->reg || row.base_offset != want->base ||
		    row.rbp_rule != want->rbp_rule || row.rbp_offset != want->rbp_offset)
			fail_msg("at %#x: base %u%+d rbp %u%+d", want->offset, row.base_register,
			         row.base_offset, row.rbp_rule, row.rbp_offset);
	}
	xf_unwind_table_free(table);
}

#define CHECK(bytes, entries, expected)                                                            \
	check(bytes, sizeof(bytes), entries, sizeof(entries), expected,                            \
	      sizeof(expected) / sizeof((expected)[0]))

static void test_ordinary(void **state)
{
	static const uint8_t entries[] = {0, 0x20};
	static const struct expected expected[] = {
	        CALL(0x00, 8, XF_RBP_SAME, 0),
	        CALL(0x01, 16, XF_RBP_SAME, 0),
	        CALL(0x02, 24, XF_RBP_SAME, 0),
	        CALL(0x06, 48, XF_RBP_SAME, 0),
	        CALL(0x08, 48, XF_RBP_AT_BASE, -16),
	        CALL(0x11, 48, XF_RBP_AT_BASE, -16),
	        CALL(0x15, 24, XF_RBP_AT_BASE, -16),
	        CALL(0x16, 16, XF_RBP_AT_BASE, -16),
	        CALL(0x17, 8, XF_RBP_SAME, 0),
	        UNDEFINED(0x18, PADDING),
	        UNDEFINED(0x1f, PADDING),
	        CALL(0x20, 8, XF_RBP_SAME, 0),
	};

	(void)state;
	CHECK(ordinary, entries, expected);
}

static void test_frame_pointer(void **state)
{
	static const uint8_t entries[] = {0};
	static const struct expected expected[] = {
	        CALL(0x01, 16, XF_RBP_SAME, 0),
	        CALL(0x04, 16, XF_RBP_AT_BASE, -16),
	        {0x08, XF_ROW_CALL, XF_REG_RBP, 16, XF_RBP_AT_BASE, -16},
	        {0x0b, XF_ROW_CALL, XF_REG_RBP, 16, XF_RBP_AT_BASE, -16},
	        {0x0f, XF_ROW_CALL, XF_REG_RBP, 16, XF_RBP_AT_BASE, -16},
	        CALL(0x10, 8, XF_RBP_SAME, 0),
	};

	(void)state;
	CHECK(frame_pointer, entries, expected);
}

static void test_realigned(void **state)
{
	static const uint8_t entries[] = {0};
	static const struct expected expected[] = {
	        CALL(0x05, 8, XF_RBP_SAME, 0),
	        {0x09, XF_ROW_CALL, XF_REG_R10, 0, XF_RBP_SAME, 0},
	        {0x17, XF_ROW_CALL, XF_REG_RSP, 32, XF_RBP_AT_RSP, 40},
	        {0x19, XF_ROW_CALL, XF_REG_RSP, 32, XF_RBP_AT_RSP, 40},
	        {0x1e, XF_ROW_CALL, XF_REG_R10, 0, XF_RBP_SAME, 0},
	        CALL(0x22, 8, XF_RBP_SAME, 0),
	};
	struct xf_unwind_table *table = build(realigned, sizeof(realigned), entries, 1);
	struct xf_unwind_row row = xf_unwind_row_find(table, BASE + 0x17);

	(void)state;
	assert_int_equal(row.base_rule, XF_BASE_WORD);
	assert_int_equal(row.base_addend, 0);
	xf_unwind_table_free(table);
	CHECK(realigned, entries, expected);
}

static void test_retpoline(void **state)
{
	static const uint8_t entries[] = {0};
	static const struct expected expected[] = {
	        CALL(0x00, 8, XF_RBP_SAME, 0),
	        UNDEFINED(0x05, PADDING),
	        CALL(0x06, 16, XF_RBP_SAME, 0),
	        CALL(0x0a, 16, XF_RBP_SAME, 0),
	};

	(void)state;
	CHECK(retpoline, entries, expected);
}

/* The call at 0xb does not come back, so that what follows it is another function. */
static void test_noreturn(void **state)
{
	static const uint8_t entries[] = {0, 0x10, 0x20};
	static const struct expected expected[] = {
	        CALL(0x0b, 24, XF_RBP_SAME, 0), CALL(0x10, 8, XF_RBP_SAME, 0),
	        CALL(0x12, 24, XF_RBP_SAME, 0), CALL(0x14, 8, XF_RBP_SAME, 0),
	        CALL(0x21, 16, XF_RBP_SAME, 0), CALL(0x23, 16, XF_RBP_SAME, 0),
	};

	(void)state;
	CHECK(noreturn, entries, expected);
}

static void test_interrupt(void **state)
{
	/* The first entry pushes an error code of its own; the second one found it there. */
	static const uint8_t entries[] = {0, 0x11, 0x40};
	static const struct expected expected[] = {
	        INTERRUPT(0x00, 0, XF_RBP_SAME, 0),
	        INTERRUPT(0x02, 8, XF_RBP_SAME, 0),
	        INTERRUPT(0x11, 8, XF_RBP_SAME, 0),
	        INTERRUPT(0x1a, 128, XF_RBP_SAME, 0),
	        INTERRUPT(0x1f, 128, XF_RBP_SAME, 0),
	        INTERRUPT(0x21, 128, XF_RBP_AT_BASE, -96),
	        INTERRUPT(0x24, 128, XF_RBP_AT_BASE, -96),
	        INTERRUPT(0x29, 128, XF_RBP_AT_BASE, -96),
	        INTERRUPT(0x2e, 128, XF_RBP_SAME, 0),
	        INTERRUPT(0x32, 0, XF_RBP_SAME, 0),
	        CALL(0x40, 8, XF_RBP_SAME, 0),
	};

	(void)state;
	CHECK(interrupt, entries, expected);
}

static void test_called_on_frame(void **state)
{
	/* As continue_pv_domain in Xen, which a function calls that has put RSP to the guest's
	 * frame. */
	static const uint8_t entries[] = {0, 0x20};
	static const struct expected expected[] = {
	        CALL(0x00, 8, XF_RBP_UNKNOWN, 0),
	        CALL(0x01, 8, XF_RBP_UNKNOWN, 0),
	        INTERRUPT(0x05, 128, XF_RBP_AT_BASE, -96),
	        INTERRUPT(0x0a, 128, XF_RBP_AT_BASE, -96),
	        INTERRUPT(0x0f, 128, XF_RBP_SAME, 0),
	        INTERRUPT(0x13, 0, XF_RBP_SAME, 0),
	        CALL(0x20, 8, XF_RBP_SAME, 0),
	};

	(void)state;
	CHECK(called_on_frame, entries, expected);
}

static void test_error_code(void **state)
{
	static const uint8_t entries[] = {0};
	static const struct expected expected[] = {
	        INTERRUPT(0x00, 8, XF_RBP_SAME, 0),
	        INTERRUPT(0x01, 8, XF_RBP_SAME, 0),
	        INTERRUPT(0x05, 0, XF_RBP_SAME, 0),
	};

	(void)state;
	CHECK(error_code, entries, expected);
}

/* A call of an imported function, then filler: what follows leads to a return with nothing on the
 * stack, so it is the next function. */
static void test_never_back(void **state)
{
	static const uint8_t entries[] = {0};
	static const struct expected expected[] = {
	        CALL(0x05, 16, XF_RBP_SAME, 0), CALL(0x07, 16, XF_RBP_SAME, 0),
	        CALL(0x10, 8, XF_RBP_SAME, 0),  CALL(0x11, 16, XF_RBP_SAME, 0),
	        CALL(0x14, 8, XF_RBP_SAME, 0),  CALL(0x30, 8, XF_RBP_SAME, 0),
	};

	(void)state;
	CHECK(never_back, entries, expected);
}

/* Nor is the caller's state carried over from a call out of the code into the next function; from
 * one in the middle of a function it is. */
static void test_never_back_from_outside(void **state)
{
	static const uint8_t entries[] = {0, 0x10};
	static const struct expected expected[] = {
	        CALL(0x05, 16, XF_RBP_SAME, 0), CALL(0x07, 16, XF_RBP_SAME, 0),
	        CALL(0x10, 8, XF_RBP_SAME, 0),  CALL(0x11, 16, XF_RBP_SAME, 0),
	        CALL(0x12, 24, XF_RBP_SAME, 0), CALL(0x17, 24, XF_RBP_SAME, 0),
	        CALL(0x19, 8, XF_RBP_SAME, 0),
	};

	(void)state;
	CHECK(never_back_from_outside, entries, expected);
}

/* The same, but what follows is an aligned loop, which leads to a return by three pops. */
static void test_comes_back(void **state)
{
	static const uint8_t entries[] = {0};
	static const struct expected expected[] = {
	        CALL(0x04, 32, XF_RBP_SAME, 0),
	        CALL(0x0a, 32, XF_RBP_SAME, 0),
	        CALL(0x10, 32, XF_RBP_SAME, 0),
	        CALL(0x18, 8, XF_RBP_SAME, 0),
	};

	(void)state;
	CHECK(comes_back, entries, expected);
}

static void test_disagreement(void **state)
{
	static const uint8_t entries[] = {0};
	static const struct expected expected[] = {
	        CALL(0x04, 8, XF_RBP_SAME, 0),
	        UNDEFINED(0x05, DISAGREEMENT),
	        UNDEFINED(0x08, DISAGREEMENT),
	};

	(void)state;
	CHECK(disagreement, entries, expected);
}

static void test_switch_stack(void **state)
{
	static const uint8_t entries[] = {0, 0x20};
	static const struct expected expected[] = {
	        CALL(0x10, 16, XF_RBP_SAME, 0),
	        UNDEFINED(0x13, STACK_SWITCHED),
	        CALL(0x20, 8, XF_RBP_SAME, 0),
	        CALL(0x21, 16, XF_RBP_SAME, 0),
	};

	(void)state;
	CHECK(switch_stack, entries, expected);
}

static void test_cold(void **state)
{
	static const uint8_t entries[] = {0, 0x10};
	static const struct expected expected[] = {
	        CALL(0x09, 32, XF_RBP_SAME, 0),
	        CALL(0x10, 32, XF_RBP_SAME, 0),
	        CALL(0x15, 32, XF_RBP_SAME, 0),
	};

	(void)state;
	CHECK(cold, entries, expected);
}

static void test_fixup(void **state)
{
	static const uint8_t entries[] = {0, 0x10};
	static const struct expected expected[] = {
	        CALL(0x01, 16, XF_RBP_SAME, 0),
	        CALL(0x11, 16, XF_RBP_SAME, 0),
	        CALL(0x16, 16, XF_RBP_SAME, 0),
	};

	(void)state;
	CHECK(fixup, entries, expected);
}

static void test_warn(void **state)
{
	static const uint8_t entries[] = {0};
	static const struct expected expected[] = {
	        CALL(0x07, 16, XF_RBP_SAME, 0),
	        CALL(0x09, 16, XF_RBP_SAME, 0),
	        CALL(0x0c, 8, XF_RBP_SAME, 0),
	};

	(void)state;
	CHECK(warn, entries, expected);
}

static void test_own_iret(void **state)
{
	static const uint8_t entries[] = {0};
	static const struct expected expected[] = {
	        CALL(0x12, 56, XF_RBP_SAME, 0),
	        CALL(0x14, 16, XF_RBP_SAME, 0),
	        CALL(0x15, 8, XF_RBP_SAME, 0),
	};

	(void)state;
	CHECK(own_iret, entries, expected);
}

static void test_tail(void **state)
{
	static const uint8_t entries[] = {0, 0x10};
	static const struct expected expected[] = {
	        CALL(0x02, 8, XF_RBP_SAME, 0),
	        CALL(0x10, 8, XF_RBP_SAME, 0),
	        CALL(0x11, 16, XF_RBP_SAME, 0),
	};

	(void)state;
	CHECK(tail, entries, expected);
}

static void test_accessors(void **state)
{
	struct xf_unwind_table *table = build(ordinary, sizeof(ordinary), (const uint8_t[]){0}, 1);
	struct xf_unwind_table_size size = xf_unwind_table_measure(table);
	struct xf_coverage coverage;
	int32_t offset;

	(void)state;
	assert_int_equal(xf_unwind_rsp_offset(table, BASE + 6, &offset), 0);
	assert_int_equal(offset, 48);
	assert_int_equal(xf_unwind_rsp_offset(table, BASE + 0x18, &offset), -2);
	assert_int_equal(xf_unwind_row_find(table, BASE - 1).reason, XF_UNWIND_NO_ROW);
	assert_int_equal(xf_unwind_row_find(table, BASE + sizeof(ordinary)).reason,
	                 XF_UNWIND_NO_ROW);
	assert_int_equal(size.code_bytes, sizeof(ordinary));
	xf_coverage_count(table, &coverage);
	assert_int_equal(coverage.call, 0x19);
	assert_int_equal(coverage.undefined[XF_UNWIND_PADDING], 8);
	xf_unwind_table_free(table);
	xf_unwind_table_free(NULL);
}

static void test_no_code(void **state)
{
	/* 0: jmp 5; 2: 06 is no instruction; 3: nothing leads here; 5: sub %rax,%rsp; ret */
	static const uint8_t bytes[] = {0xeb, 0x03, 0x06, 0x31, 0xc0, 0x48, 0x29, 0xc4, 0xc3};
	static const uint8_t entries[] = {0};
	static const struct expected expected[] = {
	        CALL(0x00, 8, XF_RBP_SAME, 0),
	        UNDEFINED(0x02, NOT_CODE),
	        UNDEFINED(0x08, STACK_UNKNOWN),
	};
	/* An orphan that returns by itself, unaligned. */
	static const uint8_t orphan[] = {0xc3, 0x31, 0xc0, 0xc3};
	static const struct expected unreached[] = {UNDEFINED(0x01, UNREACHED)};

	(void)state;
	CHECK(bytes, entries, expected);
	CHECK(orphan, entries, unreached);
}

/* Numbers are for ever, so none may be used twice. */
static void test_reasons(void **state)
{
	static const int numbers[] = {
#define XF_UNWIND_REASON(id, name, number, sentence) number,
#include "unwind/reasons.def"
#undef XF_UNWIND_REASON
	};
	const size_t count = sizeof(numbers) / sizeof(numbers[0]);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		const char *name = xf_unwind_reason_name((enum xf_unwind_reason)numbers[i]);

		assert_in_range(numbers[i], 0, 255);
		for (size_t j = 0; j < i; j++) {
			assert_int_not_equal(numbers[i], numbers[j]);
			assert_string_not_equal(
			        name, xf_unwind_reason_name((enum xf_unwind_reason)numbers[j]));
		}
	}
	assert_string_equal(xf_unwind_reason_name((enum xf_unwind_reason)255), "unknown-reason");
	assert_non_null(xf_unwind_reason_sentence((enum xf_unwind_reason)255));
}

/* The text is for people; here it must only be there, and the same twice. */
static void test_explain(void **state)
{
	const struct xf_code text = {BASE, realigned, sizeof(realigned)};
	const uint64_t entry = BASE;
	char *first = NULL, *second = NULL;
	size_t size;

	(void)state;
	for (char **to = &first; to != NULL; to = to == &first ? &second : NULL) {
		FILE *out = open_memstream(to, &size);
		struct xf_unwind_table *table =
		        build(realigned, sizeof(realigned), (const uint8_t[]){0}, 1);

		assert_non_null(out);
		xf_coverage_print(table, out);
		assert_int_equal(xf_unwind_explain(&text, &entry, 1, BASE, BASE + 100, out, NULL),
		                 0);
		fclose(out);
		xf_unwind_table_free(table);
	}
	assert_string_equal(first, second);
	assert_non_null(strstr(first, "base=[rsp+32]+0"));
	assert_non_null(strstr(first, "called functions"));
	free(first);
	free(second);
}

static void test_invalid(void **state)
{
	const struct xf_code nothing = {BASE, NULL, 0};
	const struct xf_code wraps = {UINT64_MAX - 1, ordinary, sizeof(ordinary)};
	struct xf_unwind_table *table;
	struct xf_error error;

	(void)state;
	assert_int_equal(xf_unwind_table_build(&nothing, NULL, 0, &table, &error), -22);
	assert_null(table);
	assert_int_equal(xf_unwind_table_build(&wraps, NULL, 0, &table, &error), -22);
	assert_true(error.text[0] != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_ordinary),
	        cmocka_unit_test(test_frame_pointer),
	        cmocka_unit_test(test_realigned),
	        cmocka_unit_test(test_retpoline),
	        cmocka_unit_test(test_noreturn),
	        cmocka_unit_test(test_interrupt),
	        cmocka_unit_test(test_disagreement),
	        cmocka_unit_test(test_switch_stack),
	        cmocka_unit_test(test_cold),
	        cmocka_unit_test(test_fixup),
	        cmocka_unit_test(test_warn),
	        cmocka_unit_test(test_own_iret),
	        cmocka_unit_test(test_tail),
	        cmocka_unit_test(test_accessors),
	        cmocka_unit_test(test_invalid),
	        cmocka_unit_test(test_no_code),
	        cmocka_unit_test(test_reasons),
	        cmocka_unit_test(test_explain),
	        cmocka_unit_test(test_called_on_frame),
	        cmocka_unit_test(test_error_code),
	        cmocka_unit_test(test_never_back),
	        cmocka_unit_test(test_never_back_from_outside),
	        cmocka_unit_test(test_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
