// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The only file pair that knows opcodes (with opcodes.def, its table of the frequent ones): one
 * x86-64 instruction to where control goes after it and a short list of what it does to the
 * registers and words that can hold stack addresses. The numbers of registers are those of the
 * x86-64 encoding.
 */
#ifndef XF_UNWIND_DECODE_H
#define XF_UNWIND_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xf_register {
	XF_REG_RAX = 0,
	XF_REG_RCX = 1,
	XF_REG_RDX = 2,
	XF_REG_RBX = 3,
	XF_REG_RSP = 4,
	XF_REG_RBP = 5,
	XF_REG_RSI = 6,
	XF_REG_RDI = 7,
	XF_REG_R8 = 8,
	XF_REG_R10 = 10,
	XF_REG_R15 = 15,
	XF_NR_REGS = 16,
	XF_REG_NONE = 255,
};

/* Registers that a called function may leave changed (System V ABI), as a mask. */
#define XF_CALL_CLOBBERED 0x0fc7u

enum xf_flow {
	XF_FLOW_NEXT,             /* the following instruction */
	XF_FLOW_JUMP,             /* @target only */
	XF_FLOW_BRANCH,           /* @target or the following one */
	XF_FLOW_CALL,             /* calls @target */
	XF_FLOW_CALL_INDIRECT,    /* calls what cannot be seen */
	XF_FLOW_JUMP_INDIRECT,    /* jumps to what cannot be seen */
	XF_FLOW_RETURN,           /* pops an address and jumps there */
	XF_FLOW_INTERRUPT_RETURN, /* iretq */
	XF_FLOW_TRAP,             /* ud2: goes on behind it where a handler says so */
	XF_FLOW_STOP,             /* nothing follows here: int3, sysret */
	XF_FLOW_BAD,              /* no instruction */
};

static inline bool xf_flow_is_direct(enum xf_flow flow)
{
	return flow == XF_FLOW_JUMP || flow == XF_FLOW_BRANCH || flow == XF_FLOW_CALL;
}

enum xf_op_kind {
	XF_OP_ADJUST,   /* dst += value */
	XF_OP_COPY,     /* dst = src + value */
	XF_OP_ALIGN,    /* dst &= value, value a negative power of two */
	XF_OP_STORE,    /* word at dst + value = src; XF_REG_NONE: something else */
	XF_OP_LOAD,     /* dst = word at src + value */
	XF_OP_EXCHANGE, /* dst <-> src */
};

struct xf_op {
	uint8_t kind; /* enum xf_op_kind */
	uint8_t dst;
	uint8_t src;
	uint8_t unused;
	int32_t value;
};

#define XF_MAX_OPS 4

struct xf_decoded {
	uint8_t length; /* bytes; 1 for XF_FLOW_BAD */
	uint8_t flow;   /* enum xf_flow */
	uint8_t nr_ops;
	bool padding;   /* int3 or a no-operation: may be filler */
	uint16_t kills; /* mask of registers that get a value unknown; applies before the ops */
	int64_t target; /* for direct flow: distance from the start of this instruction */
	struct xf_op ops[XF_MAX_OPS];
};

/* Opaque room for the decoder's tables, so that nothing here is global. */
struct xf_decoder {
	uint64_t room[8];
};

void xf_decoder_start(struct xf_decoder *decoder);

/* Decodes the instruction at @bytes (@size of them are there, at least 1). Never fails: what is no
 * instruction is XF_FLOW_BAD. */
void xf_insn_decode(const struct xf_decoder *decoder, const uint8_t *bytes, size_t size,
                    struct xf_decoded *out);

/* The same without the table of frequent instructions, for those who compare. */
void xf_insn_decode_by_zydis(const struct xf_decoder *decoder, const uint8_t *bytes, size_t size,
                             struct xf_decoded *out);

#endif
