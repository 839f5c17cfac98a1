// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/back.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int xf_back_start(struct xf_back *back, const struct xf_graph *graph, struct xf_states *states)
{
	memset(back, 0, sizeof(*back));
	back->graph = graph;
	back->states = states;
	back->at = malloc((graph->nr_blocks + 1) * sizeof(*back->at));
	back->marks = calloc(graph->nr_blocks + 1, 1);
	return back->at == NULL || back->marks == NULL ? -ENOMEM : 0;
}

void xf_back_free(struct xf_back *back)
{
	free(back->at);
	free(back->marks);
	memset(back, 0, sizeof(*back));
}

/* A store: the value may have come from a register that still held it. */
static void undo_store(struct xf_state *state, const struct xf_op *op)
{
	xf_value where = xf_value_add(state->reg[op->dst], op->value);

	if (where == XF_VALUE_UNKNOWN)
		return;
	if (where == state->rbp_slot) {
		state->rbp_slot = XF_VALUE_UNKNOWN;
		if (op->src == XF_REG_RBP)
			state->reg[XF_REG_RBP] = XF_VALUE_CALLER_RBP;
	}
	if (where == state->base_slot)
		state->base_slot = XF_VALUE_UNKNOWN;
}

static void undo_load(struct xf_state *state, const struct xf_op *op)
{
	bool caller = state->reg[op->dst] == XF_VALUE_CALLER_RBP;

	state->reg[op->dst] = XF_VALUE_UNKNOWN;
	if (caller && state->rbp_slot == XF_VALUE_UNKNOWN)
		state->rbp_slot = xf_value_add(state->reg[op->src], op->value);
}

/* What must have held before @op, given what holds after it. Return: false where nothing can be
 * said, since RSP got its value in a way that cannot be undone. */
static bool undo_op(struct xf_state *state, const struct xf_op *op)
{
	switch ((enum xf_op_kind)op->kind) {
	case XF_OP_ADJUST:
		state->reg[op->dst] = xf_value_add(state->reg[op->dst], -(int64_t)op->value);
		break;
	case XF_OP_COPY:
		if (op->dst == op->src) {
			state->reg[op->dst] =
			        xf_value_add(state->reg[op->dst], -(int64_t)op->value);
			break;
		}
		state->reg[op->dst] = XF_VALUE_UNKNOWN;
		break;
	case XF_OP_STORE:
		undo_store(state, op);
		break;
	case XF_OP_LOAD:
		undo_load(state, op);
		break;
	case XF_OP_ALIGN:
		return false;
	case XF_OP_EXCHANGE:
		if (op->dst == XF_REG_RSP || op->src == XF_REG_RSP)
			return false;
		state->reg[op->dst] = state->reg[op->src] = XF_VALUE_UNKNOWN;
		break;
	}
	return state->reg[XF_REG_RSP] != XF_VALUE_UNKNOWN;
}

static bool undo_insn(struct xf_state *state, const struct xf_insn *insn, const struct xf_op *ops)
{
	for (unsigned int i = insn->nr_ops; i-- != 0;)
		if (!undo_op(state, &ops[i]))
			return false;
	for (unsigned int mask = insn->kills; mask != 0; mask &= mask - 1)
		state->reg[__builtin_ctz(mask)] = XF_VALUE_UNKNOWN;
	return state->reg[XF_REG_RSP] != XF_VALUE_UNKNOWN;
}

/* Undoes @block from its end. Return: false where nothing can be said. */
static bool undo_block(const struct xf_graph *graph, const struct xf_block *block,
                       struct xf_state *state)
{
	struct xf_place at = xf_place_first(graph, block);

	while (at.offset < block->end)
		xf_place_next(&at);
	while (at.offset > block->first) {
		at.insn--;
		at.ops -= at.insn->nr_ops;
		at.offset -= at.insn->length;
		if (!undo_insn(state, at.insn, at.ops))
			return false;
	}
	return true;
}

static const struct xf_state *state_of(const struct xf_back *back, uint32_t block)
{
	if (back->known != NULL && back->known[block] != 0)
		return xf_states_at(back->states, back->known[block]);
	return xf_back_at(back, block);
}

static void join(const struct xf_back *back, uint32_t next, int pushed, struct xf_state *state)
{
	struct xf_state there = *state_of(back, next);

	if (there.kind == XF_STATE_NONE || there.kind == XF_STATE_CONFLICT)
		return;
	there.reg[XF_REG_RSP] = xf_value_add(there.reg[XF_REG_RSP], pushed);
	xf_state_merge(state, &there);
}

/* What must hold after the last instruction of @block: what all its ways on agree about. */
static void state_behind(const struct xf_back *back, const struct xf_block *block,
                         struct xf_state *state)
{
	bool over = block->flags & XF_BLOCK_OVER;

	memset(state, 0, sizeof(*state));
	if (block->flow == XF_FLOW_INTERRUPT_RETURN) {
		/* One that goes on behind itself takes a frame of its own function's making. */
		if (back->known == NULL && block->fall == XF_NOWHERE)
			*state = xf_state_interrupted(0, XF_VALUE_CALLER_RBP);
		return;
	}
	if (block->flow == XF_FLOW_TRAP)
		return;
	if (block->jump != XF_NOWHERE && (block->flow != XF_FLOW_CALL || over))
		join(back, block->jump, over ? 8 : 0, state);
	if (xf_block_falls(back->graph, block)) {
		join(back, block->fall, 0, state);
		if (block->flow == XF_FLOW_CALL || block->flow == XF_FLOW_CALL_INDIRECT)
			xf_state_after_call(state);
	}
}

/* Return: 1 where @index's state changed, 0 where not, or -ENOMEM. */
static int update(struct xf_back *back, uint32_t index)
{
	const struct xf_block *block = &back->graph->blocks[index];
	struct xf_state state, merged = *xf_back_at(back, index);

	state_behind(back, block, &state);
	if (state.kind == XF_STATE_NONE)
		return 0;
	if (state.kind != XF_STATE_CONFLICT && !undo_block(back->graph, block, &state)) {
		memset(&state, 0, sizeof(state));
		/* Only ever less may become known, so that this comes to an end. */
		if (merged.kind != XF_STATE_NONE)
			state.kind = XF_STATE_CONFLICT;
	}
	if (state.kind == XF_STATE_NONE || !xf_state_merge(&merged, &state))
		return 0;
	if (xf_states_number(back->states, &merged, &back->at[index]) != 0)
		return -ENOMEM;
	back->marks[index] |= XF_BACK_TOLD;
	return 1;
}

static int propagate(struct xf_back *back, size_t tail)
{
	const struct xf_graph *graph = back->graph;

	while (tail != 0) {
		uint32_t index = graph->queue[--tail];
		int changed = update(back, index);

		back->marks[index] &= ~XF_BACK_QUEUED;
		if (changed < 0)
			return changed;
		if (changed == 0)
			continue;
		for (uint32_t e = graph->edge_from[index]; e < graph->edge_from[index + 1]; e++) {
			uint32_t before = graph->edges[e];

			if ((back->marks[before] & XF_BACK_QUEUED) ||
			    (back->known != NULL && back->known[before] != 0))
				continue;
			back->marks[before] |= XF_BACK_QUEUED;
			graph->queue[tail++] = before;
		}
	}
	return 0;
}

int xf_back_interrupts(struct xf_back *back)
{
	const struct xf_graph *graph = back->graph;
	size_t tail = 0;

	back->known = NULL;
	for (size_t i = 0; i < graph->nr_blocks; i++) {
		if (graph->blocks[i].flow != XF_FLOW_INTERRUPT_RETURN)
			continue;
		back->marks[i] |= XF_BACK_QUEUED;
		graph->queue[tail++] = i;
	}
	return propagate(back, tail);
}

int xf_back_known(struct xf_back *back, const uint32_t *known)
{
	const struct xf_graph *graph = back->graph;
	size_t tail = 0;
	int ret;

	back->known = known;
	memset(back->marks, 0, graph->nr_blocks);
	for (size_t i = 0; i < graph->nr_blocks; i++) {
		const struct xf_block *block = &graph->blocks[i];

		if (known[i] != 0)
			continue;
		if ((block->jump == XF_NOWHERE || known[block->jump] == 0) &&
		    (block->fall == XF_NOWHERE || known[block->fall] == 0))
			continue;
		back->marks[i] |= XF_BACK_QUEUED;
		graph->queue[tail++] = i;
	}
	ret = propagate(back, tail);
	back->known = NULL;
	return ret;
}
