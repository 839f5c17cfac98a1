// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/decode.h"

#include <Zydis/Zydis.h>
#include <string.h>

_Static_assert(sizeof(ZydisDecoder) <= sizeof(struct xf_decoder), "room for the decoder");

void xf_decoder_start(struct xf_decoder *decoder)
{
	memset(decoder, 0, sizeof(*decoder));
	ZydisDecoderInit((ZydisDecoder *)decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

/* ---- What instructions mean ------------------------------------------------------------------ */

enum operand_kind {
	OPERAND_OTHER,     /* of no interest: no general register, no word of the stack */
	OPERAND_REGISTER,  /* all of @reg, or a part where it is not @wide */
	OPERAND_WORD,      /* the word at @reg + @value */
	OPERAND_IMMEDIATE, /* @value */
};

struct operand {
	uint8_t kind; /* enum operand_kind */
	uint8_t reg;
	bool wide;
	int64_t value;
};

static bool is_wide(const struct operand *operand)
{
	return operand->kind == OPERAND_REGISTER && operand->wide;
}

/* Most code stores through other registers; only these hold addresses of the frame. */
static bool may_be_stack(unsigned int base, unsigned int other)
{
	return base == XF_REG_RSP || base == XF_REG_RBP || other == XF_REG_RSP ||
	       other == XF_REG_RBP;
}

static void add_op(struct xf_decoded *out, enum xf_op_kind kind, unsigned int dst, unsigned int src,
                   int64_t value)
{
	if (value != (int32_t)value || out->nr_ops == XF_MAX_OPS) {
		/* Too far to be a frame: whatever it makes is unknown. */
		if (kind != XF_OP_STORE && dst < XF_NR_REGS)
			out->kills |= 1u << dst;
		return;
	}
	out->ops[out->nr_ops++] = (struct xf_op){kind, dst, src, 0, value};
}

/* @to gets a value that no operation explains. */
static void mean_write(struct xf_decoded *out, const struct operand *to)
{
	if (to->kind == OPERAND_REGISTER)
		out->kills |= 1u << to->reg;
	else if (to->kind == OPERAND_WORD && may_be_stack(to->reg, XF_REG_NONE))
		add_op(out, XF_OP_STORE, to->reg, XF_REG_NONE, to->value);
}

static void mean_move(struct xf_decoded *out, const struct operand *to, const struct operand *from)
{
	if (is_wide(to) && is_wide(from)) {
		add_op(out, XF_OP_COPY, to->reg, from->reg, 0);
	} else if (to->kind == OPERAND_WORD && is_wide(from)) {
		if (may_be_stack(to->reg, from->reg))
			add_op(out, XF_OP_STORE, to->reg, from->reg, to->value);
	} else if (is_wide(to) && from->kind == OPERAND_WORD && may_be_stack(from->reg, to->reg)) {
		add_op(out, XF_OP_LOAD, to->reg, from->reg, from->value);
	} else {
		mean_write(out, to);
	}
}

static void mean_address(struct xf_decoded *out, const struct operand *to, const struct operand *of)
{
	if (is_wide(to) && of->kind == OPERAND_WORD)
		add_op(out, XF_OP_COPY, to->reg, of->reg, of->value);
	else
		mean_write(out, to);
}

static void mean_add(struct xf_decoded *out, const struct operand *to, int64_t value)
{
	if (is_wide(to))
		add_op(out, XF_OP_ADJUST, to->reg, XF_REG_NONE, value);
	else
		mean_write(out, to);
}

static void mean_and(struct xf_decoded *out, const struct operand *to, int64_t mask)
{
	/* A negative power of two: a run of ones above a run of zeros. */
	if (is_wide(to) && to->reg == XF_REG_RSP && mask < 0 &&
	    ((uint64_t)~mask & ((uint64_t)~mask + 1)) == 0)
		add_op(out, XF_OP_ALIGN, XF_REG_RSP, XF_REG_NONE, mask);
	else
		mean_write(out, to);
}

static void mean_exchange(struct xf_decoded *out, const struct operand *a, const struct operand *b)
{
	if (is_wide(a) && is_wide(b)) {
		add_op(out, XF_OP_EXCHANGE, a->reg, b->reg, 0);
	} else {
		mean_write(out, a);
		mean_write(out, b);
	}
}

static void mean_push(struct xf_decoded *out, const struct operand *what, int bytes)
{
	add_op(out, XF_OP_STORE, XF_REG_RSP, is_wide(what) ? what->reg : XF_REG_NONE, -bytes);
	add_op(out, XF_OP_ADJUST, XF_REG_RSP, XF_REG_NONE, -bytes);
}

static void mean_pop(struct xf_decoded *out, const struct operand *to, int bytes)
{
	if (is_wide(to)) {
		add_op(out, XF_OP_LOAD, to->reg, XF_REG_RSP, 0);
		if (to->reg == XF_REG_RSP)
			return;
	} else if (to->kind == OPERAND_REGISTER) {
		mean_write(out, to);
	}
	add_op(out, XF_OP_ADJUST, XF_REG_RSP, XF_REG_NONE, bytes);
	/* A destination in memory is addressed with RSP as it is after the pop. */
	if (to->kind == OPERAND_WORD)
		mean_write(out, to);
}

static void mean_leave(struct xf_decoded *out)
{
	add_op(out, XF_OP_COPY, XF_REG_RSP, XF_REG_RBP, 0);
	add_op(out, XF_OP_LOAD, XF_REG_RBP, XF_REG_RSP, 0);
	add_op(out, XF_OP_ADJUST, XF_REG_RSP, XF_REG_NONE, 8);
}

static void mean_enter(struct xf_decoded *out, int64_t bytes, int64_t level)
{
	/* A nesting level copies frame pointers of outer ones; no compiler has used that. */
	if (level != 0) {
		out->kills |= 1u << XF_REG_RSP | 1u << XF_REG_RBP;
		return;
	}
	add_op(out, XF_OP_STORE, XF_REG_RSP, XF_REG_RBP, -8);
	add_op(out, XF_OP_ADJUST, XF_REG_RSP, XF_REG_NONE, -8);
	add_op(out, XF_OP_COPY, XF_REG_RBP, XF_REG_RSP, 0);
	add_op(out, XF_OP_ADJUST, XF_REG_RSP, XF_REG_NONE, -bytes);
}

/* ---- Any instruction, by Zydis --------------------------------------------------------------- */

/* What the handlers below look at: one instruction as Zydis sees it. */
struct view {
	const ZydisDecodedInstruction *insn;
	const ZydisDecodedOperand *operands;
};

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

static bool is_wide_register(ZydisRegister reg)
{
	return reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15;
}

/* A word counts where it lies at a constant distance from one register, and no segment base moves
 * it elsewhere. */
static struct operand operand_of(const ZydisDecodedOperand *operand)
{
	struct operand plain = {.kind = OPERAND_OTHER, .reg = XF_REG_NONE};

	if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		plain.kind = OPERAND_IMMEDIATE;
		plain.value = operand->imm.value.s;
	} else if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		plain.reg = whole(operand->reg.value);
		plain.wide = is_wide_register(operand->reg.value);
		plain.kind = plain.reg != XF_REG_NONE ? OPERAND_REGISTER : OPERAND_OTHER;
	} else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	           operand->mem.index == ZYDIS_REGISTER_NONE &&
	           is_wide_register(operand->mem.base) &&
	           operand->mem.segment != ZYDIS_REGISTER_FS &&
	           operand->mem.segment != ZYDIS_REGISTER_GS) {
		plain.kind = OPERAND_WORD;
		plain.reg = whole(operand->mem.base);
		plain.value = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;
	}
	return plain;
}

static struct operand operand_at(const struct view *view, unsigned int index)
{
	static const struct operand none = {.kind = OPERAND_OTHER, .reg = XF_REG_NONE};

	return index < view->insn->operand_count ? operand_of(&view->operands[index]) : none;
}

/* Whatever an instruction writes that nothing below explains. */
static void decode_writes(const struct view *view, struct xf_decoded *out)
{
	for (unsigned int i = 0; i < view->insn->operand_count; i++) {
		struct operand operand = operand_of(&view->operands[i]);

		if (view->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			mean_write(out, &operand);
	}
}

/* add, sub, inc, dec: @sign times the immediate, or 1. */
static void decode_add(const struct view *view, struct xf_decoded *out, int sign)
{
	struct operand to = operand_at(view, 0), by = operand_at(view, 1);

	if (view->insn->operand_count_visible == 1)
		mean_add(out, &to, sign);
	else if (by.kind == OPERAND_IMMEDIATE)
		mean_add(out, &to, sign * by.value);
	else
		mean_write(out, &to);
}

/* xor and sub of a register with itself and the like need nothing of their own: unknown is right.
 */
static void decode_operations(const struct view *view, struct xf_decoded *out)
{
	static const struct operand flags = {.kind = OPERAND_OTHER};
	struct operand first = operand_at(view, 0), second = operand_at(view, 1);
	int bytes = view->insn->operand_width == 16 ? 2 : 8;

	switch (view->insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		mean_move(out, &first, &second);
		break;
	case ZYDIS_MNEMONIC_LEA:
		mean_address(out, &first, &second);
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_INC:
		decode_add(view, out, 1);
		break;
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_DEC:
		decode_add(view, out, -1);
		break;
	case ZYDIS_MNEMONIC_AND:
		mean_and(out, &first, second.kind == OPERAND_IMMEDIATE ? second.value : 0);
		break;
	case ZYDIS_MNEMONIC_PUSH:
		mean_push(out, &first, bytes);
		break;
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
		mean_push(out, &flags, bytes);
		break;
	case ZYDIS_MNEMONIC_POP:
		mean_pop(out, &first, bytes);
		break;
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		mean_pop(out, &flags, bytes);
		break;
	case ZYDIS_MNEMONIC_XCHG:
		mean_exchange(out, &first, &second);
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		mean_leave(out);
		break;
	case ZYDIS_MNEMONIC_ENTER:
		mean_enter(out, first.value, second.value);
		break;
	default:
		decode_writes(view, out);
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

static void decode_by_zydis(const struct xf_decoder *decoder, const uint8_t *bytes, size_t size,
                            struct xf_decoded *out)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	const struct view view = {&insn, operands};
	ZydisDecoderContext context;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction((const ZydisDecoder *)decoder, &context,
	                                                bytes, size, &insn)))
		return;
	out->length = insn.length;
	out->flow = XF_FLOW_NEXT;
	out->padding = is_filler(&insn);
	if (decode_flow(&insn, out) || out->padding)
		return;
	if (ZYAN_SUCCESS(ZydisDecoderDecodeOperands((const ZydisDecoder *)decoder, &context, &insn,
	                                            operands, insn.operand_count)))
		decode_operations(&view, out);
	else
		out->flow = XF_FLOW_BAD;
}

/* ---- Frequent instructions, by a table ------------------------------------------------------- */

/*
 * Decoding takes most of the time of building a table, and most code consists of a few dozen
 * opcodes. What is below knows those in their plain forms, at most with an operand size prefix and
 * a REX prefix, and leaves all else to Zydis. tests/unit/test_unwind_decode.c compares the two.
 */
enum quick {
	QUICK_NOT,   /* for Zydis */
	QUICK_GROUP, /* ModRM's reg tells which of eight instructions it is */
	QUICK_INERT, /* writes no register and no word of the stack */
	QUICK_WRITE,
	QUICK_MOVE,
	QUICK_ADDRESS,
	QUICK_ADD,
	QUICK_SUBTRACT,
	QUICK_INCREMENT,
	QUICK_DECREMENT,
	QUICK_AND,
	QUICK_MULTIPLY,
	QUICK_PUSH,
	QUICK_POP,
	QUICK_LEAVE,
	QUICK_NOP,
	QUICK_INT3,
	QUICK_FLOW,
};

/* Operands, in the notation of the processor's manuals. */
enum quick_operand {
	E, /* register or memory, by ModRM's rm */
	G, /* register, by ModRM's reg */
	A, /* RAX, or a part of it */
	O, /* register, by the opcode's low three bits */
	I, /* immediate */
	NR_QUICK_OPERANDS,
};

/* What follows the opcode, and how wide the operands are. */
enum quick_form {
	MODRM = 1 << 0,
	IMM8 = 1 << 1,  /* an immediate or a distance of one byte */
	IMM32 = 1 << 2, /* of four, of two behind an operand size prefix */
	IMM64 = 1 << 3, /* of eight with REX.W, otherwise as IMM32 */
	BYTE = 1 << 4,  /* registers are bytes */
	FIXED = 1 << 5, /* an operand size prefix is for Zydis */
};

struct quick_opcode {
	uint8_t what; /* enum quick */
	uint8_t form; /* enum quick_form */
	uint8_t of;   /* enum quick_operand, that is written or pushed; a group; or enum xf_flow */
};

enum quick_group {
	GROUP_ARITHMETIC,
	GROUP_MOVE,
	GROUP_SHIFT,
	GROUP_UNARY_BYTE,
	GROUP_UNARY,
	GROUP_BIT,
	GROUP_STEP_BYTE,
	GROUP_STEP,
	GROUP_NOP,
	NR_QUICK_GROUPS,
};

static const struct quick_opcode quick_one_byte[256] = {
#define ONE_BYTE(first, last, what, form, of) [(first)...(last)] = {QUICK_##what, (form), (of)},
#define TWO_BYTE(first, last, what, form, of)
#define IN_GROUP(group, first, last, what, form, of)
#include "unwind/opcodes.def"
};

/* Behind 0x0f. */
static const struct quick_opcode quick_two_byte[256] = {
#define ONE_BYTE(first, last, what, form, of)
#define TWO_BYTE(first, last, what, form, of) [(first)...(last)] = {QUICK_##what, (form), (of)},
#define IN_GROUP(group, first, last, what, form, of)
#include "unwind/opcodes.def"
};

static const struct quick_opcode quick_groups[NR_QUICK_GROUPS][8] = {
#define ONE_BYTE(first, last, what, form, of)
#define TWO_BYTE(first, last, what, form, of)
#define IN_GROUP(group, first, last, what, form, of)                                               \
	[group][(first)...(last)] = {QUICK_##what, (form), (of)},
#include "unwind/opcodes.def"
};

enum rex {
	REX_B = 1 << 0,
	REX_X = 1 << 1,
	REX_R = 1 << 2,
	REX_W = 1 << 3,
	REX = 1 << 6,
};

/* More than what is below reads of an instruction. */
#define QUICK_ROOM 32u

/* One instruction on the way through its bytes. */
struct quick_view {
	const uint8_t *next; /* what is to be looked at next */
	struct quick_opcode opcode;
	uint8_t rex; /* enum rex */
	bool narrow; /* there is an operand size prefix */
	uint8_t low; /* the opcode's low three bits */
	struct operand operands[NR_QUICK_OPERANDS];
};

/* Return: the signed number of so many bytes that is next. */
static int64_t quick_number(struct quick_view *view, unsigned int bytes)
{
	int64_t number;

	memcpy(&number, view->next, sizeof(number));
	view->next += bytes;
	switch (bytes) {
	case 1:
		return (int8_t)number;
	case 2:
		return (int16_t)number;
	case 4:
		return (int32_t)number;
	default:
		return number;
	}
}

static struct operand quick_register(const struct quick_view *view, unsigned int number)
{
	bool byte = view->opcode.form & BYTE;

	/* Without REX, 4 to 7 are AH to BH. */
	if (byte && !(view->rex & REX) && number >= 4)
		number -= 4;
	return (struct operand){
	        .kind = OPERAND_REGISTER, .reg = number, .wide = !byte && (view->rex & REX_W)};
}

/* The operand in memory that @modrm and the bytes behind it name. */
static struct operand quick_memory(struct quick_view *view, uint8_t modrm)
{
	unsigned int mode = modrm >> 6, base = modrm & 7;
	struct operand word = {.kind = OPERAND_WORD};

	if (base == XF_REG_RSP) {
		uint8_t sib = *view->next++;

		base = sib & 7;
		if ((sib >> 3 & 7) != XF_REG_RSP || (view->rex & REX_X))
			word.kind = OPERAND_OTHER;
	}
	/* RBP's number stands for no register at all where there is no displacement. */
	if (mode == 0 && base == XF_REG_RBP) {
		word.kind = OPERAND_OTHER;
		mode = 2;
	}
	word.reg = base | (view->rex & REX_B) << 3;
	if (mode != 0)
		word.value = quick_number(view, mode == 1 ? 1 : 4);
	return word;
}

/* Return: false where the operands are such as no instruction has. */
static bool quick_modrm(struct quick_view *view)
{
	uint8_t modrm = *view->next++, reg = modrm >> 3 & 7;

	if (modrm >> 6 == 3)
		view->operands[E] = quick_register(view, (modrm & 7) | (view->rex & REX_B) << 3);
	else
		view->operands[E] = quick_memory(view, modrm);
	view->operands[G] = quick_register(view, reg | (view->rex & REX_R) << 1);
	if (view->opcode.what == QUICK_GROUP) {
		struct quick_opcode opcode = quick_groups[view->opcode.of][reg];

		opcode.form |= view->opcode.form;
		view->opcode = opcode;
	}
	return view->opcode.what != QUICK_ADDRESS || view->operands[E].kind != OPERAND_REGISTER;
}

static void quick_immediate(struct quick_view *view)
{
	uint8_t form = view->opcode.form;
	unsigned int bytes = view->narrow && !(view->rex & REX_W) ? 2 : 4;

	view->operands[I] = (struct operand){.kind = OPERAND_IMMEDIATE};
	if (!(form & (IMM8 | IMM32 | IMM64)))
		return;
	if (form & IMM8)
		bytes = 1;
	else if ((form & IMM64) && (view->rex & REX_W))
		bytes = 8;
	view->operands[I].value = quick_number(view, bytes);
}

/* Looks up the opcode behind the prefixes. Return: false where it is one for Zydis. */
static bool quick_opcode(struct quick_view *view)
{
	view->narrow = *view->next == 0x66;
	view->next += view->narrow;
	view->rex = (*view->next & 0xf0) == 0x40 ? *view->next++ : 0;
	view->low = *view->next & 7;
	if (*view->next == 0x0f)
		view->opcode = quick_two_byte[*++view->next];
	else
		view->opcode = quick_one_byte[*view->next];
	view->next++;
	return view->opcode.what != QUICK_NOT && !(view->narrow && (view->opcode.form & FIXED));
}

/* Return: false where the instruction is one for Zydis after all. */
static bool quick_operands(struct quick_view *view)
{
	if (!(view->opcode.form & MODRM))
		view->operands[O] = quick_register(view, view->low | (view->rex & REX_B) << 3);
	else if (!quick_modrm(view))
		return false;
	view->operands[A] = quick_register(view, XF_REG_RAX);
	quick_immediate(view);
	/* Pushed and popped are eight bytes without REX.W, too. */
	if (view->opcode.what == QUICK_PUSH || view->opcode.what == QUICK_POP)
		view->operands[view->opcode.of].wide = true;
	if (view->opcode.what == QUICK_NOP)
		return view->rex == 0;
	return view->opcode.what != QUICK_NOT;
}

static void quick_flow(const struct quick_view *view, struct xf_decoded *out)
{
	out->flow = view->opcode.of;
	if (xf_flow_is_direct(out->flow))
		out->target = view->operands[I].value + out->length;
}

static void quick_meaning(const struct quick_view *view, struct xf_decoded *out)
{
	const struct operand *to = &view->operands[view->opcode.of];
	const struct operand *from = &view->operands[view->opcode.of == E ? G : E];
	int64_t value = view->operands[I].value;

	switch ((enum quick)view->opcode.what) {
	case QUICK_WRITE:
		mean_write(out, to);
		break;
	case QUICK_MOVE:
		mean_move(out, to, from);
		break;
	case QUICK_ADDRESS:
		mean_address(out, to, from);
		break;
	case QUICK_ADD:
		mean_add(out, to, value);
		break;
	case QUICK_SUBTRACT:
		mean_add(out, to, -value);
		break;
	case QUICK_INCREMENT:
		mean_add(out, to, 1);
		break;
	case QUICK_DECREMENT:
		mean_add(out, to, -1);
		break;
	case QUICK_AND:
		mean_and(out, to, value);
		break;
	case QUICK_MULTIPLY:
		out->kills |= 1u << XF_REG_RAX;
		if (!(view->opcode.form & BYTE))
			out->kills |= 1u << XF_REG_RDX;
		break;
	case QUICK_PUSH:
		mean_push(out, to, 8);
		break;
	case QUICK_POP:
		mean_pop(out, to, 8);
		break;
	case QUICK_LEAVE:
		mean_leave(out);
		break;
	case QUICK_INT3:
		out->flow = XF_FLOW_STOP;
		out->padding = true;
		break;
	case QUICK_NOP:
		out->padding = true;
		break;
	default:
		break;
	}
}

/* Return: false where the instruction is one for Zydis; @out is then unchanged. */
static bool decode_quickly(const uint8_t *bytes, size_t size, struct xf_decoded *out)
{
	struct quick_view view;

	view.next = bytes;
	if (size < QUICK_ROOM || !quick_opcode(&view) || !quick_operands(&view))
		return false;
	out->length = view.next - bytes;
	out->flow = XF_FLOW_NEXT;
	if (view.opcode.what == QUICK_FLOW)
		quick_flow(&view, out);
	else
		quick_meaning(&view, out);
	return true;
}

static void begin(struct xf_decoded *out)
{
	out->length = 1;
	out->flow = XF_FLOW_BAD;
	out->nr_ops = 0;
	out->padding = false;
	out->kills = 0;
	out->target = 0;
}

void xf_insn_decode(const struct xf_decoder *decoder, const uint8_t *bytes, size_t size,
                    struct xf_decoded *out)
{
	begin(out);
	if (!decode_quickly(bytes, size, out))
		decode_by_zydis(decoder, bytes, size, out);
}

void xf_insn_decode_by_zydis(const struct xf_decoder *decoder, const uint8_t *bytes, size_t size,
                             struct xf_decoded *out)
{
	begin(out);
	decode_by_zydis(decoder, bytes, size, out);
}
