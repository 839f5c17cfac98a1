// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sections of call frame information, written byte by byte: which entries are taken, for which
 * addresses, and where their rules hold; and expressions in rules. What a stranger may write is
 * here as well.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dwarf.h>
#include <string.h>

#include "unwind/call_frames.h"
#include "unwind/expression.h"

#define SECTION 0x402000ull
#define CODE    0x401000ull

#define RBP 6
#define RSP 7
#define RIP 16

/* A section in the making. */
struct made {
	uint8_t bytes[4096];
	size_t size;
	bool is_eh_frame;
	struct xf_call_frames frames;
};

static void put(struct made *made, const void *bytes, size_t size)
{
	assert_true(made->size + size <= sizeof(made->bytes));
	memcpy(made->bytes + made->size, bytes, size);
	made->size += size;
}

static void put_u32(struct made *made, uint32_t value)
{
	put(made, &value, sizeof(value));
}

static void put_u64(struct made *made, uint64_t value)
{
	put(made, &value, sizeof(value));
}

#define PUT(made, ...) put(made, (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

/* Begins an entry whose length end_entry writes. Return: where it begins. */
static size_t begin_entry(struct made *made, uint32_t id)
{
	size_t at = made->size;

	put_u32(made, 0);
	put_u32(made, id);
	return at;
}

static void end_entry(struct made *made, size_t at)
{
	uint32_t length = (uint32_t)(made->size - at - 4);

	memcpy(made->bytes + at, &length, sizeof(length));
}

static uint32_t common_id(const struct made *made)
{
	return made->is_eh_frame ? 0 : UINT32_MAX;
}

/* Version 1, this augmentation, code 1, data -8, RIP. */
static size_t begin_common(struct made *made, const char *augmentation)
{
	size_t at = begin_entry(made, common_id(made));

	PUT(made, 1);
	put(made, augmentation, strlen(augmentation) + 1);
	PUT(made, 1, 0x78, RIP);
	return at;
}

static const uint8_t usual_rules[] = {DW_CFA_def_cfa, RSP, 8, DW_CFA_offset | RIP, 1};

static size_t put_usual_common(struct made *made)
{
	size_t at = begin_common(made, "");

	put(made, usual_rules, sizeof(usual_rules));
	end_entry(made, at);
	return at;
}

/* A function of the CIE at @common, with absolute addresses. */
static void put_function(struct made *made, size_t common, uint64_t start, uint64_t bytes,
                         const uint8_t *rules, size_t size)
{
	size_t at = made->size;
	uint32_t id = (uint32_t)(made->is_eh_frame ? at + 4 - common : common);

	begin_entry(made, id);
	put_u64(made, start);
	put_u64(made, bytes);
	if (size != 0)
		put(made, rules, size);
	end_entry(made, at);
}

static void finish(struct made *made)
{
	const struct xf_elf_section section = {made->bytes, made->size, SECTION};

	assert_int_equal(xf_call_frames_read(&section, made->is_eh_frame, &made->frames), 0);
}

static void expect_function(const struct made *made, uint64_t address, uint64_t start, uint64_t end)
{
	const struct xf_function_frame *found = xf_call_frames_find(&made->frames, address);

	assert_non_null(found);
	assert_int_equal(found->start, start);
	assert_int_equal(found->end, end);
}

static void expect_none(const struct made *made, uint64_t address)
{
	assert_null(xf_call_frames_find(&made->frames, address));
}

/* ---- Entries --------------------------------------------------------------------------------- */

/* As compilers write .eh_frame: addresses from where they stand, data about exceptions between. */
static void test_addresses_of_eh_frame_count_from_where_they_stand(void **state)
{
	struct made made = {.is_eh_frame = true};
	size_t common, at;

	(void)state;
	put_u32(&made, 0); /* an end that is none */
	common = begin_common(&made, "zPLR");
	PUT(&made, 7, DW_EH_PE_pcrel | DW_EH_PE_sdata4, 1, 2, 3, 4, DW_EH_PE_udata4,
	    DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	put(&made, usual_rules, sizeof(usual_rules));
	end_entry(&made, common);
	at = begin_entry(&made, (uint32_t)(made.size + 4 - common));
	put_u32(&made, (uint32_t)(CODE - (SECTION + made.size)));
	put_u32(&made, 64);
	PUT(&made, 4, 1, 2, 3, 4); /* about exceptions */
	PUT(&made, DW_CFA_advance_loc | 5, DW_CFA_def_cfa_offset, 16);
	end_entry(&made, at);
	finish(&made);
	assert_int_equal(made.frames.nr_functions, 1);
	expect_function(&made, CODE, CODE, CODE + 64);
	expect_function(&made, CODE + 63, CODE, CODE + 64);
	expect_none(&made, CODE + 64);
	expect_none(&made, CODE - 1);
	xf_call_frames_free(&made.frames);
}

static void test_each_function_holds_until_the_next_one_begins(void **state)
{
	struct made made = {0};
	size_t common = put_usual_common(&made);
	static const uint8_t rules[] = {DW_CFA_def_cfa_offset, 32};

	(void)state;
	put_function(&made, common, CODE + 50, 10, NULL, 0);
	put_function(&made, common, CODE, 100, rules, sizeof(rules));
	put_function(&made, common, CODE, 40, NULL, 0);
	put_function(&made, common, CODE + 200, 0, NULL, 0);
	put_function(&made, common, UINT64_MAX - 5, 100, NULL, 0);
	finish(&made);
	assert_int_equal(made.frames.nr_functions, 2);
	expect_function(&made, CODE, CODE, CODE + 50);
	assert_int_equal(xf_call_frames_find(&made.frames, CODE)->instructions.size, 2);
	expect_function(&made, CODE + 55, CODE + 50, CODE + 60);
	expect_none(&made, CODE + 60);
	expect_none(&made, CODE + 200);
	expect_none(&made, UINT64_MAX - 1);
	xf_call_frames_free(&made.frames);
}

/* A CIE may follow; what has 64-bit lengths is passed over. */
static void test_order_of_entries_and_long_ones(void **state)
{
	struct made made = {0};
	size_t after_function = 4 + 4 + 16, long_entry = 4 + 8 + 24;

	(void)state;
	put_function(&made, after_function + long_entry, CODE, 8, NULL, 0);
	put_u32(&made, UINT32_MAX);
	put_u64(&made, 24);
	for (int i = 0; i < 3; i++)
		put_u64(&made, UINT64_MAX);
	put_usual_common(&made);
	finish(&made);
	expect_function(&made, CODE, CODE, CODE + 8);
	xf_call_frames_free(&made.frames);
}

static void expect_left_out(struct made *made, size_t common)
{
	put_function(made, common, CODE, 8, NULL, 0);
	finish(made);
	expect_none(made, CODE);
	xf_call_frames_free(&made->frames);
}

static void test_entries_that_make_no_sense_are_left_out(void **state)
{
	struct made made = {0};
	size_t at;

	(void)state;
	/* A CIE's middle is none. */
	at = put_usual_common(&made);
	expect_left_out(&made, at + 4);
	/* Old and unknown augmentations; one that ends in their data. */
	for (int i = 0; i < 4; i++) {
		made = (struct made){0};
		at = begin_common(&made, ((const char *const[]){"eh", "zRX", "zR", "zRR"})[i]);
		PUT(&made, i == 2 ? 0 : 1, 0, 0, 0);
		put(&made, usual_rules, sizeof(usual_rules));
		end_entry(&made, at);
		expect_left_out(&made, at);
	}
	/* Its instructions know no addresses, and nothing to restore. */
	for (int i = 0; i < 2; i++) {
		made = (struct made){0};
		at = begin_common(&made, "");
		PUT(&made, i == 0 ? DW_CFA_advance_loc | 1 : DW_CFA_restore | RBP);
		end_entry(&made, at);
		expect_left_out(&made, at);
	}
	/* Another return address's column, another version. */
	for (int i = 0; i < 2; i++) {
		made = (struct made){0};
		at = begin_entry(&made, common_id(&made));
		PUT(&made, i == 0 ? 1 : 2, 0, 1, 0x78, i == 0 ? RBP : RIP);
		put(&made, usual_rules, sizeof(usual_rules));
		end_entry(&made, at);
		expect_left_out(&made, at);
	}
}

static void test_a_section_may_end_anywhere(void **state)
{
	struct made made = {0};
	size_t common = put_usual_common(&made);

	(void)state;
	put_function(&made, common, CODE, 8, usual_rules, sizeof(usual_rules));
	for (size_t size = 0; size < made.size; size++) {
		const struct xf_elf_section section = {made.bytes, size, SECTION};

		assert_int_equal(xf_call_frames_read(&section, false, &made.frames), 0);
		assert_int_equal(made.frames.nr_functions, 0);
		xf_call_frames_free(&made.frames);
	}
}

/* ---- Rules ----------------------------------------------------------------------------------- */

/* The program of one function of 64 bytes with the usual CIE. The section outlives it. */
static struct xf_frame_program start(struct made *made, const uint8_t *rules, size_t size)
{
	size_t common;

	*made = (struct made){0};
	common = put_usual_common(made);
	put_function(made, common, CODE, 64, rules, size);
	finish(made);
	assert_int_equal(made->frames.nr_functions, 1);
	return xf_call_frames_program(&made->frames, &made->frames.functions[0]);
}

#define START(made, ...)                                                                           \
	start(made, (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

/* One more range, with this distance of the CFA from RSP. */
static void expect_range(struct xf_frame_program *program, uint64_t from, uint64_t to,
                         int64_t offset)
{
	assert_true(xf_frame_program_step(program));
	assert_int_equal(program->from, CODE + from);
	assert_int_equal(program->next, CODE + to);
	assert_int_equal(program->rules.cfa.kind, XF_RULE_VALUE);
	assert_int_equal(program->rules.cfa.offset, offset);
}

static void expect_end(struct xf_frame_program *program, uint64_t from)
{
	assert_false(xf_frame_program_step(program));
	assert_int_equal(program->from, CODE + from);
}

static void test_ways_to_go_on(void **state)
{
	struct made made;
	struct xf_frame_program program =
	        START(&made, DW_CFA_advance_loc | 0, DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc1,
	              2, DW_CFA_def_cfa_offset, 24, DW_CFA_advance_loc2, 3, 0,
	              DW_CFA_def_cfa_offset_sf, 0x7c, DW_CFA_advance_loc4, 4, 0, 0, 0,
	              DW_CFA_def_cfa_sf, RSP, 0x7b, DW_CFA_set_loc, 0x20, 0x10, 0x40, 0, 0, 0, 0, 0,
	              DW_CFA_GNU_args_size, 0x80, 1, DW_CFA_def_cfa_offset, 48, DW_CFA_advance_loc4,
	              0xff, 0xff, 0xff, 0xff, DW_CFA_def_cfa_offset, 56);

	(void)state;
	expect_range(&program, 0, 2, 16);
	expect_range(&program, 2, 5, 24);
	expect_range(&program, 5, 9, 32);
	expect_range(&program, 9, 32, 40);
	expect_range(&program, 32, 64, 48);
	expect_end(&program, 64);
	assert_false(program.failed);
	xf_call_frames_free(&made.frames);
}

/* What is said before holds; of what follows nothing is known. */
static void test_instructions_that_make_no_sense_end_it(void **state)
{
	struct made made;
	struct xf_frame_program program;

	(void)state;
	program = START(&made, DW_CFA_advance_loc | 4, DW_CFA_GNU_window_save);
	expect_range(&program, 0, 4, 8);
	expect_end(&program, 4);
	assert_true(program.failed);
	xf_call_frames_free(&made.frames);
	/* Backwards. */
	program =
	        START(&made, DW_CFA_advance_loc | 4, DW_CFA_set_loc, 0, 0x10, 0x40, 0, 0, 0, 0, 0);
	expect_range(&program, 0, 4, 8);
	expect_end(&program, 4);
	xf_call_frames_free(&made.frames);
	/* Cut off: a number, an expression. */
	program = START(&made, DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 0x80);
	expect_range(&program, 0, 4, 8);
	expect_end(&program, 4);
	xf_call_frames_free(&made.frames);
	program = START(&made, DW_CFA_def_cfa_expression, 2, DW_OP_lit0);
	expect_end(&program, 0);
	xf_call_frames_free(&made.frames);
}

static void test_remembered_rules(void **state)
{
	enum {
		DEPTH = XF_MOST_REMEMBERED
	};
	struct made made;
	struct xf_frame_program program =
	        START(&made, DW_CFA_remember_state, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | RBP,
	              2, DW_CFA_remember_state, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 24,
	              DW_CFA_restore | RBP, DW_CFA_advance_loc | 1, DW_CFA_restore_state,
	              DW_CFA_advance_loc | 1, DW_CFA_restore_state, DW_CFA_advance_loc | 1,
	              DW_CFA_restore_state);
	uint8_t deep[DEPTH + 2];

	(void)state;
	expect_range(&program, 0, 1, 16);
	assert_int_equal(program.rules.rbp.kind, XF_RULE_AT);
	assert_int_equal(program.rules.rbp.offset, -16);
	expect_range(&program, 1, 2, 24);
	assert_int_equal(program.rules.rbp.kind, XF_RULE_SAME);
	expect_range(&program, 2, 3, 16);
	assert_int_equal(program.rules.rbp.kind, XF_RULE_AT);
	expect_range(&program, 3, 4, 8);
	assert_int_equal(program.rules.rbp.kind, XF_RULE_SAME);
	expect_end(&program, 4);
	assert_true(program.failed);
	xf_call_frames_free(&made.frames);

	memset(deep, DW_CFA_remember_state, sizeof(deep));
	deep[0] = DW_CFA_advance_loc | 1;
	program = start(&made, deep, DEPTH + 1);
	expect_range(&program, 0, 1, 8);
	expect_range(&program, 1, 64, 8);
	xf_call_frames_free(&made.frames);
	program = start(&made, deep, DEPTH + 2);
	expect_range(&program, 0, 1, 8);
	expect_end(&program, 1);
	xf_call_frames_free(&made.frames);
}

/* libdw makes room for all registers up to the one that is named. */
static void test_rules_of_registers_that_nobody_has(void **state)
{
	struct made made;
	struct xf_frame_program program =
	        START(&made, DW_CFA_offset_extended, 0xff, 0xff, 0xff, 0x7f, 1, DW_CFA_undefined,
	              0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
	              DW_CFA_val_expression, 0xff, 0x7f, 1, DW_OP_lit0, DW_CFA_restore_extended,
	              0xff, 0x7f, DW_CFA_register, 0xff, 0x7f, 0xff, 0x7f);

	(void)state;
	expect_range(&program, 0, 64, 8);
	expect_end(&program, 64);
	assert_int_equal(program.rules.rsp.kind, XF_RULE_VALUE);
	assert_int_equal(program.rules.rbp.kind, XF_RULE_SAME);
	assert_int_equal(program.rules.rip.kind, XF_RULE_AT);
	xf_call_frames_free(&made.frames);
}

/* libgcrypt names a register where there is an expression, and makes it good later. */
static void test_half_a_rule_after_an_expression_says_nothing(void **state)
{
	struct made made;
	struct xf_frame_program program =
	        START(&made, DW_CFA_def_cfa_expression, 1, DW_OP_lit0, DW_CFA_advance_loc | 1,
	              DW_CFA_def_cfa_register, RSP, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset,
	              16, DW_CFA_advance_loc | 1, DW_CFA_def_cfa, RSP, 24);

	(void)state;
	assert_true(xf_frame_program_step(&program));
	assert_int_equal(program.rules.cfa.kind, XF_RULE_VALUE_EXPRESSION);
	for (int i = 0; i < 2; i++) {
		assert_true(xf_frame_program_step(&program));
		assert_int_equal(program.rules.cfa.kind, XF_RULE_NONE);
	}
	expect_range(&program, 3, 64, 24);
	xf_call_frames_free(&made.frames);
}

/* ---- Expressions ----------------------------------------------------------------------------- */

#define EVALUATE(term, from_cfa, ...)                                                              \
	xf_expression_evaluate((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}),   \
	                       from_cfa, CODE, term)

static void expect_constant(bool done, const struct xf_term *term, int64_t value)
{
	assert_true(done);
	assert_int_equal(term->kind, XF_TERM_CONSTANT);
	assert_int_equal(term->offset, value);
}

static void test_constants(void **state)
{
	struct xf_term term;

	(void)state;
	expect_constant(EVALUATE(&term, false, DW_OP_lit31), &term, 31);
	expect_constant(EVALUATE(&term, false, DW_OP_const1u, 0xff), &term, 0xff);
	expect_constant(EVALUATE(&term, false, DW_OP_const1s, 0xff), &term, -1);
	expect_constant(EVALUATE(&term, false, DW_OP_const2u, 0xfe, 0xff), &term, 0xfffe);
	expect_constant(EVALUATE(&term, false, DW_OP_const2s, 0xfe, 0xff), &term, -2);
	expect_constant(EVALUATE(&term, false, DW_OP_const4u, 1, 2, 3, 0x84), &term, 0x84030201);
	expect_constant(EVALUATE(&term, false, DW_OP_const4s, 0xfd, 0xff, 0xff, 0xff), &term, -3);
	expect_constant(EVALUATE(&term, false, DW_OP_const8u, 1, 2, 3, 4, 5, 6, 7, 8), &term,
	                0x0807060504030201);
	expect_constant(EVALUATE(&term, false, DW_OP_addr, 1, 2, 3, 4, 5, 6, 7, 8), &term,
	                0x0807060504030201);
	expect_constant(EVALUATE(&term, false, DW_OP_constu, 0x80, 1), &term, 128);
	expect_constant(EVALUATE(&term, false, DW_OP_consts, 0x80, 0x7f), &term, -128);
	expect_constant(EVALUATE(&term, false, DW_OP_lit4, DW_OP_lit6, DW_OP_minus, DW_OP_nop,
	                         DW_OP_plus_uconst, 3),
	                &term, 1);
	assert_false(term.has_moved);
	expect_constant(EVALUATE(&term, false, DW_OP_breg16, 2), &term, CODE + 2);
	assert_true(term.has_moved);
}

static void test_registers_and_words(void **state)
{
	struct xf_term term;

	(void)state;
	assert_true(
	        EVALUATE(&term, false, DW_OP_bregx, RBP, 0x70, DW_OP_deref, DW_OP_plus_uconst, 8));
	assert_int_equal(term.kind, XF_TERM_WORD);
	assert_int_equal(term.reg, RBP);
	assert_int_equal(term.offset, -16);
	assert_int_equal(term.addend, 8);
	/* A register's rule begins with the CFA. */
	assert_true(EVALUATE(&term, true, DW_OP_lit8, DW_OP_minus));
	assert_int_equal(term.kind, XF_TERM_REGISTER);
	assert_int_equal(term.reg, XF_DWARF_CFA);
	assert_int_equal(term.offset, -8);
}

static void test_expressions_that_come_to_nothing(void **state)
{
	uint8_t many[XF_MOST_EXPRESSION_BYTES + 1];
	struct xf_term term;

	(void)state;
	assert_false(xf_expression_evaluate(NULL, 0, false, CODE, &term));
	assert_false(EVALUATE(&term, false, DW_OP_plus));
	assert_false(EVALUATE(&term, false, DW_OP_lit1, DW_OP_breg7));
	assert_false(EVALUATE(&term, false, DW_OP_const8u, 1, 2, 3));
	assert_false(EVALUATE(&term, false, DW_OP_lit1, DW_OP_deref));
	assert_false(EVALUATE(&term, false, DW_OP_breg7, 0, DW_OP_deref, DW_OP_deref));
	assert_false(EVALUATE(&term, false, DW_OP_breg7, 0, DW_OP_breg6, 0, DW_OP_plus));
	assert_false(EVALUATE(&term, false, DW_OP_breg17, 0));
	/* No register has the number that stands for the CFA here. */
	assert_false(EVALUATE(&term, false, DW_OP_bregx, 0xff, 1, 0));
	assert_false(EVALUATE(&term, false, DW_OP_bregx, 0x86, 2, 0));
	assert_false(EVALUATE(&term, false, DW_OP_call_frame_cfa));
	memset(many, DW_OP_nop, sizeof(many));
	many[0] = DW_OP_lit1;
	assert_true(xf_expression_evaluate(many, sizeof(many) - 1, false, CODE, &term));
	assert_false(xf_expression_evaluate(many, sizeof(many), false, CODE, &term));
	memset(many, DW_OP_lit1, sizeof(many));
	assert_true(xf_expression_evaluate(many, 16, false, CODE, &term));
	assert_false(xf_expression_evaluate(many, 17, false, CODE, &term));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_addresses_of_eh_frame_count_from_where_they_stand),
	        cmocka_unit_test(test_each_function_holds_until_the_next_one_begins),
	        cmocka_unit_test(test_order_of_entries_and_long_ones),
	        cmocka_unit_test(test_entries_that_make_no_sense_are_left_out),
	        cmocka_unit_test(test_a_section_may_end_anywhere),
	        cmocka_unit_test(test_ways_to_go_on),
	        cmocka_unit_test(test_instructions_that_make_no_sense_end_it),
	        cmocka_unit_test(test_remembered_rules),
	        cmocka_unit_test(test_rules_of_registers_that_nobody_has),
	        cmocka_unit_test(test_half_a_rule_after_an_expression_says_nothing),
	        cmocka_unit_test(test_constants),
	        cmocka_unit_test(test_registers_and_words),
	        cmocka_unit_test(test_expressions_that_come_to_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
