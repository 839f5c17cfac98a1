// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes to operations, and operations to states: a table of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/transfer.h"

#define RSP    XF_REG_RSP
#define RBP    XF_REG_RBP
#define NONE   XF_REG_NONE
#define K(reg) (1u << (reg))

struct decoding {
	const char *text;
	const char *bytes;
	uint8_t length;
	uint8_t flow;
	uint16_t kills;
	uint8_t nr_ops;
	struct xf_op ops[XF_MAX_OPS];
	int64_t target;
};

#define ADJUST(reg, by)                                                                            \
	{                                                                                          \
		XF_OP_ADJUST, reg, NONE, 0, by                                                     \
	}
#define COPY(to, from, by)                                                                         \
	{                                                                                          \
		XF_OP_COPY, to, from, 0, by                                                        \
	}
#define STORE(base, by, from)                                                                      \
	{                                                                                          \
		XF_OP_STORE, base, from, 0, by                                                     \
	}
#define LOAD(to, base, by)                                                                         \
	{                                                                                          \
		XF_OP_LOAD, to, base, 0, by                                                        \
	}

/* clang-format off */
static const struct decoding decodings[] = {
	{"push %rbp", "\x55", 1, XF_FLOW_NEXT, 0, 2, {STORE(RSP, -8, RBP), ADJUST(RSP, -8)}},
	{"push %r15", "\x41\x57", 2, XF_FLOW_NEXT, 0, 2, {STORE(RSP, -8, 15), ADJUST(RSP, -8)}},
	{"push $0", "\x6a\x00", 2, XF_FLOW_NEXT, 0, 2, {STORE(RSP, -8, NONE), ADJUST(RSP, -8)}},
	{"push $imm32", "\x68\x08\xe0\x00\x00", 5, XF_FLOW_NEXT, 0, 2,
	 {STORE(RSP, -8, NONE), ADJUST(RSP, -8)}},
	{"pushw %ax", "\x66\x50", 2, XF_FLOW_NEXT, 0, 2, {STORE(RSP, -2, NONE), ADJUST(RSP, -2)}},
	{"push -8(%r10)", "\x41\xff\x72\xf8", 4, XF_FLOW_NEXT, 0, 2,
	 {STORE(RSP, -8, NONE), ADJUST(RSP, -8)}},
	{"pushf", "\x9c", 1, XF_FLOW_NEXT, 0, 2, {STORE(RSP, -8, NONE), ADJUST(RSP, -8)}},
	{"pop %rbp", "\x5d", 1, XF_FLOW_NEXT, 0, 2, {LOAD(RBP, RSP, 0), ADJUST(RSP, 8)}},
	{"pop %rsp", "\x5c", 1, XF_FLOW_NEXT, 0, 1, {LOAD(RSP, RSP, 0)}},
	{"popf", "\x9d", 1, XF_FLOW_NEXT, 0, 1, {ADJUST(RSP, 8)}},
	{"pop 0x70(%rdi)", "\x8f\x47\x70", 3, XF_FLOW_NEXT, 0, 1, {ADJUST(RSP, 8)}},
	{"pop 8(%rsp)", "\x8f\x44\x24\x08", 4, XF_FLOW_NEXT, 0, 2,
	 {ADJUST(RSP, 8), STORE(RSP, 8, NONE)}},
	{"sub $0x18,%rsp", "\x48\x83\xec\x18", 4, XF_FLOW_NEXT, 0, 1, {ADJUST(RSP, -24)}},
	{"sub $-0x80,%rsp", "\x48\x83\xec\x80", 4, XF_FLOW_NEXT, 0, 1, {ADJUST(RSP, 128)}},
	{"add $0x1000,%rsp", "\x48\x81\xc4\x00\x10\x00\x00", 7, XF_FLOW_NEXT, 0, 1,
	 {ADJUST(RSP, 4096)}},
	{"sub %rax,%rsp", "\x48\x29\xc4", 3, XF_FLOW_NEXT, K(4), 0, {{0}}},
	{"and $-32,%rsp", "\x48\x83\xe4\xe0", 4, XF_FLOW_NEXT, 0, 1,
	 {{XF_OP_ALIGN, RSP, NONE, 0, -32}}},
	{"and $-31,%rsp", "\x48\x83\xe4\xe1", 4, XF_FLOW_NEXT, K(4), 0, {{0}}},
	{"mov %rsp,%rbp", "\x48\x89\xe5", 3, XF_FLOW_NEXT, 0, 1, {COPY(RBP, RSP, 0)}},
	{"mov %esp,%ebp", "\x89\xe5", 2, XF_FLOW_NEXT, K(5), 0, {{0}}},
	{"lea 8(%rsp),%r10", "\x4c\x8d\x54\x24\x08", 5, XF_FLOW_NEXT, 0, 1, {COPY(10, RSP, 8)}},
	{"lea (%rsp,%rax),%rcx", "\x48\x8d\x0c\x04", 4, XF_FLOW_NEXT, K(1), 0, {{0}}},
	{"lea 9(%rip),%rdx", "\x48\x8d\x15\x09\x00\x00\x00", 7, XF_FLOW_NEXT, K(2), 0, {{0}}},
	{"mov %rbp,0x20(%rsp)", "\x48\x89\x6c\x24\x20", 5, XF_FLOW_NEXT, 0, 1,
	 {STORE(RSP, 32, RBP)}},
	{"mov 0x20(%rsp),%rbp", "\x48\x8b\x6c\x24\x20", 5, XF_FLOW_NEXT, 0, 1,
	 {LOAD(RBP, RSP, 32)}},
	{"mov %rax,%gs:(%rsp)", "\x65\x48\x89\x04\x24", 5, XF_FLOW_NEXT, 0, 0, {{0}}},
	{"movb $2,4(%rsp)", "\xc6\x44\x24\x04\x02", 5, XF_FLOW_NEXT, 0, 1, {STORE(RSP, 4, NONE)}},
	{"addq $2,(%rsp)", "\x48\x83\x04\x24\x02", 5, XF_FLOW_NEXT, 0, 1, {STORE(RSP, 0, NONE)}},
	{"xchg %rax,%rsp", "\x48\x94", 2, XF_FLOW_NEXT, 0, 1,
	 {{XF_OP_EXCHANGE, RSP, 0, 0, 0}}},
	{"leave", "\xc9", 1, XF_FLOW_NEXT, 0, 3,
	 {COPY(RSP, RBP, 0), LOAD(RBP, RSP, 0), ADJUST(RSP, 8)}},
	{"enter $16,$0", "\xc8\x10\x00\x00", 4, XF_FLOW_NEXT, 0, 4,
	 {STORE(RSP, -8, RBP), ADJUST(RSP, -8), COPY(RBP, RSP, 0), ADJUST(RSP, -16)}},
	{"xor %ebp,%ebp", "\x31\xed", 2, XF_FLOW_NEXT, K(5), 0, {{0}}},
	{"cpuid", "\x0f\xa2", 2, XF_FLOW_NEXT, K(0) | K(1) | K(2) | K(3), 0, {{0}}},
	{"rep movsq", "\xf3\x48\xa5", 3, XF_FLOW_NEXT, K(1) | K(6) | K(7), 0, {{0}}},
	{"mov %ah,%bl: part of rbx", "\x88\xe3", 2, XF_FLOW_NEXT, K(3), 0, {{0}}},
	{"cmp %rsp,%rax", "\x48\x39\xe0", 3, XF_FLOW_NEXT, 0, 0, {{0}}},
	{"ret", "\xc3", 1, XF_FLOW_RETURN, 0, 0, {{0}}, 0},
	{"iretq", "\x48\xcf", 2, XF_FLOW_INTERRUPT_RETURN, 0, 0, {{0}}, 0},
	{"sysretq", "\x48\x0f\x07", 3, XF_FLOW_STOP, 0, 0, {{0}}, 0},
	{"int3", "\xcc", 1, XF_FLOW_STOP, 0, 0, {{0}}, 0},
	{"ud2", "\x0f\x0b", 2, XF_FLOW_TRAP, 0, 0, {{0}}, 0},
	{"call +16", "\xe8\x0b\x00\x00\x00", 5, XF_FLOW_CALL, 0, 0, {{0}}, 16},
	{"call *%rax", "\xff\xd0", 2, XF_FLOW_CALL_INDIRECT, 0, 0, {{0}}, 0},
	{"jmp -2", "\xeb\xfc", 2, XF_FLOW_JUMP, 0, 0, {{0}}, -2},
	{"jmp *%rax", "\xff\xe0", 2, XF_FLOW_JUMP_INDIRECT, 0, 0, {{0}}, 0},
	{"je +4", "\x74\x02", 2, XF_FLOW_BRANCH, 0, 0, {{0}}, 4},
	{"jrcxz +4", "\xe3\x02", 2, XF_FLOW_BRANCH, 0, 0, {{0}}, 4},
	{"no instruction", "\x06", 1, XF_FLOW_BAD, 0, 0, {{0}}, 0},
	{"cut short", "\xe8", 1, XF_FLOW_BAD, 0, 0, {{0}}, 0},
};
/* clang-format on */

static void check_decoded(const struct xf_decoded *got, const struct decoding *want)
{
	if (got->length != want->length || got->flow != want->flow || got->kills != want->kills ||
	    got->nr_ops != want->nr_ops || got->target != want->target)
		fail_msg("%s: length %u flow %u kills %#x ops %u target %lld", want->text,
		         got->length, got->flow, got->kills, got->nr_ops, (long long)got->target);
	for (unsigned int i = 0; i < got->nr_ops; i++)
		if (memcmp(&got->ops[i], &want->ops[i], sizeof(got->ops[i])) != 0)
			fail_msg("%s: operation %u is kind %u dst %u src %u value %d", want->text,
			         i, got->ops[i].kind, got->ops[i].dst, got->ops[i].src,
			         got->ops[i].value);
}

/* At the end of the code, and with more code behind it, which the table needs. */
static void check_decoding(const struct xf_decoder *decoder, const struct decoding *want)
{
	size_t size = want->flow == XF_FLOW_BAD ? 1 : want->length;
	uint8_t bytes[64] = {0};
	struct xf_decoded got;

	memcpy(bytes, want->bytes, size);
	xf_insn_decode(decoder, bytes, size, &got);
	check_decoded(&got, want);
	if (want->flow == XF_FLOW_BAD)
		return;
	xf_insn_decode(decoder, bytes, sizeof(bytes), &got);
	check_decoded(&got, want);
}

static void test_decode(void **state)
{
	struct xf_decoder decoder;

	(void)state;
	xf_decoder_start(&decoder);
	for (size_t i = 0; i < sizeof(decodings) / sizeof(decodings[0]); i++)
		check_decoding(&decoder, &decodings[i]);
}

static void compare(const struct xf_decoder *decoder, const uint8_t *bytes, size_t size)
{
	struct xf_decoded ours, zydis;

	xf_insn_decode(decoder, bytes, size, &ours);
	xf_insn_decode_by_zydis(decoder, bytes, size, &zydis);
	if (ours.length == zydis.length && ours.flow == zydis.flow && ours.kills == zydis.kills &&
	    ours.padding == zydis.padding && ours.target == zydis.target &&
	    ours.nr_ops == zydis.nr_ops &&
	    memcmp(ours.ops, zydis.ops, ours.nr_ops * sizeof(ours.ops[0])) == 0)
		return;
	fail_msg("%02x %02x %02x %02x %02x %02x: length %u, by Zydis %u; flow %u, %u; "
	         "kills %#x, %#x; operations %u, %u",
	         bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], ours.length,
	         zydis.length, ours.flow, zydis.flow, ours.kills, zydis.kills, ours.nr_ops,
	         zydis.nr_ops);
}

/* Every ModRM behind every opcode behind these prefixes, with a SIB that names RSP alone, one that
 * names no base and one with an index. */
static void test_table_against_zydis(void **state)
{
	static const char *const prefixes[] = {
	        "",     "\x66", "\x40",     "\x41", "\x42",     "\x44",     "\x48", "\x49",
	        "\x4d", "\x4f", "\x66\x41", "\xf3", "\x66\x48", "\x66\x4f", "\x65", "\xf0"};
	static const uint8_t sibs[] = {0x24, 0x65, 0x98};
	struct xf_decoder decoder;
	uint8_t bytes[40];

	(void)state;
	xf_decoder_start(&decoder);
	for (unsigned int i = 0; i < 3u * 16 * 512 * 256; i++) {
		const char *prefix = prefixes[i / (512 * 256) % 16];
		size_t at = strlen(prefix);

		memset(bytes, i % 8 < 4 ? 0xe0 : 0x15, sizeof(bytes));
		memcpy(bytes, prefix, at);
		if (i / 256 % 2 != 0)
			bytes[at++] = 0x0f;
		bytes[at++] = i / 512 % 256;
		bytes[at++] = i % 256;
		bytes[at] = sibs[i / (16 * 512 * 256)];
		compare(&decoder, bytes, sizeof(bytes));
	}
}

/* At the end of the code, where there is less than the longest instruction has bytes. */
static void test_cut_short(void **state)
{
	static const uint8_t bytes[] = {0x48, 0xc7, 0x84, 0x24, 1, 2, 3, 4, 5, 6, 7, 8};
	struct xf_decoder decoder;

	(void)state;
	xf_decoder_start(&decoder);
	for (size_t size = 1; size <= sizeof(bytes); size++) {
		uint8_t *end = malloc(size);

		assert_non_null(end);
		memcpy(end, bytes, size);
		compare(&decoder, end, size);
		free(end);
	}
}

static xf_value frame(int32_t offset)
{
	return xf_value_make(XF_ORIGIN_FRAME, offset);
}

/* Applies the instructions in @bytes to @state. */
static void run(struct xf_state *state, const char *bytes, size_t size)
{
	struct xf_decoder decoder;
	struct xf_decoded decoded;

	xf_decoder_start(&decoder);
	for (size_t at = 0; at < size; at += decoded.length) {
		xf_insn_decode(&decoder, (const uint8_t *)bytes + at, size - at, &decoded);
		assert_int_not_equal(decoded.flow, XF_FLOW_BAD);
		xf_state_step(state, decoded.kills, decoded.ops, decoded.nr_ops, at + 1);
	}
}

#define RUN(state, bytes) run(state, bytes, sizeof(bytes) - 1)

static void test_saved_rbp(void **unused)
{
	struct xf_state state = xf_state_called();

	(void)unused;
	RUN(&state, "\x55\x31\xed"); /* push %rbp; xor %ebp,%ebp */
	assert_int_equal(state.reg[RSP], frame(-16));
	assert_int_equal(state.rbp_slot, frame(-16));
	assert_int_equal(xf_state_row(&state).rbp_rule, XF_RBP_AT_BASE);
	RUN(&state, "\xc7\x04\x24\x00\x00\x00\x00"); /* movl $0,(%rsp): the saved word is gone */
	assert_int_equal(state.rbp_slot, XF_VALUE_UNKNOWN);
	assert_int_equal(xf_state_row(&state).rbp_rule, XF_RBP_UNKNOWN);
	RUN(&state, "\x5d"); /* pop %rbp */
	assert_int_equal(state.reg[RBP], XF_VALUE_UNKNOWN);
	assert_int_equal(state.reg[RSP], frame(-8));
}

static void test_copies(void **unused)
{
	struct xf_state state = xf_state_called();

	(void)unused;
	RUN(&state, "\x48\x89\xe0\x48\x83\xec\x20\x48\x89\xc4"); /* mov rsp,rax; sub; mov rax,rsp */
	assert_int_equal(state.reg[RSP], frame(-8));
	assert_int_equal(state.reg[XF_REG_RAX], frame(-8));
	xf_state_after_call(&state);
	assert_int_equal(state.reg[XF_REG_RAX], XF_VALUE_UNKNOWN);
	RUN(&state, "\x48\x94"); /* xchg %rax,%rsp */
	assert_int_equal(state.reg[XF_REG_RAX], frame(-8));
	assert_int_equal(xf_state_row(&state).base_register, XF_REG_RAX);
	RUN(&state, "\x31\xc0"); /* xor %eax,%eax */
	assert_int_equal(xf_state_row(&state).kind, XF_ROW_UNDEFINED);
	assert_int_equal(xf_state_row(&state).reason, XF_UNWIND_STACK_SWITCHED);
}

static void test_merge(void **unused)
{
	struct xf_state state = {0}, other = xf_state_called();

	(void)unused;
	assert_true(xf_state_merge(&state, &other));
	assert_false(xf_state_merge(&state, &other));
	RUN(&other, "\x53"); /* push %rbx */
	assert_true(xf_state_merge(&state, &other));
	assert_false(xf_state_merge(&state, &other));
	assert_int_equal(state.reg[RSP], XF_VALUE_UNKNOWN);
	assert_int_equal(xf_state_row(&state).reason, XF_UNWIND_DISAGREEMENT);
	other = xf_state_interrupted(8, XF_VALUE_CALLER_RBP);
	assert_true(xf_state_merge(&state, &other));
	assert_int_equal(state.kind, XF_STATE_CONFLICT);
	assert_false(xf_state_merge(&state, &other));
}

static void test_alignment(void **unused)
{
	struct xf_state state = xf_state_called(), other;

	(void)unused;
	RUN(&state, "\x4c\x8d\x54\x24\x08\x48\x83\xe4\xe0"); /* lea 8(%rsp),%r10; and $-32,%rsp */
	other = state;
	RUN(&state, "\x41\x52\x45\x31\xd2"); /* push %r10; xor %r10d,%r10d */
	assert_int_equal(xf_state_row(&state).base_rule, XF_BASE_WORD);
	assert_int_equal(xf_state_row(&state).base_register, RSP);
	/* Aligned in another place: measured from something else. */
	other.align_site = 99;
	assert_true(xf_state_merge(&state, &other));
	assert_int_equal(xf_state_row(&state).kind, XF_ROW_UNDEFINED);
}

static void test_limits(void **unused)
{
	(void)unused;
	assert_int_equal(xf_value_make(XF_ORIGIN_FRAME, 1ll << 40), XF_VALUE_UNKNOWN);
	assert_int_equal(xf_value_add(frame(XF_VALUE_LIMIT - 8), 8), XF_VALUE_UNKNOWN);
	assert_int_equal(xf_value_offset(frame(-XF_VALUE_LIMIT + 1)), -XF_VALUE_LIMIT + 1);
	assert_int_equal(xf_value_add(XF_VALUE_UNKNOWN, 8), XF_VALUE_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_decode),
	        cmocka_unit_test(test_saved_rbp),
	        cmocka_unit_test(test_copies),
	        cmocka_unit_test(test_merge),
	        cmocka_unit_test(test_alignment),
	        cmocka_unit_test(test_limits),
	        cmocka_unit_test(test_table_against_zydis),
	        cmocka_unit_test(test_cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
