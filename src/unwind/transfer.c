// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/transfer.h"

#include <string.h>

struct xf_state xf_state_called(void)
{
	struct xf_state state = {0};

	state.kind = XF_STATE_CALL;
	state.reg[XF_REG_RSP] = xf_value_make(XF_ORIGIN_FRAME, -8);
	state.reg[XF_REG_RBP] = XF_VALUE_CALLER_RBP;
	return state;
}

struct xf_state xf_state_interrupted(int32_t above, xf_value rbp)
{
	struct xf_state state = {0};

	state.kind = XF_STATE_INTERRUPT;
	state.reg[XF_REG_RSP] = xf_value_make(XF_ORIGIN_FRAME, -(int64_t)above);
	if (rbp == XF_VALUE_CALLER_RBP)
		state.reg[XF_REG_RBP] = rbp;
	else
		state.rbp_slot = rbp;
	return state;
}

struct xf_state xf_state_called_on(const struct xf_state *interrupted)
{
	struct xf_state state = *interrupted;
	int32_t words = -xf_value_offset(state.reg[XF_REG_RSP]) / 8;

	state.called_words = words > 0 && words <= UINT8_MAX ? (uint8_t)words : 0;
	return state;
}

/* Is the return address of the call that went to this interrupt's frame still on the stack? */
static bool has_return_address(const struct xf_state *state)
{
	xf_value rsp = state->reg[XF_REG_RSP];

	return state->called_words != 0 && xf_value_origin(rsp) == XF_ORIGIN_FRAME &&
	       xf_value_offset(rsp) <= -8 * (int32_t)state->called_words;
}

/* Forgets all that is measured from an alignment that no longer has one meaning. */
static bool forget_aligned(struct xf_state *state)
{
	bool changed = state->align_site != 0;

	for (unsigned int i = 0; i < XF_NR_REGS; i++)
		if (xf_value_origin(state->reg[i]) == XF_ORIGIN_ALIGNED)
			state->reg[i] = XF_VALUE_UNKNOWN;
	if (xf_value_origin(state->rbp_slot) == XF_ORIGIN_ALIGNED)
		state->rbp_slot = XF_VALUE_UNKNOWN;
	if (xf_value_origin(state->base_slot) == XF_ORIGIN_ALIGNED)
		state->base_slot = XF_VALUE_UNKNOWN;
	state->align_site = 0;
	return changed;
}

static void step_align(struct xf_state *state, uint32_t site)
{
	forget_aligned(state);
	state->align_site = site;
	state->reg[XF_REG_RSP] = xf_value_make(XF_ORIGIN_ALIGNED, 0);
}

static void step_store(struct xf_state *state, const struct xf_op *op)
{
	xf_value where = xf_value_add(state->reg[op->dst], op->value);
	xf_value what = op->src == XF_REG_NONE ? XF_VALUE_UNKNOWN : state->reg[op->src];

	if (where == XF_VALUE_UNKNOWN || xf_value_origin(where) == XF_ORIGIN_CALLER)
		return;
	if (where == state->rbp_slot)
		state->rbp_slot = XF_VALUE_UNKNOWN;
	if (where == state->base_slot)
		state->base_slot = XF_VALUE_UNKNOWN;
	if (what == XF_VALUE_CALLER_RBP) {
		state->rbp_slot = where;
	} else if (xf_value_origin(what) == XF_ORIGIN_FRAME &&
	           xf_value_origin(where) == XF_ORIGIN_ALIGNED) {
		state->base_slot = where;
		state->base_saved = what;
	}
}

static void step_load(struct xf_state *state, const struct xf_op *op)
{
	xf_value where = xf_value_add(state->reg[op->src], op->value);
	xf_value value = XF_VALUE_UNKNOWN;

	if (where != XF_VALUE_UNKNOWN && where == state->rbp_slot)
		value = XF_VALUE_CALLER_RBP;
	else if (where != XF_VALUE_UNKNOWN && where == state->base_slot)
		value = state->base_saved;
	state->reg[op->dst] = value;
	if (op->dst == XF_REG_RSP && value == XF_VALUE_UNKNOWN)
		state->reason = XF_UNWIND_STACK_SWITCHED;
}

static void step_copy(struct xf_state *state, const struct xf_op *op)
{
	state->reg[op->dst] = xf_value_add(state->reg[op->src], op->value);
	if (op->dst == XF_REG_RSP && state->reg[XF_REG_RSP] == XF_VALUE_UNKNOWN)
		state->reason = XF_UNWIND_STACK_SWITCHED;
}

static void step_exchange(struct xf_state *state, const struct xf_op *op)
{
	xf_value kept = state->reg[op->dst];

	state->reg[op->dst] = state->reg[op->src];
	state->reg[op->src] = kept;
	if (state->reg[XF_REG_RSP] == XF_VALUE_UNKNOWN)
		state->reason = XF_UNWIND_STACK_SWITCHED;
}

void xf_state_step(struct xf_state *state, uint16_t kills, const struct xf_op *ops,
                   unsigned int nr_ops, uint32_t site)
{
	if (kills & (1u << XF_REG_RSP))
		state->reason = XF_UNWIND_STACK_UNKNOWN;
	for (unsigned int mask = kills; mask != 0; mask &= mask - 1)
		state->reg[__builtin_ctz(mask)] = XF_VALUE_UNKNOWN;
	for (unsigned int i = 0; i < nr_ops; i++) {
		const struct xf_op *op = &ops[i];

		switch ((enum xf_op_kind)op->kind) {
		case XF_OP_ADJUST:
			state->reg[op->dst] = xf_value_add(state->reg[op->dst], op->value);
			break;
		case XF_OP_COPY:
			step_copy(state, op);
			break;
		case XF_OP_ALIGN:
			step_align(state, site);
			break;
		case XF_OP_STORE:
			step_store(state, op);
			break;
		case XF_OP_LOAD:
			step_load(state, op);
			break;
		case XF_OP_EXCHANGE:
			step_exchange(state, op);
			break;
		}
	}
	if (!has_return_address(state))
		state->called_words = 0;
}

void xf_state_after_call(struct xf_state *state)
{
	for (unsigned int mask = XF_CALL_CLOBBERED; mask != 0; mask &= mask - 1)
		state->reg[__builtin_ctz(mask)] = XF_VALUE_UNKNOWN;
}

static bool merge_conflict(struct xf_state *state)
{
	if (state->kind == XF_STATE_CONFLICT)
		return false;
	memset(state, 0, sizeof(*state));
	state->kind = XF_STATE_CONFLICT;
	state->reason = XF_UNWIND_DISAGREEMENT;
	return true;
}

static bool merge_value(xf_value *value, xf_value other)
{
	if (*value == other || *value == XF_VALUE_UNKNOWN)
		return false;
	*value = XF_VALUE_UNKNOWN;
	return true;
}

bool xf_state_merge(struct xf_state *state, const struct xf_state *other)
{
	xf_value rsp = state->reg[XF_REG_RSP];
	bool changed = false;

	if (state->kind == XF_STATE_NONE) {
		*state = *other;
		return true;
	}
	if (state->kind != other->kind)
		return merge_conflict(state);
	if (state->align_site != other->align_site)
		changed |= forget_aligned(state);
	for (unsigned int i = 0; i < XF_NR_REGS; i++)
		changed |= merge_value(&state->reg[i], other->reg[i]);
	changed |= merge_value(&state->rbp_slot, other->rbp_slot);
	if (state->base_slot != other->base_slot || state->base_saved != other->base_saved)
		changed |= merge_value(&state->base_slot, XF_VALUE_UNKNOWN);
	if (state->called_words != other->called_words) {
		changed |= state->called_words != 0;
		state->called_words = 0;
	}
	if (rsp != XF_VALUE_UNKNOWN && state->reg[XF_REG_RSP] == XF_VALUE_UNKNOWN)
		state->reason = other->reg[XF_REG_RSP] == XF_VALUE_UNKNOWN ? other->reason
		                                                           : XF_UNWIND_DISAGREEMENT;
	return changed;
}

/* The base through a word of the stack. Return: false where there is no such word, or only one
 * below RSP, which the next interrupt overwrites. */
static bool row_base_word(const struct xf_state *state, struct xf_unwind_row *row)
{
	static const uint8_t through[] = {XF_REG_RSP, XF_REG_RBP};

	if (state->base_slot == XF_VALUE_UNKNOWN)
		return false;
	for (unsigned int i = 0; i < 2; i++) {
		xf_value value = state->reg[through[i]];

		if (xf_value_origin(value) != xf_value_origin(state->base_slot))
			continue;
		row->base_rule = XF_BASE_WORD;
		row->base_register = through[i];
		row->base_offset = xf_value_offset(state->base_slot) - xf_value_offset(value);
		row->base_addend = -xf_value_offset(state->base_saved);
		return through[i] != XF_REG_RSP || row->base_offset >= 0;
	}
	return false;
}

/* Where the frame's base lies. Return: false where it cannot be told. */
static bool row_base(const struct xf_state *state, struct xf_unwind_row *row)
{
	static const uint8_t order[XF_NR_REGS] = {
	        XF_REG_RSP, XF_REG_RBP, XF_REG_R10, 0, 1, 2, 3, 6, 7, 8, 9, 11, 12, 13, 14, 15};

	for (unsigned int i = 0; i < XF_NR_REGS; i++) {
		xf_value value = state->reg[order[i]];

		/* A word that leads to the base is better than a register that no sample holds. */
		if (i == 2 && row_base_word(state, row))
			return true;
		if (xf_value_origin(value) != XF_ORIGIN_FRAME)
			continue;
		row->base_rule = XF_BASE_REGISTER;
		row->base_register = order[i];
		row->base_offset = -xf_value_offset(value);
		row->base_addend = 0;
		return true;
	}
	return false;
}

/* Where the caller's RBP is. */
static void row_rbp(const struct xf_state *state, struct xf_unwind_row *row)
{
	xf_value slot = state->rbp_slot;

	row->rbp_rule = XF_RBP_UNKNOWN;
	if (state->reg[XF_REG_RBP] == XF_VALUE_CALLER_RBP) {
		row->rbp_rule = XF_RBP_SAME;
	} else if (xf_value_origin(slot) == XF_ORIGIN_FRAME) {
		row->rbp_rule = XF_RBP_AT_BASE;
		row->rbp_offset = xf_value_offset(slot);
	} else if (xf_value_origin(slot) == XF_ORIGIN_ALIGNED) {
		/* RSP is known in every frame of a walk, RBP is not. */
		if (xf_value_origin(state->reg[XF_REG_RSP]) == XF_ORIGIN_ALIGNED) {
			row->rbp_rule = XF_RBP_AT_RSP;
			row->rbp_offset =
			        xf_value_offset(slot) - xf_value_offset(state->reg[XF_REG_RSP]);
		} else if (xf_value_origin(state->reg[XF_REG_RBP]) == XF_ORIGIN_ALIGNED) {
			row->rbp_rule = XF_RBP_AT_RBP;
			row->rbp_offset =
			        xf_value_offset(slot) - xf_value_offset(state->reg[XF_REG_RBP]);
		}
	}
}

/* The caller reset the stack: what its own RBP was nobody knows, and nobody needs. */
static void row_through_call(const struct xf_state *state, struct xf_unwind_row *row)
{
	*row = (struct xf_unwind_row){
	        .kind = XF_ROW_CALL,
	        .base_rule = XF_BASE_REGISTER,
	        .base_register = XF_REG_RSP,
	        .base_offset = 8 - 8 * (int32_t)state->called_words -
	                       xf_value_offset(state->reg[XF_REG_RSP]),
	        .rbp_rule = XF_RBP_UNKNOWN,
	};
}

struct xf_unwind_row xf_state_row(const struct xf_state *state)
{
	struct xf_unwind_row row = {0};

	row.kind = XF_ROW_UNDEFINED;
	row.reason = state->kind == XF_STATE_NONE ? XF_UNWIND_UNREACHED : state->reason;
	if (state->kind != XF_STATE_CALL && state->kind != XF_STATE_INTERRUPT)
		return row;
	if (!row_base(state, &row)) {
		if (row.reason == 0)
			row.reason = XF_UNWIND_STACK_UNKNOWN;
		return row;
	}
	row.reason = 0;
	row_rbp(state, &row);
	row.kind = state->kind == XF_STATE_CALL ? XF_ROW_CALL : XF_ROW_INTERRUPT;
	if (has_return_address(state))
		row_through_call(state, &row);
	return row;
}
