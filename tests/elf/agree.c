// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/agree.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "unwind/table.h"

const char *const difference_names[NR_DIFFERENCES] = {
        "offset from RSP",
        "called or interrupted",
        "by a register unknown to us",
        "by a word unknown to us",
};

/* By enum xf_ground. */
const char *const ground_names[NR_GROUNDS] = {"none", "flow", "trap", "behind", "switch", "apart"};

/* Everything that one comparison needs. */
struct comparison {
	struct xf_inference inference;
	struct known *known; /* for each offset */
	uint32_t done;       /* where the last instruction that was compared ends */
	struct xf_decoder decoder;
	struct agreement *agreement;
};

struct known *spread_states(struct xf_inference *inference)
{
	const struct xf_graph *graph = &inference->graph;
	struct known *known = calloc(graph->code->size, sizeof(*known));

	for (size_t i = 0; known != NULL && i < graph->nr_blocks; i++) {
		struct xf_state state = *xf_infer_before(inference, i);
		struct xf_place at = xf_place_first(graph, &graph->blocks[i]);

		if (state.kind == XF_STATE_NONE)
			continue;
		for (; at.offset < graph->blocks[i].end; xf_place_next(&at)) {
			if (xf_states_number(&inference->states, &state,
			                     &known[at.offset].number) != 0) {
				free(known);
				return NULL;
			}
			known[at.offset].ground = inference->ground[i];
			xf_infer_step(&at, &state);
		}
	}
	return known;
}

static bool same_kind(const struct xf_unwind_row *row, const struct xf_state *state)
{
	return row->kind == XF_ROW_CALL ? state->kind == XF_STATE_CALL
	                                : state->kind == XF_STATE_INTERRUPT;
}

static bool same_base(const struct xf_unwind_row *row, const struct xf_state *state)
{
	xf_value from = state->reg[row->base_register % XF_NR_REGS];

	if (row->base_rule == XF_BASE_WORD)
		return state->base_slot != XF_VALUE_UNKNOWN &&
		       state->base_slot == xf_value_add(from, row->base_offset) &&
		       state->base_saved == xf_value_make(XF_ORIGIN_FRAME, -row->base_addend);
	return from == xf_value_make(XF_ORIGIN_FRAME, -(int64_t)row->base_offset);
}

static xf_value rbp_place(const struct xf_unwind_row *row, const struct xf_state *state)
{
	if (row->rbp_rule == XF_RBP_AT_BASE)
		return xf_value_make(XF_ORIGIN_FRAME, row->rbp_offset);
	if (row->rbp_rule == XF_RBP_AT_RBP)
		return xf_value_add(state->reg[XF_REG_RBP], row->rbp_offset);
	return xf_value_add(state->reg[XF_REG_RSP], row->rbp_offset);
}

static void count_rbp(struct agreement *agreement, const struct xf_unwind_row *row,
                      const struct xf_state *state)
{
	/* Already restored, or not yet changed: the same value, wherever the table has it from. */
	bool in_register = state->reg[XF_REG_RBP] == XF_VALUE_CALLER_RBP;

	if (row->rbp_rule == XF_RBP_UNKNOWN || in_register ||
	    (row->rbp_rule != XF_RBP_SAME && state->rbp_slot != XF_VALUE_UNKNOWN &&
	     state->rbp_slot == rbp_place(row, state)))
		agreement->rbp_equal++;
	else if (state->rbp_slot == XF_VALUE_UNKNOWN)
		agreement->rbp_unknown++;
	else
		agreement->rbp_different++;
}

static enum difference difference_of(const struct xf_unwind_row *row, const struct xf_state *state)
{
	xf_value from = state->reg[row->base_register % XF_NR_REGS];

	if (!same_kind(row, state))
		return DIFFERENT_ENTRY;
	if (row->base_rule == XF_BASE_WORD)
		return DIFFERENT_WORD;
	return xf_value_origin(from) == XF_ORIGIN_FRAME ? DIFFERENT_OFFSET : DIFFERENT_REGISTER;
}

/* An instruction that both sides say something about. */
struct place {
	const struct xf_unwind_row *row; /* the table's */
	const struct xf_state *state;    /* ours */
	uint8_t ground;
	uint64_t address;
	bool padding;
	bool moves; /* see moves_rsp */
};

static void list(const struct agreement *agreement, const struct place *place, const char *what)
{
	const struct xf_unwind_row *row = place->row;
	struct xf_unwind_row ours = xf_state_row(place->state);

	if (agreement->list == NULL)
		return;
	fprintf(agreement->list,
	        "%" PRIx64 " %s: the table's kind %u rule %u r%u%+d%+d, ours %u %u r%u%+d%+d, "
	        "ground %s\n",
	        place->address, what, row->kind, row->base_rule, row->base_register,
	        row->base_offset, row->base_addend, ours.kind, ours.base_rule, ours.base_register,
	        ours.base_offset, ours.base_addend, ground_names[place->ground]);
}

static void count_different(struct agreement *agreement, const struct place *place)
{
	enum difference difference = difference_of(place->row, place->state);

	agreement->different[difference]++;
	agreement->grounds[place->ground]++;
	list(agreement, place, difference_names[difference]);
}

static void count_insn(struct agreement *agreement, const struct place *place)
{
	const struct xf_state *state = place->state;
	bool equal = state->kind != XF_STATE_NONE && same_kind(place->row, state) &&
	             same_base(place->row, state);
	struct xf_unwind_row ours = xf_state_row(state);

	/* Filler that is jumped over, or lies behind a call that does not come back. */
	if (place->padding && !equal) {
		agreement->filler++;
		return;
	}
	agreement->all++;
	if (equal) {
		agreement->equal++;
		count_rbp(agreement, place->row, state);
	} else if (ours.kind == XF_ROW_UNDEFINED) {
		agreement->undefined[ours.reason]++;
		list(agreement, place, xf_unwind_reason_name((enum xf_unwind_reason)ours.reason));
	} else if (place->moves) {
		agreement->blind++;
		list(agreement, place, "blind");
	} else {
		count_different(agreement, place);
	}
}

bool moves_rsp(const struct xf_code *code, uint64_t from, uint64_t to)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	while (from < to) {
		uint64_t offset = from - code->address;

		if (offset >= code->size ||
		    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code->bytes + offset,
		                                         code->size - offset, &insn, operands)))
			return false;
		from += insn.length;
		if (insn.mnemonic == ZYDIS_MNEMONIC_CALL && operands[0].imm.is_relative &&
		    operands[0].imm.value.s >= 0 && operands[0].imm.value.s < 16)
			return true;
		if (insn.meta.category == ZYDIS_CATEGORY_CALL ||
		    insn.meta.category == ZYDIS_CATEGORY_RET || from >= to)
			continue;
		for (unsigned int i = 0; i < insn.operand_count; i++)
			if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			    operands[i].reg.value == ZYDIS_REGISTER_RSP &&
			    (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
				return true;
	}
	return false;
}

/*
 * The instructions from @from to @to, for which the table has @row. Where alternative instructions
 * may take the place of one, there are rules for addresses inside it: they are passed over.
 */
static void compare_run(struct comparison *comparison, const struct xf_unwind_row *row,
                        uint32_t from, uint32_t to)
{
	const struct xf_code *code = comparison->inference.graph.code;
	bool by_rsp = row->base_rule == XF_BASE_REGISTER && row->base_register == XF_REG_RSP;
	bool moves = by_rsp && moves_rsp(code, code->address + from, code->address + to);

	if (from < comparison->done) {
		comparison->agreement->inside++;
		from = comparison->done;
	}
	while (from < to) {
		const struct known *known = &comparison->known[from];
		struct xf_decoded decoded;

		xf_insn_decode(&comparison->decoder, code->bytes + from, code->size - from,
		               &decoded);
		count_insn(
		        comparison->agreement,
		        &(struct place){
		                .row = row,
		                .state = xf_states_at(&comparison->inference.states, known->number),
		                .ground = known->ground,
		                .address = code->address + from,
		                .padding = decoded.padding,
		                .moves = moves,
		        });
		from += decoded.length;
	}
	comparison->done = from;
}

static void count_beyond(struct comparison *comparison, uint32_t from, uint32_t to)
{
	for (; from < to; from++) {
		const struct xf_state *state =
		        xf_states_at(&comparison->inference.states, comparison->known[from].number);

		if (comparison->known[from].number != 0 &&
		    xf_state_row(state).kind != XF_ROW_UNDEFINED)
			comparison->agreement->beyond++;
	}
}

int agree(const struct xf_code *code, const uint64_t *entries, size_t nr_entries,
          const struct xf_unwind_table *truth, struct agreement *agreement)
{
	struct comparison comparison = {.agreement = agreement};
	int ret = xf_infer(&comparison.inference, code, entries, nr_entries);

	xf_decoder_start(&comparison.decoder);
	if (ret == 0) {
		comparison.known = spread_states(&comparison.inference);
		ret = comparison.known != NULL ? 0 : -ENOMEM;
	}
	for (uint64_t from = 0, to = 0; ret == 0 && from < truth->size; from = to) {
		const struct xf_unwind_row *row = xf_table_at(truth, from);

		while (to < truth->size && xf_table_at(truth, to) == row)
			to++;
		if (row->kind == XF_ROW_UNDEFINED)
			count_beyond(&comparison, from, to);
		else
			compare_run(&comparison, row, from, to);
	}
	free(comparison.known);
	xf_infer_free(&comparison.inference);
	return ret;
}

static void report_line(FILE *out, const char *group, const char *name, unsigned long count,
                        unsigned long all)
{
	if (count != 0)
		fprintf(out, "%12lu %8.4f %%  %s%s\n", count, all ? 100.0 * count / all : 0, group,
		        name);
}

void agree_report(const struct agreement *agreement, FILE *out)
{
	unsigned long all = agreement->all;

	fprintf(out, "%12lu instructions that the table has a rule for, and %lu of filler\n", all,
	        agreement->filler);
	fprintf(out, "%12lu rules for the inside of an instruction\n", agreement->inside);
	report_line(out, "", "base equal", agreement->equal, all);
	for (unsigned int i = 0; i < 256; i++)
		report_line(out, "undefined, ", xf_unwind_reason_name((enum xf_unwind_reason)i),
		            agreement->undefined[i], all);
	report_line(out, "", "RSP moves under one rule of the table", agreement->blind, all);
	for (unsigned int i = 0; i < NR_DIFFERENCES; i++)
		report_line(out, "different, ", difference_names[i], agreement->different[i], all);
	for (unsigned int i = 0; i < NR_GROUNDS; i++)
		report_line(out, "  of these, ours on the ground ", ground_names[i],
		            agreement->grounds[i], all);

	report_line(out, "", "RBP equal, of those with an equal base", agreement->rbp_equal,
	            agreement->equal);
	report_line(out, "", "RBP unknown", agreement->rbp_unknown, agreement->equal);
	report_line(out, "", "RBP different", agreement->rbp_different, agreement->equal);
	fprintf(out, "%12lu instructions beyond the table\n", agreement->beyond);
}
