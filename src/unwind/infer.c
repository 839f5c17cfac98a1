// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/infer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/back.h"
#include "unwind/doubt.h"

/* One run over the code. */
struct run {
	struct xf_graph *graph;
	struct xf_states *states;
	uint32_t *before; /* for each block: number of the state at its beginning */
	uint8_t *grounds;
	struct xf_back back;
	uint8_t *queued;
	size_t tail; /* of graph->queue */
	uint8_t ground;
	bool failed; /* memory ran out: what is there is not all */
};

static bool has_base(const struct xf_state *state)
{
	return xf_value_origin(state->reg[XF_REG_RSP]) == XF_ORIGIN_FRAME ||
	       xf_value_origin(state->reg[XF_REG_RBP]) == XF_ORIGIN_FRAME ||
	       state->base_slot != XF_VALUE_UNKNOWN;
}

/*
 * Has the code left its stack for one that it found elsewhere? Then it knows what it will find
 * there, and we do not: such a path says nothing about the frame of the code that it comes to.
 */
static bool is_switched(const struct xf_state *state)
{
	return state->reason == XF_UNWIND_STACK_SWITCHED && !has_base(state);
}

/* Makes @state what is known at the beginning of @block. */
static void set_before(struct run *run, uint32_t block, const struct xf_state *state)
{
	if (xf_states_number(run->states, state, &run->before[block]) != 0)
		run->failed = true;
	if (run->grounds[block] == XF_GROUND_NONE)
		run->grounds[block] = run->ground;
	if (run->queued[block])
		return;
	run->queued[block] = 1;
	run->graph->queue[run->tail++] = block;
}

/* Brings @state to the beginning of the block @to. */
static void arrive(struct run *run, uint32_t to, const struct xf_state *state)
{
	struct xf_state merged;

	if (to == XF_NOWHERE || state->kind == XF_STATE_NONE)
		return;
	/* What stands on weaker ground changes nothing that stands on a stronger one. */
	if (run->grounds[to] != XF_GROUND_NONE && run->grounds[to] < run->ground)
		return;
	merged = *xf_states_at(run->states, run->before[to]);
	if (is_switched(&merged) && !is_switched(state))
		merged = *state;
	else if ((is_switched(state) && merged.kind != XF_STATE_NONE) ||
	         !xf_state_merge(&merged, state))
		return;
	set_before(run, to, &merged);
}

/*
 * A jump or a fall into @to. A block that is called begins a frame of its own, whoever else jumps
 * there; an entry is not spoilt by one who has left his stack for another.
 */
static void jump_to(struct run *run, uint32_t to, const struct xf_state *state)
{
	const struct xf_block *block;

	if (to == XF_NOWHERE)
		return;
	block = &run->graph->blocks[to];
	if (block->flags & XF_BLOCK_CALLED)
		return;
	if (!has_base(state) && (run->graph->marks[block->first] & XF_MARK_ENTRY))
		return;
	arrive(run, to, state);
}

/* On to the following block. Behind a change of stacks, an iretq further on may tell the frame. */
static void fall_to(struct run *run, uint32_t to, const struct xf_state *state)
{
	const struct xf_state *back;

	if (to == XF_NOWHERE)
		return;
	back = xf_back_at(&run->back, to);
	if (!has_base(state) && back->kind == XF_STATE_INTERRUPT && run->ground == XF_GROUND_FLOW)
		arrive(run, to, back);
	else
		jump_to(run, to, state);
}

/* Sends the state behind the last instruction of @block where control can go. */
static void leave_block(struct run *run, const struct xf_block *block, struct xf_state *state)
{
	switch ((enum xf_flow)block->flow) {
	case XF_FLOW_NEXT:
		fall_to(run, block->fall, state);
		break;
	case XF_FLOW_JUMP:
		jump_to(run, block->jump, state);
		break;
	case XF_FLOW_BRANCH:
		jump_to(run, block->jump, state);
		fall_to(run, block->fall, state);
		break;
	case XF_FLOW_CALL:
		if (block->flags & XF_BLOCK_OVER) {
			state->reg[XF_REG_RSP] = xf_value_add(state->reg[XF_REG_RSP], -8);
			arrive(run, block->jump, state);
			break;
		}
		/* fall through */
	case XF_FLOW_CALL_INDIRECT:
		if (!xf_block_falls(run->graph, block))
			break;
		xf_state_after_call(state);
		fall_to(run, block->fall, state);
		break;
	default:
		break;
	}
}

/* Return: the state behind the last instruction of the block @index. */
static struct xf_state state_behind(const struct run *run, uint32_t index)
{
	const struct xf_block *block = &run->graph->blocks[index];
	struct xf_place at = xf_place_first(run->graph, block);
	struct xf_state state = *xf_states_at(run->states, run->before[index]);

	for (; at.offset < block->end; xf_place_next(&at))
		xf_infer_step(&at, &state);
	return state;
}

static void settle(struct run *run)
{
	while (run->tail != 0) {
		uint32_t index = run->graph->queue[--run->tail];
		struct xf_state state = state_behind(run, index);

		run->queued[index] = 0;
		leave_block(run, &run->graph->blocks[index], &state);
	}
}

/*
 * Is the entry @index where an interrupt or exception comes in? An iretq must lie ahead whose frame
 * is at or above the stack pointer here, or is completed by pushes from here (SYSCALL, SYSENTER).
 * What is called does not count: it may push a frame of its own and iretq to itself.
 */
static bool is_interrupt_entry(const struct run *run, uint32_t index)
{
	const struct xf_state *back = xf_back_at(&run->back, index);

	return back->kind == XF_STATE_INTERRUPT &&
	       !(run->graph->blocks[index].flags & XF_BLOCK_CALLED) &&
	       xf_value_origin(back->reg[XF_REG_RSP]) == XF_ORIGIN_FRAME &&
	       xf_value_offset(back->reg[XF_REG_RSP]) <= 40;
}

/*
 * Does the block @index begin by dropping a word? Hardware leaves at most an error code below its
 * frame: what is dropped from a stack where more of a frame is already built is a return address.
 */
static bool drops_return_address(const struct run *run, uint32_t index)
{
	const struct xf_block *block = &run->graph->blocks[index];
	struct xf_place at = xf_place_first(run->graph, block);
	struct xf_state state = *xf_back_at(&run->back, index);
	xf_value rsp = state.reg[XF_REG_RSP];

	if (xf_value_offset(rsp) >= -8)
		return false;
	for (; at.offset < block->end && state.reg[XF_REG_RSP] == rsp; xf_place_next(&at))
		xf_infer_step(&at, &state);
	return state.reg[XF_REG_RSP] == xf_value_add(rsp, 8);
}

/* What is known at an interrupt's or exception's entry. */
static struct xf_state interrupt_state(const struct run *run, uint32_t index)
{
	const struct xf_state *back = xf_back_at(&run->back, index);

	return drops_return_address(run, index) ? xf_state_called_on(back) : *back;
}

static bool is_entry(const struct run *run, uint32_t index)
{
	return run->graph->marks[run->graph->blocks[index].first] & XF_MARK_ENTRY;
}

/* Functions that are called, and entries that nothing else leads to. */
static void seed_entries(struct run *run)
{
	const struct xf_state called = xf_state_called();

	for (size_t i = 0; i < run->graph->nr_blocks; i++) {
		uint8_t flags = run->graph->blocks[i].flags;
		struct xf_state state = called;

		if (!(flags & XF_BLOCK_CALLED) && (!is_entry(run, i) || (flags & XF_BLOCK_JOINED)))
			continue;
		if (is_interrupt_entry(run, i))
			state = interrupt_state(run, i);
		arrive(run, i, &state);
	}
	settle(run);
}

/* Interrupt entries without a name, and what lies behind a test that goes both ways. Without a
 * name only a frame that is complete counts: a function may be pushing one for itself. */
static void seed_interrupts(struct run *run)
{
	for (size_t i = 0; i < run->graph->nr_blocks; i++) {
		const struct xf_state *back = xf_back_at(&run->back, i);

		if (run->before[i] == 0 && is_interrupt_entry(run, i) &&
		    (is_entry(run, i) || xf_value_offset(back->reg[XF_REG_RSP]) <= 0))
			arrive(run, i, back);
	}
	settle(run);
}

/*
 * Entries that are only jumped to, by code that has not been reached or has left its stack. One by
 * one, since the first of them may lead to the others; those that look like functions first.
 */
static void seed_jumped(struct run *run)
{
	const struct xf_state called = xf_state_called();

	for (unsigned int alignment = 16; alignment != 0; alignment = alignment == 16 ? 1 : 0) {
		for (size_t i = 0; i < run->graph->nr_blocks; i++) {
			uint64_t address = run->graph->code->address + run->graph->blocks[i].first;

			if (!is_entry(run, i) || run->before[i] != 0 || address % alignment != 0)
				continue;
			arrive(run, i, &called);
			settle(run);
		}
	}
}

/* Return: the register that the fourth-last push of @block saved, where iretq takes RSP from. */
static unsigned int pushed_rsp(const struct xf_graph *graph, const struct xf_block *block)
{
	uint8_t pushed[4] = {XF_REG_NONE, XF_REG_NONE, XF_REG_NONE, XF_REG_NONE};
	struct xf_place at = xf_place_first(graph, block);

	for (; at.offset < block->end; xf_place_next(&at)) {
		for (unsigned int i = 0; i < at.insn->nr_ops; i++) {
			const struct xf_op *op = &at.ops[i];

			if (op->kind != XF_OP_STORE || op->dst != XF_REG_RSP || op->value != -8)
				continue;
			memmove(pushed, pushed + 1, sizeof(pushed) - 1);
			pushed[3] = op->src;
		}
	}
	return pushed[0];
}

/*
 * Makes @state, known before the iretq that ends @block, what it is where the iretq goes on right
 * behind itself, having taken a frame that this very function pushed. Return: false where it is
 * no such one.
 */
static bool pass_own_iret(const struct xf_graph *graph, const struct xf_block *block,
                          struct xf_state *state)
{
	unsigned int reg = pushed_rsp(graph, block);
	xf_value rsp = state->reg[XF_REG_RSP];

	if (state->kind != XF_STATE_CALL)
		return false;
	if (reg < XF_NR_REGS && reg != XF_REG_RSP &&
	    xf_value_origin(state->reg[reg]) == XF_ORIGIN_FRAME)
		rsp = state->reg[reg];
	else
		rsp = xf_value_add(rsp, 40);
	if (xf_value_origin(rsp) != XF_ORIGIN_FRAME || xf_value_offset(rsp) > -8)
		return false;
	state->reg[XF_REG_RSP] = rsp;
	return true;
}

/* Does what must hold at a block, told from behind, speak against @state? */
static bool contradicts(const struct xf_state *back, const struct xf_state *state)
{
	return back->kind != XF_STATE_NONE &&
	       (back->kind != state->kind || back->reg[XF_REG_RSP] != state->reg[XF_REG_RSP]);
}

/* Code that nothing leads to, right behind a ud2 that a handler may skip, or behind an iretq. */
static void seed_traps(struct run *run)
{
	run->ground = XF_GROUND_TRAP;
	for (size_t i = 0; i < run->graph->nr_blocks; i++) {
		const struct xf_block *block = &run->graph->blocks[i];
		struct xf_state state;

		if ((block->flow != XF_FLOW_TRAP && block->flow != XF_FLOW_INTERRUPT_RETURN) ||
		    block->fall == XF_NOWHERE || run->before[i] == 0 ||
		    run->before[block->fall] != 0)
			continue;
		state = state_behind(run, i);
		if (block->flow == XF_FLOW_INTERRUPT_RETURN &&
		    !pass_own_iret(run->graph, block, &state))
			continue;
		if (contradicts(xf_back_at(&run->back, block->fall), &state))
			continue;
		arrive(run, block->fall, &state);
		settle(run);
	}
}

/* Code that nothing leads to but that leads to known code. */
static void seed_behind(struct run *run)
{
	run->ground = XF_GROUND_BEHIND;
	for (size_t i = 0; i < run->graph->nr_blocks; i++) {
		const struct xf_state *back = xf_back_at(&run->back, i);

		if (run->before[i] == 0 && back->kind != XF_STATE_NONE &&
		    back->kind != XF_STATE_CONFLICT)
			arrive(run, i, back);
	}
	settle(run);
}

/* What an indirect jump in the middle of a frame may lead to: the arms of a switch. */
static void seed_switch_arms(struct run *run)
{
	struct xf_state switched = {0};

	run->ground = XF_GROUND_SWITCH;
	for (size_t i = 0; i < run->graph->nr_blocks; i++) {
		const struct xf_block *block = &run->graph->blocks[i];
		uint8_t marks = run->graph->marks[block->first];
		struct xf_state state;

		if (marks & (XF_MARK_ENTRY | XF_MARK_ALIGNED))
			switched.kind = XF_STATE_NONE;
		if ((marks & XF_MARK_ORPHAN) && run->before[i] == 0 &&
		    switched.kind != XF_STATE_NONE) {
			arrive(run, i, &switched);
			settle(run);
		}
		if (block->flow != XF_FLOW_JUMP_INDIRECT || run->before[i] == 0)
			continue;
		state = state_behind(run, i);
		xf_state_merge(&switched, &state);
	}
}

/* What stands apart is taken for functions. */
static void seed_apart(struct run *run)
{
	const struct xf_state called = xf_state_called();

	run->ground = XF_GROUND_APART;
	for (size_t i = 0; i < run->graph->nr_blocks; i++) {
		const struct xf_block *block = &run->graph->blocks[i];

		/* What follows a call that is not believed to come back. */
		if (!(block->flags & XF_BLOCK_DOUBTED) || run->before[block->fall] != 0)
			continue;
		arrive(run, block->fall, &called);
		settle(run);
	}
	for (size_t i = 0; i < run->graph->nr_blocks; i++) {
		if (run->before[i] != 0 ||
		    !(run->graph->marks[run->graph->blocks[i].first] & XF_MARK_ALIGNED))
			continue;
		arrive(run, i, &called);
		settle(run);
	}
}

static int infer_states(struct run *run)
{
	int ret = xf_back_start(&run->back, run->graph, run->states);

	if (ret == 0)
		ret = xf_back_interrupts(&run->back);
	if (ret != 0)
		return ret;
	run->ground = XF_GROUND_FLOW;
	seed_entries(run);
	seed_interrupts(run);
	seed_jumped(run);
	ret = xf_back_known(&run->back, run->before);
	if (ret != 0)
		return ret;
	seed_traps(run);
	seed_behind(run);
	seed_switch_arms(run);
	seed_apart(run);
	return run->failed ? -ENOMEM : 0;
}

int xf_infer(struct xf_inference *inference, const struct xf_code *code, const uint64_t *entries,
             size_t nr_entries)
{
	struct run run = {0};
	int ret;

	memset(inference, 0, sizeof(*inference));
	ret = xf_graph_build(&inference->graph, code, entries, nr_entries);
	if (ret == 0)
		ret = xf_doubt_settle(&inference->graph);
	if (ret != 0)
		return ret;
	inference->before = calloc(inference->graph.nr_blocks + 1, sizeof(*inference->before));
	inference->ground = calloc(inference->graph.nr_blocks + 1, 1);
	run.queued = calloc(inference->graph.nr_blocks + 1, 1);
	run.graph = &inference->graph;
	run.states = &inference->states;
	run.before = inference->before;
	run.grounds = inference->ground;
	ret = xf_states_start(&inference->states);
	if (run.before == NULL || run.grounds == NULL || run.queued == NULL)
		ret = -ENOMEM;
	if (ret == 0)
		ret = infer_states(&run);
	xf_back_free(&run.back);
	free(run.queued);
	return ret;
}

void xf_infer_free(struct xf_inference *inference)
{
	xf_graph_free(&inference->graph);
	xf_states_free(&inference->states);
	free(inference->before);
	free(inference->ground);
	memset(inference, 0, sizeof(*inference));
}
