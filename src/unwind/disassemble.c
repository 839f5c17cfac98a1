// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/disassemble.h"

#include <Zydis/Zydis.h>

static void find_target(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
                        uint64_t address, struct xf_insn_text *out)
{
	for (unsigned int i = 0; !out->has_target && i < insn->operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &operands[i];
		bool relative =
		        operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand->imm.is_relative;
		bool near_rip = operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		                operand->mem.base == ZYDIS_REGISTER_RIP;

		out->has_target = (relative || near_rip) &&
		                  ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(insn, operand, address,
		                                                        &out->target));
	}
}

void xf_insn_format(const struct xf_code *code, uint64_t address, struct xf_insn_text *out)
{
	uint64_t offset = address - code->address;
	ZydisDecoder decoder;
	ZydisFormatter formatter;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	*out = (struct xf_insn_text){.length = 1, .text = "(bad)"};
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code->bytes + offset,
	                                         code->size - offset, &insn, operands)))
		return;
	out->length = insn.length;
	ZydisFormatterFormatInstruction(&formatter, &insn, operands, insn.operand_count_visible,
	                                out->text, sizeof(out->text), address, NULL);
	find_target(&insn, operands, address, out);
}
