// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/decode.h"

#include <Zydis/Zydis.h>
#include <string.h>

_Static_assert(sizeof(ZydisDecoder) <= sizeof(struct xf_decoder), "room for the decoder");

/* What the handlers below look at: one instruction as Zydis sees it. */
struct view {
	const ZydisDecodedInstruction *insn;
	const ZydisDecodedOperand *operands;
};

void xf_decoder_start(struct xf_decoder *decoder)
{
	memset(decoder, 0, sizeof(*decoder));
	ZydisDecoderInit((ZydisDecoder *)decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

/* Return: the number of a 64-bit general register, XF_REG_NONE for any other. */
static unsigned int wide(ZydisRegister reg)
{
	if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
		return reg - ZYDIS_REGISTER_RAX;
	return XF_REG_NONE;
}

/* Return: the number of the general register that @reg is a part of, XF_REG_NONE if none. */
static unsigned int whole(ZydisRegister reg)
{
	if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
		return reg - ZYDIS_REGISTER_RAX;
	if (reg >= ZYDIS_REGISTER_EAX && reg <= ZYDIS_REGISTER_R15D)
		return reg - ZYDIS_REGISTER_EAX;
	if (reg >= ZYDIS_REGISTER_AX && reg <= ZYDIS_REGISTER_R15W)
		return reg - ZYDIS_REGISTER_AX;
	if (reg >= ZYDIS_REGISTER_AL && reg <= ZYDIS_REGISTER_BL)
		return reg - ZYDIS_REGISTER_AL;
	if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH)
		return reg - ZYDIS_REGISTER_AH;
	if (reg >= ZYDIS_REGISTER_SPL && reg <= ZYDIS_REGISTER_R15B)
		return reg - ZYDIS_REGISTER_SPL + XF_REG_RSP;
	return XF_REG_NONE;
}

static void add_op(struct xf_decoded *out, enum xf_op_kind kind, unsigned int dst, unsigned int src,
                   int64_t value)
{
	struct xf_op *op;

	if (value != (int32_t)value || out->nr_ops == XF_MAX_OPS) {
		/* Too far to be a frame: whatever it makes is unknown. */
		if (kind != XF_OP_STORE && dst < XF_NR_REGS)
			out->kills |= 1u << dst;
		return;
	}
	op = &out->ops[out->nr_ops++];
	op->kind = kind;
	op->dst = dst;
	op->src = src;
	op->unused = 0;
	op->value = value;
}

static bool is_register(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static bool is_memory(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

/* A word at a constant distance from one register, which no segment base moves elsewhere. */
static bool is_plain_word(const ZydisDecodedOperand *operand)
{
	return is_memory(operand) && operand->mem.index == ZYDIS_REGISTER_NONE &&
	       wide(operand->mem.base) != XF_REG_NONE &&
	       operand->mem.segment != ZYDIS_REGISTER_FS &&
	       operand->mem.segment != ZYDIS_REGISTER_GS;
}

/* Most code stores through other registers; only these hold addresses of the frame. */
static bool may_be_stack(unsigned int base, unsigned int other)
{
	return base == XF_REG_RSP || base == XF_REG_RBP || other == XF_REG_RSP ||
	       other == XF_REG_RBP;
}

static int64_t displacement(const ZydisDecodedOperand *operand)
{
	return operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;
}

/* Whatever an instruction writes that no operation explains. */
static void generic(const struct view *view, struct xf_decoded *out)
{
	for (unsigned int i = 0; i < view->insn->operand_count; i++) {
		const ZydisDecodedOperand *operand = &view->operands[i];
		unsigned int reg;

		if (!(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (is_register(operand)) {
			reg = whole(operand->reg.value);
			if (reg != XF_REG_NONE)
				out->kills |= 1u << reg;
		} else if (is_plain_word(operand)) {
			reg = wide(operand->mem.base);
			if (may_be_stack(reg, XF_REG_NONE))
				add_op(out, XF_OP_STORE, reg, XF_REG_NONE, displacement(operand));
		}
	}
}

static void decode_mov(const struct view *view, struct xf_decoded *out)
{
	const ZydisDecodedOperand *to = &view->operands[0], *from = &view->operands[1];

	if (is_register(to) && is_register(from) && wide(to->reg.value) != XF_REG_NONE &&
	    wide(from->reg.value) != XF_REG_NONE) {
		add_op(out, XF_OP_COPY, wide(to->reg.value), wide(from->reg.value), 0);
	} else if (is_plain_word(to) && is_register(from) && wide(from->reg.value) != XF_REG_NONE) {
		unsigned int base = wide(to->mem.base), reg = wide(from->reg.value);

		if (may_be_stack(base, reg))
			add_op(out, XF_OP_STORE, base, reg, displacement(to));
	} else if (is_register(to) && is_plain_word(from) && wide(to->reg.value) != XF_REG_NONE &&
	           may_be_stack(wide(from->mem.base), wide(to->reg.value))) {
		add_op(out, XF_OP_LOAD, wide(to->reg.value), wide(from->mem.base),
		       displacement(from));
	} else {
		generic(view, out);
	}
}

static void decode_lea(const struct view *view, struct xf_decoded *out)
{
	const ZydisDecodedOperand *to = &view->operands[0], *from = &view->operands[1];

	if (wide(to->reg.value) != XF_REG_NONE && from->mem.index == ZYDIS_REGISTER_NONE &&
	    wide(from->mem.base) != XF_REG_NONE)
		add_op(out, XF_OP_COPY, wide(to->reg.value), wide(from->mem.base),
		       displacement(from));
	else
		generic(view, out);
}

/* add, sub, inc, dec: @sign times the immediate, or 1. */
static void decode_add(const struct view *view, struct xf_decoded *out, int sign)
{
	const ZydisDecodedOperand *to = &view->operands[0], *by = &view->operands[1];
	int64_t value = 1;

	if (!is_register(to) || wide(to->reg.value) == XF_REG_NONE) {
		generic(view, out);
		return;
	}
	if (view->insn->operand_count_visible > 1) {
		if (by->type != ZYDIS_OPERAND_TYPE_IMMEDIATE) {
			generic(view, out);
			return;
		}
		value = by->imm.value.s;
	}
	add_op(out, XF_OP_ADJUST, wide(to->reg.value), XF_REG_NONE, sign * value);
}

static void decode_and(const struct view *view, struct xf_decoded *out)
{
	const ZydisDecodedOperand *to = &view->operands[0], *by = &view->operands[1];
	int64_t mask = by->type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? by->imm.value.s : 0;

	/* A negative power of two: a run of ones above a run of zeros. */
	if (is_register(to) && wide(to->reg.value) == XF_REG_RSP && mask < 0 &&
	    ((uint64_t)~mask & ((uint64_t)~mask + 1)) == 0)
		add_op(out, XF_OP_ALIGN, XF_REG_RSP, XF_REG_NONE, mask);
	else
		generic(view, out);
}

static void decode_push(const struct view *view, struct xf_decoded *out)
{
	const ZydisDecodedOperand *what = &view->operands[0];
	unsigned int src = XF_REG_NONE;
	int bytes = view->insn->operand_width == 16 ? 2 : 8;

	if (view->insn->mnemonic == ZYDIS_MNEMONIC_PUSH && is_register(what))
		src = wide(what->reg.value);
	add_op(out, XF_OP_STORE, XF_REG_RSP, src, -bytes);
	add_op(out, XF_OP_ADJUST, XF_REG_RSP, XF_REG_NONE, -bytes);
}

static void decode_pop(const struct view *view, struct xf_decoded *out)
{
	const ZydisDecodedOperand *what = &view->operands[0];
	int bytes = view->insn->operand_width == 16 ? 2 : 8;

	if (view->insn->mnemonic == ZYDIS_MNEMONIC_POP && is_register(what)) {
		unsigned int dst = wide(what->reg.value);

		if (dst == XF_REG_RSP) {
			add_op(out, XF_OP_LOAD, XF_REG_RSP, XF_REG_RSP, 0);
			return;
		}
		if (dst != XF_REG_NONE)
			add_op(out, XF_OP_LOAD, dst, XF_REG_RSP, 0);
		else if (whole(what->reg.value) != XF_REG_NONE)
			out->kills |= 1u << whole(what->reg.value);
	}
	add_op(out, XF_OP_ADJUST, XF_REG_RSP, XF_REG_NONE, bytes);
	/* A destination in memory is addressed with RSP as it is after the pop. */
	if (view->insn->mnemonic == ZYDIS_MNEMONIC_POP && is_plain_word(what) &&
	    may_be_stack(wide(what->mem.base), XF_REG_NONE))
		add_op(out, XF_OP_STORE, wide(what->mem.base), XF_REG_NONE, displacement(what));
}

static void decode_xchg(const struct view *view, struct xf_decoded *out)
{
	const ZydisDecodedOperand *a = &view->operands[0], *b = &view->operands[1];

	if (is_register(a) && is_register(b) && wide(a->reg.value) != XF_REG_NONE &&
	    wide(b->reg.value) != XF_REG_NONE)
		add_op(out, XF_OP_EXCHANGE, wide(a->reg.value), wide(b->reg.value), 0);
	else
		generic(view, out);
}

static void decode_leave(struct xf_decoded *out)
{
	add_op(out, XF_OP_COPY, XF_REG_RSP, XF_REG_RBP, 0);
	add_op(out, XF_OP_LOAD, XF_REG_RBP, XF_REG_RSP, 0);
	add_op(out, XF_OP_ADJUST, XF_REG_RSP, XF_REG_NONE, 8);
}

static void decode_enter(const struct view *view, struct xf_decoded *out)
{
	/* A nesting level copies frame pointers of outer ones; no compiler has used that. */
	if (view->operands[1].imm.value.u != 0) {
		out->kills |= 1u << XF_REG_RSP | 1u << XF_REG_RBP;
		return;
	}
	add_op(out, XF_OP_STORE, XF_REG_RSP, XF_REG_RBP, -8);
	add_op(out, XF_OP_ADJUST, XF_REG_RSP, XF_REG_NONE, -8);
	add_op(out, XF_OP_COPY, XF_REG_RBP, XF_REG_RSP, 0);
	add_op(out, XF_OP_ADJUST, XF_REG_RSP, XF_REG_NONE, -(int64_t)view->operands[0].imm.value.u);
}

/* xor and sub of a register with itself and the like need nothing of their own: unknown is right.
 */
static void decode_operations(const struct view *view, struct xf_decoded *out)
{
	switch (view->insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		decode_mov(view, out);
		break;
	case ZYDIS_MNEMONIC_LEA:
		decode_lea(view, out);
		break;
	case ZYDIS_MNEMONIC_ADD:
		decode_add(view, out, 1);
		break;
	case ZYDIS_MNEMONIC_SUB:
		decode_add(view, out, -1);
		break;
	case ZYDIS_MNEMONIC_INC:
		decode_add(view, out, 1);
		break;
	case ZYDIS_MNEMONIC_DEC:
		decode_add(view, out, -1);
		break;
	case ZYDIS_MNEMONIC_AND:
		decode_and(view, out);
		break;
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
		decode_push(view, out);
		break;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		decode_pop(view, out);
		break;
	case ZYDIS_MNEMONIC_XCHG:
		decode_xchg(view, out);
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		decode_leave(out);
		break;
	case ZYDIS_MNEMONIC_ENTER:
		decode_enter(view, out);
		break;
	default:
		generic(view, out);
		break;
	}
}

static void direct(const ZydisDecodedInstruction *insn, struct xf_decoded *out, enum xf_flow near,
                   enum xf_flow indirect)
{
	if (insn->raw.imm[0].is_relative) {
		out->flow = near;
		out->target = insn->raw.imm[0].value.s + out->length;
	} else {
		out->flow = indirect;
	}
}

/* Return: true where the instruction is about control flow alone. Needs no operands. */
static bool decode_flow(const ZydisDecodedInstruction *insn, struct xf_decoded *out)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_RET:
		/* A far return goes to what was pushed before: nothing to follow. */
		out->flow = insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ? XF_FLOW_JUMP_INDIRECT
		                                                            : XF_FLOW_RETURN;
		return true;
	case ZYDIS_MNEMONIC_IRETQ:
		out->flow = XF_FLOW_INTERRUPT_RETURN;
		return true;
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
	case ZYDIS_MNEMONIC_INT3:
		out->flow = XF_FLOW_STOP;
		return true;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
		out->flow = XF_FLOW_TRAP;
		return true;
	case ZYDIS_MNEMONIC_CALL:
		direct(insn, out, XF_FLOW_CALL, XF_FLOW_CALL_INDIRECT);
		return true;
	case ZYDIS_MNEMONIC_JMP:
		direct(insn, out, XF_FLOW_JUMP, XF_FLOW_JUMP_INDIRECT);
		return true;
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
		out->kills |=
		        1u << (insn->mnemonic == ZYDIS_MNEMONIC_XBEGIN ? XF_REG_RAX : XF_REG_RCX);
		direct(insn, out, XF_FLOW_BRANCH, XF_FLOW_NEXT);
		return true;
	default:
		break;
	}
	if (insn->meta.category == ZYDIS_CATEGORY_COND_BR) {
		direct(insn, out, XF_FLOW_BRANCH, XF_FLOW_NEXT);
		return true;
	}
	return false;
}

/* No-operations as assemblers use them for filling. */
static bool is_filler(const ZydisDecodedInstruction *insn)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_INT3 || insn->mnemonic == ZYDIS_MNEMONIC_NOP;
}

/* Frequent instructions that write neither a general register nor a stack word: their operands,
 * which cost as much again to decode, are of no interest. */
static bool is_inert(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_ENDBR64:
	case ZYDIS_MNEMONIC_LFENCE:
	case ZYDIS_MNEMONIC_BT:
		return true;
	default:
		return false;
	}
}

void xf_insn_decode(const struct xf_decoder *decoder, const uint8_t *bytes, size_t size,
                    struct xf_decoded *out)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	const struct view view = {&insn, operands};
	ZydisDecoderContext context;

	out->length = 1;
	out->flow = XF_FLOW_BAD;
	out->nr_ops = 0;
	out->padding = false;
	out->kills = 0;
	out->target = 0;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction((const ZydisDecoder *)decoder, &context,
	                                                bytes, size, &insn)))
		return;
	out->length = insn.length;
	out->flow = XF_FLOW_NEXT;
	out->padding = is_filler(&insn);
	if (decode_flow(&insn, out) || out->padding || is_inert(&insn))
		return;
	if (ZYAN_SUCCESS(ZydisDecoderDecodeOperands((const ZydisDecoder *)decoder, &context, &insn,
	                                            operands, insn.operand_count)))
		decode_operations(&view, out);
	else
		out->flow = XF_FLOW_BAD;
}
