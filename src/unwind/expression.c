// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/expression.h"

#include <dwarf.h>

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

static void push_constant(struct stack *stack, int64_t value)
{
	push(stack, (struct xf_term){.kind = XF_TERM_CONSTANT, .offset = value});
}

/* RIP is known: it is where the rule is asked for. */
static void push_register(struct stack *stack, uint64_t reg, int64_t offset, uint64_t rip)
{
	struct xf_term term = {.kind = XF_TERM_REGISTER, .reg = reg, .offset = offset};

	if (reg == XF_DWARF_RIP)
		term = (struct xf_term){.kind = XF_TERM_CONSTANT,
		                        .offset = (int64_t)(rip + (uint64_t)offset),
		                        .has_moved = true};
	else if (reg > XF_DWARF_RIP && reg != XF_DWARF_CFA)
		stack->failed = true;
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

static bool is_constant(unsigned int atom)
{
	return atom == DW_OP_addr || (atom >= DW_OP_const1u && atom <= DW_OP_consts);
}

static void apply(struct stack *stack, const Dwarf_Op *op, uint64_t rip)
{
	unsigned int atom = op->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		push_constant(stack, atom - DW_OP_lit0);
	else if (is_constant(atom))
		push_constant(stack, (int64_t)op->number);
	else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		push_register(stack, atom - DW_OP_breg0, (int64_t)op->number, rip);
	else if (atom == DW_OP_bregx)
		push_register(stack, op->number, (int64_t)op->number2, rip);
	else if (atom == DW_OP_call_frame_cfa)
		push_register(stack, XF_DWARF_CFA, 0, rip);
	else if (atom == DW_OP_plus_uconst && stack->count != 0)
		add(&stack->terms[stack->count - 1], (int64_t)op->number);
	else if (atom == DW_OP_deref)
		push_word(stack);
	else if (atom != DW_OP_nop)
		combine(stack, atom);
}

bool xf_expression_evaluate(const Dwarf_Op *ops, size_t nr, uint64_t rip, struct xf_term *result)
{
	struct stack stack = {0};
	bool is_value = false;

	for (size_t i = 0; i < nr && !stack.failed; i++) {
		if (is_value)
			return false;
		if (ops[i].atom == DW_OP_stack_value)
			is_value = true;
		else
			apply(&stack, &ops[i], rip);
	}
	*result = pop(&stack);
	result->is_value = is_value;
	return !stack.failed;
}
