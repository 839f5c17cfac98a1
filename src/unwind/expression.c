// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/expression.h"

#include <dwarf.h>

#include "base/cursor.h"

#define DEPTH 16

struct stack {
	struct xf_term terms[DEPTH];
	unsigned int count;
	bool failed;
};

static void push(struct stack *stack, struct xf_term term)
{
	if (stack->count == DEPTH)
		stack->failed = true;
	else
		stack->terms[stack->count++] = term;
}

static struct xf_term pop(struct stack *stack)
{
	if (stack->count == 0) {
		stack->failed = true;
		return (struct xf_term){0};
	}
	return stack->terms[--stack->count];
}

static void push_cfa(struct stack *stack)
{
	push(stack, (struct xf_term){.kind = XF_TERM_REGISTER, .reg = XF_DWARF_CFA});
}

static void push_constant(struct stack *stack, int64_t value)
{
	push(stack, (struct xf_term){.kind = XF_TERM_CONSTANT, .offset = value});
}

/* RIP is known: it is where the rule is asked for. */
static void push_register(struct stack *stack, uint64_t reg, int64_t offset, uint64_t rip)
{
	struct xf_term term = {.kind = XF_TERM_REGISTER, .reg = (uint8_t)reg, .offset = offset};

	if (reg > XF_DWARF_RIP)
		stack->failed = true;
	if (reg == XF_DWARF_RIP)
		term = (struct xf_term){.kind = XF_TERM_CONSTANT,
		                        .offset = (int64_t)(rip + (uint64_t)offset),
		                        .has_moved = true};
	push(stack, term);
}

static void add(struct xf_term *term, int64_t by)
{
	int64_t *to = term->kind == XF_TERM_WORD ? &term->addend : &term->offset;

	*to = (int64_t)((uint64_t)*to + (uint64_t)by);
}

static void push_word(struct stack *stack)
{
	struct xf_term term = pop(stack);

	if (term.kind != XF_TERM_REGISTER)
		stack->failed = true;
	term.kind = XF_TERM_WORD;
	push(stack, term);
}

static int64_t compute(struct stack *stack, unsigned int atom, int64_t left, int64_t right)
{
	switch (atom) {
	case DW_OP_and:
		return left & right;
	case DW_OP_or:
		return left | right;
	case DW_OP_shl:
		return right >= 0 && right < 64 ? (int64_t)((uint64_t)left << right) : 0;
	case DW_OP_ge:
		return left >= right;
	case DW_OP_gt:
		return left > right;
	case DW_OP_le:
		return left <= right;
	case DW_OP_lt:
		return left < right;
	case DW_OP_eq:
		return left == right;
	case DW_OP_ne:
		return left != right;
	default:
		stack->failed = true;
		return 0;
	}
}

static void combine(struct stack *stack, unsigned int atom)
{
	struct xf_term right = pop(stack), left = pop(stack);

	if (atom == DW_OP_plus && left.kind == XF_TERM_CONSTANT) {
		struct xf_term other = left;

		left = right;
		right = other;
	}
	left.has_moved |= right.has_moved;
	if (right.kind != XF_TERM_CONSTANT)
		stack->failed = true;
	else if (atom == DW_OP_plus)
		add(&left, right.offset);
	else if (atom == DW_OP_minus)
		add(&left, (int64_t) - (uint64_t)right.offset);
	else if (left.kind == XF_TERM_CONSTANT)
		left.offset = compute(stack, atom, left.offset, right.offset);
	else
		stack->failed = true;
	push(stack, left);
}

/* Return: whether @atom is of a constant, in *@value. */
static bool read_constant(struct xf_cursor *bytes, unsigned int atom, int64_t *value)
{
	switch (atom) {
	case DW_OP_const1u:
		*value = xf_cursor_u8(bytes);
		return true;
	case DW_OP_const1s:
		*value = (int64_t)((uint64_t)xf_cursor_u8(bytes) << 56) >> 56;
		return true;
	case DW_OP_const2u:
		*value = xf_cursor_u16(bytes);
		return true;
	case DW_OP_const2s:
		*value = (int16_t)xf_cursor_u16(bytes);
		return true;
	case DW_OP_const4u:
		*value = xf_cursor_u32(bytes);
		return true;
	case DW_OP_const4s:
		*value = (int32_t)xf_cursor_u32(bytes);
		return true;
	case DW_OP_addr:
	case DW_OP_const8u:
	case DW_OP_const8s:
		*value = (int64_t)xf_cursor_u64(bytes);
		return true;
	case DW_OP_constu:
		*value = (int64_t)xf_cursor_uleb(bytes);
		return true;
	case DW_OP_consts:
		*value = xf_cursor_sleb(bytes);
		return true;
	default:
		*value = atom - DW_OP_lit0;
		return atom >= DW_OP_lit0 && atom <= DW_OP_lit31;
	}
}

static void apply_bregx(struct stack *stack, struct xf_cursor *bytes, uint64_t rip)
{
	uint64_t reg = xf_cursor_uleb(bytes);

	push_register(stack, reg, xf_cursor_sleb(bytes), rip);
}

static void add_unsigned(struct stack *stack, struct xf_cursor *bytes)
{
	struct xf_term term = pop(stack);

	add(&term, (int64_t)xf_cursor_uleb(bytes));
	push(stack, term);
}

static void apply(struct stack *stack, struct xf_cursor *bytes, uint64_t rip)
{
	unsigned int atom = xf_cursor_u8(bytes);
	int64_t value;

	if (read_constant(bytes, atom, &value))
		push_constant(stack, value);
	else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		push_register(stack, atom - DW_OP_breg0, xf_cursor_sleb(bytes), rip);
	else if (atom == DW_OP_bregx)
		apply_bregx(stack, bytes, rip);
	else if (atom == DW_OP_plus_uconst)
		add_unsigned(stack, bytes);
	else if (atom == DW_OP_deref)
		push_word(stack);
	else if (atom != DW_OP_nop)
		combine(stack, atom);
}

bool xf_expression_evaluate(const uint8_t *bytes, size_t size, bool from_cfa, uint64_t rip,
                            struct xf_term *result)
{
	struct xf_cursor cursor = xf_cursor_over(bytes, size);
	struct stack stack = {0};

	if (size > XF_MOST_EXPRESSION_BYTES)
		return false;
	if (from_cfa)
		push_cfa(&stack);
	while (xf_cursor_left(&cursor) != 0 && !stack.failed)
		apply(&stack, &cursor, rip);
	*result = pop(&stack);
	return !stack.failed && !cursor.failed;
}
